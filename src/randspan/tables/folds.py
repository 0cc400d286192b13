"""Folds of rows by what is in them: the same for a row in any block, in any order.

Statistics of targets leave out the fold of a row, so that it is not told its own target. Rows of
equal inputs are in one fold, so that no copy tells it either. Where inputs are so few that equal
ones are chance (`keys.few_places`), or hardly more than the levels of a category (measured more
than once, with other results), that would leave nothing of a level: rows are then told apart by
their targets, and those that are equal in both by their number among these, heavier ones first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..keys import Keys, few_places, mixed_in, with_targets
from .reading import CATEGORY, Table

Array = NDArray[np.float64]

FOLDS = 10
# Results differ where so many more rows differ in inputs or targets than in inputs.
OTHER_RESULTS = 1.25


def told_apart(table: Table, targets: Array | None) -> bool:
    """Whether rows of equal inputs are told apart."""
    if few_places(table.keys):
        return True
    levels = [len(np.unique(one.values)) for one in table.columns if one.kind == CATEGORY]
    places = len(np.unique(table.keys))
    if targets is None or 2 * max(levels, default=0) <= places:
        return False
    _, counts = np.unique(with_targets(table.keys, targets), return_counts=True)
    repeated = np.gcd.reduce(counts) > 1  # rows as they are, by somebody
    return len(counts) > OTHER_RESULTS * places and not repeated


def folds_of(
    keys: Keys, chance: bool, targets: Array | None = None, weights: Array | None = None
) -> NDArray[np.intp]:
    """The fold of every row, given its key and whether equal keys are chance."""
    if chance:
        keys = keys if targets is None else with_targets(keys, targets)
        keys = mixed_in(keys, _number(keys, weights)[None])
    return (mixed_in(keys, np.full((1, 1), FOLDS)) % np.uint64(FOLDS)).astype(np.intp)


def _number(keys: Keys, weights: Array | None) -> NDArray[np.intp]:
    """How many rows of the same key are heavier than a row, or as heavy and before it."""
    order = np.lexsort((keys,) if weights is None else (-weights, keys))
    _, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    found = np.empty(len(keys), np.intp)
    found[order] = np.arange(len(keys)) - np.repeat(first, counts)
    return found
