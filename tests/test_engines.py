"""An engine is one file: a small one in plain numpy gives what the CPU gives, for every family."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from plain_engine import PlainEngine
from randspan.estimators.configured import Configured
from randspan.losses import NAMED
from randspan.solvers import heldout
from table import FAMILIES, suited, target

R, C = rs.SpanRegressor, rs.SpanClassifier
ROWS = 160
#: dense functions, cells, both, and functions that were trained on rows
OF_EACH_KIND = ("fourier", "bins", "hybrid", "trees", "leaves", "union-of-three")


@pytest.fixture
def plain(monkeypatch):
    """Turn the plain engine on."""
    return lambda: monkeypatch.setattr(Configured, "_engine", lambda self: PlainEngine())


def data(sparse_rows=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    if sparse_rows:
        X = sparse.csr_array(X * (rng.uniform(size=X.shape) < 0.5))
    y = target(X) + 0.1 * rng.normal(size=ROWS)
    return X, y


def answers(model, X, y):
    """What a user sees of a model that streams, where it does."""
    found = [model.fit(X, y).predict(X)]
    if hasattr(model, "decision_function"):
        found.append(model.decision_function(X))
    found.append(model.functions_(X))
    if hasattr(model, "partial_fit"):
        stream = clone(model)
        for rows in (slice(0, 100), slice(100, ROWS)):
            stream.partial_fit(X[rows], y[rows])
        found.append(stream.forget(X[:40], y[:40]).predict(X))
    return found


# Iterative solvers end at a KKT residual of 1e-6, from other sketches here: predictions agree to
# three digits, those of closed forms to six.
def check(plain, model, X, y, tolerance):
    expected = answers(model, X, y)
    plain()
    for mine, theirs in zip(answers(model, X, y), expected, strict=True):
        assert mine.shape == theirs.shape
        if mine.dtype.kind != "f":  # classes, of which one may lie on the border
            assert (mine != theirs).mean() < 0.02
            continue
        mine, theirs = (v.toarray() if sparse.issparse(v) else v for v in (mine, theirs))
        np.testing.assert_allclose(mine, theirs, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("rows", ["dense", "sparse"])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_the_same_on_another_engine(name, rows, plain):
    model = R(FAMILIES[name], 12, alpha=0.1, dtype="float64", random_state=0, n_jobs=1)
    check(plain, model, *data(rows == "sparse"), 1e-6)


@pytest.mark.parametrize("loss", NAMED)
@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_every_loss_is_the_same_on_another_engine(name, loss, plain):
    X, y = data()
    for kind, judged in ((R, NAMED[loss].for_numbers), (C, NAMED[loss].for_classes)):
        if judged:
            settings = {"loss": loss, "alpha": 0.1, "dtype": "float64", "random_state": 0}
            model = kind(FAMILIES[name], 12, **settings)
            check(plain, model, X, suited(loss, y) if kind is R else y > 0, 2e-3)


@pytest.mark.parametrize("name", ["fourier", "bins", "hybrid", "trees"])
@pytest.mark.parametrize("alpha", ["auto", "heldout"])
def test_alpha_is_the_same_on_another_engine(name, alpha, plain, monkeypatch):
    # Near the minimum a rough path ranks ridges by its own errors, which engines do not share.
    monkeypatch.setattr(heldout, "TOLERANCE", 1e-5)
    X, y = data()
    model = R(FAMILIES[name], 12, alpha=alpha, dtype="float64", random_state=0)
    expected = model.fit(X, y).alpha_
    plain()
    assert model.fit(X, y).alpha_ == pytest.approx(expected)


def test_boxes_widths_scales_and_kernel_machines(plain):
    X, y = data()
    models = [
        R(bound=5.0, n_components=12, dtype="float64", random_state=0),
        R(rs.Fourier(), dtype="float64", random_state=0),
        R(rs.Fourier(), 20, scales="learn", dtype="float64", random_state=0),
        R(rs.Fourier(), np.inf, random_state=0),
        C(rs.Fourier(), 12, dtype="float64", random_state=0),
    ]
    targets = [y, y, y, y, y > 0]
    expected = [one.fit(X, t).predict(X) for one, t in zip(models, targets, strict=True)]
    plain()
    for model, t, known in zip(models, targets, expected, strict=True):
        found = model.fit(X, t).predict(X)
        # Slopes of scales are products in float32: 1e-7, and a descent makes more of it.
        tolerance = 1e-5 if model.scales is None else 1e-4
        np.testing.assert_allclose(found, known, atol=tolerance * np.abs(known).max())
