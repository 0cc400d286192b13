"""All columns of a table as numbers: read in one pass, part of the frame.

Each has what was read from it (`encoders`). A number that is missing is guessed from those of its
row that are known (`relations`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoders import DAY, PERIODS, Date, Number, OneHot, Targets
from .folds import copies_prevail, folds_of, keys_of
from .levels import LevelSums
from .reading import CATEGORY, DATE, NOTHING, NUMBER, Column, Table
from .relations import ROWS, Relations

Array = NDArray[np.float64]

# A category of more levels is told by statistics of targets.
MOST_LEVELS = 10


@dataclass(frozen=True, eq=False)
class Columns:
    """How the columns of a table become numbers.

    Attributes
    ----------
    encoders : tuple of Encoder
    copies : bool
        Whether most rows are there more than once, so that copies are told apart by their order.
    relations : Relations or None
        How numbers depend on each other, where some are missing.
    """

    encoders: tuple[Any, ...]
    copies: bool = False
    relations: Relations | None = None

    @classmethod
    def read(
        cls, blocks: Iterable[tuple[Table, Array | None, Array | None]], copies: bool | None = None
    ) -> Columns:
        """Read blocks of (table, targets, weights), in one pass."""
        readers: list[_Reader] = []
        samples: list[tuple[NDArray[np.uint64], Array]] = []
        for table, targets, weights in blocks:
            if weights is not None:  # rows without weight are not there
                there = weights > 0
                table, weights = table.some(there), weights[there]
                targets = None if targets is None else targets[there]
            if copies is None:
                copies = copies_prevail(table)
            if not readers:
                readers = [_Reader(column.name) for column in table.columns]
            _check_width(len(readers), table)
            each = np.ones(table.n_rows) if weights is None else weights
            keys = keys_of(table)
            folds = folds_of(keys, copies)
            first = np.argsort(keys, kind="stable")[:ROWS]
            rows = np.column_stack([column.values[first] for column in table.columns])
            samples.append((keys[first], rows))
            for reader, column in zip(readers, table.columns, strict=True):
                reader.add(column, targets, each, folds)
        encoders = tuple(reader.done() for reader in readers)
        if not samples:
            raise ValueError("There are no rows to read the frame from.")
        keys, rows = (np.concatenate(parts) for parts in zip(*samples, strict=True))
        numbers = [encoder.kind == NUMBER for encoder in encoders]
        sample = rows[np.argsort(keys, kind="stable")[:ROWS]][:, numbers].astype(np.float64)
        return cls(encoders, bool(copies), Relations.of(sample))

    @classmethod
    def of_numbers(cls, table: Table, means: Array) -> Columns:
        """Numbers of which none was missing when they were read."""
        _check_width(len(means), table)
        pairs = zip(table.columns, means.tolist(), strict=True)
        return cls(tuple(Number(column.name, value, 0.0) for column, value in pairs))

    def encode(self, table: Table, training: bool = False) -> Array:
        """Rows as numbers; of ``training`` rows statistics of targets leave out their own fold."""
        _check_width(len(self.encoders), table)
        told = any(isinstance(encoder, Targets) for encoder in self.encoders)
        folds = folds_of(keys_of(table), self.copies) if training and told else None
        blocks, strange = [], []
        for encoder, column in zip(self.encoders, self._guessed(table), strict=True):
            if column.kind not in (encoder.kind, NOTHING):
                raise ValueError(
                    f"Column {encoder.name!r} was a {encoder.kind} in training and is a "
                    f"{column.kind} now."
                )
            if column.kind == NOTHING:
                column = _nothing(encoder.kind, column)
            block, unknown = encoder.encode(column, folds)
            blocks.append(block)
            if unknown:
                strange.append(f"{encoder.name!r} has {unknown}")
        if strange:
            more = f" and {len(strange) - 5} more columns" if len(strange) > 5 else ""
            warnings.warn(
                f"Column {'; '.join(strange[:5])}{more}: the mean is taken for them.",
                stacklevel=6,
            )
        return np.hstack(blocks) if blocks else np.empty((table.n_rows, 0))

    def _guessed(self, table: Table) -> list[Column]:
        """The columns, with guesses for numbers that are missing."""
        columns = list(table.columns)
        places = [j for j, encoder in enumerate(self.encoders) if encoder.kind == NUMBER]
        if self.relations is None or any(columns[j].kind == CATEGORY for j in places):
            return columns
        guesses = self.relations(np.column_stack([columns[j].values for j in places]))
        for j, guess in zip(places, guesses.T, strict=True):
            columns[j] = replace(columns[j], guess=guess)
        return columns

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Which column of the table every column of numbers comes from."""
        return np.repeat(np.arange(len(self.encoders)), [len(e.parts) for e in self.encoders])

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Numbers that are the same where columns share a scale."""
        found: list[int] = []
        for encoder in self.encoders:
            first = max(found, default=-1) + 1
            found += [first + group for group in encoder.groups]
        return np.array(found, dtype=np.intp)

    @property
    def units(self) -> Array:
        """Scales of columns of 0 and 1; nan of others."""
        return np.array([unit for encoder in self.encoders for unit in encoder.units])

    @property
    def parts(self) -> list[str]:
        return [part for encoder in self.encoders for part in encoder.parts]

    @property
    def categories(self) -> list[int]:
        """Which columns of the table are categories."""
        return [j for j, encoder in enumerate(self.encoders) if encoder.kind == CATEGORY]

    def summed(self, shares: Array) -> Array:
        """Shares of the columns of numbers, for the columns of the table."""
        found = np.zeros(len(self.encoders))
        np.add.at(found, self.places, shares)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("encoders", "copies", "relations")}


def _check_width(expected: int, table: Table) -> None:
    if table.shape[1] != expected:
        raise ValueError(f"X has {table.shape[1]} columns, and {expected} are expected.")


def _nothing(kind: str, column: Column) -> Column:
    values = np.full(len(column.values), -1) if kind == CATEGORY else column.values
    return Column(column.name, kind, values)


@dataclass
class _Reader:
    """What a pass over the rows leaves of a column."""

    name: str
    kind: str = NOTHING
    weight: float = 0.0
    missing: float = 0.0
    total: float = 0.0
    lower: float = np.inf
    upper: float = -np.inf
    timed: bool = False
    sums: LevelSums = field(default_factory=LevelSums)

    def add(self, column: Column, targets: Array | None, weights: Array, folds: NDArray) -> None:
        if column.kind != NOTHING and self.kind == NOTHING:
            self.kind = column.kind
        if column.kind not in (self.kind, NOTHING):
            raise ValueError(
                f"Column {self.name!r} is a {self.kind} in one block and a {column.kind} in "
                "another."
            )
        missing = column.missing
        self.missing += float(weights[missing].sum())
        self.weight += float(weights.sum())
        if self.kind == CATEGORY:
            self.sums.add(
                _nothing(CATEGORY, column) if column.kind == NOTHING else column,
                targets,
                weights,
                folds,
            )
            return
        there = ~missing
        values = column.values[there]
        if not len(values):
            return
        self.total += float(weights[there] @ values)
        self.lower, self.upper = min(self.lower, values.min()), max(self.upper, values.max())
        self.timed |= bool((values % DAY != 0).any())

    def done(self) -> Any:
        if self.kind == CATEGORY:
            levels, few = self.sums.levels(MOST_LEVELS)
            if few:
                return OneHot(self.name, levels)
            return Targets(self.name, levels, self.sums.statistics(levels))
        there = self.weight - self.missing
        mean = self.total / there if there > 0 else 0.0
        share = self.missing / self.weight if self.weight > 0 else 0.0
        if self.kind != DATE:
            return Number(self.name, mean, share)
        span = self.upper - self.lower
        periods = [
            name
            for name, length in PERIODS.items()
            if span > length and (name != "day" or self.timed)
        ]
        return Date(self.name, mean, share, tuple(periods))
