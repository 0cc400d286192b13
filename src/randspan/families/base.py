"""What every family of random functions is.

A `Family` is a distribution of functions: parameters, facts, and two steps. `read` takes from a
sample of rows whatever the parameters leave open ("median", a range, centres), in a small frozen
object that `resolve` puts beside the parameters, which stay as they were written; `sample` draws
functions from that distribution as a pure function of the seed. `draw` is one after the other.

A new family writes `sample`, and `read`, `closed_form` and the facts where it has them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from ..blas import LIMITS
from ..checks import check_keywords, check_n_components
from .functions import Functions
from .shared.layout import Layout
from .shared.out_of_bag import Training
from .shared.profile import Profile
from .shared.randomness import drawing_bytes, seed_from
from .shared.rows import Rows, as_rows
from .shared.sample import Sample

if TYPE_CHECKING:
    from .union import Union


class NoClosedForm(NotImplementedError, ValueError):
    """A kernel that nobody has written down: nothing to call, and nothing to fit with."""


class Family(BaseEstimator, ABC):
    """A distribution of functions φ(x; θ), θ ~ p, with kernel k(x, y) = E φ(x; θ) φ(y; θ)."""

    def __new__(cls, *args, **kwargs) -> Self:
        check_keywords(cls, args, kwargs)
        return super().__new__(cls)

    #: whether `functions(X)` is a sparse matrix
    sparse = False
    #: whether functions are trained on rows, not drawn from a distribution that a sample resolves
    trains = False
    #: whether the draw looks at the target
    uses_target = False
    #: how ``alpha="auto"`` is chosen: "gcv", "out_of_bag", or a number
    default_alpha: str | float = "gcv"
    #: whether inputs are mapped to the unit cube, where scales of columns mean nothing
    on_cube = False

    @property
    def working_bytes(self) -> int:
        """Bytes that evaluating a block takes in every thread, beside its rows and values."""
        return 0

    def default_components(self, n_rows: float) -> int | None:
        """How many functions ``n_components="auto"`` draws; None: doubled until it pays no more."""
        if not isinstance(self.default_alpha, str):
            return ceil(np.sqrt(n_rows))  # few enough for least squares
        return 100 if self.sparse or self.trains else None

    @property
    def bounded(self) -> float:
        """sup |φ|, infinite where there is none."""
        return np.inf

    @property
    def independent(self) -> bool:
        """Whether functions are drawn independently of each other, and of the rows."""
        return not self.trains

    @property
    def extrapolates(self) -> bool:
        """Whether functions grow without limit outside of the training data."""
        return not np.isfinite(self.bounded) and not self.on_cube

    def sup_square(self, n_features: int) -> float:
        """sup_x k(x, x) of a resolved family, or a bound of it; infinite where there is none."""
        return self.bounded**2

    def profile(self, n_features: int) -> Profile:
        """What φ is as a function of one projection; refuses where it is none."""
        raise ValueError(f"Functions of {self!r} are not functions of one projection θ'x.")

    @property
    def rotation_invariant(self) -> bool:
        """Whether the distribution of the functions is the same for x and for a rotated x."""
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
    def nearest_power(self) -> float:
        """The power of the distance in that kernel, for those that are exp(-distance)."""
        return 1.0

    @property
    def stretch(self) -> NDArray[np.float64] | None:
        """What x̃ is multiplied by to be at that kernel's unit scale; None without a bandwidth."""
        return None

    def has_kernel(self, n_features: int) -> bool:
        """Whether the kernel has a closed form."""
        try:
            self.refuse_without_kernel(n_features)
        except NotImplementedError:
            return False
        return True

    def refuse_without_kernel(self, n_features: int) -> None:
        """Say why there is no exact kernel machine, where the kernel has no closed form.

        The row that is tried is as wide as those of the fit: parameters may have an entry for every
        column.
        """
        if self.trains:
            raise self.no_closed_form("functions learn from rows")
        if type(self).closed_form is Family.closed_form:  # and `read` need not see one row
            raise self.no_closed_form("none is known")
        one = as_rows(np.zeros((1, n_features)))
        self.resolve(Sample.of(one, 0, 1), 1, 0).closed_form(one, one)

    @property
    def gamma_is_open(self) -> bool:
        """Whether a bandwidth is to be read from rows, so that nobody has said what is near."""
        return isinstance(getattr(self, "gamma", None), str)

    @property
    def sees_scales(self) -> bool:
        """Whether functions of a column that is stretched are other functions."""
        return True

    def with_bandwidth_of(self, other: Family) -> Family:
        """The same family with the bandwidth that another copy of it has read from rows.

        That is the parameter ``gamma``, where `read` puts a ``gamma`` into what it returns; a
        family without reads its bandwidth anew, from rows that are scaled by now.
        """
        read = getattr(other.resolved, "gamma", None) if self.gamma_is_open else None
        return self if read is None else self.with_values(gamma=read)

    def outside(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Which rows a resolved family clips to its range; None where it has none."""
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
        if law.trains:
            drawn = law.train(Training.of(rows, y), n_components, seed)
        else:
            drawn = law.drawn(rows.shape[1], n_components, seed)
        functions = drawn.seeing(rows)
        functions.values(rows[:1])  # refuses values of a wrong shape now, not in a later product
        return functions

    def drawn(self, n_features: int, n_components: int, seed: int) -> Functions:
        """What `sample` returns, if it is what it should be.

        On one thread of BLAS: on several, factors of matrices have other last bits, and so would
        functions. Inverses of kernel matrices make these large.
        """
        with LIMITS.at_most(1):
            functions = self.sample(n_features, n_components, seed)
        if not isinstance(functions, Functions):
            raise TypeError(
                f"{type(self).__name__}.sample must return Functions (a subclass of "
                f"rs.families.Functions with a method evaluate), got {functions!r}."
            )
        return functions

    def rows_wanted(self, n_components: Any) -> int:
        """How many rows `resolve` would like to see; there may be fewer, or more."""
        return 0 if n_components in (None, np.inf) else int(n_components)

    def read(self, sample: Sample, n_components: int, seed: int) -> Any:
        """What the parameters leave open, read from rows: a small frozen object, or None.

        Parameters that are wrong are refused here.
        """
        return None

    def resolve(
        self, sample: Sample, n_components: int, seed: int, like: Family | None = None
    ) -> Self:
        """A copy that knows what was read from rows; its parameters are as they were written.

        With the bandwidth of ``like``, a copy that has read it from the same rows, if given.
        """
        asked = self if like is None else self.with_bandwidth_of(like)
        copy = clone(self)
        with LIMITS.at_most(1):  # as draws are
            copy._resolved = (asked.read(sample, n_components, seed),)
        return copy

    @property
    def resolved(self) -> Any:
        """What was read from rows, of a family that was resolved."""
        known = vars(self).get("_resolved")
        if known is None:
            raise ValueError(
                f"{self!r} is not resolved: it has parameters that are read from rows, or checked "
                "against them. draw(X, n_components) does that, and draws."
            )
        return known[0]

    def sample(self, n_features: int, n_components: int, seed: int) -> Functions:
        """Functions of a resolved family, from the seed alone."""
        if self.trains:
            raise ValueError(f"{self!r} learns its functions from rows: use draw, or fit a model.")
        raise NotImplementedError(
            f"{type(self).__name__} does not say how its functions are drawn: write "
            "sample(self, n_features, n_components, seed), which returns Functions."
        )

    def train(self, training: Training, n_components: int, seed: int) -> Functions:
        """Functions that are learned from rows; function i still depends on the seed and i only."""
        return self.drawn(training.rows.shape[1], n_components, seed)

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
        """The kernel of a resolved family; those without one leave this as it is."""
        raise self.no_closed_form("none is known")

    def no_closed_form(self, reason: str) -> NotImplementedError:
        return NoClosedForm(
            f"{self!r} has no kernel in closed form: {reason}. "
            "rs.estimate_kernel(family, X, Y, n_components) estimates it."
        )

    def layout(self, n_features: int, n_components: int, n_targets: int) -> Layout:
        """What drawn functions will look like from outside."""
        return Layout(n_components, n_components)

    def stored_bytes(
        self, n_rows: int, n_features: int, n_components: int, n_targets: int = 1
    ) -> int:
        """About how much memory the functions themselves will take."""
        return 8 * n_components * n_features

    def numbers(self, n_features: int) -> int:
        """How many random numbers a function of a resolved family is made of."""
        return n_features

    def drawing_bytes(self, n_features: int, n_components: int) -> int:
        """At most how much memory `sample` takes while it draws, what it returns included."""
        return drawing_bytes(n_components, self.numbers(n_features))

    def training_bytes(
        self, n_rows: int, n_features: int, n_components: int, n_targets: int, threads: int
    ) -> int:
        """About how much more it takes to draw them, or to train them on so many threads."""
        return self.stored_bytes(n_rows, n_features, n_components, n_targets)

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
