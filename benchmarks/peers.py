"""Beside seven other methods, on generated and on real data: error, time, memory.

Peers get what they need to be at their best with little effort: standardised columns where they
need them, our γ (the median rule) wherever there is a Gaussian kernel, our alpha (by generalised
cross-validation) wherever there is a ridge. The rest is their defaults. Methods that hold all
pairs of rows (kernel ridge, support vectors) learn from at most 8,000 rows drawn at random; the
remark says so. One fit of ours beforehand, not timed, finds γ and alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import randspan as rs

from . import report
from .data import ERRORS, SETS, Missing, Split
from .harness import Contestant, race

name = "peers"

# Kernel methods proper keep an n × n matrix.
ALL_PAIRS = 8_000
OURS = "ours, Fourier"


@dataclass(frozen=True)
class Sizes:
    """How much of everything: functions, runs, rounds of boosting, threads of LightGBM.

    On a machine whose cores are all taken (a test among others) LightGBM with two threads took
    three to ten times as long as with one; None leaves it its default, all cores.
    """

    functions: int
    repetitions: int
    rounds: int
    threads: int | None


def run(quick: bool) -> dict[str, Any]:
    return {"sets": [_on_set(title, load, quick) for title, load in SETS.items()]}


def text(result: dict[str, Any]) -> str:
    parts = []
    for found in result["sets"]:
        if "skipped" in found:
            parts.append(f"{found['name']}: SKIPPED, {found['skipped']}")
            continue
        parts.append(
            f"{found['name']}: {found['task']}, {found['rows']:,} rows × {found['columns']} "
            f"columns, {found['test_rows']:,} test rows, γ {found['gamma']:.3g}, "
            f"alpha {found['alpha']:.3g}\n\n"
            + report.contestants(found["contestants"], ERRORS[found["task"]])
            + "".join(f"\n{name}: SKIPPED, {why}" for name, why in found["absent"].items())
        )
    return "\n\n".join(parts)


def _on_set(title: str, load: Callable[[], Split], quick: bool) -> dict[str, Any]:
    try:
        split = load()
    except Missing as missing:
        return {"name": title, "skipped": str(missing)}
    if quick:
        split = split.tiny(200)
    sizes = Sizes(32, 1, 5, threads=1) if quick else Sizes(1000, 2, 100, threads=None)
    entries, gamma, alpha = _entries(split, sizes)
    return {
        "name": title,
        "task": split.task,
        "rows": len(split.X_train),
        "test_rows": len(split.X_test),
        "columns": split.X_train.shape[1],
        "functions": sizes.functions,
        "gamma": gamma,
        "alpha": alpha,
        "contestants": race(entries),
        "absent": {} if find_spec("lightgbm") else {"LightGBM": "not installed"},
    }


def _entries(split: Split, sizes: Sizes) -> tuple[list[Contestant], float, float]:
    """Everybody who takes part, and the γ and alpha they were given."""
    k, repetitions, classify = sizes.functions, sizes.repetitions, split.task == "classification"
    model = rs.SpanClassifier if classify else rs.SpanRegressor
    pilot = model(rs.Fourier(), k, random_state=0).fit(split.X_train, split.y_train)
    gamma, alpha = float(pilot.frame_.family.resolved.gamma), float(pilot.alpha_)
    few = split.thinned(ALL_PAIRS)
    thinned = f"{ALL_PAIRS:,} rows only" if few is not split else ""

    def ours(name: str, build: Callable[[], Any], runs: int = repetitions) -> Contestant:
        return Contestant(
            name=name, build=build, split=split, repetitions=runs, describe=_our_remark
        )

    def peer(name: str, build: Callable[[], Any], rows: Split = split) -> Contestant:
        return Contestant(
            name=name,
            build=build,
            split=rows,
            repetitions=repetitions,
            rival=OURS,
            describe=lambda model: "" if rows is split else thinned,
        )

    def ridge(features: Callable[[], Any]) -> Any:
        last = RidgeClassifier(alpha) if classify else Ridge(alpha)
        return make_pipeline(StandardScaler(), features(), last)

    sampler = partial(RBFSampler, gamma=gamma, n_components=k, random_state=0)
    landmarks = partial(Nystroem, gamma=gamma, n_components=k, random_state=0)
    # (γx'y + 1)²: with a constant, the sketch has linear terms too.
    sketch = partial(PolynomialCountSketch, gamma=gamma, coef0=1, n_components=k, random_state=0)
    entries = [
        ours(OURS, lambda: model(rs.Fourier(), k, random_state=0)),
        peer("RBFSampler + ridge", lambda: ridge(sampler)),
        ours("ours, Stumps", lambda: model(rs.Stumps(), k, random_state=0)),
        peer("Nystroem + ridge", lambda: ridge(landmarks)),
        ours("ours, n_components auto", lambda: model(rs.Fourier(), random_state=0), 1),
        peer("PolynomialCountSketch + ridge", lambda: ridge(sketch)),
        peer("AdaBoost, stumps", partial(_adaboost, classify, sizes.rounds)),
    ]
    if classify:
        entries.append(peer("SVC", lambda: make_pipeline(StandardScaler(), SVC(gamma=gamma)), few))
    else:
        exact = partial(KernelRidge, alpha=alpha, kernel="rbf", gamma=gamma)
        entries += [
            peer("KernelRidge", lambda: _scaled_target(exact()), few),
            peer("SVR", lambda: _scaled_target(SVR(gamma=gamma)), few),
        ]
    if find_spec("lightgbm"):
        entries.append(peer("LightGBM", partial(_lightgbm, classify, sizes.threads)))
    return entries, gamma, alpha


def _our_remark(model: Any) -> str:
    return f"k {model.n_components_:,}, alpha {model.alpha_:.3g}"


def _scaled_target(regressor: Any) -> Any:
    """For regressors without an intercept, or with a tolerance in units of y."""
    scaled = make_pipeline(StandardScaler(), regressor)
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def _adaboost(classify: bool, rounds: int) -> Any:
    if classify:
        stump = DecisionTreeClassifier(max_depth=1)
        return AdaBoostClassifier(stump, n_estimators=rounds, random_state=0)
    stump = DecisionTreeRegressor(max_depth=1)
    return AdaBoostRegressor(stump, n_estimators=rounds, random_state=0)


def _lightgbm(classify: bool, threads: int | None) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if classify else LGBMRegressor
    return kind(verbose=-1, random_state=0, n_jobs=threads)
