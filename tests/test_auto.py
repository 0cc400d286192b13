"""family="auto": several families weighed by rows that they have not seen."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import log_loss

import randspan as rs
from randspan.keys import keys_of
from randspan.sources import of_arrays
from randspan.statistics.base import CannotFit
from randspan.tuning import combining, racing, ranking

R, C = rs.SpanRegressor, rs.SpanClassifier


@pytest.fixture(scope="module")
def smooth():
    """A smooth function of two columns of five, and noise of deviation 0.3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=2400)
    return X[:600], y[:600], X[600:], y[600:]


@pytest.fixture(scope="module")
def model(smooth):
    return R("auto", random_state=0).fit(*smooth[:2])


def mse(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


def test_an_oblique_direction_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 6))
    direction = np.array([1, -1, 1, -1, 1, -1]) / np.sqrt(6)
    y = np.sin(3 * X @ direction) + 0.1 * rng.normal(size=2500)
    new = rng.normal(size=(900, 6))
    truth = np.sin(3 * new @ direction)
    turned = R("auto", effort="fast", random_state=0).fit(X, y)
    assert turned.frame_.rotation is not None
    scaled = R(rs.Fourier("matern52"), np.inf, scales="learn", random_state=0).fit(X, y)
    assert mse(turned, new, truth) < 0.5 * mse(scaled, new, truth)


def test_scales_do_not_know_the_rows_that_kernels_are_compared_on(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1300, 3))
    X[1200:] = X[:100]  # copies are on the same side
    y = np.sin(2 * (X[:, 0] - X[:, 1])) + 0.15 * rng.normal(size=1300)
    learned = []

    def descend(table, *rest):
        learned.append(table.rows)
        return before(table, *rest)

    before = ranking.descend
    monkeypatch.setattr(ranking, "descend", descend)
    model = R("auto", effort="fast", standardize=False, random_state=0).fit(X, y)
    known = ranking.apart(of_arrays(X, y[:, None], None), 400)
    assert 400 <= known.sum() < 500
    seen = {row.tobytes() for row in learned[0]}
    assert len(seen) == 800
    assert not any(row.tobytes() in seen for row in X[known].astype(np.float32))
    # The estimate of a model whose inputs were turned is the error of these rows.
    assert model.frame_.rotation is not None
    away = (y - model.leave_one_out(X, y))[known]
    assert model.validation_.error == pytest.approx(np.mean(away**2), rel=1e-6)


# -- weights -------------------------------------------------------------------------------------


def test_weights_are_those_of_a_constrained_least_squares_problem():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(300, 2)) * [1.0, 10.0] + [5.0, -3.0]
    P = np.stack([Y + rng.normal(size=Y.shape) * s * [1.0, 10.0] for s in (0.5, 0.6, 3.0)])
    P[2] = -P[2]
    each = rng.uniform(0.5, 2, size=300)
    units = Y.std(axis=0)
    v, b = combining.solved(P, Y, each, units)

    def loss(x):
        away = (Y - np.tensordot(x[:3], P, axes=1) - x[3:]) / units
        return each @ (away**2).sum(axis=1)

    start = [0.3, 0.3, 0.3, *Y.mean(axis=0)]
    limits = [(0, None)] * 3 + [(None, None)] * 2
    best = minimize(loss, start, bounds=limits, options={"ftol": 1e-15, "gtol": 1e-10})
    assert v[2] == 0
    assert (v[:2] > 0.3).all()
    assert loss([*v, *b]) <= best.fun * (1 + 1e-6)


def test_models_that_know_nothing_leave_the_mean():
    rng = np.random.default_rng(1)
    Y = rng.normal(3.0, size=(500, 1))
    found = combining.combined([-Y, np.full((500, 1), 7.0)], Y, np.ones(500), keys_of(Y), 0)
    np.testing.assert_allclose(found.left_out, 3.0, atol=0.2)
    assert found.validation.error == pytest.approx(1.0, abs=0.2)


