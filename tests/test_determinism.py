"""The same seed gives the same model: bit for bit in a rerun, to rounding with other threads."""

import numpy as np
import pytest

import randspan as rs
from randspan.features import Features
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


def blocks_of(step):
    return lambda self: [slice(s, min(s + step, len(self))) for s in range(0, len(self), step)]


@pytest.mark.parametrize(("name", "dtype"), PRECISIONS)
def test_a_rerun_is_bit_identical(name, dtype, monkeypatch):
    """With several blocks for every thread; where precisions are the same, in the other one."""
    monkeypatch.setattr(Features, "blocks", blocks_of(600))
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
        monkeypatch.setattr(Features, "blocks", blocks_of(step))
        other = fit(family, dtype=dtype).predict(X)
        worst = max(worst, np.abs(other - reference).max() / scale)
    print(f"{family} {dtype}: largest relative difference {worst:.1e}")
    assert worst < tolerance


def test_draws_do_not_see_threads_or_blocks(monkeypatch):
    reference = fit(rs.Fourier(sampling="orthogonal"), n_jobs=1).functions_.frequencies
    monkeypatch.setattr(Features, "blocks", blocks_of(300))
    for n_jobs in (1, 2):
        other = fit(rs.Fourier(sampling="orthogonal"), n_jobs=n_jobs).functions_.frequencies
        assert np.array_equal(other, reference)


def test_a_few_rows_are_predicted_alike_alone_and_together():
    X, _ = data()
    model = fit()
    together = model.predict(X[:200])
    alone = np.array([model.predict(X[i : i + 1])[0] for i in range(200)])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-12)


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
