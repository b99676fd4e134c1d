"""Flows under any smooth loss: closed forms, descent in small steps, linearised networks, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError, SolverError
from lemmata.networks import EmpiricalKernel, linearize, train
from lemmata.solvers import (
    cross_entropy_flow,
    gradient_flow,
    largest_learning_rate,
    loss_flow,
    momentum_descent,
    momentum_flow,
)
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps
RNG = np.random.default_rng(1)
Y, LABELS = jnp.asarray(RNG.normal(size=(9, 2))), jnp.asarray(RNG.integers(0, 3, size=9))
START = (jnp.asarray(RNG.normal(size=(9, 2))), jnp.asarray(RNG.normal(size=(4, 2))))
TIMES = [2.0, 0.0, 0.3, 1e4, float("inf")]


def squared(f, y):
    return 0.5 * jnp.sum((f - y) ** 2)


def smooth(f, y):
    """Convex, with curvature between 0.1 and 1.1, and not quadratic."""
    return jnp.sum(jnp.sqrt(1 + (f - y) ** 2) + 0.05 * f**2)


def cross_entropy(f, labels):
    return -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(f), labels[:, None], axis=1))


def kernels(d):
    """Gram and cross matrix of 9 and 4 points of d features: of full rank, or of rank 3."""
    z = np.random.default_rng(d).normal(size=(13, d)) / 2
    z[9:] *= 3  # the others move more than some directions of the training points do
    return jnp.asarray(z[:9] @ z[:9].T), jnp.asarray(z[9:] @ z[:9].T)


@pytest.mark.parametrize("damping", [None, 0.7])
@pytest.mark.parametrize("d", [20, 3])
def test_squared_loss_is_the_closed_form(d, damping):
    K, cross = kernels(d)
    found = loss_flow(K, squared, Y, TIMES, cross, start=START, damping=damping)
    system, gap = spectrum(K), Y - START[0]
    exact = gradient_flow(system, gap, TIMES, cross)
    exact = exact if damping is None else momentum_flow(system, gap, damping, TIMES, cross)
    for i in range(len(TIMES)):
        off = max(
            float(jnp.max(jnp.abs(found.path.train[i] - START[0] - exact.train[i]))),
            float(jnp.max(jnp.abs(found.path.test[i] - START[1] - exact.test[i]))),
        )
        # The error that is reported bounds the true one, down to the tolerance.
        assert off <= max(float(found.error[i]), 1e-8), TIMES[i]
        assert off < 3e-6  # fewer than 300 steps up to time 2, of a local error of 1e-8, in a contracting flow
    assert float(jnp.max(found.error)) < 3e-5
    np.testing.assert_allclose(found.loss, jax.vmap(lambda f: squared(f, Y))(found.path.train), rtol=1e-14)


@pytest.mark.parametrize("d", [20, 3])
def test_cross_entropy_is_its_own_flow(d):
    K, cross = kernels(d)
    start = (jnp.zeros((9, 3)), jnp.ones((4, 3)))
    exact = cross_entropy_flow(K, LABELS, [0.5, 4.0], cross, start=start, tolerance=1e-11)
    found = loss_flow(K, cross_entropy, LABELS, [0.5, 4.0], cross, start=start)
    for i in range(2):
        off = jnp.maximum(
            jnp.max(jnp.abs(found.path.train[i] - exact.path.train[i])),
            jnp.max(jnp.abs(found.path.test[i] - exact.path.test[i])),
        )
        assert float(off) <= float(found.error[i]) + 1e-10
        assert float(found.error[i]) < 1e-5
    np.testing.assert_allclose(found.loss, exact.loss, rtol=1e-6)


def descended(K, cross, time, steps, damping):
    """Outputs after small steps, of Euler's method or of the heavy ball."""
    joint, f = np.concatenate([K, cross]), np.concatenate(START)
    slope, before, h = jax.jit(jax.grad(smooth)), f, time / steps
    rate, momentum = (h, 0.0) if damping is None else (h * h, 1 - damping * h)
    for _ in range(steps):
        f, before = f - rate * joint @ np.asarray(slope(f[:9], Y)) + momentum * (f - before), f
    return f


@pytest.mark.parametrize("damping", [None, 0.7])
def test_the_flow_is_the_limit_of_small_steps_of_descent(damping):
    K, cross = kernels(20)
    found = loss_flow(K, smooth, Y, 1.5, cross, start=START, damping=damping)
    coarse, middle, fine = (descended(K, cross, 1.5, steps, damping) for steps in (250, 500, 1000))
    once = (
        2 * middle - coarse,
        2 * fine - middle,
    )  # both methods have an error of c/steps + d/steps²: off with the first
    extrapolated, gap = (4 * once[1] - once[0]) / 3, np.abs(once[1] - once[0]).max()  # ... and with the second
    assert gap < 2e-4
    outputs = np.concatenate([found.path.train[0], found.path.test[0]])
    np.testing.assert_allclose(outputs, extrapolated, rtol=0, atol=gap / 10 + float(found.error[0]))
    assert np.abs(outputs - fine).max() > gap / 10 + float(found.error[0])  # the finest steps alone are further off


