"""What a data frame, or an array, holds in every column: numbers, categories or dates.

pandas, polars and pyarrow are read through narwhals, so that the same table gives the same bits.
"""

from __future__ import annotations

import datetime
import decimal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..checks import check_choice
from ..keys import Keys, mixed, odd_numbers

Array = NDArray[np.float64]

NUMBER, CATEGORY, DATE, NOTHING = "number", "category", "date", "nothing"
IDENTIFIER = "identifier"
#: what ``columns=`` may call a column
KINDS = (CATEGORY, NUMBER, DATE, IDENTIFIER)
DATES = (datetime.date, np.datetime64)  # a datetime is a date
DURATIONS = (datetime.timedelta, np.timedelta64)  # of which numpy's are numbers, too
NUMBERS = (Real, np.bool_, decimal.Decimal)
# The hash of a cell that is missing.
HOLE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "nothing"}
        "nothing" where all is missing and no type says more.
    values : ndarray of shape (n_rows,)
        Numbers, seconds since 1970 (both nan where missing), or places in ``levels`` (-1).
    levels : tuple
        The levels of these rows.
    guess : ndarray of shape (n_rows,), optional
        Numbers to take where they are missing.
    text : bool
        Whether levels are text, which may be that of numbers or dates.
    wanted : str
        What its user called it, if anything.
    form : Amounts, Flags, Dates or None
        How the numbers or dates were written, where they came as text.
    begins : bool
        Whether levels are what names begin with.
    """

    name: str
    kind: str
    values: NDArray
    levels: tuple = ()
    guess: NDArray | None = None
    text: bool = False
    wanted: str = ""
    form: Any = None
    begins: bool = False

    @property
    def missing(self) -> NDArray[np.bool_]:
        return self.values < 0 if self.kind == CATEGORY else np.isnan(self.values)

    def holes(self, kind: str) -> Column:
        """A column of nothing as one of some kind."""
        values = np.full(len(self.values), -1) if kind == CATEGORY else self.values
        return Column(self.name, kind, values)

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows every level has, None what is missing."""
        found = np.bincount(self.values + 1, minlength=len(self.levels) + 1)
        pairs = zip((None, *self.levels), found.tolist(), strict=True)
        return {level: count for level, count in pairs if count}

    def renamed(self, names: Sequence[Any]) -> Column:
        """The column with other names of levels, of which some may be the same."""
        places: dict[Any, int] = {}
        at = [places.setdefault(name, len(places)) for name in names]
        return replace(self, values=np.array([*at, -1])[self.values], levels=tuple(places))

    @property
    def hashes(self) -> Keys:
        """A hash of every cell: of its number, or of the level that stands there."""
        if self.kind == CATEGORY:
            return np.array([*map(_hash, self.levels), HOLE], dtype=np.uint64)[self.values]
        return np.where(np.isnan(self.values), HOLE, mixed(self.values))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of the same length."""

    columns: tuple[Column, ...]
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.columns)

    @property
    def plain(self) -> bool:
        """Whether all are numbers, and none is missing."""
        return all(c.kind == NUMBER and not c.missing.any() for c in self.columns)

    @cached_property
    def keys(self) -> Keys:
        """The key of every row, for numbers that of a matrix of them (`keys.fingerprints`)."""
        keys = np.zeros(self.n_rows, dtype=np.uint64)
        for column, odd in zip(self.columns, odd_numbers(len(self.columns)), strict=True):
            keys += column.hashes * odd
        return keys

    def some(self, rows: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        return Table(columns, int(rows.sum()))

    @property
    def matrix(self) -> Array:
        """A plain table as an array."""
        return np.column_stack([column.values for column in self.columns])


def _hash(level: Any) -> np.uint64:
    """That of a number where a level is one, of its text otherwise: the same for 1 and 1.0."""
    number = number_of(level)
    if number == level:  # not of whole numbers beyond those that floats hold
        return mixed(np.array([number]))[0]
    return np.frombuffer(blake2b(str(level).encode(), digest_size=8).digest(), np.uint64)[0]


def number_of(level: Any) -> float:
    """A level as a number, text of a number too; nan where it is none."""
    try:
        return float(level)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def is_frame(X) -> bool:
    """Whether this is a data frame of pandas, polars or pyarrow."""
    return nw.dependencies.is_into_dataframe(X)


def read(X, categories=None, columns=None) -> Table:
    """A data frame or an array as a table.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_columns)
    categories : sequence of names, of indices or of flags, optional
        Columns that are categories whatever their type.
    columns : dict, optional
        What columns are, by names or indices: one of ``KINDS``.
    """
    if sparse.issparse(X):
        raise ValueError(
            "categories= and columns= are for dense tables; X is sparse: one-hot its categories "
            "beforehand."
        )
    if is_frame(X):
        names = names_of(X)
        frame = nw.from_native(X, eager_only=True)
        n_rows, wanted = len(frame), _wanted(categories, columns, names)
        found = [_of_series(name, frame[:, j], wanted[j]) for j, name in enumerate(names)]
    else:
        refuse_lazy(X)
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if array.ndim != 2:
            raise ValueError(f"Expected 2D array, got {array.ndim}D array instead.")
        names, n_rows = [f"x{j}" for j in range(array.shape[1])], len(array)
        wanted = _wanted(categories, columns, names)
        found = [_of_list(name, array[:, j], wanted[j]) for j, name in enumerate(names)]
    pairs = zip(found, wanted, strict=True)
    return Table(tuple(replace(column, wanted=kind) for column, kind in pairs), n_rows)


def refuse_lazy(X, name: str = "X") -> None:
    """Say how a table that has not been computed yet is handed in."""
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        kind = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
        raise ValueError(
            f"{name} is a {kind}, which holds no rows yet: call .collect() and hand in the result."
        )


def names_of(X) -> list[str]:
    """Names of the columns of a data frame; none may be there twice."""
    names = [str(name) for name in getattr(X, "column_names", X.columns)]  # pyarrow's first
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(
            f"X has more than one column named {', '.join(map(repr, twice[:5]))}: columns are told "
            "by their names. Rename them, or hand in an array."
        )
    return names


def of_array(X: NDArray, names: Sequence[str] | None = None) -> Table:
    """An array of numbers, nan where missing."""
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    columns = (
        Column(str(name), NUMBER, np.ascontiguousarray(X[:, j], dtype=np.float64))
        for j, name in enumerate(names)
    )
    return Table(tuple(columns), len(X))


def _wanted(categories, columns, names: Sequence[str]) -> list[str]:
    """What every column was called, "" where it was not."""
    chosen = _chosen(categories, names)
    wanted = [CATEGORY if j in chosen else "" for j in range(len(names))]
    if columns is None:
        return wanted
    if not isinstance(columns, Mapping):
        raise ValueError(
            "columns must be None or a dictionary from names or indices of columns to one of "
            f"{', '.join(map(repr, KINDS))}; got {columns!r}."
        )
    for one, kind in columns.items():
        check_choice(f"columns[{one!r}]", kind, KINDS)
        j = _place(one, names, "columns")
        if wanted[j] not in ("", kind):
            raise ValueError(
                f"Column {names[j]!r} is called a {wanted[j]} and a {kind} by categories= or "
                "columns=: call it one of them."
            )
        wanted[j] = kind
    return wanted


def _place(one: Any, names: Sequence[str], parameter: str) -> int:
    """The place of a column, by its name or index."""
    if isinstance(one, str) and one in names:
        return names.index(one)
    at = int(one) if isinstance(one, Integral) and not isinstance(one, bool) else len(names)
    if -len(names) <= at < len(names):
        return at % len(names)
    raise ValueError(
        f"{parameter} names {one!r}, which is no column of X: its columns are "
        f"{', '.join(map(repr, names[:10]))}{' …' if len(names) > 10 else ''} "
        f"(0 to {len(names) - 1})."
    )


def _chosen(categories, names: Sequence[str]) -> set[int]:
    """The places of columns that were called categories."""
    if categories is None:
        return set()
    if not isinstance(categories, (str, Integral, Iterable)):
        raise ValueError(
            "categories must be None or a sequence of names, indices or flags of columns, got "
            f"{categories!r}."
        )
    wanted = [categories] if isinstance(categories, (str, Integral)) else list(categories)
    if wanted and all(isinstance(one, (bool, np.bool_)) for one in wanted):
        if len(wanted) != len(names):
            raise ValueError(
                f"categories has {len(wanted)} flags, X has {len(names)} columns: one for each."
            )
        return {j for j, flag in enumerate(wanted) if flag}
    return {_place(one, names, "categories") for one in wanted}


def _of_series(name: str, series: nw.Series, wanted: str) -> Column:
    """A column of a data frame, by its type."""
    native = series.to_native()
    if getattr(getattr(native, "dtype", None), "tz", None) is not None:
        # What clocks there show; narwhals does not know all of pandas' time zones.
        series = nw.from_native(native.dt.tz_localize(None), series_only=True)
    dtype = series.dtype
    words = dtype in (nw.String, nw.Categorical, nw.Enum)
    category = wanted == CATEGORY or (wanted == DATE and dtype.is_numeric())
    if words and not category and series.is_null().all():  # a column of None is called so, too
        return _of_list(name, series.to_list(), "")
    if category or words:
        return _category(name, series.to_list(), dtype == nw.String)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(name, NUMBER, _floats(series))
    if dtype in (nw.Date, nw.Datetime):
        if dtype == nw.Date:
            series = series.cast(nw.Datetime("us"))
        elif getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)
        return Column(name, DATE, _floats(series.dt.timestamp("us")) / 1e6)
    if dtype == nw.Duration:
        return Column(name, NUMBER, _floats(series.dt.total_microseconds()) / 1e6)
    return _of_list(name, series.to_list(), wanted, str(dtype))


def _floats(series: nw.Series) -> Array:
    """Numbers, nan where missing."""
    if series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128):
        # pyarrow does not cast numbers that floats do not hold.
        return np.array(series.to_numpy(), dtype=np.float64)
    missing = series.is_null().to_numpy()
    if missing.any():
        series = series.cast(nw.Float64).fill_null(np.nan)
    return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _of_list(name: str, values: Iterable[Any], wanted: str, called: str = "") -> Column:
    """A column of Python objects, by what they are; the type that it was ``called``."""
    typed = isinstance(values, np.ndarray) and values.dtype.kind in "fiub"
    category = wanted == CATEGORY or (wanted == DATE and typed)
    if isinstance(values, np.ndarray) and typed and not category:
        return Column(name, NUMBER, values.astype(np.float64))
    if category:
        return _category(name, values)
    items = [None if is_missing(value) else value for value in values]
    present = [value for value in items if value is not None]
    if not present:
        return Column(name, NOTHING, np.full(len(items), np.nan))
    if all(isinstance(value, str) for value in present):
        return _category(name, items, True)
    for kind, known in ((DATE, DATES), (NUMBER, DURATIONS)):
        if all(isinstance(value, known) for value in present):
            return Column(name, kind, _seconds(items, kind == DATE))
    if all(isinstance(value, NUMBERS) for value in present):
        if wanted == DATE:
            return _category(name, items)
        numbers = [np.nan if value is None else float(value) for value in items]
        return Column(name, NUMBER, np.array(numbers))
    kinds = sorted({type(value).__name__ for value in present})
    called = "" if called in ("", "Unknown", "Object") else f" ({called})"
    raise ValueError(
        f"Column {name!r} holds {' and '.join(kinds)}{called}: a column has one kind, numbers, "
        "strings, dates or durations. Turn dates into pandas' or polars' own type, durations into "
        "numbers of one unit, and other things into strings, or leave the column out."
    )


def _seconds(items: list, dates: bool) -> Array:
    if dates:  # what clocks there show, as in data frames
        items = [
            one.replace(tzinfo=None) if isinstance(one, datetime.datetime) else one for one in items
        ]
    kind = "datetime64[us]" if dates else "timedelta64[us]"
    values = np.array(["NaT" if one is None else one for one in items], dtype=kind)
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)


def is_missing(value) -> bool:
    """None, nan, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def _level(value: Any) -> Any:
    """What files hold: text, flags and numbers; the text of anything else."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def _category(name: str, values: Iterable[Any], text: bool = False) -> Column:
    places: dict[Any, int] = {}  # also of what is missing, which may be more than one thing
    levels: list[Any] = []
    codes = []
    try:
        for value in values.tolist() if isinstance(values, np.ndarray) else values:
            place = places.get(value)
            if place is None:
                place = -1 if is_missing(value) else len(levels)
                places[value] = place
                if place >= 0:
                    levels.append(_level(value))
            codes.append(place)
    except TypeError:
        raise ValueError(
            f"Column {name!r} cannot be a category: its values have no hash. Turn them into "
            "strings."
        ) from None
    return Column(name, CATEGORY, np.array(codes, dtype=np.int64), tuple(levels), text=text)
