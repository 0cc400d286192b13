"""ONNX graphs: onnxruntime and ONNX's reference evaluator predict what the library predicts."""

import inspect
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx.reference import ReferenceEvaluator
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import randspan as rs
from randspan.families import Family, Functions
from randspan.frame import Frame
from randspan.persistence.onnx import NoExport
from randspan.persistence.onnx.functions import EXPORTERS
from randspan.persistence.onnx.graph import FLOAT32, FLOAT64, Graph
from randspan.persistence.onnx.rows import Inputs, Standardised, rounded_up
from table import FAMILIES

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
BOTH = ("float64", "float32")
# Of the largest prediction. In float64 nothing but the order of sums differs.
WITHIN = {"float64": 1e-10, "float32": 5e-6}

rng = np.random.default_rng(7)
X = rng.normal(3.0, 2.0, size=(150, 4))
y = np.sin(X[:, 0]) + X[:, -1] ** 2 / 5
# Fewer than 256: of more the library has functions in float32 itself, unless it is asked not to.
NEW = rng.normal(3.0, 2.5, size=(200, 4))

REFUSED = {
    *("hypotheses", "hypotheses-random", "sheets", "sheets-smooth", "sheets-bare", "wavelets"),
    *("wavelets-tensor", "dictionary", "mercer", "union-of-sheets"),
}
TREES = ("trees", "leaves", "union-of-grown")


def session(graph):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def expected(model, rows):
    """What the library says of rows, by the names of the outputs."""
    if isinstance(model, T):
        found = model.transform(rows)
        return {"features": found.toarray() if sparse.issparse(found) else found}
    if isinstance(model, R):
        return {"prediction": model.predict(rows)}
    return {
        "label": model.predict(rows),
        "probabilities": model.predict_proba(rows),
        "scores": model.decision_function(rows),
    }


def same(found, wanted, within):
    assert found.shape == wanted.shape
    if found.dtype.kind == "f" and within:
        size = max(np.abs(wanted).max(initial=0.0), 1e-300)
        assert np.abs(found - wanted).max(initial=0.0) <= within * size
    else:
        np.testing.assert_array_equal(found, wanted)


def check(model, rows=NEW, dtypes=BOTH, reference=True, within=WITHIN):
    """Both referees, for many rows, one and none."""
    for dtype in dtypes:
        graph, some = rs.to_onnx(model, dtype=dtype), rows.astype(dtype)
        onnx.checker.check_model(graph, full_check=True)
        wanted, run = expected(model, some), session(graph)
        assert [one.name for one in run.get_outputs()] == list(wanted)
        for n in (len(some), 1, 0):
            found = run.run(None, {"X": some[:n]})
            for one, (name, value) in zip(found, wanted.items(), strict=True):
                same(one, value[:n], None if name == "label" else within[dtype])
                assert name == "label" or one.dtype == dtype
        if reference:
            with np.errstate(all="ignore"):  # log 0 = -∞ is meant
                found = ReferenceEvaluator(graph).run(None, {"X": some[:3]})
            for one, (name, value) in zip(found, wanted.items(), strict=True):
                same(one, value[:3], None if name == "label" else within[dtype])


# -- families --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in REFUSED])
def test_every_family(name):
    model = R(FAMILIES[name], 12, random_state=0).fit(X, y)
    # ONNX's reference evaluator ignores thresholds of trees that are tensors, those in float64.
    check(model, dtypes=["float64"], reference=name not in TREES)
    check(model, dtypes=["float32"])


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_other_families_are_refused_by_name(name):
    model = R(FAMILIES[name], 6, random_state=0).fit(X, y)
    family = "BrownianSheets" if name == "union-of-sheets" else type(FAMILIES[name]).__name__
    with pytest.raises(NoExport, match=rf"{family}\(.*\n?.*has no ONNX graph: .*Fit with one of"):
        rs.to_onnx(model)


