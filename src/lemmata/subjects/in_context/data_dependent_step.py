"""A step size that depends on the curvature of the prompt, and the number of layers that this step size saves.

The theory covers proximal gradient on the Lasso with the step size 1/lambda_max(H), H = (2/N) Phi^T Phi, where Phi are
the features of the N examples of a prompt. The source uses the step size 1/(2 (n+1)) for n + 1 features. In directions
in which the objective is flat, each step of size 1/lambda_max(H) is worth gamma = 2 (n+1)/lambda_max(H) steps of the
source. The theory assumes that the largest eigenvalue of the prompt's H is known. The weights of the construction do
not compute this eigenvalue from the prompt: the step size is one of the transformer's parameters. The theory leaves
open how to find the eigenvalue, except for a bound from the trace.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, EqualInMean, Kind, Source
from lemmata.engine.problems.prompts import Prompt, Prompts
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient

from .accelerated_transformer import steps_to

ABOUT = {"tool": "convex optimisation", "architecture": "transformer in context", "object": "cost"}

_SOURCE = Source("li2025incontext", "Lemma 3", "(41)", note="with the step 1/lambda_max(H), which is not in the source")
_GAIN, _FINDING = "the number of steps that a longer step saves", "how a transformer finds the largest eigenvalue"
_TIMES = (32, 64)
_COMPARED, _LONG = 128, 1024


def curvatures(features: Float[Array, "N p"]) -> Float[Array, " p"]:
    """Return the eigenvalues of H = (2/N) Phi^T Phi, the largest last.

    Args:
        features: the features Phi, one row per example.
    """
    return jnp.linalg.eigvalsh(2 * features.T @ features / len(features))


def gain(features: Float[Array, "N p"]) -> Float[Array, ""]:
    """Return gamma = 2 p/lambda_max(H), the step size 1/lambda_max(H) divided by the step size 1/(2 p).

    Args:
        features: the features Phi, one row of p numbers per example.
    """
    return 2 * features.shape[1] / curvatures(features)[-1]


class GainIsAtMost(Claim[Prompt]):
    """Let Phi have N rows of p features phi_ij in [0, 1], of which one is constant. Let H = (2/N) Phi^T Phi, and let
    lambda_max(H) be its largest eigenvalue. The step 1/lambda_max(H) is longer than 1/(2 p) by the factor gamma = 2
    p/lambda_max(H), and

        gamma <= 1/mean over i of (mean over j of phi_ij)² <= p.

    The first bound follows from lambda_max(H) >= u^T H u, where u is the unit vector of equal entries. The features of
    the source are ramps, whose thresholds are drawn uniformly from [-2, 1]. Such features have the mean 2/3, so gamma
    is at most about 9/4.
    """

    title = "Mean features bound the ratio of step 1/lambda_max (Hessian) to step 1/(2 p) from above, for p features"
    source = _SOURCE
    stated = Kind.OWN
    population = Prompts(N=64)
    relation = AtMost()
    control = Control("three quarters of this bound are enough", lambda bound, problem: 0.75 * bound)
    controls = _GAIN
    unexplained = _FINDING

    def predict(self, problem: Prompt) -> Array:
        return 1 / jnp.mean(jnp.mean(problem.prompt, axis=1) ** 2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return gain(problem.prompt)

    def trivial(self, problem: Prompt) -> Array:
        """Return p, because the constant feature alone gives lambda_max(H) >= 2."""
        return jnp.asarray(1.0 * problem.prompt.shape[1])


class GainIsAtLeast(Claim[Prompt]):
    """Let Phi have N rows of p features phi_ij bounded by 1. Let H = (2/N) Phi^T Phi, and let lambda_max(H) be its
    largest eigenvalue. The step 1/lambda_max(H) is longer than the step 1/(2 p) by the factor

        gamma = 2 p/lambda_max(H) >= 2 p/trace(H) = 1/mean of phi_ij²,

    where the mean is over all entries. The step 1/trace(H) can be computed from one mean over the prompt. This step is
    safe, because it is at most 1/lambda_max(H). It is longer than 1/(2 p) by a factor that equals the lower bound.
    """

    title = "The Hessian's trace bounds the ratio of step 1/lambda_max to step 1/(2 p) from below, for p features"
    source = _SOURCE
    stated = Kind.OWN
    population = Prompts(N=64)
    relation = AtLeast()
    control = Control("the gain is at least 5/4 of this bound", lambda bound, problem: 1.25 * bound)
    controls = _GAIN
    unexplained = _FINDING
    trivial = 1.0  # features are at most 1

    def predict(self, problem: Prompt) -> Array:
        return 1 / jnp.mean(problem.prompt**2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return gain(problem.prompt)


class StepsAlongEigenvectors(Claim[Prompt]):
    """Let Phi have N rows of p features bounded by 1. Let H = (2/N) Phi^T Phi be the Hessian of the mean squared
    residual, and let lambda_max(H) be its largest eigenvalue. Let gamma = 2 p/lambda_max(H). Take an eigenvector of H
    with the eigenvalue m, where 0 < m < lambda_max(H). Along this eigenvector, a gradient step of 1/(2 p) multiplies
    the distance to the minimum by 1 - m/(2 p). A gradient step of 1/lambda_max(H) multiplies it by 1 - m/lambda_max(H).
    So one step of 1/lambda_max(H) is worth

        log(1 - m/lambda_max(H)) / log(1 - m/(2 p)) >= gamma

    steps of 1/(2 p), because -log(1 - x)/x grows with x. In flat directions, in the limit m -> 0, one step of
    1/lambda_max(H) is worth gamma steps of 1/(2 p).
    """

    title = "Along a Hessian eigenvector, one step of 1/lambda_max is worth at least 2 p/lambda_max steps of 1/(2 p)"
    source = _SOURCE
    stated = Kind.OWN
    population = Prompts(N=64)
    relation = AtLeast()
    control = Control("a step is worth at least 21/20 of this bound", lambda bound, problem: 1.05 * bound)
    controls = _GAIN
    unexplained = _FINDING

    def predict(self, problem: Prompt) -> Array:
        return jnp.full(problem.prompt.shape[1] - 1, gain(problem.prompt))

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return how many steps of 1/(2 p) one step of 1/lambda_max(H) is worth, at each eigenvalue but the largest.

        Rounding hides eigenvalues below 1e-9 of the largest, so they are replaced by 1e-9 of the largest.
        """
        values, size = curvatures(problem.prompt), 2 * problem.prompt.shape[1]
        values, largest = jnp.maximum(values[:-1], 1e-9 * values[-1]), values[-1]
        return jnp.log1p(-values / largest) / jnp.log1p(-values / size)

    def trivial(self, problem: Prompt) -> Array:
        """Return 1, because a longer step is worth at least one shorter step."""
        return jnp.ones(problem.prompt.shape[1] - 1)


