"""From statistics, inner products or an operator to weights; one file a method.

The squared loss from statistics: `cholesky` solves for one alpha, `eigen` for all of them at once,
`box` inside a box, `lasso` with an ℓ1 penalty, `dual` and `qr` from a factor, `kernel` from inner
products, `out_of_bag` weighs predictors by their out-of-bag predictions. Any loss from an operator,
in passes over the rows: `newton` and `lbfgs` for smooth losses, `multipliers` around them for
losses with a kink, `sketched` for the squared loss with many functions, `conjugate` for indicators
of cells. Methods know neither X nor where it lives; each declares beside its code what it takes,
needs and costs (`Method`), and returns what it found, or refuses. Choosing alpha belongs here too:
`alpha` from a formula, `heldout` by rows held out.
"""

from .box import Box
from .cholesky import Cholesky
from .conjugate import Conjugate
from .dual import Dual
from .eigen import Eigen
from .kernel import DualOfCells, KernelMachine
from .lasso import Lasso
from .lbfgs import LBFGS
from .method import Method
from .multipliers import Multipliers
from .newton import Newton
from .out_of_bag import WeighedOutOfBag
from .plan import Plan
from .qr import Orthogonal
from .sketched import Sketched
from .solution import IllConditioned, LeastSquares, Solution
from .spectrum import Spectrum
from .task import Task, Terms

METHODS: dict[tuple[str, str], Method] = {
    (method.name, kind): method
    for method in (
        Cholesky(),
        Eigen(),
        Dual(),
        Orthogonal(),
        Box(),
        Lasso(),
        WeighedOutOfBag(),
        Sketched(),
        Newton(),
        LBFGS(),
        Multipliers(),
        Conjugate(),
        DualOfCells(),
        KernelMachine(),
    )
    for kind in method.kinds
}

__all__ = [
    "METHODS",
    "IllConditioned",
    "LeastSquares",
    "Method",
    "Plan",
    "Solution",
    "Spectrum",
    "Task",
    "Terms",
]
