"""What drawn functions look like from outside: enough to plan a fit, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Columns and cells of k functions.

    Attributes
    ----------
    n_components : int or inf
        k, as the family counts it.
    n_columns : int
        Dense columns, those of direct links included.
    groups : int
        Groups of cells (grids, trees): a row is in one cell of each.
    n_direct : int
        Columns that are inputs themselves.
    n_targets : int
        How many targets every function predicts, a column for each; 0 if it predicts none.
    out_of_bag : bool
        Whether functions learned from some of the rows, so that others are left to weigh them by.
    spent : str
        The family, or the part of a union, whose functions have all learned from every row.
    """

    n_components: float
    n_columns: int
    groups: int = 0
    n_direct: int = 0
    n_targets: int = 0
    out_of_bag: bool = False
    spent: str = ""

    @property
    def n_stored(self) -> int:
        """Values of a row that differ from zero."""
        return self.n_columns + self.groups


def joined(n_components: float, parts: list[Layout]) -> Layout:
    """The layout of a union."""
    return Layout(
        n_components,
        sum(part.n_columns for part in parts),
        sum(part.groups for part in parts),
        sum(part.n_direct for part in parts),
        0,
        any(part.out_of_bag for part in parts),
        next((part.spent for part in parts if part.spent), ""),
    )
