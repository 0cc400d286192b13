"""Solutions agree with scikit-learn, scipy and the formulas, however they were reached."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import randspan as rs
from randspan import losses
from randspan.solvers import IllConditioned, cholesky, spectrum
from randspan.solvers.alpha import by_gcv, lattice
from randspan.statistics import Factor, Moments


def features(model, X):
    """Plain φ(x) of a fitted model, in float64."""
    return model.functions_(model.frame_.rows(X, np.float64))


def data(n, d=4, q=None, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    y = y if q is None else np.column_stack([y * (i + 1) + X[:, i % d] for i in range(q)])
    return X, y + noise * rng.normal(size=y.shape), rng.exponential(size=n)


SOLVERS = ["auto", "cholesky", "eigen", "dual", "qr"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n", [60, 500])
def test_ridge_agrees_with_scikit_learn(solver, intercept, weighted, n):
    """alpha is the ridge on φ/√k, for every solver, with more and fewer rows than functions."""
    X, y, w = data(n, q=2)
    w = w if weighted else None
    k, alpha = 120, 0.02
    model = rs.SpanRegressor(
        rs.Units("tanh"),
        n_components=k,
        alpha=alpha,
        fit_intercept=intercept,
        solver=solver,
        dtype="float64",
        random_state=0,
    ).fit(X, y, w)
    Z = features(model, X)
    referee = Ridge(alpha=alpha, fit_intercept=intercept, solver="cholesky")
    referee.fit(Z / np.sqrt(k), y, w)
    np.testing.assert_allclose(model.weights_, referee.coef_ / np.sqrt(k), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, referee.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), referee.predict(Z / np.sqrt(k)), atol=1e-6)
    assert model.alpha_ == alpha
    assert model.solution_.residual < 1e-8


@pytest.mark.parametrize(("n", "alpha"), [(50, 0.01), (300, "auto")])
def test_primal_equals_dual_equals_qr(n, alpha):
    X, y, w = data(n)
    fits = [
        rs.SpanRegressor(
            n_components=100, alpha=alpha, solver=solver, dtype="float64", random_state=0
        ).fit(X, y, w)
        for solver in ("eigen", "dual", "qr")
    ]
    for other in fits[1:]:
        assert other.alpha_ == fits[0].alpha_
        assert other.gcv_error_ == pytest.approx(fits[0].gcv_error_, rel=1e-8)
        assert other.solution_.degrees_of_freedom == pytest.approx(
            fits[0].solution_.degrees_of_freedom, rel=1e-6
        )
        np.testing.assert_allclose(other.predict(X), fits[0].predict(X), atol=1e-7)
        std = fits[0].predict(X[:20], return_std=True)[1]
        np.testing.assert_allclose(other.predict(X[:20], return_std=True)[1], std, rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_gcv_is_its_definition(intercept, weighted):
    """(RSS/Σω)/(1 - tr H/n)² with the smoother H written out; the mean weight is above 1."""
    X, y, w = data(80)
    w = w if weighted else np.ones(80)
    alpha, k = 0.3, 30
    model = rs.SpanRegressor(
        n_components=k, alpha=alpha, fit_intercept=intercept, dtype="float64", random_state=0
    ).fit(X, y, w)
    Z = features(model, X)
    A = np.column_stack([np.ones(80), Z]) if intercept else Z
    penalty = alpha * k * np.eye(A.shape[1])
    penalty[0, 0] *= 1 - intercept
    H = A @ np.linalg.solve(A.T @ (A * w[:, None]) + penalty, A.T * w)
    residual = y - H @ y
    expected = (w @ residual**2 / w.sum()) / (1 - np.trace(H) / 80) ** 2
    assert model.solution_.degrees_of_freedom == pytest.approx(np.trace(H), rel=1e-9)
    assert model.gcv_error_ == pytest.approx(expected, rel=1e-8)
    eigen = clone_with(model, solver="eigen").fit(X, y, w)
    assert eigen.gcv_error_ == pytest.approx(expected, rel=1e-8)


def clone_with(model, **params):
    from sklearn.base import clone

    return clone(model).set_params(**params)


def test_auto_alpha_minimises_gcv_over_a_finer_path():
    X, y, _ = data(300)
    model = rs.SpanRegressor(n_components=80, alpha="gcv", dtype="float64", random_state=0)
    model.fit(X, y)
    errors = []
    for factor in np.geomspace(1e-3, 1e3, 61):
        other = clone_with(model, alpha=model.alpha_ * factor, frame=model.frame_).fit(X, y)
        errors.append(other.gcv_error_)
    assert model.gcv_error_ <= min(errors) * (1 + 2e-3)
    assert np.argmin(errors) not in (0, len(errors) - 1)


def test_minimum_norm_least_squares_is_the_pseudo_inverse():
    """alpha = 0 with collinear columns, centred: the limit alpha → 0."""
    X, y, w = data(200, d=3)
    for family, k in ((rs.Projections(), 10), (rs.Stumps(), 400)):
        for weights in (None, w):
            model = rs.SpanRegressor(family, n_components=k, alpha=0, random_state=0)
            model.fit(X, y, weights)
            Z = features(model, X)
            root = np.ones(200) if weights is None else np.sqrt(weights)
            share = root**2 / (root**2).sum()
            Zc = (Z - share @ Z) * root[:, None]
            expected = np.linalg.pinv(Zc, rcond=1e-10) @ ((y - share @ y) * root)
            np.testing.assert_allclose(model.weights_, expected, atol=1e-8)
            limit = rs.SpanRegressor(
                family, n_components=k, alpha=1e-12, random_state=0, dtype="float64"
            ).fit(X, y, weights)
            np.testing.assert_allclose(model.predict(X), limit.predict(X), atol=1e-4)


def with_condition(n, k, condition, seed):
    """Features with singular values from 1 to 1/condition, and a target that needs them all."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.normal(size=(n, k)))[0]
    right = np.linalg.qr(rng.normal(size=(k, k)))[0]
    Z = left @ np.diag(np.geomspace(1, 1 / condition, k)) @ right * np.sqrt(n)
    return Z, left @ rng.normal(size=k) * np.sqrt(n) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("condition", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10])
