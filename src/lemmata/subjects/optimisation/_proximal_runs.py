"""Random problems for proximal gradient on the examples of a prompt: thresholding, single steps, and inexact runs.

A prompt consists of the examples (x_i, y_i) that a transformer receives, and of random features of the inputs. Proximal
gradient lowers the Lasso objective mean (y - Phi rho)² + lambda |rho|_1.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.prompts import FAMILY, Prompt, bounded, sampled_prompt
from lemmata.functions import barron_parameter, representing_coefficients
from lemmata.solvers import accelerated_proximal_gradient, proximal_gradient, soft_threshold


class Point(eqx.Module):
    """A vector z and the level of its soft thresholding."""

    z: Float[Array, " p"]
    level: Float[Array, ""]


class Step(eqx.Module):
    """One step of proximal gradient from any point.

    Args:
        features: the matrix Phi of features at the N examples.
        y: the targets of the examples.
        penalty: the penalty lambda on the l_1 norm.
        start: the coefficients rho_t before the step.
        reference: the coefficients rho* for comparison.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    start: Float[Array, " p"]
    reference: Float[Array, " p"]

    @property
    def number(self) -> int:
        """The number n = p - 1 of features without the constant."""
        return self.features.shape[1] - 1

    def exact(self, step: float) -> Float[Array, " p"]:
        """Return ST_{step lambda}(rho_t + (2 step/N) Phi^T (y - Phi rho_t)), where ST_a is soft thresholding at a."""
        residual = self.y - self.features @ self.start
        return soft_threshold(self.start + 2 * step / len(self.y) * (residual @ self.features), step * self.penalty)


