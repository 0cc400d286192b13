"""Text that is something else: amounts, percentages, flags, dates, and names of rows."""

from __future__ import annotations

import pickle
import time
import tracemalloc
import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from benchmarks import messy
from sklearn.base import clone

import randspan as rs
from randspan.tables import Columns, read
from randspan.tables.amounts import Amounts, Flags
from randspan.tables.dates import Dates
from randspan.tables.encoders import Identifier, OneHot, Targets
from randspan.tables.recognition import form_of

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer


def frame_of(texts, name="a"):
    return pd.DataFrame({name: pd.Series(list(texts), dtype=object)})


def form(texts, columns=None):
    return form_of(list(read(frame_of(texts), columns=columns).columns))


def quietly(call):
    """What a call gives that warns of nothing but columns that are read otherwise."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Column ", UserWarning)
        return call()


def read_columns(frame, y=None, columns=None, weights=None):
    y = None if y is None else np.asarray(y, dtype=np.float64).reshape(len(frame), -1)
    return quietly(lambda: Columns.read([(read(frame, columns=columns), y, weights)]))


def encoder(texts, y=None):
    return read_columns(frame_of(texts), y).encoders[0]


# -- forms -----------------------------------------------------------------------------------------

NUMBERS = {
    "currency": (["€1,164.65", "€12.50", "€1,000,000.00"], [1164.65, 12.5, 1e6]),
    "code": (["USD 1,000", "USD 5.5", "usd 7"], [1000, 5.5, 7]),
    "behind": (["12,50 kr", "1 200,00 kr.", "7 kr"], [12.5, 1200, 7]),
    "some without": (["$5", "7", "$1,200"], [5, 7, 1200]),
    "percent": (["32%", "5.5 %", "%100"], [0.32, 0.055, 1]),
    "decimal comma": (["1.234,5", "12,25", "999"], [1234.5, 12.25, 999]),
    "comma thousands": (["1,234", "999", "12,345"], [1234, 999, 12345]),
    "comma decimals": (["1,234", "5000", "0,125"], [1.234, 5000, 0.125]),
    "point thousands": (["1.234 €", "999 €", "12.345 €"], [1234, 999, 12345]),
    "point decimals": (["1.234 €", "5000 €", "12.5 €"], [1.234, 5000, 12.5]),
    "spaces": (["1 234,5", "1\u202f234\u00a0567,5", "2,5"], [1234.5, 1234567.5, 2.5]),
    "apostrophes": (["CHF 1'234.50", "CHF 12.-", "CHF 3’000"], [1234.5, 12, 3000]),
    "parentheses": (["(1,200.00)", "5.00", "($7.50)"], [-1200, 5, -7.5]),
    "trailing minus": (["1,164.65-", "5.00", "-3.00"], [-1164.65, 5, -3]),
    "minus signs": (["−5,3", "4,2", "- 1,5"], [-5.3, 4.2, -1.5]),
    "lakh": (["₹12,34,567", "₹1,000", "₹10"], [1234567, 1000, 10]),
    "flags": (["yes", "No", "Y", "FALSE", "true"], [1, 0, 1, 0, 1]),
}


@pytest.mark.parametrize(("texts", "values"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_as_they_are_written(texts, values):
    found = form(texts * 4)
    np.testing.assert_allclose([found(text) for text in texts], values, rtol=1e-15)
    assert form(texts[::-1] * 4) == found  # in any order


DATES = {
    "iso": ["2024-08-18", "2024-02-01", "2024-12-31"],
    "slashes": ["2024/08/18", "2024/2/1", "2024/12/31"],
    "compact": ["20240818", "20240201", "20241231"],
    "day first": ["18/08/2024", "01/02/2024", "31/12/2024"],
    "month first": ["08/18/2024", "02/01/2024", "12/31/2024"],
    "points": ["18.08.2024", "1.2.2024", "31.12.2024"],
    "short": ["18/08/24", "01/02/24", "31/12/24"],
    "name": ["Aug 18, 2024", "February 1st, 2024", "Dec 31, 2024"],
    "day, name": ["18 August 2024", "1-Feb-2024", "31 dec 24"],
    "weekday": ["Sunday, 18 Aug 2024", "Thu, 1 Feb 2024", "Tue 31 Dec 2024"],
    "time": ["2024-08-18T00:00:00Z", "2024-02-01 00:00", "2024-12-31 00:00:00+02:00"],
    "half": ["8/18/2024 12:00 AM", "2/1/2024 12:00 am", "12/31/2024 12:00 a.m."],
}


@pytest.mark.parametrize("texts", DATES.values(), ids=DATES)
def test_dates_are_read_as_they_are_written(texts):
    expected = [pd.Timestamp(day).timestamp() for day in ("2024-08-18", "2024-02-01", "2024-12-31")]
    found = form(texts)
    assert isinstance(found, Dates)
    assert not found.undecided
    assert [found(text) for text in texts] == expected


def test_times_of_day_are_read():
    found = form(["8/18/2024 1:45 PM", "8/19/2024 12:10:30 pm"])
    times = ["2024-08-18 13:45:00", "2024-08-19 12:10:30"]
    expected = [pd.Timestamp(time).timestamp() for time in times]
    assert [found(t) for t in ("8/18/2024 1:45 PM", "8/19/2024 12:10:30 pm")] == expected


def test_the_order_of_dates_is_that_of_the_column():
    assert form(["01/02/2024", "18/02/2024"]) == Dates("day")
    assert form(["01/02/2024", "02/18/2024"]) == Dates("month")
    months = [f"01/{month:02d}/{year}" for year in (2020, 2021) for month in range(1, 13)]
    assert form(months) == Dates("day")
    assert form([f"{m:02d}/01/{y}" for y in (2020, 2021) for m in range(1, 13)]) == Dates("month")
    assert form(["01/02/2024", "03/04/2024"]) == Dates("day", undecided=True)
    with pytest.warns(UserWarning, match=r"'a' is read as dates, day first \(month first fits"):
        Columns.read([(read(frame_of(["01/02/2024", "03/04/2024"] * 5)), None, None)])


NAMES = {
    "words": ["red", "green", "blue"],
    "codes": ["007", "012", "A13"],
    "postcodes": [f"{i:05d}" for i in range(100)],
    "cards": [str(4_000_000_000_000_000 + 7 * i) for i in range(40)],
    "shops": [f"shop {i}" for i in range(40)],
    "versions": ["1.2.3", "1.10.2", "2.0.0"] * 5,
    "addresses": [f"192.168.1.{i}" for i in range(40)],
    "phones": ["555-1234", "555-9999"] * 4,
    "letters": ["t", "n", "f"],
    "sexes": ["m", "f"],
    "ranges": ["10-20", "20-30"] * 4,
    "grades": ["A+", "B-", "C"],
    "two currencies": ["$5", "€6"] * 20,
    "half in percent": ["5%", "7"] * 20,
    "few whole numbers": ["1", "2", "3"] * 20,
    "whole numbers again": [str(i % 30) for i in range(600)],
    "yes, no and perhaps": ["yes", "no", "perhaps"] * 20,
    "nothing": ["", "NA", "-"],
    "no days": ["2024-13-45", "2024-99-01"] * 4,
}


@pytest.mark.parametrize("texts", NAMES.values(), ids=NAMES)
def test_names_stay_names(texts):
    assert form(texts) is None


def test_long_texts_are_looked_at_quickly():
    start = time.process_time()
    for text in ("5" + 10_000 * " " + "x", "1 " * 5_000 + "x", "(" * 10_000, "1," * 10_000):
        assert form([text] * 3) is None
    assert form(["1" + 10_000 * " " + "234,5", "1,5"]) == Amounts(",")
    assert time.process_time() - start < 1


def test_whole_numbers_that_do_not_come_again_are_numbers():
    assert form([str(i) for i in range(100)]) == Amounts()
    assert form([str(i // 2) for i in range(100)]) == Amounts()
    assert form([f"{i}.5" for i in range(30)]) == Amounts()


def test_what_is_none_of_them_is_missing_where_nearly_all_are():
    prices = [f"${i}.50" for i in range(60)]
    frame = frame_of([*prices, "", "N/A", " ", "on request"])
    table = read(frame)
    with pytest.warns(UserWarning, match="'a' is read as amounts in \\$, and text that is none as"):
        columns = Columns.read([(table, None, None)])
    found = columns.encode(table)
    np.testing.assert_array_equal(found[:, 1], [0] * 60 + [1] * 4)
    np.testing.assert_allclose(found[:60, 0], np.arange(60) + 0.5)
    assert form([*prices, *["on request"] * 5]) is None  # one in thirteen
    # In training some text was none, so that there may be more of it; without, it is refused.
    assert columns.encode(read(frame_of(["what you like"])))[0, 1] == 1
    strict = read_columns(frame_of(prices))
    with pytest.raises(ValueError, match=r"'a' was a number in training.*'what you like'"):
        strict.encode(read(frame_of(["what you like"])))


def test_blocks_are_read_in_one_form():
    """The second block tells how the first one is to be read; a block of numbers is one of them."""
    blocks = [frame_of(["01/02/2024", "03/04/2024"] * 5), frame_of(["01/18/2024"] * 10)]
    frame = quietly(lambda: rs.Frame.read(blocks, "stumps", 5))
    assert frame.columns.encoders[0].form == Dates("month")
    blocks = [frame_of(["$1,000", "$20"]), pd.DataFrame({"a": [1000.0, 20.0]})]
    frame = quietly(lambda: rs.Frame.read(blocks, "stumps", 5))
    assert frame.columns.encoders[0].mean == 510


@pytest.mark.parametrize("to", [pl.from_pandas, pa.Table.from_pandas])
def test_libraries_agree(to):
    X, _, y = messy.tables(150, 0)
    X, y = X.assign(comment=X["comment"].fillna("none")), np.round(y, 3)
    one, other = (
        quietly(lambda t=t: R("stumps", 20, random_state=0).fit(t, y)) for t in (X, to(X))
    )
    np.testing.assert_array_equal(one.predict(X), other.predict(to(X)))


# -- what comes later ------------------------------------------------------------------------------


def test_rows_to_predict_are_read_as_in_training():
    rng = np.random.default_rng(0)
    price, days = rng.uniform(1, 3000, 200).round(2), rng.integers(0, 900, 200)
    date = pd.Timestamp("2022-01-01") + pd.to_timedelta(days, unit="D")
    numbers = pd.DataFrame({"price": price, "date": date})
    y = price / 1000 + days / 300
    iso = numbers.assign(date=date.strftime("%Y-%m-%d"))
    text = iso.assign(price=[f"${v:,.2f}" for v in price])
    comma = [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in price]
    german = pd.DataFrame({"price": comma, "date": date.strftime("%d.%m.%Y")})
    model = R("stumps", 30, random_state=0).fit(numbers, y)
    for other in (iso, text, text.astype({"price": "string"})):
        np.testing.assert_array_equal(model.predict(other), model.predict(numbers))
    with pytest.raises(ValueError, match="'date' was a date in training and is a category now"):
        model.predict(german.assign(price=price))  # which number is the day nobody can tell
    model = quietly(lambda: R("stumps", 30, random_state=0).fit(german, y))
    for other in (german, iso, numbers, german[:1]):
        np.testing.assert_array_equal(model.predict(other), model.predict(numbers)[: len(other)])
    with pytest.raises(ValueError, match=r"'price' was a number in training.*'5 %'"):
        model.predict(german.assign(price="5 %"))


def test_numbers_for_percentages_are_refused():
    frame = frame_of([f"{i}%" for i in range(50)])
    model = quietly(lambda: R("stumps", 20, random_state=0).fit(frame, np.arange(50.0)))
    with pytest.raises(
        ValueError, match=r"'a' was text of percentages.* could be shares or percent"
    ):
        model.predict(pd.DataFrame({"a": [0.5]}))
    assert np.isfinite(model.predict(frame_of(["5 %", "17.5%"]))).all()


def test_flags_are_known_as_flags_and_numbers():
    frame = frame_of(["yes", "No", "Y", "n"] * 20)
    y = np.array([1.0, 0, 1, 0] * 20)
    model = quietly(lambda: R("stumps", 20, random_state=0).fit(frame, y))
    assert model.frame_.columns.encoders[0].form == Flags()
    expected = model.predict(frame)
    for other in ([True, False, True, False] * 20, [1, 0, 1, 0] * 20):
        np.testing.assert_array_equal(model.predict(pd.DataFrame({"a": other})), expected)


def test_rows_come_and_go_as_text_and_as_numbers():
    X, _, y = messy.tables(500, 1)
    start = {"alpha": 1.0, "dtype": "float64"}
    whole = quietly(lambda: R("fourier", 30, random_state=0, **start).fit(X[:300], y[:300]))
    parts = R(n_components=30, frame=whole.frame_, **start)
    for begin in range(0, 300, 100):
        parts.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-8)
    less = R(n_components=30, frame=whole.frame_, **start).partial_fit(X[:200], y[:200])
    whole.forget(X[200:300], y[200:300])
    np.testing.assert_allclose(whole.predict(X), less.predict(X), atol=1e-7)
    new = X[300:].assign(customer="nobody", comment="never heard of", uuid=None)
    assert np.isfinite(less.predict(new)).all()


# -- names of rows ---------------------------------------------------------------------------------


def unique_names(n):
    return [str(uuid.UUID(int=(i + 1) * 2**90 + 12345 * i)) for i in range(n)]


@pytest.mark.parametrize("family", ["stumps", rs.Trees(), "fourier"], ids=str)
@pytest.mark.parametrize("kind", [R, C])
def test_rows_are_what_they_would_be_without_their_names(family, kind):
    rng = np.random.default_rng(0)
    n = 300
    many = rng.integers(0, 25, n)
    X = pd.DataFrame({"x": rng.normal(size=n), "many": [f"L{i}" for i in many]})
    y = X["x"].to_numpy() + rng.normal(size=25)[many]
    y = y if kind is R else y > 0
    more = X.assign(id=unique_names(n))
    plain = kind(family, 20, random_state=0).fit(X[:200], y[:200])
    with pytest.warns(
        UserWarning, match=r"'id' is left out as an identifier \(200 levels"
    ) as caught:
        model = kind(family, 20, random_state=0).fit(more[:200], y[:200])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.predict(more[200:]), plain.predict(X[200:]))
    assert "identifier" in repr(model.frame_)


@pytest.mark.parametrize("each", [1, 2, 3])
def test_rare_levels_without_effect_are_names(each):
    rng = np.random.default_rng(each)
    left = 0
    for _ in range(20):
        level = rng.permutation(np.repeat(np.arange(600 // each), each))
        frame = pd.DataFrame({"id": [f"u{i}x" for i in level], "x": rng.normal(size=600)})
        left += isinstance(read_columns(frame, rng.normal(size=600)).encoders[0], Identifier)
    assert left >= 17  # beyond two standard errors with a chance of 2.5 % each
    if each > 1:  # with an effect they are told by their targets
        y = rng.normal(size=600)[level] + 0.5 * rng.normal(size=600)
        assert isinstance(read_columns(frame, y).encoders[0], Targets)


@pytest.mark.parametrize("groups", [6, 40])
def test_names_that_begin_with_a_group_are_told_by_it(groups):
    rng = np.random.default_rng(0)
    group = rng.integers(0, groups, 1200)
    effects = rng.normal(size=groups)
    initials = [f"{chr(65 + i % 26)}{chr(65 + i // 26)}-" for i in range(groups)]
    names = [f"{initials[g]}{i:05d}" for i, g in enumerate(group)]
    frame = pd.DataFrame({"id": names, "x": rng.normal(size=1200)})
    y = effects[group] + 0.3 * rng.normal(size=1200)
    with pytest.warns(UserWarning, match="'id' is grouped by what its levels begin with"):
        model = R("fourier", 60, random_state=0).fit(frame[:600], y[:600])
    told = frame.assign(id=[initials[g] for g in group])
    plain = R("fourier", 60, random_state=0).fit(told[:600], y[:600])
    np.testing.assert_array_equal(model.predict(frame[600:]), plain.predict(told[600:]))
    without = read_columns(frame, rng.normal(size=1200))
    assert isinstance(without.encoders[0], Identifier)


def test_copies_of_rows_do_not_make_names_tell():
    """Every row three times, names included: targets of a level agree, by themselves."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": unique_names(200), "x": rng.normal(size=200)})
    again = pd.concat([frame] * 3)
    y = np.tile(rng.normal(size=200), 3)
    assert isinstance(read_columns(again, y).encoders[0], Identifier)


