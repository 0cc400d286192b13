"""What a user meets: names, refusals with advice, and warnings before it is too late."""

import inspect
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV

import randspan as rs
from randspan.engines.threads import n_threads
from randspan.families import Family, Functions
from randspan.families.fourier import FourierFunctions

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
TREES = rs.Trees(max_features=2)


def data(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(5.0, 3.0, size=(n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


X, y = data()


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    # Without a clip: predictions are those sums only where none is cut.
    [R(rs.Fourier(), 10, clip=None, random_state=0), C(rs.Fourier(), 10, random_state=0)],
)
def test_weights_are_those_of_functions_and_no_coef_is_to_be_had(model):
    model.fit(X, y if isinstance(model, R) else y > 0)
    assert model.weights_.shape[-1] == 10
    assert not hasattr(model, "coef_")
    f = model.functions_(X) @ model.weights_.ravel() + np.ravel(model.intercept_)
    found = model.predict(X) if isinstance(model, R) else model.decision_function(X)
    np.testing.assert_allclose(f, found, atol=1e-5)


@pytest.mark.parametrize("scales", ["learn", None])
def test_columns_are_selected_by_their_importances(scales):
    model = R(rs.Fourier(), 30, scales=scales, random_state=0)
    smooth = np.sin(X[:, 0] / 3)
    kept = SelectFromModel(model, max_features=1, threshold=-np.inf).fit(X, smooth)
    assert kept.get_support().tolist() == [True, False, False]
    found = RFE(model, n_features_to_select=1).fit(X, smooth)
    assert found.get_support().tolist() == [True, False, False]


@pytest.mark.parametrize("family", [rs.Fourier(), rs.Bins(), rs.Trees(), rs.Fourier() + rs.Bins()])
def test_functions_take_rows_as_the_user_has_them(family):
    model = R(family, 10, random_state=0, dtype="float64").fit(X, y)
    new = X[:7] + 0.01
    f = model.functions_(new) @ model.weights_ + model.intercept_
    np.testing.assert_allclose(f, model.predict(new), atol=1e-8)
    transformer = T(family, 10, random_state=0, dtype="float64").fit(X, y)
    ours, theirs = transformer.functions_(new), transformer.transform(new)
    np.testing.assert_allclose((ours - theirs * np.sqrt(10)).max(), 0, atol=1e-12)
    with pytest.raises(ValueError, match="drawn for 3 columns, X has 2"):
        model.functions_(new[:, :2])


def test_the_kernel_of_functions_takes_rows_as_the_user_has_them():
    model = R(rs.Fourier(gamma=0.5), 10, random_state=0).fit(X, y)
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = np.exp(-0.5 * ((x[:5, None] - x[:5]) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.functions_.kernel(X[:5]), expected, atol=1e-12)


def test_a_model_without_rows_has_no_weights():
    model = R(rs.Fourier(), 10, random_state=0).fit(X, y).forget(X, y)
    for name in ("weights_", "intercept_", "alpha_", "solution_", "validation_", "gcv_error_"):
        assert not hasattr(model, name), name
        with pytest.raises(AttributeError, match="holds no rows"):
            getattr(model, name)
    with pytest.raises(ValueError, match="holds no rows"):
        model.predict(X)


def test_predict_warns_of_rows_outside_and_counts_nothing():
    model = R(rs.BrownianSheets(), 5, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="rows have values outside"):
        model.predict(X + 100)
    assert model.n_outside_ == 0


def test_a_memory_limit_is_called_that():
    assert "memory" not in R().get_params()
    with pytest.raises(MemoryError, match="memory_limit=1000 grants"):
        R(rs.Fourier(), 30, memory_limit=1000).fit(X, y)


# -- frames --------------------------------------------------------------------------------------


def test_a_family_and_a_frame_that_disagree_are_refused():
    frame = R(rs.Bins(), 10, random_state=0).fit(X, y).frame_
    for model in (R("fourier", frame=frame), R(rs.Fourier(), frame=frame)):
        with pytest.raises(ValueError, match=r"The frame holds Bins\(\), the model asks for"):
            model.fit(X, y)
    for left_out in (R(frame=frame), clone(R(frame=frame)), pickle.loads(pickle.dumps(R()))):
        left_out.set_params(frame=frame).fit(X, y)
        assert left_out.n_components_ == 10
        assert left_out.frame_.family.sparse
    assert inspect.signature(R).parameters["family"].default == "fourier"


def test_frames_are_read_from_tables_and_from_blocks_with_targets():
    blocks = [X[:60], X[60:]]
    plain = rs.Frame.read(blocks, "fourier", 10, random_state=0)
    table = rs.Frame.read(X, "fourier", 10, random_state=0)
    judged = rs.Frame.read([(b, np.full(60, -1.0)) for b in blocks], "fourier", 10, random_state=0)
    for other in (table, judged):
        np.testing.assert_allclose(other.centre, plain.centre)
        np.testing.assert_allclose(other.scale, plain.scale)
    weights = np.repeat([1.0, 3.0], 60)
    weighted = rs.Frame.read([(X, y, weights)], "fourier", 10, random_state=0)
    np.testing.assert_allclose(weighted.centre, np.average(X, axis=0, weights=weights))
    with pytest.raises(ValueError, match=r"A block is X, \(X, y\) or \(X, y, sample_weight\)"):
        rs.Frame.read([(X, y, weights, 1)])


def test_a_stream_whose_frame_stays_and_tells_too_little_warns():
    """That of a transformer stays from the first block on, as its features were handed out."""
    constant = np.array(X)
    with pytest.warns(UserWarning, match=r"1 row\(s\), with 3 constant column\(s\) of 3"):
        T(rs.Fourier(), 10).partial_fit(X[:1])
    constant[:, 1] = 4.0
    with pytest.warns(UserWarning, match=r"120 row\(s\), with 1 constant"):
        T(rs.Fourier(), 10).partial_fit(constant)
    many, labels = np.tile(constant, (84, 1)), np.tile(np.arange(len(X)) % 2, 84)
    for kind in (R, C):
        stream = kind(rs.Fourier(), 10).partial_fit(many[:100], labels[:100])
        with pytest.warns(UserWarning, match=r"10080 row\(s\), with 1 constant"):
            stream.partial_fit(many[100:], labels[100:])
    frame = rs.Frame.read(X, "fourier", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T(rs.Fourier(), 10).partial_fit(X)
        for kind in (R, C):
            given = {"classes": [0, 1]} if kind is C else {}
            kind(rs.Fourier(), 10).partial_fit(X[:1], [0], **given)
            kind(n_components=10, frame=frame).partial_fit(X[:1], [0], **given)


def test_a_transformer_takes_a_frame_and_streams():
    frame = R(rs.Bins(), 10, random_state=0).fit(X, y).frame_
    whole = T(n_components=10, frame=frame).fit(X)
    stream = T(n_components=10, frame=frame)
    for start in range(0, 120, 30):
        stream.partial_fit(X[start : start + 30])
    assert stream.functions_.n_columns == whole.functions_.n_columns
    assert (stream.transform(X) != whole.transform(X)).nnz == 0
    np.testing.assert_allclose(stream.frame_.centre, frame.centre)
    dense = T(n_components=10, random_state=0).partial_fit(X).partial_fit(X[:3])
    assert np.array_equal(dense.transform(X), T(n_components=10, random_state=0).fit_transform(X))
    with pytest.raises(ValueError, match="4 features, but SpanTransformer is expecting 3"):
        dense.partial_fit(np.ones((3, 4)))


# -- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
def test_no_more_threads_than_the_process_was_given(name):
    code = (
        "import numpy as np\n"
        "from threadpoolctl import threadpool_info\n"
        "from randspan.engines.threads import blas_threads, n_threads\n"
        "with blas_threads(None, 10**6):\n"
        "    blas = [i['num_threads'] for i in threadpool_info() if i['user_api'] == 'blas']\n"
        "assert n_threads(None) == 1, n_threads(None)\n"
        "assert set(blas) == {1}, blas\n"
    )
    environment = {**os.environ, name: "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_limits_of_threadpoolctl_are_kept():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        assert n_threads(None) == 1
    assert n_threads(3) == 3


# -- once is enough ------------------------------------------------------------------------------


@pytest.fixture
def evaluated(monkeypatch):
    """How many rows functions were evaluated at."""
    rows, evaluate = [], FourierFunctions.evaluate

    def counted(self, block):
        rows.append(len(block))
        return evaluate(self, block)

    monkeypatch.setattr(FourierFunctions, "evaluate", counted)
    return rows


def test_features_are_evaluated_once(evaluated):
    model = R(rs.Fourier(), 20, random_state=0).fit(X, y)
    for ask in (
        lambda: model.predict(X, return_std=True),
        lambda: model.leave_one_out(X, y),
    ):
        evaluated.clear()
        ask()
        assert sum(evaluated) == len(X)


def test_a_stream_keeps_the_statistics_its_width_was_chosen_by(evaluated, monkeypatch):
    monkeypatch.setattr("randspan.planning.MOST_KERNEL_BYTES", 0)  # functions, as for many rows
    X, y = data(600)
    y = np.sin(X[:, 0] / 3) + 0.3 * (y - np.sin(X[:, 0]))
    R(random_state=0).fit(X, y)
    fitted = sum(evaluated)
    evaluated.clear()
    stream = R(random_state=0).partial_fit(X, y)
    assert sum(evaluated) == fitted
    whole = R(frame=stream.frame_, random_state=None).partial_fit(X, y)
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), atol=1e-3)
    more = stream.partial_fit(*data(300, seed=1))
    assert more.solution_.plan.statistics == "moments"


# -- leave-one-out of classes --------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leave_one_out_has_every_answer(n_classes):
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    settings = {"n_components": 10, "alpha": 0.1, "dtype": "float64"}
    model = C(rs.Fourier(), random_state=0, **settings).fit(X, labels)
    scores = model.leave_one_out(X, labels, method="decision_function")
    chances = model.leave_one_out(X, labels, method="predict_proba")
    decided = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[decided.astype(int)], model.leave_one_out(X, labels))
    assert chances.shape == (len(X), n_classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    row, rest = 5, np.arange(len(X)) != 5
    without = C(frame=model.frame_, alpha=0.1, dtype="float64").fit(X[rest], labels[rest])
    np.testing.assert_allclose(scores[row], without.decision_function(X[[row]])[0], atol=1e-8)
    with pytest.raises(ValueError, match="method must be one of 'predict', 'decision_function'"):
        model.leave_one_out(X, labels, method="proba")


# -- refused, or right ---------------------------------------------------------------------------


def test_the_number_of_functions_cannot_change_in_mid_stream():
    model = R(rs.Fourier(), 10, random_state=0).partial_fit(X, y)
    other = R(rs.Fourier(), 10, random_state=0).partial_fit(X, y)
    model.set_params(n_components=20)
    calls = (
        lambda: model.partial_fit(X, y),
        lambda: model.forget(X, y),
        lambda: model.merge(other),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"n_components=20 was set after .* 10 functions"):
            call()
    model.set_params(n_components="auto").partial_fit(X, y)
    transformer = T(n_components=10).partial_fit(X).set_params(n_components=20)
    with pytest.raises(ValueError, match=r"n_components=20 was set after .* 10 functions"):
        transformer.partial_fit(X)


@pytest.mark.parametrize("name", ["fit_intercept", "standardize"])
@pytest.mark.parametrize("value", ["no", 1.0, None])
def test_flags_are_true_or_false(name, value):
    with pytest.raises(ValueError, match=f"{name} must be True or False, got {value!r}"):
        R(n_components=5, **{name: value}).fit(X, y)
    assert R(n_components=5, **{name: np.False_}).fit(X, y)


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_class_weights_are_not_negative(weight):
    with pytest.raises(ValueError, match=r"class_weight must be numbers >= 0, got .* for class"):
        C(n_components=5, class_weight={0: 1.0, 1: weight}).fit(X, (y > 0).astype(int))


def test_a_mistyped_loss_is_told_losses_of_its_kind():
    with pytest.raises(ValueError, match=r"'hinge'.* or a loss such as rs.losses.Hinge\(\)"):
        C(loss="hing").fit(X, y > 0)
    with pytest.raises(ValueError, match=r"'huber'.* or a loss such as rs.losses.Huber\("):
        R(loss="hubr").fit(X, y)
    assert C(n_components=5, loss=rs.losses.Hinge(), alpha=1.0).fit(X, y > 0)


@pytest.mark.parametrize("model", [R(), C(), T(), R("stumps")])
def test_parameters_of_a_family_that_is_a_name(model):
    name = "threshold" if model.family == "stumps" else "gamma"
    value = "normal" if model.family == "stumps" else 2.0
    model.set_params(**{f"family__{name}": value})
    assert getattr(model.family, name) == value
    with pytest.raises(ValueError, match="Invalid parameter"):
        clone(model).set_params(family__nonsense=1)


def test_a_grid_search_over_the_default_family():
    grid = {"family__gamma": [1e-3, 0.5]}
    search = GridSearchCV(R(n_components=30, random_state=0), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"family__gamma": 0.5}


def test_models_solved_in_passes_say_why_they_do_not_merge():
    kept = R(rs.Fourier(), 10, alpha=0.1, random_state=0).fit(X, y)
    passes = R(frame=kept.frame_, solver="sketched", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"merge needs statistics .* 'sketched' does not keep"):
        kept.merge(passes)


# -- forgetting ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "k"),
    [
        *((rs.Fourier(), k) for k in (20, 200, np.inf)),
        (rs.Bins(), 10),
        (TREES, 10),
        (rs.Stumps(), 20),
    ],
)
def test_rows_that_were_never_there_are_refused_at_once(family, k):
    model = R(family, k, random_state=0).fit(X, y)
    before = pickle.dumps(model)
    for rows, targets in ((X[:5] + 20, y[:5]), (X[:50], y[:50] + 1.0), (-X, y)):
        with pytest.raises(ValueError, match=r"cannot have been in|were not in"):
            model.forget(rows, targets)
        assert pickle.dumps(model) == before
    for count in (1, 40, 110):
        fitted = clone(model).fit(X, y).forget(X[:count], y[:count])
        assert np.isfinite(fitted.predict(X)).all()


def test_what_was_forgotten_by_mistake_can_be_added_again(monkeypatch):
    from randspan import model as models
    from randspan.statistics import moments, remaining

    # As if there were very many functions, and too many rows to keep, or to know by their keys.
    monkeypatch.setattr(models, "KEPT_ROWS", 0)
    monkeypatch.setattr(remaining, "FEW_FUNCTIONS", 0)
    monkeypatch.setattr(moments, "FEW_KEYS", 0)
    X, y = data(400)
    model = R(rs.Fourier(), 60, alpha=1e-3, scales=None, random_state=0).fit(X, y)
    expected = model.predict(X)
    new, targets = data(40, seed=9)
    model.forget(new, targets)
    with pytest.raises(ValueError, match=r"add these rows again \(partial_fit"):
        model.predict(X)
    found = model.partial_fit(new, targets).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-3)


# -- families of one's own -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wrong(Functions):
    def evaluate(self, rows):
        return np.zeros((len(rows), self.n_components + 1))


class WrongShape(Family):
    def sample(self, n_features, n_components, seed):
        return Wrong(self, n_features, n_components)


class NoFunctions(Family):
    def sample(self, n_features, n_components, seed):
        return np.zeros((n_features, n_components))


class NoSample(Family):
    pass


@pytest.mark.parametrize(
    ("family", "error", "message"),
    [
        (
            WrongShape(),
            ValueError,
            r"Wrong.evaluate returned \(\d+, 6\) for \d+ rows",
        ),
        (NoFunctions(), TypeError, "NoFunctions.sample must return Functions"),
        (NoSample(), NotImplementedError, "NoSample does not say how its functions are drawn"),
    ],
)
def test_families_that_are_not_finished_are_refused_by_name(family, error, message):
    with pytest.raises(error, match=message):
        family.draw(X, 5, 0)
    with pytest.raises(error, match=message):
        R(family, 5, alpha=0.1).fit(X, y)
    with pytest.raises(error, match=message):
        (rs.Fourier() + family).draw(X, 10, 0)


@pytest.mark.parametrize("family", [rs.Fourier(), rs.Stumps(), rs.Bins(), rs.BrownianSheets()])
def test_a_family_prints_as_it_was_written_and_says_that_it_is_not_resolved(family):
    written = repr(family)
    for scales in (None,) if family.on_cube or written == "Stumps()" else (None, "learn"):
        model = R(family, 10, scales=scales, random_state=0).fit(X, y)
        assert repr(model.frame_.family) == repr(model.functions_.family) == written
        assert repr(model.family) == written
    with pytest.raises(ValueError, match=r"is not resolved: .* draw"):
        family.sample(3, 5, 0)
    before = model.predict(X)
    if hasattr(family, "gamma"):  # what was fitted has a copy of its own
        family.gamma = 1e3
        assert np.array_equal(model.predict(X), before)
        family.gamma = "median"
