"""Learned scales: from training rows to a frame.

Scales are learned with an exact kernel (`tuning.scales`), the one that is nearest to the family's.
The family itself then says, by the error of rows that are left out of a sample, how wide that
kernel should be for as many functions as it has, and whether learned scales serve it better than
equal ones. Rows of equal inputs count as one, with the weight of all and their mean target, so that
copies and weights lead to the same scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .. import model
from ..engines import Engine
from ..engines.progress import Progress
from ..families import Family
from ..families.shared.randomness import generator
from ..footprint import shape_before
from ..frame import Frame
from ..judging import by_lots
from ..losses import Squared
from ..planning import plan
from ..solvers import Task
from ..solvers.rates import PRODUCTS_64, cholesky_seconds, dual_seconds
from ..solvers.validation import mean_of
from ..sources import Matrix, PickedSource, Source
from ..statistics.together import Together
from .scales import (
    BATCH,
    BATCHES,
    MANY_ROWS,
    RATE,
    ROWS_64,
    STEPS,
    Kernel,
    Learner,
    Pool,
    Scales,
    kernel_of,
    left_out,
    start,
)

Array = NDArray[np.float64]

# Entries of the rows that are looked at: 400 MB of float32.
MOST_ENTRIES = 10**8
# A trial of the family: functions, grids, cells in all, rows; rows of an exact kernel.
FUNCTIONS, GRIDS, CELLS, ROWS, KERNEL_ROWS = 512, 32, 2 * 10**7, 4_000, 800
# A second trial, where there will be more functions.
MORE_FUNCTIONS, MORE_ROWS = 1024, 8_000
# Rows of cells that are held out; of fewer three folds are.
HELD_OUT, FEW_ROWS = 5_000, 5_000
# The fewest rows have nothing to learn from.
FEWEST_ROWS = 20
# Rows whose errors say whether learning pays. Of so few rows those that were learned from would be
# no judges: halves of them judge each other.
JUDGES, FEW_TO_JUDGE = 600, 2 * BATCH
# Finitely many grids want a narrower kernel than infinitely many, and so few of them this ridge.
ALPHA_OF_FEW = 0.1
# Columns that are still turned, and those of which scales are learned where nobody has asked: that
# takes minutes for more of them.
MOST_TURNED, MOST_LEARNED = 1000, 4096
# Common factors 2^(j/2): how far the search goes.
FARTHEST = 5
# Inputs as large, or so small, have squares that float32 has no numbers for.
FAR = 2.0**60


@dataclass(frozen=True)
class Descent:
    """What scales are worth that begin with those of another kernel: steps, and rows of each."""

    steps: int = STEPS // 3
    batch: int = BATCH


# What is spent where the user gave the number of functions: rows of the sample, steps and rows of
# each, and rows that say whether it pays. All of it takes at most this share of the fit itself.
FEW_KNOWN, BRIEFLY, FEW_JUDGES, SHARE = 4_000, Descent(25, 200), 300, 0.3


@dataclass(frozen=True)
class Law:
    """A family that may be taken: its frame without scales, and frames with them."""

    plain: Frame
    framed: Callable[[NDArray, NDArray | None], Frame]


def refusal(family: Family, turning: bool, n_features: int) -> str:
    """Why scales of this family are not learned, or nothing."""
    if turning and not family.rotation_invariant:
        return (
            f"scales='rotate' turns the inputs, which {family!r} is not made for: use a family "
            "that is the same in all directions (rs.Fourier() with a gaussian or Matérn kernel and "
            "one gamma), or scales='learn'."
        )
    if turning and n_features > MOST_TURNED:
        return (
            f"scales='rotate' learns a matrix of {n_features} × {n_features} numbers, "
            f"more than rows could tell: use scales='learn' from {MOST_TURNED} columns on."
        )
    if family.trains:
        return (
            f"scales are learned for functions that are drawn, not for {family!r}, whose functions "
            "learn from rows themselves: hand in one number for every column, or leave scales=None."
        )
    if not family.sees_scales:
        return (
            f"{family!r} takes its thresholds from the range of every column: scales mean nothing "
            "to it. Use threshold='normal', or leave scales=None."
        )
    return ""


def learned(
    laws: Sequence[Law], source: Source, turning: bool, cautious: bool, task: Task, engine: Engine
) -> Frame:
    """The frame with learned scales, or with equal ones where these are as good.

    Of several ``laws`` the first is learned with, and the best is taken. ``cautious`` is for those
    who have not asked: gains must be more than chance.
    """
    plain = laws[0].plain
    equal = replace(plain, importances=np.full(plain.n_features, 1 / plain.n_features))
    found_source = to_learn_from(source)
    if found_source is None:
        return equal
    source = found_source
    family, d = plain.family, source.n_features
    many = family.sparse and source.n_rows >= MANY_ROWS and d <= MOST_ENTRIES // MANY_ROWS
    progress = engine.progress(STEPS * (1 + turning + many), "scales")
    trial = _Trial(plain, source, task, many, engine.quiet())
    table = Table.of(plain, source, trial.apart, most_entries(task, engine), engine)
    found, pays = descend(table, plain, turning, many, cautious, engine, progress)
    if not pays:
        return equal
    framed = partial(frame_of, table)
    if many:  # compared with equal ones at the density of all rows already
        trial.task = replace(trial.task, alpha=max(found[0].ridge, ALPHA_OF_FEW))
        return _widest(trial, laws[0], framed, found[0], range(1, FARTHEST))[1]
    if plain.n_components == np.inf and all(law.plain.family.stretch is not None for law in laws):
        tried = exactly(laws, framed, found, table, table.first(KERNEL_ROWS), engine)
        return min(tried, key=lambda entry: entry[0])[2]
    best, frame, chosen = trial.error(plain), equal, None
    for law in laws:
        free = range(-FARTHEST, FARTHEST + 1) if law.plain.family.stretch is not None else range(1)
        for scales in _as_learned_for(law, laws[0], found, table, engine):
            error, candidate, at = _widest(trial, law, framed, scales, free)
            progress.note(f"randspan: left-out error {error:.4g}, equal scales {best:.4g}")
            if error < best:
                best, frame, chosen = error, candidate, (law, at, free)
    if chosen is None or not trial.more():
        return frame
    # More functions can afford a narrower kernel.
    law, at, free = chosen
    return _widest(trial, law, framed, at, range(free.stop))[1]


def learned_briefly(law: Law, source: Source, task: Task, engine: Engine) -> Frame:
    """The frame with scales learned from a sample, or with equal ones unless others clearly gain.

    For a given number of functions, whose fit may take no longer than learning does: the width is
    the one that the kernel has learned with its scales, and no functions are tried.
    """
    plain = law.plain
    equal = replace(plain, importances=np.full(plain.n_features, 1 / plain.n_features))
    order, keys = by_lots(source, plain.seed), source.left_out_keys
    number = np.cumsum(np.append(0, keys[order[1:]] != keys[order[:-1]]))
    few = source.some(np.sort(order[number < FEW_KNOWN]))
    known = to_learn_from(few)
    if known is None:
        return equal
    table = Table.of(plain, known, np.empty(0, np.intp), most_entries(task, engine), engine)
    order = generator(plain.seed, "scales", 2).permutation(len(table.rows))
    judges, kernel = min(FEW_JUDGES, len(order) // 3), kernel_of(plain.family)
    some, judging = table.some(order[judges:]), table.some(order[:judges])
    rng, begin = generator(plain.seed, "scales", 0), start(kernel, some.rows)
    progress = engine.progress(BRIEFLY.steps, "scales")
    with engine.pool() as pool:
        given = (some.rows, some.targets, some.weights, rng, pool, progress, plain.groups)
        at = Learner(kernel, *given, BRIEFLY.batch).descend(begin, BRIEFLY.steps)
        gain = _gain(kernel, judging, begin, at, pool)
    return frame_of(table, law, at) if _more_than_chance([gain]) else equal


def pays_briefly(k: float, source: Source, task: Task) -> bool:
    """Whether `learned_briefly` takes at most a share of what a fit of k functions takes itself.

    Both are counted, so that a fit learns or does not on every machine. Losses in passes take
    longer than least squares.
    """
    # Rows that are left out together are one: a weight of two is a row twice.
    n = len(np.unique(source.left_out_keys[source.each > 0]))
    d, batch = source.n_features, BRIEFLY.batch
    if n < 2 * FEW_KNOWN // 3 or k == np.inf:
        return False
    # Inverses and products of a step; kernels of judges, of several widths and ridges; their rows.
    looks = BRIEFLY.steps * BATCHES * batch**2 * (6 * batch + 4 * d)
    judged = 20 * FEW_JUDGES**2 * (FEW_JUDGES + d)
    seconds = 1e-9 * PRODUCTS_64 * (looks + judged + 4 * FEW_KNOWN * d)
    of_fit = dual_seconds if n < k else cholesky_seconds
    return seconds <= SHARE * of_fit(n, int(k), task.searches)


def needed_briefly(source: Source, task: Task, engine: Engine) -> int:
    """What `learned_briefly` takes at its peak, 0 where that is not granted."""
    most = min(most_entries(task, engine), FEW_KNOWN * source.n_features)
    taken = learning_bytes(source, most, BRIEFLY.batch, FEW_JUDGES, engine.threads)
    taken += int(min(source.n_rows, FEW_KNOWN) * source.row_bytes)
    return taken if taken <= engine.machine(task.memory_limit).granted else 0


def narrowed(
    law: Law, scales: Scales, table: Table, source: Source, task: Task, engine: Engine
) -> Frame:
    """The frame with scales that are known, as wide as suits so many functions."""
    trial = _Trial(law.plain, source, task, False, engine.quiet())
    free = range(-FARTHEST, FARTHEST + 1)
    return _widest(trial, law, partial(frame_of, table), scales, free)[1]


def to_learn_from(source: Source) -> Source | None:
    """Rows that differ with targets of unit variance; None where there is nothing to learn."""
    source, count = _different(source)
    if count < FEWEST_ROWS or source.n_rows < FEWEST_ROWS:
        return None
    Y, each = source.targets(), source.each
    mean = np.average(Y, axis=0, weights=each)
    spread = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=each))
    if not (spread > 0).any():
        return None
    targets = (Y - mean) / np.where(spread > 0, spread, 1)
    return replace(source, encoded=targets.__getitem__, units=None)


def most_entries(task: Task, engine: Engine) -> int:
    """Entries of the rows that are looked at: with a copy of some, half of what is granted."""
    return min(MOST_ENTRIES, engine.machine(task.memory_limit).granted // 16)


def learning_bytes(source: Source, most: int, batch: int, judges: int, threads: int) -> int:
    """What `descend` and `exactly` take, for ``most`` entries of rows."""
    n, d, c = source.n_rows, source.n_features, source.n_targets
    rows = min(n, max(most // d, 100))
    table = 2 * rows * (4 * d + 8 * c) + 8 * n * (c + 8)
    batch, judges, sharp = min(batch, rows), min(judges, rows), min(ROWS_64, rows)
    steps = min(threads, BATCHES) * batch * (48 * d + 96 * batch)
    steps = max(steps, sharp * (48 * d + 96 * sharp))
    return table + max(steps, threads * judges * (24 * d + 48 * judges))


def needed(plain: Family, k: float | None, source: Source, task: Task, engine: Engine) -> int:
    """What `learned` takes at its peak; refuses what is not granted."""
    machine = engine.machine(task.memory_limit)
    taken = learning_bytes(source, most_entries(task, engine), BATCH, KERNEL_ROWS, engine.threads)
    if taken > machine.granted:
        raise MemoryError(
            f"memory_limit={task.memory_limit!r} grants {machine.granted / 1e9:.3g} GB; learning "
            f"scales of {source.n_features} columns needs at least {taken / 1e9:.3g} GB: leave "
            "scales=None, or grant more memory."
        )
    if k == np.inf or plain.sparse:
        return taken
    few = min(source.n_rows, MORE_ROWS)
    functions = min(k or MORE_FUNCTIONS, MORE_FUNCTIONS)
    shape = shape_before(
        plain, functions, few, few, source.n_features, source.n_targets,
        row_bytes=source.row_bytes, threads=engine.threads,
    )  # fmt: skip
    standing = 4 * min(source.n_rows * source.n_features, most_entries(task, engine))
    standing += int(few * source.row_bytes)
    trial = plan(
        shape, _squared(task), replace(machine, granted=max(machine.granted - standing, 1))
    )
    return max(taken, trial.nbytes + standing)


def frame_of(table: Table, law: Law, scales: Scales) -> Frame:
    """The frame of a law with these scales."""
    factors, stretch = scales.scales, law.plain.family.stretch
    if stretch is None:
        factors = factors * np.sqrt(len(factors) / (factors**2).sum())
    else:
        factors = factors / (stretch * table.unit)
    frame = law.framed(factors, scales.turn)
    return replace(frame, importances=scales.importances(table.variances), ridge=scales.ridge)


def exactly(
    laws: Sequence[Law],
    framed: Callable[[Law, Scales], Frame],
    found: list[Scales] | None,
    table: Table,
    sample: Table,
    engine: Engine,
    descent: Descent = Descent(),
) -> list[tuple[float, float, Frame]]:
    """Every law at its best width for the exact kernel machine: no functions need to be drawn.

    With the error of rows left out of a sample, and its standard error, for all scales that were
    found, or for equal ones where these are None; those of another distance are learned from the
    rows of ``table``.
    """
    given = (sample.rows, sample.targets, sample.weights)
    weights = np.ones(len(sample.rows)) if sample.weights is None else sample.weights
    candidates: list[tuple[Law, Scales]] = []
    adapted: dict[str, list[Scales]] = {}
    for law in laws:
        kernel = kernel_of(law.plain.family)
        if found is None:
            candidates.append((law, start(kernel, table.rows)))
            continue
        if kernel.metric not in adapted:
            adapted[kernel.metric] = _as_learned_for(law, laws[0], found, table, engine, descent)
        candidates += [(law, scales) for scales in adapted[kernel.metric]]

    def best(candidate: tuple[Law, Scales]) -> tuple[float, float, Frame]:
        law, scales = candidate
        kernel = kernel_of(law.plain.family)
        squares, scales = left_out(kernel, *given, scales, range(-FARTHEST, FARTHEST + 1))
        return *mean_of(squares, weights), framed(law, scales)

    with engine.pool() as pool:
        return pool(best, candidates)


def _as_learned_for(
    law: Law,
    first: Law,
    found: list[Scales],
    table: Table,
    engine: Engine,
    descent: Descent = Descent(),
) -> list[Scales]:
    """Scales that were learned for the first law, adapted to another."""
    kernels = [kernel_of(one.plain.family) for one in (first, law)]
    if kernels[0].metric == kernels[1].metric:
        return found
    equal = [start(kernel, table.rows).scales[0] for kernel in kernels]
    begun = [one.times(equal[1] / equal[0]) for one in found if one.turn is None]
    rng = generator(law.plain.seed, "scales", 3)
    with engine.pool() as pool:
        given = (table.rows, table.targets, table.weights, rng, pool, lambda steps: None)
        learner = Learner(kernels[1], *given, law.plain.groups, descent.batch)
        return [learner.descend(one, descent.steps, RATE / 2) for one in begun]


def _different(source: Source) -> tuple[Source, float]:
    """Distinct inputs, with the weight and the mean target of their rows, in the order of keys."""
    source = source.without_absent()
    if not source.n_rows:
        return source, 0.0
    count = max(float(source.each.sum()), float(source.n_rows))
    together = Together.of_source(source)
    order = np.argsort(together.keys)
    weights = together.weights[order]
    alike = float(np.ptp(weights)) == 0
    Y, keys = together.targets[order], together.keys[order]
    given = None if alike else weights
    picked = PickedSource(
        source, together.first[order], encoded=Y.__getitem__, weights=given, known_keys=keys
    )
    return picked, count


@dataclass(frozen=True, eq=False)
class Table:
    """Rows that scales are learned from, standardised, dense and in float32.

    ``unit`` is what they were divided by, where their squares would leave the range of float32.
    """

    rows: NDArray[np.float32]
    targets: Array
    weights: Array | None
    unit: float = 1.0

    @classmethod
    def of(cls, plain: Frame, source: Source, apart: NDArray, most: int, engine: Engine) -> Table:
        """All rows but those ``apart``; of too many some, ``most`` entries."""
        others = np.ones(source.n_rows, dtype=bool)
        others[apart] = False
        rows, d = np.flatnonzero(others), source.n_features
        few = max(most // d, 100)
        if len(rows) > few:
            rng = generator(plain.seed, "scales", 1)
            rows = np.sort(rng.choice(rows, few, replace=False))
        step = int(np.clip(2**22 // d, 16, 8192))
        dense = np.empty((len(rows), d), np.float32)
        # Kernels look at differences: an offset would only take digits from the slopes.
        origin = plain.rows(source.take(rows[:step]), np.float64).dense.mean(axis=0)

        def filled(unit: float) -> float:
            """The largest size of an entry; all are written, divided by ``unit``."""

            def fill(parts: Iterable[tuple[NDArray, Matrix]]) -> float:
                largest = 0.0
                for places, X in parts:
                    values = plain.rows(X, np.float64).dense - origin
                    with np.errstate(over="ignore"):
                        dense[places] = values / unit if unit != 1 else values
                    largest = max(largest, float(np.abs(values).max(initial=0.0)))
                return largest

            return max(engine.deal(fill, source.gathered(rows, step)))

        largest, unit = filled(1.0), 1.0
        if largest > 0 and not 1 / FAR < largest < FAR:
            unit = float(2.0 ** np.floor(np.log2(largest)))
            filled(unit)
        weights = None if source.weights is None else source.weights[rows]
        return cls(dense, source.targets()[rows], weights, unit)

    def some(self, rows: NDArray) -> Table:
        weights = None if self.weights is None else self.weights[rows]
        return Table(self.rows[rows], self.targets[rows], weights, self.unit)

    def first(self, count: int) -> Table:
        """At most so many rows; their order is that of their keys, and so random."""
        return self.some(np.arange(min(count, len(self.rows))))

    @property
    def variances(self) -> Array:
        return self.rows.var(axis=0, dtype=np.float64)


def descend(
    table: Table,
    plain: Frame,
    turning: bool,
    many: bool,
    cautious: bool,
    engine: Engine,
    progress: Progress,
    steps: int = STEPS,
) -> tuple[list[Scales], bool]:
    """Scales learned from a table, the plainest first, and whether they are worth having."""
    kernel, seed = kernel_of(plain.family), plain.seed

    def learner(some: Table) -> Learner:
        given = (some.rows, some.targets, some.weights)
        return Learner(kernel, *given, generator(seed, "scales", 0), pool, progress, plain.groups)

    with engine.pool() as pool:
        if many:
            # Few grids are quickly fitted, and less is spent on them.
            steps, every = min(15 + (plain.n_components or STEPS), STEPS), learner(table)
            wide = every.descend(start(kernel, table.rows), steps // 2)
            near, scored = every.descend_nearby(wide, steps), every.scored_rows()
            equal = [start(kernel, table.rows).times(factor) for factor in (2, 10)]
            return [min([near, *equal], key=lambda at: every.error_nearby(at, scored))], True
        order = generator(seed, "scales", 2).permutation(len(table.rows))
        gains, known = [], None
        if cautious:
            half = len(order) // 2
            parts = [(order[:half], order[half:]), (order[half:], order[:half])]
            if len(order) >= FEW_TO_JUDGE:
                parts = [(order[JUDGES:], order[:JUDGES])]
            for rows, judging in parts:
                some = table.some(rows)
                known = learner(some).descend(start(kernel, some.rows))
                begun = start(kernel, some.rows)
                gains.append(_gain(kernel, table.some(judging), begun, known, pool))
            if not _more_than_chance(gains):
                return [], False
        if known is None or len(gains) > 1:  # halves have judged each other: now all together
            known = learner(table).descend(start(kernel, table.rows), steps)
        found = [known]
        if turning:
            found.append(learner(table).turn(known))
    return found, True


def _gain(
    kernel: Kernel, judges: Table, equal: Scales, learned: Scales, pool: Pool
) -> tuple[Array, Array]:
    """How much smaller squared errors of rows left out are with learned scales; their weights."""
    given = (kernel, judges.rows, judges.targets, judges.weights)
    before, after = pool(lambda at: left_out(*given, at)[0], [equal, learned])
    return before - after, np.ones(len(before)) if judges.weights is None else judges.weights


def _more_than_chance(gains: list[tuple[Array, Array]]) -> bool:
    """Whether the mean gain is larger than its standard error."""
    gain, share = (np.concatenate(parts) for parts in zip(*gains, strict=True))
    mean, doubt = mean_of(gain, share)
    return mean > doubt


def _widest(
    trial: _Trial,
    law: Law,
    framed: Callable[[Law, Scales], Frame],
    scales: Scales,
    free: range,
) -> tuple[float, Frame, Scales]:
    """The common factor 2^(j/2), j in ``free``, with the smallest error, walking from near 1."""
    tried: dict[int, tuple[float, Frame]] = {}

    def error(j: int) -> float:
        if j not in tried:
            frame = framed(law, scales.times(2.0 ** (j / 2)))
            tried[j] = trial.error(frame), frame
        return tried[j][0]

    best = max(0, free.start)
    step = 1 if best + 1 in free and error(best + 1) < error(best) else -1
    while best + step in free and error(best + step) < error(best):
        best += step
    error(best)
    return *tried[best], scales.times(2.0 ** (best / 2))


def _squared(task: Task) -> Task:
    """What trials minimise, whatever the loss."""
    alpha = task.alpha if task.loss.squared else "auto"
    return replace(task, loss=Squared(), alpha=alpha, bound=None, solver="auto", heldout=False)


class _Trial:
    """The squared error of a family on rows left out, of as many rows as are quickly fitted."""

    def __init__(self, plain: Frame, source: Source, task: Task, many: bool, engine: Engine):
        self.engine = engine
        self.task = _squared(task)
        k = plain.n_components
        #: functions of a trial
        self.k: float = min(k or FUNCTIONS, FUNCTIONS)
        most = ROWS
        if k == np.inf:
            self.k, most = np.inf, KERNEL_ROWS
        elif plain.family.sparse:
            self.k = min(k, GRIDS // (1 + many))
            most = CELLS // int(self.k)
        self.wanted = k
        self.all_rows, self.order = source, by_lots(source, plain.seed)
        order = self.order[:most]
        self.source = source.some(order)
        #: rows of cells that learning leaves alone, where there are enough of them
        self.apart = order[:0]
        if self._cells(plain) and len(order) >= FEW_ROWS:
            self.apart = order[: min(len(order) // 5, HELD_OUT)]

    def _cells(self, frame: Frame) -> bool:
        if self.k == np.inf:
            return False
        layout = frame.family.layout(frame.n_features, int(self.k), self.source.n_targets)
        return layout.groups > 0

    def error(self, frame: Frame) -> float:
        frame = frame.with_components(self.k)
        task, engine, source = self.task, self.engine, self.source
        if self._cells(frame):
            out = np.arange(len(self.apart)) if len(self.apart) else None
            return model.heldout_error(frame, source, task, engine, out)
        found = model.fit(frame, source, task, model.nothing(source), engine).found
        known = found.validation.error
        return np.inf if known is None else known

    def more(self) -> bool:
        """Whether there will be more functions than were tried; from now on more are tried."""
        k, n = self.wanted, self.all_rows.n_rows
        most = MORE_FUNCTIONS if k is None else min(k, MORE_FUNCTIONS)
        if self.k >= FUNCTIONS and most > self.k and n > most:
            self.k = most
            self.source = self.all_rows.some(self.order[:MORE_ROWS])
            return True
        return False
