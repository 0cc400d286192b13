"""One loss, one ridge, one start: which iterative method, with what inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import conjugate, lbfgs, multipliers, newton, sketched
from .found import Found, Start
from .preconditioner import Preconditioner, Sketch
from .problem import Operator, Point, Problem, joined
from .solution import Array

# Up to here a Newton step costs less than the passes it saves.
FEW_FUNCTIONS = 300
# The same as products of a step, n·k·min(n, k) for every target.
FEW_PRODUCTS = 1e10
# Residuals that float32 products can be relied upon to reach; float64 ones finish from there.
COARSE = 1e-4
# Residuals that L-BFGS reaches of any envelope of a kink in some tens of steps.
LOOSE = 1e-3
# Steps of L-BFGS after which a new sketch is worth its price.
STRETCH = 40
FINE = 1e-6
# Rows at a kink that Newton steps go through beside cells.
FEW_KINKS = 3000
# The share of the objective that conjugate gradients may leave: with many rows predictions change
# by far less than they differ from those of another draw, with few it costs nothing to go on.
ACCURACY, EXACT, FEW_ROWS = 1e-4, 1e-12, 10_000


@dataclass
class Solver:
    """Minimises problems over one operator; what they share (a sketch) is made once."""

    operator: Operator
    method: str
    sketch_rows: int
    sketch: Sketch | None = None
    #: whether the rows of the sketch are weighted by the curvature of a loss
    weighted: bool = False

    def minimise(
        self, problem: Problem, warm: Start | None = None, tolerance: float = FINE
    ) -> Found:
        """The minimum, from where a similar problem ended or from zero."""
        if self.operator.trace == 0:
            return Found(problem.zero, 0, True, "no function varies")
        apart = not problem.loss.joint and _unlike(problem.targets)
        if apart and self.method != "sketched":
            return self._apart(problem, tolerance)
        if warm is not None:
            start = problem.evaluate(warm.coef, warm.intercept)
            # Weights that never saw some rows may be far worse there than none at all.
            if tolerance <= FINE and problem.zero.value.sum() < start.value.sum():
                warm = None
        if warm is None:
            start = problem.zero
        if self.method == "sketched":
            change = self._change(problem.penalty)
            # Half the squared gradient in u is what F can fall by: 1e-10 of F at the usual 1e-6.
            return sketched.minimise(problem, start, 10 * tolerance, change)
        if self.method == "multipliers":
            return multipliers.minimise(problem, start, tolerance, self._smooth, warm)
        return self._smooth(problem, start, tolerance)

    def _apart(self, problem: Problem, tolerance: float) -> Found:
        """Column by column: in a sum, the residual of small targets would be lost."""
        columns = [problem.column(j) for j in range(problem.n_targets)]
        found = [self.minimise(column, None, tolerance) for column in columns]
        worst = min(found, key=lambda one: one.converged)
        residuals = [column.residual(one.point) for column, one in zip(columns, found, strict=True)]
        return Found(
            joined([one.point for one in found]),
            max(one.iterations for one in found),
            worst.converged,
            worst.stopped,
            max(*(one.gap for one in found), *residuals),
        )

    def _smooth(
        self, problem: Problem, start: Point, tolerance: float, damping: float = 0.0
    ) -> Found:
        """A smooth problem: first with products in the features' precision, then in float64."""
        run = self._newton if self._by_newton(problem, start, tolerance) else self._lbfgs
        if self.operator.of_cells and problem.limits is None and run == self._lbfgs:
            run = self._conjugate
        steps = 0
        if self.operator.dtype != np.float64 and problem.residual(start) > 3 * COARSE:
            rough = run(problem, start, max(tolerance, COARSE), damping)
            if rough.converged and tolerance >= COARSE:
                return rough
            steps = rough.iterations
            problem = problem.exactly()
            start = problem.evaluate(rough.point.coef, rough.point.intercept)
            damping = 0.0
        elif tolerance < COARSE:
            problem = problem.exactly()
        found = run(problem, start, tolerance, damping)
        if self.operator.of_cells and run == self._newton and not found.converged:
            steps += found.iterations
            found = self._conjugate(problem, found.point, tolerance, 0.0)
        return replace(found, iterations=found.iterations + steps)

    def _by_newton(self, problem: Problem, start: Point, tolerance: float) -> bool:
        if self.method != "multipliers":
            return self.method == "newton"
        k = self.operator.shape[1]
        if self.operator.of_cells:
            kinks = np.count_nonzero(problem.curvature(start.scores), axis=0)
            possible = problem.limits is None and problem.penalty > 0
            return possible and int(kinks.min()) > 0 and int(kinks.max()) <= FEW_KINKS
        if k > newton.MODERATE and problem.penalty == 0:
            return False
        boxed = problem.limits is not None
        if k <= FEW_FUNCTIONS or (k <= newton.MODERATE and (boxed or tolerance <= LOOSE)):
            return True
        # Newton steps work on the rows at the kink alone, once these are few. Until then L-BFGS
        # will do where little is asked for; of stiff envelopes it may take thousands of steps.
        kinks = np.count_nonzero(problem.curvature(start.scores), axis=0)
        return problem.limits is None and kinks.min() > 0 and kinks.max() < k / 2

    def _newton(self, problem: Problem, start: Point, tolerance: float, damping: float) -> Found:
        return newton.minimise(problem, start, tolerance, damping)

    def _conjugate(self, problem: Problem, start: Point, tolerance: float, damping: float) -> Found:
        dense = self._change if problem.operator.n_dense else None  # type: ignore[attr-defined]
        accuracy = EXACT if self.operator.shape[0] <= FEW_ROWS else ACCURACY
        if tolerance > FINE:  # enough to rank ridges, of a rough path or near its best
            accuracy = (5 if tolerance > COARSE else 1) * ACCURACY
        return conjugate.minimise(problem, start, tolerance, dense, damping, accuracy)

    def _lbfgs(self, problem: Problem, start: Point, tolerance: float, damping: float) -> Found:
        """In stretches of some steps; where one is not enough, the sketch is made anew.

        Rows of a new sketch are weighted by the curvature of the loss where the search has come to.
        """
        steps, point = 0, start
        while True:
            curvature = problem.typical_curvature(point)
            change: Preconditioner | None = None
            if problem.limits is None:
                change = self._change(2 * problem.penalty / (1.0 if self.weighted else curvature))
            limit = STRETCH if problem.limits is None else lbfgs.MAX_STEPS
            found = lbfgs.minimise(problem, point, tolerance, change, curvature, limit)
            steps += found.iterations
            stalled = found.stopped != lbfgs.OUT_OF_STEPS
            gained = float(point.value.sum() - found.point.value.sum())
            hopeless = change is None or gained <= 1e-9 * float(problem.excess(point).sum())
            if found.converged or steps >= lbfgs.MAX_STEPS or (stalled and hopeless):
                return replace(found, iterations=steps)
            point = found.point
            each = problem.curvature(point.scores).mean(axis=1)
            each = np.maximum(each, 0.01 * problem.typical_curvature(point) * problem.weights)
            self._renew(each)

    def _renew(self, weights: Array | None) -> Sketch:
        """A sketch of all rows, weighted by ω or by a curvature."""
        sketch = self.operator.sketch(self.sketch_rows, weights)
        self.sketch, self.weighted = Sketch(sketch, self.operator.pool), weights is not None
        return self.sketch

    def _change(self, ridge: float) -> Preconditioner:
        sketch = self.sketch or self._renew(None)
        return sketch.preconditioner(ridge)


def _unlike(targets: Array) -> bool:
    """Whether columns of targets are of such different size that they are better kept apart."""
    sizes = np.abs(targets - targets.mean(axis=0)).mean(axis=0)
    return len(sizes) > 1 and bool(sizes.max() > 3 * sizes.min()) and not (targets**2 == 1).all()
