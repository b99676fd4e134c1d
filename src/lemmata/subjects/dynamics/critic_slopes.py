"""The points where a wide discriminator has a gradient. With ReLU units, it has no gradient at its training points.

A discriminator of infinite width that was trained on points z_i is f(z) = sum_i c_i K(z, z_i), where K is its tangent
kernel. Tangent kernels of ReLU networks contain the angle between z and z_i, which has a cone at z = z_i. So f has a
gradient almost everywhere, but not at the generated points, where a generator needs the gradient. With smooth
activations f has a gradient there. Without biases, there is another kink at the origin, because K is homogeneous. This
theory gives the jump of the slopes at a kink. It does not explain networks of finite width, which have many kinks at
other places.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import TangentKernel, erf_network, relu_network
from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.subjects.dynamics import Critic, critic

ABOUT = {"tool": "reproducing kernels", "architecture": "dense network", "object": "function class"}


class LineOfCritic(eqx.Module):
    """Real and generated points, a unit direction along which slopes are taken, and the kind of network.

    Args:
        real, fake: points, one in each row.
        direction: the unit vector along which slopes are taken.
        bias: standard deviation of the network's biases.
        network: "relu" or "erf".
    """

    real: Float[Array, "n d"]
    fake: Float[Array, "m d"]
    direction: Float[Array, " d"]
    bias: float = eqx.field(static=True)
    network: str = eqx.field(static=True, default="relu")


class LinesOfCritics(Population[LineOfCritic]):
    """Normal points around two centres, and a random direction."""

    bias: float = 1.0
    network: str = "relu"

    def settings(self) -> Space:
        return Space(
            n=Integer(4, 1, 100, "points of each cloud", corners=(3, 6)),
            d=Integer(2, 2, 20, "dimension", corners=(2, 4)),
            bias=Real(self.bias, 0.0, 4 * self.bias, "standard deviation of biases"),
            network=Choice(self.network, (self.network,), "activation"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LineOfCritic:
        keys, shape = jax.random.split(key, 3), (setting["n"], setting["d"])
        real, fake = jax.random.normal(keys[0], shape) + 1.0, jax.random.normal(keys[1], shape) - 1.0
        direction = jax.random.normal(keys[2], (setting["d"],))
        return LineOfCritic(real, fake, direction / jnp.linalg.norm(direction), setting["bias"], setting["network"])

    def hypotheses(self, problem: LineOfCritic) -> list[Hypothesis]:
        """Check that points differ from each other and from the origin, which is almost surely true."""
        points = jnp.concatenate([problem.real, problem.fake])
        apart = jnp.sum((points[:, None] - points) ** 2, axis=2) + jnp.diag(jnp.sum(points**2, axis=1))
        return [
            Hypothesis(
                "the points are apart from each other and from 0",
                apart.min(),
                ">",
                1e-6,
                "otherwise kinks at other points interfere",
            )
        ]


_PAPER = "franceschi2022neural"
_INVERSE_STEPS = (1e2, 1e3, 1e4)
_NEAR = 1e-3


def _critic(problem: LineOfCritic) -> Critic:
    """Return the critic of infinite width with one hidden layer, after training for unit time with the IPM loss."""
    network = (relu_network if problem.network == "relu" else erf_network)(1, bias_std=problem.bias)
    return critic(TangentKernel(network), problem.real, problem.fake, 1.0)


def _jump(problem: LineOfCritic, at: Float[Array, " d"], step: float) -> Array:
    """Return (f(x + h v) + f(x - h v) - 2 f(x))/h for the critic f at the point x = at, the step h and the direction v.

    As h -> 0, this number tends to the jump of the slope along v.
    """
    line = at + step * jnp.asarray([[1.0], [0.0], [-1.0]]) * problem.direction
    before, here, after = _critic(problem)(line)
    return (before + after - 2 * here) / step


class KinkAtSamples(Claim[LineOfCritic]):
    """Consider a discriminator f of infinite width with one hidden layer of ReLUs on d inputs, weights of variance 2/d
    and biases of variance b². Train f for unit time on real points and m generated points. The loss is the IPM loss,
    which is the mean of f over generated points minus the mean of f over real points. Then f has a kink at each
    generated point x along a unit vector v. Let x~ = (sqrt(2/d) x, b) and v~ = (sqrt(2/d) v, 0), and let v~_perp be the
    part of v~ that is orthogonal to x~. The slopes of f along v on the two sides of x differ by

        |x~| |v~_perp| / (pi m).

    At every point that is neither real nor generated, the discriminator has a gradient.
    """

    title = "A trained ReLU discriminator of infinite width has a kink at every generated point"
    source = Source(_PAPER, "Abstract, architecture", note="one hidden layer, with the size of the jump")
    population = LinesOfCritics()
    relation = Limit(along="1/h", rungs=_INVERSE_STEPS, margin=0.01, resolution=0.05)
    control = Control("the jump of the slope is half as large", lambda jump, problem: jump / 2)
    controls = "whether a generator has a gradient to follow"
    unexplained = "generators with densities, where kinks are averaged"
    trials = 64

    def predict(self, problem: LineOfCritic) -> Array:
        m, d = problem.fake.shape
        lifted = jnp.append(math.sqrt(2 / d) * problem.fake[0], problem.bias)
        along = jnp.append(math.sqrt(2 / d) * problem.direction, 0.0)
        across = along - (along @ lifted) / (lifted @ lifted) * lifted
        return jnp.linalg.norm(lifted) * jnp.linalg.norm(across) / (math.pi * m)

    def measure_at(self, problem: LineOfCritic, key: Key[Array, ""], inverse: float) -> Array:
        return _jump(problem, problem.fake[0], 1 / inverse)


class SmoothUnitsAtSamples(Claim[LineOfCritic]):
    """Train a GAN discriminator f of infinite width on real and generated points. Let its activation be smooth: the
    error function. Then f is smooth also at a generated point x. Along a unit vector v, |f(x + h v) + f(x - h v) - 2
    f(x)| falls like h² as h -> 0.
    """

    title = "A GAN discriminator of infinite width with smooth units has gradients at generated points"
    source = Source(_PAPER, "Abstract, differentiability", note="error function")
    stated = Kind.LEMMA
    population = LinesOfCritics(network="erf")
    relation = Rate("1/h", _INVERSE_STEPS, margin=0.05, resolution=0.2)
    control = Control("the difference falls only like h^1.5", lambda exponent, problem: exponent + 0.5)
    controls = "whether a generator has a gradient to follow"
    unexplained = "how steep the gradients are"
    trials = 64
    predict = -2.0

    def measure_at(self, problem: LineOfCritic, key: Key[Array, ""], inverse: float) -> Array:
        return jnp.abs(_jump(problem, problem.fake[0], 1 / inverse)) / inverse


class BiasesAtOrigin(Claim[LineOfCritic]):
    """Consider a ReLU discriminator f of infinite width with biases. Then f is smooth at the origin: along a unit
    vector v, |f(h v) + f(-h v) - 2 f(0)| falls like h² as h -> 0.
    """

    title = "A ReLU discriminator with biases has no kink at the origin"
    source = Source(_PAPER, "Abstract, differentiability", note="ReLU with biases, at the origin")
    stated = Kind.LEMMA
    population = LinesOfCritics()
    relation = Rate("1/h", _INVERSE_STEPS, margin=0.05, resolution=0.2)
    control = Control("the difference falls only like h^1.5", lambda exponent, problem: exponent + 0.5)
    controls = "how biases change a discriminator"
    unexplained = "biases that are small compared with the points"
    trials = 64
    predict = -2.0

    def measure_at(self, problem: LineOfCritic, key: Key[Array, ""], inverse: float) -> Array:
        return jnp.abs(_jump(problem, jnp.zeros_like(problem.direction), 1 / inverse)) / inverse


class NoBiasesAtOrigin(Claim[LineOfCritic]):
    """Consider a ReLU discriminator f of infinite width without biases. The discriminator is homogeneous of degree 1
    and has a kink at the origin. For every h > 0 and every unit vector v,

        (f(h v) + f(-h v) - 2 f(0))/h = f(v) + f(-v).
    """

    title = "A ReLU discriminator without biases has a kink at the origin"
    source = Source(_PAPER, "Abstract, differentiability", note="ReLU without biases")
    stated = Kind.LEMMA
    population = LinesOfCritics(bias=0.0)
    relation = Equal()
    control = Control(
        "the difference is smaller by the factor h, as for a function with a gradient",
        lambda jump, problem: _NEAR * jump,
    )
    controls = "how biases change a discriminator"
    unexplained = "data that are far from the origin"

    def predict(self, problem: LineOfCritic) -> Array:
        return jnp.sum(_critic(problem)(jnp.stack([problem.direction, -problem.direction])))

    def measure(self, problem: LineOfCritic, key: Key[Array, ""]) -> Array:
        return _jump(problem, jnp.zeros_like(problem.direction), _NEAR)

    def condition(self, problem: LineOfCritic) -> Array:
        """Allow for cancellation in the difference of values of f, which are of the size of the points' norms."""
        size = jnp.linalg.norm(jnp.concatenate([problem.real, problem.fake]), axis=1).max()
        return 1e2 * (1 + size / jnp.abs(self.predict(problem)))
