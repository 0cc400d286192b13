"""Parameters, checked: what was wrong, and what to hand in instead."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from difflib import get_close_matches
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def check_n_components(n_components, name: str = "n_components") -> None:
    """Refuse anything but a positive whole number."""
    if not is_count(n_components):
        raise ValueError(f"{name} must be a positive whole number, got {n_components!r}.")


def is_count(value) -> bool:
    """Whether this is a positive whole number."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and value > 0


def check_positive(name: str, value, n_features: int | None = None) -> NDArray[np.float64]:
    """One positive number, or one for every column."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim > 1 or not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive, one number or one per column; got {value!r}.")
    if array.ndim == 1 and n_features is not None and len(array) != n_features:
        raise ValueError(f"{name} has {len(array)} entries, X has {n_features} columns.")
    return array


def check_choice(name: str, value, choices, otherwise: str = "") -> None:
    """Refuse a name that is none of ``choices``, and say which there are."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name} must be one of {known}{otherwise}; got {value!r}.{nearest(value, choices)}"
        )


def chosen(
    name: str, value, choices: Iterable[str], others: dict[str, str], otherwise: str = ""
) -> str:
    """One of ``choices``, or what another name for one of them stands for."""
    check_choice(name, value, (*choices, *others), otherwise)
    return others.get(value, value)


def nearest(value, known: Iterable[str]) -> str:
    """A question that ends a message, where a name is nearly one of those that are known."""
    found = get_close_matches(value.lower(), known, 1) if isinstance(value, str) else []
    return f" Did you mean {found[0]!r}?" if found else ""


def check_keywords(cls: type, args: tuple, kwargs: dict) -> None:
    """Refuse arguments that a class has no parameters for, by its name and theirs."""
    if not args and not kwargs:
        return
    made: Any = cls.__init__  # type: ignore[misc]
    own = [] if made is object.__init__ else list(signature(made).parameters.values())[1:]
    if any(one.kind is Parameter.VAR_KEYWORD for one in own):
        return
    names = [one.name for one in own]
    for name in kwargs:
        if name not in names:
            taken = f"it takes {', '.join(names)}" if names else "it takes none"
            raise TypeError(
                f"{cls.__name__} has no parameter {name!r}; {taken}.{nearest(name, names)}"
            )
    places = [one.name for one in own if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(places) and not any(one.kind is Parameter.VAR_POSITIONAL for one in own):
        raise TypeError(
            f"{cls.__name__} takes {len(places)} argument(s) without a name "
            f"({', '.join(places)}), got {len(args)}: hand in the others by name."
        )


def check_path(name: str, value) -> str:
    """The path of a file as text, from whatever `os.fspath` takes."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(
            f"{name} must be a str, bytes or os.PathLike, or an open binary file, got {value!r}."
        )
    path = os.fsdecode(value)
    if "\0" in path:
        raise ValueError(f"{name} must not hold the character 0, got {value!r}.")
    return path


def check_file(name: str, value, verb: str) -> Any:
    """A binary file that is open, to "read" or "write"; None where it is something else."""
    if isinstance(value, (str, bytes, os.PathLike)) or not callable(getattr(value, verb, None)):
        return None
    if isinstance(value, io.TextIOBase):
        mode = "rb" if verb == "read" else "wb"
        raise TypeError(f"{name} is a file of text, got {value!r}: open it with mode {mode!r}.")
    return value


def check_number(name: str, value, at_least: float = -np.inf) -> float:
    """One finite real number, not below ``at_least``."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least:g}, got {value!r}.")
    return number


#: numbers beyond this have squares, and products with weights, that are no numbers any more
LARGEST, HEAVIEST = 1e75, 1e50


def check_size(name: str, values, largest: float = LARGEST, learned: bool = True) -> float:
    """Refuse numbers whose squares are infinite, or, if they are ``learned`` from, all vanish.

    The largest size, nan where something is missing.
    """
    stored = values.data if sparse.issparse(values) else values
    if not stored.size or stored.dtype.kind not in "fiu":
        return 0.0
    size = float(max(abs(float(stored.max())), abs(float(stored.min()))))
    if learned and 0 < size < 1 / largest:
        raise ValueError(
            f"{name} is at most {size:.2g}, which is next to nothing: squares of it vanish. Divide "
            "by its mean size."
        )
    if size > largest:
        raise ValueError(
            f"{name} has values as large as {size:.2g}, whose squares are beyond all numbers: "
            f"divide by about as much, so that they stay below {largest:g}."
        )
    return size


def check_bound(bound) -> float:
    """C of the box, a positive number."""
    number = check_number("bound", bound)
    if number <= 0:
        raise ValueError(f"bound must be None or a positive number, got {bound!r}.")
    return number


def check_clip(clip) -> None:
    """None, "auto", or a positive number."""
    if clip is None or (isinstance(clip, str) and clip == "auto"):
        return
    number = float(clip) if isinstance(clip, Real) and not isinstance(clip, bool) else np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"clip must be None, 'auto' or a positive number, got {clip!r}.")


def check_dtype(dtype) -> np.dtype:
    """float32 or float64."""
    for known in (np.dtype(np.float32), np.dtype(np.float64)):
        if dtype in (known.name, known.type) or (isinstance(dtype, np.dtype) and dtype == known):
            return known
    raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")


def check_flag(name: str, value) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_jobs(n_jobs) -> int | None:
    """None, or a whole number of threads other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    return None if n_jobs is None else int(n_jobs)


def check_alphas(alphas) -> NDArray[np.float64]:
    """A list of finite positive numbers."""
    try:
        numbers = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if numbers.ndim > 1 or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"alphas must be a list of finite numbers > 0, or None; got {alphas!r}.")
    return numbers


def check_standardize(standardize) -> bool | str:
    """True, False or "robust"."""
    if isinstance(standardize, str) and standardize == "robust":
        return standardize
    if not isinstance(standardize, (bool, np.bool_)):
        raise ValueError(
            f"standardize must be True or False, got {standardize!r}; or 'robust', for heavy tails."
        )
    return bool(standardize)


def check_scales(scales, n_features: int) -> NDArray[np.float64]:
    """One finite non-negative number for every column."""
    try:
        factors = np.asarray(scales, dtype=np.float64)
    except (TypeError, ValueError):
        factors = np.array(np.nan)
    if factors.shape != (n_features,) or not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise ValueError(
            f"scales must be None or one finite number >= 0 for each of the {n_features} columns; "
            f"got {scales!r}."
        )
    return factors
