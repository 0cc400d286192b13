"""Numbers as people write them: with a currency, in percent, with thousands, as yes and no.

A text is taken apart into sign, unit and digits by itself; what its marks mean is a matter of the
column as a whole: "1.234" is 1234 beside "1.234,50", and 1.234 beside "12.5".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..checks import LARGEST
from .reading import NUMBER

# What stands for nothing in a column of numbers or dates.
NOTHING_WORDS = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "nan", "nat", "null", "none", "nil", "<na>", "-", "--"}
    | {"\u2013", "\u2014", "?", ".", "missing", "unknown", "not available"}
)
YES, NO = ("yes", "y", "true", "t", "on"), ("no", "n", "false", "f", "off")
PAIRS = ({"y", "n"}, {"t", "f"})
# The share of rows that must be written in one form; a number of more digits is a name.
NEARLY_ALL, MOST_DIGITS = 0.95, 15
LONGEST = 60

PERCENT = "%"
_SYMBOLS = "[A-Z]{0,3}[$€£¥₹₽₩₺₴₦₫฿₪¢₱₡₲₵₸₼]"
_CODES = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|"
    "MXN|MYR|NGN|NOK|NZD|PEN|PHP|PKR|PLN|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR|"
    r"kr\.?|zł|Kč|Ft|lei|Rs\.?|S?Fr\.?"
)
_UNIT = f"{_SYMBOLS}|{_CODES}|{PERCENT}"
_WRITTEN = re.compile(
    rf"(\()?\s*([+-])?\s*({_UNIT})?\s*([+-])?\s*"
    r"((?:[0-9][0-9.,' ]*|[.,][0-9]+)(?:(?<=[.,])-{1,2}|(?<=[0-9.])e[+-]?[0-9]{1,3})?)"
    rf"\s*(-)?\s*({_UNIT})?\s*(-)?\s*(\))?",
    re.ASCII | re.IGNORECASE,
)
_BODY = {
    ".": r"([1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}|[1-9][0-9]{0,2}(?:[ '][0-9]{3})+|[0-9]+)"
    r"(\.[0-9]*-{0,2})?(e[+-]?[0-9]+)?|(\.[0-9]+)(e[+-]?[0-9]+)?",
    ",": r"([1-9][0-9]{0,2}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?:[ '][0-9]{3})+|[0-9]+)"
    r"(,[0-9]*-{0,2})?(e[+-]?[0-9]+)?|(,[0-9]+)(e[+-]?[0-9]+)?",
}
_BODIES = {mark: re.compile(body, re.ASCII | re.IGNORECASE) for mark, body in _BODY.items()}
_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2019": "'"})


def plainly(text: Any) -> str:
    """A text with single spaces; nothing of one that is too long for a number or a date."""
    found = " ".join(str(text).split())
    return found if len(found) <= LONGEST else ""


def says_nothing(text: Any) -> bool:
    """Whether a text stands for a value that is missing."""
    return str(text).strip().lower() in NOTHING_WORDS


@dataclass(frozen=True)
class Written:
    """A text of a number: the unit, whether it is negative, and its digits with their marks."""

    unit: str
    negative: bool
    body: str

    @classmethod
    def of(cls, text: Any) -> Written | None:
        """None where it is no text of a number."""
        found = _WRITTEN.fullmatch(plainly(text).translate(_SIGNS))
        if found is None:
            return None
        opened, sign, before, inner, body, trail, after, last, closed = found.groups()
        signs = [one for one in (sign, inner, trail, last, opened) if one]
        if len(signs) > 1 or bool(opened) != bool(closed) or (before and after):
            return None
        unit = (before or after or "").upper().rstrip(".")
        return cls(unit, bool(signs) and signs != ["+"], body.strip())

    def value(self, decimal: str) -> float:
        """The number, given the mark of decimals; nan where it is written otherwise."""
        found = _BODIES[decimal].fullmatch(self.body)
        if found is None:
            return np.nan
        whole, part, power, alone, small = found.groups()
        digits = re.sub("[^0-9]", "", whole or "")
        fraction = (part or alone or "").strip(".,-")
        number = float(f"{digits or '0'}.{fraction or '0'}{power or small or ''}")
        if not number <= LARGEST:
            return np.nan
        number = -number if self.negative else number
        return number / 100 if self.unit == PERCENT else number


@dataclass(frozen=True)
class Amounts:
    """Numbers, with a currency or in percent, with marks of thousands and of decimals.

    Attributes
    ----------
    decimal : {".", ","}
        The mark of decimals; the other one is a mark of thousands.
    unit : str
        A currency, "%", or "".
    odd : bool
        Whether some training rows held other text, which counts as missing.
    """

    decimal: str = "."
    unit: str = ""
    odd: bool = False
    kind: ClassVar[str] = NUMBER

    @property
    def told(self) -> str:
        what = "percentages (5% is 0.05)" if self.unit == PERCENT else "numbers"
        what = f"amounts in {self.unit}" if self.unit not in ("", PERCENT) else what
        return what + (" with a decimal comma" if self.decimal == "," else "")

    def __call__(self, text: Any) -> float:
        """The number, nan where it is written otherwise."""
        if self.decimal == "." and self.unit != PERCENT:
            with suppress(ValueError):  # most are written as programs do
                number = float(text)
                return number if abs(number) <= LARGEST else np.nan
        written = Written.of(text)
        return np.nan if written is None else self.value(written)

    def value(self, written: Written) -> float:
        money = "" if self.unit == PERCENT else written.unit
        percent = (written.unit == PERCENT) == (self.unit == PERCENT)
        fits = percent and (money in ("", self.unit) or not self.unit)
        return written.value(self.decimal) if fits else np.nan


@dataclass(frozen=True)
class Flags:
    """Yes and no, true and false, on and off, or the first letters of these."""

    odd: bool = False
    kind: ClassVar[str] = NUMBER
    told: ClassVar[str] = "flags (yes is 1, no is 0)"

    def __call__(self, text: Any) -> float:
        word = str(text).strip().lower()
        return 1.0 if word in YES else 0.0 if word in NO else np.nan


@dataclass(frozen=True)
class Numerals:
    """What is to be known of a column of texts of numbers, to tell numbers from names."""

    form: Amounts
    marked: bool
    whole: bool
    padded: bool


def flags_of(levels: Sequence[Any]) -> Flags | None:
    """Flags, if all levels are."""
    words = {str(level).strip().lower() for level in levels}
    letters = {word for word in words if len(word) == 1}
    known = words <= {*YES, *NO} and (not letters or any(letters <= pair for pair in PAIRS))
    return Flags() if words and known else None


def readable(
    read: Callable[[Any], Any], levels: Sequence[Any], counts: Sequence[int], least: float
) -> list[tuple[Any, int]]:
    """What can be read of all levels, with their rows; nothing where that is too few of them."""
    odd, most, written = 0, (1 - least) * sum(counts), []
    for level, count in zip(levels, counts, strict=True):
        one = read(level)
        if one is not None:
            written.append((one, count))
            continue
        odd += count
        if odd > most:
            return []
    return written


def amounts_of(
    levels: Sequence[Any], counts: Sequence[int], least: float = NEARLY_ALL
) -> Numerals | None:
    """How numbers are written, if (nearly) all rows hold one."""
    total, written = sum(counts), readable(Written.of, levels, counts, least)
    if not written:
        return None
    form = _form(written)
    read = [(one, count) for one, count in written if form.value(one) == form.value(one)]
    known = sum(count for _, count in read)
    if not read or known < least * total:
        return None
    bodies = [one.body for one, _ in read]
    plain = [body for body in bodies if body.isdigit()]
    return Numerals(
        Amounts(form.decimal, form.unit, known < total),
        marked=bool(form.unit) or any(_is_marked(body, form.decimal) for body in bodies),
        whole=all(_is_whole(body) for body in bodies),
        padded=any((len(body) > 1 and body[0] == "0") or len(body) > MOST_DIGITS for body in plain),
    )


def _form(written: Sequence[tuple[Written, int]]) -> Amounts:
    """The unit that most rows have, if any, and the mark of decimals that fits most of them."""
    units: Counter[str] = Counter()
    for one, count in written:
        units[one.unit] += count
    percent = 2 * units[PERCENT] > units.total()
    money = {unit: count for unit, count in units.items() if unit not in ("", PERCENT)}
    unit = max(money, key=lambda one: (money[one], one), default="")
    unit = PERCENT if percent else unit
    forms = {mark: Amounts(mark, unit) for mark in ".,"}
    values = {mark: [form.value(one) for one, _ in written] for mark, form in forms.items()}
    fits = {
        mark: sum(count for value, (_, count) in zip(found, written, strict=True) if value == value)
        for mark, found in values.items()
    }
    if fits["."] != fits[","]:
        return forms["." if fits["."] > fits[","] else ","]
    if np.array_equal(values["."], values[","], equal_nan=True):
        return forms["."]
    return forms[_open(unit, [one.body for one, _ in written])]


def _open(unit: str, bodies: Sequence[str]) -> str:
    """The mark of decimals where every mark has three digits behind it: "1,234"."""
    points, commas = (any(mark in body for body in bodies) for mark in ".,")
    if points == commas:
        return "."
    # Thousands that are written with a mark are written with it everywhere.
    long = any(body.isdigit() and len(body) > 3 for body in bodies)
    thousands = not long and unit != PERCENT and (commas or bool(unit))
    return "." if thousands == commas else ","


def _is_marked(body: str, decimal: str) -> bool:
    """Whether there are marks that no program would write."""
    return any(mark in body for mark in ", '") or (decimal == "," and "." in body)


def _is_whole(body: str) -> bool:
    whole, _, part = body.partition(".")
    return whole.isdigit() and not part.strip("0")


#: what reads texts of numbers where nothing more is known of them
PLAIN = Amounts()
