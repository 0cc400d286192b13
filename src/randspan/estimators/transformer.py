"""Random functions as features for anyone's pipeline."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import engines
from ..checks import check_dtype, check_jobs, check_n_components, check_size
from ..engines import Engine
from ..families import as_family
from ..families.shared.targets import as_columns
from ..features import Features
from ..frame import Frame
from ..losses import Squared
from ..solvers import Task
from ..sources import ArraySource, Blocks, Source, of_arrays
from ..statistics.base import NOT_FINITE
from ..tables import Columns, Table
from ..tuning import frames
from . import started
from .base import all_or_nothing
from .inputs import as_targets, checked, weights_of
from .parameters import FOURIER, OfFamily, check_weights, refuse_nothing, warn_outside


class SpanTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OfFamily):
    """x ↦ (φ_1(x), …, φ_k(x))/√k, whose inner products approximate the family's kernel.

    For `Bins` what comes out is sparse, with a column for every cell that holds a row of `fit` or
    `partial_fit`.

    Parameters
    ----------
    family : Family or str, default="fourier"
    n_components : int, default=100
    standardize : bool or "robust", default=True
    scales : None, "learn", "rotate" or array of shape (n_features,), default=None
    categories : sequence of names or indices, optional
    columns : dict, optional
    frame : Frame or None, default=None
    dtype : {"float32", "float64"}, default="float32"
        Of the features that come out.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        All as for `SpanRegressor`.

    Attributes
    ----------
    functions_ : Functions
        ``functions_(X)`` are the values φ_i(x) of rows as they are handed to `transform`.
    frame_ : Frame
    n_outside_ : int
        Rows of fits outside of the range that functions on the unit cube were drawn for.
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
        family=FOURIER,
        n_components=100,
        *,
        standardize=True,
        scales=None,
        categories=None,
        columns=None,
        frame=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
    ):
        self.family = family
        self.n_components = n_components
        self.standardize = standardize
        self.scales = scales
        self.categories = categories
        self.columns = columns
        self.frame = frame
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
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
        self._begin(*self._checked(X, y, sample_weight, first=True), streaming=False)
        return self

    def _checked(self, X, y, sample_weight, first: bool) -> tuple[Any, Any, Any]:
        """X, y and sample weights; those of blocks come from the blocks."""
        blocks = isinstance(X, Blocks)
        if blocks and (y is not None or (first and self._asks_targets)):
            X, y = checked(self, X, y, reset=first)
        else:
            X, _ = checked(self, X, reset=first)
        return X, y, weights_of(X, sample_weight)

    @property
    def _asks_targets(self) -> bool:
        """Whether targets have a part in the draw."""
        return isinstance(self.scales, str) or as_family(self.family).uses_target

    @all_or_nothing
    def partial_fit(self, X, y=None, sample_weight=None):
        """Read the frame from a first block, or take ``frame``; later blocks bring cells only.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; targets are those of the first block.

        Returns
        -------
        self
        """
        first = not hasattr(self, "functions_")
        X, y, sample_weight = self._checked(X, y, sample_weight, first)
        if first:
            self._begin(X, y, sample_weight, streaming=True)
        else:
            frames.refuse_other_functions(self.n_components, self.frame_)
            started.refuse_changes(self, self.frame_)
            weights = check_weights(sample_weight, X)
            self._see(replace(self._source(X, training=True), weights=weights))
        return self

    def _begin(self, X, y, sample_weight, streaming: bool) -> None:
        check_n_components(self.n_components)
        wanted, classes, targets = self._wanted(int(self.n_components)), False, None
        given = isinstance(self.frame, Frame)
        family = self.frame.family if given else as_family(self.family)
        table = isinstance(X, Table)
        if y is not None and (isinstance(self.scales, str) or family.uses_target or table):
            targets, classes = as_columns(X, as_targets(y))
            check_size("y", targets)
        weights, columns = check_weights(sample_weight, X), None
        if isinstance(X, Source):
            encoded = None if targets is None else targets.__getitem__
            self._drawn(replace(X, encoded=encoded, weights=weights), wanted, classes, streaming)
            return
        if given:
            X = self.frame.table(X)
        elif table:
            columns = Columns.read([(X, targets, weights)])
            X = columns.known(X)
        keys = X.keys if isinstance(X, Table) else None
        if given:
            X = self.frame.encoded(X, True, targets, weights)
        elif columns is not None:
            X = columns.encode(X, True, targets, weights)
        source = replace(of_arrays(X, targets, weights, keys=keys), columns=columns)
        self._drawn(source, wanted, classes, streaming)

    def _drawn(self, source: Source, wanted, classes: bool, streaming: bool) -> None:
        """Read the frame, draw the functions, and see the rows."""
        engine, task = self._engine(), Task(Squared(), "auto", dtype=self._dtype)
        given = isinstance(self.frame, Frame)
        if not given:
            refuse_nothing(source)
        frame = frames.given(wanted, source)
        frame, _ = frames.obtained(wanted, frame, source, task, engine, classes, streaming)
        if streaming and not given:  # features were handed out: their frame cannot change any more
            frames.warn_of_few_rows(source, self.standardize)
        self.frame_, self.n_outside_ = frame, 0
        self.functions_ = frame.functions().framed(frame)
        self._see(source)
        self._started = started.parameters(self)

    def _see(self, source: Source) -> None:
        """Take in rows that the frame is known for: a column for every cell that holds one."""
        functions = self.functions_
        if functions.cell_parts:
            rows = Features(self.frame_, functions, source.without_absent(), self._dtype)
            cells = self._engine().cells(rows)[0]
            self.functions_ = functions.with_cells(cells).framed(self.frame_)
        found = self.frame_.n_outside(source)
        self.n_outside_ += found
        warn_outside(found, source.n_rows)

    @all_or_nothing
    def fit_transform(self, X, y=None, **fit_params):
        """`fit`, then `transform` of the same rows.

        Rows that were fitted are not told their own targets: of categories whose columns are
        statistics of targets (`SpanRegressor`) `transform` alone uses all rows.

        Parameters
        ----------
        X, y
            As for `fit`.
        **fit_params
            ``sample_weight``.
        """
        self.fit(X, y, **fit_params)
        X = checked(self, X, reset=False)[0]
        if isinstance(X, Source):
            return self._features(X)
        weights = check_weights(fit_params.get("sample_weight"), X)
        targets = as_columns(X, y)[0] if y is not None and isinstance(X, Table) else None
        return self._features(ArraySource(self.frame_.encoded(X, True, targets, weights)))

    def transform(self, X):
        """(φ_1(x), …, φ_k(x))/√k for every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._features(self._source(checked(self, X, reset=False, learned=False)[0]))

    def _source(self, X, training: bool = False) -> Source:
        """Rows that were checked, in columns of the frame."""
        if isinstance(X, Source):
            if self.frame_.columns is None:
                return X
            X = X.held().X
        return ArraySource(self.frame_.encoded(X, training))

    def _features(self, source: Source):
        dtype, root = self._dtype, np.sqrt(self.functions_.n_components)
        warn_outside(self.frame_.n_outside(source), source.n_rows)
        features = Features(self.frame_, self.functions_, source, dtype)

        def scaled(Z, block):
            with np.errstate(over="ignore"):
                values = (Z / root).astype(dtype)
            if not np.isfinite(values.data if sparse.issparse(values) else values).all():
                raise ValueError(NOT_FINITE)
            return values

        return self._engine().map(features, scaled)

    def _engine(self) -> Engine:
        return engines.of(n_jobs=check_jobs(self.n_jobs))

    @property
    def _dtype(self) -> np.dtype:
        return check_dtype(self.dtype)

    @property
    def _n_features_out(self):
        return self.functions_.n_columns
