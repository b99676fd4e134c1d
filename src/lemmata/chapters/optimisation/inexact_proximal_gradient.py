"""Proximal gradient with errors in each step: what they add to the objective and to the length of the coefficients.

This theory controls the objective and the l_1 norm of the coefficients after T steps when e_t is added after step t, by
the largest |e_t|_1; it assumes n + 1 features bounded by 1 and steps of 1/(2(n+1)). It leaves unexplained errors that
cancel, and why the sum of all errors is an upper bound only: each step forgets a part of those before.

rho_t are the iterates and rho*_t = rho_t - e_t the exact steps between them. Constants are explicit, with the mean of
|y_i| in the place of C_F + sigma and with 2 |rho*|_1 in that of C_F; in the statements
E_t = |e_t|_1 (2 |rho*|_1 + 2 |rho_t|_1 + 3 |e_t|_1) and B_t = |e_t|_1 (2 mean |y_i| + 2 |rho_t|_1 + lambda).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.functions import barron_parameter, representing_coefficients
from lemmata.problems._prompts import FAMILY
from lemmata.problems._proximal_runs import Run as Run
from lemmata.problems._proximal_runs import bounded, prompt_with_errors, run_of
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective

_INVERSE_ERRORS = (1e3, 1e4, 1e5, 1e6)


def contraction_errors(run: Run) -> Float[Array, "r T"]:
    """E_t = |e_t|_1 (2 |rho*|_1 + 2 |rho_t|_1 + 3 |e_t|_1): what the error of a step adds to squared distances.

    Args:
        run: proximal gradient with errors.
    """
    sizes, lengths = jnp.abs(run.errors).sum(axis=2), jnp.abs(run.path[:, 1:]).sum(axis=2)
    return sizes * (2 * jnp.abs(run.reference).sum() + 2 * lengths + 3 * sizes)


def objective_errors(run: Run) -> Float[Array, "r T"]:
    """B_t = |e_t|_1 (2 mean |y_i| + 2 |rho_t|_1 + lambda): what the error of a step adds to the objective.

    Args:
        run: proximal gradient with errors.
    """
    sizes, lengths = jnp.abs(run.errors).sum(axis=2), jnp.abs(run.path[:, 1:]).sum(axis=2)
    return sizes * (2 * jnp.mean(jnp.abs(run.y)) + 2 * lengths + run.penalty)


class AbstractRunClaim(Claim[Run]):
    """Statements about runs with random errors and with errors that all point the same way."""

    relation = AtMost()
    controls = "the objective along inexact proximal gradient"
    unexplained = "errors that cancel; the smaller effect of errors on features of less curvature"
    problem = Run
    trials = 128
    batch = 128
    steps = 12

    def settings(self) -> Space:
        """Sizes, the class, and the size of the errors."""
        n, examples = Integer(16, 2, 64, "features"), Integer(32, 4, 128, "examples")
        size = Real(0.5, 1e-12, 10.0, "|e_t|_1")
        return Space(n=n, N=examples, T=Integer(self.steps, 2, 100, "steps"), family=FAMILY, size=size)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Run:
        """A prompt, errors of that size, and the minimum of the Lasso, found by 300 accelerated steps, as rho*."""
        sizes = {"n": setting["n"], "examples": setting["N"], "iterations": setting["T"]}
        prompt, errors = prompt_with_errors(key, family=setting["family"], **sizes)
        features, penalty = prompt.prompt, prompt.model.penalty
        best = accelerated_proximal_gradient(features, prompt.y, penalty, 1 / (2 * features.shape[1]), 300)[-1]
        return run_of(features, prompt.y, penalty, best, setting["size"] * errors)

    def hypotheses(self, problem: Run) -> list[Hypothesis]:
        """Bounded features and a start at 0."""
        start = jnp.abs(problem.path[:, 0]).max()
        return [bounded(problem.features), Hypothesis("the run starts at 0", start, "==", 0.0, "rho_0 = 0")]


class StepWithErrors(AbstractRunClaim):
    """For every t < T the exact step from rho_t satisfies

        l(rho*_{t+1}) - l(rho*) <= (n+1) (|rho*_t - rho*|² - |rho*_{t+1} - rho*|² + E_t).

    rho* is any vector; trials take the minimum of the Lasso, at which the statement says most.
    """

    title = "A step after an error"
    source = Source("li2025incontext", "(98)", note="proof of Lemma 3, with constants")

    def predict(self, problem: Run) -> Array:
        """The bound for t = 1, ..., T - 1."""
        return self._without(problem) + problem.features.shape[1] * contraction_errors(problem)[:, :-1]

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The objective above that of rho*."""
        return _objectives(problem, problem.exact[:, 1:]) - _objectives(problem, problem.reference)

    def control(self) -> Control:
        """(97b) with rho*_t in the place of rho_t."""
        return Control("the error adds nothing", lambda bound, problem: self._without(problem))

    def _without(self, problem: Run) -> Array:
        distance = jnp.sum((problem.exact - problem.reference) ** 2, axis=2)
        return problem.features.shape[1] * (distance[:, :-1] - distance[:, 1:])


