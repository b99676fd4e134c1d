"""Softmax networks whose random units have moved, at random or so that the tangent kernel changes most."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.random_units import RandomLayers, RandomUnits, moves, unit_rows
from lemmata.engine.problems.softmax_parameters import Number
from lemmata.networks import SoftmaxNetwork

_NETWORK = SoftmaxNetwork(width=2)  # the methods of this network follow the shapes of W and a


def kernel_change(
    x: Float[Array, "n d"], sign: Float[Array, "k m"], weight: Float[Array, "d m"], change: Float[Array, "d m"]
) -> Float[Array, "k n k n"]:
    """Return H(W + change) - H(W), the change of the tangent kernel if the weights W move.

    Args:
        x: the inputs.
        sign: the signs a of the output weights.
        weight: the hidden weights W, one column for each unit.
        change: the change of W, one column for each unit.
    """
    tangent = lambda value: _NETWORK.tangent({"weight": value, "sign": sign}, x)
    return tangent(weight + change) - tangent(weight)


def steepest(objective, start: Float[Array, "d m"], radius: Number, steps: int) -> Float[Array, "d m"]:
    """Return a change of the weights that makes `objective` large.

    Every step replaces each column of the change by the column of the gradient of `objective`, scaled to the length
    `radius`.

    Args:
        objective: a function that takes a change of the weights and returns a number.
        start: the first change.
        radius: the length of the columns.
        steps: the number of repetitions.
    """

    def step(_, change):
        gradient = jax.grad(objective)(change)
        lengths = jnp.linalg.norm(gradient, axis=0)
        return radius * gradient / jnp.where(lengths > 0, lengths, 1.0)

    return jax.lax.fori_loop(0, steps, step, start)


def kernel_moves(
    x: Float[Array, "n d"],
    sign: Float[Array, "k m"],
    weight: Float[Array, "d m"],
    radius: Number,
    drawn: Float[Array, "d m"],
) -> Float[Array, "8 d m"]:
    """Return eight moves of the weights that are likely to change the tangent kernel H most.

    The first six are those of `moves`: random directions and five worst cases. The seventh changes one entry of H
    strongly, the entry between the first and the last output at the first input. The eighth strongly changes the norm
    of the whole kernel.

    Args:
        x: the inputs.
        sign: the signs a of the output weights.
        weight: the hidden weights W, one column for each unit.
        radius: the distance R by which each unit moves.
        drawn: standard normal columns, for the random directions.
    """
    candidates = moves(x, weight, radius, drawn)
    difference = lambda change: kernel_change(x, sign, weight, change)
    entry = steepest(lambda change: difference(change)[0, 0, -1, 0], jnp.zeros_like(weight), radius, 2)
    norm = steepest(lambda change: jnp.sum(difference(change) ** 2), candidates[0], radius, 6)
    return jnp.concatenate([candidates, jnp.stack([entry, norm])])


@partial(jax.jit, static_argnums=(1, 2))
def drawn_kernel(
    x: Float[Array, "n d"], outputs: int, width: int, sigma: Number, radius: Number, key: Key[Array, ""]
) -> tuple[Float[Array, "k m"], Float[Array, "d m"], Float[Array, "8 d m"]]:
    """Draw random signs and weights, and compute the moves `kernel_moves` of the weights.

    Args:
        x: the inputs.
        outputs: the number k of outputs.
        width: the number m of hidden units.
        sigma: the standard deviation of the weights.
        radius: the distance R by which each unit moves.
        key: the random key for signs, weights and random directions.
    """
    d, drawn = x.shape[1], jax.random.normal(key, (2 * x.shape[1] + outputs, width))
    sign, weight = jnp.where(drawn[2 * d :] < 0, -1.0, 1.0), sigma * drawn[:d]
    return sign, weight, kernel_moves(x, sign, weight, radius, drawn[d : 2 * d])


def drawn_problem(problem: RandomUnits, key: Key[Array, ""]) -> tuple[Array, Array, Array]:
    """Draw signs, weights and moves for a problem that gives inputs, sizes, sigma and the radius."""
    return drawn_kernel(problem.x, problem.outputs, problem.width, problem.sigma, problem.radius, key)


class MovedUnits(eqx.Module):
    """A softmax network before and after its units have moved.

    Args:
        x: the inputs.
        sign: the signs a of the output weights.
        weight: the weights W after the move.
        start: the weights W~ before the move.
    """

    x: Float[Array, "n d"]
    sign: Float[Array, "k m"]
    weight: Float[Array, "d m"]
    start: Float[Array, "d m"]


class MovedLayers(Population[MovedUnits]):
    """Random units that each move by R, in random directions or in directions that change the kernel much."""

    # Sizes, the scale of the weights and the radius.
    settings = RandomLayers().settings()

    def sample(self, setting: dict, key: Key[Array, ""]) -> MovedUnits:
        units_key, move_key = jax.random.split(key)
        problem = RandomLayers().sample(setting, units_key)
        units_key, choice_key = jax.random.split(move_key)
        sign, start, changes = drawn_problem(problem, units_key)
        weight = start + changes[jax.random.randint(choice_key, (), 0, len(changes))]
        return MovedUnits(problem.x, sign, weight, start)

    def hypotheses(self, problem: MovedUnits) -> list[Hypothesis]:
        return []


class NoisyUnits(eqx.Module):
    """Inputs of a softmax layer with weights N(0, sigma² I). Independent noise N(0, rho² I) is added to the weights."""

    x: Float[Array, "n d"]
    sigma: Float[Array, ""]
    rho: Float[Array, ""]


class NoisyLayers(Population[NoisyUnits]):
    """Inputs on the unit sphere, and the standard deviations of weights and noise."""

    settings = Space(
        n=Integer(6, 1, 32, "inputs"),
        d=Integer(4, 1, 64, "dimension"),
        sigma=Real(0.5, 0.0, 0.5, "standard deviation of the weights"),
        rho=Real(0.5, 0.2, 0.5, "standard deviation of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyUnits:
        x = unit_rows(key, setting["n"], setting["d"])
        return NoisyUnits(x, jnp.asarray(setting["sigma"], float), jnp.asarray(setting["rho"], float))

    def hypotheses(self, problem: NoisyUnits) -> list[Hypothesis]:
        """Return the hypotheses on a problem.

        Inputs are in the unit ball and not all 0, there is noise, and sigma² + rho² <= 1/2.
        """
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        spread = problem.sigma**2 + problem.rho**2
        why = "the bias at finite width was derived for this range"
        return [
            in_unit_ball(problem.x, why="exponentials stay moderate"),
            Hypothesis("sigma² + rho² is moderate", spread, "<=", 0.5, why),
            Hypothesis("there is noise", problem.rho, ">", 0.0, "otherwise nothing changes"),
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
        ]
