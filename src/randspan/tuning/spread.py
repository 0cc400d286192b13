"""How far predictions are off, and where: what intervals are made of.

Errors of rows without themselves say how far off predictions are; their quantiles are an interval
of constant width. Where errors differ from place to place, trees that learn log|error| from other
rows scale them, if the intervals of rows that these had no part in are sharper for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import model, predictions
from ..engines import Engine
from ..families import Trees
from ..frame import Reading
from ..portfolio import Spread
from ..solvers import Task
from ..sources import Source
from .combining import coarse

Array = NDArray[np.float64]

# Trees of so many rows at least in a leaf; rows below which nothing local is learned.
TREES, LEAF, FEW_ROWS = 40, 10, 200
# Half of the trees have not seen a row: with fewer, its scale would be noisier than that of a new
# row, for which all are asked, and intervals too wide.
SHARE = 0.5
# Errors are at least this share of their median.
FLOOR = 0.05
MANY_COLUMNS = 1_000
# The coverage that intervals are compared at.
COVERAGE = 0.9


def law(n_features: int) -> Trees:
    """The trees that learn how large errors are; of very many columns few are tried for a cut."""
    third = max(1, n_features // 3)
    columns = third if n_features <= MANY_COLUMNS else min(third, round(n_features**0.5))
    return Trees(SHARE, columns, min_samples_leaf=LEAF)


def of_errors(
    plain: Spread, source: Source, reading: Reading, standardize, task: Task, engine: Engine
) -> Spread:
    """The spread of errors of rows without themselves, with a local scale where that is sharper."""
    if source.n_rows < FEW_ROWS:
        return plain
    size = np.abs(plain.relative)
    floor = FLOOR * np.median(size, axis=0)
    floor = np.where(floor > 0, floor, np.finfo(np.float64).tiny)
    logs = coarse(np.log(np.maximum(size, floor)))
    rows = replace(source, encoded=logs.__getitem__)
    frame = reading.frame(law(source.n_features), TREES, standardize)
    frame = frame.trained_on(rows, False, engine.threads, lambda done: None)
    extent = np.array([logs.min(axis=0), logs.max(axis=0)])
    local = model.fit(frame, rows, replace(task, heldout=False), extent, engine)
    scale = np.exp(predictions.left_out(local, rows, engine))
    scaled = replace(plain, local=local, scales=scale)
    return scaled if _interval_score(scaled) < _interval_score(plain) else plain


def _interval_score(spread: Spread) -> float:
    """Width, and 2/(1 - coverage) for every unit that an error lies outside (Gneiting, Raftery)."""
    away, (lower, upper) = spread.errors, spread.limits(COVERAGE)
    scale = np.ones_like(away) if spread.scales is None else spread.scales
    scale = scale if spread.ahead is None else scale * spread.ahead
    low, high = lower * scale, upper * scale
    outside = np.maximum(low - away, 0) + np.maximum(away - high, 0)
    units = away.std(axis=0)
    score = (high - low + 2 / (1 - COVERAGE) * outside) / np.where(units > 0, units, 1)
    return float(np.average(score.mean(axis=1), weights=spread.weights))
