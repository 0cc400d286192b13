"""Cao and Lan 2022, *A model-agnostic randomized learning framework … (RHSS)*.

k hypotheses are drawn; their predictions of n rows span a subspace of ℝⁿ, and least squares takes
the point of it that is nearest to y. er_n = ‖y - ŷ‖²/n is the empirical error. A hypothesis is a
line, a point of the Grassmannian G(1, n): the proof covers G(1, n) by balls, and asks that one of k
lines falls into the ball of y's own.

The printed forms have misprints, named below; and the guarantee is so weak (it counts the best
single line of k) that it says nothing unless k is exponential in n. Under its own assumption, a
uniformly random subspace, the law of er_n is known exactly: `exact_quantile` is the one to use.
"""

from __future__ import annotations

import numpy as np
from scipy import special

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


def lemma_4_1(m: Number, n: Number, eta: Number, c: Number = 1.0) -> Number:
    """N(ε) ≤ (c₂/ε)^{m(n-m)}: balls of radius ε that cover the m-dimensional subspaces of ℝⁿ.

    Distances are those of the document's metric (2) for unit spheres, of which √2 is the largest
    (`grassmannian.hausdorff`); m(n - m) is the dimension of the Grassmannian. Szarek's result; its
    other half is `lemma_4_1_lower`.

    Parameters
    ----------
    m, n : int
    eta : float
        ε, at most √2.
    c : float, default=1.0
        c₂, a universal constant for which the document gives no number.
    """
    require(np.less(m, n) & np.greater(m, 0), f"0 < m < n, got m={m!r}, n={n!r}")
    require_positive(eta=eta, c=c)
    require(
        np.less_equal(eta, np.sqrt(2)), f"distances of unit spheres are at most √2, got {eta!r}"
    )
    with np.errstate(over="ignore"):
        return plain(np.power(np.asarray(c) / eta, np.asarray(m) * (np.asarray(n) - m) * 1.0))


def lemma_4_1_lower(m: Number, n: Number, eta: Number, c: Number = 1.0) -> Number:
    """N(ε) ≥ (c₁/ε)^{m(n-m)}: no fewer balls cover the m-dimensional subspaces of ℝⁿ.

    Parameters
    ----------
    m, n, eta
        As in `lemma_4_1`.
    c : float, default=1.0
        c₁, smaller than c₂.
    """
    return lemma_4_1(m, n, eta, c)


def lemma_4_2(distance: Number, apart: Number) -> Number:
    """d(S, V) ≤ d(S, U) + d(U, V): how well a subspace V approximates what U approximates.

    d(S, U) = sup_{y in S} ‖y - P_U y‖/‖y‖ (`grassmannian.approximation_distance`), and d(U, V) is
    metric (2), or the smaller sine of the largest angle.

    Parameters
    ----------
    distance : float
        d(S, U).
    apart : float
        d(U, V).
    """
    require_nonnegative(distance=distance, apart=apart)
    return plain(np.asarray(distance) + apart)


def theorem_4_3(
    n: Number, k: Number, t: Number, c: Number = 0.5, C: Number = 1.0
) -> dict[str, Number]:
    """√n - C√k - t ≤ s_min(A) ≤ s_max(A) ≤ √n + C√k + t with probability 1 - 2exp(-ct²).

    A is a matrix of n × k independent entries of mean 0 and variance 1 with sub-Gaussian tails
    (Vershynin). c and C depend on the tails; 1/2 and 1 are those of normal entries.

    Parameters
    ----------
    n, k : int
        k ≤ n.
    t : float
    c, C : float

    Returns
    -------
    dict
        "smallest" and "largest", the two bounds of singular values, and "chance", with which one
        of them fails at most.
    """
    require(np.less_equal(k, n), f"a tall matrix has k ≤ n, got k={k!r}, n={n!r}")
    require_nonnegative(t=t)
    require_positive(k=k, c=c, C=C)
    root, width = np.sqrt(n), np.asarray(C) * np.sqrt(k) + t
    chance = np.minimum(2 * np.exp(-np.asarray(c) * np.asarray(t) ** 2), 1.0)
    say_if_vacuous(np.less_equal(root, width), "singular values are at least 0 anyway")
    return {
        "smallest": plain(np.maximum(root - width, 0.0)),
        "largest": plain(root + width),
        "chance": plain(chance),
    }


