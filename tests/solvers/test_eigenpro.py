"""EigenPro on centres against the least squares it solves, and the large comparison in small."""

import importlib.util
import pathlib
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import TangentKernel, relu_network
from lemmata.errors import DataError, MemoryPlanError, PrecisionError, SettingError, ShapeError, UnfinishedWarning
from lemmata.kernels import RBF, Laplace, Linear, Polynomial, gram
from lemmata.solvers import eigenpro

RNG = np.random.default_rng(0)
X = jnp.asarray(RNG.normal(size=(600, 3)))
F = jnp.stack([jnp.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1)


def test_without_noise_it_converges_to_a_function_on_its_centres():
    # Targets in the span of the kernel at the centres: the same key chooses the same centres.
    z = eigenpro(RBF(1.5), X, F, 60, jax.random.key(1), epochs=1, batch=64, tolerance=0.0).centres
    target = gram(RBF(1.5), X, z) @ jnp.asarray(RNG.normal(size=(60, 2)))
    errors = []
    for epochs in (3, 30):
        found = eigenpro(RBF(1.5), X, target, 60, jax.random.key(1), epochs=epochs, batch=64, tolerance=0.0)
        np.testing.assert_array_equal(found.centres, z)
        errors.append(float(jnp.mean((found(X) - target) ** 2)))
        assert found.errors.shape == (epochs,)
    assert errors[1] < 1e-2 * errors[0]


def test_with_noise_it_ends_near_least_squares_on_the_centres():
    y = F + 0.3 * jnp.asarray(RNG.normal(size=F.shape))
    found = eigenpro(RBF(1.5), X, y, 60, jax.random.key(1), epochs=30, batch=64, tolerance=0.0)
    features = np.asarray(gram(RBF(1.5), X, found.centres))
    best = features @ np.linalg.lstsq(features, np.asarray(y), rcond=None)[0]
    gap, noise = np.mean((np.asarray(found(X)) - best) ** 2), np.mean((best - np.asarray(y)) ** 2)
    # Least squares on p centres pays p/n of the noise; the mean of an epoch of steps may pay as much again.
    assert gap <= 60 / 600 * noise
    assert found.batch <= 64
    assert found.time == pytest.approx(30 * (600 // found.batch) * found.rate)


def test_a_step_is_the_damped_and_projected_gradient():
    found = eigenpro(RBF(1.5), X, F[:, 0], 60, jax.random.key(2), epochs=1, batch=64, tolerance=0.0)
    z, kernel = np.asarray(found.centres), lambda a, b: np.asarray(gram(RBF(1.5), jnp.asarray(a), jnp.asarray(b)))
    rows, rate, q = found.batch, found.rate, found.level
    order = np.asarray(jax.random.permutation(jax.random.fold_in(jax.random.key(2), 1), 600))
    values, vectors = np.linalg.eigh(kernel(z, z))
    values, vectors = values[::-1], vectors[:, ::-1]
    alpha, mean = np.zeros(60), np.zeros(60)
    for i in range(600 // rows):
        x, y = np.asarray(X)[order[i * rows : (i + 1) * rows]], np.asarray(F)[order[i * rows : (i + 1) * rows], 0]
        ascent = kernel(z, x) @ (kernel(x, z) @ alpha - y)
        # On the span of the centres the RKHS norm is alpha^T K alpha: the gradient is K^-1 ascent, and the damped part
        # takes (1 - a_{q+1}/a_i) of its component along the i-th eigenfunction away.
        gradient = np.linalg.solve(kernel(z, z), ascent)
        parts = vectors.T @ gradient
        parts[:q] *= values[q] / values[:q]
        alpha = alpha - rate * vectors @ parts
        mean = mean + alpha / (600 // rows)
    tolerance = 1e3 * 60 * np.finfo(float).eps * np.linalg.cond(kernel(z, z)) * np.abs(mean).max()
    np.testing.assert_allclose(found.coefficients, mean, rtol=0, atol=tolerance)
    assert tolerance < 1e-2 * np.abs(mean).max()
    assert 1 <= q <= 30


def test_float32_is_float64_to_single_precision():
    same = {"epochs": 5, "batch": 64, "tolerance": 0.0}
    exact = eigenpro(RBF(1.5), X, F, 60, jax.random.key(3), **same)
    single = eigenpro(RBF(1.5), X.astype(jnp.float32), F.astype(jnp.float32), 60, jax.random.key(3), **same)
    assert single.coefficients.dtype == jnp.float32
    gap = jnp.sqrt(jnp.mean((single(X.astype(jnp.float32)) - exact(X)) ** 2))
    # The jitter of single precision and its shorter list of eigenvalues cost less than stopping after 5 epochs does.
    assert float(gap) < float(jnp.sqrt(jnp.mean((exact(X) - F) ** 2)))


def test_the_comparison_of_the_benchmark_in_small():
    path = pathlib.Path(__file__).parents[2] / "benchmarks" / "large_scale.py"
    found = importlib.util.spec_from_file_location("large_scale", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.WORKING_SET, module.EPOCHS = 1, 16
    *data, truth = module.problem(3000)
    error = lambda values: np.mean((values - truth) ** 2)
    peer = error(module.peer_predictions(module.Fit("Nystroem", 300, "float64"), *data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedWarning)  # after 16 epochs the error may still fall
        ours = error(module.our_predictions(module.Fit("EigenPro", 300, "float64"), *data))
    direct = error(module.our_predictions(module.Fit("direct", 300, "float64"), *data))
    assert ours < 1.1 * peer  # centres are drawn apart, which moves either error by some per cent
    assert abs(direct / peer - 1) < 0.01  # the same centres: an intercept and a jitter apart


KERNELS = {
    "linear": Linear(), "polynomial": Polynomial(3, 1.0), "rbf": RBF(1.5), "laplace": Laplace(2.0),
    "relu": TangentKernel(relu_network(depth=2)),
}  # fmt: skip
NEW = jnp.asarray(RNG.normal(size=(300, 3)))


def targets(name, x):
    one_hot = jnp.eye(3)[jnp.argmax(x, axis=1)]
    noise = jnp.asarray(np.random.default_rng(len(x)).normal(size=len(x)))
    return {"constant": jnp.ones(len(x)), "one-hot": one_hot, "noise": noise, "linear": x @ jnp.arange(1.0, 4)}[name]


def direct(kernel, z, y):
    """The mean squared errors on new rows of ridge regression on the centres, for several ridges."""
    features, new = np.asarray(kernel.cross(X, z)), np.asarray(kernel.cross(NEW, z))
    values, vectors = np.linalg.eigh(np.asarray(kernel.cross(z, z)))
    kept = values > 1e-11 * values[-1]
    map_to = vectors[:, kept] / np.sqrt(values[kept])
    features, new = features @ map_to, new @ map_to
    inner, right = features.T @ features, features.T @ np.asarray(y).reshape(len(X), -1)
    fits = [new @ np.linalg.solve(inner + ridge * np.eye(len(inner)), right) for ridge in 10.0 ** np.arange(-7, 3)]
    return fits


@pytest.mark.parametrize("kind", ["constant", "one-hot", "noise", "linear"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_by_default_it_stops_where_the_direct_solution_is(kernel, kind):
    y, truth = targets(kind, X), np.asarray(targets(kind, NEW)).reshape(len(NEW), -1)
    found = eigenpro(KERNELS[kernel], X, y, 60, jax.random.key(1))
    assert found.done
    assert found.remaining <= 0.01
    assert found.epochs == len(found.errors) < 200
    scale = np.mean(np.sum(np.asarray(y).reshape(len(X), -1) ** 2, axis=1))
    error = lambda fit: np.mean(np.sum((np.asarray(fit).reshape(truth.shape) - truth) ** 2, axis=1)) / scale
    # The best of the ridges is chosen on the new rows themselves, which noise and rough targets reward.
    allowed = {"constant": 0.03, "one-hot": 0.03, "noise": 0.12, "linear": 0.01}[kind]
    assert error(found(NEW)) <= min(map(error, direct(KERNELS[kernel], found.centres, y))) + allowed


@pytest.mark.parametrize(("kernel", "kind"), [("rbf", "constant"), ("relu", "constant"), ("polynomial", "linear")])
def test_what_is_not_done_is_said(kernel, kind):
    y = targets(kind, X)
    with pytest.warns(UnfinishedWarning, match="not done after 1 epochs"):
        found = eigenpro(KERNELS[kernel], X, y, 60, jax.random.key(1), epochs=1)
    assert not found.done
    assert found.remaining > 0.02


def test_one_column_and_targets_of_zero():
    line = X[:, :1]
    found = eigenpro(Linear(), line, 3 * line[:, 0], 40, jax.random.key(0))
    np.testing.assert_allclose(found(line), 3 * line[:, 0], atol=0.05)
    none = eigenpro(RBF(1.5), X, jnp.zeros(len(X)), 40, jax.random.key(0))
    assert none.done
    assert not none(X).any()


def test_failures_and_wrong_arguments(monkeypatch):
    key = jax.random.key(0)
    with pytest.raises(SettingError, match="centres"):
        eigenpro(RBF(), X, F, 601, key)
    with pytest.raises(SettingError, match="block"):
        eigenpro(RBF(), X, F, 60, key, batch=0)
    with pytest.raises(ShapeError, match="points x"):
        eigenpro(RBF(), X[:0], F[:0], 2, key)
    with pytest.raises(ShapeError, match="targets"):
        eigenpro(RBF(), X, F[1:], 2, key)
    with pytest.raises(DataError, match="targets"):
        eigenpro(RBF(), X, F.at[0, 0].set(jnp.inf), 2, key)
    with pytest.raises(PrecisionError, match="float16"):
        eigenpro(RBF(), X.astype(jnp.float16), F, 2, key)
    with pytest.raises(DataError, match="rank 1, which happens if all points are equal"):
        eigenpro(RBF(), jnp.ones((20, 2)), jnp.ones(20), 5, key)
    monkeypatch.setattr("lemmata.solvers._eigenpro_plan.available_bytes", lambda: 2**20)
    with pytest.raises(MemoryPlanError, match="GiB"):
        eigenpro(RBF(), X, F, 500, key)
    monkeypatch.undo()
