"""Losses with a kink: a sequence of smooth problems that meet it exactly.

With one multiplier λ_r a row and a stiffness σ, the loss of a score s gives way to its envelope

    e(s) = min_u loss(u, y) + λ(s - u) + (σ/2)(s - u)²,

which has a derivative, σ(v - prox(v)) with v = s + λ/σ. Minimise Σ ω e(s_r) + μ‖w‖², take the
derivatives as the new λ, repeat (the method of multipliers; with Newton's method inside, Li, Sun
and Toh 2018): λ tends to the subgradients at the optimum and the envelope to the loss, long before
σ is large. Only rows at the kink have a second derivative, so Newton steps are cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from ..statistics.moments import UNIT
from .found import Found, Start
from .in_passes import InPasses, squares
from .newton import FEW_ROWS, MODERATE
from .plan import Machine, Shape
from .problem import Point, Problem
from .solution import Array

MAX_ROUNDS = 60
# Slopes whose rounding errors are more than this share of the steepest are taken from the loss.
FAR = 1e-6


class Multipliers(InPasses):
    """Losses with a kink."""

    name = "multipliers"
    kinds = ("", "cells")
    kinked = True
    joint = False
    sketches = True

    def own_bytes(self, shape: Shape, machine: Machine) -> int:
        k = shape.layout.n_columns
        # Newton steps inside: on all functions, or through the few rows at the kink.
        return squares(shape, machine) if k <= MODERATE else 16 * min(shape.n_rows, FEW_ROWS) * k


@dataclass(frozen=True, kw_only=True)
class Smoothed(Problem):
    """The problem with envelopes in place of the loss."""

    original: Problem
    multipliers: Array
    stiffness: float

    def exactly(self) -> Smoothed:
        return smoothed(self.original.exactly(), self.multipliers, self.stiffness)

    def column(self, j: int) -> Smoothed:
        if self.n_targets == 1:
            return self
        return smoothed(self.original.column(j), self.multipliers[:, j : j + 1], self.stiffness)

    @property
    def scale(self) -> float:
        return self.original.scale

    @property
    def steepest(self) -> float:
        return self.stiffness

    def judge(self, scores, rows):
        near, slopes = self.near(scores, rows)
        gap = scores - near
        values = self.loss.value(near, self.targets[rows])
        values += gap * (self.multipliers[rows] + self.stiffness / 2 * gap)
        each = self.weights[rows, None]
        return each * values, each * slopes

    def curvature(self, scores):
        near, slopes = self.near(scores, slice(0, len(scores)))
        # In the linear parts of the loss the slope is that of the loss itself and does not change.
        flat = np.isclose(slopes, self.loss.slope(near, self.targets), rtol=1e-7, atol=0)
        return np.where(flat, 0.0, self.stiffness) * self.weights[:, None]

    def near(self, scores: Array, rows: slice) -> tuple[Array, Array]:
        """u = prox(v), and σ(v - u), which is a subgradient of the loss at u."""
        lifted, targets = scores + self.multipliers[rows] / self.stiffness, self.targets[rows]
        near = self.loss.prox(lifted, targets, 1 / self.stiffness)
        slopes = self.stiffness * (lifted - near)
        # So far out that the difference has no digits, no row is at a kink.
        far = self.stiffness * UNIT * np.abs(lifted) > FAR * self.loss.lipschitz
        return near, np.where(far, self.loss.slope(near, targets), slopes) if far.any() else slopes


def smoothed(problem: Problem, multipliers: Array, stiffness: float) -> Smoothed:
    """``problem`` with envelopes."""
    shared = {field.name: getattr(problem, field.name) for field in fields(Problem)}
    return Smoothed(**shared, original=problem, multipliers=multipliers, stiffness=stiffness)


Inner = Callable[[Smoothed, Point, float, float], Found]


def minimise(
    problem: Problem, start: Point, tolerance: float, inner: Inner, warm: Start | None = None
) -> Found:
    """The minimum of a problem with kinks; ``inner`` minimises the smooth ones.

    ``warm`` is where a problem with another ridge ended: its multipliers are nearly right.
    """
    everything = slice(0, len(problem.targets))
    multipliers = np.zeros_like(problem.targets)
    # The unit of scores, and an envelope that is as wide.
    zero = problem.zero
    spread = max(_distance(problem, problem.targets, zero.scores), 1e-300)
    least = 1e-3 * (problem.objective(zero) - np.sum(problem.floor))
    stiffness = problem.loss.lipschitz / spread
    if warm is not None and warm.multipliers is not None:
        multipliers = warm.multipliers
        stiffness = max(stiffness, warm.stiffness / 4)
    point, steps, gap, away = start, 0, np.inf, np.inf
    for round_ in range(MAX_ROUNDS):
        smooth = smoothed(problem, multipliers, stiffness)
        wanted = max(tolerance, 0.01 * min(away, 1.0))
        found = inner(
            smooth, smooth.evaluate(point.coef, point.intercept), wanted, float(round_ == 0)
        )
        point, steps = found.point, steps + found.iterations
        near, multipliers = smooth.near(point.scores, everything)
        before, away = away, _distance(problem, point.scores, near) / spread
        gap = _duality_gap(problem, point, near, multipliers, least)
        residual = problem.residual(point)
        kept = (gap, multipliers, stiffness)
        if max(gap, residual) <= tolerance:
            return Found(point, steps, True, "the conditions of optimality hold", *kept)
        if gap <= tolerance and not found.converged:
            return Found(point, steps, False, found.stopped, *kept)
        if away > 0.3 * before:
            stiffness *= 4
    return Found(point, steps, False, f"{MAX_ROUNDS} rounds were not enough", *kept)


def _duality_gap(
    problem: Problem, point: Point, near: Array, multipliers: Array, least: float
) -> float:
    """Σ ω(loss(s) - loss(u) - λ(s - u)) beside F, for λ a subgradient of the loss at u.

    By Fenchel and Young it is what F can be above its minimum where the gradient vanishes. A model
    that fits perfectly has F near 0: there ``least`` is the measure.
    """
    loss, targets = problem.loss, problem.targets
    gap = loss.value(point.scores, targets) - loss.value(near, targets)
    gap -= multipliers * (point.scores - near)
    total = max(problem.objective(point) - float(np.sum(problem.floor)), least)
    return float(problem.weights @ gap.sum(axis=1)) / total if total > 0 else 0.0


def _distance(problem: Problem, left: Array, right: Array) -> float:
    """The root mean square difference of two columns of scores, over the weights of rows."""
    squares = np.average((left - right) ** 2, axis=0, weights=problem.weights)
    return float(np.sqrt(squares.mean()))
