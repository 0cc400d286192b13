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

    @property
    def searches(self) -> bool:
        """Whether alpha is to be found."""
        return isinstance(self.alpha, str)

    @property
    def plain(self) -> bool:
        """Whether this is the squared loss without a box, of which sums over rows know all."""
        return self.loss.squared and self.bound is None


@dataclass(frozen=True)
class Terms:
    """One solve.

    ``scale`` is k of the ridge alpha·k, ``limits`` are the half-widths of the box, ``seed`` deals
    rows into folds, ``ridge`` is where a search for alpha may begin, ``judges`` are rows that it is
    judged by where rows are at hand, ``pool`` is a map over threads, ``note`` takes lines of
    progress.
    """

    plan: Plan
    scale: float = 1.0
    limits: Array | None = None
    seed: int = 0
    ridge: float | None = None
    judges: Judges | None = None
    pool: Callable[[Callable, list], Any] | None = None
    note: Callable[[str], None] = lambda text: None
