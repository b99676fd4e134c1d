"""Machines by other routes: stationarity by hand, roots of polynomials, SciPy's densities, conditional laws by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from lemmata.errors import (
    DataError,
    LemmataError,
    NotPositiveDefiniteError,
    SettingError,
    ShapeError,
    SolverError,
    UnknownNameError,
)
from lemmata.subjects.machines import (
    SparseMachine,
    _dense,
    deep_kernel_machine,
    gaussian_divergence,
    linear_deep_kernel_machine,
    rectify,
    train_sparse_machine,
)
from lemmata.subjects.machines._layers import check_kernel

RNG = np.random.default_rng(0)
TWO_X = [[-0.7, 1.3, -0.6], [0.8, 0.0, -0.7], [1.3, 0.6, -1.8], [1.0, -1.1, -0.2]]
TWO_Y = [[-1.3, 4.8], [3.2, -6.7], [-2.0, 1.2], [-2.4, -0.9]]
X, Y = RNG.normal(size=(3, 6)), RNG.normal(size=(3, 4))
GRAM = X @ X.T / 6


@pytest.mark.parametrize("nu", [0.7, 4.0, 30.0])
def test_linear_layers_are_stationary(nu):
    """nu (G_0^-1 - G_1^-1) = nu (G_1^-1 G_2 G_1^-1 - G_1^-1), and the same with C and S beyond the last layer."""
    first, last = linear_deep_kernel_machine(GRAM, Y, layers=2, nu=nu)
    inverse = np.linalg.inv
    pull = lambda weight, own, after: weight * (inverse(own) @ after @ inverse(own) - inverse(own))
    assert np.allclose(nu * (inverse(GRAM) - inverse(first)), pull(nu, first, last), atol=1e-8)
    assert np.allclose(nu * (inverse(first) - inverse(last)), pull(4, last, Y @ Y.T / 4), atol=1e-8)


def test_one_row_by_the_roots_of_a_polynomial_and_a_scan():
    gram, y, nu = 0.5, np.array([[1.5, -0.4]]), 1.3
    s = np.mean(y**2) / gram
    roots = np.roots([nu, -(nu - 2), 0, 0, -2 * s])
    g = roots[(abs(roots.imag) < 1e-9) & (roots.real > 0)].real
    assert len(g) == 1
    found = linear_deep_kernel_machine(np.full((1, 1), gram), y, layers=3, nu=nu).ravel()
    assert np.allclose(found, gram * g[0] ** np.arange(1, 4), rtol=1e-12)


def test_labels_of_lower_rank_need_a_large_nu():
    few = Y[:, :2]
    last = linear_deep_kernel_machine(GRAM, few, layers=2, nu=6.0)[-1]
    ratios = np.linalg.eigvals(np.linalg.solve(GRAM, last)).real
    assert min(ratios) == pytest.approx(((6 - 2) / 6) ** 2, rel=1e-9)
    for nu in (2.0, 1.0):
        with pytest.raises(SettingError, match="no maximum"):
            linear_deep_kernel_machine(GRAM, few, layers=2, nu=nu)
        for kernel, word in (("linear", "shrink"), ("relu", "may shrink")):
            with pytest.raises(SettingError, match=f"directions without labels {word} without end"):
                deep_kernel_machine(jnp.asarray(GRAM), jnp.asarray(few), nu=nu, noise=0.0, kernel=kernel)


@pytest.fixture(scope="module")
def machine():
    return deep_kernel_machine(jnp.asarray(GRAM), jnp.asarray(Y), layers=2, nu=1.5, noise=0.2)


def rectified(gram):
    own = jnp.diagonal(jnp.asarray(gram))
    return rectify(jnp.asarray(gram), own[:, None], own[None, :])


def test_the_objective_is_its_definition(machine):
    before = [jnp.asarray(GRAM), machine.grams[0]]
    apart = [float(gaussian_divergence(own, rectified(gram))) for gram, own in zip(before, machine.grams, strict=True)]
    law = multivariate_normal(cov=np.asarray(rectified(machine.grams[1])) + 0.2 * np.eye(3))
    likelihood = sum(law.logpdf(column) for column in Y.T)
    assert np.allclose(machine.divergences, apart, atol=1e-10)
    assert machine.likelihood == pytest.approx(likelihood, rel=1e-10)
    assert machine.objective == pytest.approx(likelihood - 1.5 * sum(apart), rel=1e-10)


def test_nothing_near_the_optimum_is_better(machine):
    for seed in range(20):
        move = np.random.default_rng(seed).normal(size=(2, 3, 3))
        grams = [
            (np.eye(3) + 1e-2 * m) @ np.asarray(g) @ (np.eye(3) + 1e-2 * m).T
            for m, g in zip(move, machine.grams, strict=True)
        ]
        law = multivariate_normal(cov=np.asarray(rectified(grams[1])) + 0.2 * np.eye(3))
        cost = gaussian_divergence(jnp.asarray(grams[0]), rectified(GRAM)) + gaussian_divergence(
            jnp.asarray(grams[1]), rectified(grams[0])
        )
        assert sum(law.logpdf(column) for column in Y.T) - 1.5 * float(cost) < machine.objective


def test_predictions_at_the_rows_themselves_are_those_of_the_last_kernel(machine):
    last = np.asarray(rectified(machine.grams[1]))
    expected = last @ np.linalg.solve(last + 0.2 * np.eye(3), Y)
    assert np.allclose(machine.predict(jnp.asarray(GRAM), jnp.diagonal(jnp.asarray(GRAM))), expected, atol=1e-8)


def test_relu_machines_may_have_two_maxima():
    x = np.array(TWO_X)
    y = np.array(TWO_Y)
    gram = jnp.asarray(x @ x.T / 3 + 0.3)
    starts = [None, jax.random.key(2)]
    found = [deep_kernel_machine(gram, jnp.asarray(y), layers=2, nu=0.8, noise=0.01, start=k).objective for k in starts]
    assert max(found) - min(found) > 0.1


@pytest.fixture(scope="module")
def sparse():
    raw = 0.3 * np.random.default_rng(1).normal(size=(2, 2, 2))
    return SparseMachine(jnp.asarray(X[:2]), jnp.asarray(raw), jnp.log(jnp.asarray(0.2)), "relu", 0.0)


def test_the_sparse_machine_by_conditional_laws(sparse):
    """One other row, propagated as G_ti = K_ti K_ii^-1 G_ii and its variance, and Titsias' bound by densities."""
    joint = X @ X.T / 6 + 1
    for raw in np.asarray(sparse.raw):
        prior = np.asarray(rectified(joint))
        factor = np.linalg.cholesky(prior[:2, :2]) @ (np.tril(raw, -1) + np.diag(np.exp(np.diag(raw))))
        gram, lift = factor @ factor.T, prior[2, :2] @ np.linalg.inv(prior[:2, :2])
        own = prior[2, 2] - lift @ prior[:2, 2] + lift @ gram @ lift
        joint = np.block([[gram, (gram @ lift)[:, None]], [(lift @ gram)[None], np.array([[own]])]])
    last = np.asarray(rectified(joint))
    x, y = jnp.asarray(X), jnp.asarray(Y)
    ask = lambda own: (own.covariances(x), own.likelihood(x, y), own.predict(x, own.weights(x, y)))
    found, value, outputs = jax.jit(ask)(sparse)
    assert np.allclose(found.cross, last[:2], atol=1e-10)
    assert np.allclose(found.own, np.diag(last), atol=1e-10)
    low = last[:, :2] @ np.linalg.solve(last[:2, :2], last[:2])
    exact = sum(multivariate_normal(cov=low + 0.2 * np.eye(3)).logpdf(column) for column in Y.T)
    bound = exact - 4 / (2 * 0.2) * np.trace(last - low)
    assert float(value) == pytest.approx(bound, rel=1e-9)
    assert bound < sum(multivariate_normal(cov=last + 0.2 * np.eye(3)).logpdf(column) for column in Y.T)
    expected = low @ np.linalg.solve(low + 0.2 * np.eye(3), Y)
    assert np.allclose(outputs, expected, atol=1e-9)


