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
from scipy import sparse

from .. import model, predictions
from ..calibration import Calibration
from ..engines import Engine
from ..families import Bins, Family, Fourier, KernelExpansions, Projections, Trees
from ..families.shared.randomness import seed_from
from ..families.trees import TreeFunctions
from ..frame import Frame, check_standardize
from ..judging import by_lots, whole_sets
from ..model import Model
from ..planning import kernel_fits
from ..portfolio import (
    Candidate,
    Candidates,
    Expected,
    LeftOut,
    Portfolio,
    Spread,
    ahead,
    signals_of,
)
from ..solvers import Task
from ..solvers.validation import Validation, mean_of, uncertain
from ..sources import Source
from ..statistics.base import CannotFit
from ..statistics.together import Together
from . import combining, frames, learning, ranking, spread, width
from .few_rows import Evidence
from .learning import Descent
from .portions import Portions
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
# Functions of kernels that there is always memory for; what plans them.
FEWEST_FUNCTIONS = 128
NYSTROM = KernelExpansions(coefficients="cholesky")
# Of more columns than this a linear model of many rows has as many functions as columns, not twice
# as many.
MOST_LINEAR = 4096
# With fewer rows there is nothing to weigh models by.
FEWEST_ROWS = 20
# A kernel that leaves less than this share of the variance over has nothing to gain from others.
NOTHING_LEFT = 5e-4


def _metric(family: Fourier) -> str:
    return "cityblock" if family.nearest_kernel == "laplacian" else "euclidean"


def _freedoms(model: Model) -> float:
    """Of a linear smoother; functions that learned from targets do not tell how many they took."""
    known = model.found.least_squares
    learned = known is None or model.frame.family.uses_target
    return 0.0 if learned or known is None else known.degrees_of_freedom


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
    race.share_memory()
    race.run()
    return race.portfolio()


