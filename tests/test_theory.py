"""The inequalities: values by mpmath from the corrected formulas, conditions, vacuous bounds."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import randspan as rs
from randspan.theory import bsw, certificate, grassmannian, rhss, rks, ua
from randspan.theory.conditions import VacuousBound, quietly, smallest

LN = mp.log
ROOT2 = 1 + mp.sqrt(2)

# name: (ours, by hand)
VALUES = {
    "UA 3.1": (
        lambda: ua.theorem_3_1(2.5, 300, 0.1),
        lambda: mp.mpf("2.5") / mp.sqrt(300) * (1 + mp.sqrt(2 * LN(10))),
    ),
    "UA 3.2": (
        lambda: ua.theorem_3_2(2.0, 500, 0.05, lipschitz=0.25, radius=3.0, second_moment=4.0),
        # 4LB√(Eθ'θ) = 4·0.25·3·2 = 6
        lambda: 2 / mp.sqrt(500) * (mp.sqrt(2 * LN(20)) + 6),
    ),
    "UA 3.2, printed": (
        lambda: ua.theorem_3_2(
            2.0, 500, 0.05, lipschitz=0.25, radius=3.0, second_moment=4.0, printed=True
        ),
        lambda: 2 / mp.sqrt(500) * (mp.sqrt(LN(20)) + 6),
    ),
    "UA remark": (
        lambda: ua.remark_3_2(3.0, 400, 0.2, complexity=0.05),
        lambda: 3 * (mp.mpf("0.1") + mp.sqrt(2 * LN(5) / 400)),
    ),
    "UA 4.1": (lambda: ua.proposition_4_1(1.7), lambda: mp.mpf("1.7")),
    "RKS 1": (
        lambda: rks.lemma_1(1.0, 100, 0.3),
        lambda: (1 + mp.sqrt(2 * LN(mp.mpf(10) / 3))) / 10,
    ),
    "RKS 2": (
        lambda: rks.lemma_2(4.0, 1.5, 900, 0.05),
        lambda: mp.mpf(6) / 30 * (1 + mp.sqrt(2 * LN(20))),
    ),
    "RKS 3": (
        lambda: rks.lemma_3(1.0, 10.0, 1.0, 10_000, 0.05),
        lambda: (40 + 2 + 20 * mp.sqrt(LN(20) / 2)) / 100,
    ),
    "RKS 3, printed": (
        lambda: rks.lemma_3(1.0, 10.0, 1.0, 10_000, 0.05, printed=True),
        lambda: (40 + 2 + 10 * mp.sqrt(LN(20) / 2)) / 100,
    ),
    "RKS theorem 1": (
        lambda: rks.theorem_1(1.0, 10.0, 1.0, 10_000, 400, 0.05),
        lambda: (
            2 * (40 + 2 + 20 * mp.sqrt(LN(20) / 2)) / 100
            + mp.mpf(10) / 20 * (1 + mp.sqrt(2 * LN(20)))
        ),
    ),
    "RKS theorem 2": (
        lambda: rks.theorem_2(0.07, 2.0, 3.0, 0.5, 2_500, 0.1),
        lambda: 8 * mp.mpf("0.07") + mp.mpf(1) / 50 + 12 * mp.sqrt(LN(10) / 5000),
    ),
    "RKS 4": (lambda: rks.lemma_4(5.0, 25, 0.05), lambda: 1 + mp.sqrt(2 * LN(20))),
    "RKS Rademacher": (lambda: rks.rademacher(7.0, 49), lambda: mp.mpf(1)),
    "RKS cells": (
        # two grids of 10 rows: cells of 4 and 6, of 1 and 9
        lambda: rks.cellwise_rademacher(np.array([4, 6, 1, 9]), 3.0, 2),
        lambda: mp.mpf(3) / 2 * (2 + mp.sqrt(6) + 1 + 3) / 10,
    ),
    "RHSS 4.1": (lambda: rhss.lemma_4_1(2, 5, 0.5, c=2.0), lambda: mp.mpf(4) ** 6),
    "RHSS 4.1, lower half": (
        lambda: rhss.lemma_4_1_lower(1, 3, 1.25, c=0.5),
        lambda: mp.mpf("0.4") ** 2,
    ),
    "RHSS 4.2": (lambda: rhss.lemma_4_2(0.1, 0.25), lambda: mp.mpf("0.35")),
    "RHSS 4.3, smallest": (
        lambda: rhss.theorem_4_3(100, 16, 2.0)["smallest"],
        lambda: mp.mpf(4),
    ),
    "RHSS 4.3, largest": (
        lambda: rhss.theorem_4_3(100, 4, 1.5, C=2.0)["largest"],
        lambda: mp.mpf("15.5"),
    ),
    "RHSS 4.3, chance": (
        lambda: rhss.theorem_4_3(100, 16, 2.0)["chance"],
        lambda: 2 * mp.e**-2,
    ),
    "RHSS 4.4 (i)": (lambda: rhss.lemma_4_4_i(3, 3), lambda: mp.mpf(0)),
    "RHSS 4.4 (i), printed": (
        lambda: rhss.lemma_4_4_i(4, 36, printed=True),
        lambda: 2 * mp.e**-8,
    ),
    "RHSS 4.4 (ii)": (lambda: rhss.lemma_4_4_ii(20, 10.0), lambda: mp.e**-2),
    "RHSS 4.6": (
        # √(nε)/(2c‖y‖) = √(4·0.64)/(2·2) = 0.4
        lambda: rhss.theorem_4_6(4, 4, 0.64, 2.0),
        lambda: mp.exp(-4 * mp.mpf("0.4") ** 3),
    ),
    "RHSS 4.7": (
        lambda: rhss.corollary_4_7(1000, 4, 0.05, 2.0),
        lambda: 4 * (LN(20) / 1000) ** (mp.mpf(2) / 3),
    ),
    "RHSS 4.7, printed": (
        lambda: rhss.corollary_4_7(1000, 4, 0.05, 2.0, printed=True),
        lambda: 4 * (LN(20) / 1000) ** (mp.mpf(1) / 3),
    ),
    "RHSS best k": (
        lambda: rhss.best_k(5, 0.05, 3.0, 2.0, 0.001, 0.1),
        # A = (4·9/5) log(20)^(1/2), B = 8·2·0.001·0.1; (2A/4B)^(4/6)
        lambda: (2 * mp.mpf(36) / 5 * mp.sqrt(LN(20)) / (4 * mp.mpf("0.0016"))) ** (mp.mpf(2) / 3),
    ),
    "RHSS exact law": (
        lambda: rhss.exact_chance(2, 4, 2.0, 0.25),
        # Beta(1, 1) is uniform: P(4·er/4 > 0.25) = 0.75
        lambda: mp.mpf("0.75"),
    ),
    "RHSS exact quantile": (lambda: rhss.exact_quantile(2, 4, 2.0, 0.25), lambda: mp.mpf("0.75")),
    "RHSS 4.8": (lambda: rhss.theorem_4_8(0.5, 10, 0.02), lambda: mp.mpf("0.1")),
    "RHSS 4.9": (
        lambda: rhss.theorem_4_9(0.3, 2.0, 0.01, 800, 0.05),
        lambda: mp.mpf("0.3") + 16 * mp.mpf("0.01") + 4 * mp.sqrt(LN(20) / 100),
    ),
    "BSW 7": (lambda: bsw.lemma_7(3.0, 2.0, 100), lambda: mp.mpf("0.36")),
    "BSW 7, variance": (lambda: bsw.lemma_7_variance(2.0, 3.0, 0.5, 10), lambda: mp.mpf("0.85")),
    "BSW 8": (
        lambda: bsw.theorem_8(3.0, 2.0, 100, 1.5),
        lambda: 8 * LN(100) / 100 * (ROOT2 * 18 + mp.mpf("2.25")),
    ),
    "BSW 8, high probability": (
        lambda: bsw.theorem_8(1.0, 1.0, 200, 0.0, eta=0.05),
        lambda: 8 * LN(4000) / 200 * ROOT2,
    ),
    "BSW 9": (
        lambda: bsw.theorem_9(10_000, 100, noise=2.0, bound=1.0, norm=3.0, sup_square=2.0, c=0.5),
        lambda: (
            mp.mpf("0.5") * 4 * (LN(10_000) + 1) / 100 + 8 * LN(100) / 100 * (8 * ROOT2 * 18 + 1)
        ),
    ),
    "BSW 9, high probability": (
        lambda: bsw.theorem_9(
            40_000, 400, noise=1.0, bound=2.0, norm=1.0, sup_square=1.0, c=1.0, eta=0.1
        ),
        lambda: 4 * (LN(40_000) + 1) / 100 + 8 * LN(4_000) / 400 * (8 * ROOT2 + 4),
    ),
    "BSW best P": (lambda: bsw.best_P(10_000, 3.0), lambda: mp.mpf(300)),
    "BSW equation 2": (
        lambda: bsw.equation_2(1000, 30, 2.0, 1.5, 0.1, (0.5, 2.0)),
        lambda: mp.mpf("0.5") * 30 * LN(1000) / 1000 + 2 * 6 * LN(10_000) / 30,
    ),
    "BSW equation 6": (
        lambda: bsw.equation_6(10_000, 2.0, 1.0, 3.0),
        lambda: 3 * 2 * 2 * LN(10_000) / 100,
    ),
    "BSW minimax": (lambda: bsw.minimax_exponent(1.0, 1), lambda: mp.mpf(2) / 3),
    "BSW truncation": (lambda: bsw.truncation(16, 1.5, 2, 2.0), lambda: 2 * mp.mpf(16) ** -1.5),
    "BSW sheet": (lambda: bsw.sup_square_sheet(3), lambda: mp.mpf(8)),
    "BSW sheet without the constant": (
        lambda: bsw.sup_square_sheet(3, constant=False),
        lambda: mp.mpf(1),
    ),
    "BSW wavelets": (
        lambda: bsw.sup_square_wavelets(1.5, 2, 1.2, 3),
        lambda: mp.mpf("1.2") ** 4 * 9 * (1 + 3 / (1 - mp.mpf("0.5"))),
    ),
    "BSW anisotropic": (
        lambda: bsw.sup_square_anisotropic([1.0, 1.5], 2.0),
        lambda: (1 + 4 / mp.mpf("0.5")) * (1 + 4 / mp.mpf("0.75")),
    ),
    "BSW cost, build": (
        lambda: bsw.cost(100, 2)["build"],
        lambda: 4 * mp.mpf(1000) * LN(100),
    ),
    "BSW cost, solve": (lambda: bsw.cost(100, 2)["solve"], lambda: mp.mpf(10_000)),
}


#: what the documents prove, by their numbers: SPEC's table of section 3
RESULTS = {
    "UA Theorem 3.1": ua.theorem_3_1,
    "UA Theorem 3.2": ua.theorem_3_2,
    "UA remark": ua.remark_3_2,
    "UA Proposition 4.1": ua.proposition_4_1,
    "UA equation 11": ua.equation_11,
    "UA Theorem 4.2": ua.expansion_mixture_norm,
    "RKS Lemma 1": rks.lemma_1,
    "RKS Lemma 2": rks.lemma_2,
    "RKS Lemma 3": rks.lemma_3,
    "RKS Lemma 4": rks.lemma_4,
    "RKS Theorem 1": rks.theorem_1,
    "RKS appendix, Theorem 2": rks.theorem_2,
    "RKS Rademacher": rks.rademacher,
    "RHSS Lemma 4.1": rhss.lemma_4_1,
    "RHSS Lemma 4.1, lower half": rhss.lemma_4_1_lower,
    "RHSS Lemma 4.2": rhss.lemma_4_2,
    "RHSS Theorem 4.3": rhss.theorem_4_3,
    "RHSS Lemma 4.4 (i)": rhss.lemma_4_4_i,
    "RHSS Lemma 4.4 (ii)": rhss.lemma_4_4_ii,
    "RHSS Theorem 4.6": rhss.theorem_4_6,
    "RHSS Corollary 4.7": rhss.corollary_4_7,
    "RHSS Corollary 4.7, best k": rhss.best_k,
    "RHSS exact law": rhss.exact_chance,
    "RHSS Theorem 4.8": rhss.theorem_4_8,
    "RHSS Theorem 4.9": rhss.theorem_4_9,
    "RHSS metric (2)": grassmannian.hausdorff,
    "BSW Lemma 7": bsw.lemma_7,
    "BSW Theorem 8": bsw.theorem_8,
    "BSW Theorem 9": bsw.theorem_9,
    "BSW equation 2": bsw.equation_2,
    "BSW equation 6": bsw.equation_6,
    "BSW truncation": bsw.truncation,
    "BSW sup of sheets": bsw.sup_square_sheet,
    "BSW sup of wavelets": bsw.sup_square_wavelets,
    "BSW sup of anisotropic wavelets": bsw.sup_square_anisotropic,
    "BSW cost": bsw.cost,
}


def test_every_inequality_of_the_documents_is_there():
    """No result of the table is missing, and no function of a document's module is not in it."""
    steps = {"lemma_7_variance", "best_P", "minimax_exponent", "exact_quantile", "loss_constants"}
    steps |= {"random_signs", "of_signed_sums", "cellwise_rademacher", "empirical_rademacher"}
    steps |= {"expansion_rkhs_norm"}
    for module in (ua, rks, rhss, bsw):
        own = {
            name
            for name, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", "") == module.__name__
        }
        listed = {
            result.__name__ for result in RESULTS.values() if result.__module__ == module.__name__
        }
        assert {name for name in own if not name.startswith("_")} - steps == listed, module


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_the_formula(name):
    ours, by_hand = VALUES[name]
    with quietly():
        found = ours()
    assert isinstance(found, float)
    assert found == pytest.approx(float(by_hand()), rel=1e-12, abs=1e-300)


