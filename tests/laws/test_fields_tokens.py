"""Laws of networks on tokens: sequences of different lengths, and attention with its standard errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Attention,
    Conv,
    Dense,
    Embedding,
    Flatten,
    GlobalAveragePool,
    LayerNorm,
    Masked,
    NNGPKernel,
    PositionalEmbedding,
    Relu,
    Serial,
    TangentKernel,
    padded,
    with_standard_error,
)
from lemmata.errors import MemoryPlanError, SettingError, ShapeError
from lemmata.kernels import gram

SHORT, LONG = jnp.array([3.0, 0.0, 2.0]), jnp.array([1.0, 2.0, 2.0, 0.0, 3.0])

NETWORKS = {
    "convolution": [Embedding(4, 8, 0.9), Conv(8, 3, 1.2, 0.3), Relu(), LayerNorm(0.1), GlobalAveragePool(), Dense(1)],
    "attention": [Embedding(4, 8, 0.9), Attention(8, 2, scaling="1/d"), Relu(), GlobalAveragePool(), Dense(1)],
    "flatten": [Embedding(4, 8, 0.9), Conv(8, 2), Relu(), Conv(8, 3), Flatten(), Dense(1)],
}


@pytest.mark.parametrize("kind", [NNGPKernel, TangentKernel])
@pytest.mark.parametrize("name", NETWORKS)
def test_padded_tokens_are_the_tokens_alone(name, kind):
    network = Serial(NETWORKS[name])
    x = padded([SHORT, LONG]).at[0, 3:, 0].set(2.0)  # what stands at empty positions is not looked at
    assert x.shape == (2, 5, 2)
    masked, alone = gram(kind(Masked(network)), x), kind(network)
    # Flatten divides by the length of the padded vector; the readout has no bias.
    share = 3 / 5 if name == "flatten" else 1.0
    np.testing.assert_allclose(masked[0, 0], share * alone(SHORT, SHORT), rtol=1e-12)
    np.testing.assert_allclose(masked[1, 1], alone(LONG, LONG), rtol=1e-12)
    np.testing.assert_allclose(masked[0, 1], kind(Masked(network))(x[0], x[1]), rtol=1e-12)
    np.testing.assert_allclose(kind(Masked(network)).diagonal(x), jnp.diagonal(masked), rtol=1e-12)


@pytest.mark.parametrize("name", ["convolution", "attention"])
def test_a_finite_network_reads_the_filled_positions(name):
    network = Serial(NETWORKS[name])
    x = padded([SHORT, LONG]).at[0, 3:, 0].set(2.0)
    params, shape = Masked(network).init(jax.random.key(0), (5, 2))
    assert shape == 1
    np.testing.assert_allclose(Masked(network).apply(params, x[0]), network.apply(params, SHORT), rtol=1e-12)
    np.testing.assert_allclose(Masked(network).apply(params, x[1]), network.apply(params, LONG), rtol=1e-12)


def test_standard_errors_of_attention_on_tokens_are_those_on_unit_vectors():
    rest = [Attention(8, 2, draws=32), GlobalAveragePool(), Dense(1)]
    tokens = jnp.array([[0.0, 1.0, 3.0], [2.0, 2.0, 1.0]])
    vectors = jnp.eye(4)[tokens.astype(int)]
    options = {"key": jax.random.key(3), "replicates": 4}
    found = with_standard_error(TangentKernel(Serial([Embedding(4, 8, 0.9), *rest])), tokens, **options)
    same = with_standard_error(TangentKernel(Serial([Dense(8, 0.9 * 2.0), *rest])), vectors, **options)
    np.testing.assert_allclose(found.mean, same.mean, rtol=1e-11)
    np.testing.assert_allclose(found.standard_error, same.standard_error, rtol=1e-9)
    masked = with_standard_error(
        TangentKernel(Masked(Serial([Embedding(4, 8, 0.9), *rest]))), padded(list(tokens)), **options
    )
    np.testing.assert_allclose(masked.mean, found.mean, rtol=1e-11)


def test_joint_draws_that_do_not_fit_are_refused_with_their_plan():
    kernel = NNGPKernel(Serial([Attention(8, 2, draws=32), GlobalAveragePool(), Dense(1)]))
    with pytest.raises(MemoryPlanError, match=r"48 x 400000 x 400000 numbers of 8 bytes.*fewer points"):
        with_standard_error(kernel, jnp.ones((4000, 100, 2)), key=jax.random.key(0))


def test_what_is_wrong_with_masked_tokens_is_named():
    network = Serial(NETWORKS["convolution"])
    kernel, x = NNGPKernel(Masked(network)), padded([SHORT, LONG])
    with pytest.raises(SettingError, match=r"found 7\.0 at position \(1, 4\).*0 to 3"):
        gram(kernel, x.at[1, 4, 0].set(7.0))
    gram(kernel, x.at[0, 4, 0].set(7.0))  # an empty position
    with pytest.raises(ShapeError, match="2 channels besides the mask"):
        gram(kernel, jnp.ones((2, 5, 3)))
    with pytest.raises(ShapeError, match="2 channels besides the mask"):
        Masked(network).init(jax.random.key(0), (5, 3))
    inside = NNGPKernel(Serial([PositionalEmbedding("concat"), Masked(network)]))
    with pytest.raises(SettingError, match="outermost layer of the network"):
        gram(inside, jnp.ones((2, 5, 2)))
