"""``randspan reproduce``: a table or figure of a document, beside what was published."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    name: Annotated[str, typer.Argument(help="table1, ua-fig2, …, or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes, to see that it runs.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Also what was done before.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The data folder (RANDSPAN_DATA).", exists=True, file_okay=False),
    ] = None,
) -> None:
    """Run an experiment of the documents, or go on with one, and show what was found."""
    if data is not None:
        os.environ["RANDSPAN_DATA"] = str(data)
    experiments = _experiments()
    names = list(experiments.EXPERIMENTS) if name == "all" else [name]
    for one in names:
        _one(one, quick, anew)
    if not quick:
        from experiments import report

        (report.HERE / "RESULTS.md").write_text(report.results())


def _one(name: str, quick: bool, anew: bool) -> None:
    from experiments import find, report, running
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    try:
        module = find(name)
    except ValueError as reason:
        raise typer.BadParameter(str(reason)) from None
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        bar = progress.add_task(module.TITLE, total=None)

        def tick(key: str, done: int, total: int) -> None:
            progress.update(bar, description=f"{name} {key}", completed=done, total=total)

        found = module.summary(running.run(name, quick, tick, anew))
    tables = module.tables(found)
    if quick:
        console.print("Tiny sizes, to see that it runs: numbers say nothing of the claims.")
        tables = [report.without_verdicts(*one) for one in tables]
    for title, head, rows in tables:
        _print(console, title, head, rows)
    for paragraph in [] if quick else report.explained(name, found):
        console.print(paragraph)
    place = running.folder(name, quick) if quick else report.HERE / "figures"
    for file in report.drawn(name, found, place):
        console.print(str(file))


def _print(console, title: str, head: list[str], rows: list[list[str]]) -> None:
    """A table, or where that is wider than the terminal a block of lines for every row."""
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(*head, title=title)
    for row in rows:
        table.add_row(*row)
    unbounded = console.options.update(max_width=10**6)
    if Measurement.get(console, unbounded, table).maximum <= console.width:
        console.print(table)
        return
    console.print(title, style="italic")
    for row in rows:
        lines = Table(show_header=False, box=None)
        for name, cell in zip(head, row, strict=True):
            if cell:
                lines.add_row(name, cell)
        console.print(lines)
        console.print()


def _experiments():
    """The folder ``experiments`` of the repository that this package was installed from."""
    root = Path(__file__).resolve().parents[3]
    if (root / "experiments" / "__init__.py").exists() and str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        import experiments
    except ModuleNotFoundError:
        raise typer.BadParameter(
            "The experiments are not part of the installed package: clone the repository, install "
            "it with pip install -e '.[cli,datasets,bench]', and run this there."
        ) from None
    return experiments
