"""Bad input is met with an error that says what was wrong and what to do."""

import numpy as np
import pytest
from scipy import sparse

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
        ({"family": rs.Fourier}, "family must be one of"),
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
    with pytest.warns(UserWarning, match="first block, which has 1 row"):
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
    with pytest.raises(ValueError, match=r"could not convert|numeric"):
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
