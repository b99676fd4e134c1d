"""Three activations beside each other: the widths and steps that training a two-layer network takes.

This theory says that ReLU, exponential and softmax networks need almost the same number of units and steps, from upper
bounds of the same form with each activation's own lambda, the smallest eigenvalue of the tangent kernel over W. It
assumes the symmetric initialisation, n > 1 and lambda < 1; the powers n^o(1) are left out and hidden constants are 1,
the strongest readings. It leaves unexplained that all three need far less, and what makes the small differences.

Bounds on ReLU networks are those of munteanu2022, on exponential networks those of gao2023, as Table 1 of gu2024softmax
cites them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source, Space
from lemmata.problems._sampled import draws
from lemmata.problems._softmax_parameters import growth, logit_bound, required_steps, required_width
from lemmata.problems._softmax_training import (
    DELTA,
    Training,
    initialise,
    pose_training,
    small_eigenvalue_cause,
    sphere_points,
)

from lemmata.problems._activations import ACTIVATIONS, limit_gram, sufficient_width, time_to_fit
from .convergence import ERROR, WIDTHS, horizon, spread_points


class WidthRow(NamedTuple):
    """What one statement asks for on a table of data, and what was enough.

    Args:
        statement: relu, exp or softmax as Table 1 has them, or the softmax of Theorem 4.2 with its exponentials.
        smallest: lambda, of the limit of the tangent kernel.
        required_width, required_steps: what the statement asks for.
        sufficient_width: the smallest width of the ladder from which on training was in time; twice the last for none.
        sufficient_steps: the time in which the last width was trained, in steps of the statement's size; infinite where
            it was not.
    """

    statement: str
    smallest: float
    required_width: float
    sufficient_width: float
    required_steps: float
    sufficient_steps: float


def table_width(activation: str, smallest: float | Array, size: int) -> Array:
    """Table 1: n² log(n) / lambda² for the ReLU, n² log²(n) / lambda² for the others, n the size of H.

    Args:
        activation: relu, exp or softmax.
        smallest: lambda.
        size: n k.
    """
    return size**2 * math.log(size) ** (1 if activation == "relu" else 2) / jnp.asarray(smallest) ** 2


def table_steps(smallest: float | Array, size: int, error: float) -> Array:
    """Table 1: n² log(n / error) / lambda² for all three, of size lambda / n² in the time of H.

    Args:
        smallest: lambda.
        size: n k.
        error: the squared norm asked for.
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
    """The widths and steps that are asked for, beside those that suffice, for three activations.

    Args:
        x: inputs in the unit ball.
        y: targets in the unit ball.
        sigma: standard deviation of the weights.
        delta: failure probability.
        error: the squared Frobenius norm of F - Y that is asked for.
        key: randomness of the weights, which all activations share.
        widths: the ladder of widths.
        steps: the most steps of descent for each network; one that would need more counts as not trained.
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


class AbstractTableClaim(Claim[Training]):
    """What the claims of this section share: points that repel each other, targets on the sphere, two outputs."""

    controls = "the width and the steps that training needs"
    unexplained = "why far less is enough"
    relation = AtMost(delta=DELTA)
    problem = Training
    trials = 122
    batch = 122
    activations = ACTIVATIONS

    def settings(self) -> Space:
        """Sizes and the spread of the weights, such that lambda < 1."""
        return Space(
            n=Integer(4, 2, 16, "points"),
            d=Integer(3, 2, 64, "columns"),
            k=Integer(2, 1, 4, "outputs"),
            sigma=Real(0.5, 0.05, 1.0, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Points on the sphere, a network as wide as the ladder's last."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs = draws(key, (d + k, int(WIDTHS[-1]) // 2), (n, d), (n, k))
        return initialise(weights, spread_points(inputs), sphere_points(outputs), setting["sigma"])

    def pose(self, problem: object) -> Training | None:
        """The first 16 rows of a table."""
        return pose_training(problem, sigma=0.5)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """The unit ball; n > 1 and 0 < lambda < 1 for every activation."""
        values = [jnp.linalg.eigvalsh(limit_gram(name, problem.x, problem.sigma)) for name in self.activations]
        floors = [16 * len(problem.x) * jnp.finfo(problem.x.dtype).eps * value[-1] for value in values]
        norms, targets = (jnp.linalg.norm(a, axis=1).max() for a in (problem.x, problem.y))
        pairs = zip(self.activations, values, floors, strict=True)
        return [
            Hypothesis("inputs lie in the unit ball", norms, "<=", 1.0),
            Hypothesis("targets lie in the unit ball", targets, "<=", 1.0),
            Hypothesis("n > 1", len(problem.x), ">", 1, "Table 1: log(1) = 0"),
            *(Hypothesis(f"lambda > 0 ({name})", value[0], ">", floor) for name, value, floor in pairs),
            *(Hypothesis(f"lambda < 1 ({name})", value[0], "<", 1.0, "Table 1")
              for name, value in zip(self.activations, values, strict=True)),
        ]  # fmt: skip

    def culprit(self, problem: Training) -> str | None:
        """Rows that make lambda zero."""
        return small_eigenvalue_cause(problem)

    def smallest(self, activation: str, problem: Training) -> Array:
        """lambda."""
        return jnp.maximum(jnp.linalg.eigvalsh(limit_gram(activation, problem.x, problem.sigma))[0], 0.0)

    def times(self, activation: str, problem: Training, widths: Array, end: Array) -> Array:
        """Times of H until the error, at several widths."""
        fit = lambda units: time_to_fit(
            activation, problem.start, problem.sign, problem.x, problem.y, units, jnp.asarray(ERROR), end
        )[0]
        return jax.vmap(fit)(widths)

    def width(self, activation: str, problem: Training) -> Array:
        """The width that suffices."""
        end = horizon(self.smallest(activation, problem), problem.size, ERROR)
        return sufficient_width(self.times(activation, problem, jnp.asarray(WIDTHS), end), WIDTHS, end)


class AbstractTableWidth(AbstractTableClaim):
    """A width of Table 1 suffices; measured is the smallest of 2, 4, ..., 128 from which on it does."""

    def predict(self, problem: Training) -> Array:
        """The width of the table."""
        return table_width(self.activations[0], self.smallest(self.activations[0], problem), problem.size)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The width that suffices for an error of 0.05 in the time of 2 log(n k / error) / lambda."""
        return self.width(self.activations[0], problem)

    def control(self) -> Control:
        """A unit and its partner for every output."""
        return Control("2 k units suffice", lambda width, problem: jnp.asarray(2.0 * len(problem.sign)))


