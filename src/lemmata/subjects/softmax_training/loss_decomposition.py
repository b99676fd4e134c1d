"""One step of descent on a softmax network as a sum of terms.

This theory gives the exact change of the loss |F - Y|² in one step, where F are the outputs and Y the targets. The
change has four terms, of which two are of first order in the step size eta. For all weights, the first-order part of
these two terms is -2 m eta v' H v. Here v = vec(F - Y), m is the width and H the tangent kernel. The theory assumes
only that a step is taken. The modules `loss_progress` and `loss_remainders` bound the sizes of the terms.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Passage, Source, Status
from lemmata.subjects.softmax_training._softmax_runs import Descent, Descents
from lemmata.subjects.softmax_training._softmax_training import Training, output_change, vec

from .network import naive_outputs

ABOUT = {"tool": "linear algebra", "architecture": "dense network", "object": "training"}


class Terms(eqx.Module):
    """The parts of F(tau + 1) - F(tau) and of the change of the loss (Lemma E.1).

    Args:
        normaliser: v_0, the part of the change of F that comes from the denominator of the softmax.
        linear: v_1, the part that comes from the numerators, to first order in the step.
        remainder: v_2, the rest of the part that comes from the numerators.
        change: C_0, C_1, C_2, C_3, whose sum is the change of |F - Y|².
    """

    normaliser: Float[Array, "n k"]
    linear: Float[Array, "n k"]
    remainder: Float[Array, "n k"]
    change: Float[Array, "4"]


def exp_curvature(u: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return theta(u) = (exp(u) - 1 - u) / u², which Fact A.8 writes as Theta(1); theta(0) = 1/2.

    If |u| <= 0.01, theta is between 0.498 and 0.502.

    Args:
        u: any real numbers.
    """
    # (1 + u/3 (1 + u/4 (1 + ...))) / 2: if |u| < 0.1, ten factors leave a relative remainder of 0.1^11 / 13!.
    series = jnp.ones_like(u)
    for k in range(12, 2, -1):
        series = 1 + u / k * series
    far = jnp.where(jnp.abs(u) < 0.1, 1.0, u)
    return jnp.where(jnp.abs(u) < 0.1, series / 2, (jnp.expm1(far) - far) / far**2)


