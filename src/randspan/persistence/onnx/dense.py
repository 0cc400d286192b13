"""Functions with dense values: cosines, signs, activations, bumps, products, networks, unions."""

from __future__ import annotations

import numpy as np

from ...families.bumps import BumpFunctions
from ...families.fourier import FourierFunctions
from ...families.networks import NetworkFunctions
from ...families.projections import ProjectionFunctions
from ...families.shared.frequencies import HadamardFrequencies
from ...families.shared.rows import Rows
from ...families.stumps import StumpFunctions
from ...families.union import UnionFunctions
from ...families.units import UnitFunctions
from .distances import gaussians
from .functions import Exporter, Sums, Term, columns, exports, refused, scores
from .graph import BOOL, FLOAT64, Graph, Tensor
from .rows import GraphRows

ROOT, QUARTER = float(np.sqrt(2)), float(np.pi / 2)


@exports(FourierFunctions)
class FourierExporter(Sums):
    """√2 cos(ω'x + b); √2 (cos, sin) ω'x side by side in the paired form.

    As sines of another phase: onnxruntime has had those in float64 for longer.
    """

    def terms(self, rows, functions):
        graph, frequencies = rows.graph, functions.frequencies
        if isinstance(frequencies, HadamardFrequencies):
            # O(k log d) pays for hundreds of columns, and in loops that ONNX does not have.
            unit = Rows(np.eye(functions.n_features))
            frequencies = frequencies.products(unit, functions.stretch).T
        shifts = 2 * np.pi * functions.phases + QUARTER
        if functions.family.form == "paired":
            alone = shifts[-1]
            shifts = np.tile([QUARTER, 0.0], len(frequencies))
            frequencies = np.repeat(frequencies, 2, axis=0)
            if functions.n_components % 2:
                frequencies, shifts = frequencies[:-1], np.append(shifts[:-2], alone)
        return [Term(graph("Sin", graph("Add", rows.products(frequencies), shifts)), ROOT)]


@exports(StumpFunctions)
class StumpExporter(Sums):
    """sgn(x[columns] - thresholds)."""

    def terms(self, rows, functions):
        return [Term(rows.signs(functions.columns, functions.thresholds))]


def _sign(graph: Graph, u: Tensor) -> Tensor:
    above = graph("GreaterOrEqual", u, 0.0, dtype=BOOL)
    return graph("Where", above, 1.0, -1.0, dtype=u.dtype)


ACTIVATIONS = {
    "sigmoid": lambda graph, u: graph("Sigmoid", u),
    "tanh": lambda graph, u: graph("Tanh", u),
    "relu": lambda graph, u: graph("Relu", u),
    "sign": _sign,
    "cos": lambda graph, u: graph("Sin", graph("Add", u, QUARTER)),
    "gaussian": lambda graph, u: graph("Exp", graph("Mul", graph("Mul", u, u), -0.5)),
}


def activated(rows: GraphRows, functions, values: Tensor) -> Tensor:
    """σ of every value; an activation of the user's own is refused."""
    name = functions.family.activation
    if callable(name):
        raise refused(functions.family, "its activation is a Python function")
    return ACTIVATIONS[name](rows.graph, values)


@exports(UnitFunctions)
class UnitExporter(Sums):
    """σ(w'x + b), after the inputs themselves where there are direct links."""

    def terms(self, rows, functions):
        graph = rows.graph
        values = graph("Add", rows.products(functions.weights), functions.biases)
        values = activated(rows, functions, values)
        if functions.n_direct:
            values = graph("Concat", rows.dense, values, axis=1)
        return [Term(values)]


@exports(BumpFunctions)
class BumpExporter(Sums):
    """exp(2x'γz - z'γz - x'γx)."""

    def terms(self, rows, functions):
        gamma = np.broadcast_to(np.asarray(functions.gamma, np.float64), functions.n_features)
        return [Term(gaussians(rows, functions.centers, gamma))]


@exports(ProjectionFunctions)
class ProjectionExporter(Sums):
    """w'x."""

    def terms(self, rows, functions):
        return [Term(rows.cast(FLOAT64).dense, functions.weights.T)]


@exports(NetworkFunctions)
class NetworkExporter(Sums):
    """v'h_L + c, all networks side by side: tensors of shape (N, networks, units)."""

    def terms(self, rows, functions):
        graph, k = rows.graph, functions.n_components
        weights, biases = functions.weights, functions.biases
        units, last = weights[0].shape[1], len(weights) - 1
        values = rows.products(weights[0].reshape(k * units, -1))
        if biases:
            values = graph("Add", values, biases[0].ravel())
        values = activated(rows, functions, values)
        values = graph("Reshape", values, np.array([0, k, units]))  # 0 keeps the number of rows
        if last > 1:
            # onnxruntime divides by zero in a product of no rows for every network: there is one
            # row more, of zeros, on the way. (It also keeps the transposition out of the product,
            # which not every version can fuse in float64.)
            values = graph("Transpose", values, perm=[1, 0, 2])
            values = graph("Pad", values, np.array([0, 1, 0, 0, 0, 0]))
            for layer in range(1, last):
                values = graph("MatMul", values, weights[layer].transpose(0, 2, 1))
                if biases:
                    values = graph("Add", values, biases[layer][:, None])
                values = activated(rows, functions, values)
            values = graph("Transpose", values, perm=[1, 0, 2])
            values = graph("Slice", values, np.array([1]), np.array([2**62]), np.array([0]))
        values = graph("Mul", values, weights[last][:, 0])
        values = graph("ReduceSum", values, np.array([2]), keepdims=0)
        return [Term(graph("Add", values, biases[last][:, 0]) if biases else values)]


@exports(UnionFunctions)
class UnionExporter(Exporter):
    """The columns of several families: each part takes the weights of its own."""

    def scores(self, rows, functions, coef):
        placed = _places(functions)
        return rows.graph.total([scores(rows, part, coef[at]) for part, at in placed])

    def columns(self, rows, functions):
        graph, placed = rows.graph, _places(functions)
        own = [graph.cast(columns(rows, part), FLOAT64) for part, _ in placed]
        order = np.argsort(np.concatenate([at for _, at in placed]))
        return graph("Gather", graph("Concat", *own, axis=1), order, axis=1)


def _places(functions: UnionFunctions) -> list[tuple]:
    """Every part, and where its columns stand in the union."""
    dense, found, start = functions.dense_part, [], 0
    if isinstance(dense, UnionFunctions):
        ends = np.cumsum([part.n_columns for part in dense.parts])
        numbers = [np.arange(end - part.n_columns, end)
                   for part, end in zip(dense.parts, ends, strict=True)]  # fmt: skip
        order = dense._interleaved([part[None] for part in numbers])[0]
        places = np.argsort(order)
        found = [(part, places[own]) for part, own in zip(dense.parts, numbers, strict=True)]
        start = dense.n_columns
    for part in functions.cell_parts:
        found.append((part, np.arange(start, start + part.n_columns)))
        start += part.n_columns
    return found
