"""Models in files: what comes back says the same, to the last bit, and goes on from there."""

import warnings

import numpy as np
import pandas as pd
import pytest
from benchmarks import roundtrip
from benchmarks.seeds import table
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from randspan.equality import same
from through_files import NEW, X, same_answers, through, y

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer


# -- the matrix ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_answer_has_the_same_bits_in_another_process(tmp_path):
    count, wrong = roundtrip.run(roundtrip.some_cases(), tmp_path)
    assert count > 170
    assert not wrong


@pytest.mark.parametrize("name", roundtrip.FAMILIES)
def test_streams_go_on_as_if_nothing_had_happened(name, tmp_path):
    case = roundtrip.Case(name, "regressor", "squared", False, 1)
    first, second, rest = roundtrip.rows(False)
    y1, y2 = (roundtrip.targets_of(rows, case) for rows in (first, second))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = R(roundtrip.FAMILIES[name], 6, alpha=0.1, random_state=0).partial_fit(first, y1)
        other = R(frame=model.frame_, alpha=0.1).partial_fit(second, y2)
        unsolved = through(model, tmp_path, roundtrip.GIVEN)
        model.predict(rest)  # what it has found is remembered, and is in the file
        loaded = through(model, tmp_path, roundtrip.GIVEN)
        assert "_solved" in vars(loaded._model)
        for back in (unsolved, loaded):
            kept = pickled(model)
            assert same_answers(kept, back, rest)
            assert same_answers(kept.partial_fit(second, y2), back.partial_fit(second, y2), rest)
            assert same_answers(
                kept.forget(first[:5], y1[:5]), back.forget(first[:5], y1[:5]), rest
            )
            mine, theirs = pickled(other), through(other, tmp_path, roundtrip.GIVEN)
            if "grown" not in name and name not in ("trees", "leaves"):  # frames share their trees
                assert same_answers(kept.merge(mine), back.merge(theirs), rest)


def pickled(model):
    """A copy that shares nothing, by the library's own state."""
    copy = clone(model)
    vars(copy).update(vars(model))
    return copy


def test_trees_merge_after_a_file(tmp_path):
    a = R(rs.Trees(max_features=2), 6, random_state=0).fit(X, y)
    b = R(frame=a.frame_).fit(NEW, NEW[:, 0])
    back, other = through(a, tmp_path), through(b, tmp_path)
    assert same_answers(a.merge(b), back.merge(other))


@pytest.mark.parametrize(
    "model",
    [
        R(rs.Fourier(), np.inf),
        R(rs.Fourier(), 8, scales="rotate"),
        R(rs.Fourier(), 8, scales="learn", standardize="robust"),
        R(rs.Fourier(), 100),
        R(rs.Fourier(), 8, solver="qr"),
        R(rs.Fourier(), 8, bound=3.0),
        R(rs.Fourier(), 8, solver="sketched"),
        R(rs.Fourier(), 8, loss=rs.losses.Pinball(0.2), alpha=0.1),
        R(rs.Bins(), 5, solver="dual"),
        R(frame=rs.Frame.read(X, "stumps", 9, random_state=1)),
        C(rs.Fourier(), np.inf, class_weight="balanced"),
        C(rs.Bins(), 5, loss="hinge", bound=10.0, alpha=1.0),
    ],
    ids=repr,
)
def test_every_route_comes_back(model, tmp_path):
    model = clone(model).set_params(random_state=0)
    targets = y > 0 if isinstance(model, C) else y
    model.fit(X, targets)
    back = through(model, tmp_path)
    assert same_answers(model, back)
    assert repr(back) == repr(model)
    if hasattr(model, "leave_one_out") and model.solution_.least_squares is not None:
        assert np.array_equal(model.leave_one_out(X, targets), back.leave_one_out(X, targets))
    for name in ("alpha_", "weights_", "intercept_", "validation_"):
        assert same(getattr(model, name), getattr(back, name)), name
    assert str(back.solution_) == str(model.solution_)


@pytest.mark.parametrize("statistics", [True, False])
def test_portfolios(statistics, tmp_path):
    model = R("auto", effort="fast", random_state=0).fit(X, y)
    back = through(model, tmp_path, statistics=statistics)
    assert repr(back.portfolio_) == repr(model.portfolio_)
    if statistics:
        assert same_answers(model, back)
        assert np.array_equal(model.leave_one_out(X, y), back.leave_one_out(X, y))
        if not model._model.staged:
            more = (NEW, NEW[:, 0])
            assert same_answers(pickled(model).partial_fit(*more), back.partial_fit(*more))
    else:
        assert np.array_equal(back.predict(NEW), model.predict(NEW))
        # Without posteriors intervals are as wide near the rows, and no wider far from them.
        widths = [np.subtract(*one.predict_interval(X)[::-1]).mean() for one in (back, model)]
        assert widths[0] == pytest.approx(widths[1], rel=0.5)
        with pytest.raises(ValueError, match="saved without"):
            back.leave_one_out(X, y)


