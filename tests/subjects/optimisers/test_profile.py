"""The profile of known optimisers against what is known of them on paper."""

import numpy as np
import optax
import pytest
from jaxtyping import TypeCheckError

from lemmata.errors import SettingError
from lemmata.subjects.optimisers import adam_mini, optimiser_profile, shampoo, soap

ALL = {
    "all rotations",
    "rotations of rows and columns",
    "permutations of entries",
    "permutations of rows and columns",
    "signs of entries",
    "unit of the loss",
}
SIDES = {"rotations of rows and columns", "permutations of rows and columns", "unit of the loss"}
ENTRIES = ALL - {"all rotations", "rotations of rows and columns"}


@pytest.mark.parametrize(
    ("transform", "groups"),
    [
        (optax.sgd(0.1, momentum=0.9), ALL - {"unit of the loss"}),
        (optax.adam(0.02), ENTRIES),
        (optax.contrib.muon(0.02), SIDES),
        (shampoo(0.02), SIDES),
        (soap(0.02), SIDES),
        (adam_mini(0.02), ENTRIES - {"permutations of entries"}),
    ],
    ids=["sgd", "adam", "muon", "shampoo", "soap", "adam-mini"],
)
def test_symmetries(transform, groups):
    profile = optimiser_profile(transform, window=10)
    assert {name for name in profile.symmetries if profile.commutes(name)} == groups


def test_adam_step_memory_and_box():
    b1, b2, window = 0.8, 0.95, 120
    profile = optimiser_profile(optax.adamw(0.1, b1=b1, b2=b2, eps=1e-12, weight_decay=0.25), window=window)
    ages = np.arange(window)
    bound = (1 - b1) / (1 - b1**window) * np.sqrt((1 - b2**window) / (1 - b2) * np.sum((b1**2 / b2) ** ages))
    assert profile.longest_step == pytest.approx(0.1 * bound, rel=1e-5)
    np.testing.assert_allclose(profile.impulse, 0.1 * (1 - b1) * b1**ages / (1 - b1**window), atol=1e-9)
    assert profile.mean_age == pytest.approx(b1 / (1 - b1), rel=1e-6)
    assert (profile.decay, profile.strength) == ("box", pytest.approx(4.0, rel=1e-4))
    assert profile.stable_curvature == np.inf


def test_momentum_has_an_exact_stable_curvature():
    profile = optimiser_profile(optax.sgd(0.2, momentum=0.5), window=50)
    assert profile.stable_curvature == pytest.approx(2 * 1.5 / 0.2, rel=5e-3)
    assert profile.longest_step == np.inf
    assert profile.mean_age == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("transform", "kind", "strength"),
    [
        (optax.chain(optax.add_decayed_weights(0.3), optax.adam(0.1)), "ridge", 0.3),
        (optax.chain(optax.add_decayed_weights(0.3), optax.sgd(0.1, momentum=0.5)), "ridge", 0.3),
        (optax.chain(optax.sgd(0.1, momentum=0.5), optax.add_decayed_weights(-0.03)), "ridge", 0.15),
        (optax.lion(0.1, weight_decay=0.5), "box", 2.0),
        (optax.adam(0.1), "none", np.nan),
    ],
    ids=["adam on a penalty", "descent on a penalty", "descent and decay", "lion", "adam"],
)
def test_decay(transform, kind, strength):
    profile = optimiser_profile(transform, window=60)
    assert profile.decay == kind
    assert profile.strength == pytest.approx(strength, rel=1e-3, nan_ok=True)


@pytest.mark.parametrize(
    ("transform", "shape"),
    [
        (optax.sgd(0.1), "linear"),
        (optax.lion(0.1), "sign"),
        (optax.contrib.muon(0.1), "orthogonal"),
        (optax.adam(0.1), "bounded"),
    ],
    ids=["sgd", "lion", "muon", "adam"],
)
def test_the_shape_of_steps(transform, shape):
    profile = optimiser_profile(transform, window=10)
    assert profile.steps == shape
    assert shape in str(profile)


def test_what_is_refused():
    with pytest.raises(SettingError, match="window"):
        optimiser_profile(optax.sgd(0.1), window=1)
    with pytest.raises((SettingError, TypeCheckError), match="optax"):  # the tests check types before
        optimiser_profile("adam")
    with pytest.raises(SettingError, match="group"):
        optimiser_profile(optax.sgd(0.1), window=4).commutes("translations")


@pytest.mark.parametrize(
    ("clip", "method", "breaks", "keeps"),
    [
        (optax.clip(1.0), optax.sgd(0.1), ["all rotations", "unit of the loss"], ["signs of entries"]),
        (optax.clip_by_global_norm(100.0), optax.sgd(0.1), ["unit of the loss"], ["all rotations"]),
        (optax.clip(1.0), optax.adam(1e-3), ["unit of the loss"], ["signs of entries"]),
        (optax.clip_by_global_norm(100.0), optax.adam(1e-3), ["unit of the loss"], ["signs of entries"]),
        (optax.clip_by_global_norm(1.0), optax.adam(1e-3), ["unit of the loss"], ["signs of entries"]),
        (optax.identity(), optax.adam(1e-3), [], ["unit of the loss", "permutations of entries"]),
    ],
    ids=["entries, sgd", "norm, sgd", "entries, adam", "norm, adam", "small norm, adam", "adam"],
)
def test_a_clip_shows_in_large_gradients(clip, method, breaks, keeps):
    """A clip of entries knows the axes; any clip knows the unit of the loss, of which Adam alone knows nothing."""
    profile = optimiser_profile(optax.chain(clip, method), window=20)
    assert not [group for group in breaks if profile.commutes(group)]
    assert all(profile.commutes(group) for group in keeps)
    if breaks:
        assert profile.steps == "free"


@pytest.mark.parametrize("rate", [0.0, np.nan, np.inf])
def test_an_optimiser_without_finite_steps_is_refused(rate):
    with pytest.raises(SettingError, match=r"optimiser; found updates that are .*learning rate"):
        optimiser_profile(optax.sgd(rate), window=5)
