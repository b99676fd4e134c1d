"""Two directions of a divergence, for one normal distribution that is fitted to two modes.

This theory computes the best normal fit to a mixture of two normal modes, for the divergence from the data to the model
and for the reverse divergence. It assumes that the divergence is minimised exactly. It does not explain models that can
hold several modes, or divergences that are estimated from samples.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Limit, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform

ABOUT = {"tool": "information theory", "architecture": "any", "object": "estimator"}

_NODES = np.linspace(-9.0, 9.0, 201)  # the trapezoidal rule: Gauss and Hermite's converges slowly for wide q
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_STEPS = 250


class TwoModes(eqx.Module):
    """The mixture w N(c - a s, s²) + (1 - w) N(c + a s, s²), where w is `share` and a is `apart`."""

    centre: Float[Array, ""]
    scale: Float[Array, ""]
    share: Float[Array, ""]
    apart: Float[Array, ""]

    @property
    def modes(self) -> Float[Array, "2"]:
        """The means of the two modes."""
        return self.centre + jnp.array([-1.0, 1.0]) * self.apart * self.scale

    @property
    def shares(self) -> Float[Array, "2"]:
        """The probabilities of the two modes."""
        return jnp.stack([self.share, 1 - self.share])


def _log_normal(x: Array, mean: Array, scale: Array) -> Array:
    return -0.5 * ((x - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * jnp.log(2 * jnp.pi)


def _reverse(problem: TwoModes, q: Float[Array, "2"]) -> Float[Array, ""]:
    """Return KL(q | p) for a normal q with a given mean and log scale, by quadrature."""
    x = q[0] + jnp.exp(q[1]) * _NODES
    logs = _log_normal(x[:, None], problem.modes, problem.scale) + jnp.log(problem.shares)
    return _WEIGHTS @ (_log_normal(x, q[0], jnp.exp(q[1])) - jax.nn.logsumexp(logs, axis=1))


_MIXTURES = Drawn(
    TwoModes,
    positive("scale", "a mode must have positive width"),
    centre=normal(),
    scale=log_uniform(0.3, 3.0),
    share=uniform(0.5, Real(0.8, 0.6, 0.9, "largest share of the heavier mode")),
    apart=uniform(1.0, 8.0),
)


def _descended(loss: Callable[[Array], Array], start: Float[Array, "2"], scale: Array) -> Float[Array, "2"]:
    """Minimise by Adam, in units of the scale, with a learning rate that falls to 0."""
    solver, unit = optax.adam(optax.cosine_decay_schedule(0.1, _STEPS)), jnp.stack([scale, 1.0])

    def step(carry, _):
        at, state = carry
        change, state = solver.update(jax.grad(lambda own: loss(own * unit))(at), state)
        return (at + jnp.asarray(change), state), None

    start = start / unit
    return jax.lax.scan(step, (start, solver.init(start)), None, length=_STEPS)[0][0] * unit


class MeanOfTheModes(Claim[TwoModes]):
    """Let p be the mixture w N(c - a s, s²) + (1 - w) N(c + a s, s²). Among all normal distributions q, the divergence
    KL(p | q) is smallest for the q with

        mean c + (1 - 2 w) a s    and    variance s² (1 + 4 w (1 - w) a²).

    So maximum likelihood fits one normal distribution to both modes. If the modes are far apart, most samples of this
    distribution lie between the modes.
    """

    title = "Maximum likelihood fits a normal distribution across both modes of a mixture"
    source = Source("emergence2026", "Definition 12.9", "Figure 12.10", note="for one normal model and two modes")
    population = _MIXTURES
    relation = Equal()
    control = Control("the best fit is the heavier mode alone", lambda fit, problem: jnp.stack([-problem.apart, 1.0]))
    controls = "the model of maximum likelihood if it cannot hold all modes"
    unexplained = "models with several modes, which can cover all of them at no cost"

    def predict(self, problem: TwoModes) -> Array:
        w, a = problem.share, problem.apart
        return jnp.stack([(1 - 2 * w) * a, 1 + 4 * w * (1 - w) * a**2])

    def measure(self, problem: TwoModes, key: Key[Array, ""]) -> Array:
        """Minimise the cross-entropy over the mean m and variance v of q by damped Newton steps, and return (m - c)/s
        and v/s². The cross-entropy is self-concordant in (m/v, 1/v).
        """
        nodes = (problem.modes[:, None] + problem.scale * _NODES).ravel()
        chance = (problem.shares[:, None] * _WEIGHTS).ravel()

        def cross_entropy(own: Array) -> Array:
            return -2 * chance @ _log_normal(nodes, own[0] / own[1], own[1] ** -0.5)

        def step(_, own):
            slope = jax.grad(cross_entropy)(own)
            way = jnp.linalg.solve(jax.hessian(cross_entropy)(own), slope)
            return own - way / (1 + jnp.sqrt(jnp.maximum(slope @ way, 0.0)))

        start = jnp.stack([problem.centre, 1.0]) / problem.scale**2
        found = jax.lax.fori_loop(0, 60, step, start)
        return jnp.stack([(found[0] / found[1] - problem.centre) / problem.scale, 1 / (found[1] * problem.scale**2)])

    def condition(self, problem: TwoModes) -> Array:
        """Allow for rounding errors of slopes, whose terms have the size of the second moment, and for a fitted mean
        near c.
        """
        size = (1 + (problem.centre / problem.scale) ** 2 + problem.apart**2) ** 2
        return 10 * size * (1 + 1 / jnp.abs(self.predict(problem)))


class OneModeIsDropped(Claim[TwoModes]):
    """Let p be the mixture w N(c - a s, s²) + (1 - w) N(c + a s, s²) with w >= 1/2. As a grows, the smallest divergence
    KL(q | p) of any normal distribution q tends to

        log(1/w).

    The component with the weight w, taken alone as q, attains this limit. So the fit by the reverse divergence drops a
    mode. The divergence of this fit is at most log 2, however far apart the modes are. For the q that maximum
    likelihood fits, KL(q | p) is of the order a².

    Derivation: let N_1 and N_2 be the components with the weights w and 1 - w. Then KL(N_1 | p) = E log(N_1 / (w N_1 +
    (1 - w) N_2)) <= log(1/w), with a difference of order exp(-a²/2). Every q has KL(q | p) >= log(1/w) in the limit. To
    see this, split q = r q_1 + (1 - r) q_2 into its parts near the two modes. Then KL(q | p) >= KL((r, 1 - r) | (w, 1 -
    w)), and a normal q near one mode has r = 1.
    """

    title = (
        "The reverse KL divergence fits a normal to one mode of a mixture, at the divergence log(1/share of this mode)"
    )
    source = Source("emergence2026", "Figure 12.10", note="for the reverse divergence")
    stated = Kind.OWN
    population = _MIXTURES
    relation = Limit("a", (3.0, 4.0, 6.0, 8.0), margin=0.001, resolution=0.005)
    control = Control("the divergence is log(1/w)/2", lambda price, problem: price / 2)
    controls = "the divergence of a model that holds one of two modes"
    unexplained = "modes that are near each other, for which one normal distribution covers both"
    trials = 16

    def predict(self, problem: TwoModes) -> Array:
        return -jnp.log(problem.share)

    def measure_at(self, problem: TwoModes, key: Key[Array, ""], a: float) -> Array:
        """Return the least KL(q | p) that gradient descent reaches.

        Descent starts from both modes and from the maximum-likelihood fit.
        """
        own = eqx.tree_at(lambda p: p.apart, problem, jnp.asarray(a))
        loss = lambda q: _reverse(own, q)
        middle = jnp.stack([own.shares @ own.modes, jnp.log(own.scale * jnp.sqrt(1 + a**2))])
        starts = jnp.stack([*(jnp.stack([mode, jnp.log(own.scale)]) for mode in own.modes), middle])
        return jnp.min(jax.vmap(lambda start: loss(_descended(loss, start, own.scale)))(starts))
