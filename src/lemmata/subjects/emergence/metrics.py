"""Jumps that come from the metric: exact match, small benchmarks, and averages over slices.

This theory assumes that the loss of a token, or the accuracy on a slice, changes smoothly with the scale. It computes
how fast the score on a benchmark then rises. It does not explain why the loss of a token falls.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.emergence._crossing import crossing

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

TENFOLD = float(np.log(np.log(10.0) / np.log(10.0 / 9.0)))  # log of the ratio of log(1/0.1) and log(1/0.9)


class LongTask(eqx.Module):
    """A task of L tokens. A model of scale N gets each token right with probability exp(-c N^-alpha)."""

    alpha: Float[Array, ""]
    c: Float[Array, ""]
    tokens: int = eqx.field(static=True)

    def accuracy(self, logarithm: Array) -> Array:
        """Return the probability that all tokens are right at log N, as a product over the tokens."""
        token = jnp.exp(-self.c * jnp.exp(-self.alpha * logarithm))
        return jnp.prod(jnp.broadcast_to(token, (self.tokens,)))

    def scale_at(self, level: float) -> Array:
        """Return the log N at which the accuracy is `level`, by bisection."""
        return crossing(self.accuracy, level, -40.0, 60.0)


class ExactMatchWidth(Claim[LongTask]):
    """A model of scale N has the loss c N^-alpha at each token, so each token is right with probability exp(-c
    N^-alpha), independently of the others. An answer of L tokens counts as right if all its tokens are right. For every
    L and c, the accuracy is 1/2 at

        N = (L c/log 2)^(1/alpha),

    and the accuracy rises from 10 % to 90 % while log N grows by

        log(log 10/log(10/9))/alpha = 3.08/alpha.

    So the accuracy on longer answers jumps at a larger scale, but not more sharply in log N.
    """

    title = "As models grow, exact match on longer answers jumps at a larger scale, but not more sharply"
    source = Source("emergence2026", "Figure 22.3", "Figure 22.1", note="with explicit constants")
    population = Drawn(
        LongTask,
        positive("alpha", "the loss falls with the scale"),
        positive("c"),
        alpha=uniform(0.5, 1.5),
        c=log_uniform(0.5, 5.0),
        tokens=Integer(12, 2, 64, "tokens", corners=(2, 40)),
    )
    relation = Equal()
    control = Control(
        "the accuracy is 1/2 at (L c)^(1/alpha), and the rise is shorter by the factor L^(-1/4)",
        lambda found, problem: found * jnp.stack([jnp.log(2.0) ** (1 / problem.alpha), problem.tokens**-0.25]),
    )
    controls = "the scale at which a benchmark with exact match jumps, and the width of the jump"
    unexplained = "tokens whose errors depend on each other, and losses that do not follow a power law"

    def predict(self, problem: LongTask) -> Array:
        half = (problem.tokens * problem.c / jnp.log(2.0)) ** (1 / problem.alpha)
        return jnp.stack([half, TENFOLD / problem.alpha])

    def measure(self, problem: LongTask, key: Key[Array, ""]) -> Array:
        """Find the scales by bisection on the product of the tokens' accuracies."""
        return jnp.stack([jnp.exp(problem.scale_at(0.5)), problem.scale_at(0.9) - problem.scale_at(0.1)])

    def condition(self, problem: LongTask) -> Array:
        """Allow for L rounding errors of the product. The accuracy moves by at least 0.09 alpha per unit of log N."""
        return (problem.tokens + 60) / problem.alpha * jnp.ones(2)


class Benchmark(eqx.Module):
    """Two benchmarks of the same task that have different numbers of items."""

    task: LongTask
    few: Float[Array, ""]
    times: Float[Array, ""]


