"""A stream keeps its first rows, and reads its frame anew until there are enough of them."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import randspan as rs
from randspan.estimators import gathered
from randspan.estimators.gathered import AGAIN

pd = pytest.importorskip("pandas")

R, C = rs.SpanRegressor, rs.SpanClassifier
ENOUGH = 600


@pytest.fixture
def few(monkeypatch):
    """A frame stays from few rows on, so that tests are quick."""
    from randspan.estimators import streams

    for module in (gathered, streams):
        monkeypatch.setattr(module, "ENOUGH", ENOUGH)


def rows(n, seed=0):
    """The first ones are all small: no first block tells the scales of the columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1]
    X[:20] *= 0.01
    y = np.sin(2 * X[:, 0]) + X[:, 1] / 10
    return X, y + 0.05 * rng.normal(size=n)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    town = rng.choice(["a", "b", "c", "d"], size=n)
    town[: min(n, 15)] = "a"  # the others come later
    size = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n))
    X = pd.DataFrame({"town": town, "size": size})
    return X, (town == "b") * 2.0 + (town == "c") + np.nan_to_num(size)


def streamed(model, X, y, cuts):
    for part in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X.iloc[part] if hasattr(X, "iloc") else X[part], y[part])
    return model


def model(**settings):
    return R(rs.Fourier(), 40, alpha=1e-3, dtype="float64", random_state=0, **settings)


def same_frame(a, b):
    return a.frame_.same_as(b.frame_)


@pytest.mark.parametrize("first", [20, 150, 700])
def test_errors_of_a_stream_are_those_of_a_fit_whatever_its_first_block(few, first):
    X, y = rows(3000)
    new, truth = rows(1000, seed=1)
    whole = model().fit(X, y)
    stream = streamed(model(), X, y, [first, *range(first + 100, 3000, 400)])

    def error(one):
        return np.mean((one.predict(new[20:]) - truth[20:]) ** 2)

    # A median distance of 600 rows is told to some 5 %, and the error hardly moves with it.
    assert error(stream) < 1.2 * error(whole)
    assert stream.solution_.reason.endswith("rows")


def test_the_frame_is_that_of_a_fit_of_the_rows_it_was_read_from(few):
    X, y = rows(500)
    stream = model().partial_fit(X[:20], y[:20])
    assert same_frame(stream, model().partial_fit(X[:20], y[:20]))
    early = stream.frame_
    stream.partial_fit(X[20:60], y[20:60])
    assert stream.frame_.same_as(early)
    assert stream.solution_.reason.endswith("; frame of 20 rows")
    assert stream._gathered.again == AGAIN * 20
    stream.partial_fit(X[60:90], y[60:90])
    assert same_frame(stream, model().partial_fit(X[:90], y[:90]))
    assert "frame of 90 rows" in stream.solution_.reason


@pytest.mark.parametrize("ask", [True, False])
def test_the_frame_stays_from_enough_rows_on(few, ask):
    X, y = rows(1500)
    stream = model()
    for part in np.split(np.arange(700), 14):
        stream.partial_fit(X[part], y[part])
        if ask:
            stream.predict(X[:3])
    settled = stream.frame_
    assert same_frame(stream, streamed(model(), X[:600], y[:600], range(50, 600, 50)))
    assert stream._gathered is None
    streamed(stream, X[700:], y[700:], [100, 400])
    assert stream.frame_.same_as(settled)
    assert stream.solution_.reason.endswith("; frame of 600 rows")


@pytest.mark.parametrize("cuts", [[20, 80, 90, 320], [1, 2, 5, 100, 390], [250]])
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted", "cells", "trees", "table"])
def test_given_its_frame_a_stream_is_one_fit(few, cuts, kind):
    X, y = table(400) if kind == "table" else rows(400)
    family = {"cells": rs.Bins(gamma=0.5), "trees": rs.Trees()}.get(kind, rs.Fourier())
    weights = np.random.default_rng(2).uniform(0.5, 2, size=400) if kind == "weighted" else None
    X = sparse.csr_array(X) if kind == "sparse" else X
    stream = model(scales=None).set_params(family=family)
    for part in np.split(np.arange(400), cuts):
        some = X.iloc[part] if kind == "table" else X[part]
        stream.partial_fit(some, y[part], None if weights is None else weights[part])
    begun = stream.frame_
    one = R(frame=begun, alpha=1e-3, dtype="float64").fit(X, y, weights)
    if kind != "table":  # target statistics leave out folds of the rows at hand
        np.testing.assert_allclose(stream.predict(X), one.predict(X), rtol=1e-6, atol=1e-7)
    assert np.corrcoef(stream.predict(X), y)[0, 1] > 0.9


def test_levels_that_come_late_are_known(few):
    X, y = table(400)
    stream = model(categories=["town"])
    with pytest.warns(UserWarning, match="levels that the training data had not"):
        streamed(stream, X, y, [15, 30])
    assert len(stream.frame_.columns.encoders[0].levels.names) == 4
    error = np.mean((stream.predict(X) - y) ** 2)
    assert error < 2 * np.mean((model().fit(X, y).predict(X) - y) ** 2) + 1e-3