def test_every_kind_of_functions_of_the_library_is_exported_or_refused():
    ours = {
        kind
        for kind in _kinds(Functions)
        if kind.__module__.startswith("randspan") and not inspect.isabstract(kind)
    }
    missing = {kind.__name__ for kind in ours - set(EXPORTERS)}
    refused = {"DictionaryFunctions", "HypothesisFunctions", "MultiresolutionFunctions"}
    assert missing == refused | {"KernelValues"}  # these are parts of expansions
    assert set(EXPORTERS) <= ours


def _kinds(kind):
    return {kind}.union(*map(_kinds, kind.__subclasses__()))


KERNELS = {
    **{name: rs.Fourier(name) for name in ("gaussian", "laplacian", "cauchy")},
    **{name: rs.Fourier(name) for name in ("matern12", "matern32", "matern52")},
    "stable": rs.Fourier("stable", p=1.5, q=1.2),
    "stumps": rs.Stumps(),
    "stumps-normal": rs.Stumps("normal"),
    "stumps-quantile": rs.Stumps("quantile"),
    **{f"units-{name}": rs.Units(name) for name in ("relu", "sign", "cos", "gaussian")},
    "units-plain": rs.Units("relu", bias=None),
    "bumps": rs.Bumps(),
    "bumps-normal": rs.Bumps(centers="normal"),
    "projections": rs.Projections(),
    "bins": rs.Bins(),
    "bins-hat": rs.Bins(pitch=5.0),
    "expansions": rs.KernelExpansions(anchors=20),
    "expansions-nystrom": rs.KernelExpansions(rs.Fourier(), coefficients="nystrom", anchors=20),
    "networks": rs.Networks(),
    "networks-plain": rs.Networks(bias=False),
    "networks-standard": rs.Networks(weights="standard"),
    "union": rs.Fourier() + rs.Stumps(),
}


@pytest.mark.parametrize("name", KERNELS)
def test_exact_kernel_machines(name):
    """In float64 inside, in both modes: training rows, where kernels have their tips, included."""
    model = R(KERNELS[name], np.inf, alpha=1e-2, random_state=0).fit(X, y)
    rows = np.vstack([X[:40], NEW[:40]])
    check(model, rows, within={"float64": 1e-10, "float32": 2e-7})


@pytest.mark.parametrize(
    ("kernel", "more"),
    [
        ("linear", {}),
        ("poly", {"degree": 2, "coef0": 0.5}),
        ("sigmoid", {}),
        ("cosine", {}),
        ("rbf", {}),
        ("laplacian", {}),
        ("chi2", {}),
        ("additive_chi2", {}),
    ],
)
def test_kernels_of_scikit_learn(kernel, more):
    family = rs.KernelExpansions(kernel, anchors=30, kernel_params=more)
    model = R(family, 20, alpha=1e-3, standardize=False, random_state=0).fit(np.abs(X), y)
    rows = np.abs(NEW)
    rows[:2] = 0.0  # no direction, no sum
    check(model, rows, within={"float64": 1e-10, "float32": 5e-5})


def test_wide_rows_meet_anchors_some_columns_at_a_time(monkeypatch):
    whole = R(rs.Fourier("cauchy") + rs.Bins(), np.inf, alpha=0.1, random_state=0).fit(X, y)
    cells = R(rs.Bins(), 10, random_state=0).fit(X, y)
    before = len(rs.to_onnx(whole).graph.node)
    monkeypatch.setattr("randspan.persistence.onnx.rows.AT_ONCE", 200)
    monkeypatch.setattr("randspan.persistence.onnx.cells.AT_ONCE", 9)
    assert len(rs.to_onnx(whole).graph.node) > before
    check(whole)
    check(cells)


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, "robust"])
@pytest.mark.parametrize("dtype", BOTH)
def test_trees_decide_alike_at_their_thresholds(dtype, standardize):
    """Rows at every threshold and beside it, as near as their type has numbers."""
    model = R(rs.Trees(max_features=4), 5, standardize=standardize, random_state=0).fit(X, y)
    frame, forest = model._model.frame, model._model.functions.forest
    inner = np.flatnonzero(forest.feature >= 0)[:80]
    columns = forest.feature[inner]
    rows = np.repeat(NEW.astype(dtype), 3, axis=0)[: 3 * len(inner)]
    cuts = _cuts(frame, dtype, columns, forest.threshold[inner])
    up, down = np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)
    for place, values in enumerate((cuts, up, down)):
        rows[np.arange(len(inner)) * 3 + place, columns] = values.astype(dtype)
    leaves = R(
        rs.Trees(output="leaves", max_features=4), 5, standardize=standardize, random_state=0
    )
    for one in (model, leaves.fit(X, y)):
        check(one, rows, [dtype], reference=False, within={"float64": 1e-14, "float32": 1e-7})
    # The threshold itself is the last to go left.
    seen = frame.rows(rows, FLOAT64).dense[np.arange(len(rows)), np.repeat(columns, 3)]
    left = seen <= np.repeat(forest.threshold[inner], 3)
    assert (left.reshape(-1, 3) == [True, False, True]).all()