def lemma_4_4_i(
    k: Number, n: Number, printed: bool = False, c: Number = 0.5, C: Number = 1.0
) -> Number:
    """δ₁ = 0: k ≤ n prediction vectors of a continuous distribution are independent.

    Printed is the chance 2exp(-c(√n - C√k)²) that the smallest singular value vanishes by
    `theorem_4_3`, which asks for k ≤ n all the same.

    Parameters
    ----------
    k, n : int
    printed : bool, default=False
        The value of Theorem 4.3, for comparison.
    c, C : float
        As in `theorem_4_3`.
    """
    require(np.less_equal(k, n), f"independence needs k ≤ n, got k={k!r}, n={n!r}")
    if not printed:
        return plain(np.zeros(np.broadcast_shapes(np.shape(k), np.shape(n))))
    t = np.sqrt(n) - np.asarray(C) * np.sqrt(k)
    require(np.greater_equal(t, 0), f"√n ≥ C√k, got n={n!r}, k={k!r}, C={C!r}")
    return plain(np.minimum(2 * np.exp(-np.asarray(c) * t**2), 1.0))


def lemma_4_4_ii(k: Number, covering: Number) -> Number:
    """(1 - 1/N)^k ≤ exp(-k/N) = δ₂: the chance that no line of k falls into a ball of chance 1/N.

    Parameters
    ----------
    k : int
        Hypotheses.
    covering : float
        N, `lemma_4_1` with m = 1.
    """
    require_positive(k=k, covering=covering)
    return plain(np.exp(-np.asarray(k) / covering))


def theorem_4_6(
    k: Number, n: Number, error: Number, norm: Number, c: Number = 1.0, delta_1: Number = 0.0
) -> Number:
    """P(er_n > ε) ≤ δ₁ + exp(-k(√(nε)/(2c‖y‖))^{n-1}).

    Parameters
    ----------
    k, n : int
        Hypotheses and rows, k ≤ n.
    error : float
        ε.
    norm : float
        ‖y‖.
    c : float, default=1.0
        The constant of `lemma_4_1`.
    delta_1 : float, default=0.0
        The chance of dependent predictions; 0 for continuous distributions (`lemma_4_4_i`).
    """
    require_positive(error=error, norm=norm, c=c, k=k)
    lemma_4_4_i(k, n)
    share = np.sqrt(np.asarray(n) * error) / (2 * np.asarray(c) * norm)
    found = delta_1 + np.exp(-np.asarray(k) * share ** (np.asarray(n) - 1.0))
    say_if_vacuous(found > 0.99, "failure may have a chance of more than 99 %")
    return plain(np.minimum(found, 1.0))


def corollary_4_7(
    k: Number, n: Number, delta: Number, radius: Number, c: Number = 1.0, printed: bool = False
) -> Number:
    """er_n ≤ (4c²r²/n)(log(1/δ)/k)^{2/(n-1)}, with probability 1 - δ.

    Vacuous unless k > log(1/δ)(2c)^{n-1}: predicting 0 has er_n ≤ r²/n. Printed with the exponent
    1/(n - 1), which does not invert Theorem 4.6.

    Parameters
    ----------
    k, n : int
    delta : float
    radius : float
        r ≥ ‖y‖.
    c : float, default=1.0
    printed : bool, default=False
        The exponent as it is printed, for comparison.
    """
    require_positive(k=k, radius=radius, c=c)
    require(np.greater(n, 1), f"n must be larger than 1, got {n!r}")
    require_chance(delta=delta)
    n = np.asarray(n, dtype=np.float64)
    power = (1 if printed else 2) / (n - 1)
    trivial = np.asarray(radius) ** 2 / n
    found = 4 * np.asarray(c) ** 2 * trivial * (log_inverse(delta) / k) ** power
    say_if_vacuous(
        found >= trivial, "predicting 0 is as good; it needs k > log(1/δ)(2c)^(n-1) hypotheses"
    )
    return plain(found)


