"""Random functions as features for anyone's pipeline."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..engines import CPU
from ..families.base import OUTSIDE
from ..families.checks import check_n_components
from ..families.randomness import seed_from
from ..families.rows import canonical
from ..families.targets import as_columns
from ..features import Features
from ..frame import as_family
from ..losses import Squared
from ..solvers import Task
from ..sources import Source, of_arrays
from ..tuning import frames
from .base import all_or_nothing
from .parameters import check_dtype, check_jobs, check_weights


class SpanTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """x ↦ (φ_1(x), …, φ_k(x))/√k, whose inner products approximate the family's kernel.

    For `Bins` what comes out is sparse, with a column for every cell that holds a row of `fit`.

    Parameters
    ----------
    family : Family or str, default="fourier"
    n_components : int, default=100
    standardize : bool, default=True
    scales : None, "learn", "rotate" or array of shape (n_features,), default=None
    dtype : {"float32", "float64"}, default="float32"
        Of the features that come out.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        All as for `SpanRegressor`.

    Attributes
    ----------
    functions_ : Functions
    frame_ : Frame
    n_outside_ : int
        Rows of `fit` outside of the range that functions on the unit cube were drawn for.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> rs.SpanTransformer(rs.Fourier("matern32"), random_state=0).fit_transform(X).shape
    (200, 100)
    """

    def __init__(
        self,
        family="fourier",
        n_components=100,
        *,
        standardize=True,
        scales=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
    ):
        self.family = family
        self.n_components = n_components
        self.standardize = standardize
        self.scales = scales
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # What comes out has the precision of ``dtype``, whatever comes in.
        tags.transformer_tags.preserves_dtype = []
        with suppress(ValueError):  # what is no family is refused by fit
            tags.target_tags.required = as_family(self.family).uses_target
        return tags

    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None):
        """Read the frame from X and draw the functions.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array, optional
            Numbers or classes (names, or at most 50 different whole numbers), for learned scales
            and for families that learn from targets; nothing else looks at them.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_n_components(self.n_components)
        engine, task = CPU(check_jobs(self.n_jobs)), Task(Squared(), "auto", dtype=self._dtype)
        X = canonical(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32]))
        family, classes, targets = as_family(self.family), False, None
        if y is not None and (isinstance(self.scales, str) or family.uses_target):
            targets, classes = as_columns(X, y)
        source = of_arrays(X, targets, check_weights(sample_weight, X))
        seed, k = seed_from(self.random_state), int(self.n_components)
        wanted = frames.Wanted(family, k, bool(self.standardize), self.scales, seed)
        frame = frames.read(wanted, source, task, engine)
        self.frame_ = frame.taught(source, classes, engine.threads, engine.progress(k, ""))
        functions = self.frame_.functions()
        if functions.coded_parts:
            seen = Features(self.frame_, functions, source.without_absent(), self._dtype)
            functions = functions.with_coded(engine.encode(seen)[0])
        self.functions_, self.n_outside_ = functions, frame.n_outside(X)
        self._warn_outside(self.n_outside_, X)
        return self

    @all_or_nothing
    def fit_transform(self, X, y=None, **fit_params):
        """`fit`, then `transform` of the same rows.

        Parameters
        ----------
        X, y
            As for `fit`.
        **fit_params
            ``sample_weight``.
        """
        return super().fit_transform(X, y, **fit_params)

    def transform(self, X):
        """(φ_1(x), …, φ_k(x))/√k for every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = canonical(
            validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        )
        self._warn_outside(self.frame_.n_outside(X), X)
        dtype, root = self._dtype, np.sqrt(self.functions_.n_components)
        features = Features(self.frame_, self.functions_, Source(X), dtype)
        engine = CPU(check_jobs(self.n_jobs))
        return engine.map(features, lambda Z, rows: (Z / root).astype(dtype))

    @staticmethod
    def _warn_outside(found: int, X) -> None:
        if found:
            warnings.warn(OUTSIDE.format(found, X.shape[0]), stacklevel=3)

    @property
    def _dtype(self) -> np.dtype:
        return check_dtype(self.dtype)

    @property
    def _n_features_out(self):
        return self.functions_.n_columns
