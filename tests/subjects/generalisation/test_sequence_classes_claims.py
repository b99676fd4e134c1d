"""Heads and recurrences by loops, rows with margins, thresholds by integration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from lemmata.subjects.generalisation._sequence_classes import HEADS, RandomHeads, Recurrence, StableRecurrences
from lemmata.subjects.generalisation.contrastive_margins import (
    LabelledMargins,
)
from lemmata.subjects.generalisation.threshold_samples import ThresholdQuestions, Thresholds, ThresholdSamples


def test_a_head_that_sees_one_token_gives_its_value(key):
    """With one token all attention is on it, and the output is linear in the token: rank p over the sequences."""
    heads = RandomHeads().sample({"n": 12, "tokens": 1, "p": 3}, key)
    assert heads.outputs.shape == (HEADS, 12, 3)
    stacked = np.concatenate(list(np.asarray(heads.outputs)), axis=1)
    assert np.linalg.matrix_rank(stacked) == 3


def test_outputs_of_heads_are_weighted_means_of_values(key):
    """As the dimension of the tokens is 1, every output lies between the smallest and the largest value."""
    heads = RandomHeads().sample({"n": 5, "tokens": 7, "p": 1}, key)
    token_key, weight_key, _ = jax.random.split(key, 3)
    tokens = jax.random.normal(token_key, (5, 7, 1))[..., 0]
    queries, keys, values = jax.random.normal(weight_key, (3, HEADS))
    for h in (0, 9):
        logits = queries[h] * keys[h] * tokens[:, -1:] * tokens
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(heads.outputs[h, :, 0], (shares * values[h] * tokens).sum(axis=1), rtol=1e-12)


def test_states_of_a_recurrence_reach_their_stationary_mean_square():
    speeds, inputs = jnp.asarray([1.0, 1.7]), jnp.asarray([1.0, -0.5])
    problem = Recurrence(speeds, jnp.asarray([0.3, 2.0]), inputs, jnp.asarray(1.0), 1, 5)
    squares = np.asarray(problem.suprema(jax.random.key(0), (5,), 40_000)[0]) ** 2
    moduli = 1 - np.array([1.0, 1.7]) / 5
    exact = np.sum(np.array([1.0, 0.25]) / (1 - moduli**2))
    assert squares.mean() == pytest.approx(exact, abs=5 * squares.std() / 200)
    assert np.abs(problem.poles(5)) == pytest.approx(moduli)


def test_an_unstable_recurrence_is_named(key):
    problem = StableRecurrences().sample({"n": 4, "states": 2, "memory": 6}, key)
    stable, radius = StableRecurrences().hypotheses(problem)
    assert stable.holds
    assert radius.holds
    unstable = Recurrence(-problem.speeds, problem.angles, problem.inputs, problem.radius, 4, 6)
    assert not StableRecurrences().hypotheses(unstable)[0].holds


def test_rows_with_margins_lie_on_a_sphere_and_labels_are_turned_over_as_often_as_stated():
    direction = jnp.asarray([0.6, 0.8, 0.0, 0.0])
    problem = LabelledMargins(direction, jnp.asarray(0.2), jnp.asarray(3.0), jnp.asarray(1.0), 10)
    x, y = problem.draw(jax.random.key(0), 20_000)
    np.testing.assert_allclose(jnp.linalg.norm(x, axis=1), 3.0, rtol=1e-12)
    turned = np.mean(np.asarray(y * (x @ direction)) < 0)
    assert turned == pytest.approx(0.2, abs=5 * (0.16 / 20_000) ** 0.5)


@pytest.mark.parametrize("n", [1, 2])
def test_the_mean_error_of_a_threshold_is_an_integral(n):
    def error(threshold, *rows):
        below = max([r for r in rows if r <= threshold], default=0.0)
        above = min([r for r in rows if r > threshold], default=1.0)
        return abs((below + above) / 2 - threshold)

    grid = (np.arange(60) + 0.5) / 60
    if n == 1:
        exact = integrate.dblquad(error, 0, 1, 0, 1, epsabs=1e-4)[0]
    else:
        exact = np.mean([error(t, a, b) for t in grid for a in grid for b in grid])
    problem = Thresholds(jnp.zeros(()), jnp.ones(()), n)
    assert float(ThresholdSamples().predict(problem)) == pytest.approx(exact, rel=5e-3)


def test_bisection_without_a_question_guesses_the_middle():
    problem = Thresholds(jnp.asarray(2.0), jnp.asarray(4.0), 0)
    assert float(ThresholdQuestions().predict(problem)) == 0.5  # the mean distance from 3 of a uniform law on [2, 4]
    assert float(ThresholdQuestions().measure(problem, jax.random.key(0))) == pytest.approx(0.5, abs=0.08)
