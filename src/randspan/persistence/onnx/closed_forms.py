"""Families' kernels in closed form: k(x, z) = Σ_t values_t(x)·matrix_t for fixed rows z."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...families import (
    Bins,
    Bumps,
    Family,
    Fourier,
    KernelExpansions,
    Networks,
    Projections,
    Stumps,
    Union,
    Units,
)
from ...families.expansions import ROOTS, VARIANCES
from ...families.shared.anchors import Kernel
from ...families.shared.pitches import GammaPitches, UnitPitches
from ...families.shared.rows import Rows
from ...families.shared.spectra import Cauchy, Gaussian, Laplacian, Matern, Stable
from ...families.stumps import NormalThresholds, QuantileThresholds, UniformThresholds
from . import distances
from .functions import Term, refused
from .graph import BOOL, FLOAT64, Graph, Tensor
from .named import NAMED
from .rows import GraphRows, Stretched

PI = float(np.pi)


def kernel_terms(rows: GraphRows, kernel: Kernel, z: NDArray, family: Family) -> list[Term]:
    """k(x, z) of a kernel that has a name, or that of a family."""
    if isinstance(kernel.kernel, Family):
        return closed_form(rows.cast(FLOAT64), kernel.kernel, z)
    if kernel.name not in NAMED:
        raise refused(family, "its kernel is a Python function")
    params = dict(kernel.params)
    if kernel.gamma is not None:
        params["gamma"] = kernel.gamma
    return [NAMED[kernel.name](rows, z, **params)]


def closed_form(rows: GraphRows, family: Family, z: NDArray) -> list[Term]:
    """The kernel of a resolved family between rows in float64 and the rows of z."""
    known = CLOSED_FORMS.get(type(family))
    if known is None:
        raise refused(family, "its kernel has no operators in ONNX")
    return known(rows, family, z)


def _fourier(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    law = family._law
    scaled = Stretched(rows, z, law.stretch(np.asarray(family.resolved.gamma, np.float64)))
    return [Term(SPECTRA[type(law)](scaled, scaled.anchors, law))]


def _gaussian(rows, z, law) -> Tensor:
    return distances.negative_exponential(rows.graph, distances.squared(rows, z), 0.5)


def _matern(rows, z, law) -> Tensor:
    graph, degrees = rows.graph, law.degrees
    # exp(-r) has a tip at 0: there a product would lose the digits of the difference.
    square = distances.power_sum(rows, z, 2) if degrees == 1 else distances.squared(rows, z)
    r = graph("Mul", graph("Sqrt", square), float(np.sqrt(degrees)))
    found = distances.negative_exponential(graph, r)
    if degrees == 3:
        return graph("Mul", found, graph("Add", r, 1.0))
    if degrees == 5:
        rest = graph("Mul", graph("Mul", r, r), 1 / 3)
        return graph("Mul", found, graph("Add", graph("Add", r, 1.0), rest))
    return found


def _exponential(rows, z, law) -> Tensor:
    return distances.negative_exponential(rows.graph, distances.power_sum(rows, z, 1))


def _cauchy(rows, z, law) -> Tensor:
    graph = rows.graph

    def of(size: Tensor) -> Tensor:
        return graph("Reciprocal", graph("Add", graph("Mul", size, size), 1.0))

    return distances.multiplied(rows, z, of)


def _stable(rows, z, law) -> Tensor:
    graph, sums = rows.graph, distances.power_sum(rows, z, law.p)
    if law.p != law.q:
        sums = graph("Pow", sums, float(law.q / law.p))
    return distances.negative_exponential(graph, sums)


SPECTRA: dict[type, Callable[..., Tensor]] = {
    Gaussian: _gaussian,
    Matern: _matern,
    Laplacian: _exponential,
    Cauchy: _cauchy,
    Stable: _stable,
}


def _bins(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    graph, pitches = rows.graph, family.resolved.pitches
    scaled = Stretched(rows, z, family.resolved.gamma)
    if isinstance(pitches, GammaPitches):
        return [Term(_exponential(scaled, scaled.anchors, None))]
    if not isinstance(pitches, UnitPitches):
        raise refused(family, "its kernel is a table of a distribution or function of yours")

    def hat(size: Tensor) -> Tensor:
        return graph("Relu", graph("Sub", 1.0, size))

    return [Term(distances.multiplied(scaled, scaled.anchors, hat))]


def _stumps(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    """1 - (2/d) Σ_m |F_m(x_m) - F_m(z_m)|."""
    graph, law = rows.graph, family.resolved
    if family.probabilities is not None:
        raise refused(family, "its columns have probabilities of their own")
    levels = Stretched(rows, law.distribution(z), 1.0)
    levels.dense = DISTRIBUTIONS[type(law)](graph, rows.dense, law, z.shape[1])
    apart = distances.power_sum(levels, levels.anchors, 1)
    scaled = graph("Mul", apart, -2 / z.shape[1])
    return [Term(graph("Add", scaled, 1.0))]


def _normal(graph: Graph, x: Tensor, law: Any, d: int) -> Tensor:
    return distances.normal_distribution(graph, x, d)


def _uniform(graph: Graph, x: Tensor, law: Any, d: int) -> Tensor:
    width = law.upper - law.lower
    inside = graph("Div", graph("Sub", x, law.lower), np.where(width > 0, width, 1.0))
    inside = graph("Clip", inside, 0.0, 1.0)
    if (width > 0).all():
        return inside
    step = graph.cast(graph("GreaterOrEqual", x, law.lower, dtype=BOOL), FLOAT64)
    return graph("Where", width > 0, inside, step, dtype=FLOAT64)


def _quantile(graph: Graph, x: Tensor, law: Any, d: int) -> Tensor:
    # F rises by a jump at every gap.
    found = []
    for m, (gaps, reached) in enumerate(zip(law.gaps, law.reached, strict=True)):
        column = graph("Gather", x, np.array([m]), axis=1)
        above = graph.cast(graph("GreaterOrEqual", column, gaps, dtype=BOOL), FLOAT64)
        found.append(graph.product(above, np.diff(reached, prepend=0.0)[:, None]))
    return graph("Concat", *found, axis=1) if d > 1 else found[0]


DISTRIBUTIONS: dict[type, Callable[..., Tensor]] = {
    NormalThresholds: _normal,
    UniformThresholds: _uniform,
    QuantileThresholds: _quantile,
}


def _bumps(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    d, pool, graph = z.shape[1], family.resolved.pool, rows.graph
    if callable(family.centers):
        raise refused(family, "its centres come from a sampler of yours")
    gamma = np.broadcast_to(np.asarray(family.resolved.gamma, np.float64), d)
    if pool is not None:
        apart = (pool[:, None] - z[None]) ** 2 @ gamma
        return [Term(distances.gaussians(rows, pool, gamma), np.exp(-apart) / len(pool))]
    near = Stretched(rows, z, np.sqrt(gamma / 2))
    middle = Stretched(rows, -z, np.sqrt(gamma / (1 + 4 * gamma) / 2))
    both = graph(
        "Add", distances.squared(near, near.anchors), distances.squared(middle, middle.anchors)
    )
    height = float(1 / np.prod(np.sqrt(1 + 4 * gamma)))
    return [Term(distances.negative_exponential(graph, both), height)]


def _projections(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    return [Term(rows.dense, family.scale**2 * z.T)]


def _expansions(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    kernel, anchors = family.resolved.kernel, family.resolved.anchors
    right = kernel.values(Rows(z), anchors).astype(np.float64)
    if family._nystrom:
        root = ROOTS[family.coefficients](kernel.values(Rows(anchors), anchors))
        matrix = root.T @ (right @ root.T).T
    else:
        matrix = VARIANCES[family.coefficients] * right.T
    return [term.times(matrix) for term in kernel_terms(rows, kernel, anchors, family)]


def _units(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    scale, bias = family.resolved.scale, family.bias == "normal"
    return [Term(mean_product(rows, z, scale, bias, family))]


def _networks(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    (scale, times), bias = family.in_kernel(z.shape[1]), bool(family.bias)
    found = mean_product(rows, z, scale, bias, family)
    found = found if times == 1 else rows.graph("Mul", found, times)
    return [Term(rows.graph("Add", found, 1.0) if bias else found)]


def mean_product(rows: GraphRows, z: NDArray, scale: float, bias: bool, family: Any) -> Tensor:
    """E σ(w'u) σ(w'v), u = (scale·x, 1), v = (scale·z, 1), w ~ N(0, I)."""
    graph, ones = rows.graph, float(bias)
    known = ACTIVATED.get(family.activation)
    if known is None:
        raise refused(family, "its kernel has no closed form")
    dot = graph("Add", rows.products(scale**2 * z), ones)
    uu = graph("Add", graph("Mul", rows.norms(), scale**2), ones)
    return known(graph, dot, uu, scale**2 * (z**2).sum(axis=1) + ones)


def _turned(graph: Graph, dot: Tensor, uu: Tensor, vv: NDArray) -> tuple[Tensor, Tensor, Tensor]:
    """‖u‖‖v‖, cos θ and θ."""
    norms = graph("Sqrt", graph("Mul", uu, vv))
    none = graph("Equal", norms, 0.0, dtype=BOOL)
    safe = graph("Where", none, 1.0, norms, dtype=FLOAT64)
    cosines = graph("Clip", graph("Div", dot, safe), -1.0, 1.0)
    return norms, cosines, distances.angles(graph, cosines)


def _relu(graph: Graph, dot: Tensor, uu: Tensor, vv: NDArray) -> Tensor:
    norms, cosines, angle = _turned(graph, dot, uu, vv)
    rest = graph("Mul", graph("Sub", PI, angle), cosines)
    return graph("Mul", graph("Mul", norms, graph("Add", graph("Sin", angle), rest)), 1 / (2 * PI))


def _sign(graph: Graph, dot: Tensor, uu: Tensor, vv: NDArray) -> Tensor:
    norms, _, angle = _turned(graph, dot, uu, vv)
    value = graph("Add", graph("Mul", angle, -2 / PI), 1.0)
    # sgn(0) = +1: a zero vector without bias always gives +1, the other one averages out.
    alone = graph("Greater", norms, 0.0, dtype=BOOL)
    zero = graph.cast(graph("Equal", uu, 0.0, dtype=BOOL), FLOAT64)
    both = graph("Mul", zero, (vv == 0).astype(np.float64))
    return graph("Where", alone, value, both, dtype=FLOAT64)


def _cosines(graph: Graph, dot: Tensor, uu: Tensor, vv: NDArray) -> Tensor:
    both, twice = graph("Add", uu, vv), graph("Mul", dot, 2.0)
    squares = [graph("Max", graph(kind, both, twice), 0.0) for kind in ("Sub", "Add")]
    parts = [distances.negative_exponential(graph, one, 0.5) for one in squares]
    return graph("Mul", graph.total(parts), 0.5)


def _gaussians(graph: Graph, dot: Tensor, uu: Tensor, vv: NDArray) -> Tensor:
    square = graph("Sub", graph("Mul", uu, vv), graph("Mul", dot, dot))
    parts = [graph("Add", uu, 1 + vv), graph("Max", square, 0.0)]
    return graph("Reciprocal", graph("Sqrt", graph.total(parts)))


ACTIVATED: dict[Any, Callable[..., Tensor]] = {
    "relu": _relu,
    "sign": _sign,
    "cos": _cosines,
    "gaussian": _gaussians,
}


def _union(rows: GraphRows, family: Any, z: NDArray) -> list[Term]:
    share = 1 / len(family.parts)
    return [term.times(share) for part in family.parts for term in closed_form(rows, part, z)]


CLOSED_FORMS: dict[type, Callable[..., list[Term]]] = {
    Fourier: _fourier,
    Bins: _bins,
    Stumps: _stumps,
    Bumps: _bumps,
    Projections: _projections,
    KernelExpansions: _expansions,
    Units: _units,
    Networks: _networks,
    Union: _union,
}
