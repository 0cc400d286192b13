"""Threads of this machine, and how many of them BLAS may use meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from joblib import cpu_count

from ..blas import LIMITS

Progress = Callable[[int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Items that wait for a worker; and what stands behind the last one.
AHEAD, END = 2, object()

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
    return min([cores, *LIMITS.given()])


@contextmanager
def blas_threads(n_jobs: int | None, size: int) -> Iterator[None]:
    """BLAS and LAPACK on as many threads as ``n_jobs`` says, for matrices of ``size`` columns."""
    # Threads only wait for each other on small matrices, for very long where cores are shared.
    threads = 1 if size < SMALL else n_threads(n_jobs)
    with LIMITS.at_most(threads):
        yield


@contextmanager
def threads(workers: int, n_jobs: int | None, size: int) -> Iterator[Callable]:
    """A map over ``workers`` threads, each with its share of BLAS threads."""
    if workers == 1:
        with blas_threads(n_jobs, size):
            yield lambda function, items: [function(item) for item in items]
        return
    share = max(1, n_threads(n_jobs) // workers)
    with LIMITS.at_most(share), ThreadPoolExecutor(workers) as executor:
        yield lambda function, items: list(executor.map(function, items))


def deal(
    function: Callable[[Iterable[Item]], Result],
    items: Iterable[Item],
    workers: int,
    n_jobs: int | None,
    size: int,
) -> list[Result]:
    """``function`` of every worker's share of some items, which are read while it runs.

    Item i goes to worker i modulo their number, so that every share is the same in every run. No
    more than a few items wait at a time.
    """
    if workers == 1:
        with blas_threads(n_jobs, size):
            return [function(iter(items))]
    queues: list[Queue] = [Queue(AHEAD) for _ in range(workers)]
    share = max(1, n_threads(n_jobs) // workers)

    def mine(queue: Queue) -> Iterator[Item]:
        while (item := queue.get()) is not END:
            yield item

    futures: list[Future[Result]] = []

    def hand(item: Any, worker: int) -> bool:
        """Whether a worker took an item: one that has failed does not."""
        while not futures[worker].done():
            try:
                queues[worker].put(item, timeout=0.1)
                return True
            except Full:
                pass
        return False

    with LIMITS.at_most(share), ThreadPoolExecutor(workers) as executor:
        try:
            for queue in queues:
                futures.append(executor.submit(function, mine(queue)))
            for number, item in enumerate(items):
                if not hand(item, number % workers):
                    break
            for worker in range(workers):
                hand(END, worker)
        except BaseException:
            for queue in queues:
                _end(queue)
            raise
        return [future.result() for future in futures]


def _end(queue: Queue) -> None:
    """Let a worker end; what waits for it is dropped."""
    while True:
        try:
            queue.put_nowait(END)
            return
        except Full:
            with suppress(Empty):
                queue.get_nowait()


def in_turn(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    n_jobs: int | None,
    size: int,
) -> list[Result]:
    """``function`` of every item, in order, by whoever is free; items are read meanwhile."""
    if workers == 1:
        with blas_threads(n_jobs, size):
            return [function(item) for item in items]
    share, waiting, found = max(1, n_threads(n_jobs) // workers), deque[Future](), []
    with LIMITS.at_most(share), ThreadPoolExecutor(workers) as executor:
        for item in items:
            waiting.append(executor.submit(function, item))
            if len(waiting) > 2 * AHEAD * workers:
                found.append(waiting.popleft().result())
        found += [future.result() for future in waiting]
    return found


def on_all(n_jobs: int | None, function: Callable, items: list) -> list:
    """``function`` of every item, on all threads."""
    with threads(n_threads(n_jobs), n_jobs, 1) as run:
        return run(function, items)
