"""Nine public tables of 14,000 to 46,000 rows, each with numbered splits.

`SETS` maps a name to a function of the split's number, 0 to 9. Where a set comes with its own
splits the number chooses among them, otherwise it is the seed of a 90/10 cut; ailerons has one
split, its own, whatever the number.
"""

from __future__ import annotations

from collections.abc import Callable

from .data import Split, of


def _numbered(loader: str) -> Callable[[int], Split]:
    return lambda split: of(loader, split=split)


SETS: dict[str, Callable[[int], Split]] = {
    **{
        name: _numbered(name)
        for name in (
            *("kin40k", "protein", "elevators", "pol", "cal_housing", "bike_hour"),
            *("letter", "magic"),
        )
    },
    "ailerons": lambda split: of("ailerons"),
}
