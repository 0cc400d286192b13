"""Random binning (Rahimi and Recht 2008): indicators of the cells of random grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..checks import check_choice
from .base import Family
from .shared.bandwidth import read_gamma
from .shared.cells import CellFunctions, Table
from .shared.layout import Layout
from .shared.pitches import GammaPitches, Pitches, SampledPitches, TabulatedPitches, law_of
from .shared.randomness import raw_bits, uniforms
from .shared.rows import Rows


class Bins(Family):
    """φ(x) = the indicator of x's cell in a grid of random pitch δ_m and shift u_m ~ U[0, δ_m].

    The cell is ⌊(x_m - u_m)/δ_m⌋, m = 1..d. Two rows share it with probability
    k(x, y) = Π_m E max(0, 1 - |x_m - y_m|/δ_m); δ ~ Gamma(2, 1/γ) makes that exp(-γ‖x-y‖₁). Every
    grid counts as one function with values in the indicators of its cells: a column for each cell
    that holds a row of the data it was drawn with, 0 for rows in any other cell.

    Parameters
    ----------
    kernel : "laplacian" or callable, default="laplacian"
        exp(-Σγ_m|Δ_m|); or any one-dimensional kernel k(r), convex and decreasing from 1 to 0,
        called with an array: the kernel is then Π k(γ_m|Δ_m|).
    gamma : "median", float or array of shape (n_features,), default="median"
        "median" is 1/med of L1 distances of two rows.
    pitch : None, float, array of shape (n_features,), distribution or callable, default=None
        A distribution of pitches in place of the kernel's, γ then being unused: one number, or one
        a column, for a fixed pitch (the hat kernel Π max(0, 1 - |Δ_m|/pitch_m)); one of
        ``scipy.stats`` with its parameters, or the density p(δ) as a function of an array; or a
        sampler, called as ``pitch(d, rng)`` for every grid and returning d pitches.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> functions = rs.Bins().draw(X, 20, random_state=0)
    >>> Z = functions(X)
    >>> Z.shape[0], Z.nnz, bool(Z.shape[1] == functions.n_columns)
    (100, 2000, True)
    """

    sparse = True
    bounded = property(lambda self: 1.0)
    differentiable = property(lambda self: False)

    def __init__(self, kernel="laplacian", gamma="median", pitch=None):
        self.kernel = kernel
        self.gamma = gamma
        self.pitch = pitch

    @property
    def nearest_kernel(self) -> str:
        return "laplacian"

    def layout(self, n_features, n_components, n_targets):
        return Layout(n_components, 0, groups=n_components)

    def with_bandwidth_of(self, resolved):
        return self if self.pitch is not None else super().with_bandwidth_of(resolved)

    @property
    def stretch(self):
        return np.asarray(self.resolved.gamma, dtype=np.float64)

    def read(self, sample, n_components, seed):
        if self.pitch is not None:
            if not isinstance(self.gamma, str) or self.kernel_name != "laplacian":
                raise ValueError("pitch takes the place of kernel and gamma: leave these out.")
            return Grids(*law_of(self.pitch, sample.shape[1]))
        law: Pitches
        if callable(self.kernel_name):
            law = TabulatedPitches.of_kernel(self.kernel_name)
        else:
            known = " or a callable, a one-dimensional kernel"
            check_choice("kernel", self.kernel_name, ("laplacian",), known)
            law = GammaPitches()
        return Grids(law, read_gamma(self.gamma, sample, "cityblock"))

    def sample(self, n_features, n_components, seed):
        pitches = self.resolved.pitches.draw(seed, n_components, n_features)
        slopes = np.asarray(self.resolved.gamma) / pitches
        size = n_components * n_features
        return BinFunctions(
            self,
            n_features,
            n_components,
            [Table() for _ in range(n_components)],
            np.zeros(n_components, dtype=np.int64),
            slopes,
            uniforms(seed, "shifts", n_components, n_features),
            raw_bits(seed, "first hash", size).reshape(n_components, n_features),
            raw_bits(seed, "second hash", size).reshape(n_components, n_features),
        )

    def closed_form(self, X, Y):
        pitches, gamma = self.resolved.pitches, self.resolved.gamma
        if isinstance(pitches, SampledPitches):
            raise self.no_closed_form("the pitches come from a sampler of yours")
        x, y = (rows.dense.astype(np.float64) * gamma for rows in (X, Y))
        if isinstance(pitches, GammaPitches):
            return np.exp(-cdist(x, y, "cityblock"))
        product = np.ones((len(x), len(y)))
        for left, right in zip(x.T, y.T, strict=True):
            product *= pitches.kernel(np.abs(left[:, None] - right))
        return product


@dataclass(frozen=True, eq=False)
class Grids:
    """The distribution of pitches at unit scale, and γ, what x is multiplied by before it holds."""

    pitches: Pitches
    gamma: float | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinFunctions(CellFunctions):
    """Indicators of the cells ⌊slopes·x̃ - shifts⌋ of drawn grids."""

    slopes: NDArray[np.float64]
    shifts: NDArray[np.float64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]

    def keys(self, rows: Rows, groups: slice) -> NDArray[np.uint64]:
        """Keys of the cells of rows in some grids, one line for every grid."""
        grids = (self.slopes, self.shifts, self.first, self.second)
        return rows.hashes(*(part[groups] for part in grids))
