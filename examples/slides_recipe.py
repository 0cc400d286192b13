"""Random kitchen sinks in ten lines of numpy, after the authors' slides, their slips corrected.

The slides' recipe leaves out √(2/D): its ridge λ is a kernel ridge of 2λ/D, which is the ``alpha``
of `SpanRegressor` with the same cosines. Prints both predictions and how far they are apart.
"""

import numpy as np

import randspan as rs


def recipe(X, y, X_new, frequencies, phases, ridge):
    """w = (ZZ' + λI)⁻¹Zy with Z = cos(ΩX + b), a column for every row; then w'Z of new rows."""
    Z = np.cos(frequencies @ X.T + phases[:, None])
    w = np.linalg.solve(Z @ Z.T + ridge * np.eye(len(Z)), Z @ y)
    return w @ np.cos(frequencies @ X_new.T + phases[:, None])


def main(n=300, D=200, ridge=0.5, gamma=0.7):
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(n, 3)), rng.normal(size=(10, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    plain = {"fit_intercept": False, "standardize": False, "clip": None, "dtype": "float64"}
    family = rs.Fourier(gamma=gamma)  # ω ~ N(0, 2γI): the slides' √γ is another kernel
    model = rs.SpanRegressor(family, D, alpha=2 * ridge / D, random_state=0, **plain).fit(X, y)
    drawn = model.functions_
    theirs = recipe(X, y, X_new, drawn.frequencies, 2 * np.pi * drawn.phases, ridge)
    ours = model.predict(X_new)
    print(np.column_stack([theirs, ours]).round(4))
    print(f"largest difference {np.abs(theirs - ours).max():.1e}")
    return theirs, ours


if __name__ == "__main__":
    main()
