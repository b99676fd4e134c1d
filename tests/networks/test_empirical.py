"""Kernels of any function: dense Jacobians, modules of other libraries, plans, errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import lemmata.architectures._tangent as tangent
import lemmata.core._result_plan as result_plan
from lemmata.architectures import Dense, Relu, Serial, combined_gradient, relu_network, tangent_gram
from lemmata.errors import LemmataError, MemoryPlanError, PrecisionError, SettingError, ShapeError, SolverError
from lemmata.networks import (
    EmpiricalKernel,
    KernelEstimate,
    equinox_function,
    flax_function,
    infinite_width,
    monte_carlo_kernel,
)

EPS = np.finfo(np.float64).eps
RANDOM = np.random.default_rng(5)
X, Y = (jnp.asarray(RANDOM.normal(size=(n, 3, 2))) for n in (9, 4))
PARAMS = {
    "in": jnp.asarray(RANDOM.normal(size=(5, 6))), "bias": jnp.asarray(RANDOM.normal(size=5)),
    "out": jnp.asarray(RANDOM.normal(size=(4, 5))), "scale": jnp.asarray(0.7), "power": 3,
}  # fmt: skip


def f(params, x):
    """Points are matrices, outputs too; the first weights are used twice, one leaf is a whole number."""
    h = jnp.tanh(params["in"] @ x.reshape(-1) + params["bias"])
    h = params["scale"] * h + jnp.sin(params["in"] @ jnp.ones(6)) ** params["power"]
    return (params["out"] @ h).reshape(2, 2)


def jacobian(apply, params, x):
    """(n, k, P) by forward differentiation, one point after another."""
    free, fixed = eqx.partition(params, eqx.is_inexact_array)
    tree = [jax.jacfwd(lambda own, a=a: apply(eqx.combine(own, fixed), a))(free) for a in x]
    k = apply(params, x[0]).size
    rows = [jnp.concatenate([leaf.reshape(k, -1) for leaf in jax.tree.leaves(one)], axis=1) for one in tree]
    return np.asarray(jnp.stack(rows))


@pytest.fixture(scope="module")
def dense():
    left, right = (jacobian(f, PARAMS, points) for points in (X, Y))
    return {None: np.einsum("iap,jbp->ijab", left, left), "y": np.einsum("iap,jbp->ijab", left, right)}


def close(found, expected, terms=1000):
    """Rounding of sums of that many products, relative to the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=terms * EPS * np.abs(expected).max())


FACES = {"all": "ijab->ijab", "each": "ijaa->ija", "mean": "ijaa->ij", 2: None}


@pytest.mark.parametrize("working_set", [2**28, 6000, 1])
@pytest.mark.parametrize("vectors", [False, True])
def test_every_face_is_that_of_the_product_of_jacobians(dense, working_set, vectors, monkeypatch):
    monkeypatch.setattr(tangent, "prefers_vectors", lambda *_: vectors)
    monkeypatch.setattr(tangent, "_SHORTEST", 2)
    kernel = EmpiricalKernel(f, PARAMS, working_set)
    for outputs, face in FACES.items():
        for name, other in ((None, None), ("y", Y)):
            expected = dense[name][:, :, 2, 2] if face is None else np.einsum(face, dense[name])
            expected = expected / (4 if outputs == "mean" else 1)
            found = kernel.gram(X, other, outputs=outputs)
            close(found, expected)
        whole = np.asarray(kernel.gram(X, outputs=outputs))
        order = (1, 0, 3, 2)[: whole.ndim] if outputs == "all" else (1, 0, 2)[: whole.ndim]
        np.testing.assert_array_equal(whole, whole.transpose(order))


def test_diagonal_product_and_outputs(dense):
    for working_set in (2**28, 2000):
        kernel = EmpiricalKernel(f, PARAMS, working_set)
        close(kernel.diagonal(X), np.einsum("iiab->iab", dense[None]))
        close(kernel.diagonal(X, outputs="mean"), np.einsum("iiaa->i", dense[None]) / 4)
        v = jnp.asarray(RANDOM.normal(size=(4, 2, 2)))
        close(kernel.product(X, v, Y), np.einsum("ijab,jb->ia", dense["y"], v.reshape(4, 4)).reshape(9, 2, 2))
    values = np.stack([f(PARAMS, a).ravel() for a in X])
    close(kernel.nngp(X), values @ values.T / 4)
    close(kernel.nngp(X, X[:2]), values @ values[:2].T / 4)


