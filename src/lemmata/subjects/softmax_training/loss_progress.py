"""The term that makes progress in the change of the loss by a descent step.

A descent step of size eta changes the loss |F - Y|², where F are the outputs of a softmax network of width m and Y the
targets. C_1 is the part of this change that comes from the numerators of the softmax, to first order in the step. C_0
is the part that comes from the denominators. The theory bounds C_1 by the tangent kernel H at the current weights, and
H by its smallest eigenvalue lambda at initialisation. To bound C_0 and C_1, the source needs random signs and a width
above lambda^-2. But to first order in eta and at every width, C_0 + C_1 is -2 m eta v' H v, where v = vec(F - Y). As
long as no unit moves farther than R, H keeps half of lambda. The theory does not explain why H moves far less than this
radius allows.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Kind, Source, Status
from lemmata.subjects.softmax_training._softmax_runs import (
    Descent,
    Descents,
    SoftmaxRuns,
    against_smallest_eigenvalue,
    along_smallest_eigenvector,
)
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, short_step

from .loss_decomposition import quadratic_form, terms
from .network import naive_outputs

ABOUT = {"tool": "spectral theory", "architecture": "dense network", "object": "training"}


class AbstractProgressIdentity(Claim[Descent]):
    """Base of claims that state C_1 / eta exactly. They measure it by differentiating the numerators of the softmax."""

    population = Descents()
    relation = Equal()
    controls = "the term of a descent step that makes progress"
    unexplained = "how the tangent kernel H differs from its value at initialisation"

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """Return C_1 / eta, by automatic differentiation.

        It is 2 <F - Y, G>, where G is the derivative of m <a_l, exp(W' x)> / alpha along minus the loss gradient, with
        the denominator alpha held fixed.
        """
        training = problem.training
        outputs = lambda weight: naive_outputs(weight, training.sign, training.x)
        loss = lambda weight: 0.5 * jnp.sum((outputs(weight) - training.y) ** 2)
        alpha = jnp.exp(training.x @ training.weight).sum(axis=1, keepdims=True)
        numerator = lambda weight: training.width * jnp.exp(training.x @ weight) @ training.sign.T / alpha
        _, slope = jax.jvp(numerator, (training.weight,), (-jax.grad(loss)(training.weight),))
        return 2 * jnp.sum((outputs(training.weight) - training.y) * slope)

    def condition(self, problem: Descent) -> Array:
        return rounding(problem)


def rounding(problem: Descent) -> Array:
    """Return the condition number of C_1 / eta: a sum over m units of terms with residuals, whose errors are m eps."""
    training = problem.training
    return 10 * training.width * (1 + 1 / jnp.linalg.norm(training.residual))


class ProgressSplit(AbstractProgressIdentity):
    """Let F_l(x_i) = m <a_l, S_i> be a softmax network of m units with shares S_i = softmax(W' x_i), signs a_l and
    targets Y. Let v = vec(F - Y), and let H be the tangent kernel, the Gram matrix of the network's gradients divided
    by m. Take a step of size eta along the gradient Delta W of |F - Y|²/2. This step changes the logits by u = -eta
    Delta W' x.

    The step changes |F - Y|² through the numerators of the softmax and through its denominators. To first order, the
    numerators change the outputs by v_1 = m sum_r a_lr S_ir u_ir, and |F - Y|² by C_1 = 2 <F - Y, v_1>. Let C_0 be the
    part of the change of |F - Y|² that comes from the denominators. Split the sign of every unit as a_lr = <a_lr 1 -
    a_l, S_i> + <a_l, S_i>, where 1 is the vector of ones. Then v_1 = m² (Q_1 + Q_2), where Q_1 comes from the first
    part of the sign and Q_2 from the second part. They satisfy

        <F - Y, Q_1> = -(eta / m) v' H v   and   m² Q_2 = -eta F_l(x_i) <S_i, Delta W' x_i>.

    So C_1 = -2 m eta v' H v + 2 m² <F - Y, Q_2>. To first order, the term with Q_2 is -C_0 (claim `first_order_terms`).
    The claim is tested for C_1 / eta.
    """

    title = "The progress of a descent step on a softmax network has a kernel part and a denominator part"
    source = Source("gu2024softmax", "(16)", "(17)", note="proof of Lemma E.4")
    control = Control(
        "the part with Q_2 is missing",
        lambda slope, problem: -2 * problem.training.width * quadratic_form(problem.training),
    )

    def predict(self, problem: Descent) -> Array:
        """The value -2 m v' H v - 2 sum_i <F_i - y_i, F_i> <S_i, Delta W' x_i>."""
        training = problem.training
        shares = jax.nn.softmax(training.x @ training.weight, axis=1)
        pull = jnp.sum(shares * (training.x @ training.gradient), axis=1)
        second = -2 * jnp.sum(jnp.sum(training.residual * training.outputs, axis=1) * pull)
        return -2 * training.width * quadratic_form(training) + second


def at_the_start(problem: Descent) -> Hypothesis:
    """Return the condition that the weights are those of the initialisation."""
    return Hypothesis(
        "the weights are those of the initialisation",
        problem.training.farthest,
        "<=",
        0.0,
        "at the initialisation F = 0, and so Q_2 = 0",
    )


class ProgressEquality(AbstractProgressIdentity):
    """Let F be a softmax network of m units at its initialisation, where F = 0. Take the first step, of size eta,
    towards targets Y. Let H be the tangent kernel, the Gram matrix of the gradients divided by m. Let v = vec(F - Y).
    Let C_1 (Lemma E.1 of the source) be the first-order change of |F - Y|² through the numerators of the softmax. This
    change is

        C_1 = -2 m eta v' H v.

    This equality is exact at every width. Claim E.5 of the source uses the name C_1 for half of this term. Its
    conclusion holds for the half and for the whole term.
    """

    title = "The first descent step on a softmax network makes progress of 2 m eta v' H v (residual v, kernel H)"
    source = Source("gu2024softmax", "Claim E.5", note="its C_1, with the factor 2 of Lemma E.1")
    stated = Kind.REPAIR
    population = Descents(steps=0)
    control = Control("C_1 is smaller by a thousandth", lambda slope, problem: 0.999 * slope)

    def hypotheses(self, problem: Descent) -> list[Hypothesis]:
        return [at_the_start(problem)]

    def predict(self, problem: Descent) -> Array:
        return -2 * problem.training.width * quadratic_form(problem.training)


def _slope_of_progress(slope: Array, problem: Descent) -> Array:
    """Return C_1 / eta for a step so short that only the first order is left."""
    tiny = 1e-9 * problem.step
    return terms(problem.training, tiny).change[1] / tiny


class FirstOrderTerms(Claim[Descent]):
    """Let F be a softmax network of m units with targets Y. Let H be its tangent kernel, the Gram matrix of its
    gradients divided by m. A step of size eta changes its loss |F - Y|² by terms C_0 to C_3 (Lemma E.1 of the source).
    Of these terms, C_0 (through the denominator of the softmax) and C_1 (through its numerators) are of first order in
    eta. Let v = vec(F - Y). At every width and all weights, their slopes at eta = 0 add up to

        d/d eta (C_0 + C_1) = -2 m v' H v.

    C_1 consists of -2 m eta v' H v and a second part. To first order, this second part is therefore -C_0. A lower bound
    on the progress needs neither concentration nor the widths that Lemmas E.3 and E.4 ask for. These lemmas bound, with
    high probability, two parts that cancel.
    """

    title = "The first-order terms of a softmax network's descent step add up to the tangent kernel's quadratic form"
    source = Source("gu2024softmax", "Lemma E.3", "Lemma E.4", note="the cancellation of its parts (not stated there)")
    stated = Kind.OWN
    population = Descents()
    relation = Equal()
    controls = "the terms of a step that are of first order"
    unexplained = "how the tangent kernel H differs from its value at initialisation"

    control = Control("C_0 is zero, so that C_1 alone has this slope", _slope_of_progress)

    def predict(self, problem: Descent) -> Array:
        return -2 * problem.training.width * quadratic_form(problem.training)

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """The derivative of |F(W - eta Delta W) - Y|² with respect to eta at 0, with F from equation (1)."""
        training = problem.training
        loss = lambda weight: jnp.sum((naive_outputs(weight, training.sign, training.x) - training.y) ** 2)
        slope = jax.grad(loss)
        return -jnp.sum(slope(training.weight) ** 2) / 2

    def condition(self, problem: Descent) -> Array:
        return rounding(problem)


def progress(problem: Training) -> Array:
    """Return C_1 for the next step, which has the step size of the theory."""
    return terms(problem, problem.step).change[1]


class Progress(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network. Here m is the number of
    hidden units, the columns w_r of W are their weights, and each a_l is a vector of m signs ±1. Draw the weights with
    standard deviation sigma, and let the network learn targets Y, of shape (n, k), at n inputs with |x_i| <= 1. Let
    delta be the failure probability. Let lambda > 0 be the smallest eigenvalue of the tangent kernel H at
    initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1). Take a step of size eta = lambda / (10 m n² k²
    exp(16 B)) from W(tau). Let C_1 (Lemma E.1 of the source) be the part of the change of |F - Y|² in this step that is
    of first order in the numerators of the softmax. Let v = vec(F(tau) - Y), and let m = Omega(lambda^-2 n² k exp(12 B)
    log²(n k / delta)). With probability 1 - delta, C_1 satisfies

        C_1 <= -1.6 m eta v' H(tau) v.

    The test uses smaller widths, since networks of this width are too large to build.
    """

    title = "A descent step on a softmax network makes progress of 1.6 m eta v' H v or more (residual v, kernel H)"
    source = Source("gu2024softmax", "Lemma E.4")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03)
    relation = AtMost(delta=DELTA)
    control = Control("C_1 <= -2.1 m eta v' H v", lambda bound, problem: bound * 2.1 / 1.6)
    controls = "the term of a descent step that makes progress"
    unexplained = "why the source asks for this width, although the bound holds from a few units on"
    reading = "the constant that Omega hides is taken as 1, and the constant C > 10 in B as 10"
    expected = Status.OUTSIDE
    trivial = 0.0  # a step down the gradient does not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        name = "the width is above lambda^-2 n^2 k exp(12 B) log^2(nk/delta)"
        return [
            short_step(problem),
            Hypothesis.violated(name, "the source requires a width above 10^6; the test uses far fewer units"),
        ]

    def predict(self, problem: Training) -> Array:
        return -1.6 * problem.width * problem.step * quadratic_form(problem)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return progress(problem)


class ProgressBySmallestEigenvalue(Claim[Training]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network. Here m is the number of
    hidden units, the columns w_r of W are their weights, and each a_l is a vector of m signs ±1. Draw the weights with
    standard deviation sigma, and let the network learn targets Y, of shape (n, k), at n inputs with |x_i| <= 1. Let
    delta be the failure probability. Let lambda > 0 be the smallest eigenvalue of the tangent kernel H at
    initialisation, and let B = max(10 sigma sqrt(log(n k / delta)), 1). Take a step of size eta = lambda / (10 m n² k²
    exp(16 B)) from W(tau). Let H(tau) be the tangent kernel at W(tau), and let its smallest eigenvalue be at least half
    of lambda. Let C_1 (Lemma E.1 of the source) be the part of the change of |F - Y|² in this step that is of first
    order in the numerators of the softmax. With probability 1 - delta, C_1 satisfies

        C_1 <= -m eta lambda |F(tau) - Y|² / 2.

    Claim E.5 of the source defines C_1 anew, as -m eta v' H v, where v = vec(F - Y). The C_1 of Lemma E.1 is about
    twice as large in size, and the bound is weak enough to hold for both. In the test, the units are moved so that the
    smallest eigenvalue of H falls, and F - Y lies along the eigenvector of this eigenvalue.
    """

    title = "A descent step on a softmax network makes progress of at least m eta lambda / 2 times its loss |F - Y|²"
    source = Source("gu2024softmax", "Claim E.5", note="bound on C_1")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03, steps=0, movement=along_smallest_eigenvector)
    relation = AtMost(delta=DELTA)
    control = Control(
        "C_1 <= -1.9 m eta lambda |F - Y|²",
        lambda bound, problem: 3.8 * bound,
    )
    controls = "the term of a descent step that makes progress"
    unexplained = "a factor of 4: C_1 is twice as large, and the smallest eigenvalue stays near lambda"
    reading = "C_1 is defined as in Lemma E.1, not as in Claim E.5"
    expected = Status.OUTSIDE
    trivial = 0.0  # a step down the gradient does not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
        return [
            short_step(problem),
            Hypothesis("the smallest eigenvalue of H(tau)", smallest, ">=", problem.smallest / 2, "Claim E.5"),
            Hypothesis.violated(
                "C_1 = -m eta v' H v", "Lemma E.1 defines C_1 differently; the conclusion may still hold"
            ),
        ]

    def predict(self, problem: Training) -> Array:
        return -0.5 * problem.width * problem.step * problem.smallest * jnp.sum(problem.residual**2)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return progress(problem)


class SmallestEigenvalueKept(Claim[Training]):
    """Let a softmax network have k outputs, weights of standard deviation sigma and n inputs in the unit ball. Let H,
    of shape (n k, n k), be its tangent kernel, and let lambda = lambda_min(H(0)) > 0 be the smallest eigenvalue of H at
    initialisation. Let B = max(10 sigma sqrt(log(n k / delta)), 1), where delta is the failure probability. Suppose
    that, at time tau, no hidden unit is farther than R = lambda / (2 n k exp(10 B)) from its initialisation. Then with
    probability 1 - delta

        lambda_min(H(tau)) >= lambda / 2.

    The test moves every unit by R in the direction in which the smallest eigenvalue falls fastest.
    """

    title = "In training, the smallest eigenvalue of the softmax tangent kernel keeps half of its initial value"
    source = Source("gu2024softmax", "Claim E.5", note="bound on lambda_min(H)")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03, steps=0, movement=against_smallest_eigenvalue)
    relation = AtLeast(delta=DELTA)
    control = Control("the smallest eigenvalue does not fall", lambda half, problem: 2 * half)
    controls = "the smallest eigenvalue of the tangent kernel in training"
    unexplained = "why the eigenvalue falls by only a part in 10^5, although the statement allows for a half"
    reading = "the constant C > 10 in B is taken as 10"
    of_data = False  # on a table, the examination would take too long
    trivial = 0.0  # h is positive semidefinite

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        # R is about 1e-6, and the displacement is computed from a difference. The tolerance 1e-9 covers its rounding.
        return [
            Hypothesis("no unit has moved by more than R", problem.farthest, "<=", problem.radius, "Lemma 5.1", 1e-9)
        ]

    def predict(self, problem: Training) -> Array:
        return problem.smallest / 2

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The smallest eigenvalue of J J' / m, where J is the Jacobian of the outputs, by automatic differentiation."""
        slopes = jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)
        rows = slopes.reshape(problem.size, -1)
        return jnp.linalg.eigvalsh(rows @ rows.T / problem.width)[0]

    def condition(self, problem: Training) -> Array:
        """The condition number: eigenvalues have errors of n k eps times the largest eigenvalue."""
        return problem.size * jnp.trace(problem.first_tangent) / problem.smallest
