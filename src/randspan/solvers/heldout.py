"""alpha for losses without a formula: a warm-started path, scored on rows that were held out.

Rows are dealt into five folds. As many folds are held out in turn as it takes to score two
thousand rows: all five up to 2,000 rows, one from 7,000 on. A fold is a set of weights that are
zero: the features are those of all rows, computed once. The path goes from large ridges, which
are quickly solved for, to small ones, each starting at the weights of the one before; it ends where
the held-out loss has been rising. All in all it costs about as much as three to five fits for every
fold held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..families.parts.randomness import raw_bits
from .found import Found
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
# Residuals on the path: it takes no more to rank ridges.
TOLERANCE = 1e-3
# The path ends when the held-out loss has been this much above its minimum twice in a row.
RISING = 1.002
# It also ends when hardly anything is left of the loss of a constant.
PERFECT = 1e-3


@dataclass(frozen=True)
class Scored:
    """What held-out rows said about one alpha."""

    alpha: float
    validation: Validation
    rows: NDArray[np.intp]
    scores: NDArray[np.float64]
    start: Found

    @property
    def error(self) -> float:
        assert self.validation.error is not None
        return self.validation.error


def folds(
    weights: NDArray[np.float64], seed: int, lots: NDArray[np.uint64] | None = None
) -> list[NDArray[np.intp]]:
    """The rows of every fold that is to be held out in turn; rows without weight are in none.

    ``lots`` are random numbers of the rows where their place is not to decide.
    """
    present = np.flatnonzero(weights)
    lots = raw_bits(seed, "folds", len(weights)) if lots is None else lots
    order = np.argsort(lots[present], kind="stable")
    n_rows = len(present)
    needed = min(FOLDS, max(1, round(ENOUGH_ROWS * FOLDS / max(n_rows, 1))))
    found = [np.sort(present[order[i::FOLDS]]) for i in range(needed)]
    return [rows for rows in found if 0 < len(rows) < n_rows]


def score(
    solver: Solver,
    problem: Problem,
    alpha: float,
    scale: float,
    parts: list[NDArray[np.intp]],
    starts: list[Found | None],
    tolerance: float = TOLERANCE,
) -> Scored:
    """Fit without each part in turn, and score the part."""
    scores, ends = [], []
    for rows, start in zip(parts, starts, strict=True):
        weights = problem.weights.copy()
        weights[rows] = 0
        fold = replace(problem, weights=weights, penalty=alpha * scale, unit=problem.scale)
        end = solver.minimise(fold, start, tolerance)
        ends.append(end)
        scores.append(problem.operator.out_of_bag_scores(end.point, rows))
    every, held = np.concatenate(parts), np.concatenate(scores)
    values = problem.loss.value(held, problem.targets[every]).reshape(len(every), -1)
    found = of_losses(values.mean(axis=1), problem.weights[every] + 1e-300)
    starts[:] = ends
    return Scored(alpha, found, every, held, ends[0])


def by_heldout(
    solver: Solver,
    problem: Problem,
    scale: float,
    trace: float,
    seed: int,
    progress: Callable[[str], None] = lambda text: None,
    largest: float = LARGEST,
    parts: list[NDArray[np.intp]] | None = None,
    gain: float = 0.0,
) -> Scored:
    """The largest alpha whose held-out loss is within 0.1 % of the smallest, on 10^(j/4).

    In steps of 10^(1/2), and then half a step to both sides of the best. Where a step gains less
    than ``gain`` the path ends, and that much is not worth a smaller alpha.
    """
    parts = folds(problem.weights, seed) if parts is None else parts
    if not parts:
        raise ValueError("alpha='auto' needs two rows or more to hold some out: set a number.")
    unit = trace / scale * _steepness(problem)
    highest = np.floor(STEPS_PER_DECADE * np.log10(largest * unit))
    # Gradients that are computed anew in float64 reach as far as features in float64 do.
    precision = FLOAT64 if solver.method == "sketched" else solver.operator.dtype
    lowest = np.ceil(STEPS_PER_DECADE * np.log10(SMALLEST[precision] * unit))
    starts: list[Found | None] = [None] * len(parts)
    constant = problem.objective(problem.zero) / float(problem.weights.sum())
    enough = PERFECT * constant / (1 if problem.loss.joint else problem.n_targets)
    scored: list[Scored] = []
    rising, best = 0, np.inf
    for exponent in np.arange(highest, lowest - 1, -1):
        alpha = float(10.0 ** (exponent / STEPS_PER_DECADE))
        scored.append(score(solver, problem, alpha, scale, parts, starts))
        progress(f"alpha {alpha:.3g}: held-out {problem.loss.name} loss {scored[-1].error:.5g}")
        error = scored[-1].error
        before, best = best, min(best, error)
        scored = [entry for entry in scored if entry.error <= max(1.001, 1 + gain) * best]
        rising = rising + 1 if error > RISING * best else 0
        if rising == 2 or best <= enough or (gain and error > (1 - gain) * before):
            break
    first = float(10.0 ** (highest / STEPS_PER_DECADE))
    if scored[0].alpha == first:  # the signal is weak: larger ridges may serve it better
        starts = [None] * len(parts)
        for exponent in range(int(highest) + 1, int(highest) + FARTHEST * STEPS_PER_DECADE + 1):
            alpha = float(10.0 ** (exponent / STEPS_PER_DECADE))
            larger = score(solver, problem, alpha, scale, parts, starts)
            if larger.error > 1.001 * min(best, larger.error):
                break
            best = min(best, larger.error)
            scored.insert(0, larger)
    chosen = scored[0]
    if gain or best <= enough:
        return chosen
    half = 10.0 ** (0.5 / STEPS_PER_DECADE)
    starts = [chosen.start] * len(parts)
    beside = [
        score(solver, problem, alpha, scale, parts, list(starts))
        for alpha in (chosen.alpha * half, chosen.alpha / half)
    ]
    tried = [beside[0], chosen, beside[1]]
    best = min(entry.error for entry in tried)
    return next(entry for entry in tried if entry.error <= 1.001 * best)


def _steepness(problem: Problem) -> float:
    """A typical slope beside the size of the targets: about 1 for classes, 1/y for |y - s|.

    The ridge that suits a loss changes with the units of y as this does.
    """
    slopes = problem.loss.slope(problem.zero.scores, problem.targets)
    sizes = np.abs(problem.targets - problem.zero.scores)
    share = problem.weights / problem.weights.sum()
    return float((share @ np.abs(slopes)).mean() / max((share @ sizes).mean(), 1e-300)) or 1.0
