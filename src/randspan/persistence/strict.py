"""JSON as the standard has it: no duplicate keys, no NaN, no endless depth.

Python's reader takes the last of two equal keys, and reads NaN and Infinity; a file in which two
programs see different things is refused instead.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from .budget import Budget
from .errors import ModelFileError

# Bytes that a value, and a container, of a parsed text take at most beside the text itself.
VALUE, CONTAINER = 80, 240
DEEPEST = 24
# Bytes of a text that are looked at together.
AT_ONCE = 2**20


def parse(text: str, what: str, budget: Budget) -> Any:
    """The value of a JSON text, plain dicts and lists."""
    containers, values = _outside_strings(text)
    budget.take(2 * len(text) + CONTAINER * containers + VALUE * values, f"{what}, parsed,")
    try:
        found = json.loads(text, object_pairs_hook=_distinct, parse_constant=_constant)
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply.") from None
    except ModelFileError:
        raise
    except ValueError as error:  # JSON, or a number of thousands of digits
        raise ModelFileError(f"{what} is not JSON: {error}.") from None
    _refuse_depth(found, what)
    return found


def _outside_strings(text: str) -> tuple[int, int]:
    """How many containers, and how many values, a text has: what stands in strings makes none."""
    raw = text.encode("utf-8", "surrogatepass").replace(b"\\\\", b"").replace(b'\\"', b"")
    containers = values = quotes = 0
    for start in range(0, len(raw), AT_ONCE):
        part = np.frombuffer(raw, np.uint8, min(AT_ONCE, len(raw) - start), start)
        quoted = part == ord('"')
        outside = (np.cumsum(quoted) + quotes) % 2 == 0
        quotes += int(quoted.sum())
        counts = np.bincount(part[outside], minlength=256)
        containers += int(counts[ord("{")] + counts[ord("[")])
        values += int(counts[ord(",")] + counts[ord(":")])
    return containers, values


def _refuse_depth(value: Any, what: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += [v for v in one.values() if isinstance(v, (dict, list))]
            elif isinstance(one, list):
                inner += [v for v in one if isinstance(v, (dict, list))]
        if not inner:
            return
        level = inner
    raise ModelFileError(f"{what} is nested too deeply.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ModelFileError(f"The key {twice[:100]!r} stands twice in one JSON object.")
    return found


def _constant(name: str) -> NoReturn:
    raise ModelFileError(f"{name} is not a number that JSON has.")


def dump(value: Any) -> str:
    """A value as JSON, in ASCII and without spaces."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
