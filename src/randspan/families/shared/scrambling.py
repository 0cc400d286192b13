"""W(x) = Σ_i ξ_i φ_i(x) with ξ_i ~ N(0, 1) that are computed where needed, and never stored.

A basis function (a node) has a key of 64 bits, a drawn function has two. The coefficient of a node
in a function is a pure function of these: the xor of both, mixed to 64 random bits, twice; then the
transform of Box and Muller, which makes exact normals of a radius and an angle. Functions come in
groups of 2·HALF, of which function i and function HALF + i share radius and angle, one with the
cosine and one with the sine. Logarithm and sine are polynomials good to 4e-16, so that compiled
loops run on vectors, 3 ns a number, and agree to the last bit on every machine.

The mixing is that of SplitMix64 (Steele, Lea and Flood 2014, with the constants of Stafford).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from .compiling import compiled
from .hashing import enter
from .loops import SINE, wave
from .randomness import raw_bits

HALF = 16
GROUP = 2 * HALF

_SINE = SINE[np.dtype(np.float64)]
_LN2 = 0.6931471805599453
# The bits of √½: mantissas are taken from [√½, √2).
_ROOT = 0x3FE6A09E667F3BCD


@intrinsic
def _bits_of(context, number):
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), code


@intrinsic
def _number_of(context, bits):
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), code


def function_keys(seed: int, count: int) -> np.ndarray:
    """Keys of functions, in groups of shape (2, HALF); a longer list starts the same."""
    groups = -(-count // GROUP)
    return raw_bits(seed, "functions", groups * GROUP).reshape(groups, 2, HALF)


@compiled
def mix(bits):
    """64 bits that look like 64 others: one to one, and every bit depends on every bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@compiled
def _log(x):
    """ln x for x > 0, by the series of 2·artanh((m - 1)/(m + 1))."""
    bits = _bits_of(x)  # type: ignore[call-arg,var-annotated]
    exponent = (bits - np.int64(_ROOT)) >> np.int64(52)
    m = _number_of(bits - (exponent << np.int64(52)))
    s = (m - 1) / (m + 1)
    square = s * s
    series = 2 / 19
    for power in (17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * square + 2 / power
    return exponent * _LN2 + series * s


@compiled
def _normals(node, keys, out):
    """The coefficients of one node in one group of functions."""
    for i in range(HALF):
        a, b = mix(node ^ keys[0, i]), mix(node ^ keys[1, i])
        # 52 of the 64 bits, so that the uniform is exact and never 0 or 1.
        uniform = (np.float64(np.int64(a >> np.uint64(12))) + 0.5) * 2.0**-52
        turn = np.float64(np.int64(b >> np.uint64(12))) * 2.0**-52
        radius = np.sqrt(-_log(uniform))  # the waves bring √2
        out[i] = radius * wave(turn, 0.5, 0.25, _SINE)
        out[HALF + i] = radius * wave(turn - 0.25, 0.5, 0.25, _SINE)


@compiled
def coefficients(nodes, keys, out):
    """out[i, p] = ξ of node i in function p, for ``keys`` of shape (groups, 2, HALF)."""
    group = np.empty(GROUP)
    for g in range(len(keys)):
        first = g * GROUP
        width = min(GROUP, out.shape[1] - first)
        for i in range(len(nodes)):
            _normals(nodes[i], keys[g], group)
            out[i, first : first + width] = group[:width]


@compiled
def chained(key, starts, numbers):
    """A key for every list of numbers, ``numbers[starts[t]:starts[t + 1]]``."""
    keys = np.empty(len(starts) - 1, dtype=np.uint64)
    for t in range(len(keys)):
        own = key
        for i in range(starts[t], starts[t + 1]):
            own = mix(own + np.uint64(numbers[i] + 1))
        keys[t] = own
    return keys


@compiled
def multiply(nodes, values, starts, offsets, widths, first, factors, keys, weights):
    """Keys and values of the products that terms are made of, row by row, term after term.

    Term t multiplies the functions in columns offsets[i], …, offsets[i] + widths[i] - 1 for every i
    from starts[t] to starts[t + 1]; its key chains its own with the nodes.
    """
    for r in range(len(nodes)):
        at = 0
        for t in range(len(first)):
            keys[r, at] = first[t]
            weights[r, at] = factors[t]
            known = 1
            for i in range(starts[t], starts[t + 1]):
                width, column = widths[i], offsets[i]
                # From the last one down, so that nothing is overwritten before its last use.
                for a in range(known - 1, -1, -1):
                    key, weight = keys[r, at + a], weights[r, at + a]
                    for b in range(width - 1, -1, -1):
                        place = at + a * width + b
                        keys[r, place] = mix(key + np.uint64(nodes[r, column + b] + 1))
                        weights[r, place] = weight * values[r, column + b]
                known *= width
            at += known


@compiled
def numbered(keys, out):
    """The different keys, and in ``out`` for every key which of them it is."""
    size = 16
    while size < 2 * keys.size:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    known = np.empty(keys.size, dtype=np.uint64)
    count = enter(keys.ravel(), known, slots, 0, out.ravel())
    return known[:count]


@compiled
def add_products(weights, slots, nodes, keys, out):
    """out[r, p] += Σ_t weights[r, t]·ξ(nodes[slots[r, t]], p), the sum always in the same order.

    Coefficients of a group of functions are made once for every node and stay in the cache.
    """
    n, width = weights.shape
    table = np.empty((len(nodes), GROUP))
    total = np.empty(GROUP)
    for g in range(len(keys)):
        for i in range(len(nodes)):
            _normals(nodes[i], keys[g], table[i])
        first = g * GROUP
        last = min(GROUP, out.shape[1] - first)
        for r in range(n):
            total[:] = 0
            t = 0
            while t + 4 <= width:
                a, b = table[slots[r, t]], table[slots[r, t + 1]]
                c, d = table[slots[r, t + 2]], table[slots[r, t + 3]]
                v, w = weights[r, t], weights[r, t + 1]
                x, y = weights[r, t + 2], weights[r, t + 3]
                for i in range(GROUP):
                    total[i] += (v * a[i] + w * b[i]) + (x * c[i] + y * d[i])
                t += 4
            while t < width:
                a, v = table[slots[r, t]], weights[r, t]
                for i in range(GROUP):
                    total[i] += v * a[i]
                t += 1
            for i in range(last):
                out[r, first + i] += total[i]
