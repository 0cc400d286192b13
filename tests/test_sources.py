"""Rows in blocks: nobody has all of them, and nothing depends on blocks or order."""

import numpy as np
import pytest
from scipy import sparse

import randspan as rs
from only_blocks import OnlyBlocks
from randspan import frame, keys, model
from randspan.sources import ArraySource, PassSource, PickedSource, passes
from randspan.sources.passes import joined
from randspan.tuning import near_copies
from table import FAMILIES, target

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
SIZES = (1, 40, 3, 500)


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 1.0] + [0.0, 0.0, 50.0]
    y = np.sin(X[:, 0]) + (X[:, 2] - 50) ** 2 + 0.1 * rng.normal(size=n)
    return X, y


X, y = rows()
NEW = rows(80, seed=1)[0]


def alike(one, other, tolerance=0.0):
    """Both models have the same frame and draws, and predict the same of new rows."""
    assert one.frame_.same_as(other.frame_)
    scores = [
        model.predict(NEW) if isinstance(model, R) else model.decision_function(NEW)
        for model in (one, other)
    ]
    np.testing.assert_allclose(*scores, rtol=0, atol=tolerance * np.abs(scores[0]).max())


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("alpha", [0.1, "auto"])
def test_a_fit_of_blocks_is_that_of_an_array(name, alpha):
    given = {"n_components": 12, "alpha": alpha, "random_state": 0, "dtype": "float64"}
    blocks = OnlyBlocks(X, y, sizes=SIZES)
    one, other = R(FAMILIES[name], **given).fit(X, y), R(FAMILIES[name], **given).fit(blocks.source)
    alike(one, other)
    assert one.score(X, y) == other.score(blocks.source)
    assert np.array_equal(one.predict(NEW), other.predict(OnlyBlocks(NEW, sizes=(13,)).source))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "exponential", "squared"])
@pytest.mark.parametrize("family", [rs.Fourier(), rs.Bins(), rs.Trees()])
def test_classifiers_of_blocks(loss, family):
    labels = np.array(["low", "high"])[(y > np.median(y)).astype(int)]
    model = C(family, 12, loss=loss, alpha=0.1, random_state=0, dtype="float64")
    other = C(family, 12, loss=loss, alpha=0.1, random_state=0, dtype="float64")
    blocks = OnlyBlocks(X, labels, sizes=SIZES).source
    alike(model.fit(X, labels), other.fit(blocks))
    assert np.array_equal(model.predict_proba(NEW), other.predict_proba(NEW))
    assert model.score(X, labels) == other.score(blocks)


@pytest.mark.parametrize("loss", ["huber", "absolute", "pinball", "epsilon_insensitive"])
def test_other_losses_of_blocks_weights_and_sparse_rows(loss):
    thin = sparse.csr_array(np.where(np.abs(X) < 1, 0, X))
    weights = np.arange(300) % 4 * 0.7
    given = {"alpha": 0.1, "loss": loss, "random_state": 0, "dtype": "float64"}
    model = R(rs.Fourier(), 12, **given).fit(thin, y, weights)
    other = R(rs.Fourier(), 12, **given).fit(OnlyBlocks(thin, y, weights, sizes=SIZES).source)
    alike(model, other)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"scales": "learn", "family": rs.Fourier(), "n_components": 50},
        {"scales": "rotate", "family": rs.Fourier(), "n_components": 50},
        {"standardize": "robust", "n_components": 50},
        {"family": "auto", "effort": "fast"},
        {"n_components": np.inf, "family": rs.Fourier()},
        {"family": rs.Fourier(), "n_components": 60, "solver": "sketched"},
        {"family": rs.Fourier(), "n_components": 60, "bound": 1.0},
        {"family": rs.Fourier() + rs.Bins(), "n_components": 10},
    ],
    ids=str,
)
def test_learned_scales_portfolios_and_machines_of_blocks(parameters):
    given = {"random_state": 0, "dtype": "float64", **parameters}
    alike(R(**given).fit(X, y), R(**given).fit(OnlyBlocks(X, y, sizes=SIZES).source))


def test_nobody_holds_all_rows(monkeypatch):
    """Of more rows than models keep, no more than some are ever in memory at once."""
    monkeypatch.setattr(model, "KEPT_ROWS", 500)
    n, most = 4_000, 1_000
    large, target = rows(n)
    monkeypatch.setattr(near_copies, "MOST_ROWS", 500)
    monkeypatch.setattr(frame, "capacity", lambda n_features, wanted=0: 500)
    whole, seen = passes.whole, []

    def counted(parts, source, n_rows):
        seen.append(n_rows)
        return whole(parts, source, n_rows)

    monkeypatch.setattr(passes, "whole", counted)
    blocks = OnlyBlocks(large, target, sizes=(900,))
    for given in (
        {"alpha": 0.1},
        {"alpha": "auto"},
        {"loss": "huber"},
        {"loss": "absolute", "alpha": 0.1},
        {"solver": "sketched", "alpha": 0.1},
        {"family": rs.Bins(), "alpha": 0.1},
    ):
        given = {"family": rs.Fourier(), "n_components": 64, "random_state": 0, **given}
        R(**given).fit(blocks.source)
        assert max(seen, default=0) <= most, given
    # What trees are grown on is kept, and seen here: the count can fail.
    R(rs.Trees(), 5, random_state=0).fit(blocks.source)
    assert max(seen) == n


