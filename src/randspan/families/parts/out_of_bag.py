"""Functions that are trained on rows and their targets, each on some of the rows: its bag.

A function tells little about itself on rows that it was trained on: weights are fitted to
out-of-bag predictions. `OutOfBagRows` knows which rows these are: whether row r is in the bag of
function j is a coin that depends on (seed, j, r) only. A row is known again, whenever and in
whatever block it comes back, by its inputs and targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .randomness import raw_bits
from .rows import Rows, fingerprints, mixed_in
from .targets import as_columns

FOLDS = 5
# How often a row is at most in a bag that is filled with replacement: more has no chance.
MOST_TIMES = 20


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that functions are learned from.

    ``targets`` are columns of numbers, for ``classes`` ±1 in a column for each, one for two.
    ``inputs`` are the rows as they will come back, where something was done to ``rows``.
    """

    rows: Rows
    targets: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None = None
    classes: bool = False
    workers: int = 1
    progress: Callable[[int], None] = lambda done: None
    inputs: Any = None

    @classmethod
    def of(cls, rows: Rows, y) -> Training:
        """Rows that are used as they are, and y of any kind."""
        if y is None:
            return cls(rows, None)
        targets, classes = as_columns(rows.values, y)
        return cls(rows, targets, classes=classes)

    @property
    def each(self) -> NDArray[np.float64]:
        """The weight of every row."""
        return np.ones(len(self.rows)) if self.weights is None else self.weights

    def given_targets(self, family: object) -> NDArray[np.float64]:
        """The targets, which a family needs."""
        if self.targets is None:
            raise ValueError(
                f"{family!r} learns from targets: it requires y to be passed, but the target y is "
                "None."
            )
        return self.targets


def row_keys(values, targets: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A number for every row, by its inputs and targets."""
    bits = np.ascontiguousarray(targets.T + 0.0).view(np.uint64)  # no -0.0
    return mixed_in(fingerprints(values), bits)


def fold_of(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Which of the folds every row is in."""
    return ((keys * np.uint64(0xD1342543DE82EF95)) >> np.uint64(33)).astype(np.int64) % FOLDS


@dataclass(frozen=True, eq=False)
class OutOfBagRows:
    """Row r is in the bag of function j with probability ``share``, each by a coin of its own.

    ``keys`` are those of the rows that functions were trained on, sorted, and ``order`` their
    indices; ``n_targets`` is how many targets they had.
    """

    share: float
    seed: int
    n_targets: int
    keys: NDArray[np.uint64]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, training: Training, share: float, seed: int) -> OutOfBagRows:
        assert training.targets is not None
        inputs = training.rows.values if training.inputs is None else training.inputs
        keys = row_keys(inputs, training.targets)
        order = np.argsort(keys, kind="stable")
        return cls(share, seed, training.targets.shape[1], keys[order], order)

    def indices(self, values, targets: NDArray[np.float64]) -> NDArray[np.int64]:
        """Row indices in the training data, -1 for rows that were not there."""
        return self.located(row_keys(values, targets))

    def located(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The same by the keys of rows; of equal rows it is the index of the first."""
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.order[place], -1)

    def copies(
        self, keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """All rows of the training data that are equal to each row, and the share of each in it.

        Three arrays: which row, the index of one equal to it (-1 where there is none), 1 over how
        many there are. So a row that stands several times stands for all of them alike, wherever a
        stream is cut.
        """
        first = np.searchsorted(self.keys, keys)
        counts = np.maximum(np.searchsorted(self.keys, keys, side="right") - first, 0)
        known = counts > 0
        counts = np.maximum(counts, 1)
        rows = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        indices = np.full(len(rows), -1, dtype=np.int64)
        there = known[rows]
        indices[there] = self.order[(first[rows] + within)[there]]
        return rows, indices, 1 / counts[rows]

    def in_bag(self, function: int, start: int, stop: int) -> NDArray[np.bool_]:
        """Whether rows ``start`` to ``stop`` of the training data are in the bag of a function."""
        return self._coins(function, start, stop) < self.share

    def times(self, function: int, mean: float, start: int, stop: int) -> NDArray[np.float64]:
        """How often they are there, where bags are filled with replacement.

        That is a Poisson number of the given mean for every row, above 0 where `in_bag` is, if
        ``share`` is 1 - exp(-mean).
        """
        coins = self._coins(function, start, stop)
        beyond = special.pdtrc(np.arange(MOST_TIMES), mean)
        return (coins[:, None] < beyond).sum(axis=1).astype(np.float64)

    def _coins(self, function: int, start: int, stop: int) -> NDArray[np.float64]:
        skipped = start - start % 4
        bits = raw_bits(self.seed, f"bag {function}", stop - skipped, skipped)[start - skipped :]
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def seen(self, indices: NDArray[np.int64], n_functions: int) -> NDArray[np.bool_]:
        """Whether every function was trained on every row, by row indices."""
        seen = np.zeros((len(indices), n_functions), dtype=bool)
        known = np.flatnonzero(indices >= 0)
        if len(known):
            there = indices[known]
            first, last = int(there.min()), int(there.max())
            for j in range(n_functions):
                seen[known, j] = self.in_bag(j, first, last + 1)[there - first]
        return seen
