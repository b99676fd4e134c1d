"""The same network behind every face: outputs and products against dense derivatives and against each other."""

import collections
import copy
import dataclasses
import importlib
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lemmata.errors import PrecisionError, SettingError, ShapeError
from lemmata.subjects.trained_models import read_model, read_task, read_trained

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
D, H, C = 5, 7, 3
RNG = np.random.default_rng(0)
SHAPES = {"w1": (D, H), "b1": (H,), "w2": (H, C), "b2": (C,)}
WEIGHTS = {name: RNG.normal(size=shape) / 2 for name, shape in SHAPES.items()}
X = RNG.normal(size=(6, D))


def own_function():
    f = lambda p, x: jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    return f, jax.tree.map(jnp.asarray, WEIGHTS)


def own_equinox():
    mlp = eqx.nn.MLP(D, C, H, 1, activation=jnp.tanh, key=jax.random.key(0), dtype=jnp.float64)
    values = [WEIGHTS["w1"].T, WEIGHTS["b1"], WEIGHTS["w2"].T, WEIGHTS["b2"]]
    at = lambda m: [m.layers[0].weight, m.layers[0].bias, m.layers[1].weight, m.layers[1].bias]
    return eqx.tree_at(at, mlp, [jnp.asarray(value) for value in values])


def flax_modules():
    pytest.importorskip("flax", reason="the extra `oracles` is not installed")
    return importlib.import_module("tests.subjects.trained_models.flax_modules")


def own_linen():
    dense = lambda i: {"kernel": jnp.asarray(WEIGHTS[f"w{i}"]), "bias": jnp.asarray(WEIGHTS[f"b{i}"])}
    return flax_modules().Linen(H, C), {"params": {"Dense_0": dense(1), "Dense_1": dense(2)}}


def own_nnx():
    module = flax_modules().Nnx(D, H, C)
    for layer, i in ((module.first, 1), (module.second, 2)):
        layer.kernel[...], layer.bias[...] = jnp.asarray(WEIGHTS[f"w{i}"]), jnp.asarray(WEIGHTS[f"b{i}"])
    return module


def own_torch():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(D, H), torch.nn.Tanh(), torch.nn.Linear(H, C)).double()
    with torch.no_grad():
        for layer, i in ((module[0], 1), (module[2], 2)):
            layer.weight.copy_(torch.from_numpy(WEIGHTS[f"w{i}"].T))
            layer.bias.copy_(torch.from_numpy(WEIGHTS[f"b{i}"]))
    return module


def own_sklearn():
    labels = np.arange(len(X)) % C
    estimator = MLPClassifier((H,), activation="tanh", max_iter=1)
    with pytest.warns(match="converged"):
        estimator.fit(X, labels)
    estimator.coefs_, estimator.intercepts_ = [WEIGHTS["w1"], WEIGHTS["w2"]], [WEIGHTS["b1"], WEIGHTS["b2"]]
    return estimator


FACES = {
    "function": own_function, "equinox": own_equinox, "linen": own_linen, "bound": lambda: _bound(), "nnx": own_nnx,
    "torch": own_torch, "sklearn": own_sklearn,
}  # fmt: skip


def _bound():
    module, variables = own_linen()
    return module.bind(variables)


def by_name(model, vector):
    """Parameters of any face as w1, b1, w2, b2, by their shapes; PyTorch and Equinox keep weights transposed."""
    found = {}
    for array in model.split(vector).values():
        name = {(D, H): "w1", (H, D): "w1", (H,): "b1", (H, C): "w2", (C, H): "w2", (C,): "b2"}[array.shape]
        found[name] = array.T if array.shape in ((H, D), (C, H)) else array
    return found


def flat(model, named):
    parts = []
    for layer in model.layers:
        name = {(D, H): "w1", (H, D): "w1", (H,): "b1", (H, C): "w2", (C, H): "w2", (C,): "b2"}[layer.shape]
        parts.append((named[name].T if layer.shape in ((H, D), (C, H)) else named[name]).ravel())
    return np.concatenate(parts)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_every_face_has_the_products_of_the_function(face, loss):
    model = read_model(FACES[face]())
    f, params = own_function()
    rng = np.random.default_rng(1)
    direction = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape), WEIGHTS)
    u, y = rng.normal(size=(len(X), C)), rng.dirichlet(np.ones(C), len(X))
    v = flat(model, direction)
    assert model.theta.dtype == np.float64
    np.testing.assert_allclose(by_name(model, model.theta)["w2"], WEIGHTS["w2"])
    np.testing.assert_allclose(model.outputs(X), f(params, X), atol=1e-12)
    np.testing.assert_allclose(model.jacobian(X) @ v, model.jvp(v, X), atol=1e-11)
    np.testing.assert_allclose(model.jvp(v, X), jax.jvp(lambda p: f(p, X), (params,), (direction,))[1], atol=1e-11)
    pulled = jax.grad(lambda p: jnp.sum(f(p, X) * u))(params)
    curved = jax.jvp(jax.grad(lambda p: _loss(loss, f(p, X), y)), (params,), (direction,))[1]
    total, slope = model.loss_slope(X, y, loss)
    assert total == pytest.approx(float(_loss(loss, f(params, X), y)))
    sloped = jax.grad(lambda p: _loss(loss, f(p, X), y))(params)
    product = model.hessian(X, y, loss)
    for name, found, expected in (
        ("slope", slope, sloped),
        ("vjp", model.vjp(u, X), pulled),
        ("hvp", model.hvp(v, X, y, loss), curved),
        *((f"hessian, product {time}", product(v), curved) for time in (1, 2)),
        ("hessian in batches", dataclasses.replace(model, batch=3).hessian(X, y, loss)(v), curved),
    ):
        for key, value in by_name(model, found).items():
            np.testing.assert_allclose(value, expected[key], atol=1e-10, err_msg=f"{name} {key}")
    np.testing.assert_allclose(model.input_vjp(u, X), jax.grad(lambda x: jnp.sum(f(params, x) * u))(X), atol=1e-11)


