"""The systems of the documents, exactly as published: one table.

Defaults of this library are what serves data best as far as we know. What a document describes
differs, in a law, in an intercept, in a ridge that it has not: `SYSTEMS` names every system, the
settings that make it what the document says, and why ours are others. `docs/published.md` says the
same for readers, and a test holds both beside each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from .. import families
from ..checks import check_choice, check_n_components

# The width of the Gaussian kernel in all experiments of RHSS, and its ridge on Crime (0.001 on
# Adult and COMPAS); that of its networks.
GAMMA, RIDGE, RIDGE_OF_RVFL = 1e-3, 0.1, 10.0
# Columns that rows are projected to: its largest.
DIRECTIONS = 100


@dataclass(frozen=True)
class System:
    """A system of a document.

    Attributes
    ----------
    document : str
        "UA", "RKS", "RHSS" or "BSW".
    family : callable
        Makes the family.
    n_components : int, float or str
        How many functions it has where the document's experiments have one number, or its largest.
    settings : dict
        Parameters of the estimator that are not our defaults.
    ridge : float
        A ridge μ‖w‖² that the document writes without the number of functions: alpha is μ/k.
    projected : bool
        Whether rows go through a Gaussian random projection first, to as many columns as there are
        functions.
    numbers, classes : bool
        Which estimators it is for: RHSS and BSW regress, RKS classifies.
    """

    document: str
    family: Callable[[], families.Family]
    n_components: int | float | str
    settings: dict[str, Any] = field(default_factory=dict)
    ridge: float = 0.0
    projected: bool = False
    numbers: bool = True
    classes: bool = False


# No document has an intercept, scales that are learned, or predictions that are clipped (but BSW).
PLAIN = {"fit_intercept": False, "scales": None, "clip": None}
LEAST_SQUARES = {"alpha": 0}

#: every system of the documents, by its name there
SYSTEMS: dict[str, System] = {
    "Fourier + LS": System("UA", families.Fourier, 500, {}, classes=True),
    "Bins + LS": System("UA", families.Bins, 30, {}, classes=True),
    "RKS stumps": System(
        "RKS", lambda: families.Stumps("normal"), 500, LEAST_SQUARES, numbers=False, classes=True
    ),
    "RHSS-KRR": System("RHSS", lambda: families.KernelExpansions("rbf", GAMMA), 100, LEAST_SQUARES),
    "RFF-KRR": System("RHSS", lambda: families.Fourier(gamma=GAMMA), 100, {"alpha": RIDGE}),
    "KRR": System("RHSS", lambda: families.Fourier(gamma=GAMMA), np.inf, {"alpha": RIDGE}),
    "RHSS-MLP": System(
        "RHSS", lambda: families.Networks((20,), "relu", "standard"), 100, LEAST_SQUARES
    ),
    "RVFL": System("RHSS", lambda: families.Units("relu", scale=1.0), 20, ridge=RIDGE_OF_RVFL),
    "RHSS-Tree": System(
        "RHSS", lambda: families.Trees(max_features=1, replace=True), 100, LEAST_SQUARES
    ),
    "RP-KRR": System(
        "RHSS", lambda: families.Fourier(gamma=GAMMA), np.inf, {"alpha": RIDGE}, projected=True
    ),
    "RP-RHSS-KRR": System(
        "RHSS",
        lambda: families.KernelExpansions("rbf", GAMMA),
        100,
        LEAST_SQUARES,
        projected=True,
    ),
    "Brownian sheets": System(
        "BSW", lambda: families.BrownianSheets(constant=False), "auto", {"alpha": 0, "clip": "auto"}
    ),
    "scrambled wavelets": System(
        "BSW", families.ScrambledWavelets, "auto", {"alpha": 0, "clip": "auto"}
    ),
}


def published(estimator: type, name: str, n_components: Any, parameters: dict[str, Any]) -> Any:
    """The system of this name as an estimator, or behind a random projection as a pipeline."""
    for_classes = estimator._for_classes  # type: ignore[attr-defined]
    known = {one: s for one, s in SYSTEMS.items() if (s.classes if for_classes else s.numbers)}
    if name in SYSTEMS and name not in known:
        what, other = ("numbers", "SpanRegressor") if for_classes else ("classes", "SpanClassifier")
        raise ValueError(f"{name!r} is published for {what}: {other}.published({name!r}).")
    check_choice("name", name, tuple(known))
    system = known[name]
    if n_components is not None:
        check_n_components(n_components)
    if n_components is not None and system.n_components == np.inf and not system.projected:
        raise ValueError(
            f"{name!r} is an exact kernel machine, without a number of functions: leave "
            f"n_components out, which was {n_components!r}."
        )
    fixed = n_components is None or system.n_components == np.inf
    k = system.n_components if fixed else n_components
    settings = PLAIN | system.settings
    if system.ridge:
        settings["alpha"] = system.ridge / float(k)
    if not system.projected:
        return estimator(system.family(), k, **settings).set_params(**parameters)
    # Rows are standardised before they are projected, and not again.
    model = estimator(system.family(), k, standardize=False, **settings).set_params(**parameters)
    directions = DIRECTIONS if n_components is None else n_components
    projection = GaussianRandomProjection(directions, random_state=model.random_state)
    return make_pipeline(StandardScaler(), projection, model)
