"""Targets of any kind as columns of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length

# Whole numbers of more than so many values are numbers, not classes.
MOST_CLASSES = 50


def as_columns(X, y) -> tuple[NDArray[np.float64], bool]:
    """Rows of y as columns of numbers, and whether they are classes.

    Classes are names, and whole numbers of which there are few: ±1 in a column for each, in one
    column for two.
    """
    y = check_array(y, ensure_2d=False, dtype=None)
    check_consistent_length(X, y)
    classes = np.unique(y) if y.ndim == 1 and y.dtype.kind != "f" else y[:0]
    if len(classes) > 1 and (y.dtype.kind not in "iu" or len(classes) <= MOST_CLASSES):
        known = classes[1:] if len(classes) == 2 else classes
        return np.where(y[:, None] == known, 1.0, -1.0), True
    return y.reshape(len(y), -1).astype(np.float64), False
