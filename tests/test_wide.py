"""More columns than rows: "auto" of sparse ones, and losses solved for in the span of the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import randspan as rs
from randspan.engines.operator import Operator
from randspan.solvers import passes
from randspan.tuning import learning, ranking

R, C = rs.SpanRegressor, rs.SpanClassifier


def topics(n, d=1500, topics=3, seed=0):
    """Rows like TF-IDF: some 40 of d words each, frequent and rare ones, which topics tilt."""
    rng = np.random.default_rng(seed)
    usual = 1 / (1 + rng.permutation(d))
    tilted = usual * np.exp(rng.normal(size=(topics, d)) * (rng.random((topics, d)) < 0.3))
    tilted /= tilted.sum(axis=1, keepdims=True)
    y = rng.integers(topics, size=n)
    counts = np.stack([rng.multinomial(40, tilted[label]) for label in y]).astype(float)
    present = (counts > 0).sum(axis=0)
    counts *= np.log((1 + n) / (1 + present)) + 1
    return sparse.csr_matrix(counts / np.linalg.norm(counts, axis=1, keepdims=True)), y


def test_sparse_text_is_told_as_well_as_by_a_linear_model(monkeypatch):
    """Standardised columns would make rare words as large as frequent ones."""

    def learned(*given, **known):
        raise AssertionError("scales of 1,500 columns from 400 rows")

    for module in (learning, ranking):
        monkeypatch.setattr(module, "descend", learned)
    X, y = topics(1000)
    new, truth = X[400:], y[400:]
    model = C("auto", effort="fast", random_state=0).fit(X[:400], y[:400])
    others = (LogisticRegression(C=c).fit(X[:400], y[:400]) for c in (1, 10, 100))
    best = max(other.score(new, truth) for other in others)
    doubt = np.sqrt(best * (1 - best) / len(truth))
    assert model.score(new, truth) > best - 2 * doubt
    entries = {one.name: one for one in model.portfolio_}
    assert entries["linear"].error < 1.2 * np.nanmin([one.error for one in entries.values()])
    assert "take too long" in entries["laplacian kernel"].dropped
    # Words are as large as they came.
    kernels = [one for one in model._model.models if not one.frame.family.trains]
    for one in kernels:
        scale = one.frame.scale
        np.testing.assert_allclose(scale[scale > 0], scale.max())


def test_a_linear_model_of_few_rows_is_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = R("auto", effort="fast", random_state=0).fit(X, y)
    linear = [one for one in model._model.models if isinstance(one.frame.family, rs.Projections)]
    tried = {one.name: one.error for one in model.portfolio_}
    assert np.isfinite(tried["linear"])
    assert all(one.frame.n_components == np.inf for one in linear)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_of_few_rows_are_solved_for_in_the_span_of_the_rows(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    new = rng.normal(size=(50, 4))
    wide, fused = [], Operator.fused

    def watched(self, W, judge):
        wide.append(len(W))
        return fused(self, W, judge)

    monkeypatch.setattr(Operator, "fused", watched)
    known = {"loss": "logistic", "dtype": dtype, "random_state": 0}
    for alpha in (0.01, "auto"):
        found = C(rs.Fourier(), 400, alpha=alpha, **known).fit(X, y)
        assert max(wide) <= 80
        alpha = found.alpha_
        with monkeypatch.context() as patch:
            patch.setattr(passes, "worth_turning", lambda n, k: False)
            plain = C(rs.Fourier(), 400, alpha=alpha, **known).fit(X, y)
        assert max(wide) == 400
        wide.clear()
        objectives = [one.solution_.objective for one in (found, plain)]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
        # Scores of all classes may be shifted together.
        known_of = (one.predict_proba(new) for one in (found, plain))
        np.testing.assert_allclose(*known_of, rtol=0, atol=1e-3)
        assert found.weights_.shape == (3, 400)
