"""The verbs, gathered."""

from __future__ import annotations

import typer

from .how_many import how_many
from .reproduce import reproduce

app = typer.Typer(
    name="randspan",
    help="Draw functions at random, fit only the weights in their span.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def randspan() -> None:
    """Draw functions at random, fit only the weights in their span."""


app.command("how-many")(how_many)
app.command("reproduce")(reproduce)
