"""``python -m randspan``: the command, where its script is not in the path."""

from .cli import main

main()
