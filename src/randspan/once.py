"""What follows from a frozen object is computed once, and remembered beside its fields.

It is no field: pickles, copies and files do without it, and `dataclasses.replace` makes an object
that remembers nothing. Threads that ask at the same time wait for the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from threading import Lock
from typing import Any, TypeVar

Found = TypeVar("Found")


class Remembers:
    """A frozen dataclass that `once` may put something beside."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def once(holder: Remembers, name: str, compute: Callable[[], Found]) -> Found:
    """``compute()``, or what it returned when it was first asked for under this name."""
    known = vars(holder)
    if name not in known:
        # A lock for every name, so that one thing may be computed from another.
        with known.setdefault(f"{name} is computed", Lock()):
            if name not in known:
                known[name] = compute()
    return known[name]
