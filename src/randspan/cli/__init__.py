"""The command ``randspan``: arguments in, one library call, its result printed; one file a verb."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError:
        sys.exit("The command randspan needs typer: pip install 'randspan[cli]'.")
    from .app import app

    app()
