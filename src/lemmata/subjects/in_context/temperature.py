"""The errors of steps that logistic attention takes in the place of products, and the temperature that bounds them.

This theory controls how far a step of the transformer is from a step of proximal gradient, by eta, tau and the size of
rho. It assumes features in [0, 1], the fourth head of Attn1 and the factor N in Attn2 (`in_context.emulation`); it
leaves unexplained why the temperature that is asked for is far above the one that suffices. All bounds have explicit
constants; those with tau in the place of tau² come from a bound on the second derivative, which is 0 where it matters.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Source, Status
from lemmata.engine.problems.prompts import Prompt
from lemmata.functions import barron_parameter
from lemmata.networks import temperature_asked
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, soft_threshold
from lemmata.subjects.in_context._forward_passes import ForwardPasses, discrepancy, sizes_of

from ._errors import (
    at_temperature,
    cancellation,
    error_allowed,
    found_at,
    gap_allowed,
    norm_allowed,
    powers_at_tokens,
    query_gaps,
    step_errors,
    steps_of_the_pass,
    sufficient_temperature,
    value_at_the_end,
)
from ._passes import exact_update, path_of

ABOUT = {"tool": "approximation theory", "architecture": "transformer in context", "object": "construction"}
LADDER = tuple(2.0**k for k in range(-8, 9))
SHARE = 1 / 32  # of the lambda that the theory asks for: at 1, rho stays 0 at these sizes
READING = "O(.) is 1, and lambda is 1/32 of its order, whose constant the source calls large"


class AbstractErrorBound(Claim[Prompt]):
    """Bounds on the errors of the steps, for a random function of a random class."""

    population = ForwardPasses()
    relation = AtMost()
    controls = "the errors of the steps that the transformer takes"
    unexplained = "whether errors of different steps cancel"


class AbstractGradientError(AbstractErrorBound):
    """The largest entry of e^(l) = (118) - (108), before each step of the pass, the first from rho = 0."""

    @abc.abstractmethod
    def predict(self, problem: Prompt) -> Array:
        """The bound before each step."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        inexact, exact = steps_of_the_pass(problem)
        return jnp.abs(inexact - exact).max(axis=1)

    def trivial(self, problem: Prompt) -> Array:
        """The sum of the lengths of both."""
        inexact, exact = steps_of_the_pass(problem)
        return jnp.abs(inexact).max(axis=1) + jnp.abs(exact).max(axis=1)

    def condition(self, problem: Prompt) -> Array:
        return cancellation(problem, self.predict(problem))


class GradientError(AbstractGradientError):
    """The gradient step by attention, rho + (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i)
    y^)} phi_i with g(x) = 4 tau (sigma(x/tau) - 1/2), is off rho + (2 eta/N) sum_{i <= N} (y_i - phi_i^T rho) phi_i by

        |e|_inf <= (4 eta² / (N tau)) {sum_{i <= N} y_i² + sum_{i <= N+1} (phi_i^T rho)² + y^²}
                   + (2 eta / N) |y^ - phi_{N+1}^T rho|,

    at every step: N examples with targets y_i, w_i = 1 and features phi_i in [0, 1]^(n+1), the query as token N + 1
    with y = w = 0 and the prediction y^, step eta, temperature tau.
    """

    title = "The error of a gradient step by attention"
    source = Source("li2025incontext", "(120)", note="proof of Lemma 4, first line")
    control = Control(
        "the query alone makes errors",
        lambda bound, problem: 2 * problem.model.step / len(problem.y) * query_gaps(problem),
        loose="the bound is loose by 1e3 and more: errors have the third order",
    )

    def predict(self, problem: Prompt) -> Array:
        step, count = problem.model.step, len(problem.y)
        squares = 4 * step**2 / (count * problem.model.temperature) * powers_at_tokens(problem, 2)
        return squares + 2 * step / count * query_gaps(problem)


class GradientErrorOfThirdOrder(AbstractGradientError):
    """The second derivative of the logistic function sigma is 0 at 0, and so the gradient step by attention, rho +
    (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i) y^)} phi_i with g(x) = 4 tau (sigma(x/tau) -
    1/2), is off rho + (2 eta/N) sum_{i <= N} (y_i - phi_i^T rho) phi_i by

        |e|_inf <= (eta³ / (6 N tau²)) {sum_{i <= N} |y_i|³ + sum_{i <= N+1} |phi_i^T rho|³ + |y^|³}
                   + (2 eta / N) |y^ - phi_{N+1}^T rho|,

    at every step: N examples with targets y_i, w_i = 1 and features phi_i in [0, 1]^(n+1), the query as token N + 1
    with y = w = 0 and the prediction y^, step eta, temperature tau.
    """

    title = "The error of a gradient step by attention, to third order"
    source = Source("li2025incontext", "(120)", note="proof of Lemma 4, with the third derivative")
    stated = Kind.OWN
    control = Control("four fifths of the bound are enough", lambda bound, problem: 0.8 * bound)

    def predict(self, problem: Prompt) -> Array:
        step, count = problem.model.step, len(problem.y)
        cubes = step**3 / (6 * count * problem.model.temperature**2) * powers_at_tokens(problem, 3)
        return cubes + 2 * step / count * query_gaps(problem)


