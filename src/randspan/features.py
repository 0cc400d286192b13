"""Drawn functions × rows as a lazy matrix: blocks of Z, never all of Z.

`Features` stands for the matrix Z of φ_i(x_r) and hands out blocks of its rows. It knows how many
rows make a good block; who runs the blocks, and on how many threads, is the engine's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families import Functions
from .families.shared.rows import Rows
from .frame import Frame
from .keys import Keys
from .sources import Source

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

    def blocks(self) -> list[slice]:
        """Slices of rows that are worked on together."""
        step = self.step or block_rows(self.functions.n_stored, self.source.n_features)
        return [slice(s, min(s + step, len(self))) for s in range(0, len(self), step)]

    def rows(self, rows: slice) -> Rows:
        """The standardised rows of one slice."""
        few = rows.stop - rows.start < FEW_ROWS
        dtype = np.dtype(np.float64) if few else self.dtype
        return self.frame.rows(self.source.X[rows], dtype, self.kind)

    def keys(self, rows: slice) -> Keys:
        """The keys of the rows of one slice."""
        return self.source.keys[rows]

    def take(self, rows: NDArray) -> NDArray:
        """Any rows of Z, by their indices."""
        return self._values(self.frame.rows(self.source.X[rows], self.dtype, self.kind), rows)

    def block(self, rows: slice) -> NDArray:
        """The rows of Z in one slice."""
        return self._values(self.rows(rows), rows)

    def _values(self, block: Rows, rows: slice | NDArray) -> NDArray:
        with np.errstate(all="ignore"):  # what is not finite is noticed by whoever adds it up
            if self.indices is None:
                return self.functions.values(block)
            return self.functions.out_of_bag_values(block, self.indices[rows])


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