def test_the_route_follows_the_number_of_operations():
    basis = jnp.eye(8)
    wide = lambda w, x: jnp.tanh(w) @ x
    params = jnp.ones((8, 50))
    network, own = tangent.differentiable(wide, params)
    # For "all", 8² products of 400 entries against 8 derivatives of at most 3200 operations; for the sum 8 products.
    assert tangent.prefers_vectors(network, own, jnp.ones((1, 50)), basis, "all")
    assert not tangent.prefers_vectors(network, own, jnp.ones((1, 50)), basis, "mean")
    linear, own = tangent.differentiable(lambda w, x: w @ x, params)
    assert not tangent.prefers_vectors(linear, own, jnp.ones((1, 50)), basis, "all")
    assert not tangent.prefers_vectors(Serial([Dense(8)]), ({"weight": params},), jnp.ones((1, 50)), basis, "all")


def test_a_large_product_never_forms_the_kernel():
    n = 5000
    x = jnp.asarray(RANDOM.normal(size=(n, 2)))
    network = relu_network(1, 8)
    params, _ = network.init(jax.random.key(0), 2)
    v = jnp.ones((n, 1))
    found = EmpiricalKernel(network, params, 2**18).product(x, v)
    some = EmpiricalKernel(network, params).gram(x[:3], x, outputs=0)
    # Sums of n terms of either sign.
    np.testing.assert_allclose(found[:3, 0], some @ v[:, 0], atol=n * EPS * float(jnp.abs(some).sum(1).max()))


def test_velocity_is_the_derivative_along_gradient_flow():
    targets = jnp.asarray(RANDOM.normal(size=(4, 2, 2)))
    residual = jax.vmap(lambda a: f(PARAMS, a))(Y) - targets
    slope = combined_gradient(f, PARAMS, residual, Y)
    loss = lambda w: 0.5 * jnp.sum((jax.vmap(lambda a: f({**PARAMS, "in": w}, a))(Y) - targets) ** 2)
    close(slope["in"], jax.grad(loss)(PARAMS["in"]))

    def moved(t):
        change = lambda p, g: p if g is None else p - t * g
        params = {name: change(PARAMS[name], slope[name]) for name in PARAMS}
        return np.asarray(EmpiricalKernel(f, params).gram(X, Y))

    kernel = EmpiricalKernel(f, PARAMS)
    for face, points in ((kernel.velocity(Y, targets, X, Y), moved),):
        # Richardson's combination of central differences: the error falls by 2^4 from one step to the next.
        central = lambda t, points=points: (points(t) - points(-t)) / (2 * t)
        errors = [
            np.abs((4 * central(step / 2) - central(step)) / 3 - face).max() / np.abs(face).max()
            for step in (1e-3, 5e-4)
        ]
        assert errors[1] < errors[0] / 8
        assert errors[0] < 1e-3
    mean = kernel.velocity(Y, targets, outputs="mean")
    close(mean, np.einsum("ijaa->ij", kernel.velocity(Y, targets)) / 4)
    after = {name: PARAMS[name] if part is None else PARAMS[name] - 1e-2 * part for name, part in slope.items()}
    start, end = kernel.gram(X), EmpiricalKernel(f, after).gram(X)
    expected = np.linalg.norm((end - start).ravel()) / np.linalg.norm(start.ravel())
    np.testing.assert_allclose(kernel.relative_change(after, X), expected, rtol=100 * EPS)


