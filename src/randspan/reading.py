"""Blocks of rows as a source; what columns they have, their means and deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families.shared.rows import as_rows
from .families.shared.sample import Reservoir
from .families.shared.targets import as_columns
from .keys import Keys, keys_of
from .sources import Block, Blocks, PassSource, Source, parts_of
from .sums import Total, total
from .tables import Columns, Table, is_frame, read, refuse_lazy

# Entries of a block that is looked at column by column.
AT_ONCE = 2**20


def read_blocks(
    blocks: Iterable, categories, kinds=None
) -> tuple[Columns | None, Iterable[Source]]:
    """Blocks of numbers as sources, and what their columns were made of where they were none.

    Blocks that can be read again are one source, others a source each. ``kinds`` is what a user has
    called columns (``columns=``).
    """
    refuse_lazy(blocks)
    if is_frame(blocks) or getattr(blocks, "ndim", 0) == 2:
        blocks = [blocks]
    if not isinstance(blocks, (list, tuple)):
        if isinstance(blocks, Blocks):
            return None, [_source(blocks, categories, kinds)]
        return None, (_source([block], categories, kinds) for block in blocks)
    parts = [parts_of(block) for block in blocks]
    for X, _, _ in parts:
        refuse_lazy(X)
    if categories is None and not kinds and not any(_is_table(X) for X, _, _ in parts):
        return None, [_source(blocks, None, None)] if parts else []
    tables = [read(X, categories, kinds) for X, _, _ in parts]
    targets: list[Any] = [None] * len(parts)
    if parts and all(y is not None for _, y, _ in parts):
        y = np.concatenate([np.asarray(y) for _, y, _ in parts])
        every, places = as_columns(y, y)[0], np.cumsum([table.n_rows for table in tables])
        targets = np.split(every, places[:-1])
    weights = [None if w is None else np.asarray(w, dtype=np.float64) for _, _, w in parts]
    known = list(zip(tables, targets, weights, strict=True))
    columns = Columns.read(known)
    if all(table.plain for table in tables):
        return None, [_source([(t.matrix, None, w) for t, _, w in known])]
    source = _source([(columns.encode(t, True, y, w), None, w) for t, y, w in known])
    if columns.copies:
        return columns, [source]
    keys = np.concatenate([columns.known(table).keys for table in tables])
    return columns, [replace(source, known_keys=keys)]


def _source(blocks: Iterable, categories=None, kinds=None) -> Source:
    """The source of blocks of numbers that can be read again."""

    def check(X, y, first: bool) -> tuple[Any, Any]:
        return as_rows(_only_numbers(X, categories, kinds)).values, None

    return opened(blocks, check)[0]


def _is_table(X) -> bool:
    """Whether columns are not all numbers, or some are missing."""
    if is_frame(X):
        return True
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return values.dtype.kind == "O" or (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def _only_numbers(X, categories, kinds) -> Any:
    if is_frame(X) or categories is not None or kinds:
        table = read(X, categories, kinds)
        X = table.matrix if table.plain else table
    if isinstance(X, Table) or _is_table(X):
        raise ValueError(
            "Categories, dates and missing values are read from all blocks at once: hand in a "
            "list of them; an iterator, and rs.blocks, are for numbers of which none is missing."
        )
    return X


@dataclass(frozen=True)
class ColumnSums:
    """Weight, mean and scatter of every column."""

    weight: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def none(cls, d: int) -> ColumnSums:
        return cls(0.0, np.zeros(d), np.zeros(d))

    @classmethod
    def of(cls, source: Source, seen: Reservoir) -> ColumnSums:
        """Those of all rows of a source, in two passes: the same bits however rows are split.

        ``seen`` has taken these rows in: it knows the range of every column.
        """
        weights, n = source.weights, source.n_rows
        weight = float(n if weights is None else total(weights))
        if weight <= 0:
            return cls.none(source.n_features)
        heaviest = 1.0 if weights is None else weights.max()
        lower, upper, d = seen.lower, seen.upper, source.n_features
        step, at_zero = max(1024, AT_ONCE // max(d, 1)), np.zeros(d)
        sums = Total(heaviest * np.maximum(-lower, upper), n)
        mentioned = Total(at_zero + heaviest, n)
        for block in source.blocks(step):
            _add(sums, block, 1, at_zero)
            if source.sparse:
                _add(mentioned, block, 0, at_zero)
        mean = sums.value / weight
        squares = Total(heaviest * np.maximum(mean - lower, upper - mean) ** 2, n)
        for block in source.blocks(step):
            _add(squares, block, 2, mean)
        scatter = squares.value
        if source.sparse:  # entries that are not mentioned are all alike
            scatter = scatter + np.maximum(weight - mentioned.value, 0.0) * mean**2
        return cls(weight, mean, scatter)

    def plus(self, other: ColumnSums) -> ColumnSums:
        """Both together (Chan, Golub and LeVeque 1983)."""
        both = self.weight + other.weight
        if both <= 0:
            return self
        step = other.mean - self.mean
        return ColumnSums(
            both,
            self.mean + step * (other.weight / both),
            self.scatter + other.scatter + step**2 * (self.weight * other.weight / both),
        )

    def deviation(self, constant: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Standard deviations; 1 for columns that are constant."""
        variance = self.scatter / max(self.weight, np.finfo(float).tiny)
        return np.sqrt(np.where(constant | (variance <= 0), 1.0, variance))