def test_everything_broadcasts():
    k = np.array([[50], [1000]])
    delta = np.array([0.05, 0.3, 0.5])
    found = ua.theorem_3_1(1.0, k, delta)
    assert found.shape == (2, 3)
    assert found[1, 2] == ua.theorem_3_1(1.0, 1000, 0.5)
    with quietly():
        assert bsw.theorem_8(1.0, 1.0, np.array([100, 400]), 1.0).shape == (2,)
        assert rks.theorem_1(1.0, 2.0, 1.0, np.array([100, 200]), 50, 0.1).shape == (2,)
        assert rhss.corollary_4_7(np.array([5, 9]), 20, 0.1, 1.0).shape == (2,)
    assert rhss.exact_quantile(np.array([5, 9]), 20, 1.0, 0.1).shape == (2,)


REFUSED = {
    "delta is a probability": lambda: ua.theorem_3_1(1.0, 10, 1.0),
    "k must be positive": lambda: ua.theorem_3_1(1.0, 0, 0.1),
    "norm must be 0 or more": lambda: ua.theorem_3_1(-1.0, 10, 0.1),
    r"φ\(0\) must be 0": lambda: ua.theorem_3_2(
        1.0, 10, 0.1, lipschitz=1, radius=1, second_moment=1, at_zero=1.0
    ),
    "finite second moment": lambda: ua.theorem_3_2(
        1.0, 10, 0.1, lipschitz=1, radius=1, second_moment=np.inf
    ),
    "Lipschitz": lambda: ua.theorem_3_2(1.0, 10, 0.1, lipschitz=np.inf, radius=1, second_moment=1),
    "Lipschitz on": lambda: rks.lemma_3(np.inf, 1.0, 1.0, 10, 0.1),
    "loss must be one of": lambda: rks.loss_constants("absolute", 1.0),
    "bounded": lambda: ua.expansion_mixture_norm(np.ones(2), np.inf),
    "0 < m < n": lambda: rhss.lemma_4_1(5, 5, 0.1),
    "at most √2": lambda: rhss.lemma_4_1(1, 5, 1.5),
    "a tall matrix": lambda: rhss.theorem_4_3(4, 5, 0.0),
    "√n ≥ C√k": lambda: rhss.lemma_4_4_i(4, 5, printed=True, C=2.0),
    "radius must be": lambda: grassmannian.hausdorff(np.eye(2), np.eye(2), 0.0),
    "k ≤ n": lambda: rhss.theorem_4_6(5, 4, 0.1, 1.0),
    "0 < k < n": lambda: rhss.exact_quantile(5, 5, 1.0, 0.1),
    "P ≥ 15 log P": lambda: bsw.theorem_8(1.0, 1.0, 61, 1.0),
    "P ≥ 62": lambda: bsw.theorem_8(1.0, 1.0, 1, 1.0),
    "P ≥ 15 log.P/η., that is": lambda: bsw.theorem_9(
        100, 62, noise=1.0, bound=1.0, norm=1.0, sup_square=1.0, c=1.0, eta=0.05
    ),
    r"P ≥ 15 log\(P/η\)": lambda: bsw.theorem_8(1.0, 1.0, 62, 1.0, eta=0.05),
    "s > d/2": lambda: bsw.sup_square_wavelets(1.0, 2, 1.0),
    "s_m > 1/2": lambda: bsw.sup_square_anisotropic([0.5, 1.0], 1.0),
    "alpha must be positive": lambda: rs.theory.effective_dimension(np.eye(2), 0.0),
    "K must be n × n": lambda: rs.theory.effective_dimension(np.ones((2, 3)), 1.0),
    "at most 1/2": lambda: rs.theory.functions_needed(np.eye(2), 0.1, accuracy=0.9),
    "at most ‖K‖": lambda: rs.theory.functions_needed(np.eye(2), 2.0),
    "errors must lie between": lambda: rs.theory.clopper_pearson(5, 4),
    "losses range over": lambda: rs.theory.empirical_bernstein([0.0, 2.0], 1.0),
    "two rows": lambda: rs.theory.empirical_bernstein([0.0], 1.0),
    "error must be positive": lambda: rs.theory.how_many(0.0),
}


