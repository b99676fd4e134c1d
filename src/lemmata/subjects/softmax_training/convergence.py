"""Training a softmax network to any error: the width and the steps that the theory requires, and those that suffice.

The network is F_l(x) = m <a_l, softmax(W' x)>, with m hidden units, trained weights W and fixed signs a_l. At the
symmetric initialisation, units come in pairs with equal weights and opposite signs, so F = 0. The tangent kernel H is
the Gram matrix of the gradients of the outputs, divided by m, and H* is H at initialisation.

This theory bounds the loss at the end of training. It assumes that lambda = lambda_min(H*) is positive, and a width
that no machine can store. The width has the factor exp(18 B), where B is the bound of Definition 4.1 on logits. This
factor is at least 10^7, and 10^150 for weights of unit variance. The theory does not explain why a few units per target
are enough, or why steps can be longer by a factor of 10^8 and more. The constant that Omega hides is taken as 1, and
the number of steps has the factor 2 of the proof.

The sufficient width is measured by descent with steps of 1 / (2 m lambda_max(H)). The time of these steps equals the
time of the flow dF/dt = -m H (F - Y) up to a relative difference of lambda / (4 lambda_max). One step of the theory
advances the flow by its step size eta.
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
    """Return the flow time at which the loss |F - Y|² falls to `error`, and the loss when training stops.

    The time is infinite if the loss does not fall to `error` by the time `end`.

    Args:
        problem: the network before training.
        error: the required squared norm of F - Y.
        end: the flow time at which training stops.
        units: the width of the network, which uses the first units of the problem; None means all units.
    """
    units = float(problem.width) if units is None else units
    return time_to_fit(
        "softmax", problem.start, problem.sign, problem.x, problem.y, jnp.asarray(units), jnp.asarray(error), end
    )


def fourth_power(error: Array, problem: Training) -> Array:
    """Return error (error / n k)^4, a false bound on the final loss that is too small, for a control.

    It would require that every step contracts the loss by 1 - 2 m eta lambda, from an initial loss of 1.
    """
    return error * (error / problem.size) ** 4


def unstable_step(step: Array, problem: Training) -> Array:
    """Return 4 / (m lambda_max(H*)), a step size at which descent on the linearised network diverges."""
    units = jnp.asarray(1.0 * problem.width)
    return 4 / (units * largest_eigenvalue("softmax", problem.start, problem.sign, problem.x, units))


class AbstractLoss(Claim[Training]):
    """Base of claims that bound the loss at the end of training."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "the loss is at most error (error / nk)^4", fourth_power,
        loose="the loss is measured after four times the time that a linear model needs",
    )  # fmt: skip
    controls = "the loss at the end of training"
    unexplained = "why a few units per target are enough"
    expected = Status.OUTSIDE
    predict = ERROR

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [
            Hypothesis.violated(
                "the width is of the order n² k² exp(18 B) log²(n k / delta) / lambda²", "the width in the test is 128"
            )
        ]

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return fit(problem, 0.0, horizon(problem.smallest, problem.size, ERROR))[1]

    def trivial(self, problem: Training) -> Array:
        return jnp.sum(problem.y**2)


class AbstractWidth(Claim[Training]):
    """Base of claims about the smallest width that suffices for training."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "2 k units suffice, where k is the number of outputs",
        lambda width, problem: jnp.asarray(2.0 * len(problem.sign)),
        loose="the width that the theory asks for is above 1e10, but a few units are enough",
    )  # fmt: skip
    controls = "the width that training needs"
    unexplained = "why a few units per target are enough"
    trivial = "before training, no width is known to be enough"

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
    """Base of claims about the number of steps that suffices for training."""

    relation = AtMost(delta=DELTA)
    control = Control(
        "an eighth of the steps suffices", lambda steps, problem: steps / 8,
        loose="a contraction by 1 - 2 m eta lambda per step needs a quarter of the steps",
    )  # fmt: skip
    trivial = "before training, no number of steps is known to be enough"

    controls = "the number of training steps"
    unexplained = "why steps can be longer by a factor of 10^8 and more"

    def predict(self, problem: Training) -> Array:
        n, k = len(problem.x), len(problem.sign)
        return jnp.asarray(required_steps(problem.smallest, n, k, problem.bound, ERROR))

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        longest = 4 * horizon(problem.smallest, problem.size, ERROR)
        return fit(problem, ERROR, longest)[0] / (problem.width * problem.step)


class TrainingReachesError(AbstractLoss):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda = lambda_min(H*) > 0, where H*
    is the tangent kernel at initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1). Let the step size be
    eta = lambda / (10 m n² k² exp(16 B)). After T = 2 log(n k / error) / (m eta lambda) steps of gradient descent, with
    probability at least 1 - delta,

        |F(T) - Y|² <= error.

    The bound holds for every error in (0, 0.1); the test uses 0.05. The source asks for a width m = Omega(lambda^-2 n²
    k² exp(18 B) log²(n k / delta)). The test uses the width 128, at which the statement also holds. T is 10^10 or more,
    which is too many steps to run. lemmata therefore takes longer steps, of size 1 / (2 m lambda_max(H*)) in place of
    eta. It measures the loss after the same flow time T m eta = 2 log(n k / error) / lambda. The verdict is about these
    longer steps.
    """

    title = "Gradient descent trains a softmax network to any error"
    source = Source("gu2024softmax", "Theorem 4.2", "Theorem C.1")
    population = _SLOW


