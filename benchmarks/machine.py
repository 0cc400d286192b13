"""Facts about the machine that a number cannot be read without."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import randspan  # noqa: F401  loads every BLAS there is to be named

from . import resident

PACKAGES = ("randspan", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "lightgbm")


def facts() -> dict[str, Any]:
    """Processor, cores, versions, BLAS, and how busy the machine is now."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": list(os.getloadavg()),
        "peak_can_be_reset": resident.reset_peak(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "blas": [
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')}, "
            f"{pool['num_threads']} threads, {Path(pool['filepath']).parent.name})"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
