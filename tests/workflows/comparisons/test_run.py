"""The whole comparison on small tasks: its record, interrupted, cut by a time limit; wide, trained, denoising."""

import dataclasses
import json
import time

import numpy as np
import pytest

import lemmata
from lemmata.errors import DataError, SettingError
from lemmata.options import ComparisonOptions
from lemmata.workflows.comparisons import ComparisonRecord, _run, load_sequences, run_comparison
from lemmata.workflows.comparisons._costs import cost
from lemmata.workflows.comparisons._measure import FixedMixer, guessing, measure
from lemmata.workflows.comparisons._mixers import BY_NAME
from lemmata.workflows.comparisons._predicted import predict
from lemmata.workflows.comparisons._splits import splits
from lemmata.workflows.comparisons._theorem import theorem
from lemmata.workflows.comparisons._verdict import sentences, trained
from lemmata.workflows.records.comparisons import SCHEMA, FamilyResult, FiniteResult, Interval, ScoreResult

QUICK = ComparisonOptions(families="mlp,conv", lengths="none", repeats=2, max_rows=120)


@pytest.fixture(scope="module")
def record():
    return run_comparison(load_sequences("motif", QUICK), QUICK)


def test_the_record_is_whole(record):
    assert [family.name for family in record.families] == ["mlp", "conv"]
    assert record.winner == "conv"
    assert [(pair.first, pair.second) for pair in record.pairs] == [("mlp", "conv")]
    assert record.pairs[0].decided
    assert record.theorem is None, "it is about recurrence and attention"
    for family in record.families:
        assert [point.n for point in family.points] == [8, 15, 30, 60]
        assert all(point.predicted.lower <= point.predicted.value <= point.predicted.upper for point in family.points)
        assert [point.n for point in family.later] == [120, 240, 480]
        assert len(family.chosen) == len(family.ridges) == 2
        assert set(family.chosen) <= set(family.values)
        assert 0 <= family.alignment[0] <= family.alignment[1] <= 1 + 1e-9
        assert family.error.lower <= family.error.value <= family.error.upper


