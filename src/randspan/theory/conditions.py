"""What the inequalities of every document share: conditions that are checked, and plain numbers.

A condition that fails is an error that names it. An inequality that holds but says nothing (a
probability above 1, an error above that of predicting nothing) warns that it is vacuous.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Number = Any  # a number, or an array of numbers: everything broadcasts


class VacuousBound(UserWarning):
    """A bound that holds, and says nothing: a larger k or m is needed, or another bound."""


def require(holds: Number, what: str) -> None:
    """Refuse with the condition that fails."""
    if not np.all(holds):
        raise ValueError(f"A condition fails: {what}.")


def require_positive(**values: Number) -> None:
    for name, value in values.items():
        require(np.greater(value, 0), f"{name} must be positive, got {value!r}")


def require_nonnegative(**values: Number) -> None:
    for name, value in values.items():
        require(np.greater_equal(value, 0), f"{name} must be 0 or more, got {value!r}")


def require_chance(**values: Number) -> None:
    for name, value in values.items():
        inside = np.greater(value, 0) & np.less(value, 1)
        require(inside, f"{name} is a probability between 0 and 1, got {value!r}")


def say_if_vacuous(vacuous: Number, what: str) -> None:
    """Warn where a bound says nothing."""
    if np.any(vacuous):
        warnings.warn(f"This bound is vacuous: {what}.", VacuousBound, stacklevel=3)


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings of vacuous bounds, where that is said otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousBound)
        yield


def log_inverse(delta: Number) -> NDArray[np.float64]:
    """log(1/δ)."""
    return -np.log(np.asarray(delta, dtype=np.float64))


def plain(value: Number) -> Any:
    """A float for numbers, an array for arrays."""
    found = np.asarray(value, dtype=np.float64)
    return float(found) if found.ndim == 0 else found


def smallest(bound: Callable[[int], float], wanted: float, first: int = 1) -> float:
    """The smallest whole number ≥ ``first`` with bound(number) ≤ wanted; inf beyond 10^18.

    ``bound`` falls as its argument grows. Doubling finds a number that is large enough, halving the
    smallest one: nothing has to be inverted by hand.
    """
    with quietly():
        below, above = first - 1, first
        while not bound(above) <= wanted:
            if above >= 10**18:
                return np.inf
            below, above = above, min(2 * above, 10**18)
        while above - below > 1:
            middle = (above + below) // 2
            if bound(middle) <= wanted:
                above = middle
            else:
                below = middle
    return above
