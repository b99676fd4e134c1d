"""False statements about relative entropies, entropies and mutual information of finite laws."""

from math import log
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import entr, rel_entr
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import HALVED, AbstractTextbook, Case, book


class Laws(eqx.Module):
    """Three laws on m letters, softmax(logits), and a channel from m letters to m letters."""

    logits: Float[Array, "3 m"]
    channel: Float[Array, "m m"]

    @property
    def weights(self) -> Float[Array, "3 m"]:
        """The probabilities."""
        return jax.nn.softmax(self.logits)

    @property
    def sent(self) -> Float[Array, "3 m"]:
        """The laws at the other end of the channel."""
        return self.weights @ jax.nn.softmax(self.channel)


class RandomLaws(Population[Laws]):
    """Normal logits times a scale."""

    free: ClassVar[tuple[str, ...]] = ("logits", "channel")

    def settings(self) -> Space:
        return Space(m=Integer(5, 2, 20, "letters"), scale=Real(1.0, 0.1, 5.0, "size of logits"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Laws:
        normal = setting["scale"] * jax.random.normal(key, (3 + setting["m"], setting["m"]))
        return Laws(normal[:3], normal[3:])

    def hypotheses(self, problem: Laws) -> list[Hypothesis]:
        first, second, _ = problem.weights
        apart = jnp.abs(first - second).sum() / 2
        size = jnp.maximum(jnp.abs(problem.logits).max(), jnp.abs(problem.channel).max())
        return [
            Hypothesis("the first two laws differ (total variation)", apart, ">=", 1e-3),
            Hypothesis("probabilities are not too small (largest logit)", size, "<=", 20.0),
        ]


class AbstractLaws(AbstractTextbook[Laws]):
    """Bounds; divergences of laws that differ by t cancel to order t² of terms of order t."""

    population = RandomLaws()
    relation = AtMost()
    control = HALVED

    def condition(self, problem: Laws) -> Array:
        first, second, _ = problem.weights
        return 1e3 / (jnp.abs(first - second).sum() / 2)


def _divergence(first: Array, second: Array) -> Array:
    return rel_entr(first, second).sum()


class AbstractTotalVariation(AbstractLaws):
    """The total variation distance of the first two laws."""

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        first, second, _ = problem.weights
        return jnp.abs(first - second).sum() / 2


class PinskerWithAnEighth(AbstractTotalVariation):
    """The total variation distance of p and q is at most sqrt(KL(p, q) / 8)."""

    title = "Pinsker's inequality with the constant 1/8"
    source = book("cover2006", "Pinsker's inequality, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: Laws) -> Array:
        return jnp.sqrt(_divergence(*problem.weights[:2]) / 8)


class PinskerWithAHalf(AbstractTotalVariation):
    """The total variation distance of p and q is at most sqrt(KL(p, q) / 2), which cannot be improved where they are
    close.
    """

    title = "Pinsker's inequality"
    source = book("cover2006", "Pinsker's inequality")

    def predict(self, problem: Laws) -> Array:
        return jnp.sqrt(_divergence(*problem.weights[:2]) / 2)


class RelativeEntropyIsADistance(AbstractLaws):
    """KL(p, q) <= KL(p, r) + KL(r, q)."""

    title = "The triangle inequality of the relative entropy"
    source = book("cover2006", "the relative entropy, as if it were a distance")
    expected = Status.REFUTED

    def predict(self, problem: Laws) -> Array:
        first, second, third = problem.weights
        return _divergence(first, third) + _divergence(third, second)

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        return jnp.sum(problem.weights[0] * (jnp.log(problem.weights[0]) - jnp.log(problem.weights[1])))


def _root_of_shannon(first: Array, second: Array) -> Array:
    """The root of the divergence of Jensen and Shannon; 0, with the derivative 0, where rounding leaves nothing."""
    middle = (first + second) / 2
    divergence = (rel_entr(first, middle) + rel_entr(second, middle)).sum() / 2
    return jnp.where(divergence > 1e-14, jnp.sqrt(jnp.where(divergence > 1e-14, divergence, 1.0)), 0.0)


class RootOfShannonIsADistance(AbstractLaws):
    """The root of the divergence of Jensen and Shannon obeys the triangle inequality."""

    title = "The triangle inequality of the root of the divergence of Jensen and Shannon"
    source = book("cover2006", "distances of laws, after Endres and Schindelin")

    def hypotheses(self, problem: Laws) -> list[Hypothesis]:
        first, second, third = problem.weights
        apart = jnp.minimum(jnp.abs(first - third).sum(), jnp.abs(second - third).sum())
        return [Hypothesis("the third law is another one", apart, ">=", 1e-3)]

    def predict(self, problem: Laws) -> Array:
        first, second, third = problem.weights
        return _root_of_shannon(first, third) + _root_of_shannon(third, second)

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        first, second, _ = problem.weights
        entropy = lambda weights: entr(weights).sum()
        shared = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
        return jnp.sqrt(jnp.maximum(shared, 1e-300))


class ChannelsSeparateLaws(AbstractLaws):
    """A channel T moves no two laws together: KL(p, q) <= KL(pT, qT)."""

    title = "Data processing, reversed"
    source = book("cover2006", "the data processing inequality, reversed")
    expected = Status.REFUTED

    def predict(self, problem: Laws) -> Array:
        return _divergence(*problem.sent[:2])

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        return _divergence(*problem.weights[:2])


class ChannelsJoinLaws(AbstractLaws):
    """A channel T moves no two laws apart: KL(pT, qT) <= KL(p, q)."""

    title = "Data processing"
    source = book("cover2006", "the data processing inequality")

    def predict(self, problem: Laws) -> Array:
        return _divergence(*problem.weights[:2])

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        return _divergence(*problem.sent[:2])


class AbstractEntropy(AbstractLaws):
    """The entropy of the first law, of which e is the probability of all letters but the likeliest."""

    def measure(self, problem: Laws, key: Key[Array, ""]) -> Array:
        return entr(problem.weights[0]).sum()


def _fano(problem: Laws, others: Array) -> Array:
    right = problem.weights[0].max()
    return entr(right) + entr(1 - right) + (1 - right) * others


class FanoWithHalfTheLetters(AbstractEntropy):
    """A law on m letters whose likeliest one has probability 1 - e has an entropy of at most h(e) + e log(m) / 2, h the
    entropy of a coin.
    """

    title = "Fano's inequality with half the logarithm"
    source = book("cover2006", "Fano's inequality, with a wrong term")
    expected = Status.REFUTED

    def predict(self, problem: Laws) -> Array:
        return _fano(problem, jnp.log(problem.logits.shape[1]) / 2)


class FanoWithTheOtherLetters(AbstractEntropy):
    """A law on m letters whose likeliest one has probability 1 - e has an entropy of at most h(e) + e log(m - 1), h the
    entropy of a coin, with equality where all others have the same probability.
    """

    title = "Fano's inequality"
    source = book("cover2006", "Fano's inequality")

    def predict(self, problem: Laws) -> Array:
        return _fano(problem, jnp.log(problem.logits.shape[1] - 1.0))


class JointLaw(eqx.Module):
    """A law of three letters together, softmax(logits)."""

    logits: Float[Array, "m m m"]

    def entropy(self, *kept: int) -> Float[Array, ""]:
        """The entropy of the letters whose places are given."""
        weights = jax.nn.softmax(self.logits.reshape(-1)).reshape(self.logits.shape)
        return entr(weights.sum(axis=tuple(place for place in range(3) if place not in kept))).sum()


class JointLaws(Population[JointLaw]):
    """Normal logits."""

    free: ClassVar[tuple[str, ...]] = ("logits",)

    def settings(self) -> Space:
        return Space(m=Integer(2, 2, 5, "letters"), scale=Real(1.0, 0.1, 5.0, "size of logits"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> JointLaw:
        return JointLaw(setting["scale"] * jax.random.normal(key, (setting["m"],) * 3))

    def hypotheses(self, problem: JointLaw) -> list[Hypothesis]:
        size = jnp.abs(problem.logits).max()
        shared = problem.entropy(0, 2) + problem.entropy(1, 2) - problem.entropy(2) - problem.entropy(0, 1, 2)
        return [
            Hypothesis("probabilities are not too small (largest logit)", size, "<=", 20.0),
            Hypothesis("the letters share something, given the third", shared, ">=", 1e-4),
        ]


class AbstractConditionalInformation(AbstractTextbook[JointLaw]):
    """I(X; Y | Z)."""

    population = JointLaws()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: JointLaw, key: Key[Array, ""]) -> Array:
        entropy = problem.entropy
        return entropy(0, 2) + entropy(1, 2) - entropy(2) - entropy(0, 1, 2)

    def condition(self, problem: JointLaw) -> Array:
        return jnp.asarray(1e6)


class ConditioningLosesInformation(AbstractConditionalInformation):
    """Conditioning lowers mutual information: I(X; Y | Z) <= I(X; Y) + 1/2 log 2."""

    title = "Conditioning raises mutual information by at most half a bit"
    source = book("cover2006", "mutual information given a third letter, as if it were an entropy")
    expected = Status.REFUTED

    def predict(self, problem: JointLaw) -> Array:
        return problem.entropy(0) + problem.entropy(1) - problem.entropy(0, 1) + jnp.log(2.0) / 2


class InformationBelowEntropy(AbstractConditionalInformation):
    """Mutual information given a third letter is at most the entropy: I(X; Y | Z) <= min(H(X), H(Y))."""

    title = "Mutual information given a third letter is at most an entropy"
    source = book("cover2006", "mutual information and entropy")

    def predict(self, problem: JointLaw) -> Array:
        return jnp.minimum(problem.entropy(0), problem.entropy(1))


def _laws(*weights: list[float]):
    identity = 20 * jnp.eye(len(weights[0])) - 10
    return lambda: Laws(jnp.log(jnp.array(weights)), identity)


def _blurred() -> Laws:
    """A channel that forgets four fifths."""
    return Laws(jnp.log(jnp.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])), jnp.log(jnp.array([[0.6, 0.4], [0.4, 0.6]])))


def _parity() -> JointLaw:
    """Z is the parity of two fair bits, up to exp(-20)."""
    odd = (jnp.indices((2, 2, 2)).sum(axis=0) % 2).astype(float)
    return JointLaw(10 - 20 * odd)


CASES = (
    Case(
        PinskerWithAnEighth(),
        PinskerWithAHalf(),
        "for nearly all laws; off by up to 2, where they are close",
        {"m": 2},
        0.1 / (0.6 * log(1.2) + 0.4 * log(0.8)) ** 0.5 * 8**0.5,
        _laws([0.6, 0.4], [0.5, 0.5], [0.5, 0.5]),
    ),
    Case(
        RelativeEntropyIsADistance(),
        RootOfShannonIsADistance(),
        "for r between p and q; off by any factor",
        {"m": 2},
        (0.8 * log(9)) / (0.9 * log(1.8) + 0.1 * log(0.2) - (log(1.8) + log(0.2)) / 2),
        _laws([0.9, 0.1], [0.1, 0.9], [0.5, 0.5]),
    ),
    Case(
        ChannelsSeparateLaws(),
        ChannelsJoinLaws(),
        "for every channel but permutations; off by any factor",
        {"m": 2},
        (0.8 * log(9)) / (0.16 * log(0.58 / 0.42)),
        _blurred,
    ),
    Case(
        FanoWithHalfTheLetters(),
        FanoWithTheOtherLetters(),
        "for m >= 3 and nearly uniform other letters, true for m = 2",
        {"m": 4},
        log(4) / (log(4) - 0.75 * log(3) + 0.75 * log(2)),
        _laws([0.25] * 4, [0.4, 0.2, 0.2, 0.2], [0.25] * 4),
    ),
    Case(
        ConditioningLosesInformation(),
        InformationBelowEntropy(),
        "only near laws where Z tells Y from X and X alone does not, like the parity of two bits",
        {"m": 2},
        2.0,
        _parity,
    ),
)