def test_training_ascends_and_infinite_nu_keeps_the_prior(sparse):
    x, y = jnp.asarray(X), jnp.asarray(Y)
    _, values = train_sparse_machine(sparse, x, y, nu=1.0, steps=30)
    assert values[-1] > values[0]
    stiff, _ = train_sparse_machine(sparse, x, y, nu=np.inf, steps=2)
    assert np.array_equal(stiff.raw, sparse.raw)
    assert not np.array_equal(stiff.points, sparse.points)


@pytest.mark.parametrize(
    ("settings", "error", "word"),
    [
        ({"layers": 0}, SettingError, "layers"),
        ({"nu": 0.0}, SettingError, "nu"),
        ({"nu": np.inf}, SettingError, "nu"),
        ({"noise": -1.0}, SettingError, "noise"),
        ({"noise": None}, (SettingError, TypeError), "noise"),
        ({"nu": jnp.ones(2)}, (SettingError, TypeError), "nu"),
        ({"kernel": ["relu"]}, (UnknownNameError, TypeError), "kernel"),
        ({"y": [["a"], ["b"], ["c"]]}, (DataError, TypeError), "labels|y"),
        ({"y": jnp.ones((2, 1))}, ShapeError, "labels"),
        ({"gram_0": jnp.ones((3, 3))}, NotPositiveDefiniteError, "duplicate rows"),
        ({"gram_0": jnp.eye(3).at[0, 1].set(1.0)}, ShapeError, "symmetric"),
    ],
)
def test_what_is_refused(settings, error, word):
    given = {"gram_0": jnp.asarray(GRAM), "y": jnp.asarray(Y), **settings}
    with pytest.raises(error, match=word):
        deep_kernel_machine(given.pop("gram_0"), given.pop("y"), **given)


