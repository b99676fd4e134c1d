"""What the claims about signs of gradients rest on, by other routes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import integrate, stats

from lemmata.chapters.dynamics import sign_kernels
from lemmata.problems._gradient_rows import (
    AsymmetricKernels,
    GradientRows,
    NormalGradients,
    TunedNetworks,
    UnevenGradients,
    output,
)


def problem(population, seed=0):
    return population.sample(population.settings().default, jax.random.key(seed))


def test_gradients_in_closed_form_are_those_of_automatic_differentiation():
    own = problem(TunedNetworks())
    first, second = own.gradients()
    known = jax.vmap(lambda x: jax.grad(output)(own.params, x))(own.x)
    np.testing.assert_allclose(first, known["first"], rtol=1e-12)
    np.testing.assert_allclose(second, known["second"][:, :, 0], rtol=1e-12)


def test_a_first_step_of_adam_is_a_sign():
    own = problem(TunedNetworks())
    slopes = jax.grad(lambda p: jnp.vdot(own.slopes, own.outputs(p)))(own.params)
    moved = sign_kernels._adam(own.params, slopes, 0.25)
    for name, before in own.params.items():
        np.testing.assert_allclose(moved[name], before - 0.25 * jnp.sign(slopes[name]), rtol=1e-12)
    uncorrected = optax.chain(optax.scale_by_adam(eps=0.0), optax.scale(-1.0))
    assert uncorrected.update(slopes, uncorrected.init(own.params))[0]["first"].shape == (5, 8)


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_means_of_signs_by_quadrature(rho):
    claim = sign_kernels.SignKernelsOfNormalGradients()
    own = GradientRows(2.0 * jnp.ones((2, 4)), jnp.asarray(rho))
    density = stats.multivariate_normal(cov=[[1, rho], [rho, 1]]).pdf
    same = integrate.dblquad(lambda b, a: density([a, b]), 0, 8, 0, 8, epsabs=1e-9)[0]
    turned = integrate.dblquad(lambda b, a: density([a, -b]), 0, 8, 0, 8, epsabs=1e-9)[0]
    halves = integrate.quad(lambda b: 2 * rho * b * stats.norm.pdf(b), 0, 10)[0]
    np.testing.assert_allclose(claim.predict(own), [2 * same - 2 * turned, 2 * halves], atol=1e-6)


def test_samplers_draw_what_they_say():
    normal = problem(NormalGradients())
    assert abs(np.corrcoef(normal.gradients)[0, 1] - float(normal.correlation)) < 0.06
    uneven = problem(UnevenGradients(rows=6))
    np.testing.assert_allclose(jnp.linalg.norm(uneven.gradients, axis=1), 1.0)
    sizes = jnp.abs(uneven.gradients).mean(axis=0)
    assert sizes[::2].mean() > 3 * sizes[1::2].mean()


def test_the_gradient_of_the_objective_is_the_primal_system():
    own = problem(AsymmetricKernels())
    phi, psi, p = own.phi[:-1], own.psi[:-1], own.phi.shape[1]

    def objective(both):
        w, v = both[:p], both[p:]
        left = jnp.sum((1 - own.y * (phi @ w)) ** 2) + jnp.sum((1 - own.y * (psi @ v)) ** 2)
        return jnp.vdot(w, v) + own.gamma / 2 * left

    np.testing.assert_allclose(jax.hessian(objective)(jnp.ones(2 * p)), own.primal, rtol=1e-10, atol=1e-12)
    assert jnp.linalg.eigvalsh(own.primal)[0] < 0 < jnp.linalg.eigvalsh(own.primal)[-1]
