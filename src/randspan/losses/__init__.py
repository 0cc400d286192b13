"""How one score is judged against one target, and its derivatives.

A loss is pointwise: arrays of scores s and of targets y go in, an array of the same shape comes
out. It knows neither features nor weights, and states facts as attributes, by which solvers and
estimators decide what to do with it. Classes are targets of ±1, one column for each class (one
column for two classes); `Softmax` alone judges the columns of a row together.

All losses are convex in s. Those with a kink have a proximal map instead of a second derivative:
prox(s, y, t) minimises t·loss(u, y) + ½(u - s)² over u. Where the score is the logarithm of what is
predicted (``link = "log"``), predictions are exp(s).
"""

from __future__ import annotations

import numpy as np

from ..checks import check_choice
from . import contract
from .base import LARGEST_EXPONENT, Loss
from .classes import Exponential, Hinge, Logistic, Softmax, SquaredHinge
from .contract import minimisers
from .numbers import Absolute, EpsilonInsensitive, Huber, Pinball, Squared
from .positive import Gamma, Poisson

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
        Poisson,
        Gamma,
    )
}

__all__ = [
    "LARGEST_EXPONENT",
    "NAMED",
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Pinball",
    "Poisson",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "check_targets",
    "minimisers",
    "named",
]


def named(loss: str | Loss, classes: bool) -> Loss:
    """The loss of a name, or the loss itself, if it judges this kind of targets."""
    fact, example = ("for_classes", "Hinge()") if classes else ("for_numbers", "Huber(delta=1.0)")
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise ValueError(f"loss={loss.__name__} is a class: hand in a loss, {loss.__name__}().")
    if not isinstance(loss, Loss):
        known = [name for name, kind in NAMED.items() if getattr(kind, fact)]
        own = "" if isinstance(loss, str) else " (one of your own is a subclass of rs.losses.Loss)"
        check_choice("loss", loss, known, f" or a loss such as rs.losses.{example}{own}")
        return NAMED[loss].by_name()
    if not getattr(loss, fact):
        kinds = ("numbers", "regressor") if classes else ("classes", "classifier")
        raise ValueError(f"The {loss.name} loss judges {kinds[0]}: use it with a {kinds[1]}.")
    return loss


def check_targets(loss: Loss, y: np.ndarray) -> None:
    """Refuse targets that a loss is not made for, and a loss of one's own that is none."""
    loss.check_targets(y)
    if type(loss) not in KNOWN and y.size:
        contract.refuse_wrong(loss, y.astype(np.float64, copy=False))


#: losses that the tests have looked at
KNOWN = {*NAMED.values(), Softmax}
