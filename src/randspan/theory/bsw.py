"""Maillard and Munos 2010, *Brownian motions and scrambled wavelets …* (BSW).

A target f = Σ_i α_i φ_i over a basis, ‖f‖_K = ‖α‖; P random functions ψ_p = Σ_i ξ_{p,i} φ_i/√P with
ξ ~ N(0, 1), A the matrix of ξ/√P. The oracle weights are β = Aα, and g = Σ_p β_p ψ_p has E g = f.
sup‖φ‖² = sup_x Σ_i φ_i(x)², which is sup_x k(x, x) of the family's kernel.
"""

from __future__ import annotations

import numpy as np

from .conditions import (
    Number,
    plain,
    require,
    require_chance,
    require_nonnegative,
    require_positive,
    say_if_vacuous,
)

ROOT = 1 + np.sqrt(2)


def lemma_7_variance(value: Number, norm: Number, square: Number, P: Number) -> Number:
    """Var g(x) = (f(x)² + ‖f‖²_K ‖φ(x)‖²)/P, exactly.

    Parameters
    ----------
    value : float
        f(x).
    norm : float
        ‖f‖_K = ‖α‖.
    square : float
        ‖φ(x)‖² = k(x, x).
    P : int
        Functions.
    """
    require_nonnegative(norm=norm, square=square)
    require_positive(P=P)
    return plain((np.asarray(value) ** 2 + np.asarray(norm) ** 2 * square) / P)


def lemma_7(norm: Number, sup_square: Number, P: Number) -> Number:
    """E‖f - g‖² ≤ (2/P)‖α‖² sup‖φ‖², for any distribution of rows.

    At once from the variance, since f(x)² ≤ ‖α‖²‖φ(x)‖²; smaller than Theorem 8 by 4(1+√2) ln P at
    least (40 times at P = 62), and without its conditions.

    Parameters
    ----------
    norm : float
        ‖α‖ = ‖f‖_K.
    sup_square : float
        sup‖φ‖².
    P : int
        Functions.
    """
    require_nonnegative(norm=norm, sup_square=sup_square)
    require_positive(P=P)
    whole = np.asarray(norm) ** 2 * sup_square
    say_if_vacuous(np.less_equal(P, 2), "g = 0 is as near, since f² ≤ ‖α‖² sup‖φ‖²")
    return plain(2 * whole / P)


def theorem_8(
    norm: Number, sup_square: Number, P: Number, bound: Number, eta: Number | None = None
) -> Number:
    """E‖f - T_L g‖² ≤ (8 log P/P)((1+√2)‖α‖² sup‖φ‖² + L²), for P ≥ 15 log P, that is P ≥ 62.

    With ``eta``, with probability 1 - η and log(P/η) in place of log P. The text's "P ≥ 20" is
    for logarithms to the base 10; P = 1 satisfies the inequality, and is refused.

    Parameters
    ----------
    norm, sup_square, P
        As in `lemma_7`.
    bound : float
        L ≥ |f|, to which g is truncated.
    eta : float, optional
        η.
    """
    require_nonnegative(norm=norm, sup_square=sup_square, bound=bound)
    require_positive(P=P)
    logarithm = np.log(P)
    if eta is not None:
        require_chance(eta=eta)
        logarithm = logarithm - np.log(eta)
    condition = np.greater_equal(P, 15 * logarithm) & np.greater_equal(P, 62)
    which = "P ≥ 15 log P" if eta is None else "P ≥ 15 log(P/η)"
    require(condition, f"{which}, that is P ≥ 62 at least, got P={P!r}")
    sizes = ROOT * np.asarray(norm) ** 2 * sup_square + np.asarray(bound) ** 2
    found = 8 * logarithm / P * sizes
    say_if_vacuous(found >= np.asarray(bound) ** 2, "g = 0 is as near, since |f| ≤ L")
    return plain(found)


def theorem_9(
    N: Number,
    P: Number,
    *,
    noise: Number,
    bound: Number,
    norm: Number,
    sup_square: Number,
    c: Number,
    eta: Number | None = None,
) -> Number:
    """E‖f* - T_L ĝ‖² ≤ c·max(σ², L²)(log N + 1)P/N + (8 log P/P)(8(1+√2)‖α*‖² sup‖φ‖² + L²).

    With ``eta`` (equation 5), with probability 1 - η over the draw of the functions, and log(P/η)
    in place of log P.

    Parameters
    ----------
    N, P : int
        Rows and functions, P ≥ 62.
    noise : float
        σ.
    bound : float
        L ≥ |f*|.
    norm, sup_square
        As in `lemma_7`.
    c : float
        A universal constant, for which nobody has given a number: the result is known up to it.
    eta : float, optional
        η; then P ≥ 15 log(P/η).
    """
    require_nonnegative(noise=noise, bound=bound, c=c)
    require_positive(N=N)
    L = np.asarray(bound, dtype=np.float64)
    estimation = c * np.maximum(np.asarray(noise) ** 2, L**2) * (np.log(N) + 1) * P / N
    # The target's norm stands there with a factor of 8.
    return plain(estimation + theorem_8(np.sqrt(8) * np.asarray(norm), sup_square, P, bound, eta))


def best_P(N: Number, norm: Number) -> Number:
    """P ≈ √N ‖f*‖_K, which balances the two terms of Theorem 9.

    Parameters
    ----------
    N : int
    norm : float
    """
    require_positive(N=N, norm=norm)
    return plain(np.sqrt(N) * norm)


