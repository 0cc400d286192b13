"""Results as text for people and as JSON for programs.

Benchmarks compute plain results first; what is printed is made from them afterwards, and nothing
is printed that is not in the file.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .data import Missing

SENSES = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


def bar(what: str, value: float, sense: str, limit: float) -> dict[str, Any]:
    """A promise, what was measured, and whether it was kept."""
    kept = bool(SENSES[sense](value, limit))
    return {"what": what, "value": float(value), "sense": sense, "limit": limit, "kept": kept}


def bars(promises: Iterable[dict[str, Any]]) -> str:
    """Bars as a table."""
    rows = [
        (
            b["what"],
            number(b["value"]),
            f"{b['sense']} {b['limit']:g}",
            "yes" if b["kept"] else "NO",
        )
        for b in promises
    ]
    return table(("bar", "measured", "promised", "kept"), rows)


def in_parts(parts: dict[str, Callable[[bool], dict[str, Any]]], quick: bool) -> dict[str, Any]:
    """What the parts of a benchmark found, those without data left out; their bars in one list."""
    result: dict[str, Any] = {"bars": []}
    for what, part in parts.items():
        try:
            found = part(quick)
        except Missing as missing:
            result[what] = {"skipped": str(missing)}
            continue
        result["bars"] += found.pop("bars")
        result[what] = found
    return result


def of_parts(
    result: dict[str, Any], texts: dict[str, Callable[[dict[str, Any]], str]]
) -> list[str]:
    """The text of every part, or why there is none."""
    return [
        f"{what}: SKIPPED, {result[what]['skipped']}"
        if "skipped" in result[what]
        else written(result[what])
        for what, written in texts.items()
    ]


def contestants(results: Iterable[dict[str, Any]], error: str) -> str:
    """The outcome of a race as a table; ``error`` names the kind of error."""
    rows = [
        (
            r["name"],
            number(r["fit_seconds"]),
            number(r["fit_seconds_median"]),
            str(len(r["fit_seconds_all"])),
            number(r["ratio"]),
            number(r["predict_seconds"]),
            number(r["error"]),
            number(r["peak_mb"]),
            r["remark"],
        )
        for r in results
    ]
    return table(("", "fit s", "median", "runs", "× ours", "predict s", error, "peak MB", ""), rows)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns of text: the first and any that is not a number to the left, numbers to the right."""
    lines = [tuple(header), *map(tuple, rows)]
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    left = [i == 0 or not any(map(_is_number, column[1:])) for i, column in enumerate(columns)]
    text = [
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * max(map(len, text)), *text[1:]])


def number(value: float | None) -> str:
    """Three digits, or a dash for what was not measured."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}"


def write(
    path: Path,
    name: str,
    quick: bool,
    machine: dict[str, Any],
    seconds: float,
    result: dict[str, Any],
) -> None:
    """One benchmark with its machine, as JSON; a number that is not finite is an error."""
    content = {
        "benchmark": name,
        "quick": quick,
        "machine": machine,
        "seconds": seconds,
        "result": result,
    }
    path.write_text(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True
