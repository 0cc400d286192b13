"""Corners that once gave wrong answers, or could."""

import threading

import numpy as np
import pytest
import threadpoolctl
from scipy import sparse

import randspan as rs
from randspan.families.shared.anchors import inverse_triangle
from randspan.sources import ArraySource


def data(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 123.456, 1e6 + 0.1])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_constant_column_has_a_scale_of_zero(value, make):
    """Sums of many equal numbers are rounded; what they leave is no variance."""
    X, y = data(20_000)
    X[:, 2] = value
    model = rs.SpanRegressor(n_components=50, random_state=0).fit(make(X), y)
    assert model.frame_.scale[2] == 0
    moved = X[:50].copy()
    moved[:, 2] += 1.0
    with pytest.warns(UserWarning, match="one value only"):
        found = model.predict(moved)
    np.testing.assert_allclose(found, model.predict(X[:50]), atol=1e-6)


@pytest.mark.parametrize("offset", [1e2, 1e6])
def test_sparse_and_dense_agree_in_float32_with_an_offset(offset):
    X, y = data(3000)
    X[:, 0] += offset
    model = rs.SpanRegressor(n_components=50, alpha=1.0, random_state=0)
    dense, thin = model.fit(X, y).predict(X), model.fit(sparse.csr_array(X), y).predict(X)
    np.testing.assert_allclose(thin, dense, atol=1e-3)


def test_fingerprints_tell_small_whole_numbers_apart(rng):
    X = np.unique(rng.integers(0, 2, size=(3000, 40)).astype(float), axis=0)
    model = rs.SpanRegressor(n_components=5).fit(X, X[:, 0])
    assert model.n_features_in_ == 40
    dense, thin = (ArraySource(rows).keys for rows in (X, sparse.csr_array(X)))
    assert len(np.unique(dense)) == len(X)
    assert np.array_equal(thin, dense)


def test_no_standard_deviation_without_anything_to_estimate_it_from():
    X, y = data(50)
    model = rs.SpanRegressor(n_components=300, alpha=0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="larger alpha"):
        model.predict(X, return_std=True)


def test_a_ridge_that_rounding_allows_is_not_refused():
    """The smallest eigenvalue is at least alpha·k, whatever an estimate of it says."""
    X, y = data(8192, d=5)
    model = rs.SpanRegressor(rs.Fourier(), 200, alpha=0.1, random_state=0).partial_fit(X, y)
    assert model.score(X, y) > 0.9


def test_rows_never_seen_cannot_be_forgotten_unnoticed(rng):
    X, y = data()
    for alpha in ("auto", 1e-3):
        model = rs.SpanRegressor(n_components=300, alpha=alpha, random_state=0).fit(X, y)
        foreign = rng.normal(size=(60, 3)) * 2
        with pytest.raises(ValueError, match="were not in the model"):
            model.forget(foreign, np.zeros(60)).predict(X)
    model = rs.SpanRegressor(n_components=30, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="were not in the model"):
        model.forget(rng.normal(size=(400, 3)), y)


def test_bumps_keep_all_rows_as_the_law_of_their_centres():
    X, y = data()
    functions = rs.Bumps(gamma=0.5).draw(X, 10, 0)
    np.testing.assert_allclose(functions.kernel(X), rs.Bumps(gamma=0.5, centers=X).kernel(X))
    frame = rs.SpanRegressor(rs.Bumps(), 10, random_state=0).fit(X, y).frame_
    wider = rs.SpanRegressor(n_components=200, frame=frame).fit(X, y)
    assert len(np.unique(wider.functions_.centers, axis=0)) == 200


def test_entries_of_a_sparse_matrix_may_be_mentioned_twice():
    X, y = data()
    doubled = sparse.csr_matrix(X).tocoo()
    indices = np.repeat(doubled.col, 2)
    noncanonical = sparse.csr_matrix(
        (np.repeat(doubled.data / 2, 2), indices, np.arange(0, 2 * X.size + 1, 2 * X.shape[1])),
        X.shape,
    )
    assert not noncanonical.has_canonical_format
    model = rs.SpanRegressor(n_components=50, dtype="float64", random_state=0)
    expected = model.fit(X, y).predict(X)
    found = model.fit(noncanonical, y).predict(noncanonical)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_fits_that_overlap_leave_blas_as_it_was():
    X, y = data(6000)

    def threads():
        return [
            i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"
        ]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        fits = [
            threading.Thread(target=lambda: rs.SpanRegressor(n_components=64).fit(X, y))
            for _ in range(4)
        ]
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        assert threads() == before


@pytest.mark.parametrize("seed", range(4))
def test_equal_targets_that_are_left_of_others_have_no_negative_scatter(seed):
    """What rounding left of it made errors negative, of which none was the smallest."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(7, 3)), np.append(rng.normal(size=3), np.full(4, 0.1))
    model = rs.SpanRegressor(rs.Projections(), 3, alpha="gcv", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.forget(X[:3], y[:3]).predict(X), 0.1, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_ridge_that_is_lost_beside_heavy_rows_leaves_the_means_of_cells(seed):
    """A factor of rounding errors is none: its weights once missed their equations by a fifth."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weights = rng.integers(1, 4, size=60) * 1e14
    model = rs.SpanRegressor(rs.Bins(), 1, alpha=1.0, random_state=seed).fit(X, y, weights)
    cells = model.functions_(X).toarray()
    means = (weights * y) @ cells / (weights @ cells)
    assert model.solution_.solver == "dual"
    np.testing.assert_allclose(model.predict(X), cells @ means, atol=1e-4)


