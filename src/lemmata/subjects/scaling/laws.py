"""Separable scaling laws: the best use of a budget, a fit without a floor, and how far a fit can be trusted.

This theory describes the loss L(N, D) = E + A N^-alpha + B D^-beta of N parameters and D tokens. It covers the best
allocation of N and D under a budget, and the extrapolation of a fit to noisy losses. It assumes that one such law
holds over all sizes. It does not explain why losses follow power laws, or what happens at sizes where losses stop
following power laws.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.subjects.scaling import extrapolation_interval
from lemmata.subjects.scaling._scaling_laws import SeparableLaw, SeparableLaws

from ._search import lowest_point

ABOUT = {"tool": "statistics", "architecture": "any", "object": "cost"}


class MeasuredCurve(eqx.Module):
    """Losses floor + A n^-alpha with log-normal noise.

    Args:
        sizes: the size n of each run.
        losses: the measured losses.
        floor: the floor: the loss without noise at unlimited size.
        amplitude: the amplitude A.
        exponent: the exponent alpha.
    """

    sizes: Float[Array, "m"]
    losses: Float[Array, "m"]
    floor: Float[Array, ""]
    amplitude: Float[Array, ""]
    exponent: Float[Array, ""]

    def law(self, size: Float[Array, "..."]) -> Float[Array, "..."]:
        """The loss without noise."""
        return self.floor + self.amplitude * size**-self.exponent


class MeasuredCurves(Population[MeasuredCurve]):
    """Noisy losses at sizes from a million on, evenly spaced in logarithm; exponents near 0.34, and floors near 1.7."""

    settings = Space(
        points=Integer(8, 6, 40, "sizes", corners=(6, 16)),
        decades=Real(3.0, 1.5, 6.0, "decimal logarithm of the ratio of the largest to the smallest size"),
        noise=Real(0.005, 1e-4, 0.05, "standard deviation of the log losses", corners=(0.002, 0.01)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MeasuredCurve:
        """Draw a law with floor, amplitude and exponent near (1.7, 400, 0.34), and one noisy loss at each size."""
        law_key, noise_key = jax.random.split(key)
        floor, amplitude, exponent = jnp.asarray([1.7, 400.0, 0.34]) * jnp.exp(
            jnp.asarray([0.3, 0.3, 0.15]) * jax.random.normal(law_key, (3,))
        )
        sizes = 10.0 ** jnp.linspace(6.0, 6.0 + setting["decades"], setting["points"])
        noise = setting["noise"] * jax.random.normal(noise_key, sizes.shape)
        return MeasuredCurve(sizes, (floor + amplitude * sizes**-exponent) * jnp.exp(noise), floor, amplitude, exponent)

    def hypotheses(self, problem: MeasuredCurve) -> list[Hypothesis]:
        return [
            Hypothesis(
                "points outnumber parameters",
                len(problem.sizes),
                ">",
                3,
                "the noise must be estimated from the residuals",
            )
        ]


_FAR = 100.0
_LEVEL = 0.95


def _balanced(problem: SeparableLaw, exponents: Float[Array, "2"]) -> Float[Array, "2"]:
    """Return N and D for the budget C, with the given exponents of the two powers of C/kappa."""
    (alpha, beta), (a, b) = problem.exponents, problem.amplitudes
    shift = (alpha * a / (beta * b)) ** (1 / (alpha + beta))
    budget = problem.compute / problem.cost
    power = exponents / exponents.sum()
    return jnp.stack([shift * budget ** power[1], budget ** power[0] / shift])


def _measured(problem: SeparableLaw, compute: Float[Array, ""]) -> Float[Array, "2"]:
    """Find N and D by golden section along kappa N D = C."""
    top = jnp.log(compute / problem.cost)
    best = lowest_point(lambda log: problem.parts(jnp.exp(log), jnp.exp(top - log)).sum(), 0.0 * top, top)
    return jnp.exp(jnp.stack([best, top - best]))


def _flat(problem: SeparableLaw) -> Float[Array, ""]:
    """The error of log N is the root of the rounding error: a change h of it adds a share alpha beta h²/2 to L - E."""
    return 1 / jnp.sqrt(jnp.finfo(float).eps * problem.exponents.prod())


class BalancedAllocation(Claim[SeparableLaw]):
    """Let a model with N parameters, trained on D tokens, have the loss E + A N^-alpha + B D^-beta. Let kappa N D = C
    be the compute budget, where kappa is the compute per parameter and token. Under this budget, the loss is smallest
    at

        N = G (C/kappa)^(beta/(alpha+beta)),  D = (C/kappa)^(alpha/(alpha+beta)) / G,
        G = (alpha A / (beta B))^(1/(alpha+beta)).

    The test also checks the difference between this smallest loss and E.
    """

    title = "Under a law like Chinchilla's, the compute-optimal numbers of parameters and tokens are powers of compute"
    source = Source("emergence2026", "Proposition 17.4", "Figure 17.5", note="with explicit constants")
    population = SeparableLaws()
    relation = Equal()
    control = Control(
        "the exponents of N and D are exchanged",
        lambda value, problem: _with_excess(problem, _balanced(problem, problem.exponents[::-1])),
    )
    controls = "the numbers of parameters and tokens with the least loss"
    unexplained = "the constants of the law; losses that are not a sum of two powers"

    def predict(self, problem: SeparableLaw) -> Array:
        return _with_excess(problem, _balanced(problem, problem.exponents))

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        size, data = _measured(problem, problem.compute)
        return jnp.stack([size, data, problem.parts(size, data).sum()])

    def condition(self, problem: SeparableLaw) -> Array:
        """The loss is flat at the optimum, so N and D are known to half of the digits, and L - E to all digits."""
        return jnp.stack([_flat(problem), _flat(problem), 100.0])


def _with_excess(problem: SeparableLaw, sizes: Float[Array, "2"]) -> Float[Array, "3"]:
    return jnp.append(sizes, problem.parts(*sizes).sum())


class BalancedReturns(Claim[SeparableLaw]):
    """Let a model with N parameters, trained on D tokens, have the loss E + A N^-alpha + B D^-beta. Let kappa N D = C
    be the compute budget. At the best allocation, a small relative change of N changes the loss as much as an equal
    relative change of D:

        alpha A N^-alpha = beta B D^-beta.

    The test checks the ratio of the two terms of the loss, which is A N^-alpha / (B D^-beta) = beta/alpha.
    """

    title = "Compute-optimal training balances marginal returns of parameters and tokens"
    source = Source("emergence2026", "Figure 17.6")
    population = SeparableLaws()
    relation = Equal()
    control = Control("the two parts of the excess loss are equal", lambda ratio, problem: jnp.ones(()))
    controls = "how the excess loss is shared between too few parameters and too few tokens"
    unexplained = "why the loss follows this law"

    def predict(self, problem: SeparableLaw) -> Array:
        return problem.exponents[1] / problem.exponents[0]

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        capacity, estimation = problem.parts(*_measured(problem, problem.compute))
        return capacity / estimation

    def condition(self, problem: SeparableLaw) -> Array:
        """The condition number of log N at the optimum, times the sum of the exponents."""
        return _flat(problem) * problem.exponents.sum()


class ComputeFrontier(Claim[SeparableLaw]):
    """Let a model with N parameters, trained on D tokens, have the loss E + A N^-alpha + B D^-beta. Let kappa N D = C
    be the compute budget. At the best allocation, the loss minus its limit E falls with C as

        C^(-alpha beta / (alpha + beta)).
    """

    title = "The excess loss along the compute-optimal frontier is a power of the compute budget"
    source = Source("hoffmann2022", note="main result, the efficient frontier")
    population = SeparableLaws()
    relation = Rate("compute", (1e18, 1e20, 1e22, 1e24), margin=1e-3, resolution=0.02)
    control = Control("the excess loss falls as C^-min(alpha, beta)", lambda rate, problem: -problem.exponents.min())
    controls = "the excess loss that a training budget reaches"
    unexplained = "the floor, which no budget removes"
    trials = 64

    def predict(self, problem: SeparableLaw) -> Array:
        return -problem.exponents.prod() / problem.exponents.sum()

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        budgets = jnp.asarray(self.relation.rungs)
        return jax.vmap(lambda compute: problem.parts(*_measured(problem, compute)).sum())(budgets)


class TokensPerParameter(Claim[SeparableLaw]):
    """Let a model with N parameters, trained on D tokens, have the loss E + A N^-alpha + B D^-beta. Let kappa N D = C
    be the compute budget. At the best allocation, the number of tokens per parameter, D/N, changes with C as

        C^((alpha - beta) / (alpha + beta)).

    If alpha > beta, the loss falls faster with parameters than with tokens, and the number of tokens per parameter
    grows with the budget. If alpha < beta, the number of tokens per parameter falls with the budget. The number of
    tokens per parameter is the same at all budgets only if alpha = beta. The test measures D/N or N/D, whichever grows.
    """

    title = "The number of tokens per parameter at compute-optimal training is a power of the compute budget"
    source = Source("emergence2026", "Figure 17.7", note="for a separable law")
    population = SeparableLaws()
    relation = Rate("compute", (1e18, 1e20, 1e22, 1e24), margin=1e-3, resolution=0.02)
    control = Control("D/N is the same at all budgets", lambda rate, problem: jnp.zeros(()))
    controls = "how many tokens a model of a given size should be trained on"
    unexplained = "the constants, which need a fit"
    trials = 64

    def predict(self, problem: SeparableLaw) -> Array:
        alpha, beta = problem.exponents
        return jnp.abs(alpha - beta) / (alpha + beta)

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        def ratio(compute: Float[Array, ""]) -> Float[Array, ""]:
            size, data = _measured(problem, compute)
            return jnp.where(problem.exponents[0] > problem.exponents[1], data / size, size / data)

        return jax.vmap(ratio)(jnp.asarray(self.relation.rungs))


class LocalSlope(Claim[SeparableLaw]):
    """Let L = E + A N^-alpha be the loss of a model with N parameters, where E is the floor. Plot log L against log N.
    This curve has the slope

        -alpha (1 - E/L(N)).

    As N grows, the curve becomes flatter and its slope tends to 0, although the scaling law does not change. So a
    change of slope shows a change of regime only if the floor has been subtracted. The test uses five sizes, at which L
    - E ranges from 8 times to 1/8 of the floor E.
    """

    title = "The log-log slope of a scaling curve flattens if its floor, the irreducible loss, is not subtracted"
    source = Source("emergence2026", "Figure 17.3", note="without subtracting the floor")
    population = SeparableLaws()
    relation = Equal()
    control = Control("the slope is -alpha", lambda slopes, problem: -problem.exponents[0] * jnp.ones_like(slopes))
    controls = "the slope of a scaling curve on logarithmic axes"
    unexplained = "the floor; real changes of regime"
    condition = 100000.0  # rounding of log L over the step, and the error of the fourth order, relative to the slope

    def predict(self, problem: SeparableLaw) -> Array:
        shares = jnp.asarray([8.0, 2.0, 1.0, 0.5, 0.125])
        return -problem.exponents[0] * shares / (1 + shares)

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        """Compute the slope by central differences of the fourth order."""
        alpha, amplitude = problem.exponents[0], problem.amplitudes[0]
        places = jnp.log(amplitude / (problem.floor * jnp.asarray([8.0, 2.0, 1.0, 0.5, 0.125]))) / alpha
        loss = lambda log: jnp.log(problem.floor + amplitude * jnp.exp(-alpha * log))
        step = 5e-3
        near, far = ((loss(places + k * step) - loss(places - k * step)) / (2 * k * step) for k in (1, 2))
        return (4 * near - far) / 3


class InferenceAwareAllocation(Claim[SeparableLaw]):
    """Let a model with N parameters, trained on D tokens, have the loss E + A N^-alpha + B D^-beta. Training on D
    tokens and then serving T tokens takes 6 N D + 2 N T operations. Consider all models whose loss exceeds E by a given
    amount. Among these models, the number of operations is smallest if

        alpha A N^-alpha = beta B D^-beta (1 + T/(3 D)).

    So if more tokens will be served, the best model is smaller and is trained on more tokens. In the test, the given
    amount is the excess loss at the best allocation of a training budget. The test checks N and D.
    """

    title = "The cheapest model for serving is smaller and trained on more tokens than the compute-optimal model"
    source = Source("sardana2024", note="main result, with the condition of the optimum")
    population = SeparableLaws()
    relation = Equal()
    control = Control(
        "the best model is the one with the least training cost",
        lambda value, problem: _balanced(problem, problem.exponents),
    )
    controls = "the numbers of parameters and tokens with the least cost over the lifetime of a model"
    unexplained = "how many tokens will be served; other costs of serving"

    def predict(self, problem: SeparableLaw) -> Array:
        """Find the root of the condition along the curve of equal loss, by bisection in log N."""
        wanted, data = _wanted(problem)

        def half(_, ends):
            middle = (ends[0] + ends[1]) / 2
            tokens, size = data(middle), jnp.exp(middle)
            capacity, estimation = problem.exponents * problem.parts(size, tokens)
            too_small = capacity > estimation * (1 + problem.served / (3 * tokens))
            return jnp.where(too_small, middle, ends[0]), jnp.where(too_small, ends[1], middle)

        least = jnp.log(problem.amplitudes[0] / wanted) / problem.exponents[0]
        log = jax.lax.fori_loop(0, 100, half, (least, least + 200.0))[0]
        return jnp.stack([jnp.exp(log), data(log)])

    def measure(self, problem: SeparableLaw, key: Key[Array, ""]) -> Array:
        """Find the least cost itself, by golden section."""
        wanted, data = _wanted(problem)
        cost = lambda log: log + jnp.log(6 * data(log) + 2 * problem.served)
        least = jnp.log(problem.amplitudes[0] / wanted) / problem.exponents[0]
        log = lowest_point(cost, least + 1e-9, least + 200.0)
        return jnp.stack([jnp.exp(log), data(log)])

    def condition(self, problem: SeparableLaw) -> Array:
        """The condition numbers at a flat optimum whose cost has a logarithm near 50; D depends on N by a power."""
        return 30 * _flat(problem)


def _wanted(problem: SeparableLaw):
    """Return the given excess loss, and a function: the tokens that reach it with exp(log) parameters, or infinity."""
    wanted = problem.parts(*_balanced(problem, problem.exponents)).sum()
    (alpha, beta), (a, b) = problem.exponents, problem.amplitudes

    def data(log: Float[Array, ""]) -> Float[Array, ""]:
        left = wanted - a * jnp.exp(-alpha * log)
        return (jnp.maximum(left, 1e-300) / b) ** (-1 / beta)

    return wanted, data


class ExtrapolationInterval(Claim[MeasuredCurve]):
    """Let losses follow E + A n^-alpha at all sizes n, with normal noise in the log losses. Fit this law to log losses
    at several sizes with Huber's loss. Extrapolate the fitted law to 100 times the largest size, and take the profile
    likelihood interval of level 0.95 for the law at this size. The interval uses Student's quantile and is widened by 6
    %. The probability that the interval does not contain the true law at this size is at most 0.1.

    The test checks both ends of the interval.
    """

    title = "The interval of an extrapolated scaling law covers the true law with probability 0.9 or more"
    source = Source("emergence2026", "Figure 17.4", "Figure 17.11", note="for one law that holds at all sizes")
    population = MeasuredCurves()
    relation = AtMost(delta=0.1)
    control = Control(
        "an interval a third as wide covers as often", lambda ends, problem: ends - ends.sum() / 3
    )  # ends: high, -low
    controls = "the loss at sizes that were not measured"
    unexplained = "laws that change between the measured sizes and the size of the extrapolation"
    trials = 800
    traced = False  # the fit is SciPy's

    def hypotheses(self, problem: MeasuredCurve) -> list[Hypothesis]:
        return [
            Hypothesis.unchecked(
                "one law holds at all sizes", "measured sizes cannot show whether the law holds at larger sizes"
            )
        ]

    def predict(self, problem: MeasuredCurve) -> Array:
        return _interval(problem)

    def measure(self, problem: MeasuredCurve, key: Key[Array, ""]) -> Array:
        law = problem.law(_FAR * problem.sizes[-1])
        return jnp.stack([law, -law])

    def trivial(self, problem: MeasuredCurve) -> Array:
        """The interval from zero to the law's loss at the largest size."""
        return jnp.stack([problem.law(problem.sizes[-1]), jnp.zeros(())])


def _interval(problem: MeasuredCurve) -> Array:
    """Return the upper end and the negated lower end of the interval, so that both are bounds from above."""
    sizes, losses = np.asarray(problem.sizes), np.asarray(problem.losses)
    low, high = extrapolation_interval(sizes, losses, _FAR * sizes[-1], level=_LEVEL)
    return jnp.asarray([high, -low])
