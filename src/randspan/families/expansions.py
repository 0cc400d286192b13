"""Random kernel expansions (Cao and Lan 2022), and the Nyström method among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..checks import check_choice, is_count
from .base import Family
from .functions import Functions
from .shared.anchors import (
    MOST_PIVOTS,
    PRODUCTS,
    Anchored,
    Kernel,
    inverse_root,
    inverse_triangle,
    is_array,
)
from .shared.randomness import normals, sampled, uniforms
from .shared.rows import Rows

# None takes all rows as anchors up to here; anchors are dense, and of very wide rows there are
# fewer.
MOST_ANCHORS, WIDEST = 10_000, 2**24
# Kernel values that are worked on at once: about 16 MB of float32.
AT_ONCE = 2**22
# Columns of a triangle that are worked on together.
PANEL = 256

# By inversion, one uniform for every coefficient: mean 0; the variances are below.
LAWS = {
    "normal": normals,
    "uniform": lambda *args: np.sqrt(3) * (2 * uniforms(*args) - 1),
    "laplace": lambda *args: _laplace(uniforms(*args)),
    "bernoulli": lambda *args: np.where(uniforms(*args) < 0.5, -1.0, 1.0),
}
# What makes kernel values at anchors orthonormal functions.
ROOTS = {"nystrom": inverse_root, "cholesky": inverse_triangle}
VARIANCES = {"normal": 1.0, "uniform": 1.0, "laplace": 2.0, "bernoulli": 1.0}


def _laplace(u: NDArray) -> NDArray:
    return np.where(u < 0.5, np.log(2 * np.minimum(u, 0.5)), -np.log(2 * np.minimum(1 - u, 0.5)))


class KernelExpansions(Anchored, Family):
    """φ(x) = Σ_i β_i k(x_i, x) over anchors x_i, the coefficients β_i drawn at random.

    Kernel: Var(β)·Σ_i k(x, x_i) k(x_i, y). With ``coefficients="nystrom"`` nothing but the anchors
    is drawn: φ(x) = √m·K_ZZ^{-1/2} k(Z, x) for anchors Z, one for each of the m functions, whose
    kernel is k(x, Z) K_ZZ⁻¹ k(Z, y). ``coefficients="cholesky"`` is the same span and kernel with
    L⁻¹ in place of the root, K_ZZ = LL': function i needs the first i anchors only, and the draw of
    thousands takes a factor in place of eigenvectors.

    Parameters
    ----------
    kernel : str, Family or callable, default="rbf"
        A name of scikit-learn's ``pairwise_kernels`` ("gaussian" is "rbf"); a family of this
        library, for its kernel in closed form; or a function ``kernel(X, Y)`` of two matrices of
        rows that returns the matrix of values, as those of ``sklearn.gaussian_process``.
    gamma : None, "median" or float, default=None
        Of the kernels that have one: None is 1/d (1 for "chi2"); "median" (rbf, laplacian) is
        1/(2 med²) of Euclidean and 1/med of L1 distances of two rows.
    coefficients : str or callable, default="normal"
        "normal" N(0, 1), "uniform" U[-√3, √3], "laplace" Laplace(0, 1), "bernoulli" ±1, "nystrom",
        "cholesky", or a sampler, called as ``coefficients(m, rng)`` for every function.
    anchors : None, int, "rpcholesky" or array of shape (m, n_features), default=None
        None takes all rows, 10,000 of them at random if there are more (2²⁴/d, at least 100, of
        more than 1,677 columns, since anchors are dense); a number takes so many at
        random, rows of larger weight earlier. "rpcholesky" takes as many as there are functions (at
        most 4,096) by randomly pivoted Cholesky on a sample of rows. An array holds anchors in the
        space in which functions see them (standardised). The Nyström functions use the first
        ``n_components`` anchors; where there are fewer, the last functions are 0.
    kernel_params : dict or None, default=None
        What else the kernel takes, such as ``{"degree": 2, "coef0": 1}``.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> rs.KernelExpansions("laplacian", anchors=10).draw(X, 4, random_state=0)(X).shape
    (50, 4)
    """

    def __init__(
        self, kernel="rbf", gamma=None, coefficients="normal", anchors=None, kernel_params=None
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coefficients = coefficients
        self.anchors = anchors
        self.kernel_params = kernel_params

    @property
    def rotation_invariant(self):
        return self._name in PRODUCTS and not is_array(self.anchors)

    @property
    def nearest_kernel(self):
        return {"rbf": "gaussian", "laplacian": "laplacian"}.get(self._name, "matern52")

    @property
    def stretch(self):
        known = self.resolved.kernel.gamma
        if known is None:
            return None
        gamma = np.float64(known)
        return {"rbf": np.sqrt(2 * gamma), "laplacian": gamma}.get(self._name)

    def with_bandwidth_of(self, other):
        gamma = other.resolved.kernel.gamma
        return self.with_values(gamma=gamma) if isinstance(self.gamma, str) else self

    @property
    def _nystrom(self) -> bool:
        return isinstance(self.coefficients, str) and self.coefficients in ROOTS

    def rows_wanted(self, n_components):
        if is_count(self.anchors):
            return int(self.anchors)
        every = self.anchors is None and not self._nystrom
        return MOST_ANCHORS if every else super().rows_wanted(n_components)

    def read(self, sample, n_components, seed):
        if not callable(self.coefficients):
            known = (*LAWS, *ROOTS)
            check_choice("coefficients", self.coefficients, known, " or a callable sampler")
        kernel = self.read_kernel(sample, n_components, seed)
        most = min(MOST_ANCHORS, max(100, WIDEST // sample.shape[1]))
        if self._nystrom:
            most = min(n_components, MOST_PIVOTS)
        return Expansion(kernel, self.read_anchors(kernel, sample, n_components, seed, most))

    def numbers(self, n_features):
        return len(self.resolved.anchors)

    def sample(self, n_features, n_components, seed):
        kernel, anchors, k = self.resolved.kernel, self.resolved.anchors, n_components
        if self._nystrom:
            anchors = anchors[:k]
            root = ROOTS[self.coefficients](kernel.matrix(anchors))
            coefficients = np.zeros((k, len(anchors)))
            coefficients[: len(anchors)] = np.sqrt(k) * root
        elif callable(self.coefficients):
            coefficients = sampled(self.coefficients, seed, "coefficients", k, len(anchors))
        else:
            coefficients = LAWS[self.coefficients](seed, "coefficients", k, len(anchors))
        return ExpansionFunctions(self, n_features, k, kernel, anchors, coefficients)

    def stored_bytes(self, n_rows, n_features, n_components, n_targets=1):
        anchors = min(n_rows, MOST_ANCHORS, max(100, WIDEST // n_features))
        if self._nystrom:
            anchors = min(n_rows, n_components, MOST_PIVOTS)
        elif is_count(self.anchors):
            anchors = int(self.anchors)
        return 8 * anchors * (n_components + n_features)

    def closed_form(self, X, Y):
        if callable(self.coefficients):
            raise self.no_closed_form("the coefficients come from a sampler of yours")
        kernel, anchors = self.resolved.kernel, self.resolved.anchors
        left, right = (kernel.values(rows, anchors).astype(np.float64) for rows in (X, Y))
        if not self._nystrom:
            return VARIANCES[self.coefficients] * left @ right.T
        root = ROOTS[self.coefficients](kernel.matrix(anchors))
        return (left @ root.T) @ (right @ root.T).T


@dataclass(frozen=True, eq=False)
class Expansion:
    """A kernel and its anchors."""

    kernel: Kernel
    anchors: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelValues(Functions):
    """k(z_i, x), one for every anchor z_i."""

    kernel_of_anchors: Kernel
    anchors: NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        # K_ZZ^{-1/2} may be large, and would make much of the rounding errors of float32 values.
        rows = rows.cast(np.dtype(np.float64)) if self.family._nystrom else rows
        return self.kernel_of_anchors.values(rows, self.anchors)


@dataclass(frozen=True, eq=False)
class ExpansionFunctions(Functions):
    """Σ_i β_i k(x_i, x), one row of ``coefficients`` for every function."""

    kernel_of_anchors: Kernel
    anchors: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    @property
    def plain(self):
        kernel, anchors = self.kernel_of_anchors, self.anchors
        values = KernelValues(self.family, self.n_features, len(anchors), kernel, anchors)
        return values, self.coefficients

    def evaluate(self, rows: Rows) -> NDArray:
        out = np.empty((len(rows), self.n_components), dtype=rows.dtype)
        kernels, coefficients = self.plain
        coefficients = coefficients.T.astype(np.float64 if self.family._nystrom else rows.dtype)
        dense = sparse.issparse(rows.values) and self.kernel_of_anchors.name not in PRODUCTS
        step = max(64, AT_ONCE // max(len(self.anchors), self.n_features if dense else 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            values = kernels.evaluate(rows[part])
            if self.family.coefficients != "cholesky":
                out[part] = values @ coefficients
                continue
            for first in range(0, len(self.anchors), PANEL):  # the rest of a panel is zero
                panel = slice(first, first + PANEL)
                out[part, panel] = values[:, : panel.stop] @ coefficients[: panel.stop, panel]
            out[part, len(self.anchors) :] = 0
        return out
