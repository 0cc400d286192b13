"""Gaussian bumps at random centres (Girosi and Anzellotti)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice
from .base import Family
from .functions import Functions
from .shared.bandwidth import read_gamma
from .shared.randomness import normals, sampled
from .shared.rows import Rows
from .shared.sample import capacity
from .shared.spectra import squares_apart


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
    def independent(self) -> bool:
        return callable(self.centers) or (
            isinstance(self.centers, str) and self.centers == "normal"
        )

    @property
    def rotation_invariant(self):
        return isinstance(self.centers, str) and np.ndim(self.gamma) == 0

    @property
    def nearest_kernel(self) -> str:
        return "gaussian"

    @property
    def stretch(self):
        return np.sqrt(2 * np.asarray(self.resolved.gamma, dtype=np.float64))

    def read(self, sample, n_components, seed):
        gamma = read_gamma(self.gamma, sample, "euclidean")
        if callable(self.centers):
            return Centres(gamma, None)
        if isinstance(self.centers, str):
            choices = ("data", "normal")
            check_choice("centers", self.centers, choices, ", a callable sampler or an array")
            return Centres(gamma, sample.rows.dense if self.centers == "data" else None)
        shape = np.shape(self.centers)
        if len(shape) != 2 or shape[0] < 1 or shape[1] != sample.shape[1]:
            raise ValueError(f"centers must have shape (m, {sample.shape[1]}), got {shape}.")
        return Centres(gamma, np.asarray(self.centers, dtype=np.float64))

    def sample(self, n_features, n_components, seed):
        pool = self.resolved.pool
        if pool is not None:
            centers = pool[np.arange(n_components) % len(pool)]
        elif callable(self.centers):
            centers = sampled(self.centers, seed, "centers", n_components, n_features)
        else:
            centers = normals(seed, "centers", n_components, n_features)
        return BumpFunctions(self, n_features, n_components, centers, self.resolved.gamma)

    def stored_bytes(self, n_rows, n_features, n_components, n_targets=1):
        # Rows of the sample are kept to take centres from.
        pool = isinstance(self.centers, str) and self.centers == "data"
        rows = min(n_rows, capacity(n_features, n_components)) if pool else 0
        return 8 * (rows + n_components) * n_features

    def closed_form(self, X, Y):
        if callable(self.centers):
            raise self.no_closed_form("the centres come from a sampler of yours")
        d, z = X.shape[1], self.resolved.pool
        root = np.sqrt(np.broadcast_to(np.asarray(self.resolved.gamma, np.float64), d))
        x, y = X.dense.astype(np.float64), Y.dense.astype(np.float64)
        if z is not None:
            left = np.exp(-squares_apart(x * root, z * root))
            right = np.exp(-squares_apart(y * root, z * root))
            return left @ right.T / len(z)
        gamma = root**2
        near = np.exp(-squares_apart(x * root, y * root) / 2)
        shrunk = np.sqrt(2 * gamma / (1 + 4 * gamma))
        # ‖s‖² with s = (x + y)/2 is ‖x/2 - (-y/2)‖².
        middle = np.exp(-squares_apart(x * shrunk / 2, -y * shrunk / 2))
        return near * middle / np.prod(np.sqrt(1 + 4 * gamma))


@dataclass(frozen=True, eq=False)
class Centres:
    """γ, and rows to take centres from, None where they have a distribution of their own."""

    gamma: float | NDArray[np.float64]
    pool: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class BumpFunctions(Functions):
    """exp(-γ‖x - z‖²) for drawn centres z."""

    centers: NDArray[np.float64]
    gamma: float | NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        return rows.gaussians(self.centers, self.gamma)
