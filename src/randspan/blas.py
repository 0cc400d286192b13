"""How many threads BLAS may use: one number for the whole process, whoever asks for a limit.

With m threads of the process inside, each with the limit l_t that it asked for last, BLAS of g
threads runs on

    max(1, min(g / m, min_t l_t))

of them, and on g again once the last one has left. Within a thread the inner limit counts, so that
a large matrix can have more threads than the work around it; between threads the smallest does.
BLAS threads wait for each other by spinning: two calls that both want every core take many times
the time of one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class Limits:
    """The limits of everybody inside, on ``libraries`` (`num_threads`, `set_num_threads`)."""

    def __init__(self, libraries: Callable[[], list[Any]]):
        self._libraries = libraries
        self._lock = threading.Lock()
        self._asked: dict[int, list[int]] = {}  # by thread, the innermost last
        self._given: list[tuple[Any, int]] = []

    def given(self) -> list[int]:
        """How many threads every library was given from outside."""
        with self._lock:
            if self._asked:
                return [number for _, number in self._given]
            return [library.num_threads for library in self._libraries()]

    @contextmanager
    def at_most(self, threads: int) -> Iterator[None]:
        """Every library on ``threads`` threads, and on fewer where others are inside."""
        me = threading.get_ident()
        with self._lock:
            if not self._asked:
                self._given = [(library, library.num_threads) for library in self._libraries()]
            self._asked.setdefault(me, []).append(threads)
            self._set()
        try:
            yield
        finally:
            with self._lock:
                self._asked[me].pop()
                if not self._asked[me]:
                    del self._asked[me]
                self._set()

    def _set(self) -> None:
        inside = len(self._asked)
        lowest = min((limits[-1] for limits in self._asked.values()), default=None)
        for library, given in self._given:
            number = given if lowest is None else max(1, min(given // inside, lowest))
            if library.num_threads != number:
                _set(library, number)


def _set(library: Any, number: int) -> None:
    # From threadpoolctl 3.8 on one thread of the process sets the number of an OpenBLAS, the first
    # that did, and calls of all others do nothing, silently. Here it is the process that asks.
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(number)
    release(force=True)


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


LIMITS = Limits(_libraries)
