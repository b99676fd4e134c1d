"""A class that is rare, and a model that tells it apart without making fewer errors than always saying the other."""

import jax.numpy as jnp
import numpy as np
import pytest
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
