"""How much memory a file may take while it is read: counted before it is allocated."""

from __future__ import annotations

from .errors import ModelFileError

# Without a limit a file may take so many times its own size, and this on top: tables of cells take
# four to five times the bytes of their keys, everything else less.
TIMES, BESIDES = 8, 64 * 2**20
# Every object is checked against what it refers to. A file that has one array, or one object, in a
# great many places would be small, and take hours: so many times the limit may be looked at.
LOOKS = 16


class Budget:
    """Bytes that are left of ``memory_limit``."""

    def __init__(self, limit: int):
        self.limit = self.left = limit
        self.looks = LOOKS * limit

    def take(self, nbytes: int, purpose: str) -> None:
        """Count bytes that are about to be allocated; refused where they are not granted."""
        if nbytes > self.left:
            raise ModelFileError(
                f"{purpose} would take {_words(nbytes)}, and of memory_limit={self.limit} bytes "
                f"{_words(self.left)} are left: load a file that you trust with a larger "
                f"memory_limit=, such as {self.limit - self.left + 2 * nbytes}."
            )
        self.left -= nbytes

    def look(self, nbytes: int) -> None:
        """Count bytes that are about to be looked at once more."""
        self.looks -= nbytes
        if self.looks < 0:
            raise ModelFileError(
                "Its objects refer to the same arrays and objects too often: checking them would "
                f"mean to look at more than {_words(LOOKS * self.limit)}. Load a file that you "
                f"trust with a larger memory_limit=, such as {2 * self.limit}."
            )


def _words(nbytes: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}" if nbytes < 10**15 else f"more than 10⁶ {unit}"
    return f"{nbytes} bytes"
