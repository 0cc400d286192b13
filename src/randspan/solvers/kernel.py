"""Weights for every training row, from inner products: an n × n matrix and its Cholesky factor.

With K the matrix of different rows, W their weights and C = K + μ·diag(1/W), weights are
a = P'y, P' = P - P11'P/(1'P1), P = C⁻¹ (P' = P without an intercept). Then residuals are μa/W,
leverages 1 - μP'_ii/W, and a row that is left out is missed by a_i/P'_ii: all errors of
cross-validation come with the diagonal of P, the squared columns of L⁻¹ for C = LL'.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from ..statistics.copies import lots
from ..statistics.products import Products
from .left_out import Judges, best, left_out_squares, walk
from .method import PRODUCTS, Method
from .plan import Cost, Machine, Shape
from .solution import Array, HeldOut, LeastSquares, Posterior, relative
from .task import Task, Terms
from .validation import Validation

# n × n matrices of float64 that are held at once: the kernel, and a factor.
SQUARES = 2
# Columns that are worked on together.
LINES = 128
# A search for alpha among all ridges, or in steps of 10^(1/2) from where it begins, and then of
# 10^(1/4); of more rows some are asked, and the others only at the alpha that these name.
FEW_ROWS, SOME_ROWS = 400, 1_000
STEPS, FINE_STEPS = 2, 4
# Steps go on as long as each lowers the error by this share: less is chance.
WORTH_A_STEP = 5e-4
# Ridges beside the weighted trace of the kernel: the smallest that is tried, that is trusted.
SMALLEST, TRUSTED = 1e-10, 1e-13
# The smallest ridge beside the kernel's diagonal for which a factor in float32 is a good enough
# preconditioner, and how many steps it may take; the relative residual that they are to reach.
RIDGE_32, MOST_STEPS, REFINED = 1e-4, 30, 1e-11

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
POTRF = {DOUBLE: lapack.dpotrf, SINGLE: lapack.spotrf}
POTRS = {DOUBLE: lapack.dpotrs, SINGLE: lapack.spotrs}
TRTRI = {DOUBLE: lapack.dtrtri, SINGLE: lapack.strtri}


class KernelMachine(Method[Products]):
    """Infinitely many functions: a weight for every training row."""

    name = "kernel"
    kinds = ("kernel rows",)
    takes = PRODUCTS
    squared_only = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task)

    def solve(self, given: Products, task: Task, terms: Terms) -> LeastSquares:
        found = _solved(given, task, terms)
        return replace(found, coef=given.spread(found.coef))


class DualOfCells(KernelMachine):
    """Indicators of cells through the n × n matrix of their inner products."""

    name = "dual"
    kinds = ("cells",)

    def solve(self, given: Products, task: Task, terms: Terms) -> LeastSquares:
        found = _solved(given, task, terms)
        assert given.features is not None
        return replace(found, coef=given.features.T @ found.coef, solver=self.name)


def cost(shape: Shape, task: Task) -> Cost:
    """n³/3 for a factor, and as much again for its inverse where alpha is to be found."""
    n = shape.n_rows
    lines = n * (shape.n_features + 4 * LINES + 4 * shape.n_targets)
    return Cost((1 + task.searches) * n**3 // 3, 8 * (SQUARES * n**2 + lines))


def _solved(given: Products, task: Task, terms: Terms) -> LeastSquares:
    start = time.perf_counter()
    kernel, weights = given.matrix(terms.pool), given.kinds.weights
    problem = _Problem(kernel, given.targets, weights, task.intercept, terms.pool)
    rows = np.flatnonzero(given.kinds.places >= 0)
    each, places = given.each[rows], given.kinds.places[rows]
    judges = Judges.of(given.targets[places], given.gone[rows], each, each)
    rule, alpha = _Rule(judges, places, task.alpha == "gcv"), task.alpha
    if isinstance(alpha, str):
        alpha = _searched(problem, rule, given.kinds.keys, terms)
    found = problem.at(alpha * terms.scale)
    known, held, degrees = None, None, None
    if task.searches or task.heldout:
        degrees = found.degrees_of_freedom
        squares, scores = rule.left_out(found)
        known = judges.validation(squares) if task.searches and not rule.gcv else None
        held = HeldOut(rows, scores) if task.heldout else None
    return found.solution(given, alpha, terms.plan.reason, start, degrees, known, held)


def _searched(problem: _Problem, rule: _Rule, keys: NDArray[np.uint64], terms: Terms) -> float:
    """The alpha with the smallest error."""
    scale, count = terms.scale, len(problem.weights)
    if count > SOME_ROWS + FEW_ROWS:
        some = np.sort(np.argsort(lots(keys, terms.seed))[:SOME_ROWS])
        problem, rule = problem.some(some), rule.some(some, count)
    trace = problem.trace
    known: dict[float, float] = {}

    def error(exponent: float) -> float:
        if exponent not in known:
            found = problem.at(10.0**exponent, strict=True)
            known[exponent] = np.inf if found is None else rule.error(found)
            alpha = 10.0**exponent / scale
            terms.note(f"randspan: alpha {alpha:.3g}: error {known[exponent]:.5g}")
        return known[exponent]

    lowest, highest = (int(np.ceil(STEPS * np.log10(x * trace))) for x in (SMALLEST, 10.0))
    # The lattice is one of alphas, and so the same however the rows were split.
    offset = np.log10(scale)
    fine = FINE_STEPS // STEPS
    if count <= FEW_ROWS:
        exponents = np.arange(lowest, highest + 1)
        at = int(exponents[best(np.array([error(j / STEPS + offset) for j in exponents]))])
    else:
        begin = (terms.ridge or 1e-2 * problem.size) * float(np.median(problem.weights))
        at = int(np.clip(round(STEPS * np.log10(begin)), lowest, highest))
        at = walk(lambda j: error(j / STEPS + offset), at, lowest, highest, WORTH_A_STEP)
    if not np.isfinite(error(at / STEPS + offset)):
        return float(10.0 ** (highest / STEPS))
    around = (at * fine, lowest * fine, highest * fine)
    at = walk(lambda j: error(j / FINE_STEPS + offset), *around, WORTH_A_STEP)
    return float(10.0 ** (at / FINE_STEPS))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Kernel, targets and weights of the different rows."""

    kernel: Array
    targets: Array
    weights: Array
    intercept: bool
    pool: Callable[[Callable, list], Any] | None = None

    def copied(self, dtype: np.dtype) -> NDArray:
        """The kernel in another precision; of many rows by several threads, for it is large."""
        n = len(self.kernel)
        if self.pool is None or n < SOME_ROWS:
            return self.kernel.astype(dtype)
        out = np.empty((n, n), dtype)

        def copy(start: int) -> None:
            out[start : start + LINES] = self.kernel[start : start + LINES]

        self.pool(copy, list(range(0, n, LINES)))
        return out

    @property
    def trace(self) -> float:
        """Σ W_i k(x_i, x_i), the trace of what a ridge is added to."""
        return float(self.weights @ np.diagonal(self.kernel)) or 1.0

    @property
    def size(self) -> float:
        """The mean of k(x, x)."""
        return float(np.diagonal(self.kernel).mean()) or 1.0

    def some(self, rows: NDArray[np.intp]) -> _Problem:
        kernel = self.kernel[np.ix_(rows, rows)]
        return replace(self, kernel=kernel, targets=self.targets[rows], weights=self.weights[rows])

    def at(self, mu: float, strict: bool = False, exact: bool = False) -> _Factored:
        """The weights for a ridge; None for one that is too small, where ``strict``.

        Factors of many rows are in float32 where that is enough for weights to 1e-11; never where
        they are to be ``exact``.
        """
        added = max(mu, 1e-300) / self.weights
        many = len(self.weights) >= SOME_ROWS and not exact
        if many and float(added.min()) >= RIDGE_32 * self.size:
            found = _Factored.of(self, mu, added, SINGLE)
            if found is not None:
                return found
        least = TRUSTED * self.trace
        while True:
            found = _Factored.of(self, mu, added, DOUBLE)
            if found is not None or strict:
                return found  # type: ignore[return-value]
            # The least that makes it positive definite: as good as none.
            mu, least = max(mu, least), 10 * least
            added = mu / self.weights