@pytest.fixture(scope="module")
def one_layer():
    """Rows, the weights and biases of a layer with a hyperbolic tangent, and its kernel."""
    x = jnp.asarray(RANDOM.normal(size=(3, 4)))
    weights, biases = jnp.asarray(RANDOM.normal(size=(2, 4))), jnp.asarray(RANDOM.normal(size=2))
    return x, weights, biases, EmpiricalKernel(lambda p, a: jnp.tanh(p[0] @ a + p[1]), (weights, biases)).gram(x)


def test_modules_of_equinox(one_layer):
    x, weights, biases, expected = one_layer
    module = eqx.tree_at(lambda m: (m.weight, m.bias), eqx.nn.Linear(4, 2, key=jax.random.key(0)), (weights, biases))
    sequence = eqx.nn.Sequential([module, eqx.nn.Lambda(jnp.tanh)])
    close(EmpiricalKernel(*equinox_function(sequence)).gram(x), expected)


def test_modules_of_flax(one_layer):
    linen = pytest.importorskip("flax.linen", reason="the extra `oracles` is not installed")
    nnx = pytest.importorskip("flax.nnx")
    x, weights, biases, expected = one_layer

    class Linen(linen.Module):
        @linen.compact
        def __call__(self, a):
            return jnp.tanh(linen.Dense(2, param_dtype=jnp.float64)(a))

    variables = {"params": {"Dense_0": {"kernel": weights.T, "bias": biases}}}
    close(EmpiricalKernel(Linen(), variables).gram(x), expected)

    model = nnx.Linear(4, 2, param_dtype=jnp.float64, rngs=nnx.Rngs(0))
    model.kernel[...], model.bias[...] = weights.T, biases
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    close(EmpiricalKernel(lambda p, a: jnp.tanh(nnx.merge(graph, p, rest)(a)), params).gram(x), expected)


def test_running_statistics_of_flax_modules_are_no_parameters():
    linen = pytest.importorskip("flax.linen", reason="the extra `oracles` is not installed")

    class Normalised(linen.Module):
        @linen.compact
        def __call__(self, a, train):
            a = linen.BatchNorm(use_running_average=not train, param_dtype=jnp.float64)(linen.Dense(3)(a))
            return linen.Dense(2, param_dtype=jnp.float64)(jnp.tanh(a))

    x = jnp.asarray(RANDOM.normal(size=(3, 4)))
    variables = jax.tree.map(
        lambda leaf: leaf.astype(float) + 0.1, Normalised().init(jax.random.key(0), x[0], train=False)
    )
    apply, params = flax_function(Normalised(), variables, train=False)
    rows = jacobian(lambda own, a: Normalised().apply({**variables, "params": own}, a, train=False), params, x)
    kernel = EmpiricalKernel(apply, params)
    close(kernel.gram(x), np.einsum("iap,jbp->ijab", rows, rows))
    close(kernel.diagonal(x), np.einsum("iap,ibp->iab", rows, rows))
    close(kernel.product(x, jnp.ones((3, 2))), np.einsum("iap,jbp->ia", rows, rows))
    for function in (Normalised(), lambda own, a: Normalised().apply(own, a, train=False)):
        with pytest.raises(SettingError, match=r"batch_stats.*flax_function"):
            EmpiricalKernel(function, variables)
    with pytest.raises(SettingError, match="batch_stats"):
        flax_function(Normalised(), {"batch_stats": variables["batch_stats"]})
    with pytest.raises(SettingError, match="apply"):
        flax_function(apply, variables)


def test_functions_of_equinox_modules_are_called():
    module = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    apply, params = equinox_function(module)
    np.testing.assert_array_equal(apply(params, jnp.ones(3)), module(jnp.ones(3)))
    for wrong in (3, lambda x: x):
        with pytest.raises(SettingError, match=r"equinox\.Module"):
            equinox_function(wrong)


