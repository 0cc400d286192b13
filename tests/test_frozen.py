"""A model is frozen: a method that fails leaves the estimator as it was, to the last bit.

An error is injected at every call of statistics, solvers, draws and engines that a method makes;
the pickled estimator must not change.
"""

import pickle
from collections import Counter
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.engines import CPU
from randspan.families import Family, Functions
from randspan.frame import Frame
from randspan.solvers import METHODS, conjugate, lbfgs, multipliers, newton, sketched
from randspan.solvers.in_passes import InPasses
from randspan.statistics import KINDS

MODULES = (conjugate, lbfgs, multipliers, newton, sketched)

N = 60
#: Calls of one point that an error is injected at, counted from the first.
FIRST_CALLS = 2


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=N)


X, y = data()
LABELS = np.digitize(y, [-0.5, 0.5])
R, C = rs.SpanRegressor, rs.SpanClassifier

ESTIMATORS = {
    "eigen": R(rs.Fourier(), 8, random_state=0),
    "auto k": R(random_state=0),
    "cholesky": R(rs.Stumps(), 8, alpha=0.1, random_state=0),
    "dual": R(rs.Fourier(), 80, random_state=0),
    "box": R(rs.Fourier(), 8, bound=5.0, random_state=0),
    "lasso": R(rs.Fourier(), 8, penalty="l1", random_state=0),
    "qr": R(rs.Fourier(), 8, solver="qr", random_state=0),
    "factor": R(rs.BrownianSheets(grid="sparse"), 6, random_state=0),
    "out_of_bag": R(rs.Trees(max_features=2), 6, random_state=0),
    "hypotheses": R(rs.Hypotheses(DecisionTreeRegressor(max_depth=2)), 4, random_state=0),
    "leaves": R(rs.Trees(max_features=2, output="leaves"), 4, random_state=0),
    "cells": R(rs.Bins(), 6, random_state=0),
    "hybrid": R(rs.Fourier() + rs.Bins(), 8, random_state=0),
    "in passes": R(rs.Bins(), 6, alpha=1.0, solver="conjugate", random_state=0),
    "kernel rows": R(rs.Fourier(), np.inf, random_state=0),
    "wavelets": R(rs.ScrambledWavelets(grid="sparse"), 6, random_state=0),
    "dictionary": R(rs.Dictionary(rs.Mercer(anchors=20)), 6, random_state=0),
    "generator": R(rs.Fourier(), 8, random_state=np.random.default_rng(0)),
    "classes": C(rs.Fourier(), 8, random_state=0),
    "classes of cells": C(rs.Bins(), 6, random_state=np.random.RandomState(0)),
    "newton": C(rs.Fourier(), 8, loss="logistic", alpha=0.1, random_state=0),
    "multipliers": R(rs.Fourier(), 8, loss="absolute", alpha=1.0, random_state=0),
    "lbfgs": C(rs.Fourier(), 8, loss="logistic", alpha=0.1, solver="lbfgs", random_state=0),
    "sketched": R(rs.Fourier(), 8, solver="sketched", alpha=0.1, random_state=0),
    "transformer": rs.SpanTransformer(rs.Bins(), 6, random_state=0),
}


def points():
    """Where an error may come from: classes and the names of their methods."""
    for kind in KINDS.values():
        for name in ("none", "read", "plus", "minus", "columns", "products", "summed"):
            yield kind, name
    for method in (*map(type, METHODS.values()), InPasses):
        yield method, "solve"
    for module in MODULES:
        yield module, "minimise"
    for name in ("reduce", "map", "cells", "operator", "cell_operator", "machine"):
        yield CPU, name
    for name in ("functions", "taught", "read"):
        yield Frame, name
    for one in _subclasses(Family):
        for name in ("read", "resolve", "sample", "grow"):
            yield one, name
    for one in _subclasses(Functions):
        yield one, "evaluate"


def _subclasses(base):
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


POINTS = [(owner, name) for owner, name in dict.fromkeys(points()) if name in vars(owner)]


class Injected(Exception):
    """The error that no code expects."""


