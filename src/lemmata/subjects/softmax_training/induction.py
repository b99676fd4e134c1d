"""Descent on a softmax network stays near its initialisation and contracts the loss.

The network is F_l(x) = m <a_l, softmax(W' x)>, with m hidden units, trained weights W and fixed signs a_l. At the
symmetric initialisation, units come in pairs with equal weights and opposite signs, so F = 0. Training has n inputs and
k outputs with targets Y, and lambda is the smallest eigenvalue of the tangent kernel H at initialisation.

This theory is about training with steps eta = lambda / (10 m n² k² exp(16 B)), where B bounds the logits. Let D be the
largest displacement of a unit that the gradients allow. If units move by at most a radius R, H keeps at least half of
its smallest eigenvalue. As long as D is below R, every step contracts the loss. The hypothesis D < R can be met if the
standard deviation sigma of the weights is so small that B = 1, inputs are nearly orthogonal and targets are small. The
hypothesis then requires a width of about 8 exp(13) (n k)^(3/2) |Y| / lambda². The theory does not explain why training
also works with steps 10^8 times longer and widths 10^6 times smaller.

The tests reach states at time tau (after tau steps) by coarse descent, and then take steps of the theory's size. At
this size, one step lowers the loss by about 10^-9 of its value. The tests therefore compare relative decreases, which
are computed without cancellation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Source, Status
from lemmata.subjects.softmax_training._softmax_runs import RunsWithinRadius
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, loss_decrease

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_SETTING = "the constant that Omega hides is taken as 1, and the constant C > 10 in B as 10; nd is n k"
_STEPS = 8


def log_loss_ratio(training: Training, steps: int) -> Array:
    """Return log(|F(tau + steps) - Y|² / |F(tau) - Y|²): the sum of the logarithms over single steps of size eta.

    Args:
        training: the network at tau.
        steps: the number of steps of size eta that follow.
    """
    eta = training.step

    def one(moved: Array, _: None) -> tuple[Array, Array]:
        before = eqx.tree_at(lambda t: t.moved, training, moved)
        return before.after(eta).moved, jnp.log1p(-loss_decrease(before, eta))

    return jnp.sum(jax.lax.scan(one, training.moved, None, length=steps)[1])


def width_asked() -> Hypothesis:
    """Return the source's hypothesis on the width, marked as violated: tested widths are smaller than it requires."""
    name = "the width is above lambda^-2 n^2 k^2 exp(18 B) log^2(nk/delta)"
    return Hypothesis.violated(
        name, "the source requires a width above 10^8; if targets are small, D < R already holds at width 4096"
    )


def within_displacement(problem: Training) -> Hypothesis:
    """Return the condition that no unit has moved by more than D, as after earlier steps of the theory."""
    return Hypothesis(
        "no unit has moved by more than D since the initialisation",
        problem.farthest,
        "<=",
        problem.displacement,
        "Lemma C.2",
    )


