"""Rahimi and Recht 2008, *Weighted sums of random kitchen sinks* (RKS).

The class is F = {Σ_i w_i φ_i : |w_i| ≤ C/k}, with |φ| ≤ 1, so that |f| ≤ C; the loss is c(yf),
y = ±1, L-Lipschitz on [-C, C]. The approximation error of k functions falls like 1/√k (Lemma 2),
the difference of risk and empirical risk of m rows like 1/√m (Lemma 3); Theorem 1 adds them up.

With an intercept, or functions of another bound, C = sup|φ|·k‖w‖_∞ + |b|.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import ua
from .conditions import (
    Number,
    log_inverse,
    plain,
    quietly,
    require,
    require_chance,
    require_nonnegative,
    require_positive,
    say_if_vacuous,
)

RANGE = "it is as large as the range 2LC of the loss"


def lemma_1(norm: Number, k: Number, delta: Number) -> Number:
    """‖f̂ - f‖_{L2(μ)} ≤ (‖f‖_p/√k)(1 + √(2 log 1/δ)): `ua.theorem_3_1`.

    Parameters
    ----------
    norm, k, delta
        ‖f‖_p (at most C for the target f* of the class), functions, δ.
    """
    return ua.theorem_3_1(norm, k, delta)


def lemma_2(lipschitz: Number, C: Number, k: Number, delta: Number) -> Number:
    """R[f̂] - R[f*] ≤ (LC/√k)(1 + √(2 log 1/δ)), with probability 1 - δ.

    What k drawn functions cost beside all functions of the family.

    Parameters
    ----------
    lipschitz : float
        L of the loss on [-C, C].
    C : float
        ‖f*‖_p ≤ C.
    k : int
    delta : float
    """
    require_nonnegative(lipschitz=lipschitz)
    with quietly():
        found = np.asarray(lipschitz) * lemma_1(C, k, delta)
    say_if_vacuous(found >= 2 * np.asarray(lipschitz) * C, RANGE)
    return plain(found)


def lemma_3(
    lipschitz: Number,
    C: Number,
    at_zero: Number,
    m: Number,
    delta: Number,
    printed: bool = False,
) -> Number:
    """sup_F |R[f] - R_emp[f]| ≤ (4LC + 2|c(0)| + 2LC√(½ log 1/δ))/√m, with probability 1 - δ.

    Printed with LC√(½ log 1/δ): the loss ranges over 2LC when |f| ≤ C, and that range is what
    McDiarmid's inequality takes.

    Parameters
    ----------
    lipschitz : float
        L of the loss c on [-C, C].
    C : float
        |f| ≤ C.
    at_zero : float
        c(0).
    m : int
        Rows, drawn independently of the functions.
    delta : float
    printed : bool, default=False
        The constant as it is printed, for comparison.
    """
    complexity = rademacher(C, m)
    if not printed:
        return theorem_2(complexity, lipschitz, C, at_zero, m, delta)
    whole = theorem_2(complexity, lipschitz, C, at_zero, m, delta)
    return plain(whole - _deviation(lipschitz, C, m, delta) / 2)


def theorem_1(
    lipschitz: Number, C: Number, at_zero: Number, m: Number, k: Number, delta: Number
) -> Number:
    """R[f̂] - min_F R ≤ 2·(Lemma 3) + (Lemma 2), with probability 1 - 2δ.

    For the minimiser f̂ of the empirical risk over the box |w_i| ≤ C/k, C fixed beforehand, no
    ridge and no intercept; the minimum is over all mixtures with ‖f‖_p ≤ C.

    Parameters
    ----------
    lipschitz, C, at_zero, m, k, delta
        As in `lemma_2` and `lemma_3`.
    """
    generalisation = lemma_3(lipschitz, C, at_zero, m, delta)
    return plain(2 * np.asarray(generalisation) + lemma_2(lipschitz, C, k, delta))


def theorem_2(
    complexity: Number,
    lipschitz: Number,
    C: Number,
    at_zero: Number,
    m: Number,
    delta: Number,
) -> Number:
    """sup_F |R - R_emp| ≤ 4L·R_m(F) + 2|c(0)|/√m + 2LC√(log(1/δ)/2m), with probability 1 - δ.

    Lemma 3 for any class of low Rademacher complexity (RKS, appendix).

    Parameters
    ----------
    complexity : float
        R_m(F) = E sup_F |(1/m) Σ_j σ_j f(x_j)|.
    lipschitz, C, at_zero, m, delta
        As in `lemma_3`.
    """
    require_nonnegative(complexity=complexity, lipschitz=lipschitz, C=C)
    require(np.isfinite(lipschitz), "the loss must be Lipschitz on [-C, C] (a finite L)")
    require_positive(m=m)
    require_chance(delta=delta)
    L = np.asarray(lipschitz, dtype=np.float64)
    found = 4 * L * complexity + 2 * np.abs(at_zero) / np.sqrt(m) + _deviation(L, C, m, delta)
    say_if_vacuous(found >= 2 * L * C, RANGE)
    return plain(found)


def lemma_4(radius: Number, k: Number, delta: Number) -> Number:
    """‖X̄ - E X̄‖ ≤ (M/√k)(1 + √(2 log 1/δ)), with probability 1 - δ.

    For the mean X̄ of k independent vectors in a ball of radius M of any Hilbert space: the step
    from which Lemma 1 follows.

    Parameters
    ----------
    radius : float
        M.
    k : int
    delta : float
    """
    with quietly():
        found = ua.theorem_3_1(radius, k, delta)
    say_if_vacuous(
        np.greater_equal(found, 2 * np.asarray(radius)), "no two vectors are as far apart"
    )
    return found


def rademacher(C: Number, m: Number) -> Number:
    """R_m(F) ≤ C/√m, for classes of one bounded column a draw.

    Not for indicators of cells (bins, leaves), where one grid with every row in a cell of its own
    has R = C: `cellwise_rademacher`.

    Parameters
    ----------
    C : float
        |f| ≤ C.
    m : int
    """
    require_nonnegative(C=C)
    require_positive(m=m)
    return plain(C / np.sqrt(m))


def empirical_rademacher(
    values: NDArray, C: float, k: int | None = None, n_signs: int = 100, random_state: int = 0
) -> tuple[float, float]:
    """E_σ sup_F (1/m) Σ_j σ_j f(x_j) = E_σ (C/k) Σ_i |(1/m) Σ_j σ_j φ_i(x_j)|, by simulation.

    Parameters
    ----------
    values : array or sparse matrix of shape (m, n_columns)
        φ_i(x_j).
    C : float
        The box is |w_i| ≤ C/k.
    k : int, optional
        Functions as the family counts them, where that is not the number of columns (for cells the
        number of grids).
    n_signs : int, default=100
        Draws of σ.
    random_state : int, default=0

    Returns
    -------
    estimate, standard error : float
    """
    require(n_signs > 1, f"n_signs must be 2 at least, got {n_signs!r}")
    known = values if sparse.issparse(values) else np.asarray(values)
    m, columns = known.shape
    sums = known.T @ random_signs(m, n_signs, random_state)
    return of_signed_sums(sums, C, k or columns, m)


def random_signs(m: int, n_signs: int, random_state: int) -> NDArray[np.float64]:
    """m rows of signs, a column for every draw."""
    return np.random.default_rng(random_state).choice([-1.0, 1.0], size=(m, n_signs))


def of_signed_sums(sums: NDArray, C: float, k: int, m: int) -> tuple[float, float]:
    """The mean over draws of (C/k) Σ_i |(1/m) Σ_j σ_j φ_i(x_j)|, and its standard error.

    ``sums`` are Σ_j σ_j φ_i(x_j), a row for every function and a column for every draw.
    """
    draws = np.abs(np.asarray(sums, dtype=np.float64)).sum(axis=0) * C / (k * m)
    return float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(len(draws)))


def cellwise_rademacher(counts: NDArray, C: float, groups: int) -> float:
    """(C/P) Σ_cells √n_c / m: the empirical complexity of indicators of cells, from above.

    E|Σ_{j in c} σ_j| ≤ √n_c, cell by cell; m rows are in one cell of each of P groups.

    Parameters
    ----------
    counts : array
        n_c, rows in every cell of every group.
    C : float
        Every cell's weight is at most C/P.
    groups : int
        P, grids or trees.
    """
    rows = np.asarray(counts, dtype=np.float64)
    require(rows.size > 0 and rows.min() >= 0, "counts must be the rows of at least one cell")
    m = rows.sum() / groups
    return float(C / groups * np.sqrt(rows).sum() / m)


def loss_constants(loss: str, C: Number) -> tuple[Number, float]:
    """L on [-C, C] and c(0) of a loss of the margin u = yf.

    hinge: 1 and 1; (1 - u)²: 2(1 + C) and 1, as for the squared hinge; exponential: e^C and 1;
    logistic: 1 and ln 2.

    Parameters
    ----------
    loss : {"hinge", "squared", "squared_hinge", "exponential", "logistic"}
    C : float
    """
    slopes: dict[str, Callable] = {
        "hinge": lambda C: np.ones_like(C),
        "squared": lambda C: 2 * (1 + C),
        "squared_hinge": lambda C: 2 * (1 + C),
        "exponential": np.exp,
        "logistic": lambda C: np.ones_like(C),
    }
    require(loss in slopes, f"loss must be one of {', '.join(slopes)}, got {loss!r}")
    require_nonnegative(C=C)
    slope = slopes[loss](np.asarray(C, dtype=np.float64))
    return plain(slope), float(np.log(2)) if loss == "logistic" else 1.0


def _deviation(lipschitz: Number, C: Number, m: Number, delta: Number) -> Number:
    return 2 * np.asarray(lipschitz) * C * np.sqrt(log_inverse(delta) / (2 * np.asarray(m)))