class BestStep(AbstractRunClaim):
    """The best of the exact steps up to t satisfies, for every t <= T and every rho*,

        min_{1 <= k <= t} l(rho*_k) - l(rho*) <= (n+1) |rho*|_2²/t + (n+1) max_{k < t} E_k.

    The source has |rho*|_1² after an equality sign that should be an inequality.
    """

    title = "The best of the steps with errors"
    source = Source("li2025incontext", "(99)", note="proof of Lemma 3, with constants")
    steps = 64

    def predict(self, problem: Run) -> Array:
        """The bound for each t."""
        largest = jax.lax.cummax(contraction_errors(problem)[:, :-1], axis=1)
        return _exact_bound(problem) + problem.features.shape[1] * jnp.pad(largest, ((0, 0), (1, 0)))

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The least objective so far, above that of rho*."""
        return jax.lax.cummin(_objectives(problem, problem.exact), axis=1) - _objectives(problem, problem.reference)

    def control(self) -> Control:
        """The statement about exact steps."""
        exact = lambda bound, problem: jnp.broadcast_to(_exact_bound(problem), bound.shape)
        return Control("the errors add nothing", exact)


class ErrorOfAStep(AbstractRunClaim):
    """An error raises the objective by l(rho_t) - l(rho*_t) <= B_t."""

    title = "An error raises the objective in proportion"
    source = Source("li2025incontext", "(100)", note="proof of Lemma 3, with constants")

    def predict(self, problem: Run) -> Array:
        """B_t."""
        return objective_errors(problem)

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The rise."""
        return _objectives(problem, problem.path[:, 1:]) - _objectives(problem, problem.exact)

    def control(self) -> Control:
        """A stronger bound; the first error in the constant comes near it."""
        return Control("a third of the bound is enough", lambda bound, problem: bound / 3)


class RisesAddUp(AbstractRunClaim):
    """The objective after t steps is above that of any exact step k <= t before by at most the errors since:

        l(rho_t) <= l(rho*_k) + B_k + ... + B_t, so l(rho_t) <= min_k l(rho*_k) + t max_k B_k.

    These are t - k + 1 terms; the source counts t - k (in its index, t + 1 - k for rho_{t+1}).
    """

    title = "Errors add up, at most"
    source = Source("li2025incontext", "(101)", "(102)", note="proof of Lemma 3, with constants")

    def predict(self, problem: Run) -> Array:
        """The sum for every t and k, 0 where k > t."""
        total = jnp.pad(jnp.cumsum(objective_errors(problem), axis=1), ((0, 0), (1, 0)))
        return jnp.maximum(total[:, 1:, None] - total[:, None, :-1], 0.0)

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The difference for every t and k, 0 where k > t."""
        after, before = _objectives(problem, problem.path[:, 1:]), _objectives(problem, problem.exact)
        return jnp.tril(after[:, :, None] - before[:, None, :])

    def control(self) -> Control:
        """A stronger bound."""
        return Control("a third of the sum is enough", lambda bound, problem: bound / 3)


class InexactConvergence(AbstractRunClaim):
    """After t steps of 1/(2(n+1)) from 0 with errors, for every rho*,

        l(rho_t) <= l(rho*) + (n+1) |rho*|_2²/t + (n+1) max_{k < t} E_k + t max_{k <= t} B_k.

    This is the source's bound with C_F replaced by what its proof uses of it.
    """

    title = "Proximal gradient with errors"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="with constants")

    def predict(self, problem: Run) -> Array:
        """The bound for each t."""
        return _inexact_bound(problem)

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The objective above that of rho*."""
        return _objectives(problem, problem.path[:, 1:]) - _objectives(problem, problem.reference)

    def control(self) -> Control:
        """The statement about exact steps."""
        exact = lambda bound, problem: jnp.broadcast_to(_exact_bound(problem), bound.shape)
        return Control("the errors add nothing", exact)


def _objectives(run: Run, rho: Float[Array, "*t p"]) -> Float[Array, "*t"]:
    """l at any coefficients."""
    return lasso_objective(run.features, run.y, run.penalty, rho)


def _exact_bound(run: Run) -> Float[Array, " T"]:
    """(n+1) |rho*|_2²/t."""
    return run.features.shape[1] * jnp.sum(run.reference**2) / jnp.arange(1, run.iterations + 1)


def _inexact_bound(run: Run) -> Float[Array, "r T"]:
    """(n+1) |rho*|_2²/t + (n+1) max_{k < t} E_k + t max_{k <= t} B_k."""
    before = jnp.pad(jax.lax.cummax(contraction_errors(run)[:, :-1], axis=1), ((0, 0), (1, 0)))
    raised = jnp.arange(1, run.iterations + 1) * jax.lax.cummax(objective_errors(run), axis=1)
    return _exact_bound(run) + run.features.shape[1] * before + raised


