"""PAC-Bayes: the bound grows with the divergence of a rule's distribution from a prior that does not depend on the
rows.

This theory bounds the error of a randomised rule by its error on the rows and by one number, the divergence of its
distribution from a prior. It assumes independent rows and a prior fixed before the rows. It does not explain which
prior makes the divergence small. `lemmata.subjects.bounds.pac_bayes_bound` applies the theory.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy import stats
from scipy.special import ndtr, rel_entr

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.margin_rows import sphere_shadows
from lemmata.subjects.bounds import kl_moment, kl_upper

ABOUT = {"tool": "information theory", "architecture": "linear model", "object": "generalisation"}

_DRAWS = 8000


class ErrorCounts(eqx.Module):
    """The binomial number k of wrong rows among n rows, for several error probabilities p."""

    p: Float[Array, " c"]
    n: int = eqx.field(static=True)


class BinomialErrors(Population[ErrorCounts]):
    """Counts for two error probabilities, one below 1/2 and one above."""

    free = ("p",)
    settings = Space(n=Integer(60, 1, 150, "rows", corners=(2, 120)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ErrorCounts:
        share = jax.random.uniform(key, (2,), minval=0.05, maxval=0.5)
        return ErrorCounts(jnp.stack([share[0], 1 - share[1]]), setting["n"])

    def hypotheses(self, problem: ErrorCounts) -> list[Hypothesis]:
        least = jnp.minimum(problem.p, 1 - problem.p).min()
        return [Hypothesis("p and 1 - p", least, ">", 0.0, "at 0 and 1 the moment is 1")]


class BestRule(eqx.Module):
    """Many classification rules that err independently with the same probability. The rule with the fewest errors on
    the rows is chosen.

    Args:
        error: the error probability of each rule.
        least: the number of errors of the chosen rule.
        rules: the number of rules.
        n: the number of rows.
        delta: the failure probability of the bound.
    """

    error: Float[Array, ""]
    least: Int[Array, ""]
    rules: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)


class BestOfManyRules(Population[BestRule]):
    """Independent rules that err with a probability between 0.1 and 0.3."""

    settings = Space(
        rules=Integer(5000, 1, 100_000, "rules", corners=(4000, 8000)),
        n=Integer(100, 20, 1000, "rows", corners=(80, 160)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BestRule:
        generator = generator_of(key)
        error = generator.uniform(0.1, 0.3)
        counts = generator.binomial(setting["n"], error, setting["rules"])
        return BestRule(jnp.asarray(error), jnp.asarray(counts.min()), setting["rules"], setting["n"])

    def hypotheses(self, problem: BestRule) -> list[Hypothesis]:
        return [
            Hypothesis.unchecked(
                "rules and prior were fixed before the rows", "the numbers do not show how rules and prior were chosen"
            )
        ]


class NoisyLinearRule(eqx.Module):
    """A linear rule that is learned from rows, with standard normal noise on its weights.

    Rows x are standard normal. Their class is the sign of <teacher, x>, which is flipped with probability `flips`. The
    weights are sum_i y_i x_i, scaled to a length that was fixed beforehand.

    Args:
        x, y: rows, and their classes -1 or 1.
        teacher: the unit vector whose sign rule gives the classes.
        flips: the probability of a wrong class.
        length: the length of the weights.
        delta: the failure probability of the bound.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    teacher: Float[Array, " d"]
    flips: Float[Array, ""]
    length: Float[Array, ""]
    delta: float = eqx.field(static=True, default=0.05)

    @property
    def weights(self) -> Float[Array, " d"]:
        """The mean of the noisy weights: the learned weights, without noise."""
        total = np.asarray(self.y) @ np.asarray(self.x)
        return jnp.asarray(float(self.length) * total / np.linalg.norm(total))

    def true_error(self, key: Key[Array, ""]) -> float:
        """Return the error of the noisy rule on new rows. Given the direction of a row, the error is exact; it is
        averaged over many random directions.
        """
        towards, beside = sphere_shadows(generator_of(key), len(self.teacher), _DRAWS)
        weights, length = np.asarray(self.weights), float(self.length)
        cosine = float(weights @ np.asarray(self.teacher)) / length
        own = cosine * towards + max(1 - cosine**2, 0.0) ** 0.5 * beside
        flips = float(self.flips)
        return flips + (1 - 2 * flips) * float(ndtr(-np.sign(towards) * length * own).mean())


