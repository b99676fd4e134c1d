"""The interpolants of a user's rows, against flows, hand computations and bad input."""

import numpy as np
import pandas as pd
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.implicit import interpolants
from lemmata.subjects.implicit._programs import least_sum


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x, truth = rng.normal(size=(10, 25)), np.zeros(25)
    truth[:2] = [1.0, 2.0]
    return x, x @ truth


def descend(x, y, slope, weights, start, steps=200_000, step=1e-3):
    state = start
    for _ in range(steps):
        off = x @ weights(state) - y
        if np.abs(off).max() < 1e-10:
            break
        state = state - step * slope(state, x.T @ off)
    return weights(state)


def test_diagonal_network_is_where_descent_ends(rows):
    x, y = rows
    slope = lambda s, g: np.stack([2 * s[0] * g, -2 * s[1] * g])
    end = descend(x, y, slope, lambda s: s[0] ** 2 - s[1] ** 2, np.full((2, 25), 0.3))
    np.testing.assert_allclose(interpolants(x, y, [0.3])["diagonal 0.3"].w, end, atol=0.03)


def test_square_network_is_where_descent_ends(rows):
    x, y = rows
    end = descend(x, y, lambda s, g: 2 * s * g, lambda s: s**2, np.full(25, 0.3))
    np.testing.assert_allclose(interpolants(x, y, [0.3])["square 0.3"].w, end, atol=0.03)


def test_ends_of_the_starts(rows):
    found = interpolants(*rows, alphas=[100.0, 1e-6])
    np.testing.assert_allclose(found["diagonal 100"].w, np.linalg.pinv(rows[0]) @ rows[1], atol=1e-6)
    np.testing.assert_allclose(found["diagonal 1e-06"].w, found["least l_1"].w, atol=1e-3)
    np.testing.assert_allclose(found["least l_1"].w[:3], [1.0, 2.0, 0.0], atol=1e-8)
    assert all(own.residual < 1e-7 for own in found.found.values())
    assert found["least l_1"].support == 2


def test_norms_are_least_in_their_row(rows):
    found = interpolants(*rows).found
    for place, name in enumerate(("least l_1", "descent", "least l_inf")):
        assert found[name].norms[place] == pytest.approx(min(own.norms[place] for own in found.values()), rel=1e-6)


def test_toy_problem_of_the_chapter():
    """x_1 + 2 x_2 = 1: (1/5, 2/5), (0, 1/2), and from a square start of 1 the point (1/2, 1/4)."""
    found = interpolants([[1.0, 2.0]], [1.0], alphas=[1.0])
    np.testing.assert_allclose(found["descent"].w, [0.2, 0.4])
    np.testing.assert_allclose(found["least l_1"].w, [0.0, 0.5])
    np.testing.assert_allclose(found["square 1"].w, [0.5, 0.25])
    np.testing.assert_allclose(found["least l_inf"].w, [1 / 3, 1 / 3])
    assert found.eta == pytest.approx(0.5)


def test_adam_only_on_its_ray():
    """X sign(X'y) = 2 y for orthogonal rows of two ones: every weight is y/2."""
    x = np.kron(np.eye(3), np.ones((1, 2)))
    found = interpolants(x, [1.0, -1.0, 1.0])
    np.testing.assert_allclose(found["adam"].w, [0.5, 0.5, -0.5, -0.5, 0.5, 0.5])
    assert "adam" not in interpolants(x, [1.0, -1.0, 3.0]).found
    assert "square 1" not in found.found


def test_certificate_by_hand():
    """Columns (1, 0), (0, 1), (0.3, 0.4): nu = (1, 1) on the support of (1, 2), so eta = 0.7."""
    w, eta = least_sum(np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.4]]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(w, [1.0, 2.0, 0.0], atol=1e-12)
    assert eta == pytest.approx(0.7)


def test_held_out_rows_and_data_frames(rows):
    x, y = rows
    found = interpolants(pd.DataFrame(x), pd.Series(y), [0.1], held=(x[:4], y[:4] + 1.0))
    assert found["descent"].error == pytest.approx(1.0)
    assert "held out" in str(found)
    assert found._repr_html_().startswith("<pre")


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "words"),
    [
        (np.eye(3), np.ones(3), {}, DataError, "fewer rows than columns"),
        (np.ones((2, 3)), np.ones(2), {}, DataError, "independent rows"),
        (np.ones(3), np.ones(3), {}, ShapeError, "a table"),
        (np.ones((1, 3)), np.ones(2), {}, ShapeError, "equally many rows"),
        (np.ones((1, 3)), np.zeros(1), {}, DataError, "only zeros"),
        (np.ones((1, 3)), [np.nan], {}, DataError, "finite"),
        (np.ones((1, 3)), [1.0], {"alphas": 0.1}, SettingError, "a list"),
        (np.ones((1, 3)), [1.0], {"alphas": [0.0]}, SettingError, "above 0"),
        (np.ones((1, 3)), [1.0], {"held": np.ones(3)}, ShapeError, "a pair"),
        (np.ones((1, 3)), [1.0], {"held": (np.ones((1, 2)), [1.0])}, ShapeError, "3 columns"),
    ],
)
def test_bad_input(x, y, options, error, words):
    with pytest.raises(error, match=words):
        interpolants(x, y, **options)


@pytest.mark.parametrize(("of_x", "of_y"), [(1.0, 1e-9), (1e9, 1.0), (1.0, 1e200), (1.0, 1e-200), (1e200, 1.0)])
def test_units_do_not_matter(rows, of_x, of_y):
    """Linear programs with absolute tolerances took w = 0 for a solution where y is small."""
    x, y = rows
    found, scaled = interpolants(x, y, [0.3]), interpolants(of_x * x, of_y * y, [0.3 * (of_y / of_x) ** 0.5])
    for plain, own in zip(found.found.values(), scaled.found.values(), strict=True):
        np.testing.assert_allclose(own.norms, np.array(plain.norms) * (of_y / of_x), rtol=1e-6)
        assert own.support == plain.support
    assert scaled.eta == pytest.approx(found.eta)


def test_one_equation_in_another_unit(rows):
    x, y = rows
    units = np.ones(10)
    units[0] = 1e-10
    found = interpolants(units[:, None] * x, units * y, [0.3])
    np.testing.assert_allclose(found["least l_1"].w, interpolants(x, y, [0.3])["least l_1"].w, atol=1e-9)


def test_tables_of_several_types_and_tensors(rows):
    torch = pytest.importorskip("torch")
    x, y = rows
    plain = interpolants(x, y, [0.3])["diagonal 0.3"].w
    frame = pd.DataFrame(x, dtype=object), pd.Series(y, dtype=object)
    for given in (frame, (torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True))):
        np.testing.assert_array_equal(interpolants(*given, [0.3])["diagonal 0.3"].w, plain)
    with pytest.raises(DataError, match="equally long rows"):
        interpolants([[1.0, 2.0], [3.0]], [1.0, 2.0])
    with pytest.raises(DataError, match="the entry 'a'"):
        interpolants(pd.DataFrame(x).assign(text="a"), y)
