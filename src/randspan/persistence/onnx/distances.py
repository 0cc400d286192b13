"""Distances and kernels between rows in a graph and fixed rows: tensors of shape (N, anchors)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .graph import BOOL, FLOAT32, FLOAT64, Graph, Tensor
from .rows import DenseRows

LAST = np.array([2])


def summed(rows: DenseRows, z: NDArray, of: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Σ_m of(x_m, z_m), some columns at a time."""
    graph = rows.graph
    parts = [graph("ReduceSum", of(x, at), LAST, keepdims=0) for x, at in rows.apart(z)]
    return graph.total(parts)


def multiplied(rows: DenseRows, z: NDArray, of: Callable[[Tensor], Tensor]) -> Tensor:
    """Π_m of(|x_m - z_m|) of numbers >= 0, some columns at a time."""
    graph = rows.graph

    def logarithms(x: Tensor, at: Tensor) -> Tensor:
        return graph("Log", of(graph("Abs", graph("Sub", x, at))))

    # Through logarithms, -∞ included: not every version of onnxruntime has products in float64.
    return graph("Exp", summed(rows, z, logarithms))


def power_sum(rows: DenseRows, z: NDArray, p: float) -> Tensor:
    """Σ_m |x_m - z_m|^p."""
    graph = rows.graph

    def of(x: Tensor, at: Tensor) -> Tensor:
        apart = graph("Sub", x, at)
        if p == 2:
            return graph("Mul", apart, apart)
        size = graph("Abs", apart)
        return size if p == 1 else graph("Pow", size, float(p))

    return summed(rows, z, of)


def squared(rows: DenseRows, z: NDArray) -> Tensor:
    """‖x - z‖² = ‖x‖² - 2x'z + ‖z‖²: one product."""
    graph = rows.graph
    values = graph("Add", graph("Sub", rows.norms(), rows.products(2 * z)), (z**2).sum(axis=1))
    return graph("Max", values, 0.0)


def chi_squared(rows: DenseRows, z: NDArray) -> Tensor:
    """Σ_m (x_m - z_m)²/(x_m + z_m), 0 where both are."""
    graph = rows.graph

    def of(x: Tensor, at: Tensor) -> Tensor:
        apart, both = graph("Sub", x, at), graph("Add", x, at)
        known = graph("Greater", graph("Abs", both), 0.0, dtype=BOOL)
        safe = graph("Where", known, both, 1.0, dtype=x.dtype)
        ratio = graph("Div", graph("Mul", apart, apart), safe)
        return graph("Where", known, ratio, 0.0, dtype=x.dtype)

    return summed(rows, z, of)


def gaussians(rows: DenseRows, z: NDArray, gamma: NDArray) -> Tensor:
    """exp(2x'γz - z'γz - x'γx) = exp(-Σ_m γ_m (x_m - z_m)²)."""
    graph = rows.graph
    values = graph("Sub", rows.products(2 * gamma * z), z**2 @ gamma)
    values = graph("Sub", values, rows.norms(gamma))
    return graph("Exp", graph("Min", values, 0.0))


def negative_exponential(graph: Graph, values: Tensor, gamma: float = 1.0) -> Tensor:
    """exp(-γ·values)."""
    return graph("Exp", graph("Mul", values, -float(gamma)))


def angles(graph: Graph, cosines: Tensor) -> Tensor:
    """arccos in float64.

    Runtimes have it in float32 only: θ_0, accurate to 1e-7 or, near 0 and π, to 1e-4. The rest is
    sin(θ - θ_0) = sin θ cos θ_0 - cos θ sin θ_0, twice.
    """
    sines = graph("Sqrt", graph("Sub", 1.0, graph("Mul", cosines, cosines)))
    found = graph.cast(graph("Acos", graph.cast(cosines, FLOAT32)), FLOAT64)
    for _ in range(2):
        ahead = graph("Mul", sines, graph("Sin", graph("Add", found, float(np.pi / 2))))
        found = graph("Add", found, graph("Sub", ahead, graph("Mul", cosines, graph("Sin", found))))
    return found


def normal_distribution(graph: Graph, x: Tensor, n_columns: int) -> Tensor:
    """Φ(x) = ½ + x/√(2π) ∫_0^1 exp(-x²t²/2) dt in float64, by Gauss and Legendre.

    Runtimes have the error function in float32 only. Beyond ±8.5 Φ is 0 or 1 to the last digit, and
    48 nodes are accurate to 1e-15 up to there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(48)
    nodes, weights = (nodes + 1) / 2, weights / 2 / np.sqrt(2 * np.pi)
    x = graph("Clip", x, -8.5, 8.5)
    apart = graph("Mul", graph("Reshape", x, np.array([0, n_columns, 1])), nodes)
    heights = graph("Exp", graph("Mul", graph("Mul", apart, apart), -0.5))
    area = graph("ReduceSum", graph("Mul", heights, weights), LAST, keepdims=0)
    return graph("Add", graph("Mul", x, area), 0.5)
