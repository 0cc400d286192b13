"""Parameters that estimators share, checked: what was wrong, and what to hand in instead."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight

from ..checks import HEAVIEST, check_keywords, check_size
from ..families import as_family
from ..families.functions import OUTSIDE
from ..frame import Frame
from ..reach import FAR
from ..sources import Source
from ..text import warn
from ..tuning import frames

#: The default family. It is an object of its own, so that a family that was left out, and gives way
#: to that of a frame, can be told from "fourier" in a call; `clone` does not copy strings.
FOURIER = str(b"fourier", "ascii")


#: The default of ``clip``, of its own for the same reason: functions that grow
#: without limit must extrapolate, unless somebody asks for a clip.
AUTO = str(b"auto", "ascii")
DEFAULTS = {"family": FOURIER, "clip": AUTO}


def is_auto(family) -> bool:
    """Whether the family is left to us."""
    return isinstance(family, str) and family == "auto"


class OfFamily(BaseEstimator):
    """An estimator with a parameter ``family``, which may be a name, and ``frame``."""

    #: parameters that cannot change once rows are in a model (`started`)
    _fixed: tuple[str, ...] = (
        *("family", "standardize", "scales", "categories", "columns", "frame", "random_state"),
    )
    _started: dict[str, Any]
    #: names that ``family`` may have besides those of families
    _portfolio: tuple[str, ...] = ()

    def __new__(cls, *args, **kwargs) -> Self:
        check_keywords(cls, args, kwargs)
        return super().__new__(cls)

    def set_params(self, **params):
        """Set parameters; those of a family that was given by its name make it a family.

        Parameters
        ----------
        **params
            As everywhere in scikit-learn: ``family__gamma=1.0`` sets a parameter of the family.
        """
        family = params.get("family", self.family)
        if isinstance(family, str) and any(name.startswith("family__") for name in params):
            super().set_params(family=as_family(family))
            params.pop("family", None)
        return super().set_params(**params)

    def save(self, path, *, statistics=True, functions=True) -> None:
        """Write this estimator to a file without pickle: ``randspan.save(self, path)``.

        Parameters
        ----------
        path, statistics, functions
            As for `randspan.save`; `randspan.load` reads it.
        """
        from ..persistence import save  # here, because it stands above estimators

        save(self, path, statistics=statistics, functions=functions)

    def __getstate__(self):
        state = super().__getstate__()
        default = [name for name, value in DEFAULTS.items() if state.get(name) is value]
        return state | {"_default": default}

    def __setstate__(self, state):
        default = state.get("_default", [])
        known = {name: DEFAULTS[name] for name in default}
        super().__setstate__({n: v for n, v in state.items() if n != "_default"} | known)

    def _wanted(self, n_components: float | None) -> frames.Wanted:
        """What the frame is to be."""
        open_family = self.family is FOURIER or is_auto(self.family)
        family = None if open_family else as_family(self.family, self._portfolio)
        scales, state = self.scales, self.random_state
        named, free = (
            isinstance(value, str) and value == name
            for value, name in ((self.family, "fourier"), (self.n_components, "auto"))
        )
        given = (family, self.frame, n_components, self.standardize, scales, state, named, free)
        return frames.Wanted(*given)


# Newer versions refuse weights that are all zero, which a block of a stream may have.
ZEROS_TOO = "allow_all_zero_weights"
ALLOWED = {ZEROS_TOO: True} if ZEROS_TOO in signature(_check_sample_weight).parameters else {}


def check_weights(sample_weight, X) -> NDArray[np.float64] | None:
    """Non-negative weights, or None."""
    if sample_weight is None:
        return None
    checks = {"dtype": np.float64, "ensure_non_negative": True} | ALLOWED
    weights = _check_sample_weight(sample_weight, X, **checks)
    check_size("sample_weight", weights, HEAVIEST)
    return weights


def refuse_nothing(source: Source) -> None:
    """Refuse to begin with rows that are all of weight 0."""
    if not source.present:
        raise ValueError(
            "There is no row with a positive weight: sample_weight (times class_weight) must not "
            "be zero in all rows of a fit, nor in all of the first block of a stream, unless "
            "frame= is given."
        )


def warn_moved(frame: Frame, X) -> None:
    """Columns that never changed in training say nothing, and are not looked at."""
    moved = frame.n_moved(X)
    if moved:
        warn(
            f"{moved} column(s) that had one value only in the training data have others now: "
            "nothing is known of what these mean, and they are ignored.",
        )


def warn_outside(found: int, n_rows: int) -> None:
    """Rows beyond the range that functions were drawn for are clipped to it."""
    if found:
        warn(OUTSIDE.format(found, n_rows))


def warn_far(found: int, n_rows: int) -> None:
    """Rows far outside of the training data are predicted by what was assumed before any data."""
    if found:
        warn(
            f"{found} of {n_rows} rows lie far outside of the training data: their leverage is "
            f"more than {FAR:g} times that of any training row left out. Predictions there "
            "extrapolate; predict_interval tells how far they may be off.",
        )
