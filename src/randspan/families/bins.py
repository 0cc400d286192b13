"""Random binning (Rahimi and Recht 2008): indicators of the cells of random grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from .bandwidth import median_gamma
from .base import Family
from .cells import CellFunctions, Table
from .checks import check_choice, check_positive
from .layout import Layout
from .pitches import GammaPitches, Pitches, SampledPitches, TabulatedPitches, law_of
from .randomness import raw_bits, uniforms
from .rows import Rows


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
        A law of pitches in place of the kernel's, γ then being unused: one number, or one a
        column, for a fixed pitch (the hat kernel Π max(0, 1 - |Δ_m|/pitch_m)); a law of
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
        return np.asarray(self.gamma, dtype=np.float64)

    def resolve(self, sample, n_components, seed):
        if isinstance(self.pitch, Pitches):
            return self
        if self.pitch is not None:
            if not isinstance(self.gamma, str) or self.kernel_name != "laplacian":
                raise ValueError("pitch takes the place of kernel and gamma: leave these out.")
            law, gamma = law_of(self.pitch, sample.shape[1])
            return self.with_values(pitch=law, gamma=gamma)
        if callable(self.kernel_name):
            law = TabulatedPitches.of_kernel(self.kernel_name)
        else:
            known = " or a callable, a one-dimensional kernel"
            check_choice("kernel", self.kernel_name, ("laplacian",), known)
            law = GammaPitches()
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("median",), " or positive number(s)")
            return self.with_values(pitch=law, gamma=median_gamma(sample, "cityblock"))
        check_positive("gamma", self.gamma, sample.shape[1])
        return self.with_values(pitch=law)

    def sample(self, n_features, n_components, seed):
        slopes = np.asarray(self.gamma) / self.pitch.draw(seed, n_components, n_features)
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
        if isinstance(self.pitch, SampledPitches):
            raise self.no_closed_form("the pitches come from a sampler of yours")
        x, y = (rows.dense.astype(np.float64) * self.gamma for rows in (X, Y))
        if isinstance(self.pitch, GammaPitches):
            return np.exp(-cdist(x, y, "cityblock"))
        product = np.ones((len(x), len(y)))
        for left, right in zip(x.T, y.T, strict=True):
            product *= self.pitch.kernel(np.abs(left[:, None] - right))
        return product


@dataclass(frozen=True, eq=False)
class BinFunctions(CellFunctions):
    """Indicators of the cells ⌊slopes·x̃ - shifts⌋ of drawn grids."""

    slopes: NDArray[np.float64]
    shifts: NDArray[np.float64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]

    def keys(self, rows: Rows, groups: slice) -> NDArray[np.uint64]:
        """Keys of the cells of rows in some grids, one line for every grid."""
        from . import hashing

        slopes, offsets = self.slopes[groups], -self.shifts[groups]
        # Centre and scale go into the grid: dense and sparse rows, and blocks of any precision,
        # are then compared with the same numbers.
        if rows.scale is not None:
            slopes = slopes * rows.scale
        if rows.centre is not None:
            offsets = offsets - slopes * rows.centre
        out = np.empty((len(slopes), len(rows)), dtype=np.uint64)
        grid = (slopes, offsets, self.first[groups], self.second[groups], out)
        values = rows.values
        if sparse.issparse(values):
            hashing.sparse_keys(values.indptr, values.indices, values.data, *grid)
        else:
            hashing.dense_keys(np.ascontiguousarray(values.T, dtype=np.float64), *grid)
        return out
