"""A second engine, in one file: plain numpy, one thread, all features in memory.

It shows what an engine has to bring: blocks (`map`, `reduce`, `cells`), operators over all rows,
and rows that answer what functions ask. Leaves of trees are handed over to the CPU's operator.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from randspan.engines import CPU
from randspan.engines.progress import Progress
from randspan.families.shared.cells import indicators
from randspan.families.shared.rows import Rows
from randspan.features import Features
from randspan.solvers.in_passes import OperatorRows
from randspan.solvers.plan import Machine


class PlainRows(Rows):
    """What functions ask of rows, without a compiled loop."""

    def cosines(self, turns, phases):
        return (np.sqrt(2) * np.cos(2 * np.pi * (turns + phases))).astype(self.dtype)

    def paired_cosines(self, turns):
        pair = [np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)]
        return (np.sqrt(2) * np.stack(pair, axis=2)).reshape(len(turns), -1).astype(self.dtype)

    def signs(self, columns, thresholds):
        return np.where(self.exact[:, columns] >= thresholds, 1, -1).astype(self.dtype)

    def hadamard(self, stretch, signs, permutations, gains, scales, count):
        size = signs.shape[1]
        padded = np.zeros((len(self), size))
        padded[:, : self.shape[1]] = self.exact * stretch
        H = linalg.hadamard(size)
        blocks = [
            (((padded * sign) @ H)[:, permutation] * gain) @ H * scale
            for sign, permutation, gain, scale in zip(
                signs, permutations, gains, scales, strict=True
            )
        ]
        return np.hstack(blocks)[:, :count].astype(self.dtype)

    def hashes(self, slopes, shifts, first, second):
        cells = np.floor(self.exact[:, None] * slopes - shifts)
        cells = np.clip(cells, -(2.0**30), 2.0**30).astype(np.int64).astype(np.uint32)
        a, b = ((cells.astype(np.uint64) * each).sum(axis=2).T for each in (first, second))
        return (a >> np.uint64(32)) | (b & np.uint64(0xFFFFFFFF00000000))


@dataclass(frozen=True)
class PlainEngine:
    """Everything on one thread."""

    threads: int = 1

    def machine(self, memory_limit):
        return Machine(1, 2**33 if memory_limit is None else int(memory_limit))

    def blas(self, size, alone=False):
        return nullcontext()

    def pool(self):
        return nullcontext(lambda function, items: [function(item) for item in items])

    def quiet(self):
        return self

    def progress(self, total, label):
        return Progress(False, total, label)

    def reduce(self, features, zero, add, size):
        features, total = replace(features, kind=PlainRows), zero()
        for block in features.blocks():
            total = add(total, features.values(block), block)
        return total

    def map(self, features, function):
        features = replace(features, kind=PlainRows)
        parts = [function(features.values(block), block) for block in features.blocks()]
        return sparse.vstack(parts) if sparse.issparse(parts[0]) else np.concatenate(parts)

    def deal(self, function, items):
        return [function(items)]

    def cells(self, features):
        rows = features.frame.rows(features.source.held().X, np.float64, PlainRows)
        parts = [part.seeing(rows) for part in features.functions.cell_parts]
        return parts, np.concatenate([part.cells(rows) for part in parts])

    def operator(self, features, centred, cached):
        Z, source = self.map(features, lambda Z, block: Z), features.source
        operator = PlainOperator(Z.astype(np.float64), source.each, centred)
        return OperatorRows(operator, source.targets(), source.each, source.left_out_keys)

    def cell_operator(self, held, frame, functions, plan, centred):
        if functions.out_of_bag is not None:
            return CPU(1).cell_operator(held, frame, functions, plan, centred)
        arrays, dense = held.kept.arrays, functions.dense_part
        Z = indicators(arrays["cells"], held.counts, np.float64).toarray()
        targets, each = arrays["targets"], arrays["weights"]
        if dense is not None:
            source = held.kept.source
            features = Features(frame, dense, source, plan.dtype, kind=PlainRows)
            Z = np.hstack([self.map(features, lambda Z, block: Z), Z])
        n_dense = 0 if dense is None else dense.n_columns
        operator = PlainOperator(Z, each, centred, n_dense)
        return OperatorRows(operator, targets, each, held.kept.source.left_out_keys)


class PlainOperator:
    """Z̃ as a matrix; ``n_dense`` is how many columns stand before cells, None without cells."""

    def __init__(self, Z, weights, centred, n_dense=None):
        self.mean = weights @ Z / weights.sum() if centred else np.zeros(Z.shape[1])
        self.matrix, self.weights, self.shape = Z - self.mean, weights, Z.shape
        self.of_cells, self.n_dense = n_dense is not None, n_dense
        self.dtype = self.products = np.dtype(np.float64)
        self.trace = float(weights @ (self.matrix**2).sum(axis=1))
        self.rough_gram = self.gram(weights)[0]

    def exactly(self):
        return self

    def fused(self, W, judge, out=None):
        found = self.matrix.T @ judge(self.matrix @ W, slice(0, len(self.matrix)))
        if out is not None:
            out[:] = found
        return found

    def scores(self, W):
        return self.matrix @ W

    def out_of_bag_scores(self, point, rows):
        return point.scores[rows]

    def gram(self, each):
        return (self.matrix.T * each) @ self.matrix, self.matrix.T @ each

    def squares(self, each):
        return (self.matrix[:, self.n_dense :] ** 2).T @ each

    def rows(self, rows):
        return PlainRowsOfZ(self.matrix[rows])

    def pool(self, function, items):
        return [function(item) for item in items]

    def sketch(self, rows, weights=None):
        each = self.weights if weights is None else weights
        return self.matrix[:, : self.n_dense] * np.sqrt(each)[:, None]


@dataclass(frozen=True)
class PlainRowsOfZ:
    """Some rows of Z̃."""

    matrix: np.ndarray

    def times(self, V):
        return self.matrix @ V

    def transposed(self, U):
        return self.matrix.T @ U

    def inner(self):
        return self.matrix @ self.matrix.T
