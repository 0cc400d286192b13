"""Random functions of the multiresolution kind (Maillard and Munos 2010), built without a tree.

W = Σ_i ξ_i φ_i over products φ_i of functions of one coordinate. Those of a coordinate stand on a
*ladder*: every rung has functions of one scale, numbered by their place (nodes), of which only a
few meet a given point. A *term* takes a rung of every coordinate; which terms there are is the
grid. For a piece of rows the nodes that meet any of them are collected term by term, each once,
and their coefficients computed from the node and the seed (`scrambling`): nothing is stored, and a
point has the same values alone, in a block, or on another machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Family, Functions, is_count
from .cube import Cube, check_interval, neighbourly
from .randomness import raw_bits
from .rows import Rows

# Products of one row that are still worth computing, and those that a default depth stays within.
MOST_PRODUCTS, MANY_PRODUCTS = 2**20, 2**12
# Scales that the digits of a float reach.
DEEPEST = 50
# Terms are taken together until a row has so many products; pieces have as many rows as make this.
TOGETHER, PIECE = 32, 2**18


@dataclass(frozen=True)
class Rung:
    """For every place the nodes of one rung that meet it, and their values there."""

    nodes: NDArray[np.int64]
    values: NDArray[np.float64]

    def matrix(self) -> sparse.csr_array:
        """Values as a matrix, a column for every node."""
        n, width = self.nodes.shape
        starts = np.arange(0, n * width + 1, width)
        size = int(self.nodes.max(initial=0)) + 1
        return sparse.csr_array((self.values.ravel(), self.nodes.ravel(), starts), (n, size))


class Ladder(ABC):
    """The functions of one coordinate, rung by rung."""

    #: whether rung 0 is the constant 1
    constant: bool
    #: how many nodes of every rung meet a place
    widths: list[int]

    @abstractmethod
    def rungs(self, places: NDArray[np.float64]) -> list[Rung]:
        """All rungs at some places in [0, 1]."""


class Term(NamedTuple):
    """A product of rungs, (coordinate, rung) for those that are not constant, and its factor."""

    rungs: tuple[tuple[int, int], ...]
    factor: float = 1.0


class Multiresolution(Family):
    """Σ_i ξ_i φ_i(x) on the unit cube, ξ_i ~ N(0, 1), φ_i products of functions on ladders."""

    default_alpha = 0.0
    on_cube = True
    #: the share of the cube on every side that the training data are kept away from
    inset = 0.0
    #: the share of its width by which the box of the training data is widened
    margin = 0.0
    #: scales beyond those that as many functions as rows would have
    extra_depth = 0

    sees_scales = property(lambda self: False)

    def default_components(self, n_rows):
        return ceil(np.sqrt(n_rows))

    # -- what a family of this kind says ---------------------------------------------------------

    @abstractmethod
    def ladders(self, n_features: int) -> list[Ladder]:
        """The ladder of every coordinate, of a resolved law."""

    @abstractmethod
    def terms(self, ladders: list[Ladder]) -> Iterator[Term]:
        """The terms of a resolved law; a deeper one has these and more."""

    @abstractmethod
    def products(self, n_features: int, depth: int) -> int:
        """How many products meet a row."""

    @abstractmethod
    def closed_form_of(self, x: NDArray, y: NDArray) -> NDArray[np.float64]:
        """The kernel of a resolved law at places in the cube."""

    # -- what they share -------------------------------------------------------------------------

    def resolve_cube(self, sample) -> Multiresolution:
        """The box that is mapped to the cube: as given, or from the range of the columns."""
        if self.interval is not None:
            return self.with_values(interval=check_interval(self.interval, sample.shape[1]))
        more = self.margin * (sample.upper - sample.lower)
        return self.with_values(interval=(sample.lower - more, sample.upper + more))

    def resolve_depth(self, sample) -> Multiresolution:
        """A depth for as many rows as there are, within reason; refuses what is beyond it."""
        d, depth = sample.shape[1], self.depth
        if isinstance(depth, str) and depth == "auto":
            depth = self._default_depth(sample.count, d)
        elif not (is_count(depth) and depth <= DEEPEST) and depth != np.inf:
            raise ValueError(
                f"depth must be 'auto', a whole number of scales from 1 to {DEEPEST} (beyond it "
                f"floats have no digits), or np.inf for the kernel alone; got {self.depth!r}."
            )
        if depth != np.inf and self.products(d, int(depth)) > MOST_PRODUCTS:
            raise ValueError(
                f"{self!r} would sum more than a million products for every row of {d} columns: "
                "use grid='sparse', a smaller depth, or fewer columns."
            )
        return self.with_values(depth=depth)

    def _default_depth(self, n_rows: float, d: int) -> int:
        fitting = max(1, ceil(log2(max(n_rows, 2)) / d))
        if self.grid != "sparse":
            return fitting + self.extra_depth
        depth = max(1, ceil(log2(max(n_rows, 2))) + self.extra_depth)
        while depth > 1 and self.products(d, depth) > MANY_PRODUCTS:
            depth -= 1
        return depth

    @property
    def cube(self) -> Cube:
        lower, upper = self.interval
        return Cube(lower, upper, self.inset)

    def outside(self, rows):
        return self.cube.outside(rows)

    def sample(self, n_features, n_components, seed):
        if self.depth == np.inf:
            raise ValueError(
                "Functions of infinite depth cannot be drawn: depth=np.inf is for the kernel, and "
                "for n_components=np.inf. Use depth='auto' or a number."
            )
        return MultiresolutionFunctions(self, n_features, n_components, seed)

    def closed_form(self, X, Y):
        return self.closed_form_of(self.cube.places(X), self.cube.places(Y))


@dataclass(frozen=True, eq=False)
class MultiresolutionFunctions(Functions):
    """Σ_i ξ_i φ_i(x) for drawn ξ that are functions of the seed, the function and the node."""

    seed: int

    @cached_property
    def _function_keys(self) -> NDArray[np.uint64]:
        return function_keys(self.seed, self.n_components)

    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.family, self.n_features, self.seed)

    def evaluate(self, rows: Rows) -> NDArray:
        places = self.family.cube.places(rows)
        out = np.empty((len(rows), self.n_components), dtype=rows.dtype)
        step = int(np.clip(PIECE // self._plan.widest, 1, 2048))
        # Neighbours share nodes: a piece of neighbours has fewer of them.
        order = neighbourly(places) if len(rows) > step else np.arange(len(rows))
        for start in range(0, len(rows), step):
            some = order[start : start + step]
            out[some] = self._values(places[some])
        return out

    def _values(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        from . import scrambling  # here, because importing numba takes longer than all the rest

        plan, n = self._plan, len(places)
        nodes, values = plan.stacked(places)
        total = np.zeros((n, self.n_components))
        for terms, width in plan.batches:
            keys = np.empty((n, width), dtype=np.uint64)
            weights = np.empty((n, width))
            scrambling.multiply(
                nodes,
                values,
                plan.starts[terms.start : terms.stop + 1],
                plan.offsets,
                plan.widths,
                plan.keys[terms],
                plan.factors[terms],
                keys,
                weights,
            )
            slots = np.empty(keys.shape, dtype=np.int32)
            different = scrambling.numbered(keys, slots)
            scrambling.add_products(weights, slots, different, self._function_keys, total)
        return total

    def coefficients(self, rungs, nodes) -> NDArray[np.float64]:
        """ξ of some basis functions, a row each, in every drawn function.

        Parameters
        ----------
        rungs : sequence of int
            The rung of every coordinate.
        nodes : array of int, shape (m, n_features)
            The node of every coordinate, 0 where the rung is the constant.
        """
        from . import scrambling

        nodes = np.ascontiguousarray(nodes, dtype=np.int64)
        constant = [ladder.constant for ladder in self._plan.ladders]
        active = [m for m, rung in enumerate(rungs) if rung or not constant[m]]
        keys = np.empty((len(nodes), 1), dtype=np.uint64)
        starts = np.array([0, len(active)])
        scrambling.multiply(
            nodes,
            np.ones(nodes.shape),
            starts,
            np.array(active, dtype=np.int64),
            np.ones(len(active), dtype=np.int64),
            _keys_of_terms(self.seed, starts, active, [rungs[m] for m in active]),
            np.ones(1),
            keys,
            np.empty(keys.shape),
        )
        out = np.empty((len(nodes), self.n_components))
        scrambling.coefficients(keys[:, 0], self._function_keys, out)
        return out


@dataclass(frozen=True, eq=False)
class Plan:
    """The terms of a resolved law, laid out for compiled loops.

    Functions of all rungs of all coordinates that meet a place stand side by side. Term t is the
    product of ``widths[i]`` of them from ``offsets[i]`` on, for starts[t] ≤ i < starts[t + 1].
    Batches are slices of terms, as many together as make a row's products worth a call.
    """

    ladders: list[Ladder]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    widths: NDArray[np.int64]
    keys: NDArray[np.uint64]
    factors: NDArray[np.float64]
    batches: list[tuple[slice, int]]

    @classmethod
    def of(cls, family: Multiresolution, n_features: int, seed: int) -> Plan:
        ladders = family.ladders(n_features)
        terms = list(family.terms(ladders))
        starts = np.cumsum([0, *(len(term.rungs) for term in terms)])
        factors = np.array([term.factor for term in terms])
        parts = np.array([part for term in terms for part in term.rungs], dtype=np.int64)
        coordinates, rungs = parts.reshape(-1, 2).T
        most = max(len(ladder.widths) for ladder in ladders)
        table = np.zeros((len(ladders), most), dtype=np.int64)
        for m, ladder in enumerate(ladders):
            table[m, : len(ladder.widths)] = ladder.widths
        before = np.cumsum(table.ravel()).reshape(table.shape) - table
        widths = table[coordinates, rungs]
        products = np.array([widths[a:b].prod() for a, b in pairwise(starts)], dtype=np.int64)
        keys = _keys_of_terms(seed, starts, coordinates, rungs)
        offsets = before[coordinates, rungs]
        return cls(ladders, starts, offsets, widths, keys, factors, _batches(products))

    @property
    def widest(self) -> int:
        return max(width for _, width in self.batches)

    def stacked(self, places: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Nodes and values of all rungs of all coordinates, side by side."""
        columns = zip(self.ladders, places.T, strict=True)
        rungs = [rung for ladder, column in columns for rung in ladder.rungs(column)]
        nodes = np.concatenate([rung.nodes for rung in rungs], axis=1)
        return nodes, np.concatenate([rung.values for rung in rungs], axis=1)


