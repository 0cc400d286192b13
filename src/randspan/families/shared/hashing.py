"""Cells of random grids, by their hash.

The cell of a row x in a grid is the vector of whole numbers c_m = ⌊x_m·slope_m + offset_m⌋. It is
known by a key of 64 bits: the upper halves of Σ a_m c_m and Σ b_m c_m mod 2⁶⁴, for multipliers
a and b of 64 random bits and c_m taken mod 2³². Such a sum is strongly universal (Thorup 2015), so
two different cells share a key with probability 2⁻⁶⁴, whatever they are: for a million rows and a
thousand grids, the expected number of pairs that do is below 3e-5.

Sums are additive, so sparse rows cost what they hold: the key of the zero row, and the difference
that every entry makes. Whole numbers beyond ±2³⁰ are taken for ±2³⁰.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled

LIMIT = 2.0**30


@compiled
def _cell(value):
    return np.uint64(np.uint32(np.int64(min(max(np.floor(value), -LIMIT), LIMIT))))


@compiled
def _key(first, second):
    return (first >> np.uint64(32)) | (second & np.uint64(0xFFFFFFFF00000000))


@compiled
def dense_keys(columns, slopes, offsets, first, second, out):
    """Keys of rows in every grid; ``columns[m, r]`` is entry m of row r."""
    n = columns.shape[1]
    sums = np.empty(n, dtype=np.uint64)
    others = np.empty(n, dtype=np.uint64)
    for g in range(slopes.shape[0]):
        sums[:] = 0
        others[:] = 0
        for m in range(slopes.shape[1]):
            slope, offset = slopes[g, m], offsets[g, m]
            a, b = first[g, m], second[g, m]
            for r in range(n):
                cell = _cell(columns[m, r] * slope + offset)
                sums[r] += a * cell
                others[r] += b * cell
        for r in range(n):
            out[g, r] = _key(sums[r], others[r])


@compiled
def sparse_keys(starts, indices, values, slopes, offsets, first, second, out):
    """The same for rows in compressed form: row r has ``indices[starts[r]:starts[r + 1]]``."""
    for g in range(slopes.shape[0]):
        base = np.uint64(0)
        other_base = np.uint64(0)
        for m in range(slopes.shape[1]):
            cell = _cell(offsets[g, m])
            base += first[g, m] * cell
            other_base += second[g, m] * cell
        for r in range(len(starts) - 1):
            total, other = base, other_base
            for i in range(starts[r], starts[r + 1]):
                m = indices[i]
                step = _cell(values[i] * slopes[g, m] + offsets[g, m]) - _cell(offsets[g, m])
                total += first[g, m] * step
                other += second[g, m] * step
            out[g, r] = _key(total, other)


@compiled
def _place(key, known, slots):
    """The slot that holds a key, or the empty one where it belongs."""
    mask = np.uint64(len(slots) - 1)
    place = key & mask
    while slots[place] >= 0 and known[slots[place]] != key:
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def enter(keys, known, slots, count, out):
    """Number keys by first appearance; ``known`` and ``slots`` have room for all of them."""
    for r in range(len(keys)):
        place = _place(keys[r], known, slots)
        if slots[place] < 0:
            known[count] = keys[r]
            slots[place] = count
            count += 1
        out[r] = slots[place]
    return count


@compiled
def look_up(keys, known, slots, count, out):
    """The numbers of keys, -1 for those that are not among the first ``count``."""
    for r in range(len(keys)):
        cell = slots[_place(keys[r], known, slots)]
        out[r] = cell if cell < count else -1


@compiled
def refill(known, count, slots):
    """Slots for the first ``count`` keys."""
    slots[:] = -1
    for cell in range(count):
        slots[_place(known[cell], known, slots)] = cell
