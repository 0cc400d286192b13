"""Shift-invariant kernels and the spectral laws of their frequencies (Bochner).

By Bochner's theorem k(x - y) = E cos ω'(x - y) for frequencies ω from the kernel's spectral law.
Each law turns uniforms into frequencies of unit scale, and knows its kernel as a function of
differences of unit scale; γ only stretches the columns (`stretch`):

=============  ==================================  =============================  ============
kernel         k(x, y)                             frequencies                    stretch
=============  ==================================  =============================  ============
gaussian       exp(-Σ γ_m Δ_m²)                    normal                         √(2γ)
laplacian      exp(-Σ γ_m |Δ_m|)                   independent Cauchy             γ
cauchy         Π 1/(1 + γ_m² Δ_m²)                 independent Laplace            γ
matern12       exp(-r), r = ‖√(2γ)·Δ‖              Student-t, 1 degree            √(2γ)
matern32       (1 + √3 r) exp(-√3 r)               Student-t, 3 degrees           √(2γ)
matern52       (1 + √5 r + 5r²/3) exp(-√5 r)       Student-t, 5 degrees           √(2γ)
stable         exp(-‖γ∘Δ‖_p^q), q ≤ p ≤ 2          p-stable times A^(1/p)         γ
=============  ==================================  =============================  ============

The Matérn kernels have length scale ℓ = 1/√(2γ), so that γ is the Gaussian's as ν → ∞. A is
positive and q/p-stable, E exp(-As) = exp(-s^(q/p)), so that E exp(-A‖Δ‖_p^p) is the stable kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances

# Rows of more columns than this are told apart through inner products, which are much faster; those
# nearer than this share of their squared lengths, where digits would be lost, by their differences.
WIDE, NEAR = 4096, 1e-4


def apart(X: NDArray, Y: NDArray) -> NDArray[np.float64]:
    """Euclidean distances."""
    if X.shape[1] <= WIDE:
        return cdist(X, Y)
    squares = euclidean_distances(X, Y, squared=True)
    lengths = [np.einsum("ij,ij->i", rows, rows) for rows in (X, Y)]
    near = squares < NEAR * np.add.outer(*lengths)
    for i, j in np.argwhere(near):
        squares[i, j] = ((X[i] - Y[j]) ** 2).sum()
    return np.sqrt(squares, out=squares)


def squares_apart(X: NDArray, Y: NDArray) -> NDArray[np.float64]:
    """Squares of Euclidean distances, without what rows have in common, which would cost digits.

    That is a median: a mean lies far from all rows but one where that one is far away.
    """
    middle = np.median(Y, axis=0)
    return euclidean_distances(X - middle, Y - middle, squared=True)


class Law(ABC):
    """The spectral law of a kernel, at unit scale."""

    #: the distance whose median sets γ, by its name in scipy, or Minkowski's p
    metric: str | float = "euclidean"
    #: whether ω is a uniform direction times an independent length
    radial = True
    #: uniforms a frequency needs beyond one per column
    extra = 0
    #: E ω_m² of every coordinate, at unit scale
    second_moment = 1.0

    def stretch(self, gamma: NDArray) -> NDArray:
        """What unit frequencies (or the columns of x) are multiplied by."""
        return np.sqrt(2 * gamma)

    def uniforms(self, n_features: int) -> int:
        """How many uniforms a frequency takes."""
        return n_features + self.extra

    @abstractmethod
    def frequencies(self, uniforms: NDArray) -> NDArray:
        """Frequencies from uniforms, as many for each as `uniforms` says."""

    def mixing(self, uniforms: NDArray) -> NDArray:
        """Radial laws: what a normal vector is multiplied by, from one uniform."""
        return np.ones_like(uniforms)

    @abstractmethod
    def kernel(self, X: NDArray, Y: NDArray) -> NDArray:
        """The kernel of unit scale."""


class Gaussian(Law):
    def frequencies(self, uniforms):
        return special.ndtri(uniforms)

    def kernel(self, X, Y):
        found = squares_apart(X, Y)
        found /= -2
        return np.exp(found, out=found)


class Matern(Law):
    extra = 1

    def __init__(self, degrees: int):
        self.degrees = degrees
        self.second_moment = degrees / (degrees - 2) if degrees > 2 else np.inf

    def frequencies(self, uniforms):
        return special.ndtri(uniforms[:, :-1]) * self.mixing(uniforms[:, -1])[:, None]

    def mixing(self, uniforms):
        # √(2ν/χ²) with 2ν degrees of freedom; χ² = 2·Gamma(ν).
        half = self.degrees / 2
        return np.sqrt(half / special.gammaincinv(half, uniforms))

    def kernel(self, X, Y):
        r = apart(X, Y)
        r *= np.sqrt(self.degrees)
        found = np.negative(r)
        np.exp(found, out=found)
        if self.degrees == 3:
            r += 1
            found *= r
        elif self.degrees == 5:
            found *= 1 + r + r**2 / 3
        return found


class Laplacian(Law):
    metric = "cityblock"
    radial = False
    second_moment = np.inf

    def stretch(self, gamma):
        return gamma

    def frequencies(self, uniforms):
        return np.tan(np.pi * (uniforms - 0.5))

    def kernel(self, X, Y):
        found = cdist(X, Y, "cityblock")
        np.negative(found, out=found)
        return np.exp(found, out=found)


class Cauchy(Laplacian):
    metric = "coordinate"
    second_moment = 2.0

    def frequencies(self, uniforms):
        centred = uniforms - 0.5
        return -np.sign(centred) * np.log1p(-2 * np.abs(centred))

    def kernel(self, X, Y):
        product = np.ones((len(X), len(Y)))
        for x, y in zip(X.T, Y.T, strict=True):
            product /= 1 + (x[:, None] - y) ** 2
        return product


class Stable(Law):
    """exp(-‖Δ‖_p^q) for 0 < q ≤ p ≤ 2."""

    radial = False
    # Beyond this a cosine is a random number for any two rows, and float32 has no room.
    most = 1e30

    def __init__(self, p: float, q: float):
        self.p, self.q = p, q
        self.metric = p
        self.second_moment = 2.0 if q == 2 else np.inf
        #: normal and Cauchy variables take one uniform, others two
        self.each = 1 if p in (1, 2) else 2
        self.extra = 0 if q == p else 2

    def stretch(self, gamma):
        return gamma

    def uniforms(self, n_features):
        return self.each * n_features + self.extra

    def frequencies(self, uniforms):
        d = (uniforms.shape[1] - self.extra) // self.each
        first, second = uniforms[:, :d], uniforms[:, d : self.each * d]
        with np.errstate(over="ignore"):
            if self.p == 2:
                found = np.sqrt(2) * special.ndtri(first)
            else:
                found = symmetric_stable(self.p, first, second if self.each == 2 else None)
            if self.extra:
                mixing = positive_stable(self.q / self.p, uniforms[:, -2], uniforms[:, -1])
                found = found * mixing[:, None] ** (1 / self.p)
        return np.clip(found, -self.most, self.most)

    def kernel(self, X, Y):
        named = {1.0: "cityblock", 2.0: "euclidean"}.get(self.p)
        found = cdist(X, Y, named) if named else cdist(X, Y, "minkowski", p=self.p)
        if self.q != 1:
            found **= self.q
        np.negative(found, out=found)
        return np.exp(found, out=found)


def symmetric_stable(index: float, first: NDArray, second: NDArray | None) -> NDArray:
    """Variables with E exp(itS) = exp(-|t|^index) from uniforms (Chambers, Mallows, Stuck 1976)."""
    angle = np.pi * (first - 0.5)
    if second is None:  # Cauchy
        return np.tan(angle)
    wait = -np.log(second)
    rest = (1 - index) / index
    found = np.sin(index * angle) / np.cos(angle) ** (1 / index)
    return found * (np.cos((1 - index) * angle) / wait) ** rest


def positive_stable(index: float, first: NDArray, second: NDArray) -> NDArray:
    """Variables with E exp(-sA) = exp(-s^index), index < 1, from uniforms (Kanter 1975)."""
    angle, wait = np.pi * first, -np.log(second)
    rest = (1 - index) / index
    found = np.sin(index * angle) / np.sin(angle) ** (1 / index)
    return found * (np.sin((1 - index) * angle) / wait) ** rest


LAWS: dict[str, Law] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "cauchy": Cauchy(),
    "matern12": Matern(1),
    "matern32": Matern(3),
    "matern52": Matern(5),
}
