"""Functions that are indicators of cells: cells of rows, and a table of the cells that were seen.

A family of this kind has groups of cells (grids, trees); a row is in one cell of every group. It
writes `CellFunctions.keys`: a number for the cell of every row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..functions import Functions
from .rows import Rows

# Groups whose keys are computed together.
AT_ONCE = 16


class Table:
    """The cells of one group, numbered by first appearance; it only ever grows.

    Keys are hashed into slots by their own lower bits, which are random already.
    """

    def __init__(self, keys: NDArray[np.uint64] | None = None):
        self.count = 0 if keys is None else len(keys)
        known = np.empty(0, dtype=np.uint64) if keys is None else keys
        # One tuple, so that whoever looks up while rows are added sees either both or neither.
        self._arrays = self._with_room(known, np.empty(0, dtype=np.int32), 1)

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self._arrays[0][: self.count]

    def __getstate__(self):
        return {"keys": self.keys.copy()}

    def __setstate__(self, state):
        Table.__init__(self, state["keys"])

    def enter(self, keys: NDArray[np.uint64], cells: NDArray[np.int32]) -> None:
        """The numbers of keys, new ones for new keys."""
        from . import hashing

        for start in range(0, len(keys), 8192):
            part = slice(start, start + 8192)
            self._arrays = self._with_room(*self._arrays, len(keys[part]))
            self.count = hashing.enter(keys[part], *self._arrays, self.count, cells[part])

    def look_up(self, keys: NDArray[np.uint64], count: int, cells: NDArray[np.int32]) -> None:
        """The numbers of keys, -1 where they are not among the first ``count``."""
        from . import hashing

        hashing.look_up(keys, *self._arrays, count, cells)

    def _with_room(self, known, slots, more: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        from . import hashing

        most = self.count + more
        if most > len(known):
            grown = np.empty(max(most, 3 * len(known) // 2), dtype=np.uint64)
            grown[: self.count] = known[: self.count]
            known = grown
        if 3 * most > 2 * len(slots):  # at most two thirds of the slots are taken
            slots = np.empty(2 ** int(np.ceil(np.log2(2 * most + 1))), dtype=np.int32)
            hashing.refill(known, self.count, slots)
        return known, slots


@dataclass(frozen=True, eq=False)
class CellFunctions(Functions):
    """Indicators of the first ``counts[g]`` cells of group g, one group after the other.

    The tables may know more cells than that: those that later blocks of a stream brought.
    """

    tables: list[Table] = field(compare=False)
    counts: NDArray[np.int64]

    def __getstate__(self):
        # Of the tables what belongs to these cells: others may have come since.
        return super().__getstate__() | {"tables": self.own_tables()}

    @abstractmethod
    def keys(self, rows: Rows, groups: slice) -> NDArray[np.uint64]:
        """Keys of the cells of rows in some groups, one line for every group."""

    @property
    def n_columns(self) -> int:
        return int(self.counts.sum())

    @property
    def n_stored(self) -> int:
        return self.n_components

    @property
    def dense_part(self) -> None:
        return None

    @property
    def cell_parts(self) -> list[CellFunctions]:
        return [self]

    def with_cells(self, cells: list) -> Functions:
        return cells[0]

    def cells(self, rows: Rows) -> NDArray[np.int32]:
        """Numbers of the cells of rows, one line for every group; -1 for cells without a column."""
        cells = np.empty((self.n_components, len(rows)), dtype=np.int32)
        for start in range(0, self.n_components, AT_ONCE):
            groups = slice(start, min(start + AT_ONCE, self.n_components))
            for g, keys in enumerate(self.keys(rows, groups), start):
                self.tables[g].look_up(keys, self.counts[g], cells[g])
        return cells

    def own_tables(self) -> list[Table]:
        """Tables of these cells alone, to which others may be added."""
        return [
            table if table.count == count else Table(table.keys[:count].copy())
            for table, count in zip(self.tables, self.counts, strict=True)
        ]

    def with_tables(self, tables: list[Table]) -> Self:
        """The same groups with all cells of ``tables``."""
        return replace(self, tables=tables, counts=np.array([table.count for table in tables]))

    def seeing(self, rows: Rows) -> Self:
        tables = self.own_tables()
        cells = np.empty(len(rows), dtype=np.int32)
        for start in range(0, self.n_components, AT_ONCE):
            groups = slice(start, min(start + AT_ONCE, self.n_components))
            for g, keys in enumerate(self.keys(rows, groups), start):
                tables[g].enter(keys, cells)
        return self.with_tables(tables)

    def evaluate(self, rows: Rows) -> sparse.csr_array:
        return indicators(self.cells(rows), self.counts, rows.dtype)


def indicators(cells: NDArray[np.int32], counts: NDArray[np.int64], dtype) -> sparse.csr_array:
    """Rows of 0 and 1 with one column for every cell, from the cells of every group."""
    offsets = np.cumsum(counts) - counts
    total = int(counts.sum())
    columns = (cells + offsets[:, None]).T
    known = (cells >= 0).T
    starts = np.append(0, np.cumsum(known.sum(axis=1)))
    index = np.int32 if max(total, starts[-1]) < 2**31 else np.int64
    columns = columns[known].astype(index)
    ones = np.ones(len(columns), dtype=dtype)
    return sparse.csr_array((ones, columns, starts.astype(index)), shape=(cells.shape[1], total))
