"""The search finds what is false, leaves what is true, and shows its finds to others."""

import itertools
import json
import pathlib
import re
import subprocess
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import Choice, Integer, Real, Space
from lemmata.engine.claims._statistics import failure_limits
from lemmata.engine.refutations import Counterexample, Survived, ablate, load_counterexample
from lemmata.engine.refutations import refute as search
from lemmata.engine.refutations._chance import confirming
from lemmata.engine.refutations._confirm import confirm
from lemmata.engine.refutations._draws import FORMS, formed
from lemmata.engine.refutations._evolution import evolve
from lemmata.engine.refutations._look import Look
from lemmata.engine.refutations._precise import Unsupported, precisely
from lemmata.engine.refutations._problem import Place, with_fields
from lemmata.engine.refutations._region import beginnings, beside, ends
from lemmata.engine.refutations._shrink import _simpler, shrink, simpler
from lemmata.engine.refutations._storage import study_name
from lemmata.errors import DataError, SettingError
from lemmata.interfaces.cli import app

from . import networks
from . import statements as own


class TwoVectors(eqx.Module):
    """Two vectors and a number."""

    first: jax.Array
    second: jax.Array
    size: int


def refute(claim, budget, **settings):
    """A search whose seconds are the processor's, since others share it."""
    return search(claim, budget, clock=time.process_time, **settings)


def test_a_false_bound_that_draws_hide_is_found_and_made_simple():
    found = refute(own.SumBelowTooLittle(), 20.0, setting={"d": 30}, simplify=1.0)
    assert isinstance(found, Counterexample)
    assert found.ratio > 1
    assert "50 digits" in found.confirmed
    whole = refute(own.SumBelowTooLittle(), 20.0)
    assert isinstance(whole, Counterexample)
    assert whole.place.setting == {"d": 2}
    assert np.abs(whole.place.fields["x"]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("claim", [own.SumBelowRoot(), own.SumAboveNorm()])
def test_a_true_bound_survives_and_its_tightness_is_one(claim):
    found = refute(claim, 5.0, setting={"d": 5})
    assert isinstance(found, Survived)
    assert 0.99 < found.tightness <= 1 + 1e-12
    assert "not proof" in str(found)


def test_what_is_not_jax_is_searched_by_evolution():
    found = refute(own.SumAboveTooMuch(), 60.0, setting={"d": 3})
    assert isinstance(found, Counterexample)
    assert found.measured < found.predicted


def test_a_statement_on_every_network_is_attacked_by_training_it():
    found = refute(networks.ManyRectifiersErr(), 30.0, simplify=1.0)
    assert isinstance(found, Counterexample)
    assert found.place.setting["width"] >= 2
    assert found.measured < networks.LEAST
    true = refute(networks.OneRectifierErrs(), 6.0)
    assert isinstance(true, Survived)
    assert 0.99 < true.tightness <= 1


def test_a_search_goes_on_where_its_database_ends(tmp_path):
    file, counts = tmp_path / "search.db", []
    for storage in (str(file), f"sqlite:///{file}"):
        refute(own.SumBelowRoot(), 3.0, setting={"d": 4}, storage=storage)
        study = optuna.load_study(study_name=study_name(own.SumBelowRoot()), storage=f"sqlite:///{file}")
        counts.append(len(study.trials))
    assert 0 < counts[0] < counts[1]


def test_larger_sizes_come_within_reach_and_every_category_is_begun_with():
    space = Space(n=Integer(10, 1, 1000), p=Real(0.2, 0.1, 9.0), law=Choice("a", ("a", "b", "c")))
    assert [ends(space.variables["n"], reach)[1] for reach in (4.0, 64.0, 1e6)] == [40, 640, 1000]
    assert {own["law"] for own in beginnings(space)} == {"a", "b", "c"}
    other = beside(space, space.default, ["p"], 50, np.random.default_rng(0))
    assert len({own["p"] for own in other}) > 40
    assert all(0.1 <= own["p"] <= 9.0 and own["n"] == 10 for own in other)


def test_a_ratio_that_rounding_lifts_above_one_is_one():
    place = Place({"d": 3}, 0, 5)
    look = Look(own.SumBelowRoot(), 0)
    look._note(1.0, place, True)
    assert look.place is None
    look._note(1e-13, place, False)
    assert look.best == 0.0
    identity = Look(own.CancelledSum(), 0)
    identity._note(3.0, place, True)
    assert identity.best == 3.0


def test_special_forms_of_a_field_are_what_they_say():
    drawn = jnp.array([0.3, -2.6, 1.4])
    found = np.array([formed(drawn, jnp.asarray(form), jax.random.key(0)) for form in range(FORMS)])
    np.testing.assert_array_equal(found[0], drawn)
    np.testing.assert_array_equal(found[4], [1, -1, 1])
    np.testing.assert_array_equal(found[7], [0, -3, 1])
    np.testing.assert_array_equal(found[8], [0, -2.6, 0])
    assert np.ptp(found[6]) == 0
    assert len({row.tobytes() for row in found}) >= FORMS - 1


def test_the_trials_of_a_confirmation_have_power():
    rng = np.random.default_rng(0)
    trials = confirming(0.1, 0.15, 1e-4)
    limits = [failure_limits(int(rng.binomial(trials, share)), trials, 5e-5)[0] for share in [0.15] * 200]
    assert np.mean([limit > 0.1 for limit in limits]) > 0.85
    assert confirming(0.1, 0.1005, 1e-4) is None


def test_rounding_is_no_counterexample():
    claim = own.CancelledSum()
    found = refute(claim, 6.0, setting={"d": 8})
    assert isinstance(found, Survived)
    assert found.ratio > 1  # the relation alone would have refuted it
    assert confirm(claim, found.place) is None


def test_a_hypothesis_that_is_needed_is_told_from_one_that_is_not():
    needed = {one.hypothesis: one.counterexample for one in ablate(own.SumBelowBox(), 16.0)}
    assert needed["the largest entry is bounded"] is not None
    assert needed["the vector is not zero"] is None


def test_a_counterexample_is_stored_and_its_program_runs(tmp_path):
    found = refute(own.SumBelowTooLittle(), 20.0, setting={"d": 4}, simplify=1.0)
    program = found.save(tmp_path / "sum")
    assert len(program.read_text().splitlines()) <= 30
    done = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path / "sum", capture_output=True, text=True, check=True
    )
    assert "holds: at least two entries (margin 0.5)" in done.stdout
    again = load_counterexample(tmp_path / "sum" / "counterexample", own.SumBelowTooLittle())
    assert again.ratio == pytest.approx(found.ratio, rel=1e-12)
    (tmp_path / "sum" / "counterexample.json").write_text("{")
    with pytest.raises(DataError):
        load_counterexample(tmp_path / "sum" / "counterexample")


