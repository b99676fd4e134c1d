"""The certificate and the drift of a linear model and of small networks, by hand; bad input."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import relu_network, tangent_gram
from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError
from lemmata.subjects.tangent import kernel_drift, lazy_certificate


def linear(w, row):
    return row @ w


def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 6)), rng.normal(size=4)


def test_a_linear_model_is_certified_with_the_exact_path():
    x, y = rows()
    found = lazy_certificate(linear, jnp.zeros(6), x, y, steps=50)
    values, vectors = np.linalg.eigh(x @ x.T)
    left = (1 - 0.1 * values / values[-1]) ** 50 * (vectors.T @ y)
    assert found.applies
    assert found.rho == pytest.approx(0.0, abs=1e-9)
    assert found.least == pytest.approx(np.sqrt(values[0]))
    assert found.left == pytest.approx(np.linalg.norm(left) / np.linalg.norm(y))
    assert found.left <= found.bound
    assert found.moved <= found.movement == pytest.approx(np.linalg.norm(y) / found.least, rel=1e-6)


def test_a_product_by_hand():
    """f = u v x with x = 1 at (1, 1): J = (v, u) is 1-Lipschitz, s² = 2."""
    product = lambda p, row: p[0] * p[1] * row[0]
    found = lazy_certificate(product, jnp.ones(2), [[1.0]], [1.25], lipschitz=1.0, steps=400)
    assert found.rho == pytest.approx(0.125)
    assert found.movement == pytest.approx((1 - np.sqrt(0.75)) * np.sqrt(2))
    assert found.moved == pytest.approx(np.sqrt(2) * (np.sqrt(1.25) - 1), rel=1e-3)
    assert found.scale == pytest.approx(1.25)
    sampled = lazy_certificate(product, jnp.ones(2), [[1.0]], [1.25])
    assert sampled.lipschitz == pytest.approx(1.0)
    assert "cannot be checked" in str(sampled)
    assert "cannot be checked" not in str(found)


def test_more_rows_than_parameters_are_not_certified():
    x = np.random.default_rng(1).normal(size=(9, 3))
    found = lazy_certificate(linear, jnp.zeros(3), x, x[:, 0] ** 2)
    assert (found.least, found.scale, found.applies) == (0.0, np.inf, False)


def test_drift_of_a_network_by_its_own_kernels(key):
    x, y = rows()
    network = relu_network(depth=1, width=20)
    params, _ = network.init(key, 6)
    found = kernel_drift(network, params, x, y, steps=30)
    first = np.asarray(tangent_gram(network, params, jnp.asarray(x), output=0))
    assert found.rate == pytest.approx(1 / np.linalg.eigvalsh(first)[-1])
    assert found.alignment[0] == pytest.approx(y @ first @ y / (np.linalg.norm(first) * (y @ y)))
    f = lambda p: jax.vmap(lambda row: network.apply(p, row)[0])(jnp.asarray(x))
    residual = np.asarray(f(params) - y)
    linear_left = np.linalg.matrix_power(np.eye(4) - found.rate * first, 30) @ residual
    for _ in range(30):
        slopes = jax.grad(lambda p: jnp.sum((f(p) - y) ** 2) / 2)(params)
        params = jax.tree.map(lambda now, slope: now - found.rate * slope, params, slopes)
    last = np.asarray(tangent_gram(network, params, jnp.asarray(x), output=0))
    assert found.drift[-1] == pytest.approx(np.linalg.norm(last - first) / np.linalg.norm(first), rel=1e-6)
    assert found.loss[-1] == pytest.approx(float(jnp.mean((f(params) - y) ** 2)) / 2, rel=1e-6)
    assert found.linear[-1] == pytest.approx(np.mean(linear_left**2) / 2, rel=1e-6)
    assert {row["name"] for row in found.plot().to_dict()["data"]["values"]} == {"network", "linearised"}
    assert "<pre" in found._repr_html_()


def test_a_linear_model_does_not_drift():
    x, y = rows()
    found = kernel_drift(linear, jnp.zeros(6), x, y, steps=20)
    np.testing.assert_allclose(found.drift, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.loss, found.linear, rtol=1e-9)


def test_frames_are_taken_by_their_values():
    pandas = pytest.importorskip("pandas")
    x, y = rows()
    frame = kernel_drift(linear, jnp.zeros(6), pandas.DataFrame(x), pandas.Series(y))
    np.testing.assert_array_equal(frame.loss, kernel_drift(linear, jnp.zeros(6), x, y).loss)


@pytest.mark.parametrize("tool", [lazy_certificate, kernel_drift])
def test_bad_input(tool):
    x, y = rows()
    with pytest.raises(SettingError, match="network"):
        tool(3.0, jnp.zeros(6), x, y)
    with pytest.raises(ShapeError, match="one target for each row"):
        tool(linear, jnp.zeros(6), x, y[:3])
    with pytest.raises(ShapeError, match="x"):
        tool(linear, jnp.zeros(6), y, y)
    with pytest.raises(DataError, match="x"):
        tool(linear, jnp.zeros(6), np.full((4, 6), np.nan), y)
    with pytest.raises(DataError, match="params"):
        tool(linear, jnp.zeros(6, int), x, y)
    with pytest.raises(ShapeError, match="one output"):
        tool(lambda w, row: w, jnp.zeros(6), x, y)
    with pytest.raises(SettingError, match="steps"):
        tool(linear, jnp.zeros(6), x, y, steps=0)
    with pytest.raises(MemoryPlanError, match="Jacobian"):
        tool(lambda w, row: row @ w[:6], jnp.zeros(60_000_000), x, y)


def test_bad_rates_and_bounds():
    x, y = rows()
    with pytest.raises(SettingError, match="rate"):
        kernel_drift(linear, jnp.zeros(6), x, y, rate=-1.0)
    with pytest.raises(SettingError, match="lipschitz"):
        lazy_certificate(linear, jnp.zeros(6), x, y, lipschitz=0.0)
    with pytest.raises(DataError, match="diverge"):
        kernel_drift(lambda w, row: (row @ w) ** 3 + row @ w, jnp.ones(6), x, y, rate=10.0)
    with pytest.raises(DataError, match="tangent kernel of 0"):
        kernel_drift(lambda w, row: 0.0 * (row @ w), jnp.ones(6), x, y)


def product(p, row):
    return p[0] * p[1] * row[0]


def test_only_a_bound_that_was_given_certifies():
    given = lazy_certificate(product, jnp.ones(2), [[1.0]], [1.25], lipschitz=1.0)
    assert given.certified
    assert str(given).startswith("certified lazy")
    assert "is certified lazy from" in str(given)
    sampled = lazy_certificate(product, jnp.ones(2), [[1.0]], [1.25])
    assert (sampled.applies, sampled.certified) == (True, False)
    assert str(sampled).startswith("lazy if L is right")
    assert "certified" not in str(sampled).replace("for a certificate", "")
    refuted = lazy_certificate(product, jnp.ones(2), [[1.0]], [1.25], lipschitz=1e-9)
    assert (refuted.applies, refuted.certified) == (True, False)
    assert str(refuted).startswith("not certified lazy")


def test_rank_in_single_precision():
    """The last row is the mean of two others, up to the rounding of float32."""
    x = np.random.default_rng(0).normal(size=(4, 300))
    x[3] = 0.7 * x[0] + 0.3 * x[1]
    found = lazy_certificate(linear, jnp.zeros(300, jnp.float32), x.astype(np.float32), np.ones(4))
    assert (found.least, found.applies) == (0.0, False)


@pytest.mark.parametrize("tool", [lazy_certificate, kernel_drift])
def test_tables_of_several_types_and_tensors(tool):
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    x, y = rows()
    plain = str(tool(linear, jnp.zeros(6), x, y))
    tensors = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    for given in ((pandas.DataFrame(x, dtype=object), pandas.Series(y, dtype=object)), tensors):
        assert str(tool(linear, jnp.zeros(6), *given)) == plain


@pytest.mark.parametrize("tool", [lazy_certificate, kernel_drift])
def test_more_bad_input(tool):
    x, y = rows()
    with pytest.raises(DataError, match="the entry '1'"):
        tool(linear, jnp.zeros(6), x, ["1", "2", "3", "4"])
    with pytest.raises(DataError, match="datetime"):
        tool(linear, jnp.zeros(6), x, np.arange(4).astype("datetime64[D]"))
    with pytest.raises(DataError, match="equally long rows"):
        tool(linear, jnp.zeros(6), [[1.0], [1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(DataError, match="params"):
        tool(lambda p, row: row @ p[0], (jnp.zeros(6), jnp.tanh), x, y)
    with pytest.raises(SettingError, match=r"network; found TypeError: .*; rule: .* shape \(6,\)"):
        tool(lambda w, row: w[:3] @ row, jnp.zeros(6), x, y)
    with pytest.raises(DataError, match="gradients"):
        tool(lambda w, row: jnp.sqrt(row @ w), jnp.zeros(6), x, y)
    with pytest.raises(DataError, match="of 0"):
        tool(lambda w, row: 0.0 * (row @ w), jnp.zeros(6), x, y)
    with pytest.raises(DataError, match="scale the"):
        tool(linear, jnp.zeros(6), x, 1e200 * y)


def test_a_seed_below_0():
    with pytest.raises(SettingError, match="seed"):
        lazy_certificate(linear, jnp.zeros(6), *rows(), seed=-1)


@pytest.mark.parametrize("rate", [30.0, 1e3, 1e6])
def test_a_rate_at_which_units_saturate(rate):
    x = np.random.default_rng(1).normal(size=(5, 4))
    weights = np.random.default_rng(2).normal(size=(6, 4))
    found = kernel_drift(lambda w, row: jnp.tanh(w @ row).sum() / 6, weights, x, np.sign(x[:, 0]), rate=rate)
    assert np.isfinite(found.alignment).all()
    assert "linearised at the start, inf" in str(found)
    json.dumps(found.plot().to_dict(), allow_nan=False)


@pytest.mark.parametrize("repeated", ["all", "halves", "one"])
def test_repeated_rows_are_the_reason_for_no_certificate(repeated):
    """They leave no full rank, whatever the network; the answer says so, and needs no singular values."""
    x = np.random.default_rng(0).normal(size=(8, 6))
    kept = {"all": [0] * 8, "halves": [0, 1, 2, 3] * 2, "one": [0, 1, 2, 3, 4, 5, 6, 0]}[repeated]
    network = relu_network(depth=1, width=30)
    params, _ = network.init(jax.random.key(0), 6)
    found = lazy_certificate(network, params, x[kept], x[:, 0], steps=5)
    assert (found.least, found.least_after, found.rho) == (0.0, 0.0, np.inf)
    assert f"rows differ (number of repeated rows): fails ({8 - len(set(kept))})" in str(found)
    assert not found.certified
    distinct = lazy_certificate(network, params, x, x[:, 0], steps=5)
    assert "repeated" not in str(distinct)
    assert distinct.least > 0


def test_more_rows_than_parameters_are_named():
    x = np.random.default_rng(1).normal(size=(9, 3))
    said = str(lazy_certificate(linear, jnp.zeros(3), x, x[:, 0] ** 2))
    assert "there are at least as many parameters as rows (parameters): fails (3)" in said


@pytest.mark.parametrize("seed", range(3))
def test_gradients_by_rows_are_those_of_all_outputs(seed):
    """Each row is differentiated alone; the quotient is a spectral norm."""
    from lemmata.subjects.tangent._lazy_certificate import _quotient
    from lemmata.subjects.tangent._training_paths import outputs_of

    x = np.random.default_rng(seed).normal(size=(5, 4))
    network = relu_network(depth=2, width=7)
    params, _ = network.init(jax.random.key(seed), 4)
    model = outputs_of(network, params, x, x[:, 0])
    whole = np.asarray(jax.jacrev(model.of)(model.start))
    np.testing.assert_allclose(model.jacobian(model.start), whole, rtol=1e-12, atol=1e-14)
    other = np.random.default_rng(seed).normal(size=whole.shape)
    assert _quotient(whole, other, 2.0) == pytest.approx(np.linalg.norm(other - whole, 2) / 2, rel=1e-12)
    assert _quotient(whole.T, other.T, 2.0) == pytest.approx(np.linalg.norm(other - whole, 2) / 2, rel=1e-12)
