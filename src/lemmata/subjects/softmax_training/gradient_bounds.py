"""How large the gradient of a softmax network is.

This theory controls the gradient of every unit, at initialisation and as long as no unit has moved by more than R: with
it, how far one step goes. It assumes inputs in the unit ball and the logit bound B; it leaves unexplained the factor
exp(3 B), which is a bound on the largest share and is the reason that the steps it allows are tiny.

The network is F_l(x) = m <a_l, softmax(W' x)> for outputs l = 1, ..., k, with hidden weights W of shape (d, m) and
signs a_l; it is trained on n inputs x_i with targets Y, of shape (n, k), by descent on |F - Y|²/2.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Source, Status
from lemmata.subjects.softmax_training._softmax_runs import PushedUnits
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, positive_eigenvalue

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "training"}

_CONSTANT = "the constant C > 10 of B is 10; nd, for equal dimensions of inputs and outputs, is n k"


class GradientBound(Claim[Training]):
    """A network F_l(x) = m <a_l, softmax(W' x)> with m hidden units w_r, drawn with standard deviation sigma, and k
    outputs with signs a_lr = ±1 learns targets Y, of shape (n, k), at n inputs with |x_i| <= 1. While every unit is
    within 0.01 of its initialisation, the gradient of |F - Y|²/2 by any unit is, with probability 1 - delta,

        |Delta w_r| <= exp(3 B) sqrt(n k) |F - Y|_F,        B = max(10 sigma sqrt(log(n k / delta)), 1).

    Trivially, shares S_ir = softmax(W' x_i)_r of at most 1 give 2 m in place of exp(3 B). For close inputs and equal
    targets the factor in place of exp(3 B) is near m max S_ir.
    """

    title = "Every unit's gradient is small"
    source = Source("gu2024softmax", "Lemma D.1")
    population = PushedUnits()
    relation = AtMost(delta=DELTA)
    control = Control(
        "without exp(3 B)",
        lambda bound, problem: bound / jnp.exp(3 * problem.bound),
        loose="exp(3 B) bounds m times the largest share, which is 10^6 smaller: no near control",
    )
    controls = "the gradient of every unit"
    unexplained = "the size of B: the largest share is far below exp(2 B + 2 R) / m"
    reading = _CONSTANT
    expected = Status.VACUOUS

    def predict(self, problem: Training) -> Array:
        return jnp.exp(3 * problem.bound) * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.residual)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        gradient = problem.network.gradient({"weight": problem.weight, "sign": problem.sign}, problem.x, problem.y)
        return jnp.linalg.norm(gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        return 2 * problem.width * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.residual)


class StepBound(Claim[Training]):
    """A network F_l(x) = m <a_l, softmax(W' x)> with m hidden units w_r, drawn with standard deviation sigma, and k
    outputs learns targets Y, of shape (n, k), at n inputs with |x_i| <= 1, by descent with gradients Delta w_r of
    |F - Y|²/2. If the tangent kernel H at initialisation has a smallest eigenvalue lambda > 0, and no unit has moved by
    0.01, then the step eta = lambda / (10 m n² k² exp(16 B)) moves no unit, with probability 1 - delta, by more than

        eta |Delta w_r| <= 0.01,        B = max(10 sigma sqrt(log(n k / delta)), 1).

    By Lemma D.1 eta |Delta w_r| is even at most lambda |F - Y| / (10 m (n k)^(3/2) exp(13 B)).
    """

    title = "One step moves no unit by more than a hundredth"
    source = Source("gu2024softmax", "Lemma D.2")
    population = PushedUnits()
    relation = AtMost(delta=DELTA)
    control = Control(
        "eta |Delta w_r| <= eta |F - Y| / 10",
        lambda bound, problem: 10 * bound * problem.step * jnp.linalg.norm(problem.residual),
        loose="eta is so small that steps are 10^37 times shorter: no near control",
    )
    controls = "the length of one step"
    unexplained = "the size of B, which makes steps far shorter than the bound"
    reading = _CONSTANT
    expected = Status.VACUOUS
    predict = 0.01

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [positive_eigenvalue(problem, "a step of length 0 moves nothing")]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return problem.step * jnp.linalg.norm(problem.gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """From |Delta w_r| <= 2 m sqrt(n k) |F - Y|."""
        residual = jnp.linalg.norm(problem.residual)
        return problem.step * 2 * problem.width * jnp.sqrt(1.0 * problem.size) * residual


class InitialLoss(Claim[Training]):
    """A network F_l(x) = m <a_l, softmax(W' x)> with hidden units that are equal in pairs and signs a_lr = ±1 that are
    opposite in pairs has F = 0 at initialisation. For targets Y, of shape (n, k), with rows |y_i| <= 1 that gives

        |F - Y|_F <= sqrt(n k).

    The proof gives sqrt(n), which is attained on the sphere.
    """

    title = "The first residual is at most the root of the number of targets"
    source = Source("gu2024softmax", "Lemma D.3")
    population = PushedUnits()
    relation = AtMost()
    control = Control("at most 0.99 sqrt(n)", lambda bound, problem: 0.99 * bound / jnp.sqrt(1.0 * problem.y.shape[1]))
    controls = "the loss of the network before training"
    unexplained = "nothing"
    reading = "the constant that O(.) hides is 1"

    def predict(self, problem: Training) -> Array:
        return jnp.sqrt(1.0 * problem.size)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        outputs = problem.network.predict({"weight": problem.start, "sign": problem.sign}, problem.x)
        return jnp.linalg.norm(outputs - problem.y)

    def trivial(self, problem: Training) -> Array:
        """Every output of such a network is between -m and m."""
        return problem.width * jnp.sqrt(1.0 * problem.size) + jnp.sqrt(1.0 * len(problem.y))
