"""The squared loss from an orthogonal factor: singular values, and no squares are formed."""

from __future__ import annotations

from ..statistics import Factor
from . import dual, spectrum
from .alpha import chosen
from .method import Method
from .plan import Cost, Machine, Shape
from .solution import LeastSquares
from .task import Task, Terms


class Orthogonal(Method[Factor]):
    """Condition numbers up to 1e14 are fine; rows can be added, but not removed."""

    name = "qr"
    kinds = ("factor",)
    squared_only = True
    judged = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return dual.cost(shape, task, machine)

    def solve(self, given: Factor, task: Task, terms: Terms) -> LeastSquares:
        path = spectrum.from_factor(given, task.intercept)
        alpha, known = chosen(path, task, terms)
        return path.solution(alpha, terms.scale, terms.plan.reason, estimate=known)