def test_a_record_is_read_back_as_it_was_written(record, tmp_path):
    assert ComparisonRecord.from_json(record.to_json()) == record
    path = tmp_path / "compare.json"
    path.write_text(record.to_json())
    assert ComparisonRecord.load(path) == record
    for text, words in (
        ("{}", "schema; found no schema"), ("[", "not a record of a comparison"),
        (f'{{"schema": {SCHEMA}}}', "found no lemmata"),
        ('{"schema": 1}', "run lemmata compare again"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=words):
            ComparisonRecord.from_json(text)
    with pytest.raises(DataError, match="cannot be read"):
        ComparisonRecord.load(tmp_path / "none.json")


def test_no_held_out_row_enters_a_prediction():
    """Other inputs and targets there change nothing; with all training rows it is their leave-one-out error."""
    data = load_sequences("motif", dataclasses.replace(QUICK, max_rows=80))
    of = splits(80, 0.5, 1, seed=3)
    found = measure(FixedMixer("conv", data, False, 0), data, of)
    told = predict(FixedMixer("conv", data, False, 0), data.y, of, found)
    held, x, y = of.tests[0], data.x.copy(), data.y.copy()
    x[held], y[held] = 5 * x[held][::-1], 100 - y[held]
    other = predict(FixedMixer("conv", dataclasses.replace(data, x=x, y=y), False, 0), y, of, found)
    assert np.array_equal(other.error, told.error)
    assert (other.equivalent, other.effective_dimension) == (told.equivalent, told.effective_dimension)
    own = y[of.orders[0]]
    assert told.error[-1] == pytest.approx(found.chosen[-1][0].left_out / (own.var(ddof=1) * (1 + 1 / len(own))))
    width = 1.96 * found.chosen[-1][0].uncertainty
    assert np.log(told.upper / told.error)[-1] == pytest.approx(width), "one split"
    x[of.orders[0][0]] *= 2
    changed = predict(FixedMixer("conv", dataclasses.replace(data, x=x, y=y), False, 0), y, of, found)
    assert changed.error[0] != told.error[0], "a training row does"


def test_the_same_seed_gives_the_same_numbers(record):
    again = run_comparison(load_sequences("motif", QUICK), QUICK)
    untimed = lambda found: [dataclasses.replace(family, seconds=0.0) for family in found.families]
    assert untimed(again) == untimed(record)


def test_errors_are_those_of_the_splits(record):
    """By hand: fit at the chosen setting on every split, without the code that keeps books."""
    data = load_sequences("motif", QUICK)
    of = splits(len(data.x), 0.5, 2, 0)
    found = measure(FixedMixer("conv", data, False, 0), data, of)
    expected = found.losses.sum() / guessing(data.y, of).sum()
    assert record.families[1].error.value == pytest.approx(expected)
    assert not set(of.orders[0]) & set(of.tests[0])
    mean = data.y[of.orders[0]].mean()
    assert guessing(data.y, of)[0] == pytest.approx(((data.y[of.tests[0]] - mean) ** 2).sum(axis=1))


def test_interrupted_with_a_family_finished(monkeypatch):
    whole = _run.predict

    def stop(candidate, *rest):
        if candidate.setting.startswith("width of the features"):
            raise KeyboardInterrupt
        return whole(candidate, *rest)

    monkeypatch.setattr(_run, "predict", stop)
    found = run_comparison(load_sequences("motif", QUICK), QUICK)
    assert found.interrupted
    assert [family.name for family in found.families] == ["mlp"]
    assert found.winner is None, "a single family wins nothing"
    only = dataclasses.replace(QUICK, families="conv")
    with pytest.raises(KeyboardInterrupt):
        run_comparison(load_sequences("motif", only), only)


def test_a_time_limit_leaves_families_out():
    options = dataclasses.replace(QUICK, time_limit=10.0)
    found = run_comparison(load_sequences("motif", options), options, started=time.monotonic() - 9)
    assert [family.name for family in found.families] == ["mlp"]
    assert any("convolution" in note for note in found.notes)
    assert not found.interrupted


def test_costs_have_the_exponents_that_they_must():
    """Operations: T² for attention at every position, T for the others, and for attention asked from one token."""
    for family, exponent in (("mlp", 1), ("conv", 1), ("recurrent", 1), ("attention", 2)):
        found = cost(family, (128, 256, 512), 4, mean=False)
        assert found is not None
        assert found.flops == pytest.approx(exponent, abs=0.15)
        assert found.read == pytest.approx(1, abs=0.15)
        assert all(point.seconds > 0 for point in found.points)
    assert cost("mlp", (64,), 4, mean=False) is None


def test_reading_the_mean_changes_recurrence_and_attention():
    options = dataclasses.replace(QUICK, read="mean", families="recurrent,attention", max_rows=60)
    data = load_sequences("motif", options)
    for name in options.family_names:
        last, mean = (FixedMixer(name, data, mean, 0).kernel(1, np.arange(30)) for mean in (False, True))
        assert not np.allclose(last, mean)
    found = run_comparison(data, options)
    assert found.data.read == "mean"
    assert any("averaged over all positions" in sentence for sentence in found.sentences)
    assert all(family.words.startswith("the mean over") and "last" not in family.words for family in found.families)
    assert all("last" in BY_NAME[name].described(False) for name in options.family_names)


def test_wide_networks_honour_masks():
    from lemmata.workflows.comparisons._wide import WideNetwork

    rng = np.random.default_rng(0)
    alone = load_sequences((rng.standard_normal((40, 4, 2)), rng.standard_normal(40)))
    mask = np.tile(np.arange(6) >= 2, (40, 1))
    padded = dataclasses.replace(alone, x=np.pad(alone.x, ((0, 0), (2, 0), (0, 0))), mask=mask)
    rows = np.arange(40)
    for family in ("conv", "attention"):
        whole = WideNetwork(family, alone, False).kernel(0, rows)
        assert np.allclose(WideNetwork(family, padded, False).kernel(0, rows), whole, rtol=1e-5), family


def test_wide_networks_find_what_is_looked_up():
    options = ComparisonOptions(kernels="wide", families="mlp,attention", repeats=1, max_rows=160, lengths="none")
    found = run_comparison(load_sequences("lookup", options), options)
    assert found.winner == "attention"
    assert found.families[0].setting == "hidden layers"


def test_trained_networks_stand_beside_their_kernels():
    options = dataclasses.replace(QUICK, families="conv", finite=True, max_rows=400)
    found = run_comparison(load_sequences("motif", options), options)
    own = found.finite[0]
    assert own.name == "conv"
    assert own.error < 0.5
    assert own.parameters <= 6000
    assert own.kernel == pytest.approx(found.families[0].error.value, rel=0.5)


def test_denoising_stands_apart():
    options = ComparisonOptions(families="score", max_rows=300)
    found = run_comparison(load_sequences("smooth", options), options)
    assert found.families == []
    assert {own.kernel for own in found.scores} == {"linear", "Gaussian", "Laplace"}
    assert all(own.error == 1 for own in found.scores if own.kernel == "linear")
    assert "does not combine the tokens of a sequence" in found.sentences[0]


@pytest.mark.parametrize("late", [False, True])
def test_what_stands_beside_the_errors_tells_its_progress_and_stops_at_the_time_limit(late, monkeypatch):
    options = ComparisonOptions(families="mlp,conv,score", lengths="64,128", max_rows=80, time_limit=100.0)
    data, told, scores = load_sequences("smooth", options), [], [ScoreResult("linear", 0.5, 1.0)]
    monkeypatch.setattr(_run, "cost", lambda *given: None)
    monkeypatch.setattr("lemmata.workflows.comparisons._scores.denoising", lambda *given: scores)
    job = _run._Job(data, options, lambda *given: told.append(given), time.monotonic() - 1000 * late)
    job.beside()
    costs = [("Cost against length", 0, 2), ("Cost against length", 1, 2)]
    assert told == ([] if late else [*costs, ("Denoising", 0, 1)])
    assert job.scores == ([] if late else scores)
    assert job.notes == (["The time limit was reached before all costs were measured."] if late else [])
    assert job.costs == {}


def family(name, error, title=None, **changed):
    parts = {
        "name": name, "title": title or name, "words": "", "error": Interval(error, 0.9 * error, 1.05 * error),
        "wrong": None, "permuted": Interval(1.0, 0.99, 1.01), "sound": True, "setting": "s", "values": [1.0],
        "chosen": [1.0], "ridges": [1.0], "points": [], "ratio": None, "equivalent": None, "later": [],
        "effective_dimension": None, "alignment": [], "seconds": 1.0,
    } | changed  # fmt: skip
    return FamilyResult(**parts)


def test_sentences_say_what_the_numbers_do(record):
    flat, attention = family("mlp", 0.2, "flattened"), family("attention", 0.7)
    tie = sentences(record.data, [flat, family("conv", 0.21), attention], ["mlp", "conv"], None)
    assert tie[0].startswith("No winner between flattened and conv: they leave 0.200 and 0.210")
    assert "These families leave more unexplained: attention (0.700)" in tie[0]
    assert "combining tokens gains little" in tie[1]
    guess = sentences(record.data, [family("mlp", 1.0), family("conv", 0.99)], ["conv", "mlp"], None)
    assert "no signal" in guess[0]
    leak = dataclasses.replace(flat, sound=False, permuted=Interval(0.5, 0.4, 0.6))
    assert any("Do not trust" in line for line in sentences(record.data, [leak, attention], ["mlp"], None))


def test_trained_networks_may_be_ordered_otherwise():
    titles = {"mlp": "flattened", "conv": "convolution"}
    own = lambda name, error, kernel: FiniteResult(name, error, kernel, 100, 10, 1.0)
    for results, words in (
        (
            [own("mlp", 0.1, 0.3), own("conv", 0.4, 0.2)],
            "misleads here: as a trained network, flattened is better than convolution",
        ),
        ([own("mlp", 0.4, 0.3), own("conv", 0.1, 0.2)], "this family also has the lowest error, or nearly the lowest"),
        ([own("mlp", 1.0, 1.0), own("conv", 1.0, 0.2)], "features from the start, but a network must first learn them"),
        ([own("mlp", 1.0, 1.0), own("conv", 1.0, 1.0)], "None of the networks learns anything."),
        ([own("mlp", 0.4, 1.0)], "On one split, a small network of each family was trained."),
    ):
        assert words in trained(results, titles)[0]
    assert trained([], titles) == []


def test_what_the_printed_theorem_would_have_said():
    from lemmata.workflows.comparisons._bootstrap import Pair

    data = load_sequences("noise", QUICK)
    decided = Pair(0, 1, 0.9, 0.8, 1.0, 1e-4, 1e-4)
    found = theorem(data, 400, {"recurrent": 0.95, "attention": 0.05}, decided)
    assert found is not None
    assert found.named == "recurrent"
    assert found.right is False
    swapped = theorem(data, 400, {"recurrent": 0.05, "attention": 0.95}, decided)
    assert swapped is not None
    assert swapped.right is True
    open_question = theorem(data, 400, {"recurrent": 0.5, "attention": 0.52}, Pair(0, 1, -0.02, -0.1, 0.1, 0.5, 0.5))
    assert open_question is not None
    assert open_question.right is None
    assert theorem(data, 400, {}, None) is None


def test_in_python(record):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 4, 1))
    found = lemmata.compare(x, x[:, -1, 0], families=["mlp", "recurrent"], lengths="none", repeats=2)
    assert "Both errors are small" in found.answer  # 76 times as much, of next to nothing
    assert "<table" in found._repr_html_()
    assert "<script" not in found._repr_html_()
    assert set(found.curves["kind"]) == {"measured", "predicted"}
    for options, words in (({"family": "mlp"}, "families"), ({"mask": np.ones((60, 4))}, "mask is given without y")):
        with pytest.raises(SettingError, match=words):
            lemmata.compare("noise", **options)
    assert json.loads(found.record.to_json())["winner"] == "mlp"
