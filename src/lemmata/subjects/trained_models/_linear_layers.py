"""The parameters in which a model is linear, and the model as a function of these parameters alone."""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Bool, Inexact

from ._contract import AbstractModel, Layer
from ._losses import Loss
from ._once import once
from ._trained import Trained

_ROWS = 32
_ROUNDING = 1e-8


@dataclasses.dataclass(frozen=True)
class PartOfModel(AbstractModel):
    """A model as a function of some layers, with the other layers fixed.

    Args:
        whole: the model with all its parameters.
        chosen: for each parameter, whether it varies; all parameters of a layer vary or none.
    """

    whole: AbstractModel
    chosen: Bool[np.ndarray, " whole"] = dataclasses.field(repr=False)

    def _placed(self) -> AbstractModel:
        theta = self.whole.theta.copy()
        theta[self.chosen] = self.theta
        return self.whole.at(theta)

    def _spread(self, v: np.ndarray) -> np.ndarray:
        whole = np.zeros(len(self.whole.theta), v.dtype)
        whole[self.chosen] = v
        return whole

    def _saved_bytes(self, x: np.ndarray) -> int:
        return self._placed()._saved_bytes(x)

    def _vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        return self._placed()._vocabulary(x)

    def _documents_gauss_newton(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._placed()._documents_gauss_newton(self._spread(v), x))[self.chosen]

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        return self._placed()._outputs(x)

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._placed()._jacobian(x))[:, :, self.chosen]

    def _jvp(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._placed()._jvp(self._spread(v), x)

    def _vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._placed()._vjp(u, x))[self.chosen]

    def _hvp(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> np.ndarray:
        return np.asarray(self._placed()._hvp(self._spread(v), x, y, loss))[self.chosen]

    def _loss_slope(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> tuple[float, np.ndarray]:
        value, slope = self._placed()._loss_slope(x, y, loss)
        return value, np.asarray(slope)[self.chosen]

    def _input_vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._placed()._input_vjp(u, x)


def linear_layers(model: AbstractModel, x: np.ndarray, seed: int = 0) -> Bool[np.ndarray, " P"]:
    """Return the parameters in which outputs are jointly linear: the readout of a network, or all of a linear model.

    A layer is accepted if the outputs are linear along a random direction in this layer and the layers accepted before.
    Linear means that the second difference of the outputs is 0, up to 1e-8 of the size of the outputs. The direction is
    as long as the vector of the parameters in these layers. Layers with an axis whose size is the number of outputs are
    tried first. This order matters if two arrays are multiplied with each other: the outputs are linear in each array,
    but not in both jointly, so only the array that is tried first is accepted. That array is then the readout.

    Args:
        model: the model at its parameters.
        x: the rows, of which the first 32 are used.
        seed: the seed of the random directions.
    """
    rng, double, few = np.random.default_rng([seed, 13]), model.in_double(), x[:_ROWS]
    ends = np.cumsum([0, *(layer.size for layer in model.layers)])
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    middle = double.outputs(few)
    reads = [middle.shape[1] in layer.shape for layer in model.layers]
    taken = np.zeros(len(model.theta), bool)
    for i in sorted(range(len(parts)), key=lambda i: not reads[i]):
        tried = taken.copy()
        tried[parts[i]] = True
        if _is_linear(double, few, middle, _direction(rng, double.theta, tried)):
            taken = tried
    return taken


def part_of(model: AbstractModel, chosen: Bool[np.ndarray, " P"]) -> PartOfModel:
    """Return the model as a function of only the chosen parameters, which are whole layers.

    Args:
        model: the model at its parameters.
        chosen: for each parameter, whether it varies.
    """
    ends = np.cumsum([layer.size for layer in model.layers])
    layers = tuple(Layer(own.name, own.shape) for own, end in zip(model.layers, ends, strict=True) if chosen[end - 1])
    decayed = None if model.decayed is None else model.decayed[chosen]
    return PartOfModel(model.kind, model.theta[chosen], layers, model, chosen, decayed=decayed, link=model.link)


def _direction(rng: np.random.Generator, theta: Inexact[np.ndarray, " P"], tried: np.ndarray) -> np.ndarray:
    """Return a random direction in the tried parameters, with the length of these parameters."""
    v = np.where(tried, rng.normal(size=len(theta)), 0.0)
    size = float(np.linalg.norm(theta[tried])) or 1.0
    return v * size / np.linalg.norm(v)


def _is_linear(model: AbstractModel, x: np.ndarray, middle: np.ndarray, v: np.ndarray) -> bool:
    ahead, behind = (model.at(model.theta + sign * v).outputs(x) for sign in (1.0, -1.0))
    size = np.linalg.norm(ahead - middle) + np.linalg.norm(middle)
    return bool(np.linalg.norm(ahead - 2 * middle + behind) <= _ROUNDING * max(size, 1e-300))


@once
def linear_parameters(trained: Trained) -> Bool[np.ndarray, " P"]:
    """Return the parameters in which the outputs are jointly linear: the readout, or all of a linear model."""
    return linear_layers(trained.model, trained.x, trained.seed)