@pytest.mark.parametrize("alpha", [0, 1e-12, 1e-6])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ill_conditioned_features_give_least_squares_answers(condition, alpha, dtype):
    """The solver notices where moments cannot be trusted and takes the orthogonal way."""
    n, k = 1500, 40
    Z, y = with_condition(n, k, condition, 1)
    # Identity weights: the features are the columns of Z themselves.
    columns = iter(np.eye(k))
    family = rs.Projections(weights=lambda d, rng: next(columns))
    model = rs.SpanRegressor(
        family,
        n_components=k,
        alpha=alpha,
        fit_intercept=False,
        standardize=False,
        dtype=dtype,
        random_state=0,
    ).fit(Z, y)
    ridge = np.sqrt(alpha * k) * np.eye(k)
    stacked, target = np.vstack([Z, ridge]), np.append(y, np.zeros(k))
    expected = Z @ linalg.lstsq(stacked, target, cond=1e-15)[0]
    error = np.linalg.norm(model.predict(Z) - expected) / np.linalg.norm(expected)
    print(f"{dtype} {condition:.0e} alpha={alpha:g}: {error:.1e} by {model.solution_.solver}")
    # float32 features are rounded themselves: 6e-8 · condition number, where they are used.
    assert error < 1e-4
    if condition >= 1e7 and alpha < 1e-10:
        assert model.solution_.solver == "qr"


