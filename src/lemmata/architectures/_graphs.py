"""Networks on graphs: points that carry the edges between their positions."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.errors import ShapeError

from ._activations import Relu
from ._aggregate import Aggregate
from ._dense import Dense
from ._layer import AbstractLayer, Shape
from ._masked import Masked
from ._pooling import GlobalSumPool
from ._reading import Reading, check_points, reading
from ._serial import Serial, check_depth


class OnGraphs(Masked):
    r"""A network for graphs. Each point has nodes with features, an adjacency matrix that `Aggregate` uses, and a mask.

    A point is an array (s, f + s + 1) for s nodes with f features. Row p holds the features of node p, then row p of
    the adjacency A, and then 1 if node p exists and 0 if it is empty. The entry A[p, q] is the weight of node q in the
    sum at node p (the weight of the edge from q to p). So graphs of different sizes become points of equal shape. The
    values at empty nodes are ignored, and a padded graph has the same kernels as the graph without padding (see
    `Masked`). `graph_points` makes such points. Without `Flatten`, convolutions and positional embeddings, kernels do
    not depend on the order of the nodes.

    OnGraphs must be the outermost layer. If the network begins with an Embedding, each node has one feature, its label.

    Args:
        network: the network for the features.

    `push` raises SettingError if this layer is inside another network. The kernels raise SettingError for a point
    without any node, and DataError for negative degrees if an Aggregate has normalisation `"symmetric"`. `init` and
    `apply` raise ShapeError for points of another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Aggregate, Dense, GlobalSumPool, NNGPKernel, OnGraphs, Serial
        >>> from lemmata.architectures import graph_points
        >>> kernel = NNGPKernel(OnGraphs(Serial([Aggregate(), GlobalSumPool(), Dense(1)])))
        >>> triangle, edge = jnp.ones((3, 3)) - jnp.eye(3), jnp.array([[0.0, 1.0], [1.0, 0.0]])
        >>> x = graph_points([triangle, edge])
        >>> x.shape, kernel.cross(x, x).tolist()  # products of the sums of degrees, 6 and 2
        ((2, 3, 5), [[36.0, 12.0], [12.0, 4.0]])
    """

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[Any, Shape]:
        """Return the network's parameters, drawn for features without the adjacency."""
        nodes, c = _graph_shape(fan_in)
        return super().init(key, (nodes, c - nodes), dtype=dtype)

    def apply(self, params: Any, x: Float[Array, "nodes fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Return the output of the network on one graph."""
        _graph_shape(x.shape)
        features, adjacency = split_graph(x)
        return Masked(_with_adjacency(self.network, adjacency)).apply(params, features)

    def check(self, x: Float[Array, "n nodes c"]) -> None:
        """Refuse other shapes, graphs without nodes, unknown labels, and negative degrees that need a square root.

        Under a transformation of JAX, values are not known yet, and no error is raised.
        """
        _graph_shape(x.shape[1:])
        features, adjacency = split_graph(x)
        super().check(features)
        for layer in _aggregates(self.network):
            if layer.adjacency is None:
                layer.check_degrees("points of OnGraphs", adjacency)


def split_graph(x: Float[Array, "*n nodes c"]) -> tuple[Float[Array, "*n nodes d"], Float[Array, "*n nodes nodes"]]:
    """Return the features with the mask as last channel, and the adjacencies, which are 0 at empty nodes."""
    nodes = x.shape[-2]
    features, adjacency, mask = jnp.split(x, [x.shape[-1] - nodes - 1, x.shape[-1] - 1], axis=-1)
    there = mask[..., 0] > 0.5
    adjacency = jnp.where(there[..., :, None] & there[..., None, :], adjacency, 0.0)
    return jnp.concatenate([features, mask], axis=-1), adjacency


@reading.register
def _(network: OnGraphs, x: Array) -> Reading:
    features, adjacency = split_graph(x)
    return reading(Masked(network.network), features)._replace(adjacency=adjacency)


@check_points.register
def _(network: OnGraphs, x: Array) -> None:
    network.check(x)


def _graph_shape(shape: Any) -> tuple[int, int]:
    if isinstance(shape, int) or len(shape) != 2 or shape[1] < shape[0] + 2:
        raise ShapeError(
            "points of OnGraphs",
            found=f"shape {shape}",
            rule="shape (nodes, features + nodes + 1): for each node its features, its row of the "
            "adjacency, and its mask",
            remedy="make the points with graph_points(graphs)",
        )
    nodes, c = shape
    return nodes, c


def _is_aggregate(part: Any) -> bool:
    return isinstance(part, Aggregate)


def _aggregates(network: AbstractLayer) -> Iterator[Aggregate]:
    return filter(_is_aggregate, jax.tree.leaves(network, is_leaf=_is_aggregate))


def _with_adjacency(network: AbstractLayer, adjacency: Float[Array, "nodes nodes"]) -> AbstractLayer:
    """Return a copy of the network in which every Aggregate without a graph of its own has this adjacency."""
    own = lambda part: _is_aggregate(part) and part.adjacency is None
    given = lambda part: dataclasses.replace(part, adjacency=adjacency) if own(part) else part
    return jax.tree.map(given, network, is_leaf=_is_aggregate)


def graph_network(
    depth: int,
    width: int = 1024,
    *,
    weight_std: float = math.sqrt(2.0),
    bias_std: float = 0.3,
    outputs: int = 1,
    aggregate: Aggregate | None = None,
    pool: AbstractLayer | None = None,
) -> OnGraphs:
    """Return a graph convolutional network: `depth` blocks (Aggregate, Dense, Relu), a pool over nodes, and a readout.

    Its kernels compare whole graphs. The tangent kernel is the graph neural tangent kernel of Du et al. (2019) with
    one layer in each block.

    Args:
        depth: number of blocks, at least 1.
        width: outputs of each hidden layer of the finite network.
        weight_std: standard deviation of the hidden weights.
        bias_std: standard deviation of the hidden biases. If this deviation is 0, and the nodes have no features or one
            positive feature each, the inputs of each ReLU have the same sign at all nodes. Then the network is linear
            in its inputs.
        outputs: outputs of the readout.
        aggregate: the sum over neighbours in every block; None is `Aggregate(self_loops=1.0)`.
        pool: the layer that maps the nodes to a vector; None is `GlobalSumPool()`.

    Raises:
        SettingError: for a depth below 1 or above 100,000, and for the same reasons as `Dense`.

    Example:
        >>> from lemmata.architectures import TangentKernel, graph_network, graph_points
        >>> from lemmata.kernels import gram
        >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
        >>> gram(TangentKernel(graph_network(depth=2)), graph_points([path, triangle])).shape
        (2, 2)
    """
    check_depth(depth, 1, "blocks")
    block = [aggregate or Aggregate(self_loops=1.0), Dense(width, weight_std, bias_std), Relu()]
    return OnGraphs(Serial([*block * depth, pool or GlobalSumPool(), Dense(outputs)]))
