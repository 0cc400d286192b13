"""What every source of rows offers: blocks in order, some rows, and a vector for all of them.

Inputs come in blocks, and nobody but a source of arrays ever has all of them. What is one number a
row or a target (targets, sample weights, keys) is known of all rows once the source is opened, and
samples, folds, copies and what is left out together are decided by these vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..keys import Keys, alone, by_chance, with_targets
from ..tables import Columns

if TYPE_CHECKING:
    from .arrays import ArraySource

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
class Block:
    """The inputs of some rows that follow each other, and what else is known of these rows."""

    X: Matrix
    start: int
    source: Source

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def rows(self) -> slice:
        """Their indices among all rows."""
        return slice(self.start, self.start + len(self))

    @property
    def Y(self) -> Array:
        """Target columns."""
        return self.source.targets(self.rows)

    @property
    def weight(self) -> Array | None:
        """Sample weights, None where all are 1."""
        return None if self.source.weights is None else self.source.weights[self.rows]

    @property
    def key(self) -> Keys:
        """The key of every row's inputs."""
        return self.source.keys[self.rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(ABC):
    """Rows in blocks, as often as they are asked for, and what is known of all of them.

    ``encoded`` gives the target columns of a slice of rows (None where rows are only predicted).
    ``weights`` are sample weights, None where all are 1. ``units`` are what a row of sample weight
    one weighs (a class weight), None where that is 1: the weight that leaving one row out removes.
    ``columns`` say what the columns of X were made of, where they were read from these rows.
    ``known_keys`` are the keys of the rows as they came, where these are not to be made from X.
    """

    encoded: Targets | None = None
    weights: Array | None = None
    units: Array | None = None
    columns: Columns | None = None
    known_keys: Keys | None = None

    # -- inputs: what a kind of source has to offer ------------------------------------------------

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def row_bytes(self) -> float:
        """What the inputs of a row take in memory, on average."""

    @property
    @abstractmethod
    def sparse(self) -> bool:
        """Whether blocks are sparse."""

    @abstractmethod
    def blocks(self, step: int) -> Iterator[Block]:
        """All rows in order, ``step`` in every block but the last."""

    @abstractmethod
    def chosen(self, rows: NDArray[np.intp], step: int) -> Iterator[Matrix]:
        """Inputs of some rows in the order of the data, ``step`` at a time."""

    def gathered(self, rows: NDArray[np.intp], step: int) -> Iterator[tuple[NDArray, Matrix]]:
        """Inputs of some rows in the order of the data, and their places among ``rows``."""
        order = np.argsort(rows, kind="stable")
        for start, X in enumerate(self.chosen(rows[order], step)):
            yield order[start * step : (start + 1) * step], X

    @abstractmethod
    def some(self, rows: NDArray) -> Source:
        """Some rows, by their indices or by a mask."""

    @abstractmethod
    def held(self) -> ArraySource:
        """These rows with all their inputs in memory, for what truly keeps or trains on rows."""

    # -- vectors -----------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Keys:
        """The key of every row's inputs."""
        assert self.known_keys is not None
        return self.known_keys

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
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]

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

    def take(self, rows: NDArray[np.intp]) -> Matrix:
        """Inputs of some rows, in any order."""
        return self.some(rows).held().X

    def without_absent(self) -> Source:
        """The rows of positive weight."""
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.some(self.weights > 0)

    def _vectors_of(self, rows: NDArray) -> dict:
        """What is known of some rows beside their inputs."""
        targets = None if self.encoded is None else self.targets()[rows]
        return {
            "encoded": None if targets is None else targets.__getitem__,
            "weights": None if self.weights is None else self.weights[rows],
            "units": None if self.units is None else self.units[rows],
            "known_keys": self._known_keys_of(rows),
        }

    def _known_keys_of(self, rows: NDArray) -> Keys | None:
        """Keys of some rows, where they are known already or cannot be read from X."""
        known = vars(self).get("keys", self.known_keys)
        return None if known is None else known[rows]
