"""What cannot be stored, and what to do instead."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..families import Family, Functions
from ..families.hypotheses import Hypothesis, HypothesisFunctions

SKOPS = "skops (skops.io.dump) stores scikit-learn's objects without pickle"


def refused(value: Any, where: str, wanted: str = "") -> TypeError:
    """Why a value has no place in a file, and what to do."""
    if isinstance(value, (list, tuple)):  # the entry that is the reason, if one is
        named = (one for one in value if isinstance(one, (Family, Functions)) or callable(one))
        value = next(named, value)
    at = f" ({where})" if where else ""
    kind = type(value).__name__
    if isinstance(value, (Hypothesis, HypothesisFunctions)):
        what = f"the {type(_predictor(value)).__name__} of a hypothesis"
        return TypeError(
            f"Cannot store {what}{at}: predictors that were drawn or fitted by Hypotheses are "
            f"objects of other libraries. {SKOPS}."
        )
    if isinstance(value, Family):
        return TypeError(
            f"Cannot store a {kind}{at}: files hold families of randspan, without unions inside "
            "unions (join families with +), and no family of one's own."
        )
    if isinstance(value, Functions):
        return TypeError(f"Cannot store {kind}{at}: files hold functions of randspan's families.")
    if where == "hypotheses.sampler":
        return TypeError(
            f"Cannot store a {kind}{at}: an estimator inside Hypotheses is an object of another "
            f"library. {SKOPS}."
        )
    if isinstance(value, BaseEstimator) and hasattr(value, "fit"):
        return TypeError(
            f"Cannot store a {kind}{at}: files hold estimators of randspan, not pipelines or other "
            f"libraries' estimators. {SKOPS}; or save the randspan step alone."
        )
    if callable(value):
        return TypeError(
            f"Cannot store {value!r}{at}: functions of your own are stored by their name, and this "
            "one has none that could be told again. Write it as a named function (def name(...)), "
            'and hand it in when the file is read: rs.load(path, functions={"name": name}).'
        )
    told = f"; files have a place for {wanted}" if wanted else ""
    return TypeError(f"Cannot store {_shown(value)}{at}{told}.")


def _predictor(value: Any) -> Any:
    if isinstance(value, HypothesisFunctions):
        value = value.hypotheses[0] if value.hypotheses else value
    return getattr(value, "predictor", value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
