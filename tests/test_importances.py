"""Importances of columns are effects on predictions: of every family, wherever its rows are."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

import randspan as rs
from randspan import importances
from randspan.sources import of_arrays
from randspan.statistics.key_sample import MOST, KeySample
from table import FAMILIES

R, C = rs.SpanRegressor, rs.SpanClassifier
D = 5


def table(n, seed=0):
    """Columns of decreasing effect, one that says nothing, one that is constant."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    X[:, 4] = 3.0
    return X, 2 * X[:, 0] + X[:, 1] + 0.4 * X[:, 2] + 0.05 * rng.normal(size=n)


X, y = table(400)


def test_of_linear_functions_they_are_known_in_closed_form():
    """T_j = w_j² Var(x_j): of 1,024 pairs each is known to about √(2/1024)."""
    model = R(rs.Projections(), 20, alpha=1e-8, dtype="float64", random_state=0).fit(X, y)
    squares = np.array([4, 1, 0.16]) * X[:, :3].var(axis=0)
    found = model.feature_importances_
    np.testing.assert_allclose(found[:3], squares / squares.sum(), rtol=5 * np.sqrt(2 / 1024))
    assert found[3] < 1e-4
    assert found[4] == 0
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", [R, C])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_them(name, kind):
    model = kind(FAMILIES[name], 40, random_state=0).fit(X, y if kind is R else y > 0)
    found = model.feature_importances_
    assert found.shape == (D,)
    assert found.sum() == pytest.approx(1)
    assert found[4] == 0
    assert (found >= 0).all()
    if kind is R:
        assert found[0] > found[2:].max()


def test_they_rank_columns_as_permutations_of_new_rows_do():
    """The scales of a kernel do not: a flag is near, and a linear column is far."""
    rng = np.random.default_rng(0)
    linear, flag = rng.normal(size=(2, 1500))
    flag = (flag > 0).astype(float)
    rest = rng.normal(size=(1500, 4))
    X = np.column_stack([linear, flag, rest])
    y = 2 * linear + 0.2 * flag * np.sin(3 * rest[:, 0]) + 0.5 * rest[:, 1] + 0.2 * rest[:, 2] ** 2
    for model in (R(random_state=0), R(rs.Trees(), 50, random_state=0)):
        model.fit(X[:700], y[:700])
        new = permutation_importance(model, X[700:], y[700:], n_repeats=3, random_state=0)
        found = model.feature_importances_
        assert found.argmax() == 0
        assert spearmanr(found, new.importances_mean)[0] >= 0.9


def test_columns_are_selected_by_what_they_do():
    data = load_diabetes(as_frame=True)
    selector = SelectFromModel(R(random_state=0)).fit(data.data, data.target)
    assert "bmi" in selector.get_feature_names_out()


def test_what_one_column_of_a_table_became_is_exchanged_together():
    rng = np.random.default_rng(0)
    place = rng.choice(["a", "b", "c", "d"], size=500)
    numbers = rng.normal(size=500)
    effect = np.select([place == "a", place == "b"], [1.0, -1.0], 0.0)
    frame = pd.DataFrame({"place": place, "x": numbers, "one": 1.0, "none": np.nan})
    frame.loc[::7, "x"] = np.nan
    model = R("fourier", 100, random_state=0).fit(frame, effect + 0.1 * numbers)
    found = model.feature_importances_
    assert model.frame_.n_features > 3
    assert found.shape == (4,)
    assert found[0] > 0.9
    assert not found[2:].any()


@pytest.mark.parametrize("family", [rs.Fourier(gamma=0.3), rs.Bins(gamma=0.3), rs.Trees()])
def test_sparse_rows_have_those_of_dense_ones(family):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.3)
    target = dense[:, 0] + np.abs(dense[:, 1])
    known = [
        R(family, 30, dtype="float64", random_state=0).fit(rows, target).feature_importances_
        for rows in (dense, sparse.csr_matrix(dense))
    ]
    np.testing.assert_allclose(*known, atol=1e-6)


# -- rows come and go ------------------------------------------------------------------------------


def source(rows, weights=None):
    return of_arrays(X[rows], y[rows, None], weights)


