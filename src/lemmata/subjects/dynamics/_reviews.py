"""Reviews in a small made-up language, for models that are pre-trained within seconds."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.errors import UnknownNameError

TOPICS = ("dish", "film")
CLS, MASK, IT, WAS, GREAT, TERRIBLE = range(6)


@dataclasses.dataclass(frozen=True)
class Reviews:
    """Reviews of a dish and a film: words of praise or blame for either, and neutral words.

    The tokens are, in order: the first token of every text, the mask, `it`, `was`, `great`, `terrible`; four words of
    praise and four of blame for the dish; equally many for the film; eight neutral words.

    Args:
        words: the number of words in a review.
        spoken: the probability that a word praises or blames. The topic of such a word is dish or film with equal
            probability.
        honest: the probability that a word of praise or blame agrees with the review's judgement of its topic.
        closing: the probability that the last words of a document, `it was great` or `it was terrible`, agree with the
            document's judgement.
        synonyms: the number of words of praise, and of words of blame, for each topic.
        silent: the number of neutral words in the vocabulary.
    """

    words: int = 8
    spoken: float = 0.6
    honest: float = 0.85
    closing: float = 0.9
    synonyms: int = 4
    silent: int = 8

    @property
    def vocabulary(self) -> int:
        """The number of different tokens."""
        return TERRIBLE + 1 + 4 * self.synonyms + self.silent

    @property
    def unrelated(self) -> tuple[int, int]:
        """The tokens of two neutral words."""
        return self.vocabulary - 2, self.vocabulary - 1

    @property
    def length(self) -> int:
        """The number of tokens in a document, including the first token and the closing words."""
        return self.words + 4

    def texts(self, key: Key[Array, ""], judgements: Int[Array, "n 2"]) -> Int[Array, "n T"]:
        """Draw reviews with these judgements (1 or 0) of dish and film: the first token, then the words."""
        keys = jax.random.split(key, 5)
        shape = (len(judgements), self.words)
        topic = jax.random.bernoulli(keys[0], shape=shape).astype(int)
        own = jnp.take_along_axis(judgements, topic, axis=1)
        own = jnp.where(jax.random.bernoulli(keys[1], self.honest, shape), own, 1 - own)
        first = TERRIBLE + 1 + self.synonyms * (2 * topic + 1 - own)
        judging = first + jax.random.randint(keys[2], shape, 0, self.synonyms)
        silent = TERRIBLE + 1 + 4 * self.synonyms + jax.random.randint(keys[3], shape, 0, self.silent)
        words = jnp.where(jax.random.bernoulli(keys[4], self.spoken, shape), judging, silent)
        return jnp.concatenate([jnp.full((len(words), 1), CLS), words], axis=1)

    def documents(self, key: Key[Array, ""], n: int) -> Int[Array, "n T"]:
        """Draw n reviews with the same judgement of dish and film. Each ends in `it was great` or `it was terrible`."""
        keys = jax.random.split(key, 3)
        liked = jax.random.bernoulli(keys[0], shape=(n,)).astype(int)
        said = jnp.where(jax.random.bernoulli(keys[1], self.closing, (n,)), liked, 1 - liked)
        texts = self.texts(keys[2], jnp.stack([liked, liked], axis=1))
        return jnp.concatenate([texts, closing(n), jnp.where(said == 1, GREAT, TERRIBLE)[:, None]], axis=1)

    def task(self, key: Key[Array, ""], n: int, topic: str = "dish") -> tuple[Int[Array, "n T"], Float[Array, " n"]]:
        """Draw reviews and their classes. Half of the reviews are of class 1 (the topic was liked), and half are of
        class -1. The judgement of the other topic is random.

        In the documents of `documents`, the two judgements agree. In the reviews of `task`, the judgements may differ,
        so a model has to learn which words to ignore.

        Args:
            key: the random key.
            n: the number of reviews.
            topic: "dish" or "film", the topic of the classes.

        Raises:
            UnknownNameError: if the topic is unknown.
        """
        if topic not in TOPICS:
            raise UnknownNameError(f"topic {topic!r}", rule=f"one of {', '.join(TOPICS)}")
        keys = jax.random.split(key, 2)
        liked = (jnp.arange(n) % 2).astype(int)
        other = jax.random.bernoulli(keys[0], shape=(n,)).astype(int)
        judgements = [liked, other] if topic == "dish" else [other, liked]
        return self.texts(keys[1], jnp.stack(judgements, axis=1)), 2.0 * liked - 1


def closing(n: int) -> Int[Array, "n 2"]:
    """Return the tokens `it was`, n times."""
    return jnp.tile(jnp.array([IT, WAS]), (n, 1))


def prompted(texts: Int[Array, "n T"]) -> Int[Array, "n T3"]:
    """Append `it was` and the mask to each text."""
    return jnp.concatenate([texts, closing(len(texts)), jnp.full((len(texts), 1), MASK)], axis=1)


REVIEWS = Reviews()