# -- what it is worth ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_of_one_row_nothing_is_known_without_it(tmp_path):
    X, Y = np.ones((30, 2)), np.random.default_rng(0).normal(size=(30, 2)) + 5
    weights = np.arange(30) == 3
    model = rs.SpanRegressor("auto", effort="fast", random_state=0)
    model.fit(X, Y, sample_weight=weights.astype(float)).save(tmp_path / "model.span")
    for one in (model, rs.load(tmp_path / "model.span")):
        np.testing.assert_allclose(one.predict(X[:1]), Y[3:4], rtol=1e-6)
        assert one.validation_.kind is None
        assert "one row" in one.validation_.reason


def test_it_is_as_good_as_the_best_of_its_models(model, smooth):
    """A single kernel, and trees: within 3 % of the better one on 1,800 test rows."""
    X, y, X_test, y_test = smooth
    others = [R(family, random_state=0).fit(X, y) for family in ("fourier", rs.Trees())]
    assert mse(model, X_test, y_test) <= 1.03 * min(mse(one, X_test, y_test) for one in others)


def test_the_estimate_is_honest(model, smooth):
    squares = (model.predict(smooth[2]) - smooth[3]) ** 2
    own = model.validation_
    assert own.kind == "combined"
    doubt = np.hypot(own.standard_error, squares.std() / np.sqrt(len(squares)))
    assert abs(own.error - squares.mean()) < 3 * doubt


def test_leave_one_out_is_what_the_estimate_is_made_of(model, smooth):
    X, y = smooth[:2]
    order = np.random.default_rng(0).permutation(len(y))
    found = model.leave_one_out(X[order], y[order])
    assert np.mean((found - y[order]) ** 2) == pytest.approx(model.validation_.error, rel=0.02)
    # It is no prediction that has seen its row: noise of 0.3 is left.
    assert np.std(found - y[order]) > 0.28
    with pytest.raises(ValueError, match="5 of 5 rows are not among those"):
        model.leave_one_out(X[:5], y[:5] + 1)


def test_the_combination_is_no_worse_than_any_candidate(model, smooth):
    variance = np.var(smooth[1])
    errors = [one.error for one in model.portfolio_ if one.rows == 600]
    assert model.validation_.error <= 1.03 * min(errors) * variance


@pytest.mark.parametrize("change", ["order", "copies"])
def test_neither_the_order_of_rows_nor_copies_change_what_is_said(change, smooth):
    """Folds of weights go by keys, and rows of one key tell no more than one of them."""
    X, y, new, _ = smooth
    once = R("auto", effort="fast", random_state=0).fit(X[:300], y[:300])
    rows = np.random.default_rng(0).permutation(300)
    rows = np.repeat(rows, 2) if change == "copies" else rows
    other = R("auto", effort="fast", random_state=0).fit(X[rows], y[rows])
    tell = {"rel": 1e-6 if change == "order" else 0.05}
    assert other.validation_.error == pytest.approx(once.validation_.error, **tell)
    assert other.validation_.standard_error == pytest.approx(
        once.validation_.standard_error, **tell
    )
    lengths = [np.subtract(*model.predict_interval(new)[::-1]).mean() for model in (once, other)]
    assert lengths[1] == pytest.approx(lengths[0], **tell)


def test_folds_of_the_combination_keep_rows_of_one_key_together():
    rng = np.random.default_rng(0)
    keys = np.repeat(rng.integers(2**63, size=50, dtype=np.uint64), 4)
    Y = np.repeat(rng.normal(size=(50, 1)), 4, axis=0)
    P = [Y + rng.normal(size=Y.shape), Y + rng.normal(size=Y.shape)]
    order = rng.permutation(len(Y))
    one = combining.combined(P, Y, np.ones(200), keys, 0)
    other = combining.combined([p[order] for p in P], Y[order], np.ones(200), keys[order], 0)
    np.testing.assert_allclose(other.left_out, one.left_out[order], rtol=1e-9)
    assert other.validation.error == pytest.approx(one.validation.error)
    alone = combining.combined(P, Y, np.ones(200), np.arange(200, dtype=np.uint64), 0)
    ratio = one.validation.standard_error / alone.validation.standard_error
    assert 0.7 < ratio < 1.4  # errors of a key differ from one another here; equal ones tell less
    P = [np.repeat(p[::4], 4, axis=0) for p in P]
    one = combining.combined(P, Y, np.ones(200), keys, 0)
    few = combining.combined([p[::4] for p in P], Y[::4], np.ones(50), keys[::4], 0)
    assert one.validation.standard_error == pytest.approx(few.validation.standard_error, rel=1e-9)


