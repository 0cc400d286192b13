"""numba's compiler as every loop here wants it, with its cache on disk where there can be one.

A cache saves every new process some seconds, and nothing else depends on it: where no folder can be
written (a container often has none) or the disk is full, loops are compiled in each process, with
one warning.
"""

from __future__ import annotations

import warnings
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


def compiled(function: Any) -> Any:
    made: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        made._cache = _Cache(function)  # what `cache=True` does, with numba's own class
    except RuntimeError as reason:  # neither the package's folder nor the user's can be written
        _warn(str(reason))
    return made


class _Cache(FunctionCache):
    """A cache whose failure is not that of the call which compiled a loop."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as reason:
            _warn(str(reason))


_warned = False


def _warn(reason: str) -> None:
    """Once in a process, whichever loop it is that cannot be kept."""
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"Compiled loops cannot be kept on disk ({reason}), so every new process compiles those "
        "that it needs, which takes seconds. Set the environment variable NUMBA_CACHE_DIR to a "
        "folder that can be written, before Python starts.",
        RuntimeWarning,
        stacklevel=3,
    )
