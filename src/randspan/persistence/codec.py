"""A graph of objects as one JSON document and named tensors, and back.

Objects stand in a list, what they refer to before themselves: references point backwards, so that
there are no circles, and an object is built once its parts have been checked. An object that is in
two places is written once.

    {"library": "0.1.0", "root": 7, "functions": [],
     "objects": [{"is": "bandwidth", "gamma": 0.5}, {"is": "fourier", …, "resolved": [{"ref": 0}]},
                 …]}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import order_of
from .budget import Budget
from .callables import Brought
from .container import NAMES, sha256
from .errors import ensure
from .kinds import Node, Scope, shown
from .refusals import refused
from .registry import ENTRIES, Entry, entry_of
from .schemas import ROOMS

# Objects refer to objects at most so deep; models of this library stay below half of it.
DEEPEST = 40
MOST_OBJECTS = 100_000
# Arrays of fewer bytes are not looked for among those that are equal.
SMALL = 256
# Entries of arrays that are looked at together.
AT_ONCE = 2**20
# Bytes that a reference counts as beside what it refers to.
REFERENCE = 1_000
#: what a seed makes again stands here in place of the fields
DRAWN = "drawn"

assert ROOMS  # importing them fills the table


class Writer:
    """Objects on their way into a file.

    ``seeds`` are the seeds and digests of drawn functions, by id, whose arrays are left out.
    """

    def __init__(self, seeds: dict[int, Node] | None = None):
        self.objects: list[Node] = []
        self.tensors: dict[str, NDArray] = {}
        self.digests: dict[str, str] = {}
        self.brought = Brought()
        self._seeds = seeds or {}
        self._known: dict[int, int] = {}
        self._arrays: dict[int, Node] = {}
        self._equal: dict[tuple, str] = {}
        self._alive: list[Any] = []  # an id is one object's as long as it lives

    def one(self, value: Any, where: str) -> int:
        """The place of an object in the list."""
        if id(value) in self._known:
            return self._known[id(value)]
        entry = entry_of(value)
        if entry is None:
            raise refused(value, where)
        self._alive.append(value)
        values, node = entry.values(value), {"is": entry.name}
        seed = self._seeds.get(id(value))
        for name, kind in entry.fields.items():
            if seed is not None and name in entry.drawn:
                continue
            at = f"{entry.name}.{name}"
            if not kind.takes(values[name]):
                raise refused(values[name], at, kind.told)
            node[name] = kind.write(values[name], self, at)
        if seed is not None:
            node[DRAWN] = seed
        self.objects.append(node)
        self._known[id(value)] = len(self.objects) - 1
        return len(self.objects) - 1

    def array(self, value: NDArray, where: str) -> Node:
        """The node of an array, which becomes a tensor."""
        if id(value) in self._arrays:
            return self._arrays[id(value)]
        self._alive.append(value)
        order = order_of(value)
        stored = np.ascontiguousarray(value.T if order == "F" else value).reshape(
            value.shape[::-1] if order == "F" else value.shape
        )
        stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
        if stored.dtype not in NAMES:
            raise refused(value, where, "an array of numbers")
        digest = sha256(stored)
        key = (stored.dtype.str, stored.shape, digest)
        name = self._equal.get(key) if stored.nbytes >= SMALL else None
        if name is None:
            name, number = where, 2
            while name in self.tensors:
                name, number = f"{where}.{number}", number + 1
            self.tensors[name], self.digests[name] = stored, digest
            self._equal[key] = name
        node = {"array": name} if order == "C" else {"array": name, "order": order}
        self._arrays[id(value)] = node
        return node


class Reader:
    """A document that becomes objects.

    ``given`` are functions of the user's own, by name.
    """

    def __init__(self, tensors: dict[str, NDArray], budget: Budget, given: dict[str, Callable]):
        self.budget, self.given = budget, given
        #: functions whose arrays are still to be drawn, and models whose posterior lacks its rows
        self.unfinished: list[tuple[Any, Entry, Node]] = []
        self.later: list[tuple[Any, Any]] = []
        self._tensors = tensors
        self._turned: dict[str, NDArray] = {}
        self._finite: set[int] = set()
        self._used: set[str] = set()
        self._objects: list[Any] = []
        self._names: list[str] = []
        self._depths: list[int] = []
        self._sizes: list[int] = []
        self._depth = self._size = 0
        self._referred: set[int] = set()

    def root(self, document: Node) -> Any:
        """The object that a document is about."""
        keys = {"library", "root", "functions", "objects"}
        ensure(
            isinstance(document, dict)
            and document.keys() == keys
            and isinstance(document["library"], str)
            and isinstance(document["objects"], list),
            f"The document must have {', '.join(sorted(keys))}.",
        )
        nodes, root = document["objects"], document["root"]
        ensure(0 < len(nodes) <= MOST_OBJECTS, f"The document has {len(nodes)} objects.")
        ensure(type(root) is int and root == len(nodes) - 1, "The last object must be the root.")
        for number, node in enumerate(nodes):
            self._depth = self._size = 0
            value, name = self._object(node, number)
            self._objects.append(value)
            self._names.append(name)
            self._depths.append(self._depth + 1)
            self._sizes.append(self._size)
            ensure(self._depth < DEEPEST, "Objects refer to each other too deeply.")
        unused = set(range(root)) - self._referred
        ensure(not unused, f"{len(unused)} objects of the document are referred to by none.")
        strange = self._tensors.keys() - self._used
        ensure(not strange, f"Tensors that no object has: {shown(sorted(strange))}.")
        return self._objects[root]

    def _object(self, node: Node, number: int) -> tuple[Any, str]:
        name: Any = node.get("is") if isinstance(node, dict) else None
        ensure(
            isinstance(name, str) and name in ENTRIES,
            f"Object {number} is {shown(name)}, which this version does not know.",
        )
        entry = ENTRIES[name]
        node = entry.later | node
        wanted = {"is", *entry.fields}
        drawn = bool(entry.drawn) and DRAWN in node
        if drawn:
            wanted = (wanted - set(entry.drawn)) | {DRAWN}
        ensure(
            node.keys() == wanted,
            f"Object {number} ({name}) must have {', '.join(sorted(wanted))}; it has "
            f"{shown(sorted(node))}.",
        )
        scope: Scope = {}
        values = {
            field: kind.read(node[field], self, f"{name}.{field}", scope)
            for field, kind in entry.fields.items()
            if field in node
        }
        entry.check(values, scope)
        if not drawn:
            return entry.built(values, self), name
        # Arrays are drawn when all else has been checked, and put in then.
        value = entry.built(values | dict.fromkeys(entry.drawn), self)
        self.unfinished.append((value, entry, node[DRAWN]))
        return value, name

    def referred(self, number: Node, names: tuple[str, ...], where: str) -> Any:
        """An object that stands further up."""
        ensure(
            type(number) is int and 0 <= number < len(self._objects),
            f"{where} refers to object {shown(number)}, and {len(self._objects)} are before it.",
        )
        ensure(
            self._names[number] in names,
            f"{where} must be one of {', '.join(names)}, not {self._names[number]}.",
        )
        self._referred.add(number)
        self._depth = max(self._depth, self._depths[number])
        self._look(self._sizes[number])
        return self._objects[number]

    def array(self, node: Node, where: str) -> NDArray:
        """The array of a node: a tensor, turned where it is in Fortran's order."""
        name, order = node.get("array"), node.get("order", "C")
        ensure(
            isinstance(name, str)
            and name in self._tensors
            and order in ("C", "F")
            and node.keys() <= {"array", "order"},
            f"{where} names no tensor of the file: {shown(node)}.",
        )
        self._used.add(name)
        self._look(self._tensors[name].nbytes)
        if order == "C":
            return self._tensors[name]
        return self._turned.setdefault(name, self._tensors[name].T)

    def _look(self, nbytes: int) -> None:
        """Count what the checks of an object may look at: all that it refers to, however deep."""
        self._size += nbytes + REFERENCE
        self.budget.look(nbytes + REFERENCE)

    def finite(self, array: NDArray) -> bool:
        """Whether an array has neither nan nor infinity; asked once of each."""
        if id(array) not in self._finite:
            flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
            starts = range(0, len(flat), AT_ONCE)
            if not all(np.isfinite(flat[s : s + AT_ONCE]).all() for s in starts):
                return False
            self._finite.add(id(array))
        return True