# -- kinds of data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        [3, 7],
        np.array([1, 2, 200], dtype=np.uint8),
        [1.0, 2.0, 30.0],
        ["a", "bcd"],
        np.array(["x", "longer", "z"], dtype=object),
        np.array([2**60, 2**60 + 1]),
        ["\ud800", "ü", "\x00b"],
    ],
    ids=repr,
)
def test_class_labels_of_every_type(labels, tmp_path):
    labels = np.asarray(labels)
    targets = labels[np.digitize(y, [-0.3, 0.4][: len(labels) - 1])]
    model = C(rs.Fourier(), 6, alpha=0.1, random_state=0).fit(X, targets)
    back = through(model, tmp_path)
    assert back.classes_.dtype == model.classes_.dtype
    assert np.array_equal(back.predict(NEW), model.predict(NEW))
    assert same_answers(model.partial_fit(X, targets), back.partial_fit(X, targets))


@pytest.mark.parametrize(
    "state",
    [
        None,
        7,
        np.int64(7),
        np.random.RandomState(3),
        np.random.default_rng(3),
        *(
            np.random.Generator(kind(5))
            for kind in (
                np.random.Philox,
                np.random.SFC64,
                np.random.MT19937,
                np.random.PCG64DXSM,
            )
        ),
    ],
    ids=str,  # repr has addresses
)
def test_random_states_stand_where_they_stood(state, tmp_path):
    if hasattr(state, "normal"):
        state.normal(size=3)  # half of a pair of normals is kept
        if isinstance(state, np.random.Generator):
            state.integers(5, dtype=np.uint32)
    model = R(rs.Fourier(), 5, random_state=state)
    back = through(model, tmp_path)
    assert type(back.random_state) is type(state)
    if hasattr(state, "normal"):
        assert np.array_equal(back.random_state.normal(size=9), state.normal(size=9))
    elif state is not None:
        assert same_answers(model.fit(X, y), back.fit(X, y))


def test_tables_with_categories_dates_and_holes(tmp_path):
    frame = table(np.random.default_rng(0).normal(size=(120, 3)))
    frame["grade"] = pd.Categorical(np.arange(120) % 4)
    kinds = {"categories": ["grade"], "columns": {"many": "category"}}
    model = R(rs.Fourier(), 10, alpha=0.1, **kinds, random_state=0)
    model.fit(frame[:100], y=np.arange(100.0))
    back = through(model, tmp_path)
    assert list(back.feature_names_in_) == list(frame.columns)
    assert repr(back.frame_) == repr(model.frame_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that are new
        assert same_answers(model, back, frame[100:])
        more = (frame[100:], np.arange(20.0))
        assert same_answers(model.partial_fit(*more), back.partial_fit(*more), frame)


def test_sparse_rows_of_a_kernel_machine(tmp_path):
    for kind in (sparse.csr_array, sparse.csr_matrix):
        thin = kind(np.where(np.abs(X) > 1, X, 0.0))
        model = R(rs.Fourier("laplacian"), np.inf, random_state=0).fit(thin, y)
        back = through(model, tmp_path)
        assert type(back.functions_.train.values) is type(model.functions_.train.values)
        assert same_answers(model, back, thin[:9])


def test_parameters_come_back_as_they_were_written(tmp_path):
    parameters = {
        "scales": [1.0, 2, np.float32(0.5)],
        "alpha": np.float64(0.25),
        "bound": 3,
        "clip": None,
        "memory_limit": "2GB",
        "n_jobs": -1,
        "dtype": np.float64,
        "categories": (0, 2),
        "loss": rs.losses.Huber(),
        "verbose": 0,
        "n_components": np.int32(12),
        "family": rs.Bumps(gamma=(1, 2, 3), centers=np.ones((4, 3), np.float32)),
    }
    model = R(**parameters)
    back = through(model, tmp_path)
    for name, value in model.get_params(deep=False).items():
        found = getattr(back, name)
        assert type(found) is type(value), name
        assert same(found, value), name
    # A family that was left out gives way to that of a frame: it is still left out.
    other = rs.Frame.read(X, "bins", 4, random_state=0)
    assert through(R(), tmp_path).set_params(frame=other).fit(X, y).n_components_ == 4
    with pytest.raises(ValueError, match="The frame holds Bins"):
        through(R("fourier"), tmp_path).set_params(frame=other).fit(X, y)
    weighted = C(rs.Fourier(), 4, alpha=1.0, random_state=0, class_weight={False: 1.0, True: 2})
    assert through(weighted.fit(X, y > 0), tmp_path).class_weight == {False: 1.0, True: 2}


def test_families_frames_and_drawn_functions(tmp_path):
    family = rs.Fourier("stable", p=1.5, q=0.5) + rs.Bins(pitch=2.0)
    assert repr(through(family, tmp_path)) == repr(family)
    frame = rs.Frame.read(X, family, 7, random_state=3)
    assert through(frame, tmp_path).same_as(frame)
    drawn = family.draw(X, 7, random_state=3)
    assert (through(drawn, tmp_path)(NEW) != drawn(NEW)).nnz == 0
    model = R(rs.Bins(), 5, random_state=0).fit(X, y)
    assert (through(model.functions_, tmp_path)(NEW) != model.functions_(NEW)).nnz == 0


def test_the_method_of_estimators(tmp_path):
    for model in (R("fourier", 5), T("fourier", 5)):
        model.fit(X, y).save(tmp_path / "m.rsp", statistics=False, functions=False)
        back = rs.load(str(tmp_path / "m.rsp"))
        ask = "predict" if isinstance(model, R) else "transform"
        assert np.array_equal(getattr(model, ask)(NEW), getattr(back, ask)(NEW))
    panda = T("fourier", 3, random_state=0).set_output(transform="pandas").fit(X)
    assert through(panda, tmp_path).transform(NEW).equals(panda.transform(NEW))
