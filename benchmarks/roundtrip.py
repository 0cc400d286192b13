"""Models before and after a file, in another process: every answer has the same bits.

The matrix is families × estimators × losses × dense or sparse rows × one or three targets; what a
family refuses to fit is left out. All models are fitted and saved here; one other process loads
them all and writes down what they say, ``python -m benchmarks.roundtrip FOLDER``.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats

import randspan as rs
from randspan import losses

from .seeds import cosines

ROOT = Path(__file__).resolve().parents[1]


def heavy(d, rng):
    """A sampler of the user's own."""
    return rng.standard_t(4, size=d)


def softplus(u):
    """An activation of the user's own."""
    return np.logaddexp(u, 0)


GIVEN = {"cosines": cosines, "heavy": heavy, "softplus": softplus}
FAMILIES: dict[str, Any] = {
    "fourier": rs.Fourier(),
    "fourier-laplacian-qmc": rs.Fourier("laplacian", sampling="qmc"),
    "fourier-matern32-paired": rs.Fourier("matern32", form="paired"),
    "fourier-stable": rs.Fourier("stable", p=1.5, q=1.2),
    "fourier-orthogonal": rs.Fourier(sampling="orthogonal", gamma=[0.1, 0.2, 0.3, 0.4]),
    "fourier-structured": rs.Fourier(sampling="structured"),
    "fourier-sampler": rs.Fourier(heavy),
    "stumps": rs.Stumps(),
    "stumps-normal": rs.Stumps("normal"),
    "stumps-quantile": rs.Stumps("quantile"),
    "units": rs.Units(),
    "units-softplus": rs.Units(softplus, bias="uniform"),
    "units-direct": rs.Units(np.tanh, direct=True),
    "bumps": rs.Bumps(),
    "bumps-normal": rs.Bumps(centers="normal"),
    "projections": rs.Projections(),
    "bins": rs.Bins(),
    "bins-hat": rs.Bins(pitch=2.0),
    "bins-law": rs.Bins(pitch=stats.expon(0.5)),
    "expansions": rs.KernelExpansions(anchors=10),
    "expansions-nystrom": rs.KernelExpansions("laplacian", coefficients="nystrom"),
    "expansions-cholesky": rs.KernelExpansions(rs.Fourier("matern52"), coefficients="cholesky"),
    "expansions-pivots": rs.KernelExpansions(
        "poly", 0.1, anchors="rpcholesky", kernel_params={"degree": 2}
    ),
    "networks": rs.Networks(),
    "networks-deep": rs.Networks((8, 5), "tanh", bias=False),
    "trees": rs.Trees(max_features=2),
    "leaves": rs.Trees(output="leaves", min_samples_leaf=3, max_features=2),
    "sheets": rs.BrownianSheets(grid="sparse", depth=3),
    "sheets-smooth": rs.BrownianSheets(1, grid="sparse", depth=2),
    "wavelets": rs.ScrambledWavelets(grid="sparse", depth=2),
    "dictionary": rs.Dictionary(cosines),
    "mercer": rs.Dictionary(rs.Mercer("laplacian", anchors=15)),
    "union": rs.Fourier() + rs.Stumps(),
    "hybrid": rs.Fourier() + rs.Bins(),
    "union-of-grown": rs.Trees(max_features=2) + rs.Fourier(),
}
NUMBERS = [name for name, loss in losses.NAMED.items() if loss.for_numbers]
CLASSES = [name for name, loss in losses.NAMED.items() if loss.for_classes]


@dataclass(frozen=True)
class Case:
    """One model of the matrix."""

    family: str
    kind: str
    loss: str
    sparse: bool
    targets: int

    @property
    def name(self) -> str:
        rows = "sparse" if self.sparse else "dense"
        return f"{self.family} {self.kind} {self.loss} {rows} {self.targets}"


def cases() -> Iterator[Case]:
    """The whole matrix."""
    for family in FAMILIES:
        for thin in (False, True):
            yield Case(family, "transformer", "squared", thin, 1)
            for targets in (1, 3):
                for loss in NUMBERS:
                    yield Case(family, "regressor", loss, thin, targets)
                for loss in CLASSES:
                    yield Case(family, "classifier", loss, thin, targets)


