"""The top of a convolutional machine: pooling by inducing points, and what labels do to Gram matrices below.

Global average pooling asks for covariances of all pairs of sites of an image, which a machine does not carry; inducing
points say something of them. Labels then pull on the learned Gram matrices with a force that the weight nu of their
divergence from the prior resists. The theory controls how far approximate variances are from exact ones, and how
Gram matrices move with nu. It leaves open whether moving them helps on rows that were not trained on.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Limit, Order, Source, Status
from lemmata.engine.problems._pooled_sites import PooledSites, Sites
from lemmata.engine.problems._stiff_machines import StiffMachine, StiffMachines
from lemmata.subjects.machines import pool_grams

_KEY = "milsom2024convolutional"
_pooled = jax.jit(pool_grams, static_argnames="residuals")


class PoolingByInducingPoints(Claim[PooledSites]):
    """The mean over an image's sites of features has as its variance the mean of the covariances of all pairs of sites.
    With m the mean over sites of their covariances K_ti with inducing points, the variance that these explain,

        m K_ii^-1 m',

    is at most that; it is equal where features of sites are sums of those of inducing points.
    """

    title = "Pooling by inducing points explains at most the variance"
    source = Source(_KEY, "Abstract, top layers", note="global average pooling")
    stated = Kind.OWN
    population = Sites()
    relation = AtMost()
    control = Control("nine tenths of the exact variance suffice", lambda exact, problem: 0.9 * exact)
    controls = "the variance of pooled images"
    unexplained = "what inducing points leave out"
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.exact)

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        return _pooled(problem.carried, residuals="dropped").variance

    def trivial(self, problem: PooledSites) -> Array:
        """The mean of squares is at least the square of the mean."""
        return jnp.asarray(problem.mean_variance)

    def condition(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.spread * problem.inducing)


class IndependentRestAsCoded(Claim[PooledSites]):
    """As the published code has it: what inducing points leave unexplained at different sites of an image is
    independent, so that with r the mean over its S sites of k_t - K_ti K_ii^-1 K_it, the variance of the mean over
    sites is at most

        m K_ii^-1 m' + r/S.

    Neighbouring sites share parts of their patches, so that what is unexplained of them is alike and does not average
    out.
    """

    title = "Independent residuals of sites"
    source = Source(_KEY, "Abstract, top layers", note="as the published code pools")
    stated = Kind.OWN
    population = Sites()
    relation = AtMost()
    control = Control("nine tenths of it suffice", lambda bound, problem: 0.9 * bound)
    controls = "the variance of pooled images"
    unexplained = "how alike the rest of two sites is"
    expected = Status.REFUTED
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return _pooled(problem.carried, residuals="independent").variance

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        """From all pairs of sites."""
        return jnp.asarray(problem.exact)

    def trivial(self, problem: PooledSites) -> Array:
        """The mean of squares is at least the square of the mean."""
        return jnp.asarray(problem.mean_variance)

    def condition(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.spread * problem.inducing)


class DependentRest(Claim[PooledSites]):
    """Whatever the dependence of sites, with r the mean over an image's sites of k_t - K_ti K_ii^-1 K_it the variance
    of the mean over its sites is at most

        m K_ii^-1 m' + r,

    with equality where all its sites are equal.
    """

    title = "The variance of a pooled image, whatever its sites share"
    source = Source(_KEY, "Abstract, top layers", note="with residuals that depend on each other")
    population = Sites()
    relation = AtMost()
    control = Control("half of the rest suffices", lambda bound, problem: (bound + _explained(problem)) / 2)
    controls = "the variance of pooled images"
    unexplained = "how alike the rest of two sites is"
    corrects = IndependentRestAsCoded
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return _pooled(problem.carried, residuals="dependent").variance

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        """From all pairs of sites."""
        return jnp.asarray(problem.exact)

    def trivial(self, problem: PooledSites) -> Array:
        """The mean of squares is at least the square of the mean."""
        return jnp.asarray(problem.mean_variance)

    def condition(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.spread * problem.inducing)


def _explained(problem: PooledSites) -> Array:
    return _pooled(problem.carried, residuals="dropped").variance


class GramsLearnAtFiniteStiffness(Claim[StiffMachine]):
    """A machine of one learned Gram matrix G, then ReLU, pooling and a Gaussian process with noisy labels, maximises
    the bound on the log density of labels less nu times the divergence of N(0, G) from N(0, K). As nu grows the
    maximiser approaches the prior's K, where no representation is learned: with L L' = K and the bound's gradient B' by
    G at K,

        nu |L^-1 G L^-T - I| -> 2 |L' B' L|.
    """

    title = "Gram matrices depart from the prior like the bound's gradient over nu"
    source = Source(_KEY, "Abstract, infinite width", "Abstract, retained")
    stated = Kind.OWN
    population = StiffMachines()
    relation = Limit("stiffness", (1e3, 1e4, 1e5), margin=0.001, resolution=0.002)
    control = Control("a tenth farther", lambda distance, problem: 1.1 * distance)
    controls = "how far Gram matrices are from their prior"
    unexplained = "small nu, where maximisers may be several; any smooth objective with a weight nu has such a limit"
    reading = (
        "representation learning: a Gram matrix of a layer that depends on labels; standard limits: nu is infinite"
    )
    traced = False
    trials = 16

    def predict(self, problem: StiffMachine) -> Array:
        """By differences of the bound along V of G = L V V' L', whose gradient at the identity is 2 L' B' L."""
        p, step = len(problem.grams.inducing), 1e-4
        moves = step * np.eye(p * p).reshape(p * p, p, p)
        slopes = [problem.bound(np.eye(p) + move) - problem.bound(np.eye(p) - move) for move in moves]
        return jnp.asarray(np.linalg.norm(slopes) / (2 * step))

    def measure_at(self, problem: StiffMachine, key: Key[Array, ""], stiffness: float) -> Array:
        factor = problem.best(stiffness)[0]
        return jnp.asarray(stiffness * np.linalg.norm(factor @ factor.T - np.eye(len(factor))))


class FitFallsWithStiffness(Claim[StiffMachine]):
    """A machine of one learned Gram matrix, then ReLU, pooling and a Gaussian process with noisy labels: the bound on
    the log density of the labels it is trained on, at the maximiser of that bound less nu times the divergence from the
    prior, falls as nu rises from 0.1 to 1, 10 and 100.
    """

    title = "The fit falls with nu"
    source = Source(_KEY, "Abstract, retained", note="what its weight nu does")
    stated = Kind.OWN
    population = StiffMachines()
    relation = Order("stiffness", (0.1, 1.0, 10.0, 100.0))
    control = Control("it rises", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "the fit of the labels that are trained on"
    unexplained = "accuracy on other rows, which may fall where the fit rises; any penalty does so at exact maximisers"
    traced = False
    trials = 16

    def predict(self, problem: StiffMachine) -> Array:
        return jnp.asarray(-1.0)

    def measure(self, problem: StiffMachine, key: Key[Array, ""]) -> Array:
        """From the stiffest down, each from the one before."""
        factor, bounds = None, []
        for stiffness in reversed(self.relation.rungs):
            factor, bound = problem.best(stiffness, factor)
            bounds.append(bound)
        return jnp.asarray(bounds[::-1])
