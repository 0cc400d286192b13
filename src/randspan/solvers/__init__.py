"""From moments, factors, Gram matrices or an operator to weights; one file a method.

The squared loss from statistics: `cholesky` solves for one alpha, `spectrum` for all of them at
once, `box` inside a box, `out_of_bag` weighs predictors by rows they have not seen. Any loss from
an operator, in passes over the rows: `newton` and `lbfgs` for smooth losses, `multipliers` around
them for losses with a kink, `sketched` for the squared loss with many functions, `conjugate` for
indicators of cells. Solvers know neither X nor where it lives; each returns what it found, or
refuses. `METHODS` says what each one needs.
"""

from dataclasses import dataclass

from .solution import IllConditioned, LeastSquares, Solution
from .spectrum import Spectrum


@dataclass(frozen=True)
class Method:
    """What a solver takes."""

    statistics: bool = False
    squared_only: bool = False
    smooth: bool = False
    joint: bool = True
    box: bool = True
    coded: bool = False


METHODS: dict[str, Method] = {
    "cholesky": Method(statistics=True, squared_only=True, box=False),
    "eigen": Method(statistics=True, squared_only=True, box=False),
    "dual": Method(statistics=True, squared_only=True, box=False),
    "qr": Method(statistics=True, squared_only=True, box=False),
    "box": Method(statistics=True, squared_only=True),
    "out_of_bag": Method(statistics=True, squared_only=True, box=False),
    "sketched": Method(squared_only=True, box=False),
    "newton": Method(smooth=True, joint=False),
    "lbfgs": Method(smooth=True),
    "multipliers": Method(joint=False),
    "conjugate": Method(smooth=True, box=False, coded=True),
}

__all__ = ["METHODS", "IllConditioned", "LeastSquares", "Method", "Solution", "Spectrum"]
