"""Rows, targets and sample weights together, handed out in blocks; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .keys import Keys, alone, by_chance, keys_of, with_targets
from .tables import Columns

Array = NDArray[np.float64]
#: columns of targets of some rows, encoded when they are asked for
Targets = Callable[[slice], Array]

EVERY = slice(None)


class Matrix(Protocol):
    """A dense array, or a sparse matrix in compressed rows."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    def __getitem__(self, rows: slice | NDArray, /) -> Self: ...

    def copy(self) -> Self: ...


@dataclass(frozen=True, eq=False)
class Source:
    """Rows X, and what is known of them.

    ``encoded`` gives the target columns of a slice of rows (None where rows are only predicted).
    ``weights`` are sample weights, None where all are 1. ``units`` are what a row of sample weight
    one weighs (a class weight), None where that is 1: the weight that leaving one row out removes.
    ``columns`` say what the columns of X were made of, where they were read from these rows.
    ``known_keys`` are the keys of the rows as they came, where X was made of something else.
    """

    X: Matrix
    encoded: Targets | None = None
    weights: Array | None = None
    units: Array | None = None
    columns: Columns | None = None
    known_keys: Keys | None = None

    @cached_property
    def keys(self) -> Keys:
        """The key of every row's inputs."""
        return keys_of(self.X) if self.known_keys is None else self.known_keys

    @cached_property
    def left_out_keys(self) -> Keys:
        """The key of what is left out together with every row."""
        apart = by_chance(self.keys, None if self.weights is None else self.weights > 0)
        if not apart.any():
            return self.keys
        return np.where(apart, alone(self.keys, self.targets()), self.keys)

    @property
    def distinct(self) -> int:
        """How many rows of positive weight differ in inputs or targets."""
        keys = with_targets(self.keys, self.targets())
        return len(np.unique(keys[self.each > 0]))

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def row_bytes(self) -> float:
        """What a row of X takes, on average."""
        stored: Any = self.X
        if sparse.issparse(stored):
            arrays = (stored.data, stored.indices, stored.indptr)
            return sum(array.nbytes for array in arrays) / max(self.n_rows, 1)
        return float(self.X.dtype.itemsize * self.n_features)

    @property
    def n_targets(self) -> int:
        return self.targets(slice(0, 1)).shape[1]

    @property
    def present(self) -> int:
        """How many rows have a positive weight."""
        return self.n_rows if self.weights is None else int(np.count_nonzero(self.weights))

    @property
    def each(self) -> Array:
        """The weight of every row."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def targets(self, rows: slice = EVERY) -> Array:
        """Target columns of some rows."""
        if self.encoded is None:
            raise ValueError("These rows have no targets.")
        return self.encoded(rows)

    def weights_of(self, rows: slice) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def some(self, rows: NDArray) -> Source:
        """Some rows, by their indices or by a mask."""
        targets = None if self.encoded is None else self.targets()[rows]
        return of_arrays(
            self.X[rows],
            targets,
            None if self.weights is None else self.weights[rows],
            None if self.units is None else self.units[rows],
            self._keys_of(rows),
        )

    def _keys_of(self, rows: NDArray) -> Keys | None:
        """Keys of some rows, where they are known already or cannot be read from X."""
        known = vars(self).get("keys", self.known_keys)
        return None if known is None else known[rows]

    def without_absent(self) -> Source:
        """The rows of positive weight."""
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.some(self.weights > 0)


def of_arrays(
    X: Matrix,
    targets: Array | None,
    weights: Array | None = None,
    units: Array | None = None,
    keys: Keys | None = None,
) -> Source:
    """A source of target columns that are numbers already."""
    encoded = None if targets is None else targets.__getitem__
    return Source(X, encoded, weights, units, known_keys=keys)
