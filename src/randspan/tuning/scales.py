"""Scales of the columns, learned with the exact kernel on few rows at a time.

A kernel k(x̃, x̃') of scaled rows x̃ = s∘x (or x̃ = E'(s∘x), a full matrix) is scored by the
leave-one-out error of kernel ridge regression,

    L(s, μ) = (1/n) Σ_i e_i²,   e_i = a_i/P_ii,   a = Py,   P = (K + μI)⁻¹,

which has an exact gradient: with u_i = a_i/P_ii² and v_i = a_i²/P_ii³,

    ∂L/∂K ∝ P diag(v) P - (Pu a' + a u'P)/2,

summed over targets, and from there by the chain rule to log s, E and log μ. Adam (Kingma and Ba
2015) descends on it; every step has rows of its own, so that scales do not adapt to any.

Where there is no noise L falls by orders of magnitude on the way, its terms cancel, and small
errors of a few hundred rows say little of which scales are best. Scales and ridge are then those of
the largest likelihood of a Gaussian process, with σ² found for each target y,

    -(2/n) log p = log(y'Py/n) + (1/n) log|K + μI| + const,   ∂/∂K = P/n - Py y'P/(y'Py),

in float64, by L-BFGS (`Learner.likeliest`).

Few rows out of many lie far apart, and a kernel that suits them is too wide for all. Where rows
are many, kernels that decay fast are therefore learned a second time, in neighbourhoods: a step
takes some rows at random, with their nearest neighbours among all rows, and scored by the
innermost ones. They see the density of the full data, of which the rest is too far away to matter.

Tried and left: the average gradient outer product (recursive feature machines), on 1,500 rows of
two sets. It was best after one or two rounds and behind descent on both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

from ..families import Family
from ..solvers.left_out import walk
from . import lapack

Array = NDArray[np.float64]

STEPS = 50
# Rows of a step, and how many such batches are averaged.
BATCH, BATCHES = 400, 2
# Where all rows are in every step: it ends with one that gains less than this, and
# logarithms of scales stay within this distance of equal ones.
GAIN, FARTHEST = 1e-4, 6.0
# The largest change of a logarithm in one step: at first, and where a matrix is turned as well.
RATE, TURNING_RATE, TURN_RATE = 0.2, 0.1, 0.03
LEAST_RIDGE, MOST_RIDGE = 1e-4, 1e4
# By likelihood: the least ridge, steps, rows, and the gain that the last step has.
LEAST_RIDGE_64, STEPS_64, ROWS_64, GAIN_64 = 1e-13, 60, 600, 1e-4
# Neighbourhoods: from so many rows on, how large, scored by how many, and how many a step.
MANY_ROWS = 100_000
NEIGHBOURS, INNERMOST, CENTRES = 600, 100, 6
# Neighbourhoods in which scales are compared.
JUDGES = 8


@dataclass(frozen=True)
class Scales:
    """x̃ = turn'(scales∘x), and the ridge that went with it."""

    scales: Array
    turn: Array | None
    ridge: float

    def times(self, factor: float) -> Scales:
        return replace(self, scales=factor * self.scales)

    def importances(self, variances: Array) -> Array:
        """Shares of the columns in the mean squared distance of x̃."""
        weights = self.scales**2 * variances
        if self.turn is not None:
            weights = weights * (self.turn**2).sum(axis=1)
        total = float(weights.sum())
        return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


class Kernel(ABC):
    """A kernel of scaled rows T: its matrix, and how a loss of the matrix changes with T."""

    #: the distance whose median is the unit of scales
    metric: str
    #: whether the kernel is the same in all directions, so that `pull` exists
    turns = False

    @property
    def smoothness(self) -> float:
        """The power of small distances that it falls with, and more where that is 2."""
        return 1.0

    @abstractmethod
    def matrix(self, T: NDArray) -> tuple[Array, NDArray]:
        """K, and what `slopes` and `pull` will need of it."""

    @abstractmethod
    def slopes(self, T: NDArray, known: NDArray, G: Array) -> NDArray:
        """Σ_i ∂L/∂t_im t_im for every column m, where G = ∂L/∂K."""

    def pull(self, T: NDArray, known: NDArray, G: Array) -> NDArray:
        """∂L/∂T."""
        raise NotImplementedError("This kernel looks at columns one by one and is not turned.")


