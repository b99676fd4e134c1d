"""The layers of a model: held against NumPy's norms, dense Jacobians, Gaussian matrices and a Fredholm determinant."""

import math
import time

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import airy
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import lemmata
from lemmata.subjects.trained_models import layer_shares, read_model, read_trained, tangent_kernel
from lemmata.workflows.examinations import ExaminationRecord, _layers
from lemmata.workflows.examinations._layers import (
    TRACY_WIDOM,
    largest_by_chance,
    layer_table,
    singular_values,
    unfolded,
)
from lemmata.workflows.records.model_tables import beside_null


@pytest.fixture(autouse=True)
def as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(_layers, "_SECONDS", math.inf)
    monkeypatch.setattr(_layers, "_FOR_NULLS", math.inf)


def network(own, x):
    return jnp.tanh(x @ own["a"] + own["b"]) @ own["c"]


def twice(own, x):
    """A matrix that a row passes twice: no dense network."""
    return jnp.tanh(jnp.tanh(x @ own["a"]) @ own["a"] + own["b"]) @ own["c"]


def weights(rng, inputs=5, width=5, outputs=3):
    shapes = {"a": (inputs, width), "b": (width,), "c": (width, outputs)}
    return {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}


@pytest.mark.parametrize("function", [network, twice])
def test_shares_are_those_of_dense_jacobians(function):
    rng = np.random.default_rng(0)
    model, x = read_model((function, weights(rng))), rng.normal(size=(7, 5))
    jacobian, parts = model.jacobian(x), [25, 5, 15]
    squares = [(own**2).sum() for own in np.split(jacobian, np.cumsum(parts)[:-1], axis=2)]
    np.testing.assert_allclose(layer_shares(model, x), np.array(squares) / sum(squares), rtol=1e-10)
    assert sum(squares) == pytest.approx(3 * np.trace(tangent_kernel(model, x)))


def test_shares_of_large_models_by_signs_are_the_same(monkeypatch):
    from lemmata.subjects.trained_models import _layer_shares

    rng = np.random.default_rng(1)
    model, x = read_model((network, weights(rng))), rng.normal(size=(400, 5))
    exact = layer_shares(model, x)
    monkeypatch.setattr(_layer_shares, "_BLOCK", 0)
    drawn = np.stack([layer_shares(model, x[:100], seed) for seed in range(20)])
    signs = np.stack([layer_shares(model, x, seed) for seed in range(5)])
    np.testing.assert_allclose(signs.mean(0), exact, atol=5 * drawn.std(0).max() / 2)
    assert _layer_shares.rows_for_shares(model, 3, 64) == 64


def test_the_law_of_tracy_and_widom_has_these_quantiles():
    """F(s) is the Fredholm determinant of 1 - Ai((x + y)/2)/2 on (s, infinity), by Gauss' rule."""
    nodes, at = np.polynomial.legendre.leggauss(60)
    for quantile, level in zip(TRACY_WIDOM, (0.5, 0.025, 0.975), strict=True):
        x, root = quantile + 8 * (nodes + 1), np.sqrt(8 * at)
        kernel = airy((x[:, None] + x) / 2)[0] / 2
        assert np.linalg.det(np.eye(60) - root[:, None] * kernel * root) == pytest.approx(level, abs=2e-5)


@pytest.mark.parametrize("shape", [(20, 10), (40, 400), (300, 150)])
def test_nulls_hold_95_percent_of_fresh_gaussian_matrices(shape):
    rng, inside, count = np.random.default_rng(2), 0, 0
    for seed in range(12):
        null = largest_by_chance(*shape, 3.0, seed)
        for _ in range(25):
            own = rng.normal(size=shape)
            value = 3 * np.linalg.norm(own, 2) / np.linalg.norm(own)
            inside += null.lower <= value <= null.upper
            count += 1
    # the ends of 39 drawn matrices hold 95 % in the mean over draws, with a standard deviation of 3.4 %
    assert abs(inside / count - 0.95) < 4 * (0.034**2 / 12 + 0.05 * 0.95 / count) ** 0.5


