"""A sample of the rows by their keys: bounded, additive, and the same however rows were split.

A row is in the sample of level l if the hash of its inputs is below 2⁶⁴⁻ˡ; the level is the
smallest at which no more rows differ than there is room for. Whether a row is in it therefore
depends on the set of rows alone, one pass over blocks suffices, and samples of two models add up to
that of both. Rows of equal inputs are one row with their weight together. A row that is forgotten
leaves; the level stays, for nothing is known of the rows above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families.shared.randomness import bits_of
from ..keys import Keys
from ..sources import Source
from ..sums import total_in

Array = NDArray[np.float64]

# Rows that are kept at most, and entries of them, but not fewer rows than FEWEST.
MOST, ENTRIES, FEWEST = 1024, 2**21, 256
HIGHEST = 63


@dataclass(frozen=True, eq=False)
class KeySample:
    """Different rows of a level, in the order of their hashes.

    Attributes
    ----------
    level : int
    keys : ndarray of shape (n_rows,)
        Those of the rows as functions take them, before they are standardised.
    counts : ndarray of shape (n_rows,)
        How many rows of a positive weight have these inputs.
    weights : ndarray of shape (n_rows,)
        Their weight together.
    inputs : ndarray or sparse matrix of shape (n_rows, n_features)
    """

    level: int
    keys: Keys
    counts: NDArray[np.int64]
    weights: Array
    inputs: Any

    @classmethod
    def of(cls, source: Source, level: int = 0) -> KeySample:
        """The sample of some rows, of this level at least."""
        keys = source.keys
        each = source.each
        rows = np.flatnonzero((each > 0) & (_hashes(keys) <= _limit(level)))
        known, first, places = np.unique(keys[rows], return_index=True, return_inverse=True)
        counts = np.bincount(places, minlength=len(known))
        weights = total_in(places, each[rows], len(known))
        level = _level(known, level, room(source.n_features))
        order = np.argsort(_hashes(known), kind="stable")
        order = order[_hashes(known[order]) <= _limit(level)]
        inputs = source.take(rows[first[order]])
        return cls(level, known[order], counts[order], weights[order], inputs)

    def __len__(self) -> int:
        return len(self.keys)

    def plus(self, other: KeySample) -> KeySample:
        """The sample of both."""
        keys = np.concatenate([self.keys, other.keys])
        known, first, places = np.unique(keys, return_index=True, return_inverse=True)
        numbers, shares = (
            np.bincount(places, np.concatenate([getattr(one, name) for one in (self, other)]))
            for name in ("counts", "weights")
        )
        counts, weights = numbers.astype(np.int64), shares.astype(np.float64)
        inputs = _stacked(self.inputs, other.inputs)
        level = _level(known, max(self.level, other.level), room(inputs.shape[1]))
        order = np.argsort(_hashes(known), kind="stable")
        order = order[_hashes(known[order]) <= _limit(level)]
        return KeySample(level, known[order], counts[order], weights[order], inputs[first[order]])

    def minus(self, source: Source) -> KeySample:
        """The sample without these rows."""
        gone = KeySample.of(source, self.level)
        _, mine, theirs = np.intersect1d(self.keys, gone.keys, return_indices=True)
        counts, weights = self.counts.copy(), self.weights.copy()
        counts[mine] -= gone.counts[theirs]
        weights[mine] -= gone.weights[theirs]
        left = (counts > 0) & (weights > 0)
        return KeySample(
            self.level, self.keys[left], counts[left], weights[left], self.inputs[left]
        )


def room(n_features: int) -> int:
    """How many rows of so many columns are kept."""
    return int(np.clip(ENTRIES // max(n_features, 1), FEWEST, MOST))


def _hashes(keys: Keys) -> Keys:
    return bits_of(0, "key sample", keys)


def _limit(level: int) -> np.uint64:
    return np.uint64(2 ** (64 - level) - 1)


def _level(keys: Keys, level: int, most: int) -> int:
    """The smallest level from here on at which so many of these different rows are left."""
    hashes = np.sort(_hashes(keys))
    while level < HIGHEST and np.searchsorted(hashes, _limit(level), side="right") > most:
        level += 1
    return level


def _stacked(mine: Any, theirs: Any) -> Any:
    if sparse.issparse(mine) or sparse.issparse(theirs):
        return sparse.vstack([sparse.csr_array(part) for part in (mine, theirs)], format="csr")
    return np.concatenate([mine, theirs])
