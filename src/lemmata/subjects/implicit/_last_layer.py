"""The last layer of scikit-learn and torch models: its weights and its input features."""

import dataclasses
import sys
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from lemmata.errors import SettingError, ShapeError

_ACTIVATIONS = {
    "relu": lambda h: np.maximum(h, 0.0),
    "tanh": np.tanh,
    "logistic": expit,
    "identity": lambda h: h,
}


@dataclasses.dataclass(frozen=True, eq=False)
class LastLayer:
    """The last layer of a model, whose scores are linear in the features.

    Args:
        weights: the weights of the layer, one row for each score. If the layer has a bias, the last column is the bias.
        features: the features of the rows. If the layer has a bias, the last feature is constant.
    """

    weights: Float[np.ndarray, "k m"]
    features: Float[np.ndarray, "n m"]

    @property
    def scores(self) -> Float[np.ndarray, "n k"]:
        """The scores, one row for each input row."""
        return self.features @ self.weights.T


def weights_of(model: Any) -> list[np.ndarray]:
    """Return the weight matrices of a model, starting with the first layer, or an empty list for other objects."""
    if hasattr(model, "coefs_"):
        return [np.asarray(layer, float).T for layer in model.coefs_]
    if hasattr(model, "coef_"):
        return [_coefficients(model)]
    if is_torch(model):
        arrays = [own.detach().cpu().numpy().astype(float) for own in model.parameters()]
        return [array.reshape(len(array), -1) for array in arrays if array.ndim > 1]
    return []


def last_layer(model: Any, inputs: np.ndarray) -> LastLayer | None:
    """Return the last layer of a linear model, an MLPClassifier or a torch.nn.Sequential ending in Linear. Return None
    for other models.
    """
    if hasattr(model, "coefs_") or hasattr(model, "coef_"):
        _check(model, inputs)
    if hasattr(model, "coefs_"):
        hidden, activation = inputs.astype(float), _ACTIVATIONS[model.activation]
        for weights, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
            hidden = activation(hidden @ weights + bias)
        return _with_bias(hidden, model.coefs_[-1].T, model.intercepts_[-1])
    if hasattr(model, "coef_"):
        return _with_bias(inputs.astype(float), _coefficients(model), np.atleast_1d(model.intercept_))
    if not is_torch(model):
        return None
    import torch

    if not (isinstance(model, torch.nn.Sequential) and len(model) and isinstance(model[-1], torch.nn.Linear)):
        return None
    last: Any = model[-1]
    hidden = outputs_of_torch(model, inputs, model[:-1])
    if hidden.shape != (len(inputs), last.in_features):
        found, rule = f"shape {hidden.shape[1:]} before the last layer", f"shape ({last.in_features},) for each row"
        remedy = "add torch.nn.Flatten() before the last layer" if hidden.ndim > 2 else None
        raise ShapeError("model and x", found=found, rule=rule, remedy=remedy)
    bias = None if last.bias is None else last.bias.detach().cpu().numpy()
    return _with_bias(hidden.astype(float), last.weight.detach().cpu().numpy(), bias)


def _with_bias(features: np.ndarray, weights: np.ndarray, bias: np.ndarray | None) -> LastLayer:
    weights = np.asarray(weights, float)
    if bias is None or not np.any(bias):
        return LastLayer(weights, features)
    column = np.broadcast_to(np.asarray(bias, float), (len(weights),))[:, None]
    return LastLayer(np.concatenate([weights, column], axis=1), np.pad(features, ((0, 0), (0, 1)), constant_values=1.0))


def outputs_of_torch(model: Any, inputs: np.ndarray, part: Any = None) -> np.ndarray:
    """Return the outputs of a PyTorch module, or of a part of it, in evaluation mode.

    Args:
        model: the PyTorch module.
        inputs: the input rows.
        part: the part of the module; by default the whole module.

    Raises:
        ShapeError: if the module does not accept the inputs.
    """
    import torch

    kind = next(model.parameters(), torch.zeros(()))
    modes = [(own, own.training) for own in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            tensor = torch.as_tensor(np.array(inputs), dtype=kind.dtype, device=kind.device)
            return (model if part is None else part)(tensor).cpu().numpy()
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:  # of a user's module
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
        rule = f"a module that takes inputs of shape {inputs.shape} and returns one tensor"
        raise ShapeError("model and x", found=found, rule=rule) from error
    finally:
        for own, training in modes:
            own.training = training


def _coefficients(model: Any) -> np.ndarray:
    weights = model.coef_
    return np.atleast_2d(np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, float))


def _check(model: Any, inputs: np.ndarray) -> None:
    name, classes = type(model).__name__, getattr(model, "classes_", None)
    if classes is None or not isinstance(classes, np.ndarray):
        raise SettingError(
            "model", found=f"a {name}, which has no classes", rule="a fitted classifier", remedy="fit a classifier"
        )
    if len(classes) > 2 and hasattr(model, "support_vectors_"):
        rule = "one score for each class, not for each pair of classes"
        raise SettingError("model", found=f"a {name} for {len(classes)} classes", rule=rule, remedy="use LinearSVC")
    columns = (model.coefs_[0].shape[0],) if hasattr(model, "coefs_") else _coefficients(model).shape[1:]
    if inputs.shape[1:] != columns:
        found, rule = f"shape {inputs.shape}", f"shape ({len(inputs)}, {columns[0]}), the columns of the model"
        raise ShapeError("x", found=found, rule=rule)


def is_torch(model: Any) -> bool:
    """Return whether a model is a PyTorch module."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)
