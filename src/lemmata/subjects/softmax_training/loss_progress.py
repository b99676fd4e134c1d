"""The term of a step that makes progress.

This theory controls C_1, the part of a step's change of the loss in which the numerator of the softmax moves, by the
tangent kernel H at the current weights, and H by its smallest eigenvalue at initialisation. The source needs random
signs and a width above lambda^-2 for C_1 and for C_0; the two sum to -2 m eta v' H v, v = vec(F - Y), at every width.
It leaves unexplained the radius R in which H keeps half of lambda: H moves far less.
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
    """What the identities on C_1 / eta share: its measurement, by the derivative of the numerators."""

    population = Descents()
    relation = Equal()
    controls = "the term of a step that makes progress"
    unexplained = "how H differs from its value at initialisation"

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """Twice <F - Y, derivative of m <a_l, exp(W' x)> / alpha at fixed alpha>, automatically."""
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
    """Condition of slopes: sums over m units whose outputs cancel, with residuals of absolute error m eps."""
    training = problem.training
    return 10 * training.width * (1 + 1 / jnp.linalg.norm(training.residual))


class ProgressSplit(AbstractProgressIdentity):
    """A step of size eta along the gradient Delta W of |F - Y|²/2, for a network F_l(x_i) = m <a_l, S_i> with shares
    S_i = softmax(W' x_i) of m units, signs a_l and targets Y, changes outputs to first order by
    v_1 = m sum_r a_lr S_ir u_ir, u = -eta Delta W' x. With a_lr = <a_lr 1 - a_l, S_i> + <a_l, S_i> in front of every
    unit, v_1 = m² (Q_1 + Q_2), of which Q_1 makes

        <F - Y, Q_1> = -(eta / m) v' H v,   v = vec(F - Y),

    H the tangent kernel over m, so that C_1 = 2 <F - Y, v_1> = -2 m eta v' H v + 2 m² <F - Y, Q_2>, with
    m² Q_2 = -eta F_l(x_i) <S_i, Delta W' x_i>. Judged for C_1 / eta. The second part is -C_0 to first order (claim
    `first_order_terms`).
    """

    title = "The progress of a step in two parts"
    source = Source("gu2024softmax", "(16)", "(17)", note="proof of Lemma E.4")
    control = Control(
        "Q_2 is missing", lambda slope, problem: -2 * problem.training.width * quadratic_form(problem.training)
    )

    def predict(self, problem: Descent) -> Array:
        """-2 m v' H v - 2 sum_i <F_i - y_i, F_i> <S_i, Delta W' x_i>."""
        training = problem.training
        shares = jax.nn.softmax(training.x @ training.weight, axis=1)
        pull = jnp.sum(shares * (training.x @ training.gradient), axis=1)
        second = -2 * jnp.sum(jnp.sum(training.residual * training.outputs, axis=1) * pull)
        return -2 * training.width * quadratic_form(training) + second


def at_the_start(problem: Descent) -> Hypothesis:
    """That the weights are those of the initialisation."""
    return Hypothesis("training has not begun", problem.training.farthest, "<=", 0.0, "F = 0 there, and so Q_2 = 0")


class ProgressEquality(AbstractProgressIdentity):
    """In the first step, of size eta, from the initialisation of a network F of m units (F = 0) towards targets Y, the
    term C_1 of Lemma E.1, the change of |F - Y|² to first order through the numerators of the softmax, is

        C_1 = -2 m eta v' H v,   v = vec(F - Y),   H the tangent kernel over m,

    exactly, at every width. Claim E.5 calls C_1 the half of it; its conclusion holds for both.
    """

    title = "The progress of the first step"
    source = Source("gu2024softmax", "Claim E.5", note="its C_1, with the factor of Lemma E.1")
    stated = Kind.REPAIR
    population = Descents(steps=0)
    control = Control("smaller by a thousandth", lambda slope, problem: 0.999 * slope)

    def hypotheses(self, problem: Descent) -> list[Hypothesis]:
        return [at_the_start(problem)]

    def predict(self, problem: Descent) -> Array:
        return -2 * problem.training.width * quadratic_form(problem.training)


def _slope_of_progress(slope: Array, problem: Descent) -> Array:
    """C_1 / eta for a step so short that only the first order is left."""
    tiny = 1e-9 * problem.step
    return terms(problem.training, tiny).change[1] / tiny


class FirstOrderTerms(Claim[Descent]):
    """The loss |F - Y|² of a softmax network F of m units with targets Y changes in a step of size eta by terms C_0 to
    C_3 (Lemma E.1), of which C_0 (the denominator) and C_1 (the numerators) are of first order. They add up, at every
    width and all weights, to

        d/d eta (C_0 + C_1) = -2 m v' H v,   v = vec(F - Y),   H the tangent kernel over m,

    at eta = 0: the second part of C_1 is -C_0. A lower bound on progress needs no concentration, and none of the
    widths that Lemmas E.3 and E.4 ask for: they bound two parts, by chance, that cancel.
    """

    title = "The terms of first order cancel up to the tangent kernel"
    source = Source("gu2024softmax", "Lemma E.3", "Lemma E.4", note="whose parts cancel (not stated there)")
    stated = Kind.OWN
    population = Descents()
    relation = Equal()
    controls = "the terms of a step that are of first order"
    unexplained = "how H differs from its value at initialisation"

    control = Control("C_0 is nothing: C_1 alone has this slope", _slope_of_progress)

    def predict(self, problem: Descent) -> Array:
        return -2 * problem.training.width * quadratic_form(problem.training)

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """The derivative of |F(W - eta Delta W) - Y|², from equation (1)."""
        training = problem.training
        loss = lambda weight: jnp.sum((naive_outputs(weight, training.sign, training.x) - training.y) ** 2)
        slope = jax.grad(loss)
        return -jnp.sum(slope(training.weight) ** 2) / 2

    def condition(self, problem: Descent) -> Array:
        return rounding(problem)


def progress(problem: Training) -> Array:
    """C_1 of the next step of the theory's size."""
    return terms(problem, problem.step).change[1]


class Progress(Claim[Training]):
    """A network F_l(x) = m <a_l, softmax(W' x)> of m units and k outputs, with weights drawn with standard deviation
    sigma, learns targets Y, of shape (n, k), at n inputs with |x_i| <= 1. C_1 (Lemma E.1) is the part of the change of
    |F - Y|² in a step that is of first order in the numerators of the softmax. At the step
    eta = lambda / (10 m n² k² exp(16 B)), with B = max(10 sigma sqrt(log(n k / delta)), 1) and lambda > 0 the smallest
    eigenvalue of the tangent kernel H at initialisation, it is, with probability 1 - delta, at most

        C_1 <= -1.6 m eta v' H(tau) v,   v = vec(F(tau) - Y),

    if m = Omega(lambda^-2 n² k exp(12 B) log²(n k / delta)). The widths here are those that can be built.
    """

    title = "A step makes progress"
    source = Source("gu2024softmax", "Lemma E.4")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03)
    relation = AtMost(delta=DELTA)
    control = Control("C_1 <= -2.1 m eta v' H v", lambda bound, problem: bound * 2.1 / 1.6)
    controls = "the term of a step that makes progress"
    unexplained = "the width that the source asks for: the bound holds from a few units on"
    reading = "the constant that Omega hides is 1, the constant C > 10 of B is 10"
    expected = Status.OUTSIDE
    trivial = 0.0  # a step down the gradient does not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        name = "the width is above lambda^-2 n^2 k exp(12 B) log^2(nk/delta)"
        return [short_step(problem), Hypothesis.violated(name, "it is above 10^6; does it take so many units?")]

    def predict(self, problem: Training) -> Array:
        return -1.6 * problem.width * problem.step * quadratic_form(problem)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return progress(problem)


