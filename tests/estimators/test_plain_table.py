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
    with pytest.warns(UserWarning, match="Europe/Berlin, but they had no time zone in the table"):
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
        with pytest.warns(UserWarning, match="1 cell of 'x', such as .*, cannot be read as numbers"):
            assert plain.transform(table)["x"].to_list() == [1.0, None, None, None]


def test_an_error_of_a_spreadsheet_is_missing_without_a_warning():
    for table in both(pd.DataFrame({"x": ["1.5", "#DIV/0!"]})):
        assert PlainTable(["x"], numbers=["x"]).fit_transform(table)["x"].to_list() == [1.5, None]


def test_a_typeset_minus_is_a_minus():
    for table in both(pd.DataFrame({"x": ["−1.5", "2", "−.5"]})):
        assert PlainTable(["x"], numbers=["x"]).fit_transform(table)["x"].to_list() == [-1.5, 2.0, -0.5]


@pytest.mark.parametrize(
    ("form", "cells", "shown"),
    [
        ("%d/%m/%Y", ["2024-02-01", "01.02.24", "01.02.2024"], "'31/01/2024'"),
        ("%d/%m/%y", ["02/31/24", "01/02/2024", "01/02/24"], "'31/01/24'"),
        ("%d/%m/%Y", ["02/31/2024", "20240201", "1-2-2024"], "Days and months may be exchanged"),
        (None, ["01/02/2024", "20240201", "2024-02-01"], "'2024-01-31'"),
        ("%b/%Y", ["2024-02-01", "Feb 24", "Feb 2024"], "'Jan 2024'"),
        ("quarter", ["2024-02", "Feb 2024", None], "'2024Q1'"),
        ("%H:%M", ["03:30 PM", "15h30", "5:30"], "'15:30'"),
        ("%H:%M", ["15:30:20", "1:00:05", "5:30"], "'15:30'"),
        ("%H:%M:%S", ["15:30", "55:20", "00:15:30"], "'15:30:00'"),
    ],
)
def test_a_date_or_time_in_another_format_is_not_missing_without_a_word(form, cells, shown):
    plain = PlainTable(["d"], dates={"d": []}, formats={"d": form} if form else {})
    for table in both(pd.DataFrame({"d": cells})):
        with pytest.warns(UserWarning, match=f"2 cells of 'd' .*such as '{cells[0]}'.*{shown}"):
            found = plain.transform(table)["d"].to_list()
        assert found[:2] == [None, None]
        assert (found[2] is None) == (cells[2] is None)


@pytest.mark.parametrize("cells", [["20000115", "20000116"], [20000115, 20000116], [2000.5, 1.0]])
def test_numbers_among_dates_are_no_days_and_no_error(cells):
    for table in both(pd.DataFrame({"d": cells})):
        with pytest.warns(UserWarning, match="2 cells of 'd' cannot be read as dates"):
            assert PlainTable(["d"], dates={"d": []}).transform(table)["d"].to_list() == [None, None]


def test_dates_among_texts_and_words_for_missing_dates_are_read():
    plain = PlainTable(["d"], dates={"d": []}, missing=["0000-00-00"])
    for cells in (["soon", pd.Timestamp("2024-01-01")], [pd.Timestamp("2024-01-01"), "0000-00-00"], [None, np.nan]):
        found = plain.transform(pd.DataFrame({"d": pd.Series(cells, dtype=object)}))["d"].to_list()
        assert found == [19723.0 if isinstance(own, pd.Timestamp) else None for own in cells]


@pytest.mark.parametrize(
    ("decimal", "cells", "values"),
    [
        (",", ["9,123.45", "9123.45", "1 234.5", "1.234,5", "1.234"], [None, 9123.45, None, 1234.5, 1234]),
        (".", ["9.123,45", "1,5", "1.234.567", "1,234.5", "1,234"], [None, None, None, 1234.5, 1234]),
    ],
)
def test_numbers_of_the_other_style_are_not_taken_for_those_of_the_table(decimal, cells, values):
    for table in both(pd.DataFrame({"x": cells})):
        with pytest.warns(UserWarning, match=f"3 cells of 'x', such as '{cells[0]}', cannot be numbers"):
            assert PlainTable(["x"], numbers=["x"], decimal=decimal).transform(table)["x"].to_list() == values