@pytest.mark.parametrize(
    "name", ["fourier", "stumps-quantile", "bumps", "bins", "sheets", "nystrom"]
)
def test_neither_order_nor_blocks_matter(name, rng):
    """Frames, samples and folds are the same; weights differ in the last digits of sums."""
    family = FAMILIES.get(name, rs.KernelExpansions(coefficients="nystrom"))
    large, target = rows(3_000)
    copied = rng.integers(0, 3_000, 4_000)
    large, target = large[copied], target[copied]
    weights = rng.exponential(size=4_000)
    order = rng.permutation(4_000)
    given = {"alpha": 1.0, "random_state": 0, "dtype": "float64"}
    first = R(family, 20, **given).fit(large, target, weights)
    again = OnlyBlocks(large[order], target[order], weights[order], sizes=(333, 1))
    other = R(family, 20, **given).fit(again.source)
    # Cells of many rows are solved for to a residual.
    alike(first, other, 1e-5 if name == "bins" else 1e-9)
    sample, another = first._model.sample, other._model.sample
    assert np.array_equal(sample.keys, another.keys)
    assert np.array_equal(sample.weights, another.weights)
    read = rs.Frame.read([(large, None, weights)], family, 20, random_state=0)
    assert read.same_as(first.frame_)
    assert rs.Frame.read(again.source, family, 20, random_state=0).same_as(read)


def test_streams_take_blocks():
    blocks = OnlyBlocks(X, y, sizes=SIZES).source
    model = R(rs.Fourier(), 20, alpha=0.1, random_state=0, dtype="float64").fit(X, y)
    stream = R(rs.Fourier(), 20, alpha=0.1, frame=model.frame_, dtype="float64")
    stream.partial_fit(blocks)
    alike(model, stream, 1e-10)
    left = OnlyBlocks(X[:100], y[:100]).source
    np.testing.assert_allclose(
        stream.forget(left).predict(NEW), model.forget(X[:100], y[:100]).predict(NEW), atol=1e-8
    )
    rest = OnlyBlocks(X[100:], y[100:]).source
    assert np.allclose(model.leave_one_out(rest), model.leave_one_out(X[100:], y[100:]))


def test_a_transformer_takes_blocks():
    blocks = OnlyBlocks(X, sizes=SIZES).source
    one, other = (T(rs.Bins() + rs.Fourier(), 10, random_state=0, dtype="float64") for _ in "ab")
    a, b = one.fit(X).transform(X), other.fit(blocks).transform(blocks)
    assert (a != b).nnz == 0


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("family", [rs.Fourier(), rs.Trees()])
def test_a_transformer_takes_weights_and_targets_of_blocks(method, family):
    weights = np.arange(300) % 3 * 1.0
    blocks = OnlyBlocks(X, y, weights, sizes=SIZES).source
    one, other = (T(family, 10, random_state=0, dtype="float64") for _ in "ab")
    getattr(one, method)(X, y, weights)
    getattr(other, method)(blocks)
    assert np.array_equal(one.transform(NEW), other.transform(NEW))


def test_keys_of_rows_are_made_once(monkeypatch):
    made, fingerprints = [], keys.fingerprints

    def counted(values):
        made.append(values.shape[0])
        return fingerprints(values)

    monkeypatch.setattr(keys, "fingerprints", counted)
    for fit in (
        lambda: R(rs.Fourier(), 20, random_state=0).fit(X, y),
        lambda: R(random_state=0).fit(X, y),
        lambda: R("auto", effort="fast", random_state=0).fit(X, y),
        lambda: R(rs.Fourier(), 20, random_state=0).fit(OnlyBlocks(X, y, sizes=(50,)).source),
    ):
        made.clear()
        fit()
        # Single rows are asked whether a kernel has a closed form, and whether blocks are the same.
        assert sum(count for count in made if count > 1) == len(X)


def test_keys_are_equal_where_inputs_are():
    known = keys.keys_of(X)
    single = X.astype(np.float32)
    assert np.array_equal(keys.keys_of(sparse.csr_array(X)), known)
    assert np.array_equal(keys.keys_of(single), keys.keys_of(single.astype(np.float64)))
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    found = keys.keys_of(zeros)
    assert found[0] == found[1] != found[2]
    assert len(np.unique(known)) == len(X)


