"""Splines and cascades: the theory of identity packages by other numbers, and counts by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.sources import reproductions, statements
from lemmata.subjects.regression._spline_packages import IdentityStack, ScatteredPoints
from lemmata.subjects.regression.cascades import DeepCascadeGradient, ScaleThreshold, through
from lemmata.subjects.regression.spline_packages import CurvedDirections, counted_operations

KEY = "bakhvalov2025polyharmonic"


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def stack(p: int, b: float, scale: float, norm: float) -> IdentityStack:
    rng = np.random.default_rng(p)
    start, readout = rng.normal(size=(2, p))
    start *= norm / np.linalg.norm(start)
    return IdentityStack(jnp.asarray(start), jnp.asarray(readout), jnp.asarray(b), jnp.asarray(scale))


def layer_by_formula(z: np.ndarray, b: float, scale: float) -> np.ndarray:
    """The odd part in closed form: scale [k(r-) - k(r+)] / (4 (b - ln 2)), coordinate by coordinate."""
    square = z @ z + 1
    k = lambda squared: squared * (np.log(squared) / 2 - b)
    return scale * (k(square - 2 * z) - k(square + 2 * z)) / (4 * (b - math.log(2)))


def test_a_stack_is_the_closed_form_of_its_odd_part():
    problem = stack(5, 3.0, 1.1, 0.6)
    z = np.asarray(problem.start)
    for _ in range(7):
        z = layer_by_formula(z, 3.0, 1.1)
    end, gradient = through(problem, problem.start, 7)
    np.testing.assert_allclose(end, z, atol=1e-11)
    step = 1e-6 * np.eye(5)[2]
    ahead, behind = (through(problem, problem.start + s, 7)[0] for s in (step, -step))
    np.testing.assert_allclose(gradient[2], (ahead - behind) @ problem.readout / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("b", [2.0, 5.0, 20.0])
def test_the_sphere_and_its_threshold_are_fixed_points_of_the_leading_order(b):
    gain = lambda radius, scale: scale * (4 * b - 2 - 2 * math.log(1 + radius**2)) / (4 * b - 4 * math.log(2))
    assert gain(math.sqrt(4 / math.e - 1), 1.0) == pytest.approx(1.0, abs=1e-14)
    threshold = (b - math.log(2)) / (b - 0.5)
    assert gain(0.0, threshold) == pytest.approx(1.0, abs=1e-14)
    assert float(ScaleThreshold().predict(stack(8, b, 0.999 * threshold, 1.0))) == pytest.approx(math.log(0.999))
    assert float(ScaleThreshold().predict(stack(8, b, 1.001 * threshold, 1.0))) == 0
    # across the sphere: d(r g)/dr by differences
    radius, h = math.sqrt(4 / math.e - 1), 1e-6
    slope = ((radius + h) * gain(radius + h, 1.0) - (radius - h) * gain(radius - h, 1.0)) / (2 * h)
    assert slope == pytest.approx(1 - (1 - math.e / 4) / (b - math.log(2)), abs=1e-8)


def test_the_gradient_keeps_its_size_at_any_depth():
    problem = stack(192, 5.0, 1.0, 0.5)
    sizes = [np.linalg.norm(through(problem, problem.start, layers)[1]) for layers in (100, 200)]
    assert sizes[1] / sizes[0] == pytest.approx(1.0, abs=0.05)
    assert float(DeepCascadeGradient().predict(problem)) == pytest.approx(0.6866715 / 0.5, rel=1e-6)


def test_operations_double_with_the_dimension():
    assert counted_operations(128, 8, 4) / counted_operations(64, 8, 4) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("n", "p", "bent"), [(9, 3, 5.0), (4, 3, 0.0), (3, 6, 0.0)])
def test_in_high_dimension_nothing_bends(n, p, bent):
    drawn = np.random.default_rng(0).normal(size=(5 * n, p)) / p**0.5
    problem = ScatteredPoints(*(jnp.asarray(part) for part in (drawn[:n], drawn[n : 3 * n], drawn[3 * n :])))
    claim = CurvedDirections()
    assert float(claim.predict(problem)) == float(claim.measure(problem, jax.random.key(0))) == bent


def test_the_statements_of_the_paper_are_there():
    assert len(statements(KEY)) == 7
    assert len(reproductions(KEY)) == 4
