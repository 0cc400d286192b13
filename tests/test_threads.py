"""Fits that overlap in threads: how many threads BLAS uses meanwhile, and afterwards."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from randspan.blas import Limits
from randspan.engines.threads import AHEAD, blas_threads, deal, in_turn, threads
from randspan.families.shared import frequencies
from randspan.families.shared.spectra import Gaussian


class Library:
    """A BLAS of so many threads, as threadpoolctl shows it."""

    def __init__(self, number):
        self.num_threads = number

    def set_num_threads(self, number):
        self.num_threads = number


class Visitor:
    """A thread that enters and leaves limits when it is told to."""

    def __init__(self, enter):
        self.enter, self.inside, self._thread = enter, [], ThreadPoolExecutor(1)

    def asks(self, *limit):
        within = ExitStack()
        self._thread.submit(within.enter_context, self.enter(*limit)).result()
        self.inside.append((within, *limit))

    def leaves(self, reason=None):
        within, *_ = self.inside.pop()
        kind = None if reason is None else type(reason)
        self._thread.submit(within.__exit__, kind, reason, None).result()


def blas():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_entering_and_leaving_passes_the_smallest_limit(seed):
    random, libraries = Random(seed), [Library(16), Library(6)]
    limits = Limits(lambda: libraries)
    visitors = [Visitor(limits.at_most) for _ in range(4)]
    for _ in range(60):
        one = random.choice(visitors)
        if one.inside and random.random() < 0.5:
            one.leaves(random.choice([None, ValueError("of a fit"), KeyboardInterrupt()]))
        else:
            one.asks(random.choice([1, 2, 5, 100]))
        # In a thread the inner limit counts, and threads share what the process was given.
        asked = [one.inside[-1][1] for one in visitors if one.inside]
        for library, given in zip(libraries, (16, 6), strict=True):
            fair = max(1, min([given // max(len(asked), 1), *asked]))
            assert library.num_threads == fair
        assert limits.given() == [16, 6]
    for one in visitors:
        while one.inside:
            one.leaves()
    assert [library.num_threads for library in libraries] == [16, 6]


@contextmanager
def small_matrices():
    with blas_threads(None, 10):
        yield


def test_who_leaves_first_takes_no_limit_from_who_stays():
    first, second = Visitor(small_matrices), Visitor(small_matrices)
    with threadpool_limits(3, user_api="blas"):
        first.asks()
        second.asks()
        first.leaves()
        assert blas() == {1}
        second.leaves()
        assert blas() == {3}


def test_calls_that_want_all_threads_share_them():
    visitors = [Visitor(blas_threads) for _ in range(2)]
    with threadpool_limits(4, user_api="blas"):
        for one in visitors:
            one.asks(4, 10**6)
        assert blas() == {2}
        visitors[0].leaves()
        assert blas() == {4}
        visitors[1].leaves()
        assert blas() == {4}


def test_an_inner_matrix_may_have_more_threads_than_the_work_around_it():
    with threadpool_limits(4, user_api="blas"), blas_threads(4, 10):
        assert blas() == {1}
        with blas_threads(4, 10**6):
            assert blas() == {4}
        with threads(2, 4, 10) as run:
            assert run(lambda _: blas(), [0, 1]) == [{2}, {2}]
        assert blas() == {1}


def test_a_draw_on_one_thread_that_outlasts_a_fit_leaves_blas_as_it_was(monkeypatch):
    fit, normals, seen = Visitor(small_matrices), frequencies.normals, []

    def slowly(*given):
        if fit.inside:
            fit.leaves()
        seen.append(blas())
        return normals(*given)

    monkeypatch.setattr(frequencies, "normals", slowly)
    with threadpool_limits(3, user_api="blas"), ThreadPoolExecutor(1) as elsewhere:
        fit.asks()
        elsewhere.submit(frequencies.orthogonal, Gaussian(), 3, 6, 0).result()
        assert blas() == {3}
    assert seen == [{1}, {1}]  # two blocks


# -- items that are read while others are worked on ------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_shares_are_the_same_in_every_run(workers, count):
    shares = deal(list, iter(range(count)), workers, 2, 1)
    assert shares == [list(range(count))[i::workers] for i in range(workers)]
    assert in_turn(lambda i: -i, iter(range(count)), workers, 2, 1) == [-i for i in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_than_a_few_items_wait(workers):
    """What is read but not yet worked on is bounded, whatever a source has."""
    read, done, most = [0], [0], [0]

    def items():
        for i in range(200):
            read[0] += 1
            most[0] = max(most[0], read[0] - done[0])
            yield i

    def work(mine):
        for _ in mine:
            time.sleep(0.0005)
            done[0] += 1

    deal(work, items(), workers, 2, 1)
    assert most[0] <= workers * (AHEAD + 2)
    read[0] = done[0] = most[0] = 0
    in_turn(lambda i: work([i]), items(), workers, 2, 1)
    assert most[0] <= 3 * AHEAD * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_workers_and_of_sources_come_out_and_nothing_hangs(workers):
    def failing(mine):
        for i in mine:
            if i == 7:
                raise OverflowError("seven")
        return i

    def ending():
        yield from range(5)
        raise OSError("no more")

    for _ in range(3):
        with pytest.raises(OverflowError, match="seven"):
            deal(failing, iter(range(10_000)), workers, 2, 1)
        with pytest.raises(OverflowError, match="seven"):
            in_turn(lambda i: failing([i]), iter(range(10_000)), workers, 2, 1)
        with pytest.raises(OSError, match="no more"):
            deal(list, ending(), workers, 2, 1)
        with pytest.raises(OSError, match="no more"):
            in_turn(abs, ending(), workers, 2, 1)
