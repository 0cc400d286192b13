"""Public tables of 14,000 to 46,000 rows that methods are compared on."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from .tables import bunch, cut, data_frame, numbers, refuse_scaled, strings

BIKE = (
    *("season", "yr", "mnth", "hr", "holiday", "weekday"),
    *("workingday", "weathersit", "temp", "atemp", "hum", "windspeed"),
)


def _masked(name: str, rows: int, columns: int, split: int, scaled: bool, download: bool) -> Bunch:
    """A regression of the UCI GP collection: a column of its mask marks the test rows."""
    table = numbers(f"tabular/{name}/data.csv.gz", columns + 1, rows, download)
    masks = numbers(f"tabular/{name}/test_mask.csv.gz", 10, rows, download)
    if not 0 <= split < 10:
        raise ValueError(f"{name} has ten splits, numbered from 0; got {split!r}.")
    test = masks[:, split] == 1
    X, y = table[:, :-1], table[:, -1]
    parts = (X[~test], X[test], y[~test], y[test])
    names = [f"x{i}" for i in range(1, columns + 1)]
    told = f"{name} (UCI GP benchmark collection), split {split} of ten"
    return bunch("regression", parts, names, scaled, told)


def load_kin40k(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """kin40k: the distance of a robot arm's end from a target, 40,000 × 8, ten splits of its own.

    Parameters
    ----------
    split : int, default=0
        Which of ten 90/10 splits.
    scaled, download
        As in `load_adult`.
    """
    return _masked("kin40k", 40_000, 8, split, scaled, download)


def load_protein(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """protein: properties of tertiary structures, 45,730 × 9, ten splits of its own.

    Parameters
    ----------
    split, scaled, download
        As in `load_kin40k`.
    """
    return _masked("protein", 45_730, 9, split, scaled, download)


def load_elevators(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """elevators: control of an aircraft, 16,599 × 18, ten splits of its own.

    Parameters
    ----------
    split, scaled, download
        As in `load_kin40k`.
    """
    return _masked("elevators", 16_599, 18, split, scaled, download)


def load_pol(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """pol: telecommunication, 15,000 × 26, ten splits of its own.

    Parameters
    ----------
    split, scaled, download
        As in `load_kin40k`.
    """
    return _masked("pol", 15_000, 26, split, scaled, download)


def load_cal_housing(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """California housing (StatLib): median prices of 20,640 districts from 8 columns.

    Parameters
    ----------
    split : int, default=0
        The seed of a 90/10 cut.
    scaled, download
        As in `load_adult`.
    """
    table = numbers("tabular/cal_housing.data.gz", 9, 20_640, download)
    names = [
        *("longitude", "latitude", "median_age", "rooms", "bedrooms"),
        *("population", "households", "median_income"),
    ]
    parts = cut(table[:, :-1], table[:, -1], 0.1, split)
    return bunch("regression", parts, names, scaled, load_cal_housing.__doc__)  # type: ignore[arg-type]


def load_bike_hour(
    form: str = "numbers", *, split: int = 0, scaled: bool = False, download: bool = True
) -> Bunch:
    """Bike sharing by the hour (UCI): rentals from twelve columns of calendar and weather.

    The row number is left out, as are the two columns that sum to the target.

    Parameters
    ----------
    form : {"numbers", "frame"}, default="numbers"
        "frame": a data frame of pandas in which season, month, hour, weekday and weather are
        strings, and the date stands beside them.
    split, scaled, download
        As in `load_cal_housing`.
    """
    cells = strings("tabular/bike_hour.csv.gz", 17, 17_380, download)[1:]
    if form == "frame":
        refuse_scaled(scaled)
        picked = [row[1:14] for row in cells]
        whole = data_frame(picked, ("date", *BIKE), (2, 5, 7, *range(9, 13)), (0,))
        rentals = np.array([float(row[16]) for row in cells])
        frames = cut(whole, rentals, 0.1, split)
        return bunch("regression", frames, whole.columns, False, load_bike_hour.__doc__)  # type: ignore[arg-type]
    if form != "numbers":
        raise ValueError(f"form must be 'numbers' or 'frame', got {form!r}.")
    table = np.array([[float(row[i]) for i in (*range(2, 14), 16)] for row in cells])
    parts = cut(table[:, :-1], table[:, -1], 0.1, split)
    return bunch("regression", parts, BIKE, scaled, load_bike_hour.__doc__)  # type: ignore[arg-type]


def load_ailerons(*, scaled: bool = False, download: bool = True) -> Bunch:
    """ailerons: control of an aircraft, 7,154 rows to learn, 6,596 to test, 40 columns.

    Parameters
    ----------
    scaled, download
        As in `load_adult`.
    """
    train = numbers("tabular/ailerons.data.gz", 41, 7_154, download)
    test = numbers("tabular/ailerons.test.gz", 41, 6_596, download)
    parts = (train[:, :-1], test[:, :-1], train[:, -1], test[:, -1])
    names = [f"x{i}" for i in range(1, 41)]
    return bunch("regression", parts, names, scaled, load_ailerons.__doc__)


def _keel(name: str, rows: int, columns: int, split: int, scaled: bool, download: bool) -> Bunch:
    """A classification of the KEEL collection, whose header lines begin with @."""
    cells = strings(f"tabular/{name}.dat.gz", columns + 1, rows, download, comment="@")
    X = np.array([[float(cell) for cell in row[:-1]] for row in cells])
    parts = cut(X, np.array([row[-1] for row in cells]), 0.1, split)
    names = [f"x{i}" for i in range(1, columns + 1)]
    told = f"{name} (UCI, by way of KEEL), a 90/10 cut with seed {split}"
    return bunch("classification", parts, names, scaled, told)  # type: ignore[arg-type]


def load_letter(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """letter: 26 letters from 16 numbers of their pictures, 20,000 rows.

    Parameters
    ----------
    split, scaled, download
        As in `load_cal_housing`.
    """
    return _keel("letter", 20_000, 16, split, scaled, download)


def load_magic(*, split: int = 0, scaled: bool = False, download: bool = True) -> Bunch:
    """magic: gamma rays against hadrons in a telescope, 19,020 × 10.

    Parameters
    ----------
    split, scaled, download
        As in `load_cal_housing`.
    """
    return _keel("magic", 19_020, 10, split, scaled, download)
