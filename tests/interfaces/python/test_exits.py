"""Code of the user that ends the program (sys.exit) becomes an error of the job that ran this code."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import lemmata
from lemmata.errors import SettingError

X = np.random.default_rng(0).normal(size=(60, 2))
Y = X @ [1.0, 2.0]


def leaves(*given, **named):
    sys.exit(0)


class Leaving(Ridge):
    """A model that fits in the study, and ends the program when it is fitted to all rows."""

    def fit(self, X, y):
        return leaves() if len(X) == len(Y) else super().fit(X, y)


class Step(StandardScaler):
    transform = leaves


class Iterated:
    def __iter__(self):
        leaves()


@pytest.mark.parametrize(
    "job",
    [
        lambda: lemmata.study_model(leaves, X, Y),
        lambda: lemmata.study_model(Pipeline([("step", Step().fit(X)), ("model", Ridge().fit(X, Y))]), X, Y),
        lambda: lemmata.study((X, Y), quick=True, models=Iterated()),
        lambda: lemmata.compare("motif", families=Iterated()),
        lambda: lemmata.study((X, Y), quick=True, models="linear", model=Leaving()).best("Leaving"),
    ],
)
def test_an_exit_is_told(job):
    with pytest.raises(SettingError, match="SystemExit: 0"):
        job()


@pytest.mark.parametrize(
    ("wrong", "found"), [(SystemExit(0), "SystemExit: 0"), (KeyError("mine"), "KeyError: 'mine'"),
                         (ValueError("mine"), "found mine")],
)  # fmt: skip
def test_a_scorer_that_fails_is_told_with_the_class_of_its_error(wrong, found):
    def score(truth, said):
        raise wrong

    with pytest.raises(SettingError, match=found):
        lemmata.study((X, Y), quick=True, models="linear", metric=score)
