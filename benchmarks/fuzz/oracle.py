"""What a call may end in: judged without knowing how it is done."""

from __future__ import annotations

import pickle
import re
import traceback
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning


class Defect(Exception):
    """What should not have happened."""


# What numpy, scipy and Python say where nobody has looked at the arguments.
BARE = re.compile(
    r"broadcast|not aligned|out of bounds|'NoneType'|has no len|not subscriptable|truth value"
    r"|unsupported operand|not iterable|dimension mismatch"
    r"|matmul|setting an array element|zero-size array|cannot convert float|concatenat"
)


def refusal(error: Exception) -> str:
    """The kind of a refusal, with advice, of this library or of scikit-learn's validation."""
    kind = type(error).__name__
    where = traceback.extract_tb(error.__traceback__)
    last = where[-1]
    ours = "/randspan/" in last.filename.replace("\\", "/")
    theirs = "sklearn/utils" in last.filename.replace("\\", "/")
    known = isinstance(error, (ValueError, TypeError, AttributeError, MemoryError))
    known &= not isinstance(error, np.linalg.LinAlgError)
    known |= kind == "IllConditioned"
    # Raised on purpose: an array operation in a line of ours raises as well.
    meant = theirs or (last.line or "").startswith("raise")
    said = len(str(error)) > 15 and not BARE.search(str(error))
    if known and (ours or theirs) and meant and said:
        return kind
    place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
    raise Defect(f"{kind} at {place}: {str(error)[:300]}") from error


def expect(good: Any, what: str) -> None:
    """Nothing, if this holds; a defect otherwise."""
    if not np.all(good):
        raise Defect(what)


def warned(seen: list[warnings.WarningMessage]) -> str | None:
    """The first warning that is none for users, if there is one."""
    for one in seen:
        # What a hypothesis of scikit-learn's says while it learns is its own affair.
        own = "/sklearn/" in one.filename.replace("\\", "/")
        if own or issubclass(one.category, ConvergenceWarning):
            continue
        # Of users' kinds those of this library and of scikit-learn's validation.
        users = issubclass(one.category, UserWarning)
        if not users or one.category.__module__.split(".")[0] in ("numba", "pandas"):
            place = f"{one.filename.rpartition('/')[2]}:{one.lineno}"
            return f"{one.category.__name__}: {one.message} ({place})"
    return None


def state(estimator: Any) -> dict[str, Any]:
    """Attributes, and where a random state is."""
    return dict(vars(estimator)) | {" place": _place(estimator.random_state)}


def _place(random_state: Any) -> bytes:
    return b"" if isinstance(random_state, int) else pickle.dumps(random_state)


def unchanged(before: dict[str, Any], estimator: Any) -> None:
    """A refused call leaves every attribute as it was."""
    after = state(estimator)
    expect(before.pop(" place") == after.pop(" place"), "a refused call moved the random state")
    names = before.keys() | after.keys()
    other = [name for name in names if before.get(name) is not after.get(name)]
    expect(not other, f"a refused call changed {', '.join(sorted(other))}")


def same(found: Any, known: Any, what: str) -> None:
    """The same bits."""
    found, known = np.asarray(found), np.asarray(known)
    expect(found.shape == known.shape and found.dtype == known.dtype, f"{what}: another shape")
    expect(np.array_equal(found, known, equal_nan=found.dtype.kind == "f"), f"{what}: other bits")


def close(found: Any, known: Any, tolerance: float, what: str) -> None:
    found, known = np.asarray(found), np.asarray(known)
    expect(found.shape == known.shape, f"{what}: another shape")
    away = np.max(np.abs(found - known), initial=0.0)
    expect(away <= tolerance, f"{what}: {away:.3g} apart, beyond {tolerance:.3g}")


def finite(values: Any, shape: tuple[int, ...], what: str) -> None:
    values = np.asarray(values)
    expect(values.shape == shape, f"{what}: shape {values.shape} in place of {shape}")
    expect(np.isfinite(values).all(), f"{what}: not finite")


def probabilities(found: Any, n_rows: int, classes: np.ndarray, decided: np.ndarray) -> None:
    finite(found, (n_rows, len(classes)), "predict_proba")
    expect((found >= -1e-9) & (found <= 1 + 1e-9), "probabilities beyond 0 and 1")
    close(found.sum(axis=1), np.ones(n_rows), 1e-6, "sums of probabilities")
    expect(decided.shape == (n_rows,), f"predict: shape {decided.shape}")
    expect(np.isin(decided, classes), "predict: no class")


def in_range(found: np.ndarray, y: np.ndarray) -> None:
    """Clipped predictions leave the range of the targets by a tenth of it."""
    lower, upper = y.min(axis=0), y.max(axis=0)
    reach = 0.1 * (upper - lower) + 1e-6 * (np.abs(lower) + np.abs(upper)) + 1e-300
    expect((found >= lower - reach) & (found <= upper + reach), "predictions out of range")


def no_worse_than_nothing(
    found: np.ndarray, y: np.ndarray, weights: Any, intercept: bool, size: float
) -> None:
    """A minimum of squares is at most that of a constant; ``size`` is that of all targets so far.

    Of rows that went rounding errors are left.
    """
    weights = np.ones(len(y)) if weights is None else weights
    weights = weights / weights.max()
    found, y, weights = (a.reshape(len(y), -1) for a in (found, y, weights))
    centre = (weights * y).sum(axis=0) / weights.sum() if intercept else np.zeros(y.shape[1])
    size = max(size, 1e-300)
    left = (weights * ((found - y) / size) ** 2).sum(axis=0)
    most = (weights * ((y - centre) / size) ** 2).sum(axis=0)
    expect(left <= 1.01 * most + 1e-6, f"squares of {left} left where a constant leaves {most}")
