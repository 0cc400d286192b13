"""leave_one_out equals refitting n times."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

import randspan as rs


def data(n=200, q=None):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    y = y if q is None else np.column_stack([y, y**2])
    return X, y, rng.uniform(0.2, 3, size=n)


def refitted(model, X, y, w):
    """The prediction for each row of the model fitted without it, at its frame and alpha."""
    single = clone(model).set_params(frame=model.frame_, alpha=model.alpha_)
    predictions = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fit = single.fit(X[rest], y[rest], None if w is None else w[rest])
        predictions.append(fit.predict(X[[i]])[0])
    return np.array(predictions)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [40, 400, np.inf])
def test_leave_one_out_equals_refitting(weighted, intercept, k):
    X, y, w = data(80)
    w = w / w.mean() if weighted else None
    model = rs.SpanRegressor(
        n_components=k, fit_intercept=intercept, clip=None, dtype="float64", random_state=0
    ).fit(X, y, w)
    values = model.leave_one_out(X, y, w)
    np.testing.assert_allclose(values, refitted(model, X, y, w), atol=1e-8, rtol=0)


@pytest.mark.parametrize("solver", ["eigen", "cholesky"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("coefficients", ["cholesky", "nystrom", "normal"])
def test_functions_that_are_sums_of_kernels_are_left_out_by_their_kernels(
    solver, intercept, coefficients
):
    """Scores and leverages from kernel values at 70 anchors, in place of 70 sums of them."""
    X, y, w = data(90, q=2)
    model = rs.SpanRegressor(
        rs.KernelExpansions("laplacian", coefficients=coefficients, anchors=70),
        70,
        alpha=0.01,
        solver=solver,
        fit_intercept=intercept,
        clip=None,
        dtype="float64",
        random_state=0,
    ).fit(X, y, w)
    values = model.leave_one_out(X, y, w)
    np.testing.assert_allclose(values, refitted(model, X, y, w), atol=1e-8, rtol=0)
    by_functions = model.functions_(X) @ model.weights_.T + model.intercept_
    np.testing.assert_allclose(model.predict(X), by_functions, atol=1e-9)
    few = model.predict(X[:20], return_std=True)
    many = model.predict(X, return_std=True)  # more rows than functions
    np.testing.assert_allclose(few[1], many[1][:20], rtol=1e-9)


def test_leave_one_out_after_streaming_with_many_outputs_and_sparse_rows():
    X, y, w = data(100, q=2)
    X = sparse.csr_array(X * (X > 0))
    model = rs.SpanRegressor(rs.Stumps("normal"), 30, alpha=0.1, dtype="float64", random_state=0)
    for s in range(0, 100, 25):
        model.partial_fit(X[s : s + 25], y[s : s + 25], w[s : s + 25])
    values = model.leave_one_out(X, y, w)
    assert values.shape == (100, 2)
    np.testing.assert_allclose(values, refitted(model, X, y, w), atol=1e-8, rtol=0)
    # Some of the rows may be asked for alone.
    np.testing.assert_allclose(model.leave_one_out(X[:7], y[:7], w[:7]), values[:7], atol=1e-12)


def test_classifiers_return_the_class_of_the_model_without_the_row():
    X, y, _ = data(80)
    labels = np.digitize(y, [-0.5, 0.7])
    model = rs.SpanClassifier(n_components=30, dtype="float64", random_state=0).fit(X, labels)
    assert np.array_equal(model.leave_one_out(X, labels), refitted(model, X, labels, None))


def test_interpolation_is_refused_with_the_reason():
    X, y, _ = data(30)
    model = rs.SpanRegressor(n_components=100, alpha=0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="alpha > 0"):
        model.leave_one_out(X, y)


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_wine, load_digits])
def test_gcv_error_is_near_the_leave_one_out_error(load):
    """Reported on the data sets that scikit-learn ships, on ±1 columns for classes."""
    X, y = load(return_X_y=True)
    if load is not load_diabetes:
        y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    model = rs.SpanRegressor(n_components=300, dtype="float64", random_state=0).fit(X, y)
    loo = np.mean((model.leave_one_out(X, y) - y) ** 2)
    print(f"{load.__name__}: gcv {model.gcv_error_:.5g}, leave-one-out {loo:.5g}")
    assert model.gcv_error_ == pytest.approx(loo, rel=0.25)
