"""What adds up: one protocol for every kind of statistics."""

import numpy as np
import pytest
from scipy import sparse

import randspan as rs
from randspan.engines import CPU
from randspan.features import Features
from randspan.sources import ArraySource, of_arrays
from randspan.statistics import KINDS, Factor, Moments

#: A family of which every kind is read.
FAMILIES = {
    "moments": rs.Fourier(),
    "factor": rs.Fourier(),
    "out_of_bag": rs.Trees(max_features=2),
    "cells": rs.Bins(),
    "kernel rows": rs.Stumps("normal"),
}
FORMS = ("dense", "sparse")


def data(n=120, kind="dense", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.8)
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 2])
    weights = rng.integers(0, 4, size=n) / 2
    return of_arrays(sparse.csr_array(X) if kind == "sparse" else X, Y, weights)


def frame_for(name, source, k=15):
    k = np.inf if name == "kernel rows" else k
    frame = rs.Frame.read([(source.X, None, source.weights)], FAMILIES[name], k, random_state=0)
    return frame.trained_on(source, False, 1, lambda done: None)


def reader(name, source):
    """Statistics of some rows, by their indices."""
    frame = frame_for(name, source)
    functions = frame.functions()

    def read(rows):
        features = Features(frame, functions, source.some(rows), np.dtype(float))
        return KINDS[name].read(features, CPU(1))

    return read, functions


def known(statistics):
    """The numbers that a solver would see, in an order that does not depend on that of the rows."""
    found = statistics.arrays()
    if statistics.name == "factor":
        return statistics.summed().scatter, statistics.summed().cross
    if "weights" in found:
        order = np.lexsort([found["weights"], *found["targets"].T])
        rows = found["targets"][order], found["weights"][order]
        if "cells" not in found:
            return rows
        cells = found["cells"][:, order]  # cells may have other numbers, rows share the same ones
        return *rows, (cells[:, :, None] == cells[:, None]).sum(axis=0)
    return tuple(found[name] for name in ("scatter", "cross", "sums", "counts") if name in found)


def assert_same(one, other):
    assert one.rows == other.rows
    assert one.weight == pytest.approx(other.weight)
    for a, b in zip(known(one), known(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_every_kind_has_a_family_here():
    assert FAMILIES.keys() == KINDS.keys()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", FORMS)
def test_any_split_adds_up_and_what_was_added_can_be_removed(name, kind):
    read, functions = reader(name, data(kind=kind))
    whole = read(np.arange(120))
    order = np.random.default_rng(1).permutation(120)
    parts = [read(rows) for rows in np.split(order, [1, 20, 21, 90])]
    total = KINDS[name].none(functions, 2)
    for part in parts:
        before = known(total) if total.rows else ()
        following = total.plus(part)
        # Nothing that was there has changed.
        for a, b in zip(before, known(total) if total.rows else (), strict=True):
            np.testing.assert_array_equal(a, b)
        total = following
    assert_same(total, whole)
    if name == "factor":
        with pytest.raises(ValueError, match="cannot be removed"):
            total.minus(parts[1])
        total, parts = total.summed(), [part.summed() for part in parts]
    left = total.minus(parts[1]).minus(parts[3])
    assert_same(left, parts[0].plus(parts[2]).plus(parts[4]))
    assert_same(left.plus(parts[3]).plus(parts[1]), total)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "factor"])
def test_rows_that_were_never_there_are_refused(name):
    source = data()
    read, _ = reader(name, source)
    half, others = read(np.arange(60)), read(np.arange(60, 120))
    with pytest.raises(ValueError, match=r"cannot have been in the model|Cannot forget"):
        half.minus(others.plus(others))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", FORMS)
def test_arrays_in_and_out(name, kind):
    """What comes out is arrays, and statistics made of them go on as the others."""
    read, functions = reader(name, data(kind=kind))
    one, more = read(np.arange(70)), read(np.arange(70, 120))
    arrays = one.arrays()
    assert all(
        isinstance(array, np.ndarray) and array.dtype.kind in "fiu" for array in arrays.values()
    )
    again = KINDS[name].from_arrays(arrays, functions)
    assert type(again.rows) is int
    assert_same(again, one)
    assert_same(again.plus(more), one.plus(more))
    columns = [s.plus(more).columns(functions).n_columns for s in (again, one)]
    assert columns[0] == columns[1]


def test_kinds_do_not_mix_unless_they_can():
    statistics = {name: reader(name, data())[0](np.arange(50)) for name in KINDS}
    for name, one in statistics.items():
        for other_name, other in statistics.items():
            if name == other_name or (name, other_name) == ("moments", "factor"):
                assert one.plus(other).name == name
                continue
            with pytest.raises(ValueError, match="the same solver and alpha"):
                one.plus(other)


def test_a_factor_is_the_square_root_of_moments(rng):
    Z, Y, weights = rng.normal(size=(50, 4)), rng.normal(size=(50, 2)), rng.uniform(size=50)
    squares, root = Moments.of(Z.copy(), Y, weights), Factor.of(Z, Y, weights)
    for name in ("mean", "target_mean", "scatter", "cross", "target_scatter"):
        np.testing.assert_allclose(getattr(squares, name), getattr(root.summed(), name), atol=1e-12)


def test_cells_of_other_tables_get_the_numbers_they_have_here():
    """Two draws of the same grids number cells as rows bring them; sums of both agree on one."""
    source = data()
    frame = frame_for("cells", source)
    one, two = (
        KINDS["cells"].read(
            Features(frame, frame.functions(), source.some(rows), np.dtype(float)), CPU(1)
        )
        for rows in (np.arange(70), np.arange(60, 120))
    )
    total = one.plus(two)
    functions = total.columns(frame.functions())
    rows = np.concatenate([np.arange(70), np.arange(60, 120)])
    rows = rows[source.weights[rows] > 0]
    expected = functions.cells(frame.rows(source.X[rows], np.float64))
    np.testing.assert_array_equal(total.kept.arrays["cells"], expected)
    # The first model's functions still have the columns they had.
    assert one.n_cells < total.n_cells
    assert one.columns(functions).n_columns == one.n_cells


def test_sources_know_their_rows():
    source = data()
    assert source.present == np.count_nonzero(source.weights)
    present = source.without_absent()
    assert present.n_rows == source.present
    np.testing.assert_array_equal(present.targets(), source.targets()[source.weights > 0])
    assert present.without_absent() is present
    with pytest.raises(ValueError, match="no targets"):
        ArraySource(source.X).targets()
