"""Softmax units compared with ReLU and exponential units if all units move by R, and the meaning of (n d)^(2 + o(1)).

This theory is about two-layer networks of m hidden units with weights w_r, if every w_r moves by at most R. It bounds
the change of the tangent kernels of these networks at n inputs x_i. These kernels have the entries <x_i, x_j> times

    (1/m) #{r: <w_r, x_i> >= 0, <w_r, x_j> >= 0},   (1/m) sum exp <w_r, x_i + x_j>,   m <S_i, S_j>

for ReLU, exponential and softmax units in this order. Here # counts units, and S_i are the shares of the units: the
softmax of the logits <w_r, x_i>. Earlier work bounds the change by 2 R n for ReLU and 3 R n^(1 + o(1)) for exponential
units; this theory bounds it by R n^(1 + o(1)) for softmax units. It assumes inputs in the unit ball. It does not
explain whether training moves units in these worst directions. The second part is about the width (n d)^(2 + o(1)) that
Theorem 4.2 asks for, where n d is the number of targets.
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
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.engine.problems.random_units import DELTA, RandomUnits, unit_rows
from lemmata.engine.problems.softmax_parameters import CONSTANT, logit_bound, required_width

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

_EQUAL = 0.75  # the share of problems with equal inputs


class NearInputs(Population[RandomUnits]):
    """Inputs on the unit sphere. All are equal in three quarters of the problems and independent in the others.

    Args:
        sigma: the default standard deviation of the weights.
        least: the smallest standard deviation of the weights that a user may set.
        most: the largest standard deviation of the weights that a user may set.
    """

    sigma: float = 1.0
    least: float = 1.0
    most: float = 1.0

    def settings(self) -> Space:
        space = Space(
            n=Integer(2, 2, 16, "inputs", corners=(2, 3)),
            d=Integer(4, 1, 64, "dimension of the inputs"),
            m=Integer(4096, 256, 65536, "units", corners=(4096, 8192)),
            sigma=Real(self.sigma, self.least, self.most, "standard deviation of the weights"),
            R=Real(0.0099, 1e-6, 0.00999, "how far a unit may move", corners=(0.0095, 0.0099)),
        )
        likely = lambda s: s["n"] ** 2 * math.exp(-s["m"] * s["R"] / 10) <= DELTA
        return space.where(f"n² exp(-m R/10) is at most {DELTA:g}", likely)

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomUnits:
        coin, points = jax.random.split(key)
        x = unit_rows(points, setting["n"], setting["d"])
        x = jnp.where(jax.random.bernoulli(coin, _EQUAL), x[:1], x)
        return RandomUnits(x, 1, setting["m"], setting["sigma"], setting["R"])

    def hypotheses(self, problem: RandomUnits) -> list[Hypothesis]:
        n, failure = len(problem.x), len(problem.x) ** 2 * jnp.exp(-problem.width * problem.radius / 10)
        return [
            in_unit_ball(problem.x, why="|<v, x>| is bounded by |v|"),
            Hypothesis("n² exp(-m R/10) is at most delta", failure, "<=", DELTA, f"the probability at n = {n}"),
        ]


class EqualInput(eqx.Module):
    """Many equal inputs of length 1, at which the logits of the hidden units are N(0, sigma²)."""

    sigma: Float[Array, ""]


def _averaging(problem: EqualInput) -> Hypothesis:
    spread = jnp.exp(4 * problem.sigma**2)
    return Hypothesis(
        "exponentials average out over the units", spread, "<=", 16.0, "relative second moment of the exponentials"
    )


class WidthSizes(eqx.Module):
    """The numbers on which the width of Theorem 4.2 depends, except lambda.

    Args:
        sigma: the standard deviation of the weights.
        count: the number n k of targets.
        delta: the failure probability.
    """

    sigma: float = eqx.field(static=True)
    count: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=DELTA)

    @property
    def bound(self) -> float:
        """The bound B = max(10 sigma sqrt(log(n k / delta)), 1) on logits."""
        return logit_bound(self.count, 1, self.sigma, self.delta)


class WidthsOfTheorem(Population[WidthSizes]):
    """A random standard deviation of the weights and a random number n k of targets."""

    settings = Space(
        n=Integer(1000, 100, 10000, "largest n k"),
        sigma=Real(0.2, 0.1, 1.0, "largest standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> WidthSizes:
        """Draw sigma and n k, each between half of its setting and the setting."""
        first, second = (float(u) for u in jax.random.uniform(key, (2,), minval=0.5))
        return WidthSizes(setting["sigma"] * first, int(setting["n"] * second))

    def hypotheses(self, problem: WidthSizes) -> list[Hypothesis]:
        return [Hypothesis("B is above 1", problem.bound, ">", 1.0, "otherwise exp(B) does not depend on n")]


_PLACE = "Section 5, comparison with earlier lemmas"
_WIDTH = "Section 4, simplified width"
_UNITS, _RADIUS = 65536, 2e-3
_LOGARITHMS = (1e2, 1e4, 1e6, 1e8)


class ReluPerturbation(Claim[RandomUnits]):
    """Let a ReLU network with one output have m units with weights w_r ~ N(0, I), r = 1, ..., m, and let it have n >= 2
    inputs in the unit ball. The network's tangent kernel H has the entries <x_i, x_j> #{r: <w_r, x_i> >= 0, <w_r, x_j>
    >= 0} / m, where # counts units. Let every unit move by at most R, and let W~ and W be the weights before and after
    the move. With probability at least 1 - n² exp(-m R / 10), the change of the tangent kernel satisfies

        |H(W) - H(W~)|_F <= 2 R n.

    A unit can switch on or off at an input only if its logit at this input is within R of 0. A logit is within R of 0
    with probability below 0.8 R, so a Chernoff bound on the number of such units gives the result.
    """

    title = "If each weight vector moves by R, a ReLU network's tangent kernel on n rows changes by at most 2 R n"
    source = Source("gu2024softmax", _PLACE)
    population = NearInputs()
    relation = AtMost(delta=DELTA)
    control = Control(
        "the change is at most a fifth of the bound",
        lambda bound, problem: bound / 5,
        loose="the change is near 0.4 R n; the rest of the bound allows for the fluctuation of a few switched units",
    )
    controls = "the change of the tangent kernel of ReLU networks"
    unexplained = "the constant, which is 0.4 for equal inputs and large widths"
    reading = "the lemma of earlier work is read for weights of standard deviation 1"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(2.0 * problem.radius * len(problem.x))

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """Return the largest change of the kernel over three moves of the units.

        Each unit's nearest input is the one at which its logit is closest to 0. In the first move, every unit that can
        reach 0 switches on or off there. In the other two moves, units only switch on, or only switch off.
        """
        x, radius = problem.x, problem.radius
        weight = problem.sigma * jax.random.normal(key, (x.shape[1], problem.width))
        logits = x @ weight
        gates = lambda w: (x @ w >= 0).astype(float)
        kernel = lambda w: (x @ x.T) * (gates(w) @ gates(w).T) / problem.width
        sizes = jnp.stack([jnp.abs(logits), *(jnp.where(s * logits > 0, s * logits, jnp.inf) for s in (1.0, -1.0))])
        nearest, reached = jnp.argmin(sizes, axis=1), jnp.min(sizes, axis=1) <= radius
        signs = jnp.sign(jnp.take_along_axis(logits, nearest, axis=0))
        moves = jnp.where(reached, -1.000001 * radius * signs, 0.0)[:, None] * jnp.swapaxes(x[nearest], 1, 2)
        return jnp.stack([jnp.linalg.norm(kernel(weight + move) - kernel(weight)) for move in moves]).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """Return n, because each of the n² entries is between 0 and 1 in size before and after the move."""
        return jnp.asarray(1.0 * len(problem.x))


class ExponentialPerturbation(Claim[RandomUnits]):
    """Let a network of exponential units with one output have weights w_r ~ N(0, sigma² I), r = 1, ..., m. Let it have
    n inputs in the unit ball. The network's tangent kernel H has the entries <x_i, x_j> (1/m) sum_r exp <w_r, x_i +
    x_j>. Let every unit move by at most R < 0.01, and let W~ and W be the weights before and after the move. With high
    probability, the change of the tangent kernel satisfies

        |H(W) - H(W~)|_F <= 3 R n^(1 + o(1)).

    If the factor n^o(1) is taken as 1, the bound holds for sigma up to 0.44. An entry of H changes by at most (exp(2R)
    - 1) times the size of the entry. If the two inputs are equal and of length 1, moves along this input attain this
    bound, and the change is near 2.02 R exp(2 sigma²). For larger sigma the bound needs a factor like exp(2 B), where B
    is a bound on the logits.
    """

    title = "If each weight vector moves by R, an exponential network's kernel on n rows changes by at most 3 R n"
    source = Source("gu2024softmax", _PLACE)
    population = NearInputs(sigma=0.4, least=0.1, most=0.42)
    relation = AtMost(delta=DELTA)
    control = Control("the change is at most two thirds of the bound", lambda bound, problem: bound / 1.5)
    controls = "the change of the tangent kernel of exponential networks"
    unexplained = "larger sigma, for which the constant is exp(2 sigma²)"
    reading = "n^o(1) is read as 1, for sigma up to 0.44"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(3.0 * problem.radius * len(problem.x))

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """Return the larger change of the kernel: move units along the gradient of its squared norm, or against it."""
        x, inner = problem.x, problem.x @ problem.x.T
        weight = problem.sigma * jax.random.normal(key, (x.shape[1], problem.width))

        def kernel(w: Array) -> Array:
            powers = jnp.exp(x @ w)
            return inner * (powers @ powers.T) / problem.width

        powers = jnp.exp(x @ weight)
        gradient = x.T @ (powers * ((inner**2 * (powers @ powers.T)) @ powers))
        move = problem.radius * gradient / jnp.linalg.norm(gradient, axis=0)
        return jnp.stack([jnp.linalg.norm(kernel(weight + s * move) - kernel(weight)) for s in (1, -1)]).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """Return a bound on |H(W)| + |H(W~)|. The entries of H(W~) have means of at most exp(2 sigma²)."""
        return len(problem.x) * (1 + jnp.exp(2 * problem.radius)) * jnp.exp(2 * problem.sigma**2)


class ConstantsOfThreeActivations(Claim[EqualInput]):
    """Let a two-layer network with one output have m units with weights w_r ~ N(0, sigma² I), and let each unit move by
    at most R. Let W~ and W be the weights before and after the move. Let the inputs be n equal points of length 1, and
    let Phi be the normal distribution function. The largest change of the tangent kernel H has the limits, as R -> 0
    and then m -> infinity,

        sup |H(W) - H(W~)|_F / (R n) -> 1/(sigma sqrt(2 pi)),   2 exp(2 sigma²),   4 exp(sigma²) (2 Phi(sigma/2) - 1)

    for ReLU, exponential and softmax units in this order. The softmax units are in pairs. All three changes are
    therefore of the order R n, as the source says. Softmax has the smallest constant up to sigma = 0.45, since its
    kernel does not change if all units make the same move.

    The claim is tested at m = 65536 and R = 0.002. For ReLU, the tested moves switch units on.
    """

    title = "On n equal inputs, weight moves of length R change three activations' tangent kernels by the order R n"
    source = Source("gu2024softmax", _PLACE, note="the constants; not in the source")
    stated = Kind.OWN
    population = Drawn(
        EqualInput,
        _averaging,
        sigma=uniform(1.0, 1.25, times=Real(0.4, 0.2, 0.6, "smallest standard deviation of the weights")),
    )
    relation = EqualInMean(margin=0.03, resolution=0.05)
    control = Control(
        "the constants are those for weights of 1.25 times the standard deviation",
        lambda v, problem: _constants(1.25 * problem.sigma),
    )
    controls = "the change of tangent kernels when units move"
    unexplained = "inputs that differ, and the moves that training makes"
    trials = 128

    def predict(self, problem: EqualInput) -> Array:
        return _constants(problem.sigma)

    def measure(self, problem: EqualInput, key: Key[Array, ""]) -> Array:
        drawn = problem.sigma * jax.random.normal(key, (_UNITS,))
        relu = jnp.mean((drawn < 0) & (drawn >= -_RADIUS))
        growth = lambda move: jnp.mean(jnp.exp(2 * (drawn + move)))
        shares = jax.nn.softmax(drawn)
        # Both units of a pair have one share and one gradient. It is the gradient of m <S, S>, and the moves follow its
        # signs.
        rise = jnp.sign(shares**2 - jnp.sum(shares**2) * shares)
        softmax = lambda move: _UNITS * jnp.sum(jax.nn.softmax(drawn + move) ** 2)
        found = jnp.stack([relu, growth(_RADIUS) - growth(0.0), softmax(_RADIUS * rise) - softmax(0.0)])
        return found / _RADIUS


def _constants(sigma: Array) -> Float[Array, " c"]:
    softmax = 4 * jnp.exp(sigma**2) * (2 * jax.scipy.stats.norm.cdf(sigma / 2) - 1)
    return jnp.stack([1 / (sigma * math.sqrt(2 * math.pi)), 2 * jnp.exp(2 * sigma**2), softmax])


class SimplifiedWidth(Claim[WidthSizes]):
    """Let n be the number of rows, k the number of outputs and lambda the smallest eigenvalue of the tangent kernel.
    The source writes nd for the number n k of targets. Its Theorem 4.2 says that gradient descent trains a softmax
    network to any error. With failure probability delta and weights of standard deviation sigma, the theorem asks for
    the width

        m = (n k)² exp(18 B) log²(n k / delta) / lambda²,   where B = max(10 sigma sqrt(log(n k / delta)), 1).

    For fixed sigma and delta this width is (n k)^(2 + o(1)) / lambda²: the exponent d log m / d log(n k) tends to 2.
    The exponent tends to 2 slowly: it is 2 + 90 sigma / sqrt(L) + 2/L with L = log(n k / delta). For sigma = 1 and
    delta = 0.1 the exponent is still 32 at n k = 1000 and 25 at n k = 10^6. The exponent is below 2.5 only if n k is at
    least 10^14071.
    """

    title = "Convergence theory asks softmax networks for a width like (number of targets)^c, where c tends to 2"
    source = Source("gu2024softmax", _WIDTH)
    population = WidthsOfTheorem()
    relation = Limit("log(nk/delta)", _LOGARITHMS, margin=0.01, resolution=0.01, relative=False)
    control = Control("the exponent tends to 2.05", lambda exponent, problem: exponent + 0.05)
    controls = "the width that the theory asks for"
    unexplained = "practical numbers of rows, for which the exponent is far above 2"
    reading = "nd is n k; sigma, delta and lambda are fixed; the constant C > 10 in B is taken as 10"
    trials = 32
    traced = False
    predict = 2.0

    def measure_at(self, problem: WidthSizes, key: Key[Array, ""], rung: float) -> Array:
        """Return the derivative of the logarithm of the width with respect to log(n k / delta)."""

        def log_width(logarithm: Array) -> Array:
            bound = jnp.maximum(CONSTANT * problem.sigma * jnp.sqrt(logarithm), 1.0)
            return 2 * logarithm + 18 * bound + 2 * jnp.log(logarithm)

        return jax.grad(log_width)(jnp.asarray(rung))


class WidthExponent(Claim[WidthSizes]):
    """Let n be the number of rows and k the number of outputs. Let sigma be the standard deviation of the weights, and
    delta the failure probability. Let lambda be the smallest eigenvalue of the tangent kernel. Theorem 4.2 of the
    source, on the training of softmax networks, asks for the width

        m = (n k)² exp(18 B) log²(n k / delta) / lambda²,   where B = 10 sigma sqrt(log(n k / delta)) >= 1.

    Compare this width at n k and at 2 n k. The exponent of growth is log_2 of the ratio of the two widths. This
    exponent is equal to

        2 + (180 sigma (sqrt(L + log 2) - sqrt(L)) + 2 log(1 + log 2 / L)) / log 2,     where L = log(n k / delta).

    The exponent is near 2 + 90 sigma / sqrt(L) + 2/L. For sigma = 0.1 and n k from 10 to 10^4, the exponent is between
    5 and 7.
    """

    title = "At finite sizes, the width that softmax theory asks for grows faster than the squared number of targets"
    source = Source("gu2024softmax", _WIDTH, note="the exponent at finite sizes; not in the source")
    stated = Kind.OWN
    population = WidthsOfTheorem()
    relation = Equal()
    control = Control("the exponent is already 2", lambda exponent, problem: 0 * exponent + 2)
    controls = "the width that the theory asks for"
    unexplained = "which width a network really needs"
    traced = False

    def predict(self, problem: WidthSizes) -> Array:
        size = math.log(problem.count / problem.delta)
        root = math.sqrt(size + math.log(2)) - math.sqrt(size)
        exponent = 18 * CONSTANT * problem.sigma * root + 2 * math.log1p(math.log(2) / size)
        return jnp.asarray(2 + exponent / math.log(2))

    def measure(self, problem: WidthSizes, key: Key[Array, ""]) -> Array:
        """Compute the exponent from lemmata's formula for the width, at n k and at 2 n k."""

        def width(count: int) -> float:
            bound = logit_bound(count, 1, problem.sigma, problem.delta)
            return float(required_width(1.0, count, 1, bound, problem.delta))

        return jnp.asarray(math.log2(width(2 * problem.count) / width(problem.count)))

    def condition(self, problem: WidthSizes) -> Array:
        """The condition number of exp(18 B)."""
        return jnp.asarray(1 + 18 * problem.bound)
