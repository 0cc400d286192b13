"""Random functions as features for anyone's pipeline."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..engines import cpu
from ..engines.codes import encode
from ..families.base import check_n_components
from ..families.rows import canonical
from ..families.targets import as_columns
from ..features import Features
from ..frame import as_family
from ..losses import Squared
from .fitting import Settings
from .outside import Outside
from .parameters import check_dtype, check_jobs, check_weights
from .reading import grown, read_frame


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
        Rows handed to `transform` that lay outside of the range of functions on the unit cube.
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
        tags.target_tags.required = bool(
            getattr(self.family, "uses_target", self.family == "trees")
        )
        return tags

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
        check_dtype(self.dtype)
        check_jobs(self.n_jobs)
        X = canonical(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32]))
        weights = check_weights(sample_weight, X)
        settings = Settings(
            loss=Squared(),
            alpha="auto",
            bound=None,
            intercept=True,
            solver="auto",
            dtype=check_dtype(self.dtype),
            n_jobs=self.n_jobs,
            verbose=False,
        )
        targets, classes = None, False
        if y is not None and (isinstance(self.scales, str) or as_family(self.family).uses_target):
            columns, classes = as_columns(X, y)
            targets = columns.__getitem__
        frame = read_frame(self, X, weights, int(self.n_components), targets, settings)
        self.frame_ = grown(frame, X, targets, weights, classes, settings)
        functions = self.frame_.functions()
        if functions.coded_parts:
            seen = X if weights is None else X[weights > 0]
            features = Features(self.frame_, functions, seen, np.dtype(self.dtype))
            coded, _ = encode(functions.coded_parts, features, self.n_jobs)
            functions = functions.with_coded(coded)
        self.functions_ = functions
        self._outside = Outside()
        return self

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
        self._outside.note(self.frame_, X)
        dtype = np.dtype(self.dtype)
        features = Features(self.frame_, self.functions_, X, dtype)
        root = np.sqrt(self.functions_.n_components)
        return cpu.apply(features, lambda Z, rows: (Z / root).astype(dtype), self.n_jobs)

    @property
    def n_outside_(self) -> int:
        """How many rows lay outside of the range that the functions were drawn for."""
        check_is_fitted(self)
        return self._outside.count

    @property
    def _n_features_out(self):
        return self.functions_.n_columns
