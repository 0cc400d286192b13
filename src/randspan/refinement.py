"""Weights that were solved for from sums, corrected by the rows.

    w ← w + (Z̃'ΩZ̃ + μI)⁻¹ (Z̃'Ω(ỹ - Z̃w) - μw)

Sums in another order, on other threads, differ in their last bits: by u·tr Z̃'Z̃, which a small
ridge μ lets through to predictions as a share of u·tr Z̃'Z̃/μ. Residuals of rows are not
differences of large sums, so that this gradient is as exact as the rows are; a step by the factor
that is at hand leaves as small a share of what was off (the corrected seminormal equations, Björck
1987). It takes one pass over the rows, and is taken where the share is large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .engines import Engine
from .features import Features
from .solvers.solution import Array, LeastSquares
from .sources import Block
from .statistics import Moments

# From here on u·tr Z̃'Z̃/μ is large: predictions differ by up to a fifth of it.
LARGE = 3e-9


@dataclass(frozen=True)
class Gradient:
    """Z̃'Ω(ỹ - Z̃w), a sum over rows."""

    sums: Array

    def absorb(self, other: Gradient) -> Gradient:
        return Gradient(self.sums + other.sums)


def needed(moments: Moments, mu: float, dtype: np.dtype) -> bool:
    """Whether rounding errors of float64 sums may be seen in the predictions."""
    return dtype == np.float64 and 0 < mu * LARGE < moments.error


def refined(found: LeastSquares, features: Features, mu: float, engine: Engine) -> LeastSquares:
    """The same solution with other last digits of the weights."""
    mean, coef = found.mean, found.coef
    assert mean is not None  # moments have one
    constant = found.intercept + mean @ coef

    def add(total: Gradient, Z: NDArray, block: Block) -> Gradient:
        Z -= mean
        left = block.Y - constant - Z @ coef
        left = left if block.weight is None else block.weight[:, None] * left
        return Gradient(total.sums + Z.T @ left)

    rows = engine.reduce(features, lambda: Gradient(np.zeros_like(coef)), add, coef.nbytes)
    root = found.posterior.root
    coef = coef + root.T @ (root @ (rows.sums - mu * coef))
    return replace(found, coef=coef, intercept=constant - mean @ coef)
