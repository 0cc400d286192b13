"""Two checkouts of this repository side by side: has one larger errors than the other?

``python -m benchmarks.errors OLD NEW`` fits the call without arguments and ``"auto"`` to the shared
sets with the library of both folders, one process a fit, in turns, and prints the ratios new/old of
errors on test rows (root of the mean squared error, or share of wrong classes), of seconds, and how
many ``validation_`` say no more than two standard errors too little. A change that is meant to
change nothing has a geometric mean of 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from .default import SETS, loaded

CALLS = ("default", "auto")
# Standard errors beyond which `validation_` is too small.
FAR = 2.0


def on_split(which: str, rows: int, split: int, call: str) -> dict[str, Any]:
    """One fit, in this process."""
    import randspan as rs

    data = loaded(which, rows, split)
    numbers = data.task == "regression"
    kind = rs.SpanRegressor if numbers else rs.SpanClassifier
    arguments = ("auto",) if call == "auto" else ()
    few = data.tiny(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(*arguments, random_state=split).fit(
            few.X_train, few.y_train
        )  # compiled code is loaded
        start = time.perf_counter()
        model = kind(*arguments, random_state=split).fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
        predicted = model.predict(data.X_test)
    missed = (predicted - data.y_test) ** 2 if numbers else predicted != data.y_test
    error = float(np.sqrt(missed.mean())) if numbers else float(missed.mean())
    squares = missed if numbers else _squares(model, data.X_test, data.y_test)
    told, doubt = model.validation_.error, model.validation_.standard_error
    far = (squares.mean() - told) / np.hypot(doubt, squares.std() / np.sqrt(len(squares)))
    return {"error": error, "seconds": seconds, "honest": bool(far <= FAR)}


def _squares(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared errors of ±1 columns, a row's mean over classes: what `validation_` tells."""
    scores = model.decision_function(X).reshape(len(X), -1)
    classes = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
    return ((np.where(y[:, None] == classes, 1.0, -1.0) - scores) ** 2).mean(axis=1)


def of_checkout(folder: Path, *what: Any) -> dict[str, Any]:
    """The same with the library of a folder."""
    here = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}:{here}"}
    command = [sys.executable, "-m", "benchmarks.errors", "--serve", json.dumps(what)]
    done = subprocess.run(command, env=environment, cwd=here, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{folder.name} failed at {what}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.errors", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="OLD NEW")
    parser.add_argument("--rows", type=int, default=5_000, help="at most so many training rows")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=CALLS)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--out", type=Path, help="a JSON file for all numbers")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(on_split(*json.loads(options.serve))))
        return
    if len(options.folders) != 2:
        parser.error("two folders are needed: the older checkout and the newer one")
    folders = [folder.resolve() for folder in options.folders]
    print(f"{'':<28}{'old error':>12}{'new':>12}{'ratio':>8}{'old s':>8}{'new s':>8}  honest")
    found = []
    for call in options.calls:
        for which in options.sets:
            for split in range(options.splits):
                what = (which, options.rows, split, call)
                order = (0, 1) if len(found) % 2 == 0 else (1, 0)
                pair = {place: of_checkout(folders[place], *what) for place in order}
                old, new = pair[0], pair[1]
                found.append({"call": call, "set": which, "split": split, "old": old, "new": new})
                ratio = new["error"] / old["error"]
                print(
                    f"{call + ', ' + which + f', {split}':<28}{old['error']:>12.5g}"
                    f"{new['error']:>12.5g}{ratio:>8.3f}{old['seconds']:>8.1f}"
                    f"{new['seconds']:>8.1f}  {old['honest']:d} {new['honest']:d}",
                    flush=True,
                )
    for call in options.calls:
        mine = [one for one in found if one["call"] == call]
        ratio = geometric_mean(one["new"]["error"] / one["old"]["error"] for one in mine)
        times = [sum(one[which]["seconds"] for one in mine) for which in ("old", "new")]
        honest = [sum(one[which]["honest"] for one in mine) for which in ("old", "new")]
        print(
            f"{call}: geometric mean of the ratios of errors {ratio:.4f}, seconds {times[0]:.0f} "
            f"and {times[1]:.0f} ({times[1] / times[0]:.3f}), honest {honest[0]} and {honest[1]} "
            f"of {len(mine)}"
        )
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
