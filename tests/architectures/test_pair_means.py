"""Named activations at any standard deviation of their preactivations: a stored table, closed forms, and refusals."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Elementwise,
    Erf,
    Gaussian,
    Gelu,
    Relu,
    Sin,
    TangentKernel,
    fully_connected,
    sigmoid,
    silu,
    softplus,
    tanh,
)
from lemmata.architectures._state import State
from lemmata.errors import SettingError

DEVIATIONS = np.array([1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3])
SIGNS, VERSINES = np.array([-1, -1, -1, 1, 1, 1, 1, 1.0]), np.array([0.0, 1e-6, 0.5, 1.0, 0.7, 0.1, 1e-6, 0.0])
NEAR = np.array([0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 0.1, 0.7])
NAMED = {"tanh": tanh(), "sigmoid": sigmoid(), "silu": silu(), "softplus": softplus()}
# E[fn(u) fn(v)] and E[fn'(u) fn'(v)] of every function at these deviations and correlations, by Gauss-Legendre panels
# in both variables: those of v given u lie about the point where v is 0 and halve towards it.
TABLE = json.loads((Path(__file__).parent / "pair_means.json").read_text())
CLOSED = {
    "erf": (lambda u: jax.scipy.special.erf(u), Erf(), 1e-10, 1e3),
    "gelu": (lambda u: jax.nn.gelu(u, approximate=False), Gelu(), 1e-10, 1e3),
    "gaussian": (lambda u: jnp.exp(-0.5 * u * u), Gaussian(0.5), 1e-10, 1e3),
    "sine": (lambda u: jnp.sin(u), Sin(), 1e-10, 5.0),
    "bend at 0": (lambda u: jnp.maximum(u, 0.0), Relu(), 1e-6, 1e3),
    "the sine itself": (jnp.sin, Sin(), 1e-15, 1e3),
}


def state(signs, versines, left, right, dtype="float64"):
    signs, versines, left, right = (jnp.asarray(part, dtype) for part in (signs, versines, left, right))
    k = signs * (1.0 - versines) * left * right
    return State(k, jnp.ones((), dtype), left**2, right**2, 1, versine=jnp.broadcast_to(versines, k.shape))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMED)
def test_both_means_at_every_deviation_and_correlation(name, dtype):
    pairs = state(SIGNS[None], VERSINES[None], DEVIATIONS[:, None], DEVIATIONS[:, None], dtype)
    found = jax.jit(NAMED[name].push)(pairs)
    for values, expected in zip((found.nngp, found.ntk), np.array(TABLE[name]), strict=True):
        size = {"float64": 1e-10, "float32": 3e-6}[dtype] * expected[:, -1:]
        assert (np.abs(np.asarray(values, float) - expected) <= size).all()
    np.testing.assert_array_equal(found.nngp[:, -1], found.xx[:, 0])


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_at_equal_and_at_unequal_deviations(name):
    fn, layer, tolerance, largest = CLOSED[name]
    left = DEVIATIONS[largest >= DEVIATIONS]
    push, exact = jax.jit(Elementwise(fn).push), jax.jit(layer.push)
    own = exact(state(1.0, 0.0, left, left))
    for order in (slice(None), slice(None, None, -1)):
        for sign in (1.0, -1.0):
            pairs = state(sign, NEAR[None], left[:, None], left[order][:, None])
            found, expected = push(pairs), exact(pairs)
            for field in ("nngp", "ntk"):
                size = np.sqrt(np.asarray(getattr(own, field)))
                error = np.abs(np.asarray(getattr(found, field)) - np.asarray(getattr(expected, field)))
                assert (error <= tolerance * (size * size[order])[:, None]).all()


ROWS = 9.0 * np.array([[1.0, 0.4, -0.3], [1.0, 0.4, -0.3], [0.9, 0.45, -0.3], [-1.0, -0.4, 0.31]])


def test_derivatives_are_those_of_the_closed_form():
    erf = Elementwise(CLOSED["erf"][0])
    x = jnp.asarray(ROWS)
    for derivative in (jax.grad, jax.jacfwd):
        found, exact = (
            jax.jit(jax.vmap(derivative(TangentKernel(fully_connected(layer, 1)), argnums=1), in_axes=(None, 0)))(
                x[0], x
            )
            for layer in (erf, Erf())
        )
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


def test_derivatives_by_what_the_function_holds():
    mean = lambda width: Elementwise(lambda u: jnp.tanh(width * u)).push(state(1.0, 1e-3, 10.0, 10.0)).nngp
    scaled = lambda width: tanh().push(state(1.0, 1e-3, 10.0 * width, 10.0 * width)).nngp
    assert float(jax.grad(mean)(0.8)) == pytest.approx(float(jax.grad(scaled)(0.8)), rel=1e-8)


@pytest.mark.parametrize(
    "fn",
    [lambda u: jnp.clip(u, -1.0, 1.0), lambda u: jnp.abs(u - 0.3), lambda u: jnp.sin(40.0 * u), lambda u: u * u % 1.0],
    ids=["hard tanh", "shifted bend", "fast sine", "saw"],
)
def test_what_is_not_resolved_is_refused(fn):
    with pytest.raises(SettingError, match="kinks or jumps away from 0"):
        TangentKernel(fully_connected(Elementwise(fn), 1)).diagonal(jnp.asarray(ROWS))


def test_gelu_in_single_precision_between_nearly_parallel_rows():
    draw = np.random.default_rng(0)
    base = 300.0 * draw.normal(size=(8, 5))
    rows = np.concatenate([base, base * draw.uniform(0.5, 2.0, (8, 1)) + 0.1 * draw.normal(size=(8, 5))])
    rows = np.asarray(rows, np.float32)
    kernel = TangentKernel(fully_connected(Gelu(), 3, bias_std=0.1))
    exact = np.asarray(kernel.cross(jnp.asarray(rows, float), jnp.asarray(rows, float)))
    found = np.asarray(kernel.cross(jnp.asarray(rows), jnp.asarray(rows)), float)
    assert np.abs(found / exact - 1.0)[exact > 0].max() < 2e-6


def test_the_versine_after_gelu_is_that_of_its_moments():
    left, right = np.array([[0.0], [0.1], [1.0], [5.0]]), np.array([0.1, 1.0, 1.5, 5.0])
    for sign in (1.0, -1.0):
        for versine in (0.0, 0.01, 0.3, 1.0):
            found = Gelu().push(state(sign, versine, left, right))
            scale = np.sqrt(found.xx) * np.sqrt(found.yy)
            expected = 1.0 - np.abs(found.nngp) / np.where(scale > 0, scale, 1.0)
            np.testing.assert_allclose(found.versine, expected, rtol=0, atol=1e-13)
