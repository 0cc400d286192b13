"""Many functions by passes over the rows: the same answer as from moments."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import randspan as rs


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=3000)
    return X, y


def pair(X, y, sample_weight=None, k=200, peer="qr", **params):
    """The same model, solved in passes and from moments."""
    params = {"alpha": 0.01, "random_state": 0, **params}
    return [
        rs.SpanRegressor(rs.Fourier(), k, solver=solver, **params).fit(X, y, sample_weight)
        for solver in ("sketched", peer)
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha", [1e-4, 0.01, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_the_exact_solution(data, dtype, alpha, intercept):
    X, y = data
    passes, exact = pair(X, y, dtype=dtype, alpha=alpha, fit_intercept=intercept, peer="qr")
    assert passes.solution_.converged
    assert passes.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-5)
    scatter = np.std(exact.predict(X))
    np.testing.assert_allclose(passes.predict(X), exact.predict(X), atol=2e-3 * scatter)


def test_weights_and_many_targets(data):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    Y = np.column_stack([y, np.cos(X[:, 0]), 1e6 * X[:, 1]])
    passes, exact = pair(X, Y, weights, dtype="float64")
    np.testing.assert_allclose(
        passes.predict(X) / Y.std(axis=0), exact.predict(X) / Y.std(axis=0), atol=1e-4
    )


def test_fewer_rows_than_functions(data):
    X, y = data
    passes, exact = pair(X[:150], y[:150], k=400, peer="dual", dtype="float64")
    np.testing.assert_allclose(passes.predict(X), exact.predict(X), atol=1e-4)


def test_without_ridge(data):
    """alpha = 0 on features with a condition number of about 1e5."""
    X, y = data
    passes, exact = pair(X, y, k=60, alpha=0, peer="qr")
    assert passes.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-8)


def test_computed_anew_equals_cached(data):
    X, y = data
    cached, _ = pair(X, y, memory_limit="1GB")
    anew = rs.SpanRegressor(
        rs.Fourier(), 200, alpha=0.01, random_state=0, solver="sketched", memory_limit="60MB"
    )
    # Little enough that the features of these rows do not fit.
    X, y = np.tile(X, (30, 1)), np.tile(y, 30)
    cached = cached.fit(X, y)
    anew.fit(X, y)
    assert "computed anew" in anew.solution_.reason
    assert "cached" in cached.solution_.reason
    np.testing.assert_allclose(
        anew.weights_, cached.weights_, atol=1e-6 * np.abs(cached.weights_).max()
    )


def test_sparse_rows(data):
    from scipy import sparse

    X, y = data
    X = np.where(np.abs(X) < 1, 0, X)
    dense, _ = pair(X, y, dtype="float64")
    rows, _ = pair(sparse.csr_matrix(X), y, dtype="float64")
    np.testing.assert_allclose(rows.predict(X), dense.predict(X), atol=1e-5)


def test_alpha_by_held_out_rows():
    """Where the error has one clear minimum, it is that which leave-one-out finds.

    (On normal rows it has two: a few far rows make the difference, and either may be found.)
    """
    apart = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.5, 1.5, size=(3000, 4))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=3000)
        options = {"alpha": "auto", "peer": "eigen", "dtype": "float64"}
        passes, exact = pair(X[:2000], y[:2000], **options)
        apart.append(abs(np.log10(passes.alpha_ / exact.alpha_)))
        assert passes.score(X[2000:], y[2000:]) > exact.score(X[2000:], y[2000:]) - 0.005
    assert np.median(apart) <= 0.25
    assert max(apart) <= 0.5


def test_auto_takes_passes_where_moments_are_dear(data, monkeypatch):
    from randspan import planning

    X, y = data
    model = rs.SpanRegressor(rs.Fourier(), 200, alpha=0.1, random_state=0)
    assert model.fit(X, y).solution_.solver == "cholesky"
    small = model.set_params(memory_limit="2.95MB", n_jobs=1).fit(X[:500], y[:500])
    assert small.solution_.solver == "sketched"
    assert "moments would need" in small.solution_.reason
    monkeypatch.setattr(planning, "MANY_FUNCTIONS", 100)
    monkeypatch.setattr(planning, "MANY_PRODUCTS", 1e6)
    many = model.set_params(memory_limit=None).fit(X, y)
    assert many.solution_.solver == "sketched"
    assert "passes are cheaper" in many.solution_.reason


def test_what_passes_do_not_know_is_refused(data):
    X, y = data
    model, _ = pair(X, y)
    with pytest.raises(ValueError, match=r"return_std=True needs .* 'sketched'"):
        model.predict(X, return_std=True)
    for method in ("leave_one_out", "partial_fit", "forget", "merge"):
        assert not hasattr(model, method)
    # Chosen by itself the solver leaves the methods in place, and they say what is missing.
    model.set_params(solver="auto")
    with pytest.raises(ValueError, match="leave_one_out needs"):
        model.leave_one_out(X, y)
    for call in (model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="'sketched' does not keep"):
            call(X, y)
    assert not hasattr(model, "gcv_error_")


def test_a_warm_start_saves_passes(data):
    """The path ends near where the last fit begins."""
    from randspan.engines.operator import Operator
    from randspan.features import Features
    from randspan.losses import Squared
    from randspan.solvers.iterative import Solver
    from randspan.solvers.problem import Problem
    from randspan.sources import ArraySource

    X, y = data
    frame = rs.Frame.read([X], rs.Fourier(), 200, random_state=0)
    features = Features(frame, frame.functions(), ArraySource(X), np.dtype(np.float64))
    op = Operator(features, np.ones(3000), True, True)
    solver = Solver(op, "sketched", 400)

    def problem(penalty):
        return Problem(op, Squared(), y[:, None], np.ones(3000), penalty, None, True)

    first = solver.minimise(problem(2.2))
    cold, warm = solver.minimise(problem(2.0)), solver.minimise(problem(2.0), first.start)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.point.coef, cold.point.coef, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_a_ridge_that_rounding_hides_is_not_chosen(seed):
    """Four inputs, four times each: whatever alpha held-out rows like, the fit is a minimum."""
    X = np.repeat([[1.0, 3], [2, 1], [3, 3], [4, 1]], 4, axis=0)
    y = np.repeat([1.0, 2, 1, 2], 4)
    model = rs.SpanRegressor(rs.Fourier(), 20, solver="sketched", random_state=seed).fit(X, y)
    assert model.solution_.residual < 1e-4


def test_steps_that_lead_nowhere_leave_a_model_no_worse_than_a_constant(rng):
    """Eight combinations of three columns hardly differ from singular, in float32 altogether."""
    X, y = rng.normal(size=(43, 3)), rng.normal(size=43)
    family = rs.KernelExpansions("linear")
    model = rs.SpanRegressor(family, 8, alpha=1e-12, solver="sketched", random_state=0)
    for seed in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(random_state=seed).fit(X, y)
        assert ((model.predict(X) - y) ** 2).sum() <= 1.001 * ((y - y.mean()) ** 2).sum()
