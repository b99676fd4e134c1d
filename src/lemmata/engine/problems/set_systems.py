"""Test problems for Vapnik-Chervonenkis theory: families of labellings, pairs of classes, and sign networks."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class SetSystem(eqx.Module):
    """A family of labellings of n points. Entry m says whether the labelling by the bits of m belongs to the family."""

    member: Bool[Array, " labellings"]

    @property
    def points(self) -> int:
        """The number n of points that are labelled."""
        return len(self.member).bit_length() - 1


class SetSystems(Population[SetSystem]):
    """Set systems: Hamming balls around a random labelling (half of them), and random families of random size."""

    settings = Space(
        points=Integer(8, 4, 10, "points", corners=(7, 9)), radius=Integer(3, 1, 9, "radius", corners=(3, 4))
    ).where("the radius is below the number of points", lambda s: s["radius"] < s["points"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SetSystem:
        """Draw a Hamming ball of radius r, or a random family with more members than a ball of radius r - 1.

        Such a family shatters some r points: it contains every labelling of these points.
        """
        rng, n, radius = generator_of(key), setting["points"], setting["radius"]
        masks = np.arange(2**n)
        sizes = np.bitwise_count(masks ^ rng.integers(2**n))
        if rng.random() < 0.5:
            return SetSystem(jnp.asarray(sizes <= radius))
        count = rng.integers(np.sum(sizes < radius) + 1, 2**n + 1)
        return SetSystem(jnp.asarray(rng.permutation(2**n) < count))

    def hypotheses(self, problem: SetSystem) -> list[Hypothesis]:
        return [Hypothesis("members", problem.member.sum(), ">", 0, "an empty family shatters nothing")]


class BinomialSum(eqx.Module):
    """Numbers k (`chosen`) and N >= k (`points`), for sums of binomial coefficients of N over 0, ..., k."""

    chosen: Float[Array, ""]
    points: Float[Array, ""]


class BinomialSums(Population[BinomialSum]):
    """Random numbers k up to 5 and N up to k + 60."""

    settings = Space(most=Integer(5, 1, 100, "largest dimension", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BinomialSum:
        k_key, n_key = jax.random.split(key)
        chosen = jax.random.randint(k_key, (), 1, setting["most"] + 1)
        return BinomialSum(chosen.astype(float), (chosen + jax.random.randint(n_key, (), 0, 61)).astype(float))

    def hypotheses(self, problem: BinomialSum) -> list[Hypothesis]:
        return [
            Hypothesis("k", problem.chosen, ">=", 1.0, "(e N/k)^k"),
            Hypothesis("N", problem.points, ">=", problem.chosen, "fewer than k points have all labellings"),
        ]


class ClassPair(eqx.Module):
    """Two finite classes of functions on the same few points, as tables of values."""

    first: Int[Array, "functions domain"]
    second: Int[Array, "others domain"]
    rows: int = eqx.field(static=True)


class ClassPairs(Population[ClassPair]):
    """Classes of random functions on six points: one class with two values, and one class with three values."""

    settings = Space(
        functions=Integer(12, 2, 30, "functions of each class", corners=(8, 16)),
        rows=Integer(3, 1, 6, "rows", corners=(3, 4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ClassPair:
        rng, functions = generator_of(key), setting["functions"]
        first, second = rng.integers(2, size=(functions, 6)), rng.integers(3, size=(functions, 6))
        return ClassPair(jnp.asarray(first), jnp.asarray(second), setting["rows"])

    def hypotheses(self, problem: ClassPair) -> list[Hypothesis]:
        return [Hypothesis("rows", problem.rows, "<=", problem.first.shape[1], "distinct points of the domain")]


class SignArchitecture(eqx.Module):
    """The widths of a network of sign units without thresholds, and the number of rows."""

    widths: tuple[int, ...] = eqx.field(static=True)
    rows: int = eqx.field(static=True)

    @property
    def weights(self) -> int:
        """The number of parameters."""
        return sum(before * after for before, after in itertools.pairwise(self.widths))


class SignArchitectures(Population[SignArchitecture]):
    """Half of the problems are single units. The other half are networks of two or three layers of up to 8 units."""

    settings = Space(rows=Integer(40, 10, 200, "largest number of rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignArchitecture:
        rng, most = generator_of(key), setting["rows"]
        if rng.random() < 0.5:
            d = int(rng.integers(2, most // 2))
            return SignArchitecture((d, 1), int(rng.integers(2, d + 1)))
        layers = rng.integers(2, 9, size=rng.integers(2, 4))
        return SignArchitecture((*map(int, layers), 1), int(rng.integers(2, most + 1)))

    def hypotheses(self, problem: SignArchitecture) -> list[Hypothesis]:
        return [Hypothesis("layers", len(problem.widths), ">=", 2, "inputs and an output")]
