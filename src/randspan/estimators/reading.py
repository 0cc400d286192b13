"""The frame of an estimator's rows: read, and with learned scales where these are asked for."""

from __future__ import annotations

from ..families import Family
from ..families.base import check_choice
from ..families.randomness import seed_from
from ..frame import Frame, Reading, as_family
from . import scaling
from .fitting import Settings, Targets


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
    reading = Reading.of(blocks, n_components, seed_from(estimator.random_state))
    if not isinstance(scales, str):
        return reading.frame(family, n_components, standardize, scales)
    check_choice("scales", scales, ("learn", "rotate"), ", None or one number for every column")
    if targets is None:
        raise ValueError(f"scales={scales!r} learns from targets: hand in y as well.")
    plain = reading.frame(family, n_components, standardize)

    def framed(family: Family, scales, rotation) -> Frame:
        return reading.frame(family, n_components, standardize, scales, rotation)

    turning = scales == "rotate"
    return scaling.learned(family, plain, framed, X, targets, weights, turning, settings)