@pytest.mark.parametrize("outputs", ["all", "mean"])
def test_results_that_do_not_fit_are_refused(outputs):
    kernel = EmpiricalKernel(lambda w, x: w @ x, jnp.ones((2, 4)))
    points, few = jnp.zeros((3_000_000, 4)), jnp.zeros((2, 4))
    shape = r"3000000 x 3000000 x 2 x 2 " if outputs == "all" else r"3000000 x 3000000 numbers"
    init = lambda key: jax.random.normal(key, (2, 4))
    for call in (
        lambda: kernel.gram(points, outputs=outputs),
        lambda: kernel.velocity(few, jnp.zeros((2, 2)), points, outputs=outputs),
        lambda: kernel.relative_change(jnp.ones((2, 4)), points, outputs=outputs),
        lambda: tangent_gram(kernel.f, kernel.params, points, trace=outputs == "mean"),
        lambda: monte_carlo_kernel(init, kernel.f, points, key=jax.random.key(0), draws=2, outputs=outputs),
    ):
        with pytest.raises(MemoryPlanError, match=shape + r".*GiB that are free.*remedy"):
            call()
    with pytest.raises(MemoryPlanError, match=r"of the outputs.*in each of 2 copies"):
        kernel.nngp(points)


def test_plans_say_the_bytes_and_are_announced(monkeypatch, capsys):
    kernel = EmpiricalKernel(lambda w, x: w @ x, jnp.ones((2, 4)), 10**6)
    x = jnp.ones((20, 4))
    need = {"gram": 20 * 20 * 4 * 8, "diagonal": 20 * 4 * 8}
    monkeypatch.setattr(result_plan, "_SMALL", 0)
    monkeypatch.setattr(result_plan, "_ANNOUNCED", 1000)
    for name, result in need.items():
        monkeypatch.setattr(result_plan, "available_bytes", lambda result=result: result + 10**6 - 1)
        with pytest.raises(MemoryPlanError, match="tangent kernel"):
            getattr(kernel, name)(x)
        monkeypatch.setattr(result_plan, "available_bytes", lambda result=result: result + 10**6)
        getattr(kernel, name)(x)
    printed = capsys.readouterr().err
    assert printed.count("lemmata:") == 1
    assert "tangent kernel of 20 x 20 x 2 x 2 numbers of 8 bytes" in printed
    # Inside other computations the kernel is not planned again, and products need no plan.
    monkeypatch.setattr(result_plan, "available_bytes", lambda: 2 * need["gram"] + 10**6)
    kernel.velocity(x, jnp.ones((20, 2)))
    assert capsys.readouterr().err.count("lemmata:") == 1
    monkeypatch.setattr(result_plan, "available_bytes", lambda: 0)
    kernel.product(x, jnp.ones((20, 2)))


def test_scalars_in_and_out():
    kernel = EmpiricalKernel(lambda w, x: jnp.sin(w * x), jnp.asarray(0.3))
    x = jnp.asarray([0.5, -1.0])
    slopes = np.asarray(x * jnp.cos(0.3 * x))
    close(kernel.gram(x, outputs=0), np.outer(slopes, slopes))
    close(kernel.product(x, jnp.ones(2)), slopes * slopes.sum())


@pytest.fixture
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


