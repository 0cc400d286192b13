"""Losses of the difference of a number and a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """(y - s)²."""

    name = "squared"
    least = 0.0
    translation_invariant = True
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
class Pinball(Loss):
    """q·max(y - s, 0) + (1 - q)·max(s - y, 0): its minimiser is the q-quantile of y.

    Attributes
    ----------
    quantile : float
        q, between 0 and 1.
    """

    quantile: float = 0.5

    name = "pinball"
    least = 0.0
    translation_invariant = True
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
    least = 0.0
    translation_invariant = True
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
    least = 0.0
    translation_invariant = True
    for_numbers = True
    steepest = 2.0

    def __post_init__(self):
        if self.delta is not None:
            check_size("delta", self.delta)
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
    least = 0.0
    translation_invariant = True
    smooth = False
    for_numbers = True
    lipschitz = 1.0

    def __post_init__(self):
        check_size("epsilon", self.epsilon, zero=True)

    def value(self, s, y):
        return np.maximum(np.abs(s - y) - self.epsilon, 0)

    def slope(self, s, y):
        return np.where(np.abs(s - y) > self.epsilon, np.sign(s - y), 0.0)

    def prox(self, s, y, t):
        away = s - y
        beyond = np.maximum(np.abs(away) - self.epsilon, 0)
        return s - np.sign(away) * np.minimum(beyond, t)


def check_size(name: str, value: float, zero: bool = False) -> None:
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'>= 0' if zero else 'positive'}, got {value!r}.")
