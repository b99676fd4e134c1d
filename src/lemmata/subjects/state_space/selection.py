"""What linear recurrences cannot select: holding the last marked input, and adding only the marked inputs.

This theory is about tasks in which one input, a mark of 0 or 1, decides what to do with another input. It gives the
least mean squared error of any linear time-invariant model, with any number of states. The best linear model is known,
and for rare marks it leaves most of the variance of the target unexplained. A single state whose step depends on the
mark has no error. The theory assumes marks that are independent of the inputs, and models whose outputs are linear in
marks and inputs. It does not say how much a nonlinear layer after the recurrence can repair.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws

ABOUT = {"tool": "statistics", "architecture": "state-space model", "object": "memory", "problem": 4}


class MarkedNoise(eqx.Module):
    """White noise of `length` steps, each marked with probability p. Linear models see the last `window` steps."""

    chance: Float[Array, ""]
    length: int = eqx.field(static=True)
    window: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
        """Draw marks m, each 0 or 1, and inputs x."""
        mark, noise = jax.random.normal(key, (2, self.length))
        return (jax.scipy.stats.norm.cdf(mark) < self.chance).astype(float), noise


class MarkedSequence(eqx.Module):
    """One draw x of marked noise, its marks (0 or 1), and the probability p of a mark."""

    chance: Float[Array, ""]
    marks: Float[Array, " t"]
    x: Float[Array, " t"]


class MarkedNoises(Population[MarkedNoise]):
    """Marked white noise, in which the probability of a mark is around 0.3."""

    settings = Space(
        chance=Real(0.3, 0.05, 0.9, "chance of a mark", corners=(0.3, 0.45)),
        length=Integer(8000, 100, 10**6, "steps", corners=(6000, 8000)),
        window=Integer(10, 1, 100, "number of last steps that a linear model sees", corners=(8, 12)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarkedNoise:
        (normal,) = draws(key, ())
        return MarkedNoise(setting["chance"] * jnp.exp(0.1 * jnp.tanh(normal)), setting["length"], setting["window"])

    def hypotheses(self, problem: MarkedNoise) -> list[Hypothesis]:
        left = (1 - problem.chance) ** (2 * problem.window)
        return [
            Hypothesis("the chance of a mark", problem.chance, "<", 1.0, "otherwise every input is marked"),
            Hypothesis("(1 - p)^(2 window)", left, "<=", 0.01, "then inputs before the window add almost nothing"),
        ]


class HeldNoises(Population[MarkedNoise]):
    """Marked white noise with probabilities of a mark from 0.15 to 0.7.

    The window of past steps that a linear model sees is long enough for the smallest probability.
    """

    settings = Space(
        least=Real(0.15, 0.1, 0.6, "smallest chance of a mark", corners=(0.2, 0.4)),
        length=Integer(16000, 100, 10**6, "steps", corners=(12000, 16000)),
        window=Integer(16, 1, 100, "number of last steps that a linear model sees", corners=(14, 18)),
    ).where("(1 - p)^(2 window) <= 0.01", lambda s: (1 - s["least"]) ** (2 * s["window"]) <= 0.01)

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarkedNoise:
        chance = jax.random.uniform(key, minval=setting["least"], maxval=0.7)
        return MarkedNoise(chance, setting["length"], setting["window"])

    def hypotheses(self, problem: MarkedNoise) -> list[Hypothesis]:
        return MarkedNoises().hypotheses(problem)


class MarkedSequences(Population[MarkedSequence]):
    """Sequences of marked white noise."""

    settings = Space(
        chance=Real(0.3, 0.05, 0.9, "chance of a mark", corners=(0.15, 0.45)),
        length=Integer(100, 1, 10**4, "steps", corners=(50, 100)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarkedSequence:
        law = MarkedNoise(jnp.asarray(setting["chance"]), setting["length"], 1)
        return MarkedSequence(law.chance, *law.draw(key))

    def hypotheses(self, problem: MarkedSequence) -> list[Hypothesis]:
        off = jnp.abs(problem.marks * (1 - problem.marks)).max()
        return [Hypothesis("largest m (1 - m)", off, "<=", 0.0, "each mark is 0 or 1")]


_SOURCE = Source("gu2023mamba", "Section 3.1", note="the tasks that need selection, with the best linear error")
_MEAN = EqualInMean(margin=0.02, resolution=0.03)


def _held(marks: Float[Array, " t"], x: Float[Array, " t"]) -> Float[Array, " t"]:
    """Return the last marked input at each time, and 0 before the first marked input."""
    last = jax.lax.cummax(jnp.where(marks > 0, jnp.arange(len(x)), -1))
    return jnp.where(last >= 0, x[jnp.maximum(last, 0)], 0.0)


def _summed(marks: Float[Array, " t"], x: Float[Array, " t"], window: int) -> Float[Array, " t"]:
    """Return the sum of the marked inputs of the window that ends at each time."""
    total = jnp.concatenate([jnp.zeros(1), jnp.cumsum(marks * x)])
    starts = jnp.maximum(jnp.arange(1, len(x) + 1) - window, 0)
    return total[1:] - total[starts]


def _left_at_steps(marks: Array, x: Array, y: Array, window: int) -> tuple[Array, Array]:
    """Predict the target y from the marks and inputs in a window of past steps; return the residual and y.

    The weights are those of least squares on the first half of the steps. Apart from marks and inputs before the
    window, every linear time-invariant model outputs a weighted sum of these marks and inputs.
    """
    centred = marks - jnp.mean(marks)
    lagged = [row[window - lag : len(x) - lag] for row in (centred, x) for lag in range(window)]
    features, y = jnp.stack([*lagged, jnp.ones(len(x) - window)]), y[window:]
    half = len(y) // 2
    known = features[:, :half]
    return y - jnp.linalg.solve(known @ known.T, known @ y[:half]) @ features, y


def _left_by_linear_models(marks: Array, x: Array, y: Array, window: int) -> Array:
    """Return the share of the variance of y that the best linear model leaves unexplained, on the second half."""
    left, y = _left_at_steps(marks, x, y, window)
    half = len(y) // 2
    return jnp.mean(left[half:] ** 2) / jnp.var(y[half:])


def _left_on_both_halves(marks: Array, x: Array, y: Array, window: int) -> Array:
    """Return the share of the variance of y that the best linear model leaves unexplained, on all steps.

    The residual is too small on the half to which the weights are fitted, and too large on the other half. To first
    order, the two errors cancel.
    """
    left, y = _left_at_steps(marks, x, y, window)
    return jnp.mean(left**2) / jnp.var(y)


class HoldingByLinearModels(Claim[MarkedNoise]):
    """Let x_t be white noise, and mark each x_t independently with probability p. Consider linear time-invariant models
    that read marks and inputs and have any number of states. The largest fraction of the variance of the last marked
    input that such a model can explain is

        p / (2 - p).

    The model that gives x_{t-s} the weight p (1 - p)^s attains this fraction.
    """

    title = "With marks of rate p, linear recurrences explain at most p/(2 - p) of the last marked input's variance"
    source = _SOURCE
    stated = Kind.OWN
    population = HeldNoises()
    relation = _MEAN
    control = Control("a share p of the variance is explained", lambda share, problem: problem.chance)
    controls = "the least error of linear recurrences on a selection task"
    unexplained = "recurrences with nonlinear layers after them"
    trials = 48

    def predict(self, problem: MarkedNoise) -> Array:
        return problem.chance / (2 - problem.chance)

    def measure(self, problem: MarkedNoise, key: Key[Array, ""]) -> Array:
        marks, x = problem.draw(key)
        return 1 - _left_on_both_halves(marks, x, _held(marks, x), problem.window)


class GatedSumByLinearModels(Claim[MarkedNoise]):
    """Let x_t be white noise, and mark each x_t independently with probability p. The target is the sum of the marked
    inputs among the last T steps. The best linear time-invariant model of marks and inputs leaves a fraction of the
    target's variance unexplained. This fraction is

        1 - p.

    The best model adds up p times each of the last T inputs.
    """

    title = "With random marks of rate p, linear recurrences leave 1 - p of the variance of marked sums unexplained"
    source = _SOURCE
    stated = Kind.OWN
    population = MarkedNoises()
    relation = _MEAN
    control = Control(
        "a share 2 (1 - p)/(2 - p) is left unexplained, as for the last marked input",
        lambda share, problem: 2 * share / (1 + share),
    )
    controls = "the least error of linear recurrences on a selection task"
    unexplained = "recurrences with nonlinear layers after them"
    trials = 48

    def predict(self, problem: MarkedNoise) -> Array:
        return 1 - problem.chance

    def measure(self, problem: MarkedNoise, key: Key[Array, ""]) -> Array:
        marks, x = problem.draw(key)
        return _left_by_linear_models(marks, x, _summed(marks, x, problem.window), problem.window)


def _fixed(problem: MarkedSequence) -> Array:
    p = problem.chance
    advance = lambda state, x: ((1 - p) * state + p * x,) * 2
    return jax.lax.scan(advance, jnp.zeros(()), problem.x)[1]


class SelectiveStateHolds(Claim[MarkedSequence]):
    """Let x_t be inputs with marks m_t, where m_t is 1 if x_t is marked and 0 otherwise. Take a single state whose step
    depends on the mark, h_t = (1 - m_t) h_{t-1} + m_t x_t, starting from h = 0. At every time from the first mark on,
    this state equals the last marked input exactly.
    """

    title = "One state of a selective recurrence holds the last marked input exactly"
    source = _SOURCE
    stated = Kind.OWN
    population = MarkedSequences()
    relation = Equal(block=1)
    control = Control(
        "the fixed step h_t = (1 - p) h_{t-1} + p x_t holds the last marked input",
        lambda held, problem: _fixed(problem),
    )
    controls = "what a recurrence can compute if its step depends on its input"
    unexplained = "how such a step is learned"

    def predict(self, problem: MarkedSequence) -> Array:
        return _held(problem.marks, problem.x)

    def measure(self, problem: MarkedSequence, key: Key[Array, ""]) -> Array:
        advance = lambda state, now: ((1 - now[0]) * state + now[0] * now[1],) * 2
        return jax.lax.scan(advance, jnp.zeros(()), jnp.stack([problem.marks, problem.x], axis=1))[1]
