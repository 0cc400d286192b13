"""`rs.blocks`: rows from a function that hands them out, block by block, as often as it is called.

A one-shot generator is gone after one pass, and fits take several (a frame is read before functions
are drawn, and statistics after): therefore the function that makes it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Blocks:
    """Rows in blocks X, (X, y) or (X, y, sample_weight), made anew by ``make()`` in every pass."""

    make: Callable[[], Iterable]

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        """X, y and sample weights of every block, None where there are none."""
        made = self.make()
        if isinstance(made, tuple):
            raise TypeError(
                "The function of rs.blocks returns an iterable of blocks, and a tuple is one block:"
                " rs.blocks(lambda: [(X, y)])."
            )
        for block in made:
            yield parts_of(block)


def blocks(make: Callable[[], Iterable]) -> Blocks:
    """Rows that need not fit in memory: a source that every estimator takes in place of X.

    Parameters
    ----------
    make : callable
        Called without arguments, it returns an iterable of blocks: X, (X, y) or
        (X, y, sample_weight), of any number of rows each, the same rows in the same order every
        time. X are arrays or sparse matrices of numbers.

    Returns
    -------
    Blocks
        For ``fit``, ``partial_fit``, ``forget``, ``predict``, ``score`` and the others, which then
        take y from the blocks.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> def read():
    ...     for part in range(10):  # from files, say
    ...         X = np.random.default_rng(part).normal(size=(100, 2))
    ...         yield X, np.sin(X[:, 0])
    >>> model = rs.SpanRegressor("fourier", 50, random_state=0).fit(rs.blocks(read))
    >>> bool(model.score(rs.blocks(read)) > 0.99)
    True
    """
    if not callable(make):
        kind = type(make).__name__
        raise TypeError(
            f"rs.blocks takes a function that returns blocks anew in every pass, got {kind}: fits "
            "read rows several times, and an iterator is used up after the first. Wrap what makes "
            "it: rs.blocks(lambda: ...)."
        )
    return Blocks(make)


def parts_of(block: Any) -> tuple[Any, Any, Any]:
    """X, y and sample weights of a block: X, (X, y) or (X, y, sample_weight)."""
    if not isinstance(block, tuple):
        return block, None, None
    if not 1 <= len(block) <= 3:
        raise ValueError(
            f"A block is X, (X, y) or (X, y, sample_weight); got a tuple of {len(block)}."
        )
    X, y, weights = (*block, None, None)[:3]
    return X, y, weights
