"""Models in files: sizes, times, hostile files, writers that are killed, and the whole matrix.

- 20,000 mutations of files (`mutations`), in processes of their own, so that a crash is a number;
- a writer that is killed (SIGKILL) at 200 random moments: the file is the old or the new one;
- bytes of a Fourier model of 1,000 functions of 54 columns, and of bins on Forest Cover;
- seconds to load 1,000 functions × 1,000 targets;
- every family × estimator × loss × dense or sparse × 1 or 3 targets, loaded in another process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import randspan as rs

from . import data, report, roundtrip

name = "files"
slow = True

MUTATIONS, KILLS, BATCH = 20_000, 200, 1_000
QUICK_MUTATIONS, QUICK_KILLS = 100, 3
ROOT = Path(__file__).resolve().parents[1]


def two_models() -> list[Any]:
    """Two that differ, in files of some hundred kilobytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    return [
        rs.SpanRegressor(rs.Fourier(), k, alpha=0.1, scales=None, random_state=0).fit(X, X[:, 0])
        for k in (150, 200)
    ]


def killed(times: int, folder: Path) -> dict[str, int]:
    """Kill writers at random moments; how often the file was readable, and what was left.

    In a process of its own, which forks the writers: they need not import anything.
    """
    command = [sys.executable, "-m", "benchmarks.files", str(times), str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _kill(times: int, folder: Path) -> dict[str, int]:
    rng = np.random.default_rng(0)
    path, counts = folder / "model.rsp", Counter[str]()
    models = two_models()
    rs.save(models[0], path)
    for _ in range(times):
        writer = os.fork()
        if not writer:
            while True:
                for model in models:
                    rs.save(model, path)
        time.sleep(float(rng.uniform(0.001, 0.05)))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        with contextlib.suppress(rs.ModelFileError):
            counts["readable"] += rs.load(path).n_components_ in (150, 200)
        counts["left a part behind"] += len(list(folder.iterdir())) > 1
    rs.save(models[0], path)
    counts["orphans after a save"] = len(list(folder.iterdir())) - 1
    return dict(counts) | {"times": times}


def _mutations(count: int) -> dict[str, Any]:
    """Mutations in processes of their own."""
    ends, defects, slowest, kilobytes = Counter[str](), [], 0.0, 0
    for first in range(0, count, BATCH):
        last = min(first + BATCH, count)
        code = (
            "import json, sys; from benchmarks import mutations; "
            f"o = mutations.run({first}, {last}, lambda n: print(n, file=sys.stderr)); "
            "print(json.dumps([dict(o.ends), o.defects, o.slowest, o.kilobytes]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode:
            where = done.stderr.split()[-1:] or ["at its start"]
            defects.append(f"a process ended with {done.returncode}, mutation {where[0]}")
            continue
        found = json.loads(done.stdout)
        ends.update(found[0])
        defects += found[1]
        slowest, kilobytes = max(slowest, found[2]), max(kilobytes, found[3])
    return {"ends": dict(ends), "defects": defects, "slowest": slowest, "kilobytes": kilobytes}


def _fourier_bytes(folder: Path) -> int:
    X = np.random.default_rng(0).normal(size=(2_000, 54))
    model = rs.SpanRegressor(rs.Fourier(), 1_000, alpha=1.0, scales=None, random_state=0)
    rs.save(model.fit(X, X[:, 0]), folder / "m.rsp", statistics=False, functions=False)
    return (folder / "m.rsp").stat().st_size


def _bins_ratio(folder: Path, quick: bool) -> tuple[str, float]:
    """Bytes of a file beside those of weights and keys."""
    X = np.random.default_rng(0).normal(size=(5_000, 10))
    y, title, family, scales = X[:, 0] > 0, "generated rows", rs.Bins(gamma=1.0), None
    if not quick:
        with contextlib.suppress(data.Missing):
            split = data.forest()
            X, y, title = split.X_train, split.y_train, "Forest Cover"
            family, scales = rs.Bins(), "learn"
    model = rs.SpanClassifier(family, 50, alpha=0.01, scales=scales, random_state=0).fit(X, y)
    rs.save(model, folder / "m.rsp", statistics=False)
    cells = model.functions_.n_columns
    return title, (folder / "m.rsp").stat().st_size / (8 * cells * (1 + len(model.weights_)))


def _seconds(folder: Path, quick: bool) -> dict[str, float]:
    """Median seconds to load a wide model, with and without its statistics."""
    size = 50 if quick else 1_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * size, 10))
    Y = X @ rng.normal(size=(10, size))
    model = rs.SpanRegressor(rs.Fourier(), size, alpha=1.0, scales=None, random_state=0).fit(X, Y)
    found = {}
    for statistics in (True, False):
        rs.save(model, folder / "m.rsp", statistics=statistics)
        times = []
        for _ in range(9):
            start = time.perf_counter()
            rs.load(folder / "m.rsp")
            times.append(time.perf_counter() - start)
        found["with statistics" if statistics else "without"] = median(times)
    return found


def run(quick: bool) -> dict[str, Any]:
    cases = roundtrip.some_cases()[::12] if quick else list(roundtrip.cases())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        seconds = _seconds(place, quick)
        small, (title, ratio) = _fourier_bytes(place), _bins_ratio(place, quick)
        (place / "kills").mkdir()
        kills = killed(QUICK_KILLS if quick else KILLS, place / "kills")
        (place / "matrix").mkdir()
        models, differing = roundtrip.run(cases, place / "matrix")
    tried = _mutations(QUICK_MUTATIONS if quick else MUTATIONS)
    return {
        "seconds": seconds,
        "fourier_bytes": small,
        "bins": {"rows": title, "ratio": ratio},
        "kills": kills,
        "matrix": {"models": models, "differing": differing},
        "mutations": tried,
        "bars": [
            report.bar("load 1,000 functions × 1,000 targets, s", seconds["without"], "<=", 0.05),
            report.bar("the same with statistics, s", seconds["with statistics"], "<=", 0.05),
            report.bar("Fourier, k = 1,000, d = 54, bytes", small, "<=", 20_000),
            report.bar(f"bins, {title}: bytes beside weights and keys", ratio, "<=", 1.2),
            report.bar("kills after which the file was readable", kills["readable"], ">=",
                       kills["times"]),
            report.bar("models that differ after a file", len(differing), "<=", 0),
            report.bar("mutations that ended otherwise", len(tried["defects"]), "<=", 0),
        ],
    }  # fmt: skip


def text(result: dict[str, Any]) -> str:
    ends = [(end, str(count)) for end, count in sorted(result["mutations"]["ends"].items())]
    parts = [
        report.table(["mutations", "count"], ends),
        f"slowest {result['mutations']['slowest']:.2f} s of processor time, peak memory "
        f"+{result['mutations']['kilobytes'] / 1000:.0f} MB",
        *result["mutations"]["defects"][:20],
        f"{result['matrix']['models']} models through files: {len(result['matrix']['differing'])} "
        f"differ; kills: {result['kills']}",
        report.bars(result["bars"]),
    ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(json.dumps(_kill(int(sys.argv[1]), Path(sys.argv[2]))))
