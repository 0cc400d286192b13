"""Functions that are trained on rows and their targets, each on some of the rows: its bag.

A function tells little about itself on rows that it was trained on: weights are fitted to
out-of-bag predictions. `OutOfBagRows` knows which rows these are: whether a row is in the bag of
function j is a coin that depends on (seed, j, the row's inputs) only. Rows of equal inputs share
every bag, whenever and in whatever block they come, and whatever their targets are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...keys import Keys, few_places, keys_of, with_targets
from .randomness import bits_of, raw_bits
from .rows import Rows
from .targets import as_columns

FOLDS = 5
# How often a row is at most in a bag that is filled with replacement: more has no chance.
MOST_TIMES = 20


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that functions are learned from.

    ``targets`` are columns of numbers, for ``classes`` ±1 in a column for each, one for two.
    ``known_keys`` are the input keys of the rows as they will come back, where something was done
    to ``rows``.
    """

    rows: Rows
    targets: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None = None
    classes: bool = False
    workers: int = 1
    progress: Callable[[int], None] = lambda done: None
    known_keys: Keys | None = None

    @classmethod
    def of(cls, rows: Rows, y) -> Training:
        """Rows that are used as they are, and y of any kind."""
        if y is None:
            return cls(rows, None)
        targets, classes = as_columns(rows.values, y)
        return cls(rows, targets, classes=classes)

    @cached_property
    def keys(self) -> Keys:
        """The key of every row's inputs."""
        return keys_of(self.rows.values) if self.known_keys is None else self.known_keys

    @property
    def row_keys(self) -> Keys:
        """The key of every row's inputs and targets."""
        return self.keys if self.targets is None else with_targets(self.keys, self.targets)

    @property
    def each(self) -> NDArray[np.float64]:
        """The weight of every row."""
        return np.ones(len(self.rows)) if self.weights is None else self.weights

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Row indices in an order that does not depend on that in which rows came."""
        return np.lexsort((self.each, self.row_keys, self.keys))

    def some(self, rows: NDArray[np.intp]) -> Training:
        """Some rows, by their indices."""
        return replace(
            self,
            rows=self.rows[rows],
            targets=None if self.targets is None else self.targets[rows],
            weights=None if self.weights is None else self.weights[rows],
            known_keys=self.keys[rows],
        )

    def given_targets(self, family: object) -> NDArray[np.float64]:
        """The targets, which a family needs."""
        if self.targets is None:
            raise ValueError(
                f"{family!r} learns from targets: it requires y to be passed, but the target y is "
                "None."
            )
        return self.targets


def fold_of(keys: Keys) -> NDArray[np.int64]:
    """Which of the folds every row is in."""
    return ((keys * np.uint64(0xD1342543DE82EF95)) >> np.uint64(33)).astype(np.int64) % FOLDS


@dataclass(frozen=True, eq=False)
class OutOfBagRows:
    """A row is in the bag of function j with probability ``share``, by a coin of its inputs.

    Where distinct inputs are few and rows many (`few_places`), every row has a coin of its own, by
    its index in `Training.order`, and is known again by inputs and targets; rows that are equal in
    both stand for each other.

    ``keys`` are those of inputs and targets of the rows that functions were trained on, sorted,
    ``order`` their indices, and ``n_targets`` is how many targets they had. ``inputs`` are the
    distinct input keys, sorted: rows are known by their indices there. It is empty where rows are
    told apart, and None in files that know no input keys, where they are told apart as well.
    """

    share: float
    seed: int
    n_targets: int
    keys: Keys
    order: NDArray[np.int64]
    inputs: Keys | None = None

    @classmethod
    def of(cls, training: Training, share: float, seed: int) -> OutOfBagRows:
        assert training.targets is not None
        keys = training.row_keys[training.order]
        order = np.argsort(keys, kind="stable")
        inputs = np.empty(0, np.uint64) if few_places(training.keys) else np.unique(training.keys)
        return cls(share, seed, training.targets.shape[1], keys[order], order, inputs)

    @property
    def places(self) -> Keys | None:
        """``inputs``, where rows of equal inputs share their bags."""
        return None if self.inputs is None or not len(self.inputs) else self.inputs

    @property
    def together(self) -> bool:
        """Whether rows of equal inputs share their bags."""
        return self.places is not None

    def names(self, inputs: Keys, targets: NDArray[np.float64]) -> Keys:
        """The keys that rows are known by, given those of their inputs."""
        return inputs if self.together else with_targets(inputs, targets)

    def names_kept(self, kept: Keys, targets: NDArray[np.float64]) -> Keys:
        """The same, given the keys that statistics keep: names already, in files of old."""
        return kept if self.inputs is None else self.names(kept, targets)

    def indices(self, inputs: Keys, targets: NDArray[np.float64]) -> NDArray[np.int64]:
        """The indices by which bags know rows, -1 for rows that were not there."""
        return self.located(self.names(inputs, targets))

    def located(self, names: Keys) -> NDArray[np.int64]:
        """The same by their names; of equal rows it is the index of the first."""
        known = self.keys if self.places is None else self.places
        at = np.minimum(np.searchsorted(known, names), len(known) - 1)
        return np.where(known[at] == names, self.order[at] if self.places is None else at, -1)

    def of_training(self, training: Training) -> NDArray[np.int64]:
        """The indices of the rows that functions are trained on, in their own order."""
        if self.together:
            return self.located(training.keys[training.order])
        return np.arange(len(training.rows))

    def trained_on(self, inputs: Keys, targets: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows are, with these targets, among those that functions were trained on."""
        keys = with_targets(inputs, targets)
        return self.keys[np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)] == keys

    def copies(
        self, names: Keys
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """All rows of the training data that are equal to each row, and the share of each in it.

        Three arrays: which row, the index of one equal to it (-1 where there is none), 1 over how
        many there are. So a row that stands several times stands for all of them alike, wherever a
        stream is cut. Where equal rows share their bags, one stands for all.
        """
        if self.together:
            return np.arange(len(names)), self.located(names), np.ones(len(names))
        first = np.searchsorted(self.keys, names)
        counts = np.maximum(np.searchsorted(self.keys, names, side="right") - first, 0)
        known = counts > 0
        counts = np.maximum(counts, 1)
        rows = np.repeat(np.arange(len(names)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        indices = np.full(len(rows), -1, dtype=np.int64)
        there = known[rows]
        indices[there] = self.order[(first[rows] + within)[there]]
        return rows, indices, 1 / counts[rows]

    def in_bag(self, function: int, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether rows are in the bag of a function, by their indices."""
        return self._coins(function, indices) < self.share

    def times(self, function: int, mean: float, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """How often they are there, where bags are filled with replacement.

        That is a Poisson number of the given mean for every row, above 0 where `in_bag` is, if
        ``share`` is 1 - exp(-mean).
        """
        coins = self._coins(function, indices)
        beyond = special.pdtrc(np.arange(MOST_TIMES), mean)
        return (coins[:, None] < beyond).sum(axis=1).astype(np.float64)

    def _coins(self, function: int, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        bits = self.bits(f"bag {function}", indices)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def bits(self, stream: str, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """64 random bits for every row."""
        if not len(indices):
            return np.empty(0, dtype=np.uint64)
        if self.places is not None:
            return bits_of(self.seed, stream, self.places[indices])
        start, stop = int(indices.min()), int(indices.max()) + 1
        skipped = start - start % 4
        return raw_bits(self.seed, stream, stop - skipped, skipped)[indices - skipped]

    def seen(self, indices: NDArray[np.int64], n_functions: int) -> NDArray[np.bool_]:
        """Whether every function was trained on every row, by row indices."""
        seen = np.zeros((len(indices), n_functions), dtype=bool)
        known = np.flatnonzero(indices >= 0)
        for j in range(n_functions):
            seen[known, j] = self.in_bag(j, indices[known])
        return seen

    def others(self, seen: NDArray[np.bool_], indices: NDArray[np.int64]) -> NDArray[np.intp]:
        """For every row and function the same function, or a random one that has not seen the row.

        Rows that all functions have seen keep these.
        """
        k = seen.shape[1]
        unseen = k - seen.sum(axis=1)
        unseen_first = np.argsort(seen, axis=1, kind="stable")
        numbers = (indices + 1).astype(np.uint64)
        if self.places is not None:
            numbers = np.where(indices >= 0, self.places[indices], np.uint64(0))
        lots = raw_bits(self.seed, "others", k) | np.uint64(1)
        lots = (lots * numbers[:, None]) >> np.uint64(33)
        chosen = (lots % np.maximum(unseen, 1)[:, None].astype(np.uint64)).astype(np.intp)
        return np.where(seen, np.take_along_axis(unseen_first, chosen, axis=1), np.arange(k))
