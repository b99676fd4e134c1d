"""Cells: their networks twice, training that learns, mixed kernels twice, rank correlations against scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import spearmanr

from lemmata.architectures import TangentKernel
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import Linear, gram
from lemmata.subjects.adversaries import (
    Cell,
    CellError,
    cell_grid,
    label_energy,
    mixed_kernels,
    rank_correlation,
    run_cells,
)
from lemmata.subjects.adversaries._cell_training import cell_outputs, cell_parameters, wiring


@pytest.mark.parametrize("number", [0, 13, 22, 35, 59])
def test_one_program_computes_the_network_of_every_cell(number):
    cell = cell_grid()[number]
    params = cell_parameters(jax.random.key(0), 6, 3, 4, 32)
    x = jax.random.normal(jax.random.key(1), (5, 6))
    own = jax.tree.map(lambda leaf: leaf[number], wiring(cell_grid()))
    drawn, _ = cell.network(3).init(jax.random.key(2), 6)
    hidden = [params["hidden"][layer][: cell.width, : cell.width] for layer in range(cell.depth - 1)]
    weights = [params["first"][: cell.width], *hidden, params["readout"][:, : cell.width]]
    leaves, tree = jax.tree.flatten(drawn)
    assert [leaf.shape for leaf in leaves] == [leaf.shape for leaf in weights]
    assert sum(leaf.size for leaf in leaves) == cell.parameters(6, 3)
    expected = jax.vmap(lambda q: cell.network(3).apply(jax.tree.unflatten(tree, weights), q))(x)
    assert np.allclose(cell_outputs(own, params, x), expected, atol=1e-13)


def test_a_cell_has_a_kernel_at_infinite_width():
    x = jax.random.normal(jax.random.key(1), (4, 6))
    K = gram(TangentKernel(Cell(3, "erf", True, 8).network()), x)
    assert jnp.linalg.eigvalsh(K)[0] > 0


@pytest.mark.parametrize(
    ("parts", "word"),
    [((0, "relu", False, 8), "depth"), ((2, "swish", False, 8), "activation"),
     ((1, "relu", True, 8), "skip needs a hidden layer"), ((2, "relu", False, 0), "width"),
     ((True, "relu", False, 8), "depth"), ((2, "relu", False, 10**6), "width")],
)  # fmt: skip
def test_cells_that_are_no_networks_say_why(parts, word):
    with pytest.raises(CellError, match=word):
        Cell(*parts)


def test_training_learns_and_an_attack_costs():
    keys = jax.random.split(jax.random.key(5), 2)
    y = jnp.arange(60) % 2
    x = 0.3 * jax.random.normal(keys[0], (60, 4)) + jnp.where(y == 1, 1.0, -1.0)[:, None]
    # wide enough that units face either class: without biases the outputs of a class that faces none are 0
    cells = (Cell(1, "relu", False, 16), Cell(2, "erf", True, 8), Cell(2, "sin", False, 6))
    found = run_cells(cells, x[:40], y[:40], x[40:], y[40:], keys[1], radius=0.4, steps=25, attack_steps=2, scored=10)
    assert np.all(np.asarray(found.clean_accuracy) >= 0.9)
    assert np.all(np.asarray(found.robust_accuracy) <= np.asarray(found.clean_accuracy))
    assert found.parameters.tolist() == [16 * 6, 8 * (4 + 8 + 2), 6 * (4 + 6 + 2)]
    # the clean score by the layers themselves: first output, centred indicators
    params = cell_parameters(keys[1], 4, 2, 2, 16)
    own = jax.tree.map(lambda leaf: leaf[1], wiring(cells))
    slopes = jax.jacobian(lambda p: cell_outputs(own, p, x[:10])[:, 0])(params)
    J = np.concatenate([np.asarray(leaf).reshape(10, -1) for leaf in jax.tree.leaves(slopes)], axis=1)
    targets = np.eye(2)[np.asarray(y[:10])] - 0.5
    energy = np.sqrt(np.trace(targets.T @ np.linalg.solve(J @ J.T, targets)) / 10)
    assert float(found.energy["clean"][1]) == pytest.approx(energy, rel=1e-8)
    assert float(found.smallest["clean"][1]) == pytest.approx(np.linalg.eigvalsh(J @ J.T)[0], rel=1e-6)


def test_runs_that_are_refused():
    x, y = jnp.zeros((4, 2)), jnp.array([0, 1, 0, 1])
    rest = {"key": jax.random.key(0), "radius": 0.1}
    with pytest.raises(SettingError, match="cells"):
        run_cells([], x, y, x, y, **rest)
    with pytest.raises(SettingError, match="cells"):
        run_cells(["relu"], x, y, x, y, **rest)
    with pytest.raises(DataError, match="a single class"):
        run_cells([Cell(1, "relu", False, 2)], x, 0 * y, x, y, **rest)
    with pytest.raises(SettingError, match="beta"):
        run_cells([Cell(1, "relu", False, 2)], x, y, x, y, beta=2.0, **rest)


ROWS, CLASSES = np.random.default_rng(2).normal(size=(12, 4)), np.arange(12)


@pytest.mark.parametrize(
    ("labels", "new", "error", "word"),
    [(CLASSES % 2, CLASSES % 3, DataError, "held-out rows; found class 2, which no training row has.*classes from 0"),
     (CLASSES % 3 - 1, CLASSES % 2, DataError, "labels of training rows; found the class -1"),
     (CLASSES % 3, CLASSES % 3 - 1, DataError, "labels of held-out rows; found the class -1"),
     (2 * (CLASSES % 2), CLASSES % 2, DataError, "found no row of class 1"),
     (CLASSES[:10] % 2, CLASSES % 2, ShapeError, r"labels of training rows; found shape \(10,\)"),
     (CLASSES % 2, CLASSES[:10] % 2, ShapeError, r"labels of held-out rows; found shape \(10,\)")],
)  # fmt: skip
def test_classes_that_do_not_fit_are_refused(labels, new, error, word):
    x = jnp.asarray(ROWS)
    with pytest.raises(error, match=word):
        run_cells(
            [Cell(1, "relu", False, 3)], x, jnp.asarray(labels), x, jnp.asarray(new), jax.random.key(0), radius=0.1
        )


def test_held_out_rows_may_lack_a_class_and_no_column():
    x, y = jnp.asarray(ROWS), jnp.asarray(CLASSES % 3)
    rest = {"key": jax.random.key(0), "radius": 0.05, "steps": 1, "attack_steps": 1}
    found = run_cells([Cell(1, "relu", False, 3)], x, y, x[:2], y[:2], **rest)
    assert 0 <= float(found.clean_accuracy[0]) <= 1
    with pytest.raises(ShapeError, match="held-out rows; found shape"):
        run_cells([Cell(1, "relu", False, 3)], x, y, x[:, :3], y, **rest)


def test_mixed_kernels_are_grams_of_stacked_features_and_have_their_ends():
    x, a, b = jax.random.normal(jax.random.key(0), (3, 5, 4))
    found = mixed_kernels(Linear(), x, a, b, 0.3)
    for K, (one, other) in ((found.clean_mixed, (x, a)), (found.robust_mixed, (a, b))):
        mixed = 0.7 * one + 0.3 * other
        assert np.allclose(K, mixed @ mixed.T * (found.clean[0, 0] / (x[0] @ x[0])), atol=1e-12)
    for beta, clean in ((0.0, "clean"), (1.0, "robust")):
        assert np.allclose(mixed_kernels(Linear(), x, a, b, beta).clean_mixed, getattr(found, clean), atol=1e-14)
    with pytest.raises(SettingError, match="beta"):
        mixed_kernels(Linear(), x, a, b, 1.5)
    with pytest.raises(ShapeError, match="attacked"):
        mixed_kernels(Linear(), x, a[:3], b, 0.5)


def test_energy_is_the_norm_of_the_least_interpolant():
    features = jax.random.normal(jax.random.key(4), (6, 9))
    y = jnp.arange(6.0)
    weights = np.linalg.lstsq(np.asarray(features), np.asarray(y), rcond=None)[0]
    assert float(label_energy(features @ features.T, y)) == pytest.approx(np.linalg.norm(weights) / 6**0.5, rel=1e-10)
    with pytest.raises(NotPositiveDefiniteError, match="duplicate rows"):
        label_energy(jnp.ones((3, 3)), jnp.ones(3))
    with pytest.raises(ShapeError):
        label_energy(jnp.eye(3), jnp.ones(2))


def test_rank_correlations_are_those_of_scipy_and_intervals_cover():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 40))
    b = np.round(a + b, 1)
    assert rank_correlation(a, b).value == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    gain = rank_correlation(a, b, c)
    assert gain.value == pytest.approx(spearmanr(a, b).statistic - spearmanr(c, b).statistic, abs=1e-12)
    assert rank_correlation(a, b, a).low == rank_correlation(a, b, a).high == 0.0
    covered = 0
    truth = 6 / np.pi * np.arcsin(0.5 / 2)  # Spearman's for Gaussians of correlation 1/2
    for _ in range(200):
        u, v = rng.normal(size=(2, 60))
        found = rank_correlation(u, 0.5 * u + 0.75**0.5 * v, resamples=200)
        covered += found.low <= truth <= found.high
    assert 175 <= covered <= 199


@pytest.mark.parametrize(
    ("score", "error"), [(np.ones(20), DataError), (np.arange(5.0), DataError), (np.full(20, np.nan), DataError)]
)
def test_scores_that_are_refused(score, error):
    with pytest.raises(error):
        rank_correlation(score, np.arange(float(len(score))))
    with pytest.raises(ShapeError, match="result"):
        rank_correlation(np.arange(20.0), np.arange(9.0))
