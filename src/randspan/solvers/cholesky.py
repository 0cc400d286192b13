"""One alpha, from moments: (Z̃'Z̃ + μI)w = Z̃'y by Cholesky, the cheapest way there is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..moments import Moments
from .solution import NEVER_SEEN, Array, IllConditioned, LeastSquares, Posterior, relative
from .spectrum import advice

# Rounding errors in the moments may be this large beside the smallest eigenvalue. Predictions err
# by less, since hardly any target lies in that one direction: 1e-5 for float64 features keeps them
# well inside 1e-4, and float32 features are not worth more than 3e-4.
TOLERANCE_64, TOLERANCE_32 = 1e-5, 3e-4


def solve(
    moments: Moments, alpha: float, scale: float, intercept: bool, reason: str
) -> LeastSquares:
    """The weights for μ = alpha·scale; refuses where the moments cannot carry them."""
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