def needed(
    wanted: frames.Wanted, source: Source, task: Task, engine: Engine, classes: bool, effort: str
) -> int:
    """The bytes of a portfolio at its peak; refuses what is not granted."""
    task, extent = replace(task, heldout=True), model.nothing(source)
    return _Race(wanted, source, task, extent, engine, classes, EFFORTS[effort]).share_memory()


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
    expected: Expected | None = None

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
    #: the functions of kernels, and what every candidate may take, by name
    counts: list[float] = field(default_factory=list)
    granted: dict[str, int] = field(default_factory=dict)
    #: what standardised columns are multiplied by, where these are better in their own units
    units: Array | None = None

    @property
    def wide(self) -> bool:
        """Whether columns are so many that no scales are learned, nor every one is tried for cuts.

        Of more columns than rows that sparse rows have, scales fit the rows that they are learned
        from.
        """
        n, d = self.source.n_rows, self.source.n_features
        return d > learning.MOST_LEARNED or (sparse.issparse(self.source.X) and d > n)

    def share_memory(self) -> int:
        """What every candidate may take, before any work; the most that is taken at once."""
        source, effort, engine = self.source, self.effort, self.engine
        n, d = source.n_rows, source.n_features
        most = learning.most_entries(self.task, engine)
        shared = Portions(source, self.task, engine, effort.functions)
        budget = effort.budget
        batch = max(learning.BATCH, budget.turns.batch, budget.adapts.batch)
        steps = (most, batch, budget.rows, engine.threads)
        shared.passing(learning.learning_bytes(source, *steps), "learning scales")
        if n > MANY_ROWS:
            shared.standing += int(source.row_bytes * (n + SAMPLE))
            self.granted["bins"] = shared.take(Bins(), effort.grids, "bins")
        else:
            for number in range(effort.kernels if n <= FEW_ROWS else 1):
                self._share(shared, number)
        self.granted["trees"] = shared.take(self._trees_law(), self._n_trees, "trees")
        self.granted["linear"] = shared.take(Projections(), self._n_linear, "linear")
        if n >= FEWEST_ROWS:
            if effort.thorough and n > FEW_ROWS:
                k = max(1, round(STAGE * self._n_trees))
                self.granted["stage"] = shared.take(Trees(), k, "trees of what is left over")
            if not self.classes:
                law = spread.law(d)
                self.granted["spread"] = shared.take(law, spread.TREES, "trees of errors")
        return shared.most

    def _share(self, shared: Portions, number: int) -> None:
        """A kernel of as many functions as there is memory for."""
        n, first = self.source.n_rows, number == 0
        dtype = np.dtype(np.float64) if first else None
        exact = n <= self.effort.exact_rows and kernel_fits(n, shared.machine)
        exact = exact and shared.fits(Fourier(), np.inf)
        k = float(np.inf)
        if not exact:
            most = min(self.effort.functions, n // self.effort.rows_each)
            k = most if first else most // 2
            while k > FEWEST_FUNCTIONS and not shared.fits(NYSTROM, k, dtype):
                k //= 2
        family = Fourier() if exact else NYSTROM
        self.granted[f"kernel {number}"] = shared.take(family, k, "a kernel", dtype)
        self.counts.append(k)

    def run(self) -> None:
        known = self.wanted.seed
        seed = seed_from(self.wanted.random_state) if known is None else known
        self.wanted = replace(self.wanted, seed=seed)
        self.standardize = check_standardize(self.wanted.standardize)
        self.reading = frames.reading_of(self.source, self.effort.functions, seed)
        self.progress = self.engine.progress(5, "candidates")
        d = self.source.n_features
        self.importances = np.full(d, 1 / d)
        if self.source.n_rows > MANY_ROWS:
            self._enter("bins", self._bins)
        else:
            self._kernels()
        if self.source.n_rows < FEWEST_ROWS and self.runners:
            return
        left = min((self._error(one.left_out) for one in self.runners), default=np.inf)
        if left < NOTHING_LEFT:
            why = "a kernel leaves less than 0.05 % of the variance"
            untried = (np.nan, np.nan, self.source.n_rows)
            self.dropped += [Candidate(name, *untried, dropped=why) for name in ("trees", "linear")]
            return
        self._enter("trees", self._trees)
        self._enter("linear", self._linear)
        if self.effort.thorough and self.source.n_rows > FEW_ROWS:
            self._stage()

    # -- candidates ----------------------------------------------------------------------------

    def _kernels(self) -> None:
        ranked = self._ranked()
        self.progress(1)
        if ranked[0][2].importances is not None:
            self.importances = ranked[0][2].importances
        taken: dict[str, tuple[Frame, Evidence | None]] = {}
        most = self.effort.kernels if self.source.n_rows <= FEW_ROWS else 1
        limit = FAR_BEHIND * ranked[0][0]
        for error, doubt, frame, evidence in ranked:
            metric, far = _metric(frame.family), error > limit
            if metric not in taken and len(taken) < most and not far:
                taken[metric] = frame, evidence
                continue
            rows = min(self.effort.budget.rows, self.source.n_rows)
            known = (_name(frame.family), error, doubt, rows)
            self.dropped.append(Candidate(*known, dropped="behind on a sample"))
        for number, (frame, evidence) in enumerate(taken.values()):
            self._enter(_name(frame.family), partial(self._kernel, frame, evidence, number))

    def _ranked(self) -> ranking.Ranked:
        """Kernels with the scales that suit them, the best first."""
        given = (self.source, self.task, self.engine)
        budget = self.effort.budget
        if not self.wide:
            laws = [self._law(family) for families in KERNELS.values() for family in families]
            return ranking.ranked(laws, *given, budget)
        n, d = self.source.n_rows, self.source.n_features
        why = f"distances by columns of {d:,} columns take too long"
        for family in KERNELS["cityblock"]:
            self.dropped.append(Candidate(_name(family), np.nan, np.nan, n, dropped=why))
        choices: dict[str, Array | None] = {"columns standardised": None}
        if self.standardize is True and sparse.issparse(self.source.X):
            choices["columns in their own units"] = self._own_units
        tried = {}
        for name, units in choices.items():
            laws = [self._law(family, units) for family in KERNELS["euclidean"]]
            tried[name] = ranking.unscaled(laws, *given, budget.rows)
        best = min(tried, key=lambda name: float(f"{tried[name][0][0]:.6g}"))
        self.units = choices[best]
        for name in tried.keys() - {best}:
            error, doubt, frame, _ = tried[name][0]
            known = (f"{_name(frame.family)}, {name}", error, doubt, min(budget.rows, n))
            self.dropped.append(Candidate(*known, dropped="behind on a sample"))
        return tried[best]

    @property
    def _own_units(self) -> Array:
        """What standardised columns are multiplied by to be in the units they came in."""
        scale = self._frame(Projections(), 1).scale
        assert scale is not None
        return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)

    def _law(self, family: Family, units: Array | None = None) -> learning.Law:
        plain = self.reading.frame(family, np.inf, self.standardize, units)

        def framed(scales, rotation) -> Frame:
            if units is not None:
                scales = scales * units
            known = (scales, rotation, plain.family)
            return self.reading.frame(family, np.inf, self.standardize, *known)

        return learning.Law(plain, framed)

    def _kernel(self, frame: Frame, evidence: Evidence | None, number: int) -> Model:
        """The best kernel, or that of the other distance, on which less is spent."""
        k, name = self.counts[number], f"kernel {number}"
        if k == np.inf and evidence is not None:
            task = replace(self.task, memory_limit=self.granted[name])
            given = (frame, self.source, task, self.extent, self.engine)
            return width.as_judged(evidence, *given)
        if k == np.inf:
            return self._fitted(frame, name)
        kernel = frame.family.with_values(gamma=frame.family.resolved.gamma)
        family = KernelExpansions(kernel, coefficients="cholesky")
        # Ridges of the best kernel are small: sums in float32 would have to be read again.
        dtype = np.dtype(np.float64) if number == 0 else self.task.dtype
        return self._fitted(self.reading.of_other_family(frame, family, int(k)), name, dtype=dtype)

    def _bins(self) -> tuple[Model, Array]:
        """Bins with learned scales, alpha from a sample; some rows are left out to judge them by.

        A path of ridges over all rows would take several times as long as the fit itself.
        """
        k, source = self.effort.grids, self.source
        wanted = replace(self.wanted, family=Bins(), n_components=k, scales="learn")
        task = replace(self.task, memory_limit=self.granted["bins"])
        given = (task, self.engine, self.classes)
        frame, _ = frames.obtained(wanted, None, source, *given, streaming=False)
        if frame.importances is not None:
            self.importances = frame.importances
        order = by_lots(source, frame.seed)
        judges, rest = np.split(order, [whole_sets(source, order, JUDGES)])
        few = source.some(np.sort(rest[:SAMPLE]))
        tried = model.fit(frame, few, task, self.extent, self.engine)
        task = replace(task, alpha=tried.found.alpha, heldout=False)
        built = model.fit(frame, source.some(np.sort(rest)), task, self.extent, self.engine)
        left_out = np.full((source.n_rows, source.n_targets), np.nan)
        left_out[judges] = predictions.scores(built, source.some(judges), self.engine)
        return built, left_out

    def _trees(self) -> Model:
        return self._fitted(self._frame(self._trees_law(), self._n_trees), "trees")

    def _trees_law(self) -> Trees:
        # The best cuts of many targets, or of very many rows, take too long to find; few rows have
        # kernels that are worth more than either kind of trees.
        worth = self.source.n_targets == 1 and FEW_ROWS < self.source.n_rows <= MANY_ROWS
        family = Trees(min_samples_leaf="auto", splitter="auto" if worth else "random")
        if self.wide:
            return Trees(max_features=round(np.sqrt(self.source.n_features)))
        if not self.effort.thorough and self.source.n_rows <= FEW_ROWS:
            share = USUAL_SHARES[self.classes]
            family = Trees(max_features=max(1, round(share * self.source.n_features)))
        return family

    @property
    def _n_trees(self) -> int:
        fewer = min(1.0, MANY_ROWS / self.source.n_rows)
        return max(round(fewer * self.effort.trees), FEWEST_TREES)

    def _linear(self) -> Model:
        given = (Projections(), self._n_linear, self.standardize, self.units)
        frame = self.reading.frame(*given)
        return self._fitted(frame, "linear")

    @property
    def _n_linear(self) -> float:
        """Functions that span all columns; of fewer rows than columns their kernel."""
        n, d = self.source.n_rows, self.source.n_features
        exact = n < d and n <= self.effort.exact_rows
        return np.inf if exact else min(2 * d, max(d, MOST_LINEAR))

    def _frame(self, family: Family, k: int) -> Frame:
        return self.reading.frame(family, k, self.standardize)

    def _fitted(
        self,
        frame: Frame,
        share: str,
        source: Source | None = None,
        dtype: np.dtype | None = None,
    ) -> Model:
        """A model of all rows, with functions that learned from them where these do."""
        classes = self.classes and source is None
        task = replace(self.task, memory_limit=self.granted[share])
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
        self._enter(name, lambda: self._fitted(frame, "stage", source), source, best.left_out)

    # -- what they are worth -------------------------------------------------------------------

    def _enter(
        self,
        name: str,
        build: Callable[[], Model | tuple[Model, Array]],
        source: Source | None = None,
        after: Array | None = None,
    ) -> None:
        """Fit a candidate, and ask it for rows without these; these may be such that it cannot."""
        start, source = time.perf_counter(), self.source if source is None else source
        try:
            made, above = build(), None
            if isinstance(made, tuple):
                built, left_out = made
            else:
                built, (left_out, above) = made, self._left_out(made, source)
        except (CannotFit, np.linalg.LinAlgError) as reason:
            self.dropped.append(Candidate(name, np.nan, np.nan, source.n_rows, dropped=str(reason)))
            return
        built = replace(built, solution=replace(built.found, heldout=None))
        known = None
        if not self.classes and after is None:
            together = Together.of_source(source)
            known = predictions.expected(source, left_out, above, together)
        seconds = time.perf_counter() - start
        self.runners.append(_Runner(name, built, left_out, seconds, after, known))
        self.progress(1)

    def _left_out(self, built: Model, source: Source) -> tuple[Array, Array | None]:
        """Scores of rows without these, and leverages where there are any."""
        held, together = built.found.heldout, Together.of_source(source)
        if held is None or len(held.rows) < source.n_rows:
            return predictions.without(built, source, self.engine, together, sharp=True)
        order = np.argsort(held.rows)
        above = None if held.leverages is None else held.leverages[order]
        return held.scores[order], above

    @cached_property
    def _judges(self) -> NDArray[np.intp]:
        """Rows that all models are known to predict without having used them."""
        known = [np.isfinite(one.predicted).all(axis=1) for one in self.runners]
        return np.flatnonzero(np.all(known, axis=0))

    def _error(self, predicted: Array) -> float:
        known = np.isfinite(predicted).all(axis=1)
        squares = self._squares(predicted[known], self.source.targets()[known])
        return mean_of(squares, self.source.each[known])[0]

    def _squares(self, predicted: Array, targets: Array) -> Array:
        """Squared errors, beside the variance of every target (or column of a class), their mean.

        Those of kernels that were dropped on a sample are told in the same unit.
        """
        return (((targets - predicted) / self._units) ** 2).mean(axis=1)

    @cached_property
    def _units(self) -> Array:
        Y, each = self.source.targets(), self.source.each
        mean = np.average(Y, axis=0, weights=each)
        spread = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=each))
        return np.where(spread > 0, spread, 1.0)

    def _combined(self, source: Source) -> combining.Combination:
        """All runners weighed; a stage must lower the error by more than chance."""
        targets, each, keys = source.targets(), source.each, source.left_out_keys
        said = [one.left_out[self._judges] for one in self.runners]
        given = (targets, each, keys, self.reading.seed)
        found = combining.combined(said, *given)
        if self.runners[-1].after is None or found.weights[-1] == 0:
            return found
        before = combining.combined(said[:-1], *given)
        squares = (self._squares(one.left_out, targets) for one in (before, found))
        mean, doubt = mean_of(np.subtract(*squares), each, keys)
        if mean > doubt:
            return found
        return replace(before, weights=np.append(before.weights, 0.0))

    def _validation(
        self, found: combining.Combination, source: Source, parts: list[tuple[float, Model]]
    ) -> Validation:
        """The error of the combination; where inputs were turned, of rows that had no part in it.

        A matrix has many numbers, and left-out errors of rows that it was learned from are small.
        """
        known, doubt = found.validation, found.validation.standard_error
        if doubt is None:
            return known
        if any(one.frame.rotation is not None for _, one in parts):
            away = ((source.targets() - found.left_out) ** 2).mean(axis=1)
            rows = ranking.apart(source, self.effort.budget.rows)
            error, doubt = mean_of(away[rows], source.each[rows], source.left_out_keys[rows])
            known = replace(known, error=error)
        freedoms = sum(weight * _freedoms(one) for weight, one in parts)
        return replace(known, standard_error=uncertain(doubt, freedoms, source.n_rows))

    def _expected(self, runners: list[_Runner], weights: Array, rows: NDArray[np.intp]) -> Spread:
        """A spread that knows what posteriors expect of some rows, and no errors yet."""
        nothing = np.empty((0, 0))
        signals = signals_of([one.expected for one in runners], weights)
        if signals is None:
            return Spread(nothing, nothing)
        above = [
            np.zeros(len(rows)) if one.expected is None else one.expected.leverages[rows]
            for one in runners
        ]
        return Spread(nothing, nothing, ahead=ahead(above, signals), signals=signals)

    def portfolio(self) -> Portfolio:
        if not self.runners:
            raise ValueError(
                "None of the candidates could be judged by rows left out: "
                + "; ".join(f"{one.name}: {one.dropped}" for one in self.dropped)
            )
        judges = self._judges
        every = len(judges) == self.source.n_rows
        source = self.source if every else self.source.some(judges)
        Y, each, keys = source.targets(), source.each, source.left_out_keys
        found = self._combined(source)
        order = [int(j) for j in np.argsort(-found.weights, kind="stable")]
        entries = []
        for j in order:
            one, weight = self.runners[j], float(found.weights[j])
            known = (np.nan, np.nan)
            if len(Y):
                known = mean_of(self._squares(one.predicted[judges], Y), each, keys)
            why = "" if weight > 0 else "adds nothing to the others"
            entries.append(Candidate(one.name, *known, len(Y), weight, one.seconds, why))
        weights = found.weights.tolist()
        kept = [j for j in order if weights[j] > 0]
        staged = [self.runners[j].name for j in kept if self.runners[j].after is not None]
        calibration = known_spread = None
        if not self.classes and len(Y):
            task = replace(self.task, memory_limit=self.granted.get("spread"))
            plain = self._expected([self.runners[j] for j in kept], found.weights[kept], judges)
            plain = replace(plain, errors=Y - found.left_out, weights=each)
            given = (source, self.reading, self.standardize, task, self.engine)
            known_spread = spread.of_errors(plain, *given)
        elif len(Y) >= predictions.FEWEST_ROWS:
            calibration = Calibration.of(found.left_out, Y, each)
        return Portfolio(
            tuple(self.runners[j].model for j in kept),
            found.weights[kept],
            found.intercept,
            Candidates((*entries, *self.dropped)),
            self._validation(found, source, [(weights[j], self.runners[j].model) for j in kept]),
            self.importances,
            staged[0] if staged else "",
            LeftOut.of(source, found.left_out) if len(Y) else None,
            known_spread,
            calibration,
        )
