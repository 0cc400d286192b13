"""Weights in a box: inside, optimal there, and without effect where the box is wide."""

import numpy as np
import pytest
from scipy import optimize

import randspan as rs
from randspan.solvers import newton
from randspan.solvers.box import quadratic

K = 40
CLASSES = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]
NUMBERS = ["squared", "absolute", "huber", "pinball", "epsilon_insensitive"]
CASES = [(rs.SpanClassifier, loss) for loss in CLASSES]
CASES += [(rs.SpanRegressor, loss) for loss in NUMBERS]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(250, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=250)
    return X, y


def model_of(kind, loss, **params):
    params = {"alpha": 0.1, "random_state": 0, **params}
    return kind(rs.Fourier(), K, loss=loss, **params)


def targets(kind, y):
    return y > 0 if kind is rs.SpanClassifier else y


@pytest.mark.parametrize(("kind", "loss"), CASES)
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
def test_a_wide_box_has_no_effect(kind, loss, alpha, data):
    X, y = data[0], targets(kind, data[1])
    free = model_of(kind, loss, alpha=alpha, dtype="float64").fit(X, y)
    wide = model_of(kind, loss, alpha=alpha, dtype="float64", bound=1e4).fit(X, y)
    assert wide.solution_.objective == pytest.approx(free.solution_.objective, rel=3e-6)
    scores = "predict" if kind is rs.SpanRegressor else "decision_function"
    np.testing.assert_allclose(getattr(wide, scores)(X), getattr(free, scores)(X), atol=0.02)


@pytest.mark.parametrize(("kind", "loss"), CASES)
@pytest.mark.parametrize("alpha", [0, 0.1])
@pytest.mark.parametrize("bound", [0.5, 5.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_narrow_box_holds(kind, loss, alpha, bound, dtype, data):
    X, y = data[0], targets(kind, data[1])
    model = model_of(kind, loss, alpha=alpha, bound=bound, dtype=dtype).fit(X, y)
    assert np.abs(model.weights_).max() <= bound / K * (1 + 1e-12)
    assert model.solution_.residual < 1e-6
    assert model.solution_.converged
    # And some weights do stand at it.
    assert (np.abs(model.weights_) > bound / K * (1 - 1e-9)).any()


@pytest.mark.parametrize("alpha", [0, 0.01, 1.0])
@pytest.mark.parametrize("solver", ["box", "newton", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_against_scipy(alpha, solver, intercept, data):
    X, y = data
    bound = 8.0
    model = model_of(
        rs.SpanRegressor, "squared", alpha=alpha, bound=bound, solver=solver, dtype="float64",
        fit_intercept=intercept,
    ).fit(X, y)  # fmt: skip
    Z = model.functions_(model.frame_.rows(X, np.float64))
    columns = [Z, np.ones((len(Z), 1))] if intercept else [Z]
    rows = np.hstack(columns)
    ridge = np.sqrt(alpha * K) * np.eye(K, rows.shape[1])
    limits = np.append(np.full(K, bound / K), [np.inf] * intercept)
    peer = optimize.lsq_linear(
        np.vstack([rows, ridge]), np.append(y, np.zeros(K)), (-limits, limits), tol=1e-14,
        method="bvls",
    )  # fmt: skip
    # Passes end at a residual of 1e-6, moments are solved to rounding.
    tight = solver == "box"
    assert model.solution_.objective == pytest.approx(2 * peer.cost, rel=1e-9 if tight else 1e-6)
    fitted = np.append(model.weights_, [model.intercept_] * intercept)
    np.testing.assert_allclose(rows @ fitted, rows @ peer.x, atol=1e-5 if tight else 1e-2)


def test_the_box_holds_for_every_class(data):
    X, y = data
    classes = np.digitize(y, [-0.5, 0.5])
    for loss in CLASSES:
        model = model_of(rs.SpanClassifier, loss, bound=2.0).fit(X, classes)
        assert model.weights_.shape == (3, K)
        assert np.abs(model.weights_).max() <= 2.0 / K * (1 + 1e-12)
        assert model.solution_.residual < 1e-6, loss


def test_least_squares_in_a_box_streams(data):
    """Moments are all it needs: blocks, forgetting and merging work as without a box."""
    X, y = data
    whole = model_of(rs.SpanRegressor, "squared", bound=5.0, dtype="float64").fit(X, y)
    parts = model_of(
        rs.SpanRegressor, "squared", bound=5.0, dtype="float64", frame=whole.frame_,
        random_state=None,
    )  # fmt: skip
    for s in range(0, 250, 50):
        parts.partial_fit(X[s : s + 50], y[s : s + 50])
    np.testing.assert_allclose(parts.weights_, whole.weights_, atol=1e-8)
    more = parts.partial_fit(X[:20] + 1, y[:20]).forget(X[:20] + 1, y[:20])
    np.testing.assert_allclose(more.weights_, whole.weights_, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_direct_links_have_no_box(loss, data):
    X = data[0]
    y = 10 * X[:, 0]
    model = rs.SpanRegressor(
        rs.Units(direct=True), 20, loss=loss, alpha=1e-6, bound=0.1, random_state=0
    ).fit(X, y)
    assert np.abs(model.weights_[:3]).max() > 5
    assert np.abs(model.weights_[3:]).max() <= 0.1 / 20 * (1 + 1e-12)
    assert model.score(X, y) > 0.999


def test_many_functions_in_a_box(data):
    """Beyond the size of Newton's method L-BFGS takes over; the box holds as well."""
    X, y = data
    model = rs.SpanClassifier(
        rs.Fourier(), 4500, loss="logistic", alpha=0.1, bound=30.0, random_state=0
    ).fit(X, y > 0)
    assert model.solution_.solver == "lbfgs"
    assert model.solution_.residual < 1e-6
    assert np.abs(model.weights_).max() <= 30 / 4500 * (1 + 1e-12)


@pytest.mark.parametrize("bound", [0, -1.0, np.nan, np.inf, "wide"])
def test_wrong_bounds(bound, data):
    with pytest.raises(ValueError, match="bound must be"):
        model_of(rs.SpanRegressor, "squared", bound=bound).fit(*data)


def test_a_box_beyond_the_rows_that_all_judge():
    """Some rows judge alpha for all; in a box there is no leave-one-out error to tell of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_500, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    model = rs.SpanRegressor(rs.Fourier(), 30, bound=30.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.validation_.kind is None


def test_rows_of_little_weight_do_not_slow_a_box(rng):
    """Beside the ridge they are nothing, but the intercept is theirs alone."""
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 2, size=60) + (X[:, 0] > 0)
    model = rs.SpanClassifier(
        rs.Units("tanh"), 12, bound=10.0, loss="exponential", alpha=1e-3, random_state=0
    )
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return quadratic(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton.box, "quadratic", counted)
        model.fit(X, y, sample_weight=np.full(60, 1e-20))
    assert all(quadratic(*arguments)[1] < 1e-9 for arguments in asked)
    shares = np.bincount(y) / 60
    np.testing.assert_allclose(model.intercept_, 0.5 * np.log(shares / (1 - shares)), rtol=1e-3)
