"""Hinges and kinks against other routes, and bad input."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize

from lemmata.architectures import LeakyRelu, Serial, absolute, erf_network, fully_connected, relu_network
from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.approximation import hinges, kinks

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4))


def best_of_two_knots(x, y, free):
    """The least largest error of a continuous function with hinges at two of the places, by linear programs."""
    found = []
    for knots in itertools.combinations(free, 2):
        table = np.stack([np.ones_like(x), x, *(np.maximum(x - k, 0) for k in knots)], axis=1)
        bound = np.block([[table, -np.ones((len(x), 1))], [-table, -np.ones((len(x), 1))]])
        cost = np.append(np.zeros(4), 1.0)
        found.append(optimize.linprog(cost, A_ub=bound, b_ub=np.append(y, -y), bounds=[(None, None)] * 5).fun)
    return min(found)


def test_hinges_are_as_few_as_linear_programs_find():
    x = np.linspace(0, 1, 41)
    y = np.sin(5 * x)
    least = best_of_two_knots(x, y, np.linspace(0.05, 0.95, 37))
    enough, few = hinges(x, y, 1.02 * least), hinges(x, y, 0.5 * least)
    assert (enough.units, enough.fewest) == (2, 2)
    assert few.fewest > 2


@pytest.mark.parametrize("tolerance", [0.3, 0.02, 1e-3])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_network_of_hinges_is_within_the_tolerance(tolerance, noise):
    x = np.sort(RNG.uniform(-3, 7, 300))
    y = np.cos(2 * x) + noise * RNG.normal(size=300)
    found = hinges(pd.Series(x), pl.Series(y), tolerance)
    assert np.abs(found(x) - y).max() <= tolerance * (1 + 1e-6)
    assert found.error == pytest.approx(np.abs(found(x) - y).max(), rel=1e-6, abs=1e-9)
    assert found.fewest <= found.units == len(found.places)
    shuffled = RNG.permutation(300)
    assert hinges(x[shuffled], y[shuffled], tolerance).units == found.units


def test_hinges_of_parabolas_follow_the_curvature():
    x = np.linspace(0, 2, 4001)
    for pieces in (5, 20):
        found = hinges(x, 3 * x**2, 3 * 4 / (8 * pieces**2) * 1.001)
        assert found.units == found.fewest == pieces - 1
        assert found.predicted == pytest.approx(pieces - 1, rel=0.02)
    assert hinges(x, 2 * x + 1, 0.1).units == 0
    assert "layer" in found.plot().to_dict()


def test_repeated_places_and_bad_curves():
    twice = np.repeat(np.arange(5.0), 2)
    values = twice % 2 + np.tile([-0.1, 0.1], 5)
    found = hinges(twice, values, 0.15)
    assert np.abs(found(twice) - values).max() <= 0.15 + 1e-9
    with pytest.raises(DataError, match=r"differ by 0\.2; rule: at most twice the tolerance 0\.05; remedy: pass a tol"):
        hinges(twice, values, 0.05)
    with pytest.raises(SettingError, match="tolerance; found 0"):
        hinges([0, 1, 2], [0, 1, 2], 0)
    with pytest.raises(ShapeError, match="3 and 2 values"):
        hinges([0, 1, 2], [0, 1], 0.1)
    with pytest.raises(DataError, match="2 different places"):
        hinges([0, 1, 1], [0, 1, 1], 0.1)


def test_no_proof_fails_at_ties_of_decimals():
    # 3 - x passes every gate of width 2, and touches two of them
    assert (hinges(range(4), [4, 1, 2, 1], 1.0).fewest, hinges(range(4), [4, 1, 2, 1], 1.0).units) == (0, 0)
    halves = hinges(np.arange(10.0), [0, 1, 0, 0, 0, 0, 1, 0, 1, 0], 0.5)
    assert (halves.fewest, halves.units) == (0, 0)
    assert hinges([0, 0, 1, 2], [0.3, 0.9, 0.6, 0.6], 0.3).units == 0
    assert hinges(np.arange(7) / 10, np.array([3, 5, 0, 2, 2, 4, 4]) / 10, 0.05).fewest == 1


def test_a_tolerance_holds_if_every_place_is_repeated():
    twice = np.repeat(np.linspace(0, 1, 40), 2)
    values = np.sin(9 * twice) + np.tile([-0.1, 0.1], 40)
    for tolerance in (0.11, 0.15, 0.3):
        found = hinges(twice, values, tolerance)
        assert np.abs(found(twice) - values).max() <= tolerance * (1 + 1e-6)


def test_the_error_is_that_of_the_network_itself():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=300) ** 20, rng.normal(size=300)
    with pytest.raises(
        DataError, match=r"found a rounding error of .* in the network; rule: at most the tolerance 0\.01; remedy: pass"
    ):
        hinges(x, y, 0.01)
    smooth = np.linspace(0, 1, 101)
    for places, tolerance in [(smooth, 1e-300), (1e15 + np.arange(101), 0.05)]:
        with pytest.raises(DataError, match="a rounding error of"):
            hinges(places, np.sin(7 * smooth), tolerance)


def test_the_plot_of_many_points():
    x = np.linspace(0, 1, 12_001)
    shown = hinges(x, np.sin(7 * x), 1e-6).plot().to_dict()["layer"]
    assert 1000 < len(shown[0]["data"]["values"]) <= 2000
    assert len(shown[1]["data"]["values"]) > 100


def test_no_curvature_is_printed_as_0():
    assert "the curvature predicts about 0 units;" in str(hinges([0, 1, 2], [0, 1, 0], 0.5))


def test_the_function_takes_places_of_any_shape():
    found = hinges([0, 1, 2], [0, 1, 0], 0.1)
    x = np.linspace(-3, 5, 2400).reshape(2, 1200)
    pairs = zip(found.weights, found.places, strict=True)
    at = found.height + found.slope * x + sum(weight * np.maximum(x - place, 0) for weight, place in pairs)
    np.testing.assert_allclose(found(x), at)
    assert found(1.0) == pytest.approx(1.0, abs=0.1)
    assert found(pl.DataFrame(x.T[:5])).shape == (5, 2)


def test_the_units_of_places_and_values_do_not_matter():
    x = np.linspace(0, 1, 101)
    y = np.sin(7 * x)
    plain = hinges(x, y, 0.05)
    for wide, high in [(1e200, 1.0), (1e-200, 1.0), (1.0, 1e200), (1.0, 1e-200)]:
        found = hinges(x * wide, y * high, 0.05 * high)
        assert (found.units, found.fewest) == (plain.units, plain.fewest)
        assert found.predicted == pytest.approx(plain.predicted)
    for places, values, words in [(x * 1e-318, y, "x; found places within"), (x, y * 1.7e308, "y; found 1.7e")]:
        with pytest.raises(DataError, match=words):
            hinges(places, values, 0.05)


def test_curves_of_other_libraries_and_what_they_may_not_hold():
    torch = pytest.importorskip("torch")
    x = np.linspace(0, 1, 101)
    y = np.sin(7 * x)
    for given in (torch.tensor(y, requires_grad=True), y.astype(object), pd.Series(y, dtype="Float64")):
        found = hinges(torch.tensor(x, requires_grad=True), given, 0.05)
        assert found.units == hinges(x, y, 0.05).units
    with pytest.raises(DataError, match="x; found a list that is not an array"):
        hinges([[1, 2], [3]], [1, 2], 0.1)
    with pytest.raises(ShapeError, match=r"x; found shape \(101, 1\); rule: shape \(n,\)"):
        hinges(pd.DataFrame({0: x}), y, 0.05)
    with pytest.raises(DataError, match="x; found the entry 'a'"):
        found(["a"])
    assert str(hinges(x, np.abs(x - 0.5), 0.01)).startswith("1 ReLU unit fits 101 points")


def test_the_tolerance_of_the_remedy_is_enough():
    with pytest.raises(DataError, match="remedy: pass a tolerance of at least") as refused:
        hinges([0, 0, 1, 2], [0, 0.246913, 0, 0], 0.05)
    assert hinges([0, 0, 1, 2], [0, 0.246913, 0, 0], float(str(refused.value).split()[-1])).units <= 1


def check(found, network):
    """Against second differences on a grid that is as fine as it needs to be."""
    t = np.linspace(0, 1, 4001)
    values = network(A + t[:, None] * (B - A))
    ends = np.concatenate([[0.0], found.places, [1.0]])
    exact = network(A + ends[:, None] * (B - A))
    for own, at in zip(values.T, exact.T, strict=True):
        assert np.abs(np.interp(t, ends, at) - own).max() < 1e-5 * np.abs(values).max()
    bent = np.abs(np.diff(values, 2, axis=0)).max(axis=1) > 1e-3 * found.jumps.max(initial=0.0) / 4000
    seen = np.unique(np.searchsorted(t, found.places[found.jumps > 0.01 * found.jumps.max()]))
    assert bent[np.clip(seen - 2, 0, None)].sum() + bent[np.clip(seen - 1, 0, 3998)].sum() >= len(seen)
    assert np.allclose(found.points, A + found.places[:, None] * (B - A))
    assert found.pieces == len(found.places) + 1


@pytest.mark.parametrize("activation", [LeakyRelu(0.2), absolute()])
def test_kinks_of_networks_of_lemmata(activation, key):
    layers = fully_connected(activation, 2, 12, bias_std=0.3, outputs=2)
    network = Serial([Serial(layers.layers[:2]), *layers.layers[2:]])
    params, _ = network.init(key, 4)
    check(kinks(network, A, B, params=params), lambda x: np.asarray(network.apply(params, jnp.asarray(x))))


def test_kinks_of_equinox_networks(key):
    first, second = jax.random.split(key)
    mlp = eqx.nn.MLP(4, 3, 10, 2, key=first)
    check(kinks(mlp, A, B), lambda x: np.asarray(jax.vmap(mlp)(jnp.asarray(x))))
    scalar = eqx.nn.MLP(4, "scalar", 10, 2, activation=lambda t: jnp.maximum(t, 0.1 * t), key=second)
    found = kinks(eqx.nn.Sequential([scalar]), A, B)
    check(found, lambda x: np.asarray(jax.vmap(scalar)(jnp.asarray(x)))[:, None])
    assert len(found.expected) == 1


def test_kinks_of_pytorch_networks():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(4, 9),
        nn.ReLU(),
        nn.Dropout(),
        nn.Sequential(nn.Linear(9, 8), nn.BatchNorm1d(8), nn.PReLU(8)),
        nn.Linear(8, 2),
    ).double()
    with pytest.raises(SettingError, match=r"remedy: call network.eval\(\) first"):
        kinks(network, A, B)
    network = network.eval()
    check(kinks(network, torch.tensor(A), torch.tensor(B)), lambda x: network(torch.tensor(x)).detach().numpy())
    image = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 1))
    a, b = RNG.normal(size=(2, 1, 5, 5))
    assert kinks(image, a, b).widths == (18,)
    with pytest.raises(SettingError, match=r"layer 1 \(Hardtanh\) of the network"):
        kinks(nn.Sequential(nn.Linear(4, 3), nn.Hardtanh(), nn.Linear(3, 1)), A, B)


def test_a_unit_that_nobody_reads_is_no_kink():
    network = relu_network(1, 3)
    params = ({"weight": jnp.eye(3)[:, :2]}, (), {"weight": jnp.array([[1.0, 0.0, 1.0]])})
    found = kinks(network, [-1.0, -1.0], [1.0, 3.0], params=params)
    assert found.places.tolist() == [0.5]
    assert (found.crossings, found.units.tolist(), found.layers.tolist()) == ((2,), [0], [0])


def test_random_networks_cross_as_often_as_expected(key):
    network = relu_network(3, 200)
    counts = []
    for own in jax.random.split(key, 12):
        params, _ = network.init(own, 4)
        found = kinks(network, A, B, params=params)
        counts.append(found.crossings)
    assert np.allclose(np.mean(counts, axis=0), found.expected, rtol=0.15)


def test_networks_that_are_refused(key):
    mlp = eqx.nn.MLP(4, 2, 5, 1, key=key)
    for network, words in [
        (eqx.nn.MLP(4, 2, 5, 1, activation=jax.nn.gelu, key=key), "layer activation 0 of the network; found another"),
        (eqx.nn.MLP(4, 2, 5, 1, final_activation=jax.nn.sigmoid, key=key), "final activation"),
        (eqx.nn.MLP(4, 2, 5, 0, key=key), "an affine function"),
        (eqx.nn.Sequential([eqx.nn.Linear(4, 5, key=key), eqx.nn.LayerNorm(5)]), "layer LayerNorm of the network"),
        (eqx.nn.Linear(4, 2, key=key), "network; found Linear"),
        (erf_network(1, 5), "remedy: pass params="),
    ]:
        with pytest.raises(SettingError, match=words):
            kinks(network, A, B)
    with pytest.raises(SettingError, match="None, except for lemmata's own networks"):
        kinks(mlp, A, B, params={})
    with pytest.raises(ShapeError, match=r"found inputs of shape \(3,\)"):
        kinks(mlp, A[:3], B[:3])
    with pytest.raises(ShapeError, match=r"b; found shape \(3,\)"):
        kinks(mlp, A, B[:3])
    with pytest.raises(DataError, match="two equal inputs"):
        kinks(mlp, A, A)


def test_layers_that_bend_again_on_the_way_are_refused(key):
    cut = eqx.nn.MLP(4, 2, 8, 1, activation=lambda x: jnp.clip(x, 0, 100), key=key)
    plain = eqx.nn.MLP(4, 2, 8, 1, key=key)
    assert kinks(cut, A, B).places.tolist() == pytest.approx(kinks(plain, A, B).places.tolist())
    with pytest.raises(SettingError, match="layer activation 0 of the network; found another function"):
        kinks(cut, 1e4 * A, -1e4 * B)
    narrow = eqx.nn.MLP(4, 2, 8, 1, activation=lambda x: jnp.clip(x, -1000, 1000), key=key)
    with pytest.raises(SettingError, match="found an affine function"):
        kinks(narrow, A, B)


def test_torch_layers_whose_function_is_not_fixed():
    nn = pytest.importorskip("torch").nn
    for layer, words in [
        (nn.BatchNorm1d(8), r"remedy: call network.eval\(\) first"),
        (nn.Dropout(0.5), r"remedy: call network.eval\(\) first"),
        (nn.BatchNorm1d(8, track_running_stats=False), "remedy: replace BatchNorm1d, which has no running means"),
    ]:
        network = nn.Sequential(nn.Linear(4, 8), layer, nn.ReLU(), nn.Linear(8, 1)).eval()
        layer.train(layer.__class__ is nn.Dropout or "eval" in words)
        with pytest.raises(SettingError, match=words):
            kinks(network, A, B)
    with pytest.raises(ShapeError, match="LSTM returns a tuple"):
        kinks(nn.Sequential(nn.LSTM(4, 3)), A, B)


def test_torch_networks_far_from_the_origin():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    network = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 40), nn.ReLU(), nn.Linear(40, 1))
    network[0].running_mean.fill_(1e4)
    network[0].running_var.fill_(1e-4)
    a, b = 1e4 + 0.01 * A, 1e4 + 0.01 * B
    places = kinks(network.eval(), a, b).places
    assert {own.dtype for own in network.parameters()} == {torch.float32}
    assert places.tolist() == pytest.approx(kinks(network.double(), a, b).places.tolist(), abs=1e-6)


def test_a_torch_module_that_is_used_twice():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    act, middle = nn.ReLU(), nn.Linear(9, 9)
    network = nn.Sequential(nn.Linear(4, 9), act, middle, act, nn.Sequential(middle, act), nn.Linear(9, 2)).double()
    found = kinks(network, A, B)
    assert found.widths == (9, 9, 9)
    check(found, lambda x: network(torch.tensor(x)).detach().numpy())


def test_weights_that_are_not_finite_or_of_half_precision():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with pytest.raises(PrecisionError, match="network; found weights of type bfloat16"):
        kinks(network.bfloat16(), A, B)
    network = network.float()
    for value in (np.nan, np.inf):
        nn.init.constant_(network[0].bias, value)
        with pytest.raises(DataError, match=r"layer 0 \(Linear\) of the network; found weights that are not finite"):
            kinks(network, A, B)


def test_params_and_dropout_that_do_not_fit(key):
    network = relu_network(2, 8)
    params, _ = network.init(key, 4)
    for own, words in [
        ({}, "params; found a dict"),
        (params[:2], "params; found 2 entries; rule: one entry for each of"),
    ]:
        with pytest.raises(SettingError, match=words):
            kinks(network, A, B, params=own)
    with pytest.raises(SettingError, match="a dictionary with the matrix 'weight'"):
        kinks(network, A, B, params=((), *params[1:]))
    dropout = eqx.nn.Sequential([eqx.nn.Linear(4, 5, key=key), eqx.nn.Dropout(), eqx.nn.Lambda(jax.nn.relu)])
    with pytest.raises(SettingError, match=r"remedy: pass equinox.nn.inference_mode\(network\)"):
        kinks(dropout, A, B)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e29])
def test_kinks_without_biases_depend_on_no_unit(unit, key):
    network = relu_network(2, 8)
    params, _ = network.init(key, 4)
    plain, found = kinks(network, A, B, params=params), kinks(network, unit * A, unit * B, params=params)
    assert found.places.tolist() == pytest.approx(plain.places.tolist())
    assert found.expected == pytest.approx(plain.expected)
    with pytest.raises(DataError, match=r"a and b; found .* as the largest absolute value"):
        kinks(network, 1e200 * A, B, params=params)


def test_inputs_of_other_types(key):
    network = eqx.nn.MLP(4, 2, 8, 2, key=key)
    plain = kinks(network, A, B).places.tolist()
    assert kinks(network, A.astype(object), pd.Series(B, dtype="Float64")).places.tolist() == plain
    with pytest.raises(DataError, match="a; found a list that is not an array"):
        kinks(network, [[1], [2, 3]], B)
