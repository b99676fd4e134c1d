"""Products by logistic functions, 4 tau (sigma(x/tau) - 1/2), in finite precision: truncation, rounding, and reach.

This theory controls the error of one product: truncation falls as tau^-2, rounding grows as eps tau, and their balance
is the best temperature. It assumes round to nearest and a logistic function that is good to a unit in the last place;
it leaves unexplained how errors of many products cancel. At the temperature of Lemma 7 the sum of both is the rounding
alone, and beyond a size that `reachable` gives nothing is left of the product.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Rate, Real, Source, Space
from lemmata.functions import barron_parameter
from lemmata.networks import temperature_asked
from lemmata.problems._prompts import Prompt, sampled_prompt

from ._best_temperature import PRECISIONS as PRECISIONS
from ._best_temperature import best_temperature as best_temperature
from ._best_temperature import least_error as least_error
from ._best_temperature import reachable as reachable
from ._best_temperature import rounded_product as rounded_product
from ._errors import AbstractErrorClaim

_INVERSES = tuple(2.0 ** jnp.finfo(dtype).nmant for dtype in PRECISIONS)
_SMALL = (4.0, 8.0, 16.0, 32.0, 64.0)
_LARGE = tuple(2.0**k for k in range(20, 31, 2))


class Products(eqx.Module):
    """Numbers that a logistic function is to return.

    Args:
        x: the numbers.
        tau: the temperature.
    """

    x: Float[Array, " s"]
    tau: Float[Array, ""]


class AbstractProductClaim(Claim[Products]):
    """Statements about 4 tau (sigma(x/tau) - 1/2)."""

    relation = AtMost()
    controls = "the product that a logistic function stands for"
    unexplained = "how the errors of many products cancel"
    problem = Products
    trials = 122
    batch = 122

    def settings(self) -> Space:
        """The temperature."""
        return Space(tau=Real(3.0, 0.01, 1e3, "temperature"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Products:
        """64 numbers from tau/10 to 10 tau, of either sign, uniform in their logarithm."""
        exponent = jax.random.uniform(key, (64,), float, -1.0, 1.0)
        signs = jnp.where(jnp.arange(64) % 2 == 0, 1.0, -1.0)
        return Products(setting["tau"] * signs * 10**exponent, jnp.asarray(setting["tau"], float))

    def hypotheses(self, problem: Products) -> list[Hypothesis]:
        """A positive temperature."""
        return [Hypothesis("the temperature is positive", problem.tau, ">", 0.0)]

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """|x - 4 tau (sigma(x/tau) - 1/2)|."""
        return jnp.abs(problem.x - 4 * problem.tau * (jax.nn.sigmoid(problem.x / problem.tau) - 0.5))


class Linearisation(AbstractProductClaim):
    """For every x,

        |x - 4 tau (sigma(x/tau) - sigma(0))| <= 2 x² / tau.

    The constant 2 could be 0.133, the largest value of |u - 2 tanh(u/2)| / u².
    """

    title = "A logistic function is linear up to a square"
    source = Source("li2025incontext", "(119)", "(117)", "(123)", note="proof of Lemma 4")

    def predict(self, problem: Products) -> Array:
        """2 x² / tau."""
        return 2 * problem.x**2 / problem.tau

    def control(self) -> Control:
        """Below the best constant."""
        return Control("the constant 0.13", lambda bound, problem: 0.065 * bound)


class LinearisationOfThirdOrder(AbstractProductClaim):
    """For every x,

        |x - 4 tau (sigma(x/tau) - sigma(0))| <= |x|³ / (12 tau²),

    with equality to lowest order: the second derivative of the logistic function at 0 is 0.
    """

    title = "A logistic function is linear up to a cube"
    source = Source("li2025incontext", "(119)", note="proof of Lemma 4, with the third derivative")

    def predict(self, problem: Products) -> Array:
        """|x|³ / (12 tau²)."""
        return jnp.abs(problem.x) ** 3 / (12 * problem.tau**2)

    def control(self) -> Control:
        """Below the best constant."""
        return Control("|x|³ / (12.5 tau²)", lambda bound, problem: bound * 12 / 12.5)


class FormWithoutCancellation(AbstractProductClaim):
    """4 tau (sigma(x/tau) - 1/2) = 2 tau tanh(x / (2 tau)), whose right side has no cancellation."""

    title = "Logistic functions without cancellation"
    source = Source("li2025incontext", "(117)", note="as a hyperbolic tangent")
    relation = Equal()
    label = "identity"

    def predict(self, problem: Products) -> Array:
        """The right side."""
        return 2 * problem.tau * jnp.tanh(problem.x / (2 * problem.tau))

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """The left side."""
        return 4 * problem.tau * (jax.nn.sigmoid(problem.x / problem.tau) - 0.5)

    def control(self) -> Control:
        """Equal to second order."""
        return Control("tau tanh(x / tau)", lambda found, problem: problem.tau * jnp.tanh(problem.x / problem.tau))


class AbstractRateClaim(AbstractProductClaim):
    """How errors scale, for 256 numbers in [1/2, 1]."""

    label = "rate"
    trials = 32
    batch = 32

    def settings(self) -> Space:
        """Nothing to set: the numbers are near 1."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Products:
        """Numbers near 1; each rung has its own temperature."""
        return Products(jax.random.uniform(key, (256,), float, 0.5, 1.0), jnp.ones(()))

    def root_mean_square(self, errors: Array) -> Array:
        """Of the last axis."""
        return jnp.sqrt(jnp.mean(errors**2, axis=-1))


