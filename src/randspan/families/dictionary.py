"""Any finite basis, scrambled (Maillard and Munos 2009: compressed least squares)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, clone

from ..checks import is_count
from .base import Family
from .functions import Functions
from .shared.anchors import Anchored, Kernel
from .shared.randomness import raw_bits
from .shared.rows import Rows

# Values of basis functions that are worked on at once: 32 MB.
AT_ONCE = 2**22
# Rows that coefficients are computed for at a time, if rows are not too wide.
ROWS = 2048


class Dictionary(Family):
    """φ(x) = Σ_{i≤F} ξ_i φ_i(x), ξ_i ~ N(0, 1), over any basis φ_1, …, φ_F.

    The kernel is Σ_i φ_i(x) φ_i(y): a factor of φ_i says how large its weight may be. The
    coefficients are functions of the seed, computed where they are needed: of a basis that comes in
    blocks, a million functions take no memory.

    Parameters
    ----------
    basis : callable, list of callables, transformer or Mercer
        What it is called with are rows as functions see them (standardised, unless
        ``standardize=False``), a dense float64 array. Either ``basis(X)`` returns the matrix of all
        values, dense or sparse, a column for every φ_i; or, if the object has a length F,
        ``basis(X, start, stop)`` returns those of φ_start, …, φ_{stop - 1}. A list has one function
        ``f(X)`` for every φ_i; of a fitted scikit-learn transformer ``transform`` is called.
        ``Mercer()`` is the basis of a kernel's eigenfunctions.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> def cosines(X):  # a thousand of them
    ...     numbers = np.arange(1, 1001)
    ...     return np.cos(np.pi * X * numbers) / numbers
    >>> rs.Dictionary(cosines).draw(X, 8, random_state=0)(X).shape
    (50, 8)
    """

    default_alpha = 0.0

    def __init__(self, basis):
        self.basis = basis

    def __sklearn_clone__(self):
        # A fitted transformer stays fitted, and a large basis is not copied.
        basis = clone(self.basis) if isinstance(self.basis, Mercer) else self.basis
        return type(self)(basis)

    def set_params(self, **params):
        inner = any(name.startswith("basis__") for name in params)
        if inner and not isinstance(params.get("basis", self.basis), Mercer):
            raise ValueError(
                "The basis is an object of yours, already fitted: its parameters cannot be changed "
                "from here. Set basis to another one."
            )
        return super().set_params(**params)

    def rows_wanted(self, n_components):
        if isinstance(self.basis, Mercer):
            return self.basis.rows_wanted(n_components)
        return super().rows_wanted(n_components)

    def read(self, sample, n_components, seed):
        basis = self.basis
        if isinstance(basis, Mercer):
            return basis.read(sample, n_components, seed)
        call = getattr(basis, "transform", basis)
        listed = isinstance(basis, Sequence) and all(map(callable, basis))
        if isinstance(basis, (type, Family)) or not (listed or callable(call)):
            raise ValueError(
                "basis must be a callable, a list of callables, a fitted transformer, drawn "
                f"functions or rs.Mercer(); got {basis!r}."
            )
        if hasattr(basis, "__len__") and len(basis) == 0:
            raise ValueError("The basis is empty: it must have one function at least.")
        if listed:
            return Listed(list(basis), len(basis))
        if callable(basis) and hasattr(basis, "__len__"):
            return Blocks(basis, len(basis))
        first = _checked(call(sample.rows[:1].exact), 1, None, repr(basis))
        return Whole(call, first.shape[1])

    def sample(self, n_features, n_components, seed):
        return DictionaryFunctions(self, n_features, n_components, seed, self.resolved)

    def closed_form(self, X, Y):
        left, right = X.exact, Y.exact
        total = np.zeros((len(left), len(right)))
        basis: Basis = self.resolved
        for columns in basis.blocks():
            a, b = (basis.checked(x, columns) for x in (left, right))
            products = a @ b.T
            total += products.toarray() if sparse.issparse(products) else products
        return total


@dataclass(frozen=True, eq=False)
class DictionaryFunctions(Functions):
    """Σ_i ξ_i φ_i(x) for drawn ξ that are functions of the seed."""

    seed: int
    basis: Basis

    @cached_property
    def _function_keys(self) -> NDArray[np.uint64]:
        from .shared.scrambling import function_keys  # here, because importing numba takes long

        return function_keys(self.seed, self.n_components)

    def _node_keys(self, numbers: NDArray) -> NDArray[np.uint64]:
        from .shared.scrambling import chained

        numbers = np.ascontiguousarray(numbers, dtype=np.int64)
        first = raw_bits(self.seed, "basis", 1)[0]
        return chained(first, np.arange(len(numbers) + 1), numbers)

    def coefficients(self, numbers) -> NDArray[np.float64]:
        """ξ of some basis functions, by their numbers: a row each, in every drawn function."""
        from .shared import scrambling

        out = np.empty((len(numbers), self.n_components))
        scrambling.coefficients(self._node_keys(numbers), self._function_keys, out)
        return out

    def evaluate(self, rows: Rows) -> NDArray:
        basis = self.basis
        out = np.empty((len(rows), self.n_components), dtype=rows.dtype)
        step = int(np.clip(AT_ONCE // len(basis), 1, ROWS)) if basis.whole else ROWS
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            out[start : start + step] = self._values(basis, some)
        return out

    def _values(self, basis: Basis, rows: Rows) -> NDArray[np.float64]:
        from .shared.scrambling import add_products

        X = rows.exact
        total = np.zeros((len(X), self.n_components))
        for columns in basis.blocks():
            values = basis.checked(X, columns)
            if sparse.issparse(values):
                met = np.unique(values.indices)
                total += values[:, met] @ self.coefficients(columns.start + met)
            else:
                numbers = np.arange(columns.start, columns.stop)
                every = np.broadcast_to(np.arange(len(numbers), dtype=np.int32), values.shape)
                nodes = self._node_keys(numbers)
                add_products(values, every, nodes, self._function_keys, total)
        return total


# -- bases ---------------------------------------------------------------------------------------


class Basis(ABC):
    """F functions, evaluated block by block: what `Dictionary` makes of the basis it was given."""

    #: whether a block costs as much as all of them
    whole = False
    count: int

    def __len__(self) -> int:
        return self.count

    def blocks(self) -> Iterator[slice]:
        """Slices of the numbers of functions, the same ones for any number of rows."""
        step = len(self) if self.whole else AT_ONCE // ROWS
        return (slice(s, min(s + step, len(self))) for s in range(0, len(self), step))

    @abstractmethod
    def values(self, X: NDArray, columns: slice) -> Any:
        """The values of some functions, a column each."""

    def checked(self, X: NDArray, columns: slice) -> Any:
        width = columns.stop - columns.start
        return _checked(self.values(X, columns), len(X), width, self.name)

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call it."""


