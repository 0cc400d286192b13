"""The dual with inner products in place of Z̃Z̃': kernel machines, and cells of few rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..statistics.products import Products
from . import spectrum
from .alpha import on_path
from .method import PRODUCTS, Method
from .plan import Cost, Machine, Shape
from .solution import Inner, LeastSquares
from .task import Task, Terms

# Bytes of n × n matrices: the kernel, centred and weighted, its eigenvectors and their work space.
SQUARES = 7 * 8


class KernelMachine(Method[Products]):
    """Infinitely many functions: a weight for every training row."""

    name = "kernel"
    kinds = ("kernel rows",)
    takes = PRODUCTS
    squared_only = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape)

    def solve(self, given: Products, task: Task, terms: Terms) -> LeastSquares:
        return _solved(given, task, terms, task.dtype)


class DualOfCells(KernelMachine):
    """Indicators of cells through the n × n matrix of their inner products."""

    name = "dual"
    kinds = ("cells",)

    def solve(self, given: Products, task: Task, terms: Terms) -> LeastSquares:
        found = _solved(given, task, terms, np.dtype(np.float64))
        assert given.features is not None
        return replace(found, coef=given.features.T @ found.coef, solver=self.name)


def cost(shape: Shape) -> Cost:
    """10n³ for the eigenvectors of an n × n matrix; the rows are kept."""
    n = shape.n_rows
    return Cost(10 * n**3, SQUARES * n**2 + 8 * n * shape.n_features)


def _solved(given: Products, task: Task, terms: Terms, dtype: np.dtype) -> LeastSquares:
    targets, each = given.targets, given.weights
    path = spectrum.from_kernel(given.gram, targets, each, given.distinct, task.intercept)
    found = on_path(path, task.alpha, terms, dtype)
    shares = each / each.sum() if task.intercept else None
    inner = Inner(given.features, shares, found.mean if task.intercept else None)
    return replace(found, inner=inner)