class ProgressBySmallestEigenvalue(Claim[Training]):
    """A network F_l(x) = m <a_l, softmax(W' x)> of m units learns targets Y, of shape (n, k), at n inputs by descent
    with steps of size eta = lambda / (10 m n² k² exp(16 B)), lambda > 0 the smallest eigenvalue of its tangent kernel
    at initialisation and B the bound on its logits. While the kernel H(tau) keeps half of lambda, the part C_1 of the
    change of |F - Y|² in a step (Lemma E.1: of first order in the numerators of the softmax) is, with probability
    1 - delta, at most

        C_1 <= -m eta lambda |F(tau) - Y|² / 2.

    The claim defines C_1 anew, as -m eta v' H v, v = vec(F - Y); the C_1 of Lemma E.1 is about twice that, and the
    conclusion has room for it. Units have moved so that the smallest eigenvalue fell, and
    F - Y lies along its eigenvector.
    """

    title = "A step makes progress in every direction"
    source = Source("gu2024softmax", "Claim E.5", note="bound on C_1")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03, steps=0, movement=along_smallest_eigenvector)
    relation = AtMost(delta=DELTA)
    control = Control("C_1 <= -1.9 m eta lambda |F - Y|²", lambda bound, problem: 3.8 * bound)
    controls = "the term of a step that makes progress"
    unexplained = "the factor 4: C_1 has twice the size, and the smallest eigenvalue stays near lambda"
    reading = "C_1 is that of Lemma E.1, not of the claim's own condition"
    expected = Status.OUTSIDE
    trivial = 0.0  # a step down the gradient does not climb

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
        return [
            short_step(problem),
            Hypothesis("the smallest eigenvalue of H(tau)", smallest, ">=", problem.smallest / 2, "Claim E.5"),
            Hypothesis.violated(
                "C_1 = -m eta v' H v", "Lemma E.1 defines C_1 otherwise; the conclusion may still hold"
            ),
        ]

    def predict(self, problem: Training) -> Array:
        return -0.5 * problem.width * problem.step * problem.smallest * jnp.sum(problem.residual**2)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return progress(problem)


