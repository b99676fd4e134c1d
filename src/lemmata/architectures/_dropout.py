"""Dropout: random masks over coordinates.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import check_real
from lemmata.errors import SettingError

from ._layer import AbstractLayer
from ._state import State


class Dropout(AbstractLayer):
    r"""The layer that keeps every coordinate independently with probability `keep`, and divides it by `keep`.

    The other coordinates are set to 0.

    `apply` is the layer at inference, which is the identity. `with_masks` gives the network of one random pass.

    `push` describes random passes. The masks of x and y are independent, even if y = x. The second moment of one pass
    grows to xx' = xx / keep. But the mean product of two passes does not change: nngp' = nngp and ntk' = ntk. So the
    kernels of the network belong to the mean of the network over its masks. The kernel of a point with itself is the
    covariance of two passes, not the variance of one pass. In later layers, correlations at x = y are below 1. For keep
    = 1, the network equals the network without dropout. After Dropout, coordinates are not Gaussian. So put a Dense
    layer before the next activation.

    Args:
        keep: the probability to keep a coordinate, in (0, 1].
        key: the key of the mask, for one random pass; `with_masks` sets it.

    Raises:
        SettingError: for a `keep` outside (0, 1].

    `push` raises SettingError at the inputs of a network. The number of inputs is fixed, so the mean square of the kept
    inputs stays random. The outputs of the next layer would be a mixture of Gaussian distributions.
    """

    keep: float
    key: Key[Array, ""] | None = None

    def __check_init__(self):
        check_real("keep of Dropout", self.keep, "a probability above 0 and at most 1", lambda p: (p > 0) & (p <= 1))

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return x. If the layer has a `key`, return x / keep, with 0 in the coordinates that the mask drops."""
        if self.key is None:
            return x
        return jnp.where(jax.random.bernoulli(self.key, self.keep, x.shape), x / self.keep, 0.0)

    def push(self, state: State) -> State:
        """Return the state with variances divided by `keep`."""
        if not state.law.wide:
            raise SettingError(
                "input of Dropout",
                found="the network's own inputs",
                rule="the layer before must have infinite width",
                remedy="put a Dense layer before Dropout",
            )
        xx, yy = state.xx / self.keep, state.yy / self.keep
        versine = None if state.versine is None else (1.0 - self.keep) + self.keep * state.versine
        return state.replace(xx=xx, yy=yy, law=state.law.dropped(), versine=versine)


def with_masks(network: Any, key: Key[Array, ""]) -> Any:
    """Return the network for one random pass: every Dropout layer has its own mask, drawn from `key`.

    All points to which this network is applied share the masks. To give each point its own mask, map over keys and
    points, as in `jax.vmap(lambda key, x: with_masks(network, key).apply(params, x))(keys, points)`.
    """
    return with_keys(network, Dropout, key)


def with_keys(network: Any, kind: type, key: Key[Array, ""]) -> Any:
    """Return a copy of the network in which every layer of class `kind` has its own key, made from `key`."""
    count = itertools.count()
    is_random = lambda part: isinstance(part, kind)

    def keyed(part: Any) -> Any:
        if not is_random(part):
            return part
        own = jax.random.fold_in(key, next(count))
        return eqx.tree_at(lambda layer: layer.key, part, own, is_leaf=lambda leaf: leaf is None)

    return jax.tree.map(keyed, network, is_leaf=is_random)
