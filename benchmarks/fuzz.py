"""Random calls of random estimators on random tables: every one ends well, or in an error of ours.

10,000 calls from a seed: regressors and classifiers of all families, with random losses, ridges,
boxes, solvers and precisions, on tiny tables that are extreme, sparse, duplicated, constant or of
mixed scales, fitted at once or in a stream. A call ends well if its predictions are finite and,
where they are clipped, within the range; or if it is refused by a `ValueError` or `TypeError` (or a
`MemoryError` that says what was needed) of this library or of scikit-learn's validation. Anything
else is a defect: other exceptions, infinite predictions, warnings of numpy.

``python -m benchmarks fuzz``; the first calls run in the tests. ``python -m benchmarks.fuzz 123``
repeats one call, and shows where it ends.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import randspan as rs

from . import report

name = "fuzz"
slow = True

CALLS, QUICK = 10_000, 30

FAMILIES = {
    "fourier": lambda: rs.Fourier(),
    "fourier laplacian": lambda: rs.Fourier("laplacian", gamma=0.3),
    "fourier qmc": lambda: rs.Fourier("matern52", sampling="qmc", form="paired"),
    "stumps": lambda: rs.Stumps(),
    "stumps normal": lambda: rs.Stumps("normal"),
    "units": lambda: rs.Units(),
    "units relu": lambda: rs.Units("relu", direct=True),
    "bumps": lambda: rs.Bumps(),
    "projections": lambda: rs.Projections(),
    "bins": lambda: rs.Bins(),
    "expansions": lambda: rs.KernelExpansions(),
    "networks": lambda: rs.Networks(),
    "trees": lambda: rs.Trees(),
    "leaves": lambda: rs.Trees(output="leaves"),
    "sheets": lambda: rs.BrownianSheets(),
    "wavelets": lambda: rs.ScrambledWavelets("haar"),
    "fourier + bins": lambda: rs.Fourier() + rs.Bins(),
    "fourier + projections": lambda: rs.Fourier() + rs.Projections(),
    "nan units": lambda: rs.Units(_nan),
    "name": lambda: "fourier",
}


def _nan(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, np.nan, values)


def run(quick: bool, calls: int | None = None) -> dict[str, Any]:
    count = calls or (QUICK if quick else CALLS)
    outcomes = [outcome(seed) for seed in range(count)]
    kinds = Counter(kind for kind, _ in outcomes)
    bad = [(seed, text) for seed, (kind, text) in enumerate(outcomes) if kind.startswith("BAD")]
    return {
        "calls": count,
        "kinds": dict(kinds.most_common()),
        "bad": bad,
        "bars": [report.bar("silent or foreign outcomes", len(bad), "<=", 0)],
    }


def text(result: dict[str, Any]) -> str:
    rows = [(kind, str(count)) for kind, count in result["kinds"].items()]
    parts = [report.table(("outcome", "calls"), rows), report.bars(result["bars"])]
    parts += [f"call {seed}: {what}" for seed, what in result["bad"][:20]]
    return "\n\n".join(parts)


def outcome(seed: int, show: bool = False) -> tuple[str, str]:
    """How one call ends: a kind, and what there is to say."""
    rng = np.random.default_rng([7, seed])
    described = "nothing yet"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model, table, how, described = call(rng)
            if show:
                print(described)
            kind = carried_out(model, table, how, rng)
        except Exception as error:
            if show:
                traceback.print_exc()
            kind = refused(error)
            described += f" -> {type(error).__name__}: {str(error)[:200]}"
    foreign = [w for w in seen if issubclass(w.category, RuntimeWarning)]
    foreign = [w for w in foreign if not issubclass(w.category, ConvergenceWarning)]
    if foreign and not kind.startswith("BAD"):
        where = f"{foreign[0].filename.rpartition('/')[2]}:{foreign[0].lineno}"
        kind, described = (
            "BAD: a warning of numpy",
            f"{described} -> {foreign[0].message} ({where})",
        )
    return kind, described


def refused(error: Exception) -> str:
    """Whether an exception is one of ours, with advice."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename.replace("\\", "/")
    ours = "/randspan/" in last or "sklearn/utils" in last
    kinds = (ValueError, TypeError, AttributeError, MemoryError)
    plain = isinstance(error, kinds) and not isinstance(error, np.linalg.LinAlgError)
    if plain and ours and len(str(error)) > 15:
        return f"refused: {type(error).__name__}"
    if type(error).__name__ == "IllConditioned" and ours:
        return "refused: too ill-conditioned"
    return f"BAD: {type(error).__name__}"