def test_streamed_moments_refuse_what_they_cannot_carry():
    Z, y = with_condition(1000, 30, 1e9, 2)
    model = rs.SpanRegressor(
        rs.Projections(), n_components=30, alpha=0, standardize=False, random_state=0
    )
    model.partial_fit(Z, y)
    with pytest.raises(IllConditioned, match="solver='qr'"):
        model.predict(Z)
    orthogonal = clone_with(model, solver="qr")
    for s in range(0, 1000, 250):
        orthogonal.partial_fit(Z[s : s + 250], y[s : s + 250])
    whole = clone_with(model, frame=orthogonal.frame_).fit(Z, y)
    assert whole.solution_.solver == "qr"
    np.testing.assert_allclose(orthogonal.predict(Z), whole.predict(Z), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="cannot be removed"):
        orthogonal.forget(Z[:10], y[:10])


def test_a_solver_asked_for_by_name_refuses_instead_of_switching():
    Z, y = with_condition(1000, 30, 1e9, 3)
    for solver in ("cholesky", "eigen"):
        model = rs.SpanRegressor(
            rs.Projections(), n_components=30, alpha=0, standardize=False, solver=solver
        )
        with pytest.raises(IllConditioned, match="Raise alpha to"):
            model.fit(Z, y)
    with pytest.raises(IllConditioned, match="qr"):
        rs.SpanRegressor(n_components=50, alpha=0, solver="dual").fit(Z, y)
    found = rs.SpanRegressor(n_components=5, alpha="auto", solver="cholesky").fit(Z, y)
    assert found.solution_.solver == "cholesky"


def test_solution_says_what_was_done():
    X, y, _ = data(200)
    expected = [(50, "auto", "eigen"), (50, 0.1, "cholesky"), (500, 0.1, "dual"), (500, 0, "qr")]
    for k, alpha, solver in expected:
        model = rs.SpanRegressor(n_components=k, alpha=alpha, scales=None, random_state=0)
        solution = model.fit(X, y).solution_
        assert solution.solver == solver
        assert len(solution.reason) > 10
        assert solution.seconds > 0
        assert solution.residual < 1e-8
        assert solver in repr(solution)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern32"])
def test_infinitely_many_functions_are_kernel_ridge_regression(kernel):
    X, y, w = data(150, q=2)
    model = rs.SpanRegressor(
        rs.Fourier(kernel), n_components=np.inf, alpha=0.1, fit_intercept=False
    ).fit(X, y, w)
    rows = model.frame_.rows(X, np.float64)
    gram = model.functions_.family.closed_form(rows, rows)
    referee = KernelRidge(alpha=0.1, kernel="precomputed").fit(gram, y, w)
    np.testing.assert_allclose(model.predict(X), referee.predict(gram), atol=1e-9)
    np.testing.assert_allclose(model.weights_, referee.dual_coef_.T, atol=1e-8)


def test_many_functions_approach_infinitely_many():
    X, y, w = data(200, q=1)
    exact = rs.SpanRegressor(n_components=np.inf, alpha=0.1, scales=None, random_state=0)
    exact.fit(X, y, w)
    gaps = []
    for k in (100, 1000, 10_000):
        model = rs.SpanRegressor(
            n_components=k, alpha=0.1, random_state=0, frame=exact.frame_.with_components(k)
        ).fit(X, y, w)
        gaps.append(np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2)))
    slope = np.polyfit(np.log([100, 1000, 10_000]), np.log(gaps), 1)[0]
    assert -0.75 < slope < -0.3, gaps  # 1/√k
    assert gaps[-1] < 0.05
    std = exact.predict(X[:30], return_std=True)[1]
    near = model.predict(X[:30], return_std=True)[1]
    np.testing.assert_allclose(near, std, rtol=0.02)
    assert model.gcv_error_ == pytest.approx(exact.gcv_error_, rel=0.05)


def test_infinitely_many_functions_with_intercept_and_weights_solve_the_stated_problem():
    """Σω(y - Ka - b)² + αa'Ka is stationary in a and b."""
    X, y, w = data(60)
    model = rs.SpanRegressor(n_components=np.inf, alpha=0.05).fit(X, y, w)
    rows = model.frame_.rows(X, np.float64)
    K = model.functions_.family.closed_form(rows, rows)
    a, b = model.weights_, model.intercept_
    residual = w * (y - K @ a - b)
    assert abs(residual.sum()) < 1e-9
    np.testing.assert_allclose(K @ residual, 0.05 * K @ a, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), K @ a + b, atol=1e-10)


