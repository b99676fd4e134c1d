"""Random features for a whole class of functions, without a cover: what remains true of Lemma 1 of li2025incontext.

This theory describes the largest distance of a function of a class from sums of n random ramps whose coefficients have
a bounded l_1 norm. Here F_sup is the largest modulus of the spectra, and M = integral of |omega| F_sup is finite. The
theory does not explain which coefficients attain the distance, since the proof is by duality.

Every function of the class is within M/(4 tau) of some g = E rho phi with |rho(theta)| <= 3 M, where E is the mean over
features theta = (u, t) from the distribution of the class (`approximation.ramp_integrals`). For a norm with dual ball
B, let A be all sums of a constant and n features whose coefficients are at most 3 M/n each. Then

    sup over g of dist(g, A) = 3 M sup { E|phi_mu| - P_n|phi_mu| : mu in B, mu(1) = 0 },

where phi_mu is the integral of phi over mu, and P_n is the mean over the n features. Indeed, dist(g, A) is the largest
value, over mu, of E rho phi_mu - (3 M/n) sum |phi_mu(theta_i)|. The best rho is 3 M sign(phi_mu). Symmetrisation and
contraction bound the expectation of the sup, and McDiarmid bounds its excess.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.sampled import draws
from lemmata.functions import Cosines, CosineSum, UniversalFeatures, features_of
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective
from lemmata.subjects.approximation._feature_pools import FeaturePool, FeaturePools

from ._hardest_functions import hardest, hardest_in_mean_square

ABOUT = {
    "tool": "empirical processes",
    "architecture": "random features",
    "object": "function class",
    "RiskWithoutCover": {"object": "generalisation"},
}


class CosineExamples(eqx.Module):
    """Examples y = f(x) + z, where f is a function of a class, and features that were drawn for the class.

    Args:
        functions: the class that contains f.
        function: the function f.
        features: the n ramps and the constant.
        x: the inputs, which lie in the unit ball.
        noise: the noise z of each example.
        sigma: the standard deviation of z.
    """

    functions: Cosines
    function: CosineSum
    features: UniversalFeatures
    x: Float[Array, "N d"]
    noise: Float[Array, " N"]
    sigma: Float[Array, ""]


class SlowCosines(Population[CosineExamples]):
    """The class of all a cos(x + theta) with |a| <= 1 on [-1, 1], at uniform inputs. The function f has a = 1."""

    settings = Space(
        n=Integer(512, 1, 4096, "features"),
        N=Integer(512, 1, 4096, "examples"),
        sigma=Real(0.005, 1e-6, 10.0, "standard deviation of the noise"),
        tau=Real(64.0, 4.1, 1e4, "sharpness"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineExamples:
        """Draw a uniform phase, uniform inputs and normal noise."""
        n, examples = setting["n"], setting["N"]
        omega, phase, x, noise = draws(key, (n, 2), (1,), (examples, 1), (examples,))
        functions = Cosines(jnp.ones((1, 1)), jnp.ones(1))
        theta = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phase)
        function = CosineSum(functions.atoms, functions.sizes, functions.sizes, theta)
        sigma = jnp.asarray(setting["sigma"])
        inputs = 2 * jax.scipy.stats.norm.cdf(x) - 1
        return CosineExamples(
            functions, function, features_of(functions, omega, setting["tau"]), inputs, sigma * noise, sigma
        )

    def hypotheses(self, problem: CosineExamples) -> list[Hypothesis]:
        sharp = Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1")
        return [in_unit_ball(problem.x), sharp]


_DELTA, _REPEATS, _GAP = 0.1, 4, 3e-3
_NUMBERS = (32.0, 64.0, 128.0, 256.0, 512.0)
_DISTANCE = "the largest distance over a class from the span of random features"
_WHICH = (
    "which coefficients attain the distance, and why thresholds spread over [-2, 1] do far better than "
    "the worst half-spaces"
)
_LEMMA = Source("li2025incontext", "Lemma 1", "(27)", note="a version without a cover, which is not in the source")
_QUARTER = Control("a quarter of the bound", lambda bound, problem: bound / 4)


def log_cells(features: int, dimension: int) -> float:
    """Return the log of the largest number of cells into which n hyperplanes cut R^d, the sum of C(n, k) over k <= d.

    Args:
        features: the number n of features.
        dimension: the dimension d.
    """
    return math.log(sum(math.comb(features, k) for k in range(min(features, dimension) + 1)))


def half_space_width(features: int, dimension: int) -> float:
    """Return the bound on W_n in `WidthOfRamps`, which is min(sqrt(2 log cells / n), 4.93 sqrt(d/n)).

    Args:
        features: the number n of features.
        dimension: the dimension d.
    """
    return min(math.sqrt(2 * log_cells(features, dimension) / features), 4.93 * math.sqrt(dimension / features))


def deviation(features: int) -> float:
    """Return (1/2) sqrt(log(1/delta) / (2n)) from McDiarmid's inequality for changes of 1/(2n).

    Args:
        features: the number n of features.
    """
    return 0.5 * math.sqrt(math.log(1 / _DELTA) / (2 * features))


def best_constant_of_class(problem: FeaturePool) -> Float[Array, ""]:
    """Return E|phi_x - phi_x'|/2 at the worst pair of points x and x', which is the largest distance of a function of
    the class from its best constant, if 3 M = 1.

    Args:
        problem: a pool of features; the class consists of all E rho phi with |rho| <= 1.
    """
    values = problem.values
    return jax.lax.map(lambda row: jnp.abs(row - values).mean(axis=1) / 2, values).max()


class WholeClassWithoutCover(Claim[FeaturePool]):
    """Let F_sup be the largest modulus of the spectra of a class on the unit ball of R^d, and let M = integral of
    |omega| F_sup. Draw n ramps phi_i(x) = min(max(tau (<u_i, x> - t_i) + 1/2, 0), 1), with t_i uniform in [-2, 1] and
    u_i = omega/|omega| for an omega of density |omega| F_sup(omega)/M. Let C(n, k) be binomial coefficients. With
    probability at least 1 - delta, every f of the class has coefficients with sum |c_i| <= 3 M and

        sup over |x| <= 1 of |f(x) - c_0 - sum_i c_i phi_i(x)|
            <= M (1/(4 tau) + 3 w + (3/2) sqrt(log(1/delta) / (2n))),
        w = min( sqrt(2 log(sum over k <= d of C(n, k)) / n),  4.93 sqrt(d/n) ).

    By contrast, the bound in Lemma 1 of the source contains a covering number. The test uses means f = E rho phi of
    ramps phi with weights |rho| <= 3 M = 1, which do not need the term 1/(4 tau).
    """

    title = "Random ramps approximate a whole Barron class uniformly, with an error bound without covering numbers"
    source = _LEMMA
    stated = Kind.OWN
    population = FeaturePools(dimension=1, features=512)
    relation = AtMost(delta=_DELTA)
    control = Control(
        "a tenth of the bound",
        lambda bound, problem: bound / 10,
        loose="the bound counts cells for the worst half-spaces, and spread thresholds do better",
    )
    controls = _DISTANCE
    unexplained = _WHICH

    def predict(self, problem: FeaturePool) -> Array:
        n = len(problem.chosen)
        return jnp.asarray(half_space_width(n, problem.x.shape[1]) + deviation(n))

    def measure(self, problem: FeaturePool, key: Key[Array, ""]) -> Array:
        """Return the distance of one function of the class, which an ascent finds."""
        return hardest(problem.values, problem.values[:, problem.chosen])[1]

    def trivial(self, problem: FeaturePool) -> Array:
        return best_constant_of_class(problem)


class WholeClassByComplexity(Claim[FeaturePool]):
    """Let F_sup be the largest modulus of the spectra of a class, and let M = integral of |omega| F_sup. Draw n ramps
    phi_i(x) = min(max(tau (<u_i, x> - t_i) + 1/2, 0), 1), with t_i uniform in [-2, 1] and u_i = omega/|omega| for an
    omega of density |omega| F_sup(omega)/M. Let eps_i = +-1 be random signs, and W_n the Rademacher complexity below.
    With probability at least 1 - delta, every f of the class has coefficients with sum |c_i| <= 3 M and

        sup over x of |f(x) - c_0 - sum_i c_i phi_i(x)| <= M (1/(4 tau) + 3 W_n + (3/2) sqrt(log(1/delta) / (2n))),
        W_n = E (1/n) [max over x - min over x] of sum_i eps_i phi_i(x).

    The test uses means f = E rho phi of ramps phi with weights |rho| <= 3 M = 1, which do not need the term 1/(4 tau).
    """

    title = "The Rademacher complexity of random ramps bounds their uniform approximation error over a whole class"
    source = _LEMMA
    stated = Kind.OWN
    population = FeaturePools()
    relation = AtMost(delta=_DELTA)
    control = _QUARTER
    controls = _DISTANCE
    unexplained = _WHICH

    def predict(self, problem: FeaturePool) -> Array:
        return problem.complexity() + deviation(len(problem.chosen))

    def measure(self, problem: FeaturePool, key: Key[Array, ""]) -> Array:
        """Return the distance of one function of the class, which an ascent finds."""
        return hardest(problem.values, problem.values[:, problem.chosen])[1]

    def trivial(self, problem: FeaturePool) -> Array:
        return best_constant_of_class(problem)


class WidthOfRamps(Claim[FeaturePool]):
    """Draw n ramps phi_i(x) = min(max(tau (<u_i, x> - t_i) + 1/2, 0), 1) of d variables from any distribution. Let
    eps_i = +-1 be random signs, and C(n, k) binomial coefficients. The Rademacher complexity of the ramps is

        W_n = E (1/n) [max over x - min over x] of sum_i eps_i phi_i(x)
           <= min( sqrt(2 log(sum over k <= d of C(n, k)) / n),  4.93 sqrt(d/n) ).

    Proof: a ramp is the mean, over |s| <= 1/2, of indicators of half-spaces <u, x> > t + s/tau. For each s, the n
    boundaries cut R^d into at most sum over k <= d of C(n, k) cells. On each cell, the vector of the n indicators minus
    1/2 is constant, and its length is sqrt(n)/2. Massart's lemma for the maximum and for the minimum gives the first
    bound. The second follows by chaining over nets: by Haussler, radius r needs at most e (d+1) (2e/r²)^d cells.
    """

    title = "An upper bound on the Rademacher complexity of random ramps of d variables"
    source = _LEMMA
    stated = Kind.OWN
    population = FeaturePools(dimension=1)
    relation = AtMost()
    control = _QUARTER
    controls = "the complexity of random features"
    unexplained = _WHICH
    trivial = 1.0  # no ramp moves by more than 1

    def predict(self, problem: FeaturePool) -> Array:
        return jnp.asarray(half_space_width(len(problem.chosen), problem.x.shape[1]))

    def measure(self, problem: FeaturePool, key: Key[Array, ""]) -> Array:
        """Return W_n as a mean over 64 draws of features and signs."""
        return problem.complexity()


class WholeClassInMeanSquare(Claim[FeaturePool]):
    """Let F_sup be the largest modulus of the spectra of a class, and let M = integral of |omega| F_sup. Draw n ramps
    phi_i(x) = min(max(tau (<u_i, x> - t_i) + 1/2, 0), 1), with t_i uniform in [-2, 1] and u_i = omega/|omega| for an
    omega of density |omega| F_sup(omega)/M. Let nu be any distribution of inputs x. For each f of the class, take the
    L2(nu) distance to the nearest c_0 + sum_i c_i phi_i with sum |c_i| <= 3 M. The mean of the largest distance is at
    most

        M (1/(4 tau) + 6 s / sqrt(n)),     s² = mean over features of the variance of phi under nu <= 1/4,

    whatever the class and the dimension. With probability at least 1 - delta, the largest distance exceeds this by at
    most (3/2) M sqrt(log(1/delta) / (2n)). The test uses means f = E rho phi of ramps phi with weights |rho| <= 3 M =
    1, a nu with 24 points of equal mass, and the average over 4 draws of the ramps.
    """

    title = "Random ramps approximate a whole Barron class in mean square at the rate 1/sqrt(n) in their number n"
    source = _LEMMA
    stated = Kind.OWN
    population = FeaturePools(dimension=4, features=128)
    relation = AtMost()
    control = _QUARTER
    controls = _DISTANCE
    unexplained = _WHICH

    def predict(self, problem: FeaturePool) -> Array:
        variance = problem.values.var(axis=0).mean()
        return 2 * jnp.sqrt(variance / len(problem.chosen))

    def measure(self, problem: FeaturePool, key: Key[Array, ""]) -> Array:
        values = problem.values
        chosen = jax.random.randint(key, (_REPEATS, len(problem.chosen)), 0, values.shape[1])
        return jax.lax.map(lambda row: hardest_in_mean_square(values, values[:, row]), chosen).mean()

    def trivial(self, problem: FeaturePool) -> Array:
        """Return the error of the best constant for the function E sign(phi_h) phi.

        Here h is the first principal component of the features.
        """
        centred = problem.values - problem.values.mean(axis=0)
        first = jnp.linalg.eigh(centred @ centred.T)[1][:, -1]
        return jnp.abs(first @ centred).mean() / math.sqrt(len(centred))


class WholeClassRate(Claim[FeaturePool]):
    """Draw n ramps phi_i from a distribution, and let E be the mean over it. Consider all f = E rho phi with weights
    |rho| <= 1, which may differ between ramps phi. For each f, take the distance in the supremum norm from the nearest
    c_0 + sum_i c_i phi_i with |c_i| <= 1/n. The largest of these distances falls at least like n^(-1/2).
    """

    title = "The uniform error of n random ramps over a whole class falls at least like n^(-1/2)"
    source = _LEMMA
    stated = Kind.OWN
    population = FeaturePools(features=int(_NUMBERS[-1]), least=int(_NUMBERS[-1]))
    relation = Rate("n", _NUMBERS, upper=True, resolution=0.1)
    control = Control("at least like n^(-3/4)", lambda exponent, problem: exponent - 0.25)
    controls = _DISTANCE
    unexplained = _WHICH
    trials = 128
    predict = -0.5

    def measure_at(self, problem: FeaturePool, key: Key[Array, ""], rung: float) -> Array:
        """Return the distance for the first `rung` of the drawn features."""
        values = problem.values
        return hardest(values, values[:, problem.chosen[: int(rung)]])[1]


def penalty_of_noise(problem: CosineExamples) -> Float[Array, ""]:
    """Return lambda = 2 sigma sqrt(2 log(2 (n+1)/delta) / N), at least 2 |Phi^T z|_inf / N with probability 1 - delta.

    Args:
        problem: the N examples, with the matrix Phi of n + 1 features and the noise z of standard deviation sigma.
    """
    columns = len(problem.features.thresholds) + 1
    return 2 * problem.sigma * math.sqrt(2 * math.log(2 * columns / _DELTA) / len(problem.x))


def lasso_and_gap(problem: CosineExamples) -> tuple[Float[Array, " p"], Float[Array, ""]]:
    """Return an iterate rho of accelerated proximal gradient descent, and its duality gap, which is >= l(rho) - min l.

    Args:
        problem: the examples. Their objective l is `lasso_objective` with the penalty from `penalty_of_noise`.
    """
    prompt, y = problem.features(problem.x), problem.function(problem.x) + problem.noise
    penalty = penalty_of_noise(problem)
    step = 1 / (2 * jnp.mean(jnp.sum(prompt**2, axis=1)))
    rho = accelerated_proximal_gradient(prompt, y, penalty, step, 150)[-1]
    dual = 2 * (y - prompt @ rho) / len(y)
    dual = dual * jnp.minimum(1.0, penalty / jnp.abs(dual @ prompt).max())
    return rho, lasso_objective(prompt, y, penalty, rho) - (y @ dual - len(y) * dual @ dual / 4)


class RiskWithoutCover(Claim[CosineExamples]):
    """Let F_sup be the largest modulus of the spectra of a class, and let M = integral of |omega| F_sup. Let N examples
    y = f(x) + z have an f from this class, and normal noise z of standard deviation sigma. The features phi(x) are a
    constant and n ramps min(max(tau (<u, x> - t) + 1/2, 0), 1), with t uniform in [-2, 1] and u = omega/|omega| for an
    omega of density |omega| F_sup(omega)/M. Fit the examples by a rho for which l(rho) is within e of the minimum of

        l(rho) = mean of (y - <phi(x), rho>)² + lambda |rho|_1,     lambda = 2 sigma sqrt(2 log(2 (n+1)/delta) / N).

    With probability at least 1 - 2 delta, for every f of the class,

        mean over the examples of (f(x) - <phi(x), rho>)² <= eps² + 2 lambda (|f(0)| + 7 M) + e,
        eps = M (1/(4 tau) + (3 + (3/2) sqrt(log(1/delta)/2)) / sqrt(n)).

    Theorem 1 of the source has C_F² log|N|/n in place of the M²/n in eps², with the Barron parameter C_F >= M and a
    cover of size |N|. Proof: some coefficients rho* satisfy |rho*|_1 <= |f(0)| + 7 M, and <phi, rho*> is within eps of
    f in mean square (`whole_class_in_mean_square`). The rest follows from l(rho) <= l(rho*) + e, since lambda >= 2
    |Phi^T z|_inf / N for the matrix Phi of features. The test uses e = 3e-3.
    """

    title = "A risk bound for the Lasso on random ramps that does not use covering numbers"
    source = Source(
        "li2025incontext", "Theorem 1", "(24)", note="at the examples and without a cover, which is not in the source"
    )
    stated = Kind.OWN
    population = SlowCosines()
    relation = AtMost(delta=2 * _DELTA)
    control = Control(
        "1/1500 of the bound",
        lambda bound, problem: bound / 1500,
        loose="the bound is loose by a factor of about 1200, because one smooth function is fitted much faster than "
        "at the rates 1/n and N^(-1/2)",
    )
    controls = "the error of the Lasso on random features at the examples"
    unexplained = "the faster rate on targets that few features represent"

    def predict(self, problem: CosineExamples) -> Array:
        moment, n = problem.functions.moment(), len(problem.features.thresholds)
        eps = 1 / (4 * problem.features.sharpness) + (3 + 1.5 * math.sqrt(math.log(1 / _DELTA) / 2)) / n**0.5
        length = jnp.abs(problem.function(jnp.zeros((1, problem.x.shape[1])))[0]) + 7 * moment
        return (moment * eps) ** 2 + 2 * penalty_of_noise(problem) * length + _GAP

    def hypotheses(self, problem: CosineExamples) -> list[Hypothesis]:
        gap = lasso_and_gap(problem)[1]
        return [
            Hypothesis(
                "rho is within e of the minimum", gap, "<=", _GAP, "the duality gap bounds the distance to the minimum"
            )
        ]

    def measure(self, problem: CosineExamples, key: Key[Array, ""]) -> Array:
        rho, _ = lasso_and_gap(problem)
        return jnp.mean((problem.function(problem.x) - problem.features(problem.x) @ rho) ** 2)

    def trivial(self, problem: CosineExamples) -> Array:
        """Return the mean square error of the best constant."""
        return problem.function(problem.x).var()
