"""Two checkouts of this repository side by side: is one slower than the other?

``python -m benchmarks.checkouts OLD NEW`` runs the same fits with the library of two folders, one
process each, in turns (old, new, new, old, ...), and prints the median seconds of both and the
median of their ratios. What changes nothing should cost nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ALTERNATIONS = 5
# A case shorter than this is repeated within a turn.
SHORTEST = 0.2

START = """
import time
start = time.perf_counter()
import randspan
print(time.perf_counter() - start)
"""


def data(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def cases(small: float) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed, by name; ``small`` shrinks the numbers of rows."""
    import randspan as rs

    def rows(n: int) -> int:
        return max(int(n * small), 300)

    X, y = data(rows(200_000), 54)
    some, target = data(rows(20_000), 10)
    few, its = data(rows(2_000), 10)
    labels = target > 0
    R, C, fixed = rs.SpanRegressor, rs.SpanClassifier, {"random_state": 0}
    fitted = R(rs.Fourier(), 1000, alpha=0.1, **fixed).fit(X[:5000], y[:5000])
    stream = R(rs.Fourier(), 2000, alpha=0.1, **fixed).partial_fit(some[:3000], target[:3000])
    grids = R(rs.Bins(), 50, alpha=1.0, **fixed).partial_fit(some, target)
    yield "Fourier, 1,000, one alpha", lambda: R(rs.Fourier(), 1000, alpha=0.1, **fixed).fit(X, y)
    yield "Fourier, 1,000, alpha auto", lambda: R(rs.Fourier(), 1000, **fixed).fit(X, y)
    yield "Stumps, 1,000, one alpha", lambda: R(rs.Stumps(), 1000, alpha=0.1, **fixed).fit(X, y)
    yield "predict, 1,000 functions", lambda: fitted.predict(X)
    yield "predict with standard deviations", lambda: fitted.predict(some_of(X), return_std=True)
    yield "one row more, 2,000 functions", lambda: stream.partial_fit(some[:1], target[:1])
    yield "a block more, 2,000 functions", lambda: stream.partial_fit(some[:500], target[:500])
    yield (
        "a block more and forgotten, 2,000",
        lambda: stream.partial_fit(some[:500], target[:500]).forget(some[:500], target[:500]),
    )
    yield "functions auto", lambda: R(**fixed).fit(few, its)
    yield "fewer rows than functions", lambda: R(rs.Fourier(), 4000, **fixed).fit(few, its)
    yield "in a box", lambda: R(rs.Fourier(), 300, bound=50.0, **fixed).fit(some, target)
    yield (
        "sketched, 3,000 functions",
        lambda: R(rs.Fourier(), 3000, alpha=0.1, solver="sketched", **fixed).fit(some, target),
    )
    yield (
        "logistic, 300 functions",
        lambda: C(rs.Fourier(), 300, loss="logistic", alpha=0.1, **fixed).fit(some, labels),
    )
    yield (
        "hinge, 300 functions",
        lambda: C(rs.Fourier(), 300, loss="hinge", alpha=1.0, **fixed).fit(some, labels),
    )
    yield "classes, squared loss", lambda: C(rs.Fourier(), 500, **fixed).fit(some, labels)
    yield "Bins, 50 grids", lambda: R(rs.Bins(), 50, alpha=1.0, **fixed).fit(some, target)
    yield "Bins, 50 grids, few rows", lambda: R(rs.Bins(), 50, **fixed).fit(few, its)
    yield "Bins, a block more", lambda: grids.partial_fit(some[:1000], target[:1000])
    yield (
        "Fourier and Bins",
        lambda: R(rs.Fourier() + rs.Bins(), 60, alpha=1.0, **fixed).fit(some, target),
    )
    yield "Trees, 50", lambda: R(rs.Trees(max_features=4), 50, **fixed).fit(some, target)
    yield "sheets", lambda: R(rs.BrownianSheets(), 100, **fixed).fit(some[:, :2], target)
    yield "kernel machine", lambda: R(rs.Fourier(), np.inf, **fixed).fit(few, its)
    yield (
        "learned scales",
        lambda: R(rs.Fourier(), 200, scales="learn", **fixed).fit(few, its),
    )


def some_of(X: np.ndarray) -> np.ndarray:
    return X[: len(X) // 4]


def serve(small: float) -> None:
    """Run cases as their names come in, and answer with seconds."""
    known, warm = dict(cases(small)), set()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        run, times = known[line.strip()], []
        if run not in warm:  # the first run compiles
            run()
            warm.add(run)
        while not times or sum(times) < SHORTEST * small:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        print(median(times), flush=True)


class Checkout:
    """The library of one folder, in a process of its own."""

    def __init__(self, folder: Path, small: float):
        here = Path(__file__).parents[1]
        self.environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}:{here}"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.checkouts", "--serve", str(small)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=here,
        )
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("A checkout failed to run; its own words are above.")
        return line

    def seconds(self, name: str) -> float:
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self._answer())

    def import_seconds(self) -> float:
        run = [sys.executable, "-c", START]
        done = subprocess.run(run, env=self.environment, capture_output=True, text=True, check=True)
        return float(done.stdout)


def compare(
    old: Path, new: Path, alternations: int, small: float, only: str
) -> dict[str, dict[str, Any]]:
    """Seconds of both, and the ratio new/old, for every case whose name has ``only`` in it."""
    pair = Checkout(old, small), Checkout(new, small)
    measured: dict[str, dict[str, Any]] = {}
    for name in ["import randspan", *pair[0].names]:
        if only not in name:
            continue
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(alternations):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                one = pair[which]
                seconds = one.import_seconds() if name.startswith("import") else one.seconds(name)
                times[which].append(seconds)
        ratios = [b / a for a, b in zip(*times, strict=True)]
        measured[name] = {
            "old": median(times[0]),
            "new": median(times[1]),
            "ratio": median(ratios),
            "all": times,
        }
        print(f"{name:<36}{ratios_of(measured[name])}", flush=True)
    for one in pair:
        one.process.terminate()
    return measured


def ratios_of(found: dict[str, Any]) -> str:
    return f"{found['old']:>10.4f}{found['new']:>10.4f}{found['ratio']:>8.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="OLD NEW")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--out", type=Path, help="a JSON file for all times")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return
    if len(options.folders) != 2:
        parser.error("two folders are needed: the older checkout and the newer one")
    small = 0.01 if options.quick else 1.0
    print(f"{'':<36}{'old, s':>10}{'new, s':>10}{'ratio':>8}")
    alternations = 1 if options.quick else ALTERNATIONS
    old, new = (folder.resolve() for folder in options.folders)
    found = compare(old, new, alternations, small, options.only)
    ratios = [one["ratio"] for one in found.values()]
    print(f"median of the ratios {median(ratios):.3f}, largest {max(ratios):.3f}")
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
