"""A loss, a ridge and a box over an operator: what the iterative solvers minimise.

    F(w, b) = Σ_r ω_r loss(z̃_r'w + b, y_r) + μ‖w‖²,   |w_i| ≤ limit_i.

z̃ are features less their weighted mean (plain features without intercept): the intercept then
hardly interferes with the weights. Solvers see rows only through an `Operator`, in passes over all
of them; a pass computes scores, judges them and multiplies back while a block is at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..losses import Loss, minimisers
from .solution import Array

Judge = Callable[[Array, slice], Array]


class FewRows(Protocol):
    """Some rows R of Z̃, in float64."""

    def times(self, V: Array) -> Array:
        """RV."""

    def transposed(self, U: Array) -> Array:
        """R'U."""

    def inner(self) -> Array:
        """RR'."""


class Operator(Protocol):
    """Z̃ as something to multiply with."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype:
        """The precision of the features."""

    @property
    def products(self) -> np.dtype:
        """The precision of products."""

    @property
    def mean(self) -> Array:
        """z̄, which was taken off the features."""

    @property
    def trace(self) -> float:
        """Σω‖z̃‖²."""

    @property
    def of_cells(self) -> bool:
        """Whether this is a `CellOperator`."""

    def exactly(self) -> Operator:
        """The same operator with float64 products."""

    def fused(self, W: Array, judge: Judge) -> Array:
        """Z̃'G with G = judge(Z̃W, rows), block by block of rows: one pass."""

    def scores(self, W: Array) -> Array:
        """Z̃W."""

    def out_of_bag_scores(self, point: Point, rows: NDArray) -> Array:
        """Scores of some rows at a point, from functions that have not learned from them."""

    def gram(self, each: Array) -> tuple[Array, Array]:
        """Z̃'DZ̃ and Z̃'d for D = diag(d), d >= 0; rows with d = 0 cost nothing."""

    @property
    def rough_gram(self) -> Array:
        """About Z̃'ΩZ̃, from a sketch where rows are many; kept once it is known."""

    def rows(self, rows: NDArray) -> FewRows:
        """Some rows of Z̃, by their numbers."""

    def pool(self, function: Callable, items: list) -> Any:
        """``function`` of every item, on all threads."""

    def sketch(self, rows: int, weights: Array | None = None) -> NDArray:
        """SD^½Z̃, D = diag(weights), for a random sparse S of so many rows with E S'S = I."""


class CellOperator(Operator, Protocol):
    """Z̃ = [dense features | indicators of cells]; `sketch` is that of the dense features."""

    @property
    def n_dense(self) -> int: ...

    def fused(self, W: Array, judge: Judge, out: Array | None = None) -> Array:
        """Z̃'G with G = judge(Z̃W, rows), written to ``out`` where there is one."""

    def squares(self, each: Array) -> Array:
        """Diagonals of the cells' part of Z̃'DZ̃, D = diag(d), for every column d of ``each``."""


class DenseOperator(Operator, Protocol):
    """Z̃ of functions whose values are dense."""

    def turned(self) -> tuple[Operator, Array]:
        """Z̃V and V, orthonormal columns that span all rows."""


@dataclass(frozen=True)
class Point:
    """Weights and intercepts, and what one pass found there (one entry a column)."""

    coef: Array
    intercept: Array
    value: Array
    gradient: Array
    intercept_gradient: Array
    scores: Array


def joined(points: list[Point]) -> Point:
    """The columns of several points side by side."""
    return Point(
        *(
            np.concatenate([getattr(point, field.name) for point in points], axis=-1)
            for field in fields(Point)
        )
    )