def test_the_exact_machine_works_where_there_is_a_closed_form():
    X, y, _ = data(100)
    for family in (
        rs.Stumps(),
        rs.Stumps("quantile"),
        rs.Units("relu"),
        rs.Bumps(),
        rs.Projections(),
    ):
        model = rs.SpanRegressor(family, n_components=np.inf, random_state=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
    with pytest.raises(NotImplementedError, match="no kernel in closed form"):
        rs.SpanRegressor(rs.Units("sigmoid"), n_components=np.inf).fit(X, y)


def test_standard_deviation_is_the_bayesian_linear_model(rng):
    """Against the posterior written out, and against scikit-learn's Gaussian process."""
    X, y, _ = data(120)
    alpha, k = 0.2, 40
    model = rs.SpanRegressor(
        n_components=k, alpha=alpha, fit_intercept=False, dtype="float64", random_state=0
    ).fit(X, y)
    Z, new = features(model, X), rng.normal(size=(15, 4))
    mean, std = model.predict(new, return_std=True)
    noise = model.solution_.residual_sum[0] / (120 - model.solution_.degrees_of_freedom)
    covariance = noise * np.linalg.inv(Z.T @ Z + alpha * k * np.eye(k))
    z = features(model, new)
    np.testing.assert_allclose(
        std**2, noise + np.einsum("ij,jk,ik->i", z, covariance, z), rtol=1e-8
    )

    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    exact = rs.SpanRegressor(
        rs.Fourier(gamma=0.5),
        n_components=np.inf,
        alpha=0.1,
        fit_intercept=False,
        standardize=False,
    ).fit(X, y)
    process = GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(X, y)
    expected, latent = process.predict(new, return_std=True)
    mean, std = exact.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    # The process has unit prior variance: noise 0.1 to 1 signal; ours scales both by σ²/0.1.
    scale = exact.solution_.noise_variance[0] / 0.1
    np.testing.assert_allclose(std**2, scale * (latent**2 + 0.1), rtol=1e-6)


def test_standard_deviations_are_calibrated_on_a_target_from_the_model(rng):
    """Nine in ten new observations fall into the central 90 % interval."""
    X = rng.normal(size=(2000, 3))
    weights = rng.normal(size=200) / np.sqrt(200)
    functions = rs.Fourier(gamma=0.5).draw(X, 200, 5)
    y = 2.0 + functions(X) @ weights + 0.5 * rng.normal(size=2000)
    model = rs.SpanRegressor(
        rs.Fourier(gamma=0.5), n_components=500, standardize=False, random_state=1
    )
    mean, std = model.fit(X[:1000], y[:1000]).predict(X[1000:], return_std=True)
    inside = np.mean(np.abs(y[1000:] - mean) < 1.645 * std)
    assert abs(inside - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 1000)


def test_by_gcv_refuses_weights_that_do_not_count():
    X, y, w = data(100)
    with pytest.raises(ValueError, match="counts of rows"):
        rs.SpanRegressor(n_components=10, alpha="gcv").fit(X, y, w / w.sum())
    rs.SpanRegressor(n_components=10, alpha=1.0).fit(X, y, w / w.sum())


def test_solvers_work_on_statistics_alone(rng):
    """No X in sight: moments and factors of any matrix."""
    Z, Y = rng.normal(size=(100, 6)), rng.normal(size=(100, 2))
    moments, factor = Moments.of(Z.copy(), Y, None), Factor.of(Z, Y, None)
    one = cholesky.solve(moments, 0.5, 6, True, Z.dtype, "")
    paths = [spectrum.from_moments(moments, True, Z.dtype), spectrum.from_factor(factor, True)]
    for path in (*paths, spectrum.from_few_rows(factor, True)):
        other = path.solution(0.5, 6, "")
        np.testing.assert_allclose(other.coef, one.coef, atol=1e-10)
        np.testing.assert_allclose(other.intercept, one.intercept, atol=1e-10)
        np.testing.assert_allclose(other.residual_sum, one.residual_sum, rtol=1e-10)
        z = rng.normal(size=(5, 6))
        np.testing.assert_allclose(
            other.posterior.quadratic(z), one.posterior.quadratic(z), rtol=1e-8
        )
    alphas = lattice(paths[0], 6, np.dtype(np.float64), 10)
    assert by_gcv(paths[0], 6, alphas) == by_gcv(paths[1], 6, alphas)


@pytest.mark.parametrize("k", [400, np.inf])
def test_a_row_that_stands_twice_does_not_end_cross_validation(k, rng):
    """With Σω in place of the number of distinct rows a residual of zero would win.

    One freedom would be left over beside n, so that the interpolating model has a cross-validated
    error of zero; weights above 1 do the same.
    """
    X = rng.normal(size=(200, 5))
    y = np.sin(X[:, 0]) + rng.normal(size=200)
    X[1], y[1] = X[0], y[0]
    for weights in (None, np.full(200, 2.0)):
        model = rs.SpanRegressor(n_components=k, dtype="float64", random_state=0)
        model.fit(X, y, weights)
        assert 0.5 < model.gcv_error_ < 3
        assert model.alpha_ > 1e-2
    streamed = rs.SpanRegressor(n_components=400, frame=model.frame_, dtype="float64")
    streamed.partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    fitted = clone_with(streamed).fit(X, y)
    assert streamed.alpha_ == fitted.alpha_
    assert streamed.gcv_error_ == pytest.approx(fitted.gcv_error_, rel=1e-6)
    sparse_rows = clone_with(streamed).fit(sparse.csr_array(X), y)
    assert sparse_rows.gcv_error_ == pytest.approx(fitted.gcv_error_, rel=1e-6)


def test_one_alpha_in_the_dual_takes_no_eigenvectors(monkeypatch):
    X, y, _ = data(120)
    params = {"n_components": 300, "alpha": 0.01, "dtype": "float64", "random_state": 0}
    expected = rs.SpanRegressor(solver="qr", **params).fit(X, y)
    monkeypatch.setattr(spectrum, "_eigenvectors", None)
    model = rs.SpanRegressor(**params).fit(X, y)
    assert model.solution_.solver == "dual"
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-7, atol=1e-9)
    ours, theirs = (one.predict(X, return_std=True)[1] for one in (model, expected))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)
    for name in ("degrees_of_freedom", "objective", "gcv_error"):
        assert getattr(model.solution_, name) == pytest.approx(
            getattr(expected.solution_, name), rel=1e-7
        )


# -- losses with a kink beyond a few hundred functions --------------------------------------------


@pytest.mark.parametrize(
    "loss",
    ["hinge", "absolute", losses.Pinball(0.9), "epsilon_insensitive"],
    ids=["hinge", "absolute", "pinball", "epsilon-insensitive"],
)
def test_losses_with_a_kink_take_few_steps_whatever_the_number_of_functions(loss):
    """Envelopes grow stiff: hundreds of steps of L-BFGS, some tens of Newton's method."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    known = {"loss": loss, "alpha": 1e-3, "scales": None, "random_state": 0}
    if loss == "hinge":
        model = rs.SpanClassifier(rs.Fourier(), 400, **known)
        model.fit(X, truth + 0.3 * rng.normal(size=3000) > 0)
    else:
        model = rs.SpanRegressor(rs.Fourier(), 400, **known)
        model.fit(X, truth + 0.3 * rng.standard_t(3, size=3000))
    found = model.solution_
    assert found.converged
    assert found.residual <= 1e-5  # the gradient, and the duality gap beside the objective
    assert found.iterations <= 250
