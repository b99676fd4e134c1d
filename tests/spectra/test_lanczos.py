"""Largest eigenvalues and traces from products: against dense matrices, and the stated chances of being wrong."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize
from scipy.sparse import linalg as sparse

from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError
from lemmata.spectra import (
    _lanczos,
    gauss_newton_product,
    hessian_product,
    largest_eigenvalues,
    sharpness,
    trace_estimate,
)

N = 300


def rotated(values, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return jnp.asarray((basis * np.asarray(values)) @ basis.T)


class Dense:
    """One function for all matrices of a size would be compiled once; a class with a hash is enough."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, v):
        return self.matrix @ v


SPECTRA = {
    "even": np.linspace(-1.0, 4.0, N),
    "outliers": np.append(np.linspace(0, 1, N - 3), [5.0, 7.0, 20.0]),
    "negative": np.linspace(-9.0, -2.0, N),
    "crowded": 2 - 1 / np.arange(1, N + 1) ** 2.0,
}


EVEN = Dense(rotated(SPECTRA["even"]))


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("stored", [False, True])
def test_the_largest_is_within_its_interval(name, stored):
    values = SPECTRA[name]
    found = largest_eigenvalues(Dense(rotated(values)), jnp.zeros(N), vectors=stored)
    width = values.max() - values.min()
    assert found.largest <= values.max() + 1e-10 <= found.upper + 2e-10
    assert found.upper - found.largest <= 0.0101 * width
    assert found.smallest >= values.min() - 1e-10
    assert np.abs(values - found.largest).min() <= found.residuals[0] * (1 + 1e-6) + 1e-10
    assert (found.vectors is None) != stored


def test_several_values_and_vectors_agree_with_scipy():
    matrix = rotated(SPECTRA["outliers"])
    found = largest_eigenvalues(Dense(matrix), jnp.zeros(N), 3)
    peer = sparse.eigsh(np.asarray(matrix), k=3, which="LA", return_eigenvectors=False)[::-1]
    assert found.values == pytest.approx(peer, rel=1e-10)
    for value, vector in zip(found.values, found.vectors, strict=True):
        assert float(jnp.linalg.norm(matrix @ vector - value * vector)) < 1e-6
        assert float(jnp.linalg.norm(vector)) == pytest.approx(1.0)


def test_with_few_dimensions_all_is_exact():
    matrix = rotated([1.0, 2.0, 5.0, 5.0])
    found = largest_eigenvalues(Dense(matrix), jnp.zeros(4), 3)
    assert found.values == pytest.approx((5.0, 5.0, 2.0))
    assert found.products == 4
    assert found.upper == pytest.approx(5.0)
    assert trace_estimate(Dense(matrix), jnp.zeros(4)).interval() == pytest.approx((13.0, 13.0))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("values", [np.zeros(N), np.full(N, 3.0), np.append(np.zeros(N - 2), [1.0, 2.0])])
def test_an_invariant_space_is_recognised(values, stored):
    found = largest_eigenvalues(Dense(rotated(values)), jnp.zeros(N), vectors=stored)
    assert found.largest == pytest.approx(values.max(), abs=1e-12)
    assert found.upper == pytest.approx(values.max(), abs=1e-10)
    assert found.products <= 4


def test_the_bound_fails_as_rarely_as_it_says_and_is_needed():
    # a spectrum with a single largest value: few products leave it out unless the start happens to show it
    matrix = rotated(np.append(np.linspace(0, 0.98, N - 1), 1.0))
    product = Dense(matrix)
    found = [largest_eigenvalues(product, jnp.zeros(N), products=12, failure=0.1, seed=seed) for seed in range(60)]
    assert sum(one.upper < 1.0 for one in found) <= 6 + 8
    assert sum(one.largest < 0.995 for one in found) > 5


@pytest.mark.parametrize(("k", "failure"), [(20, 0.1), (20, 0.001), (40, 0.02)])
def test_the_upper_end_is_that_of_kuczynski_and_wozniakowski(k, failure):
    found = largest_eigenvalues(EVEN, jnp.zeros(N), products=k, failure=failure)
    # half of the failures at each end: failure/2 = 1.648 sqrt(n) exp(-(2k - 1) sqrt(e))
    share = optimize.brentq(lambda e: 1.648 * N**0.5 * np.exp(-(2 * k - 1) * e**0.5) - failure / 2, 1e-9, 10.0)
    width = (found.upper - found.largest) / share  # at most the width of a spectrum whose two ends are missed by e
    assert found.largest - found.smallest == pytest.approx(width * (1 - 2 * share))
    assert (found.products, found.failure) == (k, failure)


