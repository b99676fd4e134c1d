"""The figure of chapter 22."""

import pathlib

import altair as alt
import numpy as np
import pandas as pd
from foundations_pictures import beside, lines, plain, with_points
from pictures import log_axis

from lemmata.subjects.emergence import emergence_report

RUNS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "subjects" / "emergence" / "digit_strings.csv"


def picture() -> alt.HConcatChart:
    """Left, longer answers jump later, but not more sharply; right, measured accuracies on strings of eight digits."""
    scale = np.geomspace(1, 1e6, 121)
    rows = [
        {
            "n": float(n),
            "accuracy": float(np.exp(-tokens * 10 * n**-0.6)),
            "what": f"{tokens} token{'s' * (tokens > 1)}",
        }
        for tokens in (1, 4, 16)
        for n in scale
    ]
    left = lines(
        rows, log_axis("n", "scale"), plain("accuracy", "accuracy"), ["1 token", "4 tokens", "16 tokens"], points=False
    )
    runs = pd.read_csv(RUNS)
    found = emergence_report(runs.rows, runs.accuracy, runs["items"], length=8)
    grid = np.geomspace(8, 1500, 60)
    curve = [{"n": float(n), "accuracy": float(a)} for n, a in zip(grid, found.predicted(grid), strict=True)]
    points = [{"n": float(n), "accuracy": float(a)} for n, a in zip(runs.rows, runs.accuracy, strict=True)]
    axes = log_axis("n", "rows of training"), plain("accuracy", "accuracy on strings")
    right = with_points(curve, points, *axes, ("smooth law", "measured"))
    return beside(left, right).properties(title="")
