"""Indicators of cells as an operator: a cell for every row and grid, gathered and added up.

Threads share the rows when weights are gathered, each going through one grid after the other, so
that the weights of a grid are in the cache while the cells of rows stream by; and they share the
grids when values are added up, each grid having cells of its own. So no two threads ever write to
the same place, and no sum depends on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families.shared.cells import CellFunctions, indicators
from ..features import Features
from ..solvers.problem import Point
from ..statistics.cells import Cells
from .operator import Array, Judge, Operator
from .threads import Progress, n_threads, on_all, threads

# Fewer rows × grids than this are looked through in less time than threads take to start.
FEW_CELLS = 2**19
# Grids whose keys are computed together.
GRIDS = 8
# Blocks that go through a table before the next ones are read.
BLOCKS = 16


def numbered(
    features: Features, n_jobs: int | None = None, progress: Progress | None = None
) -> tuple[list[CellFunctions], NDArray[np.int32]]:
    """Cells of all rows, one line for every group, and functions with those that were new."""
    parts = features.functions.cell_parts
    cells = np.empty((sum(part.n_components for part in parts), len(features)), dtype=np.int32)
    tables = [part.own_tables() for part in parts]
    work, line = [], 0
    for part, table in zip(parts, tables, strict=True):
        for first in range(0, part.n_components, GRIDS):
            grids = slice(first, min(first + GRIDS, part.n_components))
            work.append((part, table, grids, line + first))
        line += part.n_components

    def run(job: tuple) -> None:
        part, table, grids, line = job
        for block in some:
            keys = part.keys(features.rows(block), grids)
            for i, g in enumerate(range(grids.start, grids.stop)):
                table[g].enter(keys[i], cells[line + i, block.rows])
            if progress is not None:
                progress(len(block) * (grids.stop - grids.start) // len(cells))

    blocks = features.blocks()
    with threads(min(n_threads(n_jobs), len(work)), n_jobs, 1) as pool:
        # A few blocks at a time: a table is at hand while several go through it.
        while some := list(islice(blocks, BLOCKS)):
            pool(run, work)
    return [part.with_tables(one) for part, one in zip(parts, tables, strict=True)], cells


def operator(
    rows: Cells, dense: Operator | None, centred: bool, n_jobs: int | None = None
) -> CellOperator:
    """The rows that a model keeps, as an operator; dense columns come first."""
    arrays, seen = rows.kept.arrays, None
    out_of_bag = next((part.out_of_bag for part in rows.parts if part.out_of_bag is not None), None)
    if out_of_bag is not None:
        names = out_of_bag.names_kept(arrays["keys"], arrays["targets"])
        indices = out_of_bag.located(names)
        seen = []
        for part in rows.parts:
            bags, k = part.out_of_bag, part.n_components
            seen.append((k, None if bags is None else bags.seen(indices, k).T))
    cells, each = arrays["cells"], arrays["weights"]
    return CellOperator(cells, rows.counts, each, centred, dense, n_jobs, seen)


@dataclass(frozen=True)
class SparseRows:
    """Some rows R = Z - 1z̄' of Z̃ without being centred."""

    matrix: sparse.csr_array
    mean: Array

    def times(self, V: Array) -> Array:
        return self.matrix @ V - self.mean @ V

    def transposed(self, U: Array) -> Array:
        return self.matrix.T @ U - np.outer(self.mean, U.sum(axis=0))

    def inner(self) -> Array:
        products = (self.matrix @ self.matrix.T).toarray()
        cross = self.matrix @ self.mean
        return products - cross[:, None] - cross + self.mean @ self.mean


