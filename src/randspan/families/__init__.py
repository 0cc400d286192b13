"""How random functions are drawn, and evaluated on one block of rows; one file a family.

A family is a distribution of functions (`base.Family`), drawn functions are frozen
(`base.Functions`). Below them: `randomness` makes every number a pure function of (seed, function),
`rows` hides whether a block is dense or sparse and how it is standardised, `sample` is what a
family may read of the data, `loops` and `hashing` hold the compiled loops.
"""

from ..checks import check_choice
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


def as_family(family: Family | str, others: tuple[str, ...] = ()) -> Family:
    """A family from its name, or the family itself; ``others`` are further names, in messages."""
    if isinstance(family, Family):
        return family
    if isinstance(family, type) and issubclass(family, Family):
        raise ValueError(f"family={family.__name__} is a class: hand in {family.__name__}().")
    check_choice("family", family, (*NAMED, *others), " or a family such as rs.Fourier()")
    return NAMED[family]()


def refuse_scales_on_cube(family: Family) -> None:
    """Say that scales mean nothing to functions on the unit cube."""
    if family.on_cube:
        raise ValueError(
            f"{family!r} maps the range of every column to the unit interval, where scales mean "
            "nothing: leave scales=None."
        )


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
    "as_family",
    "estimate_kernel",
    "refuse_scales_on_cube",
]