def test_rows_of_weight_zero_are_as_if_absent(rng):
    X, y = data(100)
    X[20:40], y[20:40] = X[:20], y[:20]
    weights = np.append(np.ones(40), np.zeros(60))
    model = rs.SpanRegressor(n_components=60, dtype="float64", random_state=0)
    absent = model.fit(X[:40], y[:40])
    alpha, expected = absent.alpha_, absent.predict(X)
    present = model.fit(X, y, weights)
    assert present.alpha_ == alpha
    np.testing.assert_allclose(present.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("size", [1e37, 1e-46])
def test_targets_of_any_size(size):
    X, y = data(2000)
    model = rs.SpanRegressor(n_components=50, random_state=0)
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, y * size).predict(X) / size, plain, atol=1e-4)


def test_a_frame_may_be_read_from_one_buffer():
    X, _ = data(3000)
    buffer = np.empty((300, 3))

    def stream():
        for s in range(0, 3000, 300):
            buffer[:] = X[s : s + 300]
            yield buffer

    read = rs.Frame.read(stream(), "fourier", "auto", random_state=0)
    whole = rs.Frame.read([X], "fourier", None, random_state=0)
    assert read.family.resolved.gamma == pytest.approx(whole.family.resolved.gamma, rel=1e-9)


def test_frames_refuse_what_they_cannot_read():
    X, _ = data()
    with pytest.raises(ValueError, match="NaN"):
        rs.Frame.read([np.full((3, 2), np.inf)])
    with pytest.raises(ValueError, match="4 columns, the first had 3"):
        rs.Frame.read([X, np.zeros((5, 4))])
    with pytest.raises(ValueError, match="one weight >= 0"):
        rs.Frame.read([(X, None, X[:, 0])])
    with pytest.raises(ValueError, match="positive whole number"):
        rs.Frame.read([X], "fourier", 0)


def test_models_that_were_never_fitted_say_so():
    X, y = data()
    with pytest.raises(ValueError, match="not fitted yet"):
        rs.SpanRegressor().leave_one_out(X, y)


def test_functions_refuse_what_is_not_finite_or_too_wide():
    X, _ = data()
    functions = rs.Stumps().draw(X, 5, 0)
    with pytest.raises(ValueError, match="NaN"):
        functions(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="drawn for 3 columns"):
        functions.kernel(X[:, :2])


def test_a_stream_may_begin_with_rows_that_repeat_each_other():
    X, y = data()
    model = rs.SpanRegressor(n_components=20, random_state=0)
    model.partial_fit(X[[0, 0, 1]], y[[0, 0, 1]])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("coefficients", ["cholesky", "nystrom"])
def test_anchors_of_rows_whose_kernel_is_zero(kernel, coefficients):
    """Pivots end where nothing is left to explain, here before the first."""
    X, y = np.full((30, 3), 2.0), np.arange(30.0)
    family = rs.KernelExpansions(kernel, anchors="rpcholesky", coefficients=coefficients)
    model = rs.SpanRegressor(family, 5, alpha=1.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())


def test_an_inverse_root_knows_no_units(rng):
    """L⁻¹ of cK is L⁻¹/√c of K, for kernels near the ends of all numbers too."""
    Z = rng.normal(size=(20, 30))
    K = Z @ Z.T
    for size in (1e-280, 1e280):
        np.testing.assert_allclose(
            inverse_triangle(size * K) * np.sqrt(size), inverse_triangle(K), rtol=1e-6, atol=1e-12
        )


@pytest.mark.parametrize(
    "family",
    [
        rs.Dictionary(rs.Mercer("poly")),
        rs.KernelExpansions("poly", coefficients="nystrom"),
        rs.KernelExpansions("poly", anchors="rpcholesky"),
    ],
)
def test_kernels_that_overflow_say_what_to_do(family):
    X, y = data(50)
    model = rs.SpanRegressor(family, 5, standardize=False, alpha=1.0)
    with pytest.raises(ValueError, match="standardize=True"):
        model.fit(1e70 * X, y)


def test_sums_about_zero_that_overflow_are_refused(rng):
    """About their mean the squares of these functions are numbers; without an intercept not."""

    def large(X):
        return 1e155 * (1 + 1e-9 * X)

    family = rs.Dictionary(large)
    given = {"standardize": False, "dtype": "float64", "alpha": 1.0, "fit_intercept": False}
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = rs.SpanRegressor(family, 3, random_state=0, **given).partial_fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        model.predict(X)


def test_a_wrong_kernel_is_named_wherever_it_is_looked_at_first():
    X, y = data(60)
    for scales in (None, "learn", "rotate"):
        model = rs.SpanRegressor(rs.Fourier("gauss"), 20, scales=scales)
        with pytest.raises(ValueError, match="kernel must be one of"):
            model.fit(X, y)


def test_functions_of_rows_beyond_float32_are_refused():
    X, y = data(50)
    model = rs.SpanRegressor(rs.Fourier(), 8, random_state=0).fit(X / 100, y)
    with pytest.raises(ValueError, match="not finite numbers"):
        model.functions_(np.full((2, 3), 1e38, dtype=np.float32))
