"""Folds of rows by what is in them: the same for a row in any block, in any order.

Statistics of targets leave out the fold of a row, so that it is not told its own target. Rows that
are alike are in one fold. Where most rows have copies their number among these, in order, decides
as well; folds then depend on the order of rows.
"""

from __future__ import annotations

import zlib
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from .reading import CATEGORY, Table

FOLDS = 10


def folds_of(keys: NDArray[np.uint64], copies: bool) -> NDArray[np.intp]:
    """The fold of every row, given its key."""
    if copies:
        keys = _mixed(keys + _occurrence(keys))
    return (keys % np.uint64(FOLDS)).astype(np.intp)


def copies_prevail(table: Table) -> bool:
    """Whether fewer than half of the rows differ."""
    return 2 * len(np.unique(keys_of(table))) < table.n_rows


def keys_of(table: Table) -> NDArray[np.uint64]:
    """64 bits for every row."""
    keys = np.zeros(table.n_rows, np.uint64)
    for column in table.columns:
        if column.kind == CATEGORY:
            known = np.array([*map(_key, column.levels), 1], dtype=np.uint64)
            bits = known[column.values]
        else:
            values = column.values + 0.0  # no -0
            bits = np.where(np.isnan(values), np.uint64(1), values.view(np.uint64))
        keys = _mixed(keys ^ bits)
    return keys


def _key(level) -> int:
    """The same for 1 and 1.0, which are the same level."""
    text = repr(float(level)) if isinstance(level, Real) else str(level)
    return zlib.crc32(text.encode()) + 2


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        keys = keys + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _occurrence(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """How many rows before a row are like it."""
    order = np.argsort(keys, kind="stable")
    _, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    found = np.empty(len(keys), np.uint64)
    found[order] = np.arange(len(keys)) - np.repeat(first, counts)
    return found
