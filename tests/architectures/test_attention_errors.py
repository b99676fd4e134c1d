"""What a user may get wrong with attention, positional embeddings and masks."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from lemmata.architectures import (
    Attention,
    Conv,
    Dense,
    Flatten,
    GlobalAveragePool,
    Masked,
    NNGPKernel,
    PositionalEmbedding,
    Serial,
    padded,
    with_standard_error,
)
from lemmata.errors import LemmataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import gram


@pytest.fixture(autouse=True)
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Attention(4, 2, cast(Any, "abs")), "mechanism"),
        (lambda: Attention(4, 2, scaling=cast(Any, "sqrt")), "scaling"),
        (lambda: Attention(4, 0), "heads"),
        (lambda: Attention(0, 2), "width"),
        (lambda: Attention(4, 2, key_width=0), "key_width"),
        (lambda: Attention(4, 2, draws=0), "draws"),
        (lambda: Attention(4, 2, query_std=-1.0), "query_std"),
        (lambda: Attention(4, 2, bias_std=float("nan")), "bias_std"),
        (lambda: PositionalEmbedding(cast(Any, "product")), "kind"),
        (lambda: PositionalEmbedding(std=-1.0), "std"),
        (lambda: PositionalEmbedding(channels=0), "channels"),
    ],
)
def test_settings_are_named(build, named):
    with pytest.raises(SettingError, match=named):
        build()


def network(*layers):
    return Serial([*layers, GlobalAveragePool(), Dense(1)])


def masked(x):
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1))], axis=-1)


X = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, 2)))
SERIES, LONG = [X[0], X[1, :2]], Conv(4, 3, padding="VALID")


@pytest.mark.parametrize(
    ("ask", "error", "named"),
    [
        (lambda: gram(NNGPKernel(Serial([Attention(4, 2)])), X[:, 0]), ShapeError, "input of Attention"),
        (lambda: Attention(4, 2).init(jax.random.key(0), 3), ShapeError, "input of Attention"),
        (lambda: Attention(4, 2).apply({}, X[0, 0]), ShapeError, "input of Attention"),
        (lambda: gram(NNGPKernel(network(PositionalEmbedding())), X), SettingError, "PositionalEmbedding"),
        (lambda: PositionalEmbedding("sum", channels=3).init(jax.random.key(0), (3, 2)), SettingError, "channels"),
        (lambda: PositionalEmbedding(decay=lambda d: d).covariance((3,)), NotPositiveDefiniteError, "decay"),
        (lambda: PositionalEmbedding(decay=lambda d: 1 / d).covariance((3,)), NotPositiveDefiniteError, "decay"),
        (lambda: gram(NNGPKernel(Masked(network(Dense(4)))), masked(X).at[1, :, -1].set(0.0)), SettingError, "point 1"),
        (lambda: gram(NNGPKernel(Masked(network(Dense(4)))), masked(X).at[1, 0, -1].set(0.4)), SettingError, "0 and 1"),
        (lambda: gram(NNGPKernel(Masked(network(Dense(4)))), X[..., :1]), ShapeError, "last channel"),
        (lambda: gram(NNGPKernel(Masked(Dense(4))), X[:, 0]), ShapeError, "last channel"),
        (lambda: Masked(network()).init(jax.random.key(0), (3, 1)), ShapeError, "mask"),
        (lambda: gram(NNGPKernel(Serial([Masked(network())])), masked(X)), SettingError, "outermost layer"),
        (lambda: gram(NNGPKernel(Masked(network(Conv(4, 2, padding="CIRCULAR")))), masked(X)), SettingError, "padding"),
        (lambda: gram(NNGPKernel(Masked(network(Conv(4, 2, strides=2)))), masked(X)), SettingError, "strides"),
        (lambda: gram(NNGPKernel(Masked(network(LONG))), padded(SERIES)), SettingError, "finite"),
        (lambda: padded([]), ShapeError, "sequences"),
        (lambda: padded([jnp.ones((2, 3)), jnp.ones((2, 2))]), ShapeError, "channels"),
        (lambda: padded([jnp.ones((2, 3)), jnp.ones((0, 3))]), ShapeError, "at least one"),
        (lambda: with_standard_error(
            NNGPKernel(network(Attention(4, 2))), X, key=jax.random.key(0), replicates=1
        ), SettingError, "replicates"),
        (lambda: with_standard_error(
            NNGPKernel(network(Attention(4, 2))), X[0], key=jax.random.key(0)
        ), ShapeError, "points"),
        (lambda: with_standard_error(
            NNGPKernel(network(Attention(4, 2, draws=2))), X.at[0].set(jnp.nan), key=jax.random.key(0), replicates=2
        ), SettingError, "finite"),
        (lambda: NNGPKernel(Serial([Attention(4, 2), Flatten()]))(X[0], X[1, :2]), ShapeError, "points"),
    ],
)  # fmt: skip
def test_found_and_rule_are_told(ask, error, named):
    with pytest.raises(LemmataError, match=named) as caught:
        ask()
    assert type(caught.value) is error
    assert caught.value.rule
