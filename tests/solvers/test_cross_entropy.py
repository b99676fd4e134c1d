import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.solvers import cross_entropy_flow

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(13, 4)) / 2
K, CROSS, LABELS = Z[:8] @ Z[:8].T, Z[8:] @ Z[:8].T, RNG.integers(0, 3, size=8)
START = (RNG.normal(size=(8, 3)), RNG.normal(size=(5, 3)))
TIMES = [3.0, 0.0, 1.0]  # in any order


def loop(time, steps):
    joint, hot = np.concatenate([K, CROSS]), np.eye(3)[LABELS]
    f = np.concatenate(START)
    for _ in range(steps):
        f = f - time / steps * joint @ (softmax(f[:8], axis=1) - hot)
    return f


def flow(times, **options):
    start = (jnp.asarray(START[0]), jnp.asarray(START[1]))
    return cross_entropy_flow(jnp.asarray(K), jnp.asarray(LABELS), times, jnp.asarray(CROSS), start=start, **options)


def test_the_flow_is_the_limit_of_small_steps_of_descent():
    found = flow(TIMES)
    for i, time in enumerate(TIMES):
        coarse, middle, fine = (loop(time, steps) for steps in (1000, 2000, 4000))
        once = 2 * middle - coarse, 2 * fine - middle  # Euler's error is c/steps + d/steps²: take off the first
        extrapolated = (4 * once[1] - once[0]) / 3  # ... and the second
        gap = np.abs(once[1] - once[0]).max()
        np.testing.assert_allclose(found.path.train[i], extrapolated[:8], rtol=0, atol=gap + 1e-7)
        np.testing.assert_allclose(found.path.test[i], extrapolated[8:], rtol=0, atol=gap + 1e-7)
        assert gap < 1e-4


def test_the_loss_is_that_of_the_logits_and_falls_at_its_rate():
    middle, h = 1.0, 1e-3
    found = flow([middle - h, middle, middle + h], tolerance=1e-12)
    logits = np.asarray(found.path.train)
    for i in range(3):
        loss = -log_softmax(logits[i], axis=1)[np.arange(8), LABELS].sum()
        assert float(found.loss[i]) == pytest.approx(loss, rel=1e-13)
    gap = softmax(logits[1], axis=1) - np.eye(3)[LABELS]
    rate = np.trace(gap.T @ K @ gap)
    slope = -float(found.loss[2] - found.loss[0]) / (2 * h)
    third = np.linalg.norm(K, 2) ** 2 * rate  # the third derivative is of this order
    assert slope == pytest.approx(rate, abs=h**2 * third + 1e-9 / h)
    assert rate > 0.1


def test_a_stiff_problem_is_the_other_with_time_rescaled():
    scale, start = 1e6, (jnp.asarray(START[0]), jnp.asarray(START[1]))
    plain = flow([1.0, 3.0, 0.0])
    matrix, cross, times = jnp.asarray(K * scale), jnp.asarray(CROSS * scale), [1 / scale, 3 / scale, 1.0]
    stiff = cross_entropy_flow(matrix, jnp.asarray(LABELS), times, cross, start=start)
    # Two integrations with local errors of 1e-8 in fewer than 100 steps each up to here, in a contracting flow.
    np.testing.assert_allclose(stiff.path.train[:2], plain.path.train[:2], rtol=0, atol=2e-6)
    np.testing.assert_allclose(stiff.path.test[:2], plain.path.test[:2], rtol=0, atol=1e-5)
    assert stiff.steps < 1e-2 * scale * np.linalg.norm(K, 2) / 2 / 3  # what stability would ask of explicit steps
    assert float(stiff.loss[2]) < float(stiff.loss[1])


def test_labels_may_be_truth_values_or_whole_floats():
    k, labels = jnp.asarray(K), jnp.asarray(LABELS == 0)
    expected = cross_entropy_flow(k, labels.astype(int), 1.0).path.train
    for given in (labels, np.asarray(labels), labels.astype(float)):
        np.testing.assert_array_equal(cross_entropy_flow(k, given, 1.0).path.train, expected)


def test_wrong_arguments_are_refused():
    k, labels = jnp.asarray(K), jnp.asarray(LABELS)
    with pytest.raises(SettingError, match="time"):
        cross_entropy_flow(k, labels, float("inf"))
    with pytest.raises(SettingError, match="labels"):
        cross_entropy_flow(k, labels, 1.0, classes=2)
    with pytest.raises(ShapeError, match="labels"):
        cross_entropy_flow(k, labels[:-1], 1.0)
    with pytest.raises(NotPositiveDefiniteError, match="K is not positive semidefinite"):
        cross_entropy_flow(-k, labels, 1.0)
    with pytest.raises(ShapeError, match="symmetric"):
        cross_entropy_flow(k.at[0, 1].add(1.0), labels, 1.0)
    with pytest.raises(DataError, match=r"labels; found 0\.5 at row 2"):
        cross_entropy_flow(k, labels.astype(float).at[2].set(0.5), 1.0)
    with pytest.raises(DataError, match="labels; found 1 entries"):
        cross_entropy_flow(k, labels.astype(float).at[2].set(jnp.nan), 1.0)
    with pytest.raises(DataError, match=r"labels; found the entry 'a'.*encode texts"):
        cross_entropy_flow(k, np.array(list("abababab")), 1.0)
    with pytest.raises(DataError, match="cross"):
        cross_entropy_flow(k, labels, 1.0, jnp.full((2, 8), jnp.nan))
    with pytest.raises(ShapeError, match="matrices"):
        cross_entropy_flow(k, labels, 1.0, jnp.ones((2, 7)))
    with pytest.raises(DataError, match="K"):
        cross_entropy_flow(k.at[0, 0].set(jnp.nan), labels, 1.0)
