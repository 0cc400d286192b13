"""A block of rows as the functions see it: x̃ = R'((x - centre)·scale), dense or sparse.

Functions are drawn for standardised inputs. Dense rows are standardised block by block; sparse
rows never are: centre and scale move to the other side, into directions and thresholds. A family
asks a block for products, cosines, signs, norms and hashes, and never learns which of the two it
was, nor where it lives: an engine may bring rows of its own (`Rows` are the CPU's).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...sums import parts

# Entries of directions that are multiplied with at once, but not fewer directions than pay.
AT_ONCE, LEAST_DIRECTIONS = 2**22, 64
# What rows are made of.
STORED = ("values", "centre", "scale", "rotation", "dtype", "bend")


@dataclass(frozen=True, eq=False)
class Bend:
    """z/√(1 + (z/knee)²) of z = (x - centre)·scale: straight in the middle, flat far outside."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    knee: float = 3.0

    def __call__(self, values) -> tuple[Any, NDArray[np.float64] | None]:
        """Bent values, and the centre that is still to be taken off them.

        Zeros of sparse rows stay zero, and what they should be goes into that centre.
        """
        if not sparse.issparse(values):
            return self._bent((values - self.centre) * self.scale), None
        zero = self._bent(-self.centre * self.scale)
        columns = values.indices
        at = (values.data - self.centre[columns]) * self.scale[columns]
        data = self._bent(at) - zero[columns]
        return sparse.csr_array((data, columns, values.indptr), values.shape), -zero

    def _bent(self, z: NDArray) -> NDArray:
        # As a product of two numbers near 1, so that squares of huge numbers are never formed.
        return z / np.hypot(1.0, z / self.knee)


