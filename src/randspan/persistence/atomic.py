"""A file is there as a whole, the old one or the new one, whenever the writer is stopped.

What is new is written beside the target under a name of its own, brought to the disk, and put in
place by a rename, which the file system does at once or not at all.

A writer that is killed leaves its part behind. While it lives it holds a lock on it, which goes
with the process: a part that nobody has locked is an orphan, and the next writer of the same file
removes it. (The number of the writer's process in its name said less: in another container, or on
another machine, it is the number of somebody else.) Some network file systems keep locks to the
machine that asked for them. So a part that another machine has begun must be a day old as well, by
the clock of the file system. Where there are no locks (Windows), nothing is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from ..checks import check_path

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SUFFIX = ".rsp-part"
BINARY = getattr(os, "O_BINARY", 0)
# Characters of the target's name in that of a part. Names have 255 bytes at most, parts included.
KEPT = 24
# Seconds after which a part that another machine has begun, and nobody has locked, is an orphan.
DAY = 86_400


def write(path: str | bytes | os.PathLike, fill: Callable[[BinaryIO], object]) -> None:
    """Let ``fill`` write a file beside ``path``, and put it there.

    A link is followed: what it points to is replaced. The mode of an older file is kept.
    """
    name = check_path("path", path)
    target = Path(os.path.realpath(name))
    if target.is_dir() or name.endswith(os.sep):
        raise IsADirectoryError(f"path={name!r} is a folder: name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path={name!r} is in the folder {str(target.parent)!r}, which is not there: make it "
            "first, or name another."
        )
    if target.exists() and not target.is_file():
        raise OSError(f"path={name!r} is a device or a pipe: name a file, which can be replaced.")
    part, file = _begun(target)
    try:
        _remove_orphans(target, part)
        fill(file)
        file.flush()
        os.chmod(part, _mode(target, stat.S_IMODE(part.stat().st_mode)))
        os.fsync(file.fileno())
        if fcntl is None:  # Windows renames no file that is open
            file.close()
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    file.close()
    _to_disk(target.parent)


def _begun(target: Path) -> tuple[Path, BinaryIO]:
    """A new part of a file, open and locked."""
    while True:
        part = target.parent / f"{_beginning(target)}{_machine()}.{secrets.token_hex(4)}{SUFFIX}"
        # Made by us, so that it is new and has the mode that new files have here.
        file = os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | BINARY, 0o666), "wb")
        # Before it is locked, another writer may take it for an orphan.
        if _locked(file) and part.exists():
            return part, file
        file.close()
        with contextlib.suppress(OSError):
            part.unlink()


def _locked(file: BinaryIO) -> bool:
    """Lock a part unless somebody else has; where there are no locks, nobody removes it either."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True


def _beginning(target: Path) -> str:
    """What the names of all parts of a file begin with."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    return f".{target.name[:KEPT]}.{digest[:12]}."


@cache
def _machine() -> str:
    """A word for the system that runs: its containers share it, other machines have another."""
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        known = platform.node()
    return hashlib.sha256(known.encode()).hexdigest()[:12]


def _mode(target: Path, otherwise: int) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return otherwise


def _to_disk(folder: Path) -> None:
    """Bring the entries of a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_orphans(target: Path, own: Path) -> None:
    """Remove what writers of the same file have left behind that are no more."""
    if fcntl is None:
        return
    pattern = re.compile(rf"{re.escape(_beginning(target))}([0-9a-f]+)\.[0-9a-f]+{SUFFIX}")
    now = own.stat().st_mtime
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            found = pattern.fullmatch(entry.name)
            if found and entry.name != own.name and entry.is_file(follow_symlinks=False):
                old = now - entry.stat(follow_symlinks=False).st_mtime > DAY
                if old or found[1] == _machine():
                    with contextlib.suppress(OSError):
                        _remove_unlocked(entry.path)


def _remove_unlocked(part: str) -> None:
    """Remove a part that its writer holds no lock on."""
    handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # A shared lock is refused while the writer has its own, and needs no right to write.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.unlink(part)
    finally:
        os.close(handle)
