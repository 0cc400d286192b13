"""What is to be minimised, and what one solve of it needs to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..losses import Loss
from .left_out import Judges
from .plan import Plan
from .solution import Array

FLOAT32 = np.dtype(np.float32)
# What is added to the loss: alpha·k·‖w‖², or that of `lasso`.
L2, L1 = "l2", "l1"


@dataclass(frozen=True)
class Task:
    """Σω·loss(f(x), y) + alpha·k·‖w‖², |w_i| ≤ bound/k: the parameters that say how to fit.

    Attributes
    ----------
    loss : Loss
    alpha : float or str
        A number, "auto", or the name of the error estimate that it is chosen by.
    bound : float or None
    intercept : bool
    solver : str
        The method asked for, or "auto".
    dtype : numpy.dtype
        The precision of features that was asked for.
    memory_limit : int, str or None
        What a fit may take, as it was asked for.
    heldout : bool
        Whether scores of rows that had no part in them are wanted (for probabilities).
    lenient : bool
        Whether alpha may be as much larger as statistics need it to be.
    clip : "auto", float or None
        What predictions are clipped to: the range of the targets, ±clip, or nothing.
    margin : float
        By what share of the range of the targets predictions may leave it.
    penalty : "l2" or "l1"
        ‖w‖², or ‖w‖₁ as in `lasso`.
    """

    loss: Loss
    alpha: float | str
    bound: float | None = None
    intercept: bool = True
    solver: str = "auto"
    dtype: np.dtype = FLOAT32
    memory_limit: int | str | None = None
    heldout: bool = False
    lenient: bool = False
    clip: float | str | None = None
    margin: float = 0.0
    penalty: str = L2

    @property
    def searches(self) -> bool:
        """Whether alpha is to be found."""
        return isinstance(self.alpha, str)

    @property
    def plain(self) -> bool:
        """Whether this is the squared loss with a ridge alone, of which sums over rows know all."""
        return self.loss.squared and self.bound is None and self.penalty == L2

    def range(self, extent: Array) -> Array | None:
        """What predictions are clipped to, for targets of an extent; None where they are not.

        The extent of targets that nobody has looked at is infinite.
        """
        if self.clip is None or not np.isfinite(extent).all():
            return None
        if isinstance(self.clip, str):
            beyond = self.margin * (extent[1] - extent[0])
            return np.array([extent[0] - beyond, extent[1] + beyond])
        return np.outer([-1.0, 1.0], np.full(extent.shape[1], float(self.clip)))


@dataclass(frozen=True)
class Terms:
    """One solve.

    ``scale`` is k of the ridge alpha·k, ``limits`` are the half-widths of the box, ``seed`` deals
    rows into folds, ``ridge`` is where a search for alpha may begin, ``judges`` are rows that it is
    judged by where rows are at hand, ``range`` is what predictions are clipped to, ``pool`` is a
    map over threads, ``note`` takes lines of progress.
    """

    plan: Plan
    scale: float = 1.0
    limits: Array | None = None
    seed: int = 0
    ridge: float | None = None
    judges: Judges | None = None
    range: Array | None = None
    pool: Callable[[Callable, list], Any] | None = None
    note: Callable[[str], None] = lambda text: None
