"""What a plan is made of: the shape of a fit, the machine it runs on, costs, and the plan itself.

Methods state their needs and costs beside their code; `randspan.planning` chooses among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..families.shared.layout import Layout
from ..features import block_rows


@dataclass(frozen=True)
class Shape:
    """How large a fit is.

    ``present`` are the rows of positive weight; ``n_cells`` is 0 as long as cells are not read;
    ``stored`` are the bytes of the functions themselves, ``before`` what is taken before they are
    evaluated (they included), ``row_bytes`` a row of X, 0 where rows are no longer there;
    ``block`` are the rows of a block, 0 for as many as are best.
    """

    n_rows: int
    present: int
    n_features: int
    n_targets: int
    layout: Layout
    n_cells: int = 0
    stored: int = 0
    before: int = 0
    row_bytes: float = 0.0
    block: int = 0

    @property
    def block_rows(self) -> int:
        """Rows that are worked on together by a thread."""
        usual = block_rows(self.layout.n_stored, self.n_features)
        return min(self.block or usual, self.n_rows)


@dataclass(frozen=True)
class Machine:
    """What a fit may use: threads, and bytes beyond X, of which some are ``taken`` already."""

    threads: int
    granted: int
    taken: int = 0

    @property
    def left(self) -> int:
        """Bytes that a method may use."""
        return max(self.granted - self.taken, 0)


@dataclass(frozen=True)
class Cost:
    """Multiplications, and bytes at the peak."""

    products: float
    nbytes: int


def block_bytes(shape: Shape, machine: Machine, dtype: np.dtype) -> int:
    """A block of rows, in float64 and as they are wanted, its features and two arrays like them."""
    entries = 3 * shape.layout.n_columns + shape.n_features
    row = entries * dtype.itemsize + 8 * shape.n_features
    return machine.threads * shape.block_rows * row


@dataclass(frozen=True)
class Plan:
    """What will be read, in which precision, and by which method weights are found.

    Attributes
    ----------
    statistics : str
        What is read in one pass: "moments", "factor", "out_of_bag", "cells" or "kernel rows"; ""
        where the method itself passes over the rows.
    method : str
        The solver.
    dtype : numpy.dtype
        The precision of the features.
    block : int
        Rows that are worked on together, 0 for as many as are best.
    out_of_bag : bool
        Whether values come from functions that have not learned from the row.
    cached : bool
        Whether a method that passes over the rows keeps all features in memory.
    sketch_rows : int
        Rows of its sketch.
    smallest_ridge : bool
        Whether alpha is the smallest one that is numerically reliable.
    nbytes : int
        About how much memory this takes at the peak, beyond X.
    reason : str
        Why this one.
    fallback : Plan or None
        What is done where rounding errors would reach the predictions.
    """

    statistics: str
    method: str
    dtype: np.dtype
    reason: str
    block: int = 0
    out_of_bag: bool = False
    cached: bool = False
    sketch_rows: int = 0
    smallest_ridge: bool = False
    nbytes: int = 0
    fallback: Plan | None = field(default=None, repr=False)

    def __str__(self) -> str:
        read = f"{self.statistics} of {self.dtype.name} features" if self.statistics else "no sums"
        lines = [
            f"read: {read}",
            f"solve: {self.method} ({self.reason})",
            f"memory: about {self.nbytes / 1e9:.3g} GB",
        ]
        if self.fallback is not None:
            then = str(self.fallback).replace("\n", "\n  ")
            lines.append(f"if rounding errors would reach the predictions:\n  {then}")
        return "\n".join(lines)
