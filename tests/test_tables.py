"""Tables as people have them: missing values, categories and dates, of three libraries."""

from __future__ import annotations

import datetime
import decimal
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
from threadpoolctl import threadpool_limits

import randspan as rs
from randspan.keys import fingerprints
from randspan.tables import Columns, of_array, read
from randspan.tables.folds import FOLDS, folds_of
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


HOURS = [datetime.datetime(2024, 6, 1) + datetime.timedelta(hours=5 * i) for i in range(4)]
TICKS, EIGHTHS = pd.Series(HOURS), [decimal.Decimal(i) / 8 for i in range(4)]
ZONES = ["America/New_York", "Asia/Kolkata", "UTC", "Etc/GMT+5", "dateutil/America/New_York"]
ZONED = [datetime.timezone(datetime.timedelta(hours=-5, minutes=-30)), *ZONES]


@pytest.mark.parametrize("zone", ZONED, ids=str)
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_all_time_zones_and_units_are_dates(zone, unit):
    """narwhals does not know pandas' zones whose names hold an underscore."""
    dates = TICKS.where([True, True, False, True]).astype(f"datetime64[{unit}]")
    known = read(pd.DataFrame({"t": dates})).columns[0]
    zoned = read(pd.DataFrame({"t": dates.dt.tz_localize(zone)})).columns[0]
    assert zoned.kind == "date"
    np.testing.assert_array_equal(zoned.values, known.values)


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (pa.array(EIGHTHS, pa.decimal128(10, 3)), "number", np.arange(4) / 8),
        (pa.array(EIGHTHS, pa.decimal256(40, 3)), "number", np.arange(4) / 8),
        (pa.array([2**63, None, 1, 2**60], pa.uint64()), "number", [2.0**63, np.nan, 1, 2.0**60]),
        (pa.array([h.date() for h in HOURS], pa.date64()), "date", None),
        (pa.array(HOURS, pa.timestamp("s", "America/New_York")), "date", None),
        (pa.array(["a", None, "b", "a"]).dictionary_encode(), "category", [0, -1, 1, 0]),
        (pl.Series(EIGHTHS), "number", np.arange(4) / 8),
        (pl.Series(range(4), dtype=pl.Int128), "number", range(4)),
        (pl.Series(HOURS, dtype=pl.Datetime("ms", "America/New_York")), "date", None),
        (pd.Series(pd.arrays.SparseArray([0.0, 1, 2, 3])), "number", range(4)),
        (pd.Series(EIGHTHS, dtype=pd.ArrowDtype(pa.decimal128(10, 3))), "number", np.arange(4) / 8),
    ],
    ids=lambda one: str(getattr(one, "type", getattr(one, "dtype", ""))),
)
def test_types_that_narwhals_has_no_name_for_are_read_too(column, kind, values):
    frame = pa.table({"c": column}) if isinstance(column, pa.Array) else column.to_frame("c")
    found = read(frame).columns[0]
    assert found.kind == kind
    if values is not None:
        np.testing.assert_array_equal(found.values, values)
    R("stumps", 5, random_state=0).fit(frame, np.arange(4.0)).predict(frame)


@pytest.mark.parametrize(
    "levels",
    [EIGHTHS, HOURS, [h.date() for h in HOURS], list(pd.interval_range(0, 4)), [b"a", b"b"] * 2],
    ids=lambda levels: type(levels[0]).__name__,
)
def test_levels_of_any_type_can_be_saved(levels, tmp_path):
    frame = pd.DataFrame({"k": pd.Series(levels * 5, dtype=object)})
    model = R("stumps", 5, categories=["k"], random_state=0).fit(frame, np.arange(len(frame)) % 4)
    model.save(tmp_path / "model.rsp")
    again = rs.load(tmp_path / "model.rsp")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


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
        (pl.DataFrame({"a": [[1], [2]]}), r"'a' holds list \(List"),
        (pl.DataFrame({"a": [b"x", b"y"]}), r"'a' holds bytes \(Binary"),
        (pl.DataFrame({"a": [datetime.time(1)] * 2}), r"'a' holds time"),
        (pa.table({"a": [{"b": 1}] * 2}), "'a' holds dict"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="M")}), "'a' holds Period"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "more than one column named 'a'"),
        (pd.DataFrame([[1, "x"], [3, "y"]], columns=["a", "a"]), "more than one column named 'a'"),
        (pa.table([pa.array([1, 2])] * 2, names=["a", "a"]), "more than one column named 'a'"),
        (pl.DataFrame({"a": [1, 2]}).lazy(), r"polars LazyFrame.*call \.collect\(\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\)"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, np.inf]}), "infinity"),
    ],
)
def test_what_is_no_column_is_refused_by_name(frame, message):
    with pytest.raises(ValueError, match=message):
        R("stumps", 5).fit(frame, [1.0, 2.0])


