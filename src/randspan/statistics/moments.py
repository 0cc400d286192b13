"""Weights, means and scatter of features and targets: the statistics of the squared loss.

They are kept centred (mean and scatter about it), which is the form in which sums do not cancel;
adding and removing use the exact update of means and scatter (Chan, Golub and LeVeque 1983). Blocks
may be computed in float32, sums are float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..keys import Keys, count_of_sets
from ..sources import Block
from . import remaining
from .base import Array, Engine, Statistics

NO_KEYS: Keys = np.empty(0, dtype=np.uint64)

UNIT = float(np.finfo(np.float64).eps) / 2
# Sums of squares below are those of functions that underflow: products with them are no numbers.
UNDERFLOWS = 1e-140

# Units of rounding that features of one row may differ by from block to block (a few) and that a
# mean of equal ones may be off by (some tens).
ROUNDINGS = 64

# Keys of so many rows are kept: one megabyte of them.
FEW_KEYS = 2**17

# Entries of the scatter that are updated at once: they stay in the cache.
AT_ONCE = 2**15


@dataclass(frozen=True, eq=False)
class Moments(Statistics):
    """n, Σω, means, Σω(z-z̄)(z-z̄)', Σω(z-z̄)(y-ȳ)', Σω(y-ȳ)² of features z and targets y.

    ``noise`` is about how large the rounding errors of float32 features are in the scatter, as a
    matrix norm; ``rounding`` is that of one block as a share of its trace. ``peak`` is the largest
    trace the scatter ever had: what was forgotten leaves its rounding errors behind. ``keys`` are
    those of the rows as long as these are few (`most_keys`): see `counted`. ``largest`` are the
    largest Σωz² and Σωy² that every column had before rows were forgotten.
    """

    name: ClassVar[str] = "moments"

    rows: int
    weight: float
    mean: Array
    target_mean: Array
    scatter: NDArray
    cross: NDArray
    target_scatter: Array
    noise: float = 0.0
    rounding: float = 0.0
    peak: float = 0.0
    keys: Keys | None = None
    largest: Array | None = None

    @classmethod
    def of(
        cls,
        Z: NDArray,
        Y: Array,
        weights: Array | None,
        rounding: float | None = None,
        keys: Keys | None = None,
    ) -> Moments:
        """The moments of one block; Z is overwritten. ``rounding`` is measured if None."""
        weight = float(len(Z)) if weights is None else float(weights.sum())
        if weight <= 0:
            return cls.zero(Z.shape[1], Y.shape[1])
        each = np.ones(len(Z)) if weights is None else weights
        mean = each.astype(Z.dtype) @ Z / Z.dtype.type(weight)
        target_mean = each @ Y / weight
        Z -= mean
        Y = Y - target_mean
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            Z *= root.astype(Z.dtype)
            Y = Y * root
        # Targets may be of any size; float32 is not.
        size = np.abs(Y).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        cross = (Z.T @ (Y / size).astype(Z.dtype)).astype(np.float64) * size
        scatter = Z.T @ Z  # numpy sees the symmetry and calls SYRK
        trace = float(np.trace(scatter, dtype=np.float64))
        if rounding is None:
            rounding = _rounding(Z, scatter)
        return cls(
            rows=len(Z) if weights is None else int(np.count_nonzero(weights)),
            weight=weight,
            mean=mean.astype(np.float64),
            target_mean=target_mean,
            scatter=scatter,
            cross=cross,
            target_scatter=(Y**2).sum(axis=0),
            noise=rounding * trace,
            rounding=rounding,
            peak=trace,
            keys=of_present(keys, weights),
        )

    @classmethod
    def zero(cls, n_functions: int, n_targets: int) -> Moments:
        """The moments of no rows."""
        return cls(
            rows=0,
            weight=0.0,
            mean=np.zeros(n_functions),
            target_mean=np.zeros(n_targets),
            scatter=np.zeros((n_functions, n_functions)),
            cross=np.zeros((n_functions, n_targets)),
            target_scatter=np.zeros(n_targets),
            keys=NO_KEYS,
        )

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> Moments:
        return cls.zero(functions.n_columns, n_targets)

    @classmethod
    def read(cls, features: Features, engine: Engine) -> Moments:
        source, k = features.source, features.n_columns
        few = source.present <= most_keys(k)

        def add(total: Moments, Z: NDArray, block: Block) -> Moments:
            # The first block of each thread tells how much rounding the products cost.
            known = total.rounding or None
            keys = block.key if few else None
            return total.absorb(cls.of(Z, block.Y, block.weight, known, keys))

        return engine.reduce(features, lambda: cls.zero(k, source.n_targets), add, 16 * k**2)

    def plus(self, other: Statistics) -> Moments:
        other = other.summed()
        if not isinstance(other, Moments):
            raise self.cannot_add(other)
        return self._combined(other, +1)

    def minus(self, other: Statistics) -> Moments:
        """These less ``other``, refused where it cannot have been part of them."""
        old = other.summed()
        if not isinstance(old, Moments):
            raise self.cannot_add(old)
        if old.rows > self.rows or old.weight > self.weight * (1 + 1e-9):
            raise ValueError(
                f"Cannot forget {old.rows} rows of weight {old.weight:g}: the model holds "
                f"{self.rows} rows of weight {self.weight:g}."
            )
        if not _all_known(self.keys, old.keys):
            raise ValueError(
                "These rows were not in the model. Hand in the rows and targets it was fitted on."
            )
        left = self._combined(old, -1)
        if not remaining.possible(self, old, left):
            raise ValueError(
                "These rows cannot have been in the model: without them a variance would be "
                "negative. Hand in the rows, targets and weights it was fitted on."
            )
        # Of targets that are all alike by now rounding errors are left, of any sign.
        return replace(left, target_scatter=np.maximum(left.target_scatter, 0.0))

    def absorb(self, other: Moments) -> Moments:
        return self._combined(other, +1, own=True)

    def _combined(self, other: Moments, sign: int, own: bool = False) -> Moments:
        """Add (+1) or remove (-1) ``other``; in arrays that are ours alone where ``own``."""
        if other.weight == 0:
            return self
        if self.weight == 0:
            scatter = other.scatter.astype(np.float64, copy=False)
            keys = joined(self.keys, other.keys, +1, most_keys(self.n_functions))
            return replace(other, scatter=scatter, keys=keys)
        weight = self.weight + sign * other.weight
        if weight <= self.weight * 1e-12 and sign < 0:
            return Moments.zero(len(self.mean), len(self.target_mean))
        # Both signs in one formula: with weights a and ±b the scatter changes by ±S_b and by
        # ±ab/(a±b) times the outer product of the difference of the means.
        step = other.mean - self.mean
        target_step = other.target_mean - self.target_mean
        share = sign * other.weight / weight
        spread = self.weight * share
        scatter = self.scatter if own else np.empty_like(self.scatter)
        combine = np.add if sign > 0 else np.subtract
        lines = max(1, AT_ONCE // len(step))
        for start in range(0, len(step), lines):
            some = slice(start, start + lines)
            combine(self.scatter[some], other.scatter[some], out=scatter[some])
            scatter[some] += (spread * step[some])[:, None] * step
        left = Moments(
            rows=self.rows + sign * other.rows,
            weight=weight,
            mean=self.mean + share * step,
            target_mean=self.target_mean + share * target_step,
            scatter=scatter,
            cross=self.cross + (sign * other.cross + spread * np.outer(step, target_step)),
            target_scatter=self.target_scatter
            + (sign * other.target_scatter + spread * target_step**2),
            # Errors of different blocks are independent where they matter. (Those of equal
            # products, as stumps have them, are not, but point where the scatter itself is large.)
            noise=float(np.hypot(self.noise, other.noise)),
            rounding=max(self.rounding, other.rounding),
            keys=joined(self.keys, other.keys, sign, most_keys(self.n_functions)),
            largest=self.largest_squares if sign < 0 else self._largest_of(other),
        )
        return replace(left, peak=max(self.peak, other.peak, left.trace))

    @property
    def target_variance(self) -> float | None:
        return float(self.target_scatter.mean() / self.weight) if self.weight > 0 else None

    @property
    def size(self) -> int:
        return self.n_functions

    @property
    def n_functions(self) -> int:
        return len(self.mean)

    @property
    def trace(self) -> float:
        return float(np.trace(self.scatter))

    @property
    def counted(self) -> float:
        """What degrees of freedom are compared with."""
        return counted(self.rows, self.n_functions, self.weight, self.keys)

    @property
    def largest_squares(self) -> Array:
        """The largest Σωz² and Σωy² that every column ever had."""
        means = np.append(self.mean, self.target_mean)
        squares = np.append(np.diagonal(self.scatter), self.target_scatter)
        squares = squares + self.weight * means**2
        return squares if self.largest is None else np.maximum(squares, self.largest)

    def _largest_of(self, other: Moments) -> Array | None:
        known = [one.largest for one in (self, other) if one.largest is not None]
        return np.max(known, axis=0) if known else None

    @property
    def error(self) -> float:
        """About how large all rounding errors in the scatter are: the blocks', and the sums'."""
        return self.noise + UNIT * self.peak

    def centred(self, intercept: bool, dtype: np.dtype) -> Moments:
        """These sums, or those about zero without an intercept; zero where nothing varies.

        ``dtype`` is the precision of the features.
        """
        held = self if intercept else self.about_origin()
        nothing = intercept and held.trace <= left_of_mean(held.weight, held.mean, dtype)
        if held.trace > UNDERFLOWS and (not nothing or held.drowned):
            return held
        scatter, cross = np.zeros_like(held.scatter), np.zeros_like(held.cross)
        return replace(held, scatter=scatter, cross=cross, noise=0.0, peak=0.0)

    @property
    def drowned(self) -> bool:
        return self.error > 1e-5 * self.trace

    def about_origin(self) -> Moments:
        """The same sums taken about zero instead of the means, for models without intercept."""
        with np.errstate(over="ignore", invalid="ignore"):
            held = replace(
                self,
                mean=np.zeros_like(self.mean),
                target_mean=np.zeros_like(self.target_mean),
                scatter=self.scatter + self.weight * np.outer(self.mean, self.mean),
                cross=self.cross + self.weight * np.outer(self.mean, self.target_mean),
                target_scatter=self.target_scatter + self.weight * self.target_mean**2,
                peak=self.peak + self.weight * float(self.mean @ self.mean),
            )
        held.check_finite()
        return held


def left_of_mean(weight: float, mean: Array, dtype: np.dtype) -> float:
    """(cu)²Σω‖z̄‖²: a scatter that rounding errors of the features can make up alone.

    Where functions hardly vary, a share of the scatter is a share of such errors, and no floor.
    """
    rounded = ROUNDINGS * float(np.finfo(dtype).eps) / 2 * mean
    with np.errstate(over="ignore"):  # as large as can be, and larger than any scatter
        return weight * float(rounded @ rounded)


def _all_known(keys: Keys | None, gone: Keys | None) -> bool:
    """Whether rows that go are among those that are here, as far as keys are kept."""
    if keys is None or gone is None or not len(gone):
        return True
    found, counts = np.unique(keys, return_counts=True)
    names, wanted = np.unique(gone, return_counts=True)
    place = np.minimum(np.searchsorted(found, names), max(len(found) - 1, 0))
    return bool(len(found) and ((found[place] == names) & (counts[place] >= wanted)).all())


def most_keys(n_functions: int) -> int:
    """How many rows' keys are kept: rows may go, until they are fewer than functions."""
    return max(n_functions, FEW_KEYS)


