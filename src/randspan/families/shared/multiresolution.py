"""Random functions of the multiresolution kind (Maillard and Munos 2010), built without a tree.

W = Σ_i ξ_i φ_i over products φ_i of functions of one coordinate (`grids`), of which only a few meet
a given point. For a piece of rows the nodes that meet any of them are collected term by term, each
once, and their coefficients computed from the node and the seed (`scrambling`): nothing is stored,
and a point has the same values alone, in a block, or on another machine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import is_count
from ..base import Family
from ..functions import Functions
from .cube import Cube, check_interval, neighbourly
from .grids import Ladder, Rung, Term
from .randomness import raw_bits
from .rows import Rows

# Products of one row that are still worth computing, and those that defaults stay within: of a
# tensor grid, and of a sparse one.
MOST_PRODUCTS, TENSOR_PRODUCTS, SPARSE_PRODUCTS = 2**18, 2**14, 2**12
# Places at which the largest values of basis functions are looked for.
PLACES = 2**13
# Entries of kernels that are computed at once.
AT_ONCE = 2**20
# Basis functions whose coefficients are summed for a norm.
MOST_NODES = 2**22
# Scales that the digits of a float reach.
DEEPEST = 50
# Terms are taken together until a row has so many products; pieces have as many rows as make this.
TOGETHER, PIECE = 32, 2**18


class Multiresolution(Family):
    """Σ_i ξ_i φ_i(x) on the unit cube, ξ_i ~ N(0, 1), φ_i products of functions on ladders."""

    default_alpha = 0.0
    on_cube = True
    #: keys, weights and numbers of the products of a piece, and the table that numbers them
    working_bytes = 48 * PIECE
    #: the share of the cube on every side that the training data are kept away from
    inset = 0.0
    #: the share of its width by which the box of the training data is widened, or may be left
    margin = 0.0
    spill = 0.0
    #: scales beyond those that as many functions as rows would have
    extra_depth = 0

    #: parameters that rows may fill in
    open_parameters: tuple[str, ...] = ("depth", "grid")

    sees_scales = property(lambda self: False)

    # -- what a family of this kind says ---------------------------------------------------------

    @abstractmethod
    def filled(self, sample) -> Multiresolution:
        """A copy with numbers and names for all parameters, of which `read` takes note."""

    @abstractmethod
    def ladders(self, n_features: int) -> list[Ladder]:
        """The ladder of every coordinate."""

    @abstractmethod
    def terms(self, ladders: list[Ladder]) -> Iterator[Term]:
        """The terms of the sum; one that is deeper has these and more."""

    @abstractmethod
    def products(self, n_features: int, depth: int) -> int:
        """How many products meet a row."""

    @abstractmethod
    def kernel_of(self, x: list[list[Rung]], y: list[list[Rung]]) -> NDArray[np.float64]:
        """The kernel, from the rungs of every coordinate."""

    # -- what they share -------------------------------------------------------------------------

    def read(self, sample, n_components, seed):
        whole, d = self.filled(sample), sample.shape[1]
        known = {name: getattr(whole, name) for name in self.open_parameters}
        if self.interval is not None:
            return OnCube(*check_interval(self.interval, d), known)
        more = self.margin * (sample.upper - sample.lower)
        return OnCube(sample.lower - more, sample.upper + more, known)

    @property
    def law(self) -> Multiresolution:
        """This family with what was read from rows in place of what was left open."""
        return self.with_values(**self.resolved.known)

    def with_depth(self, sample) -> Multiresolution:
        """A depth for as many rows as there are, within reason; refuses what is beyond it."""
        d, depth = sample.shape[1], self.depth
        if isinstance(depth, str) and depth == "auto":
            depth = self.default_depth(sample.count, d)
        elif not (is_count(depth) and depth <= DEEPEST) and depth != np.inf:
            raise ValueError(
                f"depth must be 'auto', a whole number of scales from 1 to {DEEPEST} (beyond it "
                f"floats have no digits), or np.inf for the kernel alone; got {self.depth!r}."
            )
        if depth != np.inf and self.products(d, int(depth)) > MOST_PRODUCTS:
            raise ValueError(
                f"{self!r} would sum more than {MOST_PRODUCTS:,} products for every row of {d} "
                "columns: use grid='sparse', a smaller depth, or fewer columns."
            )
        return self.with_values(depth=depth)

    def default_depth(self, n_rows: float, d: int) -> int:
        """A depth with as many functions as rows; on a sparse grid what a row can still pay."""
        fitting = max(1, ceil(log2(max(n_rows, 2)) / d))
        if self.grid != "sparse":
            return min(fitting + self.extra_depth, DEEPEST)
        depth = max(1, ceil(log2(max(n_rows, 2))) + self.extra_depth)
        while depth > 1 and self.products(d, depth) > SPARSE_PRODUCTS:
            depth -= 1
        return depth

    def sup_square(self, n_features):
        """Σ over terms of the largest Σ_l φ_l(x)² of every rung, on a fine grid of places."""
        places = np.arange(PLACES) * (np.sqrt(5) - 1) / 2 % 1  # of every phase at every scale
        law = self.law
        ladders = law.ladders(n_features)
        known: dict[int, list[float]] = {}
        for ladder in ladders:
            if id(ladder) not in known:
                rungs = ladder.rungs(places)
                known[id(ladder)] = [float((r.values**2).sum(axis=1).max()) for r in rungs]
        largest = [known[id(ladder)] for ladder in ladders]
        return float(
            sum(t.factor**2 * prod(largest[m][r] for m, r in t.rungs) for t in law.terms(ladders))
        )

    @property
    def cube(self) -> Cube:
        return Cube(self.resolved.lower, self.resolved.upper, self.inset, self.spill)

    def outside(self, rows):
        return self.cube.outside(rows)

    def sample(self, n_features, n_components, seed):
        if self.resolved.known["depth"] == np.inf:
            raise ValueError(
                "Functions of infinite depth cannot be drawn: depth=np.inf is for the kernel, and "
                "for n_components=np.inf. Use depth='auto' or a number."
            )
        return MultiresolutionFunctions(self, n_features, n_components, seed)

    def closed_form(self, X, Y):
        x, y = self.cube.places(X), self.cube.places(Y)
        law = self.law
        ladders = law.ladders(x.shape[1])

        def rungs(places: NDArray) -> list[list[Rung]]:
            return [ladder.rungs(column) for ladder, column in zip(ladders, places.T, strict=True)]

        right = rungs(y)
        step = max(1, AT_ONCE // max(len(y), 1))  # there are many kernels of rungs, each as large
        parts = [law.kernel_of(rungs(x[s : s + step]), right) for s in range(0, len(x), step)]
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class OnCube:
    """The box that is mapped to the unit cube, and values for the parameters left open."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    known: dict[str, Any]


