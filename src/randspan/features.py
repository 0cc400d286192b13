"""Drawn functions × rows as a lazy operator: blocks of Z, never all of Z.

`Features` stands for the matrix Z of φ_i(x_r) and hands out blocks of its rows. It knows how many
rows make a good block; who runs the blocks, and on how many threads, is the engine's business.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .families import Functions
from .families.rows import Rows, fingerprints
from .frame import Frame

# Below this many rows features are computed in float64 whatever was asked for. It costs nothing
# there, and makes a prediction independent of which few rows were handed in with it.
FEW_ROWS = 256


@dataclass(frozen=True)
class Features:
    """Z[r, i] = φ_i(x̃_r), computed block by block in ``dtype``.

    ``numbers`` of the rows in the training data (`Bags.numbers`) ask for values from functions that
    have not learned from the row.
    """

    frame: Frame
    functions: Functions
    X: NDArray
    dtype: np.dtype
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def n_columns(self) -> int:
        return self.functions.n_columns

    def blocks(self) -> list[slice]:
        """Slices of rows: about 16 MB of float32 a block, but long enough for one SYRK to pay."""
        widest = max(self.functions.n_stored, min(self.X.shape[1], 4096))
        step = int(np.clip(2**22 // widest, 1024, 8192))
        return [slice(s, min(s + step, len(self))) for s in range(0, len(self), step)]

    def rows(self, rows: slice) -> Rows:
        """The standardised rows of one slice."""
        few = rows.stop - rows.start < FEW_ROWS
        return self.frame.rows(self.X[rows], np.float64 if few else self.dtype)

    def keys(self, rows: slice) -> NDArray[np.uint64]:
        """Fingerprints of the rows of one slice: equal rows have equal ones, dense or sparse."""
        return fingerprints(self.X[rows])

    def take(self, rows: NDArray) -> NDArray:
        """Any rows of Z, by their numbers."""
        return self._values(self.frame.rows(self.X[rows], self.dtype), rows)

    def block(self, rows: slice) -> NDArray:
        """The rows of Z in one slice."""
        return self._values(self.rows(rows), rows)

    def _values(self, block: Rows, rows: slice | NDArray) -> NDArray:
        if self.numbers is None:
            return self.functions.evaluate(block)
        return self.functions.unseen(block, self.numbers[rows])
