"""All alphas at once, from the eigenvectors of moments."""

from __future__ import annotations

from ..statistics import Moments
from . import cholesky, spectrum
from .alpha import by_gcv
from .method import Method
from .plan import Cost, Machine, Shape
from .solution import LeastSquares
from .task import Task, Terms


class Eigen(Method[Moments]):
    """One eigendecomposition for a whole path of alphas."""

    name = "eigen"
    kinds = ("moments",)
    squared_only = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cholesky.cost(shape, task, machine, 10)

    def solve(self, given: Moments, task: Task, terms: Terms) -> LeastSquares:
        path = spectrum.from_moments(given, task.intercept)
        needed, alpha = 0.0, task.alpha
        if terms.plan.smallest_ridge:
            alpha = cholesky.smallest_alpha(given, terms.scale, task.intercept)
        elif isinstance(alpha, str):
            alpha = by_gcv(path, terms.scale, task.dtype)
        else:
            needed = cholesky.smallest_trusted(given)
        return path.solution(float(alpha), terms.scale, terms.plan.reason, needed)
