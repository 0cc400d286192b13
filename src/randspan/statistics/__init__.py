"""What adds up over blocks of rows, and what a fit is solved from: one protocol, one file a kind.

`Moments` of the squared loss; their square root, `Factor`; `OutOfBagMoments` of the errors of
predictors; `Cells`, the training rows as the cells they fall into; `KernelRows`, the training rows
themselves. Whoever holds statistics adds and removes rows, and asks for nothing else.
"""

from .base import Statistics
from .cells import Cells
from .factor import Factor
from .kernel_rows import KernelRows
from .moments import Moments
from .out_of_bag import OutOfBagMoments

KINDS: dict[str, type[Statistics]] = {
    kind.name: kind for kind in (Moments, Factor, OutOfBagMoments, Cells, KernelRows)
}

__all__ = ["KINDS", "Cells", "Factor", "KernelRows", "Moments", "OutOfBagMoments", "Statistics"]