class PredictionError(AbstractErrorBound):
    """The prediction y^ = 4 tau (sigma(phi^T rho / tau) - 1/2) that attention writes at temperature tau, for the
    features phi of the query and coefficients rho, is off their product by

        |y^ - phi^T rho| <= |phi^T rho|³ / (12 tau²),

    at every step. The source has 2 (phi^T rho)² / tau, which is larger wherever |phi^T rho| <= 24 tau.
    """

    title = "The error of the prediction by attention"
    source = Source("li2025incontext", "(125)", note="proof of Lemma 4, with the third derivative")
    # x - 2 tau tanh(x / (2 tau)) is x³/(12 tau²) to lowest order.
    control = Control("1/14 in the place of 1/12", lambda bound, problem: bound * 12 / 14)
    stated = Kind.OWN

    def predict(self, problem: Prompt) -> Array:
        return self.trivial(problem) ** 3 / (12 * problem.model.temperature**2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        rho, predictions = path_of(problem)
        return jnp.abs(predictions[1:] - rho[1:] @ problem.model.features(problem.queries[:1])[0])

    def trivial(self, problem: Prompt) -> Array:
        """|phi^T rho|: y^ lies between it and 0."""
        return jnp.abs(path_of(problem)[0][1:] @ problem.model.features(problem.queries[:1])[0])

    def condition(self, problem: Prompt) -> Array:
        """The terms of phi^T rho cancel."""
        size = jnp.abs(path_of(problem)[0][1:]).sum(axis=1)
        return size / jnp.maximum(self.predict(problem), 1e-300)


class AbstractStepError(AbstractErrorBound):
    """The largest entry of e_t, the error of a proximal step, for t = 1, ..., T."""

    @abc.abstractmethod
    def predict(self, problem: Prompt) -> Array:
        """The bound at each step."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return jnp.abs(step_errors(problem)).max(axis=1)

    def trivial(self, problem: Prompt) -> Array:
        """The sum of the sizes of rho_t and of what is meant to be there."""
        rho, model = path_of(problem)[0], problem.model
        meant = soft_threshold(exact_update(problem, rho[:-1]), model.step * model.penalty)
        return jnp.abs(rho[1:]).max(axis=1) + jnp.abs(meant).max(axis=1)

    def condition(self, problem: Prompt) -> Array:
        return cancellation(problem, self.predict(problem))


class StepError(AbstractStepError):
    """A step of the transformer, rho_{t-1} to rho_t, is off the proximal step from rho_{t-1} on the Lasso by |e_t|_inf
    at most

        (4 eta² / tau) {mean y² + (1 + 1/N) R² + (2 R² + 8 R^4 / tau²) / N} + 4 eta R² / (N tau),   R = |rho_{t-1}|_1,

    for N examples with targets y and features in [0, 1], step eta and temperature tau. The source has C_F² + sigma² for
    the mean of y², and hides the constants.
    """

    title = "The error of a proximal step by attention"
    source = Source("li2025incontext", "(127)", "(128)", note="proof of Lemma 4, with constants")
    reading = "O(.) is what (120) and (125) make of it"
    control = Control(
        "targets make no errors",
        lambda bound, problem: bound - 4 * problem.model.step**2 / problem.model.temperature * jnp.mean(problem.y**2),
        loose="the bound is loose by 4e3 and more: errors have the third order",
    )

    def predict(self, problem: Prompt) -> Array:
        eta, tau, count = problem.model.step, problem.model.temperature, len(problem.y)
        size = jnp.abs(path_of(problem)[0][:-1]).sum(axis=1)
        squares = jnp.mean(problem.y**2) + (1 + 1 / count) * size**2 + (2 * size**2 + 8 * size**4 / tau**2) / count
        return 4 * eta**2 / tau * squares + 4 * eta * size**2 / (count * tau)


class StepErrorOfThirdOrder(AbstractStepError):
    """To third order a step of the transformer, rho_{t-1} to rho_t, is off the proximal step from rho_{t-1} on the
    Lasso by |e_t|_inf at most

        (eta³ / (6 tau²)) {mean |y|³ + (1 + 2/N) R³} + eta R³ / (6 N tau²),   R = |rho_{t-1}|_1,

    for N examples with targets y and features in [0, 1], step eta and temperature tau, since |4 tau (sigma(x/tau) -
    1/2)| <= |x| bounds the prediction of the query by R.
    """

    title = "The error of a proximal step by attention, to third order"
    source = Source("li2025incontext", "(128)", note="proof of Lemma 4, with the third derivative")
    stated = Kind.OWN
    control = Control("half of the bound is enough", lambda bound, problem: bound / 2)

    def predict(self, problem: Prompt) -> Array:
        eta, tau, count = problem.model.step, problem.model.temperature, len(problem.y)
        size = jnp.abs(path_of(problem)[0][:-1]).sum(axis=1) ** 3
        cubes = jnp.mean(jnp.abs(problem.y) ** 3) + (1 + 2 / count) * size
        return eta**3 / (6 * tau**2) * cubes + eta * size / (6 * count * tau**2)


class ErrorsAtTheTemperatureAsked(AbstractErrorBound):
    """At the temperature tau = N n² (L + n)(N + n) C_F, and in all steps t = 1, ..., T of the L = 2T + 1 layers,

        |e_t|_1 <= C_F / ((L + n) n N),   |rho_t|_1 <= n sqrt(N) C_F,   (phi^T rho_T - y^)² <= sqrt(log N / N) C_F²,

    for N examples of a function of a class with Barron parameter C_F, n features, the coefficients rho_t of the pass,
    the error e_t of a proximal step, the query's features phi and its prediction y^. lambda is 1/32 of sqrt(log N / N)
    (C_F + sigma) + eps_dis² / C_F, for noise of standard deviation sigma and a discretisation error eps_dis. The pass
    is computed without cancellation.
    """

    title = "Errors and norms at the temperature of the construction"
    source = Source(
        "li2025incontext", "Lemma 7", "(130)", "(131)", "Lemma 4, part ii", "(58b)", "Lemma 4, part iii", "(59b)"
    )
    population = ForwardPasses(of_inputs=SHARE)
    control = Control(
        "|rho_t|_1 <= C_F / sqrt(N)",
        lambda bound, problem: bound.at[1].divide(sizes_of(problem)[0] * sizes_of(problem)[1]),
        loose="the bounds are loose by 1e3, 1e12 and 1e33: no near control",
    )
    reading = READING
    expected = Status.VACUOUS

    def predict(self, problem: Prompt) -> Array:
        return jnp.stack([error_allowed(problem), norm_allowed(problem), gap_allowed(problem)])

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Maximal |e_t|_1, maximal |rho_t|_1 and the squared difference at the end."""
        return found_at(problem, self._asked(problem))

    def trivial(self, problem: Prompt) -> Array:
        """2 R, R = mean y² / lambda, as the objective falls from that of rho = 0; (phi^T rho_T)²: y^ is nearer to 0."""
        size = jnp.mean(problem.y**2) / problem.model.penalty
        value = value_at_the_end(at_temperature(problem, self._asked(problem)))
        return jnp.stack([2 * size, size, value**2])

    def _asked(self, problem: Prompt) -> Array:
        n, count, layers = sizes_of(problem)
        return temperature_asked(n, layers, count, barron_parameter(problem.functions))


class AbstractSufficientTemperature(AbstractErrorBound):
    """The least power of 2 from which on |e_t|_1, |rho_t|_1 and (59b) are as in Lemma 7."""

    population = ForwardPasses(of_inputs=SHARE)
    control = Control(
        "tau = C_F / 32",
        lambda tau, problem: barron_parameter(problem.functions) / 32,
        loose="the temperature is above the least that suffices by 1e4 and more, as (59b) and |rho_t|_1 are loose",
    )
    controls = "the temperature that the construction needs"
    reading = READING
    trivial = "without the lemma no temperature is known to suffice"

    @abc.abstractmethod
    def predict(self, problem: Prompt) -> Array:
        """tau."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The least of the ladder 2^-8, ..., 2^8."""
        return sufficient_temperature(problem, jnp.asarray(LADDER))


class TemperatureAsked(AbstractSufficientTemperature):
    """A temperature of

        tau = N n² (L + n)(N + n) C_F

    suffices for |e_t|_1 <= C_F / ((L + n) n N), |rho_t|_1 <= n sqrt(N) C_F and (phi^T rho_T - y^)² <= sqrt(log N / N)
    C_F² in all T steps of L = 2T + 1 layers, for N examples of a function of a class with Barron parameter C_F, n
    features, the coefficients rho_t, the error e_t of a proximal step, the query's features phi and prediction y^.
    Measured is the least power of 2 that suffices; the slack says how many orders it is below.
    """

    title = "The temperature that is asked for"
    source = Source("li2025incontext", "Lemma 7", note="the temperature")

    def predict(self, problem: Prompt) -> Array:
        n, count, layers = sizes_of(problem)
        return temperature_asked(n, layers, count, barron_parameter(problem.functions))


class TemperatureOfThirdOrder(AbstractSufficientTemperature):
    """The error of third order makes the root of an expression suffice,

        tau² = ((L + n) n N / (6 C_F)) {(max |y|³ + (1 + 2/N) R³) / (8 (n+1)²) + R³ / (2 N)},   R = n sqrt(N) C_F,

    for N examples with targets y of a function of a class with Barron parameter C_F, n features, L layers and the step
    eta = 1/(2(n+1)): then the error e_t of a proximal step has (n + 1)|e_t|_inf <= C_F / ((L + n) n N) as long as the
    coefficients before it have |rho_{t-1}|_1 <= R. Measured is the least power of 2 at which the three inequalities of
    Lemma 7 hold.
    """

    title = "A lower temperature, by the third order of errors"
    source = Source("li2025incontext", "Lemma 7", note="the temperature, with the third derivative")
    stated = Kind.OWN

    def predict(self, problem: Prompt) -> Array:
        n, count, layers = sizes_of(problem)
        cubed = norm_allowed(problem) ** 3
        inner = (jnp.abs(problem.y).max() ** 3 + (1 + 2 / count) * cubed) / (8 * (n + 1) ** 2) + cubed / (2 * count)
        return jnp.sqrt((layers + n) * n * count / (6 * barron_parameter(problem.functions)) * inner)


def square_of_the_sizes(bound: Array, problem: Prompt) -> Array:
    """C_F² / (n L)²: a faster rate in depth and width, without noise."""
    n, _, layers = sizes_of(problem)
    return (barron_parameter(problem.functions) / (n * layers)) ** 2


class ObjectiveAtTheEnd(AbstractErrorBound):
    """At the end of the pass the objective of the Lasso, mean squares plus lambda |rho|_1, is above the least of all,
    and so above that of any rho*, by at most

        sqrt(log N / N) C_F (sigma + C_F) + eps_dis² + n C_F² / L,

    for N examples of a function of a class with Barron parameter C_F and noise of standard deviation sigma, n features,
    L layers, and the discrepancy at the inputs for the discretisation error eps_dis.
    """

    title = "The objective that the transformer reaches"
    source = Source("li2025incontext", "Lemma 4, part iii", "(59a)", "(129)")
    population = ForwardPasses(layers=5, of_inputs=SHARE)  # few layers, so that something is left
    control = Control("at most C_F² / (n L)²", square_of_the_sizes, loose="the bound is loose by 1e3 and more")
    controls = "the objective of the Lasso at the end of the pass"
    unexplained = "how much smaller it is: C_F is many times the length of the coefficients"
    reading = READING
    expected = Status.VACUOUS

    def predict(self, problem: Prompt) -> Array:
        n, count, layers = sizes_of(problem)
        cost = barron_parameter(problem.functions)
        statistical = jnp.sqrt(jnp.log(count) / count) * cost * (problem.sigma + cost)
        return statistical + discrepancy(problem) ** 2 + n * cost**2 / layers

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


def with_less_penalty(found: Array, problem: Prompt) -> Array:
    """What the pass leaves with 1/32 of the penalty."""
    lower = eqx.tree_at(lambda p: p.model.penalty, problem, problem.model.penalty / 32)
    rho, predictions = path_of(lower)
    return jnp.stack([jnp.abs(rho).max(), predictions[-1]])


class PenaltyOfTheConstruction(Claim[Prompt]):
    """With lambda as in (58a), a discretisation error of 0 and 1 in the place of the hidden constant, the transformer
    predicts 0 on the prompts of this chapter with bumps and cosines, 64 examples, n = 8 features and L = 41 layers, and
    from half to twice of these: lambda is above max_j |(2/N) sum_i phi_ij y_i|, so 0 is the Lasso. Functions of a small
    Barron parameter can come through, as logistic networks do.
    """

    title = "The penalty of the construction at small sizes"
    source = Source("li2025incontext", "Lemma 4, part ii", "(58a)", "(58c)")
    population = ForwardPasses(of_theory=1.0, families=("bumps", "cosines"))
    relation = Equal()
    control = Control("as with a constant of 1/32", with_less_penalty)
    controls = "the coefficients and the prediction of the transformer"
    unexplained = "sizes at which (58a) lets anything through, and how small its constant may be"
    reading = "O(.) is 1"
    stated = Kind.OWN
    predict = (0.0, 0.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The largest coefficient along the pass, and the prediction."""
        rho, predictions = path_of(problem)
        return jnp.stack([jnp.abs(rho).max(), predictions[-1]])
