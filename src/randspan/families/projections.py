"""Random projections: the linear class of random hypotheses (Cao and Lan 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_number
from .base import Family
from .functions import Functions
from .shared.randomness import normals_or_sampled
from .shared.rows import Rows


class Projections(Family):
    """φ(x) = w'x, w ~ scale·N(0, I); the kernel is scale²·x'y.

    Parameters
    ----------
    weights : "normal" or callable, default="normal"
        The distribution of w before ``scale``; a sampler is called as ``weights(d, rng)``.
    scale : float, default=1.0

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> functions = rs.Projections().draw(np.eye(3), 4, random_state=0)
    >>> bool(np.allclose(functions(np.eye(3)), functions.weights.T))
    True
    """

    rotation_invariant = property(lambda self: True)

    def __init__(self, weights="normal", scale=1.0):
        self.weights = weights
        self.scale = scale

    def read(self, sample, n_components, seed):
        if not callable(self.weights):
            check_choice("weights", self.weights, ("normal",), " or a callable sampler")
        check_number("scale", self.scale)

    def sample(self, n_features, n_components, seed):
        weights = normals_or_sampled(self.weights, seed, "weights", n_components, n_features)
        return ProjectionFunctions(self, n_features, n_components, self.scale * weights)

    def closed_form(self, X, Y):
        if callable(self.weights):
            raise self.no_closed_form("the weights come from a sampler of yours")
        left, right = (self.scale * rows.dense.astype(np.float64) for rows in (X, Y))
        return left @ right.T


@dataclass(frozen=True, eq=False)
class ProjectionFunctions(Functions):
    """w'x for drawn w."""

    weights: NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        return rows.products(self.weights)
