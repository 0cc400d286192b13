"""The features of all rows as an operator: from a cache where memory allows, else block by block.

Iterative solvers multiply with Z and Z' many times. Kept in memory, a pass over Z runs at the speed
of memory; evaluated anew it costs the functions once more. Either way a pass takes block after
block, multiplies there and back while the block is at hand, and adds up in float64. Blocks are
dealt out to threads by index, so a pass repeats itself bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..families.shared.randomness import raw_bits
from ..features import Features
from ..solvers import tiles
from ..solvers.problem import Point
from ..sources import Block
from ..statistics.base import NOT_FINITE, CannotFit
from ..statistics.moments import left_of_mean
from ..statistics.products import Pool
from .threads import ACCUMULATORS, Progress, deal, n_threads, on_all

Array = NDArray[np.float64]
Judge = Callable[[Array, slice], Array]

# Non-zeros a row of the sketch: with four, rows of high leverage hardly ever fall together.
SIGNS = 4
# Entries that are turned into float64 at once: they should stay in the cache between two products.
TILE = 2**19


@dataclass(frozen=True)
class DenseRows:
    """Some rows R of Z̃ as a matrix."""

    matrix: Array
    pool: Pool

    def times(self, V: Array) -> Array:
        return self.matrix @ V

    def transposed(self, U: Array) -> Array:
        return self.matrix.T @ U

    def inner(self) -> Array:
        return tiles.square(self.matrix, self.pool)


class Operator:
    """Z̃ = Z - 1z̄' of ``features``, z̄ the weighted mean (zero where not ``centred``)."""

    of_cells = False

    def __init__(
        self,
        features: Features,
        weights: Array,
        centred: bool,
        cached: bool,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ):
        self.features, self.weights, self.n_jobs = features, weights, n_jobs
        self.dtype = self.products = features.dtype
        self.shape = (len(features), features.n_columns)
        self.mean = np.zeros(features.n_columns)
        self._cache: NDArray | None = None
        if cached:
            self._fill(progress)
        with np.errstate(all="ignore"):
            mean, self.trace = self._sums(centred)
        if not np.isfinite(self.trace):
            raise CannotFit(NOT_FINITE)
        if centred:
            self.mean = mean
            if self.trace <= left_of_mean(float(weights.sum()), mean, self.dtype):
                self.trace = 0.0  # functions that do not vary

    def _fill(self, progress: Progress | None) -> None:
        cache = np.empty(self.shape, self.dtype)

        def run(mine: Iterable[Block]) -> None:
            for block in mine:
                with np.errstate(over="ignore"):
                    cache[block.rows] = self.features.values(block)
                if progress is not None:
                    progress(len(block))

        self._share(run)
        self._cache = cache

    def _sums(self, centred: bool) -> tuple[Array, float]:
        """z̄ and Σω‖z̃‖², about the mean of every block first: squares about zero would cancel."""
        k = self.shape[1]

        def run(mine: Iterable) -> tuple[float, Array, float]:
            total = 0.0, np.zeros(k), 0.0
            for rows, Z in self._read(mine):
                each = self.weights[rows].astype(self.dtype)
                weight, mean = float(self.weights[rows].sum()), np.zeros(k)
                if centred and weight > 0:
                    mean = (each @ Z / each.dtype.type(weight)).astype(np.float64)
                    Z = Z - mean.astype(Z.dtype)
                squares = float(each @ np.einsum("ij,ij->i", Z, Z))
                total = _together(total, (weight, mean, squares))
            return total

        _, mean, squares = reduce(_together, self._share(run))
        return mean, squares

    def exactly(self) -> Operator:
        """The same operator with float64 products; the features stay what they are."""
        other = copy(self)
        other.products = np.dtype(np.float64)
        return other

    def turned(self) -> tuple[Operator, Array]:
        """Z̃V and V, orthonormal columns that span all rows: fewer than functions are.

        Weights Vu of the functions are as long as u and predict the same of these rows, so that a
        ridge has its minimum there. What is below the rounding errors of float64 is left out.
        """
        Z = self.dense_rows(np.arange(self.shape[0])).astype(np.float64)
        values, vectors = linalg.eigh(tiles.square(Z, self.pool), check_finite=False)
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        vectors, roots = vectors[:, kept], np.sqrt(values[kept])
        other = copy(self)
        other.products = np.dtype(np.float64)
        other.shape = (len(vectors), len(roots))
        other.mean = np.zeros(len(roots))
        other._cache = np.ascontiguousarray(vectors * roots)
        return other, Z.T @ (vectors / roots)

    def fused(self, W: Array, judge: Judge) -> Array:
        """Z̃'G with G = judge(Z̃W, rows), block by block of rows: one pass."""
        W, size = _scaled(W, self.products)
        shift = self.mean @ W

        def run(mine: Iterable) -> tuple[Array, Array]:
            total, sums = np.zeros(W.shape), np.zeros(W.shape[1])
            for rows, Z in self._tiles(mine):
                scores = (Z @ W - shift) * size
                judged = judge(scores, rows)
                G, height = _scaled(judged, self.products)
                total += (Z.T @ G) * height
                sums += judged.sum(axis=0)
            return total, sums

        totals, sums = zip(*self._share(run), strict=True)
        return sum(totals) - np.outer(self.mean, sum(sums))

    def scores(self, W: Array) -> Array:
        """Z̃W."""
        W, size = _scaled(W, self.products)
        scores = np.empty((self.shape[0], W.shape[1]))
        shift = self.mean @ W

        def run(mine: Iterable) -> None:
            for rows, Z in self._tiles(mine):
                scores[rows] = (Z @ W - shift) * size

        self._share(run)
        return scores

    def out_of_bag_scores(self, point: Point, rows: NDArray) -> Array:
        """Scores of some rows at a point: these features are out of bag already."""
        return point.scores[rows]

    def gram(self, each: Array) -> tuple[Array, Array]:
        """Z̃'DZ̃ and Z̃'d for D = diag(d), d >= 0; rows with d = 0 cost nothing."""
        chosen, k = np.flatnonzero(each), self.shape[1]
        step = self.features.block_rows
        # Slopes may be of any size; float32 is not. The root of a power of four is exact.
        size = 4.0 ** np.floor(np.log2(each.max(initial=0.0) or 1.0) / 2)

        def run(mine: Iterable) -> tuple[Array, Array]:
            total, sums = np.zeros((k, k)), np.zeros(k)
            for rows, of_rows in mine:
                Z = of_rows().astype(self.products, copy=False)
                root = np.sqrt(each[rows] / size).astype(Z.dtype)
                Z *= root[:, None]
                total += Z.T @ Z  # numpy sees the symmetry and calls SYRK
                sums += root @ Z
            return total, sums

        most = max(1, min(-(-len(chosen) // step), ACCUMULATORS // (16 * k**2)))
        parts = self._share(run, self._chosen(chosen, step), most)
        gram, sums = (size * sum(part) for part in zip(*parts, strict=True))
        # Z̃'DZ̃ = Z'DZ - Z'd m' - m d'Z + (Σd) mm', with Z'd corrected for the mean first.
        sums = sums - each.sum() * self.mean
        if self.mean.any():
            cross = np.outer(sums, self.mean)
            gram -= cross
            gram -= cross.T
            gram -= each.sum() * np.outer(self.mean, self.mean)
        return gram, sums

    @cached_property
    def rough_gram(self) -> Array:
        """About Z̃'ΩZ̃, from a sketch where rows are many; kept once it is known."""
        n, k = self.shape
        if n <= 4 * k:
            return self.gram(self.weights)[0]
        sketch = self.sketch(4 * k)
        return tiles.square(sketch.T, self.pool).astype(np.float64)

    def rows(self, rows: NDArray) -> DenseRows:
        """Some rows of Z̃, by their numbers."""
        return DenseRows(self.dense_rows(rows).astype(np.float64, copy=False), self.pool)

    def dense_rows(self, rows: NDArray) -> NDArray:
        """Some rows of Z̃ in the precision of the features."""
        Z = self._rows(rows)
        Z -= self.mean.astype(Z.dtype)
        return Z

    def sketch(self, rows: int, weights: Array | None = None) -> NDArray:
        """SD^½Z̃, D = diag(weights), for a sparse S with E S'S = I.

        Each row of Z̃ lands, with random signs, in four rows of the sketch.
        Where a sketch would have no fewer rows than Z, it is D^½Z̃ itself.
        """
        from .sums import scatter

        n, k = self.shape
        each = self.weights if weights is None else weights
        if rows >= n:
            return self.dense_rows(np.arange(n)) * np.sqrt(each).astype(self.dtype)[:, None]

        def run(mine: Iterable) -> tuple[NDArray, Array]:
            total, ones = np.zeros((rows, k), self.dtype), np.zeros(rows)
            for block, Z in self._read(mine):
                count = SIGNS * (block.stop - block.start)
                raw = raw_bits(0, "sketch", count, SIGNS * block.start).reshape(-1, SIGNS)
                buckets = ((raw >> np.uint64(1)) % np.uint64(rows)).astype(np.int32)
                signs = np.where(raw & np.uint64(1), 1.0, -1.0)
                signs *= np.sqrt(each[block] / SIGNS)[:, None]
                scatter(Z, buckets, signs.astype(self.dtype), total)
                ones += np.bincount(buckets.ravel(), signs.ravel(), rows)
            return total, ones

        most = max(1, ACCUMULATORS // (rows * k * self.dtype.itemsize))
        parts = self._share(run, most=most)
        total, ones = parts[0]
        for part, part_ones in parts[1:]:
            total += part
            ones += part_ones
        for s in range(
            0, rows, 1024
        ):  # in pieces: the whole outer product would be a second sketch
            total[s : s + 1024] -= np.outer(ones[s : s + 1024], self.mean)
        return total

    def pool(self, function: Callable, items: list) -> list:
        """``function`` of every item, on all threads."""
        return on_all(self.n_jobs, function, items)

    def _tiles(self, blocks: Iterable) -> Iterator[tuple[slice, NDArray]]:
        """Rows of Z in the precision of products, in pieces that stay at hand."""
        for block, Z in self._read(blocks):
            if Z.dtype == self.products:
                yield block, Z
                continue
            step = max(16, TILE // self.shape[1])
            for start in range(0, len(Z), step):
                part = Z[start : start + step].astype(self.products)
                first = block.start + start
                yield slice(first, first + len(part)), part

    def _read(self, blocks: Iterable) -> Iterator[tuple[slice, NDArray]]:
        """Indices and rows of Z of some blocks: slices of the cache, or blocks of the source."""
        for block in blocks:
            if self._cache is not None:
                yield block, self._cache[block]
            else:
                Z = self.features.values(block).astype(self.dtype, copy=False)
                yield block.rows, Z

    def _rows(self, rows: NDArray) -> NDArray:
        """A copy of some rows of Z."""
        if self._cache is not None:
            return self._cache[rows]
        return self.features.take(rows).astype(self.dtype, copy=False)

    def _chosen(self, rows: NDArray, step: int) -> Iterator[tuple[NDArray, Callable[[], NDArray]]]:
        """Some rows in the order of the data, ``step`` at a time, and what makes copies of Z."""
        cache = self._cache
        if cache is not None:
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                yield some, partial(cache.__getitem__, some)
            return
        for some, X in self.features.chosen(rows, step):
            yield some, partial(self.features.values_of, some, X)

    def _share(self, run: Callable, items: Iterable | None = None, most: int = 1 << 30) -> list:
        """``run`` on every thread's share of the blocks, or of other items."""
        slices = self.features.slices()
        if items is None:
            items = self.features.blocks() if self._cache is None else slices
            most = min(most, len(slices))
        workers = max(1, min(n_threads(self.n_jobs), most))
        return deal(run, items, workers, self.n_jobs, self.shape[1])


def _together(
    one: tuple[float, Array, float], other: tuple[float, Array, float]
) -> tuple[float, Array, float]:
    """Σω, mean and Σω‖z - z̄‖² of both parts (Chan, Golub and LeVeque 1983)."""
    weight = one[0] + other[0]
    if other[0] == 0:
        return one
    share, step = other[0] / weight, other[1] - one[1]
    return weight, one[1] + share * step, one[2] + other[2] + one[0] * share * float(step @ step)


def _scaled(columns: Array, dtype: np.dtype) -> tuple[NDArray, Array]:
    """Columns with entries up to 1 in ``dtype``, and what they were divided by."""
    # Scores, targets and slopes may be of any size; float32 is not.
    size = np.abs(columns).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    return (columns / size).astype(dtype), size
