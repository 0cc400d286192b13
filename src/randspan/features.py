"""Drawn functions × rows as a lazy matrix: blocks of Z, never all of Z.

`Features` stands for the matrix Z of φ_i(x_r) and hands out blocks of its rows. It knows how many
rows make a good block; who runs the blocks, and on how many threads, is the engine's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families import Functions
from .families.shared.rows import Rows
from .frame import Frame
from .sources import Block, Matrix, Source

# Below this many rows features are computed in float64 whatever was asked for. It costs nothing
# there, and makes a prediction independent of which few rows were handed in with it.
FEW_ROWS = 256
# Entries of a float32 block that are turned into float64 at once, and stay in the cache.
AT_ONCE = 2**18


@dataclass(frozen=True)
class Features:
    """Z[r, i] = φ_i(x̃_r) for the rows of ``source``, computed block by block in ``dtype``.

    ``out_of_bag`` asks for values from functions that were not trained on the row; ``indices`` are
    then those by which they know rows. ``step`` is how many rows make a block, `block_rows` if 0.
    ``kind`` are rows as an engine has them.
    """

    frame: Frame
    functions: Functions
    source: Source
    dtype: np.dtype
    out_of_bag: bool = False
    step: int = 0
    kind: type[Rows] = Rows
    indices: NDArray[np.int64] | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        out_of_bag = self.functions.out_of_bag
        if self.out_of_bag and out_of_bag is not None:
            indices = out_of_bag.indices(self.source.keys, self.source.targets())
            object.__setattr__(self, "indices", indices)

    def __len__(self) -> int:
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        return self.functions.n_columns

    @property
    def block_rows(self) -> int:
        """How many rows are worked on together."""
        return self.step or block_rows(self.functions.n_stored, self.source.n_features)

    def slices(self) -> list[slice]:
        """The row indices of all blocks."""
        step = self.block_rows
        return [slice(s, min(s + step, len(self))) for s in range(0, len(self), step)]

    def blocks(self) -> Iterator[Block]:
        """All rows in order, read anew."""
        return self.source.blocks(self.block_rows)

    def rows(self, block: Block) -> Rows:
        """The standardised rows of a block."""
        few = len(block) < FEW_ROWS
        return self._rows(block.X, np.dtype(np.float64) if few else self.dtype)

    def values(self, block: Block) -> NDArray:
        """The rows of Z of a block."""
        return self._values(self.rows(block), block.rows)

    def chosen(self, rows: NDArray[np.intp], step: int) -> Iterator[tuple[NDArray, Matrix]]:
        """Indices and inputs of some rows in the order of the data, ``step`` at a time."""
        starts = range(0, len(rows), step)
        for start, X in zip(starts, self.source.chosen(rows, step), strict=True):
            yield rows[start : start + step], X

    def values_of(self, rows: NDArray[np.intp], X: Matrix) -> NDArray:
        """The rows of Z of some inputs."""
        return self._values(self._rows(X, self.dtype), rows)

    def take(self, rows: NDArray[np.intp]) -> NDArray:
        """Any rows of Z, by their indices."""
        return self.values_of(rows, self.source.take(rows))

    def _rows(self, X: Matrix, dtype: np.dtype) -> Rows:
        return self.frame.rows(X, dtype, self.kind)

    def _values(self, rows: Rows, places: slice | NDArray) -> NDArray:
        with np.errstate(all="ignore"):  # what is not finite is noticed by whoever adds it up
            if self.indices is None:
                return self.functions.values(rows)
            return self.functions.out_of_bag_values(rows, self.indices[places])


def block_rows(n_stored: int, n_features: int) -> int:
    """Rows of a block: about 16 MB of float32, but enough for one SYRK to pay.

    Rows of more than 4,096 columns take more than their features: there are fewer of them.
    """
    usual = int(np.clip(2**22 // max(n_stored, min(n_features, 4096)), 1024, 8192))
    return min(usual, max(2**22 // max(n_features, 1), FEW_ROWS))


def in_double(Z: NDArray, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """ZW in float64, whatever the precision of Z, without a copy of all of Z."""
    if Z.dtype == np.float64 or sparse.issparse(Z):
        return Z.astype(np.float64, copy=False) @ weights
    step = max(1, AT_ONCE // max(Z.shape[1], 1))
    out = np.empty((len(Z), *weights.shape[1:]))
    for start in range(0, len(Z), step):
        part = slice(start, start + step)
        np.matmul(Z[part].astype(np.float64), weights, out=out[part])
    return out
