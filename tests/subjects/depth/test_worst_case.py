"""Worst cases of schedules: closed forms, scaling, functions that attain them, and what is refused."""

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, SolverError
from lemmata.subjects.depth import _performance, _worst_case, worst_case


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


@pytest.mark.parametrize(("steps", "convexity"), [([1e-10], 0.0), ([1.0] * 12, 1 - 1e-15)])
def test_steps_that_rounding_does_not_decide(steps, convexity):
    with pytest.raises(SolverError, match="rule: a relative accuracy of 1e-06; remedy: use longer steps"):
        worst_case(steps, 1.0, convexity)


def test_an_error_shows_both_ends_of_what_was_found():
    with pytest.raises(SolverError) as refused:
        worst_case([1e-10], 1.0)
    low, high = str(refused.value).split("found between ")[1].split(";")[0].split(" and ")
    assert float(low) < float(high)


@pytest.mark.parametrize(
    ("steps", "convexity"),
    [
        ([2.0] * 5, 0.0),  # at the edge of divergence
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0], 0.0),  # the loss grows by a factor of 1e9
        ([1.083, 1.083], 0.9),  # functions that are almost quadratic
        ([1.455, 1.029, 0.84, 0.727], 0.9),
        ([1.055, 0.607, 0.155, 0.798, 0.847, 0.138, 0.145, 1.998], 0.9),
        ([0.441, 0.457, 0.863, 1.244, 1.247, 2.347, 2.421], 0.0),  # short steps before long steps
        ([0.116, 0.202, 0.278, 0.516, 0.529, 1.516, 2.023, 2.245], 0.0),
        ([0.166, 1.813, 0.664, 1.632, 0.097, 3.352, 0.003], 0.0),
        ([0.912] * 6, 0.99),  # 1e-13 of the first loss remains
    ],
)
def test_hard_schedules_are_answered_with_a_function_that_attains_the_bound(steps, convexity):
    found = worst_case(steps, 1.0, convexity)
    curvature = np.linspace(convexity, 1.0, 2000)
    remaining = curvature / 2 * np.prod(1 - np.outer(curvature, steps), axis=1) ** 2
    assert remaining.max() <= found.bound * (1 + 1e-9)
    assert found.bound * (1 - 1e-6) <= found.attained <= found.bound * (1 + 1e-12)
    assert found.multipliers.min() >= 0


def test_unit_steps_are_left_out_if_rounding_hides_them(monkeypatch):
    exact = worst_case([0.2, 0.2], 1.0, convexity=0.98)
    monkeypatch.setattr(_worst_case, "_accurate", lambda found: found.bound == exact.bound)
    found = worst_case([0.2, 0.2], 1.0, convexity=0.98)
    assert np.isnan(found.unit_steps)
    assert str(found).endswith(f"a function attains {found.attained:.5g}")
    assert "with 2 steps of 1/1, the bound is" in str(exact)


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


@pytest.mark.parametrize("steps", [np.ones(15), np.linspace(0.2, 1.9, 12), np.full(10, 1.7)])
def test_the_search_stops_where_rounding_stops_it(steps, monkeypatch):
    """Newton steps that only repeat rounding were most of the work: 400 of 600 for 15 steps."""
    newton, calls = _performance._newton, []
    monkeypatch.setattr(_performance, "_newton", lambda *parts: calls.append(0) or newton(*parts))
    found = _performance.certificate(steps, accuracy=1e-8)
    assert found.bound - found.attained < 1e-7 * found.bound
    assert len(calls) < 300
