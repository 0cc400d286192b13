"""Randomness as a pure function: a number for every (seed, stream, function, position).

A draw must not depend on how many functions are drawn, in which order, in which block or on
which machine. So nothing here has a state: `uniforms` reads the first ``count`` rows of an
endless table that the counter-based generator Philox spans for ``(seed, stream)``, and every
law is a transformation of these uniforms, one by one, without rejection. A larger draw
therefore starts with the smaller one, bit for bit.

numpy guarantees the stream of ``Philox.random_raw`` across versions, which it does not for the
methods of ``Generator``; hence raw bits, and our own step to uniforms.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils import check_random_state

# Numbers that are drawn at once.
AT_ONCE = 2**18


def seed_from(random_state: object) -> int:
    """One 63-bit seed from whatever scikit-learn accepts as ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    return int(check_random_state(random_state).randint(2**63 - 1, dtype=np.int64))


def remembered(random_state: object) -> Callable[[], None]:
    """A function that puts a generator back to where it is now; others have no state."""
    if isinstance(random_state, np.random.Generator):
        bits, before = random_state.bit_generator, random_state.bit_generator.state
        return lambda: setattr(bits, "state", before)
    if isinstance(random_state, np.random.RandomState):
        return partial(random_state.set_state, random_state.get_state())
    return lambda: None


def child_seed(seed: int, index: int) -> int:
    """The seed of part ``index`` of a union: independent streams for every part."""
    return int(_philox(seed, f"part {index}").random_raw() >> np.uint64(1))


def uniforms(seed: int, stream: str, count: int, width: int) -> NDArray[np.float64]:
    """Uniforms on (0, 1), shape (count, width); row i is the same for every ``count > i``."""
    bits, out = _philox(seed, stream), np.empty(count * width)
    for start in range(0, len(out), AT_ONCE):
        some = out[start : start + AT_ONCE]
        some[:] = bits.random_raw(len(some)) >> np.uint64(12)
        some += 0.5
        some *= 2.0**-52
    return out.reshape(count, width)


def _uniforms(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def raw_bits(seed: int, stream: str, count: int, skipped: int = 0) -> NDArray[np.uint64]:
    """64 random bits for every position, after some multiple of four that are skipped."""
    bits = _philox(seed, stream)
    bits.advance(skipped // 4)  # a step of the counter is four numbers
    return bits.random_raw(count)


def bits_of(seed: int, stream: str, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """64 random bits for every key: a pure function of (seed, stream, key).

    The mixer is Stafford's, of SplitMix64: one bit of its input changes each of its output with a
    chance near 1/2, so that keys and streams that differ in little have nothing in common.
    """
    bits = keys ^ raw_bits(seed, stream, 1)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def drawing_bytes(count: int, width: int) -> int:
    """At most how much memory drawing ``count`` functions of ``width`` numbers each takes.

    Raw bits, uniforms, what laws make of them on the way, and the result are eight arrays at most,
    and of what a function has beside (a phase, a threshold, tables) there is less than this.
    """
    return 64 * count * (width + 8)


def normals(seed: int, stream: str, count: int, width: int) -> NDArray[np.float64]:
    """Standard normals by inversion: one uniform each, so that rows stay where they are."""
    return special.ndtri(uniforms(seed, stream, count, width))


def normals_of(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """A standard normal for every 64 random bits."""
    return special.ndtri(_uniforms(bits))


def generator(seed: int, stream: str, index: int) -> np.random.Generator:
    """A generator for function ``index`` alone, handed to samplers that users write."""
    # The third counter word keeps these apart from the table of `uniforms`, which runs over
    # the first word only.
    return np.random.Generator(_philox(seed, stream, counter=[0, 0, index + 1, 0]))


def sampled(sampler, seed: int, stream: str, count: int, width: int) -> NDArray[np.float64]:
    """``count`` vectors of ``width`` numbers, each ``sampler(width, rng)`` with its own rng."""
    rows = np.empty((count, width))
    for i in range(count):
        values = np.asarray(sampler(width, generator(seed, stream, i)), dtype=np.float64)
        if values.size != width or not np.isfinite(values).all():
            raise ValueError(
                f"The sampler for {stream} must return {width} finite number(s) when called as "
                f"sampler({width}, rng); it returned {values!r}."
            )
        rows[i] = values.reshape(width)
    return rows


def normals_or_sampled(law, seed: int, stream: str, count: int, width: int) -> NDArray[np.float64]:
    """Rows of a user's sampler where ``law`` is one, standard normals otherwise."""
    if callable(law):
        return sampled(law, seed, stream, count, width)
    return normals(seed, stream, count, width)


def _philox(seed: int, stream: str, counter=None) -> np.random.Philox:
    key = np.array([seed, zlib.crc32(stream.encode())], dtype=np.uint64)
    return np.random.Philox(key=key, counter=counter)
