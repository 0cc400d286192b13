"""Where an iterative method stopped, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .problem import Point
from .solution import Array


@dataclass(frozen=True)
class Start:
    """Where a similar problem may begin: weights, and what the method of multipliers goes by.

    A point has a gradient and scores as well; for every fold and ridge these would be large.
    """

    coef: Array
    intercept: Array
    multipliers: Array | None = None
    stiffness: float = 0.0


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

    @property
    def start(self) -> Start:
        """What is kept to begin a similar problem with."""
        return Start(self.point.coef, self.point.intercept, self.multipliers, self.stiffness)
