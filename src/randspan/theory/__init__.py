"""What is known of random functions before a fit, and what is guaranteed after it.

The inequalities stand in one module a document, each a function of plain numbers named after the
result: `ua` and `rks` (Rahimi and Recht 2008), `rhss` (Cao and Lan 2022), `bsw` (Maillard and Munos
2010). They take and return numbers (or arrays of them), refuse where a condition fails, and warn
with `VacuousBound` where they hold but say nothing. Misprints of the documents are corrected, and
named where they were.

`how_many` turns them round: how many functions for a wanted error. `guarantees` says what they mean
for a family or a fitted model: `constants`, `certify`, `kernel_error`, norms and complexities.
"""

from . import bsw, grassmannian, rhss, rks, ua
from .certificate import Certificate
from .conditions import VacuousBound
from .guarantees import (
    Constants,
    KernelError,
    certify,
    complexity,
    constants,
    kernel_error,
    mixture_norm,
    rkhs_norm,
)
from .how_many import HowMany, how_many
from .intervals import clopper_pearson, empirical_bernstein
from .kernels import effective_dimension, function_leverage, functions_needed, row_leverage

__all__ = [
    "Certificate",
    "Constants",
    "HowMany",
    "KernelError",
    "VacuousBound",
    "bsw",
    "certify",
    "clopper_pearson",
    "complexity",
    "constants",
    "effective_dimension",
    "empirical_bernstein",
    "function_leverage",
    "functions_needed",
    "grassmannian",
    "how_many",
    "kernel_error",
    "mixture_norm",
    "rhss",
    "rkhs_norm",
    "rks",
    "row_leverage",
    "ua",
]
