"""RHSS Fig. 2: random hypothesis subspaces of kernels, networks and trees, on three sets.

The first half of the rows learns, columns are standardised by it; RMSE on the second half, mean and
deviation over 20 runs. *As coded* by the authors: no intercepts; kernel methods on the first 5,000
rows; frequencies of RFF with covariance γ/2π² in place of 2γ and a ridge of 0.01; RVFL without bias
and direct links; trees with one candidate column, grown on 0.8 n rows drawn with replacement, and
in-sample least squares. *As it should be*: intercepts, all rows (kernel ridge regression: 5,000;
expansions of more rows have 2,000 of them for anchors), the right frequencies and ridge, biases and
direct links, out-of-bag weights of trees.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

import randspan as rs
from experiments import claims
from experiments.running import Item
from experiments.sets import thinned
from randspan import datasets

NAME = "rhss-fig2"
TITLE = "RHSS Fig. 2: kernels, networks and trees in random subspaces"
DOCUMENT = "rhss"

GAMMA, FEW, ANCHORS = 1e-3, 5_000, 2_000
RUNS = 20
SETS = ("Crime", "Adult", "COMPAS")
RIDGES = {"Crime": 0.1, "Adult": 1e-3, "COMPAS": 1e-3}
VERSIONS = ("as coded", "as it should be")
WIDTHS = {
    "kernels": (2, 5, 8, 10, 20, 30, 70, 100),
    "networks": (3, 6, 12, 24, 48, 60, 80, 100),
    "trees": (1, 3, 6, 12, 24, 48, 60, 80, 100),
}
HIDDEN = (5, 10, 20, 50, 100, 200)
LAWS = ("normal", "uniform", "laplace", "bernoulli")
OURS = {"kernels": "RHSS-KRR", "networks": "RHSS-MLP", "trees": "RHSS-Tree"}


def items(quick: bool) -> list[Item]:
    sets = SETS[:1] if quick else SETS
    found = [
        Item(f"{group}, {which}, {version}", partial(GROUPS[group], which, version, quick), 1500)
        for group in GROUPS
        for which in sets
        for version in (VERSIONS[1:] if quick else VERSIONS)
    ]
    more = {"projections": projections, "widths": widths, "laws": laws}
    return [*found, *(Item(name, partial(run, quick), 900) for name, run in more.items())]


def halves(which: str, few: int | None, quick: bool) -> Bunch:
    """First half to learn, second to test; of ``few`` rows of the file where given."""
    if which == "Crime":
        found = datasets.load_crime(scaled=True)
    elif which == "COMPAS":
        found = datasets.load_compas(scaled=False)
    else:
        found = datasets.load_adult(scaled=False)
    if which != "Crime":  # cut anew, so that the first rows of the file are the first here
        X = np.vstack([found.X_train, found.X_test]) if which == "COMPAS" else found.X_train
        y = np.concatenate([found.y_train, found.y_test]) if which == "COMPAS" else found.y_train
        y = (y > 0).astype(np.float64)
        X, y = X[:few], y[:few]
        half = len(X) // 2
        spread = X[:half].std(axis=0)
        X = (X - X[:half].mean(axis=0)) / np.where(spread > 0, spread, 1)
        parts = {"X_train": X[:half], "X_test": X[half:], "y_train": y[:half], "y_test": y[half:]}
        found = Bunch(**{**found, **parts})
    return thinned(found, 120, 0) if quick else found


# -- the three groups ------------------------------------------------------------------------------


def kernels(which: str, version: str, quick: bool) -> dict[str, Any]:
    coded = version == VERSIONS[0]
    data = halves(which, FEW if coded else None, quick)
    exact = data if coded else halves(which, FEW, quick)
    ridge = RIDGES[which]
    rff_ridge, factor = (0.01, 1 / (2 * np.pi) ** 2) if coded else (ridge, 1.0)
    anchors = None if len(data.y_train) <= FEW else ANCHORS
    expansions = rs.KernelExpansions("rbf", GAMMA, anchors=anchors)
    spans = {
        "RHSS-KRR": lambda k, seed: span(expansions, k, seed, coded),
        # A covariance of γ/2π² belongs to a γ that is (2π)² times smaller.
        "RFF-KRR": lambda k, seed: span(
            rs.Fourier(gamma=GAMMA * factor), k, seed, coded, alpha=rff_ridge
        ),
    }
    flat = {"KRR": lambda seed: KernelRidge(alpha=ridge, kernel="rbf", gamma=GAMMA)}
    found = curves(data, spans, {}, WIDTHS["kernels"], quick)
    found["flat"] = curves(exact, {}, flat, (), quick, runs=1)["flat"]
    return found


def networks(which: str, version: str, quick: bool) -> dict[str, Any]:
    coded = version == VERSIONS[0]
    data = halves(which, None, quick)
    spans = {
        "RHSS-MLP": lambda k, seed: span(rs.Networks((20,), bias=not coded), k, seed, coded),
    }
    if not coded:
        spans["RHSS-MLP, ridge"] = lambda k, seed: span(
            rs.Networks((20,)), k, seed, coded, alpha="auto"
        )
        spans["RVFL"] = lambda k, seed: span(
            rs.Units("relu", direct=True), k, seed, coded, alpha=RIDGES[which]
        )
    flat: dict[str, Callable[[int], Any]] = {}
    if coded or quick:  # it has no versions
        flat["MLP"] = mlp
    if coded:
        flat["RVFL"] = lambda seed: span(rs.Units("relu", bias=None), 20, seed, coded)
    # Times are compared on Crime; elsewhere networks are trained side by side.
    return curves(data, spans, flat, WIDTHS["networks"], quick, together=which != "Crime")


def mlp(seed: int, hidden: int = 20) -> Any:
    known = {"alpha": 10.0, "solver": "lbfgs", "max_iter": 2000, "random_state": seed}
    return MLPRegressor(hidden_layer_sizes=(hidden,), **known)


def trees(which: str, version: str, quick: bool) -> dict[str, Any]:
    coded = version == VERSIONS[0]
    data = halves(which, None, quick)

    if not coded:  # chosen once, by the first run
        first = rs.SpanRegressor(rs.Trees(), 10, random_state=0).fit(data.X_train, data.y_train)
        columns = int(first.frame_.trained.max_features)

    def ours(k: int, seed: int) -> Any:
        if coded:
            return span(rs.Trees(max_features=1, replace=True), k, seed, coded)
        return rs.SpanRegressor(rs.Trees(max_features=columns), k, clip=None, random_state=seed)

    tried = 1 if coded else 1.0
    spans = {
        "RHSS-Tree": ours,
    }
    forests = {
        "extra trees": lambda seed: ExtraTreesRegressor(
            max_features=tried, random_state=seed, n_jobs=-1, warm_start=True
        ),
    }
    if coded or quick:  # it has no versions
        forests["random forest"] = lambda seed: RandomForestRegressor(
            random_state=seed, n_jobs=-1, warm_start=True
        )
    flat = {"decision tree": lambda seed: DecisionTreeRegressor(random_state=seed)}
    found = curves(data, spans, flat, WIDTHS["trees"], quick)
    for who, build in forests.items():
        runs = [grown(build(seed), found["k"], data) for seed in range(2 if quick else RUNS)]
        found["curves"][who] = [list(of_k) for of_k in zip(*runs, strict=True)]
    return found


def grown(forest: Any, counts: list[int], data: Bunch) -> list[tuple[float, float]]:
    """RMSE and seconds of a forest as trees are added to it: the same trees, grown once."""
    found, spent = [], 0.0
    for k in counts:
        error, seconds = measured(lambda k=k: forest.set_params(n_estimators=k), data)
        spent += seconds
        found.append((error, spent))
    return found


GROUPS = {"kernels": kernels, "networks": networks, "trees": trees}


def span(family: Any, k: int, seed: int, coded: bool, alpha: float | str = 0.0) -> Any:
    """A plain fit in the span: standardised rows come in, nothing is clipped."""
    known = {"standardize": False, "scales": None, "clip": None, "random_state": seed}
    return rs.SpanRegressor(family, k, alpha=alpha, fit_intercept=not coded, **known)


def curves(
    data: Bunch,
    spans: dict[str, Callable[[int, int], Any]],
    flat: dict[str, Callable[[int], Any]],
    counts: tuple[int, ...],
    quick: bool,
    runs: int = RUNS,
    together: bool = False,
) -> dict[str, Any]:
    """RMSE and seconds of every run: by k for those that have one.

    Those without k may run two ``together``, on a core each.
    """
    counts, runs = (counts[::6], 2) if quick else (counts, runs)
    found: dict[str, Any] = {"k": list(counts), "curves": {}, "flat": {}, "rows": len(data.y_train)}
    for who, build in spans.items():
        found["curves"][who] = [
            [measured(partial(build, k, seed), data) for seed in range(runs)] for k in counts
        ]
    limits = threadpool_limits(1) if together else nullcontext()
    with ThreadPoolExecutor(2 if together else 1) as pool, limits:
        for who, built in flat.items():
            run = partial(_run_of, built, data)
            found["flat"][who] = list(pool.map(run, range(runs)))
    return found


def _run_of(built: Callable[[int], Any], data: Bunch, seed: int) -> tuple[float, float]:
    return measured(partial(built, seed), data)


def measured(build: Callable[[], Any], data: Bunch) -> tuple[float, float]:
    """RMSE, and seconds of the fit."""
    model = build()
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    away = model.predict(data.X_test) - data.y_test
    return float(np.sqrt(np.mean(away**2))), seconds


# -- three more panels, on Crime -------------------------------------------------------------------


def projections(quick: bool) -> dict[str, Any]:
    """(m): kernel ridge regression, and RHSS, behind a random projection."""
    data = halves("Crime", None, quick)

    def projected(k: int, seed: int, last: Any) -> Any:
        return make_pipeline(GaussianRandomProjection(k, random_state=seed), last)

    spans = {
        "RP-KRR": lambda k, seed: projected(k, seed, KernelRidge(0.1, kernel="rbf", gamma=GAMMA)),
        "RP-RHSS-KRR": lambda k, seed: projected(
            k, seed, span(rs.KernelExpansions("rbf", GAMMA), k, seed, True)
        ),
    }
    flat = {"KRR": lambda seed: KernelRidge(alpha=0.1, kernel="rbf", gamma=GAMMA)}
    return curves(data, spans, flat, WIDTHS["kernels"], quick)


def widths(quick: bool) -> dict[str, Any]:
    """(n): hidden units of RVFL, and of each of 100 networks."""
    data = halves("Crime", None, quick)
    spans = {
        "RVFL": lambda h, seed: span(rs.Units("relu", bias=None), h, seed, True, alpha=0.1),
        "RHSS-MLP": lambda h, seed: span(rs.Networks((h,), bias=False), 100, seed, True),
    }
    return curves(data, spans, {}, HIDDEN, quick)


def laws(quick: bool) -> dict[str, Any]:
    """(o): four laws of the coefficients of kernel expansions."""
    data = halves("Crime", None, quick)

    def of(law: str, k: int, seed: int) -> Any:
        return span(rs.KernelExpansions("rbf", GAMMA, coefficients=law), k, seed, True)

    return curves(data, {law: partial(of, law) for law in LAWS}, {}, WIDTHS["kernels"], quick)


# -- what was found --------------------------------------------------------------------------------


def summary(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means and deviations of all curves, and what they say of every claim."""
    panels = {key: _panel(run) for key, run in results.items() if "failed" not in run}
    failed = {key: run["failed"] for key, run in results.items() if "failed" in run}
    for which in SETS:
        one, other = (panels.get(f"networks, {which}, {version}") for version in VERSIONS)
        if one and other and "MLP" in one["flat"]:
            other["flat"].setdefault("MLP", one["flat"]["MLP"])
        one, other = (panels.get(f"trees, {which}, {version}") for version in VERSIONS)
        if one and other:
            forest = one["curves"]["random forest"]
            other["curves"].setdefault("random forest", forest)
    return {"panels": panels, "failed": failed, "verdicts": _verdicts(panels)}


