"""Random kernel expansions (Cao and Lan 2022), and the Nyström method among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from .bandwidth import median_gamma
from .base import Family, Functions, check_choice, check_positive, is_count
from .pivots import pivots
from .randomness import generator, normals, sampled, uniforms
from .rows import Rows

# None takes all rows as anchors up to here, and pivots are never more than this.
MOST_ANCHORS, MOST_PIVOTS, WIDEST = 10_000, 4096, 2**24
# Kernel values that are worked on at once: about 16 MB of float32.
AT_ONCE = 2**22

# By inversion, one uniform for every coefficient: mean 0; the variances are below.
LAWS = {
    "normal": normals,
    "uniform": lambda *args: np.sqrt(3) * (2 * uniforms(*args) - 1),
    "laplace": lambda *args: _laplace(uniforms(*args)),
    "bernoulli": lambda *args: np.where(uniforms(*args) < 0.5, -1.0, 1.0),
}
VARIANCES = {"normal": 1.0, "uniform": 1.0, "laplace": 2.0, "bernoulli": 1.0}
# Whether γ is 1/d where it is None, as in scikit-learn; the chi-squared kernel has 1.
SCALED = {"rbf": 1, "laplacian": 1, "poly": 1, "polynomial": 1, "sigmoid": 1, "chi2": 0}


def _laplace(u: NDArray) -> NDArray:
    return np.where(u < 0.5, np.log(2 * np.minimum(u, 0.5)), -np.log(2 * np.minimum(1 - u, 0.5)))


class KernelExpansions(Family):
    """φ(x) = Σ_i β_i k(x_i, x) over anchors x_i, the coefficients β_i drawn at random.

    Kernel: Var(β)·Σ_i k(x, x_i) k(x_i, y). With ``coefficients="nystrom"`` nothing but the anchors
    is drawn: φ(x) = √m·K_ZZ^{-1/2} k(Z, x) for anchors Z, one for each of the m functions, whose
    kernel is k(x, Z) K_ZZ⁻¹ k(Z, y).

    Parameters
    ----------
    kernel : str, Family or callable, default="rbf"
        A name of scikit-learn's ``pairwise_kernels``; a family of this library, for its kernel in
        closed form; or a function ``kernel(X, Y)`` of two matrices of rows that returns the matrix
        of values, as those of ``sklearn.gaussian_process``.
    gamma : None, "median" or float, default=None
        Of the kernels that have one: None is 1/d (1 for "chi2"); "median" (rbf, laplacian) is
        1/(2 med²) of Euclidean and 1/med of L1 distances of two rows.
    coefficients : str or callable, default="normal"
        "normal" N(0, 1), "uniform" U[-√3, √3], "laplace" Laplace(0, 1), "bernoulli" ±1, "nystrom",
        or a sampler, called as ``coefficients(m, rng)`` for every function.
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
        return self._name in PRODUCTS and not _is_array(self.anchors)

    @property
    def nearest_kernel(self):
        return {"rbf": "gaussian", "laplacian": "laplacian"}.get(self._name, "matern52")

    @property
    def stretch(self):
        if self.gamma is None or isinstance(self.gamma, str):
            return None
        gamma = np.float64(self.gamma)
        return {"rbf": np.sqrt(2 * gamma), "laplacian": gamma}.get(self._name)

    @property
    def _name(self) -> str:
        return self.kernel_name if isinstance(self.kernel_name, str) else ""

    @property
    def _nystrom(self) -> bool:
        return isinstance(self.coefficients, str) and self.coefficients == "nystrom"

    def rows_wanted(self, n_components):
        if is_count(self.anchors):
            return int(self.anchors)
        every = self.anchors is None and not self._nystrom
        return MOST_ANCHORS if every else super().rows_wanted(n_components)

    def resolve(self, sample, n_components, seed):
        if not callable(self.coefficients):
            known = (*LAWS, "nystrom")
            check_choice("coefficients", self.coefficients, known, " or a callable sampler")
        resolved = self._resolved_kernel(sample, n_components, seed)
        return resolved.with_values(anchors=resolved._chosen(sample, n_components, seed))

    def _resolved_kernel(self, sample, n_components, seed) -> KernelExpansions:
        kernel, gamma = self.kernel_name, self.gamma
        if isinstance(kernel, Family):
            kernel = kernel.resolve(sample, n_components, seed)
            kernel.closed_form(sample.rows[:1], sample.rows[:1])  # says so where there is none
        elif not callable(kernel):
            check_choice("kernel", kernel, PAIRWISE_KERNEL_FUNCTIONS, ", a family or a callable")
            if gamma is None and kernel in SCALED:
                gamma = 1 / sample.shape[1] if SCALED[kernel] else 1.0
        if "gamma" in (self.kernel_params or {}):
            raise ValueError("gamma is a parameter of its own: leave it out of kernel_params.")
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("median",), ", a positive number or None")
            metric = {"rbf": "euclidean", "laplacian": "cityblock"}.get(self._name)
            if metric is None:
                raise ValueError("gamma='median' is for kernel='rbf' and 'laplacian'.")
            gamma = median_gamma(sample, metric)
        elif gamma is not None:
            if self._name not in SCALED:
                raise ValueError(f"kernel={kernel!r} has no gamma: leave gamma=None.")
            if check_positive("gamma", gamma).ndim:
                raise ValueError("gamma must be one number; scales= has one for every column.")
        return self.with_values(kernel=kernel, gamma=gamma)

    def _chosen(self, sample, n_components, seed) -> NDArray[np.float64]:
        """The anchors as rows, in the order in which they are used."""
        rows, anchors = sample.rows, self.anchors
        if anchors is None:
            # Anchors are dense: of very wide rows there are fewer.
            most = min(MOST_ANCHORS, max(100, WIDEST // sample.shape[1]))
            return rows[: min(n_components, MOST_PIVOTS) if self._nystrom else most].dense
        if isinstance(anchors, str):
            check_choice("anchors", anchors, ("rpcholesky",), ", a number, an array or None")
            values = partial(self.values, sample.rows)
            rng = generator(seed, "pivots", 0)
            count = min(n_components, MOST_PIVOTS)
            found = pivots(lambda at: values(rows[at].dense), self._diagonal(rows), count, rng)
            return rows[found].dense
        if _is_array(anchors):
            array = np.asarray(anchors, dtype=np.float64)
            if array.ndim != 2 or not len(array) or array.shape[1] != sample.shape[1]:
                raise ValueError(
                    f"anchors must have the shape (m, {sample.shape[1]}), got {array.shape}."
                )
            if not np.isfinite(array).all():
                raise ValueError("anchors hold NaN or infinity.")
            return array
        if not is_count(anchors):
            raise ValueError(
                "anchors must be None, a positive whole number, 'rpcholesky' or an array of rows; "
                f"got {anchors!r}."
            )
        return rows[: int(anchors)].dense

    def values(self, rows: Rows, anchors: NDArray) -> NDArray:
        """k(x, z) for rows x and anchors z, in the precision of the rows."""
        kernel, params = self.kernel_name, dict(self.kernel_params or {})
        if isinstance(kernel, Family):
            return kernel.closed_form(rows, Rows(anchors)).astype(rows.dtype, copy=False)
        if self.gamma is not None:
            params["gamma"] = self.gamma
        if not callable(kernel):
            try:
                return self._named(rows, anchors, params)
            except (TypeError, ValueError) as error:
                hint = " (see standardize=False)" if "negative" in str(error) else ""
                given = f"kernel={kernel!r}, kernel_params={self.kernel_params!r}"
                raise ValueError(f"{given}: {error}{hint}.") from None
        x = rows.dense
        values = np.asarray(kernel(x, anchors.astype(x.dtype), **params))
        if values.shape != (len(rows), len(anchors)):
            raise ValueError(
                f"The kernel {kernel!r} was called with {len(rows)} and {len(anchors)} rows and "
                f"returned an array of shape {values.shape} instead of {len(rows), len(anchors)}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"The kernel {kernel!r} returned NaN or infinity.")
        return values.astype(rows.dtype, copy=False)

    def _named(self, rows: Rows, anchors: NDArray, params: dict) -> NDArray:
        if self._name in PRODUCTS:
            return PRODUCTS[self._name](rows, anchors, **params)
        return pairwise_kernels(rows.dense, anchors.astype(rows.dtype), metric=self._name, **params)

    def _diagonal(self, rows: Rows) -> NDArray[np.float64]:
        parts = (rows[s : s + 64] for s in range(0, len(rows), 64))
        return np.concatenate([np.diagonal(self.values(part, part.dense)) for part in parts])

    def sample(self, n_features, n_components, seed):
        anchors, k = self.anchors, n_components
        if self._nystrom:
            anchors = anchors[:k]
            root = _inverse_root(self.values(Rows(anchors), anchors))
            coefficients = np.zeros((k, len(anchors)))
            coefficients[: len(anchors)] = np.sqrt(k) * root
        elif callable(self.coefficients):
            coefficients = sampled(self.coefficients, seed, "coefficients", k, len(anchors))
        else:
            coefficients = LAWS[self.coefficients](seed, "coefficients", k, len(anchors))
        return ExpansionFunctions(self, n_features, k, anchors, coefficients)

    def closed_form(self, X, Y):
        if callable(self.coefficients):
            raise self.no_closed_form("the coefficients come from a sampler of yours")
        left, right = (self.values(rows, self.anchors).astype(np.float64) for rows in (X, Y))
        if not self._nystrom:
            return VARIANCES[self.coefficients] * left @ right.T
        root = _inverse_root(self.values(Rows(self.anchors), self.anchors))
        return (left @ root) @ (right @ root).T


def _inverse_root(matrix: NDArray) -> NDArray[np.float64]:
    """The symmetric inverse square root, 0 where eigenvalues are rounding errors."""
    values, vectors = linalg.eigh(matrix)
    known = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    roots = np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return (vectors * roots) @ vectors.T


# Kernels that see rows through products and norms: sparse rows stay sparse.


def _linear(rows: Rows, z: NDArray) -> NDArray:
    return rows.project(z)


def _poly(rows: Rows, z: NDArray, gamma: float, degree=3, coef0=1) -> NDArray:
    return (gamma * rows.project(z) + rows.dtype.type(coef0)) ** degree


def _sigmoid(rows: Rows, z: NDArray, gamma: float, coef0=1) -> NDArray:
    return np.tanh(gamma * rows.project(z) + rows.dtype.type(coef0))


def _cosine(rows: Rows, z: NDArray) -> NDArray:
    norms = np.sqrt((z**2).sum(axis=1))
    values = rows.project(z / np.where(norms > 0, norms, 1)[:, None])
    own = np.sqrt(rows.squared_norms())
    values /= np.where(own > 0, own, 1)[:, None].astype(rows.dtype)
    return values


def _rbf(rows: Rows, z: NDArray, gamma: float) -> NDArray:
    # -γ‖x-z‖² = 2γx'z - γz'z - γx'x: one product, then two vectors.
    values = rows.project(2 * gamma * z)
    values -= (gamma * (z**2).sum(axis=1)).astype(rows.dtype)
    values -= (gamma * rows.squared_norms())[:, None].astype(rows.dtype)
    np.minimum(values, 0, out=values)
    return np.exp(values, out=values)


PRODUCTS: dict[str, Callable[..., NDArray]] = {
    "linear": _linear,
    "poly": _poly,
    "polynomial": _poly,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
    "rbf": _rbf,
}


def _is_array(anchors) -> bool:
    return anchors is not None and not isinstance(anchors, str) and np.ndim(anchors) > 0


@dataclass(frozen=True, eq=False)
class ExpansionFunctions(Functions):
    """Σ_i β_i k(x_i, x), one row of ``coefficients`` for every function."""

    anchors: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        out = np.empty((len(rows), self.n_components), dtype=rows.dtype)
        # K_ZZ^{-1/2} may be large, and would make much of the rounding errors of float32 values.
        dtype = np.dtype(np.float64) if self.family._nystrom else rows.dtype
        rows = Rows(rows.values, rows.centre, rows.scale, dtype, rows.rotation)
        coefficients = self.coefficients.T.astype(dtype)
        dense = sparse.issparse(rows.values) and self.family._name not in PRODUCTS
        step = max(64, AT_ONCE // max(len(self.anchors), self.n_features if dense else 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            out[part] = self.family.values(rows[part], self.anchors) @ coefficients
        return out
