"""The transformer in context: layouts, weights as printed, naive attention, and the iterations that it runs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.functions import GaussianBumps, draw_function
from lemmata.networks import InContextTransformer, construct_transformer, forward_steps, transformer, transformer_layers
from lemmata.solvers import accelerated_proximal_gradient, proximal_gradient

EPS = float(np.finfo(float).eps)
PRECISIONS = (jnp.bfloat16, jnp.float32, jnp.float64)


@dataclasses.dataclass(frozen=True)
class Prompt:
    """A transformer for bumps in two dimensions, noisy examples of one function, and a query."""

    model: InContextTransformer
    x: jax.Array
    y: jax.Array
    queries: jax.Array

    @property
    def features(self):
        return self.model.features(self.x)


def prompt_of(key, *, n, examples, layers, **settings):
    functions = GaussianBumps(2, 2.0)
    model = construct_transformer(functions, n, layers, examples=examples, key=key, **settings)
    keys = jax.random.split(key, 3)
    points = jax.random.uniform(keys[0], (examples + 1, 2), minval=-0.7, maxval=0.7)
    y = draw_function(keys[1], functions)(points[:-1]) + 0.1 * jax.random.normal(keys[2], (examples,))
    return Prompt(model, points[:-1], y, points[-1:])


def dense_tokens(prompt):
    tokens = prompt.model.tokens(prompt.x, prompt.y, prompt.queries[0])
    return np.stack(transformer(transformer_layers(prompt.model), tokens))


@pytest.fixture
def case(key):
    """d = 2, n = 4, N = 7, T = 3, tau = 50."""
    return prompt_of(key, n=4, examples=7, layers=7, temperature=50.0, penalty=0.02)


@pytest.fixture
def fast(key):
    return prompt_of(key, n=4, examples=7, layers=7, temperature=50.0, penalty=0.02, accelerated=True)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def test_rows_are_those_of_the_source(case):
    rows, (d, n) = case.model.rows, (2, 4)
    printed = {
        "x": (1, d), "one": (d + 1, d + 1), "y": (d + 2, d + 2), "w": (d + 3, d + 3), "phi": (d + 4, d + n + 4),
        "rho": (d + n + 5, d + 2 * n + 5), "penalty": (d + 2 * n + 6,) * 2, "prediction": (d + 2 * n + 7,) * 2,
    }  # fmt: skip
    assert {name: (part.start + 1, part.stop) for name, part in rows.items()} == printed
    assert case.model.width == d + 2 * n + 7


def test_rows_with_momentum(fast):
    d, n = 2, 4
    assert fast.model.width == d + 3 * n + 8
    assert fast.model.rows["last"] == slice(d + 2 * n + 5, d + 3 * n + 6)


def test_first_tokens(case):
    tokens = np.asarray(case.model.tokens(case.x, case.y, case.queries[0]))
    assert tokens.shape == (17, 8)
    assert (tokens[:2, :7] == np.asarray(case.x).T).all()
    assert (tokens[:2, 7] == np.asarray(case.queries[0])).all()
    assert (tokens[2] == 1).all()
    assert (tokens[3] == [*np.asarray(case.y), 0]).all()
    assert tokens[4].tolist() == [1.0] * 7 + [0.0]
    assert (tokens[5:] == 0).all()


def test_weights_as_printed(case):
    """Matrices of A.4.3, with indices that begin at 1."""
    model, d, n = case.model, 2, 4
    layers, size, eta, tau = transformer_layers(model), d + 2 * n + 7, float(model.step), 50.0
    assert [len(layer.heads) for layer in layers] == [0, 4, 2, 4, 2, 4, 2]
    for layer in layers:
        for matrix in (layer.inner, layer.outer, *jax.tree.leaves(layer.heads)):
            assert matrix.shape == (size, size)
    value = np.zeros((size, size))
    for i in range(n + 1):
        value[d + n + 4 + i, d + 3 + i] = 8 * tau
    heads = layers[1].heads
    for head, sign in zip(heads, (1, -1, 1, -1), strict=True):
        assert (np.asarray(head.value) == sign * value).all()
    assert np.flatnonzero(np.asarray(heads[0].query)).tolist() == [d + 1]
    assert float(heads[0].query[0, d + 1]) == pytest.approx(eta / tau, rel=4 * EPS)
    assert float(heads[0].key[0, d]) == 1.0
    assert float(heads[2].query[0, d + 2]) == pytest.approx(-eta / tau, rel=4 * EPS)
    assert float(heads[2].key[0, size - 1]) == 1.0
    assert not np.asarray(heads[3].query).any()
    last_row = np.asarray(layers[2].heads[0].value)[-1]
    assert np.flatnonzero(last_row).tolist() == [d, d + 2]
    assert last_row[d] == -last_row[d + 2] == 4 * tau * 7
    assert not np.asarray(layers[2].inner).any()
    assert not np.asarray(layers[2].outer).any()


def test_blocks_share_their_weights(case, fast):
    layers = transformer_layers(case.model)
    assert all(layers[k] is layers[1] for k in (3, 5))
    assert all(layers[k] is layers[2] for k in (4, 6))
    layers = transformer_layers(fast.model)
    assert all(layers[k] is layers[1] for k in (3, 5))
    changed = [np.asarray(layers[4].heads[0].key) != np.asarray(layers[2].heads[0].key)]
    assert changed[0].any(), "Attn2 depends on the block"
    assert (np.asarray(layers[4].outer) != np.asarray(layers[2].outer)).any(), "and so does FF2"
    assert (np.asarray(layers[4].inner) == np.asarray(layers[2].inner)).all()


def naive_layer(layer, tokens):
    """Equations (11) to (13) by three loops."""
    size, count = tokens.shape
    middle = tokens.copy()
    for head in layer.heads:
        q, k, v = (np.asarray(matrix) @ tokens for matrix in (head.query, head.key, head.value))
        for j in range(count):
            for i in range(count):
                share = logistic(q[:, i] @ k[:, j]) / (count - 1)
                for row in range(size):
                    middle[row, j] += v[row, i] * share
    return middle + np.asarray(layer.outer) @ np.maximum(np.asarray(layer.inner) @ middle, 0.0)


@pytest.mark.parametrize("which", ["case", "fast"])
def test_dense_pass_by_loops(which, request):
    prompt = request.getfixturevalue(which)
    found = np.asarray(dense_tokens(prompt))
    tokens = np.asarray(prompt.model.tokens(prompt.x, prompt.y, prompt.queries[0]))
    for number, layer in enumerate(transformer_layers(prompt.model), start=1):
        tokens = naive_layer(layer, tokens)
        assert np.abs(found[number] - tokens).max() <= 1e-11


def test_follows_proximal_gradient_for_two_hundred_steps(key):
    """n = 40, N = 60 and tau = 10^4: dense matrices of 89 rows, 401 layers."""
    functions = GaussianBumps(2, 2.0)
    keys = jax.random.split(key, 3)
    model = construct_transformer(functions, 40, 401, examples=60, key=keys[0], temperature=1e4, penalty=0.001)
    angles = jax.random.uniform(keys[1], (61, 2))
    x = angles[:, :1] * jnp.stack([jnp.cos(7 * angles[:, 1]), jnp.sin(7 * angles[:, 1])], axis=1)
    y = draw_function(keys[2], functions)(x[:-1])
    tokens = transformer(transformer_layers(model), model.tokens(x[:-1], y, x[-1]))
    path = proximal_gradient(model.features(x[:-1]), y, model.penalty, model.step, 200)
    rho = np.stack([np.asarray(tokens[2 * t + 1][model.rows["rho"], 0]) for t in range(201)])
    # Two products a token are off by 2 eps tau: 8 eps tau in an entry of a step, sqrt(p) times as much in length.
    allowed = 8 * EPS * 1e4 * 200 * 41**0.5
    assert np.abs(rho - np.asarray(path)).max() <= allowed < 3e-8
    asked = float(model.features(x[-1:])[0] @ path[-1])
    assert float(tokens[-1][-1, -1]) == pytest.approx(asked, abs=1e-9)
    assert abs(asked) > 1e-3


def test_printed_attention_of_the_prediction_is_n_times_smaller(key):
    printed = prompt_of(key, n=4, examples=7, layers=3, temperature=50.0, as_printed=True)
    corrected = prompt_of(key, n=4, examples=7, layers=3, temperature=50.0)
    found = [float(dense_tokens(prompt)[-1][-1, -1]) for prompt in (printed, corrected)]
    assert found[1] == pytest.approx(7 * found[0], rel=1e-10)
    assert abs(found[1]) > 1e-4


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_dense_pass_in_every_type(key, dtype):
    model = construct_transformer(GaussianBumps(2), 4, 7, examples=8, key=key, dtype=dtype)
    x = jnp.linspace(-0.6, 0.6, 18).reshape(9, 2).astype(dtype)
    y = jnp.ones(8, dtype)
    dense = transformer(transformer_layers(model), model.tokens(x[:8], y, x[8]))[-1]
    assert dense.dtype == dtype
    # Four heads of size 8 tau, of which each rounds by eps, in each of three steps
    allowed = 3 * 4 * 8 * float(model.temperature) * float(jnp.finfo(dtype).eps)
    assert abs(float(dense[-1, -1]) - float(model(x[:8], y, x[8:], stable=False)[0])) < allowed


def test_the_accelerated_pass_is_fista(key):
    prompt = prompt_of(key, n=8, examples=24, layers=41, penalty=0.003, accelerated=True)
    found = forward_steps(prompt.model, prompt.features, prompt.y, prompt.model.features(prompt.queries))[0][:, :, 0]
    known = (prompt.features, prompt.y, prompt.model.penalty, prompt.model.step)
    fista, plain = accelerated_proximal_gradient(*known, 20)[1:], proximal_gradient(*known, 20)[1:]
    # Each product of size s is off by s³/(12 tau²), with eta s below 1 and tau = 10^4: far below 1e-9 in 20 steps.
    assert float(jnp.abs(found - fista).max()) < 1e-9
    assert float(jnp.abs(plain - fista).max()) > 1e-3


def test_the_path_ends_where_the_prediction_is(case):
    steps, predictions = case.model.path(case.x, case.y, case.queries)
    np.testing.assert_allclose(predictions[-1], case.model(case.x, case.y, case.queries), rtol=1e-12)
    assert len(steps) == len(predictions)
