"""Many random sequences and a diagonal system that reads them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.state_space import DiagonalMatrix, DiscreteSystem

from ._sampled import draws


class StateSequences(eqx.Module):
    """Sequences and the complex recurrence h_{k+1} = diag(a) h_k + b u_k.

    Args:
        poles: a.
        input: b.
        u: the sequences.
    """

    poles: Complex[Array, " n"]
    input: Complex[Array, " n"]
    u: Float[Array, "rows t 1"]

    @property
    def system(self) -> DiscreteSystem:
        """The recurrence, read by the sum of its states."""
        return DiscreteSystem(DiagonalMatrix(self.poles), self.input[:, None], jnp.ones((1, len(self.poles))))


class NoiseSequences(Population[StateSequences]):
    """White noise read by damped modes that are spread around the circle."""

    def settings(self) -> Space:
        """Modes, sequences, length."""
        return Space(
            modes=Integer(4, 1, 16, "modes", corners=(3, 3)),
            rows=Integer(20, 2, 200, "sequences", corners=(16, 16)),
            length=Integer(30, 4, 400, "steps", corners=(40, 40)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StateSequences:
        """Moduli around 0.9, angles between 0 and pi; a normal B."""
        n, rows, length = setting["modes"], setting["rows"], setting["length"]
        place, b, u = draws(key, (2, n), (2, n), (rows, length, 1))
        angle = jnp.pi * (jnp.arange(n) + 0.5 + 0.2 * jnp.tanh(place[1])) / n
        poles = (0.9 + 0.03 * jnp.tanh(place[0])) * jnp.exp(1j * angle)
        return StateSequences(poles, jax.lax.complex(*b), u)

    def hypotheses(self, problem: StateSequences) -> list[Hypothesis]:
        """Distinct poles, all of which hear the input."""
        poles, heard = problem.poles, jnp.abs(problem.input).min()
        apart = jnp.abs(poles[:, None] - poles[None]) + 2 * jnp.eye(len(poles))
        return [
            Hypothesis("least distance of two poles", apart.min(), ">", 0.05, "equal ones are one state"),
            Hypothesis("the smallest |B_n|", heard, ">", 0.003, "a state that hears nothing is none"),
        ]
