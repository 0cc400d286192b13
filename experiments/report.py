"""Results for people: tables with verdicts, figures, and RESULTS.md from the files of all runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import EXPERIMENTS, find
from .running import HERE, folder

#: the title of columns that say whether a claim holds
VERDICT = "verdict"


def summarised(name: str, quick: bool) -> dict[str, Any] | None:
    """The summary of what was found so far; None where nothing was."""
    place = folder(name, quick)
    found = {file.stem: json.loads(file.read_text()) for file in sorted(place.glob("*.json"))}
    if not found:
        return None
    order = [item.key for item in find(name).items(quick)]
    return find(name).summary({key: found[key] for key in order if key in found})


def drawn(name: str, found: dict[str, Any], place: Path) -> list[Path]:
    """The figure of an experiment as PNG and SVG; nothing where it is a table."""
    figure = find(name).figure(found)
    if figure is None:
        return []
    place.mkdir(parents=True, exist_ok=True)
    files = [place / f"{name}.{kind}" for kind in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=120)
    return files


def explained(name: str, found: dict[str, Any]) -> list[str]:
    """Paragraphs on what does not hold, and why."""
    module = find(name)
    return module.explained(found) if hasattr(module, "explained") else []


def without_verdicts(
    title: str, head: list[str], rows: list[list[str]]
) -> tuple[str, list[str], list[list[str]]]:
    """A table without verdicts, which runs of tiny sizes cannot give."""
    kept = [place for place, name in enumerate(head) if name != VERDICT]
    return title, [head[place] for place in kept], [[row[i] for i in kept] for row in rows]


def in_markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def results(quick: bool = False) -> str:
    """RESULTS.md."""
    parts = [
        "# What the documents claim, and what was found",
        "Made by `randspan reproduce all` from the files of its runs; not written by hand.",
    ]
    for name in EXPERIMENTS:
        found = summarised(name, quick)
        module = find(name)
        parts.append(f"## {module.TITLE}")
        if found is None:
            parts.append(f"Not run yet: `randspan reproduce {name}`.")
            continue
        for title, head, rows in module.tables(found):
            parts += [f"### {title}", in_markdown(head, rows)]
        parts += explained(name, found)
        if (HERE / "figures" / f"{name}.png").exists():
            parts.append(f"![{module.TITLE}](figures/{name}.png)")
    return "\n\n".join(parts) + "\n"
