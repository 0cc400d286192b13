"""Anybody's random hypotheses (Cao and Lan 2022): any predictor that can be drawn or fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..checks import check_choice
from ..keys import Keys
from .base import Family
from .shared.layout import Layout
from .shared.out_of_bag import OutOfBagRows, Training
from .shared.randomness import bits_of, generator, normals, normals_of, raw_bits
from .shared.rows import Rows
from .shared.trained import TrainedFunctions, TrainedOn, check_share, weighted_mean

# Entries that sparse rows may have where standardising makes them dense.
MOST_ENTRIES = 2**28
# Rows that every new hypothesis is tried on, and those that tell whether a sampler uses targets.
TRIED, PROBED = 5, 100
# What targets are multiplied by to see whether a sampler looks at them.
LARGE = 1e6


@dataclass(frozen=True)
class IgnoresTargets:
    """What is known of a sampler whose hypotheses are the same whatever targets it is given."""


class Hypotheses(Family):
    """φ_j(x) = the prediction of hypothesis j: whatever a sampler of yours returns.

    Every hypothesis learns from a random share of the rows, and weights are fitted to what it says
    of the others; or it learns random targets from all rows, and is a random function. So is what a
    sampler returns that never looks at targets, which is found out by calling it with two sets of
    random ones: its functions are fitted like those of any other family, with a ridge towards zero
    and an exact leave-one-out error. (The mean of random functions, which the ridge of those that
    learned pulls to, is about constant.)

    Parameters
    ----------
    sampler : callable or scikit-learn estimator
        A callable is called as ``sampler(X, y, rng)`` with some rows, their targets and a
        ``numpy.random.Generator``, and returns a predictor: an object with ``predict_proba``,
        ``decision_function`` (these two where targets are classes) or ``predict``, the first that
        it has, or a function of rows. For classes y holds their numbers 0, 1, …, and predictions
        are whole numbers of classes or scores, large for class 1 of two, a column for each of more,
        best about ±1; for several targets y and predictions have several columns. An estimator is
        cloned, given a new random state, and fitted: a classifier to classes, others to ±1.
        Predictors may be called from several threads at once.
    bootstrap : float, default=0.8
        The share of the rows that a hypothesis learns from, drawn without replacement; with 1 there
        are no out-of-bag rows.
    targets : "given" or "random", default="given"
        "random" hands over y ~ N(0, 1) (classes, with equal chances, to classifiers) in place of
        the targets, for all rows: nothing then looks at the targets. So it is for samplers that
        ignore them.

    Examples
    --------
    A family that this library does not know: nearest neighbours in random subspaces.

    >>> import numpy as np, randspan as rs
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> def neighbours(X, y, rng):
    ...     columns = rng.choice(X.shape[1], size=4, replace=False)
    ...     model = KNeighborsRegressor(n_neighbors=rng.integers(3, 30)).fit(X[:, columns], y)
    ...     return lambda X: model.predict(X[:, columns])
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = rs.SpanRegressor(rs.Hypotheses(neighbours), 50, random_state=0)
    >>> bool(model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4)
    True
    """

    trains = True
    differentiable = property(lambda self: False)

    def __init__(self, sampler, bootstrap=0.8, targets="given"):
        self.sampler = sampler
        self.bootstrap = bootstrap
        self.targets = targets

    @property
    def uses_target(self) -> bool:  # type: ignore[override]
        """Whether the hypotheses learn; of a family that has seen no rows, whether they may."""
        return self.targets == "given" and vars(self).get("_resolved") != (IgnoresTargets(),)

    @property
    def default_alpha(self) -> str | float:  # type: ignore[override]
        return "out_of_bag" if self.uses_target else "gcv"

    @property
    def _estimator(self) -> bool:
        return hasattr(self.sampler, "fit") and not isinstance(self.sampler, type)

    def layout(self, n_features, n_components, n_targets):
        if not self.uses_target:
            return super().layout(n_features, n_components, n_targets)
        check_share(self.bootstrap)
        some = self.bootstrap < 1
        spent = "" if some else repr(self)
        return Layout(n_components, n_components * n_targets, 0, 0, n_targets, some, spent)

    def read(self, sample, n_components, seed):
        if not self._estimator and not callable(self.sampler):
            raise ValueError(
                "sampler must be a callable (X, y, rng) -> predictor or a scikit-learn estimator, "
                f"got {self.sampler!r}."
            )
        check_choice("targets", self.targets, ("given", "random"))
        check_share(self.bootstrap)
        drawn = self.targets == "given" and not self._estimator
        if drawn and self._ignores_targets(sample.rows[:PROBED], int(n_components), seed):
            return IgnoresTargets()
        return None

    def _ignores_targets(self, rows: Rows, n_components: int, seed: int) -> bool:
        """Whether every hypothesis is the same for two sets of targets.

        One of them is a million times as large: a penalty may leave nothing of small ones. One that
        has learned gives itself away at once, so that samplers that train are called twice more,
        with few rows, and those that only draw twice as often.
        """
        X = _plain(rows)
        targets = normals(seed, "targets to ignore", 2, len(rows)) * [[1.0], [LARGE]]
        for j in range(n_components):
            values = []
            for y in targets:
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of targets that are not the user's
                        predictor = self.sampler(X, y, generator(seed, "hypotheses", j))
                        values.append(_as_a_function(predictor, X))
                except Exception:  # what fails on numbers looks at them, or will fail again
                    return False
            if not np.array_equal(values[0], values[1]):
                return False
        return True

    def train(self, training, n_components, seed):
        X = _plain(training.rows)
        school = _School(self, X, training, seed)
        drawn = []
        if not self.uses_target:
            rows = training.order[training.each[training.order] > 0]
            for j in range(n_components):
                rng = generator(seed, "hypotheses", j)
                y = _random_targets(training.keys, seed, j, self._classifier)
                drawn.append(school.taught(j, rows, y, rng, 2 if self._classifier else 0, 1))
            return HypothesisFunctions(
                self, X.shape[1], n_components, TrainedOn(None, np.zeros(1)), False, drawn
            )
        targets = training.given_targets(self)
        out_of_bag = OutOfBagRows.of(training, float(self.bootstrap), seed)
        # Classifiers and samplers see numbers of classes, estimators of numbers ±1.
        classes = training.classes and (self._classifier or not self._estimator)
        y, n_targets = _as_given(targets, classes), targets.shape[1]
        n_classes = max(2, n_targets) if classes else 0
        indices, there = out_of_bag.of_training(training), training.each[training.order] > 0
        for j in range(n_components):
            inside = there & out_of_bag.in_bag(j, indices) if self.bootstrap < 1 else there
            rows = training.order[inside]
            rng = generator(seed, "hypotheses", j)
            drawn.append(school.taught(j, rows, y, rng, n_classes, n_targets))
        trained_on = TrainedOn(
            out_of_bag if self.bootstrap < 1 else None,
            weighted_mean(targets[training.order], training.each[training.order]),
        )
        return HypothesisFunctions(self, X.shape[1], n_components, trained_on, True, drawn)

    @property
    def _classifier(self) -> bool:
        return self._estimator and is_classifier(self.sampler)

    @property
    def _called(self) -> str:
        name = getattr(self.sampler, "__name__", None)
        return name if isinstance(name, str) else repr(self.sampler)


def _as_a_function(predictor: Any, X: Any) -> NDArray[np.float64]:
    """What a predictor of numbers says of rows; refuses those of classes."""
    if hasattr(predictor, "predict_proba") or hasattr(predictor, "decision_function"):
        raise TypeError("scores of classes")
    values = _numbers(predictor.predict(X) if hasattr(predictor, "predict") else predictor(X))
    if values.size != X.shape[0] or not np.isfinite(values).all():
        raise ValueError("not one number for every row")
    return values


def _random_targets(keys: Keys, seed: int, number: int, classes: bool) -> NDArray:
    """N(0, 1), or one of two classes, for every row, by its inputs."""
    bits = bits_of(seed, f"random targets {number}", keys)
    return (bits >> np.uint64(63)).astype(np.int64) if classes else normals_of(bits)


def _as_given(targets: NDArray[np.float64], classes: bool) -> NDArray:
    """Targets as a sampler sees them: numbers of classes, one column as a vector."""
    if classes:
        return targets.argmax(axis=1) if targets.shape[1] > 1 else (targets[:, 0] > 0).astype(int)
    return targets[:, 0] if targets.shape[1] == 1 else targets


def _plain(rows: Rows) -> Any:
    """The rows as predictors see them: x̃ in float64, sparse where x̃ is x."""
    as_it_is = rows.centre is None and rows.scale is None and rows.rotation is None
    if sparse.issparse(rows.values) and as_it_is:
        return rows.values.astype(np.float64)
    if sparse.issparse(rows.values) and rows.shape[0] * rows.shape[1] > MOST_ENTRIES:
        raise ValueError(
            f"{rows.shape[0]} sparse rows of {rows.shape[1]} columns are too many to be made dense "
            "for standardising; standardize=False hands them over as they are."
        )
    return rows.exact


@dataclass(frozen=True)
class Hypothesis:
    """A predictor, and how what it says becomes one column for every target.

    ``n_classes`` is 0 where targets are numbers. Probabilities p become 2p - 1, as targets are ±1.
    """

    predictor: Any
    name: str
    n_classes: int
    n_targets: int

    def __call__(self, X) -> NDArray[np.float64]:
        """Predictions, a row for every row of X, checked."""
        try:
            values = self._raw(X)
        except Exception as error:
            raise ValueError(f"{self.name} failed to predict: {error!r}") from error
        columns = values[:, None] if values.ndim == 1 else values
        wanted = (X.shape[0], self.n_targets)
        if columns.shape != wanted:
            raise ValueError(
                f"{self.name} returned predictions of shape {values.shape} for {wanted[0]} rows; "
                f"expected {wanted[:1] if self.n_targets == 1 else wanted}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name} predicted NaN or infinity.")
        return columns

    def _raw(self, X) -> NDArray[np.float64]:
        predictor = self.predictor
        # The scores of an "ovo" machine belong to pairs of classes.
        pairs = getattr(predictor, "decision_function_shape", None) == "ovo" and self.n_classes > 2
        if self.n_classes and hasattr(predictor, "predict_proba"):
            return self._spread(2 * _numbers(predictor.predict_proba(X)) - 1)
        if self.n_classes and hasattr(predictor, "decision_function") and not pairs:
            scores = _numbers(predictor.decision_function(X))
            return self._spread(scores if scores.ndim > 1 else np.column_stack([-scores, scores]))
        values = predictor.predict(X) if hasattr(predictor, "predict") else predictor(X)
        if self.n_classes and np.ndim(values) == 1 and np.asarray(values).dtype.kind in "iub":
            signs = np.where(np.asarray(values)[:, None] == np.arange(self.n_classes), 1.0, -1.0)
            return signs[:, 1] if self.n_classes == 2 else signs
        return _numbers(values)

    def _spread(self, values: NDArray) -> NDArray[np.float64]:
        """A column for every class, -1 for those that were not seen; one column for two classes."""
        seen = np.asarray(getattr(self.predictor, "classes_", np.arange(self.n_classes)))
        if values.shape[1] != len(seen):
            return values  # refused by its shape
        spread = np.full((len(values), self.n_classes), -1.0)
        spread[:, seen.astype(np.intp)] = values
        return (spread[:, 1] - spread[:, 0]) / 2 if self.n_classes == 2 else spread


def _numbers(values: Any) -> NDArray[np.float64]:
    values = values.toarray() if sparse.issparse(values) else values
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class _Constant:
    """What is left of a classifier that has seen one class, or of anything that has seen no row."""

    value: NDArray[np.float64]

    def predict(self, X) -> NDArray[np.float64]:
        return np.tile(self.value, (X.shape[0], 1))


@dataclass(frozen=True)
class _School:
    """Where hypotheses learn."""

    family: Hypotheses
    X: Any
    training: Training
    seed: int

    def taught(
        self, number: int, rows: NDArray, y: NDArray, rng: Any, n_classes: int, n_targets: int
    ) -> Hypothesis:
        """Hypothesis ``number``, after it has learned from some rows."""
        name = f"Hypothesis {number} of the sampler {self.family._called}"
        predictor = self._predictor(name, number, rows, y, rng, n_classes, n_targets)
        self.training.progress(1)
        hypothesis = Hypothesis(predictor, name, n_classes, n_targets)
        hypothesis(self.X[:TRIED])  # what is wrong with it should be said now
        return hypothesis

    def _predictor(self, name, number, rows, y, rng, n_classes, n_targets) -> Any:
        family, y = self.family, y[rows]
        weights = None if self.training.weights is None else self.training.weights[rows]
        if not len(rows):
            return _Constant(np.zeros(n_targets))
        if family._classifier and n_classes and len(np.unique(y)) == 1:
            value = np.full(max(n_classes, 2), -1.0)
            value[int(y[0])] = 1.0
            return _Constant(value[1:] if n_targets == 1 else value)
        estimator = family._estimator
        weighed = estimator and has_fit_parameter(family.sampler, "sample_weight")
        if weights is not None and not weighed:
            # A sampler that knows no weights sees rows as often as they weigh.
            chosen = rng.choice(len(rows), size=len(rows), p=weights / weights.sum())
            rows, y = rows[chosen], y[chosen]
        X = self.X[rows]
        try:
            if not estimator:
                predictor = family.sampler(X, y, rng)
            else:
                bits = raw_bits(self.seed, f"random state {number}", 1)[0]
                predictor = _with_state(clone(family.sampler), int(bits >> np.uint64(33)))
                extra = {"sample_weight": weights} if weighed and weights is not None else {}
                with np.errstate(over="ignore", invalid="ignore"):  # checks of large rows
                    predictor.fit(X, y, **extra)
        except Exception as error:
            raise ValueError(f"{name} could not be drawn: {error!r}") from error
        ways = ("predict", "predict_proba", "decision_function")
        if not callable(predictor) and not any(hasattr(predictor, way) for way in ways):
            raise ValueError(
                f"{name} is neither a predictor nor a function of rows: the sampler returned "
                f"{predictor!r}."
            )
        return predictor


def _with_state(estimator: Any, state: int) -> Any:
    """The estimator with every random state it has set."""
    names = [
        n for n in estimator.get_params() if n == "random_state" or n.endswith("__random_state")
    ]
    return estimator.set_params(**dict.fromkeys(names, state))


@dataclass(frozen=True, eq=False)
class HypothesisFunctions(TrainedFunctions):
    """What drawn hypotheses predict.

    ``learned`` says whether they have learned the targets. Two draws are the same if their families
    and out_of_bag are: predictors need not know how to compare themselves.
    """

    learned: bool
    hypotheses: list[Hypothesis] = field(compare=False)

    @property
    def n_targets(self) -> int:
        return len(self.trained_on.origin) if self.learned else 0

    @property
    def n_columns(self) -> int:
        return self.n_components * max(1, self.n_targets)

    def predictions(self, rows: Rows) -> NDArray:
        X, shape = _plain(rows), (len(rows), self.n_components, max(1, self.n_targets))
        for dtype in (rows.dtype, np.dtype(np.float64)):  # targets may be beyond float32
            out = np.empty(shape, dtype)
            for j, hypothesis in enumerate(self.hypotheses):
                predicted = hypothesis(X)
                with np.errstate(over="ignore"):
                    out[:, j] = predicted
            if np.isfinite(out).all():
                break
        return out
