"""The same problem solved by somebody else: objectives are compared."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from sklearn.svm import SVC, SVR, LinearSVC

import randspan as rs
from randspan.losses import NAMED, EpsilonInsensitive, Huber, Pinball, Softmax

K = 60


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=400)
    return X, np.where(f > 0.2, 1, -1), np.digitize(f, [-0.5, 0.5])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    return X, 3 * np.sin(X[:, 0]) + X[:, 1] ** 2 + rng.standard_t(3, size=300)


def features(model, X):
    """φ/√k, on which scikit-learn's penalties are ours."""
    values = model.functions_(model.frame_.rows(X, np.float64))
    return values / np.sqrt(model.frame_.ridge_scale)


def objective(loss, scores, targets, alpha, weights):
    return float(loss.value(scores, targets).sum() + alpha * (weights**2).sum())


def fitted(kind, X, y, **params):
    model = kind(rs.Fourier(), K, dtype="float64", random_state=0, **params).fit(X, y)
    assert model.solution_.converged
    assert model.solution_.residual < 1e-6
    return model


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic(classes, solver, alpha, intercept):
    X, y, _ = classes
    model = fitted(
        rs.SpanClassifier, X, y, loss="logistic", alpha=alpha, solver=solver,
        fit_intercept=intercept,
    )  # fmt: skip
    Z = features(model, X)
    peer = LogisticRegression(
        C=1 / (2 * alpha), tol=1e-10, max_iter=10_000, fit_intercept=intercept
    )
    peer.fit(Z, y)
    theirs = objective(NAMED["logistic"](), peer.decision_function(Z), y, alpha, peer.coef_)
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(Z), atol=1e-4)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_softmax(classes, alpha):
    X, _, y = classes
    model = fitted(rs.SpanClassifier, X, y, loss="logistic", alpha=alpha)
    Z = features(model, X)
    peer = LogisticRegression(C=1 / (2 * alpha), tol=1e-10, max_iter=10_000).fit(Z, y)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    theirs = objective(Softmax(), peer.decision_function(Z), targets, alpha, peer.coef_)
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(Z), atol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_squared_hinge(classes, solver, alpha):
    """liblinear would penalise an intercept, so there is none."""
    X, y, _ = classes
    model = fitted(
        rs.SpanClassifier, X, y, loss="squared_hinge", alpha=alpha, solver=solver,
        fit_intercept=False,
    )  # fmt: skip
    Z = features(model, X)
    peer = LinearSVC(C=1 / (2 * alpha), tol=1e-10, max_iter=100_000, fit_intercept=False)
    peer.fit(Z, y)
    theirs = objective(NAMED["squared_hinge"](), peer.decision_function(Z), y, alpha, peer.coef_)
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_hinge(classes, alpha, weighted):
    X, y, _ = classes
    each = np.random.default_rng(0).integers(0, 4, size=len(y)) if weighted else np.ones(len(y))
    model = rs.SpanClassifier(
        rs.Fourier(), K, loss="hinge", alpha=alpha, dtype="float64", random_state=0
    ).fit(X, y, sample_weight=each)
    Z = features(model, X)
    peer = SVC(kernel="linear", C=1 / (2 * alpha), tol=1e-8).fit(Z, y, sample_weight=each)
    values = NAMED["hinge"]().value(peer.decision_function(Z), y)
    theirs = float(each @ values + alpha * (peer.coef_**2).sum())
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-4)
    # The duality gap is a certificate: nobody is below us by more than it says.
    assert theirs >= model.solution_.objective * (1 - 2e-6)


def test_one_against_the_rest(classes):
    """Each class of a hinge fit is the fit of that class alone."""
    X, _, y = classes
    model = fitted(rs.SpanClassifier, X, y, loss="hinge", alpha=0.1)
    parts = [fitted(rs.SpanClassifier, X, y == c, loss="hinge", alpha=0.1) for c in range(3)]
    total = sum(part.solution_.objective for part in parts)
    assert model.solution_.objective == pytest.approx(total, rel=3e-6)
    scores = np.column_stack([part.decision_function(X) for part in parts])
    np.testing.assert_allclose(model.decision_function(X), scores, atol=0.02)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_pinball_without_ridge(numbers, quantile):
    X, y = numbers
    model = rs.SpanRegressor(rs.Fourier(), 20, loss=Pinball(quantile), alpha=0, random_state=0).fit(
        X, y
    )
    Z = features(model, X)
    peer = QuantileRegressor(quantile=quantile, alpha=0).fit(Z, y)
    theirs = Pinball(quantile).value(peer.predict(Z), y).sum()
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-5)
    below = np.mean(y <= model.predict(X))
    assert abs(below - quantile) <= 21 / len(y)


@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_epsilon_insensitive(numbers, alpha):
    X, y = numbers
    model = fitted(rs.SpanRegressor, X, y, loss=EpsilonInsensitive(0.3), alpha=alpha)
    Z = features(model, X)
    peer = SVR(kernel="linear", C=1 / (2 * alpha), epsilon=0.3, tol=1e-8).fit(Z, y)
    theirs = objective(EpsilonInsensitive(0.3), peer.predict(Z), y, alpha, peer.coef_)
    assert model.solution_.objective == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("loss", ["absolute", "pinball"])
def test_absolute_is_twice_the_median_pinball(numbers, loss):
    X, y = numbers
    alpha = 0.1 if loss == "absolute" else 0.05
    model = fitted(rs.SpanRegressor, X, y, loss=loss, alpha=alpha)
    other = fitted(rs.SpanRegressor, X, y, loss=EpsilonInsensitive(0.0), alpha=0.1)
    factor = 1 if loss == "absolute" else 2
    assert factor * model.solution_.objective == pytest.approx(other.solution_.objective, rel=3e-6)


@pytest.mark.parametrize(("loss", "targets"), [("exponential", "classes"), (Huber(0.5), "numbers")])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_against_a_plain_minimiser(loss, targets, solver, classes, numbers):
    X, y = classes[:2] if targets == "classes" else numbers
    kind = rs.SpanClassifier if targets == "classes" else rs.SpanRegressor
    model = fitted(kind, X, y, loss=loss, alpha=0.1, solver=solver)
    Z = features(model, X)
    pointwise = NAMED[loss]() if isinstance(loss, str) else loss

    def value_and_gradient(p):
        scores = Z @ p[:-1] + p[-1]
        slope = pointwise.slope(scores, y)
        gradient = np.append(Z.T @ slope + 0.2 * p[:-1], slope.sum())
        return objective(pointwise, scores, y, 0.1, p[:-1]), gradient

    options = {"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    best = optimize.minimize(
        value_and_gradient, np.zeros(K + 1), jac=True, method="L-BFGS-B", options=options
    )
    assert model.solution_.objective == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge", "exponential"])
@pytest.mark.parametrize("k", [60, 700])
def test_both_precisions_find_the_same(classes, loss, k, dtype):
    """float32 features move the objective by no more than their rounding; residuals hold anyway."""
    X, y, _ = classes
    build = rs.SpanClassifier(rs.Fourier(), k, loss=loss, alpha=0.05, random_state=0)
    model = build.set_params(dtype=dtype).fit(X, y)
    assert model.solution_.residual < 1e-6
    exact = rs.SpanClassifier(
        rs.Fourier(), k, loss=loss, alpha=0.05, random_state=0, dtype="float64"
    ).fit(X, y)
    assert model.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-5)
