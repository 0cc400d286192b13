"""How many directions of a kernel matrix matter at a ridge, and who carries them.

K is the kernel matrix of n rows, α the ridge of (K + αI): the ``alpha`` of the estimators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from .conditions import Number, plain, require, require_chance, require_positive


def effective_dimension(kernel: ArrayLike, alpha: Number) -> Number:
    """d(α) = tr K(K + αI)⁻¹: the degrees of freedom of kernel ridge regression.

    Parameters
    ----------
    kernel : array of shape (n, n)
        K, ``family.kernel(X)``.
    alpha : float or array
        α > 0.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> rs.theory.effective_dimension(np.diag([3.0, 1.0, 0.0]), 1.0)
    1.25
    """
    require_positive(alpha=alpha)
    sizes = np.maximum(linalg.eigvalsh(_square(kernel)), 0)
    return plain((sizes / (sizes + np.asarray(alpha, dtype=np.float64)[..., None])).sum(axis=-1))


def row_leverage(kernel: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """(K(K + αI)⁻¹)_ii: the ridge leverage of every row; their sum is d(α).

    Parameters
    ----------
    kernel : array of shape (n, n)
    alpha : float
        α > 0.
    """
    require_positive(alpha=alpha)
    sizes, vectors = linalg.eigh(_square(kernel))
    sizes = np.maximum(sizes, 0)
    return vectors**2 @ (sizes / (sizes + alpha))


def function_leverage(values, alpha: float) -> NDArray[np.float64]:
    """φ_i'(ZZ'/k + αI)⁻¹φ_i/k: the ridge leverage of every drawn function.

    Their sum is the effective dimension of the estimated kernel ZZ'/k. Equal leverages are a good
    draw; some large ones among many small ones say that another distribution would need fewer.

    Parameters
    ----------
    values : array or sparse matrix of shape (n, k)
        Z, ``functions(X)``.
    alpha : float
        α > 0.
    """
    require_positive(alpha=alpha)
    Z = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)
    n, k = Z.shape
    if n < k:
        factor = linalg.cholesky(Z @ Z.T / k + alpha * np.eye(n), lower=True)
        return (linalg.solve_triangular(factor, Z, lower=True) ** 2).sum(axis=0) / k
    return row_leverage(Z.T @ Z / k, alpha)


def functions_needed(
    kernel: ArrayLike,
    alpha: float,
    *,
    sup: float = 1.0,
    accuracy: float = 0.5,
    delta: float = 0.05,
) -> dict[str, float]:
    """k ≥ (8/3) Δ⁻² (n sup²/α) ln(16 d(α)/δ), and d(α) in place of n sup²/α for leverage sampling.

    Then (1 - Δ)(K + αI) ≼ ZZ'/k + αI ≼ (1 + Δ)(K + αI) with probability 1 - δ: predictions of
    the drawn functions have a risk near that of the exact kernel machine. Avron, Kapralov, Musco,
    Musco, Velingker and Zandieh (ICML 2017), Theorem 7 and Lemma 6, for independent functions with
    |φ| = 1; by the matrix Bernstein inequality n·sup² stands where n does. The constant 8/3 is for
    Δ ≤ 1/2.

    Parameters
    ----------
    kernel : array of shape (n, n)
        K.
    alpha : float
        α, at most ‖K‖.
    sup : float, default=1.0
        sup |φ|, ``family.bounded``.
    accuracy : float, default=0.5
        Δ ≤ 1/2.
    delta : float, default=0.05

    Returns
    -------
    dict
        "effective_dimension", and how many functions are enough: "plain", drawn from the family's
        own distribution; "leverage", drawn in proportion to their ridge leverage.
    """
    require_positive(alpha=alpha, accuracy=accuracy)
    require_chance(delta=delta)
    require(accuracy <= 0.5, f"accuracy must be at most 1/2, got {accuracy!r}")
    require(np.isfinite(sup), "functions must be bounded (a finite sup|φ|)")
    K = _square(kernel)
    sizes = np.maximum(linalg.eigvalsh(K), 0)
    require(alpha <= sizes[-1], f"alpha must be at most ‖K‖ = {sizes[-1]:g}, got {alpha!r}")
    dimension = float((sizes / (sizes + alpha)).sum())
    front = 8 / 3 / accuracy**2 * np.log(16 * dimension / delta)
    return {
        "effective_dimension": dimension,
        "plain": float(np.ceil(front * len(K) * sup**2 / alpha)),
        "leverage": float(np.ceil(front * dimension)),
    }


def _square(kernel: ArrayLike) -> NDArray[np.float64]:
    K = np.asarray(kernel, dtype=np.float64)
    require(K.ndim == 2 and K.shape[0] == K.shape[1], f"K must be n × n, got the shape {K.shape}")
    return K
