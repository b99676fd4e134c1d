"""Critics, distances, games and recovery: the same numbers by SciPy, by roots and eigenvalues, by hand, by counting."""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.spatial.distance import jensenshannon

from lemmata.subjects.generation.critics import (
    DiscriminatorFallsShort,
    DistantNormals,
    FacedLaws,
    NearbyNormals,
    NormalLaw,
)
from lemmata.subjects.generation.distances import (
    FiniteMetrics,
    RowsPerDimension,
    SampleFarFromItsLaw,
    TransportDuality,
    TwoSamples,
)
from lemmata.subjects.generation.finite_samples import CollisionsOfSamples, Game, SkewedLaw
from lemmata.subjects.generation.games import (
    AlternatingSteps,
    BilinearGame,
    OptimisticSteps,
    PenalisedCritic,
    PenaltyRate,
    ScalarGame,
    SimultaneousAndExtragradientSteps,
)
from lemmata.subjects.generation.inpainting import AlignedGenerator, InpaintingNoise, MaskedBlocks, MaskedSignal
from lemmata.subjects.generation.measurements import (
    FalseMinimum,
    GaussianMeasurements,
    LatentCode,
    LinearRange,
    MeasuredSets,
    RecoveryBound,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_best_discriminator_is_p_over_p_plus_q(rng):
    laws = FacedLaws(*map(jnp.asarray, (*rng.uniform(0.1, 1.0, (2, 7)), np.zeros(7))))
    p, q = np.asarray(laws.p), np.asarray(laws.q)
    ratios = jnp.asarray(np.where(p > 0, np.log(np.maximum(p, 1e-300) / q), -800.0))
    best = DiscriminatorFallsShort().predict(dataclasses.replace(laws, logits=ratios))
    assert best == pytest.approx(2 * jensenshannon(p, q) ** 2 - math.log(4.0))
    loss = lambda logits: -DiscriminatorFallsShort().predict(dataclasses.replace(laws, logits=logits))
    found = optimize.minimize(jax.jit(loss), np.zeros(7), jac=jax.jit(jax.grad(loss)))
    assert -found.fun == pytest.approx(float(best), rel=1e-4)


def test_the_divergence_of_normals_by_quad(key):
    law = NormalLaw(jnp.asarray(0.7), jnp.asarray(3.0))
    p, q = stats.norm(0.0, 1.0), stats.norm(0.5, 1.0)
    middle = lambda x: (p.pdf(x) + q.pdf(x)) / 2
    near = integrate.quad(
        lambda x: (p.pdf(x) * np.log(p.pdf(x) / middle(x)) + q.pdf(x) * np.log(q.pdf(x) / middle(x))) / 2, -9, 9.5
    )
    assert NearbyNormals().measure_at(law, key, 2.0) == pytest.approx(near[0] / 0.25, rel=1e-8)
    expected = math.sqrt(2 * math.pi) * (1 - (math.pi**2 + 8) / (2 * 24.0**2))
    assert DistantNormals().measure_at(law, key, 24.0) == pytest.approx(expected, rel=1e-3)


def test_transport_by_hand_and_by_pot(key):
    line = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    by_hand = TwoSamples(line, np.asarray([0, 0]), np.asarray([1, 2]))
    assert TransportDuality().predict(by_hand) == pytest.approx(2.0)
    assert TransportDuality().measure(by_hand, key) == pytest.approx(2.0)
    ot = pytest.importorskip("ot")
    found = FiniteMetrics().sample({"points": 12, "n": 20}, key)
    p, q = (np.bincount(own, minlength=12) / 20 for own in (found.p, found.q))
    assert TransportDuality().measure(found, key) == pytest.approx(ot.emd2(p, q, found.metric))


def test_a_sample_in_many_dimensions_is_far_from_its_law(key):
    """The leading term, with the mean of the largest of m normal numbers in place of sqrt(2 log m)."""
    m = d = 1600
    largest = stats.norm.isf(1 / m) + 0.5772 / stats.norm.isf(1 / m)
    expected = math.sqrt(2.0 - math.sqrt(6 / d) * largest)
    found = SampleFarFromItsLaw().measure_at(RowsPerDimension(jnp.asarray(1.0), 1), key, float(d))
    assert found == pytest.approx(expected, rel=0.02)


def test_equal_pairs_by_enumeration():
    law = SkewedLaw(jnp.asarray(0.7), 4, 3)
    p = np.asarray(law.masses)
    pairs = lambda draws: sum(a == b for a, b in itertools.combinations(draws, 2))
    mean = sum(p[list(draws)].prod() * pairs(draws) for draws in itertools.product(range(4), repeat=3))
    assert CollisionsOfSamples().predict(law) == pytest.approx(mean - 3 / 4)


def test_games_have_one_value(rng):
    assert Game(jnp.asarray([[1.0, -1.0], [-1.0, 1.0]])).solution(of_rows=True)[0] == pytest.approx(0.5)
    game = Game(jnp.asarray(rng.choice([-1.0, 1.0], (9, 9))))
    assert game.solution(of_rows=True)[0] == pytest.approx(game.solution(of_rows=False)[0])


def test_steps_of_a_bilinear_game_by_hand(key):
    game = BilinearGame(jnp.ones((1, 1)), jnp.ones(1), jnp.zeros(1), jnp.asarray(0.5), 1)
    both = SimultaneousAndExtragradientSteps()
    np.testing.assert_allclose(both.predict(game), [1.25, 1 - 0.25 + 0.0625])
    np.testing.assert_allclose(both.measure(game, key), [1.25, 1 - 0.25 + 0.0625])
    assert AlternatingSteps().measure(game, key) == pytest.approx(1.0 + 0.25 - 0.5 * 0.5)  # (1, 0) goes to (1, 1/2)


@pytest.mark.parametrize("place", [0.1, 0.35, 0.55, 0.56, 0.85])
def test_optimistic_steps_by_roots(place):
    game = ScalarGame(jnp.asarray(2.0), jnp.ones(2), jnp.asarray(place))
    h = float(game.step)
    largest = np.abs(np.roots([1.0, -(1 + 2j * h), 1j * h])).max()
    assert OptimisticSteps().predict(game)[0] == pytest.approx(largest)
    assert (largest < 1) == (h < 1 / math.sqrt(3.0))


@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.15, 2.5])
def test_the_rate_of_a_penalty_by_eigenvalues(ratio, key):
    critic = PenalisedCritic(jnp.asarray(3.0), jnp.asarray(ratio + (0.1 if ratio < 1 else -0.1)), jnp.asarray(1.0))
    slowest = -np.linalg.eigvals([[0.0, -1.5], [1.5, -3.0 * ratio]]).real.max()
    assert PenaltyRate().predict(critic) == pytest.approx(slowest)
    assert PenaltyRate().measure(critic, key) == pytest.approx(slowest, rel=1e-8)


