"""What is kept on disk to save time, and what happens where nothing can be kept."""

import errno
import importlib
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba.core import config
from numba.core.caching import IndexDataCacheFile

from randspan.families.shared import compiling

PARTS = Path(compiling.__file__).parent


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A copy of the compiled loops from where no folder can be written, as a package."""
    # The superuser may write anywhere: a file in the place of a folder stops him too.
    package = tmp_path / "copied_loops"
    package.mkdir()
    for name in ("compiling.py", "hashing.py", "loops.py", "randomness.py", "scrambling.py"):
        shutil.copy(PARTS / name, package)
    for name in ("__init__.py", "__pycache__"):
        (package / name).touch()
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(package / "__init__.py"))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.syspath_prepend(tmp_path)
    yield package.name
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_loops_run_where_no_folder_can_be_written_and_one_warning_says_what_to_do(read_only):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loops = importlib.import_module(f"{read_only}.loops")
        importlib.import_module(f"{read_only}.scrambling")
        found = np.empty((2, 1))
        loops.signs(np.array([[1.0], [3.0]]), np.array([0]), np.array([2.0]), found)
    assert found.tolist() == [[-1], [1]]
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert "no locator available" in str(warning.message)  # numba's reason
    assert "NUMBA_CACHE_DIR" in str(warning.message)


def test_a_full_disk_stops_no_loop(monkeypatch):
    def full(self, key, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "load", lambda self, key: None)
    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    monkeypatch.setattr(compiling, "_warned", False)
    first, second = compiling.compiled(_next), compiling.compiled(_next)
    with pytest.warns(RuntimeWarning, match=r"No space left on device.*NUMBA_CACHE_DIR"):
        assert first(np.int64(1)) == 2
    assert second(np.int64(1)) == 2  # another warning would be an error here


def test_a_cache_that_cannot_be_read_is_as_good_as_none(monkeypatch):
    def locked(self, key):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(IndexDataCacheFile, "load", locked)
    monkeypatch.setattr(IndexDataCacheFile, "save", lambda self, key, data: None)
    assert compiling.compiled(_next)(np.int64(1)) == 2


def _next(number):
    return number + 1
