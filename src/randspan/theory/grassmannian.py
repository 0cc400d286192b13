"""Distances of subspaces of ℝⁿ, in which RHSS states its approximation errors.

A subspace is given by a matrix whose columns span it; columns may be dependent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .conditions import require


def basis(columns: ArrayLike) -> NDArray[np.float64]:
    """An orthonormal basis of the span of some columns, its rank by the singular values.

    Parameters
    ----------
    columns : array of shape (n, m)
    """
    A = np.asarray(columns, dtype=np.float64)
    require(A.ndim == 2, f"a subspace is the span of a matrix's columns, got {A.ndim} dimension(s)")
    left, sizes, _ = np.linalg.svd(A, full_matrices=False)
    largest = sizes[0] if sizes.size else 0.0
    return left[:, sizes > largest * max(A.shape) * np.finfo(float).eps]


def angles(U: ArrayLike, V: ArrayLike) -> NDArray[np.float64]:
    """The principal angles of two subspaces, the largest first.

    Parameters
    ----------
    U, V : array of shape (n, m)
        Columns that span them.
    """
    left, right = basis(U), basis(V)
    if left.shape[1] > right.shape[1]:
        left, right = right, left
    # Sines are accurate for small angles, cosines for large ones.
    cosines = np.linalg.svd(left.T @ right, compute_uv=False)
    sines = np.linalg.svd(left - right @ (right.T @ left), compute_uv=False)[::-1]
    large, small = np.arccos(np.clip(cosines, 0, 1)), np.arcsin(np.clip(sines, 0, 1))
    return np.where(cosines**2 < 0.5, large, small)[::-1]


def distance(U: ArrayLike, V: ArrayLike) -> float:
    """‖P_U - P_V‖, the sine of the largest angle; 1 where dimensions differ.

    P are the orthogonal projections. The document's own metric is `hausdorff`.

    Parameters
    ----------
    U, V : array of shape (n, m)
        Columns that span them.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> round(rs.theory.grassmannian.distance(np.eye(3)[:, :1], [[1.0], [1.0], [0.0]]), 4)
    0.7071
    """
    if basis(U).shape[1] != basis(V).shape[1]:
        return 1.0
    found = angles(U, V)
    return float(np.sin(found[0])) if found.size else 0.0


def hausdorff(U: ArrayLike, V: ArrayLike, radius: float = 1.0) -> float:
    """2r sin(θ/2), θ the largest principal angle: metric (2) of the document.

    The Hausdorff distance of the spheres of radius r in U and V: no point of one is farther than
    this from the other. √2 r where dimensions differ.

    Parameters
    ----------
    U, V : array of shape (n, m)
        Columns that span them.
    radius : float, default=1.0
        r.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> round(rs.theory.grassmannian.hausdorff([[1.0], [0.0]], [[1.0], [1.0]]), 4)  # 45°
    0.7654
    """
    require(radius > 0, f"radius must be positive, got {radius!r}")
    if basis(U).shape[1] != basis(V).shape[1]:
        return float(np.sqrt(2) * radius)
    found = angles(U, V)
    return float(2 * radius * np.sin(found[0] / 2)) if found.size else 0.0


def approximation_distance(vectors: ArrayLike, U: ArrayLike) -> float:
    """d(S, U) = sup_{y in S} ‖y - P_U y‖/‖y‖, over the columns y of S.

    Parameters
    ----------
    vectors : array of shape (n, m) or (n,)
        S, a column for each y.
    U : array of shape (n, k)
        Columns that span U.
    """
    S = np.asarray(vectors, dtype=np.float64)
    S = S[:, None] if S.ndim == 1 else S
    own = basis(U)
    lengths = np.linalg.norm(S, axis=0)
    left = np.linalg.norm(S - own @ (own.T @ S), axis=0)
    return float(np.max(left / np.where(lengths > 0, lengths, 1), initial=0.0))
