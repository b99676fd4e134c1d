"""A network that groks: it knows all sums that it was shown, then those that it was not, and both were foretold."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import Trained, held_rows, read_model, read_task, rows_left_out
from lemmata.subjects.trained_models.checkpoints import LaterErrorFromMemorisingCheckpoint, memorised
from lemmata.subjects.trained_models.grokking import LaterErrorFromRefittedRows

MODULUS, UNITS, SIZE, DECAY, RATE = 29, 32, 2.0, 3e-4, 1e-2
SHOWN = 0.7
TIMES = (400, 600, 3000)  # further steps before each model of the history


def squares(params, x):
    """Logits of (a + b) mod p from the indicators of a and b added: squared units and a readout."""
    return (x @ params["embedding"]) ** 2 @ params["readout"]


def objective(params, x, y):
    f = squares(params, x)
    squared = sum(jnp.sum(part**2) for part in params.values())
    return jnp.mean(jax.nn.logsumexp(f, axis=1) - jnp.sum(y * f, axis=1)) + DECAY / 2 * squared


@functools.partial(jax.jit, static_argnames="steps")
def adam(state, x, y, begun, steps):
    """Steps of Adam on all rows; the decay is in the gradient, so that a point of rest is one of the objective."""

    def step(state, t):
        params, mean, square = state
        slope = jax.grad(objective)(params, x, y)
        mean = jax.tree.map(lambda old, own: 0.9 * old + 0.1 * own, mean, slope)
        square = jax.tree.map(lambda old, own: 0.98 * old + 0.02 * own**2, square, slope)
        one, two = 1 - 0.9 ** (t + 1), 1 - 0.98 ** (t + 1)
        move = lambda own, m, s: own - RATE * (m / one) / (jnp.sqrt(s / two) + 1e-8)
        return (jax.tree.map(move, params, mean, square), mean, square), None

    return jax.lax.scan(step, state, begun + jnp.arange(steps))[0]


@functools.cache
def history(seed):
    """Unordered pairs, of which 70 % are shown, and the models after 400, 1000 and 4000 steps."""
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(MODULUS), axis=1)
    pairs = pairs[rng.permutation(len(pairs))]
    x, y = np.eye(MODULUS)[pairs].sum(1), pairs.sum(1) % MODULUS
    n, done = int(SHOWN * len(x)), 0
    params = {
        "embedding": SIZE * rng.normal(size=(MODULUS, UNITS)) / np.sqrt(2),
        "readout": SIZE * rng.normal(size=(UNITS, MODULUS)) / np.sqrt(UNITS),
    }
    nothing = jax.tree.map(np.zeros_like, params)
    state, models = (params, nothing, nothing), []
    for steps in TIMES:
        state, done = adam(state, x[:n], np.eye(MODULUS)[y[:n]], done, steps), done + steps
        models.append(read_model((squares, jax.tree.map(np.asarray, state[0]))))
    task = read_task(models[-1], x[:n], y[:n])
    held = x[n:], task.encode(y[n:])
    return Trained(models[-1], task, x[:n], task.encode(y[:n]), held, DECAY, checkpoints=tuple(models[:-1]))


def wrong(trained, model, held):
    x, y = held_rows(trained) if held else (trained.x, trained.y)
    return float(trained.task.errors(model.outputs(x), y).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_still_to_come_is_foretold_by_descents_without_a_row(seed):
    trained = history(seed)
    early = memorised(trained)
    assert (wrong(trained, early.model, False), wrong(trained, trained.model, False)) == (0.0, 0.0)
    assert wrong(trained, early.model, True) > 0.9, "it knows nothing but its rows"
    assert wrong(trained, trained.model, True) < 0.3, "it has learned to add"
    claim = LaterErrorFromRefittedRows()
    assert all(bool(own.holds) for own in claim.hypotheses(trained))
    low, value, high = np.asarray(claim.predict(trained))
    seen = float(claim.measure(trained, jax.random.key(0))[1])
    assert low <= seen <= high, "foretold from the checkpoint that gets more than 90 % of new sums wrong"
    assert high < 0.5
    assert value > 0


def test_a_newton_step_foretells_the_fall_and_not_how_far():
    """Leverages of 0.87: what a row takes with it is no small step, and the step says too little of it."""
    trained = history(0)
    claim = LaterErrorFromMemorisingCheckpoint()
    assert all(bool(own.holds) for own in claim.hypotheses(trained))
    assert rows_left_out(memorised(trained)).leverage.max() > 0.8
    low, value, high = np.asarray(claim.predict(trained))
    seen = float(claim.measure(trained, jax.random.key(0))[1])
    assert value < 0.2 < 0.9 < wrong(trained, memorised(trained).model, True)
    assert seen > high > low
