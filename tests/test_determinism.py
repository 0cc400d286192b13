"""The same seed gives the same model: bit for bit in a rerun, to rounding with other threads.

`benchmarks.determinism` has every kind of estimator, rows and size; here is a quick form of it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import randspan as rs
from randspan.features import Features
from randspan.statistics.together import Together
from table import FAMILIES, FLOAT64, PRECISIONS, plain


def data(n=6000, d=8):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


def fit(family="fourier", rows=6000, **params):
    X, y = data(rows)
    # Cells, functions that learn and sums of many products take longer, and 30 are as good a test.
    slow = family in ("bins", "trees") or getattr(family, "sparse", False)
    slow = slow or getattr(family, "grows", False) or getattr(family, "on_cube", False)
    return rs.SpanRegressor(family, 30 if slow else 150, random_state=0, **params).fit(X, y)


@pytest.mark.parametrize("solver", ["eigen", "cholesky"])
def test_a_small_ridge_does_not_enlarge_what_the_order_of_rows_rounds(solver, rng):
    """Rounding errors of Z'Z are 6e-7 beside the ridge; an orthogonal factor has none of them."""
    X = rng.normal(size=(3_000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))
    weights, order = rng.uniform(0.5, 2, size=len(X)), rng.permutation(len(X))
    params = {"alpha": 1e-7, "dtype": "float64", "standardize": False, "random_state": 0}

    def predicted(solver, rows):
        model = rs.SpanRegressor(rs.Fourier(gamma=0.05), 60, solver=solver, **params)
        model.fit(X[rows], y[rows], sample_weight=weights[rows])
        assert model.solution_.solver == solver
        return model.predict(X[:200])

    there, back = predicted(solver, np.arange(len(X))), predicted(solver, order)
    np.testing.assert_allclose(there, back, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there, predicted("qr", order), rtol=0, atol=2e-9)


@pytest.mark.parametrize(("name", "dtype"), PRECISIONS)
def test_a_rerun_is_bit_identical(name, dtype, monkeypatch):
    """With several blocks for every thread; where precisions are the same, in the other one."""
    monkeypatch.setattr(Features, "block_rows", 600)
    X, _ = data(2100)
    a = fit(FAMILIES[name], len(X), dtype=dtype)
    b = fit(FAMILIES[name], len(X), dtype="float64" if name in FLOAT64 else dtype)
    assert np.array_equal(plain(a.functions_(X[:50])), plain(b.functions_(X[:50])))
    assert np.array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize(
    ("family", "dtype", "tolerance"),
    [
        *((family, "float64", 1e-6) for family in ("fourier", "stumps", "units", "bins", "trees")),
        *((family, "float32", 1e-3) for family in ("fourier", "stumps", "units")),
    ],
)
def test_threads_and_blocks_change_only_rounding(family, dtype, tolerance, monkeypatch):
    """The figure for float32 is printed; the documentation quotes it."""
    X, _ = data()
    reference = fit(family, dtype=dtype).predict(X)
    scale = np.abs(reference).max()
    worst = 0.0
    for n_jobs in (1, 2, 3, -1):
        other = fit(family, dtype=dtype, n_jobs=n_jobs).predict(X)
        worst = max(worst, np.abs(other - reference).max() / scale)
    for step in (300, 999, 6000):
        monkeypatch.setattr(Features, "block_rows", step)
        other = fit(family, dtype=dtype).predict(X)
        worst = max(worst, np.abs(other - reference).max() / scale)
    print(f"{family} {dtype}: largest relative difference {worst:.1e}")
    assert worst < tolerance


def test_draws_do_not_see_threads_or_blocks(monkeypatch):
    reference = fit(rs.Fourier(sampling="orthogonal"), n_jobs=1).functions_.frequencies
    monkeypatch.setattr(Features, "block_rows", 300)
    for n_jobs in (1, 2):
        other = fit(rs.Fourier(sampling="orthogonal"), n_jobs=n_jobs).functions_.frequencies
        assert np.array_equal(other, reference)


def test_a_few_rows_are_predicted_alike_alone_and_together():
    X, _ = data()
    model = fit()
    together = model.predict(X[:200])
    alone = np.array([model.predict(X[i : i + 1])[0] for i in range(200)])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-12)


def as_table(X):
    """Holes, a category of 40 levels that is known by its targets, and one of five."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    ranks = np.argsort(np.argsort(X[:, 0])) * 40 // len(X)
    frame = frame.mask(frame.abs() > 1.5)
    return frame.assign(many=[f"level {i}" for i in ranks], few=(ranks % 5).astype(str))


FORMS = {
    "dense": np.asarray,
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) < 0.7, 0.0, X)),
    "table": as_table,
}
# More rows than a sample of the frame holds for some, fewer for others.
KINDS = {
    "fourier": (rs.Fourier(), 5000),
    "stumps by quantiles": (rs.Stumps("quantile"), 1000),
    "bumps": (rs.Bumps(), 1000),
    "expansions": (rs.KernelExpansions(coefficients="nystrom"), 1000),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_neither_threads_nor_the_order_of_rows_change_a_model(kind, form):
    family, n = KINDS[kind]
    X, y = data(n + 100)
    X, new = (FORMS[form](X)[rows] for rows in (slice(n), slice(n, None)))
    y, order = y[:n], np.random.default_rng(0).permutation(n)
    found = []
    for threads, rows in ((1, slice(None)), (2, slice(None)), (1, order)):
        with threadpool_limits(threads):
            some = X.iloc[rows] if form == "table" else X[rows]
            options = {"dtype": "float64", "n_jobs": threads, "random_state": 0}
            model = rs.SpanRegressor(family, 60, **options).fit(some, y[rows])
            found.append((model, model.predict(new)))
    (known, scores), *others = found
    for model, other in others:
        assert model.frame_.same_as(known.frame_)
        assert model.alpha_ == pytest.approx(known.alpha_, rel=1e-9)
        assert np.abs(other - scores).max() < 1e-9 * np.abs(scores).max()


def test_what_scales_are_learned_from_does_not_depend_on_the_order_of_rows():
    """Rows of equal inputs are one row of their mean target there."""
    rng = np.random.default_rng(0)
    keys, order = rng.integers(0, 400, 2000).astype(np.uint64), rng.permutation(2000)
    Y, each = rng.normal(size=(2000, 2)), rng.integers(0, 3, 2000) / 7
    one, other = (Together.of(keys[r], Y[r], each[r]) for r in (slice(None), order))
    mine, theirs = np.argsort(one.keys), np.argsort(other.keys)
    for name in ("keys", "weights", "targets", "scatter"):
        found = [getattr(a, name)[at] for a, at in ((one, mine), (other, theirs))]
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_fits_in_passes_repeat_themselves(loss, rng):
    """Bit for bit with the same threads; to the solver's residual with others, or without cache."""
    X = rng.normal(size=(9000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    solver = "sketched" if loss == "squared" else "auto"

    def fit(**params):
        build = {"loss": loss, "solver": solver, "alpha": 0.1, "random_state": 0, **params}
        return rs.SpanClassifier(rs.Fourier(), 350, **build).fit(X, y)

    first = fit()
    np.testing.assert_array_equal(fit().weights_, first.weights_)
    for other in (fit(n_jobs=1), fit(memory_limit="70MB", n_jobs=1)):
        assert other.solution_.objective == pytest.approx(first.solution_.objective, rel=3e-6)
        scores = first.decision_function(X)
        np.testing.assert_allclose(other.decision_function(X), scores, atol=0.02)
