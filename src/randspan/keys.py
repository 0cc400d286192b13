"""Keys: a hash of every row's inputs, by which rows are known again wherever they come back.

Equal inputs have equal keys, dense or sparse, in float32 or float64 (holding the same numbers).
What is decided by keys (samples, folds, bags, what is left out together) does not depend on the
order of rows, on blocks, files or workers. `with_targets` is the key of inputs and targets.

Rows with equal inputs are left out together: a model that has seen one of them has seen the input.
The exception are few distinct inputs with very many rows each (two binary columns, say): there
equal inputs are chance, a new row will have one of them too, and rows are told apart. So are rows
of one input that many rows have by themselves, such as zero everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Keys = NDArray[np.uint64]

# Equal inputs are chance where there are so many rows for each of them; not where every one of so
# many inputs stands there equally often, or a multiple of that: somebody has repeated the rows.
MANY_ROWS_EACH, FEWEST_REPEATED = 20, 20
# So are rows of an input that this share of all rows has.
LARGE_SHARE = 0.1
# Entries that are hashed at once.
AT_ONCE = 2**20


def keys_of(values: Any) -> Keys:
    """The key of every row of a dense array or a sparse matrix, in pieces of bounded memory."""
    step = max(1, AT_ONCE // max(values.shape[1], 1))
    parts = [fingerprints(values[s : s + step]) for s in range(0, values.shape[0], step)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def fingerprints(values: Any) -> Keys:
    """Σ_m mixed(x_m)·odd_m for every row: equal rows have equal ones, dense or sparse."""
    values = values.astype(np.float64)
    odd = odd_numbers(values.shape[1])
    if sparse.issparse(values):
        bits = mixed(values.data)
        return sparse.csr_array((bits, values.indices, values.indptr), values.shape) @ odd
    return (mixed(values) * odd).sum(axis=1)


def odd_numbers(count: int) -> Keys:
    """What the columns of a row are multiplied by."""
    generator = np.random.default_rng(0)
    return generator.integers(2**63, size=count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def mixed(values: NDArray[np.float64]) -> Keys:
    """The bits of numbers, well mixed; 0 stays 0, so that sparse rows need not mention it."""
    # Adding zero turns -0.0 into 0.0. Small whole numbers differ in their highest bits only, which
    # a multiplication would lose: they are folded onto the lower ones first.
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


def mixed_in(total: Keys, lines: NDArray) -> Keys:
    """A hash of one more number for every row, line after line."""
    for line in lines:
        total = (total ^ line.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total


def with_targets(inputs: Keys, targets: NDArray[np.float64]) -> Keys:
    """A key of inputs and targets, given that of inputs."""
    return mixed_in(inputs, np.ascontiguousarray(targets.T + 0.0).view(np.uint64))  # no -0.0


def few_places(inputs: Keys) -> bool:
    """Whether inputs are so few, and rows so many, that equal inputs are chance."""
    return _few(np.unique(inputs, return_counts=True)[1])


def by_chance(inputs: Keys, present: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Which rows have equal inputs by chance, judged by those that are present."""
    counted = inputs if present is None else inputs[present]
    known, counts = np.unique(counted, return_counts=True)
    if _few(counts):
        return np.ones(len(inputs), dtype=bool)
    large = known[counts >= max(MANY_ROWS_EACH, LARGE_SHARE * len(counted))]
    return np.isin(inputs, large) if len(large) else np.zeros(len(inputs), dtype=bool)


def count_of_sets(inputs: Keys) -> int:
    """How many sets of rows are left out together: distinct inputs, and rows equal by chance."""
    if len(known := np.unique(inputs)) == len(inputs):
        return len(known)
    apart = by_chance(inputs)
    return int(np.count_nonzero(apart)) + len(np.unique(inputs[~apart]))


def _few(counts: NDArray[np.intp]) -> bool:
    if len(counts) == 1:  # without its rows nothing would be left
        return True
    repeated = len(counts) >= FEWEST_REPEATED and np.gcd.reduce(counts) > 1
    return len(counts) > 0 and counts.sum() >= MANY_ROWS_EACH * len(counts) and not repeated


def alone(inputs: Keys, targets: NDArray[np.float64]) -> Keys:
    """A key for every row alone: those that are equal in inputs and targets are numbered."""
    keys = with_targets(inputs, targets)
    return mixed_in(keys, _numbered(keys)[None])


def _numbered(keys: Keys) -> Keys:
    """0, 1, 2, … for the rows that have the same key."""
    order = np.argsort(keys, kind="stable")
    _, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    numbers = np.empty(len(keys), dtype=np.uint64)
    numbers[order] = np.arange(len(keys)) - np.repeat(first, counts)
    return numbers
