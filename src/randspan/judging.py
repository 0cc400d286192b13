"""Rows that ridges are judged by: all of them, or those that tell most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .engines import Engine
from .families.shared.randomness import raw_bits
from .features import Features, in_double
from .footprint import FEW_VALUES
from .keys import with_targets
from .solvers import spectrum
from .solvers.alpha import STEPS_PER_DECADE, by_gcv, lattice
from .solvers.left_out import TOUCHES, Judges
from .solvers.solution import LeastSquares
from .solvers.validation import Validation
from .sources import Block, Source
from .statistics import Moments
from .statistics.together import Together, lots

Array = NDArray[np.float64]

# Beyond so many rows, or products for one ridge, some rows judge for all: those of the largest
# leverage, which few functions tell, and one of every stratum of the others, ordered by leverage.
MANY_ROWS, MANY_PRODUCTS = 10_000, 5e9
LEADING, STRATA = 500, 1_500
FEW_FUNCTIONS = 128
# Rows of a block of features that are kept from one ridge to the next.
ROWS_AT_ONCE = 512
# Random signs that leverages of all rows are found with.
SIGNS = 32
# Larger leverages are computed exactly: beside 1 nothing else would tell them apart.
LARGEST = 0.99
# Columns of products that an eigendecomposition serves at once, whatever the ridges.
AT_ONCE = 1024


def judges(
    features: Features, intercept: bool, engine: Engine, limits: Array | None = None
) -> Judges:
    """The sets of rows that ridges of these features are judged by.

    ``limits`` are what predictions are clipped to.
    """
    source, k = features.source, features.n_columns
    together = Together.of_source(source)
    every, n = Judges.of(together, limits), len(together)
    dear = k > AT_ONCE and n * k**2 > MANY_PRODUCTS
    if n <= LEADING + STRATA or not (n > MANY_ROWS or dear):
        return replace(every, map=_mapping(_of_rows(features, together.first), engine))
    sets, weights = _some(features, together, intercept, engine)
    mapping = _mapping(_of_rows(features, together.first[sets]), engine)
    return every.some(sets, weights, mapping)


def validation(
    features: Features,
    found: LeastSquares,
    intercept: bool,
    engine: Engine,
    limits: Array | None = None,
) -> Validation:
    """The leave-one-out error over all rows, where some have judged for all.

    Leverages ‖Tz‖² come from random signs S, E‖S'Tz‖² = ‖Tz‖², in one pass of few products a row;
    those of the rows that make most of the error are then computed exactly.
    """
    each = 1 / found.weight if intercept else 0.0
    together = Together.of_source(features.source)
    judges, mine = Judges.of(together, limits), _of_rows(features, together.first)
    root, mean = found.posterior.root, found.mean
    signs = 1.0 - 2.0 * (raw_bits(0, "leverages", SIGNS * len(root)) >> np.uint64(63))
    sketch = root.T @ signs.reshape(-1, SIGNS) / np.sqrt(SIGNS)
    # Estimates of leverages need no more than the precision of the features.
    narrow, centre = sketch.astype(features.dtype), (mean @ sketch).astype(features.dtype)

    def sketched(Z: NDArray, block: Block) -> Array:
        away = judges.targets[block.rows] - found.intercept - in_double(Z, found.coef)
        lengths = Z @ narrow - centre
        return np.column_stack([away, np.einsum("rs,rs->r", lengths, lengths)])

    known = engine.map(mine, sketched)
    away, leverages = known[:, :-1], known[:, -1] + each
    touched = np.minimum(judges.gone * leverages, LARGEST)
    # Leverages have the relative variance 2/SIGNS: 1/(1 - gh)² is so much too large on average.
    large = np.sqrt(1 + 6 / SIGNS * (touched / (1 - touched)) ** 2)

    def squares_of(left: Array, rows: slice | NDArray[np.intp]) -> Array:
        missed = [judges.missed(one / left, rows, j) for j, one in enumerate(away[rows].T)]
        return np.mean(np.square(missed), axis=0)

    squares = squares_of((1 - touched) * large, slice(None))
    largest = (np.argsort(-values)[:LEADING] for values in (judges.shares * squares, touched))
    most = np.unique(np.concatenate(list(largest)))
    exactly = engine.map(
        _of_rows(mine, most), lambda Z, block: found.posterior.quadratic(Z - mean) + each
    )
    left = 1 - judges.gone[most] * exactly
    squares[most] = np.where(left > TOUCHES, squares_of(np.maximum(left, TOUCHES), most), np.inf)
    return judges.validation(squares + judges.within)


def _of_rows(features: Features, rows: NDArray[np.intp]) -> Features:
    """The features of some rows, in the order of the data."""
    if len(rows) == len(features):
        return features
    return replace(features, source=features.source.some(rows))


def _mapping(features: Features, engine: Engine) -> Callable[[Callable], Array]:
    """A map over blocks of rows, whose features are kept where they are few."""
    if len(features) * features.n_columns > FEW_VALUES:
        return lambda function: engine.map(features, lambda Z, block: function(Z, block.rows))
    Z = engine.map(features, lambda Z, block: Z)
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(Z), ROWS_AT_ONCE)]

    def run(function: Callable[[NDArray, slice], Array]) -> Array:
        with engine.pool() as pool:
            return np.concatenate(pool(lambda rows: function(Z[rows], rows), parts))

    return run


def _some(
    features: Features, together: Together, intercept: bool, engine: Engine
) -> tuple[NDArray[np.intp], Array]:
    """Sets of the largest leverage, one of every stratum of the others, and what they weigh."""
    weights, drawn_by = together.weights, lots(together.keys, features.frame.seed)
    leverages = weights * _leverages(features, together.first, intercept, engine)
    order = np.lexsort((drawn_by, -leverages))
    strata = np.array_split(order[LEADING:], STRATA)
    drawn = [stratum[np.argmin(drawn_by[stratum])] for stratum in strata]
    sets = np.concatenate([order[:LEADING], drawn])
    counted = [weights[stratum].sum() for stratum in strata]
    back = np.argsort(sets)
    return sets[back], np.concatenate([weights[order[:LEADING]], counted])[back]


def by_lots(source: Source, seed: int) -> NDArray[np.intp]:
    """Row indices in random order, rows that are left out together one after the other.

    The order is one of keys: that in which rows came has no part in it.
    """
    rows = with_targets(source.keys, source.targets())
    return np.lexsort((rows, lots(source.left_out_keys, seed)))


def whole_sets(source: Source, order: NDArray[np.intp], count: int) -> int:
    """Where to cut an order of rows, at ``count`` or behind it, so that no set is torn."""
    keys = source.left_out_keys
    while 0 < count < len(order) and keys[order[count - 1]] == keys[order[count]]:
        count += 1
    return count


def _leverages(
    features: Features, rows: NDArray[np.intp], intercept: bool, engine: Engine
) -> Array:
    """Leverages of some rows in the span of few functions; alike where these cannot be drawn."""
    frame, few = features.frame, features.functions
    if frame.trained is None and frame.n_components > FEW_FUNCTIONS:
        frame = frame.with_components(FEW_FUNCTIONS)
        few = frame.functions()
    part = replace(features, frame=frame, functions=few)
    if few.n_columns > 4 * FEW_FUNCTIONS:
        return np.zeros(len(rows))
    path = spectrum.from_moments(Moments.read(part, engine), intercept, features.dtype)
    scale = frame.ridge_scale
    alphas = lattice(path, scale, features.dtype, STEPS_PER_DECADE)
    if not len(alphas) or path.counted <= 1 + path.intercept:
        return np.zeros(len(rows))
    posterior = path.solution(by_gcv(path, scale, alphas), scale, "").posterior
    mine = _of_rows(part, rows)
    return engine.map(mine, lambda Z, block: posterior.quadratic(Z - path.mean))