def _loss(name, f, y):
    if name == "softmax":
        return -jnp.sum(y * jax.nn.log_softmax(f))  # targets are probabilities, so both forms agree
    return jnp.sum((f - y) ** 2) / 2


def test_other_parameters_leave_the_users_model_alone():
    module = own_torch()
    model = read_model(module)
    before = model.outputs(X)
    moved = model.at(np.zeros_like(model.theta))
    assert np.abs(moved.outputs(X)).max() == 0
    np.testing.assert_array_equal(read_model(module).outputs(X), before)


def test_rows_pass_in_batches():
    model = dataclasses.replace(read_model(own_function()), batch=256)
    x = np.random.default_rng(2).normal(size=(600, D))
    u = np.ones((600, C))
    np.testing.assert_allclose(model.outputs(x)[300], model.outputs(x[300:301])[0], atol=1e-12)
    np.testing.assert_allclose(model.vjp(u, x), sum(model.vjp(u[:1], x[i : i + 1]) for i in range(600)), atol=1e-9)


@pytest.mark.parametrize("batch", [2048, 4])
@pytest.mark.parametrize("face", FACES)
def test_both_products_at_the_same_rows_again_and_again(face, batch):
    model = dataclasses.replace(read_model(FACES[face]()), batch=batch)
    push, pull = model.linear(X)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        u, v = rng.normal(size=(len(X), C)), rng.normal(size=len(model.theta))
        np.testing.assert_allclose(push(v), model.jvp(v, X), atol=1e-11)
        np.testing.assert_allclose(pull(u), model.vjp(u, X), atol=1e-11)


def test_products_of_outputs_that_are_linear_in_the_parameters():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(D, C).double()
    model = read_model(module)
    push, pull = model.linear(X)
    v, u = np.arange(len(model.theta), dtype=float), np.ones((len(X), C))
    np.testing.assert_allclose(push(v), model.jvp(v, X), atol=1e-11)
    np.testing.assert_allclose(pull(u), model.vjp(u, X), atol=1e-11)


def test_estimators_say_what_scikit_learn_says():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(80, 4)), rng.integers(0, 3, 80)
    many = LogisticRegression().fit(x, y)
    np.testing.assert_allclose(read_model(many).outputs(x), many.decision_function(x), atol=1e-10)
    two = LogisticRegression().fit(x, y > 0)
    logits = read_model(two).outputs(x)
    np.testing.assert_allclose(jax.nn.softmax(logits, axis=1), two.predict_proba(x), atol=1e-10)
    assert read_model(two).decayed.sum() == 4
    ridge = Ridge().fit(x, y.astype(float))
    np.testing.assert_allclose(read_model(ridge).outputs(x)[:, 0], ridge.predict(x), atol=1e-10)
    network = own_sklearn()
    probabilities = jax.nn.softmax(read_model(network).outputs(X), axis=1)
    np.testing.assert_allclose(probabilities, network.predict_proba(X), atol=1e-10)


def test_without_derivatives_only_outputs_are_seen():
    tree = DecisionTreeClassifier(max_depth=2).fit(X, np.arange(len(X)) % 2)
    model = read_model(tree)
    assert model.outputs(X).shape == (6, 2)
    with pytest.raises(SettingError, match=r"none of a scikit-learn DecisionTree.*checks that need no"):
        model.vjp(np.ones((6, 2)), X)