def test_some_rows_of_a_source_are_those_rows(rng):
    array = ArraySource(X)
    passes = PassSource(
        lambda: (X[s : s + 11] for s in range(0, 300, 11)), X.shape, X.dtype, False, X.nbytes,
        known_keys=array.keys,
    )  # fmt: skip
    for some in (rng.permutation(300)[:50], np.arange(0, 300, 7), y > 0):
        for source in (array, passes, PickedSource(passes, np.arange(300))):
            part = source.some(some)
            assert np.array_equal(part.held().X, X[some])
            assert np.array_equal(part.keys, array.keys[some])
    order = rng.permutation(300)
    picked = PickedSource(passes, order)
    found = np.empty_like(X)
    for places, block in picked.gathered(np.arange(300), 37):
        found[places] = block
    assert np.array_equal(found, X[order])
    assert np.array_equal(picked.take(np.array([3, 1])), X[order[[3, 1]]])


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_blocks_are_put_together_anew(step):
    parts = [X[:1], X[1:1], X[1:150], X[150:]]
    found = list(joined(parts, step))
    assert [len(part) for part in found[:-1]] == [step] * (len(found) - 1)
    assert np.array_equal(np.concatenate(found), X)


def test_sources_that_cannot_be_used_say_why():
    with pytest.raises(TypeError, match="a function that returns blocks anew"):
        rs.blocks(iter([(X, y)]))
    with pytest.raises(ValueError, match="must be a tuple \\(X, y\\)"):
        R().fit(rs.blocks(lambda: [X]))
    with pytest.raises(ValueError, match="y comes from the blocks"):
        R().fit(rs.blocks(lambda: [(X, y)]), y)
    with pytest.raises(ValueError, match="leave sample_weight out"):
        R(n_components=5).fit(rs.blocks(lambda: [(X, y)]), sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="features"):
        R().fit(rs.blocks(lambda: [(X, y), (X[:, :2], y)]))
    with pytest.raises(ValueError, match="no block"):
        R().fit(rs.blocks(list))
    with pytest.raises(ValueError, match="none of them missing"):
        R().fit(rs.blocks(lambda: [(np.where(X > 49, np.nan, X), y)]))
    with pytest.raises(ValueError, match="tuple of 4"):
        R().fit(rs.blocks(lambda: [(X, y, None, None)]))
    shorter = iter([[(X, y)], [(X[:200], y[:200])]])
    with pytest.raises(ValueError, match="200 rows in this pass and 300 before"):
        R(rs.Fourier(), 5).fit(rs.blocks(lambda: next(shorter)))
    with pytest.raises(TypeError, match="a tuple is one block"):
        R().fit(rs.blocks(lambda: (X, y)))
    with pytest.raises(ValueError, match="another shape"):
        R().fit(rs.blocks(lambda: [(X, y), (X, np.column_stack([y, y]))]))


@pytest.mark.parametrize("change", ["order", "columns"])
def test_a_source_that_changes_between_passes_is_refused(change, rng):
    passes = []

    def read():
        passes.append(1)
        order = rng.permutation(300) if change == "order" else np.arange(300)
        width = 1 if change == "columns" and len(passes) > 2 else 3
        for start in range(0, 300, 50):
            some = order[start : start + 50]
            yield X[some, :width], y[some]

    with pytest.raises(ValueError, match="other rows than in its first pass"):
        R(rs.Fourier(), 5).fit(rs.blocks(read))


def test_blocks_without_rows_are_no_rows():
    parts = [(X[:0], y[:0]), (X[:100], y[:100]), (X[:0], y[:0]), (X[100:], y[100:])]
    model = R(rs.Fourier(), 10, random_state=0).fit(rs.blocks(lambda: parts))
    alike(model, R(rs.Fourier(), 10, random_state=0).fit(X, y))


def test_a_model_of_a_table_reads_blocks_of_numbers_as_rows_of_it():
    holes = np.where(np.arange(900).reshape(300, 3) % 7 == 0, np.nan, X)
    model = R(rs.Fourier(), 10, alpha=1.0, random_state=0, dtype="float64").fit(holes, y)
    assert np.array_equal(model.predict(NEW), model.predict(OnlyBlocks(NEW).source))
    stream = OnlyBlocks(NEW, NEW[:, 0]).source
    before = model.predict(NEW)
    model.partial_fit(stream).forget(stream)
    np.testing.assert_allclose(model.predict(NEW), before, atol=1e-8)


def test_a_source_that_fails_leaves_the_estimator_as_it_was():
    calls = []

    def read():
        calls.append(1)
        yield X[:200], y[:200]
        if len(calls) > 2:
            raise OSError("the disk is gone")
        yield X[200:], y[200:]

    model = R(rs.Fourier(), 10, random_state=0)
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(rs.blocks(read))
    assert not hasattr(model, "n_features_in_")


def test_a_model_of_trees_takes_blocks_by_its_targets():
    blocks = OnlyBlocks(X, target(X), sizes=SIZES)
    model = R(rs.Trees(), 8, random_state=0).fit(X, target(X))
    alike(model, R(rs.Trees(), 8, random_state=0).fit(blocks.source))
    assert blocks.passes < 20
