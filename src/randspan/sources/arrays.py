"""Rows of an array or a sparse matrix: blocks are views of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..keys import Keys, keys_of
from .base import Array, Block, Matrix, Source


@dataclass(frozen=True, eq=False)
class ArraySource(Source):
    """The rows of X, all in memory."""

    X: Matrix = field(kw_only=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def row_bytes(self) -> float:
        stored: Any = self.X
        if self.sparse:
            arrays = (stored.data, stored.indices, stored.indptr)
            return sum(array.nbytes for array in arrays) / max(self.n_rows, 1)
        return float(self.X.dtype.itemsize * self.n_features)

    @property
    def sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    @cached_property
    def keys(self) -> Keys:
        """The key of every row's inputs."""
        return keys_of(self.X) if self.known_keys is None else self.known_keys

    def blocks(self, step: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, step):
            yield Block(self.X[start : start + step], start, self)

    def chosen(self, rows: NDArray[np.intp], step: int) -> Iterator[Matrix]:
        for start in range(0, len(rows), step):
            yield self.X[rows[start : start + step]]

    def some(self, rows: NDArray) -> ArraySource:
        return ArraySource(self.X[rows], **self._vectors_of(rows))

    def take(self, rows: NDArray[np.intp]) -> Matrix:
        return self.X[rows]

    def held(self) -> ArraySource:
        return self


def of_arrays(
    X: Matrix,
    targets: Array | None,
    weights: Array | None = None,
    units: Array | None = None,
    keys: Keys | None = None,
) -> ArraySource:
    """A source of target columns that are numbers already."""
    encoded = None if targets is None else targets.__getitem__
    return ArraySource(X, encoded=encoded, weights=weights, units=units, known_keys=keys)