@pytest.mark.parametrize("condition", REFUSED)
def test_a_condition_that_fails_is_named(condition):
    with pytest.raises(ValueError, match=condition):
        REFUSED[condition]()


@pytest.mark.parametrize(
    "bound",
    [
        lambda: rhss.corollary_4_7(100, 50, 0.05, 1.0),
        lambda: rhss.theorem_4_6(10, 50, 1e-3, 1.0),
        lambda: rks.lemma_3(1.0, 10.0, 1.0, 5, 0.05),
        lambda: rhss.theorem_4_9(0.1, 1.0, 0.5, 10, 0.05),
        lambda: ua.theorem_3_1(1.0, 11, 0.05),
        lambda: ua.theorem_3_2(1.0, 40, 0.05, lipschitz=1, radius=1, second_moment=1),
        lambda: ua.remark_3_2(1.0, 40, 0.05, complexity=0.5),
        lambda: rks.lemma_2(1.0, 1.0, 2, 0.05),
        lambda: rks.lemma_4(1.0, 2, 0.05),
        lambda: bsw.lemma_7(1.0, 1.0, 2),
        lambda: bsw.theorem_8(1.0, 1.0, 62, 1.0),
    ],
)
def test_a_vacuous_bound_says_so(bound):
    with pytest.warns(VacuousBound, match="vacuous"):
        bound()


