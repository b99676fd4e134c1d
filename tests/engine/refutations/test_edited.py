"""The file of a counterexample: what was edited is read as it says, or refused in one line with the field."""

import dataclasses
import io
import json

import numpy as np
import pytest

from lemmata.engine.refutations import Counterexample, load_counterexample
from lemmata.engine.refutations._problem import Place
from lemmata.errors import DataError
from lemmata.results import digest
from tests.engine.refutations import statements as own

CLAIM = own.SumBelowTooLittle()


@pytest.fixture
def stem(tmp_path):
    place = Place({"d": 4}, 0, 5, {"x": np.array([1.0, 2.0, 3.0, 4.0])})
    Counterexample("sum", place, 1.0, 2.0, float("inf"), (("two", float("-inf")),), "twice", 7).save(tmp_path)
    return tmp_path / "counterexample"


def test_what_was_saved_is_read(stem):
    found = load_counterexample(stem, CLAIM)
    assert found.place.setting == {"d": 4}
    assert found.place.fields["x"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.trials == 7
    assert "Infinity" not in stem.with_suffix(".json").read_text().replace('"-Infinity"', "")


def test_words_that_earlier_versions_wrote_for_numbers_are_read(stem):
    path = stem.with_suffix(".json")
    path.write_text(path.read_text().replace('"ratio": null', '"ratio": NaN'))
    assert load_counterexample(stem, CLAIM).trials == 7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 2}, "another version"),
        ({"schema": "1"}, "schema; found '1'"),
        ({"schema": None}, "schema; found null"),
        ({"claim": 5}, "claim; found 5; rule: text"), ({"place": []}, "place; found a list of 0"),
        ({"place": {"setting": {"d": 4}, "seed": -1, "number": 5}}, "place.seed; found -1"),
        ({"place": {"setting": {"d": 4}, "seed": 0, "number": 10**12}}, "place.number; found 1000000000000"),
        ({"place": {"setting": {"d": 4}, "seed": 0, "number": 2.5}}, "place.number; found 2.5"),
        ({"place": {"setting": {"d": "x"}, "seed": 0, "number": 5}}, "place.setting; found setting d 'x'"),
        ({"place": {"setting": {"d": 10**9}, "seed": 0, "number": 5}}, "place.setting; found setting d 1000000000"),
        ({"place": {"setting": {"q": 4}, "seed": 0, "number": 5}}, "place.setting; found setting 'q'"),
        ({"place": {"setting": {"d": [4]}, "seed": 0, "number": 5}}, "place.setting.d; found a list of 1"),
        ({"place": {"setting": {"d": 5}, "seed": 0, "number": 5}}, "array x of float64 with shape (4,)"),
        ({"place": {"seed": 0, "number": 5}}, "place.setting; found no setting"),
        ({"predicted": "1"}, "predicted; found '1'"), ({"ratio": []}, "ratio; found a list of 0"),
        ({"hypotheses": {"a": 1}}, "hypotheses; found an object"),
        ({"hypotheses": [["a"]]}, "hypotheses[0]; found 1 values"),
        ({"hypotheses": [[1, "a"]]}, "hypotheses[0][0]; found 1"), ({"hypotheses": None}, "hypotheses; found null"),
        ({"confirmed": None}, "confirmed; found null"),
        ({"trials": -1}, "trials; found -1"),
        ({"steps": True}, "steps; found true"),
        ({"alone": "yes"}, "alone; found 'yes'"),
        ({"budget": 0}, "budget; found 0"),
        ({"budget": 10**9}, "budget; found 1000000000"),
        ({"level": 0.7}, "level; found 0.7"),
        ({"level": None}, "level; found null"),
        ({"more": 1}, "found the field 'more'"),
        ({"place": {"setting": {"d": 4}, "seed": 0, "number": 5, "x": 1}}, "place; found the field 'x'"),
    ],
)  # fmt: skip
def test_an_edited_field_is_told(stem, change, words):
    path = stem.with_suffix(".json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError) as error:
        load_counterexample(stem, CLAIM)
    assert words in str(error.value)
    assert str(path) in str(error.value)
    assert "remedy: run `lemmata refute` again" in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(Counterexample) if field.name != "unstored"]
)
def test_a_field_that_is_missing_is_told(stem, field):
    path = stem.with_suffix(".json")
    values = json.loads(path.read_text())
    del values[field]
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match=f"found no {field}"):
        load_counterexample(stem, CLAIM)


@pytest.mark.parametrize(
    "text", ["", "[" * 200_000, '{"claim":' * 200_000, "{", "[]", "null", "\x00", '{"a": 1, "a": 2}']
)
def test_a_file_of_another_kind_is_told(stem, text):
    stem.with_suffix(".json").write_text(text)
    with pytest.raises(DataError, match="is not a record of a counterexample"):
        load_counterexample(stem, CLAIM)


ARRAYS = {
    "another name": {"y": np.ones(4)}, "another shape": {"x": np.ones((4, 1))}, "whole numbers": {"x": np.ones(4, int)},
    "complex numbers": {"x": np.ones(4, complex)}, "NaN": {"x": np.full(4, np.nan)}, "text": {"x": np.array(["a"] * 4)},
    "one number": {"x": np.float64(1.0)},
}  # fmt: skip


def told(stem, content):
    """Arrays in place of the ones that were saved, with their digest in the record."""
    stem.with_suffix(".npz").write_bytes(content)
    path = stem.with_suffix(".json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"arrays": digest(content)}))


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_do_not_fit_are_told(stem, case):
    content = io.BytesIO()
    np.savez(content, **ARRAYS[case])
    told(stem, content.getvalue())
    with pytest.raises(DataError, match=r"counterexample\.json is not a record of a counterexample"):
        load_counterexample(stem, CLAIM)


def test_damaged_arrays_are_told(stem):
    path = stem.with_suffix(".npz")
    whole = path.read_bytes()
    np.savez(path, x=np.array([object()], dtype=object), allow_pickle=True)
    pickled = path.read_bytes()
    for content in (b"", b"PK", whole[:-30], whole.replace(b"(4,)", b"(9,)"), pickled):
        told(stem, content)
        with pytest.raises(DataError, match=r"arrays .*counterexample\.npz cannot be read"):
            load_counterexample(stem, CLAIM)


def test_arrays_of_another_search_are_told(stem):
    path = stem.with_suffix(".npz")
    for change in (lambda: np.savez(path, x=np.ones(4)), path.unlink):
        change()
        with pytest.raises(DataError, match="found no file, or a file with other content"):
            load_counterexample(stem, CLAIM)
