"""Objects in files: what comes back is the same to the bit, and a file can name nothing but what is known."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.gaussian_process.kernels import WhiteKernel

from lemmata.architectures import (
    Aggregate,
    AngularKernel,
    Concatenate,
    Contract,
    Dense,
    Dropout,
    Elementwise,
    Embedding,
    Gelu,
    LayerNorm,
    Monomial,
    Multiply,
    NNGPKernel,
    Serial,
    Sin,
    Softmax,
    StateSpace,
    TangentKernel,
    erf_network,
    fully_connected,
    graph_network,
    relu_network,
    residual,
    silu,
    softplus,
    tanh,
)
from lemmata.errors import DataError, PrecisionError, SettingError
from lemmata.estimators import (
    KernelBarlowTwins,
    KernelRegressor,
    NNGPRegressor,
    SklearnKernel,
    SoftmaxRegressor,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from lemmata.functions import Cosines, GaussianBumps, LinearFunctions, LogisticNetworks, draw_function
from lemmata.kernels import RBF, AbstractKernel, Compose, Linear, Matern, Periodic, Polynomial, TorusSobolev, gram
from lemmata.networks import construct_transformer
from lemmata.storage import load, save, storable


@storable
class Stretched(AbstractKernel):
    """A kernel of the user's own."""

    factors: jax.Array

    def __call__(self, x, y):
        return jnp.sum(self.factors * x * y)


class Stranger(Stretched):
    """Of the same form, but not registered."""


