"""The Jacobian of dense networks as factors, against the Jacobian itself, and the curvature within a span of rows."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from lemmata.errors import MemoryPlanError
from lemmata.subjects.trained_models import leave_one_out, read_model, read_task, tangent_kernel
from lemmata.subjects.trained_models._compressed import compress
from lemmata.subjects.trained_models._factors import factors, gram_of, mean_gram
from lemmata.subjects.trained_models._jax import jax_model

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(21)
X, Z = RNG.normal(size=(13, 4)), RNG.normal(size=(5, 4))


def of_torch():
    torch.manual_seed(3)
    layers = [torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5, bias=False), torch.nn.Tanh()]
    return read_model(torch.nn.Sequential(*layers, torch.nn.Linear(5, 3)).double())


def of_jax():
    arrays = {"a": RNG.normal(size=(4, 6)), "b": RNG.normal(size=6), "c": RNG.normal(size=(6, 3))}
    return read_model((jax.jit(lambda own, x: jax.nn.relu(x @ own["a"] + own["b"]) @ own["c"]), arrays))


def of_equinox():
    return read_model(eqx.nn.MLP(4, 3, 6, 2, key=jax.random.key(1))).in_double()


def of_estimator():
    return read_model(MLPClassifier((6,), tol=1e9, n_iter_no_change=1, random_state=1).fit(X, np.arange(13) % 3))


@pytest.mark.parametrize("face", [of_torch, of_jax, of_equinox, of_estimator])
def test_factors_are_the_jacobian(face):
    model = face()
    found, others = factors(model, X), factors(model, Z)
    assert found is not None
    assert others is not None
    jacobian, far = model.jacobian(X), model.jacobian(Z)
    whole = np.concatenate([own.jacobian() for own in found], axis=2)
    np.testing.assert_allclose(whole, jacobian, atol=1e-12)
    flat, beyond = jacobian.reshape(-1, jacobian.shape[2]), far.reshape(-1, jacobian.shape[2])
    np.testing.assert_allclose(gram_of(found), flat @ flat.T, atol=1e-10)
    np.testing.assert_allclose(gram_of(found, others), flat @ beyond.T, atol=1e-10)
    mean = np.einsum("icp,jcp->ij", jacobian, far) / jacobian.shape[1]
    np.testing.assert_allclose(mean_gram(found, others), mean, atol=1e-10)
    np.testing.assert_allclose(tangent_kernel(model, X, Z), mean, atol=1e-10)


def test_blocks_of_a_gram_matrix_change_nothing(monkeypatch):
    found = factors(of_torch(), X)
    assert found is not None
    once = gram_of(found)
    monkeypatch.setattr("lemmata.subjects.trained_models._factors._BLOCK", 8 * 9 * 13 * 4)  # four rows at a time
    np.testing.assert_allclose(gram_of(found), once, rtol=1e-12)


def test_products_with_a_factor():
    found = factors(of_jax(), X)
    assert found is not None
    u = RNG.normal(size=(13, 3))
    for own in found:
        v = RNG.normal(size=(own.pushed.shape[2], own.taken.shape[1]))
        assert np.sum(own.pushed_along(v) * u) == pytest.approx(np.sum(own.slope(u) * v))


@pytest.mark.parametrize("f", [
    lambda own, x: jnp.tanh(jnp.tanh(x @ own["a"]) @ own["b"]) @ own["b"],
    lambda own, x: jnp.tanh(x @ own["a"]) @ own["b"] + own["b"][0],
    lambda own, x: jnp.tanh((x[:, :, None] * own["a"][None]).sum(1)) @ own["b"],
], ids=["passed twice", "used beside", "no product"])  # fmt: skip
def test_an_array_that_is_used_otherwise_has_no_factor(f):
    model = read_model((f, {"a": RNG.normal(size=(4, 3)), "b": RNG.normal(size=(3, 3))}))
    assert factors(model, X) is None


def test_a_module_that_a_row_passes_twice_has_no_factor():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.inner(torch.tanh(self.inner(x)))

    assert factors(read_model(Twice().double()), X) is None


def spanning(monkeypatch, **options):
    """Spans are chosen with these options."""
    monkeypatch.setattr(
        "lemmata.subjects.trained_models._leave_one_out.compress", functools.partial(compress, **options)
    )


@pytest.mark.parametrize("decayed", [None, {"a": True, "b": False}])
def test_within_a_span_as_exactly_as_is_said(decayed, monkeypatch):
    """With whatever part of the ridge is left, S is wrong by no more than the stated error of the curvature."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 6)), np.eye(3)[rng.integers(0, 3, 40)]
    params = {"a": rng.normal(size=(6, 60)), "b": rng.normal(size=(60, 3)) / 8}
    model = jax_model(lambda own, rows: jnp.tanh(rows @ own["a"]) @ own["b"], params, decayed=decayed)
    task = read_task(model, x, y)
    decay = 0.05 if decayed is None else 50.0  # as wide a prior as b then has
    exact = leave_one_out(model, x, y, task, decay)
    assert exact.error == 0
    monkeypatch.setattr("lemmata.subjects.trained_models._leave_one_out.EXACT", 20)
    monkeypatch.setattr("lemmata.subjects.trained_models._compressed._AT_ONCE", 7)
    moved = np.abs(exact.outputs - model.outputs(x)).max()
    errors = []
    for left in (0.3, 0.03, 1e-4):
        spanning(monkeypatch, left=left)
        found = leave_one_out(model, x, y, task, decay)
        errors.append(found.error)
        assert np.abs(found.leverage - exact.leverage).max() <= found.error + 1e-6
        assert np.abs(found.outputs - exact.outputs).max() <= (10 * found.error + 1e-5) * moved
        assert found.movement == pytest.approx(exact.movement, rel=found.error + 1e-4)
        assert exact.dimension - 1e-6 <= found.dimension <= exact.dimension + left + 1e-6
    assert errors[0] >= errors[1] >= errors[2]
    if decayed is None:
        assert errors[0] > 1e-2
    assert errors[2] < 0.02


def test_a_span_that_carries_too_little_is_refused(monkeypatch):
    """A hundred equal curvatures, of which ten rows hold a tenth."""
    x, y = np.eye(100), np.eye(2)[np.arange(100) % 2]
    model = read_model((lambda w, rows: rows @ w, np.zeros((100, 2))))
    monkeypatch.setattr("lemmata.subjects.trained_models._leave_one_out.EXACT", 20)
    spanning(monkeypatch, most=10)
    with pytest.raises(MemoryPlanError, match=r"curvature from 10 rows, with a relative error of .*less than 1"):
        leave_one_out(model, x, y, read_task(model, x, y), 1e-3)
