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
    if y.dtype.kind == "O" and not any(isinstance(value, str) for value in y.ravel()):
        y = y.astype(np.float64)  # a column of numbers from a data frame
    classes = np.unique(y) if y.ndim == 1 and y.dtype.kind != "f" else y[:0]
    if len(classes) > 1 and (y.dtype.kind not in "iu" or len(classes) <= MOST_CLASSES):
        known = classes[1:] if len(classes) == 2 else classes
        return np.where(y[:, None] == known, 1.0, -1.0), True
    if y.dtype.kind in "OUS":
        raise ValueError(f"y holds one class only ({classes[0]!r}): there is nothing to learn.")
    return y.reshape(len(y), -1).astype(np.float64), False