def test_corollary_4_7_is_vacuous_up_to_the_number_that_it_names():
    n, delta, c = 6, 0.05, 1.5
    needed = np.log(1 / delta) * (2 * c) ** (n - 1)
    with pytest.warns(VacuousBound):
        rhss.corollary_4_7(int(needed), n, delta, 1.0, c)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rhss.corollary_4_7(int(needed) + 1, n, delta, 1.0, c)


@pytest.mark.parametrize(
    ("loss", "at_zero"),
    [
        ("hinge", 1),
        ("squared", 1),
        ("squared_hinge", 1),
        ("exponential", 1),
        ("logistic", np.log(2)),
    ],
)
def test_constants_of_losses_are_those_of_the_losses(loss, at_zero):
    C = 2.0
    own = rs.losses.named(loss, classes=True)
    u = np.linspace(-C, C, 100_001)
    slopes = np.abs(np.diff(own.value(u, np.ones_like(u))) / np.diff(u))
    L, zero = rks.loss_constants(loss, C)
    assert zero == pytest.approx(at_zero)
    assert zero == pytest.approx(float(own.value(np.zeros(1), np.ones(1))[0]))
    # the logistic loss has a slope of 0.88 here, and 1 in the documents
    assert pytest.approx(slopes.max(), rel=1e-3 if loss != "logistic" else 0.15) == L
    assert slopes.max() * (1 - 1e-3) <= L


