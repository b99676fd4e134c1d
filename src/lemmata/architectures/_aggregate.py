"""Sums over the neighbours of a node in a graph. If points are graphs, each point has its own edges.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import DataError, SettingError, ShapeError

from ._fields import at_filled, filled, with_own_variances
from ._layer import AbstractLayer, Shape
from ._state import Means, State

Normalisation = Literal["none", "row", "symmetric"]


class Aggregate(AbstractLayer):
    r"""Weighted sums over neighbours, h(p) = sum_q S[p, q] x(q). S is computed from the adjacency A of a point's graph.

    Row p of A holds the weights in the sum at node p. If edges have directions, A[p, q] is the weight of the edge from
    q to p. Let e = `self_loops` and B = A + e I. The degree d_p = sum_q B[p, q] is the sum of the weights that arrive
    at p. The matrix S is one of

    * `"none"`: S[p, q] = B[p, q];
    * `"row"`: S[p, q] = B[p, q] / d_p. This S = D^-1 B is a step of a random walk, and gives the weighted mean of the
      neighbours;
    * `"symmetric"`: S[p, q] = B[p, q] / sqrt(d_p d_q), which is D^-1/2 B D^-1/2.

    Divisions by 0 give 0, so for `"row"` and `"symmetric"`, the sum at a node of degree 0 is 0. For every pair of
    points (graphs) x and y, with weights S_x and S_y,

        nngp'(p, q) = sum_{a, b} S_x[p, a] S_y[q, b] nngp(a, b),

    and the same formula holds for ntk'. If the coordinates of the inputs are Gaussian, the coordinates of the outputs
    are Gaussian, too. Inside `OnGraphs(network)`, every point has its own graph.

    Args:
        normalisation: `"none"`, `"row"` or `"symmetric"`.
        self_loops: e, the weight that is added to A between a node and itself; 0 adds nothing.
        adjacency: one graph for all points, of shape (nodes, nodes). If it is not given, each point has its own graph.

    Raises:
        SettingError: for an unknown normalisation, for self-loops that are negative or not finite, or if neither the
            layer nor the points have a graph.
        ShapeError: for an adjacency that is not square, or points whose number of nodes does not fit the adjacency.
        DataError: for an adjacency that is not finite, and for negative degrees with `"symmetric"`. Under a
            transformation of JAX, no error can be raised, and negative degrees give NaN.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Aggregate
        >>> path = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> Aggregate("row", adjacency=path).apply((), jnp.array([[1.0], [2.0], [5.0]])).ravel().tolist()
        [2.0, 3.0, 2.0]
    """

    normalisation: Normalisation = eqx.field(default="none", static=True)
    self_loops: float = 0.0
    adjacency: Float[Array, "nodes nodes"] | None = eqx.field(default=None, kw_only=True)
    whole = True

    def __check_init__(self):
        if self.normalisation not in ("none", "row", "symmetric"):
            rule = "'none', 'row' or 'symmetric'"
            raise SettingError("normalisation of Aggregate", found=repr(self.normalisation), rule=rule)
        if isinstance(self.self_loops, int | float) and not 0 <= self.self_loops < math.inf:
            raise SettingError(
                "self_loops of Aggregate", found=self.self_loops, rule="a finite weight that is not negative"
            )
        if self.adjacency is not None:
            check_adjacency("adjacency of Aggregate", self.adjacency)
            self.check_degrees("adjacency of Aggregate", self.adjacency)

    def check_degrees(self, what: str, adjacency: Float[Array, "*n s s"]) -> None:
        """Refuse negative degrees if their square roots are needed. Under a transformation of JAX, nothing is refused.

        Args:
            what: the name of the adjacency, for the error.
            adjacency: the adjacency matrices A of the points.

        Raises:
            DataError: if a degree is negative; the message names the node.
        """
        if self.normalisation != "symmetric" or (values := _known(adjacency)) is None:
            return
        degrees = values.sum(axis=-1) + float(self.self_loops)
        if not (degrees >= 0).all():
            *point, node = np.argwhere(~(degrees >= 0))[0].tolist()
            raise DataError(
                what,
                found=f"degree {degrees[*point, node]:.6g} at node {node}" + (f" of point {point[0]}" if point else ""),
                rule="degrees that are not negative, because normalisation='symmetric' divides by their square roots",
                remedy="use normalisation='none' or 'row', or give weights that are not negative",
            )

    def matrix(self, adjacency: Float[Array, "*n s s"]) -> Float[Array, "*n s s"]:
        """Return the matrix S of weights for an adjacency A."""
        looped = adjacency + self.self_loops * jnp.eye(adjacency.shape[-1], dtype=adjacency.dtype)
        if self.normalisation == "none":
            return looped
        degrees = jnp.sum(looped, axis=-1)
        some = degrees != 0
        # The inner `where` keeps derivatives with respect to the adjacency finite.
        inverse = jnp.where(some, 1.0 / jnp.where(some, degrees, 1.0), 0.0)
        if self.normalisation == "row":
            return inverse[..., :, None] * looped
        roots = jnp.where(some, jnp.sqrt(jnp.where(some, inverse, 1.0)), 0.0)
        return roots[..., :, None] * looped * roots[..., None, :]

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape of the inputs as the shape of the outputs."""
        self._check_nodes(fan_in)
        return (), fan_in

    def apply(self, params: Any, x: Float[Array, "nodes fan_in"]) -> Float[Array, "nodes fan_in"]:
        """Return the weighted sum over neighbours at every node."""
        if self.adjacency is None:
            raise _without_graph("no adjacency")
        self._check_nodes(x.shape)
        return self.matrix(self.adjacency).astype(x.dtype) @ x

    def apply_masked(
        self, params: Any, x: Float[Array, "nodes fan_in"], mask: Bool[Array, " nodes"]
    ) -> tuple[Float[Array, "nodes fan_in"], Bool[Array, " nodes"]]:
        """Return the weighted sums over those neighbours that are not empty, and the unchanged mask."""
        return self.apply(params, filled(x, mask)), mask

    def push(self, state: State) -> State:
        """Return the moments of the weighted sums at the nodes. Here each point x or y is a graph.

        The covariance of a sum at a node of x and a sum at a node of y is a weighted sum of covariances over pairs of a
        node of x and a node of y. The variance of a sum at a node of x is such a sum over pairs of nodes of x.
        """
        state = at_filled(state)
        grid = state.grid
        self._check_nodes((*grid.sites, state.fan_in))
        if grid.left is None or grid.right is None:
            raise SettingError(
                "input of Aggregate",
                found="moments only for pairs with x and y at the same position",
                rule="moments for all pairs of positions",
            )
        left, right = self._summed(grid.left), self._summed(grid.right)
        new = with_own_variances(self._summed(state), state, left, right)
        sides = zip((left, right), (grid.left, grid.right), strict=True)
        left, right = (with_own_variances(side, before, side, side) for side, before in sides)
        return new.with_grid(left=left, right=right)

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a sum needs all pairs."""
        return True

    def _summed(self, part: State) -> State:
        """Return the state with the covariances and means of the weighted sums at the nodes."""
        one, other = self._graphs(part)
        both = lambda values: _along(_along(values, one, 0), other, 1)
        means = part.means
        if means is not None:
            means = Means(_along(means.x, one, 0), _along(means.y, other, 1))
        return part.replace(nngp=both(part.nngp), ntk=both(part.ntk), means=means)

    def _graphs(self, part: State) -> tuple[Float[Array, "n s s"], Float[Array, "m s s"]]:
        """Return the matrices S of every x and of every y."""
        given = part.grid.adjacency_x, part.grid.adjacency_y
        if self.adjacency is not None:
            counts = part.nngp.shape[2], part.nngp.shape[-1]
            fixed = self.matrix(self.adjacency).astype(part.nngp.dtype)
            one, other = (jnp.broadcast_to(fixed, (count, *fixed.shape)) for count in counts)
            return one, other
        if given[0] is None or given[1] is None:
            raise _without_graph("a state without graphs")
        if given[0].shape[-1] != part.grid.sites[0]:
            found = f"fields with {part.grid.sites[0]} positions, but graphs with {given[0].shape[-1]} nodes"
            raise ShapeError("input of Aggregate", found=found, rule="one position for each node of the graphs")
        return self.matrix(given[0]), self.matrix(given[1])

    def _check_nodes(self, shape: Any) -> None:
        nodes = None if self.adjacency is None else len(self.adjacency)
        if isinstance(shape, int) or len(shape) != 2 or nodes not in (None, shape[0]):
            raise ShapeError(
                "input of Aggregate",
                found=f"shape {shape}",
                rule=f"shape ({'nodes' if nodes is None else nodes}, channels), one row of features for each node of "
                "the graph",
            )


# From pairs of nodes (a, b) to pairs of sums (p, q). The sums run first along the nodes of x, then along the nodes of
# y. The points are all pairs (n, m), or each point with itself (n).
_SUMS = {
    (4, 0): "npa,abnm->pbnm",
    (4, 1): "mqb,pbnm->pqnm",
    (3, 0): "npa,abn->pbn",
    (3, 1): "nqb,pbn->pqn",
}


def _along(values: Float[Array, "..."], matrix: Float[Array, "n s s"], side: int) -> Float[Array, "..."]:
    return jnp.einsum(_SUMS[values.ndim, side], matrix, values)


def _without_graph(found: str) -> SettingError:
    return SettingError(
        "graph of Aggregate",
        found=found,
        rule="one graph for each point, or one graph for all points",
        remedy="wrap the network as OnGraphs(network) and pass graph_points(graphs), or set Aggregate(adjacency=...)",
    )


def check_adjacency(what: str, adjacency: Any) -> None:
    """Refuse an adjacency that is not square, or whose known entries are not finite.

    Args:
        what: the name of the adjacency, for the error.
        adjacency: a matrix of shape (nodes, nodes).

    Raises:
        ShapeError: for wrong shapes.
        DataError: for an entry that is not finite; the message states its place.
    """
    shape = jnp.shape(adjacency)
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ShapeError(what, found=f"shape {shape}", rule="a square matrix (nodes, nodes) with at least one node")
    values = _known(adjacency)
    if values is not None and not np.isfinite(values).all():
        p, q = np.argwhere(~np.isfinite(values))[0].tolist()
        raise DataError(what, found=f"{values[p, q]} in row {p}, column {q}", rule="finite weights")


def _known(values: Any) -> np.ndarray | None:
    """Return the values as a NumPy array, or None under a transformation of JAX."""
    try:
        return np.asarray(values)
    except jax.errors.TracerArrayConversionError:
        return None


def with_graphs_of(state: State, x: Float[Array, "n s s"], y: Float[Array, "m s s"]) -> State:
    """Add the adjacency matrices of the points to the state, and to the states that pair each input with itself.

    Args:
        state: the state of all pairs, or of each point with itself.
        x: the adjacency of every x.
        y: the adjacency of every y.
    """
    state = state.with_grid(adjacency_x=x, adjacency_y=y)
    left, right = state.grid.left, state.grid.right
    if left is None or right is None:
        return state
    left, right = (side.with_grid(adjacency_x=own, adjacency_y=own) for side, own in ((left, x), (right, y)))
    return state.with_grid(left=left, right=right)