class OneStepContracts(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1). Suppose that
    D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda) is below R = lambda / (2 n k exp(10 B)). Suppose also that after
    tau steps the weights of every unit are within D of the initialisation. Then one step of size eta = lambda / (10 m
    n² k² exp(16 B)) contracts the loss, with probability 1 - delta, so that

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 2) |F(tau) - Y|².

    The source also asks for m = Omega(lambda^-2 n² k² exp(18 B) log²(n k / delta)). The claim is tested for the
    relative decrease of the loss. To first order in eta, this decrease is 2 m eta lambda if the residual F - Y is along
    the eigenvector of the smallest eigenvalue.
    """

    title = "Every step of descent contracts a softmax network's loss"
    source = Source("gu2024softmax", "Lemma E.2")
    population = RunsWithinRadius()
    relation = AtLeast(delta=DELTA)
    control = Control(
        "the step contracts the loss by 1 - 2.1 m eta lambda",
        lambda decrease, problem: 4.2 * decrease,
        loose=(
            "the decrease is exactly four times the claimed one, so only claims of a more than 4 times larger "
            "decrease are refuted"
        ),
    )
    controls = "training with the step size of the theory"
    unexplained = "training with the longer steps and smaller widths that also work"
    reading = _SETTING
    expected = Status.OUTSIDE
    trivial = 0.0  # a short step down the gradient does not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [within_displacement(problem), width_asked()]

    def predict(self, problem: Training) -> Array:
        return problem.width * problem.step * problem.smallest / 2

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return loss_decrease(problem, problem.step)


class WeightsStayNear(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1) be the bound
    on its logits. Suppose that each step up to time tau contracts the loss by the factor 1 - m eta lambda / 2, where
    eta = lambda / (10 m n² k² exp(16 B)) is the step size. Suppose also that no unit moves by more than R = lambda / (2
    n k exp(10 B)) up to time tau. Then with probability 1 - delta every unit w_r satisfies

        |w_r(tau + 1) - w_r(0)| <= D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda).

    The claim is tested after training with larger steps and one more step of size eta. At this time the loss has almost
    vanished, and the units are farthest from their initialisation. The source sums the gradients of all steps, from tau
    = 0 to infinity.
    """

    title = "In training, the weights of a softmax network of width m stay within O(1/m) of their initialisation"
    source = Source("gu2024softmax", "Lemma C.2", "Lemma 5.3, weights induction")
    population = RunsWithinRadius(steps=64)
    relation = AtMost(delta=DELTA)
    control = Control(
        "every unit moves by at most |F(0) - Y| / (2 m)",
        lambda bound, problem: 0.5 * jnp.linalg.norm(problem.y) / problem.width,
        loose="4 exp(3 B) is above 80, and units move by less than |F(0) - Y| / m, so no control is close to the bound",
    )
    controls = "how far the weights move in training"
    unexplained = "the factor exp(3 B)"
    reading = "the constant C > 10 in B is taken as 10; nd is n k"
    trivial = "the distance that weights can move grows with the number of steps, which does not enter the bound"

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        before, now = jnp.linalg.norm(problem.y), jnp.linalg.norm(problem.residual)
        return [
            Hypothesis(
                "the norm of the residual F - Y is not above its norm at the initialisation",
                now,
                "<=",
                before,
                "loss property",
                1e-9,
            ),
            Hypothesis("no unit has moved by more than R", problem.farthest, "<=", problem.radius, "weights property"),
        ]

    def predict(self, problem: Training) -> Array:
        return problem.displacement

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The largest distance of a unit from its initial weights, after one more step."""
        return problem.after(problem.step).farthest


class AbstractLossInduction(Claim[Training]):
    """Base of claims on the logarithm of the loss after eight steps of size eta from the initialisation."""

    population = RunsWithinRadius(steps=0)
    relation = AtMost(delta=DELTA)
    controls = "training with the step size of the theory"
    unexplained = "training with the longer steps and smaller widths that also work"
    reading = _SETTING
    expected = Status.OUTSIDE
    of_data = False  # on a table, the examination would take too long
    trivial = 0.0  # short steps down the gradient do not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        start = Hypothesis(
            "the weights are those of the initialisation",
            problem.farthest,
            "<=",
            0.0,
            "the measurement itself takes all steps from the initialisation",
        )
        return [start, width_asked()]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return log_loss_ratio(problem, _STEPS)


class LossInduction(AbstractLossInduction):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1) be the bound
    on its logits. Suppose that no unit can move farther than D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda), and that
    D is below R = lambda / (2 n k exp(10 B)). Then, with probability 1 - delta, the loss after tau + 1 steps of size
    eta = lambda / (10 m n² k² exp(16 B)) satisfies

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 4)^(tau + 1) |F(0) - Y|².

    Lemma C.3 of the source assumes that each step up to time tau multiplies the loss by at most 1 - m eta lambda / 2.
    But the lemma concludes only the weaker factor 1 - m eta lambda / 4. So the conclusion as printed is weaker than the
    assumption that the next step needs. Claim `loss_induction_closed` has the factor 1 - m eta lambda / 2, which lets
    the induction continue. The test measures the logarithm of the loss after 8 steps, relative to the initial loss.
    """

    title = "As printed, the loss of a softmax network falls geometrically in the steps of gradient descent"
    source = Source("gu2024softmax", "Lemma C.3", "Lemma 5.3, loss induction")
    control = Control(
        "every step contracts the loss by 1 - 2.1 m eta lambda",
        lambda bound, problem: 8.4 * bound,
        loose=(
            "the decrease is exactly eight times the claimed one, so only claims of a more than 8 times larger "
            "decrease are refuted"
        ),
    )

    def predict(self, problem: Training) -> Array:
        return _STEPS * jnp.log1p(-problem.width * problem.step * problem.smallest / 4)