# -- how many --------------------------------------------------------------------------------------


def test_how_many_inverts_every_bound():
    found = rs.theory.how_many(
        0.1,
        0.05,
        norm=2.0,
        sup=1.5,
        lipschitz=1.0,
        second_moment=2.0,
        radius=0.5,
        loss="squared",
        C=2.0,
        rows=40,
        sup_square=4.0,
        rkhs_norm=3.0,
        bound=1.0,
    )
    log = np.log(20)
    assert found["UA Theorem 3.1"].k == np.ceil((3 / 0.1 * (1 + np.sqrt(2 * log))) ** 2)
    uniform = (3 / 0.1 * (np.sqrt(2 * log) + 4 * 0.5 * np.sqrt(2))) ** 2
    assert found["UA Theorem 3.2"].k == np.ceil(uniform)
    assert found["RKS Lemma 2"].k == np.ceil((6 * 2 / 0.1 * (1 + np.sqrt(2 * log))) ** 2)
    assert found["RKS Lemma 3"].m == np.ceil(((48 + 2 + 24 * np.sqrt(log / 2)) / 0.1) ** 2)
    assert found["RKS Theorem 1"].k is None
    assert "too few" in found["RKS Theorem 1"].remark
    assert found["BSW Lemma 7"].k == 2 * 9 * 4 / 0.01
    assert found["RHSS Corollary 4.7"].k == np.inf or found["RHSS Corollary 4.7"].k > 10**9
    k = int(found["RHSS exact law"].k)
    assert rhss.exact_quantile(k, 40, np.sqrt(40), 0.05) <= 0.1
    assert rhss.exact_quantile(k - 1, 40, np.sqrt(40), 0.05) > 0.1
    P = int(found["BSW Theorem 8"].k)
    assert bsw.theorem_8(3.0, 4.0, P, 1.0) <= 0.01 < bsw.theorem_8(3.0, 4.0, P - 1, 1.0)
    beyond = rs.theory.how_many(1e-10)
    assert beyond["UA Theorem 3.1"].k == np.inf
    assert "> 10^18" in repr(beyond)