def test_a_counterexample_gets_zeros_and_whole_numbers_one_after_another():
    """One number alone has the least sum for its norm; with two small numbers beside it, the claim fails as well."""
    claim, ticks = own.SumAboveTooMuch(), itertools.count()
    place = Place({"d": 3}, 0, 5, {"x": np.array([1e-3, -2.03, 2e-3])})
    simplified = lambda place, clock: shrink(
        claim, place, "once", lambda setting: None, 400.0, frozenset(), clock=clock
    )
    found, said, steps = simplified(place, lambda: next(ticks))
    assert found.fields["x"].tolist() == [0.0, 2.0, 0.0]
    assert (found.setting, found.seed, found.number) == (place.setting, 0, 5)
    assert steps >= 2
    assert said != "once"
    assert simplified(found, lambda: 0.0) == (found, "once", 0), "nothing is simpler"
    assert simplified(place, lambda: 500.0) == (place, "once", 0), "the time is over"


def test_any_number_of_fields_of_a_problem_is_replaced():
    problem = TwoVectors(jnp.zeros(2), jnp.ones(3), 5)
    assert with_fields(problem, {}) is problem
    one, two = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    for fields in ({"first": one}, {"second": two}, {"first": one, "second": two}):
        found = with_fields(problem, fields)
        for name in ("first", "second"):
            np.testing.assert_array_equal(getattr(found, name), fields.get(name, getattr(problem, name)))
        assert found.size == 5


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        (Real(0.5, 0.1, 9.0), 0.12345, [1.0, 0.5, 0.1, 0.12, 0.123]), (Real(0.5, 0.1, 9.0), 0.5, []),
        (Real(0.25, 0.1, 9.0), 2.25, [1.0, 2.0, 2.2]), (Integer(8, 1, 64, step=2), 64, [2, 32, 62]),
        (Integer(8, 2, 64), 3, [2]), (Integer(8, 2, 64), 2, []), (Choice("a", ("b", "a")), "a", ["b"]),
        (Choice("a", ("b", "a")), "b", []),
    ],
)  # fmt: skip
def test_simpler_values_of_a_setting_are_smaller_or_shorter(variable, value, expected):
    assert _simpler(variable, value) == expected


