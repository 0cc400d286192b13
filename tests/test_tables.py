"""Tables as people have them: missing values, categories and dates, of three libraries."""

from __future__ import annotations

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

import randspan as rs
from randspan.tables import Columns, of_array, read
from randspan.tables.folds import FOLDS, folds_of, keys_of
from randspan.tables.statistics import TargetStatistics

R, C = rs.SpanRegressor, rs.SpanClassifier
FAMILIES = [
    rs.Fourier(),
    rs.Bins(),
    rs.Stumps(),
    rs.Units(),
    rs.Bumps(),
    rs.Projections(),
    rs.KernelExpansions(),
    rs.Networks(),
    rs.Trees(),
    rs.BrownianSheets(),
    rs.ScrambledWavelets(),
    rs.Fourier() + rs.Trees(),
]


def mixed(n: int = 400, levels: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with holes, few levels with holes, many levels, a flag and a date."""
    rng = np.random.default_rng(seed)
    x, few = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    many, flag = rng.integers(0, levels, n), rng.random(n) < 0.5
    hours = rng.integers(0, 24 * 800, n)
    date = pd.Timestamp("2021-03-01") + pd.to_timedelta(hours, unit="h")
    effects = np.random.default_rng(99).normal(size=levels)
    y = x + 2 * (few == "red") + effects[many] + flag + np.sin(2 * np.pi * hours / 24)
    y += 0.1 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.2, np.nan, x),
            "few": pd.Series(few).where(rng.random(n) < 0.9, None),
            "many": [f"level {i}" for i in many],
            "flag": flag,
            "date": date,
        }
    )
    return frame, y


def as_polars(frame):
    return pl.from_pandas(frame)


def as_arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


# -- what is in a column ---------------------------------------------------------------------------


@pytest.mark.parametrize("other", [as_polars, as_arrow])
def test_libraries_give_the_same_bits(other):
    frame, y = mixed()
    known = R("stumps", 50, random_state=0).fit(frame, y)
    theirs = R("stumps", 50, random_state=0).fit(other(frame), y)
    np.testing.assert_array_equal(known.predict(frame), theirs.predict(other(frame)))
    np.testing.assert_array_equal(known.predict(frame), known.predict(other(frame)))
    assert known.frame_.same_as(theirs.frame_)
    assert list(theirs.feature_names_in_) == list(frame.columns)


def kinds(frame, categories=None) -> list[str]:
    return [column.kind for column in read(frame, categories).columns]


def test_kinds_come_from_types():
    n = 4
    frame = pd.DataFrame(
        {
            "int": range(n),
            "float32": np.arange(n, dtype=np.float32),
            "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
            "bool": [True, False] * 2,
            "maybe": pd.array([True, None, False, True], dtype="boolean"),
            "objects": pd.Series([1, 2.5, None, True], dtype=object),
            "string": list("abca"),
            "words": pd.Series(["a", None, "b", "c"], dtype=object),
            "category": pd.Categorical([1, 2, 1, 2]),
            "date": pd.date_range("2020", periods=n),
            "zone": pd.date_range("2020", periods=n, tz="Europe/Rome"),
            "day": pd.Series([datetime.date(2020, 1, 1 + i) for i in range(n)], dtype=object),
            "span": pd.to_timedelta(range(n), unit="s"),
            "none": pd.Series([None] * n, dtype=object),
        }
    )
    expected = ["number"] * 6 + ["category"] * 3 + ["date"] * 3 + ["number", "nothing"]
    assert kinds(frame) == expected
    polars = pl.DataFrame(
        {
            "number": [1, None],
            "decimal": pl.Series(["1.5", "2.5"]).cast(pl.Decimal(10, 2)),
            "string": ["a", None],
            "categorical": pl.Series(["a", "b"], dtype=pl.Categorical),
            "enum": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
            "date": [datetime.date(2020, 1, 1), None],
            "time": [datetime.datetime(2020, 1, 1), None],
            "span": [datetime.timedelta(hours=1), None],
            "null": [None, None],
        }
    )
    assert kinds(polars) == [
        *("number", "number", "category", "category", "category"),
        *("date", "date", "number", "nothing"),
    ]


def test_what_clocks_show_is_what_counts():
    naive = pd.Series(pd.date_range("2024-06-01 05:00", periods=3, freq="h"))
    zoned = naive.dt.tz_localize("Asia/Tokyo")
    rows = [read(pd.DataFrame({"t": one})).columns[0].values for one in (naive, zoned)]
    np.testing.assert_array_equal(*rows)
    listed = pd.DataFrame({"t": pd.Series(list(naive.dt.to_pydatetime()), dtype=object)})
    np.testing.assert_array_equal(read(listed).columns[0].values, rows[0])
    assert rows[0][0] == pd.Timestamp("2024-06-01 05:00").timestamp()


def test_missing_is_missing_however_it_is_written():
    values = [1.0, None, 3.0]
    frames = [
        pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", None, "y"]}),
        pd.DataFrame({"a": pd.array([1, pd.NA, 3], "Int64"),
                      "b": pd.array(["x", pd.NA, "y"], "string")}),
        pd.DataFrame({"a": pd.Series([1.0, pd.NA, 3.0], dtype=object),
                      "b": pd.Series(["x", np.nan, "y"], dtype=object)}),
        pd.DataFrame({"a": values, "b": pd.Categorical(["x", None, "y"])}),
        pl.DataFrame({"a": values, "b": ["x", None, "y"]}),
        pl.DataFrame({"a": [1.0, float("nan"), 3.0], "b": ["x", None, "y"]}),
        pa.table({"a": values, "b": ["x", None, "y"]}),
    ]  # fmt: skip
    for frame in frames:
        number, category = read(frame).columns
        np.testing.assert_array_equal(number.values, [1, np.nan, 3])
        assert category.values.tolist() == [0, -1, 1]
        assert category.levels == ("x", "y")


def test_categories_by_name_index_and_flag():
    X = np.array([[1.0, 5], [2, 7], [1, 5], [np.nan, 7]])
    for categories in ([0], [-2], [True, False], 0, np.array([True, False])):
        assert kinds(X, categories) == ["category", "number"]
    frame = pd.DataFrame(X, columns=["a", "b"])
    for categories in (["a"], "a", [0]):
        assert kinds(frame, categories) == ["category", "number"]
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (200, 2)).astype(float), rng.normal(size=200)
    models = [
        R("stumps", 30, random_state=0, categories=c).fit(rows, y)
        for c, rows in (([0], X), (["a"], pd.DataFrame(X, columns=["a", "b"])), ([0], X.tolist()))
    ]
    for model in models:
        rows = pd.DataFrame(X, columns=["a", "b"]) if hasattr(model, "feature_names_in_") else X
        np.testing.assert_array_equal(model.predict(rows), models[0].predict(X))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "'a' holds int and str"),
        (
            pd.DataFrame({"a": [datetime.timedelta(1), datetime.date(2020, 1, 1)]}, dtype=object),
            "durations into numbers",
        ),
        (pl.DataFrame({"a": [[1], [2]]}), "'a' holds List"),
        (pl.DataFrame({"a": [b"x", b"y"]}), "'a' holds Binary"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, np.inf]}), "infinity"),
    ],
)
def test_what_is_no_column_is_refused_by_name(frame, message):
    with pytest.raises(ValueError, match=message):
        R("stumps", 5).fit(frame, [1.0, 2.0])


def test_categories_that_are_not_there_are_refused():
    X, y = np.zeros((5, 2)), np.arange(5.0)
    for categories, message in (([2], "no column of X"), (["z"], "no column"), ([True], "1 flags")):
        with pytest.raises(ValueError, match=message):
            R("stumps", 5, categories=categories).fit(X, y)
    with pytest.raises(ValueError, match="X is sparse"):
        R("stumps", 5, categories=[0]).fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="have no hash"):
        R("stumps", 5, categories=["a"]).fit(pl.DataFrame({"a": [[1], [2], [3]]}), y[:3])


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_every_family_takes_tables(family):
    frame, y = mixed(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = R(family, 20, random_state=0).fit(frame, y)
        assert np.isfinite(model.predict(frame)).all()
        labels = C(family, 20, random_state=0).fit(frame, y > np.median(y)).predict(frame)
    assert set(labels) <= {True, False}


def test_the_mean_and_a_flag_stand_for_what_is_missing():
    X = np.array([[1.0], [np.nan], [5]])
    encoded = Columns.read([(of_array(X), None, None)]).encode(of_array(X))
    np.testing.assert_allclose(encoded, [[1, 0], [3, 1], [5, 0]])


def test_known_numbers_say_what_is_missing():
    """The mean of a normal law, given those of its coordinates that are known."""
    rng = np.random.default_rng(0)
    root = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [-0.5, 0.3, 0.7]])
    X = 3 + 2 * rng.normal(size=(4000, 3)) @ root.T
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    known = Columns.read([(of_array(holes), None, None)])
    found = known.encode(of_array(holes))[:, ::2]
    covariance, missing = 4 * root @ root.T, np.isnan(holes)
    for row in np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))[:50]:
        m, o = missing[row], ~missing[row]
        best = 3 + covariance[np.ix_(m, o)] @ np.linalg.solve(
            covariance[np.ix_(o, o)], X[row, o] - 3
        )
        # A sample of 2,000 rows: standard errors of 0.02 to 0.05 a unit of distance.
        np.testing.assert_allclose(found[row, m], best, atol=0.6)
    away = (found - X)[missing]
    assert away.std() < 0.75 * (X.mean(axis=0) - X)[missing].std()


def test_guesses_stay_within_the_range_and_do_not_depend_on_order():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000) ** 3
    X = np.column_stack([x, 2 * x + rng.normal(size=3000)])
    X[::3, 1] = np.nan
    one, other = (Columns.read([(of_array(rows), None, None)]) for rows in (X, X[::-1]))
    found = one.encode(of_array(X))
    np.testing.assert_allclose(found, other.encode(of_array(X)))
    assert found[:, 1].max() <= np.nanmax(X[:, 1])
    assert found[:, 1].min() >= np.nanmin(X[:, 1])


def test_holes_that_training_had_not_are_the_mean_with_one_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(2.0, 1.0, size=(100, 3)), rng.normal(size=100)
    for options in ({}, {"standardize": False}, {"standardize": "robust"}):
        model = R("stumps", 30, random_state=0, **options).fit(X, y)
        holes = X.copy()
        holes[::7, 1] = np.nan
        with pytest.warns(UserWarning, match="missing values, of which") as caught:
            found = model.predict(holes)
        assert len(caught) == 1
        filled = np.where(np.isnan(holes), X.mean(axis=0), holes)
        np.testing.assert_allclose(found, model.predict(filled))


def test_a_column_of_nothing_says_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    holes = np.column_stack([X, np.full(80, np.nan)])
    plain, more = (R("fourier", 40, random_state=0).fit(rows, y) for rows in (X, holes))
    assert more.frame_.scale[2] == 0
    assert np.isfinite(more.predict(holes)).all()
    assert plain.frame_.columns is None


@pytest.mark.parametrize("family", ["fourier", rs.Trees(), rs.Bins()], ids=repr)
def test_holes_that_tell_the_target_are_worth_an_indicator(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = X[:, 0] + 0.2 * rng.normal(size=1200)
    high = y > 1
    holes, told = X.copy(), np.column_stack([X[:, 0], np.where(high, 0, X[:, 1]), high, X[:, 2]])
    holes[high, 1] = np.nan

    def squares(rows):
        models = (R(family, 100, random_state=seed).fit(rows[:600], y[:600]) for seed in range(5))
        return np.array([(model.predict(rows[600:]) - y[600:]) ** 2 for model in models])

    # Of five draws each: by test rows, and by draws, as far as either is known to differ.
    away = squares(holes) - squares(told)
    by_rows = away.mean(axis=0).std() / np.sqrt(600)
    by_draws = away.mean(axis=1).std(ddof=1) / np.sqrt(5)
    assert away.mean() <= 2.5 * np.hypot(by_rows, by_draws)


def test_sparse_holes_and_infinities_are_refused():
    X, y = np.eye(6), np.arange(6.0)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN, and is sparse"):
        R("fourier", 5).fit(sparse.csr_array(X), y)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        R("fourier", 5).fit(X, y)


# -- categories ------------------------------------------------------------------------------------


def test_few_levels_are_one_hot_and_rare_ones_share_a_column():
    names = ["a"] * 10 + ["b"] * 10 + ["c"] * 2 + ["d"] * 1 + [None] * 8
    columns = Columns.read([(read(pd.DataFrame({"v": names})), None, None)])
    assert columns.parts == ["v = a", "v = b", "v = missing", "v = rare"]
    new = read(pd.DataFrame({"v": ["a", "d", None, "unheard of"]}))
    with pytest.warns(UserWarning, match="levels that the training data had not"):
        encoded = columns.encode(new)
    np.testing.assert_array_equal(encoded, np.eye(4)[[0, 3, 2, 3]])


def test_unknown_levels_are_the_mean_where_none_is_rare():
    columns = Columns.read([(read(pd.DataFrame({"v": ["a"] * 30 + ["b"] * 10})), None, None)])
    with pytest.warns(UserWarning, match="levels that the training data had not"):
        encoded = columns.encode(read(pd.DataFrame({"v": ["z"]})))
    np.testing.assert_allclose(encoded, [[0.75, 0.25]])


def levels_with_effect(n, levels, effect, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, levels, n)
    y = effect * rng.normal(size=levels)[level] + rng.normal(size=n)
    return pd.DataFrame({"level": [f"L{i}" for i in level], "x": rng.normal(size=n)}), y


def test_many_levels_are_told_by_targets_of_other_folds():
    frame, y = levels_with_effect(3000, 100, 1.0)
    table, Y = read(frame), y[:, None]
    columns = Columns.read([(table, Y, None)])
    assert columns.parts == ["target of level", "x"]
    folds, m = folds_of(keys_of(table), False), columns.encoders[0].statistics.strength[0]
    found = columns.encode(table, training=True)[:, 0]
    for row in range(0, 3000, 300):
        others = (frame["level"] == frame["level"][row]) & (folds != folds[row])
        expected = (y[others].sum() + m * y.mean()) / (others.sum() + m)
        assert found[row] == pytest.approx(expected)
        all_rows = frame["level"] == frame["level"][row]
        new = columns.encode(table)[row, 0]
        assert new == pytest.approx((y[all_rows].sum() + m * y.mean()) / (all_rows.sum() + m))
    with pytest.warns(UserWarning, match="had not"):
        unknown = columns.encode(read(pd.DataFrame({"level": ["?"], "x": [0.0]})))
    assert unknown[0, 0] == pytest.approx(y.mean())


def test_the_prior_is_as_strong_as_the_ratio_of_variances():
    # σ²/τ² = 4; the deviation of its logarithm over draws of 300 levels is about 0.11.
    found = []
    for seed in range(20):
        frame, y = levels_with_effect(6000, 300, 0.5, seed)
        columns = Columns.read([(read(frame), y[:, None], None)])
        found.append(columns.encoders[0].statistics.strength[0])
    logs = np.log(np.array(found) / 4)
    assert abs(logs.mean()) < 4 * logs.std(ddof=1) / np.sqrt(20)
    assert logs.std(ddof=1) < 0.2


def test_levels_without_effect_say_nothing():
    silent = 0
    for seed in range(20):
        frame, y = levels_with_effect(2000, 200, 0.0, seed)
        columns = Columns.read([(read(frame), y[:, None], None)])
        silent += np.isinf(columns.encoders[0].statistics.strength[0])
    assert silent >= 17  # beyond two standard errors with a chance of 2.5 % each


def test_noise_does_not_leak():
    """A category without effect lowers neither the estimate nor the error."""
    rng = np.random.default_rng(0)
    n = 1500
    x = rng.normal(size=(2 * n, 2))
    y = x[:, 0] + rng.normal(size=2 * n)
    frame = pd.DataFrame(x, columns=["a", "b"])
    more = frame.assign(noise=[f"L{i}" for i in rng.integers(0, 300, 2 * n)])
    for target, kind in ((y, R), (np.where(y > 0, "up", "down"), C)):
        plain, told = (
            kind("fourier", 200, random_state=0).fit(rows[:n], target[:n]) for rows in (frame, more)
        )
        doubt = plain.validation_.standard_error
        assert told.validation_.error > plain.validation_.error - doubt


def test_effects_of_many_levels_are_learned_and_the_estimate_is_honest():
    frame, y = levels_with_effect(6000, 150, 1.5)
    train, test = slice(0, 3000), slice(3000, 6000)
    # The same effects, known up to the noise that the rows of a level leave, shrunk as is best.
    rng = np.random.default_rng(0)
    level = rng.integers(0, 150, 6000)
    effects, count = 1.5 * rng.normal(size=150), np.bincount(level[train], minlength=150)
    noisy = effects + np.random.default_rng(1).normal(size=150) / np.sqrt(count)
    told = frame.assign(level=(noisy * 1.5**2 / (1.5**2 + 1 / count))[level])
    for family in ("fourier", rs.Trees(), rs.Bins()):
        model, other = (
            R(family, 100, random_state=0).fit(rows[train], y[train]) for rows in (frame, told)
        )
        squares = (model.predict(frame[test]) - y[test]) ** 2
        away = squares - (other.predict(told[test]) - y[test]) ** 2
        # Two per cent of the deviation are four of its square.
        doubt = away.std() / np.sqrt(3000)
        assert away.mean() < 0.04 * (squares - away).mean() + 2.5 * doubt
        doubt = np.hypot(squares.std() / np.sqrt(3000), model.validation_.standard_error)
        assert abs(model.validation_.error - squares.mean()) < 3 * doubt


def test_rows_that_repeat_each_other_are_still_told_apart():
    """With nothing but a category most rows are copies."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 80, 4000)
    y = rng.normal(size=80)[level] + 0.3 * rng.normal(size=4000)
    frame = pd.DataFrame({"level": [f"L{i}" for i in level]})
    model = R("stumps", 100, random_state=0).fit(frame[:2000], y[:2000])
    assert model.frame_.columns.copies
    assert np.mean((model.predict(frame[2000:]) - y[2000:]) ** 2) < 0.2
    folds = folds_of(keys_of(read(frame)), True)
    assert np.bincount(folds[level == 3], minlength=FOLDS).max() < (level == 3).sum() / 2


def test_classes_have_a_column_each():
    frame, y = levels_with_effect(1500, 100, 2.0)
    labels = np.digitize(y, [-1, 1])
    model = C("stumps", 50, random_state=0).fit(frame, labels)
    assert model.frame_.columns.parts[:3] == [f"target of level {i}" for i in range(3)]
    two = C("stumps", 50, random_state=0).fit(frame, y > 0)
    assert two.frame_.columns.parts == ["target of level", "x"]


def test_weights_count_as_rows():
    rng = np.random.default_rng(0)
    sums, weights = rng.normal(size=(5, FOLDS, 1)), rng.integers(1, 4, (5, FOLDS)).astype(float)
    statistics = TargetStatistics.of(weights, sums, np.array([400.0]), np.zeros(1))
    frame, y = levels_with_effect(400, 50, 1.0)
    each = np.random.default_rng(1).integers(0, 3, 400).astype(float)
    table, again = read(frame), np.repeat(np.arange(400), each.astype(int))
    weighted = Columns.read([(table, y[:, None], each)])
    repeated = Columns.read([(read(frame.iloc[again]), y[again, None], None)], copies=False)
    present = read(frame.iloc[np.unique(again)])
    np.testing.assert_allclose(weighted.encode(present), repeated.encode(present))
    assert np.isfinite(statistics(np.arange(6), None)).all()


# -- dates -----------------------------------------------------------------------------------------


def test_dates_are_days_and_places_in_periods_that_they_span():
    def parts(dates):
        return Columns.read([(read(pd.DataFrame({"t": dates})), None, None)]).parts

    assert parts(pd.date_range("2020-01-01", periods=5)) == ["t"]
    week = [f"t {what} of week" for what in ("sin", "cos")]
    assert parts(pd.date_range("2020-01-01", periods=20)) == ["t", *week]
    hours = parts(pd.date_range("2020-01-01", periods=30, freq="h"))
    assert hours == ["t", "t sin of day", "t cos of day"]
    assert len(parts(pd.date_range("2020-01-01", periods=900, freq="30h"))) == 9


def test_a_daily_wave_is_learned_from_dates():
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 24 * 365, 2000)
    y = np.sin(2 * np.pi * hours / 24) + 0.1 * rng.normal(size=2000)
    frame = pd.DataFrame({"t": pd.Timestamp("2021-01-01") + pd.to_timedelta(hours, unit="h")})
    frame.loc[::50, "t"] = pd.NaT
    model = R("fourier", 300, random_state=0).fit(frame[:1000], y[:1000])
    there = frame["t"][1000:].notna().to_numpy()
    assert np.mean((model.predict(frame[1000:]) - y[1000:])[there] ** 2) < 0.05


