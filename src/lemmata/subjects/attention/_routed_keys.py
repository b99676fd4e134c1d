"""Test problems for a router that scores blocks of keys by their mean keys.

A problem consists of the scalar products of one query of length 1 with all keys. Some keys are relevant to the query:
their products with it are larger on average.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


def sphere_products(generator: np.random.Generator, shape: tuple[int, ...], dimension: int) -> Float[np.ndarray, "..."]:
    """Draw scalar products, of variance 1/d, of a unit query with keys that are uniform on the unit sphere of R^d.

    The products are z / sqrt(z² + chi²), where z is standard normal and chi² has d - 1 degrees of freedom.
    """
    z = generator.normal(size=shape)
    return z / np.sqrt(z**2 + generator.chisquare(dimension - 1, size=shape))


class RoutedKeys(eqx.Module):
    """Blocks of keys, of which one block contains relevant keys.

    Args:
        excess: the mean product of the first relevant key with the query; the mean product of irrelevant keys is 0.
        others: the mean product of each other relevant key with the query.
        correlation: the correlation of products in one block.
        dimension: the dimension of queries and keys.
        block: the number of keys in a block.
        blocks: the number of blocks.
        relevant: the number of relevant keys, all in one block.
        count: the number of blocks to which a query attends.
    """

    excess: Float[np.ndarray, ""]
    others: Float[np.ndarray, ""]
    correlation: Float[np.ndarray, ""]
    dimension: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    blocks: int = eqx.field(static=True)
    relevant: int = eqx.field(static=True)
    count: int = eqx.field(static=True)

    def products(
        self, key: Key[Array, ""], draws: int, blocks: int, *, block: int | None = None, shrink: float = 1.0
    ) -> Float[np.ndarray, "draws blocks block"]:
        """Return products of a query with the keys of blocks. The first block is the relevant block.

        Args:
            key: the random key.
            draws: the number of contexts.
            blocks: the number of blocks in each context.
            block: the number of keys in a block; by default `self.block`.
            shrink: the factor that multiplies `excess` and `others`.
        """
        generator = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        block = self.block if block is None else block
        own = sphere_products(generator, (draws, blocks, block), self.dimension)
        if self.correlation > 0:
            shared = sphere_products(generator, (draws, blocks, 1), self.dimension)
            own = np.sqrt(1 - self.correlation) * own + np.sqrt(self.correlation) * shared
        own[:, 0, : self.relevant] += shrink * self.others
        own[:, 0, 0] += shrink * (self.excess - self.others)
        return own


class RelevantBlocks(Population[RoutedKeys]):
    """Keys on the unit sphere, with an excess that gives a signal-to-noise ratio between 0.6 and 1.3.

    The ratio is the one that a block with the relevant keys has if the keys are independent.

    Args:
        correlated: whether products in a block have a correlation, between 0.05 and 0.2.
    """

    correlated: bool = eqx.field(default=False, static=True)
    settings = Space(
        dimension=Integer(32, 4, 1024, "dimension of keys"),
        block=Integer(16, 4, 1024, "keys of a block", corners=(8, 32), step=2),
        blocks=Integer(24, 4, 1024, "blocks", corners=(16, 32)),
        relevant=Integer(2, 1, 64, "relevant keys, in one block", corners=(1, 4)),
        count=Integer(3, 1, 64, "number of attended blocks", corners=(2, 4)),
    ).where(
        "the relevant keys fit into half a block, and at most half of the blocks are attended",
        lambda s: 2 * s["relevant"] <= s["block"] and 2 * s["count"] <= s["blocks"],
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RoutedKeys:
        """Draw a problem in which `others` is 0.3 to 1 times `excess`."""
        u, v, w = np.asarray(jax.random.uniform(key, (3,)))
        share = 0.3 + 0.7 * v
        total = (0.6 + 0.7 * u) * np.sqrt(2 * setting["block"] / setting["dimension"])
        excess = total / (1 + (setting["relevant"] - 1) * share)
        correlation = np.asarray(self.correlated * (0.05 + 0.15 * w))
        return RoutedKeys(np.asarray(excess), np.asarray(share * excess), correlation, **setting)

    def hypotheses(self, problem: RoutedKeys) -> list[Hypothesis]:
        """Require an excess above 0, and a correlation below 1 of the products in a block."""
        return [
            Hypothesis("the relevant key's excess", problem.excess, ">", 0.0, "otherwise no block is relevant"),
            Hypothesis(
                "the correlation of products", problem.correlation, "<", 1.0, "otherwise a block acts as one key"
            ),
        ]


class HiddenRun(eqx.Module):
    """A long context with a run of relevant keys.

    Args:
        excess: the mean product of a relevant key with the query; the mean product of irrelevant keys is 0.
        dimension: the dimension of queries and keys.
        length: the number of keys in the context.
        run: the number of relevant keys. The relevant keys are adjacent, and start at a multiple of this number.
        attended: the number of attended keys in all blocks together.
    """

    excess: Float[np.ndarray, ""]
    dimension: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    run: int = eqx.field(static=True)
    attended: int = eqx.field(static=True)

    def contexts(
        self, key: Key[Array, ""], draws: int
    ) -> tuple[Float[np.ndarray, "draws length"], Float[np.ndarray, "draws length"]]:
        """Return the products of a query with all keys, and an array that is 1 for relevant keys and 0 for others."""
        generator = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        start = generator.integers(self.length // self.run, size=draws) * self.run
        relevant = (np.arange(self.length) // self.run == start[:, None] // self.run).astype(float)
        noise = sphere_products(generator, (draws, self.length), self.dimension)
        return noise + self.excess * relevant, relevant


class HiddenRuns(Population[HiddenRun]):
    """Contexts with a multiple of 128 keys and one run of relevant keys.

    At the block size `at`, the signal-to-noise ratio of the block with the run is drawn between 0.75 and 1.5 times
    `ratio`.

    Args:
        run: the number of relevant keys.
        at: the block size for which the signal-to-noise ratio is set.
        ratio: the number that sets the signal-to-noise ratio.
    """

    run: int = eqx.field(default=1, static=True)
    at: int = eqx.field(default=64, static=True)
    ratio: float = eqx.field(default=0.3, static=True)

    def settings(self) -> Space:
        """Return settings in which `length` is a multiple of 128, and the number of attended keys a multiple of 64."""
        return Space(
            dimension=Integer(16, 4, 1024, "dimension of keys"),
            length=Integer(512, 256, 65_536, "keys", corners=(384, 640), step=128),
            run=Integer(self.run, self.run, self.run, "relevant keys"),
            attended=Integer(128, 64, 4096, "number of attended keys", corners=(64, 128), step=64),
        ).where("at most half of the keys are attended", lambda s: 2 * s["attended"] <= s["length"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenRun:
        ratio = self.ratio * (0.75 + 0.75 * float(jax.random.uniform(key)))
        excess = ratio * np.sqrt(2 * self.at / setting["dimension"]) / min(setting["run"], self.at)
        return HiddenRun(np.asarray(excess), **setting)

    def hypotheses(self, problem: HiddenRun) -> list[Hypothesis]:
        return [Hypothesis("the relevant keys' excess", problem.excess, ">", 0.0, "otherwise no key is relevant")]