class WidthThatSuffices(AbstractWidth):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the limit of the network's tangent kernel H at infinite width. Let B = max(10 sigma sqrt(log(n k / delta)), 1). A
    width of

        m = n² k² exp(18 B) log²(n k / delta) / lambda²

    is enough to train to |F - Y|² <= 0.05 in the flow time 2 log(n k / 0.05) / lambda, which is the time of the
    theorem's steps. lemmata trains networks of the widths 2, 4, ..., 128. A width suffices if training succeeds in this
    time at this width and at all larger tested widths. lemmata measures the smallest width that suffices. If 128 is not
    enough, the measured value is 256.
    """

    title = "The width of the convergence theorem (Theorem 4.2) is enough to train a softmax network"
    source = Source("gu2024softmax", "Theorem 4.2", note="the width")
    population = _SLOW


class StepsThatSuffice(AbstractSteps):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 be the smallest eigenvalue
    of the network's tangent kernel at initialisation. Let B = max(10 sigma sqrt(log(n k / delta)), 1), and let eta =
    lambda / (10 m n² k² exp(16 B)) be the step size of Theorem 4.2. Let `error` be the required loss. A number of steps
    of

        T = 2 log(n k / error) / (m eta lambda) = 20 n² k² exp(16 B) log(n k / error) / lambda²

    is enough to train to the loss |F - Y|² <= error. The test has the error 0.05 and the width 128.

    lemmata trains with steps longer than eta, so it compares times: T times eta, and its own number of steps times its
    own step size. Both are times of the same gradient flow. Along the eigenvector of the smallest eigenvalue, each step
    multiplies the loss by about 1 - 2 m eta lambda (to first order in eta), so about T/4 steps are enough.
    """

    title = "The number of steps in the convergence theorem (Theorem 4.2) is enough to train a softmax network"
    source = Source("gu2024softmax", "Theorem 4.2", note="the number of steps")
    population = _SLOW


class OneOutputReachesError(AbstractLoss):
    """Let F(x) = m <a, softmax(W' x)> be a softmax network with m units and one output. Here the columns of W are the
    weights of the units, and a is a vector of m signs ±1. Train F on n inputs and targets Y in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let
    lambda = lambda_min(H*) > 0, where H* is the tangent kernel at initialisation, and let delta be the failure
    probability. Let B = max(10 sigma sqrt(log(n / delta)), 1), and let eta = lambda / (10 m n² exp(16 B)). After T = 2
    log(n / error) / (m eta lambda) steps of size eta, with probability at least 1 - delta,

        |F(T) - Y|² <= error.

    The test has the error 0.05 and the width 128. lemmata takes longer steps, of size 1 / (2 m lambda_max(H*)) in place
    of eta, and measures the loss after the same flow time T m eta.
    """

    title = "Gradient descent trains a softmax network with one output to any error"
    source = Source("gu2024softmax", "Corollary 4.3")
    population = _ONE


class OneOutputWidth(AbstractWidth):
    """Let F(x) = m <a, softmax(W' x)> be a softmax network with m units and one output. Here the columns of W are the
    weights of the units, and a is a vector of m signs ±1. Train F on n inputs and targets Y in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let
    lambda > 0 be the smallest eigenvalue of the limit of the network's tangent kernel at infinite width. Let delta be
    the failure probability, and let B = max(10 sigma sqrt(log(n / delta)), 1). A width of m = n² exp(18 B) log²(n /
    delta) / lambda² is enough to train to |F - Y|² <= 0.05 in the flow time 2 log(n / 0.05) / lambda, which is the time
    of the steps of Corollary 4.3.

    If the inputs are linearly independent, two units are enough, because they compute a sigmoid of a linear function.
    By default the test therefore has more points than input columns. lemmata trains networks of the widths 2, 4, ...,
    128, and measures the smallest width from which on training succeeds.
    """

    title = "The width of the convergence theorem for one output (Corollary 4.3) is enough to train a softmax network"
    source = Source("gu2024softmax", "Corollary 4.3", note="the width")
    population = _ONE


