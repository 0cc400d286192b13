"""What fits take beside what their plans say: families, tables and memory limits of all kinds.

Every fit has a process of its own (``python -m benchmarks.memory``): it makes its data, fits a few
of the rows so that all is imported and compiled, then counts the peak of the fit beyond what is
resident. A plan says at most what is granted, so a fit whose peak is within its plan is within
``memory_limit``; what cannot be done in so little is refused before any work.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

import randspan as rs

from . import report
from .harness import apart
from .resident import peak_beyond_resident

name = "memory"
slow = True

# A peak may be so many times what the plan says.
BAR = 1.15
# Rows of the fit that comes before.
WARM_ROWS = 150


@dataclass(frozen=True)
class Fit:
    """A table and what is fitted to it.

    ``family`` is what is written after ``rs.``, or a name; ``classes`` are 0 for numbers;
    ``density`` is that of sparse rows, 0 for dense ones; of ``noise`` targets have nothing to do
    with the rows; ``refused`` says what is expected.
    """

    family: str
    rows: int
    columns: int
    k: Any = "auto"
    targets: int = 1
    classes: int = 0
    density: float = 0.0
    limit: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    refused: bool = False
    noise: bool = False

    @property
    def table(self) -> str:
        kind = f"sparse {self.density:g}" if self.density else "dense"
        return f"{self.rows:,} × {self.columns:,} {kind}{', noise' if self.noise else ''}"

    @property
    def model(self) -> str:
        told = [f"k={self.k}"]
        if self.classes:
            told.append(f"{self.classes} classes")
        if self.targets > 1:
            told.append(f"{self.targets:,} targets")
        told += [f"{key}={value}" for key, value in self.options.items()]
        return ", ".join([self.family, *told])


FITS = (
    Fit("Fourier()", 50_000, 20, 1000, options={"alpha": 0.1}),
    Fit("Fourier()", 20_000, 20, 800),
    Fit("Fourier()", 10_000, 20, 2000),
    Fit("Fourier()", 1_000, 20, 3000),
    Fit("Fourier()", 4_000, 20, 3000, options={"alpha": 1.0, "dtype": "float64"}),
    Fit("Fourier()", 2_000, 20_000, 300),
    Fit("Fourier()", 3_000, 20_000, 300, density=0.005),
    Fit("fourier", 1_500, 20_000),
    Fit("fourier", 1_500, 20_000, density=0.005),
    Fit("fourier", 3_000, 10),
    Fit("fourier", 20_000, 10),
    Fit("fourier", 20_000, 10, limit="60MB"),
    Fit("Fourier()", 4_000, 10, np.inf),
    Fit("Fourier()", 20_000, 10, 500, targets=100),
    Fit("Fourier()", 10_000, 10, 3000, limit="90MB", options={"solver": "sketched", "alpha": 1.0}),
    Fit("Fourier()", 10_000, 10, 500, classes=10, options={"loss": "logistic", "alpha": 1.0}),
    Fit(
        "Fourier()", 10_000, 10, 500, classes=2, limit="30MB",
        options={"loss": "hinge", "alpha": 1.0},
    ),
    Fit("Fourier()", 10_000, 10, 400, options={"loss": "absolute", "alpha": 1.0}),
    Fit("Fourier()", 20_000, 20, 500, options={"bound": 10.0, "alpha": 0.1}),
    Fit("Fourier()", 20_000, 60, 500, limit="80MB", options={"scales": "learn", "alpha": 1.0}),
    Fit("Stumps()", 30_000, 50, 600),
    Fit("Units()", 20_000, 50, 600),
    Fit("Bumps()", 3_000, 3_000, 500),
    Fit("Bins()", 20_000, 10, 50),
    Fit("Bins()", 3_000, 10_000, 20, density=0.005),
    Fit("Trees()", 10_000, 10, 100),
    Fit("Trees()", 2_000, 20, 30, classes=200),
    Fit("Trees()", 600, 20, 20, targets=1_000),
    Fit("Trees()", 4_000, 20, 50, classes=200, limit="100MB", refused=True),
    Fit("Trees(output='leaves')", 10_000, 10, 50),
    Fit("Trees(output='leaves')", 2_500, 10, 50),
    Fit("Trees(output='leaves')", 2_500, 10, 50, noise=True),
    Fit("Trees(output='leaves')", 10_000, 10, 50, noise=True),
    Fit("Trees(max_features=40)", 1_500, 5_000, 20, density=0.01),
    Fit("KernelExpansions()", 10_000, 10, 500),
    Fit("Networks()", 10_000, 20, 500),
    Fit("Projections()", 5_000, 3_000, 1000),
    Fit("BrownianSheets()", 20_000, 5),
    Fit("ScrambledWavelets()", 10_000, 3),
    Fit("Fourier() + rs.Bins()", 10_000, 10, 200),
    Fit("auto", 1_500, 10, limit="150MB", options={"effort": "fast"}),
    Fit("auto", 30_000, 10, limit="50MB", refused=True),
    Fit("auto", 8_000, 20, limit="150MB", options={"effort": "fast"}),
    Fit("auto", 1_000, 1_000, density=0.02, options={"effort": "fast"}),
)  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    if quick:
        refused = Fit("Trees()", 300, 5, 10, limit="100KB", refused=True)
        fits = [_apart(Fit("Fourier()", 4_000, 20, 400)), _apart(refused, here=True)]
        return summary(fits)
    return summary([_apart(fit) for fit in FITS])


def _apart(fit: Fit, here: bool = False) -> dict[str, Any]:
    return apart(f"benchmarks.{name}", *asdict(fit).values(), here=measure if here else None)


def summary(fits: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [one["ratio"] for one in fits if "ratio" in one]
    wrong = sum(one["refused"] != ("refusal" in one) for one in fits)
    return {
        "fits": fits,
        "bars": [
            report.bar("largest peak beside the plan", max(ratios), "<=", BAR),
            report.bar("refused, or not, other than expected", wrong, "<=", 0),
        ],
    }


def text(result: dict[str, Any]) -> str:
    rows = [
        (
            one["model"],
            one["table"],
            one["limit"] or "",
            report.number(one.get("plan_mb")),
            report.number(one.get("peak_mb")),
            report.number(one.get("ratio")),
            report.number(one["seconds"]),
            one.get("refusal", ""),
        )
        for one in result["fits"]
    ]
    titles = ("model", "table", "limit", "plan MB", "peak MB", "ratio", "s", "refused")
    return f"{report.table(titles, rows)}\n\n{report.bars(result['bars'])}"


def measure(*values: Any) -> dict[str, Any]:
    """One fit, in this process."""
    fit = Fit(*values)
    warnings.simplefilter("ignore")
    X, y = _data(fit)
    model = _model(fit)
    warm = _warm_rows(fit)
    _model(fit, None).fit(X[warm], y[warm])
    known = {"model": fit.model, "table": fit.table, "limit": fit.limit, "refused": fit.refused}
    start = time.perf_counter()
    with peak_beyond_resident() as extra:
        try:
            model.fit(X, y)
        except MemoryError as error:
            refusal = str(error)
        else:
            refusal = ""
    known["seconds"] = time.perf_counter() - start
    if refusal:
        return known | {"refusal": refusal, "peak_mb": extra.megabytes}
    nbytes = model.plan_for(fit.rows, fit.columns, _n_targets(fit)).nbytes
    if fit.family != "auto":
        nbytes = model.solution_.plan.nbytes
        known["reason"] = model.solution_.reason
    ratio = extra.bytes / nbytes
    return known | {"plan_mb": nbytes / 1e6, "peak_mb": extra.megabytes, "ratio": ratio}


def _n_targets(fit: Fit) -> int:
    return fit.classes if fit.classes > 2 else fit.targets


def _model(fit: Fit, limit: str | None = "") -> Any:
    kind = rs.SpanClassifier if fit.classes else rs.SpanRegressor
    family = fit.family if fit.family.islower() else eval(f"rs.{fit.family}", {"rs": rs})
    limit = fit.limit if limit == "" else limit
    return kind(family, fit.k, memory_limit=limit, random_state=0, n_jobs=1, **fit.options)


def _data(fit: Fit) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    if fit.density:
        X = sparse.random_array((fit.rows, fit.columns), density=fit.density, format="csr", rng=rng)
        signal = np.asarray(X[:, :20].sum(axis=1)).ravel()
    else:
        X = rng.standard_normal((fit.rows, fit.columns))
        signal = np.sin(X[:, 0]) + X[:, 1]
    if fit.noise:
        signal = rng.permutation(signal)
    signal = signal + 0.1 * rng.standard_normal(fit.rows)
    if fit.classes:
        return X, np.argsort(np.argsort(signal)) * fit.classes // fit.rows
    if fit.targets == 1:
        return X, signal
    return X, signal[:, None] + rng.standard_normal((fit.rows, fit.targets))


def _warm_rows(fit: Fit) -> np.ndarray:
    """Few rows, of every class."""
    return np.arange(0, fit.rows, max(1, fit.rows // max(WARM_ROWS, 2 * fit.classes)))


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
