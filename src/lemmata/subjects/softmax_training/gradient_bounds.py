"""Bounds on the gradient of a softmax network.

The network is F_l(x) = m <a_l, softmax(W' x)> for outputs l = 1, ..., k, with hidden weights W of shape (d, m) and
signs a_l. It is trained on n inputs x_i with targets Y, of shape (n, k), by descent on |F - Y|²/2.

This theory bounds the gradient with respect to every unit's weights, at initialisation and as long as no unit has moved
by more than R. The gradient says how far one step goes. The theory assumes inputs in the unit ball and the bound B on
logits. It does not explain the factor exp(3 B). This factor bounds m times the largest share, where shares are the
entries of the softmax. Because of this factor, the steps that the theory allows are tiny.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Source, Status
from lemmata.subjects.softmax_training._softmax_runs import PushedUnits
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, positive_eigenvalue

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "training"}

_CONSTANT = (
    "the constant C > 10 in B is taken as 10; nd is read as n k for k outputs, since the source has as many outputs as "
    "input dimensions"
)


class GradientBound(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network. Here m is the number of
    hidden units, the columns w_r of W are their weights, and each a_l is a vector of m signs ±1. Draw the weights with
    standard deviation sigma, and let the network learn targets Y, of shape (n, k), at n inputs with |x_i| <= 1. Let
    delta be the failure probability. Suppose that every unit is within 0.01 of its initialisation. With probability 1 -
    delta, the gradient Delta w_r of |F - Y|²/2 with respect to every unit then satisfies

        |Delta w_r| <= exp(3 B) sqrt(n k) |F - Y|_F,        where B = max(10 sigma sqrt(log(n k / delta)), 1).

    For comparison, the shares S_ir = softmax(W' x_i)_r are at most 1, which gives the trivial factor 2 m in place of
    exp(3 B). If the inputs are close and the targets equal, a factor near m max S_ir in place of exp(3 B) is necessary
    and sufficient.
    """

    title = "With logits up to B, a softmax unit's gradient is at most exp(3B) sqrt(n k) times the network's residual"
    source = Source("gu2024softmax", "Lemma D.1")
    population = PushedUnits()
    relation = AtMost(delta=DELTA)
    control = Control(
        "the gradient is at most sqrt(n k) |F - Y|, without exp(3 B)",
        lambda bound, problem: bound / jnp.exp(3 * problem.bound),
        loose="exp(3 B) bounds m times the largest share, which is 10^6 times smaller, so no control is close to "
        "the bound",
    )
    controls = "the gradient of every unit"
    unexplained = "the size of B, because the largest share is far below exp(2 B + 2 R) / m"
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
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network. Here m is the number of
    hidden units, the columns w_r of W are their weights, and each a_l is a vector of m signs ±1. Draw the weights with
    standard deviation sigma, and let the network learn targets Y, of shape (n, k), at n inputs with |x_i| <= 1. Let
    delta be the failure probability. Descent follows the gradients Delta w_r of |F - Y|²/2. Let lambda > 0 be the
    smallest eigenvalue of the network's tangent kernel H at initialisation. Suppose that every unit has moved by less
    than 0.01 since initialisation. With probability 1 - delta, the step eta = lambda / (10 m n² k² exp(16 B)) then
    moves every unit by a distance that satisfies

        eta |Delta w_r| <= 0.01,        where B = max(10 sigma sqrt(log(n k / delta)), 1).

    Lemma D.1 of the source gives an even smaller bound: eta |Delta w_r| is at most lambda |F - Y| / (10 m (n k)^(3/2)
    exp(13 B)).
    """

    title = "One step of descent on a softmax network moves no unit's weights by more than 0.01"
    source = Source("gu2024softmax", "Lemma D.2")
    population = PushedUnits()
    relation = AtMost(delta=DELTA)
    control = Control(
        "eta |Delta w_r| <= eta |F - Y| / 10",
        lambda bound, problem: 10 * bound * problem.step * jnp.linalg.norm(problem.residual),
        loose="eta is so small that steps are 10^37 times shorter, so no control is close to the bound",
    )
    controls = "the length of one step"
    unexplained = "the size of B, which makes steps far shorter than the bound"
    reading = _CONSTANT
    expected = Status.VACUOUS
    predict = 0.01

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [positive_eigenvalue(problem, "a step of length 0 does not move any unit")]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return problem.step * jnp.linalg.norm(problem.gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """Return eta times the bound |Delta w_r| <= 2 m sqrt(n k) |F - Y|."""
        residual = jnp.linalg.norm(problem.residual)
        return problem.step * 2 * problem.width * jnp.sqrt(1.0 * problem.size) * residual


class InitialLoss(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)> be a softmax network with k outputs whose hidden units are equal in pairs,
    with signs a_lr = ±1 that are opposite in each pair. Then F = 0 at initialisation. Let Y, of shape (n, k), be
    targets with rows |y_i| <= 1. The residual at initialisation is

        |F - Y|_F <= sqrt(n k).

    Since F = 0, this norm is even at most sqrt(n), which is attained if every |y_i| = 1.
    """

    title = "The residual of a softmax network on n rows with k outputs is at most sqrt(n k) at initialisation"
    source = Source("gu2024softmax", "Lemma D.3")
    population = PushedUnits()
    relation = AtMost()
    control = Control(
        "the residual is at most 0.99 sqrt(n)", lambda bound, problem: 0.99 * bound / jnp.sqrt(1.0 * problem.y.shape[1])
    )
    controls = "the loss of the network before training"
    unexplained = "nothing"
    reading = "the constant that O(.) hides is 1"

    def predict(self, problem: Training) -> Array:
        return jnp.sqrt(1.0 * problem.size)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        outputs = problem.network.predict({"weight": problem.start, "sign": problem.sign}, problem.x)
        return jnp.linalg.norm(outputs - problem.y)

    def trivial(self, problem: Training) -> Array:
        """The bound if every output is between -m and m, as for any such network."""
        return problem.width * jnp.sqrt(1.0 * problem.size) + jnp.sqrt(1.0 * len(problem.y))
