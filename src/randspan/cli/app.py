"""The verbs, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from ..version import __version__
from .how_many import how_many
from .reproduce import reproduce

app = typer.Typer(
    name="randspan",
    help="Draw functions at random, fit only the weights in their span.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"randspan {__version__}")
        raise typer.Exit


@app.callback()
def randspan(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Draw functions at random, fit only the weights in their span."""


app.command("how-many")(how_many)
app.command("reproduce")(reproduce)
