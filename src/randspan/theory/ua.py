"""Rahimi and Recht 2008, *Uniform approximation of functions with random bases* (UA).

A target f = ∫ α(θ) φ(·; θ) dθ is a mixture over the family; its norm is ‖f‖_p = sup |α(θ)/p(θ)|.
With θ_i drawn from p and the oracle weights w_i = α(θ_i)/(k p(θ_i)), f̂ = Σ w_i φ(·; θ_i) is an
unbiased estimate of f, and the inequalities here say how far off it is. They want |φ| ≤ 1: for a
family with sup |φ| = s take φ/s, whose mixtures have s times the norm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .conditions import (
    Number,
    log_inverse,
    plain,
    require,
    require_chance,
    require_nonnegative,
    require_positive,
    say_if_vacuous,
)

ZERO = "f̂ = 0 is as near, since |f| ≤ ‖f‖_p"


def theorem_3_1(norm: Number, k: Number, delta: Number) -> Number:
    """‖f̂ - f‖_{L2(μ)} ≤ (‖f‖_p/√k)(1 + √(2 log 1/δ)), with probability 1 - δ.

    The slides' constant √2 + (√2/2) log(1/δ) in place of 1 + √(2 log 1/δ) does not follow from the
    proof: it is smaller for 0.07 < δ < 0.88.

    Parameters
    ----------
    norm : float
        ‖f‖_p of a target that is a mixture over the family, |φ| ≤ 1.
    k : int
        Functions.
    delta : float
        δ; μ is any probability distribution of rows.

    Examples
    --------
    >>> import randspan as rs
    >>> round(rs.theory.ua.theorem_3_1(norm=1.0, k=400, delta=0.05), 4)
    0.1724
    """
    require_nonnegative(norm=norm)
    require_positive(k=k)
    require_chance(delta=delta)
    found = norm / np.sqrt(k) * (1 + np.sqrt(2 * log_inverse(delta)))
    say_if_vacuous(found >= np.asarray(norm), ZERO)
    return plain(found)


def theorem_3_2(
    norm: Number,
    k: Number,
    delta: Number,
    *,
    lipschitz: Number,
    radius: Number,
    second_moment: Number,
    at_zero: Number = 0.0,
    printed: bool = False,
) -> Number:
    """‖f̂ - f‖_∞ ≤ (‖f‖_p/√k)(√(2 log 1/δ) + 4LB√(E θ'θ)), with probability 1 - δ.

    For functions φ(θ'x) with |φ| ≤ 1. Printed with √(log 1/δ): the proof's own step, McDiarmid's
    inequality with differences 2‖f‖_p/k, gives the factor 2. Fourier features have
    cos(0) = 1; as sines of (x, 1) they have φ(0) = 0, L = 1, B = √(1 + sup‖x‖²) and
    E θ'θ = 2γd + π²/3 for the Gaussian kernel.

    Parameters
    ----------
    norm, k, delta
        As in `theorem_3_1`.
    lipschitz : float
        L of φ as a function of θ'x.
    radius : float
        B = sup ‖x‖.
    second_moment : float
        E θ'θ, which must be finite (not for the Laplacian kernel or Matérn 1/2).
    at_zero : float, default=0.0
        φ(0), which must be 0.
    printed : bool, default=False
        The constant as it is printed, for comparison.
    """
    require_nonnegative(norm=norm, lipschitz=lipschitz, radius=radius, second_moment=second_moment)
    require_positive(k=k)
    require_chance(delta=delta)
    require(np.equal(at_zero, 0), f"φ(0) must be 0, got {at_zero!r}")
    require(np.isfinite(lipschitz), "φ must be Lipschitz (a finite L)")
    require(np.isfinite(second_moment), "θ must have a finite second moment E θ'θ")
    deviation = np.sqrt((1 if printed else 2) * log_inverse(delta))
    spread = 4 * lipschitz * np.asarray(radius) * np.sqrt(second_moment)
    found = norm / np.sqrt(k) * (deviation + spread)
    say_if_vacuous(found >= np.asarray(norm), ZERO)
    return plain(found)


def remark_3_2(norm: Number, k: Number, delta: Number, *, complexity: Number) -> Number:
    """‖f̂ - f‖_∞ ≤ ‖f‖_p (2R + √(2 log(1/δ)/k)), with probability 1 - δ.

    Theorem 3.2 for any class of low Rademacher complexity: φ need neither be a function of θ'x nor
    vanish at 0. Theorem 3.2 has R ≤ 2LB√(E θ'θ)/√k.

    Parameters
    ----------
    norm, k, delta
        As in `theorem_3_1`; |φ| ≤ 1.
    complexity : float
        R = E sup_x |(1/k) Σ_i σ_i φ(x; θ_i)| over random signs σ and θ.
    """
    require_nonnegative(norm=norm, complexity=complexity)
    require_positive(k=k)
    require_chance(delta=delta)
    found = norm * (2 * np.asarray(complexity) + np.sqrt(2 * log_inverse(delta) / k))
    say_if_vacuous(found >= np.asarray(norm), ZERO)
    return plain(found)


def proposition_4_1(norm: Number) -> Number:
    """‖f‖_H ≤ ‖f‖_p: an upper bound of the norm in the RKHS of k(x, y) = E φ(x; θ) φ(y; θ).

    ‖f‖²_H is the least ∫ α²/p of all mixtures that are f, and ∫ (α/p)² p ≤ sup (α/p)².

    Parameters
    ----------
    norm : float
        ‖f‖_p.
    """
    require_nonnegative(norm=norm)
    return plain(norm)


def equation_11(values: NDArray, coefficients: NDArray) -> NDArray[np.float64]:
    """α(θ)/p(θ) = Σ_t a_t φ(x_t; θ), of a kernel expansion f = Σ_t a_t k(·, x_t) (Theorem 4.2).

    Since k(x, x_t) = ∫ p(θ) φ(x_t; θ) φ(x; θ) dθ, an expansion is a mixture. Divided by k these are
    the oracle weights of drawn functions.

    Parameters
    ----------
    values : array of shape (n_points, k)
        φ_i(x_t), ``functions(points)``.
    coefficients : array of shape (n_points,)
        a.

    Returns
    -------
    ndarray of shape (k,)
    """
    known = values if sparse.issparse(values) else np.asarray(values)
    return np.asarray(known.T @ np.asarray(coefficients, dtype=np.float64))


def expansion_rkhs_norm(kernel: NDArray, coefficients: NDArray) -> float:
    """‖f‖_H = √(a'Ka) of f = Σ_t a_t k(·, x_t).

    Parameters
    ----------
    kernel : array of shape (n_points, n_points)
        K of the points x_t.
    coefficients : array of shape (n_points,)
        a.
    """
    a = np.asarray(coefficients, dtype=np.float64)
    return float(np.sqrt(max(a @ np.asarray(kernel) @ a, 0.0)))


def expansion_mixture_norm(coefficients: NDArray, sup: float = 1.0) -> float:
    """‖f‖_p ≤ sup|φ| Σ_t |a_t| of f = Σ_t a_t k(·, x_t).

    Attained where functions exist that are +sup where a_t > 0 and -sup where a_t < 0; cosines come
    as near as one likes, for points in general position.

    Parameters
    ----------
    coefficients : array of shape (n_points,)
        a.
    sup : float, default=1.0
        sup |φ|.
    """
    require(np.isfinite(sup), "functions must be bounded (a finite sup|φ|)")
    return float(sup * np.abs(np.asarray(coefficients, dtype=np.float64)).sum())