class ObjectiveOfTheStep(Claim[Prompt]):
    """Let Phi hold the features of N examples, let y be their targets, and let lambda be the penalty. Let l(rho) = mean
    (y - Phi rho)² + lambda |rho|_1 be the Lasso objective. Let H = (2/N) Phi^T Phi, and let lambda_max(H) be its
    largest eigenvalue. Take T proximal gradient steps of 1/lambda_max(H) from 0, and let rho_T be the result. Then, for
    every rho,

        l(rho_T) - l(rho) <= lambda_max(H) |rho|_2² / (2 T).

    Lemma 3 of the source states this bound with the number n + 1 of features in place of lambda_max(H)/2. The test uses
    T = 32 and 64, and takes the minimiser of l for rho. For smaller T, the bound is above the excess of the objective
    at the start.
    """

    title = "After T proximal gradient steps of 1/lambda_max, the Lasso objective is O(lambda_max/T) above its minimum"
    source = _SOURCE
    stated = Kind.OWN
    population = Prompts(N=64)
    relation = AtMost()
    control = Control(
        "a quarter of this bound is enough",
        lambda bound, problem: bound / 4,
        loose=(
            "the bound is too large by a factor of at least 6, because it allows for a minimum along the flattest "
            "directions"
        ),
    )
    controls = "the objective after T steps"
    unexplained = _FINDING

    def predict(self, problem: Prompt) -> Array:
        end = self._end(problem)
        return curvatures(problem.prompt)[-1] * jnp.sum(end**2) / (2 * jnp.asarray(_TIMES))

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        path = proximal_gradient(
            problem.prompt, problem.y, problem.model.penalty, 1 / curvatures(problem.prompt)[-1], _TIMES[-1]
        )
        return self._objective(problem, path[jnp.asarray(_TIMES)]) - self._objective(problem, self._end(problem))

    def trivial(self, problem: Prompt) -> Array:
        """Return by how much the objective at coefficients 0 exceeds its least value."""
        start = self._objective(problem, jnp.zeros(problem.prompt.shape[1]))
        return jnp.full(len(_TIMES), start - self._objective(problem, self._end(problem)))

    def _end(self, problem: Prompt) -> Array:
        step = 1 / curvatures(problem.prompt)[-1]
        return accelerated_proximal_gradient(problem.prompt, problem.y, problem.model.penalty, step, _LONG)[-1]

    def _objective(self, problem: Prompt, rho: Array) -> Array:
        return lasso_objective(problem.prompt, problem.y, problem.model.penalty, rho)


class StepsSavedByTheCurvature(Claim[Prompt]):
    """Let l be the Lasso objective of a prompt with p features bounded by 1, and let Phi be these features at its N
    examples. Let H = (2/N) Phi^T Phi, and let lambda_max(H) be its largest eigenvalue. Start proximal gradient at 0.
    Late steps matter only in directions in which l is flat. So after many steps, compare the number of steps of 1/(2 p)
    with the number of steps of 1/lambda_max(H) that reach the same objective. The number of steps of 1/(2 p) is larger
    by the factor

        gamma = 2 p/lambda_max(H).

    The test takes the objective after 128 steps of 1/(2 p), and finds by interpolation how many steps of
    1/lambda_max(H) reach this objective. With momentum, the factor would be at most sqrt(gamma).
    """

    title = "For p features, the Lasso needs 2 p/lambda_max times as many steps of 1/(2 p) as steps of 1/lambda_max"
    source = _SOURCE
    stated = Kind.OWN
    population = Prompts(N=64)
    relation = EqualInMean(over="problems", margin=0.02, resolution=0.02)
    control = Control("the factor is only sqrt(gamma)", lambda found, problem: jnp.sqrt(found))
    controls = _GAIN
    unexplained = _FINDING
    trials = 128

    def predict(self, problem: Prompt) -> Array:
        return gain(problem.prompt)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        penalty, fastest = problem.model.penalty, 1 / curvatures(problem.prompt)[-1]
        best = accelerated_proximal_gradient(problem.prompt, problem.y, penalty, fastest, 4 * _LONG)[-1]
        steps = jnp.stack([1 / (2 * problem.prompt.shape[1]) * jnp.ones(()), fastest])
        paths = [proximal_gradient(problem.prompt, problem.y, penalty, step, _COMPARED) for step in steps]
        slow, fast, least = (lasso_objective(problem.prompt, problem.y, penalty, path) for path in (*paths, best))
        return _COMPARED / steps_to(fast - least, slow[-1] - least)
