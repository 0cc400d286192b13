"""What every family promises: facts, precision, sparse rows, and refusals that explain."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.linalg import hadamard
from sklearn.base import clone

import randspan as rs
from randspan.families.shared import loops
from randspan.families.shared.bandwidth import weighted_median
from randspan.families.shared.rows import Rows, as_rows
from table import FAMILIES, NAMELESS, plain, target


@pytest.mark.parametrize("name", FAMILIES)
def test_shape_bound_and_precision(name, rng):
    family = FAMILIES[name]
    X = rng.normal(size=(300, 6))
    functions = family.draw(X, 48, 0, target(X))
    Z = functions(X)
    extra = 6 if name in ("units-direct", "union-of-three") else 0
    assert Z.shape == (300, functions.n_columns)
    assert family.sparse or Z.shape[1] == 48 + extra
    assert sparse.issparse(Z) == family.sparse
    assert Z.dtype == np.float64
    Z = plain(Z)
    assert np.abs(Z).max() <= family.bounded * (1 + 1e-12)
    if np.isfinite(family.bounded):
        assert np.abs(Z).max() >= 0.9 * family.bounded
    single = functions(X.astype(np.float32))
    assert single.dtype == np.float32
    different = np.abs(plain(single) - Z) > 1e-4
    # A sign may flip where a float32 row falls on the other side of a threshold; nothing else may.
    assert different.mean() < (1e-3 if not family.differentiable else 1e-12) + 1e-9


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_rows_agree(name, dtype, rng):
    dense = rng.normal(size=(200, 7)) * (rng.uniform(size=(200, 7)) < 0.3)
    dense = dense.astype(dtype)
    functions = FAMILIES[name].draw(dense, 30, 0, target(dense))
    centre, scale = rng.normal(size=7), rng.uniform(0.5, 2, size=7)
    # A phase is rounded relative to its size, and heavy-tailed laws have large frequencies.
    frequencies = getattr(functions, "frequencies", np.ones(1))
    largest = np.abs(frequencies).max() if isinstance(frequencies, np.ndarray) else 1.0
    tolerance = 100 * np.finfo(dtype).eps * max(largest, 1)
    for matrix in (sparse.csr_matrix(dense), sparse.csr_array(dense)):
        np.testing.assert_allclose(
            plain(functions(matrix)), plain(functions(dense)), atol=tolerance
        )
        folded, expected = (functions(Rows(rows, centre, scale)) for rows in (matrix, dense))
        np.testing.assert_allclose(plain(folded), plain(expected), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", [n for n in FAMILIES if n not in NAMELESS])
def test_families_clone_and_print(name):
    family = clone(FAMILIES[name])
    assert repr(family) == repr(FAMILIES[name])
    assert family.get_params().keys() == FAMILIES[name].get_params().keys()


def test_kernel_is_a_parameter_and_a_method(rng):
    X = rng.normal(size=(4, 2))
    family = rs.Fourier("matern32", gamma=1.0)
    assert family.get_params()["kernel"] == "matern32"
    before = family.kernel(X)
    family.set_params(kernel="gaussian")
    assert family.kernel_name == "gaussian"
    assert not np.allclose(family.kernel(X), before)
    assert clone(family).kernel_name == "gaussian"


def test_facts():
    assert rs.Fourier().bounded == pytest.approx(np.sqrt(2))
    assert rs.Stumps().bounded == rs.Units().bounded == rs.Bumps().bounded == 1
    assert rs.Units("relu").bounded == rs.Projections().bounded == np.inf
    assert (rs.Fourier() + rs.Stumps()).bounded == pytest.approx(np.sqrt(2))
    assert rs.Fourier().rotation_invariant
    assert not rs.Fourier("laplacian").rotation_invariant
    assert not rs.Stumps().differentiable
    assert {name for name, f in FAMILIES.items() if f.uses_target} == {
        *("trees", "leaves", "hypotheses", "union-of-grown"),
    }
    assert {name for name, f in FAMILIES.items() if f.sparse} == {
        "bins",
        "bins-hat",
        "bins-law",
        "hybrid",
        "leaves",
    }


def test_fourier_columns_are_the_formula(rng):
    X = rng.normal(size=(20, 3))
    functions = rs.Fourier(gamma=0.3).draw(X, 10, 0)
    phases = X @ functions.frequencies.T + 2 * np.pi * functions.phases
    np.testing.assert_allclose(functions(X), np.sqrt(2) * np.cos(phases), atol=1e-13)
    paired = rs.Fourier(gamma=0.3, form="paired").draw(X, 10, 0)
    phases = X @ paired.frequencies.T
    np.testing.assert_allclose(paired(X)[:, ::2], np.sqrt(2) * np.cos(phases), atol=1e-13)
    np.testing.assert_allclose(paired(X)[:, 1::2], np.sqrt(2) * np.sin(phases), atol=1e-13)


def test_an_odd_paired_draw_ends_in_a_cosine_with_a_phase(rng):
    X = rng.normal(size=(20, 3))
    odd = rs.Fourier(gamma=0.3, form="paired").draw(X, 5, 0)
    even = rs.Fourier(gamma=0.3, form="paired").draw(X, 4, 0)
    np.testing.assert_allclose(odd(X)[:, :4], even(X), atol=1e-12)
    last = X @ odd.frequencies[-1] + 2 * np.pi * odd.phases[-1]
    np.testing.assert_allclose(odd(X)[:, 4], np.sqrt(2) * np.cos(last), atol=1e-13)


def test_stumps_at_zero_are_plus_one():
    functions = rs.Stumps(interval=(0.5, 0.5)).draw(np.zeros((2, 1)), 4, 0)
    assert (functions(np.array([[0.5]])) == 1).all()
    assert (functions(np.array([[np.nextafter(0.5, 0)]])) == -1).all()


def test_quantile_stumps_split_between_distinct_values(rng):
    X = rng.choice([0.0, 1.0, 10.0], size=(500, 1), p=[0.9, 0.05, 0.05])
    thresholds = rs.Stumps("quantile").draw(X, 2000, 0).thresholds
    assert set(np.unique(thresholds)) == {0.5, 5.5}
    # The gap between 0 and 1 has the rows of both on its sides.
    left, right = (X == 0).sum() + (X == 1).sum(), (X == 1).sum() + (X == 10).sum()
    share = left / (left + right)
    assert abs((thresholds == 0.5).mean() - share) < 4 * np.sqrt(share * (1 - share) / 2000)


def test_a_scale_of_zero_hides_a_column_from_stumps():
    functions = rs.Stumps("normal").draw(np.zeros((2, 1)), 50, 0)
    rows = Rows(np.array([[-5.0], [7.0]]), None, np.zeros(1))
    values = functions.evaluate(rows)
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[0], np.where(functions.thresholds <= 0, 1, -1))


def test_direct_links_are_the_inputs(rng):
    X = rng.normal(size=(10, 3))
    functions = rs.Units("tanh", direct=True).draw(X, 5, 0)
    assert np.array_equal(functions(X)[:, :3], X)
    assert functions.n_components == 5


def test_activations_are_their_formulas(rng):
    X = rng.normal(size=(10, 3)) * 5
    formulas = {
        "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
        "tanh": np.tanh,
        "relu": lambda u: np.maximum(u, 0),
        "sign": lambda u: np.where(u >= 0, 1.0, -1.0),
        "cos": np.cos,
        "gaussian": lambda u: np.exp(-(u**2) / 2),
    }
    for name, formula in formulas.items():
        functions = rs.Units(name, scale=2.0).draw(X, 20, 0)
        u = X @ functions.weights.T + functions.biases
        np.testing.assert_allclose(functions(X), formula(u), atol=1e-14, err_msg=name)
    own = rs.Units(np.arctan, scale=2.0).draw(X, 20, 0)
    np.testing.assert_allclose(own(X), np.arctan(X @ own.weights.T + own.biases), atol=1e-14)


def test_bumps_are_their_formula(rng):
    X = rng.normal(size=(10, 3))
    gamma = np.array([0.2, 1.0, 3.0])
    functions = rs.Bumps(gamma=gamma).draw(X, 6, 0)
    squares = ((X[:, None] - functions.centers) ** 2 * gamma).sum(axis=2)
    np.testing.assert_allclose(functions(X), np.exp(-squares), atol=1e-13)


def test_bumps_take_every_row_once_before_any_twice(rng):
    X = rng.normal(size=(10, 2))
    centers = rs.Bumps().draw(X, 25, 0).centers
    assert len(np.unique(centers[:10], axis=0)) == 10
    assert np.array_equal(centers[10:20], centers[:10])


def test_a_union_shares_equally_and_interleaves(rng):
    X = rng.normal(size=(10, 3))
    union = (rs.Fourier(gamma=1.0) + rs.Stumps("normal")).draw(X, 7, 0)
    Z = union(X)
    assert [part.n_components for part in union.parts] == [4, 3]
    np.testing.assert_allclose(Z[:, 0::2], union.parts[0](X), atol=1e-12)
    assert np.array_equal(Z[:, 1::2], union.parts[1](X))
    assert len((rs.Fourier() + rs.Stumps() + rs.Units()).parts) == 3
    assert len((rs.Fourier() + (rs.Stumps() + rs.Units())).parts) == 3
    with pytest.raises(TypeError):
        rs.Fourier() + 3


def test_median_gamma_is_the_median(rng):
    from scipy.spatial.distance import pdist

    X = rng.normal(size=(101, 4))  # an odd number of pairs, so that the median is one of them
    X = np.vstack([X, X[:1]])
    distances = {
        "gaussian": pdist(X),
        "matern32": pdist(X),
        "laplacian": pdist(X, "cityblock"),
        "cauchy": np.abs(X[:, None] - X)[np.triu_indices(len(X), 1)].ravel(),
    }
    for kernel, values in distances.items():
        values = values[values > 0]
        median = np.sort(values)[(len(values) - 1) // 2]
        expected = 1 / (2 * median**2) if kernel in ("gaussian", "matern32") else 1 / median
        gamma = rs.Fourier(kernel).draw(X, 1, 0).family.resolved.gamma
        assert gamma == pytest.approx(expected, rel=1e-12), kernel


def test_weighted_median_counts_weights_as_copies(rng):
    values, weights = rng.normal(size=50), rng.integers(1, 5, size=50)
    assert weighted_median(values, weights.astype(float)) == weighted_median(
        np.repeat(values, weights), np.ones(weights.sum())
    )


def test_gamma_of_identical_rows_is_one():
    assert rs.Fourier().draw(np.ones((5, 2)), 3, 0).family.resolved.gamma == 1.0


# -- compiled loops --------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 3e-7), (np.float64, 1e-15)])
def test_cosines_are_accurate(dtype, error):
    turns = np.linspace(-3, 3, 100_003).astype(dtype)[None]
    angles = 2 * np.arccos(np.longdouble(-1)) * turns.astype(np.longdouble)
    exact = np.sqrt(np.longdouble(2)) * np.cos(angles)
    values = loops.cosines(turns.copy(), np.zeros(turns.shape[1]))
    assert np.abs(values - exact).max() < error
    pairs = loops.paired_cosines(turns)
    assert np.array_equal(pairs[:, ::2], values)
    sines = np.sqrt(np.longdouble(2)) * np.sin(angles)
    # Taking a quarter turn off rounds once more.
    assert np.abs(pairs[:, 1::2] - sines).max() < 10 * error


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_hadamard_transform(size, rng):
    lanes = rng.normal(size=(size, loops.LANES))
    expected = hadamard(size) @ lanes
    loops._hadamard(lanes)
    np.testing.assert_allclose(lanes, expected, atol=1e-12)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (rs.Fourier("gausian"), "kernel must be one of 'gaussian'"),
        (rs.Fourier(gamma=-1), "gamma must be positive"),
        (rs.Fourier(gamma=0.0), "gamma must be positive"),
        (rs.Fourier(gamma=[1.0, 2.0]), "gamma has 2 entries, X has 3 columns"),
        (rs.Fourier(gamma="mean"), "gamma must be one of 'median'"),
        (rs.Fourier(gamma=np.nan), "gamma must be positive"),
        (rs.Fourier(sampling="sobol"), "sampling must be one of"),
        (rs.Fourier(form="out_of_bag"), "form must be one of"),
        (rs.Fourier("laplacian", sampling="orthogonal"), "radial"),
        (rs.Fourier("cauchy", sampling="structured"), "radial"),
        (rs.Fourier(lambda d, rng: rng.normal(size=d), sampling="qmc"), "sampling='iid'"),
        (rs.Fourier(lambda d, rng: np.zeros(d + 1)), r"must return 3 finite number\(s\)"),
        (rs.Fourier(lambda d, rng: np.full(d, np.nan)), "finite"),
        (rs.Stumps("gauss"), "threshold must be one of"),
        (rs.Stumps(interval=(1, 0)), "interval must be"),
        (rs.Stumps(interval=3), "interval must be"),
        (rs.Stumps("normal", interval=(0, 1)), "interval belongs to threshold='uniform'"),
        (rs.Units("softmax"), "activation must be one of"),
        (rs.Units(weights="gauss"), "weights must be one of"),
        (rs.Units(bias="gauss"), "bias must be one of"),
        (rs.Units(scale="big"), "scale must be one of 'auto'"),
        (rs.Units(scale=np.inf), "scale must be a finite number"),
        (rs.Bumps(gamma=-2), "gamma must be positive"),
        (rs.Bumps(centers="grid"), "centers must be one of"),
        (rs.Bumps(centers=np.zeros((4, 2))), r"centers must have shape \(m, 3\)"),
        (rs.Projections(weights="sparse"), "weights must be one of"),
        (rs.Projections(scale="big"), "scale must be a finite number"),
        (rs.Fourier() + rs.Stumps("gauss"), "threshold must be one of"),
        (rs.Bins("gaussian"), "kernel must be one of 'laplacian'"),
        (rs.Bins(gamma=0), "gamma must be positive"),
        (rs.Bins(gamma="mean"), "gamma must be one of 'median'"),
        (rs.Bins(pitch=-1.0), "pitch must be positive"),
        (rs.Bins(pitch=[1.0, 2.0]), "pitch has 2 entries, X has 3 columns"),
        (rs.Bins(pitch=1.0, gamma=1.0), "pitch takes the place of kernel and gamma"),
        (rs.Bins(lambda r: np.exp(-(r**2))), "convex and decreasing"),
        (rs.Bins(lambda r: 2 * np.exp(-r)), r"k\(0\) = 2"),
        (rs.Bins(lambda r: 0.5 + 0.5 * np.exp(-r)), "falls to 0"),
        (rs.Bins(lambda r: 1.0), "as many finite numbers"),
        (rs.Bins(pitch=lambda delta: np.exp(-delta) / 2), "integral 0.5"),
        (rs.Bins(pitch=stats.norm()), "distribution of positive numbers"),
        (rs.Bins(pitch=lambda d, rng: -np.ones(d)), "not positive"),
        (rs.Bins(pitch=lambda d, rng: np.ones(d + 1)), r"must return 3 finite number\(s\)"),
    ],
)
def test_wrong_parameters_are_refused(family, message, rng):
    with pytest.raises(ValueError, match=message):
        family.draw(rng.normal(size=(10, 3)), 4, 0)


@pytest.mark.parametrize("n_components", [0, -3, 2.5, "many", True, None])
def test_wrong_numbers_of_functions_are_refused(n_components, rng):
    with pytest.raises(ValueError, match="n_components must be a positive whole number"):
        rs.Fourier().draw(rng.normal(size=(10, 3)), n_components, 0)


def test_wrong_rows_are_refused(rng):
    functions = rs.Fourier().draw(rng.normal(size=(10, 3)), 4, 0)
    with pytest.raises(ValueError, match="drawn for 3 columns, X has 2"):
        functions(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="two-dimensional"):
        functions(np.zeros(3))
    with pytest.raises(ValueError, match="numbers"):
        functions(np.array([["a", "b", "c"]]))
    assert as_rows(np.array([[1, 2]])).values.dtype == np.float64
