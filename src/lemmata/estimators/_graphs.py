"""Helpers for estimators of networks that read graphs or fields."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from lemmata.architectures import AbstractLayer, OnGraphs, graph_points


def as_points(network: Any, X: Any) -> Any:
    """Convert graphs to points in float64 if the network reads graphs. Return other inputs unchanged.

    Args:
        network: the network of the estimator, or None.
        X: the inputs in the form in which they were given.

    Raises:
        LemmataError: for the same reasons as `graph_points`.
    """
    return _graph_points(X) if isinstance(network, OnGraphs) else X


def are_fields(network: Any, X: Any) -> bool:
    """Whether inputs are fields (arrays over sites) or graphs that the user's network reads, and not plain rows.

    Args:
        network: the network of the estimator, or None.
        X: inputs.
    """
    return isinstance(network, AbstractLayer) and getattr(X, "ndim", 2) > 2


def of_one_shape(
    network: Any, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point_y"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return two sets of points. If the network reads graphs, both are padded to the same number of nodes.

    Args:
        network: the network of the estimator, or None.
        x: points.
        y: other points for the same network.
    """
    if not isinstance(network, OnGraphs) or x.shape[1] == y.shape[1]:
        return x, y
    nodes = max(x.shape[1], y.shape[1])
    return _graph_points(x, nodes), _graph_points(y, nodes)


def _graph_points(graphs: Any, nodes: int | None = None) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(graph_points(graphs, nodes))
