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
=============  ==================================  =============================  ============

The Matérn kernels have length scale ℓ = 1/√(2γ), so that γ is the Gaussian's as ν → ∞.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances


class Law(ABC):
    """The spectral law of a kernel, at unit scale."""

    #: the distance whose median sets γ
    metric = "euclidean"
    #: whether ω is a uniform direction times an independent length
    radial = True
    #: uniforms a frequency needs beyond one per column
    extra = 0
    #: E ω_m² of every coordinate, at unit scale
    second_moment = 1.0

    def stretch(self, gamma: NDArray) -> NDArray:
        """What unit frequencies (or the columns of x) are multiplied by."""
        return np.sqrt(2 * gamma)

    @abstractmethod
    def frequencies(self, uniforms: NDArray) -> NDArray:
        """Frequencies from uniforms, one a column and `extra` more."""

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
        found = euclidean_distances(X, Y, squared=True)
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
        r = cdist(X, Y)
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


LAWS: dict[str, Law] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "cauchy": Cauchy(),
    "matern12": Matern(1),
    "matern32": Matern(3),
    "matern52": Matern(5),
}
