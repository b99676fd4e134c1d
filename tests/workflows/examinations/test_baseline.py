"""The first lines say what everybody has without the model, and whether rows are drawn alike."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from scipy import special, stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, precision_score, r2_score, recall_score

import lemmata
from lemmata.interfaces.report._model import model_sentences
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import ExaminationRecord, run_examination, signs
from lemmata.workflows.examinations._alike import _unlike, drawn_apart
from lemmata.workflows.examinations._baseline import _by_frequencies, baseline, paired_interval
from lemmata.workflows.examinations._blind_spots import uneven_errors
from lemmata.workflows.records.examinations import GaugeInterval


def rare(rng, rows, share=0.03):
    """Two classes, one of them rare, that a line tells apart poorly."""
    x = rng.normal(size=(rows, 4))
    score = x[:, 0] + 0.8 * rng.normal(size=rows)
    return x, (score > np.quantile(score, 1 - share)).astype(int)


def test_a_model_of_rare_classes_is_told_beside_the_frequent_class():
    x, y = rare(np.random.default_rng(0), 1400)
    model = LogisticRegression().fit(x[:700], y[:700])
    found = lemmata.study_model(model, x[:700], y[:700], held=(x[700:], y[700:]))
    own, said = found.record.baseline, model.predict(x[700:])
    assert own.error == y[700:].mean()
    assert own.gain.value == pytest.approx(own.error - found.record.held_error.value)
    assert own.balanced == pytest.approx(1 - balanced_accuracy_score(y[700:], said))
    assert own.classes[0].label == "1"
    assert own.classes[0].recall == pytest.approx(recall_score(y[700:], said))
    assert own.classes[0].precision == pytest.approx(precision_score(y[700:], said))
    assert "Always answering 0 has an error of" in found.answer
    assert "is not significantly better: the model's error minus the baseline error is" in found.answer
    assert "classes are unbalanced" in found.answer
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record


def test_values_are_told_by_r2_beside_the_mean():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    y = x[:, 0] + 2 * rng.normal(size=300)
    model = LinearRegression().fit(x[:200], y[:200])
    found = lemmata.study_model(model, x[:200], y[:200], held=(x[200:], y[200:]))
    own, distances = found.record.baseline, (y[200:] - y[:200].mean()) ** 2
    assert own.error == pytest.approx(distances.mean())
    assert own.explained.value == pytest.approx(1 - ((y[200:] - model.predict(x[200:])) ** 2).mean() / distances.mean())
    assert own.explained.value == pytest.approx(r2_score(y[200:], model.predict(x[200:])), abs=0.05)
    assert own.explained.lower < own.explained.value < own.explained.upper <= 1
    assert own.balanced is None
    assert own.beaten
    assert "R² is" in found.answer
    assert not [sign for sign in found.record.findings if "guessed" in sign.text], "little is not nothing"


def faint(classes, seed=0):
    """Rows whose targets follow the first column, faintly: values with an R² of 0.1, classes with 38 % errors."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1200, 2))
    y = x[:, 0] / 3 + rng.normal(size=1200)
    return x, (y > 0).astype(int) if classes else y


