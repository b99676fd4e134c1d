"""The transformer that runs the Lasso in context: layouts, weights as printed, naive attention, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.chapters.in_context import _errors as errors
from lemmata.chapters.in_context import _passes as passes
from lemmata.chapters.in_context import acceleration, precision
from lemmata.chapters.in_context._prompts import sampled_prompt
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.functions import Cosines, GaussianBumps, draw_function
from lemmata.networks import construct_transformer, forward_steps, transformer, transformer_layers
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient, soft_threshold

EPS = float(np.finfo(float).eps)


@pytest.fixture
def case(key):
    """d = 2, n = 4, N = 7, T = 3, tau = 50."""
    return sampled_prompt(key, n=4, examples=7, layers=7, temperature=50.0, penalty=0.02)


@pytest.fixture
def fast(key):
    return sampled_prompt(key, n=4, examples=7, layers=7, temperature=50.0, penalty=0.02, accelerated=True)


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
    found = np.asarray(passes.dense_tokens(prompt))
    tokens = np.asarray(prompt.model.tokens(prompt.x, prompt.y, prompt.queries[0]))
    for number, layer in enumerate(transformer_layers(prompt.model), start=1):
        tokens = naive_layer(layer, tokens)
        assert np.abs(found[number] - tokens).max() <= 1e-11


def test_updates_by_the_printed_sums(case):
    """(118) token by token, and (108)."""
    model, tau, eta = case.model, 50.0, float(case.model.step)
    phi = np.asarray(model.features(jnp.concatenate([case.x, case.queries[:1]])))
    y, w = [*np.asarray(case.y), 0.0], [1.0] * 7 + [0.0]
    rho, prediction = np.linspace(-0.3, 0.4, 5), 0.7
    g = lambda x: 4 * tau * (logistic(x / tau) - 0.5)
    inexact, exact = rho.copy(), rho.copy()
    for i in range(8):
        terms = g(eta * y[i]) - g(eta * phi[i] @ rho) + g(eta * (1 - w[i]) * prediction)
        inexact += 2 / 7 * terms * phi[i]
        if i < 7:
            exact += 2 * eta / 7 * (y[i] - phi[i] @ rho) * phi[i]
    ours = passes.inexact_update(case, jnp.asarray(rho)[None], jnp.asarray([prediction]))[0]
    assert np.abs(np.asarray(ours) - inexact).max() <= 1e-12
    assert np.abs(np.asarray(passes.exact_update(case, jnp.asarray(rho)[None])[0]) - exact).max() <= 16 * EPS


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
    printed = sampled_prompt(key, n=4, examples=7, layers=3, temperature=50.0, as_printed=True)
    corrected = sampled_prompt(key, n=4, examples=7, layers=3, temperature=50.0)
    found = [float(passes.dense_tokens(prompt)[-1][-1, -1]) for prompt in (printed, corrected)]
    assert found[1] == pytest.approx(7 * found[0], rel=1e-10)
    assert abs(found[1]) > 1e-4


def test_step_errors_by_hand(case):
    rho, _ = passes.path_of(case)
    found = errors.step_errors(case)
    assert found.shape == (3, 5)
    moved = soft_threshold(passes.exact_update(case, rho[1:2])[0], case.model.step * case.model.penalty)
    assert np.abs(np.asarray(rho[2] - moved - found[1])).max() <= 4 * EPS
    assert float(jnp.abs(found).max()) > 0


def test_sufficient_temperature_is_the_least(key):
    prompt = sampled_prompt(key, n=4, examples=16, layers=21, penalty=0.01)
    ladder = jnp.asarray([2.0**k for k in range(-8, 9)])
    found = float(jax.jit(errors.sufficient_temperature)(prompt, ladder))
    held_at = jax.jit(errors.found_at)
    allowed = np.asarray([errors.error_allowed(prompt), errors.norm_allowed(prompt), errors.gap_allowed(prompt)])
    assert (np.asarray(held_at(prompt, jnp.asarray(found))) <= allowed).all()
    assert not (np.asarray(held_at(prompt, jnp.asarray(found / 2))) <= allowed).all()
    assert np.isinf(float(jax.jit(errors.sufficient_temperature)(prompt, jnp.full_like(ladder, 2.0**-20))))


def test_best_temperature_is_a_minimum():
    for dtype in precision.PRECISIONS:
        eps, tau = float(jnp.finfo(dtype).eps), float(precision.best_temperature(0.7, dtype))
        error = lambda t, eps=eps: 0.7**3 / (12 * t**2) + eps * t
        assert error(tau) < min(error(0.99 * tau), error(1.01 * tau))
        assert error(tau) == pytest.approx(float(precision.least_error(0.7, dtype)), rel=1e-12)


def test_rounded_product_is_stored_in_its_type():
    x = jnp.linspace(-1.0, 1.0, 33)
    for dtype in precision.PRECISIONS:
        found = np.asarray(precision.rounded_product(x, jnp.asarray(3.0), dtype))
        assert (found == np.asarray(jnp.asarray(found).astype(dtype).astype(float))).all()
        assert np.abs(found - 6 * np.tanh(np.asarray(x) / 6)).max() <= 8 * float(jnp.finfo(dtype).eps) * 3


@pytest.mark.parametrize(("dtype", "number", "layers"), [(jnp.float32, 8, 41), (jnp.float64, 16, 33)])
def test_reach(dtype, number, layers):
    """At the largest N the logistic function of the largest target is above 1/2, at four times as many it is 1/2."""
    count = precision.reachable(dtype, number, layers)
    for examples, left in ((count, True), (4 * count, False)):
        z = 1 / (2 * (number + 1)) / float(errors.temperature_asked(number, layers, examples, 1.0))
        assert (z > float(jnp.finfo(dtype).eps) / 2) is left
    mass = jax.nn.sigmoid(jnp.asarray([-0.5, 0.5], dtype) * float(jnp.finfo(dtype).eps))
    assert (mass == 0.5).all()


def test_worth_of_steps():
    """Powers of I - h A for small h: FISTA on a quadratic of curvature h."""
    found = np.asarray(acceleration.worth_of_steps(64))
    assert found[np.asarray(acceleration.DEPTHS, int) - 1] == pytest.approx(acceleration.WORTH, rel=1e-9)
    # |y - rho|² with step h/2 in place of 1/2: a step takes away the share h.
    small = 1e-9
    path = np.asarray(accelerated_proximal_gradient(jnp.ones((1, 1)), jnp.ones(1), 0.0, small / 2, 64))[1:, 0]
    assert path / small == pytest.approx(found, rel=1e-5)


def test_layers_saved_at_equal_objective(key):
    prompt = sampled_prompt(key, n=16, examples=64)
    arguments = prompt.prompt, prompt.y, 0.01, prompt.model.step
    saved = float(jax.jit(acceleration.layers_saved, static_argnums=(4, 5))(*arguments, 20, 256))
    assert 2 * 20 < saved < 2 * 100
    fast = float(lasso_objective(*arguments[:3], accelerated_proximal_gradient(*arguments, 20)[-1]))
    plain = np.asarray(lasso_objective(*arguments[:3], proximal_gradient(*arguments, 200)))
    assert plain[int(20 + saved / 2)] >= fast >= plain[int(20 + saved / 2) + 1]


def test_accelerated_predictions_are_better(key):
    prompt = sampled_prompt(key, n=16, examples=64, layers=61, penalty=0.001)
    fast = sampled_prompt(key, n=16, examples=64, layers=61, penalty=0.001, accelerated=True)
    ends = jnp.stack([passes.path_of(each)[0][-1] for each in (prompt, fast)])
    objective = lasso_objective(prompt.prompt, prompt.y, 0.001, ends)
    assert float(objective[1]) < float(objective[0])


BUMPS = GaussianBumps(2)
INFINITE = Cosines(jnp.array([[1.0, 0.0]]), jnp.array([jnp.inf]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": 6}, "layers.*found 6.*odd.*layers=7"),
        ({"layers": 0}, "layers.*found 0.*layers=1"),
        ({"number": 0}, "number of features.*found 0.*at least 1"),
        ({"examples": 1}, "examples.*found 1.*at least 2"),
        ({"penalty": -0.1}, "penalty.*found -0.1.*at least 0"),
        ({"penalty": float("nan")}, "penalty.*found nan"),
        ({"temperature": 0.0}, "temperature.*found 0.0.*positive"),
        ({"sharpness": float("inf")}, "sharpness.*found inf"),
        ({"step": -1.0}, "step.*found -1.0"),
        ({"sharpness": 1e300, "dtype": jnp.float32}, "sharpness.*stored as inf"),
        ({"penalty": float("inf")}, "penalty.*found inf"),
        ({"step": 1e-60, "dtype": jnp.float32}, "step.*stored as 0"),
        ({"layers": True}, "layers.*found True.*whole"),
        ({"functions": INFINITE}, "class of functions.*inf.*finite Barron parameter"),
        ({"temperature": 1e16}, "temperature.*1e\\+16.*rounded to 0.*at most.*remedy"),
        ({"temperature": 1e9, "dtype": jnp.float32}, "temperature.*rounded to 0"),
    ],
)
def test_settings_that_no_transformer_has(key, change, words):
    settings = {"functions": BUMPS, "number": 4, "layers": 7, "examples": 8, "key": key} | change
    with pytest.raises(SettingError, match=words):
        construct_transformer(**settings)


@pytest.mark.parametrize("dtype", precision.PRECISIONS)
def test_default_temperature_leaves_something(key, dtype):
    model = construct_transformer(BUMPS, 4, 7, examples=8, key=key, dtype=dtype)
    assert model.temperature.dtype == dtype
    x = jnp.linspace(-0.6, 0.6, 16).reshape(8, 2).astype(dtype)
    found = model(x, jnp.ones(8, dtype), x[:1], stable=False)
    assert float(found[0]) > 0


def test_prompts_that_do_not_fit(key):
    model = construct_transformer(BUMPS, 4, 7, examples=8, key=key)
    x, y = jnp.zeros((8, 2)), jnp.zeros(8)
    with pytest.raises(ShapeError, match=r"inputs of the examples.*\(8, 3\).*2 columns"):
        model.predict(jnp.zeros((8, 3)), y, x)
    with pytest.raises(ShapeError, match=r"\(7,\) for 8 inputs"):
        model.predict(x, y[:7], x)
    with pytest.raises(DataError, match="1 examples"):
        model.predict(x[:1], y[:1], x)
    with pytest.raises(DataError, match="query 3"):
        model.predict(x, y, x.at[3, 0].set(2.0))
    with pytest.raises(ShapeError, match=r"queries.*\(2,\)"):
        model.predict(x, y, [0.0, 0.0])
    with pytest.raises(DataError, match="tables of numbers"):
        model.predict([["a", "b"]] * 8, y, x)
    assert model.predict(x.tolist(), [0] * 8, x.tolist()).shape == (8,)


@pytest.mark.parametrize("dtype", precision.PRECISIONS)
def test_the_dense_pass_in_every_type(key, dtype):
    model = construct_transformer(BUMPS, 4, 7, examples=8, key=key, dtype=dtype)
    x = jnp.linspace(-0.6, 0.6, 18).reshape(9, 2).astype(dtype)
    y = jnp.ones(8, dtype)
    dense = transformer(transformer_layers(model), model.tokens(x[:8], y, x[8]))[-1]
    assert dense.dtype == dtype
    # Four heads of size 8 tau, of which each rounds by eps, in each of three steps
    allowed = 3 * 4 * 8 * float(model.temperature) * float(jnp.finfo(dtype).eps)
    assert abs(float(dense[-1, -1]) - float(model(x[:8], y, x[8:], stable=False)[0])) < allowed


def test_the_accelerated_pass_is_fista(key):
    prompt = sampled_prompt(key, n=8, examples=24, layers=41, penalty=0.003, accelerated=True)
    found = forward_steps(prompt.model, prompt.prompt, prompt.y, prompt.model.features(prompt.queries))[0][:, :, 0]
    known = (prompt.prompt, prompt.y, prompt.model.penalty, prompt.model.step)
    fista, plain = accelerated_proximal_gradient(*known, 20)[1:], proximal_gradient(*known, 20)[1:]
    # Each product of size s is off by s³/(12 tau²), with eta s below 1 and tau = 10^4: far below 1e-9 in 20 steps.
    assert float(jnp.abs(found - fista).max()) < 1e-9
    assert float(jnp.abs(plain - fista).max()) > 1e-3