@contextmanager
def watched(at=None, calls=None):
    """Count calls of every point; raise at the given (owner, name, number of the call)."""
    calls = Counter() if calls is None else calls

    def wrapped(owner, name):
        raw = vars(owner)[name]
        plain = raw.__func__ if isinstance(raw, classmethod) else raw

        def call(*args, **kwargs):
            calls[owner, name] += 1
            if at == (owner, name, calls[owner, name]):
                raise Injected(name)
            return plain(*args, **kwargs)

        return classmethod(call) if isinstance(raw, classmethod) else call

    with ExitStack() as stack:
        for owner, name in POINTS:
            stack.enter_context(mock.patch.object(owner, name, wrapped(owner, name)))
        yield calls


def targets(model):
    return LABELS if isinstance(model, C) else y


def prepared(name):
    """An estimator with rows to be solved for, or just fitted where it does not stream."""
    model = pickle.loads(pickle.dumps(ESTIMATORS[name]))
    if not hasattr(model, "partial_fit"):
        return model.fit(X[:40], targets(model)[:40])
    more = {"classes": np.unique(LABELS)} if isinstance(model, C) else {}
    model.partial_fit(X[:20], targets(model)[:20], **more)
    return model.partial_fit(X[20:40], targets(model)[20:40])


def verbs(name):
    """Every public method of an estimator, as functions of it."""
    model, Y = ESTIMATORS[name], targets(ESTIMATORS[name])
    yield "fit", lambda m: m.fit(X[:, ::-1][:, :2], Y)  # other columns than those before
    if isinstance(model, rs.SpanTransformer):
        yield "transform", lambda m: m.transform(X)
        yield "fit_transform", lambda m: m.fit_transform(X)
        return
    yield "predict", lambda m: m.predict(X)
    yield "score", lambda m: m.score(X, Y)
    yield "attributes", lambda m: (m.weights_, m.alpha_, m.solution_, m.functions_(X))
    if isinstance(model, C):
        yield "predict_proba", lambda m: m.predict_proba(X)
        yield "decision_function", lambda m: m.decision_function(X)
    else:
        yield "predict with std", lambda m: m.predict(X, return_std=True)
    if not hasattr(model, "partial_fit"):
        return
    yield "partial_fit", lambda m: m.partial_fit(X[40:], Y[40:])
    yield "forget", lambda m: m.forget(X[:5], Y[:5])
    yield "leave_one_out", lambda m: m.leave_one_out(X[:40], Y[:40])
    other = prepared(name)
    yield (
        "merge",
        lambda m: m.merge(
            type(m)(frame=m.frame_, alpha=other.alpha, solver=other.solver).fit(X, Y)
        ),
    )


#: What some models refuse by themselves: these errors must leave no trace either.
REFUSALS = (ValueError, np.linalg.LinAlgError, AttributeError)


def check_every_error(prepare, call, verb):
    """An error at any point of ``call`` leaves what ``prepare`` makes as it was."""
    fresh = prepare()
    with watched() as calls:
        try:
            call(fresh)
            assert calls, verb
        except REFUSALS:
            calls = Counter(calls)
    for (owner, point), times in calls.items():
        for number in range(1, min(times, FIRST_CALLS) + 1):
            model = prepare()
            before = pickle.dumps(model)
            with watched(at=(owner, point, number)), pytest.raises((Injected, *REFUSALS)):
                call(model)
            assert pickle.dumps(model) == before, f"{verb}: {owner.__name__}.{point} {number}"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_error_anywhere_leaves_the_estimator_as_it_was(name):
    state = pickle.dumps(prepared(name))
    assert pickle.dumps(pickle.loads(state)) == pickle.dumps(pickle.loads(state))
    for verb, call in verbs(name):
        check_every_error(lambda: prepared(name), call, verb)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_error_in_a_first_fit_leaves_an_estimator_that_was_never_fitted(name):
    def new():
        return pickle.loads(pickle.dumps(ESTIMATORS[name]))

    Y = targets(new())
    check_every_error(new, lambda m: m.fit(X, Y), "fit")
    if hasattr(new(), "partial_fit"):
        check_every_error(new, lambda m: m.partial_fit(X, Y), "partial_fit")


