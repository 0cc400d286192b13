"""The first rows of a stream, kept as they came until there are enough to read a frame from.

The frame (centre, scale, learned scales, bandwidth, range, trees) is read from the first block, so
that predictions are there at once. Whenever there are four times as many rows it is read anew, from
all of them, and from `ENOUGH` rows on it stays. In between, and ever after, the model is what one
fit of all its rows is, given that frame. What is read on the way costs a third of the last reading
where time grows with the rows, and depends on the blocks alone, not on who asked for a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..equality import same
from ..keys import Keys
from ..sources import ArraySource, Source, of_arrays
from ..statistics.kept import Kept
from ..tables import Column, Table, of_array
from ..tables.reading import CATEGORY, NOTHING, NUMBER

# From so many rows on a frame stays; wide rows are kept up to so many bytes only.
ENOUGH, MOST_BYTES = 10_000, 2**28
# It is read anew of so many times as many rows.
AGAIN = 4
NO_VALUES = np.empty(0)


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows as they came, and how many of them the frame was read from.

    Attributes
    ----------
    kept : Kept
        Inputs, targets, weights and keys. Of tables inputs are the values of the columns, for
        categories the places of levels, nan where they are missing.
    columns : tuple of Column or None
        Names, kinds and levels of the columns of tables; None where rows are numbers, all known.
    framed : int
        How many rows the frame was read from.
    """

    kept: Kept = field(default_factory=Kept)
    columns: tuple[Column, ...] | None = None
    framed: int = 0

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def due(self) -> bool:
        """Whether a frame of these rows is worth reading."""
        return len(self) >= self.again

    @property
    def again(self) -> int:
        """From how many rows on the frame is read anew."""
        return min(AGAIN * self.framed, ENOUGH)

    def enough(self, limit: int) -> bool:
        """Whether a frame of these rows stays, where ``limit`` bytes may be kept."""
        size = sum(nbytes_of(ArraySource(block["inputs"])) for block in self.kept.blocks)
        return len(self) >= ENOUGH or size > limit

    def all_framed(self) -> Gathered:
        """The same rows; the frame was read from all of them."""
        return replace(self, framed=len(self))

    def plus(self, came: Source) -> Gathered | None:
        """With more rows as they came; None where these cannot be kept beside the others."""
        X: Any = came.held().X
        if not isinstance(X, Table) and self.columns is not None:
            X = of_array(X, [column.name for column in self.columns])
        if not isinstance(X, Table):
            return replace(self, kept=self.kept.plus(_kept(X, came)))
        known = self.columns
        if known is None:
            if any(sparse.issparse(block["inputs"]) for block in self.kept.blocks):
                return None
            known = tuple(_empty(one, NOTHING) for one in X.columns)
            if len(self):  # which are numbers
                known = tuple(Column(one.name, NUMBER, NO_VALUES) for one in X.columns)
        pairs = [_coded(mine, column) for mine, column in zip(known, X.columns, strict=True)]
        found = tuple(pair for pair in pairs if pair is not None)
        if len(found) < len(pairs):
            return None
        kept = self.kept.plus(_kept(np.column_stack([values for _, values in found]), came))
        return replace(self, kept=kept, columns=tuple(column for column, _ in found))

    def without(self, gone: Source, keys: Keys) -> Gathered:
        """Without rows that were forgotten; where none is left the next ones begin anew.

        ``keys`` are those of our rows, read as ``gone`` was.
        """
        mine = Kept(({**self.kept.arrays, "keys": keys},))
        left = mine.without(_kept(np.zeros((gone.n_rows, 0)), gone))
        return replace(self, kept=left, framed=self.framed if len(left) else 0)

    def joined(self, other: Gathered) -> Gathered | None:
        """The rows of both, of which no frame was read."""
        both = replace(self, framed=0)
        return both.plus(other.source) if len(other) else both

    @property
    def source(self) -> Source:
        """The rows as they came: X may be a table."""
        arrays = self.kept.arrays
        X: Any = arrays["inputs"]
        if self.columns is not None:
            pairs = zip(self.columns, X.T, strict=True)
            X = Table(tuple(_decoded(column, values) for column, values in pairs), len(self))
        weights = arrays["weights"]
        known = None if (weights == 1).all() else weights
        return of_arrays(X, arrays["targets"], known, None, arrays["keys"])


def _kept(inputs: Any, came: Source) -> Kept:
    """Rows of positive weight; nobody else writes to what is kept."""
    rows = slice(None) if came.weights is None else came.weights > 0
    arrays = {
        "targets": came.targets(),
        "weights": came.each,
        "keys": came.keys,
        "inputs": inputs,
    }
    return Kept(({name: array[rows].copy() for name, array in arrays.items()},))


def _empty(column: Column, kind: str) -> Column:
    """What a column is, without its rows."""
    return replace(column, kind=kind, values=NO_VALUES, levels=(), guess=None)


def _coded(known: Column, column: Column) -> tuple[Column, NDArray[np.float64]] | None:
    """What is known of a column with these rows, and their values; None where it is another."""
    values = np.where(column.missing, np.nan, column.values)
    if column.kind == NOTHING:
        return known, values
    if known.kind == NOTHING:
        known = _empty(column, column.kind)
    if not same(replace(known, levels=()), _empty(column, column.kind)):
        return None
    if column.kind != CATEGORY:
        return known, values
    places = {level: place for place, level in enumerate(known.levels)}
    for level in column.levels:
        places.setdefault(level, len(places))
    at = np.array([*(places[level] for level in column.levels), np.nan])
    return replace(known, levels=tuple(places)), at[column.values]


def _decoded(column: Column, values: NDArray[np.float64]) -> Column:
    """A column as it came."""
    if column.kind != CATEGORY:
        return replace(column, values=values)
    places = np.where(np.isnan(values), -1, values).astype(np.int64)
    return replace(column, values=places)


def nbytes_of(came: Source) -> int:
    """What the inputs of rows take where they are kept."""
    if isinstance(came, ArraySource) and isinstance(came.X, Table):
        return 8 * came.n_rows * len(came.X.columns)
    return int(came.row_bytes * came.n_rows)
