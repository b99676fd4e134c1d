"""A table as scikit-learn can use it: numbers, dates and names, of pandas and of polars alike."""

import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from lemmata.errors import DataError, SettingError
from lemmata.estimators import PlainTable

pd = pytest.importorskip("pandas")


def both(frame):
    return frame, pl.DataFrame({name: frame[name].tolist() for name in frame.columns}, strict=False)


@pytest.mark.parametrize(
    ("decimal", "cells"),
    [
        (",", ["1.234,5", "0,5", "7", "n.d.", "1 000,5", "", "-3,25"]),
        (".", ["1,234.5", "0.5", "7", "?", "1 000.5", "", "-3.25"]),
    ],
)
def test_texts_that_are_numbers(decimal, cells):
    plain = PlainTable(["x"], numbers=["x"], decimal=decimal)
    for table in both(pd.DataFrame({"x": cells})):
        found = plain.fit_transform(table)["x"].to_list()
        assert found == [1234.5, 0.5, 7.0, None, 1000.5, None, -3.25]


def test_what_is_no_number_is_missing():
    table = pd.DataFrame({"x": [1.0, np.inf, 999.0, -np.inf, np.nan], "t": ["true", "False", "999", None, "0"]})
    for own in both(table):
        found = PlainTable(["x", "t"], numbers=["x", "t"], missing=["999"]).fit_transform(own)
        assert found["x"].to_list() == [1.0, None, None, None, None]
        assert found["t"].to_list() == [1.0, 0.0, None, None, 0.0]


def test_dates_are_days_with_their_parts():
    days = [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 7)]  # a Monday and a Sunday
    plain = PlainTable(["d"], dates={"d": ["weekday", "year"]})
    names = plain.get_feature_names_out().tolist()
    expected = plain.fit_transform(pl.DataFrame({"d": days}))
    assert expected.columns == names
    assert expected["d"].to_list() == [19723.0, None, 19729.0]
    assert expected["d: Monday"].to_list() == [1.0, 0.0, 0.0]
    assert expected["d: Sunday"].to_list() == [0.0, 0.0, 1.0]
    texts = pd.DataFrame({"d": ["01/01/2024", None, "07/01/2024"]})
    stamped = pd.DataFrame({"d": pd.to_datetime(pd.Series(days))})
    zoned = pd.DataFrame({"d": pd.to_datetime(pd.Series(days)).dt.tz_localize("Europe/Berlin")})
    told = PlainTable(["d"], dates={"d": ["weekday", "year"]}, formats={"d": "%d/%m/%Y"})
    assert told.fit_transform(texts).equals(expected)
    assert plain.fit_transform(stamped).equals(expected)
    assert plain.fit_transform(zoned).equals(expected)
    assert plain.fit_transform(pd.DataFrame({"d": ["2024-01-01", "soon", "2024-01-07"]})).equals(expected)
    assert plain.fit_transform(pd.DataFrame({"d": ["", None]}))["d"].to_list() == [None, None]


def test_times_of_a_day():
    plain = PlainTable(["t"], dates={"t": []}, formats={"t": "%H:%M"})
    assert plain.fit_transform(pd.DataFrame({"t": ["12:00", "18:00"]}))["t"].to_list() == [0.5, 0.75]


def test_names_that_are_no_texts_and_blanks():
    table = pd.DataFrame([[1, " a "], [2, "b"]], columns=[7, "text "])
    found = PlainTable(["7", "text"], numbers=["7"]).fit_transform(table)
    assert found.to_dict(as_series=False) == {"7": [1.0, 2.0], "text": ["a", "b"]}


def test_what_it_refuses():
    with pytest.raises(DataError, match=r"columns are missing.*'b'.*add these columns"):
        PlainTable(["a", "b"]).fit_transform(pl.DataFrame({"a": [1]}))
    with pytest.raises(SettingError, match="'month'"):
        PlainTable(["a"], dates={"a": ["month"]}).fit(pl.DataFrame({"a": [1]}))


def test_it_is_cloned():
    plain = PlainTable(["a"], numbers=["a"], decimal=",")
    assert clone(plain).get_params() == plain.get_params()


@pytest.mark.parametrize(("units", "odd"), [(None, "12 km"), ({"x": "kg"}, "800 g"), ({"x": "€"}, "$5")])
def test_a_number_in_another_unit_is_not_missing_without_a_word(units, odd):
    unit = "" if units is None else f" {units['x']}"
    plain = PlainTable(["x"], numbers=["x"], units=units)
    for table in both(pd.DataFrame({"x": [f"1{unit}", odd, "n.d.", ""]})):
        with pytest.warns(UserWarning, match="1 cell of 'x' cannot be read as numbers, such as"):
            assert plain.transform(table)["x"].to_list() == [1.0, None, None, None]


def test_an_error_of_a_spreadsheet_is_missing_without_a_warning():
    for table in both(pd.DataFrame({"x": ["1.5", "#DIV/0!"]})):
        assert PlainTable(["x"], numbers=["x"]).fit_transform(table)["x"].to_list() == [1.5, None]


def test_a_typeset_minus_is_a_minus():
    for table in both(pd.DataFrame({"x": ["−1.5", "2", "−.5"]})):
        assert PlainTable(["x"], numbers=["x"]).fit_transform(table)["x"].to_list() == [-1.5, 2.0, -0.5]
