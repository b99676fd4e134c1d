"""Products by logistic functions in finite precision: truncation, rounding and the temperature that balances them.

A number x is replaced by 4 tau (sigma(x/tau) - 1/2), where sigma is the logistic function and tau the temperature. The
theory gives the error of one such product. As tau grows, the truncation error (in exact arithmetic) falls like tau^-2,
and the rounding error grows like eps tau, where eps is the precision. They balance at the best temperature. The theory
assumes rounding to nearest, and a logistic function that is accurate to a unit in the last place. It leaves open how
errors of many products cancel. At the temperature of Lemma 7 of the source, the truncation error is negligible. If the
number N of examples exceeds the number that `reachable` gives, the product consists of rounding errors only.
"""

import abc

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Kind, Rate, Source
from lemmata.engine.problems.prompts import Prompt
from lemmata.functions import barron_parameter
from lemmata.subjects.in_context._forward_passes import ForwardPasses, sizes_of
from lemmata.subjects.in_context._forward_passes import reachable as reachable
from lemmata.subjects.in_context._logistic_products import Products, ProductsAroundTau, UniformProducts

from ._best_temperature import PRECISIONS as PRECISIONS
from ._best_temperature import best_temperature as best_temperature
from ._best_temperature import least_error as least_error
from ._best_temperature import rounded_product as rounded_product

ABOUT = {"tool": "approximation theory", "architecture": "transformer in context", "object": "construction"}

EPSILONS = tuple(float(jnp.finfo(dtype).eps) for dtype in PRECISIONS)
INVERSES = tuple(1 / eps for eps in EPSILONS)
SMALL = (4.0, 8.0, 16.0, 32.0, 64.0)
LARGE = tuple(2.0**k for k in range(20, 31, 2))
PRODUCT, CANCEL = "the product that logistic functions compute", "how the errors of many products cancel"


def logistic_product(x: Array, tau: Array) -> Array:
    """Return 4 tau (sigma(x/tau) - 1/2), computed as written, so that sigma and 1/2 cancel."""
    return 4 * tau * (jax.nn.sigmoid(x / tau) - 0.5)


def root_mean_square(errors: Array) -> Array:
    """Return the root mean square over the last axis."""
    return jnp.sqrt(jnp.mean(errors**2, axis=-1))


class AbstractLinearisation(Claim[Products]):
    """Base of claims on how far 4 tau (sigma(x/tau) - 1/2) is from x, for numbers x of size tau/100 to 10 tau."""

    population = ProductsAroundTau()
    relation = AtMost()
    controls = PRODUCT
    unexplained = CANCEL

    @abc.abstractmethod
    def predict(self, problem: Products) -> Array:
        """Return the bound for each number."""

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.x - logistic_product(problem.x, problem.tau))

    def trivial(self, problem: Products) -> Array:
        """Return |x|, because the product lies between 0 and x."""
        return jnp.abs(problem.x)


class Linearisation(AbstractLinearisation):
    """Let x be any number, and let sigma be the logistic function, used at a temperature tau > 0. Then

        |x - 4 tau (sigma(x/tau) - sigma(0))| <= 2 x² / tau.

    The smallest possible constant in place of 2 is the largest value of |u - 2 tanh(u/2)| / u², which is 0.133.
    """

    title = "For the logistic function sigma, 4 tau (sigma(x/tau) - 1/2) differs from x by at most 2 x² / tau"
    source = Source("li2025incontext", "(119)", "(117)", "(123)", note="proof of Lemma 4")
    control = Control(
        "the constant is 0.13",
        lambda bound, problem: 0.065 * bound,
        loose="the best constant is 15 times smaller than 2",
    )

    def predict(self, problem: Products) -> Array:
        return 2 * problem.x**2 / problem.tau