def test_unknown_maps_are_refused():
    with pytest.raises(UnknownNameError, match="relu, linear"):
        check_kernel("erf")


def test_what_the_closed_form_refuses():
    with pytest.raises(NotPositiveDefiniteError):
        linear_deep_kernel_machine(np.ones((3, 3)), Y, layers=1, nu=1.0)
    with pytest.raises(ShapeError, match="labels"):
        linear_deep_kernel_machine(GRAM, Y[:2], layers=1, nu=1.0)
    for settings in ({"layers": 0, "nu": 1.0}, {"layers": 1, "nu": 0.0}, {"layers": 1, "nu": np.ones(2)}):
        with pytest.raises((LemmataError, TypeError)):
            linear_deep_kernel_machine(GRAM, Y, **settings)


@pytest.mark.parametrize(
    ("cross", "own", "error", "word"),
    [
        (jnp.ones((2, 4)), jnp.ones(4), (ShapeError, TypeError), "cross"),
        (jnp.ones((3, 4)), jnp.ones(5), (ShapeError, TypeError), "own"),
        (jnp.ones((3, 4)), -jnp.ones(4), DataError, "own"),
        (jnp.full((3, 4), jnp.nan), jnp.ones(4), DataError, "cross"),
        ([[1.0], [1.0], [1.0]], jnp.ones(1), (DataError, TypeError), "cross"),
        (jnp.ones((3, 1)), [1.0], (DataError, TypeError), "own"),
    ],
)
def test_what_prediction_refuses(machine, cross, own, error, word):
    with pytest.raises(error, match=word):
        machine.predict(cross, own)


