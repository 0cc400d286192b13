"""What adds up over row blocks: weights, means and scatter of features and targets.

`Moments` are the statistics of the squared loss. They are kept centred (mean and scatter about
it), which is the form in which sums do not cancel; ``+`` and ``-`` use the exact update of means
and scatter (Chan, Golub and LeVeque 1983). Blocks may be computed in float32, sums are float64.

`Factor` is their square root, a matrix R with R'R = A'A for the rows A = √ω·(1, z, y): it adds up
too (stack and factor again) but has no minus. It serves where squaring the condition number would
lose the answer, and where there are fewer rows than functions and R is just the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Keys = NDArray[np.uint64]
NO_KEYS: Keys = np.empty(0, dtype=np.uint64)

# A row removed must leave a scatter that is not negative; rounding is forgiven up to here.
FORGIVEN = 1e-6

UNIT = float(np.finfo(np.float64).eps) / 2


@dataclass
class Moments:
    """n, Σω, means, Σω(z-z̄)(z-z̄)', Σω(z-z̄)(y-ȳ)', Σω(y-ȳ)² of features z and targets y.

    ``noise`` is about how large the rounding errors of float32 features are in the scatter, as a
    matrix norm; ``rounding`` is that of one block as a share of its trace. ``peak`` is the largest
    trace the scatter ever had: what was forgotten leaves its rounding errors behind. ``keys`` are
    fingerprints of the rows as long as they are fewer than functions: see `counted`.
    """

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
            keys=_alive(keys, weights),
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

    def __iadd__(self, other: Moments) -> Moments:
        return self._combine(other, +1)

    def __add__(self, other: Moments) -> Moments:
        return self.copy()._combine(other, +1)

    def __sub__(self, other: Moments) -> Moments:
        return self.copy()._combine(other, -1)

    def without(self, old: Moments) -> Moments:
        """These less ``old``, refused where ``old`` cannot have been part of them."""
        if old.rows > self.rows or old.weight > self.weight * (1 + 1e-9):
            raise ValueError(
                f"Cannot forget {old.rows} rows of weight {old.weight:g}: the model holds "
                f"{self.rows} rows of weight {self.weight:g}."
            )
        left = self - old
        variances = np.append(np.diagonal(self.scatter), self.target_scatter)
        gone = np.append(np.diagonal(old.scatter), old.target_scatter)
        if left.weight > 0:
            remaining = np.append(np.diagonal(left.scatter), left.target_scatter)
            possible = remaining >= -FORGIVEN * variances
        else:  # all weight is gone, so these must have been all rows
            possible = np.abs(variances - gone) <= FORGIVEN * variances
        # Where nothing varies there is nothing to compare but rounding errors.
        if not (possible | (variances <= 1e-12 * variances.max())).all():
            raise ValueError(
                "These rows cannot have been in the model: without them a variance would be "
                "negative. Hand in the rows, targets and weights it was fitted on."
            )
        return left

    def copy(self) -> Moments:
        arrays = {name: v.copy() for name, v in vars(self).items() if isinstance(v, np.ndarray)}
        return Moments(**{**vars(self), **arrays})

    def _combine(self, other: Moments, sign: int) -> Moments:
        """Add (+1) or remove (-1) ``other``, in place."""
        if other.weight == 0:
            return self
        weight = self.weight + sign * other.weight
        if weight <= self.weight * 1e-12 and sign < 0:
            zero = Moments.zero(len(self.mean), len(self.target_mean))
            self.__dict__.update(zero.__dict__)
            return self
        # Both signs in one formula: with weights a and ±b the scatter changes by ±S_b and by
        # ±ab/(a±b) times the outer product of the difference of the means.
        step = other.mean - self.mean
        target_step = other.target_mean - self.target_mean
        share = sign * other.weight / weight
        spread = self.weight * share
        add = np.add if sign > 0 else np.subtract
        add(self.scatter, other.scatter, out=self.scatter)
        if spread:
            self.scatter += np.outer(spread * step, step)
        self.cross += sign * other.cross + spread * np.outer(step, target_step)
        self.target_scatter += sign * other.target_scatter + spread * target_step**2
        self.keys = _joined(self.keys, other.keys, sign, self.n_functions)
        self.mean += share * step
        self.target_mean += share * target_step
        self.rows += sign * other.rows
        self.weight = weight
        # Errors of different blocks are independent where they matter. (Those of equal products,
        # as stumps have them, are not, but point where the scatter itself is large.)
        self.noise = float(np.hypot(self.noise, other.noise))
        self.rounding = max(self.rounding, other.rounding)
        self.peak = max(self.peak, other.peak, self.trace)
        return self

    @property
    def n_functions(self) -> int:
        return len(self.mean)

    @property
    def trace(self) -> float:
        return float(np.trace(self.scatter))

    @property
    def counted(self) -> float:
        """Σω, or the number of distinct rows where they are fewer than functions."""
        return _counted(self)

    @property
    def error(self) -> float:
        """About how large all rounding errors in the scatter are: the blocks', and the sums'."""
        return self.noise + UNIT * self.peak

    def about_origin(self) -> Moments:
        """The same sums taken about zero instead of the means, for models without intercept."""
        return Moments(
            rows=self.rows,
            weight=self.weight,
            mean=np.zeros_like(self.mean),
            target_mean=np.zeros_like(self.target_mean),
            scatter=self.scatter + self.weight * np.outer(self.mean, self.mean),
            cross=self.cross + self.weight * np.outer(self.mean, self.target_mean),
            target_scatter=self.target_scatter + self.weight * self.target_mean**2,
            noise=self.noise,
            rounding=self.rounding,
            keys=self.keys,
            peak=self.peak + self.weight * float(self.mean @ self.mean),
        )


@dataclass
class Factor:
    """R with R'R = Σω(1, z, y)(1, z, y)': the square root of moments, or the rows themselves."""

    rows: int
    weight: float
    root: Array
    n_targets: int
    keys: Keys | None = None
    rounding: float = 0.0

    @classmethod
    def of(
        cls,
        Z: NDArray,
        Y: Array,
        weights: Array | None,
        rounding: float | None = None,
        keys: Keys | None = None,
    ) -> Factor:
        """The factor of one block: its rows, weighted. There are no products to round."""
        root = np.column_stack([np.ones(len(Z)), Z, Y])
        if weights is not None:
            root *= np.sqrt(weights)[:, None]
        weight = float(len(Z)) if weights is None else float(weights.sum())
        rows = len(Z) if weights is None else int(np.count_nonzero(weights))
        return cls(rows, weight, root, Y.shape[1], _alive(keys, weights))

    @classmethod
    def zero(cls, n_functions: int, n_targets: int) -> Factor:
        return cls(0, 0.0, np.zeros((0, 1 + n_functions + n_targets)), n_targets, NO_KEYS)

    def __add__(self, other: Factor) -> Factor:
        root = np.vstack([self.root, other.root])
        if len(root) > 2 * root.shape[1]:
            root = np.asarray(np.linalg.qr(root, mode="r"))
        rows, weight = self.rows + other.rows, self.weight + other.weight
        keys = _joined(self.keys, other.keys, +1, self.n_functions)
        return Factor(rows, weight, root, self.n_targets, keys)

    def without(self, old: Factor) -> Factor:
        raise ValueError(
            "This model holds an orthogonal factor (solver='qr' or 'dual'), from which rows "
            "cannot be removed reliably: use solver='auto' with a larger alpha, or fit anew."
        )

    @property
    def n_functions(self) -> int:
        return self.root.shape[1] - 1 - self.n_targets

    @property
    def counted(self) -> float:
        """Σω, or the number of distinct rows where they are fewer than functions."""
        return _counted(self)

    @property
    def trace(self) -> float:
        """Σω‖z‖², not centred."""
        Z = self.root[:, 1 : 1 + self.n_functions]
        return float(np.einsum("ij,ij->", Z, Z))

    def centred(self, intercept: bool) -> tuple[Array, Array, Array, Array]:
        """Features, targets and their means, with the constant projected out of the rows.

        Orthogonal steps that led to R do not change this: only inner products matter.
        """
        ones, rest = self.root[:, :1], self.root[:, 1:]
        means = np.zeros(rest.shape[1])
        if intercept and self.weight > 0:
            means = (ones.T @ rest)[0] / (ones.T @ ones)[0, 0]
            rest = rest - ones * means
        split = rest.shape[1] - self.n_targets
        return rest[:, :split], rest[:, split:], means[:split], means[split:]

    def moments(self) -> Moments:
        """The moments this is a square root of."""
        Z, Y, mean, target_mean = self.centred(intercept=True)
        scatter = Z.T @ Z
        return Moments(
            rows=self.rows,
            weight=self.weight,
            mean=mean,
            target_mean=target_mean,
            scatter=scatter,
            cross=Z.T @ Y,
            target_scatter=(Y**2).sum(axis=0),
            peak=float(np.trace(scatter)),
            keys=self.keys,
        )


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


def _counted(statistics: Moments | Factor) -> float:
    """What degrees of freedom are compared with: Σω, or the number of distinct rows.

    With fewer rows than functions a model can pass through every point; it then has as many
    freedoms as there are points, and no more for points that stand twice or weigh more.
    """
    if statistics.rows > statistics.n_functions:
        return statistics.weight
    if statistics.keys is None:
        return float(statistics.rows)
    return float(len(np.unique(statistics.keys)))


def _alive(keys: Keys | None, weights: Array | None) -> Keys | None:
    return keys if keys is None or weights is None else keys[weights > 0]


def _joined(keys: Keys | None, others: Keys | None, sign: int, most: int) -> Keys | None:
    """The fingerprints of both, or of the first without the second; None where too many."""
    if keys is None or others is None:
        return None
    if sign > 0:
        return np.concatenate([keys, others]) if len(keys) + len(others) <= most else None
    found, counts = np.unique(keys, return_counts=True)
    gone, gone_counts = np.unique(others, return_counts=True)
    known = np.isin(gone, found)
    counts[np.searchsorted(found, gone[known])] -= gone_counts[known]
    return np.repeat(found, np.maximum(counts, 0))
