"""Weights of predictors, fitted to their out-of-bag predictions.

With errors e_j = y - h_j, f = b + Σ w_j h_j has y - f = Σ w_j e_j + (1 - Σw)(y - b₀) - b', and

    Σω (y - f)² + alpha·k·s²·‖w - 1/k‖²,   s² the mean of E e_j²,

is minimised: the ridge pulls towards the mean of all hypotheses, and is measured beside the error
of a single one. Where that mean is no good model, because hypotheses are weak or point anywhere, it
pulls towards the constant, alpha·k·s²·‖w‖²: that is chosen, by cross-validation as alpha is, where
it lowers the error of every fold. Moments of two hypotheses come from
different rows for different pairs, so that the form may have negative eigenvalues: they tell how
far it can be trusted, and no ridge below the size of the most negative one is tried. alpha is found
by cross-validation: the moments of a fold are subtracted, and score weights that had no part in
them. Folds of few rows tell little: the largest alpha is taken that is within one standard error of
the best. Where the rows that pairs have in common are so few that errors seem to be negative they
tell nothing, neither of alpha nor of errors.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..statistics import OutOfBagMoments
from ..statistics.out_of_bag import FOLDS
from .method import Method
from .plan import Cost, Machine, Shape, block_bytes
from .solution import Array, Solution
from .task import Task, Terms
from .validation import Validation, of_squares

STEPS_PER_DECADE = 4
# Ridges alpha·k beside Σω: at the small end rounding decides, at the large one weights are 1/k.
SMALLEST, LARGEST = 1e-2, 1e4
# What is less than this share of the terms that it is a sum of is rounding.
ROUNDING = 1e-13
# By this share of the error the ridge must do better towards zero, in every fold.
CLEAR = 0.01
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, kw_only=True)
class OutOfBagSolution(Solution):
    """Weights from errors on out-of-bag rows.

    Attributes
    ----------
    errors : ndarray of shape (n_targets,)
        Mean squared errors on out-of-bag rows, of weights fitted to other folds; nan where rows
        are too few to tell.
    weight : float
        Σω.
    doubt : float
        The standard error of their mean, by how much folds differ.
    """

    errors: Array = field(repr=False)
    weight: float
    doubt: float = 0.0

    @property
    def validation(self) -> Validation:
        if np.isnan(self.oob_error):
            return Validation(None, reason="too few rows are out of bag for the same functions")
        found = of_squares("out_of_bag", self.oob_error, self.weight)
        assert found.standard_error is not None
        # Few folds may differ little by chance, squares of normal errors no less than this.
        return replace(found, standard_error=max(found.standard_error, self.doubt))

    @property
    def oob_error(self) -> float:
        return float(self.errors.mean())


class WeighedOutOfBag(Method[OutOfBagMoments]):
    """Functions that learned from targets, weighed by their out-of-bag predictions."""

    name = "out_of_bag"
    kinds = ("out_of_bag",)
    squared_only = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        n, k, c = shape.n_rows, int(shape.layout.n_components), shape.n_targets
        # An accumulator for every thread, their sum, and what folds subtract from it.
        squares = 8 * FOLDS * (c + 1) * (k + 2) ** 2
        block = block_bytes(shape, machine, np.dtype(np.float64))
        return Cost((c + 1) * n * k**2 + 10 * k**3, (machine.threads + 2) * squares + block)

    def solve(self, given: OutOfBagMoments, task: Task, terms: Terms) -> OutOfBagSolution:
        return solve(given, task.alpha, task.intercept, terms.plan.reason)


def solve(
    moments: OutOfBagMoments, alpha: float | str, intercept: bool, reason: str
) -> OutOfBagSolution:
    """The weights, at the best alpha or at a given one."""
    start = time.perf_counter()
    k, c, origin = moments.n_functions, moments.n_targets, moments.origin
    # Without an intercept nothing but hypotheses may explain the level of the targets.
    shifts = np.zeros(c) if intercept else origin
    sums, counts = moments.sums.sum(axis=0), moments.counts.sum(axis=0)
    whole = [_Quadratic.of(sums[t], counts, shifts[t]) for t in range(c)]
    if isinstance(alpha, str):
        smallest = max(SMALLEST, *(one.smallest_trusted(intercept) for one in whole))
        ridges = _lattice(moments.weight / k, smallest)
    else:
        ridges = np.array([float(alpha)])
    validated = [_validated(moments, ridges, shifts, intercept, aim) for aim in (1 / k, 0.0)]
    # In units of each target: one alpha serves them all.
    units = np.array([max(one.single, ROUNDING * one.size) or 1.0 for one in whole])
    summed = [(errors / units).sum(axis=2) for errors, _ in validated]
    shares = validated[0][1]
    bests = [_largest_of_the_best(errors, shares) for errors in summed]
    to_mean, to_zero = (errors[:, at] for errors, at in zip(summed, bests, strict=True))
    zero = _clearly_lower(to_zero, to_mean, shares)
    aim, best, errors = (0.0 if zero else 1 / k), bests[zero], validated[zero][0]
    if zero:
        reason += "; a ridge towards zero"
    coef, constants, objective = np.zeros((k * c, c)), np.zeros(c), 0.0
    for t, quadratic in enumerate(whole):
        ridge = ridges[best] * k / moments.weight
        [w], [b] = quadratic.weights(np.array([ridge]), intercept, aim)
        coef[t::c, t] = w
        constants[t] = b + (1 - w.sum()) * (origin[t] - shifts[t])
        mean = quadratic.error(w, b)
        penalty = ridge * quadratic.single * ((w - aim) ** 2).sum()
        objective += moments.weight * (mean + penalty)
    found = shares @ errors[:, best]
    if (found < 0).any() or not _some_meet(counts, k):
        errors, found = np.full_like(errors, np.nan), np.full(c, np.nan)
    return OutOfBagSolution(
        coef=coef,
        intercept=constants,
        alpha=float(ridges[best]),
        objective=objective,
        solver="out_of_bag",
        reason=reason,
        residual=0.0,
        errors=found,
        doubt=_doubt(errors[:, best].mean(axis=1), shares),
        weight=moments.weight,
        seconds=time.perf_counter() - start,
    )


def _some_meet(counts: Array, k: int) -> bool:
    """Whether some row is out of bag for two functions; for one, where there is one only."""
    known = counts[:k, :k] > 0
    return bool(known.any() if k == 1 else known[~np.eye(k, dtype=bool)].any())


def _doubt(errors: Array, shares: Array) -> float:
    """The standard error of Σ shares·errors, from how much the errors of folds differ."""
    count = len(errors)
    if count < 2:
        return 0.0
    spread = shares**2 @ (errors - shares @ errors) ** 2
    return float(np.sqrt(spread * count / (count - 1)))


def _lattice(unit: float, smallest: float) -> Array:
    """alphas 10^(j/4), an absolute lattice, from ``smallest`` times the unit on."""
    lowest = np.ceil(STEPS_PER_DECADE * np.log10(smallest * unit))
    highest = np.floor(STEPS_PER_DECADE * np.log10(LARGEST * unit))
    return 10.0 ** (np.arange(lowest, max(highest, lowest) + 1) / STEPS_PER_DECADE)


def _largest_of_the_best(errors: Array, shares: Array) -> int:
    """The last alpha that is worse than the best by less than one standard error over folds.

    The last of all where errors are not known, or none can be as small as the best.
    """
    means = shares @ errors
    best = int(np.argmin(means))
    if np.isnan(means).any() or means[best] < 0:
        return len(means) - 1
    beyond = errors - errors[:, [best]]
    doubt = beyond.std(axis=0, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
    return int(np.flatnonzero(shares @ beyond <= doubt + 1e-12)[-1])


def _clearly_lower(errors: Array, others: Array, shares: Array) -> bool:
    """Whether every fold has less error than others by more than `CLEAR` of their mean."""
    known = len(errors) > 1 and shares @ errors >= 0 and shares @ others > 0
    return bool(known and (others - errors > CLEAR * (shares @ others)).all())


def _validated(
    moments: OutOfBagMoments, alphas: Array, shifts: Array, intercept: bool, aim: float
) -> tuple[Array, Array]:
    """Squared errors on folds that had no part in the weights, and the shares of the folds.

    For every fold, alpha and target.
    """
    errors, weights = [], []
    sums, counts = moments.sums.sum(axis=0), moments.counts.sum(axis=0)
    for mine, known in zip(moments.sums, moments.counts, strict=True):
        own = float(known[-1, -1])
        if own <= ROUNDING * moments.weight or moments.weight - own <= 1e-9 * own:
            continue
        ridges = alphas * moments.n_functions / (moments.weight - own)
        found = np.empty((len(alphas), len(mine)))
        for t, squares in enumerate(mine):
            others = _Quadratic.of(sums[t] - squares, counts - known, shifts[t])
            # By the rows that a pair may expect in the fold: it may happen to have none.
            there = _Quadratic.of(squares, counts * (own / moments.weight), shifts[t])
            fits = zip(*others.weights(ridges, intercept, aim), strict=True)
            found[:, t] = [there.error(w, b) for w, b in fits]
        errors.append(found)
        weights.append(own)
    if not errors:  # all rows are in one fold: nothing to choose by, and no error is known
        return np.full((1, len(alphas), len(sums)), np.nan), np.ones(1)
    return np.array(errors), np.array(weights) / sum(weights)


@dataclass(frozen=True)
class _Quadratic:
    """E (y - f)² of one target as a quadratic form of (w, 1 - Σw, -b)."""

    form: Array

    @classmethod
    def of(cls, sums: Array, counts: Array, shift: float) -> _Quadratic:
        """Means over the rows of every pair, of errors and of y - origin + shift.

        Pairs that no row is out of bag for have the mean of the others: of errors of one
        hypothesis, of two, and of one beside y and 1.
        """
        known = counts > 1e-9 * counts[-1, -1]
        form = np.where(known, sums / np.where(known, counts, 1.0), 0.0)
        if not known.all():
            size = len(form)
            kind = np.full(form.shape, 1)  # two hypotheses
            np.fill_diagonal(kind, 0)
            kind[-2], kind[:, -2], kind[-1], kind[:, -1] = 2, 2, 3, 3
            kind[size - 2 :, size - 2 :] = 4
            for part in range(4):
                here = kind == part
                if (here & known).any():
                    form[here & ~known] = form[here & known].mean()
        form[-2] += shift * form[-1]
        form[:, -2] += shift * form[:, -1]
        return cls(form)

    @property
    def single(self) -> float:
        """The mean squared error of one hypothesis."""
        return float(np.diagonal(self.form)[:-2].mean())

    @property
    def size(self) -> float:
        """The largest mean square, of errors and of y."""
        return float(np.diagonal(self.form)[:-1].max())

    def smallest_trusted(self, intercept: bool) -> float:
        """The size of the most negative eigenvalue, beside the error of one hypothesis."""
        matrix, _, _ = self._in_weights(intercept)
        least = float(np.linalg.eigvalsh(matrix)[0])
        return max(-least, 0.0) / max(self.single, ROUNDING * self.size, TINY)

    def _in_weights(self, intercept: bool) -> tuple[Array, Array, Array]:
        """M, c and a with E (y - f)² = v'Mv + 2c'v + …, v = w - 1/k, at b = a'(w, 1 - Σw)."""
        form, k = self.form, len(self.form) - 2
        cross = form[:-1, -1] if intercept else np.zeros(k + 1)
        centred = form[:-1, :-1] - np.outer(cross, cross)
        # w = 1/k + v, and 1 - Σw = -Σv.
        side = centred[:k, :k].mean(axis=1) - centred[k, :k].mean()
        corner = centred[:k, k]
        matrix = centred[:k, :k] - corner[:, None] - corner + centred[k, k]
        return matrix, side, cross

    def weights(self, ridges: Array, intercept: bool, aim: float) -> tuple[Array, Array]:
        """Weights and constants for ridges on ‖w - aim‖² beside the mean of the loss."""
        matrix, side, cross = self._in_weights(intercept)
        k = len(side)
        side = side + (aim - 1 / k) * matrix.sum(axis=1)
        values, vectors = np.linalg.eigh(matrix)
        turned = vectors.T @ side
        # Nothing is known to be gained where nothing varies but by rounding. Means over the rows of
        # each pair make no true squares: what is as small as the most negative eigenvalue is as
        # likely to be nothing.
        least = np.maximum(ridges * self.single, -values[0])
        curvature = np.maximum(values, 0.0) + least[:, None]
        known = curvature > max(ROUNDING * np.abs(values).max(), TINY)
        v = -np.where(known, turned / np.where(known, curvature, 1.0), 0.0) @ vectors.T
        w = aim + v
        return w, w @ cross[:k] + (1 - w.sum(axis=1)) * cross[k]

    def error(self, w: Array, b: float) -> float:
        """E (y - f)², negative where it is not known at all."""
        point = np.concatenate([w, [1 - w.sum(), -b]])
        error = float(point @ self.form @ point)
        terms = np.abs(point)
        return error if abs(error) > ROUNDING * (terms @ np.abs(self.form) @ terms) else 0.0
