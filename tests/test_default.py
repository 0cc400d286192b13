"""The call without arguments: alpha by leave-one-out, copies and weights, the exact machine."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import randspan as rs
from randspan.solvers.left_out import walk
from randspan.tuning import width

R, C = rs.SpanRegressor, rs.SpanClassifier


def smooth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture
def table(rng):
    X = rng.normal(size=(200, 3))
    return X, smooth(X) + 0.5 * rng.normal(size=200), rng.normal(size=(1000, 3))


# -- alpha by leave-one-out ------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(150, 40), (60, 120), (1500, 1100)])
@pytest.mark.parametrize("intercept", [True, False])
def test_alpha_minimises_the_error_of_refitting_without_each_row(n, k, intercept, rng):
    """Of ridge regression by scikit-learn, on the same features."""
    X = rng.normal(size=(n, 2))
    y = smooth(X) + 0.3 * rng.normal(size=n)
    model = R(
        rs.Fourier(), k, fit_intercept=intercept, dtype="float64", random_state=0, scales=None
    )
    model.fit(X, y)
    assert model.validation_.kind == "leave_one_out"
    judges = rng.choice(n, 12, replace=False)
    Z, features = model.functions_(X), model.functions_.n_columns
    for factor in (1.0, 4.0):
        alpha = factor * model.alpha_
        fixed = clone(model).set_params(alpha=alpha, frame=model.frame_).fit(X, y)
        left = fixed.leave_one_out(X, y)
        for row in judges[: 12 if n < 500 else 2]:
            rest = np.delete(np.arange(n), row)
            ridge = Ridge(alpha=alpha * features, fit_intercept=intercept).fit(Z[rest], y[rest])
            assert left[row] == pytest.approx(ridge.predict(Z[[row]])[0], abs=2e-5)
        error = float(np.mean((left - y) ** 2))
        if factor == 1:
            assert model.validation_.error == pytest.approx(error, rel=1e-5)
        else:
            assert error >= 0.999 * model.validation_.error


def test_a_binary_column_has_the_means_of_its_groups(rng):
    x = np.repeat([0.0, 1.0], 50)[:, None]
    y = x[:, 0] + 0.1 * rng.normal(size=100)
    means = [y[:50].mean(), y[50:].mean()]
    for model in (
        R(random_state=0),
        R(n_components=100, random_state=0),
        R("bins", random_state=0),
    ):
        assert np.abs(model.fit(x, y).predict([[0.0], [1.0]]) - means).max() < 0.05
    assert C(random_state=0).fit(x, y > 0.5).predict([[0.0], [1.0]]).tolist() == [False, True]


@pytest.mark.parametrize("k", [100, np.inf, "auto"])
@pytest.mark.parametrize("copies", [2, 5, 20])
def test_copies_are_left_out_together(k, copies, table):
    X, y, new = table
    # a bandwidth of its own: of more than 512 rows the median heuristic looks at some
    model = R(rs.Fourier(gamma=0.2), n_components=k, dtype="float64", random_state=0)
    once, often = model.fit(X, y).predict(new), clone(model)
    often.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    before = np.mean((once - smooth(new)) ** 2)
    assert np.mean((often.predict(new) - smooth(new)) ** 2) < 1.1 * before
    weighted = clone(model).fit(X, y, sample_weight=np.full(200, float(copies)))
    np.testing.assert_allclose(weighted.predict(new), often.predict(new), atol=0.02)


@pytest.mark.parametrize("copies", [2, 5, 20])
def test_copies_of_classes_are_left_out_together(copies, table):
    X, y, new = table
    truth = smooth(new) > 0
    model = C(n_components=100, scales=None, random_state=0)
    once = clone(model).fit(X, y > 0)
    often = clone(model).fit(np.repeat(X, copies, axis=0), np.repeat(y > 0, copies))
    assert often.score(new, truth) > once.score(new, truth) - 0.02
    assert often.alpha_ / copies == pytest.approx(once.alpha_, rel=0.8)


def test_weights_and_copies_lead_to_the_same_model_scales_included(table, rng):
    X, y, new = table
    counts = rng.integers(0, 4, size=200)
    for model in (R(random_state=0), R(n_components=50, dtype="float64", random_state=0)):
        weighted = clone(model).fit(X, y, sample_weight=counts.astype(float))
        copied = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        np.testing.assert_allclose(
            weighted.feature_importances_, copied.feature_importances_, atol=1e-6
        )
        np.testing.assert_allclose(weighted.predict(new), copied.predict(new), atol=1e-5)


def test_weights_that_sum_to_one(table):
    X, y, new = table
    for k in (60, np.inf):
        plain = R(n_components=k, scales=None, random_state=0).fit(X, y)
        shares = clone(plain).fit(X, y, sample_weight=np.full(200, 1 / 200))
        assert shares.alpha_ * 200 == pytest.approx(plain.alpha_, rel=0.6)
        errors = [np.mean((model.predict(new) - smooth(new)) ** 2) for model in (plain, shares)]
        assert errors[1] < 1.1 * errors[0]
    booster = AdaBoostClassifier(C(n_components=20, random_state=0), n_estimators=2)
    assert booster.fit(X, y > 0).score(X, y > 0) > 0.8


def test_a_frame_has_its_scales_already(table):
    X, y, _ = table
    frame = R(n_components=20, random_state=0).fit(X, y).frame_
    for scales in (np.ones(3), "learn"):
        with pytest.raises(ValueError, match="has its scales already"):
            R(n_components=20, frame=frame, scales=scales).fit(X, y)


def test_some_rows_judge_for_all_of_many(rng, monkeypatch):
    X = rng.normal(size=(3000, 3))
    y = smooth(X) + 0.5 * rng.normal(size=3000)
    model = R(rs.Fourier(), 150, scales=None, random_state=0)
    every = model.fit(X, y)
    known, alpha = every.validation_, every.alpha_
    monkeypatch.setattr("randspan.judging.MANY_ROWS", 2500)
    some = clone(model).fit(X, y)
    assert some.alpha_ == pytest.approx(alpha, rel=0.6)
    assert some.validation_.error == pytest.approx(
        known.error, abs=3 * some.validation_.standard_error
    )
    order = rng.permutation(3000)
    again = clone(model).set_params(frame=some.frame_).fit(X[order], y[order])
    # strata are cut by leverages, which rounding may order otherwise
    assert again.validation_.error == pytest.approx(some.validation_.error, rel=0.02)


def test_streams_of_few_rows_judge_by_them_and_of_many_by_a_formula(rng, monkeypatch):
    X = rng.normal(size=(300, 2))
    y = smooth(X) + 0.3 * rng.normal(size=300)
    whole = R(n_components=40, random_state=0).fit(X, y)
    stream = R(frame=whole.frame_).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert stream.validation_.kind == "leave_one_out"
    assert stream.alpha_ == whole.alpha_
    monkeypatch.setattr("randspan.model.KEPT_ROWS", 250)
    stream = R(frame=whole.frame_).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert stream.validation_.kind == "gcv"
    with pytest.raises(ValueError, match="needs all rows at once"):
        R(n_components=40, alpha="leave_one_out").partial_fit(X, y)


def test_a_walk_ends_where_the_error_is_least():
    for least in (-7, 0, 5):
        seen = []

        def error(j, least=least, seen=seen):
            seen.append(j)
            return (j - least) ** 2

        assert walk(error, 1, -7, 9) == least
        assert len(set(seen)) <= abs(least - 1) + 3


# -- the exact machine -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_machine_is_kernel_ridge_regression(weighted, rng):
    X = rng.normal(size=(120, 3))
    y = smooth(X) + 0.2 * rng.normal(size=120)
    w = rng.integers(1, 4, size=120).astype(float) if weighted else None
    model = R(rs.Fourier(gamma=0.4), np.inf, alpha=0.3, fit_intercept=False, standardize=False)
    peer = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.4).fit(X, y, sample_weight=w)
    model.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-9)
    found = clone(model).set_params(alpha="auto", fit_intercept=True).fit(X, y, sample_weight=w)
    left = found.leave_one_out(X, y, sample_weight=w)
    error = np.average((left - y) ** 2, weights=w)
    assert found.validation_.error == pytest.approx(error, rel=1e-6)


def test_many_rows_in_single_precision_have_weights_in_double(rng):
    X = rng.normal(size=(1200, 3))
    y = smooth(X) + 0.2 * rng.normal(size=1200)
    model = R(rs.Fourier(gamma=0.4), np.inf, alpha=0.01, standardize=False).fit(X, y)
    assert model.solution_.residual < 1e-9
    std = model.predict(X[:50], return_std=True)[1]
    assert (std > 0.1).all()
    assert len(pickle.dumps(model)) < 20 * X.nbytes  # no n × n matrix


def test_auto_takes_the_exact_machine_and_functions_beyond_its_limit(rng, monkeypatch):
    X = rng.normal(size=(400, 2))
    y = smooth(X) + 0.2 * rng.normal(size=400)
    model = R(random_state=0).fit(X[:300], y[:300])
    assert model.n_components_ == np.inf
    assert model.plan_for(300, 2).method == "kernel"
    assert R().plan_for(50_000, 2).method != "kernel"
    grown = pickle.loads(pickle.dumps(model)).partial_fit(X[300:], y[300:])
    assert grown.n_components_ == np.inf
    other = R(frame=model.frame_).partial_fit(X[300:], y[300:])
    monkeypatch.setattr("randspan.planning.MOST_KERNEL_BYTES", 16 * 350**2)
    monkeypatch.setattr(width, "LAST", 256)
    reread = pickle.loads(pickle.dumps(model)).partial_fit(X[300:], y[300:])
    assert reread.n_components_ == 256
    assert "too many for an exact kernel machine" in reread.solution_.reason
    assert np.corrcoef(reread.predict(X), grown.predict(X))[0, 1] > 0.95
    frame = model.frame_.with_components(256)
    streamed = R(frame=frame).partial_fit(X, y)  # in float32, below whose ridges only a fit looks
    np.testing.assert_allclose(reread.predict(X), streamed.predict(X), atol=2e-3)
    assert R(frame=frame).fit(X, y).validation_.error <= 1.001 * streamed.validation_.error
    merged = pickle.loads(pickle.dumps(model)).merge(other)
    np.testing.assert_allclose(merged.predict(X), reread.predict(X), atol=2e-3)
    functions = R(frame=frame).partial_fit(X[300:], y[300:])
    both = pickle.loads(pickle.dumps(model)).merge(functions)
    np.testing.assert_allclose(both.predict(X), reread.predict(X), atol=2e-3)


def test_the_exact_machine_streams_exactly_given_the_frame(rng):
    X = rng.normal(size=(160, 2))
    y = smooth(X) + 0.2 * rng.normal(size=160)
    whole = R(random_state=0, clip=None).fit(X, y)
    parts = R(frame=whole.frame_, clip=None)
    for rows in np.split(rng.permutation(160), [20, 90]):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-8)


@pytest.mark.parametrize("family", [rs.Trees(), rs.Hypotheses(lambda X, y, rng: lambda X: X[:, 0])])
def test_families_without_a_kernel_have_no_exact_machine(family, table):
    with pytest.raises(ValueError, match="no kernel in closed form"):
        R(family, np.inf).fit(*table[:2])


# -- columns ---------------------------------------------------------------------------------------


def test_a_column_that_never_changed_is_ignored_with_one_warning(rng):
    X = rng.normal(size=(300, 3))
    X[:, 2] = 7.0
    y = smooth(X) + 0.1 * rng.normal(size=300)
    model = R(random_state=0).fit(X, y)
    expected = model.predict(X)
    X[:, 2] += 1000 * rng.normal(size=300)
    with pytest.warns(UserWarning, match=r"1 column\(s\) that had one value only"):
        moved = model.predict(X)
    assert np.array_equal(moved, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_robust_columns_bend_their_tails(form, rng):
    X = rng.normal(size=(400, 2))
    X[X < -0.5] = 0
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)
    X[::50] *= 1e6  # a few wild rows
    law = {"n_components": 200, "standardize": "robust", "clip": None}
    model = R(**law, random_state=0).fit(form(X), y)
    calm = np.delete(np.arange(400), np.arange(0, 400, 50))
    assert np.mean((model.predict(form(X[calm])) - y[calm]) ** 2) < 0.1
    rows = model.frame_.rows(X, np.float64).dense
    assert np.abs(rows / model.frame_.scale if model.frame_.scale is not None else rows).max() <= 3
    stream = R(**law, frame=model.frame_)
    stream.partial_fit(form(X[:150]), y[:150]).partial_fit(form(X[150:]), y[150:])
    np.testing.assert_allclose(stream.predict(form(X)), model.predict(form(X)), atol=1e-3)
    with pytest.raises(ValueError, match="or 'robust', for heavy tails"):
        R(standardize="strong").fit(X, y)


def test_dense_and_sparse_robust_columns_agree(rng):
    X = rng.poisson(0.7, size=(300, 4)) * rng.exponential(size=(300, 4))
    y = np.sqrt(X[:, 0]) + 0.1 * rng.normal(size=300)
    for k in (50, np.inf):
        model = R(n_components=k, standardize="robust", dtype="float64", random_state=0)
        dense, thin = clone(model).fit(X, y), clone(model).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-5)


# -- what used to go wrong -------------------------------------------------------------------------


def test_a_column_of_next_to_nothing(rng):
    x = (rng.random((5000, 1)) < 0.001).astype(float)
    y = rng.normal(size=5000)
    for seed in range(3):
        model = R(n_components=128, random_state=seed).fit(x, y)
        assert np.isfinite(model.predict(x)).all()


@pytest.mark.parametrize("family", [rs.Fourier() + rs.Bins(), rs.Projections(), rs.Fourier()])
def test_constant_inputs_predict_the_mean(family, rng):
    X, y = np.full((50, 3), 0.1), rng.normal(size=50)
    model = R(family, 20, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=0.5 * y.std())


@pytest.mark.parametrize(
    ("scale", "message"),
    [((1e200, 1, 1), "X has"), ((1, 1e200, 1), "y has"), ((1, 1, 1e200), "weight")],
)
def test_numbers_whose_squares_are_none_are_refused(scale, message, table):
    X, y, _ = table
    a, b, c = scale
    with pytest.raises(ValueError, match=message):
        R(n_components=20).fit(a * X, b * y, sample_weight=np.full(200, float(c)))


def test_a_tiny_row_can_be_predicted_but_not_learned_from(table):
    X, y, _ = table
    model = R(n_components=20, random_state=0).fit(X, y)
    assert model.predict(np.full((1, 3), 1e-90)) == pytest.approx(model.predict(np.zeros((1, 3))))
    with pytest.raises(ValueError, match="next to nothing"):
        model.fit(1e-90 * X, y)


def test_functions_that_are_not_finite_are_refused(table):
    X, y, _ = table
    family = rs.Units(lambda values: np.where(values > 0, np.nan, values))
    with pytest.raises(ValueError, match="not finite numbers"):
        R(family, 20, random_state=0).fit(X, y)


def test_ridges_and_numbers_of_functions_beyond_reason_are_refused(table):
    X, y, _ = table
    with pytest.raises(ValueError, match="nothing but a constant"):
        R(n_components=20, alpha=1e308).fit(X, y)
    with pytest.raises(MemoryError, match="functions need at least"):
        R(n_components=10**9).fit(X, y)


def test_hubers_delta_is_read_from_residuals(rng):
    X = rng.normal(size=(600, 2))
    y = 1000 * (smooth(X) + 0.1 * rng.standard_t(2, size=600))
    model = R(n_components=60, loss="huber", random_state=0).fit(X, y)
    assert 60 < model._model.task.loss.delta < 600
    assert model.solution_.converged
    given = R(n_components=60, loss=rs.losses.Huber(delta=50.0), random_state=0).fit(X, y)
    assert given._model.task.loss.delta == 50.0
    with pytest.raises(ValueError, match="found by a fit"):
        rs.losses.Huber(delta=None).value(np.ones(2), np.zeros(2))


def test_no_warnings_of_numpy_on_a_plain_table(table):
    X, y, new = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        R(random_state=0).fit(X, y).predict(new)
        C(random_state=0).fit(X, y > 0).predict_proba(new)


def test_the_work_of_a_fit_does_not_fall_as_rows_are_added():
    """n·k² of the most functions: up to the budget, and then all of it."""
    rows = np.unique(np.geomspace(8_000, 2_000_000, 200).astype(int))
    for dtype in ("float32", "float64"):
        work = np.array([n * float(width._affordable(n, np.dtype(dtype))) ** 2 for n in rows])
        assert (work >= 0.8 * np.maximum.accumulate(work)).all()
        assert work.max() <= 1.1 * width.BUDGET / (width.SLOWER if dtype == "float64" else 1)


# -- parameters with an entry for every column -----------------------------------------------------


@pytest.mark.parametrize("k", ["auto", np.inf])
def test_one_gamma_a_column_is_scales_of_the_columns(k, table):
    """exp(-Σγ_m Δ_m²) is the kernel of columns times √γ_m, whatever else is asked for."""
    X, y, new = table
    gamma = np.array([2.0, 0.5, 0.1])
    for family, power in ((rs.Fourier, 0.5), (partial(rs.Fourier, "laplacian"), 1.0)):
        apart = R(family(gamma=gamma), k, random_state=0).fit(X, y)
        assert apart.plan_for(200, 3).method == "kernel"
        scaled = R(family(gamma=1.0), k, scales=gamma**power, random_state=0).fit(X, y)
        np.testing.assert_allclose(apart.predict(new), scaled.predict(new), atol=1e-9)


@pytest.mark.parametrize(
    "family",
    [
        rs.Bins(gamma=[2.0, 0.5, 0.1]),
        rs.Bins(pitch=[2.0, 0.5, 1.0]),
        rs.Bumps(gamma=[2.0, 0.5, 0.1]),
        rs.Bumps(gamma=0.5, centers=np.eye(3)),
        rs.Fourier(gamma=[2.0, 0.5, 0.1]) + rs.Bumps(gamma=[1.0, 1.0, 2.0]),
    ],
)
def test_parameters_of_columns_reach_the_exact_machine(family, table):
    X, y, new = table
    model = R(family, np.inf, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(new)).all()
    with pytest.raises(ValueError, match="3"):
        R(family, np.inf).fit(X[:, :2], y)