@dataclass(frozen=True)
class Whole(Basis):
    """All values at once."""

    call: Callable
    count: int
    whole = True
    name = property(lambda self: repr(self.call))

    def values(self, X, columns):
        return self.call(X)


@dataclass(frozen=True)
class Blocks(Basis):
    """Values of functions start, …, stop - 1."""

    call: Callable
    count: int
    name = property(lambda self: repr(self.call))

    def values(self, X, columns):
        return self.call(X, columns.start, columns.stop)


@dataclass(frozen=True)
class Listed(Basis):
    """One callable for every function."""

    calls: list[Callable]
    count: int
    name = property(lambda self: f"[{self.calls[0]!r}, ...]")

    def values(self, X, columns):
        found = []
        for number, call in enumerate(self.calls[columns], columns.start):
            value = call(X)
            value = value.toarray() if sparse.issparse(value) else np.asarray(value)
            if value.size != len(X):
                raise ValueError(
                    f"Function {number} of the basis, {call!r}, returned an array of shape "
                    f"{value.shape} for {len(X)} rows."
                )
            found.append(value.reshape(len(X)))
        return np.column_stack(found)


def _checked(values, n_rows: int, width: int | None, basis: str) -> Any:
    """A float64 matrix with a row for every row, dense or in compressed rows."""
    dense = not sparse.issparse(values)
    values = np.asarray(values) if dense else sparse.csr_array(values)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"The basis {basis} returned {values.dtype} where numbers were expected.")
    if dense:
        values = np.ascontiguousarray(values, dtype=np.float64)
    else:
        values = values.astype(np.float64)
        values.sum_duplicates()
    finite = np.isfinite(values if dense else values.data).all()
    if values.ndim != 2 or values.shape[0] != n_rows:
        raise ValueError(
            f"The basis {basis} returned an array of shape {values.shape} for {n_rows} row(s); "
            "it must return a row for every row and a column for every function."
        )
    if values.shape[1] != (width or max(values.shape[1], 1)):
        raise ValueError(
            f"The basis {basis} returned {values.shape[1]} column(s) where {width or 'some'} "
            "were expected."
        )
    if not finite:
        raise ValueError(f"The basis {basis} returned NaN or infinity.")
    return values


