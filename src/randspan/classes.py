"""Classes as targets: a column of ±1 for each, one column for two, and back again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from .sources import Array, Targets


@dataclass(frozen=True, eq=False)
class Classes:
    """The labels, sorted, and what the rows of each weigh beside their sample weights."""

    labels: NDArray
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, y: NDArray, labels: Any, class_weight: Any, streaming: bool) -> Classes:
        """The classes of y, or ``labels`` where others may come later."""
        found = np.unique(y) if labels is None else np.unique(labels)
        if len(found) < 2:
            raise ValueError(
                f"y holds one class only ({found[0]!r}); a classifier needs at least two classes "
                "(to stream, name them all in the first call: classes=[...])."
            )
        if isinstance(class_weight, str) and streaming:
            raise ValueError(
                "class_weight='balanced' needs to see all rows before the first one is weighted: "
                "use fit, or hand in a dictionary."
            )
        weights = compute_class_weight(class_weight, classes=found, y=y)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            raise ValueError(
                f"class_weight must be numbers >= 0, got {weights[wrong][0]:g} for class "
                f"{found[wrong][0]!r}."
            )
        return cls(found, weights)

    @property
    def n_targets(self) -> int:
        return 1 if len(self.labels) == 2 else len(self.labels)

    def columns(self, y: NDArray) -> Targets:
        """Rows of y as columns of ±1, slice by slice."""
        unknown = np.setdiff1d(y, self.labels)
        if len(unknown):
            raise ValueError(
                f"y holds classes the model was not started with: {unknown[:5].tolist()}. Name all "
                "classes in the first call of partial_fit (classes=[...]), or fit anew."
            )
        positive = self.labels[1:] if len(self.labels) == 2 else self.labels
        return lambda rows: np.where(y[rows, None] == positive, 1.0, -1.0)

    def refuse_others(self, labels: Any) -> None:
        """Say that classes are fixed by the first call."""
        if not np.array_equal(np.unique(labels), self.labels):
            raise ValueError(
                f"classes={labels!r} differ from those of the first call, {self.labels!r}."
            )

    def weights_of(self, y: NDArray) -> Array:
        """The class weight of every row."""
        return self.weights[np.searchsorted(self.labels, y)]

    def decided(self, scores: Array) -> NDArray:
        """The class with the largest score; of two classes, by the sign of their one score."""
        if scores.shape[1] == 1:
            return self.labels[(scores[:, 0] > 0).astype(np.intp)]
        return self.labels[scores.argmax(axis=1)]
