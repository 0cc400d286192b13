"""Files that nobody should believe: each gets one clear error, and no more memory than granted."""

import json
import struct
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import mutations

import randspan as rs
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


def test_arrays_take_no_more_memory_than_is_granted(files, tmp_path):
    big = R(rs.Fourier(), 300, alpha=0.1, random_state=0).fit(X, y)
    rs.save(big, tmp_path / "m.rsp")
    with pytest.raises(rs.ModelFileError, match=r"Its arrays would take .*memory_limit=, such"):
        rs.load(tmp_path / "m.rsp", memory_limit=100_000)
    assert rs.load(tmp_path / "m.rsp", memory_limit="10MB").n_components_ == 300


def test_mutations(tmp_path):
    """A thousand of them; twenty thousand by ``python -m benchmarks files``."""
    outcome = mutations.run(0, 1000)
    assert not outcome.defects
    assert outcome.ends["digests made anew, refused"] > 300
    assert outcome.ends["digests made anew, loaded"] > 30
    assert outcome.kilobytes < 200_000


# -- writing ---------------------------------------------------------------------------------------


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    from benchmarks.files import killed

    counts = killed(8, tmp_path)
    assert counts["readable"] == counts["times"] == 8
    assert counts["orphans after a save"] == 0


def test_modes_links_and_folders(tmp_path):
    model = R(rs.Fourier(), 3)
    path = tmp_path / "m.rsp"
    rs.save(model, path)
    new = tmp_path / "new"
    new.touch()
    assert path.stat().st_mode == new.stat().st_mode  # as the umask has it
    path.chmod(0o640)
    rs.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.rsp"
    link.symlink_to(path)
    rs.save(R(rs.Stumps(), 3), link)
    assert link.is_symlink()
    assert isinstance(rs.load(path).family, rs.Stumps)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        rs.save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        rs.save(model, tmp_path / "nowhere" / "m.rsp")
    assert {p.name for p in tmp_path.iterdir()} == {"m.rsp", "new", "link.rsp"}


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m.rsp"
    rs.save(R(rs.Fourier(), 3), path)
    before = path.read_bytes()

    def full(*args):
        Path(args[0]).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with pytest.raises(OSError, match="No space"):
        rs.save(R(rs.Stumps(), 3), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.rsp"]


def test_orphans_of_the_same_file_are_removed_unless_their_writer_lives(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    dead, alive = int(done.stdout), 1
    orphan = tmp_path / f".m.rsp.{dead}-0123abcd.rsp-part"
    kept = [
        tmp_path / f".m.rsp.{alive}-0123abcd.rsp-part",
        tmp_path / f".other.rsp.{dead}-0123abcd.rsp-part",
        tmp_path / f".m.rsp.{dead}-0123abcd.part",
    ]
    for path in (orphan, *kept):
        path.touch()
    rs.save(R(rs.Fourier(), 3), tmp_path / "m.rsp")
    assert not orphan.exists()
    assert all(path.exists() for path in kept)
