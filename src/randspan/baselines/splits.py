"""The best split of one column, its rows sorted beforehand: one pass with running sums."""

from __future__ import annotations

import numpy as np

from ..families.shared.compiling import compiled

# Values that are nearer to each other are not told apart, as in scikit-learn's trees.
APART = np.float32(1e-7)


@compiled
def best_split(values, order, labels, weights, totals, by_error):
    """The largest gain of splits x ≤ t of a column, and t; (-inf, 0) where no split exists.

    ``values`` are the column's, ascending, and ``order`` the rows that they belong to. The gain is
    Σ_c l_c²/l + Σ_c r_c²/r for weights l_c and r_c of the classes on both sides (what minimises
    Gini's impurity), or max_c l_c + max_c r_c (what minimises the weighted error).
    """
    left, right = np.zeros_like(totals), totals.copy()
    best, cut = -np.inf, 0.0
    for place in range(len(values) - 1):
        row = order[place]
        left[labels[row]] += weights[row]
        right[labels[row]] -= weights[row]
        here, after = values[place], values[place + 1]
        if after <= here + APART:
            continue
        gain = _gain(left, by_error) + _gain(right, by_error)
        if gain > best:
            best, cut = gain, np.float64(here) / 2 + np.float64(after) / 2
            if cut == after:
                cut = np.float64(here)
    return best, cut


@compiled
def _gain(side, by_error):
    largest, total, squares = 0.0, 0.0, 0.0
    for weight in side:
        largest = max(largest, weight)
        total += weight
        squares += weight * weight
    if by_error:
        return largest
    return squares / total if total > 0 else 0.0