def _keys_of_terms(seed: int, starts, coordinates, rungs) -> NDArray[np.uint64]:
    from .scrambling import chained

    numbers = (np.asarray(coordinates, dtype=np.int64) << 32) + np.asarray(rungs, dtype=np.int64)
    return chained(raw_bits(seed, "nodes", 1)[0], starts, numbers)


def _batches(products: NDArray[np.int64]) -> list[tuple[slice, int]]:
    """Slices of consecutive terms, and how many products they have together."""
    found: list[tuple[slice, int]] = []
    first, width = 0, 0
    for t, own in enumerate(products):
        if width and width + own > TOGETHER:
            found.append((slice(first, t), width))
            first, width = t, 0
        width += int(own)
    return [*found, (slice(first, len(products)), width)]


def function_keys(seed: int, count: int) -> NDArray[np.uint64]:
    """Keys of functions in groups, as `scrambling` wants them; a longer list starts the same."""
    from .scrambling import GROUP, HALF

    groups = -(-count // GROUP)
    return raw_bits(seed, "functions", groups * GROUP).reshape(groups, 2, HALF)


# -- grids ---------------------------------------------------------------------------------------


def tensor_terms(ladders: list[Ladder]) -> Iterator[Term]:
    """All products of rungs."""
    for levels in product(range(len(ladders[0].widths)), repeat=len(ladders)):
        active = ((m, rung) for m, rung in enumerate(levels) if rung or not ladders[m].constant)
        yield Term(tuple(active))


def sparse_terms(ladders: list[Ladder]) -> Iterator[Term]:
    """Products of rungs whose numbers sum to less than there are."""
    constant = all(ladder.constant for ladder in ladders)

    def grow(first: int, left: int, active: tuple) -> Iterator[Term]:
        if constant or first == len(ladders):
            yield Term(active)
        for m in range(first, len(ladders) if constant else min(first + 1, len(ladders))):
            for rung in range(1 if constant else 0, left + 1):
                yield from grow(m + 1, left - rung, (*active, (m, rung)))

    yield from grow(0, len(ladders[0].widths) - 1, ())


def tensor_products(widths: list[int], d: int) -> int:
    return sum(widths) ** d


def sparse_products(widths: list[int], d: int) -> int:
    """Products of widths over rungs that sum to less than len(widths), in all."""
    counts = np.zeros(len(widths), dtype=object)
    counts[0] = 1
    for _ in range(d):
        counts = np.convolve(counts, np.array(widths, dtype=object))[: len(widths)]
        if counts.sum() > MOST_PRODUCTS:
            break
    return int(counts.sum())


def tensor_kernel(kernels: Iterator[list[NDArray]]) -> NDArray[np.float64]:
    """Π_m Σ_ρ k_mρ, for kernels of all rungs of every coordinate."""
    total = np.ones(1)
    for rungs in kernels:
        total = total * sum(rungs)
    return total


def sparse_kernel(kernels: Iterator[list[NDArray]]) -> NDArray[np.float64]:
    """Σ of Π_m k_mρ over rungs ρ that sum to less than there are."""
    totals: list = [1.0]
    for rungs in kernels:
        fresh = [0.0] * len(rungs)
        for have, known in enumerate(totals):
            for rung in range(len(rungs) - have):
                fresh[have + rung] = fresh[have + rung] + known * rungs[rung]
        totals = fresh
    return np.asarray(sum(totals))


def rung_kernels(ladder: Ladder, x: NDArray, y: NDArray) -> list[NDArray[np.float64]]:
    """Σ of φ(x) φ(y) over the nodes of every rung."""
    found = []
    for left, right in zip(ladder.rungs(x), ladder.rungs(y), strict=True):
        a, b = left.matrix(), right.matrix()
        size = max(a.shape[1], b.shape[1])
        a.resize(len(x), size)
        b.resize(len(y), size)
        found.append((a @ b.T).toarray())
    return found
