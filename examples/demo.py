"""A first look: random functions on the data sets that scikit-learn ships.

Prints test error and time of several families next to a linear model and an exact kernel machine,
and saves a plot of error against the number of functions as demo.png.
"""

import time
import warnings

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import randspan as rs

mpl.use("Agg")
import matplotlib.pyplot as plt

# Sheets live on the range of the training data, and say when they are asked beyond it.
warnings.filterwarnings("ignore", message=".* rows have values outside of the range")
warnings.filterwarnings("ignore", message=".* that had one value only in the training data")

FAMILIES = {
    "Fourier": rs.Fourier(),
    "Fourier, Laplacian": rs.Fourier("laplacian"),
    "Stumps": rs.Stumps("quantile"),
    "Units, relu": rs.Units("relu"),
    "Bumps": rs.Bumps(),
    "Fourier + Stumps": rs.Fourier() + rs.Stumps("quantile"),
}
WIDTHS = [16, 32, 64, 128, 256, 512, 1024, 2048]
ALPHAS = np.logspace(-4, 4, 33)


def contestants(task):
    """Named models for one task: two to compare with, then ours."""
    if task == "regression":
        yield "linear (RidgeCV)", make_pipeline(StandardScaler(), RidgeCV(ALPHAS))
        machine = GridSearchCV(KernelRidge(kernel="rbf", gamma=0.03), {"alpha": ALPHAS[::4]})
        yield "exact kernel ridge (grid search)", make_pipeline(StandardScaler(), machine)
        model = rs.SpanRegressor
    else:
        yield (
            "linear (RidgeClassifierCV)",
            make_pipeline(StandardScaler(), RidgeClassifierCV(ALPHAS)),
        )
        machine = GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100]})
        yield "exact kernel machine (SVC, grid search)", make_pipeline(StandardScaler(), machine)
        model = rs.SpanClassifier
    for name, family in FAMILIES.items():
        yield name, model(family, random_state=0)
    yield "Bins", model(rs.Bins(), random_state=0)
    yield "Trees", model(rs.Trees(), random_state=0)
    yield "Brownian sheets", model(rs.BrownianSheets(1), 500, alpha="gcv", random_state=0)
    yield "Fourier, infinitely many", model(rs.Fourier(), n_components=np.inf, random_state=0)


def error(model, X, y, task):
    """Root mean squared error, or per cent wrong."""
    predicted = model.predict(X)
    if task == "regression":
        return np.sqrt(np.mean((predicted - y) ** 2))
    return 100 * np.mean(predicted != y)


def main():
    sets = {
        "diabetes": (load_diabetes, "regression", "RMSE"),
        "breast cancer": (load_breast_cancer, "classification", "% wrong"),
        "digits": (load_digits, "classification", "% wrong"),
    }
    print("randspan: draw functions at random, fit only the weights in their span.\n")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for axis, (title, (load, task, unit)) in zip(axes, sets.items(), strict=True):
        X, y = load(return_X_y=True)
        train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.3, random_state=0)
        print(f"{title}: {len(train_X)} rows to train, {len(test_X)} to test, {X.shape[1]} columns")
        print(f"  {'model':<42}{unit:>9}{'seconds':>10}{'functions':>11}")
        for name, model in contestants(task):
            start = time.perf_counter()
            model.fit(train_X, train_y)
            seconds = time.perf_counter() - start
            width = getattr(model, "n_components_", "")
            value = error(model, test_X, test_y, task)
            print(f"  {name:<42}{value:>9.2f}{seconds:>10.2f}{width:>11}")
            if "exact" in name or "linear" in name:
                style = "--" if "exact" in name else ":"
                axis.axhline(value, color="0.4", linestyle=style, label=name.split(" (")[0])
        print()
        plot(axis, title, task, unit, (train_X, train_y, test_X, test_y))
    axes[0].legend(fontsize=7)
    figure.savefig("demo.png", dpi=130)
    print("Error against the number of functions: demo.png")


def plot(axis, title, task, unit, data):
    """Error against k for three families, mean of five draws."""
    train_X, train_y, test_X, test_y = data
    kind = rs.SpanRegressor if task == "regression" else rs.SpanClassifier
    for name in ("Fourier", "Stumps", "Units, relu"):
        errors = [
            np.mean(
                [
                    error(
                        kind(FAMILIES[name], k, random_state=seed).fit(train_X, train_y),
                        test_X,
                        test_y,
                        task,
                    )
                    for seed in range(5)
                ]
            )
            for k in WIDTHS
        ]
        axis.plot(WIDTHS, errors, marker="o", markersize=3, label=name)
    axis.set(title=title, xlabel="functions", ylabel=unit, xscale="log")
    axis.set_xticks(WIDTHS, [str(k) for k in WIDTHS], fontsize=7)
    axis.minorticks_off()


if __name__ == "__main__":
    main()
