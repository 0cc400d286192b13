"""Compiled loops of the engine."""

from __future__ import annotations

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
