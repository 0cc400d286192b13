"""Compiled loops over all pairs of rows, for the Laplacian kernel."""

from __future__ import annotations

import numpy as np

from ..families.shared.compiling import compiled


@compiled
def laplacian(columns, out):
    """out[i, j] = exp(-‖t_i - t_j‖₁), ``columns[m, i]`` being entry m of t_i."""
    d, n = columns.shape
    for i in range(n):
        row = out[i, :i]
        row[:] = 0
        for m in range(d):
            own = columns[m, i]
            for j in range(i):
                row[j] += abs(own - columns[m, j])
        out[i, i] = 1
        for j in range(i):
            row[j] = np.exp(-row[j])
            out[j, i] = row[j]


@compiled
def laplacian_slopes(T, W, out):
    """out[m] = -Σ_ij W_ij |t_im - t_jm| for a symmetric W."""
    n, d = T.shape
    row = np.zeros(d, T.dtype)
    out[:] = 0
    for i in range(n):
        row[:] = 0
        for j in range(i):
            weight = W[i, j]
            for m in range(d):
                row[m] += weight * abs(T[i, m] - T[j, m])
        for m in range(d):
            out[m] -= 2 * row[m]


@compiled
def distances(columns, centres, gamma, out):
    """out[c, i] = Σ_m γ_m |x_im - centres[c, m]|, ``columns[m, i]`` being x_im."""
    d, n = columns.shape
    for start in range(0, n, 2048):  # a stretch of all columns stays in the cache
        stop = min(start + 2048, n)
        for c in range(centres.shape[0]):
            row = out[c, start:stop]
            row[:] = 0
            for m in range(d):
                weight, own = gamma[m], centres[c, m]
                column = columns[m, start:stop]
                for i in range(len(row)):
                    row[i] += weight * abs(column[i] - own)
