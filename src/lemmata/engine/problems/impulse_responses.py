"""Test problems for linear recurrences: impulse responses to approximate, and targets for a linear readout."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.functions import PeriodicSeries


def modal_states(poles: Complex[Array, " n"], steps: int) -> Complex[Array, "steps n"]:
    """The impulse response 1, a, a², ... of every state of h_(t+1) = a h_t, computed by running the recurrence.

    Args:
        poles: the pole a of each state.
        steps: the number of steps.

    Example:
        >>> import jax.numpy as jnp
        >>> modal_states(jnp.array([0.5 + 0j]), 3).real[:, 0].tolist()
        [1.0, 0.5, 0.25]
    """
    one = lambda state, _: (poles * state, state)
    return jax.lax.scan(one, jnp.ones_like(poles), None, length=steps)[1]


class ImpulseResponse(eqx.Module):
    """A periodic impulse response at the edge of the Sobolev space H^s, at `steps` points of a period.

    Args:
        response: the response, of period 1.
        smoothness: the order s; the Fourier coefficients at frequency k have size k^(-s-1/2).
        steps: the number of points.
    """

    response: PeriodicSeries
    smoothness: Float[Array, ""]
    steps: int = eqx.field(static=True)

    @property
    def values(self) -> Float[Array, " steps"]:
        """The response at t/steps for t = 0, 1, ..., by a Fourier transform of its coefficients."""
        spectrum = (self.response.cosines - 1j * self.response.sines) * self.steps / 2
        return jnp.fft.irfft(jnp.concatenate([jnp.zeros(1), spectrum]), self.steps)


class ImpulseResponses(Population[ImpulseResponse]):
    """Responses with coefficients of size k^(-s-1/2) and random signs, for frequencies k below steps/2 and random s.

    Attributes:
        least, most: the ends of the range in which s is uniform.
    """

    least: float = 0.75
    most: float = 2.0
    settings = Space(steps=Integer(1024, 512, 4096, "time steps in a period", step=64, corners=(768, 1024)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ImpulseResponse:
        smooth_key, sign_key = jax.random.split(key)
        s = jax.random.uniform(smooth_key, minval=self.least, maxval=self.most)
        k = jnp.arange(1, setting["steps"] // 2)
        signs = jax.random.rademacher(sign_key, (2, len(k)), float)
        cosines, sines = signs * k ** (-s - 0.5)
        return ImpulseResponse(PeriodicSeries(cosines, sines), s, setting["steps"])

    def hypotheses(self, problem: ImpulseResponse) -> list[Hypothesis]:
        highest = len(problem.response.cosines)
        return [
            Hypothesis("frequencies are resolved", highest, "<", problem.steps / 2, "no aliases"),
            Hypothesis("the states cannot reproduce all frequencies", highest, ">=", 255, "sizes go up to 64 states"),
        ]


class LinearReadouts(eqx.Module):
    """A task for linear recurrences: compute cos(2 pi q x_j) from inputs x_0, ..., x_(T-1) that are uniform on [0, 1].

    Args:
        steps: the number T of inputs.
        states: the number N of states.
        position: the position j of the input x_j, counted from 0.
        frequency: the whole number q in the cosine.
        transition, entry: the recurrence h <- transition h + entry x_t, for N states.
    """

    steps: int = eqx.field(static=True)
    states: int = eqx.field(static=True)
    position: Float[Array, ""]
    frequency: Float[Array, ""]
    transition: Float[Array, "n n"]
    entry: Float[Array, " n"]

    def final_state(self, states: int) -> Float[Array, "n t"]:
        """The matrix of the map from x to the last state h_T, if the recurrence has only the first `states` states."""
        transition, entry = self.transition[:states, :states], self.entry[:states]
        one = lambda state, x: (transition @ state + entry[:, None] * x, None)
        return jax.lax.scan(one, jnp.zeros((states, self.steps)), jnp.eye(self.steps))[0]


class RandomReadouts(Population[LinearReadouts]):
    """Random contracting recurrences, with a random position j and a whole frequency q from 1 to 4."""

    settings = Space(
        steps=Integer(32, 4, 256, "inputs", corners=(16, 32)),
        states=Integer(32, 32, 128, "states", corners=(32, 48)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearReadouts:
        first, second, third = jax.random.split(key, 3)
        n, draws = setting["states"], jax.random.uniform(third, (2,))
        transition, _ = jnp.linalg.qr(jax.random.normal(first, (n, n)))
        entry = jax.random.normal(second, (n,))
        position, frequency = jnp.floor(setting["steps"] * draws[0]), 1 + jnp.floor(4 * draws[1])
        return LinearReadouts(setting["steps"], n, position, frequency, 0.95 * transition, entry)

    def hypotheses(self, problem: LinearReadouts) -> list[Hypothesis]:
        whole = jnp.abs(problem.frequency - jnp.round(problem.frequency))
        size = jnp.linalg.norm(problem.transition) / jnp.sqrt(problem.states)
        return [
            Hypothesis("the frequency is whole", whole, "<=", 0.0, "the cosine is symmetric about the middle"),
            Hypothesis(
                "the root mean square of the singular values of the transition", size, "<", 1.0, "states stay bounded"
            ),
        ]
