"""Regression in the span of random functions."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from .. import losses, predictions
from ..checks import check_number, check_size
from ..portfolio import Portfolio
from .base import SpanModel, squared_only
from .inputs import unpacked
from .parameters import check_weights


class SpanRegressor(RegressorMixin, SpanModel):
    """f(x) = b + Σ_{i≤k} w_i φ_i(x) with minimal Σ_r ω_r loss(f(x_r), y_r) + alpha·k·‖w‖².

    The functions φ_i are drawn once, only w and b are fitted. The squared loss takes one pass over
    the rows; the sums it leaves behind can be added to (`partial_fit`), taken from (`forget`) and
    joined (`merge`). Other losses take several passes, and all rows at once. `Bins` keeps the cells
    of all training rows, 4 bytes a grid (and the inputs, beside dense functions), and is solved for
    in passes over them. `Trees` and `Hypotheses` learn from targets, and are weighed by
    their out-of-bag predictions.

    Parameters
    ----------
    family : Family or str, default="fourier"
        The distribution of the functions: ``rs.Fourier()``, ``rs.Bins()``, ``rs.Stumps()``,
        ``rs.Units()``, ``rs.Bumps()``, ``rs.Projections()``, ``rs.KernelExpansions()``,
        ``rs.Networks()``, ``rs.Trees()``, ``rs.Hypotheses(sampler)``, ``rs.BrownianSheets()``,
        ``rs.ScrambledWavelets()``, ``rs.Dictionary(basis)``, a union with ``+``, or one of the
        names that need no more, in small letters ("fourier", "browniansheets"). The name "fourier"
        with ``n_components="auto"`` leaves the kernel open: Matérn 3/2, or Matérn 1/2 or the
        Laplacian where scales are learned and rows left out do better with it; Matérn 5/2 or the
        Gaussian kernel of smooth functions without noise. "auto" is a
        portfolio: kernels with learned scales, trees and a linear model, f = b + Σ_m v_m f_m with
        weights v ≥ 0 fitted to what each says of training rows that it has not used (see
        `portfolio_`).
    n_components : "auto", int or np.inf, default="auto"
        How many functions; ``family="auto"`` decides that itself, by ``effort``. ``np.inf`` is the
        exact kernel machine of the family's closed-form
        kernel. "auto" is that machine in `fit` up to about 7,900 rows (two n × n matrices in 1 GB;
        squared loss, no box): the model then contains its training rows. Of more rows, of streams
        and for other losses it doubles from 128 until the error of rows left out of a sample falls
        by less than one per cent, at most to 4,096 and to 2·10¹² multiplications for n·k² sums. It
        is 100 for `Bins`, `Trees` and `Hypotheses`, and for every part of a union with these, and
        ⌈√n⌉ for `BrownianSheets`, `ScrambledWavelets` and `Dictionary` (n rows, each as many as its
        weight says).
    loss : {"squared", "absolute", "huber", "pinball", "epsilon_insensitive", "poisson", "gamma"} \
