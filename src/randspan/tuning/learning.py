"""``scales="learn"`` and ``"rotate"``: from training rows to a frame with learned scales.

Scales are learned with an exact kernel (`tuning.scales`), the one that is nearest to the family's.
The family itself then says, on rows held out, how wide that kernel should be for as many functions
as it has and as many rows as there are, and whether learned scales serve it better than equal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import model, predictions
from ..engines import Engine
from ..engines.progress import Progress
from ..families import Family
from ..families.parts.randomness import generator
from ..frame import Frame
from ..losses import Squared
from ..solvers import Task
from ..sources import Source, of_arrays
from . import width
from .scales import KERNELS, MANY_ROWS, STEPS, Learner, Scales, start

# Entries of the rows that are looked at: 400 MB of float32.
MOST_ENTRIES = 10**8
# A trial of the family: functions, grids, cells in all, rows of dense features, rows held out.
FUNCTIONS, GRIDS, CELLS, ROWS, HELD_OUT = 1500, 32, 2 * 10**7, 20_000, 5_000
# Fewer rows are held out in three folds; the fewest have nothing to learn from.
FEW_ROWS, FOLDS, FEWEST_ROWS = 5_000, 3, 20
# Rows of a trial with infinitely many functions.
KERNEL_ROWS = 1500
# Finitely many grids want a narrower kernel than infinitely many, and so few of them this ridge.
ALPHA_OF_FEW = 0.1
# Columns that are still turned.
MOST_TURNED = 1000
# Common factors 2^(j/2): how far the search goes.
FARTHEST = 5


def learned(
    family: Family,
    plain: Frame,
    framed: Callable[[NDArray, NDArray | None], Frame],
    source: Source,
    turning: bool,
    task: Task,
    engine: Engine,
) -> Frame:
    """The frame with learned scales.

    ``plain`` is the frame without scales, and ``framed(scales, rotation)`` makes one of the same
    rows with the same bandwidth.
    """
    if turning and not family.rotation_invariant:
        raise ValueError(
            f"scales='rotate' turns the inputs, which {family!r} is not made for: use a family "
            "that is the same in all directions (rs.Fourier() with a gaussian or Matérn kernel and "
            "one gamma), or scales='learn'."
        )
    if turning and plain.n_features > MOST_TURNED:
        raise ValueError(
            f"scales='rotate' learns a matrix of {plain.n_features} × {plain.n_features} numbers, "
            f"more than rows could tell: use scales='learn' from {MOST_TURNED} columns on."
        )
    if family.trains:
        raise ValueError(
            f"scales are learned for functions that are drawn, not for {family!r}, whose functions "
            "learn from rows themselves: hand in one number for every column, or leave scales=None."
        )
    if not family.sees_scales:
        raise ValueError(
            f"{family!r} takes its thresholds from the range of every column: scales mean nothing "
            "to it. Use threshold='normal', or leave scales=None."
        )
    X, Y, weights = source.X, source.targets(), source.weights
    seen = Y if weights is None else Y[weights > 0]
    present = len(seen)
    spread = seen.std(axis=0) if present else np.zeros(Y.shape[1])
    equal = replace(plain, importances=np.full(plain.n_features, 1 / plain.n_features))
    if present < FEWEST_ROWS or not (spread > 0).any():
        return equal
    Y = (Y - seen.mean(axis=0)) / np.where(spread > 0, spread, 1)
    many = family.sparse and present >= MANY_ROWS and X.shape[1] <= MOST_ENTRIES // MANY_ROWS
    progress = engine.progress(STEPS * (1 + turning + many), "scales")
    source = of_arrays(X, Y, weights)
    trial = _Trial(plain, source, task, many, engine.quiet())
    others = np.ones(source.n_rows, dtype=bool)
    others[trial.apart] = False
    most = min(MOST_ENTRIES, engine.machine(task.memory_limit).granted // 16)
    rows = np.flatnonzero(others)
    found, variances = _descend(plain, source, rows, turning, many, most, engine, progress)

    def frame_of(scales: Scales) -> Frame:
        factors = scales.scales
        stretch = plain.family.stretch
        if stretch is None:
            factors = factors * np.sqrt(len(factors) / (factors**2).sum())
        else:
            factors = factors / stretch
        frame = framed(factors, scales.turn)
        return replace(frame, importances=scales.importances(variances), ridge=scales.ridge)

    if many:  # compared with equal ones at the density of all rows already
        trial.task = replace(trial.task, alpha=max(found[0].ridge, ALPHA_OF_FEW))
        return _widest(trial, frame_of, found[0], range(1, FARTHEST))[1]
    best, frame = trial.error(plain), equal
    for scales in found:
        free = range(-FARTHEST, FARTHEST + 1) if plain.family.stretch is not None else range(1)
        error, candidate = _widest(trial, frame_of, scales, free)
        progress.note(f"randspan: held-out error {error:.4g}, equal scales {best:.4g}")
        if error < best:
            best, frame = error, candidate
    return frame


def _descend(
    plain: Frame,
    source: Source,
    rows: NDArray[np.intp],
    turning: bool,
    many: bool,
    most: int,
    engine: Engine,
    progress: Progress,
) -> tuple[list[Scales], NDArray[np.float64]]:
    """Scales learned from some rows, the plainest first, and the variances of the columns.

    At most ``most`` entries of the rows are looked at.
    """
    rng, X, weights = generator(plain.seed, "scales", 0), source.X, source.weights
    present = rows if weights is None else rows[weights[rows] > 0]
    most = max(most // X.shape[1], 100)
    step = int(np.clip(2**22 // X.shape[1], 16, 8192))
    if len(present) > most:
        present = np.sort(rng.choice(present, most, replace=False))
    dense = np.empty((len(present), X.shape[1]), np.float32)

    def fill(start: int) -> None:
        some = slice(start, start + step)
        dense[some] = plain.rows(X[present[some]], np.float32).dense

    chances = None if weights is None else weights[present] / weights[present].sum()
    kernel = KERNELS[plain.family.nearest_kernel]
    with engine.pool() as pool:
        pool(fill, list(range(0, len(present), step)))
        learner = Learner(kernel, dense, source.targets()[present], chances, rng, pool, progress)
        # Few grids are quickly fitted, and less is spent on them.
        steps = min(15 + (plain.n_components or STEPS), STEPS) if many else STEPS
        found = [learner.descend(start(kernel, dense), steps // (1 + many))]
        if turning:
            found.append(learner.turn(found[0]))
        if many:
            near, scored = learner.descend_nearby(found[0], steps), learner.scored_rows()
            equal = [start(kernel, dense).times(factor) for factor in (2, 10)]
            found = [min([near, *equal], key=lambda at: learner.error_nearby(at, scored))]
    return found, dense.var(axis=0, dtype=np.float64)


def _widest(
    trial: _Trial, frame_of: Callable[[Scales], Frame], scales: Scales, free: range
) -> tuple[float, Frame]:
    """The common factor 2^(j/2), j in ``free``, with the smallest error, walking from near 1."""
    tried: dict[int, tuple[float, Frame]] = {}

    def error(j: int) -> float:
        if j not in tried:
            frame = frame_of(scales.times(2.0 ** (j / 2)))
            tried[j] = trial.error(frame), frame
        return tried[j][0]

    best = max(0, free.start)
    step = 1 if best + 1 in free and error(best + 1) < error(best) else -1
    while best + step in free and error(best + step) < error(best):
        best += step
    error(best)
    return tried[best]


class _Trial:
    """The squared error of a family on rows held out, on as many rows as are quickly fitted."""

    def __init__(self, plain: Frame, source: Source, task: Task, many: bool, engine: Engine):
        self.source, self.engine = source, engine
        self.task = replace(
            task,
            loss=Squared(),
            alpha=task.alpha if task.loss.squared else "auto",
            bound=None,
            solver="auto",
            heldout=False,
        )
        weights, k = source.weights, plain.n_components
        present = np.arange(source.n_rows) if weights is None else np.flatnonzero(weights)
        #: functions of a trial
        self.k: float = min(k or FUNCTIONS // 2, FUNCTIONS)
        most = ROWS
        if k == np.inf:
            self.k, most = np.inf, KERNEL_ROWS
        elif plain.family.sparse:
            self.k = min(k, GRIDS // (1 + many))
            most = CELLS // int(self.k)
        order = generator(plain.seed, "trial rows", 0).permutation(present)[:most]
        folds = FOLDS if len(order) < FEW_ROWS else 1
        size = min(len(order) // FOLDS if folds > 1 else len(order) // 5, HELD_OUT)
        #: rows that learning leaves alone, where there are enough of them
        self.apart = order[:size] if folds == 1 else order[:0]
        self.splits = [
            (np.sort(np.delete(order, slice(i * size, (i + 1) * size))), order[i * size :][:size])
            for i in range(folds)
        ]

    def error(self, frame: Frame) -> float:
        frame = frame.with_components(self.k)
        k, d = self.k, frame.n_features
        if k != np.inf and frame.family.layout(d, int(k), self.source.n_targets).groups:
            rows = np.concatenate(self.splits[0][::-1])  # those held out first
            out = np.arange(len(self.apart)) if len(self.apart) else None
            return model.heldout_error(frame, self.source.some(rows), self.task, self.engine, out)
        return float(np.mean([self._error(frame, *split) for split in self.splits]))

    def _error(self, frame: Frame, rows: NDArray[np.intp], out: NDArray[np.intp]) -> float:
        task, engine, held = self.task, self.engine, self.source.some(out)
        none = np.zeros(held.n_targets)
        found = width.fit(frame, self.source.some(rows), task, none, engine)
        away = predictions.scores(found, held, engine) - held.targets()
        return float(held.each @ (away**2).sum(axis=1)) / float(held.each.sum())
