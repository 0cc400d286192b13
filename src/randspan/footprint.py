"""What a fit takes beside its statistics: functions, their making, rows that are kept, the frame.

`planning` adds this to what the method itself needs; all of it is known before any work is done.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .families import Family
from .families.shared.layout import Layout
from .families.shared.sample import capacity
from .solvers import Task
from .solvers.plan import Shape
from .statistics.key_sample import room

# Alpha settings resolved by exact leave-one-out where rows are at hand; up to so many rows are kept
# beside sums, for that and for errors without themselves, unless alpha is to go by a formula.
JUDGED, KEPT_ROWS = ("auto", "leave_one_out"), 10_000
# Beyond that so many judge for all. Their features are kept from one ridge to the next up to so
# many values, 64 MB of float64.
FEWEST_JUDGES, FEW_VALUES = 2_000, 2**23
# Arrays with an entry for every row: weights, keys, what sorts them, and errors without a row.
VECTORS = 12
# Arrays with a number for every entry of sparse rows, beside these.
SUMMED = 7
# What Python itself and small arrays take, whatever the size of a fit.
SMALL = 2 * 10**6


def shape_before(
    family: Family,
    k: float,
    n_rows: int,
    present: int,
    n_features: int,
    n_targets: int,
    *,
    row_bytes: float = 0.0,
    threads: int = 1,
) -> Shape:
    """The shape of a fit whose functions are not drawn yet.

    ``row_bytes`` are those of a row of X as it stands, 8 a column if 0.
    """
    row_bytes = row_bytes or 8.0 * n_features
    exact = k == np.inf
    layout = Layout(np.inf, 0) if exact else family.layout(n_features, int(k), n_targets)
    shape = Shape(n_rows, present, n_features, n_targets, layout, row_bytes=row_bytes)
    read = reading_bytes(n_rows, n_features, row_bytes, family.rows_wanted(k))
    if exact:
        return replace(shape, before=read)
    stored = family.stored_bytes(n_rows, n_features, int(k), n_targets)
    stored += threads * family.working_bytes
    training = family.training_bytes(n_rows, n_features, int(k), n_targets, threads)
    return replace(shape, stored=stored, before=max(read, stored + training) + SMALL)


def reading_bytes(n_rows: int, n_features: int, row_bytes: float, wanted: int) -> int:
    """The sample of a frame, and sums of columns."""
    kept = min(n_rows, capacity(n_features, wanted))
    # Entries of sparse rows are summed by their columns, all of them at once.
    summed = SUMMED * n_rows * row_bytes if row_bytes < 4 * n_features else 0
    return int(kept * row_bytes + summed) + 8 * n_features * VECTORS


def beside(shape: Shape, task: Task, kind: str) -> int:
    """Functions, rows that are kept, targets and numbers of rows."""
    if not shape.row_bytes:  # the rows are no longer there
        return shape.stored
    n, c = shape.n_rows, shape.n_targets
    keeps = {"kernel rows": True, "cells": shape.layout.n_columns > 0, "": False}
    kept = n * shape.row_bytes if keeps.get(kind, task.alpha != "gcv" and n <= KEPT_ROWS) else 0
    kept += min(n, room(shape.n_features)) * shape.row_bytes
    judged = _judging_bytes(shape, task) if kind in ("moments", "factor") else 0
    return shape.stored + int(kept) + judged + 8 * n * (2 * c + VECTORS) + SMALL


def _judging_bytes(shape: Shape, task: Task) -> int:
    """Features of rows that alpha is judged by, where they are kept, and their blocks."""
    n, k = shape.n_rows, shape.layout.n_columns
    if task.alpha not in JUDGED or not task.plain:
        return 0
    rows = min(n, FEWEST_JUDGES) if n > KEPT_ROWS else n
    return 2 * rows * k * task.dtype.itemsize if rows * k <= FEW_VALUES else 0