@pytest.mark.parametrize("tabular", [False, True])
def test_kept_rows_are_forgotten(few, tabular):
    """The frame that is read next is that of a stream which has never seen them."""
    X, y = table(400) if tabular else rows(400)
    some = (lambda part: X.iloc[part]) if tabular else (lambda part: X[part])
    gone, stay = np.arange(40, 90), np.r_[:40, 90:400]
    stream = model().partial_fit(some(slice(0, 90)), y[:90])
    stream.forget(some(gone), y[gone])
    assert len(stream._gathered) == 40
    with pytest.raises(ValueError, match="in the model"):
        stream.forget(some(gone[:9]), y[gone[:9]])
    assert len(stream._gathered) == 40
    stream.partial_fit(some(slice(90, 400)), y[90:])  # 350 rows, of which frames are due at 360
    assert "frame of 90 rows" in stream.solution_.reason
    stream.partial_fit(some(slice(0, 10)), y[:10])
    never = np.r_[stay, :10]
    assert same_frame(stream, model().partial_fit(some(never), y[never]))


def test_after_all_was_forgotten_a_stream_begins_anew(few):
    X, y = rows(200)
    stream = model().partial_fit(X[:20], y[:20]).forget(X[:20], y[:20])
    stream.partial_fit(X[20:60], y[20:60])
    assert same_frame(stream, model().partial_fit(X[20:60], y[20:60]))


@pytest.mark.parametrize("route", ["file", "pickle", "copy"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "table", "classes"])
def test_kept_rows_go_through_files(few, route, kind, tmp_path):
    X, y = table(300) if kind == "table" else rows(300)
    some = (lambda part: X.iloc[part]) if kind == "table" else (lambda part: X[part])
    X = sparse.csr_array(X) if kind == "sparse" else X
    stream = model()
    if kind == "classes":
        y = np.where(y > 0, "more", "less")
        stream = C(rs.Fourier(), 40, class_weight={"more": 2.0, "less": 1.0}, random_state=0)
    stream.partial_fit(some(slice(0, 30)), y[:30])
    if route == "file":
        stream.save(tmp_path / "model.rsp")
        back = rs.load(tmp_path / "model.rsp")
    else:
        back = pickle.loads(pickle.dumps(stream)) if route == "pickle" else copy.deepcopy(stream)
    for one in (stream, back):
        one.partial_fit(some(slice(30, 300)), y[30:])
    assert same_frame(stream, back)
    assert np.array_equal(stream.predict(X), back.predict(X))
    back.save(tmp_path / "lean.rsp", statistics=False)
    assert rs.load(tmp_path / "lean.rsp")._gathered is None


def test_streams_that_keep_their_rows_merge_whatever_their_frames(few):
    X, y = rows(400)
    parts = [slice(0, 150), slice(150, 400)]
    one, two = (model().partial_fit(X[part], y[part]) for part in parts)
    assert not same_frame(one, two)
    settled = R(frame=one.frame_, alpha=1e-3, dtype="float64").fit(X[parts[1]], y[parts[1]])
    both = copy.deepcopy(one).merge(two)  # one frame of all rows
    assert same_frame(both, model().partial_fit(X, y))
    assert "frame of 400 rows" in both.solution_.reason
    again = np.r_[150:400, 150:400]
    whole = R(frame=one.frame_, alpha=1e-3, dtype="float64").fit(X[again], y[again])
    for merged in (copy.deepcopy(two).merge(settled), copy.deepcopy(settled).merge(two)):
        assert merged.frame_.same_as(settled.frame_)
        assert merged._gathered is None
        np.testing.assert_allclose(merged.predict(X), whole.predict(X), rtol=1e-6, atol=1e-7)
    other = R(rs.Stumps(), 40, alpha=1e-3, random_state=0).partial_fit(X, y)
    with pytest.raises(ValueError, match="different frames"):
        one.merge(other)


def test_what_is_kept_has_an_end(monkeypatch):
    monkeypatch.setattr("randspan.estimators.streams.MOST_BYTES", 100 * 3 * 8)
    X, y = rows(300)
    stream = streamed(model(), X[:99], y[:99], [20])
    assert len(stream._gathered) == 99
    stream.partial_fit(X[99:102], y[99:102])
    assert stream._gathered is None
    assert model().partial_fit(X, y)._gathered is None
    assert R(frame=stream.frame_).partial_fit(X, y)._gathered is None


def test_an_error_on_the_way_leaves_rows_and_frame(few, monkeypatch):
    X, y = rows(200)
    stream = model().partial_fit(X[:20], y[:20])
    before, predicted = dict(vars(stream)), stream.predict(X)

    def fails(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("randspan.tuning.width.start", fails)
    with pytest.raises(MemoryError):
        stream.partial_fit(X[20:], y[20:])
    assert dict(vars(stream)) == before
    assert np.array_equal(stream.predict(X), predicted)


def test_functions_that_learn_from_rows_learn_from_those_that_came_later(few):
    X, y = rows(400)
    stream = R(rs.Trees(), 20, random_state=0)
    streamed(stream, X, y, [20, 90])
    assert len(np.unique(stream.predict(X))) > 100  # of 20 rows there are few values


def test_default_streams_keep_the_digits_that_their_ridge_needs():
    """A target without noise has so small a ridge that float32 would drown it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1])
    settings = {"n_components": 300, "random_state": 0}
    stream = R(rs.Fourier("gaussian", gamma=0.2), **settings)
    streamed(stream, X, y, [2000, 4000])
    whole = R(rs.Fourier("gaussian", gamma=0.2), **settings).fit(X, y)
    errors = [np.sqrt(np.mean((one.predict(X) - y) ** 2)) for one in (stream, whole)]
    assert errors[0] < 3 * errors[1] + 1e-6, errors
