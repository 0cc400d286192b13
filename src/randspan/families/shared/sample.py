"""What a family may read of the data: a sample of the rows, and the range of every column.

Rows of equal inputs are one row, of their weight together. They stand in random order, that of a
hash of the seed and their key, and the first ones are kept. A row that was left out never comes
back, so that one pass tells the exact weight of those that are kept: the sample is the same in
whatever order and blocks the rows come, and for a weight of two and a row that stands there twice.
Every distinct row has the same chance, so that sums over the sample, each row at its weight, are
unbiased but for a common factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        reservoir, values = Reservoir(capacity(rows.shape[1], wanted), seed), rows.values
        reservoir.add(keys_of(values), None, values.__getitem__, [values])
        return reservoir.sample(rows.centre, rows.scale, rows.rotation)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    def head(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """At most ``count`` dense rows, and their weights."""
        return self.rows[:count].dense, self.weights[:count]


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

    def add(
        self,
        keys: Keys,
        weights: NDArray | None,
        take: Callable[[NDArray[np.intp]], Any],
        blocks: Iterable,
    ) -> None:
        """Take rows into account; rows of weight 0 do not exist.

        ``take`` gives the inputs of some, by their indices, ``blocks`` all of them in turn. The
        weights of rows that are taken in at once have the same sums in any order.
        """
        present = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        if not len(present):
            return
        start = 0
        for values in blocks:
            stop = start + values.shape[0]
            if len(present) < len(keys):
                values = values[weights[start:stop] > 0]  # type: ignore[index]
            if values.shape[0]:
                lower, upper = column_range(values)
                self._lower = lower if self._lower is None else np.minimum(lower, self._lower)
                self._upper = upper if self._upper is None else np.maximum(upper, self._upper)
            start = stop
        each = np.ones(len(keys)) if weights is None else weights
        self._present += len(present)
        self._weight += float(total(each))
        own, first, places = np.unique(keys[present], return_index=True, return_inverse=True)
        weighed, near = total_in(places, each[present], len(own)), self._nearest(own)
        both = np.append(self._keys, own[near])
        known, where, places = np.unique(both, return_index=True, return_inverse=True)
        weighed = total_in(places, np.append(self._weights, weighed[near]), len(known))
        # What is left out today is left out for good: no more than these have to be looked at.
        order = self._nearest(known)
        self._complete &= len(near) == len(own) and len(order) == len(known)
        where, old = where[order], where[order] < len(self._keys)
        new = take(present[first[near[where[~old] - len(self._keys)]]])
        if old.any():
            parts = (self._values[where[old]], new)
            mixed = any(map(sparse.issparse, parts))
            new = sparse.vstack(parts, "csr") if mixed else np.concatenate(parts)
            new = new[np.argsort(np.argsort(~old, kind="stable"))]
        self._values, self._keys, self._weights = new, known[order], weighed[order]

    def _nearest(self, keys: Keys) -> NDArray[np.intp]:
        """The places of the first keys, as many as there is room for, in their order."""
        return np.argsort(~self._hashes(keys), kind="stable")[: self.capacity]

    def _hashes(self, keys: Keys) -> Keys:
        """The order of rows: the largest are kept."""
        return mixed_in(keys, raw_bits(self.seed, "rows", 2)[:, None]) >> np.uint64(12)

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
        weights, values, at_once = self._weights, self._values, 64
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
