"""Where blocks run. Today the CPU; the only room that may import torch or dask."""

from __future__ import annotations

from .base import Engine
from .cpu import CPU

__all__ = ["CPU", "Engine", "of"]


def of(device: str | None = None, n_jobs: int | None = None, verbose: bool = False) -> Engine:
    """The engine of a device; every estimator asks here, and nobody else makes one.

    ``device`` None is the CPU; ``n_jobs`` is as in scikit-learn, None for all cores; ``verbose``
    shows progress bars.
    """
    if device not in (None, "cpu"):
        raise ValueError(f"device must be None or 'cpu', the only engine so far; got {device!r}.")
    return CPU(n_jobs, verbose)
