"""Random bins: cells, their hash, unseen cells, and fits on them."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

import randspan as rs
from randspan.engines.cells import CellOperator, numbered
from randspan.families.bins import Table
from randspan.families.shared import hashing
from randspan.families.shared.cells import indicators
from randspan.families.shared.rows import Rows
from randspan.features import Features
from randspan.losses import Squared
from randspan.solvers import conjugate
from randspan.solvers.problem import Problem
from randspan.sources import ArraySource


def data(n=1500, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.2 * rng.normal(size=n)


def values(model, X):
    """φ of standardised rows, as a fitted model sees them."""
    return model.functions_(model.frame_.rows(X, np.float64))


# -- cells -----------------------------------------------------------------------------------------


def test_rows_share_a_column_exactly_where_they_share_a_cell(rng):
    X = rng.normal(size=(500, 4))
    functions = rs.Bins(gamma=0.3).draw(X, 20, 0)
    Z = functions(X)
    assert (Z.sum(axis=1) == 20).all()
    starts = np.append(0, np.cumsum(functions.counts))
    for g in range(20):
        cells = np.floor(X * functions.slopes[g] - functions.shifts[g])
        expected = (cells[:, None] == cells).all(axis=2)
        part = Z[:, starts[g] : starts[g + 1]].toarray()
        assert np.array_equal(part @ part.T == 1, expected)


def test_shifts_are_uniform_and_pitches_have_their_law():
    functions = rs.Bins(gamma=2.0).draw(np.zeros((2, 50)), 400, 0)
    # Gamma(2, 1/γ) has mean 2/γ and variance 2/γ²; 20,000 draws.
    pitches = 1 / functions.slopes
    assert abs(pitches.mean() - 1.0) < 5 * np.sqrt(0.5 / pitches.size)
    assert abs(functions.shifts.mean() - 0.5) < 5 * np.sqrt(1 / 12 / pitches.size)


def test_cells_that_were_not_seen_count_nothing(rng):
    X, y = data()
    model = rs.SpanRegressor(rs.Bins(), 30, alpha=0.1, random_state=0).fit(X, y)
    far = np.full((5, 3), 1e6) * rng.uniform(1, 2, size=(5, 1))
    assert values(model, far).nnz == 0
    assert np.array_equal(model.predict(far), np.full(5, model.intercept_))


def test_extreme_inputs_have_cells(rng):
    X = np.array([[1e300], [-1e300], [1e15], [0.0]])
    functions = rs.Bins(gamma=1.0).draw(X, 5, 0)
    assert (functions(X).sum(axis=1) == 5).all()


@pytest.mark.parametrize("rows", ["dense", "sparse"])
def test_precision_and_blocks_do_not_move_cells(rows, rng):
    X = rng.normal(size=(5000, 5)).astype(np.float32) * (rng.uniform(size=(5000, 5)) < 0.5)
    centre, scale = rng.normal(size=5), rng.uniform(0.5, 2, size=5)
    matrix = sparse.csr_array(X) if rows == "sparse" else X
    family = rs.Bins(gamma=1.0)
    functions = family.draw(Rows(X.astype(np.float64), centre, scale), 20, 0)
    expected = functions.cells(Rows(X.astype(np.float64), centre, scale))
    assert (expected >= 0).all()
    for dtype in (np.float32, np.float64):
        whole = Rows(matrix, centre, scale, dtype)
        assert np.array_equal(functions.cells(whole), expected)
        parts = [functions.cells(whole[s : s + 7]) for s in range(0, 700, 7)]
        assert np.array_equal(np.hstack(parts), expected[:, :700])


def test_threads_and_blocks_do_not_change_codes(monkeypatch):
    X, y = data(3000)
    frame = rs.SpanRegressor(rs.Bins(), 20, alpha=1.0, random_state=0).fit(X, y).frame_
    found = []
    for step, n_jobs in ((8192, 1), (8192, 2), (333, 2), (1000, 3)):
        monkeypatch.setattr(Features, "block_rows", step)
        functions = frame.functions()
        features = Features(frame, functions, ArraySource(X), np.dtype(np.float32))
        found.append(numbered(features, n_jobs)[1])
    assert all(np.array_equal(cells, found[0]) for cells in found)


# -- the hash --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 2**8, 2**20, 2**29])
def test_keys_of_different_cells_differ(stride):
    """A million cells on a lattice, also one of large powers of two, which weak hashes fold up."""
    side = {1: 100, 2**8: 100, 2**20: 30, 2**29: 3}[stride]
    cells = np.stack(np.meshgrid(*[np.arange(-(side // 2), side - side // 2)] * 3), axis=-1)
    cells = stride * cells.reshape(-1, 3).astype(np.float64)
    bits = np.random.default_rng(0).integers(2**63, size=(2, 4, 3), dtype=np.uint64) * 2
    out = np.empty((4, len(cells)), dtype=np.uint64)
    slopes, offsets = np.ones((4, 3)), np.full((4, 3), 0.5)
    hashing.dense_keys(np.ascontiguousarray(cells.T), slopes, offsets, *bits, out)
    out.sort(axis=1)
    assert (out[:, 1:] > out[:, :-1]).all()


def test_bits_of_a_key_are_even(rng):
    """Slots are chosen by the lower bits of keys; each bit is set for half of the cells."""
    functions = rs.Bins(gamma=3.0).draw(rng.normal(size=(20_000, 3)), 1, 0)
    keys = functions.tables[0].keys[: functions.counts[0]]
    shares = np.array([((keys >> np.uint64(b)) & np.uint64(1)).mean() for b in range(64)])
    assert (np.abs(shares - 0.5) < 5 * 0.5 / np.sqrt(len(keys))).all()


def test_tables_number_by_first_appearance_and_grow(rng):
    table, expected = Table(), {}
    for _ in range(20):
        keys = rng.integers(5000, size=700).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        cells = np.empty(700, dtype=np.int32)
        table.enter(keys, cells)
        for key, code in zip(keys.tolist(), cells.tolist(), strict=True):
            assert expected.setdefault(key, len(expected)) == code
    assert table.count == len(expected)
    found = np.empty(3, dtype=np.int32)
    table.look_up(np.array([*list(expected)[:2], 12345], dtype=np.uint64), table.count, found)
    assert found.tolist() == [0, 1, -1]


# -- fits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dual", "conjugate"])
@pytest.mark.parametrize("family", [rs.Bins(), rs.Fourier() + rs.Bins()], ids=["bins", "hybrid"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_squared_loss_is_ridge_on_the_indicators(solver, family, weighted, rng):
    X, y = data()
    Y = np.column_stack([y, X[:, 0] - y])
    weights = rng.uniform(0.2, 3, size=len(y)) if weighted else None
    model = rs.SpanRegressor(
        family, 40, alpha=0.3, solver=solver, dtype="float64", random_state=0
    ).fit(X, Y, weights)
    Z = values(model, X).toarray()
    ridge = Ridge(alpha=0.3 * 40).fit(Z, Y, weights)
    new = values(model, X[:200] + 0.01).toarray()
    np.testing.assert_allclose(
        model.predict(X[:200] + 0.01), ridge.predict(new), atol=2e-5 * np.abs(Y).max()
    )
    assert model.solution_.solver == solver


def test_the_logistic_loss_is_that_of_scikit_learn():
    X, y = data(800)
    for labels, many in ((y > 0, 1), (np.digitize(y, [-0.5, 0.5]), 3)):
        model = rs.SpanClassifier(rs.Bins(), 20, loss="logistic", alpha=0.1, random_state=0)
        model.fit(X, labels)
        Z = values(model, X).toarray() / np.sqrt(20)
        peer = LogisticRegression(C=1 / (2 * 0.1), tol=1e-10, max_iter=10_000).fit(Z, labels)
        np.testing.assert_allclose(
            model.predict_proba(X), peer.predict_proba(Z), atol=1e-4, err_msg=str(many)
        )


def test_streams_add_cells_and_functions_keep_theirs():
    X, y = data(4000)
    model = rs.SpanRegressor(rs.Bins(), 25, alpha=0.1, random_state=0)
    model.partial_fit(X[:500], y[:500])
    early = model.functions_
    before = early(X).toarray()
    for s in range(500, 4000, 500):
        model.partial_fit(X[s : s + 500], y[s : s + 500])
    assert model.functions_.n_columns > early.n_columns
    assert np.array_equal(early(X).toarray(), before)
    whole = rs.SpanRegressor(frame=model.frame_, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-9)
    assert np.array_equal(model.weights_, whole.weights_)


def test_conjugate_gradients_end_where_rounding_hides_descent(rng):
    """They are asked for more digits than there are, and have found the ridge regression."""
    cells, counts = rng.integers(5, size=(4, 200)).astype(np.int32), np.full(4, 5)
    y, each = rng.normal(size=200), np.ones(200)
    problem = Problem(
        CellOperator(cells, counts, each, True), Squared(), y[:, None], each, 0.5, None, True
    )
    found = conjugate.minimise(problem, problem.zero, 1e-17, None)
    assert found.stopped == "rounding errors hide any further descent"
    ridge = Ridge(alpha=0.5).fit(indicators(cells, counts, np.float64).toarray(), y)
    np.testing.assert_allclose(found.point.coef[:, 0], ridge.coef_, atol=1e-12)


def apart(model, X, y, new):
    """How far predictions may be from those of the minimum: for rows X together, for new ones each.

    Δ away from its minimum, ‖y - Z̃w‖² + μ‖w‖² is larger by ‖Z̃Δ‖² + μ‖Δ‖², which is at most
    ‖g‖²/4μ for a gradient g. The residual of a solution is its g beside that of no weights,
    2Z̃'(y - ȳ): at most a millionth, and rounding where inner products of rows are solved for.
    """
    Z, residual = values(model, X), model.solution_.residual
    assert residual <= 1e-6
    gradient = max(residual, 1e-12) * 2 * np.linalg.norm(Z.T @ (y - y.mean()))
    ridge = model.alpha_ * model.n_components_
    longest = np.linalg.norm(values(model, new).toarray() - Z.mean(axis=0), axis=1).max()
    return gradient / (2 * np.sqrt(ridge)), longest * gradient / (2 * ridge)


@pytest.mark.parametrize("n", [600, 3000])
@pytest.mark.parametrize("family", [rs.Bins(), rs.Fourier() + rs.Bins()], ids=["bins", "hybrid"])
def test_forgetting_and_merging_are_exact(family, n):
    X, y = data(n)
    cut = n // 5  # of 3,000 rows, the others are still too many for a matrix of inner products
    first = rs.SpanRegressor(family, 20, alpha=0.1, dtype="float64", random_state=0)
    first.fit(X[cut:], y[cut:])
    only, together, each = first.predict(X), *apart(first, X[cut:], y[cut:], X[:cut])
    other = rs.SpanRegressor(frame=first.frame_, alpha=0.1, dtype="float64").fit(X[:cut], y[:cut])
    both = rs.SpanRegressor(frame=first.frame_, alpha=0.1, dtype="float64").fit(X, y)
    # The same cells in another order, so the same problem up to rounding.
    first.merge(other)
    kernels = [(Z @ Z.T).toarray() for Z in (values(first, X[::5]), values(both, X[::5]))]
    np.testing.assert_allclose(*kernels, atol=1e-10)
    gap = first.predict(X) - both.predict(X)
    assert np.linalg.norm(gap) <= sum(apart(model, X, y, X[:1])[0] for model in (first, both))
    first.forget(X[:cut], y[:cut])
    gap = first.predict(X) - only
    assert np.linalg.norm(gap[cut:]) <= 2 * together
    assert np.abs(gap[:cut]).max() <= 2 * each


def test_rows_that_were_never_there_cannot_be_forgotten():
    X, y = data(600)
    model = rs.SpanRegressor(rs.Bins(), 20, alpha=0.1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="cells where it has seen none"):
        model.forget(X[:3] + 100, y[:3])
    with pytest.raises(ValueError, match="2 of 3 rows cannot have been in the model"):
        model.forget(X[:3], y[:3] + np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="1 of 2 rows"):
        model.forget(X[[5, 5]], y[[5, 5]])
    model.forget(X[:3], y[:3])
    with pytest.raises(ValueError, match="3 of 3 rows"):
        model.forget(X[:3], y[:3])


def test_a_row_is_kept_in_four_bytes_a_grid():
    X, y = data(5000)
    model = rs.SpanRegressor(rs.Bins(), 50, alpha=1.0, random_state=0).fit(X, y)
    kept = model._model.statistics.kept.arrays
    assert kept["cells"].nbytes == 4 * 50 * 5000
    assert set(kept) == {"cells", "targets", "weights", "keys"}


def test_many_rows_say_why_there_are_no_standard_deviations():
    X, y = data(2010)
    model = rs.SpanRegressor(rs.Bins(), 20, alpha=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="n × n matrix"):
        model.predict(X, return_std=True)
    exact = rs.SpanRegressor(rs.Bins(), 20, alpha=1.0, solver="dual", random_state=0).fit(X, y)
    assert (exact.predict(X, return_std=True)[1] > 0).all()
    np.testing.assert_allclose(exact.predict(X), model.predict(X), atol=1e-4)


def test_solvers_for_dense_matrices_are_refused_by_name():
    X, y = data(100)
    with pytest.raises(ValueError, match="solver='eigen' works on dense matrices"):
        rs.SpanRegressor(rs.Bins(), 5, solver="eigen").fit(X, y)
    with pytest.raises(ValueError, match="indicators of cells"):
        rs.SpanRegressor(rs.Fourier(), 5, solver="conjugate").fit(X, y)


def test_a_box_holds_for_every_cell():
    X, y = data(800)
    model = rs.SpanRegressor(rs.Bins(), 20, alpha=0.01, bound=1.0, random_state=0).fit(X, y)
    assert np.abs(model.weights_).max() <= 1.0 / 20
    assert (np.abs(model.weights_) == 1.0 / 20).any()


def test_memory_that_is_not_there_is_refused():
    X, y = data(5000)
    with pytest.raises(MemoryError, match="in 50 grids"):
        rs.SpanRegressor(rs.Bins(), 50, memory_limit="100KB", random_state=0).fit(X, y)


def test_the_union_of_two_kinds_of_bins():
    X, y = data(1000)
    family = rs.Bins(gamma=0.2) + rs.Bins(gamma=2.0)
    model = rs.SpanRegressor(family, 40, random_state=0).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.7
    K = (rs.Bins(gamma=0.2).kernel(X[:5]) + rs.Bins(gamma=2.0).kernel(X[:5])) / 2
    np.testing.assert_allclose(family.kernel(X[:5]), K)


def test_transformed_rows_are_sparse_and_have_the_kernel():
    X, _ = data(300)
    transformer = rs.SpanTransformer(rs.Bins(), 200, random_state=0).fit(X)
    Z = transformer.transform(X)
    assert sparse.issparse(Z)
    assert Z.dtype == np.float32
    K = transformer.functions_.kernel(transformer.frame_.rows(X, np.float64))
    # 200 grids: standard deviation at most 1/(2√200), over 45,000 pairs.
    assert np.abs((Z @ Z.T).toarray() - K).max() < 5.5 / (2 * np.sqrt(200))


def test_auto_draws_a_hundred_grids():
    X, y = data(300)
    assert rs.SpanRegressor("bins", random_state=0).fit(X, y).n_components_ == 100


# -- corners that were wrong once ------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_rows_of_no_weight_do_not_disturb_probabilities(loss, rng):
    X, y = data(600)
    labels = np.where(rng.uniform(size=600) < 0.85, y > 0, y <= 0)
    weights = (rng.uniform(size=600) < 0.5).astype(float)
    params = {"loss": loss, "alpha": 1.0, "random_state": 0}
    if loss == "squared":
        params["solver"] = "conjugate"
    kept = weights > 0
    model = rs.SpanClassifier(rs.Bins(), 20, **params).fit(X, labels, weights)
    other = rs.SpanClassifier(frame=model.frame_, **params).fit(X[kept], labels[kept])
    assert model.functions_.n_columns == other.functions_.n_columns
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-5)
    # The same rows in the same folds, so the same calibration.
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)


def test_a_hybrid_forgets_the_rows_it_was_asked_to():
    """Rows in the same cells with the same target are still different rows."""
    X, y = data(300)
    family = rs.Fourier() + rs.Bins(gamma=0.02)
    model = rs.SpanClassifier(family, 8, alpha=0.1, dtype="float64", random_state=0).fit(X, y > 0)
    rest = rs.SpanClassifier(frame=model.frame_, alpha=0.1, dtype="float64")
    rest.fit(X[100:], y[100:] > 0)
    model.forget(X[:100], y[:100] > 0)
    np.testing.assert_allclose(model.decision_function(X), rest.decision_function(X), atol=1e-8)


def test_repeated_rows_do_not_look_like_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(75, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=75)
    once = rs.SpanRegressor(rs.Bins(gamma=1.0), 100, random_state=0).fit(X, y)
    often = rs.SpanRegressor(rs.Bins(gamma=1.0), 100, random_state=0)
    often.fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert often.alpha_ > 0.1 * once.alpha_


def test_no_ridge_is_the_solution_of_smallest_norm():
    X, y = data(200)
    found = [
        rs.SpanRegressor(rs.Bins(gamma=0.3), 20, alpha=0, solver=solver, random_state=0).fit(X, y)
        for solver in ("dual", "conjugate")
    ]
    np.testing.assert_allclose(found[1].predict(X + 0.1), found[0].predict(X + 0.1), atol=1e-3)


def test_functions_are_looked_up_while_others_add_cells(rng):
    """Threads that predict with older functions never see half of a growing table."""
    X, y = data(6000)
    model = rs.SpanRegressor(rs.Bins(gamma=3.0), 4, alpha=1.0, random_state=0)
    model.partial_fit(X[:200], y[:200])
    early = model.functions_
    expected = early(X[:400]).toarray()
    with ThreadPoolExecutor(1) as executor:
        growing = executor.submit(
            lambda: [model.partial_fit(X[s : s + 20], y[s : s + 20]) for s in range(200, 6000, 20)]
        )
        while not growing.done():
            assert np.array_equal(early(X[:400]).toarray(), expected)
    growing.result()


def test_small_corners():
    X, y = data(300)
    assert (
        rs.SpanRegressor(rs.Bins(), 10, memory_limit="3MB", random_state=0).fit(X, y).score(X, y)
        > 0.3
    )
    same = rs.SpanRegressor(rs.Bins(), 20, solver="conjugate").fit(np.ones((30, 2)), y[:30])
    assert same.predict(np.ones((1, 2)))[0] == pytest.approx(y[:30].mean())
    kernel = rs.estimate_kernel(rs.Fourier(gamma=1.0) + rs.Bins(gamma=1.0), X[:4], n_components=1)
    assert kernel.shape == (4, 4)
    functions = rs.Bins().draw(X, 5, 0)
    again = pickle.loads(pickle.dumps(functions, protocol=0))
    assert np.array_equal(again(X).toarray(), functions(X).toarray())
    density = rs.Bins(pitch=lambda delta, rate=1.0: rate**2 * delta * np.exp(-rate * delta))
    np.testing.assert_allclose(density.kernel(X[:5]), rs.Bins(gamma=1.0).kernel(X[:5]), atol=1e-3)
    with pytest.raises(ValueError, match="pitch takes the place"):
        rs.Bins("gaussian", pitch=0.5).draw(X, 2, 0)
    with pytest.raises(ValueError, match="without one use 'conjugate'"):
        rs.SpanRegressor(rs.Bins(), 5, solver="lbfgs").fit(X, y)
    assert not hasattr(rs.SpanRegressor(rs.Fourier(), 5, solver="conjugate"), "partial_fit")
    assert hasattr(rs.SpanRegressor(rs.Bins(), 5, solver="conjugate"), "partial_fit")


def test_dense_and_sparse_blocks_in_one_stream():
    X, y = data(400)
    model = rs.SpanRegressor(rs.Fourier() + rs.Bins(), 20, alpha=0.1, random_state=0)
    model.partial_fit(X[:200], y[:200]).partial_fit(sparse.csr_array(X[200:]), y[200:])
    whole = rs.SpanRegressor(frame=model.frame_, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)


def test_entries_that_stand_twice_are_added_before_cells_are_found():
    X, _ = data(50)
    halves = sparse.csr_array(
        (np.repeat(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(3), 2), 50), np.arange(51) * 6)
    )
    transformer = rs.SpanTransformer(rs.Bins(), 10, random_state=0).fit(X)
    assert (transformer.transform(halves) != transformer.transform(X)).nnz == 0