def _add(found: Total, block: Block, power: int, mean: NDArray) -> None:
    """Add ω(x - m)^power of every entry of a block to the sums of its column."""
    values: Any = block.X
    weights = block.weight
    if not sparse.issparse(values):

        def piece(rows: slice) -> NDArray:
            away = values[rows]
            if power == 2:
                away = away - mean
                away *= away
            return away if weights is None else weights[rows, None] * away

        found.add(piece, len(block))
        return
    columns, away = values.indices, np.ones(len(values.data))
    if power == 1:
        away = values.data.astype(np.float64)
    elif power == 2:
        away = (values.data - mean[columns]) ** 2
    if weights is not None:
        away = away * np.repeat(weights, np.diff(values.indptr))
    found.add_in(columns, away)


# -- blocks as a source ----------------------------------------------------------------------------

OTHER_ROWS = (
    "The source hands out other rows than in its first pass: rs.blocks needs the same rows in the "
    "same order every time its function is called (a loader that shuffles does not do)."
)

#: X and y of a block, checked; the first block says what others are compared with
Check = Callable[[Any, Any, bool], tuple[Any, Any]]


def opened(blocks: Iterable, check: Check) -> tuple[PassSource, list[Any]]:
    """A source of blocks that can be read again, and y of every block, after a first pass.

    Every row is looked at, and its key made, here and once: later passes hand blocks out as they
    come. ``blocks`` are read anew whenever they are iterated over.
    """
    keys: list[Keys] = []
    weights: list[NDArray[np.float64] | None] = []
    targets: list[Any] = []
    nbytes, d, kinds, dtypes = 0, 0, set(), set()
    for X, y, each in map(parts_of, blocks):
        if _is_empty(X):
            continue
        X, y = check(X, y, not keys)
        if keys and X.shape[1] != d:
            raise ValueError(f"A block has {X.shape[1]} columns, the first had {d}.")
        d = X.shape[1]
        keys.append(keys_of(X))
        weights.append(None if each is None else _weights(each, X.shape[0]))
        targets.append(None if y is None else np.array(y))
        kinds.add(bool(sparse.issparse(X)))
        dtypes.add(X.dtype)
        nbytes += _nbytes(X)
    if not keys:
        raise ValueError("There are no rows: the source handed out no block that has any.")
    every = np.concatenate(keys)
    each = None
    if any(one is not None for one in weights):
        filled = [
            np.ones(len(own)) if one is None else one
            for own, one in zip(keys, weights, strict=True)
        ]
        each = np.concatenate(filled)

    def read() -> Iterator[Any]:
        start = 0
        for X, _, _ in map(parts_of, blocks):
            if _is_empty(X):
                continue
            values = as_rows(X).values
            same = values.shape[1] == d and start + values.shape[0] <= len(every)
            # Every row was hashed in the first pass; one of a block tells whether rows have moved.
            if not same or keys_of(values[:1])[0] != every[start]:
                raise ValueError(OTHER_ROWS)
            start += values.shape[0]
            yield values

    known = (read, (len(every), d), np.result_type(*dtypes), any(kinds), nbytes)
    return PassSource(*known, weights=each, known_keys=every), targets


def _weights(each: Any, count: int) -> NDArray[np.float64]:
    weights = np.array(each, dtype=np.float64)
    if weights.shape != (count,) or not (weights >= 0).all():
        raise ValueError("A block (X, y, sample_weight) needs one weight >= 0 for every row of X.")
    return weights


def _is_empty(X: Any) -> bool:
    """Whether a block has no rows: what a filter has left of a file, say."""
    shape = getattr(X, "shape", (1,))
    return len(shape) > 0 and shape[0] == 0


def _nbytes(X: Any) -> int:
    if sparse.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes
