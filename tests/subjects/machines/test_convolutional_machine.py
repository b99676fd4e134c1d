"""Machines: where they start, their divergence and slope by other routes, infinite stiffness, bad settings."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.machines import (
    convolve_grams,
    gaussian_divergence,
    initial_machine,
    machine_objective,
    normalise_grams,
    patch_grams,
    pool_grams,
    rectify_grams,
    train_machine,
)


@pytest.fixture(scope="module")
def images():
    return jnp.asarray(np.random.default_rng(0).normal(size=(8, 4, 4, 1)))


@pytest.fixture(scope="module")
def targets(images):
    return jnp.stack([images.max(axis=(1, 2, 3)), images.std(axis=(1, 2, 3))], axis=1)


@pytest.fixture(scope="module")
def machine(images):
    return initial_machine(jax.random.key(1), images, (5, 3), (2,))


def test_it_starts_as_the_machine_without_gram_layers(machine, images):
    grams = normalise_grams(patch_grams(images, machine.patches, bias=0.1))
    for mixing, stride in zip(machine.mixings, machine.strides, strict=True):
        grams = normalise_grams(convolve_grams(rectify_grams(grams), mixing, stride=stride))
    expected = pool_grams(rectify_grams(grams))
    found = machine.top(images)
    scale = float(jnp.exp(machine.log_scale))
    np.testing.assert_allclose(found.cross, scale * expected.cross, rtol=1e-3)
    np.testing.assert_allclose(found.variance, scale * expected.variance, rtol=1e-3)
    assert float(machine.divergence()) == 0.0


def test_inducing_points_of_a_block_are_patches_of_the_layer_in_front(images):
    """With inducing points that explain all of the sites in front, the new ones have the variances of sites behind."""
    machine = initial_machine(jax.random.key(2), images[:1, :2, :2], (4, 4), (1,))
    grams = rectify_grams(normalise_grams(patch_grams(images[:1, :2, :2], machine.patches, bias=0.1)))
    behind = convolve_grams(grams, machine.mixings[0])
    found, expected = np.sort(np.diagonal(behind.inducing)), np.sort(np.ravel(behind.variance))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_the_divergence_is_that_of_the_gram_matrices(machine):
    factor = jnp.asarray(np.tril(np.random.default_rng(1).normal(size=(3, 3))) + 2 * np.eye(3))
    moved = eqx.tree_at(lambda tree: tree.roots[0], machine, factor)
    half = jnp.linalg.cholesky(jnp.asarray([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 1.5]]))
    expected = gaussian_divergence(half @ factor @ factor.T @ half.T, half @ half.T)
    assert float(moved.divergence()) == pytest.approx(float(expected), rel=1e-10)


def test_its_slope_by_differences(machine, images, targets):
    along = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=float)).reshape(leaf.shape), machine)

    @jax.jit
    def value(t):
        return machine_objective(jax.tree.map(lambda a, b: a + t * b, machine, along), images, targets, 0.7)

    slope = jax.jvp(value, (0.01,), (1.0,))[1]
    assert float(slope) == pytest.approx(float((value(0.01 + 1e-6) - value(0.01 - 1e-6)) / 2e-6), rel=1e-5)


def test_training_raises_the_objective_and_infinite_stiffness_keeps_the_prior(machine, images, targets):
    trained, values = train_machine(machine, images, targets, stiffness=1.0, steps=12)
    assert values[11] > values[0]
    assert float(trained.divergence()) > 0.0
    stiff, _ = train_machine(machine, images, targets, stiffness=np.inf, steps=3)
    assert float(stiff.divergence()) == 0.0
    assert not np.allclose(stiff.mixings[0], machine.mixings[0])


def test_bad_settings_are_named(machine, images, targets):
    with pytest.raises(SettingError, match="one count more"):
        initial_machine(jax.random.key(0), images, (3, 3), (1, 1))
    with pytest.raises(SettingError, match="at least 1"):
        initial_machine(jax.random.key(0), images, (3, 3), (0,))
    with pytest.raises(SettingError, match="stiffness"):
        train_machine(machine, images, targets, stiffness=-1.0)


@pytest.mark.parametrize(
    ("given", "error", "word"),
    [
        ({"stiffness": np.nan}, SettingError, "stiffness"),
        ({"rate": np.inf}, SettingError, "rate"),
        ({"steps": 1.5}, (SettingError, TypeError), "steps"),
        ({"steps": -1}, SettingError, "steps"),
        ({"images": jnp.full((8, 4, 4, 1), jnp.nan)}, DataError, "images"),
        ({"images": jnp.ones((8, 4, 4, 2))}, ShapeError, "images"),
        ({"targets": jnp.full((8, 1), jnp.nan)}, DataError, "targets"),
        ({"targets": jnp.ones((7, 1))}, (ShapeError, TypeError), "targets"),
    ],
)
def test_what_training_refuses(machine, images, targets, given, error, word):
    given = {"images": images, "targets": targets, **given}
    with pytest.raises(error, match=word):
        train_machine(machine, given.pop("images"), given.pop("targets"), **given)


@pytest.mark.parametrize("stiffness", [-1.0, np.nan])
def test_the_objective_refuses_a_stiffness(machine, images, targets, stiffness):
    with pytest.raises(SettingError, match="stiffness"):
        machine_objective(machine, images, targets, stiffness)


@pytest.mark.parametrize(("inducing", "strides"), [((5.0, 3), (2,)), ((5, 3), (1.5,)), (5, (2,))])
def test_counts_are_whole(images, inducing, strides):
    with pytest.raises((SettingError, TypeError), match=r"inducing|strides"):
        initial_machine(jax.random.key(1), images, inducing, strides)
