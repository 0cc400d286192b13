"""Blocks on the cores of this machine: one thread a core, one block a thread.

Threads own whole blocks: each evaluates features, multiplies and adds into an accumulator of its
own, with BLAS held to one thread. That keeps all cores busy through every step, where a threaded
BLAS would leave them idle between its calls; the benchmark ``speed`` sets both side by side. Blocks
are dealt out by index, so a run repeats itself bit for bit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from ..features import Features
from ..moments import Factor, Moments

Statistics = TypeVar("Statistics", Moments, Factor)
Progress = Callable[[int], None]

# Accumulators of all threads together may take this much memory.
ACCUMULATORS = 2**30
# Matrices of fewer columns are not worth a second BLAS thread. numpy and scipy bring a BLAS each,
# whose idle threads go on spinning for a while and take the other one's cores: on small matrices
# that makes everything several times slower.
SMALL = 1500


def accumulate(
    kind: type[Statistics],
    features: Features,
    targets: Callable[[slice], NDArray[np.float64]],
    weights: NDArray[np.float64] | None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Statistics:
    """The sum of ``kind.of(Z, Y, weights)`` over all blocks of ``features``."""
    blocks = features.blocks()
    present = len(features) if weights is None else int(np.count_nonzero(weights))
    few = present <= features.n_columns

    def run(mine: list[slice]) -> Statistics:
        total = None
        for rows in mine:
            Z, Y = features.block(rows), targets(rows)
            # The first block of each thread tells how much rounding the products cost.
            known = None if total is None else total.rounding or None
            keys = features.keys(rows) if few else None
            block = kind.of(Z, Y, None if weights is None else weights[rows], known, keys)
            if total is None:
                total = kind.zero(features.n_columns, Y.shape[1])
            total += block
            if progress is not None:
                progress(rows.stop - rows.start)
        assert total is not None
        return total

    most = max(1, ACCUMULATORS // (16 * features.n_columns**2))
    workers = min(n_threads(n_jobs), len(blocks), most)
    with threads(workers, n_jobs, features.n_columns) as pool:
        parts = pool(run, [blocks[i::workers] for i in range(workers)])
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def total(
    features: Features,
    none: Callable[[], Any],
    add: Callable[[Any, NDArray, slice], None],
    n_jobs: int | None = None,
) -> Any:
    """``none()`` after ``add(total, Z, rows)`` of all blocks of ``features``."""
    blocks = features.blocks()

    def run(mine: list[slice]) -> Any:
        found = none()
        for rows in mine:
            add(found, features.block(rows), rows)
        return found

    workers = min(n_threads(n_jobs), len(blocks))
    with threads(workers, n_jobs, features.functions.n_components) as pool:
        parts = pool(run, [blocks[i::workers] for i in range(workers)])
    found = parts[0]
    for part in parts[1:]:
        found += part
    return found


def apply(
    features: Features,
    function: Callable[[NDArray, slice], NDArray],
    n_jobs: int | None = None,
) -> NDArray:
    """``function(Z, rows)`` of every block, one below the other."""
    blocks = features.blocks()

    def run(rows: slice) -> NDArray:
        return function(features.block(rows), rows)

    with threads(min(n_threads(n_jobs), len(blocks)), n_jobs, features.functions.n_stored) as pool:
        parts = pool(run, blocks)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: ``n_jobs``, all cores but -n_jobs - 1 of them if negative, all if None."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else n_jobs


@contextmanager
def blas_threads(n_jobs: int | None, size: int) -> Iterator[None]:
    """BLAS and LAPACK on as many threads as ``n_jobs`` says, for matrices of ``size`` columns."""
    # Threads only wait for each other on small matrices, for very long where cores are shared.
    threads = 1 if size < SMALL else n_threads(n_jobs)
    with _limited(threads):
        yield


@contextmanager
def threads(workers: int, n_jobs: int | None, size: int) -> Iterator[Callable]:
    """A map over ``workers`` threads, each with its share of BLAS threads."""
    if workers == 1:
        with blas_threads(n_jobs, size):
            yield lambda function, items: [function(item) for item in items]
        return
    share = max(1, n_threads(n_jobs) // workers)
    with _limited(share), ThreadPoolExecutor(workers) as executor:
        yield lambda function, items: list(executor.map(function, items))


# Limits of BLAS hold for the whole process. Where several fits overlap, the first one in notes what
# was set and the last one out sets it again.
_lock = threading.Lock()
_before: list[tuple[Any, int]] = []
_inside = 0


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    global _inside
    with _lock:
        if _inside == 0:
            _before[:] = [(library, library.num_threads) for library in _blas_libraries()]
        _inside += 1
        outer = [library.num_threads for library, _ in _before]
        for library, _ in _before:
            library.set_num_threads(threads)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            back = outer if _inside else [number for _, number in _before]
            for (library, _), number in zip(_before, back, strict=True):
                library.set_num_threads(number)


@cache
def _blas_libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
