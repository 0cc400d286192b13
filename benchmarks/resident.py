"""Resident memory of this process, and its peak, as Linux counts them.

The peak (VmHWM) is a high-water mark of the whole life of a process. Writing 5 to clear_refs sets
it back to what is resident now, so that the peak of one fit can be told from that of the fit
before. Where that is not permitted the mark stays, and only a new record is seen.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Extra:
    """Bytes beyond what was resident at the start; known when the block is left."""

    bytes: int = 0

    @property
    def megabytes(self) -> float:
        return self.bytes / 1e6


@contextmanager
def peak_beyond_resident() -> Iterator[Extra]:
    """The peak inside the block, beyond what was resident before it."""
    _give_back()
    reset_peak()
    before, extra = resident(), Extra()
    yield extra
    extra.bytes = max(0, peak() - before)


def resident() -> int:
    """Bytes resident now."""
    return _status("VmRSS") or _largest()


def peak() -> int:
    """The most bytes that were resident since the last reset."""
    return _status("VmHWM") or _largest()


def reset_peak() -> bool:
    """Set the peak back to what is resident now; whether the system lets us."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _give_back() -> None:
    """Return freed memory to the system: kept by malloc, it would hide what the next fit takes."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)


def _status(field: str) -> int | None:
    if not STATUS.exists():
        return None
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    return None


def _largest() -> int:
    # Kilobytes, but for macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
