"""What a solved model says of rows: scores, leverages, scores without a row, probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .engines import Engine
from .families.randomness import raw_bits
from .model import Array, Model
from .solvers import METHODS, LeastSquares
from .sources import Source

# Rows whose leave-one-out scores probabilities are fitted to, and how many there must be.
CALIBRATION_ROWS, FEWEST_ROWS = 2000, 10


def scores(model: Model, source: Source, engine: Engine, unseen: bool = False) -> Array:
    """f(x) for every row and target; ``unseen``, from functions that have not seen the row."""
    solution = model.found

    def of(Z: NDArray, rows: slice) -> Array:
        return Z.astype(np.float64, copy=False) @ solution.coef + solution.intercept

    return engine.map(model.features(source, unseen), of)


def least_squares(model: Model, wanted: str) -> LeastSquares:
    """The solution, where it is one that knows degrees of freedom and leverages."""
    family, solution = model.frame.family, model.found
    if family.uses_target:
        raise ValueError(
            f"{wanted} would take functions for independent of the targets, from which those of "
            f"{family!r} have learned. Out-of-bag predictions: leave_one_out, and oob_error_ where "
            "alpha='auto'."
        )
    if solution.least_squares is None:
        raise ValueError(
            f"{wanted} needs the squared loss without a box, solved from statistics (solver "
            "'eigen', 'cholesky', 'dual' or 'qr'; for cells 'dual', and as few rows as an n × n "
            f"matrix may have); this model was solved by {solution.solver!r}."
        )
    return solution.least_squares


def leverages(model: Model, source: Source, solution: LeastSquares, engine: Engine) -> Array:
    """z̃'(Z̃'Z̃ + μI)⁻¹z̃ + 1/Σω for every row, the second term for the intercept."""
    features = model.features(source)

    def of(Z: NDArray, rows: slice) -> Array:
        return solution.leverages(Z, model.functions.squares(features.rows(rows)))

    return engine.map(features, of) + (1 / solution.weight if model.task.intercept else 0)


def left_out(model: Model, source: Source, engine: Engine) -> Array:
    """Scores of the models fitted without one row each: y - e/(1 - h)."""
    functions = model.functions
    if model.frame.family.uses_target:
        if functions.bags is None or functions.coded_parts:
            raise ValueError(
                "leave_one_out asks functions that have not seen a row, and here all have, or "
                "their leaves have weights that did: use bootstrap < 1 and output='value'."
            )
        return _out_of_bag(model, source, engine)
    solution = least_squares(model, "leave_one_out")
    sharper = METHODS[model.plan.method, model.plan.statistics].sharper
    if sharper:
        # 1 - h is a small difference: worth the singular vectors of the rows themselves.
        made = replace(model.plan, method=sharper, smallest_ridge=False)
        again = replace(model, plan=made, task=replace(model.task, alpha=solution.alpha))
        solution = least_squares(again.with_weights(None, engine), "leave_one_out")
    left = 1 - source.each * leverages(model, source, solution, engine)
    if (left < 1e-10).any():
        row = int(np.argmin(left))
        raise ValueError(
            f"The model passes through row {row} whatever its target, so leaving it out is not "
            "defined by the fit alone: use alpha > 0 or fewer functions."
        )
    Y = source.targets()
    return Y - (Y - scores(model, source, engine)) / left[:, None]


def _out_of_bag(model: Model, source: Source, engine: Engine) -> Array:
    """Out-of-bag predictions of training rows."""
    numbers = model.features(source, unseen=True).numbers
    unknown = 0 if numbers is None else int((numbers < 0).sum())
    if unknown and model.all_known:
        raise ValueError(
            f"{unknown} of {source.n_rows} rows are not among those that functions have learned "
            "from: hand in rows and targets as they were handed to fit, to the last bit."
        )
    return scores(model, source, engine, unseen=True)


def calibrated(model: Model, source: Source, engine: Engine) -> Model:
    """The model with the numbers of its probabilities, from scores of rows held out."""
    solution, functions = model.found, model.functions
    without = replace(model, solution=replace(solution, heldout=None))
    if model.frame.family.uses_target and functions.bags is None:
        return without  # every function was trained on every row
    if solution.heldout is None or (functions.bags is not None and not functions.coded_parts):
        bits = raw_bits(model.frame.seed, "calibration", source.n_rows)
        rows = np.sort(np.argsort(bits)[:CALIBRATION_ROWS])
        found = _scores_without(model, source.some(rows), engine)
    else:
        rows, found = solution.heldout.rows, solution.heldout.scores
    each = source.each[rows]
    known = (each > 0) & np.isfinite(found).all(axis=1)
    rows, found, each = rows[known], found[known], each[known]
    # Weights may be counts, or sum to anything: a row counts as one at least.
    count = max(float(each.sum()), float(len(rows)))
    if count < FEWEST_ROWS:
        return without
    targets = source.targets()[rows]
    calibration = Calibration.of(found, targets, each * count / each.sum())
    return replace(without, calibration=calibration)


def _scores_without(model: Model, source: Source, engine: Engine) -> Array:
    """Scores of rows without themselves, nan where a model passes through a row.

    At most one unit of weight is left out, so that a row of weight two is two rows. Functions that
    learned from targets are asked about rows they have not seen.
    """
    if model.functions.bags is not None:
        return scores(model, source, engine, unseen=True)
    found, solution = scores(model, source, engine), model.found.least_squares
    if solution is None:  # in a box there is no formula
        return found
    units = np.ones(source.n_rows) if source.units is None else source.units
    left = 1 - np.minimum(source.each, units) * leverages(model, source, solution, engine)
    left = np.where(left < 1e-6, np.nan, left)
    Y = source.targets()
    return Y - (Y - found) / left[:, None]
