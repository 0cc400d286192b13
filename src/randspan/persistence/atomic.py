"""A file is there as a whole, the old one or the new one, whenever the writer is stopped.

What is new is written beside the target under a name that says whose it is, brought to the disk,
and put in place by a rename, which the file system does at once or not at all.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

SUFFIX = ".rsp-part"


def write(path: str | os.PathLike, fill: Callable[[str], None]) -> None:
    """Let ``fill`` write a file beside ``path``, and put it there.

    A link is followed: what it points to is replaced. The mode of an older file is kept.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it.")
    _remove_orphans(target)
    part = target.parent / f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
    try:
        # Made by us, so that it is new and has the mode that new files have here.
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        made = stat.S_IMODE(part.stat().st_mode)
        fill(str(part))
        os.chmod(part, _mode(target, made))
        _to_disk(part)
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    _to_disk(target.parent)


def _mode(target: Path, otherwise: int) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return otherwise


def _to_disk(path: Path) -> None:
    """Bring a file, or the entries of a folder, to the disk, where the system can."""
    folder = path.is_dir()
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        if folder:  # some systems do not open folders
            return
        raise
    try:
        os.fsync(handle)
    except OSError:
        if not folder:
            raise
    finally:
        os.close(handle)


def _remove_orphans(target: Path) -> None:
    """Remove what writers of the same file have left behind that are no more."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)-[0-9a-f]{{8}}{re.escape(SUFFIX)}")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            found = pattern.fullmatch(entry.name)
            if found and not _alive(int(found[1])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _alive(process: int) -> bool:
    # Another thread may be writing; and elsewhere a signal 0 is no question.
    if process == os.getpid() or os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