def test_common_levels_beside_names_remain():
    rng = np.random.default_rng(0)
    n = 400
    common = rng.random(n)
    texts = np.where(common < 0.2, "none", unique_names(n)).astype(object)
    texts[common > 0.8] = None
    frame = pd.DataFrame({"x": rng.normal(size=n), "comment": texts})
    y = (common < 0.2) + 2.0 * (common > 0.8) + 0.1 * rng.normal(size=n)
    columns = read_columns(frame, y)
    assert columns.parts == ["x", "comment = none", "comment = missing", "comment = rare"]
    told = frame.assign(comment=np.where(common < 0.2, "a", np.where(common > 0.8, None, "b")))
    np.testing.assert_array_equal(columns.encode(read(frame))[:, 1:].sum(axis=1), 1)
    model = quietly(lambda: R("stumps", 60, random_state=0).fit(frame[:200], y[:200]))
    plain = R("stumps", 60, random_state=0).fit(told[:200], y[:200])
    new = frame[200:].assign(comment=frame["comment"][200:].str.replace("-", "+"))
    errors = [
        np.mean((m.predict(X) - y[200:]) ** 2) for m, X in ((model, new), (plain, told[200:]))
    ]
    assert errors[0] < 1.1 * errors[1]  # and none of the new comments is warned of


