"""A few alphas, from moments: (Z̃'Z̃ + μI)w = Z̃'y by Cholesky, the cheapest way there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..statistics import Moments
from ..statistics.moments import left_of_mean
from ..statistics.products import Pool
from . import tiles
from .alpha import chosen
from .left_out import Judges, walk
from .method import Method
from .plan import Cost, Machine, Shape, block_bytes
from .rates import USUAL_STEPS
from .solution import (
    NEVER_SEEN,
    Array,
    IllConditioned,
    LeastSquares,
    Posterior,
    Triangle,
    relative,
)
from .spectrum import advice, check_remains, from_moments
from .task import Task, Terms
from .validation import Validation

# Rounding errors in the moments may be this large beside the smallest eigenvalue. Predictions err
# by less, since hardly any target lies in that one direction: 1e-5 for float64 features keeps them
# well inside 1e-4, and float32 features are not worth more than 3e-4.
TOLERANCE_64, TOLERANCE_32 = 1e-5, 3e-4

# A search for alpha begins with that of so many functions, and goes on in steps of 10^(1/2).
FIRST_FUNCTIONS = 512
STEPS_PER_DECADE = 2


class Cholesky(Method[Moments]):
    """One alpha, or the best of a few, from moments."""

    name = "cholesky"
    kinds = ("moments",)
    squared_only = True
    judged = True
    box = False
    tiled = True

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task, machine, USUAL_STEPS if task.searches else 1)

    def solve(self, given: Moments, task: Task, terms: Terms) -> LeastSquares:
        if terms.plan.smallest_ridge:
            alpha = smallest_alpha(given, terms.scale, task.intercept)
        elif task.searches:
            return _searched(given, task, terms)
        else:
            alpha = float(task.alpha)
        plan = terms.plan
        more = (task.intercept, plan.dtype, plan.reason, terms.pool)
        return solve(given, alpha, terms.scale, *more)


def cost(shape: Shape, task: Task, machine: Machine, factor: int) -> Cost:
    """nk² for moments of k columns and ``factor`` times k³ for their factorisation."""
    n, k = shape.n_rows, shape.layout.n_columns
    squares = 8 * (machine.threads + 4) * k**2
    return Cost(n * k**2 + factor * k**3, squares + block_bytes(shape, machine, task.dtype))


def smallest_alpha(moments: Moments, scale: float, intercept: bool) -> float:
    """The smallest alpha that is numerically reliable, with a factor of two to spare."""
    about = moments if intercept else moments.about_origin()
    check_remains(about)
    # Where functions hardly vary, what is left of their mean is rounding.
    rounding = 64 * np.finfo(np.float64).eps * about.weight * float(about.mean @ about.mean)
    return max(2 * max(smallest_trusted(about), rounding) / scale, 1e-100)


def solve(
    moments: Moments,
    alpha: float,
    scale: float,
    intercept: bool,
    dtype: np.dtype,
    reason: str,
    pool: Pool | None = None,
) -> LeastSquares:
    """The weights for μ = alpha·scale; refuses a ridge that is not numerically reliable."""
    start = time.perf_counter()
    moments = moments.centred(intercept, dtype)
    return _Factored.of(moments, alpha, scale, pool).solution(intercept, reason, start)


def _searched(moments: Moments, task: Task, terms: Terms) -> LeastSquares:
    """The alpha 10^(j/2) with the smallest error, walking from that of fewer functions.

    The error is that of rows left out, or of generalised cross-validation without rows at hand.
    """
    start, scale, judges = time.perf_counter(), terms.scale, terms.judges
    dtype = terms.plan.dtype
    held = moments.centred(task.intercept, dtype)
    check_remains(held)
    first = terms.ridge
    if first is None:
        few = from_moments(_leading(moments), task.intercept, dtype)
        first, _ = chosen(few, *_fewer(moments, task, terms))
    needed, largest = smallest_trusted(held), 10 * held.trace
    if largest <= 0:  # no function varies: every alpha gives the same constant
        found = _Factored.of(held, 1.0, scale, terms.pool)
        return found.solution(task.intercept, terms.plan.reason, start)
    least = max(needed, 1e-10 * held.trace, left_of_mean(held.weight, held.mean, dtype))
    lowest = int(np.ceil(STEPS_PER_DECADE * np.log10(least / scale)))
    highest = max(int(np.floor(STEPS_PER_DECADE * np.log10(largest / scale))), lowest)
    tried: dict[int, tuple[float, _Factored, Array | None]] = {}

    def error(j: int) -> float:
        if j not in tried:
            found = _Factored.of(held, 10.0 ** (j / STEPS_PER_DECADE), scale, terms.pool)
            squares = None
            if judges is None:
                value = found.solution(task.intercept, "", start).gcv_error
            else:
                squares = found.left_out(judges, task.intercept)
                value = float(judges.errors(squares[:, None])[0])
            tried[j] = value, found, squares
            terms.note(f"randspan: alpha {found.alpha:.3g}: error {value:.5g}")
            kept = min(tried, key=lambda i: tried[i][0])
            for i in tried.keys() - {kept}:  # one factor is kept, not all
                tried[i] = (tried[i][0], replace(tried[i][1], lower=np.empty((0, 0))), None)
        return tried[j][0]

    at = int(np.clip(round(STEPS_PER_DECADE * np.log10(first)), lowest, highest))
    at = walk(error, at, lowest, highest)
    if at == lowest and held.noise and terms.plan.fallback is not None:
        raise IllConditioned("The best ridge is below what this precision carries.")
    error(at)
    _, found, squares = tried[at]
    known = None if judges is None or squares is None else judges.validation(squares)
    return found.solution(task.intercept, terms.plan.reason, start, known)


def _leading(moments: Moments) -> Moments:
    """The moments of the first functions."""
    few = slice(FIRST_FUNCTIONS)
    part = replace(
        moments,
        mean=moments.mean[few],
        scatter=moments.scatter[few, few],
        cross=moments.cross[few],
    )
    share = part.trace / moments.trace if moments.trace > 0 else 1.0
    return replace(part, peak=part.trace, noise=moments.noise * share)


def _fewer(moments: Moments, task: Task, terms: Terms) -> tuple[Task, Terms]:
    """The search for the alpha of the first functions alone."""
    scale = terms.scale * min(1.0, FIRST_FUNCTIONS / moments.n_functions)
    judges, plan = terms.judges, replace(terms.plan, fallback=None)
    if judges is not None:
        everything = judges.map

        def some(function: Callable[[NDArray, slice], Array]) -> Array:
            return everything(lambda Z, rows: function(Z[:, :FIRST_FUNCTIONS], rows))

        judges = replace(judges, map=some)
    return task, replace(terms, scale=scale, judges=judges, plan=plan)


@dataclass(frozen=True)
class _Factored:
    """Z̃'Z̃ + μI = LL', and the weights that come of it."""

    moments: Moments
    alpha: float
    mu: float
    lower: Array
    coef: Array
    pool: Pool | None

    @classmethod
    def of(cls, moments: Moments, alpha: float, scale: float, pool: Pool | None) -> _Factored:
        mu, k = alpha * scale, len(moments.mean)
        system = moments.scatter.copy(order="F")
        system.flat[:: k + 1] += mu
        norm = linalg.norm(system, 1)
        needed = smallest_trusted(moments)
        lower = tiles.factor(system, pool)
        if lower is None:
            if mu > needed:  # rounding cannot have done this
                raise ValueError(NEVER_SEEN)
            raise IllConditioned(advice(norm, mu, needed, scale))
        reciprocal, _ = linalg.lapack.dpocon(lower, norm, uplo="L")
        # The estimate of 1/‖A⁻¹‖₁ may be far below the smallest eigenvalue, which is at least μ.
        if max(mu, reciprocal * norm) < needed:
            raise IllConditioned(advice(norm, mu, needed, scale))
        coef = linalg.cho_solve((lower, True), moments.cross, check_finite=False)
        return cls(moments, alpha, mu, lower, coef, pool)

    @cached_property
    def inverse(self) -> Array:
        """L⁻¹."""
        return tiles.inverse(self.lower, self.pool)

    def left_out(self, judges: Judges, intercept: bool) -> Array:
        """Squared errors of rows that are left out, the mean of targets."""
        held, each = self.moments, 1 / self.moments.weight if intercept else 0.0
        Y = judges.targets - held.target_mean

        posterior = Triangle(self.inverse)

        def squares(Z: NDArray, rows: slice) -> Array:
            away = Z - held.mean
            leverages = posterior.quadratic(away) + each
            missed = (Y[rows] - away @ self.coef).T[:, :, None]
            return judges.squares(missed, leverages[:, None], rows)[:, 0]

        return judges.map(squares)

    def solution(
        self, intercept: bool, reason: str, start: float, estimate: Validation | None = None
    ) -> LeastSquares:
        """The solution; ``start`` is when work on it began."""
        held, mu, coef, k = self.moments, self.mu, self.coef, len(self.lower)
        # tr(A⁻¹) = ‖L⁻¹‖²: the degrees of freedom without an eigendecomposition.
        inverse = self.inverse
        degrees = k - mu * float(np.einsum("ij,ij->", inverse, inverse)) if mu else float(k)
        products = held.scatter @ coef
        explained = 2 * (coef * held.cross).sum(axis=0) - (coef * products).sum(axis=0)
        residual_sum = np.maximum(held.target_scatter - explained, 0)
        return LeastSquares(
            coef=coef,
            intercept=held.target_mean - held.mean @ coef,
            mean=held.mean,
            alpha=self.alpha,
            weight=held.weight,
            counted=held.counted,
            freedoms=degrees + intercept,
            residual_sum=residual_sum,
            objective=float(residual_sum.sum() + mu * (coef**2).sum()),
            target_scatter=held.target_scatter,
            posterior=CholeskyPosterior(inverse),
            solver="cholesky",
            reason=reason,
            residual=relative(products + mu * coef - held.cross, held.cross),
            estimate=estimate,
            seconds=time.perf_counter() - start,
        )


@dataclass(frozen=True)
class CholeskyPosterior(Posterior):
    """‖L⁻¹z‖², L⁻¹ lower triangular."""

    inverse: Array

    @property
    def root(self) -> Array:
        return self.inverse

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        return Triangle(self.inverse).quadratic(Z)

    def through(self, C: Array, mean: Array | None) -> Posterior | None:
        return None if np.triu(C, 1).any() else Triangle(self.inverse).after(C, mean)


def smallest_trusted(moments: Moments) -> float:
    """The eigenvalue of Z̃'Z̃ + μI below which rounding errors of the moments reach predictions."""
    return moments.error / (TOLERANCE_32 if moments.noise else TOLERANCE_64)