def _cuts(frame, dtype, columns, thresholds):
    graph = Graph()
    X = graph.input("X", np.dtype(dtype), frame.n_features)
    rows = Standardised(Inputs(graph, X, frame.means), frame).rows(FLOAT64)
    return rows.cuts(columns, thresholds)


def test_cuts_of_columns_without_scale():
    frame = Frame(np.zeros(1), np.zeros(1), rs.Trees(), 1, 1, 0)
    least, most = _cuts(frame, "float32", np.array([0, 0]), np.array([-1.0, 1.0]))
    assert most == np.finfo(np.float32).max == -least


@pytest.mark.parametrize("dtype", BOTH)
def test_stumps_decide_alike_at_their_thresholds(dtype):
    for standardize in (True, False, "robust"):
        model = T(rs.Stumps(), 60, standardize=standardize, dtype=dtype, random_state=0).fit(X)
        functions, frame = model.functions_, model.frame_
        cuts = _cuts(frame, dtype, functions.columns, functions.thresholds)
        rows = np.vstack([cuts, np.nextafter(cuts, np.inf)]).astype(dtype)
        check(model, np.repeat(rows.reshape(-1, 1), 4, axis=1), [dtype], within={dtype: 0})


def test_thresholds_are_rounded_up():
    numbers = np.array([0.1, -0.1, 1.0, 1e300, -1e300, np.inf, -np.inf])
    found = rounded_up(numbers, FLOAT32)
    assert (found.astype(np.float64) >= numbers).all()
    below = np.nextafter(found[:3], np.float32(-np.inf))
    assert (below.astype(np.float64) < numbers[:3]).all()
    assert found[2] == 1


@pytest.mark.parametrize("dtype", BOTH)
def test_cells_are_the_same_and_unknown_ones_have_no_weight(dtype):
    model = R(rs.Bins(), 20, random_state=0).fit(X, y)
    check(model, dtypes=[dtype], within={"float64": 1e-14, "float32": 1e-7})
    features = T(rs.Bins(), 20, dtype=dtype, random_state=0).fit(X)
    check(features, dtypes=[dtype], within={"float64": 0, "float32": 0})
    run = session(rs.to_onnx(model, dtype=dtype))
    far = np.full((2, 4), 1e6, dtype=dtype)
    np.testing.assert_allclose(run.run(None, {"X": far})[0], model.intercept_, rtol=1e-6)


def test_cells_at_their_edges():
    """Pitch 1, no shift of the columns: whole numbers are edges, and belong to the cell above."""
    model = T(rs.Bins(pitch=1.0), 1, standardize=False, dtype="float64", random_state=0)
    grid = np.arange(-5.0, 6.0)[:, None]
    model.fit(grid)
    shift = model.functions_.shifts[0, 0]
    rows = np.concatenate([grid + shift, np.nextafter(grid + shift, -np.inf)])
    check(model, rows, ["float64"], within={"float64": 0})
    check(model, rows, ["float32"], within={"float32": 0})


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"standardize": False},
        {"standardize": "robust"},
        {"scales": "learn"},
        {"scales": [1, 2, 0, 0.5]},
        {"fit_intercept": False},
        {"clip": 1.0},
        {"clip": None},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_frames(more):
    for family in (rs.Fourier() + rs.Stumps("normal") + rs.Bins(), rs.Units(direct=True)):
        check(R(family, 21, random_state=0, **more).fit(X, y), within=WITHIN)


