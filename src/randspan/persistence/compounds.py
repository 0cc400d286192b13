"""Kinds that are made of other kinds: choices, lists, dictionaries, and references to objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ensure, ensure_different
from .kinds import Kind, Null, shown, unify
from .registry import name_of


class Either(Kind):
    """The first of several kinds that takes a value."""

    def __init__(self, *kinds: Kind):
        self.kinds = kinds

    @property
    def told(self):
        return " or ".join(kind.told for kind in self.kinds)

    def takes(self, value):
        return any(kind.takes(value) for kind in self.kinds)

    def write(self, value, to, where):
        kind = next(kind for kind in self.kinds if kind.takes(value))
        return kind.write(value, to, where)

    def fits(self, node):
        return any(kind.fits(node) for kind in self.kinds)

    def read(self, node, of, where, scope):
        for kind in self.kinds:
            if kind.fits(node):
                return kind.read(node, of, where, scope)
        return self.refuse(node, where)


def optional(kind: Kind) -> Either:
    """None, or one of a kind."""
    return Either(Null(), kind)


@dataclass(frozen=True)
class Listing(Kind):
    """Values of one kind in a row; ``of`` is what they are in memory, list or tuple."""

    each: Kind
    of: type = list
    low: int = 0
    high: int = 2**31
    symbol: str = ""

    @property
    def told(self):
        return f"a list, each {self.each.told}"

    def takes(self, value):
        kind: Any = type(value)
        return kind is self.of and all(self.each.takes(one) for one in value)

    def write(self, value, to, where):
        return [self.each.write(one, to, f"{where}.{i}") for i, one in enumerate(value)]

    def fits(self, node):
        return isinstance(node, list)

    def read(self, node, of, where, scope):
        if not isinstance(node, list):
            self.refuse(node, where)
        ensure(
            self.low <= len(node) <= self.high,
            f"{where} has {len(node)} entries, where {self.low} to {self.high} were expected.",
        )
        if self.symbol:
            unify(scope, self.symbol, len(node), where)
        found = [self.each.read(one, of, f"{where}.{i}", scope) for i, one in enumerate(node)]
        return tuple(found) if self.of is tuple else found


class Tuple(Listing):
    """A tuple, told from a list where both may stand."""

    def __init__(self, each: Kind, high: int = 2**31):
        super().__init__(each, tuple, high=high)

    def write(self, value, to, where):
        return {"tuple": super().write(value, to, where)}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"tuple"}

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        return super().read(node["tuple"], of, where, scope)


@dataclass(frozen=True)
class Mapping(Kind):
    """A dictionary, as a list of pairs: keys may be numbers."""

    key: Kind
    value: Kind
    most: int = 100_000

    @property
    def told(self):
        return "a list of pairs"

    def takes(self, value):
        return type(value) is dict and all(
            self.key.takes(k) and self.value.takes(v) for k, v in value.items()
        )

    def write(self, value, to, where):
        return {
            "pairs": [
                [self.key.write(k, to, where), self.value.write(v, to, f"{where}.{i}")]
                for i, (k, v) in enumerate(value.items())
            ]
        }

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"pairs"}

    def read(self, node, of, where, scope):
        if not self.fits(node) or not isinstance(node["pairs"], list):
            self.refuse(node, where)
        pairs = node["pairs"]
        ensure(len(pairs) <= self.most, f"{where} has {len(pairs)} entries.")
        ensure(
            all(isinstance(pair, list) and len(pair) == 2 for pair in pairs),
            f"{where} must hold pairs.",
        )
        keys = [self.key.read(key, of, where, scope) for key, _ in pairs]
        ensure_different(keys, f"{where} has a key twice.")
        return {
            key: self.value.read(value, of, f"{where}[{shown(node)}]", scope)
            for key, (node, value) in zip(keys, pairs, strict=True)
        }


class Record(Kind):
    """A dictionary with given keys."""

    def __init__(self, **fields: Kind):
        self.fields = fields

    @property
    def told(self):
        return f"an object with {', '.join(self.fields)}"

    def takes(self, value):
        return (
            type(value) is dict
            and value.keys() == self.fields.keys()
            and all(kind.takes(value[name]) for name, kind in self.fields.items())
        )

    def write(self, value, to, where):
        return {n: kind.write(value[n], to, f"{where}.{n}") for n, kind in self.fields.items()}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == self.fields.keys()

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        return {
            name: kind.read(node[name], of, f"{where}.{name}", scope)
            for name, kind in self.fields.items()
        }


class One(Kind):
    """An object of one of some registered classes, by reference."""

    def __init__(self, *names: str):
        self.names = names

    @property
    def told(self):
        return f"one of {', '.join(self.names)}"

    def takes(self, value):
        return name_of(value) in self.names

    def write(self, value, to, where):
        return {"ref": to.one(value, where)}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"ref"}

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        return of.referred(node["ref"], self.names, where)


class Precision(Kind):
    """float32 or float64, as a dtype or as a type of numpy's."""

    told = "float32 or float64"

    def takes(self, value):
        kinds = (np.dtype("f4"), np.dtype("f8"), np.float32, np.float64)
        return isinstance(value, (np.dtype, type)) and value in kinds

    def write(self, value, to, where):
        return {"dtype" if isinstance(value, np.dtype) else "type": np.dtype(value).name}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() in ({"dtype"}, {"type"})

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        [(kind, name)] = node.items()
        if name not in ("float32", "float64"):
            self.refuse(node, where)
        return np.dtype(name) if kind == "dtype" else np.dtype(name).type
