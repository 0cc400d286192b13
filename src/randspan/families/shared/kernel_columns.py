"""The limit of infinitely many functions: φ_i(x) = k(x, x_i), one for every training row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..functions import Functions
from .layout import Layout
from .rows import Rows

# Rows whose kernel with themselves is computed at once; entries of rows that are dense at once.
AT_ONCE, ENTRIES = 256, 2**22


def wide_parts(n_features: int, stop: int) -> list[slice]:
    """Slices of so many rows that may be dense at once."""
    step = max(AT_ONCE, ENTRIES // max(n_features, 1))
    return [slice(start, min(start + step, stop)) for start in range(0, max(stop, 1), step)]


@dataclass(frozen=True, eq=False)
class KernelColumns(Functions):
    """k(x, x_1), …, k(x, x_n) in the closed form of a family's kernel."""

    train: Rows

    @property
    def layout(self) -> Layout:
        return Layout(np.inf, 0)

    def evaluate(self, rows: Rows) -> NDArray:
        parts = wide_parts(rows.shape[1], len(self.train))
        if len(parts) == 1:
            return self.family.closed_form(rows, self.train)
        return np.hstack([self.family.closed_form(rows, self.train[part]) for part in parts])

    def with_training_rows(self, values) -> KernelColumns:
        return replace(self, n_components=values.shape[0], train=self.train.like(values))

    def rkhs_norm(self, weights: NDArray) -> float:
        """√(w'Kw), in the RKHS of the kernel itself."""
        total = 0.0
        for start in range(0, len(self.train), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            total += weights[some] @ (self.evaluate(self.train[some]) @ weights)
        return float(np.sqrt(max(total, 0.0)))

    def squares(self, rows: Rows) -> NDArray[np.float64]:
        parts = [rows[s : s + AT_ONCE] for s in range(0, len(rows), AT_ONCE)]
        return np.concatenate([np.diagonal(self.family.closed_form(p, p)) for p in parts])
