"""Task families in context: the differences between families that the examples of a prompt can show.

A family of linear tasks is a distribution of a weight vector w together with the size of the noise. This theory
computes the posterior odds of two families, given examples of one task. It assumes normal priors of w and normal noise
of known scales. It does not explain how pretraining weighs families that are rare.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Kind, Limit, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {"tool": "statistics", "architecture": "transformer in context", "object": "estimator"}

_REPEATS = 8


def log_evidence(x: Float[Array, "n d"], y: Float[Array, " n"], noise: Array, scale: Array) -> Float[Array, ""]:
    """Return the log density of y = x w + z for w ~ N(0, scale² I) and z ~ N(0, noise² I), without factors of 2 pi.

    Args:
        x: the inputs.
        y: the targets.
        noise: the standard deviation of z.
        scale: the standard deviation of w.
    """
    n, d = x.shape
    ridge = (noise / scale) ** 2
    moment = x.T @ x + ridge * jnp.eye(d)
    fitted = jnp.linalg.solve(moment, x.T @ y)
    rest = y @ (y - x @ fitted) / noise**2
    return -(rest + jnp.linalg.slogdet(moment / ridge)[1]) / 2 - n * jnp.log(noise)


class ScaledTask(eqx.Module):
    """A weight vector w, the standard deviation tau in the second family's prior of w, and that of the noise."""

    w: Float[Array, " d"]
    tau: Float[Array, ""]
    noise: Float[Array, ""]


class OverlappingFamiliesStayMixed(Claim[ScaledTask]):
    """Two families of linear tasks in d dimensions have targets y = <w, x> + z, and the noise z has the same
    distribution in both families. The prior of w is N(0, I) in the first family and N(0, tau² I) in the second family.
    Both families have the same prior probability. As the number n of examples grows, the log posterior odds of the
    first family against the second tend to

        d log tau - |w|² (1 - tau^(-2))/2,

    which is the log ratio of the two prior densities at the true w. This limit is finite, so no number of examples is
    large enough to identify the family. Once w is known, the odds depend only on the two priors at w, and further
    examples do not change the odds.

    Derivation: let p_k be densities in family k. By Bayes' rule, the likelihood of family k is p(data|w)
    p_k(w)/p_k(w|data) at every w, in particular at the true w. As n grows, the posterior densities of both families
    near the true w approach the same normal density. So the ratio of the two posterior densities tends to 1.
    """

    title = "Even infinitely many examples do not identify a family of linear tasks if the families' priors overlap"
    source = Source("emergence2026", "Remark 15.10", "Figure 15.13", note="the sharp form, for two Gaussian families")
    stated = Kind.OWN
    population = Drawn(
        ScaledTask,
        positive("noise", "without noise, w is known exactly after d examples"),
        positive("tau"),
        w=normal("d"),
        tau=log_uniform(1.25, 1.55),
        noise=log_uniform(0.1, 0.7),
        d=dimension(5, 1, 10, corners=(3, 8)),
    )
    relation = Limit("n", (40.0, 160.0, 640.0), margin=0.05, resolution=0.1, relative=False)
    control = Control(
        "the limit has (d - 1) log tau in place of d log tau", lambda odds, problem: odds - jnp.log(problem.tau)
    )
    controls = "which family of tasks a prompt shows"
    unexplained = "families whose priors do not overlap, so that d exact examples distinguish them"
    trials = 64

    def predict(self, problem: ScaledTask) -> Array:
        size = jnp.sum(problem.w**2) * (1 - problem.tau**-2) / 2
        return len(problem.w) * jnp.log(problem.tau) - size

    def measure_at(self, problem: ScaledTask, key: Key[Array, ""], rung: float) -> Array:
        def odds(own: Key[Array, ""]) -> Array:
            x_key, noise_key = jax.random.split(own)
            x = jax.random.normal(x_key, (int(rung), len(problem.w)))
            y = x @ problem.w + problem.noise * jax.random.normal(noise_key, (int(rung),))
            one = jnp.asarray(1.0)
            return log_evidence(x, y, problem.noise, one) - log_evidence(x, y, problem.noise, problem.tau)

        return jnp.mean(jax.lax.map(odds, jax.random.split(key, _REPEATS)))


