"""What an examination says of the loss: on the page, in the notes, and as the reason of theories that it rules out."""

import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    SGDRegressor,
)
from typer.testing import CliRunner

import lemmata
from lemmata.interfaces.cli import app
from lemmata.subjects.trained_models._stated_losses import estimator_loss

RNG = np.random.default_rng(8)
X = RNG.normal(size=(180, 3))
LINE = X @ np.array([1.0, -1.0, 0.5])
Y = (RNG.random(180) < 1 / (1 + np.exp(-2 * LINE))).astype(int)
VALUES = LINE + 0.3 * RNG.normal(size=180)
COUNTS = RNG.poisson(np.exp(LINE / 2)).astype(float)
ROWS, NEW = slice(0, 60), slice(60, None)
SINGLE = (lambda own, x: x @ own, jnp.asarray([[2.0], [-2.0], [1.0]]))


def studied(model, y, **facts):
    facts = {"time_limit": 600.0, **facts}  # a slow machine expects more than the default limit
    return lemmata.study_model(model, X[ROWS], y[ROWS], held=(X[NEW], y[NEW]), **facts)


def test_the_page_says_with_which_loss_the_model_is_read(tmp_path):
    found = studied(SINGLE, Y, decay=0.01)
    told = "log loss, as one output for two classes is read as the logit of the second"
    assert found.record.model.loss == told
    assert any(note.startswith(f"Loss: {told}.") for note in found.record.notes)
    assert f"Loss: {told}." in found.report(tmp_path).read_text()
    usual = studied(LogisticRegression().fit(X[ROWS], Y[ROWS]), Y)
    assert usual.record.model.loss == "log loss, as the targets are classes"
    assert not any(note.startswith("Loss") for note in usual.record.notes)
    again = lemmata.ModelStudy.load(found.save(tmp_path / "model.json"))
    assert again.record.model.loss == told


def test_least_squares_without_a_penalty_is_left_out_exactly():
    model = LinearRegression().fit(X[ROWS], VALUES[ROWS])
    found = studied(model, VALUES)
    assert found.record.model.decay == 0.0
    q = np.linalg.qr(np.column_stack([X[ROWS], np.ones(60)]))[0]
    leverages = (q**2).sum(1)
    left_out = (VALUES[ROWS] - model.predict(X[ROWS])) / (1 - leverages)
    assert found.record.left_out.predicted.value == pytest.approx((left_out**2).mean(), rel=1e-9)
    training = found.rows.filter(part="training")
    np.testing.assert_allclose(training["leverage"], leverages, rtol=1e-9)
    np.testing.assert_allclose(training["left_out_loss"], left_out**2, rtol=1e-8, atol=1e-12)
    effect = found.record.gauge("effect_of_one_row")
    assert effect.measured.value == pytest.approx(effect.predicted.value, rel=1e-6)


def test_a_theory_of_other_losses_names_the_loss():
    found = studied(HuberRegressor(alpha=0.1, max_iter=1000).fit(X[ROWS], VALUES[ROWS]), VALUES)
    own = found.record.gauge("convex_models_are_stable")
    assert own.status == "inapplicable"
    assert "decay" not in own.reason
    assert own.reason.startswith("its loss is Huber's loss of width 0.")
    assert own.reason.endswith(", but this theory holds only for log loss and squared loss")
    assert [(condition.name, condition.holds) for condition in own.hypotheses] == [("the training loss", False)]
    assert found.record.left_out.predicted is not None


def test_counts_are_predicted_as_counts():
    model = PoissonRegressor(alpha=0.1, max_iter=1000).fit(X[ROWS], COUNTS[ROWS])
    found = studied(model, COUNTS)
    assert found.record.held_error.value == pytest.approx(((model.predict(X[NEW]) - COUNTS[NEW]) ** 2).mean())
    rows = found.rows.filter(part="held out")
    np.testing.assert_allclose(rows["predicted"], model.predict(X[NEW]), rtol=1e-10)
    assert found.record.gauge("error_of_the_end_kernel").reason.startswith("its loss is Poisson loss, but this theory")


def test_a_loss_that_cannot_be_stated_is_the_reason():
    model = SGDRegressor(loss="epsilon_insensitive", random_state=0).fit(X[ROWS], VALUES[ROWS])
    told = "the epsilon_insensitive loss of SGDRegressor"
    for found, words in ((studied(model, VALUES), told), (studied(SINGLE, VALUES, loss="other"), "another loss")):
        own = found.record.left_out
        assert own.status == "inapplicable"
        assert own.reason == f"its loss is {words}, whose derivatives lemmata does not know"
        assert found.record.model.decay is None
        assert any(note.startswith(f"This model was trained with {words}. lemmata does") for note in found.record.notes)
        assert found.record.held_error is not None


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (CalibratedClassifierCV(LogisticRegression()).fit(X[ROWS], Y[ROWS]), Y),
        (QuantileRegressor(alpha=0.01).fit(X[ROWS], VALUES[ROWS]), VALUES),
    ],
)
def test_a_model_seen_by_its_outputs_says_what_is_not_asked(model, y, tmp_path):
    found = studied(model, y)
    (note,) = (own for own in found.record.notes if own.startswith("lemmata sees the outputs of this"))
    assert type(model).__name__ in note
    assert "the error that training rows alone predict" in note
    assert ("attacks by gradients" in note) == (y is Y)
    assert "which training labels are wrong" not in note  # a forest judged the labels, or there are no classes
    asked = model.__class__.__name__ == "CalibratedClassifierCV"
    assert found.record.model.loss.startswith("none is needed" if asked else "the pinball loss")
    assert "lemmata sees the outputs of this" in found.report(tmp_path).read_text()
    assert not any("lemmata sees the outputs" in own for own in studied(SINGLE, Y, decay=0.01).record.notes)


