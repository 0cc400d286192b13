"""Systems as published: the table, its page, and what a few of them are by other means."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import randspan as rs
from randspan.estimators.published import SYSTEMS

PAGE = Path(__file__).parents[1] / "docs" / "published.md"


def rows_of(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def test_the_page_and_the_table_name_the_same_systems():
    named = re.findall(r"^\| `([^`]+)` \| (\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(named) == {name: system.document for name, system in SYSTEMS.items()}
    told = re.sub(r"\s+", " ", rs.SpanRegressor.published.__doc__)
    assert all(f'"{name}"' in told for name in SYSTEMS)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("kind", [rs.SpanRegressor, rs.SpanClassifier])
def test_every_system_fits_or_is_refused_by_name(name, kind):
    X, y = rows_of(d=12)
    y = y if kind is rs.SpanRegressor else y > 0
    system = SYSTEMS[name]
    if not (system.numbers if kind is rs.SpanRegressor else system.classes):
        with pytest.raises(ValueError, match=r"is published for .*: Span\w+\.published"):
            kind.published(name)
        return
    model = kind.published(name, random_state=0)
    last = model[-1] if isinstance(model, Pipeline) else model
    assert last.n_components == system.n_components
    assert last.random_state == 0
    assert last.fit_intercept is False
    assert last.scales is None
    exact = system.n_components == np.inf
    if exact and not system.projected:
        with pytest.raises(ValueError, match="an exact kernel machine, without a number"):
            kind.published(name, 10)
        return
    few = kind.published(name, 10, random_state=0).fit(X, y)
    assert np.isfinite(few.predict(X)).all()
    # Without an intercept the ridge towards zero leaves no constant: better than nothing is enough.
    assert few.score(X, y) > (0 if kind is rs.SpanRegressor else 0.5)
    few = few[-1] if isinstance(few, Pipeline) else few
    assert few.n_components_ == (np.inf if exact else 10)
    assert np.all(few.intercept_ == 0)


def test_kernel_machines_are_kernel_ridge_regression():
    X, y = rows_of()
    scaled = StandardScaler().fit_transform(X)
    known = KernelRidge(alpha=0.1, kernel="rbf", gamma=1e-3).fit(scaled, y).predict(scaled)
    model = rs.SpanRegressor.published("KRR").fit(X, y)
    np.testing.assert_allclose(model.predict(X), known, atol=1e-6)
    model = rs.SpanRegressor.published("RP-KRR", 3, random_state=1).fit(X, y)
    projected = model[:-1].transform(X)
    known = KernelRidge(alpha=0.1, kernel="rbf", gamma=1e-3).fit(projected, y).predict(projected)
    np.testing.assert_allclose(model.predict(X), known, atol=1e-6)


@pytest.mark.parametrize("k", [None, 7])
def test_rvfl_has_a_ridge_of_ten(k):
    X, y = rows_of()
    model = rs.SpanRegressor.published("RVFL", k, random_state=0, dtype="float64").fit(X, y)
    Z = model.functions_(X)
    assert Z.shape[1] == (20 if k is None else k)
    ridge = Ridge(10.0, fit_intercept=False).fit(Z, y)
    np.testing.assert_allclose(model.weights_, ridge.coef_, rtol=1e-6)


@pytest.mark.parametrize("name", ["RHSS-KRR", "RHSS-MLP", "RHSS-Tree"])
def test_rhss_is_minimum_norm_least_squares(name):
    X, y = rows_of()
    model = rs.SpanRegressor.published(name, 20, random_state=0).fit(X, y)
    Z = model.functions_(X).astype(np.float64)
    best = Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), best, atol=1e-4)


def test_what_a_document_leaves_open_is_set_by_keyword():
    model = rs.SpanClassifier.published("Bins + LS", family__gamma=0.3, alpha=2.0, dtype="float64")
    assert model.family.gamma == 0.3
    assert (model.alpha, model.dtype, model.n_components) == (2.0, "float64", 30)
    with pytest.raises(ValueError, match="name must be one of"):
        rs.SpanRegressor.published("RHSS")
    with pytest.raises(ValueError, match="n_components"):
        rs.SpanRegressor.published("RVFL", 0)
