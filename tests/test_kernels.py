"""The drawn functions have the kernel that their family claims, scale included.

For each family the kernel is estimated from many independent draws; the estimate must agree with
the closed form within the standard error over draws, Bonferroni over the pairs of points. The same
estimate must reject a bandwidth wrong by 10 % and a scale wrong by √2.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import randspan as rs

DRAWS = 200
STANDARD_ERROR = 0.003
LEVEL = 1e-3  # of a false alarm, over all pairs of a test


def points(d, distance=1.2, seed=0):
    """Seven points, pairwise about ``distance`` apart, so that γ = 1/2 kernels are mid-range."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, d)) * distance / np.sqrt(2 * d)


def estimates(family, X, n_components):
    """The Monte Carlo kernel of every draw, pairs of points in columns."""
    pairs = np.triu_indices(len(X))
    return np.array(
        [rs.estimate_kernel(family, X, None, n_components, seed)[pairs] for seed in range(DRAWS)]
    )


def agrees(values, expected, standard_error=STANDARD_ERROR):
    """Whether the mean over draws is within its standard error of ``expected``."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert error.max() <= standard_error, f"standard error {error.max():.4f}: draw more functions"
    quantile = stats.t.ppf(1 - LEVEL / (2 * len(expected)), len(values) - 1)
    # OutOfBagMoments that every draw gets exactly right have no error; rounding is forgiven.
    return bool((np.abs(values.mean(axis=0) - expected) <= quantile * error + 1e-9).all())


def upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


DATA_CENTERS = points(3, seed=1)

CLOSED_FORMS = {
    "gaussian": rs.Fourier(gamma=0.5),
    "gaussian-columns": rs.Fourier(gamma=[0.2, 0.5, 1.0]),
    "gaussian-paired": rs.Fourier(gamma=0.5, form="paired"),
    "laplacian": rs.Fourier("laplacian", gamma=0.5),
    "cauchy": rs.Fourier("cauchy", gamma=0.7),
    "matern12": rs.Fourier("matern12", gamma=0.5),
    "matern32": rs.Fourier("matern32", gamma=0.5),
    "matern52": rs.Fourier("matern52", gamma=0.5, form="paired"),
    "stable-rough": rs.Fourier("stable", gamma=0.5, p=1, q=0.6),
    "stable-between": rs.Fourier("stable", gamma=0.5, p=1.5, q=1.5),
    "stable-radial": rs.Fourier("stable", gamma=[0.2, 0.5, 1.0], p=2, q=1.3),
    "stable-below-one": rs.Fourier("stable", gamma=0.5, p=0.8, q=0.5, form="paired"),
    "stumps-uniform": rs.Stumps(interval=(-1.5, 1.5)),
    "stumps-normal": rs.Stumps("normal"),
    "stumps-columns": rs.Stumps("normal", probabilities=[0.5, 0.0, 2.0]),
    "units-relu": rs.Units("relu", scale=0.7),
    "units-relu-unbiased": rs.Units("relu", scale=0.7, bias=None),
    "units-sign": rs.Units("sign", scale=1.0),
    "units-sign-unbiased": rs.Units("sign", bias=None),
    "units-cos": rs.Units("cos", scale=1.0),
    "units-gaussian": rs.Units("gaussian", scale=1.0),
    "bumps-normal": rs.Bumps(gamma=0.3, centers="normal"),
    "projections": rs.Projections(scale=0.8),
    "union": rs.Fourier(gamma=0.5) + rs.Stumps("normal"),
    "bins": rs.Bins(gamma=0.5),
    "bins-columns": rs.Bins(gamma=[0.2, 0.5, 1.0]),
    "bins-hat": rs.Bins(pitch=2.5),
    "bins-hat-columns": rs.Bins(pitch=[2.0, 3.0, 4.0]),
    "bins-kernel": rs.Bins(lambda r: 1 / (1 + r), gamma=0.5),
    "bins-distribution": rs.Bins(pitch=stats.expon(1.0)),
    "bins-density": rs.Bins(pitch=lambda delta: delta * np.exp(-delta)),
    "hybrid": rs.Fourier(gamma=0.5) + rs.Bins(gamma=0.5),
    **{
        f"expansions-{law}": rs.KernelExpansions("rbf", 0.5, law, DATA_CENTERS[:2] + 1)
        for law in ("normal", "uniform", "laplace", "bernoulli")
    },
    "expansions-family": rs.KernelExpansions(rs.Fourier("matern32", 0.5), anchors=DATA_CENTERS + 2),
    "networks-relu": rs.Networks((10,), scale=0.7),
    "networks-standard": rs.Networks((2,), "cos", weights="standard", scale=2.0, bias=False),
    "networks-cos-unbiased": rs.Networks((10,), "cos", bias=False),
}


def wide(name):
    """The same family with a bandwidth wrong by 10 %."""
    family = CLOSED_FORMS[name]
    if name == "bins-hat":
        return family.with_values(pitch=1.1 * family.pitch)
    return family.with_values(gamma=family.gamma / 1.1)


#: Families of which the test must see a bandwidth wrong by 10 %.
SEEN = (
    *("gaussian", "gaussian-paired", "laplacian", "cauchy", "matern12", "matern32", "matern52"),
    *("bins", "bins-hat", "bins-kernel", "stable-rough", "stable-between"),
)

#: How many functions a draw has, 4,000 where nothing stands here. Every grid has a table of its
#: cells, so grids take long, and few are needed: that two points share a cell has variance
#: p(1 - p) <= 1/4, so 200 draws of 256 grids have a standard error of at most
#: 0.5/√51,200 = 0.0022. The product of two cosines has variance at most 1, so 200 draws of 400
#: cosines and as many grids have one of at most √(1 + 1/4)/2/√80,000 = 0.0020.
FUNCTIONS = {"hybrid": 800} | {name: 256 for name in CLOSED_FORMS if name.startswith("bins")}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_drawn_functions_have_the_closed_form_kernel(name):
    family, X = CLOSED_FORMS[name], points(3)
    values, expected = estimates(family, X, FUNCTIONS.get(name, 4000)), upper(family.kernel(X))
    assert agrees(values, expected)
    # √2 in the functions is 2 in the kernel; only a kernel of zeros could hide it.
    assert not agrees(values, 2 * expected)
    if name in SEEN:
        assert not agrees(values, upper(wide(name).kernel(X)))


@pytest.mark.parametrize("sampling", ["orthogonal", "qmc", "structured"])
@pytest.mark.parametrize("kernel", ["gaussian", "matern12"])
@pytest.mark.parametrize("d", [3, 50])
def test_every_sampling_is_unbiased_and_the_test_sees_a_wrong_bandwidth(sampling, kernel, d):
    # The product of two cosines is cos ω'(x - y) + cos(ω'(x + y) + 2b), of variance at most 1, and
    # 1.4 times that where frequencies share diagonals: 200 draws of 1,024 have a standard error of
    # at most 0.0026.
    family, X = rs.Fourier(kernel, gamma=0.5, sampling=sampling), points(d)
    values = estimates(family, X, 1024)
    assert agrees(values, upper(family.kernel(X)))
    assert not agrees(values, upper(family.with_values(gamma=0.5 / 1.1).kernel(X)))


@pytest.mark.parametrize("kernel", ["laplacian", "cauchy"])
def test_qmc_is_unbiased_for_product_kernels(kernel):
    family, X = rs.Fourier(kernel, gamma=0.5, sampling="qmc"), points(3)
    assert agrees(estimates(family, X, 1024), upper(family.kernel(X)))


def test_the_test_sees_signed_hadamard_blocks_in_few_dimensions():
    """Products of signs and Hadamard matrices with independent lengths are not unbiased."""
    X, d, size = points(3), 3, 4
    from scipy.linalg import hadamard

    H = hadamard(size) / np.sqrt(size)
    expected = upper(rs.Fourier(gamma=0.5).kernel(X))

    def biased(seed):
        rng = np.random.default_rng(seed)
        blocks = np.broadcast_to(np.eye(size), (128, size, size))
        for _ in range(2):
            blocks = H @ (rng.choice([-1, 1], (128, size, 1)) * blocks)
        lengths = np.sqrt(rng.chisquare(size, (128, size, 1)))
        phases = (blocks[:, :, :d] * lengths).reshape(-1, d) @ X.T
        products = np.cos(phases).T @ np.cos(phases) + np.sin(phases).T @ np.sin(phases)
        return upper(products / len(phases))

    assert not agrees(np.array([biased(seed) for seed in range(DRAWS)]), expected)


def test_bumps_at_data_have_the_mean_over_the_rows_as_kernel():
    # The rows are the law: the kernel is taken over the very rows that centres are drawn from.
    rng = np.random.default_rng(5)
    rows, X = rng.normal(size=(900, 3)), points(3)
    family = rs.Bumps(gamma=0.3)
    values = []
    for seed in range(DRAWS):
        functions = family.draw(rows, 300, seed)
        Z = functions(X)
        values.append(upper(Z @ Z.T / 300))
    expected = rs.Bumps(gamma=0.3, centers=rows).kernel(X)
    assert agrees(np.array(values), upper(expected))
    assert not agrees(np.array(values), upper(rs.Bumps(gamma=0.33, centers=rows).kernel(X)))


def test_stumps_at_quantiles_have_their_kernel():
    rng = np.random.default_rng(6)
    rows = np.column_stack([rng.exponential(size=300), rng.integers(0, 3, size=300)])
    family = rs.Stumps("quantile")
    X, values = rows[:7], []
    for seed in range(DRAWS):
        Z = family.draw(rows, 900, seed)(X)
        values.append(upper(Z @ Z.T / 900))
    expected = family.draw(rows, 1, 0).kernel(X)
    assert agrees(np.array(values), upper(expected))


# -- closed forms against referees ---------------------------------------------------------------


def test_closed_forms_agree_with_scikit_learn(rng):
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(10, 4))
    gamma = 0.37
    referees = {
        "gaussian": rbf_kernel(X, Y, gamma),
        "laplacian": laplacian_kernel(X, Y, gamma),
        "matern12": Matern(1 / np.sqrt(2 * gamma), nu=0.5)(X, Y),
        "matern32": Matern(1 / np.sqrt(2 * gamma), nu=1.5)(X, Y),
        "matern52": Matern(1 / np.sqrt(2 * gamma), nu=2.5)(X, Y),
    }
    for kernel, expected in referees.items():
        np.testing.assert_allclose(
            rs.Fourier(kernel, gamma).kernel(X, Y), expected, rtol=1e-10, atol=1e-14
        )
    stable = {
        (1, 1): referees["laplacian"],
        (2, 1): Matern(1 / gamma, nu=0.5)(X, Y),
        (2, 2): rbf_kernel(X, Y, gamma**2),
    }
    for (p, q), expected in stable.items():
        found = rs.Fourier("stable", gamma, p=p, q=q).kernel(X, Y)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("family", [rs.Fourier(gamma=1e17), rs.Bumps(gamma=1e17)], ids=str)
def test_kernels_of_distances_do_not_lose_digits_to_an_offset(rng, family):
    X = 1 + 1e-9 * rng.normal(size=(30, 2))
    there, at_zero = (
        family.draw(rows, 5, random_state=0).family.kernel(rows, rows[:20]) for rows in (X, X - 1)
    )
    np.testing.assert_allclose(there, at_zero, atol=1e-6)
    assert np.ptp(there) > 0.01


@pytest.mark.parametrize("activation", ["cos", "gaussian"])
def test_kernels_of_units_do_not_lose_digits_to_an_offset(rng, activation):
    """Referee: rational numbers, where far from zero cos u cos v is half of cos(u - v)."""
    X = 1e8 + rng.normal(size=(20, 3))
    found = rs.Units(activation, scale=1.0, bias=None).kernel(X, X[:10])
    expected = rbf_kernel(X - 1e8, X[:10] - 1e8, 0.5) / 2
    if activation == "gaussian":
        exact = np.vectorize(Fraction, otypes=[object])(X)
        products, squares = exact @ exact[:10].T, (exact**2).sum(axis=1)
        under = np.multiply.outer(1 + squares, 1 + squares[:10]) - products**2
        expected = 1 / np.sqrt(under.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("p", "q"), [(1, 1.2), (2.1, 1), (0, 0), (1, 0), ("one", 1)])
def test_stable_kernels_that_do_not_exist_are_refused(p, q):
    with pytest.raises(ValueError, match=r"0 < q <= p <= 2|finite number"):
        rs.Fourier("stable", p=p, q=q).draw(points(3), 4, random_state=0)


def test_closed_forms_of_bins_agree_with_referees():
    X = points(3)
    laplacian = rs.Bins(gamma=0.5).kernel(X)
    np.testing.assert_allclose(laplacian, laplacian_kernel(X, gamma=0.5), rtol=1e-12)
    hats = np.maximum(0, 1 - np.abs(X[:, None] - X) / 2.5).prod(axis=2)
    np.testing.assert_allclose(rs.Bins(pitch=2.5).kernel(X), hats, rtol=1e-12)


def test_stump_kernel_is_the_corrected_formula(rng):
    """1 - ‖x-y‖₁/(a·d) on [-a, a]^d: with the 1/d that the paper's formula lacks."""
    a, d = 2.0, 5
    X = rng.uniform(-a, a, size=(30, d))
    l1 = np.abs(X[:, None] - X).sum(axis=2)
    kernel = rs.Stumps(interval=(-a, a)).kernel(X)
    np.testing.assert_allclose(kernel, 1 - l1 / (a * d), atol=1e-12)
    assert np.linalg.eigvalsh(kernel).min() > -1e-10
    # As printed it is not even positive definite.
    assert np.linalg.eigvalsh(1 - l1 / a).min() < -0.1


