"""What a solved model says of rows: scores, leverages, scores without a row, probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .calibration import Calibration
from .engines import Engine
from .features import in_double
from .judging import by_lots, whole_sets
from .model import Array, Model, pool_of
from .once import once
from .portfolio import Expected, Portfolio, Spread, ahead, signals_of
from .reach import Reach
from .solvers import METHODS, LeastSquares, Solution, lasso
from .solvers.left_out import Judges
from .solvers.solution import SAVED_WITHOUT
from .solvers.task import L1
from .solvers.validation import Validation
from .sources import Block, Source
from .statistics import Cells, Moments
from .statistics.base import CannotFit
from .statistics.kept import RowKeeping
from .statistics.together import Together

# Rows whose leave-one-out scores probabilities are fitted to, and how many there must be.
CALIBRATION_ROWS, FEWEST_ROWS = 2000, 10


def n_far(model: Model | Portfolio, source: Source) -> tuple[int, int]:
    """How many rows lie far outside of training rows that are kept, and how many were looked at."""
    rows = model.rows
    if rows is None:
        return 0, source.n_rows
    reach = once(model, "_reach", lambda: Reach.of(model.frame, rows))
    return (0, source.n_rows) if reach is None else reach.n_far(source)


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
    return _finite(engine.map(features, lambda Z, block: _scores(model, Z, coef)))


def _finite(found: Array) -> Array:
    """Predictions that are numbers; refused where some are not."""
    odd = ~np.isfinite(found)
    if odd.any():
        raise CannotFit(
            f"Predictions of {int(odd.any(axis=1).sum())} rows are not finite: "
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
    solution.posterior.prepare(pool_of(engine))
    if model.functions.plain is not None and source.n_rows > len(coef):
        plain, mixed = model.functions.plain
        through = solution.posterior.of_mixed(mixed, solution.mean)
        if through is not None:
            features, coef = replace(features, functions=plain), mixed.T @ coef
            leverages = through.quadratic

    def of(Z: NDArray, block: Block) -> Array:
        squares = model.functions.squares(features.rows(block))
        return np.column_stack([_scores(model, Z, coef), leverages(Z, squares)])

    found = _finite(engine.map(features, of))
    return found[:, :-1], found[:, -1] + (1 / solution.weight if model.task.intercept else 0)


def _scores(model: Model, Z: NDArray, coef: Array) -> Array:
    return in_double(Z, coef) + model.found.intercept


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


def validation(model: Model, engine: Engine) -> Validation:
    """The error on new rows: what chose alpha, else by leaving out the rows that are kept."""
    family, solution = model.frame.family, model.found
    if family.uses_target and solution.least_squares is not None:
        return Validation(
            None,
            reason="generalised cross-validation takes functions for independent of the targets, "
            f"from which those of {family!r} have learned: alpha='auto' uses out-of-bag rows",
        )
    if solution.estimate is None and solution.least_squares and model.task.alpha != "gcv":
        found = once(model, "_validation", lambda: _left_out_error(model, engine))
        if found is not None:
            return found
    return solution.validation


def _left_out_error(model: Model, engine: Engine) -> Validation | None:
    """The leave-one-out error of the rows that a model keeps; None where a formula must do."""
    known = _of_own_rows(model, engine)
    if known is None or not np.isfinite(known[0]).all():
        return None
    rows, scores = known[2], known[0]
    together = Together.of_source(rows)
    judges = Judges.of(together, model.task.range(model.extent))
    away = (judges.targets - scores[together.first]).T[:, :, None]
    squares = judges.squares_left(away, np.ones((len(together), 1)), slice(None))
    return judges.validation(squares[:, 0])


def left_out(
    model: Model | Portfolio, source: Source, engine: Engine, together: Together | None = None
) -> Array:
    """Scores of the models fitted without one row each: y - e/(1 - h).

    Or without the sets of ``together``, the rows that are left out with a row. A portfolio
    remembers these, with weights that other rows gave, until rows come or go.
    """
    if isinstance(model, Portfolio):
        if model.left_out is not None:
            return model.left_out(source)
        parts = [weight * left_out(one, source, engine, together) for weight, one in model.parts]
        return np.sum(parts, axis=0) + model.offset
    return without(model, source, engine, together, sharp=True)[0]


def without(
    model: Model,
    source: Source,
    engine: Engine,
    together: Together | None = None,
    sharp: bool = False,
) -> tuple[Array, Array | None]:
    """Scores of the models fitted without one row each, and leverages of the rows in these.

    Leverages h/(1 - gh) are None where functions learned from targets. ``sharp`` asks for all
    digits of 1 - gh.
    """
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
        return _out_of_bag(model, source, engine), None
    solution = least_squares(model, model.found, "leave_one_out")
    sharper = METHODS[model.plan.method, model.plan.statistics].sharper
    if sharp and sharper:
        # 1 - h is a small difference: worth the singular vectors of the rows themselves.
        made = replace(model.plan, method=sharper, smallest_ridge=False)
        again = replace(model, plan=made, task=replace(model.task, alpha=solution.alpha))
        sharper_one = once(model, "_sharper", lambda: again.with_weights(None, engine))
        solution = least_squares(sharper_one, sharper_one.found, "leave_one_out")
    found, leverages = with_leverages(model, source, engine, solution)
    gone, targets = source.each, source.targets()
    if together is not None:
        gone, targets = together.weights[together.places], together.targets[together.places]
    with np.errstate(over="ignore"):  # infinite is passed through as well
        left = 1 - gone * leverages
    if (left < 1e-10).any():
        row = int(np.argmin(left))
        raise CannotFit(
            f"The model passes through row {row} whatever its target, so leaving it out is not "
            "defined by the fit alone: use alpha > 0 or fewer functions."
        )
    return targets - (targets - found) / left[:, None], leverages / left


def _out_of_bag(model: Model, source: Source, engine: Engine) -> Array:
    """Out-of-bag predictions of training rows."""
    out_of_bag = model.functions.out_of_bag
    assert out_of_bag is not None
    unknown = int((~out_of_bag.trained_on(source.keys, source.targets())).sum())
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
        order = by_lots(source, model.frame.seed)
        rows = np.sort(order[: whole_sets(source, order, CALIBRATION_ROWS)])
        found = _scores_without(model, source, rows, engine)
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


def _scores_without(model: Model, source: Source, rows: NDArray[np.intp], engine: Engine) -> Array:
    """Scores of some rows without these and what is left out with them.

    They are nan where a model passes through a row. Functions that learned from targets have
    out-of-bag predictions.
    """
    some = source.some(rows)
    if model.functions.out_of_bag is not None:
        return scores(model, some, engine, out_of_bag=True)
    solution, held = model.found.least_squares, model.statistics
    if solution is not None:
        found, leverages = with_leverages(model, some, engine, solution)
        leverages = leverages[:, None]
    elif model.task.penalty == L1 and isinstance(held, Moments):
        sums = held.centred(model.task.intercept, model.plan.dtype)
        of_active = lasso.leverages(sums, model.found.coef, model.task.intercept)
        found = scores(model, some, engine)
        leverages = engine.map(model.features(some), lambda Z, block: of_active(Z))
    else:  # in a box there is no formula
        return scores(model, some, engine)
    # Sets are those of all rows: some of these may look like few places.
    together = Together.of(source.left_out_keys[rows], some.targets(), some.each)
    left = 1 - together.weights[together.places][:, None] * leverages
    left = np.where(left < 1e-6, np.nan, left)
    targets = together.targets[together.places]
    return targets - (targets - found) / left


# -- how far off -----------------------------------------------------------------------------------


def spread(model: Portfolio, source: Source, engine: Engine) -> tuple[Array, Array]:
    """f(x), and the standard deviation of a new observation there."""
    known = _spread_of(model, engine)
    found, scale = _with_scale(model, known, source, engine)
    return found, scale * known.deviation


def interval(
    model: Model | Portfolio, source: Source, engine: Engine, coverage: float
) -> tuple[Array, Array, Array]:
    """f(x), and how far below and above it a new observation lies with this chance."""
    if isinstance(model, Model):
        known = once(model, "_spread", lambda: _spread_of_one(model, engine))
    else:
        known = _spread_of(model, engine)
    if known is not None:
        found, scale = _with_scale(model, known, source, engine)
        lower, upper = known.limits(coverage)
        return found, lower * scale, upper * scale
    assert isinstance(model, Model)
    solution = least_squares(model, model.found, "predict_interval")
    found, leverages = with_leverages(model, source, engine, solution)
    half = ndtri((1 + coverage) / 2) * np.sqrt(solution.noise_variance * (1 + leverages[:, None]))
    return found, -half, half


def _with_scale(
    model: Model | Portfolio, spread: Spread, source: Source, engine: Engine
) -> tuple[Array, Array]:
    """f(x), and how large errors are at x, beside each other."""
    scale: Array | float = 1.0
    if spread.local is not None:
        scale = np.exp(scores(spread.local, source, engine))
    if spread.signals is None:
        found = scores(model, source, engine)
        return found, np.broadcast_to(scale, found.shape)
    leverages, parts = [], []
    for (weight, one), signal in zip(model.parts, spread.signals, strict=True):
        solution = one.found.least_squares
        if signal.any() and solution is not None:
            found, above = with_leverages(one, source, engine, solution)
        else:
            found, above = _of_one(one, source, engine, False), np.zeros(source.n_rows)
        parts.append(weight * found)
        leverages.append(np.maximum(above, 0))
    return np.sum(parts, axis=0) + model.offset, scale * ahead(leverages, spread.signals)


def _of_own_rows(model: Model, engine: Engine) -> tuple[Array, Array | None, Source] | None:
    """Scores and leverages of training rows in the model without them, where they are known."""

    def found() -> tuple[Array, Array | None, Source] | None:
        solution, held = model.found.least_squares, model.statistics
        if isinstance(held, RowKeeping) and held.rows and not model.frame.family.uses_target:
            inside = None
            if solution is not None:
                solution.posterior.prepare(pool_of(engine))
                inside = solution.posterior.left_out()
            if inside is not None:
                return *inside, held.kept.source
        rows = None if isinstance(held, Cells) else model.rows
        if rows is None or (solution is None and not model.frame.family.uses_target):
            return None
        try:
            return *without(model, rows, engine, Together.of_source(rows)), rows
        except CannotFit:  # the fit passes through a row: formulas must do
            return None

    return once(model, "_of_own_rows", found)


def expected(
    source: Source, scores: Array, leverages: Array | None, together: Together
) -> Expected | None:
    """What a posterior expects of all rows; None without one, or where it knows some of them."""
    if leverages is None or not (np.isfinite(leverages).all() and np.isfinite(scores).all()):
        return None
    leverages = np.maximum(leverages, 0)
    return Expected.of(source.targets(), scores, leverages, together, source.each)


def _spread_of_one(model: Model, engine: Engine) -> Spread | None:
    """How far training rows are missed by the model without them, where they are still known."""
    known, heldout = _of_own_rows(model, engine), model.found.heldout
    rows = model.rows if known is None else known[2]
    if rows is None:
        return None
    left = None if known is None else known[0]
    if heldout is not None and len(heldout.rows) == rows.n_rows:  # by what had no part in scales
        left = np.empty_like(heldout.scores)
        left[heldout.rows] = heldout.scores
    if left is None or not np.isfinite(left).all():
        return None
    if known is None or not np.isfinite(known[0]).all():
        return Spread(rows.targets() - left, rows.each)
    return _spread_from([known[:2]], np.ones(1), left, rows)


def _spread_from(
    parts: list[tuple[Array, Array | None]], weights: Array, left: Array, rows: Source
) -> Spread:
    """The spread of a model whose parts have scores and leverages of rows without these."""
    together = Together.of_source(rows)
    beliefs = [expected(rows, *one, together) for one in parts]
    signals, errors = signals_of(beliefs, weights), rows.targets() - left
    if signals is None:
        return Spread(errors, rows.each)
    nothing = np.zeros(rows.n_rows)
    leverages = [nothing if one is None else one.leverages for one in beliefs]
    return Spread(errors, rows.each, ahead=ahead(leverages, signals), signals=signals)


def _spread_of(model: Portfolio, engine: Engine) -> Spread:
    """How far a portfolio is off: as its fit saw it, or anew for rows that came or went since."""
    if model.spread is not None:
        return model.spread
    rows = model.rows
    if rows is None:
        raise ValueError(
            "Rows came or went since the fit, and of so many none are kept to see how far "
            "predictions are off: fit anew, or choose one family."
        )
    return once(model, "_spread", lambda: _missed(model, rows, engine))


def _missed(model: Portfolio, rows: Source, engine: Engine) -> Spread:
    """Errors of rows without themselves, and those that are equal to them."""
    together = Together.of_source(rows)
    parts = [without(one, rows, engine, together) for one in model.models]
    left = np.sum([w * one for w, (one, _) in zip(model.weights, parts, strict=True)], axis=0)
    return _spread_from(parts, model.weights, left + model.offset, rows)