# -- exactness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [R, C])
def test_any_split_of_a_table_is_one_fit(kind):
    frame, y = mixed(500)
    y = y if kind is R else np.where(y > np.median(y), "high", "low")
    whole = kind("fourier", 60, alpha=1.0, dtype="float64", random_state=0).fit(frame, y)

    def started():
        return kind(n_components=60, alpha=1.0, dtype="float64", frame=whole.frame_)

    def scores(model):
        return model.predict(frame) if kind is R else model.decision_function(frame)

    classes = {} if kind is R else {"classes": np.unique(y)}
    parts = started()
    for begin in range(0, 500, 130):
        some = slice(begin, begin + 130)
        parts.partial_fit(frame[some], y[some], **(classes if begin == 0 else {}))
    np.testing.assert_allclose(scores(parts), scores(whole), rtol=1e-7, atol=1e-7)
    one = started().partial_fit(frame[:200], y[:200], **classes)
    two = started().partial_fit(frame[200:], y[200:], **classes)
    np.testing.assert_allclose(scores(one.merge(two)), scores(whole), rtol=1e-7, atol=1e-7)
    less = started().partial_fit(frame[:300], y[:300], **classes)
    np.testing.assert_allclose(
        scores(whole.forget(frame[300:], y[300:])), scores(less), rtol=1e-6, atol=1e-6
    )