def test_simpler_fields_are_simpler():
    first = next(simpler({"x": np.array([0.5000001, -2.3])}))
    assert np.all(first["x"] >= 0)
    assert not list(simpler({"x": np.zeros(3)}))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.nn.softmax(x, axis=0), lambda x: jnp.linalg.svd(x, compute_uv=False), lambda x: jnp.median(x),
        lambda x: jnp.linalg.solve(x.T @ x + jnp.eye(4), x[0]), lambda x: jnp.linalg.eigvalsh(x.T @ x),
        lambda x: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(x.T @ x + jnp.eye(4)), x[1]),
        lambda x: jax.lax.fori_loop(0, 5, lambda i, v: v @ (x.T @ x) / 10, x[0]), lambda x: x.at[0].set(1.0),
        lambda x: jax.grad(lambda z: jnp.tanh(z).sum() ** 2)(x), lambda x: jnp.where(x > 0, x, jnp.exp(x)).max(),
        lambda x: jnp.einsum("ij,kj->ik", x, x)[jnp.array([0, 2]), 1:].T, lambda x: jnp.cumsum(x, 0).var(0),
    ],
)  # fmt: skip
def test_many_digits_agree_with_float64(function):
    x = jax.random.normal(jax.random.key(0), (5, 4))
    np.testing.assert_allclose(precisely(function, x)[0], function(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1])
def test_equal_numbers_keep_their_order_in_many_digits(axis):
    ties = jnp.tile(jnp.array([2.0, 1.0, 2.0, 1.0, 3.0]), (60, 12)).T[:, :60]
    numbers = jnp.arange(float(ties.size)).reshape(ties.shape)
    together = lambda x: jax.lax.sort((x, numbers), dimension=axis, is_stable=True, num_keys=1)
    for found, right in zip(precisely(together, ties), together(ties), strict=True):
        np.testing.assert_array_equal(np.asarray(found, float), right)


def test_many_digits_see_what_float64_cannot():
    cancelled = lambda x: ((x + 1e20) - 1e20, jnp.log1p(x * 1e-18) / 1e-18)
    found = precisely(cancelled, jnp.asarray(1.0))
    assert [float(one) for one in found] == pytest.approx([1.0, 1.0])
    assert float(cancelled(jnp.asarray(1.0))[0]) == 0.0
    with pytest.raises(Unsupported):
        precisely(lambda x: jnp.fft.fft(x).real, jnp.ones(4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"budget": 0.0}, "seconds above 0"), ({"without": "nothing"}, "the largest entry"),
     ({"storage": "nowhere://x"}, "database")],
)  # fmt: skip
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        refute(own.SumBelowRoot(), **{"budget": 1.0, **settings})


def test_the_command_line_writes_what_it_finds(tmp_path):
    name = f"{own.__file__}:SumBelowTooLittle"
    done = CliRunner().invoke(
        app, ["refute", name, "--minutes", "0.4", "--set", "d=4", "--out", str(tmp_path), "--json"]
    )
    assert done.exit_code == 1, done.output
    row = json.loads(done.stdout)[0]
    assert row["refuted"]
    assert row["setting"] == {"d": 4}
    assert (tmp_path / "statements.sum_below_too_little" / "counterexample.py").exists()
    done = CliRunner().invoke(app, ["refute", f"{own.__file__}:SumBelowRoot", "--minutes", "0.05", "--set", "d=4"])
    assert done.exit_code == 0


def test_a_place_is_a_problem_of_its_own():
    place = Place({"d": 3}, 0, 5, {"x": np.array([1.0, 2.0, 3.0])})
    assert place.problem(own.SumBelowRoot()).x.tolist() == [1.0, 2.0, 3.0]


def test_the_page_finds_what_it_prints(tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "refute.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert program is not None
    (tmp_path / "mine.py").write_text(program[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["refute", "mine.py", "--out", "found"])
    assert done.exit_code == 1, done.output
    printed = re.search(r"--out found\n(.*?)```", page, re.DOTALL)
    assert printed is not None
    for line in printed[1].splitlines()[1:4]:
        assert line in done.output
    assert (tmp_path / "found" / "mine.sum_is_small" / "counterexample.py").exists()


def test_a_statement_in_the_mean_is_refuted_by_a_second_verification(tmp_path):
    found = refute(own.SumIsTheMean(), 20.0)
    assert isinstance(found, Counterexample)
    assert not found.alone
    assert "second verification" in found.confirmed
    found.save(tmp_path)
    again = load_counterexample(tmp_path / "counterexample", own.SumIsTheMean())
    assert again.confirmed == found.confirmed


def test_an_evolution_that_cannot_begin_says_what_it_knows():
    height = lambda z: -float(np.abs(z).sum())
    assert evolve(height, np.array([1e33, 1.0]), 0)[1] == height(np.array([1e33, 1.0]))
    assert evolve(height, np.array([3.0, 1.0]), 0)[1] > -4
