"""One alpha, from moments: (Z̃'Z̃ + μI)w = Z̃'y by Cholesky, the cheapest way there is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..statistics import Moments
from .method import Method
from .plan import Cost, Machine, Shape, block_bytes
from .solution import NEVER_SEEN, Array, IllConditioned, LeastSquares, Posterior, relative
from .spectrum import advice, check_remains
from .task import Task, Terms

# Rounding errors in the moments may be this large beside the smallest eigenvalue. Predictions err
# by less, since hardly any target lies in that one direction: 1e-5 for float64 features keeps them
# well inside 1e-4, and float32 features are not worth more than 3e-4.
TOLERANCE_64, TOLERANCE_32 = 1e-5, 3e-4


class Cholesky(Method[Moments]):
    """One alpha, from moments."""

    name = "cholesky"
    kinds = ("moments",)
    squared_only = True
    box = False

    def refuses(self, task: Task) -> str | None:
        found = super().refuses(task)
        if found is None and task.searches:
            return "solves for one alpha: give a number, or use solver='eigen'"
        return found

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task, machine, 1)

    def solve(self, given: Moments, task: Task, terms: Terms) -> LeastSquares:
        alpha = task.alpha
        if terms.plan.smallest_ridge:
            alpha = smallest_alpha(given, terms.scale, task.intercept)
        return solve(given, float(alpha), terms.scale, task.intercept, terms.plan.reason)


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
    moments: Moments, alpha: float, scale: float, intercept: bool, reason: str
) -> LeastSquares:
    """The weights for μ = alpha·scale; refuses a ridge that is not numerically reliable."""
    start = time.perf_counter()
    if not intercept:
        moments = moments.about_origin()
    mu = alpha * scale
    k = len(moments.mean)
    system = moments.scatter.copy(order="F")
    system.flat[:: k + 1] += mu
    norm = linalg.norm(system, 1)
    needed = smallest_trusted(moments)
    try:
        lower = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        if mu > needed:  # rounding cannot have done this
            raise ValueError(NEVER_SEEN) from None
        raise IllConditioned(advice(norm, mu, needed, scale)) from None
    reciprocal, _ = linalg.lapack.dpocon(lower, norm, uplo="L")
    # The estimate of 1/‖A⁻¹‖₁ may be far below the smallest eigenvalue, which is at least μ.
    if max(mu, reciprocal * norm) < needed:
        raise IllConditioned(advice(norm, mu, needed, scale))
    coef = linalg.cho_solve((lower, True), moments.cross, check_finite=False)
    # tr(A⁻¹) = ‖L⁻¹‖²: the degrees of freedom without an eigendecomposition.
    inverse, _ = linalg.lapack.dtrtri(lower, lower=1)
    degrees = k - mu * float(np.einsum("ij,ij->", inverse, inverse)) if mu else float(k)
    products = moments.scatter @ coef
    residual = products + mu * coef - moments.cross
    explained = 2 * (coef * moments.cross).sum(axis=0) - (coef * products).sum(axis=0)
    residual_sum = np.maximum(moments.target_scatter - explained, 0)
    return LeastSquares(
        coef=coef,
        intercept=moments.target_mean - moments.mean @ coef,
        mean=moments.mean,
        alpha=alpha,
        weight=moments.weight,
        counted=moments.counted,
        degrees_of_freedom=degrees + intercept,
        residual_sum=residual_sum,
        objective=float(residual_sum.sum() + mu * (coef**2).sum()),
        target_scatter=moments.target_scatter,
        posterior=CholeskyPosterior(inverse),
        solver="cholesky",
        reason=reason,
        residual=relative(residual, moments.cross),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class CholeskyPosterior(Posterior):
    """‖L⁻¹z‖², L⁻¹ lower triangular."""

    inverse: Array

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        half = Z @ self.inverse.T
        return np.einsum("ij,ij->i", half, half)


def smallest_trusted(moments: Moments) -> float:
    """The eigenvalue of Z̃'Z̃ + μI below which rounding errors of the moments reach predictions."""
    return moments.error / (TOLERANCE_32 if moments.noise else TOLERANCE_64)
