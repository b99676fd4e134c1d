"""Circuits: limits of what patching single sites and adding up gradients can show about a cause.

A site is an activation of a model. Patching replaces its value by the value of another run: the clean run shows a
behaviour, and the corrupted run does not. The theory compares the effects of single sites with the effect of all sites
together, and first-order attribution with the true change of an output. It assumes that you know on which sites the
behaviour depends. It does not explain how to find them.
"""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Rate, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "combinatorics",
    "architecture": "any",
    "object": "estimator",
    "Attribution": {"tool": "approximation theory", "architecture": "dense network"},
    "IntegratedGradients": {"tool": "linear algebra", "architecture": "dense network"},
}

_DIRECTIONS = 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class SmoothOutput(eqx.Module):
    """An output y(z) = v'tanh(W z / sqrt(d) + b) of d features z, a point z, and a change of the features."""

    inner: Float[Array, "width d"]
    bias: Float[Array, " width"]
    outer: Float[Array, " width"]
    z: Float[Array, " d"]
    change: Float[Array, " d"]

    def y(self, z: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the output at z."""
        return self.outer @ jnp.tanh(self.inner @ z / jnp.sqrt(len(z)) + self.bias)


class AbstractAttribution(Claim[SmoothOutput]):
    """Base of claims on the attribution of an output to features."""

    population = Drawn(
        SmoothOutput,
        width=Integer(16, 2, 256, "units"),
        d=dimension(6, 1, 64),
        inner=normal("width", "d"),
        bias=normal("width"),
        outer=normal("width"),
        z=normal("d"),
        change=normal("d"),
    )


class Attribution(AbstractAttribution):
    """Let y be a smooth output of features z. First-order attribution predicts that a change dz of the features changes
    y by sum_j (dy/dz_j) dz_j. For small changes, the error of this prediction is of the order

        |dz|².

    If y is linear between z and z + dz, as a ReLU network is inside a linear region, then the error is 0. The test uses
    y = v'tanh(W z / sqrt(d) + b).
    """

    title = "The error of first-order attribution is quadratic in the change of the features"
    source = Source("emergence2026", "Equation 18.7", "Figure 18.12", note="with the order of the error")
    relation = Rate("|dz|", (0.02, 0.04, 0.08, 0.16), margin=0.05, resolution=0.1)
    control = Control("the error is of the order |dz|^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how large an intervention first-order attribution can predict"
    unexplained = "the constant, and changes that cross many kinks of a ReLU network"
    trials = 32
    predict = 2.0

    def measure_at(self, problem: SmoothOutput, key: Key[Array, ""], rung: float) -> Array:
        """Return the root mean square error of the prediction over random directions of the change dz."""
        ways = jax.random.normal(key, (_DIRECTIONS, len(problem.z)))
        ways = rung * ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        slope = jax.grad(problem.y)(problem.z)
        true = jax.vmap(lambda way: problem.y(problem.z + way))(ways) - problem.y(problem.z)
        return jnp.sqrt(jnp.mean((true - ways @ slope) ** 2))


class IntegratedGradients(AbstractAttribution):
    """Let y be a smooth output of features, and let z_0 and z be two points. The integrated gradient IG_j of feature j
    is (z_j - z_0j) times the mean of dy/dz_j over the line from z_0 to z. The sum of the integrated gradients of all
    features is exactly

        sum_j IG_j = y(z) - y(z_0).
    """

    title = "Integrated gradients add up to the change of the output"
    source = Source("sundararajan2017", "Proposition 1")
    relation = Equal()
    control = Control(
        "the gradient at z_0 alone gives the change",
        lambda change, problem: jax.grad(problem.y)(problem.z) @ problem.change,
    )
    controls = "the total that an attribution distributes over features"
    unexplained = "whether a share of the total is the effect of an intervention on one feature"

    def predict(self, problem: SmoothOutput) -> Array:
        return problem.y(problem.z + problem.change) - problem.y(problem.z)

    def measure(self, problem: SmoothOutput, key: Key[Array, ""]) -> Array:
        """Return the sum of the integrated gradients, by quadrature with 64 nodes on the line from z_0 to z."""
        slopes = jax.vmap(lambda t: jax.grad(problem.y)(problem.z + (1 + t) / 2 * problem.change))(jnp.asarray(_NODES))
        return jnp.sum(problem.change * (jnp.asarray(_WEIGHTS) / 2 @ slopes))

    def condition(self, problem: SmoothOutput) -> Array:
        """The condition number: the terms of the sum over features, and the two outputs, may cancel."""
        change = jnp.abs(problem.y(problem.z + problem.change) - problem.y(problem.z))
        reach = jnp.abs(problem.outer) @ (jnp.abs(problem.inner) @ jnp.abs(problem.change))
        return len(problem.z) * (4 + (reach + jnp.sum(jnp.abs(problem.outer))) / change)


class Circuit(eqx.Module):
    """A behaviour that occurs if all sites of at least one of several sets are in their clean state.

    Args:
        sets: the sites of each set, one set in each row.
        clean: the activation of each site in the clean run.
        corrupt: the activation of each site in the corrupted run.
    """

    sets: Bool[Array, "sets r"]
    clean: Float[Array, "r w"]
    corrupt: Float[Array, "r w"]

    def behaviour(self, kept: Bool[Array, " r"]) -> Float[Array, ""]:
        """Return the output of a network with clean activations at the kept sites and corrupted activations elsewhere.

        Args:
            kept: whether each site is clean.
        """
        activations = jnp.where(kept[:, None], self.clean, self.corrupt)
        way = self.clean - self.corrupt
        site = jnp.sum((activations - self.corrupt) * way, axis=1) / jnp.sum(way**2, axis=1)
        units = jnp.maximum(4 * (self.sets @ site - self.sets.sum(axis=1)) + 2, 0.0)  # 2 if the set is clean
        return jnp.minimum(units.sum(), 1.0)


class Circuits(Population[Circuit]):
    """Circuits of r sites: each site is enough, or all are needed (a quarter of the problems each), or random sets."""

    settings = Space(r=Integer(5, 2, 7, "sites", corners=(3, 6)), w=Integer(4, 1, 64, "width of a site"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Circuit:
        r = setting["r"]
        kind_key, set_key, share_key, clean_key, corrupt_key, site_key = jax.random.split(key, 6)
        kind = jax.random.randint(kind_key, (), 0, 4)
        drawn = jax.random.bernoulli(set_key, jax.random.uniform(share_key, minval=0.3, maxval=0.9), (r, r))
        drawn = drawn | (jnp.arange(r) == jax.random.randint(site_key, (r, 1), 0, r))
        sets = jnp.where(kind == 0, jnp.eye(r, dtype=bool), jnp.where(kind == 1, True, drawn))
        state = lambda own: jax.random.normal(own, (r, setting["w"]))
        return Circuit(sets, state(clean_key), state(corrupt_key))

    def hypotheses(self, problem: Circuit) -> list[Hypothesis]:
        apart = jnp.min(jnp.linalg.norm(problem.clean - problem.corrupt, axis=1))
        least = jnp.min(problem.sets.sum(axis=1)).astype(float)
        return [
            Hypothesis(
                "the smallest distance between clean and corrupted activations",
                apart,
                ">",
                0.0,
                "the two runs must differ at each site",
            ),
            Hypothesis(
                "the size of the smallest set", least, ">=", 1.0, "otherwise the corrupted run shows the behaviour"
            ),
        ]


class AbstractSites(Claim[Circuit]):
    """Base of claims on the effects of patching sites."""

    population = Circuits()
    relation = Equal()
    unexplained = "behaviours that are graded, and sites that influence each other"

    def condition(self, problem: Circuit) -> Array:
        """The condition number: rounding in inner products of w numbers, and small differences of activations."""
        way = problem.clean - problem.corrupt
        size = jnp.maximum(jnp.abs(problem.clean), jnp.abs(problem.corrupt)).max()
        return 16.0 * way.size * (1 + size / jnp.min(jnp.linalg.norm(way, axis=1)))


class Redundancy(AbstractSites):
    """A site is an activation of a model, and its value comes either from a clean run or from a corrupted run. A
    behaviour is 1 if at least one of several sets of sites is entirely clean, and 0 otherwise. So it is 1 in the clean
    run and 0 in the corrupted run. Corrupting a single site of the clean run has the effect 1 if the site is in every
    set, and 0 otherwise. Restoring a single site of the corrupted run has the effect 1 if this site alone is one of the
    sets, and 0 otherwise. So the effects of r single sites sum to

        0 by corrupting and r by restoring, if each single site is enough,
        r by corrupting and 0 by restoring, if all sites are needed,

    although all sites together have the effect 1 in both cases.

    Derivation: corrupting a site destroys the sets that contain it, and restoring a site completes the sets that
    consist of it alone.
    """

    title = (
        "The effects of patching single sites show which sites are necessary or enough, but do not sum to the joint "
        "effect"
    )
    source = Source("emergence2026", "Remark 18.5", "Figure 18.4", note="for behaviours that sets of sites cause")
    stated = Kind.OWN
    control = Control("the effects of single sites sum to the joint effect", lambda effect, problem: jnp.ones(2))
    controls = "what patching one site at a time can prove about a circuit"

    def predict(self, problem: Circuit) -> Array:
        needed = problem.sets.all(axis=0)
        alone = (problem.sets & (problem.sets.sum(axis=1) == 1)[:, None]).any(axis=0)
        return jnp.stack([needed.sum(), alone.sum()]).astype(float)

    def measure(self, problem: Circuit, key: Key[Array, ""]) -> Array:
        one = jnp.eye(problem.sets.shape[1], dtype=bool)
        ablated = 1 - jax.vmap(problem.behaviour)(~one)
        return jnp.stack([ablated.sum(), jax.vmap(problem.behaviour)(one).sum()])


class ShapleyValues(AbstractSites):
    """A site is an activation of a model, and it is clean or corrupted. Let a behaviour occur if all sites of at least
    one of the sets S_1, ..., S_k are clean. The Shapley value of a site is its mean effect when the sites are restored
    one after the other, in a uniformly random order. For a set I of indices, let S_I be the union of S_j over j in I.
    Let [i in S_I] be 1 if i is in S_I, and 0 otherwise. The Shapley value of site i is

        sum over nonempty I of (-1)^(|I| + 1) [i in S_I] / |S_I|.

    The values sum to the joint effect 1. If each single site is enough, or if all r sites are needed, each value is
    1/r.

    Derivation: the behaviour is 1 - prod_j (1 - [S_j is clean]), which is the sum over nonempty I of (-1)^(|I| + 1)
    [S_I is clean]. The game [S is clean] gives each site of S the value 1/|S| by symmetry, and Shapley values are
    linear.
    """

    title = "The Shapley values of a circuit's sites have a closed form in the sets of sites that are enough"
    source = Source("shapley1953", note="for a union of unanimity games, by inclusion and exclusion")
    stated = Kind.OWN
    control = Control(
        "the value is the mean of the effects of corrupting and of restoring the site alone",
        lambda value, problem: (
            (problem.sets.all(axis=0) + (problem.sets & (problem.sets.sum(axis=1) == 1)[:, None]).any(axis=0)) / 2
        ),
    )
    relation = Equal(block=1)
    controls = "how the joint effect is divided among sites"

    def predict(self, problem: Circuit) -> Array:
        count, r = problem.sets.shape
        value = jnp.zeros(r)
        for chosen in itertools.product((False, True), repeat=count):
            if any(chosen):
                union = problem.sets[np.flatnonzero(chosen)].any(axis=0)
                value += -((-1.0) ** sum(chosen)) * union / union.sum()
        return value

    def measure(self, problem: Circuit, key: Key[Array, ""]) -> Array:
        """Return the effect of each site, as a weighted mean over all subsets of the other sites."""
        r = problem.sets.shape[1]
        parts = jnp.asarray(list(itertools.product((False, True), repeat=r)))
        shown = jax.vmap(problem.behaviour)(parts)
        weight = jnp.asarray([1 / (r * math.comb(r - 1, k)) if k < r else 0.0 for k in range(r + 1)])
        place = 2 ** jnp.arange(r - 1, -1, -1)
        code = parts @ place
        gain = lambda i: jnp.sum(
            jnp.where(parts[:, i], 0.0, weight[parts.sum(axis=1)] * (shown[(code + place[i]) % 2**r] - shown))
        )
        return jax.vmap(gain)(jnp.arange(r))