def alike(one, other):
    assert one.level == other.level
    for name in ("keys", "counts", "weights", "inputs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_sample_is_that_of_the_set_of_rows(monkeypatch):
    monkeypatch.setattr("randspan.statistics.key_sample.MOST", 64)
    monkeypatch.setattr("randspan.statistics.key_sample.FEWEST", 64)
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.r_[np.arange(300), np.arange(20)])  # some stand there twice
    whole = KeySample.of(source(rows))
    assert 20 < len(whole) <= 64
    parts = [KeySample.of(source(part)) for part in np.array_split(rows, 7)]
    for order in (range(7), rng.permutation(7)):
        joined = parts[order[0]]
        for j in order[1:]:
            joined = joined.plus(parts[j])
        alike(joined, whole)
    more = whole.plus(KeySample.of(source(np.arange(300, 330))))
    left = more.minus(source(np.arange(300, 330)))
    kept = np.isin(whole.keys, left.keys)
    np.testing.assert_array_equal(whole.keys[kept], left.keys)
    np.testing.assert_array_equal(whole.counts[kept], left.counts)


@pytest.mark.parametrize(
    "model",
    [R(rs.Fourier(), 30, random_state=0), R("auto", effort="fast", random_state=0),
     R(rs.Fourier(), np.inf, random_state=0), R(rs.Trees(), 20, random_state=0)],
)  # fmt: skip
def test_streams_have_them_and_nothing_of_rows_that_went(model):
    X, y = table(400)
    X = X[:, :4]
    model.partial_fit(X[:150], y[:150])
    model.partial_fit(X[150:300], y[150:300])
    assert model.feature_importances_.argmax() == 0
    if model.family != "auto":
        both = type(model)(frame=model.frame_).partial_fit(X[300:], y[300:])
        model.merge(both).forget(X[300:], y[300:])
    model.forget(X[150:300], y[150:300])
    assert model.feature_importances_.argmax() == 0
    held = pickle.dumps(model._model.sample)
    assert not any(row.tobytes() in held for row in X[150:300])
    assert all(row.tobytes() in held for row in X[:150])


def test_files_keep_them_or_say_why_not(tmp_path):
    model = R(rs.Fourier(), 30, random_state=0).fit(X, y)
    rs.save(model, tmp_path / "model.rsp")
    again = rs.load(tmp_path / "model.rsp")
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    rs.save(model, tmp_path / "lean.rsp", statistics=False)
    with pytest.raises(AttributeError, match="saved with statistics=False"):
        _ = rs.load(tmp_path / "lean.rsp").feature_importances_
    model.forget(X, y)
    with pytest.raises(AttributeError, match="no rows"):
        _ = model.feature_importances_


def test_they_do_not_change_with_order_copies_or_threads():
    order = np.random.default_rng(0).permutation(400)
    plain = R(rs.Fourier(), 30, dtype="float64", random_state=0).fit(X, y)
    other = R(rs.Fourier(), 30, dtype="float64", random_state=0, n_jobs=1).fit(X[order], y[order])
    found = plain.feature_importances_
    np.testing.assert_allclose(other.feature_importances_, found, rtol=1e-6, atol=1e-9)
    twice = R(frame=plain.frame_, alpha=2 * plain.alpha_, dtype="float64")
    twice.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(twice.feature_importances_, found, rtol=1e-6, atol=1e-9)


def test_the_sample_is_bounded():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(5 * MOST, 2))
    model = R(rs.Fourier(), 10, random_state=0).fit(many, many[:, 0])
    assert MOST / 3 < len(model._model.sample) <= MOST


def test_a_constant_model_gives_none_to_any():
    model = R(rs.Fourier(), 10, random_state=0).fit(X, np.ones(400))
    assert not model.feature_importances_.any()


# -- very many columns -----------------------------------------------------------------------------


def test_of_very_many_columns_the_strongest_groups_are_halved(monkeypatch):
    monkeypatch.setattr(importances, "WORK", 2**22)  # a row of 2,000 columns 16 times
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(300, 2000))
    asked, before = [], importances.scores
    monkeypatch.setattr(
        importances, "scores", lambda *given: asked.append(given[1].n_rows) or before(*given)
    )
    model = R(rs.Projections(scale=1.0), np.inf, alpha=1e3, random_state=0)
    model.fit(wide, 3 * wide[:, 700])
    found = model.feature_importances_
    assert sum(asked) <= 3 * 2**22 / (2000 * 300) * importances.FEWEST_PAIRS + 300
    assert found.sum() == pytest.approx(1)
    assert found[700] == found.max()


def test_scale_shares_are_those_of_learned_scales():
    model = R(rs.Fourier(), 30, scales="learn", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.scale_shares_, model.frame_.importances)
    with pytest.raises(AttributeError, match="scales=None"):
        _ = R(rs.Fourier(), 30, scales=None).fit(X, y).scale_shares_
