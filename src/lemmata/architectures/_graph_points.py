"""Conversion of a user's graphs into points of a network."""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import real_numbers, single_of, whole
from lemmata.errors import DataError, SettingError, ShapeError

from ._aggregate import check_adjacency


def graph_points(graphs: Any, nodes: Any = None) -> Float[Array, "n nodes channels"]:
    """Turn graphs of any sizes into points of `OnGraphs`, with features, adjacency and mask. Missing nodes are zeros.

    A graph is one of

    * a tuple (features, adjacency), with features of shape (s, f), or of shape (s,) for one feature or label for each
      node;
    * an adjacency alone; then every node has the feature 1, so that sums over neighbours count the neighbours.

    An adjacency is a matrix (s, s), dense or of `scipy.sparse`. Its entry [p, q] is the weight of node q in the sum at
    node p. An adjacency can also be a graph of networkx. The nodes of a networkx graph keep their order. An edge
    without the attribute `weight` has weight 1. In a directed networkx graph, the sum at a node is over its
    predecessors.

    Args:
        graphs: a list of graphs, or points that this function made. To add empty nodes to such points, set `nodes`.
        nodes: the number of nodes of every point. By default, it is the number of nodes of the largest graph.

    Raises:
        ShapeError: if there are no graphs; if a graph has no nodes; if an adjacency is not square or does not fit the
            features; if the graphs differ in their numbers of features.
        DataError: if an input is not a matrix of finite numbers.
        SettingError: if a graph has more than `nodes` nodes.

    Example:
        >>> from lemmata.architectures import graph_points
        >>> graph_points([([[0.5], [1.5]], [[0, 1], [1, 0]]), ([[2.5]], [[0]])])[1].tolist()
        [[2.5, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    if _are_points(graphs):
        return _widened(jnp.asarray(graphs), nodes)
    if not isinstance(graphs, Iterable):
        found, remedy = f"one {type(graphs).__name__}", "pass [graph] for a single graph"
        raise DataError("graphs", found=found, rule="a list of graphs", remedy=remedy)
    listed = [_read(graph, f"graph {number}") for number, graph in enumerate(graphs)]
    if not listed:
        raise ShapeError("graphs", found="no graph", rule="at least one graph")
    _check_features([features for features, _ in listed])
    largest = _size(nodes, max(len(adjacency) for _, adjacency in listed))
    return jnp.asarray(np.stack([_point(features, adjacency, largest) for features, adjacency in listed]))


def _are_points(graphs: Any) -> bool:
    return isinstance(graphs, np.ndarray | jax.Array) and graphs.ndim == 3 and graphs.shape[2] >= graphs.shape[1] + 2


def _size(nodes: Any, largest: int) -> int:
    if nodes is not None and whole("nodes", nodes) < largest:
        raise SettingError(
            "nodes", found=nodes, rule=f"at least {largest}, because the largest graph has {largest} nodes"
        )
    return largest if nodes is None else nodes


def _widened(points: Float[Array, "n s c"], nodes: Any) -> Float[Array, "n nodes channels"]:
    """Return the points with empty nodes added."""
    size = points.shape[1]
    more = _size(nodes, size) - size
    rows = jnp.pad(points, ((0, 0), (0, more), (0, 0)))
    return jnp.concatenate([jnp.pad(rows[..., :-1], ((0, 0), (0, 0), (0, more))), rows[..., -1:]], axis=-1)


def _point(features: np.ndarray, adjacency: np.ndarray, nodes: int) -> Float[np.ndarray, "nodes channels"]:
    more = nodes - len(adjacency)
    wide = np.pad(adjacency, ((0, 0), (0, more)))
    return np.pad(np.concatenate([features, wide, np.ones((len(wide), 1))], axis=1), ((0, more), (0, 0)))


def _read(graph: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (s, f) and the adjacency (s, s) of one graph."""
    features, given = graph if isinstance(graph, tuple) and len(graph) == 2 else (None, graph)
    adjacency = _adjacency(given, f"adjacency of {name}")
    if features is None:
        return np.ones((len(adjacency), 1)), adjacency
    values = _numbers(features, f"features of {name}")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or not values.shape[1] or len(values) != len(adjacency):
        found = f"features of shape {values.shape}, an adjacency of shape {adjacency.shape}"
        raise ShapeError(
            name,
            found=found,
            rule="features of shape (nodes, features) and an adjacency of shape (nodes, nodes), with the "
            "same number of nodes",
        )
    if not np.isfinite(values).all():
        p, q = np.argwhere(~np.isfinite(values))[0].tolist()
        raise DataError(f"features of {name}", found=f"{values[p, q]} at node {p}", rule="finite numbers")
    return values, adjacency


def _adjacency(given: Any, name: str) -> Float[np.ndarray, "s s"]:
    if hasattr(given, "edges") and hasattr(given, "nodes"):
        matrix = _of_edges(given)
    else:
        matrix = _numbers(given.toarray() if hasattr(given, "toarray") else given, name)
    check_adjacency(name, matrix)
    return matrix


def _of_edges(graph: Any) -> Float[np.ndarray, "s s"]:
    """Return the adjacency of a networkx graph. Row p holds the edges that arrive at node p.

    The weights of parallel edges are added.
    """
    place = {node: number for number, node in enumerate(graph.nodes)}
    matrix = np.zeros((len(place), len(place)))
    for source, target, weight in graph.edges(data="weight", default=1.0):
        if isinstance(weight, str | complex):
            raise DataError("weight of an edge", found=repr(weight), rule="a real number")
        matrix[place[target], place[source]] += weight
        if not graph.is_directed() and source != target:
            matrix[place[source], place[target]] += weight
    return matrix


def _numbers(given: Any, name: str) -> np.ndarray:
    try:
        array = single_of(name, given)
    except DataError as error:
        if not isinstance(given, list):
            raise
        remedy = "pass a tuple (features, adjacency) for a graph that has features"
        raise DataError(name, found="a list that is not a matrix", rule="a matrix of numbers", remedy=remedy) from error
    array = real_numbers(name, array)
    if array.dtype.kind not in "fiub":
        rule = "a matrix of real numbers"
        raise DataError(name, found=f"entries of type {array.dtype}", rule=rule, remedy="convert it to numbers first")
    return array.astype(float)


def _check_features(features: Sequence[np.ndarray]) -> None:
    counts = [values.shape[1] for values in features]
    if len(set(counts)) > 1:
        number = next(i for i, count in enumerate(counts) if count != counts[0])
        found = f"{counts[number]} features for each node, but graph 0 has {counts[0]}"
        raise ShapeError(f"features of graph {number}", found=found, rule="the same number for every graph")
