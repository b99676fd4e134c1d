"""Parameters by name through a file of weights and back, for every kind of module."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.trained_models import read_model, weights, with_weights
from lemmata.workflows.examinations._program import load_program
from tests.subjects.trained_models.test_faces import flax_modules

X = np.random.default_rng(0).normal(size=(5, 4))


def function(seed):
    params = {"w": jax.random.normal(jax.random.key(seed), (3, 4)).T, "b": jnp.arange(3.0) + seed}
    return (lambda own, x: x @ own["w"] + own["b"]), params


def equinox(seed):
    return eqx.nn.MLP(4, 3, 6, 1, key=jax.random.key(seed))


def flax_pair(seed):
    return flax_modules().normalised_pair(seed, X)


def bound(seed):
    module, variables = flax_pair(seed)
    return module.bind(variables)


def nnx(seed):
    return flax_modules().NormalisedNnx(seed)


def torch_tied(seed):
    torch = pytest.importorskip("torch")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.two.weight = self.one.weight
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, x):
            return self.norm(self.two(torch.tanh(self.one(x))))

    torch.manual_seed(seed)
    return Tied().double().eval()


@pytest.mark.parametrize("make", [function, equinox, torch_tied])
@pytest.mark.parametrize(("kind", "words"), [(np.int32, "int32, a whole"), (bool, "bool"), (complex, "complex128")])
def test_arrays_with_another_kind_of_numbers_are_refused(make, kind, words):
    given = weights(make(1))
    name = next(key for key, array in given.items() if array.dtype.kind == "f" and array.ndim == 2)
    with pytest.raises(DataError, match=rf"{name} has {words}"):
        with_weights(make(2), given | {name: given[name].astype(kind)})


def test_another_precision_is_accepted():
    first, given = function(1), {name: array.astype(np.float16) for name, array in weights(function(2)).items()}
    assert with_weights(first, given)[1]["w"].dtype == first[1]["w"].dtype


@pytest.mark.parametrize("make", [function, equinox, flax_pair, bound, nnx, torch_tied])
def test_save_and_load_give_the_same_outputs(tmp_path, make):
    first, other = make(1), make(2)
    path = tmp_path / "net.safetensors"
    save_file(weights(first), path)
    before = read_model(first).outputs(X)
    assert np.abs(read_model(other).outputs(X) - before).max() > 0.01
    np.testing.assert_array_equal(read_model(with_weights(other, load_file(path))).outputs(X), before)


def test_names_are_paths():
    assert set(weights(equinox(0))) == {f"layers.{i}.{name}" for i in (0, 1) for name in ("weight", "bias")}
    assert all(array.flags.c_contiguous for array in weights(function(0)).values())


def test_names_are_paths_in_flax():
    names = set(weights(flax_pair(0)))
    assert {"params.Dense_0.kernel", "batch_stats.BatchNorm_0.mean"} <= names
    assert {"first.kernel", "norm.mean"} <= set(weights(nnx(0)))


def test_tied_weights_have_one_name():
    tied = weights(torch_tied(0))
    assert "one.weight" in tied
    assert "two.weight" not in tied


def test_names_of_flax_with_and_without_their_collection():
    linen = flax_modules().linen
    first = linen.Dense(3), linen.Dense(3).init(jax.random.key(0), X)
    given = {name.removeprefix("params."): np.zeros_like(array) for name, array in weights(first).items()}
    assert not read_model(with_weights(first, given)).theta.any()
    bare = (lambda own, x: x @ own["kernel"] + own["bias"]), first[1]["params"]
    assert not read_model(with_weights(bare, {f"params.{name}": array for name, array in given.items()})).theta.any()


def test_the_first_three_differences_are_named():
    given = {"w": np.zeros((3, 4)), "c": np.zeros(3), "e": np.zeros(3), "g": np.zeros(1)}
    message = r"net\.safetensors does not fit; found b is missing; c is unknown; e is unknown; 2 more"
    with pytest.raises(ShapeError, match=message):
        with_weights(function(0), given, "net.safetensors")
    with pytest.raises(ShapeError, match=r"found w has shape \(3, 4\), but the model needs \(4, 3\)"):
        with_weights(function(0), {"w": np.zeros((3, 4)), "b": np.zeros(3)})
    with pytest.raises(ShapeError, match=r"one\.weight is missing"):
        with_weights(torch_tied(0), {})
    with pytest.raises(SettingError, match="for a int"):
        weights(3)


def test_a_program_of_dataclasses_and_its_neighbours(tmp_path):
    """A module of Flax in a file with postponed annotations, which imports another file while it builds."""
    flax_modules()
    (tmp_path / "widths.py").write_text("WIDTH = 3\n")
    (tmp_path / "net.py").write_text(
        "from __future__ import annotations\n"
        "import flax.linen as linen\nimport jax\nimport jax.numpy as jnp\n"
        "class Net(linen.Module):\n"
        "    width: int = 3\n"
        "    @linen.compact\n"
        "    def __call__(self, x):\n"
        "        return linen.Dense(self.width)(x)\n"
        "def build():\n"
        "    from widths import WIDTH\n"
        "    return Net(WIDTH), Net(WIDTH).init(jax.random.key(0), jnp.ones((1, 4)))\n"
    )
    assert read_model(load_program(tmp_path / "net.py").model).outputs(X).shape == (5, 3)