@dataclass(frozen=True, eq=False)
class _Factored:
    """C = LL' and what follows: weights a, the intercept, and P1."""

    problem: _Problem
    mu: float
    lower: NDArray
    coef: Array
    intercept: Array
    ones: Array

    @classmethod
    def of(cls, problem: _Problem, mu: float, added: Array, dtype: np.dtype) -> _Factored | None:
        """None where C is not positive definite in this precision."""
        Y, n = problem.targets, len(problem.weights)
        centre = problem.weights @ Y / problem.weights.sum() if problem.intercept else 0.0
        right = np.column_stack([Y - centre, np.ones(n)])
        system = problem.copied(dtype)
        system.flat[:: n + 1] += added.astype(dtype)
        lower, failed = POTRF[dtype](system.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return None
        solved = POTRS[dtype](lower, right.astype(dtype), lower=1)[0].astype(np.float64)
        if dtype == SINGLE and not _refine(problem.kernel, added, lower, right, solved):
            return None
        ones, coef = solved[:, -1], solved[:, :-1]
        intercept = np.zeros(Y.shape[1])
        if problem.intercept:
            shift = coef.sum(axis=0) / ones.sum()
            coef = coef - ones[:, None] * shift
            intercept = shift + centre
        return cls(problem, mu, lower, coef, intercept, ones)

    @cached_property
    def diagonal(self) -> Array:
        """P'_ii; the factor is lost."""
        lower, ones = self.lower, self.ones
        inverse, _ = TRTRI[lower.dtype](lower, lower=1, overwrite_c=1)
        found = np.zeros(len(ones))
        for start in range(0, len(ones), LINES):
            part = inverse[start:, start : start + LINES].astype(np.float64)
            part[:LINES] = np.tril(part[:LINES])
            found[start : start + LINES] = np.einsum("ij,ij->j", part, part)
        return found - ones**2 / ones.sum() if self.problem.intercept else found

    @property
    def degrees_of_freedom(self) -> float:
        return float((1 - self.mu / self.problem.weights * self.diagonal).sum())

    @property
    def residuals(self) -> Array:
        return self.mu / self.problem.weights[:, None] * self.coef

    def solution(
        self,
        given: Products,
        alpha: float,
        reason: str,
        start: float,
        degrees: float | None,
        estimate: Validation | None,
        heldout: HeldOut | None,
    ) -> LeastSquares:
        problem, coef, mu = self.problem, self.coef, self.mu
        weights, away = problem.weights, self.residuals
        fitted = problem.kernel @ coef
        residual_sum = weights @ away**2
        mean = weights @ problem.targets / weights.sum() if problem.intercept else 0.0
        right = problem.targets - self.intercept
        return LeastSquares(
            coef=coef,
            intercept=self.intercept,
            mean=None,
            alpha=alpha,
            weight=float(weights.sum()),
            counted=float(len(given.kinds.first)),
            freedoms=degrees,
            residual_sum=residual_sum,
            objective=float(residual_sum.sum() + mu * (coef * fitted).sum()),
            target_scatter=weights @ (problem.targets - mean) ** 2,
            posterior=KernelPosterior(given, mu, problem.intercept),
            solver="kernel",
            reason=reason,
            residual=relative(fitted + away - right, right),
            estimate=estimate,
            heldout=heldout,
            seconds=time.perf_counter() - start,
        )


@dataclass(frozen=True, eq=False)
class _Rule:
    """What ridges are judged by: rows left out, or generalised cross-validation."""

    judges: Judges
    places: NDArray[np.intp]
    gcv: bool

    def left_out(self, found: _Factored) -> tuple[Array, Array]:
        """Squared errors, the mean of targets, and scores of rows that are left out."""
        judges, weights = self.judges, found.problem.weights[self.places]
        share = judges.gone / weights
        left = 1 - share + share * (found.mu / weights) * found.diagonal[self.places]
        away = found.residuals[self.places]
        squares = left_out_squares((away**2).mean(axis=1), left)
        with np.errstate(divide="ignore", invalid="ignore"):
            return squares, judges.targets - away / left[:, None]

    def error(self, found: _Factored) -> float:
        if not self.gcv:
            return float(self.judges.errors(self.left_out(found)[0][:, None])[0])
        weights, away = found.problem.weights, found.residuals
        free = 1 - found.degrees_of_freedom / len(weights)
        spread = float(self.judges.errors(np.zeros((len(self.places), 1)))[0])
        error = float((weights @ away**2).mean() / weights.sum()) + spread
        return error / free**2 if free > 1e-10 else np.inf

    def some(self, rows: NDArray[np.intp], count: int) -> _Rule:
        """The same for some of the different rows."""
        number = np.full(count, -1)
        number[rows] = np.arange(len(rows))
        kept = number[self.places] >= 0
        judges = self.judges
        shares = judges.shares[kept] / judges.shares[kept].sum()
        part = Judges(judges.targets[kept], judges.gone[kept], shares, judges.doubts[kept])
        return _Rule(part, number[self.places[kept]], self.gcv)


@dataclass(frozen=True, eq=False)
class KernelPosterior(Posterior):
    """(k(x, x) - k'Pk + (1 - 1'Pk)²/(1'P1))/μ - 1/ΣW, k the kernel of x with training rows.

    The n × n matrix is made when it is first asked for, and never pickled.
    """

    given: Products
    mu: float
    intercept: bool

    def __getstate__(self) -> dict:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def _factored(self) -> _Factored:
        known = vars(self).get("_known")
        if known is None:
            given = self.given
            problem = _Problem(given.matrix(), given.targets, given.kinds.weights, self.intercept)
            known = problem.at(self.mu, exact=True)
            object.__setattr__(known, "problem", replace(problem, kernel=np.empty((0, 0))))
            object.__setattr__(self, "_known", known)
        return known

    @property
    def degrees_of_freedom(self) -> float:
        given = self.given
        problem = _Problem(given.matrix(), given.targets, given.kinds.weights, self.intercept)
        return problem.at(self.mu, exact=True).degrees_of_freedom

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        found = self._factored
        Z, own = self.given.beside(Z, squares)
        right = Z.T.astype(found.lower.dtype)
        half = solve_triangular(found.lower, right, lower=True, check_finite=False)
        left = own - np.einsum("ij,ij->j", half, half)
        if self.intercept:
            left += (1 - Z @ found.ones) ** 2 / found.ones.sum()
        each = 1 / float(self.given.kinds.weights.sum()) if self.intercept else 0.0
        return np.maximum(left, 0) / max(found.mu, 1e-300) - each


def _refine(kernel: Array, added: Array, lower: NDArray, right: Array, x: Array) -> bool:
    """Conjugate gradients from x, preconditioned by a factor in float32; whether they got there."""

    def solved(r: Array) -> Array:
        return POTRS[SINGLE](lower, r.astype(SINGLE), lower=1)[0].astype(np.float64)

    size = np.linalg.norm(right, axis=0)
    size[size == 0] = 1.0
    rest = right - kernel @ x - added[:, None] * x
    ahead = solved(rest)
    along, product = ahead, (rest * ahead).sum(axis=0)
    for _ in range(MOST_STEPS):
        if (np.linalg.norm(rest, axis=0) <= REFINED * size).all():
            return True
        image = kernel @ along + added[:, None] * along
        bent = (along * image).sum(axis=0)
        length = np.divide(product, bent, out=np.zeros_like(bent), where=bent > 0)
        x += length * along
        rest -= length * image
        ahead = solved(rest)
        before, product = product, (rest * ahead).sum(axis=0)
        share = np.divide(product, before, out=np.zeros_like(before), where=before > 0)
        along = ahead + share * along
    return False