def exp_remainder(u: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return exp(u) - 1 - u, computed without cancellation.

    Args:
        u: any real numbers.
    """
    return u**2 * exp_curvature(u)


def terms(training: Training, step: Float[Array, ""]) -> Terms:
    """Return v_0, v_1, v_2 and C_0 to C_3 of Lemma E.1, computed without cancellation.

    Let S be the softmax of the logits at tau, and alpha its denominator. Let u = -eta <Delta w, x> be the change of the
    logits, where Delta w is the gradient, and let e = <S, expm1(u)>. Then 1/alpha(tau + 1) - 1/alpha(tau) is
    -e / alpha(tau + 1), so v_0 = -e F(tau + 1).

    Args:
        training: the network at tau.
        step: the step size eta.
    """
    shares = jax.nn.softmax(training.x @ training.weight, axis=1)
    change = -step * training.x @ training.gradient
    grown = jnp.sum(shares * jnp.expm1(change), axis=1, keepdims=True)
    moved = output_change(shares, training.sign, change)
    linear = training.width * (shares * change) @ training.sign.T
    remainder = training.width * (shares * exp_remainder(change)) @ training.sign.T
    normaliser = -grown * (training.outputs + moved)
    inner = [2 * jnp.sum(training.residual * v) for v in (normaliser, linear, remainder)]
    return Terms(normaliser, linear, remainder, jnp.stack([*inner, jnp.sum(moved**2)]))


def quadratic_form(training: Training) -> Float[Array, ""]:
    """Return v' H(tau) v, where v = vec(F(tau) - Y)."""
    residual = vec(training.residual)
    return residual @ training.tangent @ residual


class LossDecomposition(Claim[Descent]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network. Here m is the number of
    hidden units, the columns w_r of W are their weights, and each a_l is a vector of m signs ±1. Let the network learn
    targets Y, of shape (n, k), at inputs x_i. Take a step W(tau + 1) = W(tau) - eta Delta W along the gradient Delta W
    of |F - Y|²/2, and let it move no unit by more than 0.01.

    Let alpha_i = sum_r exp(<w_r, x_i>), let S_ir = exp(<w_r, x_i>) / alpha_i be the shares, and let u_ir = -eta <Delta
    w_r, x_i>. Let theta = (exp(u) - 1 - u) / u², which is between 0.498 and 0.502 for |u| <= 0.01. Let

        v_0 = m sum_r a_lr (alpha_i(tau + 1)^-1 - alpha_i(tau)^-1) exp(<w_r(tau + 1), x_i>),
        v_1 = m sum_r a_lr S_ir u_ir,        v_2 = m sum_r a_lr S_ir theta_ir u_ir².

    With C_j = 2 <F(tau) - Y, v_j> for j < 3, and C_3 = |F(tau + 1) - F(tau)|², the loss changes by four terms:

        |F(tau + 1) - Y|² = |F(tau) - Y|² + C_0 + C_1 + C_2 + C_3.
    """

    title = "One descent step changes a softmax network's loss by a sum of four terms"
    source = Source("gu2024softmax", "Lemma E.1")
    population = Descents()
    relation = Equal()
    control = Control(
        "the term C_3 is missing",
        lambda slope, problem: slope - terms(problem.training, problem.step).change[3] / problem.step,
    )
    controls = "the change of the loss in one step of descent"
    unexplained = "the size of each term"
    reading = "the source's Theta(1) is read as theta"

    def predict(self, problem: Descent) -> Array:
        """The sum of the four terms, divided by eta."""
        return terms(problem.training, problem.step).change.sum() / problem.step

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """Return the change of the loss divided by eta, for a step along the automatic gradient.

        The outputs are computed by equation (1), F = m <a_l, exp(W' x)> / <exp(W' x), 1>.
        """
        training = problem.training
        loss = lambda weight: jnp.sum((naive_outputs(weight, training.sign, training.x) - training.y) ** 2)
        after = training.weight - problem.step * jax.grad(loss)(training.weight) / 2
        return (loss(after) - loss(training.weight)) / problem.step

    def condition(self, problem: Descent) -> Array:
        """The condition number: losses of size |F - Y|² are subtracted, with errors of about m |F - Y| eps."""
        training = problem.training
        found = jnp.abs(terms(training, problem.step).change.sum())
        return training.width * (1 + jnp.sum(training.residual**2)) / found


class AbstractNormaliserSlope(Claim[Descent]):
    """Base of the printed and the corrected claim on v_0: its derivative with respect to the step size, at 0.

    v_0 is the change of the outputs that comes from the denominator of the softmax (Lemma E.1).
    """

    population = Descents()
    relation = Equal(block=-1)  # sums of m terms of either sign, one for each output, have errors of one size
    controls = "the part of a step that goes through the denominator of the softmax"
    unexplained = "the size of this part"

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """The derivative of v_0 in Lemma E.1 with respect to the step size, by automatic differentiation."""
        training = problem.training
        gradient = training.gradient

        def normaliser(step: Array) -> Array:
            before, after = (jnp.exp(training.x @ (training.weight - s * gradient)) for s in (0.0, step))
            change = 1 / after.sum(axis=1) - 1 / before.sum(axis=1)
            return training.width * change[:, None] * (after @ training.sign.T)

        return jax.jacfwd(normaliser)(0.0)

    def condition(self, problem: Descent) -> Array:
        """The condition number: sums of m terms of size |Delta w| cancel in <S, Delta W' x> and F."""
        training = problem.training
        size = jnp.linalg.norm(training.gradient, axis=0).max() * training.width
        return 10 * jnp.maximum(size / jnp.abs(_normaliser_slope(training)).max(), 1.0)


def _normaliser_slope(training: Training) -> Float[Array, "n k"]:
    shares = jax.nn.softmax(training.x @ training.weight, axis=1)
    pull = jnp.sum(shares * (training.x @ training.gradient), axis=1, keepdims=True)
    return training.width * (shares @ training.sign.T) * pull


class NormaliserSlopeAsPrinted(AbstractNormaliserSlope):
    """As printed: let a softmax network have m units, signs a_lr and outputs F_l(x_i). Its shares S_ir have the
    denominator alpha_i = sum_r exp(<w_r, x_i>). A step of size eta along the gradient Delta W, with the columns Delta
    w_q, changes the outputs through this denominator by v_0 (Lemma E.1 of the source). To first order in eta, v_0 is

        m sum_r a_lr S_ir sum_q (-eta <Delta w_q, x_i>) S_iq.

    In fact the sign is wrong. The proof replaces 1/alpha' - 1/alpha by (alpha' - alpha) / (alpha alpha'), although the
    line before states 1/a - 1/b = (b - a) / (a b). Nothing that follows needs the sign. The claim is tested after
    division by eta, as eta goes to 0.
    """

    title = "As printed, a descent step's change of the outputs through the softmax's denominator has a negative sign"
    source = Source("gu2024softmax", "(14)", note="proof of Lemma E.3, as printed")
    control = Control("v_0 is twice as large", lambda slope, problem: 2 * slope)
    passage = Passage(
        "002_545c803f47cecb7a.txt",
        70608,
        71703,
        "7985bce8cc121799",
        says="to first order in the step, v_0 is this sum over pairs of units; the printed sign is a slip",
        right_if="the sign is positive; the bound on |C_0| that follows does not depend on the sign",
        formula="v_0 = m (sum_r a_lr sum_q -eta <Delta w_q, x_i> S_iq(tau) S_ir(tau + 1) + eta² Delta_2)",
    )
    expected = Status.REFUTED

    def predict(self, problem: Descent) -> Array:
        return -_normaliser_slope(problem.training)


class NormaliserSlope(AbstractNormaliserSlope):
    """Let a softmax network have m units, signs a_lr, shares S_i and outputs F_l(x_i). A step of size eta along the
    gradient Delta W, with the columns Delta w_q, changes the outputs through the denominator of the shares by v_0
    (Lemma E.1 of the source). To first order in eta, v_0 is

        +eta m sum_r a_lr S_ir sum_q <Delta w_q, x_i> S_iq = eta F_l(x_i) <S_i, Delta W' x_i>.

    The claim is tested after division by eta, as eta goes to 0. The source prints the opposite sign. Its bound on the
    change of the loss through the denominator does not depend on the sign.
    """

    title = "A descent step changes an output by eta F_l(x_i) <S_i, Delta W' x_i> through the softmax's denominator"
    source = Source("gu2024softmax", "(14)", note="proof of Lemma E.3, with the sign corrected")
    control = Control("v_0 is larger by a thousandth", lambda slope, problem: 1.001 * slope)
    corrects = NormaliserSlopeAsPrinted

    def predict(self, problem: Descent) -> Array:
        return _normaliser_slope(problem.training)


class NormaliserSplit(Claim[Descent]):
    """Let a softmax network have m units, signs a_lr, shares S and outputs F_l(x_i). Take a step of size eta along the
    gradient Delta W, let S_ir(tau + 1) be the shares after the step, and let u = -eta Delta W' x. Let Q_1 be a sum over
    pairs of equal units, and Q_2 a sum over pairs of different units r and q:

        Q_1 = (1/m) sum_r a_lr u_ir S_ir S_ir(tau + 1),    Q_2 = (1/m) sum_r a_lr sum_{q != r} u_iq S_iq S_ir(tau + 1).

    Let v_0 (Lemma E.1 of the source) be the change of the outputs through the denominator of the shares. The
    first-order term of v_0 is m² (Q_1 + Q_2).

    Claim 3.4 of the source writes the gradient of every unit as a sum over residuals. If this sum is inserted for the
    gradients, the factor m of the gradient cancels the factor 1/m. The claim is tested after division by eta.
    """

    title = "A descent step's change of the outputs through the softmax's denominator is a sum over pairs of units"
    source = Source("gu2024softmax", "(15)", note="proof of Lemma E.3")
    population = Descents()
    relation = Equal(block=-1)  # as above
    control = Control("the first-order term is m (Q_1 + Q_2)", lambda slope, problem: slope / problem.training.width)
    controls = "the change of the loss in one step of descent"
    unexplained = "the size of the terms"

    def predict(self, problem: Descent) -> Array:
        """The first-order term of v_0, divided by eta, as a product of two sums."""
        training, step = problem.training, problem.step
        shares, after = (jax.nn.softmax(training.x @ (training.weight - s * training.gradient)) for s in (0.0, step))
        pull = -jnp.sum(shares * (training.x @ training.gradient), axis=1, keepdims=True)
        return training.width * (after @ training.sign.T) * pull

    def measure(self, problem: Descent, key: Key[Array, ""]) -> Array:
        """m² (Q_1 + Q_2) / eta, with each gradient written as a sum over residuals."""
        training, m = problem.training, problem.training.width
        mass = [jnp.exp(training.x @ (training.weight - s * training.gradient)) for s in (0.0, problem.step)]
        shares, after = (a / a.sum(axis=1, keepdims=True) for a in mass)
        centred = training.sign.T[None] - (shares @ training.sign.T)[:, None]
        pull = -jnp.einsum("jl,jrl,jr,ji->ir", training.residual, centred, shares, training.x @ training.x.T)
        every = jnp.einsum("lr,iq,iq,ir->il", training.sign, pull, shares, after)
        same = jnp.einsum("lr,ir,ir,ir->il", training.sign, pull, shares, after)
        return m**2 * (same + (every - same))

    def condition(self, problem: Descent) -> Array:
        """The condition number of sums of m terms of size |Delta w|, which cancel."""
        training = problem.training
        size = jnp.linalg.norm(training.gradient, axis=0).max() * training.width
        return 10 * size / jnp.abs(self.predict(problem)).max()