def test_training_a_linearised_network_follows_the_kernel_of_all_pairs_of_outputs():
    f = lambda p, x: p["out"] @ jnp.tanh(p["middle"] @ jnp.tanh(p["in"] @ x))  # Theta(x, x')_ab is not Theta(x, x')_ba
    shapes = {"in": (6, 3), "middle": (4, 6), "out": (2, 4)}
    params = {name: jnp.asarray(RNG.normal(size=shape)) for name, shape in shapes.items()}
    x, new, y = (jnp.asarray(RNG.normal(size=shape)) for shape in ((5, 3), (3, 3), (5, 2)))
    line, kernel = linearize(f, params), EmpiricalKernel(f, params)
    theta, cross = kernel.gram(x), kernel.gram(new, x)
    start, at = (kernel.values(x), kernel.values(new)), [0.02, 0.1]
    found = loss_flow(theta, squared, y, at, cross, start=start)
    runs = [
        train(line, params, x, y, learning_rate=0.1 / steps, steps=steps, record_at=[steps // 5, steps], x_test=new)
        for steps in (1000, 2000, 4000)
    ]
    outputs = [np.concatenate([run.train, run.test], axis=1) for run in runs]
    once = 2 * outputs[1] - outputs[0], 2 * outputs[2] - outputs[1]
    expected, gap = (4 * once[1] - once[0]) / 3, np.abs(once[1] - once[0]).max()
    ours = np.concatenate([found.path.train, found.path.test], axis=1)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=gap / 3 + float(jnp.max(found.error)))
    assert gap < 1e-4
    # Outputs do not share a kernel here: that of the first alone is far off.
    alone = loss_flow(theta[:, :, 0, 0], squared, y, at, cross[:, :, 0, 0], start=start)
    assert np.abs(np.concatenate([alone.path.train, alone.path.test], axis=1) - expected).max() > 1e-2


@pytest.mark.parametrize("d", [20, 3])
def test_the_end_of_training_is_where_long_times_lead_and_no_gradient_is_left(d):
    K, cross = kernels(d)
    slowest = 0.1 * float(jnp.min(spectrum(K).resolved[: min(d, 9)]))
    found = loss_flow(K, smooth, Y, [40 / slowest, float("inf")], cross, start=START)
    np.testing.assert_allclose(found.path.train[1], found.path.train[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.path.test[1], found.path.test[0], rtol=0, atol=1e-5)
    slope = K @ jax.grad(smooth)(found.path.train[1], Y)
    assert float(jnp.max(jnp.abs(slope))) < 1e-12 * float(jnp.linalg.norm(K))


def test_stiff_problems_take_implicit_steps():
    K, cross = kernels(20)
    late = lambda f, y: smooth(f, y) + 1e5 * jnp.sum(jax.nn.relu(f - 1) ** 3)  # stiff where it is not at the start
    assert loss_flow(K, late, Y + 10, 50.0, tolerance=1e-5).steps > 10_000  # explicit ones were tried first
    plain = loss_flow(K, smooth, Y, 2.0, cross, start=START)
    scaled = loss_flow(1e6 * K, smooth, Y, [2e-6, 1.0], 1e6 * cross, start=START)
    np.testing.assert_allclose(scaled.path.train[0], plain.path.train[0], rtol=0, atol=1e-5)
    assert scaled.steps < 10_000  # stability asks explicit ones for 1e6
    assert float(scaled.loss[1]) < float(scaled.loss[0])


def test_wrong_arguments_are_refused():
    K, cross = kernels(20)
    for options in ({"time": -1.0}, {"time": []}, {"time": float("nan")}, {"tolerance": 0.0}, {"damping": 0.0}):
        with pytest.raises(SettingError, match=next(iter(options))):
            loss_flow(K, squared, Y, **{"time": 1.0, **options})
    for options in (
        {"damping": "a"},
        {"tolerance": None},
        {"tolerance": True},
        {"damping": 1j},
        {"start": 3},
        {"start": (Y,)},
    ):
        with pytest.raises(SettingError, match=next(iter(options))):
            loss_flow(K, squared, Y, 1.0, **options)
    with pytest.raises(SettingError, match="damping"):
        loss_flow(K, squared, Y, 1.0, damping=np.ones(2))
    for returned, found in ((lambda f: None, "None"), (lambda f: (jnp.sum(f), 1.0), "a tuple")):
        with pytest.raises(SettingError, match=f"loss; found {found}; rule: a function that returns one number"):
            loss_flow(K, lambda f, y, returned=returned: returned(f), Y, 1.0)
    with pytest.raises(ShapeError, match=r"loss; found shape \(9, 2\).*jnp.sum"):
        loss_flow(K, lambda f, y: (f - y) ** 2, Y, 1.0)
    with pytest.raises(ShapeError, match=r"loss; found outputs of shape \(9, 2\)"):
        loss_flow(K, lambda f, y: jnp.sum(f @ y), Y, 1.0)
    with pytest.raises(SettingError, match="loss; found values of type int"):
        loss_flow(K, lambda f, y: jnp.argmax(f), Y, 1.0)
    with pytest.raises(DataError, match="loss; found a loss of nan at the start"):
        loss_flow(K, lambda f, y: jnp.sum(jnp.log(f - 1)), Y, 1.0)
    with pytest.raises(DataError, match="loss; found a loss of 0 at the start, with a gradient of norm nan"):
        loss_flow(K, lambda f, y: jnp.linalg.norm(f), Y, 1.0)
    with pytest.raises(SolverError, match="a flow that did not reach time 1"):
        loss_flow(K, lambda f, y: -jnp.sum((f - y) ** 4), Y, 1.0)  # leaves for infinity before
    with pytest.raises(ShapeError, match="start"):
        loss_flow(K, squared, Y, 1.0, start=(Y[:-1], None))
    with pytest.raises(ShapeError, match="start elsewhere"):
        loss_flow(K, squared, Y, 1.0, cross, start=(Y, Y))
    with pytest.raises(ShapeError, match="targets y"):
        loss_flow(K, squared, Y[:-1], 1.0)
    with pytest.raises(ShapeError, match="shapes"):
        loss_flow(jnp.ones((9, 9, 3, 3)), squared, Y, 1.0)
    with pytest.raises(DataError, match="cross"):
        loss_flow(K, squared, Y, 1.0, cross.at[0, 0].set(jnp.nan))
    with pytest.raises(NotPositiveDefiniteError):
        loss_flow(-K, squared, Y, 1.0)


def test_without_a_least_loss_there_is_no_end():
    K, _ = kernels(20)
    for loss, words in (
        (lambda f, y: jnp.sum(jax.nn.softplus(-f)), "still change|eigenvalue"),  # falls for ever
        (lambda f, y: jnp.sum(f[:, 0] ** 2), r"eigenvalue -?\d.*e-"),
        (lambda f, y: jnp.sum(jnp.cos(f)), r"eigenvalue -1 after 0"),
    ):
        with pytest.raises(SettingError, match=f"loss; found .*({words}).*finite times"):
            loss_flow(K, loss, Y, float("inf"))


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_descent_converges_below_the_largest_rate_and_diverges_above(momentum, nesterov):
    K, _ = kernels(20)
    edge = float(largest_learning_rate(K, momentum=momentum, nesterov=nesterov))
    y, ends = np.asarray(Y), []
    for rate in (0.98 * edge, 1.02 * edge):
        f, before = np.zeros((9, 2)), np.zeros((9, 2))
        for _ in range(3000):
            ahead = f + momentum * (f - before)
            f, before = ahead - rate * np.asarray(K) @ ((ahead if nesterov else f) - y), f
        ends.append(np.abs(f - y).max())
        closed = momentum_descent(spectrum(K), Y, rate, momentum, 3000, nesterov=nesterov).train[0]
        assert float(jnp.max(jnp.abs(closed - Y))) == pytest.approx(ends[-1], rel=1e-6, abs=1e-12)
    assert ends[0] < 1e-1
    assert ends[1] > 1e6


def test_the_largest_rate_counts_terms_and_pairs_of_outputs():
    K, _ = kernels(20)
    edge = float(largest_learning_rate(K))
    assert float(largest_learning_rate(K, terms=18)) == pytest.approx(18 * edge, rel=1e-14)
    pairs = K[:, :, None, None] * jnp.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    assert float(largest_learning_rate(pairs)) == pytest.approx(edge / 3, rel=1e-12)
    for options, words in (({"momentum": 1.0}, "momentum"), ({"momentum": -0.1}, "momentum"), ({"terms": 0}, "terms")):
        with pytest.raises(SettingError, match=words):
            largest_learning_rate(K, **options)
    with pytest.raises(SettingError, match="largest eigenvalue"):
        largest_learning_rate(jnp.zeros((2, 2)))
    with pytest.raises(ShapeError, match="kernel"):
        largest_learning_rate(jnp.ones((2, 2, 3, 2)))
