"""Functions whose values are looked up: cells of random grids, leaves and values of trees.

A weight for every cell is a table, and a row gathers its lines: no matrix of indicators exists.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...families.bins import BinFunctions
from ...families.shared.forest import Forest
from ...families.trees import LeafFunctions, TreeFunctions
from .functions import Array, Exporter, exports, refused
from .graph import FLOAT32, FLOAT64, INT64, UINT64, Graph, NoExport, Tensor, onnx_type
from .rows import AT_ONCE, GraphRows

ML = "ai.onnx.ml"
# Numbers of leaves pass through float32, which counts so far.
MOST_LEAVES = 2**24


class Looked(Exporter):
    """Functions with one column of values for every place that a row may be in."""

    @abstractmethod
    def places(self, rows: GraphRows, functions: Any) -> Tensor:
        """The places of every row, shape (N, groups)."""

    @abstractmethod
    def table(self, functions: Any, coef: Array) -> Array:
        """Σ_i φ_i·coef_i at every place."""

    def scores(self, rows, functions, coef):
        graph = rows.graph
        lines = graph("Gather", graph.constant(self.table(functions, coef)),
                      self.places(rows, functions), axis=0)  # fmt: skip
        return graph("ReduceSum", lines, np.array([1]), keepdims=0)


class Indicators(Looked):
    """Columns of 0 and 1: the last line of the table is for places without a column."""

    @abstractmethod
    def columns_of_places(self, functions: Any) -> NDArray[np.int64]:
        """The column of every place; n_columns where there is none."""

    def table(self, functions, coef):
        known = np.vstack([coef, np.zeros((1, coef.shape[1]))])
        return known[self.columns_of_places(functions)]

    def columns(self, rows, functions):
        graph, k = rows.graph, functions.n_columns
        numbers = graph.constant(self.columns_of_places(functions))
        at = graph("Gather", numbers, self.places(rows, functions), axis=0)
        # Zeros for every row, ones scattered among them, one column more for what has none.
        zeros = graph("Expand", np.zeros((1, 1)), _counts(graph, rows, k + 1), dtype=FLOAT64)
        ones = graph("Expand", np.ones((1, 1)), graph("Shape", at, dtype=INT64), dtype=FLOAT64)
        found = graph("ScatterElements", zeros, at, ones, axis=1)
        return graph("Slice", found, np.array([0]), np.array([k]), np.array([1]))


def _counts(graph: Graph, rows: GraphRows, columns: int) -> Tensor:
    """(N, columns) as a tensor."""
    n = graph("Shape", rows.source.inputs.values, start=0, end=1, dtype=INT64)
    return graph("Concat", n, np.array([columns]), axis=0)


@exports(BinFunctions)
class BinExporter(Indicators):
    """Cells ⌊slopes·x - shifts⌋, hashed in 64-bit integers as `families.shared.hashing` does.

    One LabelEncoder numbers the cells of all grids. Grids are told apart by a number that is mixed
    into their keys: the cell (0, …, 0) has the key 0 in every one.
    """

    def columns_of_places(self, functions):
        # Place 0 is that of cells that hold no training row.
        return np.append(functions.n_columns, np.arange(functions.n_columns))

    def places(self, rows, functions):
        graph = rows.graph
        step = max(1, AT_ONCE // max(functions.n_features, 1))
        parts = [
            self._keys(rows, functions, slice(start, start + step))
            for start in range(0, functions.n_components, step)
        ]
        keys = parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=0)
        salts = _salts(functions)
        mixed = graph("BitwiseXor", keys, salts[:, None])
        known = np.concatenate(_known(functions)) if len(salts) else np.empty(0, UINT64)
        each = np.repeat(salts, functions.counts)
        keys = graph("Transpose", graph.cast(mixed, INT64), perm=[1, 0])
        return _numbered(graph, keys, (known ^ each).view(INT64))

    def _keys(self, rows: GraphRows, functions: BinFunctions, grids: slice) -> Tensor:
        """Keys of some grids, a line for each (see `Rows.hashes`)."""
        from ...families.shared.hashing import LIMIT  # here, because it imports numba

        graph, source = rows.graph, rows.source
        slopes, offsets = functions.slopes[grids], -functions.shifts[grids]
        if source.frame.scale is not None:
            slopes = slopes * source.frame.scale
        if source.centre is not None:
            offsets = offsets - slopes * source.centre
        x = graph("Unsqueeze", source.bent, np.array([0]))
        places = graph("Add", graph("Mul", x, slopes[:, None]), offsets[:, None])
        cells = graph("Clip", graph("Floor", places), -LIMIT, LIMIT)
        # Through whole numbers with a sign: taken mod 2³², as the hash is defined.
        cells = graph.cast(graph.cast(graph.cast(cells, INT64), np.uint32), UINT64)
        first, second = (
            graph("Squeeze", graph("MatMul", cells, each[grids][:, :, None]), np.array([2]))
            for each in (functions.first, functions.second)
        )
        half = np.array(32, UINT64)
        upper = np.array(0xFFFFFFFF00000000, UINT64)
        low = graph("BitShift", first, half, direction="RIGHT")
        return graph("BitwiseOr", low, graph("BitwiseAnd", second, upper))


def _known(functions: BinFunctions) -> list[NDArray[np.uint64]]:
    """Keys of the cells of every grid that have a column."""
    pairs = zip(functions.tables, functions.counts, strict=True)
    return [table.keys[:count] for table, count in pairs]


def _salts(functions: BinFunctions) -> NDArray[np.uint64]:
    """A number for every grid, such that no two cells of different grids have one key."""
    known, numbers = _known(functions), np.arange(1, functions.n_components + 1, dtype=UINT64)
    for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7):
        salts = numbers * np.uint64(odd)
        mixed = np.concatenate([keys ^ salt for keys, salt in zip(known, salts, strict=True)])
        if len(np.unique(mixed)) == len(mixed):
            return salts
    raise NoExport("Cells of different grids have equal keys: draw with another random_state.")


def _numbered(graph: Graph, keys: Tensor, known: NDArray[np.int64]) -> Tensor:
    """1, 2, … for known keys, 0 for others."""
    from onnx import numpy_helper

    tensors = {
        "keys_tensor": known if len(known) else np.zeros(1, INT64),
        "values_tensor": np.arange(1, len(known) + 1) if len(known) else np.zeros(1, INT64),
        "default_tensor": np.zeros(1, INT64),
    }
    written = {name: numpy_helper.from_array(array, name) for name, array in tensors.items()}
    return graph("LabelEncoder", keys, domain=ML, **written)


class Grown(Looked):
    """Trees: a TreeEnsembleRegressor gives the number of the leaf in every tree.

    Values of leaves are looked up by it, in float64: what the operator itself adds up is float32.
    """

    def places(self, rows, functions):
        forest, graph = functions.forest, rows.graph
        if rows.source.frame.rotation is not None:
            raise refused(functions.family, "its inputs were rotated, and trees see columns")
        leaves = graph("TreeEnsembleRegressor", rows.source.inputs.values, dtype=FLOAT32, domain=ML,
                       **_nodes(forest, rows))  # fmt: skip
        return graph("Add", graph.cast(leaves, INT64), forest.firsts)


@exports(TreeFunctions)
class TreeExporter(Grown):
    """Values of leaves, times the weights of their tree."""

    def table(self, functions, coef):
        forest, targets = functions.forest, functions.n_targets
        of_tree = coef.reshape(functions.n_components, targets, -1)
        return np.einsum("lt,ltc->lc", forest.value, of_tree[_trees(forest)])

    def columns(self, rows, functions):
        graph, width = rows.graph, functions.n_columns
        values = graph.constant(functions.forest.value)
        found = graph("Gather", values, self.places(rows, functions), axis=0)
        return graph("Reshape", found, np.array([0, width]))


@exports(LeafFunctions)
class LeafExporter(Grown, Indicators):
    """Indicators of the leaves that hold a row."""

    def columns_of_places(self, functions):
        forest = functions.forest
        found = np.full(len(forest.value), functions.n_columns, dtype=INT64)
        start = 0
        for first, table, count in zip(
            forest.firsts, functions.tables, functions.counts, strict=True
        ):
            leaves = table.keys[:count].astype(INT64)
            found[first + leaves] = np.arange(start, start + count)
            start += count
        return found


def _trees(forest: Forest) -> NDArray[np.intp]:
    """The tree of every leaf."""
    return np.searchsorted(forest.firsts, np.arange(len(forest.value)), side="right") - 1


def _nodes(forest: Forest, rows: GraphRows) -> dict[str, Any]:
    """Trees as attributes of the operator; the children of node i are i + 1 and other[i]."""
    from onnx import helper

    count = len(forest.feature)
    trees = np.searchsorted(forest.roots, np.arange(count), side="right") - 1
    numbers = np.arange(count) - forest.roots[trees]
    leaf = forest.feature < 0
    if len(leaf) and forest.other[leaf].max() >= MOST_LEAVES:
        raise NoExport(
            f"A tree has {forest.other[leaf].max() + 1} leaves, and ONNX counts {MOST_LEAVES}: use "
            "min_samples_leaf=2 or more."
        )
    cuts = np.zeros(count, dtype=rows.source.inputs.values.dtype)
    cuts[~leaf] = rows.cuts(forest.feature[~leaf], forest.threshold[~leaf])
    found: dict[str, Any] = {
        "n_targets": len(forest.roots),
        "nodes_treeids": trees,
        "nodes_nodeids": numbers,
        "nodes_featureids": np.where(leaf, 0, forest.feature),
        "nodes_truenodeids": np.where(leaf, 0, numbers + 1),
        "nodes_falsenodeids": np.where(leaf, 0, forest.other),
        "target_treeids": trees[leaf],
        "target_nodeids": numbers[leaf],
        "target_ids": trees[leaf],
    }
    found = {name: np.asarray(value).tolist() for name, value in found.items()}
    found["nodes_modes"] = np.where(leaf, "LEAF", "BRANCH_LEQ").tolist()
    weights = forest.other[leaf].astype(cuts.dtype)
    if cuts.dtype == FLOAT32:
        return found | {"nodes_values": cuts.tolist(), "target_weights": weights.tolist()}
    for name, array in (("nodes_values", cuts), ("target_weights", weights)):
        kind = onnx_type(array.dtype)
        found[f"{name}_as_tensor"] = helper.make_tensor(name, kind, array.shape, array)
    return found