@pytest.mark.parametrize("n", [2, 6, 25])
def test_rows_of_one_input_have_their_mean(n):
    """Without them nothing would be left: they are told apart."""
    X, y = np.ones((n, 3)), np.arange(float(n))
    model = R("auto", effort="fast", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-4)
    # What leaves one row out misses it by n/(n - 1) of its distance from the mean.
    expected = np.var(y) * (n / (n - 1)) ** 2
    assert model.validation_.error == pytest.approx(expected, rel=0.25)


def test_a_linear_model_among_them_extrapolates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=300)
    model = R("auto", random_state=0).fit(X, y)
    weights = {one.name: one.weight for one in model.portfolio_}
    assert weights["linear"] > 0.1
    # Far beyond the range of y, where predictions of kernels and trees are clipped.
    with pytest.warns(UserWarning, match="1 of 1 rows lie far outside"):
        assert model.predict([[0.0, -50.0, 0.0]])[0] > 2 * np.abs(y).max()


def test_a_stage_is_kept_only_where_it_pays(monkeypatch):
    few = replace(racing.EFFORTS["balanced"], exact_rows=400, functions=200)
    monkeypatch.setitem(racing.EFFORTS, "balanced", few)
    monkeypatch.setattr(racing, "FEW_ROWS", 400)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    smooth = np.sin(2 * X[:, 0]) + np.cos(X[:, 1] * X[:, 2])
    jump = 2.0 * (X[:, 3] > 0.4)
    noise = 0.1 * rng.normal(size=800)
    without = R("auto", random_state=0).fit(X, smooth + noise)
    assert not without._model.staged
    names = [one.name for one in without.portfolio_ if one.dropped]
    assert any(name.startswith("trees after") for name in names)
    both = R("auto", random_state=0).fit(X, smooth + jump + noise)
    for method in (both.partial_fit, both.forget):
        if both._model.staged:
            with pytest.raises(ValueError, match=r"trees after .* left over"):
                method(X[:5], (smooth + jump)[:5])


def test_what_trees_learn_from_is_the_same_whatever_the_last_digits_are():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 2)) * [1e-3, 50.0]
    said = combining.coarse(values)
    np.testing.assert_allclose(said, values, atol=2.0**-13 * values.std(axis=0).max())
    shaken = values * (1 + 1e-12 * rng.normal(size=values.shape))
    assert np.array_equal(combining.coarse(shaken), said)
    constant = np.full((10, 1), 0.3)
    assert np.array_equal(combining.coarse(constant), constant)


# -- classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (3, 5, 9)])
def test_classes(labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    score = X[:, 0] + X[:, 1] ** 2
    cut = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = np.array(labels)[np.searchsorted(cut, score)]
    model = C("auto", effort="fast", random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.9
    P = model.predict_proba(X[500:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X[500:])).all()
    # Calibrated on rows that were left out: the likelihood is that of honest probabilities.
    truth = P[np.arange(400), np.searchsorted(model.classes_, y[500:])]
    assert -np.log(truth).mean() < 0.35
    left = model.leave_one_out(X[:500], y[:500], method="predict_proba")
    assert left.shape == (500, len(labels))


# -- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_say(model, smooth, coverage):
    """1,800 rows: binomial deviation at most 0.012, and as much from 600 errors as again."""
    lower, upper = model.predict_interval(smooth[2], coverage)
    covered = np.mean((lower <= smooth[3]) & (smooth[3] <= upper))
    doubt = np.sqrt(coverage * (1 - coverage) * (1 / 1800 + 1 / 600))
    assert abs(covered - coverage) < 3 * doubt


def test_intervals_are_wide_where_noise_is_large():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 3))
    noise = np.where(X[:, 1] > 0, 1.0, 0.1)
    y = X[:, 0] + noise * rng.normal(size=3000)
    model = R("auto", effort="fast", random_state=0).fit(X[:1500], y[:1500])
    lower, upper = model.predict_interval(X[1500:], 0.9)
    loud = noise[1500:] == 1.0
    assert (upper - lower)[loud].mean() > 3 * (upper - lower)[~loud].mean()
    mean, std = model.predict(X[1500:], return_std=True)
    assert std[loud].mean() > 3 * std[~loud].mean()
    assert np.mean(((y[1500:] - mean) / std) ** 2) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("k", [50, np.inf])
