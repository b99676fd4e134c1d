"""Helpers of the claims about block routing: recall by hand, tight cases of the bound, the integral by simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.attention import key_convolutions
from lemmata.subjects.attention._routed_keys import HiddenRun, sphere_products
from lemmata.subjects.attention.block_routing import recall
from lemmata.subjects.attention.key_convolutions import ConvolvedKey, RecallContexts


def test_recall_by_hand():
    products = np.array([[0.0, 1.0, 3.0, 3.0, 2.0, 3.5]])
    relevant = np.array([[1.0, 0.0, 1.0, 1.0, 0.0, 1.0]])
    assert recall(products, relevant, 2, 1) == 0.5
    assert recall(products, relevant, 3, 1) == 0.5
    assert recall(products, relevant, 1, 3) == 0.75
    assert recall(products, relevant, 2, 3) == 1.0


def test_products_on_the_sphere_have_the_moments_of_a_coordinate():
    found = sphere_products(np.random.default_rng(0), (200_000,), 6)
    assert np.mean(found**2) == pytest.approx(1 / 6, rel=0.02)
    assert np.mean(found**4) == pytest.approx(3 / (6 * 8), rel=0.03)


def test_a_run_lies_in_one_block_of_its_length():
    products, relevant = HiddenRun(np.asarray(50.0), 16, 64, 8, 16).contexts(jax.random.key(0), 20)
    assert (relevant.sum(axis=1) == 8).all()
    assert set(relevant.reshape(20, 8, 8).mean(axis=2).ravel()) == {0.0, 1.0}
    assert ((products > 25) == (relevant > 0)).all()


@pytest.mark.parametrize(("weights", "attained"), [([1.0], 1.0), ([-2.0], -1.0), ([0.0, 1.0], 7 / 8)])
def test_the_bound_on_convolutions_is_attained_by_none_and_a_shift_loses_a_place(weights, attained):
    """A shift by one of 8 places takes a key out of its block once in 8 times, and leaves the noise as it is."""
    filters = jnp.repeat(jnp.asarray(weights)[:, None], 4, axis=1)
    problem = ConvolvedKey(jnp.array([0.6, 0.0, 0.8, 0.0]), filters, jnp.asarray(1.5), 8, 5)
    claim = key_convolutions.ConvolutionNeverRaisesTheMeanRatio()
    bound = 1.5 * np.sqrt(4 / 16)
    assert float(claim.predict(problem)) == pytest.approx(bound)
    assert float(claim.measure(problem, jax.random.key(0))) == pytest.approx(attained * bound)


def test_the_integral_of_recall_by_whole_keys():
    """Means of 4 keys in 8 dimensions, one key of them the query; 4 of 15 blocks; a standard error of 0.006."""
    generator = np.random.default_rng(0)
    noise = sphere_products(generator, (6000, 15, 4), 8)
    noise[:, 0, 0] = 1.0
    means = noise.mean(axis=2)
    hits = np.mean((means > means[:, :1]).sum(axis=1) < 3)
    population = RecallContexts(draws=1)
    problem = population.sample(population.settings().resolve(None), jax.random.key(0))
    predicted = float(key_convolutions.RecallIsTheHitRate().predict(problem))
    assert predicted == pytest.approx(hits, abs=0.03)