class TruncationFalls(AbstractRateClaim):
    """In exact arithmetic the error of a product falls as tau^-2; inequality (119) would allow tau^-1."""

    title = "Truncation falls with the square of the temperature"
    source = Source("li2025incontext", "(117)", note="the order of the remainder")
    relation = Rate("tau", _SMALL)

    def predict(self, problem: Products) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """Root mean square of 2 tau tanh(x / (2 tau)) - x."""
        tau = jnp.asarray(_SMALL)[:, None]
        return self.root_mean_square(2 * tau * jnp.tanh(problem.x / (2 * tau)) - problem.x)

    def control(self) -> Control:
        """The order of (119)."""
        return Control("as 1 / tau", lambda exponent, problem: exponent + 1)


class RoundingGrows(AbstractRateClaim):
    """In float64 the rounding error of a product grows as tau: the logistic function is near 1/2, where numbers are a
    fixed distance apart.
    """

    title = "Rounding grows with the temperature"
    source = Source("li2025incontext", "(117)", note="in finite precision")
    relation = Rate("tau", _LARGE)

    def predict(self, problem: Products) -> Array:
        """The exponent."""
        return jnp.asarray(1.0)

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """Root mean square of the difference to the form without cancellation."""
        tau = jnp.asarray(_LARGE)[:, None]
        exact = 2 * tau * jnp.tanh(problem.x / (2 * tau))
        return self.root_mean_square(4 * tau * (jax.nn.sigmoid(problem.x / tau) - 0.5) - exact)

    def condition(self, problem: Products) -> Array:
        """The measurement is rounding itself."""
        return jnp.zeros(())

    def control(self) -> Control:
        """Errors of a mean of independent terms would."""
        return Control("as sqrt(tau)", lambda exponent, problem: exponent - 0.5)


class AbstractPrecisionRate(AbstractRateClaim):
    """The best temperature of a ladder around `best_temperature`, in three precisions."""

    relation = Rate("1 / eps", _INVERSES)

    def searched(self, problem: Products) -> tuple[Array, Array]:
        """The temperature of least error and that error, for each precision."""
        multiples, found = 2.0 ** np.arange(-4, 4.5, 0.5), []
        for dtype in PRECISIONS:
            ladder = multiples * best_temperature(1.0, dtype)
            numbers = problem.x.astype(dtype).astype(float)
            off = jax.vmap(lambda tau, dtype=dtype: rounded_product(problem.x, tau, dtype))(ladder) - numbers
            errors = self.root_mean_square(off)
            found.append((ladder[jnp.argmin(errors)], errors.min()))
        temperatures, errors = zip(*found, strict=True)
        return jnp.stack(temperatures), jnp.stack(errors)


class BestTemperatureGrows(AbstractPrecisionRate):
    """The temperature at which the error of a product is least grows as eps^(-1/3), from bfloat16 to float64."""

    title = "The best temperature is the cube root of the precision"
    source = Source("li2025incontext", "(117)", note="in finite precision, the best temperature")

    def predict(self, problem: Products) -> Array:
        """The exponent."""
        return jnp.asarray(1 / 3)

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """The temperatures."""
        return self.searched(problem)[0]

    def control(self) -> Control:
        """What (119), an error of x²/tau, would balance."""
        return Control("as eps^(-1/2)", lambda exponent, problem: exponent + 1 / 6)


class LeastErrorFalls(AbstractPrecisionRate):
    """The least error of a product over all temperatures falls as eps^(2/3), from bfloat16 to float64."""

    title = "A third of the digits is lost in every product"
    source = Source("li2025incontext", "(117)", note="in finite precision, the least error")

    def predict(self, problem: Products) -> Array:
        """The exponent in 1 / eps."""
        return jnp.asarray(-2 / 3)

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """The errors."""
        return self.searched(problem)[1]

    def control(self) -> Control:
        """What (119), an error of x²/tau, would balance."""
        return Control("as eps^(1/2)", lambda exponent, problem: exponent + 1 / 6)


