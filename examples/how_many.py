"""How many functions? Error against k: what is promised, and what is seen.

Targets f = Σ_t a_t k(·, x_t) in the space of a family's kernel. Three curves a panel: the bound
that holds with probability 95 %; the 95 % quantile of the error of the oracle weights that the
bound is about, over many draws; the error of weights fitted to the same rows by least squares,
which nobody promises anything of, and which is what a user has. Writes how_many.png, prints slopes.
"""

import warnings

import matplotlib as mpl
import numpy as np

import randspan as rs
from randspan.theory import bsw, ua

mpl.use("Agg")
import matplotlib.pyplot as plt

# Of few functions no bound says anything, which the picture shows.
warnings.filterwarnings("ignore", category=rs.theory.VacuousBound)

COUNTS = [8, 16, 32, 64, 128, 256, 512, 1024]
DRAWS, ROWS = 200, 300
DELTA = 0.05
CENTRES, A = 5, np.array([1.0, -0.6, 0.8, 0.7, -0.9])

FAMILIES = {
    "Fourier": rs.Fourier(gamma=0.5),
    "Stumps": rs.Stumps("normal"),
    "Bins": rs.Bins(gamma=0.5),
    "Brownian sheets": rs.BrownianSheets(interval=(-2, 2), depth=6),
}


def rows():
    return np.random.default_rng(0).uniform(-2, 2, size=(ROWS, 1))


def oracle(family, X, k, draws):
    """The L2 errors of the oracle weights, one a draw: w_i = Σ_t a_t φ_i(x_t)/k."""
    target = family.kernel(X, X[:CENTRES]) @ A
    found = []
    for draw in range(draws):
        Z = family.draw(X, k, random_state=draw)(X)
        weights = Z[:CENTRES].T @ A / k
        found.append(np.sqrt(np.mean((Z @ weights - target) ** 2)))
    return np.array(found)


def fitted(family, X, k):
    """The error of weights fitted to half of the rows, on the other half."""
    target = family.kernel(X, X[:CENTRES]) @ A
    model = rs.SpanRegressor(
        family, k, alpha=1e-6, standardize=False, scales=None, clip=None, random_state=0
    )
    half = len(X) // 2
    model.fit(X[:half], target[:half])
    return np.sqrt(np.mean((model.predict(X[half:]) - target[half:]) ** 2))


def promised(name, family, X, k):
    """What holds with probability 1 - δ: UA Theorem 3.1, for sheets BSW Lemma 7 by Markov."""
    if name != "Brownian sheets":
        norm = family.bounded * rs.theory.mixture_norm(family, X[:CENTRES], A)
        return ua.theorem_3_1(norm, k, DELTA)
    K = family.kernel(X[:CENTRES])
    sup = rs.theory.constants(family, X).sup_square
    return np.sqrt(bsw.lemma_7(ua.expansion_rkhs_norm(K, A), sup, k) / DELTA)


def main():
    X = rows()
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), sharex=True, layout="constrained")
    for axis, (name, family) in zip(axes, FAMILIES.items(), strict=True):
        errors = [oracle(family, X, k, DRAWS) for k in COUNTS]
        seen = np.array([np.quantile(one, 1 - DELTA) for one in errors])
        bound = np.array([promised(name, family, X, k) for k in COUNTS])
        fits = [fitted(family, X, k) for k in COUNTS]
        slope = np.polyfit(np.log(COUNTS), np.log([one.mean() for one in errors]), 1)[0]
        print(f"{name:16s} slope {slope:6.3f}   bound / seen {np.median(bound / seen):5.1f}")
        axis.loglog(COUNTS, bound, "k--", label="bound, 95 %")
        axis.loglog(COUNTS, seen, "o-", ms=4, label="oracle weights, 95 % of draws")
        axis.loglog(COUNTS, fits, "s-", ms=4, label="fitted weights, new rows")
        axis.set_title(name)
        axis.set_xlabel("grids" if name == "Bins" else "functions k")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("root mean squared error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig("how_many.png", dpi=110)


if __name__ == "__main__":
    main()
