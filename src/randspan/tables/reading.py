"""What a data frame, or an array, holds in every column: numbers, categories or dates.

pandas, polars and pyarrow are read through narwhals, so that the same table gives the same bits.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

NUMBER, CATEGORY, DATE, NOTHING = "number", "category", "date", "nothing"
DATES = (datetime.date, np.datetime64)  # a datetime is a date
DURATIONS = (datetime.timedelta, np.timedelta64)


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
    """

    name: str
    kind: str
    values: NDArray
    levels: tuple = ()
    guess: NDArray | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        return self.values < 0 if self.kind == CATEGORY else np.isnan(self.values)


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

    def some(self, rows: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        return Table(columns, int(rows.sum()))

    @property
    def matrix(self) -> Array:
        """A plain table as an array."""
        return np.column_stack([column.values for column in self.columns])


def is_frame(X) -> bool:
    """Whether this is a data frame of pandas, polars or pyarrow."""
    return nw.dependencies.is_into_dataframe(X)


def read(X, categories=None) -> Table:
    """A data frame or an array as a table.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_columns)
    categories : sequence of names, of indices or of flags, optional
        Columns that are categories whatever their type.
    """
    if sparse.issparse(X):
        raise ValueError(
            "categories= is for dense tables; X is sparse: one-hot its categories beforehand."
        )
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        names, n_rows = [str(name) for name in frame.columns], len(frame)
        chosen = _chosen(categories, names)
        # By position: names may be there twice.
        columns = [_of_series(name, frame[:, j], j in chosen) for j, name in enumerate(names)]
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if array.ndim != 2:
            raise ValueError(f"Expected 2D array, got {array.ndim}D array instead.")
        names, n_rows = [f"x{j}" for j in range(array.shape[1])], len(array)
        chosen = _chosen(categories, names)
        columns = [_of_list(name, array[:, j], j in chosen) for j, name in enumerate(names)]
    return Table(tuple(columns), n_rows)


def of_array(X: NDArray, names: Sequence[str] | None = None) -> Table:
    """An array of numbers, nan where missing."""
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    columns = (
        Column(str(name), NUMBER, np.ascontiguousarray(X[:, j], dtype=np.float64))
        for j, name in enumerate(names)
    )
    return Table(tuple(columns), len(X))


def _chosen(categories, names: Sequence[str]) -> set[int]:
    """The places of columns that were called categories."""
    if categories is None:
        return set()
    wanted = [categories] if isinstance(categories, (str, Integral)) else list(categories)
    if wanted and all(isinstance(one, (bool, np.bool_)) for one in wanted):
        if len(wanted) != len(names):
            raise ValueError(
                f"categories has {len(wanted)} flags, X has {len(names)} columns: one for each."
            )
        return {j for j, flag in enumerate(wanted) if flag}
    found = set()
    for one in wanted:
        if isinstance(one, str) and one in names:
            found.add(names.index(one))
        elif isinstance(one, Integral) and -len(names) <= int(one) < len(names):
            found.add(int(one) % len(names))
        else:
            raise ValueError(
                f"categories names {one!r}, which is no column of X: its columns are "
                f"{', '.join(map(repr, names[:10]))}{' …' if len(names) > 10 else ''} "
                f"(0 to {len(names) - 1})."
            )
    return found


def _of_series(name: str, series: nw.Series, category: bool) -> Column:
    """A column of a data frame, by its type."""
    dtype = series.dtype
    words = dtype in (nw.String, nw.Categorical, nw.Enum)
    if words and not category and series.is_null().all():  # a column of None is called so, too
        return _of_list(name, series.to_list(), False)
    if category or words:
        return _category(name, series.to_list())
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(name, NUMBER, _floats(series))
    if dtype in (nw.Date, nw.Datetime):
        if dtype == nw.Date:
            series = series.cast(nw.Datetime("us"))
        elif getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)  # what clocks there show
        return Column(name, DATE, _floats(series.dt.timestamp("us")) / 1e6)
    if dtype == nw.Duration:
        return Column(name, NUMBER, _floats(series.dt.total_microseconds()) / 1e6)
    if dtype == nw.Object or series.is_null().all():
        return _of_list(name, series.to_list(), False)
    raise ValueError(
        f"Column {name!r} holds {dtype}: columns are numbers, categories (strings), dates or "
        "durations. Turn it into one of these, or leave it out."
    )


def _floats(series: nw.Series) -> Array:
    """Numbers, nan where missing."""
    missing = series.is_null().to_numpy()
    if missing.any():
        series = series.cast(nw.Float64).fill_null(np.nan)
    return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _of_list(name: str, values: Iterable[Any], category: bool) -> Column:
    """A column of Python objects, by what they are."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and not category:
        return Column(name, NUMBER, values.astype(np.float64))
    if category:
        return _category(name, values)
    items = [None if _is_missing(value) else value for value in values]
    present = [value for value in items if value is not None]
    if not present:
        return Column(name, NOTHING, np.full(len(items), np.nan))
    if all(isinstance(value, str) for value in present):
        return _category(name, items)
    if all(isinstance(value, (Real, np.bool_, decimal.Decimal)) for value in present):
        numbers = [np.nan if value is None else float(value) for value in items]
        return Column(name, NUMBER, np.array(numbers))
    for kind, known in ((DATE, DATES), (NUMBER, DURATIONS)):
        if all(isinstance(value, known) for value in present):
            return Column(name, kind, _seconds(items, kind == DATE))
    kinds = sorted({type(value).__name__ for value in present})
    raise ValueError(
        f"Column {name!r} holds {' and '.join(kinds)}: a column has one kind, numbers, strings, "
        "dates or durations. Turn dates into pandas' or polars' own type, durations into numbers "
        "of one unit, and other things into strings, or leave the column out."
    )


def _seconds(items: list, dates: bool) -> Array:
    if dates:  # what clocks there show, as in data frames
        items = [
            one.replace(tzinfo=None) if isinstance(one, datetime.datetime) else one for one in items
        ]
    kind = "datetime64[us]" if dates else "timedelta64[us]"
    values = np.array(["NaT" if one is None else one for one in items], dtype=kind)
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)


def _is_missing(value) -> bool:
    """None, nan, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def _category(name: str, values: Iterable[Any]) -> Column:
    places: dict[Any, int] = {}  # also of what is missing, which may be more than one thing
    levels: list[Any] = []
    codes = []
    try:
        for value in values.tolist() if isinstance(values, np.ndarray) else values:
            place = places.get(value)
            if place is None:
                place = -1 if _is_missing(value) else len(levels)
                places[value] = place
                if place >= 0:
                    levels.append(value)
            codes.append(place)
    except TypeError:
        raise ValueError(
            f"Column {name!r} cannot be a category: its values have no hash. Turn them into "
            "strings."
        ) from None
    return Column(name, CATEGORY, np.array(codes, dtype=np.int64), tuple(levels))
