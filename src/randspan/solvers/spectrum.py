"""One factorisation for a whole path of alphas.

Z̃ = U·diag(√λ)·V' (centred, weighted features) turns ridge regression into k separate problems.
Three sources give the same object: the eigenvectors V of the moments (`from_moments`), the
singular values of their square root (`from_factor`), the eigenvectors U of the n × n Gram matrix
(`from_gram`). With s = U'y the solution for any μ is V·diag(√λ/(λ + μ))·s, and residual, degrees
of freedom and cross-validation are sums over λ and s.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..moments import Factor, Moments
from .solution import Array, IllConditioned, Posterior, Solution, gcv, relative


@dataclass(frozen=True)
class Spectrum:
    """λ, s = U'y, V, and what is needed to come back from centred to plain features.

    ``floor`` is the smallest μ at which rounding errors are still small beside it.
    """

    values: Array
    scores: Array
    vectors: Array
    target_scatter: Array
    mean: Array
    target_mean: Array
    weight: float
    intercept: bool
    floor: float
    solver: str
    seconds: float

    def degrees_of_freedom(self, mu: NDArray | float) -> NDArray:
        """1 + Σ λ/(λ + μ), without the 1 where there is no intercept."""
        mu = np.asarray(mu, dtype=np.float64)[..., None]
        positive = self.values[self.values > 0]
        shares = positive / (positive + mu)
        return shares.sum(axis=-1) + self.intercept

    def residual_sum(self, mu: NDArray | float) -> NDArray:
        """Σω(y - f)² for every μ and target."""
        mu = np.asarray(mu, dtype=np.float64)[..., None]
        total = self.values + mu
        left = np.divide(mu, total, where=total > 0, out=np.ones_like(total))
        squares = self.scores**2
        outside = np.maximum(self.target_scatter - squares.sum(axis=0), 0)
        return left**2 @ squares + outside

    def gcv_errors(self, mu: NDArray) -> NDArray:
        """The generalised cross-validation error, averaged over targets, for every μ."""
        residuals = self.residual_sum(mu).mean(axis=-1)
        total = self.target_scatter.mean()
        return gcv(residuals, total, self.degrees_of_freedom(mu), self.weight)

    def solution(self, alpha: float, scale: float, reason: str, needed: float = 0.0) -> Solution:
        """The weights for μ = alpha·scale; refused where μ + min λ is below ``needed``."""
        start = time.perf_counter()
        mu = alpha * scale
        if self.values.min(initial=0.0) + mu < needed:
            raise IllConditioned(advice(self.values.max(initial=0.0), mu, needed, scale))
        total = self.values + mu
        filters = np.divide(np.sqrt(self.values), total, where=total > 0, out=np.zeros_like(total))
        coef = self.vectors @ (filters[:, None] * self.scores)
        right = np.sqrt(self.values)[:, None] * self.scores
        fitted = total[:, None] * (filters[:, None] * self.scores)
        return Solution(
            coef=coef,
            intercept=self.target_mean - self.mean @ coef,
            mean=self.mean,
            alpha=alpha,
            weight=self.weight,
            degrees_of_freedom=float(self.degrees_of_freedom(mu)),
            residual_sum=self.residual_sum(mu),
            target_scatter=self.target_scatter,
            posterior=SpectralPosterior(self.values, self.vectors, mu),
            solver=self.solver,
            reason=reason,
            residual=relative(fitted - right, right),
            seconds=self.seconds + time.perf_counter() - start,
        )


@dataclass(frozen=True)
class SpectralPosterior(Posterior):
    """Σ (v_i'z)²/(λ_i + μ), and what is outside the v_i by 1/μ."""

    values: Array
    vectors: Array
    mu: float

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        inside = (Z @ self.vectors) ** 2
        total = self.values + self.mu
        sums = inside @ np.divide(1, total, where=total > 0, out=np.zeros_like(total))
        if self.mu > 0 and self.vectors.shape[1] < self.vectors.shape[0]:
            squares = np.einsum("ij,ij->i", Z, Z) if squares is None else squares
            sums += np.maximum(squares - inside.sum(axis=1), 0) / self.mu
        return sums


def from_moments(moments: Moments, intercept: bool) -> Spectrum:
    """Eigenvalues of the scatter Z̃'Z̃ = V·diag(λ)·V', s = V'Z̃'y/√λ."""
    start = time.perf_counter()
    if not intercept:
        moments = moments.about_origin()
    values, vectors = linalg.eigh(moments.scatter, driver="evd", check_finite=False)
    # What rounding could have made from zero is zero.
    values = np.where(values > len(values) * 1.2e-16 * max(values[-1], 0), values, 0)
    projected = vectors.T @ moments.cross
    roots = np.sqrt(values)[:, None]
    scores = np.divide(projected, roots, where=roots > 0, out=np.zeros_like(projected))
    return Spectrum(
        values=values,
        scores=scores,
        vectors=vectors,
        target_scatter=moments.target_scatter,
        mean=moments.mean,
        target_mean=moments.target_mean,
        weight=moments.weight,
        intercept=intercept,
        floor=_floor(moments),
        solver="eigen",
        seconds=time.perf_counter() - start,
    )


def _floor(moments: Moments) -> float:
    # From the present trace, not from the peak: a model that forgot rows must choose among the
    # same alphas as one that never saw them. Where so much was forgotten that its rounding errors
    # reach the floor, the moments are spent.
    trace = moments.trace
    floor = trace * max(1e-10, 100 * moments.unit / np.sqrt(max(moments.rows, 1)))
    if moments.noise > floor:
        raise IllConditioned(
            "So much was forgotten that rounding errors of the forgotten rows are as large as what "
            "is left: fit the remaining rows anew."
        )
    return floor


def from_factor(factor: Factor, intercept: bool) -> Spectrum:
    """Singular values of R: no squares are formed, so condition numbers up to 1e14 are fine."""
    start = time.perf_counter()
    Z, Y, mean, target_mean = factor.centred(intercept)
    if len(Z) > Z.shape[1]:
        rows = np.asarray(np.linalg.qr(np.hstack([Z, Y]), mode="r"))
        Z, Y = rows[:, : Z.shape[1]], rows[:, Z.shape[1] :]
    left, roots, right = _svd(Z)
    # The cutoff of a pseudo-inverse, at the precision of the features.
    largest = roots[0] if len(roots) else 0.0
    kept = roots > max(factor.rows, Z.shape[1]) * np.finfo(np.float64).eps * largest
    return Spectrum(
        values=roots[kept] ** 2,
        scores=left.T[kept] @ Y,
        vectors=right[kept].T,
        target_scatter=(Y**2).sum(axis=0),
        mean=mean,
        target_mean=target_mean,
        weight=factor.weight,
        intercept=intercept,
        floor=1e-10 * float((roots**2).sum()),
        solver="qr",
        seconds=time.perf_counter() - start,
    )


def _svd(Z: Array):
    try:
        return linalg.svd(Z, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:  # divide and conquer rarely fails to converge; QR does not
        return linalg.svd(Z, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def from_few_rows(factor: Factor, intercept: bool) -> Spectrum:
    """The dual: eigenvectors U of the n × n matrix Z̃Z̃' of a factor that still is its rows."""
    start = time.perf_counter()
    Z, Y, mean, target_mean = factor.centred(intercept)
    values, vectors = _dual_eigenvectors(Z @ Z.T)
    return Spectrum(
        values=values,
        scores=vectors.T @ Y,
        vectors=Z.T @ (vectors / np.sqrt(values)),
        target_scatter=(Y**2).sum(axis=0),
        mean=mean,
        target_mean=target_mean,
        weight=factor.weight,
        intercept=intercept,
        floor=1e-10 * float(values.sum()),
        solver="dual",
        seconds=time.perf_counter() - start,
    )


def from_kernel(gram: Array, Y: Array, weights: Array | None, intercept: bool) -> Spectrum:
    """The dual with a kernel in place of Z̃Z̃': infinitely many functions, one weight a row.

    Its "features" of x are k(x, x_1), …, k(x, x_n), and coef the weights of these. Centring the
    functions centres the kernel: m_i = Σ_j ω_j k(x_i, x_j)/Σω is its mean.
    """
    start = time.perf_counter()
    each = np.ones(len(Y)) if weights is None else weights
    root, weight = np.sqrt(each)[:, None], float(each.sum())
    mean, target_mean = np.zeros(len(Y)), np.zeros(Y.shape[1])
    if intercept:
        mean, target_mean = gram @ each / weight, each @ Y / weight
        gram = gram - mean[:, None] - mean + each @ mean / weight
    Y = root * (Y - target_mean)
    values, vectors = _dual_eigenvectors(root * gram * root.T)
    return Spectrum(
        values=values,
        scores=vectors.T @ Y,
        vectors=root * vectors / np.sqrt(values),
        target_scatter=(Y**2).sum(axis=0),
        mean=mean,
        target_mean=target_mean,
        weight=weight,
        intercept=intercept,
        floor=1e-10 * float(values.sum()),
        solver="kernel",
        seconds=time.perf_counter() - start,
    )


def _dual_eigenvectors(gram: Array) -> tuple[Array, Array]:
    values, vectors = linalg.eigh(gram, driver="evd", check_finite=False)
    kept = values > len(values) * 1.2e-16 * max(values[-1], 0)
    return values[kept], vectors[:, kept]


def advice(largest: float, mu: float, needed: float, scale: float) -> str:
    """What to do about moments whose smallest eigenvalue drowns in rounding errors."""
    return (
        f"Z'Z + alpha·k·I has eigenvalues from {mu:.1e} (or little more) to {largest + mu:.1e}: "
        "rounding errors of the moments would reach the predictions. Raise alpha to "
        f"{needed / scale:.1e} or more, or use solver='qr', which does not square the condition "
        "number (it streams and merges, but cannot forget)."
    )
