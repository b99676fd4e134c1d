"""Two clocks (time scales). Training errors fall at the rates of the data, and test errors at the rate of the weight
decay.

This theory is about a linear model and a diagonal network that start from large weights. It computes when these models
fit the rows, and when they generalise. It assumes gradient flow with a small weight decay. It does not explain the
delay of networks whose features form in other ways.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Hypothesis, Integer, Kind, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, signs, uniform

ABOUT = {"tool": "dynamical systems", "architecture": "linear model", "object": "training"}

FITTED = 0.01
_LIFTS = 32


class DecayedFlow(eqx.Module):
    """The gradient flow of |x w - y|²/(2n) + decay |w|²/2 with y = x truth, from a start of large norm."""

    x: Float[Array, "n d"]
    truth: Float[Array, " d"]
    start: Float[Array, " d"]
    decay: Float[Array, ""]

    @property
    def rates(self) -> tuple[Float[Array, " n"], Float[Array, "n d"]]:
        """The nonzero eigenvalues of x'x/n, and their eigenvectors."""
        _, values, vectors = jnp.linalg.svd(self.x, full_matrices=False)
        return values**2 / len(self.x), vectors

    @property
    def unseen(self) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """The parts of the start and of the truth in the null space of x."""
        vectors = self.rates[1]
        return self.start - vectors.T @ (vectors @ self.start), self.truth - vectors.T @ (vectors @ self.truth)


def slow_share(problem: DecayedFlow) -> Float[Array, ""]:
    """Return e^(-decay t) at the time t at which the error in the null space has fallen to twice its final value."""
    start, truth = problem.unseen
    size, along, floor = start @ start, start @ truth, truth @ truth
    return (along + jnp.sqrt(along**2 + size * floor)) / size


def fit_time(problem: DecayedFlow) -> float:
    """Return when the training error without decay has fallen to FITTED times the mean square of the labels."""
    rates, vectors = (np.asarray(values) for values in problem.rates)
    parts = rates * (vectors @ np.asarray(problem.start - problem.truth)) ** 2
    target = FITTED * np.sum(rates * (vectors @ np.asarray(problem.truth)) ** 2)
    above = lambda log: np.sum(parts * np.exp(-2 * rates * np.exp(log))) - target
    return float(np.exp(brentq(above, -12.0, 12.0)))  # pyright: ignore


def flow_times(problem: DecayedFlow, decay: float) -> tuple[float, float, float]:
    """Return the times at which the flow has fitted the rows and has generalised, and a test error.

    The flow has generalised when its test error has fallen to twice its final value. The returned test error is the
    test error of the flow without decay, at the time when the flow with decay has generalised. The flow is computed by
    powers of its exponential, not by eigenvectors.
    """
    x, truth = np.asarray(problem.x), np.asarray(problem.truth)
    n, d = x.shape
    labels, null, start = x @ truth, np.asarray(problem.unseen[1]), np.append(np.asarray(problem.start), 1.0)
    curvature = x.T @ x / n
    step = 0.01 / np.abs(curvature).sum(axis=1).max()

    def powers(rate: float) -> list[np.ndarray]:
        """Return the flow over 2^k steps, with the largest k first."""
        affine = np.zeros((d + 1, d + 1))
        affine[:d, :d], affine[:d, d] = -curvature - rate * np.eye(d), x.T @ labels / n
        found = [expm(step * affine)]
        for _ in range(_LIFTS - 1):
            found.append(found[-1] @ found[-1])
        return found[::-1]

    def crossing(error: Callable[[np.ndarray], float], least: float) -> list[bool]:
        """Return which powers to multiply to reach the last multiple of the step with an error above `least`."""
        at, taken = start, []
        for power in decayed:
            ahead = power @ at
            taken.append(error(ahead[:d]) > least)
            at = ahead if taken[-1] else at
        return taken

    decayed, free = powers(decay), start
    test = lambda w: float(np.sum((w - truth) ** 2))
    fitted = crossing(lambda w: float(np.mean((x @ w - labels) ** 2)), FITTED * float(np.mean(labels**2)))
    learned = crossing(test, 2 * float(null @ null))
    for power, taken in zip(powers(0.0), learned, strict=True):
        free = power @ free if taken else free
    ticks = 2.0 ** np.arange(_LIFTS)[::-1]
    return step * (ticks @ fitted + 1), step * (ticks @ learned + 1), test(free[:d])