def test_how_many_of_theorem_1_shares_the_error():
    found = rs.theory.how_many(0.5, 0.1)["RKS Theorem 1"]
    assert rks.theorem_1(1.0, 1.0, 1.0, found.m, found.k, 0.05) <= 0.5
    with quietly():
        more = rs.theory.how_many(0.5, 0.1, rows=10 * int(found.m))["RKS Theorem 1"]
    assert more.k < found.k


def test_how_many_says_what_is_missing_and_prints_a_table():
    found = rs.theory.how_many(0.05)
    assert "needs lipschitz, radius, second_moment" in found["UA Theorem 3.2"].remark
    assert "4,755" in repr(found)
    assert len(repr(found).splitlines()) == 15
    with pytest.raises(KeyError, match="none of"):
        found["Theorem 99"]
    assert {one["bound"] for one in found.as_dict()["answers"]} >= {"RKS Lemma 2", "BSW Lemma 7"}
    sine = rs.theory.how_many(0.1, lipschitz=1, radius=1, second_moment=1, at_zero=0.5)
    assert "φ(0)" in sine["UA Theorem 3.2"].remark


def test_the_smallest_number_is_the_smallest():
    for wanted in (0.5, 0.1, 0.0123):
        k = smallest(lambda k: 1 / k, wanted)
        assert 1 / k <= wanted
        assert k == 1 or 1 / (k - 1) > wanted
    assert smallest(lambda k: 0.0, 1.0, first=62) == 62
    assert smallest(lambda k: 1.0, 0.5) == np.inf


# -- certificates in numbers -----------------------------------------------------------------------


def test_the_union_spends_delta_once():
    parts = [certificate.in_union(2.0**j, 0.05)[1] for j in range(1, 400)]
    assert sum(parts) < 0.05
    assert sum(parts) == pytest.approx(0.05, rel=0.01)
    assert certificate.in_union(5.0, 0.05) == (8.0, 0.05 / 12)
    assert certificate.in_union(8.0, 0.05) == (8.0, 0.05 / 12)
    assert certificate.in_union(0.0, 0.05) == (2.0, 0.025)


def test_a_certificate_of_a_classifier_by_hand():
    found = certificate.of_classifier(
        0.4, 3.0, lambda C: (2 * (1 + C), 1.0), 1_000_000, 0.05, functions=10, risk="squared risk"
    )
    log = np.log(6 / 0.05)  # j = 2
    by_hand = 0.4 + (4 * 10 * 4 + 2 + 2 * 10 * 4 * np.sqrt(log / 2)) / 1000
    assert found.bound == pytest.approx(by_hand, rel=1e-12)
    assert sum(found.terms.values()) == pytest.approx(found.bound)
    assert not found.vacuous


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_certificate_of_cells_by_hand(kind):
    """Half of δ_j for the deviation of the complexity, which one row changes by 2C/m."""
    known = {"cellwise": 0.05, "functions": 10, "risk": "any"}
    root = np.sqrt(np.log(2 * 6 / 0.05) / (2 * 10_000))
    if kind == "classifier":
        found = certificate.of_classifier(0.4, 3.0, lambda C: (1.0, 1.0), 10_000, 0.05, **known)
        by_hand = 0.4 + 4 * 4 * 0.05 + 4 * 4 * 2 * root + 2 / 100 + 2 * 4 * root
    else:
        found = certificate.of_regressor(0.4, 3.0, 2.0, 10_000, 0.05, 1.0, **known)
        by_hand = 0.4 + 8 * 2 * 4 * 0.05 + 8 * 2 * 4 * 2 * root + 4 * 4 * root
    assert found.bound == pytest.approx(by_hand, rel=1e-12)


def test_a_certificate_of_a_regressor_by_hand():
    found = certificate.of_regressor(
        0.1, 3.0, 2.0, 10_000, 0.05, 1.0, functions=10, risk="mean squared error"
    )
    by_hand = 0.1 + 8 * 2 * 4 / 100 + 4 * np.sqrt(8 * np.log(120)) / 100
    assert found.bound == pytest.approx(by_hand, rel=1e-12)


# -- intervals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.01, 0.16, 0.5])
def test_clopper_pearson_covers_at_least_as_promised(p):
    n = 50
    counts = np.arange(n + 1)
    intervals = np.array([rs.theory.clopper_pearson(int(e), n, 0.1) for e in counts])
    covered = (intervals[:, 0] <= p) & (p <= intervals[:, 1])
    chance = stats.binom.pmf(counts, n, p)[covered].sum()
    assert chance >= 0.9
    exact = stats.binomtest(7, 50).proportion_ci(0.95, method="exact")
    assert rs.theory.clopper_pearson(7, 50) == pytest.approx((exact.low, exact.high))


