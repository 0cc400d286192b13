"""What a family may read of the data: a sample of the rows, and the range of every column.

The rows stand in random order, rows of larger weight earlier: row i carries an exponential clock
E_i/ω_i, E_i a pure function of (seed, i), and the first ones to ring are kept. The sample is
therefore the same whether the rows come at once or block by block. As long as nothing had to be
left out, it is all rows with their weights, and what is computed from it is the same for a weight
of two and for a row that stands there twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .randomness import uniforms
from .rows import Rows

NO_ROWS = "There is no row with a positive weight to read the data's scale from."


@dataclass(frozen=True)
class Sample:
    """Rows in random order, their weights, and the range of the columns.

    ``count`` is how many rows there are in all, each as many as its weight says but one at least.
    """

    rows: Rows
    weights: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    complete: bool
    count: float

    @classmethod
    def of(cls, rows: Rows, seed: int, wanted: int = 0) -> Sample:
        """The sample of one block of rows that are used as they are."""
        reservoir = Reservoir(capacity(rows.shape[1], wanted), seed)
        reservoir.add(rows.values, None)
        return reservoir.sample(rows.centre, rows.scale, rows.rotation)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    def head(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """At most ``count`` dense rows with weights: all of them, or the first to ring."""
        if count >= len(self.rows) and self.complete:
            return self.rows.dense, self.weights
        # The clocks have already favoured heavy rows; what they chose counts alike.
        rows = self.rows[:count].dense
        return rows, np.ones(len(rows))


def capacity(n_features: int, wanted: int = 0) -> int:
    """How many rows are worth keeping: about 32 MB of them, and ``wanted`` in any case."""
    return max(wanted, int(np.clip(2**22 // max(n_features, 1), 4096, 16384)))


@dataclass
class Reservoir:
    """Gathers a `Sample` over blocks of raw rows."""

    capacity: int
    seed: int
    seen: int = 0
    _kept: list = field(default_factory=list)
    _clocks: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    _weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    _lower: NDArray[np.float64] | None = None
    _upper: NDArray[np.float64] | None = None
    _complete: bool = True
    _present: int = 0
    _weight: float = 0.0

    def add(self, values, weights: NDArray | None) -> None:
        """Take a block of rows into account; rows of weight 0 do not exist."""
        clocks = -np.log(_row_uniforms(self.seed, self.seen, values.shape[0]))
        self.seen += values.shape[0]
        if weights is None:
            weights = np.ones(len(clocks))
        alive = weights > 0
        if not alive.all():
            values, clocks, weights = values[alive], clocks[alive], weights[alive]
        if not len(clocks):
            return
        self._present += len(weights)
        self._weight += float(weights.sum())
        clocks = clocks / weights
        lower, upper = column_range(values)
        self._lower = lower if self._lower is None else np.minimum(lower, self._lower)
        self._upper = upper if self._upper is None else np.maximum(upper, self._upper)
        all_clocks = np.concatenate([self._clocks, clocks])
        if len(all_clocks) > self.capacity:
            self._complete = False
            bar = np.partition(all_clocks, self.capacity - 1)[self.capacity - 1]
            entering = clocks <= bar
            values, clocks, weights = values[entering], clocks[entering], weights[entering]
        self._kept.append(values.copy())  # a block's buffer may be used again for the next one
        self._clocks = np.concatenate([self._clocks, clocks])
        self._weights = np.concatenate([self._weights, weights])
        if len(self._clocks) > 2 * self.capacity:
            self._compact()

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns never changed."""
        if self._lower is None or self._upper is None:
            raise ValueError(NO_ROWS)
        return self._lower == self._upper

    @property
    def lower(self) -> NDArray[np.float64]:
        """The smallest value of every column."""
        if self._lower is None:
            raise ValueError(NO_ROWS)
        return self._lower

    @property
    def count(self) -> float:
        """How many rows there are: the sum of weights, but one for every row at least."""
        return max(round(self._weight, 6), float(self._present))

    def quantiles(self, shares: list[float]) -> NDArray[np.float64]:
        """Quantiles of every column, a line for each share."""
        self._compact()
        weights = self._weights if self._complete else np.ones(len(self._weights))
        values, at_once = self._kept[0], 64
        parts = []
        for m in range(0, values.shape[1], at_once):
            some = values[:, m : m + at_once]
            some = some.toarray() if sparse.issparse(some) else some
            some = some.astype(np.float64)
            found = np.quantile(some, shares, axis=0, weights=weights, method="inverted_cdf")
            parts.append(found)
        return np.hstack(parts)

    def sample(self, centre, scale, rotation=None, bend=None) -> Sample:
        """The sample, as rows standardised with ``centre`` and ``scale``, bent and turned."""
        self._compact()
        if self._lower is None or self._upper is None:
            raise ValueError(NO_ROWS)
        lower, upper, values = self._lower, self._upper, self._kept[0]
        if bend is not None:
            (lower, _), (upper, _), (values, centre) = (bend(v) for v in (lower, upper, values))
        elif centre is not None:
            lower, upper = lower - centre, upper - centre
        if scale is not None:
            lower, upper = lower * scale, upper * scale
        rows = Rows(values, centre, scale, np.float64, rotation, bend)
        return Sample(rows, self._weights, lower, upper, self._complete, self.count)

    def _compact(self) -> None:
        if not self._kept:
            return
        values: Any = self._kept[0]
        if len(self._kept) > 1:
            dense = not sparse.issparse(values)
            values = np.concatenate(self._kept) if dense else sparse.vstack(self._kept, "csr")
        order = np.argsort(self._clocks, kind="stable")[: self.capacity]
        self._kept = [values[order]]
        self._clocks = self._clocks[order]
        self._weights = self._weights[order]


def _row_uniforms(seed: int, start: int, count: int) -> NDArray[np.float64]:
    # A table of pages, so that the rows of a late block cost no more than those of the first.
    page = 4096
    first, last = start // page, (start + count - 1) // page
    pages = [uniforms(seed, f"rows {p}", 1, page)[0] for p in range(first, last + 1)]
    return np.concatenate(pages)[start - first * page :][:count] if pages else np.empty(0)


def column_range(values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and the largest value of every column."""
    if sparse.issparse(values):
        lower, upper = values.min(axis=0).toarray(), values.max(axis=0).toarray()
    else:
        lower, upper = values.min(axis=0), values.max(axis=0)
    return lower.astype(np.float64).ravel(), upper.astype(np.float64).ravel()
