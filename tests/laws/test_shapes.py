"""Errors about shapes: every public tool of every subject says what to do, whatever the shape it is given.

The calls are those of the docstrings' examples, with another shape in the place of each array. A run tries an eighth of
the shapes, others for every seed.
"""

import inspect
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jaxtyping
import numpy as np
import pytest

from lemmata.core import array_argument
from lemmata.core._places import unfit
from lemmata.core._reading import reading
from lemmata.errors import LemmataError, ShapeError
from lemmata.subjects.boolean import LowDegreeClassifier, noise_sensitivity
from lemmata.subjects.dynamics import fine_tune
from lemmata.subjects.implicit import margins
from lemmata.subjects.queries import filtered_pca
from lemmata.subjects.scaling import fit_scaling_law
from tests.fuzz.foreign import COUNTS, Recorder, replay

SEED = os.environ.get("LEMMATA_SEED", "0")
MODULES = [module for module in sorted(json.loads(COUNTS.read_text(encoding="utf-8"))) if ".subjects." in module]
EXCUSED = {"bias_variance(x)": "the user's learner fails", "bias_variance(y)": "the same"}
VERBS = ("add", "call", "check", "convert", "make", "pass", "select", "use")


def other_shapes(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """One number, no rows, unequal rows, another number of axes, a row or a column less."""
    yield "number", 0.5
    yield "empty", np.zeros((0, *array.shape[1:]), array.dtype)
    yield "unequal", [[1.0], [2.0, 3.0]]
    yield "more", array[..., None]
    yield "three", array.reshape((*array.shape, *(1,) * max(3 - array.ndim, 1)))
    if array.ndim > 1:
        yield "fewer", array[0]
    if array.ndim:
        yield "short", array[:-1]
    if array.ndim == 2:
        yield "narrow", array[:, :-1]


def without_remedy(call: Callable[[], Any], substitute: str, kind: inspect.Parameter, answer: Any) -> str:
    """What is wrong with the outcome: an error of another library, or one of lemmata's that says nothing to do."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jax.block_until_ready(call())
    except LemmataError as error:
        return "" if error.remedy else f"no remedy: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    return ""


def wanted(name: str, argument: str, substitute: str) -> bool:
    return zlib.crc32(f"{SEED} {name} {argument} {substitute}".encode()) % 8 == 0


@pytest.fixture
def types_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.seconds(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", MODULES)
def test_an_error_about_a_shape_says_what_to_do(module):
    recorder = Recorder(wanted, other_shapes, without_remedy)
    replay(module, recorder)
    assert [each for each in recorder.tried if each.fault and each.what not in EXCUSED] == []


@pytest.mark.parametrize(
    ("found", "rule", "remedy"),
    [
        ("shape (5,)", "shape (n, d), one row for each point", "pass x[:, None] if it is one column, x[None]"),
        ("shape (5,)", "an array with 2 axes", "pass x[:, None] if it is one column, x[None]"),
        ("shape ()", "shape (n,), one number for each row", "pass an array or a list"),
        ("shape (5, 1)", "shape (5,), one target for each row of x", "merge axes with x.reshape(-1)"),
        ("shape (5, 1)", "one class for each of the 5 rows", "merge axes with x.reshape(-1)"),
        ("shape (5, 2, 2)", "shape (n, d), one row for each point", "merge axes with x.reshape(len(x), -1)"),
        (
            "shape (2, 2)",
            "shape (states, actions, states)",
            "add the missing axis, for example an axis of length 1 in front with x[None]",
        ),
        ("shape (4,)", "shape (5,), one target for each row of x", "check that no entry of x is missing or repeated"),
        ("shape (4, 3)", "shape (5, 3), like the rows", "rows and columns of x are not exchanged"),
        ("shape (0, 3)", "shape (n, d), one row for each point", "pass at least one row"),
        ("119 and 120 rows", "the same number of rows", "compare the lengths of all arguments"),
        ("1 numbers", "at least 2 numbers", "pass more entries"),
    ],
)
def test_the_remedy_follows_from_what_was_found_and_from_the_rule(found, rule, remedy):
    assert remedy in ShapeError("x", found=found, rule=rule).remedy
    assert ShapeError("x", found=found, rule=rule, remedy="call home").remedy == "call home"


def test_a_remedy_does_not_name_what_is_no_variable():
    assert "values[None]" in ShapeError("support points", found="shape (3,)", rule="shape (n, d)").remedy


ROWS = np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise_sensitivity(np.sum, ROWS[:, 0], 0.1),
        lambda: noise_sensitivity(lambda x: x[:, 0] > 0, ROWS[:5], 0.1),
        lambda: margins(lambda x: x[:, 0], ROWS, ROWS[:5, 0] > 0, layers=[ROWS]),
        lambda: margins(lambda x: x @ np.ones(2), ROWS, ROWS[:, 0] > 0, layers=[ROWS]),
        lambda: filtered_pca(ROWS[..., None], ROWS[:, 0]),
        lambda: filtered_pca(ROWS[:20], ROWS[:20, 0]),
        lambda: fit_scaling_law([[1.0], [2.0, 3.0]], [1.0, 2.0]),
        lambda: LowDegreeClassifier().fit(ROWS > 0, ROWS[:5, 0] > 0),
        lambda: LowDegreeClassifier().fit(ROWS[..., None] > 0, ROWS[:, 0] > 0),
        lambda: LowDegreeClassifier().fit(ROWS[:0] > 0, []),
        lambda: fine_tune(lambda p, x: x @ p, np.ones(3), ROWS, ROWS[:, 0], optimiser="sgd", steps=[]),
        lambda: array_argument("y", 3.0, axes=1),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_a_remedy_starts_with_a_verb(call):
    with pytest.raises(LemmataError) as refused:
        call()
    assert refused.value.remedy
    assert refused.value.remedy.split()[0].rstrip(",;") in VERBS


def test_an_error_of_numpy_about_shapes_names_all_arguments():
    """Whatever function of a library raised it."""

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x @ y

    def sum_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + y

    for function in (product, sum_of):
        with pytest.raises(
            ShapeError, match=r"x and y; found x of shape \(3,\), y of shape \(4,\); .* remedy: compare"
        ):
            reading(function)(np.ones(3), np.ones(4))
    assert unfit(ValueError("another reason"), [("x", np.ones(3))]) is None
    assert unfit(KeyError("shapes (3,) and (4,) not aligned"), [("x", np.ones(3))]) is None
    assert unfit(ValueError("shapes (3,) and (4,) not aligned"), [("x", None)]) is None
