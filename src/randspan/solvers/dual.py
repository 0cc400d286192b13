"""Fewer rows than functions: the n × n matrix Z̃Z̃' in place of the k × k one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..statistics import Factor
from . import spectrum
from .alpha import chosen
from .method import Method
from .plan import Cost, Machine, Shape, block_bytes
from .solution import IllConditioned, LeastSquares
from .task import Task, Terms

# Ridges below this share of the trace are not for Z̃Z̃', which squares the condition number.
TRUSTED = 1e-11


class Dual(Method[Factor]):
    """Eigenvectors of Z̃Z̃', from a factor that still is its rows."""

    name = "dual"
    kinds = ("factor",)
    squared_only = True
    judged = True
    box = False
    sharper = "qr"

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task, machine)

    def solve(self, given: Factor, task: Task, terms: Terms) -> LeastSquares:
        needed, known = TRUSTED * given.trace, None
        if terms.plan.smallest_ridge:
            task = replace(task, alpha=max(2 * needed / terms.scale, 1e-100))
        if not isinstance(task.alpha, str) and task.alpha * terms.scale < needed:
            mu = task.alpha * terms.scale
            raise IllConditioned(spectrum.advice(given.trace, mu, needed, terms.scale))
        path = spectrum.from_few_rows(given, task.intercept)
        alpha, known = chosen(path, task, terms)
        return path.solution(alpha, terms.scale, terms.plan.reason, estimate=known)


def cost(shape: Shape, task: Task, machine: Machine) -> Cost:
    """n²k for the products of n rows, n³ for what follows (ten times that for eigenvectors).

    Up to 2k rows are kept as they are.
    """
    n, k = shape.n_rows, shape.layout.n_columns
    factor = 10 if task.searches else 1
    kept = 8 * (machine.threads + 4) * k * min(n, 2 * k)
    block = block_bytes(shape, machine, np.dtype(np.float64))
    return Cost(n**2 * k + factor * n**3, kept + block)
