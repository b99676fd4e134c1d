"""Training a softmax network to any error: the width and the steps that the theory asks for, and those that suffice.

This theory controls the loss at the end of training. It assumes lambda = lambda_min(H*) > 0, B of Definition 4.1 and a
width that no machine holds (exp(18 B) >= 10^7, and 10^150 for weights of unit variance); it leaves unexplained why a
few units a target are enough, and why steps can be longer by 10^8 and more. Where Omega hides a constant it is 1, and
the number of steps has the 2 of the proof.

What suffices is measured by descent with steps of 1 / (2 m lambda_max(H)), whose time is that of the flow
dF/dt = -m H (F - Y) to a part in 4 lambda_max / lambda; a step of the theory advances the flow by eta.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Kind, Source, Status
from lemmata.engine.problems.softmax_parameters import required_steps, required_width
from lemmata.subjects.softmax_training._activations import largest_eigenvalue, limit_gram, sufficient_width, time_to_fit
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, loss_decrease
from lemmata.subjects.softmax_training._trained_widths import ERROR, WIDTHS, SlowTargets, horizon

ABOUT = {"tool": "spectral theory", "architecture": "dense network", "object": "training"}

_MULTIPLES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_SLOW, _ONE = SlowTargets(), SlowTargets(outputs=1)


def fit(problem: Training, error: float, end: Array, units: float | Array | None = None) -> tuple[Array, Array]:
    """Time of H until the error, at most `end`, and the loss then.

    Args:
        problem: the network before training.
        error: the squared norm asked for.
        end: the longest time.
        units: the width; None is all units.
    """
    units = float(problem.width) if units is None else units
    return time_to_fit(
        "softmax", problem.start, problem.sign, problem.x, problem.y, jnp.asarray(units), jnp.asarray(error), end
    )


def fourth_power(error: Array, problem: Training) -> Array:
    """error (error / n k)^4, which would ask for a contraction by 1 - 2 m eta lambda from a residual of 1."""
    return error * (error / problem.size) ** 4


def unstable_step(step: Array, problem: Training) -> Array:
    """4 / (m lambda_max(H*)), beyond the stability of linear descent."""
    units = jnp.asarray(1.0 * problem.width)
    return 4 / (units * largest_eigenvalue("softmax", problem.start, problem.sign, problem.x, units))


class AbstractLoss(Claim[Training]):
    """The loss at the end of training."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "the loss is at most error (error / nk)^4", fourth_power,
        loose="measured is the flow for four times the time that a linear model needs",
    )  # fmt: skip
    controls = "the loss at the end of training"
    unexplained = "why a few units a target are enough"
    expected = Status.OUTSIDE
    predict = ERROR

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [
            Hypothesis.violated("the width is of the order n² k² exp(18 B) log²(n k / delta) / lambda²", "it is 128")
        ]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return fit(problem, 0.0, horizon(problem.smallest, problem.size, ERROR))[1]

    def trivial(self, problem: Training) -> Array:
        return jnp.sum(problem.y**2)


class AbstractWidth(Claim[Training]):
    """The width that suffices."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "2 k units suffice", lambda width, problem: jnp.asarray(2.0 * len(problem.sign)),
        loose="the width asked for is above 1e10, and a few units are enough",
    )  # fmt: skip
    controls = "the width that training needs"
    unexplained = "why a few units a target are enough"
    trivial = "no width is known to suffice beforehand"

    def predict(self, problem: Training) -> Array:
        smallest = jnp.linalg.eigvalsh(limit_gram("softmax", problem.x, problem.sigma))[0]
        n, k = len(problem.x), len(problem.sign)
        return jnp.asarray(required_width(jnp.maximum(smallest, 0.0), n, k, problem.bound, problem.delta))

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        values = jnp.linalg.eigvalsh(limit_gram("softmax", problem.x, problem.sigma))
        end = horizon(jnp.maximum(values[0], 0.0), problem.size, ERROR)
        times = jax.vmap(lambda units: fit(problem, ERROR, end, units)[0])(jnp.asarray(WIDTHS))
        return sufficient_width(times, WIDTHS, end)


class AbstractSteps(Claim[Training]):
    """The steps that suffice."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "an eighth of the steps suffices", lambda steps, problem: steps / 8,
        loose="a contraction by 1 - 2 m eta lambda a step needs a quarter of them",
    )  # fmt: skip
    trivial = "no number of steps is known to suffice beforehand"

    controls = "the number of steps of training"
    unexplained = "why steps can be longer by 10^8 and more"

    def predict(self, problem: Training) -> Array:
        n, k = len(problem.x), len(problem.sign)
        return jnp.asarray(required_steps(problem.smallest, n, k, problem.bound, ERROR))

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        longest = 4 * horizon(problem.smallest, problem.size, ERROR)
        return fit(problem, ERROR, longest)[0] / (problem.width * problem.step)


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
    population = _SLOW


class WidthThatSuffices(AbstractWidth):
    """A width of

        m = n² k² exp(18 B) log²(n k / delta) / lambda²

    suffices to train to |F - Y|² <= 0.05 in the time of T steps. Measured is the smallest of the widths 2, 4, ..., 128
    from which on it happens; where 128 is not enough the measured value is 256. lambda is that of the limit of H.
    """

    title = "The width that a softmax network needs"
    source = Source("gu2024softmax", "Theorem 4.2", note="the width")
    population = _SLOW


