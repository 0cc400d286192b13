"""Rows that ridges are judged by: all of them, or those that tell most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .engines import Engine
from .features import Features
from .solvers import spectrum
from .solvers.alpha import STEPS_PER_DECADE, by_gcv, lattice
from .solvers.left_out import Judges
from .sources import Source
from .statistics import Moments
from .statistics.copies import inputs_of, left_out_together, lots, with_targets

Array = NDArray[np.float64]

# Beyond so many rows, or products for one ridge, some rows judge for all: those of the largest
# leverage, which few functions tell, and one of every stratum of the others, ordered by leverage.
MANY_ROWS, MANY_PRODUCTS = 10_000, 5e9
LEADING, STRATA = 500, 1_500
FEW_FUNCTIONS = 128
# Features that are kept from one ridge to the next, 64 MB of float64, and rows of a block of them.
FEW_VALUES, ROWS_AT_ONCE = 2**23, 512
# Columns of products that an eigendecomposition serves at once, whatever the ridges.
AT_ONCE = 1024


def judges(features: Features, intercept: bool, engine: Engine) -> Judges:
    """The rows that ridges of these features are judged by."""
    source, k = features.source, features.n_columns
    gone = left_out_together(source)
    rows = np.flatnonzero(source.each > 0)
    shares = source.each[rows]
    dear = k > AT_ONCE and len(rows) * k**2 > MANY_PRODUCTS
    if len(rows) > LEADING + STRATA and (len(rows) > MANY_ROWS or dear):
        rows, shares = _some(features, gone, intercept, engine)
    some = source if len(rows) == source.n_rows else source.some(rows)
    known = (some.targets(), gone[rows], shares, source.each[rows])
    return Judges.of(*known, _mapping(replace(features, source=some), engine))


def _mapping(features: Features, engine: Engine) -> Callable[[Callable], Array]:
    """A map over blocks of rows, whose features are kept where they are few."""
    if len(features) * features.n_columns > FEW_VALUES:
        return lambda function: engine.map(features, function)
    Z = engine.map(features, lambda Z, rows: Z)
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(Z), ROWS_AT_ONCE)]

    def run(function: Callable[[NDArray, slice], Array]) -> Array:
        with engine.pool() as pool:
            return np.concatenate(pool(lambda rows: function(Z[rows], rows), parts))

    return run


def _some(
    features: Features, gone: Array, intercept: bool, engine: Engine
) -> tuple[NDArray[np.intp], Array]:
    """Rows of the largest leverage and one of every stratum of the others, and what they weigh."""
    source, seed = features.source, features.frame.seed
    each, drawn_by = source.each, lots_of(source, seed)
    present = np.flatnonzero(each > 0)
    leverages = gone * _leverages(features, intercept, engine)
    order = present[np.lexsort((drawn_by[present], -leverages[present]))]
    strata = np.array_split(order[LEADING:], STRATA)
    drawn = [stratum[np.argmin(drawn_by[stratum])] for stratum in strata]
    weights = [each[stratum].sum() for stratum in strata]
    rows = np.concatenate([order[:LEADING], drawn])
    shares = np.concatenate([each[order[:LEADING]], weights])
    back = np.argsort(rows)
    return rows[back], shares[back]


def lots_of(source: Source, seed: int) -> NDArray[np.uint64]:
    """A random number for every row, by its inputs and targets."""
    return lots(with_targets(inputs_of(source), source.targets()), seed)


def _leverages(features: Features, intercept: bool, engine: Engine) -> Array:
    """Leverages of all rows in the span of few functions; alike where these cannot be drawn."""
    frame, few = features.frame, features.functions
    if frame.trained is None and frame.n_components > FEW_FUNCTIONS:
        frame = frame.with_components(FEW_FUNCTIONS)
        few = frame.functions()
    part = replace(features, frame=frame, functions=few)
    if few.n_columns > 4 * FEW_FUNCTIONS:
        return np.zeros(len(features))
    path = spectrum.from_moments(Moments.read(part, engine), intercept)
    scale = frame.ridge_scale
    alphas = lattice(path, scale, features.dtype, STEPS_PER_DECADE)
    if not len(alphas) or path.counted <= 1 + path.intercept:
        return np.zeros(len(features))
    posterior = path.solution(by_gcv(path, scale, alphas), scale, "").posterior
    return engine.map(part, lambda Z, rows: posterior.quadratic(Z - path.mean))
