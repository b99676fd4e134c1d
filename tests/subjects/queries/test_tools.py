"""The tools on queries: against full Jacobians, exact coefficients and known directions, and on bad input."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.functions import cube
from lemmata.subjects.queries import filtered_pca, gradient_signal, information_exponent


def _network(d):
    x = cube(d)
    keys = jax.random.split(jax.random.key(1), 2)
    params = {"inner": jax.random.normal(keys[0], (d, 5)), "outer": jax.random.normal(keys[1], (5,))}
    return (lambda p: jnp.tanh(x @ p["inner"]) @ p["outer"]), params


def test_the_signal_is_that_of_the_full_jacobian():
    outputs, params = _network(4)
    family = np.random.default_rng(0).normal(size=(7, 16))
    found = gradient_signal(outputs, params, family)
    parts = jax.jacrev(outputs)(params)
    jacobian = np.concatenate([np.asarray(parts[name]).reshape(16, -1) for name in ("inner", "outer")], axis=1)
    gradients = (np.asarray(outputs(params)) - family) @ jacobian / 16
    assert found.signal == pytest.approx(gradients.var(axis=0).sum(), rel=1e-12)
    assert found.common == pytest.approx(np.linalg.norm(gradients.mean(axis=0)), rel=1e-12)
    assert found.parts["outer"] == pytest.approx(gradients[:, -5:].var(axis=0).sum() / found.signal, rel=1e-10)
    assert found.steps(0.2, 0.5) == pytest.approx(0.04 / found.signal)
    sampled = gradient_signal(outputs, params, family, sampled=True)
    assert sampled.signal == pytest.approx(gradients.var(axis=0, ddof=1).sum(), rel=1e-12)
    assert sampled.interval[0] < sampled.signal < sampled.interval[1]


def test_all_parities_are_as_visible_as_random_signs():
    outputs, params = _network(5)
    x = np.asarray(cube(5))
    sets = [list(chosen) for k in range(6) for chosen in itertools.combinations(range(5), k)]
    found = gradient_signal(outputs, params, np.stack([x[:, chosen].prod(axis=1) for chosen in sets]))
    squares = sum(np.sum(np.asarray(part) ** 2) for part in jax.tree.leaves(jax.jacrev(outputs)(params)))
    assert found.signal == pytest.approx(squares / 32**2, rel=0.05)  # less the mean target, a point mass
    assert found.random == pytest.approx(squares / 32**2, rel=0.2)
    assert "times that of random signs" in str(found)
    assert "<pre" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"outputs": 3}, SettingError),
        ({"targets": np.ones(16)}, ShapeError),
        ({"targets": np.ones((1, 16))}, DataError),
        ({"targets": np.ones((2, 15))}, ShapeError),
        ({"targets": np.full((2, 16), np.nan)}, DataError),
        ({"sampled": "yes"}, SettingError),
        ({"level": 1.0}, SettingError),
    ],
)
def test_bad_families(change, error):
    outputs, params = _network(4)
    given = {"outputs": outputs, "targets": np.eye(16)[:3], **change}
    with pytest.raises(error):
        gradient_signal(given.pop("outputs"), params, given.pop("targets"), **given)


def test_directions_of_a_triple_product():
    """No linear or quadratic function correlates with the product of three coordinates of a rotated, scaled input."""
    rng = np.random.default_rng(2)
    z, mix = rng.normal(size=(4000, 6)), rng.normal(size=(6, 6))
    found = filtered_pca(z @ mix, z[:, 0] * z[:, 1] * z[:, 2])
    assert found.directions.shape == (6, 3)
    assert not found.correlation
    ways = (mix @ found.directions) / np.linalg.norm(mix @ found.directions, axis=0)  # of z
    assert np.linalg.norm(ways[3:], axis=0).max() < 0.2
    assert "no correlation with the label finds a direction" in str(found)
    assert "eigenvalue" in str(found.plot().to_dict())


def test_noise_has_no_direction():
    rng = np.random.default_rng(3)
    found = filtered_pca(rng.normal(size=(500, 4)), rng.normal(size=500), {"cube": lambda y: y**3})
    assert found.directions.shape == (4, 0)
    assert [own.name for own in found.results] == ["label", "cube"]


def test_a_data_frame_and_a_linear_label():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    x = rng.normal(size=(800, 3))
    found = filtered_pca(pandas.DataFrame(x), pandas.Series(x[:, 2] + rng.normal(size=800)))
    assert found.correlation
    assert found.linear_p < 1e-6
    assert abs(found.directions[2, 0]) > 0.9


@pytest.mark.parametrize(
    ("x", "y", "filters", "error"),
    [
        (np.ones((50, 2)), np.arange(50.0), None, DataError),
        (np.arange(50.0), np.arange(50.0), None, ShapeError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.ones(50), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.ones(49), None, ShapeError),
        (np.random.default_rng(0).normal(size=(50, 9)), np.arange(50.0), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 1)) * np.ones((1, 2)), np.arange(50.0), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": 1}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": lambda y: y > 99}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": lambda y: y[1:]}, ShapeError),
    ],
)
def test_bad_rows(x, y, filters, error):
    with pytest.raises(error):
        filtered_pca(x, y, filters)


def test_coefficients_of_a_relu():
    x = np.random.default_rng(5).normal(size=(40_000, 3)) * [1.0, 2.0, 5.0] + 1.0
    found = information_exponent(x, np.maximum(x[:, 1] - 1.0, 0.0), np.array([0.0, 3.0, 0.0]))
    exact = 2 * np.array([0.5, 1 / math.sqrt(4 * math.pi), 0.0, -1 / math.sqrt(48 * math.pi)])
    assert found.coefficients == pytest.approx(exact, abs=0.05)
    assert ((found.intervals[:, 0] <= exact) & (exact <= found.intervals[:, 1])).all()
    assert found.exponent == 1
    assert found.samples == 3.0


def test_an_even_link_has_exponent_2_and_a_cubic_one_1_after_a_filter():
    x = np.random.default_rng(6).normal(size=(4000, 8))
    z = x[:, 0]
    even = information_exponent(x, z**2, np.eye(8)[0])
    assert even.exponent == 2
    assert even.samples == pytest.approx(8 * math.log(8))
    assert even.label_exponent == 2
    cubic = information_exponent(x, z**3 - 3 * z, np.eye(8)[0])
    assert cubic.exponent == 3
    assert cubic.samples == 64
    assert cubic.label_exponent == 1
    assert "with a filter of the label, the exponent is 1" in str(cubic)
    other = information_exponent(x, z**3 - 3 * z, np.eye(8)[1])
    assert other.exponent is None
    assert other.samples is None


@pytest.mark.parametrize(
    ("rows", "direction", "options", "error"),
    [
        (200, np.ones(3), {}, ShapeError),
        (200, np.zeros(2), {}, DataError),
        (200, np.ones(2), {"degrees": 9}, SettingError),
        (200, np.ones(2), {"level": 0}, SettingError),
        (50, np.ones(2), {}, DataError),
    ],
)
def test_bad_directions(rows, direction, options, error):
    x = np.random.default_rng(0).normal(size=(rows, 2))
    with pytest.raises(error):
        information_exponent(x, x[:, 0], direction, **options)
