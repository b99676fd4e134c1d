"""Linear rules under attack: their robust error, the most robust rule, and the cost of weak features.

This theory computes the error of a linear rule if an adversary may change each input by a vector of bounded norm. It
assumes two classes with normal features, or one strong sign and many weak normal features. It does not explain rules
that are not linear, or attacks on training rows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "statistics",
    "architecture": "linear model",
    "object": "estimator",
    "FragileFeatures": {"object": "inequality"},
}

_DRAWS, _STEPS, _STARTS = 500, 40, 5


def _norm(w: Float[Array, " d"], kind: str) -> Float[Array, ""]:
    return jnp.abs(w).sum() if kind == "l1" else jnp.abs(w).max()


def _dual(w: Float[Array, " d"], kind: str) -> Float[Array, ""]:
    return _norm(w, "linf" if kind == "l1" else "l1")


class AttackedRule(eqx.Module):
    """A rule sign<w, x> for inputs x = y m + F z with a random sign y, the class, and a standard normal z. An adversary
    changes x by a vector whose norm is at most `budget`.
    """

    mean: Float[Array, " d"]
    factor: Float[Array, "d d"]
    weight: Float[Array, " d"]
    budget: Float[Array, ""]
    norm: str = eqx.field(static=True)

    @property
    def spread(self) -> Float[Array, ""]:
        """The standard deviation of <w, x> in a class."""
        return jnp.linalg.norm(self.factor.T @ self.weight)


class AttackedRules(Population[AttackedRule]):
    """Rules with errors from 0.15 to 0.35, and budgets of an adversary.

    With its budget, an adversary raises the error of a rule to between 0.4 and 0.8.
    """

    settings = Space(d=dimension(12, 3, 50, corners=(6, 24)), norm=Choice("linf", ("linf", "l1"), "norm of the change"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttackedRule:
        d, kind = setting["d"], setting["norm"]
        one, two, three, four = jax.random.split(key, 4)
        factor = jnp.eye(d) + jax.random.normal(one, (d, d)) / jnp.sqrt(d)
        weight, mean = jax.random.normal(two, (d,)), jax.random.normal(three, (d,))
        u, spread = jax.random.uniform(four, (2,)), jnp.linalg.norm(factor.T @ weight)
        clean, attacked = -ndtri(0.15 + 0.2 * u[0]), ndtri(0.4 + 0.4 * u[1])
        mean = mean + weight * (spread * clean - weight @ mean) / (weight @ weight)
        return AttackedRule(mean, factor, weight, spread * (clean + attacked) / _dual(weight, kind), kind)

    def hypotheses(self, problem: AttackedRule) -> list[Hypothesis]:
        return [Hypothesis("the spread of the score", problem.spread, ">", 0.0, "a constant score has no distribution")]


def _projected(x: Float[Array, " d"], budget: Float[Array, ""], kind: str) -> Float[Array, " d"]:
    """Return the point nearest to x of the ball with radius `budget` around 0, in the norm `kind`."""
    if kind == "linf":
        return jnp.clip(x, -budget, budget)
    size = jnp.sort(jnp.abs(x))[::-1]
    cuts = (jnp.cumsum(size) - budget) / jnp.arange(1, len(x) + 1)
    cut = jnp.maximum(jnp.max(jnp.where(size > cuts, cuts, -jnp.inf)), 0.0)
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - cut, 0.0)


class RobustErrorOfLinearRules(Claim[AttackedRule]):
    """Let y be a uniform sign, and let x given y be normal with mean y m and covariance S. Consider the rule sign(<w,
    x>). An adversary sees x and y, and adds to x the worst vector v with |v| <= eps, where |v| is a given norm. The
    rule then errs with probability

        Phi( (eps |w|_* - <w, m>) / sqrt(w'S w) ),

    where Phi is the normal distribution function, and |w|_* = max <w, v> over |v| <= 1 is the dual norm. For the norm
    max |v_i|, the dual norm is sum |w_i|, so small changes of many coordinates add up. At eps = 0, the formula gives
    the error without an adversary. The test uses the norms max |v_i| and sum |v_i|, which are dual to each other. The
    tested rules err with probability below 0.35 without an adversary, and above 0.4 with the adversary.
    """

    title = "The robust error of a linear rule grows with the adversary's budget times the dual norm of the weights"
    source = Source("emergence2026", "Proposition 12.4", "Figure 12.5", "Figure 12.3", note="for linear rules")
    population = AttackedRules()
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the norm of the change itself takes the place of its dual",
        lambda error, problem: _robust_error(problem, _norm(problem.weight, problem.norm)),
    )
    controls = "the error of a linear rule under attack"
    unexplained = "rules that are not linear, for which the first-order attack is not the best one"
    trials = 128

    def predict(self, problem: AttackedRule) -> Array:
        return _robust_error(problem, _dual(problem.weight, problem.norm))

    def measure(self, problem: AttackedRule, key: Key[Array, ""]) -> Array:
        """Return the share of 500 draws that are misclassified after projected gradient ascent."""
        label_key, noise_key = jax.random.split(key)
        labels = jax.random.rademacher(label_key, (_DRAWS,), float)
        noise = jax.random.normal(noise_key, (_DRAWS, len(problem.mean)))
        margin = lambda x, y: y * (problem.weight @ x)

        def attacked(x: Array, y: Array) -> Array:
            def step(_, change):
                slope = jax.grad(margin)(x + change, y)
                moved = change - 5 * problem.budget * slope / jnp.linalg.norm(slope)
                return _projected(moved, problem.budget, problem.norm)

            return margin(x + jax.lax.fori_loop(0, _STEPS, step, jnp.zeros_like(x)), y) <= 0

        return jnp.mean(jax.vmap(attacked)(labels[:, None] * problem.mean + noise @ problem.factor.T, labels))


def _robust_error(problem: AttackedRule, size: Float[Array, ""]) -> Float[Array, ""]:
    return ndtr((problem.budget * size - problem.weight @ problem.mean) / problem.spread)


class AttackedClasses(eqx.Module):
    """Two classes with means m and -m, and the standard deviations of the independent normal features. A quantile gives
    the adversary's budget, the largest change of a coordinate.
    """

    mean: Float[Array, " d"]
    spread: Float[Array, " d"]
    quantile: Float[Array, ""]

    @property
    def budget(self) -> Float[Array, ""]:
        """The budget, which is a quantile of the absolute values of the mean's coordinates."""
        return jnp.quantile(jnp.abs(self.mean), self.quantile)

    def errors(self, weight: Float[Array, " d"]) -> Float[Array, "2"]:
        """Return the robust error and the clean error of the rule sign<w, x>."""
        attacks = jnp.stack([self.budget * jnp.abs(weight).sum(), 0.0])
        return ndtr((attacks - weight @ self.mean) / jnp.linalg.norm(self.spread * weight))


@jax.jit
@jax.value_and_grad
def _log_error(parts: Array, problem: AttackedClasses) -> Array:
    """Return the log of the robust error of the rule sign(<w, x> + b), where w = p - q with p, q >= 0. At a minimum,
    min(p, q) = 0.
    """
    plus, minus, offset = parts[: len(problem.mean)], parts[len(problem.mean) : -1], parts[-1]
    weight = plus - minus
    size = jnp.linalg.norm(problem.spread * weight)
    middle = (problem.budget * (plus + minus).sum() - weight @ problem.mean) / size
    logs = jax.scipy.special.log_ndtr(middle + jnp.array([-1.0, 1.0]) * offset / size)
    return jax.nn.logsumexp(logs) - jnp.log(2.0)


class BestRobustLinearRule(Claim[AttackedClasses]):
    """Let y be a uniform sign, and let x_i given y be independent and normal with mean y m_i and standard deviation
    s_i. Let an adversary change each coordinate by at most eps < max |m_i|. Let u_i = sign(m_i) max(|m_i| - eps, 0),
    and let u/s have the entries u_i/s_i. With |.| the Euclidean norm, the smallest robust error of any rule sign(<w,
    x> + b) is

        Phi( -|u/s| ),

    where Phi is the normal distribution function. The rule with w_i = u_i/s_i² and b = 0 attains this error. So this
    rule ignores all features with |m_i| <= eps. Without an adversary, it errs with probability Phi(-<w, m>/|s w|),
    where s w has the entries s_i w_i. This is more than the Bayes error if eps > 0.
    """

    # The robust score of sign<w, x> is min over |z_i| <= eps of <w, m - z>/|s w|. Its maximum over w is the least
    # |(m - z)/s| over z, by the minimax theorem and Cauchy's inequality; that is |u/s|, coordinate by coordinate.
    title = "The linear rule of smallest robust error shrinks the class means by the adversary's budget"
    source = Source("emergence2026", "Figure 12.7", "Figure 12.4", note="what robust rules discard, in closed form")
    population = Drawn(
        AttackedClasses,
        positive("spread", "a feature without noise determines the class alone"),
        d=dimension(10, 4, 40, corners=(6, 16)),
        mean=normal("d", times=0.7),
        spread=uniform(0.5, 1.5, "d"),
        quantile=uniform(0.2, 0.8),
    )
    relation = Equal()
    control = Control(
        "the Bayes rule is the most robust one",
        lambda errors, problem: problem.errors(problem.mean / problem.spread**2),
    )
    controls = "the least error of linear rules under attack, and its cost without an attack"
    unexplained = "rules that are not linear; features that depend on each other"
    traced = False

    def predict(self, problem: AttackedClasses) -> Array:
        kept = jnp.sign(problem.mean) * jnp.maximum(jnp.abs(problem.mean) - problem.budget, 0.0)
        return problem.errors(kept / problem.spread**2)

    def measure(self, problem: AttackedClasses, key: Key[Array, ""]) -> Array:
        """Minimise the robust error over w and b from 5 starts, with more and more weight on large means. Return the
        robust error and the error without an adversary of the best result.
        """
        generator, d = generator_of(key), len(problem.mean)
        size, tries = np.abs(np.asarray(problem.mean)), []
        for power in 2 ** np.arange(_STARTS):
            sizes = generator.uniform(0.5, 1.0, d) * (size / size.max()) ** power
            parts = np.maximum(np.outer([1, -1], problem.mean), 0)
            start = np.concatenate([*(parts != 0) * sizes, [0.1 * generator.normal()]])
            tries.append(minimize(
                lambda parts: tuple(np.asarray(own) for own in _log_error(parts, problem)),
                start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d) + [(None, None)],
                options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-11},
            ))  # fmt: skip
        best = min(tries, key=lambda own: own.fun)
        weight, shift = best.x[:d] - best.x[d:-1], np.array([-1, 1]) * best.x[-1]
        scores = (shift - weight @ np.asarray(problem.mean)) / np.linalg.norm(problem.spread * weight)
        clean = ndtr(scores).mean()
        return jnp.stack([jnp.exp(best.fun), clean])

    def condition(self, problem: AttackedClasses) -> Array:
        """Allow for the search, which ends if slopes are as small as their rounding error.

        Then w has an error of about the square root of the rounding error, which hardly changes the least robust error.
        """
        return jnp.array([1e5, 1e8])


