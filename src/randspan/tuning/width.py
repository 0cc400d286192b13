"""How many functions: doubled until the cross-validated error stops falling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Fit = TypeVar("Fit")

FIRST, LAST = 128, 4096
WORTH_IT = 0.99


def doubled(fit: Callable[[int], tuple[float, Fit]]) -> Fit:
    """The fit after which doubling k no longer pays, for ``fit(k) -> (error, result)``.

    k = 128, 256, … at most 4096, as long as a doubling lowers the error by more than one per cent.
    Draws are nested, so each step keeps the functions of the one before.
    """
    k = FIRST
    error, result = fit(k)
    while k < LAST:
        k *= 2
        next_error, next_result = fit(k)
        if not next_error < WORTH_IT * error:
            break
        error, result = next_error, next_result
    return result
