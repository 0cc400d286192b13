"""Rows that are read anew in every pass, from whatever hands them out in blocks of its own size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arrays import ArraySource
from .base import Block, Matrix, Source

#: hands out the inputs of all rows, checked, in blocks of any size
Pass = Callable[[], Iterable[Matrix]]


@dataclass(frozen=True, eq=False)
class PassSource(Source):
    """Rows whose inputs are read in passes; their vectors are known.

    ``read`` begins a pass, ``size`` are the rows and columns that it is known to hand out,
    ``nbytes`` is what all inputs would take in memory.
    """

    read: Pass = field(kw_only=False)
    size: tuple[int, int] = field(kw_only=False)
    dtype: np.dtype = field(kw_only=False)
    is_sparse: bool = field(kw_only=False)
    nbytes: int = field(kw_only=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size

    @property
    def row_bytes(self) -> float:
        return self.nbytes / max(self.n_rows, 1)

    @property
    def sparse(self) -> bool:
        return self.is_sparse

    def blocks(self, step: int) -> Iterator[Block]:
        start = 0
        for X in joined(self._alike(), step):
            yield Block(X, start, self)
            start += X.shape[0]

    def chosen(self, rows: NDArray[np.intp], step: int) -> Iterator[Matrix]:
        return joined(self._picked(rows), step)

    def some(self, rows: NDArray) -> Source:
        """Some rows: read in passes too where they stand in the order of the data."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows)
        vectors = self._vectors_of(rows)
        if (np.diff(rows) > 0).all():
            nbytes, size = int(self.row_bytes * len(rows)), (len(rows), self.n_features)

            def read() -> Iterator[Matrix]:
                return self._picked(rows)

            return PassSource(read, size, self.dtype, self.sparse, nbytes, **vectors)
        order, back = np.unique(rows, return_inverse=True)
        X = whole(self._picked(order), self, len(order))
        return ArraySource(X[back], **vectors)

    def held(self) -> ArraySource:
        X = whole(self._alike(), self, self.n_rows)
        known: dict[str, Any] = {"columns": self.columns, "known_keys": self.keys}
        known |= {"encoded": self.encoded, "weights": self.weights, "units": self.units}
        return ArraySource(X, **known)

    def _alike(self) -> Iterator[Matrix]:
        """Blocks as they come, of one kind and precision; as many rows as there were before."""
        seen = 0
        for X in self.read():
            seen += X.shape[0]
            if X.shape[0]:
                yield alike(X, self.dtype, self.sparse)
        if seen != self.n_rows:
            raise ValueError(
                f"The source handed out {seen} rows in this pass and {self.n_rows} before: a "
                "source must hand out the same rows in the same order every time it is read."
            )

    def _picked(self, rows: NDArray[np.intp]) -> Iterator[Matrix]:
        """Some rows of every block, in the order of the data."""
        start = 0
        for X in self._alike():
            stop = start + X.shape[0]
            first, last = np.searchsorted(rows, (start, stop))
            if first < last:
                yield X[rows[first:last] - start]
            start = stop


def joined(parts: Iterable[Matrix], step: int) -> Iterator[Matrix]:
    """The same rows, ``step`` at a time, copied: a buffer may be used again for the next part."""
    waiting: list[Matrix] = []
    count = 0
    for part in parts:
        at = 0
        while part.shape[0] - at >= step - count:
            waiting.append(part[at : at + step - count])
            at += step - count
            yield stacked(waiting)
            waiting, count = [], 0
        if at < part.shape[0]:
            waiting.append(part[at:].copy())
            count += part.shape[0] - at
    if waiting:
        yield stacked(waiting)


def stacked(parts: list[Matrix]) -> Matrix:
    """Matrices of one kind below each other."""
    if len(parts) == 1:
        return parts[0].copy()
    if sparse.issparse(parts[0]):
        return cast(Matrix, sparse.vstack(parts, format="csr"))
    return cast(Matrix, np.concatenate(cast(list, parts)))


def whole(parts: Iterable[Matrix], source: PassSource, n_rows: int) -> Matrix:
    """All rows that a pass hands out."""
    if source.sparse:
        empty = sparse.csr_array((0, source.n_features), dtype=source.dtype)
        return stacked([cast(Matrix, empty), *(part.copy() for part in parts)])
    found, start = np.empty((n_rows, source.n_features), source.dtype), 0
    for part in parts:
        found[start : start + part.shape[0]] = part
        start += part.shape[0]
    return cast(Matrix, found)


def alike(X: Any, dtype: np.dtype, is_sparse: bool) -> Matrix:
    """A block in the precision of all, sparse where the others are."""
    if is_sparse and not sparse.issparse(X):
        X = sparse.csr_array(X)
    return X if X.dtype == dtype else X.astype(dtype)
