"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import combining


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, numbers to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(head))]
    numbers = [all(_number(row[i]) for row in rows) for i in range(len(head))]
    text = [
        "  ".join(
            " " * (width - _width(cell)) + cell if number else cell.ljust(width + _marks(cell))
            for cell, width, number in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * max(map(_width, text)), *text[1:]])


def count(number: float) -> str:
    """A whole number that may be very large."""
    if number > 10**18:
        return "> 10^18"
    return f"{int(number):,}" if number < 10**9 else f"{number:.1e}"


def _marks(cell: str) -> int:
    """Accents that take no room of their own."""
    return sum(combining(letter) > 0 for letter in cell)


def _width(cell: str) -> int:
    return len(cell) - _marks(cell)


def _number(cell: str) -> bool:
    return not cell.strip(" -0123456789.,e+>^")
