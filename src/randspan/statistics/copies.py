"""Rows that are equal: which of them are copies, and leave together.

Leaving out a row that stands there twice tells nothing: the other one is still there. Rows that
are equal in inputs and targets are therefore left out together, if they are copies. Where targets
are numbers of all kinds they are. Where these are few (classes, counts), equal rows may just be
alike: they are taken for copies only where equal inputs never have different targets, and inputs
are such that equal ones do not come about by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families.parts.randomness import raw_bits
from ..families.parts.rows import fingerprints, mixed_in
from ..sources import Source

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]

# Fewer different inputs than this may well have come about by chance.
FEWEST_DIFFERENT, FEWEST_REPEATED = 8, 20
# Cells tell nothing of columns. Rows are alike by chance where there are more of them for a place.
MANY_OF_A_KIND = 20
# Rows whose fingerprints are computed at once.
STEP = 8192


def left_out_together(source: Source) -> Array:
    """For every row the weight that is left out with it: its own, and that of its copies."""
    inputs = inputs_of(source)
    if len(np.unique(inputs)) == source.n_rows:
        return source.each
    return weights_gone(inputs, source.targets(), source.each, source.X)


def inputs_of(source: Source) -> Keys:
    """A number for every row by its inputs."""
    starts = range(0, source.n_rows, STEP)
    return np.concatenate([fingerprints(source.X[s : s + STEP]) for s in starts])


def lots(keys: Keys, seed: int) -> Keys:
    """A random number for every row, which its place has no part in."""
    return mixed_in(keys, raw_bits(seed, "lots", 1))


def with_targets(inputs: Keys, targets: Array) -> Keys:
    """A number for every row by its inputs and targets, given one by its inputs."""
    return mixed_in(inputs, np.ascontiguousarray(targets.T + 0.0).view(np.uint64))


def weights_gone(inputs: Keys, targets: Array, each: Array, X: Any = None) -> Array:
    """The same, by a number for the inputs of every row; X are the inputs, where they are kept."""
    different, which = np.unique(inputs, return_inverse=True)
    if len(different) == len(inputs):
        return each
    rows = with_targets(inputs, targets)
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    kinds = len(np.unique(with_targets(np.zeros_like(inputs), targets)))
    if len(first) < FEWEST_DIFFERENT or 2 * kinds <= len(first):  # equal ones may be chance
        agree = len(first) == len(different)
        if not (agree and _copied(X, which, first)):
            return each
    return np.bincount(places, each)[places].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Rows that are equal in inputs and targets, put together.

    ``first`` is one row of each kind, in the order in which they came, ``places`` the kind of every
    row (-1 for rows of weight 0), ``weights`` what rows of a kind weigh, ``keys`` their numbers.
    """

    first: NDArray[np.intp]
    places: NDArray[np.intp]
    weights: Array
    keys: Keys

    @classmethod
    def of(cls, inputs: Keys, targets: Array, each: Array) -> Kinds:
        """By a number for the inputs of every row."""
        present = np.flatnonzero(each > 0)
        keys = with_targets(inputs[present], targets[present])
        known, first, found = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        places = np.full(len(each), -1)
        places[present] = np.argsort(order)[found]
        weights = np.bincount(places[present], each[present]).astype(np.float64)
        return cls(present[first[order]], places, weights, known[order])


def _copied(X: Any, which: NDArray[np.intp], first: NDArray[np.intp]) -> bool:
    """Whether equal inputs are copies: some column hardly ever repeats, or all repeat alike."""
    if len(first) < FEWEST_DIFFERENT:
        return False
    if len(first) >= FEWEST_REPEATED and np.gcd.reduce(np.bincount(which)) > 1:
        return True
    if X is None:
        return len(which) < MANY_OF_A_KIND * len(first)
    few = X[first]
    for m in range(X.shape[1]):
        column = few[:, [m]].toarray() if hasattr(few, "toarray") else few[:, m]
        values = np.unique(column)
        if 2 * len(values) > len(first) and (values != np.round(values)).any():
            return True
    return False
