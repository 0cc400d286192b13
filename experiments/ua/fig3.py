"""UA Fig. 3: stumps beside AdaBoost on Adult: error, and time to train and test, against k.

The same runs as the first rows of RKS Fig. 1.
"""

from __future__ import annotations

from experiments.rks import fig1
from experiments.running import Item

NAME = "ua-fig3"
TITLE = "UA Fig. 3: stumps beside AdaBoost on Adult"
DOCUMENT = "ua"
KEPT_AS = "rks-fig1"

summary, tables, explained, figure = fig1.summary, fig1.tables, fig1.explained, fig1.figure


def items(quick: bool) -> list[Item]:
    return fig1.items(quick, ("adult", "adult, raw"))
