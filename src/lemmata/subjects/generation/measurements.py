"""Recovery with a generator: how well few measurements determine a signal near the range of a generator.

This theory gives the exact error for linear generators, and a bound on the error for any range. It also shows where
descent on the latent code can stop too early. It assumes a known measuring matrix. It does not explain how near to a
range real signals are.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, normal

ABOUT = {
    "tool": "random matrices",
    "architecture": "linear model",
    "object": "estimator",
    "RecoveryBound": {"tool": "statistics", "architecture": "any", "object": "inequality"},
    "FalseMinimum": {"architecture": "dense network", "object": "training"},
}

_REPEATS = 64


class LinearRange(eqx.Module):
    """A linear generator, which is a matrix with orthonormal columns, a signal, and a number m of measurements."""

    basis: Float[Array, "n k"]
    signal: Float[Array, " n"]
    m: int = eqx.field(static=True)

    @property
    def generator(self) -> Float[Array, "n k"]:
        """A matrix with orthonormal columns."""
        return jnp.linalg.qr(self.basis)[0]


class GaussianMeasurements(Claim[LinearRange]):
    """Let G be a matrix with k orthonormal columns, and let A be a Gaussian matrix with m > k + 1 rows. Let x be any
    signal at the distance D from the range of G. Let G z be the point of the range with the least |A G z - A x|. Then

        E |G z - x|² = D² (1 + k/(m - k - 1)).

    So the mean squared error exceeds the squared error D² of the nearest point by the share k/(m - k - 1). The test
    measures this excess, D² k/(m - k - 1). With m = 2 k + 1 measurements, the mean squared error is twice as large as
    D².

    Derivation: let r be the part of x that is orthogonal to the range. Then A x is A G times a vector plus A r, where A
    r is independent of A G and has the covariance D² I. The trace of the inverse of the Wishart matrix G'A'A G has the
    mean k/(m - k - 1).
    """

    title = (
        "Recovery of k latent variables from m Gaussian measurements multiplies the least squared error by 1 + "
        "k/(m - k - 1)"
    )
    source = Source("emergence2026", "Figure 14.14", note="for linear generators, with the constant")
    stated = Kind.OWN
    population = Drawn(
        LinearRange,
        basis=normal("n", "k"),
        signal=normal("n"),
        n=Integer(60, 50, 200, "coordinates of the signal"),
        k=Integer(10, 5, 20, "columns of the generator"),
        m=Integer(25, 11, 60, "measurements"),
        rules={
            "m is at least k + 6": lambda s: s["m"] >= s["k"] + 6,
            "m is at most 3 k": lambda s: s["m"] <= 3 * s["k"],
            "n is above m": lambda s: s["n"] > s["m"],
        },
    )
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the share is k/m",
        lambda cost, problem: cost * (problem.m - problem.basis.shape[1] - 1) / problem.m,
    )
    controls = "the error of a signal that is recovered from few measurements"
    unexplained = "generators that are not linear, and measurements that are not Gaussian"
    trials = 128

    def predict(self, problem: LinearRange) -> Array:
        k = problem.basis.shape[1]
        apart = problem.signal - problem.generator @ (problem.generator.T @ problem.signal)
        return apart @ apart * k / (problem.m - k - 1)

    def measure(self, problem: LinearRange, key: Key[Array, ""]) -> Array:
        """Return the mean squared error over matrices A, minus D², the squared error of least squares on all of x."""
        g, x = problem.generator, problem.signal

        def error(own: Key[Array, ""]) -> Array:
            a = jax.random.normal(own, (problem.m, len(x)))
            return jnp.sum((g @ jnp.linalg.lstsq(a @ g, a @ x)[0] - x) ** 2)

        best = jnp.sum((g @ jnp.linalg.lstsq(g, x)[0] - x) ** 2)
        return jnp.mean(jax.lax.map(error, jax.random.split(key, _REPEATS))) - best


class MeasuredSet(eqx.Module):
    """A set of possible signals, a signal near the first of them, a measuring matrix, and the noise of measurements."""

    points: Float[Array, "count n"]
    signal: Float[Array, " n"]
    matrix: Float[Array, "m n"]
    noise: Float[Array, " m"]

    @property
    def gain(self) -> Float[Array, ""]:
        """The constant gamma, the least |A (s - t)|/|s - t| over two different points s and t."""
        i, j = jnp.triu_indices(len(self.points), 1)
        apart = self.points[i] - self.points[j]
        return jnp.min(jnp.linalg.norm(apart @ self.matrix.T, axis=1) / jnp.linalg.norm(apart, axis=1))

    @property
    def nearest(self) -> Float[Array, " n"]:
        """The point of the set that is nearest to the signal."""
        return self.points[jnp.argmin(jnp.linalg.norm(self.points - self.signal, axis=1))]


_GAIN, _STRETCH, _SINE, _SHORT = 0.5, 2.0, 0.05, 1e-3


class MeasuredSets(Population[MeasuredSet]):
    """Sets of outputs of a random ReLU network in half of the problems. In the other half, the measurements prefer the
    wrong one of two points, and all other points are far away.
    """

    settings = Space(
        n=Integer(60, 30, 150, "coordinates of the signal"),
        m=Integer(30, 20, 80, "measurements"),
        points=Integer(40, 3, 100, "points of the set"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MeasuredSet:
        n, m, count = setting["n"], setting["m"], setting["points"]
        keys = jax.random.split(key, 9)
        hidden = jax.nn.relu(jax.random.normal(keys[0], (count, 5)) @ jax.random.normal(keys[1], (5, n)))
        outputs = jax.nn.relu(hidden @ jax.random.normal(keys[2], (n, n)) / jnp.sqrt(n))
        matrix = jax.random.normal(keys[3], (m, n)) / jnp.sqrt(m)
        distance, noise = 0.1 * jax.random.uniform(keys[4], (2,), minval=0.1)
        toward, rounding = (jax.random.normal(own, (size,)) for own, size in ((keys[5], n), (keys[6], m)))
        signal = outputs[0] + distance * toward / jnp.linalg.norm(toward)
        generic = MeasuredSet(outputs, signal, matrix, noise * rounding / jnp.linalg.norm(rounding))

        along, turned, *_ = frame = jnp.linalg.qr(jax.random.normal(keys[7], (n, n)))[0].T
        seen = jnp.zeros(m).at[0].set(1.0)
        cosine = jnp.sqrt(1 - _SINE**2)
        far = 2 * (_STRETCH * distance + noise) / _GAIN * (1 - _SHORT)
        others = 100 * far * jax.random.normal(keys[8], (count - 2, n - 2)) @ frame[2:]
        rest = matrix @ frame[2:].T @ frame[2:]
        gains = _GAIN * along + (_STRETCH + _GAIN * cosine) / _SINE * turned
        tight = MeasuredSet(
            jnp.concatenate([jnp.zeros((1, n)), far * along[None], others]),
            distance * (_SINE * turned - cosine * along),
            rest + jnp.outer(seen, gains),
            noise * seen,
        )
        chosen = jax.random.bernoulli(keys[0])
        return jax.tree.map(lambda first, second: jnp.where(chosen, first, second), tight, generic)

    def hypotheses(self, problem: MeasuredSet) -> list[Hypothesis]:
        return [Hypothesis("gamma", problem.gain, ">", 0.0, "measurements distinguish the points of the set")]


class RecoveryBound(Claim[MeasuredSet]):
    """Let S be a set of possible signals, for example the range of a generator. Let |A (s - t)| >= gamma |s - t| for
    all s and t in S. Let x be a signal, let s* be its nearest point in S, and let |A (x - s*)| = beta |x - s*|. The
    point s of S with the least |A s - b|, where b = A x + e, satisfies

        |s - x| <= (2 beta/gamma + 1) |x - s*| + 2 |e|/gamma.

    With beta <= 2, which holds for a Gaussian matrix A with high probability, this is the bound of Bora and others. For
    some sets S, the bound is nearly attained.
    """

    title = "Compressed sensing errs by at most a multiple of the signal's distance from the candidate set, plus noise"
    source = Source("bora2017", "Main result", note="deterministic part, with the stretch beta instead of 2")
    stated = Kind.LEMMA
    population = MeasuredSets()
    relation = AtMost()
    control = Control("the error is at most 0.9 of the bound", lambda bound, problem: 0.9 * bound)
    controls = "the error of the best latent code"
    unexplained = "whether descent finds the best code"

    def predict(self, problem: MeasuredSet) -> Array:
        apart = problem.signal - problem.nearest
        stretched, noise = jnp.linalg.norm(problem.matrix @ apart), jnp.linalg.norm(problem.noise)
        return jnp.linalg.norm(apart) + 2 * (stretched + noise) / problem.gain

    def measure(self, problem: MeasuredSet, key: Key[Array, ""]) -> Array:
        """Return |s - x| for the point s of the set with the least |A s - b|."""
        seen = problem.matrix @ problem.signal + problem.noise
        residuals = jnp.linalg.norm(problem.points @ problem.matrix.T - seen, axis=1)
        return jnp.linalg.norm(problem.points[jnp.argmin(residuals)] - problem.signal)

    def trivial(self, problem: MeasuredSet) -> Array:
        """Return the distance of the signal from the farthest point of the set, which the error never exceeds."""
        return jnp.max(jnp.linalg.norm(problem.points - problem.signal, axis=1))


class LatentCode(eqx.Module):
    """The code z* of a signal, and the depth of a generator."""

    code: Float[Array, " k"]
    depth: int = eqx.field(static=True)


class FalseMinimum(Claim[LatentCode]):
    """Let G be a ReLU network of d >= 2 layers with independent Gaussian weights, no biases, and widths that grow from
    layer to layer. Let z* be the true code, and take the loss |G(z) - G(z*)|²/2 on the ray of the codes z = -s z*, s >=
    0. Let t_0 = pi and cos t_(i+1) = ((pi - t_i) cos t_i + sin t_i)/pi. For large widths, the loss on this ray is
    smallest at s = rho_d. At the opposite code rho_d z*, the loss is smaller than at -rho_d z* by a fixed factor:

        rho_d = cos t_d,    loss(rho_d z*)/loss(-rho_d z*) = (1 - rho_d)/(1 + rho_d).

    For two layers, rho_2 = 1/pi. Descent that starts near -z* may stop near -rho_d z*. To continue, compare the loss at
    z and at -z.

    By induction, rho_d is also equal to sum_(i < d) (sin(t_i)/pi) prod_(i < j < d) ((pi - t_j)/pi).
    """

    title = "Opposite to the true code, a ReLU generator's recovery loss has a false minimum that a sign change exposes"
    source = Source("hand2018", "Main result", note="the second point of its landscape, on the ray")
    stated = Kind.THEOREM
    population = Drawn(LatentCode, code=normal("k"), k=Integer(10, 5, 20, "codes"), depth=Integer(2, 2, 3, "layers"))
    relation = EqualInMean(margin=0.02, resolution=0.04)
    control = Control("the angle has its value for one more layer", lambda values, problem: _on_ray(problem.depth + 1))
    controls = "where descent on the latent code can get stuck"
    unexplained = "trained generators, whose weights are not Gaussian"
    trials = 96

    def predict(self, problem: LatentCode) -> Array:
        return _on_ray(problem.depth)

    def measure(self, problem: LatentCode, key: Key[Array, ""]) -> Array:
        """Return the s at which the loss on the ray is least, and this loss divided by the loss at the opposite code.

        Both numbers are for one network.
        """
        widths = [len(problem.code), *(200 * 3**i for i in range(problem.depth))]
        keys, weights = jax.random.split(key, problem.depth), []
        for own, (inputs, outputs) in zip(keys, itertools.pairwise(widths), strict=True):
            weights.append(jax.random.normal(own, (inputs, outputs)) / jnp.sqrt(outputs))

        def loss(factors: Array) -> Array:
            found = jnp.append(factors, 1.0)[:, None] * problem.code
            for matrix in weights:
                found = jax.nn.relu(found @ matrix)
            return jnp.sum((found[:-1] - found[-1]) ** 2, axis=1) / 2

        at_0, at_1, at_2 = loss(jnp.asarray([0.0, -1.0, -2.0]))  # a parabola on the ray
        least = (3 * at_0 - 4 * at_1 + at_2) / (2 * (at_0 - 2 * at_1 + at_2))
        opposite, here = loss(jnp.stack([least, -least]))
        return jnp.stack([least, opposite / here])


def _on_ray(depth: int) -> Float[Array, " 2"]:
    cosine, angle = jnp.asarray(-1.0), jnp.asarray(jnp.pi)
    for _ in range(depth):
        cosine = ((jnp.pi - angle) * cosine + jnp.sin(angle)) / jnp.pi
        angle = jnp.arccos(cosine)
    return jnp.stack([cosine, (1 - cosine) / (1 + cosine)])
