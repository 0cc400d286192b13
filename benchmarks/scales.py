"""Scales of the columns for Fourier features: by descent on the error of rows held out.

min_s L(s) = mean over B of (f_s(x) - y)², where f_s = argmin_f Σ_A (f(x) - y)² + alpha·k·‖w‖²

is the ridge fit, to rows A, of functions √2 cos(ω'(s∘x) + b) of the standardised rows, and B are
other rows. With w = H⁻¹Z_A'y, H = Z_A'Z_A + alpha·k·I, the weights move with the scales, and

∂L = 2 (r'∂Z_B w + e'∂Z_A v - (Z_A v)'∂Z_A w), v = H⁻¹Z_B'r,

with the errors r = (Z_B w - y_B)/|B| and e = y_A - Z_A w: one more solve with the same factor gives
the gradient for all scales (as logarithms) and for alpha at once. Every step of the descent has
rows and functions of its own, so that scales adapt to neither; one last comparison, with more of
both, chooses a common factor: the more functions there are, the narrower may the kernel be.

The diagonal of the average gradient outer product was tried instead, and rejected: on Forest Cover
it gave nearly all of the scale to binary columns; damped, it hardly lowered the error.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

import randspan as rs

# √(2γ) = 1: the scales alone say how wide the kernel is.
GAMMA = 0.5
FACTORS = (1.0, 2**0.5, 2.0)
STEPS = 40


@dataclass(frozen=True)
class Size:
    """How much is spent: rows to fit, rows held out, functions."""

    rows: int
    held_out: int
    functions: int


DESCENT, COMPARISON = Size(20_000, 10_000, 1_500), Size(50_000, 20_000, 3_000)


@dataclass(frozen=True)
class Scales:
    """What was learned: one scale a column, for the family ``Fourier(kernel, gamma=0.5)``.

    Attributes
    ----------
    scales : ndarray of shape (n_features,)
    kernel : str
    alpha : float
        The ridge at the end of the descent.
    path : list of float
        Error of the rows held out at every step of the descent, as a share of the variance of y.
    factors : dict
        The same error for every common factor that was tried.
    seconds : float
    """

    scales: np.ndarray
    kernel: str
    alpha: float
    path: list[float]
    factors: dict[float, float]
    seconds: float

    @property
    def family(self) -> rs.Fourier:
        return rs.Fourier(self.kernel, gamma=GAMMA)


def learn(
    X: np.ndarray,
    y: np.ndarray,
    kernel: str = "matern52",
    *,
    steps: int = STEPS,
    descent: Size = DESCENT,
    comparison: Size = COMPARISON,
    seed: int = 0,
) -> Scales:
    """Scales for the columns of X, from these rows alone; y are numbers or two classes."""
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    target = (np.asarray(y, dtype=np.float64) - np.mean(y)) / np.std(y)
    centre, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    deviation[deviation == 0] = 1

    def rows(size: Size) -> tuple[np.ndarray, ...]:
        chosen = rng.choice(len(X), size.rows + size.held_out, replace=False)
        few = ((X[chosen] - centre) / deviation).astype(np.float32)
        values = target[chosen].astype(np.float32)
        return few[: size.rows], few[size.rows :], values[: size.rows], values[size.rows :]

    family = rs.Fourier(kernel, gamma=GAMMA)
    d, k = X.shape[1], descent.functions
    # Z'Z in float32 with 1e-5 of its diagonal added was not always positive definite.
    least = np.log(1e-4 * descent.rows / k)
    point = np.append(np.full(d, -np.log(d) / 2), least + np.log(10))
    path, pace = [], Pace(steps, np.zeros(d + 1), np.zeros(d + 1))
    for step in range(steps):
        functions = family.sample(d, k, seed=int(rng.integers(2**31)))
        error, slope = _slope(functions, np.exp(point[:-1]), np.exp(point[-1]), *rows(descent))
        point -= pace.change(step, slope)
        point[-1] = max(point[-1], least)
        path.append(error)
    scales, alpha = np.exp(point[:-1]), float(np.exp(point[-1]))
    split = rows(comparison)
    factors = {
        factor: _error(family, comparison.functions, alpha, factor * scales, seed, *split)
        for factor in FACTORS
    }
    scales = scales * min(factors, key=factors.__getitem__)
    return Scales(scales, kernel, alpha, path, factors, time.perf_counter() - start)


@dataclass
class Pace:
    """Adam (Kingma and Ba 2015) in logarithms, slower towards the end.

    A step is at most about a fifth: scales that start equal reach a ratio of a hundred in forty
    steps. The memories are short, because there are few steps.
    """

    steps: int
    mean: np.ndarray
    square: np.ndarray
    rate: float = 0.2
    keep: tuple[float, float] = (0.8, 0.9)

    def change(self, step: int, slope: np.ndarray) -> np.ndarray:
        first, second = self.keep
        self.mean = first * self.mean + (1 - first) * slope
        self.square = second * self.square + (1 - second) * slope**2
        mean = self.mean / (1 - first ** (step + 1))
        square = self.square / (1 - second ** (step + 1))
        rate = self.rate * min(1.0, 2 * (self.steps - step) / self.steps)
        return rate * mean / np.sqrt(square + np.finfo(float).tiny)


def _slope(functions, scales, alpha, X, X_out, y, y_out) -> tuple[float, np.ndarray]:
    """L, and its gradient in the logarithms of the scales and of alpha."""
    ridge = alpha * functions.n_components
    # √2 sin is √2 cos a quarter of a turn later.
    sines = replace(functions, phases=functions.phases - 0.25)
    frequencies = functions.frequencies * scales
    scaled, scaled_out = (rows * scales.astype(rows.dtype) for rows in (X, X_out))
    Z, Z_out = functions(scaled), functions(scaled_out)
    system = (Z.T @ Z).astype(np.float64)
    system[np.diag_indices_from(system)] += ridge
    factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def solve(right: np.ndarray) -> np.ndarray:
        return linalg.cho_solve(factor, right.astype(np.float64), check_finite=False)

    weights = solve(Z.T @ y).astype(X.dtype)
    away = Z_out @ weights - y_out
    adjoint = solve(Z_out.T @ away / len(away)).astype(X.dtype)
    S = sines(scaled)

    def moved(X, S, w, c) -> np.ndarray:
        """c'∂Zw in the logarithms of the scales; ∂cos is -sin."""
        return -np.einsum("ij,ij,i->j", S.T @ (c[:, None] * X), frequencies, w)

    slope = (
        moved(X_out, sines(scaled_out), weights, away / len(away))
        + moved(X, S, adjoint, y - Z @ weights)
        - moved(X, S, weights, Z @ adjoint)
    )
    return float(np.mean(away**2)), 2 * np.append(slope, -ridge * adjoint @ weights)


def _error(family, n_components, alpha, scales, seed, X, X_out, y, y_out) -> float:
    model = rs.SpanRegressor(
        family, n_components, alpha=alpha, standardize=False, scales=scales, random_state=seed
    )
    return float(np.mean((model.fit(X, y).predict(X_out) - y_out) ** 2))
