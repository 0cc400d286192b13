"""The budget of memory: understood, respected, refused where it is too small."""

import numpy as np
import pytest

import randspan as rs
from randspan.engines.memory import available, budget


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
    tight = rs.SpanClassifier(rs.Fourier(), 400, memory_limit="28MB", **build).fit(X, y)
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
