"""The first-order distance to another class, and how straight outputs are on the way."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import read_trained
from lemmata.subjects.trained_models.attacks import (
    SmallestAttack,
    departure_from_a_line,
    first_order_radii,
    smallest_attacks,
)

N, D, CLASSES = 60, 4, 3


def trained(f):
    """A model of three classes whose outputs are f of linear scores; labels are its own."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(D, CLASSES))
    x = rng.normal(size=(N, D))
    return read_trained((lambda own, x: f(x @ own), jnp.asarray(weights)), x, (x @ weights).argmax(1))


def test_outputs_that_are_linear_do_not_depart():
    """Another class may be the second one half the way: only the class that the step leads to counts."""
    model = trained(lambda scores: scores)
    assert departure_from_a_line(model) == pytest.approx(0.0, abs=1e-12)
    radii = first_order_radii(model)
    found = smallest_attacks(model, radii)
    assert (found >= radii * (1 - 1e-12)).all()  # steps may go to another class than the nearest one
    assert np.median(found / radii) == pytest.approx(1.0, abs=2.0**-8)
    assert all(own.holds for own in SmallestAttack().hypotheses(model))


def test_outputs_that_bend_are_not_asked():
    """Steep outputs: to first order the class changes much nearer than in truth."""
    model = trained(lambda scores: jnp.sinh(6 * scores))
    radii = first_order_radii(model)
    assert np.median(smallest_attacks(model, radii)) > 2 * np.median(radii)
    failed = [own for own in SmallestAttack().hypotheses(model) if not own.holds]
    assert [own.name for own in failed] == [
        "difference between the margin halfway to the boundary and half of the margin, relative to the margin"
    ]
    assert float(failed[0].value) == pytest.approx(np.exp(-0.5) - 0.5, abs=0.02)  # of an exponential


def test_the_departure_is_that_of_a_square():
    """Of scores s and 0, s² less 0 is a quarter half the way of the step to s = 0, which is twice too short."""
    model = read_trained(
        (lambda own, x: jnp.stack([own * x[:, 0] ** 2, -0.1 + 0 * x[:, 0]], 1), jnp.asarray(1.0)),
        np.linspace(1.0, 2.0, N)[:, None], np.zeros(N, int),
    )  # fmt: skip
    x = np.linspace(1.0, 2.0, N)[:32]
    steps = -(x**2 + 0.1) / (2 * x)
    expected = np.median(np.abs(((x + steps / 2) ** 2 + 0.1) / (x**2 + 0.1) - 0.5))
    assert departure_from_a_line(model) == pytest.approx(expected, rel=1e-9)
