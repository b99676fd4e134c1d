"""Small language models trained to a stationary point on documents of a Markov chain."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import LANGUAGE, Objective, Trained, polish, read_model

TOKENS = 8
_LENGTH = 8
_HELD = 150
_STEPS = 1000


def next_token(params: dict, tokens: Any) -> Array:
    """Logits of the next token from the one before it: hyperbolic tangents of its embedding, and a readout."""
    return jnp.tanh(params["embedding"])[tokens] @ params["readout"] + params["bias"]


def initial(rng: np.random.Generator, width: int) -> dict[str, Float[np.ndarray, "..."]]:
    """Independent normal weights of variance 1/fan-in, and no bias."""
    return {
        "embedding": rng.normal(size=(TOKENS, width)),
        "readout": rng.normal(size=(width, TOKENS)) / np.sqrt(width),
        "bias": np.zeros(TOKENS),
    }


def walk(rng: np.random.Generator, moves: Float[np.ndarray, "V V"], documents: int) -> Int[np.ndarray, "n T"]:
    """Documents of tokens that follow each other as a chain with these transition probabilities.

    They differ in their length: what is beyond a document's end is -1.
    """
    tokens = rng.integers(0, TOKENS, (documents, _LENGTH))
    ends = np.cumsum(moves, axis=1)
    for place in range(1, _LENGTH):
        tokens[:, place] = (rng.random(documents)[:, None] > ends[tokens[:, place - 1], :-1]).sum(1)
    lengths = rng.integers(_LENGTH // 2, _LENGTH + 1, documents)
    return np.where(np.arange(_LENGTH) < lengths[:, None], tokens, -1)


class LanguageModels(Population[Trained]):
    """Documents of a Markov chain with random transitions, and a model of the next token from the one before.

    Args:
        decay: delta in mean loss + (delta/2) |theta|², by default.
        steps: of L-BFGS at most; 0 leaves the weights as they are drawn.
        unseen: whether the claims are measured on held-out documents.
    """

    decay: float = 0.03
    steps: int = _STEPS
    unseen: bool = True

    def settings(self) -> Space:
        """Documents, width and the strength of decay."""
        return Space(
            n=Integer(40, 30, 1000, "training documents"),
            width=Integer(3, 1, 50, "of the embedding", corners=(2, 6)),
            decay=Real(self.decay, 1e-3, 1.0, "decay of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Transitions, documents, and a model at a stationary point of their mean loss and the decay."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        moves = rng.dirichlet(np.full(TOKENS, 0.7), size=TOKENS)
        x, held = walk(rng, moves, setting["n"]), walk(rng, moves, _HELD)
        model = dataclasses.replace(read_model((next_token, initial(rng, setting["width"]))), link="documents")
        objective = Objective(model, x, LANGUAGE.encode(x), LANGUAGE, setting["decay"])
        model = polish(objective, self.steps).model if self.steps else model
        return Trained(model, LANGUAGE, x, objective.y, (held, LANGUAGE.encode(held)), setting["decay"])

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """A language model, and documents that it has not seen."""
        held = 0 if problem.held is None else len(problem.held[0])
        why = "with fewer, no measurement says much"
        own = Hypothesis("rows are documents, of a language model", float(problem.task.is_language), ">=", 1.0)
        return [own, *([Hypothesis("held-out rows", float(held), ">=", 100.0, why)] if self.unseen else [])]