KERNEL = EmpiricalKernel(lambda w, x: w @ x, jnp.ones((2, 3)))
HALF = jnp.ones((2, 3), jnp.float16)
BAD = {
    "shapes": (lambda: KERNEL.gram(jnp.ones((2, 3)), jnp.ones((4, 5))), ShapeError, r"\(2, 3\) and \(4, 5\)"),
    "inputs": (lambda: KERNEL.gram(jnp.ones((2, 4))), ShapeError, r"shape \(4,\); parameters of shapes \(2, 3\)"),
    "empty": (lambda: KERNEL.gram(jnp.ones((0, 3))), ShapeError, "at least one"),
    "empty-diagonal": (lambda: KERNEL.diagonal(jnp.ones((0, 3))), ShapeError, "at least one"),
    "empty-values": (lambda: KERNEL.nngp(jnp.ones((0, 3))), ShapeError, "at least one"),
    "vector": (lambda: KERNEL.product(jnp.ones((2, 3)), jnp.ones((3, 2))), ShapeError, r"\(3, 2\).*\(2, 2\)"),
    "targets": (lambda: KERNEL.velocity(jnp.ones((2, 3)), jnp.ones((2, 1))), ShapeError, r"\(2, 1\).*\(2, 2\)"),
    "no-parameters": (lambda: EmpiricalKernel(lambda p, x: x, 3).gram(X), SettingError, "no floating-point"),
    "half": (lambda: EmpiricalKernel(KERNEL.f, HALF).gram(jnp.ones((2, 3))), PrecisionError, "astype"),
    "half-outputs": (
        lambda: EmpiricalKernel(lambda w, x: (w @ x).astype(jnp.float16), jnp.ones((2, 3))).gram(jnp.ones((2, 3))),
        PrecisionError, "outputs",
    ),
    "infinite": (lambda: KERNEL.gram(jnp.ones((2, 3)).at[1].set(jnp.inf)), SolverError, r"points \[1\]"),
    "slope": (
        lambda: EmpiricalKernel(lambda w, x: jnp.sqrt(w) * x, jnp.zeros(1)).gram(jnp.ones((2, 1))), SolverError,
        "derivatives",
    ),
    "outputs": (lambda: KERNEL.gram(jnp.ones((2, 3)), outputs="some"), SettingError, "'each'"),
    "output": (lambda: KERNEL.gram(jnp.ones((2, 3)), outputs=2), SettingError, "from 0 to 1"),
    "tuple": (lambda: EmpiricalKernel(lambda w, x: (w, x), jnp.ones(3)).gram(X), ShapeError, "one array"),
    "no-function": (lambda: EmpiricalKernel(3, jnp.ones(3)), SettingError, "function"),
    "working-set": (lambda: EmpiricalKernel(f, PARAMS, 0), SettingError, "working_set"),
    "draws": (
        lambda: monte_carlo_kernel(lambda key: PARAMS, f, X, key=jax.random.key(0), draws=1), SettingError,
        "at least 2",
    ),
    "draws-whole": (
        lambda: monte_carlo_kernel(lambda key: PARAMS, f, X, key=jax.random.key(0), draws=2.5), SettingError,
        "2.5.*whole number",
    ),
    "key": (
        lambda: monte_carlo_kernel(lambda key: PARAMS, f, X, key=0, draws=2), SettingError, r"jax\.random\.key\(0\)",
    ),
    "nngp-outputs": (
        lambda: monte_carlo_kernel(
            lambda key: PARAMS, f, X, key=jax.random.key(0), draws=2, outputs="all", nngp=True
        ),
        SettingError, "'all'.*nngp",
    ),
    "text": (lambda: KERNEL.gram([["a", "b", "c"]]), LemmataError, "real numbers"),
    "no-leaves": (lambda: EmpiricalKernel(f, {}).gram(X), SettingError, "no floating-point"),
    "raises": (lambda: EmpiricalKernel(f, {"other": jnp.ones(2)}).gram(X), ShapeError, "KeyError: 'in'"),
    "half-points": (lambda: KERNEL.gram(jnp.ones((2, 3), jnp.float16)), PrecisionError, "float16.*x.astype"),
    "working-set-text": (lambda: EmpiricalKernel(f, PARAMS, "1GB"), SettingError, "'1GB'.*whole number of bytes"),
    "working-set-of-gram": (
        lambda: tangent_gram(KERNEL.f, KERNEL.params, jnp.ones((2, 3)), working_set=0.5), SettingError, "whole number",
    ),
    "trace": (lambda: KERNEL.gram(jnp.ones((2, 3)), outputs="trace"), SettingError, "'mean' for the trace"),
    "other-tree": (
        lambda: KERNEL.relative_change((jnp.ones((2, 3)),), jnp.ones((2, 3))), ShapeError, "the tree",
    ),
    "other-outputs": (
        lambda: KERNEL.relative_change(jnp.ones((4, 3)), jnp.ones((2, 3))), ShapeError, r"\(4,\).*\(2,\)",
    ),
    "empty-product": (lambda: KERNEL.product(jnp.ones((0, 3)), jnp.ones((0, 2))), ShapeError, "at least one"),
    "widths": (lambda: infinite_width([KernelEstimate(X, X)] * 2, [4, 4]), SettingError, "two different"),
    "estimates": (lambda: infinite_width([KernelEstimate(X, X)], [4, 8]), ShapeError, "2 widths"),
}  # fmt: skip


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(("call", "kind", "words"), BAD.values(), ids=BAD)
def test_bad_input(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, LemmataError)