def _decayed_flows(decay: Real) -> Drawn:
    return Drawn(
        DecayedFlow,
        positive("decay", "without decay the test error never falls"),
        lambda own: Hypothesis("decay divided by the least rate", own.decay / own.rates[0].min(), "<", 0.02,
                               "weight decay changes the learned solution by about this share"),
        lambda own: Hypothesis("e^(-decay t) when the test error has fallen", slow_share(own), "<", 0.3,
                               "a start that is not large does not have to be forgotten"),
        x=normal("n", "d"), truth=normal("d"), start=normal("d", times=Real(20.0, 10.0, 100.0, "size of the start")),
        n=Integer(20, 8, 24, "rows", corners=(16, 24)), d=Integer(60, 50, 80, "weights", corners=(50, 70)), decay=decay,
    )  # fmt: skip


class TwoClocks(Claim[DecayedFlow]):
    """A linear model with d > n weights w fits n rows x with the labels y = x w*. Let w follow the gradient flow of |x
    w - y|²/(2n) + lambda |w|²/2 from w_0. Let P project onto the null space of x. Let v_i be the coordinates of w_0 -
    w* along the eigenvectors of x'x/n with the eigenvalues mu_i > 0. Suppose that lambda is far below all mu_i. Then

        the training error at t is     sum_i mu_i v_i² e^(-2 mu_i t),
        the test error |w - w*|² is    |P(w_0 e^(-lambda t) - w*)|²   once the rows are fitted.

    So the rows are fitted at a time that does not depend on lambda. Let c = <P w_0, P w*>. The test error falls to
    twice its floor |P w*|² at

        t_test = log(1/z)/lambda,   z = (c + sqrt(c² + |P w_0|² |P w*|²))/|P w_0|².

    Without decay, the test error at that time is still |P(w_0 - w*)|².

    Derivation: in the null space of x the flow is dw/dt = -lambda w. In the other directions, dv_i/dt = -mu_i v_i up to
    terms of the order lambda, and direction i contributes mu_i v_i² to the training error. With z = e^(-lambda t), the
    test error is twice its floor if z² |P w_0|² - 2 z c = |P w*|².
    """

    title = "A linear model fits at a time set by the data, but generalises at a time of order 1/(weight decay)"
    source = Source(
        "liu2023omnigrok", note="large initial norm and weight decay; here in closed form for least squares"
    )
    stated = Kind.OWN
    population = _decayed_flows(Real(1e-3, 2e-4, 2e-3, "weight decay", corners=(7e-4, 1.4e-3)))
    relation = EqualInMean(margin=0.02, resolution=0.03, over="problems")
    control = Control("all three numbers are a fifth larger", lambda told, problem: 1.2 * told)
    controls = "when a model that starts with large weights fits, and when it generalises"
    unexplained = "models whose features change in training"
    trials = 24
    traced = False

    def predict(self, problem: DecayedFlow) -> Array:
        start, truth = problem.unseen
        slow = -jnp.log(slow_share(problem)) / problem.decay
        return jnp.stack([jnp.asarray(fit_time(problem)), slow, jnp.sum((start - truth) ** 2)])

    def measure(self, problem: DecayedFlow, key: Key[Array, ""]) -> Array:
        return jnp.asarray(flow_times(problem, float(problem.decay)))


