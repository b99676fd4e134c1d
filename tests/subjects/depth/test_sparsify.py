"""Sparsified networks against the networks themselves, brute force and bounds; what is refused."""

from types import SimpleNamespace

import numpy as np
import pandas
import polars
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.depth import sparsify


@pytest.fixture
def wide():
    rng = np.random.default_rng(4)
    inner, weights = rng.normal(size=(3, 40)), rng.normal(size=40)
    return (lambda x: np.maximum(x @ inner, 0.0), weights, 0.5), rng.normal(size=(150, 3))


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_all_units_of_a_fitted_network(activation):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    network = MLPRegressor(hidden_layer_sizes=(12,), activation=activation, max_iter=20, random_state=0)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        network.fit(x, y)
    alive = (x @ network.coefs_[0] + network.intercepts_[0]).max(axis=0) > 0 if activation == "relu" else np.ones(12)
    few = sparsify(network, x, int(alive.sum()))
    assert few.error == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(few(x), network.predict(x), atol=1e-6)
    assert sorted(few.units) == np.flatnonzero(alive).tolist()


def test_errors_are_those_of_the_few_units(wide):
    network, x = wide
    output = network[0](x) @ network[1] + network[2]
    for units in (1, 4, 10):
        few = sparsify(network, x, units)
        assert few.error == pytest.approx(np.sqrt(np.mean((few(x)[:, 0] - output) ** 2)))
        assert few.error <= few.bound
        assert few.size == pytest.approx(np.sqrt(np.mean((output - 0.5) ** 2)))
        assert (np.diff(few.path) <= 1e-12).all()
        assert few.enough(few.bound) == units


def test_the_first_unit_by_brute_force(wide):
    network, x = wide
    outputs = network[0](x)
    sizes = np.sqrt((outputs**2).mean(axis=0))
    atoms = outputs / sizes * np.sign(network[1]) * (sizes * np.abs(network[1])).sum()
    first = ((atoms - (outputs @ network[1])[:, None]) ** 2).mean(axis=0).argmin()
    assert sparsify(network, x, 1).units.tolist() == [first]


def test_a_kernel_expansion_with_several_outputs():
    rng = np.random.default_rng(2)
    centres, weights = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    kernel = lambda x: np.exp(-((x[:, None] - centres) ** 2).sum(axis=2))
    few = sparsify((kernel, weights), centres, 20)
    assert few.weights.shape == (20, 3)
    assert few.error < few.bound
    assert few.error < 0.5 * few.size


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_rows_of_a_data_frame(wide, frame):
    network, x = wide
    assert sparsify(network, frame(x), 5).error == sparsify(network, x, 5).error


