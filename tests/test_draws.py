"""A draw is nested, counter-based, and the same everywhere."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse, stats
from threadpoolctl import threadpool_limits

import randspan as rs
from randspan.families.shared import randomness
from randspan.families.shared.frequencies import HadamardFrequencies, orthogonal, sobol
from randspan.families.shared.rows import as_rows
from randspan.families.shared.sample import Reservoir
from randspan.families.shared.spectra import LAWS
from randspan.keys import keys_of
from table import ANCHORED, FAMILIES, NAMELESS, plain, target


@pytest.mark.parametrize("name", [n for n in FAMILIES if n not in ANCHORED])
@pytest.mark.parametrize(("small", "large"), [(2, 4), (10, 64), (100, 350)])
def test_a_larger_draw_starts_with_the_smaller_one(name, small, large, rng):
    X = rng.normal(size=(30, 5))
    few = FAMILIES[name].draw(X, small, 7, target(X))
    many = FAMILIES[name].draw(X, large, 7, target(X))
    # Bit for bit in what was drawn; the product of a row with a function may round differently
    # when the matrix is wider.
    np.testing.assert_allclose(*_same_columns(few, many, X), rtol=1e-12, atol=1e-12, err_msg=name)


def _same_columns(few, many, X):
    """Values of the smaller draw, and what should be the same ones in the larger."""
    if not few.cell_parts:
        return few(X), many(X)[:, : few.n_columns]
    pairs = zip(few.cell_parts, many.cell_parts, strict=True)
    cells = [(a.cells(as_rows(X)), b.cells(as_rows(X))[: a.n_components]) for a, b in pairs]
    return (np.concatenate(side) for side in zip(*cells, strict=True))


def test_drawn_numbers_repeat_bit_for_bit(rng):
    X = rng.normal(size=(30, 70))
    for sampling in ("iid", "orthogonal", "qmc"):
        few = rs.Fourier(sampling=sampling).draw(X, 100, 3)
        many = rs.Fourier(sampling=sampling).draw(X, 300, 3)
        assert np.array_equal(few.frequencies, many.frequencies[:100]), sampling
        assert np.array_equal(few.phases, many.phases[:100])


@pytest.mark.parametrize("coefficients", ["nystrom", "cholesky"])
@pytest.mark.parametrize("anchors", [None, "rpcholesky"])
def test_threads_of_blas_leave_draws_alone(coefficients, anchors, rng):
    """Kernel matrices are singular to rounding here, and their roots large."""
    X = rng.normal(size=(500, 2))
    family = rs.KernelExpansions(gamma=0.05, coefficients=coefficients, anchors=anchors)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(family.draw(X, 300, random_state=0).coefficients)
    assert np.array_equal(*found)


@pytest.mark.parametrize("name", FAMILIES)
def test_another_seed_is_another_draw(name, rng):
    X = rng.normal(size=(30, 5))
    one, two = (FAMILIES[name].draw(X, 10, seed, target(X)) for seed in (1, 2))
    one, two = plain(one(X)), plain(two(X))
    assert one.shape != two.shape or not np.allclose(one, two)


def test_another_process_draws_the_same_bits():
    code = (
        "import numpy as np, randspan as rs;"
        "X = np.arange(12.0).reshape(4, 3);"
        "f = rs.Fourier(sampling='orthogonal') + rs.Units('tanh');"
        "print(f.draw(X, 40, 11).parts[0].frequencies.tobytes().hex())"
    )
    here = {}
    exec(code.replace("print(", "here = ("), here)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here["here"]


@pytest.mark.parametrize("name", [n for n in FAMILIES if n not in NAMELESS])
def test_pickling_keeps_functions(name, rng):
    X = rng.normal(size=(10, 4))
    functions = FAMILIES[name].draw(X, 20, 0, target(X))
    again = pickle.loads(pickle.dumps(functions))
    assert np.array_equal(plain(again(X)), plain(functions(X)))


def test_every_kind_of_random_state(rng):
    X = rng.normal(size=(5, 2))
    draw = rs.Fourier(gamma=1.0).draw
    assert np.array_equal(
        draw(X, 4, 3).frequencies, draw(X, 4, np.random.RandomState(3)).frequencies
    )
    generator = np.random.default_rng(0)
    assert not np.array_equal(draw(X, 4, generator).frequencies, draw(X, 4, generator).frequencies)
    assert not np.array_equal(draw(X, 4, None).frequencies, draw(X, 4, None).frequencies)


def test_uniforms_and_normals_follow_their_laws():
    u = randomness.uniforms(5, "test", 20_000, 3)
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    z = randomness.normals(5, "test", 20_000, 3)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    # Neighbours in either direction, other streams and other seeds are uncorrelated: |r|√n is
    # normal, and 4.5 has a probability of 7e-6.
    other = randomness.normals(5, "another", 20_000, 3)
    next_seed = randomness.normals(6, "test", 20_000, 3)
    pairs = [(z[1:, 0], z[:-1, 0]), (z[:, 0], z[:, 1]), (z[:, 0], other[:, 0])]
    for a, b in [*pairs, (z[:, 0], next_seed[:, 0])]:
        assert abs(np.corrcoef(a, b)[0, 1]) * np.sqrt(len(a)) < 4.5


def test_a_samplers_generators_are_independent_of_each_other_and_of_the_table():
    first = np.array([randomness.generator(0, "s", i).normal() for i in range(4000)])
    assert stats.kstest(first, "norm").pvalue > 1e-3
    assert len(np.unique(first)) == len(first)
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) * np.sqrt(len(first)) < 4.5


def test_orthogonal_frequencies_are_orthogonal_within_blocks_and_keep_their_lengths():
    d, law = 100, LAWS["gaussian"]
    frequencies = orthogonal(law, d, 250, 0)
    directions = frequencies / np.linalg.norm(frequencies, axis=1, keepdims=True)
    for start in (0, 100, 200):
        block = directions[start : start + 100]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)
    squares = (orthogonal(law, 5, 5000, 1) ** 2).sum(axis=1)
    assert stats.kstest(squares, stats.chi2(5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("d", [1, 3, 8])
def test_structured_frequencies_equal_their_dense_matrix_and_are_normal(d):
    """The fast products against the matrices written out, and each frequency N(0, I)."""
    from scipy.linalg import hadamard

    from randspan.families.shared.rows import as_rows

    drawn = HadamardFrequencies.draw(LAWS["gaussian"], d, 4000, 9)
    size = drawn.signs.shape[1]
    H = hadamard(size)
    dense = []
    for b in range(len(drawn.signs)):
        permuted = (H * drawn.signs[b])[drawn.permutations[b]]
        dense.append(drawn.scales[b][:, None] * (H @ (drawn.gains[b][:, None] * permuted)))
    dense = np.concatenate(dense)[:4000, :d]
    X = np.random.default_rng(0).normal(size=(37, d))
    np.testing.assert_allclose(drawn.products(as_rows(X), np.ones(d)), X @ dense.T, atol=1e-10)
    # One coordinate of one frequency a block: independent, and standard normal.
    single = dense[::size, 0]
    assert stats.kstest(single, "norm").pvalue > 1e-3


def test_sobol_points_are_uniform_over_seeds():
    firsts = np.array([sobol(3, 8, seed)[5] for seed in range(2000)])
    for column in firsts.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    with pytest.raises(ValueError, match="orthogonal"):
        sobol(30_000, 4, 0)


def gathered(X, weights=None, capacity=500, seed=4, step=None):
    """The sample of some rows that come ``step`` at a time, in sources of their own."""
    reservoir = Reservoir(capacity, seed)
    for start in range(0, X.shape[0], step or X.shape[0]):
        some = slice(start, start + (step or X.shape[0]))
        each = None if weights is None else weights[some]
        reservoir.add(keys_of(X[some]), each, X[some].__getitem__, [X[some]])
    return reservoir.sample(None, None)


def test_a_reservoir_does_not_depend_on_blocks(rng):
    X, weights = rng.normal(size=(20_000, 3)), rng.exponential(size=20_000)
    X[10_000:] = X[rng.integers(0, 10_000, 10_000)]  # copies that come late
    a, b = gathered(X, weights), gathered(X, weights, step=777)
    assert np.array_equal(a.rows.values, b.rows.values)
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-14)
    assert np.array_equal(a.lower, X.min(axis=0))
    assert np.array_equal(b.upper, X.max(axis=0))
    assert not a.complete
    own = [weights[(row == X).all(axis=1)].sum() for row in a.rows.values[:20]]
    np.testing.assert_allclose(a.weights[:20], own, rtol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("kept", [50, 5000])
def test_a_sample_depends_neither_on_order_nor_on_how_rows_are_repeated(rng, form, kept):
    X, weights = rng.integers(-9, 9, (1000, 3)) / 4, rng.integers(1, 4, 1000)
    again = rng.permutation(np.repeat(np.arange(1000), weights))
    samples = []
    for rows, each in ((X, weights.astype(float)), (X[again], None), (X[::-1], weights[::-1])):
        samples.append(gathered(form(rows), each, kept, 0, step=333))
    for sample in samples:
        np.testing.assert_array_equal(sample.rows.dense, samples[0].rows.dense)
        np.testing.assert_array_equal(sample.weights, samples[0].weights)
    assert samples[0].complete == (kept == 5000)
    assert len(np.unique(samples[0].rows.dense, axis=0)) == len(samples[0].rows)


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_do_not_depend_on_the_order_of_rows(name, rng):
    """Bit for bit, scales included; functions that learn are of other rows then."""
    X = np.column_stack([rng.normal(1e3, 1.0, 500), rng.exponential(size=(500, 3))])
    weights, order = rng.exponential(size=500), rng.permutation(500)
    frames = [
        rs.Frame.read([(X[rows], None, weights[rows])], FAMILIES[name], 20, random_state=0)
        for rows in (slice(None), order)
    ]
    assert frames[0].same_as(frames[1])


def test_sums_over_a_sample_are_unbiased(rng):
    """Every distinct row has the same chance, whatever it weighs, and comes with all its weight."""
    values, counts = rng.normal(size=(400, 1)), rng.integers(1, 30, 400)
    rows = np.repeat(values, counts, axis=0)
    found = []
    for seed in range(1000):
        sample = gathered(rows, None, 100, seed)
        found.append(4 * float(sample.weights @ sample.rows.dense[:, 0]))
    assert abs(np.mean(found) - rows.sum()) < 4 * np.std(found) / np.sqrt(len(found))


def test_rows_of_weight_zero_do_not_exist(rng):
    X = rng.normal(size=(50, 2))
    X[0] = 1e9
    weights = np.ones(50)
    weights[0] = 0
    sample = gathered(X, weights, 100)
    assert len(sample.rows) == 49
    assert sample.upper.max() < 10
