"""What a user may get wrong with graphs."""

import contextlib
from typing import Any, cast

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from lemmata.architectures import (
    Aggregate,
    AveragePool,
    Conv,
    Dense,
    GlobalSumPool,
    NNGPKernel,
    OnGraphs,
    Relu,
    Serial,
    graph_network,
    graph_points,
)
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.estimators import TangentKernelClassifier, TangentKernelRegressor
from lemmata.kernels import gram

EDGE = np.array([[0.0, 1.0], [1.0, 0.0]])
OPPOSED = np.array([[0.0, -1.0], [-1.0, 0.0]])


def kernel(*layers: Any) -> NNGPKernel:
    return NNGPKernel(OnGraphs(Serial([*layers, GlobalSumPool(), Dense(1)])))


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: graph_points([]), ShapeError, "graphs; found no graph"),
        (lambda: graph_points([EDGE, EDGE[:1]]), ShapeError, r"adjacency of graph 1; found shape \(1, 2\)"),
        (lambda: graph_points([EDGE * np.nan]), DataError, "graph 0; found nan in row 0, column 0"),
        (lambda: graph_points([(np.ones((2, 1)), EDGE), (np.ones((3, 1)), EDGE)]), ShapeError, "graph 1.*same number"),
        (lambda: graph_points([(np.ones((2, 0)), EDGE)]), ShapeError, "graph 0"),
        (lambda: graph_points([(np.ones((2, 1)), EDGE), (np.ones((2, 3)), EDGE)]), ShapeError, "graph 1; found 3"),
        (lambda: graph_points([(np.array([1.0, np.inf]), EDGE)]), DataError, "graph 0; found inf at node 1"),
        (lambda: graph_points([np.ones((0, 0))]), ShapeError, "at least one node"),
        (lambda: graph_points([nx.Graph()]), ShapeError, "at least one node"),
        (lambda: graph_points([sparse.csr_array(EDGE[:1])]), ShapeError, r"\(1, 2\)"),
        (lambda: graph_points([[["a", "b"], ["c", "d"]]]), DataError, "adjacency of graph 0"),
        (lambda: graph_points([[np.ones((2, 3)), EDGE]]), DataError, "a tuple"),
        (lambda: graph_points([np.ma.masked_array(EDGE, EDGE == 1)]), DataError, "graph 0; found . masked"),
        (lambda: graph_points([(np.ma.masked_array([1.0, 2], [0, 1]), EDGE)]), DataError, "graph 0.*masked"),
        (lambda: graph_points([EDGE.astype("datetime64[D]")]), DataError, "graph 0; found entries of type datetime64"),
        (lambda: graph_points([EDGE.astype(str).astype(object)]), DataError, "graph 0; found the entry '"),
        (lambda: graph_points([EDGE], nodes=1), SettingError, "nodes; found 1"),
        (lambda: graph_points(graph_points([EDGE]), nodes=1), SettingError, "nodes; found 1"),
        (lambda: Aggregate(cast(Any, "column")), SettingError, "normalisation"),
        (lambda: Aggregate(self_loops=-1.0), SettingError, "self_loops"),
        (lambda: Aggregate(self_loops=np.inf), SettingError, "self_loops"),
        (lambda: Aggregate(adjacency=jnp.ones((2, 3))), ShapeError, "adjacency of Aggregate"),
        (lambda: Aggregate(adjacency=jnp.full((2, 2), jnp.inf)), DataError, "adjacency of Aggregate"),
        (lambda: Aggregate("symmetric", adjacency=jnp.asarray(OPPOSED)), DataError, "degree -1 at node 0;"),
        (lambda: gram(kernel(Aggregate("symmetric")), graph_points([EDGE, OPPOSED])), DataError, "node 0 of point 1"),
        (lambda: gram(kernel(Aggregate()), jnp.ones((2, 3, 4))), ShapeError, "points of OnGraphs"),
        (lambda: gram(kernel(Aggregate()), graph_points([EDGE]).at[..., -1].set(0.0)), SettingError, "point 0"),
        (lambda: gram(kernel(Aggregate()), graph_points([EDGE]).at[..., -1].set(0.5)), SettingError, "0 and 1"),
        (lambda: gram(NNGPKernel(Serial([Aggregate(), GlobalSumPool()])), jnp.ones((2, 3, 4))), SettingError, "graphs"),
        (lambda: Aggregate().apply((), jnp.ones((2, 3))), SettingError, "no adjacency"),
        (lambda: Aggregate(adjacency=jnp.ones((3, 3))).apply((), jnp.ones((2, 1))), ShapeError, r"\(3, channels\)"),
        (lambda: Aggregate().init(jax.random.key(0), 3), ShapeError, "input of Aggregate"),
        (lambda: Aggregate().init(jax.random.key(0), (3, 3, 2)), ShapeError, "input of Aggregate"),
        (lambda: graph_network(1).init(jax.random.key(0), (3, 4)), ShapeError, "points of OnGraphs"),
        (lambda: graph_network(0), SettingError, "depth"),
        (lambda: gram(kernel(AveragePool(2), Aggregate()), graph_points([EDGE])), SettingError, "graph of Aggregate"),
        (lambda: gram(kernel(Conv(4, 2, padding="VALID"), Aggregate()), graph_points([EDGE])), ShapeError, "2 nodes"),
        (lambda: gram(kernel(Relu()), graph_points([EDGE])), SettingError, "activation"),
        (lambda: gram(NNGPKernel(Serial([graph_network(1)])), jnp.ones((2, 2, 4))), SettingError, "input of OnGraphs"),
        (lambda: TangentKernelClassifier(graph_network(1)).fit([], []), ShapeError, "graphs; found no graph"),
        (lambda: TangentKernelRegressor(graph_network(1), 1.0).fit([EDGE, 0 * EDGE], [0, 1]).predict([(EDGE, EDGE)]),
         ShapeError, "one shape"),
        (lambda: TangentKernelClassifier(graph_network(1)).fit(np.eye(2), [0, 1]), ShapeError, "adjacency of graph 0"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("shapes_unchecked")
def test_found_and_rule_are_told_in_one_line(ask, error, words):
    with pytest.raises(LemmataError, match=words) as caught:
        ask()
    assert type(caught.value) is error
    assert caught.value.rule
    assert "\n" not in str(caught.value)


def test_roots_of_negative_degrees_are_no_numbers_where_nothing_can_be_raised():
    layer, x = Aggregate("symmetric"), graph_points([OPPOSED])
    params, _ = OnGraphs(layer).init(jax.random.key(0), x.shape[1:])
    assert jnp.isnan(jax.jit(OnGraphs(layer).apply)(params, x[0])).any()


@pytest.mark.parametrize(("loops", "told"), [(0.0, "degree -1 at node 1"), (0.5, "degree -0.5 at node 1"), (1.0, "")])
def test_a_loop_counts_in_the_degree_that_must_not_be_negative(loops, told):
    adjacency = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
    for own in (adjacency, None):
        layer = lambda name, own=own: Aggregate(name, loops, adjacency=own)
        for name in ("none", "row"):
            layer(name).check_degrees("graph", adjacency)
        with pytest.raises(DataError, match=f"{told};") if told else contextlib.nullcontext():
            layer("symmetric").check_degrees("graph", adjacency)
