"""What the candidates of a portfolio may take: each what is left beside those before it.

All of it is laid out before any work. Kernels have fewer functions where memory is short; what is
then still too large is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .. import model
from ..engines import Engine
from ..families import Family
from ..footprint import reading_bytes
from ..planning import plan
from ..solvers import Task
from ..solvers.plan import Machine, Plan, Shape
from ..solvers.refusals import TooLarge
from ..sources import Source

FLOAT64 = np.dtype(np.float64)
# Folds of moments of out-of-bag errors, and of predictions that are combined.
ARRAYS = 12


@dataclass
class Portions:
    """Candidates one after the other.

    ``standing`` is what the rows read, and models made so far, hold; ``most`` the largest that was
    taken at once.
    """

    source: Source
    task: Task
    engine: Engine
    wanted: int
    standing: int = 0
    most: int = 0
    granted: int = field(init=False)

    def __post_init__(self) -> None:
        source = self.source
        rows = (source.n_rows, source.n_features, source.row_bytes)
        self.granted = self.engine.machine(self.task.memory_limit).granted
        self.standing += reading_bytes(*rows, self.wanted)
        # Predictions without a row, of all candidates, and what combines them.
        self.standing += 8 * source.n_rows * (source.n_targets + 1) * ARRAYS
        self.passing(0)

    def passing(self, nbytes: int, what: str = "the rows read") -> None:
        """Something that leaves nothing behind."""
        if self.standing + nbytes > self.granted:
            raise self._too_large(nbytes, what)
        self.most = max(self.most, self.standing + nbytes)

    def fits(self, family: Family, k: float, dtype: np.dtype | None = None) -> bool:
        """Whether so many functions are solved for from statistics in what is left."""
        try:
            return bool(self._plan(family, k, dtype)[0].statistics)
        except TooLarge:
            return False

    def take(self, family: Family, k: float, what: str, dtype: np.dtype | None = None) -> int:
        """What a candidate is granted; it keeps its functions and statistics."""
        limit = self.granted - self.standing
        try:
            made, shape = self._plan(family, k, dtype)
        except TooLarge as error:
            raise self._too_large(error.needed, what) from None
        self.most = max(self.most, self.standing + made.nbytes)
        self.standing += self._kept(made, shape)
        return limit

    def _plan(self, family: Family, k: float, dtype: np.dtype | None) -> tuple[Plan, Shape]:
        task = self.task if dtype is None else replace(self.task, dtype=dtype)
        if family.trains:
            task = replace(task, alpha="auto")
        shape = model.shape_of(family, k, self.source, self.engine.threads)
        return plan(shape, task, self.machine), shape

    @property
    def machine(self) -> Machine:
        """What is left."""
        return Machine(self.engine.threads, max(self.granted - self.standing, 1))

    def _kept(self, made: Plan, shape: Shape) -> int:
        """Functions, statistics and rows of a model that waits to be combined."""
        n, k, c = shape.n_rows, shape.layout.n_columns, shape.n_targets
        rows = int(n * shape.row_bytes) if n <= model.KEPT_ROWS else 0
        if made.statistics == "out_of_bag":
            return shape.stored + rows + 40 * (c + 1) * (int(shape.layout.n_components) + 2) ** 2
        if made.statistics == "kernel rows":
            return rows + 8 * n * n  # the factor, which standard deviations are made from
        return shape.stored + rows + 8 * k * (k + c)

    def _too_large(self, nbytes: int, what: str) -> MemoryError:
        needed, limit = self.standing + nbytes, self.task.memory_limit
        asked = "there are" if limit is None else f"memory_limit={limit!r} grants"
        return MemoryError(
            f"{asked} {self.granted / 1e9:.3g} GB; family='auto' of {self.source.n_rows} rows "
            f"needs at least {needed / 1e9:.3g} GB ({what}): grant more memory, or choose one "
            "family."
        )