def test_levels_whose_squares_are_no_numbers_are_names(rng):
    """A column that keeps their order would overflow."""
    frame = pd.DataFrame({"a": rng.integers(0, 5, size=60) * 1e200, "b": rng.normal(size=60)})
    model = rs.SpanRegressor(n_components=5, categories=["a"], random_state=0)
    found = model.fit(frame, frame["b"]).predict(frame)
    names = frame.assign(a=frame["a"].astype(str))
    np.testing.assert_allclose(model.fit(names, frame["b"]).predict(names), found, atol=1e-6)


def test_categories_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match=r"a sequence of names, indices or flags.* got 3\.5"):
        rs.SpanRegressor(categories=3.5).fit(np.ones((9, 2)), np.ones(9))

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


def test_guesses_do_not_depend_on_threads():
    """From a hundred columns on products and inverses had other last digits on two threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 120))
    X[rng.random(X.shape) < 0.05] = np.nan
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(Columns.read([(of_array(X), None, None)]).encode(of_array(X)))
    np.testing.assert_array_equal(*found)


def test_guesses_count_rows_by_their_weight_and_in_no_order():
    rng = np.random.default_rng(0)
    n = 600
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4))
    X[rng.random((n, 4)) < 0.2] = np.nan
    weights = rng.integers(1, 4, n)
    again = rng.permutation(np.repeat(np.arange(n), weights))  # no fewer rows fit in the sample
    weighted = Columns.read([(of_array(X), None, weights.astype(float))])
    repeated = Columns.read([(of_array(X[again]), None, None)])
    table = of_array(X)
    np.testing.assert_array_equal(weighted.encode(table), repeated.encode(table))


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
    folds, m = folds_of(table.keys, False), columns.encoders[0].statistics.strength[0]
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
    folds = folds_of(read(frame).keys, True)
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
    many = {"many": "category"}  # of three rows a level
    model = R("fourier", 30, columns=many, random_state=0, **options).fit(frame, y)
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
    with pytest.raises(ValueError, match="from all blocks at once: hand in a list"):
        rs.Frame.read(iter(blocks), "stumps", 40)
    numbers = rs.Frame.read((b[["flag"]] for b, _ in blocks), "stumps", 40, random_state=0)
    assert numbers.columns is None


# -- the same whatever the threads, the library and the order --------------------------------------


def test_what_is_read_does_not_depend_on_threads_or_order():
    """Products of BLAS had other last digits on two threads, and targets have other folds then."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 40, 11_000)
    frame = pd.DataFrame({"level": [f"L{i}" for i in level], "x": rng.normal(size=len(level))})
    y = (rng.normal(size=40)[level] + rng.normal(size=len(level)))[:, None]
    each, order, table = rng.uniform(size=len(level)), rng.permutation(len(level)), read(frame)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            columns = Columns.read([(table, y, each)])
            found.append(columns.encode(table, True, y, each)[order])
    shuffled = read(frame.iloc[order])
    columns = Columns.read([(shuffled, y[order], each[order])])
    found.append(columns.encode(shuffled, True, y[order], each[order]))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_keys_are_those_of_the_matrix_where_all_are_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (50, 3)) * np.array([1.0, 0.5, 1e9])
    expected = fingerprints(X)
    forms = [
        pd.DataFrame(X),
        pd.DataFrame(X, columns=list("abc")).astype({"a": int, "b": np.float32, "c": "Int64"}),
        as_polars(pd.DataFrame(X, columns=list("abc"))),
        as_arrow(pd.DataFrame(X, columns=list("abc"))),
    ]
    for form in forms:
        np.testing.assert_array_equal(read(form).keys, expected)
    np.testing.assert_array_equal(read(X, [0, 1]).keys, expected)  # categories that are numbers
    np.testing.assert_array_equal(fingerprints(sparse.csr_array(X)), expected)
    flags = pd.DataFrame({"a": [True, False], "b": [0, 1]})
    np.testing.assert_array_equal(read(flags).keys, fingerprints(np.array([[1.0, 0], [0, 1]])))


def test_keys_know_rows_again_in_any_library_and_block():
    frame, _ = mixed(300)
    keys = read(frame).keys
    assert len(np.unique(keys)) == 300
    for other in (as_polars(frame), as_arrow(frame)):
        np.testing.assert_array_equal(read(other).keys, keys)
    np.testing.assert_array_equal(read(frame[::-1]).keys, keys[::-1])
    nothing = frame[frame["few"].isna()]  # a block whose column holds nothing has no type there
    empty = nothing.assign(few=pd.Series([None] * len(nothing), dtype=object, index=nothing.index))
    np.testing.assert_array_equal(read(empty).keys, keys[frame["few"].isna()])
    wide = pd.DataFrame({"id": [2**60, 2**60 + 1]})
    assert len(np.unique(read(wide, ["id"]).keys)) == 2


