"""Training problems for small linear recurrences: fits of an impulse response, of a frequency, and of a readout."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn, uniform


class ImpulseFit(eqx.Module):
    """Half the squared error of c a^k b as an estimate of beta alpha^k, summed over the lags k = 0, ..., n-1.

    The error is minimised over a, b and c.

    Args:
        start: the value of a at the start, where b and c are 0.
        pole: the target pole alpha.
        gain: the target gain beta.
        lags: the number of lags n.
    """

    start: Float[Array, ""]
    pole: Float[Array, ""]
    gain: Float[Array, ""]
    lags: int = eqx.field(static=True)

    def response(self, parameters: Float[Array, " 3"]) -> Float[Array, " n"]:
        """Return c a^k b at all lags k, by running the recurrence h <- a h from h = b."""
        a, b, c = parameters
        one = lambda state, _: (a * state, c * state)
        return jax.lax.scan(one, b, None, length=self.lags)[1]

    def loss(self, parameters: Float[Array, " 3"]) -> Float[Array, ""]:
        """Return the loss 1/2 sum_k (c a^k b - beta alpha^k)²."""
        target = self.gain * self.pole ** jnp.arange(self.lags)
        return jnp.sum((self.response(parameters) - target) ** 2) / 2

    @property
    def first(self) -> Float[Array, " 3"]:
        """The parameters (a, 0, 0) at the start."""
        return jnp.stack([self.start, 0.0 * self.start, 0.0 * self.start])


IMPULSE_FITS = Drawn(
    ImpulseFit,
    lambda fit: Hypothesis("alpha is above 1/sqrt(2)", fit.pole, ">", 0.5**0.5, "the curvature at 0 is negative"),
    lambda fit: Hypothesis("alpha is below 1", fit.pole, "<", 1.0, "the response decays"),
    lambda fit: Hypothesis("lags", fit.lags, ">=", 3, "the second lag makes the curvature negative"),
    start=uniform(-0.9, 0.9),
    pole=uniform(0.72, 0.98),
    gain=uniform(0.5, 1.5),
    lags=Integer(8, 3, 64, "lags", corners=(5, 8)),
)


class FrequencyFit(eqx.Module):
    """Fit e^(i k w) to e^(i k w*) at the lags k = 1, ..., n by gradient descent on w.

    Args:
        frequency: the target frequency w*.
        decay: the decay rho. Claims weight lag k by rho^(2k) in a sum over all lags; `loss` uses equal weights.
        lags: the number of lags n.
    """

    frequency: Float[Array, ""]
    decay: Float[Array, ""]
    lags: int = eqx.field(static=True)

    def loss(self, frequency: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the loss 1/2 sum_k |e^(i k w) - e^(i k w*)|²."""
        k = jnp.arange(1, self.lags + 1)
        apart = jnp.exp(1j * k * frequency[..., None]) - jnp.exp(1j * k * self.frequency)
        return jnp.sum(apart.real**2 + apart.imag**2, axis=-1) / 2


class FrequencyFits(Population[FrequencyFit]):
    """Uniform frequencies, and decays that are uniform between 0.3 and 0.95."""

    settings = Space(lags=Integer(12, 4, 128, "lags", corners=(12, 24)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FrequencyFit:
        draws = jax.random.uniform(key, (2,))
        return FrequencyFit(2 * jnp.pi * draws[0], 0.3 + 0.65 * draws[1], setting["lags"])

    def hypotheses(self, problem: FrequencyFit) -> list[Hypothesis]:
        return [
            Hypothesis("lags", problem.lags, ">=", 4, "with fewer lags there is hardly a second minimum"),
            Hypothesis("the decay is below 1", problem.decay, "<", 1.0, "then the sum over all lags is finite"),
        ]


class ReadoutFit(eqx.Module):
    """Fit a readout of the fixed states of a linear recurrence by gradient descent on a convex loss.

    Args:
        states: the states h_t of a recurrence with random inputs, one row per time t.
        seen: 1 at each time whose output enters the loss, and 0 at other times.
        best: a readout C* that fits all outputs.
        start: the readout C_0 before the first step.
        bend: the size above which residuals enter the loss linearly, and not as squares (Huber's loss).
        steps: the number of steps of gradient descent.
    """

    states: Float[Array, "t n"]
    seen: Float[Array, " t"]
    best: Float[Array, " n"]
    start: Float[Array, " n"]
    bend: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def loss(self, readout: Float[Array, " n"]) -> Float[Array, ""]:
        """Return Huber's loss of the residuals <C - C*, h_t> of a readout C, summed over times where `seen` is 1."""
        size = jnp.abs(self.states @ (readout - self.best))
        return self.seen @ jnp.where(size <= self.bend, size**2 / 2, self.bend * (size - self.bend / 2))

    @property
    def smoothness(self) -> Float[Array, ""]:
        """The largest curvature of the loss: the top eigenvalue of the sum of h_t h_t' over times where `seen` is 1."""
        return jnp.linalg.norm(self.seen[:, None] * self.states, 2) ** 2


class ReadoutFits(Population[ReadoutFit]):
    """States that rotate and contract, with normal inputs.

    In half of the problems, the loss is quadratic and uses every output. In the other half, the loss uses only the last
    output, and C_0 - C* is a multiple of the last state h, where C_0 is the start. In these problems, the loss is
    linear for residuals above |C_0 - C*| |h| / (2 steps + 1). Of all values of `bend`, this value makes descent
    slowest.
    """

    free = ("states", "best", "start")
    settings = Space(
        n=Integer(4, 1, 32, "states", corners=(4, 8)),
        times=Integer(32, 8, 256, "times", corners=(16, 32)),
        steps=Integer(30, 1, 1000, "steps of descent", corners=(30, 100)),
        radius=Real(0.9, 0.1, 0.99, "norm of the transition", corners=(0.7, 0.9)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ReadoutFit:
        keys = jax.random.split(key, 4)
        n, times, steps = setting["n"], setting["times"], setting["steps"]
        transition, _ = jnp.linalg.qr(jax.random.normal(keys[0], (n, n)))
        entry, best, away = jax.random.normal(keys[1], (3, n))
        one = lambda state, x: (setting["radius"] * transition @ state + entry * x,) * 2
        states = jax.lax.scan(one, jnp.zeros(n), jax.random.normal(keys[2], (times,)))[1]
        single = jax.random.bernoulli(keys[3])
        last = jnp.arange(times) == times - 1
        away = jnp.where(single, states[-1] * jnp.linalg.norm(away) / jnp.linalg.norm(states[-1]), away)
        slowest = jnp.linalg.norm(away) * jnp.linalg.norm(states[-1]) / (2 * steps + 1)
        seen = jnp.where(single, last, True).astype(float)
        # no residual exceeds the product of these norms, so the loss is quadratic
        bend = jnp.where(single, slowest, jnp.linalg.norm(away) * jnp.linalg.norm(states))
        return ReadoutFit(states, seen, best, best + away, bend, steps)

    def hypotheses(self, problem: ReadoutFit) -> list[Hypothesis]:
        return [Hypothesis("states are seen", problem.smoothness, ">", 0.0, "the step is 1 / the smoothness")]