def _panel(run: dict[str, Any]) -> dict[str, Any]:
    def reduced(runs: list) -> dict[str, float]:
        errors, seconds = np.array(runs).T
        return {
            "mean": float(errors.mean()),
            "deviation": float(errors.std()),
            "seconds": float(np.median(seconds)),
        }

    found = {who: [reduced(runs) for runs in curve] for who, curve in run["curves"].items()}
    flat = {who: reduced(runs) for who, runs in run["flat"].items()}
    return {"k": run["k"], "curves": found, "flat": flat, "rows": run["rows"]}


def _verdicts(panels: dict[str, Any]) -> list[dict[str, str]]:
    """A verdict for every claim, for every version that speaks of it."""
    found = []

    def say(id: str, version: str, holds: bool, numbers: str) -> None:
        verdict = claims.REPRODUCED if holds else claims.FAILED
        found.append({"id": id, "version": version, "verdict": verdict, "numbers": numbers})

    def of(group: str, version: str) -> dict[str, Any]:
        keys = {which: f"{group}, {which}, {version}" for which in SETS}
        return {which: panels[key] for which, key in keys.items() if key in panels}

    def at(panel: dict[str, Any], who: str, k: int) -> dict[str, float]:
        if who in panel["flat"]:
            return panel["flat"][who]
        place = min(range(len(panel["k"])), key=lambda i: abs(panel["k"][i] - k))
        return panel["curves"][who][place]

    def shown(pairs: dict[str, tuple[dict, dict]]) -> str:
        return "; ".join(
            f"{which} {a['mean']:.4f} ± {a['deviation']:.4f} beside {b['mean']:.4f}"
            for which, (a, b) in pairs.items()
        )

    for version in VERSIONS:
        sets = of("kernels", version)
        if len(sets) == len(SETS):
            pairs = {w: (at(p, "RHSS-KRR", 10), at(p, "RFF-KRR", 10)) for w, p in sets.items()}
            better = all(a["mean"] < b["mean"] for a, b in pairs.values())
            say("faster than RFF", version, better, shown(pairs))
            pairs = {w: (at(p, "RHSS-KRR", 100), at(p, "KRR", 100)) for w, p in sets.items()}
            near = all(a["mean"] <= 1.05 * b["mean"] for a, b in pairs.values())
            say("reaches KRR", version, near, shown(pairs))
        sets = of("networks", version)
        if len(sets) == len(SETS) and all("MLP" in panel["flat"] for panel in sets.values()):
            pairs = {w: (at(p, "RHSS-MLP", 100), at(p, "MLP", 100)) for w, p in sets.items()}
            near = all(a["mean"] <= 1.05 * b["mean"] for a, b in pairs.values())
            say("reaches MLP", version, near, shown(pairs))
            pairs = {w: (at(p, "RHSS-MLP", 100), at(p, "RVFL", 100)) for w, p in sets.items()}
            wins = sum(a["mean"] < b["mean"] for a, b in pairs.values())
            say("beats RVFL", version, wins >= 2, shown(pairs))
        sets = of("trees", version)
        if len(sets) == len(SETS):
            pairs = {
                w: (at(p, "RHSS-Tree", 100), at(p, "decision tree", 1)) for w, p in sets.items()
            }
            say(
                "beats one tree",
                version,
                all(a["mean"] < b["mean"] for a, b in pairs.values()),
                shown(pairs),
            )
            pairs = {w: (at(p, "RHSS-Tree", 100), _forest(p, at)) for w, p in sets.items()}
            near_ones = sum(a["mean"] <= 1.05 * b["mean"] for a, b in pairs.values())
            say("approaches forests", version, near_ones >= 2, shown(pairs))
            a, b = pairs["COMPAS"]
            text = shown({"COMPAS": (a, b)})
            say("beats forests on COMPAS", version, a["mean"] < b["mean"], text)
    timed = [f"kernels, Crime, {VERSIONS[0]}", f"networks, Crime, {VERSIONS[0]}"]
    if all(key in panels for key in timed):
        times = {}
        for key, ours, exact in zip(timed, ("RHSS-KRR", "RHSS-MLP"), ("KRR", "MLP"), strict=True):
            times[ours] = at(panels[key], ours, 100)["seconds"]
            times[exact] = at(panels[key], exact, 100)["seconds"]
        holds = times["RHSS-KRR"] < times["KRR"] and times["RHSS-MLP"] < times["MLP"]
        text = ", ".join(f"{who} {1e3 * s:.1f} ms" for who, s in times.items())
        say("order of times", VERSIONS[0], holds, text)
    if "projections" in panels:
        panel = panels["projections"]
        a, b, exact = at(panel, "RP-KRR", 100), at(panel, "RP-RHSS-KRR", 100), at(panel, "KRR", 0)
        near = a["mean"] <= 1.05 * exact["mean"]
        say("projection approaches", "", near, shown({"Crime": (a, exact)}))
        say("projection behind", "", b["mean"] > a["mean"], shown({"Crime": (b, a)}))
    if "widths" in panels:
        gains = {}
        for who, curve in panels["widths"]["curves"].items():
            gains[who] = 1 - min(one["mean"] for one in curve) / curve[0]["mean"]
        text = ", ".join(
            f"{who} {100 * gain:.0f} % less than at the smallest" for who, gain in gains.items()
        )
        say("width", "", gains["RVFL"] > 2 * max(gains["RHSS-MLP"], 0.0), text)
    if "laws" in panels:
        curve = panels["laws"]["curves"]
        apart = max(
            abs(a["mean"] - b["mean"]) / np.hypot(a["deviation"], b["deviation"]) * np.sqrt(2)
            for one in LAWS
            for other in LAWS
            for a, b in zip(curve[one], curve[other], strict=True)
            if one < other
        )
        say("laws", "", bool(apart <= 2), f"at most {apart:.1f} standard deviations apart")
    return found


