"""A small masked transformer, its pre-training, and two ways to turn this transformer into a classifier: by a prompt,
or by a fresh head.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from lemmata.core import check_whole
from lemmata.errors import SettingError

from ._reviews import GREAT, MASK, REVIEWS, TERRIBLE, Reviews

_MASKED, _LAST = 0.15, 0.6
_DOCUMENTS = 8192
_FLOOR = 1e-5


class MaskedTransformer(eqx.Module):
    """A transformer that maps tokens to the logits of the token at every position. Attention goes in both directions.
    The input of each layer is normalised, and dropout is not used.

    The readout is the transposed embedding plus a bias. The normalisations have no parameters.

    Args:
        vocabulary: the number of different tokens.
        length: the largest number of tokens in a text.
        width: the dimension of the embedding.
        heads: the number of attention heads, a divisor of the width.
        layers: the number of blocks. Each block has attention and a hidden layer four times as wide as the embedding.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import MaskedTransformer
        >>> model = MaskedTransformer(vocabulary=30, length=12)
        >>> params = model.init(jax.random.key(0))
        >>> model.apply(params, jnp.array([0, 7, 1])).shape
        (3, 30)
    """

    vocabulary: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    width: int = eqx.field(default=16, static=True)
    heads: int = eqx.field(default=2, static=True)
    layers: int = eqx.field(default=2, static=True)

    def __check_init__(self):
        for name in ("vocabulary", "length", "width", "heads", "layers"):
            check_whole(name, getattr(self, name), 1, name)
        if self.width % self.heads:
            raise SettingError("heads", found=self.heads, rule=f"a divisor of {self.width}, the width")

    def init(self, key: Key[Array, ""]) -> dict:
        """Draw normal weights. In layers, their variance is 1/fan-in, or a quarter of 1/fan-in for the matrices "mix"
        (after attention) and "outer" (after the hidden layer).
        """
        d, keys = self.width, jax.random.split(key, 2 + self.layers)
        shapes = {"queries": (d, 3 * d), "mix": (d, d), "inner": (d, 4 * d), "outer": (4 * d, d)}
        scales = {"queries": 1.0, "mix": 0.5, "inner": 1.0, "outer": 0.5}

        def layer(own: Key[Array, ""]) -> dict[str, Array]:
            return {
                name: scales[name] * jax.random.normal(part, shape) / shape[0] ** 0.5
                for part, (name, shape) in zip(jax.random.split(own, len(shapes)), shapes.items(), strict=True)
            }

        return {
            "embedding": 0.3 * jax.random.normal(keys[0], (self.vocabulary, d)),
            "positions": 0.1 * jax.random.normal(keys[1], (self.length, d)),
            "bias": jnp.zeros(self.vocabulary),
            "layers": [layer(own) for own in keys[2:]],
        }

    def hidden(self, params: dict, tokens: Int[Array, " T"]) -> Float[Array, "T d"]:
        """Return the features at every position, normalised to mean 0 and variance 1."""
        h = params["embedding"][tokens] + params["positions"][: len(tokens)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *params["layers"])
        return _normed(jax.lax.scan(self._layer, h, stacked)[0])

    def apply(self, params: dict, tokens: Int[Array, " T"]) -> Float[Array, "T V"]:
        """Return the logits of all tokens at every position."""
        return self.hidden(params, tokens) @ params["embedding"].T + params["bias"]

    def _layer(self, h: Array, layer: dict[str, Array]) -> tuple[Array, None]:
        h = h + self._attend(layer, _normed(h))
        return h + jax.nn.gelu(_normed(h) @ layer["inner"]) @ layer["outer"], None

    def _attend(self, layer: dict[str, Array], h: Array) -> Array:
        split = (h @ layer["queries"]).reshape(len(h), 3, self.heads, -1)
        query, key, value = (split[:, n] for n in range(3))
        weights = jax.nn.softmax(jnp.einsum("ihd,jhd->hij", query, key) / query.shape[-1] ** 0.5, axis=-1)
        return jnp.einsum("hij,jhd->ihd", weights, value).reshape(h.shape) @ layer["mix"]


def _normed(h: Array) -> Array:
    centred = h - h.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + _FLOOR)


class WordPrompt(eqx.Module):
    """The function f(params, tokens) = (logit of the first word) - (logit of the second word) at the last position,
    which is the mask.

    Args:
        model: the transformer.
        words: the two label words, first the word of class 1.
    """

    model: MaskedTransformer
    words: Int[np.ndarray, "2"] = eqx.field(converter=np.asarray, default=(GREAT, TERRIBLE))

    def __call__(self, params: dict, tokens: Int[Array, " T"]) -> Float[Array, ""]:
        logits = self.model.apply(params, tokens)[-1]
        return logits[self.words[0]] - logits[self.words[1]]


class FreshHead(eqx.Module):
    """The function f(params, tokens) = <head, features of the first position>, with a head that was not pre-trained.

    Args:
        model: the transformer.
    """

    model: MaskedTransformer

    def init(self, key: Key[Array, ""], body: dict, scale: float = 1.0) -> dict:
        """Return the pre-trained parameters `body`, and a head with independent entries N(0, scale²/d).

        Here d is the model's width.
        """
        d = self.model.width
        return {"body": body, "head": scale * jax.random.normal(key, (d,)) / d**0.5}

    def __call__(self, params: dict, tokens: Int[Array, " T"]) -> Float[Array, ""]:
        return self.model.hidden(params["body"], tokens)[0] @ params["head"]


def pre_train(
    model: MaskedTransformer, key: Key[Array, ""], *, language: Reviews = REVIEWS, steps: int = 300, batch: int = 32
) -> tuple[dict, Float[Array, " steps"]]:
    """Train a transformer to predict masked tokens of documents, with and without the documents' closing words.

    15 % of the tokens and 60 % of the closing judgements are masked. Training uses Adam in single precision on 8192
    documents. Two layers of width 16 take a few seconds.

    Args:
        model: a model of any width. The vocabulary and the length of the model must be those of the language.
        key: the random key for the start, the documents and the masks.
        language: the language that the documents are drawn from.
        steps: the number of Adam's steps. The rate falls from 0.003 to 0 along a cosine.
        batch: the number of documents in each step.

    Returns:
        The parameters, in JAX's current default precision, and the loss at every step.

    Raises:
        SettingError: if the vocabulary or length of the model differs from that of the language.
    """
    if (model.vocabulary, model.length) != (language.vocabulary, language.length):
        rule = f"vocabulary {language.vocabulary} and length {language.length}, like the language"
        raise SettingError("model", found=f"vocabulary {model.vocabulary} and length {model.length}", rule=rule)
    check_whole("steps", steps, 1, "steps")
    check_whole("batch", batch, 1, "documents")
    first, rest = jax.random.split(key)
    start = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), model.init(first))
    found, losses = _pre_trained(model, language, start, jax.random.split(rest, steps), batch)
    return jax.tree.map(lambda leaf: leaf.astype(float), found), losses


@eqx.filter_jit
def _pre_trained(model: MaskedTransformer, language: Reviews, params: dict, keys: Array, batch: int):
    optimiser = optax.adam(optax.cosine_decay_schedule(3e-3, len(keys)))
    pool = language.documents(keys[0], _DOCUMENTS)

    def step(carry: tuple, key: Array) -> tuple:
        own, state = carry
        mask_key, short_key, row_key = jax.random.split(key, 3)
        rows = jax.random.randint(row_key, (2, batch), 0, _DOCUMENTS)
        documents, short = pool[rows[0]], pool[rows[1], : language.words + 1]
        loss = lambda p: _masked_loss(model, p, documents, mask_key) + _masked_loss(model, p, short, short_key) / 2
        value, slopes = jax.value_and_grad(loss)(own)
        moves, state = optimiser.update(slopes, state)
        return (optax.apply_updates(own, moves), state), value

    (params, _), losses = jax.lax.scan(step, (params, optimiser.init(params)), keys)
    return params, losses


def _masked_loss(model: MaskedTransformer, params: dict, documents: Array, key: Array) -> Array:
    rates = jnp.full(documents.shape[1], _MASKED).at[0].set(0.0)
    rates = rates.at[-1].set(_LAST) if documents.shape[1] == model.length else rates
    hidden = jax.random.uniform(key, documents.shape) < rates
    logits = jax.vmap(lambda tokens: model.apply(params, tokens))(jnp.where(hidden, MASK, documents))
    chances = jnp.take_along_axis(jax.nn.log_softmax(logits), documents[..., None], axis=2)[..., 0]
    return -jnp.sum(chances * hidden) / jnp.maximum(jnp.sum(hidden), 1)
