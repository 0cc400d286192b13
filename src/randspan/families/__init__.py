"""How random functions are drawn, and evaluated on one block of rows; one file a family.

A family is a distribution of functions (`base.Family`), drawn functions are frozen
(`base.Functions`). Below them: `randomness` makes every number a pure function of (seed, function),
`rows` hides whether a block is dense or sparse and how it is standardised, `sample` is what a
family may read of the data, `loops` and `hashing` hold the compiled loops.
"""

from .base import Family, estimate_kernel
from .bins import Bins
from .bumps import Bumps
from .dictionary import Dictionary, Mercer
from .expansions import KernelExpansions
from .fourier import Fourier
from .functions import Functions
from .hypotheses import Hypotheses
from .images import Images
from .networks import Networks
from .projections import Projections
from .sheets import BrownianSheets
from .stumps import Stumps
from .trees import Trees
from .union import Union
from .units import Units
from .wavelets import ScrambledWavelets

#: Families by the names that estimators accept in place of an object.
NAMED: dict[str, type[Family]] = {
    "fourier": Fourier,
    "stumps": Stumps,
    "units": Units,
    "bins": Bins,
    "bumps": Bumps,
    "kernelexpansions": KernelExpansions,
    "networks": Networks,
    "projections": Projections,
    "trees": Trees,
    "browniansheets": BrownianSheets,
    "scrambledwavelets": ScrambledWavelets,
}

__all__ = [
    "NAMED",
    "Bins",
    "BrownianSheets",
    "Bumps",
    "Dictionary",
    "Family",
    "Fourier",
    "Functions",
    "Hypotheses",
    "Images",
    "KernelExpansions",
    "Mercer",
    "Networks",
    "Projections",
    "ScrambledWavelets",
    "Stumps",
    "Trees",
    "Union",
    "Units",
    "estimate_kernel",
]
