"""``functions=False``: arrays that a seed makes again are left out, and drawn when a file is read.

A draw is a pure function of family, columns, number and seed. But orthogonal directions come from
LAPACK and quasi-Monte-Carlo points from scipy, and their last bits may change some day: what is
drawn is compared with a digest of what was, and refused where it differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..estimators import SpanTransformer
from ..families import Functions
from ..families.shared.frequencies import HadamardFrequencies
from ..families.shared.randomness import child_seed
from ..families.union import UnionFunctions
from ..frame import Frame
from ..model import Model
from ..portfolio import Portfolio
from .arrays import order_of
from .compounds import Record
from .container import sha256
from .errors import ModelFileError, ensure
from .kinds import Node, Scope, Text
from .registry import Entry, entry_of
from .schemas.common import SEED

_PROMISE = Record(seed=SEED, digest=Text(64))


def seeds_of(value: Any) -> dict[int, Node]:
    """Seeds and digests of all functions of an object that can be drawn again, by their ids."""
    found: dict[int, Node] = {}
    for frame, functions in _pairs(value):
        for part, seed in _parts(functions, frame):
            entry = entry_of(part)
            if entry is None or not entry.drawn or not _from_seed(part):
                continue
            digest = digest_of(part, entry)
            if digest_of(_drawn(part, seed), entry) == digest:
                found[id(part)] = {"seed": seed, "digest": digest}
    return found


def _pairs(value: Any) -> Iterator[tuple[Frame, Functions]]:
    """Frames, and functions that were drawn from them."""
    value = getattr(value, "_model", value)
    if isinstance(value, Portfolio):
        for one in value.models:
            yield from _pairs(one)
        if value.spread is not None and value.spread.local is not None:
            yield from _pairs(value.spread.local)
    elif isinstance(value, Model):
        yield value.frame, value.functions
        known = vars(value).get("_solved")
        if known is not None:
            yield known.frame, known.functions
    elif isinstance(value, SpanTransformer) and hasattr(value, "functions_"):
        yield value.frame_, value.functions_
    frame = value if isinstance(value, Frame) else getattr(value, "frame", None)
    if isinstance(frame, Frame) and frame.trained is not None:
        yield frame, frame.trained


def _parts(functions: Functions, frame: Frame) -> list[tuple[Functions, int]]:
    """Functions, or the parts of a union, with the seed of each."""
    if not isinstance(functions, UnionFunctions):
        return [(functions, frame.seed)]
    return [(part, child_seed(frame.seed, j)) for j, part in enumerate(functions.parts)]


def _from_seed(functions: Functions) -> bool:
    """Whether a seed is all they come from: not rows, and no roots of matrices of anchors."""
    family = functions.family
    return not family.trains and not getattr(family, "_nystrom", False)


def _drawn(functions: Functions, seed: int) -> Functions:
    return functions.family.drawn(functions.n_features, functions.n_components, seed)


def digest_of(functions: Functions, entry: Entry) -> str:
    """SHA-256 of the arrays that a draw makes, in their order."""
    total = hashlib.sha256()
    for name in entry.drawn:
        for array in _arrays(getattr(functions, name)):
            shape = "x".join(map(str, array.shape))
            line = f"{name} {array.dtype.str} {shape} {order_of(array)} {sha256(array)}\n"
            total.update(line.encode())
    return total.hexdigest()


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, HadamardFrequencies):
        value = [value.signs, value.permutations, value.gains, value.scales]
    if isinstance(value, list):
        for one in value:
            yield from _arrays(one)
    elif isinstance(value, (np.ndarray, float)):
        yield np.asarray(value)


def finish(unfinished: list[tuple[Any, Entry, Node]], of: Any) -> None:
    """Draw what was left out, if it fits, and put it in, if it is what it was."""
    for functions, entry, node in unfinished:
        scope: Scope = {}
        promise = _PROMISE.read(node, of, f"{entry.name}.drawn", scope)
        ensure(_from_seed(functions), f"{entry.name} cannot come from a seed alone.")
        d, k = functions.n_features, functions.n_components
        nbytes = functions.family.drawing_bytes(d, k)
        of.budget.take(nbytes, f"{entry.name}: drawing {k} functions")
        try:
            with np.errstate(all="ignore"):
                fresh = _drawn(functions, promise["seed"])
        except (ValueError, TypeError, ImportError, ArithmeticError) as error:
            raise ModelFileError(f"{entry.name} cannot be drawn again: {error}") from error
        if digest_of(fresh, entry) != promise["digest"]:
            raise ModelFileError(
                f"{entry.name}: the functions that are drawn from the seed {promise['seed']} are "
                "not those that were saved, to the last bit. The file was changed, or saved with "
                "functions=False by a version of LAPACK, scipy or numpy that rounds differently: "
                "load it there, and save it with functions=True."
            )
        for name in entry.drawn:
            object.__setattr__(functions, name, getattr(fresh, name))
