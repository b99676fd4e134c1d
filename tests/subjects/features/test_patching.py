"""Patching of functions: against truth tables, Shapley values over all orders, and a second run by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError
from lemmata.subjects.features import patching_report
from lemmata.subjects.features._patching import shapley_values

NAMES = ["a", "b", "c", "d"]


def _circuit(rule):
    """A Boolean function of the entries of the input, one site each."""
    return lambda x, site: rule(*(site(name, value) for name, value in zip(NAMES, x, strict=False)))


def _by_orders(value, sites):
    """Shapley values by all orders in which sites are restored."""
    total = dict.fromkeys(sites, 0.0)
    orders = list(itertools.permutations(sites))
    for order in orders:
        for place, site in enumerate(order):
            total[site] += value(frozenset(order[: place + 1])) - value(frozenset(order[:place]))
    return [total[site] / len(orders) for site in sites]


@pytest.mark.parametrize(
    ("rule", "restore", "ablate", "reading"),
    [
        (lambda a, b, c: max(a, b, c), [1, 1, 1], [0, 0, 0], "can replace each other"),
        (lambda a, b, c: min(a, b, c), [0, 0, 0], [1, 1, 1], "need each other"),
        (lambda a, b, c: a + b + c, [1, 1, 1], [1, 1, 1], "add up"),
        (lambda a, b, c: max(a, min(b, c)), [1, 0, 0], [0, 0, 0], "can replace"),
        (lambda a, b, c: 0.0 * a, [0, 0, 0], [0, 0, 0], "no effect"),
    ],
)
def test_circuits_by_their_truth_tables(rule, restore, ablate, reading):
    found = patching_report(_circuit(rule), (1.0,) * 3, (0.0,) * 3, NAMES[:3])
    assert found.restore.tolist() == restore
    assert found.ablate.tolist() == ablate
    table = lambda chosen: rule(*(float(name in chosen) for name in NAMES[:3]))
    assert found.shapley == pytest.approx(_by_orders(table, NAMES[:3]))
    assert found.restore_all == found.ablate_all == rule(1.0, 1.0, 1.0)
    assert found.gaps == (found.restore_all - sum(restore), found.ablate_all - sum(ablate))
    assert reading in str(found)
    assert found.intervals == {}
    assert found.claims == ("features.circuits.redundancy",)


def test_shapley_values_of_random_games_are_those_over_all_orders():
    values = np.random.default_rng(0).normal(size=(32, 2))
    found = shapley_values(values)
    for column in range(2):
        value = lambda chosen, column=column: values[sum(1 << site for site in chosen), column]
        assert found[:, column] == pytest.approx(_by_orders(value, range(5)))
    assert found.sum(axis=0) == pytest.approx(values[-1] - values[0])


def _jax_network(key):
    keys = jax.random.split(key, 3)
    first, second, last = (
        jax.random.normal(own, shape) for own, shape in zip(keys, [(4, 6), (4, 6), (6,)], strict=True)
    )

    def model(x, site):
        one = site("tanh", jnp.tanh(x @ first))
        two = site("relu", {"h": jax.nn.relu(x @ second)})["h"]
        return (site("sum", one + two) * one) @ last

    return model


def test_a_function_of_jax(key):
    model = _jax_network(key)
    x, y = jax.random.normal(key, (2, 5, 4))
    found = patching_report(model, x, y, ["tanh", "relu", "sum"])
    stored = {}
    model(x, lambda name, value: stored.setdefault(name, value))
    value = lambda chosen: float(model(y, lambda name, own: stored[name] if name in chosen else own).mean())
    assert found.shapley == pytest.approx(_by_orders(value, ["tanh", "relu", "sum"]), rel=1e-4, abs=1e-5)
    assert found.restore[1] == pytest.approx(value({"relu"}) - value(set()), rel=1e-4, abs=1e-5)
    assert found.clean == pytest.approx(float(model(x, lambda name, own: own).mean()), rel=1e-5)
    assert found.restore_all == pytest.approx(found.clean - found.corrupt, rel=1e-4)
    assert found.rows == 5
    low, high = found.intervals["shapley"].T
    assert ((low < found.shapley) & (found.shapley < high)).all()
    per_row = shapley_values(found.sets)
    reach = 2.776 * per_row[0].std(ddof=1) / np.sqrt(5)
    assert high[0] - found.shapley[0] == pytest.approx(reach, rel=1e-3)
    fewer = patching_report(model, x, y, "relu", shapley=False)
    assert fewer.shapley is None
    assert fewer.sets is None
    assert fewer.restore == pytest.approx(found.restore[1:2], rel=1e-4, abs=1e-5)
    assert "fails" in str(fewer)  # one site does not carry everything
    assert "site" in str(found.plot().to_dict())
    assert "<pre" in found._repr_html_()


def test_functions_that_change_their_values_in_place():
    """NumPy and PyTorch functions: what is recorded is what was at the site, and the inputs stay as they are."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for make in (np.array, torch.tensor):
        clean, corrupt = (make(rng.normal(size=(4, 3))) for _ in range(2))
        before = clean.tolist()

        def model(x, site):
            h = site("first", x)
            h += 1
            h = site("second", [h])[0]
            h *= 2
            return h.sum(1)

        report = patching_report(model, clean, corrupt, ["first", "second"])
        apart = 2 * float((clean - corrupt).sum(1).mean())
        assert np.allclose(report.restore, apart)
        assert np.allclose(report.ablate, apart)
        assert np.allclose(report.shapley, apart / 2)
        assert clean.tolist() == before


def test_chance_that_compilation_would_freeze():
    calls = []

    def counting(x, site):
        calls.append(1)
        return site("one", x[:, 0]) + len(calls)

    with pytest.raises(DataError, match="equal outputs in two runs on the same input"):
        patching_report(counting, jnp.ones((2, 2)), jnp.zeros((2, 2)), ["one"])


def test_outputs_whose_squares_overflow():
    model = lambda x, site: site("one", x[:, 0]) - site("other", x[:, 1])
    clean, corrupt = np.array([[1.0, 0.0], [3.0, 1.0]]), np.zeros((2, 2))
    plain, huge = (patching_report(model, u * clean, u * corrupt, ["one", "other"]) for u in (1.0, 1e200))
    for name, own in plain.intervals.items():
        assert np.allclose(huge.intervals[name] / 1e200, own)
    assert all(len(line.split()) == 4 for line in str(huge).splitlines()[1:5])