def test_tied_parameters_count_once():
    torch = pytest.importorskip("torch")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(torch.relu(self.one(x)))

    module = Tied()
    model = read_model(module)
    assert len(model.theta) == 4 * 4 + 4 + 4
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    changed = model.at(2 * model.theta)
    with torch.no_grad():
        for leaf in module.parameters():
            leaf.mul_(2)
        np.testing.assert_allclose(changed.outputs(x), module(torch.from_numpy(x)).numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 3, "found an object of type int; .*remedy: pass the trained model itself"),
        (lambda: collections.OrderedDict(WEIGHTS), r"found an object of type OrderedDict; .*load_state_dict"),
        (lambda: Ridge, r"found the class Ridge; .*pass the fitted instance: Ridge\(\)\.fit"),
        (lambda: eqx.nn.MLP, r"found the class MLP; .*create an instance"),
        (lambda: "net.pkl", r"found 'net\.pkl', .*load the model from its file first"),
        (lambda: pathlib.Path("net.pkl"), r"found 'net\.pkl', .*load the model from its file first"),
        (lambda: [own_function()], "found an object of type list; .*pass one model"),
        (lambda: KMeans(2, n_init=1).fit(X), "found KMeans, a clusterer; rule: a classifier or a regressor"),
        (lambda: LocalOutlierFactor(), "found LocalOutlierFactor, an outlier detector; rule"),
        (lambda: GaussianMixture(), "found GaussianMixture, a density estimator; rule"),
        (lambda: flax_modules().Linen(H, C), r"without its variables.*module\.bind"),
        (lambda: (lambda p, x: x, {}), "at least one such array"),
        (lambda: (lambda p, x: x, {"a": jnp.arange(3)}), "floating-point"),
        (lambda: LogisticRegression(), r"without coefficients.*model\.fit"),
    ],
)
def test_refusals(make, message):
    model = make()
    with pytest.raises(SettingError, match=message):
        read_model(model)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "mixed"])
def test_a_torch_module_in_half_precision_is_read_as_its_copy_in_float64(kind):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(D, H), torch.nn.BatchNorm1d(H), torch.nn.Linear(H, C)).eval()
    module = module.to(torch.bfloat16 if kind == "mixed" else getattr(torch, kind))
    if kind == "mixed":
        module[0].float()
    before = [leaf.dtype for leaf in module.parameters()]
    model = read_model(module)
    assert [leaf.dtype for leaf in module.parameters()] == before
    assert model.theta.dtype == np.float64
    with torch.no_grad():
        exact = copy.deepcopy(module).double()(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(model.outputs(X), exact, rtol=1e-12)


def test_whatever_the_users_own_function_raises_is_told():
    def fails(own, x):
        raise KeyError("missing")

    with pytest.raises(ShapeError, match=r"rows that the model accepts; it raised KeyError: 'missing'"):
        read_model((fails, jnp.ones(3))).outputs(X)
    both = read_model((lambda own, x: (x @ own, x), jnp.ones((D, 2))))
    with pytest.raises(ShapeError, match=r"a tuple; rule: one array; remedy: wrap the model in a function"):
        both.outputs(X)


def test_a_copy_in_float64_is_not_computed_in_float32():
    model = read_model((lambda own, x: x @ own, jnp.ones((D, 2), jnp.float32)))
    with jax.enable_x64(False), pytest.raises(PrecisionError, match=r"rule: JAX computes in float32; remedy: jax.conf"):
        model.in_double()


def test_a_linear_model_without_an_intercept_has_none():
    for intercept, count in ((True, D + 1), (False, D)):
        model = read_model(Ridge(0.1, fit_intercept=intercept).fit(X, X[:, 0] + 1))
        assert len(model.theta) == count


def test_models_that_are_not_read_say_why():
    several = MultiOutputClassifier(DecisionTreeClassifier()).fit(X, np.stack([np.arange(6) % 2, np.arange(6) % 3], 1))
    with pytest.raises(SettingError, match="MultiOutputClassifier of several targets; rule: one class per row"):
        read_model(several)
    with pytest.raises(SettingError, match=r"a float at \['k'\]; rule: arrays"):
        read_model((lambda own, x: own["k"] * x @ own["w"], {"w": jnp.ones((D, 2)), "k": 0.5}))
    with pytest.raises(SettingError, match=r"seed; found -1; rule: a whole number"):
        read_trained((lambda own, x: x @ own, jnp.ones((D, C))), X, np.arange(6) % C, seed=-1)


def test_margins_are_no_probabilities():
    y = np.arange(len(X)) % 2
    for estimator in (RidgeClassifier(), LinearSVC()):
        model = read_model(estimator.fit(X, y))
        task = read_task(model, X, y)
        assert (model.tells, task.outputs, task.scored, task.probable) == ("scores", "scores", True, False)
    named = read_model(DecisionTreeClassifier(max_depth=2).fit(X, y))
    assert read_task(named, X, y).probable


def test_what_regressors_say_of_classes_is_no_class_and_no_logit():
    y = np.arange(len(X)) % C
    seen = np.eye(C)[y]
    values, shares = (read_model(own.fit(X, seen)) for own in (KernelRidge(), DecisionTreeRegressor(max_depth=1)))
    task = read_task(values, X, y)
    assert (task.outputs, task.scored, task.probable) == ("scores", True, False)
    assert (task.errors(values.outputs(X), task.encode(y)) == (values.outputs(X).argmax(1) != y)).all()
    assert read_task(shares, X, y).outputs == "probabilities"  # means of one-hot rows
