"""An ℓ1 penalty on the weights: scikit-learn's Lasso, from moments."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Lasso, lasso_path
from sklearn.metrics import log_loss

import randspan as rs
from randspan import losses
from randspan.solvers import lasso


def rows_of(n=300, d=4, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    y = y if targets is None else np.column_stack([y + i * X[:, i] for i in range(targets)])
    return X, y + 0.2 * rng.normal(size=y.shape), rng.exponential(size=n)


def known(Z, y, alpha, intercept=True, weights=None):
    model = Lasso(alpha, fit_intercept=intercept, tol=1e-14, max_iter=1_000_000)
    return model.fit(Z, y, sample_weight=weights)


FAMILIES = {
    "fourier": (rs.Fourier(), 60),
    "stumps": (rs.Stumps("normal"), 60),  # hardly independent
    "relu": (rs.Units("relu"), 40),
    "sheets": (rs.BrownianSheets(), 40),
    "union": (rs.Fourier() + rs.Projections(), 40),
}


@pytest.mark.parametrize("alpha", [0.1, 0.003])
@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_scikit_learns_lasso(name, alpha):
    family, k = FAMILIES[name]
    X, y, _ = rows_of()
    model = rs.SpanRegressor(family, k, penalty="l1", alpha=alpha, clip=None, random_state=0)
    model.fit(X, y)
    Z = model.functions_(model.frame_.rows(X, np.float64))
    lasso = known(Z, y, alpha)
    np.testing.assert_allclose(model.predict(X), lasso.predict(Z), atol=1e-6)
    np.testing.assert_allclose(model.weights_, lasso.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-6)
    away = y - lasso.predict(Z)
    value = away @ away + 2 * len(y) * alpha * np.abs(lasso.coef_).sum()
    assert model.solution_.objective == pytest.approx(value, rel=1e-6)
    assert model.solution_.solver == "lasso"
    assert model.solution_.converged


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("targets", [None, 2])
def test_weights_targets_and_no_intercept(intercept, targets):
    X, y, weights = rows_of(targets=targets)
    settings = {"penalty": "l1", "alpha": 0.01, "fit_intercept": intercept, "clip": None}
    model = rs.SpanRegressor(rs.Fourier(), 50, random_state=0, **settings).fit(X, y, weights)
    Z = model.functions_(model.frame_.rows(X, np.float64))
    for t, column in enumerate(y.reshape(len(y), -1).T):
        lasso = known(Z, column, 0.01, intercept, weights)
        found = model.predict(X).reshape(len(y), -1)[:, t]
        np.testing.assert_allclose(found, lasso.predict(Z), atol=1e-6)


def test_a_path_from_one_pass():
    X, y, _ = rows_of()
    model = rs.SpanRegressor(rs.Fourier(), 50, penalty="l1", random_state=0).fit(X, y)
    Z = model.functions_(model.frame_.rows(X, np.float64))
    Z, centred = Z - Z.mean(axis=0), y - y.mean()
    alphas, weights, errors = model.l1_path()
    assert np.abs(weights[0]).max() == 0  # the largest alpha that any weight can bear
    assert (np.abs(weights[1]) > 0).sum() == 1
    assert model.alpha_ == alphas[np.argmin(errors)]
    assert np.array_equal(model.weights_, weights[np.argmin(errors), 0])
    assert model.validation_.kind == "gcv"
    assert model.validation_.error == errors.min()
    some = alphas[5:40:5]
    _, expected, _ = lasso_path(Z, centred, alphas=some, tol=1e-14, max_iter=1_000_000)
    found = model.l1_path(some)[1]
    np.testing.assert_allclose(found[:, 0], expected.T, atol=1e-6)


def test_streams_forget_and_choose_as_a_fit_does():
    X, y, _ = rows_of(400)
    whole = rs.SpanRegressor(rs.Fourier(), 80, penalty="l1", random_state=0).fit(X[:300], y[:300])
    stream = rs.SpanRegressor(penalty="l1", frame=whole.frame_)
    stream.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]).forget(X[300:], y[300:])
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), atol=1e-6)
    assert stream.alpha_ == pytest.approx(whole.alpha_, rel=1e-6)
    assert stream.solution_.plan.statistics == "moments"
    stream.set_params(penalty="l2", alpha=0.1).partial_fit(X[300:], y[300:])
    ridge = rs.SpanRegressor(alpha=0.1, frame=whole.frame_).fit(X, y)
    np.testing.assert_allclose(stream.predict(X), ridge.predict(X), atol=1e-4)


def test_few_functions_carry_a_sparse_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    family = rs.Fourier(gamma=0.3)
    functions = family.draw(X, 200, 1)
    y = functions(X)[:, [3, 50]] @ [1.0, -2.0] + 0.1 * rng.normal(size=2000)
    settings = {"standardize": False, "random_state": 1}
    model = rs.SpanRegressor(family, 200, penalty="l1", **settings).fit(X, y)
    assert np.isin([3, 50], np.argsort(-np.abs(model.weights_))[:2]).all()
    assert (model.weights_ != 0).sum() < 60
    classes = rs.SpanClassifier(family, 200, penalty="l1", **settings).fit(X, y > 0)
    assert classes.score(X, y > 0) > 0.9
    assert (classes.weights_ == 0).any()
    assert classes.predict_proba(X[:5]).shape == (5, 2)


def test_copies_of_functions_and_constants_do_no_harm():
    X, y, _ = rows_of()
    basis = rs.Dictionary(lambda X: np.column_stack([X, X, np.ones(len(X))]))
    model = rs.SpanRegressor(basis, 30, penalty="l1", alpha=0.05, random_state=0).fit(X, y)
    Z = model.functions_(model.frame_.rows(X, np.float64))
    np.testing.assert_allclose(model.predict(X), known(Z, y, 0.05).predict(Z), atol=1e-4)
    flat = rs.SpanRegressor(rs.Fourier(), 10, penalty="l1", random_state=0).fit(
        X, np.full(300, 3.0)
    )
    assert (flat.predict(X) == 3.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "absolute"}, "penalty='l1' does not go together with loss='absolute'"),
        ({"loss": losses.Huber(1.0)}, "does not go together with loss='huber'"),
        ({"bound": 3.0}, "does not go together with bound=3"),
        ({"n_components": np.inf}, "n_components=inf"),
        ({"family": rs.Bins()}, "indicators of cells"),
        ({"family": rs.Trees()}, "learned from targets"),
        ({"family": rs.Trees(output="leaves")}, "indicators of cells"),
        ({"alpha": "leave_one_out"}, "alpha='leave_one_out': use a number"),
        ({"solver": "cholesky"}, "minimises with penalty='l2', not 'l1'"),
        ({"penalty": "l2", "solver": "lasso"}, "minimises with penalty='l1', not 'l2'"),
        ({"penalty": "l0"}, "penalty must be one of"),
        ({"alpha": 0}, "with alpha=0 penalises nothing"),
        ({"n_components": "auto"}, "give a number, such as"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(settings, message):
    X, y, _ = rows_of(60)
    given = {"family": rs.Fourier(), "n_components": 20, "penalty": "l1", "random_state": 0}
    with pytest.raises(ValueError, match=message):
        rs.SpanRegressor(**(given | settings)).fit(X, y)


def test_portfolios_and_models_without_moments_have_none():
    X, y, _ = rows_of(60)
    with pytest.raises(ValueError, match="penalty='l1'"):
        rs.SpanRegressor("auto", penalty="l1").fit(X, y)
    exact = rs.SpanRegressor(rs.Fourier(), np.inf, alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="l1_path needs moments"):
        exact.l1_path()


def test_it_comes_back_from_files(tmp_path):
    X, y, _ = rows_of()
    model = rs.SpanRegressor(rs.Fourier(), 50, penalty="l1", random_state=0).fit(X, y)
    rs.save(model, tmp_path / "model.rsp")
    again = rs.load(tmp_path / "model.rsp")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.penalty == "l1"
    assert np.array_equal(again.l1_path()[1], model.l1_path()[1])


def test_probabilities_are_those_of_rows_that_had_no_part_in_the_scores(rng):
    """Of their own scores, classes of 300 rows and 200 functions look certain: log-loss 1.6."""
    X = rng.normal(size=(3_300, 6))
    p = expit(X[:, 0] + 0.5 * X[:, 1])
    classes = rng.uniform(size=len(p)) < p
    model = rs.SpanClassifier(
        rs.Fourier(gamma=0.05), 200, penalty="l1", alpha=5e-4, scales=None, random_state=0
    ).fit(X[:300], classes[:300])
    assert log_loss(classes[300:], model.predict_proba(X[300:])) < np.log(2)


def test_leverages_of_active_functions_are_those_of_least_squares(rng):
    """Leaving a row out moves the fit of the same functions and signs by e/(1 - h)."""
    X, y, _ = rows_of(120)
    given = {"penalty": "l1", "alpha": 0.02, "scales": None, "clip": None, "random_state": 0}
    model = rs.SpanRegressor(rs.Fourier(), 30, **given).fit(X, y)
    sums = model._model.statistics.centred(True, np.dtype(np.float64))
    of_rows = lasso.leverages(sums, model.weights_[:, None], True)
    h = of_rows(model.functions_(X))[:, 0]
    away = y - model.predict(X)
    for row in range(0, 120, 17):
        rest = np.arange(120) != row
        # The constant of a mean over fewer rows is what the formula leaves out.
        one = rs.SpanRegressor(
            rs.Fourier(), 30, **(given | {"alpha": 0.02 * 120 / 119}), frame=model.frame_
        ).fit(X[rest], y[rest])
        left = y[row] - one.predict(X[[row]])[0]
        if ((one.weights_ != 0) == (model.weights_ != 0)).all():
            assert left == pytest.approx(away[row] / (1 - h[row]), abs=1e-6)


def test_a_path_of_no_rows_and_alphas_that_are_none():
    X, y, _ = rows_of(60)
    model = rs.SpanRegressor(rs.Fourier(), 10, penalty="l1", random_state=0).partial_fit(X, y)
    for alphas in ("a", [0.1, -1.0], [0.0]):
        with pytest.raises(ValueError, match="alphas must be a list of finite numbers > 0"):
            model.l1_path(alphas)
    with pytest.raises(ValueError, match="holds no rows"):
        model.forget(X, y).l1_path()
