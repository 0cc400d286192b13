"""What was read from one column, and how it becomes numbers.

Text of numbers and dates is read in the form that it had in training (`amounts`, `dates`).

A number that is missing keeps a place for a guess, and a column of 0 and 1 beside it says where. A
category of few levels is one-hot; of many, it is what is known of the targets of a level
(`statistics`). A date is a number of days, and its place in the year, the month, the week and the
day.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..text import short
from .amounts import PERCENT, PLAIN, Amounts, Flags, says_nothing
from .dates import ISO, Dates
from .levels import HOLES, Levels
from .reading import CATEGORY, DATE, IDENTIFIER, NOTHING, NUMBER, Column
from .recognition import as_levels, read_as
from .statistics import TargetStatistics

Array = NDArray[np.float64]

# What columns of 0 and 1 are multiplied by, in place of 1/standard deviation (docs/tables.md).
FLAG, LEVEL = np.nan, 1.0
DAY = 86_400.0
NO_USE = "hardly repeat, or whose targets differ by no more than chance"
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
    def width(self) -> int:
        """How many these are."""

    @property
    def groups(self) -> list[int]:
        """Which of them share a scale."""

    @property
    def units(self) -> list[float]:
        """Their scales, nan where these are read from rows."""

    @property
    def told(self) -> str:
        """What was read, for people."""

    @property
    def remark(self) -> str:
        """What people may not expect, if anything."""

    @property
    def expected(self) -> bool:
        """Whether who has said what the column is expects it."""

    def known(self, column: Column) -> Column:
        """The column as that of training was: of the same kind, with the same names of levels."""

    def encode(self, column: Column, folds: NDArray | None) -> tuple[Array, str]:
        """The columns, and what was not known of them before, if anything."""


def _alike(name: str, kind: str, column: Column) -> Column:
    """A column of this kind; one of another is refused."""
    if column.kind == kind:
        return column
    if column.kind == NOTHING:
        return column.holes(kind)
    some = "".join(f", such as {level!r}" for level in column.levels[:1])
    raise ValueError(
        f"Column {name!r} was a {kind} in training and is a {column.kind} now{some}: hand it in as "
        f"a {kind}."
    )


def _read(name: str, column: Column, form: Any, usual: Any) -> Column:
    """A column of text by its form, or as programs write it; refused where it is neither."""
    form = usual if form is None else form
    found = read_as(form, column)
    values = np.unique(column.values[np.isnan(found.values) & ~column.missing])
    strange = [column.levels[place] for place in values]
    odd = tuple(level for level in strange if not says_nothing(level))
    if odd and not form.odd:
        return _alike(name, form.kind, replace(column, levels=odd))
    return found


def _as_text(form: Any) -> str:
    return "" if form is None else f", from text of {form.told}"


def _remark(form: Any) -> str:
    """That text was read as something else."""
    if form is None:
        return ""
    return f"is read as {form.told}" + (", and text that is none as missing" if form.odd else "")


@dataclass(frozen=True, eq=False)
class Number:
    """x, or what was guessed where it is missing, and whether it is; the mean where none was."""

    name: str
    mean: float
    holes: float
    kind: str = NUMBER
    form: Amounts | Flags | None = None

    @property
    def parts(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: self.width]

    @property
    def width(self) -> int:
        return 1 + (self.holes > 0)

    @property
    def groups(self) -> list[int]:
        return list(range(self.width))

    @property
    def units(self) -> list[float]:
        return [np.nan, FLAG][: self.width]

    @property
    def told(self) -> str:
        return f"mean {short(self.mean)}{_as_text(self.form)}"

    @property
    def remark(self) -> str:
        return _remark(self.form)

    @property
    def expected(self) -> bool:
        return self.form is None or not self.form.odd

    def known(self, column):
        """Text of numbers is read as numbers."""
        if column.kind == CATEGORY:
            return _read(self.name, column, self.form, PLAIN)
        if (
            column.kind == NUMBER
            and column.form is None
            and getattr(self.form, "unit", "") == PERCENT
        ):
            raise ValueError(
                f"Column {self.name!r} was text of percentages in training and holds numbers now, "
                "which could be shares or percent: hand it in as text, such as '5%'."
            )
        return _alike(self.name, self.kind, column)

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
    form: Dates | None = None

    @property
    def parts(self) -> list[str]:
        places = [
            f"{self.name} {what} of {period}" for period in self.periods for what in ("sin", "cos")
        ]
        return [self.name, *places, *([f"{self.name} is missing"] if self.holes else [])]

    @property
    def width(self) -> int:
        return 1 + 2 * len(self.periods) + (self.holes > 0)

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
        return f"mean {mean}{places}{_as_text(self.form)}"

    @property
    def remark(self) -> str:
        return _remark(self.form)

    @property
    def expected(self) -> bool:
        return self.form is None or not self.form.odd

    def known(self, column):
        """Text of dates is read as dates, and numbers such as 20240131 where training had these."""
        if column.kind == NUMBER and self.form is not None:
            column = as_levels(column)
        if column.kind == CATEGORY:
            return _read(self.name, column, self.form, ISO)
        return _alike(self.name, self.kind, column)

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


@dataclass(frozen=True, eq=False)
class Identifier:
    """A column that names rows, and says nothing of new ones: it is left out.

    ``alone``: a constant stands in its place where there is no other column.
    """

    name: str
    n_levels: int
    holes: float
    alone: bool = False
    kind: str = IDENTIFIER

    expected = True
    width = property(lambda self: int(self.alone))
    parts = property(lambda self: [self.name] * self.width)
    groups = property(lambda self: [0] * self.width)
    units = property(lambda self: [FLAG] * self.width)

    @property
    def told(self) -> str:
        return f"{self.n_levels} levels, left out" if self.n_levels else "left out"

    @property
    def remark(self) -> str:
        if not self.n_levels:
            return ""
        return f"is left out as an identifier ({self.n_levels} levels that {NO_USE})"

    def known(self, column):
        """Rows are what they would be without it."""
        return Column(self.name, NUMBER, np.zeros(len(column.values)))

    def encode(self, column, folds):
        return np.zeros((len(column.values), self.width)), ""


class _Category:
    """Columns that are told by levels; levels that are numbers keep their order in one beside."""

    name: str
    kind: str
    levels: Levels
    #: the scale of columns of levels
    unit: float
    expected = True

    @property
    def holes(self) -> float:
        return self.levels.holes

    @property
    def by_level(self) -> list[str]:
        """Names of the columns that are told by levels."""
        raise NotImplementedError

    @property
    def n_by_level(self) -> int:
        """How many these are."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        return self.n_by_level + (self.levels.numbers is not None)

    @property
    def parts(self) -> list[str]:
        return self.by_level if self.levels.numbers is None else [*self.by_level, self.name]

    @property
    def groups(self) -> list[int]:
        return [0] * self.n_by_level + [1] * (self.levels.numbers is not None)

    @property
    def units(self) -> list[float]:
        return [self.unit] * self.n_by_level + [np.nan] * (self.levels.numbers is not None)

    @property
    def remark(self) -> str:
        if self.levels.begins:
            return f"is grouped by what its levels begin with ({self.levels.some})"
        if not self.levels.open:
            return ""
        kept, left = self.levels.some, self.levels.pooled
        return f"keeps its common levels ({kept}), and pools {left} others that {NO_USE}"

    def known(self, column: Column) -> Column:
        return self.levels.known(_alike(self.name, self.kind, column))

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
    def n_by_level(self) -> int:
        return len(self.levels.shares)

    @property
    def told(self) -> str:
        pooled = self.levels.pooled
        if self.levels.open:
            return f"{self.levels.some}, and {pooled} rare levels in one"
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
    def n_by_level(self) -> int:
        return len(self.statistics.mean)

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
