"""Users' functions that JAX cannot trace, and settings of another type, are refused in the library's own words."""

import math

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import TypeCheckError

from lemmata import architectures as layers
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.spectra import gauss_newton_product, largest_eigenvalues, sharpness, trace_estimate
from lemmata.storage import load, save
from lemmata.storage._digest import as_path
from lemmata.subjects.optimisers import compare_optimisers

W = jnp.ones(3)
RATES = {"learning_rate": (1e-3, 1e-1)}
PAIR = {"sgd": (optax.sgd, RATES), "adam": (optax.adam, RATES)}
compared = lambda loss: compare_optimisers(loss, W, PAIR, trials=2, steps=2)
by_loss = pytest.mark.parametrize("asked", [lambda loss: sharpness(loss, W), compared], ids=["sharpness", "compare"])
UNTRACED = {
    "numpy": lambda w: np.sum(np.tanh(w)),
    "math": lambda w: math.tanh(w[0]),
    "branch": lambda w: jnp.sum(w) if w[0] > 0 else 0.0,
    "arguments": lambda: 1.0,
}


@by_loss
@pytest.mark.parametrize("loss", UNTRACED.values(), ids=UNTRACED)
def test_a_loss_that_is_not_of_jax_is_refused_with_a_remedy(asked, loss):
    with pytest.raises(SettingError, match=r"loss; found .*remedy: write it with jax.numpy"):
        asked(loss)


@by_loss
@pytest.mark.parametrize(
    ("loss", "error", "words"),
    [
        (lambda w: w**2, ShapeError, "a single number"),
        (lambda w: None, ShapeError, "a single number"),
        (lambda w: jnp.sum(w) * 1j, DataError, "complex"),
        (lambda w: 3, DataError, "int"),
    ],
)
def test_a_loss_that_is_not_one_real_number_is_refused(asked, loss, error, words):
    with pytest.raises(error, match=rf"loss; found .*{words}"):
        asked(loss)


def test_a_constant_loss_is_flat():
    assert sharpness(lambda w: 3.0, W).largest == 0.0
    assert compared(lambda w: 3.0).losses["sgd"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("asked", [largest_eigenvalues, trace_estimate])
def test_a_product_of_numpy_is_refused(asked):
    with pytest.raises(SettingError, match=r"product; found Tracer.*remedy: write it with jax.numpy"):
        asked(lambda v: np.asarray(v) * 2, W)
    with pytest.raises(DataError, match="real numbers"):
        asked(lambda v: v * 1j, W)
    with pytest.raises(ShapeError, match="product"):
        asked(lambda v: "a", W)


def test_outputs_of_numpy_are_refused():
    with pytest.raises(SettingError, match=r"jax\.numpy"):
        gauss_newton_product(np.tanh, jnp.sum, W)


@pytest.mark.parametrize("fn", [np.tanh, math.tanh, lambda u: u[0], lambda u: jnp.stack([u, u])])
def test_an_activation_that_is_not_of_jax_is_refused_when_it_is_made(fn):
    with pytest.raises(SettingError, match=r"fn of Elementwise; found .*remedy: (write|pass)"):
        layers.Elementwise(fn)


MADE = {
    "Dropout": layers.Dropout,
    "LeakyRelu": layers.LeakyRelu,
    "ABRelu": lambda value: layers.ABRelu(value, 1.0),
    "Elementwise": lambda value: layers.Elementwise(jnp.tanh, value),
    "Dense": lambda value: layers.Dense(3, 1.0, value),
    "relu_network": layers.relu_network,
    "graph_network": layers.graph_network,
    "Embedding": lambda value: layers.Embedding(value, 2),
    "Gaussian": layers.Gaussian,
    "Rbf": layers.Rbf,
    "LayerNorm": layers.LayerNorm,
    "PositionalEmbedding": lambda value: layers.PositionalEmbedding(std=value),
    "WidthExponents": lambda value: layers.WidthExponents(value, 0.0),
    "Attention": lambda value: layers.Attention(value, 1),
    "Attention's deviation": lambda value: layers.Attention(2, 1, bias_std=value),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("value", ["a", math.nan, math.inf, [1, 2]], ids=repr)
def test_a_setting_of_a_layer_is_a_number(made, value):
    with pytest.raises((LemmataError, TypeCheckError), match=r"."):  # the second is of the hook of tests
        made(value)


@pytest.mark.parametrize("path", [None, 5, [1]])
def test_a_path_is_a_text_or_a_path(path):
    with pytest.raises(SettingError, match=r"path; found .*pathlib.Path"):
        as_path(path)
    for call in (lambda: load(path), lambda: save((1,), path)):
        with pytest.raises((SettingError, TypeCheckError), match="path"):
            call()


def test_graphs_are_a_list():
    with pytest.raises(DataError, match=r"graphs; found one int; rule: a list of graphs"):
        layers.graph_points(5)
