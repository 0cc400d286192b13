"""What every family of random functions is.

A `Family` is a law for functions: parameters, facts, and two steps. `resolve` reads from a sample
of rows whatever the parameters leave open ("median", a range, centres) and returns a family in
which nothing is open any more; `sample` draws functions from that law as a pure function of the
seed. `draw` is one after the other.

`Functions` are the drawn functions, frozen: called with rows they return the n × k matrix of
plain values φ_i(x), without any factor 1/√k.

A new family writes `sample`, and `resolve`, `kernel` and the facts where it has them.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from .bags import Bags, Training
from .checks import check_n_components
from .layout import Layout
from .randomness import seed_from
from .rows import Rows, as_rows
from .sample import Sample

if TYPE_CHECKING:
    from .union import Union


OUTSIDE = (
    "{} of {} rows have values outside of the range that the functions were drawn for (that of the "
    "training data, or interval=): these values are clipped to it."
)


class Family(BaseEstimator, ABC):
    """A law for random functions φ(x; θ), θ ~ p, with kernel k(x, y) = E φ(x; θ) φ(y; θ)."""

    #: whether `functions(X)` is a sparse matrix
    sparse = False
    #: whether functions are learned from all rows, not drawn from a law that a sample resolves
    grows = False
    #: whether the draw looks at the target
    uses_target = False
    #: how ``alpha="auto"`` is chosen: "gcv", "out_of_bag", or a number
    default_alpha: str | float = "gcv"
    #: whether inputs are mapped to the unit cube, where scales of columns mean nothing
    on_cube = False

    def default_components(self, n_rows: float) -> int | None:
        """How many functions ``n_components="auto"`` draws; None: doubled until it pays no more."""
        if not isinstance(self.default_alpha, str):
            return ceil(np.sqrt(n_rows))  # few enough for least squares
        return 100 if self.sparse or self.grows else None

    @property
    def bounded(self) -> float:
        """sup |φ|, infinite where there is none."""
        return np.inf

    @property
    def rotation_invariant(self) -> bool:
        """Whether the law of the functions is the same for x and for a rotated x."""
        return False

    @property
    def differentiable(self) -> bool:
        """Whether the functions have a gradient."""
        return True

    @property
    def nearest_kernel(self) -> str:
        """The kernel that scales of the columns are learned with."""
        return "matern52"

    @property
    def stretch(self) -> NDArray[np.float64] | None:
        """What x̃ is multiplied by to be at that kernel's unit scale; None without a bandwidth."""
        return None

    @property
    def sees_scales(self) -> bool:
        """Whether functions of a column that is stretched are other functions."""
        return True

    def with_bandwidth_of(self, resolved: Family) -> Family:
        """The same law, unresolved but for the bandwidth."""
        gamma = getattr(self, "gamma", None)
        return self.with_values(gamma=resolved.gamma) if isinstance(gamma, str) else self

    def outside(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Which rows a resolved law clips to its range; None where it has none."""
        return None

    def draw(self, X, n_components: int, random_state=None, y=None) -> Functions:
        """Draw ``n_components`` functions; function i depends on the seed and on i only.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Rows
            The rows from which open parameters ("median", ranges, centres) are read.
        n_components : int
            How many functions; a larger draw starts with the smaller one.
        random_state : int, RandomState, Generator or None
            An integer makes the draw reproducible.
        y : array, optional
            Targets, for families that look at them; the others ignore it. Numbers, or classes
            (names, or at most 50 different whole numbers).
        """
        check_n_components(n_components)
        seed = seed_from(random_state)
        rows = as_rows(X)
        sample = Sample.of(rows, seed, self.rows_wanted(n_components))
        law = self.resolve(sample, n_components, seed)
        if law.grows:
            return law.grow(Training.of(rows, y), n_components, seed).seeing(rows)
        return law.sample(rows.shape[1], n_components, seed).seeing(rows)

    def rows_wanted(self, n_components: Any) -> int:
        """How many rows `resolve` would like to see; there may be fewer, or more."""
        return 0 if n_components in (None, np.inf) else int(n_components)

    def resolve(self, sample: Sample, n_components: int, seed: int) -> Family:
        """The same law with everything that is read from data filled in."""
        return self

    def sample(self, n_features: int, n_components: int, seed: int) -> Functions:
        """Functions of a resolved law, from the seed alone."""
        raise ValueError(f"{self!r} learns its functions from rows: use draw, or fit a model.")

    def grow(self, training: Training, n_components: int, seed: int) -> Functions:
        """Functions that are learned from rows; function i still depends on the seed and i only."""
        return self.sample(training.rows.shape[1], n_components, seed)

    @property
    def kernel(self) -> Callable[..., NDArray[np.float64]]:
        """``family.kernel(X, Y=None)``: k(x, y) = E φ(x) φ(y) in closed form, Y = X if None.

        What the parameters leave open is read from X. Where a family also has a *parameter* called
        kernel, assigning to it sets the parameter, which reads back as `kernel_name`.
        """
        return self._kernel_of

    @kernel.setter
    def kernel(self, name) -> None:
        self.kernel_name = name

    def get_params(self, deep: bool = True) -> dict:
        params = super().get_params(deep)
        if "kernel" in params:
            params["kernel"] = self.kernel_name
        return params

    def _kernel_of(self, X, Y=None) -> NDArray[np.float64]:
        rows = as_rows(X)
        resolved = self.resolve(Sample.of(rows, 0, len(rows)), len(rows), 0)
        return resolved.closed_form(rows, rows if Y is None else as_rows(Y))

    def closed_form(self, X: Rows, Y: Rows) -> NDArray[np.float64]:
        """The kernel of a resolved law; families without one leave this as it is."""
        raise self.no_closed_form("none is known")

    def no_closed_form(self, reason: str) -> NotImplementedError:
        return NotImplementedError(
            f"{self!r} has no kernel in closed form: {reason}. "
            "rs.estimate_kernel(family, X, Y, n_components) estimates it."
        )

    def layout(self, n_features: int, n_components: int, n_targets: int) -> Layout:
        """What drawn functions will look like from outside."""
        return Layout(n_components, n_components)

    def stored_bytes(self, n_rows: int, n_features: int, n_components: int) -> int:
        """About how much memory the functions themselves will take."""
        return 8 * n_components * n_features

    def with_values(self, **values) -> Family:
        """A copy with some parameters replaced."""
        copy = clone(self)
        for name, value in values.items():
            setattr(copy, name, value)
        return copy

    def __add__(self, other: Family) -> Union:
        from .union import Union

        if not isinstance(other, Family):
            return NotImplemented
        return Union([*self.parts_of_union(), *other.parts_of_union()])

    def parts_of_union(self) -> list[Family]:
        return [self]


@dataclass(frozen=True, eq=False)
class Functions(ABC):
    """Drawn functions φ_1, …, φ_k: ``functions(X)`` is the n × k matrix of φ_i(x).

    Attributes
    ----------
    family : Family
        The resolved law they were drawn from.
    n_features : int
        Number of inputs.
    n_components : int
        k, as the family counts it.
    """

    family: Family
    n_features: int
    n_components: int

    @property
    def n_columns(self) -> int:
        """Columns of ``functions(X)``."""
        return self.n_components

    @property
    def n_direct(self) -> int:
        """How many of the first columns are not drawn (direct links): no box holds for them."""
        return 0

    @property
    def n_stored(self) -> int:
        """How many values of a row differ from zero."""
        return self.n_columns

    @property
    def layout(self) -> Layout:
        """What these functions look like from outside: that of their family."""
        dense = self.dense_part
        return Layout(
            self.n_components,
            0 if dense is None else dense.n_columns,
            sum(part.n_components for part in self.coded_parts),
            self.n_direct,
            self.n_targets,
            self.bags is not None,
            repr(self.family) if self.family.uses_target and self.bags is None else "",
        )

    def __getstate__(self) -> dict[str, Any]:
        # What was computed along the way can be computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def dense_part(self) -> Functions | None:
        """The functions whose values are dense; their columns come first."""
        return self

    @property
    def bags(self) -> Bags | None:
        """Which rows each function has learned from, where they learned from some of them."""
        return None

    @property
    def n_targets(self) -> int:
        """How many targets every function predicts, a column for each; 0 if it predicts none."""
        return 0

    @property
    def origin(self) -> NDArray[np.float64]:
        """The mean of the targets that functions have learned to predict."""
        return np.zeros(self.n_targets)

    def unseen(self, rows: Rows, numbers: NDArray[np.int64]) -> Any:
        """Values for rows of the training data, from what the functions have not learned there.

        ``numbers`` are those of `Bags.numbers`.
        """
        return self.evaluate(rows)

    @property
    def coded_parts(self) -> list:
        """The functions that are indicators of cells, each with codes of its own."""
        return []

    def with_coded(self, coded: list) -> Functions:
        """The same functions with other cells in place of `coded_parts`."""
        return self

    def seeing(self, rows: Rows) -> Functions:
        """The same functions, with a column for every cell that ``rows`` fall into."""
        return self

    def with_training_rows(self, values) -> Functions:
        """The same functions; where these are kernels at training rows, at other rows."""
        return self

    def squares(self, rows: Rows) -> NDArray[np.float64] | None:
        """k(x, x) of rows where columns are kernels k(x, x_i); None where columns are features."""
        return None

    def __call__(self, X):
        rows = self._rows(X)
        clipped = self.family.outside(rows)
        if clipped is not None and clipped.any():
            warnings.warn(OUTSIDE.format(int(clipped.sum()), len(rows)), stacklevel=2)
        return self.evaluate(rows)

    def _rows(self, X) -> Rows:
        rows = as_rows(X)
        if rows.shape[1] != self.n_features:
            raise ValueError(
                f"These functions were drawn for {self.n_features} columns, X has {rows.shape[1]}."
            )
        return rows

    @abstractmethod
    def evaluate(self, rows: Rows) -> Any:
        """The values φ_i of a block of rows, in the block's precision; sparse where coded."""

    def kernel(self, X, Y=None) -> NDArray[np.float64]:
        """k(x, y) = E φ(x) φ(y) under the law these functions were drawn from."""
        rows = self._rows(X)
        return self.family.closed_form(rows, rows if Y is None else self._rows(Y))


def estimate_kernel(family: Family, X, Y=None, n_components: int = 1000, random_state=None, y=None):
    """(1/k) Σ_i φ_i(x) φ_i(y), the Monte Carlo estimate of a family's kernel.

    Parameters
    ----------
    family : Family
    X, Y : array, sparse matrix or data frame
        Y is X if None; what the family leaves open is read from X.
    n_components : int
        k; the standard error falls like 1/√k.
    random_state : int, RandomState, Generator or None
    y : array, optional
        The targets of X, for families that learn from them.

    Returns
    -------
    ndarray of shape (len(X), len(Y))

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.array([[0.0], [1.0]])
    >>> rs.estimate_kernel(rs.Fourier(gamma=1.0), X, n_components=100_000, random_state=0).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    """
    functions = family.draw(X, n_components, random_state, y)
    left = functions(X).astype(np.float64)
    right = left if Y is None else functions(Y).astype(np.float64)
    products = left @ right.T
    dense = products.toarray() if sparse.issparse(products) else products
    return dense / functions.n_components
