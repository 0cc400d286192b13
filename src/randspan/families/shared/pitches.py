"""Laws of the pitch of a random grid, at unit scale, and the kernels they induce.

Two numbers at distance r share a cell of a grid of pitch δ and uniform shift with probability
max(0, 1 - r/δ). So a law of pitches is a kernel k(r) = E max(0, 1 - r/δ), and every k that is
convex and decreasing from k(0) = 1 to 0 is one: p(δ) = δ k''(δ).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...checks import check_positive
from .randomness import sampled, uniforms

Array = NDArray[np.float64]

# Pitches that laws given as functions are tabulated at: neighbours differ by 0.2 %.
TABLE = np.geomspace(1e-8, 1e8, 2**14)


class Pitches(ABC):
    """A distribution of pitches."""

    @abstractmethod
    def draw(self, seed: int, n_grids: int, n_features: int) -> Array:
        """One pitch for every grid and column; grid i depends on the seed and on i only."""

    @abstractmethod
    def kernel(self, r: Array) -> Array:
        """E max(0, 1 - r/δ)."""


@dataclass(frozen=True)
class GammaPitches(Pitches):
    """p(δ) = δ exp(-δ): the Laplacian kernel exp(-r)."""

    def draw(self, seed, n_grids, n_features):
        return special.gammaincinv(2, uniforms(seed, "pitches", n_grids, n_features))

    def kernel(self, r):
        return np.exp(-r)


@dataclass(frozen=True)
class UnitPitches(Pitches):
    """δ = 1: the hat kernel max(0, 1 - r)."""

    def draw(self, seed, n_grids, n_features):
        return np.ones((n_grids, n_features))

    def kernel(self, r):
        return np.maximum(0, 1 - r)


@dataclass(frozen=True, eq=False)
class TabulatedPitches(Pitches):
    """Finitely many pitches with their probabilities: any law, to as many digits as the table."""

    pitches: Array
    reached: Array

    @classmethod
    def of_weights(cls, pitches: Array, weights: Array) -> TabulatedPitches:
        kept = weights > 0
        reached = np.cumsum(weights[kept])
        return cls(pitches[kept], reached / reached[-1])

    @classmethod
    def of_kernel(cls, kernel: Callable) -> TabulatedPitches:
        """The mixture of hats whose kernel joins the points (δ, k(δ)) of the table by lines."""
        pitches = np.append(0.0, TABLE)
        values = _values(kernel, pitches, "kernel")
        if abs(values[0] - 1) > 1e-6 or abs(values[-1]) > 1e-4:
            raise ValueError(
                "A kernel for bins starts at k(0) = 1 and falls to 0; this one has "
                f"k(0) = {values[0]:g} and k({pitches[-1]:g}) = {values[-1]:g}."
            )
        slopes = np.append(np.diff(values) / np.diff(pitches), 0.0)
        weights = TABLE * np.diff(slopes)
        if weights.min() < -1e-6:
            raise ValueError(
                "A kernel for bins is convex and decreasing in the distance; this one is not, near "
                f"{TABLE[weights.argmin()]:.3g}: no distribution of pitches has it."
            )
        return cls.of_weights(TABLE, weights)

    @classmethod
    def of_density(cls, density: Callable) -> TabulatedPitches:
        values = _values(density, TABLE, "pitch")
        weights = values * np.gradient(TABLE)
        total = float(weights.sum())
        if values.min() < 0 or not 0.99 < total < 1.01:
            raise ValueError(
                "pitch as a function of one number is the density of the pitch: not negative, and "
                f"of integral 1. This one has minimum {values.min():g} and integral {total:.4g}."
            )
        return cls.of_weights(TABLE, weights)

    @classmethod
    def of_distribution(cls, distribution) -> TabulatedPitches:
        middles = (np.arange(len(TABLE)) + 0.5) / len(TABLE)
        pitches = np.asarray(distribution.ppf(middles), dtype=np.float64)
        if not (np.isfinite(pitches).all() and (pitches > 0).all()):
            raise ValueError(
                f"pitch must be a distribution of positive numbers, got {distribution!r}."
            )
        return cls.of_weights(pitches, np.ones(len(TABLE)))

    def draw(self, seed, n_grids, n_features):
        u = uniforms(seed, "pitches", n_grids, n_features)
        return self.pitches[np.minimum(np.searchsorted(self.reached, u), len(self.pitches) - 1)]

    def kernel(self, r):
        # Over pitches beyond r: Σp - r Σp/δ.
        weights = np.diff(self.reached, prepend=0.0)
        beyond = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        inverse = np.append(np.cumsum((weights / self.pitches)[::-1])[::-1], 0.0)
        first = np.searchsorted(self.pitches, r)
        return beyond[first] - r * inverse[first]


@dataclass(frozen=True, eq=False)
class SampledPitches(Pitches):
    """Pitches from a sampler that is called as ``sampler(d, rng)``."""

    sampler: Callable

    def draw(self, seed, n_grids, n_features):
        pitches = sampled(self.sampler, seed, "pitches", n_grids, n_features)
        if not (pitches > 0).all():
            raise ValueError("The sampler of pitches returned one that is not positive.")
        return pitches

    def kernel(self, r):
        raise NotImplementedError("the pitches come from a sampler of yours")


def law_of(pitch, n_features: int) -> tuple[Pitches, Array | float]:
    """The law that ``pitch`` stands for, and what x is multiplied by before it holds."""
    if hasattr(pitch, "ppf"):
        return TabulatedPitches.of_distribution(pitch), 1.0
    if callable(pitch):
        if _takes_one(pitch):
            return TabulatedPitches.of_density(pitch), 1.0
        return SampledPitches(pitch), 1.0
    return UnitPitches(), 1 / check_positive("pitch", pitch, n_features)


def _takes_one(function: Callable) -> bool:
    """Whether a function needs one argument and no more."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins have none
        return False
    return sum(one.default is one.empty and one.kind != one.VAR_KEYWORD for one in parameters) == 1


def _values(function: Callable, at: Array, name: str) -> Array:
    values = np.asarray(function(at), dtype=np.float64)
    if values.shape != at.shape or not np.isfinite(values).all():
        raise ValueError(
            f"{name} as a function takes an array of distances and returns as many finite numbers; "
            f"for {len(at)} distances between {at[0]:g} and {at[-1]:g} it returned an array of "
            f"shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
        )
    return values
