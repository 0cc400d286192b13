"""alpha for losses without a formula: a warm-started path, scored on rows that were held out.

Rows are dealt into five folds, by the keys of what is left out together. As many folds are held out
in turn as it takes to score two thousand rows: all five up to 2,000 rows, one from 7,000 on. A fold
is a set of weights that are zero: the features are those of all rows, computed once. The path goes
from large ridges, which are quickly solved for, to small ones, each starting at the weights of the
one before; it ends where the held-out loss has been rising. All in all it costs about as much as
three to five fits for every fold held out. Of the ridges that were scored, errors are kept, and the
weights of the best alone: where the loss hardly depends on the ridge all of them are near the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..keys import Keys
from ..statistics.base import CannotFit
from ..statistics.together import folds_of
from .found import Start
from .iterative import Solver
from .problem import Problem
from .validation import Validation, of_losses

FOLDS = 5
ENOUGH_ROWS = 2_000
STEPS_PER_DECADE = 2
# How many decades the path goes up where its largest ridge is the best.
FARTHEST = 6
# Ridges alpha·k beside the trace of Z̃'Z̃: where the path begins, and where it ends by precision.
LARGEST = 1e-2
FLOAT64 = np.dtype(np.float64)
SMALLEST = {np.dtype(np.float32): 1e-7, FLOAT64: 1e-9}
# Residuals on the path, and of the ridges near its best: 1e-3 leaves 1 % of the error open as a
# rule, half of that beside a better minimum, and never more than FAR.
ROUGH, TOLERANCE, NEAR, BESIDE, FAR = 1e-3, 1e-4, 1.01, 1.005, 1.1
# Of ridges whose errors are this near the largest is taken; 1e-4 leaves as much open of errors, so
# that several are compared by residuals of FINE.
EQUAL, CLOSE, FINE = 1.001, 1.002, 1e-5
# The path ends when the held-out loss has been this much above its minimum twice in a row.
RISING = 1.002
# It also ends when hardly anything is left of the loss of a constant.
PERFECT = 1e-3

#: of the fits without each fold; None is from zero
Starts = Sequence[Start | None] | None


@dataclass(frozen=True)
class Scored:
    """What held-out rows said about one alpha; ``least`` is the smallest error there can be.

    ``ends`` are where the fits without each fold ended, ``scores`` those of the rows left out:
    numbers for every function and row, None where another alpha is better (`lightened`).
    ``reliable`` says whether rounding errors left all these fits a minimum: they hide those of
    small ridges.
    """

    alpha: float
    validation: Validation
    rows: NDArray[np.intp]
    scores: NDArray[np.float64] | None
    ends: list[Start] | None
    reliable: bool
    least: float = 0.0

    @property
    def start(self) -> Start | None:
        return self.ends[0] if self.ends else None

    @property
    def error(self) -> float:
        """What errors are compared by: their ratio means nothing where they may be negative."""
        assert self.validation.error is not None
        return self.validation.error - self.least


@dataclass(frozen=True, eq=False)
class Folds:
    """The rows of every fold that is held out in turn, and the keys of all rows.

    Rows of equal keys are left out together, and count as one where the error may be off.
    """

    parts: list[NDArray[np.intp]]
    keys: Keys

    @classmethod
    def of(cls, weights: NDArray[np.float64], seed: int, keys: Keys) -> Folds:
        """Rows dealt by their keys; those without weight are in no fold."""
        present = np.flatnonzero(weights)
        dealt = folds_of(keys[present], seed, FOLDS)
        n_rows = len(present)
        needed = min(FOLDS, max(1, round(ENOUGH_ROWS * FOLDS / max(n_rows, 1))))
        found = [present[dealt == fold] for fold in range(needed)]
        return cls([rows for rows in found if 0 < len(rows) < n_rows], keys)

    def __len__(self) -> int:
        return len(self.parts)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The rows of all parts, one after the other."""
        return np.concatenate(self.parts)

    def validation(self, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> Validation:
        """The mean of the losses of ``rows``."""
        return of_losses(losses, weights, self.keys[self.rows])


def score(
    solver: Solver,
    problem: Problem,
    alpha: float,
    scale: float,
    folds: Folds,
    starts: Sequence[Start | None],
    tolerance: float = ROUGH,
) -> Scored:
    """Fit without each part in turn, and score the part."""
    scores, ends, reliable = [], [], True
    for rows, start in zip(folds.parts, starts, strict=True):
        weights = problem.weights.copy()
        weights[rows] = 0
        fold = replace(problem, weights=weights, penalty=alpha * scale, unit=problem.scale)
        end = solver.minimise(fold, start, tolerance)
        ends.append(end.start)
        reliable &= end.converged
        scores.append(problem.operator.out_of_bag_scores(end.point, rows))
    every, held = folds.rows, np.concatenate(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        values = problem.loss.value(held, problem.targets[every]).reshape(len(every), -1)
    each = problem.weights[every] + 1e-300
    found = folds.validation(values.mean(axis=1), each)
    floors = np.broadcast_to(np.asarray(problem.least), problem.targets.shape)[every].mean(axis=1)
    least = float(np.average(floors, weights=each))
    return Scored(alpha, found, every, held, ends, reliable, least)


def by_heldout(
    solver: Solver,
    problem: Problem,
    scale: float,
    trace: float,
    folds: Folds,
    progress: Callable[[str], None] = lambda text: None,
    largest: float = LARGEST,
    gain: float = 0.0,
) -> Scored:
    """The largest alpha whose held-out loss is within 0.1 % of the smallest, on 10^(j/4).

    In steps of 10^(1/2), and then half a step to both sides of the best. Where a step gains less
    than ``gain`` the path ends, and that much is not worth a smaller alpha.
    """
    if not len(folds):
        raise CannotFit("alpha='auto' needs two rows or more to hold some out: set a number.")
    unit = trace / scale * _steepness(problem)
    highest = np.floor(STEPS_PER_DECADE * np.log10(largest * unit))
    # Gradients that are computed anew in float64 reach as far as features in float64 do.
    precision = FLOAT64 if solver.method == "sketched" else solver.operator.dtype
    lowest = np.ceil(STEPS_PER_DECADE * np.log10(SMALLEST[precision] * unit))
    constant = float(problem.excess(problem.zero).sum()) / float(problem.weights.sum())
    enough = PERFECT * constant / (1 if problem.loss.joint else problem.n_targets)

    def scored_at(exponent: float, starts: Starts, tolerance: float) -> Scored:
        alpha = float(10.0 ** (exponent / STEPS_PER_DECADE))
        found = score(
            solver, problem, alpha, scale, folds, starts or [None] * len(folds), tolerance
        )
        if tolerance == ROUGH:
            progress(f"alpha {alpha:.3g}: held-out {problem.loss.name} loss {found.error:.5g}")
        return found

    def with_more(
        scored: dict[float, Scored], more: Sequence[float], starts: Starts, tolerance: float
    ) -> dict[float, Scored]:
        """``scored`` and more of them, each from where the best ended by then."""
        for exponent in more:
            scored = _lightened(scored | {exponent: scored_at(exponent, starts, tolerance)})
            starts = _ends(scored)
        return scored

    def best_of(scored: dict[float, Scored], tolerance: float) -> Scored:
        at = _largest(scored, gain)
        whole = scored[at].ends is not None
        return scored[at] if whole else scored_at(at, _ends(scored), tolerance)

    scored, best = _rough_path(scored_at, highest, lowest, enough, gain)
    if gain or best <= enough:
        return best_of(scored, ROUGH)
    fine: dict[float, Scored] = {}
    starts, limit = _ends(scored), NEAR * best
    while near := [at for at, one in scored.items() if one.error <= limit]:
        near.sort(key=lambda at: scored[at].ends is None)  # the best comes first
        fine = with_more(fine, near, starts, TOLERANCE)
        starts = _ends(fine)
        scored = {at: one for at, one in scored.items() if at not in near}
        # Solved for roughly they looked better than they are: others may be better by now.
        limit = BESIDE * min(one.error for one in fine.values())
    fine = _reliable(fine)
    close, tolerance = _within(CLOSE, fine), TOLERANCE
    if len(close) > 1:
        tolerance = FINE
        fine = _reliable(with_more({}, close, starts, FINE))
        starts = _ends(fine)
    at = _largest(fine)
    tried = with_more({at: fine[at]}, (at + 0.5, at - 0.5), starts, tolerance)
    return best_of({a: one for a, one in tried.items() if one.reliable or a == at}, tolerance)


def _rough_path(
    scored_at: Callable[[float, Starts, float], Scored],
    highest: float,
    lowest: float,
    enough: float,
    gain: float,
) -> tuple[dict[float, Scored], float]:
    """Ridges in steps of 10^(1/2), and the least error: down, and up where the largest is best."""
    scored: dict[float, Scored] = {}
    starts: Starts = None
    rising, best = 0, np.inf
    for exponent in np.arange(highest, lowest - 1, -1):
        found = scored_at(exponent, starts, ROUGH)
        if scored and not found.reliable:
            break
        starts, error = found.ends, found.error
        before, best = best, min(best, error)
        rising = rising + 1 if error > RISING * best else 0
        scored[exponent] = found
        scored = {at: one for at, one in scored.items() if one.error <= max(FAR, 1 + gain) * best}
        scored = _lightened(scored, gain)
        if rising == 2 or best <= enough or (gain and error > (1 - gain) * before):
            break
    doubt = max(NEAR, 1 + gain)  # of errors of rough minima
    if highest in scored and scored[highest].error <= doubt * best:
        starts = None  # the signal is weak: larger ridges may serve it better
        for exponent in np.arange(highest + 1, highest + FARTHEST * STEPS_PER_DECADE + 1):
            found = scored_at(exponent, starts, ROUGH)
            if found.error > doubt * min(best, found.error):
                break
            starts, best = found.ends, min(best, found.error)
            scored = _lightened(scored | {exponent: found}, gain)
    return scored, best


def _ends(scored: dict[float, Scored]) -> Starts:
    """Where the fits of the best of them ended."""
    return next((one.ends for one in scored.values() if one.ends), None)


def _lightened(scored: dict[float, Scored], gain: float = 0.0) -> dict[float, Scored]:
    """The same, with the weights of one alone: of the best, as long as these are there."""
    whole = {at: one for at, one in scored.items() if one.ends is not None}
    if len(whole) < 2:
        return scored
    best = _largest(_reliable(scored), gain)
    kept = best if best in whole else _largest(_reliable(whole), gain)
    return {
        at: one if at == kept else replace(one, ends=None, scores=None)
        for at, one in scored.items()
    }


def _reliable(scored: dict[float, Scored]) -> dict[float, Scored]:
    """Those whose fits all came to a minimum, or all if there are none."""
    return {at: one for at, one in scored.items() if one.reliable} or scored


def _within(share: float, scored: dict[float, Scored]) -> list[float]:
    """Where the error is near the least."""
    least = min(one.error for one in scored.values())
    return [at for at, one in scored.items() if one.error <= share * least]


def _largest(scored: dict[float, Scored], gain: float = 0.0) -> float:
    """Where the largest ridge is whose error is near the least."""
    return max(_within(max(EQUAL, 1 + gain), scored))


def _steepness(problem: Problem) -> float:
    """A typical slope beside the size of the targets: about 1 for classes, 1/y for |y - s|.

    The ridge that suits a loss changes with the units of y as this does. Where scores are in other
    units than targets it is the curvature, of which it is an estimate.
    """
    loss = problem.loss
    if loss.smooth and not (loss.translation_invariant or loss.for_classes):
        curved = problem.curvature(problem.zero.scores).sum() / problem.weights.sum()
        return float(curved / problem.n_targets) or 1.0
    slopes = problem.loss.slope(problem.zero.scores, problem.targets)
    sizes = np.abs(problem.targets - problem.zero.scores)
    share = problem.weights / problem.weights.sum()
    return float((share @ np.abs(slopes)).mean() / max((share @ sizes).mean(), 1e-300)) or 1.0
