"""The Lasso on targets that few random features represent. Its error is of the order 1/N, with explicit constants.

This theory bounds the error of the Lasso over p features at the N examples, if the target uses s of the features. It
assumes a penalty lambda above the noise nu = 2 |Phi^T z|_inf / N and a finite stretch V_k of these s features. It does
not explain targets that need many features, for which the error falls like N^(-1/2) at least.

Let G = Phi^T Phi/N be the Gram matrix of the features. For a number k >= 1, the stretch of a set S of features is

    V_k = max over delta of (|delta_S|_1 - |delta_off|_1/k)_+² / (delta^T G delta).

Here delta_S and delta_off are the entries of delta in S and outside S. V_k is the largest square of (l_1 norm on S
minus 1/k times l_1 norm outside S) for a function of mean square 1 at the examples. V_k is s divided by a squared
compatibility constant.
"""

import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Kind, Rate, Source
from lemmata.engine.problems.sparse_ramps import SparseExamples, SparseTargets
from lemmata.solvers import lasso_objective, proximal_gradient, soft_threshold

ABOUT = {"tool": "statistics", "architecture": "random features", "object": "generalisation"}

_DELTA, _RATIO, _STEPS, _STILL = 0.1, 4.0, 1000, 1e-10
_EXAMPLES = (128.0, 256.0, 512.0, 1024.0)
_LASSO = Source("li2025incontext", "Lemma 2", "(36)", note="on sparse targets, at the examples (not in the source)")
_ERROR, _DENSE = "the error of the Lasso on sparse targets", "targets that need many features"


