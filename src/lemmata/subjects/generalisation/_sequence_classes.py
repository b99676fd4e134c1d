"""Functions of sequences with bounded readouts: sums of attention heads, or stable linear recurrences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

HEADS = 16
STEPS = 6  # times the memory, for the length of a run; older inputs have at most exp(-12) of a state's variance


class HeadOutputs(eqx.Module):
    """Outputs of attention heads at the last token of each of n sequences.

    Args:
        outputs: the output A_h(x_i) of each head h at the last token of each sequence x_i.
        radius: B, the bound on the norm of the readout of each head, or of all heads together.
    """

    outputs: Float[Array, "h n p"]
    radius: Float[Array, ""]


class RandomHeads(Population[HeadOutputs]):
    """Heads with random weights on random sequences."""

    settings = Space(
        n=Integer(24, 4, 256, "sequences"),
        tokens=Integer(8, 1, 64, "tokens per sequence"),
        p=Integer(4, 1, 32, "dimension of a token"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeadOutputs:
        """Draw normal tokens, normal weights of queries, keys and values, and a radius between 1/2 and 2."""
        token_key, weight_key, radius_key = jax.random.split(key, 3)
        p = setting["p"]
        tokens = jax.random.normal(token_key, (setting["n"], setting["tokens"], p))
        weights = jax.random.normal(weight_key, (3, HEADS, p, p)) / p**0.5
        queries = jnp.einsum("hij,nj->hni", weights[0], tokens[:, -1])
        keys, values = (jnp.einsum("hij,ntj->hnti", side, tokens) for side in weights[1:])
        shares = jax.nn.softmax(jnp.einsum("hni,hnti->hnt", queries, keys) / p**0.5, axis=2)
        outputs = jnp.einsum("hnt,hnti->hni", shares, values)
        return HeadOutputs(outputs, jax.random.uniform(radius_key, minval=0.5, maxval=2.0))

    def hypotheses(self, problem: HeadOutputs) -> list[Hypothesis]:
        return [
            Hypothesis("readouts are bounded by a positive radius", problem.radius, ">", 0.0, "readouts lie in a ball")
        ]


class Recurrence(eqx.Module):
    """The linear recurrence x(t) = a x(t-1) + b u(t) of several complex states x, and its readouts.

    Here u(t) is the input at time t, a number. Each state has its own number a, which is called its pole, and its own
    input weight b. A readout is Re <c, x(T)> at the last time T, with weights c of norm |c| <= B.

    Args:
        speeds: (1 - |a|) times the memory, at least 1, for each state.
        angles: the angles of the poles a in the complex plane.
        inputs: the input weight b of each state.
        radius: B, the bound on the norm of the readout's weights.
        n: the number of sequences of white inputs.
        memory: 1/(1 - |a|) for speed 1, the slowest possible state. Claims with several sizes use other memories
            instead.
    """

    speeds: Float[Array, " N"]
    angles: Float[Array, " N"]
    inputs: Float[Array, " N"]
    radius: Float[Array, ""]
    n: int = eqx.field(static=True)
    memory: int = eqx.field(static=True)

    def poles(self, memory: int) -> Complex[Array, " N"]:
        """Return the poles a for the given memory."""
        return (1 - self.speeds / memory) * jnp.exp(1j * self.angles)

    def suprema(self, key: Key[Array, ""], memories: tuple[int, ...], draws: int) -> Float[Array, "r m"]:
        """Return the largest (1/n) sum_i s_i f(u_i) over all readouts f, for each draw of signs s_i and inputs u_i.

        The largest value is (B/n) |sum_i s_i x_i(T)|. The states x_i are computed by running the recurrence for 6 times
        the longest memory.

        Args:
            key: the random key.
            memories: the memories to use instead of the problem's memory, one for each row of the result. All memories
                share the inputs and signs.
            draws: the number of draws.
        """
        sign_key, input_key = jax.random.split(key)
        poles = jnp.stack([self.poles(memory) for memory in memories])[:, None, None, :]

        def step(states: Array, key: Key[Array, ""]) -> tuple[Array, None]:
            white = jax.random.normal(key, (draws, self.n))
            return poles * states + self.inputs * white[None, ..., None], None

        start = jnp.zeros((len(memories), draws, self.n, len(self.speeds)), complex)
        states, _ = jax.lax.scan(step, start, jax.random.split(input_key, STEPS * max(memories)))
        signs = jax.random.rademacher(sign_key, (draws, self.n), float)
        return self.radius / self.n * jnp.linalg.norm(jnp.einsum("mi,rmij->rmj", signs, states), axis=2)


class StableRecurrences(Population[Recurrence]):
    """Random poles inside the unit circle."""

    free = ("angles", "inputs")
    settings = Space(
        n=Integer(4, 2, 64, "sequences"),
        states=Integer(2, 1, 16, "states"),
        memory=Integer(6, 4, 64, "1/(1 - |a|) of the slowest state"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Recurrence:
        """Draw the recurrence at random, with the symbols of `Recurrence`.

        For each state, the speed is uniform between 1 and 2, the angle of the pole a is uniform between 0 and pi, and
        the input weight b is normal. The radius B of the readouts is uniform between 1/2 and 2.
        """
        speed_key, angle_key, input_key, radius_key = jax.random.split(key, 4)
        number = setting["states"]
        speeds = jax.random.uniform(speed_key, (number,), minval=1.0, maxval=2.0)
        angles = jax.random.uniform(angle_key, (number,), maxval=jnp.pi)
        radius = jax.random.uniform(radius_key, minval=0.5, maxval=2.0)
        inputs = jax.random.normal(input_key, (number,))
        return Recurrence(speeds, angles, inputs, radius, setting["n"], setting["memory"])

    def hypotheses(self, problem: Recurrence) -> list[Hypothesis]:
        slowest = jnp.abs(problem.poles(problem.memory)).max()
        return [
            Hypothesis(
                "the recurrence is stable (largest modulus of a pole)",
                slowest,
                "<",
                1.0,
                "the state has a stationary distribution",
            ),
            Hypothesis("readouts are bounded by a positive radius", problem.radius, ">", 0.0, "readouts lie in a ball"),
        ]
