"""How one score is judged against one target, and its derivatives.

A loss is pointwise: arrays of scores s and of targets y go in, an array of the same shape comes
out. It knows neither features nor weights, and states facts as attributes, by which solvers and
estimators decide what to do with it. Classes are targets of ±1, one column for each class (one
column for two classes); `Softmax` alone judges the columns of a row together.

All losses here are convex in s. Those with a kink have a proximal map instead of a second
derivative: prox(s, y, t) minimises t·loss(u, y) + ½(u - s)² over u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .checks import check_choice

Array = NDArray[np.float64]

# e^500 is still a number, and its square is what a line search turns back from.
LARGEST_EXPONENT = 500.0


class Loss(ABC):
    """loss(s, y) for a score s and a target y."""

    #: its name as a parameter
    name: str
    #: whether it has a derivative everywhere (if not, it has `prox`)
    smooth = True
    #: whether it judges classes, targets of ±1
    for_classes = False
    #: whether it judges numbers
    for_numbers = False
    #: whether it judges the columns of a row together, so that columns cannot be fitted apart
    joint = False
    #: whether its second derivative is the same everywhere
    quadratic = False
    #: whether it is (y - s)², for which sums of products over rows are enough
    squared = False
    #: the largest slope, infinite where there is none
    lipschitz = np.inf
    #: the largest second derivative, infinite where there is none
    steepest = np.inf

    @property
    def open(self) -> bool:
        """Whether a number of its own is to be found from residuals."""
        return False

    @classmethod
    def by_name(cls) -> Loss:
        """The loss that its name stands for."""
        return cls()

    def resolved(self, scale: float) -> Loss:
        """The loss for residuals of this standard deviation, where its own numbers are open."""
        return self

    @abstractmethod
    def value(self, s: Array, y: Array) -> Array:
        """The loss, one number for every score (for every row where `joint`)."""

    @abstractmethod
    def slope(self, s: Array, y: Array) -> Array:
        """Its derivative in s; at a kink, one of its subgradients."""

    def curvature(self, s: Array, y: Array) -> Array:
        """Its second derivative in s (where `smooth`); at a jump, one of its two values."""
        raise NotImplementedError(f"The {self.name} loss has no second derivative.")

    def prox(self, s: Array, y: Array, t: Array | float) -> Array:
        """argmin_u t·loss(u, y) + ½(u - s)² (where not `smooth`)."""
        raise NotImplementedError(f"The {self.name} loss needs no proximal map: it is smooth.")

    def probabilities(self, s: Array) -> Array | None:
        """P(y = 1) that the loss itself attaches to a score; None where it attaches none."""
        return None


@dataclass(frozen=True)
class Squared(Loss):
    """(y - s)²."""

    name = "squared"
    for_classes = True
    for_numbers = True
    quadratic = True
    squared = True
    steepest = 2.0

    def value(self, s, y):
        return (s - y) ** 2

    def slope(self, s, y):
        return 2 * (s - y)

    def curvature(self, s, y):
        return np.full_like(s, 2.0)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - ys), y = ±1."""

    name = "hinge"
    smooth = False
    for_classes = True
    lipschitz = 1.0

    def value(self, s, y):
        return np.maximum(1 - y * s, 0)

    def slope(self, s, y):
        return np.where(y * s < 1, -y, 0.0)

    def prox(self, s, y, t):
        # Towards the kink by at most t, and never past it.
        return s + y * np.clip(1 - y * s, 0, t)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - ys)², y = ±1."""

    name = "squared_hinge"
    for_classes = True
    steepest = 2.0

    def value(self, s, y):
        return np.maximum(1 - y * s, 0) ** 2

    def slope(self, s, y):
        return -2 * y * np.maximum(1 - y * s, 0)

    def curvature(self, s, y):
        return np.where(y * s < 1, 2.0, 0.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-ys)), y = ±1."""

    name = "logistic"
    for_classes = True
    lipschitz = 1.0
    steepest = 0.25

    def value(self, s, y):
        return np.logaddexp(0, -y * s)

    def slope(self, s, y):
        return -y * special.expit(-y * s)

    def curvature(self, s, y):
        p = special.expit(s)
        return p * (1 - p)

    def probabilities(self, s):
        return special.expit(s)