class AbstractTableSteps(AbstractTableClaim):
    """A number of steps of Table 1 suffices, at width 128 and the step lambda / n² in the time of H."""

    def predict(self, problem: Training) -> Array:
        """The steps of the table."""
        return table_steps(self.smallest(self.activations[0], problem), problem.size, ERROR)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The time that it takes, over lambda / n²."""
        value = self.smallest(self.activations[0], problem)
        end = 4 * horizon(value, problem.size, ERROR)
        return self.times(self.activations[0], problem, jnp.asarray(WIDTHS[-1:]), end)[0] * problem.size**2 / value

    def control(self) -> Control:
        """Beyond what a contraction at rate 2 lambda gives."""
        return Control("an eighth of the steps suffices", lambda steps, problem: steps / 8)


class ReluWidth(AbstractTableWidth):
    """A ReLU network of width n² log(n) / lambda² is trained to an error of 0.05, n the number of targets and lambda of
    its own kernel <x, y> (pi - angle(x, y)) / (2 pi).
    """

    title = "The width that a ReLU network needs"
    source = Source("gu2024softmax", "Table 1, ReLU, m", note="Theorem 3.6 of munteanu2022")
    activations = ("relu",)


class ExponentialWidth(AbstractTableWidth):
    """An exponential network of width n² log²(n) / lambda² is trained to an error of 0.05, n the number of targets and
    lambda of its own kernel <x, y> exp(sigma² |x + y|² / 2).
    """

    title = "The width that an exponential network needs"
    source = Source("gu2024softmax", "Table 1, exp, m", note="Theorem 1.1 of gao2023")
    activations = ("exp",)


class SoftmaxWidth(AbstractTableWidth):
    """A softmax network of width n² log²(n) / lambda² is trained to an error of 0.05, n the number of targets and
    lambda of its own kernel <x, y> exp(sigma² <x, y>): the theorem's exp(18 B) is part of the n^o(1) that is left out.
    """

    title = "The width that a softmax network needs, as the table has it"
    source = Source("gu2024softmax", "Table 1, softmax, m")
    activations = ("softmax",)


class ReluSteps(AbstractTableSteps):
    """A ReLU network is trained to an error of 0.05 in n² log(n / error) / lambda² steps of size lambda / n²."""

    title = "The steps that a ReLU network needs"
    source = Source("gu2024softmax", "Table 1, ReLU, T", note="Theorem 3.6 of munteanu2022")
    activations = ("relu",)


class ExponentialSteps(AbstractTableSteps):
    """An exponential network is trained to an error of 0.05 in n² log(n / error) / lambda² steps of size lambda / n²,
    for the n^o(1) that is left out.
    """

    title = "The steps that an exponential network needs"
    source = Source("gu2024softmax", "Table 1, exp, T", note="Theorem 1.1 of gao2023")
    activations = ("exp",)


class SoftmaxSteps(AbstractTableSteps):
    """A softmax network is trained to an error of 0.05 in n² log(n / error) / lambda² steps of size lambda / (m n²):
    the theorem's exp(16 B), in the step and in the number of steps, is part of the n^o(1) that is left out.
    """

    title = "The steps that a softmax network needs, as the table has it"
    source = Source("gu2024softmax", "Table 1, softmax, T")
    activations = ("softmax",)


class WidthsAlike(AbstractTableClaim):
    """The smallest widths that suffice for ReLU, exponential and softmax networks, on the same data with the same
    initial weights and each in the time of its own lambda, are almost the same: in geometric mean the ReLU network's
    and the exponential network's are between half and twice the softmax network's.

    The source compares upper bounds, and says almost the same number of neurons; a factor of 2 is one rung of the
    ladder 2, 4, ..., 128. The ReLU network needs most.
    """

    title = "The three activations need almost the same width"
    source = Source("gu2024softmax", "Section 4, comparison of widths")
    relation = EqualInMean(margin=1.0, resolution=0.25, relative=False)
    label = "rate"
    controls = "the ratio of the widths that suffice"
    unexplained = "single problems, where the widths differ by up to a factor of 16"

    def predict(self, problem: Training) -> Array:
        """No difference of the binary logarithms."""
        return jnp.zeros(2)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """log2 of the ReLU network's and the exponential network's width over the softmax network's."""
        relu, exponential, softmax = (jnp.log2(self.width(activation, problem)) for activation in ACTIVATIONS)
        return jnp.stack([relu - softmax, exponential - softmax])

    def control(self) -> Control:
        """Two rungs up, two rungs down."""
        return Control(
            "ReLU networks need four times as many units, exponential ones a quarter",
            lambda difference, problem: difference + jnp.asarray([2.0, -2.0]),
        )
