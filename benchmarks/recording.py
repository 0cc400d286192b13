"""What fits do, written down by one checkout and compared by another.

``python -m benchmarks.recording write FILE`` fits a matrix of families, losses, precisions, kinds
of rows, streams, scales and portfolios, and keeps what they drew, predicted, chose and said of
themselves; ``compare FILE`` fits again and lists what is no longer the same.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import randspan as rs

R, C = rs.SpanRegressor, rs.SpanClassifier
FAMILIES: dict[str, tuple[Any, Any]] = {
    "fourier": (rs.Fourier(), 40),
    "laplacian": (rs.Fourier("laplacian"), 40),
    "orthogonal": (rs.Fourier(sampling="orthogonal", form="paired"), 40),
    "stumps": (rs.Stumps(), 40),
    "quantile stumps": (rs.Stumps("quantile"), 40),
    "units": (rs.Units(), 40),
    "bumps": (rs.Bumps(), 40),
    "projections": (rs.Projections(), 40),
    "bins": (rs.Bins(), 20),
    "expansions": (rs.KernelExpansions(), 20),
    "nystrom": (rs.KernelExpansions(coefficients="nystrom"), 20),
    "networks": (rs.Networks(), 20),
    "trees": (rs.Trees(), 10),
    "leaves": (rs.Trees(output="leaves"), 10),
    "sheets": (rs.BrownianSheets(grid="sparse"), 20),
    "wavelets": (rs.ScrambledWavelets(), 20),
    "union": (rs.Fourier() + rs.Bins(), 20),
    "exact": (rs.Fourier(), np.inf),
}
LOSSES = {
    True: ("squared", "logistic", "hinge", "squared_hinge", "exponential"),
    False: ("squared", "huber", "absolute", "pinball", "epsilon_insensitive"),
}
# Relative differences that are told.
DIRECT, SINGLE, ITERATIVE = 1e-9, 1e-4, 1e-5
BY_PASSES = {"newton", "lbfgs", "multipliers", "conjugate", "sketched"}


def rows(n: int, form: str = "dense", seed: int = 0) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 5, 0.1] + [0, 3, 0]
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    if form == "sparse":
        return sparse.csr_array(np.where(rng.random(X.shape) < 0.5, 0, X)), y
    if form == "table":
        frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.1, np.nan, X), columns=list("abc"))
        return frame.assign(level=[f"l{i}" for i in rng.integers(0, 12, n)]), y
    return X, y


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names, and fits that are to be done."""
    X, y = rows(300)
    for name, (family, k) in FAMILIES.items():
        for kind, classes in ((R, False), (C, True)):
            for loss in LOSSES[classes]:
                for alpha in (0.1, "auto"):
                    for dtype in ("float32", "float64"):
                        if loss != "squared" and dtype == "float32":
                            continue
                        model = kind(family, k, loss=loss, alpha=alpha, dtype=dtype, random_state=3)
                        target = y > 0 if classes else y
                        title = f"{name}, {loss}, {'classes' if classes else 'numbers'}"
                        yield f"{title}, {alpha}, {dtype}", lambda m=model, t=target: m.fit(X, t)
        model = R(family, k, alpha=0.1, random_state=3)
        yield f"{name}, sparse", lambda m=model: m.fit(*rows(300, "sparse"))
        model = R(family, k, random_state=3)
        yield f"{name}, table", lambda m=model: m.fit(*rows(300, "table"))
        model = R(family, k, alpha=0.1, random_state=3)
        yield f"{name}, weights", lambda m=model: m.fit(X, y, np.arange(300) % 3 + 0.5)
        model = R(family, k, alpha=0.1, random_state=3)
        yield f"{name}, stream", lambda m=model: stream(m, X, y)
    for n in (300, 3_000, 12_000):
        for scales in (None, "learn", "rotate", "auto"):
            model = R(rs.Fourier(), 100, scales=scales, random_state=3)
            yield f"scales {scales}, {n}", lambda m=model, n=n: m.fit(*rows(n))
        yield f"default, {n}", lambda n=n: R(random_state=3).fit(*rows(n))
        yield f"default classes, {n}", lambda n=n: _classes(C(random_state=3), n)
        yield f"auto, {n}", lambda n=n: R("auto", effort="fast", random_state=3).fit(*rows(n))
        yield (
            f"auto classes, {n}",
            lambda n=n: _classes(C("auto", effort="fast", random_state=3), n),
        )


