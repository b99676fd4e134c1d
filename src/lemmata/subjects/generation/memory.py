"""Times of a diffusion: when the classes separate, and when the score of a sample points to a single row.

This theory follows x_t = e^-t x_0 + sqrt(1 - e^-2t) z backwards in time. First the class of the result is decided. If
the score is the exact score of the sample, the row of the sample at which the path ends is decided later. The theory
assumes normal classes and an exact score. It does not explain which rows a trained network remembers.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Kind, Limit, Population, Real, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "random matrices", "architecture": "diffusion model", "object": "memory"}

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
_QUERIES = 48


class NormalSample(eqx.Module):
    """A sample of exp(c d) rows of a normal distribution in d dimensions. Half of the coordinates have variance 1, and
    the other half have variance r.

    Args:
        ratio: r.
        content: c = log(n)/d.
    """

    ratio: Float[Array, ""]
    content: float = eqx.field(static=True)


def half_time(rows: Float[np.ndarray, "n d"], queries: int, rng: np.random.Generator) -> float:
    """Return the time t at which the posterior weight of x_0 given x_t, averaged over starts x_0 at the first `queries`
    rows, is 1/2.
    """
    own = rows[:queries]
    noise = rng.normal(size=own.shape)
    squares = np.maximum((own**2).sum(1)[:, None] - 2 * own @ rows.T + (rows**2).sum(1), 0.0)
    along = ((noise * own).sum(1))[:, None] - noise @ rows.T
    low, high = -12.0, 12.0  # log snr
    for _ in range(28):
        root = np.exp((low + high) / 4)
        logs = -(root**2 * squares + 2 * root * along) / 2
        weight = np.mean(1 / np.exp(logs).sum(axis=1))
        low, high = ((low + high) / 2, high) if weight < 0.5 else (low, (low + high) / 2)
    return float(np.log1p(np.exp(-(low + high) / 2)) / 2)


class CollapseTime(Claim[NormalSample]):
    """Let n = exp(c d) rows be drawn from N(0, S) in d dimensions, where half of the eigenvalues of S are 1 and half
    are r. Let x_t = e^-t x_0 + sqrt(1 - e^-2t) z start from a row x_0, where z is standard normal. In the reverse
    process, t falls. The score of the sample at x_t points to a single row once the posterior weight of x_0 is above
    1/2. As d grows, this happens at the collapse time t_C. At this time, the noisy row x_t carries log n nats of
    information about x_0, as much as the index of a row:

        log n = (1/2) log det(I + snr S),   snr = 1/(exp(2 t_C) - 1).

    For S = I, t_C = (1/2) log(1 + 1/(n^(2/d) - 1)) = -(1/2) log(1 - n^(-2/d)).

    Derivation: Given x_t, the total weight of the other rows has the mean n N(x_t; 0, e^-2t S + 1 - e^-2t), if the
    weight of x_0 is the density of the noise. Let J, of order d, be the mutual information of x_0 and x_t. The
    logarithm of (the total weight of the other rows / the weight of x_0) is log n - J plus a symmetrically distributed
    part of order sqrt(d). Near t_C a few rows carry the whole weight. This adds O(1) to the logarithm, so the relative
    shift of the time is of order 1/d.
    """

    title = "The score of n normal rows collapses to one row when a noisy row carries log n nats about its clean row"
    source = Source("biroli2024", "Main result", note="the collapse time, in closed form for normal data")
    stated = Kind.OWN
    population = Drawn(
        NormalSample,
        positive("ratio", "the distribution has a density"),
        ratio=log_uniform(0.25, 4.0),
        content=Real(0.25, 0.2, 0.28, "log(n)/d"),
    )
    relation = Limit("d", (8.0, 16.0, 32.0), margin=0.15, resolution=0.1, slowest=1.0)
    control = Control(
        "log n = log det(I + snr S), without the factor 1/2",
        lambda time, problem: _collapse(problem.ratio, problem.content / 2),
    )
    controls = "below which noise level a diffusion model copies its data"
    unexplained = "the smooth scores that networks learn"
    traced = False
    trials = 16

    def predict(self, problem: NormalSample) -> Array:
        return _collapse(problem.ratio, problem.content)

    def measure_at(self, problem: NormalSample, key: Key[Array, ""], rung: float) -> Array:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d, n = int(rung), round(np.exp(problem.content * rung))
        spread = np.where(np.arange(d) % 2 == 0, 1.0, np.sqrt(float(problem.ratio)))
        samples = 1 + _QUERIES // n
        times = [half_time(spread * rng.normal(size=(n, d)), _QUERIES, rng) for _ in range(samples)]
        return jnp.asarray(np.mean(times))


def _collapse(r: Array, content: Array | float) -> Array:
    """Compute the time t_C with 1/snr = exp(2 t_C) - 1, from the solution snr of (1 + snr)(1 + r snr) = exp(4 c)."""
    beyond = jnp.expm1(4 * jnp.asarray(content))
    snr = 2 * beyond / (1 + r + jnp.sqrt((1 + r) ** 2 + 4 * r * beyond))
    return jnp.log1p(1 / snr) / 2


class TwoClassSample(eqx.Module):
    """A sample of two classes N(m_k, s_k² I) in d dimensions with distant means, with exp(c_k d) rows of class k.

    Args:
        spreads: s_k.
        rare: c_1.
        common: c_2.
    """

    spreads: Float[Array, " 2"]
    rare: float = eqx.field(static=True)
    common: float = eqx.field(static=True)


class CollapseByClass(Claim[TwoClassSample]):
    """Let a sample have n_k = exp(c_k d) rows of each of two classes N(m_k, s_k² I) in d dimensions, with distant
    means. Let x_t = e^-t x_0 + sqrt(1 - e^-2t) z start from a row x_0 of class k, where z is standard normal. At small
    times t, the score of the sample at x_t points to the single row x_0. As d grows, this holds up to the time

        t_k = (1/2) log(1 + s_k²/(n_k^(2/d) - 1)).

    This time depends on the rows of class k alone. So the reverse process first copies a rare or a wide class, at a
    noise level at which the other class is not yet copied.

    Derivation: the distant class has no posterior weight, so class k collapses like a single class (`CollapseTime`). At
    the time t_k, a noisy row carries log n_k nats about its clean row. So log n_k = (d/2) log(1 + s_k²/(exp(2t) - 1)),
    which is solved for t.
    """

    title = (
        "The empirical score of a diffusion copies rows of a rare class at higher noise levels than rows of a "
        "common class"
    )
    source = Source("biroli2024", "Main result", note="the collapse time, for two classes")
    stated = Kind.OWN
    population = Drawn(
        TwoClassSample,
        positive("spreads", "the classes have densities"),
        spreads=log_uniform(0.7, 2.0, 2),
        rare=Real(0.1, 0.09, 0.12, "log(n_1)/d"),
        common=Real(0.19, 0.18, 0.2, "log(n_2)/d"),
    )
    relation = Limit("d", (16.0, 32.0, 48.0), margin=0.12, resolution=0.1, slowest=1.0)
    control = Control(
        "the time depends on the number of all rows",
        lambda time, problem: _own_time(problem.spreads[0], problem.common),
    )
    controls = "which rows a diffusion model copies"
    unexplained = "classes that overlap at the time of the collapse"
    traced = False
    trials = 24

    def predict(self, problem: TwoClassSample) -> Array:
        return _own_time(problem.spreads[0], problem.rare)

    def measure_at(self, problem: TwoClassSample, key: Key[Array, ""], rung: float) -> Array:
        """Return the time at which the mean posterior weight of a row of the first class is 1/2.

        The weight is a share among the rows of both classes.
        """
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d, (first, second) = int(rung), np.asarray(problem.spreads)
        own, other = round(np.exp(problem.rare * d)), round(np.exp(problem.common * d))
        times = []
        for _ in range(1 + _QUERIES // own):
            rows = [first * rng.normal(size=(own, d)), 8.0 + second * rng.normal(size=(other, d))]
            times.append(half_time(np.concatenate(rows), min(own, _QUERIES), rng))
        return jnp.asarray(np.mean(times))


def _own_time(spread: Array, content: float) -> Array:
    return jnp.log1p(spread**2 / jnp.expm1(2 * jnp.asarray(content))) / 2


class TwoClasses(eqx.Module):
    """Classes N(m, I) and N(-m, I) of equal probability."""

    mean: Float[Array, " d"]


class DistantClasses(Population[TwoClasses]):
    """Pairs of classes in random directions. The distance |m| is log-uniform."""

    settings = Space(d=dimension(2, 1, 8), length=Real(8.0, 4.0, 16.0, "|m|"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoClasses:
        draws = jax.random.normal(key, (setting["d"],))
        return TwoClasses(setting["length"] * draws / jnp.linalg.norm(draws))

    def hypotheses(self, problem: TwoClasses) -> list[Hypothesis]:
        length = jnp.linalg.norm(problem.mean)
        return [
            Hypothesis("the classes are distant (|m|)", length, ">=", 3.99, "then the sign of <x, m> shows the class")
        ]


_HEIGHTS = np.asarray([1.0, 0.6])  # values of e^-t |m|, which is 1 at the speciation time
_STARTS, _PATHS, _STEPS = 256, 8, 128


class SpeciationTime(Claim[TwoClasses]):
    """Let the classes N(m, I) and N(-m, I) be equally likely, with |m| >= 4. Let x_t = e^-t x_0 + sqrt(1 - e^-2t) z,
    where x_0 is from one of the classes and z is standard normal. Let two reverse paths share x_t and end at time 0.
    The probability that they end in the same class exceeds the probability for two paths from independent starts by

        (1/2) E tanh(h (h + Z)),   h = e^-t |m|, Z standard normal.

    At the speciation time t_S = log |m|, h is 1, and the excess is 0.27 for all m. The excess tends to 0 before t_S in
    the reverse process, and to 1/2 after t_S. The test uses h = 1 and h = 0.6.

    Derivation: Given x_t, the class is +1 with probability p = (1 + tanh(<m, x_t> e^-t))/2, since x_t given the class
    is N(+-e^-t m, I). Two paths agree with probability p² + (1 - p)², which is 1/2 + tanh²/2. For equally likely
    classes, E tanh² = E tanh under the class +1.
    """

    title = "Reverse diffusion chooses between equally likely classes at m and -m around the time log |m|"
    source = Source("biroli2023", "Main result", note="the speciation time, with the exact share of agreeing paths")
    stated = Kind.OWN
    population = DistantClasses()
    relation = EqualInMean(margin=0.02, resolution=0.04)
    control = Control(
        "paths keep the nearer class, which is right with probability Phi(h)",
        lambda gain, problem: (2 * jax.scipy.stats.norm.cdf(_HEIGHTS) - 1) ** 2 / 2,
    )
    controls = "until which time a sample can still change its class"
    unexplained = "classes that are not normal"
    trials = 64

    def predict(self, problem: TwoClasses) -> Array:
        values = jnp.tanh(_HEIGHTS[:, None] * (_HEIGHTS[:, None] + _NODES))
        return values @ _WEIGHTS / _WEIGHTS.sum() / 2

    def measure(self, problem: TwoClasses, key: Key[Array, ""]) -> Array:
        """Return how much more often paths from one start end in the same class than paths from any two starts.

        Eight paths are simulated from each start.
        """
        length = jnp.linalg.norm(problem.mean)

        def gain(height: Array, key: Array) -> Array:
            sign_key, start_key, path_key = jax.random.split(key, 3)
            last = jnp.log(length / height)
            signs = jax.random.rademacher(sign_key, (_STARTS, 1), float)
            start = signs * height / length * problem.mean
            start = start + jax.random.normal(start_key, start.shape)
            h = last / _STEPS

            def step(x, inputs):
                t, own = inputs
                a = jnp.exp(-t)
                pull = 2 * a * jnp.tanh(a * x @ problem.mean)[..., None] * problem.mean
                return x + h * (pull - x) + jnp.sqrt(2 * h) * jax.random.normal(own, x.shape), None

            times = last * (1 - jnp.arange(_STEPS) / _STEPS)
            paths = jnp.tile(start, (_PATHS, 1, 1))
            ends, _ = jax.lax.scan(step, paths, (times, jax.random.split(path_key, _STEPS)))
            classes = jnp.sign(ends @ problem.mean)
            together = (jnp.mean(classes.sum(axis=0) ** 2) - _PATHS) / (_PATHS * (_PATHS - 1))
            return (together - classes.mean() ** 2) / 2

        return jax.vmap(gain)(jnp.asarray(_HEIGHTS), jax.random.split(key))
