"""Threads of this machine, and how many of them BLAS may use meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

Progress = Callable[[int], None]

# Accumulators of all threads together may take this much memory.
ACCUMULATORS = 2**30
# Matrices of fewer columns are not worth a second BLAS thread. numpy and scipy bring a BLAS each,
# whose idle threads go on spinning for a while and take the other one's cores: on small matrices
# that makes everything several times slower.
SMALL = 1500


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: ``n_jobs``, all but -n_jobs - 1 of the cores if negative, all if None.

    With None never more than the process was given: by its affinity or container, by joblib (in its
    workers, or by LOKY_MAX_CPU_COUNT), by OPENBLAS_NUM_THREADS, or by ``threadpool_limits``.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    cores = cpu_count()  # joblib's count knows affinity, containers and its own limit
    if n_jobs is not None:
        return max(1, cores + 1 + n_jobs)
    return min([cores, *blas_given()])


def blas_given() -> list[int]:
    """How many threads every BLAS was given from outside."""
    with _lock:
        return _outside()


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


def _outside() -> list[int]:
    if _inside:
        return [number for _, number in _before]
    return [library.num_threads for library in _blas_libraries()]


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    """BLAS on ``threads`` threads, never on more than it was given."""
    global _inside
    with _lock:
        if _inside == 0:
            _before[:] = zip(_blas_libraries(), _outside(), strict=True)
        _inside += 1
        outer = [library.num_threads for library, _ in _before]
        for library, given in _before:
            library.set_num_threads(min(threads, given))
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
