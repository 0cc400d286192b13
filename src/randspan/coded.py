"""Rows as the cells they fall into: what a model of indicators keeps of its training data.

A row is P small numbers, its targets and its weight; everything that is fitted to indicators of
cells follows from these, exactly. Dense functions beside them (a union) need the inputs as well,
and these are then kept too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families.rows import fingerprints, mixed_in

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows in blocks, in the order they came.

    Attributes
    ----------
    codes : list of ndarray of shape (n_grids, n_rows)
        The cell of every row in every grid.
    inputs : list of ndarray or sparse matrix, or list of None
        X, where dense functions are to be evaluated again.
    targets : list of ndarray of shape (n_rows, n_targets)
    weights : list of ndarray of shape (n_rows,)
    keys : list of ndarray of shape (n_rows,), or list of None
        What rows are known by again where cells have learned from some (`bags.row_keys`).
    """

    codes: list[NDArray[np.int32]]
    inputs: list[Any]
    targets: list[Array]
    weights: list[Array]
    keys: list[Any]

    @classmethod
    def none(cls) -> CodedRows:
        return cls([], [], [], [], [])

    def __add__(self, other: CodedRows) -> CodedRows:
        return CodedRows(
            self.codes + other.codes,
            self.inputs + other.inputs,
            self.targets + other.targets,
            self.weights + other.weights,
            self.keys + other.keys,
        )

    def __len__(self) -> int:
        return sum(map(len, self.weights))

    def joined(self) -> CodedRows:
        """The same rows in one block."""
        if len(self.weights) <= 1:
            return self
        inputs = None
        if any(map(sparse.issparse, self.inputs)):
            inputs = sparse.vstack([sparse.csr_array(part) for part in self.inputs], format="csr")
        elif self.inputs[0] is not None:
            inputs = np.concatenate(self.inputs)
        return CodedRows(
            [np.concatenate(self.codes, axis=1)],
            [inputs],
            [np.concatenate(self.targets)],
            [np.concatenate(self.weights)],
            [None if self.keys[0] is None else np.concatenate(self.keys)],
        )

    def without(self, gone: CodedRows) -> CodedRows:
        """The rows that are left when each of ``gone`` takes one like it away."""
        held, gone = self.joined(), gone.joined()
        if not len(gone):
            return held
        mine, theirs = held._fingerprints(), gone._fingerprints()
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
        left = np.ones(len(held), dtype=bool)
        left[taken] = False
        [codes], [inputs], [targets] = held.codes, held.inputs, held.targets
        [weights], [keys] = held.weights, held.keys
        kept, known = (None if part is None else part[left] for part in (inputs, keys))
        return CodedRows([codes[:, left]], [kept], [targets[left]], [weights[left]], [known])

    def _fingerprints(self) -> NDArray[np.uint64]:
        """A number for every row, by its codes, inputs (where kept), targets and weight."""
        numbers = np.column_stack([self.targets[0], self.weights[0]]) + 0.0  # no -0.0
        return mixed_in(self._places(), np.ascontiguousarray(numbers.T).view(np.uint64))

    def _places(self) -> NDArray[np.uint64]:
        """A number for every row, by its codes and inputs."""
        [codes], [inputs] = self.codes, self.inputs
        if inputs is not None:
            return fingerprints(inputs)
        return mixed_in(np.zeros(codes.shape[1], dtype=np.uint64), codes)

    def distinct(self) -> int:
        """How many different rows there are, targets apart."""
        return len(np.unique(self._places()))
