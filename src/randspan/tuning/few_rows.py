"""Frames of few rows: what is chosen by cross-fitting, and what the rows say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..frame import Frame
from ..solvers import Task
from ..solvers.validation import mean_of
from ..sources import Source
from ..statistics.together import Together
from .cross_fitting import LINEAR, CrossFitted
from .learning import Law, Table, frame_of, most_entries, narrowed, to_learn_from
from .scales import Kernel, Scales

Array = NDArray[np.float64]

# Rows from which on scales hardly adapt to any, and learning them several times would take long.
MOST_ROWS = 500
# Rows that tell whether two kernels are the same.
ROWS_TO_COMPARE = 10


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was chosen by rows that had no part in it, and what these say.

    Attributes
    ----------
    predicted : ndarray of shape (n_rows, n_targets)
        Of all rows of positive weight, each by what the other folds would have chosen.
    error, doubt : float
        The mean of squared errors of targets with unit variance, and its standard error.
    """

    predicted: Array
    error: float
    doubt: float


def suits(laws: Sequence[Law], source: Source) -> bool:
    """Whether there are so few rows that differ, and kernels have a width.

    Cells are judged by trials of the cells themselves, which are far from their kernel.
    """
    families = [law.plain.family for law in laws]
    if any(family.stretch is None or family.sparse for family in families):
        return False
    return len(np.unique(source.left_out_keys[source.each > 0])) <= MOST_ROWS


def learned(
    laws: Sequence[Law],
    linear: Callable[[float], Frame] | None,
    source: Source,
    cautious: bool,
    task: Task,
    engine: Engine,
    classes: bool,
) -> tuple[Frame, Evidence | None]:
    """The frame of the best law, or of the ``linear`` model, and what rows say of it.

    ``linear`` takes what rows are multiplied by. ``cautious`` is for those who have not asked for
    scales: gains must be clear. Of finitely many functions evidence chooses the scales,
    and a trial how wide they are.
    """
    plain = laws[0].plain
    equal = np.full(plain.n_features, 1 / plain.n_features)
    table = _table(laws, source, task, engine)
    if table is None:
        return replace(plain, importances=equal), None
    given = (table, laws, task.intercept, linear is not None, cautious, engine)
    found = CrossFitted(*given, _Units.of(source).scale if classes else None)
    choice = found.chosen()
    if choice.law == LINEAR:
        assert linear is not None
        frame = replace(linear(1 / table.unit), importances=equal)
        return frame, _evidence(found, found.unseen(), source)
    law, scales = laws[choice.law], found.scales(choice)
    if plain.n_components != np.inf:
        return narrowed(law, scales, table, source, task, engine), None
    frame = frame_of(table, law, scales)
    if not _is_kernel_of(frame, found.kernels[choice.law], table, scales, source):
        return frame, None
    return frame, _evidence(found, found.unseen(), source)


def ranked(
    laws: Sequence[Law], source: Source, task: Task, engine: Engine
) -> list[tuple[float, float, Frame, Evidence | None]]:
    """Every law at its best, and what rows say of it, the best law first.

    The first of each distance speaks for all of these: which one that is, folds have chosen too.
    """
    table = _table(laws, source, task, engine)
    assert table is not None
    found = CrossFitted(table, laws, task.intercept, False, True, engine)
    entries = []
    for alike in found.ladders.values():
        best = found.chosen(among=alike)
        for number in alike:
            if not any(choice.law == number for choice in found.squares):
                continue  # others that are like it were better already
            among = alike if number == best.law else [number]
            choice = found.chosen(among=among)
            evidence = _evidence(found, found.unseen(among), source)
            frame = frame_of(table, laws[number], found.scales(choice))
            entries.append((number != best.law, number, frame, evidence))
    entries.sort(key=lambda one: (one[0], float(f"{one[3].error:.6g}"), one[1]))
    return [(one.error, one.doubt, frame, one) for _, _, frame, one in entries]


def _is_kernel_of(
    frame: Frame, kernel: Kernel, table: Table, scales: Scales, source: Source
) -> bool:
    """Whether scales were learned with the very kernel of a frame, not just with the nearest."""
    units, T = _Units.of(source), (table.rows * scales.scales)[:ROWS_TO_COMPARE]
    first = units.together.first[units.order][:ROWS_TO_COMPARE]
    rows = frame.rows(source.without_absent().take(first), np.float64)
    return np.allclose(frame.family.closed_form(rows, rows), kernel.matrix(T)[0], atol=1e-3)


def _table(laws: Sequence[Law], source: Source, task: Task, engine: Engine) -> Table | None:
    known = to_learn_from(source)
    if known is None:
        return None
    most = most_entries(task, engine)
    return Table.of(laws[0].plain, known, np.empty(0, np.intp), most, engine)


@dataclass(frozen=True, eq=False)
class _Units:
    """What targets of a table were, of the sets of rows that are left out together."""

    together: Together
    order: NDArray[np.intp]
    scale: tuple[Array, Array]

    @classmethod
    def of(cls, source: Source) -> _Units:
        together = Together.of_source(source.without_absent())
        order = np.argsort(together.keys)
        weights, means = together.weights[order], together.targets[order]
        mean = np.average(means, axis=0, weights=weights)
        spread = np.sqrt(np.average((means - mean) ** 2, axis=0, weights=weights))
        return cls(together, order, (mean, np.where(spread > 0, spread, 1.0)))


def _evidence(found: CrossFitted, unseen: Array, source: Source) -> Evidence:
    """What was found for the rows of a table, for those of the source."""
    units = _Units.of(source)
    mean, spread = units.scale
    sets = np.empty_like(unseen)
    sets[units.order] = mean + spread * unseen
    squares = ((found.table.targets - unseen) ** 2).mean(axis=1)
    return Evidence(sets[units.together.places], *mean_of(squares, found.each))
