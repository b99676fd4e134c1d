"""Wrong neighbours are judged on the claim's own trials: those of a sharp statement are noticed, of a weak one not."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from lemmata.engine.catalogue import distance_table, score_table, scores, told_mutations
from lemmata.engine.claims import Status, drawn, load_file, mutate, mutation_record, registry
from lemmata.engine.ledger import open_ledger
from lemmata.errors import SettingError
from lemmata.interfaces.cli import app

FILE = '''
import jax, jax.numpy as jnp, equinox as eqx
from lemmata.engine.claims import (AtLeast, AtMost, Claim, Control, Equal, EqualInMean, Estimate, Integer, Limit, Order,
                                   Population, Rate, Source, Space, Status, Witness)

RUNGS = (8.0, 16.0, 32.0, 64.0)

class Pair(eqx.Module):
    width: jax.Array
    height: jax.Array
    depth: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

class Pairs(Population[Pair]):
    """Two numbers on [1, 3]."""
    settings = Space(n=Integer(8, 1, 64, "size"))
    def sample(self, setting, key):
        width, height = jax.random.uniform(key, (2,), minval=1.0, maxval=3.0)
        return Pair(width, height, 2, 7)
    def hypotheses(self, problem): return []

class AbstractToy(Claim):
    source = Source("euclid", "I.1", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Pairs()
    control = Control("half", lambda value, problem: value / 2)
    controls = unexplained = "sizes"
    trivial = "a size has no bound of its own"
    title = "Toy"

class Area(AbstractToy):
    """An identity in two components, the second of which is 0."""
    relation = Equal()
    control = Control("more", lambda value, problem: value + 1)
    def predict(self, problem): return jnp.stack([problem.width**2 * problem.height, 0.0 * problem.width])
    def measure(self, problem, key): return jnp.stack([problem.width * problem.width * problem.height, 0.0])

class Sharp(AbstractToy):
    """A bound that is attained."""
    relation = AtMost()
    def predict(self, problem): return problem.width
    def measure(self, problem, key): return problem.width * jax.random.uniform(key, (99,)).max()

class Slack(AbstractToy):
    """A bound with a factor 3 to spare."""
    relation = AtMost()
    control = Control("a quarter", lambda value, problem: value / 4)
    def predict(self, problem): return 3 * problem.width
    def measure(self, problem, key): return problem.width * jax.random.uniform(key, (99,)).max()

class Uneven(AbstractToy):
    """A tight component carries a loose one."""
    relation = AtMost()
    def predict(self, problem): return jnp.stack([problem.width, 1e6 * problem.width])
    def measure(self, problem, key): return jnp.stack([problem.width, problem.width])

class Negative(AbstractToy):
    """A lower bound below 0: tighter is nearer to 0."""
    relation = AtLeast()
    def predict(self, problem): return -problem.width
    def measure(self, problem, key): return -problem.width * jax.random.uniform(key, (99,)).max()

class Constant(AbstractToy):
    """A bound that is the same for every problem."""
    relation = AtMost()
    predict = 3.0
    def measure(self, problem, key): return problem.width

class Mean(AbstractToy):
    """A mean with noise."""
    relation = EqualInMean(resolution=0.1)
    def predict(self, problem): return problem.width
    def measure(self, problem, key): return problem.width * (1 + 0.1 * jax.random.normal(key))

class Attained(AbstractToy):
    """A construction."""
    relation = Witness()
    control = Control("twice", lambda value, problem: value * 2)
    def predict(self, problem): return problem.width
    def measure(self, problem, key): return problem.width * 1.001

class Falls(AbstractToy):
    """A rate."""
    relation = Rate("n", RUNGS, margin=0.02, resolution=0.05)
    control = Control("steeper", lambda value, problem: value - 0.5)
    predict = -0.5
    def measure(self, problem, key):
        return jnp.asarray(RUNGS) ** -0.5 * jnp.exp(0.02 * jax.random.normal(key, (4,)))

class Blurred(AbstractToy):
    """A rate within 0.3, which says little."""
    relation = Rate("n", RUNGS, margin=0.3, resolution=0.1)
    control = Control("steeper", lambda value, problem: value - 0.5)
    predict = -0.1
    def measure(self, problem, key):
        return jnp.asarray(RUNGS) ** -0.1 * jnp.exp(0.02 * jax.random.normal(key, (4,)))

class AtMostFalls(AbstractToy):
    """A rate from above."""
    relation = Rate("n", RUNGS, margin=0.02, resolution=0.05, upper=True)
    control = Control("steeper", lambda value, problem: value - 0.5)
    predict = -0.5
    def measure(self, problem, key):
        return jnp.asarray(RUNGS) ** -0.5 * jnp.exp(0.02 * jax.random.normal(key, (4,)))

class Rises(AbstractToy):
    """An order."""
    relation = Order("n", RUNGS)
    control = Control("falls", lambda value, problem: -value)
    predict = 1.0
    def measure(self, problem, key): return jnp.asarray(RUNGS) + jax.random.normal(key, (4,))

class Tends(AbstractToy):
    """A limit."""
    relation = Limit("n", RUNGS)
    def predict(self, problem): return problem.width
    def measure(self, problem, key): return problem.width * (1 + 1 / jnp.asarray(RUNGS))

class Interval(AbstractToy):
    """An interval."""
    relation = Estimate()
    trials = 400
    control = Control("elsewhere", lambda value, problem: value * 3)
    def predict(self, problem): return problem.width * jnp.asarray([0.7, 1.0, 1.3])
    def measure(self, problem, key): return problem.width * jnp.full(3, 1 + 0.1 * jax.random.normal(key))

class Wrong(AbstractToy):
    """A mean that is a quarter too large."""
    relation = EqualInMean(resolution=0.1)
    expected = Status.REFUTED
    def predict(self, problem): return 1.25 * problem.width
    def measure(self, problem, key): return problem.width * (1 + 0.1 * jax.random.normal(key))
'''


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("claims") / "toys.py"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def record(path):
    claims = {type(own).__name__: own for own in load_file(path).values()}
    return lambda name: mutation_record(claims[name], mutate(claims[name]))


def amounts(record, part=None):
    return {own["way"]: own["amount"] for own in record["nearest"] if own["part"] == part}


def test_an_identity_is_refuted_by_what_rounding_does_not_explain(record):
    found = record("Area")
    assert found["survivors"] == []
    assert found["left"] == ""
    assert found["counts"] == {
        "1.05": [2, 2], "1.25": [2, 2], "1.05 alone": [3, 3], "1.25 alone": [3, 3], "effect": [1, 1], "roles": [1, 1]
    }  # fmt: skip
    assert 0 < amounts(found)["x"] < 1e-13
    assert amounts(found, 1) == {"to the control by": pytest.approx(1e-15, rel=0.1)}, "0 has no factors"


def test_a_bound_is_made_tighter_alone(record):
    sharp, slack, negative = record("Sharp"), record("Slack"), record("Negative")
    assert sharp["survivors"] == []
    assert sharp["counts"]["1.05"] == [1, 1]
    assert amounts(sharp)["tighter by"] < 1e-3
    assert "tighter by 1.05" in slack["survivors"]
    assert "tighter by 1.25" in slack["survivors"]
    assert amounts(slack)["tighter by"] == pytest.approx(2.0, rel=1e-2)
    assert negative["survivors"] == []
    assert amounts(negative)["tighter by"] < 1e-3


def test_a_tight_component_carries_no_loose_one(record):
    found = record("Uneven")
    assert found["counts"]["1.25"] == [1, 1]
    assert found["counts"]["1.25 alone"] == [2, 1]
    assert "tighter by 1.25 in component 1" in found["survivors"]
    assert amounts(found, 1) == {"tighter by": None}
    assert "none up to 1000 in component 1" in told_mutations(found)


def test_a_construction_is_asked_for_more(record):
    assert amounts(record("Attained")) == {"tighter by": pytest.approx(1e-3, rel=1e-3)}


def test_a_mean_names_its_nearest_neighbours_on_both_sides(record):
    found = record("Mean")
    assert found["counts"]["1.25"] == [2, 2]
    assert found["counts"]["effect"] == [1, 1]
    assert all(0.001 < amounts(found)[way] < 0.04 for way in ("x", "/"))


def test_exponents_are_moved_and_ladders_lose_their_effect(record):
    sharp, blurred, upper = record("Falls"), record("Blurred"), record("AtMostFalls")
    assert sharp["counts"] == {"0.1": [2, 2], "0.2": [2, 2], "effect": [1, 1]}
    assert all(0.02 < own < 0.1 for own in amounts(sharp).values())
    assert blurred["survivors"] == ["+0.1", "+0.2", "-0.1", "-0.2"]
    assert "effect" not in blurred["counts"], "an exponent of -0.1 is hardly an effect"
    assert all(0.3 < own < 0.4 for own in amounts(blurred).values())
    assert upper["counts"] == {"0.1": [1, 1], "0.2": [1, 1], "effect": [1, 1]}


def test_an_order_a_limit_and_an_interval(record):
    assert record("Rises")["counts"] == {"sign": [1, 1], "effect": [1, 1]}
    assert record("Rises")["nearest"] == []
    assert record("Tends")["counts"]["1.25"] == [2, 2]
    found = record("Interval")
    assert "narrower by 1.05" in found["survivors"]
    assert found["counts"]["effect"] == [1, 1]
    assert 0.5 < amounts(found)["narrower by"] < 2


def test_what_is_the_same_for_every_problem_has_no_effect_to_lose(record):
    assert set(record("Constant")["counts"]) == {"1.05", "1.25"}


def test_what_is_refuted_is_asked_whether_a_neighbour_is_true(record):
    found = record("Wrong")
    assert found["left"] == "refuted"
    assert found["nearest"] == []
    assert "x 0.8" not in found["survivors"], "it is true"
    assert "x 1.25" in found["survivors"]
    assert "not counted in the score: refuted" in told_mutations(found)


def test_scores_count_what_is_supported_and_not_loose(record):
    found = {f"toys.{name}": record(name) for name in ("Sharp", "Slack", "Wrong", "Falls")}
    table = list(score_table(scores(found, lambda name, own: own["relation"]), "relation"))
    assert table[0].startswith("| relation | claims | 1.05 | 1.25 | 1.25 alone | 0.1 |")
    assert table[2].startswith("| AtMost | 2 | 50% of 2 | 50% of 2 |")
    assert table[3].startswith("| Rate | 1 |  |  |  | 100% of 2 | 100% of 2 |")
    assert table[-1].startswith("| all | 3 |")
    far = list(distance_table(found))
    assert far[0].startswith("| relation | claims | 1.01 or 0.01 | 1.05 or 0.05 |")
    assert far[2] == "| AtMost | 2 | 1 | 0 | 0 | 0 | 0 | 1 | 0 |", "one is attained, one has a factor 3 to spare"
    assert far[3].startswith("| Rate | 1 | 0 | ")


def test_a_sample_goes_through_relations_and_subjects():
    claims = list(registry().values())
    found = drawn(claims, 40, seed=0)
    kinds = [(type(own.relation), own.name.partition(".")[0]) for own in found]
    assert len(found) == len(set(kinds)) == 40
    assert found == drawn(claims, 40, seed=0)
    assert found != drawn(claims, 40, seed=1)
    assert len(drawn(claims[:3], 10)) == 3
    with pytest.raises(SettingError, match="at least 1 claim"):
        drawn(claims, 0)


def test_a_budget_is_positive(path):
    with pytest.raises(SettingError, match="number of trials that is at least 1"):
        mutate(next(iter(load_file(path).values())), budget=0)


def test_the_command_prints_neighbours_scores_and_json(path):
    run = lambda *words: CliRunner().invoke(app, ["mutate", *words])
    told = run(f"{path}:Slack", f"{path}:Sharp")
    assert told.exit_code == 0, told.output
    assert "missed: tighter by 1.05, tighter by 1.25" in told.stdout
    assert "| AtMost | 2 |" in told.stdout
    assert "| toys | 2 |" in told.stdout
    found = json.loads(run(f"{path}:Mean", "--json").stdout)
    assert found["left"] == []
    assert found["failed"] == {}
    (own,) = found["claims"].values()
    assert own["status"] == Status.SUPPORTED
    assert [one["way"] for one in own["nearest"]] == ["x", "/"]
    assert run(f"{path}:Mean", "--minutes", "0").exit_code == 2
    tables = run(f"{path}:Slack", f"{path}:Sharp", "--markdown").stdout.strip().splitlines()
    assert all(line.startswith("|") for line in tables if line)


def test_trials_that_a_verdict_left_in_the_ledger_are_read(path, tmp_path):
    ledger = tmp_path / "own.sqlite"
    run = lambda *words: CliRunner().invoke(app, [*words, f"{path}:Sharp", "--ledger", str(ledger)])
    assert run("verify", "--corners", "0").exit_code == 0
    with open_ledger(ledger) as kept:
        before = [dict(row) for row in kept.query("SELECT * FROM trials")]
    assert run("mutate").exit_code == 0
    with open_ledger(ledger) as kept:
        assert [dict(row) for row in kept.query("SELECT * FROM trials")] == before
    assert before
    assert run("mutate", "--seed", "1").exit_code == 0
    with open_ledger(ledger) as kept:
        assert len(kept.query("SELECT * FROM trials")) == 2 * len(before), "another seed has other trials"


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "--all, --subject or --sample"), (["no.such.claim"], "lemmata list"),
     (["--sample", "0"], "at least 1 claim"), (["--sample", "3", "--seed", "-1"], "seed"),
     (["--sample", "3", "--budget", "0"], "at least 1 trial"),
     (["--sample", "3", "--level", "0.5"], "probability"),
     (["--subject", "nowhere"], "--subject")],
)  # fmt: skip
def test_bad_input_is_refused(words, said):
    done = CliRunner().invoke(app, ["mutate", *words])
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_neighbours_are_found_to_a_part_in_a_thousand(record):
    assert math.isclose(1 + amounts(record("Slack"))["tighter by"], 3.0, rel_tol=1e-2)
    assert np.isfinite(amounts(record("Attained"))["tighter by"])
