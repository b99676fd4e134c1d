"""A model of any library as a chain of affine maps with an activation of slope at most 1 between two maps.

Each map is a whole matrix from units to units. The matrix of a convolution describes its effect on all positions. The
norm of this matrix is the norm of the whole map, and not the norm of the convolution's kernel.
"""

import copy
import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from lemmata.errors import LemmataError, SettingError
from lemmata.subjects.robustness import ReluNetwork, read_function, read_network

from ._contract import AbstractModel
from ._jax import JaxModel
from ._once import once
from ._torch import TorchModel
from ._trained import Trained

_WIDEST = 2048
_MARK = 7  # number of rows in a trace; values with a first axis of this length depend on the rows
_BODIES = ("jaxpr", "call_jaxpr")
_REPEATED = ("scan", "while", "cond")
_LOOSE = 1e-3
_LIKE_RELU = ("Tanh", "Hardtanh", "ReLU6", "Softshrink")  # slope at most 1, 0 at 0


@dataclasses.dataclass(frozen=True, eq=False)
class Chain:
    """The affine maps of a model, or the reason why lemmata cannot read the model as a chain of affine maps.

    Args:
        network: the weights and biases of the maps, or None if the model cannot be read as a chain.
        refused: the reason why the model cannot be read as a chain, in words.
    """

    network: ReluNetwork | None
    refused: str = ""

    @functools.cached_property
    def norms(self) -> tuple[float, ...]:
        """The largest singular value of each map: the largest factor by which it stretches a difference of inputs."""
        return () if self.network is None else tuple(float(np.linalg.norm(own, 2)) for own in self.network.weights)

    @property
    def slope(self) -> float:
        """The product of the norms: if an input moves, the outputs move at most this many times as far.

        The product is NaN if the model cannot be read as a chain.
        """
        return math.prod(self.norms) if self.network is not None else math.nan


def read_chain(model: AbstractModel, x: np.ndarray) -> Chain:
    """Return the affine maps of a model at its parameters, for rows of the shape of `x`.

    This function reads functions of JAX whose activations are max(., 0) or tanh. Models of Equinox and Flax, and
    scikit-learn's linear models and perceptrons, are functions of JAX. The function also reads PyTorch's Sequential if
    its layers are Tanh, Hardtanh, ReLU6, Softshrink or layers that `read_network` reads. The activation itself is not
    stored. Statements about a chain need only that its activations have a slope of at most 1 and are 0 at 0, and this
    holds for all of these activations.

    Args:
        model: the model that is read as a chain, at its parameters.
        x: the rows, of which only the shape and the first eight rows are used.
    """
    try:
        if model.link != "identity" or np.asarray(x).dtype.kind != "f":
            raise SettingError("model", found="probabilities, or rows of whole numbers", rule="logits of numbers")
        shape = np.shape(x)[1:]
        if isinstance(model, TorchModel):
            network, exact = _of_torch(model, shape)
        elif isinstance(model, JaxModel):
            network, exact = _of_jax(model, shape)
        else:
            raise SettingError(
                "model", found=f"a {model.kind}", rule="a module, or a function whose layers lemmata can read"
            )
    except LemmataError as error:
        return Chain(None, " ".join(str(error).split()))
    if exact:
        few = np.asarray(x[:8], float)
        found, own = network(few.reshape(len(few), -1)), model.outputs(few)
        if np.abs(found - own).max() > _LOOSE * max(float(np.abs(own).max()), 1e-300):
            return Chain(None, "the layer maps that lemmata read from the model give other outputs than the model")
    return Chain(network)


def _of_torch(model: TorchModel, shape: tuple[int, ...]) -> tuple[ReluNetwork, bool]:
    import torch  # the user's module brings it  # pyright: ignore[reportMissingImports]

    module = copy.deepcopy(model.module).double()
    if type(module) is not torch.nn.Sequential:
        module = torch.nn.Sequential(module)
    own = model.split(model.theta)
    names = dict(model.module.named_parameters())
    leaves = dict(zip(names, module.parameters(), strict=True))
    with torch.no_grad():
        for name, array in own.items():
            leaves[name].copy_(torch.from_numpy(np.array(array, float)))
    kinds = tuple(getattr(torch.nn, name) for name in _LIKE_RELU)
    replaced = _replace(module, kinds, torch.nn.ReLU)
    _check_widest(_torch_widths(module, shape))
    return read_network(module, shape=shape), not replaced