def test_empirical_bernstein_covers_and_knows_the_variance():
    rng = np.random.default_rng(0)
    losses = rng.beta(0.2, 5.0, size=(1000, 400))
    found = np.array([rs.theory.empirical_bernstein(one, 1.0, 0.1) for one in losses])
    mean = 0.2 / 5.2
    assert ((found[:, 0] <= mean) & (mean <= found[:, 1])).mean() >= 0.9
    # with so small a variance shorter than Hoeffding's
    assert np.median(found[:, 1] - found[:, 0]) < 2 * np.sqrt(np.log(2 / 0.1) / (2 * 400))
    by_hand = np.sqrt(2 * losses[0].var(ddof=1) * np.log(40) / 400) + 7 * np.log(40) / (3 * 399)
    assert found[0, 1] - losses[0].mean() == pytest.approx(by_hand)


# -- kernel matrices -------------------------------------------------------------------------------


def test_effective_dimension_and_leverages_by_inversion():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    K = rs.Fourier(gamma=0.5).kernel(X)
    H = K @ np.linalg.inv(K + 0.3 * np.eye(30))
    assert rs.theory.effective_dimension(K, 0.3) == pytest.approx(np.trace(H))
    assert rs.theory.effective_dimension(K, np.array([0.3, 3.0]))[0] == pytest.approx(np.trace(H))
    np.testing.assert_allclose(rs.theory.row_leverage(K, 0.3), np.diag(H), atol=1e-10)


@pytest.mark.parametrize("k", [10, 60])
def test_leverages_of_functions_sum_to_the_effective_dimension(k):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2))
    Z = rs.Fourier(gamma=0.5).draw(X, k, 0)(X)
    found = rs.theory.function_leverage(Z, 0.3)
    M = Z @ Z.T / k
    by_hand = np.diag(Z.T @ np.linalg.solve(M + 0.3 * np.eye(30), Z)) / k
    np.testing.assert_allclose(found, by_hand, atol=1e-8)
    assert found.sum() == pytest.approx(rs.theory.effective_dimension(M, 0.3))
    assert (found > 0).all()
    assert (found < 1).all()


def test_as_many_functions_as_leverage_theory_asks_for_are_enough():
    rng = np.random.default_rng(3)
    X, alpha = rng.normal(size=(40, 2)), 4.0
    family = rs.Fourier(gamma=0.5)
    K = family.kernel(X)
    needed = rs.theory.functions_needed(K, alpha, sup=np.sqrt(2), accuracy=0.5, delta=0.3)
    d = rs.theory.effective_dimension(K, alpha)
    by_hand = 8 / 3 * 4 * np.log(16 * d / 0.3)
    assert needed["plain"] == np.ceil(by_hand * 40 * 2 / alpha)
    assert needed["leverage"] == np.ceil(by_hand * d)
    root = np.linalg.cholesky(np.linalg.inv(K + alpha * np.eye(40)))
    worst = []
    for seed in range(50):
        k = int(needed["plain"])
        apart = rs.estimate_kernel(family, X, n_components=k, random_state=seed) - K
        worst.append(np.linalg.norm(root.T @ apart @ root, 2))
    assert max(worst) <= 0.5
    # as tight as documented: a constant wrong by 4 would not be seen otherwise
    assert 0.5 / np.quantile(worst, 0.7) < 8


# -- Grassmannian ----------------------------------------------------------------------------------


def test_distances_of_subspaces():
    rng = np.random.default_rng(4)
    U, V = rng.normal(size=(2, 8, 3))
    own = [np.linalg.qr(A)[0] for A in (U, V)]
    by_hand = np.linalg.norm(own[0] @ own[0].T - own[1] @ own[1].T, 2)
    assert grassmannian.distance(U, V) == pytest.approx(by_hand)
    assert grassmannian.distance(U, U @ rng.normal(size=(3, 3))) == pytest.approx(0, abs=1e-12)
    assert grassmannian.distance(U, V[:, :2]) == 1.0
    Q = np.linalg.qr(rng.normal(size=(50, 6)))[0]
    assert grassmannian.distance(Q[:, :3], Q[:, 3:]) == pytest.approx(1)
    assert len(grassmannian.angles(U, V[:, :2])) == 2
    both = grassmannian.angles(U, V)
    np.testing.assert_allclose(np.cos(both[::-1]), np.linalg.svd(own[0].T @ own[1])[1])
    # dependent columns span what the others span
    assert grassmannian.distance(U, np.column_stack([U, U[:, 0]])) == pytest.approx(0, abs=1e-12)