def test_what_is_printed(wide):
    network, x = wide
    few = sparsify(network, x, 5)
    assert str(few).startswith("5 of 40 units leave the error ")
    assert "vacuous, because" in few._repr_html_()
    positive = sparsify((network[0], np.abs(network[1])), x, 20)
    assert not positive.vacuous
    assert "\nproved: at most" in str(positive)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"units": 0}, SettingError, "units; found 0"),
        ({"units": 41}, SettingError, "at most the 40 units"),
        ({"network": 3}, SettingError, "network; found int"),
        (
            {"network": SimpleNamespace(coefs_=[0, 0, 0], intercepts_=[0, 0, 0], activation="relu")},
            SettingError,
            "2 hidden layers",
        ),
        ({"network": (lambda x: x, np.ones(7))}, ShapeError, "outputs of the hidden units"),
        ({"network": (lambda x: x, np.ones((3, 1, 1)))}, ShapeError, "weights; found shape"),
        ({"network": (lambda x: x, np.asarray([1.0, np.nan, 1.0]))}, DataError, "weights"),
        ({"network": (lambda x: x / 0, np.ones(3))}, DataError, "outputs of the hidden units"),
        ({"network": (lambda x: x, np.ones(3), np.ones(2))}, ShapeError, "intercept"),
        ({"x": 3.0}, ShapeError, "at least one row"),
        ({"x": [[1.0], [2.0, 3.0]]}, DataError, "x; found a list that is not an array"),
        ({"network": (lambda x: x, np.ones(3), np.nan)}, DataError, "intercept; found 1 entries that are not finite"),
        ({"network": (lambda x: x, np.ones(3), "a")}, DataError, "intercept; found the entry 'a'"),
        ({"network": (lambda x: x + 1j, np.ones(3))}, DataError, "outputs of the hidden units; .* complex128"),
        ({"network": (lambda x: x, np.zeros(3))}, DataError, "network; found output 0 of all units on these rows"),
        ({"network": (lambda x: x, np.full(3, 1e200))}, DataError, r"products of up to .*e.199; .*: change the unit"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused(wide, change, error, message):
    network, x = wide
    with pytest.raises(error, match=message):
        sparsify(**({"network": network, "x": x, "units": 3} | change))


def test_a_tolerance_must_be_positive(wide):
    with pytest.raises(SettingError, match="tolerance"):
        sparsify(*wide, 3).enough(0.0)


def test_the_plot_shows_the_errors_and_the_bound(wide):
    few = sparsify(*wide, 4)
    shown = few.plot().to_dict()["data"]["values"]
    errors = [row["y"] for row in shown if row["name"] == "measured"]
    assert errors == pytest.approx(few.path.tolist())
    assert shown[-1] == {"x": 4, "y": pytest.approx(few.bound), "name": "bound"}


def test_tensors_that_collect_gradients(wide):
    torch = pytest.importorskip("torch")
    (hidden, weights, _), x = wide
    units = lambda rows: torch.tensor(hidden(rows), requires_grad=True)
    few = sparsify((units, torch.tensor(weights, requires_grad=True)), torch.tensor(x, requires_grad=True), 5)
    assert few.error == sparsify((hidden, weights), x, 5).error


@pytest.mark.parametrize("classifier", [False, True])
def test_columns_and_outputs_of_networks_of_scikit_learn(classifier):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    of = MLPClassifier if classifier else MLPRegressor
    network = of(hidden_layer_sizes=(12,), max_iter=5, random_state=0)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        network.fit(x, y > 0 if classifier else y)
    if classifier:
        with pytest.raises(
            SettingError, match="found a MLPClassifier with 'logistic' of the outputs; rule: outputs that"
        ):
            sparsify(network, x, 3)
        return
    few = sparsify(network, x, 3)
    for rows, error, words in [
        (x[:, :1], ShapeError, r"x; found shape \(80, 1\); rule: shape \(n, 2\), the columns of the network"),
        ([["a", "b"]], DataError, "x; found the entry 'a'"),
        (x[0], ShapeError, "x; found shape"),
    ]:
        for use in (few, lambda own: sparsify(network, own, 1)):
            with pytest.raises(error, match=words):
                use(rows)


def test_units_of_very_different_sizes(wide):
    (hidden, weights, _), x = wide
    sizes = np.logspace(-200, 200, 40)
    few = sparsify((lambda rows: hidden(rows) * sizes, weights / sizes), x, 10)
    assert few.error == pytest.approx(sparsify((hidden, weights), x, 10).error)


def test_an_output_of_0_is_printed():
    x = np.random.default_rng(0).normal(size=(20, 1))
    few = sparsify((lambda rows: np.repeat(rows, 2, axis=1), [1.0, -1.0]), x, 1)
    assert str(few).startswith("1 of 2 units leave the error 0, the network's output 0, on 20 rows\nvacuous")


def test_positive_weights_are_not_said_to_cancel():
    kernel = lambda x: np.exp(-100 * (x - np.linspace(0, 1, 40)) ** 2)
    x = np.random.default_rng(0).uniform(size=(100, 1))
    assert "vacuous, because the network's output is not larger: at most" in str(sparsify((kernel, np.ones(40)), x, 1))
    assert "- different rows for each unit: fails (5)" not in str(sparsify((kernel, np.ones(40)), x, 20))
    assert "- different rows for each unit: fails (4)" in str(sparsify((kernel, np.ones(40)), x, 25))


def test_too_small_tolerances_are_refused(wide):
    with pytest.raises(SettingError, match="tolerance; found 1e-200; rule: above"):
        sparsify(*wide, 3).enough(1e-200)
