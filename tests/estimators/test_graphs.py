"""Estimators of networks on graphs: lists of graphs of any size, what edges tell, and the atlas of small graphs."""

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from lemmata.architectures import Conv, Dense, GlobalAveragePool, OnGraphs, Relu, Serial, graph_network, graph_points
from lemmata.estimators import KernelRegressor, NNGPRegressor, TangentKernelClassifier, TangentKernelRegressor
from lemmata.kernels import Linear
from lemmata.storage import load, save


def cycles_and_paths(count, seed):
    """Cycles and paths of 5 to 9 nodes with noisy features that say nothing; one edge is drawn anywhere."""
    rng = np.random.default_rng(seed)
    found, labels = [], []
    for number in range(count):
        s = int(rng.integers(5, 10))
        graph = nx.cycle_graph(s) if number % 2 else nx.path_graph(s)
        graph.add_edge(*rng.choice(s, 2, replace=False))
        found.append((1 + 0.05 * rng.normal(size=(s, 2)), graph))
        labels.append("cycle" if number % 2 else "path")
    return found, np.array(labels)


BLIND = OnGraphs(Serial([Dense(64, bias_std=0.3), Relu(), GlobalAveragePool(), Dense(1)]))


def test_edges_tell_cycles_from_paths():
    graphs, labels = cycles_and_paths(120, seed=0)
    seeing = TangentKernelClassifier(graph_network(2)).fit(graphs[:80], labels[:80])
    blind = TangentKernelClassifier(BLIND).fit(graphs[:80], labels[:80])
    right, chance = (np.mean(model.predict(graphs[80:]) == labels[80:]) for model in (seeing, blind))
    # 40 graphs of two classes: chance has a standard error of 0.08.
    assert right >= 0.85
    assert chance <= 0.5 + 3 * 0.08
    assert seeing.predict_proba(graphs[80:]).shape == (40, 2)


def test_lists_of_graphs_are_inputs_like_any_other(tmp_path):
    graphs, _ = cycles_and_paths(16, seed=1)
    sizes = np.array([float(len(graph)) for _, graph in graphs])
    order = np.argsort(sizes)
    small, large = ([graphs[i] for i in part] for part in (order[:12], order[12:]))
    model = TangentKernelRegressor(graph_network(1, bias_std=0.3)).fit(small, sizes[order[:12]])
    # The largest graph of the fit has fewer nodes than those that are predicted.
    expected = model.predict(large)
    whole = np.asarray(graph_points(graphs))  # with empty nodes in the small ones
    assert np.allclose(model.predict(whole[order[12:]]), expected, rtol=1e-9)
    assert np.array_equal(model.fit(whole[order[:12]], sizes[order[:12]]).predict(large), expected)
    save(model, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(large), expected)
    assert cross_val_predict(model, large, sizes[order[12:]], cv=2).shape == (4,)
    mean, deviation = NNGPRegressor(model.network).fit(small, sizes[order[:12]]).predict(large, return_std=True)
    assert mean.shape == deviation.shape == (4,)


def test_images_are_inputs_of_networks_that_read_them():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4, 4, 1))
    labels = np.arange(40) % 2
    x[labels == 1, 1:3, 1:3] += 4.0
    network = Serial([Conv(8, (2, 2), 1.4, 0.1), Relu(), GlobalAveragePool(), Dense(1)])
    assert TangentKernelClassifier(network).fit(x[:30], labels[:30]).score(x[30:], labels[30:]) >= 0.9
    with pytest.raises(ValueError, match="dim"):  # the default network reads rows of numbers
        TangentKernelClassifier().fit(x, labels)


@pytest.mark.parametrize("target", ["triangles", "closed walks"])
def test_the_atlas_of_graphs_of_seven_nodes(target):
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) == 7]
    assert len(atlas) == 1044
    chosen = np.random.default_rng(0).permutation(1044)[:350]
    graphs = [atlas[i] for i in chosen]
    matrices = [nx.to_numpy_array(graph) for graph in graphs]
    length = 3 if target == "triangles" else 4
    y = np.array([np.trace(np.linalg.matrix_power(matrix, length)) for matrix in matrices])
    degrees = np.array([np.bincount(matrix.sum(axis=0).astype(int), minlength=7) for matrix in matrices], float)
    train, test = slice(200), slice(200, None)

    def error(model, x):
        return np.mean((model.fit(x[train], y[train]).predict(x[test]) - y[test]) ** 2) / np.var(y[test])

    found = error(TangentKernelRegressor(graph_network(3)), graphs)
    baseline = error(KernelRegressor(Linear(), ridge=None), degrees)
    print(f"{target}: error {found:.4f} of the variance, histogram of degrees {baseline:.4f}")
    assert found < 0.85 * baseline
