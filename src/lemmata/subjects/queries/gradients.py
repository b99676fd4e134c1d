"""Gradients of the squared loss are correlations with the target; a parity has small correlations with most functions.

This theory writes every coordinate of a gradient as one correlation of the target with a known function. It considers
many orthogonal targets, one of which is true, and bounds how much the coordinate depends on the true target. It assumes
that the distribution of the inputs is known. It does not explain methods that use single samples, which are not limited
to correlations.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, signs
from lemmata.functions import cube

ABOUT = {
    "tool": "Fourier analysis",
    "architecture": "dense network",
    "object": "training",
    "GradientsAreQueries": {"tool": "statistics"},
}


class CubeNetwork(eqx.Module):
    """The network scale sum_j output_j tanh(<weights_j, x> + bias_j) on {-1, 1}^d, and the weights of a target."""

    weights: Float[Array, "m d"]
    bias: Float[Array, " m"]
    output: Float[Array, " m"]
    scale: Float[Array, ""]
    teacher: Float[Array, "d 3"]
    d: int = eqx.field(static=True)

    @property
    def target(self) -> Float[Array, " points"]:
        """The values of the target, which are not the values of such a network."""
        return jnp.prod(1 + cube(self.d) @ self.teacher, axis=1)

    def loss(self, parameters: tuple[Array, Array, Array], target: Float[Array, " points"]) -> Float[Array, ""]:
        """The loss E (f(x) - y)²/2 for the given target y."""
        weights, bias, output = parameters
        values = self.scale * jnp.tanh(cube(self.d) @ weights.T + bias) @ output
        return jnp.mean((values - target) ** 2) / 2

    def gradient(self, target: Float[Array, " points"]) -> Float[Array, " p"]:
        """The gradient of the loss with respect to weights, bias and output, by automatic differentiation."""
        found = jax.grad(self.loss)((self.weights, self.bias, self.output), target)
        return jnp.concatenate([part.ravel() for part in found])

    def features(self) -> tuple[Float[Array, " points"], Float[Array, "points p"]]:
        """Return the network's values and its derivatives with respect to the parameters, as functions of x."""
        x = cube(self.d)
        hidden = jnp.tanh(x @ self.weights.T + self.bias)
        slopes = (1 - hidden**2) * self.output
        by_weight = (slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return self.scale * hidden @ self.output, self.scale * jnp.concatenate([by_weight, slopes, hidden], axis=1)


_NETWORKS = Drawn(
    CubeNetwork,
    d=Integer(6, 2, 9, "dimension of the cube", corners=(4, 7)),
    weights=normal(4, "d"),
    bias=normal(4),
    output=normal(4),
    scale=log_uniform(0.1, 10.0),
    teacher=normal("d", 3),
)


class GradientsAreQueries(Claim[CubeNetwork]):
    """Let f(x; theta) be a network, let y be the target, and let g_i be the derivative of f with respect to theta_i.
    Each coordinate of the gradient of the population loss E (f(x) - y)²/2 is

        E[f(x) g_i(x)] - E[y g_i(x)].

    The first term is known if the distribution of x is known. The second term is a correlation of the target with one
    function.
    """

    title = "A gradient coordinate of the squared loss is a known mean minus one correlation with the target"
    source = Source("emergence2026", "Proposition 11.2", "Figure 11.4")
    population = _NETWORKS
    relation = Equal(block=-1)
    control = Control(
        "the gradient is twice as large, as for the loss without the factor 1/2", lambda value, problem: 2 * value
    )
    controls = "what a gradient shows about the target"
    unexplained = "gradients on samples, which contain more information than expectations"

    def predict(self, problem: CubeNetwork) -> Array:
        values, features = problem.features()
        return (values @ features - problem.target @ features) / len(values)

    def measure(self, problem: CubeNetwork, key: Key[Array, ""]) -> Array:
        return problem.gradient(problem.target)

    def condition(self, problem: CubeNetwork) -> Array:
        """Bound the rounding errors. The two expectations may cancel."""
        values, features = problem.features()
        terms = (jnp.abs(values) + jnp.abs(problem.target)) @ jnp.abs(features) / len(values)
        return 4 * terms.max() / jnp.abs(problem.gradient(problem.target)).max()


class InvisibleParities(Claim[CubeNetwork]):
    """Let x be uniform on {-1, 1}^d. Let T be a set of coordinates, and let the target chi_T be the product of the
    coordinates in T. Let f be a network, and let g_i be its derivative with respect to the parameter theta_i. The
    gradient of E (f - chi_T)²/2 depends on the hidden set T only through the term -E[chi_T g_i]. Over all 2^d sets T,

        mean over T of E[chi_T g_i]² = E[g_i²] / 2^d.

    So for most sets T, the gradient is exponentially close to a vector that does not depend on T.
    """

    title = "On average over all parities, the target parity changes the squared loss gradient exponentially little"
    source = Source("emergence2026", "Figure 11.3", note="for gradients: the mean over all parities")
    population = _NETWORKS
    relation = Equal(block=-1)
    control = Control("the mean is E[g²] / 2^(d - 1)", lambda value, problem: 2 * value)
    controls = "how much a gradient depends on which parity is the target"
    unexplained = "parities of few coordinates, for which the gradient of a suitable network is far from this mean"

    def predict(self, problem: CubeNetwork) -> Array:
        features = problem.features()[1]
        return jnp.mean(features**2, axis=0) / len(features)

    def measure(self, problem: CubeNetwork, key: Key[Array, ""]) -> Array:
        """Return the gradients for all parities, by automatic differentiation, minus the gradient for the target 0."""
        x = cube(problem.d)
        parities = jnp.where(x[:, None, :] < 0, x, 1.0).prod(axis=2)
        known = problem.gradient(jnp.zeros(len(x)))
        return jnp.mean((jax.vmap(problem.gradient)(parities) - known) ** 2, axis=0)

    def condition(self, problem: CubeNetwork) -> Array:
        """Bound the rounding errors. Each gradient is the known part minus a small correlation."""
        values, features = problem.features()
        known = jnp.sqrt(jnp.mean(values**2) * jnp.mean(features**2, axis=0).max())
        return 8 * (1 + known / jnp.sqrt(self.predict(problem).max()))


class SignUnit(eqx.Module):
    """The unit max(<w, x>, 0) whose weights w are signs. The hidden set contains the first k coordinates."""

    w: Float[Array, " d"]
    k: int = eqx.field(static=True)


def majority_coefficient(d: int, degree: int) -> float:
    """Return E[chi_S(x) sgn(x_1 + ... + x_d)] for |S| = degree and odd d, where chi_S is the product over S."""
    if degree % 2 == 0:
        return 0.0
    half, place = (d - 1) // 2, (degree - 1) // 2
    middle = 2 * math.comb(d - 1, half) / 2**d
    return (-1) ** place * middle * math.comb(half, place) / math.comb(d - 1, degree - 1)


class SparseParitiesAreSeen(Claim[SignUnit]):
    """Let w be in {-1, 1}^d with d odd, and let x be uniform on the cube {-1, 1}^d. Let S be a set of k coordinates
    with 2 <= k < d, and let the parity chi_S be the product of the coordinates in S. Let M_j be the mean, over d
    uniform signs, of their majority times the product of j of these signs; M_j = 0 for even j. The correlation
    E[chi_S(x) max(<w, x>, 0)] of the parity with a ReLU unit has the derivative with respect to w_i

        M_(k-1)/2 times the product of the w_j over S without i,   if i is in S,
        M_(k+1)/2 times the product of the w_j over S and i,       if i is not in S.

    Here M_(k-1)/2 is half of M_(k-1). For even k, M_(k-1) and M_(k+1) have opposite signs, so one gradient separates S
    from the other coordinates. For odd k, all these derivatives are zero. The trials use even k.
    """

    title = "One gradient of a ReLU unit with sign weights shows the coordinates of a sparse parity of even degree"
    source = Source("barak2022hidden", "Abstract", note="the gap in the population gradient, at one unit")
    stated = Kind.OWN
    population = Drawn(
        SignUnit,
        w=signs("d"),
        rules={"d is odd": lambda setting: setting["d"] % 2 == 1},
        d=Integer(9, 5, 11, "odd dimension"),
        k=Integer(4, 2, 4, "even size of the hidden set", step=2),
    )
    relation = Equal(block=-1)
    control = Control(
        "the derivatives do not have the factor 1/2 of the step function", lambda value, problem: 2 * value
    )
    controls = "how a gradient depends on a sparse parity"
    unexplained = "the steps after the first"

    def predict(self, problem: SignUnit) -> Array:
        d, k = len(problem.w), problem.k
        inside = jnp.arange(d) < k
        sizes = jnp.where(inside, majority_coefficient(d, k - 1), majority_coefficient(d, k + 1))
        return sizes / 2 * jnp.prod(problem.w[:k]) * problem.w

    def measure(self, problem: SignUnit, key: Key[Array, ""]) -> Array:
        """The derivatives over all points of the cube, by automatic differentiation."""
        x = cube(len(problem.w))
        parity = jnp.prod(x[:, : problem.k], axis=1)
        return jax.grad(lambda w: jnp.mean(parity * jax.nn.relu(x @ w)))(problem.w)

    def condition(self, problem: SignUnit) -> Array:
        """Bound the rounding errors. 2^d terms of size 1 add up to the coefficient."""
        return 1 / jnp.abs(self.predict(problem)).max()
