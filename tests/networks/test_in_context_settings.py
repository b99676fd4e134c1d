"""Settings and prompts that no transformer in context takes, and its default temperature."""

import jax.numpy as jnp
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.functions import Cosines, GaussianBumps
from lemmata.networks import construct_transformer

PRECISIONS = (jnp.bfloat16, jnp.float32, jnp.float64)


BUMPS = GaussianBumps(2)


INFINITE = Cosines(jnp.array([[1.0, 0.0]]), jnp.array([jnp.inf]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": 6}, "layers.*found 6.*odd.*layers=7"),
        ({"layers": 0}, "layers.*found 0.*layers=1"),
        ({"number": 0}, "number of features.*found 0.*at least 1"),
        ({"examples": 1}, "examples.*found 1.*at least 2"),
        ({"penalty": -0.1}, "penalty.*found -0.1.*at least 0"),
        ({"penalty": float("nan")}, "penalty.*found nan"),
        ({"temperature": 0.0}, "temperature.*found 0.0.*positive"),
        ({"sharpness": float("inf")}, "sharpness.*found inf"),
        ({"step": -1.0}, "step.*found -1.0"),
        ({"sharpness": 1e300, "dtype": jnp.float32}, "sharpness.*stored as inf"),
        ({"penalty": float("inf")}, "penalty.*found inf"),
        ({"step": 1e-60, "dtype": jnp.float32}, "step.*stored as 0"),
        ({"layers": True}, "layers.*found True.*whole"),
        ({"functions": INFINITE}, "class of functions.*inf.*finite Barron parameter"),
        ({"temperature": 1e16}, "temperature.*1e\\+16.*every target rounds to 0.*at most 3\\.16e\\+15.*remedy"),
        ({"temperature": 1e9, "dtype": jnp.float32}, "temperature.*1e\\+09.*rounds to 0.*at most 5\\.88e\\+06"),
    ],
)
def test_settings_that_no_transformer_has(key, change, words):
    settings = {"functions": BUMPS, "number": 4, "layers": 7, "examples": 8, "key": key} | change
    with pytest.raises(SettingError, match=words):
        construct_transformer(**settings)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_default_temperature_leaves_something(key, dtype):
    model = construct_transformer(BUMPS, 4, 7, examples=8, key=key, dtype=dtype)
    assert model.temperature.dtype == dtype
    x = jnp.linspace(-0.6, 0.6, 16).reshape(8, 2).astype(dtype)
    found = model(x, jnp.ones(8, dtype), x[:1], stable=False)
    assert float(found[0]) > 0


def test_prompts_that_do_not_fit(key):
    model = construct_transformer(BUMPS, 4, 7, examples=8, key=key)
    x, y = jnp.zeros((8, 2)), jnp.zeros(8)
    with pytest.raises(ShapeError, match=r"inputs of the examples.*\(8, 3\).*2 columns"):
        model.predict(jnp.zeros((8, 3)), y, x)
    with pytest.raises(ShapeError, match=r"\(7,\) for 8 inputs"):
        model.predict(x, y[:7], x)
    with pytest.raises(DataError, match="1 examples"):
        model.predict(x[:1], y[:1], x)
    with pytest.raises(DataError, match="query 3"):
        model.predict(x, y, x.at[3, 0].set(2.0))
    with pytest.raises(ShapeError, match=r"queries.*\(2,\)"):
        model.predict(x, y, [0.0, 0.0])
    with pytest.raises(DataError, match="tables of numbers"):
        model.predict([["a", "b"]] * 8, y, x)
    assert model.predict(x.tolist(), [0] * 8, x.tolist()).shape == (8,)