@pytest.mark.parametrize("classes", [False, True])
def test_repeated_rows_are_not_told_their_own_targets(classes):
    """With every row three times, a level without effect is still seen to have none."""
    rng = np.random.default_rng(0)
    n = 600
    x, y = rng.normal(size=n), rng.normal(size=n)
    y = (y > 0).astype(float) if classes else y
    frame = pd.DataFrame({"level": [f"L{i}" for i in rng.integers(0, 150, n)], "x": x})
    table, again = read(pd.concat([frame] * 3)), np.tile(y, 3)[:, None]
    columns = Columns.read([(table, again, None)])
    # Threefold rows make levels differ by more than chance; what rows are told is of others' noise.
    told = columns.encode(table, True, again)[:, 0]
    assert told.std() > 0
    assert abs(np.corrcoef(told[:n], y)[0, 1]) < 4 / np.sqrt(n)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("again", [1, 3])
def test_levels_that_are_all_there_is_are_told_by_their_other_measurements(classes, again):
    """Ten rows a level, and no other column; each of them three times has nothing to leak by."""
    rng = np.random.default_rng(0)
    level, effects = rng.integers(0, 100, 2000), rng.normal(size=100)
    y = effects[level] + 0.5 * rng.normal(size=2000)
    frame = pd.DataFrame({"level": [f"L{i}" for i in level]})
    y = (y > 0).astype(float) if classes else y
    table, Y = read(pd.concat([frame[:1000]] * again)), np.tile(y[:1000], again)[:, None]
    columns = Columns.read([(table, Y, None)])
    assert columns.copies == (again == 1)
    if again == 1:
        told, new = columns.encode(table, True, Y)[:, 0], columns.encode(read(frame[1000:]))[:, 0]
        mine, others = (np.corrcoef(*pair)[0, 1] for pair in ((told, Y[:, 0]), (new, y[1000:])))
        # A correlation of 1,000 rows has a standard error of 0.03 at most.
        assert abs(mine - others) < 4 * np.sqrt(2) * 0.03
        assert mine > 0.5


def test_rows_of_few_places_are_told_apart_whatever_their_order():
    rng = np.random.default_rng(0)
    n = 3000
    level, weights = rng.integers(0, 40, n), rng.integers(0, 3, n).astype(float)
    frame = pd.DataFrame({"level": [f"L{i}" for i in level]})
    y = (rng.random(n) < rng.uniform(size=40)[level]).astype(float)[:, None]
    order = rng.permutation(n)
    found = []
    for rows in (slice(None), order):
        table, there = read(frame.iloc[rows]), weights[rows] > 0
        columns = Columns.read([(table, y[rows], weights[rows])])
        told = columns.encode(table, True, y[rows], weights[rows])[there, 0]
        fold_of = columns.encode(table.some(there), True, y[rows][there], weights[rows][there])
        np.testing.assert_array_equal(told, fold_of[:, 0])  # rows without weight are not there
        found.append(np.sort(told + 10 * level[rows][there] + 1000 * y[rows][there, 0]))
        assert np.std(told) > 0.1
    np.testing.assert_array_equal(*found)


# -- what comes in another type than in training ---------------------------------------------------


@pytest.mark.parametrize("levels", [5, 20])
def test_levels_are_known_again_as_text_and_as_numbers(levels):
    rng = np.random.default_rng(0)
    k, x = rng.integers(0, levels, 300), rng.normal(size=300)
    y = rng.normal(size=levels)[k] + x
    forms = [
        pd.DataFrame({"k": one, "x": x}) for one in (k, k.astype(str), k.astype(float), list(k))
    ]
    for trained in forms[:2]:
        model = R("stumps", 30, categories=["k"], random_state=0).fit(trained, y)
        for form in forms:
            np.testing.assert_array_equal(model.predict(form), model.predict(trained))
    options = {"categories": ["k"], "dtype": "float64", "alpha": 0.1}
    held = R("stumps", 30, random_state=0, **options).partial_fit(forms[0], y)
    held.forget(forms[1][:100], y[:100])  # by keys
    rest = R(n_components=30, frame=held.frame_, **options)
    rest = rest.partial_fit(forms[2][100:], y[100:])
    np.testing.assert_allclose(held.predict(forms[0]), rest.predict(forms[0]), atol=1e-6)


def test_text_of_numbers_is_read_as_the_numbers_it_was():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    model = R("stumps", 30, random_state=0).fit(frame, frame["a"])
    np.testing.assert_array_equal(model.predict(frame.astype(str)), model.predict(frame))
    with pytest.raises(ValueError, match="'a' was a number in training and is a category"):
        model.predict(frame.assign(a="much"))


def test_no_level_known_is_said():
    columns = Columns.read([(read(pd.DataFrame({"v": ["a"] * 30 + ["b"] * 10})), None, None)])
    with pytest.warns(UserWarning, match="'y', 'z'; not one that it had, such as 'a', 'b'"):
        columns.encode(read(pd.DataFrame({"v": ["y", "z"]})))
    with pytest.warns(UserWarning, match=r"had not \('1'; not one"):
        columns.encode(read(pd.DataFrame({"v": ["1", "1"]})))  # no level is that number


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
