"""Accuracies by scale that were measured: strings of eight digits, read by classifiers of single digits.

Writes tests/subjects/emergence/digit_strings.csv: python benchmarks/digit_strings.py
A string counts as solved if all eight digits are right. The scale is the number of training rows of each classifier.
"""

import pathlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

LENGTH, ITEMS = 8, 400
TARGET = pathlib.Path(__file__).parents[1] / "tests" / "subjects" / "emergence" / "digit_strings.csv"


def table() -> list[tuple[int, float, float]]:
    """Rows of training, accuracy on strings, accuracy on digits."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(x))
    train, test = order[:1000], order[1000:]
    found = []
    for rows in (10, 20, 40, 80, 160, 320, 640, 1000):
        own = train[:rows]
        right = LogisticRegression(C=0.05, max_iter=1000).fit(x[own] / 16, y[own]).predict(x[test] / 16) == y[test]
        strings = rng.integers(len(test), size=(ITEMS, LENGTH))
        found.append((rows, float(right[strings].all(axis=1).mean()), float(right.mean())))
    return found


if __name__ == "__main__":
    lines = [f"{rows},{whole:.4f},{digit:.4f},{ITEMS}" for rows, whole, digit in table()]
    TARGET.write_text("\n".join(["rows,accuracy,digit_accuracy,items", *lines]) + "\n")