def _rounding(Z: NDArray, scatter: NDArray) -> float:
    """‖S - Z'Z‖/trace S, by a few power iterations on the error matrix in float64.

    Measured, because no formula is near for all features: errors are random for smooth functions,
    and fifty times larger for stumps, whose equal products are all rounded the same way.
    """
    trace = float(np.trace(scatter, dtype=np.float64))
    if Z.dtype == np.float64 or trace <= 0:
        return 0.0
    Z = Z.astype(np.float64)
    vector = np.random.default_rng(0).normal(size=len(scatter))
    norm = 0.0
    for _ in range(4):
        vector /= np.linalg.norm(vector)
        vector = scatter @ vector - Z.T @ (Z @ vector)
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            break
    return norm / trace


def counted(rows: int, n_functions: int, weight: float, keys: Keys | None) -> float:
    """What degrees of freedom are compared with: Σω, and no more than there are distinct inputs.

    Rows of equal inputs are left out together, so that n rows twice tell of n inputs, and so do n
    rows of weight 2. With fewer inputs than functions a model can pass through every one, and has
    as many freedoms as there are inputs, however little they weigh.
    """
    if keys is None:
        return weight if rows > n_functions else float(rows)
    sets = float(count_of_sets(keys))
    return sets if sets <= n_functions else min(weight, sets)


def of_present(keys: Keys | None, weights: Array | None) -> Keys | None:
    """Keys of the rows that have a weight."""
    return keys if keys is None or weights is None else keys[weights > 0]


def joined(keys: Keys | None, others: Keys | None, sign: int, most: int) -> Keys | None:
    """The keys of both, or of the first without the second; None where too many."""
    if keys is None or others is None:
        return None
    if sign > 0:
        return np.concatenate([keys, others]) if len(keys) + len(others) <= most else None
    found, counts = np.unique(keys, return_counts=True)
    gone, gone_counts = np.unique(others, return_counts=True)
    known = np.isin(gone, found)
    counts[np.searchsorted(found, gone[known])] -= gone_counts[known]
    return np.repeat(found, np.maximum(counts, 0))
