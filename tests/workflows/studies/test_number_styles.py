"""Numbers in several styles: two decimal marks in one table, a minus behind the number, digits of another script."""

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._numbers import as_numbers
from tests.workflows.studies.test_wild_tables import ROWS, TABLE


def two_styles(price, conc, w):
    """A table whose first column has another decimal mark than the others, in one of two ways."""
    return "\n".join(["price;conc;w", *(";".join(row) for row in zip(price, conc, w, strict=True))])


@pytest.mark.parametrize("marks", [",..", ".,.", "..,", ",.,"])
@pytest.mark.parametrize("decimal", [None, ",", "."])
def test_a_column_that_shows_its_decimal_mark_is_read_with_it(tmp_path, marks, decimal):
    """0.890 was read as 890 beside 8,99, because a point was taken to separate thousands in the whole table."""
    rng = np.random.default_rng(0)
    values = {"price": rng.uniform(1, 12, ROWS).round(2), "conc": rng.uniform(0.5, 1.5, ROWS).round(3)}
    values["w"] = rng.uniform(1, 9, ROWS).round(2)
    cells = [
        [f"{value:.{3 if name == 'conc' else 2}f}".replace(".", mark) for value in own]
        for mark, (name, own) in zip(marks, values.items(), strict=True)
    ]
    path = tmp_path / "table.csv"
    path.write_text(two_styles(*cells))
    found = load_dataset(str(path), "conc", decimal=decimal)
    np.testing.assert_array_equal(found.inputs, np.stack([values["price"], values["w"]], axis=1))
    np.testing.assert_array_equal(found.targets[:, 0], values["conc"])
    told = {mark: {name for name, own in zip(values, marks, strict=True) if own == mark} for mark in marks}
    said = [note for note in found.notes if note.startswith("numbers have a decimal")]
    for mark, word in ((",", "comma"), (".", "point")):
        line = next((note for note in said if word in note), "")
        assert {name for name in values if repr(name) in line} in (told.get(mark, set()), set())
    assert len(said) == (2 if decimal != "." else 1)


@pytest.mark.parametrize("cells", [["0.890", "00.125"], ["0,890", "00,125"]])
@pytest.mark.parametrize("decimal", [None, ",", "."])
def test_no_thousands_follow_a_zero(cells, decimal):
    found = as_numbers(pl.Series(cells), decimal)
    assert found is not None
    assert found.column.to_list() == [0.89, 0.125]


def test_a_column_without_a_mark_beside_columns_with_two_marks_is_asked_about(tmp_path):
    price, w = [f"{i},99" for i in range(ROWS)], [f"{i}.19" for i in range(ROWS)]
    path = tmp_path / "table.csv"
    path.write_text(two_styles(price, [f"{1 + i % 7}.{100 + 9 * i}" for i in range(ROWS)], w))
    with pytest.raises(DataError, match="'conc' is not clear") as refused:
        load_dataset(str(path), "price")
    assert refused.value.found == "'0,99' in 'price', '0.19' in 'w', '1.100' in 'conc'"
    assert load_dataset(str(path), "price", decimal=",").inputs[0].tolist() == [1100, 0.19]
    assert load_dataset(str(path), "price", decimal=".").inputs[0].tolist() == [1.1, 0.19]


@pytest.mark.parametrize("target", ["a", "y"])
@pytest.mark.parametrize("share", [2, 10])
def test_a_minus_behind_the_number_is_named(target, share):
    cells = [f"{1000 + 7 * i}.75{'' if i % share else '-'}" for i in range(ROWS)]
    frame = TABLE.select("b", "y").with_columns(a=pl.Series(cells))
    with pytest.raises(DataError, match=r"write the minus before the number \(such as -1000\.75 for '1000\.75-'\)"):
        load_dataset(frame, target)


@pytest.mark.parametrize("digits", ["٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९"])
def test_digits_of_another_script_are_named(tmp_path, digits):
    cells = [f"{value:.2f}".translate(str.maketrans("0123456789", digits)) for value in TABLE["b"]]
    frame = TABLE.select("y").with_columns(a=pl.Series(cells))
    frame.write_csv(tmp_path / "table.csv")
    for data in (frame, tmp_path / "table.csv"):
        with pytest.raises(DataError, match="write numbers with the digits 0 to 9"):
            load_dataset(data, "y")
