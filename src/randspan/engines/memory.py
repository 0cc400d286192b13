"""How much memory a fit may take: what the user grants, or half of what the machine has left."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

import numpy as np

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {f"{unit}I": 1024**power for power, unit in enumerate("KMGT", start=1)}


def budget(limit: object) -> int:
    """Bytes from a number of bytes, from words such as "3GB" or "500 MiB", or from None."""
    if limit is None:
        return available() // 2
    number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
    if number and 1 <= limit < np.inf:  # type: ignore[operator]
        return int(limit)  # type: ignore[call-overload]
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?I?)B?\s*", limit.upper())
        if match and match[1].count(".") <= 1 and match[1] != "." and match[2] in UNITS:
            return int(float(match[1]) * UNITS[match[2]])
    raise ValueError(
        f'memory_limit must be a number of bytes, words such as "3GB", or None; got {limit!r}.'
    )


def available() -> int:
    """Bytes that are free, or that the system would give up; all of them where nobody tells."""
    found = [_system(), _control_group()]
    return min(value for value in found if value is not None)


def _system() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 8 * 2**30


def _control_group() -> int | None:
    """What a container leaves, if it sets a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used, 0)


def give_back() -> None:
    """Hand freed memory back to the system, where the C library has a way to (glibc).

    malloc keeps the holes that large arrays leave between small ones. Fits one after the other, of
    other shapes each, would hold a fifth more than the largest of them.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
