"""Given the frame, blocks, forgetting and merging are exact."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from table import FAMILIES

TOLERANCE = 1e-6  # relative, in float64


def data(n=400, d=5, seed=0, sparse_rows=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.4 if sparse_rows else 1)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)
    X = sparse.csr_array(X) if sparse_rows else X
    return X, y, rng.uniform(0.5, 2, size=n)


def part(array, rows):
    return None if array is None else array[rows]


def assert_same(a, b, X):
    """Equal predictions, relative to their size; and the same alpha on the way."""
    expected = b.predict(X)
    error = np.abs(a.predict(X) - expected).max() / np.abs(expected).max()
    assert error < TOLERANCE, error
    assert a.alpha_ == b.alpha_
    if not b.frame_.family.uses_target:
        assert a.gcv_error_ == pytest.approx(b.gcv_error_, rel=1e-6)
    elif b.solution_.solver == "out_of_bag":
        assert a.oob_error_ == pytest.approx(b.oob_error_, rel=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_blocks_in_any_order_equal_one_fit(name, weighted, sparse_rows):
    X, y, w = data(sparse_rows=sparse_rows)
    w = w if weighted else None
    whole = rs.SpanRegressor(FAMILIES[name], n_components=60, dtype="float64", random_state=0)
    whole.fit(X, y, w)
    streamed = rs.SpanRegressor(dtype="float64", frame=whole.frame_)
    order = np.random.default_rng(1).permutation(400)
    for rows in np.split(order, [1, 3, 60, 200, 350]):
        streamed.partial_fit(X[rows], y[rows], part(w, rows))
    assert_same(streamed, whole, X)
    if not FAMILIES[name].sparse:  # cells stand in the order in which rows brought them
        np.testing.assert_allclose(streamed.weights_, whole.weights_, rtol=1e-4, atol=1e-6)


@given(
    cuts=st.lists(st.integers(1, 199), max_size=8),
    seed=st.integers(0, 1000),
    k=st.sampled_from([5, 40, 300]),
    alpha=st.sampled_from(["auto", 1e-3, 1.0]),
    weighted=st.booleans(),
)
@settings(deadline=None, max_examples=30)
def test_any_split_equals_one_fit(cuts, seed, k, alpha, weighted):
    """Also with more functions than rows, where one fit takes the dual and a stream cannot."""
    X, y, w = data(200, seed=seed)
    w = w / w.mean() if weighted else None
    whole = rs.SpanRegressor(n_components=k, alpha=alpha, dtype="float64", random_state=seed)
    whole.fit(X, y, w)
    streamed = clone(whole).set_params(frame=whole.frame_)
    for rows in np.split(np.arange(200), sorted(set(cuts))):
        streamed.partial_fit(X[rows], y[rows], part(w, rows))
    assert_same(streamed, whole, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("alpha", ["auto", 0.01])
@pytest.mark.parametrize("k", [50, 600])
def test_forget_undoes_partial_fit(weighted, sparse_rows, alpha, k):
    X, y, w = data(sparse_rows=sparse_rows)
    w = w / w.mean() if weighted else None
    old, new = np.arange(250), np.arange(250, 400)
    kept = rs.SpanRegressor(n_components=k, alpha=alpha, dtype="float64", random_state=0)
    kept.fit(X[old], y[old], part(w, old))
    both = clone(kept).set_params(frame=kept.frame_)
    both.partial_fit(X, y, w)
    before = both.predict(X)
    both.forget(X[new[:70]], y[new[:70]], part(w, new[:70]))
    both.forget(X[new[70:]], y[new[70:]], part(w, new[70:]))
    assert_same(both, kept, X)
    both.partial_fit(X[new], y[new], part(w, new))
    np.testing.assert_allclose(both.predict(X), before, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("solver", ["auto", "qr", "dual"])
def test_merge_equals_the_joint_fit(weighted, sparse_rows, solver):
    X, y, w = data(sparse_rows=sparse_rows)
    w = w if weighted else None
    joint = rs.SpanRegressor(n_components=50, dtype="float64", solver=solver, random_state=0)
    joint.fit(X, y, w)
    shares = np.array_split(np.arange(400), 3)
    models = [
        clone(joint).set_params(frame=joint.frame_).fit(X[rows], y[rows], part(w, rows))
        for rows in shares
    ]
    merged = models[0].merge(models[1]).merge(models[2])
    assert_same(merged, joint, X)


@pytest.mark.parametrize(
    "family",
    [rs.Stumps(), rs.Units("sign"), rs.Bumps(gamma=20.0), rs.Fourier() + rs.Stumps()],
    ids=["stumps", "signs", "bumps", "union"],
)
def test_windows_slide_over_rows_of_which_functions_tell_few(family):
    """What is left of a function that varied, and does not any more, is rounding errors."""
    for seed in range(3):
        X, y, _ = data(300, d=4, seed=seed)
        model = rs.SpanRegressor(family, 40, alpha=1e-3, clip=None, random_state=0)
        model.fit(X[:60], y[:60])
        for start in range(20, 260, 20):
            model.partial_fit(X[start + 40 : start + 60], y[start + 40 : start + 60])
            model.forget(X[start - 20 : start], y[start - 20 : start])
        whole = rs.SpanRegressor(frame=model.frame_, alpha=1e-3, clip=None)
        whole.fit(X[240:], y[240:])
        np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
        with pytest.raises(ValueError, match="cannot have been in the model"):
            model.forget(X[240:250], 100 * y[240:250])


def test_small_fits_merge_and_forget_too():
    """Fewer rows than functions: fitted in the dual, continued in moments."""
    X, y, _ = data(90)
    joint = rs.SpanRegressor(n_components=200, dtype="float64", random_state=0).fit(X, y)
    assert joint.solution_.solver == "dual"
    parts = [
        clone(joint).set_params(frame=joint.frame_).fit(X[rows], y[rows])
        for rows in (slice(0, 40), slice(40, 90))
    ]
    assert_same(parts[0].merge(parts[1]), joint, X)
    assert_same(parts[0].forget(X[:10], y[:10]).partial_fit(X[:10], y[:10]), joint, X)


def test_a_fit_that_fell_back_to_the_factor_merges_with_a_stream():
    """Trees that say the same are too ill-conditioned for moments without a ridge."""
    X, y, _ = data(100, d=3)
    fitted = rs.SpanRegressor(rs.Trees(bootstrap=1.0), 20, alpha=1e-10, clip=None, random_state=0)
    fitted.fit(X[:60], y[:60])
    stream = rs.SpanRegressor(frame=fitted.frame_, alpha=1e-10, clip=None)
    stream.partial_fit(X[60:], y[60:])
    assert fitted._model.statistics.name == "factor" != stream._model.statistics.name
    whole = rs.SpanRegressor(frame=fitted.frame_, alpha=1e-10, clip=None).fit(X, y)
    for merged in (copy.deepcopy(fitted).merge(stream), copy.deepcopy(stream).merge(fitted)):
        np.testing.assert_allclose(merged.predict(X), whole.predict(X), atol=1e-6)


@pytest.mark.parametrize("kind", [rs.SpanRegressor, rs.SpanClassifier])
@pytest.mark.parametrize("name", ["fourier", "bins", "hybrid", "trees", "leaves", "sheets", None])
def test_blocks_without_weight_change_nothing(kind, name):
    X, y, _ = data(120)
    y, none = (y > 0 if kind is rs.SpanClassifier else y), np.zeros(30)
    more = {"classes": [False, True]} if kind is rs.SpanClassifier else {}
    k = np.inf if name is None else 10
    with pytest.raises(ValueError, match="no row with a positive weight"):
        kind(FAMILIES[name or "fourier"], k).partial_fit(X[:30], y[:30], sample_weight=none, **more)
    model = kind(FAMILIES[name or "fourier"], k, random_state=0).fit(X[30:], y[30:])
    empty = kind(frame=model.frame_)
    empty.partial_fit(X[:30], y[:30], sample_weight=none, **more)
    before = model.predict(X)
    model.partial_fit(X[:30], y[:30], sample_weight=none)
    np.testing.assert_allclose(model.predict(X), before, atol=1e-9)
    model.merge(empty)
    np.testing.assert_allclose(model.predict(X), before, atol=1e-9)
    model.forget(X[:30], y[:30], sample_weight=none)
    np.testing.assert_allclose(model.predict(X), before, atol=1e-9)
    with pytest.raises(ValueError, match="no rows"):
        empty.predict(X)
    empty.partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(empty.predict(X), before, atol=1e-5)


def test_partial_fit_continues_a_fit():
    X, y, _ = data()
    model = rs.SpanRegressor(n_components=50, dtype="float64", random_state=0).fit(X[:300], y[:300])
    model.partial_fit(X[300:], y[300:])
    whole = clone(model).set_params(frame=model.frame_).fit(X, y)
    assert_same(model, whole, X)


def test_partial_fit_continues_an_ill_conditioned_fit(rng):
    """A fit that needed the orthogonal factor goes on with it."""
    X = rng.normal(size=(300, 2))
    X = np.column_stack([X, X[:, 0] + 1e-8 * rng.normal(size=300)])
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=300)
    model = rs.SpanRegressor(rs.Units("tanh", direct=True), n_components=1, alpha=0, random_state=0)
    model.fit(X[:200], y[:200])
    assert model.solution_.solver == "qr"
    model.partial_fit(X[200:250], y[200:250]).partial_fit(X[250:], y[250:])
    whole = clone(model).set_params(frame=model.frame_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="orthogonal factor"):
        model.forget(X[:5], y[:5])


def test_default_parameters_stream():
    X, y, _ = data(1000)
    model = rs.SpanRegressor(random_state=0)
    for s in range(0, 1000, 200):
        model.partial_fit(X[s : s + 200], y[s : s + 200])
    assert model.score(X, y) > 0.85
    classifier = rs.SpanClassifier(random_state=0)
    for s in range(0, 1000, 200):
        classifier.partial_fit(X[s : s + 200], y[s : s + 200] > 0)
    assert classifier.score(X, y > 0) > 0.85


@pytest.mark.parametrize("labels", [[False, True], ["a", "b", "c"], [3, 1, 2, 0]])
def test_classifiers_stream_forget_and_merge(labels):
    X, y, w = data()
    cuts = np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
    labels = np.array(labels)[np.searchsorted(cuts, y)]
    whole = rs.SpanClassifier(n_components=50, dtype="float64", random_state=0).fit(X, labels, w)
    streamed = rs.SpanClassifier(dtype="float64", frame=whole.frame_)
    first = np.flatnonzero(labels == labels[0])[:5]  # one class only: the others are named
    streamed.partial_fit(X[first], labels[first], classes=np.unique(labels), sample_weight=w[first])
    rest = np.setdiff1d(np.arange(400), first)
    other = rs.SpanClassifier(dtype="float64", frame=whole.frame_)
    other.partial_fit(X[rest], labels[rest], np.unique(labels), w[rest])
    streamed.merge(other)
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), atol=1e-6)
    assert np.array_equal(streamed.predict(X), whole.predict(X))
    streamed.forget(X[rest], labels[rest], w[rest])
    streamed.partial_fit(X[rest], labels[rest], sample_weight=w[rest])
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), atol=1e-6)


def test_a_frame_read_in_a_streaming_pass_equals_that_of_fit():
    X, y, w = data(30_000, d=2)
    for family in ("fourier", rs.Stumps("quantile"), rs.Bumps()):
        for weights in (None, w):
            whole = rs.SpanRegressor(family, n_components=20, random_state=3).fit(X, y, weights)
            blocks = (
                (X[s : s + 4097], None, part(weights, slice(s, s + 4097)))
                for s in range(0, 30_000, 4097)
            )
            frame = rs.Frame.read(blocks, family, 20, random_state=3)
            np.testing.assert_allclose(frame.centre, whole.frame_.centre, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(frame.scale, whole.frame_.scale, rtol=1e-9)
            model = rs.SpanRegressor(frame=frame, dtype="float64").fit(X, y, weights)
            again = rs.SpanRegressor(frame=whole.frame_, dtype="float64").fit(X, y, weights)
            np.testing.assert_allclose(model.predict(X[:99]), again.predict(X[:99]), rtol=1e-6)


def test_solving_waits_until_somebody_asks(monkeypatch):
    from randspan.solvers.eigen import Eigen

    calls = []
    solve = Eigen.solve
    monkeypatch.setattr(Eigen, "solve", lambda *a: calls.append(1) or solve(*a))
    X, y, _ = data()
    model = rs.SpanRegressor(n_components=20, random_state=0)
    for s in range(0, 400, 40):
        model.partial_fit(X[s : s + 40], y[s : s + 40])
    assert not calls
    model.predict(X)
    model.predict(X)
    assert len(calls) == 1


# -- refusals --------------------------------------------------------------------------------------


def fitted(**params):
    X, y, _ = data()
    return rs.SpanRegressor(n_components=20, random_state=0, **params).fit(X, y), X, y


def test_forget_refuses_what_cannot_have_been_there(rng):
    model, X, y = fitted()
    before = model.predict(X)
    with pytest.raises(ValueError, match="holds 400 rows"):
        model.forget(np.vstack([X, X]), np.append(y, y))
    with pytest.raises(ValueError, match="weight"):
        model.forget(X, y, np.full(400, 2.0))
    with pytest.raises(ValueError, match="cannot have been in the model"):
        model.forget(X[:300], 100 * y[:300])
    with pytest.raises(ValueError, match="were not in the model"):
        model.forget(np.repeat(X[:1], 300, axis=0) * np.linspace(-9, 9, 300)[:, None], y[:300])
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    "family", [rs.Trees(output="leaves", min_samples_leaf=40), rs.Bins(pitch=4.0)]
)
def test_of_rows_that_share_all_cells_the_one_that_was_given_is_forgotten(family, rng):
    """Cells, target and weight are the same; which trees had the row, and its fold, are not."""
    X = rng.normal(size=(300, 2))
    y = np.round(X[:, 0] + rng.normal(size=300))
    model = rs.SpanRegressor(family, 3, alpha="heldout", random_state=0).fit(X, y)
    cells = model.functions_(X).toarray()
    together = np.unique(np.column_stack([cells, y]), axis=0, return_inverse=True)[1].ravel()
    row = np.flatnonzero(together == np.flatnonzero(np.bincount(together) > 2)[0])[0]
    rest = np.arange(300) != row
    fresh = rs.SpanRegressor(family, 3, alpha="heldout", frame=model.frame_)
    fresh.partial_fit(X[rest], y[rest])
    model.forget(X[[row]], y[[row]])
    assert model.alpha_ == fresh.alpha_
    assert model.validation_.error == pytest.approx(fresh.validation_.error, rel=1e-6)


def test_forgetting_everything_leaves_a_model_that_says_so():
    model, X, y = fitted()
    model.forget(X, y)
    with pytest.raises(ValueError, match="no rows"):
        model.predict(X)
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.5


def test_what_rounding_takes_over_is_read_again_or_refused():
    """Few rows are kept beside sums where alpha is judged by them, not where by a formula."""
    X, y, _ = data(300)
    model = rs.SpanRegressor(rs.Projections(), n_components=3, standardize=False, random_state=0)
    model.partial_fit(X[:20] * 1e-7, y[:20])
    known = clone(model).set_params(frame=model.frame_, alpha="gcv")
    few = clone(model).set_params(frame=model.frame_).partial_fit(X[:20] * 1e-7, y[:20])
    for one in (model, known.partial_fit(X[:20] * 1e-7, y[:20])):
        one.partial_fit(X[20:] * 1e3, y[20:]).forget(X[20:] * 1e3, y[20:])
    assert_same(model, few, X * 1e-7)
    with pytest.raises(np.linalg.LinAlgError, match="fit the remaining rows anew"):
        known.predict(X)


@pytest.mark.parametrize("k", [20, np.inf, "auto"])
def test_rows_of_weight_zero_come_and_go(k):
    """They were never there, nor are they where all others have gone."""
    X, y, w = data(60)
    w[::3] = 0
    model = rs.SpanRegressor(rs.Fourier(), k, random_state=0)
    if k == "auto":
        model = rs.SpanRegressor("auto", effort="fast", random_state=0)
    model.fit(X, y, w)
    before = model.predict(X)
    model.partial_fit(X[:9], y[:9], w[:9]).forget(X[:9], y[:9], w[:9])
    np.testing.assert_allclose(model.predict(X), before, atol=1e-6)
    model.forget(X, y, w)
    with pytest.raises(ValueError, match="no rows"):
        model.predict(X)


def test_a_kernel_machine_that_forgot_everything_holds_no_row(tmp_path):
    X, y, _ = data(30)
    model = rs.SpanRegressor(rs.Fourier(), np.inf, random_state=0).fit(X, y)
    model.forget(X, y)
    assert len(model._model.functions.train) == 0
    rs.save(model, tmp_path / "model")
    again = rs.load(tmp_path / "model").partial_fit(X, y)
    expected = clone(model).set_params(frame=model.frame_).partial_fit(X, y).predict(X)
    np.testing.assert_allclose(again.predict(X), expected)


def test_merge_refuses_other_frames_and_kinds():
    model, X, y = fitted()
    with pytest.raises(ValueError, match="different frames"):
        model.merge(rs.SpanRegressor(n_components=20, random_state=1).fit(X, y))
    with pytest.raises(ValueError, match="different frames"):
        model.merge(rs.SpanRegressor(n_components=20, random_state=0).fit(X[:200], y[:200]))
    with pytest.raises(TypeError, match="SpanClassifier"):
        model.merge(rs.SpanClassifier(frame=model.frame_).fit(X, y > 0))
    with pytest.raises(ValueError, match="1 and 2 target"):
        model.merge(rs.SpanRegressor(frame=model.frame_).fit(X, np.column_stack([y, y])))
    with pytest.raises(ValueError, match="same solver"):
        rs.SpanRegressor(frame=model.frame_, solver="qr").fit(X, y).merge(model)
    classes = rs.SpanClassifier(frame=model.frame_).fit(X, y > 0)
    with pytest.raises(ValueError, match="different classes"):
        classes.merge(rs.SpanClassifier(frame=model.frame_).fit(X, np.where(y > 0, "x", "y")))


def test_portfolios_merge_with_portfolios_only():
    model, X, y = fitted()
    several = rs.SpanRegressor("auto", effort="fast", random_state=0).fit(X[:100], y[:100])
    for one, other in ((model, several), (several, model)):
        with pytest.raises(ValueError, match="different families"):
            one.merge(other)


def test_frames_that_do_not_fit_are_refused():
    model, X, y = fitted()
    with pytest.raises(ValueError, match="5 columns, X has 4"):
        rs.SpanRegressor(frame=model.frame_).fit(X[:, :4], y)
    with pytest.raises(ValueError, match="leave family out"):
        rs.SpanRegressor(rs.Stumps(), frame=model.frame_).fit(X, y)
    with pytest.raises(TypeError, match="frame must be"):
        rs.SpanRegressor(frame="mine").fit(X, y)
    with pytest.raises(ValueError, match="no rows"):
        rs.Frame.read([], "fourier", 10)


def test_streams_must_keep_their_shape():
    model, X, y = fitted()
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="one target"):
        model.partial_fit(X, np.column_stack([y, y]))
    classifier = rs.SpanClassifier(n_components=10).partial_fit(X, y > 0)
    with pytest.raises(ValueError, match="not started with"):
        classifier.partial_fit(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        classifier.partial_fit(X, y > 0, classes=[0, 1, 2])
