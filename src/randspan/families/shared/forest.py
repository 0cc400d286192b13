"""Extra-trees: how they are grown, each on its bag of the rows, and where rows fall in them.

scikit-learn grows them, from columns in float32 and by thresholds that are absolute numbers: so
targets are handed over in units of their spread, and columns of very small or very large numbers
as a power of two times what they are, which rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .out_of_bag import OutOfBagRows, Training
from .randomness import raw_bits
from .rows import Rows
from .trained import weighted_mean

Array = NDArray[np.float64]

# Entries of rows that are looked at together.
AT_ONCE = 2**20
# Sparse rows of so many entries, zeros included, are made dense, 512 MB of float32: where two
# splits are equally good rounding decides, and dense and sparse rows should have the same trees.
MOST_ENTRIES = 2**27
# The largest entry of a column is at least 1 and below 2^60 when trees see it: what differs by
# 1e-7 or less is the same to scikit-learn, and float32 ends at 2^128.
LARGEST = 60
# Targets are handed over so much smaller than their spread: what scikit-learn takes for nothing,
# the variance 2e-16, is then more than rounding leaves of the variance of equal ones.
SMALL = 16.0
# Bits of sums of targets, some less than float64 has: in bags rows may stand several times.
EXACT_BITS = 50
# Targets that vary by no more than this share of their mean are constant, but for rounding.
CONSTANT = 1e-14


@dataclass(frozen=True)
class Tree:
    """One tree: node i is a leaf where ``feature`` is -1, else its left child is node i + 1.

    ``other`` is the right child of a node, the number of a leaf; ``value`` has a row for each leaf.
    """

    feature: NDArray[np.int32]
    threshold: Array
    other: NDArray[np.int32]
    value: Array


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees one after the other; ``roots`` are where they begin, ``firsts`` their leaves."""

    feature: NDArray[np.int32]
    threshold: Array
    other: NDArray[np.int32]
    value: Array
    roots: NDArray[np.int64]
    firsts: NDArray[np.int64]

    @classmethod
    def of(cls, trees: list[Tree]) -> Forest:
        """The trees of a list, which is emptied: leaves of many targets are large."""
        sizes = np.array([len(tree.feature) for tree in trees])
        leaves = np.array([len(tree.value) for tree in trees])
        roots, firsts = np.cumsum(sizes) - sizes, np.cumsum(leaves) - leaves
        nodes = [np.empty(sizes.sum(), kind) for kind in (np.int32, np.float64, np.int32)]
        value = np.empty((leaves.sum(), trees[0].value.shape[1]))
        for number in range(len(trees))[::-1]:
            tree = trees.pop()
            mine = slice(roots[number], roots[number] + sizes[number])
            for whole, part in zip(nodes, (tree.feature, tree.threshold, tree.other), strict=True):
                whole[mine] = part
            value[firsts[number] : firsts[number] + leaves[number]] = tree.value
        feature, threshold, other = nodes
        return cls(feature, threshold, other, value, roots, firsts)

    def leaves(self, rows: Rows, trees: slice) -> NDArray[np.int32]:
        """The leaf of every row in some trees, numbered within its tree; one line a tree."""
        from . import loops  # here, because importing numba takes longer than all the rest

        out = np.empty((len(self.roots[trees]), len(rows)), dtype=np.int32)
        for part in _parts(rows):
            loops.leaves(
                rows[part].cast(np.dtype(np.float64)).dense,  # as few rows are, whatever the plan
                self.feature,
                self.threshold,
                self.other,
                self.roots[trees],
                out[:, part],
            )
        return out

    def predictions(self, rows: Rows) -> NDArray:
        """The value of the leaf of every row, in every tree, for every target."""
        largest = float(np.abs(self.value).max(initial=0.0))  # may be beyond float32
        dtype = np.result_type(rows.dtype, np.min_scalar_type(largest))
        return self.value[self.places(rows)].astype(dtype, copy=False)

    def places(self, rows: Rows) -> NDArray[np.int64]:
        """Where the value of the leaf of every row stands, a column for every tree."""
        return (self.leaves(rows, slice(None)) + self.firsts[:, None]).T


def _parts(rows: Rows) -> list[slice]:
    """Slices of rows that may be dense at once."""
    step = _step(rows)
    return [slice(s, min(s + step, len(rows))) for s in range(0, len(rows), step)]