class NoisyLinearRules(Population[NoisyLinearRule]):
    """Linear rules from teachers in a few dimensions, with a few wrong labels and weights of length 3 to 5."""

    settings = Space(
        n=Integer(200, 50, 2000, "rows", corners=(120, 400)),
        d=Integer(5, 2, 40, "dimension", corners=(3, 8)),
        flips=Real(0.05, 0.0, 0.4, "probability of a wrong label", corners=(0.0, 0.1)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyLinearRule:
        generator, n, d = generator_of(key), setting["n"], setting["d"]
        x, teacher = generator.standard_normal((n, d)), generator.standard_normal(d)
        teacher /= np.linalg.norm(teacher)
        y = np.where(generator.uniform(size=n) < setting["flips"], -1.0, 1.0) * np.sign(x @ teacher)
        x, y, teacher, flips, length = map(jnp.asarray, (x, y, teacher, setting["flips"], generator.uniform(3.0, 5.0)))
        return NoisyLinearRule(x, y, teacher, flips, length)

    def hypotheses(self, problem: NoisyLinearRule) -> list[Hypothesis]:
        return [
            Hypothesis.unchecked(
                "length and noise were fixed before the rows",
                "the numbers do not show how length and noise were chosen",
            )
        ]


_MAURER = "maurer2004"


def _moments(problem: ErrorCounts) -> np.ndarray:
    """Return E exp(n kl(k/n || p)) as a sum over all counts k, where kl is the KL divergence."""
    counts = np.arange(problem.n + 1)
    share, p = counts / problem.n, np.asarray(problem.p)[:, None]
    divergence = rel_entr(share, p) + rel_entr(1 - share, 1 - p)
    return np.sum(stats.binom.pmf(counts, problem.n, p) * np.exp(problem.n * divergence), axis=1)


def _rounding(problem: ErrorCounts) -> Array:
    """Allow for exponentials of z, which have the relative error eps z. Here z is at most n log(1/p)."""
    return 1.0 - problem.n * jnp.log(jnp.minimum(problem.p, 1 - problem.p)).min()


class DivergenceMoment(Claim[ErrorCounts]):
    """Let k be binomial with n rows and error probability p, where p is strictly between 0 and 1. Let kl(q || p) = q
    ln(q/p) + (1 - q) ln((1 - q)/(1 - p)) be the Kullback-Leibler (KL) divergence between Bernoulli distributions with
    the means q and p. Then

        E exp(n kl(k/n || p)) = sum_k C(n, k) (k/n)^k (1 - k/n)^(n - k) = sum_k n! / ((n - k)! n^k),

    where k runs from 0 to n. The value is the same for every p. For large n, this value is near sqrt(pi n / 2) + 2/3.
    """

    title = (
        "The exponential moment of the KL divergence between the empirical and the true error does not depend on "
        "the true error"
    )
    source = Source(_MAURER, note="the quantity that the main result bounds; the second form is an identity of Abel's")
    population = BinomialErrors()
    relation = Equal()
    control = Control("the moment is 2 sqrt(n)", lambda value, problem: 2 * jnp.sqrt(problem.n * jnp.ones(2)))
    controls = "what a PAC-Bayes bound pays in addition to the divergence"
    unexplained = "losses between 0 and 1, for which this value is an upper bound"
    traced = False  # sums over counts are NumPy's

    def predict(self, problem: ErrorCounts) -> Array:
        return jnp.full(problem.p.shape, kl_moment(problem.n))

    def measure(self, problem: ErrorCounts, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_moments(problem))

    def condition(self, problem: ErrorCounts) -> Array:
        return _rounding(problem)


class DivergenceMomentBound(Claim[ErrorCounts]):
    """Let k be binomial with n rows and error probability p. Let kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p))
    be the Kullback-Leibler (KL) divergence between Bernoulli distributions with the means q and p. Then E exp(n kl(k/n
    || p)) is at most 2 sqrt(n), with equality at n = 1.
    """

    title = (
        "The exponential moment of the KL divergence between the empirical and the true error on n rows is at most "
        "2 sqrt(n)"
    )
    source = Source(_MAURER, note="main result")
    population = BinomialErrors()
    relation = AtMost()
    control = Control(
        "the moment is at most sqrt(pi n/2), its leading order",
        lambda value, problem: jnp.sqrt(jnp.pi * problem.n / 2) * jnp.ones(2),
    )
    controls = DivergenceMoment.controls
    unexplained = "the exact value, which another claim gives"
    traced = False  # sums over counts are NumPy's

    def predict(self, problem: ErrorCounts) -> Array:
        return 2 * jnp.sqrt(problem.n * jnp.ones(problem.p.shape))

    def measure(self, problem: ErrorCounts, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_moments(problem))

    def trivial(self, problem: ErrorCounts) -> Array:
        """Return n + 1, because the sum has n + 1 terms, and each is a probability."""
        return jnp.full(problem.p.shape, problem.n + 1.0)

    def condition(self, problem: ErrorCounts) -> Array:
        return _rounding(problem)


def _bound(error: float, divergence: float, n: int, delta: float) -> Array:
    """Return the largest p with kl(error || p) <= (divergence + ln(2 sqrt(n)/delta)) / n, where `error` is the error
    on the rows.
    """
    return jnp.asarray(kl_upper(error, (divergence + np.log(2 * np.sqrt(n) / delta)) / n))


class PacBayesOfTheBest(Claim[BestRule]):
    """Let |H| be the number of rules. Choose the rule with the fewest errors on n independent rows, and let k be its
    number of errors on these rows. With probability at least 1 - delta over the rows, the true error of the chosen rule
    is at most the largest p with

        kl(k/n || p) <= (ln |H| + ln(2 sqrt(n) / delta)) / n,

    where kl(q || p) is the Kullback-Leibler divergence between Bernoulli distributions with the means q and p. This
    bound is the PAC-Bayes bound for a uniform prior on the rules and a posterior that is a point mass. In the test,
    delta = 0.05, and the rules err independently.
    """

    title = "A PAC-Bayes bound on the error of the best of finitely many rules"
    source = Source(_MAURER, note="main result, for a point mass and a uniform prior")
    population = BestOfManyRules()
    relation = AtMost(delta=0.05)
    control = Control(
        "the bound holds without the divergence ln |H|",
        lambda value, problem: _bound(int(problem.least) / problem.n, 0.0, problem.n, problem.delta),
    )
    controls = "the error of a rule that was selected on the rows"
    unexplained = "similar rules, which count as fewer rules"
    traced = False  # the inverse of kl is NumPy's
    trivial = 0.5  # guessing

    def predict(self, problem: BestRule) -> Array:
        return _bound(int(problem.least) / problem.n, np.log(problem.rules), problem.n, problem.delta)

    def measure(self, problem: BestRule, key: Key[Array, ""]) -> Array:
        return problem.error


class PacBayesOfGaussianRules(Claim[NoisyLinearRule]):
    """Let w be learned from n independent rows x_i with classes y_i. A randomised linear rule x -> sign <v, x> draws v
    anew from N(w, I) for every prediction. Let R_S = mean_i Phi(-y_i <w, x_i> / |x_i|) be its error on the rows, where
    Phi is the standard normal distribution function, and let N(0, I) be the prior. With probability at least 1 - delta
    over the rows, the error of this randomised rule on new rows is at most the largest p with

        kl(R_S || p) <= (|w|²/2 + ln(2 sqrt(n) / delta)) / n,

    where kl(q || p) is the Kullback-Leibler divergence between Bernoulli distributions with the means q and p. In the
    test, delta = 0.05, and w is along sum_i y_i x_i.
    """

    title = "A PAC-Bayes bound on the error of a linear rule with Gaussian weights"
    source = Source(_MAURER, note="main result, with the divergence of two normal distributions")
    population = NoisyLinearRules()
    relation = AtMost(delta=0.05)
    control = Control(
        "the error on new rows is at most the error on the rows",
        lambda value, problem: jnp.asarray(_row_error(problem)),
    )
    controls = "the error of a randomised linear rule on new rows"
    unexplained = "the rule without noise, whose error is mostly smaller and at most twice as large"
    traced = False  # the inverse of kl is NumPy's
    trivial = 0.5  # guessing

    def predict(self, problem: NoisyLinearRule) -> Array:
        divergence = float(problem.length) ** 2 / 2
        return _bound(_row_error(problem), divergence, len(problem.y), problem.delta)

    def measure(self, problem: NoisyLinearRule, key: Key[Array, ""]) -> Array:
        return jnp.asarray(problem.true_error(key))


def _row_error(problem: NoisyLinearRule) -> float:
    x = np.asarray(problem.x)
    margins = np.asarray(problem.y) * (x @ np.asarray(problem.weights)) / np.linalg.norm(x, axis=1)
    return float(stats.norm.cdf(-margins).mean())
