"""Kinds of values: what a field of a model may be, in a file and in memory.

A file is JSON and tensors. A kind says of a Python value whether it is one of its own (`takes`) and
writes it as a JSON node; of a node whether it may be one (`fits`), and reads it back or refuses it.
Schemas are made of kinds; nothing else decides what a file may hold.

Numbers keep their type: ``1`` and ``1.0`` are a whole number and a float, ``{"numpy": "float64",
"value": 1.0}`` is one of numpy's, ``{"int": "…"}`` a whole number that a float cannot hold, and
``{"float": "inf"}`` one that JSON has no word for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .errors import ModelFileError, ensure

if TYPE_CHECKING:
    from .codec import Reader, Writer

#: a JSON value
Node = Any
#: sizes that symbols of shapes stand for within one object
Scope = dict[str, int]

# Whole numbers that every reader of JSON gets right.
EXACT = 2**53
WORDS = {"inf": inf, "-inf": -inf, "nan": float("nan")}
SCALARS = {
    np.dtype(code).name: np.dtype(code).type
    for code in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
}


class Kind(ABC):
    """A kind of value."""

    @abstractmethod
    def takes(self, value: Any) -> bool:
        """Whether a value in memory is of this kind."""

    @abstractmethod
    def write(self, value: Any, to: Writer, where: str) -> Node:
        """The node of such a value."""

    @abstractmethod
    def fits(self, node: Node) -> bool:
        """Whether a node looks like one of this kind."""

    @abstractmethod
    def read(self, node: Node, of: Reader, where: str, scope: Scope) -> Any:
        """The value of such a node, checked."""

    @property
    @abstractmethod
    def told(self) -> str:
        """What it is, in words."""

    def refuse(self, node: Node, where: str) -> NoReturn:
        raise ModelFileError(f"{where} must be {self.told}, got {shown(node)}.")


def shown(node: Node) -> str:
    """A node, shortened."""
    text = repr(node)
    return text if len(text) <= 60 else text[:57] + "..."


# -- numbers and words -----------------------------------------------------------------------------


def scalar_node(value: Any) -> Node:
    """The node of a number, a flag, a text or None."""
    if isinstance(value, np.generic) and not isinstance(value, (np.str_, np.bytes_)):
        return {"numpy": value.dtype.name, "value": scalar_node(value.item())}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if abs(value) <= EXACT else {"int": str(int(value))}
    if isinstance(value, float):
        if isfinite(value):
            return float(value)
        return {"float": "nan" if isnan(value) else "inf" if value > 0 else "-inf"}
    raise TypeError(f"{value!r} is not a number.")


def scalar_of(node: Node, where: str) -> Any:
    """The number, flag, text or None of a node."""
    if not isinstance(node, dict):
        ensure(not isinstance(node, list), f"{where} must be one value, got a list.")
        huge = isinstance(node, float) and not isfinite(node)
        ensure(not huge, f"{where} is a number beyond all floats.")
        return node
    if node.keys() == {"int"} and isinstance(node["int"], str):
        digits = node["int"].lstrip("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= 100:
            return int(node["int"])
    if node.keys() == {"float"} and isinstance(node["float"], str) and node["float"] in WORDS:
        return WORDS[node["float"]]
    if node.keys() == {"numpy", "value"} and isinstance(node["numpy"], str):
        inner = node["value"]
        if node["numpy"] in SCALARS and not (isinstance(inner, dict) and "numpy" in inner):
            return _of_numpy(node["numpy"], scalar_of(inner, where), where)
    raise ModelFileError(f"{where} is no number that files have: {shown(node)}.")


def _of_numpy(name: str, value: Any, where: str) -> Any:
    kind = np.dtype(name).kind
    wanted = {"f": float, "i": int, "u": int, "b": bool}[kind]
    ensure(type(value) is wanted, f"{where} is no {name}: {shown(value)}.")
    if wanted is int:
        limits = np.iinfo(name)
        ensure(limits.min <= value <= limits.max, f"{where} is beyond {name}: {shown(value)}.")
    with np.errstate(over="ignore"):
        return SCALARS[name](value)


def is_scalar(node: Node) -> bool:
    """Whether a node is a number, a flag, a text or None."""
    if not isinstance(node, dict):
        return not isinstance(node, list)
    return next(iter(node), "") in ("int", "float", "numpy")


@dataclass(frozen=True)
class Null(Kind):
    """None."""

    told = "null"

    def takes(self, value):
        return value is None

    def write(self, value, to, where):
        return None

    def fits(self, node):
        return node is None

    def read(self, node, of, where, scope):
        return None if node is None else self.refuse(node, where)


class _Scalar(Kind):
    """One value that stands in JSON."""

    def write(self, value, to, where):
        return scalar_node(value)

    def fits(self, node):
        if not is_scalar(node):
            return False
        try:
            return self.takes(scalar_of(node, ""))
        except ModelFileError:
            return False

    def read(self, node, of, where, scope):
        value = scalar_of(node, where)
        return value if self.takes(value) else self.refuse(node, where)


@dataclass(frozen=True)
class Flag(_Scalar):
    """True or False."""

    told = "true or false"

    def takes(self, value):
        return isinstance(value, (bool, np.bool_))


@dataclass(frozen=True)
class Whole(_Scalar):
    """A whole number within limits; ``symbol`` is a size that arrays of the object have."""

    low: int = 0
    high: int = 2**62
    symbol: str = ""

    @property
    def told(self):
        return f"a whole number from {self.low} to {self.high}"

    def takes(self, value):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        return whole and self.low <= int(value) <= self.high

    def read(self, node, of, where, scope):
        value = super().read(node, of, where, scope)
        if self.symbol:
            unify(scope, self.symbol, int(value), where)
        return value


def unify(scope: Scope, symbol: str, size: int, where: str) -> None:
    """Let a symbol stand for a size, the same one everywhere within an object."""
    known = scope.setdefault(symbol, size)
    ensure(known == size, f"{where} has {size} for {symbol}, where {known} was expected.")


@dataclass(frozen=True)
class Number(_Scalar):
    """A number, whole or not, finite unless ``any``; with ``real``, a float."""

    low: float = -inf
    high: float = inf
    any: bool = False
    real: bool = False

    @property
    def told(self):
        limits = "" if (self.low, self.high) == (-inf, inf) else f" from {self.low} to {self.high}"
        return f"a {'' if self.any else 'finite '}{'float' if self.real else 'number'}{limits}"

    def takes(self, value):
        kinds = (float, np.floating) if self.real else (int, float, np.integer, np.floating)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return False
        if isinstance(value, int) and abs(value) > 2**1000:
            return False
        if isnan(value):
            return self.any and (self.low, self.high) == (-inf, inf)
        return self.low <= value <= self.high and (self.any or isfinite(value))


@dataclass(frozen=True)
class Text(_Scalar):
    """A text."""

    most: int = 10_000

    @property
    def told(self):
        return f"a text of at most {self.most} characters"

    def takes(self, value):
        return isinstance(value, str) and len(value) <= self.most


class Choice(_Scalar):
    """One of some words."""

    def __init__(self, *words: str):
        self.words = words

    @property
    def told(self):
        return f"one of {', '.join(map(repr, self.words))}"

    def takes(self, value):
        return isinstance(value, str) and value in self.words
