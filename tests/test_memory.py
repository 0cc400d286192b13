"""The budget of memory: understood, respected, refused where it is too small."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from randspan.engines.memory import available, budget
from randspan.tuning import frames


@pytest.mark.parametrize(
    ("words", "number"),
    [("3GB", 3e9), ("500 MB", 5e8), ("2GiB", 2**31), ("1.5g", 1.5e9), ("1000", 1000), (4096, 4096)],
)
def test_words(words, number):
    assert budget(words) == number


@pytest.mark.parametrize(
    "wrong", ["much", "3 apples", "", -5, 0, np.nan, True, [1], "1.2.3GB", "."]
)
def test_wrong_words(wrong):
    with pytest.raises(ValueError, match="memory_limit must be"):
        rs.SpanRegressor(memory_limit=wrong).fit(np.eye(4), np.arange(4.0))


def test_half_of_what_is_there():
    assert 0 < budget(None) <= available() * 0.6


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_small_budget_computes_features_anew(loss, rng):
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    build = {"loss": loss, "alpha": 0.1, "random_state": 0, "n_jobs": 1}
    ample = rs.SpanClassifier(rs.Fourier(), 400, memory_limit="1GB", **build).fit(X, y)
    tight = rs.SpanClassifier(rs.Fourier(), 400, memory_limit="32MB", **build).fit(X, y)
    assert "features cached" in ample.solution_.reason
    assert "computed anew" in tight.solution_.reason
    assert tight.solution_.objective == pytest.approx(ample.solution_.objective, rel=2e-6)


def test_too_small_a_budget_says_what_is_needed(rng):
    X, y = rng.normal(size=(3000, 3)), rng.normal(size=3000)
    with pytest.raises(MemoryError, match=r"memory_limit='100KB' grants .* need at least .* GB"):
        rs.SpanRegressor(rs.Fourier(), 300, loss="absolute", alpha=1.0, memory_limit="100KB").fit(
            X, y
        )


@pytest.mark.parametrize("alpha", ["auto", 0.1])
def test_the_peak_stays_inside(alpha, rng):
    """What numpy allocates during a fit, by its own account, is within the budget."""
    import tracemalloc

    X = rng.normal(size=(45_000, 5))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=45_000)
    granted = 170e6
    model = rs.SpanRegressor(
        rs.Fourier(), 1000, alpha=alpha, solver="sketched", memory_limit=granted, random_state=0
    )
    model.fit(X[:2000], y[:2000])
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "computed anew" in model.solution_.reason
    assert peak <= granted


def traced(model, X, y, warm):
    """The peak of a fit, by numpy's own account; ``warm`` rows are fitted before."""
    import tracemalloc

    clone(model).set_params(memory_limit=None).fit(X[warm], y[warm])
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


SHARE = 1.15
MODELS = {
    "wide": (rs.SpanRegressor(rs.Fourier(), 20, alpha=1.0), 100, 20_000, 0),
    "wide, alpha by rows left out": (rs.SpanRegressor(rs.Fourier(), 20), 100, 20_000, 0),
    "wide kernel machine": (rs.SpanRegressor(rs.Fourier("matern32"), np.inf), 60, 20_000, 0),
    "trees of many classes": (rs.SpanClassifier(rs.Trees(), 8), 400, 3, 40),
    "learned scales": (rs.SpanRegressor(rs.Fourier(), 50, scales="learn"), 1_000, 20, 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_peak_is_that_of_the_plan(name, rng):
    model, rows, columns, classes = MODELS[name]
    X = rng.normal(size=(rows, columns))
    y = np.arange(rows) % classes if classes else X[:, 0]
    model = clone(model).set_params(n_jobs=1, random_state=0)
    peak = traced(model, X, y, np.arange(0, rows, 4) if classes else np.arange(30))
    assert peak <= SHARE * model.solution_.plan.nbytes


def test_ridges_that_are_all_alike_keep_the_weights_of_one(rng):
    """Pure noise: held-out errors hardly depend on alpha, and all ridges are near the best."""
    X, y = rng.normal(size=(2_100, 3)), rng.normal(size=2_100)
    model = rs.SpanRegressor(rs.Trees(output="leaves"), 20, n_jobs=1, random_state=0)
    peak = traced(model, X, y, np.arange(30))
    assert model.validation_.kind == "heldout"
    assert peak <= model.solution_.plan.nbytes


def test_sparse_rows_stay_within_the_plan(rng):
    X = sparse.random_array((300, 20_000), density=0.002, format="csr", rng=rng)
    model = rs.SpanRegressor(rs.Fourier(), 100, alpha=1.0, n_jobs=1, random_state=0)
    peak = traced(model, X, rng.normal(size=300), np.arange(30))
    assert peak <= SHARE * model.solution_.plan.nbytes


def test_functions_are_doubled_within_the_limit(rng):
    X = rng.normal(size=(9_000, 3))
    y = np.sin(3 * X).sum(axis=1)
    model = rs.SpanRegressor(
        rs.Fourier(gamma=1.0), alpha=1.0, n_jobs=1, random_state=0, memory_limit="22MB"
    )
    assert traced(model, X, y, np.arange(30)) <= SHARE * 22e6
    assert model.solution_.plan.nbytes <= 22e6
    assert model.solution_.plan.statistics == "moments"


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        (rs.SpanRegressor("auto", memory_limit="20MB"), "family='auto' of 4000 rows"),
        (rs.SpanRegressor(rs.Trees(), memory_limit="10MB"), "4000 rows"),
        (rs.SpanRegressor(scales="learn", memory_limit="10MB"), "learning scales of 5 columns"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(model, needed, rng, monkeypatch):
    X = rng.normal(size=(4_000, 5))
    monkeypatch.setattr(frames, "reading_of", None)  # the first thing that is done
    with pytest.raises(MemoryError, match=f"grants 0.0. GB; {needed}.* needs? at least"):
        model.fit(X, X[:, 0])


def test_equal_scales_where_there_is_no_memory_to_learn_others(rng):
    X = rng.normal(size=(9_000, 5))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    model = rs.SpanRegressor(memory_limit="26MB", n_jobs=1, random_state=0).fit(X, y)
    assert model.frame_.importances is None


def test_a_portfolio_says_what_it_takes():
    ample = rs.SpanRegressor("auto", memory_limit="8GB", n_jobs=1).plan_for(8_000, 10)
    tight = rs.SpanRegressor("auto", memory_limit="150MB", n_jobs=1).plan_for(8_000, 10)
    assert tight.nbytes <= 150e6 < ample.nbytes


@pytest.mark.parametrize(
    ("build", "limit"),
    [
        # Features for three thousand rows in passes would fit in, sums of the squared loss do not.
        (rs.SpanRegressor(loss="huber"), "4MB"),
        (rs.SpanRegressor(rs.Fourier(), loss="absolute"), "4MB"),
    ],
)
def test_questions_of_a_sample_are_refused_before_any_work(build, limit, rng, monkeypatch):
    X = rng.normal(size=(3000, 10))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=3000)
    monkeypatch.setattr(frames, "obtained", lambda *_, **__: pytest.fail("work was begun"))
    with pytest.raises(MemoryError, match=r"need at least .* GB"):
        clone(build).set_params(memory_limit=limit, random_state=0).fit(X, y)


def test_where_memory_is_short_precision_is_single(rng):
    """It was refused after all questions, for sums in float64."""
    X = rng.normal(size=(9000, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]  # no noise: a tiny ridge
    model = rs.SpanRegressor(memory_limit="16MB", random_state=0, n_jobs=1).fit(X, y)
    assert model.score(X[:500], y[:500]) > 0.1
