"""Random trees (Cao and Lan 2022): extra-trees, each grown on some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..checks import check_choice, check_flag, is_count
from .base import Family
from .parts.cells import CellFunctions, Table
from .parts.layout import Layout
from .parts.out_of_bag import OutOfBagRows, Training
from .parts.randomness import raw_bits
from .parts.rows import Rows
from .parts.trained import TrainedFunctions, TrainedOn, check_share, weighted_mean

# Trees, more for classes, and at most so many rows, that a choice by out-of-bag rows looks at.
TRIALS, TRIALS_OF_CLASSES, TRIAL_ROWS, TRIAL_VALUES = 20, 40, 8_000, 2**25
# No more columns, or rows of a leaf, are tried where the error has risen so far already.
UPHILL = 1.03
# Trees whose majorities are compared.
VOTES = (4, 8)
# Trees whose error it extrapolates to: not as many as are drawn, so that a larger draw begins with
# the smaller one.
MANY = 100
# Entries of rows that are looked at together.
AT_ONCE = 2**22
# Sparse rows of so many entries, zeros included, are made dense, 512 MB of float32: where two
# splits are equally good rounding decides, and dense and sparse rows should have the same trees.
MOST_ENTRIES = 2**27


class Trees(Family):
    """φ(x) = the mean target of the leaf of x in an extra-tree, or the indicators of its leaves.

    Every tree is grown on a random share of the rows; out-of-bag rows tell what it is worth.
    It splits where of ``max_features`` columns, each cut at a uniformly random place, the targets
    vary least; for classes, whose targets are ±1, that is the Gini criterion. Trees see columns one
    by one, and cuts move with their scales: these mean nothing to them.

    Parameters
    ----------
    bootstrap : float, default=0.8
        The share of the rows that a tree is grown on, drawn without replacement; with 1 there are
        no out-of-bag rows.
    replace : bool, default=False
        Draw them with replacement, as Cao and Lan's code does: every row a Poisson number of times
        of mean ``bootstrap``, so that 55 % of them are there at least once by default.
    max_features : "auto" or int, default="auto"
        Columns that are tried for every split; 1 is a tree that does not look at the target. "auto"
        compares √d, d/3, 0.6d and d, until errors rise, by the squared error (for classes, the
        share of wrong ones) of 100 trees on out-of-bag rows, extrapolated from 20 trees (40 for
        classes) on at most 8,000 rows.
    output : "value" or "leaves", default="value"
        "value" has a column for every tree (and target); "leaves" a sparse column for every leaf.
    min_samples_leaf : "auto" or int, default=1
        Rows that a leaf holds at least. "auto" compares 1, 5 and 25, until errors rise, in the same
        way: targets with much noise want large leaves.
    splitter : "random", "best" or "auto", default="random"
        "random" cuts each of these columns at a uniformly random place, "best" at the best one, as
        random forests do (Breiman 2001): better for columns with few large values, which random
        places miss. "auto" compares both, in the same way.

    Examples
    --------
    >>> import randspan as rs
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rs.Trees().draw(X, 10, random_state=0, y=y)(X).shape
    (442, 10)
    """

    trains = True
    uses_target = True
    default_alpha = "out_of_bag"
    differentiable = property(lambda self: False)
    sees_scales = property(lambda self: False)

    def __init__(
        self,
        bootstrap=0.8,
        max_features="auto",
        output="value",
        min_samples_leaf=1,
        replace=False,
        splitter="random",
    ):
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.output = output
        self.min_samples_leaf = min_samples_leaf
        self.replace = replace
        self.splitter = splitter

    @property
    def share(self) -> float:
        """The share of different rows that a tree is grown on."""
        check_share(self.bootstrap)
        mean = float(self.bootstrap)
        return 1 - float(np.exp(-mean)) if check_flag("replace", self.replace) else mean

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.output == "leaves"

    @property
    def bounded(self):
        return 1.0 if self.sparse else np.inf

    def layout(self, n_features, n_components, n_targets):
        some = self.share < 1
        spent = "" if some else repr(self)
        if self.sparse:
            return Layout(n_components, 0, n_components, out_of_bag=some, spent=spent)
        return Layout(n_components, n_components * n_targets, 0, 0, n_targets, some, spent)

    def stored_bytes(self, n_rows, n_features, n_components):
        # A fully grown tree has two nodes of 16 bytes and a value for every row. Trees are grown
        # from rows in float32, and take more while they grow.
        return (40 * n_components + 4 * n_features + 400) * n_rows

    def read(self, sample, n_components, seed):
        check_choice("output", self.output, ("value", "leaves"))
        check_choice("splitter", self.splitter, ("random", "best", "auto"))
        check_share(self.bootstrap)
        check_flag("replace", self.replace)
        features = self.max_features
        if isinstance(features, str):
            check_choice("max_features", features, ("auto",), " or a positive whole number")
        elif not is_count(features) or features > sample.shape[1]:
            raise ValueError(
                f"max_features must be 'auto' or a whole number from 1 to {sample.shape[1]}, the "
                f"number of columns; got {features!r}."
            )
        leaf = self.min_samples_leaf
        if isinstance(leaf, str):
            check_choice("min_samples_leaf", leaf, ("auto",), " or a positive whole number")
        elif not is_count(leaf):
            raise ValueError(
                f"min_samples_leaf must be 'auto' or a positive whole number, got {leaf!r}."
            )

    def train(self, training, n_components, seed):
        training.given_targets(self)
        nursery = _Nursery.of(training, self, seed)
        law, grown = _best(nursery, training, self, seed)
        columns, missing = law.columns, range(len(grown), n_components)
        grown += nursery.trees(missing, law, training.progress)
        forest = Forest.of(grown[:n_components])
        out_of_bag = nursery.out_of_bag if self.share < 1 else None
        trained_on, d = TrainedOn(out_of_bag, nursery.origin), training.rows.shape[1]
        if not self.sparse:
            return TreeFunctions(self, d, n_components, trained_on, forest, columns)
        tables = [Table() for _ in range(n_components)]
        counts = np.zeros(n_components, dtype=np.int64)
        return LeafFunctions(self, d, n_components, tables, counts, trained_on, forest, columns)


@dataclass(frozen=True)
class Tree:
    """One tree: node i is a leaf where ``feature`` is -1, else its left child is node i + 1.

    ``other`` is the right child of a node, the number of a leaf; ``value`` has a row for each leaf.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    other: NDArray[np.int32]
    value: NDArray[np.float64]


