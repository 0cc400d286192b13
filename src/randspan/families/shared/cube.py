"""The unit cube that inputs are mapped to by families that live there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rows import Rows


@dataclass(frozen=True, eq=False)
class Cube:
    """x ↦ the box [lower, upper] as [inset, 1 - inset]^d; what lies outside the box is clipped.

    ``spill`` is the share of its width by which the box may be left on either side. Places are
    computed in float64 whatever the precision of the rows: they do not depend on it.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    inset: float = 0.0
    spill: float = 0.0

    def places(self, rows: Rows) -> NDArray[np.float64]:
        """Every row in the cube; a column without any width is in its middle."""
        width = self.upper - self.lower
        shares = (rows.exact - self.lower) / np.where(width > 0, width, 1.0)
        shares = np.where(width > 0, np.clip(shares, -self.spill, 1 + self.spill), 0.5)
        return self.inset + (1 - 2 * self.inset) * shares

    def outside(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows are clipped, rounding errors apart."""
        x, width = rows.exact, self.upper - self.lower
        rounding = 1e-6 * np.where(width > 0, width, np.maximum(np.abs(self.lower), 1.0))
        slack = self.spill * width + rounding
        return np.any((x < self.lower - slack) | (x > self.upper + slack), axis=1)


def check_interval(interval, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(a, b) with a <= b, for every column."""
    try:
        lower, upper = (np.broadcast_to(np.asarray(e, float), n_features) for e in interval)
    except (TypeError, ValueError):
        lower, upper = np.array([np.nan]), np.array([np.nan])
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise ValueError(
            f"interval must be (a, b) with a <= b, two numbers or two arrays with one number for "
            f"each of the {n_features} columns; got {interval!r}."
        )
    return lower, upper


def neighbourly(places: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order in which neighbours in the cube are neighbours: along Morton's curve."""
    d = places.shape[1]
    bits = min(max(60 // d, 1), 16)
    cells = np.minimum(places * 2**bits, 2**bits - 1).astype(np.uint64)
    code = np.zeros(len(places), dtype=np.uint64)
    for bit in range(bits - 1, -1, -1):
        for column in cells.T[: 60 // bits]:
            code = (code << np.uint64(1)) | ((column >> np.uint64(bit)) & np.uint64(1))
    return np.argsort(code, kind="stable")
