"""What every loss is: pointwise functions of scores and targets, and facts about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..checks import check_keywords
from . import contract

Array = NDArray[np.float64]

# e^500 is still a number, and its square is what a line search turns back from.
LARGEST_EXPONENT = 500.0


def _exponential(s: Array) -> Array:
    return np.exp(np.clip(s, -LARGEST_EXPONENT, LARGEST_EXPONENT))


#: predictions from scores, by the name of the link function that goes the other way
INVERSE_LINKS: dict[str, Callable[[Array], Array]] = {
    "identity": lambda s: s,
    "log": _exponential,
}


class Loss(ABC):
    """loss(s, y) for a score s and a target y, convex in s.

    A loss of one's own sets ``name``, at least one of ``for_numbers`` and ``for_classes``, and
    defines `value`, `slope` and `curvature` (without a derivative everywhere: ``smooth = False``, a
    finite ``lipschitz``, and `prox` in place of `curvature`). All of them take arrays of scores and
    of targets of the same shape, return an array of that shape, and are defined for every score.
    Everything else has a default. What is missing is refused when the loss is made; that `slope` is
    the derivative of a convex `value`, when it first meets targets.
    """

    #: its name, in messages and in progress
    name: str
    #: whether it has a derivative everywhere (if not, it has `prox`)
    smooth = True
    #: whether it judges classes, targets of ±1
    for_classes = False
    #: whether it judges numbers
    for_numbers = False
    #: whether it judges the columns of a row together, so that columns cannot be fitted apart
    joint = False
    #: whether loss(s + c, y + c) = loss(s, y), so that a fit may take the mean off the targets;
    #: otherwise targets reach the loss as they are
    translation_invariant = False
    #: whether its second derivative is the same everywhere
    quadratic = False
    #: whether it is (y - s)², for which sums of products over rows are enough
    squared = False
    #: the largest slope, infinite where there is none
    lipschitz = np.inf
    #: the largest second derivative, infinite where there is none
    steepest = np.inf
    #: the smallest value over all scores where that is the same for every target; None: it depends
    #: on the target, and is computed where losses are compared by their ratio
    least: float | None = None
    #: whether it is for positive numbers, or for these and 0
    positive_only = False
    #: the link function: "identity" (predictions are scores) or "log" (predictions are exp(score))
    link = "identity"

    def __new__(cls, *args, **kwargs) -> Self:
        check_keywords(cls, args, kwargs)
        _refuse_incomplete(cls)
        return super().__new__(cls)

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

    def inverse_link(self, s: Array) -> Array:
        """Predictions from scores."""
        return INVERSE_LINKS[self.link](s)

    def limits(self, lower: Array, upper: Array, margin: float) -> tuple[Array, Array]:
        """What predictions are clipped to: the range of the targets, and this share of it beyond.

        Below that is a share of the range of logarithms where scores are logarithms: a prediction
        near 0 is then as far off as one that is many times too large.
        """
        beyond = margin * (upper - lower)
        if self.link != "log":
            return lower - beyond, upper + beyond
        share = np.divide(lower, upper, out=np.zeros_like(lower), where=lower > 0)
        return lower * share**margin, upper + beyond

    def check_targets(self, y: Array) -> None:  # noqa: B027 (most losses take all numbers)
        """Refuse targets that the loss is not defined for, with advice."""

    def deviance(self, prediction: Array, y: Array) -> Array | None:
        """Twice the loss of a prediction above its smallest value, where `score` is to go by it.

        None: `score` is R².
        """
        return None

    def least_values(self, y: Array) -> Array | float:
        """min_s loss(s, y) for every target."""
        if self.least is not None or self.joint:
            return self.least or 0.0
        return self.value(contract.minimisers(self, y), y)


def _refuse_incomplete(cls: type[Loss]) -> None:
    """Say what a loss has not defined."""

    def defined(name: str) -> bool:
        return getattr(cls, name) is not getattr(Loss, name)

    missing = ""
    if not isinstance(getattr(cls, "name", None), str):
        missing = "needs a name: name = '...' in the class"
    elif not (cls.for_numbers or cls.for_classes):
        missing = "needs for_numbers = True (of a regressor) or for_classes = True (targets of ±1)"
    elif not (defined("value") and defined("slope")):
        missing = "needs value(self, s, y), and slope(self, s, y), its derivative in s"
    elif cls.smooth and not defined("curvature"):
        missing = (
            "needs curvature(self, s, y), its second derivative in s; where it has none "
            "everywhere, smooth = False, a finite lipschitz and prox(self, s, y, t)"
        )
    elif not cls.smooth and not defined("prox"):
        missing = (
            "has smooth = False and needs prox(self, s, y, t), the u that minimises "
            "t·loss(u, y) + (u - s)²/2"
        )
    elif cls.link not in INVERSE_LINKS:
        missing = f"has link = {cls.link!r}: link is one of {', '.join(map(repr, INVERSE_LINKS))}"
    if missing:
        raise TypeError(f"The loss {cls.__name__} {missing}.")