def _forest(panel: dict[str, Any], at: Callable) -> dict[str, float]:
    return min(
        (at(panel, who, 100) for who in ("extra trees", "random forest")), key=lambda o: o["mean"]
    )


def tables(found: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    known = claims.of(DOCUMENT)
    rows = [
        [known[one["id"]].claim, one["version"], one["numbers"], one["verdict"]]
        for one in found["verdicts"]
    ]
    return [
        ("Claims (RMSE, mean ± deviation over 20 runs)", ["claim", "", "found", "verdict"], rows)
    ]


def explained(found: dict[str, Any]) -> list[str]:
    """What stands behind verdicts that differ from the paper's, or between the two versions."""
    panels = found["panels"]

    def errors(group: str, version: str, who: str, place: int) -> list[float]:
        keys = [f"{group}, {which}, {version}" for which in SETS]
        if not all(key in panels for key in keys):
            return []
        known = [panels[key] for key in keys]
        if all(who in panel["flat"] for panel in known):
            return [panel["flat"][who]["mean"] for panel in known]
        return [panel["curves"][who][place]["mean"] for panel in known]

    def shown(values: list[float]) -> str:
        return ", ".join(f"{value:.4f}" for value in values)

    coded, right = VERSIONS
    ridge = errors("networks", right, "RHSS-MLP, ridge", -1)
    trees = errors("trees", right, "RHSS-Tree", -1)
    if not ridge or not trees:
        return []
    trained = errors("networks", coded, "MLP", -1)

    def behind(values: list[float]) -> str:
        shares = (100 * (a / b - 1) for a, b in zip(values, trained, strict=True))
        return ", ".join(f"{share:.0f} %" for share in shares)

    return [
        "The trained network, which has a penalty, is not reached by least squares in a span of "
        f"random ones. On the three sets ({', '.join(SETS)}) these are "
        f"{behind(errors('networks', coded, 'RHSS-MLP', -1))} behind as coded, "
        f"{behind(errors('networks', right, 'RHSS-MLP', -1))} with biases and an intercept, and "
        f"{behind(ridge)} with a ridge by leave-one-out as well. What is left on Crime is not "
        "explained by any of these.",
        "RVFL is behind as coded because it lacks its direct links: with these, biases and a ridge "
        f"three units have {shown(errors('networks', right, 'RVFL', 0))}, hardly more than a "
        f"hundred, {shown(errors('networks', right, 'RVFL', -1))}: it is the linear part that "
        "does it.",
        "Trees as coded, fully grown and weighed by least squares on the rows that they have "
        f"learned, have {shown(errors('trees', coded, 'RHSS-Tree', -1))}; columns chosen and "
        f"weights from out-of-bag rows give {shown(trees)}, ahead of both forests on all three "
        "sets.",
    ]


def figure(found: dict[str, Any]) -> Any:
    """Panels (a) to (o), as it should be; lines without k are flat."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9.5, 12.5), layout="constrained")
    axes = drawn.subplots(5, 3)
    panels = found["panels"]
    letters = iter("abcdefghijklmno")

    def curve(axis: Any, panel: dict[str, Any] | None, title: str, what: str = "mean") -> None:
        axis.set_title(f"({next(letters)}) {title}", fontsize=9)
        if panel is None:
            axis.text(0.5, 0.5, "not run", ha="center")
            return
        for who, line in panel["curves"].items():
            values = np.array([one[what] for one in line])
            [plotted] = axis.plot(panel["k"], values, "o-", ms=3, label=who)
            if what == "mean":
                spread = np.array([one["deviation"] for one in line])
                limits = (values - spread, values + spread)
                axis.fill_between(panel["k"], *limits, color=plotted.get_color(), alpha=0.15, lw=0)
        for i, (who, one) in enumerate(panel["flat"].items()):
            axis.axhline(one[what], color="black", ls=("--", ":")[i % 2], lw=1, label=who)
        axis.set_xscale("log")
        axis.set_xlabel("hidden units" if "hidden" in title else "k")
        axis.set_ylabel("RMSE" if what == "mean" else "seconds")
        if what != "mean":
            axis.set_yscale("log")
        axis.legend(fontsize=7)

    version = VERSIONS[1]
    for line, group in zip(axes[:3], GROUPS, strict=True):
        for axis, which in zip(line, SETS, strict=True):
            curve(axis, panels.get(f"{group}, {which}, {version}"), f"{which}: {OURS[group]}")
    for axis, group in zip(axes[3], GROUPS, strict=True):
        panel = panels.get(f"{group}, Crime, {version}")
        curve(axis, panel, f"Crime: training time, {OURS[group]}", "seconds")
    for axis, (key, title) in zip(
        axes[4],
        {
            "projections": "Crime: behind a random projection",
            "widths": "Crime: hidden units",
            "laws": "Crime: laws of the coefficients",
        }.items(),
        strict=True,
    ):
        curve(axis, panels.get(key), title)
    return drawn
