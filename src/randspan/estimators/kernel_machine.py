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

    ``shares`` s are ω/Σω and ``means`` Σ_j s_j k(x_i, x_j), where an intercept wants centring.
    """

    train: Rows
    shares: NDArray[np.float64] | None = None
    means: NDArray[np.float64] | None = None

    @property
    def n_columns(self) -> int:
        return len(self.train)

    def evaluate(self, rows: Rows) -> NDArray:
        return self.family.closed_form(rows, self.train)

    def centred(self, rows: Rows, columns: NDArray) -> tuple[NDArray, NDArray]:
        """Inner products of the centred x with the centred training rows, and with itself.

        k(x, x_i) - m_i - m(x) + M and k(x, x) - 2m(x) + M, with m(x) = Σ_i s_i k(x, x_i) and
        M = Σ_i s_i m_i.
        """
        parts = [rows[s : s + 256] for s in range(0, len(rows), 256)]
        own = np.concatenate([np.diagonal(self.family.closed_form(p, p)) for p in parts])
        return centred(columns, own, self.shares, self.means)


def centred(
    columns: NDArray, own: NDArray, shares: NDArray | None, means: NDArray | None
) -> tuple[NDArray, NDArray]:
    """Inner products with training rows, and with oneself, as they are between centred rows."""
    if shares is None or means is None:
        return columns, own
    mean, grand_mean = columns @ shares, float(shares @ means)
    return columns - means - (mean - grand_mean)[:, None], own - 2 * mean + grand_mean


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