class CellOperator:
    """Z̃ = Z - 1z̄' for Z = [dense features | indicators of cells], as solvers see it.

    ``counts`` are the numbers of cells of every grid; ``dense`` is the operator of the dense
    features, centred as this one, or None; ``seen`` has the number of groups of every part, and
    which of them have learned from which rows (None for a part that has learned nothing).
    """

    of_cells = True

    def __init__(
        self,
        cells: NDArray[np.int32],
        counts: NDArray[np.int64],
        weights: Array,
        centred: bool,
        dense: Operator | None = None,
        n_jobs: int | None = None,
        seen: list[tuple[int, NDArray[np.bool_] | None]] | None = None,
    ):
        self.seen = seen
        self.cells, self.counts, self.weights = cells, counts, weights
        self.dense_part, self.n_jobs = dense, n_jobs
        self.n_dense = 0 if dense is None else dense.shape[1]
        self.offsets = np.cumsum(counts) - counts
        self.shape = (len(weights), self.n_dense + int(counts.sum()))
        self.dtype = self.products = np.dtype(np.float64)
        self.mean = np.zeros(self.shape[1])
        self.trace = 0.0
        masses = np.empty((int(counts.sum()), 1))
        self._add_up(weights[:, None], masses)
        total = float(weights.sum())
        if centred:
            self.mean[self.n_dense :] = masses[:, 0] / total
        means = self.mean[self.n_dense :]
        self.trace = float(masses.sum() - total * (means @ means))
        if self.trace < 1e-9 * total:
            self.trace = 0.0
        if dense is not None:
            self.mean[: self.n_dense] = dense.mean
            self.trace += dense.trace

    def exactly(self) -> CellOperator:
        """The same operator with float64 products of the dense features; others are so anyway."""
        if self.dense_part is None:
            return self
        other = copy(self)
        other.dense_part = self.dense_part.exactly()
        return other

    def fused(self, W: Array, judge: Judge, out: Array | None = None) -> Array:
        """Z̃'G with G = judge(Z̃W, rows), written to ``out`` where there is one."""
        n, c = self.shape[0], W.shape[1]
        out = np.empty(W.shape) if out is None else out
        scores, judged = np.empty((n, c)), np.empty((n, c))
        own = W[self.n_dense :]
        self._gather(own, scores, -(self.mean[self.n_dense :] @ own))

        def run(rows: slice) -> None:
            judged[rows] = judge(scores[rows], rows)

        if self.dense_part is None:
            self._by_rows(run)
            self._add_up(judged, out, self.mean)
            return out

        def both(part: Array, rows: slice) -> Array:
            judged[rows] = judge(part + scores[rows], rows)
            return judged[rows]

        out[: self.n_dense] = self.dense_part.fused(W[: self.n_dense], both)
        self._add_up(judged, out[self.n_dense :], self.mean[self.n_dense :])
        return out

    def scores(self, W: Array) -> Array:
        """Z̃W."""
        scores = np.empty((self.shape[0], W.shape[1]))
        own = W[self.n_dense :]
        self._gather(own, scores, -(self.mean[self.n_dense :] @ own))
        if self.dense_part is not None:
            scores += self.dense_part.scores(W[: self.n_dense])
        return scores

    def out_of_bag_scores(self, point: Point, rows: NDArray) -> Array:
        """Scores of some rows from the cells that have not learned from them.

        They stand for all groups of their part: their sum is scaled up. Rows that all groups know
        have the mean.
        """
        if self.seen is None:
            return point.scores[rows]
        cells = self.cells[:, rows] + self.offsets[:, None]
        own = point.coef[self.n_dense :]
        at_rest = np.add.reduceat(self.mean[self.n_dense :, None] * own, self.offsets)
        total = np.tile(point.intercept, (len(rows), 1))
        first = 0
        for size, seen in self.seen:
            away = np.zeros_like(total)
            known = np.zeros((size, len(rows)), dtype=bool) if seen is None else seen[:, rows]
            for g, known_here in enumerate(known, first):
                away += np.where(known_here[:, None], 0.0, own[cells[g]] - at_rest[g])
            total += away * (size / np.maximum((~known).sum(axis=0), 1))[:, None]
            first += size
        if self.dense_part is not None:
            total += self.dense_part.scores(point.coef[: self.n_dense])[rows]
        return total

    def squares(self, each: Array) -> Array:
        """Diagonals of the cells' part of Z̃'DZ̃, D = diag(d), for every column d of ``each``."""
        mean = self.mean[self.n_dense :, None]
        sums = np.empty((len(mean), each.shape[1]))
        self._add_up(each, sums)
        # Σ d(1 - m)² over rows in the cell and Σ dm² over the others.
        sums *= 1 - 2 * mean
        sums += mean**2 * each.sum(axis=0)
        return sums

    def gram(self, each: Array) -> tuple[Array, Array]:
        raise NotImplementedError(f"A matrix of {self.shape[1]} cells squared is never made.")

    @property
    def rough_gram(self) -> Array:
        return self.gram(self.weights)[0]

    def rows(self, rows: NDArray) -> SparseRows:
        """Some rows of Z̃, by their indices."""
        Z = indicators(self.cells[:, rows], self.counts, np.float64)
        if self.dense_part is not None:
            above = self.dense_part.dense_rows(rows).astype(np.float64)
            above += self.mean[: self.n_dense]
            Z = sparse.hstack([sparse.csr_array(above), Z], format="csr")
        return SparseRows(Z, self.mean)

    def sketch(self, rows: int, weights: Array | None = None) -> NDArray:
        """The sketch of the dense features: cells have a diagonal instead."""
        assert self.dense_part is not None
        return self.dense_part.sketch(rows, weights)

    def pool(self, function: Callable, items: list) -> list:
        return on_all(self.n_jobs, function, items)

    def _gather(self, W: Array, out: Array, start: Array) -> None:
        """out[r] = start + Σ_g W[code of r in g]."""
        from . import sums

        W = np.ascontiguousarray(W)

        def run(rows: slice) -> None:
            part = out[rows]
            part[:] = start
            if W.shape[1] == 1:
                sums.gather_one(self.cells[:, rows], self.offsets, W[:, 0], part[:, 0])
            else:
                sums.gather(self.cells[:, rows], self.offsets, W, part)

        self._by_rows(run)

    def _add_up(self, values: Array, out: Array, mean: Array | None = None) -> None:
        """out = Σ of values over the rows of every cell, less the mean times Σ over all rows."""
        from . import sums

        values = np.ascontiguousarray(values)
        total = values.sum(axis=0)

        def run(g: int) -> None:
            here = slice(self.offsets[g], self.offsets[g] + self.counts[g])
            part = out[here]
            part[:] = 0 if mean is None else mean[here, None] * -total
            if values.shape[1] == 1:
                sums.add_up_one(self.cells[g], values[:, 0], part[:, 0])
            else:
                sums.add_up(self.cells[g], values, part)

        self._share(run, list(range(len(self.cells))))

    def _by_rows(self, run) -> None:
        n = self.shape[0]
        step = max(1024, -(-n // n_threads(self.n_jobs)))
        self._share(run, [slice(s, min(s + step, n)) for s in range(0, n, step)])

    def _share(self, run, items: list) -> None:
        if self.cells.size < FEW_CELLS:
            for item in items:
                run(item)
            return
        workers = min(n_threads(self.n_jobs), len(items))
        with threads(workers, self.n_jobs, 1) as pool:
            pool(run, items)
