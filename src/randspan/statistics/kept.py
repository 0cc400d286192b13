"""Arrays with an entry for every training row, for statistics that keep rows instead of sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..keys import Keys, keys_of, mixed_in
from ..sources import ArraySource, Source, of_arrays
from .base import Statistics

#: arrays by name; inputs may be sparse, which no type tells
Block = dict[str, NDArray]

#: arrays whose rows are lines: the last axis runs over training rows
LINES = ("cells",)
#: what a sparse matrix in compressed rows consists of
SPARSE = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class Kept:
    """Blocks of arrays in the order they came; one block as soon as somebody asks for all rows.

    A block has ``targets``, ``weights`` and ``keys``, and what else its statistics keep of a row.
    """

    blocks: tuple[Block, ...] = ()

    @classmethod
    def of(cls, source: Source, **arrays: NDArray) -> Kept:
        """The rows of a source: targets, weights, and what else is kept of them."""
        known = {"targets": source.targets(), "weights": source.each, "keys": source.keys}
        return cls((known | arrays,))

    @classmethod
    def with_inputs(cls, source: Source) -> Kept:
        """The rows of a source with a copy of their inputs."""
        return cls.of(source, inputs=cast(NDArray, source.held().X.copy()))

    def __len__(self) -> int:
        return sum(len(block["weights"]) for block in self.blocks)

    def __getstate__(self) -> dict:
        return {"blocks": (self.arrays,) if self.blocks else ()}

    @property
    def arrays(self) -> Block:
        """The arrays of all rows."""
        if len(self.blocks) != 1:
            first = self.blocks[0] if self.blocks else {}
            shared = [name for name in first if all(name in block for block in self.blocks)]
            whole = {name: _stacked(name, [b[name] for b in self.blocks]) for name in shared}
            # The same rows: what was concatenated once is not kept twice.
            object.__setattr__(self, "blocks", (whole,) if whole else ())
        return self.blocks[0] if self.blocks else {}

    @property
    def source(self) -> ArraySource:
        """The rows; X has no columns where their inputs are not kept."""
        arrays = self.arrays
        X = arrays.get("inputs", np.empty((len(self), 0)))
        return of_arrays(X, arrays["targets"], arrays["weights"], None, self.places())

    def plus(self, other: Kept) -> Kept:
        return Kept(self.blocks + other.blocks)

    def without(self, gone: Kept) -> Kept:
        """The rows that are left when each of ``gone`` takes one like it away."""
        if not len(gone):
            return self
        mine = self.fingerprints() if len(self) else np.empty(0, dtype=np.uint64)
        theirs = gone.fingerprints()
        order = np.argsort(mine, kind="stable")
        wanted, counts = np.unique(theirs, return_counts=True)
        first = np.searchsorted(mine[order], wanted)
        last = np.searchsorted(mine[order], wanted, side="right")
        missing = int(np.maximum(counts - (last - first), 0).sum())
        if missing:
            raise ValueError(
                f"{missing} of {len(gone)} rows cannot have been in the model, with these targets "
                "and weights: hand in rows, targets and weights that it was fitted on."
            )
        # The latest of several equal ones goes.
        taken = np.concatenate(
            [order[stop - n : stop] for stop, n in zip(last, counts, strict=True)]
        )
        left = np.ones(len(self), dtype=bool)
        left[taken] = False
        return Kept(({name: _taken(name, a, left) for name, a in self.arrays.items()},))

    def fingerprints(self) -> Keys:
        """A number for every row, by its place, targets and weight."""
        arrays = self.arrays
        numbers = np.column_stack([arrays["targets"], arrays["weights"]]) + 0.0  # no -0.0
        return mixed_in(self.places(), np.ascontiguousarray(numbers.T).view(np.uint64))

    def places(self) -> Keys:
        """The key of every row, or a number by its cells where no keys were kept."""
        arrays = self.arrays
        if "keys" in arrays:
            return arrays["keys"]
        if "inputs" in arrays:  # of a file written when keys were not kept
            return keys_of(arrays["inputs"])
        return mixed_in(np.zeros(len(self), dtype=np.uint64), arrays["cells"])

    def plain(self) -> dict[str, NDArray]:
        """The arrays of all rows, a sparse one as the three that it consists of."""
        found: dict[str, NDArray] = {}
        for name, array in self.arrays.items():
            if sparse.issparse(array):
                found |= {f"{name}.{part}": getattr(array, part) for part in SPARSE}
                found[f"{name}.shape"] = np.array(array.shape)
            else:
                found[name] = array
        return found

    @classmethod
    def from_plain(cls, arrays: dict[str, NDArray]) -> Kept:
        """The rows that `plain` came from."""
        block: Block = {name: a for name, a in arrays.items() if "." not in name}
        for name in {name.split(".")[0] for name in arrays if "." in name}:
            parts = tuple(arrays[f"{name}.{part}"] for part in SPARSE)
            block[name] = sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"]))
        return cls((block,) if block else ())

    @property
    def weight(self) -> float:
        return float(sum(block["weights"].sum() for block in self.blocks))


def _stacked(name: str, parts: list[NDArray]) -> NDArray:
    if any(map(sparse.issparse, parts)):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts, axis=1 if name in LINES else 0)


def _taken(name: str, array: NDArray, rows: NDArray[np.bool_]) -> NDArray:
    return array[:, rows] if name in LINES else array[rows]


@dataclass(frozen=True, eq=False)
class RowKeeping(Statistics):
    """Statistics that keep something of every row: any other row can be added or removed."""

    settled: ClassVar[bool] = False

    kept: Kept

    @property
    def rows(self) -> int:  # type: ignore[override]
        return len(self.kept)

    @property
    def weight(self) -> float:  # type: ignore[override]
        return self.kept.weight

    @property
    def target_variance(self) -> float | None:
        if self.weight <= 0:
            return None
        arrays = self.kept.arrays
        share = arrays["weights"] / arrays["weights"].sum()
        away = arrays["targets"] - share @ arrays["targets"]
        return float((share @ away**2).mean())

    @property
    def size(self) -> int:
        return self.rows

    def check_finite(self) -> None:
        """Rows are kept as they came, and these were looked at."""