def test_the_cost_of_measurements_by_the_inverse_wishart_law(rng):
    problem = LinearRange(jnp.asarray(rng.standard_normal((40, 6))), jnp.asarray(rng.standard_normal(40)), 15)
    basis, x = np.asarray(problem.basis), np.asarray(problem.signal)
    distance = np.linalg.lstsq(basis, x)[1][0]
    trace = np.trace(np.atleast_2d(stats.invwishart(df=15, scale=np.eye(6)).mean()))
    assert GaussianMeasurements().predict(problem) == pytest.approx(distance * trace)


@pytest.mark.parametrize("seed", range(4))
def test_some_sets_attain_the_bound_on_recovery(seed):
    sets = MeasuredSets()
    problems = [sets.sample({"n": 30, "m": 20, "points": 10}, jax.random.key(4 * seed + i)) for i in range(4)]
    claim = RecoveryBound()
    ratios = [float(claim.measure(p, jax.random.key(0)) / claim.predict(p)) for p in problems]
    assert max(ratios) <= 1
    tight = [float(p.points[0] @ p.points[0]) == 0.0 for p in problems]
    assert all((ratio > 0.99) == own for ratio, own in zip(ratios, tight, strict=True))


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_false_minimum_by_the_sum_over_layers(depth):
    angles = [math.pi]
    for _ in range(depth):
        t = angles[-1]
        angles.append(math.acos(((math.pi - t) * math.cos(t) + math.sin(t)) / math.pi))
    rest = [math.prod((math.pi - t) / math.pi for t in angles[i + 1 : depth]) for i in range(depth)]
    rho = sum(math.sin(t) / math.pi * after for t, after in zip(angles[:depth], rest, strict=True))
    found = FalseMinimum().predict(LatentCode(jnp.ones(3), depth))
    np.testing.assert_allclose(found, [rho, (1 - rho) / (1 + rho)])
    assert depth > 2 or rho == pytest.approx(1 / math.pi)


def test_the_noise_of_inpainting_for_one_column():
    """The squared length of the observed part of a random unit vector has a beta distribution."""
    inverse = stats.beta(15 / 2, (40 - 15) / 2).expect(lambda share: 1 / share)
    assert InpaintingNoise().predict(MaskedSignal(jnp.asarray(2.0), 40, 1, 15)) == pytest.approx(4 * (inverse - 1))


def test_hidden_blocks_by_all_masks():
    masks = list(itertools.combinations(range(12), 5))
    hidden = np.mean([[not {3 * j, 3 * j + 1, 3 * j + 2} & set(mask) for j in range(4)] for mask in masks])
    assert MaskedBlocks().predict(AlignedGenerator(jnp.ones(4), jnp.ones((4, 3, 4)), 5)) == pytest.approx(hidden)
