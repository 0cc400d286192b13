"""``randspan how-many``: how many functions are enough."""

from __future__ import annotations

import json
from math import inf
from typing import Annotated

import typer

from .. import theory


def how_many(
    error: Annotated[float, typer.Option(help="The error that is wanted.")],
    delta: Annotated[float, typer.Option(help="The chance that it is missed.")] = 0.05,
    norm: Annotated[float, typer.Option(help="‖f‖_p of the target; 1: errors are shares.")] = 1.0,
    sup: Annotated[float, typer.Option(help="sup|φ| of the family (Fourier: 1.4142).")] = 1.0,
    lipschitz: Annotated[float | None, typer.Option(help="L of φ/sup|φ| (UA 3.2).")] = None,
    second_moment: Annotated[float | None, typer.Option(help="E θ'θ (UA 3.2).")] = None,
    radius: Annotated[float | None, typer.Option(help="Largest ‖x‖ (UA 3.2).")] = None,
    at_zero: Annotated[float, typer.Option(help="φ(0), which must be 0 (UA 3.2).")] = 0.0,
    loss: Annotated[str, typer.Option(help="Of a classifier (RKS).")] = "hinge",
    box: Annotated[float, typer.Option(help="C, the box of a classifier (RKS).")] = 1.0,
    rows: Annotated[int | None, typer.Option(help="How many rows there are (RKS, RHSS).")] = None,
    covering: Annotated[float, typer.Option(help="The constant c of RHSS.")] = 1.0,
    rkhs_norm: Annotated[float, typer.Option(help="‖f‖_K of the target (BSW).")] = 1.0,
    sup_square: Annotated[float | None, typer.Option(help="sup‖φ‖² (BSW).")] = None,
    bound: Annotated[float | None, typer.Option(help="L ≥ |f| (BSW Theorem 8).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How many functions (and rows) each bound asks for, for a wanted error.

    Constants of a family: rs.theory.constants(family, X).
    """
    try:
        found = theory.how_many(
            error,
            delta,
            norm=norm,
            sup=sup,
            lipschitz=lipschitz,
            second_moment=second_moment,
            radius=radius,
            at_zero=at_zero,
            loss=loss,
            C=box,
            rows=rows,
            c=covering,
            rkhs_norm=rkhs_norm,
            sup_square=sup_square,
            bound=bound,
        )
    except ValueError as reason:
        raise typer.BadParameter(str(reason)) from None
    typer.echo(_json(found) if as_json else repr(found))


def _json(found: theory.HowMany) -> str:
    plain = found.as_dict()
    for answer in plain["answers"]:
        for what in ("k", "m"):
            if answer[what] == inf:  # JSON has no infinity
                answer[what] = "more than 10^18"
    return json.dumps(plain, ensure_ascii=False)
