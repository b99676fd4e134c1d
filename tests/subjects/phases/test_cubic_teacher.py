"""The cubic teacher: overlaps by quadrature, actions by minimisation and chains, transitions by naive twins."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erf

from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.subjects.phases import CubicTeacher, held_norm_interaction, hermite_overlaps, mixed_phase, transition
from lemmata.subjects.phases.cubic_teacher import TaughtUnit
from lemmata.subjects.samplers import mala

PAPER = CubicTeacher(epsilon=-0.3, weight_variance=0.5, ratio=150 / 8)
STRONG = CubicTeacher(epsilon=-0.6, weight_variance=0.4, ratio=2.0)


@pytest.mark.parametrize(("q", "rest"), [(0.7, 0.4), (-0.3, 1.1), (1.4, 0.0)])
def test_overlaps_by_quadrature_in_the_plane(q, rest):
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / np.sqrt(2 * np.pi)
    seen = erf(q * nodes[:, None] + np.sqrt(rest) * nodes[None, :]) @ weights
    found = [weights @ (seen * nodes), weights @ (seen * (nodes**3 - 3 * nodes)) / np.sqrt(6)]
    assert np.allclose(hermite_overlaps(q, q**2 + rest), found, atol=1e-6)


def test_a_length_below_the_overlap_is_refused():
    with pytest.raises(DataError, match="squared_norm"):
        hermite_overlaps(1.0, 0.5)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35])
def test_the_gain_is_the_least_action_with_its_volume(share):
    u, b, c, g = 12.0, 0.4, -0.6, STRONG.weight_variance

    def whole(r):
        q2 = share * (1 + 2 * r) / (1 - 2 * share)
        w = jnp.array([q2**0.5, r**0.5])
        return float(STRONG.action(w, u, b, c)) - (np.log(r / g) + 1) / 2

    found = minimize_scalar(whole, bounds=(1e-4, 2.0), method="bounded", options={"xatol": 1e-9})
    assert found.fun == pytest.approx(STRONG.gain(share, u, b, c), abs=1e-9)
    assert found.x == pytest.approx(g * (1 - 2 * share), rel=1e-4)
    q2 = share * (1 + 2 * g) / (1 - 2 * share)
    held = STRONG.action(jnp.array([q2**0.5, g**0.5]), u, b, c) - 0.5
    assert STRONG.gain_at_held_norm(share, u, b, c) == pytest.approx(float(held), abs=1e-12)


@pytest.mark.parametrize("u", [0.5, 10.0, 30.0])
def test_the_linear_part_by_iteration(u):
    """b by the damped fixed point of a normal law's variance, in 1e9 dimensions."""
    b, g, d, kappa = 0.1, 0.5, 1e9, np.sqrt(PAPER.ratio / u)
    for _ in range(4000):
        variance = 1 / (d * (1 / g - 4 * u * b**2 / (np.pi * (1 + 2 * g))))
        inner = d / kappa * 4 * variance / (np.pi * (1 + 2 * g))
        b += 0.02 * (1 / (1 + inner) - b)
    assert PAPER.linear_part(u) == pytest.approx(b, rel=1e-6)


def naive_transition(teacher, entry=1.0, rest=None):
    """Bisection of u on the least action over a grid; entry: a factor of the kernel's first entry."""
    e, g = -teacher.epsilon, teacher.weight_variance
    y = np.linspace(1e-3, 0.499, 20000)
    prior = y / (2 * g * (1 - 2 * y)) - np.log(1 - 2 * y) / 2 if rest is None else rest(y)
    slope = 4 / np.pi / (1 + 2 * g)

    def least(u):
        top = 1 / np.sqrt(slope * u * g)
        feedback = lambda b: entry * slope / (np.sqrt(teacher.ratio / u) * (1 / g - slope * u * b**2))
        b = brentq(lambda b: b * (1 + feedback(b)) - 1, 1e-9, min(1, top) * (1 - 1e-12))
        return float(np.min((prior - 2 * u / np.pi * y * (b + 2 * e * y) ** 2) / y))

    return brentq(least, 1.0, 200.0)