def carried_out(model: Any, table: dict[str, Any], how: str, rng: np.random.Generator) -> str:
    X, y, weights = table["X"], table["y"], table["weights"]
    n = X.shape[0]
    if how == "fit":
        model.fit(X, y, sample_weight=weights)
    else:
        half = max(n // 2, 1)
        parts = [slice(0, half), slice(half, n)]
        more = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
        for rows in parts:
            if rows.stop > rows.start:
                part = None if weights is None else weights[rows]
                model.partial_fit(X[rows], y[rows], sample_weight=part, **more)
        if how == "forget":
            few = slice(0, max(half // 2, 1))
            part = None if weights is None else weights[few]
            model.forget(X[few], y[few], sample_weight=part)
    new = table["new"]
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(new)
        good = np.isfinite(found).all() and (found >= -1e-9).all() and (found <= 1 + 1e-9).all()
        good &= np.isin(model.predict(new), np.unique(y)).all()
        return "probabilities" if good else "BAD: no probabilities"
    found = model.predict(new)
    if not np.isfinite(found).all():
        return "BAD: infinite predictions"
    if table["clipped"]:
        lower, upper = y.min(axis=0), y.max(axis=0)
        reach = 0.1 * (upper - lower) + 1e-9 * (np.abs(lower) + np.abs(upper)) + 1e-300
        if ((found < lower - reach) | (found > upper + reach)).any():
            return "BAD: out of range"
        return "predictions within the range"
    return "finite predictions"


def call(rng: np.random.Generator) -> tuple[Any, dict[str, Any], str, str]:
    """An estimator, a table, and what is done with them."""
    family = list(FAMILIES)[rng.integers(len(FAMILIES))]
    classes = rng.random() < 0.3
    table = tables(rng, classes)
    parameters: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    k = _one(rng, [1, 3, 20, 60, "auto", np.inf], [1, 2, 4, 4, 4, 2])
    parameters["n_components"] = 5 if k == "auto" and family in ("trees", "leaves", "bins") else k
    _sometimes(rng, parameters, "alpha", [0, 1e-12, 1e-3, 1.0, 1e6, 1e300, "gcv", "leave_one_out"])
    _sometimes(rng, parameters, "bound", [1e-3, 10.0], 0.1)
    _sometimes(rng, parameters, "standardize", [False, "robust"])
    _sometimes(rng, parameters, "scales", [None, "learn"])
    _sometimes(rng, parameters, "dtype", ["float64"])
    _sometimes(rng, parameters, "fit_intercept", [False], 0.15)
    _sometimes(rng, parameters, "solver", ["qr", "eigen", "cholesky", "dual"], 0.1)
    losses = ["hinge", "logistic"] if classes else ["absolute", "huber"]
    _sometimes(rng, parameters, "loss", losses, 0.15)
    if not classes:
        _sometimes(rng, parameters, "clip", [None, 5.0], 0.2)
    how = str(_one(rng, ["fit", "stream", "forget"], [6, 2, 1]))
    kind = rs.SpanClassifier if classes else rs.SpanRegressor
    made = FAMILIES[family]()
    law = rs.Fourier() if isinstance(made, str) else made
    table["clipped"] = not classes and "clip" not in parameters and np.isfinite(law.bounded)
    described = f"{kind.__name__}({family}, {parameters}) {how} of {table['kind']}"
    return kind(made, **parameters), table, how, described


def tables(rng: np.random.Generator, classes: bool) -> dict[str, Any]:
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    kinds = {
        "normal": lambda: rng.normal(size=(n, d)),
        "integers": lambda: rng.integers(0, 3, size=(n, d)).astype(float),
        "constant": lambda: np.full((n, d), rng.choice([0.0, 1.0, 1e6, 0.1])),
        "duplicated": lambda: rng.normal(size=(max(n // 4, 1), d))[
            rng.integers(0, max(n // 4, 1), n)
        ],
        "huge": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.choice([100, 150, 200, 300]),
        "tiny": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.choice([-100, -200, -300]),
        "mixed scales": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-90, 90, size=d),
        "far from zero": lambda: 1e8 + rng.normal(size=(n, d)),
        "rare": lambda: (rng.random(size=(n, d)) < 0.05).astype(float),
        "heavy tails": lambda: rng.standard_cauchy(size=(n, d)) ** 3,
        "sparse": lambda: sparse.random(
            n, d, 0.3, format="csr", random_state=int(rng.integers(99))
        ),
        "float32": lambda: rng.normal(size=(n, d)).astype(np.float32),
    }
    kind = list(kinds)[rng.integers(len(kinds))]
    X = kinds[kind]()
    if classes:
        y = rng.integers(0, int(rng.integers(2, 4)), size=n)
        y[:2] = [0, 1]
    else:
        y = rng.normal(size=(n, 2)) if rng.random() < 0.15 else rng.normal(size=n)
        form = _one(rng, ["plain", "constant", "huge", "tiny", "integers"], [6, 1, 1, 1, 1])
        if form == "constant":
            y = np.full_like(y, 3.0)
        elif form == "huge":
            y = y * 10.0 ** rng.choice([100, 160, 300])
        elif form == "tiny":
            y = y * 10.0 ** rng.choice([-100, -200, -300])
        elif form == "integers":
            y = np.round(y)
        kind += f", {form} targets"
    weights = None
    if rng.random() < 0.35:
        weights = rng.integers(0, 4, size=n).astype(float)
        form = _one(rng, ["counts", "sum to one", "huge", "tiny"], [3, 2, 1, 1])
        factor = {
            "counts": 1.0,
            "sum to one": 1 / max(weights.sum(), 1),
            "huge": 1e150,
            "tiny": 1e-150,
        }
        weights = weights * factor[str(form)]
        kind += f", weights ({form})"
    few = rng.integers(0, n, size=7)
    new = X[few].copy()
    if not sparse.issparse(new) and rng.random() < 0.5:
        new = new * rng.choice([1.0, 1.5, 10.0]) + rng.choice([0.0, 0.1])
    return {"X": X, "y": y, "weights": weights, "new": new, "kind": f"{n} × {d} {kind}"}


def _one(rng: np.random.Generator, values: list, odds: list) -> Any:
    return values[rng.choice(len(values), p=np.array(odds) / sum(odds))]


def _sometimes(
    rng: np.random.Generator, parameters: dict, name: str, values: list, chance: float = 0.25
) -> None:
    if rng.random() < chance:
        parameters[name] = values[rng.integers(len(values))]


if __name__ == "__main__":
    for seed in map(int, sys.argv[1:]):
        print(outcome(seed, show=True))
