"""scikit-learn's checks of its contract, where they can tell something.

Most checks ask what an estimator does with parameters, targets and weights before any function is
drawn; these are the same for every family and every loss. All checks therefore run for one
estimator of every route from rows to weights, with few functions; other families and losses have
the checks in which their own code takes part.
"""

import re
from functools import partial

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import randspan as rs
from randspan.losses import NAMED
from table import FAMILIES

#: Expected failures, of one kind.
EXPECTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
DRAWN = dict.fromkeys(EXPECTED, "every row, weighed or repeated, has a random target of its own")
RACED = dict.fromkeys(EXPECTED, "a race is judged by rows that are solved for to a residual")
#: These checks set the parameter, whatever it means.
RACED |= dict.fromkeys(
    (
        *("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
        *("check_fit2d_1sample", "check_fit2d_1feature"),
    ),
    "family='auto' decides itself how many functions there are, and refuses n_components=1",
)
#: Cells stand in the order in which rows bring them.
ORDER = dict.fromkeys(EXPECTED, "repeated and shuffled rows bring the same cells in another order")
#: Losses other than the squared one are solved to a residual.
PASSED = dict.fromkeys(EXPECTED, "solutions are good to a residual of 1e-6")
#: This check has targets of both signs, whatever the tags say.
POSITIVE = PASSED | {"check_regressor_multioutput": "the loss is for positive targets"}

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
FOURIER = rs.Fourier()
# A number for max_features, because the choice of it takes longer than everything else.
TREES = rs.Trees(max_features=1)
LEAVES = rs.Trees(max_features=1, output="leaves", min_samples_leaf=3)
HYPOTHESES = FAMILIES["hypotheses"]

#: One estimator, or one of each kind, for every route from rows to weights.
ROUTES = [
    *(R(), C(), T()),  # moments and their eigenvectors, the dual, and the choice of a width
    *(R(FOURIER, 20, alpha=0.1), C(FOURIER, 20, alpha=0.1)),  # Cholesky
    *(R(FOURIER, 20, alpha=0.1, bound=2e3), C(FOURIER, 20, alpha=0.1, bound=2e3)),  # a box
    R(FOURIER, 20, alpha=0.1, solver="qr"),
    R(rs.BrownianSheets(grid="sparse"), 10),  # least squares without a ridge
    *(R(rs.Bins(), 10), C(rs.Bins(), 10), T(rs.Bins(), 10)),  # cells
    *(R(FAMILIES["hybrid"], 10), C(FAMILIES["hybrid"], 10)),  # cells beside dense functions
    *(R(rs.Trees(), 10), C(TREES, 20), T(TREES, 10)),  # out-of-bag predictions
    *(R(HYPOTHESES, 10), C(HYPOTHESES, 10)),
    C(LEAVES, 5, alpha=0.1),  # cells that learned from the targets
    *(R(FOURIER, np.inf), C(FOURIER, np.inf)),  # the exact kernel machine
    R(FOURIER, 20, solver="sketched"),
    R(FOURIER, 20, loss="huber"),  # alpha by held-out rows
    C(FOURIER, 20, loss="logistic", alpha=0.1),  # Newton steps, for several classes L-BFGS
    C(FOURIER, 20, loss="logistic", alpha=0.1, solver="lbfgs"),
    C(FOURIER, 20, loss="logistic", alpha=0.1, bound=2e3),
    R(FOURIER, 20, loss="absolute", alpha=1.0),  # multipliers
    C(FOURIER, 10, loss="hinge", alpha=10.0),
    R(rs.Bins(), 10, alpha=0.1, solver="conjugate"),
    C(rs.Bins(), 10, loss="logistic", alpha=0.1),
]

#: Families of which the routes above have none of the kind: other distributions of the same
#: functions say nothing new here. Those that do not look at targets do the same for classes as for
#: numbers. There are more functions than the 27 rows that a check of sample weights has: between as
#: many functions as distinct rows and as rows, repeated rows get another alpha.
OTHERS = [
    kind(FAMILIES[name], 40)
    for name in (
        *("fourier-matern52-qmc", "fourier-structured", "stumps-quantile", "units-direct"),
        *("bumps", "projections", "expansions", "expansions-pivots", "networks-deep"),
        *("union-of-three", "sheets-smooth", "wavelets", "mercer", "union-of-sheets"),
    )
    for kind in (R, T)
]
OTHERS += [
    *(T(FAMILIES["hybrid"], 10), T(LEAVES, 5), T(HYPOTHESES, 10)),
    *(R(TREES + FOURIER, 20), C(TREES + FOURIER, 20), T(TREES + FOURIER, 20)),
]
#: The other losses, and alpha by held-out rows for a kink and for classes. (Random targets take so
#: many functions that they stand here.)
LOSSES = [
    kind(FOURIER, 20, loss=name, alpha=1.0)
    for kind in (R, C)
    for name, loss in NAMED.items()
    if (loss.for_numbers if kind is R else loss.for_classes)
    and not any(type(model) is kind and model.loss == name for model in ROUTES)
]
LOSSES += [
    *(R(FOURIER, 20, loss="absolute"), C(FOURIER, 4, loss="logistic")),
    *(R(FAMILIES["hypotheses-random"], 100), C(FAMILIES["hypotheses-random"], 10)),
    *(R("auto", effort="fast"), C("auto", effort="fast")),  # several routes together
]

#: Checks that fit nothing, or are refused before anything is drawn: once for every estimator.
PARAMETERS = {
    *("check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types"),
    *("check_estimator_repr", "check_no_attributes_set_in_init", "check_mixin_order"),
    *("check_do_not_raise_errors_in_init_or_set_params", "check_parameters_default_constructible"),
    *("check_get_params_invariance", "check_set_params", "check_array_api_input"),
    *("check_estimators_unfitted", "check_transformers_unfitted", "check_requires_y_none"),
    *("check_complex_data", "check_fit1d", "check_estimators_empty_data_messages"),
}
#: Checks in which functions are drawn and evaluated on rows of another form, or solved for again.
OWN = {
    *("check_estimators_dtypes", "check_dtype_object", "check_regressors_int"),
    *("check_estimator_sparse_tag", "check_estimators_nan_inf", "check_estimators_pickle"),
    *("check_f_contiguous_array_estimator", "check_readonly_memmap_input"),
    *("check_regressors_train", "check_regressor_multioutput", "check_transformer_general"),
    *("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    *("check_fit2d_1sample", "check_fit2d_1feature", "check_estimators_partial_fit_n_features"),
    *("check_fit_idempotent", "check_dict_unchanged", "check_pipeline_consistency"),
    *("check_estimators_overwrite_params", *EXPECTED),
}
#: More of the same, which fit ten models and more.
MANY_FITS = {
    *("check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_classifiers_train")
}


def expected_failures(estimator):
    family = estimator.family
    if isinstance(family, str):
        return RACED if family == "auto" else {}
    if getattr(family, "targets", None) == "random":
        return DRAWN
    if isinstance(estimator, T):
        return ORDER if family.sparse and not family.trains else {}
    if estimator.loss in ("poisson", "gamma"):
        return POSITIVE
    return PASSED if estimator.loss != "squared" or estimator.solver in PASSES else {}


PASSES = ("sketched", "conjugate")


def name_of(check):
    while isinstance(check, partial):
        check = check.func
    return check.__name__


def checks():
    """Every estimator with its checks, those that are known to fail marked."""
    done = set()
    for estimators, names in ((ROUTES, None), (OTHERS, OWN | MANY_FITS), (LOSSES, OWN)):
        for estimator in estimators:
            failures = expected_failures(estimator)
            for one, check in estimator_checks_generator(estimator):
                name = name_of(check)
                again = name in PARAMETERS and (type(one), name) in done
                if again or (names is not None and name not in names):
                    continue
                done.add((type(one), name))
                marks = [pytest.mark.xfail(reason=failures[name])] if name in failures else []
                form = ",".join(f"{key}={value}" for key, value in check.keywords.items())
                label = re.sub(r"\s", "", f"{one!r}-{name}({form})").removesuffix("()")
                yield pytest.param(one, check, marks=marks, id=label)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
