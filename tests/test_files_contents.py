"""What is in a file, what is not, and what is refused by name before anything is written."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from benchmarks import roundtrip
from benchmarks.seeds import table
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.families import Family, Functions
from randspan.families.shared.cells import Table
from randspan.families.shared.rows import Rows
from randspan.persistence import registry
from randspan.solvers.kernel import KernelPosterior
from randspan.statistics.kept import Kept
from through_files import NEW, X, data, same_answers, through, y

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer


# -- what is left out ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [10, 200, np.inf])
@pytest.mark.parametrize("kind", [R, C])
def test_without_statistics_a_model_predicts_and_says_why_it_does_no_more(kind, k, tmp_path):
    targets = y > 0 if kind is C else y
    model = kind(rs.Fourier(), k, random_state=0).partial_fit(X, targets)
    assert model._model.solution is None  # rows wait to be solved for
    back = through(model, tmp_path, statistics=False)
    assert np.array_equal(back.predict(NEW), model.predict(NEW))
    assert back.alpha_ == model.alpha_
    for ask in (
        lambda: back.partial_fit(X, targets),
        lambda: back.forget(X[:3], targets[:3]),
        lambda: back.merge(model),
        lambda: model.merge(back),
        lambda: back.leave_one_out(X, targets),
        *(
            [lambda: back.predict(X, return_std=True), lambda: back.predict_interval(X)]
            * (kind is R)
        ),
    ):
        with pytest.raises(ValueError, match=r"saved without \(statistics=False\)"):
            ask()
    again = through(back, tmp_path)
    assert np.array_equal(again.predict(NEW), model.predict(NEW))


def test_a_model_of_no_rows_has_nothing_but_its_statistics(tmp_path):
    model = R(rs.Fourier(), 5, random_state=0).fit(X, y).forget(X, y)
    with pytest.raises(ValueError, match="holds no rows"):
        rs.save(model, tmp_path / "m.rsp", statistics=False)
    assert not list(tmp_path.iterdir())
    assert same_answers(through(model, tmp_path).partial_fit(X, y), model.partial_fit(X, y))


def test_a_seed_in_place_of_functions_is_kilobytes(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 54))
    model = R(rs.Fourier(), 1000, alpha=1.0, scales=None, random_state=0)
    model.fit(rows, rows[:, 0])
    for options, most in (
        ({"statistics": False, "functions": False}, 20_000),
        ({"statistics": False}, 20_000 + 8 * 1000 * 56),
    ):
        rs.save(model, tmp_path / "m.rsp", **options)
        assert (tmp_path / "m.rsp").stat().st_size <= most
        back = rs.load(tmp_path / "m.rsp")
        assert np.array_equal(back.predict(rows[:5]), model.predict(rows[:5]))


def test_cells_take_their_keys_and_weights_and_little_more(tmp_path):
    rows, targets = data(3000, 5)
    model = R(rs.Bins(gamma=2.0), 30, alpha=0.1, random_state=0).fit(rows, targets)
    rs.save(model, tmp_path / "m.rsp", statistics=False)
    assert (tmp_path / "m.rsp").stat().st_size <= 1.2 * 16 * model.functions_.n_columns


def test_functions_that_are_drawn_otherwise_are_refused(tmp_path, monkeypatch):
    from randspan.families.shared import frequencies

    model = R(rs.Fourier(sampling="orthogonal"), 6, random_state=0).fit(X, y)
    rs.save(model, tmp_path / "m.rsp", functions=False)
    before = frequencies.SAMPLINGS["orthogonal"]

    def nudged(*args):
        return np.nextafter(before(*args), 1)

    monkeypatch.setitem(frequencies.SAMPLINGS, "orthogonal", nudged)
    with pytest.raises(rs.ModelFileError, match="not those that were saved, to the last bit"):
        rs.load(tmp_path / "m.rsp")
    # What cannot be drawn again to the bit is not left out.
    rs.save(model, tmp_path / "m.rsp", functions=False)
    assert np.array_equal(rs.load(tmp_path / "m.rsp").predict(NEW), model.predict(NEW))


def test_memory_is_counted_before_functions_are_drawn(tmp_path, monkeypatch):
    model = R(rs.Fourier(), 500, alpha=1.0, random_state=0).fit(X, y)
    rs.save(model, tmp_path / "m.rsp", statistics=False, functions=False)
    monkeypatch.setattr(rs.Fourier, "sample", lambda *args: pytest.fail("drawn"))
    with pytest.raises(rs.ModelFileError, match=r"drawing 500 functions would take .* memory_"):
        rs.load(tmp_path / "m.rsp", memory_limit=200_000)


# -- functions of the user's own, and what is refused ----------------------------------------------


def twice(d, rng):
    return 2 * rng.normal(size=d)


def test_functions_of_the_users_own_are_handed_in(tmp_path):
    model = R(rs.Fourier(twice) + rs.Units(np.tanh), 8, random_state=0).fit(X, y)
    for functions in (True, False):
        rs.save(model, tmp_path / "m.rsp", functions=functions)
        with pytest.raises(rs.ModelFileError, match=r"files do not hold: twice\. Hand them in"):
            rs.load(tmp_path / "m.rsp")
        assert same_answers(rs.load(tmp_path / "m.rsp", functions={"twice": twice}), model)
    with pytest.raises(rs.ModelFileError, match="not those that were saved"):
        rs.load(tmp_path / "m.rsp", functions={"twice": lambda d, rng: rng.normal(size=d)})
    with pytest.raises(ValueError, match="a dictionary of callables"):
        rs.load(tmp_path / "m.rsp", functions={"twice": 2})
    with pytest.raises(ValueError, match="a dictionary of callables"):
        rs.load(tmp_path / "m.rsp", functions=[twice])


def triangle(r):
    return np.maximum(1 - r, 0)


def cauchy(A, B):
    return 1 / (1 + ((A[:, None] - B) ** 2).sum(axis=2))


def norms(X):
    return (X**2).sum(axis=1)


def firsts(X):
    return X[:, 0]


def halves(X):
    return X / 2


@pytest.mark.parametrize(
    "family",
    [
        rs.Bins(triangle),
        rs.Bins(pitch=[1.0, 2.0, 0.5]),
        rs.KernelExpansions(cauchy, anchors=5),
        rs.KernelExpansions(rbf_kernel, anchors=X[:4]),
        rs.KernelExpansions(rs.Units("relu"), coefficients="cholesky"),
        rs.Dictionary([norms, firsts]),
        rs.Dictionary(rs.Fourier().draw(X, 12, random_state=1)),
        rs.Dictionary(halves),
        rs.Stumps(interval=(-2.0, [1.0, 2.0, 3.0])),
        rs.BrownianSheets(interval=(np.full(3, -4.0), 4), depth=1),
        rs.ScrambledWavelets(smoothness=[0.8, 0.9, 1.0], grid="sparse", depth=2),
        rs.Units(weights=twice, bias=twice),
    ],
    ids=lambda family: type(family).__name__,  # repr has addresses
)
def test_parameters_of_families(family, tmp_path):
    given = {f.__name__: f for f in (triangle, cauchy, halves, norms, firsts, twice)}
    model = R(family, 5, alpha=0.1, scales=None, random_state=0).fit(X, y)
    for functions in (True, False):
        back = through(model, tmp_path, given, functions=functions)
        assert same_answers(model, back)
        assert same_answers(clone(model).fit(X, y), clone(back).fit(X, y))


class Own(Family):
    def sample(self, n_features, n_components, seed):
        return rs.Projections().draw(np.eye(n_features), n_components, seed)


class Sub(R):
    pass


def renamed():
    def twice(d, rng):
        return rng.normal(size=d)

    return twice


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (make_pipeline(StandardScaler(), R()), r"Cannot store a Pipeline: .* skops"),
        (DecisionTreeRegressor(), r"Cannot store a DecisionTreeRegressor: .* skops"),
        (Own(), r"Cannot store a Own.*no family of one's own"),
        (R(Own()), r"Cannot store a Own \(regressor.family\)"),
        (Sub(), "Cannot store a Sub"),
        (rs.Hypotheses(DecisionTreeRegressor()), r"DecisionTreeRegressor \(hypotheses.sampler\)"),
        (rs.Fourier(lambda d, rng: rng.normal(size=d)), r"<lambda>.*\(def name"),
        (rs.Union([rs.Fourier() + rs.Stumps(), rs.Units()]), "without unions inside"),
        (R(n_jobs="many"), r"Cannot store 'many' \(regressor.n_jobs\); .* whole number"),
        (R(alpha=-1), r"Cannot store -1 \(regressor.alpha\)"),
        (np.ones(3), "Cannot store array"),
        ("fourier", "Cannot store 'fourier'"),
        (rs.Fourier(twice) + rs.Fourier(renamed()), "Two different functions are called 'twice'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_has_no_place_in_a_file_is_refused_by_name(value, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        rs.save(value, tmp_path / "m.rsp")
    assert not list(tmp_path.iterdir())


def test_hypotheses_and_attributes_of_ones_own_are_refused(tmp_path):
    def stump(X, y, rng):
        return DecisionTreeRegressor(max_depth=1).fit(X, y)

    model = R(rs.Hypotheses(stump), 3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"the DecisionTreeRegressor of a hypothesis"):
        rs.save(model, tmp_path / "m.rsp")
    assert through(model.family, tmp_path, {"stump": stump}).sampler is stump
    named = R()
    named.note = "mine"
    with pytest.raises(TypeError, match=r"'mine' \(SpanRegressor.note\)"):
        rs.save(named, tmp_path / "m.rsp")
    with pytest.raises(ValueError, match="statistics must be True or False, got 'no'"):
        rs.save(R(), tmp_path / "m.rsp", statistics="no")


# -- the table of classes --------------------------------------------------------------------------

#: fields that are computed when they are asked for, or made again from others
DERIVED = {"tables", "given"}


def walk(value, seen):
    """All objects of this library that a value holds."""
    if id(value) in seen or isinstance(value, (str, bytes, int, float, np.ndarray, np.generic)):
        return
    seen[id(value)] = value
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = value
    elif type(value).__module__.startswith("randspan"):
        yield value
        stored = [f.name for f in fields(value)] if is_dataclass(value) else list(vars(value))
        inner = [getattr(value, name) for name in stored]  # and nothing that was computed since
    else:
        return
    for one in inner:
        yield from walk(one, seen)


def stored_fields(value):
    """The names of what an object holds, as files should have them."""
    if isinstance(value, Kept):
        return {"targets", "weights", "cells", "inputs", "keys"}
    if isinstance(value, Family):
        return set(value.get_params(deep=False))
    if isinstance(value, Rows):
        return set(value.__getstate__())
    if is_dataclass(value):
        return {field.name for field in fields(value)}
    return set(vars(value))


def test_every_class_of_a_fitted_model_is_in_the_table_with_all_its_fields():
    models = [roundtrip.fitted(case) for case in roundtrip.some_cases()[::3]]
    models += [
        R("auto", effort="fast", random_state=0).fit(X, y),
        R(rs.Fourier(), np.inf, random_state=0, standardize="robust").fit(X, y),
        R(rs.Fourier(), 5, random_state=0).fit(table(data(400)[0]), data(400)[1]),
    ]
    seen, kinds = {}, set()
    for model in models:
        for value in walk(model, seen):
            kinds.add(type(value).__name__)
            if isinstance(value, (Table, R, C, T)) or type(value).__name__ in INNER:
                continue
            entry = registry.entry_of(value)
            assert entry is not None, type(value)
            found = stored_fields(value) - DERIVED
            extra = {"resolved", "solved"} | (
                {"keys"} if "tables" in stored_fields(value) else set()
            )
            assert found <= set(entry.fields), (entry.name, found - set(entry.fields))
            assert set(entry.fields) - found <= extra, (entry.name, set(entry.fields) - found)
    assert {"FourierFunctions", "Portfolio", "Levels", "KernelPosterior", "Forest"} <= kinds
    assert len(kinds) > 60


#: what is computed along the way, and made again: inner products of rows that are kept
INNER = {"Products", "Together"}


def test_posteriors_of_kernel_machines_are_made_again(tmp_path):
    model = R(rs.Fourier(), np.inf, random_state=0).fit(X, y)
    back = through(model, tmp_path)
    mine, theirs = (m.solution_.posterior for m in (model, back))
    assert isinstance(theirs, KernelPosterior)
    assert np.array_equal(mine.given.matrix(), theirs.given.matrix())
    assert isinstance(back.functions_, Functions)