or Loss, default="squared"
        A name, or a loss with numbers of its own in units of y: ``rs.losses.Huber(delta=1.35)``
        ("huber" of one target takes 1.35 standard deviations of residuals, as their median tells),
        ``rs.losses.Pinball(quantile=0.5)``, ``rs.losses.EpsilonInsensitive(epsilon=0.1)``; or one
        of your own (`rs.losses.Loss`). "poisson" (y >= 0) and "gamma" (y > 0) are half deviances
        with a log link: f is log E y, `predict` returns exp(f), and `score` the share of the
        deviance that is explained.
    alpha : "auto", "leave_one_out", "gcv", "heldout", "out_of_bag" or float, default="auto"
        The ridge, in the scale of kernel ridge regression: it keeps its meaning when
        ``n_components`` changes. 0 is minimum-norm least squares (with float64 features). "auto"
        minimises an estimate of the error on new rows, one that can also be asked for by name, and
        is refused with the reason where it is not to be had: "leave_one_out", the exact error of
        rows left out one by one (those of equal inputs together; a row of weight ω is ω copies),
        for the squared loss where rows are at hand, in streams as long as they are at most 10,000;
        "gcv", generalised cross-validation, of streams beyond that (it counts distinct inputs, or
        weights where their mean is below 1); "heldout", folds of rows, for other losses,
        very many functions and `Bins` beyond 2,000 rows, at the cost of three to five fits a fold;
        "out_of_bag" for functions that learned from targets (of predictors with a ridge towards
        their mean, alpha·k·s²·‖w - 1/k‖², s² the squared error of one, or towards 0 where every
        fold prefers that; a number is the plain objective above). For `BrownianSheets`,
        `ScrambledWavelets` and `Dictionary` (not unions) with the squared loss "auto" is 0, or the
        smallest alpha that is numerically reliable where sums are too ill-conditioned for that.
    bound : float or None, default=None
        C of the box |w_i| ≤ C/k, for every column (every cell of `Bins`); no box if None. Direct
        links have none. With the squared loss of dense functions alpha="auto" is that of the
        problem without a box.
    clip : "auto", None or float, default="auto"
        "auto" truncates predictions to the range of the targets seen, and a tenth of it on both
        sides (below, of the range of logarithms where the link is log), for every target (rows that
        were forgotten count as seen); by default only those of families whose functions are
        bounded, or see their inputs clipped (`BrownianSheets`, `ScrambledWavelets`), since others
        extrapolate. A number truncates to [-clip, clip]. The default of a
        classifier is None; "auto" truncates its scores to ±1, but not its decisions. Where rows
        judge alpha, they judge predictions as they are clipped. Streams are exact before clipping.
    fit_intercept : bool, default=True
        The intercept b is not penalised.
    standardize : bool or "robust", default=True
        Centre and scale the columns first, by mean and standard deviation; a column that never
        changes is ignored from then on. "robust" takes median and interquartile range z, and bends
        what is far outside, z/√(1 + (z/3)²), for inputs with heavy tails.
    scales : "auto", None, "learn", "rotate" or array of shape (n_features,), default="auto"
        What the (standardised) columns are multiplied by before the functions see them. "learn"
        finds it by descent on leave-one-out errors, and keeps equal scales where these are no worse
        (or rows are fewer than 20). "auto" does so for dense families whose bandwidth is open
        (gamma="median") and at most 4,096 columns, where the error of rows that had no part in it
        falls by more than its standard error; with a number for ``n_components`` briefly, and where
        that takes less than a third of the fit itself. None keeps equal scales.
        "rotate" learns a full matrix, for families that are the same in all directions (Fourier
        with a Gaussian or Matérn kernel and one gamma, `Bumps`, `Units`, `Projections`).
        `partial_fit` learns from its first rows. Not for `BrownianSheets` and `ScrambledWavelets`,
        which map every column to the unit interval.
    effort : {"fast", "balanced", "best"}, default="balanced"
        Of ``family="auto"``, and refused without it: how many kernels, functions and trees are
        tried. It is counted in work and not in seconds, so that a seed repeats itself.
    categories : sequence of names, indices or flags, default=None
        Columns that are categories whatever their type, beside those whose type says so (strings,
        categories and enums of pandas, polars and pyarrow). Up to 10 levels are columns of 0 and 1
        that share one scale; more are target statistics: the mean of the targets of a level, of
        other rows than a tenth that a training row belongs to, shrunk towards the mean of all.
        Levels that are numbers keep their order in a column beside these. All of that is part of
        the frame, as are guesses for missing numbers and what is known of dates (days, and places
        in the year, month, week and day): ``print(model.frame_)``.
        A category of nearly as many levels as rows, or of rare levels whose targets do not differ
        by more than chance, is left out but for its common levels, and named in a warning.
    columns : dict, default=None
        What columns are, by name or index, where that could be several things: "category",
        "number", "date" or "identifier" (left out). Text is otherwise read as numbers
        ("€1,164.65", "32%", "1.234,5", "yes") or as dates ("2024-08-18", "18/08/2024",
        "Aug 18, 2024") where at least 95 % of the rows of a column are written so; a warning and
        ``frame_`` name these columns.
    frame : Frame or None, default=None
        Another model's ``frame_``, or one from ``rs.Frame.read``: what would otherwise be read
        from the data before the draw, scales and standardisation included.
    solver : {"auto", "cholesky", "eigen", "dual", "qr", "box", "lasso", "out_of_bag", "sketched", \
"newton", "lbfgs", "multipliers", "conjugate"}, default="auto"
        "auto" chooses by shape, loss and memory; `plan_for` and `solution_` say what and why. "qr"
        never squares the condition number, and cannot forget. "sketched" solves the squared loss in
        passes over the rows. Cells of `Bins` have "conjugate", "dual" (few rows), "multipliers" and
        "lbfgs". "out_of_bag" weighs functions that learned from targets, at a given alpha too.
    memory_limit : int, str or None, default=None
        What a fit may take beyond X, in bytes or in words ("3GB"); half of what is free if None.
        Fits in several passes keep the features if they fit in, and compute them anew in every
        pass if not; ``n_components="auto"`` and kernels of ``family="auto"`` have fewer functions
        where memory is short, and scales that nobody has asked for are then equal. What needs more
        is refused before any work, with a MemoryError that says how much.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the features. Sums and solutions are float64 either way.
    random_state : int, RandomState, Generator or None, default=None
        Fixes the draw. None draws anew, or repeats the draw of ``frame``.
    n_jobs : int or None, default=None
        Threads. None uses every core that the process was given (affinity, container, joblib,
        OPENBLAS_NUM_THREADS, ``threadpool_limits``).
    verbose : bool, default=False
        Show a progress bar for work that takes longer than a second.
    penalty : {"l2", "l1"}, default="l2"
        "l1" minimises ½Σω(y - f)²/Σω + alpha·‖w‖₁, scikit-learn's Lasso on plain functions: few
        of them have a weight. It is for the squared loss without a box, dense functions that have
        not learned from targets, and a number for ``n_components``; it streams and forgets, and
        ``alpha="auto"`` is generalised cross-validation along a path (`l1_path`).

    Attributes
    ----------
    weights_ : ndarray of shape (k,) or (n_targets, k)
        Weights of the plain φ_i, for `Bins` of every cell (``functions_.n_columns`` of them); for
        ``n_components=np.inf`` of the kernel at the training rows.
    intercept_ : float or ndarray of shape (n_targets,)
    alpha_ : float
    gcv_error_ : float
        Mean squared error on new rows by generalised cross-validation, (RSS/Σω)/(1 - df/Σω)²;
        with fewer rows than functions df is compared with the number of distinct rows. Known, as
        standard deviations and `leave_one_out` are, for the squared loss solved from statistics.
    oob_error_ : float
        Mean squared error of out-of-bag predictions, cross-validated (`Trees`,
        `Hypotheses` with solver "out_of_bag").
    portfolio_ : Candidates
        Of ``family="auto"``: a table of what was tried, with the error on rows that were left out
        (a share of the variance of the targets) and its standard error, the weight, the seconds,
        and why it was dropped. Other attributes of one model (``weights_``, ``functions_``,
        ``solution_``, …) are then refused by name.
    feature_importances_ : ndarray of shape (n_features,)
        What columns do to predictions: half the mean square by which f(x) changes when a column is
        that of another row (its total effect, a variance), as a share of the sum over all columns
        of the table. It is found when it is first asked for, from up to 1,024 training rows that a
        model keeps; 0 for columns that are constant. Of thousands of columns those of little effect
        share that of their group.
    scale_shares_ : ndarray of shape (n_features,)
        Shares of the columns in learned scales; they sum to 1, and are equal where scales are. How
        far apart rows are in a column says little of what it does to predictions.
    n_components_ : int or inf
    n_outside_ : int
        How many rows of fits lay outside of the range that functions on the unit cube were drawn
        for, and were clipped to it; predictions warn of such rows.
    functions_ : Functions
        The drawn functions: ``functions_(X)`` are the values φ_i(x) for rows as they are handed to
        `predict`.
    frame_ : Frame
        What was read from data before the draw.
    solution_ : Solution
        What the solver did.
    validation_ : Validation
        The error on new rows (``kind``, ``error``, ``standard_error``; of mean squared errors also
        ``r2``, and ``rmse`` in the units of y) by the estimate that chose
        alpha, and with a number for alpha of the rows as long as these are kept (see
        `predict_interval`): "leave_one_out" of predictions as they are clipped, "heldout" or
        "out_of_bag"; else "gcv", with a standard error of error·√(2/(n - df)); "combined" of a
        portfolio, of rows left out by its models and by the folds that weigh them. ``kind`` is
        None, with a ``reason``, where it would cost another fit.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import randspan as rs
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = rs.SpanRegressor(rs.Fourier(), n_components=500, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = self._poor_score
        with suppress(ValueError):  # what is no loss is refused by fit
            tags.target_tags.positive_only = self._loss().positive_only
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Fit all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, categories and dates; what is missing in dense ones is understood.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @squared_only
    def partial_fit(self, X, y=None, sample_weight=None):
        """Add rows; the frame is read from the first ones, or given as ``frame``.

        It is read from the first block, so that predictions are there at once, and anew whenever
        there are four times as many rows, until there are 10,000 or 256 MB of them (a quarter of
        ``memory_limit``, if that is less): all rows are kept till then, and `solution_` says in its
        reason of how many rows the frame is. From then on it stays. A ``frame`` that was handed
        in is not read anew, nor is that of a `fit`.

        What functions were drawn by, and rows weighed by, cannot change any more (family, scales,
        dtype, class_weight, ...); other parameters (alpha, bound, fit_intercept, ...) count from
        the next change of rows on.

        With the frame come ranges, depths and ⌈√n⌉ functions for as many rows as it was read from;
        of a whole stream `Frame.read` reads them, in one pass. Columns that are constant in all
        these rows are warned of.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X, return_std=False):
        """f(x), and the standard deviation of a new observation there.

        Losses with a log link (Poisson, Gamma) predict exp(f(x)), the mean.

        The standard deviation is that of the Bayesian linear model on the features: noise of
        variance σ², weights a priori N(0, σ²/(alpha·k)), a flat prior for the intercept:
        σ²(1 + 1/Σω + z̃'(Z̃'Z̃ + alpha·k·I)⁻¹z̃), with σ² = RSS/(Σω - df), the residual variance
        that generalised cross-validation is built on. It includes the noise. For a portfolio it is
        the deviation of errors that training rows had without themselves, near x where that tells
        more, and larger far from all rows (see `predict_interval`).

        Rows far outside of the training data are warned of: those whose leverage in a linear model
        of the inputs is more than 6 times that of any training row left out (of tables of up to 256
        columns whose rows are kept, as for `predict_interval`).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        return_std : bool, default=False

        Returns
        -------
        mean, or (mean, std) : ndarrays of the shape of y
        """
        source = self._check_X(X)
        if not return_std:
            return self._shaped(self._predictions(self._scores(source)))
        model, engine = self._solved, self._engine()
        if isinstance(model, Portfolio):
            mean, std = predictions.spread(model, source, engine)
        else:
            solution = predictions.least_squares(model, model.found, "return_std=True")
            mean, leverages = predictions.with_leverages(model, source, engine, solution)
            std = np.sqrt(solution.noise_variance * (1 + leverages[:, None]))
        return self._shaped(self._clipped(mean)), self._shaped(std)

    def predict_interval(self, X, coverage=0.9):
        """Between which values a new observation lies, with a chance of ``coverage``.

        Quantiles of the errors that training rows had without themselves and those of equal
        inputs (leave-one-out), around the prediction. They are taken beside √(1 + c·v), v the
        leverage of a row in the fit without it, and scaled by √(1 + c·v(x)): as wide as errors are
        near the training rows, and wider the less these say of x, as the posterior variance of f
        is. c ≥ 1 is larger than 1 where the weights are larger than their prior says. A portfolio
        (``family="auto"``) takes the posteriors of its models by their weights, and scales errors
        by how large they are near x, where that makes intervals sharper. Functions that learned
        from targets have no posterior: their intervals are of one width.

        Of one family the rows must still be known: up to 10,000 of them, those of a kernel machine,
        or of `Bins` solved by an n × n matrix; of others it is the normal quantile times the
        standard deviation of `predict`. What a call needs beside x is computed by the first one:
        for a kernel machine an n × n factor.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Above 0 and below 1.

        Returns
        -------
        lower, upper : ndarrays of the shape of y
        """
        if not 0 < check_number("coverage", coverage) < 1:
            raise ValueError(f"coverage is a chance above 0 and below 1, got {coverage!r}.")
        source = self._check_X(X)
        given = (self._solved, source, self._engine(), float(coverage))
        mean, below, above = predictions.interval(*given)
        mean = self._clipped(mean)
        return self._shaped(mean + below), self._shaped(mean + above)

    def score(self, X, y=None, sample_weight=None):
        """R² of the predictions; of losses with a deviance (Poisson, Gamma) D².

        D² = 1 - D(y, f)/D(y, ȳ) is the share of the deviance that is explained, as `score` of
        scikit-learn's generalised linear models; of several targets the mean.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        check_is_fitted(self)
        X, y, sample_weight = unpacked(self, X, y, sample_weight)
        loss = self._model.task.loss
        if loss.deviance(np.ones(0), np.ones(0)) is None:
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(predicted, y)
        loss.check_targets(y)
        y, weights = y.reshape(predicted.shape), check_weights(sample_weight, predicted)
        mean = np.average(y, axis=0, weights=weights) + np.zeros_like(y)
        own, of_mean = (
            np.average(loss.deviance(at, y), axis=0, weights=weights) for at in (predicted, mean)
        )
        with np.errstate(divide="ignore", invalid="ignore"):  # targets that do not vary
            shares = np.where(of_mean > 0, 1 - own / of_mean, own <= 0)
        return float(np.mean(shares))

    def _predictions(self, scores):
        """What scores mean, by the link of the loss that was fitted, within the limits of clip."""
        return self._clipped(self._model.task.loss.inverse_link(scores))

    @squared_only
    def leave_one_out(self, X, y=None, sample_weight=None):
        """For each training row the prediction of the model fitted without it, exactly.

        y_i - e_i/(1 - h_i), h_i = ω_i(1/Σω + z̃_i'(Z̃'Z̃ + alpha·k·I)⁻¹z̃_i), at the frame and the
        ``alpha_`` of this model: one more pass over the rows. Functions that learned from targets
        cannot forget a row: for these it is the out-of-bag prediction.

        Parameters
        ----------
        X, y, sample_weight
            The rows the model was fitted on (or some of them).

        Returns
        -------
        ndarray of the shape of y
        """
        return self._shaped(self._clipped(self._leave_one_out(X, y, sample_weight)))

    @property
    def weights_(self):
        coef = self.solution_.coef
        return coef[:, 0] if self._flat else coef.T

    @property
    def intercept_(self):
        intercept = self.solution_.intercept
        return float(intercept[0]) if self._flat else intercept

    def _validate(self, X, y, first, min_rows):
        if sparse.issparse(y):
            raise ValueError("y must be dense: use y.toarray().")
        X, y = self._validated(X, y, first, min_rows, multi_output=True, y_numeric=True)
        if y.dtype.kind not in "biuf":
            y = _as_numbers(y)
        check_size("y", y)
        losses.check_targets(self._loss(), y)
        if not first and (y.ndim == 1, y.size // max(len(y), 1)) != (self._flat, self._n_targets):
            raise ValueError(
                f"y has shape {y.shape}; the model was started with "
                f"{'one target' if self._flat else f'{self._n_targets} columns of targets'}."
            )
        return X, y

    def _learn_targets(self, y, classes, streaming=False):
        self._flat = y.ndim == 1
        self._n_targets = 1 if self._flat else y.shape[1]

    def _extent(self, y, weights):
        columns = y.reshape(len(y), -1).astype(np.float64, copy=False)
        present = columns if weights is None else columns[weights > 0]
        lower, upper = present.min(axis=0, initial=np.inf), present.max(axis=0, initial=-np.inf)
        return np.array([lower, upper])

    def _targets(self, y):
        columns = y.reshape(len(y), -1)
        return lambda rows: columns[rows].astype(np.float64, copy=False)

    def _shaped(self, values):
        return values[:, 0] if self._flat else values


def _as_numbers(y):
    """Targets that came as text, where that is numbers."""
    with suppress(TypeError, ValueError):
        numbers = y.astype(np.float64, casting="unsafe" if y.dtype.kind in "US" else "same_kind")
        if np.isfinite(numbers).all():
            return numbers
    raise ValueError(
        f"y holds {y.dtype}, such as {str(y.flat[0])!r}: the targets of a regressor are finite "
        "numbers. For classes use SpanClassifier."
    )
