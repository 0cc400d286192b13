"""Parameters that estimators share, checked: what was wrong, and what to hand in instead."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from ..families.checks import check_number


def check_weights(sample_weight, X) -> NDArray[np.float64] | None:
    """Non-negative weights that are not all zero, or None."""
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def check_bound(bound) -> float:
    """C of the box, a positive number."""
    number = check_number("bound", bound)
    if number <= 0:
        raise ValueError(f"bound must be None or a positive number, got {bound!r}.")
    return number


def check_clip(clip) -> None:
    """None, "auto", or a positive number."""
    if clip is None or (isinstance(clip, str) and clip == "auto"):
        return
    number = float(clip) if isinstance(clip, Real) and not isinstance(clip, bool) else np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"clip must be None, 'auto' or a positive number, got {clip!r}.")


def check_dtype(dtype) -> np.dtype:
    """float32 or float64."""
    for known in (np.dtype(np.float32), np.dtype(np.float64)):
        if dtype in (known.name, known.type) or (isinstance(dtype, np.dtype) and dtype == known):
            return known
    raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")


def check_jobs(n_jobs) -> int | None:
    """None, or a whole number of threads other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    return None if n_jobs is None else int(n_jobs)
