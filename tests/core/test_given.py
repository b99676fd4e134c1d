"""What users pass as arrays, and what is refused."""

import functools
import sysconfig
from typing import Any

import numpy as np
import pandas
import pytest
from jaxtyping import Float

from lemmata.core import array_of, numbers_of
from lemmata.core._reading import reading
from lemmata.errors import DataError, LemmataError, ShapeError


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ma.masked_array([1.0, 2.0, 3.0], [False, True, True]), "2 masked entries"),
        ([[1.0, 2.0], [3.0]], "not an array"),
        ([1, 10**400], "above 1e308"),
        (["a", "b"], "the entry 'a'"),
        (pandas.DataFrame({"a": [1.0, None]}), "not finite"),
    ],
    ids=["mask", "ragged", "large", "text", "missing"],
)
def test_one_line_says_what_is_wrong(values, said):
    with pytest.raises(DataError, match=said) as caught:
        numbers_of("x", values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.float64, np.complex128, np.float32])
def test_arrays_that_jax_reads_are_not_copied(kind):
    given = np.ones(3, kind)
    assert np.shares_memory(array_of("x", given), given)


@pytest.mark.parametrize(("kind", "read"), [(np.longdouble, np.float64), (np.clongdouble, np.complex128)])
def test_long_double_becomes_double(kind, read):
    assert array_of("x", np.ones(3, kind)).dtype == read


def test_masked_arrays_without_a_mask_and_mixed_frames_pass():
    np.testing.assert_array_equal(numbers_of("x", np.ma.masked_array([1.0, 2.0], False)), [1.0, 2.0])
    frame = pandas.DataFrame({"a": [True, False], "b": [0.5, 2.0]})
    np.testing.assert_array_equal(numbers_of("x", frame), [[1.0, 0.5], [0.0, 2.0]])


def test_numbers_and_missing_entries_beside_texts_do_not_become_texts():
    """NumPy turns ["a", nan] into the texts "a" and "nan"."""
    assert array_of("y", ["a", float("nan"), 1]).tolist()[2] == 1
    assert array_of("y", ["a", "b"]).dtype.kind == "U"
    assert array_of("y", (("a", 1), ("b", 2))).tolist() == [["a", 1], ["b", 2]]


@pytest.mark.parametrize("kind", [">f8", "<f8", ">f4", ">i4", np.longdouble, ">c16", np.clongdouble, ">U3"], ids=str)
def test_arrays_of_another_machine_become_arrays_that_jax_reads(kind):
    given = np.array([1, 2, 3]).astype(kind)
    found = array_of("x", given)
    assert found.dtype.isnative
    assert found.dtype.itemsize <= {"f": 8, "c": 16}.get(found.dtype.kind, given.dtype.itemsize)
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize("file", ["mine.py", f"{sysconfig.get_path('stdlib')}_mine/module.py"])
def test_an_error_of_a_users_function_is_not_explained_by_an_argument(file):
    """Also if an argument has an axis of length 0, if the error speaks of shapes, or beside a library's folder."""
    users = dict[str, Any]()
    exec(compile("def amiss(x):\n    raise ValueError('my shapes (3,) and (4,) are not aligned')", file, "exec"), users)

    def read(f, x: Float[np.ndarray, "n d"]):
        return f(x)

    for x in (np.zeros((0, 2)), np.zeros((3, 2)), np.zeros((3, 2), np.float32)):
        with pytest.raises(ValueError, match="my shapes") as caught:
            reading(read)(users["amiss"], x)
        assert not isinstance(caught.value, LemmataError)
    with pytest.raises(ShapeError, match="x; found"):  # of NumPy's function
        reading(read)(functools.partial(np.matmul, np.ones((4, 4))), np.zeros((3, 2)))
