"""Means of analytic activations by their expansion, against a trapezoidal rule in both variables, at drawn settings."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from lemmata.architectures import Elementwise
from lemmata.architectures._state import State

FUNCTIONS = {
    "tanh": (jnp.tanh, np.tanh),
    "mish": (lambda u: u * jnp.tanh(jax.nn.softplus(u)), lambda u: u * np.tanh(np.logaddexp(0.0, u))),
    "arctan": (jnp.arctan, np.arctan),
    "root": (lambda u: jnp.sqrt(1.0 + u * u), lambda u: np.sqrt(1.0 + u * u)),
    "shifted logistic": (lambda u: jax.nn.sigmoid(u - 0.5), lambda u: special.expit(u - 0.5)),
    "bump": (lambda u: u * jnp.exp(-0.3 * u * u), lambda u: u * np.exp(-0.3 * u * u)),
}
DRAWS = 12


def trapezoid(centre, deviation, count):
    """Nodes centre + e sinh(t) between -9 and 9, and weights of the normal law: narrow where deviation * z is small."""
    e = 0.2 / max(deviation, 1.0)
    low, high = np.arcsinh((-9.0 - centre) / e), np.arcsinh((9.0 - centre) / e)
    t = low + (high - low) * (np.arange(count) + 0.5) / count
    z = centre + e * np.sinh(t)
    return z, (high - low) / count * e * np.cosh(t) * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def by_trapezoids(fn, sign, versine, left, right):
    c, r = sign * (1.0 - versine), math.sqrt(versine * (2.0 - versine))
    z, outer = trapezoid(0.0, max(left, right), 700)
    if r == 0.0:
        return np.sum(fn(left * z) * fn(right * c * z) * outer)
    inner = []
    for at in z:
        w, weights = trapezoid(float(np.clip(-c * at / r, -9.0, 9.0)), right * r, 700)
        inner.append(np.sum(fn(right * (c * at + r * w)) * weights))
    return np.sum(fn(left * z) * np.array(inner) * outer)


@functools.cache
def compiled(name):
    return jax.jit(Elementwise(FUNCTIONS[name][0]).push)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_the_expansion_is_the_double_integral(name, seed):
    draw = np.random.default_rng([seed, sorted(FUNCTIONS).index(name)])
    left = 10.0 ** draw.uniform(-3, 3, DRAWS)
    right = np.where(draw.uniform(size=DRAWS) < 0.5, left, 10.0 ** draw.uniform(-3, 3, DRAWS))
    sign, versine = draw.choice([-1.0, 1.0], DRAWS), 10.0 ** draw.uniform(-12, 0, DRAWS)
    versine[:2] = 0.0, 1e-12
    k = sign * (1.0 - versine) * left * right
    parts = (jnp.asarray(part) for part in (k, np.ones(DRAWS), left**2, right**2))
    found = compiled(name)(State(*parts, 1, versine=jnp.asarray(versine)))
    fn = FUNCTIONS[name][1]
    expected = [by_trapezoids(fn, *setting) for setting in zip(sign, versine, left, right, strict=True)]
    size = np.sqrt(np.asarray(found.xx) * np.asarray(found.yy))
    np.testing.assert_array_less(np.abs(np.asarray(found.nngp) - expected), 1e-10 * size)
