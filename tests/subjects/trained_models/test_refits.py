"""Training again through the user's own function: what it is given, what it may return, and what it costs."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.subjects.trained_models import Refits, Trained, by_chance, read_model, read_task
from lemmata.subjects.trained_models import _refit as module

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 2))
Y = np.array([0, 1, 2] * 4)


def linear(w, x):
    return x @ w


MODEL = read_model((linear, jnp.asarray(RNG.normal(size=(2, 3)))))


def fit(x, y, seed):
    """Least squares on one-hot classes, with the seed beside it."""
    return linear, jnp.asarray(np.linalg.lstsq(x, np.eye(3)[y], rcond=None)[0] + seed)


def test_it_trains_on_the_rows_and_targets_that_are_asked_for_and_once():
    calls = []

    def counted(x, y, seed):
        calls.append(seed)
        return fit(x, y, seed)

    refits = Refits(counted, MODEL, X, Y)
    rows = np.array([0, 1, 2, 5, 7])
    for _ in range(2):
        np.testing.assert_array_equal(refits(rows, 4).theta, np.ravel(fit(X[rows], Y[rows], 4)[1]))
        np.testing.assert_array_equal(refits(rows, 4, Y[rows][::-1]).theta, np.ravel(fit(X[rows], Y[rows][::-1], 4)[1]))
        np.testing.assert_array_equal(refits(rows[1:], 4).theta, np.ravel(fit(X[rows[1:]], Y[rows[1:]], 4)[1]))
        np.testing.assert_array_equal(refits(rows, 5).theta, np.ravel(fit(X[rows], Y[rows], 5)[1]))
    assert calls == [4, 4, 4, 5]


def fails(x, y, seed):
    raise ValueError("no such solver\nand a second line")


def leaves(x, y, seed):
    raise SystemExit("gone")


def asks_for_more(x, y, seed, start, rate):
    return fit(x, y, seed)


def at_random(w, x):
    return x @ w + np.random.default_rng().normal()


class Wild:
    """An estimator whose outputs are by chance."""

    def predict(self, x):
        return RNG.normal(size=(len(x), 3))


Wild.__mro__[0].__module__ = "sklearn.base"


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (fails, "ValueError: no such solver"),
        (leaves, "SystemExit: gone"),
        (asks_for_more, "TypeError"),
        (lambda x, y, seed: None, "an object of type NoneType"),
        (lambda x, y, seed: (linear, jnp.ones((2, 4))), "4 outputs"),
        (lambda x, y, seed: (linear, jnp.ones((5, 3))), "shape"),
        (lambda x, y, seed: (linear, jnp.full((2, 3), jnp.nan)), "not finite"),
        (lambda x, y, seed: Wild(), "random outputs"),
    ],
)
def test_a_fit_that_fails_or_returns_something_else_is_one_line(own, words):
    with pytest.raises(SettingError, match=words) as caught:
        Refits(own, MODEL, X, Y)(np.arange(12), 0)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("fit(x, y, seed)")


def test_the_price_is_assumed_until_one_training_was_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    def slow(x, y, seed):
        now[0] += 3.0
        return fit(x, y, seed)

    refits = Refits(slow, MODEL, X, Y)
    assert refits.passes == 600
    refits(np.arange(6), 0)
    pushed = type(MODEL).vjp

    def timed(self, u, x):
        now[0] += 0.5
        return pushed(self, u, x)

    monkeypatch.setattr(type(MODEL), "vjp", timed)
    assert refits.passes == 6


def trained(**rest):
    task = read_task(MODEL, X, Y)
    held = (RNG.normal(size=(2000, 2)), np.eye(3)[np.zeros(2000, int)])
    return Trained(MODEL, task, X, task.encode(Y), held, 0.1, **rest)


def test_targets_by_chance_are_drawn_from_those_of_the_training_rows():
    seen = []

    def noted(x, y, seed):
        seen.append((x, y))
        return fit(x, y, seed)

    words = np.array(["a", "b", "c"])
    problem = trained(fit=lambda x, y, seed: noted(x, np.searchsorted(words, y), seed), targets=words[Y], seed=2)
    other = by_chance(problem)
    ((x, y),) = seen
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(other.y, np.eye(3)[y])
    assert sorted(y) != sorted(Y)  # drawn one by one and not permuted
    np.testing.assert_array_equal(other.model.theta, np.ravel(fit(X, y, 2)[1]))
    assert np.abs(other.held[1].mean(0) - 1 / 3).max() < 0.05  # not the held-out rows' own, which are all of one class
    assert other is by_chance(problem)
    assert other.fit is None


def test_without_a_fit_there_is_a_remedy():
    with pytest.raises(SettingError, match="define fit"):
        by_chance(trained(targets=Y))
