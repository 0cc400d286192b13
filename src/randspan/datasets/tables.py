"""From the contents of a file to arrays, and from arrays to a bunch with two parts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .files import DataError, contents

Array = NDArray[np.float64]


def numbers(
    name: str,
    columns: int,
    rows: int,
    download: bool,
    delimiter: str | None = ",",
    skip: int = 0,
    dtype: type = np.float64,
    most: int | None = None,
) -> Array:
    """A file of numbers alone."""
    stream = io.BytesIO(contents(name, download))
    try:
        found: Array = np.loadtxt(
            stream, dtype, delimiter=delimiter, skiprows=skip, max_rows=most, ndmin=2
        )
    except ValueError as error:
        raise DataError(f"{name} is not the table of numbers that it should be: {error}") from None
    return checked(name, found, columns, rows)


def strings(name: str, columns: int, rows: int, download: bool, comment: str = "") -> list[list]:
    """A file of cells, all of them strings without blanks around them."""
    text = contents(name, download).decode("utf-8", "replace")
    lines = (line for line in text.splitlines() if line.strip())
    if comment:
        lines = (line for line in lines if not line.startswith(comment))
    found = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    widths = {len(row) for row in found}
    if len(found) != rows or widths != {columns}:
        raise wrong_shape(name, (len(found), max(widths, default=0)), (rows, columns))
    return found


def checked(name: str, found: NDArray, columns: int, rows: int) -> NDArray:
    if found.shape != (rows, columns):
        raise wrong_shape(name, found.shape, (rows, columns))
    return found


def wrong_shape(name: str, found: tuple, expected: tuple) -> DataError:
    return DataError(
        f"{name} has {found[0]:,} rows of {found[1]} columns, not {expected[0]:,} of "
        f"{expected[1]}: the file is damaged, only a part, or another one."
    )


def one_hot(
    rows: Sequence[Sequence[str]], names: Sequence[str], categories: Iterable[int]
) -> tuple[Array, list[str]]:
    """Numbers as they are; a column of 0 and 1 for every value of the columns in ``categories``."""
    kinds, parts, called = set(categories), [], []
    for i, name in enumerate(names):
        cells = np.array([row[i] for row in rows])
        if i not in kinds:
            parts.append(cells.astype(np.float64)[:, None])
            called.append(name)
            continue
        values = np.unique(cells)
        parts.append((cells[:, None] == values).astype(np.float64))
        called += [f"{name}={value}" for value in values]
    return np.hstack(parts), called


def data_frame(
    rows: Sequence[Sequence[str]],
    names: Sequence[str],
    numbers: Iterable[int] = (),
    dates: Iterable[int] = (),
    missing: str = "",
):
    """The cells themselves as a data frame of pandas: strings, numbers, dates, holes."""
    import pandas as pd  # here, because nothing else needs it

    whole = pd.DataFrame(rows, columns=list(names)).replace(missing, None)
    for i in numbers:
        whole[names[i]] = pd.to_numeric(whole[names[i]])
    for i in dates:
        whole[names[i]] = pd.to_datetime(whole[names[i]])
    return whole


def refuse_scaled(scaled: bool) -> None:
    if scaled:
        raise ValueError("scaled=True is for numbers: leave it out of form='frame'.")


def bunch(
    task: str,
    parts: tuple[NDArray, NDArray, NDArray, NDArray],
    names: Sequence[str],
    scaled: bool,
    description: str | None,
    **more,
) -> Bunch:
    """``parts`` are X_train, X_test, y_train, y_test.

    ``scaled``: zero mean and unit variance by the rows to learn from; columns that never change
    there are 0.
    """
    X_train, X_test, y_train, y_test = parts
    if scaled:
        centre, spread = X_train.mean(axis=0), X_train.std(axis=0)
        factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        X_train, X_test = (X_train - centre) * factor, (X_test - centre) * factor
    return Bunch(
        task=task,
        X_train=X_train,
        X_test=X_test,
        y_train=y_train,
        y_test=y_test,
        feature_names=list(names),
        DESCR=description or "",
        **more,
    )


def cut(X: NDArray, y: NDArray, test: float, seed: int) -> tuple[NDArray, ...]:
    """X_train, X_test, y_train, y_test of a random cut with a fixed seed.

    ``test`` is the number of test rows, or their share.
    """
    from sklearn.model_selection import train_test_split  # here, because importing it takes long

    return tuple(train_test_split(X, y, test_size=test, random_state=seed))