@pytest.mark.parametrize("kind", ["values", "classes", "classes seen by their outputs"])
@pytest.mark.parametrize("held", [True, False])
def test_a_model_that_knows_little_knows_something(kind, held):
    """Errors at 0.8 of the trivial one and above: a t-test of the rows says, as the interval does, that it is less."""
    x, y = faint(kind != "values")
    model = (LinearRegression() if kind == "values" else LogisticRegression()).fit(x[:800], y[:800])
    seen, one = model.predict(x[:800]), y[:800].mean() if kind == "values" else round(y[:800].mean())
    gain = (one - y[:800]) ** 2 - (seen - y[:800]) ** 2
    assert ((seen - y[:800]) ** 2).mean() > 0.75 * ((one - y[:800]) ** 2).mean()
    assert stats.ttest_1samp(gain, 0.0).pvalue < 1e-4
    given = model.predict if kind == "classes seen by their outputs" else model
    if given is not model:
        given = lambda x: np.eye(2)[model.predict(x)]
    told = {"held": (x[800:], y[800:])} if held else {}
    found = lemmata.study_model(given, x[:800], y[:800], **told).record
    said = " ".join(own.text for own in found.findings)
    assert "does not fit its own" not in said
    assert "guessed" not in said or not held


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_model_that_is_worse_than_one_answer_is_told(sign):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    x[:, 0] += 2 * y
    w = jnp.asarray(sign * np.array([[-2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]))
    model = lambda w, rows: rows @ w - jnp.array([0.0, sign * 2.0])
    held = (x[200:], y[200:])
    record = run_examination(read_trained((model, w), x[:200], y[:200], held=held))
    assert record.baseline.beaten is (sign > 0)
    assert any("does not hold: classes are in the order" in line for line in model_sentences(record)) is (sign < 0)
    assert ("significantly worse" in " ".join(model_sentences(record))) is (sign < 0), "though nothing else was run"


def test_a_single_held_out_row_is_told_alone():
    x = np.arange(24.0).reshape(12, 2) / 24
    y = x[:, 0] + np.sin(9 * x[:, 1])
    model = LinearRegression().fit(x[:11], y[:11])
    found = lemmata.study_model(model, x[:11], y[:11], held=(x[11:], y[11:]))
    assert found.record.baseline is None
    assert "Error on held-out rows" in found.answer
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record


def test_intervals_of_a_difference_hold_the_truth():
    """1,000 sets of held-out rows of known shares; 95 % is declared, and the limits are exact or wider."""
    rng, held = np.random.default_rng(3), 0
    x = np.zeros((4, 1))
    trained = read_trained((lambda w, rows: rows @ w + jnp.zeros(2), jnp.zeros((1, 2))), x, np.array([0, 0, 0, 1]))
    for _ in range(1000):
        y = (rng.random(150) < 0.3).astype(int)
        said = np.where(rng.random(150) < 0.75, y, 1 - y)
        own = baseline(trained, np.eye(2)[said], np.eye(2)[y], np.zeros((150, 1)))
        held += own.gain.lower <= 0.3 - 0.25 <= own.gain.upper
    assert held >= 950 - 3 * np.sqrt(1000 * 0.05 * 0.95)


def test_frequencies_of_tokens_are_counted():
    train = np.array([[9, 1, 1, 2], [9, 1, 3, -1]])
    held = np.array([[9, 1, 4, -1], [9, 2, 2, 2]])
    counts = {1: 4, 2: 2, 3: 2, 4: 1}  # one more than as targets of the training documents
    nats = {token: -np.log(count / 9) for token, count in counts.items()}
    expected = [(nats[1] + nats[4]) / 2, nats[2]]
    assert _by_frequencies(train, held) == pytest.approx(expected)


def test_a_model_that_theory_cannot_speak_of_has_its_error_told():
    torch = pytest.importorskip("torch")

    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Linear(4, 2)

        @torch.no_grad()
        def forward(self, x):
            return self.w(x)

    x, y = rare(np.random.default_rng(4), 300, 0.4)
    module = Cut().double()
    record = run_examination(read_trained(module, x[:200], y[:200], held=(x[200:], y[200:])))
    said = module(torch.as_tensor(x[200:])).numpy().argmax(1)
    assert not record.gauges
    assert record.held_error.value == pytest.approx((said != y[200:]).mean())
    lines = model_sentences(record)
    assert any(line.startswith("Error on held-out rows") for line in lines)
    assert lines[-1] == "Nothing else was checked."


def test_rows_that_are_drawn_alike_are_rarely_said_not_to_be():
    """Of 300 pairs of samples, with whole numbers and constant columns among them, at level 0.001: at most 3."""
    false = 0
    for seed in range(300):
        rng = np.random.default_rng([5, seed])
        x = rng.standard_t(3, size=(130, 6))
        x[:, 1], x[:, 2] = np.round(x[:, 1]), 0.0
        false += _unlike(x[:80], x[80:], seed) is not None
    assert false <= 3


@pytest.mark.parametrize("kind", ["middle", "spread", "missing"])
def test_the_column_that_differs_is_named(kind):
    for seed in range(5):
        rng = np.random.default_rng([6, seed])
        a, b = rng.normal(size=(150, 20)), rng.normal(size=(150, 20))
        if kind == "missing":
            b[:60, 7] = -np.inf
        else:
            b[:, 7] = b[:, 7] + 1.0 if kind == "middle" else 2.5 * b[:, 7]
        found = _unlike(a, b, seed)
        assert found is not None
        assert found.column == 7
        assert found.p_value == 0.0005


def test_an_examination_says_which_column_and_which_class_are_apart():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(600, 2, 3)), rng.integers(0, 3, 600)
    x[:, 0, 0] += y
    x[300:, 1, 2] -= 1.5
    keep = np.concatenate([np.arange(300), 300 + np.flatnonzero((y[300:] != 2) | (rng.random(300) < 0.3))])
    x, y = x[keep], y[keep]
    model = lambda w, rows: rows.reshape(len(rows), -1) @ w
    trained = read_trained(
        (model, jnp.asarray(0.1 * rng.normal(size=(6, 3)))), x[:300], y[:300], held=(x[300:], y[300:])
    )
    text = drawn_apart(trained)
    assert "x[:, 1, 2] is 1." in text
    assert "standard deviations smaller" in text
    assert "class 2 is" in text
    assert "column 'f' is 1." in drawn_apart(trained, tuple("abcdef"))
    assert "x[:, 1, 2] is 1." in drawn_apart(trained, ("one", "two")), "names of other columns"
    plain = read_trained((model, jnp.ones((6, 3))), x[:150], y[:150], held=(x[150:300], y[150:300]))
    assert drawn_apart(plain) is None