class FragileRule(eqx.Module):
    """The rule sign(pull |c| x_1 + sum_j c_j x_j) of one strong sign x_1 and weak features x_j of mean eta y.

    Here y is the class. The sign x_1 is y with probability `keep`.
    """

    keep: Float[Array, ""]
    pull: Float[Array, ""]
    strength: Float[Array, ""]
    weights: Float[Array, " d"]

    @property
    def eta(self) -> Float[Array, ""]:
        """The mean of a weak feature."""
        return self.strength / jnp.sqrt(len(self.weights))

    def accuracy(self, means: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the accuracy if the mean of each weak feature is y times the given number."""
        score = self.weights @ means / jnp.linalg.norm(self.weights)
        right = ndtr(score + jnp.array([1.0, -1.0]) * self.pull)
        return right @ jnp.stack([self.keep, 1 - self.keep])


class FragileFeatures(Claim[FragileRule]):
    """Let y be a uniform sign, and let x_1 = y with probability p >= 1/2 and x_1 = -y otherwise. Given y, let the weak
    features x_2, ..., x_(d+1) be independent and normal with mean eta y and variance 1. Let a rule predict y with error
    probability delta. If an adversary changes each weak feature by at most 2 eta, the accuracy of the rule is at most

        delta p / (1 - p).

    Suppose that the rule uses the weak features and errs less often than the rule sign(x_1), so delta < 1 - p. Then the
    accuracy of the rule under attack is below p. Without an adversary, the accuracy of the rule is 1 - delta, which is
    above the bound. Rules that mostly follow x_1 attain the bound. The test uses linear rules.
    """

    title = "A rule that gains accuracy from weak features loses accuracy under attack"
    source = Source("tsipras2019", "Theorem 2.1", note="for linear rules")
    population = Drawn(
        FragileRule,
        lambda problem: Hypothesis("p", problem.keep, ">=", 0.5, "the attack reverses only the weak features"),
        positive("strength", "weak features have the sign of the label"),
        d=Integer(100, 10, 400, "weak features", corners=(50, 200)),
        keep=uniform(0.9, 0.99),
        pull=uniform(0.0, 8.0),
        strength=uniform(2.0, 4.0),
        weights=uniform(-0.2, 1.0, "d"),
    )
    relation = AtMost()
    control = Control("nine tenths of the bound are enough", lambda bound, problem: 0.9 * bound)
    controls = "the robust accuracy of a rule as a function of its accuracy without an attack"
    unexplained = "how far training follows the weak features"

    def predict(self, problem: FragileRule) -> Array:
        error = 1 - problem.accuracy(jnp.full_like(problem.weights, problem.eta))
        return error * problem.keep / (1 - problem.keep)

    def measure(self, problem: FragileRule, key: Key[Array, ""]) -> Array:
        """Return the accuracy if each weak feature is moved by 2 eta in the direction that makes the rule err."""
        return problem.accuracy(problem.eta - 2 * problem.eta * jnp.sign(problem.weights))

    def trivial(self, problem: FragileRule) -> Array:
        """The accuracy without an adversary."""
        return problem.accuracy(jnp.full_like(problem.weights, problem.eta))
