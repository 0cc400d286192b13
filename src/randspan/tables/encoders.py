"""What was read from one column, and how it becomes numbers.

A number that is missing keeps a place for a guess, and a column of 0 and 1 beside it says where. A
category of few levels is one-hot; of many, it is what is known of the targets of a level
(`statistics`). A date is a number of days, and its place in the year, the month, the week and the
day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .levels import HOLES, Levels
from .reading import CATEGORY, DATE, NUMBER, Column
from .statistics import TargetStatistics

Array = NDArray[np.float64]

# What columns of 0 and 1 are multiplied by, in place of 1/standard deviation (docs/tables.md).
FLAG, LEVEL = np.nan, 1.0
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
