"""Transformers with logistic attention: the definitions of the layers, entry by entry."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks import Head, TransformerLayer, attention_scores, transformer

EPS = float(np.finfo(float).eps)


def drawn(key, size=4, tokens=5, heads=2):
    numbers = jax.random.normal(key, (3 * heads + 2, size, size))
    layer = TransformerLayer(tuple(Head(*numbers[3 * m : 3 * m + 3]) for m in range(heads)), numbers[-2], numbers[-1])
    return layer, jax.random.normal(jax.random.fold_in(key, 1), (size, tokens))


def sigma(x):
    return math.exp(x) / (math.exp(x) + 1)


def by_loops(layer, tokens):
    """Equations (11) to (13), one number at a time."""
    tokens = np.asarray(tokens)
    size, count = tokens.shape
    middle = tokens.copy()
    for head in layer.heads:
        q, k, v = (np.asarray(matrix) for matrix in (head.query, head.key, head.value))
        for j in range(count):
            for i in range(count):
                score = sum((q @ tokens)[a, i] * (k @ tokens)[a, j] for a in range(size))
                for row in range(size):
                    value = sum(v[row, b] * tokens[b, i] for b in range(size))
                    middle[row, j] += value * sigma(score) / (count - 1)
    inner, outer = np.asarray(layer.inner), np.asarray(layer.outer)
    after = middle.copy()
    for j in range(count):
        hidden = [max(sum(inner[unit, b] * middle[b, j] for b in range(size)), 0.0) for unit in range(size)]
        for row in range(size):
            after[row, j] += sum(outer[row, unit] * hidden[unit] for unit in range(size))
    return after


def test_layer_by_definition(key):
    layer, tokens = drawn(key)
    expected = by_loops(layer, tokens)
    assert np.abs(np.asarray(transformer([layer], tokens)[1]) - expected).max() <= 64 * EPS * np.abs(expected).max()


def test_layers_follow_each_other(key):
    layer, tokens = drawn(key, heads=1)
    states = transformer([layer, layer], tokens)
    assert len(states) == 3
    assert (states[0] == tokens).all()
    expected = by_loops(layer, by_loops(layer, tokens))
    assert np.abs(np.asarray(states[2]) - expected).max() <= 1024 * EPS * np.abs(expected).max()


def test_scores_are_of_keys_in_rows(key):
    layer, tokens = drawn(key)
    head, (i, j) = layer.heads[0], (1, 3)
    score = np.asarray(head.query @ tokens)[:, i] @ np.asarray(head.key @ tokens)[:, j]
    assert float(attention_scores(head, tokens)[i, j]) == pytest.approx(sigma(score), rel=64 * EPS)


def test_scores_do_not_compete(key):
    layer, tokens = drawn(key)
    head = layer.heads[0]
    fewer = attention_scores(head, tokens[:, :3])
    assert np.allclose(fewer, attention_scores(head, tokens)[:3, :3], rtol=64 * EPS, atol=0.0)


def test_a_layer_of_zeros_keeps_the_tokens(key):
    _, tokens = drawn(key)
    nothing = jnp.zeros((4, 4))
    layer = TransformerLayer((Head(nothing, nothing, nothing),), nothing, nothing)
    assert (transformer([layer], tokens)[1] == tokens).all()


def test_large_scores_have_finite_values(key):
    _, tokens = drawn(key)
    far = 1e6 * jnp.eye(4)
    assert np.isin(np.asarray(attention_scores(Head(far, far, far), tokens)), (0.0, 1.0)).all()
