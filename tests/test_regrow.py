"""`forget` and what grew on the rows; `solve` finds weights when it is told to."""

import copy
import pickle
import threading

import numpy as np
import pytest

import randspan as rs

pd = pytest.importorskip("pandas")

R, C = rs.SpanRegressor, rs.SpanClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
GONE, LEFT = slice(0, 40), slice(40, 300)
# A row that nothing is like, by which trees and ranges can be told.
X[0], y[0] = 30.0, 50.0


def settings(family, k=20, **more):
    return {"family": family, "n_components": k, "random_state": 3} | more


@pytest.mark.parametrize(
    "given",
    [
        settings(rs.Trees()),
        settings(rs.Trees(max_features=1, replace=True)),
        settings(rs.Fourier(), 60),
        settings(rs.Fourier(), np.inf),
        settings("auto", "auto", effort="fast"),
    ],
    ids=["trees", "bagged", "fourier", "exact", "auto"],
)
@pytest.mark.parametrize("kind", [R, C])
def test_a_model_grown_anew_has_never_seen_the_rows(given, kind):
    targets = y if kind is R else np.where(y > 0, "a", "b")
    never = kind(**given).fit(X[LEFT], targets[LEFT])
    model = kind(**given).fit(X, targets)
    answer = (lambda one: one.predict(X)) if kind is R else lambda one: one.decision_function(X)
    kept = copy.deepcopy(model)
    if not (kind is C and given["family"] == "auto"):
        kept.forget(X[GONE], targets[GONE])
        assert kept.frame_.same_as(model.frame_) or given["family"] == "auto"
    model.forget(X[GONE], targets[GONE], regrow=True)
    assert model.frame_.same_as(never.frame_)
    np.testing.assert_allclose(answer(model), answer(never), rtol=1e-8, atol=1e-10)


def test_trees_remember_what_is_forgotten_unless_they_are_grown_anew():
    """The docstring says so: predictions at a row that nothing is like still lean towards it."""
    model = R(rs.Trees(), 20, random_state=0).fit(X, y)
    assert model.forget(X[:1], y[:1]).predict(X[:1]) > 5
    model.partial_fit(X[:1], y[:1]).forget(X[:1], y[:1], regrow=True)
    assert model.predict(X[:1]) < 5


def test_streams_grow_anew():
    model = R(rs.Trees(), 20, random_state=0)
    for part in np.split(np.arange(300), [100, 200]):
        model.partial_fit(X[part], y[part])
    model.forget(X[GONE], y[GONE], regrow=True)
    never = R(rs.Trees(), 20, random_state=0).partial_fit(X[LEFT], y[LEFT])
    np.testing.assert_allclose(model.predict(X), never.predict(X), rtol=1e-8)
    table = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(X[:, 0] > 0, "e", "f"))
    model = R(rs.Trees(), 20, random_state=0).partial_fit(table, y)
    model.forget(table[GONE], y[GONE], regrow=True)
    never = R(rs.Trees(), 20, random_state=0).partial_fit(table[LEFT], y[LEFT])
    np.testing.assert_allclose(model.predict(table), never.predict(table), rtol=1e-8)


def test_where_rows_are_not_kept_it_says_why():
    table = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(X[:, 0] > 0, "e", "f"))
    cases = {
        "encoded with the help": (R(rs.Trees(), 10).fit(table, y), table),
        "not the rows themselves": (R(rs.Stumps(), 10, alpha="gcv").fit(X, y), X),
        "handed in": (R(frame=R(rs.Fourier(), 10).fit(X, y).frame_).fit(X, y), X),
    }
    for reason, (model, rows) in cases.items():
        before = model.predict(rows)
        with pytest.raises(ValueError, match=f"regrow=True needs .*{reason}"):
            model.forget(rows[GONE], y[GONE], regrow=True)
        assert np.array_equal(model.predict(rows), before)
    with pytest.raises(ValueError, match="regrow must be True or False"):
        model.forget(X[GONE], y[GONE], regrow="yes")


# -- solve -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        settings(rs.Fourier(), 60),
        settings(rs.Fourier(), np.inf),
        settings(rs.BrownianSheets(), 400),
        settings(rs.Trees()),
        settings("auto", "auto", effort="fast"),
    ],
    ids=["fourier", "exact", "factor", "trees", "auto"],
)
def test_what_was_solved_is_not_solved_again(given, monkeypatch, tmp_path):
    from randspan.model import Model

    model = R(**given).partial_fit(X[:200], y[:200])
    later = copy.deepcopy(model)
    model.partial_fit(X[200:], y[200:])
    expected = copy.deepcopy(model).predict(X)
    assert model.solve() is model
    model.save(tmp_path / "model.rsp")
    solved, count = Model._solved_for, []
    monkeypatch.setattr(Model, "_solved_for", lambda *a: count.append(1) or solved(*a))
    copies = (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)))
    for one in (*copies, rs.load(tmp_path / "model.rsp")):
        np.testing.assert_array_equal(one.predict(X), expected)
    assert not count
    # It changes nothing for rows that come later.
    asked = later.solve().partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(asked.predict(X), expected, rtol=1e-9, atol=1e-12)


def test_rows_that_come_while_weights_are_found_are_not_lost(monkeypatch):
    from randspan.model import Model

    model = R(rs.Fourier(), 30, alpha=0.1, random_state=0).partial_fit(X[:200], y[:200])
    begun, go_on, solved = threading.Event(), threading.Event(), Model._solved_for

    def slowly(self, engine):
        begun.set()
        assert go_on.wait(30)
        return solved(self, engine)

    monkeypatch.setattr(Model, "_solved_for", slowly)
    thread = threading.Thread(target=model.solve)
    thread.start()
    assert begun.wait(30)
    model.partial_fit(X[200:], y[200:])
    go_on.set()
    thread.join()
    assert model._model.statistics.rows == 300


def test_a_call_that_fails_never_takes_the_model_away(monkeypatch):
    """Other threads predict while `partial_fit` fails: the attributes are there all the time."""
    model = R(rs.Fourier(), 30, alpha=0.1, random_state=0).partial_fit(X[:200], y[:200])
    seen, done = [], threading.Event()

    def ask():
        while not done.is_set():
            seen.append(hasattr(model, "_model"))

    def fails(self):
        raise MemoryError

    monkeypatch.setattr(R, "_refuse_changes", fails)
    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(300):
        with pytest.raises(MemoryError):
            model.partial_fit(X[200:], y[200:])
    done.set()
    thread.join()
    assert all(seen)
