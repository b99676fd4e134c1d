"""Descent on a softmax network stays near its initialisation and contracts the loss.

This theory controls training at the step eta = lambda / (10 m n² k² exp(16 B)): as long as the displacement D that the
gradients allow is below the radius R in which the tangent kernel keeps half of its smallest eigenvalue, every step
contracts the loss. D < R is a hypothesis that can be met: with sigma so small that B = 1, nearly orthogonal inputs
and small targets it asks for a width of about 8 exp(13) (n k)^(3/2) |Y| / lambda². It leaves unexplained why training
works at steps 10^8 times longer and widths 10^6 times smaller.

States at time tau are reached by coarse descent, and the steps that are judged have the size of the theory. Losses
fall by a part in 10^9 a step, so relative decreases are compared, which are computed without cancellation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Integer, Real, Source, Space
from lemmata.problems._sampled import draws
from lemmata.problems._softmax_parameters import required_width
from lemmata.problems._softmax_training import (
    DELTA,
    Training,
    coarse_step,
    floor,
    initialise,
    loss_decrease,
    pose_training,
    small_eigenvalue_cause,
    sphere_points,
)

_STEPS = 8


def log_loss_ratio(training: Training, steps: int) -> Array:
    """log(|F(tau + steps) - Y|² / |F(tau) - Y|²) after steps of size eta, a sum of logarithms of single steps.

    Args:
        training: the network at tau.
        steps: how many.
    """
    eta = training.step

    def one(moved: Array, _: None) -> tuple[Array, Array]:
        before = eqx.tree_at(lambda t: t.moved, training, moved)
        return before.after(eta).moved, jnp.log1p(-loss_decrease(before, eta))

    return jnp.sum(jax.lax.scan(one, training.moved, None, length=steps)[1])


class AbstractInductionClaim(Claim[Training]):
    """What the claims of this section share: networks that are wide enough for D < R, at random times of training."""

    controls = "training at the step of the theory"
    unexplained = "training at the longer steps and smaller widths that work"
    problem = Training
    trials = 128
    batch = 32

    def settings(self) -> Space:
        """Sizes such that D < R holds: sigma so small that B = 1, small targets."""
        return Space(
            n=Integer(2, 1, 8, "points"),
            d=Integer(16, 1, 64, "columns"),
            k=Integer(1, 1, 4, "outputs"),
            pairs=Integer(2048, 1, 2**17, "pairs of units"),
            sigma=Real(0.05, 0.001, 0.1, "standard deviation of the weights"),
            target=Real(1e-5, 1e-9, 1.0, "norm of the targets, all together"),
            steps=Integer(8, 0, 1000, "steps of coarse descent that went before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Unit inputs; targets along the smallest eigenvector of the limit of H; time 0 in a sixth of the trials."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, time = draws(key, (d + k, setting["pairs"]), (n, d), (1, k), ())
        x = sphere_points(inputs)
        limit = x @ x.T * jnp.exp(setting["sigma"] ** 2 * x @ x.T)
        y = setting["target"] * jnp.linalg.eigh(limit)[1][:, :1] * sphere_points(outputs)
        first = initialise(weights, x, y, setting["sigma"])
        return first.after(coarse_step(first) * jnp.maximum(time + 1, 0.0), setting["steps"])

    def pose(self, problem: object) -> Training | None:
        """A network of width 256 on the first rows of a table, after 8 coarse steps."""
        return pose_training(problem, steps=8)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """lambda > 0, the unit ball, D < R, weights within D, and how far the width is from what Omega asks for."""
        n, k, smallest, reach = len(problem.x), len(problem.sign), problem.smallest, problem.displacement
        constant = problem.width / required_width(smallest, n, k, problem.bound, problem.delta)
        norms, targets = (jnp.linalg.norm(a, axis=1).max() for a in (problem.x, problem.y))
        return [
            Hypothesis("the smallest eigenvalue of H* is positive", smallest, ">", floor(problem)),
            Hypothesis("inputs lie in the unit ball", norms, "<=", 1.0),
            Hypothesis("targets lie in the unit ball", targets, "<=", 1.0),
            Hypothesis("D < R", reach, "<", problem.radius, "units stay where H keeps half of lambda"),
            Hypothesis("no unit has moved by more than D", problem.farthest, "<=", reach, "Lemma C.2"),
            Hypothesis("width / (lambda^-2 n^2 k^2 exp(18 B) log^2(nk/delta))", constant, ">", 0.0,
                "the constant that Omega would have to hide for the source to promise this"),
        ]  # fmt: skip

    def culprit(self, problem: Training) -> str | None:
        """Rows that make lambda zero."""
        return small_eigenvalue_cause(problem)


class OneStepContracts(AbstractInductionClaim):
    """If D < R, one step of size eta from W(tau) contracts the loss by

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 2) |F(tau) - Y|².

    Judged for the relative decrease, which is 2 m eta lambda where the residual is along the smallest eigenvector of H.
    """

    title = "Every step contracts the loss"
    source = Source("gu2024softmax", "Lemma E.2")
    relation = AtLeast(delta=DELTA)
    label = "lower"

    def predict(self, problem: Training) -> Array:
        """m eta lambda / 2."""
        return problem.width * problem.step * problem.smallest / 2

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The relative decrease of the loss in one step."""
        return loss_decrease(problem, problem.step)

    def trivial(self, problem: Training) -> Array:
        """A short step down the gradient does not climb."""
        return jnp.zeros(())

    def control(self) -> Control:
        """Beyond the exact factor 4."""
        return Control("contracts by 1 - 2.1 m eta lambda", lambda decrease, problem: 4.2 * decrease)


