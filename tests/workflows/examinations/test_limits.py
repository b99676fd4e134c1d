"""What an examination does where time, memory, an interruption or an error of its own stops it."""

import dataclasses
import math
import re
import time

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import lemmata
from lemmata.errors import SettingError
from lemmata.interfaces.report._model import model_sentences
from lemmata.options import ModelOptions
from lemmata.subjects.trained_models import is_known, polished_copy, read_trained
from lemmata.workflows.examinations import RowNames, _gauges, _run, gauges_of, run_examination
from lemmata.workflows.examinations._tables import add_tables

from .small_models import HELD, LEFT_OUT, SPOKE, STEP, TRAIN, linear_model, statuses


@pytest.fixture(scope="module")
def linear():
    return linear_model()


def test_what_time_does_not_allow_is_named_with_its_price(linear, monkeypatch):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    monkeypatch.setattr("lemmata.workflows.examinations._run._gradient_seconds", lambda trained: 10.0)
    dear = lambda claim, problem: 20.0
    monkeypatch.setattr("lemmata.subjects.trained_models.probabilities.ConformalCoverage.passes", dear)
    record = run_examination(trained, time_limit=150.0)
    by_name = statuses(record)
    assert by_name[STEP] == by_name[LEFT_OUT] == "unaffordable"
    assert record.gauge(STEP).reason == "it takes 1,520 s, but checks only get the first 75 % of the time limit"
    assert by_name["conformal_coverage"] == "unaffordable"
    assert by_name["calibration_after_temperature"] in SPOKE
    assert any(re.match("Largest stable learning rate.*: 1,520 s", line) for line in record.plan)
    assert any("Largest stable learning rate" in line for line in record.silent)
    late = run_examination(trained, time_limit=10.0, started=time.monotonic() - 20)
    assert set(statuses(late).values()) == {"unaffordable", "inapplicable"}, "what it never speaks about has no price"
    assert statuses(late)[STEP] == "unaffordable"
    assert late.held_error is not None


def test_what_memory_does_not_allow_is_named_before_it_begins(linear, monkeypatch):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    monkeypatch.setattr("lemmata.workflows.examinations._run.available_bytes", lambda: 2_600)
    record = run_examination(trained)
    assert "GiB of memory" in record.gauge(LEFT_OUT).reason
    assert record.gauge(STEP).status in SPOKE
    assert not is_known(polished_copy, trained)
    many = lambda own, x: x @ own[:800].reshape(4, 200)
    wide = read_trained((many, jnp.zeros(40_000)), *TRAIN, labels=tuple(range(200)), decay=0.02)
    claims = {claim.name.split(".")[-1]: claim for claim in gauges_of(wide)}
    assert "leaving one out; found 34." in (_run._too_much(claims[LEFT_OUT], wide, 0.0, math.inf) or "")
    assert not is_known(polished_copy, wide)


def test_what_was_finished_is_kept_after_an_interruption(linear, monkeypatch):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    done = []

    def stop(claim, trained, seed):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(claim.name)
        return _gauges.entry(claim, "agrees", "so it is")

    monkeypatch.setattr("lemmata.workflows.examinations._run.gauge", stop)
    record = run_examination(trained)
    assert record.interrupted
    assert [own.name for own in record.gauges] == done
    assert record.held_error is not None


def test_a_gauge_that_raises_is_said_to_have_failed(linear, monkeypatch):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    (claim,) = [own for own in gauges_of(trained) if own.name.endswith(STEP)]
    for error, said in ((KeyError("w"), "KeyError: 'w'"), (ValueError(), "ValueError"), (MemoryError(), "MemoryError")):
        monkeypatch.setattr(type(claim), "predict", lambda self, problem, error=error: (_ for _ in ()).throw(error))
        found = _gauges.gauge(claim, trained, 0)
        assert found.status == ("unaffordable" if isinstance(error, MemoryError) else "failed")
        assert found.reason == said
    monkeypatch.setattr(type(claim), "predict", lambda self, problem: jnp.full(3, jnp.nan))
    assert _gauges.gauge(claim, trained, 0).reason == "the prediction is not a number"


