"""Which functions a graph can compute, and how: one exporter for every class of drawn functions.

φ(x) = Σ_t values_t(x)·matrix_t. An exporter says what the values are; matrices are folded into the
weights of a model, so that a kernel expansion costs as much as its kernel and a √2 costs nothing.
Functions whose values are looked up (cells, trees) fold their weights into the tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...families import BrownianSheets, Dictionary, Functions, Hypotheses, ScrambledWavelets
from .graph import FLOAT64, Graph, NoExport, Tensor
from .rows import GraphRows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """values(x)·matrix, a number where the matrix is a multiple of the identity."""

    values: Tensor
    matrix: Array | float = 1.0

    def times(self, other: Array | float) -> Term:
        """The same values with another matrix behind."""
        if isinstance(self.matrix, float) or isinstance(other, float):
            return Term(self.values, self.matrix * other)
        return Term(self.values, self.matrix @ other)


class Exporter(ABC):
    """How one class of drawn functions is computed in a graph."""

    @abstractmethod
    def scores(self, rows: GraphRows, functions: Any, coef: Array) -> Tensor:
        """Σ_i φ_i(x)·coef_i in float64, a column for every target."""

    @abstractmethod
    def columns(self, rows: GraphRows, functions: Any) -> Tensor:
        """φ(x), a column for every function."""


class Sums(Exporter):
    """Functions that are sums of terms."""

    @abstractmethod
    def terms(self, rows: GraphRows, functions: Any) -> list[Term]:
        """Tensors and matrices that φ is the sum of."""

    def scores(self, rows, functions, coef):
        return multiplied(rows.graph, [term.times(coef) for term in self.terms(rows, functions)])

    def columns(self, rows, functions):
        return multiplied(rows.graph, self.terms(rows, functions))


def multiplied(graph: Graph, terms: list[Term]) -> Tensor:
    """Σ values·matrix in float64."""
    found = []
    for term in terms:
        values = graph.cast(term.values, FLOAT64)
        if not isinstance(term.matrix, float):
            values = graph.product(values, term.matrix)
        elif term.matrix != 1.0:
            values = graph("Mul", values, term.matrix)
        found.append(values)
    return graph.total(found)


EXPORTERS: dict[type[Functions], Exporter] = {}


def exports(kind: type[Functions]):
    """Register the exporter of a class of functions, of itself and not of what inherits from it."""

    def register(exporter: type[Exporter]) -> type[Exporter]:
        EXPORTERS[kind] = exporter()
        return exporter

    return register


SCALES = (
    "every value sums over all scales of a tree whose coefficients are drawn when a row asks for "
    "them, by a generator that ONNX has no operator for"
)
REASONS: dict[type, str] = {
    BrownianSheets: SCALES,
    ScrambledWavelets: SCALES,
    Dictionary: "its basis may be any function",
    Hypotheses: "its hypotheses are Python objects",
}


def exporter_of(functions: Functions) -> Exporter:
    """The exporter of drawn functions; those without one are refused by name."""
    found = EXPORTERS.get(type(functions))
    if found is None:
        family = functions.family
        reason = REASONS.get(type(family), "to_onnx knows the families of this library alone")
        raise refused(family, reason)
    return found


def refused(what: Any, reason: str) -> NoExport:
    """An error that names what cannot be exported, and what can."""
    known = "Fourier, Stumps, Units, Bumps, Projections, Networks, KernelExpansions, Trees, Bins"
    return NoExport(
        f"{what!r} has no ONNX graph: {reason}. Fit with one of {known} or a union of these, or "
        "keep the model in Python."
    )


def scores(rows: GraphRows, functions: Functions, coef: Array) -> Tensor:
    """Σ_i φ_i(x)·coef_i in float64."""
    return exporter_of(functions).scores(rows, functions, coef)


def columns(rows: GraphRows, functions: Functions) -> Tensor:
    """φ(x), a column for every function."""
    return exporter_of(functions).columns(rows, functions)
