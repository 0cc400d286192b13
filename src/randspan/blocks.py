"""Blocks of rows, read one after the other: what columns they have, their means and deviations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from .families.parts.targets import as_columns
from .tables import Columns, Table, is_frame, read


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


def read_blocks(blocks: Iterable, categories) -> tuple[Columns | None, Iterable]:
    """Blocks of numbers, and what their columns were made of where they were none."""
    if is_frame(blocks) or getattr(blocks, "ndim", 0) == 2:
        blocks = [blocks]
    if not isinstance(blocks, (list, tuple)):  # of which no more than one may be in memory
        return None, (_only_numbers(block, categories) for block in blocks)
    parts = [parts_of(block) for block in blocks]
    if categories is None and not any(_is_table(X) for X, _, _ in parts):
        return None, parts
    tables = [read(X, categories) for X, _, _ in parts]
    targets: list[Any] = [None] * len(parts)
    if parts and all(y is not None for _, y, _ in parts):
        y = np.concatenate([np.asarray(y) for _, y, _ in parts])
        every, places = as_columns(y, y)[0], np.cumsum([table.n_rows for table in tables])
        targets = np.split(every, places[:-1])
    weights = [None if w is None else np.asarray(w, dtype=np.float64) for _, _, w in parts]
    known = list(zip(tables, targets, weights, strict=True))
    columns = Columns.read(known)
    return columns, ((columns.encode(table, True), None, w) for table, _, w in known)


def _is_table(X) -> bool:
    """Whether columns are not all numbers, or some are missing."""
    if is_frame(X):
        return True
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return values.dtype.kind == "O" or (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def _only_numbers(block, categories) -> tuple[Any, Any, Any]:
    X, y, weights = parts_of(block)
    if is_frame(X) or categories is not None:
        table = read(X, categories)
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

    def plus(self, values, weights: NDArray | None) -> ColumnSums:
        weight = float(values.shape[0]) if weights is None else float(weights.sum())
        if weight <= 0:
            return self
        if sparse.issparse(values):
            each = None if weights is None else weights.astype(values.dtype)
            mean, variance = mean_variance_axis(values, axis=0, weights=each)
            mean, scatter = mean.astype(np.float64), variance.astype(np.float64) * weight
        else:
            mean = np.average(values.astype(np.float64, copy=False), axis=0, weights=weights)
            away = values - mean
            away *= away
            scatter = away.sum(axis=0) if weights is None else weights @ away
        step, total = mean - self.mean, self.weight + weight
        return ColumnSums(
            total,
            self.mean + step * (weight / total),
            self.scatter + scatter + step**2 * (self.weight * weight / total),
        )

    def deviation(self, constant: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Standard deviations; 1 for columns that are constant."""
        variance = self.scatter / max(self.weight, np.finfo(float).tiny)
        return np.sqrt(np.where(constant | (variance <= 0), 1.0, variance))
