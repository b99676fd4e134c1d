"""Linear functions: what represents them, and that no measure does with less."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from lemmata.functions import (
    LinearFunctions,
    barron_parameter,
    draw_function,
    mean_projection,
    representing_coefficients,
    sample_features,
)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_linear_functions_are_represented(key, d):
    functions = LinearFunctions(d, 2.0, 0.5)
    function = draw_function(key, functions)
    features = sample_features(key, functions, 40_000, 64.0)
    x = jnp.eye(d)[:1] * 0.8
    terms = features(x)[0, :-1] * representing_coefficients(functions, features, function)[:-1]
    error = 5 * float(jnp.std(terms)) * math.sqrt(40_000)
    assert float(terms.sum()) == pytest.approx(float((function(x) - function(0 * x))[0]), abs=error)
    assert float(barron_parameter(functions)) == pytest.approx(0.5 + 2 / mean_projection(d))


def test_the_parameter_of_linear_functions_is_the_least():
    """A linear program over measures on 16 directions and their use by 16 slopes."""
    ways = np.stack([np.cos(2 * np.pi * np.arange(16) / 16), np.sin(2 * np.pi * np.arange(16) / 16)], axis=1)
    count = len(ways)
    identity, nothing = np.eye(count), np.zeros((count, count * count))
    rows, equal = [], np.zeros((2 * count, count + count**2))
    for j in range(count):
        use = nothing.copy()
        use[:, j * count : (j + 1) * count] = identity
        rows += [np.hstack([-identity, use]), np.hstack([-identity, -use])]
        equal[2 * j : 2 * j + 2, count + j * count : count + (j + 1) * count] = ways.T
    found = optimize.linprog(
        np.append(np.ones(count), np.zeros(count**2)), A_ub=np.vstack(rows), b_ub=np.zeros(2 * count**2),
        A_eq=equal, b_eq=ways.reshape(-1), bounds=[(0, None)] * count + [(None, None)] * count**2,
    )  # fmt: skip
    # sixteen directions instead of all: the mean of |cos| over them is that of all but for a factor near 1
    discrete = 1 / np.mean(np.abs(ways[:, 0]))
    assert found.fun == pytest.approx(discrete, rel=1e-6)
    assert discrete == pytest.approx(1 / mean_projection(2), rel=0.02)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_slopes_are_uniform_in_their_ball_and_levels_in_their_interval(d):
    """At given quantiles of the first two numbers: the radius has the law r^d on its ball, the level is linear."""
    functions = LinearFunctions(d, 2.0, 0.5)
    way = np.arange(1.0, d + 1)
    for radius, level in ((0.5, 0.5), (0.2, 0.9), (0.9, 0.1), (1 - 1e-12, 1 - 1e-12), (1e-12, 1e-12)):
        normal = jnp.asarray([[*stats.norm.ppf([radius, level]), *way]])
        drawn = functions.function(normal)
        np.testing.assert_allclose(drawn.a, 2.0 * radius ** (1 / d) * way / np.linalg.norm(way), rtol=1e-6)
        np.testing.assert_allclose(drawn.b, 0.5 * (2 * level - 1), rtol=1e-6, atol=1e-9)
