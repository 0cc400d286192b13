"""Weights for every training row, from inner products: an n × n matrix and its Cholesky factor.

With K the matrix of distinct inputs, W their weights and C = K + μ·diag(1/W), weights are
a = P'y, P' = P - P11'P/(1'P1), P = C⁻¹ (P' = P without an intercept). Then residuals are μa/W,
leverages 1 - μP'_ii/W, and a row that is left out is missed by a_i/P'_ii: all errors of
cross-validation come with the diagonal of P, the squared columns of L⁻¹ for C = LL'.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from ..families.shared.kernel_columns import wide_parts
from ..once import once
from ..statistics.base import NOT_FINITE, CannotFit
from ..statistics.products import Pool, Products
from ..statistics.together import lots
from . import tiles
from .left_out import Judges, best, walk
from .method import PRODUCTS, Method
from .plan import Cost, Machine, Shape
from .solution import Array, HeldOut, LeastSquares, Posterior, relative
from .task import Task, Terms
from .tiles import DOUBLE, SINGLE
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
# Ridges beside the weighted trace of the kernel: the smallest that is tried, that is tried where
# scales were learned with one as small, that is trusted.
SMALLEST, SMALLEST_KNOWN, TRUSTED = 1e-10, 1e-16, 1e-13
# The smallest ridge beside the kernel's diagonal for which a factor in float32 is a good enough
# preconditioner, and how many steps it may take; the relative residual that they are to reach.
RIDGE_32, MOST_STEPS, REFINED = 1e-4, 30, 1e-11
# The largest relative residual of weights at a given alpha.
SOLVED = 1e-6

POTRS = {DOUBLE: lapack.dpotrs, SINGLE: lapack.spotrs}


class KernelMachine(Method[Products]):
    """Infinitely many functions: a weight for every training row."""

    name = "kernel"
    kinds = ("kernel rows",)
    takes = PRODUCTS
    squared_only = True
    box = False
    tiled = True

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task, machine)

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


def cost(shape: Shape, task: Task, machine: Machine) -> Cost:
    """n³/3 for a factor, and as much again for its inverse where alpha is to be found."""
    n, d = shape.n_rows, shape.n_features
    lines = n * (4 * LINES + 4 * shape.n_targets)
    # Rows that are dense, standardised and stretched, for every thread.
    lines += 4 * machine.threads * d * wide_parts(d, n)[0].stop
    return Cost((1 + task.searches) * n**3 // 3, 8 * (SQUARES * n**2 + lines))


def _solved(given: Products, task: Task, terms: Terms) -> LeastSquares:
    start = time.perf_counter()
    inputs, together = given.inputs, given.together
    problem = _Problem.of(given, task.intercept, terms.pool)
    places = inputs.places[together.first]
    judges = Judges.of(together, terms.range)
    rule, alpha = _Rule(judges, places, task.alpha == "gcv"), task.alpha
    if isinstance(alpha, str):
        alpha = _searched(problem, rule, inputs.keys, terms)
    found = problem.at(alpha * terms.scale)
    known, held, degrees = None, None, None
    if task.searches or task.heldout:
        degrees = found.degrees_of_freedom
        squares, scores, ahead = rule.left_out(found)
        known = rule.judges.validation(squares) if task.searches and not rule.gcv else None
        rows = np.flatnonzero(together.places >= 0)
        sets = together.places[rows]
        held = HeldOut(rows, scores[sets], ahead[sets]) if task.heldout else None
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

    begin = (terms.ridge or 1e-2 * problem.size) * float(np.median(problem.weights))
    lowest, highest = (int(np.ceil(STEPS * np.log10(x * trace))) for x in (SMALLEST, 10.0))
    # The lattice is one of alphas, and so the same however the rows were split.
    offset = np.log10(scale)
    fine = FINE_STEPS // STEPS
    at = round(STEPS * np.log10(begin))
    tiny = at < lowest and np.isfinite(error(at / STEPS + offset))
    if tiny:
        lowest = int(np.ceil(STEPS * np.log10(SMALLEST_KNOWN * trace)))
    if count <= FEW_ROWS and not tiny:
        exponents = np.arange(lowest, highest + 1)
        at = int(exponents[best(np.array([error(j / STEPS + offset) for j in exponents]))])
    else:
        at = int(np.clip(at, lowest, highest))
        at = walk(lambda j: error(j / STEPS + offset), at, lowest, highest, WORTH_A_STEP)
    if not np.isfinite(error(at / STEPS + offset)):
        return float(10.0 ** (highest / STEPS))
    around = (at * fine, lowest * fine, highest * fine)
    at = walk(lambda j: error(j / FINE_STEPS + offset), *around, WORTH_A_STEP)
    return float(10.0 ** (at / FINE_STEPS))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Kernel, mean targets and weights of the distinct inputs."""

    kernel: Array
    targets: Array
    weights: Array
    intercept: bool
    pool: Pool | None = None

    @classmethod
    def of(cls, given: Products, intercept: bool, pool: Pool | None = None) -> _Problem:
        inputs, kernel = given.inputs, given.matrix(pool)
        with np.errstate(all="ignore"):
            if not np.isfinite(kernel.sum()):
                raise CannotFit(NOT_FINITE)
        return cls(kernel, inputs.targets, inputs.weights, intercept, pool)

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

    def product(self, columns: Array) -> Array:
        """The kernel times columns, of many rows by several threads."""
        n = len(self.kernel)
        if self.pool is None or n < SOME_ROWS:
            return self.kernel @ columns
        out = np.empty_like(columns)

        def multiply(start: int) -> None:
            lines = slice(start, start + LINES)
            out[lines] = self.kernel[lines] @ columns

        self.pool(multiply, list(range(0, n, LINES)))
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
            if strict or (found is not None and (found.residual < SOLVED or least > self.trace)):
                return found  # type: ignore[return-value]
            # The least that makes it positive definite, in more than rounding: as good as none.
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
        """None where C is not positive definite in this precision, or C⁻¹ has no squares."""
        Y, n = problem.targets, len(problem.weights)
        centre = problem.weights @ Y / problem.weights.sum() if problem.intercept else 0.0
        right = np.column_stack([Y - centre, np.ones(n)])
        system = problem.copied(dtype)
        system.flat[:: n + 1] += added.astype(dtype)
        lower = tiles.factor(system.T, problem.pool)
        if lower is None:
            return None
        solved = POTRS[dtype](lower, right.astype(dtype), lower=1)[0].astype(np.float64)
        if dtype == SINGLE and not _refine(problem, added, lower, right, solved):
            return None
        with np.errstate(over="ignore"):
            if not np.isfinite((solved**2).sum()):
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
        """P'_ii."""
        ones, found = self.ones, tiles.squared_columns_of_inverse(self.lower, self.problem.pool)
        return found - ones**2 / ones.sum() if self.problem.intercept else found

    @property
    def degrees_of_freedom(self) -> float:
        return float((1 - self.mu / self.problem.weights * self.diagonal).sum())

    @property
    def residuals(self) -> Array:
        return self.mu / self.problem.weights[:, None] * self.coef

    @property
    def residual(self) -> float:
        """‖Ca - (y - b)‖/‖y - b‖."""
        right = self.problem.targets - self.intercept
        return relative(self.problem.kernel @ self.coef + self.residuals - right, right)

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
        within = given.inputs.scatter.sum(axis=0)
        fitted = problem.kernel @ coef
        residual_sum = weights @ away**2 + within
        mean = weights @ problem.targets / weights.sum() if problem.intercept else 0.0
        return LeastSquares(
            coef=coef,
            intercept=self.intercept,
            mean=None,
            alpha=alpha,
            weight=float(weights.sum()),
            counted=float(given.distinct),
            freedoms=degrees,
            residual_sum=residual_sum,
            objective=float(residual_sum.sum() + mu * (coef * fitted).sum()),
            target_scatter=weights @ (problem.targets - mean) ** 2 + within,
            posterior=KernelPosterior(given, mu, problem.intercept),
            solver="kernel",
            reason=reason,
            residual=self.residual,
            estimate=estimate,
            heldout=heldout,
            seconds=time.perf_counter() - start,
        )


