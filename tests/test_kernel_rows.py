"""The exact kernel machine keeps its rows, and streams, forgets and merges through them."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import randspan as rs

TOLERANCE = 1e-9  # relative

FAMILIES = {
    "gaussian": rs.Fourier(),
    "matern": rs.Fourier("matern32"),
    "bins": rs.Bins(),
    "stumps": rs.Stumps("normal"),
    "union": rs.Fourier() + rs.Stumps(),
    "sheets": rs.BrownianSheets(),
}


def data(n=150, seed=0, kind="dense"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.8)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return sparse.csr_array(X) if kind == "sparse" else X, y, rng.uniform(0.5, 2, size=n)


def assert_same(one, other, X):
    """Equal means and standard deviations, relative to the size of predictions."""
    assert one.alpha_ == other.alpha_
    found, expected = one.predict(X, return_std=True), other.predict(X, return_std=True)
    size = np.abs(expected[0]).max()
    for mine, theirs in zip(found, expected, strict=True):
        assert np.abs(mine - theirs).max() <= TOLERANCE * size


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("alpha", ["auto", 0.1])
def test_streams_forget_and_merge_as_one_fit(name, kind, alpha):
    X, y, w = data(kind=kind)
    whole = rs.SpanRegressor(FAMILIES[name], np.inf, alpha=alpha, clip=None, random_state=0)
    whole.fit(X, y, w)
    streamed = rs.SpanRegressor(frame=whole.frame_, alpha=alpha, clip=None)
    for rows in np.split(np.random.default_rng(1).permutation(150), [1, 30, 31, 100]):
        streamed.partial_fit(X[rows], y[rows], w[rows])
    assert streamed.solution_.solver == "kernel"
    assert_same(streamed, whole, X)
    streamed.forget(X[20:60], y[20:60], w[20:60])
    kept = np.r_[0:20, 60:150]
    rest = clone(streamed).fit(X[kept], y[kept], w[kept])
    assert_same(streamed, rest, X)
    if alpha != "auto":  # next to no ridge leaves 1 - h with few digits
        left = streamed.leave_one_out(X[kept], y[kept], w[kept])
        expected = rest.leave_one_out(X[kept], y[kept], w[kept])
        np.testing.assert_allclose(left, expected, atol=1e-9)
    gone = clone(streamed).fit(X[20:60], y[20:60], w[20:60])
    assert_same(streamed.merge(gone), whole, X)


def test_partial_fit_continues_a_fit_and_starts_one():
    X, y, _ = data()
    model = rs.SpanRegressor(n_components=np.inf, random_state=0).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:])
    assert_same(model, clone(model).set_params(frame=model.frame_).fit(X, y), X)
    started = rs.SpanRegressor(n_components=np.inf, random_state=0).partial_fit(X, y)
    assert_same(started, clone(started).fit(X, y), X)


def test_classes_and_several_targets():
    X, y, w = data()
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    whole = rs.SpanClassifier(n_components=np.inf, random_state=0).fit(X, labels, w)
    streamed = rs.SpanClassifier(frame=whole.frame_)
    streamed.partial_fit(X[:5], labels[:5], ["a", "b", "c"], w[:5])
    streamed.partial_fit(X[5:], labels[5:], sample_weight=w[5:])
    np.testing.assert_allclose(
        streamed.decision_function(X), whole.decision_function(X), atol=TOLERANCE
    )
    assert np.array_equal(streamed.predict(X), whole.predict(X))
    Y = np.column_stack([y, 1e6 * y])
    joint = rs.SpanRegressor(n_components=np.inf, random_state=0).fit(X, Y)
    halves = rs.SpanRegressor(frame=joint.frame_).fit(X[:70], Y[:70])
    halves.partial_fit(X[70:], Y[70:])
    np.testing.assert_allclose(halves.predict(X), joint.predict(X), rtol=1e-8)


def test_rows_that_stand_twice_are_forgotten_once():
    X, y, _ = data(60)
    model = rs.SpanRegressor(n_components=np.inf, alpha=0.1, random_state=0).fit(X, y)
    before = model.predict(X)
    model.partial_fit(X[:10], y[:10]).forget(X[:10], y[:10])
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-9)
    with pytest.raises(ValueError, match="10 of 20 rows cannot have been in the model"):
        model.forget(np.vstack([X[:10], X[:10]]), np.append(y[:10], y[:10]))
    with pytest.raises(ValueError, match="1 of 1 rows"):
        model.forget(X[:1], y[:1] + 1)
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-9)


def test_a_pickled_stream_goes_on():
    X, y, _ = data(80)
    model = rs.SpanRegressor(n_components=np.inf, random_state=0).partial_fit(X[:40], y[:40])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[40:], y[40:])
    assert np.array_equal(again.predict(X), model.partial_fit(X[40:], y[40:]).predict(X))


def test_other_losses_boxes_and_solvers_are_refused():
    X, y, _ = data(40)
    for params, message in (
        ({"loss": "huber"}, "finite n_components"),
        ({"bound": 1.0}, "finite n_components"),
        ({"solver": "dual"}, "one solver"),
    ):
        with pytest.raises(ValueError, match=message):
            rs.SpanRegressor(n_components=np.inf, **params).fit(X, y)
    finite = rs.SpanRegressor(n_components=10, random_state=0).fit(X, y)
    machine = rs.SpanRegressor(n_components=np.inf, frame=finite.frame_).fit(X, y)
    with pytest.raises(ValueError, match="different frames"):
        finite.merge(machine)
