"""Each public function that takes an array is handed something else, by a replay of the examples of the docstrings.

A run tries a quarter of the substitutes, others for every seed; `python -m tests.fuzz.foreign` tries all.
"""

import json
import os
import zlib

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pandas
import pytest

from lemmata.errors import DataError, LemmataError, ShapeError
from lemmata.kernels import RBF, gram
from lemmata.solvers import kernel_ridge
from lemmata.subjects.attention import softmax_attention
from tests.fuzz.foreign import (
    COUNTS,
    EXCUSED,
    Recorder,
    array_arguments,
    public_modules,
    public_packages,
    replay,
)

SEED = os.environ.get("LEMMATA_SEED", "0")
KNOWN = json.loads(COUNTS.read_text(encoding="utf-8"))


def wanted(name: str, argument: str, substitute: str) -> bool:
    return zlib.crc32(f"{SEED} {name} {argument} {substitute}".encode()) % 4 == 0


@pytest.fixture
def types_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.seconds(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", sorted(KNOWN))
def test_what_is_no_such_array_is_read_or_refused_in_our_words(module):
    recorder = Recorder(wanted)
    replay(module, recorder)
    assert len(recorder.seen) >= KNOWN[module], "examples that were tried are gone: python -m tests.fuzz.foreign"
    assert [each for each in recorder.tried if each.fault] == []


def test_the_modules_that_are_tried_are_those_of_today():
    assert set(KNOWN) <= set(public_modules())
    assert sum(KNOWN.values()) > 400
    assert len(KNOWN) > 100


@pytest.mark.parametrize("package", public_packages())
def test_every_array_argument_is_read_and_refuses_what_is_no_array(package):
    """Also of those that no example passes: the reader is asked itself."""
    for (name, argument), (function, place) in array_arguments([package]).items():
        assert hasattr(function, "__reads__"), f"{name} does not read {argument}"
        wrong = {"ragged": [[1.0], [2.0, 3.0]]}
        if place.kinds:  # others are labels, or rows of a model that may read texts
            wrong |= {"text": "a", "texts": [["a", "b"]]}
        if place.kinds and "c" not in place.kinds:
            wrong["complex"] = np.full((2,) * (place.axes[0][0] if place.axes else 1), 1j)
        if not place.optional:
            wrong["none"] = None
        for value in wrong.values():
            with pytest.raises(LemmataError, match=argument):
                place.read(value)


def test_few_arguments_take_anything():
    """Rows of models that may read texts, labels, and fields of answers."""
    anything = [key for key, (_, place) in array_arguments().items() if not place.kinds]
    assert len(anything) <= 60
    assert len(array_arguments()) > 1400


def test_a_recorder_notices_what_is_dropped_foreign_or_different():
    """It finds faults in functions that drop an imaginary part, raise another library's error, or read text."""

    def careless(x: np.ndarray) -> float:
        return float(np.real(np.asarray(x, complex)).sum())

    careless.__module__, careless.__qualname__ = "lemmata.careless", "careless"
    recorder = Recorder()
    recorder(careless, np.array([1.0, 2.0]))
    faults = {each.substitute: each.fault for each in recorder.tried}
    assert faults["complex"] == "no error"
    assert faults["text"] == "no error"
    assert faults["ragged"].startswith("ValueError")
    assert faults["list"] == faults["frame"] == ""
    assert len(recorder.seen) == 1
    assert all(reason for reason in EXCUSED.values())


SAME = (
    [[0.0, 1.0], [2.0, 3.0]],
    ((0, 1), (2, 3)),
    pandas.DataFrame({"a": [0, 2], "b": [1, 3]}),
    np.arange(4.0).reshape(2, 2),
)


@pytest.mark.parametrize("x", SAME, ids=["list", "tuple", "frame", "numpy"])
def test_kernels_solvers_and_heads_read_lists_and_frames(x):
    array = jnp.arange(4.0).reshape(2, 2)
    np.testing.assert_allclose(RBF(2.0).cross(x, x), RBF(2.0).cross(array, array))
    np.testing.assert_allclose(gram(RBF(2.0), x), gram(RBF(2.0), array))
    np.testing.assert_allclose(softmax_attention(x, x, x), softmax_attention(array, array, array))
    K = gram(RBF(2.0), array)
    found = kernel_ridge(K.tolist(), [1, 2], 0.1)
    np.testing.assert_allclose(found.coefficients, kernel_ridge(K, jnp.array([1.0, 2.0]), 0.1).coefficients)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: RBF(1.0)(np.ones(2) * 1j, np.ones(2)), DataError, "x; found entries of type complex128"),
        (lambda: RBF(1.0).cross([["a"]], [["b"]]), DataError, "x; found the entry 'a'"),
        (lambda: RBF(1.0).diagonal(3.0), ShapeError, "x; found shape"),
        (lambda: kernel_ridge(None, [1.0], 0.1), DataError, "K; found None"),
        (lambda: kernel_ridge([[1.0], [1.0, 2.0]], [1.0], 0.1), LemmataError, "K; found"),
        (lambda: kernel_ridge(np.eye(2), np.ones(2) * 1j, 0.1), DataError, "y; found entries of type complex"),
        (lambda: jax.jit(lambda z: RBF(1.0)(z * 1j, z))(jnp.ones(2)), DataError, "x; found entries of type complex"),
    ],
)
def test_the_argument_is_named(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_an_array_that_fits_is_passed_on_as_it_is():
    """So a reading changes no result, and costs no copy."""
    from lemmata.core._reading import reading

    def same(x: jax.Array) -> jax.Array:
        return x

    x = jnp.ones(3)
    assert reading(same)(x) is x
    assert reading(same)(x=x) is x