KEY = jax.random.key(1)
NETWORKS = LogisticNetworks(2 * jnp.eye(2), jnp.ones(2))
OBJECTS = {
    "algebra": 0.1 * (RBF(0.3) + Matern(1.5, 0.7)) * Polynomial(degree=3, offset=1 / 3) ** 2,
    "periodic": Periodic(0.2, 1.7) + TorusSobolev(order=2),
    "map": Compose(RBF(), jnp.tanh),
    "array": RBF(jnp.asarray(1 / 3)),
    "own": Stretched(jnp.asarray([1.0, 2.0, np.pi])),
    "tangent": TangentKernel(relu_network(depth=2, bias_std=0.1)),
    "nngp": NNGPKernel(fully_connected(tanh(64), 1)),
    "angular": AngularKernel(TangentKernel(erf_network(depth=2)), norm=2**0.5, dimension=3),
    "layers": Serial([Dense(8), LayerNorm(), residual(Serial([Gelu(), Dense(8, 1.3)])), Dropout(0.9), Dense(2)]),
    "sequences": Serial([Embedding(9, 8), StateSpace([-0.3, -1.0 + 2.0j], (0.1, 0.2)), Dense(4), Softmax(0.5)]),
    "graphs": TangentKernel(graph_network(2, aggregate=Aggregate("row", 1.0, adjacency=jnp.ones((2, 2))))),
    "branches": Serial(
        [Concatenate([Multiply([Dense(4), Dense(4)]), Dense(2)], axis=0), Contract([0.5, -1.0], "h,hw->w")]
    ),
    "classes": [GaussianBumps(2, 3.0), Cosines(jnp.eye(2), jnp.ones(2)), LinearFunctions(3)],
    "function": draw_function(KEY, NETWORKS),
    "in context": construct_transformer(NETWORKS, 4, 7, examples=8, key=KEY, accelerated=True),
    "masked": Dropout(0.5, jax.random.key(3)),
    "nested": {"a": [Sin(), Monomial(2), softplus(), (silu(), None, True, float("inf"))], "b": np.int8([1, -2])},
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_comes_back_is_the_same(name, tmp_path):
    value = OBJECTS[name]
    back = load(save(value, tmp_path / "file"))
    (leaves, structure), (others, other_structure) = jax.tree.flatten(value), jax.tree.flatten(back)
    assert structure == other_structure
    for leaf, other in zip(leaves, others, strict=True):
        assert type(leaf) is type(other)
        if isinstance(leaf, jax.Array):
            is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            leaf, other = (jax.random.key_data(part) if is_key else part for part in (leaf, other))
            assert (leaf.dtype, leaf.weak_type, leaf.shape) == (other.dtype, other.weak_type, other.shape)
            assert np.array_equal(leaf, other)
        else:
            assert np.array_equal(leaf, other)


def test_a_kernel_that_comes_back_computes_the_same(tmp_path):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    for name in ("algebra", "own", "map"):
        kernel = OBJECTS[name]
        assert np.array_equal(gram(load(save(kernel, tmp_path / name)), x), gram(kernel, x))


@pytest.mark.parametrize(
    "estimator",
    [
        KernelRegressor(RBF(0.3), ridge=1e-6),
        KernelRegressor(time=2.0),
        NNGPRegressor(erf_network(depth=1), noise=0.1),
        TangentKernelRegressor(erf_network(depth=1)),
        TangentKernelClassifier(erf_network(depth=1)),
        SoftmaxRegressor(time=1.0, normalise=True),
    ],
    ids=["ridge", "flow", "nngp", "tangent", "classifier", "softmax"],
)
def test_a_fitted_estimator_predicts_the_same_even_without_x64(estimator, tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(12, 2)), np.array(["a", "b"])[rng.integers(2, size=12)]
    classifier = isinstance(estimator, TangentKernelClassifier)
    expected = estimator.fit(x, y if classifier else rng.normal(size=12)).predict(x)
    save(estimator, tmp_path / "model")
    with jax.enable_x64(False):
        back = load(tmp_path / "model")
        assert np.array_equal(back.predict(x), expected)
        if classifier:
            assert np.array_equal(back.predict_proba(x), estimator.predict_proba(x))


def test_a_fitted_transformer_embeds_the_same_even_without_x64(tmp_path):
    x, views = np.random.default_rng(1).normal(size=(2, 12, 2))
    expected = KernelBarlowTwins(RBF(0.3)).fit(x, views=x + 0.1 * views)
    save(expected, tmp_path / "model")
    with jax.enable_x64(False):
        assert np.array_equal(load(tmp_path / "model").transform(x), expected.transform(x))


def test_a_kernel_of_scikit_learn_keeps_its_values_even_without_x64(tmp_path):
    x = np.random.default_rng(2).normal(size=(5, 2))
    kernel = SklearnKernel(0.7 * RBF(1 / 3), ["kernel.lengthscale"], (0.1, 10.0))
    moved = kernel.clone_with_theta([0.3])
    save([kernel, moved, SklearnKernel(RBF(1.0))], tmp_path / "kernels")
    with jax.enable_x64(False):
        back = load(tmp_path / "kernels")
        assert back[0].kernel.factor.dtype == jnp.float64
        assert all(np.array_equal(found(x), known(x)) for found, known in zip(back, (kernel, moved), strict=False))
    assert back[:2] == [kernel, moved]
    assert np.array_equal(back[2](x), gram(RBF(1.0), jnp.asarray(x)))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (Serial([Dense(3), Elementwise(lambda u: u**3)]), r"layers\.1\.fn.*function of your own.*tanh\(\)"),
        (Compose(RBF(), lambda u: 2 * u), r"transform.*function of your own"),
        (RBF() + Stranger(jnp.ones(1)), r"right; found an object of class .*Stranger.*storable\(Stranger\)"),
        (SklearnKernel(RBF()) + WhiteKernel(), r"class sklearn\.gaussian_process\.kernels\.Sum.*storable\(Sum\)"),
        ({1: 2.0}, "keys that are strings"),
        ((b"a",), "at 0; found a bytes"),
        (np.array([object()]), "array of objects"),
    ],
)
def test_what_cannot_be_stored_is_named(value, where, tmp_path):
    with pytest.raises(SettingError, match=where):
        save(value, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def rewritten(path, change):
    with safe_open(path, framework="numpy") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    without = {name: text for name, text in metadata.items() if name != "digest"}
    save_file(tensors, path, without | {"version": "1"} | change)  # as versions that had no digest wrote it
    return path


CALL = {"class": "os.system", "fields": {"command": "true"}}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": "other"}, "format 'other'"),
        ({"version": "3"}, "newer lemmata"),
        ({"value": json.dumps(CALL)}, "class 'os.system'; found an unknown class"),
        ({"value": json.dumps({"class": "builtins.eval", "fields": {}})}, "an unknown class"),
        ({"value": json.dumps({"function": "os.abort"})}, "an unknown function"),
        ({"value": json.dumps({"class": "lemmata.kernels.RBF", "fields": {"lengthscale": 1, "step": 2}})}, "fields"),
        ({"value": json.dumps({"class": "lemmata.estimators.KernelRegressor", "fields": {"a b": 1}})}, "each setting"),
        ({"value": json.dumps({"class": ["lemmata.kernels.RBF"], "fields": {}})}, "damaged"),
        ({"value": json.dumps({"array": "missing", "weak": False})}, "damaged"),
        ({"value": "{"}, "damaged"),
        ({"value": "[" * 100_000}, "damaged"),
        ({"value": json.dumps({"what": 1})}, "damaged"),
    ],
)
def test_a_file_can_name_nothing_else(change, word, tmp_path):
    path = rewritten(save(RBF(2.0), tmp_path / "file"), change)
    with pytest.raises(DataError, match=word):
        load(path)