def held_rest(y):
    return y / (1 - 2 * y) * (1 + 2 * PAPER.weight_variance) / (2 * PAPER.weight_variance)


def test_transitions_by_bisection():
    assert transition(PAPER).interaction == pytest.approx(naive_transition(PAPER), rel=1e-5)
    assert transition(STRONG).interaction == pytest.approx(naive_transition(STRONG), rel=1e-5)
    held = transition(PAPER, held_norm=True)
    assert held.interaction == pytest.approx(naive_transition(PAPER, rest=held_rest), rel=1e-5)


def test_numbers_of_the_paper():
    """30.2 is within 2 % of the action's at a held norm, and not of half the kernel's entry or the free norm's."""
    assert transition(PAPER, held_norm=True).interaction == pytest.approx(30.2, rel=0.02)
    assert naive_transition(PAPER, entry=0.5, rest=held_rest) == pytest.approx(23.03, abs=0.01)
    assert transition(PAPER).interaction == pytest.approx(20.78, abs=0.01)


def test_a_transition_is_a_stationary_point_and_the_closed_form():
    at = transition(STRONG)

    def whole(x):
        volume = jnp.log(x[1]) / 2 - jnp.log(STRONG.weight_variance) / 2
        w = jnp.stack([x[0], jnp.sqrt(x[1])])
        return STRONG.action(w, at.interaction, at.linear, STRONG.epsilon) - volume - 0.5

    x = jnp.array([at.overlap, at.beside])
    assert np.allclose(jax.grad(whole)(x), 0, atol=1e-6)
    assert float(whole(x)) == pytest.approx(0, abs=1e-9)
    assert at.barrier > 0.02
    held = transition(STRONG, held_norm=True)
    assert held_norm_interaction(STRONG, held.linear) == pytest.approx((held.interaction, held.overlap), rel=1e-5)


@pytest.mark.parametrize("teacher", [PAPER, STRONG])
@pytest.mark.parametrize("factor", [1.001, 1.3, 3.0])
def test_a_mixed_phase_solves_its_equations(teacher, factor):
    u = factor * transition(teacher).interaction
    phase, y = mixed_phase(teacher, u), np.linspace(1e-3, 0.49, 5000)
    gain = teacher.gain(y, u, phase.linear, phase.cubic)
    assert teacher.gain(phase.share, u, phase.linear, phase.cubic) == pytest.approx(0, abs=1e-9)
    assert gain.min() > -1e-9
    d, g = 1e7, teacher.weight_variance
    h = np.array([2 * np.sqrt(phase.share / np.pi), -4 * np.sqrt(phase.share**3 / (6 * np.pi))])
    variance = 1 / (d * (1 / g - 4 * u * phase.linear**2 / (np.pi * (1 + 2 * g))))
    second = phase.droplets / d * np.outer(h, h) + np.diag([4 * variance / (np.pi * (1 + 2 * g)), 0.0])
    feedback = np.eye(2) + d / np.sqrt(teacher.ratio / u) * second
    left = np.linalg.solve(feedback, [1, np.sqrt(6) * teacher.epsilon])
    assert np.allclose(left, [phase.linear, np.sqrt(6) * phase.cubic], rtol=1e-6)


def test_before_the_transition_nothing_of_the_cubic_component_is_learned():
    phase = mixed_phase(PAPER, 20.0)
    assert (phase.cubic, phase.droplets) == (-0.3, 0.0)
    assert mixed_phase(PAPER, 20.79).droplets < 0.01