def best_k(
    n: Number,
    delta: Number,
    radius: Number,
    bound: Number,
    weight: Number,
    complexity: Number,
    c: Number = 1.0,
) -> Number:
    """k* = (2A/((n-1)B))^{(n-1)/(n+1)}, which minimises A k^{-2/(n-1)} + Bk.

    A = (4c²r²/n) log(1/δ)^{2/(n-1)} is Corollary 4.7 and B = 8TM·R_n(H) the complexity of Theorem
    4.9. Printed with the exponent (2-n)/(n-1), by which a larger A would ask for fewer hypotheses.

    Parameters
    ----------
    n : int
    delta, radius, c
        As in `corollary_4_7`.
    bound : float
        T, of |f| and |y|.
    weight : float
        M, of |w_i|.
    complexity : float
        R_n(H) of the hypotheses.
    """
    require_positive(radius=radius, bound=bound, weight=weight, complexity=complexity, c=c)
    require(np.greater(n, 2), f"n must be larger than 2, got {n!r}")
    require_chance(delta=delta)
    n = np.asarray(n, dtype=np.float64)
    B = 8 * np.asarray(bound) * weight * complexity
    front = 4 * np.asarray(c) ** 2 * np.asarray(radius) ** 2 / n
    A = front * log_inverse(delta) ** (2 / (n - 1))
    return plain((2 * A / ((n - 1) * B)) ** ((n - 1) / (n + 1)))


def exact_quantile(k: Number, n: Number, radius: Number, delta: Number) -> Number:
    """er_n ≤ (r²/n) q_{1-δ}, with probability 1 - δ exactly; q of Beta((n-k)/2, k/2).

    n·er_n/r² ~ Beta((n-k)/2, k/2) under Corollary 4.7's assumption, a uniformly random
    k-dimensional subspace of ℝⁿ and ‖y‖ = r.

    Parameters
    ----------
    k, n : int
        0 < k < n.
    radius : float
        ‖y‖.
    delta : float
    """
    require(np.greater(k, 0) & np.less(k, n), f"0 < k < n, got k={k!r}, n={n!r}")
    require_positive(radius=radius)
    require_chance(delta=delta)
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    share = special.betaincinv((n - k) / 2, k / 2, 1 - np.asarray(delta))
    return plain(np.asarray(radius) ** 2 / n * share)


def exact_chance(k: Number, n: Number, radius: Number, error: Number) -> Number:
    """P(er_n > ε) under the same assumption: the referee of `theorem_4_6`.

    Parameters
    ----------
    k, n, radius
        As in `exact_quantile`.
    error : float
        ε.
    """
    require(np.greater(k, 0) & np.less(k, n), f"0 < k < n, got k={k!r}, n={n!r}")
    require_positive(radius=radius, error=error)
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    share = np.minimum(n * error / np.asarray(radius) ** 2, 1.0)
    return plain(special.betainc(k / 2, (n - k) / 2, 1 - share))


def theorem_4_8(weight: Number, k: Number, complexity: Number) -> Number:
    """R_n(F) = Mk·R_n(H), for F = {Σ_j w_j h_j : |w_j| ≤ M}.

    Parameters
    ----------
    weight : float
        M.
    k : int
    complexity : float
        R_n(H), at most sup|h|/√n for drawn hypotheses.
    """
    require_nonnegative(weight=weight, complexity=complexity)
    require_positive(k=k)
    return plain(np.asarray(weight) * k * complexity)


def theorem_4_9(
    empirical: Number, bound: Number, complexity: Number, n: Number, delta: Number
) -> Number:
    """er ≤ er_n + 8T·R_n(F) + T²√(8 log(1/δ)/n), with probability 1 - δ.

    The squared error of new rows, where |f| ≤ T (clip) and |y| ≤ T; R_n(F) = Mk·R_n(H) by Theorem
    4.8.

    Parameters
    ----------
    empirical : float
        er_n.
    bound : float
        T.
    complexity : float
        R_n(F).
    n : int
        Rows, drawn independently of the functions.
    delta : float
    """
    require_nonnegative(empirical=empirical, complexity=complexity)
    require_positive(bound=bound, n=n)
    require_chance(delta=delta)
    T = np.asarray(bound, dtype=np.float64)
    found = empirical + 8 * T * complexity + T**2 * np.sqrt(8 * log_inverse(delta) / n)
    say_if_vacuous(found > 4 * T**2, "it is larger than 4T², the largest squared error there is")
    return plain(found)
