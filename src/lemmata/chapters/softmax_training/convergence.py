"""Training a softmax network to any error: the width and the steps that the theory asks for, and those that suffice.

This theory controls the loss at the end of training. It assumes lambda = lambda_min(H*) > 0, B of Definition 4.1 and a
width that no machine holds (exp(18 B) >= 10^7, and 10^150 for weights of unit variance); it leaves unexplained why a
few units a target are enough, and why steps can be longer by 10^8 and more. Where Omega hides a constant it is 1, and
the number of steps has the 2 of the proof.

What suffices is measured by descent with steps of 1 / (2 m lambda_max(H)), whose time is that of the flow
dF/dt = -m H (F - Y) to a part in 4 lambda_max / lambda; a step of the theory advances the flow by eta.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Integer, Real, Source, Space
from lemmata.problems import Regression
from lemmata.problems._sampled import draws
from lemmata.problems._softmax_parameters import required_steps, required_width
from lemmata.problems._softmax_training import (
    DELTA,
    Training,
    floor,
    initialise,
    loss_decrease,
    pose_training,
    small_eigenvalue_cause,
    sphere_points,
)

from lemmata.problems._activations import largest_eigenvalue, limit_gram, sufficient_width, time_to_fit

WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
ERROR = 0.05
_MULTIPLES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def spread_points(drawn: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Unit vectors that have repelled each other for eight rounds, so that no two are close and lambda is not tiny.

    Args:
        drawn: standard normal numbers.
    """
    x = sphere_points(drawn)
    for _ in range(8):
        force = jnp.exp(3 * (x @ x.T - 1)) * (1 - jnp.eye(len(x)))
        x = sphere_points(x - 0.3 * force @ x)
    return x


def horizon(smallest: float | Array, size: int, error: float) -> Array:
    """T m eta = 2 log(n k / error) / lambda: the time of H at which a contraction by 1 - m eta lambda / 2 a step, from
    |F - Y|² = n k, has reached the error.

    Args:
        smallest: lambda.
        size: n k.
        error: the squared norm asked for.
    """
    return 2 * jnp.log(size / error) / jnp.asarray(smallest)


