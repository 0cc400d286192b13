"""Compiled loops over all pairs of rows, for the Laplacian kernel."""

from __future__ import annotations

import numpy as np

from ..families.loops import compiled


@compiled
def laplacian(T, out):
    """out[i, j] = exp(-‖t_i - t_j‖₁)."""
    n, d = T.shape
    for i in range(n):
        out[i, i] = 1
        for j in range(i):
            total = T.dtype.type(0)
            for m in range(d):
                total += abs(T[i, m] - T[j, m])
            out[i, j] = np.exp(-total)
            out[j, i] = out[i, j]


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
def distances(rows, centre, gamma, out):
    """out[i] = Σ_m γ_m |x_im - c_m|."""
    for i in range(rows.shape[0]):
        total = rows.dtype.type(0)
        for m in range(rows.shape[1]):
            total += gamma[m] * abs(rows[i, m] - centre[m])
        out[i] = total
