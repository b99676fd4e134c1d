"""Parameters of a module by their names, as in a file of weights, and a function that puts them into a module."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from lemmata.errors import DataError, SettingError, ShapeError

_SHOWN = 3
_COLLECTION = "params."


def weights(model: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a model by name, as `lemmata model --weights` reads them from a safetensors file.

    Save them with `safetensors.numpy.save_file(weights(model), "net.safetensors")`. In PyTorch, names are those of
    `state_dict()`, where tied parameters occur once. In JAX, Equinox and Flax, names are paths in the tree of arrays,
    separated by dots ("layers.0.weight"); states of random generators are left out.

    Args:
        model: (f, params), (module, variables) of Flax, or a module of Equinox, Flax or PyTorch.

    Raises:
        SettingError: if the model is none of these.

    >>> import jax.numpy as jnp
    >>> params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    >>> {name: array.shape for name, array in weights((lambda own, x: x @ own["w"] + own["b"], params)).items()}
    {'b': (2,), 'w': (3, 2)}
    """
    if _is_torch(model):
        own = model.state_dict()
        first = _first_of_tied(own)
        return {name: np.array(leaf.numpy(force=True), order="C") for name, leaf in own.items() if first[name] == name}
    tree, _ = _tree(model)
    # a copy in C order, in which safetensors writes every array
    return {name: np.array(leaf, order="C") for name, leaf in _named(tree)}


def with_weights(model: Any, arrays: Mapping[str, np.ndarray], name: str = "weights") -> Any:
    """Return a model whose arrays are replaced by given arrays of the same names, in the precision of the model.

    The names are the names that `weights` returns. A PyTorch or Flax nnx module is changed in place. A PyTorch module
    is set to evaluation mode.

    Args:
        model: the model, as in `weights`.
        arrays: the arrays, by name.
        name: the name of the file, for error messages.

    Raises:
        SettingError: if the model has no named parameters.
        ShapeError: if names or shapes differ. The message shows the first three differences.
        DataError: if numbers are of another kind, such as whole numbers in place of floating-point numbers.
    """
    if _is_torch(model):
        own = model.state_dict()
        first = _first_of_tied(own)
        full = dict(arrays) | {tied: arrays[one] for tied, one in first.items() if tied not in arrays and one in arrays}
        _check(name, {key: tuple(leaf.shape) for key, leaf in own.items()}, full)
        _check_kinds(name, {key: _kind_of_tensor(leaf) for key, leaf in own.items()}, full)
        torch = sys.modules["torch"]
        model.load_state_dict({key: torch.from_numpy(np.array(full[key])).to(own[key].dtype) for key in own})
        return model.eval()
    tree, put = _tree(model)
    leaves = _named(tree)
    given = _collected(arrays, [key for key, _ in leaves])
    _check(name, {key: tuple(np.shape(leaf)) for key, leaf in leaves}, given)
    _check_kinds(name, {key: _kind(np.asarray(leaf).dtype) for key, leaf in leaves}, given)
    filled = [jax.numpy.asarray(given[key], np.asarray(leaf).dtype) for key, leaf in leaves]
    return put(jax.tree.unflatten(jax.tree.structure(tree), filled))


def _is_torch(model: Any) -> bool:
    return any(cls.__module__ == "torch.nn.modules.module" for cls in type(model).__mro__)


def _first_of_tied(own: Mapping[str, Any]) -> dict[str, str]:
    """Return, for each entry of a state, the name of the first entry with the same memory and shape.

    For an entry that is not tied to another entry, this is its own name.
    """
    seen: dict[tuple[Any, ...], str] = {}
    place = lambda leaf: (leaf.data_ptr(), tuple(leaf.shape), leaf.stride(), leaf.dtype)
    return {name: seen.setdefault(place(leaf), name) if leaf.numel() else name for name, leaf in own.items()}


def _named(tree: Any) -> list[tuple[str, Any]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(way, simple=True, separator="."), leaf) for way, leaf in leaves]


def _tree(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the arrays of a model as a tree, and a function that puts arrays back."""
    if isinstance(model, tuple) and len(model) == 2:
        first, params = model
        return params, lambda own: (first, own)
    if any(cls.__module__ == "flax.nnx.module" for cls in type(model).__mro__):
        from flax import nnx

        state = nnx.state(model, nnx.Not(nnx.RngState))

        def put(own: Any) -> Any:
            nnx.replace_by_pure_dict(state, own)
            nnx.update(model, state)
            return model

        return nnx.to_pure_dict(state), put
    own: Any = model
    if any(cls.__module__ == "flax.linen.module" for cls in type(own).__mro__) and own.scope is not None:
        module, variables = own.unbind()
        return variables, lambda filled: module.bind(filled)
    if isinstance(model, eqx.Module):
        arrays, rest = eqx.partition(model, eqx.is_array)
        return arrays, lambda own: eqx.combine(own, rest)
    raise SettingError("weights", found=f"for a {type(model).__name__}", rule="a model with named parameters")


def _collected(arrays: Mapping[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    """Add Flax's collection "params" in front of names, or remove it, as the model's names require."""
    own, given = (all(name.startswith(_COLLECTION) for name in some) for some in (names, arrays))
    if own and not given and not any(name.startswith(_COLLECTION) for name in arrays):
        return {_COLLECTION + name: array for name, array in arrays.items()}
    if given and not any(name.startswith(_COLLECTION) for name in names):
        return {name.removeprefix(_COLLECTION): array for name, array in arrays.items()}
    return dict(arrays)


def _check(name: str, own: Mapping[str, tuple[int, ...]], given: Mapping[str, np.ndarray]) -> None:
    """Raise ShapeError with the first three differences of names or shapes."""
    found = [f"{key} is missing" for key in own if key not in given]
    found += [f"{key} is unknown" for key in given if key not in own]
    shapes = ((key, given[key].shape, shape) for key, shape in own.items() if key in given)
    found += [f"{key} has shape {have}, but the model needs {asked}" for key, have, asked in shapes if have != asked]
    if found:
        more = f"; {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        rule = "the names and shapes of the model that build() returns"
        raise ShapeError(f"{name} does not fit", found="; ".join(found[:_SHOWN]) + more, rule=rule)


_KINDS = {"floating-point": jax.numpy.floating, "complex": jax.numpy.complexfloating, "whole": jax.numpy.integer}


def _kind(dtype: Any) -> str:
    """Return the kind of numbers in an array, in words; "other" for anything else."""
    found = next((words for words, kind in _KINDS.items() if jax.numpy.issubdtype(dtype, kind)), "other")
    return "true-or-false" if dtype == np.bool_ else found


def _kind_of_tensor(leaf: Any) -> str:
    if leaf.is_floating_point():
        return "floating-point"
    if leaf.is_complex():
        return "complex"
    return "true-or-false" if str(leaf.dtype) == "torch.bool" else "whole"


def _check_kinds(name: str, own: Mapping[str, str], given: Mapping[str, np.ndarray]) -> None:
    """Raise DataError with the first three arrays whose numbers are of another kind. The precision may differ."""
    told = [
        f"{key} has {given[key].dtype}, a {_kind(given[key].dtype)} type, but the model's array has {kind} numbers"
        for key, kind in own.items()
        if key in given and _kind(given[key].dtype) != kind
    ]
    if told:
        more = f"; {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        raise DataError(
            f"{name} does not fit",
            found="; ".join(told[:_SHOWN]) + more,
            rule="arrays with the same kind of numbers as the model's arrays",
            remedy="save the parameters of the trained model, or convert these arrays before you save them",
        )
