"""Losses of classes, targets of ±1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from .base import LARGEST_EXPONENT, Loss


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - ys), y = ±1."""

    name = "hinge"
    least = 0.0
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
    least = 0.0
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
    least = 0.0
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
    least = 0.0
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
    least = 0.0
    for_classes = True

    def value(self, s, y):
        return np.exp(np.minimum(-y * s, LARGEST_EXPONENT))

    def slope(self, s, y):
        return -y * self.value(s, y)

    def curvature(self, s, y):
        return self.value(s, y)
