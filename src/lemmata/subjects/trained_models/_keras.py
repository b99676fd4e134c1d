"""Keras models on the PyTorch backend, as modules whose parameters PyTorch can replace."""

import sys
from typing import Any


def keras_module(model: Any) -> Any:
    """Return a PyTorch module that computes the predictions of a Keras model on the PyTorch backend.

    A Keras layer keeps its weights outside the parameters that PyTorch replaces, so derivatives of the Keras model
    itself would be wrong. This module passes copies of the weights to `model.stateless_call` with `training=False`. The
    trained weights are the parameters of this module, named by their Keras paths. All other weights are buffers.

    Args:
        model: the user's Keras model, which does not change.
    """
    torch = sys.modules["torch"]
    trained, fixed = _named(model.trainable_variables), _named(model.non_trainable_variables)

    class KerasModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = (model,)  # in a tuple, so that PyTorch does not register the parameters of `model`
            for name, value in trained.items():
                self.register_parameter(name, torch.nn.Parameter(value.value.detach().clone()))
            for name, value in fixed.items():
                self.register_buffer(f"fixed_{name}", value.value.detach().clone())

        def forward(self, x: Any) -> Any:
            weights = [getattr(self, name) for name in trained]
            rest = [getattr(self, f"fixed_{name}") for name in fixed]
            return self.inside[0].stateless_call(weights, rest, x, training=False)[0]

    KerasModule.__name__ = type(model).__name__
    return KerasModule().eval()


def _named(variables: Any) -> dict[str, Any]:
    """Return variables by their paths. Underscores replace dots and slashes, and numbers distinguish equal paths."""
    found: dict[str, Any] = {}
    for own in variables:
        name = str(own.path).replace("/", "_").replace(".", "_")
        found[name if name not in found else f"{name}_{len(found)}"] = own
    return found