def test_one_family_has_intervals_too(smooth, k):
    X, y, X_test, y_test = smooth
    model = R("fourier", k, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(X_test, 0.9)
    covered = np.mean((lower <= y_test) & (y_test <= upper))
    assert abs(covered - 0.9) < 3 * np.sqrt(0.09 * (1 / 1800 + 1 / 600))
    residuals = y - model.leave_one_out(X, y)
    inside = np.quantile(residuals, [0.05, 0.95])
    middle = model.predict(X_test)
    # Wider where training rows say less, narrower elsewhere, and about as wide in the middle.
    assert np.median(upper - middle) == pytest.approx(inside[1], rel=0.15)
    assert np.median(lower - middle) == pytest.approx(inside[0], rel=0.15)


def test_a_chance_that_is_none_is_refused(model, smooth):
    for coverage in (0, 1, -0.1, "most", np.nan):
        with pytest.raises(ValueError, match="coverage"):
            model.predict_interval(smooth[2], coverage)


# -- what it did ---------------------------------------------------------------------------------


def test_the_table_of_candidates(model):
    table = model.portfolio_
    text = repr(table)
    assert text.splitlines()[0].split()[:3] == ["candidate", "error", "±"]
    assert "behind on a sample" in text
    assert "<table>" in table._repr_html_()
    assert "trees" in model._repr_html_()
    assert len(table) == len(list(table))
    assert table[0].weight == max(one.weight for one in table)
    assert all(one.dropped for one in table if one.weight == 0)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances[:2].sum() > 0.8
    assert "fourier" in repr(model.frame_).lower()
    for name in ("weights_", "functions_", "solution_", "alpha_", "n_components_"):
        with pytest.raises(AttributeError, match="portfolio_ lists them"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="one family"):
        _ = R("fourier", 10).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).portfolio_


@pytest.mark.parametrize("kinds", [2, 3])
def test_errors_of_rare_classes_have_one_unit(kinds, smooth):
    """Those of kernels that were fitted to all rows, and of those that were behind on a sample."""
    X, y = smooth[0][:300], smooth[1][:300]
    labels = np.digitize(y, np.quantile(y, [0.9, 0.97])[: kinds - 1])
    weights = np.where(labels > 0, 3.0, 1.0)
    table = C("auto", random_state=0).fit(X, labels, sample_weight=weights).portfolio_
    kernels = [one for one in table if "kernel" in one.name]
    behind = [one.error for one in kernels if one.dropped == "behind on a sample"]
    best = min(one.error for one in kernels if one.error not in behind)
    # Nothing that is tried is twice as far off; the columns of a class have 4·0.25·0.75 at most.
    assert len(behind) > 1
    assert 0.9 * best < min(behind) < max(behind) < 1.5 * best


@pytest.mark.parametrize(
    ("name", "value"),
    [("loss", "huber"), ("bound", 1.0), ("scales", None), ("solver", "qr"), ("effort", "most"),
     ("fit_intercept", False), ("n_components", 100), ("n_components", np.inf)],
)  # fmt: skip
def test_what_a_portfolio_decides_itself_is_refused(name, value, smooth):
    with pytest.raises(ValueError, match=name.replace("fit_", "")):
        R("auto", **{name: value}).fit(*smooth[:2])


@pytest.mark.parametrize("family", ["fourier", rs.Trees()])
def test_what_a_portfolio_is_worth_is_not_asked_of_one_family(family, smooth):
    model = R(family, 10, effort="best", random_state=0)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="effort='best' is for family='auto'"):
            call(*smooth[:2])


# -- rows come and go ----------------------------------------------------------------------------


