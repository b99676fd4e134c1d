"""Perturbation of the tangent kernel: definitions by loops, steps of the proof, the limit of the noisy kernel."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from lemmata.engine.claims import examine
from lemmata.engine.problems.random_units import RandomUnits, unit_rows
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.subjects.softmax_training import kernel_perturbation as perturbation
from lemmata.subjects.softmax_training import kernel_perturbation_proof as perturbation_proof
from lemmata.subjects.softmax_training._moved_units import NoisyUnits, drawn_kernel, kernel_change

EPS = float(np.finfo(float).eps)


def drawn(key, n=3, d=2, k=2, m=10, sigma=0.7, radius=0.009):
    x = unit_rows(key, n, d)
    return x, *drawn_kernel(x, k, m, sigma, radius, key)


def entry(x, sign, weight, i, j, a, b):
    """Definition 3.6, unit by unit."""
    m = sign.shape[1]
    exponentials = np.exp(x @ weight)
    shares = exponentials / exponentials.sum(axis=1, keepdims=True)
    total = 0.0
    for r in range(m):
        left = (sign[a, r] - sign[a]) @ shares[i]
        right = (sign[b, r] - sign[b]) @ shares[j]
        total += left * m * shares[i, r] * right * m * shares[j, r]
    return x[i] @ x[j] * total / m


def test_kernel_change_by_definition(key):
    x, sign, weight, changes = (np.asarray(part) for part in drawn(key))
    ours = kernel_change(*map(jnp.asarray, (x, sign, weight, changes[0])))
    for a, i, b, j in itertools.product(range(2), range(3), range(2), range(3)):
        after = entry(x, sign, weight + changes[0], i, j, a, b)
        before = entry(x, sign, weight, i, j, a, b)
        assert abs(ours[a, i, b, j] - (after - before)) <= 256 * EPS * max(abs(after), abs(before), 1.0)


def test_steepest_moves_beat_random_ones(key):
    x, sign, weight, changes = drawn(key, n=4, k=3, m=64)
    lengths = np.linalg.norm(changes, axis=1)
    assert lengths.max() <= 0.009 * (1 + 8 * EPS)
    moved = jax.vmap(lambda change: kernel_change(x, sign, weight, change))(changes)
    norms = np.sqrt(np.sum(np.asarray(moved) ** 2, axis=(1, 2, 3, 4)))
    assert norms[-1] >= norms.max()
    assert norms[-1] > 3 * norms[0], "a random direction"
    assert abs(moved[6, 0, 0, -1, 0]) >= np.abs(moved[:, 0, 0, -1, 0]).max()


def test_numbers_of_the_sharper_bound():
    radii = np.linspace(1e-6, 0.01, 1000)
    assert ((4 * radii * np.exp(4 * radii) + 4 * np.expm1(4 * radii)) <= 20.5 * radii).all()
    assert 21 * math.exp(2) < math.exp(10), "and so for every B >= 1"


def test_sharper_bound_for_large_logits(key):
    x, sign, weight, changes = drawn(key, n=4, m=64, sigma=2.0)
    logits = float(jnp.abs(x @ weight).max())
    moved = jax.vmap(lambda change: kernel_change(x, sign, weight, change))(changes)
    assert float(jnp.abs(moved).max()) <= 21 * 0.009 * math.exp(2 * logits)


def test_five_terms_by_hand(key):
    x, sign, start, changes = (np.asarray(part) for part in drawn(key))
    weight = start + changes[0]
    terms = np.asarray(perturbation_proof.five_terms(*map(jnp.asarray, (x, sign, weight, start))))
    e, old_e = np.exp(x @ weight), np.exp(x @ start)
    alpha, old_alpha = e.sum(axis=1), old_e.sum(axis=1)
    m = 10

    def average(output, r, exponentials, i):
        return (sign[output, r] - sign[output]) @ exponentials[i] / exponentials[i].sum()

    def stage(i, j, left, right, values, total_i, total_j, a=0, b=1):
        terms = [average(a, r, left, i) * average(b, r, right, j) * values[i, r] * values[j, r] for r in range(m)]
        return sum(terms) / m / (total_i * total_j)

    for i, j in itertools.product(range(3), repeat=2):
        stages = [
            stage(i, j, e, e, e, alpha[i], alpha[j]),
            stage(i, j, e, e, old_e, alpha[i], alpha[j]),
            stage(i, j, e, old_e, old_e, alpha[i], alpha[j]),
            stage(i, j, old_e, old_e, old_e, alpha[i], alpha[j]),
            stage(i, j, old_e, old_e, old_e, alpha[i], old_alpha[j]),
            stage(i, j, old_e, old_e, old_e, old_alpha[i], old_alpha[j]),
        ]
        tolerance = 256 * EPS * np.abs(stages).max()
        np.testing.assert_allclose(terms[:, 0, i, 1, j], -np.diff(stages), rtol=0, atol=tolerance)


def test_where_the_printed_bounds_add_up():
    excess = lambda bound: float(perturbation_proof.printed_bounds(bound).sum()) - math.exp(10 * bound)
    assert round(brentq(excess, 1.0, 4.0), 4) == 2.7745
    assert round(float(perturbation_proof.printed_bounds(1.0).sum())) == 139610
    assert round(math.exp(10)) == 22026
    bounds = np.linspace(1, 8, 200)
    quotients = [float(perturbation_proof.printed_bounds(b).sum()) / math.exp(12 * b) for b in bounds]
    assert round(quotients[0], 2) == 0.86
    assert (np.diff(quotients) < 0).all()


def test_limit_of_noise_is_the_difference_of_two_kernels(key):
    x = unit_rows(key, 5, 3) * jnp.linspace(0.2, 1.0, 5)[:, None]
    problem = NoisyUnits(x, jnp.asarray(0.3), jnp.asarray(0.4))
    kernels = [gram(SoftmaxTangent(sigma=jnp.asarray(sigma)), x) for sigma in (0.5, 0.3)]
    wanted = jnp.trace(kernels[0] - kernels[1]) / 5
    np.testing.assert_allclose(perturbation.MeanPerturbationNotZero().predict(problem), wanted, rtol=64 * EPS)


def test_the_lemma_speaks_about_a_users_inputs(key):
    problem = sampled_regression(key, n=12, t=2, d=3)
    found = examine(perturbation.KernelPerturbation(), problem, key)
    assert found.applies
    assert found.agrees
    assert perturbation_proof.FiveTermsTelescope.population.posed(problem) is None, (
        "steps of a proof say nothing about data"
    )
    zero = RandomUnits(jnp.zeros((2, 2)), 1, 8, 0.1, 1e-4)
    assert not examine(perturbation.PerturbationLinearInRadius(), zero, key).applies
    assert examine(perturbation.EntryPerturbation(), zero, key).measured == 0.0


def test_bias_of_the_noisy_kernel_at_finite_width():
    # s = sigma² = rho²; v = 2 s. Exponentials e, e' of the two units of a pair, with mean exp(v/2):
    s, v = 0.25, 0.5
    second = math.exp(v)  # E e² / (E e)²
    variance = math.expm1(v) + math.expm1(s)  # m var(mean e) / (E e)²: own unit and partner
    covariance = math.expm1(2 * v) + math.expm1(2 * s)  # m cov(mean e², mean e), relative
    averages = -2 * (math.exp(3 * v) - math.exp(2 * v)) + second * (math.exp(v) - math.exp(s))
    noisy = second * (3 * variance - 2 * covariance) + averages
    # without noise the two units of a pair are equal: half as many terms, and averages of signs that vanish
    quiet = math.exp(s) * 2 * (3 * math.expm1(s) - 2 * math.expm1(2 * s))
    assert round(noisy - quiet) == -5
    assert abs(noisy - quiet) / 4096 < perturbation.MeanPerturbationNotZero.relation.margin / 4