def test_residuals_are_lengths_of_what_an_eigenvector_has_not():
    found = largest_eigenvalues(EVEN, jnp.zeros(N), 3, products=16)
    missing = [np.linalg.norm(EVEN(x) - value * x) for x, value in zip(found.vectors, found.values, strict=True)]
    assert missing == pytest.approx(found.residuals, rel=1e-8)
    assert min(missing) > 1e-3
    alone = largest_eigenvalues(EVEN, jnp.zeros(N), products=16)
    assert alone.residuals[0] == pytest.approx(found.residuals[0], rel=1e-6)


def test_too_few_products_bound_nothing():
    assert largest_eigenvalues(EVEN, jnp.zeros(N), products=3).upper == np.inf


def net(params, x):
    for weights, bias in params[:-1]:
        x = jnp.tanh(x @ weights + bias)
    return x @ params[-1][0] + params[-1][1]


def small(dtype=jnp.float64):
    rng = np.random.default_rng(3)
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape), dtype)
    params = [(draw(5, 15), draw(15)), (draw(15, 2), draw(2))]
    return params, draw(20, 5), draw(20, 2)


PARAMS, X, Y = small()


def loss(params):
    return jnp.mean((net(params, X) - Y) ** 2)


def dense_hessian():
    flat, unravel = jax.flatten_util.ravel_pytree(PARAMS)
    return np.asarray(jax.hessian(lambda v: loss(unravel(v)))(flat))


def test_sharpness_and_trace_of_a_network_are_those_of_its_hessian():
    matrix = dense_hessian()
    values = np.linalg.eigvalsh(matrix)
    found = sharpness(loss, PARAMS, products=40)
    assert found.dimension == len(matrix) == 122
    assert found.largest == pytest.approx(values[-1], rel=1e-9)
    assert "largest eigenvalue" in str(found)
    trace = trace_estimate(hessian_product(loss, PARAMS), PARAMS, products=40)
    assert abs(trace.value - np.trace(matrix)) < 4 * trace.standard_error
    assert trace.products == 40
    assert "+-" in str(trace)


def test_gauss_newton_leaves_out_the_curvature_of_the_outputs():
    flat, unravel = jax.flatten_util.ravel_pytree(PARAMS)
    jacobian = np.asarray(jax.jacobian(lambda v: net(unravel(v), X).ravel())(flat))
    matrix = jacobian.T @ jacobian * 2 / Y.size
    product = gauss_newton_product(lambda p: net(p, X), lambda z: jnp.mean((z - Y) ** 2), PARAMS)
    v = jnp.asarray(np.random.default_rng(0).normal(size=122))
    found = jax.flatten_util.ravel_pytree(product(unravel(v)))[0]
    assert np.asarray(found) == pytest.approx(matrix @ np.asarray(v))
    exact = np.linalg.eigvalsh(matrix)
    assert largest_eigenvalues(product, PARAMS, 2, products=40).values == pytest.approx(exact[:-3:-1], rel=1e-6)


def test_one_function_is_compiled_once_for_all_parameters():
    moved = jax.tree.map(lambda leaf: leaf + 0.1, PARAMS)
    one, two = hessian_product(loss, PARAMS), hessian_product(loss, moved)
    assert jax.tree.structure(one) == jax.tree.structure(two)
    assert sharpness(loss, PARAMS, products=9).largest != sharpness(loss, moved, products=9).largest


def test_single_precision_stays_single():
    matrix = rotated(SPECTRA["outliers"]).astype(jnp.float32)
    found = largest_eigenvalues(Dense(matrix), jnp.zeros(N, jnp.float32), vectors=True)
    assert found.vectors.dtype == jnp.float32
    assert found.largest == pytest.approx(20.0, rel=1e-5)


