"""One factorisation for a whole path of alphas.

Z̃ = U·diag(√λ)·V' (centred, weighted features) turns ridge regression into k separate problems.
Three sources give the same object: the eigenvectors V of the moments (`from_moments`), the
singular values of their square root (`from_factor`), the eigenvectors U of the n × n Gram matrix
(`from_few_rows`). With s = U'y the solution for any μ
is V·diag(√λ/(λ + μ))·s, and residual, degrees of freedom and cross-validation are sums over λ, s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..statistics import Factor, Moments
from ..statistics.moments import UNDERFLOWS, UNIT, left_of_mean
from ..statistics.products import Pool
from . import tiles
from .left_out import Judges
from .solution import (
    NEVER_SEEN,
    Array,
    IllConditioned,
    LeastSquares,
    Posterior,
    Triangle,
    gcv,
    relative,
)
from .validation import Validation


@dataclass(frozen=True)
class Spectrum:
    """λ, s = U'y, and the columns that weights are made of.

    Weights are basis·(p/(λ + μ)). From the moments the basis is V and p = V'Z̃'y, from rows it is
    Z̃'U and p = s: small λ are never divided by as long as μ > 0. ``lengths`` are the norms of the
    basis columns, 1 or √λ; ``kept`` says which λ are more than rounding errors, so that μ = 0 may
    divide by them; ``counted`` is what degrees of freedom are compared with (see `gcv`); ``noise``
    is the size of the rounding errors of float32 features.
    """

    values: Array
    kept: NDArray[np.bool_]
    scores: Array
    basis: Array
    lengths: Array
    projected: Array
    target_scatter: Array
    mean: Array
    target_mean: Array
    rows: int
    weight: float
    counted: float
    intercept: bool
    noise: float
    residual: Callable[[Array, float], float]
    solver: str
    seconds: float

    def degrees_of_freedom(self, mu: NDArray | float) -> NDArray:
        """1 + Σ λ/(λ + μ), without the 1 where there is no intercept."""
        values = self.values[self.kept]
        return (values / (values + np.asarray(mu)[..., None])).sum(axis=-1) + self.intercept

    def residual_sum(self, mu: NDArray | float) -> NDArray:
        """Σω(y - f)² for every μ and target."""
        mu = np.asarray(mu)[..., None]
        kept = self.kept
        squares = self.scores[kept] ** 2
        outside = np.maximum(self.target_scatter - squares.sum(axis=0), 0)
        return (mu / (self.values[kept] + mu)) ** 2 @ squares + outside

    def gcv_errors(self, mu: NDArray) -> NDArray:
        """The generalised cross-validation error, averaged over targets, for every μ."""
        residuals = self.residual_sum(mu).mean(axis=-1)
        total = self.target_scatter.mean()
        return gcv(residuals, total, self.degrees_of_freedom(mu), self.weight, self.counted)

    def left_out(self, judges: Judges, mu: Array) -> Array:
        """Squared errors of rows that are left out, the mean of targets, for every μ a column."""
        kept, each = self.kept, 1 / self.weight if self.intercept else 0.0
        vectors, values = self.basis[:, kept] / self.lengths[kept], self.values[kept]
        shrunk = 1 / (values[:, None] + mu)
        pulled = np.sqrt(values)[:, None] * self.scores[kept]
        Y = judges.targets - self.target_mean

        def squares(Z: NDArray, rows: slice) -> Array:
            inside = (Z - self.mean) @ vectors
            away = (
                target[:, None] - inside @ (weights[:, None] * shrunk)
                for target, weights in zip(Y[rows].T, pulled.T, strict=True)
            )
            return judges.squares(away, inside**2 @ shrunk + each, rows)

        return judges.map(squares)

    def solution(
        self,
        alpha: float,
        scale: float,
        reason: str,
        needed: float = 0.0,
        estimate: Validation | None = None,
    ) -> LeastSquares:
        """The weights for μ = alpha·scale; refused where μ + min λ is below ``needed``."""
        start = time.perf_counter()
        mu = alpha * scale
        if self.values.min(initial=0.0) + mu < needed:
            raise IllConditioned(advice(self.values.max(initial=0.0), mu, needed, scale))
        kept = self.kept
        used = kept if mu == 0 else np.ones_like(kept)
        shrunk = self.projected[used] / (self.values[used] + mu)[:, None]
        coef = self.basis[:, used] @ shrunk
        vectors = self.basis[:, kept] / self.lengths[kept]
        residual_sum = self.residual_sum(mu)
        # ‖w‖² in terms of the spectrum.
        pulled = np.sqrt(self.values[kept]) / (self.values[kept] + mu)
        norm = float(((pulled[:, None] * self.scores[kept]) ** 2).sum())
        return LeastSquares(
            coef=coef,
            intercept=self.target_mean - self.mean @ coef,
            mean=self.mean,
            alpha=alpha,
            weight=self.weight,
            counted=self.counted,
            freedoms=float(self.degrees_of_freedom(mu)),
            residual_sum=residual_sum,
            objective=float(residual_sum.sum() + mu * norm),
            target_scatter=self.target_scatter,
            posterior=SpectralPosterior(self.values[kept], vectors, mu),
            solver=self.solver,
            reason=reason,
            residual=self.residual(coef, mu),
            estimate=estimate,
            seconds=self.seconds + time.perf_counter() - start,
        )


@dataclass(frozen=True)
class SpectralPosterior(Posterior):
    """Σ (v_i'z)²/(λ_i + μ), and what is outside the v_i by 1/μ."""

    values: Array
    vectors: Array
    mu: float

    @property
    def root(self) -> Array:
        return (self.vectors / np.sqrt(self.values + self.mu)).T

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        inside = Z @ self.vectors
        sums = inside**2 @ (1 / (self.values + self.mu))
        if self.mu == 0:
            return sums
        if squares is not None:
            return sums + np.maximum(squares - (inside**2).sum(axis=1), 0) / self.mu
        if self.vectors.shape[1] < self.vectors.shape[0]:
            # The part itself and then its square: a difference of squares would lose all digits
            # for training rows, which lie inside.
            outside = Z - inside @ self.vectors.T
            sums += np.einsum("ij,ij->i", outside, outside) / self.mu
        return sums

    def through(self, C: Array, mean: Array | None) -> Posterior | None:
        k = len(self.vectors)
        if self.vectors.shape[1] < k or self.mu == 0 or np.triu(C, 1).any():
            return None
        # M = (Λ + μ)^{-1/2}V' = QL: a triangle with the same lengths ‖Mz‖ = ‖Lz‖.
        [upper] = linalg.qr(self.root[:, ::-1], mode="r", check_finite=False)
        return Triangle(upper[::-1, ::-1]).after(C, mean)


def check_remains(moments: Moments) -> None:
    """Refuse moments of which forgetting has left little more than rounding errors."""
    if moments.drowned:
        raise IllConditioned(
            "So much was forgotten that the rounding errors it left behind are no longer small "
            "beside what remains: fit the remaining rows anew."
        )


def from_moments(moments: Moments, intercept: bool, dtype: np.dtype) -> Spectrum:
    """Eigenvectors of the scatter: Z̃'Z̃ = V·diag(λ)·V', s = V'Z̃'y/√λ."""
    start = time.perf_counter()
    moments = moments.centred(intercept, dtype)
    check_remains(moments)
    scatter, cross = moments.scatter, moments.cross
    values, vectors = _eigenvectors(scatter)
    if values[0] < -max(1e-6 * moments.peak, 100 * moments.error):
        raise ValueError(NEVER_SEEN)
    values = np.maximum(values, 0)
    projected = vectors.T @ cross
    # What float32 features round off has targets of its own, and divided by √λ they would be large.
    kept = _more_than_rounding(values) & (values > moments.noise)
    scores = np.zeros_like(projected)
    scores[kept] = projected[kept] / np.sqrt(values[kept, None])
    return Spectrum(
        values=values,
        kept=kept,
        scores=scores,
        basis=vectors,
        lengths=np.ones(len(values)),
        projected=projected,
        target_scatter=moments.target_scatter,
        mean=moments.mean,
        target_mean=moments.target_mean,
        rows=moments.rows,
        weight=moments.weight,
        counted=moments.counted,
        intercept=intercept,
        noise=moments.noise,
        residual=lambda coef, mu: relative(scatter @ coef + mu * coef - cross, cross),
        solver="eigen",
        seconds=time.perf_counter() - start,
    )


def from_factor(factor: Factor, intercept: bool) -> Spectrum:
    """Singular values of R: no squares are formed, so condition numbers up to 1e14 are fine."""
    start = time.perf_counter()
    Z, Y, mean, target_mean = factor.centred(intercept)
    if len(Z) > Z.shape[1]:
        rows = np.asarray(np.linalg.qr(np.hstack([Z, Y]), mode="r"))
        Z, Y = rows[:, : Z.shape[1]], rows[:, Z.shape[1] :]
    left, roots, right = _svd(Z)
    # The cutoff of a pseudo-inverse, at the precision of the features. Squares of smaller singular
    # values would be lost beside the largest one, so it is taken here. Where functions hardly vary,
    # what is left of their mean is rounding.
    size = max(factor.rows, Z.shape[1])
    left_over = 4 * np.sqrt(size) * UNIT * np.sqrt(factor.weight) * np.linalg.norm(mean)
    kept = roots > max(size * 2 * UNIT * roots.max(initial=0.0), left_over, UNDERFLOWS**0.5)
    scores = left.T[kept] @ Y
    return _from_rows(
        Z,
        Y,
        values=roots[kept] ** 2,
        kept=np.ones(kept.sum(), dtype=bool),
        scores=scores,
        basis=right[kept].T,
        lengths=np.ones(kept.sum()),
        projected=roots[kept, None] * scores,
        mean=mean,
        target_mean=target_mean,
        rows=factor.rows,
        weight=factor.weight,
        counted=factor.counted,
        intercept=intercept,
        solver="qr",
        seconds=time.perf_counter() - start,
    )


def from_few_rows(factor: Factor, intercept: bool, pool: Pool | None = None) -> Spectrum:
    """The dual: eigenvectors U of Z̃Z̃', which is n × n for a factor that still is its rows."""
    start = time.perf_counter()
    Z, Y, mean, target_mean = factor.centred(intercept)
    if np.vdot(Z, Z) <= left_of_mean(factor.weight, mean, Z.dtype):
        Z = np.zeros_like(Z)
    values, vectors = _eigenvectors(tiles.square(Z, pool))
    values = np.maximum(values, 0)
    scores = vectors.T @ Y
    return _from_rows(
        Z,
        Y,
        values=values,
        kept=_more_than_rounding(values),
        scores=scores,
        basis=Z.T @ vectors,
        lengths=np.sqrt(values),
        projected=scores,
        mean=mean,
        target_mean=target_mean,
        rows=factor.rows,
        weight=factor.weight,
        counted=factor.counted,
        intercept=intercept,
        solver="dual",
        seconds=time.perf_counter() - start,
    )


def _from_rows(Z: Array, Y: Array, **parts) -> Spectrum:
    right = Z.T @ Y
    return Spectrum(
        target_scatter=(Y**2).sum(axis=0),
        noise=0.0,
        residual=lambda coef, mu: relative(Z.T @ (Z @ coef) + mu * coef - right, right),
        **parts,
    )


def _eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues in ascending order, and eigenvectors."""
    return linalg.eigh(matrix, driver="evd", check_finite=False)


def _more_than_rounding(values: Array) -> NDArray[np.bool_]:
    return values > max(len(values) * 2 * UNIT * values.max(initial=0.0), UNDERFLOWS)


def _svd(Z: Array):
    try:
        return linalg.svd(Z, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:  # divide and conquer rarely fails to converge; QR does not
        return linalg.svd(Z, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def advice(largest: float, mu: float, needed: float, scale: float) -> str:
    """What to do about moments whose smallest eigenvalue drowns in rounding errors."""
    return (
        f"Z'Z + alpha·k·I has eigenvalues from {mu:.1e} (or little more) to {largest + mu:.1e}: "
        "rounding errors of the moments would reach the predictions. Raise alpha to "
        f"{needed / scale:.1e} or more, or use solver='qr', which does not square the condition "
        "number (it streams and merges, but cannot forget)."
    )
