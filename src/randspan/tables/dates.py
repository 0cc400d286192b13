"""Dates as people write them.

With the year first, with the name of the month, or as three numbers. Whether 01/02/2024 is in
January or in February is a matter of the column as a whole: one entry such as 18/02/2024 tells.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .amounts import NEARLY_ALL, plainly, readable
from .reading import DATE

YEAR, DAY, MONTH = "year", "day", "month"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Years of two digits up to this are of the 21st century.
LAST_SHORT = 68
EPOCH = datetime.datetime(1970, 1, 1)

_NAME = (
    "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,?\s+)?"
_TIME = (
    r"(?:(?:t|,?\s+)(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*(?:([ap])\.?m\.?)?"
    r"\s*(?:z|utc|gmt|[+-]\d{2}:?\d{2})?)?"
)
_COMPILED = {
    YEAR: (r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?", "y.md"),
    "compact": (r"((?:19|20)\d{2})(\d{2})(\d{2})", "ymd"),
    "numbers": (r"(\d{1,2})([-/. ])(\d{1,2})\2(\d{4}|\d{2})", "a.by"),
    "day, name": (
        rf"(\d{{1,2}})(?:st|nd|rd|th)?\.?[-/\s]*{_NAME}\.?,?[-/\s]*(\d{{4}}|\d{{2}})",
        "dmy",
    ),
    "name, day": (rf"{_NAME}\.?[-/\s]*(\d{{1,2}})(?:st|nd|rd|th)?,?[-/\s]+(\d{{4}})", "mdy"),
    "name": (rf"{_NAME}\.?,?[-/\s]+(\d{{4}})", "my"),
}
PATTERNS = [
    (kind, re.compile(_WEEKDAY + pattern + _TIME, re.ASCII | re.IGNORECASE), places)
    for kind, (pattern, places) in _COMPILED.items()
]


@dataclass(frozen=True)
class WrittenDate:
    """A text of a date; ``first`` and ``second`` are day and month in either order, if set."""

    year: int
    month: int
    day: int
    seconds: float
    first: int = 0
    second: int = 0

    @classmethod
    def of(cls, text: Any) -> WrittenDate | None:
        """None where it is no text of a date."""
        text = plainly(text)
        for _, pattern, places in PATTERNS:
            found = pattern.fullmatch(text)
            if found is None:
                continue
            *fields, hour, minute, second, half = found.groups()
            known = dict(zip(places, fields, strict=True))
            seconds = _seconds(hour, minute, second, half)
            year = _year(known["y"])
            if "a" in known:
                short = len(known["y"]) == 2 and known["."] != "/"
                if short and not len(known["a"]) == len(known["b"]) == 2:
                    return None
                return cls(year, 0, 0, seconds, int(known["a"]), int(known["b"]))
            return cls(year, _month(known["m"]), int(known.get("d") or 1), seconds)
        return None

    def value(self, order: str) -> float:
        """Seconds since 1970, nan where there is no such day."""
        day, month = self.day, self.month
        if self.first:
            day, month = (self.first, self.second) if order == DAY else (self.second, self.first)
        try:
            date = datetime.datetime(self.year, month, day)
        except ValueError:
            return np.nan
        return (date - EPOCH).total_seconds() + self.seconds


@dataclass(frozen=True)
class Dates:
    """Dates; of three numbers whose last is the year, ``order`` says which one comes first.

    Attributes
    ----------
    order : {"year", "day", "month"}
    undecided : bool
        Whether all rows could be read in the other order as well.
    odd : bool
        Whether some training rows held other text, which counts as missing.
    """

    order: str = YEAR
    undecided: bool = False
    odd: bool = False
    kind: ClassVar[str] = DATE

    @property
    def told(self) -> str:
        if self.order == YEAR:
            return "dates"
        other = MONTH if self.order == DAY else DAY
        return f"dates, {self.order} first" + (
            f" ({other} first fits as well)" if self.undecided else ""
        )

    def __call__(self, text: Any) -> float:
        """Seconds since 1970, nan where it is written otherwise."""
        written = WrittenDate.of(text)
        return np.nan if written is None else self.value(written)

    def value(self, written: WrittenDate) -> float:
        return np.nan if written.first and self.order == YEAR else written.value(self.order)


def dates_of(
    levels: Sequence[Any], counts: Sequence[int], least: float = NEARLY_ALL
) -> Dates | None:
    """How dates are written, if (nearly) all rows hold one."""
    total, written = sum(counts), readable(WrittenDate.of, levels, counts, least)
    if not written:
        return None
    order, undecided = _order([one for one, _ in written if one.first])
    form = Dates(order)
    fits = {
        name: sum(
            count for one, count in written if Dates(name).value(one) == Dates(name).value(one)
        )
        for name in ({order} if order == YEAR else (DAY, MONTH))
    }
    if len(fits) > 1 and fits[DAY] != fits[MONTH]:
        form, undecided = Dates(max(fits, key=lambda name: fits[name])), False
    known = fits[form.order]
    if not known or known < least * total:
        return None
    return Dates(form.order, undecided, known < total)


def _order(written: Sequence[WrittenDate]) -> tuple[str, bool]:
    """The order of dates of three numbers that could be read in both, and whether it is a guess.

    Of the first days of months, over more than a year, the day is the number that is always 1.
    """
    if not written:
        return YEAR, False
    first, second, years = (
        {getattr(one, name) for one in written} for name in ("first", "second", "year")
    )
    if len(years) > 1 and len(first) != len(second) and {1} in (first, second):
        return (DAY if first == {1} else MONTH), False
    return DAY, True


def _year(digits: str) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (2000 if year <= LAST_SHORT else 1900)


def _month(name: str) -> int:
    return int(name) if name.isdigit() else MONTHS.index(name[:3].lower()) + 1


def _seconds(hour: str | None, minute: str | None, second: str | None, half: str | None) -> float:
    """Seconds of the day; nan where there is no such time."""
    if hour is None or minute is None:
        return 0.0
    hours, minutes, seconds = int(hour), int(minute), float(second or 0)
    if half:
        if not 1 <= hours <= 12:
            return np.nan
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    if hours > 23 or minutes > 59 or seconds >= 61:
        return np.nan
    return 3600.0 * hours + 60.0 * minutes + seconds


#: what reads texts of dates where nothing more is known of them
ISO = Dates()
