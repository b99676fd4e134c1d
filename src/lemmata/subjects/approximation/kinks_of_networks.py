"""How many kinks ReLU networks have in space, along a circle, and along a segment.

This theory counts the linear regions of one layer, and the kinks that units of random networks have along a line. It
assumes units in general position, or Gaussian weights. It does not explain how training moves the kinks.
"""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.approximation._bends import Layer, bends

ABOUT = {
    "tool": "combinatorics",
    "architecture": "dense network",
    "object": "function class",
    "KinksOnACircle": {"tool": "random matrices"},
    "KinksOnASegment": {"tool": "random matrices"},
}

_CAPTION = "Figure 2.11"


class Arrangement(eqx.Module):
    """Units with weights w_i and biases b_i, which define the hyperplanes <w_i, x> + b_i = 0."""

    weights: Float[np.ndarray, "m d"]
    biases: Float[np.ndarray, " m"]


class Arrangements(Population[Arrangement]):
    """Layers of at least d and at most `units` units, with normal weights and biases."""

    settings = Space(
        d=dimension(3, 1, 4, corners=(1, 4)), units=Integer(9, 5, 12, "the largest number of units", corners=(5, 10))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Arrangement:
        rng, d = generator_of(key), setting["d"]
        m = int(rng.integers(d, setting["units"] + 1))
        return Arrangement(rng.standard_normal((m, d)), rng.standard_normal(m))

    def hypotheses(self, problem: Arrangement) -> list[Hypothesis]:
        m, d = problem.weights.shape
        return [Hypothesis("units", m, ">=", d, "each region then has a corner")]


class ArrangementRegions(Claim[Arrangement]):
    """A layer of m ReLU units on R^d is linear on each region in which no unit changes its sign. If the weights and the
    biases are in general position and m >= d, the number of these regions is

        sum_{i=0}^d C(m, i),

    where C(m, i) are the binomial coefficients. For d = 1, the units have m kinks, which divide the line into m + 1
    pieces.
    """

    title = "One layer of m ReLU units on R^d has C(m, 0) + ... + C(m, d) linear regions"
    source = Source(
        "emergence2026", "Figure 2.10", _CAPTION, note="with the number of regions into which hyperplanes cut space"
    )
    population = Arrangements()
    relation = Equal()
    control = Control("the sum ends at d - 1", lambda count, problem: count - math.comb(*problem.weights.shape))
    controls = "the number of linear pieces of a layer"
    unexplained = "regions of deep networks, and units that share a direction"
    traced = False

    def predict(self, problem: Arrangement) -> Array:
        m, d = problem.weights.shape
        return jnp.asarray(float(sum(math.comb(m, i) for i in range(d + 1))))

    def measure(self, problem: Arrangement, key: Key[Array, ""]) -> Array:
        """Count sign patterns near corners.

        Every region has a corner at which d units are 0. Near this corner, all 2^d sign patterns of these units occur.
        """
        m, d = problem.weights.shape
        signs = np.array(list(itertools.product((-1, 1), repeat=d)))
        found = set()
        for chosen in itertools.combinations(range(m), d):
            corner = np.linalg.solve(problem.weights[list(chosen)], -problem.biases[list(chosen)])
            around = np.tile(np.sign(problem.weights @ corner + problem.biases).astype(int), (len(signs), 1))
            around[:, chosen] = signs
            found.update(map(bytes, around.astype(np.int8)))
        return jnp.asarray(float(len(found)))


class CircleOfInputs(eqx.Module):
    """Two orthonormal inputs u and v, which define the circle cos(a) u + sin(a) v.

    The attribute `width` is the number of units in every hidden layer.
    """

    frame: Float[np.ndarray, "2 d"]
    width: int = eqx.field(static=True)


class CirclesOfInputs(Population[CircleOfInputs]):
    """Circles in random planes through the origin."""

    settings = Space(
        d=dimension(10, 2, corners=(2, 12)), width=Integer(6, 4, 48, "units in each hidden layer", corners=(4, 12))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CircleOfInputs:
        frame = np.linalg.qr(generator_of(key).standard_normal((setting["d"], 2)))[0].T
        return CircleOfInputs(frame, setting["width"])

    def hypotheses(self, problem: CircleOfInputs) -> list[Hypothesis]:
        skew = np.abs(problem.frame @ problem.frame.T - np.eye(2)).max()
        return [
            Hypothesis(
                "skewness of the plane's frame",
                skew,
                "<=",
                1e-9,
                "otherwise the inputs lie on an ellipse and not on a circle",
            )
        ]


class KinksOnACircle(Claim[CircleOfInputs]):
    """Let a ReLU network without biases have n units in each hidden layer. Let the weights be independent and normal
    with mean 0 and the same variance within each layer, as in He's initialisation. A great circle of inputs consists of
    all cos(a) u + sin(a) v, where u and v are orthonormal. Along such a circle, the pre-activation of a unit in layer l
    changes its sign

        2 (1 - (n + 1)/2^n)^(l-1)

    times on average. So the network has 2 kinks per unit at every depth, up to a correction that vanishes exponentially
    in the width. The correction has no term of order 1/n. The trials measure the second, third and fourth layer.
    """

    # Let z and z' be the pre-activations of a layer and their derivative along the curve of its normalised inputs. They
    # are independent normal vectors. Of these, k units are active, where k ~ Bin(n, 1/2). The curve of normalised
    # outputs then has the speed chi_(k-1) / chi_k, with independent factors, whose mean is 1 for k >= 2, and 0 for k <=
    # 1. So the expected length is kept up to the factor P(k >= 2), and by Rice's formula a unit has length/pi zeros on
    # average.

    title = "Along a circle of inputs, each unit of a random ReLU network has about two kinks"
    source = Source("emergence2026", _CAPTION, note="for random networks of any depth, along a circle of inputs")
    stated = Kind.OWN
    population = CirclesOfInputs()
    relation = EqualInMean(resolution=0.04)
    control = Control(
        "each layer increases the kinks of a unit by 10 %", lambda kinks, problem: kinks * 1.1 ** jnp.arange(1.0, 4.0)
    )
    controls = "the number of kinks that each layer of a random network adds along a circle"
    unexplained = "trained networks, and the spread of the number around its mean"
    trials = 200
    traced = False

    def predict(self, problem: CircleOfInputs) -> Array:
        return 2 * (1 - (problem.width + 1) / 2.0**problem.width) ** jnp.arange(1.0, 4.0)

    def measure(self, problem: CircleOfInputs, key: Key[Array, ""]) -> Array:
        """Count exact zeros in several networks. Without biases, projection maps each half of the circle to a line."""
        rng, (u, v), total = generator_of(key), problem.frame, np.zeros(4)
        sizes = (len(u), *(problem.width,) * 4)
        networks = 2 + 600 // problem.width**2
        for _ in range(networks):
            shapes = zip(sizes[1:], sizes, strict=False)
            layers = [Layer(rng.standard_normal(s) * math.sqrt(2 / s[1]), np.zeros(s[0])) for s in shapes]
            for side in (1, -1):
                total += np.bincount(bends(layers, side * u, side * v).layers, minlength=4)
        return jnp.asarray(total[1:] / (networks * problem.width))


class SegmentOfInputs(eqx.Module):
    """Two inputs, and a layer's standard deviations, weight_std/sqrt(d) for weights and bias_std for biases."""

    a: Float[Array, " d"]
    b: Float[Array, " d"]
    weight_std: Float[Array, ""]
    bias_std: Float[Array, ""]


class KinksOnASegment(Claim[SegmentOfInputs]):
    """Let a ReLU layer on R^d have independent normal weights of mean 0 and variance sw²/d, and independent normal
    biases of mean 0 and variance sb². Take the line through two inputs a and b, and let h be the distance of the line
    from the origin. Let t_a < t_b be the positions of a and b on this line, measured from the point nearest to the
    origin. A unit has its kink between a and b with probability

        (atan(t_b/s) - atan(t_a/s)) / pi,    where s² = d sb²/sw² + h².
    """

    # On the line, a unit is a normal number plus t times another normal number, so its zero is a Cauchy number of scale
    # s.

    title = "A formula for the probability that a random ReLU unit has its kink between two given inputs"
    source = Source("emergence2026", _CAPTION, note="for random hinges, between two inputs")
    stated = Kind.OWN
    population = Drawn(
        SegmentOfInputs,
        positive("weight_std", "otherwise no unit has a kink"),
        d=dimension(10, 4, corners=(5, 20)),
        a=normal("d"),
        b=normal("d"),
        weight_std=log_uniform(0.5, 2.0),
        bias_std=uniform(0.0, 0.5),
    )
    relation = EqualInMean(resolution=0.02)
    control = Control("the line may be taken through the origin", lambda share, problem: _share(problem, 0.0))
    controls = "the number of hinges of a layer between two points"
    unexplained = "later layers, and layers after training"
    trials = 200

    def predict(self, problem: SegmentOfInputs) -> Array:
        return _share(problem, 1.0)

    def measure(self, problem: SegmentOfInputs, key: Key[Array, ""]) -> Array:
        """Return the share of units whose pre-activations have different signs at the two inputs."""
        weight_key, bias_key = jax.random.split(key)
        weights = jax.random.normal(weight_key, (4000, len(problem.a))) / math.sqrt(len(problem.a))
        biases = problem.bias_std * jax.random.normal(bias_key, (4000,))
        at = lambda x: problem.weight_std * weights @ x + biases > 0
        return jnp.mean(at(problem.a) != at(problem.b))


def _share(problem: SegmentOfInputs, counted: float) -> Array:
    """Return the probability of a kink. The line's squared distance h² from the origin is multiplied by `counted` (1 in
    the formula of the claim).
    """
    way = problem.b - problem.a
    length = jnp.linalg.norm(way)
    first = problem.a @ way / length
    nearest = problem.a - first * way / length
    biases = len(problem.a) * (problem.bias_std / problem.weight_std) ** 2
    scale = jnp.sqrt(biases + counted * nearest @ nearest)
    return (jnp.arctan((first + length) / scale) - jnp.arctan(first / scale)) / jnp.pi