class Laplacian(Kernel):
    """exp(-‖t - t'‖₁)."""

    metric = "cityblock"

    def matrix(self, T):
        from . import distances

        K = np.empty((len(T), len(T)), T.dtype)
        distances.laplacian(np.ascontiguousarray(T.T), K)
        return K.astype(np.float64), K

    def slopes(self, T, known, G):
        from . import distances

        out = np.empty(T.shape[1])
        distances.laplacian_slopes(T, (G * known).astype(T.dtype), out)
        return out


@dataclass(frozen=True)
class Radial(Kernel):
    """A Matérn kernel of ‖t - t'‖ with 1, 3 or 5 degrees of freedom; infinitely many: Gaussian."""

    degrees: float
    turns = True
    metric = "euclidean"

    @property
    def smoothness(self) -> float:
        return self.degrees

    def matrix(self, T):
        T = T.astype(np.float64)
        T -= T.mean(axis=0)  # squares of offsets would eat the digits of distances
        squares = (T * T).sum(axis=1)
        # In place: room for a matrix costs more than most of what is computed.
        q = T @ T.T
        q *= -2
        q += squares
        q += squares[:, None]
        np.maximum(q, 0, out=q)
        np.fill_diagonal(q, 0)
        if np.isinf(self.degrees):
            q *= -0.5
            K = np.exp(q, out=q)
            return K, -K / 2
        q *= self.degrees
        r = np.sqrt(q, out=q)
        e = np.exp(-r)
        # ∂k/∂q, q the squared distance.
        if self.degrees == 1:
            return e, np.where(r > 1e-6, -e / (2 * np.maximum(r, 1e-6)), 0)
        if self.degrees == 3:
            r += 1
            r *= e
            e *= -1.5
            return r, e
        return (1 + r + r * r / 3) * e, -(5 / 6) * (1 + r) * e

    def pull(self, T, known, G):
        W = (G * known).astype(T.dtype)
        return 4 * (W.sum(axis=1)[:, None] * T - W @ T)

    def slopes(self, T, known, G):
        return (self.pull(T, known, G) * T).sum(axis=0, dtype=np.float64)


@dataclass(frozen=True)
class Powered(Kernel):
    """exp(-r^power) of the distance r that another kernel is exp(-r) of."""

    of: Kernel
    power: float

    @property
    def metric(self) -> str:  # type: ignore[override]
        return self.of.metric

    @property
    def smoothness(self) -> float:
        return self.power * self.of.smoothness

    @property
    def turns(self) -> bool:  # type: ignore[override]
        return self.of.turns

    def matrix(self, T):
        K, known = self.of.matrix(T)
        K = np.maximum(K, np.finfo(np.float32).tiny)
        r = -np.log(K)
        powered = np.exp(-(r**self.power))
        # dk/dr beside that of exp(-r), 0 for a row and itself.
        apart = r > 1e-6
        share = self.power * np.where(apart, r, 1.0) ** (self.power - 1) * powered / K
        return powered, (known * np.where(apart, share, 0.0)).astype(known.dtype)

    def slopes(self, T, known, G):
        return self.of.slopes(T, known, G)

    def pull(self, T, known, G):
        return self.of.pull(T, known, G)


