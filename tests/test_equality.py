"""Copies are equal to what they are copies of, and nothing else is."""

import copy
import pickle
import types
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.equality import same
from table import FAMILIES, NAMELESS


class Sampler:
    """Holds whatever somebody's sampler may hold."""

    def __init__(self, held):
        self.held = held


def by_pickle(value):
    return pickle.loads(pickle.dumps(value))


def from_elsewhere(function):
    """The function as another process would have made it."""
    code = (function.__code__, function.__globals__, function.__name__)
    made = types.FunctionType(*code, function.__defaults__, function.__closure__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def table(*values):
    return np.array([values], dtype=[("name", "U9"), ("value", "f8")])


def histogram(*counts):
    return stats.rv_histogram((counts, [0, 1, 2]))


def tree(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    return DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])


def itself(turns):
    turned = Sampler(turns)
    turned.own = turned
    return turned


PAIRS = {
    "nan": (float("nan"), 1.0),
    "nan among numbers": (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
    "nan among parameters": ({"a": [np.nan]}, {"a": [0.0]}),
    "keys": ({"a": 1}, {"b": 1}),
    "lengths": ([1, 2], [1, 2, 3]),
    "days": (np.array(["NaT", "2020-01-01"], "M8[D]"), np.array(["NaT", "2020-01-02"], "M8[D]")),
    "names": (np.array(["a", "b"]), np.array(["a", "c"])),
    "objects": (np.array([np.nan, "b", None]), np.array([np.nan, "b", 1], dtype=object)),
    "entries": (table("a", np.nan), table("a", 1.0)),
    "sparse": (sparse.csr_matrix([[0, np.nan]]), sparse.csr_matrix([[0, 1.0]])),
    "generators": (np.random.default_rng(0), np.random.default_rng(1)),
    "distributions": (stats.expon(0.5), stats.expon(0.6)),
    "histograms": (histogram(1, 2), histogram(2, 1)),
    "trees": (tree(0), tree(1)),
    "loops": (itself(np.array([np.nan])), itself(np.array([1.0]))),
    "methods": (tree(0).predict, tree(1).predict),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy])
def test_copies_are_equal_and_others_are_not(name, copied):
    one, other = (Sampler(held) for held in PAIRS[name])
    assert same(one, copied(one))
    assert not same(one, other)
    assert not same(other, copied(one))


def test_functions_from_other_processes_are_equal_to_ours():
    def made(power):
        return lambda values: np.abs(values) ** power

    assert same(made(2), from_elsewhere(made(2)))
    assert not same(made(2), from_elsewhere(made(3)))
    assert not same(made(2), from_elsewhere(by_pickle))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_frame_with_a_constant_column_is_equal_to_its_copies(name, rng):
    X = np.column_stack([rng.normal(size=(60, 2)), np.full(60, 2.0)])
    frame = rs.SpanRegressor(FAMILIES[name], 5, random_state=0).fit(X, X[:, 0]).frame_
    assert same(frame, copy.deepcopy(frame))
    assert frame.same_as(clone(frame, safe=False))
    if name not in NAMELESS:
        assert frame.same_as(by_pickle(frame))
    assert not frame.same_as(replace(frame, constant=frame.constant + 1))
    assert not frame.same_as(replace(frame, seed=frame.seed + 1))


def test_models_of_workers_merge_where_a_column_is_constant(rng, tmp_path):
    X = np.column_stack([rng.normal(size=(200, 2)), np.full(200, 2.0)])
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    begun = rs.SpanRegressor(n_components=20, dtype="float64", random_state=0).fit(X[:80], y[:80])
    begun.save(tmp_path / "begun.rsp")
    model = rs.load(tmp_path / "begun.rsp")
    for rows in np.split(np.arange(80, 200), 2):
        worker = clone(begun).set_params(frame=by_pickle(begun.frame_))
        model.merge(by_pickle(worker.fit(X[rows], y[rows])))
    whole = clone(begun).set_params(frame=begun.frame_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
