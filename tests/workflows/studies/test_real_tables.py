"""Tables of practitioners (see data/README.md): what is said of them agrees with itself, and their traps are named."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from lemmata.options import StudyOptions
from lemmata.workflows.records import FARTHEST
from lemmata.workflows.studies import load_dataset, run_study

DATA = Path(__file__).parent / "data"
QUICK = StudyOptions(models="linear,rbf,relu-1", quick=True)
ASKED = {
    "few rows, in shares of the variance": ("statecrime", "unexplained 0.1"),
    "few rows, more than the variance": ("statecrime", "unexplained 0.9"),
    "few rows, nothing asked": ("statecrime", None),
    "half a tenth": ("cars", "unexplained 0.26"),
    "beyond the data": ("cars", "rmse 2.4"),
}


def table(name):
    if name == "statecrime":
        return load_dataset(DATA / "statecrime.csv", "murder")
    return load_dataset(DATA / "cars.csv", "Miles_per_Gallon", drop_columns=["Name"])


@pytest.fixture(scope="module", params=list(ASKED.values()), ids=list(ASKED))
def study(request):
    name, error = request.param
    return run_study(table(name), dataclasses.replace(QUICK, error=error))


def test_no_number_of_rows_contradicts_a_measurement(study):
    """Before the fewest rows the value was not measured, and from the most rows on it was, within two errors."""
    asked = study.answers.asked
    decided = 0
    for model in study.models:
        for point in model.points:
            if point.n < model.needed.lower:
                assert point.value + 2 * point.se >= asked, (model.name, point)
                decided += 1
            if point.n >= model.needed.upper:
                assert point.value - 2 * point.se <= asked, (model.name, point)
                decided += 1
    assert decided > 0


def test_what_is_expected_agrees_with_what_was_measured(study):
    for model in study.models:
        last = model.points[-1]
        assert model.now.lower <= last.value + 2 * last.se
        assert model.now.upper >= last.value - 2 * last.se


def test_a_value_that_is_expected_at_some_size_is_reached_there(study):
    """The rows that a value takes are those from which the same page's curve is at or below it, and not "never"."""
    asked, total = study.answers.asked, study.data.used_rows
    for model in study.models:
        there = [point.n for point in model.band if point.value <= asked]
        if there:
            assert model.needed.value <= there[0] * (1 + 1e-9)
        before = [point.n for point in model.band if point.value > asked]
        if before and there and before[-1] < there[0]:
            assert model.needed.value >= before[-1] * (1 - 1e-9)
        if model.needed.value > FARTHEST * total:
            assert all(point.value > asked for point in model.band)
        assert model.needed.lower <= model.needed.value <= model.needed.upper


def test_the_sentences_are_those_of_the_numbers(study):
    answers = study.answers
    best = next(model for model in study.models if model.name == answers.best)
    for end in ("value", "lower", "upper"):
        assert getattr(answers.needed, end) == pytest.approx(getattr(best.needed, end), rel=1e-9)
    assert answers.now == best.now
    told = " ".join(answers.sentences)
    never = best.needed.value > FARTHEST * study.data.used_rows
    denied, open_ = "None of these models is expected" in told, "It is open whether more rows" in told
    assert never or not denied
    assert denied or open_ or not never
    reached = [model.needed.value for model in study.models if model.learns]
    if math.isfinite(min(reached)) and answers.origin == "asked with --error":
        assert best.needed.value == min(reached)


def test_four_rows_of_a_traveller_are_a_group():
    findings = {item.kind: item for item in load_dataset(DATA / "modechoice.csv", "choice").findings}
    assert findings["group"].columns == ("individual",)
    assert "210 values with 4 rows each" in findings["group"].text
    assert "--group 'individual'" in findings["group"].text


def test_travellers_stay_together_on_request():
    data = load_dataset(DATA / "modechoice.csv", "choice", group="individual")
    assert "individual" not in data.raw_features
    assert data.groups is not None
    assert np.bincount(data.groups).tolist() == [4] * 210
    assert not [item for item in data.findings if item.kind == "group"]


def test_a_state_is_no_input_and_one_of_them_decides_every_error():
    findings = {item.kind: item for item in table("statecrime").findings}
    assert findings["identifier"].columns == ("state",)
    assert findings["tail"].columns == ("murder",)
    assert "1 row holds 56 % of its variance" in findings["tail"].text


@pytest.mark.parametrize("seed", range(3))
def test_a_target_that_is_nearly_always_zero_has_heavy_tails(seed):
    """Shaped like hours of affairs in surveys: two thirds zeros, the rest of many orders of magnitude."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(600, 3))
    hours = np.where(rng.uniform(size=600) < 0.68, 0.0, np.exp(1.4 * rng.normal(size=600)))
    kinds = {item.kind: item for item in load_dataset((x, hours)).findings}
    assert "heavy tails" in kinds["tail"].text
    assert "logarithm of 1 + the target" in kinds["tail"].text
    plain = load_dataset((x, rng.gamma(4.0, size=600)))
    assert not [item for item in plain.findings if item.kind == "tail"]