def test_instants_of_any_zone_are_read_on_the_clock_of_the_zone_that_was_learned():
    times = pd.Series(pd.date_range("2024-06-01", periods=3, freq="h", tz="America/New_York"))
    plain = PlainTable(["t"], dates={"t": ["day"]}, zones={"t": "America/New_York"})
    expected = plain.transform(times.to_frame("t"))
    assert expected["t"][:2].to_list() == pytest.approx([19875, 19875 + 1 / 24], abs=1e-9)
    for same in (times.dt.tz_convert("UTC"), times.dt.tz_convert("-03:00"), times.astype(str)):
        for table in (same.to_frame("t"), pl.DataFrame({"t": same.tolist()})):
            assert plain.transform(table).equals(expected)
    for bare in (times.dt.tz_localize(None), times.dt.tz_localize(None).astype(str)):
        with pytest.warns(UserWarning, match="'t' have no time zone. They are read as times of America/New_York"):
            assert plain.transform(bare.to_frame("t")).equals(expected)


def test_instants_of_any_zone_are_read_on_the_clock_of_a_fixed_offset():
    times = pd.Series(pd.date_range("2024-06-01", periods=3, freq="h", tz="+05:30"))
    plain = PlainTable(["t"], dates={"t": ["day"]}, zones={"t": "+05:30"})
    expected = plain.transform(times.to_frame("t"))
    assert expected["t"].to_list() == pytest.approx([19875, 19875 + 1 / 24, 19875 + 2 / 24], abs=1e-9)
    for same in (times.dt.tz_convert("UTC"), times.dt.tz_convert("Asia/Tokyo"), times.astype(str)):
        assert plain.transform(same.to_frame("t")).equals(expected)
    with pytest.warns(UserWarning, match=r"'t' have no time zone. They are read as times of \+05:30"):
        assert plain.transform(times.dt.tz_localize(None).to_frame("t")).equals(expected)


def test_times_with_the_offsets_of_winter_and_summer_are_local():
    times = pd.Series(pd.to_datetime(["2024-01-01 10:00", "2024-07-01 10:00"])).dt.tz_localize("Europe/Berlin")
    plain = PlainTable(["t"], dates={"t": []}, zones={"t": "+01:00/+02:00"})
    for same in (times, times.astype(str), times.astype(object)):
        found = plain.transform(same.to_frame("t"))["t"]
        assert (found % 1 * 24).to_list() == pytest.approx([10, 10], abs=1e-6)
    assert plain.transform(pl.DataFrame({"t": times.tolist()}))["t"].equals(found)
    with pytest.warns(
        UserWarning, match=r"2 cells of 't' have another offset.*\+01:00 or \+02:00.*such as '2024-01-01 09"
    ):
        assert plain.transform(times.dt.tz_convert("UTC").astype(str).to_frame("t"))["t"].null_count() == 2


def test_fractions_among_whole_numbers_with_points_between_thousands_are_refused():
    plain = PlainTable(["x"], numbers=["x"], decimal=",", grouped=["x"])
    for table in both(pd.DataFrame({"x": ["1.024", "512", None]})):
        assert plain.transform(table)["x"].to_list() == [1024, 512, None]
    for table in both(pd.DataFrame({"x": [1024.0, 512.0, np.nan]})):
        assert plain.transform(table)["x"].to_list() == [1024, 512, None]
    for table in both(pd.DataFrame({"x": [1.024, 512.0]})):
        with pytest.raises(DataError, match=r"found the number 1\.024"):
            plain.transform(table)
