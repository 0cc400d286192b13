"""What reading a file may end in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

# Keys that may have one hash: those of numbers as people write them are a few at most.
SHARED = 100


class ModelFileError(ValueError):
    """A file that is not a whole model of a version that this library reads; it says why.

    `randspan.load` raises nothing else, whatever bytes a file holds; the file system itself may
    still raise `OSError`.
    """


def ensure_different(keys: Sequence[Hashable], message: str) -> None:
    """Refuse keys that are equal, and keys of one hash, which would make dictionaries slow.

    Hashes of texts are random; whole numbers of one hash, as all multiples of 2⁶¹ - 1, are not.
    """
    shared = Counter(map(hash, keys))
    ensure(max(shared.values(), default=0) <= SHARED, "Too many keys have the same hash.")
    ensure(len(set(keys)) == len(keys), message)


def ensure(condition: object, message: str) -> None:
    """Refuse a file unless ``condition`` holds."""
    if not condition:
        raise ModelFileError(message)
