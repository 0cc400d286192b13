"""Every family learns, and what users of scikit-learn rely on beyond its own checks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import randspan as rs
from table import FAMILIES, PRECISIONS


def data(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(("name", "dtype"), PRECISIONS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_every_family_learns(name, dtype, kind):
    """family × dtype × kind of input: better than a constant, and alike in every form."""
    X, y = data(600)
    if kind == "float32":  # the same numbers: rows are known by them, in samples too
        X = X.astype(np.float32).astype(np.float64)
    form = {"dense": X, "sparse": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    model = rs.SpanRegressor(FAMILIES[name], n_components=100, dtype=dtype, random_state=0)
    model.fit(form[:400], y[:400])
    score = model.score(form[400:], y[400:])
    # Linear functions, and signs of linear ones, see little of a target that is even in x.
    least = {"projections": -0.1, "units-sign": 0.1}.get(name, 0.3)
    assert score > least, score
    if kind == "float32" and (FAMILIES[name].uses_target or name == "mercer"):
        return  # between splits that are equally good, or close eigenvalues, rounding decides
    # At the same alpha: rounding may take the choice of it one step of the lattice further.
    # (Of functions that learned from the target a number asks for another fit.)
    alpha = "auto" if FAMILIES[name].uses_target else model.alpha_
    plain = clone(model).set_params(alpha=alpha).fit(X[:400], y[:400])
    gap = np.abs(plain.predict(X[400:]) - model.predict(form[400:])).max()
    assert gap < (1e-7 if dtype == "float64" and kind != "float32" else 0.05)


def test_names_and_families_are_the_same():
    X, y = data()
    for name in ("fourier", "stumps", "units", "bumps", "projections"):
        family = getattr(rs, name.capitalize())()
        a = rs.SpanRegressor(name, 20, random_state=0).fit(X, y).predict(X)
        b = rs.SpanRegressor(family, 20, random_state=0).fit(X, y).predict(X)
        assert np.array_equal(a, b)


def test_shapes_follow_scikit_learn():
    X, y = data()
    one = rs.SpanRegressor(n_components=20).fit(X, y)
    assert one.weights_.shape == (20,)
    assert isinstance(one.intercept_, float)
    two = rs.SpanRegressor(n_components=20).fit(X, np.column_stack([y, -y]))
    assert two.weights_.shape == (2, 20)
    assert two.intercept_.shape == (2,)
    mean, std = two.predict(X[:3], return_std=True)
    assert mean.shape == std.shape == (3, 2)
    np.testing.assert_allclose(mean[:, 0], -mean[:, 1], atol=1e-6)
    column = rs.SpanRegressor(n_components=20).fit(X, y[:, None])
    assert column.predict(X).shape == (300, 1)
    binary = rs.SpanClassifier(n_components=20).fit(X, y > 0)
    assert binary.weights_.shape == (1, 20)
    assert binary.decision_function(X).shape == (300,)
    many = rs.SpanClassifier(n_components=20).fit(X, np.digitize(y, [0, 1]))
    assert many.weights_.shape == (3, 20)
    assert many.decision_function(X).shape == (300, 3)
    direct = rs.SpanRegressor(rs.Units(direct=True), n_components=20).fit(X, y)
    assert direct.weights_.shape == (24,)


def test_many_outputs_are_the_outputs_one_by_one():
    X, y = data()
    Y = np.column_stack([y, y**2, X[:, 0]])
    joint = rs.SpanRegressor(n_components=50, alpha=0.1, dtype="float64", random_state=0).fit(X, Y)
    for i in range(3):
        single = clone(joint).fit(X, Y[:, i])
        np.testing.assert_allclose(joint.predict(X)[:, i], single.predict(X), atol=1e-9)


def test_classifiers_are_regressions_on_signs():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = rs.SpanClassifier(n_components=40, dtype="float64", random_state=0).fit(X, names)
    signs = np.where(names[:, None] == model.classes_, 1.0, -1.0)
    regression = rs.SpanRegressor(n_components=40, clip=None, dtype="float64", random_state=0)
    regression.fit(X, signs)
    np.testing.assert_allclose(model.decision_function(X), regression.predict(X), atol=1e-9)
    assert model.score(X, names) > 0.95
    assert set(model.predict(X)) == set(names)


def test_auto_width_is_a_power_of_two_that_pays(monkeypatch):
    monkeypatch.setattr("randspan.planning.MOST_KERNEL_BYTES", 0)  # functions, as for many rows
    X, y = data(2000)
    model = rs.SpanRegressor(rs.Fourier(), scales=None, dtype="float64", random_state=0).fit(X, y)
    k = model.n_components_
    assert k in {128 * 2**i for i in range(6)}
    half, twice = (
        rs.SpanRegressor(rs.Fourier(), m, dtype="float64", random_state=0).fit(X, y).validation_
        for m in (k // 2, 2 * k)
    )
    error = model.validation_.error
    assert error < 0.99 * half.error or k == 128
    assert twice.error > 0.99 * error or k == 4096
    hard = rs.SpanRegressor(random_state=0).fit(X, np.random.default_rng(0).normal(size=2000))
    assert hard.n_components_ == 128


def test_a_draw_is_nested_through_the_estimator():
    X, y = data()
    small = rs.SpanRegressor(n_components=30, random_state=0).fit(X, y)
    large = rs.SpanRegressor(n_components=90, random_state=0).fit(X, y)
    assert np.array_equal(small.functions_.frequencies, large.functions_.frequencies[:30])


def test_alpha_keeps_its_meaning_when_k_changes():
    """The best alpha for 200 and for 3,200 functions is nearly the same number."""
    X, y = data(1500)
    alphas = [
        rs.SpanRegressor(n_components=k, random_state=0).fit(X, y).alpha_ for k in (400, 800, 1600)
    ]
    assert max(alphas) / min(alphas) < 20


def test_constant_columns_and_targets():
    X, y = data()
    X = np.column_stack([X, np.full(300, 7.3), np.zeros(300)])
    for family in FAMILIES.values():
        model = rs.SpanRegressor(family, n_components=30, random_state=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        flat = rs.SpanRegressor(family, n_components=30, random_state=0).fit(X, np.full(300, 5.0))
        np.testing.assert_allclose(flat.predict(X), 5.0, atol=1e-9)
        if not family.uses_target:
            assert flat.gcv_error_ == pytest.approx(0, abs=1e-12)
    constant = rs.SpanRegressor(n_components=5, random_state=0).fit(np.ones((50, 2)), y[:50])
    np.testing.assert_allclose(constant.predict(np.ones((3, 2))), y[:50].mean())


def test_an_offset_of_the_inputs_or_the_target_changes_nothing():
    X, y = data()
    for dtype, tolerance in (("float64", 1e-6), ("float32", 1e-3)):
        model = rs.SpanRegressor(n_components=50, alpha=0.01, dtype=dtype, random_state=0)
        plain = model.fit(X, y).predict(X)
        moved = model.fit(X + 1e5, y + 1e5).predict(X + 1e5) - 1e5
        np.testing.assert_allclose(moved, plain, atol=tolerance)


def test_scales_multiply_the_standardised_columns():
    X, y = data()
    scales = np.array([2.0, 0.5, 1.0, 0.0])
    gamma = 0.1
    model = rs.SpanRegressor(rs.Fourier(gamma=gamma), 40, scales=scales, random_state=0).fit(X, y)
    moved = X.copy()
    moved[:, 3] += 100  # hidden by its scale of zero
    np.testing.assert_allclose(model.predict(moved), model.predict(X), atol=1e-9)
    keep = scales > 0
    per_column = rs.SpanTransformer(rs.Fourier(gamma=gamma), 40, scales=scales, random_state=0)
    K = per_column.fit(X).functions_.kernel(per_column.frame_.rows(X, np.float64))
    standard = (X - X.mean(0)) / X.std(0)
    expected = rs.Fourier(gamma=gamma * scales[keep] ** 2).kernel(standard[:, keep])
    np.testing.assert_allclose(K, expected, atol=1e-10)


def test_weights_are_counts():
    X, y = data(120)
    counts = np.random.default_rng(0).integers(0, 4, size=120)
    for family in ("fourier", "stumps", rs.Stumps("quantile"), "units", "projections"):
        model = rs.SpanRegressor(family, 50, dtype="float64", random_state=0)
        weighted = model.fit(X, y, counts)
        a, alpha, error = weighted.predict(X), weighted.alpha_, weighted.gcv_error_
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        assert repeated.alpha_ == alpha
        assert repeated.gcv_error_ == pytest.approx(error, rel=1e-6)
        np.testing.assert_allclose(repeated.predict(X), a, atol=1e-6)


# -- data frames and pipelines ---------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_data_frames_and_their_names(library):
    X, y = data()
    names = ["a", "b", "c", "d"]
    frame = library({name: X[:, i] for i, name in enumerate(names)})
    model = rs.SpanRegressor(n_components=20, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == names
    np.testing.assert_allclose(model.predict(frame), clone(model).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])
    model.partial_fit(frame, y)
    kind = "pandas" if library is pd.DataFrame else "polars"
    features = rs.SpanTransformer(n_components=5, random_state=0).set_output(transform=kind)
    out = features.fit_transform(frame)
    assert isinstance(out, library)
    assert list(out.columns) == [f"spantransformer{i}" for i in range(5)]


def test_transformer_inner_products_approximate_the_kernel():
    X, _ = data(50)
    transformer = rs.SpanTransformer(rs.Fourier(gamma=0.3), 20_000, dtype="float64", random_state=0)
    Z = transformer.fit_transform(X)
    rows = transformer.frame_.rows(X, np.float64)
    # 2,500 entries, standard deviation at most 1/√20,000.
    assert np.abs(Z @ Z.T - transformer.functions_.kernel(rows)).max() < 5 / np.sqrt(20_000)


def test_pipelines_and_grid_search():
    X, y = load_diabetes(return_X_y=True)
    pipeline = make_pipeline(
        rs.SpanTransformer(n_components=50, random_state=0), LinearRegression()
    )
    assert pipeline.fit(X, y).score(X, y) > 0.4
    search = GridSearchCV(
        rs.SpanRegressor(rs.Fourier(), n_components=50, random_state=0),
        {
            "family__gamma": [0.01, 0.1],
            "family__kernel": ["gaussian", "laplacian"],
            "alpha": [1, 10],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_params_["family__kernel"] in ("gaussian", "laplacian")
    assert cross_val_score(rs.SpanRegressor(random_state=0), X, y).mean() > 0.4


def test_threads_of_a_search_do_not_collide():
    X, y = load_diabetes(return_X_y=True)
    import joblib

    with joblib.parallel_backend("threading"):
        search = GridSearchCV(
            rs.SpanRegressor(n_components=50, random_state=0),
            {"alpha": [1, 10, 100]},
            cv=3,
            n_jobs=2,
        ).fit(X, y)
    assert np.isfinite(search.best_score_)


def test_a_progress_bar_appears_when_asked_for_and_work_is_long(capsys, monkeypatch):
    from randspan.engines import progress

    X, y = data(5000)
    rs.SpanRegressor(n_components=50, verbose=True, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    clock = iter(np.arange(0, 1000, 0.7))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    rs.SpanRegressor(n_components=50, verbose=True, random_state=0).fit(
        np.repeat(X, 8, axis=0), np.repeat(y, 8)
    )
    assert "100%" in capsys.readouterr().err
    rs.SpanRegressor(n_components=50, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
