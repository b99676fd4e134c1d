"""How large the gradient of a softmax network is.

This theory controls the gradient of every unit, at initialisation and as long as no unit has moved by more than R: with
it, how far one step goes. It assumes inputs in the unit ball and the logit bound B; it leaves unexplained the factor
exp(3 B), which is a bound on the largest share and is the reason that the steps it allows are tiny.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Real, Source, Space
from lemmata.problems._sampled import draws
from lemmata.problems._softmax_training import (
    DELTA,
    Training,
    initialise,
    pose_training,
    small_eigenvalue_cause,
    sphere_points,
)

from .loss_progress import floor

_REACH = 0.0099


class AbstractGradientClaim(Claim[Training]):
    """What the claims of this section share: close inputs, targets on the sphere, and weights moved by less than R."""

    controls = "the gradient of every unit"
    unexplained = "the size of B: the largest share is far below exp(2 B + 2 R) / m"
    relation = AtMost(delta=DELTA)
    problem = Training
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the spread of the weights, and how close the inputs are to each other."""
        return Space(
            n=Integer(2, 1, 64, "points"),
            d=Integer(3, 1, 64, "columns"),
            k=Integer(1, 1, 16, "outputs"),
            pairs=Integer(64, 1, 4096, "pairs of units"),
            sigma=Real(0.3, 0.001, 1.0, "standard deviation of the weights"),
            alignment=Real(2.0, 0.0, 100.0, "alignment of the inputs"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Unit inputs around one direction; all units moved by 0.0099, up or down the first input by their first sign.

        Such a movement changes F most.
        """
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, side = draws(key, (d + k, setting["pairs"]), (n, d), (1, k), ())
        x, y = sphere_points(inputs, setting["alignment"]), jnp.broadcast_to(sphere_points(outputs), (n, k))
        start = initialise(weights, x, y, setting["sigma"])
        direction = jnp.sign(side) * start.sign[0] * x[0][:, None]
        return Training(start.start, _REACH * direction, start.sign, x, y, setting["sigma"])

    def pose(self, problem: object) -> Training | None:
        """The first rows of a table."""
        return pose_training(problem)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """Inputs in the unit ball, weights that moved by R < 0.01, targets of norm at most 1."""
        norms, targets = jnp.linalg.norm(problem.x, axis=1), jnp.linalg.norm(problem.y, axis=1)
        return [
            Hypothesis("inputs lie in the unit ball", norms.max(), "<=", 1.0, "logits are at most |w_r|"),
            Hypothesis("targets lie in the unit ball", targets.max(), "<=", 1.0, "the residual starts at |Y|"),
            Hypothesis("no unit has moved by 0.01", problem.farthest, "<", 0.01, "shares are below exp(2B + 2R) / m"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Rows that make lambda zero."""
        return small_eigenvalue_cause(problem)


class GradientBound(AbstractGradientClaim):
    """While every unit is within R < 0.01 of its initialisation, the gradient of every unit is

        |Delta w_r| <= exp(3 B) sqrt(n k) |F - Y|_F.

    Trivially, |<v_lr, S_i>| <= 2 and S_ir <= 1 give 2 m in place of exp(3 B). For close inputs and equal targets the
    factor in place of exp(3 B) is near m max S_ir.
    """

    title = "Every unit's gradient is small"
    source = Source("gu2024softmax", "Lemma D.1")

    def predict(self, problem: Training) -> Array:
        """The bound."""
        return jnp.exp(3 * problem.bound) * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.residual)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The largest column of the gradient."""
        gradient = problem.network.gradient({"weight": problem.weight, "sign": problem.sign}, problem.x, problem.y)
        return jnp.linalg.norm(gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """2 m sqrt(n k) |F - Y|."""
        return 2 * problem.width * jnp.sqrt(1.0 * problem.size) * jnp.linalg.norm(problem.residual)

    def control(self) -> Control:
        """As if all shares were 1/m."""
        return Control("without exp(3 B)", lambda bound, problem: bound / jnp.exp(3 * problem.bound))


class StepBound(AbstractGradientClaim):
    """Where lambda > 0, at the step eta = lambda / (10 m n² k² exp(16 B)) and within R < 0.01 of the initialisation, no
    unit moves by more than

        eta |Delta w_r| <= 0.01.

    By Lemma D.1 eta |Delta w_r| is even at most lambda |F - Y| / (10 m (n k)^(3/2) exp(13 B)).
    """

    title = "One step moves no unit by more than a hundredth"
    source = Source("gu2024softmax", "Lemma D.2")
    controls = "the length of one step"

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """As above, and lambda > 0: a step of length 0 moves nothing."""
        positive = Hypothesis("the smallest eigenvalue of H* is positive", problem.smallest, ">", floor(problem))
        return [positive, *super().hypotheses(problem)]

    def predict(self, problem: Training) -> Array:
        """A hundredth."""
        return jnp.asarray(0.01)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """eta times the largest column of the gradient."""
        return problem.step * jnp.linalg.norm(problem.gradient, axis=0).max()

    def trivial(self, problem: Training) -> Array:
        """|Delta w_r| <= 2 m sqrt(n k) |F - Y|."""
        residual = jnp.linalg.norm(problem.residual)
        return problem.step * 2 * problem.width * jnp.sqrt(1.0 * problem.size) * residual

    def control(self) -> Control:
        """A step that knows the residual but not lambda."""

        def short(bound: Array, problem: Training) -> Array:
            scale = problem.width * problem.size**2 * jnp.exp(16 * problem.bound)
            return bound * problem.smallest * jnp.linalg.norm(problem.residual) / scale

        return Control("eta |Delta w_r| <= eta |F - Y| / 10", short)


class InitialLoss(AbstractGradientClaim):
    """At the symmetric initialisation, where F(0) = 0, targets in the unit ball give

        |F(0) - Y|_F <= sqrt(n k),

    with the constant 1 for the hidden one; the proof gives sqrt(n), which is attained on the sphere.
    """

    title = "The first residual is at most the root of the number of targets"
    source = Source("gu2024softmax", "Lemma D.3")
    controls = "the loss of the network before training"
    unexplained = "nothing"
    relation = AtMost()
    label = "tight"

    def predict(self, problem: Training) -> Array:
        """sqrt(n k)."""
        return jnp.sqrt(1.0 * problem.size)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The norm of F(0) - Y, with F(0) of the network."""
        outputs = problem.network.predict({"weight": problem.start, "sign": problem.sign}, problem.x)
        return jnp.linalg.norm(outputs - problem.y)

    def control(self) -> Control:
        """Just below sqrt(n)."""
        return Control("at most 0.99 sqrt(n)", lambda bound, problem: 0.99 * bound / jnp.sqrt(1.0 * problem.y.shape[1]))
