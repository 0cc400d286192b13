"""Parameters, checked: what was wrong, and what to hand in instead."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray


def check_n_components(n_components) -> None:
    """Refuse anything but a positive whole number."""
    if not is_count(n_components):
        raise ValueError(f"n_components must be a positive whole number, got {n_components!r}.")


def is_count(value) -> bool:
    """Whether this is a positive whole number."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and value > 0


def check_positive(name: str, value, n_features: int | None = None) -> NDArray[np.float64]:
    """One positive number, or one for every column."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim > 1 or not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive, one number or one per column; got {value!r}.")
    if array.ndim == 1 and n_features is not None and len(array) != n_features:
        raise ValueError(f"{name} has {len(array)} entries, X has {n_features} columns.")
    return array


def check_choice(name: str, value, choices, otherwise: str = "") -> None:
    """Refuse a name that is none of ``choices``, and say which there are."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}{otherwise}; got {value!r}.")


def check_number(name: str, value, at_least: float = -np.inf) -> float:
    """One finite real number, not below ``at_least``."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least:g}, got {value!r}.")
    return number
