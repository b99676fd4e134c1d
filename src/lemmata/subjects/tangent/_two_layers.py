"""Networks with one hidden layer in the NTK parameterisation: outputs, tangent kernels, and descent in all parameters.

This module uses NumPy for several draws of a network at a time, because compiling many widths would take longer than
training.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.special import erf, expit


def _gelu(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = (1 + erf(t / math.sqrt(2))) / 2
    return t * share, share + t * np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)


def _tanh(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.tanh(t)
    return value, 1 - value**2


ACTIVATIONS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "gelu": _gelu,
    "relu": lambda t: (np.maximum(t, 0), (t > 0).astype(float)),
    "softplus": lambda t: (np.logaddexp(0, t), expit(t)),
    "tanh": _tanh,
}
"""Values and slopes of activations."""


@dataclasses.dataclass(frozen=True)
class Units:
    """One or several draws of the m units of f(x) = m^(-1/2) sum_r a_r phi(<w_r, x>/sqrt(d)).

    Args:
        activation: the name of the activation phi.
        weights: the hidden weights, one row w_r for each unit; the first axis runs over draws.
        readout: the output weights a_r; the first axis runs over draws.
    """

    activation: str
    weights: Float[np.ndarray, "k m d"]
    readout: Float[np.ndarray, "k m"]

    def hidden(self, x: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        """Return the values and slopes of phi at the points, both of shape (k, n, m) for k draws and n points."""
        return ACTIVATIONS[self.activation](x @ self.weights.swapaxes(1, 2) / math.sqrt(x.shape[1]))

    def outputs(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "k n"]:
        """Return the outputs f(x_i)."""
        return np.einsum("knm,km->kn", self.hidden(x)[0], self.readout) / math.sqrt(self.readout.shape[1])

    def tangent_gram(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "k n n"]:
        """Return the tangent kernel: products of the gradients with respect to all parameters."""
        values, slopes = self.hidden(x)
        pushed = slopes * self.readout[:, None]
        from_weights = x @ x.T / x.shape[1] * (pushed @ pushed.swapaxes(1, 2))
        return (values @ values.swapaxes(1, 2) + from_weights) / self.readout.shape[1]

    def descended(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], start: np.ndarray, steps: int, scale: float = 1.0
    ) -> "Units":
        """Return the units after descent on |scale (f - start) - y|²/(2 scale²) in all parameters.

        The step size is 1/(trace of the tangent kernel at the start).

        Args:
            x: the points.
            y: the targets.
            start: the numbers that are subtracted from the outputs, one for each point.
            steps: the number of descent steps.
            scale: the factor by which the outputs are multiplied.
        """
        rate = 1 / np.trace(self.tangent_gram(x), axis1=1, axis2=2)
        root, weights, readout = math.sqrt(self.readout.shape[1]), self.weights, self.readout
        for _ in range(steps):
            values, slopes = Units(self.activation, weights, readout).hidden(x)
            outputs = np.einsum("knm,km->kn", values, readout) / root
            pull = rate[:, None] * (scale * (outputs - start) - y) / (scale * root)
            pushed = (slopes * pull[:, :, None]).swapaxes(1, 2) @ x / math.sqrt(x.shape[1])
            weights, readout = (
                weights - readout[:, :, None] * pushed,
                readout - np.einsum("knm,kn->km", values, pull),
            )
        return Units(self.activation, weights, readout)


def moved(before: Float[np.ndarray, "k n n"], after: Float[np.ndarray, "k n n"]) -> float:
    """Return the relative movement |after - before|_F / |before|_F of kernels, as a root mean square over draws."""
    size = lambda kernels: (kernels**2).sum(axis=(1, 2))
    return float(np.sqrt(np.mean(size(after - before) / size(before))))
