"""Inpainting: how much a mask preserves of a signal from a linear generator.

This theory computes the error of least squares on the observed coordinates. It assumes a signal in the range of the
generator. It does not explain generators that are not linear, or masks that depend on the signal.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive

ABOUT = {
    "tool": "random matrices",
    "architecture": "linear model",
    "object": "estimator",
    "MaskedBlocks": {"tool": "combinatorics"},
}

_REPEATS, _MASKS = 64, 256


class MaskedSignal(eqx.Module):
    """The sizes n and k of a random generator, the number of observed coordinates, and the noise.

    The noise of each observed coordinate has the standard deviation `noise`.
    """

    noise: Float[Array, ""]
    n: int = eqx.field(static=True)
    k: int = eqx.field(static=True)
    seen: int = eqx.field(static=True)


class InpaintingNoise(Claim[MaskedSignal]):
    """Let G have k orthonormal columns with a uniformly random range in n dimensions. Observe w of the n coordinates of
    a signal G z, with independent noise of variance s², and recover the signal by least squares. The mean squared error
    is

        s² k (n - k - 1)/(w - k - 1).

    If all coordinates are observed, the error is s² k. So the missing coordinates add s² k (n - w)/(w - k - 1) to the
    error, and the test measures this increase. If w is near k, the error is amplified far more than n/w times.

    Derivation: the error is s² tr (G_w'G_w)^(-1), where G_w are the observed rows, and G_w'G_w has the matrix beta
    distribution with parameters w/2 and (n - w)/2. The inverse of G_w'G_w has the mean (n - k - 1)/(w - k - 1) I.
    """

    title = "Inpainting from w of n coordinates by k latent variables amplifies noise by (n - k - 1)/(w - k - 1)"
    source = Source("emergence2026", "Figure 14.15", note="for linear generators, with the constant")
    stated = Kind.OWN
    population = Drawn(
        MaskedSignal,
        positive("noise"),
        noise=log_uniform(0.1, 10.0),
        n=Integer(60, 30, 200, "coordinates of the signal"),
        k=Integer(10, 5, 20, "columns of the generator"),
        seen=Integer(24, 11, 80, "observed coordinates"),
        rules={
            "at least k + 6 coordinates are observed": lambda s: s["seen"] >= s["k"] + 6,
            "at most 4 k coordinates are observed": lambda s: s["seen"] <= 4 * s["k"],
            "at most half of the coordinates are observed": lambda s: 2 * s["seen"] <= s["n"],
        },
    )
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the factor is n/w",
        lambda cost, problem: cost * (problem.seen - problem.k - 1) / problem.seen,
    )
    controls = "the error of filled-in pixels"
    unexplained = "generators whose columns are aligned with the coordinates"
    trials = 128

    def predict(self, problem: MaskedSignal) -> Array:
        return problem.noise**2 * problem.k * (problem.n - problem.seen) / (problem.seen - problem.k - 1)

    def measure(self, problem: MaskedSignal, key: Key[Array, ""]) -> Array:
        """Return the mean over generators of the squared error with the mask, minus the squared error without the
        mask.
        """

        def cost(own: Key[Array, ""]) -> Array:
            basis_key, code_key, noise_key = jax.random.split(own, 3)
            g = jnp.linalg.qr(jax.random.normal(basis_key, (problem.n, problem.k)))[0]
            x = g @ jax.random.normal(code_key, (problem.k,))
            b = x + problem.noise * jax.random.normal(noise_key, (problem.n,))
            errors = [
                jnp.sum((g @ jnp.linalg.lstsq(g[:count], b[:count])[0] - x) ** 2) for count in (problem.seen, problem.n)
            ]
            return errors[0] - errors[1]

        return jnp.mean(jax.lax.map(cost, jax.random.split(key, _REPEATS)))


class AlignedGenerator(eqx.Module):
    """The k latent variables (the code) of a signal, a random basis for comparison, and the number of observed
    coordinates. Each entry of the code is spread evenly over its own block of coordinates.
    """

    code: Float[Array, " k"]
    basis: Float[Array, "k block k"]
    seen: int = eqx.field(static=True)

    @property
    def n(self) -> int:
        """The number of coordinates of the signal."""
        return len(self.code) * self.block

    @property
    def block(self) -> int:
        """The number of coordinates in a block."""
        return self.basis.shape[1]


class MaskedBlocks(Claim[AlignedGenerator]):
    """Let G have k orthonormal columns. Observe w >= k random coordinates of the n coordinates of G z, without noise,
    and recover the signal as G times the least-squares solution of smallest norm. The recovery is exact if the observed
    rows of G have rank k, as the observed rows of a random G do. If each column of G is spread evenly over its own
    block of b = n/k coordinates, the expected share of |G z|² that is lost is

        C(n - b, w)/C(n, w),

    the probability that a block is not observed. The test measures how much more of the signal is lost with this G than
    with a random G under the same masks.

    Derivation: the observed rows of such a G have orthogonal columns. So an entry of z is recovered if a coordinate of
    its block is observed, and becomes 0 otherwise. A block of b coordinates is hidden in C(n - b, w) of the C(n, w)
    masks.
    """

    title = "A linear generator with columns in blocks loses every block that the inpainting mask hides"
    source = Source("emergence2026", "Figure 14.15", note="for linear generators, without noise")
    stated = Kind.OWN
    population = Drawn(
        AlignedGenerator,
        code=normal("k"),
        basis=normal("k", "block", "k"),
        k=Integer(8, 4, 16, "columns of the generator"),
        block=Integer(3, 2, 4, "coordinates of a block"),
        seen=Integer(12, 4, 32, "observed coordinates"),
        rules={
            "at least k coordinates are observed": lambda s: s["seen"] >= s["k"],
            "at most half of the coordinates are observed": lambda s: 2 * s["seen"] <= s["k"] * s["block"],
        },
    )
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the coordinates of a block are hidden independently, so the share is (1 - w/n)^b",
        lambda share, problem: (1 - problem.seen / problem.n) ** problem.block,
    )
    controls = "how much a mask hides of a signal"
    unexplained = "masks that are chosen by an adversary"
    trials = 256

    def predict(self, problem: AlignedGenerator) -> Array:
        n, b, w = problem.n, problem.block, problem.seen
        hidden = jnp.arange(b)
        return jnp.prod((n - w - hidden) / (n - hidden))

    def measure(self, problem: AlignedGenerator, key: Key[Array, ""]) -> Array:
        """Return the mean squared error over 256 masks, relative to the squared length of the code.

        The mean error for the random G over 16 of these masks is subtracted; it is 0 up to rounding.
        """
        n, k = problem.n, len(problem.code)
        blocks = jnp.repeat(jnp.eye(k), problem.block, axis=0) / jnp.sqrt(problem.block)
        spread = jnp.linalg.qr(problem.basis.reshape(n, k))[0]

        def lost(own: Key[Array, ""], g: Array) -> Array:
            shown = g[jax.random.permutation(own, n)[: problem.seen]]
            return jnp.sum((g @ (problem.code - jnp.linalg.pinv(shown) @ (shown @ problem.code))) ** 2)

        keys = jax.random.split(key, _MASKS)
        in_blocks = jnp.mean(jax.lax.map(lambda own: lost(own, blocks), keys))
        at_random = jnp.mean(jax.lax.map(lambda own: lost(own, spread), keys[:16]))
        return (in_blocks - at_random) / (problem.code @ problem.code)