def test_your_own_call_may_give_what_the_outputs_stand_for():
    rate = PoissonRegressor(alpha=0.1, max_iter=1000).fit(X[ROWS], COUNTS[ROWS])
    logit = lambda rows: rows @ np.array([2.0, -2.0, 1.0])
    for model, y, user in ((SINGLE, Y, logit), (rate, COUNTS, rate.predict)):
        for factor in (1.0, 1.1):
            found = studied(model, y, decay=0.01, user=lambda rows, user=user, factor=factor: factor * user(rows))
            (check,) = (
                own for own in found.record.preflight if own.name == "outputs equal the outputs of your own call"
            )
            assert check.holds == (factor == 1.0)


def test_the_command_is_told_the_loss(tmp_path, monkeypatch):
    program = "import jax.numpy as jnp\ndef build():\n    return (lambda own, x: x @ own), jnp.ones((3, 1))\n"
    (tmp_path / "net.py").write_text(program)
    (tmp_path / "own.py").write_text(program + "loss = 'huber 2'\n")
    frame = pl.DataFrame({f"x{k}": X[:, k] for k in range(3)})
    frame.with_columns(y=pl.Series(Y)).write_csv(tmp_path / "classes.csv")
    frame.with_columns(y=pl.Series(VALUES)).write_csv(tmp_path / "values.csv")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        found = CliRunner().invoke(app, ["model", *words])
        assert "Traceback" not in found.output
        return found.exit_code, " ".join(found.output.split())

    code, said = run("net.py", "classes.csv", "--loss", "log, weights 1=3")
    assert code == 0
    assert "Loss: log loss with class weights 0: 1, 1: 3, as stated." in said
    assert "Loss: Huber's loss of width 2, as stated." in run("own.py", "values.csv")[1]
    code, said = run("net.py", "classes.csv", "--loss", "log, weights 2=3")
    assert code == 2
    assert "weights of classes" in said
    code, said = run("net.py", "classes.csv", "--loss", "hinge")
    assert code == 2
    assert "'hinge'" in said


@pytest.mark.parametrize("size", [0.1, 20.0])
def test_weights_that_imply_no_decay_ask_for_the_loss(size):
    """Short weights are held back by a decay, or by an early end; weights that are too long have none."""
    w = size * np.outer([1.0, -1.0, 0.5], [-1.0, 1.0])
    found = studied(((lambda own, x: x @ own), jnp.asarray(w)), Y)
    assert (found.record.model.decay == 0) == (size > 1)
    words = "With log loss, as the targets are classes, the weights imply no decay. There are three possible"
    assert any(note.startswith(words) for note in found.record.notes) == (size > 1)


def test_a_penalty_of_absolute_values_is_no_decay():
    lasso = Lasso(0.1).fit(X[ROWS], X[ROWS, 0] + 0.1)
    lines = (lasso, LassoCV().fit(X[ROWS], X[ROWS, 0]), ElasticNet(0.1).fit(X[ROWS], X[ROWS, 0]))
    sparse = LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X[ROWS], X[ROWS, 0] > 0)
    descended = SGDRegressor(penalty="l1", random_state=0).fit(X[ROWS], X[ROWS, 0])
    for model in (*lines, sparse, descended):
        loss, decay = estimator_loss(model, 200)
        assert (loss.kind, decay) == ("other", None)
        assert type(model).__name__ in loss.said
    for model in (ElasticNet(0.1, l1_ratio=0.0).fit(X[ROWS], X[ROWS, 0]), Ridge().fit(X[ROWS], X[ROWS, 0])):
        assert estimator_loss(model, 200)[0].kind == "squared"
    plain = LogisticRegression().fit(X[ROWS], X[ROWS, 0] > 0)
    assert estimator_loss(plain, 200) == (None, None)
    record = lemmata.study_model(lasso, X[ROWS], X[ROWS, 0] + 0.1, held=(X[NEW], X[NEW, 0])).record
    assert record.model.decay is None
    assert "a penalty of absolute values, that of Lasso" in " ".join(record.notes)
    assert record.left_out is not None
    assert record.left_out.status == "inapplicable"
    assert record.held_error is not None
