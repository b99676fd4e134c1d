"""Stored features: how many features a model packs into few dimensions, and how many can be read out.

Features are stored in superposition if there are more of them than dimensions. The theory compares the loss of storing
features in superposition with the loss of storing fewer of them. It also counts the active features that can be
recovered from the sum of their directions, by a threshold on inner products or by a sparse decoder. It assumes
independent sparse features and random or trained directions. It does not explain why the features of real models are
sparse.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import optimize
from scipy.stats import norm

from lemmata.engine.claims import AtLeast, Claim, Control, EqualInMean, Hypothesis, Integer, Kind, Order, Source
from lemmata.engine.problems.drawn import Drawn, positive, uniform
from lemmata.subjects.features._toy_model import stored
from lemmata.subjects.features._two_features import pair_boundary

ABOUT = {
    "tool": "statistics",
    "architecture": "dense network",
    "object": "construction",
    "LinearReadout": {"tool": "concentration", "architecture": "any", "object": "estimator"},
    "SparseDecoding": {"tool": "convex optimisation", "architecture": "any", "object": "estimator"},
}

_ADAM = 1000


class ToyModel(eqx.Module):
    """The sizes of a toy model that stores features in a few dimensions, and the probability of an active feature."""

    m: int = eqx.field(static=True)
    ratio: int = eqx.field(static=True)
    p: Float[Array, ""]

    def gain(self, key: Key[Array, ""], ratio: float | int, p: Array | float) -> Array:
        """Return the trained model's |W|²/m, minus |W|²/m of a model without the ReLU on the same rows.

        Args:
            key: the random key for the start and the rows.
            ratio: n/m, the number of features per dimension.
            p: the probability that a feature is active.
        """
        size = lambda relu: jnp.sum(stored(key, round(ratio * self.m), self.m, p, steps=_ADAM, relu=relu) ** 2) / self.m
        return size(True) - size(False)


class AbstractStoredFeatures(Claim[ToyModel]):
    """Base of claims on the trained toy model y = ReLU(W'W x + b)."""

    stated = Kind.OWN
    population = Drawn(
        ToyModel,
        positive("p"),
        m=Integer(3, 3, 6, "dimensions", corners=(3, 4)),
        ratio=Integer(4, 3, 8, "features per dimension", corners=(3, 5)),
        p=uniform(0.04, 0.08),
    )
    controls = "how many features a model stores in each dimension"
    trials = 12


class FewerFeaturesIfDense(AbstractStoredFeatures):
    """Train y = ReLU(W'W x + b) on the squared error of n features in m < n dimensions, where W is m x n. Each feature
    is independent, uniform on [0, 1] with probability p, and 0 otherwise. Let |W|²/m be the number of features per
    dimension. From this number, subtract the number of features per dimension of the same model without the ReLU. The
    difference falls as the probability p rises.

    So features that are active more often push the model away from superposition.
    """

    title = "The number of features stored in superposition falls with the frequency of the features"
    source = Source("elhage2022superposition", note="the feature count |W|² against the frequency")
    relation = Order("p", (0.02, 0.1, 0.4))
    control = Control("the number rises", lambda sign, problem: -sign)
    unexplained = "the values of p at which the number falls"
    predict = -1.0

    def measure_at(self, problem: ToyModel, key: Key[Array, ""], rung: float) -> Array:
        return problem.gain(key, problem.ratio, rung)


class MoreFeaturesUnderPressure(AbstractStoredFeatures):
    """Train y = ReLU(W'W x + b) on the squared error of n features in m < n dimensions. Each feature is independent,
    uniform on [0, 1] with a probability p from 0.04 to 0.08, and 0 otherwise. Let |W|²/m be the number of features per
    dimension. From this number, subtract the number of features per dimension of the same model without the ReLU. The
    difference rises as n/m grows from 4/3 to 4.
    """

    title = "The number of features stored in superposition per dimension rises with the number of features"
    source = Source("elhage2022superposition", note="features per dimension |W|²/m against n/m")
    relation = Order("n/m", (4 / 3, 2.0, 4.0))
    control = Control("the number falls", lambda sign, problem: -sign)
    unexplained = "the ratio n/m at which the number stops rising"
    predict = 1.0

    def measure_at(self, problem: ToyModel, key: Key[Array, ""], rung: float) -> Array:
        return problem.gain(key, rung, problem.p)


class Importance(eqx.Module):
    """The importance r of the second of two features, relative to the first."""

    r: Float[Array, ""]


class PairBeatsOneFeature(Claim[Importance]):
    """Let y = ReLU(w w'x + b) store two features in one dimension, where w and b have two entries. Each feature is
    uniform on [0, 1] with probability p and 0 otherwise. In the loss, the squared errors on the two features have the
    weights 1 and r <= 1/2. The antipodal pair w = (1, -1), b = 0 has the loss p²(1 + r)/6. The best model that ignores
    the second feature has the loss r (p/3 - p²/4). So the pair is better for every p up to

        4 r / (2 + 5 r).

    The largest p for which the best antipodal pair is better is above this value.

    Derivation: the pair errs only if both features are active. Then both outputs err by the smaller feature, whose mean
    square is 1/6. The model that ignores the second feature predicts this feature by its mean, so the mean squared
    error is the variance p/3 - p²/4. Comparing the two losses gives the bound on p.
    """

    title = "In one dimension, storing two sparse features as an antipodal pair is better than storing only one of them"
    source = Source("elhage2022superposition", note="two features, with a bound on the boundary between the phases")
    stated = Kind.OWN
    population = Drawn(Importance, positive("r"), r=uniform(0.1, 0.5))
    relation = AtLeast()
    control = Control("the pair is better up to 5/4 times this p", lambda bound, problem: 1.25 * bound)
    controls = "where superposition begins"
    unexplained = "the exact boundary, and importances above 1/2, for which there is a third phase in between"
    trivial = 0.0  # a frequency is at least 0
    traced = False

    def predict(self, problem: Importance) -> Array:
        return 4 * problem.r / (2 + 5 * problem.r)

    def measure(self, problem: Importance, key: Key[Array, ""]) -> Array:
        """Return the largest such p, found by bisection. BFGS minimises the exact loss, starting from w = (1, -1)."""
        return jnp.asarray(pair_boundary(float(problem.r), 1e-4))

    def condition(self, problem: Importance) -> Array:
        """The condition number: the bisection is accurate to 1e-4, for frequencies p of at least 0.15."""
        return jnp.asarray(1e11)


class ActiveFeatures(eqx.Module):
    """Active features among n features with random directions in d dimensions.

    Args:
        load: the number of active features, as a multiple of d/(8 ln n).
        n: the number of directions.
        d: the dimension.
    """

    load: Float[Array, ""]
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    @property
    def k(self) -> Float[Array, ""]:
        """The number of active features."""
        return jnp.round(self.load * self.d / (8 * jnp.log(self.n)))


def _cap(c: Array, d: int) -> Array:
    """Return the probability that the first coordinate of a uniform unit vector in R^d is above c in (0, 1)."""
    return jax.scipy.special.betainc((d - 1) / 2, 0.5, jnp.clip(1 - c**2, 0.0, 1.0)) / 2


def readout_failure(k: Array, n: int, d: int, threshold: float = 0.5) -> Array:
    """Return the approximate probability that a threshold misreads some feature on a sum of k of n random directions.

    Args:
        k: the number of active features.
        n: the number of directions.
        d: the dimension.
        threshold: the threshold on the inner product.
    """
    silent = (n - k) * _cap(threshold / jnp.sqrt(k), d)
    active = jnp.where(k > 1, k * _cap(threshold / jnp.sqrt(jnp.maximum(k - 1, 1)), d), 0.0)
    return -jnp.expm1(-silent - active)


class LinearReadout(Claim[ActiveFeatures]):
    """Let u_1, ..., u_n be independent and uniform on the unit sphere of R^d, and let x be the sum of k of them. Read
    feature i as active if <u_i, x> > 1/2. Let T(c) be the probability that a random unit vector has a cosine above c
    with a given unit vector. This is T(c) = I_(1 - c²)((d - 1)/2, 1/2)/2, where I is the regularised incomplete beta
    function. The probability that at least one feature is misread is about

        1 - exp(-(n - k) T(1/(2 sqrt(k))) - k T(1/(2 sqrt(k - 1)))).

    So about k = d/(8 ln n) active features can be read. If n <= d and the directions are orthonormal, no feature is
    misread.

    Derivation: a sum of k random directions has a length of about sqrt(k). An inactive feature is misread if its
    direction is in the cap <u, x> > 1/2. An active feature contributes 1 to its own readout. It is misread if the other
    active features contribute less than -1/2. The derivation treats the n events of a misreading as independent and
    rare.
    """

    title = "The probability that a linear readout misreads features in superposition has an approximate formula"
    source = Source("emergence2026", "Figure 18.6", note="interference, with the probability of an error")
    stated = Kind.OWN
    population = Drawn(
        ActiveFeatures,
        lambda problem: Hypothesis(
            "active features", problem.k, ">=", 3.0, "the approximation needs several active features"
        ),
        load=uniform(0.85, 1.4),
        n=Integer(384, 256, 1024, "directions", corners=(300, 500)),
        d=Integer(256, 192, 512, "dimension", corners=(200, 300)),
    )
    relation = EqualInMean(margin=0.08, resolution=0.05, relative=False)
    control = Control(
        "the capacity is d/(2 ln n), not d/(8 ln n)",
        lambda failure, problem: readout_failure(problem.k, problem.n, problem.d, threshold=1.0),
    )
    controls = "how many active features can be read at once by inner products"
    unexplained = "trained directions, which interfere less"
    trials = 64

    def predict(self, problem: ActiveFeatures) -> Array:
        return readout_failure(problem.k, problem.n, problem.d)

    def measure(self, problem: ActiveFeatures, key: Key[Array, ""]) -> Array:
        """Return the share of 8 random sets of directions on which some feature is misread.

        From this share, 1 is subtracted if some feature is misread for d orthonormal directions.
        """
        active = jnp.arange(max(problem.n, problem.d)) < problem.k

        def misread(u: Array) -> Array:
            on = active[: len(u)]
            return jnp.any((u @ (on @ u) > 0.5) != on)

        def one(own: Array) -> Array:
            u = jax.random.normal(own, (problem.n, problem.d))
            return misread(u / jnp.linalg.norm(u, axis=1, keepdims=True))

        orthonormal = misread(jnp.eye(problem.d))
        return jnp.mean(jax.lax.map(one, jax.random.split(key, 8)).astype(float)) - orthonormal


class SparseCodes(eqx.Module):
    """A number n of codes, of which about the share `sparsity` is active."""

    sparsity: Float[Array, ""]
    n: int = eqx.field(static=True)

    @property
    def active(self) -> int:
        """The number of active codes."""
        return max(round(float(self.sparsity) * self.n), 1)


def decoding_share(rho: float, sides: int = 1) -> float:
    """Return psi(rho), the number of random equations per unknown at which l_1 decoding begins to succeed.

    Args:
        rho: the share of active entries.
        sides: 1 if codes are nonnegative, 2 if their signs are free.
    """

    def mean(t: float) -> float:
        return float(rho * (1 + t**2) + sides * (1 - rho) * ((1 + t**2) * norm.sf(t) - t * norm.pdf(t)))

    return mean(float(np.asarray(optimize.fminbound(mean, 0.0, 10.0, xtol=1e-9))))


def fewest_equations(u: np.ndarray, z: np.ndarray, decode) -> int:
    """Find the least m for which decode(u[:m], u[:m] @ z) is z, by bisection.

    Bisection is valid because decoding that succeeds with m equations also succeeds with more.

    Args:
        u: equations, one in each row. All of them together must be enough.
        z: the true codes.
        decode: a function of the equations and their right-hand sides.
    """
    fails, works = 0, len(u)
    while works - fails > 1:
        m = (fails + works) // 2
        right = np.abs(decode(u[:m], u[:m] @ z) - z).max() < 1e-5
        fails, works = (fails, m) if right else (m, works)
    return works


def least_sum(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the z >= 0 of least sum with a z = x, by linear programming."""
    found = optimize.linprog(np.ones(a.shape[1]), A_eq=a, b_eq=x, method="highs")
    return found.x if found.x is not None else np.full(a.shape[1], np.inf)


class SparseDecoding(Claim[SparseCodes]):
    """Let z >= 0 have n entries, and let a share rho of these entries be positive. Observe x = U z, where U has m rows
    and independent normal entries. Let f and F be the standard normal density and distribution function, and let

        psi(rho) = min over t >= 0 of rho (1 + t²) + (1 - rho)((1 + t²)(1 - F(t)) - t f(t)).

    The nonnegative solution of smallest l_1 norm equals z if U has at least about m = n psi(rho) rows. The solution of
    smallest l_2 norm is z only if m = n. For small rho, psi(rho) is about 2 rho ln(1/rho). So, with k = rho n positive
    entries, a sparse decoder can read about 4 ln n / ln(n/k) times as many features as a readout by thresholds.
    """

    title = "A formula gives the number of random measurements from which nonnegative sparse decoding succeeds"
    source = Source("amelunxen2014", "Theorem II", note="for nonnegative codes")
    population = Drawn(
        SparseCodes,
        positive("sparsity"),
        sparsity=uniform(0.08, 0.25),
        n=Integer(100, 80, 200, "features", corners=(80, 120)),
    )
    relation = EqualInMean(margin=0.02, resolution=0.03)
    control = Control(
        "as many dimensions are needed as for codes with free signs",
        lambda share, problem: jnp.asarray(decoding_share(problem.active / problem.n, 2)),
    )
    controls = "how many active features a decoder with an l_1 penalty recovers"
    unexplained = "dictionaries that are not random, and noise"
    trials = 100
    traced = False

    def predict(self, problem: SparseCodes) -> Array:
        return jnp.asarray(decoding_share(problem.active / problem.n))

    def measure(self, problem: SparseCodes, key: Key[Array, ""]) -> Array:
        """Return the fewest equations with which the solution of least l_1 norm is z, over those for least l_2 norm."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        u, z = rng.normal(size=(problem.n, problem.n)), np.zeros(problem.n)
        z[: problem.active] = 1 + rng.random(problem.active)
        return jnp.asarray(
            fewest_equations(u, z, least_sum) / fewest_equations(u, z, lambda a, x: np.linalg.lstsq(a, x)[0])
        )
