"""What an examination asks of a gauge: its class says which questions there are, and a misspelt one is refused."""

import dataclasses
import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from lemmata.engine.claims import check_writing, registry
from lemmata.errors import ClaimError
from lemmata.subjects.trained_models import AbstractGauge, Trained, is_known, keep, read_trained
from lemmata.subjects.trained_models.attacks import SmallestAttack
from lemmata.workflows.examinations import run_examination
from lemmata.workflows.examinations._gauges import entry, gauge

GAUGES = [claim for claim in registry().values() if isinstance(claim, AbstractGauge)]


def like_smallest_attack(**change):
    own = {name: value for name, value in vars(SmallestAttack).items() if not name.startswith("_")}
    words = {"__doc__": SmallestAttack.__doc__, "__module__": SmallestAttack.__module__}
    return type("LikeSmallestAttack", (AbstractGauge,), words | own | change)


def test_every_claim_that_a_users_model_can_be_posed_is_a_gauge():
    posed = {claim.name for claim in registry().values() if claim.of_data and claim.population.problem is Trained}
    assert posed == {claim.name for claim in GAUGES if claim.of_data}
    assert len(posed) > 50


@pytest.mark.parametrize(
    ("name", "meant"), [("byts", "bytes"), ("row_factor", "rows_factor"), ("of_loses", "of_losses")]
)
def test_a_misspelt_question_of_a_gauge_is_refused(name, meant):
    check_writing(like_smallest_attack()())
    with pytest.raises(ClaimError, match=f"{name!r}, which is not used.*did you mean {meant!r}"):
        check_writing(like_smallest_attack(**{name: lambda self, problem: 1.0})())


def test_a_gauge_without_a_price_is_none():
    own = like_smallest_attack()
    without = type(
        "Priceless",
        (AbstractGauge,),
        {k: v for k, v in vars(own).items() if k in vars(SmallestAttack) and k != "passes" and not k.startswith("_")},
    )
    with pytest.raises(TypeError, match="passes"):
        without()


def test_what_is_known_of_a_trained_model_is_a_plain_record():
    own = {name for name in vars(Trained) if not name.startswith("_")}
    assert own <= {field.name for field in dataclasses.fields(Trained)}
    assert not [
        name for name, value in vars(Trained).items() if inspect.isfunction(value) and not name.startswith("__")
    ]


def test_questions_of_one_name_in_two_files_have_answers_of_their_own():
    class Box:
        """Anything."""

    def question(box):
        return 1

    box, first = Box(), question
    keep(first, box, 1)
    second = lambda box: 2
    second.__module__, second.__qualname__, second.__name__ = "elsewhere", first.__qualname__, first.__name__
    assert (is_known(first, box), is_known(second, box)) == (True, False)


@pytest.mark.parametrize(("values", "status"), [((1.0, 3.42e6, 2.0), "failed"), ((2.0, 1.0, 3.0), "failed")])
def test_a_measurement_outside_its_own_limits_is_no_prediction_that_failed(values, status):
    x, y = load_iris(return_X_y=True)
    trained = read_trained(LogisticRegression(C=10.0, max_iter=1000).fit(x, y), x, y)
    own = like_smallest_attack(measure=lambda self, problem, key: np.asarray(values))
    found = gauge(own(), trained, 0)
    assert found.status == status
    assert "outside the interval of the measurement" in found.reason


def test_bounds_come_after_gauges_that_measure(monkeypatch):
    """A bound that says nothing may take as long as all the rest, and its price is a guess like the others."""
    asked = []
    monkeypatch.setattr("lemmata.workflows.examinations._run.gauge", lambda claim, trained, seed: (
        asked.append(claim.relation.label), entry(claim, "vacuous", ""))[1])  # fmt: skip
    x, y = load_iris(return_X_y=True)
    run_examination(read_trained(LogisticRegression(C=10.0, max_iter=1000).fit(x, y), x, y))
    bounds = [label in ("upper", "lower") for label in asked]
    assert True in bounds
    assert False in bounds
    assert bounds == sorted(bounds)
