"""The frame of a fit: read from rows, with learned scales if asked for, or given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import check_choice, check_standardize
from ..engines import Engine
from ..families import Family, Fourier, Projections, refuse_scales_on_cube
from ..families.shared.randomness import seed_from
from ..families.shared.sample import column_range
from ..frame import AT_ONCE, Frame, Reading
from ..solvers import Task
from ..sources import Source
from ..text import warn
from . import few_rows, learning, noise_free
from .few_rows import Evidence

# What "fourier" may mean where targets are at hand, by tables over many sets (docs/default.md):
# scales are learned with the first, and left-out errors choose among them.
KERNELS = ("matern32", "matern12", "laplacian")
# Without noise, or of few rows, whose kernels are quickly looked at, these as well.
SMOOTH = ("matern52", "gaussian")
# Fewer rows say too little of the columns.
FEW_ROWS = 10


@dataclass(frozen=True)
class Wanted:
    """What a frame is for: parameters of an estimator.

    ``family`` is None where it was left out, ``frame`` where rows are to be read; ``scales`` are
    None, "auto", "learn", "rotate" or one number for every column. ``named`` says that "fourier" is
    all that is known of the family, ``free`` that the number of functions was left to us. A
    ``seed`` is what ``random_state`` came to, where it was asked already.
    """

    family: Family | None
    frame: Any
    n_components: float | None
    standardize: Any
    scales: Any
    random_state: Any
    named: bool = False
    free: bool = False
    seed: int | None = None


def obtained(
    wanted: Wanted,
    frame: Frame | None,
    source: Source,
    task: Task,
    engine: Engine,
    classes: bool,
    streaming: bool,
) -> tuple[Frame, Evidence | None]:
    """The frame that was `given`, or that of these rows, with functions that were trained.

    And what few rows say of a model that was chosen by them.
    """
    evidence = None
    if frame is None:
        standardize = check_standardize(wanted.standardize)
        frame, evidence = _read(wanted, standardize, source, task, engine, classes, streaming)
    if not frame.family.trains or frame.n_components == np.inf:
        return frame, evidence
    progress = engine.progress(int(frame.n_components), "functions learn")
    return frame.trained_on(source, classes, engine.threads, progress), None


def _read(
    wanted: Wanted,
    standardize: bool | str,
    source: Source,
    task: Task,
    engine: Engine,
    classes: bool,
    streaming: bool,
) -> tuple[Frame, Evidence | None]:
    laws, k, scales = _laws(wanted, source.encoded is not None), wanted.n_components, wanted.scales
    family = laws[0]
    seed = seed_from(wanted.random_state) if wanted.seed is None else wanted.seed
    reading = reading_of(source, family.rows_wanted(k), seed)
    if not isinstance(scales, str):
        return reading.frame(family, k, standardize, scales, more=streaming), None
    choices = ("auto", "learn", "rotate")
    check_choice("scales", scales, choices, ", None or one number for every column")
    turning, cautious = scales == "rotate", scales == "auto"
    if cautious and not learning_bytes(wanted, source, task, engine):
        return reading.frame(family, k, standardize, more=streaming), None
    refuse_scales_on_cube(family)
    if source.encoded is None:
        raise ValueError(f"scales={scales!r} learns from targets: hand in y as well.")
    reason = learning.refusal(family, turning, source.n_features)
    if reason:
        raise ValueError(reason)

    def law(family: Family) -> learning.Law:
        plain = reading.frame(family, k, standardize, more=streaming)

        def framed(scales, rotation) -> Frame:
            known = (scales, rotation, plain.family, streaming)
            return reading.frame(family, k, standardize, *known)

        return learning.Law(plain, framed)

    if cautious and not wanted.free:
        return learning.learned_briefly(law(family), source, task, engine), None
    every = [law(f) for f in laws]
    if not turning:

        def smooth() -> list[learning.Law]:
            return [law(Fourier(kernel)) for kernel in SMOOTH if len(laws) > 1]

        found = noise_free.ranked(every, source, task, engine, smooth)
        if found:
            return found[0][2], None
        if few_rows.suits(every, source):
            # What a stream begins with says little of what comes, and a line would never bend.
            straight = len(laws) > 1 and k == np.inf and task.intercept and not streaming

            def linear(scale: float) -> Frame:
                return reading.frame(Projections(scale=scale), k, standardize)

            known = (source, cautious, task, engine, classes)
            return few_rows.learned([*every, *smooth()], linear if straight else None, *known)
    return learning.learned(every, source, turning, cautious, task, engine), None


def learning_bytes(wanted: Wanted, source: Source, task: Task, engine: Engine) -> int:
    """What learning scales will take, 0 where they are not learned.

    Refuses what is asked for and not granted; where nobody has asked, scales are then equal.
    """
    if wanted.frame is not None or not isinstance(wanted.scales, str) or source.encoded is None:
        return 0
    cautious, family = wanted.scales == "auto", _laws(wanted, True)[0]
    if cautious and not _unasked(wanted, family, source, task):
        return 0
    if learning.refusal(family, wanted.scales == "rotate", source.n_features):
        return 0  # said elsewhere
    if cautious and not wanted.free:
        return learning.needed_briefly(source, task, engine)
    try:
        return learning.needed(family, wanted.n_components, source, task, engine)
    except MemoryError:
        if cautious:
            return 0
        raise


def _unasked(wanted: Wanted, family: Family, source: Source, task: Task) -> bool:
    """Whether scales are learned where nobody has asked for them.

    With a number of functions that is wherever the fit itself takes several times as long.
    """
    if not family.gamma_is_open or family.sparse or source.n_features > learning.MOST_LEARNED:
        return False
    k = wanted.n_components
    return wanted.free or (k is not None and learning.pays_briefly(k, source, task))


def reading_of(source: Source, wanted: int, seed: int) -> Reading:
    """What frames of these rows are made from, ``wanted`` of the rows among it."""
    # Rows of one key are one row where nothing but their inputs has a part in them.
    made_of = source.columns
    if made_of is not None and made_of.copies:
        source = replace(source, known_keys=None)
    return Reading.of([source], wanted, seed, made_of)


def _laws(wanted: Wanted, targets: bool) -> list[Family]:
    """The families that may be drawn from; what "fourier" means is decided where targets are."""
    if targets and wanted.named and wanted.free and isinstance(wanted.scales, str):
        return [Fourier(kernel) for kernel in KERNELS]
    return [wanted.family or Fourier()]


def given(wanted: Wanted, source: Source) -> Frame | None:
    """The frame that was handed in, with as many functions and the seed that are asked for."""
    frame, family = wanted.frame, wanted.family
    if frame is None:
        return None
    if not isinstance(frame, Frame):
        raise TypeError(f"frame must be another model's frame_ or None, got {frame!r}.")
    if frame.n_features != source.n_features:
        raise ValueError(
            f"The frame was read from {frame.n_features} columns, X has {source.n_features}."
        )
    asked = wanted.scales is not None and not isinstance(wanted.scales, str)
    if asked or wanted.scales in ("learn", "rotate"):
        raise ValueError(
            "A frame has its scales already: leave scales=None, or read another frame."
        )
    linear = wanted.named and isinstance(frame.family, Projections)  # which few rows may choose
    if family is not None and not linear:
        kinds, held = ([type(part) for part in f.parts_of_union()] for f in (family, frame.family))
        if kinds != held:
            raise ValueError(
                f"The frame holds {frame.family!r}, the model asks for {family!r}: leave family "
                "out, or read another frame."
            )
    if wanted.n_components is not None:
        frame = frame.with_components(wanted.n_components)
    frame = replace(frame, ridge=None)  # found for the targets of that model
    # Without a random_state of its own a model repeats the frame's draw.
    if wanted.random_state is not None:
        frame = frame.with_seed(seed_from(wanted.random_state))
    if source.encoded is not None:
        check_learned(frame, source.n_targets)
    return frame


def refuse_other_functions(n_components: Any, frame: Frame) -> None:
    """Refuse to add to a model whose functions are not as many as are asked for by now."""
    if n_components not in (None, frame.n_components):
        raise ValueError(
            f"n_components={n_components!r} was set after this model was started with "
            f"{frame.n_components} functions, which cannot be changed any more: set it back, or "
            "fit anew."
        )


def warn_of_few_rows(source: Source, standardize: bool | str) -> None:
    """A stream goes on with what its first rows say of the columns."""
    present = source.without_absent()
    constant = n_constant(present) if standardize else 0
    if constant or present.n_rows < FEW_ROWS:
        warn(
            "The frame of a stream (centre and scale of every column, bandwidth, range) is read "
            f"from its first rows: {present.n_rows} row(s), with {constant} constant column(s) of "
            f"{source.n_features}; a constant column keeps the scale 1. Begin with a larger block, "
            "or hand in frame=rs.Frame.read(blocks, family, n_components).",
        )


def n_constant(source: Source) -> int:
    """How many columns have one value only."""
    step = max(1024, AT_ONCE // source.n_features)
    lower, upper = np.array([column_range(block.X) for block in source.blocks(step)]).swapaxes(0, 1)
    return int((lower.min(axis=0) == upper.max(axis=0)).sum())


def check_learned(frame: Frame, n_targets: int) -> None:
    """Refuse functions that have learned to predict another number of targets."""
    if frame.trained is None:
        return
    out_of_bag = frame.trained.out_of_bag
    learned = frame.trained.n_targets if out_of_bag is None else out_of_bag.n_targets
    if learned and learned != n_targets:
        raise ValueError(
            f"The functions of this frame have learned {learned} target column(s), y has "
            f"{n_targets}: fit without frame=."
        )
