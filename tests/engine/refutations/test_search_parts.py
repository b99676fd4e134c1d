"""Parts of a search, each alone: pressures, regions of settings, simpler numbers, and several searches as one."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Choice,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Real,
    Space,
    Status,
    Witness,
)
from lemmata.engine.refutations import Counterexample, Survived, Untested
from lemmata.engine.refutations._chance import confirming
from lemmata.engine.refutations._pressure import allowed, contradicts, margins, pressure, pressures, searchable
from lemmata.engine.refutations._problem import Place, called_free
from lemmata.engine.refutations._region import anywhere, beginnings, beside, ends, steps_of
from lemmata.engine.refutations._shrink import _rounder, _weight, holds_up, simpler, smaller
from lemmata.engine.refutations._spread import _together, searches, seed_of
from lemmata.workers import Lost
from tests.engine.claims import synthetic

from . import statements as own

ROUNDING = 2.0**-47


def of(rule):
    class Stated(synthetic.Synthetic):
        """A claim with the relation."""

        relation = rule

    return Stated()


def test_a_claim_is_searched_where_one_trial_contradicts_it():
    told = {
        str(relation): searchable(of(relation)) for relation in (AtMost(), AtLeast(), Equal(), Witness(probability=1.0))
    }
    assert set(told.values()) == {True}
    for relation in (AtMost(delta=0.1), AtLeast(delta=0.1), Witness(probability=0.9), EqualInMean()):
        assert not searchable(of(relation))


@pytest.mark.parametrize(
    ("relation", "predicted", "measured", "wanted"),
    [
        (AtMost(), 2.0, 3.0, math.log(1.5)), (AtMost(), 3.0, 2.0, math.log(2 / 3)),
        (AtLeast(), 2.0, 3.0, math.log(2 / 3)),
        (Witness(probability=1.0), 3.0, 2.0, math.log(1.5)), (AtMost(), 2.0, 0.0, math.log(1e-15)),
        (AtMost(), 0.0, 3.0, 1.0), (AtMost(), 2.0, -1.0, -1.0), (AtMost(), -3.0, 1.0, 1.0), (AtMost(), -3.0, -1.0, 0.5),
        (AtLeast(), -1.0, -3.0, 0.5), (Equal(), 2.0, 3.0, math.log(1 / (ROUNDING * 3))),
        (Equal(), -2.0, 2.0, math.log(4 / (ROUNDING * 2))),
    ],
)  # fmt: skip
def test_the_pressure_is_a_logarithm_of_a_ratio_or_a_relative_difference(relation, predicted, measured, wanted):
    found = pressure(of(relation), jnp.asarray(predicted), jnp.asarray(measured), jnp.asarray(1.0))
    assert float(found) == pytest.approx(wanted, rel=1e-9)


def test_the_component_that_is_nearest_decides_the_pressure():
    found = pressure(of(AtMost()), jnp.array([2.0, 1.0]), jnp.array([1.0, 3.0]), jnp.asarray(1.0))
    assert float(found) == pytest.approx(math.log(3))
    wide = pressure(of(Equal()), jnp.array([[2.0, 1.0]]), jnp.array([[1.0, 3.0]]), jnp.asarray([10.0]))
    assert float(wide) == pytest.approx(math.log(2 / (10 * ROUNDING * 3)))
    many = pressures(of(AtMost()), np.array([2.0, np.nan, 1.0]), np.array([1.0, 1.0, np.nan]), np.ones(3))
    assert many.tolist() == [pytest.approx(math.log(0.5)), -math.inf, -math.inf]


@pytest.mark.parametrize(
    ("predicted", "measured", "wanted"),
    [
        (1.0, 2.0, True), (2.0, 1.0, False), (1.0, 1.0 + 1e-15, False), (np.inf, 1.0, False), (1.0, np.inf, False),
        (np.nan, 2.0, False), ([1.0, 3.0], [2.0, 1.0], True),
    ],
)  # fmt: skip
def test_a_trial_contradicts_a_bound_beyond_rounding(predicted, measured, wanted):
    assert contradicts(of(AtMost()), predicted, measured, 1.0) is wanted


def test_margins_are_of_what_can_be_checked_and_zero_within_rounding():
    hypotheses = [
        Hypothesis("a", 1.0, "<=", 2.0), Hypothesis("b", 2.0 + 1e-13, "<=", 2.0), Hypothesis("c", 3.0, "<=", 2.0),
        Hypothesis.unchecked("d", "no data"), Hypothesis("e", jnp.array([1.0, 4.0]), ">", 2.0),
    ]  # fmt: skip
    found = margins(hypotheses)
    np.testing.assert_allclose(found, [0.5, 0.0, -1 / 3, -0.5, 0.5], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(margins(hypotheses[:3], without="c"), [0.5, 0.0], atol=1e-15)
    assert margins(hypotheses[3:4]).shape == (0,)
    assert allowed(hypotheses[:2])
    assert not allowed(hypotheses[:3])
    assert allowed(hypotheses[:3], without="c")
    assert not allowed(hypotheses[4:])
    assert allowed(hypotheses[3:4])
    assert not allowed([Hypothesis("n", jnp.nan, "<=", 2.0)])


@pytest.mark.parametrize(
    ("variable", "reach", "wanted"),
    [
        (Integer(10, 1, 1000), 4.0, (1, 40)), (Integer(10, 1, 30), 4.0, (1, 30)),
        (Integer(10, 3, 1000, step=4), 4.0, (4, 40)),
        (Integer(10, 1, 1000, corners=(5, 90)), 4.0, (1, 90)), (Integer(10, 1, 1000, step=7), 4.0, (7, 35)),
        (Integer(10, 1, 1000), 64.0, (1, 640)), (Real(0.5, 0.25, 9.0), 4.0, (0.25, 2.0)),
        (Real(-0.5, -2.0, 9.0), 4.0, (-2.0, 2.0)), (Real(0.0, 0.5, 9.0), 4.0, (0.5, 0.5)),
        (Real(0.5, 0.25, 9.0, corners=(0.3, 3.0)), 4.0, (0.25, 3.0)), (Choice("b", ("a", "b", "c")), 4.0, ("a", "c")),
    ],
)  # fmt: skip
def test_the_region_of_a_variable_ends_at_a_multiple_of_its_default(variable, reach, wanted):
    assert ends(variable, reach) == wanted


SPACE = Space(n=Integer(10, 4, 1000, step=2), p=Real(0.5, 0.1, 9.0), law=Choice("a", ("a", "b")))


def test_a_search_begins_with_the_default_and_the_smallest_setting_of_each_option():
    default, least = {"n": 10, "p": 0.5, "law": "a"}, {"n": 4, "p": 0.1, "law": "a"}
    assert beginnings(SPACE) == [default, least, {**least, "law": "b"}, {**default, "law": "b"}]
    assert beginnings(Space()) == [{}]


def test_a_setting_anywhere_is_in_the_region_and_obeys_the_rules():
    rng = np.random.default_rng(0)
    drawn = [anywhere(SPACE, {}, 4.0, rng) for _ in range(300)]
    found = [each for each in drawn if each is not None]
    assert len(found) == 300
    sizes = {each["n"] for each in found}
    assert sizes <= set(range(4, 41, 2))
    assert {4, 6, 30} <= sizes
    assert max(sizes) >= 38
    assert {each["law"] for each in found} == {"a", "b"}
    values = np.array([each["p"] for each in found])
    assert 0.1 <= values.min() < 0.15 < 1.8 < values.max() <= 2.0
    assert 0.45 < np.mean(values < 1.05) < 0.9, "half of them are uniform, and half log-uniform"
    assert all((anywhere(SPACE, {"p": 0.3}, 4.0, rng) or {})["p"] == 0.3 for _ in range(5))
    ruled = SPACE.where("n is at least 30", lambda s: s["n"] >= 30)
    assert all((anywhere(ruled, {}, 4.0, rng) or {"n": 0})["n"] >= 30 for _ in range(20))
    assert anywhere(SPACE.where("never", lambda s: False), {}, 4.0, rng) is None


def test_a_database_holds_whole_numbers_in_steps():
    assert steps_of(SPACE, {"n": 10, "p": 0.5, "law": "b"}) == {"n": 5, "p": 0.5, "law": "b"}


def test_settings_beside_one_change_its_real_numbers_alone():
    setting = {"n": 10, "p": 0.5, "law": "a"}
    assert beside(SPACE, setting, [], 3, np.random.default_rng(0)) == [setting] * 3
    found = beside(SPACE, setting, ["p"], 200, np.random.default_rng(0))
    assert len(found) == 200
    values = np.array([each["p"] for each in found])
    assert all({**each, "p": 0.5} == setting for each in found)
    assert 0.1 <= values.min() < 0.15 < 1.8 < values.max() <= 2.0
    assert 0.4 < np.mean(np.abs(np.log(values / 0.5)) < 0.3) < 0.85, "half of them are near"
    never = SPACE.where("p stays", lambda s: s["p"] == 0.5)
    assert beside(never, setting, ["p"], 4, np.random.default_rng(0)) == [setting] * 4
    whole = Space(p=Real(0.0, -1.0, 1.0, corners=(-1.0, 1.0)))
    low = np.array([each["p"] for each in beside(whole, {"p": 0.0}, ["p"], 60, np.random.default_rng(1))])
    assert low.min() < -0.5
    assert low.max() > 0.5


def test_free_fields_are_listed_by_the_class_unless_they_are_a_field():
    assert called_free(own.SumBelowRoot()) == ("x",)


def test_the_weight_of_numbers_is_their_length_in_writing():
    assert _weight(np.array([0.0, 1.0, -2.0, 0.5])) == 0 + 1 + 2 + 3
    assert _weight(np.asarray(0.25)) == 4
    assert _weight(np.zeros((2, 2))) == 0


def test_simpler_numbers_are_of_less_weight_and_the_boldest_come_first():
    value = np.array([-0.5, 2.25])
    found = [each["x"].tolist() for each in simpler({"y": np.zeros(1), "x": value})]
    assert found[:2] == [[0.5, 2.25], [-0.0, 2.0]]
    assert all(_weight(np.array(each)) < _weight(value) for each in found)
    for wanted in ([0.0, 2.25], [-0.5, 0.0], [-0.5, 2.0], [-0.5, 2.2], [-0.0, 2.25]):
        assert wanted in found
    assert all(set(each) == {"y", "x"} for each in simpler({"y": np.zeros(1), "x": value}))
    large = np.full(65, 0.123)
    assert all(np.ptp(each["x"]) == 0 for each in simpler({"x": large})), "no entry is changed alone"
    assert any(np.ptp(each["x"]) > 0 for each in simpler({"x": large[:64]}))


def test_smaller_settings_change_all_then_all_sizes_then_one():
    setting = {"n": 10, "p": 0.123, "law": "b"}
    found = list(smaller(SPACE, setting, frozenset()))
    assert found[:2] == [{"n": 4, "p": 1.0, "law": "a"}, {"n": 4, "p": 0.123, "law": "b"}]
    assert found[2:] == [
        {"n": 4, "p": 0.123, "law": "b"}, {"n": 6, "p": 0.123, "law": "b"}, {"n": 8, "p": 0.123, "law": "b"},
        {"n": 10, "p": 1.0, "law": "b"}, {"n": 10, "p": 0.5, "law": "b"}, {"n": 10, "p": 0.1, "law": "b"},
        {"n": 10, "p": 0.12, "law": "b"}, {"n": 10, "p": 0.123, "law": "a"},
    ]  # fmt: skip
    kept = list(smaller(SPACE, setting, frozenset({"n", "law"})))
    assert {each["n"] for each in kept} == {10}
    assert {each["law"] for each in kept} == {"b"}
    ruled = SPACE.where("n is at least 8", lambda s: s["n"] >= 8)
    assert {each["n"] for each in smaller(ruled, setting, frozenset())} == {8, 10}
    assert list(smaller(Space(n=Integer(4, 2, 9)), {"n": 2}, frozenset())) == []


def test_a_counterexample_keeps_its_changed_fields():
    claim, ticks = own.SumAboveTooMuch(), iter(range(10_000))
    place = Place({"d": 3}, 0, 5, {"x": np.array([1e-3, -2.03, 2e-3])})
    found, steps = _rounder(claim, place, 400.0, None, lambda: float(next(ticks)))
    assert found.fields["x"].tolist() == [0.0, 2.0, 0.0]
    assert steps >= 2
    assert _rounder(claim, place, 0.0, None, lambda: 1.0) == (place, 0)
    holds = holds_up(claim, place)
    assert holds({"x": np.array([0.0, 2.0, 0.0])})
    assert not holds({"x": np.array([1.0, 1.0, 1.0])}), "the claim holds"
    assert not holds({"x": np.array([0.0, 20.0, 0.0])}), "a hypothesis fails"
    assert holds_up(claim, place, "the largest entry is bounded")({"x": np.array([0.0, 20.0, 0.0])})
    assert not holds({"z": np.zeros(1)}), "an error is no counterexample"


@pytest.mark.parametrize(("delta", "share"), [(0.1, 0.2), (0.1, 0.3), (0.01, 0.05)])
def test_a_confirmation_has_the_first_power_of_two_with_enough_power(delta, share):
    found = confirming(delta, share, 1e-4)
    assert found is not None
    assert math.log2(found) % 1 == 0
    assert found >= 256
    power = lambda trials: stats.binom.sf(stats.binom.isf(5e-5, trials, delta), trials, 0.75 * share + 0.25 * delta)
    assert power(found) >= 0.9
    assert found == 256 or power(found // 2) < 0.9


def survived(ratio, settings=1, seconds=1.0, **more):
    return Survived("a", settings, 10, 3, ratio, None, 2, seconds, **more)


FOUND = Counterexample("a", Place({}, 0, 0), 1.0, 2.0, 2.0, (), "twice", 5)
NOT = Untested("a", 1, 0, 1, Status.FAILED, "raised", 1.0)


def test_several_searches_of_a_claim_are_one():
    assert _together("a", [survived(0.5), FOUND, Lost("a", "gone")]) is FOUND
    found = _together("a", [survived(None, 1, 3.0), survived(0.5, 2, 1.0, unstored="full"), survived(0.25), NOT])
    assert isinstance(found, Survived)
    assert (found.ratio, found.settings, found.trials, found.climbed, found.failed) == (0.5, 4, 30, 9, 6)
    assert (found.seconds, found.unstored) == (3.0, "full")
    assert _together("a", [Lost("a", "gone"), NOT]) is NOT
    lost = _together("a", [Lost(("a", 0), "gone"), Lost(("a", 1), "later")])
    assert isinstance(lost, Lost)
    assert (lost.key, lost.error) == ("a", "gone")


def test_searches_of_a_claim_have_seeds_of_their_own_and_end_at_the_first_counterexample():
    assert [seed_of(5, number) for number in (0, 1, 2)] == [5, 10_012, 20_019]
    asked, told = [], []

    def search(claim, budget, seed, **options):
        asked.append((claim.name, budget, seed, options))
        return FOUND if seed == 10_008 and claim.name.endswith("sum_below_root") else survived(0.5)

    claims = [own.SumBelowRoot(), own.SumAboveNorm()]
    found = dict(searches(None, search, claims, 2.0, each=3, seed=1, told=told.append, patience=4))
    names = [claim.name for claim in claims]
    assert [name for name, *_ in asked] == [names[0]] * 3 + [names[1]] * 3
    assert [seed for *_, seed, _ in asked] == [1, 10_008, 20_015] * 2
    assert {(budget, options["patience"]) for _, budget, _, options in asked} == {(2.0, 4)}
    assert told == [names[0]] * 3 + [names[1]] * 3
    assert found[names[0]] is FOUND
    other = found[names[1]]
    assert isinstance(other, Survived)
    assert other.settings == 3
    alone = dict(searches(None, search, claims[:1], 2.0))
    assert alone[names[0]] == survived(0.5)
