"""What reading a file may end in."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file that is not a whole model of a version that this library reads; it says why.

    `randspan.load` raises nothing else, whatever bytes a file holds; the file system itself may
    still raise `OSError`.
    """


def ensure(condition: object, message: str) -> None:
    """Refuse a file unless ``condition`` holds."""
    if not condition:
        raise ModelFileError(message)