def test_chains_of_whole_weights_have_the_law_of_overlap_and_norm():
    at, d = transition(STRONG), 12
    weight, q, r = TaughtUnit(STRONG, at.linear, 0.2).law(d, at.interaction, at.linear, STRONG.epsilon, 200)
    y = q**2 / (1 + 2 * (q**2 + r))
    start = jax.random.normal(jax.random.key(0), (64, d)) * (STRONG.weight_variance / d) ** 0.5
    log_density = lambda w: -d * STRONG.action(w, at.interaction, at.linear, STRONG.epsilon)
    points = mala(log_density, start, 0.25 * STRONG.weight_variance / d, 2000, jax.random.key(1), every=5).points[100:]
    for power in (1, 2):
        own = jnp.mean((points[..., 0] ** 2 / (1 + 2 * jnp.sum(points**2, axis=-1))) ** power, axis=0)
        assert float(own.mean()) == pytest.approx(np.sum(weight * y**power), abs=5 * float(own.std()) / 8)
        assert float(own.std()) / 8 < 0.1 * float(own.mean())


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: CubicTeacher(0.3, 0.5, 1.0), r"epsilon; found 0\.3"),
        (lambda: CubicTeacher(-math.inf, 0.5, 1.0), "epsilon; found -inf"),
        (lambda: CubicTeacher(-0.3, math.inf, 1.0), "weight_variance; found inf"),
        (lambda: CubicTeacher(-0.3, 0.5, 0.0), "ratio; found 0"),
        (lambda: PAPER.linear_part(0.0), "interaction; found 0"),
        (lambda: mixed_phase(PAPER, math.nan), "interaction; found nan"),
        (lambda: held_norm_interaction(PAPER, 0.7), r"linear; found 0\.7"),
        (lambda: PAPER.gain(0.5, 1.0, 0.5, -0.3), r"share; found 0\.5"),
        (lambda: PAPER.gain_at_held_norm(0.5, 1.0, 0.5, -0.3), r"share; found 0\.5"),
        (lambda: PAPER.gain(np.array([0.1, -0.1]), 1.0, 0.5, -0.3), r"share; found -0\.1"),
        (lambda: PAPER.gain(0.1, -1.0, 0.5, -0.3), r"interaction; found -1"),
        (lambda: PAPER.gain(0.1, 1.0, math.nan, -0.3), r"linear; found nan"),
        (lambda: PAPER.gain_at_held_norm(0.1, 1.0, 0.5, math.inf), r"cubic; found inf"),
        (lambda: PAPER.gain_at_held_norm(0.1, math.nan, 0.5, -0.3), r"interaction; found nan"),
        (lambda: PAPER.action(jnp.array([0.1, math.nan]), 1.0, 0.5, -0.3), r"w; found nan"),
        (lambda: PAPER.action(jnp.array([0.1, 0.2]), -1.0, 0.5, -0.3), r"interaction; found -1"),
        (lambda: PAPER.action(jnp.array([0.1, 0.2]), 1.0, 0.5, math.nan), r"cubic; found nan"),
    ],
)
def test_bad_settings_are_refused(call, named):
    with pytest.raises(SettingError, match=named):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: hermite_overlaps(jnp.zeros(0), jnp.zeros(0)),
        lambda: hermite_overlaps(jnp.zeros(2), jnp.ones(3)),
        lambda: hermite_overlaps("a", 1.0),
        lambda: CubicTeacher("a", 0.5, 1.0),
        lambda: PAPER.linear_part("a"),
    ],
)
def test_shapes_and_types_that_are_refused(call):
    """By the library, or before it by the checker of types."""
    with pytest.raises((DataError, ShapeError, SettingError, TypeError)):
        call()


@pytest.mark.parametrize("epsilon", [-1e3, -1e6, -1e15])
def test_strong_teachers_turn_at_small_interactions(epsilon):
    """Near u = 27 pi (1 + 2g)/(16 g epsilon²), that of the action at a held norm where b is far below epsilon."""
    teacher = CubicTeacher(epsilon, 0.5, 1.0)
    found = transition(teacher, held_norm=True)
    assert found.interaction == pytest.approx(27 * np.pi / 4 / epsilon**2, rel=5e-3)
    assert found.interaction == pytest.approx(held_norm_interaction(teacher, found.linear)[0], rel=1e-5)
    assert transition(teacher).interaction < found.interaction


def test_a_transition_below_all_interactions_is_an_error():
    with pytest.raises(SolverError, match="no transition above u"):
        transition(CubicTeacher(-1e60, 0.5, 1.0))
