"""Models with Gaussian noise on their weights, whose mean is a point on the line between two fits.

The prior is centred at one fit, and the posterior at a point on the line from this fit to the other fit. A rule is a
classifier. A family of rules contains two fits: w0, fitted to the rows that the prior may use, and w1, fitted to all
rows. The number t is the position between the two fits, sigma is the size of the noise, and S is its covariance at
sigma = 1. The weights of a rule are drawn from the posterior N(w0 + t (w1 - w0), sigma² S), and the prior is N(w0,
sigma² S). The family computes the errors of the rules, and the squared distance (w1 - w0)' S^-1 (w1 - w0) for the
divergence of posterior and prior. If outputs are linear in the weights, the errors are exact. This case includes
kernels: the weights of a kernel model are a function f, with noise from the Gaussian process of covariance sigma² K.
For networks, the errors are estimated from draws.
"""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ._gibbs import gaussian_error

_BATCH = 32
Errors = Callable[[float, float, int, int], np.ndarray]
"""A map from (step, sigma, draws, seed) to the errors on given rows, one for each draw, or to the expected error."""


@dataclasses.dataclass(frozen=True, eq=False)
class LinearRules:
    """Rules whose outputs are linear in Gaussian weights.

    Args:
        distance: the number (w1 - w0)' S^-1 (w1 - w0).
        outputs: a function of rows that returns the outputs of w0 and of w1, each of shape (n, k), and the standard
            deviation of the outputs of each row at sigma = 1, of shape (n,).
    """

    distance: float
    outputs: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
    exact: bool = True

    def errors_on(self, x: np.ndarray, labels: Int[np.ndarray, " n"]) -> Errors:
        """Return a function for the exact expected error on the rows.

        Its arguments `draws` and `seed` have no effect.
        """
        first, last, spread = self.outputs(x)

        def errors(step: float, sigma: float, draws: int, seed: int) -> np.ndarray:
            return gaussian_error(first + step * (last - first), sigma * spread, labels).mean(keepdims=True)

        return errors


@dataclasses.dataclass(frozen=True, eq=False)
class SampledRules:
    """Rules whose errors come from draws of their weights.

    Args:
        first, last: the weights w0 and w1 of the module docstring, as lists of arrays.
        scales: the standard deviation of the noise of each array at sigma = 1.
        wrong: a map from weights (one list of arrays for each draw), rows and labels to the share of errors of each
            draw.
    """

    first: list[np.ndarray]
    last: list[np.ndarray]
    scales: list[float]
    wrong: Callable[[list[list[np.ndarray]], np.ndarray, np.ndarray], np.ndarray]
    exact: bool = False

    @property
    def distance(self) -> float:
        """The number (w1 - w0)' S^-1 (w1 - w0)."""
        arrays = zip(self.first, self.last, self.scales, strict=True)
        return float(sum(np.sum((last - first) ** 2) / scale**2 for first, last, scale in arrays))

    def errors_on(self, x: np.ndarray, labels: Int[np.ndarray, " n"]) -> Errors:
        """Return the share of misclassified rows for each draw of the weights."""

        def errors(step: float, sigma: float, draws: int, seed: int) -> np.ndarray:
            generator, found = np.random.default_rng(seed), []
            means = [first + step * (last - first) for first, last in zip(self.first, self.last, strict=True)]
            noisy = lambda: [
                mean + sigma * scale * generator.standard_normal(mean.shape)
                for mean, scale in zip(means, self.scales, strict=True)
            ]
            for start in range(0, draws, _BATCH):
                found.append(self.wrong([noisy() for _ in range(min(_BATCH, draws - start))], x, labels))
            return np.concatenate(found)

        return errors


GaussianRules = LinearRules | SampledRules


def scale_of(weights: Float[np.ndarray, "..."], otherwise: float = 1.0) -> float:
    """Return the root mean square of the weights, which is the unit of their noise, or `otherwise` if all are 0.

    Args:
        weights: the weights of the prior's mean.
        otherwise: the unit if all weights are 0.
    """
    size = float(np.sqrt(np.mean(np.asarray(weights, float) ** 2))) if np.size(weights) else 0.0
    return size if size > 0 else otherwise


def linear_rules(first: Float[np.ndarray, "p k"], last: Float[np.ndarray, "p k"], features: Callable) -> LinearRules:
    """Return the rules x -> features(x) w. The unit of the noise is the root mean square of w0.

    Args:
        first: the weights w0, fitted to the rows that the prior may use.
        last: the weights w1, fitted to all rows.
        features: a map from n rows to features of shape (n, p).
    """
    scale = scale_of(first)

    def outputs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        phi = features(x)
        return phi @ first, phi @ last, scale * np.linalg.norm(phi, axis=1)

    return LinearRules(float(np.sum((last - first) ** 2)) / scale**2, outputs)


def estimator_rules(first: Any, last: Any, names: tuple[str, ...], transform: Callable) -> SampledRules:
    """Return the rules of a fitted scikit-learn estimator that stores its weights in attributes with lists of arrays.

    Args:
        first: the estimator fitted to the prior's rows.
        last: the estimator fitted to all rows.
        names: the names of the attributes.
        transform: the steps before the estimator, as a function of rows.
    """
    read = lambda fitted: [np.asarray(array, float) for name in names for array in getattr(fitted, name)]
    probe = copy.deepcopy(first)

    def wrong(draws: list[list[np.ndarray]], x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        rows, found = transform(x), []
        for weights in draws:
            start = 0
            for name in names:
                count = len(getattr(first, name))
                setattr(probe, name, weights[start : start + count])
                start += count
            found.append(np.mean(probe.predict(rows) != first.classes_[labels]))
        return np.asarray(found)

    weights = read(first)
    common = scale_of(np.concatenate([array.ravel() for array in weights]))
    return SampledRules(weights, read(last), [scale_of(array, common) for array in weights], wrong)


def module_rules(first: eqx.Module, last: eqx.Module) -> SampledRules:
    """Return the rules of an Equinox module that maps one input to one output for each class.

    Args:
        first: the module trained on the prior's rows.
        last: the module trained from `first` on all rows.
    """
    parameters, static = eqx.partition(first, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(parameters)
    after = jax.tree.leaves(eqx.filter(last, eqx.is_inexact_array))
    dtype = leaves[0].dtype

    @jax.jit
    def shares(weights: list[Array], x: Array, labels: Array) -> Array:
        def one(own: list[Array]) -> Array:
            outputs = jax.vmap(eqx.combine(jax.tree.unflatten(tree, own), static))(x)
            return jnp.mean(module_classes(outputs) != labels)

        return jax.lax.map(one, weights)

    def wrong(draws: list[list[np.ndarray]], x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        stacked = [jnp.asarray(np.stack(arrays), dtype) for arrays in zip(*draws, strict=True)]
        return np.asarray(shares(stacked, jnp.asarray(x, dtype), jnp.asarray(labels)), float)

    weights = [np.asarray(leaf, float) for leaf in leaves]
    common = scale_of(np.concatenate([array.ravel() for array in weights]))
    scales = [scale_of(array, common) for array in weights]
    return SampledRules(weights, [np.asarray(leaf, float) for leaf in after], scales, wrong)


def module_classes(outputs: Array) -> Array:
    """Return the class of the largest output. With only one output, return 1 if the output is positive, otherwise 0."""
    return (outputs[..., 0] > 0).astype(int) if outputs.shape[-1] == 1 else jnp.argmax(outputs, axis=-1)
