"""Several families on the same rows: raced, and weighed by rows that they have not seen.

Kernels are compared on a sample by exact leave-one-out errors, with scales learned once for each
distance. The best of each distance, trees and a linear model are fitted to all rows; every one
predicts each row without having used it, and these predictions are combined.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .. import model, predictions
from ..calibration import Calibration
from ..engines import Engine
from ..families import Bins, Family, Fourier, KernelExpansions, Projections, Trees
from ..families.parts.randomness import seed_from
from ..families.trees import TreeFunctions
from ..frame import Frame, check_standardize
from ..judging import lots_of
from ..model import Model
from ..planning import kernel_fits
from ..portfolio import Candidate, Candidates, LeftOut, Portfolio
from ..solvers import Task
from ..solvers.validation import Validation
from ..sources import Source
from . import combining, frames, learning, ranking, spread
from .learning import Descent
from .ranking import Budget

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Effort:
    """How much work a portfolio is worth: numbers of things, so that a seed repeats itself.

    Attributes
    ----------
    kernels : int
        How many kernels are fitted to few rows; more have one, beside trees.
    exact_rows : int
        Up to so many rows a kernel has all its functions.
    functions : int
        Nyström functions of more rows, at most.
    rows_each : int
        Rows that there are for every such function, at least.
    trees : int
    grids : int
        Of bins, which very many rows have in place of kernels.
    thorough : bool
        Whether trees of few rows are tried with several numbers of columns, and trees are grown on
        what the best model of many leaves over.
    budget : Budget
        What the comparison of kernels is worth.
    """

    kernels: int
    exact_rows: int
    functions: int
    rows_each: int
    trees: int
    grids: int
    thorough: bool
    budget: Budget


EFFORTS = {
    "fast": Effort(
        1, 5_000, 1536, 7, 40, 20, False, Budget(400, 25, Descent(20, 500), Descent(8, 400))
    ),
    "balanced": Effort(
        2, 5_000, 2048, 5, 100, 45, True, Budget(800, 50, Descent(32, 600), Descent(16, 600))
    ),
    "best": Effort(
        2, 12_000, 4096, 3, 300, 100, True, Budget(800, 50, Descent(50, 1200), Descent(25, 1200))
    ),
}
# More rows than this have bins, whose cells are as fine as rows are dense.
MANY_ROWS = 100_000
# Of so many, rows that bins leave out to be judged by, and rows that their ridge is found with.
JUDGES, SAMPLE = 20_000, 50_000
# Columns that are tried for a split where nobody compares them, for numbers and for classes.
USUAL_SHARES = (0.6, 1 / 3)
# Trees that very many rows have at least.
FEWEST_TREES = 20
# Kernels that are compared, by the distance that scales are learned for, the first with it.
KERNELS = {
    "euclidean": (
        *(Fourier(name) for name in ("matern32", "matern12", "matern52", "gaussian")),
        Fourier("stable", p=2, q=0.7),
    ),
    "cityblock": (Fourier("laplacian"), Fourier("stable", p=1, q=0.7)),
}
# A kernel whose error is so many times that of the best adds nothing to it.
FAR_BEHIND = 1.1
# Up to so many rows there is a second kernel, and beyond, in its place, trees on what the first
# leaves over: it is little of few rows. They have this share of the trees.
FEW_ROWS, STAGE = 10_000, 0.5
# With fewer rows there is nothing to weigh models by.
FEWEST_ROWS = 20


def _metric(family: Fourier) -> str:
    return "cityblock" if family.nearest_kernel == "laplacian" else "euclidean"


def _name(family: Fourier) -> str:
    powers = f" p={family.p:g} q={family.q:g}" if family.kernel_name == "stable" else ""
    return f"{family.kernel_name}{powers} kernel"


def fit(
    wanted: frames.Wanted,
    source: Source,
    task: Task,
    extent: Array,
    engine: Engine,
    classes: bool,
    effort: str,
) -> Portfolio:
    """The portfolio of these rows."""
    present = replace(source.without_absent(), columns=source.columns)
    # Kernel machines know what they say of rows without these, and are asked to tell.
    task = replace(task, heldout=True)
    race = _Race(wanted, present, task, extent, engine, classes, EFFORTS[effort])
    race.run()
    return race.portfolio()


@dataclass
class _Runner:
    """A model of all rows, and what it predicts of rows that it has not used.

    ``after`` is what another model had predicted of these, which this one adds to.
    """

    name: str
    model: Model
    left_out: Array
    seconds: float
    after: Array | None = None

    @property
    def predicted(self) -> Array:
        return self.left_out if self.after is None else self.left_out + self.after


@dataclass
class _Race:
    wanted: frames.Wanted
    source: Source
    task: Task
    extent: Array
    engine: Engine
    classes: bool
    effort: Effort
    runners: list[_Runner] = field(default_factory=list)
    dropped: list[Candidate] = field(default_factory=list)

    def run(self) -> None:
        seed = seed_from(self.wanted.random_state)
        self.wanted = replace(self.wanted, seed=seed)
        self.standardize = check_standardize(self.wanted.standardize)
        self.reading = frames.reading_of(self.source, self._count(self.effort.functions), seed)
        self.progress = self.engine.progress(5, "candidates")
        d = self.source.n_features
        self.importances = np.full(d, 1 / d)
        if self.source.n_rows > MANY_ROWS:
            self._enter("bins", self._bins)
        else:
            self._kernels()
        if self.source.n_rows < FEWEST_ROWS and self.runners:
            return
        self._enter("trees", self._trees)
        self._enter("linear", self._linear)
        if self.effort.thorough and self.source.n_rows > FEW_ROWS:
            self._stage()

    # -- candidates ----------------------------------------------------------------------------

    def _kernels(self) -> None:
        laws = [self._law(family) for families in KERNELS.values() for family in families]
        given = (self.source, self.task, self.engine, self.effort.budget)
        ranked = ranking.ranked(laws, *given)
        self.progress(1)
        if ranked[0][2].importances is not None:
            self.importances = ranked[0][2].importances
        taken: dict[str, Frame] = {}
        most = self.effort.kernels if self.source.n_rows <= FEW_ROWS else 1
        limit = FAR_BEHIND * ranked[0][0]
        for error, doubt, frame in ranked:
            metric, far = _metric(frame.family), error > limit
            if metric not in taken and len(taken) < most and not far:
                taken[metric] = frame
                continue
            rows = min(self.effort.budget.rows, self.source.n_rows)
            known = (_name(frame.family), error, doubt, rows)
            self.dropped.append(Candidate(*known, dropped="behind on a sample"))
        for number, frame in enumerate(taken.values()):
            self._enter(_name(frame.family), partial(self._kernel, frame, number == 0))

    def _law(self, family: Family) -> learning.Law:
        plain = self.reading.frame(family, np.inf, self.standardize)

        def framed(scales, rotation) -> Frame:
            known = (scales, rotation, plain.family)
            return self.reading.frame(family, np.inf, self.standardize, *known)

        return learning.Law(plain, framed)

    def _kernel(self, frame: Frame, first: bool) -> Model:
        """The best kernel, or that of the other distance, on which less is spent."""
        n, machine = self.source.n_rows, self.engine.machine(self.task.memory_limit)
        exact = n <= self.effort.exact_rows and kernel_fits(n, machine)
        if self.wanted.n_components is not None:
            exact = self.wanted.n_components == np.inf
        if exact:
            return self._fitted(frame)
        kernel = frame.family.with_values(gamma=frame.family.resolved.gamma)
        k = min(self.effort.functions, n // self.effort.rows_each)
        k = self._count(k if first else k // 2)
        family = KernelExpansions(kernel, coefficients="cholesky")
        # Ridges of the best kernel are small: sums in float32 would have to be read again.
        dtype = np.dtype(np.float64) if first else self.task.dtype
        return self._fitted(self.reading.of_other_family(frame, family, k), dtype=dtype)

    def _count(self, usual: int) -> int:
        """How many functions, where somebody has asked for a number of them."""
        k = self.wanted.n_components
        return usual if k is None or k == np.inf else int(k)

    def _bins(self) -> tuple[Model, Array]:
        """Bins with learned scales, alpha from a sample; some rows are left out to judge them by.

        A path of ridges over all rows would take several times as long as the fit itself.
        """
        k, source = self._count(self.effort.grids), self.source
        wanted = replace(self.wanted, family=Bins(), n_components=k, scales="learn")
        given = (self.task, self.engine, self.classes)
        frame = frames.obtained(wanted, None, source, *given, streaming=False)
        if frame.importances is not None:
            self.importances = frame.importances
        order = np.argsort(lots_of(source, frame.seed), kind="stable")
        judges, rest = np.split(order, [JUDGES])
        few = source.some(np.sort(rest[:SAMPLE]))
        tried = model.fit(frame, few, self.task, self.extent, self.engine)
        task = replace(self.task, alpha=tried.found.alpha, heldout=False)
        built = model.fit(frame, source.some(np.sort(rest)), task, self.extent, self.engine)
        left_out = np.full((source.n_rows, source.n_targets), np.nan)
        left_out[judges] = predictions.scores(built, source.some(judges), self.engine)
        return built, left_out

    def _trees(self) -> Model:
        # The best cuts of many targets, or of very many rows, take too long to find; few rows have
        # kernels that are worth more than either kind of trees.
        worth = self.source.n_targets == 1 and FEW_ROWS < self.source.n_rows <= MANY_ROWS
        family = Trees(min_samples_leaf="auto", splitter="auto" if worth else "random")
        if not self.effort.thorough and self.source.n_rows <= FEW_ROWS:
            share = USUAL_SHARES[self.classes]
            family = Trees(max_features=max(1, round(share * self.source.n_features)))
        return self._fitted(self._frame(family, self._n_trees))

    @property
    def _n_trees(self) -> int:
        fewer = min(1.0, MANY_ROWS / self.source.n_rows)
        return self._count(max(round(fewer * self.effort.trees), FEWEST_TREES))

    def _linear(self) -> Model:
        return self._fitted(self._frame(Projections(), 2 * self.source.n_features))

    def _frame(self, family: Family, k: int) -> Frame:
        return self.reading.frame(family, k, self.standardize)

    def _fitted(
        self, frame: Frame, source: Source | None = None, dtype: np.dtype | None = None
    ) -> Model:
        """A model of all rows, with functions that learned from them where these do."""
        classes, task = self.classes and source is None, self.task
        if dtype is not None:
            task = replace(task, dtype=dtype)
        if frame.family.trains:
            task = replace(task, alpha="auto")
        source = self.source if source is None else source
        frame = frame.trained_on(source, classes, self.engine.threads, lambda done: None)
        return model.fit(frame, source, task, self.extent, self.engine)

    def _stage(self) -> None:
        """Trees on what the best model leaves over of rows that it has not seen."""
        if not self.runners:
            return
        best = min(self.runners, key=lambda one: self._error(one.left_out))
        if best.name == "trees" or not np.isfinite(best.left_out).all():
            return
        rest = combining.coarse(self.source.targets() - best.left_out)
        source = replace(self.source, encoded=rest.__getitem__)
        grown = next((one.model.functions for one in self.runners if one.name == "trees"), None)
        columns = cast(TreeFunctions, grown).max_features if grown is not None else "auto"
        family = Trees(max_features=columns, min_samples_leaf="auto")
        frame = self._frame(family, max(1, round(STAGE * self._n_trees)))
        name = f"trees after {best.name}"
        self._enter(name, lambda: self._fitted(frame, source), source, best.left_out)

    # -- what they are worth -------------------------------------------------------------------

    def _enter(
        self,
        name: str,
        build: Callable[[], Model | tuple[Model, Array]],
        source: Source | None = None,
        after: Array | None = None,
    ) -> None:
        """Fit a candidate, and ask it for rows without these; it may have to say that it cannot."""
        start, source = time.perf_counter(), self.source if source is None else source
        try:
            made = build()
            if isinstance(made, tuple):
                built, left_out = made
            else:
                built, left_out = made, self._left_out(made, source)
        except ValueError as reason:
            self.dropped.append(Candidate(name, np.nan, np.nan, source.n_rows, dropped=str(reason)))
            return
        built = replace(built, solution=replace(built.found, heldout=None))
        self.runners.append(_Runner(name, built, left_out, time.perf_counter() - start, after))
        self.progress(1)

    def _left_out(self, built: Model, source: Source) -> Array:
        held = built.found.heldout
        if held is None or len(held.rows) < source.n_rows:
            return predictions.left_out(built, source, self.engine)
        found = np.empty_like(held.scores)
        found[held.rows] = held.scores
        return found

    @cached_property
    def _judges(self) -> NDArray[np.intp]:
        """Rows that all models are known to predict without having used them."""
        known = [np.isfinite(one.predicted).all(axis=1) for one in self.runners]
        return np.flatnonzero(np.all(known, axis=0))

    def _error(self, predicted: Array) -> float:
        known = np.isfinite(predicted).all(axis=1)
        squares = self._squares(predicted[known], self.source.targets()[known])
        return combining.mean_of(squares, self.source.each[known])[0]

    def _squares(self, predicted: Array, targets: Array) -> Array:
        """Squared errors, beside the variance of every target, the mean of targets."""
        return (((targets - predicted) / self._units) ** 2).mean(axis=1)

    @cached_property
    def _units(self) -> Array:
        if self.classes:
            return np.ones(1)
        spread = self.source.targets().std(axis=0)
        return np.where(spread > 0, spread, 1.0)

    def _combined(self, targets: Array, each: Array) -> combining.Combination:
        """All runners weighed; a stage must lower the error by more than chance."""
        said = [one.left_out[self._judges] for one in self.runners]
        found = combining.combined(said, targets, each)
        if self.runners[-1].after is None or found.weights[-1] == 0:
            return found
        before = combining.combined(said[:-1], targets, each)
        squares = (self._squares(one.left_out, targets) for one in (before, found))
        mean, doubt = combining.mean_of(np.subtract(*squares), each)
        if mean > doubt:
            return found
        return replace(before, weights=np.append(before.weights, 0.0))

    def _validation(
        self, found: combining.Combination, source: Source, models: list[Model]
    ) -> Validation:
        """The error of the combination; where inputs were turned, of rows that had no part in it.

        A matrix has many numbers, and left-out errors of rows that it was learned from are small.
        """
        if all(one.frame.rotation is None for one in models):
            return found.validation
        away = ((source.targets() - found.left_out) ** 2).mean(axis=1)
        rows = ranking.apart(source, self.effort.budget.rows)
        error, doubt = combining.mean_of(away[rows], source.each[rows])
        return replace(found.validation, error=error, standard_error=doubt)

    def portfolio(self) -> Portfolio:
        if not self.runners:
            raise ValueError(
                "None of the candidates could be judged by rows left out: "
                + "; ".join(f"{one.name}: {one.dropped}" for one in self.dropped)
            )
        judges = self._judges
        every = len(judges) == self.source.n_rows
        source = self.source if every else self.source.some(judges)
        Y, each = source.targets(), source.each
        found = self._combined(Y, each)
        order = [int(j) for j in np.argsort(-found.weights, kind="stable")]
        entries = []
        for j in order:
            one, weight = self.runners[j], float(found.weights[j])
            known = combining.mean_of(self._squares(one.predicted[judges], Y), each)
            why = "" if weight > 0 else "adds nothing to the others"
            entries.append(Candidate(one.name, *known, len(Y), weight, one.seconds, why))
        kept = [j for j in order if found.weights[j] > 0]
        staged = [self.runners[j].name for j in kept if self.runners[j].after is not None]
        calibration = known_spread = None
        if not self.classes:
            given = (source, self.reading, self.standardize, self.task, self.engine)
            known_spread = spread.of_errors(Y - found.left_out, *given)
        elif len(Y) >= predictions.FEWEST_ROWS:
            calibration = Calibration.of(found.left_out, Y, each)
        return Portfolio(
            tuple(self.runners[j].model for j in kept),
            found.weights[kept],
            found.intercept,
            Candidates((*entries, *self.dropped)),
            self._validation(found, source, [self.runners[j].model for j in kept]),
            self.importances,
            staged[0] if staged else "",
            LeftOut.of(source, found.left_out),
            known_spread,
            calibration,
        )
