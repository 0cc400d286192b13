"""Several models in one span: f(x) = b + Σ_m v_m f_m(x).

The weights v ≥ 0 are fitted to predictions of training rows by models that have not used them:
leave-one-out of linear smoothers, out-of-bag of functions that learned from targets. That is a
random hypothesis subspace one storey up, and nothing is fitted twice for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .engines import Engine
from .families import Projections
from .families.parts.out_of_bag import row_keys
from .frame import Frame
from .model import Model
from .solvers import Task
from .solvers.validation import Validation
from .sources import Source
from .text import table

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
        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(cells, "td") for cells in self._lines())
        return f"<table><thead>{line(HEAD, 'th')}</thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What was predicted of training rows without them, by the keys of rows, sorted."""

    keys: NDArray[np.uint64]
    scores: Array

    @classmethod
    def of(cls, source: Source, scores: Array) -> LeftOut:
        keys = row_keys(source.X, source.targets())
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], scores[order])

    def __call__(self, source: Source) -> Array:
        keys = row_keys(source.X, source.targets())
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
    """

    errors: Array
    weights: Array
    local: Model | None = None
    scales: Array | None = None

    @property
    def relative(self) -> Array:
        """(y - f)/s."""
        return self.errors if self.scales is None else self.errors / self.scales

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
class Portfolio:
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
        Of regressors.
    calibration : Calibration or None
        From scores to probabilities, of classifiers.
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
    def extrapolates(self) -> bool:
        """Whether one of its functions grows without limit."""
        return any(isinstance(one.frame.family, Projections) for one in self.models)

    def solved(self, engine: Engine) -> Portfolio:
        """Every model with its weights."""
        return replace(self, models=tuple(one.solved(engine) for one in self.models))

    def without_statistics(self) -> Portfolio:
        """The same predictions and intervals, and nothing that rows are left out by."""
        models, spread = tuple(one.without_statistics() for one in self.models), self.spread
        if spread is not None and spread.local is not None:
            spread = replace(spread, local=spread.local.without_statistics())
        return replace(self, models=models, spread=spread, left_out=None)

    # -- rows come and go ----------------------------------------------------------------------

    def added(self, source: Source, task: Task, extent: Array, engine: Engine) -> Portfolio:
        """Every model with these rows as well, at the weights it has."""
        self._refuse_stages("partial_fit")
        return self._changed(lambda one: one.added(source, task, extent, engine))

    def removed(self, source: Source, task: Task, engine: Engine) -> Portfolio:
        """Every model as if it had never seen these rows, at the weights it has."""
        self._refuse_stages("forget")
        return self._changed(lambda one: one.removed(source, task, engine))

    def merged(self, other: Portfolio, task: Task) -> Portfolio:
        """The rows of both, of portfolios that come from one fit."""
        self._refuse_stages("merge")
        theirs = iter(other.models)
        return self._changed(lambda one: one.merged(next(theirs), task))

    def same_models(self, other: Portfolio) -> bool:
        """Whether both weigh the same functions alike."""
        if len(self.models) != len(other.models):
            return False
        frames = zip(self.models, other.models, strict=True)
        alike = np.array_equal(self.weights, other.weights)
        return alike and all(mine.frame.same_as(theirs.frame) for mine, theirs in frames)

    def _changed(self, change: Callable[[Model], Model]) -> Portfolio:
        models = tuple(change(one) for one in self.models)
        return replace(self, models=models, validation=CHANGED, left_out=None)

    def _refuse_stages(self, method: str) -> None:
        if self.staged:
            raise ValueError(
                f"{method} is not to be had with {self.staged!r}, which learned from what another "
                "model left over of every row: fit anew, or choose one family."
            )
