"""What a user may get wrong with layers and their kernels."""

import jax
import jax.numpy as jnp
import pytest

from lemmata.architectures import (
    ABRelu,
    Cos,
    Dense,
    Dropout,
    Elementwise,
    Erf,
    Exp,
    ExpNormalized,
    Gabor,
    Gaussian,
    Hermite,
    Identity,
    LayerNorm,
    LeakyRelu,
    Monomial,
    NNGPKernel,
    Parallel,
    Polynomial,
    Rbf,
    RectifiedMonomial,
    Relu,
    RMSNorm,
    Serial,
    Sign,
    Sin,
    TangentKernel,
    fully_connected,
    graph_network,
    relu_network,
    residual,
    tangent_gram,
)
from lemmata.errors import SettingError, ShapeError


@pytest.mark.parametrize(
    "build",
    [
        lambda: Dense(0),
        lambda: Dense(3, -1.0),
        lambda: Dense(3, bias_std=float("nan")),
        lambda: relu_network(-1),
        lambda: Elementwise(jnp.tanh, degree=1),
        lambda: Elementwise(jnp.tanh, degree=1000),
        lambda: Parallel([]),
        lambda: LayerNorm(-1e-5),
        lambda: RMSNorm(float("inf")),
        lambda: Dropout(0.0),
        lambda: Dropout(1.5),
        lambda: Exp(float("nan")),
        lambda: Gaussian(-1.0),
        lambda: Rbf(-1.0),
        lambda: Monomial(0),
        lambda: Hermite(65),
        lambda: Sin(float("inf")),
        lambda: RectifiedMonomial(-1),
        lambda: RectifiedMonomial(65),
        lambda: RectifiedMonomial(True),
        lambda: Polynomial([]),
        lambda: Polynomial([1.0, float("nan")]),
        lambda: Polynomial([0.0] * 66),
        lambda: ABRelu(float("inf"), 1.0),
        lambda: ABRelu(0.0, 0.0),
        lambda: ABRelu(1e200, 1.0),
        lambda: ExpNormalized(-0.1),
        lambda: ExpNormalized(1.0, float("nan")),
        lambda: relu_network(10**19), lambda: relu_network(10**7),
        lambda: graph_network(10**19), lambda: graph_network(0),
    ],
)  # fmt: skip
def test_settings_out_of_bounds(build):
    with pytest.raises(SettingError):
        build()


@pytest.mark.usefixtures("shapes_unchecked")
def test_things_of_the_wrong_kind():
    with pytest.raises(SettingError, match="ntk"):
        Dense(3, parameterization="mup")
    with pytest.raises(SettingError, match="maximal-update"):
        fully_connected(Relu(), 1, parameterization="mup")
    with pytest.raises(SettingError, match="Elementwise"):
        Serial([Dense(3), jnp.tanh])
    with pytest.raises(SettingError, match="branch 1"):
        Parallel([Dense(3), jnp.tanh])
    with pytest.raises(SettingError, match="integer"):
        Monomial(2.5)
    with pytest.raises(SettingError, match="integer from 0 to 64"):
        RectifiedMonomial(2.0)
    for coefficients in (3.0, ["a"], [1j]):
        with pytest.raises(SettingError, match="sequence of finite numbers"):
            Polynomial(coefficients)
    kernel = NNGPKernel(relu_network(1))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        kernel.cross(jnp.ones((2, 3)), jnp.ones((2, 4)))
    with pytest.raises(ShapeError):
        kernel(jnp.ones(3), jnp.ones(4))
    with pytest.raises(ShapeError):
        tangent_gram(relu_network(1), relu_network(1).init(jax.random.key(0), 3)[0], jnp.ones(3))


@pytest.mark.parametrize(
    "fn", [lambda u: jnp.exp(u * u), lambda u: jnp.exp(0.3 * u * u), lambda u: jnp.sin(60.0 * u)], ids=["a", "b", "c"]
)
def test_an_expansion_that_is_not_resolved_is_refused(fn):
    x = jnp.eye(3) * jnp.sqrt(3.0)
    network = fully_connected(Elementwise(fn), 1)
    for call in (lambda k: k.cross(x, x), lambda k: k.diagonal(x), lambda k: k(x[0], x[1])):
        with pytest.raises(SettingError, match="not finite"):
            call(NNGPKernel(network))
    assert jnp.isfinite(NNGPKernel(network).cross(0.1 * x, 0.1 * x)).all()


@pytest.mark.parametrize(
    "fn",
    [
        lambda u: jnp.abs(u) ** -0.5, lambda u: jnp.abs(u) ** -1.0, lambda u: jnp.abs(u - 0.3) ** -0.5,
        lambda u: jnp.log(jnp.abs(u)), lambda u: jnp.abs(u) ** -0.2,
    ],
    ids=["root", "pole", "shifted root", "logarithm", "weak"],
)  # fmt: skip
def test_a_singular_activation_is_refused_where_its_rule_is_wrong(fn):
    with pytest.raises(SettingError, match="not finite"):
        NNGPKernel(fully_connected(Elementwise(fn), 1)).diagonal(jnp.eye(3) + 1.0)


def test_a_finite_network_names_the_layer_and_both_shapes():
    network = Serial([Dense(8), Relu(), Dense(1)])
    params, _ = network.init(jax.random.key(0), 5)
    with pytest.raises(ShapeError, match=r"Dense\(8\); found shape \(6,\).*length 5.*\(8, 5\)"):
        network.apply(params, jnp.ones(6))


