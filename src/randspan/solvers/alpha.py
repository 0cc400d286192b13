"""alpha from one factorisation: by leave-one-out where rows are at hand, else by a formula."""

from __future__ import annotations

import numpy as np

from ..statistics.base import CannotFit
from ..statistics.moments import UNDERFLOWS, left_of_mean
from .left_out import Judges, best
from .solution import IllConditioned
from .spectrum import Spectrum
from .task import Task, Terms
from .validation import Validation

# Alphas that are compared in a decade: a formula costs nothing, rows cost a product each.
STEPS_PER_DECADE, STEPS_OF_ROWS = 10, 5
# Errors that differ by less are equal. Below the smallest ridge of float32 may be a lower error
# where that ridge's is so near the best and falls; in so few numbers, where a look costs little,
# near the best.
EQUAL, FALLS_NEAR, NEAR, FEW_NUMBERS = 1.001, 1.1, 2.0, 2**21

# The smallest ridge alpha·k beside the trace of Z̃'Z̃, by the precision of the features. In float64
# predictions still agree to 1e-6 under rounding there. float32 features are rounded at 1e-7.
SMALLEST = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-10}


def chosen(path: Spectrum, task: Task, terms: Terms) -> tuple[float, Validation | None]:
    """The alpha that was given, or the best one on the path and what is known of its error."""
    if not isinstance(task.alpha, str):
        return task.alpha, None
    dtype = terms.plan.dtype if terms.judges is not None else task.dtype
    alphas = lattice(path, terms.scale, dtype, STEPS_PER_DECADE)
    if not len(alphas):  # no function varies: every alpha gives the same constant
        return 1.0, None
    if terms.judges is None:
        return by_gcv(path, terms.scale, alphas), None
    alphas = lattice(path, terms.scale, dtype, STEPS_OF_ROWS)
    sharper = dtype == np.float32 and terms.plan.fallback is not None
    return by_left_out(path, terms.scale, alphas, terms.judges, sharper)


def lattice(path: Spectrum, scale: float, dtype: np.dtype, steps: int) -> np.ndarray:
    """10^(j/steps) from the smallest ridge that is reliable to ten times the largest eigenvalue.

    The lattice is absolute, so that the same alphas are compared however the rows were split.
    """
    largest = float(path.values.max(initial=0.0))
    if largest <= UNDERFLOWS:
        return np.empty(0)
    of_mean = left_of_mean(path.weight, path.mean, dtype)
    floor = max(SMALLEST[dtype] * float(path.values.sum()), 10 * path.noise, of_mean)
    lowest = np.ceil(steps * np.log10(floor / scale))
    highest = max(np.floor(steps * np.log10(10 * largest / scale)), lowest)
    return 10.0 ** (np.arange(lowest, highest + 1) / steps)


def by_gcv(path: Spectrum, scale: float, alphas: np.ndarray) -> float:
    """The alpha with the smallest (RSS/Σω)/(1 - df/Σω)², to 0.1 %."""
    if path.counted <= 1 + path.intercept:
        if path.rows > 2 and path.weight <= 1 + path.intercept:
            raise CannotFit(
                "Generalised cross-validation reads sample weights as counts of rows, and they sum "
                f"to only {path.weight:g}. Scale them to a mean of 1, or set alpha to a number."
            )
        return float(alphas[-1])  # the beginning of a stream: nothing to choose by yet
    return float(alphas[best(path.gcv_errors(alphas * scale))])


def by_left_out(
    path: Spectrum, scale: float, alphas: np.ndarray, judges: Judges, sharper: bool
) -> tuple[float, Validation]:
    """The alpha with the smallest leave-one-out error, to 0.1 %, and that error.

    Where it is the smallest one that is reliable, or one as good may be below that, and there is a
    ``sharper`` way, that is taken.
    """
    squares = path.left_out(judges, alphas * scale)
    errors = judges.errors(squares)
    at = best(errors)
    falls = errors[0] < errors[min(1, at)] / EQUAL and errors[0] <= FALLS_NEAR * errors[at]
    near = errors[0] <= NEAR * errors[at] and path.rows * len(path.values) <= FEW_NUMBERS
    if (at == 0 or falls or near) and len(alphas) > 1 and sharper:
        raise IllConditioned("The best ridge is below what this precision carries.")
    return float(alphas[at]), judges.validation(squares[:, at])
