"""All alphas at once, from the eigenvectors of moments."""

from __future__ import annotations

from ..statistics import Moments
from . import cholesky, spectrum
from .alpha import chosen
from .method import Method
from .plan import Cost, Machine, Shape
from .solution import LeastSquares
from .task import Task, Terms


class Eigen(Method[Moments]):
    """One eigendecomposition for a whole path of alphas."""

    name = "eigen"
    kinds = ("moments",)
    squared_only = True
    judged = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cholesky.cost(shape, task, machine, 10)

    def solve(self, given: Moments, task: Task, terms: Terms) -> LeastSquares:
        path = spectrum.from_moments(given, task.intercept, terms.plan.dtype)
        if terms.plan.smallest_ridge:
            alpha = cholesky.smallest_alpha(given, terms.scale, task.intercept)
            return path.solution(alpha, terms.scale, terms.plan.reason)
        needed = 0.0 if task.searches else cholesky.smallest_trusted(given)
        alpha, known = chosen(path, task, terms)
        return path.solution(alpha, terms.scale, terms.plan.reason, needed, known)
