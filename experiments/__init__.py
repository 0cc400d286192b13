"""Every table and figure of the documents: what is claimed, our run, our result.

One folder a document. An experiment is a module with ``NAME``, ``TITLE``, ``items(quick)`` (what is
to be computed, in pieces that can be done on any day), ``summary(results)`` (numbers for every
claim), ``tables(summary)``, ``figure(summary)`` and, where a claim does not hold,
``explained(summary)``. `running` does the items and keeps what they found,
`claims` judges, `report` writes RESULTS.md. ``randspan reproduce NAME`` runs one; this folder comes
with a clone of the repository, not with an installed package.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

EXPERIMENTS = {
    "table1": "experiments.ua.table1",
    "ua-fig2": "experiments.ua.fig2",
    "ua-fig3": "experiments.ua.fig3",
    "rks-fig1": "experiments.rks.fig1",
    "rks-fig2": "experiments.rks.fig2",
    "rhss-fig2": "experiments.rhss.fig2",
    "bsw-rates": "experiments.bsw.rates",
}


def find(name: str) -> ModuleType:
    """The module of an experiment."""
    if name not in EXPERIMENTS:
        known = ", ".join([*EXPERIMENTS, "all"])
        raise ValueError(f"There is no experiment {name!r}; there are {known}.")
    return import_module(EXPERIMENTS[name])
