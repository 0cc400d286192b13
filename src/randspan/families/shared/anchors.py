"""Kernels between rows and a few of them, the anchors: any kernel that a user may name or bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ...checks import check_choice, check_positive, chosen, is_count
from ..base import Family
from .bandwidth import median_gamma
from .pivots import pivots
from .randomness import generator
from .rows import Rows

# Pivots are never more than this.
MOST_PIVOTS = 4096
#: other names for the same kernel
OTHERS = {"gaussian": "rbf"}
# Whether γ is 1/d where it is None, as in scikit-learn; the chi-squared kernel has 1.
SCALED = {"rbf": 1, "laplacian": 1, "poly": 1, "polynomial": 1, "sigmoid": 1, "chi2": 0}


@dataclass(frozen=True, eq=False)
class Kernel:
    """k(x, z) with nothing left open.

    ``kernel`` is a name, a callable, or a family of this library that was resolved.
    """

    kernel: Any
    gamma: float | None
    params: dict[str, Any]

    @property
    def name(self) -> str:
        return self.kernel if isinstance(self.kernel, str) else ""

    def values(self, rows: Rows, anchors: NDArray) -> NDArray:
        """k(x, z) for rows x and anchors z, in the precision of the rows."""
        kernel, params = self.kernel, dict(self.params)
        if isinstance(kernel, Family):
            return kernel.closed_form(rows, Rows(anchors)).astype(rows.dtype, copy=False)
        if self.gamma is not None:
            params["gamma"] = self.gamma
        if not callable(kernel):
            try:
                return self._named(rows, anchors, params)
            except (TypeError, ValueError) as error:
                hint = " (see standardize=False)" if "negative" in str(error) else ""
                given = f"kernel={kernel!r}, kernel_params={self.params!r}"
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
        if self.name in PRODUCTS:
            return PRODUCTS[self.name](rows, anchors, **params)
        return pairwise_kernels(rows.dense, anchors.astype(rows.dtype), metric=self.name, **params)

    def matrix(self, anchors: NDArray) -> NDArray[np.float64]:
        """The kernel between anchors."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.values(Rows(anchors), anchors)
        self._check_finite(values)
        return values

    def _check_finite(self, values: NDArray) -> None:
        """Refuse rows whose products with each other overflow."""
        if not np.isfinite(values).all():
            raise ValueError(
                f"The kernel {self.kernel!r} is not a finite number between some of these rows: "
                "standardize inputs that are very large (standardize=True)."
            )

    def diagonal(self, rows: Rows) -> NDArray[np.float64]:
        """k(x, x) of every row."""
        parts = (rows[s : s + 64] for s in range(0, len(rows), 64))
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.concatenate([np.diagonal(self.values(p, p.dense)) for p in parts])
        self._check_finite(values)
        return values


class Anchored:
    """Parameters ``kernel``, ``gamma``, ``anchors`` and ``kernel_params``, and what they mean."""

    kernel_name: Any
    gamma: Any
    anchors: Any
    kernel_params: Any

    @property
    def _name(self) -> str:
        """The name of a kernel that has one, the first of several."""
        name = self.kernel_name
        return OTHERS.get(name, name) if isinstance(name, str) else ""

    def read_kernel(self, sample, n_components: int, seed: int) -> Kernel:
        """The kernel and its γ with nothing left open."""
        kernel, gamma = self.kernel_name, self.gamma
        if isinstance(kernel, Family):
            kernel = kernel.resolve(sample, n_components, seed)
            kernel.closed_form(sample.rows[:1], sample.rows[:1])  # says so where there is none
        elif not callable(kernel):
            known, otherwise = PAIRWISE_KERNEL_FUNCTIONS, ", a family or a callable"
            kernel = chosen("kernel", kernel, known, OTHERS, otherwise)
            if gamma is None and kernel in SCALED:
                gamma = 1 / sample.shape[1] if SCALED[kernel] else 1.0
        if "gamma" in (self.kernel_params or {}):
            raise ValueError("gamma is a parameter of its own: leave it out of kernel_params.")
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("median",), ", a positive number or None")
            metric = {"rbf": "euclidean", "laplacian": "cityblock"}.get(self._name)
            if metric is None:
                raise ValueError("gamma='median' is for kernel='rbf' ('gaussian') and 'laplacian'.")
            gamma = median_gamma(sample, metric)
        elif gamma is not None:
            if self._name not in SCALED:
                raise ValueError(f"kernel={kernel!r} has no gamma: leave gamma=None.")
            if check_positive("gamma", gamma).ndim:
                raise ValueError("gamma must be one number; scales= has one for every column.")
            gamma = float(gamma)
        return Kernel(kernel, gamma, dict(self.kernel_params or {}))

    def read_anchors(
        self, kernel: Kernel, sample, n_components: int, seed: int, most: int
    ) -> NDArray[np.float64]:
        """The anchors as rows, in the order in which they are used; ``most`` if None."""
        rows, anchors = sample.rows, self.anchors
        if anchors is None:
            return rows[:most].dense
        if isinstance(anchors, str):
            check_choice("anchors", anchors, ("rpcholesky",), ", a number, an array or None")
            rng = generator(seed, "pivots", 0)
            count = min(n_components, MOST_PIVOTS)
            values = partial(kernel.values, rows)
            found = pivots(lambda at: values(rows[at].dense), kernel.diagonal(rows), count, rng)
            return rows[found if len(found) else [0]].dense  # one, where the kernel is zero
        if is_array(anchors):
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


def inverse_root(matrix: NDArray) -> NDArray[np.float64]:
    """The symmetric inverse square root, 0 where eigenvalues are rounding errors."""
    values, vectors = linalg.eigh(matrix)
    known = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    roots = np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return (vectors * roots) @ vectors.T


def inverse_triangle(matrix: NDArray) -> NDArray[np.float64]:
    """L⁻¹ of matrix + ε·I = LL', ε as small as rounding errors allow."""
    unit, added = float(np.diagonal(matrix).max()) or 1.0, len(matrix) * np.finfo(np.float64).eps
    while True:
        system = matrix / unit
        system.flat[:: len(system) + 1] += added
        lower, failed = linalg.lapack.dpotrf(system, lower=1, clean=1, overwrite_a=1)
        if not failed:
            return linalg.lapack.dtrtri(lower, lower=1, overwrite_c=1)[0] / np.sqrt(unit)
        added *= 10


# Kernels that see rows through products and norms: sparse rows stay sparse.


def _linear(rows: Rows, z: NDArray) -> NDArray:
    return rows.products(z)


def _poly(rows: Rows, z: NDArray, gamma: float, degree=3, coef0=1) -> NDArray:
    return (gamma * rows.products(z) + rows.dtype.type(coef0)) ** degree


def _sigmoid(rows: Rows, z: NDArray, gamma: float, coef0=1) -> NDArray:
    return np.tanh(gamma * rows.products(z) + rows.dtype.type(coef0))


def _cosine(rows: Rows, z: NDArray) -> NDArray:
    norms = np.sqrt((z**2).sum(axis=1))
    values = rows.products(z / np.where(norms > 0, norms, 1)[:, None])
    own = np.sqrt(rows.norms())
    values /= np.where(own > 0, own, 1)[:, None].astype(rows.dtype)
    return values


PRODUCTS: dict[str, Callable[..., NDArray]] = {
    "linear": _linear,
    "poly": _poly,
    "polynomial": _poly,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
    "rbf": Rows.gaussians,
}


def is_array(anchors) -> bool:
    return anchors is not None and not isinstance(anchors, str) and np.ndim(anchors) > 0
