"""Documents of random tokens, and copies of them in which tokens were replaced."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Array, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

_LONGEST_EDIT = 6


@dataclasses.dataclass(frozen=True)
class Edited:
    """Documents, each followed by its copy.

    Args:
        documents: (2 n, T), rows 2 i and 2 i + 1 a document and its copy.
        replaced: tokens that differ in copy i.
    """

    documents: Int[np.ndarray, "m T"]
    replaced: Int[np.ndarray, " n"]


class EditedDocuments(Population[Edited]):
    """Tokens drawn alike, and copies with up to five of them replaced by tokens that occur nowhere else."""

    def settings(self) -> Space:
        """Documents, their length, and the size of the vocabulary."""
        return Space(
            n=Integer(20, 2, 1000, "documents"),
            length=Integer(120, 10, 2000, "tokens of each", corners=(80, 200)),
            vocabulary=Integer(50, 2, 100_000, "different tokens", corners=(30, 500)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Edited:
        """Documents, and places where their copies differ."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, length = setting["n"], setting["length"]
        documents = rng.integers(0, setting["vocabulary"], (n, length))
        copies, replaced = documents.copy(), rng.integers(0, _LONGEST_EDIT, n)
        for copy, count in zip(copies, replaced.tolist(), strict=True):
            copy[rng.permutation(length)[:count]] = setting["vocabulary"] + np.arange(count)
        return Edited(np.stack([documents, copies], axis=1).reshape(2 * n, length), replaced)

    def hypotheses(self, problem: Edited) -> list[Hypothesis]:
        """Nothing beyond documents."""
        return [Hypothesis("documents", float(len(problem.documents)), ">=", 2.0)]
