"""Compiled loops of the engine."""

from __future__ import annotations

import numpy as np

from ..families.loops import compiled


@compiled
def scatter(rows, buckets, signs, out):
    """out[buckets[r, j]] += signs[r, j]·rows[r] for every r and j."""
    for r in range(rows.shape[0]):
        for j in range(buckets.shape[1]):
            target = buckets[r, j]
            sign = signs[r, j]
            for i in range(rows.shape[1]):
                out[target, i] += sign * rows[r, i]


# Codes index as unsigned numbers: signed ones are first asked whether they count from the end.


@compiled
def gather(codes, offsets, weights, out):
    """out[r] += Σ_g weights[offsets[g] + codes[g, r]]."""
    for g in range(codes.shape[0]):
        offset = np.uintp(offsets[g])
        for r in range(codes.shape[1]):
            cell = offset + np.uintp(codes[g, r])
            for j in range(out.shape[1]):
                out[r, j] += weights[cell, j]


@compiled
def gather_one(codes, offsets, weights, out):
    """`gather` for one column."""
    for g in range(codes.shape[0]):
        offset = np.uintp(offsets[g])
        for r in range(codes.shape[1]):
            out[r] += weights[offset + np.uintp(codes[g, r])]


@compiled
def add_up(codes, values, out):
    """out[codes[r]] += values[r] for every r, in one grid."""
    for r in range(len(codes)):
        cell = np.uintp(codes[r])
        for j in range(out.shape[1]):
            out[cell, j] += values[r, j]


@compiled
def add_up_one(codes, values, out):
    """`add_up` for one column."""
    for r in range(len(codes)):
        out[np.uintp(codes[r])] += values[r]
