"""Before and after the first step: the distribution of a network's output, and what the first gradient learns.

This theory gives two things for a network with one hidden layer. The first is the fourth moment of its output at its
random start. The second is how well the first gradient of the hidden weights is aligned with the direction b that
determines the targets y = g(<b, x>) + noise. It assumes normal inputs x. It does not explain the later steps.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Claim, Control, EqualInMean, Integer, Kind, Limit, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.tangent._two_layers import ACTIVATIONS

ABOUT = {
    "tool": "statistics",
    "architecture": "dense network",
    "object": "training",
    "OutputKurtosis": {"tool": "Gaussian processes", "object": "sampler"},
}

_DRAWS = 100_000
_SAMPLES = 200
_SIZES = (24.0, 48.0, 96.0, 192.0)
# E g'(z), E g(z)² z² and E g(z)² for a standard normal z.
_MOMENTS = {"tanh": (0.605705509602, 0.757889866679, 0.394294490398), "relu": (0.5, 1.5, 0.5), "mixed": (1.0, 8.0, 2.0)}


def link(name: str, z: Float[np.ndarray, " *n"]) -> Float[np.ndarray, " *n"]:
    """Return g(z), where g is the named function of the targets: tanh, the ReLU, or z + (z² - 1)/sqrt(2)."""
    return {"tanh": np.tanh(z), "relu": np.maximum(z, 0.0), "mixed": z + (z**2 - 1) / np.sqrt(2.0)}[name]


class Width(eqx.Module):
    """A hidden layer: its activation phi, the scale s of its preactivations and its number m of units."""

    scale: Float[Array, ""]
    activation: str = eqx.field(static=True)
    m: int = eqx.field(static=True)


class OutputKurtosis(Claim[Width]):
    """Let a random network have m hidden units with the activation phi and the readouts a_r. Let its output at one
    input be f = m^(-1/2) sum_r a_r phi(s z_r), where s is a scale and the z_r are independent standard normal numbers.
    With a standard normal z, let k = E phi(s z)^4 / (E phi(s z)²)². Over the draw of the network, the excess kurtosis E
    f^4/(E f²)² - 3 is

        (3 k - 3)/m  with standard normal a_r,    (k - 3)/m  with independent signs a_r.

    For the ReLU, k = 6, so the excess kurtosis is 15/m or 3/m. So the output is Gaussian only in the limit of large m.
    The distribution of the readouts decides how fast this limit is reached. The measurement uses 100000 networks.
    """

    title = "The excess kurtosis of a random network's output is of order 1/m and depends on the readout's distribution"
    source = Source("emergence2026", "Figure 4.13", note="the first term that is left at finite width")
    stated = Kind.OWN
    population = Drawn(
        Width,
        scale=log_uniform(0.5, 2.0),
        activation=Choice("relu", ("relu", "gelu"), "activation"),
        m=Integer(8, 6, 16, "units"),
    )
    relation = EqualInMean(resolution=0.1)
    control = Control("the excess kurtosis is 4/5 of the stated one", lambda excess, problem: 0.8 * excess)
    controls = "how far the output of a network is from a Gaussian process"
    unexplained = "outputs at several inputs; further layers, which add terms of the same order"
    traced = False
    trials = 32

    def predict(self, problem: Width) -> Array:
        """The excess kurtosis for both readouts, with k from Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(150)
        values = ACTIVATIONS[problem.activation](float(problem.scale) * nodes)[0]
        mean = lambda power: np.sum(weights * values**power) / weights.sum()
        peak = mean(4) / mean(2) ** 2
        return jnp.asarray([3 * peak - 3, peak - 3]) / problem.m

    def measure(self, problem: Width, key: Key[Array, ""]) -> Array:
        generator, shape = generator_of(key), (_DRAWS, problem.m)
        units = ACTIVATIONS[problem.activation](float(problem.scale) * generator.normal(size=shape))[0]
        found = []
        for readout in (generator.normal(size=shape), 2.0 * generator.integers(0, 2, shape) - 1):
            outputs = np.sum(readout * units, axis=1)
            found.append(np.mean(outputs**4) / np.mean(outputs**2) ** 2 - 3)
        return jnp.asarray(found)