def test_every_statistic_and_solver_fails_somewhere():
    """The table above leaves no kind of statistics and no method out."""
    reached = Counter()
    for name in ESTIMATORS:
        model = prepared(name)
        for _, call in verbs(name):
            with watched(calls=reached):
                try:
                    call(model)
                except REFUSALS:
                    model = prepared(name)
    for kind in KINDS.values():
        for point in ("read", "plus"):
            assert reached[kind, point], (kind, point)
    for method in METHODS.values():
        if "solve" in vars(type(method)):
            assert reached[type(method), "solve"], method.name
    for module in MODULES:
        assert reached[module, "minimise"], module


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "transformer"])
def test_asking_changes_nothing(name):
    """`predict` on rows that wait solves for them, and nobody can tell."""
    model = prepared(name)
    before, keys = pickle.dumps(model), list(vars(model))
    for verb, call in verbs(name):
        if verb in ("fit", "partial_fit", "forget", "merge"):
            continue
        try:
            call(model)
        except REFUSALS:
            continue
        assert pickle.dumps(model) == before, verb
        assert list(vars(model)) == keys


def test_a_failed_fit_leaves_the_older_model():
    model = C(rs.Fourier(), 10, random_state=0).fit(X, y > 0)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="gamma"):
        model.set_params(family=rs.Fourier(gamma=-1)).fit(X[:, :2], LABELS)
    assert model.n_features_in_ == 3
    assert list(model.classes_) == [False, True]
    assert np.array_equal(model.predict_proba(X), expected)
    never = C(rs.Fourier(gamma=-1), 10)
    with pytest.raises(ValueError, match="gamma"):
        never.fit(X, y > 0)
    assert not hasattr(never, "n_features_in_")
    assert not hasattr(never, "classes_")
    with pytest.raises(ValueError, match="not fitted yet"):
        never.predict(X)
    import pandas as pd

    framed = R(n_components=5, random_state=0).fit(pd.DataFrame(X, columns=list("abc")), y)
    with pytest.raises(ValueError, match="infinity"):
        framed.fit(pd.DataFrame(np.full_like(X, np.inf), columns=list("xyz")), y)
    assert list(framed.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize("stream", [False, True])
def test_set_params_changes_nothing_that_was_fitted(stream):
    model = R(rs.Fourier(), 10, alpha=0.1, random_state=0)
    model = model.partial_fit(X, y) if stream else model.fit(X, y)
    expected, state = R(rs.Fourier(), 10, alpha=0.1, random_state=0).fit(X, y), model._model
    model.set_params(
        alpha=1e3, family=rs.Stumps(), n_components=99, fit_intercept=False, solver="eigen"
    )
    assert model._model is state
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-5)
    std = model.predict(X, return_std=True)[1]
    np.testing.assert_allclose(std, expected.predict(X, return_std=True)[1], rtol=1e-4)
    assert model.alpha_ == 0.1
    assert model.n_components_ == 10
    assert model.intercept_ != 0
    # A method that changes the rows goes by the parameters of its day, where they can be changed.
    with pytest.raises(ValueError, match="n_components=99 was set after"):
        model.forget(X[:10], y[:10])
    model.set_params(n_components=10)
    with pytest.raises(ValueError, match=r"family=Stumps\(\) was set after"):
        model.forget(X[:10], y[:10])
    model.set_params(family=rs.Fourier())
    assert model.forget(X[:10], y[:10]).alpha_ == 1e3


def test_a_solution_that_was_asked_for_is_found_once(monkeypatch):
    solve, calls = METHODS["eigen", "moments"].solve, []
    kind = type(METHODS["eigen", "moments"])
    monkeypatch.setattr(kind, "solve", lambda self, *args: calls.append(1) or solve(*args))
    model = R(rs.Fourier(), 10, random_state=0)
    for s in range(0, N, 20):
        model.partial_fit(X[s : s + 20], y[s : s + 20])
    assert not calls
    model.predict(X)
    assert model.alpha_ > 0
    model.predict(X, return_std=True)
    assert len(calls) == 1
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert len(calls) == 2
