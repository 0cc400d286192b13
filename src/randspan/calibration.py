"""Probabilities from scores, fitted to scores of rows that had no part in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from .blas import LIMITS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """P(c | x) ∝ exp(a·f_c + b·f_c³), a, b ≥ 0: two numbers for all classes.

    (With two classes one f serves: P = 1/(1 + exp(-(a·f + b·f³))).) The map is odd and increasing,
    so that the most probable class is always the one that is predicted. Platt's sigmoid has an
    offset instead of the cube and may contradict the prediction; temperature scaling has neither.
    """

    slope: float
    cube: float

    @classmethod
    def of(cls, scores: Array, targets: Array, weights: Array) -> Calibration:
        """Maximum likelihood, with Platt's targets: the class itself by (n_c + 1)/(n_c + 2)."""
        share = weights / weights.sum()
        size = float(np.sqrt((share @ scores**2).mean())) or 1.0
        logits = _columns(scores / size)
        is_class = targets > 0
        if targets.shape[1] == 1:
            is_class = np.hstack([~is_class, is_class])
        counts = weights @ is_class
        # Short of 1: where classes do not overlap, the numbers stay finite.
        sure = is_class @ ((counts + 1) / (counts + 2))
        others = ((1 - sure) / (is_class.shape[1] - 1))[:, None]
        wanted = np.where(is_class, sure[:, None], others)
        parts = np.stack([logits, logits**3])

        def value_and_gradient(p: Array) -> tuple[float, Array]:
            combined = np.tensordot(p, parts, axes=1)
            value = special.logsumexp(combined, axis=1) - (wanted * combined).sum(axis=1)
            slope = share[:, None] * (special.softmax(combined, axis=1) - wanted)
            return float(share @ value), np.tensordot(parts, slope, axes=2)

        with LIMITS.at_most(1):  # matrices of two numbers, for which other threads only spin
            found = optimize.minimize(
                value_and_gradient,
                [1.0, 0.0],
                jac=True,
                method="L-BFGS-B",
                bounds=[(1e-6, None), (0, None)],
                options={"ftol": 1e-15, "gtol": 1e-12},
            )
        return cls(float(found.x[0] / size), float(found.x[1] / size**3))

    def __call__(self, scores: Array) -> Array:
        """P(c | x), one column for every class."""
        scores = np.clip(scores, -1e6, 1e6)
        return special.softmax(_columns(self.slope * scores + self.cube * scores**3), axis=1)


def _columns(scores: Array) -> Array:
    """One column for every class: two classes have one score, the first is judged by 0."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def least_squares_probabilities(scores: Array) -> Array:
    """(1 + f_c)/2 within [0, 1], divided by their sum.

    The squared loss on ±1 estimates E y = 2P - 1. A little of the unclipped score keeps the order
    of classes where several are beyond 1 or all below -1.
    """
    columns = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    values = np.clip((1 + columns) / 2, 0, 1) + 1e-6 * special.softmax(columns, axis=1)
    return values / values.sum(axis=1, keepdims=True)
