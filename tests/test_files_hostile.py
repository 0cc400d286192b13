"""Files that nobody should believe: each gets one clear error, and no more memory than granted."""

import json
import struct
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import mutations
from scipy import stats

import randspan as rs
from randspan.families.expansions import LAWS
from randspan.families.shared.frequencies import SAMPLINGS
from randspan.families.shared.rows import as_rows
from randspan.families.shared.sample import Sample
from randspan.persistence import container
from randspan.persistence.budget import Budget
from randspan.persistence.schemas.cells import slots_of, steps

R = rs.SpanRegressor
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = np.sin(X[:, 0])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files of several kinds: bytes, and what is inside."""
    folder = tmp_path_factory.mktemp("files")
    models = {
        "fourier": R(rs.Fourier(), 4, alpha=0.1, random_state=0),
        "structured": R(rs.Fourier(sampling="structured"), 4, alpha=0.1, random_state=0),
        "stumps": R(rs.Stumps(), 4, alpha=0.1, random_state=0),
        "trees": R(rs.Trees(max_features=2), 4, random_state=0),
        "leaves": R(rs.Trees(output="leaves", max_features=2), 4, alpha=0.1, random_state=0),
        "bins": R(rs.Bins(), 4, alpha=0.1, random_state=0),
        "exact": R(rs.Fourier(), np.inf, alpha=0.1, random_state=0),
        "generator": R("fourier", 4, random_state=np.random.RandomState(3)),
        "sheets": R(rs.BrownianSheets(grid="sparse", depth=2), 4, random_state=0),
        "seed": R(rs.Fourier(), 4, alpha=0.1, random_state=0),
    }
    found = {}
    for name, model in models.items():
        path = folder / f"{name}.rsp"
        rs.save(model.fit(X, y), path, functions=name != "seed")
        raw = path.read_bytes()
        with path.open("rb") as file:
            inside = container.read(file, len(raw), Budget(2**30))
        found[name] = raw, inside.metadata, inside.tensors
    return found


def refused(raw, path, match, **options):
    (path / "bad.rsp").write_bytes(raw)
    with pytest.raises(rs.ModelFileError, match=match) as caught:
        rs.load(path / "bad.rsp", **options)
    assert "cannot be read" not in str(caught.value)


def with_header(raw, change):
    """The same file with another header."""
    length = int.from_bytes(raw[:8], "little")
    head = change(raw[8 : 8 + length].decode()).encode()
    return len(head).to_bytes(8, "little") + head + raw[8 + length :]


# -- the container ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda raw: b"", "has 0 bytes"),
        (lambda raw: raw[:7], "has 7 bytes"),
        (lambda raw: raw[:-1], "cut off, or changed"),
        (lambda raw: raw[:100], "cut off, or no model"),
        (lambda raw: raw + b"\0", "do not fill the file"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "digest is wrong"),
        (lambda raw: (2**63).to_bytes(8, "little") + raw[8:], "claims 9223372036854775808 bytes"),
        (lambda raw: b"\x80\x04" + raw, "claims"),
        (lambda raw: with_header(raw, lambda h: h.replace('"1"', '"2"', 1)), "install a later one"),
        (
            lambda raw: with_header(raw, lambda h: h.replace("randspan", "pt", 1)),
            "no model of",
        ),
        (lambda raw: with_header(raw, lambda h: h.replace('{"__m', '{"a":1,"a":2,"__m')), "twice"),
        (lambda raw: with_header(raw, lambda h: h.replace("[0,", "[NaN,", 1)), "NaN"),
        (lambda raw: with_header(raw, lambda h: h.replace("[0,", "[1,", 1)), "as its offsets say"),
        (lambda raw: with_header(raw, lambda h: h.replace('"F64"', '"C64"')), "dtype 'C64'"),
        (lambda raw: with_header(raw, lambda h: "[" * 100_000), "does not begin"),
        (lambda raw: with_header(raw, lambda h: '{"a":' + "[" * 100_000), "nested too deeply"),
        (lambda raw: with_header(raw, lambda h: '{"a":' + "9" * 10_000 + "}"), "not JSON"),
        (lambda raw: with_header(raw, lambda h: "{}"), "do not fill the file"),
        (lambda raw: raw[:8] + b"\xff" + raw[9:], "not UTF-8"),
    ],
)
def test_containers_that_are_not_whole(change, match, files, tmp_path):
    refused(change(files["fourier"][0]), tmp_path, match)


def test_other_peoples_files_and_missing_ones(tmp_path):
    from safetensors.numpy import save

    refused(save({"a": np.ones(3)}), tmp_path, "its format is 'not named'")
    refused(b"PK\x03\x04" + bytes(1000), tmp_path, "cut off, or no model")
    with pytest.raises(FileNotFoundError):
        rs.load(tmp_path / "nothing.rsp")
    with pytest.raises(OSError, match="directory"):
        rs.load(tmp_path)
    for limit in (0, -1, "much", True):
        with pytest.raises(ValueError, match="memory_limit must be"):
            rs.load(tmp_path / "bad.rsp", memory_limit=limit)


def test_any_safetensors_reader_reads_our_files(files, tmp_path):
    from safetensors.numpy import load, save

    for raw, metadata, tensors in files.values():
        theirs = load(raw)
        assert theirs.keys() == tensors.keys()
        assert all(np.array_equal(theirs[name], tensors[name]) for name in tensors)
        assert int.from_bytes(raw[:8], "little") % 8 == 0
        (tmp_path / "theirs.rsp").write_bytes(save(theirs, metadata=metadata))
        rs.load(tmp_path / "theirs.rsp")


def test_the_same_model_makes_the_same_bytes(files, tmp_path):
    for seed in range(2):
        model = R(rs.Fourier(), 4, alpha=0.1, solver="qr", random_state=seed // 2).fit(X, y)
        object.__setattr__(model._model, "solution", replace(model.solution_, seconds=0.0))
        rs.save(model, tmp_path / f"{seed}.rsp")
    assert (tmp_path / "0.rsp").read_bytes() == (tmp_path / "1.rsp").read_bytes()


# -- what is inside, with a digest that holds ------------------------------------------------------


def entry(document, name):
    return next(one for one in document["objects"] if one["is"] == name)


def edited(files, name, change, tmp_path, match, **options):
    """Load a file whose document and tensors were changed; its digest is right."""
    _, metadata, tensors = files[name]
    document, arrays = json.loads(metadata["document"]), {n: a.copy() for n, a in tensors.items()}
    change(document, arrays)
    refused(mutations.packed(metadata, document, arrays), tmp_path, match, **options)


def put(tensor, at, value):
    def change(document, arrays):
        arrays[tensor][at] = value

    return change


def field(name, key, value):
    def change(document, arrays):
        entry(document, name)[key] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("stumps", put("stumps_functions.columns", 0, 3), "index out of range"),
        ("stumps", put("stumps_functions.columns", 0, -1), "entries below 0"),
        ("structured", put("hadamard_frequencies.permutations", (0, 0), 9), "index out of range"),
        ("structured", put("hadamard_frequencies.permutations", 0, 0), "must be permutations"),
        ("trees", put("forest.other", 0, 0), "must stand after it"),
        ("trees", put("forest.other", 0, 10**6), "must stand after it"),
        ("trees", put("forest.feature", 0, 3), "splits a column that is not there"),
        ("trees", put("forest.feature", 0, -2), "a leaf .-1., or has a column"),
        ("trees", put("forest.feature", -1, 0), "must stand after it"),
        ("trees", put("forest.roots", 1, 0), "one after the other"),
        ("trees", put("forest.firsts", 1, 10**9), "where leaves of trees begin"),
        ("trees", put("out_of_bag_rows.order", 0, 40), "index out of range"),
        ("trees", put("out_of_bag_rows.order", slice(None), 0), "a permutation of rows"),
        ("trees", put("out_of_bag_rows.keys", 0, 2**64 - 1), "must be sorted"),
        ("leaves", put("leaf_functions.counts", 0, 10**6), "other numbers of keys"),
        ("leaves", put("kept.cells", (0, 0), 10**6), "a cell that is not there"),
        ("bins", put("kept.cells", (0, 0), -1), "entries below 0"),
        ("fourier", put("fourier_functions.frequencies", (0, 0), np.nan), "nan or infinity"),
        ("fourier", put("least_squares.coef", 0, np.inf), "nan or infinity"),
        ("exact", put("kept.weights", 0, -1.0), "entries below 0"),
        ("fourier", field("frame", "n_features", 4), "for d, where 4 was expected"),
        ("fourier", field("frame", "n_components", 5), "differ in number"),
        ("fourier", field("fourier_functions", "n_components", 5), "5 functions have 5 phases"),
        ("fourier", field("fourier", "kernel", "os.system"), "must be one of 'gaussian'"),
        ("fourier", field("fourier", "kernel", {"function": "system"}), "names no function"),
        ("fourier", field("fourier", "gamma", {"ref": 0}), "must be"),
        ("fourier", field("bandwidth", "is", "builtins.eval"), "does not know"),
        ("fourier", field("bandwidth", "gamma", -1.0), "must be a finite number from 0"),
        ("fourier", field("bandwidth", "more", 1), "must have gamma, is; it has"),
        ("fourier", field("plan", "fallback", {"ref": 50}), "are before it"),
        ("fourier", field("model", "functions", {"ref": 0}), "must be one of fourier_functions"),
        ("fourier", field("regressor", "n_components", {"float": "nan"}), "must be"),
        ("fourier", field("regressor", "_n_targets", 2), "other targets than its model"),
        ("fourier", field("regressor", "default", ["clip", "family"]), "default of family"),
        ("sheets", field("multiresolution_functions", "n_components", 2**47), "memory_limit"),
        ("seed", field("fourier_functions", "n_components", 2**47), "differ in number"),
        ("generator", field("regressor", "random_state", {"generator": "os", "state": {}}), "must"),
    ],
)
def test_what_is_inside_is_checked_behind_the_digest(name, change, match, files, tmp_path):
    edited(files, name, change, tmp_path, match)


def test_a_generator_beyond_its_buffer_is_refused(files, tmp_path):
    def beyond(document, arrays):
        entry(document, "regressor")["random_state"]["state"]["state"]["pos"] = 625

    edited(files, "generator", beyond, tmp_path, "from 0 to 624")


def test_tensors_and_objects_that_nobody_needs_are_refused(files, tmp_path):
    def more(document, arrays):
        arrays["hidden"] = np.ones(9)

    def lonely(document, arrays):
        document["objects"].insert(0, {"is": "unit_pitches"})
        document["root"] += 1

    edited(files, "fourier", more, tmp_path, "Tensors that no object has: .'hidden'")
    edited(files, "bins", lonely, tmp_path, r"must be one of|referred to by none|are before it")


def test_a_longer_draw_is_refused_before_it_is_drawn(files, tmp_path):
    def longer(document, arrays):
        k = 2**40
        entry(document, "frame")["n_components"] = k
        entry(document, "fourier_functions")["n_components"] = k

    edited(files, "seed", longer, tmp_path, "functions and targets")  # weights are those of four


def test_keys_that_fall_into_few_slots_are_refused(files, tmp_path):
    random = RNG.integers(2**63, size=5000, dtype=np.uint64)
    size = slots_of(len(random))
    home = (random & np.uint64(size - 1)).astype(int)
    taken, walked = set(), 0
    for start in home:  # linear probing, one by one
        at = start
        while at % size in taken:
            at, walked = at + 1, walked + 1
        taken.add(at % size)
    assert abs(steps(random) - walked) <= 0.01 * walked

    def crowded(document, arrays):
        keys = arrays["bin_functions.keys"]
        count = 3000
        arrays["bin_functions.keys"] = np.concatenate(
            [keys, np.arange(count, dtype=np.uint64) << np.uint64(40)]
        )
        arrays["bin_functions.counts"][-1] += count

    edited(files, "bins", crowded, tmp_path, "too few slots")


# -- memory and time -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["[],", "{},", '"ab",', "1234567,", '{"a":1},', "[[[[]]]],"])
def test_json_takes_no_more_memory_than_is_granted(text, files, tmp_path):
    many = '{"a":[' + text * (2_000_000 // len(text)) + "0]}"
    (tmp_path / "bad.rsp").write_bytes(struct.pack("<Q", len(many)) + many.encode())
    limit = 20_000_000
    tracemalloc.start()
    try:
        with pytest.raises(rs.ModelFileError):
            rs.load(tmp_path / "bad.rsp", memory_limit=limit)
        assert tracemalloc.get_traced_memory()[1] < 1.2 * limit
    finally:
        tracemalloc.stop()


def test_a_key_that_stands_twice_is_found_in_linear_time(tmp_path):
    """20,000 keys, the last two equal: comparing each with all others takes seconds."""
    keys = [f'"{i}":0' for i in range(20_000)] + ['"end":0'] * 2
    text = "{" + ",".join(keys) + "}"
    start = time.process_time()
    refused(len(text).to_bytes(8, "little") + text.encode(), tmp_path, "'end' stands twice")
    assert time.process_time() - start < 1


def test_arrays_take_no_more_memory_than_is_granted(files, tmp_path):
    big = R(rs.Fourier(), 300, alpha=0.1, random_state=0).fit(X, y)
    rs.save(big, tmp_path / "m.rsp")
    with pytest.raises(rs.ModelFileError, match=r"Its arrays would take .*memory_limit=, such"):
        rs.load(tmp_path / "m.rsp", memory_limit=100_000)
    assert rs.load(tmp_path / "m.rsp", memory_limit="10MB").n_components_ == 300


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("family", "d"),
    [
        (rs.Fourier(gamma=1.0, sampling="qmc"), 500),
        (rs.Fourier("stable", gamma=1.0, p=1.5, q=0.5, sampling="qmc"), 200),
        (rs.Fourier(gamma=1.0, sampling="orthogonal"), 5_000),
        (rs.Fourier(gamma=1.0, sampling="structured"), 33_000),
    ],
    ids=repr,
)
def test_a_draw_that_takes_more_than_its_functions_is_refused_before(family, d, tmp_path):
    """One function of d numbers, drawn by way of matrices that are far larger."""
    model = rs.SpanTransformer(family, 1, standardize=False, random_state=0).fit(np.eye(2, d))
    rs.save(model, tmp_path / "m.rsp", functions=False)
    assert np.array_equal(rs.load(tmp_path / "m.rsp").functions_.phases, model.functions_.phases)
    resolved = model.functions_.family
    taken = peak_of(lambda: resolved.drawn(d, 1, 0))
    with pytest.raises(rs.ModelFileError, match="drawing 1 functions would take"):
        rs.load(tmp_path / "m.rsp", memory_limit=taken)


def test_functions_that_look_at_one_column_are_drawn_whatever_columns_there_are(tmp_path):
    model = rs.SpanTransformer(rs.Stumps("normal"), 2_000, standardize=False, random_state=0)
    rs.save(model.fit(np.eye(2, 3_000)), tmp_path / "m.rsp", functions=False)
    back = rs.load(tmp_path / "m.rsp", memory_limit="4MB")
    assert np.array_equal(back.functions_.columns, model.functions_.columns)


def of_objects(objects, tensors):
    """A file of some objects, whose digest is right."""
    document = {"library": "", "root": len(objects) - 1, "functions": [], "objects": objects}
    return mutations.packed({"format": "randspan", "version": "1"}, document, tensors)


def frame(family, **more):
    """A frame of three columns."""
    optional = "centre scale rotation importances ridge trained bend constant columns mean"
    open_ = dict.fromkeys(optional.split())
    fixed = {"is": "frame", "n_features": 3, "n_components": 5, "seed": 0}
    return open_ | fixed | {"family": {"ref": family}} | more


def levels(names):
    shape = {"shares": {"array": "shares"}, "at": {"array": "at"}}
    rest = {"pooled": 0, "holes": 0.0, "numbers": None, "mean": 0.0}
    return {"is": "levels", "names": names, **shape, **rest}


NORMAL = [
    {"is": "normal_thresholds"},
    {"is": "stumps", "threshold": "normal", "interval": None, "resolved": [{"ref": 0}]},
]


def test_one_array_in_many_places_is_refused_before_each_is_checked(tmp_path):
    """5,000 columns of one tensor each: 0.8 MB, and 3 GB to be looked at."""
    gaps, reached = ([{"array": name}] * 5_000 for name in ("gaps", "reached"))
    thresholds = {"is": "quantile_thresholds", "gaps": gaps, "reached": reached}
    tensors = {"gaps": np.arange(40_000.0), "reached": np.linspace(0, 1, 40_000)}
    raw = of_objects([thresholds, NORMAL[1] | {"threshold": "quantile"}], tensors)
    refused(raw, tmp_path, "too often: checking them")


def test_one_object_in_many_places_is_refused_before_each_is_checked(tmp_path):
    """2,000 frames of one union of 1,000 parts: 0.5 MB, and two million checks of a part."""
    union = {"is": "union", "parts": [{"ref": 1}] * 1_000}
    raw = of_objects([*NORMAL, union, *[frame(2)] * 2_000], {})
    refused(raw, tmp_path, "too often: checking them", memory_limit=2 * 10**7)


def test_numbers_of_one_hash_are_refused(tmp_path):
    """Multiples of 2⁶¹ - 1 all have the hash 0: a dictionary of them compares each with each."""
    numbers = [{"int": str((10**20 + i) * (2**61 - 1))} for i in range(1_000)]
    tensors = {"shares": np.ones(1), "at": np.zeros(1_000, np.int64)}
    refused(of_objects([levels(numbers)], tensors), tmp_path, "have the same hash")
    rs.save(rs.SpanClassifier(), tmp_path / "m.rsp")
    raw = (tmp_path / "m.rsp").read_bytes()
    with (tmp_path / "m.rsp").open("rb") as file:
        document = json.loads(container.read(file, len(raw), Budget(2**30)).metadata["document"])
    entry(document, "classifier")["class_weight"] = {"pairs": [[one, 1.0] for one in numbers]}
    refused(of_objects(document["objects"], {}), tmp_path, "have the same hash")


def test_names_of_columns_are_not_made_to_count_them(tmp_path):
    """20 categories of 20,000 places with a name of 1,000 letters: 0.2 MB, and 400 MB of names."""
    one_hot = {"is": "one_hot", "name": "n" * 1_000, "levels": {"ref": 2}, "kind": "category"}
    columns = {"is": "columns", "encoders": [{"ref": 3}] * 20, "copies": False, "relations": None}
    tensors = {"shares": np.zeros(20_000), "at": np.zeros(1, np.int64)}
    objects = [*NORMAL, levels(["a"]), one_hot, columns, frame(1, columns={"ref": 4})]
    raw = of_objects(objects, tensors)
    refusal = "become 400000, not 3"
    assert peak_of(lambda: refused(raw, tmp_path, refusal)) < 4_000_000


def test_distributions_are_counted(tmp_path):
    """300 of them: 50 KB, and 3 MB in memory."""
    law = {"distribution": "expon", "args": [], "kwds": {"pairs": []}}
    bins = {"is": "bins", "kernel": "laplacian", "gamma": "median", "pitch": law, "resolved": None}
    raw = of_objects([bins] * 300, {})
    refused(raw, tmp_path, "bins.pitch would take", memory_limit=2 * 10**6)


def test_cells_of_one_part_in_many_places_are_not_joined(files, tmp_path):
    model = R(rs.Bins(gamma=1.0), 1_000, alpha=0.1, random_state=0).fit(X[:2], y[:2])
    rs.save(model, tmp_path / "m.rsp")
    with (tmp_path / "m.rsp").open("rb") as file:
        inside = container.read(file, (tmp_path / "m.rsp").stat().st_size, Budget(2**30))
    document = json.loads(inside.metadata["document"])
    entry(document, "cells")["parts"] *= 1_000
    raw = mutations.packed(inside.metadata, document, inside.tensors)
    refusal = "a cell in every group"
    assert peak_of(lambda: refused(raw, tmp_path, refusal)) < 5_000_000


@pytest.mark.parametrize("shape", [[0, 2**61], [2**40, 0, 2**40], [2**62 - 1, 0]], ids=str)
def test_shapes_of_no_entries_that_no_array_has_are_refused(shape, tmp_path):
    text = json.dumps({"a": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}})
    raw = len(text).to_bytes(8, "little") + text.encode()
    refused(raw, tmp_path, "a shape that no array can have")


DRAWN = [
    *(rs.Fourier(gamma=1.0, sampling=how) for how in SAMPLINGS),
    *(rs.Fourier(kernel, gamma=1.0) for kernel in ("laplacian", "cauchy", "matern32")),
    rs.Fourier("stable", gamma=1.0, p=1.5, q=0.5, form="paired"),
    *(rs.Stumps(threshold) for threshold in ("uniform", "normal", "quantile")),
    *(rs.Units(), rs.Units(bias="uniform"), rs.Projections()),
    *(rs.Bumps(gamma=1.0), rs.Bumps(gamma=1.0, centers="normal")),
    *(rs.Bins(gamma=1.0), rs.Bins(pitch=stats.expon()), rs.Bins(pitch=1.0)),
    *(rs.KernelExpansions(coefficients=law, anchors=9) for law in LAWS),
    *(rs.Networks(), rs.Networks((30, 10, 3)), rs.Networks((2,), bias=False)),
]


@pytest.mark.parametrize("family", DRAWN, ids=range(len(DRAWN)))
def test_drawing_takes_no_more_memory_than_a_family_says(family):
    for d, k in ((700, 1), (1, 700), (30, 40)):
        sample = Sample.of(as_rows(np.random.default_rng(0).normal(size=(9, d))), 0, 9)
        law = family.resolve(sample, k, 0)
        law.drawn(d, k, 0)  # what is imported, or looked up, once
        taken = peak_of(lambda law=law, d=d, k=k: law.drawn(d, k, 0))
        assert taken < law.drawing_bytes(d, k) + 400_000, (d, k)


def test_mutations(tmp_path):
    """A thousand of them; twenty thousand by ``python -m benchmarks files``."""
    outcome = mutations.run(0, 1000)
    assert not outcome.defects
    assert outcome.ends["digests made anew, refused"] > 300
    assert outcome.ends["digests made anew, loaded"] > 30
    assert outcome.kilobytes < 200_000
