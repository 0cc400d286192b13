"""Rows of another source in an order of their own, copied when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .arrays import ArraySource
from .base import Block, Matrix, Source


@dataclass(frozen=True, eq=False)
class PickedSource(Source):
    """The rows of ``parent`` with the indices ``order``."""

    parent: Source = field(kw_only=False)
    order: NDArray[np.intp] = field(kw_only=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.order), self.parent.n_features

    @property
    def row_bytes(self) -> float:
        return self.parent.row_bytes

    @property
    def sparse(self) -> bool:
        return self.parent.sparse

    def blocks(self, step: int) -> Iterator[Block]:
        return self.held().blocks(step)

    def chosen(self, rows: NDArray[np.intp], step: int) -> Iterator[Matrix]:
        for start in range(0, len(rows), step):
            yield self.take(rows[start : start + step])

    def gathered(self, rows: NDArray[np.intp], step: int) -> Iterator[tuple[NDArray, Matrix]]:
        return self.parent.gathered(self.order[rows], step)

    def take(self, rows: NDArray[np.intp]) -> Matrix:
        return self.parent.take(self.order[rows])

    def some(self, rows: NDArray) -> Source:
        return ArraySource(self.take(np.arange(self.n_rows)[rows]), **self._vectors_of(rows))

    def held(self) -> ArraySource:
        return ArraySource(self.parent.take(self.order), **self._vectors_of(np.arange(self.n_rows)))