class StepsThatSuffice(AbstractSteps):
    """A number of steps of

        T = 2 log(n k / error) / (m eta lambda) = 20 n² k² exp(16 B) log(n k / error) / lambda²

    suffices to train to an error of 0.05, at width 128. Up to the factor of the step, both are times of the same flow:
    a contraction by 1 - 2 m eta lambda a step, which is exact along the smallest eigenvector, needs a quarter of T.
    """

    title = "The steps that a softmax network needs"
    source = Source("gu2024softmax", "Theorem 4.2", note="the number of steps")
    population = _SLOW


class OneOutputReachesError(AbstractLoss):
    """With one output: lambda = lambda_min(H*) > 0, eta = lambda / (10 m n² exp(16 B)), and after
    T = 2 log(n / error) / (m eta lambda) steps

        |F(T) - Y|² <= error,

    here 0.05, at width 128. Measured after the same flow time T m eta, in steps of 1 / (2 m lambda_max(H*)).
    """

    title = "Descent trains a softmax network with one output to any error"
    source = Source("gu2024softmax", "Corollary 4.3")
    population = _ONE


class OneOutputWidth(AbstractWidth):
    """With one output a width of m = n² exp(18 B) log²(n / delta) / lambda² suffices to train to |F - Y|² <= 0.05 in
    the time of T steps. Two units are a sigmoid of a linear function, and enough where the inputs are linearly
    independent; here there are more points than columns. Measured as for several outputs.
    """

    title = "The width that a softmax network with one output needs"
    source = Source("gu2024softmax", "Corollary 4.3", note="the width")
    population = _ONE


class OneOutputSteps(AbstractSteps):
    """With one output T = 2 log(n / error) / (m eta lambda) = 20 n² exp(16 B) log(n / error) / lambda² steps suffice to
    train to an error of 0.05, at width 128.
    """

    title = "The steps that a softmax network with one output needs"
    source = Source("gu2024softmax", "Corollary 4.3", note="the number of steps")
    population = _ONE


class LongStepContracts(Claim[Training]):
    """The contraction of Lemma E.2 holds for the first step at the length 1 / (m lambda_max(H*)),

        |F(1) - Y|² <= (1 - m eta lambda / 2) |F(0) - Y|²,   eta = 1 / (m lambda_max(H*)),

    in place of lambda / (10 m n² k² exp(16 B)), at width 128: the factor of a linear model is (1 - m eta lambda)² along
    the smallest eigenvector, and smaller along the others.
    """

    title = "Far longer steps contract the loss, too"
    source = Source("gu2024softmax", "Lemma E.2", note="for a longer step")
    stated = Kind.OWN
    population = _SLOW
    relation = AtMost(delta=DELTA)
    control = Control("contracts by 1 - 2.2 m eta lambda", lambda ratio, problem: 1 - 4.4 * (1 - ratio))
    controls = "the loss after one long step"
    unexplained = "the stability of long training at this step"
    trivial = 1.0

    def predict(self, problem: Training) -> Array:
        values = jnp.linalg.eigvalsh(problem.first_tangent)
        return 1 - values[0] / (2 * values[-1])

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        step = 1 / (problem.width * jnp.linalg.norm(problem.first_tangent, ord=2))
        return 1 - loss_decrease(problem, step)


class StepThatWorks(Claim[Training]):
    """Steps of size

        eta = lambda / (10 m n² k² exp(16 B))

    work. Measured is the largest of the steps c / (m lambda_max(H*)), c = 1/8, 1/4, ..., 8, at which, and at all
    shorter ones, 30 steps contract the loss by (1 - m eta lambda / 2)^30, at width 128; the slack says by how much the
    step of the theory is shorter. Targets are random.
    """

    title = "The step of the theory is short enough"
    source = Source("gu2024softmax", "Theorem 4.2", note="the step size")
    population = SlowTargets(random_targets=True, posed_by_tables=False)  # on a table it would take too long
    relation = AtLeast(delta=DELTA)
    control = Control(
        "steps of 4 / (m lambda_max) work", unstable_step, loose="the step of the theory is 1e8 too short"
    )
    trivial = "every step that is short enough works, the step 0 included"
    controls = "the length of the steps that work"
    unexplained = "why far longer steps work: the factor is of the order exp(16 B) n² k² lambda_max / lambda"

    def predict(self, problem: Training) -> Array:
        return problem.step

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        values, rounds = jnp.linalg.eigvalsh(problem.first_tangent), 30

        def works(multiple: Array) -> Array:
            after = problem.after(multiple / (problem.width * values[-1]), rounds)
            promised = rounds * jnp.log(jnp.maximum(1 - multiple * values[0] / (2 * values[-1]), 0.0))
            return jnp.log(jnp.sum(after.residual**2) / jnp.sum(problem.y**2)) <= promised

        worked = jnp.cumprod(jax.vmap(works)(jnp.asarray(_MULTIPLES)))
        largest = jnp.max(worked * jnp.asarray(_MULTIPLES))
        return largest / (problem.width * values[-1])