@dataclass(frozen=True, eq=False)
class MultiresolutionFunctions(Functions):
    """Σ_i ξ_i φ_i(x) for drawn ξ that are functions of the seed, the function and the node."""

    seed: int

    def __getstate__(self):
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @cached_property
    def _function_keys(self) -> NDArray[np.uint64]:
        from .scrambling import function_keys  # here, because importing numba takes long

        return function_keys(self.seed, self.n_components)

    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.family.law, self.n_features, self.seed)

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
        from . import scrambling

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

    def rkhs_norm(self, weights: NDArray) -> float:
        """‖A'w‖: the length of the coefficients of Σ_p w_p W_p on the basis, over all nodes.

        For scrambled wavelets this is a Sobolev norm: a coefficient of an L2-normalised wavelet of
        scale j counts with 2^{js}.
        """
        law, d = self.family.law, self.n_features
        ladders = law.ladders(d)
        terms = [dict(term.rungs) for term in law.terms(ladders)]
        shapes = [[ladders[m].sizes[rungs.get(m, 0)] for m in range(d)] for rungs in terms]
        count = sum(prod(shape) for shape in shapes)
        if count > MOST_NODES:
            raise ValueError(
                f"The norm is a sum over all {count:,} basis functions, of which at most "
                f"{MOST_NODES:,} are summed: use a smaller depth, or a sparse grid."
            )
        total = 0.0
        for rungs, shape in zip(terms, shapes, strict=True):
            nodes = np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1)
            for start in range(0, len(nodes), AT_ONCE // self.n_components + 1):
                some = nodes[start : start + AT_ONCE // self.n_components + 1]
                xi = self.coefficients([rungs.get(m, 0) for m in range(d)], some)
                total += float(np.sum((xi @ weights) ** 2))
        return float(np.sqrt(total))

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

        ladders, rungs = self._plan.ladders, [int(rung) for rung in rungs]
        if len(rungs) != len(ladders) or not all(
            0 <= rung < len(ladder.sizes) for rung, ladder in zip(rungs, ladders, strict=True)
        ):
            raise ValueError(
                f"rungs must be {len(ladders)} number(s) from 0 to {len(ladders[0].sizes) - 1}, "
                f"one for every column; got {rungs}."
            )
        nodes = np.ascontiguousarray(nodes, dtype=np.int64)
        sizes = [ladder.sizes[rung] for rung, ladder in zip(rungs, ladders, strict=True)]
        if nodes.ndim != 2 or nodes.shape[1] != len(rungs):
            raise ValueError(f"nodes must have the shape (m, {len(rungs)}), got {nodes.shape}.")
        if ((nodes < 0) | (nodes >= sizes)).any():
            raise ValueError(f"Rungs {rungs} have {sizes} nodes each, numbered from 0.")
        active = [m for m, rung in enumerate(rungs) if rung or not ladders[m].constant]
        keys = np.empty((len(nodes), 1), dtype=np.uint64)
        starts = np.array([0, len(active)])
        first = _keys_of_terms(self.seed, starts, active, [rungs[m] for m in active])
        if first[0] not in self._plan.keys:
            raise ValueError(f"There is no product of rungs {rungs} on the grid {self.family!r}.")
        scrambling.multiply(
            nodes,
            np.ones(nodes.shape),
            starts,
            np.array(active, dtype=np.int64),
            np.ones(len(active), dtype=np.int64),
            first,
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
