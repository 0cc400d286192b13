"""Sums that do not depend on the order of what is added, on threads or on blocks of one array.

Every number is split, v = high + low + rest: high is v rounded to a multiple of a grid that is so
coarse that n multiples of it add up without rounding, low is v - high rounded to a second grid that
is as much finer, and the rest (2⁻⁵⁰ of the largest |v| at most, far less for fewer than a billion
numbers) is left out. Sums of high and of low are then exact in any order, and what decides by
comparisons (keys, samples, folds, cuts of trees) is the same whoever added up.
(Demmel and Nguyen 2015; a BLAS product of the same numbers has other last digits on other threads.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Entries that are split at once, in cache.
AT_ONCE = 2**14


def total(values: NDArray) -> Array:
    """Σ_r v_r over the first axis."""
    values = np.asarray(values, dtype=np.float64)
    bound = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0))
    return total_of(lambda rows: values[rows], len(values), bound)


def total_of(values: Callable[[slice], Array], count: int, bound: Array) -> Array:
    """The same for ``count`` rows that come in pieces, no entry of a column beyond its bound."""
    found = Total(bound, count)
    found.add(values, count)
    return found.value


class Total:
    """Σ_r v_r of columns, of ``count`` rows in blocks, no entry of a column beyond its bound.

    The grids depend on bounds and count alone, so that blocks of any size lead to the same bits.
    """

    def __init__(self, bound: Array, count: int):
        self.coarse, self.fine = _grids(bound, count)
        self.high, self.low = np.zeros(np.shape(bound)), np.zeros(np.shape(bound))

    def add(self, values: Callable[[slice], Array], rows: int) -> None:
        """Rows more, which come in pieces."""
        step = max(1, AT_ONCE // max(np.size(self.coarse), 1))
        for start in range(0, rows, step):
            piece = values(slice(start, min(start + step, rows)))
            parts = _split(piece, self.coarse, self.fine)
            self.high += parts[0].sum(axis=0)
            self.low += parts[1].sum(axis=0)

    def add_in(self, columns: NDArray[np.integer], values: Array) -> None:
        """Entries more, each of the column that is named."""
        parts = _split(values, self.coarse[columns], self.fine[columns])
        self.high += np.bincount(columns, parts[0], len(self.high))
        self.low += np.bincount(columns, parts[1], len(self.low))

    @property
    def value(self) -> Array:
        return self.high + self.low


def total_in(cells: NDArray[np.integer], values: Array, count: int) -> Array:
    """Σ_r v_r over the rows of every cell; ``cells`` says which one a row is in."""
    bound = np.zeros(count)
    np.maximum.at(bound, cells, np.abs(values))
    coarse, fine = _grids(bound, len(values))
    high, low = (
        np.bincount(cells, part, count) for part in _split(values, coarse[cells], fine[cells])
    )
    return np.asarray(high + low, dtype=np.float64)


def parts(values: Array) -> tuple[Array, Array]:
    """high and low of some numbers: sums of either over any of them are exact."""
    return _split(values, *_grids(np.abs(values).max(initial=0.0), len(values)))


def _grids(bound: Array, count: int) -> tuple[Array, Array]:
    """3·2^m: adding it to numbers and taking it away again rounds them to its last digit."""
    places = np.frexp(max(count, 1))[1]  # count < 2^places
    size = np.frexp(bound)[1] + places
    return np.ldexp(3.0, size), np.ldexp(3.0, size + places - 52)


def _split(values: Array, coarse: Array, fine: Array) -> tuple[Array, Array]:
    """v ↦ (high, low)."""
    high = values + coarse
    high -= coarse
    low = values - high
    low += fine
    low -= fine
    return high, low
