"""Several models in one span: f(x) = b + Σ_m v_m f_m(x).

The weights v ≥ 0 are fitted to predictions of training rows by models that have not used them:
leave-one-out of linear smoothers, out-of-bag of functions that learned from targets. That is a
random hypothesis subspace one storey up, and nothing is fitted twice for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .engines import Engine
from .families import Projections
from .frame import Frame
from .keys import with_targets
from .model import Model, of_both
from .once import Remembers, once
from .solvers import Task
from .solvers.validation import Validation
from .sources import Source
from .statistics.key_sample import KeySample
from .statistics.together import Together
from .text import html_table, table

Array = NDArray[np.float64]

CHANGED = Validation(None, reason="rows came or went since the models were weighed")


@dataclass(frozen=True)
class Candidate:
    """A model that was tried: its error on rows that it has not used, and what became of it.

    Attributes
    ----------
    name : str
    error, standard_error : float
        The mean squared error (for classes that of the ±1 columns), beside the variance of the
        targets.
    rows : int
        How many rows it was tried on.
    weight : float
        In the portfolio; 0 of a model that was dropped.
    seconds : float
    dropped : str
        Why, or nothing.
    """

    name: str
    error: float
    standard_error: float
    rows: int
    weight: float = 0.0
    seconds: float = 0.0
    dropped: str = ""


HEAD = ("candidate", "error", "±", "rows", "weight", "seconds", "why it was dropped")


@dataclass(frozen=True, repr=False)
class Candidates:
    """All that were tried, the heaviest first; printed, and in a notebook, as a table."""

    entries: tuple[Candidate, ...]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, number: int) -> Candidate:
        return self.entries[number]

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (one.name, f"{one.error:.4f}", f"{one.standard_error:.4f}", f"{one.rows:,}",
             f"{one.weight:.2f}", f"{one.seconds:.1f}", one.dropped)
            for one in self.entries
        ]  # fmt: skip

    def __repr__(self) -> str:
        return table(HEAD, self._lines())

    def _repr_html_(self) -> str:
        return html_table(HEAD, self._lines())


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What was predicted of training rows without them, by the keys of rows, sorted."""

    keys: NDArray[np.uint64]
    scores: Array

    @classmethod
    def of(cls, source: Source, scores: Array) -> LeftOut:
        keys = with_targets(source.keys, source.targets())
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], scores[order])

    def __call__(self, source: Source) -> Array:
        keys = with_targets(source.keys, source.targets())
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        unknown = int((self.keys[place] != keys).sum())
        if unknown:
            raise ValueError(
                f"{unknown} of {source.n_rows} rows are not among those that the model was fitted "
                "on: hand in rows and targets as they were handed to fit, to the last bit."
            )
        return self.scores[place]


