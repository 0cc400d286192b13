"""Random binning (Rahimi and Recht 2008): indicators of the cells of random grids."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from .bandwidth import median_gamma
from .base import Family, Functions, check_choice, check_positive
from .pitches import GammaPitches, Pitches, SampledPitches, TabulatedPitches, law_of
from .randomness import raw_bits, uniforms
from .rows import Rows


class Bins(Family):
    """φ(x) = the indicator of x's cell in a grid of random pitch δ_m and shift u_m ~ U[0, δ_m].

    The cell is ⌊(x_m - u_m)/δ_m⌋, m = 1..d. Two rows share it with probability
    k(x, y) = Π_m E max(0, 1 - |x_m - y_m|/δ_m); δ ~ Gamma(2, 1/γ) makes that exp(-γ‖x-y‖₁). Every
    grid counts as one function with values in the indicators of its cells: a column for each cell
    that holds a row of the data it was drawn with, 0 for rows in any other cell.

    Parameters
    ----------
    kernel : "laplacian" or callable, default="laplacian"
        exp(-Σγ_m|Δ_m|); or any one-dimensional kernel k(r), convex and decreasing from 1 to 0,
        called with an array: the kernel is then Π k(γ_m|Δ_m|).
    gamma : "median", float or array of shape (n_features,), default="median"
        "median" is 1/med of L1 distances of two rows.
    pitch : None, float, array of shape (n_features,), distribution or callable, default=None
        A law of pitches in place of the kernel's, γ then being unused: one number, or one a
        column, for a fixed pitch (the hat kernel Π max(0, 1 - |Δ_m|/pitch_m)); a law of
        ``scipy.stats`` with its parameters, or the density p(δ) as a function of an array; or a
        sampler, called as ``pitch(d, rng)`` for every grid and returning d pitches.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> functions = rs.Bins().draw(X, 20, random_state=0)
    >>> Z = functions(X)
    >>> Z.shape[0], Z.nnz, bool(Z.shape[1] == functions.n_columns)
    (100, 2000, True)
    """

    sparse = True
    default_components = 100
    bounded = property(lambda self: 1.0)
    differentiable = property(lambda self: False)

    def __init__(self, kernel="laplacian", gamma="median", pitch=None):
        self.kernel = kernel
        self.gamma = gamma
        self.pitch = pitch

    @property
    def nearest_kernel(self) -> str:
        return "laplacian"

    def with_bandwidth_of(self, resolved):
        return self if self.pitch is not None else super().with_bandwidth_of(resolved)

    @property
    def stretch(self):
        return np.asarray(self.gamma, dtype=np.float64)

    def resolve(self, sample, n_components, seed):
        if isinstance(self.pitch, Pitches):
            return self
        if self.pitch is not None:
            if not isinstance(self.gamma, str) or self.kernel_name != "laplacian":
                raise ValueError("pitch takes the place of kernel and gamma: leave these out.")
            law, gamma = law_of(self.pitch, sample.shape[1])
            return self.with_values(pitch=law, gamma=gamma)
        if callable(self.kernel_name):
            law = TabulatedPitches.of_kernel(self.kernel_name)
        else:
            known = " or a callable, a one-dimensional kernel"
            check_choice("kernel", self.kernel_name, ("laplacian",), known)
            law = GammaPitches()
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("median",), " or positive number(s)")
            return self.with_values(pitch=law, gamma=median_gamma(sample, "cityblock"))
        check_positive("gamma", self.gamma, sample.shape[1])
        return self.with_values(pitch=law)

    def sample(self, n_features, n_components, seed):
        slopes = np.asarray(self.gamma) / self.pitch.draw(seed, n_components, n_features)
        size = n_components * n_features
        return BinFunctions(
            self,
            n_features,
            n_components,
            slopes,
            uniforms(seed, "shifts", n_components, n_features),
            raw_bits(seed, "first hash", size).reshape(n_components, n_features),
            raw_bits(seed, "second hash", size).reshape(n_components, n_features),
            [Table() for _ in range(n_components)],
            np.zeros(n_components, dtype=np.int64),
        )

    def closed_form(self, X, Y):
        if isinstance(self.pitch, SampledPitches):
            raise self.no_closed_form("the pitches come from a sampler of yours")
        x, y = (rows.dense.astype(np.float64) * self.gamma for rows in (X, Y))
        if isinstance(self.pitch, GammaPitches):
            return np.exp(-cdist(x, y, "cityblock"))
        product = np.ones((len(x), len(y)))
        for left, right in zip(x.T, y.T, strict=True):
            product *= self.pitch.kernel(np.abs(left[:, None] - right))
        return product


class Table:
    """The cells of one grid, numbered by first appearance; it only ever grows.

    Keys are hashed into slots by their own lower bits, which are random already.
    """

    def __init__(self, keys: NDArray[np.uint64] | None = None):
        self.count = 0 if keys is None else len(keys)
        known = np.empty(0, dtype=np.uint64) if keys is None else keys
        # One tuple, so that whoever looks up while rows are added sees either both or neither.
        self._arrays = self._with_room(known, np.empty(0, dtype=np.int32), 1)

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self._arrays[0][: self.count]

    def __getstate__(self):
        return {"keys": self.keys.copy()}

    def __setstate__(self, state):
        Table.__init__(self, state["keys"])

    def enter(self, keys: NDArray[np.uint64], codes: NDArray[np.int32]) -> None:
        """The numbers of keys, new ones for new keys."""
        from . import hashing

        for start in range(0, len(keys), 8192):
            part = slice(start, start + 8192)
            self._arrays = self._with_room(*self._arrays, len(keys[part]))
            self.count = hashing.enter(keys[part], *self._arrays, self.count, codes[part])

    def look_up(self, keys: NDArray[np.uint64], count: int, codes: NDArray[np.int32]) -> None:
        """The numbers of keys, -1 where they are not among the first ``count``."""
        from . import hashing

        hashing.look_up(keys, *self._arrays, count, codes)

    def _with_room(self, known, slots, more: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        from . import hashing

        most = self.count + more
        if most > len(known):
            grown = np.empty(max(most, 3 * len(known) // 2), dtype=np.uint64)
            grown[: self.count] = known[: self.count]
            known = grown
        if 3 * most > 2 * len(slots):  # at most two thirds of the slots are taken
            slots = np.empty(2 ** int(np.ceil(np.log2(2 * most + 1))), dtype=np.int32)
            hashing.refill(known, self.count, slots)
        return known, slots


@dataclass(frozen=True, eq=False)
class BinFunctions(Functions):
    """Indicators of the first ``counts[g]`` cells of grid g, one grid after the other.

    The tables may know more cells than that: those that later blocks of a stream brought.
    """

    slopes: NDArray[np.float64]
    shifts: NDArray[np.float64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    tables: list[Table]
    counts: NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        return int(self.counts.sum())

    @property
    def n_stored(self) -> int:
        return self.n_components

    @property
    def dense_part(self) -> None:
        return None

    @property
    def coded_parts(self) -> list[BinFunctions]:
        return [self]

    def keys(self, rows: Rows, grids: slice) -> NDArray[np.uint64]:
        """Keys of the cells of rows in some grids, one line for every grid."""
        from . import hashing

        slopes, offsets = self.slopes[grids], -self.shifts[grids]
        # Centre and scale go into the grid: dense and sparse rows, and blocks of any precision,
        # are then compared with the same numbers.
        if rows.scale is not None:
            slopes = slopes * rows.scale
        if rows.centre is not None:
            offsets = offsets - slopes * rows.centre
        out = np.empty((len(slopes), len(rows)), dtype=np.uint64)
        grid = (slopes, offsets, self.first[grids], self.second[grids], out)
        values = rows.values
        if sparse.issparse(values):
            hashing.sparse_keys(values.indptr, values.indices, values.data, *grid)
        else:
            hashing.dense_keys(np.ascontiguousarray(values.T, dtype=np.float64), *grid)
        return out

    def codes(self, rows: Rows) -> NDArray[np.int32]:
        """Numbers of the cells of rows, one line for every grid; -1 for cells without a column."""
        codes = np.empty((self.n_components, len(rows)), dtype=np.int32)
        for start in range(0, self.n_components, 16):
            grids = slice(start, min(start + 16, self.n_components))
            for g, keys in enumerate(self.keys(rows, grids), start):
                self.tables[g].look_up(keys, self.counts[g], codes[g])
        return codes

    def with_coded(self, coded: list) -> BinFunctions:
        return coded[0]

    def own_tables(self) -> list[Table]:
        """Tables of these cells alone, to which others may be added."""
        return [
            table if table.count == count else Table(table.keys[:count].copy())
            for table, count in zip(self.tables, self.counts, strict=True)
        ]

    def with_tables(self, tables: list[Table]) -> BinFunctions:
        """The same grids with all cells of ``tables``."""
        return replace(self, tables=tables, counts=np.array([table.count for table in tables]))

    def seeing(self, rows: Rows) -> BinFunctions:
        tables = self.own_tables()
        codes = np.empty(len(rows), dtype=np.int32)
        for start in range(0, self.n_components, 16):
            grids = slice(start, min(start + 16, self.n_components))
            for g, keys in enumerate(self.keys(rows, grids), start):
                tables[g].enter(keys, codes)
        return self.with_tables(tables)

    def evaluate(self, rows: Rows) -> sparse.csr_array:
        return indicators(self.codes(rows), self.counts, rows.dtype)


def indicators(codes: NDArray[np.int32], counts: NDArray[np.int64], dtype) -> sparse.csr_array:
    """Rows of 0 and 1 with one column for every cell, from the codes of every grid."""
    offsets = np.cumsum(counts) - counts
    total = int(counts.sum())
    columns = (codes + offsets[:, None]).T
    known = (codes >= 0).T
    starts = np.append(0, np.cumsum(known.sum(axis=1)))
    index = np.int32 if max(total, starts[-1]) < 2**31 else np.int64
    columns = columns[known].astype(index)
    ones = np.ones(len(columns), dtype=dtype)
    return sparse.csr_array((ones, columns, starts.astype(index)), shape=(codes.shape[1], total))
