"""Three activations compared: the widths and the steps that training a two-layer network takes.

This theory says that ReLU, exponential and softmax networks need almost the same number of units and steps. It compares
upper bounds of the same form. Each bound has the activation's own lambda, the smallest eigenvalue of the tangent kernel
with respect to the hidden weights W. It assumes the symmetric initialisation (hidden units in pairs with equal weights
and opposite signs), n > 1 targets and lambda < 1. Factors n^o(1) are left out and hidden constants are taken as 1. This
reads the bounds in the strongest way. The theory does not explain why all three networks need far fewer units and steps
than the bounds, or what causes the small differences.

The bounds on ReLU networks come from munteanu2022, and the bounds on exponential networks from gao2023, as Table 1 of
gu2024softmax cites them.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Source
from lemmata.engine.problems.softmax_parameters import growth, logit_bound, required_steps, required_width
from lemmata.subjects.softmax_training._activations import ACTIVATIONS, limit_gram, sufficient_width, time_to_fit
from lemmata.subjects.softmax_training._softmax_training import DELTA, Training, initialise
from lemmata.subjects.softmax_training._trained_widths import ERROR, WIDTHS, ThreeActivations, horizon

ABOUT = {"tool": "spectral theory", "architecture": "dense network", "object": "training"}


class WidthRow(NamedTuple):
    """The width and steps that one statement requires on a table of data, and the width and steps that were enough.

    Args:
        statement: the statement: relu, exp or softmax as in Table 1, or softmax as in Theorem 4.2, whose width and
            steps have exponential factors.
        smallest: the smallest eigenvalue lambda of the tangent kernel at infinite width.
        required_width, required_steps: the width and steps that the statement requires.
        sufficient_width: the smallest tested width from which on training always reached the error in time. If there is
            none, twice the last width.
        sufficient_steps: the time in which the network of the last width reached the error, counted in steps of the
            statement's size. It is infinite if this network did not reach the error in time.
    """

    statement: str
    smallest: float
    required_width: float
    sufficient_width: float
    required_steps: float
    sufficient_steps: float


def table_width(activation: str, smallest: float | Array, size: int) -> Array:
    """Return Table 1's width: n² log(n) / lambda² for the ReLU, else n² log²(n) / lambda²; n is the size of H.

    Args:
        activation: relu, exp or softmax.
        smallest: the smallest eigenvalue lambda of the tangent kernel at infinite width.
        size: the number n k of targets, counted over rows and outputs (n in the formula).
    """
    return size**2 * math.log(size) ** (1 if activation == "relu" else 2) / jnp.asarray(smallest) ** 2


def table_steps(smallest: float | Array, size: int, error: float) -> Array:
    """Return the number of steps of Table 1, n² log(n / error) / lambda², which is the same for all three activations.

    Each step advances the flow with the tangent kernel by the time lambda / n².

    Args:
        smallest: the smallest eigenvalue lambda of the tangent kernel at infinite width.
        size: the number n k of targets, counted over rows and outputs (n in the formula).
        error: the required squared norm of outputs minus targets.
    """
    return size**2 * jnp.log(size / error) / jnp.asarray(smallest) ** 2


def width_table(
    x: Float[Array, "n d"],
    y: Float[Array, "n k"],
    sigma: float = 0.5,
    delta: float = DELTA,
    error: float = ERROR,
    key: Key[Array, ""] | None = None,
    widths: Sequence[int] = (2, 4, 8, 16, 32, 64, 128, 256, 512),
    steps: int = 1024,
) -> list[WidthRow]:
    """For three activations, return the widths and steps that are required, and those that are enough.

    Args:
        x: the inputs, in the unit ball.
        y: the targets, in the unit ball.
        sigma: the standard deviation of the weights.
        delta: the failure probability in Theorem 4.2.
        error: the required squared Frobenius norm of F - Y, outputs minus targets.
        key: the random key of the weights. All activations start from the same weights.
        widths: the tested widths, increasing.
        steps: the largest number of steps of descent for each network. A network that needs more steps counts as not
            trained.
    """
    n, k = y.shape
    drawn = jax.random.normal(jax.random.key(0) if key is None else key, (x.shape[1] + k, widths[-1] // 2), x.dtype)
    first, rows = initialise(drawn, x, y, sigma), []
    for activation in ACTIVATIONS:
        smallest = jnp.maximum(jnp.linalg.eigvalsh(limit_gram(activation, x, sigma))[0], 0.0)
        end = horizon(smallest, n * k, error)
        times = jnp.stack([
            time_to_fit(
                activation, first.start[:, :m], first.sign[:, :m], x, y, jnp.asarray(1.0 * m), jnp.asarray(error), end,
                steps=steps,
            )[0]
            for m in widths
        ])  # fmt: skip
        enough, last = float(sufficient_width(times, widths, end)), float(times[-1])
        size, value = n * k, float(smallest)
        asked = float(table_width(activation, smallest, size)), float(table_steps(smallest, size, error))
        spent = last * size**2 / value if value else math.inf
        rows.append(WidthRow(activation, value, asked[0], enough, asked[1], spent))
        if activation == "softmax" and value:
            bound = logit_bound(n, k, sigma, delta)
            width, number = required_width(value, n, k, bound, delta), required_steps(value, n, k, bound, error)
            spent = last * 10 * size**2 * growth(16 * bound) / value
            rows.append(WidthRow("softmax, Theorem 4.2", value, float(width), enough, float(number), spent))
    return rows


def smallest_of(activation: str, problem: Training) -> Array:
    """Return lambda, the smallest eigenvalue of the tangent kernel at infinite width; rounding below 0 is set to 0."""
    return jnp.maximum(jnp.linalg.eigvalsh(limit_gram(activation, problem.x, problem.sigma))[0], 0.0)


def times_to_fit(activation: str, problem: Training, widths: Array, end: Array) -> Array:
    """Return the flow times until the loss falls to 0.05, at several widths; times later than `end` are infinite."""
    fit = lambda units: time_to_fit(
        activation, problem.start, problem.sign, problem.x, problem.y, units, jnp.asarray(ERROR), end
    )[0]
    return jax.vmap(fit)(widths)


def width_of(activation: str, problem: Training) -> Array:
    """Return the smallest of the widths 2, 4, ..., 128 from which on training reaches an error of 0.05 in time."""
    end = horizon(smallest_of(activation, problem), problem.size, ERROR)
    return sufficient_width(times_to_fit(activation, problem, jnp.asarray(WIDTHS), end), WIDTHS, end)


class AbstractTableWidth(Claim[Training]):
    """Base of claims that a width of Table 1 suffices to train the network.

    The claims measure the smallest of the widths 2, 4, ..., 128 from which on training succeeds.
    """

    relation = AtMost(delta=DELTA)
    control = Control(
        "2 k units suffice, where k is the number of outputs",
        lambda width, problem: jnp.asarray(2.0 * len(problem.sign)),
        loose="the width in the table is above 1e3, but a few units are enough",
    )  # fmt: skip
    controls = "the width that training needs"
    unexplained = "why much smaller widths are enough"
    reading = "the factors n^o(1) are left out, and hidden constants are taken as 1"
    trivial = "before training, no width is known to be enough"
    activation: ClassVar[str]

    def predict(self, problem: Training) -> Array:
        return table_width(self.activation, smallest_of(self.activation, problem), problem.size)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return width_of(self.activation, problem)


class AbstractTableSteps(Claim[Training]):
    """Base of claims that a number of steps of Table 1 suffices at width 128.

    Each step has the length lambda / n² in the flow time of the tangent kernel H.
    """

    relation = AtMost(delta=DELTA)
    control = Control(
        "an eighth of the steps suffices", lambda steps, problem: steps / 8,
        loose="a contraction at the rate 2 lambda needs a quarter of the steps",
    )  # fmt: skip
    controls = "the steps that training needs"
    unexplained = "why far fewer steps are enough"
    reading = "the factors n^o(1) are left out, and hidden constants are taken as 1"
    trivial = "before training, it is not known whether any number of steps is enough"
    activation: ClassVar[str]

    def predict(self, problem: Training) -> Array:
        return table_steps(smallest_of(self.activation, problem), problem.size, ERROR)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        value = smallest_of(self.activation, problem)
        end = 4 * horizon(value, problem.size, ERROR)
        widest = jnp.asarray(WIDTHS[-1:])
        return times_to_fit(self.activation, problem, widest, end)[0] * problem.size**2 / value


class ReluWidth(AbstractTableWidth):
    """Let n > 1 be the number of targets of a ReLU network, counted over all rows and outputs. Inputs and targets lie
    in unit balls, and the error is the squared Frobenius norm of outputs minus targets. Let lambda, with 0 < lambda <
    1, be the smallest eigenvalue of the network's tangent kernel <x, y> (pi - angle(x, y)) / (2 pi) at the training
    inputs. A ReLU network of width n² log(n) / lambda² can be trained to an error of 0.05.

    lemmata trains networks of the widths 2, 4, ..., 128 for the flow time 2 log(n / 0.05) / lambda. A width suffices if
    training at this width and at all larger tested widths reaches an error of 0.05. lemmata measures the smallest width
    that suffices.
    """

    title = "Width n² log(n)/lambda² is enough for a ReLU network to fit n targets (lambda: least kernel eigenvalue)"
    source = Source("gu2024softmax", "Table 1, ReLU, m", note="Theorem 3.6 of Munteanu et al. (2022)")
    activation = "relu"
    population = ThreeActivations(("relu",))


class ExponentialWidth(AbstractTableWidth):
    """Let n > 1 be the number of targets of a network of exponential units, counted over rows and outputs. Inputs and
    targets lie in unit balls, and the error is the squared Frobenius norm of outputs minus targets. Let lambda, with 0
    < lambda < 1, be the smallest eigenvalue of the network's tangent kernel <x, y> exp(sigma² |x + y|² / 2) at the
    training inputs. Here sigma is the standard deviation of the initial weights. An exponential network of width n²
    log²(n) / lambda² can be trained to an error of 0.05.

    lemmata trains networks of the widths 2, 4, ..., 128 for the flow time 2 log(n / 0.05) / lambda. A width suffices if
    training at this width and at all larger tested widths reaches an error of 0.05. lemmata measures the smallest width
    that suffices.
    """

    title = "Width n² log²(n)/lambda² is enough for an exponential network to fit n targets (lambda: least eigenvalue)"
    source = Source("gu2024softmax", "Table 1, exp, m", note="Theorem 1.1 of Gao et al. (2023)")
    activation = "exp"
    population = ThreeActivations(("exp",))


class SoftmaxWidth(AbstractTableWidth):
    """Let n > 1 be the number of targets of a softmax network, counted over rows and outputs. Inputs and targets lie in
    unit balls, and the error is the squared Frobenius norm of outputs minus targets. Let lambda, with 0 < lambda < 1,
    be the smallest eigenvalue of the network's tangent kernel <x, y> exp(sigma² <x, y>) at the training inputs. Here
    sigma is the standard deviation of the initial weights. A softmax network of width n² log²(n) / lambda² can be
    trained to an error of 0.05.

    In the source's theorem, the width has one more factor exp(18 B), where B is a bound on the logits. The claim leaves
    this factor out, because it is of the order n^o(1). lemmata trains networks of the widths 2, 4, ..., 128 for the
    flow time 2 log(n / 0.05) / lambda. A width suffices if training at this width and at all larger tested widths
    reaches an error of 0.05. lemmata measures the smallest width that suffices.
    """

    title = "Width n² log²(n)/lambda² is enough for a softmax network to fit n targets (lambda: least eigenvalue)"
    source = Source("gu2024softmax", "Table 1, softmax, m")
    activation = "softmax"
    population = ThreeActivations(("softmax",))


class ReluSteps(AbstractTableSteps):
    """Let n > 1 be the number of targets of a ReLU network, counted over all rows and outputs. Inputs and targets lie
    in unit balls. Let lambda, with 0 < lambda < 1, be the smallest eigenvalue of the network's tangent kernel at
    infinite width. The error is the squared Frobenius norm of outputs minus targets, and the required error is 0.05.
    Gradient descent reaches this error in n² log(n / error) / lambda² steps of size lambda / n². The width in this test
    is 128.
    """

    title = "Descent fits ReLU networks to n targets in n² log(n/error)/lambda² steps (lambda: least eigenvalue)"
    source = Source("gu2024softmax", "Table 1, ReLU, T", note="Theorem 3.6 of Munteanu et al. (2022)")
    activation = "relu"
    population = ThreeActivations(("relu",))


class ExponentialSteps(AbstractTableSteps):
    """Let n > 1 be the number of targets of a network of exponential units, counted over rows and outputs. Inputs and
    targets lie in unit balls. Let lambda, with 0 < lambda < 1, be the smallest eigenvalue of the network's tangent
    kernel at infinite width. The error is the squared Frobenius norm of outputs minus targets, and the required error
    is 0.05. Gradient descent reaches this error in n² log(n / error) / lambda² steps of size lambda / n², up to a
    factor n^o(1). The width in this test is 128.
    """

    title = "Descent fits exponential networks to n targets in n² log(n/error)/lambda² steps (lambda: least eigenvalue)"
    source = Source("gu2024softmax", "Table 1, exp, T", note="Theorem 1.1 of Gao et al. (2023)")
    activation = "exp"
    population = ThreeActivations(("exp",))


class SoftmaxSteps(AbstractTableSteps):
    """Let n > 1 be the number of targets of a softmax network of width m, counted over rows and outputs. Inputs and
    targets lie in unit balls. Let lambda, with 0 < lambda < 1, be the smallest eigenvalue of the network's tangent
    kernel at infinite width. The error is the squared Frobenius norm of outputs minus targets, and the required error
    is 0.05. Gradient descent reaches this error in n² log(n / error) / lambda² steps of size lambda / (m n²). The width
    in this test is 128.

    In the source's theorem, a factor exp(16 B) divides the step size and multiplies the number of steps, where B is a
    bound on the logits. The factor is left out here, because it is of the order n^o(1).
    """

    title = "Descent fits softmax networks to n targets in n² log(n/error)/lambda² steps (lambda: least eigenvalue)"
    source = Source("gu2024softmax", "Table 1, softmax, T")
    activation = "softmax"
    population = ThreeActivations(("softmax",))


class WidthsAlike(Claim[Training]):
    """Train a ReLU, an exponential and a softmax network on the same inputs and targets in unit balls, with the same
    initial weights. The training time of each network depends on its own lambda, the smallest eigenvalue of its tangent
    kernel at infinite width. For each network, find the smallest width that suffices to train the network. These widths
    are almost the same. In the geometric mean over problems, the ReLU network and the exponential network each need
    between half and twice the width of the softmax network.

    The source compares upper bounds, and says that the networks need almost the same number of neurons. A factor of 2
    is one step along the tested widths 2, 4, ..., 128. The ReLU network needs the largest width.
    """

    title = "ReLU, exponential and softmax networks need almost the same width to fit the same targets"
    source = Source("gu2024softmax", "Section 4, comparison of widths")
    population = ThreeActivations()
    relation = EqualInMean(margin=1.0, resolution=0.25, relative=False, over="problems")
    control = Control(
        "the ReLU network needs eight times the width of the softmax network, and the exponential network an eighth "
        "of this width",
        lambda zero, problem: jnp.array([3.0, -3.0]),
    )
    controls = "the ratio of the widths that suffice"
    trials = 128
    unexplained = "single problems, in which the widths differ by up to a factor of 16"
    predict = (0.0, 0.0)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """Divide the ReLU and the exponential network's width by the softmax network's; return log2 of both ratios."""
        relu, exponential, softmax = (jnp.log2(width_of(activation, problem)) for activation in ACTIVATIONS)
        return jnp.stack([relu - softmax, exponential - softmax])
