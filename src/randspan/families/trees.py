"""Random trees (Cao and Lan 2022): extra-trees, each grown on some of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_flag, is_count
from .base import Family
from .shared.cells import CellFunctions, Table
from .shared.forest import AT_ONCE, Forest, Nursery
from .shared.layout import Layout
from .shared.out_of_bag import OutOfBagRows
from .shared.rows import Rows
from .shared.trained import TrainedFunctions, TrainedOn, check_share
from .shared.trials import MOST_KEPT, TRIAL_ROWS, TRIAL_VALUES, TRIALS_OF_CLASSES, VOTES, best


class Trees(Family):
    """φ(x) = the mean target of the leaf of x in an extra-tree, or the indicators of its leaves.

    Every tree is grown on a random share of the rows; out-of-bag rows tell what it is worth.
    It splits where of ``max_features`` columns, each cut at a uniformly random place, the targets
    vary least; for classes, whose targets are ±1, that is the Gini criterion. Trees see columns one
    by one, and cuts move with their scales: these mean nothing to them.

    A model forgets rows in the weights of its trees. The trees themselves, their cuts and the means
    in their leaves, keep what they learned from these rows: ``forget(..., regrow=True)`` grows them
    anew from the rows that are left, where the model has kept these.

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
        Rows of different inputs that a leaf holds at least. "auto" compares 1, 5 and 25, until
        errors rise, in the same way: targets with much noise want large leaves.
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

    def stored_bytes(self, n_rows, n_features, n_components, n_targets=1):
        # A leaf has a value for every target, and two nodes of 16 bytes belong to it; and the room
        # that small arrays of single trees leave behind is not given back.
        leaf = 32 + 8 * n_targets + 40
        return n_components * self._most_leaves(n_rows) * leaf + 16 * n_rows

    def training_bytes(self, n_rows, n_features, n_components, n_targets, threads):
        # Rows in float32, some of them in float64 on the way, targets about their mean.
        rows = 4 * n_rows * n_features + 28 * min(
            n_rows * n_features, max(AT_ONCE, 64 * n_features)
        )
        rows += 8 * n_rows * (6 * n_targets + 20)
        # Room for a growing tree is doubled; what its leaves hold is taken out of it.
        leaves = self._most_leaves(n_rows)
        growing = threads * (max(4 * leaves, 2047) * (64 + 8 * n_targets) + 16 * leaves * n_targets)
        return rows + growing + self._trial_bytes(n_rows, n_targets)

    def _trial_bytes(self, n_rows: int, n_targets: int) -> int:
        """Trees that are compared, those of the best beside them, and what they say of rows."""
        open_to = (self.max_features, self.min_samples_leaf, self.splitter)
        if not any(isinstance(one, str) and one == "auto" for one in open_to):
            return 0
        trials = TRIALS_OF_CLASSES
        rows = min(n_rows, TRIAL_ROWS, TRIAL_VALUES // (trials * n_targets))
        leaves = trials * self._most_leaves(rows)
        few = leaves * n_targets <= MOST_KEPT
        judged = 32 * rows * trials + 20 * min(AT_ONCE, max(VOTES) * rows * n_targets)
        return leaves * (32 + 8 * n_targets) * (1 + few) + judged

    def _most_leaves(self, n_rows: int) -> int:
        """Leaves of a tree: one for every row that it is grown on, where rows all differ."""
        leaf = self.min_samples_leaf if is_count(self.min_samples_leaf) else 1
        return int(self.share * n_rows / leaf) + 1

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
        times = float(self.bootstrap) if self.replace else None
        nursery = Nursery.of(training, self.share, times, seed)
        law, grown = best(nursery, training, *self._laws(training.rows.shape[1]))
        columns, missing = law.columns, range(len(grown), n_components)
        grown = grown[:n_components] + nursery.trees(missing, law, training.progress)
        forest = Forest.of(grown)
        out_of_bag = nursery.out_of_bag if self.share < 1 else None
        trained_on, d = TrainedOn(out_of_bag, nursery.origin), training.rows.shape[1]
        if not self.sparse:
            return TreeFunctions(self, d, n_components, trained_on, forest, columns)
        tables = [Table() for _ in range(n_components)]
        counts = np.zeros(n_components, dtype=np.int64)
        return LeafFunctions(self, d, n_components, tables, counts, trained_on, forest, columns)

    def _laws(self, d: int) -> tuple[list[int], list[int], list[str]]:
        """Columns for a split, rows of a leaf and cuts, of which the best are chosen."""
        columns, leaves, cuts = [self.max_features], [self.min_samples_leaf], [self.splitter]
        if isinstance(self.max_features, str):
            columns = sorted({max(1, round(c)) for c in (np.sqrt(d), d / 3, 0.6 * d, d)})
        if isinstance(self.min_samples_leaf, str):
            leaves = [1, 5, 25]
        if self.splitter == "auto":
            cuts = ["random", "best"]
        return [int(c) for c in columns], [int(leaf) for leaf in leaves], cuts


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
