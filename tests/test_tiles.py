"""Factors and inverses in tiles: right, and the same bits on any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import randspan as rs
from randspan.solvers import tiles

SIZES = [0, 1, 127, 128, 129, 300, 1100]


def matrix(n, dtype=np.float64):
    """A matrix of condition number 100, its eigenvectors known."""
    rng = np.random.default_rng(n)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n))) if n else (np.empty((0, 0)), None)
    made = (Q * np.geomspace(0.1, 10, n)) @ Q.T
    return np.asfortranarray((made + made.T) / 2, dtype=dtype)


def on_threads(function, items):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, items))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_factor_and_inverse(n, dtype):
    # Rounding errors of a factor are n·eps·‖A‖ at most, those of its inverse 10 times that here.
    A, error = matrix(n, dtype), 20 * max(n, 1) * np.finfo(dtype).eps
    lower = tiles.factor(A.copy(order="F"))
    L = np.tril(lower).astype(np.float64)
    np.testing.assert_allclose(L @ L.T, A, atol=error)
    inverse = tiles.inverse(lower)
    assert inverse.dtype == dtype
    assert not np.triu(inverse, 1).any()
    np.testing.assert_allclose(L @ inverse, np.eye(n), atol=10 * error)
    squares = tiles.squared_columns_of_inverse(lower)
    np.testing.assert_allclose(squares, (inverse.astype(np.float64) ** 2).sum(axis=0), rtol=1e-6)
    if n:
        np.testing.assert_allclose(squares, np.diagonal(np.linalg.inv(A)), rtol=100 * error)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (5, 0), (127, 40), (129, 300)])
def test_square(n, k):
    A = np.random.default_rng(n).normal(size=(n, k))
    found = tiles.square(A)
    np.testing.assert_allclose(found, A @ A.T, atol=1e-12 * max(k, 1))
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("n", [1000, 1100])
def test_threads_do_not_reach_the_bits(n):
    A = matrix(n)
    with threadpool_limits(4, user_api="blas"):
        alone = tiles.factor(A.copy(order="F"))
        together = tiles.factor(A.copy(order="F"), on_threads)
        assert np.array_equal(alone, together)
        one, other = (tiles.squared_columns_of_inverse(alone, p) for p in (None, on_threads))
        assert np.array_equal(one, other)
        assert np.array_equal(tiles.inverse(alone), tiles.inverse(alone, on_threads))
        assert np.array_equal(tiles.square(A), tiles.square(A, on_threads))


@pytest.mark.parametrize("at", [0, 127, 128, 299])
@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_what_is_not_positive_definite_has_no_factor(at, value):
    A = matrix(300)
    A[at, :] = A[:, at] = 0
    A[at, at] = value
    assert tiles.factor(A) is None


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        (rs.Fourier(gamma=0.3), {"n_components": np.inf, "alpha": 0.01}),
        (rs.Fourier(gamma=0.3), {"n_components": 1024, "alpha": 0.01, "solver": "cholesky"}),
    ],
)
def test_matrices_of_fits_are_factorised_by_blas_on_one_thread(monkeypatch, family, settings):
    seen, panels = set(), tiles._slices

    def watched(*given):
        seen.update(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return panels(*given)

    monkeypatch.setattr(tiles, "_slices", watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 2))
    with threadpool_limits(2, user_api="blas"):
        model = rs.SpanRegressor(family, random_state=0, **settings).fit(X, X[:, 0])
        assert np.isfinite(model.predict(X[:5], return_std=True)[1]).all()
        assert model.gcv_error_ >= 0
    assert seen == {1}
