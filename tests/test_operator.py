"""The operator against the matrix it stands for, the sketch, and the change of variables."""

import numpy as np
import pytest

import randspan as rs
from randspan.engines.operator import Operator
from randspan.features import Features
from randspan.solvers.preconditioner import Sketch, sketch_rows
from randspan.sources import ArraySource

K = 30


def operator(n=700, cached=True, centred=True, dtype="float64", weighted=True, n_jobs=None, k=K):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    frame = rs.Frame.read([X], rs.Fourier(), k, random_state=0)
    features = Features(frame, frame.functions(), ArraySource(X), np.dtype(dtype))
    weights = rng.uniform(0, 2, size=n) * (rng.uniform(size=n) > 0.1) if weighted else np.ones(n)
    Z = frame.functions()(frame.rows(X, np.dtype(dtype))).astype(np.float64)
    mean = weights @ Z / weights.sum() if centred else np.zeros(k)
    return Operator(features, weights, centred, cached, n_jobs), Z - mean, weights


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-5), ("float64", 1e-11)])
@pytest.mark.parametrize("n", [700, 9000])
def test_products(cached, centred, dtype, tolerance, n, rng):
    op, Z, weights = operator(n, cached, centred, dtype)
    W = rng.normal(size=(K, 2))
    np.testing.assert_allclose(op.mean, (Z + op.mean - Z).mean(axis=0), atol=tolerance)
    np.testing.assert_allclose(op.scores(W), Z @ W, atol=50 * tolerance)
    seen = np.zeros((n, 2))

    def judge(scores, rows):
        seen[rows] = scores
        return np.sin(scores)

    back = op.fused(W, judge)
    np.testing.assert_allclose(seen, Z @ W, atol=50 * tolerance)
    np.testing.assert_allclose(back, Z.T @ np.sin(Z @ W), atol=tolerance * n)
    each = rng.uniform(size=n) * (rng.uniform(size=n) > 0.5)
    gram, sums = op.gram(each)
    np.testing.assert_allclose(gram, Z.T @ (each[:, None] * Z), atol=tolerance * n)
    np.testing.assert_allclose(sums, Z.T @ each, atol=tolerance * n)
    some = np.array([5, 2, 600])
    np.testing.assert_allclose(op.rows(some).matrix, Z[some], atol=10 * tolerance)
    assert op.trace == pytest.approx((weights[:, None] * Z**2).sum(), rel=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_numbers_beyond_float32_survive(scale, rng):
    op, Z, _ = operator(dtype="float32")
    W = rng.normal(size=(K, 1))
    np.testing.assert_allclose(op.scores(scale * W) / scale, Z @ W, atol=1e-3)
    back = op.fused(W, lambda scores, rows: 1e20 * scale * scores)
    np.testing.assert_allclose(back / (1e20 * scale), Z.T @ (Z @ W), rtol=1e-3, atol=1e-2)


def test_float64_products_of_float32_features(rng):
    """`exactly` multiplies the rounded features without further rounding."""
    op, _, _ = operator(n=9000, dtype="float32", centred=False)
    Z = op.dense_rows(np.arange(9000)).astype(np.float64)
    W = rng.normal(size=(K, 1))
    back = op.exactly().fused(W, lambda scores, rows: scores)
    np.testing.assert_allclose(back, Z.T @ (Z @ W), rtol=1e-12)


def test_reruns_are_bit_identical_and_threads_change_little(rng):
    W = rng.normal(size=(K, 1))
    runs = []
    for n_jobs in (None, None, 1):
        op, _, _ = operator(n=20_000, n_jobs=n_jobs)
        runs.append(op.fused(W, lambda scores, rows: np.tanh(scores)))
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_allclose(runs[0], runs[2], rtol=1e-10)


def test_the_sketch_does_not_depend_on_threads_or_the_cache():
    sketches = [
        operator(n=9000, cached=cached, n_jobs=n_jobs)[0].sketch(200)
        for cached, n_jobs in [(True, None), (False, None), (True, 1)]
    ]
    for other in sketches[1:]:
        np.testing.assert_allclose(sketches[0], other, atol=1e-10)


def test_the_sketch_is_unbiased_and_close():
    """E B'B = Z̃'ΩZ̃, and with s rows all directions are kept to about √(k/s)."""
    op, Z, weights = operator(n=20_000)
    root = np.linalg.cholesky(Z.T @ (weights[:, None] * Z))
    s = 40 * K
    sketch = np.linalg.solve(root, op.sketch(s).T)  # whitened: should have B'B = I
    values = np.linalg.eigvalsh(sketch @ sketch.T)
    spread = np.sqrt(K / s)
    assert (1 - spread) ** 2 - 0.1 < values[0] < 1 < values[-1] < (1 + spread) ** 2 + 0.1
    # The mean of all eigenvalues has expectation 1 and standard error about √(2/(k·s)).
    assert abs(values.mean() - 1) < 5 * np.sqrt(2 / (K * s))


def test_rare_columns_are_in_the_sketch():
    """Two rows of 20,000 that alone carry a direction: a subsample would miss it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X[:, 2] = 0
    X[[7, 11_111], 2] = 1
    frame = rs.Frame.read([X], rs.Projections(), 3, random_state=0)
    features = Features(frame, frame.functions(), ArraySource(X), np.dtype(np.float64))
    op = Operator(features, np.ones(20_000), True, True)
    gram = op.gram(np.ones(20_000))[0]
    sketch = op.sketch(60)
    whitened = np.linalg.solve(np.linalg.cholesky(gram), sketch.T)
    values = np.linalg.eigvalsh(whitened @ whitened.T)
    assert values[0] > 0.3
    assert values[-1] < 2.5


@pytest.mark.parametrize("rows", [10, 25, 200])
@pytest.mark.parametrize("nu", [1e-6, 1.0, 1e4])
def test_the_change_of_variables(rows, nu, rng):
    """CC' = (B'B + νI)⁻¹ for tall and for wide sketches; C' is the transpose of C."""
    B = rng.normal(size=(rows, 25))
    change = Sketch(B).preconditioner(nu)
    identity = np.eye(25)
    C, transposed = change.apply(identity), change.transposed(identity)
    np.testing.assert_allclose(transposed, C.T, atol=1e-9 * np.abs(C).max())
    product = C.T @ (B.T @ B + nu * identity) @ C
    np.testing.assert_allclose(product, identity, atol=1e-6)


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_a_change_of_variables_knows_no_units(unit, rng):
    """Gradients of huge targets leave the range of a sketch in float32."""
    change = Sketch(rng.normal(size=(10, 25)).astype(np.float32)).preconditioner(1e-3)
    V = rng.normal(size=(25, 2))
    for once in (change.apply, change.transposed):
        np.testing.assert_allclose(once(unit * V) / unit, once(V), rtol=1e-4, atol=1e-4)


def test_sketches_have_a_price():
    assert sketch_rows(500_000, 5000) == 20_000
    assert sketch_rows(1000, 5000) == 1000
    assert sketch_rows(100_000, 20_000) < 20_000
