"""Which trees to grow: some of every kind, judged by rows that are out of bag for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .forest import AT_ONCE, Forest, Law, Nursery, Tree
from .out_of_bag import Training

Array = NDArray[np.float64]

# Trees, more for classes, and at most so many rows, that a choice by out-of-bag rows looks at.
TRIALS, TRIALS_OF_CLASSES, TRIAL_ROWS, TRIAL_VALUES = 20, 40, 8_000, 2**25
# No more columns, or rows of a leaf, are tried where the error has risen so far already.
UPHILL = 1.03
# Trees whose majorities are compared.
VOTES = (4, 8)
# Trees whose error it extrapolates to: not as many as are drawn, so that a larger draw begins with
# the smaller one.
MANY = 100
# Values of leaves of the trees of a comparison that are kept for the forest, 64 MB: more are grown
# once more.
MOST_KEPT = 2**23


def best(
    nursery: Nursery, training: Training, columns: list[int], leaves: list[int], cuts: list[str]
) -> tuple[Law, list[Tree]]:
    """The law with which 100 trees err least on out-of-bag rows.

    With the first trees of the forest, where all rows were looked at.
    """
    if nursery.out_of_bag.share >= 1 or len(columns) == len(leaves) == len(cuts) == 1:
        return Law(columns[-1], leaves[0], cuts[0]), []
    numbers = range(TRIALS_OF_CLASSES if training.classes else TRIALS)
    most = max(1, min(TRIAL_ROWS, TRIAL_VALUES // (len(numbers) * nursery.targets.shape[1])))
    indices, rows = nursery.out_of_bag.of_training(training), training.order
    every = len(rows) <= most
    if not every:
        lots = nursery.out_of_bag.bits("trial rows", indices)
        some = np.sort(np.argsort(lots, kind="stable")[:most])
        rows, indices = rows[some], indices[some]
    if every:
        trial = _Trial.of(nursery, training, rows, indices, numbers)
    else:
        few = training.some(rows)
        part = nursery.of_some(few, indices)
        trial = _Trial.of(part, few, np.arange(most), indices, numbers)
    usual = columns[min(1, len(columns) - 1)]
    trial.walk([Law(usual, leaf, cuts[0]) for leaf in leaves])
    trial.walk([replace(trial.best, columns=column) for column in columns])
    trial.walk([replace(trial.best, splitter=cut) for cut in cuts])
    return trial.best, trial.kept if every else []


@dataclass
class _Trial:
    """Some trees of every law, and how far they err on rows that are out of bag.

    ``order`` is that of the nursery, and ``out_of_bag`` says which rows are, for every tree;
    ``kept`` are trees of the best law.
    """

    nursery: Nursery
    training: Training
    order: NDArray[np.intp]
    numbers: range
    out_of_bag: NDArray[np.bool_]
    errors: dict[Law, float] = field(default_factory=dict)
    kept: list[Tree] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        nursery: Nursery,
        training: Training,
        order: NDArray[np.intp],
        indices: NDArray[np.int64],
        numbers: range,
    ) -> _Trial:
        bags = [nursery.out_of_bag.in_bag(j, indices) for j in numbers]
        return cls(nursery, training, order, numbers, ~np.array(bags).T)

    @property
    def best(self) -> Law:
        return min(self.errors, key=self.errors.__getitem__)

    def walk(self, laws: list[Law]) -> None:
        """One after the other, until errors have risen too far."""
        least = np.inf
        for law in laws:
            error = self._error(law)
            if error > UPHILL * least:
                return
            least = min(least, error)

    def _error(self, law: Law) -> float:
        if law not in self.errors:
            training, order = self.training, self.order
            grown = self.nursery.trees(self.numbers, law)
            few = sum(tree.value.size for tree in grown) <= MOST_KEPT
            forest = Forest.of(grown[:] if few else grown)
            assert training.targets is not None
            said = (forest.value, forest.places(training.rows)[order], training.targets[order])
            known = (self.out_of_bag, training.each[order])
            if training.classes:
                self.errors[law] = _share_of_wrong(*said, *known)
            else:
                self.errors[law] = _squared_error(*said, *known, self.nursery.units)
            if self.best == law:
                self.kept = grown
        return self.errors[law]


def _squared_error(
    value: Array,
    at: NDArray[np.int64],
    targets: Array,
    out_of_bag: NDArray[np.bool_],
    weights: Array,
    units: Array,
) -> float:
    """The error of the mean of many trees like these, summed over targets in units of each.

    Trees predict ``value[at]`` of every row, a column of ``at`` for each.

    E (y - h̄)² = E e_i e_j + (E e_i² - E e_i e_j)/k for the errors e of two trees, each mean over
    the rows that are out of bag for both.
    """
    mask = out_of_bag * np.sqrt(weights)[:, None]
    each = mask.T @ mask
    alone = np.eye(len(each), dtype=bool)
    own, apart = alone & (each > 0), ~alone & (each > 0)
    if not apart.any():
        return 0.0
    total = 0.0
    for c in range(targets.shape[1]):
        errors = mask * ((targets[:, c, None] - value[:, c][at]) / units[c])
        products = errors.T @ errors / np.where(each > 0, each, 1)
        single, pair = products[own].mean(), products[apart].mean()
        total += float(pair + (single - pair) / MANY)
    return total


def _share_of_wrong(
    value: Array,
    at: NDArray[np.int64],
    targets: Array,
    out_of_bag: NDArray[np.bool_],
    weights: Array,
) -> float:
    """The share of classes that many trees like these get wrong, which falls about like 1/k."""
    few, more = VOTES
    enough = (out_of_bag.sum(axis=1) >= more) & (weights > 0)
    if not enough.any():
        return 0.0
    first = np.argsort(~out_of_bag[enough], axis=1, kind="stable")
    at, truth = at[enough], targets[enough]
    one, shares = truth.shape[1] == 1, []
    for votes in VOTES:
        asked = np.take_along_axis(at, first[:, :votes], axis=1)
        wrong = np.empty(len(asked), dtype=bool)
        step = max(1, AT_ONCE // (votes * truth.shape[1]))
        for start in range(0, len(asked), step):
            some = slice(start, start + step)
            mean, true = value[asked[some]].mean(axis=1), truth[some]
            way = mean.argmax(axis=1) != true.argmax(axis=1)
            wrong[some] = (mean * true <= 0)[:, 0] if one else way
        shares.append(float(np.average(wrong, weights=weights[enough])))
    slope = (shares[0] - shares[1]) / (1 / few - 1 / more)
    return shares[1] - slope * (1 / more - 1 / MANY)