def test_rows_are_added_and_forgotten(model, smooth):
    X, y, X_test, y_test = smooth
    assert not model._model.staged
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X_test), model.predict(X_test))
    other.partial_fit(X_test[:300], y_test[:300])
    more = other.predict(X_test[300:])
    assert np.abs(more - model.predict(X_test[300:])).max() > 1e-3
    assert np.mean((more - y_test[300:]) ** 2) < 1.02 * mse(model, X_test[300:], y_test[300:])
    assert other.validation_.kind is None
    twin = pickle.loads(pickle.dumps(model)).partial_fit(X_test[300:400], y_test[300:400])
    twin.forget(X, y)
    merged = pickle.loads(pickle.dumps(other)).merge(twin)
    other.partial_fit(X_test[300:400], y_test[300:400])
    np.testing.assert_allclose(
        merged.predict(X_test[400:]), other.predict(X_test[400:]), rtol=1e-5, atol=1e-5
    )
    other.forget(X_test[:400], y_test[:400])
    np.testing.assert_allclose(other.predict(X_test), model.predict(X_test), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"different (families|models)"):
        other.merge(R("auto", random_state=1).fit(X, y))


def test_a_stream_begins_with_a_portfolio(smooth):
    X, y, X_test, y_test = smooth
    model = R("auto", effort="fast", random_state=0)
    model.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert mse(model, X_test, y_test) < 0.2


# -- rows of every kind --------------------------------------------------------------------------


def test_tables_with_strings_and_holes():
    rng = np.random.default_rng(0)
    n = 800
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["north", "south", "west"], n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    y = frame["size"] + 2.0 * (frame["town"] == "west") + 0.1 * rng.normal(size=n)
    model = R("auto", effort="fast", random_state=0).fit(frame[:500], y[:500])
    assert model.score(frame[500:], y[500:]) > 0.9
    assert len(model.feature_importances_) == 3
    unseen = frame[500:510].assign(town="east", age=None)
    with pytest.warns(UserWarning, match="east"):
        assert np.isfinite(model.predict(unseen)).all()


def test_weights_outputs_sparse_rows_and_few_rows(smooth):
    from scipy import sparse

    X, y = smooth[0][:200], smooth[1][:200]
    known = {"effort": "fast", "random_state": 0}
    Y = np.column_stack([y, 1e3 * X[:, 2]])
    model = R("auto", **known).fit(X, Y)
    assert model.predict(X[:3]).shape == (3, 2)
    lower, upper = model.predict_interval(X[:3])
    assert lower.shape == upper.shape == (3, 2)
    assert model.score(smooth[2], np.column_stack([smooth[3], 1e3 * smooth[2][:, 2]])) > 0.8
    dense, thin = (R("auto", **known).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.predict(X), thin.predict(sparse.csr_array(X)), atol=1e-3)
    # Rows of weight zero are not there.
    more, weights = np.vstack([X, X[:50] + 9]), np.repeat([1.0, 0.0], [200, 50])
    absent = R("auto", **known).fit(more, np.append(y, y[:50]), weights)
    np.testing.assert_allclose(absent.predict(X), dense.predict(X), atol=0.05)
    for n in (2, 5, 12):
        assert np.isfinite(R("auto", **known).fit(X[:n], y[:n]).predict(X)).all()
    constant = R("auto", **known).fit(X, np.full(200, 7.0))
    np.testing.assert_allclose(constant.predict(X[:5]), 7.0)


def test_the_same_seed_is_the_same_portfolio(smooth):
    X, y, X_test, _ = smooth
    first, again = (R("auto", effort="fast", random_state=3, n_jobs=2).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict(X_test), again.predict(X_test))
    alone = clone(first).set_params(n_jobs=1).fit(X, y)
    assert [one.name for one in alone.portfolio_] == [one.name for one in first.portfolio_]
    np.testing.assert_allclose(alone.predict(X_test), first.predict(X_test), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", [R, C])
def test_very_many_rows_have_bins(monkeypatch, kind):
    for name, value in {"MANY_ROWS": 900, "JUDGES": 300, "SAMPLE": 400}.items():
        monkeypatch.setattr(racing, name, value)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 3))
    y = np.sin(6 * X[:, 0]) + (X[:, 1] > 0.5) + 0.1 * rng.normal(size=3000)
    if kind is C:
        y = y > 0.5
    model = kind("auto", effort="fast", random_state=0).fit(X[:2000], y[:2000])
    judged = {one.name: one.rows for one in model.portfolio_}
    assert judged["bins"] == judged["trees"] == 300
    assert not any("kernel" in name for name in judged)
    assert model.score(X[2000:], y[2000:]) > 0.9
    assert model.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="not among those"):
        model.leave_one_out(X[:2000], y[:2000])