def _replace(module: Any, kinds: tuple[type, ...], relu: Any) -> bool:
    found = False
    for name, child in list(module.named_children()):
        if type(child) in kinds:
            setattr(module, name, relu())
            found = True
        else:
            found |= _replace(child, kinds, relu)
    return found


def _torch_widths(module: Any, shape: tuple[int, ...]) -> list[int]:
    import torch  # pyright: ignore[reportMissingImports]

    widths: list[int] = [math.prod(shape)]
    record = lambda layer, taken, given: widths.append(given.numel()) if hasattr(given, "numel") else None
    hooks = [layer.register_forward_hook(record) for layer in module.modules()]
    try:
        with torch.no_grad():
            module(torch.zeros((1, *shape), dtype=torch.float64))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise SettingError(
            "module", found=str(error).splitlines()[0][:200], rule="a module that accepts one row of this shape"
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    return widths


def _of_jax(model: JaxModel, shape: tuple[int, ...]) -> tuple[ReluNetwork, bool]:
    double = model.in_double()
    assert isinstance(double, JaxModel)
    replaced: list[bool] = []

    def call(x: Any) -> Any:
        closed = jax.make_jaxpr(lambda rows: double._call(jnp.asarray(double.theta), rows))(x)
        return _without_tanh(closed, [x], replaced)[0]

    with jax.enable_x64(True):
        _check_widest(_jax_widths(jax.make_jaxpr(call)(jnp.zeros((_MARK, *shape)))))
    return read_function(call, shape, model.kind), not replaced


def _bodies(step: Any) -> list[ClosedJaxpr]:
    """Return the functions that one equation of a jaxpr calls once, without functions in loops and branches."""
    if step.primitive.name in _REPEATED:
        return []
    return [step.params[name] for name in _BODIES if isinstance(step.params.get(name), ClosedJaxpr)]


def _without_tanh(closed: ClosedJaxpr, values: list[Any], replaced: list[bool]) -> list[Any]:
    """Run the traced function with max(., 0) in place of tanh, so that its maps can be read."""
    known = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *values], strict=True))
    look_up = lambda var: var.val if isinstance(var, Literal) else known[var]
    for step in closed.jaxpr.eqns:
        taken, bodies = [look_up(var) for var in step.invars], _bodies(step)
        if step.primitive.name == "tanh":
            replaced.append(True)
            given: Any = [jnp.maximum(taken[0], 0.0)]
        elif len(bodies) == 1 and len(bodies[0].jaxpr.invars) == len(taken):
            given = _without_tanh(bodies[0], taken, replaced)
        else:
            given = step.primitive.bind(*taken, **step.params)
            given = given if step.primitive.multiple_results else [given]
        known.update(zip(step.outvars, given, strict=True))
    return [look_up(var) for var in closed.jaxpr.outvars]


def _jax_widths(closed: ClosedJaxpr) -> list[int]:
    found = []
    for step in closed.jaxpr.eqns:
        shapes = (var.aval.shape for var in step.outvars)
        found += [math.prod(shape[1:]) for shape in shapes if shape and shape[0] == _MARK]
        found += [width for body in _bodies(step) for width in _jax_widths(body)]
    return found


def _check_widest(widths: list[int]) -> None:
    if max(widths, default=0) > _WIDEST:
        found = f"{max(widths)} numbers between two layers"
        raise SettingError(
            "model", found=found, rule=f"at most {_WIDEST}, because each map between layers is stored as a matrix"
        )


@once
def chain_of(trained: Trained) -> Chain:
    """Return the affine maps of the model, or the reason why the model cannot be read as a chain."""
    return read_chain(trained.model, trained.x)