class Benchmarks(Population[Benchmark]):
    """Power laws of the loss of one token. The second benchmark has 2 to 8 times as many items as the first."""

    settings = Space(
        tokens=Integer(12, 1, 64, "tokens", corners=(1, 40)), items=Real(50.0, 20.0, 2000.0, "fewest items")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Benchmark:
        alpha_key, c_key, few_key, times_key = jax.random.split(key, 4)
        alpha = jax.random.uniform(alpha_key, minval=0.5, maxval=1.5)
        c = 0.5 * 10 ** jax.random.uniform(c_key)
        few = jnp.ceil(setting["items"] * 3 ** jax.random.uniform(few_key))
        return Benchmark(LongTask(alpha, c, setting["tokens"]), few, 2 * 4 ** jax.random.uniform(times_key))

    def hypotheses(self, problem: Benchmark) -> list[Hypothesis]:
        least = jnp.minimum(problem.task.alpha, problem.task.c)
        return [Hypothesis("alpha and c", least, ">", 0.0, "the loss of a token is positive and falls")]


class ResolutionOfBenchmark(Claim[Benchmark]):
    """Let a model of scale N solve each item of a benchmark with the probability a = exp(-L c N^-alpha), where L is the
    number of tokens of the answer. Of n items, it solves n a items in expectation, and it solves none with the
    probability (1 - a)^n. At the scale N = (L c/log n)^(1/alpha), one solved item is expected. So a benchmark with n_2
    > n_1 items shows this onset at a smaller scale than a benchmark with n_1 items: log N is smaller by (1/alpha)
    log(log n_2/log n_1).

    Derivation: one solved item is expected if n a = 1, that is, if L c N^(-alpha) = log n. Solve this equation for N.
    """

    title = "A benchmark with more items shows the onset of an ability at a smaller scale"
    source = Source("emergence2026", "Figure 22.3", "Figure 22.1", note="for exact match, with explicit constants")
    stated = Kind.OWN
    population = Benchmarks()
    relation = Equal()
    control = Control(
        "two items are solved there, and both benchmarks show the onset at the same scale",
        lambda found, problem: jnp.stack(
            [found[0] * (1 + jnp.log(2.0) / jnp.log(problem.few)) ** (1 / problem.task.alpha), jnp.asarray(1.0)]
        ),
    )
    controls = "the smallest model on which a benchmark can show an ability"
    unexplained = "items of different difficulty, and chance level above 0"

    def predict(self, problem: Benchmark) -> Array:
        task, n = problem.task, problem.few
        onset = (task.tokens * task.c / jnp.log(n)) ** (1 / task.alpha)
        return jnp.stack([onset, (jnp.log(n * problem.times) / jnp.log(n)) ** (1 / task.alpha)])

    def measure(self, problem: Benchmark, key: Key[Array, ""]) -> Array:
        """Find the scales by bisection on the expected number of solved items."""
        first, second = (
            crossing(lambda at, items=items: items * problem.task.accuracy(at), 1.0, -40.0, 60.0)
            for items in (problem.few, problem.few * problem.times)
        )
        return jnp.stack([jnp.exp(first), jnp.exp(first - second)])

    def condition(self, problem: Benchmark) -> Array:
        """Divide by the slope: at accuracy 1/n, the log accuracy moves by alpha log n per unit of log N."""
        return (problem.task.tokens + 60) / problem.task.alpha * jnp.ones(2)


class Slices(eqx.Module):
    """Rising accuracies on K slices of a benchmark as functions of log N, each of the form floor + rise F((log N -
    place)/width).

    Args:
        rise: how much the accuracy of each slice rises in total.
        place: the log N at which each slice has half of its rise.
        width: how wide each rise is.
        share: the share of each slice in the benchmark.
        logistic: whether F is the logistic function; otherwise it is the normal distribution function.
    """

    rise: Float[Array, " K"]
    place: Float[Array, " K"]
    width: Float[Array, " K"]
    share: Float[Array, " K"]
    logistic: Float[Array, ""]

    def average(self, at: Float[Array, " points"]) -> Float[Array, " points"]:
        """Return the accuracy on the whole benchmark, without the floor."""
        z = (at[:, None] - self.place) / self.width
        shape = jnp.where(self.logistic > 0, jax.nn.sigmoid(z), jax.scipy.stats.norm.cdf(z))
        return shape @ (self.share * self.rise)


class SlicesDrawn(Population[Slices]):
    """Slices of different rises, widths and places (the log N of half the rise). In half of the problems, all slices
    have the same place and the same width.
    """

    settings = Space(K=Integer(5, 2, 30, "slices"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Slices:
        keys = jax.random.split(key, 6)
        K = setting["K"]
        equal, logistic = jax.random.bernoulli(keys[0], 0.5, (2,))
        place, width = 2 * jax.random.normal(keys[1], (K,)), 3 ** jax.random.uniform(keys[2], (K,), minval=-1.0)
        place, width = jnp.where(equal, place[0], place), jnp.where(equal, width[0], width)
        rise = jax.random.uniform(keys[3], (K,), minval=0.1, maxval=1.0)
        share = jax.random.dirichlet(keys[4], jnp.ones(K))
        return Slices(rise, place, width, share, jnp.where(logistic, 1.0, -1.0))

    def hypotheses(self, problem: Slices) -> list[Hypothesis]:
        return [
            Hypothesis("the smallest total rise of a slice", jnp.min(problem.rise), ">", 0.0, "each slice improves")
        ]


class AveragesDoNotSharpen(Claim[Slices]):
    """Let the accuracy on slice k of a benchmark rise by r_k > 0 in total as log N grows. The sharpness of a curve is
    its largest slope, divided by its total rise. Then the average accuracy, with any shares w_k of the slices, is at
    most as sharp as the sharpest slice. The reason is that the slope of the average, divided by its total rise sum_k
    w_k r_k, is a weighted mean. In this mean, each slice contributes its slope divided by r_k. If all slices have the
    same curve, the average and each slice are equally sharp. The accuracy on a slice may also fall for some log N, as
    long as its total rise r_k is positive.
    """

    title = "If all slices of a benchmark improve, their average rises at most as sharply as the sharpest slice"
    source = Source(
        "emergence2026", "Figure 22.4", note="for averages of slices; that averages can hide jumps is not disputed"
    )
    stated = Kind.OWN
    population = SlicesDrawn()
    relation = AtMost()
    control = Control("the average is at most 0.95 times as sharp", lambda bound, problem: 0.95 * bound)
    controls = "whether an average over tasks can show a jump that no task shows"
    unexplained = "slices that become worse in total, and tasks that need several abilities at once"
    trivial = "a curve may be arbitrarily sharp"

    def predict(self, problem: Slices) -> Array:
        steepest = jnp.where(problem.logistic > 0, 0.25, 1 / jnp.sqrt(2 * jnp.pi))
        return steepest / jnp.min(problem.width)

    def measure(self, problem: Slices, key: Key[Array, ""]) -> Array:
        """Return the largest difference quotient of the average on a fine grid, divided by the total rise of the
        average.
        """
        grid = jnp.linspace(-10.0, 10.0, 8001)
        steepest = jnp.max(jnp.diff(problem.average(grid))) / (grid[1] - grid[0])
        return steepest / jnp.sum(problem.share * problem.rise)

    def condition(self, problem: Slices) -> Array:
        """Allow for rounding in differences over the grid step 1/400, for curves that rise by at least a tenth."""
        return jnp.asarray(1e5)


class OppositeSlices(eqx.Module):
    """Two slices that change around the same log N: one rises by 1 with width w, one falls by rho with width W >= w."""

    rho: Float[Array, ""]
    narrow: Float[Array, ""]
    ratio: Float[Array, ""]


class FallingSliceSharpens(Claim[OppositeSlices]):
    """Let the accuracy on one slice of a benchmark rise by 1 in total, like the logistic function of (log N)/w. On
    another slice of the same size, let the accuracy fall by rho < 1 in total, like the logistic function of (log N)/W.
    The sharpness of a curve is its slope at log N = 0, divided by its total rise. The sum of the two accuracies is
    sharper than the accuracy on the rising slice by the factor

        (1 - rho w/W)/(1 - rho).

    So an average can jump more sharply than each slice that improves, if another slice becomes worse.

    Derivation: the logistic function has the slope 1/4 at 0. So the sum has the slope (1/w - rho/W)/4 and rises by 1 -
    rho.
    """

    title = (
        "If one benchmark slice becomes worse with scale, the average can jump more sharply than the slice that "
        "improves"
    )
    source = Source("emergence2026", "Figure 22.4", note="an exact case of the figure")
    stated = Kind.OWN
    population = Drawn(
        OppositeSlices,
        positive("narrow"),
        rho=uniform(0.1, 0.6),
        narrow=log_uniform(0.1, 2.0),
        ratio=uniform(0.05, 0.6),
    )
    relation = Equal()
    control = Control("the sum is not sharper than the rising slice", lambda factor, problem: jnp.ones_like(factor))
    controls = "whether an average over tasks can show a jump that no task shows"
    unexplained = "why a slice becomes worse with scale"

    def predict(self, problem: OppositeSlices) -> Array:
        return (1 - problem.rho * problem.ratio) / (1 - problem.rho)

    def measure(self, problem: OppositeSlices, key: Key[Array, ""]) -> Array:
        """Return the sharpness of the sum, by automatic differentiation, divided by the sharpness of the rising slice
        alone.
        """
        rising = lambda at: jax.nn.sigmoid(at / problem.narrow)
        both = lambda at: rising(at) - problem.rho * jax.nn.sigmoid(at * problem.ratio / problem.narrow)
        far = 60 * problem.narrow / problem.ratio
        sharpness = lambda curve: jax.grad(curve)(0.0) / (curve(far) - curve(-far))
        return sharpness(both) / sharpness(rising)


class SpreadSlices(eqx.Module):
    """Slices of width 1. The log N at which each has accuracy 1/2 is normal with standard deviation s."""

    spread: Float[Array, ""]


_PLACES = np.linspace(0.5, 2.0, 4)  # log N, in units of the predicted width
_normal = jax.scipy.stats.norm.cdf


class SpreadWidensSlices(Claim[SpreadSlices]):
    """The accuracy on a slice is Phi(log N - t), where Phi is the normal distribution function and t is the threshold
    of the slice. The thresholds of the slices are normal with mean 0 and standard deviation s. Then the average
    accuracy is

        Phi(log N/sqrt(1 + s²)).

    So the average accuracy rises more slowly than the accuracy on each slice.

    Derivation: Phi(x - t) is the probability that Z <= x - t for a standard normal Z, and Z + t has the variance 1 +
    s².
    """

    title = "If benchmark slices improve at different scales, their average accuracy rises more slowly than each slice"
    source = Source("emergence2026", "Figure 22.4", note="an exact case of the figure")
    stated = Kind.OWN
    population = Drawn(SpreadSlices, positive("spread"), spread=uniform(0.3, 2.5))
    relation = Equal()
    control = Control(
        "the width is 1 + s",
        lambda found, problem: _normal(_PLACES * jnp.hypot(1.0, problem.spread) / (1 + problem.spread)),
    )
    controls = "the width of the rise of an average over tasks"
    unexplained = "thresholds with another distribution"

    def predict(self, problem: SpreadSlices) -> Array:
        return _normal(_PLACES)

    def measure(self, problem: SpreadSlices, key: Key[Array, ""]) -> Array:
        """Average over the places by the trapezoidal rule, whose error falls exponentially here."""
        t = jnp.linspace(-10.0, 10.0, 801)
        at = (_PLACES * jnp.hypot(1.0, problem.spread))[:, None] - problem.spread * t
        return _normal(at) @ jax.scipy.stats.norm.pdf(t) * (t[1] - t[0])

    def condition(self, problem: SpreadSlices) -> Array:
        """Allow for the rounding error of a sum of 801 positive terms."""
        return jnp.asarray(100.0)
