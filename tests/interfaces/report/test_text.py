"""Numbers and names as a reader sees them."""

import dataclasses
import json
import math

import pytest

from lemmata.interfaces.report import number, told, told_asked, told_interval, told_rows
from lemmata.interfaces.report._text import script_json, slug
from lemmata.intervals import Interval
from lemmata.printable import clean
from lemmata.workflows.records import rows
from lemmata.workflows.records.studies import Unit
from lemmata.workflows.studies._metrics import METRICS, tell
from tests.interfaces.report.example import ACCURACY, RMSE, classified


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


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("loss", [0.0123, 0.4999, 0.95])
def test_page_and_sentences_write_the_same_value_alike(metric, loss):
    unit = Unit(metric.name, metric.words, metric.rises, metric.percent, 0.5)
    assert told(metric.told(loss, 49.0), unit) == tell(metric, loss, 49.0)


def test_values_have_three_digits_or_a_tenth_of_a_per_cent():
    shown = [told(value, RMSE) for value in (57.0, 0.5, 999.7, 54321.0, 100.2, math.inf)]
    assert shown == ["57.0", "0.500", "1,000", "54,300", "100", "no limit"]
    assert told_interval(Interval(0.9876, 0.97, 1.0), ACCURACY) == "98.8 % (97.0 % to 100.0 %)"


def test_rows_with_ends_that_have_no_limit():
    inf = math.inf
    assert told_rows(Interval(1313.8, 1032.8, 3039.1), 400) == f"{rows(1313.8)} ({rows(1032.8)} to {rows(3039.1)})"
    assert told_rows(Interval(420.0, 61.0, 53100.0), 400) == "420 (61 to more than 3,200)"
    assert told_rows(Interval(90.0, 20.0, inf), 400) == "90 (20 to no upper limit)"
    assert told_rows(Interval(90.0, 20.0, inf), 400, endless="∞") == "90 (20 to ∞)"
    assert told_rows(Interval(inf, 1990.0, inf), 400) == "open (≥ 1,990)"
    assert told_rows(Interval(inf, inf, inf), 400) == told_rows(Interval(5e5, 4.1e5, inf), 400) == "out of reach"


def test_a_value_near_the_whole_is_not_told_as_the_whole():
    """ "Rows for accuracy 100.0 %" stood beside a model that has 100.0 % already."""
    answers = dataclasses.replace(classified().answers, asked=0.99965, origin="a tenth less error")
    assert told_asked(answers, ACCURACY) == "99.965 %"
    assert told_asked(dataclasses.replace(answers, asked=0.96), ACCURACY) == "96.0 %"
    assert told_asked(dataclasses.replace(answers, asked=1.0), ACCURACY) == "100.0 %"


def test_cleaning_keeps_letters_of_every_language():
    name = "Größe 温度 السعر é"
    assert clean({"a": [name, 1, math.inf, None, True]}) == {"a": [name, 1, math.inf, None, True]}
    assert clean("a\nb\x1b") == "a b␛"
    assert clean("a\nb\x1b", lines=True) == "a\nb␛"


def test_script_json_reads_back():
    value = {"</script>": ["<!--", "&amp;", "\u2028", math.inf]}
    text = script_json(value)
    assert json.loads(text) == {"</script>": ["<!--", "&amp;", "\u2028", None]}
    assert not set("<>&\u2028") & set(text)


def test_slugs_hold_only_letters_digits_and_hyphens():
    assert slug("claim", "a.b<c>", None) == "claim-a-b-c"
    assert slug("\x00") == "item"


def test_the_value_asked_for_differs_from_the_one_there_is():
    """ "Rows for accuracy 99.4 %: 82" stood beside a model that had 99.4 %."""
    answers = dataclasses.replace(
        classified().answers, asked=0.99424, origin="a tenth less", now=Interval(0.9936, 0.98, 1.0)
    )
    assert told_asked(answers, ACCURACY) == "99.42 %"
    assert told_asked(dataclasses.replace(answers, now=Interval(0.98, 0.97, 1.0)), ACCURACY) == "99.4 %"
