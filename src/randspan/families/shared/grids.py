"""Ladders of one coordinate, and grids of their products.

A ladder holds functions of one coordinate, rung by rung; a rung has functions of one scale,
numbered by their place (nodes). A grid says which products of rungs there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Rung:
    """For every place the nodes of one rung that meet it, and their values there."""

    nodes: NDArray[np.int64]
    values: NDArray[np.float64]


class Ladder(ABC):
    """The functions of one coordinate, rung by rung."""

    #: whether rung 0 is the constant 1
    constant: bool
    #: how many nodes of every rung meet a place, and how many there are
    widths: list[int]
    sizes: list[int]

    @abstractmethod
    def rungs(self, places: NDArray[np.float64]) -> list[Rung]:
        """All rungs at some places in [0, 1]."""


class Term(NamedTuple):
    """A product of rungs, (coordinate, rung) for those that are not constant, and its factor."""

    rungs: tuple[tuple[int, int], ...]
    factor: float = 1.0


class Grid(ABC):
    """Which products of rungs there are, for ladders of as many rungs each."""

    @abstractmethod
    def terms(self, ladders: list[Ladder]) -> Iterator[Term]:
        """The products themselves."""

    @abstractmethod
    def products(self, widths: list[int], d: int) -> int:
        """How many of them meet a point, for rungs of these widths in every coordinate."""

    @abstractmethod
    def kernel(self, x: list[list[Rung]], y: list[list[Rung]]) -> NDArray[np.float64]:
        """Σ φ(x) φ(y), for the rungs of every coordinate at x and at y."""


class Tensor(Grid):
    """All products."""

    def terms(self, ladders):
        for levels in product(range(len(ladders[0].widths)), repeat=len(ladders)):
            active = ((m, rung) for m, rung in enumerate(levels) if rung or not ladders[m].constant)
            yield Term(tuple(active))

    def products(self, widths, d):
        return sum(widths) ** d

    def kernel(self, x, y):
        total = np.ones(1)
        for left, right in zip(x, y, strict=True):
            total = total * sum(map(rung_kernel, left, right))
        return total


class Sparse(Grid):
    """Products of rungs whose numbers sum to less than there are rungs."""

    def terms(self, ladders):
        def grow(first: int, left: int, raised: tuple) -> Iterator[tuple]:
            yield raised
            if left:
                for m in range(first, len(ladders)):
                    for rung in range(1, left + 1):
                        yield from grow(m + 1, left - rung, (*raised, (m, rung)))

        lowest = [m for m, ladder in enumerate(ladders) if not ladder.constant]
        for raised in grow(0, len(ladders[0].widths) - 1, ()):
            known = dict(raised)
            rest = ((m, 0) for m in lowest if m not in known)
            yield Term(tuple(sorted((*raised, *rest))))

    def products(self, widths, d):
        counts, power = np.array([1], dtype=object), np.array(widths, dtype=object)
        while d:  # the d-th power of Σ widths[i]·z^i, up to the largest sum
            if d % 2:
                counts = np.convolve(counts, power)[: len(widths)]
            power = np.convolve(power, power)[: len(widths)]
            d //= 2
        return int(counts.sum())

    def kernel(self, x, y):
        totals: list = [1.0] + [0.0] * (len(x[0]) - 1)  # by the sum of rungs so far
        for left, right in zip(x, y, strict=True):
            kernels = list(map(rung_kernel, left, right))
            for level in range(len(totals) - 1, -1, -1):
                totals[level] = sum(totals[level - i] * kernels[i] for i in range(level + 1))
        return np.asarray(sum(totals))


GRIDS: dict[str, Grid] = {"tensor": Tensor(), "sparse": Sparse()}


def rung_kernel(left: Rung, right: Rung) -> NDArray[np.float64]:
    """Σ of φ(x) φ(y) over the nodes of a rung."""
    nodes = np.concatenate([left.nodes.ravel(), right.nodes.ravel()])
    different, numbers = np.unique(nodes, return_inverse=True)
    matrices = []
    for rung, own in ((left, numbers[: left.nodes.size]), (right, numbers[left.nodes.size :])):
        n, width = rung.values.shape
        starts = np.arange(0, n * width + 1, width)
        shape = (n, len(different))
        matrices.append(sparse.csr_array((rung.values.ravel(), own.ravel(), starts), shape))
    return (matrices[0] @ matrices[1].T).toarray()
