"""Values of Daubechies wavelets and symlets, exact at every float: no table, no interpolation.

The least smooth of these functions have a Hölder exponent of 0.55: between the points of a table no
interpolation would be good to six digits. But v(x) = (φ(x), φ(x + 1), …) for x in [0, 1) obeys
v(x) = T_b v(2x - b), b the first binary digit of x and T_b[i, k] = √2 h[2i + b - k]. From the
integers, where v(0) is an eigenvector of T_0, one product for each of the 55 digits leads up to
v(2^j x mod 1) for all scales j at once. The same with the other filter are values of ψ.
"""

from __future__ import annotations

from functools import cache
from math import comb, log2

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled

# All binary digits of a float in [1/8, 1).
DIGITS = 55


@compiled
def refine(places, low, high, start, scaling, wavelet):
    """``scaling[j, r, i]`` = φ(y + i) and ``wavelet[j, r, i]`` = ψ(y + i), y = 2^j·places[r] mod 1.

    Places are in [1/8, 1); filters hold their factor √2 and make functions on [0, width].
    """
    depth, n, width = scaling.shape
    value, fresh = np.empty(width), np.empty(width)
    for r in range(n):
        digits = np.int64(places[r] * 2.0**DIGITS)
        value[:] = start
        for j in range(DIGITS - 1, -1, -1):
            bit = (digits >> np.int64(DIGITS - 1 - j)) & 1
            _step(low, bit, value, fresh)
            if j < depth:
                _step(high, bit, value, wavelet[j, r])
                scaling[j, r] = fresh
            value, fresh = fresh, value


@compiled
def _step(taps, bit, value, out):
    width = len(value)
    for i in range(width):
        at = 2 * i + bit
        total = 0.0
        for k in range(max(0, at - width), min(width, at + 1)):
            total += taps[at - k] * value[k]
        out[i] = total


@cache
def filters(wavelet: str) -> tuple[NDArray, NDArray, NDArray]:
    """Both filters of a wavelet, and its scaling function at the integers 0, 1, …."""
    try:
        import pywt
    except ImportError as error:
        raise ImportError(
            "ScrambledWavelets take their filters from PyWavelets: pip install 'randspan[wavelets]'"
        ) from error
    known = pywt.Wavelet(wavelet)
    low, high = (np.sqrt(2) * np.array(taps) for taps in (known.rec_lo, known.rec_hi))
    width = len(low) - 1
    refinement = np.zeros((width, width))
    for i in range(width):
        for k in range(max(0, 2 * i - width), min(width, 2 * i + 1)):
            refinement[i, k] = low[2 * i - k]
    # φ(i) = Σ_k √2 h[2i - k] φ(k), and the values sum to 1.
    equations = np.vstack([refinement - np.eye(width), np.ones(width)])
    right = np.append(np.zeros(width), 1.0)
    return low, high, np.linalg.lstsq(equations, right, rcond=None)[0]


@cache
def sobolev_exponent(moments: int) -> float:
    """How many derivatives of the scaling function are in L2, for so many vanishing moments.

    s = p - log₄ ρ for p moments and ρ the spectral radius of the transition operator of |L|², where
    |h|² = cos²ᵖ(ω/2)·|L|² (Eirola 1992, Villemoes 1992). For Daubechies wavelets and symlets
    |L|² = Σ_{i<p} C(p - 1 + i, i) sin²ⁱ(ω/2).
    """
    # Coefficients of |L|² at e^{iωm}, |m| < p; those of sin²(ω/2) are -1/4, 1/2, -1/4.
    c, power = np.zeros(2 * moments - 1), np.ones(1)
    for i in range(moments):
        c[moments - 1 - i : moments + i] += float(comb(moments - 1 + i, i)) * power
        power = np.convolve(power, [-0.25, 0.5, -0.25])
    m = np.arange(1 - moments, moments)
    at = 2 * m[:, None] - m
    operator = np.where(np.abs(at) < moments, c[(at + moments - 1) % len(c)], 0.0)
    radius = 2 * np.abs(np.linalg.eigvals(operator)).max()
    return moments - log2(radius) / 2
