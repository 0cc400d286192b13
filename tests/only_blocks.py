"""A source that hands out its blocks in order and nothing else, and spoils them afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

import randspan as rs


class OnlyBlocks:
    """Rows in blocks of ``sizes`` rows, repeated; what a block was is overwritten after it."""

    def __init__(self, X: Any, y: Any = None, weights: Any = None, sizes: tuple[int, ...] = (7,)):
        self.X, self.y, self.weights, self.sizes = X, y, weights, sizes
        self.passes = 0

    def __call__(self) -> Iterator[tuple]:
        self.passes += 1
        start, number = 0, 0
        while start < self.X.shape[0]:
            stop = start + self.sizes[number % len(self.sizes)]
            X = self.X[start:stop].copy()
            y = None if self.y is None else self.y[start:stop].copy()
            weights = None if self.weights is None else self.weights[start:stop].copy()
            yield X, y, weights
            for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
                array[...] = np.nan if array.dtype.kind == "f" else 0
            for array in (y, weights):
                if array is not None:
                    array[...] = array.dtype.type(0)
            start, number = stop, number + 1

    @property
    def source(self) -> rs.sources.Blocks:
        return rs.blocks(self)