class DelayIsInverseInDecay(Claim[DecayedFlow]):
    """Take the flow of a linear model with n rows, d > n weights and weight decay lambda, from a start of large norm.
    Let t_train be the time at which the training error has fallen to a hundredth of the mean square of the labels. Let
    t_test be the time at which the test error has fallen to twice its final value. If lambda is far below the nonzero
    eigenvalues of the covariance of the rows, the delay t_test/t_train is proportional to 1/lambda.

    Derivation: the training error falls at the rates of the nonzero eigenvalues, so t_train does not depend on lambda.
    In the null space of the rows, the weights fall like z = e^(-lambda t). The test error is twice its final value at a
    value of z that does not depend on lambda, so t_test = log(1/z)/lambda.
    """

    title = "The grokking delay of a linear model is proportional to 1/weight decay"
    source = Source(
        "emergence2026", "Definition 19.3", "Figure 19.7", "Figure 19.19", note="the delay of a linear model"
    )
    stated = Kind.OWN
    population = _decayed_flows(Real(1e-3, 2e-4, 2e-3, "largest weight decay", corners=(7e-4, 1.4e-3)))
    relation = Rate("part of the decay", (1.0, 0.5, 0.25, 0.125), margin=0.01, resolution=0.02)
    control = Control("the delay falls like lambda^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the ratio of the times of generalising and of fitting"
    unexplained = "the constant, which depends on the start"
    trials = 24
    traced = False
    predict = -1.0

    def measure_at(self, problem: DecayedFlow, key: Key[Array, ""], part: float) -> Array:
        fitted, learned, _ = flow_times(problem, part * float(problem.decay))
        return jnp.asarray(learned / fitted)


class SparseTruth(eqx.Module):
    """Rows of a regression on few of many columns, for a network w = u² - v² that starts at u = v = alpha.

    Args:
        x: the rows.
        signs: the signs of the k coefficients, which belong to the first columns.
        small: the smaller of two starts alpha.
        ratio: the larger start divided by the smaller start.
        decay: lambda, the decay of each weight.
    """

    x: Float[Array, "n d"]
    signs: Float[Array, " k"]
    small: Float[Array, ""]
    ratio: Float[Array, ""]
    decay: Float[Array, ""]


def rich_time(problem: SparseTruth, alpha: float, decayed: bool = True, until: float = np.inf) -> tuple[float, float]:
    """Return the time, at most `until`, at which |w - w*|² has fallen to half of its value for the least-norm fit.

    Also return |w - w*|² at the returned time, divided by the value for the least-norm fit.

    With s = alpha e^(-decay t), the flow is u = s e^r and v = s e^(-r), where r' = -2 x'(xw - y)/n.
    """
    x, decay = np.asarray(problem.x), float(problem.decay) * decayed
    truth = np.zeros(x.shape[1])
    truth[: len(problem.signs)] = np.asarray(problem.signs)
    plateau = float(np.sum((np.linalg.pinv(x) @ (x @ truth) - truth) ** 2))
    curvature = x.T @ x / len(x)
    size = lambda t: 2 * alpha**2 * np.exp(-2 * decay * t)
    error = lambda t, r: float(np.sum((size(t) * np.sinh(2 * r) - truth) ** 2)) / plateau

    def halved(t, r):
        return error(t, r) - 0.5

    halved.terminal, halved.direction = True, -1  # type: ignore[attr-defined]
    end = min(until, 3 * np.log(1e3 * alpha) / max(decay, 1e-12))
    found = solve_ivp(
        lambda t, r: -2 * curvature @ (size(t) * np.sinh(2 * r) - truth), (0.0, end), np.zeros(len(truth)),
        method="LSODA", jac=lambda t, r: -4 * size(t) * curvature * np.cosh(2 * r), events=halved,
        rtol=1e-6, atol=1e-11,
    )  # fmt: skip
    return float(found.t[-1]), error(found.t[-1], found.y[:, -1])


class RichTransition(Claim[SparseTruth]):
    """Let y = x w* with n rows, d > n columns and a sparse w*, and let w = u² - v², coordinate by coordinate. Start at
    u = v = alpha, and follow the gradient flow of |x w - y|²/(2n) + lambda (|u|² + |v|²)/2 with a small lambda. For
    large alpha, the flow first comes close to the least-norm solution, which fits the rows. Then u v = alpha² e^(-2
    lambda t) falls, and the sparse solution is found. The time at which the test error has halved is (log alpha +
    C)/lambda, where C does not depend on alpha. So the slope of this time in log alpha is

        1/lambda.

    Without decay, the test error at this time is still the test error of the least-norm solution.
    """

    title = (
        "The time at which a diagonal network with initial weights alpha leaves the lazy regime grows as "
        "log(alpha)/decay"
    )
    source = Source("lyu2024", note="the main result on diagonal networks, as a slope in log alpha")
    population = Drawn(
        SparseTruth,
        positive("decay", "without decay the network does not leave the lazy regime"),
        lambda own: Hypothesis("the smaller start", own.small, ">=", 5.0, "the first fit is lazy for large starts"),
        x=normal("n", "d"),
        signs=signs("k"),
        small=log_uniform(6.0, 12.0),
        ratio=log_uniform(4.0, 16.0),
        decay=Real(0.01, 0.002, 0.02, "weight decay"),
        n=Integer(18, 16, 24, "rows"),
        d=Integer(32, 30, 40, "columns"),
        k=Integer(2, 1, 2, "coefficients"),
    )
    relation = EqualInMean(margin=0.005, resolution=0.015, over="problems")
    control = Control("both numbers are half as large", lambda told, problem: told * jnp.asarray([0.5, 0.5]))
    controls = "how long a network stays lazy after it has fitted the rows"
    unexplained = "the constant C, and networks with other layers"
    trials = 12
    traced = False

    def predict(self, problem: SparseTruth) -> Array:
        return jnp.stack([1 / problem.decay, jnp.ones(())])

    def measure(self, problem: SparseTruth, key: Key[Array, ""]) -> Array:
        """Return the slope of the time in log alpha between the two starts, and the error without decay.

        This error is taken at the time of the larger start.
        """
        small, ratio = float(problem.small), float(problem.ratio)
        early, late = (rich_time(problem, start)[0] for start in (small, small * ratio))
        still = rich_time(problem, small * ratio, decayed=False, until=late)[1]
        return jnp.asarray([(late - early) / np.log(ratio), still])


class TwoErrors(eqx.Module):
    """A training error e^(-a t), and a test error that is 1 before its onset and e^(-b (t - onset)) afterwards."""

    train_rate: Float[Array, ""]
    test_rate: Float[Array, ""]
    late: Float[Array, ""]

    @property
    def onset(self) -> Float[Array, ""]:
        """The onset of the test error, which is 0 in half of the problems."""
        return jnp.maximum(self.late, 0.0)


_LEVELS = (0.5, 0.9, 0.99)


class DelayByThreshold(Claim[TwoErrors]):
    """Let the training error be e^(-a t) and the test error min(1, e^(-b (t - t_0))) with t_0 >= 0. Let t_train and
    t_test be the first times at which the training accuracy and the test accuracy reach 1 - eps. The delay is

        t_test/t_train = a/b + a t_0/log(1/eps).

    So the delay is the same at every threshold if and only if the test error falls from the start (t_0 = 0). With an
    onset t_0 > 0, the delay falls as the threshold rises.

    Derivation: t_train = log(1/eps)/a and t_test = t_0 + log(1/eps)/b.
    """

    title = "The grokking delay depends on the accuracy threshold if and only if the test error starts to fall late"
    source = Source("emergence2026", "Definition 19.3", "Figure 19.7", note="for exponential errors")
    stated = Kind.OWN
    population = Drawn(
        TwoErrors,
        positive("train_rate"),
        positive("test_rate"),
        train_rate=log_uniform(0.01, 1.0),
        test_rate=log_uniform(0.0001, 0.01),
        late=uniform(-1.0, 1.0, times=Real(500.0, 10.0, 5000.0, "largest onset")),
    )
    relation = Equal()
    control = Control(
        "the delay at the threshold 0.9 holds at all thresholds", lambda delays, problem: _as_at(delays, problem)
    )
    controls = "whether a delay says something about the model or about the threshold"
    unexplained = "errors that do not fall exponentially"
    traced = False

    def predict(self, problem: TwoErrors) -> Array:
        a, log = problem.train_rate, -jnp.log1p(-jnp.asarray(_LEVELS))
        return a / problem.test_rate + a * problem.onset / log

    def measure(self, problem: TwoErrors, key: Key[Array, ""]) -> Array:
        """Find by root-finding when each of the two curves first reaches a threshold."""
        a, b, onset = (float(value) for value in (problem.train_rate, problem.test_rate, problem.onset))
        train, test = (lambda t: -np.expm1(-a * t)), (lambda t: -np.expm1(-b * max(t - onset, 0.0)))

        def first(curve: Callable[[float], float], level: float, end: float) -> float:
            return float(brentq(lambda t: curve(t) - level, 0.0, end, xtol=1e-13))  # pyright: ignore

        delays = [first(test, level, onset + 10 / b) / first(train, level, 10 / a) for level in _LEVELS]
        return jnp.asarray(delays)

    def condition(self, problem: TwoErrors) -> Array:
        """Allow for the slope of the curves: at accuracy 0.99, an error of the accuracy becomes a 100 times larger
        error of the time.
        """
        return jnp.asarray(1e3)


def _as_at(delays: Array, problem: TwoErrors) -> Array:
    """Return the delay at the middle threshold for all thresholds, or 1.1 times each delay if there is no onset."""
    return jnp.where(problem.onset > 0, jnp.asarray([1.0, 1.1, 1.0]) * delays[1], 1.1 * delays)
