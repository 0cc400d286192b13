"""Losses of positive numbers: half the deviance of a distribution, with the log link.

The score is the logarithm of the mean μ = exp(s). Sample weights are exposures: a rate y = c/e of c
events in a time e has the sample weight e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .base import INVERSE_LINKS, LARGEST_EXPONENT, Loss

Array = NDArray[np.float64]

_exponential = INVERSE_LINKS["log"]


class LogLink(Loss):
    """Half the deviance of y from μ = exp(s)."""

    least = 0.0
    for_numbers = True
    positive_only = True
    link = "log"


@dataclass(frozen=True)
class Poisson(LogLink):
    """exp(s) - ys + y log y - y, half the Poisson deviance of y >= 0 from exp(s).

    `predict` returns exp(score), the expected number; the objective is that of scikit-learn's
    PoissonRegressor with its alpha at 2·alpha/Σω on features/√k.
    """

    name = "poisson"

    def value(self, s, y):
        # y(exp(t) - 1 - t) of t = s - log y: a difference of large numbers has no digits.
        away = s - np.log(np.where(y > 0, y, 1.0))
        beyond = np.expm1(np.minimum(away, LARGEST_EXPONENT)) - away
        return np.where(y > 0, y * beyond, _exponential(s))

    def slope(self, s, y):
        return _exponential(s) - y

    def curvature(self, s, y):
        return _exponential(s)

    def check_targets(self, y):
        _refuse(y, y < 0, "poisson", "numbers >= 0, such as counts", "another loss")

    def deviance(self, prediction, y):
        return 2 * special.kl_div(y, prediction)


@dataclass(frozen=True)
class Gamma(LogLink):
    """s + y exp(-s) - 1 - log y, half the Gamma deviance of y > 0 from exp(s).

    Errors count beside the size of y. `predict` returns exp(score), the mean; the objective is that
    of scikit-learn's GammaRegressor with its alpha at 2·alpha/Σω on features/√k.
    """

    name = "gamma"

    def value(self, s, y):
        away = s - np.log(y)
        return away + _exponential(-away) - 1

    def slope(self, s, y):
        return 1 - _exponential(np.log(y) - s)

    def curvature(self, s, y):
        return _exponential(np.log(y) - s)

    def check_targets(self, y):
        _refuse(y, y <= 0, "gamma", "numbers > 0", "loss='poisson', which takes zeros")

    def deviance(self, prediction, y):
        ratio = y / prediction
        return 2 * (ratio - np.log(ratio) - 1)


def _refuse(y: Array, odd: NDArray[np.bool_], name: str, wanted: str, other: str) -> None:
    if odd.any():
        raise ValueError(
            f"loss={name!r} is for {wanted}; y holds {float(y[odd].min()):g}, and {int(odd.sum())} "
            f"of {y.size} such values: remove these rows, or use {other}."
        )
