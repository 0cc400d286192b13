"""Tables in plain text and in HTML for notebooks, and warnings at the line of who called us."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import combining

PACKAGE = __name__.partition(".")[0]


def warn(message: str) -> None:
    """A UserWarning that points at the first line outside of this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(f"{PACKAGE}."):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, stacklevel=level)


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


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same for a notebook."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(cells, "td") for cells in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def count(number: float) -> str:
    """A whole number that may be very large."""
    if number > 10**18:
        return "> 10^18"
    return f"{int(number):,}" if number < 10**9 else f"{number:.1e}"


def short(number: float) -> str:
    """Four digits, or a whole number as people write it."""
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


def percent(share: float) -> str:
    """A share in percent; nothing and all are said of these alone."""
    if not 0 < share < 1:
        return f"{100 * share:.0f} %"
    if share < 1e-4 or share > 0.995:
        return "< 0.01 %" if share < 1e-4 else "> 99 %"
    return f"{100 * share:.{0 if share > 0.0995 else 1 if share > 0.00995 else 2}f} %"


def _marks(cell: str) -> int:
    """Accents that take no room of their own."""
    return sum(combining(letter) > 0 for letter in cell)


def _width(cell: str) -> int:
    return len(cell) - _marks(cell)


def _number(cell: str) -> bool:
    return not cell.strip(" -0123456789.,e+>^")
