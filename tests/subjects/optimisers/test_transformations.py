"""Shampoo, SOAP and Adam-mini against plain NumPy, and that they train."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lemmata.subjects.optimisers import adam_mini, scale_by_adam_mini, scale_by_shampoo, scale_by_soap, shampoo, soap


def run(method, gradients):
    state, found = method.init(gradients[0]), []
    for gradient in gradients:
        step, state = method.update(gradient, state)
        found.append(np.asarray(step))
    return found, state


def power(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


@pytest.fixture(params=[(3, 3), (4, 4)])
def gradients(request):
    return [jnp.asarray(g) for g in np.random.default_rng(0).normal(size=(6, *request.param))]


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_shampoo_is_the_textbook_one(gradients, decay):
    left = right = 0.0
    for gradient, step in zip(gradients, run(scale_by_shampoo(decay), gradients)[0], strict=True):
        g, new = np.asarray(gradient), 1.0 if decay == 1.0 else 1 - decay
        left, right = decay * left + new * g @ g.T, decay * right + new * g.T @ g
        np.testing.assert_allclose(step, power(left, -0.25) @ g @ power(right, -0.25), rtol=1e-7, atol=1e-9)


def test_soap_renews_its_bases_from_earlier_gradients(gradients):
    b, every = 0.9, 2
    steps, _ = run(scale_by_soap(b, b, eps=0.0, every=every), gradients)
    assert not steps[0].any()
    mean = square = np.zeros(gradients[0].shape)
    left = right = 0.0
    one = two = np.eye(len(mean))
    for number, gradient in enumerate(gradients):
        g = np.asarray(gradient)
        if number:
            mean, square = b * mean + (1 - b) * g, b * square + (1 - b) * (one.T @ g @ two) ** 2
            scaled = one.T @ mean @ two / (1 - b**number) / np.sqrt(square / (1 - b**number))
            np.testing.assert_allclose(steps[number], one @ scaled @ two.T, rtol=1e-6, atol=1e-8)
        left, right = b * left + (1 - b) * g @ g.T, b * right + (1 - b) * g.T @ g
        if number % every == 0:
            one, two = np.linalg.eigh(left)[1], np.linalg.eigh(right)[1]


def test_adam_mini_is_adam_where_a_block_is_one_parameter(gradients):
    columns = [gradient[:, :1] for gradient in gradients]
    mini, adam = run(scale_by_adam_mini(), columns)[0], run(optax.scale_by_adam(), columns)[0]
    for one, two in zip(mini, adam, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_adam_mini_stores_one_number_a_row(gradients):
    state = run(scale_by_adam_mini(), gradients)[1]
    rows = (1 - 0.999) * sum(0.999 ** (5 - k) * np.mean(np.asarray(g) ** 2, axis=1) for k, g in enumerate(gradients))
    np.testing.assert_allclose(state.square[:, 0], rows, rtol=1e-10)


@pytest.mark.parametrize(
    "make", [functools.partial(shampoo, decay=0.9), soap, adam_mini], ids=["shampoo", "soap", "adam-mini"]
)
def test_they_train_trees_of_vectors_and_matrices(make):
    target = {"w": jnp.arange(6.0).reshape(2, 3) / 5, "b": jnp.array([1.0, -1.0]), "c": jnp.array(0.3)}
    loss = lambda p: sum(jnp.sum((p[name] - target[name]) ** 2) for name in target)
    params = jax.tree.map(jnp.zeros_like, target)
    method = make(optax.linear_schedule(0.1, 0.001, 300))

    def one(_, carry):
        at, state = carry
        update, state = method.update(jax.grad(loss)(at), state, at)
        return optax.apply_updates(at, update), state

    end = jax.lax.fori_loop(0, 300, one, (params, method.init(params)))[0]
    assert loss(end) < 1e-3 * loss(params)


@pytest.mark.parametrize("make", [soap, adam_mini], ids=lambda make: make.__name__)
def test_decay_is_decoupled(make):
    weights = jnp.ones((2, 2))
    method = make(0.5, weight_decay=0.1)
    update, _ = method.update(jnp.zeros((2, 2)), method.init(weights), weights)
    np.testing.assert_allclose(update, -0.05 * np.ones((2, 2)))