class Mercer(Anchored, BaseEstimator):
    """φ_i(x) = √λ_i e_i(x) = k(x, Z) u_i/√μ_i: eigenfunctions of a kernel, for `Dictionary`.

    u_i and μ_i = m·λ_i are eigenvectors and eigenvalues of the kernel matrix of m anchors Z. Then
    Σ_i φ_i(x) φ_i(y) is the kernel itself between anchors, and Nyström's approximation elsewhere:
    what `Dictionary` makes of it are Gaussian processes with that covariance. Values are matrix
    products: a row alone and the same row among others agree to rounding errors, not to the bit.

    Parameters
    ----------
    kernel, gamma, kernel_params
        As for `KernelExpansions`.
    anchors : int, "rpcholesky" or array of shape (m, n_features), default=500
        Rows at random, pivots (as many as there are functions), or rows as functions see them.
    rank : int or None, default=None
        How many eigenfunctions, those of the largest eigenvalues; all that are not rounding errors
        if None.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> family = rs.Dictionary(rs.Mercer("laplacian", anchors=100))
    >>> family.draw(X, 20, random_state=0)(X).shape
    (300, 20)
    """

    def __init__(self, kernel="rbf", gamma=None, anchors=500, rank=None, kernel_params=None):
        self.kernel = kernel
        self.gamma = gamma
        self.anchors = anchors
        self.rank = rank
        self.kernel_params = kernel_params

    @property
    def kernel_name(self):
        return self.kernel

    def rows_wanted(self, n_components):
        return int(self.anchors) if is_count(self.anchors) else 0

    def read(self, sample, n_components: int, seed: int) -> Eigenfunctions:
        """The eigenfunctions, on anchors chosen from a sample of rows."""
        if self.rank is not None and not is_count(self.rank):
            raise ValueError(f"rank must be None or a positive whole number, got {self.rank!r}.")
        kernel = self.read_kernel(sample, n_components, seed)
        anchors = self.read_anchors(kernel, sample, n_components, seed, n_components)
        values, vectors = linalg.eigh(kernel.matrix(anchors))
        values, vectors = values[::-1], vectors[:, ::-1].copy()
        if -values.min() > 1e-8 * max(values.max(), 0.0):
            raise ValueError(
                f"The kernel {kernel.kernel!r} has negative eigenvalues (from {values.min():.2g} "
                f"to {values.max():.2g}): only a positive definite one has this basis."
            )
        kept = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
        kept[len(values) if self.rank is None else int(self.rank) :] = False
        if not kept.any():
            raise ValueError(f"The kernel {kernel.kernel!r} is 0 between all anchors.")
        # Of two opposite eigenvectors, the one whose largest entry is positive.
        largest = np.abs(vectors).argmax(axis=0)
        vectors *= np.sign(vectors[largest, np.arange(len(largest))])
        weights = vectors[:, kept] / np.sqrt(values[kept])
        return Eigenfunctions(kernel, anchors, weights, int(kept.sum()))


@dataclass(frozen=True)
class Eigenfunctions(Basis):
    """k(x, Z) u_i/√μ_i."""

    kernel: Kernel
    anchors: NDArray[np.float64]
    weights: NDArray[np.float64]
    count: int
    whole = True
    name = property(lambda self: f"Mercer({self.kernel.kernel!r})")

    def values(self, X, columns):
        return self.kernel.values(Rows(X), self.anchors) @ self.weights
