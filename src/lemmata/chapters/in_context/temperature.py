"""The errors of steps that logistic attention takes in the place of products, and the temperature that bounds them.

This theory controls how far a step of the transformer is from a step of proximal gradient, by eta, tau and the size of
rho. It assumes features in [0, 1], the fourth head of Attn1 and the factor N in Attn2; it leaves unexplained why the
temperature that is asked for is so many orders above the one that suffices. All bounds have explicit constants; those
with tau in the place of tau² come from a bound on the second derivative, which is 0 where it matters.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import Control, Equal, Integer, Source, Space
from lemmata.functions import barron_parameter
from lemmata.networks import temperature_asked
from lemmata.problems._prompts import FAMILY, Prompt
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective

from ._errors import (
    AbstractErrorClaim,
    AbstractTemperatureClaim,
    discrepancy,
    error_allowed,
    found_at,
    gap_allowed,
    norm_allowed,
    step_errors,
    sufficient_temperature,
)
from ._passes import exact_update, inexact_update, path_of
from ._risks import penalty_of_theory

LADDER = tuple(2.0**k for k in range(-8, 9))


def query_gaps(prompt: Prompt) -> Array:
    """|y^ - phi^T rho| of the query before each step, 0 before the first.

    Args:
        prompt: examples, the query and a transformer.
    """
    rho, predictions = path_of(prompt)
    return jnp.abs(predictions - rho @ prompt.model.features(prompt.queries[:1])[0])[:-1]


class AbstractGradientError(AbstractErrorClaim):
    """The largest entry of e^(l) = (118) - (108), before each step of the pass, the first from rho = 0."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The difference of the two updates."""
        rho, predictions = path_of(problem)
        points, held = rho[:-1], predictions[:-1]
        return jnp.abs(inexact_update(problem, points, held) - exact_update(problem, points)).max(axis=1)

    def condition(self, problem: Prompt) -> Array:
        """The two updates cancel but for their third order."""
        rho, _ = path_of(problem)
        largest = jnp.maximum(jnp.abs(rho).max(), jnp.abs(problem.y).max())
        return largest / jnp.maximum(jnp.max(self.predict(problem)), 1e-12)

    def sums(self, problem: Prompt, power: int) -> Array:
        """sum |y_i|^power + sum |phi_i^T rho|^power + |y^|^power, over all N + 1 tokens, before each step."""
        rho, predictions = path_of(problem)
        points = jnp.concatenate([problem.x, problem.queries[:1]])
        values = rho[:-1] @ problem.model.features(points).T
        own = jnp.abs(predictions[:-1]) ** power
        return jnp.sum(jnp.abs(problem.y) ** power) + jnp.sum(jnp.abs(values) ** power, axis=1) + own


class GradientError(AbstractGradientError):
    """The step of Attn1 is off that of the exact gradient by

        |e|_inf <= (4 eta² / (N tau)) {sum_{i <= N} y_i² + sum_{i <= N+1} (phi_i^T rho)² + y^²}
                   + (2 eta / N) |y^ - phi_{N+1}^T rho|,

    at every step, features being in [0, 1].
    """

    title = "The error of a gradient step by attention"
    source = Source("li2025incontext", "(120)", note="proof of Lemma 4, first line")

    def predict(self, problem: Prompt) -> Array:
        """The bound before each step."""
        step, count = problem.model.step, len(problem.y)
        squares = 4 * step**2 / (count * problem.model.temperature) * self.sums(problem, 2)
        return squares + 2 * step / count * query_gaps(problem)

    def control(self) -> Control:
        """In the first step only targets make errors."""

        def query(bound: Array, problem: Prompt) -> Array:
            return 2 * problem.model.step / len(problem.y) * query_gaps(problem)

        return Control("the query alone makes errors", query)


class GradientErrorOfThirdOrder(AbstractGradientError):
    """The second derivative of the logistic function is 0 at 0, and so the error of Attn1 has the third order,

        |e|_inf <= (eta³ / (6 N tau²)) {sum_{i <= N} |y_i|³ + sum_{i <= N+1} |phi_i^T rho|³ + |y^|³}
                   + (2 eta / N) |y^ - phi_{N+1}^T rho|,

    at every step, features being in [0, 1].
    """

    title = "The error of a gradient step by attention, to third order"
    source = Source("li2025incontext", "(120)", note="proof of Lemma 4, with the third derivative")

    def predict(self, problem: Prompt) -> Array:
        """The bound before each step."""
        step, count = problem.model.step, len(problem.y)
        cubes = step**3 / (6 * count * problem.model.temperature**2) * self.sums(problem, 3)
        return cubes + 2 * step / count * query_gaps(problem)

    def control(self) -> Control:
        """The constant feature meets every target."""
        return Control("four fifths of the bound are enough", lambda bound, problem: 0.8 * bound)