FIELD = r"class RBF, field lengthscale; found .*{}"


@pytest.mark.parametrize(
    ("value", "array", "word"),
    [
        ({"array": "lengthscale", "weak": False}, np.asarray(2, np.int32), FIELD.format("an array of int32")),
        ({"array": "lengthscale", "weak": False}, np.asarray(True), FIELD.format("an array of bool")),
        ("many", np.asarray(2.0), FIELD.format("str 'many'")), (None, np.asarray(2.0), FIELD.format("NoneType None")),
        ({"list": [1.0]}, np.asarray(2.0), FIELD.format("list")),
    ],
)  # fmt: skip
def test_fields_of_another_type_are_refused(value, array, word, tmp_path):
    path = save(RBF(2.0), tmp_path / "file")
    metadata = {"format": "lemmata", "version": "1"}
    body = {"class": "lemmata.kernels.RBF", "fields": {"lengthscale": value}}
    save_file({"lengthscale": array}, path, metadata | {"value": json.dumps(body)})
    with pytest.raises(DataError, match=word) as error:
        load(path)
    assert str(path) in "".join(error.value.__notes__)


def test_values_are_checked_and_damage_is_found(tmp_path):
    path = save(RBF(2.0), tmp_path / "file")
    value = safe_open(path, framework="numpy").metadata()["value"]
    save_file({"lengthscale": np.asarray(-1.0)}, path, {"format": "lemmata", "version": "1", "value": value})
    with pytest.raises(SettingError, match=r"RBF\.lengthscale") as caught:
        load(path)
    assert str(path) in "".join(caught.value.__notes__)
    path = save(OBJECTS["own"], tmp_path / "cut")
    path.write_bytes(path.read_bytes()[:-8])
    for broken in (path, tmp_path / "missing"):
        with pytest.raises(DataError, match="safetensors file that exists"):
            load(broken)
    with jax.enable_x64(False), pytest.raises(PrecisionError, match="float64"):
        load(save(OBJECTS["own"], tmp_path / "whole"))
    with pytest.raises(DataError, match="can be written"):
        save(Linear(), tmp_path / "no" / "such" / "folder")


def test_two_classes_of_one_name():
    first = type("Twin", (eqx.Module,), {})
    assert storable(storable(first)) is first
    with pytest.raises(SettingError, match="second"):
        storable(type("Twin", (eqx.Module,), {}))
