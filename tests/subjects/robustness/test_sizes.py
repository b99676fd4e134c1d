"""Certificates of very large and very small numbers, without warnings, and errors that name what is wrong."""

import warnings

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.subjects.robustness import certify, largest_radius, smooth

EYE = [(np.eye(2), np.zeros(2))]
METHODS = ["interval", "crown", "alpha", "lp", "exact"]


def after(first):
    return [(first * np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("x", "scales", "truth"),
    [
        ([1.0, 0.0], [1e-160, 1e160], 1e-160),
        ([1.0, 0.0], [1e300, 0.0], 1e-300),
        ([1.0, 0.0], [1.0, 1e160], 1e-160),
        ([1e-300, 0.0], 1.0, 5e-301),
        ([1e-306, 0.0], 1.0, 0.0),
    ],
)
def test_small_radii_are_found(method, x, scales, truth):
    assert largest_radius(EYE, x, method=method, scales=scales) == pytest.approx(truth, rel=2e-3, abs=0)


@pytest.mark.parametrize("method", METHODS)
def test_numbers_that_overflow_are_no_bounds(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if method in ("lp", "exact"):
            for first, radius in ((1e100, 0.1), (1e308, 0.1), (1e308, 3.0)):
                with pytest.raises(SolverError, match=r"linear programme.*remedy: divide weights"):
                    certify(after(first), [1.0, 0.2], radius, method=method)
            with pytest.raises(SolverError, match=r"sizes up to 1e\+100"):
                largest_radius(after(1e100), [1.0, 0.2], method=method)
        else:
            assert certify(after(1e308), [1.0, 0.2], 0.1, method=method).verdict == "robust"
            found = certify(after(1e308), [1.0, 0.2], 3.0, method=method)
            assert found.verdict == "attacked"
            assert found.bound == -np.inf
            assert 0.2 < largest_radius(after(1e308), [1.0, 0.2], method=method) < 0.4  # larger bounds overflow
        with pytest.raises(DataError, match=r"outputs at x; found an output that overflows.*1e\+308"):
            certify(after(1e308), [9.0, 0.2], 0.1, method=method)


@pytest.mark.parametrize("label", [np.array([1]), [1], "a", 2, np.True_], ids=repr)
def test_the_label_is_one_class(label):
    with pytest.raises(SettingError, match=r"label; found .* a class from 0 to 1"):
        certify(EYE, [1.0, 0.0], 0.1, label=label)


@pytest.mark.parametrize("kind", [object, np.uint64, np.int8, bool])
def test_classes_of_every_integer_type_are_read(kind):
    found = smooth(lambda x: (x[:, 0] > 0).astype(int).astype(kind), [1.0, 0.0], 0.5, n=500)
    assert found.label == 1
    assert found == smooth(lambda x: (x[:, 0] > 0).astype(int), [1.0, 0.0], 0.5, n=500)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (np.uint64(2**63 + 5), DataError, "the class 9223372036854775813"),
        (2**70, DataError, "the class 1180591620717411303424"),
        (1.5, ShapeError, "an entry of type float"),
        ("a", ShapeError, "texts"),
        (None, ShapeError, "an entry of type NoneType"),
    ],
)
def test_other_answers_are_refused(answer, error, words):
    kind = answer.dtype if isinstance(answer, np.uint64) else object
    with pytest.raises(error, match=f"answers of f; found {words}"):
        smooth(lambda x: np.array([answer] * len(x), kind), [1.0, 0.0], 0.5)


def test_noise_that_overflows_is_refused():
    with pytest.raises(SettingError, match=r"sigma; found 1e\+308"):
        smooth(lambda x: (x[:, 0] > 0).astype(int), [1.0, 0.0], 1e308)