@dataclass(frozen=True, eq=False)
class _Rule:
    """What ridges are judged by: rows left out, or generalised cross-validation.

    ``places`` are the inputs of every set that is left out.
    """

    judges: Judges
    places: NDArray[np.intp]
    gcv: bool

    def left_out(self, found: _Factored) -> tuple[Array, Array, Array]:
        """Squared errors, the mean of targets, scores and leverages of sets that are left out."""
        judges, weights = self.judges, found.problem.weights[self.places]
        share = judges.gone / weights
        left = 1 - share + share * (found.mu / weights) * found.diagonal[self.places]
        away = judges.targets - found.problem.targets[self.places] + found.residuals[self.places]
        squares = judges.squares_left(away.T[:, :, None], left[:, None], slice(None))[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return squares, judges.targets - away / left[:, None], (1 / left - 1) / judges.gone

    def error(self, found: _Factored) -> float:
        judges = self.judges
        if not self.gcv:
            return float(judges.errors(self.left_out(found)[0][:, None])[0])
        weights, away = found.problem.weights, found.residuals
        free = 1 - found.degrees_of_freedom / len(weights)
        rounding = float(judges.errors(np.zeros((len(self.places), 1)))[0])
        within = float(judges.shares @ judges.within)
        error = float((weights @ away**2).mean() / weights.sum()) + within + rounding
        return error / free**2 if free > 1e-10 else np.inf

    def some(self, inputs: NDArray[np.intp], count: int) -> _Rule:
        """The same for some of the distinct inputs."""
        number = np.full(count, -1)
        number[inputs] = np.arange(len(inputs))
        kept = np.flatnonzero(number[self.places] >= 0)
        part = self.judges.some(kept, self.judges.shares[kept])
        return _Rule(part, number[self.places[kept]], self.gcv)


@dataclass(frozen=True, eq=False)
class KernelPosterior(Posterior):
    """(k(x, x) - k'Pk + (1 - 1'Pk)²/(1'P1))/μ - 1/ΣW, k the kernel of x with training rows.

    The n × n matrix is factorised when something is first asked of it, once.
    """

    given: Products
    mu: float
    intercept: bool

    def prepare(self, pool: Pool | None = None) -> None:
        def made() -> _Factored:
            problem = _Problem.of(self.given, self.intercept, pool)
            found = problem.at(self.mu, exact=True)
            return replace(found, problem=replace(problem, kernel=np.empty((0, 0))))

        once(self, "_known", made)

    @property
    def _factored(self) -> _Factored:
        self.prepare()
        return vars(self)["_known"]

    @property
    def degrees_of_freedom(self) -> float:
        found = self._factored
        return once(self, "_degrees", lambda: found.degrees_of_freedom)

    def left_out(self) -> tuple[Array, Array]:
        inputs, together = self.given.inputs, self.given.together
        rule = _Rule(Judges.of(together), inputs.places[together.first], False)
        _, scores, ahead = rule.left_out(self._factored)
        return scores[together.places], ahead[together.places]

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        found = self._factored
        Z, own = self.given.beside(Z, squares)
        right = Z.T.astype(found.lower.dtype)
        half = solve_triangular(found.lower, right, lower=True, check_finite=False)
        left = own - np.einsum("ij,ij->j", half, half)
        if self.intercept:
            left += (1 - Z @ found.ones) ** 2 / found.ones.sum()
        each = 1 / float(self.given.inputs.weights.sum()) if self.intercept else 0.0
        return np.maximum(left, 0) / max(found.mu, 1e-300) - each


def _refine(problem: _Problem, added: Array, lower: NDArray, right: Array, x: Array) -> bool:
    """Conjugate gradients from x, preconditioned by a factor in float32; whether they got there."""

    def solved(r: Array) -> Array:
        return POTRS[SINGLE](lower, r.astype(SINGLE), lower=1)[0].astype(np.float64)

    size = np.linalg.norm(right, axis=0)
    size[size == 0] = 1.0
    rest = right - problem.product(x) - added[:, None] * x
    ahead = solved(rest)
    along, product = ahead, (rest * ahead).sum(axis=0)
    for _ in range(MOST_STEPS):
        if (np.linalg.norm(rest, axis=0) <= REFINED * size).all():
            return True
        image = problem.product(along) + added[:, None] * along
        bent = (along * image).sum(axis=0)
        length = np.divide(product, bent, out=np.zeros_like(bent), where=bent > 0)
        x += length * along
        rest -= length * image
        ahead = solved(rest)
        before, product = product, (rest * ahead).sum(axis=0)
        share = np.divide(product, before, out=np.zeros_like(before), where=before > 0)
        along = ahead + share * along
    return False
