"""Blocks of rows, read one after the other: what columns they have, their means and deviations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families.shared.sample import Reservoir
from .families.shared.targets import as_columns
from .sums import total, total_in, total_of
from .tables import Columns, Table, is_frame, read, refuse_lazy


def parts_of(block) -> tuple[Any, Any, Any]:
    """X, y and sample weights of a block: X, (X, y) or (X, y, sample_weight)."""
    if not isinstance(block, tuple):
        return block, None, None
    if not 1 <= len(block) <= 3:
        raise ValueError(
            f"A block is X, (X, y) or (X, y, sample_weight); got a tuple of {len(block)}."
        )
    X, y, weights = (*block, None, None)[:3]
    return X, y, weights


def read_blocks(blocks: Iterable, categories, kinds=None) -> tuple[Columns | None, Iterable]:
    """Blocks of numbers, and what their columns were made of where they were none.

    ``kinds`` is what a user has called columns (``columns=``).
    """
    refuse_lazy(blocks)
    if is_frame(blocks) or getattr(blocks, "ndim", 0) == 2:
        blocks = [blocks]
    if not isinstance(blocks, (list, tuple)):  # of which no more than one may be in memory
        return None, (_only_numbers(block, categories, kinds) for block in blocks)
    parts = [parts_of(block) for block in blocks]
    for X, _, _ in parts:
        refuse_lazy(X)
    if categories is None and not kinds and not any(_is_table(X) for X, _, _ in parts):
        return None, parts
    tables = [read(X, categories, kinds) for X, _, _ in parts]
    targets: list[Any] = [None] * len(parts)
    if parts and all(y is not None for _, y, _ in parts):
        y = np.concatenate([np.asarray(y) for _, y, _ in parts])
        every, places = as_columns(y, y)[0], np.cumsum([table.n_rows for table in tables])
        targets = np.split(every, places[:-1])
    weights = [None if w is None else np.asarray(w, dtype=np.float64) for _, _, w in parts]
    known = list(zip(tables, targets, weights, strict=True))
    columns = Columns.read(known)
    return columns, ((columns.encode(table, True, y, w), None, w) for table, y, w in known)


def _is_table(X) -> bool:
    """Whether columns are not all numbers, or some are missing."""
    if is_frame(X):
        return True
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return values.dtype.kind == "O" or (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def _only_numbers(block, categories, kinds) -> tuple[Any, Any, Any]:
    X, y, weights = parts_of(block)
    if is_frame(X) or categories is not None or kinds:
        table = read(X, categories, kinds)
        X = table.matrix if table.plain else table
    if isinstance(X, Table) or _is_table(X):
        raise ValueError(
            "Categories, dates and missing values are read in two passes, and these blocks can be "
            "read once only: hand in a list of them."
        )
    return X, y, weights


@dataclass(frozen=True)
class ColumnSums:
    """Weight, mean and scatter of every column."""

    weight: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def none(cls, d: int) -> ColumnSums:
        return cls(0.0, np.zeros(d), np.zeros(d))

    def plus(self, values, weights: NDArray | None, seen: Reservoir) -> ColumnSums:
        """Rows more, which ``seen`` has taken in: it knows the range of every column."""
        weight = float(values.shape[0] if weights is None else total(weights))
        if weight <= 0:
            return self
        if sparse.issparse(values):
            mean, scatter = _of_sparse(values, weights, weight)
        else:
            mean, scatter = _of_dense(values, weights, weight, seen.lower, seen.upper)
        step, both = mean - self.mean, self.weight + weight
        return ColumnSums(
            both,
            self.mean + step * (weight / both),
            self.scatter + scatter + step**2 * (self.weight * weight / both),
        )

    def deviation(self, constant: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Standard deviations; 1 for columns that are constant."""
        variance = self.scatter / max(self.weight, np.finfo(float).tiny)
        return np.sqrt(np.where(constant | (variance <= 0), 1.0, variance))


def _of_dense(values, weights, weight: float, lower, upper) -> tuple[NDArray, NDArray]:
    """Mean and scatter of columns, by sums that do not depend on the order of rows."""
    heaviest = 1.0 if weights is None else weights.max()

    def weighted(rows: slice, away: NDArray) -> NDArray:
        return away if weights is None else weights[rows, None] * away

    def squares(rows: slice) -> NDArray:
        away = values[rows] - mean
        away *= away
        return weighted(rows, away)

    bound = heaviest * np.maximum(-lower, upper)
    mean = total_of(lambda rows: weighted(rows, values[rows]), len(values), bound) / weight
    bound = heaviest * np.maximum(mean - lower, upper - mean) ** 2
    return mean, total_of(squares, len(values), bound)


def _of_sparse(values, weights, weight: float) -> tuple[NDArray, NDArray]:
    """The same of compressed rows: entries that are not mentioned are all alike."""
    d, columns, entries = values.shape[1], values.indices, values.data.astype(np.float64)
    each = np.ones(len(entries))
    if weights is not None:
        each = np.repeat(weights, np.diff(values.indptr)).astype(np.float64)
    mean = total_in(columns, each * entries, d) / weight
    squares = total_in(columns, each * (entries - mean[columns]) ** 2, d)
    unmentioned = np.maximum(weight - total_in(columns, each, d), 0.0)
    return mean, squares + unmentioned * mean**2
