"""Many orthogonal targets, of which one correlational query can correlate with only a few.

The parity network of a set S of r coordinates is the sum over w in {-1, 1}^r of w_1 ... w_r relu(<w, x_S>/sqrt(r)).
This theory counts how many targets of an orthonormal family one query can correlate with. It shows that the parity
networks of different sets form such a family. It assumes that the distribution of the inputs does not change if
coordinates change their signs. It does not explain queries that use the label in other ways than by a correlation.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.functions import cube
from lemmata.subjects.queries._parity_units import magnitude, parity_network

ABOUT = {"tool": "linear algebra", "architecture": "dense network", "object": "function class"}


class HiddenSets(eqx.Module):
    """A distribution on the points lengths_i * z (entry by entry) for all signs z, and a query, which is a sum of
    parity networks with or without noise.

    Args:
        lengths: positive lengths of the coordinates, one row for each point.
        noise: the noise of the query, at all points.
        planted: the number of networks that the query adds up.
        r: the size of the hidden sets.
        pure: whether the query is only the sum of the networks.
    """

    lengths: Float[Array, "n d"]
    noise: Float[Array, " all"]
    planted: Float[Array, ""]
    r: int = eqx.field(static=True)
    pure: bool = eqx.field(static=True)

    @property
    def sets(self) -> np.ndarray:
        """All sets of r coordinates, one in each row."""
        return np.array(list(itertools.combinations(range(self.lengths.shape[1]), self.r)))

    def networks(self, row: int | None = None) -> Float[Array, "sets points"]:
        """Return the values of the ReLU parity networks of all sets, at all sign flips of one row or of all rows."""
        lengths = self.lengths if row is None else self.lengths[row : row + 1]
        points = (lengths[:, None, :] * cube(lengths.shape[1])).reshape(-1, lengths.shape[1])
        return jax.vmap(lambda chosen: parity_network(points[:, chosen], jax.nn.relu))(jnp.asarray(self.sets))


class QueriesOfSets(Population[HiddenSets]):
    """Gaussian lengths of coordinates, and queries that add up 2 to half of the networks."""

    settings = Space(
        d=Integer(6, 4, 8, "dimension", corners=(5, 7)),
        r=Integer(4, 2, 6, "even size of the hidden sets", step=2, corners=(2, 4)),
        query=Choice("networks", ("networks", "networks and noise"), "whether the query contains noise"),
    ).where("r is below d", lambda setting: setting["r"] < setting["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenSets:
        first, second, third = jax.random.split(key, 3)
        d, r = setting["d"], setting["r"]
        lengths = jnp.abs(jax.random.normal(first, (3, d)))
        most = len(list(itertools.combinations(range(d), r))) // 2
        planted = jax.random.randint(third, (), 2, max(most, 2) + 1).astype(float)
        noise = jax.random.normal(second, (3 * 2**d,))
        return HiddenSets(lengths, noise, planted, r, setting["query"] == "networks")

    def hypotheses(self, problem: HiddenSets) -> list[Hypothesis]:
        return [
            Hypothesis("the least length of a coordinate", problem.lengths.min(), ">", 0.0, "otherwise networks vanish")
        ]


class ParityNetworksAreOrthogonal(Claim[HiddenSets]):
    """Let S be a set of r coordinates, and let x_S be these coordinates of x. The parity network g_S of S is the sum
    over w in {-1, 1}^r of w_1 ... w_r relu(<w, x_S>/sqrt(r)). Let x o z be the product of x and z, entry by entry. For
    every x, the mean over signs z that are uniform on {-1, 1}^d is

        E_z[g_S(x o z) g_T(x o z)] = g_S(x)² if S = T, and 0 otherwise.

    So networks of different sets S and T are orthogonal under every distribution that sign flips do not change, such as
    the Gaussian.
    """

    title = "ReLU networks that hide parities of different sets of coordinates (parity networks) are orthogonal"
    source = Source("emergence2026", "Lemma 11.11", "Figure 11.3")
    population = QueriesOfSets()
    relation = Equal(block=-1)
    control = Control(
        "the inner product of the networks of different sets is a hundredth of their squared norms",
        lambda value, problem: value + 0.01 * jnp.diagonal(value).max() * (1 - jnp.eye(len(value))),
    )
    controls = "the inner product of two targets of the family"
    unexplained = "distributions of inputs with correlated signs"

    def predict(self, problem: HiddenSets) -> Array:
        x = problem.lengths[0]
        each = jax.vmap(lambda chosen: parity_network(x[chosen], jax.nn.relu))
        return jnp.diag(each(jnp.asarray(problem.sets)) ** 2)

    def measure(self, problem: HiddenSets, key: Key[Array, ""]) -> Array:
        """Return E_z[g_S(x o z) g_T(x o z)] for all S and T, as a mean over all 2^d sign flips."""
        values = problem.networks(row=0)
        return values @ values.T / values.shape[1]

    def condition(self, problem: HiddenSets) -> Array:
        """Bound the rounding errors. 2^r terms cancel in each network."""
        x = problem.lengths[0]
        terms = jax.vmap(lambda chosen: magnitude(x[chosen], jax.nn.relu))(jnp.asarray(problem.sets)).max()
        return terms / jnp.sqrt(self.predict(problem).max())


class FewTargetsPerQuery(Claim[HiddenSets]):
    """Let the functions g_S be orthonormal, and let q be a function with E q² <= 1. The correlation |E[q g_S]| is at
    least tau for at most

        1/tau²

    of the functions. If q is the sum of K of these functions, divided by sqrt(K), the bound is attained with tau =
    K^(-1/2).

    Each correlational query is such a function q. The trials use one normalised parity network g_S for each set S of r
    of the d coordinates. A parity network is proportional to the sum over w in {-1, 1}^r of w_1 ... w_r relu(<w, x_S>).
    There are binom(d, r) sets. So if all answers may have errors of tau, a learner needs at least about tau² binom(d,
    r) queries.
    """

    title = "A correlational query has correlations of tau or more with at most 1/tau² of many orthonormal targets"
    source = Source("emergence2026", "Figure 11.4", "Theorem 11.7", note="the count for one query")
    population = QueriesOfSets()
    relation = AtMost()
    control = Control("at most 1/(2 tau²) of the functions have such a correlation", lambda count, problem: count / 2)
    controls = "how many targets one query can distinguish from zero"
    unexplained = "how to choose the queries"

    def predict(self, problem: HiddenSets) -> Array:
        return 1 / self._tau(problem) ** 2

    def measure(self, problem: HiddenSets, key: Key[Array, ""]) -> Array:
        values = problem.networks()
        family = values / jnp.sqrt(jnp.mean(values**2, axis=1, keepdims=True))
        chosen = jnp.arange(len(family)) < problem.planted
        query = chosen @ family + (0.0 if problem.pure else problem.noise)
        query = query / jnp.sqrt(jnp.mean(query**2))
        return jnp.sum(jnp.abs(family @ query) / values.shape[1] >= self._tau(problem)).astype(float)

    def trivial(self, problem: HiddenSets) -> Array:
        """Return the number of all functions of the family."""
        return jnp.asarray(float(len(problem.sets)))

    def _tau(self, problem: HiddenSets) -> Array:
        """Return 1/sqrt(K), minus the possible rounding error of a correlation, for a query that adds up K networks."""
        return (1 - 1e-7) / jnp.sqrt(problem.planted)