def _classes(model: Any, n: int) -> Any:
    X, y = rows(n)
    return model.fit(X, np.digitize(y, [-1, 1]))


def stream(model: Any, X: Any, y: np.ndarray) -> Any:
    for some in np.array_split(np.arange(len(y)), 5):
        model.partial_fit(X[some], y[some])
    return model.forget(X[:40], y[:40]) if model.loss == "squared" else model


def outcome(fit: Callable[[], Any]) -> dict[str, Any]:
    """What a fit did: an error is an outcome, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fit()
        except (ValueError, MemoryError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        new = rows(100, "table" if model.frame_.columns is not None else "dense", seed=1)[0]
        scores = model.predict(new) if isinstance(model, R) else model.decision_function(new)
    found: dict[str, Any] = {"scores": scores, "dtype": "float32"}
    validation = model.validation_
    found["validation"] = (validation.kind, validation.error, validation.standard_error)
    if hasattr(model, "portfolio_"):
        return found | {"solver": "auto", "portfolio": repr(model.portfolio_)}
    found |= {"solver": model.solution_.solver, "alpha": model.alpha_, "k": model.n_components_}
    frame = model.frame_
    found |= {"centre": frame.centre, "scale": frame.scale, "family": repr(frame.family)}
    found["dtype"] = str(model.solution_.plan.dtype)
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What is not the same."""
    if "error" in old or "error" in new:
        return [] if old == new else [f"{old.get('error', 'fits')} -> {new.get('error', 'fits')}"]
    found = [
        f"{name} {old.get(name)} -> {new.get(name)}"
        for name in ("solver", "k", "family")
        if old.get(name) != new.get(name)
    ]
    for name in ("centre", "scale"):
        if not np.array_equal(_numbers(old.get(name)), _numbers(new.get(name)), equal_nan=True):
            away = np.max(np.abs(_numbers(old[name]) / _numbers(new[name]) - 1))
            found.append(f"{name} {away:.1e} apart")
    if "alpha" in old and abs(np.log(max(old["alpha"], 1e-300) / max(new["alpha"], 1e-300))) > 1e-6:
        found.append(f"alpha {old['alpha']:.3g} -> {new['alpha']:.3g}")
    allowed = SINGLE if old["dtype"] == "float32" else DIRECT
    allowed = max(allowed, ITERATIVE) if old["solver"] in BY_PASSES else allowed
    if old["scores"].shape != new["scores"].shape:
        return [*found, "another shape"]
    away = np.abs(old["scores"] - new["scores"]).max() / max(np.abs(old["scores"]).max(), 1e-300)
    if not away <= allowed:
        found.append(f"predictions {away:.1e} apart")
    errors = [one["validation"][1] for one in (old, new)]
    if None not in errors and abs(errors[0] / errors[1] - 1) > 1e-3:
        found.append(f"validation {errors[0]:.4g} -> {errors[1]:.4g}")
    return found


def _numbers(value: Any) -> np.ndarray:
    return np.asarray(np.nan if value is None else value, dtype=np.float64)


def main(verb: str, path: str) -> None:
    if verb == "write":
        recorded = {}
        for name, fit in cases():
            recorded[name] = outcome(fit)
        Path(path).write_bytes(pickle.dumps(recorded))
        print(f"{len(recorded)} fits written")
        return
    recorded, changed = pickle.loads(Path(path).read_bytes()), 0
    for name, fit in cases():
        if name not in recorded:
            continue
        found = differences(recorded[name], outcome(fit))
        changed += bool(found)
        if found:
            print(f"{name}: {'; '.join(found)}", flush=True)
    print(f"{changed} of {len(recorded)} fits changed")


if __name__ == "__main__":
    main(*sys.argv[1:])