class NoisyTask(eqx.Module):
    """A weight vector w, the standard deviation s_1 of its noise, and the ratio s_2/s_1 for the other family's s_2."""

    w: Float[Array, " d"]
    noise: Float[Array, ""]
    ratio: Float[Array, ""]
    n: int = eqx.field(static=True)


class NoisyTasks(Population[NoisyTask]):
    """Tasks of the first family. The other family's noise s_2 is above s_1 in half of the problems, and else below."""

    settings = Space(d=dimension(8, 2, 16, corners=(6, 12)), n=rows(40, 16, 256, corners=(40, 64))).where(
        "n is between 4d and 8d", lambda s: 4 * s["d"] <= s["n"] <= 8 * s["d"]
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyTask:
        own, noise_key, ratio_key, side_key = jax.random.split(key, 4)
        ratio = 1.3 * 1.5 ** jax.random.uniform(ratio_key)
        noise = 0.1 * 5 ** jax.random.uniform(noise_key)
        ratio = jnp.where(jax.random.bernoulli(side_key), ratio, 1 / ratio)
        return NoisyTask(jax.random.normal(own, (setting["d"],)), noise, ratio, setting["n"])

    def hypotheses(self, problem: NoisyTask) -> list[Hypothesis]:
        apart = jnp.abs(jnp.log(problem.ratio))
        return [Hypothesis("|log of the ratio|", apart, ">", 0.2, "equal families have log odds of 0")]


class NoiseIsResolved(Claim[NoisyTask]):
    """Two families of linear tasks in d dimensions have the same prior w ~ N(0, I) of the weights. The noise of the
    targets has the variance s_1² in the first family and s_2² in the second family. Both families have the same prior
    probability. Draw n examples of a task of the first family, and let K = (s_1²/s_2² - 1 - log(s_1²/s_2²))/2. Up to a
    relative error of order 1/n², the log posterior odds for the first family are on average (n - d) K.

    Given w, K is the Kullback-Leibler divergence of a target's distribution in the first family from its distribution
    in the second family. So the log odds grow in proportion to n - d: the d examples that are needed to find w do not
    help to identify the family. The formula with n in place of n - d would be too large by the factor n/(n - d).

    Derivation: let R be the residual sum of squares. For many examples, the log likelihood of family k is -(n - d) log
    s_k - R/(2 s_k²) plus terms that agree for both families. The factor is n - d instead of n, because d weights are
    fitted. The mean of R is (n - d) s_1².
    """

    title = "After n examples, log odds between noise levels of a linear task in R^d are (n - d) times a KL divergence"
    source = Source("emergence2026", "Figure 15.13", note="for two families that differ in the noise")
    stated = Kind.OWN
    population = NoisyTasks()
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control(
        "the log odds are n times the divergence", lambda odds, problem: odds * problem.n / (problem.n - len(problem.w))
    )
    controls = "how many examples show the family of a task"
    unexplained = "families that differ in the function and in the noise"
    trials = 48

    def predict(self, problem: NoisyTask) -> Array:
        ratio = problem.ratio**-2
        return (problem.n - len(problem.w)) * (ratio - 1 - jnp.log(ratio)) / 2

    def measure(self, problem: NoisyTask, key: Key[Array, ""]) -> Array:
        def odds(own: Key[Array, ""]) -> Array:
            x_key, noise_key = jax.random.split(own)
            x = jax.random.normal(x_key, (problem.n, len(problem.w)))
            y = x @ problem.w + problem.noise * jax.random.normal(noise_key, (problem.n,))
            one = jnp.asarray(1.0)
            other = log_evidence(x, y, problem.noise * problem.ratio, one)
            return log_evidence(x, y, problem.noise, one) - other

        return jnp.mean(jax.lax.map(odds, jax.random.split(key, 32 * _REPEATS)))
