"""The risk bound of Theorem 1, and risks measured on a grid of numbers of examples, features and layers."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.engine.problems.theorem_sizes import Number, penalty_of_theory
from lemmata.errors import SettingError
from lemmata.functions import AbstractFunctionClass, barron_parameter, features_of, log_pair_cover
from lemmata.networks import InContextTransformer, forward_steps
from lemmata.solvers import accelerated_proximal_gradient


def theorem_risk(
    cost: Number, noise: Number, cover: Number, *, examples: int, layers: int, number: int, constant: float = 1.0
) -> Float[Array, ""]:
    """Return the upper bound on the risk (li2025incontext, Theorem 1, inequality 24).

    The bound is `constant` times the sum (sqrt(log N/N) + n/L) C_F (C_F + sigma) + C_F² log|cover|/n.

    Args:
        cost: the Barron parameter C_F of the class of functions.
        noise: the standard deviation sigma of the noise.
        cover: log|cover|, the logarithm of the size of a cover of the class.
        examples: the number of examples N.
        layers: the number of layers L.
        number: the number of features n.
        constant: the constant of the bound, which the theorem does not state.
    """
    order = math.sqrt(math.log(examples) / examples) + number / layers
    return constant * (order * jnp.asarray(cost) * (cost + noise) + jnp.asarray(cost) ** 2 * cover / number)


class Risks(NamedTuple):
    """Mean squared errors on a grid of N examples, n features and L layers.

    Args:
        transformer: the errors of the transformer's predictions, for each N, n and L.
        lasso: the errors of the exact solution of the Lasso, which the layers approximate, for each N and n.
        theorem: the bound of Theorem 1 with the constant 1, for each N, n and L.
        zero: the error of predicting 0.
    """

    transformer: Float[np.ndarray, "N n L"]
    lasso: Float[np.ndarray, "N n"]
    theorem: Float[np.ndarray, "N n L"]
    zero: float


def measured_risks(
    functions: AbstractFunctionClass,
    key: Key[Array, ""],
    *,
    examples: tuple[int, ...],
    numbers: tuple[int, ...],
    layers: tuple[int, ...],
    sigma: float = 0.1,
    constant: float = 0.01,
    repeats: int = 16,
    queries: int = 16,
) -> Risks:
    """Return the risks of the transformer and the Lasso, averaged over functions, features, prompts and queries.

    The penalty of the Lasso is `constant` times the penalty of the theory at the largest L. Prompts and features of
    smaller sizes are parts of the prompts and features of the largest size.

    Args:
        functions: the class of functions.
        key: the random key.
        examples: the values of N that are tried.
        numbers: the values of n that are tried.
        layers: the values of L that are tried, all odd.
        sigma: standard deviation of the noise.
        constant: the factor by which the penalty of the theory is multiplied.
        repeats: the number of functions that are drawn. Each function has its own features and prompt.
        queries: the number of test inputs for each prompt.

    Raises:
        SettingError: if a value of L is even or below 3.
    """
    if min(layers) < 3 or any(depth % 2 == 0 for depth in layers):
        raise SettingError(
            "layers",
            found=layers,
            rule="an odd number of at least 3, because each step after the first layer takes two layers",
        )
    deepest, cost = max(layers), barron_parameter(functions)
    dimension = jax.eval_shape(functions.frequencies, jnp.zeros((1, functions.columns))).shape[1]
    shapes = ((max(numbers), functions.columns + 1), functions.shape, (max(examples) + queries, dimension + 1))
    omega, chosen, points, noise = draws(key, *((repeats, *shape) for shape in (*shapes, (max(examples),))))

    @functools.partial(jax.jit, static_argnums=(0, 1))
    def errors(size: int, number: int) -> Float[Array, " t2"]:
        penalty = penalty_of_theory(cost, sigma, 0.0, examples=size, layers=deepest, number=number, constant=constant)
        step = jnp.asarray(1 / (2 * (number + 1)), float)

        def one(omega: Array, chosen: Array, points: Array, noise: Array) -> Float[Array, " t2"]:
            features, function = features_of(functions, omega[:number], 16.0), functions.function(chosen)
            model = InContextTransformer(features, penalty, step, jnp.asarray(1e4), deepest, size)
            x = points_in_ball(points)
            prompt, asked, y = features(x[:size]), features(x[-queries:]), function(x[:size]) + sigma * noise[:size]
            found = forward_steps(model, prompt, y, asked)[1][(jnp.asarray(layers) - 1) // 2 - 1]
            lasso = asked @ accelerated_proximal_gradient(prompt, y, penalty, step, 2000)[-1]
            guesses = jnp.concatenate([found, lasso[None], jnp.zeros((1, queries))])
            return jnp.mean((guesses - function(x[-queries:])) ** 2, axis=1)

        return jax.vmap(one)(omega, chosen, points, noise).mean(axis=0)

    found = np.asarray([[errors(size, number) for number in numbers] for size in examples])

    def bound(size: int, number: int, depth: int) -> float:
        cover = log_pair_cover(dimension, math.sqrt(math.log(size) / size) + number / depth)
        return float(theorem_risk(cost, sigma, cover, examples=size, layers=depth, number=number))

    theorem = [[[bound(size, number, depth) for depth in layers] for number in numbers] for size in examples]
    return Risks(found[:, :, :-2], found[:, :, -2], np.asarray(theorem), float(found[-1, -1, -1]))