class PredictionError(AbstractErrorClaim):
    """The prediction that Attn2 writes is off phi^T rho by

        |y^ - phi_{N+1}^T rho| <= |phi_{N+1}^T rho|³ / (12 tau²),

    at every step. The source has 2 (phi^T rho)² / tau, which is larger wherever |phi^T rho| <= 24 tau.
    """

    title = "The error of the prediction by attention"
    source = Source("li2025incontext", "(125)", note="proof of Lemma 4, with the third derivative")

    def predict(self, problem: Prompt) -> Array:
        """The bound after each step."""
        values = path_of(problem)[0][1:] @ problem.model.features(problem.queries[:1])[0]
        return jnp.abs(values) ** 3 / (12 * problem.model.temperature**2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The difference after each step."""
        rho, predictions = path_of(problem)
        return jnp.abs(predictions[1:] - rho[1:] @ problem.model.features(problem.queries[:1])[0])

    def condition(self, problem: Prompt) -> Array:
        """Prediction and product cancel but for their third order."""
        rho, _ = path_of(problem)
        return jnp.abs(rho).sum(axis=1).max() / jnp.maximum(jnp.max(self.predict(problem)), 1e-12)

    def control(self) -> Control:
        """x - 2 tau tanh(x / (2 tau)) is x³/(12 tau²) to lowest order."""
        return Control("1/14 in the place of 1/12", lambda bound, problem: bound * 12 / 14)


class AbstractStepError(AbstractErrorClaim):
    """The largest entry of e_t, the error of a proximal step, for t = 1, ..., T."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """|e_t|_inf."""
        return jnp.abs(step_errors(problem)).max(axis=1)

    def condition(self, problem: Prompt) -> Array:
        """Two steps cancel but for their third order."""
        rho, _ = path_of(problem)
        largest = jnp.maximum(jnp.abs(rho).max(), jnp.abs(problem.y).max())
        return largest / jnp.maximum(jnp.max(self.predict(problem)), 1e-12)


class StepError(AbstractStepError):
    """A step of the transformer is off a proximal step by |e_t|_inf at most

        (4 eta² / tau) {mean y² + (1 + 1/N) R² + (2 R² + 8 R^4 / tau²) / N} + 4 eta R² / (N tau),   R = |rho_{t-1}|_1.

    The source writes C_F² + sigma² for the mean of y², and hides the constants, which follow from (120) and (125).
    """

    title = "The error of a proximal step by attention"
    source = Source("li2025incontext", "(127)", "(128)", note="proof of Lemma 4, with constants")

    def predict(self, problem: Prompt) -> Array:
        """The bound at each step."""
        eta, tau, count = problem.model.step, problem.model.temperature, len(problem.y)
        size = jnp.abs(path_of(problem)[0][:-1]).sum(axis=1)
        squares = jnp.mean(problem.y**2) + (1 + 1 / count) * size**2 + (2 * size**2 + 8 * size**4 / tau**2) / count
        return 4 * eta**2 / tau * squares + 4 * eta * size**2 / (count * tau)

    def control(self) -> Control:
        """The first step has rho = 0, and an error."""

        def without(bound: Array, problem: Prompt) -> Array:
            step, tau = problem.model.step, problem.model.temperature
            return bound - 4 * step**2 / tau * jnp.mean(problem.y**2)

        return Control("targets make no errors", without)


class StepErrorOfThirdOrder(AbstractStepError):
    """To third order a step of the transformer is off a proximal step by |e_t|_inf at most

        (eta³ / (6 tau²)) {mean |y|³ + (1 + 2/N) R³} + eta R³ / (6 N tau²),   R = |rho_{t-1}|_1,

    since |4 tau (sigma(x/tau) - 1/2)| <= |x| bounds the prediction of the query by R.
    """

    title = "The error of a proximal step by attention, to third order"
    source = Source("li2025incontext", "(128)", note="proof of Lemma 4, with the third derivative")

    def predict(self, problem: Prompt) -> Array:
        """The bound at each step."""
        eta, tau, count = problem.model.step, problem.model.temperature, len(problem.y)
        size = jnp.abs(path_of(problem)[0][:-1]).sum(axis=1) ** 3
        cubes = jnp.mean(jnp.abs(problem.y) ** 3) + (1 + 2 / count) * size
        return eta**3 / (6 * tau**2) * cubes + eta * size / (6 * count * tau**2)

    def control(self) -> Control:
        """The constant feature meets every target."""
        return Control("four fifths of the bound are enough", lambda bound, problem: 0.8 * bound)


class ErrorsAtTheTemperatureAsked(AbstractTemperatureClaim):
    """At tau = N n² (L + n)(N + n) C_F, and in all steps,

        |e_t|_1 <= C_F / ((L + n) n N),   |rho_t|_1 <= n sqrt(N) C_F,   (phi^T rho_T - y^)² <= sqrt(log N / N) C_F²,

    with 1 in the place of the hidden constants and 1/32 before lambda. The pass is computed without cancellation.
    """

    title = "Errors and norms at the temperature of the construction"
    source = Source(
        "li2025incontext", "Lemma 7", "(130)", "(131)", "Lemma 4, part ii", "(58b)", "Lemma 4, part iii", "(59b)"
    )
    controls = "the steps of the transformer and its prediction"

    def predict(self, problem: Prompt) -> Array:
        """The three bounds."""
        return jnp.stack([error_allowed(problem), norm_allowed(problem), gap_allowed(problem)])

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """max |e_t|_1, max |rho_t|_1 and the squared difference at the end."""
        model = problem.model
        cost = barron_parameter(problem.functions)
        asked = temperature_asked(len(model.features.thresholds), model.layers, len(problem.y), cost)
        return found_at(problem, asked)

    def control(self) -> Control:
        """What the second inequality would be without its factor, and with a power less of N."""

        def smaller(bound: Array, problem: Prompt) -> Array:
            return bound.at[1].divide(len(problem.model.features.thresholds) * len(problem.y))

        return Control("|rho_t|_1 <= C_F / sqrt(N)", smaller)


class AbstractSufficientTemperature(AbstractTemperatureClaim):
    """The least power of 2 from which on |e_t|_1, |rho_t|_1 and (59b) are as in Lemma 7."""

    controls = "the temperature that the construction needs"

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The least of the ladder 2^-8, ..., 2^8."""
        return sufficient_temperature(problem, jnp.asarray(LADDER))

    def control(self) -> Control:
        """Temperatures at which products are a tenth off."""
        return Control("tau = C_F / 32", lambda tau, problem: barron_parameter(problem.functions) / 32)


class TemperatureAsked(AbstractSufficientTemperature):
    """A temperature of

        tau = N n² (L + n)(N + n) C_F

    suffices for |e_t|_1 <= C_F / ((L + n) n N), |rho_t|_1 <= n sqrt(N) C_F and (59b), constants being 1. Measured is
    the least power of 2 that does; the slack says how many orders it is below.
    """

    title = "The temperature that is asked for"
    source = Source("li2025incontext", "Lemma 7", note="the temperature")

    def predict(self, problem: Prompt) -> Array:
        """tau."""
        n = len(problem.model.features.thresholds)
        return temperature_asked(n, problem.model.layers, len(problem.y), barron_parameter(problem.functions))


class TemperatureOfThirdOrder(AbstractSufficientTemperature):
    """The error of third order makes the root of an expression suffice,

        tau² = ((L + n) n N / (6 C_F)) {(max |y|³ + (1 + 2/N) R³) / (8 (n+1)²) + R³ / (2 N)},   R = n sqrt(N) C_F,

    at eta = 1/(2(n+1)): then (n + 1)|e_t|_inf <= C_F / ((L + n) n N) as long as |rho_{t-1}|_1 <= R.
    """

    title = "A lower temperature, by the third order of errors"
    source = Source("li2025incontext", "Lemma 7", note="the temperature, with the third derivative")

    def predict(self, problem: Prompt) -> Array:
        """tau."""
        n, count, layers = len(problem.model.features.thresholds), len(problem.y), problem.model.layers
        cubed = norm_allowed(problem) ** 3
        inner = (jnp.abs(problem.y).max() ** 3 + (1 + 2 / count) * cubed) / (8 * (n + 1) ** 2) + cubed / (2 * count)
        return jnp.sqrt((layers + n) * n * count / (6 * barron_parameter(problem.functions)) * inner)


class ObjectiveAtTheEnd(AbstractTemperatureClaim):
    """At the end of the pass the objective is above the least of all, and so above that of rho*, by at most

        sqrt(log N / N) C_F (sigma + C_F) + eps_dis² + n C_F² / L,

    with 1 in the place of the hidden constant, 1/32 before lambda, and the discrepancy at the inputs for eps_dis.
    """

    title = "The objective that the transformer reaches"
    source = Source("li2025incontext", "Lemma 4, part iii", "(59a)", "(129)")
    controls = "the objective of the Lasso at the end of the pass"
    unexplained = "how much smaller it is: C_F is many times the length of the coefficients"

    def settings(self) -> Space:
        """Few layers, so that something is left."""
        return Space(
            n=Integer(8, 1, 64, "features"), examples=Integer(64, 2, 128, "examples"),
            layers=Integer(5, 3, 201, "layers, odd"), family=FAMILY,
        )  # fmt: skip

    def predict(self, problem: Prompt) -> Array:
        """The bound."""
        count, n, cost = len(problem.y), len(problem.model.features.thresholds), barron_parameter(problem.functions)
        statistical = jnp.sqrt(jnp.log(count) / count) * cost * (problem.sigma + cost)
        return statistical + discrepancy(problem) ** 2 + n * cost**2 / problem.model.layers

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The objective less that of 300 accelerated steps."""
        model, prompt = problem.model, problem.prompt
        best = accelerated_proximal_gradient(prompt, problem.y, model.penalty, model.step, 300)[-1]
        ends = jnp.stack([path_of(problem)[0][-1], best])
        objective = lasso_objective(prompt, problem.y, model.penalty, ends)
        return objective[0] - objective[1]

    def trivial(self, problem: Prompt) -> Array:
        """Coefficients of 0."""
        return jnp.mean(problem.y**2)

    def control(self) -> Control:
        """A faster rate in depth and width, without noise."""

        def faster(bound: Array, problem: Prompt) -> Array:
            size = len(problem.model.features.thresholds) * problem.model.layers
            return (barron_parameter(problem.functions) / size) ** 2

        return Control("at most C_F² / (n L)²", faster)


class PenaltyOfTheConstruction(AbstractErrorClaim):
    """With lambda as in (58a), eps_dis = 0 and 1 in the place of the hidden constant, the transformer predicts 0 on
    the prompts of the chapter, 64 examples with n = 8 and L = 41: lambda is above max_j |(2/N) sum_i phi_ij y_i|, so 0
    is the Lasso. A function that is nearly constant, of small C_F, can come through.
    """

    title = "The penalty of the construction at small sizes"
    source = Source("li2025incontext", "Lemma 4, part ii", "(58a)", "(58c)")
    relation = Equal()
    label = "identity"
    controls = "the coefficients and the prediction of the transformer"
    unexplained = "sizes at which (58a) lets anything through, and how small its constant may be"

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """The penalty of (58a)."""
        prompt = super().sample(setting, key)
        penalty = penalty_of_theory(
            barron_parameter(prompt.functions), prompt.sigma, 0.0, examples=setting["examples"],
            layers=setting["layers"], number=setting["n"],
        )  # fmt: skip
        return eqx.tree_at(lambda p: p.model.penalty, prompt, penalty)

    def predict(self, problem: Prompt) -> Array:
        """Nothing."""
        return jnp.zeros(2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The largest coefficient along the pass, and the prediction."""
        rho, predictions = path_of(problem)
        return jnp.stack([jnp.abs(rho).max(), predictions[-1]])

    def control(self) -> Control:
        """A smaller constant."""

        def smaller(found: Array, problem: Prompt) -> Array:
            lower = eqx.tree_at(lambda p: p.model.penalty, problem, problem.model.penalty / 32)
            rho, predictions = path_of(lower)
            return jnp.stack([jnp.abs(rho).max(), predictions[-1]])

        return Control("as with a constant of 1/32", smaller)