@pytest.mark.parametrize(
    ("given", "error", "word"),
    [
        ({"nu": -1.0}, SettingError, "nu"),
        ({"nu": jnp.nan}, SettingError, "nu"),
        ({"learning_rate": -1.0}, SettingError, "learning_rate"),
        ({"steps": 1.5}, (SettingError, TypeError), "steps"),
        ({"steps": -1}, SettingError, "steps"),
        ({"x": jnp.full((3, 6), jnp.nan)}, DataError, "rows x"),
        ({"x": jnp.ones((0, 6)), "y": jnp.ones((0, 4))}, ShapeError, "rows x"),
        ({"x": jnp.ones((3, 5))}, (ShapeError, TypeError), "x"),
        ({"y": jnp.ones(3)}, (ShapeError, TypeError), "labels|y"),
        ({"y": jnp.ones((2, 4))}, (ShapeError, TypeError), "labels|y"),
        ({"x": [[1.0]]}, (DataError, TypeError), "x"),
        ({"y": [[1.0]]}, (DataError, TypeError), "labels|y"),
    ],
)
def test_what_sparse_training_refuses(given, error, word):
    start = SparseMachine(jnp.asarray(X[:2]), jnp.zeros((1, 2, 2)), jnp.zeros(()))
    given = {"x": jnp.asarray(X), "y": jnp.asarray(Y), "nu": 1.0, **given}
    with pytest.raises(error, match=word):
        train_sparse_machine(start, given.pop("x"), given.pop("y"), **given)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda own, x, y: own.covariances(x[:, :5]), (ShapeError, TypeError), "rows x|x"),
        (lambda own, x, y: own.covariances(x * jnp.nan), DataError, "rows x; found 18 entries"),
        (lambda own, x, y: own.covariances([[1.0]]), (ShapeError, TypeError), "x"),
        (lambda own, x, y: own.likelihood(x, y[:2]), (ShapeError, TypeError), "labels|y"),
        (lambda own, x, y: own.likelihood(x, y * jnp.nan), DataError, "labels; found 12 entries"),
        (lambda own, x, y: own.objective(x, y, -1.0), SettingError, "nu"),
        (lambda own, x, y: own.weights(x, y[:, 0]), (ShapeError, TypeError), "labels|y"),
        (lambda own, x, y: own.weights(x, y * jnp.nan), DataError, "labels"),
        (lambda own, x, y: own.predict(x[:, :5], jnp.ones((2, 4))), (ShapeError, TypeError), "rows x|x"),
        (lambda own, x, y: own.predict(x * jnp.nan, jnp.ones((2, 4))), DataError, "rows x"),
        (lambda own, x, y: own.predict(x, jnp.ones((3, 4))), (ShapeError, TypeError), "weights"),
        (lambda own, x, y: own.predict(x, jnp.full((2, 4), jnp.nan)), DataError, "weights"),
    ],
)
def test_what_a_sparse_machine_refuses(sparse, call, error, word):
    with pytest.raises(error, match=word):
        call(sparse, jnp.asarray(X), jnp.asarray(Y))


def test_no_rows_have_no_outputs(sparse):
    assert sparse.predict(jnp.zeros((0, 6)), jnp.ones((2, 4))).shape == (0, 4)


def test_sparse_machines_of_unknown_maps_are_refused():
    def train(kernel):
        start = SparseMachine(jnp.asarray(X[:2]), jnp.zeros((1, 2, 2)), jnp.zeros(()), kernel=kernel)
        train_sparse_machine(start, jnp.asarray(X), jnp.asarray(Y), nu=1.0)

    with pytest.raises((UnknownNameError, TypeError), match="kernel"):
        train("tanh")


def test_where_rounding_ends_descent_the_root_of_the_gradient_is_found(monkeypatch):
    y, gram_0 = jnp.asarray([[1.0], [-1.0], [0.5]]), jnp.asarray([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
    asked = {"nu": 2.0, "noise": 0.1, "kernel": "linear"}
    whole = deep_kernel_machine(gram_0, y, **asked)

    def ended_early(value, start, **how):
        steps = {**how["options"], "maxiter": 4}
        return minimize(value, start, **{**how, "options": steps})

    monkeypatch.setattr(_dense, "minimize", ended_early)
    monkeypatch.setattr(_dense, "_GRADIENT", 1e-8)
    for few in (_dense._FEW, 1):
        monkeypatch.setattr(_dense, "_FEW", few)
        monkeypatch.setattr(_dense, "_SAME", 1.0)
        again = deep_kernel_machine(gram_0, y, **asked)
        np.testing.assert_allclose(again.grams, whole.grams, rtol=1e-6)
        monkeypatch.setattr(_dense, "_SAME", -1.0)
        with pytest.raises(SolverError, match="after 4 steps"):
            deep_kernel_machine(gram_0, y, **asked)
