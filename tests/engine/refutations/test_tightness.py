"""The tightness of a bound is the ratio of its worst problem, and the catalogue is told of it by one command."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import AtLeast, AtMost, find, registry
from lemmata.engine.refutations import Survived, ablate, from_neighbour, has_tightness, measure_tightness, refute
from lemmata.engine.refutations._pressure import pressure
from lemmata.engine.refutations._problem import Facts, Place, called_free
from lemmata.engine.refutations._tightness import Tightness, ratios_of
from lemmata.errors import SettingError
from lemmata.interfaces.cli import _tightness as command
from lemmata.interfaces.cli import app

from . import statements as own


def test_an_attained_bound_has_tightness_one():
    found = measure_tightness(own.SumBelowRoot(), 3.0)
    assert found.ratio is not None
    assert 0.99 < found.ratio < 1 + 1e-12
    assert found.refuted == ""
    assert found.to_json()["moved"] == ["x"]
    json.dumps(found.to_json())


def test_what_the_slack_of_a_hypothesis_explains_is_no_counterexample():
    for seconds in (2.0, 10.0, 50.0):  # a slow machine searches longer; what is found does not depend on it
        found = measure_tightness(own.LargestBelowBox(), seconds)
        assert found.refuted == ""
        if found.ratio == pytest.approx(1.0, abs=1e-11):
            break
    assert found.ratio == pytest.approx(1.0, abs=1e-11)
    assert isinstance(refute(own.LargestBelowBox(), 2.0), Survived)


def test_a_false_bound_has_none_and_is_refuted():
    found = measure_tightness(own.SumBelowTooLittle(), 10.0)
    assert found.ratio is None
    assert "other random keys" in found.refuted


def test_a_statement_with_probability_has_the_quantile_of_its_draws():
    found = measure_tightness(own.EntryBelowThree(), 1e-9)
    assert found.settings == 1
    assert found.trials == 64
    place = found.place
    assert place is not None
    drawn = np.sort([abs(float(dataclasses.replace(place, number=i).problem(own.EntryBelowThree()).x[0])) / 3
                     for i in range(64)])  # fmt: skip
    assert found.ratio == pytest.approx(drawn[57], rel=1e-12), "58 of 64 draws keep it, the least share above 0.9"


def test_a_ratio_of_rounding_is_no_tightness():
    found = measure_tightness(own.SumBelowItself(), 1.0)
    assert found.place is not None, "something was judged"
    assert found.refuted == ""
    assert found.ratio is None


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(SettingError, match="above 0"):
        measure_tightness(own.SumBelowRoot(), 0.0)


def test_identities_and_means_have_no_tightness():
    assert has_tightness(own.SumBelowRoot())
    assert not has_tightness(own.CancelledSum())
    assert not has_tightness(own.SumIsTheMean())


def _facts(predicted, measured):
    return Facts([], np.asarray([predicted], float), np.asarray([measured], float), np.ones(1))


@pytest.mark.parametrize(
    ("predicted", "measured", "ratio"),
    [([2.0, 1.0], [1.0, 0.9], 0.9), ([2.0], [0.0], 0.0), ([0.0, 2.0], [0.0, 1.0], 0.5), ([-1.0], [-2.0], np.nan),
     ([1.0], [-1.0], np.nan), ([np.inf], [1.0], 0.0)],
)  # fmt: skip
def test_the_ratio_is_that_of_the_worst_component(predicted, measured, ratio):
    np.testing.assert_equal(ratios_of(own.SumBelowRoot(), _facts(predicted, measured))[0], ratio)
    assert own.SumBelowRoot().relation == AtMost()
    assert own.SumAboveNorm().relation == AtLeast()
    if ratio > 0:
        np.testing.assert_equal(ratios_of(own.SumAboveNorm(), _facts(measured, predicted))[0], ratio)


def test_nothing_measured_under_a_bound_is_no_pressure():
    nothing, little = (float(pressure(own.SumBelowRoot(), jnp.ones(1), jnp.full(1, value), jnp.ones(())))
                       for value in (0.0, 1e-3))  # fmt: skip
    assert nothing < little < -6


def test_a_misprint_is_searched_on_the_population_of_its_neighbour():
    known = list(registry().values())
    printed = find("prediction_as_printed")[0]
    moved = from_neighbour(printed, known)
    assert moved.population == find("prediction_with_n")[0].population != printed.population
    assert moved.name == printed.name
    same = find("line_by_ramps_as_printed")[0]
    assert from_neighbour(same, known) is same


@pytest.fixture
def empty_records(monkeypatch):
    """No records, and a catalogue of two bounds."""
    given = {}
    written = lambda claim, what, found: given.update({claim.name: found})
    monkeypatch.setattr("lemmata.engine.claims.write_beside", written)
    monkeypatch.setattr(command, "is_recorded", lambda claim: claim.name in given)
    wanted = [find("exponential_near_one")[0], find("square_root_below_tangent")[0]]
    monkeypatch.setattr(command, "wanted", lambda: wanted)
    return given


def test_the_command_goes_on_where_it_stopped(empty_records):
    run = lambda *words: CliRunner().invoke(app, ["refute", *words, "--minutes", "0.01"])
    done = run("exponential_near_one", "--write")
    assert done.exit_code == 0, done.output
    assert [name.rpartition(".")[2] for name in empty_records] == ["exponential_near_one"]
    assert 0.52 < next(iter(empty_records.values()))["ratio"] < 0.53, "(e^0.1 - 1)/0.2"
    done = run("--all", "--write")
    assert done.output.count("of the constant") == 1
    assert len(empty_records) == 2
    before = dict(empty_records)
    done = run("--all", "--write")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("Nothing to search")
    assert empty_records == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--subject, or --all"),
        (["line_by_ramps", "--all", "--write"], "either names of claims, or --all"),
        (["--all"], "--all without --write"),
        (["line_by_ramps", "--write", "--needs"], "with the default options"),
        (["line_by_ramps", "--write", "--set", "tau=4"], "--set"),
    ],
)
def test_combinations_that_mean_nothing_are_refused(words, message):
    done = CliRunner().invoke(app, ["refute", *words])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


NEEDS = {
    "exponential_near_one": ({"the argument is small"}, set()),
    "square_root_below_tangent": (set(), {"the argument is small"}),
    "line_by_ramps": ({"slopes are at most 1"}, set()),
    "regularised_unseen_mass": ({"rewards are bounded"}, set()),
    "privacy_is_stability": ({"largest loss", "smallest loss"}, set()),
    "adagrad_regret": ({"the start is in the box"}, set()),
}
"""Hypotheses that paper and pencil show to be needed, and those without which the statement holds as it stands."""


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_ablation_finds_what_a_statement_of_the_catalogue_needs(name):
    needed, idle = NEEDS[name]
    found = {one.hypothesis: one.counterexample for one in ablate(find(name)[0], 0.5)}
    assert needed | idle <= set(found)
    for hypothesis in needed:
        one = found[hypothesis]
        assert one is not None, hypothesis
        broken = dict(one.hypotheses)
        assert broken[hypothesis] < 0, "it is broken there"
        assert all(margin > -1e-9 for other, margin in broken.items() if other != hypothesis)
    for hypothesis in idle:
        assert found[hypothesis] is None


def test_only_what_a_class_calls_free_is_moved():
    """A population with a field of that name means something else by it."""
    bound = find("risk_below_the_bound")[0]
    assert "sigma" in bound.population.free
    assert called_free(bound) == ()
    assert called_free(own.SumBelowRoot()) == ("x",)


def test_a_record_has_the_place_where_there_is_one_and_only_the_names_of_moved_fields():
    place = Place({"n": 4}, 7, 3, {"x": np.ones(2), "a": np.zeros(1)})
    found = Tightness("a.b", "print", 0.5, "", 9, 64, 2, place, 1.5)
    own = {"claim": "a.b", "fingerprint": "print", "ratio": 0.5, "refuted": "", "settings": 9, "trials": 64,
           "climbed": 2, "seconds": 1.5}  # fmt: skip
    where = {"setting": {"n": 4}, "seed": 7, "number": 3}
    assert found.to_json() == {**own, "place": where, "moved": ["a", "x"]}
    nowhere = dataclasses.replace(found, place=None, ratio=None)
    assert nowhere.to_json() == {**own, "ratio": None, "place": None, "moved": []}
    assert dataclasses.replace(found, place=Place({}, 0, 0, {})).to_json()["moved"] == []
