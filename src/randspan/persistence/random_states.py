"""``random_state`` as it was: a number, nothing, or a generator at the place where it stood.

numpy takes the state of a generator as it comes, a position beyond its buffer included, and would
read foreign memory: every number is checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .compounds import Record
from .errors import ModelFileError
from .kinds import Kind, Number, Whole

_WIDE = Record(state=Whole(0, 2**128 - 1), inc=Whole(0, 2**128 - 1))
_HALF = {"has_uint32": Whole(0, 1), "uinteger": Whole(0, 2**32 - 1)}
_TWISTER = Record(key=Array(("u4",), (624,)), pos=Whole(0, 624))
_FOUR = Array(("u8",), (4,))

#: numpy's bit generators, and what their states hold beside their names
STATES: dict[str, Record] = {
    "PCG64": Record(state=_WIDE, **_HALF),
    "PCG64DXSM": Record(state=_WIDE, **_HALF),
    "SFC64": Record(state=Record(state=_FOUR), **_HALF),
    "Philox": Record(
        state=Record(counter=_FOUR, key=Array(("u8",), (2,))),
        buffer=_FOUR,
        buffer_pos=Whole(0, 4),
        **_HALF,
    ),
    "MT19937": Record(state=_TWISTER),
}
_LEGACY = Record(state=_TWISTER, has_gauss=Whole(0, 1), gauss=Number())


class Generator(Kind):
    """A ``numpy.random.Generator`` or ``RandomState``."""

    told = "a generator of numpy"

    def takes(self, value):
        if isinstance(value, np.random.RandomState):
            return type(value._bit_generator).__name__ == "MT19937"
        known = isinstance(value, np.random.Generator)
        return known and type(value.bit_generator).__name__ in STATES

    def write(self, value, to, where):
        legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if legacy else value.bit_generator.state
        name = "RandomState" if legacy else state["bit_generator"]
        kind = _LEGACY if legacy else STATES[name]
        own = _plain({k: v for k, v in state.items() if k != "bit_generator"})
        return {"generator": name, "state": kind.write(own, to, where)}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"generator", "state"}

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        name = node["generator"]
        if name == "RandomState":
            state = _LEGACY.read(node["state"], of, where, scope)
            legacy = np.random.RandomState()
            legacy.set_state({"bit_generator": "MT19937", **_plain(state)})
            return legacy
        if not isinstance(name, str) or name not in STATES:
            self.refuse(node, where)
        state = STATES[name].read(node["state"], of, where, scope)
        bits = getattr(np.random, name)()
        try:
            bits.state = {"bit_generator": name, **_plain(state)}
        except (ValueError, TypeError, OverflowError) as error:
            raise ModelFileError(f"{where}: {error}.") from None
        return np.random.Generator(bits)


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """Numbers as Python has them; arrays of their own, since a state may be written to later."""
    found: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            found[name] = _plain(value)
        elif isinstance(value, np.ndarray):
            found[name] = value.copy()
        else:
            found[name] = value.item() if isinstance(value, np.generic) else value
    return found
