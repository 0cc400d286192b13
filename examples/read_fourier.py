"""Predict with a Fourier regressor from its file: the standard library, numpy, and no randspan.

``python examples/read_fourier.py model.rsp rows.csv``; docs/files.md describes the format.
"""

import json
import sys

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "BOOL": "|b1"}


def read(path):
    """The objects of a file, and its tensors."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(length)), file.read()
    known = header.pop("__metadata__")
    if (known["format"], known["version"]) != ("randspan", "1"):
        raise ValueError("this is no file of randspan's format 1")
    tensors = {}
    for name, entry in header.items():
        values = data[slice(*entry["data_offsets"])]
        tensors[name] = np.frombuffer(values, DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return json.loads(known["document"]), tensors


def predict(path, X):
    """b + Σ w_i √2 cos(ω_i'x̃ + 2π b_i), x̃ = (x - centre)·scale, clipped to the range of targets."""
    document, tensors = read(path)

    def follow(node):
        """What a field refers to: another object, or a tensor."""
        if isinstance(node, dict) and "ref" in node:
            return document["objects"][node["ref"]]
        if isinstance(node, dict) and "array" in node:
            array = tensors[node["array"]]
            return array.T if node.get("order") == "F" else array
        return node

    def at(thing, *path):
        for name in path:
            thing = follow(thing[name])
        return thing

    model = at(document["objects"][document["root"]], "_model")
    frame, functions = at(model, "frame"), at(model, "functions")
    if functions["is"] != "fourier_functions" or at(functions, "family", "form") != "phase":
        raise ValueError(f"these are {functions['is']}: this reader knows cosines with phases")
    x = (X - at(frame, "centre")) * at(frame, "scale")
    turns = x @ at(functions, "frequencies").T / (2 * np.pi) + at(functions, "phases")
    values = np.sqrt(2) * np.cos(2 * np.pi * turns)
    scores = values @ at(model, "solution", "coef") + at(model, "solution", "intercept")
    lower, upper = at(model, "extent")
    return np.clip(scores, lower - 0.1 * (upper - lower), upper + 0.1 * (upper - lower))


if __name__ == "__main__":
    print(predict(sys.argv[1], np.loadtxt(sys.argv[2], delimiter=",", ndmin=2)))
