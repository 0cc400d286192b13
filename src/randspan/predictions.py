"""What a solved model says of rows: scores, leverages, scores without a row, probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .calibration import Calibration
from .engines import Engine
from .families import Family
from .families.parts.randomness import raw_bits
from .model import Array, Model
from .portfolio import Portfolio, Spread
from .solvers import METHODS, LeastSquares, Solution
from .solvers.solution import SAVED_WITHOUT
from .solvers.validation import Validation
from .sources import Source

# Rows whose leave-one-out scores probabilities are fitted to, and how many there must be.
CALIBRATION_ROWS, FEWEST_ROWS = 2000, 10


def scores(
    model: Model | Portfolio, source: Source, engine: Engine, out_of_bag: bool = False
) -> Array:
    """f(x) for every row and target; ``out_of_bag``, from functions not trained on the row."""
    parts = [weight * _of_one(one, source, engine, out_of_bag) for weight, one in model.parts]
    return np.sum(parts, axis=0) + model.offset


def _of_one(model: Model, source: Source, engine: Engine, out_of_bag: bool) -> Array:
    features, coef = model.features(source, out_of_bag), model.found.coef
    if model.functions.plain is not None:
        plain, mixed = model.functions.plain
        features, coef = replace(features, functions=plain), mixed.T @ coef
    found = engine.map(features, lambda Z, rows: _scores(model, Z, coef))
    if not np.isfinite(found).all():
        raise ValueError(
            f"Predictions of {int((~np.isfinite(found)).any(axis=1).sum())} rows are not finite: "
            "functions are not defined there, or overflow. Look for very large inputs."
        )
    return found


def with_leverages(
    model: Model, source: Source, engine: Engine, solution: LeastSquares
) -> tuple[Array, Array]:
    """f(x), and the leverage z̃'(Z̃'Z̃ + μI)⁻¹z̃ + 1/Σω of every row, from one pass over them.

    The second term is for the intercept.
    """
    features, coef, leverages = model.features(source), model.found.coef, solution.leverages
    if model.functions.plain is not None and source.n_rows > len(coef):
        plain, mixed = model.functions.plain
        through = solution.posterior.through(mixed, solution.mean)
        if through is not None:
            features, coef = replace(features, functions=plain), mixed.T @ coef
            leverages = through.quadratic

    def of(Z: NDArray, rows: slice) -> Array:
        squares = model.functions.squares(features.rows(rows))
        return np.column_stack([_scores(model, Z, coef), leverages(Z, squares)])

    found = engine.map(features, of)
    return found[:, :-1], found[:, -1] + (1 / solution.weight if model.task.intercept else 0)


def _scores(model: Model, Z: NDArray, coef: Array) -> Array:
    return Z.astype(np.float64, copy=False) @ coef + model.found.intercept


def least_squares(model: Model, solution: Solution, wanted: str) -> LeastSquares:
    """The solution, where it is one that knows degrees of freedom and leverages."""
    family = model.frame.family
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


def validation(family: Family, solution: Solution) -> Validation:
    """The error on new rows, as far as a fit knows it."""
    if family.uses_target and solution.least_squares is not None:
        return Validation(
            None,
            reason="generalised cross-validation takes functions for independent of the targets, "
            f"from which those of {family!r} have learned: alpha='auto' uses out-of-bag rows",
        )
    return solution.validation


def left_out(model: Model | Portfolio, source: Source, engine: Engine) -> Array:
    """Scores of the models fitted without one row each: y - e/(1 - h).

    A portfolio remembers them, with weights that other rows gave, until rows come or go.
    """
    if isinstance(model, Portfolio):
        if model.left_out is not None:
            return model.left_out(source)
        parts = [weight * left_out(one, source, engine) for weight, one in model.parts]
        return np.sum(parts, axis=0) + model.offset
    if model.lean:
        raise ValueError(SAVED_WITHOUT.format("leave_one_out"))
    functions = model.functions
    if model.frame.family.uses_target:
        if functions.out_of_bag is None or functions.cell_parts:
            raise ValueError(
                "leave_one_out needs out-of-bag predictions, and here every function was trained "
                "on every row, or leaves have weights that were: use bootstrap < 1 and "
                "output='value'."
            )
        return _out_of_bag(model, source, engine)
    solution = least_squares(model, model.found, "leave_one_out")
    sharper = METHODS[model.plan.method, model.plan.statistics].sharper
    if sharper:
        # 1 - h is a small difference: worth the singular vectors of the rows themselves.
        made = replace(model.plan, method=sharper, smallest_ridge=False)
        again = replace(model, plan=made, task=replace(model.task, alpha=solution.alpha))
        again = again.with_weights(None, engine)
        solution = least_squares(again, again.found, "leave_one_out")
    found, leverages = with_leverages(model, source, engine, solution)
    left = 1 - source.each * leverages
    if (left < 1e-10).any():
        row = int(np.argmin(left))
        raise ValueError(
            f"The model passes through row {row} whatever its target, so leaving it out is not "
            "defined by the fit alone: use alpha > 0 or fewer functions."
        )
    Y = source.targets()
    return Y - (Y - found) / left[:, None]


def _out_of_bag(model: Model, source: Source, engine: Engine) -> Array:
    """Out-of-bag predictions of training rows."""
    indices = model.features(source, out_of_bag=True).indices
    unknown = 0 if indices is None else int((indices < 0).sum())
    if unknown and model.all_known:
        raise ValueError(
            f"{unknown} of {source.n_rows} rows are not among those that functions have learned "
            "from: hand in rows and targets as they were handed to fit, to the last bit."
        )
    return scores(model, source, engine, out_of_bag=True)


def calibrated(model: Model, source: Source, engine: Engine) -> Model:
    """The model with the numbers of its probabilities, from scores of rows held out."""
    solution, functions = model.found, model.functions
    without = replace(model, solution=replace(solution, heldout=None))
    if model.frame.family.uses_target and functions.out_of_bag is None:
        return without  # every function was trained on every row
    if solution.heldout is None or (functions.out_of_bag is not None and not functions.cell_parts):
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
    learned from targets have out-of-bag predictions.
    """
    if model.functions.out_of_bag is not None:
        return scores(model, source, engine, out_of_bag=True)
    solution = model.found.least_squares
    if solution is None:  # in a box there is no formula
        return scores(model, source, engine)
    found, leverages = with_leverages(model, source, engine, solution)
    units = np.ones(source.n_rows) if source.units is None else source.units
    left = 1 - np.minimum(source.each, units) * leverages
    left = np.where(left < 1e-6, np.nan, left)
    Y = source.targets()
    return Y - (Y - found) / left[:, None]


