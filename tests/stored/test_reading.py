"""One reader for the records of others: whatever a file holds is read, or refused in one line."""

import dataclasses
import json
import os
from typing import Annotated, TypedDict

import pytest

from lemmata.errors import DataError, FileError, MissingFileError
from lemmata.stored import As, Count, Finite, Positive, Share, Told, built, parsed, plain, read_bytes, sealed, unsealed

TOLD = Told("file.json", "a record of a test", "write it again")


class Row(TypedDict, total=False):
    name: str
    value: float | None


@dataclasses.dataclass(frozen=True)
class Ends:
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class Whole:
    count: Count
    share: Share
    ends: Ends
    sizes: list[Positive] = dataclasses.field(default_factory=list)
    pair: tuple[int, str] | None = None
    either: float | str = 0.0
    drawn: Annotated[Ends, Finite.__metadata__[0]] | None = None
    rows: Annotated[list[dict], As(list[Row])] = dataclasses.field(default_factory=list)
    flag: bool = False


GOOD = {"count": 3, "share": 0.5, "ends": {"lower": 0.0, "upper": None}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "an empty file"), (b" \n", "an empty file"), (b"\xff{}", "not UTF-8, at byte 0"), (b"{", "valid JSON"),
        (b'{"a": 1', "valid JSON"), (b"[" * 200_000, "nested too deeply"), (b"[" * 70 + b"]" * 70, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"), (b'{"a": 1, "b": {"c": 1, "c": 1}}', "b; found the key 'c' twice"),
        (b'{"a": [0, NaN]}', "a[1]; found NaN"), (b'{"a": -Infinity}', "a; found -Infinity"),
        (b'{"a": 1e999}', "a; found a number beyond 1e308"), (b"[" + b"9" * 5000 + b"]", "[0]; found a number beyond"),
        (b'{"a": "\\ud800"}', "a; found an incomplete character"), (b'{"\\udfff": 1}', "half of a surrogate pair"),
        (b'{"a": "\\udc7f"}', "a; found an incomplete character"), (b'["\\udd00"]', "half of a surrogate pair"),
        (b'{"a": 1} {"a": 2}', "valid JSON"), (b"{'a': 1}", "valid JSON"), (b'{"a": 01}', "valid JSON"),
    ],
)  # fmt: skip
def test_text_that_is_no_strict_json_is_refused_in_one_line(text, words):
    with pytest.raises(DataError) as error:
        parsed(text, TOLD)
    said = str(error.value)
    assert words in said
    assert said.startswith("file.json is not a record of a test")
    assert said.endswith("remedy: write it again")
    assert "\n" not in said


def test_a_file_name_that_is_not_utf_8_is_read():
    assert parsed(b'{"command": "lemmata study caf\\udce9.csv"}', TOLD) == {"command": "lemmata study caf\udce9.csv"}


def test_what_is_strict_json_is_read_and_a_mark_before_it_is_passed_over():
    assert parsed(b'\xef\xbb\xbf{"b": [1, {"c": null}], "a": "\xc3\xbc"}', TOLD) == {"b": [1, {"c": None}], "a": "ü"}
    assert list(parsed('{"b": 1, "a": 2}', TOLD)) == ["b", "a"]
    assert parsed("[NaN, -Infinity]", TOLD, literals=True)[1] == -float("inf")


def test_a_record_is_built_by_its_annotations():
    found = built(Whole, {**GOOD, "count": 3.0, "pair": [1, "x"], "either": "so", "rows": [{"value": None}]}, TOLD)
    assert found == Whole(3, 0.5, Ends(0.0, float("inf")), pair=(1, "x"), either="so", rows=[{"value": None}])
    assert type(found.count) is int
    assert built(Ends, {"lower": "-Infinity", "upper": 1}, TOLD) == Ends(-float("inf"), 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": -1}, "count; found -1; rule: a whole number from 0"), ({"count": 2.5}, "count; found 2.5"),
        ({"count": True}, "count; found true"), ({"count": 10**25}, "count; found 1"),
        ({"count": None}, "count; found null"),
        ({"share": 1.5}, "share; found 1.5; rule: a number from 0 to 1"),
        ({"share": None}, "share; found null"),
        ({"ends": []}, "ends; found a list of 0; rule: an object"),
        ({"ends": {"lower": 0}}, "ends.upper; found no upper"),
        ({"ends": {"lower": -1e300, "upper": 0}}, "ends.lower; found -1e+300"),
        ({"sizes": [1, 0]}, "sizes[1]; found 0"),
        ({"sizes": {"0": 1}}, "sizes; found an object"), ({"pair": [1]}, "pair; found 1 values; rule: 2 values"),
        ({"pair": ["x", 1]}, "pair[0]; found 'x'"), ({"either": False}, "either; found false; rule: a number or text"),
        ({"drawn": {"lower": None, "upper": 1}}, "drawn.lower; found null; rule: a finite number"),
        ({"rows": [{"value": "x"}]}, "rows[0].value; found 'x'"),
        ({"rows": [{"valve": 1}]}, "rows[0]; found the field 'valve'"),
        ({"flag": 0}, "flag; found 0; rule: true or false"), ({"more": 1}, "found the field 'more'"),
        ({"either": ["a" * 10**6]}, "either; found a list of 1"),
    ],
)  # fmt: skip
def test_what_is_amiss_is_told_with_its_path(change, words):
    with pytest.raises(DataError) as error:
        built(Whole, {**GOOD, **change}, TOLD)
    assert words in str(error.value)
    assert len(str(error.value)) < 300
    assert str(error.value).isprintable()


def test_what_json_lacks_is_written_and_read():
    ends = Ends(-float("inf"), float("inf"))
    assert built(Ends, json.loads(json.dumps(plain(dataclasses.asdict(ends)), allow_nan=False)), TOLD) == ends


def test_only_regular_files_of_moderate_size_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**31)
    asked = [("pipe", "a named pipe"), ("large", "2,147,483,648 bytes"), (".", "a directory"), ("a\0b", "null")]
    for name, words in asked:
        with pytest.raises(DataError, match=words):
            read_bytes(f"{tmp_path}/{name}", "record", "a record that lemmata wrote")
    with pytest.raises(MissingFileError):
        read_bytes(tmp_path / "none", "record", "a record that lemmata wrote")
    with pytest.raises(FileError):
        read_bytes(tmp_path / "large" / "x", "record", "a record that lemmata wrote")


def test_a_cache_that_was_changed_is_not_read(tmp_path):
    path = tmp_path / "cache.json"
    text = sealed("of this", {"a": [1, "ü"], "b": {}})
    path.write_text(text, encoding="utf-8")
    assert unsealed(path, "of this") == {"a": [1, "ü"], "b": {}}
    assert json.loads(text)["key"] == "of this"
    assert unsealed(path, "of that") is None
    for change in (text.replace("[1,", "[2,"), text[:-3], "", "[" * 10**5, "[]", text.replace("\n", " ")):
        path.write_text(change, encoding="utf-8")
        assert unsealed(path, "of this") is None
    assert unsealed(tmp_path / "none", "of this") is None
