"""A fitted model is frozen: what follows from it is computed once, whichever thread asks first."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import randspan as rs
from randspan.families.fourier import FourierFunctions
from randspan.solvers import spectrum, tiles
from randspan.solvers.solution import Triangle

THREADS = 8


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


X, y = data(120)


@pytest.fixture
def factors(monkeypatch):
    """Which n × n factorisations and inversions were made."""
    made = []

    def counted(name, call):
        def count(*args, **kwargs):
            made.append(name)
            time.sleep(0.02)  # long enough for other threads to come
            return call(*args, **kwargs)

        return count

    for name in ("factor", "squared_columns_of_inverse"):
        monkeypatch.setattr(tiles, name, counted(name, getattr(tiles, name)))
    return made


def exact(**settings):
    return rs.SpanRegressor(rs.Fourier(gamma=0.3), np.inf, alpha=0.01, random_state=0, **settings)


QUESTIONS = {
    "std": lambda model: model.predict(X[:7], return_std=True)[1],
    "interval": lambda model: model.predict_interval(X[:1]),
    "validation": lambda model: model.validation_.error,
    "gcv": lambda model: model.gcv_error_,
    "degrees of freedom": lambda model: model.solution_.degrees_of_freedom,
    "leave one out": lambda model: model.leave_one_out(X, y),
}


@pytest.mark.parametrize("threads", [1, THREADS])
def test_a_kernel_machine_factorises_once_for_all_that_is_asked_of_it(factors, threads):
    model = exact().fit(X, y)
    factors.clear()
    together = Barrier(threads)

    def ask(_):
        together.wait()
        return [question(model) for question in QUESTIONS.values()]

    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(ask, range(threads)))
    again = [question(model) for question in QUESTIONS.values()]
    assert factors == ["factor", "squared_columns_of_inverse"]
    for found in answers:
        for one, other in zip(found, again, strict=True):
            assert np.array_equal(one, other)
    # df = tr(I - μP'), P' = P - P11'P/(1'P1), P = (K + μI)⁻¹.
    rows = model.frame_.rows(X, np.float64)
    P = np.linalg.inv(model.frame_.family.closed_form(rows, rows) + 0.01 * np.eye(len(X)))
    P -= np.outer(P.sum(axis=0), P.sum(axis=0)) / P.sum()
    expected = np.trace(np.eye(len(X)) - 0.01 * P)
    np.testing.assert_allclose(model.solution_.degrees_of_freedom, expected, rtol=1e-8)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_question_may_be_any(factors, question):
    model = exact().fit(X, y)
    factors.clear()
    first = QUESTIONS[question](model)
    assert factors.count("factor") == 1
    assert np.array_equal(first, QUESTIONS[question](model))
    assert factors.count("factor") == 1


def test_what_was_computed_is_forgotten_with_the_rows_and_never_saved(tmp_path):
    def asked(model):
        return [np.asarray(question(model)) for question in QUESTIONS.values()]

    model = exact().partial_fit(X, y)
    model.predict(X[:1])
    fresh = len(pickle.dumps(model))
    before = asked(model)
    assert len(pickle.dumps(model)) == fresh
    model.save(tmp_path / "model.rsp")
    more = data(50, seed=1)
    model.partial_fit(*more)
    whole = exact(frame=model.frame_).set_params(random_state=None)
    whole.fit(np.vstack([X, more[0]]), np.append(y, more[1]))
    for one, other, old in zip(asked(model), asked(whole), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
        assert not np.allclose(one, old, rtol=1e-6, atol=1e-8)
    for again in (pickle.loads(pickle.dumps(model.forget(*more))), rs.load(tmp_path / "model.rsp")):
        for one, old in zip(asked(again), before, strict=True):
            np.testing.assert_allclose(one, old, rtol=1e-6, atol=1e-8)


def test_rows_that_came_are_solved_for_by_one_thread(factors):
    model = exact().partial_fit(X, y)
    factors.clear()
    together = Barrier(THREADS)

    def ask(_):
        together.wait()
        return model.predict(X)

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(ask, range(THREADS)))
    assert factors == ["factor"]
    assert all(np.array_equal(answers[0], one) for one in answers)


def test_an_interval_asks_training_rows_once(monkeypatch):
    rows, evaluate = [], FourierFunctions.evaluate

    def counted(self, block):
        rows.append(len(block))
        return evaluate(self, block)

    model = rs.SpanRegressor(rs.Fourier(), 20, random_state=0).fit(X, y)
    monkeypatch.setattr(FourierFunctions, "evaluate", counted)
    first = model.predict_interval(X[:1])
    assert sum(rows) == len(X) + 1
    rows.clear()
    wider = model.predict_interval(X[:1], 0.99)
    assert sum(rows) == 1
    assert wider[0] < first[0]
    assert wider[1] > first[1]


def test_leave_one_out_of_few_rows_decomposes_them_once(monkeypatch):
    made, svd = [], spectrum._svd
    monkeypatch.setattr(spectrum, "_svd", lambda Z: made.append(len(Z)) or svd(Z))
    model = rs.SpanRegressor(rs.Fourier(), 200, alpha=0.01, dtype="float64", random_state=0)
    model.fit(X, y)
    assert model.solution_.solver == "dual"
    first = model.leave_one_out(X, y)
    assert np.array_equal(model.leave_one_out(X, y), first)
    assert len(made) == 1


def test_a_posterior_is_mixed_once(monkeypatch):
    made, after = [], Triangle.after
    monkeypatch.setattr(Triangle, "after", lambda *given: made.append(1) or after(*given))
    family = rs.KernelExpansions(coefficients="cholesky", anchors=20)
    model = rs.SpanRegressor(family, 20, alpha=0.01, random_state=0).fit(X, y)
    first = model.predict(X, return_std=True)[1]
    assert np.array_equal(model.predict(X, return_std=True)[1], first)
    assert len(made) == 1