class Examined(eqx.Module):
    """A run, and the least penalty at which its coefficients stay short.

    Args:
        run: proximal gradient with errors, compared with rho* of the function.
        least: 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf.
        cost: C_F.
    """

    run: Run
    least: Float[Array, ""]
    cost: Float[Array, ""]


class LengthOfIterates(Claim[Examined]):
    """At a penalty of at least 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf, for every t,

        |rho_t|_1 <= 4 |rho*|_1 + C_F + (4/lambda) ((n+1) |rho*|_2²/t + (n+1) max_{k < t} E_k + t max_{k <= t} B_k).

    rho* are the coefficients of the function.
    """

    title = "Iterates with errors stay short in l_1"
    source = Source("li2025incontext", "Lemma 3", "(42)", note="with the constants of (88)")
    relation = AtMost()
    controls = "the length of the coefficients along inexact proximal gradient"
    unexplained = "how short they are: iterates of small errors are no longer than rho*"
    problem = Examined
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """As for the objective, with larger errors."""
        n, examples = Integer(16, 2, 64, "features"), Integer(32, 4, 128, "examples")
        size = Real(1.0, 1e-12, 10.0, "|e_t|_1")
        return Space(n=n, N=examples, T=Integer(48, 2, 100, "steps"), family=FAMILY, size=size)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Examined:
        """A prompt with the least penalty that is allowed, and errors of length 1."""
        sizes = {"n": setting["n"], "examples": setting["N"], "iterations": setting["T"]}
        prompt, errors = prompt_with_errors(key, family=setting["family"], **sizes)
        reference = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
        misfit = jnp.mean((prompt.function(prompt.x) - prompt.prompt @ reference) ** 2)
        cost, features = barron_parameter(prompt.functions), prompt.prompt
        least = 4 * misfit / cost + 16 * jnp.abs(prompt.noise @ features / len(features)).max()
        run = run_of(features, prompt.y, least, reference, setting["size"] * errors)
        return Examined(run, least, cost)

    def hypotheses(self, problem: Examined) -> list[Hypothesis]:
        """Bounded features and a penalty that is large enough."""
        run, why = problem.run, "misfit and noise do not pay for long coefficients"
        return [bounded(run.features), Hypothesis("the penalty is large enough", run.penalty, ">=", problem.least, why)]

    def predict(self, problem: Examined) -> Array:
        """The bound for each t."""
        run = problem.run
        return 4 * jnp.abs(run.reference).sum() + problem.cost + 4 * _inexact_bound(run) / run.penalty

    def measure(self, problem: Examined, key: Key[Array, ""]) -> Array:
        """The lengths."""
        return jnp.abs(problem.run.path[:, 1:]).sum(axis=2)

    def control(self) -> Control:
        """What holds of the minimum of the Lasso."""

        def still(bound: Array, problem: Examined) -> Array:
            return jnp.full(bound.shape, 4 * jnp.abs(problem.run.reference).sum() + problem.cost)

        return Control("they are no longer than 4 |rho*|_1 + C_F", still)


class Robustness(Claim[Run]):
    """With errors of length epsilon in every step the objective after T steps changes by O(epsilon)."""

    title = "The effect of errors is linear in their size"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="the order in the size of the errors")
    relation = Rate("1/epsilon", _INVERSE_ERRORS, upper=True)
    label = "rate"
    controls = "the objective along inexact proximal gradient"
    unexplained = "the constant, and that it is far below T"
    problem = Run
    trials = 32
    batch = 32

    def settings(self) -> Space:
        """Sizes and the class."""
        n, examples = Integer(16, 2, 64, "features"), Integer(32, 4, 128, "examples")
        return Space(n=n, N=examples, T=Integer(24, 2, 100, "steps"), family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Run:
        """A prompt, and errors of length 1."""
        sizes = {"n": setting["n"], "examples": setting["N"], "iterations": setting["T"]}
        prompt, errors = prompt_with_errors(key, family=setting["family"], **sizes)
        return run_of(prompt.prompt, prompt.y, prompt.model.penalty, jnp.zeros(setting["n"] + 1), errors)

    def hypotheses(self, problem: Run) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded(problem.features)]

    def predict(self, problem: Run) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Run, key: Key[Array, ""]) -> Array:
        """The larger change by random errors and by errors that all point the same way."""
        sizes = jnp.asarray((0.0, *(1 / inverse for inverse in _INVERSE_ERRORS)))
        errors = (sizes[:, None, None, None] * problem.errors).reshape(-1, *problem.errors.shape[1:])
        run = run_of(problem.features, problem.y, problem.penalty, problem.reference, errors)
        found = _objectives(run, run.path[:, -1]).reshape(-1, 2)
        return jnp.abs(found[1:] - found[0]).max(axis=1)

    def control(self) -> Control:
        """What holds at the minimum of a smooth function."""
        return Control("the effect is quadratic", lambda exponent, problem: exponent - 1)