def _step(rows: Rows) -> int:
    return max(64, AT_ONCE // max(rows.shape[1], 1))


@dataclass(frozen=True)
class Law:
    """What trees are grown by: columns that are tried for a split, rows of a leaf, cuts."""

    columns: int
    leaf: int
    splitter: str


@dataclass(frozen=True)
class Columns:
    """Columns as scikit-learn wants them, and what takes its thresholds back to x̃.

    X = 2^e·x̃, or 2^e·(x̃ + shift) where sparse rows stay sparse.
    """

    X: NDArray[np.float32] | sparse.csc_matrix
    exponents: NDArray[np.intc]
    shifts: Array | None

    @classmethod
    def of(cls, rows: Rows, order: NDArray[np.intp]) -> Columns:
        """The columns of some rows, in this order."""
        if sparse.issparse(rows.values) and rows.shape[0] * rows.shape[1] > MOST_ENTRIES:
            return cls._of_sparse(rows, order)
        largest = np.zeros(rows.shape[1])
        for part in _parts(rows):
            largest = np.maximum(largest, np.abs(rows[part].dense).max(axis=0))
        exponents = _exponents(largest)
        X = np.empty((len(order), rows.shape[1]), dtype=np.float32)
        for start in range(0, len(order), step := _step(rows)):
            some = order[start : start + step]
            X[start : start + step] = np.ldexp(rows[some].dense, exponents)
        return cls(X, exponents, None)

    @classmethod
    def _of_sparse(cls, rows: Rows, order: NDArray[np.intp]) -> Columns:
        """Too many to be dense: scaled but not centred. Thresholds are, afterwards."""
        X = rows.values[order].astype(np.float64)
        if rows.scale is not None:
            X = X @ sparse.diags_array(rows.scale)
        exponents = _exponents(np.asarray(abs(X).max(axis=0).todense()).ravel())
        X = sparse.csc_matrix(X @ sparse.diags_array(np.ldexp(1.0, exponents)), dtype=np.float32)
        X.sort_indices()
        shifts = None
        if rows.centre is not None:
            shifts = rows.centre * (1 if rows.scale is None else rows.scale)
        return cls(X, exponents, shifts)

    def thresholds(self, found: Array, columns: NDArray[np.int32]) -> Array:
        """Thresholds for x̃, given those for X."""
        found = np.ldexp(found, -self.exponents[columns])
        return found if self.shifts is None else found - self.shifts[columns]


def _exponents(largest: Array) -> NDArray[np.intc]:
    """e with 2^e times the largest entry from 1 to 2^60; 0 where it is there already."""
    here = np.frexp(largest)[1] - 1
    wanted = np.clip(here, 0, LARGEST - 1)
    return np.where(largest > 0, wanted - here, 0).astype(np.intc)


@dataclass(frozen=True)
class Seen:
    """Rows as trees see them; ``indices`` are those by which bags know them.

    Rows of equal inputs, which share their bags, are one row of the mean of their targets: splits
    that are best for the one are for the others.
    """

    columns: Columns
    targets: Array
    weights: Array
    indices: NDArray[np.int64]

    @classmethod
    def of(
        cls, training: Training, order: NDArray[np.intp], indices: NDArray[np.int64], unite: bool
    ) -> Seen:
        """Training rows in some order, with the indices that they have in it."""
        assert training.targets is not None
        targets, weights = training.targets[order], training.each[order]
        if unite:
            indices, first, place = np.unique(indices, return_index=True, return_inverse=True)
            one = targets[first]  # means are taken about one of them: of equal ones they are it
            away = np.add.reduceat(weights[:, None] * (targets - one[place]), first)
            order, weights = order[first], np.add.reduceat(weights, first)
            targets = one + away / np.where(weights > 0, weights, 1.0)[:, None]
        return cls(Columns.of(training.rows, order), targets, weights, indices)


@dataclass(frozen=True)
class Nursery:
    """Where trees grow, on rows in the order that their keys have.

    Targets are taken about ``origin`` and divided by ``units``, so that all count alike, whatever
    they are measured in. Bags are filled with replacement where ``times`` says how often on
    average.
    """

    seen: Seen
    targets: Array
    origin: Array
    units: Array
    out_of_bag: OutOfBagRows
    times: float | None
    workers: int

    @classmethod
    def of(cls, training: Training, share: float, times: float | None, seed: int) -> Nursery:
        """Trees that each see a share of the rows."""
        assert training.targets is not None
        order, out_of_bag = training.order, OutOfBagRows.of(training, share, seed)
        targets, weights = training.targets[order], training.each[order]
        origin = weighted_mean(targets, weights)
        units = np.ones(len(origin)) if training.classes else _spread(targets, origin, weights)
        seen = Seen.of(training, order, out_of_bag.of_training(training), out_of_bag.together)
        return cls._of(seen, origin, SMALL * units, out_of_bag, times, training.workers)

    @classmethod
    def _of(cls, seen: Seen, origin: Array, units: Array, *rest) -> Nursery:
        # About their mean: squares of numbers with a large offset would lose what they differ by.
        targets = _summable((seen.targets - origin) / units, seen.weights)
        return cls(seen, targets, origin, units, *rest)

    def of_some(self, few: Training, indices: NDArray[np.int64]) -> Nursery:
        """Trees that see ``few`` of the rows, with the bags that these have."""
        seen = Seen.of(few, np.arange(len(indices)), indices, self.out_of_bag.together)
        rest = (self.origin, self.units, self.out_of_bag, self.times, self.workers)
        return self._of(seen, *rest)

    def trees(
        self,
        numbers: Iterable[int],
        law: Law,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Tree]:
        """Trees by their numbers, several at a time."""

        def grow(number: int) -> Tree:
            tree = self._tree(number, law)
            progress(1)
            return tree

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(grow, numbers))

    def _tree(self, number: int, law: Law) -> Tree:
        from sklearn.tree import DecisionTreeRegressor  # here, because few sessions grow trees

        weights, indices, bags = self.seen.weights, self.seen.indices, self.out_of_bag
        if self.times is not None:
            weights = weights * bags.times(number, self.times, indices)
        elif bags.share < 1:
            weights = weights * bags.in_bag(number, indices)
        bits = raw_bits(bags.seed, f"tree {number}", 1)[0]
        grower = DecisionTreeRegressor(
            splitter=law.splitter,
            max_features=law.columns,
            min_samples_leaf=law.leaf,
            random_state=int(bits >> np.uint64(33)),
        )
        if not (weights > 0).any():  # nothing to learn from: the tree that knows nothing
            return _leaf(self.origin[None])
        columns = self.seen.columns
        grower.fit(columns.X, self.targets, sample_weight=weights, check_input=False)
        tree = grower.tree_
        leaf = tree.children_left < 0
        feature = np.where(leaf, -1, tree.feature).astype(np.int32)
        assert (tree.children_left[~leaf] == np.flatnonzero(~leaf) + 1).all()
        other = np.where(leaf, np.cumsum(leaf) - 1, tree.children_right).astype(np.int32)
        threshold = np.where(leaf, 0.0, tree.threshold)
        threshold[~leaf] = columns.thresholds(threshold[~leaf], feature[~leaf])
        value = tree.value[leaf, :, 0]
        value *= self.units
        value += self.origin
        return Tree(feature, threshold, other, value)


def _summable(targets: Array, weights: Array) -> Array:
    """Targets without bits that sums over rows, each as often as it weighs, could not hold.

    Where two splits are equally good, as all are of two rows, rounding would decide. Sums that are
    exact are equal in whatever order rows come, and whatever targets were measured in.
    """
    total = (weights[:, None] * np.abs(targets)).sum(axis=0)
    step = np.ldexp(1.0, np.frexp(total)[1] - EXACT_BITS)
    return np.ascontiguousarray(np.round(targets / step) * step)


def _spread(targets: Array, origin: Array, weights: Array) -> Array:
    """The standard deviation of every target, 1 of those that are constant."""
    away = np.where(weights[:, None] > 0, np.abs(targets - origin), 0.0)
    largest = away.max(axis=0)
    constant = largest <= CONSTANT * np.abs(origin)
    peak = np.where(constant, 1.0, largest)  # squares of small or large numbers may be 0 or inf
    return np.where(constant, 1.0, peak * np.sqrt(weighted_mean((away / peak) ** 2, weights)))


def _leaf(value: Array) -> Tree:
    one = np.zeros(1, dtype=np.int32)
    return Tree(one - 1, np.zeros(1), one, value)
