"""Compiled loops of the engine."""

from __future__ import annotations

import numpy as np

from ..families.shared.compiling import compiled


@compiled
def scatter(rows, buckets, signs, out):
    """out[buckets[r, j]] += signs[r, j]·rows[r] for every r and j."""
    for r in range(rows.shape[0]):
        for j in range(buckets.shape[1]):
            target = buckets[r, j]
            sign = signs[r, j]
            for i in range(rows.shape[1]):
                out[target, i] += sign * rows[r, i]


# Cells index as unsigned numbers: signed ones are first asked whether they count from the end.


@compiled
def gather(cells, offsets, weights, out):
    """out[r] += Σ_g weights[offsets[g] + cells[g, r]]."""
    for g in range(cells.shape[0]):
        offset = np.uintp(offsets[g])
        for r in range(cells.shape[1]):
            cell = offset + np.uintp(cells[g, r])
            for j in range(out.shape[1]):
                out[r, j] += weights[cell, j]


@compiled
def gather_one(cells, offsets, weights, out):
    """`gather` for one column."""
    for g in range(cells.shape[0]):
        offset = np.uintp(offsets[g])
        for r in range(cells.shape[1]):
            out[r] += weights[offset + np.uintp(cells[g, r])]


@compiled
def add_up(cells, values, out):
    """out[cells[r]] += values[r] for every r, in one grid."""
    for r in range(len(cells)):
        cell = np.uintp(cells[r])
        for j in range(out.shape[1]):
            out[cell, j] += values[r, j]


@compiled
def add_up_one(cells, values, out):
    """`add_up` for one column."""
    for r in range(len(cells)):
        out[np.uintp(cells[r])] += values[r]