class AbstractConvergenceClaim(Claim[Training]):
    """What the claims of this section share: targets along the smallest eigenvector of the limit of H, |y_i| <= 1."""

    controls = "the end of training"
    unexplained = "why a few units a target are enough"
    relation = AtMost(delta=DELTA)
    problem = Training
    trials = 128
    batch = 128
    outputs = 2

    def settings(self) -> Space:
        """Sizes and the spread of the weights."""
        return Space(
            n=Integer(4, 2, 16, "points"),
            d=Integer(3, 2, 64, "columns"),
            sigma=Real(0.5, 0.05, 1.0, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Points that repel each other, on the sphere; a network as wide as the ladder's last."""
        n, d, k = setting["n"], setting["d"], self.outputs
        weights, inputs, outputs = draws(key, (d + k, int(WIDTHS[-1]) // 2), (n, d), (1, k))
        x = spread_points(inputs)
        slowest = jnp.linalg.eigh(limit_gram("softmax", x, setting["sigma"]))[1][:, :1]
        y = slowest / jnp.abs(slowest).max() * sphere_points(outputs)
        return initialise(weights, x, y, setting["sigma"])

    def pose(self, problem: object) -> Training | None:
        """The first 16 rows of a table, with weights of unit variance; for claims about one output, one target."""
        if self.outputs == 1 and isinstance(problem, Regression) and problem.y.shape[1] > 1:
            return None
        return pose_training(problem, sigma=1.0)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """lambda > 0, the unit ball."""
        norms, targets = (jnp.linalg.norm(a, axis=1).max() for a in (problem.x, problem.y))
        why = "a direction with lambda = 0 is never fitted"
        return [
            Hypothesis("the smallest eigenvalue of H* is positive", problem.smallest, ">", floor(problem), why),
            Hypothesis("inputs lie in the unit ball", norms, "<=", 1.0),
            Hypothesis("targets lie in the unit ball", targets, "<=", 1.0, "|F(0) - Y|² <= n k"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Rows that make lambda zero."""
        return small_eigenvalue_cause(problem)

    def fit(
        self, problem: Training, error: float, end: Array, units: float | Array | None = None
    ) -> tuple[Array, Array]:
        """Time of H until the error, and the loss then."""
        units = float(problem.width) if units is None else units
        return time_to_fit(
            "softmax", problem.start, problem.sign, problem.x, problem.y, jnp.asarray(units), jnp.asarray(error), end
        )


class AbstractLoss(AbstractConvergenceClaim):
    """The loss at the end of training."""

    controls = "the loss at the end of training"

    def predict(self, problem: Training) -> Array:
        """The error."""
        return jnp.asarray(ERROR)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The loss after the time of T steps, whatever it has reached before."""
        return self.fit(problem, 0.0, horizon(problem.smallest, problem.size, ERROR))[1]

    def trivial(self, problem: Training) -> Array:
        """|Y|², the loss of the network that has not been trained."""
        return jnp.sum(problem.y**2)

    def control(self) -> Control:
        """The fourth power would ask for a contraction by 1 - 2 m eta lambda from a residual of 1."""

        def fourth(error: Array, problem: Training) -> Array:
            return error * (error / problem.size) ** 4

        return Control("the loss is at most error (error / nk)^4", fourth)


class AbstractWidth(AbstractConvergenceClaim):
    """The width that suffices."""

    controls = "the width that training needs"

    def predict(self, problem: Training) -> Array:
        """The width that is asked for, with lambda of the limit of H."""
        smallest = jnp.linalg.eigvalsh(limit_gram("softmax", problem.x, problem.sigma))[0]
        n, k = len(problem.x), len(problem.sign)
        return jnp.asarray(required_width(jnp.maximum(smallest, 0.0), n, k, problem.bound, problem.delta))

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The smallest width of the ladder from which on training reaches the error in time."""
        values = jnp.linalg.eigvalsh(limit_gram("softmax", problem.x, problem.sigma))
        end = horizon(jnp.maximum(values[0], 0.0), problem.size, ERROR)
        times = jax.vmap(lambda units: self.fit(problem, ERROR, end, units)[0])(jnp.asarray(WIDTHS))
        return sufficient_width(times, WIDTHS, end)

    def control(self) -> Control:
        """A unit and its partner for every output."""
        return Control("2 k units suffice", lambda width, problem: jnp.asarray(2.0 * len(problem.sign)))


class AbstractSteps(AbstractConvergenceClaim):
    """The steps that suffice."""

    controls = "the number of steps of training"
    unexplained = "why steps can be longer by 10^8 and more"

    def predict(self, problem: Training) -> Array:
        """T."""
        n, k = len(problem.x), len(problem.sign)
        return jnp.asarray(required_steps(problem.smallest, n, k, problem.bound, ERROR))

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The time that it takes, over m eta."""
        longest = 4 * horizon(problem.smallest, problem.size, ERROR)
        return self.fit(problem, ERROR, longest)[0] / (problem.width * problem.step)

    def control(self) -> Control:
        """Beyond what a contraction by 1 - 2 m eta lambda gives."""
        return Control("an eighth of the steps suffices", lambda steps, problem: steps / 8)


class TrainingReachesError(AbstractLoss):
    """With lambda = lambda_min(H*) > 0 and eta = lambda / (10 m n² k² exp(16 B)), after
    T = 2 log(n k / error) / (m eta lambda) steps

        |F(T) - Y|² <= error,

    for errors in (0, 0.1), here 0.05. The source asks for m = Omega(lambda^-2 n² k² exp(18 B) log²(n k / delta)); the
    width here is 128, and the statement holds all the same. T is 10^10 and more, which nobody runs: measured is the
    loss after the same flow time T m eta = 2 log(n k / error) / lambda, in steps of 1 / (2 m lambda_max(H*)) in place
    of eta. The verdict speaks of these steps.
    """

    title = "Descent trains a softmax network to any error"
    source = Source("gu2024softmax", "Theorem 4.2", "Theorem C.1")


class WidthThatSuffices(AbstractWidth):
    """A width of

        m = n² k² exp(18 B) log²(n k / delta) / lambda²

    suffices to train to |F - Y|² <= 0.05 in the time of T steps. Measured is the smallest of the widths 2, 4, ..., 128
    from which on it happens; where 128 is not enough the measured value is 256. lambda is that of the limit of H.
    """

    title = "The width that a softmax network needs"
    source = Source("gu2024softmax", "Theorem 4.2", note="the width")


class StepsThatSuffice(AbstractSteps):
    """A number of steps of

        T = 2 log(n k / error) / (m eta lambda) = 20 n² k² exp(16 B) log(n k / error) / lambda²

    suffices to train to an error of 0.05, at width 128. Up to the factor of the step, both are times of the same flow:
    a contraction by 1 - 2 m eta lambda a step, which is exact along the smallest eigenvector, needs a quarter of T.
    """

    title = "The steps that a softmax network needs"
    source = Source("gu2024softmax", "Theorem 4.2", note="the number of steps")


class OneOutputReachesError(AbstractLoss):
    """With one output: lambda = lambda_min(H*) > 0, eta = lambda / (10 m n² exp(16 B)), and after
    T = 2 log(n / error) / (m eta lambda) steps

        |F(T) - Y|² <= error,

    here 0.05, at width 128. Measured after the same flow time T m eta, in steps of 1 / (2 m lambda_max(H*)).
    """

    title = "Descent trains a softmax network with one output to any error"
    source = Source("gu2024softmax", "Corollary 4.3")
    outputs = 1


class OneOutputWidth(AbstractWidth):
    """With one output a width of m = n² exp(18 B) log²(n / delta) / lambda² suffices to train to |F - Y|² <= 0.05 in
    the time of T steps. Two units are a sigmoid of a linear function, and enough where the inputs are linearly
    independent; here there are more points than columns. Measured as for several outputs.
    """

    title = "The width that a softmax network with one output needs"
    source = Source("gu2024softmax", "Corollary 4.3", note="the width")
    outputs = 1


class OneOutputSteps(AbstractSteps):
    """With one output T = 2 log(n / error) / (m eta lambda) = 20 n² exp(16 B) log(n / error) / lambda² steps suffice to
    train to an error of 0.05, at width 128.
    """

    title = "The steps that a softmax network with one output needs"
    source = Source("gu2024softmax", "Corollary 4.3", note="the number of steps")
    outputs = 1


class LongStepContracts(AbstractConvergenceClaim):
    """The contraction of Lemma E.2 holds for the first step at the length 1 / (m lambda_max(H*)),

        |F(1) - Y|² <= (1 - m eta lambda / 2) |F(0) - Y|²,   eta = 1 / (m lambda_max(H*)),

    in place of lambda / (10 m n² k² exp(16 B)), at width 128: the factor of a linear model is (1 - m eta lambda)² along
    the smallest eigenvector, and smaller along the others.
    """

    title = "Far longer steps contract the loss, too"
    source = Source("gu2024softmax", "Lemma E.2", note="for a longer step")
    controls = "the loss after one long step"
    unexplained = "the stability of long training at this step"

    def predict(self, problem: Training) -> Array:
        """1 - lambda / (2 lambda_max)."""
        values = jnp.linalg.eigvalsh(problem.first_tangent)
        return 1 - values[0] / (2 * values[-1])

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The ratio of the losses."""
        step = 1 / (problem.width * jnp.linalg.norm(problem.first_tangent, ord=2))
        return 1 - loss_decrease(problem, step)

    def trivial(self, problem: Training) -> Array:
        """No step."""
        return jnp.ones(())

    def control(self) -> Control:
        """Beyond the linear model."""
        return Control("contracts by 1 - 2.2 m eta lambda", lambda ratio, problem: 1 - 4.4 * (1 - ratio))


class StepThatWorks(AbstractConvergenceClaim):
    """Steps of size

        eta = lambda / (10 m n² k² exp(16 B))

    work. Measured is the largest of the steps c / (m lambda_max(H*)), c = 1/8, 1/4, ..., 8, at which, and at all
    shorter ones, 30 steps contract the loss by (1 - m eta lambda / 2)^30, at width 128; the slack says by how much the
    step of the theory is shorter. Targets are random.
    """

    title = "The step of the theory is short enough"
    source = Source("gu2024softmax", "Theorem 4.2", note="the step size")
    relation = AtLeast(delta=DELTA)
    label = "lower"
    controls = "the length of the steps that work"
    unexplained = "why far longer steps work: the factor is of the order exp(16 B) n² k² lambda_max / lambda"

    def pose(self, problem: object) -> Training | None:
        """Networks only: on a table, the examination would take too long."""
        return problem if isinstance(problem, Training) else None

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Random targets on the sphere."""
        training = super().sample(setting, key)
        targets = sphere_points(jax.random.normal(jax.random.fold_in(key, 1), training.y.shape))
        return eqx.tree_at(lambda t: t.y, training, targets)

    def predict(self, problem: Training) -> Array:
        """eta."""
        return problem.step

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The largest step that works."""
        values, rounds = jnp.linalg.eigvalsh(problem.first_tangent), 30

        def works(multiple: Array) -> Array:
            after = problem.after(multiple / (problem.width * values[-1]), rounds)
            promised = rounds * jnp.log(jnp.maximum(1 - multiple * values[0] / (2 * values[-1]), 0.0))
            return jnp.log(jnp.sum(after.residual**2) / jnp.sum(problem.y**2)) <= promised

        worked = jnp.cumprod(jax.vmap(works)(jnp.asarray(_MULTIPLES)))
        largest = jnp.max(worked * jnp.asarray(_MULTIPLES))
        return largest / (problem.width * values[-1])

    def control(self) -> Control:
        """Beyond the stability of linear descent."""

        def unstable(step: Array, problem: Training) -> Array:
            units = jnp.asarray(1.0 * problem.width)
            return 4 / (units * largest_eigenvalue("softmax", problem.start, problem.sign, problem.x, units))

        return Control("steps of 4 / (m lambda_max) work", unstable)
