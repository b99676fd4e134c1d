"""Numbers and names as a reader sees them."""

import json
import math

import pytest

from lemmata.report import clean, interval, number
from lemmata.report._text import brief, percent, script_json, slug


@pytest.mark.parametrize("exponent", range(-20, 20))
def test_three_digits_are_enough_to_read_the_number_back(exponent):
    value = 1.2345 * 10.0**exponent
    shown = number(value).replace(",", "")
    if "×" in shown:
        mantissa, power = shown.split(" × 10")
        shown = mantissa + "e" + power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    assert math.isclose(float(shown), value, rel_tol=5e-3)


def test_rounding_up_into_the_next_power():
    assert [number(0.0009999), number(0.9999), number(9.999), number(999.9)] == ["0.00100", "1.00", "10.0", "1,000"]


def test_intervals_and_shares():
    assert interval({"n": 300.4, "lower": 249.6, "upper": None}) == "300 (250 to unbounded)"
    assert interval({"n": 1234}) == "1,234"
    assert interval(None) == interval({}) == interval({"n": None}) == "–"
    assert percent(0.9876) == "98.8 %"
    assert [brief(0.25), brief(1e-9), brief(1000.0)] == ["0.25", "1.00 × 10⁻⁹", "1,000"]


def test_cleaning_keeps_letters_of_every_language():
    name = "Größe 温度 السعر é"
    assert clean({"a": [name, 1, math.inf, None, True]}) == {"a": [name, 1, None, None, True]}
    assert clean("a\nb\x1b") == "a b␛"


def test_script_json_reads_back():
    value = {"</script>": ["<!--", "&amp;", "\u2028"]}
    text = script_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028") & set(text)


def test_slugs_hold_only_letters_digits_and_hyphens():
    assert slug("claim", "a.b<c>", None) == "claim-a-b-c"
    assert slug("\x00") == "item"
