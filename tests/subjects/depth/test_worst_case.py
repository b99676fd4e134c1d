"""Worst cases of schedules: closed forms, scaling, functions that attain them, and what is refused."""

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, SolverError
from lemmata.subjects.depth import worst_case


@pytest.mark.parametrize("smoothness", [0.2, 1.0, 50.0])
def test_equal_steps_in_any_unit(smoothness):
    found = worst_case(np.full(3, 1.2) / smoothness, smoothness)
    assert found.bound == pytest.approx(smoothness / (4 * 3 * 1.2 + 2), rel=1e-6)
    assert found.unit_steps == pytest.approx(smoothness / 14, rel=1e-6)
    assert found.attained <= found.bound * (1 + 1e-9)
    assert found.after(2.0) == 4 * found.bound


def test_a_long_step_is_slow_on_a_steep_quadratic():
    assert worst_case([0.5, 3.0], 1.0).bound >= (0.5 * 2) ** 2 / 2


def test_strong_convexity_helps():
    found = worst_case([1.0], 1.0, convexity=0.3)
    assert 0.3 * (1 - 0.3) ** 2 / 2 <= found.bound < 0.9 * worst_case([1.0], 1.0).bound


def test_no_huber_function_exceeds_the_bound():
    steps = np.asarray([1.4, 2.0, 1.4])
    found = worst_case(steps, 1.0)
    for zone in np.linspace(0.01, 1.0, 50):
        x = 1.0
        for step in steps:
            x -= step * np.clip(x, -zone, zone)
        remaining = x**2 / 2 if abs(x) <= zone else zone * (abs(x) - zone / 2)
        assert remaining <= found.bound * (1 + 1e-9)


def test_what_is_printed():
    found = worst_case([0.5, 0.5], 2.0, convexity=0.2)
    assert "0.2-strongly convex, 2-smooth" in str(found)
    assert "attains" in found._repr_html_()
    assert found.multipliers.shape == (4, 4)
    assert found.multipliers.min() >= 0


@pytest.mark.parametrize(
    ("steps", "smoothness", "convexity", "error", "message"),
    [
        ([], 1.0, 0.0, SettingError, "steps; found 0 steps; .* remedy: pass at least one step"),
        (
            [1.0] * 16,
            1.0,
            0.0,
            SettingError,
            "steps; found 16 steps; rule: a list of 1 to 15 numbers; remedy: pass fewer",
        ),
        ([[1.0], [1.0, 2.0]], 1.0, 0.0, DataError, "steps; found a list that is not an array"),
        (1.0, 1.0, 0.0, SettingError, "steps; found shape"),
        ([1.0, 0.0], 1.0, 0.0, SettingError, "steps; found 0 to 1"),
        ([1.0, 11.0], 1.0, 0.0, SettingError, "at most 10/smoothness = 10"),
        ([1.0, np.nan], 1.0, 0.0, DataError, "steps"),
        ([1.0], 0.0, 0.0, SettingError, "smoothness"),
        ([1.0], 1.0, 1.0, SettingError, "convexity; found 1"),
        ([1.0], 1.0, -0.1, SettingError, "convexity; found -0.1; rule: 0, or a number below the smoothness 1"),
    ],
)
def test_what_is_refused(steps, smoothness, convexity, error, message):
    with pytest.raises(error, match=message):
        worst_case(steps, smoothness, convexity)


@pytest.mark.parametrize("steps", [[1e-10], [1e-3] * 15, [10.0] * 15])
def test_steps_that_rounding_does_not_decide(steps):
    with pytest.raises(SolverError, match="rule: a relative accuracy of 1e-06; remedy: use fewer steps"):
        worst_case(steps, 1.0)


def test_an_error_shows_both_ends_of_what_was_found():
    with pytest.raises(SolverError) as refused:
        worst_case([2.0] * 5, 1.0)
    low, high = str(refused.value).split("found between ")[1].split(";")[0].split(" and ")
    assert float(low) < float(high)


def test_unit_steps_are_left_out_where_rounding_hides_them():
    found = worst_case([0.2, 0.2], 1.0, convexity=0.98)
    assert np.isnan(found.unit_steps)
    assert str(found).endswith(f"a function attains {found.attained:.5g}")
    assert "; 1 step of 1/1: " in str(worst_case([0.2], 1.0, convexity=0.5))


def test_steps_of_python_objects():
    assert worst_case(np.array([1.0, 1.0], object), 1.0).bound == pytest.approx(0.1)


def test_steps_of_a_tensor():
    torch = pytest.importorskip("torch")
    steps = torch.tensor([1.0, 1.0], requires_grad=True)
    assert worst_case(steps, 1.0).bound == pytest.approx(0.1)


def test_distances_whose_square_is_no_number():
    for distance in (1e200, 1e-200):
        with pytest.raises(SettingError, match="distance; found 1e"):
            worst_case([1.0], 1.0).after(distance)
