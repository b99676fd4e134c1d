"""What a user may get wrong with fields."""

import jax
import jax.numpy as jnp
import pytest

from lemmata.architectures import (
    AngularKernel,
    AveragePool,
    Conv,
    Dense,
    Flatten,
    GlobalAveragePool,
    GlobalSumPool,
    LayerNorm,
    LocallyConnected,
    Masked,
    NNGPKernel,
    Patches,
    Relu,
    Serial,
    SumPool,
    TangentKernel,
    Window,
    residual,
)
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import gram

IMAGES = jnp.ones((2, 4, 5, 1))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Conv(0, 3),
        lambda: Conv(4, 0),
        lambda: Conv(4, (3, 2.5)),
        lambda: Conv(4, ()),
        lambda: Conv(4, (3, 3), strides=(1,)),
        lambda: Conv(4, 3, -1.0),
        lambda: Conv(4, 3, strides=0),
        lambda: LocallyConnected(4, 3, dilation=True),
        lambda: AveragePool(0),
        lambda: SumPool((2, 2), (0, 1)),
        lambda: Window(3, padding="same"),
    ],
)
@pytest.mark.usefixtures("shapes_unchecked")
def test_settings_out_of_bounds(build):
    with pytest.raises(SettingError):
        build()


@pytest.mark.parametrize(
    ("layers", "x", "words"),
    [
        ([Conv(4, 3), GlobalAveragePool(), Dense(1)], IMAGES, r"Patches; found a grid of shape \(4, 5\).*1 dimensions"),
        ([Conv(4, (3, 3)), Flatten(), Dense(1)], IMAGES[:, 0], r"a grid of shape \(5,\)"),
        ([Conv(4, (3, 3)), Flatten(), Dense(1)], IMAGES[:, 0, 0], "vectors"),
        ([Conv(4, (5, 3), padding="VALID"), Flatten(), Dense(1)], IMAGES, r"\(5, 3\), the size of the window"),
        (
            [Conv(4, (3, 3), dilation=(2, 1), padding="VALID"), Flatten(), Dense(1)],
            IMAGES,
            r"\(5, 3\), the size of the window",
        ),
        ([AveragePool((2, 2)), AveragePool((3, 1)), Flatten(), Dense(1)], IMAGES, r"AveragePool; found a grid"),
    ],
)
def test_grids_that_do_not_fit(layers, x, words):
    network = Serial(layers)
    with pytest.raises(ShapeError, match=words):
        gram(NNGPKernel(network), x)
    with pytest.raises(ShapeError, match=words.replace("vectors", "vectors|field")):
        network.init(jax.random.key(0), x.shape[1:] if x.ndim > 2 else x.shape[1])


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([Conv(4, (3, 3)), Relu()], "Flatten"),
        ([Conv(4, (3, 3)), Flatten(), Relu(), Dense(1)], "input of an activation"),
        ([Relu(), GlobalAveragePool(), Dense(1)], "input of an activation"),
        ([Conv(4, (3, 3)), residual(Serial([Relu(), Conv(4, (2, 2), padding="VALID")])), Flatten()], r"\(3, 4, 4\)"),
    ],
)
def test_a_limit_that_the_moments_do_not_give_is_refused(layers, words):
    for kernel in (NNGPKernel(Serial(layers)), TangentKernel(Serial(layers))):
        for call in (lambda k: gram(k, IMAGES), lambda k: k.diagonal(IMAGES), lambda k: k(IMAGES[0], IMAGES[1])):
            with pytest.raises(SettingError, match=words):
                call(kernel)


def test_a_finite_network_on_another_grid_names_the_layer_and_both_shapes():
    dense, local = Serial([Conv(4, 2), Flatten(), Dense(1)]), Serial([LocallyConnected(4, 2), Flatten(), Dense(1)])
    for network, words in ((dense, r"Dense\(1\); found shape \(20,\).*length 24"), (local, "5 pos.*6 pos")):
        params, _ = network.init(jax.random.key(0), (6, 3))
        with pytest.raises(ShapeError, match=words):
            network.apply(params, jnp.ones((5, 3)))
        with pytest.raises(ShapeError, match=r"Dense\(4\)"):
            network.apply(params, jnp.ones((6, 2)))


def test_no_points_at_all():
    kernel = NNGPKernel(Masked(Serial([Conv(8, 3), GlobalAveragePool(), Dense(1)])))
    assert kernel.cross(jnp.ones((0, 6, 3)), jnp.ones((2, 6, 3))).shape == (0, 2)


def test_pooling_of_vectors_is_refused():
    with pytest.raises((SettingError, ShapeError), match="vectors"):
        gram(NNGPKernel(Serial([Dense(3), GlobalSumPool(), Dense(1)])), jnp.eye(3))


@pytest.mark.usefixtures("shapes_unchecked")
def test_points_on_different_grids():
    kernel = NNGPKernel(Serial([Conv(4, (3, 3)), Flatten(), Dense(1)]))
    with pytest.raises(ShapeError, match=r"\(2, 4, 5, 1\).*\(2, 4, 4, 1\)"):
        kernel.cross(IMAGES, IMAGES[:, :, :4])
    with pytest.raises(ShapeError):
        kernel(IMAGES[0], IMAGES[0, :3])


def test_the_networks_own_shapes_are_checked_too():
    params, shape = Serial([Patches(Window((3, 3)))]).init(jax.random.key(0), (4, 5, 2))
    assert shape == (2, 3, 18)
    with pytest.raises(ShapeError, match="Patches"):
        Serial([Patches(Window((3, 3)))]).apply(params, jnp.ones((2, 5, 2)))


def test_means_are_unknown_on_a_sphere_given_by_angles_alone():
    with pytest.raises(SettingError, match="LayerNorm"):
        AngularKernel(NNGPKernel(Serial([LayerNorm(), Dense(1)])), norm=1.0, dimension=3)
