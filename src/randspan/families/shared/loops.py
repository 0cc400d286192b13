"""The few loops that numpy cannot run in one pass over memory, compiled by numba.

Every loop releases the interpreter lock and runs on one thread: the engine gives each thread its
own block of rows, which scales better than threads inside a loop and lets several models be
fitted at once. Compiled code is cached on disk.

Cosines are taken in turns: with p the phase divided by 2π, p - ⌊p + ½⌋ is exact, so the range
reduction costs no digits. Then cos 2πp = -sin 2πt with t = |p - ⌊p + ½⌋| - ¼ in [-¼, ¼], an odd
polynomial without cancellation: 5 terms are good to 7e-9, 8 terms to 2e-16.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled

# -√2 sin 2πt = t·Σ c_i t^2i, interpolated at Chebyshev nodes in 50 digits; highest power first.
SINE = {
    np.dtype(np.float32): (
        -56.22888670166739856,
        108.3021329759744302,
        -115.4033288041639844,
        58.46596541469149645,
        -8.88576583809735645,
    ),
    np.dtype(np.float64): (
        0.9793523686903746074,
        -5.39857025138901233,
        21.34685530155040091,
        -59.47996974852246181,
        108.4784670865605561,
        -115.4072502863620923,
        58.46599599996142558,
        -8.885765876316731476,
    ),
}


def cosines(turns: np.ndarray, phases: np.ndarray) -> np.ndarray:
    """√2 cos 2π(turns + phases), in place."""
    _shifted_cosines(turns, phases.astype(turns.dtype), *_constants(turns.dtype))
    return turns


def paired_cosines(turns: np.ndarray) -> np.ndarray:
    """√2 cos 2π turns and √2 sin 2π turns, side by side."""
    out = np.empty((turns.shape[0], 2 * turns.shape[1]), dtype=turns.dtype)
    _paired_cosines(turns, out, *_constants(turns.dtype))
    return out


def _constants(dtype: np.dtype) -> tuple:
    # Typed, because a plain 0.5 inside a loop would turn float32 into float64.
    number = dtype.type
    return number(0.5), number(0.25), tuple(number(c) for c in SINE[dtype])


@compiled
def wave(p, half, quarter, sine):
    t = abs(p - np.floor(p + half)) - quarter
    square = t * t
    value = sine[0]
    for i in range(1, len(sine)):
        value = value * square + sine[i]
    return value * t


@compiled
def _shifted_cosines(turns, phases, half, quarter, sine):
    for r in range(turns.shape[0]):
        for i in range(turns.shape[1]):
            turns[r, i] = wave(turns[r, i] + phases[i], half, quarter, sine)


@compiled
def _paired_cosines(turns, out, half, quarter, sine):
    for r in range(turns.shape[0]):
        for i in range(turns.shape[1]):
            out[r, 2 * i] = wave(turns[r, i], half, quarter, sine)
            out[r, 2 * i + 1] = wave(turns[r, i] - quarter, half, quarter, sine)


@compiled
def signs(values, columns, thresholds, out):
    """out[r, i] = +1 where values[r, columns[i]] >= thresholds[i], else -1."""
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = 1 if values[r, columns[i]] >= thresholds[i] else -1


LANES = 16


@compiled
def hadamard_products(rows, signs, permutations, gains, scales, out):
    """out = S·H·G·Π·H·B·x for every block of the structured frequencies, row by row of ``rows``.

    Sixteen rows travel together, one in each lane of a vector register: butterflies, diagonals
    and permutations then all work on whole vectors, whatever the power of two.
    """
    n, d = rows.shape
    blocks, size = signs.shape
    first = np.zeros((size, LANES), dtype=rows.dtype)
    second = np.zeros((size, LANES), dtype=rows.dtype)
    inputs = np.zeros((d, LANES), dtype=rows.dtype)
    for start in range(0, n, LANES):
        width = min(LANES, n - start)
        for lane in range(width):
            for j in range(d):
                inputs[j, lane] = rows[start + lane, j]
        for block in range(blocks):
            for j in range(d):
                for lane in range(LANES):
                    first[j, lane] = inputs[j, lane] * signs[block, j]
            for j in range(d, size):
                for lane in range(LANES):
                    first[j, lane] = 0
            _hadamard(first)
            for j in range(size):
                for lane in range(LANES):
                    second[j, lane] = first[permutations[block, j], lane] * gains[block, j]
            _hadamard(second)
            column = block * size
            for lane in range(width):
                for j in range(min(size, out.shape[1] - column)):
                    out[start + lane, column + j] = second[j, lane] * scales[block, j]


@compiled
def _hadamard(lanes):
    """The unnormalised Walsh-Hadamard transform of every lane, in place."""
    size = lanes.shape[0]
    step = 1
    while step < size:
        for start in range(0, size, 2 * step):
            for j in range(start, start + step):
                for lane in range(LANES):
                    a = lanes[j, lane]
                    b = lanes[j + step, lane]
                    lanes[j, lane] = a + b
                    lanes[j + step, lane] = a - b
        step *= 2


@compiled
def leaves(rows, feature, threshold, other, roots, out):
    """out[t, r] = the leaf of row r in the tree that begins at roots[t]."""
    for t in range(len(roots)):
        root = roots[t]
        for r in range(len(rows)):
            node = 0
            column = feature[root]
            while column >= 0:
                at = root + node
                node = node + 1 if rows[r, column] <= threshold[at] else other[at]
                column = feature[root + node]
            out[t, r] = other[root + node]