@pytest.mark.parametrize("method", ["xtrace", "hutchinson"])
def test_intervals_of_traces_cover(method):
    matrix = rotated(1 / np.arange(1, N + 1))
    product, truth = Dense(matrix), float(np.trace(matrix))
    found = [trace_estimate(product, jnp.zeros(N), method=method, seed=seed) for seed in range(100)]
    limits = np.array([one.interval(0.95) for one in found])
    # 0.87 was measured over 300 repetitions: 100 have fewer than 77 with probability 0.003
    assert np.mean((limits[:, 0] <= truth) & (truth <= limits[:, 1])) >= 0.77
    assert np.mean([one.value for one in found]) == pytest.approx(
        truth, abs=4 * np.mean([one.standard_error for one in found]) / 10
    )


def test_probes_that_learn_the_range_are_better():
    matrix = rotated(1 / np.arange(1, N + 1) ** 2.0)
    product, truth = Dense(matrix), float(np.trace(matrix))
    error = lambda method, seed: abs(trace_estimate(product, jnp.zeros(N), method=method, seed=seed).value - truth)
    worst = [np.mean([error(method, seed) for seed in range(10)]) for method in ("xtrace", "hutchinson")]
    assert worst[0] < worst[1] / 5


def test_what_is_refused(monkeypatch):
    eye, skew = Dense(jnp.eye(N)), Dense(jnp.asarray(np.triu(np.ones((N, N)))))
    zero = jnp.zeros(N)
    for stored in (False, True):
        with pytest.raises(DataError, match="symmetric"):
            largest_eigenvalues(skew, zero, vectors=stored)
        with pytest.raises(DataError, match="finite"):
            largest_eigenvalues(lambda v: v * jnp.nan, zero, vectors=stored)
    with pytest.raises(DataError, match="symmetric"):
        largest_eigenvalues(lambda v: skew.matrix[:4, :4] @ v, jnp.zeros(4))
    with pytest.raises(DataError, match="finite"):
        trace_estimate(lambda v: v * jnp.nan, zero)
    for tree, name in (
        ({"a": jnp.arange(3)}, r"\['a'\]"),
        (jnp.zeros(3, jnp.float16), "float16"),
        (jnp.zeros(3, complex), "complex128"),
        ("word", "str"),
        ([], "no numbers"),
        (jnp.zeros(0), "no num"),
    ):
        with pytest.raises(DataError, match=name):
            largest_eigenvalues(eye, tree)
    with pytest.raises(ShapeError, match="product"):
        largest_eigenvalues(lambda v: v[:2], zero)
    with pytest.raises(ShapeError, match="loss"):
        sharpness(lambda v: v, zero)
    with pytest.raises(ShapeError, match="loss"):
        gauss_newton_product(lambda v: v, lambda z: z, zero)
    for setting in (
        {"tolerance": 0.0},
        {"tolerance": 1.0},
        {"failure": 0.0},
        {"products": 1},
        {"count": 0},
        {"count": N + 1},
        {"count": 3, "products": 3},
        {"seed": -1},
    ):
        with pytest.raises(SettingError, match=list(setting)[-1]):
            largest_eigenvalues(eye, zero, **setting)
    for setting in ({"products": 3}, {"method": "guess"}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            trace_estimate(eye, zero, **setting)
    with pytest.raises(SettingError, match="level"):
        trace_estimate(eye, zero).interval(1.0)
    monkeypatch.setattr(_lanczos, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryPlanError, match="basis"):
        largest_eigenvalues(eye, zero, 2)


@pytest.mark.parametrize("n", [50, 3000])
@pytest.mark.parametrize("tolerance", [0.3, 0.01, 1e-4])
@pytest.mark.parametrize("failure", [0.1, 1e-6])
def test_no_more_products_are_planned_than_the_bound_needs(n, tolerance, failure):
    """The bound is e = (log(1.648 sqrt(n) / (failure / 2)) / (2k - 1))² (Kuczynski 1992); k - 1 fails."""
    k = _lanczos._needed(n, tolerance, failure)
    e = lambda products: (math.log(1.648 * math.sqrt(n) / (failure / 2)) / (2 * products - 1)) ** 2
    assert e(k) / (1 - 2 * e(k)) <= tolerance * (1 + 1e-12)
    before = e(k - 1)
    assert not 0 <= before / (1 - 2 * before) <= tolerance * (1 - 1e-12)
