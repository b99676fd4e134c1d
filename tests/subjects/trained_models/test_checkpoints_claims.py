"""What checkpoints, readouts and corrected labels of one model say, beside other routes to the same numbers."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import (
    Objective,
    held_outputs,
    polish,
    read_model,
    read_task,
    read_trained,
    readout_of,
    rows_left_out,
    training_outputs,
)
from lemmata.subjects.trained_models._grokking_models import GrokkingModels
from lemmata.subjects.trained_models._trained_networks import initial, network
from lemmata.subjects.trained_models.checkpoints import (
    LaterErrorFromMemorisingCheckpoint,
    memorised,
)  # fmt: skip
from lemmata.subjects.trained_models.falling_losses import FallingLosses, LossOnTheLawOfCheckpoints, earlier_losses
from lemmata.subjects.trained_models.superposition import (
    CrowdedReadouts,
    MeanSquareCosine,
    ReadoutsSpreadWiderThanChance,
    cosines,
    welch,
)  # fmt: skip
from lemmata.subjects.trained_models.wrong_labels import MislabelledNetworks, ShareOfWrongLabels, WrongLabelsComeFirst
from lemmata.workflows.examinations._gauges import gauge

LATER = LaterErrorFromMemorisingCheckpoint()
GROKS = {"n": 80, "d": 200, "start": 6.0, "decay": 0.004, "noise": 0.0}


@pytest.fixture(scope="module")
def groks():
    with jax.enable_x64(True):
        return GrokkingModels().sample(GROKS, jax.random.key(5))


@pytest.fixture(scope="module")
def falling():
    with jax.enable_x64(True):
        setting = {"n": 300, "d": 80, "fall": 1.2, "checkpoints": 8, "steps": 20}
        return FallingLosses().sample(setting, jax.random.key(0))


def held_errors(trained):
    x, y = trained.held
    return [float(trained.task.errors(own.outputs(x), y).mean()) for own in (*trained.checkpoints, trained.model)]


def said(claim, trained, **change):
    own = gauge(claim, dataclasses.replace(trained, **change), 0)
    return own.status, own.reason


def test_a_model_that_groks_is_told_so_by_its_early_checkpoint(groks):
    held, early = held_errors(groks), memorised(groks)
    assert not early.task.errors(training_outputs(early), early.y).any()
    assert float(early.task.errors(held_outputs(early), early.held[1]).mean()) > 1.5 * held[-1]
    own = gauge(LATER, groks, 0)
    assert own.status == "agrees", own.reason
    assert own.measured.value == pytest.approx(held[-1])
    assert own.predicted.upper < held[0]


def test_one_that_never_groks_is_told_so_too():
    trained = GrokkingModels().sample(GROKS | {"noise": 1.0}, jax.random.key(2))
    own = gauge(LATER, trained, 0)
    assert own.predicted.value > 0.35
    assert own.measured.value > 0.4
    assert min(held_errors(trained)) > 0.35


def test_what_is_asked_of_a_history(groks):
    assert said(LATER, groks, checkpoints=()) == ("inapplicable", "checkpoints = 0, required >= 2")
    assert said(LATER, groks, checkpoints=groks.checkpoints[:1])[0] == "inapplicable"
    early = groks.checkpoints[:1] * 2
    assert (
        said(LATER, groks, checkpoints=early)[1] == "not true here: a checkpoint predicts every training row correctly"
    )
    back = dataclasses.replace(memorised(groks), checkpoints=(groks.model, groks.model))
    assert gauge(LATER, back, 0).reason.startswith("length of the weights, relative to the checkpoint")
    own = gauge(LATER, dataclasses.replace(groks, held=None), 0)
    assert (own.status, own.measured) == ("unscored", None)
    stopped = dataclasses.replace(groks, model=groks.checkpoints[-1], checkpoints=(groks.checkpoints[-1],) * 2)
    assert gauge(LATER, stopped, 0).status == "inapplicable"


def parities(n, rng, constant):
    """Numbers around -1 and 1, and the sign of the product of the first two; the last may be 1.

    A layer of odd functions is odd, and the product is even: without the constant it cannot be learned.
    """
    x = rng.choice([-1.0, 1.0], size=(n, 12)) * rng.uniform(0.5, 1.5, size=(n, 12))
    x[:, -1] = 1.0 if constant else x[:, -1]
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


@pytest.mark.parametrize("constant", [True, False])
def test_a_network_on_a_sparse_parity(constant):
    """It memorises in a few steps of descent without decay; decay brings it to the rule, where it can say the rule."""
    rng = np.random.default_rng(1)
    (x, y), held = parities(150, rng, constant), parities(300, rng, constant)
    start = read_model((network, {name: 3 * part for name, part in initial(rng, 12, 24, 2).items()}))
    task = read_task(start, x, y)
    objective = Objective(start, x, task.encode(y), task, 0.003)
    way = [polish(dataclasses.replace(objective, decay=1e-7), steps=steps).model for steps in (40, 80)]
    last = polish(dataclasses.replace(objective, model=way[-1]), steps=3000).model
    params = {name: jnp.asarray(part) for name, part in last.split(last.theta).items()}
    trained = dataclasses.replace(read_trained((network, params), x, y, held=held, decay=0.003), checkpoints=tuple(way))
    own, errors = gauge(LATER, trained, 0), held_errors(trained)
    assert own.status == "agrees", own.reason
    if constant:
        assert errors[0] > 0.08 > 0.02 > errors[-1]
        assert own.predicted.upper < errors[0]
    else:
        assert min(errors) > 0.4
        assert own.predicted.lower > 0.3


def test_the_law_of_checkpoints(falling):
    claim = LossOnTheLawOfCheckpoints()
    own = gauge(claim, falling, 0)
    assert own.status == "agrees"
    assert own.predicted.upper < own.trivial, "it foretells that the loss goes on falling"
    times, losses = earlier_losses(falling)
    assert times.tolist() == [3, 4, 5, 6, 7]
    x, y = falling.held
    assert losses[-1] == pytest.approx(((falling.checkpoints[-1].outputs(x) - y) ** 2).mean() / 2)
    sudden = dataclasses.replace(falling, model=falling.model.at(0 * falling.model.theta))
    assert gauge(claim, sudden, 0).status == "disagrees"


def test_what_is_asked_of_a_law(falling):
    claim = LossOnTheLawOfCheckpoints()
    assert said(claim, falling, checkpoints=falling.checkpoints[:3]) == (
        "inapplicable",
        "checkpoints = 3, required >= 4",
    )
    assert said(claim, falling, checkpoints=falling.checkpoints[::-1])[1].startswith("slope of log loss")
    assert said(claim, falling, held=None)[0] == "unscored"
    assert said(claim, falling, checkpoints=(falling.model,) * 6)[1].startswith("slope of log loss")


def test_cosines_and_their_bound():
    square = np.array([[1.0, 0], [0, 2.0], [-3.0, 0], [0, -1.0]]) * [[1], [1], [1 / 3], [2]]
    assert sorted(cosines(square)) == pytest.approx([-1, -1, 0, 0, 0, 0])
    moved = square + np.array([5.0, -7.0])
    np.testing.assert_allclose(cosines(moved), cosines(square), atol=1e-12)
    rng = np.random.default_rng(0)
    for n, d in ((5, 2), (9, 4), (40, 8)):
        w = rng.normal(size=(n, d))
        bound = np.sqrt((n - d) / (d * (n - 1)))
        assert np.sqrt(np.mean(cosines(w) ** 2)) >= bound
    assert max(cosines(square)) < np.sqrt((4 - 2) / (2 * 3)), (
        "the bound is not one of the largest cosine without its absolute value"
    )


def test_the_readout_is_found_whichever_way_it_is_written():
    setting = {"classes": 8, "hidden": 4, "d": 8, "n": 120, "decay": 2e-3}
    trained = CrowdedReadouts().sample(setting, jax.random.key(0))
    own = trained.model.split(trained.model.theta)
    np.testing.assert_allclose(readout_of(trained), own["w2"].T)
    assert welch(trained) == pytest.approx(np.sqrt(4 / (4 * 7)))
    other = (lambda params, x: jnp.tanh(x @ params["b"]) @ params["a"].T, {"a": own["w2"].T, "b": own["w1"]})
    np.testing.assert_allclose(readout_of(read_trained(other, trained.x, trained.y.argmax(1))), readout_of(trained))
    for claim in (ReadoutsSpreadWiderThanChance(), MeanSquareCosine()):
        assert gauge(claim, trained, 0).status == "agrees"


def test_no_readout_is_believed_that_is_none():
    x, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 4
    bent = (lambda w, rows: jnp.tanh(rows @ w), jnp.asarray(np.random.default_rng(1).normal(size=(4, 4))))
    trained = read_trained(bent, x, y)
    assert readout_of(trained) is None
    found = gauge(MeanSquareCosine(), trained, 0)
    assert found.reason == "not true here: each output has its own direction in a last matrix"
    straight = read_trained((lambda w, rows: rows @ w, bent[1]), x, y)
    np.testing.assert_allclose(readout_of(straight), np.asarray(bent[1]).T)
    assert (
        gauge(MeanSquareCosine(), straight, 0).reason
        == "number of directions minus number of dimensions = 0, required >= 2"
    )


@pytest.fixture(scope="module")
def mislabelled():
    with jax.enable_x64(True):
        setting = {"n": 120, "d": 4, "hidden": 0, "decay": 0.03, "wrong": 0.15}
        return MislabelledNetworks().sample(setting, jax.random.key(1))


def test_wrong_labels_are_ranked_and_counted(mislabelled):
    planted = mislabelled.y.argmax(1) != mislabelled.corrected.argmax(1)
    assert planted.mean() == pytest.approx(0.15)
    first = gauge(WrongLabelsComeFirst(), mislabelled, 0)
    assert first.status == "agrees"
    doubts = -mislabelled.task.means(rows_left_out(mislabelled).outputs)[np.arange(120), mislabelled.y.argmax(1)]
    pairs = doubts[planted][:, None] <= doubts[~planted]
    assert abs(first.measured.value - pairs.mean()) < 0.02  # the temperature may turn a few pairs
    count = gauge(ShareOfWrongLabels(), mislabelled, 0)
    assert (count.status, count.measured.value) == ("agrees", pytest.approx(0.15))


def test_what_is_asked_of_corrected_labels(mislabelled):
    claim = ShareOfWrongLabels()
    assert said(claim, mislabelled, corrected=None)[1] == "not true here: corrected labels are given"
    assert said(claim, mislabelled, corrected=mislabelled.y)[1] == "share of wrong labels = 0, required > 0"
    turned = mislabelled.y[:, [1, 2, 0]]
    assert said(claim, mislabelled, corrected=turned)[1] == "share of wrong labels = 1, required < 0.5"
    assert said(WrongLabelsComeFirst(), mislabelled, corrected=turned)[0] == "inapplicable"


def test_corrected_labels_are_taken_as_a_user_has_them():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 40)]
    right = y.copy()
    right[:3] = "c"
    trained = read_trained((lambda w, x: x @ w, rng.normal(size=(4, 3))), rng.normal(size=(40, 4)), y, corrected=right)
    assert trained.corrected.argmax(1)[:3].tolist() == [2, 2, 2]
