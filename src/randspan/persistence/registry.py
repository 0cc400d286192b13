"""Classes that files may hold, by names that never change.

A file names no module and no import path: it says ``"is": "fourier"``, and this table says what
that is. The format is a contract over versions, so it stands apart from the classes: who renames a
field here or there is told by a test, not by a file of last year.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .kinds import Kind, Scope

if TYPE_CHECKING:
    from .codec import Reader

#: what is still to be said of an object whose fields are fine each by itself
Check = Callable[[dict[str, Any], Scope], None]


def _nothing(values: dict[str, Any], scope: Scope) -> None:
    pass


@dataclass(frozen=True)
class Entry:
    """How objects of one class are written and read.

    Attributes
    ----------
    name : str
        In files.
    cls : type
        Objects of exactly this class; subclasses are others.
    fields : dict of Kind
    check : callable
        What holds between fields, ``check(values, scope)``.
    take : callable or None
        The fields of an object, its attributes if None.
    build : callable or None
        The object of some fields, ``build(values, reader)``; ``cls(**fields)`` if None.
    drawn : tuple of str
        Fields that the family makes again from a seed.
    later : dict
        Fields that earlier versions did not write, and what these would have written.
    """

    name: str
    cls: type
    fields: dict[str, Kind]
    check: Check = _nothing
    take: Callable[[Any], dict[str, Any]] | None = None
    build: Callable[[dict[str, Any], Reader], Any] | None = None
    drawn: tuple[str, ...] = field(default=())
    later: dict[str, Any] = field(default_factory=dict)

    def values(self, value: Any) -> dict[str, Any]:
        """The fields of an object."""
        if self.take is not None:
            return self.take(value)
        return {name: getattr(value, name) for name in self.fields}

    def built(self, values: dict[str, Any], of: Reader) -> Any:
        """The object of some fields."""
        return self.cls(**values) if self.build is None else self.build(values, of)


ENTRIES: dict[str, Entry] = {}
_BY_CLASS: dict[type, Entry] = {}


def register(*entries: Entry) -> None:
    """Add classes to the table."""
    for entry in entries:
        if entry.name in ENTRIES or entry.cls in _BY_CLASS:
            raise ValueError(f"{entry.name!r} is in the table already.")
        ENTRIES[entry.name] = _BY_CLASS[entry.cls] = entry


def entry_of(value: Any) -> Entry | None:
    """The entry of an object's class, if it has one."""
    return _BY_CLASS.get(type(value))


def name_of(value: Any) -> str:
    """The name of an object's class in files, "" where it has none."""
    entry = entry_of(value)
    return "" if entry is None else entry.name