class SmallestEigenvalueKept(Claim[Training]):
    """If no hidden unit of a softmax network with k outputs and n inputs in the unit ball has moved by more than
    R = lambda / (2 n k exp(10 B)) from its initialisation, B = max(10 sigma sqrt(log(n k / delta)), 1) for weights of
    standard deviation sigma, then with probability 1 - delta its tangent kernel H, of shape (n k, n k), has

        lambda_min(H(tau)) >= lambda / 2,   lambda = lambda_min(H(0)) > 0.

    The movements are those that lower the smallest eigenvalue fastest: every unit by R against its derivative.
    """

    title = "The smallest eigenvalue is kept in training"
    source = Source("gu2024softmax", "Claim E.5", note="bound on lambda_min(H)")
    population = SoftmaxRuns(k=2, pairs=16, sigma=0.03, steps=0, movement=against_smallest_eigenvalue)
    relation = AtLeast(delta=DELTA)
    control = Control("the smallest eigenvalue does not fall", lambda half, problem: 2 * half)
    controls = "the smallest eigenvalue of the tangent kernel in training"
    unexplained = "why the eigenvalue falls by a part in 10^5 where the statement allows for a half"
    reading = "the constant C > 10 of B is 10"
    of_data = False  # on a table, the examination would take too long
    trivial = 0.0  # h is positive semidefinite

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        # R is about 1e-6, and the displacement is read off a difference: 1e-9 covers its rounding.
        return [Hypothesis("no unit has moved by R", problem.farthest, "<=", problem.radius, "Lemma 5.1", 1e-9)]

    def predict(self, problem: Training) -> Array:
        return problem.smallest / 2

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The smallest eigenvalue of J J' / m, J by automatic differentiation of equation (1)."""
        slopes = jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)
        rows = slopes.reshape(problem.size, -1)
        return jnp.linalg.eigvalsh(rows @ rows.T / problem.width)[0]

    def condition(self, problem: Training) -> Array:
        """Eigenvalues are computed to n k eps of the largest."""
        return problem.size * jnp.trace(problem.first_tangent) / problem.smallest
