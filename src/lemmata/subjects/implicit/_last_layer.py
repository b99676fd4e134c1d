"""The last layer of models of scikit-learn and torch: its weights and the features before it."""

import dataclasses
import sys
from typing import Any

import numpy as np
from jaxtyping import Float

_ACTIVATIONS = {
    "relu": lambda h: np.maximum(h, 0.0),
    "tanh": np.tanh,
    "logistic": lambda h: 1 / (1 + np.exp(-h)),
    "identity": lambda h: h,
}


@dataclasses.dataclass(frozen=True, eq=False)
class LastLayer:
    """Scores that are linear in features.

    Args:
        weights: of the layer, a row for each score; the bias, if any, is the last column.
        features: of the rows, with a constant for the bias.
    """

    weights: Float[np.ndarray, "k m"]
    features: Float[np.ndarray, "n m"]

    @property
    def scores(self) -> Float[np.ndarray, "n k"]:
        """The outputs."""
        return self.features @ self.weights.T


def weights_of(model: Any) -> list[np.ndarray]:
    """The weight matrices of a model, the first layer first, or an empty list."""
    if hasattr(model, "coefs_"):
        return [np.asarray(layer, float).T for layer in model.coefs_]
    if hasattr(model, "coef_"):
        return [np.atleast_2d(np.asarray(model.coef_, float))]
    if _is_torch(model):
        arrays = [own.detach().cpu().numpy().astype(float) for own in model.parameters()]
        return [array.reshape(len(array), -1) for array in arrays if array.ndim > 1]
    return []


def last_layer(model: Any, inputs: np.ndarray) -> LastLayer | None:
    """The last layer of a linear model, an MLPClassifier or a torch.nn.Sequential that ends in Linear; or None."""
    if hasattr(model, "coefs_"):
        hidden, activation = inputs.astype(float), _ACTIVATIONS[model.activation]
        for weights, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
            hidden = activation(hidden @ weights + bias)
        return _with_bias(hidden, model.coefs_[-1].T, model.intercepts_[-1])
    if hasattr(model, "coef_"):
        return _with_bias(inputs.astype(float), np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_))
    if not _is_torch(model):
        return None
    import torch

    if not (isinstance(model, torch.nn.Sequential) and len(model) and isinstance(model[-1], torch.nn.Linear)):
        return None
    last: Any = model[-1]
    kind, training = next(model.parameters()), model.training
    model.eval()
    with torch.no_grad():
        hidden = model[:-1](torch.as_tensor(inputs, dtype=kind.dtype, device=kind.device)).cpu().numpy()
    model.train(training)
    bias = None if last.bias is None else last.bias.detach().cpu().numpy()
    return _with_bias(hidden.astype(float), last.weight.detach().cpu().numpy(), bias)


def _with_bias(features: np.ndarray, weights: np.ndarray, bias: np.ndarray | None) -> LastLayer:
    weights = np.asarray(weights, float)
    if bias is None or not np.any(bias):
        return LastLayer(weights, features)
    column = np.broadcast_to(np.asarray(bias, float), (len(weights),))[:, None]
    return LastLayer(np.concatenate([weights, column], axis=1), np.pad(features, ((0, 0), (0, 1)), constant_values=1.0))


def _is_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)
