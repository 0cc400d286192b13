"""L-BFGS: smooth losses and many functions, a few passes an iteration and no k × k matrix.

Needs a loss with a derivative; takes joint losses, and boxes. Without a box the weights are
w = Cu with the C of a sketch, and the search runs over u, where the problem is nearly round.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import optimize

from .found import Found
from .in_passes import InPasses
from .plan import Machine, Shape
from .preconditioner import Preconditioner
from .problem import Point, Problem
from .solution import Array

MAX_STEPS = 1000
MEMORY = 10
OUT_OF_STEPS = "there were not enough steps"
# Features that are turned into the span of their rows: 64 MB of float64.
FEW_VALUES = 2**23
# Trials of one line search. It needs one or two, unless rounding errors hide what it looks for.
PATIENCE = 20


class LBFGS(InPasses):
    """Smooth losses and many functions; cells in a box."""

    name = "lbfgs"
    kinds = ("", "cells")
    smooth = True
    sketches = True

    def own_bytes(self, shape: Shape, machine: Machine) -> int:
        n, k = shape.n_rows, shape.layout.n_columns
        return 8 * (2 * n * k + 4 * n**2) if worth_turning(n, k) else 0


def worth_turning(n_rows: int, n_columns: int) -> bool:
    """Whether rows are so many fewer than functions that their span is worth being found.

    Iterations then multiply with n² numbers in place of n·k.
    """
    return 2 * n_rows <= n_columns and n_rows * n_columns <= FEW_VALUES


def minimise(
    problem: Problem,
    start: Point,
    tolerance: float,
    preconditioner: Preconditioner | None = None,
    curvature: float = 1.0,
    max_steps: int = MAX_STEPS,
) -> Found:
    """The minimum of a smooth problem, all columns together.

    ``curvature`` is about the mean of ω·loss''/ω, which makes the intercept as round as the rest.
    """
    k, c = start.coef.shape
    unit = 1 / np.sqrt(max(curvature * problem.weights.sum(), 1e-300))
    box = problem.limits is not None
    change = None if box else preconditioner

    def split(flat: Array) -> tuple[Array, Array]:
        inner = flat[: k * c].reshape(k, c)
        coef = inner if change is None else start.coef + change.apply(inner)
        return coef, start.intercept + unit * flat[k * c :]

    points: list[Point] = [start]
    trials = [0]
    scale = max(abs(float(problem.excess(start).sum())), 1e-300)

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        trials[0] += 1
        if trials[0] > PATIENCE:
            raise _Ended
        point = problem.evaluate(*split(flat))
        if not np.isfinite(point.value).all():
            return 1e300, np.zeros_like(flat)
        if point.value.sum() <= points[-1].value.sum():
            points[-1] = point
        gradient = point.gradient if change is None else change.transposed(point.gradient)
        flat_gradient = np.append(gradient.ravel(), unit * point.intercept_gradient)
        return float(problem.excess(point).sum()) / scale, flat_gradient / scale

    stopped, steps = [""], [0]

    def watch(intermediate_result) -> None:
        trials[0] = 0
        steps[0] += 1
        if problem.residual(points[-1]) <= tolerance:
            stopped[0] = "the gradient is small enough"
            raise _Ended

    origin = np.zeros((k + 1) * c)
    bounds = None
    if problem.limits is not None:
        origin[: k * c] = start.coef.ravel()
        limits = np.repeat(problem.limits, c)
        free = np.full(c, np.inf)
        bounds = optimize.Bounds(np.append(-limits, -free), np.append(limits, free))
    if problem.residual(start) <= tolerance:
        return Found(start, 0, True, "the gradient is small enough")
    options = {
        "maxcor": MEMORY,
        "maxiter": max_steps,
        "maxfun": 10 * max_steps,
        "ftol": 0,
        "gtol": 0,
    }
    with suppress(_Ended):
        optimize.minimize(
            value_and_gradient,
            origin,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=watch,
            options=options,
        )
    if stopped[0]:
        return Found(points[-1], steps[0], True, stopped[0])
    if steps[0] >= max_steps:
        return Found(points[-1], steps[0], False, OUT_OF_STEPS)
    return Found(points[-1], steps[0], False, "rounding errors hide any further descent")


class _Ended(Exception):
    """A search that has found what it was asked for, or finds nothing more."""
