"""What a study prints fits a terminal and says what the page says."""

import dataclasses
import io

import pytest
from rich.console import Console

from lemmata.interfaces.cli._summary import print_summary
from lemmata.printable import clean
from lemmata.workflows.records.studies import Finding
from tests.interfaces.report.example import classified, empty, measured, noise


def printed(record, width=80):
    stream = io.StringIO()
    print_summary(Console(file=stream, width=width), clean(record))
    return stream.getvalue()


@pytest.mark.parametrize(
    "record", [classified(), measured(), noise(), empty()], ids=["classes", "numbers", "noise", "empty"]
)
def test_every_summary_fits_eighty_columns(record):
    assert all(len(line) <= 80 for line in printed(record).splitlines())


def test_sentences_come_first_and_the_table_tells_rows_with_their_interval():
    text = printed(classified())
    assert text.startswith(
        "The columns predict the target (permutation test, p = 0.005).\nReaching accuracy 90.0 % takes"
    )
    row = next(line for line in text.splitlines() if line.strip().startswith("RBF kernel"))
    assert row.split("  ")[-1].strip() == "360 (290 to ∞)"
    assert "90.5 % (89.5 % to 91.5 %)" in row
    assert "Note: column id looks like an identifier" in text


def test_noise_has_no_rows_to_tell():
    text = printed(noise())
    assert text.startswith("Nothing here predicts the target")
    assert "rows for" not in text


def test_control_characters_of_a_table_do_not_reach_the_terminal():
    text = printed(classified(findings=[Finding("code", (), "column \x1b[31mred\x07")]))
    assert "\x1b" not in text
    assert "column ␛[31mred␇" in text


def test_the_table_tells_the_asked_value_in_all_of_its_digits():
    record = classified()
    text = printed(dataclasses.replace(record, answers=dataclasses.replace(record.answers, asked=0.99999)))
    assert "99.999 %" in text
    assert "100.0 %\n" not in text