def equation_2(
    N: Number,
    P: Number,
    norm: Number,
    sup_square: Number,
    delta: Number,
    constants: tuple[float, float] = (1.0, 1.0),
) -> Number:
    """c₁P log N/N + c₂‖α*‖² sup‖φ‖² log(N/δ)/P: the excess risk over a finite basis, its order.

    Parameters
    ----------
    N, P, norm, sup_square, delta
        As in `theorem_9`; with probability 1 - δ.
    constants : (float, float), default=(1.0, 1.0)
        c₁ and c₂, which are not known.
    """
    require_nonnegative(norm=norm, sup_square=sup_square)
    require_positive(N=N, P=P)
    require_chance(delta=delta)
    first, second = constants
    estimation = first * np.asarray(P) * np.log(N) / N
    approximation = np.asarray(norm) ** 2 * sup_square * np.log(np.asarray(N) / delta) / P
    return plain(estimation + second * approximation)


def equation_6(N: Number, norm: Number, sup_square: Number, c: Number = 1.0) -> Number:
    """c‖f*‖_K (1 + sup‖φ‖²) log N/√N: the excess risk with P = √N‖f*‖_K functions, its order.

    The exponent of N is 1/2 for every smoothness s > d/2; `minimax_exponent` has what is possible.

    Parameters
    ----------
    N, norm, sup_square
        As in `theorem_9`.
    c : float, default=1.0
        Not known.
    """
    require_nonnegative(norm=norm, sup_square=sup_square)
    require_positive(N=N)
    return plain(c * np.asarray(norm) * (1 + np.asarray(sup_square)) * np.log(N) / np.sqrt(N))


def minimax_exponent(smoothness: Number, d: Number) -> Number:
    """2s/(2s + d): no method has an excess risk that falls faster than N to minus this.

    Larger than the 1/2 of equation 6 for every s > d/2, which is what an RKHS asks for.

    Parameters
    ----------
    smoothness : float
        s, of a ball in the Sobolev space of d variables.
    d : int
    """
    require_positive(smoothness=smoothness, d=d)
    return plain(2 * np.asarray(smoothness) / (2 * np.asarray(smoothness) + d))


def truncation(F: Number, smoothness: Number, d: Number, c: Number = 1.0) -> Number:
    """c·F^{-2s/d}: the squared error of the first F = 2^{d(H+1)} wavelets, H scales; its order.

    Parameters
    ----------
    F : int
    smoothness : float
        s.
    d : int
    c : float, default=1.0
        Not known.
    """
    require_positive(F=F, smoothness=smoothness, d=d)
    return plain(c * np.asarray(F, dtype=np.float64) ** (-2 * np.asarray(smoothness) / d))


def sup_square_sheet(d: Number, constant: bool = True, printed: bool = False) -> Number:
    """sup‖φ‖² = 2^d of Brownian sheets with the constant, 1 without: Π (1 + min(1, 1)) or Π 1.

    Printed as 2^{-d}, which forgets Λ_0(x) = x.

    Parameters
    ----------
    d : int
    constant : bool, default=True
    printed : bool, default=False
        The value as it is printed, for comparison.
    """
    require_positive(d=d)
    if printed:
        return plain(2.0 ** -np.asarray(d, dtype=np.float64))
    return plain((2.0 if constant else 1.0) ** np.asarray(d, dtype=np.float64))


def sup_square_wavelets(
    smoothness: Number, d: Number, largest: Number, overlap: Number = 1
) -> Number:
    """sup‖φ‖² ≤ λ^{2d} r^d (1 + (2^d - 1)/(1 - 2^{-2(s-d/2)})) of isotropic scrambled wavelets.

    The 1 is the coarse scaling function, r the number of wavelets of one scale that meet a point.

    Parameters
    ----------
    smoothness : float
        s > d/2.
    d : int
    largest : float
        λ, the largest value of the wavelet and the scaling function (at least 1).
    overlap : int, default=1
        r: 2p - 1 for "dbp".
    """
    require_positive(d=d, overlap=overlap)
    s, d = np.asarray(smoothness, dtype=np.float64), np.asarray(d, dtype=np.float64)
    require(np.greater(s, d / 2), f"s > d/2, got s={smoothness!r} for d={d}")
    require(np.greater_equal(largest, 1), f"λ is at least 1, got {largest!r}")
    scales = (2**d - 1) / (1 - 2.0 ** (-2 * (s - d / 2)))
    return plain(np.asarray(largest) ** (2 * d) * np.asarray(overlap) ** d * (1 + scales))


def sup_square_anisotropic(smoothness, largest: float, overlap: int = 1) -> float:
    """sup‖φ‖² ≤ Π_m (1 + λ²r/(1 - 2^{-2(s_m - 1/2)})) of products of one-dimensional wavelets.

    The 1 in every factor is the coarse function, which the text leaves out.

    Parameters
    ----------
    smoothness : array of shape (d,)
        s_m > 1/2 for every column.
    largest, overlap
        As in `sup_square_wavelets`.
    """
    s = np.atleast_1d(np.asarray(smoothness, dtype=np.float64))
    require((s > 0.5).all(), f"s_m > 1/2 for every column, got {smoothness!r}")
    require(largest >= 1, f"λ is at least 1, got {largest!r}")
    return plain(np.prod(1 + largest**2 * overlap / (1 - 2.0 ** (-2 * (s - 0.5)))))


def cost(N: Number, d: Number) -> dict[str, Number]:
    """Products with P = √N: 2^d N^{3/2} log N to build the features, N² = NP² to solve; the order.

    Printed is N^{5/2} for the second.

    Parameters
    ----------
    N : int
    d : int
    """
    require_positive(N=N, d=d)
    N = np.asarray(N, dtype=np.float64)
    build = 2.0 ** np.asarray(d) * N**1.5 * np.log(N)
    return {"build": plain(build), "solve": plain(N**2)}
