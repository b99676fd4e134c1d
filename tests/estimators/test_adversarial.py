"""The classifier against an adversary: scikit-learn's contract, robust accuracy, early stopping, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.architectures import relu_network
from lemmata.errors import LemmataError
from lemmata.estimators import AdversarialKernelClassifier
from lemmata.kernels import gram
from lemmata.subjects.adversaries import projected_gradient
from lemmata.subjects.adversaries._spurious_rows import spurious_rows


@parametrize_with_checks([AdversarialKernelClassifier(relu_network(depth=1), steps=2, attack_steps=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def robust_accuracy(model, x, y, radius):
    points = jnp.asarray(model._points)
    signs = jnp.asarray(np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0))
    c = jnp.asarray(model._coefficients)
    margins = lambda z: signs * (gram(model.kernel_, z, points) @ (c[:, 1] - c[:, 0]))
    return float(jnp.mean(margins(projected_gradient(lambda z: -margins(z), jnp.asarray(x), radius)) > 0))


def test_times_of_rows_resist_attacks_better_than_times_without_an_adversary():
    gains = []
    for seed in range(3):  # one draw may leave nothing to gain
        x, y = map(np.asarray, spurious_rows(jax.random.key(seed), 260, 40, 0.95, 2.0, 0.1))
        names = np.where(y > 0, "up", "down")
        found = []
        for radius in (0.0, 0.3):
            model = AdversarialKernelClassifier(relu_network(1), radius=radius, steps=20, attack_steps=5)
            model.fit(x[:60], names[:60])
            found.append(robust_accuracy(model, x[60:], names[60:], 0.3))
            assert model.times_.shape == (45,)
            assert model.validation_losses_.min() <= model.validation_losses_[0]
            assert np.array_equal(model.predict(x) == "up", model.decision_function(x) > 0)
        gains.append(found[1] - found[0])
    assert min(gains) > -0.05
    assert np.mean(gains) > 0.02


def test_a_common_time_is_one_time():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    model = AdversarialKernelClassifier(relu_network(1), rows="common", attack_steps=1).fit(x, x[:, 0] > 0)
    assert np.allclose(model.times_, model.common_time_)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"radius": -1.0}, "found -1.0; rule: a finite number, at least 0$"), ({"rows": "mine"}, "rows; found 'mine'"),
     ({"radius": None}, "radius; found None; rule: a finite number, at least 0$"), ({"norm": "l1"}, "norm"),
     ({"validation_fraction": 1.0}, "validation_fraction"), ({"network": 3}, "network"), ({"steps": -1}, "steps")],
)  # fmt: skip
def test_bad_settings_are_refused(settings, word):
    with pytest.raises(LemmataError, match=word):
        AdversarialKernelClassifier(**settings).fit(np.eye(4), [0, 1, 0, 1])


def test_one_class_is_refused():
    with pytest.raises(LemmataError, match="one class"):
        AdversarialKernelClassifier().fit(np.eye(3), [1, 1, 1])