def test_leave_one_out_of_a_table_is_refitting():
    frame, y = mixed(120, levels=40)
    options = {"alpha": 0.5, "dtype": "float64", "clip": None}
    model = R("fourier", 30, random_state=0, **options).fit(frame, y)
    left = model.leave_one_out(frame, y)
    for row in (0, 17, 63):
        rest = np.arange(120) != row
        again = R(n_components=30, frame=model.frame_, **options).fit(frame[rest], y[rest])
        # The row itself as training rows are encoded: its own fold left out.
        X = model.frame_.encoded(read(frame), training=True)
        Z = again._model.functions.values(again.frame_.rows(X[row : row + 1], np.float64))
        assert Z @ again.weights_ + again.intercept_ == pytest.approx(left[row], rel=1e-6)


def test_frames_are_read_from_blocks_of_tables():
    frame, y = mixed(600)
    whole = R("stumps", 40, random_state=0).fit(frame, y).frame_
    blocks = [(frame[i : i + 200], y[i : i + 200]) for i in range(0, 600, 200)]
    read_in_blocks = rs.Frame.read(blocks, "stumps", 40, random_state=0)
    np.testing.assert_allclose(read_in_blocks.centre, whole.centre, atol=1e-9)
    np.testing.assert_allclose(read_in_blocks.scale, whole.scale)
    assert read_in_blocks.columns.parts == whole.columns.parts
    with pytest.raises(ValueError, match="read once only: hand in a list"):
        rs.Frame.read(iter(blocks), "stumps", 40)
    numbers = rs.Frame.read((b[["flag"]] for b, _ in blocks), "stumps", 40, random_state=0)
    assert numbers.columns is None


