"""Margins, norms, posteriors, support vectors: the measurements against other routes."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from lemmata.engine.problems.margin_rows import SphericalMarginRows, sphere_shadows
from lemmata.subjects.generalisation import linear_margins, norms_of_layers, support_vectors
from lemmata.subjects.generalisation.pac_bayes import NoisyLinearRules


def test_margins_of_labellings_by_another_programme():
    x = np.random.default_rng(0).normal(size=(4, 5))
    found = []
    for signs in itertools.product([-1.0, 1.0], repeat=3):
        signed = np.asarray([1.0, *signs])[:, None] * x
        constraint = {"type": "ineq", "fun": lambda w, rows=signed: rows @ w - 1, "jac": lambda w, rows=signed: rows}
        start = np.linalg.pinv(signed) @ np.ones(4)
        solved = minimize(lambda w: w @ w, start, jac=lambda w: 2 * w, constraints=constraint, options={"ftol": 1e-14})
        found.append(1 / np.linalg.norm(solved.x))
    assert np.allclose(linear_margins.margins_of_labellings(x), found, rtol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 40])
def test_shadows_of_the_sphere_have_its_moments(d):
    shadows = sphere_shadows(np.random.default_rng(d), d, 200_000)
    points = np.random.default_rng(1).normal(size=(50_000, d))
    points = points[:, :2] / np.linalg.norm(points, axis=1, keepdims=True)
    assert np.mean(shadows[0] ** 2) == pytest.approx(1 / d, rel=0.02)
    assert np.mean(np.abs(shadows).prod(axis=0)) == pytest.approx(np.abs(points).prod(axis=1).mean(), rel=0.03)


def test_true_errors_and_losses_are_those_of_new_rows(key):
    generator = np.random.default_rng(0)
    rule = NoisyLinearRules().sample({"n": 100, "d": 4, "flips": 0.1}, key)
    x = generator.normal(size=(100_000, 4))
    y = np.where(generator.uniform(size=100_000) < 0.1, -1, 1) * np.sign(x @ np.asarray(rule.teacher))
    drawn = np.asarray(rule.weights) + generator.normal(size=(100_000, 4))
    assert rule.true_error(key) == pytest.approx(np.mean(np.sum(x * drawn, axis=1) * y <= 0), abs=0.015)
    rows = SphericalMarginRows().sample({"n": 50, "ratio": 2}, key)
    x = generator.normal(size=(20_000, 100))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    flipped = generator.uniform(size=20_000) < float(rows.flips)
    y = np.where(flipped, -1, 1) * np.sign(x @ np.asarray(rows.teacher))
    loss = np.minimum(1, np.maximum(0, 1 - y * (x @ rows.weights) / float(rows.margin)))
    assert rows.true_loss(key) == pytest.approx(loss.mean(), abs=0.015)


def test_the_ascent_finds_the_best_direction_in_the_plane(key):
    x = jax.random.normal(key, (12, 2))
    signs = jax.random.rademacher(jax.random.key(1), (40, 12), float)
    found = np.asarray(norms_of_layers.attained_by_one_path(x, signs, key))
    angles = jnp.linspace(0, 2 * jnp.pi, 4001)
    active = jax.nn.relu(x @ jnp.stack([jnp.cos(angles), jnp.sin(angles)]))
    best = np.maximum(np.asarray((signs @ active).max(axis=1)), 0)
    assert np.all(found <= best * (1 + 1e-5) + 1e-6)
    assert np.mean(found) > 0.9 * np.mean(best)


def test_support_vectors_are_the_rows_on_the_margin():
    generator = np.random.default_rng(0)
    for _ in range(20):
        x = generator.normal(size=(20, 5))
        y = np.sign(x[:, 0])
        margins = y * (x @ support_vectors.separator(x, y))
        assert margins.min() == pytest.approx(1, abs=1e-8)
        assert support_vectors.support_vectors(x, y) == np.sum(margins < 1 + 1e-6)
