"""What generalised cross-validation does not see: ``python -m benchmarks.leverage``.

Test error, its cross-validated estimate and the exact leave-one-out error (roots of mean squares)
for ridges from 1e-10 to 1e-5 of the trace of Z'Z. Not a race, so not in the list of benchmarks; the
numbers in docs/numerics.md come from here.
"""

from __future__ import annotations

import numpy as np

import randspan as rs

from . import report
from .data import SETS, Missing

SHARES = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)


def main() -> None:
    for which in ("kin40k", "cal_housing"):
        try:
            split = SETS[which]()
        except Missing as missing:
            print(f"{which}: {missing}")
            continue
        first = rs.SpanRegressor(n_components=1000, scales=None, dtype="float64", random_state=0)
        first.fit(split.X_train, split.y_train)
        features = first.functions_(first.frame_.rows(split.X_train, np.float64))
        trace = len(features) * float(features.var(axis=0).sum())
        rows = []
        for share in SHARES:
            alpha = share * trace / 1000
            model = rs.SpanRegressor(frame=first.frame_, alpha=alpha, dtype="float64")
            model.fit(split.X_train, split.y_train)
            away = model.leave_one_out(split.X_train, split.y_train) - split.y_train
            found = (np.sqrt(model.gcv_error_), np.sqrt(np.mean(away**2)))
            test = split.error(model.predict(split.X_test))
            rows.append((f"{share:g}", *map(report.number, (*found, test))))
        print(f"\n{which}\n")
        print(report.table(("alpha·k / trace", "gcv", "leave-one-out", "test"), rows))


if __name__ == "__main__":
    main()
