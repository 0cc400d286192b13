"""The limit of infinitely many functions: φ_i(x) = k(x, x_i), one for every training row."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..families.rows import Rows


@dataclass(frozen=True, eq=False)
class KernelColumns(Functions):
    """k(x, x_1), …, k(x, x_n) in the closed form of a family's kernel.

    ``shares`` and ``grand_mean`` say how the training rows are centred.
    """

    train: Rows
    shares: NDArray[np.float64]
    grand_mean: float

    @property
    def n_columns(self) -> int:
        return len(self.train)

    def evaluate(self, rows: Rows) -> NDArray:
        return self.family.closed_form(rows, self.train)

    def squares(self, rows: Rows, columns: NDArray) -> NDArray[np.float64]:
        """k(x, x) - 2 Σ_i s_i k(x, x_i) + Σ_ij s_i s_j k(x_i, x_j), ‖x‖² after centring.

        The shares s are ω/Σω, or zero where nothing is centred.
        """
        parts = [rows[s : s + 256] for s in range(0, len(rows), 256)]
        own = np.concatenate([np.diagonal(self.family.closed_form(p, p)) for p in parts])
        return own - 2 * columns @ self.shares + self.grand_mean


def check_memory(n_rows: int) -> None:
    """Refuse an n × n problem that this machine cannot hold."""
    needed = 4 * 8 * n_rows**2
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return
    if needed > memory:
        raise MemoryError(
            f"n_components=inf is the exact kernel machine: with {n_rows} rows it needs about "
            f"{needed / 2**30:.0f} GiB, this machine has {memory / 2**30:.0f}. Use fewer rows, or "
            "a finite n_components."
        )
