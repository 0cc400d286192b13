"""What every way to find weights declares: what it takes, what it needs, what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from .plan import Cost, Machine, Shape
from .solution import Solution
from .task import L2, Task, Terms

Given = TypeVar("Given")

#: what a method may be given: statistics as they are, inner products of kept rows, an operator
STATISTICS, PRODUCTS, OPERATOR = "statistics", "products", "operator"


class Method(ABC, Generic[Given]):
    """One way from statistics, or from an operator, to weights."""

    #: its name as a parameter
    name: ClassVar[str]
    #: the statistics it is solved from; "" where it passes over rows without any
    kinds: ClassVar[tuple[str, ...]]
    #: one of `STATISTICS`, `PRODUCTS` and `OPERATOR`
    takes: ClassVar[str] = STATISTICS
    #: the penalty that it minimises with
    penalty: ClassVar[str] = L2
    #: whether it knows the squared loss only
    squared_only: ClassVar[bool] = False
    #: whether it needs a loss with a derivative
    smooth: ClassVar[bool] = False
    #: whether it needs a loss without one
    kinked: ClassVar[bool] = False
    #: whether it takes losses that judge the columns of a row together
    joint: ClassVar[bool] = True
    #: whether it takes a box
    box: ClassVar[bool] = True
    #: whether it makes a sketch of the features
    sketches: ClassVar[bool] = False
    #: whether it shares its work out itself, by the pool of its terms, BLAS on one thread
    tiled: ClassVar[bool] = False
    #: whether rows that are left out can judge its ridges
    judged: ClassVar[bool] = False
    #: a method that finds leverages from the same statistics with more digits
    sharper: ClassVar[str] = ""

    def refuses(self, task: Task) -> str | None:
        """What the task asks for that this method does not do, or None."""
        loss = task.loss
        if self.penalty != task.penalty:
            return f"minimises with penalty={self.penalty!r}, not {task.penalty!r}"
        if self.squared_only and not loss.squared:
            return f"is for the squared loss, not for loss={loss.name!r}"
        if self.smooth and not loss.smooth:
            return f"needs a smooth loss; the {loss.name} loss has a kink (use 'multipliers')"
        if self.kinked and loss.smooth:
            return f"is for losses with a kink; the {loss.name} loss has none (use 'lbfgs')"
        if loss.joint and not self.joint:
            return "fits classes apart, which the logistic loss of several classes is not made for"
        if task.bound is not None and not self.box:
            return f"knows no box (bound={task.bound:g})"
        return None

    @abstractmethod
    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        """Multiplications and bytes of a fit of this shape."""

    @abstractmethod
    def solve(self, given: Given, task: Task, terms: Terms) -> Solution:
        """The weights, from what this method takes."""