def some_cases() -> list[Case]:
    """Every family with every kind of estimator, of rows and of targets; every loss with two."""

    def chosen(case: Case) -> bool:
        plain = case.loss == "squared" and case.sparse == (case.targets == 3)
        if case.kind == "classifier" and case.sparse:
            plain = False
        every = case.family in ("fourier", "bins") and case.sparse == (case.targets == 1)
        return plain or (every and case.kind != "transformer")

    return [case for case in cases() if chosen(case)]


def rows(thin: bool) -> tuple[Any, Any, Any]:
    """Rows to learn from, to go on with, and to predict."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(75, 4))
    if thin:
        X = sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    return X[:40], X[40:60], X[60:]


def targets_of(X: Any, case: Case) -> Any:
    X = X.toarray() if sparse.issparse(X) else X
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 / 2
    if case.kind == "classifier":
        count = 2 if case.targets == 1 else 3
        return np.array(["low", "middle", "up"])[np.digitize(y, [0.1, 0.8][: count - 1])]
    y = y if case.targets == 1 else np.column_stack([y, -X[:, 2], y * X[:, 3]])
    found = losses.NAMED.get(case.loss)
    return np.exp(y) if found is not None and found.positive_only else y


def fitted(case: Case) -> Any:
    """The model of a case, None where it is refused."""
    X, _, _ = rows(case.sparse)
    settings: dict[str, Any] = {"random_state": 0, "scales": None}
    if case.kind == "transformer":
        return rs.SpanTransformer(FAMILIES[case.family], 6, **settings).fit(X, targets_of(X, case))
    kind = rs.SpanRegressor if case.kind == "regressor" else rs.SpanClassifier
    model = kind(FAMILIES[case.family], 6, loss=case.loss, alpha=0.1, **settings)
    try:
        return model.fit(X, targets_of(X, case))
    except (ValueError, NotImplementedError):
        return None


def answers(model: Any, X: Any) -> dict[str, np.ndarray]:
    """Everything that a model says of rows, by the name of the method."""
    asked = {
        "transform": lambda: model.transform(X),
        "predict": lambda: model.predict(X),
        "std": lambda: model.predict(X, return_std=True)[1],
        "interval": lambda: np.array(model.predict_interval(X)),
        "scores": lambda: model.decision_function(X),
        "probabilities": lambda: model.predict_proba(X),
    }
    found = {}
    for name, ask in asked.items():
        try:
            value = ask()
        except (AttributeError, TypeError, ValueError):
            continue
        found[name] = value.toarray() if sparse.issparse(value) else value
    return found


def same(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    """Whether all answers have the same bits."""
    return mine.keys() == theirs.keys() and all(
        a.dtype == theirs[name].dtype and _bits(a) == _bits(theirs[name])
        for name, a in mine.items()
    )


def _bits(array: np.ndarray) -> Any:
    return array.tolist() if array.dtype == object else array.tobytes()


def load_all(folder: Path) -> None:
    """Load every model of a folder, and write down what it says."""
    for path in sorted(folder.glob("*.rsp")):
        thin = " sparse " in path.stem
        model = rs.load(path, functions=GIVEN)
        np.savez(path.with_suffix(".npz"), **answers(model, rows(thin)[2]))


def in_another_process(folder: Path) -> None:
    """Let another process load all files of a folder."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.roundtrip", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)


def run(some: list[Case], folder: Path) -> tuple[int, list[str]]:
    """Save, load elsewhere and compare; how many models there were, and which differed."""
    expected = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, case in enumerate(some):
            model = fitted(case)
            if model is None:
                continue
            # Every third file has the seed in place of drawn arrays.
            rs.save(model, folder / f"{case.name}.rsp", functions=number % 3 != 0)
            expected[case.name] = answers(model, rows(case.sparse)[2])
    in_another_process(folder)
    wrong = []
    for name, answer in expected.items():
        with np.load(folder / f"{name}.npz") as theirs:
            if not same(answer, dict(theirs)):
                wrong.append(name)
    return len(expected), wrong


if __name__ == "__main__":
    load_all(Path(sys.argv[1]))