def test_lists_are_read_as_arrays():
    given = [[1.0, 2.0, 3.0]]
    close(KERNEL.gram(given), KERNEL.gram(jnp.asarray(given)))
    close(KERNEL.values(given), KERNEL.values(jnp.asarray(given)))


def test_layers_and_the_same_plain_function_agree():
    network = Serial([Dense(7, 1.3, 0.2), Relu(), Dense(3, parameterization="standard", bias_std=0.1)])
    params, _ = network.init(jax.random.key(3), 4)
    x = jnp.asarray(RANDOM.normal(size=(5, 4)))
    plain = lambda own, a: network.apply(own, a)
    for outputs in ("all", "mean"):
        close(
            EmpiricalKernel(network, params).gram(x, outputs=outputs),
            EmpiricalKernel(plain, params).gram(x, outputs=outputs),
        )


W, B, Z = (jnp.asarray(RANDOM.normal(size=shape)) for shape in ((4, 3), (4,), (3,)))
SCANNED = lambda p, x: jax.lax.scan(lambda h, w: (jnp.tanh(w * h), None), x, p[0])[0]
# Functions of three inputs, and the entries of the gradients that are formed for each of their outputs: the outputs of
# a product, the entries of a bias, or all entries of a parameter that is used in another way.
FORMS = {
    "matrix-vector": (lambda p, x: jnp.tanh(p[0] @ x + p[1]), (W, B), 4 + 4),
    "vector-matrix": (lambda p, x: x @ p[0] * 2.0, (W.T,), 4),
    "transposed": (lambda p, x: jnp.sin(x) @ p[0].T, (W,), 4),
    "reshaped": (lambda p, x: p[0].reshape(4, 3) @ x + p[1].reshape(1, 4)[0], (W.reshape(-1), B), 4 + 4),
    "inside-jit": (jax.jit(lambda p, x: jax.jit(jnp.dot)(p[0], x) - p[1]), (W, B), 4 + 4),
    "inner-product": (lambda p, x: jnp.exp(p[0] @ x), (Z,), 1),
    "used-twice": (lambda p, x: p[0] @ jnp.tanh(p[0].T @ (p[0] @ x)), (W,), 12),
    "shared-in-two-products": (lambda p, x: p[0] @ x + p[0] @ x**2, (W,), 12),
    "added-to-another": (lambda p, x: (p[0] + p[1]) @ x, (W, W + 1.0), 24),
    "elementwise": (lambda p, x: jnp.tanh(p[0]) @ x, (W,), 12),
    "broadcast": (lambda p, x: (p[0] @ x)[:, None] + p[1], (W, Z), 4 + 3),
    "bias-of-itself": (lambda p, x: p[0] + p[0] * x, (Z,), 3),
    "scanned": (SCANNED, (W,), 12),
    "matrix-of-points": (lambda p, x: p[0] @ jnp.outer(x, x), (W,), 12),
    "unused": (lambda p, x: p[0] @ x, (W, B), 4 + 4),
    "returned": (lambda p, x: p[0], (Z,), 3),
    "sorted": (lambda p, x: jnp.sort(p[0]) * x, (Z,), 3),
}


@pytest.mark.parametrize(("apply", "params", "entries"), FORMS.values(), ids=FORMS)
def test_products_with_parameters_are_found_in_plain_functions(apply, params, entries):
    x = jnp.asarray(RANDOM.normal(size=(2, 3)))
    rows = jacobian(apply, params, x)
    close(EmpiricalKernel(apply, params).gram(x), np.einsum("iap,jbp->ijab", rows, rows))
    network, own = tangent.differentiable(apply, params)
    out = jax.eval_shape(network.apply, own, x[0])
    held = tangent.side(network, own, x, jnp.zeros((1, *out.shape)))
    assert sum(factor.gradients.shape[2] for factor in held) == entries
