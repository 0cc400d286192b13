"""Truncation of predictions."""

import pickle

import numpy as np
import pytest

import randspan as rs


def test_clip_keeps_predictions_within_what_was_seen(rng):
    X = rng.uniform(size=(60, 1))
    Y = np.column_stack([np.sin(9 * X[:, 0]), 5 * X[:, 0] - 9]) + 0.3 * rng.normal(size=(60, 2))
    plain = rs.SpanRegressor(rs.Fourier(), 55, alpha=0, clip=None, random_state=0).fit(X, Y)
    grid = np.linspace(0, 1, 500)[:, None]
    free = plain.predict(grid)
    reach = 0.1 * np.ptp(Y, axis=0)
    lower, upper = Y.min(axis=0) - reach, Y.max(axis=0) + reach
    assert ((free < lower) | (free > upper)).any(axis=0).all()  # there is something to clip
    clipped = rs.SpanRegressor(rs.Fourier(), 55, alpha=0, clip="auto", random_state=0).fit(X, Y)
    np.testing.assert_allclose(clipped.predict(grid), np.clip(free, lower, upper), atol=1e-9)
    clipped.set_params(clip=0.7)
    np.testing.assert_allclose(clipped.predict(grid), np.clip(free, -0.7, 0.7), atol=1e-9)
    left = plain.leave_one_out(X, Y)
    np.testing.assert_allclose(clipped.leave_one_out(X, Y), np.clip(left, -0.7, 0.7), atol=1e-6)
    mean, _ = clipped.predict(grid, return_std=True)
    assert np.abs(mean).max() <= 0.7


def test_clip_follows_streams_merges_and_weights(rng):
    X = rng.uniform(size=(90, 1))
    y = np.linspace(-3, 1, 90)
    weights = np.where(np.arange(90) < 10, 0.0, 1.0)
    model = rs.SpanRegressor(n_components=20, clip="auto", random_state=0).fit(X, y, weights)
    assert model.predict(X).min() >= y[10] - 0.1 * (1 - y[10]) - 1e-12
    assert model._model.extent.ravel().tolist() == [y[10], 1]
    a, b = (rs.SpanRegressor(n_components=20, clip="auto", frame=model.frame_) for _ in range(2))
    a.partial_fit(X[60:], y[60:])
    assert a._model.extent.ravel().tolist() == [y[60], 1]
    a.merge(b.partial_fit(X[:10], y[:10]))
    assert a._model.extent.ravel().tolist() == [-3, 1]


def test_clip_of_a_classifier_leaves_its_decisions_alone(rng):
    X = rng.normal(size=(200, 2))
    y = rng.integers(0, 3, size=200)
    model = rs.SpanClassifier(rs.Fourier(), 150, alpha=1e-6, random_state=0).fit(X, y)
    new = 2 * rng.normal(size=(300, 2))
    expected, scores = model.predict(new), model.decision_function(new)
    model.set_params(clip="auto")
    assert np.array_equal(model.predict(new), expected)
    assert np.array_equal(model.decision_function(new), np.clip(scores, -1, 1))


@pytest.mark.parametrize("clip", [0, -1.0, "all", np.nan, True])
def test_a_clip_that_is_none_is_refused(clip, rng):
    X = rng.uniform(size=(20, 1))
    with pytest.raises(ValueError, match="clip"):
        rs.SpanRegressor(n_components=5, clip=clip).fit(X, X[:, 0])


@pytest.mark.filterwarnings("ignore:.* rows lie far outside")
def test_functions_without_a_bound_extrapolate_unless_asked_not_to(rng):
    X = rng.uniform(size=(60, 1))
    y = 3 * X[:, 0]
    line = rs.SpanRegressor(rs.Projections(), 2, random_state=0).fit(X, y)
    assert line.predict([[3.0]])[0] == pytest.approx(9, abs=0.1)
    assert pickle.loads(pickle.dumps(line)).predict([[3.0]]) == line.predict([[3.0]])
    line.set_params(clip="auto")
    assert line.predict([[3.0]])[0] == pytest.approx(y.max() + 0.1 * np.ptp(y))
    assert pickle.loads(pickle.dumps(line)).predict([[3.0]]) == line.predict([[3.0]])
    wave = rs.SpanRegressor(rs.Fourier(), 20, random_state=0).fit(X, y)
    assert wave.predict(np.linspace(-9, 9, 200)[:, None]).max() <= y.max() + 0.1 * np.ptp(y) + 1e-9


@pytest.mark.parametrize(
    "family",
    [rs.BrownianSheets(), rs.ScrambledWavelets(), rs.BrownianSheets() + rs.Fourier()],
    ids=["sheets", "wavelets", "union"],
)
def test_functions_on_the_cube_are_truncated_by_default(family, rng):
    """Least squares on √n of them swings far beyond the targets; nothing of it extrapolates."""
    x = np.clip(np.concatenate([0.37 + 0.02 * rng.normal(size=90), rng.uniform(size=10)]), 0, 1)
    y = np.sin(40 * np.pi * x) * x + 0.05 * rng.normal(size=100)
    grid = np.linspace(0, 1, 500)[:, None]
    free = rs.SpanRegressor(family, 60, alpha=0, clip=None, random_state=0).fit(x[:, None], y)
    lower, upper = y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)
    beyond = free.predict(grid)
    assert ((beyond < lower) | (beyond > upper)).any()
    model = rs.SpanRegressor(family, 60, alpha=0, random_state=0).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(grid), np.clip(beyond, lower, upper), atol=1e-9)
    grows = rs.SpanRegressor(rs.BrownianSheets() + rs.Projections(), 20, random_state=0)
    assert grows.fit(x[:, None], y)._model.extrapolates
    assert not model._model.extrapolates


def test_truncated_motions_on_peaked_data():
    """Forty motions on a hundred points, nine of ten of them in a peak."""

    def peaked(rng, n):
        peak = rng.random(n) < 0.9
        inside, outside = 0.37 + 0.02 * rng.normal(size=n), rng.uniform(size=n)
        return np.clip(np.where(peak, inside, outside), 0, 1)

    X_test = peaked(np.random.default_rng(10_000), 5_000)
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = peaked(rng, 100)
        y = np.sin(40 * np.pi * x) * x + 0.05 * rng.normal(size=100)
        motions = rs.BrownianSheets(interval=(0, 1))
        model = rs.SpanRegressor(motions, 40, standardize=False, random_state=seed)
        model.fit(x[:, None], y)
        truth = np.sin(40 * np.pi * X_test) * X_test
        errors.append(np.mean((model.predict(X_test[:, None]) - truth) ** 2))
    assert np.mean(errors) <= 0.05