def test_numbers_of_a_layer_are_those_of_numpy():
    rng = np.random.default_rng(3)
    own, x = weights(rng), rng.normal(size=(40, 5))
    spiked = own | {"a": own["a"] + 20 * jnp.ones((5, 5))}
    trained = read_trained((network, spiked), x, rng.normal(size=(40, 3)), start=(network, own))
    table = layer_table(trained)
    a, c, b = table.layers
    assert (a.name, a.shape, b.name, c.shape) == ("a", [5, 5], "b", [5, 3])
    values = np.linalg.svd(spiked["a"], compute_uv=False)
    assert a.norm == pytest.approx(np.linalg.norm(spiked["a"]))
    assert a.spectral == pytest.approx(values[0])
    assert a.stable == pytest.approx((values**2).sum() / values[0] ** 2)
    assert (a.beyond, beside_null(a.spectral, a.spectral_null)) == (1, "above")
    assert beside_null(a.stable, a.stable_null) == "below"
    assert a.start_spectral == pytest.approx(np.linalg.norm(own["a"], 2))
    assert a.start_norm == pytest.approx(np.linalg.norm(own["a"]))
    assert sum(layer.share for layer in table.layers) == pytest.approx(1)
    assert sum(layer.start_share for layer in table.layers) == pytest.approx(1)
    assert b.spectral is None
    assert (table.rows, table.draws) == (32, 39)
    assert table == layer_table(trained)


def test_a_model_of_random_weights_lies_within_its_nulls():
    found = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 4])
        trained = read_trained((network, weights(rng, 5, 30)), rng.normal(size=(20, 5)), rng.normal(size=(20, 3)))
        for own in layer_table(trained).layers:
            pairs = [(own.spectral, own.spectral_null), (own.share, own.share_null)]
            found += [beside_null(*pair) != "" for pair in pairs if pair[1] is not None]
    assert sum(found) <= stats.binom.ppf(0.999, len(found), 0.05)


def test_shares_of_a_linear_model_do_not_depend_on_its_weights():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 4))
    y = np.argmax(x[:, :3] + rng.gumbel(size=(60, 3)), axis=1)
    found = lemmata.study_model(LogisticRegression().fit(x, y), x, y)
    frame = found.layers
    assert (frame["kernel_share_low"] - frame["kernel_share_high"]).abs().max() < 1e-12
    assert "kernel_share_outside" not in frame.columns
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record


def test_arrays_of_convolutions_are_unfolded_by_their_channels():
    rng = np.random.default_rng(6)
    torch_like, flax_like = rng.normal(size=(8, 4, 3, 3)), rng.normal(size=(3, 3, 4, 8))
    assert unfolded(torch_like).shape == (8, 36)
    assert unfolded(flax_like).shape == (36, 8)
    np.testing.assert_array_equal(unfolded(torch_like), unfolded(torch_like.transpose(2, 3, 1, 0)).T.reshape(8, 9, 4)
                                  .transpose(0, 2, 1).reshape(8, 36))  # fmt: skip


def test_the_largest_singular_value_of_a_large_matrix_is_found_alone(monkeypatch):
    own = np.random.default_rng(7).normal(size=(120, 50))
    whole, values = singular_values(own)
    np.testing.assert_allclose(values[::-1], np.linalg.svd(own, compute_uv=False))
    monkeypatch.setattr(_layers, "_WHOLE", 0)
    alone, none = singular_values(own)
    assert none is None
    assert alone == pytest.approx(whole, rel=1e-9)


def test_models_without_parameters_have_no_layers_and_without_time_no_spectra():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    assert layer_table(read_trained(RandomForestClassifier(3).fit(x, y), x, y)) is None
    trained = read_trained((network, weights(rng)), rng.normal(size=(20, 5)), rng.normal(size=(20, 3)))
    late = layer_table(trained, time.monotonic())
    assert late.draws == 0
    assert late.layers[0].spectral is None
    assert len(late.notes) == 2
    zero = read_trained((network, {k: 0 * v for k, v in weights(rng).items()}), trained.x, trained.y)
    assert layer_table(zero).layers[0].spectral is None


def test_documents_have_layers_too():
    tokens = np.random.default_rng(0).integers(0, 5, (30, 6))
    model = (lambda own, rows: own["table"][rows] @ own["out"]), {
        "table": jnp.asarray(np.random.default_rng(1).normal(size=(5, 3))), "out": jnp.ones((3, 5))}  # fmt: skip
    table = layer_table(read_trained(model, tokens, None))
    assert [own.name for own in table.layers] == ["out", "table"]
    assert sum(own.share for own in table.layers) == pytest.approx(1)