class OneOutputSteps(AbstractSteps):
    """Let F(x) = m <a, softmax(W' x)> be a softmax network with m units and one output. Here the columns of W are the
    weights of the units, and a is a vector of m signs ±1. Train F on n inputs and targets Y in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let
    lambda > 0 be the smallest eigenvalue of the network's tangent kernel at initialisation, and let delta be the
    failure probability. Let B = max(10 sigma sqrt(log(n / delta)), 1), and let eta = lambda / (10 m n² exp(16 B)) be
    the step size of Corollary 4.3. Let `error` be the required loss. Then T = 2 log(n / error) / (m eta lambda) = 20 n²
    exp(16 B) log(n / error) / lambda² steps are enough to train to the loss |F - Y|² <= error. The test has the error
    0.05 and the width 128.
    """

    title = "The steps of the convergence theorem for one output (Corollary 4.3) are enough to train a softmax network"
    source = Source("gu2024softmax", "Corollary 4.3", note="the number of steps")
    population = _ONE


class LongStepContracts(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network with m units. Here the columns of W are
    the weights of the units, and each a_l is a vector of m signs ±1. Train F on n inputs and targets in unit balls. At
    initialisation, the units come in pairs with equal weights of standard deviation sigma and opposite signs. Let Y, of
    shape (n, k), hold the targets, and let delta be the failure probability. Let lambda > 0 and lambda_max(H*) be the
    smallest and the largest eigenvalue of the network's tangent kernel H* at initialisation. Let eta = 1 / (m
    lambda_max(H*)). With probability at least 1 - delta, a first step of length eta contracts the loss as in Lemma E.2
    of the source:

        |F(1) - Y|² <= (1 - m eta lambda / 2) |F(0) - Y|².

    Lemma E.2 has the step lambda / (10 m n² k² exp(16 B)) instead, where B = max(10 sigma sqrt(log(n k / delta)), 1).
    The width in this test is 128. For a linear model, the step multiplies the part of the loss along the eigenvector of
    the smallest eigenvalue by (1 - m eta lambda)², and the parts along the other eigenvectors of H* by smaller factors.
    """

    title = "At width m, a first step of 1 / (m lambda_max of the kernel) contracts a softmax network's loss"
    source = Source("gu2024softmax", "Lemma E.2", note="for a longer step")
    stated = Kind.OWN
    population = _SLOW
    relation = AtMost(delta=DELTA)
    control = Control(
        "the step contracts the loss by 1 - 2.2 m eta lambda", lambda ratio, problem: 1 - 4.4 * (1 - ratio)
    )
    controls = "the loss after one long step"
    unexplained = "whether long training is stable with this step"
    trivial = 1.0

    def predict(self, problem: Training) -> Array:
        values = jnp.linalg.eigvalsh(problem.first_tangent)
        return 1 - values[0] / (2 * values[-1])

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        step = 1 / (problem.width * jnp.linalg.norm(problem.first_tangent, ord=2))
        return 1 - loss_decrease(problem, step)


class StepThatWorks(Claim[Training]):
    """Let a softmax network have m units and k outputs, n inputs in the unit ball and random targets on the sphere. Let
    lambda > 0 and lambda_max(H*) be the smallest and the largest eigenvalue of the network's tangent kernel H* at
    initialisation. Let B = max(10 sigma sqrt(log(n k / delta)), 1), where sigma is the standard deviation of the
    weights and delta the failure probability. Gradient descent works with a step size eta if 30 steps of this size
    multiply the loss by at most (1 - m eta lambda / 2)^30. It works with the step size

        eta = lambda / (10 m n² k² exp(16 B)).

    lemmata tries the step sizes c / (m lambda_max(H*)) with c = 1/8, 1/4, ..., 8. It measures the largest of these step
    sizes for which this step size and all smaller tried ones work. The width is 128. The slack is the measured step
    size divided by the step size of the theory.
    """

    title = "The step size of the convergence theorem (Theorem 4.2) is short enough to train a softmax network"
    source = Source("gu2024softmax", "Theorem 4.2", note="the step size")
    population = SlowTargets(random_targets=True, posed_by_tables=False)  # on a table it would take too long
    relation = AtLeast(delta=DELTA)
    control = Control(
        "steps of 4 / (m lambda_max) work",
        unstable_step,
        loose="the step of the theory is too short by a factor of 1e8",
    )
    trivial = "every step that is short enough works, even the step 0"
    controls = "the length of the steps that work"
    unexplained = "why steps work that are longer by a factor of the order exp(16 B) n² k² lambda_max / lambda"

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