def least_quadratic(
    curvature: Float[Array, "p p"], slope: Float[Array, " p"], level: Float[Array, " p"] | Array | float
) -> Float[Array, " p"]:
    """Minimise rho^T H rho/2 - b^T rho + sum_j level_j |rho_j| over rho by accelerated steps with adaptive restarts.

    Args:
        curvature: the matrix H.
        slope: the vector b.
        level: the penalty of all entries, or one penalty for each entry.
    """
    step = 1 / jnp.linalg.eigvalsh(curvature)[-1]

    def advance(state: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
        rho, ahead, size = state
        aim = ahead - step * (curvature @ ahead - slope)
        moved = jnp.sign(aim) * jnp.maximum(jnp.abs(aim) - step * level, 0.0)  # a threshold for each entry
        following = (1 + jnp.sqrt(1 + 4 * size**2)) / 2
        back = (ahead - moved) @ (moved - rho) > 0
        carried = jnp.where(back, moved, moved + (size - 1) / following * (moved - rho))
        return (moved, carried, jnp.where(back, 1.0, following)), None

    start = jnp.zeros_like(slope)
    return jax.lax.scan(advance, (start, start, jnp.ones(())), None, length=_STEPS)[0][0]


def stretch(gram: Float[Array, "p p"], size: int, share: Float[Array, ""] | float) -> Float[Array, ""]:
    """Return the stretch V_k of the first features, as the largest value over all signs of delta on these features.

    Args:
        gram: the Gram matrix G of the features.
        size: the number of features in S.
        share: the number k by which the l_1 norm outside S is divided.
    """
    level = jnp.where(jnp.arange(len(gram)) < size, 0.0, 2 / share)

    def of_signs(signs: Array) -> Array:
        delta = least_quadratic(2 * gram, jnp.zeros(len(gram)).at[:size].set(2 * signs), level)
        excess = jnp.abs(delta[:size]).sum() - jnp.abs(delta[size:]).sum() / share
        return jnp.maximum(excess, 0.0) ** 2 / (delta @ gram @ delta)

    return jax.vmap(of_signs)(_signs(size)).max()


def _signs(size: int) -> Float[Array, "m s"]:
    """Return all patterns of signs. Of two opposite patterns, only one is returned."""
    return jnp.asarray([(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=size - 1)])


def likely_noise(problem: SparseExamples) -> Float[Array, ""]:
    """Return 2 sigma sqrt(2 log(2 p/delta) / N). With probability at least 1 - delta, this is at least nu = 2 |Phi^T
    z|_inf / N.

    Args:
        problem: the examples, with p features and the noise level sigma.
    """
    count, columns = problem.features.shape
    return 2 * problem.sigma * math.sqrt(2 * math.log(2 * columns / _DELTA) / count)


def largest_noise(problem: SparseExamples) -> Float[Array, ""]:
    """Return the noise nu = 2 |Phi^T z|_inf / N.

    Args:
        problem: the examples, with features Phi and noise z.
    """
    return jnp.abs(2 * problem.noise @ problem.features / len(problem.noise)).max()


def _gram(problem: SparseExamples) -> Array:
    return problem.features.T @ problem.features / len(problem.noise)


def lasso(problem: SparseExamples) -> Float[Array, " p"]:
    """Return the minimiser rho^ of mean (y - Phi rho)² + lambda |rho|_1 for lambda = 4 times `likely_noise`.

    Args:
        problem: the examples, with features Phi and targets y.
    """
    slope = 2 * problem.y @ problem.features / len(problem.y)
    return least_quadratic(2 * _gram(problem), slope, _RATIO * likely_noise(problem))


def solved(problem: SparseExamples) -> Hypothesis:
    """Check that a further step of the minimisation does not move rho^, the Lasso solution."""
    rho, gram = lasso(problem), _gram(problem)
    step = 1 / (2 * jnp.linalg.eigvalsh(gram)[-1])
    slope = 2 * problem.y @ problem.features / len(problem.y) - 2 * gram @ rho
    moved = soft_threshold(rho + step * slope, step * _RATIO * likely_noise(problem)) - rho
    return Hypothesis(
        "rho^ is the minimum", jnp.abs(moved).max(), "<=", _STILL, "rho^ is computed by 1000 accelerated steps"
    )


def outweighed(problem: SparseExamples) -> Hypothesis:
    """Check that the noise nu is below the penalty lambda."""
    penalty = _RATIO * likely_noise(problem)
    return Hypothesis(
        "the penalty is above the noise", largest_noise(problem), "<", penalty, "otherwise k is not positive"
    )


def error_bound(problem: SparseExamples, noise: Array) -> Array:
    """Return (lambda + nu)² V_k / 4 with k = (lambda + nu)/(lambda - nu).

    Args:
        problem: the examples, with the features whose stretch V_k enters.
        noise: the noise nu.
    """
    penalty = _RATIO * likely_noise(problem)
    share = (penalty + noise) / (penalty - noise)
    return (penalty + noise) ** 2 * stretch(_gram(problem), problem.size, share) / 4


def error_of(problem: SparseExamples, rho: Array) -> Array:
    """Return the mean of (Phi (rho - rho*))² at the examples."""
    return jnp.mean((problem.features @ (rho - problem.reference)) ** 2)


def variance(problem: SparseExamples) -> Array:
    """Return the error of the best constant as a prediction of Phi rho*."""
    return (problem.features @ problem.reference).var()


class ErrorByTheStretch(Claim[SparseExamples]):
    """Let Phi be the matrix of features at N examples. Let y = Phi rho* + z be the targets, where z is noise and rho*
    is 0 outside a set S of features. Let nu = 2 |Phi^T z|_inf/N, and let rho^ minimise mean (y - Phi rho)² + lambda
    |rho|_1 with lambda > nu. Write delta_S and delta_off for the entries of a vector delta in S and outside S. Then,
    for k = (lambda + nu)/(lambda - nu),

        mean (Phi rho^ - Phi rho*)² <= (lambda + nu)² V_k / 4,
        V_k = max over delta of (|delta_S|_1 - |delta_off|_1/k)_+² / mean (Phi delta)².

    Here V_k is the stretch. Proof: let delta = rho^ - rho*. Multiply the condition of stationarity by delta. This gives
    2 mean (Phi delta)² <= nu |delta|_1 - lambda (|rho^|_1 - |rho*|_1) <= (lambda + nu) (|delta_S|_1 - |delta_off|_1/k).
    The right side is at most (lambda + nu) sqrt(V_k mean (Phi delta)²). Equality holds if there is one feature and no
    noise.
    """

    title = "An inverse compatibility constant, the stretch, bounds the error of the Lasso on sparse targets"
    source = _LASSO
    stated = Kind.OWN
    population = SparseTargets()
    relation = AtMost()
    control = Control("the error is at most half of the bound", lambda bound, problem: bound / 2)
    controls = _ERROR
    unexplained = _DENSE

    def predict(self, problem: SparseExamples) -> Array:
        return error_bound(problem, largest_noise(problem))

    def hypotheses(self, problem: SparseExamples) -> list[Hypothesis]:
        return [solved(problem), outweighed(problem)]

    def measure(self, problem: SparseExamples, key: Key[Array, ""]) -> Array:
        return error_of(problem, lasso(problem))

    def trivial(self, problem: SparseExamples) -> Array:
        return variance(problem)


class FastRateWithProbability(Claim[SparseExamples]):
    """Let Phi be the matrix of p features, bounded by 1, at N examples. Let y = Phi rho* + z be the targets, where rho*
    is 0 outside a set S of features and the noise z is normal with standard deviation sigma. Let rho^ minimise mean (y
    - Phi rho)² + lambda |rho|_1 for lambda = 8 sigma sqrt(2 log(2 p/delta)/N). For a vector v, let v_S be its entries
    in S and v_off its entries outside S. With probability at least 1 - delta,

        mean (Phi rho^ - Phi rho*)² <= 50 sigma² V log(2 p/delta) / N,
        V = max over v of (|v_S|_1 - (3/5) |v_off|_1)_+² / mean (Phi v)².

    The rate is 1/N instead of sqrt(log N/N) as long as V stays finite. Proof: with probability at least 1 - delta, the
    noise satisfies 2 |Phi^T z|_inf/N <= lambda/4. The claim `error_by_the_stretch`, a bound for a fixed noise z, then
    gives this bound.
    """

    title = "The error of the Lasso on sparse targets is of order log(p)/N for p features and N examples"
    source = _LASSO
    stated = Kind.OWN
    population = SparseTargets()
    relation = AtMost(delta=_DELTA)
    control = Control("the error is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = _ERROR
    unexplained = _DENSE

    def predict(self, problem: SparseExamples) -> Array:
        count, columns = problem.features.shape
        value = stretch(_gram(problem), problem.size, 5 / 3)
        return 50 * problem.sigma**2 * value * math.log(2 * columns / _DELTA) / count

    def hypotheses(self, problem: SparseExamples) -> list[Hypothesis]:
        return [solved(problem)]

    def measure(self, problem: SparseExamples, key: Key[Array, ""]) -> Array:
        return error_of(problem, lasso(problem))

    def trivial(self, problem: SparseExamples) -> Array:
        return variance(problem)


class ErrorNearTheMinimum(Claim[SparseExamples]):
    """Let Phi be the matrix of p features at N examples. Let y = Phi rho* + z be the targets, where z is noise and rho*
    is 0 outside a set S of features. Let nu = 2 |Phi^T z|_inf/N, let lambda > nu, and let l(rho) = mean (y - Phi rho)²
    + lambda |rho|_1 be the Lasso objective. Write delta_S and delta_off for the entries of a vector delta in S and
    outside S. If l(rho) <= l(rho*) + e, then, for k = (lambda + nu)/(lambda - nu),

        mean (Phi rho - Phi rho*)² <= (lambda + nu)² V_k + 2 e,
        V_k = max over delta of (|delta_S|_1 - |delta_off|_1/k)_+² / mean (Phi delta)².

    Proof: let a² be the left side, and let b = (lambda + nu) sqrt(V_k). The condition l(rho) - l(rho*) <= e gives a² <=
    b a + e. This inequality implies a² <= b² + 2 e. The test takes as rho the result of 64 plain proximal gradient
    steps from 0 with step size 1/(2 p).
    """

    title = "A bound on the error of nearly optimal Lasso coefficients on sparse targets"
    source = _LASSO
    stated = Kind.OWN
    population = SparseTargets()
    relation = AtMost()
    control = Control("the error is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = _ERROR
    unexplained = _DENSE

    def predict(self, problem: SparseExamples) -> Array:
        penalty = _RATIO * likely_noise(problem)
        found = jnp.stack([self._found(problem), problem.reference])
        values = lasso_objective(problem.features, problem.y, penalty, found)
        excess = jnp.maximum(values[0] - values[1], 0.0)
        return 4 * error_bound(problem, largest_noise(problem)) + 2 * excess

    def hypotheses(self, problem: SparseExamples) -> list[Hypothesis]:
        return [outweighed(problem)]

    def measure(self, problem: SparseExamples, key: Key[Array, ""]) -> Array:
        return error_of(problem, self._found(problem))

    def trivial(self, problem: SparseExamples) -> Array:
        return variance(problem)

    def _found(self, problem: SparseExamples) -> Array:
        penalty, columns = _RATIO * likely_noise(problem), problem.features.shape[1]
        return proximal_gradient(problem.features, problem.y, penalty, 1 / (2 * columns), 64)[-1]


class StretchIsAtLeastTheBias(Claim[SparseExamples]):
    """Let G = Phi^T Phi/N be the Gram matrix of features Phi at N examples, and let S be a set of features. Let G_SS be
    its block for the features in S, and G_offS its block for the pairs of a feature outside S and a feature in S. Write
    delta_S and delta_off for the entries of a vector delta in S and outside S. For every k >= 1, the stretch V_k
    satisfies

        V_k = max over delta of (|delta_S|_1 - |delta_off|_1/k)_+² / mean (Phi delta)²
            >= max over signs sigma of sigma^T (G_SS)^-1 sigma.

    Let sigma attain the last maximum. The lower bound is the value of the quotient in V_k at delta_S = (G_SS)^-1 sigma
    and delta_off = 0. Equality holds if no feature outside S correlates with S by more than 1/k, that is, if |G_offS
    (G_SS)^-1 sigma|_inf <= 1/k. The bound times lambda²/4 is the bias of the Lasso with penalty lambda.
    """

    title = "A lower bound on the stretch (inverse compatibility constant) of a sparse set of features in the Lasso"
    source = _LASSO
    stated = Kind.OWN
    population = SparseTargets(s=2)
    relation = AtLeast()
    control = Control("the stretch is at least twice the bound", lambda bound, problem: 2 * bound)
    controls = "the stretch of the features of a sparse target"
    unexplained = "the value of the stretch if features correlate"
    trivial = 1.0  # at delta = 1 on one feature, because features are at most 1

    def predict(self, problem: SparseExamples) -> Array:
        size = problem.size
        inverse = jnp.linalg.inv(_gram(problem)[:size, :size])
        signs = _signs(size)
        return jnp.einsum("ms,st,mt->m", signs, inverse, signs).max()

    def measure(self, problem: SparseExamples, key: Key[Array, ""]) -> Array:
        return stretch(_gram(problem), problem.size, 5 / 3)

    def condition(self, problem: SparseExamples) -> Array:
        """Allow for the condition number of G, both in the inverse of G on S and in the steps that find delta."""
        values = jnp.linalg.eigvalsh(_gram(problem))
        return (values[-1] / values[0]) ** 2


class RateOnSparseTargets(Claim[SparseExamples]):
    """Let Phi be the matrix of p features, bounded by 1, at N examples. Let y = Phi rho* + z be the targets, where rho*
    has one or two nonzero entries +-1 and the noise z is normal with standard deviation sigma. Let rho^ minimise mean
    (y - Phi rho)² + lambda |rho|_1 for lambda = 8 sigma sqrt(2 log(20 p)/N). The mean of (Phi rho^ - Phi rho*)² over
    new inputs falls like 1/N.
    """

    title = "The error of the Lasso on sparse targets falls like 1/N on new inputs"
    source = _LASSO
    stated = Kind.OWN
    population = SparseTargets(N=4096)
    relation = Rate("N", _EXAMPLES)
    control = Control("the error falls like N^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = _ERROR
    unexplained = _DENSE
    trials = 128
    predict = -1.0

    def measure(self, problem: SparseExamples, key: Key[Array, ""]) -> Array:
        """Measure the error at the inputs of the second half. The examples are the first half."""
        new = problem.features[len(problem.noise) // 2 :]
        found = jnp.stack([lasso(problem.first(int(count))) for count in _EXAMPLES])
        return jnp.mean(((found - problem.reference) @ new.T) ** 2, axis=1)
