"""The frame of a fit: read from rows, with learned scales where these are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engines import Engine
from ..families import Family
from ..families.checks import check_choice
from ..frame import Frame, Reading, refuse_scales_on_cube
from ..solvers import Task
from ..sources import Source
from . import learning

# Rows that are read at once.
STEP = 8192


@dataclass(frozen=True)
class Wanted:
    """What a frame is read for: parameters of an estimator.

    ``scales`` are None, "learn", "rotate" or one number for every column.
    """

    family: Family
    n_components: float | None
    standardize: bool
    scales: Any
    seed: int


def read(wanted: Wanted, source: Source, task: Task, engine: Engine) -> Frame:
    """The frame of all rows."""
    family, k, scales = wanted.family, wanted.n_components, wanted.scales
    slices = (slice(s, s + STEP) for s in range(0, source.n_rows, STEP))
    blocks = ((source.X[rows], source.weights_of(rows)) for rows in slices)
    reading = Reading.of(blocks, family.rows_wanted(k), wanted.seed)
    if not isinstance(scales, str):
        return reading.frame(family, k, wanted.standardize, scales)
    refuse_scales_on_cube(family)
    check_choice("scales", scales, ("learn", "rotate"), ", None or one number for every column")
    if source.encoded is None:
        raise ValueError(f"scales={scales!r} learns from targets: hand in y as well.")
    plain = reading.frame(family, k, wanted.standardize)

    def framed(family: Family, scales, rotation) -> Frame:
        return reading.frame(family, k, wanted.standardize, scales, rotation)

    return learning.learned(family, plain, framed, source, scales == "rotate", task, engine)
