"""What an examination says of single rows: held against refits, scikit-learn, and counts."""

import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

import lemmata
from lemmata.interfaces.cli import app
from lemmata.interfaces.report._model import model_page
from lemmata.subjects.trained_models import held_influence, read_trained
from lemmata.workflows.examinations import ExaminationRecord, row_table
from lemmata.workflows.examinations._prediction_sets import prediction_sets


def classes(rows, seed=0, wrong=0.0):
    """Three classes that lines tell apart well, and which labels were replaced."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    y = np.argmax(x[:, :3] * 3 + rng.gumbel(size=(rows, 3)), axis=1)
    flipped = rng.random(rows) < wrong
    return x, np.where(flipped, (y + 1) % 3, y), flipped


def ridge(x, y, decay):
    """The minimiser of mean squared distance / 2 + decay/2 |w|², in closed form."""
    return np.linalg.solve(x.T @ x + len(x) * decay * np.eye(x.shape[1]), x.T @ y)


def test_effects_on_held_out_rows_are_those_of_refits_where_all_is_linear():
    rng = np.random.default_rng(1)
    x, held = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    y, targets = x @ [1.0, 2.0, 0.0] + rng.normal(size=40), held @ [1.0, 2.0, 0.0] + rng.normal(size=30)
    w = ridge(x, y, 0.05)
    trained = read_trained((lambda w, x: x @ w, jnp.asarray(w)), x, y, held=(held, targets), decay=0.05)
    slope = held.T @ (held @ w - targets) / 30
    rest = [np.arange(40) != i for i in range(40)]
    refits = [ridge(x[own], y[own], 0.05 * 40 / 39) for own in rest]
    np.testing.assert_allclose(held_influence(trained), [slope @ (v - w) for v in refits], rtol=1e-5, atol=1e-9)


def test_effects_on_held_out_rows_follow_refits_of_classes():
    (x, y, _), (held, targets, _) = classes(120, wrong=0.1), classes(100, seed=1)
    fit = lambda x, y, C: LogisticRegression(C=C, tol=1e-10, max_iter=10000).fit(x, y)
    loss = lambda model: -np.log(model.predict_proba(held)[np.arange(100), targets]).mean()
    found = lemmata.study_model(fit(x, y, 0.3), x, y, held=(held, targets))
    effects = found.rows.filter(part="training")["effect_on_held_loss"].to_numpy()
    rows = np.argsort(-np.abs(effects))[:12]
    refits = [loss(fit(np.delete(x, i, 0), np.delete(y, i), 0.3)) - loss(fit(x, y, 0.3)) for i in rows]
    np.testing.assert_allclose(effects[rows], refits, rtol=0.35, atol=1e-5)
    assert np.corrcoef(effects[rows], refits)[0, 1] > 0.99


def test_every_row_has_what_is_known_of_it():
    pandas = pytest.importorskip("pandas")
    (x, y, _), (held, targets, _) = classes(200), classes(150, seed=1)
    model = LogisticRegression(C=0.5, tol=1e-8, max_iter=10000).fit(x, y)
    frame = pandas.DataFrame(x, index=[f"r{i}" for i in range(200)])
    found = lemmata.study_model(model, frame, y, held=(held, targets))
    own, new = found.rows.filter(part="training"), found.rows.filter(part="held out")
    assert (own.height, new.height) == (200, 150)
    assert own["row"][:2].to_list() == ["r0", "r1"]
    assert new["target"].to_list() == [str(k) for k in targets]
    assert new["predicted"].to_list() == [str(k) for k in model.predict(held)]
    p = model.predict_proba(held)[np.arange(150), targets]
    np.testing.assert_allclose(new["probability"], p, rtol=1e-5)
    np.testing.assert_allclose(new["loss"], -np.log(p), rtol=1e-4, atol=1e-6)
    assert own["prediction_set"].null_count() == 200
    assert new["leverage"].null_count() == 150
    fit = LogisticRegression(C=0.5, tol=1e-8, max_iter=10000)
    for i in range(0, 200, 40):
        rest = np.arange(200) != i
        without = fit.fit(x[rest], y[rest]).predict_proba(x[i : i + 1])[0, y[i]]
        assert own["left_out_probability"][i] == pytest.approx(without, abs=0.01)
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record
    assert found.record.confusion == confusion_matrix(targets, model.predict(held)).tolist()
    assert sum(part.rows for part in found.record.reliability) == 150
    right = sum(part.rows * part.right.value for part in found.record.reliability)
    assert right == pytest.approx((model.predict(held) == targets).sum())
    sure = [part.sure for part in found.record.reliability]
    assert sure == sorted(sure)


def test_wrong_labels_come_first_and_harm():
    (x, y, flipped), (held, targets, _) = classes(400, wrong=0.08), classes(300, seed=1)
    found = lemmata.study_model(LogisticRegression(C=0.5).fit(x, y), x, y, held=(held, targets))
    own = found.rows.filter(part="training")
    assert own["wrong_label"].filter(flipped).mean() > 10 * own["wrong_label"].filter(~flipped).mean()
    assert own["effect_on_held_loss"].filter(flipped).mean() < 0 < own["effect_on_held_loss"].filter(~flipped).mean()
    worst = [int(row.row) for row in found.record.worst if row.part == "training"]
    assert flipped[worst[:5]].all()
    assert flipped[worst].mean() > 4 * flipped.mean()


@pytest.mark.parametrize("task", ["classes", "values"])
def test_sets_hold_as_many_targets_as_they_say(task):
    """m scores of one half: the k-th of them holds a new one with probability k/(m + 1), k = ceil(0.9 (m + 1))."""
    rng, shares, sizes = np.random.default_rng(3), [], []
    x = rng.normal(size=(60, 2))
    for _ in range(150):
        held = rng.normal(size=(120, 2))
        if task == "values":
            y, targets = x[:, 0], held[:, 0] + rng.standard_t(3, size=120)
        else:  # of every row the model knows nothing but a shift of its four classes
            y, targets = rng.integers(0, 4, 60), rng.integers(0, 4, 120)
        f = (lambda w, x: x @ w) if task == "values" else (lambda w, x: jnp.concatenate([x @ w, x], 1)[:, :4] * 0.1)
        w = jnp.asarray([1.0, 0.0]) if task == "values" else jnp.zeros((2, 2))
        trained = read_trained((f, w), x, y, held=(held, targets), decay=1.0)
        found = prediction_sets(trained)
        shares.append(found.summary.covered.value)
        sizes.append(found.summary.size)
    error = np.std(shares) / len(shares) ** 0.5
    assert abs(np.mean(shares) - 55 / 61) < 4 * error
    assert np.mean(shares) > 0.88
    if task == "classes":
        assert 3.4 < np.mean(sizes) <= 4


def test_other_models_have_their_rows_too():
    rng = np.random.default_rng(5)
    x, held = rng.normal(size=(80, 3)), rng.normal(size=(60, 3))
    y, targets = x[:, :2] + 0.1 * rng.normal(size=(80, 2)), held[:, :2]
    found = lemmata.study_model(Ridge(0.1).fit(x, y), x, y, held=(held, targets)).rows
    assert {"target[0]", "target[1]", "predicted[0]", "predicted[1]"} <= set(found.columns)
    new = found.filter(part="held out")
    distances = (new["target[0]"] - new["predicted[0]"]) ** 2 + (new["target[1]"] - new["predicted[1]"]) ** 2
    np.testing.assert_allclose(new["loss"], distances)
    labels = (x[:, 0] > 0).astype(int)
    machine = KNeighborsClassifier(1).fit(x, labels)
    near = lemmata.study_model(machine, x, labels, held=(held, (held[:, 0] > 0).astype(int)))
    assert near.rows.height == 140
    assert "leverage" not in near.rows.columns
    alone = lemmata.study_model(LogisticRegression().fit(x, labels), x, labels)
    assert set(alone.rows["part"]) == {"training"}
    assert "effect_on_held_loss" not in alone.rows.columns
    assert alone.record.sets is None
    assert "Rows to look at" in model_page(alone.record)


def test_the_command_writes_every_row_beside_the_page(tmp_path):
    x, y, _ = classes(160)
    rows = pl.DataFrame(x, schema=list("abcd")).with_columns(y=y)
    rows[:100].write_csv(tmp_path / "train.csv")
    rows[100:].write_csv(tmp_path / "new.csv")
    program = tmp_path / "net.py"
    program.write_text(
        "import numpy as np, polars as pl\nfrom sklearn.linear_model import LogisticRegression\n"
        f"rows = pl.read_csv({str(tmp_path / 'train.csv')!r})\n"
        "build = lambda: LogisticRegression().fit(rows.drop('y').to_numpy(), rows['y'].to_numpy())\n"
    )
    out = tmp_path / "out"
    files = [str(tmp_path / name) for name in ("net.py", "train.csv", "new.csv")]
    told = ["model", *files[:2], "--held", files[2], "--out", str(out)]
    assert CliRunner().invoke(app, told).exit_code == 0
    table = pl.read_csv(out / "model" / "rows.csv")
    assert table.height == 160
    assert table["row"][0] == 2
    page = (out / "model" / "index.html").read_text()
    assert '<a href="rows.csv">' in page
    record = ExaminationRecord.load(out / "model.json")
    assert {own.name for own in record.inputs.columns} == set("abcd")
    assert "posterior_probability" in table.columns
    assert table.filter(part="held out")["prediction_set"].null_count() == 0


def test_tables_of_language_models_have_losses_alone():
    tokens = np.random.default_rng(0).integers(0, 5, (30, 6))
    f = lambda w, x: jnp.broadcast_to(w, (*x.shape, 5))
    trained = read_trained((f, jnp.zeros(5)), tokens[:20], None, held=(tokens[20:], None))
    found = row_table(trained, None)
    np.testing.assert_allclose(found["loss"], np.log(5))
    assert found.columns == ["part", "row", "loss", "copy"]
