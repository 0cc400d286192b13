"""Files of models, changed at random: every one is refused by the documented error, or is a model.

A mutation is a pure function of its number. Even ones change bytes: flipped bits, files cut off,
grown, zeroed or spliced from two, headers with keys that stand twice, NaN, huge shapes or endless
brackets. Odd ones change what is inside, entries of the document and of arrays, and have all
digests made anew: the checks behind the digest are the ones tried. What loads is asked for
predictions of a few rows: these may be refused by a `ValueError`, and nothing else.

``python -m benchmarks.mutations 123`` repeats one mutation, and shows where it ends.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import randspan as rs
from randspan.persistence import container
from randspan.persistence.loading import UNFORESEEN
from randspan.persistence.strict import dump

from .seeds import Seed, cosines, seeds, table

# What takes longer than this to load, or to predict, is a hang (of this process: others may load
# the machine).
SLOW = 1.0
ROWS = 5


# -- changes of bytes ------------------------------------------------------------------------------


def _flipped(raw: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(raw)
    head = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(rng.integers(1, 9)):
        at = rng.integers(len(raw) if rng.random() < 0.5 else min(head, len(raw)))
        changed[at] ^= 1 << rng.integers(8)
    return bytes(changed)


def _cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: rng.integers(len(raw))]


def _grown(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw + rng.bytes(int(rng.integers(1, 100)))


def _zeroed(raw: bytes, rng: np.random.Generator) -> bytes:
    first = int(rng.integers(len(raw)))
    last = min(len(raw), first + int(rng.integers(1, 300)))
    return raw[:first] + bytes(last - first) + raw[last:]


def _header(raw: bytes) -> tuple[str, bytes]:
    length = int.from_bytes(raw[:8], "little")
    return raw[8 : 8 + length].decode(), raw[8 + length :]


def _with_header(text: str, data: bytes) -> bytes:
    head = text.encode("utf-8", "surrogatepass")
    return len(head).to_bytes(8, "little") + head + data


TRICKS = (
    lambda text, rng: text.replace('"dtype"', '"dtype":"F64","dtype"', 1),
    lambda text, rng: text.replace('"shape":[', '"shape":[NaN,', 1),
    lambda text, rng: text.replace('"shape":[', '"shape":[-1,', 1),
    lambda text, rng: text.replace('"shape":[', f'"shape":[{2 ** int(rng.integers(20, 70))},', 1),
    lambda text, rng: text.replace('"data_offsets":[0', '"data_offsets":[8', 1),
    lambda text, rng: text.replace('"version":"1"', f'"version":"{rng.integers(0, 10**6)}"'),
    lambda text, rng: text.replace('"format":"randspan"', '"format":"pt"'),
    lambda text, rng: "{" + '"a":' * 0 + '"x":' + "[" * int(rng.integers(10, 200_000)),
    lambda text, rng: text.replace('"__metadata__"', '"__metadata__ "', 1),
    lambda text, rng: text.replace("{", '{"../../etc/passwd":{},', 1),
    lambda text, rng: text[: rng.integers(len(text))],
    lambda text, rng: text.replace("F64", "F32"),
    lambda text, rng: "[]" + " " * (len(text) - 2),
    lambda text, rng: text.replace("}", "\ud800}", 1),
    lambda text, rng: '{"x":' + "9" * int(rng.integers(10, 100_000)) + "}",
)


def _tricked(raw: bytes, rng: np.random.Generator) -> bytes:
    text, data = _header(raw)
    return _with_header(TRICKS[rng.integers(len(TRICKS))](text, rng), data)


def _length(raw: bytes, rng: np.random.Generator) -> bytes:
    lengths = (0, 1, 2, len(raw), len(raw) - 8, 2**31, 2**63, 2**64 - 1)
    return lengths[rng.integers(len(lengths))].to_bytes(8, "little") + raw[8:]


BYTES = (_flipped, _flipped, _flipped, _cut, _grown, _zeroed, _tricked, _tricked, _length)


# -- changes of what is inside ---------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 5, 2**31, 2**53, -(2**40), 0.0, 0.5, -1.5, 1e308, 1e-308),
    *("", "auto", "fourier", "x" * 20_000, [], {}, [[]], {"ref": 0}, {"ref": 1}, {"ref": -1}),
    *({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"int": "9" * 40}, {"int": "x"}),
    *({"numpy": "float64", "value": 1.0}, {"numpy": "object", "value": 1}, {"array": "nothing"}),
    *({"function": "system"}, {"known": "os.system"}, {"tuple": [1, 2]}, {"pairs": [[1, 2]]}),
    *({"dtype": "float64"}, {"dtype": "object"}, {"generator": "PCG64", "state": {}}),
)
ENTRIES = {
    "f": (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e-308, 1e154, 2.0),
    "i": (-1, 0, 1, 2, 7, 10**6, 2**31 - 1, -(2**31), 2**62),
    "u": (0, 1, 2**32, 2**63, 2**64 - 1),
    "b": (0, 1),
}


def _places(node: Any, found: list) -> list:
    """Every place of a document, as a container and a key in it."""
    keys = node.keys() if isinstance(node, dict) else range(len(node))
    for key in list(keys):
        found.append((node, key))
        if isinstance(node[key], (dict, list)) and node[key]:
            _places(node[key], found)
    return found


def _in_document(document: Any, tensors: dict, rng: np.random.Generator) -> None:
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        places = _places(document["objects"], [])
        node, key = places[rng.integers(len(places))]
        kind = rng.integers(8)
        value = node[key]
        if kind == 0 and isinstance(node, dict):
            del node[key]
        elif kind == 1 and isinstance(node, dict):
            node[f"{key}_"] = value
        elif kind == 2 and isinstance(node, list):
            node.insert(key, deepcopy(value))
        elif kind == 3:
            other, place = places[rng.integers(len(places))]
            taken = deepcopy(other[place])
            node[key] = taken
        elif isinstance(value, (int, float)) and kind < 7:
            steps = (value + 1, value - 1, -value, value * 2, value * 1e6, value + 0.5, 10**9)
            node[key] = steps[rng.integers(len(steps))]
        elif isinstance(value, dict) and "array" in value and kind < 7:
            if rng.random() < 0.3:
                value["order"] = "F"
            else:
                value["array"] = sorted(tensors)[rng.integers(len(tensors))]
        else:
            node[key] = deepcopy(VALUES[rng.integers(len(VALUES))])


def _in_tensors(document: Any, tensors: dict, rng: np.random.Generator) -> None:
    if not tensors:
        return
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        name = sorted(tensors)[rng.integers(len(tensors))]
        array = tensors[name].copy()
        kind = rng.integers(6)
        if kind <= 2 and array.size:
            values = ENTRIES[array.dtype.kind]
            flat = array.reshape(-1)
            at = rng.integers(array.size, size=rng.integers(1, 4))
            with np.errstate(all="ignore"):
                flat[at] = np.array(values[rng.integers(len(values))]).astype(array.dtype)
        elif kind == 3 and array.size:
            raw = array.reshape(-1).view(np.uint8)
            raw[rng.integers(raw.size)] ^= np.uint8(1 << rng.integers(8))
            if array.dtype == bool:
                raw &= 1
        elif kind == 4 and array.ndim:
            array = array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[:1]])
        elif kind == 5:
            other = sorted(tensors)[rng.integers(len(tensors))]
            tensors[other], array = tensors[name], tensors[other]
        else:
            codes = sorted(container.DTYPES.values())
            with np.errstate(all="ignore"):
                array = array.astype(codes[rng.integers(len(codes))])
        tensors[name] = np.ascontiguousarray(array).reshape(array.shape)


def _in_sizes(document: Any, tensors: dict, rng: np.random.Generator) -> None:
    """One size becomes another wherever it stands, so that shapes still agree with each other."""
    sizes = sorted({size for array in tensors.values() for size in array.shape})
    if not sizes:
        return
    old = sizes[rng.integers(len(sizes))]
    new = int(rng.choice([old + 1, max(old - 1, 0), 2 * old, 0, 1, 3 * old + 5]))
    for name, array in tensors.items():
        for axis, size in enumerate(array.shape):
            if size == old and rng.random() < 0.95:
                at = np.arange(new) % max(old, 1) if old else np.zeros(0, int)
                array = np.take(array, at, axis=axis)
        tensors[name] = np.ascontiguousarray(array).reshape(array.shape)
    for node, key in _places(document["objects"], []):
        if type(node[key]) is int and node[key] == old and rng.random() < 0.95:
            node[key] = new


def packed(metadata: dict[str, str], document: Any, tensors: dict[str, np.ndarray]) -> bytes:
    """A file of a changed document and changed tensors, its digest as it should be."""
    from safetensors.numpy import save

    text = dump(document)
    facts = {
        name: (container.NAMES[array.dtype], array.shape, container.sha256(array))
        for name, array in tensors.items()
    }
    digest = container.digest_of(text, facts)
    return save(tensors, metadata=metadata | {"document": text, "digest": digest})


def mutated(number: int, files: list[Seed]) -> tuple[str, bytes]:
    """The name and the bytes of a mutation."""
    rng = np.random.default_rng([20, number])
    seed = files[rng.integers(len(files))]
    if number % 2 == 0:
        change = BYTES[rng.integers(len(BYTES))]
        raw = change(seed.raw, rng)
        if rng.random() < 0.1:  # the beginning of one file and the end of another
            other = files[rng.integers(len(files))].raw
            cut = int(rng.integers(len(other)))
            raw = raw[:cut] + other[cut:]
        return f"{seed.name}: {change.__name__[1:]}", raw
    document, tensors = json.loads(seed.metadata["document"]), dict(seed.tensors)
    change = (_in_document, _in_tensors, _in_sizes)[rng.integers(3)]
    change(document, tensors, rng)
    if rng.random() < 0.05:
        document["objects"].reverse()
    return f"{seed.name}: {change.__name__[1:]}", packed(seed.metadata, document, tensors)


# -- what comes of them ----------------------------------------------------------------------------


@dataclass
class Outcome:
    """How many mutations ended how, and those that should not have."""

    ends: Counter = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)
    slowest: float = 0.0
    kilobytes: int = 0


def ask(model: Any) -> None:
    """Use what was loaded: predictions of a few rows."""
    rng = np.random.default_rng(1)
    width = getattr(model, "n_features_in_", None) or getattr(model, "n_features", None) or 3
    X: Any = rng.normal(size=(ROWS, min(int(width), 1000)))
    frame = getattr(getattr(model, "_model", None), "frame", None)
    if getattr(frame, "columns", None) is not None:
        X = table(rng.normal(size=(ROWS, 3)))
    if isinstance(model, rs.families.Functions):
        model(X)
    elif hasattr(model, "transform") and hasattr(model, "functions_"):
        model.transform(X)
    elif hasattr(model, "_model"):
        model.predict(X)
        if hasattr(model, "predict_proba"):
            model.predict_proba(X)
        elif hasattr(model, "predict_interval"):
            with contextlib.suppress(ValueError):
                model.predict(X, return_std=True)
        if hasattr(model, "partial_fit"):  # compiled loops run over what is kept of rows, too
            _go_on(model, X)
    repr(model)


def _go_on(model: Any, X: Any) -> None:
    """Add rows, and predict once more."""
    if isinstance(model, rs.SpanClassifier):
        y = model.classes_[np.arange(ROWS) % len(model.classes_)]
    else:
        y = np.linspace(0, 1, ROWS * model._n_targets).reshape(ROWS, -1)
        y = y[:, 0] if model._flat else y
    model.partial_fit(X, y).predict(X)


def tried(number: int, files: list[Seed], path: Path, outcome: Outcome) -> None:
    """Load one mutation, and use what comes of it."""
    name, raw = mutated(number, files)
    path.write_bytes(raw)
    end, defect, seconds = _attempt(path)
    if seconds > SLOW:  # a loop may have been compiled for arrays as they had not been before
        end, defect, seconds = _attempt(path)
    if seconds > SLOW:
        defect = defect or f"took {seconds:.1f} s"
    kind = "digests made anew" if number % 2 else "bytes changed"
    if kind == "bytes changed" and any(raw == seed.raw for seed in files):
        kind = "bytes as they were"  # zeros that were zeroed, a file spliced from itself
    if kind == "bytes changed" and end != "refused":
        defect = defect or "loaded, though its bytes were changed"
    if defect:
        outcome.defects.append(f"{number} ({name}): {defect}")
    outcome.slowest = max(outcome.slowest, seconds)
    outcome.ends[f"{kind}, {end}"] += 1


def _attempt(path: Path) -> tuple[str, str, float]:
    """How loading and using a file ends, what is wrong with that, and the longer of the times."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = rs.load(path, functions={"cosines": cosines})
    except rs.ModelFileError as error:
        defect = str(error) if UNFORESEEN in str(error) else ""
        return "refused", defect, time.process_time() - start
    except Exception as error:
        return "failed", f"load: {error!r}", time.process_time() - start
    seconds, start = time.process_time() - start, time.process_time()
    end, defect = "loaded", ""
    try:
        # Numbers may overflow that are finite: predictions say so, and that is all. (np.errstate is
        # that of one thread, and models have several.)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "(overflow|invalid|divide)", RuntimeWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            warnings.filterwarnings("ignore", category=ConvergenceWarning)
            ask(model)
    except ValueError:
        end = "loaded, refuses to predict"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        defect = f"predict: {error!r} at {where}"
    return end, defect, max(seconds, time.process_time() - start)


def run(first: int, last: int, note: Callable[[int], None] = lambda number: None) -> Outcome:
    """Mutations by their numbers, in this process."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        files = seeds(Path(folder))
        for seed in files:  # what is compiled and imported once is no memory of a file
            (Path(folder) / "whole.rsp").write_bytes(seed.raw)
            whole = rs.load(Path(folder) / "whole.rsp", functions={"cosines": cosines})
            with contextlib.suppress(ValueError), warnings.catch_warnings():  # lean: no deviations
                warnings.simplefilter("ignore")
                ask(whole)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(first, last):
            note(number)
            tried(number, files, Path(folder) / "mutated.rsp", outcome)
        outcome.kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return outcome


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        everything = seeds(Path(folder))
        label, changed = mutated(int(sys.argv[1]), everything)
        print(label, len(changed))
        Path(folder, "mutated.rsp").write_bytes(changed)
        loaded = rs.load(Path(folder, "mutated.rsp"), functions={"cosines": cosines})
        print(loaded)
        ask(loaded)