@dataclass(frozen=True)
class _Law:
    """What trees are grown by: columns that are tried for a split, rows of a leaf, cuts."""

    columns: int
    leaf: int
    splitter: str


@dataclass(frozen=True)
class _Nursery:
    """Where trees grow: columns as scikit-learn wants them, and what takes thresholds back to x̃.

    Of several targets all count alike: each is taken about ``origin`` and divided by ``units``.
    """

    X: NDArray[np.float32] | sparse.csc_matrix
    shifts: NDArray[np.float64] | None
    targets: NDArray[np.float64]
    origin: NDArray[np.float64]
    units: NDArray[np.float64]
    weights: NDArray[np.float64]
    out_of_bag: OutOfBagRows
    family: Trees
    workers: int

    @classmethod
    def of(cls, training: Training, family: Trees, seed: int) -> _Nursery:
        rows, targets = training.rows, training.targets
        assert targets is not None
        weights = training.each
        out_of_bag = OutOfBagRows.of(training, family.share, seed)
        shifts = None
        if sparse.issparse(rows.values) and rows.shape[0] * rows.shape[1] > MOST_ENTRIES:
            # Too many to be dense: scaled but not centred. Thresholds are, afterwards.
            X = rows.values.astype(np.float64)
            if rows.scale is not None:
                X = X @ sparse.diags_array(rows.scale)
            X = sparse.csc_matrix(X, dtype=np.float32)
            X.sort_indices()
            if rows.centre is not None:
                shifts = rows.centre * (1 if rows.scale is None else rows.scale)
        else:
            X = np.empty(rows.shape, dtype=np.float32)
            with np.errstate(over="ignore"):
                for part in _parts(rows):
                    X[part] = rows[part].dense
            if not np.isfinite(X).all():
                raise ValueError(
                    "Trees see inputs in float32, and some are too large for it: standardize=True."
                )
        units = np.ones(targets.shape[1])
        if targets.shape[1] > 1 and not training.classes and (weights > 0).any():
            spread = targets[weights > 0].std(axis=0)
            units = np.where(spread > 0, spread, 1.0)
        origin = weighted_mean(targets, training.weights)
        # About their mean: squares of numbers with a large offset would lose what they differ by.
        targets = np.ascontiguousarray((targets - origin) / units)
        return cls(X, shifts, targets, origin, units, weights, out_of_bag, family, training.workers)

    def trees(
        self,
        numbers: Iterable[int],
        law: _Law,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Tree]:
        """Trees by their numbers, several at a time."""

        def grow(number: int) -> Tree:
            tree = self._tree(number, law)
            progress(1)
            return tree

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(grow, numbers))

    def _tree(self, number: int, law: _Law) -> Tree:
        from sklearn.tree import DecisionTreeRegressor  # here, because few sessions grow trees

        weights = self.weights
        if self.family.replace:
            mean = float(self.family.bootstrap)
            weights = weights * self.out_of_bag.times(number, mean, 0, len(weights))
        elif self.family.share < 1:
            weights = weights * self.out_of_bag.in_bag(number, 0, len(weights))
        bits = raw_bits(self.out_of_bag.seed, f"tree {number}", 1)[0]
        grower = DecisionTreeRegressor(
            splitter=law.splitter,
            max_features=law.columns,
            min_samples_leaf=law.leaf,
            random_state=int(bits >> np.uint64(33)),
        )
        if not (weights > 0).any():  # nothing to learn from: the tree that knows nothing
            return _leaf(self.origin[None])
        grower.fit(self.X, self.targets, sample_weight=weights, check_input=False)
        tree = grower.tree_
        leaf = tree.children_left < 0
        feature = np.where(leaf, -1, tree.feature).astype(np.int32)
        assert (tree.children_left[~leaf] == np.flatnonzero(~leaf) + 1).all()
        other = np.where(leaf, np.cumsum(leaf) - 1, tree.children_right).astype(np.int32)
        threshold = np.where(leaf, 0.0, tree.threshold)
        if self.shifts is not None:
            threshold[~leaf] -= self.shifts[feature[~leaf]]
        return Tree(feature, threshold, other, tree.value[leaf, :, 0] * self.units + self.origin)


