"""Critics and particles: closed forms by matrix exponentials, by another solver, by loops and permutations."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from scipy.linalg import expm
from scipy.optimize import check_grad
from scipy.stats import wasserstein_distance

from lemmata.architectures import TangentKernel, relu_network
from lemmata.errors import LemmataError
from lemmata.kernels import RBF, Linear, gram
from lemmata.solvers import loss_flow
from lemmata.subjects.dynamics import (
    critic,
    discriminator_loss,
    generator_slopes,
    particle_flow,
    squared_discrepancy,
    wasserstein2,
)

RNG = np.random.default_rng(0)
REAL, FAKE, NEW = (jnp.asarray(RNG.normal(size=(n, 2)) + shift) for n, shift in ((4, 0.0), (6, 1.0), (3, 0.5)))
ALL = jnp.concatenate([REAL, FAKE])
KERNEL = RBF(1.0)


def test_least_squares_is_a_matrix_exponential():
    matrix, weights = np.asarray(gram(KERNEL, ALL)), np.r_[np.full(4, 1 / 4), np.full(6, 1 / 6)]
    labels = np.r_[np.ones(4), -np.ones(6)]
    expected = labels - expm(-2 * 3.0 * matrix @ np.diag(weights)) @ labels
    np.testing.assert_allclose(critic(KERNEL, REAL, FAKE, 3.0, "lsgan")(ALL), expected, atol=1e-10)


@pytest.mark.parametrize("loss", ["ipm", "lsgan", "vanilla"])
def test_the_flow_is_that_of_another_solver(loss):
    own = lambda values, _: discriminator_loss(values, 4, loss)
    path = loss_flow(gram(KERNEL, ALL), own, jnp.zeros(10), [2.0], gram(KERNEL, NEW, ALL))
    np.testing.assert_allclose(critic(KERNEL, REAL, FAKE, 2.0, loss)(NEW), path.path.test[0], atol=1e-6)


def test_a_flat_kernel_needs_no_inverse():
    found = critic(Linear(), 0 * REAL, 0 * FAKE, 3.0, "lsgan")
    assert float(jnp.abs(found(NEW)).max()) == 0.0
    np.testing.assert_allclose(found.coefficients, np.r_[np.full(4, 6 / 4), np.full(6, -1.0)], rtol=1e-12)


def test_the_ipm_critic_is_a_witness():
    found = critic(KERNEL, REAL, FAKE, 2.0)
    gap = float(jnp.mean(found(REAL)) - jnp.mean(found(FAKE)))
    distance = float(squared_discrepancy(KERNEL, REAL, FAKE))
    assert gap == pytest.approx(2 * distance, rel=1e-12)
    assert float(found.squared_norm) == pytest.approx(4 * distance, rel=1e-12)


def test_slopes_are_those_of_finite_differences_and_finite_at_a_kink():
    found = critic(KERNEL, REAL, FAKE, 2.0, "lsgan")
    value = lambda z: float(found(jnp.asarray(z)[None])[0])
    assert check_grad(value, lambda z: np.asarray(found.slopes(jnp.asarray(z)[None])[0]), np.asarray(NEW[0])) < 1e-6
    kinked = critic(TangentKernel(relu_network(1, bias_std=1.0)), REAL, FAKE, 2.0)
    slopes, step = kinked.slopes(FAKE), 1e-6
    assert bool(jnp.isfinite(slopes).all())
    # the mean of the slopes on the two sides
    along = jnp.array([step, 0.0])
    np.testing.assert_allclose((kinked(FAKE + along) - kinked(FAKE - along)) / (2 * step), slopes[:, 0], atol=1e-6)


@pytest.mark.parametrize("loss", ["ipm", "lsgan", "vanilla"])
def test_points_follow_the_generators_loss(loss):
    found = critic(KERNEL, REAL, FAKE, 2.0, loss)
    own = {"ipm": lambda f: -f, "lsgan": lambda f: f**2, "vanilla": lambda f: jnp.log1p(jnp.exp(-f))}[loss]
    slopes = -jax.grad(lambda z: jnp.sum(own(found(z))))(FAKE)
    np.testing.assert_allclose(generator_slopes(found, FAKE, loss), slopes, atol=1e-12)
    path = particle_flow(KERNEL, REAL, FAKE, steps=2, rate=0.1, time=2.0, loss=loss)
    np.testing.assert_allclose(path.points[1], FAKE + 0.1 * slopes, atol=1e-10)


def test_the_discrepancy_by_a_loop_and_its_fall_in_small_steps_and_rise_in_large_ones():
    pairs = lambda x, y: np.mean([[float(KERNEL(a, b)) for a in x] for b in y])
    expected = pairs(REAL, REAL) + pairs(FAKE, FAKE) - 2 * pairs(REAL, FAKE)
    assert float(squared_discrepancy(KERNEL, REAL, FAKE)) == pytest.approx(expected, rel=1e-12)
    small = particle_flow(KERNEL, REAL, FAKE, steps=40, rate=0.6)
    assert bool(jnp.all(jnp.diff(small.discrepancies) < 0))
    large = particle_flow(KERNEL, REAL, FAKE, steps=40, rate=60.0)
    assert bool(jnp.any(jnp.diff(large.discrepancies) > 0))


def test_wasserstein_by_all_permutations_and_on_a_line():
    x, y = RNG.normal(size=(2, 5, 2))
    costs = [np.mean(np.sum((x - y[list(p)]) ** 2, axis=1)) for p in itertools.permutations(range(5))]
    assert wasserstein2(x, y) == pytest.approx(np.sqrt(min(costs)))
    ordered = np.sqrt(np.mean((np.sort(x[:, :1], axis=0) - np.sort(y[:, :1], axis=0)) ** 2))
    assert wasserstein2(x[:, :1], y[:, :1]) == pytest.approx(ordered)
    assert wasserstein2(x[:, :1], y[:, :1]) >= wasserstein_distance(x[:, 0], y[:, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: critic("rbf", REAL, FAKE, 1.0),
        lambda: critic(KERNEL, REAL, FAKE, -1.0),
        lambda: critic(KERNEL, REAL, FAKE, 1.0, "hinge"),
        lambda: critic(KERNEL, REAL, FAKE[:, :1], 1.0),
        lambda: critic(KERNEL, REAL * jnp.nan, FAKE, 1.0),
        lambda: particle_flow(KERNEL, REAL, FAKE, steps=0, rate=1.0),
        lambda: particle_flow(KERNEL, REAL, FAKE, steps=3, rate=1.0, every=2),
        lambda: particle_flow(KERNEL, REAL, FAKE, steps=1, rate=-1.0),
        lambda: wasserstein2(REAL, FAKE),
    ],
    ids=range(9),
)
def test_bad_input_is_refused(call):
    with pytest.raises((LemmataError, TypeCheckError)):  # the tests check types before
        call()
