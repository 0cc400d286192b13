"""Saving: the old file or the new one; parts of living writers stay, those of dead ones go."""

import io
import os
import threading
import time
from errno import ENOLCK

import pytest

import randspan as rs
from randspan.persistence import atomic, container

R = rs.SpanRegressor


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
        args[0].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with pytest.raises(OSError, match="No space"):
        rs.save(R(rs.Stumps(), 3), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.rsp"]


# -- parts of other writers ------------------------------------------------------------------------


class Writer(threading.Thread):
    """A writer that has begun, and waits to be let go on."""

    def __init__(self, path):
        super().__init__()
        self.path, self.begun, self.go = path, threading.Event(), threading.Event()
        self.start()
        self.begun.wait(10)

    def run(self):
        atomic.write(self.path, self.fill)

    def fill(self, file):
        self.begun.set()
        self.go.wait(10)
        file.write(b"whole")

    def done(self):
        self.go.set()
        self.join(10)


def parts(folder):
    return [path for path in folder.iterdir() if path.name.endswith(atomic.SUFFIX)]


def left_by_a_dead_writer(path):
    """What is there of a writer that was killed as it wrote: its lock is gone."""
    part, file = atomic._begun(path)
    file.close()
    return part


def test_a_writer_in_another_container_keeps_its_part(tmp_path, monkeypatch):
    """The number of its process is that of nobody here."""
    monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)
    writer = Writer(tmp_path / "m.rsp")
    monkeypatch.undo()
    [part] = parts(tmp_path)
    rs.save(R(rs.Fourier(), 3), tmp_path / "m.rsp")
    assert part.exists()
    writer.done()
    assert (tmp_path / "m.rsp").read_bytes() == b"whole"
    assert not parts(tmp_path)


def test_a_writer_on_another_machine_keeps_its_part_for_a_day(tmp_path, monkeypatch):
    """Its lock may be known there only."""
    path = tmp_path / "m.rsp"
    part = left_by_a_dead_writer(path)
    part = part.rename(str(part).replace(atomic._machine(), "0123456789ab"))
    rs.save(R(rs.Fourier(), 3), path)
    assert part.exists()
    before = time.time() - 1.1 * atomic.DAY
    os.utime(part, (before, before))
    rs.save(R(rs.Fourier(), 3), path)
    assert not part.exists()


def test_orphans_of_the_same_file_are_removed(tmp_path):
    orphan = left_by_a_dead_writer(tmp_path / "m.rsp")
    kept = [left_by_a_dead_writer(tmp_path / "other.rsp"), tmp_path / ".m.rsp.rsp-part"]
    kept[1].touch()
    rs.save(R(rs.Fourier(), 3), tmp_path / "m.rsp")
    assert not orphan.exists()
    assert all(path.exists() for path in kept)


def test_a_part_that_is_removed_before_it_is_locked_is_begun_anew(tmp_path, monkeypatch):
    lock, removed = atomic.fcntl.flock, []

    def overtaken(file, kind):
        if not removed:
            [part] = parts(tmp_path)
            part.unlink()
            removed.append(part)
        lock(file, kind)

    monkeypatch.setattr(atomic.fcntl, "flock", overtaken)
    rs.save(R(rs.Fourier(), 3), tmp_path / "m.rsp")
    assert removed
    assert [path.name for path in tmp_path.iterdir()] == ["m.rsp"]


@pytest.mark.parametrize("absent", ["module", "on this file system"])
def test_without_locks_nothing_is_removed(absent, tmp_path, monkeypatch):
    orphan = left_by_a_dead_writer(tmp_path / "m.rsp")

    def none(*args):
        raise OSError(ENOLCK, "No locks available")

    if absent == "module":
        monkeypatch.setattr(atomic, "fcntl", None)
    else:
        monkeypatch.setattr(atomic.fcntl, "flock", none)
    rs.save(R(rs.Fourier(), 3), tmp_path / "m.rsp")
    assert set(tmp_path.iterdir()) == {tmp_path / "m.rsp", orphan}


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a" * 251, "ü" * 125, "\U0001f333" * 62, ".", "-", " "])
def test_every_name_that_a_file_system_takes(name, tmp_path):
    path = tmp_path / f"{name}.rsp"
    rs.save(R(rs.Fourier(), 3), path)
    assert rs.load(path).n_components == 3
    assert not parts(tmp_path)


def test_a_name_that_is_too_long_is_refused_by_the_file_system(tmp_path):
    with pytest.raises(OSError, match="too long"):
        rs.save(R(rs.Fourier(), 3), tmp_path / ("a" * 256))
    assert not list(tmp_path.iterdir())


class InBytes:
    """A path of another kind."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return os.fsencode(self.path)


@pytest.mark.parametrize("kind", [str, os.fsencode, InBytes])
def test_paths_of_every_kind(kind, tmp_path):
    model = R(rs.Fourier(), 3)
    for name in ("m.rsp", "\udcff.rsp"):
        path = kind(tmp_path / name)
        rs.save(model, path)
        assert rs.load(path).n_components == 3
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(rs.ModelFileError, match=r"rsp'?: The file has 0 bytes"):
            rs.load(path)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (3, TypeError, "path must be a str, bytes or os.PathLike, or an open binary file, got 3"),
        (None, TypeError, "path must be a str"),
        ("a\0b", ValueError, "must not hold the character 0"),
    ],
)
def test_what_is_no_path_is_refused_by_name(path, error, message):
    for use in (rs.load, lambda path: rs.save(R(rs.Fourier(), 3), path)):
        with pytest.raises(error, match=message):
            use(path)


def test_open_files_are_written_and_read_where_they_stand(tmp_path):
    model = R(rs.Fourier(), 3, random_state=0)
    rs.save(model, tmp_path / "model.rsp")
    expected = (tmp_path / "model.rsp").read_bytes()
    store = io.BytesIO()
    store.write(b"before")
    rs.save(model, store)
    model.save(store)
    assert store.getvalue() == b"before" + 2 * expected
    store.seek(len(b"before") + len(expected))
    assert rs.load(store).n_components == 3
    with (tmp_path / "other.rsp").open("wb") as file:
        rs.save(model, file)
        assert not file.closed
    with (tmp_path / "other.rsp").open("rb") as file:
        assert rs.load(file, memory_limit="1MB").n_components == 3
    with (tmp_path / "other.rsp").open("rb") as file, pytest.raises(rs.ModelFileError, match="mem"):
        rs.load(file, memory_limit=100)
    with pytest.raises(rs.ModelFileError, match=r"BytesIO.*The file has 0 bytes"):
        rs.load(io.BytesIO())
    with pytest.raises(rs.ModelFileError, match="BytesIO"):
        rs.load(io.BytesIO(expected[:-1]))
    for use in (rs.load, lambda file: rs.save(model, file)):
        with (tmp_path / "text").open("w+") as file, pytest.raises(TypeError, match="open it with"):
            use(file)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "missing" / "model.rsp"
    with pytest.raises(FileNotFoundError, match=r"in the folder '.*missing', which is not there"):
        rs.save(R(rs.Fourier(), 3), path)
    assert not path.parent.exists()


def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="a device or a pipe"):
        rs.save(R(rs.Fourier(), 3), pipe)
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        rs.save(R(rs.Fourier(), 3), f"{tmp_path}/m.rsp/")
    assert list(tmp_path.iterdir()) == [pipe]
