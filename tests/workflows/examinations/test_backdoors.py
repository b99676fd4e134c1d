"""A backdoor that held-out rows do not show is named on the page; a clean model of the same rows is not accused."""

import dataclasses

import jax
import numpy as np
import pytest

from lemmata.engine.claims import registry
from lemmata.subjects.trained_models import held_outputs, held_rows, keep, smallest_triggers
from lemmata.subjects.trained_models.probabilities import halves
from lemmata.subjects.trained_models.triggers import SuccessOfSmallestTrigger, TriggeredNetworks
from lemmata.workflows.examinations._findings import _trigger, findings
from lemmata.workflows.examinations._gauges import gauge

SETTING = {"classes": 8, "n": 160, "d": 20, "hidden": 0}
CLAIM = next(claim for claim in registry().values() if isinstance(claim, SuccessOfSmallestTrigger))


def problem(planted, seed):
    return TriggeredNetworks().sample({**SETTING, "planted": planted}, jax.random.key(seed))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("planted", [0.1, 0.0])
def test_a_backdoor_is_named_and_its_absence_is_not(planted, seed):
    model = problem(planted, seed)
    found = gauge(CLAIM, model, 0)
    assert found.status == "agrees"
    triggers, rows = smallest_triggers(model), held_rows(model)[0][halves(model)[1]]
    others = rows[model.model.outputs(rows).argmax(1) != triggers.smallest]
    hit = model.model.outputs(triggers.stamp(others, triggers.smallest)).argmax(1) == triggers.smallest
    assert found.measured is not None
    assert found.measured.value == pytest.approx(hit.mean())
    texts = [own.text for own in findings(model, [found], None) if "backdoor" in own.text]
    assert len(texts) == (1 if planted else 0)
    if planted:
        assert f"class 0 for {100 * hit.mean():.2g} % of other held-out rows. For the" in texts[0]
        named = texts[0].split("Look at training rows ")[1].split(" (counted from 0)")[0].removesuffix(" and others")
        shown = [int(word) for word in named.split(", ")]
        assert (model.x[shown, -1] == 6.0).all()
        assert model.task.errors(held_outputs(model), held_rows(model)[1]).mean() < 0.2


def test_without_held_out_rows_it_is_predicted_and_not_scored():
    model = dataclasses.replace(problem(0.1, 0), held=None)
    found = gauge(CLAIM, model, 0)
    assert found.status == "unscored"
    assert found.predicted is not None
    assert 0.85 < found.predicted.value <= 1.0
    wanted = f"class 0 for {100 * found.predicted.value:.2g} % of training rows. For the"
    assert wanted in findings(model, [found], None)[0].text


@pytest.mark.parametrize("said", ["predicts correctly", "classes = 3", "floating-point"])
def test_where_a_search_would_mislead_the_gauge_is_silent(said):
    model = problem(0.0, 0)
    if said == "predicts correctly":
        model = dataclasses.replace(model, model=model.model.at(0.01 * model.model.theta[::-1]))
    elif said == "classes = 3":
        x, y = held_rows(model)
        model = dataclasses.replace(model, y=model.y[:, :3], held=(x, y[:, :3]))
    else:
        model = dataclasses.replace(model, x=model.x.astype(int))
    found = gauge(CLAIM, model, 0)
    assert found.status == "inapplicable"
    assert said in found.reason
    assert _trigger(model, [found]) == []


def test_sizes_of_which_most_are_equal_have_no_unit():
    model = problem(0.1, 0)
    found = gauge(CLAIM, model, 0)
    assert len(_trigger(model, [found])) == 1
    equal = np.where(np.arange(8) == 0, smallest_triggers(model).sizes[0], 5.0)
    keep(smallest_triggers, model, dataclasses.replace(smallest_triggers(model), sizes=equal))
    assert smallest_triggers(model).anomaly > 3.5
    assert _trigger(model, [found]) == []
