"""Rows in a graph as the functions see them: x̃ = R'((x - centre)·scale), with the verbs of `Rows`.

Rows are standardised in float64 in both modes, as the library does: an offset of 1e6 must not eat a
float32's digits. Comparisons with raw inputs (stumps, trees) need no float64: every threshold moves
to the number of the input's own type that decides alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...families.shared.rows import Bend
from ...frame import Frame
from .graph import BOOL, FLOAT64, INT64, Graph, Tensor

# Entries of one row that are worked on together, where rows meet anchors or grids column by column.
AT_ONCE = 2**14


class Inputs:
    """X as it comes in, with the mean in place of what is missing (as `predict` takes it)."""

    def __init__(self, graph: Graph, X: Tensor, means: NDArray[np.float64]):
        self.graph = graph
        unknown = graph("IsNaN", X, dtype=BOOL)
        self.values = graph("Where", unknown, means, X, dtype=X.dtype)

    @cached_property
    def exact(self) -> Tensor:
        return self.graph.cast(self.values, FLOAT64)

    def marking(self, values: Tensor) -> Tensor:
        """The same values, NaN for rows that hold infinity: `predict` refuses them."""
        none = self.graph("Sub", self.values, self.values)
        mark = self.graph("ReduceSum", none, np.array([1]), keepdims=1)
        return self.graph("Add", values, self.graph.cast(mark, values.dtype))


class DenseRows:
    """Rows in a graph, and what functions and kernels ask of them."""

    graph: Graph
    dense: Tensor
    dtype: np.dtype

    def products(self, directions: NDArray) -> Tensor:
        """x̃ · directionsᵀ."""
        return self.graph.product(self.dense, directions.T)

    def norms(self, weights: NDArray | None = None) -> Tensor:
        """Σ_m weights_m·x̃_m² of every row as a column; ‖x̃‖² if None."""
        values = self.dense
        if weights is not None:
            values = self.graph("Mul", values, np.sqrt(weights))
        return self.graph("ReduceSumSquare", values, np.array([1]), keepdims=1)

    def apart(self, anchors: NDArray) -> list[tuple[Tensor, Tensor]]:
        """x̃_m and z_m side by side, of shapes (N, 1, some columns) and (1, anchors, some)."""
        step = max(1, AT_ONCE // max(len(anchors), 1))
        pieces = []
        for start in range(0, anchors.shape[1], step):
            columns = np.arange(start, min(start + step, anchors.shape[1]))
            x = self.dense
            if len(columns) < anchors.shape[1]:
                x = self.graph("Gather", x, columns, axis=1)
            z = self.graph.constant(anchors[None, :, columns].astype(self.dtype))
            pieces.append((self.graph("Unsqueeze", x, np.array([1])), z))
        return pieces


class Stretched(DenseRows):
    """Rows whose columns are multiplied by numbers, beside rows ``anchors`` that are as well."""

    def __init__(self, rows: DenseRows, anchors: NDArray, stretch: Any):
        stretch = np.broadcast_to(np.asarray(stretch, np.float64), anchors.shape[1])
        self.graph, self.dtype = rows.graph, rows.dtype
        self.dense = rows.graph("Mul", rows.dense, stretch)
        self.anchors = anchors * stretch


class Standardised:
    """(x - centre)·scale of the rows that come in, in float64: what a frame makes of them."""

    def __init__(self, inputs: Inputs, frame: Frame):
        self.graph, self.inputs, self.frame = inputs.graph, inputs, frame
        self._rows: dict[np.dtype, GraphRows] = {}

    def rows(self, dtype: np.dtype) -> GraphRows:
        """Rows in one precision; they are made once."""
        if dtype not in self._rows:
            self._rows[dtype] = GraphRows(self, dtype)
        return self._rows[dtype]

    @cached_property
    def bent(self) -> Tensor:
        """x, or z/√(1 + (z/knee)²) where tails are bent."""
        graph, bend, x = self.graph, self.frame.bend, self.inputs.exact
        if bend is None:
            return x
        z = graph("Mul", graph("Sub", x, bend.centre), bend.scale)
        part = graph("Div", z, float(bend.knee))
        return graph("Div", z, graph("Sqrt", graph("Add", graph("Mul", part, part), 1.0)))

    @property
    def centre(self) -> NDArray[np.float64] | None:
        # Bent columns have their centre in the bend.
        return self.frame.centre if self.frame.bend is None else None

    @cached_property
    def straight(self) -> Tensor:
        """x̃ before any rotation."""
        values = self.bent
        if self.centre is not None:
            values = self.graph("Sub", values, self.centre)
        if self.frame.scale is not None:
            values = self.graph("Mul", values, self.frame.scale)
        return values


class GraphRows(DenseRows):
    """x̃ of the rows that come in, in ``dtype``."""

    def __init__(self, source: Standardised, dtype: np.dtype):
        self.graph, self.source, self.dtype = source.graph, source, dtype

    def cast(self, dtype: np.dtype) -> GraphRows:
        """The same rows in another precision."""
        return self.source.rows(dtype)

    @cached_property
    def dense(self) -> Tensor:  # type: ignore[override]
        """x̃ itself."""
        values = self.graph.cast(self.source.straight, self.dtype)
        rotation = self.source.frame.rotation
        return values if rotation is None else self.graph.product(values, rotation)

    # -- comparisons with raw inputs -----------------------------------------------------------

    def signs(self, columns: NDArray, thresholds: NDArray) -> Tensor:
        """sgn(x̃[columns] - thresholds) with sgn(0) = +1, by thresholds on the raw scale."""
        source, graph = self.source, self.graph
        scale, bend = source.frame.scale, source.frame.bend
        if scale is not None:
            blind = np.where(thresholds <= 0, -np.inf, np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                thresholds = np.where(scale[columns] > 0, thresholds / scale[columns], blind)
        if source.centre is not None:
            thresholds = thresholds + source.centre[columns]
        taken = graph("Gather", source.inputs.values, columns.astype(INT64), axis=1)
        if bend is None:
            least = rounded_up(thresholds, taken.dtype)
            above = graph("GreaterOrEqual", taken, least, dtype=BOOL)
        else:
            below = last(lambda x: _bent(bend, x, columns) < thresholds, len(columns), taken.dtype)
            above = graph("Greater", taken, below, dtype=BOOL)
        return graph("Where", above, 1.0, -1.0, dtype=self.dtype)

    def cuts(self, columns: NDArray, thresholds: NDArray) -> NDArray:
        """The largest inputs x with x̃[columns] <= thresholds: x <= cut decides alike."""
        frame, centre = self.source.frame, self.source.centre

        def left(x: NDArray[np.float64]) -> NDArray[np.bool_]:
            if frame.bend is not None:
                x = _bent(frame.bend, x, columns)
            if centre is not None:
                x = x - centre[columns]
            return (x if frame.scale is None else x * frame.scale[columns]) <= thresholds

        return last(left, len(columns), self.source.inputs.values.dtype)


def _bent(bend: Bend, x: NDArray[np.float64], columns: NDArray) -> NDArray[np.float64]:
    """What a bend makes of one number of every column."""
    some = Bend(bend.centre[columns], bend.scale[columns], bend.knee)
    return some(x)[0]


def last(holds: Callable[[NDArray], NDArray], count: int, dtype: np.dtype) -> NDArray:
    """The largest numbers of a type for which something holds that holds below some number.

    By bisection of all numbers of the type, in their order. Standardised inputs are monotone in x
    in floating point too, since every rounding is.
    """
    most = np.finfo(dtype).max
    low, high = (np.full(count, _place(np.array(s * most, dtype))) for s in (-1, 1))
    for _ in range(8 * dtype.itemsize):
        # Rounded up, so that low = high is reached; halves first, since a sum would overflow.
        middle = (low >> 1) + (high >> 1) + ((low | high) & 1)
        with np.errstate(over="ignore"):
            below = holds(_number(middle, dtype).astype(FLOAT64))
        low, high = np.where(below, middle, low), np.where(below, high, middle - 1)
    return _number(low, dtype)


def rounded_up(numbers: NDArray[np.float64], dtype: np.dtype) -> NDArray:
    """The smallest numbers of a type that are not below: x >= t for the same x of that type."""
    with np.errstate(over="ignore"):
        near = numbers.astype(dtype)
        return np.where(near < numbers, np.nextafter(near, dtype.type(np.inf)), near)


def _place(number: NDArray) -> Any:
    """The place of a floating number in the order of all of its type."""
    bits = number.view(f"i{number.dtype.itemsize}").astype(INT64)
    flip = np.int64(2 ** (8 * number.dtype.itemsize - 1) - 1)
    return np.where(bits < 0, ~(bits & flip), bits)


def _number(place: NDArray[np.int64], dtype: np.dtype) -> NDArray:
    """The floating number at a place."""
    flip = np.int64(2 ** (8 * dtype.itemsize - 1) - 1)
    smallest = -flip - np.int64(1)
    bits = np.where(place < 0, (~place & flip) | smallest, place)
    return bits.astype(f"i{dtype.itemsize}").view(dtype)
