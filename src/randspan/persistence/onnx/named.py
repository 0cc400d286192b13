"""Kernels by the names of scikit-learn's ``pairwise_kernels``, between rows and fixed rows z."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import distances
from .functions import Term
from .graph import BOOL
from .rows import DenseRows


def _linear(rows: DenseRows, z: NDArray) -> Term:
    return Term(rows.dense, z.T)


def _poly(rows: DenseRows, z: NDArray, gamma: float, degree=3, coef0=1) -> Term:
    shifted = rows.graph("Add", rows.products(gamma * z), float(coef0))
    return Term(rows.graph("Pow", shifted, float(degree)))


def _sigmoid(rows: DenseRows, z: NDArray, gamma: float, coef0=1) -> Term:
    return Term(rows.graph("Tanh", rows.graph("Add", rows.products(gamma * z), float(coef0))))


def _cosine(rows: DenseRows, z: NDArray) -> Term:
    graph, norms = rows.graph, np.sqrt((z**2).sum(axis=1))
    own = graph("Sqrt", rows.norms())
    none = graph("Equal", own, 0.0, dtype=BOOL)
    own = graph("Where", none, 1.0, own, dtype=own.dtype)
    return Term(graph("Div", rows.products(z / np.where(norms > 0, norms, 1)[:, None]), own))


def _rbf(rows: DenseRows, z: NDArray, gamma: float) -> Term:
    return Term(distances.gaussians(rows, z, np.full(z.shape[1], gamma)))


def _laplacian(rows: DenseRows, z: NDArray, gamma: float) -> Term:
    return Term(distances.negative_exponential(rows.graph, distances.power_sum(rows, z, 1), gamma))


def _chi2(rows: DenseRows, z: NDArray, gamma: float) -> Term:
    return Term(distances.negative_exponential(rows.graph, distances.chi_squared(rows, z), gamma))


def _additive_chi2(rows: DenseRows, z: NDArray) -> Term:
    return Term(distances.chi_squared(rows, z), -1.0)


NAMED: dict[str, Callable[..., Term]] = {
    "linear": _linear,
    "poly": _poly,
    "polynomial": _poly,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
    "rbf": _rbf,
    "laplacian": _laplacian,
    "chi2": _chi2,
    "additive_chi2": _additive_chi2,
}
