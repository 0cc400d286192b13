"""Losses of positive numbers: scikit-learn's generalised linear models on the same functions."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import d2_tweedie_score

import randspan as rs
from randspan.losses import NAMED

R = rs.SpanRegressor
NAMES = {"poisson": PoissonRegressor, "gamma": GammaRegressor}
POWERS = {"poisson": 1, "gamma": 2}


def data(loss, n=400, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    mean = size * np.exp(1 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2])
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(2.0, mean / 2)
    return X, y.astype(np.float64)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
@pytest.mark.parametrize(
    ("weighted", "intercept", "solver"),
    [
        (False, True, "newton"),
        (True, True, "newton"),
        (True, False, "newton"),
        (True, True, "lbfgs"),
    ],
)
def test_against_scikit_learn(loss, alpha, weighted, intercept, solver):
    X, y = data(loss)
    each = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    shared = {"dtype": "float64", "random_state": 0, "fit_intercept": intercept, "clip": None}
    model = R(rs.Fourier(), 50, loss=loss, alpha=alpha, solver=solver, **shared)
    model.fit(X, y, sample_weight=each)
    Z = model.functions_(X) / np.sqrt(50)
    peer = NAMES[loss](alpha=2 * alpha / each.sum(), fit_intercept=intercept, tol=1e-12)
    peer.set_params(solver="newton-cholesky", max_iter=1000).fit(Z, y, sample_weight=each)
    predicted, expected = model.predict(X), peer.predict(Z)
    # F is 2·alpha-convex in √k·w: with the residual left, weights are within ‖∇F‖/(2·alpha).
    rtol = 1e-6 if solver == "newton" else 1e-3
    np.testing.assert_allclose(predicted, expected, rtol=rtol)
    assert model.score(X, y, each) == pytest.approx(peer.score(Z, y, each), abs=1e-6)
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, predicted, power=POWERS[loss]))
    scores = np.log(expected)
    theirs = float(each @ NAMED[loss]().value(scores, y))
    theirs += alpha * float((peer.coef_**2).sum())
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("loss", NAMES)
def test_without_functions_the_prediction_is_the_mean(loss):
    X, y = data(loss, 60)
    each = np.random.default_rng(1).uniform(0, 2, 60)
    for alpha in ("auto", 0.1):
        model = R(rs.Fourier(), 10, loss=loss, alpha=alpha, random_state=0)
        flat = model.fit(np.ones_like(X), y, sample_weight=each).predict(np.ones((2, 3)))
        np.testing.assert_allclose(flat, np.average(y, weights=each), rtol=1e-9)
        assert model.intercept_ == pytest.approx(np.log(flat[0]))


def test_numbers_that_are_all_zero():
    X, _ = data("poisson", 50)
    for solver in ("newton", "lbfgs"):
        model = R(rs.Fourier(), 10, loss="poisson", alpha=0.1, random_state=0, solver=solver)
        assert (model.fit(X, np.zeros(50)).predict(X) == 0).all()
        assert model.set_params(clip=None).predict(X).max() < 1e-12


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize(
    ("family", "k"),
    [("fourier", "auto"), (rs.Fourier(), 60), (rs.Bins(), 40), (rs.Trees(), 20)],
    ids=["default", "fourier", "bins", "trees"],
)
def test_alpha_and_its_estimate(loss, family, k):
    """`validation_` is the loss, half the deviance, that new rows have."""
    X, y = data(loss, 300)
    Xt, yt = data(loss, 2000, seed=1)
    model = R(family, k, loss=loss, random_state=0, clip=None).fit(X, y)
    own = NAMED[loss]()
    new = own.deviance(model.predict(Xt), yt) / 2
    told = model.validation_
    assert told.kind == "heldout"
    doubt = np.hypot(told.standard_error, new.std() / np.sqrt(len(new)))
    assert abs(told.error - new.mean()) < 4 * doubt
    assert model.score(Xt, yt) > 0.2
    assert model.solution_.residual < 1e-6


def test_the_ridge_follows_the_size_of_counts():
    """exp(s + c) is as curved as its size: predictions are in proportion."""
    X, y = data("gamma")
    fits = [
        R(rs.Fourier(), 40, loss="gamma", random_state=0).fit(X, size * y).predict(X) / size
        for size in (1.0, 1e-12, 1e9)
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other, fits[0], rtol=1e-4)
    X, y = data("poisson", 1000, size=1e6)
    model = R(rs.Fourier(), 100, loss="poisson", random_state=0).fit(X, y)
    assert model.solution_.converged
    assert model.score(*data("poisson", 1000, seed=1, size=1e6)) > 0.8


@pytest.mark.parametrize("loss", NAMES)
def test_clip_is_on_the_scale_of_predictions(loss):
    X, y = data(loss)
    far = np.vstack([X, 30 * X])
    model = R(rs.Projections(), 6, loss=loss, alpha=1e-3, random_state=0).fit(X, y)
    assert model.predict(far).max() > 2 * y.max()  # linear functions extrapolate
    model.set_params(clip="auto")
    assert model.predict(far).max() <= y.max() + 0.1 * np.ptp(y) + 1e-12
    least = y.min() * (y.min() / y.max()) ** 0.1
    assert model.predict(far).min() >= (1 - 1e-12) * least
    assert model.set_params(clip=2.0).predict(far).max() == 2.0
    assert np.isfinite(model.set_params(clip=None).predict(1e6 * X)).all()


def test_several_targets_are_fitted_apart():
    X, y = data("poisson")
    other = np.random.default_rng(2).poisson(50 * np.exp(X[:, 1]))
    build = {"loss": "poisson", "alpha": 0.1, "random_state": 0}
    both = R(rs.Fourier(), 30, **build).fit(X, np.column_stack([y, other]))
    alone = R(rs.Fourier(), 30, **build).fit(X, other)
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), rtol=1e-5)
    shares = [R(rs.Fourier(), 30, **build).fit(X, t).score(X, t) for t in (y, other)]
    assert both.score(X, np.column_stack([y, other])) == pytest.approx(np.mean(shares), abs=1e-6)


def test_targets_that_a_loss_is_not_for():
    X, y = data("poisson", 50)
    y[3] = -2
    with pytest.raises(
        ValueError, match=r"loss='poisson' is for numbers >= 0.*y holds -2, and 1 of"
    ):
        R(loss="poisson").fit(X, y)
    y[3] = 0
    with pytest.raises(ValueError, match=r"loss='gamma' is for numbers > 0.* loss='poisson'"):
        R(loss="gamma").fit(X, y)
    fitted = R(rs.Fourier(), 5, loss="poisson", alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="y holds -1"):
        fitted.score(X, y - 1)
    with pytest.raises(ValueError, match=r"family='auto' .*loss='squared'"):
        R("auto", loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match="judges numbers"):
        rs.SpanClassifier(loss=rs.losses.Poisson()).fit(X, y > 1)


@pytest.mark.parametrize("loss", NAMES)
def test_files_and_onnx(loss, tmp_path):
    X, y = data(loss, 100)
    model = R(rs.Fourier(), 10, loss=NAMED[loss](), alpha=0.1, random_state=0).fit(X, y)
    model.save(tmp_path / "model.rsp")
    again = rs.load(tmp_path / "model.rsp")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.score(X, y) == model.score(X, y)
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = rs.to_onnx(model, dtype="float64").SerializeToString()
    (found,) = onnxruntime.InferenceSession(graph).run(["prediction"], {"X": 3 * X})
    np.testing.assert_allclose(found, model.predict(3 * X), rtol=1e-9)