# -- scikit-learn's contract -----------------------------------------------------------------------


def test_columns_are_told_by_name():
    frame, y = mixed(200)
    model = R("stumps", 20, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="many"):
        model.predict(frame.drop(columns="many"))
    with pytest.raises(ValueError, match="extra"):
        model.predict(frame.assign(extra=1))
    with pytest.raises(ValueError, match="'x' was a number in training and is a category"):
        model.predict(frame.assign(x="word"))


def test_scales_of_a_category_are_one_group():
    frame, y = mixed(800)
    model = R("fourier", 100, scales="learn", random_state=0).fit(frame, y)
    columns = model.frame_.columns
    for group in np.unique(columns.groups):
        here = columns.groups == group
        learned = model.frame_.scale[here]
        if here.sum() > 1 and not np.isnan(columns.units[here]).any():
            np.testing.assert_allclose(learned, learned[0])
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    scaled = R("fourier", 20, scales=[1, 2, 3, 4, 5], random_state=0).fit(frame, y).frame_
    plain = R("fourier", 20, scales=None, random_state=0).fit(frame, y).frame_
    np.testing.assert_allclose(scaled.scale, plain.scale * (1 + columns.places))


def test_the_frame_shows_its_columns():
    frame, y = mixed(300)
    shown = repr(R("stumps", 20, random_state=0).fit(frame, y).frame_)
    for text in ("few", "category", "missing", "level", "date", "prior of"):
        assert text in shown
    many = R("stumps", 5).fit(np.random.default_rng(0).normal(size=(30, 40)), np.arange(30.0))
    assert "and 20 more columns" in repr(many.frame_)


def test_transformers_and_pipelines():
    frame, y = mixed(300)
    features = rs.SpanTransformer("stumps", 15, random_state=0)
    told = features.fit_transform(frame, y)
    assert told.shape == (300, 15)
    assert not np.array_equal(told, features.transform(frame))  # rows were not told their targets
    assert len(features.get_feature_names_out()) == 15
    untold = rs.SpanTransformer("stumps", 15, random_state=0).fit(frame)
    assert any("rare" in part or "=" in part for part in untold.frame_.columns.parts)
    both = make_column_transformer(
        (rs.SpanTransformer("stumps", 5), ["x", "few"]), ("passthrough", ["flag"])
    )
    model = make_pipeline(both, R("fourier", 20, random_state=0)).fit(frame, y)
    assert np.isfinite(model.predict(frame)).all()
    model = clone(R("stumps", 20, random_state=0, categories=["flag"])).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(model.functions_(frame).shape, (300, 20))