class WeightsStayNear(AbstractInductionClaim):
    """If the loss has fallen by 1 - m eta lambda / 2 in every step up to tau, every unit is within

        |w_r(tau + 1) - w_r(0)| <= D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda)

    of its initialisation. Judged at the end of coarse training, when the loss has almost vanished and units are
    farthest, then one step of size eta. The source sums gradients over tau = 0 to infinity.
    """

    title = "Weights stay near their initialisation"
    source = Source("gu2024softmax", "Lemma C.2", "Lemma 5.3, weights induction")
    relation = AtMost(delta=DELTA)
    controls = "how far the weights move in training"

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """As above, and a loss that has not grown; that no unit has moved by more than D is the conclusion here."""
        before = jnp.linalg.norm(problem.y)
        loss = Hypothesis("the residual has not grown", jnp.linalg.norm(problem.residual), "<=", before, "", 1e-9)
        reached = Hypothesis("no unit has moved by R", problem.farthest, "<=", problem.radius, "weights property")
        kept = [h for h in super().hypotheses(problem) if "more than D" not in h.name]
        return [*kept, loss, reached]

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Eight times as many coarse steps."""
        return super().sample({**setting, "steps": 8 * setting["steps"]}, key)

    def predict(self, problem: Training) -> Array:
        """D."""
        return problem.displacement

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The longest way of a unit, after one step more."""
        return problem.after(problem.step).farthest

    def control(self) -> Control:
        """The way that the residual alone would suggest."""
        return Control(
            "at most |F(0) - Y| / (2 m)", lambda bound, problem: 0.5 * jnp.linalg.norm(problem.y) / problem.width
        )


class AbstractLossInduction(AbstractInductionClaim):
    """Eight steps of size eta from the initialisation, as logarithms of losses."""

    relation = AtMost(delta=DELTA)
    batch = 32

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """An initialisation."""
        return super().sample({**setting, "steps": 0}, key)

    def pose(self, problem: object) -> Training | None:
        """Networks only: on a table, the examination would take too long."""
        return problem if isinstance(problem, Training) else None

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """As above, at the initialisation, from which all steps are taken."""
        start = Hypothesis("training has not begun", problem.farthest, "<=", 0.0, "all steps are taken here")
        return [*super().hypotheses(problem), start]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The logarithm of the ratio of the losses."""
        return log_loss_ratio(problem, _STEPS)

    def trivial(self, problem: Training) -> Array:
        """Short steps down the gradient do not climb."""
        return jnp.zeros(())


class LossInduction(AbstractLossInduction):
    """If D < R, the loss after tau + 1 steps of size eta is at most

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 4)^(tau + 1) |F(0) - Y|².

    The lemma assumes the factor 1 - m eta lambda / 2 up to tau and concludes the weaker one with 4, so that as printed
    its conclusion is not its assumption for the next step; claim `loss_induction_closed` has the factor with which the
    induction closes. Judged for the logarithm after 8 steps.
    """

    title = "The loss falls geometrically, as printed"
    source = Source("gu2024softmax", "Lemma C.3", "Lemma 5.3, loss induction")

    def predict(self, problem: Training) -> Array:
        """8 log(1 - m eta lambda / 4)."""
        return _STEPS * jnp.log1p(-problem.width * problem.step * problem.smallest / 4)

    def control(self) -> Control:
        """Beyond the exact factor 2."""
        return Control("contracts by 1 - 2.1 m eta lambda", lambda bound, problem: 8.4 * bound)


class LossInductionClosed(AbstractLossInduction):
    """If D < R, the loss after tau + 1 steps of size eta is at most

        |F(tau + 1) - Y|² <= (1 - m eta lambda / 2)^(tau + 1) |F(0) - Y|².

    This follows from one step (claim `one_step_contracts`) and is the assumption of the next: the induction closes.
    Judged for the logarithm after 8 steps.
    """

    title = "The loss falls geometrically, with the factor that closes the induction"
    source = Source("gu2024softmax", "Lemma C.3", note="with the factor of its loss property")

    def predict(self, problem: Training) -> Array:
        """8 log(1 - m eta lambda / 2)."""
        return _STEPS * jnp.log1p(-problem.width * problem.step * problem.smallest / 2)

    def control(self) -> Control:
        """Beyond the exact factor 2."""
        return Control("contracts by 1 - 2.1 m eta lambda", lambda bound, problem: 4.2 * bound)


class GradientStaysSmall(AbstractInductionClaim):
    """If D < R and weights are within D at tau, the step after the next moves no unit by more than

    eta |Delta w_r(tau + 1)| <= 0.01.
    """

    title = "Steps stay short"
    source = Source("gu2024softmax", "Lemma C.4", "Lemma 5.3, gradient induction")
    relation = AtMost(delta=DELTA)
    controls = "the length of one step"

    def predict(self, problem: Training) -> Array:
        """A hundredth."""
        return jnp.asarray(0.01)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The longest way of a unit in the step from tau + 1."""
        after = problem.after(problem.step)
        return problem.step * jnp.linalg.norm(after.gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """|Delta w_r| <= 2 m sqrt(n k) |F - Y|, and the loss does not grow."""
        return problem.step * 2 * problem.width * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.y)

    def control(self) -> Control:
        """A step that knows the residual but not lambda."""

        def short(bound: Array, problem: Training) -> Array:
            scale = problem.width * problem.size**2 * jnp.exp(16 * problem.bound)
            return bound * problem.smallest * jnp.linalg.norm(problem.residual) / scale

        return Control("eta |Delta w_r| <= eta |F - Y| / 10", short)
