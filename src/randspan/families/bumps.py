"""Gaussian bumps at random centres (Girosi and Anzellotti)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bandwidth import median_gamma
from .base import Family, Functions
from .checks import check_choice, check_positive
from .randomness import normals, sampled
from .rows import Rows


class Bumps(Family):
    """φ(x) = exp(-γ‖x - z‖²), centres z drawn from the rows or from a law.

    Kernel: the mean of φ(x)φ(y) over the rows for centres from the data; for z ~ N(0, I)
    exp(-γ‖x-y‖²/2) Π_m exp(-2γs_m²/(1+4γ))/√(1+4γ) with s = (x+y)/2.

    Parameters
    ----------
    gamma : "median", float or array of shape (n_features,), default="median"
        "median" is 1/(2 med²) of the Euclidean distances of two rows.
    centers : "data", "normal", callable or array of shape (m, n_features), default="data"
        "data" takes rows in random order, rows of larger weight earlier, each once before any is
        taken again; "normal" is N(0, I); a sampler is called as ``centers(d, rng)``; the rows of
        an array are taken in their order.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> rs.Bumps().draw(X, 20, random_state=0)(X).max().round(3)
    np.float64(1.0)
    """

    bounded = property(lambda self: 1.0)

    def __init__(self, gamma="median", centers="data"):
        self.gamma = gamma
        self.centers = centers

    @property
    def rotation_invariant(self):
        return isinstance(self.centers, str) and np.ndim(self.gamma) == 0

    @property
    def nearest_kernel(self) -> str:
        return "gaussian"

    @property
    def stretch(self):
        return np.sqrt(2 * np.asarray(self.gamma, dtype=np.float64))

    def resolve(self, sample, n_components, seed):
        resolved = self
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("median",), " or positive number(s)")
            resolved = resolved.with_values(gamma=median_gamma(sample, "euclidean"))
        else:
            check_positive("gamma", self.gamma, sample.shape[1])
        if isinstance(self.centers, str):
            choices = ("data", "normal")
            check_choice("centers", self.centers, choices, ", a callable sampler or an array")
            if self.centers == "data":
                resolved = resolved.with_values(centers=sample.rows.dense)
        elif not callable(self.centers):
            shape = np.shape(self.centers)
            if len(shape) != 2 or shape[0] < 1 or shape[1] != sample.shape[1]:
                raise ValueError(f"centers must have shape (m, {sample.shape[1]}), got {shape}.")
        return resolved

    def sample(self, n_features, n_components, seed):
        if callable(self.centers):
            centers = sampled(self.centers, seed, "centers", n_components, n_features)
        elif isinstance(self.centers, str):
            centers = normals(seed, "centers", n_components, n_features)
        else:
            pool = np.asarray(self.centers, dtype=np.float64)
            centers = pool[np.arange(n_components) % len(pool)]
        return BumpFunctions(self, n_features, n_components, centers)

    def closed_form(self, X, Y):
        if callable(self.centers):
            raise self.no_closed_form("the centres come from a sampler of yours")
        d = X.shape[1]
        root = np.sqrt(np.broadcast_to(np.asarray(self.gamma, np.float64), d))
        x, y = X.dense.astype(np.float64), Y.dense.astype(np.float64)
        if not isinstance(self.centers, str):
            z = np.asarray(self.centers, dtype=np.float64)
            left = np.exp(-_squared_distances(x * root, z * root))
            right = np.exp(-_squared_distances(y * root, z * root))
            return left @ right.T / len(z)
        gamma = root**2
        near = np.exp(-_squared_distances(x * root, y * root) / 2)
        shrunk = np.sqrt(2 * gamma / (1 + 4 * gamma))
        # ‖s‖² with s = (x + y)/2 is ‖x/2 - (-y/2)‖².
        middle = np.exp(-_squared_distances(x * shrunk / 2, -y * shrunk / 2))
        return near * middle / np.prod(np.sqrt(1 + 4 * gamma))


def _squared_distances(x, y):
    return np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T, 0)


@dataclass(frozen=True, eq=False)
class BumpFunctions(Functions):
    """exp(-γ‖x - z‖²) for drawn centres z."""

    centers: NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        gamma = np.broadcast_to(np.asarray(self.family.gamma, np.float64), self.n_features)
        # -γ‖x-z‖² = 2x'γz - z'γz - x'γx: one product, then two vectors.
        values = rows.project(2 * gamma * self.centers)
        values -= (self.centers**2 @ gamma).astype(rows.dtype)
        if rows.rotation is None:
            scale = np.sqrt(gamma) if rows.scale is None else rows.scale * np.sqrt(gamma)
            norms = Rows(rows.values, rows.centre, scale, np.float64).squared_norms()
        else:  # only where γ is one number
            norms = gamma[0] * rows.squared_norms()
        values -= norms[:, None].astype(rows.dtype)
        np.minimum(values, 0, out=values)
        return np.exp(values, out=values)