class Run(eqx.Module):
    """r runs of proximal gradient from 0 with step 1/(2(n+1)) and n + 1 features. An error is added after each step.

    Args:
        features: the matrix Phi of features at the N examples.
        y: the targets of the examples.
        penalty: the penalty lambda on the l_1 norm.
        reference: the coefficients rho* for comparison.
        errors: the errors e_1, ..., e_T of each run.
        path: the iterates rho_0, ..., rho_T of each run.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    reference: Float[Array, " p"]
    errors: Float[Array, "r T p"]
    path: Float[Array, "r T1 p"]

    @property
    def number(self) -> int:
        """The number n = p - 1 of features without the constant."""
        return self.features.shape[1] - 1

    @property
    def iterations(self) -> int:
        """The number T of steps."""
        return self.errors.shape[1]

    @property
    def exact(self) -> Float[Array, "r T p"]:
        """The iterates rho*_1, ..., rho*_T before their errors are added."""
        return self.path[:, 1:] - self.errors


def saturated(prompt: Prompt) -> Prompt:
    """Return the prompt with all thresholds in [-2, -1 - 1/(2 tau)], where tau is the sharpness of the features.

    Each feature is then 1 on the whole unit ball.

    Args:
        prompt: any prompt.
    """
    features = prompt.model.features
    width = 1 - 1 / (2 * features.sharpness)
    moved = dataclasses.replace(features, thresholds=-2 + width * (features.thresholds + 2) / 3)
    return dataclasses.replace(prompt, model=dataclasses.replace(prompt.model, features=moved))


def sampled_step(
    key: Key[Array, ""], *, family: str, n: int, examples: int, saturate: bool = True, ratio: float = 0.95
) -> Step:
    """Draw a step that starts near rho*, the coefficients that represent a function of the class by the features.

    The start is rho* with a constant added to all entries. If all features are 1, the mean residual at rho* is `ratio`
    times the mean residual at the start. The penalty is a hundredth of the absolute mean residual at rho*.

    Args:
        key: the source of randomness.
        family: the name of the class of functions.
        n: the number of features.
        examples: the number of examples N.
        saturate: whether thresholds are moved until all features are 1.
        ratio: the ratio of the mean residuals at rho* and at the start.
    """
    prompt = sampled_prompt(key, family=family, n=n, examples=examples)
    prompt = saturated(prompt) if saturate else prompt
    reference = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
    mean = jnp.mean(prompt.y - prompt.prompt @ reference)
    start = reference - (1 / ratio - 1) * mean / (n + 1)
    return Step(prompt.prompt, prompt.y, jnp.abs(mean) / 100, start, reference)


def run_of(
    features: Float[Array, "N p"],
    y: Float[Array, " N"],
    penalty: Float[Array, ""] | float,
    reference: Float[Array, " p"],
    errors: Float[Array, "r T p"],
) -> Run:
    """Return the runs of proximal gradient from 0 with the given errors.

    Args:
        features: the matrix Phi of features at the N examples.
        y: the targets of the examples.
        penalty: the penalty lambda on the l_1 norm.
        reference: the coefficients rho* for comparison.
        errors: the errors e_1, ..., e_T of each run.
    """
    step, iterations = 1 / (2 * features.shape[1]), errors.shape[1]
    path = jax.vmap(lambda e: proximal_gradient(features, y, penalty, step, iterations, e))(errors)
    return Run(features, y, jnp.asarray(penalty, float), reference, errors, path)


def prompt_with_errors(
    key: Key[Array, ""], *, family: str, n: int, examples: int, iterations: int
) -> tuple[Prompt, Float[Array, "r T p"]]:
    """Draw a prompt, and errors of l_1 norm 1 for two runs.

    The errors of the first run are random. The errors of the second run raise the coefficient of the constant.

    Args:
        key: the source of randomness.
        family: the name of the class of functions.
        n: the number of features.
        examples: the number of examples N.
        iterations: the number of steps T.
    """
    queries = (iterations * (n + 1) + 1) // 2
    prompt = sampled_prompt(key, family=family, n=n, examples=examples, queries=queries, layers=2 * iterations + 1)
    random = prompt.queries.ravel()[: iterations * (n + 1)].reshape(iterations, n + 1)
    random = random / jnp.abs(random).sum(axis=1, keepdims=True)
    return prompt, jnp.stack([random, jnp.zeros_like(random).at[:, -1].set(1.0)])


class NormalPoints(Population[Point]):
    """Standard normal vectors. The level is half the absolute value of a standard normal number."""

    settings = Space(p=Integer(16, 1, 1000, "entries"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Point:
        normal = jax.random.normal(key, (setting["p"] + 1,))
        return Point(normal[1:], jnp.abs(normal[0]) / 2)

    def hypotheses(self, problem: Point) -> list[Hypothesis]:
        return [Hypothesis("the level is not negative", problem.level, ">=", 0.0, "then the objective is convex")]


class SaturatedSteps(Population[Step]):
    """Steps from points near rho*. All features are 1, which gives the objective the largest curvature."""

    free = ("start",)
    settings = Space(n=Integer(8, 2, 64, "features"), N=Integer(16, 4, 128, "examples"), family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Step:
        """Draw features whose thresholds are all so low that the features are 1 on the unit ball."""
        return sampled_step(key, family=setting["family"], n=setting["n"], examples=setting["N"])

    def hypotheses(self, problem: Step) -> list[Hypothesis]:
        return [bounded(problem.features)]


def _run_space(steps: int, size: float) -> Space:
    sizes = {"n": Integer(16, 2, 64, "features"), "N": Integer(32, 4, 128, "examples")}
    of_errors = Real(size, 1e-12, 10.0, "|e_t|_1")
    return Space(**sizes, T=Integer(steps, 2, 100, "steps"), family=FAMILY, size=of_errors)


class InexactRuns(Population[Run]):
    """Runs with random errors, and runs whose errors all have the same direction. Here rho* is the Lasso minimiser.

    Attributes:
        steps: the number of steps T.
        size: the size |e_t|_1 of the errors.
    """

    steps: int = 12
    size: float = 0.5

    def settings(self) -> Space:
        return _run_space(self.steps, self.size)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Run:
        """Draw a prompt and errors of the set size, and find the minimiser by 300 accelerated steps."""
        sizes = {"n": setting["n"], "examples": setting["N"], "iterations": setting["T"]}
        prompt, errors = prompt_with_errors(key, family=setting["family"], **sizes)
        features, penalty = prompt.prompt, prompt.model.penalty
        best = accelerated_proximal_gradient(features, prompt.y, penalty, 1 / (2 * features.shape[1]), 300)[-1]
        return run_of(features, prompt.y, penalty, best, setting["size"] * errors)

    def hypotheses(self, problem: Run) -> list[Hypothesis]:
        start = jnp.abs(problem.path[:, 0]).max()
        return [bounded(problem.features), Hypothesis("the run starts at 0", start, "==", 0.0, "rho_0 = 0")]


class Penalised(eqx.Module):
    """A run, and the least penalty at which the l_1 norm of its coefficients stays small.

    Args:
        run: proximal gradient with errors. Its rho* are coefficients that approximate the function f.
        least: the penalty 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf, with the features phi and the noise z.
        cost: the Barron parameter C_F of the class.
    """

    run: Run
    least: Float[Array, ""]
    cost: Float[Array, ""]


class PenalisedRuns(Population[Penalised]):
    """Runs with errors at the least penalty of `Penalised`. Here rho* approximates the function."""

    # The settings are n, N, T, the class of functions, and the size of the errors.
    settings = _run_space(48, 1.0)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Penalised:
        """Draw a prompt, its least penalty, and errors of the set size."""
        sizes = {"n": setting["n"], "examples": setting["N"], "iterations": setting["T"]}
        prompt, errors = prompt_with_errors(key, family=setting["family"], **sizes)
        reference = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
        misfit = jnp.mean((prompt.function(prompt.x) - prompt.prompt @ reference) ** 2)
        cost, features = barron_parameter(prompt.functions), prompt.prompt
        least = 4 * misfit / cost + 16 * jnp.abs(prompt.noise @ features / len(features)).max()
        run = run_of(features, prompt.y, least, reference, setting["size"] * errors)
        return Penalised(run, least, cost)

    def hypotheses(self, problem: Penalised) -> list[Hypothesis]:
        run, why = problem.run, "otherwise misfit and noise may reward long coefficients"
        return [bounded(run.features), Hypothesis("the penalty is large enough", run.penalty, ">=", problem.least, why)]