def start(kernel: Kernel, rows: NDArray) -> Scales:
    """Equal scales, at which the median distance of two rows is 1."""
    few = rows[:: -(-len(rows) // 500)]
    apart = pdist(few.astype(np.float64), kernel.metric)
    apart = apart[apart > 0]
    scale = 1 / float(np.median(apart)) if len(apart) else 1.0
    return Scales(np.full(rows.shape[1], scale), None, 1e-2)


#: Kernels by the name that a family gives as the nearest to its own.
KERNELS: dict[str, Kernel] = {
    "laplacian": Laplacian(),
    "matern12": Radial(1),
    "matern32": Radial(3),
    "matern52": Radial(5),
    "gaussian": Radial(np.inf),
}


def kernel_of(family: Family) -> Kernel:
    """The kernel that scales of a family are learned with."""
    kernel = KERNELS[family.nearest_kernel]
    return kernel if family.nearest_power == 1 else Powered(kernel, family.nearest_power)


Pool = Callable[[Callable, list], list]


@dataclass
class Learner:
    """Descends on the leave-one-out error of ``kernel``.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Standardised.
    targets : ndarray of shape (n_rows, n_targets)
    weights : ndarray of shape (n_rows,) or None
        How many rows a row stands for, where not all are alike: in proportion to it a row is drawn,
        where not all are looked at.
    pool : callable
        A map over threads.
    groups : ndarray of shape (n_features,) or None
        Columns with the same number share a scale.
    batch : int
        Rows of a step: the more there are, the nearer they lie to each other, as in the fit.
    """

    kernel: Kernel
    rows: NDArray[np.float32]
    targets: Array
    weights: Array | None
    generator: np.random.Generator
    pool: Pool
    progress: Callable[[int], None]
    groups: NDArray[np.intp] | None = None
    batch: int = field(default_factory=lambda: BATCH)

    def descend(self, at: Scales, steps: int = STEPS, rate: float = RATE) -> Scales:
        """Diagonal scales."""
        if self._every:
            return self._quasi_newton(at, steps // 3)
        pace, point = Adam(steps, rate), _logs(at)
        for _ in range(steps):
            here = _scales(point)
            slope = self._mean(lambda rows, here=here: self._score(here, *rows)[0], self._batches())
            point = _bounded(point - pace.change(slope))
            self.progress(1)
        return _scales(point)

    def _quasi_newton(self, at: Scales, steps: int) -> Scales:
        """Diagonal scales where every step sees all rows, so that slopes are exact."""

        def value(point: Array) -> tuple[float, Array]:
            slopes, _, error = self._score(_scales(point), *self._batches()[0])
            return error, slopes

        begin = _bounded(_logs(at))
        limits = [(x - FARTHEST, x + FARTHEST) for x in begin[:-1]]
        limits.append((np.log(LEAST_RIDGE), np.log(MOST_RIDGE)))
        options = {"maxiter": steps, "ftol": GAIN}
        found = minimize(value, begin, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        self.progress(3 * steps)
        return _scales(found.x)

    def likeliest(self, at: Scales, steps: int = STEPS_64) -> Scales:
        """Diagonal scales of the largest likelihood of the first rows, in float64."""
        few = slice(0, self.batch)
        rows, targets = self.rows[few].astype(np.float64), self.targets[few]
        weights = None if self.weights is None else self.weights[few]
        each = np.ones(len(rows)) if weights is None else 1 / weights
        away = targets - np.average(targets, axis=0, weights=weights)

        def value(point: Array) -> tuple[float, Array]:
            here = _scales(point)
            T = rows * here.scales
            K, known = self.kernel.matrix(T)
            K.flat[:: len(K) + 1] += here.ridge * each
            G, surprise = _slope_of_likelihood(K, away)
            ridge = here.ridge * float(np.diagonal(G) @ each)
            return surprise, np.append(self._tied(self.kernel.slopes(T, known, G)), ridge)

        begin = _logs(at)
        limits = [(x - FARTHEST, x + FARTHEST) for x in begin[:-1]]
        limits.append((np.log(LEAST_RIDGE_64), np.log(MOST_RIDGE)))
        options = {"maxiter": steps, "ftol": GAIN_64}
        found = minimize(value, begin, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        return _scales(found.x)

    def turn(self, at: Scales, steps: int = STEPS) -> Scales:
        """A full matrix, from diagonal scales."""
        d = self.rows.shape[1]
        pace, turning = Adam(steps, TURNING_RATE), Adam(steps, TURN_RATE)
        point, turn = _logs(at), np.eye(d)
        for _ in range(steps):
            here = replace(_scales(point), turn=turn)
            slope = self._mean(
                lambda rows, here=here: np.append(*self._score(here, *rows)[:2]), self._batches()
            )
            point = _bounded(point - pace.change(slope[: d + 1]))
            turn = turn - turning.change(slope[d + 1 :]).reshape(d, d)
            self.progress(1)
        return replace(_scales(point), turn=turn)

    def descend_nearby(self, at: Scales, steps: int = STEPS) -> Scales:
        """Diagonal scales at the density of all rows, from those of few rows."""
        pace, point = Adam(steps, RATE), _logs(at)
        inner = np.arange(NEIGHBOURS) < INNERMOST
        for _ in range(steps):
            here = _scales(point)
            centres = self._draw(CENTRES)

            def slope(near: NDArray[np.intp], here: Scales = here) -> Array:
                return self._score(here, self.rows[near], self.targets[near], None, inner)[0]

            nearest = self._nearest(here.scales, centres)
            point = _bounded(point - pace.change(self._mean(slope, nearest)))
            self.progress(1)
        return _scales(point)

    def error_nearby(self, at: Scales, centres: NDArray[np.intp]) -> float:
        """L in neighbourhoods of some rows."""
        inner = np.arange(NEIGHBOURS) < INNERMOST

        def error(near: NDArray[np.intp]) -> float:
            K = self.kernel.matrix(self.rows[near] * at.scales.astype(np.float32))[0]
            K.flat[:: len(K) + 1] += at.ridge
            Y = self.targets[near] - self.targets[near].mean(axis=0)
            near = np.flatnonzero(inner)
            solved = _solved(K, np.hstack([np.eye(len(K))[:, near], Y]))
            own = solved[near, np.arange(len(near))]
            return float(((solved[near, len(near) :] / own[:, None]) ** 2).mean())

        return float(np.mean(self.pool(error, self._nearest(at.scales, centres))))

    def scored_rows(self) -> NDArray[np.intp]:
        """Rows whose neighbourhoods scales are compared in."""
        return self._draw(JUDGES)

    def _nearest(self, scales: Array, centres: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """For some rows the rows that are nearest to each, nearest first."""
        from . import distances

        away = self._away[: len(centres)]
        at, gamma = self.rows[centres], scales.astype(np.float32)
        step = 2**16

        def measure(start: int) -> None:
            stretch = slice(start, start + step)
            distances.distances(self._columns[:, stretch], at, gamma, away[:, stretch])

        def nearest(row: NDArray[np.float32]) -> NDArray[np.intp]:
            near = np.argpartition(row, NEIGHBOURS)[:NEIGHBOURS]
            return near[np.argsort(row[near], kind="stable")]

        self.pool(measure, list(range(0, len(self.rows), step)))
        return self.pool(nearest, list(away))

    @cached_property
    def _columns(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.rows.T)

    @cached_property
    def _away(self) -> NDArray[np.float32]:
        return np.empty((max(CENTRES, JUDGES), len(self.rows)), np.float32)

    @property
    def _every(self) -> bool:
        """Whether all rows are looked at in every step."""
        return len(self.rows) <= self.batch

    def _batches(self) -> list[tuple[NDArray, Array, Array | None]]:
        if self._every:
            return [(self.rows, self.targets, self.weights)]
        chosen = [self._draw(self.batch) for _ in range(BATCHES)]
        return [(self.rows[rows], self.targets[rows], None) for rows in chosen]

    def _draw(self, count: int) -> NDArray[np.intp]:
        chances = None if self.weights is None else self.weights / self.weights.sum()
        if chances is not None:  # there may be fewer rows of a positive weight that matters
            count = min(count, -(-len(self.rows) // 2))
        return self.generator.choice(len(self.rows), count, replace=False, p=chances)

    def _mean(self, slope: Callable, items) -> Array:
        return np.mean(self.pool(slope, list(items)), axis=0)

    def _score(
        self,
        at: Scales,
        rows: NDArray,
        targets: Array,
        weights: Array | None = None,
        inner: NDArray | None = None,
    ) -> tuple[Array, Array, float]:
        """Slopes of L in log s and log μ, and in the turn, and L itself."""
        scaled = rows * at.scales.astype(rows.dtype)
        T = scaled if at.turn is None else scaled @ at.turn.astype(rows.dtype)
        K, known = self.kernel.matrix(T)
        each = np.full(len(K), at.ridge) if weights is None else at.ridge / weights
        K.flat[:: len(K) + 1] += each
        away = targets - np.average(targets, axis=0, weights=weights)
        G, error = _slope_of_matrix(K, away, weights, inner)
        ridge = float(np.diagonal(G) @ each)
        if at.turn is None:
            slopes = self._tied(self.kernel.slopes(T, known, G))
            return np.append(slopes, ridge), np.empty(0), error
        pulled = self.kernel.pull(T, known, G).astype(np.float64)
        scaled = scaled.astype(np.float64)
        slopes = ((pulled @ at.turn.T) * scaled).sum(axis=0)
        return np.append(slopes, ridge), (scaled.T @ pulled).ravel(), error

    def _tied(self, slopes: Array) -> Array:
        """Slopes of columns that share a scale, their mean."""
        if self.groups is None:
            return slopes
        return (np.bincount(self.groups, slopes) / np.bincount(self.groups))[self.groups]


def _slope_of_matrix(
    C: Array, Y: Array, weights: Array | None, inner: NDArray | None
) -> tuple[Array, float]:
    """∂L/∂C for C = K + μI, and L, over ``inner`` rows only where these are given."""
    near = np.arange(len(C)) if inner is None else np.flatnonzero(inner)
    if inner is None:
        P = _inverse(C)
        a, own = P @ Y, np.diagonal(P)
    else:  # columns of P for these rows are all that is needed
        solved = _solved(C, np.hstack([np.eye(len(C))[:, near], Y]))
        P, a = solved[:, : len(near)], solved[:, len(near) :]
        own = P[near, np.arange(len(near))]
    share = np.ones(len(own)) if weights is None else weights / weights.mean()
    U = (share / own**2)[:, None] * a[near]
    v = share * (a[near] ** 2).sum(axis=1) / own**3
    half = (P * np.sqrt(v)).astype(np.float32)
    G = (half @ half.T).astype(np.float64)
    cross = (P @ U) @ a.T
    G -= (cross + cross.T) / 2
    return G * (2 / len(own)), float((v * own).mean())


def _slope_of_likelihood(C: Array, Y: Array) -> tuple[Array, float]:
    """∂/∂C of log(y'Py/n) + log|C|/n, the mean of targets, and that itself; C is lost."""
    n = len(C)
    factor = _factored(C)
    size = 2 * float(np.log(np.diagonal(factor)).sum()) / n
    a = dpotrs(factor.T, Y, lower=1)[0]
    P = _mirrored(factor)
    lengths = np.maximum((Y * a).sum(axis=0), np.finfo(np.float64).tiny)
    P /= n
    P -= (a / (lengths * len(lengths))) @ a.T
    return P, float(np.log(lengths / n).mean()) + size


def _factored(C: Array) -> Array:
    """L' in the upper triangle of C = LL', in its place.

    More is added to the diagonal where rounding made C indefinite.
    """
    diagonal = np.diagonal(C).copy()
    for more in (1e-3, 1e-1, 10.0, 0.0):
        if not lapack.factor(C) or not more:
            break
        below = np.tril(C, -1)  # as it was
        np.add(below, below.T, out=C)
        C.flat[:: len(C) + 1] = diagonal + more
    return C


def _solved(C: Array, right: Array) -> Array:
    """C⁻¹·right; C is lost."""
    return dpotrs(_factored(C).T, right, lower=1)[0]


def _inverse(C: Array) -> Array:
    """C⁻¹, in its place."""
    return _mirrored(_factored(C))


def _mirrored(factor: Array) -> Array:
    """(LL')⁻¹ from `_factored`, in its place."""
    lapack.inverse_from_factor(factor)
    above = np.triu(factor, 1)
    np.add(above, above.T, out=above)
    above.flat[:: len(factor) + 1] = np.diagonal(factor)
    return above


@dataclass
class Adam:
    """Steps of at most about ``rate``, slower towards the end."""

    steps: int
    rate: float
    keep: tuple[float, float] = (0.8, 0.9)
    taken: int = 0
    mean: Array | float = 0.0
    square: Array | float = 0.0

    def change(self, slope: Array) -> Array:
        first, second = self.keep
        rate = self.rate * min(1.0, 2 * (self.steps - self.taken) / self.steps)
        self.taken += 1
        self.mean = first * self.mean + (1 - first) * slope
        self.square = second * self.square + (1 - second) * slope**2
        mean = self.mean / (1 - first**self.taken)
        square = self.square / (1 - second**self.taken)
        return rate * mean / np.sqrt(square + np.finfo(float).tiny)


def _logs(at: Scales) -> Array:
    return np.log(np.append(at.scales, at.ridge))


def _scales(point: Array) -> Scales:
    return Scales(np.exp(point[:-1]), None, float(np.exp(point[-1])))


def _bounded(point: Array) -> Array:
    return np.append(point[:-1], max(point[-1], np.log(LEAST_RIDGE)))


# Common factors beside the one that was found: scales are compared at the best of them.
FACTORS = range(-2, 3, 2)
# A smaller ridge is worth a step where it lowers the error by this share.
WORTH_A_STEP = 2e-3


def left_out(
    kernel: Kernel,
    rows: NDArray,
    targets: Array,
    weights: Array | None,
    at: Scales,
    factors: range = FACTORS,
) -> tuple[Array, Scales]:
    """Squared errors of rows that are left out, the mean of targets, at the best width and ridge.

    Widths 2^(j/2), j in ``factors``, walking from near 1 at the ridge that came with the scales;
    then ridges in steps of 10^(1/2) at the best width.
    """
    Y = targets - np.average(targets, axis=0, weights=weights)
    each = np.ones(len(rows)) if weights is None else weights
    known: dict[tuple[int, int], Array] = {}
    matrices: dict[int, Array] = {}

    def error(width: int, ridge: int = 0) -> float:
        if (width, ridge) not in known:
            if width not in matrices:
                scaled = rows * (2.0 ** (width / 2) * at.scales).astype(rows.dtype)
                T = scaled if at.turn is None else scaled @ at.turn.astype(rows.dtype)
                matrices.clear()
                matrices[width] = kernel.matrix(T)[0]
            added = at.ridge * 10.0 ** (ridge / 2) / each
            known[width, ridge] = _left_out_squares(matrices[width], added, Y)
        return float(each @ known[width, ridge])

    low, high, step = factors[0] // factors.step, factors[-1] // factors.step, factors.step
    width = step * walk(lambda j: error(step * j), 0, low, high)
    ridge = walk(lambda j: error(width, j), 0, -8, 8, WORTH_A_STEP)
    error(width, ridge)
    there = replace(at.times(2.0 ** (width / 2)), ridge=at.ridge * 10.0 ** (ridge / 2))
    return known[width, ridge], there


def squares_at(
    kernel: Kernel, rows: NDArray, targets: Array, weights: Array | None, at: Scales
) -> Array:
    """Squared errors of rows that are left out, at these very scales and this ridge."""
    Y = targets - np.average(targets, axis=0, weights=weights)
    each = np.ones(len(rows)) if weights is None else weights
    K = kernel.matrix(rows.astype(np.float64) * at.scales)[0]
    return _left_out_squares(K, at.ridge / each, Y)


def _left_out_squares(K: Array, added: Array, Y: Array) -> Array:
    """((Py)_i/P_ii)² for P = (K + diag(added))⁻¹, the mean of targets."""
    C = K.copy()
    C.flat[:: len(C) + 1] += added
    factor = _factored(C)
    a = dpotrs(factor.T, Y, lower=1)[0]
    # P_ii is the squared length of row i of L'⁻¹.
    lapack.inverse_of_factor(factor)
    inverse = np.triu(factor)
    own = np.einsum("ij,ij->i", inverse, inverse)
    return ((a / own[:, None]) ** 2).mean(axis=1)


@lru_cache(2)
def _upper(n: int) -> Array:
    """1 in the upper triangle, 0 below."""
    return np.triu(np.ones((n, n)))


def left_out_predictions(K: Array, added: Array, Y: Array, intercept: bool) -> Array:
    """What the machine of all other rows says of each, Y - a/diag(P') for a = P'Y.

    P = (K + diag(added))⁻¹, P' = P - P11'P/(1'P1) where there is an ``intercept``.
    """
    C = K.copy()
    C.flat[:: len(C) + 1] += added
    factor = _factored(C)
    solved = dpotrs(factor.T, np.column_stack([Y, np.ones(len(Y))]), lower=1)[0]
    a, ones = solved[:, :-1], solved[:, -1]
    lapack.inverse_of_factor(factor)
    np.multiply(factor, _upper(len(factor)), out=factor)
    own = np.einsum("ij,ij->i", factor, factor)
    if intercept:
        a = a - ones[:, None] * (a.sum(axis=0) / ones.sum())
        own = own - ones**2 / ones.sum()
    return Y - a / np.maximum(own, np.finfo(np.float64).tiny)[:, None]
