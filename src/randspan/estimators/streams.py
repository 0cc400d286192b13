"""Rows that come and go: a model begun, its frame read anew while rows are few, and changed.

`SpanModel` has the verbs; this is what they do. Every one puts another frozen model in the place of
the one before.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import model as models
from .. import predictions
from ..checks import check_flag
from ..engines import Engine
from ..engines.memory import budget
from ..equality import same
from ..frame import Frame
from ..keys import keys_of
from ..model import Model
from ..portfolio import Portfolio
from ..solvers import Task
from ..sources import ArraySource, PassSource, Source, Targets
from ..statistics.key_sample import KeySample
from ..tables import Columns, Table
from ..tuning import frames, racing, width
from ..tuning.few_rows import Evidence
from . import started
from .configured import Configured
from .gathered import ENOUGH, MOST_BYTES, Gathered, nbytes_of
from .inputs import checked, weights_of
from .parameters import check_weights, is_auto, refuse_nothing, warn_moved, warn_outside


class Streams(Configured):
    """What regressor and classifier do with rows that come and go."""

    _model: Any  # a Model, or a Portfolio of several
    _gathered: Gathered | None = None  # the rows of a stream whose frame may still change
    _n_targets: int

    # -- what the two kinds of model do differently ------------------------------------------

    @abstractmethod
    def _validate(self, X, y, first: bool, min_rows: int):
        """X and y, checked; ``first`` where a new model starts."""

    def _validated(self, X, y, first: bool, min_rows: int, **more):
        return checked(self, X, y, reset=first, ensure_min_samples=min_rows, **more)

    def _units(self, y) -> NDArray[np.float64] | None:
        """What a row of sample weight one weighs, or None where that is 1."""
        return None

    def _check_presence(self, y, weights) -> None:
        """Refuse targets that weights leave nothing of."""

    @abstractmethod
    def _learn_targets(self, y, classes, streaming: bool = False) -> None:
        """Note what is to be known of y before its first row is encoded."""

    @abstractmethod
    def _extent(self, y, weights) -> NDArray[np.float64]:
        """The smallest and the largest y of every target."""

    @abstractmethod
    def _targets(self, y) -> Targets:
        """Rows of y as columns of numbers, slice by slice."""

    # -- from rows to a model ----------------------------------------------------------------------

    def _source(self, X, y, sample_weight, first: bool = False) -> Source:
        frame = self.frame if first else self._model.frame
        return _encoded(self._as_came(X, y, sample_weight), frame)

    def _as_came(self, X, y, sample_weight) -> Source:
        """Rows with targets and weights; X may be a table, which is still to become numbers.

        Or it is the source of blocks that were opened.
        """
        targets = self._targets(y)  # refuses classes that are not known
        weights, units = check_weights(weights_of(X, sample_weight), y), self._units(y)
        if units is not None:
            weights = units if weights is None else weights * units
        if isinstance(X, PassSource):
            return replace(X, encoded=targets, weights=weights, units=units)
        keys = X.keys if isinstance(X, Table) else keys_of(X)
        return ArraySource(X, encoded=targets, weights=weights, units=units, known_keys=keys)

    def _fitted(
        self, source: Source, task: Task, extent, engine: Engine, seed: int | None = None
    ) -> Model | Portfolio:
        """The model of all rows, drawn with the seed of another if there is one."""
        if is_auto(self.family):
            return _asked_of(self._raced(source, task, extent, seed), source)
        frame, evidence, taken = self._read_frame(source, task, streaming=False, seed=seed)
        source = source.without_absent()  # rows that are held are counted without them
        found = width.fit(frame, source, task, extent, engine, evidence).having_taken(taken)
        if task.heldout:
            found = predictions.calibrated(found, source, engine)
        return _asked_of(replace(found, all_known=self.frame is None), source)

    def _begun(
        self, source: Source, task: Task, extent, engine: Engine, seed: int | None = None
    ) -> Model | Portfolio:
        """A stream of these rows, its frame read from them."""
        if is_auto(self.family):
            return _asked_of(self._raced(source, task, extent, seed), source)
        frame, *_ = self._read_frame(source, task, streaming=True, seed=seed)
        if self.frame is None:
            task = width.precise(frame, source, task, engine, streaming=True)
        return _asked_of(width.start(frame, source, task, extent, engine), source)

    # -- rows come and go --------------------------------------------------------------------------

    def _take(self, X, y, sample_weight, classes):
        """Add rows; see `partial_fit`."""
        first = not hasattr(self, "_model")
        if not first:
            self._refuse_changes()
        task, engine = self._task(), self._engine()
        X, y = self._validate(X, y, first=first, min_rows=1)
        if first:
            self._learn_targets(y, classes, streaming=True)
        frame = self.frame if first else self._model.frame
        came = self._as_came(X, y, sample_weight)
        opens = first and self.frame is None
        if opens:
            refuse_nothing(came)
        gathered = Gathered() if opens else self._gathered
        alone = came.present >= ENOUGH or nbytes_of(came) > self._most_kept
        if not alone:
            came = came.held()
        before, source = 0, None
        if gathered is not None and alone:  # enough for a frame, and too much to be copied
            source = _encoded(came, None)
            self._begin_anew(source, task, engine)
            if len(gathered):
                rest = _encoded(gathered.source, self._model.frame)
                self._model = self._model.added(rest, task, self._extent_of(rest), engine)
            self._settle(source, None)
        elif gathered is not None:
            gathered = gathered.plus(came)
            if gathered is not None and (gathered.due or gathered.enough(self._most_kept)):
                source = _encoded(came if first else gathered.source, None)
                self._begin_anew(source, task, engine)
                self._settle(source, gathered)
            else:
                self._gathered = gathered
        if source is None:
            source = _encoded(came, frame)
            extent = self._extent(y, source.weights)
            if first:
                self._model = self._begun(source, task, extent, engine)
            else:
                before = self._model.n_outside
                warn_moved(self._model.frame, source)
                self._model = self._model.added(source, task, extent, engine)
        if first:
            self._started = started.parameters(self)
        if self._n_components() is None and not is_auto(self.family):
            self._model = width.within(self._model, task, engine)
        warn_outside(self._model.n_outside - before, source.n_rows)
        return self

    def _begin_anew(self, source: Source, task: Task, engine: Engine) -> None:
        """Read a frame from all rows so far, and begin again with these."""
        seed = self._model.frame.seed if hasattr(self, "_model") else None
        self._model = self._begun(source, task, self._extent_of(source), engine, seed)

    def _extent_of(self, source: Source) -> NDArray[np.float64]:
        """The smallest and the largest target of rows whose targets are encoded."""
        return self._extent(source.targets(), source.weights)

    @property
    def _most_kept(self) -> int:
        """How many bytes of rows may be kept until a frame is worth reading."""
        if self.memory_limit is None:
            return MOST_BYTES
        return min(MOST_BYTES, budget(self.memory_limit) // 4)

    def _settle(self, source: Source, gathered: Gathered | None) -> None:
        """Keep the rows of a frame that was just read, until it is worth keeping; and say so."""
        if gathered is None or gathered.enough(self._most_kept):
            frames.warn_of_few_rows(source, self.standardize)
            self._gathered = None
        else:
            self._gathered = gathered.all_framed()
        if isinstance(self._model, Model):
            self._model = self._model.remarked(f"; frame of {source.present} rows")

    def _give_up(self, X, y, sample_weight, regrow):
        """Remove rows; see `forget`."""
        check_is_fitted(self)
        check_flag("regrow", regrow)
        self._refuse_changes()
        X, y = self._validate(X, y, first=False, min_rows=1)
        frame, gathered = self._model.frame, self._gathered
        task, engine, source = self._task(), self._engine(), self._source(X, y, sample_weight)
        left = self._model.removed(source, task, engine)
        if gathered is not None:
            known = _as_known(gathered.source, frame)
            self._gathered = gathered.without(source, known.keys)
        if regrow and not left.empty:
            left = self._regrown(left, task, engine)
        elif left.rows is not None:  # a minimum is forgotten where there are rows for another
            left = left.of_extent(self._extent_of(left.rows))
        self._model = left
        return self

    def _regrown(self, left: Model | Portfolio, task: Task, engine: Engine) -> Model | Portfolio:
        """The model of the rows that are left, all that is read from rows read anew from them."""
        gathered, rows, reason = self._gathered, left.rows, ""
        if self.frame is not None:
            reason = "its frame was handed in (frame=), and was read from other rows"
        elif gathered is None and rows is None:
            reason = "it has kept sums of its rows, and not the rows themselves"
        elif gathered is None and left.frame.columns is not None:
            reason = (
                "it has kept its rows as numbers, for which categories, dates or missing values "
                "were encoded with the help of the rows to be forgotten"
            )
        if reason:
            raise ValueError(
                f"regrow=True needs the rows that are left, and this model cannot read them anew: "
                f"{reason}. Fit anew without the rows to be forgotten."
            )
        seed = left.frame.seed
        if gathered is not None:
            self._gathered = gathered.all_framed()
            source = _encoded(gathered.source, None)
        else:
            assert rows is not None
            source = rows
        extent = self._extent_of(source)
        if isinstance(left, Model) and not left.all_known:  # a stream
            return self._begun(source, task, extent, engine, seed)
        return self._fitted(source, task, extent, engine, seed)

    def _join(self, other):
        """Add the rows of another model; see `merge`."""
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self):
            raise TypeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        self._refuse_changes()
        task, engine, open_ended = self._task(), self._engine(), self._n_components() is None
        mine, theirs = self._model, other._model
        both = self._gathered_with(other)
        if both is not None:  # all rows are there to read one frame from
            self._check_same_targets(other)
            source, seed = _encoded(both.source, None), mine.frame.seed
            self._model = self._begun(source, task, self._extent_of(source), engine, seed)
            self._settle(source, both)
            return self
        if isinstance(mine, Portfolio) or isinstance(theirs, Portfolio):
            self._check_same_targets(other)
            if not (isinstance(mine, Portfolio) and mine.same_models(theirs)):
                raise ValueError(
                    "The two models hold different families. Of family='auto' those that come from "
                    "one fit can be merged: copy a fitted model, and let both see other rows."
                )
            self._model, self._gathered = mine.merged(theirs, task), None
            return self
        if open_ended:
            mine, theirs = width.alike(mine, theirs, task, engine)
        if not mine.frame.same_as(theirs.frame):
            # Rows that are still there can be seen through another frame.
            mine = self._seen_through(theirs.frame, task, engine)
            theirs = other._seen_through(mine.frame, task, engine)
        if not mine.frame.same_as(theirs.frame):
            raise ValueError(
                "The two models have different frames, so their functions differ. Fit the second "
                "one with frame=first.frame_ (and no random_state of its own)."
            )
        self._check_same_targets(other)
        merged = mine.merged(theirs, task)
        self._model = width.within(merged, task, engine) if open_ended else merged
        self._gathered = None
        return self

    def _gathered_with(self, other: Streams) -> Gathered | None:
        """The rows of both, where all are there and both models were started alike."""
        mine, theirs = self._gathered, other._gathered
        if mine is None or theirs is None:
            return None
        own = {"random_state": None}
        alike = same({**self._started, **own}, {**other._started, **own})
        return mine.joined(theirs) if alike else None

    def _seen_through(self, frame: Frame, task: Task, engine: Engine) -> Model:
        """The model of the same rows with another frame, where they are all there for that."""
        mine, known = self._gathered, self._model.frame
        k, left_open = self._n_components(), isinstance(self.family, str)
        kinds = [[type(one) for one in f.parts_of_union()] for f in (known.family, frame.family)]
        alike = kinds[0] == kinds[1] and k in (None, frame.n_components)
        if not left_open:
            alike &= same(*(f.get_params(deep=False) for f in (known.family, frame.family)))
        if mine is None or not alike or known.same_as(frame):
            return self._model
        source = _encoded(mine.source, frame)
        extent = self._extent_of(source)
        begun = models.start(frame, source, task, engine).added(source, task, extent, engine)
        return _asked_of(begun, source)

    def _refuse_changes(self) -> None:
        """Refuse parameters that were changed since the model was started, and cannot be."""
        if isinstance(self._model, Portfolio):
            self._refuse_with_auto()
        else:
            frames.refuse_other_functions(self._n_components(), self._model.frame)
        started.refuse_changes(self, self._model.frame)

    def _check_same_targets(self, other) -> None:
        if self._n_targets != other._n_targets:
            counts = f"{self._n_targets} and {other._n_targets}"
            raise ValueError(f"The models have {counts} target columns.")

    def _raced(self, source: Source, task: Task, extent, seed: int | None) -> Portfolio:
        """Several families, weighed by rows that they have not seen."""
        wanted = replace(self._wanted(self._n_components()), seed=seed)
        given = (wanted, source, task, extent, self._engine())
        return racing.fit(*given, self._for_classes, self.effort)

    def _read_frame(
        self, source: Source, task: Task, streaming: bool, seed: int | None
    ) -> tuple[Frame, Evidence | None, int]:
        """The frame, what few rows say of it, and what reading it took."""
        fitted, d = 0 if streaming else source.present, source.n_features
        known = self._known_components(task, 0.0, fitted, d)
        exact = known == np.inf
        if exact:
            self._law().refuse_without_kernel(d)
        wanted, classes = self._wanted(np.inf if exact else self._n_components()), self._for_classes
        wanted = replace(wanted, seed=seed)
        frame = frames.given(wanted, source)
        engine = self._engine()
        # These refuse what cannot be done before work begins.
        self._plan(task, source, streaming)
        width.refuse(self._law(), known, source, task, engine)
        taken = frames.learning_bytes(wanted, source, task, engine)
        return *frames.obtained(wanted, frame, source, task, engine, classes, streaming), taken


def _encoded(came: Source, frame: Frame | None) -> Source:
    """Rows as they came, as numbers: those of a table by the frame, or read from them."""
    if isinstance(frame, Frame):
        came = _as_known(came, frame)
    if not isinstance(came, ArraySource) or not isinstance(came.X, Table):
        return came
    X: Any = came.X
    given = (True, came.targets(), came.weights)
    if isinstance(frame, Frame):
        return replace(came, X=frame.encoded(X, *given))
    columns = Columns.read([(X, *given[1:])])
    X = columns.known(X)
    return replace(came, X=columns.encode(X, *given), columns=columns, known_keys=X.keys)


def _as_known(came: Source, frame: Frame) -> Source:
    """Rows as they came, as a table like that of the frame where there was one."""
    if not isinstance(came, ArraySource):
        if frame.columns is None:
            return came
        came = came.held()
    X: Any = frame.table(came.X)
    if not isinstance(X, Table):
        return came
    return replace(came, X=X, known_keys=X.keys)  # type: ignore[arg-type]


def _asked_of(model: Model | Portfolio, source: Source) -> Any:
    """The model, with some of its rows to ask it about."""
    return replace(model, sample=KeySample.of(source))
