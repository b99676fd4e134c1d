"""Models that tell rows apart without making fewer errors than a constant: of a rare class, and of scores."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from lemmata.subjects.trained_models import held_outputs, held_rows, read_trained
from lemmata.workflows.examinations import signs
from lemmata.workflows.examinations._run import error_interval


def rows(count, seed):
    """One row in twenty is of class 1, whose first input is larger by 1.5."""
    rng = np.random.default_rng(seed)
    y = (rng.random(count) < 0.05).astype(int)
    x = rng.normal(size=(count, 3))
    x[:, 0] += 1.5 * y
    return x, y


def said(model, train, held):
    trained = read_trained(model, *train, held=held)
    return {
        own.name for own in signs(trained, [], error_interval(trained, held_outputs(trained), held_rows(trained)[1]))
    }


@pytest.mark.parametrize("weight", ["balanced", None])
def test_a_trained_model_of_a_rare_class_is_not_called_untrained(weight):
    train, held = rows(600, 1), rows(1000, 2)
    model = LogisticRegression(class_weight=weight, C=0.05).fit(*train)
    trivial = min(held[1].mean(), train[1].mean())
    assert (model.predict(held[0]) != held[1]).mean() >= 0.8 * trivial
    assert not {"not trained", "guessing"} & said(model, train, held)


def test_weights_that_know_nothing_are():
    train, held = rows(600, 1), rows(1000, 2)
    rng = np.random.default_rng(3)
    start = (lambda own, x: x @ own, jnp.asarray(rng.normal(size=(3, 2))).at[0].set(0.0))
    assert {"not trained", "guessing"} <= said(start, train, held)


def order(kept, scale, train, held):
    """A model whose outputs keep some of the order of the targets, in another unit."""
    noise = np.random.default_rng(5).normal(size=4)
    f = lambda x: scale * (kept * x[:, :1] + x @ noise[:, None] * (1 - kept)) + 7.0
    trained = read_trained(f, *train, held=held)
    return trained, signs(trained, [], error_interval(trained, held_outputs(trained), held_rows(trained)[1]))


@pytest.mark.parametrize(("kept", "scale"), [(1.0, 3.0), (1.0, 0.01), (0.9, 3.0)])
def test_scores_that_order_the_rows_are_not_called_untrained_or_guesses(kept, scale):
    x = np.random.default_rng(6).normal(size=(300, 4))
    y = x[:, 0] + 0.3 * np.random.default_rng(7).normal(size=300)
    trained, found = order(kept, scale, (x[:150], y[:150]), (x[150:], y[150:]))
    assert found[0].name == "another quantity"
    assert not {"not trained", "guessing", "worse than one answer"} & {own.name for own in found}
    rank = stats.spearmanr(held_outputs(trained)[:, 0], y[150:]).statistic
    assert f"rank correlation {rank:.2g}" in found[0].finding.text


@pytest.mark.parametrize(("kept", "scale"), [(0.0, 3.0), (1.0, -3.0)])
def test_outputs_without_this_order_are(kept, scale):
    x = np.random.default_rng(6).normal(size=(300, 4))
    y = x[:, 0] + 0.3 * np.random.default_rng(7).normal(size=300)
    names = {own.name for own in order(kept, scale, (x[:150], y[:150]), (x[150:], y[150:]))[1]}
    assert {"not trained", "worse than one answer"} <= names


def test_an_answer_is_compared_with_the_training_rows_most_frequent_class_everywhere():
    """The held-out rows have another most frequent class; both baselines of the page once differed."""
    y, held = np.arange(200) % 10 < 4, np.arange(200) % 10 < 7
    x = np.random.default_rng(8).normal(size=(400, 2))
    constant = lambda x: np.tile([0.9, 0.1], (len(x), 1))
    trained = read_trained(constant, x[:200], y.astype(int), held=(x[200:], held.astype(int)))
    found = signs(trained, [], error_interval(trained, held_outputs(trained), held_rows(trained)[1]))
    (text,) = [own.finding.text for own in found if own.name == "guessing"]
    assert text.count("70 %") == 2
    assert "30 %" not in text
