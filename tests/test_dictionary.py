"""Scrambled dictionaries: any finite basis, and a kernel's eigenfunctions."""

import io
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

import randspan as rs
from table import cosines
from test_kernels import agrees, upper


class Blocks:
    """cos(πix)/i in blocks, as many as one likes."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __call__(self, X, start, stop):
        numbers = np.arange(start + 1, stop + 1)
        return np.cos(np.pi * X[:, :1] * numbers) / numbers


def whole(X):
    return Blocks(50)(X, 0, 50)


def as_sparse(X):
    values = whole(X)
    return sparse.csr_array(np.where(np.abs(values) > 0.05, values, 0))


FORMS = {
    "callable": (whole, whole),
    "blocks": (Blocks(50), whole),
    "list": ([lambda X, i=i: np.cos(np.pi * X[:, 0] * i) / i for i in range(1, 51)], whole),
    "sparse": (as_sparse, lambda X: as_sparse(X).toarray()),
    "drawn functions": (rs.Fourier(gamma=1.0).draw(np.zeros((2, 2)), 30, 0),) * 2,
}


@pytest.mark.parametrize("form", FORMS)
def test_values_are_the_basis_times_the_coefficients(form, rng):
    basis, values = FORMS[form]
    X = rng.uniform(size=(40, 2))
    functions = rs.Dictionary(basis).draw(X, 37, 0)
    phi = values(X)
    xi = functions.coefficients(np.arange(phi.shape[1]))
    np.testing.assert_allclose(functions(X), phi @ xi, atol=1e-12)
    np.testing.assert_allclose(functions.kernel(X, X[:5]), phi @ phi[:5].T, atol=1e-12)
    if form != "drawn functions":  # whose own product is BLAS's
        assert np.array_equal(functions(X[7:8]), functions(X)[7:8])
    assert functions(X.astype(np.float32)).dtype == np.float32


def test_transformers_are_bases(rng):
    X = rng.normal(size=(80, 2))
    for transformer in (PolynomialFeatures(4), SplineTransformer(8, sparse_output=True)):
        transformer.fit(X)
        functions = rs.Dictionary(transformer).draw(X, 20, 0)
        phi = transformer.transform(X)
        xi = functions.coefficients(np.arange(phi.shape[1]))
        np.testing.assert_allclose(functions(X), phi @ xi, atol=1e-10)


def test_blocks_do_not_change_values_and_a_draw_is_nested(rng):
    X = rng.uniform(size=(3000, 1))
    one = rs.Dictionary(Blocks(5000)).draw(X, 10, 3)
    assert np.array_equal(one(X)[:3], one(X[:3]))
    more = rs.Dictionary(Blocks(5000)).draw(X, 50, 3)
    assert np.array_equal(more(X[:20])[:, :10], one(X[:20]))
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again(X[:20]), one(X[:20]))


def test_a_dictionary_is_cloned_with_its_basis(rng):
    X = rng.uniform(size=(90, 2))
    y = X[:, 0] * X[:, 1]
    for basis in (PolynomialFeatures(3).fit(X), Blocks(20), rs.Mercer("laplacian", anchors=30)):
        target = np.sin(3 * X[:, 0]) if isinstance(basis, Blocks) else y
        model = rs.SpanRegressor(rs.Dictionary(basis), 20, standardize=False, random_state=0)
        assert (cross_val_score(model, X, target) > 0.3).all()
    fitted = rs.Dictionary(PolynomialFeatures(2).fit(X))
    with pytest.raises(ValueError, match="object of yours"):
        clone(fitted).set_params(basis__degree=3)


def test_models_of_a_copied_frame_merge(rng):
    X = rng.uniform(size=(90, 2))
    y = X[:, 0] * X[:, 1]
    for basis in (PolynomialFeatures(3).fit(X), Blocks(20), rs.Mercer(anchors=30), cosines):
        model = rs.SpanRegressor(rs.Dictionary(basis), 8, random_state=0).fit(X[:50], y[:50])
        frame = pickle.loads(pickle.dumps(model.frame_))
        other = rs.SpanRegressor(frame=frame).fit(X[50:], y[50:])
        whole = rs.SpanRegressor(frame=model.frame_).fit(X, y)
        np.testing.assert_allclose(model.merge(other).predict(X), whole.predict(X), atol=1e-6)
    one, two = (
        rs.SpanRegressor(rs.Dictionary(Blocks(count)), 8, random_state=0).fit(X, y)
        for count in (20, 21)
    )
    with pytest.raises(ValueError, match="different frames"):
        one.merge(two)


def test_scrambled_functions_have_the_kernel_of_the_basis():
    X = np.random.default_rng(0).uniform(size=(6, 1))
    family = rs.Dictionary(Blocks(200))
    values = []
    for seed in range(100):
        Z = family.draw(X, 4000, seed)(X)
        values.append(upper(Z @ Z.T / 4000))
    expected = upper(family.kernel(X))
    assert agrees(np.array(values), expected, 0.006)
    assert not agrees(np.array(values), 1.1 * expected, 0.006)


def test_a_million_functions_take_little_memory(rng):
    X = rng.uniform(size=(20, 1))
    functions = rs.Dictionary(Blocks(1_000_000)).draw(X, 5, 0)
    functions(X[:1])  # compiled before it is measured
    tracemalloc.start()
    Z = functions(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert Z.shape == (20, 5)
    assert peak < 250e6  # of 160 MB for the values alone, 40 MB for coefficients


def test_a_dictionary_fits_and_streams(rng):
    X = rng.uniform(-1, 1, size=(900, 2))
    y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1])
    model = rs.SpanRegressor(rs.Dictionary(PolynomialFeatures(7).fit(X)), 30, random_state=0)
    model.fit(X, y)
    assert model.alpha_ == 0
    assert model.score(X, y) > 0.8
    stream = rs.SpanRegressor(model.family, 30, frame=model.frame_)
    stream.partial_fit(X[:400], y[:400]).partial_fit(X[400:], y[400:])
    np.testing.assert_allclose(stream.predict(X), model.predict(X), atol=1e-6)
    auto = rs.SpanRegressor(rs.Dictionary(cosines), random_state=0).fit(X, y)
    assert auto.n_components_ == 30


# -- Mercer --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", rs.BrownianSheets(depth=np.inf)])
def test_eigenfunctions_give_the_kernel_back_between_anchors(kernel, rng):
    X = rng.normal(size=(60, 2))
    family = rs.Dictionary(rs.Mercer(kernel, anchors=X))
    if isinstance(kernel, str):
        exact = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}[kernel](X, gamma=0.5)
    else:
        exact = kernel.kernel(X)
    np.testing.assert_allclose(family.kernel(X), exact, atol=1e-8)


def test_eigenfunctions_are_orthogonal_with_eigenvalues_as_squared_lengths(rng):
    X = rng.normal(size=(100, 2))
    basis = rs.Dictionary(rs.Mercer("rbf", 0.5, anchors=X)).draw(X, 1, 0).basis
    phi = basis.checked(X, slice(0, len(basis)))
    squares = phi.T @ phi / len(X)
    np.testing.assert_allclose(squares, np.diag(np.diag(squares)), atol=1e-9)
    values = np.sort(np.linalg.eigvalsh(rbf_kernel(X, gamma=0.5)))[::-1] / len(X)
    np.testing.assert_allclose(np.diag(squares)[:20], values[:20], rtol=1e-6)


def test_mercer_beyond_its_anchors_is_nystroem(rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(size=(25, 2))
    found = rs.Dictionary(rs.Mercer("rbf", 0.7, anchors=Z)).kernel(X)
    left = rbf_kernel(X, Z, gamma=0.7)
    expected = left @ np.linalg.solve(rbf_kernel(Z, gamma=0.7), left.T)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    few = rs.Dictionary(rs.Mercer("rbf", 0.7, anchors=Z, rank=3)).draw(X, 4, 0)
    assert len(few.basis) == 3
    for anchors in (40, "rpcholesky"):
        assert rs.Dictionary(rs.Mercer(anchors=anchors)).draw(X, 4, 0)(X).shape == (80, 4)
    nested = clone(rs.Dictionary(rs.Mercer())).set_params(basis__rank=5)
    assert len(nested.draw(X, 4, 0).basis) == 5


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (3, "basis must be a callable"),
        ([], "is empty"),
        (Blocks(0), "is empty"),
        (rs.Fourier(), "basis must be a callable"),
        (rs.Mercer, "basis must be a callable"),
        (lambda X: X[:, :1] * 1j, "complex128 where numbers"),
        (lambda X: X.astype(str), "where numbers were expected"),
        (rs.Mercer("additive_chi2"), "negative eigenvalues"),
        ([np.sin, 2], "basis must be a callable"),
        (PolynomialFeatures, "basis must be a callable"),
        (lambda X: X[:, 0], "a row for every row"),
        (lambda X: X[:, :0], "0 column"),
        (lambda X: np.log(X - 2.0), "NaN or infinity"),
        (lambda X: X[:1], "shape"),
        (lambda X: np.ones((len(X), len(X))), "1 were expected"),
        ([lambda X: X], "Function 0 of the basis"),
        (rs.Mercer("unknown"), "kernel must be one of"),
        (rs.Mercer(rank=0), "rank must be"),
        (rs.Mercer(anchors=0), "anchors must be"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_bad_basis_is_refused(basis, message, rng):
    X = rng.uniform(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        rs.Dictionary(basis).draw(X, 3, 0)(X)


# -- images of a basis under an operator -----------------------------------------------------------

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def integral(h):
    """∫₀ˣ h, exact for polynomials on every dyadic cell of width 1/64."""
    edges = np.arange(65) / 64
    cells = (edges[:-1, None] + (NODES + 1) / 128) * 1.0
    whole = np.concatenate([[0.0], np.cumsum(h(cells) @ WEIGHTS / 128)])

    def of_rows(X):
        x = X[:, 0]
        at = np.minimum((x * 64).astype(int), 63)
        rest = x - edges[at]
        inside = edges[at][:, None] + rest[:, None] * (NODES + 1) / 2
        return whole[at] + (h(inside) @ WEIGHTS) * rest / 2

    return of_rows


def haar(i):
    """1, and 2^{j/2} (1 on the left half of cell l of scale j, -1 on the right one)."""
    if i == 0:
        return np.ones_like
    j = int(np.log2(i))
    place = i - 2**j

    def step(u):
        t = 2.0**j * u - place
        return 2 ** (j / 2) * (((t >= 0) & (t < 0.5)) * 1.0 - ((t >= 0.5) & (t < 1)))

    return step


def test_integration_makes_brownian_motions_of_every_basis():
    X = np.array([[0.125], [0.25], [0.5], [0.8125], [1.0]])
    expected = np.minimum(X, X.T)
    motions = rs.Dictionary(rs.Images(integral, haar, 16))  # exact where cells of scale 3 end
    np.testing.assert_allclose(motions.kernel(X), expected, atol=1e-12)
    sheets = rs.BrownianSheets(constant=False, depth=4, interval=(0, 1))
    X = np.random.default_rng(0).uniform(size=(40, 1))
    np.testing.assert_allclose(motions.kernel(X), sheets.kernel(X), atol=1e-12)
    waves = rs.Dictionary(rs.Images(integral, count=60))
    assert np.abs(waves.kernel(X) - np.minimum(X, X.T)).max() < 2 / (np.pi**2 * 59)
    listed = rs.Images(integral, [haar(i) for i in range(16)])
    np.testing.assert_allclose(rs.Dictionary(listed).kernel(X), motions.kernel(X), atol=1e-12)


def test_drawn_images_have_their_covariance_and_are_fitted(rng):
    X = rng.uniform(size=(400, 1))
    family = rs.Dictionary(rs.Images(integral, count=40))
    values = [
        upper(Z @ Z.T / 2000) for Z in (family.draw(X[:5], 2000, seed)(X[:5]) for seed in range(60))
    ]
    assert agrees(np.array(values), upper(family.kernel(X[:5])), 0.005)
    y = np.abs(X[:, 0] - 0.4) + 0.01 * rng.normal(size=400)
    model = rs.SpanRegressor(family, 40, standardize=False, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    with pytest.raises(TypeError, match="Cannot store"):
        rs.save(model, io.BytesIO())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rs.Images("integral"), "operator must be a callable"),
        (lambda: rs.Images(integral, "sines"), "basis must be one of 'cosines'"),
        (lambda: rs.Images(integral, []), "one at least"),
        (lambda: rs.Images(integral, [haar(0)], 3), "basis has 1 functions"),
        (lambda: rs.Images(integral, count=0), "count must be a positive"),
        (lambda: rs.Dictionary(rs.Images(lambda h: 3.0)).draw(np.ones((5, 1)), 2, 0), "returned 3"),
        (
            lambda: rs.Dictionary(rs.Images(lambda h: lambda X: X.T @ X)).draw(np.ones((5, 2)), 2),
            "one number for every row",
        ),
    ],
)
def test_images_that_are_none_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
