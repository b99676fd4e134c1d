"""What a user may get wrong with layers and their kernels."""

import jax
import jax.numpy as jnp
import jaxtyping
import pytest

from lemmata.architectures import (
    Dense,
    Elementwise,
    NNGPKernel,
    Relu,
    Serial,
    fully_connected,
    relu_network,
    tangent_gram,
)
from lemmata.errors import SettingError, ShapeError


@pytest.fixture
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Dense(0),
        lambda: Dense(3, -1.0),
        lambda: Dense(3, bias_std=float("nan")),
        lambda: relu_network(-1),
        lambda: Elementwise(jnp.tanh, degree=1),
        lambda: Elementwise(jnp.tanh, degree=1000),
    ],
)
def test_settings_out_of_bounds(build):
    with pytest.raises(SettingError):
        build()


@pytest.mark.usefixtures("shapes_unchecked")
def test_things_of_the_wrong_kind():
    with pytest.raises(SettingError, match="ntk"):
        Dense(3, parameterization="mup")
    with pytest.raises(SettingError, match="Elementwise"):
        Serial([Dense(3), jnp.tanh])
    kernel = NNGPKernel(relu_network(1))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        kernel.cross(jnp.ones((2, 3)), jnp.ones((2, 4)))
    with pytest.raises(ShapeError):
        kernel(jnp.ones(3), jnp.ones(4))
    with pytest.raises(ShapeError):
        tangent_gram(relu_network(1), (), jnp.ones(3))


@pytest.mark.parametrize(
    "fn", [lambda u: jnp.exp(u * u), lambda u: jnp.exp(0.3 * u * u), lambda u: jnp.sin(60.0 * u)], ids=["a", "b", "c"]
)
def test_an_expansion_that_is_not_resolved_is_refused(fn):
    x = jnp.eye(3) * jnp.sqrt(3.0)
    network = fully_connected(Elementwise(fn), 1)
    for call in (lambda k: k.cross(x, x), lambda k: k.diagonal(x), lambda k: k(x[0], x[1])):
        with pytest.raises(SettingError, match="not finite"):
            call(NNGPKernel(network))
    assert jnp.isfinite(NNGPKernel(network).cross(0.1 * x, 0.1 * x)).all()


def test_options_of_the_finite_kernel():
    network = Serial([Dense(4), Relu(), Dense(2)])
    params, _ = network.init(jax.random.key(0), 3)
    with pytest.raises(SettingError, match="at most one"):
        tangent_gram(network, params, jnp.eye(3), output=0, trace=True)
    with pytest.raises(SettingError, match="between 0 and 1"):
        tangent_gram(network, params, jnp.eye(3), output=2)
