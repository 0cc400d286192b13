"""Bad input is met with an error that says what was wrong and what to do."""

import datetime
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import randspan as rs

X = np.random.default_rng(0).normal(size=(30, 3))
y = X[:, 0] + 0.1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components must be 'auto'"),
        ({"n_components": -1}, "n_components must be 'auto'"),
        ({"n_components": 10.0}, "n_components must be 'auto'"),
        ({"n_components": "many"}, "n_components must be 'auto'"),
        ({"n_components": np.nan}, "n_components must be 'auto'"),
        ({"n_components": True}, "n_components must be 'auto'"),
        ({"alpha": -1}, "alpha must be at least 0"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"alpha": np.inf}, "alpha must be a finite number"),
        (
            {"alpha": "best"},
            "alpha must be one of 'auto', 'leave_one_out', 'gcv', 'heldout', 'out_of_bag' or",
        ),
        ({"alpha": None}, "alpha must be a finite number"),
        ({"family": "forier"}, "family must be one of 'fourier'"),
        ({"family": 3}, "family must be one of"),
        ({"family": rs.Fourier}, r"family=Fourier is a class: hand in Fourier\(\)"),
        ({"family": rs.Fourier(gamma=-1)}, "gamma must be positive"),
        ({"loss": "sqaured"}, "loss must be one of 'squared'"),
        ({"solver": "lu"}, "solver must be one of 'auto'"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'"),
        ({"dtype": "int"}, "dtype must be"),
        ({"dtype": None}, "dtype must be"),
        ({"dtype": "quad"}, "dtype must be"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
        ({"scales": [1.0, 2.0]}, "scales must be None or one finite number >= 0 for each of the 3"),
        ({"scales": [1.0, -2.0, 1.0]}, "scales must be"),
        ({"scales": [1.0, np.inf, 1.0]}, "scales must be"),
        ({"scales": "lern"}, "scales must be one of 'auto', 'learn', 'rotate', None or one number"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_wrong_parameters(params, message, method):
    model = rs.SpanRegressor(**{"n_components": 5, **params})
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_not_finite(bad, method):
    broken = X.copy()
    broken[3, 1] = bad
    # What is missing in dense rows is understood (tests/test_tables.py).
    for rows in (broken, sparse.csr_matrix(broken))[int(np.isnan(bad)) :]:
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(rs.SpanRegressor(n_components=5), method)(rows, y)
    target = y.copy()
    target[0] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        getattr(rs.SpanRegressor(n_components=5), method)(X, target)
    weights = np.ones(30)
    weights[0] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        getattr(rs.SpanRegressor(n_components=5), method)(X, y, sample_weight=weights)
    if np.isnan(bad):
        return
    model = rs.SpanRegressor(n_components=5).fit(X, y)
    for call in (model.predict, lambda rows: model.predict(rows, return_std=True)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(broken)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.forget(broken, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.leave_one_out(broken, y)


def test_empty_and_tiny():
    for rows in (np.empty((0, 3)), np.empty((4, 0))):
        with pytest.raises(ValueError, match=r"0 (sample|feature)"):
            rs.SpanRegressor().fit(rows, np.ones(len(rows)))
    with pytest.raises(ValueError, match="1 sample"):
        rs.SpanRegressor().fit(X[:1], y[:1])
    started = rs.SpanRegressor(random_state=0).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(started.predict(X), y[0])
    two = rs.SpanRegressor(n_components=5, alpha=1.0).fit(X[:2], y[:2])
    assert np.isfinite(two.predict(X)).all()
    frame = rs.SpanRegressor(n_components=5).fit(X, y).frame_
    one = rs.SpanRegressor(alpha=1.0, frame=frame).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(one.predict(X), y[0])


def test_wrong_shapes():
    model = rs.SpanRegressor(n_components=5).fit(X, y)
    with pytest.raises(ValueError, match="4 features, but SpanRegressor is expecting 3"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="2D array"):
        model.predict(np.zeros(3))
    with pytest.raises(ValueError, match="inconsistent"):
        rs.SpanRegressor().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        rs.SpanRegressor().fit(X, y, np.ones(7))


def test_wrong_kinds():
    with pytest.raises(ValueError, match="could not convert"):
        rs.SpanRegressor().fit(np.array([["a", "b"]] * 5), np.ones(5))
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        rs.SpanRegressor().fit(X * 1j, y)
    with pytest.raises(ValueError, match="y"):
        rs.SpanRegressor().fit(X, None)
    with pytest.raises(ValueError, match="targets of a regressor are finite numbers"):
        rs.SpanRegressor().fit(X, np.array(["a"] * 30))
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        rs.SpanClassifier().fit(X, y)


def test_wrong_weights():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        rs.SpanRegressor().fit(X, y, -np.ones(30))
    with pytest.raises(ValueError, match=r"at least one non-zero|no row with a positive weight"):
        rs.SpanRegressor().fit(X, y, np.zeros(30))


def test_one_class():
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="at least two classes"):
            getattr(rs.SpanClassifier(), method)(X, np.ones(30))


def test_not_fitted():
    model = rs.SpanRegressor()
    for name in ("weights_", "intercept_", "alpha_", "gcv_error_", "functions_", "solution_"):
        assert not hasattr(model, name)
    for call in (
        model.predict,
        rs.SpanClassifier().decision_function,
        rs.SpanTransformer().transform,
    ):
        with pytest.raises(ValueError, match="not fitted yet"):
            call(X)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.forget(X, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.merge(model)


def test_wrong_transformers():
    with pytest.raises(ValueError, match="positive whole number"):
        rs.SpanTransformer(n_components="auto").fit(X)
    with pytest.raises(ValueError, match="dtype"):
        rs.SpanTransformer(dtype="float16").fit(X)


def test_a_failed_fit_leaves_the_parameters_alone():
    family = rs.Fourier(gamma=-1)
    model = rs.SpanRegressor(family, n_components=5)
    with pytest.raises(ValueError, match="gamma"):
        model.fit(X, y)
    assert model.family is family
    assert model.get_params()["n_components"] == 5


def root(values):
    with np.errstate(invalid="ignore"):
        return np.sqrt(values)


@pytest.mark.parametrize(
    "model",
    [
        rs.SpanRegressor(rs.Units(root) + rs.Bins(), 5),
        rs.SpanRegressor(rs.Units(root) + rs.Bins(), 5, alpha=0.1),
        rs.SpanRegressor(rs.Projections(scale=1e200), 5, solver="dual"),
        rs.SpanRegressor(rs.Projections(scale=1e200), np.inf),
        rs.SpanRegressor(rs.Projections(scale=1e200), 5, solver="eigen", dtype="float64"),
        rs.SpanTransformer(rs.Units(root), 5),
        rs.SpanTransformer(rs.Projections(scale=1e60), 5),
    ],
    ids=["cells", "cells, alpha", "dual", "kernel", "sums", "transformer", "float32"],
)
def test_functions_that_are_not_finite_are_refused_wherever_they_are_used(model):
    with pytest.raises(ValueError, match="not finite numbers"):
        model.fit_transform(X) if hasattr(model, "transform") else model.fit(X, y)


def test_rows_of_families_are_numbers():
    dates = [datetime.datetime(2020, 1, 1)] * 2
    frame = pl.DataFrame({"a": [True, False], "b": dates})
    for rows in (frame, [[1.0, 2.0], [3.0]], np.array([dates], "M8[s]"), X + 1j):
        with pytest.raises(ValueError, match=r"X must .* numbers"):
            rs.Fourier().draw(rows, 3)


@pytest.mark.parametrize(
    "targets", [np.full(30, "red"), np.full(30, "nan"), np.datetime64("2020-01-01") + np.arange(30)]
)
def test_targets_of_a_regressor_are_numbers(targets):
    with pytest.raises(ValueError, match="targets of a regressor are finite numbers"):
        rs.SpanRegressor(n_components=5).fit(X, targets)


def test_large_numbers_in_float32_are_no_matter_of_numpy():
    """Their sum overflows in both directions, of which scikit-learn's check would warn."""
    large = (X * 1e38).astype(np.float32)
    assert np.isfinite(rs.SpanRegressor(n_components=5).fit(large, y).predict(large)).all()


def test_targets_that_a_transformer_learns_from_have_squares():
    frame = pl.DataFrame({"a": ["x", "y"] * 15, "b": X[:30, 0]})
    with pytest.raises(ValueError, match="y has values as large as"):
        rs.SpanTransformer("bumps", 3).fit(frame, 1e299 * y[:30])


def near(values):
    return np.where(abs(values) < 1e3, values, np.nan)


def test_means_and_intervals_of_rows_without_functions_are_refused_as_predictions_are():
    model = rs.SpanRegressor(rs.Units(near), 2, random_state=0).fit(X, y)
    rows = 1e9 * X
    for call in (model.predict, model.predict_interval, partial(model.predict, return_std=True)):
        with pytest.raises(ValueError, match="rows are not finite"):
            call(rows)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", [rs.Trees(), rs.Hypotheses(DecisionTreeRegressor(max_depth=2))])
def test_functions_of_targets_beyond_float32_are_numbers(family):
    rows = X.astype(np.float32)
    model = rs.SpanRegressor(family, 5, random_state=0).fit(rows, 1e69 * y)
    values = model.functions_(rows)
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 1e60


def test_cosines_of_numbers_without_digits_do_not_depend_on_the_other_rows():
    rows = X * 1e70
    functions = rs.Networks(activation="cos", scale=10.0).draw(X, 40, random_state=0)
    alone = np.concatenate([functions(rows[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(functions(rows), alone)


@pytest.mark.filterwarnings("always")
def test_rows_that_a_sampler_refuses_are_no_matter_of_numpy(recwarn):
    rows = np.array([[1e70, -1e70], [-1e70, 1e70], [1e60, 1e70]] * 9)
    family = rs.Hypotheses(DecisionTreeClassifier(max_depth=2), targets="random")
    with pytest.raises(ValueError, match="could not be drawn"):
        rs.SpanRegressor(family, 3, standardize=False).fit(rows, y[:27])
    assert not [str(one.message) for one in recwarn]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "family", [rs.Bumps(gamma=0.1), rs.Bumps(gamma=[0.1, 0.2, 0.3]), rs.KernelExpansions(anchors=4)]
)
def test_squares_beyond_float32_are_far_from_every_centre(family):
    functions = family.draw(X, 6, random_state=0)
    rows = (X * np.float64(1e25)).astype(np.float32)
    np.testing.assert_array_equal(functions(rows), functions(rows.astype(np.float64)))
    rows[0] = X[0]
    np.testing.assert_allclose(functions(rows)[0], functions(X)[0], rtol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0]])
def test_a_kernel_of_zeros_without_a_ridge_leaves_the_mean(weights):
    model = rs.SpanRegressor("projections", np.inf, alpha=0, dtype="float64")
    model.fit(np.zeros((3, 2)), np.full(3, 1e30), sample_weight=weights)
    np.testing.assert_allclose(model.predict(np.zeros((3, 2))), np.full(3, 1e30))