def test_more_rows_than_an_exact_machine_takes_have_its_functions(monkeypatch, smooth):
    X, y, X_test, y_test = smooth
    exact = R("auto", random_state=0).fit(X, y)
    few = replace(racing.EFFORTS["balanced"], exact_rows=200, functions=200, rows_each=1)
    monkeypatch.setitem(racing.EFFORTS, "balanced", few)
    functions = R("auto", random_state=0).fit(X, y)
    kernels = [one for one in functions._model.models if one.frame.n_components == 200]
    assert kernels
    assert mse(functions, X_test, y_test) < 1.05 * mse(exact, X_test, y_test)


def test_every_row_has_a_deviation_where_errors_are_alike_everywhere():
    X = np.random.default_rng(0).normal(size=(24, 1))
    model = rs.SpanRegressor("auto", effort="fast", random_state=0).fit(X, np.sin(5 * X[:, 0]))
    std = model.predict(X[:5], return_std=True)[1]
    assert model._model.spread.local is None
    assert std.shape == (5,)  # each its own: a posterior knows how far a row is from the others
    assert (std > 0).all()


@pytest.mark.parametrize("error", [ValueError, CannotFit, np.linalg.LinAlgError, IndexError])
def test_a_mistake_in_a_candidate_is_no_refusal(error, smooth, monkeypatch):
    """A shape that is wrong is not taken for rows that a family cannot fit."""

    def trees(race):
        raise error("operands could not be broadcast together")

    monkeypatch.setattr(racing._Race, "_trees", trees)
    X, y, *_ = smooth
    model = R("auto", effort="fast", random_state=0)
    if error in (CannotFit, np.linalg.LinAlgError):
        found = {one.name: one.dropped for one in model.fit(X[:300], y[:300]).portfolio_}
        assert "broadcast" in found["trees"]
    else:
        with pytest.raises(error, match="broadcast"):
            model.fit(X[:300], y[:300])


def noisy(n, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)


def test_how_far_off_is_said_of_the_rows_that_are_left(tmp_path):
    """After rows came and others went: intervals cover, deviations are those of errors."""
    X, y = noisy(200, 0.01, 0)
    other, targets = noisy(300, 1.0, 1)
    new, truth = noisy(2000, 1.0, 2)
    model = R("auto", effort="fast", random_state=0).fit(X, y)
    residuals = model._model.spread.errors
    model.partial_fit(other, targets).forget(X, y)
    for one in (model, rs.load(rs.save(model, tmp_path / "model") or tmp_path / "model")):
        lower, upper = one.predict_interval(new)
        assert np.mean((lower <= truth) & (truth <= upper)) > 0.8
        mean, std = one.predict(new, return_std=True)
        assert np.sqrt(np.mean((mean - truth) ** 2)) == pytest.approx(std.mean(), rel=0.25)
    held = pickle.dumps(model)
    for gone in (residuals, y, X):
        assert not any(row.tobytes() in held for row in gone)
    lean = tmp_path / "lean"
    rs.save(model, lean, statistics=False)
    with pytest.raises(ValueError, match="fit anew"):
        rs.load(lean).predict_interval(new)


def test_probabilities_are_not_those_of_rows_that_went():
    X, y = noisy(200, 0.01, 0)
    model = C("auto", effort="fast", random_state=0).fit(X, y > 0)
    labels = np.random.default_rng(1).random((2, 200)) < 0.5
    model.partial_fit(X + 0.01, labels[0]).forget(X, y > 0)
    assert log_loss(labels[1], model.predict_proba(X)) < 0.8  # of one half always: 0.69


@pytest.mark.parametrize("k", [30, np.inf])
def test_a_range_is_forgotten_where_rows_are_kept(k):
    X, y = noisy(100, 0.1, 0)
    model = R(rs.Fourier(), k, random_state=0).fit(X, y)
    model.partial_fit(X[:1] + 1, [1000.0]).forget(X[:1] + 1, [1000.0])
    margin = 0.1 * np.ptp(y)
    assert model.predict(X + 0.5).max() <= y.max() + margin + 1e-9
