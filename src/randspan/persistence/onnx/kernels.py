"""Kernel expansions and exact kernel machines.

Kernel machines are computed in float64 in both modes, as the library does: weights may be large.
"""

from __future__ import annotations

import numpy as np

from ...families.expansions import ExpansionFunctions
from ...families.shared.kernel_columns import KernelColumns
from .closed_forms import closed_form, kernel_terms
from .functions import Sums, exports
from .graph import FLOAT64


@exports(ExpansionFunctions)
class ExpansionExporter(Sums):
    """Σ_i β_i k(x_i, x): the kernel at the anchors, and coefficients that are folded away."""

    def terms(self, rows, functions):
        if functions.family._nystrom:  # K_ZZ^{-1/2} makes much of rounding errors
            rows = rows.cast(FLOAT64)
        kernel, anchors = functions.kernel_of_anchors, functions.anchors
        found = kernel_terms(rows, kernel, anchors, functions.family)
        return [term.times(functions.coefficients.T) for term in found]


@exports(KernelColumns)
class KernelMachineExporter(Sums):
    """k(x, x_i) of all training rows x_i."""

    def terms(self, rows, functions):
        train = functions.train.cast(np.float64).dense
        return closed_form(rows.cast(FLOAT64), functions.family, train)
