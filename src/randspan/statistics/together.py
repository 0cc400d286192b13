"""What is left out together: rows with equal inputs.

Leaving out a row whose inputs stand there twice tells nothing: the model has seen them all the
same. Rows with equal inputs are therefore left out together, whatever their targets. Without such
a set S of rows, of weight g and mean target m, a ridge fit misses that mean by

    m - f₋ₛ(x) = (m - f(x))/(1 - g·h(x)),   h(x) = 1/Σω + z̃'(Z̃'Z̃ + μI)⁻¹z̃,

and a row of the set by y - m more. Where rows have equal inputs by chance (`keys.by_chance`)
each is a set of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families.shared.randomness import raw_bits
from ..keys import Keys, mixed_in
from ..sources import Source
from ..sums import total_in

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Together:
    """Sets of rows, in the order in which their first rows came.

    Attributes
    ----------
    first : ndarray of shape (n_sets,)
        The index of one row of each.
    places : ndarray of shape (n_rows,)
        The set of every row, -1 for rows of weight 0.
    weights : ndarray of shape (n_sets,)
        Σω.
    targets : ndarray of shape (n_sets, n_targets)
        The weighted mean of targets.
    scatter : ndarray of shape (n_sets, n_targets)
        Σω(y - m)² about that mean.
    keys : ndarray of shape (n_sets,)
    """

    first: NDArray[np.intp]
    places: NDArray[np.intp]
    weights: Array
    targets: Array
    scatter: Array
    keys: Keys

    @classmethod
    def of(cls, keys: Keys, targets: Array, each: Array) -> Together:
        """Rows of weight ``each`` with equal ``keys``."""
        present = np.flatnonzero(each > 0)
        known, first, found = np.unique(keys[present], return_index=True, return_inverse=True)
        order, places = np.argsort(first), np.full(len(each), -1)
        places[present] = mine = np.argsort(order)[found]
        first, count = present[first[order]], len(known)
        if count == len(present):  # nothing is equal, and means are the targets themselves
            Y = targets[first]
            return cls(first, places, each[first], Y, np.zeros_like(Y), known[order])
        share, Y = each[present], targets[present]
        weights = total_in(mine, share, count)
        # Beyond the smallest of each, so that equal targets have their own value for a mean.
        origin = np.full((count, Y.shape[1]), np.inf)
        np.minimum.at(origin, mine, Y)
        away = Y - origin[mine]
        means = _sums(mine, share[:, None] * away, count) / weights[:, None]
        scatter = _sums(mine, share[:, None] * (away - means[mine]) ** 2, count)
        return cls(first, places, weights, origin + means, scatter, known[order])

    @classmethod
    def of_source(cls, source: Source) -> Together:
        """The sets of the rows of a source."""
        return cls.of(source.left_out_keys, source.targets(), source.each)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def within(self) -> Array:
        """The mean square by which rows of a set miss its mean, over rows and targets."""
        return self.scatter.mean(axis=1) / self.weights


def _sums(places: NDArray[np.intp], values: Array, count: int) -> Array:
    return np.stack([total_in(places, column, count) for column in values.T], axis=1)


def lots(keys: Keys, seed: int) -> Keys:
    """A random number for every key."""
    return mixed_in(keys, raw_bits(seed, "lots", 1))


def folds_of(keys: Keys, seed: int, count: int) -> NDArray[np.intp]:
    """The fold of every row, of ``count`` of about the same number of keys; equal keys share it."""
    known, places = np.unique(lots(keys, seed), return_inverse=True)
    return np.arange(len(known))[places] % count