def test_rotated_inputs():
    check(R(rs.Fourier(), 20, scales="rotate", random_state=0).fit(X, y))


def test_constant_columns_and_large_offsets():
    away = np.array([1e6, 0.0, 0.0, 0.0])
    rows, new = X + away, NEW + away
    rows[:, 1] = 7.0
    for family in (rs.Fourier(), rs.Stumps(), rs.Bins(), rs.Trees()):
        model = R(family, 15, random_state=0).fit(rows, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a column that had one value
            check(model, new, reference=False)


def test_missing_values_are_taken_for_means():
    rows = NEW.copy()
    rows[::3, 0] = rows[1::3, 2] = np.nan
    for family in (rs.Fourier(), rs.Trees()):
        model = R(family, 15, random_state=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that were never missing in training
            check(model, rows, reference=False)


@pytest.mark.parametrize("dtype", BOTH)
def test_rows_with_infinity_have_no_answer(dtype):
    rows = NEW[:4].astype(dtype)
    rows[1, 2], rows[2, 0] = np.inf, -np.inf
    for family in (rs.Bins(), rs.Trees(), rs.Stumps()):
        for model in (R(family, 9, random_state=0).fit(X, y), T(family, 9).fit(X, y)):
            found = session(rs.to_onnx(model, dtype=dtype)).run(None, {"X": rows})[0]
            known = np.isfinite(found.reshape(4, -1)).all(axis=1)
            assert known.tolist() == [True, False, False, True]
    for target in (y > 1, np.searchsorted([0.2, 1.5], y)):
        fitted = C(rs.Bins(), 9, random_state=0).fit(X, target)
        streamed = C(rs.Bins(), 9, random_state=0).partial_fit(X, target)
        for model in (fitted, streamed):
            _, *found = session(rs.to_onnx(model, dtype=dtype)).run(None, {"X": rows})
            for one in found:
                known = np.isfinite(one.reshape(4, -1))
                assert known.all(axis=1).tolist() == [True, False, False, True]
                assert not known[1:3].any()


def test_one_column_and_one_function():
    """A scale that is one number stands beside a product, which onnxruntime likes to fuse."""
    for family in (rs.Fourier(), rs.Networks((4, 3), "gaussian"), rs.Bins(), rs.Trees()):
        for count in (1, 9):
            model = R(family, count, random_state=0).fit(X[:, :1], y)
            check(model, NEW[:, :1], reference=False)


def test_sparse_rows_in_training():
    rows = sparse.random(200, 6, 0.4, random_state=0, format="csr")
    new = sparse.random(200, 6, 0.4, random_state=1).toarray()
    targets = np.asarray(rows.sum(axis=1)).ravel()
    for family, count in ((rs.Fourier() + rs.Bins(), 20), (rs.Bumps(), 20), (rs.Fourier(), np.inf)):
        for standardize in (True, "robust"):
            model = R(family, count, standardize=standardize, random_state=0).fit(rows, targets)
            check(model, new, reference=False, within={"float64": 1e-9, "float32": 5e-6})


# -- estimators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [rs.Fourier(), rs.Bins(), rs.Trees() + rs.Units(direct=True)])
def test_several_outputs(family):
    Y = np.column_stack([y, y**2, X[:, 1]])
    for targets in (Y, Y[:, :1]):
        check(R(family, 14, random_state=0).fit(X, targets), reference=False)


LABELS = {
    "int": np.array([3, 5, 9]),
    "strings": np.array(["ä", "b", "no"]),
    "objects": np.array(["x", "yy", "z"], dtype=object),
    "bool": np.array([False, True]),
    "float": np.array([0.0, 2.0]),
    "two": np.array([-1, 1], dtype=np.int8),
    "unsigned": np.array([1, 2, 200], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels(kind):
    labels = LABELS[kind]
    cuts = np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
    target = labels[np.searchsorted(cuts, y)]
    check(C(rs.Fourier(), 30, random_state=0).fit(X, target))
    check(C(rs.Trees(), 9, random_state=0).fit(X, target), reference=False)


@pytest.mark.parametrize(
    ("loss", "classes"),
    [("squared", 2), ("squared", 3), ("logistic", 2), ("logistic", 3), ("hinge", 2)],
)
def test_probabilities(loss, classes):
    cuts = np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1])
    target = np.searchsorted(cuts, y)
    model = C(rs.Fourier(), 10, loss=loss, alpha=0.1, clip=0.5, random_state=0).fit(X, target)
    assert (model._model.calibration is None) == (loss == "logistic")
    check(model)


@pytest.mark.parametrize("classes", [2, 3])
def test_streams_have_probabilities_by_squares(classes):
    target = np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)
    model = C(rs.Bins() + rs.Fourier(), 20, random_state=0)
    model.partial_fit(X[:80], target[:80], classes=np.arange(classes)).partial_fit(
        X[80:], target[80:]
    )
    model.forget(X[:10], target[:10])
    assert model._solved.calibration is None
    check(model)


def test_labels_that_onnx_has_not():
    model = C(rs.Fourier(), 5, random_state=0).fit(X, y > 0)
    for labels in (
        np.array([(1, 2), (3, 4)], dtype="i,i"),
        np.array([1, 2**63 + 1], dtype=np.uint64),
        np.array([1, "two"], dtype=object),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ):
        model.classes_ = labels
        with pytest.raises(NoExport, match=r"labels such as .* have no type.*fit with labels"):
            rs.to_onnx(model)


@pytest.mark.parametrize("name", ["fourier", "bins", "leaves", "trees", "hybrid", "union-of-three"])
def test_transformers(name):
    model = T(FAMILIES[name], 11, random_state=0).fit(X, y)
    check(model, dtypes=["float64"], reference=name not in TREES, within={"float64": 1e-6})
    check(model, dtypes=["float32"])
    exact = T(FAMILIES[name], 11, dtype="float64", random_state=0).fit(X, y)
    check(exact, dtypes=["float64"], reference=False)


def test_portfolios():
    """A kernel machine beside trees, with frames of their own, weights and an offset."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(300, 4))
    target = np.sin(2 * rows[:, 0]) + 2.0 * (rows[:, 3] > 0.4) + 0.1 * draw.normal(size=300)
    model = R("auto", random_state=0).fit(rows, target)
    assert len(model._model.models) > 1
    check(model, rows[:200] + 0.1, reference=False, within={"float64": 1e-9, "float32": 5e-6})
    named = np.array(["a", "b", "c"])[np.searchsorted([0.2, 1.5], target)]
    model = C("auto", effort="fast", random_state=0).fit(rows, named)
    assert model._model.calibration is not None
    check(model, rows[:200] + 0.1, reference=False)


def test_rows_one_by_one_are_rows_together():
    model = R(rs.Fourier() + rs.Bins() + rs.Stumps(), 30, random_state=0).fit(X, y)
    run = session(rs.to_onnx(model, dtype="float64"))
    whole = run.run(None, {"X": NEW[:40]})[0]
    alone = [run.run(None, {"X": NEW[r : r + 1]})[0] for r in range(40)]
    np.testing.assert_allclose(np.concatenate(alone), whole, rtol=1e-12)


# -- files and refusals ----------------------------------------------------------------------------


def test_the_file(tmp_path):
    model = C(rs.Fourier(), 10, random_state=0).fit(X, y > 0)
    graph = rs.to_onnx(model, tmp_path / "model.onnx")
    read = onnx.load(tmp_path / "model.onnx")
    assert read == graph
    assert (read.producer_name, read.ir_version) == ("randspan", 8)
    assert {one.domain: one.version for one in read.opset_import} == {"": 18, "ai.onnx.ml": 4}
    rows = read.graph.input[0].type.tensor_type
    assert rows.elem_type == onnx.TensorProto.FLOAT
    assert [one.dim_param or one.dim_value for one in rows.shape.dim] == ["N", 4]


def test_float32_is_the_smaller_file():
    wide = rng.normal(size=(600, 30))
    model = R(rs.Fourier(), 300, alpha=0.1, random_state=0).fit(wide, wide[:, 0])
    small, large = (rs.to_onnx(model, dtype=dtype).ByteSize() for dtype in ("float32", "float64"))
    assert small < 0.75 * large


def test_a_graph_beyond_the_limit_of_files_is_refused(monkeypatch):
    model = R(rs.Fourier(), 10, random_state=0).fit(X, y)
    monkeypatch.setattr("randspan.persistence.onnx.graph.LARGEST", 1000)
    with pytest.raises(NoExport, match="use fewer functions"):
        rs.to_onnx(model)


def _squash(u):
    return u / (1 + np.abs(u))


def _kernel(x, z):
    return x @ z.T


class Chirps(Family):
    """Functions of a user's own."""

    def sample(self, n_features, n_components, seed):
        return ChirpFunctions(self, n_features, n_components)


class ChirpFunctions(Functions):
    def evaluate(self, rows):
        return np.sin(rows.norms()[:, None] + np.arange(self.n_components)).astype(rows.dtype)


@pytest.mark.parametrize(
    ("family", "count", "reason"),
    [
        (rs.Units(_squash), 5, "activation is a Python function"),
        (rs.Networks(activation=_squash), 5, "activation is a Python function"),
        (rs.KernelExpansions(_kernel), 5, "kernel is a Python function"),
        (rs.Bins(kernel=lambda r: np.exp(-r)), np.inf, "table of a distribution"),
        (rs.BrownianSheets(), np.inf, "no operators in ONNX"),
        (Chirps(), 5, "families of this library alone"),
        (rs.Fourier() + Chirps(), 5, r"Chirps\(\) has no ONNX graph"),
    ],
)
def test_functions_of_your_own_are_refused_by_name(family, count, reason):
    model = R(family, count, alpha=0.1, random_state=0).fit(X, y)
    with pytest.raises(NoExport, match=reason):
        rs.to_onnx(model)


def test_a_loss_with_probabilities_of_its_own_is_refused():
    class Own(rs.losses.Logistic):
        pass

    model = C(rs.Fourier(), 5, loss=rs.losses.Squared(), random_state=0).fit(X, y > 0)
    object.__setattr__(model._model.task, "loss", Own())
    with pytest.raises(NoExport, match="probabilities of its own"):
        rs.to_onnx(model)


def test_tables_are_refused_and_frames_of_numbers_are_not():
    table = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 3, "red", "blue")})
    with pytest.raises(NoExport, match=r"'colour' is a category.*encode categories"):
        rs.to_onnx(R(rs.Fourier(), 10, random_state=0).fit(table, y))
    holes = X.copy()
    holes[:5, 2] = np.nan
    with pytest.raises(NoExport, match=r"number with missing values.*fill what is missing"):
        rs.to_onnx(R(rs.Fourier(), 10, random_state=0).fit(holes, y))
    numbers = pd.DataFrame(X, columns=list("abcd"))
    model = R(rs.Fourier(), 10, random_state=0).fit(numbers, y)
    graph = rs.to_onnx(model, dtype="float64")
    wanted = model.predict(pd.DataFrame(NEW, columns=list("abcd")))
    same(session(graph).run(None, {"X": NEW})[0], wanted, 1e-10)


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match=r"takes a fitted SpanRegressor.*got Pipeline.*skl2onnx"):
        rs.to_onnx(make_pipeline(StandardScaler(), R(rs.Fourier(), 5)).fit(X, y))
    with pytest.raises(NotFittedError):
        rs.to_onnx(R(rs.Fourier(), 5))
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', got 'float16'"):
        rs.to_onnx(R(rs.Fourier(), 5, random_state=0).fit(X, y), dtype="float16")


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"randspan\[onnx\]"):
        rs.to_onnx(R(rs.Fourier(), 5, random_state=0).fit(X, y))
