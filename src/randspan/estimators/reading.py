"""The frame of an estimator's rows: read, and with learned scales where these are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..engines import cpu
from ..families import Family
from ..families.bags import Training
from ..families.base import check_choice
from ..families.randomness import seed_from
from ..frame import Frame, Reading, as_family, refuse_scales_on_cube
from . import scaling
from .fitting import Settings, Targets
from .progress import Progress


def read_frame(
    estimator, X, weights, n_components, targets: Targets | None, settings: Settings
) -> Frame:
    """The frame of all rows of X, by the parameters of an estimator."""
    scales, family = estimator.scales, as_family(estimator.family)
    step, standardize = 8192, estimator.standardize
    blocks = (
        (X[s : s + step], None if weights is None else weights[s : s + step])
        for s in range(0, X.shape[0], step)
    )
    seed = seed_from(estimator.random_state)
    reading = Reading.of(blocks, family.rows_wanted(n_components), seed)
    if not isinstance(scales, str):
        return reading.frame(family, n_components, standardize, scales)
    refuse_scales_on_cube(family)
    check_choice("scales", scales, ("learn", "rotate"), ", None or one number for every column")
    if targets is None:
        raise ValueError(f"scales={scales!r} learns from targets: hand in y as well.")
    plain = reading.frame(family, n_components, standardize)

    def framed(family: Family, scales, rotation) -> Frame:
        return reading.frame(family, n_components, standardize, scales, rotation)

    turning = scales == "rotate"
    return scaling.learned(family, plain, framed, X, targets, weights, turning, settings)


def grown(
    frame: Frame, X, targets: Targets | None, weights, classes: bool, settings: Settings
) -> Frame:
    """The frame with its functions, where these are learned from rows."""
    if not frame.family.grows or frame.grown is not None or frame.n_components == np.inf:
        return frame
    k = int(frame.n_components)
    training = Training(
        frame.rows(X, np.float64),
        None if targets is None else targets(slice(0, X.shape[0])),
        weights,
        classes,
        cpu.n_threads(settings.n_jobs),
        Progress(settings.verbose, k, f"randspan: {k} functions learn"),
    )
    return replace(frame, grown=frame.family.grow(training, k, frame.seed))
