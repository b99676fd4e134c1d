"""ReLU networks in the form that certificates use: affine maps with max(., 0) between them, in float64."""

import dataclasses

import numpy as np
from jaxtyping import Float

from lemmata.errors import SettingError, ShapeError


@dataclasses.dataclass(frozen=True)
class ReluNetwork:
    """The network z_1 = W_1 x + b_1, z_k = W_k max(z_{k-1}, 0) + b_k. Its outputs are z_L.

    Args:
        weights: the matrices W_1, ..., W_L, each of shape (outputs, inputs).
        biases: the vectors b_1, ..., b_L.

    >>> net = ReluNetwork((np.array([[1.0, -1.0]]), np.array([[2.0]])), (np.zeros(1), np.zeros(1)))
    >>> net(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [[4.0], [0.0]]
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __post_init__(self):
        if not self.weights or len(self.weights) != len(self.biases):
            raise ShapeError(
                "network",
                found=f"{len(self.weights)} weights and {len(self.biases)} biases",
                rule="as many biases as weights, and at least one layer",
            )
        before = None
        for position, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            what = f"layer {position} of the network"
            if weight.ndim != 2 or bias.shape != (weight.shape[0],):
                found = f"weight of shape {weight.shape}, bias of shape {bias.shape}"
                raise ShapeError(
                    what, found=found, rule="a weight of shape (outputs, inputs) and a bias of shape (outputs,)"
                )
            if before is not None and weight.shape[1] != before:
                rule = f"{before} inputs, as many as the outputs of the layer before it"
                raise ShapeError(what, found=f"a weight of shape {weight.shape}", rule=rule)
            kinds = {array.dtype.kind for array in (weight, bias)}
            if not kinds <= set("biuf"):
                raise SettingError(what, found=f"weights of type {np.result_type(weight, bias)}", rule="real numbers")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise SettingError(what, found="a weight that is not finite", rule="weights that are finite numbers")
            before = weight.shape[0]

    @property
    def inputs(self) -> int:
        """The number of coordinates of an input."""
        return self.weights[0].shape[1]

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.weights[-1].shape[0]

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """Return the outputs, one row for each input."""
        return self.trace(x)[-1]

    def trace(self, x: Float[np.ndarray, "n d"]) -> list[np.ndarray]:
        """Return z_1, ..., z_L, with one row for each input."""
        found = [x @ self.weights[0].T + self.biases[0]]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            found.append(np.maximum(found[-1], 0.0) @ weight.T + bias)
        return found

    def gradient(self, x: Float[np.ndarray, "n d"], rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of <row, outputs> at each input. A ReLU has the derivative 0 at 0."""
        trace = self.trace(x)
        found = rows @ self.weights[-1]
        for weight, z in zip(self.weights[-2::-1], trace[-2::-1], strict=True):
            found = (found * (z > 0)) @ weight
        return found