def test_names_are_left_out_of_what_is_equal():
    """Rows that are equal but for their names are left out together."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=100), 2)
    frame = pd.DataFrame({"id": unique_names(200), "x": x})
    y = np.repeat(rng.normal(size=100), 2)
    model = quietly(lambda: R("fourier", random_state=0).fit(frame, y))
    assert model.validation_.error > 0.5 * y.var()


def test_a_table_of_names_alone_is_a_constant():
    frame = frame_of(unique_names(50))
    y = np.arange(50.0)
    for kind in (R, C):
        labels = y if kind is R else y > 20
        model = quietly(lambda k=kind, t=labels: k("stumps", 5, random_state=0).fit(frame, t))
        assert len(set(model.predict(frame))) == 1
    assert quietly(lambda: T("stumps", 5, random_state=0).fit(frame)).transform(frame).shape == (
        50,
        5,
    )


def test_few_rows_and_few_levels_are_no_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": list("abcdefgh"), "x": rng.normal(size=8)})
    assert isinstance(Columns.read([(read(frame), None, None)]).encoders[0], OneHot)


def test_fifty_thousand_names_cost_little():
    rng = np.random.default_rng(0)
    n = 50_000
    plain = pd.DataFrame({"x": rng.normal(size=n), "k": rng.choice(list("abc"), n)})
    more = plain.assign(id=unique_names(n))
    y = plain["x"].to_numpy()[:, None]

    def seconds(frame):
        start = time.process_time()
        read_columns(frame, y)
        return time.process_time() - start

    assert seconds(more) - seconds(plain) < 2  # half a second on a machine at rest
    tracemalloc.start()
    columns = read_columns(more[:5_000], y[:5_000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e7  # a column for every name would take 200 MB
    assert columns.width == 4
    assert len(pickle.dumps(columns)) < 10_000


# -- columns= --------------------------------------------------------------------------------------


def test_columns_say_what_a_column_is():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "price": [f"${i}" for i in rng.integers(0, 4, n)],
            "day": 20240101 + rng.integers(0, 28, n),
            "id": unique_names(n),
            "code": rng.integers(0, 4, n),
            "size": [f"{i}" for i in rng.integers(0, 5, n)],
        }
    )
    y = rng.normal(size=n)
    columns = {
        "price": "category",
        "day": "date",
        2: "identifier",
        "code": "category",
        -1: "number",
    }
    model = R("stumps", 20, columns=columns, random_state=0).fit(frame, y)  # and warns of nothing
    kinds = [one.kind for one in model.frame_.columns.encoders]
    assert kinds == ["category", "date", "identifier", "category", "number"]
    again = clone(model).fit(frame, y)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    dates = frame.assign(day=pd.to_datetime(frame["day"].astype(str)))
    np.testing.assert_array_equal(model.predict(dates), model.predict(frame))
    kept = quietly(
        lambda: R("stumps", 20, columns={"id": "category"}, random_state=0).fit(frame, y)
    )
    assert isinstance(kept.frame_.columns.encoders[2], Targets)
    assert T("stumps", 5, columns=columns).fit(frame).frame_.columns.categories == [0, 3]
    read_in = rs.Frame.read([frame], "stumps", 20, columns=columns, random_state=0)
    assert [one.kind for one in read_in.columns.encoders] == kinds


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"b": "number"}, "columns names 'b', which is no column of X"),
        ({7: "number"}, "columns names 7"),
        ({"a": "numeric"}, r"columns\['a'\] must be one of 'category', 'number'.* got 'numeric'"),
        (["a"], "columns must be None or a dictionary.* got \\['a'\\]"),
        ({"a": "number"}, "calls 'a' a number, and fewer than half .* such as 'red'"),
        ({"a": "date"}, "calls 'a' a date, and fewer than half"),
        ({"t": "number"}, "calls 't' a number, and it is a date"),
        ({"x": "date"}, "calls 'x' a date, and fewer than half"),
    ],
)
def test_what_columns_cannot_say(columns, message):
    X = pd.DataFrame({"a": ["red", "green"] * 5, "x": np.arange(10) / 7})
    X["t"] = pd.date_range("2024", periods=10)
    with pytest.raises(ValueError, match=message):
        R("stumps", 5, columns=columns).fit(X, np.arange(10.0))
    with pytest.raises(ValueError, match="called a category and a number"):
        R("stumps", 5, categories=["x"], columns={"x": "number"}).fit(X, np.arange(10.0))


def test_what_was_called_a_number_may_hold_other_text_and_says_so():
    frame = frame_of([*[str(i) for i in range(30)], *["sold out"] * 10])
    with pytest.warns(
        UserWarning, match="'a' is read as numbers, and text that is none as missing"
    ):
        model = R("stumps", 20, columns={"a": "number"}, random_state=0).fit(frame, np.arange(40.0))
    assert model.frame_.columns.encoders[0].holes == 0.25


def test_columns_come_back_from_files(tmp_path):
    X, _, y = messy.tables(250, 2)
    columns = {"region": "category", 2: "number"}
    model = quietly(lambda: R("stumps", 20, columns=columns, random_state=0).fit(X[:150], y[:150]))
    model.save(tmp_path / "model.rsp")
    again = rs.load(tmp_path / "model.rsp")
    assert again.columns == columns
    assert repr(again.frame_) == repr(model.frame_)
    assert again.frame_.same_as(model.frame_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.partial_fit(X[150:], y[150:])
    model.partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(rs.NoExport if hasattr(rs, "NoExport") else ValueError, match="identifier"):
        rs.to_onnx(model, tmp_path / "model.onnx")


# -- what is printed, and what is said -------------------------------------------------------------


def test_a_messy_table_is_as_good_as_the_cleaned_one_and_nothing_is_silent():
    X, clean, y = messy.tables(1_200, 5)
    for family in ("stumps", rs.Fourier()):
        found = messy.judged(family, X, y, 600), messy.judged(family, clean, y, 600)
        assert found[0]["r2"] >= found[1]["r2"] - 0.01
        assert found[0]["told"] == len(messy.RENAMED)
        assert len(found[0]["warnings"]) == 1
        assert not found[1]["warnings"]
    model = quietly(lambda: R("stumps", 20, random_state=0).fit(X[:600], y[:600]))
    shown = repr(model.frame_)
    for text in ("amounts in €", "percentages", "decimal comma", "day first", "flags", "left out"):
        assert text in shown


def test_shares_are_printed_in_percent():
    for share, text in (
        *((0, "0 %"), (1e-6, "< 0.01 %"), (0.0012, "0.12 %"), (0.012, "1.2 %"), (0.1, "10 %")),
        *((0.5, "50 %"), (0.9949, "99 %"), (0.9999, "> 99 %"), (1.0, "100 %")),
    ):
        assert rs.text.percent(share) == text
    X = np.column_stack([np.full(40, np.nan), 1e6 + 1e4 * np.arange(40.0)])
    shown = repr(R("stumps", 5, random_state=0).fit(X, np.arange(40.0)).frame_)
    assert "100 %" in shown
    assert "mean 1,195,000" in shown
    assert "e+" not in shown


NULLABLE = {
    "boolean": pd.Series([True, False] * 30, dtype="boolean"),
    "arrow": pd.Series([True, False] * 30, dtype=pd.ArrowDtype(pa.bool_())),
    "frame": pd.DataFrame({"y": pd.array([True, False] * 30, dtype="boolean")}),
    "objects": np.array([True, False] * 30, dtype=object),
    "Int64": pd.Series([1, 0] * 30, dtype="Int64"),
    "polars": pl.Series([True, False] * 30),
}


@pytest.mark.parametrize("y", NULLABLE.values(), ids=NULLABLE)
def test_classes_keep_their_type(y):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A column-vector y")
        model = C("stumps", 5, random_state=0).fit(X, y)
    assert model.classes_.dtype.kind in ("i" if "Int64" in str(getattr(y, "dtype", "")) else "b")
    np.testing.assert_array_equal(model.classes_, [0, 1])


HOLES = {
    "floats": np.where(np.arange(60) % 20 == 7, np.nan, np.arange(60) % 2),
    "words": ["a", "b", None] * 20,
    "text": pd.Series(["a", "b", pd.NA] * 20, dtype="string"),
    "boolean": pd.Series([True, None, False] * 20, dtype="boolean"),
    "polars": pl.Series([1, None, 0] * 20),
    "dates": pd.Series([pd.Timestamp("2020"), pd.NaT] * 30),
}


@pytest.mark.parametrize("y", HOLES.values(), ids=HOLES)
@pytest.mark.parametrize("kind", [R, C])
def test_holes_in_targets_get_advice(y, kind):
    X = np.zeros((60, 2))
    with pytest.raises(ValueError, match=r"y contains NaN: .* missing in \d+ of 60 rows.*keep ="):
        kind("stumps", 5).fit(X, y)


def test_lazy_frames_are_named():
    X = pl.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) ** 2})
    model = R("stumps", 5, random_state=0).fit(X, np.arange(20.0))
    calls = (
        lambda: model.predict(X.lazy()),
        lambda: model.functions_(X.lazy()),
        lambda: R("stumps", 5).fit(X, X.lazy().select("a")),
        lambda: T("stumps", 5).fit(X.lazy()),
        lambda: rs.Frame.read(X.lazy(), "stumps", 5),
        lambda: rs.Frame.read([X.lazy()], "stumps", 5),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"polars LazyFrame.*\.collect\(\)"):
            call()
