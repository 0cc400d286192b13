"""What adds up over blocks of rows, and what a fit is solved from: one protocol, one file a kind.

`Moments` of the squared loss; their square root, `Factor`; `Pairs`, the out-of-bag moments of
predictors; `Cells`, the training rows as codes of the cells they fall into; `KernelRows`, the
training rows themselves. Whoever holds statistics adds and removes rows, and asks for nothing else.
"""

from .base import Statistics
from .cells import Cells
from .factor import Factor
from .kernel_rows import KernelRows
from .moments import Moments
from .pairs import Pairs

KINDS: dict[str, type[Statistics]] = {
    kind.name: kind for kind in (Moments, Factor, Pairs, Cells, KernelRows)
}

__all__ = ["KINDS", "Cells", "Factor", "KernelRows", "Moments", "Pairs", "Statistics"]
