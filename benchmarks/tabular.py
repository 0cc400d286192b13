"""Nine public tables of 14,000 to 46,000 rows, each with numbered splits.

`SETS` maps a name to a function of the split's number, 0 to 9. Where a set comes with its own
splits the number chooses among them, otherwise it is the seed of a 90/10 cut. Split 0 of kin40k,
cal_housing and letter is the one that `data` has; the files are found as there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from .data import Split, _file

# As the file of bike_hour calls them.
BIKE_COLUMNS = (
    *("season", "yr", "mnth", "hr", "holiday", "weekday"),
    *("workingday", "weathersit", "temp", "atemp", "hum", "windspeed"),
)


def masked(name: str, split: int) -> Split:
    """A regression of the UCI GP collection: a column of its mask marks the test rows."""
    X, y = _numbers(f"tabular/{name}/data.csv.gz")
    mask = np.loadtxt(_file(f"tabular/{name}/test_mask.csv.gz"), delimiter=",", usecols=split)
    test = mask == 1
    return Split("regression", X[~test], X[test], y[~test], y[test])


def housing(split: int) -> Split:
    return _nine_to_one("regression", *_numbers("tabular/cal_housing.data.gz"), split)


def bike(split: int) -> Split:
    """Rentals by the hour, from twelve calendar and weather columns as plain numbers.

    The row number and the date are left out, as are the two columns that sum to the target.
    """
    columns = (*range(2, 14), 16)  # season .. windspeed, and cnt
    X, y = _numbers("tabular/bike_hour.csv.gz", skiprows=1, usecols=columns)
    return _nine_to_one("regression", X, y, split)


def ailerons(split: int = 0) -> Split:
    """It has one split, its own, whatever the number."""
    X_train, y_train = _numbers("tabular/ailerons.data.gz")
    X_test, y_test = _numbers("tabular/ailerons.test.gz")
    return Split("regression", X_train, X_test, y_train, y_test)


def keel(name: str, split: int) -> Split:
    """A classification of the KEEL collection; the classes are its strings."""
    # The header of the format, where there is one, is lines that start with @.
    rows = np.loadtxt(_file(f"tabular/{name}.dat.gz"), delimiter=",", dtype=str, comments="@")
    X, y = rows[:, :-1].astype(np.float64), np.char.strip(rows[:, -1])
    return _nine_to_one("classification", X, y, split)


SETS: dict[str, Callable[[int], Split]] = {
    "kin40k": partial(masked, "kin40k"),
    "protein": partial(masked, "protein"),
    "elevators": partial(masked, "elevators"),
    "pol": partial(masked, "pol"),
    "cal_housing": housing,
    "bike_hour": bike,
    "letter": partial(keel, "letter"),
    "magic": partial(keel, "magic"),
    "ailerons": ailerons,
}


def _numbers(
    name: str, skiprows: int = 0, usecols: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A file of numbers: the last column read is the target."""
    rows = np.loadtxt(_file(name), delimiter=",", skiprows=skiprows, usecols=usecols)
    return rows[:, :-1], rows[:, -1]


def _nine_to_one(task: str, X: np.ndarray, y: np.ndarray, split: int) -> Split:
    """Nine tenths to learn from, one tenth to test, cut with the split's number as the seed."""
    return Split(task, *train_test_split(X, y, test_size=0.1, random_state=split))