class ErrorAtBestTemperature(AbstractProductClaim):
    """At tau = (1 / (6 eps))^(1/3), for |x| <= 1 and in bfloat16, float32 and float64, a product is off by at most

        1 / (12 tau²) + 2 eps tau + 2 eps:

    truncation, a logistic function within eps/2 (times 4 tau), and the rounding of tau, x/tau and the product.
    """

    title = "The accuracy of a product"
    source = Source("li2025incontext", "(117)", note="in finite precision, the error")

    def settings(self) -> Space:
        """Nothing to set."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Products:
        """Numbers in [-1, 1]."""
        return Products(jax.random.uniform(key, (256,), float, -1.0, 1.0), jnp.ones(()))

    def predict(self, problem: Products) -> Array:
        """One bound for each precision."""
        eps = jnp.asarray([float(jnp.finfo(dtype).eps) for dtype in PRECISIONS])
        tau = jnp.stack([best_temperature(1.0, dtype) for dtype in PRECISIONS])
        return 1 / (12 * tau**2) + 2 * eps * tau + 2 * eps

    def measure(self, problem: Products, key: Key[Array, ""]) -> Array:
        """The largest error in each precision."""
        found = []
        for dtype in PRECISIONS:
            off = rounded_product(problem.x, best_temperature(1.0, dtype), dtype) - problem.x.astype(dtype)
            found.append(jnp.abs(off).max())
        return jnp.stack(found)

    def condition(self, problem: Products) -> Array:
        """The measurement is rounding itself."""
        return jnp.zeros(())

    def control(self) -> Control:
        """One of two equal terms."""
        return Control("truncation alone", lambda bound, problem: bound - 2 * self._rounding())

    def _rounding(self) -> Array:
        eps = jnp.asarray([float(jnp.finfo(dtype).eps) for dtype in PRECISIONS])
        return eps * (jnp.stack([best_temperature(1.0, dtype) for dtype in PRECISIONS]) + 1)


class NothingIsLeft(AbstractErrorClaim):
    """At the temperature of Lemma 7 and for N above `reachable`, 13 for n = 8 and L = 41, the transformer in float32
    predicts 0 for every prompt: all logistic functions are rounded to 1/2. In exact arithmetic it is close to proximal
    gradient at this temperature.
    """

    title = "The temperature of the construction in single precision"
    source = Source("li2025incontext", "Lemma 7", note="in finite precision")
    relation = Equal()
    label = "identity"
    controls = "the prediction of the transformer in float32"
    unexplained = "other temperatures, at which float32 has four digits"

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """The temperature that is asked for."""
        prompt = super().sample(setting, key)
        cost = barron_parameter(prompt.functions)
        tau = temperature_asked(setting["n"], setting["layers"], setting["examples"], cost)
        return eqx.tree_at(lambda p: p.model.temperature, prompt, tau)

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """More examples than the precision reaches."""
        reach = reachable(jnp.float32, len(problem.model.features.thresholds), problem.model.layers)
        largest = jnp.abs(problem.y).max() / barron_parameter(problem.functions)
        return [
            Hypothesis("N is out of reach", jnp.asarray(1.0 * len(problem.y)), ">", 1.0 * reach),
            Hypothesis("targets are at most C_F", largest, "<=", 1.0, "over C_F"),
        ]

    def predict(self, problem: Prompt) -> Array:
        """Nothing."""
        return jnp.zeros(())

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The prediction at the query, in float32 and by logistic functions."""
        small = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (problem.model, problem.x, problem.y))
        return small[0](*small[1:], problem.queries[:1].astype(jnp.float32), stable=False)[0].astype(float)

    def control(self) -> Control:
        """What it would be."""

        def exact(found: Array, problem: Prompt) -> Array:
            return problem.model(problem.x, problem.y, problem.queries[:1])[0]

        return Control("the prediction of exact arithmetic", exact)


class RoundingOfThePass(AbstractErrorClaim):
    """In float64, at temperature 10^4, the prediction with cancellation is off that without by at most

        eps tau (10 T p + 2),   p = n + 1.

    Two products a token are off by 2 eps tau each, which makes 8 eps tau (1 + 1/N) in an entry of rho; a proximal step
    does not enlarge distances, and |phi| <= sqrt(p).
    """

    title = "Rounding in a whole forward pass"
    source = Source("li2025incontext", "(118)", "(124)", note="in finite precision")
    controls = "rounding of the prediction"
    unexplained = "how roundings of different tokens cancel"

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """The temperature that `construct_transformer` takes by default."""
        return sampled_prompt(
            key, family=setting["family"], n=setting["n"], examples=setting["examples"], layers=setting["layers"]
        )

    def predict(self, problem: Prompt) -> Array:
        """The bound."""
        model, eps = problem.model, float(jnp.finfo(float).eps)
        return eps * model.temperature * (10 * model.iterations * (len(model.features.thresholds) + 1) + 2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The difference of the two predictions."""
        passes = [problem.model(problem.x, problem.y, problem.queries[:1], stable)[0] for stable in (True, False)]
        return jnp.abs(passes[0] - passes[1])

    def condition(self, problem: Prompt) -> Array:
        """The measurement is rounding itself."""
        return jnp.zeros(())

    def control(self) -> Control:
        """Fewer roundings than there are."""

        def once(bound: Array, problem: Prompt) -> Array:
            return float(jnp.finfo(float).eps) * problem.model.temperature

        return Control("eps tau: one product", once)