@pytest.mark.parametrize("values", [False, True])
def test_copies_with_another_target_are_named(values):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 3))
    x[70:] = x[:10]
    y = x[:, 0] + 0.1 * rng.normal(size=80) if values else (x[:, 0] > 0).astype(int)
    y[70:] = y[:10]
    quiet = LinearRegression() if values else LogisticRegression()
    assert "no model can predict both" not in str(lemmata.study_model(quiet.fit(x, y), x, y).record.findings)
    y[[72, 75]] = y[[72, 75]] + 1.0 if values else 1 - y[[72, 75]]
    (found,) = [
        own.text for own in lemmata.study_model(quiet.fit(x, y), x, y).record.findings if "duplicate" in own.text
    ]
    what = "value" if values else "class"
    told = f"4 of these rows have a duplicate with another {what}, so no model can predict both rows correctly. "
    told += "Look at rows 2, 5, 72, 75"
    assert told in found


def test_an_interval_that_holds_everything_says_little():
    rng = np.random.default_rng(6)
    x, y = rare(rng, 600, share=0.4)
    model = LogisticRegression().fit(x[:300], y[:300])
    record = lemmata.study_model(model, x[:300], y[:300], held=(x[300:], y[300:])).record
    place, own = next((k, own) for k, own in enumerate(record.gauges) if own is record.left_out)
    assert own.status == "agrees"
    assert any(text.endswith("Prediction and measurement agree.") for text in model_sentences(record))
    wide = dataclasses.replace(own, predicted=dataclasses.replace(own.predicted, lower=0.0, upper=0.548))
    other = dataclasses.replace(record, gauges=[*record.gauges[:place], wide, *record.gauges[place + 1 :]])
    assert any(
        text.endswith("agree, but the interval is so wide that the agreement says little.")
        for text in model_sentences(other)
    )


