"""Comparisons: the expected best against enumeration, luck under the null, and real differences."""

import itertools

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lemmata.errors import SettingError
from lemmata.subjects.optimisers import OptimiserComparison, compare_optimisers, expected_best
from lemmata.subjects.optimisers._compare import _luck

RATES = {"learning_rate": (1e-3, 1e-1)}


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_the_expected_best_is_the_mean_over_all_subsets(k):
    losses = np.random.default_rng(k).normal(size=6)
    found = np.mean([min(subset) for subset in itertools.combinations(losses, k)])
    assert expected_best(losses, k) == pytest.approx(found, rel=1e-12)


def test_a_diverged_trial_does_not_spoil_the_best_of_two():
    assert expected_best(np.array([1.0, np.inf, 2.0]), 2) == pytest.approx((1 + 1 + 2) / 3)
    assert expected_best(np.array([1.0, np.inf]), 1) == np.inf


def test_luck_is_a_probability_under_the_null():
    rng = np.random.default_rng(0)
    levels = [_luck({name: rng.exponential(size=12) for name in "abc"}, 12, rng) for _ in range(60)]
    # 60 draws of a uniform number: at most 14 are below 0.1 but with probability 1e-3
    assert sum(level <= 0.1 for level in levels) <= 14
    assert 0.3 < np.mean(levels) < 0.7


def loss(w):
    return jnp.sum(jnp.geomspace(1.0, 1e4, 8) * (w - 1) ** 2)


def test_a_real_difference_is_no_luck():
    found = compare_optimisers(loss, jnp.zeros(8), {"adam": (optax.adam, RATES), "sgd": (optax.sgd, RATES)}, trials=12)
    assert found.order == ["adam", "sgd"]
    assert found.luck < 0.02
    assert np.isinf(found.losses["sgd"]).any()
    assert found.state_bytes["adam"] > found.state_bytes["sgd"]
    assert "best of 6" in str(found)


def test_the_best_trial_is_reproduced_and_the_curve_falls():
    found = compare_optimisers(
        loss, jnp.zeros(8), {"adam": (optax.adam, RATES), "lion": (optax.lion, RATES)}, trials=5, steps=40
    )
    method, at = optax.adam(**found.best("adam")), jnp.zeros(8)
    state = method.init(at)
    for _ in range(40):
        slope = 2 * jnp.geomspace(1.0, 1e4, 8) * (at - 1)
        update, state = method.update(slope, state)
        at = at + update
    assert float(loss(at)) == pytest.approx(found.losses["adam"].min(), rel=1e-6)
    curve = found.curve("adam")
    assert np.all(np.diff(curve[:, 0]) <= 0)
    assert np.all(curve[:, 1] <= curve[:, 2])


def test_the_figure_has_a_line_for_each_and_leaves_out_what_diverges():
    losses = {"a": np.array([1e-3, 2.0, np.inf, 0.1]), "<b>": np.array([np.inf, 5.0, np.inf, np.inf])}
    settings = {name: [{}] * 4 for name in losses}
    found = OptimiserComparison(losses, settings, 0.3, dict.fromkeys(losses, 1.0), dict.fromkeys(losses, 8))
    rows = found.figure().to_dict()["layer"][1]
    shown = found.figure().to_dict()["data"]["values"]
    assert [row["trials"] for row in shown if row["optimiser"] == "a"] == [2, 3, 4]
    assert [row["trials"] for row in shown if row["optimiser"] == "<b>"] == [4]
    at = next(row for row in shown if row["optimiser"] == "a" and row["trials"] == 4)
    assert at["loss"] == 1e-3
    assert at["low"] <= at["loss"] <= (at["high"] or np.inf)
    assert rows["encoding"]["y"]["scale"]["type"] == "log"
    page = found._repr_html_()
    assert page.count("<svg") == 1
    assert "&lt;b&gt;" in page.split("<svg")[0]
    assert "<script" not in page


def test_losses_that_are_alike_or_negative_stand_on_a_linear_axis():
    for low in (-1.0, 0.9):
        losses = {name: np.array([low, 1.0, 1.1]) for name in "ab"}
        found = OptimiserComparison(losses, {}, 1.0, dict.fromkeys(losses, 1.0), dict.fromkeys(losses, 8))
        assert found.figure().to_dict()["layer"][0]["encoding"]["y"]["scale"]["type"] == "linear"


def test_what_is_refused():
    with pytest.raises(SettingError, match="at least two"):
        compare_optimisers(loss, jnp.zeros(8), {"adam": (optax.adam, RATES)})
    with pytest.raises(SettingError, match="range"):
        compare_optimisers(
            loss, jnp.zeros(8), {"a": (optax.adam, {"learning_rate": (0.0, 1.0)}), "b": (optax.sgd, RATES)}
        )
    with pytest.raises(SettingError, match="k"):
        expected_best(np.ones(3), 4)
