"""Functions without noise: scales, kernel and ridge where errors of rows left out are tiny.

A simulator returns the same number for the same inputs, and smooth functions of a few columns are
then known to many digits from a few hundred rows: by a kernel as smooth as they are, with scales
and a ridge of the largest likelihood (`Learner.likeliest`). Noisy tables have no use for that. A
few steps on a few rows tell which of the two there is; without noise kernels are learned one after
the other, the smoothest first, and the smallest left-out error decides. Where that is the roughest
of them there are kinks, and the usual search is the better one.

Tried and left: log leave-one-out errors in place of the likelihood, with the same steps in float64.
Of nine fits of three functions errors on new rows were larger on eight, up to twice as large, with
half as many steps more, each of which takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..engines import Engine
from ..families.shared.randomness import generator
from ..frame import Frame
from ..solvers import Task
from ..solvers.validation import mean_of
from ..sources import Source
from .learning import Law, Table, frame_of, most_entries, to_learn_from
from .scales import (
    KERNELS,
    ROWS_64,
    STEPS_64,
    Kernel,
    Learner,
    Scales,
    kernel_of,
    squares_at,
    start,
)

# Rows and steps that tell whether there is noise, and the error that says there is (of targets of
# unit variance).
LOOKED_AT, LOOKS, NOISE = 200, 8, 1e-2
# After all steps, the error of what is a function without noise.
CLEAN = 2e-3
# Rows that there must be for every column.
ROWS_EACH = 10
# Rougher kernels are wider beside the same function: the factor of their scales, and the steps in
# which they are then adapted.
WIDER, ADAPTS = 0.3, 6


def ranked(
    laws: Sequence[Law],
    source: Source,
    task: Task,
    engine: Engine,
    more: Callable[[], list[Law]] = list,
) -> list[tuple[float, float, Frame]]:
    """Smooth kernels with their scales, the best first; none where there is noise or a kink.

    With the error of rows left out, of targets of unit variance, and its standard error; ``more``
    are laws that are made only where there is no noise.
    """
    plain, enough = laws[0].plain, ROWS_EACH * (source.n_features + 1)
    if not any(map(_smooth, laws)) or plain.n_components != np.inf or source.n_rows < enough:
        return []
    known = to_learn_from(source)
    if known is None or known.n_rows < enough:
        return []
    most = min(most_entries(task, engine), ROWS_64 * source.n_features)
    table = Table.of(plain, known, np.empty(0, np.intp), most, engine)
    with engine.pool():
        at = _without_noise(table, laws[0])
        if at is None:
            return []
        smooth = sorted(filter(_smooth, [*laws, *more()]), key=_degrees, reverse=True)
        found = _compared(smooth, table, at)
    if len(smooth) > 1 and found and found[0][2] is smooth[-1]:
        return []
    return [(error, doubt, frame_of(table, law, at)) for error, doubt, law, at in found]


def _smooth(law: Law) -> bool:
    """Whether functions of its kernel have a derivative, and the kernel is known exactly."""
    family = law.plain.family
    exact = family.nearest_kernel == getattr(family, "kernel_name", "")
    return exact and family.stretch is not None and _degrees(law) >= 3


def _degrees(law: Law) -> float:
    return getattr(kernel_of(law.plain.family), "degrees", 0.0)


def _without_noise(table: Table, law: Law) -> Scales | None:
    """Scales that few rows and steps lead to, where they show no noise."""
    few, kernel = table.first(LOOKED_AT), KERNELS["gaussian"]
    at = _learner(kernel, law, few).likeliest(start(kernel, table.rows), LOOKS)
    return at if _error(kernel, few, at)[0] <= NOISE else None


def _compared(
    smooth: list[Law], table: Table, at: Scales
) -> list[tuple[float, float, Law, Scales]]:
    """Kernels from the smoothest to the roughest, by their errors; none where there is noise."""
    found: list[tuple[float, float, Law, Scales]] = []
    for law in smooth:
        kernel = kernel_of(law.plain.family)
        # Scales of the first are known but for a common factor.
        begin, steps = (at.times(WIDER), ADAPTS) if found else (at, STEPS_64)
        at = _learner(kernel, law, table).likeliest(begin, steps)
        found.append((*_error(kernel, table, at), law, at))
        if found[0][0] > CLEAN:
            return []
    return sorted(found, key=lambda entry: float(f"{entry[0]:.6g}"))


def _learner(kernel: Kernel, law: Law, table: Table) -> Learner:
    given = (table.rows, table.targets, table.weights, generator(law.plain.seed, "scales", 0))
    return Learner(kernel, *given, _in_turn, lambda steps: None, law.plain.groups, ROWS_64)


def _in_turn(function: Callable, items: list) -> list:
    return [function(item) for item in items]


def _error(kernel: Kernel, table: Table, at: Scales) -> tuple[float, float]:
    """The mean of squared errors of rows left out, and its standard error."""
    each = np.ones(len(table.rows)) if table.weights is None else table.weights
    return mean_of(squares_at(kernel, table.rows, table.targets, table.weights, at), each)
