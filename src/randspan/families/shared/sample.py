"""What a family may read of the data: a sample of the rows, and the range of every column.

Rows of equal inputs are one row, of their weight together. They stand in random order, heavier ones
earlier: a row carries an exponential clock E/ω, E a pure function of the seed and of its key, and
the first ones to ring are kept. The sample is therefore the same in whatever order the rows come,
and for a weight of two and a row that stands there twice. Of rows that come in blocks the same
holds as long as no copy comes after its like was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...keys import Keys, keys_of, mixed_in
from ...sums import total, total_in
from .randomness import raw_bits
from .rows import Rows

# Rows that are worth keeping however wide they are.
FEWEST = 1024

NO_ROWS = "There is no row with a positive weight to read the data's scale from."


@dataclass(frozen=True)
class Sample:
    """Different rows in random order, their weights, and the range of the columns.

    ``count`` is how many rows there are in all, each as many as its weight says, within reason.
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
    return max(wanted, int(np.clip(2**22 // max(n_features, 1), FEWEST, 16384)))


@dataclass
class Reservoir:
    """Gathers a `Sample` over blocks of raw rows."""

    capacity: int
    seed: int
    _values: Any = None
    _keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    _weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    _lower: NDArray[np.float64] | None = None
    _upper: NDArray[np.float64] | None = None
    _complete: bool = True
    _present: int = 0
    _weight: float = 0.0

    def add(self, values, weights: NDArray | None, keys: Keys | None = None) -> None:
        """Take a block of rows into account; rows of weight 0 do not exist."""
        keys = keys_of(values) if keys is None else keys
        weights = np.ones(len(keys)) if weights is None else weights
        alive = weights > 0
        if not alive.all():
            values, keys, weights = values[alive], keys[alive], weights[alive]
        if not len(keys):
            return
        self._present += len(weights)
        self._weight += float(total(weights))
        lower, upper = column_range(values)
        self._lower = lower if self._lower is None else np.minimum(lower, self._lower)
        self._upper = upper if self._upper is None else np.maximum(upper, self._upper)
        known = len(self._keys)
        both = np.concatenate([self._keys, keys])
        different, first, places = np.unique(both, return_index=True, return_inverse=True)
        weights = total_in(places, np.concatenate([self._weights, weights]), len(different))
        order = np.argsort(self._clocks(different, weights), kind="stable")
        self._complete &= len(order) <= self.capacity
        order = order[: self.capacity]
        self._keys, self._weights, first = different[order], weights[order], first[order]
        # Of a block no more is copied than enters; its buffer may be used again for the next one.
        old, new = first < known, values[first[first >= known] - known]
        if known:
            parts = (self._values[first[old]], new)
            dense = not sparse.issparse(new)
            new = np.concatenate(parts) if dense else sparse.vstack(parts, "csr")
            new = new[np.argsort(np.argsort(~old, kind="stable"))]
        self._values = new

    def _clocks(self, keys: Keys, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """When every row rings."""
        bits = mixed_in(keys, raw_bits(self.seed, "rows", 2)[:, None])
        return -np.log(((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52) / weights

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns never changed."""
        return self.lower == self.upper

    @property
    def lower(self) -> NDArray[np.float64]:
        """The smallest value of every column."""
        if self._lower is None:
            raise ValueError(NO_ROWS)
        return self._lower

    @property
    def upper(self) -> NDArray[np.float64]:
        """The largest value of every column."""
        if self._upper is None:
            raise ValueError(NO_ROWS)
        return self._upper

    @property
    def count(self) -> float:
        """How many rows there are: the sum of weights, but one for every row at least.

        The square of how many there really are at most: √n functions are then one for every row,
        and weights that are no counts, such as 1/variance, do not ask for millions of them.
        """
        present = float(self._present)
        return min(max(round(self._weight, 6), present), present**2)

    def quantiles(self, shares: list[float]) -> NDArray[np.float64]:
        """Quantiles of every column, a line for each share."""
        weights = self._weights if self._complete else np.ones(len(self._weights))
        values, at_once = self._values, 64
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
        lower, upper, values = self.lower, self.upper, self._values
        if bend is not None:
            (lower, _), (upper, _), (values, centre) = (bend(v) for v in (lower, upper, values))
        elif centre is not None:
            lower, upper = lower - centre, upper - centre
        if scale is not None:
            lower, upper = lower * scale, upper * scale
        rows = Rows(values, centre, scale, np.float64, rotation, bend)
        return Sample(rows, self._weights, lower, upper, self._complete, self.count)


def column_range(values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and the largest value of every column."""
    if sparse.issparse(values):
        lower, upper = values.min(axis=0).toarray(), values.max(axis=0).toarray()
    else:
        lower, upper = values.min(axis=0), values.max(axis=0)
    return lower.astype(np.float64).ravel(), upper.astype(np.float64).ravel()
