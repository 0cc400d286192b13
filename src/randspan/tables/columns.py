"""Columns of a table as numbers: read once, part of the frame.

A number that is missing is guessed from those of its row that are known (`relations`), and a column
of 0 and 1 beside it says where. A category of few levels is one-hot; of many, it is what is known
of the targets of a level (`statistics`). A date is a number of days, and its place in the year, the
month, the week and the day.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .folds import copies_prevail, folds_of, keys_of
from .levels import HOLES, Levels, LevelSums
from .reading import CATEGORY, DATE, NOTHING, NUMBER, Column, Table
from .relations import ROWS, Relations
from .statistics import TargetStatistics

Array = NDArray[np.float64]

# What columns of 0 and 1 are multiplied by, in place of 1/standard deviation (docs/tables.md).
FLAG, LEVEL = np.nan, 1.0
# A category of more levels is told by statistics of targets.
MOST_LEVELS = 10
DAY = 86_400.0
PERIODS = {"year": 365.2425 * DAY, "month": 365.2425 / 12 * DAY, "week": 7 * DAY, "day": DAY}


class Encoder(Protocol):
    """What was read from a column: how it becomes numbers."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def parts(self) -> list[str]:
        """Names of the columns that it becomes."""

    @property
    def groups(self) -> list[int]:
        """Which of them share a scale."""

    @property
    def units(self) -> list[float]:
        """Their scales, nan where these are read from rows."""

    @property
    def told(self) -> str:
        """What was read, for people."""

    def encode(self, column: Column, folds: NDArray | None) -> tuple[Array, str]:
        """The columns, and what was not known of them before, if anything."""


@dataclass(frozen=True, eq=False)
class Number:
    """x, or what was guessed where it is missing, and whether it is; the mean where none was."""

    name: str
    mean: float
    holes: float
    kind: str = NUMBER

    @property
    def parts(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: 1 + (self.holes > 0)]

    @property
    def groups(self) -> list[int]:
        return list(range(len(self.parts)))

    @property
    def units(self) -> list[float]:
        return [np.nan, FLAG][: len(self.parts)]

    @property
    def told(self) -> str:
        return f"mean {self.mean:.4g}"

    def encode(self, column, folds):
        missing = column.missing
        if not self.holes:
            values = np.where(missing, self.mean, column.values)
            return values[:, None], HOLES if missing.any() else ""
        guess = self.mean if column.guess is None else column.guess
        return np.column_stack([np.where(missing, guess, column.values), missing]), ""


@dataclass(frozen=True, eq=False)
class Date:
    """Days since the mean date, and places in periods that dates span."""

    name: str
    mean: float
    holes: float
    periods: tuple[str, ...]
    kind: str = DATE

    @property
    def parts(self) -> list[str]:
        places = [
            f"{self.name} {what} of {period}" for period in self.periods for what in ("sin", "cos")
        ]
        return [self.name, *places, *([f"{self.name} is missing"] if self.holes else [])]

    @property
    def groups(self) -> list[int]:
        pairs = [1 + i // 2 for i in range(2 * len(self.periods))]
        return [0, *pairs, *([1 + len(self.periods)] if self.holes else [])]

    @property
    def units(self) -> list[float]:
        return [np.nan] * (1 + 2 * len(self.periods)) + [FLAG] * (self.holes > 0)

    @property
    def told(self) -> str:
        mean = np.datetime64(round(self.mean), "s") if np.isfinite(self.mean) else "none"
        places = f"; place in {', '.join(self.periods)}" if self.periods else ""
        return f"mean {mean}{places}"

    def encode(self, column, folds):
        missing = column.missing
        away = np.where(missing, 0.0, column.values - self.mean)
        columns = [away / DAY]
        for period in self.periods:
            turn = 2 * np.pi * np.where(missing, 0.0, column.values) / PERIODS[period]
            # In the middle of the circle where nothing is known.
            columns += [np.where(missing, 0.0, np.sin(turn)), np.where(missing, 0.0, np.cos(turn))]
        if self.holes:
            return np.column_stack([*columns, missing]), ""
        return np.column_stack(columns), HOLES if missing.any() else ""


class _Category:
    """Columns that are told by levels; levels that are numbers keep their order in one beside."""

    name: str
    levels: Levels
    #: the scale of columns of levels
    unit: float

    @property
    def holes(self) -> float:
        return self.levels.holes

    @property
    def by_level(self) -> list[str]:
        """Names of the columns that are told by levels."""
        raise NotImplementedError

    @property
    def parts(self) -> list[str]:
        return self.by_level if self.levels.numbers is None else [*self.by_level, self.name]

    @property
    def groups(self) -> list[int]:
        return [0] * len(self.by_level) + [1] * (self.levels.numbers is not None)

    @property
    def units(self) -> list[float]:
        return [self.unit] * len(self.by_level) + [np.nan] * (self.levels.numbers is not None)

    def _and_order(self, found: Array, column: Column) -> Array:
        if self.levels.numbers is None:
            return found
        return np.column_stack([found, self.levels.as_numbers(column)])


@dataclass(frozen=True, eq=False)
class OneHot(_Category):
    """A column of 0 and 1 for every level; rare levels share one."""

    name: str
    levels: Levels
    kind: str = CATEGORY

    unit = property(lambda self: LEVEL)

    @property
    def by_level(self) -> list[str]:
        return [f"{self.name} = {level}" for level in self.levels.shown]

    @property
    def told(self) -> str:
        pooled = self.levels.pooled
        return f"{len(self.levels.names)} levels" + (f", {pooled} of them rare" if pooled else "")

    def encode(self, column, folds):
        places, unknown = self.levels.places(column)
        table = np.vstack([np.eye(len(self.levels.shares)), self.levels.shares])  # last: not known
        return self._and_order(table[places], column), unknown


@dataclass(frozen=True, eq=False)
class Targets(_Category):
    """What is known of the targets of a level."""

    name: str
    levels: Levels
    statistics: TargetStatistics
    kind: str = CATEGORY

    unit = np.nan

    @property
    def by_level(self) -> list[str]:
        count = len(self.statistics.mean)
        return [f"target of {self.name}" + (f" {i}" if count > 1 else "") for i in range(count)]

    @property
    def told(self) -> str:
        strength = self.statistics.strength
        if np.isinf(strength).all():
            return f"{len(self.levels.names)} levels, which do not differ"
        rows = ", ".join("∞" if np.isinf(m) else f"{m:.3g}" for m in strength)
        return f"{len(self.levels.names)} levels, their targets and a prior of {rows} rows"

    def encode(self, column, folds):
        places, unknown = self.levels.places(column)
        return self._and_order(self.statistics(places, folds), column), unknown


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
