"""Learning values: the limit of temporal differences, when they diverge, and why maxima of estimates are too large.

This theory gives the values that linear temporal differences reach on the states that the policy visits. It also gives
the growth of a weight if only some states are updated, and the bias of a maximum of estimated action values. The theory
assumes linear features or independent errors. It does not explain networks, whose features change during training.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform

ABOUT = {"tool": "dynamical systems", "architecture": "linear model", "object": "estimator"}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_UPDATES, _DRAWS = 20, 2000


class ChainWithFeatures(eqx.Module):
    """A Markov chain with rewards, a discount, the stationary distribution, and features of the states."""

    transition: Float[Array, "s s"]
    law: Float[Array, " s"]
    rewards: Float[Array, " s"]
    discount: Float[Array, ""]
    features: Float[Array, "s k"]

    @property
    def values(self) -> Float[Array, " s"]:
        """The expected discounted sum of rewards from each state."""
        return jnp.linalg.solve(jnp.eye(len(self.law)) - self.discount * self.transition, self.rewards)

    def length(self, values: Float[Array, " s"]) -> Array:
        """Return the root mean square over the stationary distribution."""
        return jnp.sqrt(self.law @ values**2)

    @property
    def projected(self) -> Float[Array, " s"]:
        """The linear combination of features nearest to the values, in mean square of the stationary distribution."""
        scale = jnp.sqrt(self.law)[:, None]
        weights = jnp.linalg.lstsq(scale * self.features, scale[:, 0] * self.values)[0]
        return self.features @ weights


class ChainsWithFeatures(Population[ChainWithFeatures]):
    """Half of the chains have random moves, and values that are nearly linear in 3 random features.

    The other chains move round a cycle, where the error of temporal differences is a sum of waves and attains the
    bound.
    """

    settings = Space(
        states=Integer(8, 7, 24, "states", corners=(7, 12)),
        discount=Real(0.9, 0.5, 0.96, "discount per step", corners=(0.7, 0.95)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ChainWithFeatures:
        s, discount = setting["states"], jnp.asarray(setting["discount"])
        kind_key, move_key, feature_key, weight_key, noise_key = jax.random.split(key, 5)
        angle, turn = 2 * jnp.pi * jnp.arange(s) / s, (s - 1) // 2
        slow = jnp.cos(2 * jnp.pi * turn / s)
        share = (discount - slow) / (1 - slow)
        wave = jnp.sqrt(share) + jnp.sqrt(2 * (1 - share)) * jnp.cos(turn * angle)
        cycle = jnp.roll(jnp.eye(s), 1, axis=1)
        round_trip = jax.random.bernoulli(kind_key)
        moves = jnp.where(round_trip, cycle, jax.random.dirichlet(move_key, jnp.full(s, 0.3), (s,)))
        waves = jnp.stack([cycle @ wave, jnp.cos(angle), jnp.sin(angle)], axis=1)
        features = jnp.where(round_trip, waves, jax.random.normal(feature_key, (s, 3)))
        off = jnp.where(round_trip, -wave, 0.5 * jax.random.normal(noise_key, (s,)))
        values = features @ (3 * jax.random.normal(weight_key, (3,))) + off
        law = jnp.linalg.solve(jnp.eye(s) - moves.T + jnp.ones((s, s)), jnp.ones(s))
        return ChainWithFeatures(moves, law, values - discount * moves @ values, discount, features)

    def hypotheses(self, problem: ChainWithFeatures) -> list[Hypothesis]:
        gap = jnp.abs(problem.law @ problem.transition - problem.law).max()
        return [
            Hypothesis(
                "deviation from a stationary distribution",
                gap,
                "<=",
                1e-12,
                "then updates occur in the states that the policy visits",
            ),
            Hypothesis("the least probability of a state", problem.law.min(), ">", 0.0, "then all states are visited"),
            Hypothesis("the discount", problem.discount, "<", 1.0, "then sums of rewards converge"),
        ]


class TemporalDifferenceError(Claim[ChainWithFeatures]):
    """Take a Markov chain with a stationary distribution D that is positive in all states, rewards r, a discount gamma
    < 1 and values V(s) = E sum_t gamma^t r(s_t). Let P be the matrix of transition probabilities, and let F be a matrix
    of features. Let Pi be the projection onto the span of the features in the norm |u|² = sum_s D(s) u(s)². Temporal
    differences with updates along the chain end at the fixed point F w = Pi(r + gamma P F w). This fixed point
    satisfies

        |F w - V| <= |Pi V - V| / sqrt(1 - gamma²).

    So if the values are in the span of the features, temporal differences find them exactly. The bound is attained on a
    cycle of states.
    """

    # F w - Pi V = gamma Pi P (F w - V), and P and Pi do not increase the norm. Pythagoras: |F w - V|² = |Pi V - V|² +
    # |F w - Pi V|² <= |Pi V - V|² + gamma² |F w - V|². Equality requires that e = F w - V satisfies that P e is in the
    # span and <P e, e> = gamma |e|², as for sums of two waves on a cycle.
    title = "Temporal differences end with at most 1/sqrt(1 - gamma²) times the error of the best linear fit"
    source = Source("tsitsiklis1997", note="main result, for TD(0), by Pythagoras instead of the triangle inequality")
    population = ChainsWithFeatures()
    relation = AtMost()
    control = Control("0.95 of the bound is enough", lambda bound, problem: 0.95 * bound)
    controls = "the error of values that are learned by temporal differences"
    unexplained = "updates on states that the policy does not visit, for which no such bound holds"

    def predict(self, problem: ChainWithFeatures) -> Array:
        return problem.length(problem.projected - problem.values) / jnp.sqrt(1 - problem.discount**2)

    def measure(self, problem: ChainWithFeatures, key: Key[Array, ""]) -> Array:
        """Return |F w - V|, with w from the normal equations of the mean update."""
        system, target = _mean_update(problem)
        return problem.length(problem.features @ jnp.linalg.solve(system, target) - problem.values)

    def trivial(self, problem: ChainWithFeatures) -> Array:
        """Return |V|, the error if all values are estimated as 0."""
        return problem.length(problem.values)

    def condition(self, problem: ChainWithFeatures) -> Array:
        """Bound the rounding errors of two linear systems, and of values that are larger than the error."""
        size = problem.length(problem.values) / problem.length(problem.projected - problem.values)
        return jnp.linalg.cond(_mean_update(problem)[0]) * size / (1 - problem.discount)


def _mean_update(problem: ChainWithFeatures) -> tuple[Array, Array]:
    visited = problem.features.T * problem.law
    return visited @ (problem.features - problem.discount * problem.transition @ problem.features), (
        visited @ problem.rewards
    )


class TwoStates(eqx.Module):
    """Two states with the features 1 and `ratio`, without rewards; state 1 leads to state 2, state 2 to the end."""

    ratio: Float[Array, ""]
    discount: Float[Array, ""]
    rate: Float[Array, ""]


def _growth(problem: TwoStates, first: Float[Array, ""]) -> Array:
    """Return the factors of w after 20 steps, for updates of the first state alone and of both states."""
    own = problem.rate * first
    return jnp.stack([1 + own, 1 + own - problem.rate * problem.ratio**2]) ** _UPDATES


class UpdatesOfOneState(Claim[TwoStates]):
    """Let state 1 always lead to state 2, let state 2 end the episode, and let all rewards be 0. Let the values be w in
    state 1 and c w in state 2, and let gamma be the discount. An update of state 1 alone, by temporal differences with
    the learning rate alpha, multiplies w by

        1 + alpha (gamma c - 1).

    So w diverges if gamma c > 1, although the true values are 0. If state 2 is updated as often as state 1, the factor
    is 1 + alpha (gamma c - 1 - c²), and w tends to 0 for every gamma <= 1 and small alpha.
    """

    title = "Temporal differences can diverge if states are not updated as often as the policy visits them"
    source = Source("sutton2018", "Section 11.2", note="for any ratio c of the two features; the book has c = 2")
    population = Drawn(
        TwoStates,
        positive("ratio"),
        positive("rate", "without steps nothing is learned"),
        ratio=uniform(1.2, 3.0),
        discount=uniform(0.2, Real(1.0, 0.3, 1.0, "largest discount")),
        rate=log_uniform(0.01, 0.1),
    )
    relation = Equal()
    control = Control(
        "the value of the next state does not grow with c",
        lambda weights, problem: _growth(problem, problem.discount - 1),
    )
    controls = "the weight that is learned from updates on other states than the policy visits"
    unexplained = "methods whose updates follow a true gradient, which do not diverge"

    def predict(self, problem: TwoStates) -> Array:
        return _growth(problem, problem.discount * problem.ratio - 1)

    def measure(self, problem: TwoStates, key: Key[Array, ""]) -> Array:
        """Return the factors of w after 20 steps, with automatic derivatives of the values."""
        value = lambda w, feature: feature * w

        def step(both: float) -> Array:
            def once(_, w):
                first = problem.discount * value(w, problem.ratio) - value(w, 1.0)
                moved = first * jax.grad(value)(w, 1.0) - both * value(w, problem.ratio) * jax.grad(value)(
                    w, problem.ratio
                )
                return w + problem.rate * moved

            return jax.lax.fori_loop(0, _UPDATES, once, jnp.ones(()))

        return jnp.stack([step(0.0), step(1.0)])

    def condition(self, problem: TwoStates) -> Array:
        """Bound the rounding errors: each step rounds w, and terms cancel if the factor of a step is near 0."""
        factors = _growth(problem, problem.discount * problem.ratio - 1) ** (1 / _UPDATES)
        return 10 * _UPDATES * (1 + 1 / factors)


class EqualActions(eqx.Module):
    """The number m of actions with the same value, and the size of the errors of the estimated values."""

    scale: Float[Array, ""]
    actions: int = eqx.field(static=True)


class MaximumOfEstimates(Claim[EqualActions]):
    """Let m actions have the same value, and let their estimates have independent errors. Let phi and Phi be the normal
    density and distribution function. The maximum of the estimates is too large on average by

        e (m - 1)/(m + 1)    for errors that are uniform on [-e, e],
        sigma m int z phi(z) Phi(z)^(m-1) dz    for normal errors of standard deviation sigma.

    The double estimate chooses the action with the largest estimate, and takes the value of this action from a second,
    independent set of estimates. Its mean error is 0. The test measures the mean difference between the maximum and the
    double estimate on the same draws.
    """

    title = "The maximum of m estimates of equal action values is too large on average, but the double estimate is not"
    source = Source("thrun1993", note="main result for uniform errors; the double estimate is by van Hasselt (2010)")
    population = Drawn(
        EqualActions,
        positive("scale", "exact estimates have no bias"),
        scale=log_uniform(0.1, 10.0),
        actions=Integer(6, 2, 16, "actions", corners=(3, 12)),
    )
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the bias is e m/(m + 1), and sigma sqrt(2 log m) for normal errors",
        lambda bias, problem: (
            problem.scale * jnp.array([problem.actions / (problem.actions + 1), np.sqrt(2 * np.log(problem.actions))])
        ),
    )
    controls = "how much the value of the best action is overestimated"
    unexplained = "actions of different values; the bias of the double estimate, which is then at most 0"
    trials = 96

    def predict(self, problem: EqualActions) -> Array:
        m, z = problem.actions, 10 * _NODES
        largest = 10 * _WEIGHTS @ (z * m * norm.pdf(z) * norm.cdf(z) ** (m - 1))
        return problem.scale * jnp.stack([jnp.asarray((m - 1) / (m + 1)), largest])

    def measure(self, problem: EqualActions, key: Key[Array, ""]) -> Array:
        """Return the mean difference between the maximum and the double estimate over 2000 draws.

        The first number is for uniform errors, and the second number for normal errors.
        """
        uniform_key, normal_key = jax.random.split(key)
        shape = (2, _DRAWS, problem.actions)
        draws = jnp.stack([jax.random.uniform(uniform_key, shape, minval=-1.0), jax.random.normal(normal_key, shape)])
        first, second = draws[:, 0], draws[:, 1]
        chosen = jnp.take_along_axis(second, first.argmax(axis=2)[..., None], axis=2)[..., 0]
        return problem.scale * jnp.mean(first.max(axis=2) - chosen, axis=1)
