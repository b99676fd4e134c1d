"""What the claims about signs of gradients rest on, by other routes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from lemmata.subjects.dynamics import sign_kernels
from lemmata.subjects.dynamics._gradient_rows import TunedNetworks, UnevenGradients, output


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


def test_gradients_have_large_and_small_coordinates():
    uneven = problem(UnevenGradients())
    np.testing.assert_allclose(jnp.linalg.norm(uneven.gradients, axis=1), 1.0)
    sizes = jnp.abs(uneven.gradients).mean(axis=0)
    assert sizes[::2].mean() > 3 * sizes[1::2].mean()
