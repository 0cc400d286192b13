"""Public data: from a folder, a cache, or a server that may be slow, cut off or lie."""

from __future__ import annotations

import gc
import gzip
import hashlib
import io
import tarfile
import threading
import time
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import randspan as rs
from randspan.datasets import DataError, files, tables
from randspan.datasets.files import FILES, File

# Sockets of downloads that fail.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TEXT = b"1,2,3\n4,5,6\n" * 200


@pytest.fixture
def folder(monkeypatch):
    """The folder of real data."""
    import os

    found = os.environ.get("RANDSPAN_DATA") or (str(SHARED) if SHARED.exists() else None)
    if found is None:
        pytest.skip("real data are neither in RANDSPAN_DATA nor in ../shared/data")
    monkeypatch.setenv("RANDSPAN_DATA", found)
    return Path(found)


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """No folder, and a cache of its own."""
    monkeypatch.delenv("RANDSPAN_DATA", raising=False)
    monkeypatch.setenv("RANDSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# -- real files ------------------------------------------------------------------------------------

SHAPES = {
    "adult": ((32_561, 123), (16_281, 123)),
    "cpu": ((6_554, 21), (819, 21)),
    "crime": ((997, 100), (997, 100)),
    "compas": ((3_607, 17), (3_607, 17)),
    "activity": ((4_231, 43), (1_187, 43)),
    "ailerons": ((7_154, 40), (6_596, 40)),
    "kin40k": ((36_000, 8), (4_000, 8)),
    "pol": ((13_500, 26), (1_500, 26)),
    "cal_housing": ((18_576, 8), (2_064, 8)),
    "letter": ((18_000, 16), (2_000, 16)),
    "magic": ((17_118, 10), (1_902, 10)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_real_sets_have_their_shapes(folder, name):
    found = getattr(rs.datasets, f"load_{name}")()
    assert (found.X_train.shape, found.X_test.shape) == SHAPES[name]
    assert len(found.y_train) == len(found.X_train)
    assert len(found.y_test) == len(found.X_test)
    assert len(found.feature_names) == found.X_train.shape[1]
    assert found.task in ("regression", "classification")
    assert found.DESCR
    assert np.isfinite(found.X_train).all()
    assert np.isfinite(found.X_test).all()


def test_adult_as_the_census_has_it(folder):
    raw = rs.datasets.load_adult("raw", scaled=True)
    assert raw.X_train.shape[1] == raw.X_test.shape[1] == len(raw.feature_names) == 108
    np.testing.assert_allclose(raw.X_train.mean(axis=0), 0, atol=1e-9)
    assert {round(float(s), 6) for s in raw.X_train.std(axis=0)} <= {0.0, 1.0}
    binary = rs.datasets.load_adult()
    np.testing.assert_array_equal(raw.y_train, binary.y_train)
    np.testing.assert_array_equal(raw.y_test, binary.y_test)
    with pytest.raises(ValueError, match="binary"):
        rs.datasets.load_adult("cooked")


def test_census_prices_and_their_logarithms(folder):
    found = rs.datasets.load_census_house()
    assert found.X_train.shape == (18_228, 36)
    assert found.X_test.shape == (2_278, 36)
    logs = rs.datasets.load_census_house(log=True)
    np.testing.assert_allclose(np.expm1(logs.y_test), found.y_test)


def test_users_are_in_one_part_only(folder):
    found = rs.datasets.load_activity()
    assert not set(found.users_train) & set(found.users_test)
    assert len(set(found.y_test)) == 6


@pytest.mark.slow
def test_attacks(folder):
    found = rs.datasets.load_kddcup99(distinct=True, rows=(2_000, 3_000))
    assert found.X_train.shape[0] == 2_000
    assert found.X_test.shape[0] == 3_000
    both = np.vstack([found.X_train, found.X_test])
    assert len(np.unique(both, axis=0)) >= 4_990  # rows differ, or differ in the kind of attack
    assert set(found.y_train) == {-1.0, 1.0}


def test_the_forest_in_part(folder):
    found = rs.datasets.load_forest_cover(rows=2_000)
    assert found.X_train.shape == (1_800, 54)
    assert found.y_train.dtype == bool
    seven = rs.datasets.load_forest_cover(rows=2_000, seven=True)
    np.testing.assert_array_equal(seven.y_train == 2, found.y_train)


def test_splits_are_fixed_and_numbered(folder):
    first, again, other = (rs.datasets.load_letter(split=i) for i in (0, 0, 1))
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert (first.y_test != other.y_test).any()
    with pytest.raises(ValueError, match="ten splits"):
        rs.datasets.load_pol(split=10)


@pytest.mark.slow
def test_checksums_are_those_of_the_real_files(folder):
    for name, file in FILES.items():
        text = files.contents(name)
        if name.startswith("covtype"):  # the folder's copy has a line of names
            text = text.split(b"\n", 1)[1]
        assert hashlib.sha256(text).hexdigest() == file.sha256, name
        assert file.url.startswith(("http://", "https://"))


# -- damaged files ---------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """A data folder to put files into."""
    monkeypatch.setenv("RANDSPAN_DATA", str(tmp_path))
    monkeypatch.setenv("RANDSPAN_CACHE", str(tmp_path / "cache"))

    def put(name, contents):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)

    return put


def test_a_file_that_is_cut_off_says_so(broken):
    whole = gzip.compress(TEXT, mtime=0)
    broken("tabular/cal_housing.data.gz", whole[: len(whole) // 2])
    with pytest.raises(DataError, match="only a part"):
        rs.datasets.load_cal_housing()


def test_bytes_that_were_changed_are_noticed(broken):
    whole = bytearray(gzip.compress(TEXT, mtime=0))
    whole[len(whole) // 2] ^= 0xFF
    broken("tabular/cal_housing.data.gz", bytes(whole))
    with pytest.raises(DataError, match=r"damaged|rows of"):
        rs.datasets.load_cal_housing()


@pytest.mark.parametrize(
    ("loader", "name", "contents", "said"),
    [
        (
            "cal_housing",
            "tabular/cal_housing.data.gz",
            gzip.compress(TEXT, mtime=0),
            "400 rows of 3",
        ),
        ("cal_housing", "tabular/cal_housing.data.gz", b"a,b\n", "table of numbers"),
        ("cpu", "cpu/cpu.mat", b"not a mat file at all", "MATLAB"),
        ("adult", "a9a/a9a.gz", b"1 x:y\n", "svmlight"),
        ("letter", "tabular/letter.dat.gz", b"@data\n1,2,A\n", "1 rows of 3"),
        ("mnist", "mnist/train-images-idx3-ubyte.gz", b"12345", "5 bytes"),
        ("kddcup99", "kddcup99/kddcup.data_10_percent.gz", b"1,2\n", "1 rows of 2"),
        ("crime", "communities/communities.data.gz", b"1,2\n", "1 rows of 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "contents",
)
def test_what_is_not_the_file_is_refused(broken, loader, name, contents, said):
    broken(name, contents)
    with pytest.raises(DataError, match=said):
        getattr(rs.datasets, f"load_{loader}")()


def test_a_file_that_is_nowhere_and_must_not_be_fetched(empty):
    with pytest.raises(DataError, match=r"RANDSPAN_DATA.*download=True"):
        rs.datasets.load_cpu(download=False)


def test_downloads_need_pooch(empty, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"randspan\[datasets\]"):
        rs.datasets.load_cpu()


# -- a server on the loopback address --------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """Serves what its class was told to, well or badly."""

    mood = "well"
    served = TEXT
    requests = 0

    def do_GET(self):
        kind = type(self)
        kind.requests += 1
        body, mood = kind.served, kind.mood
        if mood == "absent" or (mood == "absent once" and kind.requests == 1):
            self.send_error(404)
            return
        length = len(body) + (1000 if mood == "lies" else 0)
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if mood == "cut off":
            body = body[: len(body) // 2]
        if mood == "wrong":
            body = body[::-1]
        try:
            for start in range(0, len(body), 500):
                self.wfile.write(body[start : start + 500])
                if mood == "slow":
                    time.sleep(0.05)
                if mood == "stalls" and start:
                    time.sleep(1.5)
            self.wfile.flush()
        except OSError:
            pass  # nobody listens any more

    def log_message(self, *args):
        pass


@pytest.fixture
def server(empty, monkeypatch):
    """A server, a file that it serves, and the cache."""
    kind = type("Kind", (Server,), {"mood": "well", "served": TEXT, "requests": 0})
    running = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    running.daemon_threads = False  # so that closing waits for all of them
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{running.server_port}/file"
    file = File("a/file.csv.gz", address, hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setitem(FILES, file.name, file)
    monkeypatch.setattr(files, "SECONDS", 0.5)
    kind.cache = empty
    yield kind
    running.shutdown()
    running.server_close()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # downloads that fail leave sockets to the garbage collector


def kept(server):
    found = server.cache
    return [path for path in found.rglob("*") if path.is_file()] if found.exists() else []


@pytest.mark.parametrize("mood", ["well", "slow"])
def test_a_download_is_checked_and_kept(server, mood, capfd):
    server.mood = mood
    assert files.contents("a/file.csv.gz") == TEXT
    assert [path.name for path in kept(server)] == ["file.csv"]
    assert server.requests == 1
    assert "%" in capfd.readouterr().err  # a progress bar
    assert files.contents("a/file.csv.gz", download=False) == TEXT
    assert server.requests == 1
    table = tables.numbers("a/file.csv.gz", 3, 400, download=False)
    assert table.sum() == 200 * 21


@pytest.mark.parametrize("mood", ["cut off", "lies", "absent", "stalls"])
def test_a_download_that_fails_leaves_nothing(server, mood):
    server.mood = mood
    with pytest.raises(DataError, match=r"could not be downloaded|serves something else"):
        files.contents("a/file.csv.gz")
    assert kept(server) == []
    server.mood = "well"
    assert files.contents("a/file.csv.gz") == TEXT


def test_wrong_bytes_are_never_kept(server):
    server.mood = "wrong"
    with pytest.raises(DataError, match=r"serves something else.*checksum"):
        files.contents("a/file.csv.gz")
    assert kept(server) == []


def test_a_download_is_tried_again(server):
    server.mood = "absent once"
    assert files.contents("a/file.csv.gz") == TEXT
    assert server.requests == 2


def test_a_cache_that_was_changed_is_fetched_anew(server):
    files.contents("a/file.csv.gz")
    kept(server)[0].write_bytes(b"something else")
    assert files.contents("a/file.csv.gz") == TEXT
    assert server.requests == 2


def archive(kind):
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as made:
            made.writestr("inner/file.csv", TEXT)
    else:
        packed = TEXT if kind == "tar" else gzip.compress(TEXT, mtime=0)
        name = "inner/file.csv" if kind == "tar" else "inner/file.csv.gz"
        with tarfile.open(fileobj=stream, mode="w:gz") as made:
            info = tarfile.TarInfo(name)
            info.size = len(packed)
            made.addfile(info, io.BytesIO(packed))
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar", "tar of gz"])
def test_members_of_archives(server, monkeypatch, kind):
    server.served = archive(kind)
    plain = FILES["a/file.csv.gz"]
    for member, good in (("inner/file.csv", True), ("inner/other.csv", False)):
        file = File(plain.name, plain.url, plain.sha256, member)
        monkeypatch.setitem(FILES, plain.name, file)
        if good:
            assert files.contents(plain.name) == TEXT
            kept(server)[0].unlink()
        else:
            with pytest.raises(DataError, match=r"other\.csv"):
                files.contents(plain.name)
    assert kept(server) == []
    server.served = b"<html>not found</html>"
    with pytest.raises(DataError, match="archive"):
        files.contents(plain.name)


def test_columns_that_name_people_are_left_out():
    published = b"id,name,sex,dob,c_case_number,two_year_recid\n1,a b,Male,1980,77,1\n"
    assert files._without_names(published) == b"sex,two_year_recid\nMale,1\n"