def _leaf(value: NDArray[np.float64]) -> Tree:
    one = np.zeros(1, dtype=np.int32)
    return Tree(one - 1, np.zeros(1), one, value)


def _best(
    nursery: _Nursery, training: Training, family: Trees, seed: int
) -> tuple[_Law, list[Tree]]:
    """The law with which 100 trees err least on out-of-bag rows.

    With the first trees of the forest, where all rows were looked at.
    """
    n, d = training.rows.shape
    columns, leaves, cuts = [family.max_features], [family.min_samples_leaf], [family.splitter]
    if isinstance(family.max_features, str):
        columns = sorted({max(1, round(c)) for c in (np.sqrt(d), d / 3, 0.6 * d, d)})
    if isinstance(family.min_samples_leaf, str):
        leaves = [1, 5, 25]
    if family.splitter == "auto":
        cuts = ["random", "best"]
    if family.share >= 1 or len(columns) == len(leaves) == len(cuts) == 1:
        return _Law(int(columns[-1]), int(leaves[0]), cuts[0]), []
    assert training.targets is not None
    trials = range(TRIALS_OF_CLASSES if training.classes else TRIALS)
    most = min(TRIAL_ROWS, TRIAL_VALUES // (len(trials) * training.targets.shape[1]))
    every = n <= most
    if not every:
        some = np.sort(np.argsort(raw_bits(seed, "trial rows", n))[:most])
        weights = None if training.weights is None else training.weights[some]
        few = Training(
            training.rows[some], training.targets[some], weights, training.classes, training.workers
        )
        nursery, training = _Nursery.of(few, family, seed), few
    trial = _Trial(nursery, training, trials)
    usual = columns[min(1, len(columns) - 1)]
    trial.walk([_Law(usual, leaf, cuts[0]) for leaf in leaves])
    trial.walk([replace(trial.best, columns=column) for column in columns])
    trial.walk([replace(trial.best, splitter=cut) for cut in cuts])
    return trial.best, trial.kept if every else []


class _Trial:
    """Some trees of every law, judged by rows that are out of bag."""

    def __init__(self, nursery: _Nursery, training: Training, numbers: range) -> None:
        self.nursery, self.training, self.numbers = nursery, training, numbers
        bags = [nursery.out_of_bag.in_bag(j, 0, len(nursery.weights)) for j in numbers]
        self.out_of_bag = ~np.array(bags).T
        self.errors: dict[_Law, float] = {}
        #: trees of the best law
        self.kept: list[Tree] = []

    @property
    def best(self) -> _Law:
        return min(self.errors, key=self.errors.__getitem__)

    def walk(self, laws: list[_Law]) -> None:
        """One after the other, until errors have risen too far."""
        least = np.inf
        for law in laws:
            error = self._error(law)
            if error > UPHILL * least:
                return
            least = min(least, error)

    def _error(self, law: _Law) -> float:
        if law not in self.errors:
            training, weights = self.training, self.nursery.weights
            grown = self.nursery.trees(self.numbers, law)
            values = Forest.of(grown).predictions(training.rows)
            judge = _share_of_wrong if training.classes else _squared_error
            self.errors[law] = judge(values, training.targets, self.out_of_bag, weights)
            if self.best == law:
                self.kept = grown
        return self.errors[law]


def _squared_error(values, targets, out_of_bag, weights) -> float:
    """The error of the mean of many trees like these, mean over targets in units of each.

    E (y - h̄)² = E e_i e_j + (E e_i² - E e_i e_j)/k for the errors e of two trees, each mean over
    the rows that are out of bag for both.
    """
    mask = out_of_bag * np.sqrt(weights)[:, None]
    each = mask.T @ mask
    alone = np.eye(len(each), dtype=bool)
    own, apart = alone & (each > 0), ~alone & (each > 0)
    if not apart.any():
        return 0.0
    spread = np.maximum(targets.var(axis=0), np.finfo(np.float64).tiny)
    total = 0.0
    for c in range(targets.shape[1]):
        errors = mask * (targets[:, c, None] - values[:, :, c])
        products = errors.T @ errors / np.where(each > 0, each, 1)
        single, pair = products[own].mean(), products[apart].mean()
        total += float(pair + (single - pair) / MANY) / spread[c]
    return total


def _share_of_wrong(values, targets, out_of_bag, weights) -> float:
    """The share of classes that many trees like these get wrong, which falls about like 1/k."""
    few, more = VOTES
    enough = (out_of_bag.sum(axis=1) >= more) & (weights > 0)
    if not enough.any():
        return 0.0
    first = np.argsort(~out_of_bag[enough], axis=1, kind="stable")
    shares = []
    for votes in VOTES:
        at = first[:, :votes, None]
        mean = np.take_along_axis(values[enough], at, axis=1).mean(axis=1)
        truth = targets[enough]
        one = truth.shape[1] == 1
        wrong = (mean * truth <= 0)[:, 0] if one else mean.argmax(axis=1) != truth.argmax(axis=1)
        shares.append(float(np.average(wrong, weights=weights[enough])))
    slope = (shares[0] - shares[1]) / (1 / few - 1 / more)
    return shares[1] - slope * (1 / more - 1 / MANY)


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees one after the other; ``roots`` are where they begin, ``firsts`` their leaves."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    other: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]
    firsts: NDArray[np.int64]

    @classmethod
    def of(cls, trees: list[Tree]) -> Forest:
        sizes = np.array([len(tree.feature) for tree in trees])
        leaves = np.array([len(tree.value) for tree in trees])
        return cls(
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.other for tree in trees]),
            np.concatenate([tree.value for tree in trees]),
            np.cumsum(sizes) - sizes,
            np.cumsum(leaves) - leaves,
        )

    def leaves(self, rows: Rows, trees: slice) -> NDArray[np.int32]:
        """The leaf of every row in some trees, numbered within its tree; one line a tree."""
        from .parts import loops  # here, because importing numba takes longer than all the rest

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
        leaves = self.leaves(rows, slice(None)) + self.firsts[:, None]
        return self.value[leaves.T].astype(rows.dtype, copy=False)


def _parts(rows: Rows) -> list[slice]:
    """Slices of rows that may be dense at once."""
    step = max(64, AT_ONCE // max(rows.shape[1], 1))
    return [slice(s, min(s + step, len(rows))) for s in range(0, len(rows), step)]


@dataclass(frozen=True, eq=False)
class TreeFunctions(TrainedFunctions):
    """Values of the leaves of grown trees; ``max_features`` columns were tried for every split."""

    forest: Forest
    max_features: int

    def predictions(self, rows: Rows) -> NDArray:
        return self.forest.predictions(rows)


@dataclass(frozen=True, eq=False)
class LeafFunctions(CellFunctions):
    """Indicators of the leaves of grown trees, of those that hold a row."""

    trained_on: TrainedOn
    forest: Forest
    max_features: int

    @property
    def out_of_bag(self) -> OutOfBagRows | None:
        return self.trained_on.out_of_bag

    def keys(self, rows: Rows, groups: slice) -> NDArray[np.uint64]:
        return self.forest.leaves(rows, groups).astype(np.uint64)