class Rows:
    """Rows x̃ = R'((x - centre)·scale) of a matrix x, evaluated in ``dtype``.

    ``centre`` and ``scale`` are float64 vectors, one entry a column, or None for 0 and 1. ``bend``
    is what x has gone through before that, if anything.
    ``rotation`` is R, a square float64 matrix, or None; it is for functions that see x̃ through
    products and distances alone.
    """

    def __init__(self, values, centre=None, scale=None, dtype=None, rotation=None, bend=None):
        self.values = values
        self.centre = centre
        self.scale = scale
        self.rotation = rotation
        self.bend = bend
        self.dtype = np.dtype(values.dtype if dtype is None else dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, index) -> Self:
        return self._with(self.values[index], self.centre, self.dtype)

    def like(self, values) -> Self:
        """Other rows, raw ones, standardised and turned as these are."""
        centre = self.centre
        if self.bend is not None:
            values, centre = self.bend(values)
        return self._with(values, centre, self.dtype)

    def cast(self, dtype) -> Self:
        """The same rows, evaluated in another precision."""
        return self._with(self.values, self.centre, dtype)

    def _with(self, values, centre, dtype) -> Self:
        return type(self)(values, centre, self.scale, dtype, self.rotation, self.bend)

    def __getstate__(self) -> dict:
        # Standardised copies can be made again.
        return {name: vars(self)[name] for name in STORED}

    @cached_property
    def dense(self) -> NDArray:
        """The rows x̃ themselves, as a dense array (not to be written to)."""
        if self.rotation is None:
            return self._straight
        return self._straight @ self.rotation.astype(self.dtype)

    @cached_property
    def _straight(self) -> NDArray:
        """x̃ before any rotation, dense."""
        values = self.values.toarray() if sparse.issparse(self.values) else self.values
        if self.centre is not None:
            # In float64 before the cast: an offset of 1e6 must not eat a float32's digits.
            values = values - self.centre
            if self.scale is not None:
                values *= self.scale  # in place: of wide rows another copy would be large
        elif self.scale is not None:
            values = values * self.scale
        return np.ascontiguousarray(values, dtype=self.dtype)

    @property
    def exact(self) -> NDArray[np.float64]:
        """The dense rows in float64, whatever precision was asked for."""
        return self.cast(np.float64).dense

    # -- what functions ask of rows ------------------------------------------------------------

    def products(self, directions: NDArray, unit: float = 1.0) -> NDArray:
        """x̃ · directionsᵀ/unit, one column for every row of ``directions``."""
        if self.rotation is not None:
            directions = directions @ self.rotation.T
        # Many long directions are scaled and cast a few at a time.
        step = max(LEAST_DIRECTIONS, AT_ONCE // max(self.shape[1], 1))
        if len(directions) <= step:
            return self._products(directions, unit).astype(self.dtype, copy=False)
        out = np.empty((len(self), len(directions)), dtype=self.dtype)
        for start in range(0, len(directions), step):
            some = slice(start, start + step)
            out[:, some] = self._products(directions[some], unit)
        return out

    def _products(self, directions: NDArray, unit: float) -> NDArray:
        if unit != 1.0:
            directions = directions / unit
        if not sparse.issparse(self.values):
            return self._straight @ directions.T.astype(self.dtype)
        if self.scale is not None:
            directions = directions * self.scale
        # In float64 until the centre is off, for the same reason as above.
        products = np.asarray(self.values @ np.ascontiguousarray(directions.T))
        if self.centre is not None:
            products -= directions @ self.centre
        return products

    def signs(self, columns: NDArray, thresholds: NDArray) -> NDArray:
        """sgn(x̃[columns] - thresholds) with sgn(0) = +1.

        The thresholds are carried back to the raw scale, so that dense and sparse rows make the
        same comparison of the same numbers.
        """
        if self.scale is not None:
            scale = self.scale[columns]
            # A scale of 0 makes x̃ = 0 whatever x: the comparison no longer depends on x.
            blind = np.where(thresholds <= 0, -np.inf, np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                thresholds = np.where(scale > 0, thresholds / scale, blind)
        if self.centre is not None:
            thresholds = thresholds + self.centre[columns]
        if sparse.issparse(self.values):
            taken = self.values[:, columns].toarray()
            return np.where(taken >= thresholds, 1, -1).astype(self.dtype)
        from . import loops  # here, because importing numba takes longer than all the rest

        out = np.empty((len(self), len(columns)), dtype=self.dtype)
        loops.signs(np.array(self.values, order="C"), columns, thresholds, out)
        return out

    def cosines(self, turns: NDArray, phases: NDArray) -> NDArray:
        """√2 cos 2π(turns + phases), for products with frequencies in turns; these are reused."""
        from . import loops

        return loops.cosines(turns, phases)

    def paired_cosines(self, turns: NDArray) -> NDArray:
        """√2 cos 2π turns and √2 sin 2π turns, side by side."""
        from . import loops

        return loops.paired_cosines(turns)

    def hadamard(
        self,
        stretch: NDArray,
        signs: NDArray,
        permutations: NDArray,
        gains: NDArray,
        scales: NDArray,
        count: int,
    ) -> NDArray:
        """The first ``count`` products S·H·G·Π·H·B·(stretch·x̃), a row of the arrays for a block."""
        from . import loops

        out = np.empty((len(self), count), dtype=self.dtype)
        signs, gains, scales = (part.astype(self.dtype) for part in (signs, gains, scales))
        # Sparse rows become dense a few at a time.
        step = max(loops.LANES, 2**22 // max(self.shape[1], 1))
        for start in range(0, len(self), step):
            dense = (self[start : start + step].dense * stretch).astype(self.dtype)
            some = out[start : start + step]
            loops.hadamard_products(dense, signs, permutations, gains, scales, some)
        return out

    def hashes(
        self, slopes: NDArray, shifts: NDArray, first: NDArray, second: NDArray
    ) -> NDArray[np.uint64]:
        """Keys of the cells ⌊slopes·x̃ - shifts⌋, a line for every grid (see `hashing`)."""
        from . import hashing

        offsets = -shifts
        # Centre and scale go into the grid: dense and sparse rows, and blocks of any precision,
        # are then compared with the same numbers.
        if self.scale is not None:
            slopes = slopes * self.scale
        if self.centre is not None:
            offsets = offsets - slopes * self.centre
        out = np.empty((len(slopes), len(self)), dtype=np.uint64)
        grid, values = (slopes, offsets, first, second, out), self.values
        if sparse.issparse(values):
            hashing.sparse_keys(values.indptr, values.indices, values.data, *grid)
        else:
            hashing.dense_keys(np.ascontiguousarray(values.T, dtype=np.float64), *grid)
        return out

    def gaussians(self, centers: NDArray, gamma: float | NDArray[np.float64]) -> NDArray:
        """exp(-Σ_m γ_m(x̃_m - z_m)²) for some centres z."""
        gamma = np.asarray(gamma, dtype=np.float64)
        # -γ‖x-z‖² = 2x'γz - z'γz - x'γx: one product, then two vectors.
        norms = self.norms(gamma)
        own = (gamma * centers**2).sum(axis=1)
        largest = max(norms.max(initial=0.0), own.max(initial=0.0))
        if self.dtype != np.float64 and largest > np.finfo(self.dtype).max / 4:
            return self.cast(np.dtype(np.float64)).gaussians(centers, gamma).astype(self.dtype)
        values = self.products(2 * gamma * centers)
        values -= own.astype(self.dtype)
        values -= norms[:, None].astype(self.dtype)
        np.minimum(values, 0, out=values)
        return np.exp(values, out=values)

    def norms(self, weights: NDArray | float | None = None) -> NDArray[np.float64]:
        """Σ_m weights_m·x̃_m² of every row, in float64; ‖x̃‖² if None."""
        scale = self.scale
        if weights is not None and np.ndim(weights) == 0:
            return float(weights) * self.norms()
        if self.rotation is not None:
            turned = self.dense
            if weights is not None:
                return (turned.astype(np.float64) ** 2) @ weights
            return np.einsum("ij,ij->i", turned, turned, dtype=np.float64)
        if weights is not None:
            scale = np.sqrt(weights) if scale is None else scale * np.sqrt(weights)
            return type(self)(self.values, self.centre, scale, np.float64).norms()
        if not sparse.issparse(self.values):
            return np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        squares = np.ones(self.shape[1]) if scale is None else scale**2
        values, centre = self.values, self.centre

        def summed(data: NDArray, factors: NDArray) -> NDArray[np.float64]:
            return sparse.csr_array((data, values.indices, values.indptr), values.shape) @ factors

        away = values.data.astype(np.float64)
        if centre is not None:
            away -= centre[values.indices]
        norms = summed(away**2, squares)
        if centre is None:
            return norms
        # Columns that a row does not mention are zeros. What they add is the sum over all columns
        # less that over the mentioned ones, exactly: an offset may have a billion times the
        # squares of what is left.
        ones = np.ones_like(away)
        rest = sum(part.sum() - summed(ones, part) for part in parts(squares * centre**2))
        return norms + np.maximum(rest, 0)


def as_rows(X) -> Rows:
    """Rows of an array, a sparse matrix or a data frame, taken as they are."""
    if isinstance(X, Rows):
        return X
    try:
        values = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    except (TypeError, ValueError) as error:  # columns, or lines, that do not go together
        raise ValueError(f"X must be rows of numbers, as many in each: {error}") from error
    if values.ndim != 2:
        raise ValueError(
            f"Expected a two-dimensional X (rows × columns), got {values.ndim} dimension(s). "
            "Use X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    if values.dtype not in (np.float32, np.float64):
        try:
            casting: Any = "unsafe" if values.dtype.kind in "OUS" else "same_kind"
            values = values.astype(np.float64, casting=casting)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold numbers, got dtype {values.dtype}.") from error
    if not np.isfinite(values.data if sparse.issparse(values) else values).all():
        raise ValueError("X holds NaN or infinity: remove or impute these entries first.")
    return Rows(canonical(values))


def canonical(values):
    """Sparse rows with every entry mentioned once; dense ones as they are."""
    if sparse.issparse(values) and not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    return values
