"""Laws of networks on graphs: naive sums over edges, graphs padded and renumbered, and every route to a kernel."""

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from lemmata.architectures import (
    Aggregate,
    Dense,
    Embedding,
    Erf,
    GlobalAveragePool,
    NNGPKernel,
    OnGraphs,
    Relu,
    Serial,
    TangentKernel,
    graph_network,
    graph_points,
    tangent_gram,
)
from lemmata.kernels import gram, gram_on_disk

EPS = np.finfo(np.float64).eps
W, B = 1.2, 0.3
SETTINGS = [("none", 0.0), ("none", 0.6), ("row", 0.0), ("symmetric", 0.0), ("symmetric", 1.0)]
by_settings = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s[0]}-{s[1]}")


def graphs(sizes=(2, 4, 3, 1), seed=0):
    """Directed edges with weights; the last node of each graph has none."""
    rng = np.random.default_rng(seed)
    found = []
    for s in sizes:
        edges = rng.random((s, s)) * (rng.random((s, s)) < 0.6)
        edges[-1], edges[:, -1] = 0.0, 0.0
        found.append((rng.normal(size=(s, 2)), edges))
    return found


def network(settings, width=8):
    block = [Aggregate(*settings), Dense(width, W, B), Relu()]
    return OnGraphs(Serial([*block, *block, GlobalAveragePool(), Dense(1, W, B)]))


def neighbours(adjacency, normalisation, loops):
    """For every node what it sums, with weights: the definition, edge by edge."""
    s = len(adjacency)
    weight = lambda p, q: adjacency[p, q] + (loops if p == q else 0.0)
    degree = [sum(weight(p, q) for q in range(s)) for p in range(s)]
    share = {
        "none": lambda p, q: 1.0,
        "row": lambda p, q: 1 / degree[p] if degree[p] else 0.0,
        "symmetric": lambda p, q: (degree[p] * degree[q]) ** -0.5 if degree[p] * degree[q] else 0.0,
    }[normalisation]
    return [[(q, weight(p, q) * share(p, q)) for q in range(s) if weight(p, q)] for p in range(s)]


def naive_kernels(settings, one, other):
    """Both kernels of two graphs: the recursion over all pairs of nodes of their union, in loops."""
    (x, a), (y, b) = one, other
    nodes, s = np.concatenate([x, y]), len(x)
    count = len(nodes)
    sums = neighbours(a, *settings) + [[(s + q, w) for q, w in row] for row in neighbours(b, *settings)]
    n, t = nodes @ nodes.T / nodes.shape[1], np.zeros((count, count))
    for _ in range(2):
        n, t = (
            np.array([[sum(v * w * m[i, j] for i, v in sums[p] for j, w in sums[q]) for q in range(count)]
                      for p in range(count)])
            for m in (n, t)
        )  # fmt: skip
        n, t = W**2 * n + B**2, W**2 * n + B**2 + W**2 * t
        size = np.sqrt(np.outer(np.diag(n), np.diag(n)))
        cosine = np.clip(n / size, -1, 1)
        np.fill_diagonal(cosine, 1.0)
        angle = np.arccos(cosine)
        n, t = size * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi), t * (np.pi - angle) / (2 * np.pi)
    n, t = (np.mean(m[:s, s:]) for m in (n, t))
    return W**2 * n + B**2, W**2 * n + B**2 + W**2 * t


@by_settings
def test_kernels_are_those_of_naive_sums_over_edges(settings):
    points = graphs()
    # The tangent kernel is made of every other moment; one case shows that both are read.
    for face, kind in ((0, NNGPKernel), (1, TangentKernel))[settings[0] != "row" :]:
        found = kind(network(settings)).cross(graph_points(points), graph_points(graphs(seed=1)))
        naive = [[naive_kernels(settings, one, other)[face] for other in graphs(seed=1)] for one in points]
        np.testing.assert_allclose(found, naive, rtol=1e-11)


@by_settings
def test_the_finite_network_sums_over_edges(settings):
    points = graphs()
    x, net = graph_points(points), network(settings)
    params, shape = net.init(jax.random.key(0), x.shape[1:])
    assert shape == 1
    found = jax.jit(jax.vmap(lambda row: net.apply(params, row)))(x)
    for output, (features, adjacency) in zip(found, points, strict=True):
        h, sums = features, neighbours(adjacency, *settings)
        for layer in (1, 4):
            h = jnp.array([sum((w * h[q] for q, w in own), np.zeros(h.shape[1])) for own in sums])
            h = jnp.maximum(net.network.layers[layer].apply(params[layer], h), 0)
        expected = net.network.layers[-1].apply(params[-1], h.mean(axis=0))
        np.testing.assert_allclose(output, expected, rtol=1e-12)


def test_the_finite_tangent_kernel_is_that_of_the_gradients():
    x, net = graph_points(graphs()), network(("symmetric", 1.0))
    params, _ = net.init(jax.random.key(1), x.shape[1:])

    @jax.jit
    def expected(params):
        gradients = jax.vmap(lambda a: jax.grad(lambda p: net.apply(p, a)[0])(params))(x)
        rows = jnp.concatenate([leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(gradients)], axis=1)
        return rows @ rows.T

    found = tangent_gram(net, params, x, output=0)
    np.testing.assert_allclose(found, expected(params), atol=1000 * EPS * float(jnp.max(jnp.abs(found))))


