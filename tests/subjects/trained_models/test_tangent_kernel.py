"""The tangent kernel against another implementation and by hand; leaving out against refits one by one."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.errors import MemoryPlanError
from lemmata.networks import EmpiricalKernel
from lemmata.subjects.trained_models import (
    _tangent_kernel,
    end_kernel,
    kernel_machine,
    read_model,
    read_trained,
    start_kernel,
    tangent_kernel,
)
from lemmata.subjects.trained_models.kernel_machines import ErrorOfTheEndKernel

RNG = np.random.default_rng(21)
X, Z = RNG.normal(size=(13, 3)), RNG.normal(size=(5, 3))
WEIGHTS = {"w1": jnp.asarray(RNG.normal(size=(3, 4))), "w2": jnp.asarray(RNG.normal(size=(4, 2)))}


def bent(params, x):
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


def test_the_kernel_of_another_implementation():
    model = read_model((bent, WEIGHTS))
    other = EmpiricalKernel(bent, WEIGHTS)
    assert tangent_kernel(model, X) == pytest.approx(np.asarray(other.gram(jnp.asarray(X), outputs="mean")), rel=1e-10)
    both = np.asarray(other.gram(jnp.asarray(np.concatenate([X, Z])), outputs="mean"))
    assert tangent_kernel(model, Z, X) == pytest.approx(both[13:, :13], rel=1e-10)


def test_the_kernel_of_a_linear_model_is_that_of_its_rows():
    model = read_model((lambda w, x: x @ w, jnp.ones((3, 2))))
    assert tangent_kernel(model, X, Z) == pytest.approx(X @ Z.T)


@pytest.mark.parametrize("rows", [1, 4, 13])
def test_blocks_change_nothing_and_cost_what_is_said(rows, monkeypatch):
    model = read_model((bent, WEIGHTS))
    monkeypatch.setattr(_tangent_kernel, "factors", lambda *told: None)  # a dense network needs no blocks
    once, across = tangent_kernel(model, X), tangent_kernel(model, Z, X)
    monkeypatch.setattr(_tangent_kernel, "_BYTES", rows * 8 * 2 * 20 + 7)
    assert _tangent_kernel.block_rows(model, X) == rows
    seen, own = [], type(model).jacobian
    monkeypatch.setattr(type(model), "jacobian", lambda self, x: seen.append(len(x)) or own(self, x))
    assert tangent_kernel(model, X) == pytest.approx(once, rel=1e-12)
    assert tangent_kernel(model, Z, X) == pytest.approx(across, rel=1e-12)
    assert max(seen) <= rows
    pairs = 2 * (13 / 2 + 5) / 3  # what the products cost, in gradients
    said = (_tangent_kernel.kernel_passes(model, X, len(Z)) - pairs) * len(X) / 2
    assert sum(seen) <= said * 1.2
    assert said <= sum(seen) * 1.5


def test_a_row_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(_tangent_kernel, "_BYTES", 100)
    with pytest.raises(MemoryPlanError, match="Jacobian of one row"):
        tangent_kernel(read_model((bent, WEIGHTS)), X)
    with pytest.raises(MemoryPlanError, match="Jacobian of one row"):
        _tangent_kernel.kernel_bytes(read_model((bent, WEIGHTS)), X, 5)
    rowwise = _tangent_kernel.kernel_passes(read_model((bent, WEIGHTS)), X, 5)  # it has its price all the same
    monkeypatch.setattr(_tangent_kernel, "_BYTES", 10**9)
    assert 0 < _tangent_kernel.kernel_passes(read_model((bent, WEIGHTS)), X, 5) < rowwise < np.inf


def test_bytes_are_those_of_the_matrices():
    model = read_model((bent, WEIGHTS))
    assert _tangent_kernel.kernel_bytes(model, X, 5) > 8 * (13 * 2 * 20 + 13 * 13)
    assert _tangent_kernel.kernel_bytes(model, np.zeros((2000, 3)), 5) > 8 * 2000**2


def test_leaving_a_row_out_is_a_refit_without_it():
    kernel, y = X @ X.T + np.eye(13), np.eye(2)[RNG.integers(0, 2, 13)]
    cross = Z @ X.T
    machine = kernel_machine(kernel, y, cross)
    constant = np.trace(kernel) / 13
    refit = lambda rows: KernelRidge(alpha=machine.ridge, kernel="precomputed").fit(
        (kernel + constant)[np.ix_(rows, rows)], y[rows]
    )
    for i in range(13):
        rest = np.delete(np.arange(13), i)
        assert machine.left_out[i] == pytest.approx(refit(rest).predict((kernel + constant)[i : i + 1, rest])[0])
    assert machine.outputs == pytest.approx(refit(np.arange(13)).predict(cross + constant))


def test_the_ridge_is_the_best_of_those_tried():
    x = RNG.normal(size=(40, 4))
    y = (x @ RNG.normal(size=(4, 1))) + 0.5 * RNG.normal(size=(40, 1))
    machine = kernel_machine(x @ x.T, y)
    gram = x @ x.T + np.trace(x @ x.T) / 40

    def error(ridge):
        inverse = np.linalg.inv(gram + ridge * np.eye(40))
        return float((((inverse @ y)[:, 0] / np.diagonal(inverse)) ** 2).sum())

    tried = np.trace(x @ x.T) / 40 * np.geomspace(1e-4, 1e3, 29)
    assert machine.ridge == pytest.approx(min(tried, key=error))
    assert ((machine.left_out - y) ** 2).sum() == pytest.approx(error(machine.ridge))
    assert machine.outputs.shape == (0, 1)


def test_a_trained_model_has_both_machines():
    start, end = {key: value + 0.3 for key, value in WEIGHTS.items()}, WEIGHTS
    y = X[:, 0] > 0
    problem = read_trained((bent, end), X, y.astype(int), start=(bent, start), held=(Z, (Z[:, 0] > 0).astype(int)))
    for machine, params in ((start_kernel(problem), start), (end_kernel(problem), end)):
        model = read_model((bent, params))
        own = kernel_machine(tangent_kernel(model, X), problem.y, tangent_kernel(model, Z, X))
        assert machine.outputs == pytest.approx(own.outputs)
        assert machine.left_out == pytest.approx(own.left_out)
    assert np.abs(start_kernel(problem).outputs - end_kernel(problem).outputs).max() > 1e-3


def test_the_gauge_of_the_trained_kernel_says_nothing_about_several_values_a_row():
    """Its kernel is a mean over outputs: an autoencoder's measured error was 0.07 for a model with error 2.98."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    model = (lambda own, x: jnp.tanh(x @ own["in"]) @ own["out"], {"in": jnp.ones((3, 2)), "out": jnp.ones((2, 3))})
    several = ErrorOfTheEndKernel().hypotheses(read_trained(model, x, x, decay=1e-2))
    (failing,) = [each for each in several if each.name == "number of values for each row"]
    assert failing.holds is not None
    assert not failing.holds
    one = (lambda own, x: model[0](own, x)[:, :1], model[1])
    single = ErrorOfTheEndKernel().hypotheses(read_trained(one, x, x[:, :1], decay=1e-2))
    assert all(each.holds for each in single if each.name == "number of values for each row")
