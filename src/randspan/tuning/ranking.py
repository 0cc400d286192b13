"""Kernels compared on a sample: which suit these rows, each with its best scales.

Scales are learned once for each distance; for the best kernel that is the same in all directions
the inputs are turned as well, x̃ = E'(s∘x), which is learned with that very kernel. Everybody is
then compared by the exact leave-one-out error of a sample that has had no part in the scales.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..engines.progress import Progress
from ..families.shared.randomness import generator
from ..frame import Frame
from ..solvers import Task
from ..sources import Source
from . import few_rows, noise_free
from .few_rows import Evidence
from .learning import Descent, Law, Table, descend, exactly, frame_of, most_entries, to_learn_from
from .scales import Learner, Scales, kernel_of

# For how many kernels inputs are turned. The matrix has at most as many numbers as there are rows:
# one of 123 columns learned from 4,200 rows made leave-one-out errors a tenth too small.
TURNED = 2
# The sample is set apart where there are so many times as many rows.
TIMES = 3

#: the left-out error of a kernel and its standard error, its frame, and what few rows say of all
Ranked = list[tuple[float, float, Frame, Evidence | None]]


@dataclass(frozen=True)
class Budget:
    """What a comparison is worth.

    Attributes
    ----------
    rows : int
        Of the sample that kernels are compared on.
    steps : int
        In which scales are learned.
    turns : Descent
        Steps that inputs are turned in.
    adapts : Descent
        Steps in which scales of one distance are adapted to another.
    """

    rows: int
    steps: int
    turns: Descent
    adapts: Descent


def ranked(
    laws: Sequence[Law], source: Source, task: Task, engine: Engine, budget: Budget
) -> Ranked:
    """Every law with its best scales, learned or equal ones, the best law first.

    With the error of rows that are left out of a sample, of targets of unit variance, and its
    standard error; scales are learned with the first law. Where there is no noise, smooth ones.
    And what few rows say of all rows.
    """
    smooth = noise_free.ranked(laws, source, task, engine)
    if smooth:
        return [(*one, None) for one in smooth]
    plain = laws[0].plain
    known = to_learn_from(source)
    if known is None:
        return _untold(laws)
    if few_rows.suits(laws, source):
        return few_rows.ranked(laws, source, task, engine)
    table = Table.of(plain, known, np.empty(0, np.intp), most_entries(task, engine), engine)
    sample, n = table.first(budget.rows), len(table.rows)
    framed = partial(frame_of, table)
    enough = n >= TIMES * budget.rows
    if enough:
        table = table.some(np.arange(budget.rows, n))
    progress = engine.progress(budget.steps + budget.turns.steps, "scales")
    found, _ = descend(table, plain, False, False, False, engine, progress, budget.steps)

    def tried(numbers: Iterable[int], scales: list[Scales] | None) -> list:
        some = [laws[number] for number in numbers]
        return exactly(some, framed, scales, table, sample, engine, budget.adapts)

    best = dict(enumerate(tried(range(len(laws)), found)))

    def leading() -> list[int]:
        # Near-ties are told apart by the order of laws, whatever the last digits say.
        return sorted(best, key=lambda number: float(f"{best[number][0]:.6g}"))

    def improve(numbers: list[int], scales: list[Scales] | None) -> None:
        for number, entry in zip(numbers, tried(numbers, scales), strict=True):
            if entry[0] < best[number][0]:
                best[number] = entry

    turning = [number for number in leading() if laws[number].plain.family.rotation_invariant]
    if turning and enough and 1 < plain.n_features**2 <= len(table.rows):
        first = laws[turning[0]].plain
        turned = _turned(table, first, found[0], budget.turns, engine, progress)
        improve(turning[:TURNED], [turned])
    # Equal scales, for the best law of each distance.
    firsts: dict[str, int] = {}
    for number in leading():
        firsts.setdefault(kernel_of(laws[number].plain.family).metric, number)
    improve(list(firsts.values()), None)
    return [(*best[number], None) for number in leading()]


def unscaled(laws: Sequence[Law], source: Source, task: Task, engine: Engine, rows: int) -> Ranked:
    """Every law with equal scales, the best first, compared on a sample of so many rows."""
    known = to_learn_from(source)
    if known is None:
        return _untold(laws)
    most = min(most_entries(task, engine), rows * source.n_features)
    table = Table.of(laws[0].plain, known, np.empty(0, np.intp), most, engine)
    framed = partial(frame_of, table)
    found = exactly(laws, framed, None, table, table.first(rows), engine)
    # Near-ties are told apart by the order of laws, whatever the last digits say.
    return [(*one, None) for one in sorted(found, key=lambda entry: float(f"{entry[0]:.6g}"))]


def _untold(laws: Sequence[Law]) -> Ranked:
    """The same where rows tell nothing."""
    d = laws[0].plain.n_features
    equal = np.full(d, 1 / d)
    return [(np.nan, np.nan, replace(law.plain, importances=equal), None) for law in laws]


def apart(source: Source, rows: int) -> NDArray[np.bool_]:
    """Rows of the sample of so many, and those that are equal to them: no scales know them."""
    keys = source.left_out_keys
    known = np.unique(keys)
    return keys <= known[min(rows, len(known)) - 1]


def _turned(
    table: Table, plain: Frame, known: Scales, descent: Descent, engine: Engine, progress: Progress
) -> Scales:
    """A full matrix, from the scales of the columns."""
    given = (table.rows, table.targets, table.weights, generator(plain.seed, "scales", 4))
    with engine.pool() as pool:
        at = (pool, progress, plain.groups, descent.batch)
        return Learner(kernel_of(plain.family), *given, *at).turn(known, descent.steps)
