"""Random projection in front: RP-KRR and RP-RHSS-KRR (Cao and Lan 2022) as pipelines.

Columns are projected on p random directions first, then comes kernel ridge regression or a span of
random kernel expansions. Prints test errors for several p. On Communities and Crime, the first half
of the rows to learn from, if the folder that ``RANDSPAN_DATA`` names has it; on generated rows
otherwise.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

import randspan as rs

DIRECTIONS = [5, 10, 20, 50, 100]
GAMMA, RUNS, EXPANSIONS = 1e-3, 20, 100
CRIME = "communities/communities.data.gz"


def models(directions, seed):
    """Named pipelines; without directions the columns are taken as they are."""
    front = [StandardScaler()]
    if directions is not None:
        # Entries N(0, 1/p): distances stay what they were, on average, and so does γ.
        front.append(GaussianRandomProjection(directions, random_state=seed))
    family = rs.KernelExpansions("rbf", gamma=GAMMA)
    plain = {"alpha": 0, "fit_intercept": False, "standardize": False}
    yield "KRR", make_pipeline(*front, KernelRidge(kernel="rbf", gamma=GAMMA, alpha=0.1))
    yield (
        "RHSS-KRR",
        make_pipeline(*front, rs.SpanRegressor(family, EXPANSIONS, random_state=seed, **plain)),
    )


def load():
    """Rows and targets, and what they are."""
    path = Path(os.environ.get("RANDSPAN_DATA", ".")) / CRIME
    if path.exists():
        rows = np.genfromtxt(path, delimiter=",", usecols=range(5, 128), missing_values="?")
        rows = rows[:, np.isnan(rows).mean(axis=0) < 0.5]
        rows = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
        return rows[:, :-1], rows[:, -1], "Communities and Crime"
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(2000, 5))
    X = hidden @ rng.normal(size=(5, 100)) + rng.normal(size=(2000, 100))
    y = np.tanh(hidden[:, 0]) + hidden[:, 1] * hidden[:, 2] / 3 + 0.1 * rng.normal(size=2000)
    return X, y, "generated rows, 100 columns that vary in 5 directions"


def main():
    X, y, title = load()
    half = len(X) // 2
    print(f"{title}: {half} rows to learn from, {X.shape[1]} columns; RMSE, mean of {RUNS} runs\n")
    print(f"{'directions':>12}{'KRR':>10}{'RHSS-KRR':>10}   (k = {EXPANSIONS})")
    for directions in [*DIRECTIONS, None]:
        errors = {}
        for seed in range(RUNS):
            for name, model in models(directions, seed):
                predicted = model.fit(X[:half], y[:half]).predict(X[half:])
                error = np.sqrt(np.mean((predicted - y[half:]) ** 2))
                errors.setdefault(name, []).append(error)
        label = "all columns" if directions is None else directions
        print(f"{label:>12}" + "".join(f"{np.mean(errors[name]):10.4f}" for name in errors))


if __name__ == "__main__":
    main()