# -- how far off -----------------------------------------------------------------------------------


def spread(model: Portfolio, source: Source, engine: Engine) -> tuple[Array, Array]:
    """f(x), and the standard deviation of a new observation there."""
    assert model.spread is not None
    return scores(model, source, engine), _local(model, source, engine) * model.spread.deviation


def interval(
    model: Model | Portfolio, source: Source, engine: Engine, coverage: float
) -> tuple[Array, Array, Array]:
    """f(x), and how far below and above it a new observation lies with this chance."""
    if isinstance(model, Portfolio):
        assert model.spread is not None
        scale = _local(model, source, engine)
        lower, upper = model.spread.limits(coverage)
        return scores(model, source, engine), lower * scale, upper * scale
    rows = model.rows
    if rows is not None:
        away = rows.targets() - left_out(model, rows, engine)
        lower, upper = Spread(away, rows.each).limits(coverage)
        return scores(model, source, engine), lower, upper
    solution = least_squares(model, model.found, "predict_interval")
    found, leverages = with_leverages(model, source, engine, solution)
    half = ndtri((1 + coverage) / 2) * np.sqrt(solution.noise_variance * (1 + leverages[:, None]))
    return found, -half, half


def _local(model: Portfolio, source: Source, engine: Engine) -> Array:
    """How large errors are near x, beside each other."""
    assert model.spread is not None
    local = model.spread.local
    return np.ones((1, 1)) if local is None else np.exp(scores(local, source, engine))
