"""Parities: elimination against all 2^d parities, noise within and beyond the transform, noise that is named."""

import itertools

import numpy as np
import pandas
import polars
import pytest

from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError, ShapeError, SolverError, UnknownNameError
from lemmata.subjects.boolean import solve_parity


def rows(seed, n, d, k, noise=0.0, negated=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, d))
    chosen = np.sort(rng.choice(d, k, replace=False))
    return x, (x[:, chosen].sum(axis=1) + negated + (rng.random(n) < noise)) % 2, tuple(chosen.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_elimination_agrees_with_all_parities(seed):
    x, y, _ = rows(seed, 11, 6, seed % 7)
    if seed % 4 == 3:
        y[-1] ^= 1
    fitting = [s for k in range(7) for s in itertools.combinations(range(6), k)
               if (x[:, list(s)].sum(axis=1) % 2 == y).all()]  # fmt: skip
    if len(fitting) == 1:
        found = solve_parity(x, y)
        assert found.columns == fitting[0]
        assert (found.rank, found.held, found.chance) == (6, 5, 2.0**-5)
        np.testing.assert_array_equal(found.predict(x), y)
    else:
        words = "so some labels are wrong" if not fitting else rf"so 2\^{len(fitting).bit_length() - 1} parities"
        with pytest.raises(DataError, match=words):
            solve_parity(x, y)


def test_the_rows_that_contradict_add_up_to_nothing():
    x, y, _ = rows(1, 40, 10, 4)
    y[30] ^= 1
    with pytest.raises(DataError, match="noise") as caught:
        solve_parity(x, y)
    clash = [
        int(word) for word in str(caught.value).split("rows (")[1].split(", counted")[0].split(", ") if word != "..."
    ]
    assert 30 in clash
    if "..." not in str(caught.value):
        assert not (x[clash].sum(axis=0) % 2).any()
        assert y[clash].sum() % 2 == 1


@pytest.mark.parametrize(
    ("n", "d", "k", "noise"), [(300, 12, 5, 0.2), (900, 20, 9, 0.15), (6000, 28, 12, 0.1), (9000, 36, 3, 0.1)]
)
def test_a_parity_of_noisy_labels(n, d, k, noise):
    x, y, chosen = rows(d, n, d, k, noise)
    found = solve_parity(x, y, noise)
    assert found.columns == chosen
    assert found.interval[0] < noise < found.interval[1]
    assert ("blocks of 8" in found.method or "block of 8" in found.method) == (d in (28, 36))
    clean = (x[:, chosen].sum(axis=1)) % 2
    assert (found.predict(x) == clean).all()


@pytest.mark.parametrize(("n", "d", "noise"), [(60, 8, 0.0), (400, 10, 0.1), (5000, 26, 0.1)])
def test_the_negation_of_a_parity(n, d, noise):
    x, y, chosen = rows(7, n, d, 5, noise, negated=1)
    found = solve_parity(x, y, noise, constant=True)
    assert (found.columns, found.negated) == (chosen, True)
    assert "+ 1 modulo 2" in str(found)


def test_codes_and_frames():
    x, y, chosen = rows(2, 50, 6, 3)
    signs = solve_parity(1 - 2 * x, 1 - 2 * y)
    assert signs.columns == solve_parity(x == 1, y == 1).columns == chosen
    names = list("abcdef")
    for frame in (pandas.DataFrame(x, columns=names), polars.DataFrame(x, schema=names)):
        found = solve_parity(frame, y)
        assert found.inputs == tuple(names[place] for place in chosen)
        np.testing.assert_array_equal(found.predict(frame), y)
    assert found._repr_html_().startswith("<pre")


def test_few_spare_rows_fail_a_condition():
    x, y, _ = rows(3, 200, 6, 2)
    last = next(n for n in range(6, 200) if np.linalg.matrix_rank(x[:n]) == 6 and _solved(x[:n], y[:n]))
    assert "fails" in str(solve_parity(x[:last], y[:last]))


def _solved(x, y):
    try:
        return solve_parity(x, y).rank == 6
    except DataError:
        return False


@pytest.mark.parametrize(
    ("change", "words", "kind"),
    [
        (lambda x, y: (x + 1, y), "x; found the value 2 among 2 different values", DataError),
        (lambda x, y: (x, y + 0.5), "y; found the value 0.5", DataError),
        (lambda x, y: (x[:5], y[:5]), r"5 rows of rank \d, so 2\^", DataError),
        (lambda x, y: (x, y[1:]), "one label for each of the 60 rows", ShapeError),
        (lambda x, y: (x[:, 0], y), "one row for each label", ShapeError),
        (lambda x, y: (x, y, 0.5), "below 1/2", SettingError),
        (lambda x, y: (x[:20], y[:20], 0.3), "at least about", DataError),
    ],
)
def test_refusals(change, words, kind):
    x, y, _ = rows(0, 60, 12, 3)
    with pytest.raises(kind, match=words) as caught:
        solve_parity(*change(x, y))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("d", [10, 26])
def test_labels_that_are_no_parity(d):
    rng = np.random.default_rng(0)
    with pytest.raises(SolverError, match="no parity agrees with the held-out rows"):
        solve_parity(rng.integers(0, 2, (4000, d)), rng.integers(0, 2, 4000), 0.1)


def test_the_claims_exist():
    x, y, _ = rows(0, 60, 6, 3)
    assert set(solve_parity(x, y).claims) <= set(registry("boolean"))


def test_one_row_of_ones_is_read_in_the_code_of_the_fit():
    x, _, _ = rows(5, 80, 3, 3)
    found = solve_parity(1 - 2 * x, 1 - 2 * (x.sum(axis=1) % 2))
    assert found.predict(np.ones((1, 3))).tolist() == [0]
    assert found.predict(np.ones((1, 3), bool)).tolist() == [1]
    assert solve_parity(x, x.sum(axis=1) % 2).predict(np.ones((1, 3))).tolist() == [1]
    with pytest.raises(DataError, match=r"y; found only the value 1, for columns of -1 and 1.*remedy: pass booleans"):
        solve_parity(1 - 2 * x, np.ones(80))


def test_new_rows_have_the_columns_of_the_fit():
    x, _, _ = rows(5, 80, 4, 2)
    y = x[:, 0] ^ x[:, 1]
    found = solve_parity(pandas.DataFrame(x, columns=list("abcd")), y)
    np.testing.assert_array_equal(found.predict(pandas.DataFrame(x, columns=list("abcd"))[list("dbca")]), y)
    np.testing.assert_array_equal(found.predict(x), y)
    for new, words, kind in [(x[:, :2], "2 columns; rule: the 4 columns", ShapeError), (x[0], "shape", ShapeError),
                             (pandas.DataFrame(x, columns=list("bcde")), "no column a", UnknownNameError)]:  # fmt: skip
        with pytest.raises(kind, match=words):
            found.predict(new)


def test_names_that_are_numbers_are_no_numbers_in_the_formula():
    x, _, _ = rows(5, 80, 4, 2)
    y = x[:, 1] ^ x[:, 2] ^ 1
    assert "y = x1 + x2 + 1 modulo 2" in str(solve_parity(pandas.DataFrame(x), y, constant=True))
    pairs = pandas.MultiIndex.from_product([["a", "b"], [0, 1]])
    assert "y = a.1 + b.0 + 1 modulo 2" in str(solve_parity(pandas.DataFrame(x, columns=pairs), y, constant=True))
    mixed = pandas.DataFrame({"a": x[:, 0] > 0, "b": x[:, 1], "c": x[:, 2] * 1.0})
    assert solve_parity(mixed, x[:, 0] ^ x[:, 2]).inputs == ("a", "c")


@pytest.mark.parametrize("constant", [False, True])
def test_columns_that_noise_cannot_tell_apart_are_refused(constant):
    x, y, _ = rows(3, 1000, 6, 3, 0.1)
    for column in (x[:, 1], 0 * x[:, 1], x[:, 1] ^ x[:, 2]):
        with pytest.raises(DataError, match=r"rows do not determine the parity; found 1000 rows of rank"):
            solve_parity(np.column_stack([x, column]), y, 0.1, constant=constant)


def test_a_column_that_is_nearly_constant_or_nearly_another_fails_a_condition():
    x, y, chosen = rows(3, 1000, 6, 3, 0.1)
    assert "clearly less" not in str(solve_parity(x, y, 0.1))
    rare = np.zeros(1000, int)
    rare[:3] = 1
    for column in (rare, x[:, chosen[0]] ^ rare):
        assert "agree clearly less" in str(solve_parity(np.column_stack([x, column]), y, 0.1))


def test_noise_in_other_types_of_numbers():
    x, y, chosen = rows(3, 1000, 6, 3, 0.1)
    assert solve_parity(x, y, np.float32(0.1)).columns == chosen
    for noise in (np.ones((9, 9)), "0.1", True, np.nan, -0.1):
        with pytest.raises(SettingError, match="noise; found") as caught:
            solve_parity(x, y, noise)
        assert "\n" not in str(caught.value)
    with pytest.raises(SettingError, match="seed; found -1"):
        solve_parity(x, y, 0.1, seed=-1)
    with pytest.raises(DataError, match=r"x; found the entry '0'.*remedy: encode"):
        solve_parity(np.full((9, 2), "0"), y[:9])


@pytest.mark.parametrize(("d", "noise"), [(12, 0.05), (12, 0.1), (12, 0.3), (20, 0.1), (30, 0.1)])
def test_the_number_of_rows_that_is_asked_for_is_enough(d, noise):
    x, y, _ = rows(0, 12, d, 4, noise)
    with pytest.raises(DataError, match=r"at least about (\d+) rows") as caught:
        solve_parity(x, y, noise)
    wanted = int(str(caught.value).split("about ")[1].split(" rows")[0])
    x, y, chosen = rows(1, wanted, d, 4, noise)
    found = solve_parity(x, y, noise)
    assert found.columns == chosen
    assert "clearly less" not in str(found)
    with pytest.raises(DataError, match=r"noise 0\.4999999; rule: more than 1e\+12 rows"):
        solve_parity(x[:50], y[:50], 0.4999999)