@dataclass(frozen=True, eq=False)
class Spread:
    """How far rows were missed by what had not seen them, beside how far was expected there.

    Attributes
    ----------
    errors : ndarray of shape (n_rows, n_targets)
        y - f of training rows, without themselves.
    weights : ndarray of shape (n_rows,)
    local : Model or None
        log s as a function of x; None where s = 1 everywhere does as well.
    scales : ndarray of shape (n_rows, n_targets) or None
        s of the training rows, by what had not seen them.
    ahead : ndarray of shape (n_rows, n_targets) or None
        √(1 + (Σ_m a_m √v_m)²) of the training rows, v_m the leverage in model m fitted without the
        row: how much further than its noise a posterior expects to be off. None without one.
    signals : ndarray of shape (n_models, n_targets) or None
        a_m, 0 for models without a posterior.
    """

    errors: Array
    weights: Array
    local: Model | None = None
    scales: Array | None = None
    ahead: Array | None = None
    signals: Array | None = None

    @property
    def relative(self) -> Array:
        """(y - f)/s, beside what a posterior expects."""
        found = self.errors if self.scales is None else self.errors / self.scales
        return found if self.ahead is None else found / self.ahead

    def without_posterior(self) -> Spread:
        """The same errors, for models that no longer know a posterior."""
        return replace(self, ahead=None, signals=None)

    @property
    def deviation(self) -> Array:
        """Of (y - f)/s, for every target."""
        return np.sqrt(np.average(self.relative**2, axis=0, weights=self.weights))

    def limits(self, coverage: float) -> Array:
        """Two rows, what (y - f)/s lies between with this chance, for every target."""
        return self._quantiles(self.relative, coverage)

    def constant(self, coverage: float) -> Array:
        """The same of y - f: an interval of constant width."""
        return self._quantiles(self.errors, coverage)

    def _quantiles(self, values: Array, coverage: float) -> Array:
        # The next value is below the j-th of n with the chance j/(n + 1): outwards by that much.
        shares = 0.5 + np.array([-coverage, coverage]) / 2 * (1 + 1 / len(values))
        shares = np.clip(shares, 0, 1)
        known = None if np.ptp(self.weights) == 0 else self.weights
        columns = [
            np.quantile(column, shares, method="inverted_cdf", weights=known) for column in values.T
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Expected:
    """What the posterior of one model expects of training rows, from itself without them.

    Attributes
    ----------
    leverages : ndarray of shape (n_rows,)
        v = h/(1 - gh): f(x) varies by σ²v.
    signal, noise : ndarray of shape (n_targets,)
        The variance of f for v = 1, and that of y beside f. They are the same number σ² where
        weights are as large as their prior says. Where these are larger, so is the signal: μ‖w‖²
        for every degree of freedom (MacKay 1992), which tells more of what is far from all rows
        than alpha, chosen by errors near them.
    """

    leverages: Array
    signal: Array
    noise: Array

    @classmethod
    def of(
        cls, targets: Array, scores: Array, leverages: Array, together: Together, each: Array
    ) -> Expected:
        """From targets of rows, scores without what is left out with them, and its leverages."""
        v, sets = leverages[:, None], together.places
        left = 1 / (1 + together.weights[sets, None] * v)
        away = targets - scores
        noise = np.average(away**2 / (1 + v), axis=0, weights=each)
        means = together.targets[sets]
        fitted = means - (means - scores) * left
        centred = fitted - np.average(fitted, axis=0, weights=each)
        # At the minimum μ‖w‖² = Σω(f - f̄)(y - f), and degrees of freedom are Σωh.
        penalty = each @ (centred * (targets - fitted))
        freedoms = max(float(each @ (left * v)[:, 0]) - 1, 1e-6)
        signal = np.maximum(penalty / freedoms, noise)
        return cls(leverages, signal, noise)


def ahead(leverages: Sequence[Array], signals: Array) -> Array:
    """√(1 + (Σ_m a_m √v_m)²): models are off in the same direction, at worst."""
    roots = sum(np.sqrt(v)[:, None] * a for v, a in zip(leverages, signals, strict=True))
    return np.sqrt(1 + np.square(roots))


def signals_of(expected: Sequence[Expected | None], weights: Array) -> Array | None:
    """a_m of every model: the share of its weight among those with a posterior, √(signal/noise)."""
    known = [one for one in expected if one is not None]
    share = np.array([0.0 if one is None else w for one, w in zip(expected, weights, strict=True)])
    if not known or share.sum() <= 0:
        return None
    share /= share.sum()
    pairs = list(zip(share, expected, strict=True))
    noise = sum(w * one.noise for w, one in pairs if one is not None)
    noise = np.where(noise > 0, noise, 1.0)
    nothing = np.zeros_like(noise)
    return np.array(
        [nothing if one is None else w * np.sqrt(one.signal / noise) for w, one in pairs]
    )


@dataclass(frozen=True, eq=False)
class Portfolio(Remembers):
    """Models, their weights, and what is known of them together.

    Attributes
    ----------
    models : tuple of Model
        The heaviest first.
    weights : ndarray of shape (n_models,)
    offset : ndarray of shape (n_targets,)
        b.
    candidates : Candidates
    validation : Validation
        Of the combination, its weights cross-validated.
    importances : ndarray of shape (n_features,)
        The share of every column.
    staged : str
        The name of a model that learned what another leaves over, if there is one.
    left_out : LeftOut or None
        None once rows came or went.
    spread : Spread or None
        Of regressors; None once rows came or went.
    calibration : Calibration or None
        From scores to probabilities, of classifiers; None once rows came or went.
    sample : KeySample or None
        Some of the rows, which importances of columns are found with.
    """

    models: tuple[Model, ...]
    weights: Array
    offset: Array
    candidates: Candidates
    validation: Validation
    importances: Array
    staged: str = ""
    left_out: LeftOut | None = None
    spread: Spread | None = None
    calibration: Calibration | None = None
    sample: KeySample | None = None

    # -- what estimators ask of a model --------------------------------------------------------

    @property
    def parts(self) -> tuple[tuple[float, Model], ...]:
        """Every model with its weight."""
        return tuple(zip(self.weights.tolist(), self.models, strict=True))

    @property
    def frame(self) -> Frame:
        """That of the heaviest model, with the importances of all."""
        return replace(self.models[0].frame, importances=self.importances)

    @property
    def task(self) -> Task:
        return self.models[0].task

    @property
    def extent(self) -> Array:
        return self.models[0].extent

    @property
    def n_outside(self) -> int:
        return self.models[0].n_outside

    @property
    def empty(self) -> bool:
        return self.models[0].empty

    @property
    def lean(self) -> bool:
        """Whether it comes from a file without statistics."""
        return self.models[0].lean

    @property
    def extrapolates(self) -> bool:
        """Whether one of its functions grows without limit."""
        return any(isinstance(one.frame.family, Projections) for one in self.models)

    @property
    def rows(self) -> Source | None:
        """The rows that are in all models, where one of these knows them."""
        return next((one.rows for one in self.models if one.rows is not None), None)

    def solved(self, engine: Engine) -> Portfolio:
        """Every model with its weights."""
        models = tuple(one.solved(engine) for one in self.models)
        if all(one is other for one, other in zip(models, self.models, strict=True)):
            return self
        return once(self, "_solved", lambda: replace(self, models=models))

    def without_statistics(self) -> Portfolio:
        """The same predictions, and nothing that rows are left out by.

        Intervals are as wide on average, and no wider far from all rows.
        """
        models, spread = tuple(one.without_statistics() for one in self.models), self.spread
        if spread is not None:
            spread = spread.without_posterior()
            if spread.local is not None:
                spread = replace(spread, local=spread.local.without_statistics())
        return replace(self, models=models, spread=spread, left_out=None, sample=None)

    # -- rows come and go ----------------------------------------------------------------------

    def added(self, source: Source, task: Task, extent: Array, engine: Engine) -> Portfolio:
        """Every model with these rows as well, at the weights it has."""
        self._refuse_stages("partial_fit")
        changed = self._changed(lambda one: one.added(source, _task_of(one, task), extent, engine))
        sample = None if self.sample is None else self.sample.plus(KeySample.of(source))
        return replace(changed, sample=sample)

    def removed(self, source: Source, task: Task, engine: Engine) -> Portfolio:
        """Every model as if it had never seen these rows, at the weights it has."""
        self._refuse_stages("forget")
        changed = self._changed(lambda one: one.removed(source, _task_of(one, task), engine))
        sample = None if self.sample is None else self.sample.minus(source)
        return replace(changed, sample=sample)

    def merged(self, other: Portfolio, task: Task) -> Portfolio:
        """The rows of both, of portfolios that come from one fit."""
        self._refuse_stages("merge")
        theirs = iter(other.models)
        changed = self._changed(lambda one: one.merged(next(theirs), _task_of(one, task)))
        return replace(changed, sample=of_both(self.sample, other.sample))

    def same_models(self, other: Portfolio | Model) -> bool:
        """Whether both weigh the same functions alike."""
        mine, theirs = self.parts, other.parts
        return len(mine) == len(theirs) and all(
            weight == its and one.frame.same_as(another.frame)
            for (weight, one), (its, another) in zip(mine, theirs, strict=True)
        )

    def of_extent(self, extent: Array) -> Portfolio:
        """The same models; targets are known to lie within other limits."""
        return replace(self, models=tuple(one.of_extent(extent) for one in self.models))

    def _changed(self, change: Callable[[Model], Model]) -> Portfolio:
        """Models of other rows, and nothing that was read from errors of those before."""
        models = tuple(change(one) for one in self.models)
        found = replace(self, models=models, validation=CHANGED, left_out=None)
        return replace(found, spread=None, calibration=None)

    def _refuse_stages(self, method: str) -> None:
        if self.staged:
            raise ValueError(
                f"{method} is not to be had with {self.staged!r}, which learned from what another "
                "model left over of every row: fit anew, or choose one family."
            )


def _task_of(model: Model, task: Task) -> Task:
    """What is asked of one model: functions that learned from targets find alpha for themselves."""
    return replace(task, alpha="auto") if model.frame.family.trains else task
