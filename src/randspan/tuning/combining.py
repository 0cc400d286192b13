"""Weights of several models, from what they predict of rows that they have not used.

    min_{v ≥ 0, b}  Σ_r ω_r ‖y_r - b - Σ_m v_m p_rm‖²

with one weight a model for all targets, these in units of their deviation. Few weights for many
rows hardly adapt to these, and the error is cross-validated all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..keys import Keys
from ..solvers.validation import Validation, mean_of
from ..statistics.together import folds_of

Array = NDArray[np.float64]

FOLDS = 5
# Models that weigh less than this are left out: predictions cost time.
LEAST = 0.02
# Weights are multiples of this, and constants of this share of a deviation: predictions without a
# row may come from factors in float32, whose last digits are another on other threads.
WEIGHT, SHIFT = 2.0**-12, 2.0**-16
ONE_ROW = Validation(None, reason="one row has a weight, and without it there is none")


@dataclass(frozen=True)
class Combination:
    """Weights, a constant for every target, and what they say of rows they had no part in."""

    weights: Array
    intercept: Array
    left_out: Array
    validation: Validation


def combined(
    predicted: list[Array], targets: Array, each: Array, keys: Keys, seed: int
) -> Combination:
    """The combination of predictions of shape (n_rows, n_targets).

    Weights are cross-validated in folds of rows; those of equal ``keys`` are in the same one.
    """
    P = np.stack(predicted)
    if not len(targets):  # one row only: there is none without it
        first = np.eye(len(P))[0]
        return Combination(first, np.zeros(targets.shape[1]), targets, ONE_ROW)
    units = targets.std(axis=0)
    units = np.where(units > 0, units, 1.0)
    weights, intercept = solved(P, targets, each, units)
    left_out, folds = np.empty_like(targets), folds_of(keys, seed, FOLDS)
    for fold in range(FOLDS):
        mine = folds == fold
        if not mine.any():
            continue
        known = (weights, intercept)
        if each[~mine].sum() > 0:
            known = solved(P[:, ~mine], targets[~mine], each[~mine], units)
        left_out[mine] = np.tensordot(known[0], P[:, mine], axes=1) + known[1]
    error = mean_of(((targets - left_out) ** 2).mean(axis=1), each, keys)
    share = each / each.sum()
    variance = float((share @ (targets - share @ targets) ** 2).mean())
    found = Validation("combined", *error, variance=variance)
    return Combination(weights, intercept, left_out, found)


def solved(P: Array, Y: Array, each: Array, units: Array) -> tuple[Array, Array]:
    """v ≥ 0 and b of least squares; light models are left out, and the others weighed again."""
    share = each / each.sum()
    means, centre = np.einsum("r,mrt->mt", share, P), share @ Y
    scale = np.sqrt(share)[:, None] / units
    A = np.stack([((p - mean) * scale).ravel() for p, mean in zip(P, means, strict=True)], axis=1)
    R, right = _reduced(A, ((Y - centre) * scale).ravel())
    kept = np.arange(A.shape[1])
    while True:
        found, _ = nnls(R[:, kept], right)
        light = (found < LEAST) & (found < found.max(initial=0.0))
        if not light.any():
            break
        kept = kept[~light]
    v = np.zeros(A.shape[1])
    v[kept] = np.round(found / WEIGHT) * WEIGHT
    if not v.any():  # nobody knows anything: the first says so as well as any other
        v[0] = np.finfo(np.float64).tiny
    return v, np.round((centre - v @ means) / (SHIFT * units)) * SHIFT * units


def _reduced(A: Array, y: Array) -> tuple[Array, Array]:
    """R and Q'y of A = QR: the same least squares in as many rows as there are models."""
    Q, R = np.linalg.qr(A)
    return R, Q.T @ y


def coarse(values: Array) -> Array:
    """Values to 2⁻¹² of their deviation, each column by itself.

    Trees that learn from them are then the same whatever the last digits are: two cuts that part
    rows alike are told apart by rounding errors.
    """
    spread = values.std(axis=0)
    differ = spread > np.finfo(np.float64).eps * np.abs(values).max(axis=0, initial=0.0)
    unit = 2.0 ** (np.floor(np.log2(np.where(differ, spread, 1.0))) - 12)
    return np.where(differ, np.round(values / unit) * unit, values)
