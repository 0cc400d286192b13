"""Names of rows: categories whose levels say nothing of new rows.

New rows have new levels where nearly every row has one of its own (Good and Turing: the share of
new rows whose level is new is about that of rows whose level was seen once). Levels of few rows
are no better where their targets, of other folds, do not differ by more than chance. Of such a
category the common levels remain and what is missing, one column of 0 and 1 each; where there is
nothing of that kind it is an `Identifier`, and rows are what they would be without it. Names that
begin with the name of a group, as "AB-1234" may, are told by that where its targets differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..sums import total, total_in
from .encoders import Identifier, OneHot
from .folds import folds_of, told_apart
from .levels import RARE, Levels, LevelSums, beginnings
from .reading import CATEGORY, IDENTIFIER, Column, Table
from .statistics import BEYOND_CHANCE

Array = NDArray[np.float64]

# Levels may be worth their targets where at least this share of rows has one that rows of other
# folds have, too.
KNOWN_AGAIN = 0.1
# Standard errors beyond chance of what names begin with: letters of a UUID say nothing.
SURELY = 3.0


@dataclass(frozen=True, eq=False)
class Block:
    """A table with its targets and weights; rows without weight are not there."""

    table: Table
    targets: Array | None
    weights: Array | None

    @classmethod
    def of(cls, table: Table, targets: Array | None, weights: Array | None) -> Block:
        if weights is None or (weights > 0).all():
            return cls(table, targets, weights)
        there = weights > 0
        targets = None if targets is None else targets[there]
        return cls(table.some(there), targets, weights[there])

    @property
    def each(self) -> Array:
        return np.ones(self.table.n_rows) if self.weights is None else self.weights

    @property
    def told_apart(self) -> bool:
        """Whether rows of equal inputs are told apart."""
        return told_apart(self.table, self.targets)

    def folds(self, copies: bool) -> NDArray[np.intp]:
        """The fold of every row."""
        return folds_of(self.table.keys, copies, self.targets, self.weights)


def settled(
    blocks: list[Block], copies: bool | None, most: int
) -> tuple[dict[int, Identifier | OneHot], list[Block]]:
    """What becomes of columns that hold names of rows, and the blocks without these names."""
    found: dict[int, Identifier | OneHot] = {}
    folds: list[NDArray[np.intp]] = []
    names = [block.table for block in blocks]  # which folds are of
    for j, column in enumerate(blocks[0].table.columns):
        columns = [table.columns[j] for table in names]
        if column.wanted == IDENTIFIER:
            found[j] = Identifier(column.name, 0, _holes(columns, blocks))
            blocks = _with(blocks, j, [found[j].known(one) for one in columns])
        if column.wanted or all(one.kind != CATEGORY for one in columns):
            continue
        rows, weights = _counts(columns, blocks)
        if not _in_question(rows, most):
            continue
        if not folds:
            apart = blocks[0].told_apart if copies is None else copies
            folds = [replace(b, table=t).folds(apart) for b, t in zip(blocks, names, strict=True)]
        parts = list(_rare(columns, blocks, folds, rows))
        if _informs(parts):
            continue
        if _group(parts):
            begun = [beginnings(one) if one.kind == CATEGORY else one for one in columns]
            blocks = _with(blocks, j, begun)
            continue
        levels = Levels.common(rows, weights, most)
        left = Identifier(column.name, len(rows), levels.holes)
        found[j] = OneHot(column.name, levels) if levels.names else left
        blocks = _with(blocks, j, [found[j].known(one) for one in columns])
    return found, blocks


def _with(blocks: Sequence[Block], j: int, columns: Sequence[Column]) -> list[Block]:
    """The blocks with another column in one place."""
    found = []
    for block, column in zip(blocks, columns, strict=True):
        others = list(block.table.columns)
        others[j] = column
        found.append(replace(block, table=Table(tuple(others), block.table.n_rows)))
    return found


def _holes(columns: Sequence[Column], blocks: Sequence[Block]) -> float:
    """The share of rows that are missing."""
    each = np.concatenate([block.each for block in blocks])
    missing = np.concatenate([column.missing for column in columns])
    return float(total(each[missing])) / max(float(total(each)), 1e-300)


def _counts(
    columns: Sequence[Column], blocks: Sequence[Block]
) -> tuple[dict[Hashable, int], dict[Hashable, float]]:
    """Rows and weights of every level, None for what is missing."""
    rows: dict[Hashable, int] = defaultdict(int)
    weights: dict[Hashable, float] = defaultdict(float)
    for column, block in zip(columns, blocks, strict=True):
        if column.kind != CATEGORY:  # a block of nothing else
            column = column.holes(CATEGORY)
        for level, count in column.counts.items():
            rows[level] += count
        sums = total_in(column.values + 1, block.each, len(column.levels) + 1)
        for level, weight in zip((None, *column.levels), sums.tolist(), strict=True):
            weights[level] += weight
    return rows, weights


def _in_question(rows: Mapping[Hashable, int], most: int) -> bool:
    """Whether most rows have a rare level, or nearly all one of their own."""
    each = np.array([count for level, count in rows.items() if level is not None])
    common = each >= RARE
    if len(each) <= most:
        return False
    rare = common.sum() <= most and 2 * each[common].sum() < each.sum()
    return bool(rare or each[each == 1].sum() > (1 - KNOWN_AGAIN) * each.sum())


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of some levels of a category."""

    column: Column
    targets: Array
    each: Array
    folds: NDArray[np.intp]


def _rare(
    columns: Sequence[Column],
    blocks: Sequence[Block],
    folds: Sequence[NDArray[np.intp]],
    rows: Mapping[Hashable, int],
) -> Iterator[Part]:
    """The rows of rare levels, of blocks that have targets."""
    for column, block, fold in zip(columns, blocks, folds, strict=True):
        if block.targets is None or column.kind != CATEGORY:
            continue
        rare = np.array([*(rows.get(level, 0) < RARE for level in column.levels), False])[
            column.values
        ]
        if rare.any():
            part = replace(column, values=column.values[rare])
            yield Part(part, block.targets[rare], block.each[rare], fold[rare])


def _group(parts: Sequence[Part]) -> bool:
    """Whether what names begin with tells groups of rows apart."""
    parts = [replace(part, column=beginnings(part.column)) for part in parts]
    rows: dict[Hashable, int] = defaultdict(int)
    for part in parts:
        for level, count in part.column.counts.items():
            rows[level] += count
    common = sum(count for count in rows.values() if count >= RARE)
    if len(rows) < 2 or common <= (1 - KNOWN_AGAIN) * sum(rows.values()):
        return False
    return _informs(parts, SURELY)


def _informs(parts: Sequence[Part], beyond: float = BEYOND_CHANCE) -> bool:
    """Whether levels come again in other folds, with targets that differ between them."""
    sums = LevelSums()
    for part in parts:
        sums.add(part.column, part.targets, part.each, part.folds)
    again = sums.rows[(sums.weights > 0).sum(axis=1) > 1].sum()
    if sums.sums is None or again < KNOWN_AGAIN * sums.rows.sum():
        return False
    return bool(np.isfinite(sums.strength(beyond)).any())
