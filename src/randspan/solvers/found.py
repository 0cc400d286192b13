"""Where an iterative method stopped, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .problem import Point
from .solution import Array


@dataclass(frozen=True)
class Found:
    """The last point, how many iterations led there, and whether it is what was looked for.

    ``gap`` is the duality gap beside the objective, where a method knows it; ``multipliers``
    and ``stiffness`` are what the method of that name would start from.
    """

    point: Point
    iterations: int
    converged: bool
    stopped: str
    gap: float = 0.0
    multipliers: Array | None = None
    stiffness: float = 0.0
