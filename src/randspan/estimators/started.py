"""What a model was started with: parameters that its functions and sums were made by.

Rows that come or go later go through the same functions, in the same precision and at the same
weights. Other parameters (alpha, a box, a clip, memory, threads) may change in mid-stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..checks import check_dtype
from ..equality import same
from ..families import as_family
from ..frame import Frame

if TYPE_CHECKING:
    from .parameters import OfFamily


def parameters(estimator: OfFamily) -> dict[str, Any]:
    """The parameters that are fixed from now on."""
    auto = isinstance(estimator.family, str) and estimator.family == "auto"
    names = [name for name in estimator._fixed if name != "effort" or auto]
    return {name: _value(name, getattr(estimator, name)) for name in names}


def changed(estimator: OfFamily) -> list[str]:
    """Which of them are others by now; none of a model that does not know."""
    known = vars(estimator).get("_started")
    if known is None:
        return []
    now = parameters(estimator)
    return [name for name in now if name not in known or not same(now[name], known[name])]


def kinds(estimator: OfFamily) -> tuple[Any, Any]:
    """``categories`` and ``columns``: what was set later does not change how rows are read."""
    now, known = (estimator.categories, estimator.columns), vars(estimator).get("_started")
    names = ("categories", "columns")
    if known is None or all(
        n in known and same(v, known[n]) for n, v in zip(names, now, strict=True)
    ):
        return now
    columns = estimator.frame_.columns
    return (None if columns is None else columns.categories), None


def refuse_changes(estimator: OfFamily, frame: Frame) -> None:
    """Refuse to go on with other parameters, which would have no effect.

    ``frame`` is the model's: setting it, or its number of functions, is no change.
    """
    for name in changed(estimator):
        value = getattr(estimator, name)
        if isinstance(value, Frame) and value.same_as(frame):
            continue
        if name == "n_components" and value in ("auto", frame.n_components):
            continue
        known = estimator._started
        shown = "with another value"
        if name in known and name not in ("family", "frame"):
            shown = f"with {known[name]!r}"
        given = "another frame" if name == "frame" else f"{name}={value!r}"
        raise ValueError(
            f"{given} was set after this model was started {shown}, which cannot be changed any "
            "more: set it back, or fit anew."
        )


def _value(name: str, value: Any) -> Any:
    if name == "dtype":
        return check_dtype(value)
    if name == "family" and isinstance(value, str) and value not in ("auto", "fourier"):
        return _parts(as_family(value))
    return _parts(value)


def _parts(value: Any) -> Any:
    """Parameters by themselves: a family may be changed in place (``family__gamma=2``)."""
    if isinstance(value, (list, tuple)):
        return [_parts(one) for one in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        own, kind = value.get_params(deep=False), type(value)
        named = f"{kind.__module__}.{kind.__qualname__}"
        return named, {name: _parts(one) for name, one in own.items()}
    return value