class SingleIndex(eqx.Module):
    """Targets y = g(<b, x>) + noise at n normal rows x in d dimensions."""

    direction: Float[Array, " d"]
    noise: Float[Array, ""]
    link: str = eqx.field(static=True)
    d: int = eqx.field(static=True)
    n: int = eqx.field(static=True)

    def rows(self, generator: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and targets."""
        x = generator.normal(size=(*shape, self.n, self.d))
        b = np.asarray(self.direction / jnp.linalg.norm(self.direction))
        return x, link(self.link, x @ b) + float(self.noise) * generator.normal(size=x.shape[:-1])


class FirstGradientAligns(Claim[SingleIndex]):
    """Let x_i be n standard normal rows in d dimensions, and let y_i = g(<b, x_i>) + noise for a function g and a
    direction b with |b| = 1. If the activation of a hidden unit has a constant slope, the first gradient of the unit's
    weights is along q = sum_i y_i x_i / n. Let mu = E g'(z) for a standard normal z, and let A = mu² + (E y² <b, x>² -
    mu²)/n. Then

        E <q, b>² / E |q|² = A/(A + (d - 1) E y²/n).

    So the first step finds the direction b if n is well above d E y²/mu². If the y_i are replaced by targets of other,
    independent rows, the ratio is 1/d. The test uses both kinds of targets, each with 200 samples of n rows.
    """

    title = "The first gradient finds the direction of the targets if there are far more rows than dimensions"
    source = Source("ba2022", note="the first step with targets of one direction, at every n and d")
    stated = Kind.OWN
    population = Drawn(
        SingleIndex,
        link=Choice("tanh", ("tanh", "relu", "mixed"), "function of the direction"),
        d=Integer(20, 5, 50, "dimension"),
        n=Integer(80, 40, 400, "rows"),
        noise=Real(0.5, 0.0, 2.0, "standard deviation of the noise"),
        direction=normal("d"),
        rules={"n is at least 2 d": lambda s: s["n"] >= 2 * s["d"]},
    )
    relation = EqualInMean(resolution=0.04)
    control = Control(
        "the noise enters as (d/n)² in place of d/n; the alignment is 1.25/d if targets do not belong to their rows",
        lambda value, problem: jnp.stack([_alignment(problem, problem.d / problem.n), 1.25 * value[1]]),
    )
    controls = "what a hidden layer learns in its first step"
    unexplained = "later steps; links with E g' = 0, which the first step does not find"
    traced = False
    trials = 64

    def predict(self, problem: SingleIndex) -> Array:
        return jnp.stack([_alignment(problem, 1.0), jnp.asarray(1 / problem.d)])

    def measure(self, problem: SingleIndex, key: Key[Array, ""]) -> Array:
        x, y = problem.rows(generator_of(key), _SAMPLES)
        b = np.asarray(problem.direction / jnp.linalg.norm(problem.direction))
        found = []
        for targets in (y, np.roll(y, 1, axis=0)):
            q = np.einsum("sn,snd->sd", targets, x) / problem.n
            found.append(np.mean((q @ b) ** 2) / np.mean(np.sum(q**2, axis=1)))
        return jnp.asarray(found)


def _alignment(problem: SingleIndex, factor: float) -> Array:
    mean, with_input, square = _MOMENTS[problem.link]
    variance = problem.noise**2
    along = mean**2 + (with_input + variance - mean**2) / problem.n
    return along / (along + factor * (problem.d - 1) * (square + variance) / problem.n)


class FirstGradientIsRankOne(Claim[SingleIndex]):
    """Let m = d hidden units have normal weights w_r of length about 1, ReLU activations and independent output signs
    a_r. Let n = 4 d standard normal rows x_i in d dimensions have targets y_i = g(<b, x_i>) + noise for a function g
    and a direction b with |b| = 1. The first gradient of the hidden weights, with the output at the start subtracted,
    is the matrix whose rows are a_r sum_i y_i 1[<w_r, x_i> > 0] x_i / n. As d grows, its first right singular vector v
    tends to the direction of q = sum_i y_i x_i / n:

        |<v, q>| / |q| -> 1.

    So the first step moves the weights of all units off their random start along nearly the same line.
    """

    title = "The first gradient of a hidden layer has rank one in the limit of high dimension"
    source = Source("ba2022", note="the gradient is close to a matrix of rank one")
    stated = Kind.STEP
    population = Drawn(
        SingleIndex,
        link=Choice("tanh", ("tanh", "relu"), "function of the direction"),
        d=Integer(24, 24, 24, "dimension of the smallest problem"),
        n=Integer(96, 96, 96, "number of rows of the smallest problem"),
        noise=Real(0.3, 0.0, 0.5, "standard deviation of the noise"),
        direction=normal("d"),
    )
    relation = Limit(along="d", rungs=_SIZES, margin=0.03, resolution=0.03)
    control = Control("the limit is 0.9", lambda value, problem: 0.9 * value)
    controls = "what a hidden layer learns in its first step"
    unexplained = "steps of a length that grows with the width, after which the layer is no longer random"
    traced = False
    trials = 24
    predict = 1.0

    def measure_at(self, problem: SingleIndex, key: Key[Array, ""], d: float) -> Array:
        size, generator = int(d), generator_of(key)
        x = generator.normal(size=(4 * size, size))
        y = link(problem.link, x[:, 0]) + float(problem.noise) * generator.normal(size=len(x))
        weights, signs = generator.normal(size=(size, size)), 2.0 * generator.integers(0, 2, size) - 1
        gradient = (signs[:, None] * (x @ weights.T > 0).T * y) @ x / len(x)
        q = y @ x / len(x)
        return jnp.asarray(abs(np.linalg.svd(gradient)[2][0] @ q) / np.linalg.norm(q))
