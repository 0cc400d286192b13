"""Text that is something else: numbers and dates.

It is read as these where (nearly) all rows of a column are written in one form (`amounts`,
`dates`). Which form that is depends on all rows of all blocks together, and on no order of them;
from then on it is part of the frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .amounts import amounts_of, flags_of, says_nothing
from .dates import dates_of
from .levels import RARE
from .reading import CATEGORY, DATE, IDENTIFIER, NOTHING, NUMBER, Column, Table

# So few levels are names of things, where numbers have no marks.
FEW = 10
# Of what its user calls numbers or dates so many rows must hold one.
MORE_THAN = 0.5


def recognised(tables: Sequence[Table]) -> list[Table]:
    """The tables, with text of numbers and dates as that; every column in one form."""
    parts = [list(table.columns) for table in tables]
    for j in range(len(parts[0]) if parts else 0):
        several = [columns[j] for columns in parts if columns[j].kind == CATEGORY]
        form = form_of(several) if several else None
        if form is not None:
            for columns in parts:
                if columns[j].kind == CATEGORY:
                    columns[j] = read_as(form, columns[j])
        for columns in parts:
            _check_wanted(columns[j])
    return [Table(tuple(c), table.n_rows) for c, table in zip(parts, tables, strict=True)]


def form_of(columns: Sequence[Column]) -> Any:
    """How text of a column is written in all its blocks, None where it is that of a category."""
    wanted = columns[0].wanted
    if wanted in (CATEGORY, IDENTIFIER) or not (wanted or all(one.text for one in columns)):
        return None
    counts: Counter[Any] = Counter()
    for column in columns:
        counts.update(column.counts)
    there = {level: count for level, count in counts.items() if level is not None}
    there = {level: count for level, count in there.items() if not says_nothing(level)}
    levels, rows = [text_of(level) for level in there], list(there.values())
    if not levels:
        return None
    if wanted:
        return _as_wanted(columns[0].name, wanted, levels, rows)
    dates = flags_of(levels) or dates_of(levels, rows)
    if dates is not None:
        return dates
    found = amounts_of(levels, rows)
    if found is None or (found.padded and not found.marked):
        return None
    if found.marked:
        return found.form
    # Whole numbers that come again and again may be names of things, too.
    again = 2 * sum(count for count in rows if count >= RARE) >= sum(rows)
    names = len(levels) <= FEW or (found.whole and not found.form.odd and again)
    return None if names else found.form


def _check_wanted(column: Column) -> None:
    """Refuse a date that was called a number, or a number that was called a date."""
    if column.wanted in (NUMBER, DATE) and column.kind not in (column.wanted, NOTHING):
        raise ValueError(
            f"columns= calls {column.name!r} a {column.wanted}, and it is a {column.kind}: turn it "
            f"into a {column.wanted}, or leave it out of columns=."
        )


def _as_wanted(name: str, wanted: str, levels: list[str], rows: list[int]) -> Any:
    if wanted == DATE:
        form: Any = dates_of(levels, rows, MORE_THAN)
    else:
        found = amounts_of(levels, rows, MORE_THAN)
        form = flags_of(levels) or (None if found is None else found.form)
    if form is None:
        what = "dates" if wanted == DATE else "numbers"
        raise ValueError(
            f"columns= calls {name!r} a {wanted}, and fewer than half of its entries can be read "
            f"as {what}, such as {levels[0]!r}: turn them into {what}, or leave it out of columns=."
        )
    return form


def text_of(level: Any) -> str:
    """A level as it would be written: 20240131.0 is 20240131."""
    whole = isinstance(level, float) and level.is_integer()
    return str(int(level)) if whole else str(level)


def as_levels(column: Column) -> Column:
    """A column of numbers as levels."""
    known, places = np.unique(column.values, return_inverse=True)  # nan is the last
    levels = tuple(known[~np.isnan(known)].tolist())
    at = np.where(places < len(levels), places, -1)
    return Column(column.name, CATEGORY, at, levels)


def read_as(form: Any, column: Column) -> Column:
    """A column of text as numbers or dates; nan where it holds none."""
    values = np.array([*(form(text_of(level)) for level in column.levels), np.nan])
    return Column(column.name, form.kind, values[column.values], wanted=column.wanted, form=form)