def test_normal_stump_kernel(rng):
    X = rng.normal(size=(20, 3))
    F = stats.norm.cdf(X)
    expected = 1 - 2 / 3 * np.abs(F[:, None] - F).sum(axis=2)
    np.testing.assert_allclose(rs.Stumps("normal").kernel(X), expected, atol=1e-12)


def test_kernels_are_positive_definite(rng):
    X = rng.normal(size=(40, 3))
    for name, family in CLOSED_FORMS.items():
        smallest = np.linalg.eigvalsh(family.kernel(X)).min()
        assert smallest > -1e-9, f"{name}: {smallest}"


def test_no_closed_form_says_why_and_what_to_do(rng):
    X = rng.normal(size=(10, 3))
    for family in (
        rs.Units("sigmoid"),
        rs.Units("relu", bias="uniform"),
        rs.Units("relu", direct=True),
        rs.Fourier(lambda d, rng: rng.normal(size=d)),
        rs.Bumps(centers=lambda d, rng: rng.normal(size=d)),
        rs.Projections(lambda d, rng: rng.normal(size=d)),
    ):
        with pytest.raises(NotImplementedError, match="estimate_kernel"):
            family.kernel(X)
        assert rs.estimate_kernel(family, X, n_components=50).shape == (10, 10)


def test_lower_variance_of_the_paired_form():
    X = points(3)
    phase = estimates(rs.Fourier(gamma=0.5), X, 200).var(axis=0)
    paired = estimates(rs.Fourier(gamma=0.5, form="paired"), X, 200).var(axis=0)
    off_diagonal = upper(~np.eye(len(X), dtype=bool))
    assert np.median(paired[off_diagonal] / phase[off_diagonal]) < 0.6


@pytest.mark.parametrize(
    ("sampling", "most"), [("orthogonal", 0.8), ("qmc", 0.8), ("structured", 2)]
)
def test_variance_of_dependent_frequencies(sampling, most):
    """Orthogonal and QMC frequencies gain; structured ones pay a little for their speed."""
    X = points(8)
    iid = estimates(rs.Fourier(gamma=0.5, form="paired"), X, 64).var(axis=0)
    other = estimates(rs.Fourier(gamma=0.5, form="paired", sampling=sampling), X, 64).var(axis=0)
    off_diagonal = upper(~np.eye(len(X), dtype=bool))
    assert np.median(other[off_diagonal] / iid[off_diagonal]) < most


def test_a_kernel_keeps_its_digits_beside_one_row_far_away():
    """Squares are taken from a median: from a mean of 1e6 they would have no digits."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[7] *= 1e8
    K = rs.Bumps(1e-4, centers="normal").kernel(X)
    assert np.abs(K - K.T).max() < 1e-12
    few = np.delete(np.arange(40), 7)
    alone = rs.Bumps(1e-4, centers="normal").kernel(X[few])
    assert K[np.ix_(few, few)] == pytest.approx(alone, rel=1e-9)