class LossInductionClosed(AbstractLossInduction):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1) be the bound
    on its logits. Suppose that no unit can move farther than D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda), and that
    D is below R = lambda / (2 n k exp(10 B)). Then, with probability 1 - delta, the loss after tau + 1 steps of size
    eta = lambda / (10 m n² k² exp(16 B)) satisfies

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 2)^(tau + 1) |F(0) - Y|².

    This bound follows if each single step contracts the loss by this factor (claim `one_step_contracts`). It is also
    the assumption that the next step needs, so an induction over the steps can continue. The test measures the
    logarithm of the loss after 8 steps, relative to the initial loss.
    """

    title = "The loss of a softmax network falls by a factor 1 - m eta lambda / 2 per step (width m, step size eta)"
    source = Source("gu2024softmax", "Lemma C.3", note="with the factor of the lemma's loss property")
    control = Control(
        "every step contracts the loss by 1 - 2.1 m eta lambda",
        lambda bound, problem: 4.2 * bound,
        loose=(
            "the decrease is exactly four times the claimed one, so only claims of a more than 4 times larger "
            "decrease are refuted"
        ),
    )

    def predict(self, problem: Training) -> Array:
        return _STEPS * jnp.log1p(-problem.width * problem.step * problem.smallest / 2)


class GradientStaysSmall(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1) be the bound
    on its logits. Descent takes steps of size eta = lambda / (10 m n² k² exp(16 B)) along the gradients Delta w_r of |F
    - Y|²/2. Suppose that D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda) is below R = lambda / (2 n k exp(10 B)).
    Suppose also that after tau steps the weights of every unit are within D of the initialisation. Then, with
    probability 1 - delta, the step from tau + 1 moves every unit by a distance that satisfies

        eta |Delta w_r(tau + 1)| <= 0.01.
    """

    title = "Near initialisation, every step of descent on a softmax network moves no unit's weights by more than 0.01"
    source = Source("gu2024softmax", "Lemma C.4", "Lemma 5.3, gradient induction")
    population = RunsWithinRadius()
    relation = AtMost(delta=DELTA)
    control = Control(
        "eta |Delta w_r| <= eta |F - Y| / 10",
        lambda bound, problem: 10 * bound * problem.step * jnp.linalg.norm(problem.residual),
        loose="eta is so small that steps are 10^15 times shorter than the bound, so no control is close to the bound",
    )
    controls = "the length of one step"
    unexplained = "the size of exp(16 B) in eta, which makes steps far shorter than the bound"
    reading = "the constant C > 10 in B is taken as 10; nd is n k"
    expected = Status.VACUOUS
    predict = 0.01

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [within_displacement(problem)]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The largest distance that a unit moves in the step from tau + 1."""
        after = problem.after(problem.step)
        return problem.step * jnp.linalg.norm(after.gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """The bound on a move that follows from |Delta w_r| <= 2 m sqrt(n k) |F - Y|, if the loss does not grow."""
        return problem.step * 2 * problem.width * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.y)