@dataclass(frozen=True)
class Problem:
    """F above, for every column of ``targets`` (all columns at once where the loss is joint).

    ``penalty`` is μ; ``limits`` are the half-widths of the box, one for every function, or None.
    ``unit`` is what residuals are divided by, the gradient without weights if None. ``least`` are
    the smallest values that the loss has for the targets: `excess` is what F is above these, and
    what objectives are compared by, since a loss may be negative.
    """

    operator: Operator
    loss: Loss
    targets: Array
    weights: Array
    penalty: float
    limits: Array | None
    intercept: bool
    unit: float | None = None
    least: Array | float = 0.0

    @property
    def n_targets(self) -> int:
        return self.targets.shape[1]

    def exactly(self) -> Problem:
        """The same problem with float64 products, whatever the features are stored in."""
        return replace(self, operator=self.operator.exactly(), unit=self.scale)

    def column(self, j: int) -> Problem:
        """The problem of one target alone."""
        if self.n_targets == 1:
            return self
        own = slice(j, j + 1)
        least = self.least if np.ndim(self.least) == 0 else self.least[:, own]  # type: ignore[index]
        targets = np.ascontiguousarray(self.targets[:, own])
        return replace(self, unit=None, targets=targets, least=least)

    def judge(self, scores: Array, rows: slice) -> tuple[Array, Array]:
        """ω·loss and ω·slope of a block of scores."""
        targets, each = self.targets[rows], self.weights[rows, None]
        with np.errstate(over="ignore", invalid="ignore"):  # far along a line, which turns back
            values = self.loss.value(scores, targets)
            return each * values.reshape(len(values), -1), each * self.loss.slope(scores, targets)

    def curvature(self, scores: Array) -> Array:
        """ω·loss''."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.weights[:, None] * self.loss.curvature(scores, self.targets)

    @property
    def steepest(self) -> float:
        """The largest curvature the loss can have."""
        return self.loss.steepest

    def typical_curvature(self, point: Point) -> float:
        """The mean of loss'' over rows, but no less than a hundredth of its largest value."""
        steepest = self.steepest
        if not np.isfinite(steepest):
            steepest = 0.1 * self._mean_curvature(self.zero)
        return max(self._mean_curvature(point), 0.01 * steepest)

    def _mean_curvature(self, point: Point) -> float:
        return float(self.curvature(point.scores).sum() / self.weights.sum() / self.n_targets)

    def evaluate(self, coef: Array, intercept: Array) -> Point:
        """F and its gradient, in one pass."""
        scores = np.empty_like(self.targets)
        slopes = np.zeros(self.n_targets)
        width = 1 if self.loss.joint else self.n_targets
        values = np.empty((len(scores), width))
        sums = np.empty_like(self.targets) if self.intercept else None

        def judge(block: Array, rows: slice) -> Array:
            block = block + intercept
            scores[rows] = block
            values[rows], slope = self.judge(block, rows)
            if sums is not None:
                sums[rows] = slope
            return slope

        gradient = self.operator.fused(coef, judge) + 2 * self.penalty * coef
        if sums is not None:
            slopes = sums.sum(axis=0)
        ridge = self.penalty * (coef**2).sum(axis=0)
        value = values.sum(axis=0) + (ridge.sum() if self.loss.joint else ridge)
        return Point(coef, intercept, value, gradient, slopes, scores)

    def objective(self, point: Point) -> float:
        """F where a pass has left its scores, summed over columns."""
        values = self.judge(point.scores, slice(0, len(point.scores)))[0]
        return float(values.sum() + self.penalty * (point.coef**2).sum())

    @cached_property
    def floor(self) -> Array | float:
        """Σω of the smallest values of the loss, for every column: F is never below that."""
        return 0.0 if np.ndim(self.least) == 0 else self.weights @ self.least

    def excess(self, point: Point) -> Array:
        """F above its floor, for every column (all columns at once where the loss is joint)."""
        return point.value - self.floor

    @cached_property
    def zero(self) -> Point:
        """No weights, and the intercept that is best then."""
        k = self.operator.shape[1]
        constants = np.zeros(self.n_targets)
        if self.intercept:
            constants = best_constants(self.loss, self.targets, self.weights)
        return self.evaluate(np.zeros((k, self.n_targets)), constants)

    def stationarity(self, point: Point) -> Array:
        """The gradient, without what the box holds back; the intercept's in the last row."""
        gradient = np.vstack([point.gradient, point.intercept_gradient])
        if self.limits is not None:
            gradient[:-1][self.held(point.coef, point.gradient)] = 0
        return gradient

    def held(self, coef: Array, gradient: Array) -> NDArray[np.bool_]:
        """Which weights stand at the box with a gradient that pushes them outwards."""
        if self.limits is None:
            return np.zeros(coef.shape, dtype=bool)
        limits = self.limits[:, None]
        return ((coef >= limits) & (gradient < 0)) | ((coef <= -limits) & (gradient > 0))

    def inside(self, coef: Array) -> Array:
        """The nearest weights in the box."""
        if self.limits is None:
            return coef
        return np.clip(coef, -self.limits[:, None], self.limits[:, None])

    @cached_property
    def scale(self) -> float:
        """‖∇F‖ without weights: the unit of residuals.

        Targets that functions say nothing about (a class that no row is in) have next to none; a
        millionth of what slopes and features could make together is the least. Those of numbers are
        slopes at the best constant, and a billionth of those at zero, which are rounding errors.
        """
        if self.unit is not None:
            return self.unit
        norm, far = float(np.linalg.norm(self.zero.gradient)), self._possible(0.0)
        if self.loss.for_classes:
            return max(norm, 1e-6 * far) or 1.0
        return max(norm, 1e-6 * self._possible(self.zero.scores), 1e-9 * far) or 1.0

    def _possible(self, scores: Array | float) -> float:
        """The gradient of slopes at these scores, if all functions pointed their way."""
        slopes = self.loss.slope(scores + np.zeros_like(self.targets), self.targets)
        return float(np.sqrt(self.operator.trace * (self.weights @ (slopes**2).sum(axis=1))))

    def residual(self, point: Point) -> float:
        """The KKT residual: what is left of the gradient, beside the gradient without weights."""
        return float(np.linalg.norm(self.stationarity(point))) / self.scale


def best_constants(loss: Loss, targets: Array, weights: Array) -> Array:
    """argmin_b Σω loss(b, y) for every column: the model without functions."""
    if loss.joint:
        counts = (weights[:, None] * (targets > 0)).sum(axis=0)
        return np.log(np.maximum(counts, 0.5) / weights.sum())
    found = np.empty(targets.shape[1])
    for j, column in enumerate(targets.T):
        values, inverse = np.unique(column, return_inverse=True)
        mass = np.bincount(inverse, weights)
        mass = np.ldexp(mass, -np.frexp(mass.max())[1])  # products with heavy rows overflow

        def slope(b: float, values=values, mass=mass) -> float:
            return float(mass @ loss.slope(np.full_like(values, b), values))

        low, high = _around(loss, values)
        if slope(low) >= 0 or slope(high) <= 0:
            found[j] = low if slope(low) >= 0 else high
        else:
            found[j] = optimize.brentq(slope, low, high, xtol=1e-12 * (high - low), maxiter=500)
    return found


def _around(loss: Loss, values: Array) -> tuple[float, float]:
    """Where the best constant lies: between the best scores of single targets."""
    if not loss.for_numbers:
        # A class that is missing altogether has its best constant at infinity; 20 is near enough.
        return -20.0, 20.0
    best = values if loss.translation_invariant else minimisers(loss, values)
    return float(best.min()), float(best.max())