@pytest.mark.parametrize("rows", [3, 60])
def test_no_gauge_predicts_from_a_handful_of_held_out_rows(rows):
    """A calibration error of 0 to 0.000365 was predicted from three rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 3))
    y = (x[:, 0] + 0.5 * rng.normal(size=160) > 0).astype(int)
    model = LogisticRegression().fit(x[:100], y[:100])
    few = run_examination(read_trained(model, x[:100], y[:100], held=(x[100 : 100 + rows], y[100 : 100 + rows])))
    none = run_examination(read_trained(model, x[:100], y[:100]))
    seen = [own for own in few.gauges if own.status == "unscored"]
    assert len(seen) > 5
    for own in seen:
        alone = none.gauge(own.name)
        assert (own.predicted is None) == (alone.predicted is None), own.title
        if own.predicted is not None:
            assert own.predicted == alone.predicted, own.title
            assert (
                own.reason
                == f"nothing was measured, because there are {rows} held-out rows, and a measurement needs 100"
            )
        else:
            assert own.reason == "the prediction of this check needs more held-out rows"
    assert few.held_error is not None


def test_a_minute_is_the_limit_where_none_is_stated_and_the_answer_says_what_it_left_out(linear, monkeypatch):
    slow = lambda trained: 10.0
    monkeypatch.setattr("lemmata.workflows.examinations._run._gradient_seconds", slow)
    cut = lemmata.study_model(linear, *TRAIN, held=HELD, decay=0.02)
    assert statuses(cut.record)[STEP] == "unaffordable"
    assert "skipped to save time" in cut.answer
    left = [own for own in cut.record.gauges if own.status == "unaffordable"]
    told = int(re.search(r"A time limit of ([\d,]+) s", cut.answer)[1].replace(",", ""))  # pyright: ignore
    assert told >= sum(own.price or 0 for own in left) > 60
    assert "the table of inputs" not in " ".join(cut.record.notes)
    for whole in (None, math.inf, 10.0 * told):
        found = lemmata.study_model(linear, *TRAIN, held=HELD, decay=0.02, time_limit=whole)
        assert "unaffordable" not in statuses(found.record).values()
        assert "to save time" not in found.answer


@pytest.mark.parametrize("limit", [0, 9.9, -1, math.nan, True])
def test_a_limit_that_is_none_is_refused(linear, limit):
    with pytest.raises(SettingError, match="time_limit"):
        lemmata.study_model(linear, *TRAIN, held=HELD, time_limit=limit)
    if isinstance(limit, float):
        with pytest.raises(SettingError, match="--time-limit"):
            ModelOptions(time_limit=limit)


def test_what_a_forest_cannot_have_is_not_blamed_on_the_time_limit(linear):
    names = RowNames()
    tree = read_trained(DecisionTreeClassifier().fit(*TRAIN), *TRAIN, held=HELD)
    other = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    assert add_tables(tree, names, 0.0, {}) == [
        "lemmata did not compute the table of inputs, because of the time limit."
    ]
    assert len(add_tables(other, names, 0.0, {})) == 3


@pytest.mark.parametrize("price", [1e-6, 0.2])
def test_the_time_limit_that_is_told_is_longer_than_the_one_that_was_too_short(price):
    """The examination of a forest with a limit of 10 s was told to take 10 s."""
    trained = read_trained(DecisionTreeClassifier().fit(*TRAIN), *TRAIN, held=HELD)
    for seconds in (7.51, 9.0, 10.0):
        record = run_examination(trained, time_limit=10.0, started=time.monotonic() - 10.0)
        gauges = [dataclasses.replace(own, price=own.price and price) for own in record.gauges]
        told = " ".join(model_sentences(dataclasses.replace(record, gauges=gauges, seconds=seconds)))
        limit = re.search(r"A time limit of (\d+) s", told)
        assert limit is not None
        assert int(limit[1]) == 20