def test_the_highest_power_has_finite_moments():
    kernel = NNGPKernel(Serial([Dense(2), Monomial(64), Dense(1)]))
    assert jnp.isfinite(kernel.diagonal(0.1 * jnp.eye(3))).all()


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(
    "build", [lambda: Dense(2.5), lambda: LeakyRelu(float("nan")), lambda: Serial(Dense(3)), lambda: NNGPKernel("x")]
)
def test_arguments_of_the_wrong_kind(build):
    with pytest.raises(SettingError):
        build()


def test_options_of_the_finite_kernel():
    network = Serial([Dense(4), Relu(), Dense(2)])
    params, _ = network.init(jax.random.key(0), 3)
    with pytest.raises(SettingError, match="at most one"):
        tangent_gram(network, params, jnp.eye(3), output=0, trace=True)
    with pytest.raises(SettingError, match="from 0 to 1"):
        tangent_gram(network, params, jnp.eye(3), output=2)


D = Dense(3)
SKIP = Identity()
# Networks of three inputs whose infinite width the second moments do not give, and what the refusal says.
REFUSED = {
    "activation-of-inputs": ([Relu(), D], "input of an activation"),
    "activation-of-activation": ([D, Relu(), Erf(), D], "input of an activation"),
    "activation-of-dropout": ([D, Dropout(0.5), Relu(), D], "input of an activation"),
    "quadrature-of-activation": ([D, Relu(), Elementwise(jnp.tanh), D], "input of an activation"),
    "activation-of-a-sum-with-activation": ([D, Parallel([Relu(), D]), Relu(), D], "input of an activation"),
    "two-activations": ([D, Parallel([Relu(), Erf()]), D], r"\[0, 1\]"),
    "two-skips": ([D, Parallel([SKIP, D, SKIP]), D], r"\[0, 2\]"),
    "skip-beside-activation": ([D, residual(Erf()), D], r"\[0, 1\]"),
    "skip-beside-even-map-of-dense": ([D, residual(Serial([D, Cos()])), D], r"\[0, 1\]"),
    "skip-beside-shifted-sine": ([D, residual(Serial([D, Sin(1.0, 0.1)])), D], r"\[0, 1\]"),
    "skip-beside-square": ([D, residual(Serial([D, Hermite(2)])), D], r"\[0, 1\]"),
    "skip-beside-even-polynomial": ([D, residual(Serial([D, Polynomial([0.0, 1.0, 0.5])])), D], r"\[0, 1\]"),
    "skip-beside-power": ([D, residual(Serial([D, RectifiedMonomial(2)])), D], r"\[0, 1\]"),
    "sign-of-inputs": ([Sign(), D], "input of an activation"),
    "skip-beside-dropout": ([D, residual(Dropout(0.5)), D], r"\[0, 1\]"),
    "skip-beside-nested-skip": ([D, residual(residual(D)), D], r"\[0, 1\]"),
    "skip-of-inputs": ([residual(D), D], "inputs of the network"),
    "dropout-of-inputs": ([Dropout(0.5), D], "the network.s own inputs"),
    "widths": ([D, residual(Dense(4)), D], r"\[3, 4\]"),
}


@pytest.mark.parametrize(("layers", "words"), REFUSED.values(), ids=REFUSED)
def test_a_limit_that_the_moments_do_not_give_is_refused(layers, words):
    network, x = Serial(layers), jnp.eye(3)
    compiled = lambda k: jax.jit(lambda a, b: k(a, b))(x[0], x[1])
    for kernel in (NNGPKernel(network), TangentKernel(network)):
        for call in (lambda k: k.cross(x, x), lambda k: k.diagonal(x), lambda k: k(x[0], x[1]), compiled):
            with pytest.raises(SettingError, match=words):
                call(kernel)


ALLOWED = {
    "odd-map-of-dense-beside-skip": [D, residual(Serial([D, Erf()])), D],
    "odd-polynomial-beside-skip": [D, residual(Serial([D, Monomial(3)])), D],
    "sign-beside-skip": [D, residual(Serial([D, Sign()])), D],
    "gabor-beside-skip": [D, residual(Serial([D, Gabor()])), D],
    "odd-coefficients-beside-skip": [D, residual(Serial([D, Polynomial([0.0, 1.0, 0.0, 0.5])])), D],
    "layernorm-of-exponentials": [D, ExpNormalized(), LayerNorm(), D],
    "branch-of-a-branch": [D, residual(Serial([D, residual(Serial([Relu(), D]))])), Relu(), D],
    "layernorm-of-relu": [D, Relu(), LayerNorm(), D],
    "layernorm-of-inputs": [LayerNorm(), D],
    "layernorm-of-a-sum-with-relu": [D, Parallel([Relu(), D]), LayerNorm(), D],
    "layernorm-of-odd-map": [D, Erf(), LayerNorm(), D],
    "layernorm-of-residual": [D, residual(Serial([Relu(), D])), LayerNorm(), Relu(), D],
    "single-branch": [Parallel([SKIP]), D],
    "dense-branches-of-inputs": [Parallel([D, D]), Relu(), D],
    "rmsnorm-of-inputs": [RMSNorm(), D],
}


@pytest.mark.parametrize("layers", ALLOWED.values(), ids=ALLOWED)
def test_a_limit_that_the_moments_give(layers):
    assert jnp.isfinite(TangentKernel(Serial(layers)).cross(jnp.eye(3), jnp.eye(3) + 1.0)).all()


def test_widths_that_differ_are_refused_at_the_draw():
    with pytest.raises(SettingError, match=r"\[3, 4\]"):
        residual(Dense(4)).init(jax.random.key(0), 3)