def test_targets_of_another_spread_are_told_by_it():
    """Held-out values are twice as wide around the same mean."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    y[300:] *= 2
    y[300:] += y[:300].mean() - y[300:].mean()
    text = drawn_apart(read_trained(lambda x: x[:, :1], x[:300], y[:300], held=(x[300:], y[300:])))
    assert f"the spread of the target in held-out rows is {y[300:].std() / y[:300].std():.2g} times" in text


def test_the_column_that_has_changed_is_called_as_in_the_frame():
    rng = np.random.default_rng(4)
    table = pl.DataFrame(rng.normal(size=(400, 3)), schema=["age", "dose", "weight"])
    y = (table["age"] > 0).cast(int)
    moved = table[200:].with_columns(pl.col("dose") + 2)
    model = LogisticRegression().fit(table[:200], y[:200])
    found = lemmata.study_model(model, table[:200], y[:200], held=(moved, y[200:])).record.findings
    assert any("column 'dose' is 2 standard" in own.text for own in found)


@pytest.mark.parametrize("weights", [False, True])
def test_weights_are_blamed_only_if_there_are_weights(weights):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    model = (lambda w, rows: rows @ w, np.zeros((2, 2))) if weights else lambda rows: np.full((len(rows), 2), 0.5)
    (sign,) = [sign for sign in signs(read_trained(model, x, y), [], None) if sign.name == "not trained"]
    assert ("These weights do not look trained." in sign.finding.text) == weights
    assert ("The model may not have been fitted to these rows." in sign.finding.text) != weights


@pytest.mark.parametrize("shares", [(0.02, 0.0), (0.02, 0.001), (0.3, 0.1), (0.05, 0.05), (0.9, 0.02)])
@pytest.mark.parametrize("n", [20, 60])
def test_the_paired_interval_covers_however_few_rows_differ(shares, n):
    """Over all counts: an interval from the rows that differ alone covered 46 to 58 of 100 where few rows differ."""
    more, fewer = shares
    covered = 0.0
    for right in range(n + 1):
        for wrong in range(n + 1 - right):
            chance = stats.multinomial.pmf([right, wrong, n - right - wrong], n, [more, fewer, 1 - more - fewer])
            if chance > 1e-7:
                low, high = paired_interval(right, wrong, n)
                covered += chance * (low <= more - fewer <= high)
    assert covered > 0.93


@pytest.mark.parametrize(("right", "wrong", "n"), [(10, 3, 100), (2, 0, 50), (0, 30, 40), (25, 24, 49), (7, 1, 9)])
def test_the_ends_of_the_paired_interval_are_where_the_score_test_rejects(right, wrong, n):
    """The restricted likelihood is maximised by brute force."""
    low, high = paired_interval(right, wrong, n)
    assert low <= (right - wrong) / n <= high
    decided = stats.binomtest(right, right + wrong).pvalue < 0.05
    assert (low > 0 or high < 0) == decided
    for end in (low, high):
        if end in (0.0, -1.0, 1.0):
            continue
        q = np.linspace(max(0.0, -end), (1 - end) / 2, 200_001)[1:-1]
        same = special.xlogy(n - right - wrong, 1 - 2 * q - end)
        fit = special.xlogy(right, q + end) + special.xlogy(wrong, q) + same
        variance = n * (2 * q[fit.argmax()] + end * (1 - end))
        assert abs((right - wrong - n * end) / variance**0.5) == pytest.approx(1.96, abs=5e-3)


def heavy(seed, rows=150):
    """A model that knows the mean of a target with a heavy tail."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    y = np.exp(0.5 * x[:, 0] + 1.5 * rng.normal(size=rows))
    return read_trained(lambda x: np.exp(0.5 * x[:, 0] + 1.125), x, y, held=(x, y))


def test_an_error_that_rests_on_few_rows_is_told():
    told = [uneven_errors(heavy(seed)) for seed in range(10)]
    assert sum(text is not None for text in told) >= 8
    first = next(seed for seed, text in enumerate(told) if text is not None)
    assert "One held-out row makes up" in str(told[first])
    assert "uneven errors" in [sign.name for sign in signs(heavy(first), [], GaugeInterval(1.0, 0.5, 1.5))]


@pytest.mark.parametrize("rows", [12, 40, 150, 1000])
def test_errors_of_normal_noise_rest_on_no_row(rows):
    rng = np.random.default_rng(rows)
    for _ in range(20):
        x, noise = rng.normal(size=(rows, 2)), rng.normal(size=rows)
        assert uneven_errors(read_trained(lambda x: x[:, 0], x, x[:, 0] + noise, held=(x, x[:, 0] + noise))) is None