def test_neither_empty_nodes_nor_the_order_of_nodes_matter():
    kernel, points = TangentKernel(network(("symmetric", 0.5))), graphs()
    order = [np.random.default_rng(2).permutation(len(features)) for features, _ in points]
    renamed = graph_points([(x[p], a[np.ix_(p, p)]) for (x, a), p in zip(points, order, strict=True)], nodes=6)
    # What stands at an empty node, and on edges to it, is not looked at.
    empty = renamed[..., -1] == 0
    x = jnp.where(empty[..., None], renamed.at[..., :-1].set(7.0), renamed)
    x = x.at[..., 2:8].set(jnp.where(empty[:, None], -3.0, x[..., 2:8]))
    found, plain = gram(kernel, x), gram(kernel, graph_points(points))
    np.testing.assert_allclose(found, plain, rtol=1e-11)
    np.testing.assert_allclose(jax.jit(kernel)(x[0], x[1]), plain[0, 1], rtol=1e-11)
    np.testing.assert_allclose(kernel.diagonal(graph_points(points[:1])), plain[0, 0], rtol=1e-11)
    np.testing.assert_array_equal(graph_points(graph_points(points), nodes=6), graph_points(points, nodes=6))


def test_one_graph_for_all_points_is_that_graph_at_each():
    adjacency = graphs()[1][1]
    fixed = Aggregate("row", 0.5, adjacency=jnp.asarray(adjacency))
    layers = [Dense(8, W, B), Erf(), GlobalAveragePool(), Dense(1)]
    features = np.random.default_rng(3).normal(size=(3, 4, 2))
    each = graph_points([(x, adjacency) for x in features])
    found = gram(TangentKernel(Serial([fixed, *layers])), jnp.asarray(features))
    np.testing.assert_allclose(
        found, gram(TangentKernel(OnGraphs(Serial([Aggregate("row", 0.5), *layers]))), each), rtol=1e-12
    )


def test_labels_of_nodes_are_unit_vectors():
    labels = [np.array([0, 2]), np.array([1, 1, 0])]
    edges = [np.ones((len(own), len(own))) for own in labels]
    rest = [Aggregate(self_loops=1.0), Erf(), GlobalAveragePool(), Dense(1)]
    found = gram(
        TangentKernel(OnGraphs(Serial([Embedding(3, 8, 0.9), *rest]))),
        graph_points(list(zip(labels, edges, strict=True))),
    )
    vectors = graph_points([(np.eye(3)[own], a) for own, a in zip(labels, edges, strict=True)])
    np.testing.assert_allclose(
        found, gram(TangentKernel(OnGraphs(Serial([Dense(8, 0.9 * 3**0.5), *rest]))), vectors), rtol=1e-12
    )


def test_tiles_on_disk_are_the_same_matrix(tmp_path):
    pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    kernel, x = NNGPKernel(OnGraphs(Serial([Aggregate(), GlobalAveragePool(), Dense(1)]))), graph_points(graphs())
    stored = gram_on_disk(kernel, x, path=tmp_path / "kernel", block=3)
    np.testing.assert_allclose(np.asarray(stored[:]), gram(kernel, x), rtol=1e-12)


def test_isolated_nodes_get_zeros():
    adjacency = jnp.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for normalisation, swap in (("none", 2.0), ("row", 1.0), ("symmetric", 1.0)):
        layer = Aggregate(normalisation, adjacency=adjacency)
        np.testing.assert_allclose(layer.matrix(adjacency), swap / 2 * adjacency, rtol=4 * EPS, atol=0.0)
        slope = jax.jit(jax.jacobian(layer.matrix))(adjacency)
        assert jnp.isfinite(slope).all()
    np.testing.assert_array_equal(Aggregate("row", 1.0).matrix(adjacency)[2], [0.0, 0.0, 1.0])


def test_forms_of_a_graph():
    graph = nx.DiGraph([("a", "b"), ("c", "b")])
    graph.add_edge("b", "c", weight=2.5)
    arriving = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 2.5, 0.0]])
    expected = graph_points([arriving])
    assert expected[0, :, 0].tolist() == [1.0, 1.0, 1.0]
    for form in (
        graph,
        sparse.csr_array(arriving),
        arriving.tolist(),
        (np.ones(3), graph),
        (np.ones((3, 1)), arriving),
    ):
        np.testing.assert_array_equal(graph_points([form]), expected)
    both = graph.to_undirected()  # of two opposite edges the later weight is kept
    np.testing.assert_array_equal(graph_points([both])[0, :, 1:4], nx.to_numpy_array(both))
    doubled = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    np.testing.assert_array_equal(graph_points([doubled])[0, :, 1:3], [[0.0, 2.0], [2.0, 1.0]])


def test_the_ready_network():
    kernel = NNGPKernel(graph_network(1, weight_std=1.0, bias_std=0.0))
    path = nx.path_graph(3)
    # One feature of 1: sums with the node itself are 2, 3, 2, and half of their squares passes ReLU.
    np.testing.assert_allclose(kernel.diagonal(graph_points([path])), [(2 + 3 + 2) ** 2 / 2], rtol=1e-12)
