"""Covering numbers: of the ball, of pairs (f, x) as Theorem 1 counts them, and of classes in the supremum norm.

This theory controls over how many cases a union bound goes, and with it how many features suffice. It assumes a finite
Barron parameter; it leaves unexplained classes with infinitely many parameters, whose covers in the supremum norm are
not counted here.

The cover (23) of pairs counts values alone: its size does not depend on the class. The proof of Lemma 1 takes one
function of the cover for all x, and that a cover of pairs does not give; a product of a cover of the class in the
supremum norm and one of the ball does. So `lemmata.functions.required_features` counts the product.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Order, Rate, Real, Source, Space
from lemmata.functions import log_pair_cover
from lemmata.problems._sampled import draws, points_in_ball

_RICHNESS = (1.0, 2.0, 4.0, 8.0)


def greedy_cover(close: Bool[Array, "m m"]) -> Float[Array, ""]:
    """How many of m elements are kept when each that is close to none of the kept before it is kept.

    The kept ones cover all; no two of them are close.

    Args:
        close: whether i and j are within the precision of each other.
    """

    def visit(i: int | Array, kept: Array) -> Array:
        return kept.at[i].set(~jnp.any(kept & close[i]))

    return jax.lax.fori_loop(0, len(close), visit, jnp.zeros(len(close), bool)).sum().astype(float)


class Pairs(eqx.Module):
    """Random pairs (f, x) of a class.

    Args:
        x: points, one a pair.
        values: (f(x) - f(0)) / C_F, one a pair.
        epsilon: the precision.
        dimension: d.
    """

    x: Float[Array, "m d"]
    values: Float[Array, " m"]
    epsilon: float = eqx.field(static=True)
    dimension: int = eqx.field(static=True)


class PairCover(Claim[Pairs]):
    """A smallest epsilon-cover (23) of all pairs (f, x) of a class has at most

        (1 + 4/epsilon)^d (1 + 2/epsilon)

    elements, whatever the class: no element of another pair's cell is needed. A set of pairs of which none covers
    another, as a greedy cover is, has no more either.
    """

    title = "The cover of pairs does not see the class"
    source = Source("li2025incontext", "(23)")
    relation = AtMost()
    controls = "the covering number of Theorem 1"
    unexplained = "what a cover would have to be for the proof of Lemma 1"
    problem = Pairs
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Dimension and precision."""
        return Space(d=Integer(1, 1, 3, "dimension"), epsilon=Real(0.5, 0.05, 2.0, "precision"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Pairs:
        """Sines b sin(<k, x> + phase)/|k|, |b| <= 1, at 256 points; half of them with the steepest phase.

        Each has a first moment of at most 1, and C_F = 1 for all asks most of the cover.
        """
        d = setting["d"]
        drawn = jax.random.normal(key, (256, 2 * d + 3))
        uniform, x = jax.scipy.stats.norm.cdf(drawn[:, :2]), points_in_ball(drawn[:, 2 : d + 3])
        k = 0.3 * drawn[:, d + 3 :]
        length = jnp.linalg.norm(k, axis=1)
        phase = jnp.where(jnp.arange(256) % 2 == 0, 0.0, jnp.pi * uniform[:, 1])
        waves = (jnp.sin(jnp.sum(k * x, axis=1) + phase) - jnp.sin(phase)) / length
        return Pairs(x, (2 * uniform[:, 0] - 1) * waves, setting["epsilon"], d)

    def hypotheses(self, problem: Pairs) -> list[Hypothesis]:
        """Pairs of the ball, values of a class with C_F = 1."""
        return [
            Hypothesis("points lie in the ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0),
            Hypothesis("|f(x) - f(0)| is at most C_F", jnp.abs(problem.values).max(), "<=", 1.0, "the first moment"),
        ]

    def predict(self, problem: Pairs) -> Array:
        """The bound."""
        return jnp.exp(log_pair_cover(problem.dimension, problem.epsilon))

    def measure(self, problem: Pairs, key: Key[Array, ""]) -> Array:
        """The size of a greedy cover."""
        return greedy_cover(close_pairs(problem.x, problem.values, problem.epsilon))

    def trivial(self, problem: Pairs) -> Array:
        """All pairs."""
        return jnp.asarray(float(len(problem.values)))

    def control(self) -> Control:
        """Balls cover better than cells, and values reach C_F only at the boundary."""
        return Control("an eighth of it", lambda bound, problem: bound / 8)


def close_pairs(x: Float[Array, "m d"], values: Float[Array, " m"], epsilon: float | Array) -> Bool[Array, "m m"]:
    """Which pairs cover each other in the sense of (23).

    Args:
        x: points.
        values: (f(x) - f(0)) / C_F.
        epsilon: the precision.
    """
    near = jnp.sum((x[:, None] - x) ** 2, axis=2) <= epsilon**2
    return near & (jnp.abs(values[:, None] - values) <= epsilon)


class Rich(eqx.Module):
    """Classes of cosines with 1, 2, 4 and 8 frequencies and the same C_F, at random points.

    Args:
        values: (f(x) - f(0)) / C_F: rung, function, point.
        x: points.
        epsilon: the precision.
    """

    values: Float[Array, "r k m"]
    x: Float[Array, " m"]
    epsilon: float = eqx.field(static=True)


class AbstractRichClaim(Claim[Rich]):
    """Statements about covers of richer and richer classes in one dimension."""

    controls = "covering numbers of classes of functions"
    unexplained = "the size of the smallest covers"
    problem = Rich
    trials = 32
    batch = 32

    def sample(self, setting: dict, key: Key[Array, ""]) -> Rich:
        """128 functions a class, sin(k z) and 1 - cos(k z) with k up to m and coefficients +-1; as many points."""
        signs, x = draws(key, (2, 128, 8), (128, 2))
        points = points_in_ball(x)[:, 0]
        order = jnp.pi * jnp.arange(1.0, 9.0)
        waves = jnp.stack([jnp.sin(order[:, None] * points), jnp.cos(order[:, None] * points) - 1])
        terms = jnp.sign(signs)[..., None] * (waves / order[:, None])[:, None]
        sums = jnp.stack([terms[:, :, : int(m)].sum(axis=(0, 2)) / (2 * m) for m in _RICHNESS])
        return Rich(sums, points, 0.05)

    def hypotheses(self, problem: Rich) -> list[Hypothesis]:
        """Values of classes with C_F = 1."""
        return [Hypothesis("|f(x) - f(0)| is at most C_F", jnp.abs(problem.values).max(), "<=", 1.0, "first moments")]


class PairCoverOfRichClasses(AbstractRichClaim):
    """The cover (23) of pairs does not grow with the number m of frequencies of a class."""

    title = "The cover of pairs of richer classes"
    source = Source("li2025incontext", "(23)", "Section 3, complexity of classes")
    relation = Rate("m", _RICHNESS, upper=True)
    label = "rate"

    def predict(self, problem: Rich) -> Array:
        """The exponent 0."""
        return jnp.zeros(())

    def measure(self, problem: Rich, key: Key[Array, ""]) -> Array:
        """Sizes of greedy covers, one function a point."""
        diagonal = jnp.diagonal(problem.values, axis1=1, axis2=2)
        close = lambda values: close_pairs(problem.x[:, None], values, problem.epsilon)
        return jnp.stack([greedy_cover(close(values)) for values in diagonal])

    def control(self) -> Control:
        """Stronger."""
        return Control("like 1/m", lambda exponent, problem: exponent - 1)


class ClassCoverOfRichClasses(AbstractRichClaim):
    """A cover of f - f(0) in the supremum norm, to C_F epsilon, grows with the number m of frequencies of a class."""

    title = "The supremum cover of richer classes"
    source = Source("li2025incontext", "Section 3, complexity of classes", note="with a cover of functions")
    relation = Order("m", _RICHNESS[:3])

    def predict(self, problem: Rich) -> Array:
        """Up."""
        return jnp.ones(())

    def measure(self, problem: Rich, key: Key[Array, ""]) -> Array:
        """Sizes of greedy covers of the functions, compared at the points."""
        sizes = []
        for values in problem.values[:3]:
            apart = jnp.abs(values[:, None] - values).max(axis=2)
            sizes.append(greedy_cover(apart <= problem.epsilon))
        return jnp.stack(sizes)

    def control(self) -> Control:
        """What the cover of pairs does."""
        return Control("it falls", lambda sign, problem: -sign)