def test_metric_2_is_the_hausdorff_distance_of_unit_spheres():
    """Points of a circle in U, and how far each is from the circle in V."""
    rng = np.random.default_rng(8)
    turns = np.linspace(0, 2 * np.pi, 4001)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    for _ in range(5):
        U, V = (grassmannian.basis(rng.normal(size=(5, 2))) for _ in range(2))
        far = 0.0
        for one, other in ((U, V), (V, U)):
            points = one @ circle
            near = other @ (other.T @ points)
            far = max(
                far, np.linalg.norm(points - near / np.linalg.norm(near, axis=0), axis=0).max()
            )
        # Between two points of the grid the distance changes by 1e-6 at most.
        assert grassmannian.hausdorff(U, V) == pytest.approx(far, abs=2e-6)
        assert grassmannian.hausdorff(U, V, 3.0) == pytest.approx(3 * far, abs=1e-5)
        assert grassmannian.hausdorff(U, V) > grassmannian.distance(U, V)
    assert grassmannian.hausdorff(U, V[:, :1]) == pytest.approx(np.sqrt(2))
    assert grassmannian.hausdorff(U, U) == pytest.approx(0, abs=1e-7)


def test_lines_of_the_plane_are_covered_by_as_many_balls_as_lemma_4_1_says():
    """A ball of radius ε holds the lines within 2 arcsin(ε/2): √2 ≤ Nε ≤ π/2 + √2 up to ε = √2."""
    radii = np.linspace(0.01, np.sqrt(2), 500)
    balls = np.ceil(np.pi / 2 / (2 * np.arcsin(radii / 2)) - 1e-12)
    assert (rhss.lemma_4_1_lower(1, 2, radii, c=np.sqrt(2)) <= balls + 1e-9).all()
    assert (balls <= rhss.lemma_4_1(1, 2, radii, c=np.pi / 2 + np.sqrt(2))).all()
    # Neither half has much to spare.
    assert (balls * radii).min() < 1.5
    assert (balls * radii).max() > 2.2


def test_lemma_4_2_holds():
    rng = np.random.default_rng(5)
    for _ in range(300):
        n, m = int(rng.integers(3, 12)), int(rng.integers(1, 3))
        U = rng.normal(size=(n, m))
        V = U + 10.0 ** rng.uniform(-3, 0) * rng.normal(size=(n, m))
        S = U @ rng.normal(size=(m, 4)) + 0.1 * rng.normal(size=(n, 4))
        for apart in (grassmannian.distance(U, V), grassmannian.hausdorff(U, V)):
            bound = rhss.lemma_4_2(grassmannian.approximation_distance(S, U), apart)
            assert grassmannian.approximation_distance(S, V) <= bound + 1e-12
    # attained: the one vector that U has and V has not
    assert grassmannian.approximation_distance(np.eye(3)[:, 0], np.eye(3)[:, [1]]) == 1.0


def test_a_network_of_hypotheses_is_an_rvfl_on_a_block_network():
    """RHSS Fig. 1: k networks are one wide hidden layer and a fixed block matrix behind it."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    k, units = 4, 5
    family = rs.Networks(hidden=(units,), activation="tanh")
    known = {"alpha": 0, "standardize": False, "clip": None, "scales": None}
    model = rs.SpanRegressor(family, k, **known, random_state=0).fit(X, y)
    inner, outer = model.functions_.weights
    first, last = model.functions_.biases
    hidden = np.tanh(X @ inner.reshape(k * units, 3).T + first.ravel())  # an RVFL's 20 units
    blocks = np.zeros((k * units, k))
    for j in range(k):
        blocks[j * units : (j + 1) * units, j] = outer[j, 0]
    assert np.count_nonzero(blocks) == k * units
    outputs = hidden @ blocks + last[:, 0]
    np.testing.assert_allclose(outputs, model.functions_(X), rtol=1e-5, atol=1e-6)
    w = np.linalg.lstsq(np.column_stack([outputs, np.ones(60)]), y, rcond=None)[0]
    np.testing.assert_allclose(model.weights_, w[:-1], rtol=1e-4)
    # An RVFL on the same hidden layer fits all 20 weights, of which RHSS fits 4 combinations.
    free = np.linalg.lstsq(np.column_stack([hidden, np.ones(60)]), y, rcond=None)
    ours = ((model.predict(X) - y) ** 2).sum()
    assert free[1][0] < ours
