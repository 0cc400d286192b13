"""Rows that are nearly equal: copies with a little noise, which no key can know.

Rows of equal inputs are left out together; of two that differ in the sixth digit one remains, and
estimates of the error are too small. The nearest neighbours of a sample tell: in data without such
copies the nearest row is hardly ever a thousandth as far away as the twentieth (the chance is about
20·0.001ᵈ in d dimensions).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from .. import text
from ..frame import Frame
from ..sources import Source

# Rows that are asked, rows that neighbours are looked for among, and products of both and columns.
ASKED, MOST_ROWS, MOST_PRODUCTS = 200, 20_000, 4 * 10**7
# Distances that are computed at once.
AT_ONCE = 2**17
# A copy is nearer than this share of the distance of that neighbour; rows below which none is.
NEAR, NEIGHBOUR, FEWEST_ROWS = 1e-3, 20, 50
# The share of rows that must have one.
MANY = 0.1


def share_of(frame: Frame, source: Source) -> float:
    """About the share of rows that have a nearly equal one beside them."""
    _, first = np.unique(source.keys, return_index=True)  # distinct inputs, in the order of keys
    most = min(MOST_ROWS, MOST_PRODUCTS // (ASKED * source.n_features or 1))
    known = min(most, len(first))
    if known < FEWEST_ROWS:
        return 0.0
    asked = min(ASKED, known)
    rows = frame.rows(source.take(first[:known]), np.float64).dense
    step, found = max(1, AT_ONCE // known), 0
    for start in range(0, asked, step):
        some = np.arange(start, min(start + step, asked))
        distances = cdist(rows[some], rows)
        farthest = distances.max(axis=1)
        distances[some - start, some] = np.inf
        nearest = distances.min(axis=1)
        # Only of rows that may have a copy is the distance of the neighbour worth looking for.
        close = nearest <= NEAR * farthest
        usual = np.partition(distances[close], NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1]
        found += int(np.count_nonzero((nearest[close] <= NEAR * usual) & (usual > 0)))
    return found / asked * len(first) / known


def warn(frame: Frame, source: Source) -> None:
    """Say so where many rows are nearly equal to another."""
    share = share_of(frame, source)
    if share >= MANY:
        text.warn(
            f"About {min(share, 1.0):.0%} of the rows are nearly equal to another (a thousandth of "
            "the usual distance apart). Rows whose inputs are equal to the last bit are left out "
            "together; of these one remains, so that alpha and validation_ may be far too small. "
            "Round the inputs until copies are equal, or keep one of each.",
        )
