"""Distilled images and triggers: slopes by differences, losses by naive twins, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import Conv, Dense, Flatten, Relu, Serial, TangentKernel, erf_network, relu_network
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import RBF
from lemmata.subjects.adversaries import (
    BackdoorLoss,
    Distilled,
    Poisoned,
    Trigger,
    attack_success,
    conflict_loss,
    distil,
    inducing_outputs,
    optimise_trigger,
    poison,
    projection_loss,
    square_trigger,
)

KERNEL = RBF(0.7)


@pytest.fixture
def rows():
    draw = np.random.default_rng(0)
    x = draw.uniform(size=(30, 4))
    y = np.eye(3)[(4 * x[:, 0] + x[:, 1]).astype(int) % 3] - 1 / 3
    return jnp.asarray(x), jnp.asarray(y)


def naive_outputs(points, labels, ridge, x):
    """Entry by entry, in NumPy."""
    k = lambda a, b: float(KERNEL(jnp.asarray(a), jnp.asarray(b)))
    own = np.array([[k(a, b) for b in points] for a in points])
    cross = np.array([[k(a, b) for b in points] for a in x])
    return cross @ np.linalg.inv(own + ridge * np.trace(own) / len(own) * np.eye(len(own))) @ labels


FIELDS = Serial([Conv(4, (3, 3)), Relu(), Flatten(), Dense(1)])


@pytest.mark.parametrize(
    ("network", "shape"),
    [
        (relu_network(1, bias_std=0.1), (5,)),
        (erf_network(1), (5,)),
        (FIELDS, (4, 4, 1)),
    ],
)
def test_slopes_of_tangent_kernels_in_both_arguments_are_those_of_differences(network, shape):
    """Also where both arguments are one point: k(x, x) has the slope of both."""
    kernel = TangentKernel(network)
    x = jax.random.uniform(jax.random.key(0), (4, *shape))
    weights = jax.random.normal(jax.random.key(1), (4, 4))
    along = jax.random.normal(jax.random.key(2), x.shape)
    whole = lambda x: jnp.sum(weights * kernel.cross(x, x))
    diagonal = lambda x: jnp.sum(jnp.diagonal(weights) * kernel.diagonal(x))
    for f in (whole, diagonal):
        slope = float(jnp.sum(jax.grad(f)(x) * along))
        step = 1e-5
        assert slope == pytest.approx(float(f(x + step * along) - f(x - step * along)) / (2 * step), rel=1e-5)
    entries = jax.jacfwd(lambda x: jnp.diagonal(kernel.cross(x, x)))(x)
    assert np.allclose(entries, jax.jacfwd(kernel.diagonal)(x), atol=1e-12)


def test_distilling_lowers_the_loss_that_it_reports(rows):
    x, y = rows
    found = distil(KERNEL, x, y, x[:4], y[:4], steps=40, rate=0.03)
    assert isinstance(found, Distilled)
    before = float(np.mean(np.sum((naive_outputs(x[:4], y[:4], 1e-6, x) - y) ** 2, axis=1)))
    after = float(np.mean(np.sum((naive_outputs(found.points, y[:4], 1e-6, x) - y) ** 2, axis=1)))
    assert float(found.losses[0]) == pytest.approx(before, rel=1e-8)
    assert after < 0.8 * before
    assert after < float(found.losses[-5])
    assert np.allclose(found(x), naive_outputs(found.points, y[:4], 1e-6, x), rtol=1e-6, atol=1e-9)
    assert float(found.points.min()) >= 0
    assert float(found.points.max()) <= 1
    assert np.array_equal(found.labels, y[:4])


def test_batches_and_their_key_decide(rows):
    x, y = rows
    one = distil(KERNEL, x, y, x[:4], y[:4], steps=5, batch=8, key=jax.random.key(0))
    other = distil(KERNEL, x, y, x[:4], y[:4], steps=5, batch=8, key=jax.random.key(1))
    assert np.array_equal(
        one.points, distil(KERNEL, x, y, x[:4], y[:4], steps=5, batch=8, key=jax.random.key(0)).points
    )
    assert not np.array_equal(one.points, other.points)


def test_what_cannot_be_distilled_is_refused(rows):
    x, y = rows
    with pytest.raises(
        ShapeError, match="3 classes in the training set, 2 in the support; rule: the same number of classes"
    ):
        distil(KERNEL, x, y, x[:4], y[:4, :2])
    with pytest.raises(ShapeError, match="points of shape"):
        distil(KERNEL, x, y, x[:4, :3], y[:4])
    with pytest.raises(ShapeError, match="labels of the training set"):
        distil(KERNEL, x, y[:, 0], x[:4], y[:4])
    with pytest.raises(SettingError, match="from 1 to 30"):
        distil(KERNEL, x, y, x[:4], y[:4], batch=31, key=jax.random.key(0))
    with pytest.raises(SettingError, match="a random key"):
        distil(KERNEL, x, y, x[:4], y[:4], batch=3)
    with pytest.raises(SettingError, match="ridge; found 0"):
        distil(KERNEL, x, y, x[:4], y[:4], ridge=0.0)


@pytest.mark.parametrize("pixel", [float("nan"), float("inf"), -0.1, 50.0])
def test_images_that_are_no_images_are_refused(rows, pixel):
    x, y = rows
    wrong = x.at[7, 2].set(pixel)
    word = "finite numbers" if not np.isfinite(pixel) else "numbers from 0 to 1; remedy: scale the images"
    clean = Poisoned(x, y, jnp.arange(30) % 5 == 0)
    trigger = Trigger(jnp.ones(4), jnp.full(4, 0.5), 0.5)
    with pytest.raises(DataError, match=f"training set; .*{word}"):
        distil(KERNEL, wrong, y, x[:4], y[:4], steps=0)
    with pytest.raises(DataError, match=f"support points; .*{word}"):
        distil(KERNEL, x, y, wrong[5:9], y[:4], steps=0)
    with pytest.raises(DataError, match=f"points of the set; .*{word}"):
        optimise_trigger(KERNEL, Poisoned(wrong, y, clean.triggered), x[:4], trigger, 1)
    with pytest.raises(DataError, match=f"support points; .*{word}"):
        optimise_trigger(KERNEL, clean, wrong[5:9], trigger, 1)
    labels = y.at[3, 0].set(float("nan"))
    with pytest.raises(DataError, match="labels of the training set"):
        distil(KERNEL, x, labels, x[:4], y[:4], steps=0)
    with pytest.raises(DataError, match="labels of the support points"):
        distil(KERNEL, x, y, x[:4], labels[:4], steps=0)
    with pytest.raises(DataError, match="labels; found 1 entries"):
        optimise_trigger(KERNEL, Poisoned(x, labels, clean.triggered), x[:4], trigger, 1)


def test_a_square_is_where_it_is_said_to_be():
    trigger = square_trigger((4, 6), 2, corner=(1, 3), value=0.5, opacity=0.4)
    x = np.random.default_rng(1).uniform(size=(3, 4, 6))
    by_hand = x.copy()
    by_hand[:, 1:3, 3:5] = 0.6 * x[:, 1:3, 3:5] + 0.4 * 0.5
    assert np.allclose(trigger(jnp.asarray(x)), by_hand)
    assert np.allclose(trigger(jnp.asarray(x.reshape(3, 24))), by_hand.reshape(3, 24))
    assert float(trigger.norm) == pytest.approx(1.0)
    assert np.asarray(square_trigger((4, 6), 1).mask)[3, 5] == 1


@pytest.mark.parametrize(("side", "corner"), [(5, None), (2, (3, 0)), (1, (0, 6)), (1, (-1, 0)), (0, None)])
def test_a_square_outside_the_image_is_refused(side, corner):
    with pytest.raises(SettingError, match="all pixels within rows 0 to 3 and columns 0 to 5"):
        square_trigger((4, 6), side, corner=corner)


@pytest.mark.parametrize(
    ("shape", "side", "corner", "word"),
    [((8, 8), 2.5, None, "side of the square; found 2.5; rule: a whole number"),
     ((8, 8), True, None, "side of the square"), ((8, 8), 2, (0.5, 1), "corner of the square; found 0.5"),
     ((8, 8), 2, 3, "corner of the square; found 3; rule: two whole numbers"),
     ((8, 8), 2, (1, 1, 1), "corner of the square"), (8, 2, None, "shape of the images; found 8"),
     ((8.0, 8), 2, None, "shape of the images; found 8.0")],
)  # fmt: skip
def test_squares_of_parts_of_pixels_are_refused(shape, side, corner, word):
    with pytest.raises(SettingError, match=word):
        square_trigger(shape, side, corner=corner)


def test_triggers_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="both with the shape of a point"):
        Trigger(jnp.ones((2, 2)), jnp.ones((2, 3)))
    with pytest.raises(DataError, match="numbers from 0 to 2"):
        Trigger(jnp.ones((2, 2)), jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(DataError, match="mask of the trigger"):
        Trigger(jnp.full(2, -0.1), jnp.ones(2))
    with pytest.raises(SettingError, match="opacity; found 0"):
        Trigger(jnp.ones(2), jnp.ones(2), 0.0)
    with pytest.raises(ShapeError, match=r"points of shape \(3,\)"):
        square_trigger((2, 2), 1)(jnp.ones((5, 3)))


def test_poisoning_changes_a_share_and_nothing_else(rows):
    x, y = rows
    trigger = Trigger(jnp.array([1.0, 0, 0, 0]), jnp.ones(4))
    found = poison(x, y, trigger, 2, 0.2, jax.random.key(3))
    changed = np.asarray(found.triggered)
    assert changed.sum() == 6
    assert np.array_equal(found.x[~changed], x[~changed])
    assert np.array_equal(found.y[~changed], y[~changed])
    assert np.all(np.asarray(found.x)[changed, 0] == 1)
    assert np.all(np.asarray(found.y)[changed].argmax(1) == 2)
    with pytest.raises(SettingError, match="a class from 0 to 2"):
        poison(x, y, trigger, 3, 0.2, jax.random.key(3))
    with pytest.raises(SettingError, match="fraction; found 1"):
        poison(x, y, trigger, 0, 1.0, jax.random.key(3))


def test_points_of_the_target_are_no_success():
    outputs = jnp.eye(3)[jnp.array([0, 0, 1, 0])]
    assert float(attack_success(outputs, jnp.array([0, 1, 1, 2]), 0)) == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="all 4 points in the target class 0; rule: some points of other classes"):
        attack_success(outputs, jnp.array([0, 0, 0, 0]), 0)
    assert np.isnan(jax.jit(lambda classes: attack_success(outputs, classes, 0))(jnp.zeros(4, int)))
    with pytest.raises(DataError, match="the class -1"):
        attack_success(outputs, jnp.array([0, -1, 1, 2]), 0)
    with pytest.raises(DataError, match="outputs; found 12 entries"):
        attack_success(outputs * jnp.nan, jnp.array([0, 1, 1, 2]), 0)


def test_conflict_and_projection_are_those_of_least_squares(rows):
    x, y = rows
    gram = KERNEL.cross(x, x)
    ridge = 0.1
    values, vectors = np.linalg.eigh(gram)
    shrunk = (ridge / (values + ridge))[:, None] * (vectors.T @ y)
    assert float(conflict_loss(gram, y, ridge)) == pytest.approx(float(np.sum(shrunk**2)) / len(y), rel=1e-9)
    places = [1, 5, 8]
    weights = np.linalg.solve(gram + ridge * np.eye(len(y)), y)
    root = np.linalg.cholesky(gram + 1e-10 * np.eye(len(y)))  # rows are features
    fit = root.T @ weights
    within = root[places].T @ np.linalg.lstsq(root[places].T, fit, rcond=None)[0]
    missed = root @ (fit - within)
    found = projection_loss(gram, gram[:, jnp.array(places)], gram[np.ix_(places, places)], y, ridge, floor=1e-12)
    assert float(found) == pytest.approx(float(np.sum(missed**2)) / len(y), rel=1e-6)
    with pytest.raises(ShapeError, match="cross matrix"):
        projection_loss(gram, gram[:, :2], gram[np.ix_(places, places)], y, ridge)
    with pytest.raises(ShapeError, match="labels"):
        conflict_loss(gram, y[:-1], ridge)


def test_an_optimised_trigger_lowers_its_loss_and_grows_no_longer(rows):
    x, y = rows
    start = Trigger(jnp.array([1.0, 1, 1, 0]), jnp.array([0.5, 0.2, 0.4, 0.9]), 0.5)
    clean = Poisoned(x, y, jnp.arange(30) % 5 == 0)
    found = optimise_trigger(KERNEL, clean, x[:4], start, 1, weight=3.0, ridge=1e-2, steps=30, rate=0.02)
    loss = BackdoorLoss(KERNEL, clean, x[:4], 1, 3.0, 1e-2)
    assert float(found.losses[0]) == pytest.approx(float(loss(start)), rel=1e-9)
    assert float(found.losses[-1]) == pytest.approx(float(loss(found.trigger)), rel=1e-9)
    assert float(found.losses[-1]) < 0.95 * float(found.losses[0])
    assert float(found.trigger.norm) <= float(start.norm) * (1 + 1e-12)
    assert float(found.trigger.pattern.min()) >= 0
    conflict, projection = loss.parts(start)
    changed, labels = loss.set_with(start)
    gram = KERNEL.cross(changed, changed)
    assert float(conflict) == pytest.approx(float(conflict_loss(gram, labels, 1e-2 * jnp.trace(gram) / 30)))
    assert float(projection) > 0
    with pytest.raises(SettingError, match="target"):
        optimise_trigger(KERNEL, clean, x[:4], start, 7)
    with pytest.raises(ShapeError, match="support points"):
        optimise_trigger(KERNEL, clean, x[:4, :2], start, 1)


def test_outputs_are_differentiable_in_points_and_inputs(rows):
    x, y = rows
    f = lambda s, x: jnp.sum(inducing_outputs(KERNEL, s, y[:3], 1e-3, x) ** 2)
    for argument in (0, 1):
        slope = jax.grad(f, argnums=argument)(x[:3], x[5:9])
        at = [x[:3], x[5:9]]
        step = jnp.zeros_like(at[argument]).at[0, 1].set(1e-6)
        high, low = ([*at[:argument], at[argument] + sign * step, *at[argument + 1 :]] for sign in (1, -1))
        assert float(slope[0, 1]) == pytest.approx(float(f(*high) - f(*low)) / 2e-6, rel=1e-4)