class LinearisationOfThirdOrder(AbstractLinearisation):
    """Let x be any number, and let sigma be the logistic function, used at a temperature tau > 0. Then

        |x - 4 tau (sigma(x/tau) - sigma(0))| <= |x|³ / (12 tau²),

    with equality to lowest order in x/tau. The bound is of third order, because the second derivative of the logistic
    function is 0 at 0.
    """

    title = "For the logistic function sigma, 4 tau (sigma(x/tau) - 1/2) differs from x by at most |x|³/(12 tau²)"
    source = Source("li2025incontext", "(119)", note="proof of Lemma 4, with the third derivative")
    stated = Kind.OWN
    control = Control("the error is at most |x|³ / (12.5 tau²)", lambda bound, problem: bound * 12 / 12.5)

    def predict(self, problem: Products) -> Array:
        return jnp.abs(problem.x) ** 3 / (12 * problem.tau**2)


class FormWithoutCancellation(Claim[Products]):
    """Let x be any number, and let sigma be the logistic function, used at a temperature tau > 0. Then

        4 tau (sigma(x/tau) - 1/2) = 2 tau tanh(x / (2 tau)).

    The right side has no cancellation. In double precision, the computed right side is accurate to a relative error of
    32 eps, where eps = 2^-52.
    """

    title = "For the logistic function sigma, 4 tau (sigma(x/tau) - 1/2) is 2 tau tanh(x/(2 tau)), without cancellation"
    source = Source("li2025incontext", "(117)", note="written as a hyperbolic tangent")
    population = ProductsAroundTau()
    relation = Equal()
    # Equal to second order.
    control = Control(
        "the value is tau tanh(x / tau)", lambda found, problem: problem.tau * jnp.tanh(problem.x / problem.tau)
    )
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    traced = False  # the left side is mpmath's

    def predict(self, problem: Products) -> Array:
        return 2 * problem.tau * jnp.tanh(problem.x / (2 * problem.tau))

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """Return the left side, computed with 40 digits."""
        with mp.workdps(40):
            tau = mp.mpf(float(problem.tau))
            exact = [4 * tau * (1 / (1 + mp.exp(-mp.mpf(float(x)) / tau)) - mp.mpf("0.5")) for x in problem.x]
            return jnp.asarray([float(value) for value in exact])


