"""The tools on queries: against full Jacobians, exact coefficients and known directions, and on bad input."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.functions import cube
from lemmata.subjects.queries import filtered_pca, gradient_signal, information_exponent


def _network(d):
    x = cube(d)
    keys = jax.random.split(jax.random.key(1), 2)
    params = {"inner": jax.random.normal(keys[0], (d, 5)), "outer": jax.random.normal(keys[1], (5,))}
    return (lambda p: jnp.tanh(x @ p["inner"]) @ p["outer"]), params


def test_the_signal_is_that_of_the_full_jacobian():
    outputs, params = _network(4)
    family = np.random.default_rng(0).normal(size=(7, 16))
    found = gradient_signal(outputs, params, family)
    parts = jax.jacrev(outputs)(params)
    jacobian = np.concatenate([np.asarray(parts[name]).reshape(16, -1) for name in ("inner", "outer")], axis=1)
    gradients = (np.asarray(outputs(params)) - family) @ jacobian / 16
    assert found.signal == pytest.approx(gradients.var(axis=0).sum(), rel=1e-12)
    assert found.common == pytest.approx(np.linalg.norm(gradients.mean(axis=0)), rel=1e-12)
    assert found.parts["outer"] == pytest.approx(gradients[:, -5:].var(axis=0).sum() / found.signal, rel=1e-10)
    assert found.steps(0.2, 0.5) == pytest.approx(0.04 / found.signal)
    sampled = gradient_signal(outputs, params, family, sampled=True)
    assert sampled.signal == pytest.approx(gradients.var(axis=0, ddof=1).sum(), rel=1e-12)
    assert sampled.interval[0] < sampled.signal < sampled.interval[1]


def test_all_parities_are_as_visible_as_random_signs():
    outputs, params = _network(5)
    x = np.asarray(cube(5))
    sets = [list(chosen) for k in range(6) for chosen in itertools.combinations(range(5), k)]
    found = gradient_signal(outputs, params, np.stack([x[:, chosen].prod(axis=1) for chosen in sets]))
    squares = sum(np.sum(np.asarray(part) ** 2) for part in jax.tree.leaves(jax.jacrev(outputs)(params)))
    assert found.signal == pytest.approx(squares / 32**2, rel=0.05)  # less the mean target, a point mass
    assert found.random == pytest.approx(squares / 32**2, rel=0.2)
    assert "times that of random signs" in str(found)
    assert "<pre" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"outputs": 3}, SettingError),
        ({"targets": np.ones(16)}, ShapeError),
        ({"targets": np.ones((1, 16))}, DataError),
        ({"targets": np.ones((2, 15))}, ShapeError),
        ({"targets": np.full((2, 16), np.nan)}, DataError),
        ({"sampled": "yes"}, SettingError),
        ({"level": 1.0}, SettingError),
    ],
)
def test_bad_families(change, error):
    outputs, params = _network(4)
    given = {"outputs": outputs, "targets": np.eye(16)[:3], **change}
    with pytest.raises(error):
        gradient_signal(given.pop("outputs"), params, given.pop("targets"), **given)


def test_directions_of_a_triple_product():
    """No linear or quadratic function correlates with the product of three coordinates of a rotated, scaled input."""
    rng = np.random.default_rng(2)
    z, mix = rng.normal(size=(4000, 6)), rng.normal(size=(6, 6))
    found = filtered_pca(z @ mix, z[:, 0] * z[:, 1] * z[:, 2])
    assert found.directions.shape == (6, 3)
    assert not found.correlation
    ways = (mix @ found.directions) / np.linalg.norm(mix @ found.directions, axis=0)  # of z
    assert np.linalg.norm(ways[3:], axis=0).max() < 0.2
    assert "no correlation with the label finds a direction" in str(found)
    assert "eigenvalue" in str(found.plot().to_dict())


def test_noise_has_no_direction():
    rng = np.random.default_rng(3)
    found = filtered_pca(rng.normal(size=(500, 4)), rng.normal(size=500), {"cube": lambda y: y**3})
    assert found.directions.shape == (4, 0)
    assert [own.name for own in found.results] == ["label", "cube"]


def test_a_data_frame_and_a_linear_label():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    x = rng.normal(size=(800, 3))
    found = filtered_pca(pandas.DataFrame(x), pandas.Series(x[:, 2] + rng.normal(size=800)))
    assert found.correlation
    assert found.linear_p < 1e-6
    assert abs(found.directions[2, 0]) > 0.9


@pytest.mark.parametrize(
    ("x", "y", "filters", "error"),
    [
        (np.ones((50, 2)), np.arange(50.0), None, DataError),
        (np.arange(50.0), np.arange(50.0), None, ShapeError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.ones(50), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.ones(49), None, ShapeError),
        (np.random.default_rng(0).normal(size=(50, 9)), np.arange(50.0), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 1)) * np.ones((1, 2)), np.arange(50.0), None, DataError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": 1}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": lambda y: y > 99}, SettingError),
        (np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0), {"a": lambda y: y[1:]}, ShapeError),
    ],
)
def test_bad_rows(x, y, filters, error):
    with pytest.raises(error):
        filtered_pca(x, y, filters)


def test_coefficients_of_a_relu():
    x = np.random.default_rng(5).normal(size=(40_000, 3)) * [1.0, 2.0, 5.0] + 1.0
    found = information_exponent(x, np.maximum(x[:, 1] - 1.0, 0.0), np.array([0.0, 3.0, 0.0]))
    exact = 2 * np.array([0.5, 1 / math.sqrt(4 * math.pi), 0.0, -1 / math.sqrt(48 * math.pi)])
    assert found.coefficients == pytest.approx(exact, abs=0.05)
    assert ((found.intervals[:, 0] <= exact) & (exact <= found.intervals[:, 1])).all()
    assert found.exponent == 1
    assert found.samples == 3.0


def test_an_even_link_has_exponent_2_and_a_cubic_one_1_after_a_filter():
    x = np.random.default_rng(6).normal(size=(4000, 8))
    z = x[:, 0]
    even = information_exponent(x, z**2, np.eye(8)[0])
    assert even.exponent == 2
    assert even.samples == pytest.approx(8 * math.log(8))
    assert even.label_exponent == 2
    cubic = information_exponent(x, z**3 - 3 * z, np.eye(8)[0])
    assert cubic.exponent == 3
    assert cubic.samples == 64
    assert cubic.label_exponent == 1
    assert "with a filter of the label, the exponent is 1" in str(cubic)
    other = information_exponent(x, z**3 - 3 * z, np.eye(8)[1])
    assert other.exponent is None
    assert other.samples is None


@pytest.mark.parametrize(
    ("rows", "direction", "options", "error"),
    [
        (200, np.ones(3), {}, ShapeError),
        (200, np.zeros(2), {}, DataError),
        (200, np.ones(2), {"degrees": 9}, SettingError),
        (200, np.ones(2), {"level": 0}, SettingError),
        (50, np.ones(2), {}, DataError),
    ],
)
def test_bad_directions(rows, direction, options, error):
    x = np.random.default_rng(0).normal(size=(rows, 2))
    with pytest.raises(error):
        information_exponent(x, x[:, 0], direction, **options)


def test_tables_of_several_types_and_tensors():
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(300, 3))
    y, way = x[:, 0] ** 2 + x[:, 1], [1.0, 0.0, 0.0]
    frame = pandas.DataFrame(x, dtype=object)
    tensors = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    for inputs, labels in ((frame, pandas.Series(y, dtype=object)), tensors):
        np.testing.assert_array_equal(filtered_pca(inputs, labels).directions, filtered_pca(x, y).directions)
        assert information_exponent(inputs, labels, way).exponent == information_exponent(x, y, way).exponent
    outputs, params = _network(4)
    family = torch.tensor(np.eye(16)[:3], requires_grad=True)
    assert gradient_signal(outputs, params, family).signal == gradient_signal(outputs, params, np.eye(16)[:3]).signal
    with pytest.raises(DataError, match="the entry 'a'"):
        filtered_pca(frame.assign(text="a"), y)
    with pytest.raises(DataError, match="equally long rows"):
        information_exponent([[1.0], [1.0, 2.0]], [1.0, 2.0], way)


@pytest.mark.parametrize(("of_x", "of_y"), [(1e200, 1.0), (1e-200, 1.0), (1.0, 1e200), (1.0, 1e-200)])
def test_units_do_not_matter(of_x, of_y):
    x = np.random.default_rng(0).normal(size=(2000, 3))
    y, way = x[:, 0] ** 2 + x[:, 1], np.array([1.0, 0.0, 0.0])
    plain, scaled = filtered_pca(x, y), filtered_pca(of_x * x, of_y * y)
    np.testing.assert_allclose(scaled.directions, plain.directions, atol=1e-9)
    assert scaled.linear_p == pytest.approx(plain.linear_p)
    one, other = information_exponent(x, y, way), information_exponent(of_x * x, of_y * y, way)
    assert (one.exponent, one.label_exponent) == (other.exponent, other.label_exponent)
    np.testing.assert_allclose(other.coefficients, of_y * one.coefficients, rtol=1e-9)
    assert max(map(len, str(other).splitlines())) < 100
    assert f"{of_y * one.coefficients[1]:.3g}"[:3] in str(other)


def test_two_equally_frequent_labels():
    """All deviations of such labels are equal, so that the filter "square" would not vary."""
    x = np.random.default_rng(0).normal(size=(1000, 3))
    found = filtered_pca(x, np.abs(x[:, 0]) > np.median(np.abs(x[:, 0])))
    assert found.best == "label"
    assert abs(found.directions[0, 0]) > 0.9
    assert "square" not in [own.name for own in found.results]


def test_a_weak_linear_label_is_said():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 8))
    found = filtered_pca(x, 0.25 * x[:, 0] + rng.normal(size=800))
    assert (found.directions.shape[1], found.correlation) == (0, True)
    assert "linear functions correlate with the label" in str(found)


def _fails(y):
    raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"a": _fails}, "filter 'a'; found ValueError: two lines"),
        ({"label": abs}, "rename it"),
        ([], "a dictionary"),
        ({"a": lambda y: np.full(len(y), 1e-200)}, "one value"),
    ],
)
def test_bad_filters(filters, words):
    x = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(SettingError, match=words):
        filtered_pca(x, x[:, 0], filters)


def test_a_filter_cannot_change_the_labels():
    x = np.random.default_rng(0).normal(size=(50, 2))
    y = x[:, 0] + 3.0
    filtered_pca(x, y, {"a": lambda own: own.__isub__(own.mean())})
    np.testing.assert_array_equal(y, x[:, 0] + 3.0)


def test_high_levels_can_be_reached():
    """With 499 permutations, no p-value is below 1/500, and 0.001/4 was never reached."""
    x = np.random.default_rng(0).normal(size=(2000, 3))
    assert information_exponent(x, x[:, 0], np.eye(3)[0], level=0.999).exponent == 1
    with pytest.raises(SettingError, match="a lower level"):
        information_exponent(x, x[:, 0], np.eye(3)[0], level=0.99999)


def test_a_filter_of_noise_rarely_has_an_exponent():
    rng = np.random.default_rng(0)
    found = [information_exponent(rng.normal(size=(100, 1)), rng.normal(size=100), [1.0]) for _ in range(300)]
    assert np.mean([own.label_exponent is not None for own in found]) <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("outputs", "params", "words"),
    [
        (lambda p: p, np.ones(16, int), "params; found an array of type int64"),
        (lambda p: p["b"], {"a": np.ones(16)}, "outputs; found KeyError"),
        (lambda p: p["a"], {"a": np.ones(16), "b": jnp.tanh}, "params; found a leaf"),
        (lambda p: np.ones(16), {}, "no parameters"),
    ],
)
def test_bad_models(outputs, params, words):
    with pytest.raises((DataError, SettingError), match=words):
        gradient_signal(outputs, params, np.eye(16)[:3])


def test_equal_targets_and_a_model_without_gradient():
    outputs, params = _network(4)
    with pytest.raises(DataError, match="different targets"):
        gradient_signal(outputs, params, np.ones((3, 16)))
    assert "nan" not in str(gradient_signal(lambda p: 0 * outputs(p), params, np.eye(16)[:3]))
    with pytest.raises(DataError, match="scale the targets"):
        gradient_signal(outputs, params, 1e200 * np.eye(16)[:3])


def test_a_signal_of_rounding_alone_is_0():
    """A linear model sees no parity of two or more inputs: its gradient is 0 in exact arithmetic."""
    x = cube(6)
    parities = jnp.stack([x[:, i] * x[:, j] for i in range(6) for j in range(i)])
    turn = jnp.linalg.qr(jax.random.normal(jax.random.key(1), (6, 6)))[0]  # sums of many numbers that cancel
    found = gradient_signal(lambda w: x @ turn @ w, jax.random.normal(jax.random.key(0), (6,)), parities)
    assert found.signal == 0
    assert found.steps(1.0) == math.inf
    assert "no target changes the gradient" in str(found)
    seen = gradient_signal(lambda w: x @ w, jnp.zeros(6), x.T)
    assert seen.signal == pytest.approx(1 - 1 / 6)


@pytest.mark.parametrize("values", [[-1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 1.0]])
def test_labels_that_determine_a_projection_of_few_values(values):
    x = np.random.default_rng(0).choice(values, size=(400, 3))
    found = information_exponent(x, np.exp(x[:, 1]), np.eye(3)[1])
    assert found.label_exponent == 1
    assert np.isfinite(found.label_p_values).all()