@dataclass(frozen=True)
class Softmax(Loss):
    """log Σ_c exp(s_c) - s_y: the logistic loss of several classes at once.

    Targets are ±1 columns, +1 in the column of the row's class. Here `curvature` is the diagonal
    of the matrix of second derivatives in the scores of a row.
    """

    name = "softmax"
    for_classes = True
    joint = True
    lipschitz = float(np.sqrt(2))
    steepest = 0.5

    def value(self, s, y):
        return special.logsumexp(s, axis=1) - np.where(y > 0, s, 0).sum(axis=1)

    def slope(self, s, y):
        return special.softmax(s, axis=1) - (y > 0)

    def curvature(self, s, y):
        p = special.softmax(s, axis=1)
        return p * (1 - p)

    def probabilities(self, s):
        return special.softmax(s, axis=1)


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(-ys), y = ±1."""

    name = "exponential"
    for_classes = True

    def value(self, s, y):
        return np.exp(np.minimum(-y * s, LARGEST_EXPONENT))

    def slope(self, s, y):
        return -y * self.value(s, y)

    def curvature(self, s, y):
        return self.value(s, y)


@dataclass(frozen=True)
class Pinball(Loss):
    """q·max(y - s, 0) + (1 - q)·max(s - y, 0): its minimiser is the q-quantile of y.

    Attributes
    ----------
    quantile : float
        q, between 0 and 1.
    """

    quantile: float = 0.5

    name = "pinball"
    smooth = False
    for_numbers = True

    def __post_init__(self):
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile must lie between 0 and 1, got {self.quantile!r}.")
        object.__setattr__(self, "lipschitz", max(self.quantile, 1 - self.quantile))

    def value(self, s, y):
        return np.maximum(self.quantile * (y - s), (1 - self.quantile) * (s - y))

    def slope(self, s, y):
        return np.where(s > y, 1 - self.quantile, np.where(s < y, -self.quantile, 0.0))

    def prox(self, s, y, t):
        # Up by qt from below, down by (1-q)t from above, and never past y.
        return s + np.clip(y - s, -(1 - self.quantile) * t, self.quantile * t)


@dataclass(frozen=True)
class Absolute(Loss):
    """|y - s|."""

    name = "absolute"
    smooth = False
    for_numbers = True
    lipschitz = 1.0

    def value(self, s, y):
        return np.abs(s - y)

    def slope(self, s, y):
        return np.sign(s - y)

    def prox(self, s, y, t):
        return s + np.clip(y - s, -t, t)


@dataclass(frozen=True)
class Huber(Loss):
    """(y - s)² up to |y - s| = δ, then 2δ|y - s| - δ²: the squared loss as δ → ∞.

    Attributes
    ----------
    delta : float or None
        δ, in units of y. None, which is what the name "huber" stands for: 1.35 standard deviations
        of the residuals of a target, as their median tells them (1.35 for several targets).
    """

    delta: float | None = 1.35

    name = "huber"
    for_numbers = True
    steepest = 2.0

    def __post_init__(self):
        if self.delta is not None:
            _check_positive("delta", self.delta)
            object.__setattr__(self, "lipschitz", 2 * self.delta)

    @property
    def open(self):
        return self.delta is None

    @classmethod
    def by_name(cls):
        return cls(delta=None)

    def resolved(self, scale):
        return Huber(1.35 * scale)

    def value(self, s, y):
        away, delta = np.abs(s - y), self._delta
        return np.where(away <= delta, away**2, delta * (2 * away - delta))

    def slope(self, s, y):
        return 2 * np.clip(s - y, -self._delta, self._delta)

    def curvature(self, s, y):
        return np.where(np.abs(s - y) <= self._delta, 2.0, 0.0)

    @property
    def _delta(self) -> float:
        if self.delta is None:
            raise ValueError("Huber's delta is found by a fit; give it a number to use it alone.")
        return self.delta


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |y - s| - ε), the loss of support vector regression.

    Attributes
    ----------
    epsilon : float
        ε, in units of y.
    """

    epsilon: float = 0.1

    name = "epsilon_insensitive"
    smooth = False
    for_numbers = True
    lipschitz = 1.0

    def __post_init__(self):
        _check_positive("epsilon", self.epsilon, zero=True)

    def value(self, s, y):
        return np.maximum(np.abs(s - y) - self.epsilon, 0)

    def slope(self, s, y):
        return np.where(np.abs(s - y) > self.epsilon, np.sign(s - y), 0.0)

    def prox(self, s, y, t):
        away = s - y
        beyond = np.maximum(np.abs(away) - self.epsilon, 0)
        return s - np.sign(away) * np.minimum(beyond, t)


NAMED: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Squared,
        Hinge,
        SquaredHinge,
        Logistic,
        Exponential,
        Absolute,
        Huber,
        Pinball,
        EpsilonInsensitive,
    )
}


def _check_positive(name: str, value: float, zero: bool = False) -> None:
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'>= 0' if zero else 'positive'}, got {value!r}.")


def named(loss: str | Loss, classes: bool) -> Loss:
    """The loss of a name, or the loss itself, if it judges this kind of targets."""
    fact, example = ("for_classes", "Hinge()") if classes else ("for_numbers", "Huber(delta=1.0)")
    if not isinstance(loss, Loss):
        known = [name for name, kind in NAMED.items() if getattr(kind, fact)]
        check_choice("loss", loss, known, f" or a loss such as rs.losses.{example}")
        return NAMED[loss].by_name()
    if not getattr(loss, fact):
        kinds = ("numbers", "regressor") if classes else ("classes", "classifier")
        raise ValueError(f"The {loss.name} loss judges {kinds[0]}: use it with a {kinds[1]}.")
    return loss
