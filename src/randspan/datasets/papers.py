"""The data of the four papers."""

from __future__ import annotations

import io

import numpy as np
from sklearn.utils import Bunch

from .files import DataError, contents
from .tables import (
    bunch,
    checked,
    cut,
    data_frame,
    numbers,
    one_hot,
    refuse_scaled,
    strings,
    wrong_shape,
)

ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country"),
)
KDD = (
    *("duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land"),
    *("wrong_fragment", "urgent", "hot", "num_failed_logins", "logged_in", "num_compromised"),
    *("root_shell", "su_attempted", "num_root", "num_file_creations", "num_shells"),
    *("num_access_files", "num_outbound_cmds", "is_host_login", "is_guest_login", "count"),
    *("srv_count", "serror_rate", "srv_serror_rate", "rerror_rate", "srv_rerror_rate"),
    *("same_srv_rate", "diff_srv_rate", "srv_diff_host_rate", "dst_host_count"),
    *("dst_host_srv_count", "dst_host_same_srv_rate", "dst_host_diff_srv_rate"),
    *("dst_host_same_src_port_rate", "dst_host_srv_diff_host_rate", "dst_host_serror_rate"),
    *("dst_host_srv_serror_rate", "dst_host_rerror_rate", "dst_host_srv_rerror_rate"),
)
COMPAS_NUMBERS = (
    *("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
    *("days_b_screening_arrest", "c_days_from_compas"),
)
COMPAS_CATEGORIES = ("sex", "race", "c_charge_degree")
# The attributes of the four prototasks of census-house, by their numbers in its description.
CENSUS_PARTS = ("16H", "16L", "8H", "8L")


def load_adult(form: str = "binary", *, scaled: bool = False, download: bool = True) -> Bunch:
    """Adult (UCI): who earns more than 50,000 dollars? 32,561 rows to learn, 16,281 to test.

    Parameters
    ----------
    form : {"binary", "raw", "frame"}, default="binary"
        "binary" are the 123 columns of 0 and 1 of the LIBSVM collection, the Adult of UA and RKS.
        "raw" are the 14 columns of the census, the eight that are categories one-hot; "frame" are
        these columns as a data frame of pandas, strings as they are and "?" missing.
    scaled : bool, default=False
        Zero mean and unit variance, by the rows to learn from.
    download : bool, default=True
        Whether files may be fetched from their public source.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test``, ``y_train``, ``y_test`` (+1: more than 50,000), ``feature_names``,
        ``task``, ``DESCR``.
    """
    if form == "binary":
        from sklearn.datasets import load_svmlight_file  # here, because importing it takes long

        parts = []
        for name, rows in (("a9a/a9a.gz", 32_561), ("a9a/a9a.t.gz", 16_281)):
            stream = io.BytesIO(contents(name, download))
            try:
                X, y = load_svmlight_file(stream, n_features=123)
            except ValueError as error:
                raise DataError(f"{name} is not in svmlight's format: {error}") from None
            parts.append((checked(name, X.toarray(), 123, rows), y))
        (X, y), (X_test, y_test) = parts
        names = [f"a{i}" for i in range(1, 124)]
        return bunch("classification", (X, X_test, y, y_test), names, scaled, load_adult.__doc__)
    if form not in ("raw", "frame"):
        raise ValueError(f"form must be 'binary', 'raw' or 'frame', got {form!r}.")
    train = strings("adult/adult.data.gz", 15, 32_561, download)
    test = strings("adult/adult.test.gz", 15, 16_281, download, comment="|")
    kinds = (1, 3, 5, 6, 7, 8, 9, 13)
    cells, n = [row[:-1] for row in train + test], len(train)
    y = np.array([1.0 if row[-1].startswith(">") else -1.0 for row in train + test])
    if form == "frame":
        refuse_scaled(scaled)
        numbers_at = [i for i in range(14) if i not in kinds]
        whole = data_frame(cells, ADULT, numbers_at, missing="?")
        parts_of = (whole[:n], whole[n:], y[:n], y[n:])
        return bunch("classification", parts_of, ADULT, False, load_adult.__doc__)
    X, names = one_hot(cells, ADULT, kinds)
    parts_of = (X[:n], X[n:], y[:n], y[n:])
    return bunch("classification", parts_of, names, scaled, load_adult.__doc__)


def load_forest_cover(
    *,
    split: int = 0,
    seven: bool = False,
    rows: int | None = None,
    scaled: bool = False,
    download: bool = True,
) -> Bunch:
    """Forest Cover (UCI), class 2 against the rest: 522,911 rows to learn, 58,101 to test.

    Parameters
    ----------
    split : int, default=0
        The seed of the cut.
    seven : bool, default=False
        All seven classes in place of two.
    rows : int, optional
        The first so many rows of the file alone, which are not like the others.
    scaled, download
        As in `load_adult`.

    Returns
    -------
    Bunch
        54 columns in float32: 10 numbers, 44 of 0 and 1; y is True for class 2.
    """
    name = "covtype/covtype.csv.gz"
    headed = not contents(name, download)[:1].isdigit()
    known = {"skip": int(headed), "dtype": np.float32, "most": rows}
    table = numbers(name, 55, rows or 581_012, download, **known)  # type: ignore[arg-type]
    classes = table[:, -1].astype(np.int64)
    parts = cut(table[:, :-1], classes if seven else classes == 2, len(table) // 10, split)
    names = [*FOREST, *(f"wilderness_{i}" for i in range(1, 5))]
    names += [f"soil_{i}" for i in range(1, 41)]
    return bunch("classification", parts, names, scaled, load_forest_cover.__doc__)  # type: ignore[arg-type]


FOREST = (
    *("elevation", "aspect", "slope", "to_hydrology_horizontal", "to_hydrology_vertical"),
    *("to_roadways", "hillshade_9am", "hillshade_noon", "hillshade_3pm", "to_fire_points"),
)


def load_cpu(*, scaled: bool = False, download: bool = True) -> Bunch:
    """CPU activity (Delve), the file that UA used: 6,554 rows to learn, 819 to test, 21 columns.

    Parameters
    ----------
    scaled, download
        As in `load_adult`.

    Returns
    -------
    Bunch
        y is the share of time that a processor works for users, 0 to 99.
    """
    from scipy.io import loadmat

    name = "cpu/cpu.mat"
    try:
        found = loadmat(io.BytesIO(contents(name, download)))
        # Columns are cases, stored sparse; targets are bytes, whose differences would wrap around.
        X, X_test = (found[part].toarray().T for part in ("Xtrain", "Xtest"))
        y, y_test = (found[part].ravel().astype(np.float64) for part in ("ytrain", "ytest"))
    except (ValueError, LookupError, TypeError, OSError, AttributeError) as error:
        raise DataError(f"{name} is no MATLAB file with the CPU data: {error!r}") from None
    checked(name, X, 21, 6_554)
    names = [f"x{i}" for i in range(1, 22)]
    return bunch("regression", (X, X_test, y, y_test), names, scaled, load_cpu.__doc__)


def load_census_house(*, log: bool = False, scaled: bool = False, download: bool = True) -> Bunch:
    """Census house prices (Delve): 18,228 rows to learn, 2,278 to test, 36 columns.

    Four prototasks joined, columns that two of them share taken once; UA used 119 attributes, which
    are not to be had. The rule of the CPU file: rows whose index mod 10 is 0 to 7 to learn from, 9
    to test.

    Parameters
    ----------
    log : bool, default=False
        log(1 + y) in place of the median price y.
    scaled, download
        As in `load_adult`.
    """
    tables = []
    for part in CENSUS_PARTS:
        name = f"census-house/{part}/Prototask.data.gz"
        tables.append(numbers(name, int(part[:-1]) + 1, 22_784, download, delimiter=None))
    y = tables[0][:, -1]
    if any((table[:, -1] != y).any() for table in tables):
        raise DataError("The parts of census-house do not have the same rows.")
    columns = np.hstack([table[:, :-1] for table in tables])
    _, first = np.unique(columns, axis=1, return_index=True)
    X = columns[:, np.sort(first)]
    y = np.log1p(y) if log else y
    place = np.arange(len(y)) % 10
    parts = (X[place < 8], X[place == 9], y[place < 8], y[place == 9])
    names = [f"x{i}" for i in range(1, X.shape[1] + 1)]
    return bunch("regression", parts, names, scaled, load_census_house.__doc__)


def load_kddcup99(
    *,
    distinct: bool = False,
    corrected: bool = False,
    rows: tuple[int, int] = (50_000, 150_000),
    split: int = 0,
    scaled: bool = False,
    download: bool = True,
) -> Bunch:
    """KDD Cup 1999: attacks against normal connections, 41 columns, one-hot some 119.

    Parameters
    ----------
    distinct : bool, default=False
        Every row of the 10 % file once: 145,586 of 494,021. Rows to learn and to test are disjoint
        draws of the file in either case, but without this most rows have copies in both.
    corrected : bool, default=False
        Test rows from the file of that name, which has attacks of kinds that training has not.
    rows : (int, int), default=(50_000, 150_000)
        How many to learn and to test, as RKS has them; fewer where there are fewer.
    split : int, default=0
        The seed of the draw.
    scaled, download
        As in `load_adult`.

    Returns
    -------
    Bunch
        y is +1 for attacks.
    """
    lines = _connections("kddcup99/kddcup.data_10_percent.gz", 494_021, download)
    if distinct:
        lines = sorted(set(lines))
    order = np.random.default_rng(split).permutation(len(lines))
    most = rows[0] if corrected else sum(rows)
    wanted = [lines[i] for i in order[:most]]
    train = wanted[: min(rows[0], len(wanted) * 3 // 4)]
    test = wanted[len(train) :]
    if corrected:
        train = wanted
        others = _connections("kddcup99/corrected.gz", 311_029, download)
        chosen = np.random.default_rng(split).permutation(len(others))[: rows[1]]
        test = [others[i] for i in chosen]
    cells = [line.split(",") for line in train + test]
    X, names = one_hot([row[:-1] for row in cells], KDD, (1, 2, 3))
    y = np.array([-1.0 if row[-1] == "normal." else 1.0 for row in cells])
    n = len(train)
    parts = (X[:n], X[n:], y[:n], y[n:])
    return bunch("classification", parts, names, scaled, load_kddcup99.__doc__)


def _connections(name: str, count: int, download: bool) -> list[str]:
    lines = contents(name, download).decode("ascii", "replace").split("\n")
    lines = [line for line in lines if line]
    if len(lines) != count or lines[0].count(",") != 41:
        raise wrong_shape(name, (len(lines), lines[0].count(",") + 1 if lines else 0), (count, 42))
    return lines


def load_crime(*, scaled: bool = True, download: bool = True) -> Bunch:
    """Communities and Crime (UCI): the first half of 1,994 rows to learn, the second to test.

    Five columns that are no inputs and 22 that are mostly missing are left out; one more entry is
    missing and has the mean of its column.

    Parameters
    ----------
    scaled : bool, default=True
        As RHSS has it.
    download
        As in `load_adult`.

    Returns
    -------
    Bunch
        y is the number of violent crimes per population, scaled to [0, 1] by its authors.
    """
    cells = strings("communities/communities.data.gz", 128, 1_994, download)
    rows = np.array([[np.nan if c == "?" else float(c) for c in row[5:]] for row in cells])
    rows = rows[:, np.isnan(rows).mean(axis=0) < 0.5]
    half = len(rows) // 2
    rows = np.where(np.isnan(rows), np.nanmean(rows[:half], axis=0), rows)
    X, y = rows[:, :-1], rows[:, -1]
    parts = (X[:half], X[half:], y[:half], y[half:])
    names = [f"x{i}" for i in range(1, X.shape[1] + 1)]
    return bunch("regression", parts, names, scaled, load_crime.__doc__)


def load_compas(
    form: str = "numbers", *, scaled: bool | None = None, download: bool = True
) -> Bunch:
    """COMPAS (ProPublica), two-year recidivism: the first half of 7,214 rows to learn.

    Age, counts of former offences, days between arrest and screening, sex, race and the degree of
    the charge; everything that restates the outcome or the score is left out.

    Parameters
    ----------
    form : {"numbers", "frame"}, default="numbers"
        "numbers": categories one-hot, missing numbers the mean of the rows to learn from. "frame":
        a data frame of pandas, strings and holes as they are, with the words of the charge (400
        different ones) and the date of the arrest beside them.
    scaled : bool, optional
        As RHSS has it: True for numbers.
    download
        As in `load_adult`.

    Returns
    -------
    Bunch
        y is 1 for a new offence within two years, else 0; RHSS takes it as a number.
    """
    cells = strings("compas/compas-scores-two-years.csv.gz", 45, 7_215, download)
    head, cells = cells[0], cells[1:]
    at = {name: head.index(name) for name in (*COMPAS_NUMBERS, *COMPAS_CATEGORIES)}
    X = np.array([[float(row[at[name]] or "nan") for name in COMPAS_NUMBERS] for row in cells])
    half, y = len(cells) // 2, np.array([float(row[-1]) for row in cells])
    if form == "frame":
        refuse_scaled(bool(scaled))
        all_names = (*COMPAS_NUMBERS, *COMPAS_CATEGORIES, "c_charge_desc", "c_jail_in")
        picked = [[row[head.index(name)] for name in all_names] for row in cells]
        whole = data_frame(picked, all_names, range(len(COMPAS_NUMBERS)), (len(all_names) - 1,))
        frames = (whole[:half], whole[half:], y[:half], y[half:])
        return bunch("classification", frames, all_names, False, load_compas.__doc__)
    if form != "numbers":
        raise ValueError(f"form must be 'numbers' or 'frame', got {form!r}.")
    X = np.where(np.isnan(X), np.nanmean(X[:half], axis=0), X)
    kinds, called = one_hot(
        [[row[at[name]] for name in COMPAS_CATEGORIES] for row in cells],
        COMPAS_CATEGORIES,
        range(len(COMPAS_CATEGORIES)),
    )
    X = np.hstack([X, kinds])
    parts = (X[:half], X[half:], y[:half], y[half:])
    names = [*COMPAS_NUMBERS, *called]
    return bunch("regression", parts, names, scaled is not False, load_compas.__doc__)


def load_activity(*, scaled: bool = False, download: bool = True) -> Bunch:
    """Human activity (WISDM): six activities from 43 numbers of an accelerometer, 5,418 rows.

    It stands in for the activity set of RKS, which was never public. The rows of every fourth user
    are to test, so that no user is in both parts. Missing numbers have the mean of the rows to
    learn from.

    Parameters
    ----------
    scaled, download
        As in `load_adult`.

    Returns
    -------
    Bunch
        y are names of activities; ``users_train`` and ``users_test`` are the users of rows.
    """
    name = "wisdm/WISDM_ar_v1.1_transformed_with_ids_noheader.arff.gz"
    cells = strings(name, 46, 5_418, download)
    users = np.array([int(row[1]) for row in cells])
    X = np.array([[np.nan if c == "?" else float(c) for c in row[2:-1]] for row in cells])
    y = np.array([row[-1] for row in cells])
    test = np.isin(users, np.unique(users)[::4])
    X = np.where(np.isnan(X), np.nanmean(X[~test], axis=0), X)
    parts = (X[~test], X[test], y[~test], y[test])
    names = [f"x{i}" for i in range(1, X.shape[1] + 1)]
    who = {"users_train": users[~test], "users_test": users[test]}
    return bunch("classification", parts, names, scaled, load_activity.__doc__, **who)


def load_mnist(*, scaled: bool = False, download: bool = True) -> Bunch:
    """MNIST (LeCun): digits of 28 × 28 pixels, 60,000 to learn, 10,000 to test.

    Parameters
    ----------
    scaled, download
        As in `load_adult`.

    Returns
    -------
    Bunch
        784 columns in float32, from 0 to 1; y are the digits.
    """
    found = []
    for part, n in (("train", 60_000), ("t10k", 10_000)):
        images = _idx(f"mnist/{part}-images-idx3-ubyte.gz", 16, n * 784, download)
        labels = _idx(f"mnist/{part}-labels-idx1-ubyte.gz", 8, n, download)
        found.append((images.reshape(n, 784).astype(np.float32) / 255, labels.astype(np.int64)))
    (X, y), (X_test, y_test) = found
    names = [f"pixel_{i}_{j}" for i in range(28) for j in range(28)]
    return bunch("classification", (X, X_test, y, y_test), names, scaled, load_mnist.__doc__)


def _idx(name: str, head: int, size: int, download: bool) -> np.ndarray:
    raw = contents(name, download)
    if len(raw) != head + size:
        raise DataError(f"{name} has {len(raw):,} bytes, not {head + size:,}: fetch it again.")
    return np.frombuffer(raw, np.uint8, offset=head)