class TruncationFalls(Claim[Products]):
    """Let 4 tau (sigma(x/tau) - 1/2) approximate a number x of order 1, where sigma is the logistic function and tau is
    the temperature. In exact arithmetic the error |x - 4 tau (sigma(x/tau) - 1/2)| falls with tau as

        C tau^-2,

    where C is a constant. Inequality (119) of the source would allow an error of order tau^-1.
    """

    title = "The truncation error of a product computed by logistic functions falls like tau^-2 in temperature tau"
    source = Source("li2025incontext", "(117)", note="the order of the remainder")
    population = UniformProducts()
    relation = Rate("tau", SMALL)
    control = Control("the truncation error falls like tau^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    trials = 32
    predict = -2.0

    def measure_at(self, problem: Products, key: Key[Array, ""], rung: float) -> Array:
        return root_mean_square(2 * rung * jnp.tanh(problem.x / (2 * rung)) - problem.x)


class RoundingGrows(Claim[Products]):
    """Let 4 tau (sigma(x/tau) - 1/2) approximate a number x of order 1, where sigma is the logistic function and tau is
    the temperature. In float64 the rounding error of this expression grows with tau as

        C tau,

    where C is a constant. The reason is that sigma is near 1/2, where neighbouring floating-point numbers are a fixed
    distance apart, and tau multiplies this distance.
    """

    title = "The rounding error of a product computed by logistic functions grows in proportion to their temperature"
    source = Source("li2025incontext", "(117)", note="in finite precision")
    population = UniformProducts()
    relation = Rate("tau", LARGE)
    control = Control("the rounding error grows like sqrt(tau)", lambda exponent, problem: exponent - 0.5)
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    trials = 32
    predict = 1.0
    condition = 0.0  # the measurement is rounding itself

    def measure_at(self, problem: Products, key: Key[Array, ""], rung: float) -> Array:
        """Return the root mean square difference of the expression from 2 tau tanh(x / (2 tau))."""
        exact = 2 * rung * jnp.tanh(problem.x / (2 * rung))
        return root_mean_square(logistic_product(problem.x, jnp.asarray(rung)) - exact)


def searched(problem: Products) -> tuple[Array, Array]:
    """Return, for each precision, the temperature of least error and this error; search around `best_temperature`."""
    multiples, found = 2.0 ** np.arange(-4, 4.5, 0.5), []
    for dtype in PRECISIONS:
        ladder = multiples * best_temperature(1.0, dtype)
        numbers = problem.x.astype(dtype).astype(float)
        off = jax.vmap(lambda tau, dtype=dtype: rounded_product(problem.x, tau, dtype))(ladder) - numbers
        errors = root_mean_square(off)
        found.append((ladder[jnp.argmin(errors)], errors.min()))
    temperatures, errors = zip(*found, strict=True)
    return jnp.stack(temperatures), jnp.stack(errors)


class BestTemperatureGrows(Claim[Products]):
    """Let 4 tau (sigma(x/tau) - 1/2) approximate a number x of order 1, where sigma is the logistic function, computed
    with the machine precision eps. Let tau be the temperature at which the error |x - 4 tau (sigma(x/tau) - 1/2)| is
    least. From bfloat16 to float64, this temperature grows as

        C eps^(-1/3)

    where C is a constant. At this temperature the truncation error x³/(12 tau²) and the rounding error eps tau balance.
    """

    title = "The best temperature for products by logistic functions grows like eps^(-1/3) in the precision eps"
    source = Source("li2025incontext", "(117)", note="in finite precision, the best temperature")
    population = UniformProducts()
    relation = Rate("1 / eps", INVERSES, resolution=0.08)
    # The error of x²/tau that (119) would balance.
    control = Control("the best temperature grows like eps^(-1/2)", lambda exponent, problem: exponent + 1 / 6)
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    trials = 32
    predict = 1 / 3

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        return searched(problem)[0]


class LeastErrorFalls(Claim[Products]):
    """Let 4 tau (sigma(x/tau) - 1/2) approximate a number x of order 1, where sigma is the logistic function, computed
    with the machine precision eps. Choose the temperature tau with the smallest error |x - 4 tau (sigma(x/tau) - 1/2)|.
    From bfloat16 to float64, this smallest error falls as

        C eps^(2/3)

    where C is a constant. So a third of the digits of the precision are lost.
    """

    title = "The least error of a product computed by logistic functions falls like eps^(2/3) in the precision eps"
    source = Source("li2025incontext", "(117)", note="in finite precision, the least error")
    population = UniformProducts()
    relation = Rate("1 / eps", INVERSES, resolution=0.08)
    # The error of x²/tau that (119) would balance.
    control = Control("the least error falls like eps^(1/2)", lambda exponent, problem: exponent + 1 / 6)
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    trials = 32
    predict = -2 / 3

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        return searched(problem)[1]


class ErrorAtBestTemperature(Claim[Products]):
    """Let |x| <= 1, and let sigma be the logistic function at the temperature tau = (1 / (6 eps))^(1/3). Here eps is
    the precision of bfloat16, float32 or float64. In this precision, the product 4 tau (sigma(x/tau) - 1/2) differs
    from x by at most

        1 / (12 tau²) + 2 eps tau + 2 eps.

    The first term is the truncation error. The second term arises because the logistic function is accurate to eps/2,
    and this error is multiplied by 4 tau. The third term comes from the rounding of tau, x/tau and the product.
    """

    title = "At the best temperature, a product by logistic functions errs by at most O(eps^(2/3)) in precision eps"
    source = Source("li2025incontext", "(117)", note="in finite precision, the error")
    population = UniformProducts(low=-1.0)
    relation = AtMost()
    control = Control("three fifths of this bound are enough", lambda bound, problem: 0.6 * bound)
    controls = PRODUCT
    unexplained = CANCEL
    stated = Kind.OWN
    condition = 0.0  # the measurement is rounding itself

    def predict(self, problem: Products) -> Array:
        """Return one bound for each precision."""
        eps, tau = jnp.asarray(EPSILONS), jnp.stack([best_temperature(1.0, dtype) for dtype in PRECISIONS])
        return 1 / (12 * tau**2) + 2 * eps * tau + 2 * eps

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """Return the largest error in each precision."""
        found = []
        for dtype in PRECISIONS:
            off = rounded_product(problem.x, best_temperature(1.0, dtype), dtype) - problem.x.astype(dtype)
            found.append(jnp.abs(off).max())
        return jnp.stack(found)

    def trivial(self, problem: Products) -> Array:
        """Return the error of predicting 0 for every product."""
        return jnp.full(len(PRECISIONS), jnp.abs(problem.x).max())


class NothingIsLeft(Claim[Prompt]):
    """A transformer with n features and L layers is built to solve the Lasso on N examples. Its logistic functions have
    the temperature tau = N n² (L + n)(N + n) C_F of Lemma 7 of the source. Here C_F is the Barron parameter of the
    class of functions. Let N be larger than the number of examples that float32 can resolve at this temperature (the
    function `reachable`). For n = 8 and L = 41, this number is 13. The transformer in float32 predicts 0 for every
    prompt whose targets are at most C_F, because all values of the logistic function are rounded to 1/2. In exact
    arithmetic, by contrast, the transformer is close to proximal gradient at this temperature.
    """

    title = "On many examples, a Lasso transformer in float32 predicts 0 at the temperature that its theory requires"
    source = Source("li2025incontext", "Lemma 7", note="in finite precision")
    population = ForwardPasses(temperature=0.0, unreached=True)
    relation = Equal()
    control = Control(
        "the transformer predicts the value of exact arithmetic",
        lambda found, problem: problem.model(problem.x, problem.y, problem.queries[:1])[0],
    )
    controls = "the prediction of the transformer in float32"
    unexplained = "other temperatures, at which float32 keeps four digits"
    stated = Kind.OWN
    predict = 0.0

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        largest = jnp.abs(problem.y).max() / barron_parameter(problem.functions)
        return [Hypothesis("targets are at most C_F", largest, "<=", 1.0, "relative to C_F")]

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the prediction at the query, computed in float32 with logistic functions."""
        small = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (problem.model, problem.x, problem.y))
        return small[0](*small[1:], problem.queries[:1].astype(jnp.float32), stable=False)[0].astype(float)


class RoundingOfThePass(Claim[Prompt]):
    """Let a transformer of L = 2T + 1 layers with n features read N examples. It takes T proximal gradient steps on the
    Lasso, and computes every product x as 4 tau (sigma(x/tau) - 1/2), with the logistic function sigma at the
    temperature tau = 10^4. Let eps be the precision of float64, and let p = n + 1 count the features and the constant
    1. Compute the prediction of the transformer in float64. Compute the prediction again without cancellation, with 2
    tau tanh(x / (2 tau)) for every product. The two predictions differ by at most

        eps tau (10 T p + 2).

    The reason is as follows. In each step, each token has two products with errors of 2 eps tau each. Together, the
    errors of all tokens change each entry of the coefficients by at most 8 eps tau (1 + 1/N). A proximal step does not
    enlarge distances, and a token's vector of features has a norm |phi| <= sqrt(p).
    """

    title = "A Lasso transformer's forward pass has a rounding error of at most about 10 eps tau per step and feature"
    source = Source("li2025incontext", "(118)", "(124)", note="in finite precision")
    population = ForwardPasses(temperature=1e4)  # what `construct_transformer` takes by default
    relation = AtMost()
    control = Control(
        "the error is at most eps tau, the error of one product",
        lambda bound, problem: float(jnp.finfo(float).eps) * problem.model.temperature,
        loose="rounding errors of different tokens cancel, so that the bound is too large by a factor of 1e2 or more",
    )
    controls = "the rounding error of the prediction"
    unexplained = "how rounding errors of different tokens cancel"
    stated = Kind.OWN
    condition = 0.0  # the measurement is rounding itself

    def predict(self, problem: Prompt) -> Array:
        n, _, _ = sizes_of(problem)
        eps = float(jnp.finfo(float).eps)
        return eps * problem.model.temperature * (10 * problem.model.iterations * (n + 1) + 2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return jnp.abs(self._predictions(problem)[0] - self._predictions(problem)[1])

    def trivial(self, problem: Prompt) -> Array:
        return jnp.abs(self._predictions(problem)).sum()

    def _predictions(self, problem: Prompt) -> Array:
        """Return two predictions: computed without cancellation, and computed with the logistic function as written."""
        passes = [problem.model(problem.x, problem.y, problem.queries[:1], stable)[0] for stable in (True, False)]
        return jnp.stack(passes)
