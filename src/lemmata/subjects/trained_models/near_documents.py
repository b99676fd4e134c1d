"""Near duplicates of documents: how similar an edited copy is to the original, and why the search finds all of them.

The theory decides which documents count as duplicates of each other. It only needs the tokens. It does not cover
documents that say the same in other words.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.subjects.trained_models import find_document_copies
from lemmata.subjects.trained_models._document_copies import ALIKE, LENGTH, kept_by_replacing, shingles, similarity

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "inequality"}

_LONGEST_EDIT = 6


@dataclasses.dataclass(frozen=True)
class Edited:
    """Documents in rows 2 i, their copies in rows 2 i + 1, and the number of replaced tokens of each copy."""

    documents: Int[np.ndarray, "m T"]
    replaced: Int[np.ndarray, " n"]


class EditedDocuments(Population[Edited]):
    """Documents with tokens from one distribution, and edited copies.

    In a copy, up to five tokens are replaced by tokens that occur nowhere else.
    """

    settings = Space(
        n=Integer(20, 2, 1000, "documents"),
        length=Integer(120, 10, 2000, "tokens per document", corners=(80, 200)),
        vocabulary=Integer(50, 2, 100_000, "different tokens", corners=(30, 500)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Edited:
        """Draw documents, and the places where their copies differ."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, length = setting["n"], setting["length"]
        documents = rng.integers(0, setting["vocabulary"], (n, length))
        copies, replaced = documents.copy(), rng.integers(0, _LONGEST_EDIT, n)
        for copy, count in zip(copies, replaced.tolist(), strict=True):
            copy[rng.permutation(length)[:count]] = setting["vocabulary"] + np.arange(count)
        return Edited(np.stack([documents, copies], axis=1).reshape(2 * n, length), replaced)

    def hypotheses(self, problem: Edited) -> list[Hypothesis]:
        return [Hypothesis("documents", float(len(problem.documents)), ">=", 2.0)]


class SimilarityOfAnEditedCopy(Claim[Edited]):
    """Let a document have m different shingles, where a shingle is five tokens in a row. Replace s tokens in a copy of
    the document. Jaccard's similarity of two sets A and B is |A and B| / |A or B|. Between the shingles of the document
    and the shingles of the copy, this similarity is at least

        (m - 5 s) / (m + 5 s)

    or 0 if this number is below 0. Indeed, each token is in at most five shingles, so each replaced token removes at
    most five shingles and adds at most five new shingles. For example, a copy with at most m/45 tokens replaced has a
    similarity of at least 0.8.
    """

    title = "A lower bound on the Jaccard similarity of a document and its edited copy, from the replaced tokens"
    source = Source("broder1997resemblance", note="resemblance by shingles, with the cost of replaced tokens")
    stated = Kind.OWN
    population = EditedDocuments()
    relation = AtLeast()
    control = Control("a replaced token changes half as many shingles", lambda kept, problem: _kept(problem, 0.5))
    controls = "how many edits a near duplicate may have and still be found"
    unexplained = "tokens that were moved, added or left out; the same content in other words"
    traced = False

    def predict(self, problem: Edited) -> Array:
        return _kept(problem, 1.0)

    def measure(self, problem: Edited, key: Key[Array, ""]) -> Array:
        """Compare the two sets of shingles."""
        rows = problem.documents.reshape(-1, 2, problem.documents.shape[1])
        return jnp.asarray([similarity(shingles(a), shingles(b)) for a, b in rows])

    def trivial(self, problem: Edited) -> Array:
        """The similarity 0 of documents that share no shingle."""
        return jnp.zeros(len(problem.replaced))


def _kept(problem: Edited, weight: float) -> Array:
    """Return the bound for each document; each replaced token counts `weight` times."""
    counts = [_shingled(row) for row in problem.documents[::2]]
    pairs = zip(counts, problem.replaced.tolist(), strict=True)
    return jnp.asarray([kept_by_replacing(count, weight * replaced) for count, replaced in pairs])


def _shingled(row: np.ndarray) -> int:
    """Count the different tuples of five consecutive tokens."""
    return len({tuple(row[i : i + LENGTH]) for i in range(len(row) - LENGTH + 1)})


def _alike(documents: np.ndarray) -> Float[np.ndarray, "m m"]:
    """Compute Jaccard's similarity of all pairs of documents. The similarity of a document with itself is set to 0."""
    sets = [{tuple(row[i : i + LENGTH]) for i in range(len(row) - LENGTH + 1)} for row in documents.tolist()]
    found = np.zeros((len(sets), len(sets)))
    for i, own in enumerate(sets):
        for j, other in enumerate(sets[:i]):
            found[i, j] = found[j, i] = len(own & other) / len(own | other)
    return found


class NearDocumentsAreAllFound(Claim[Edited]):
    """Fix one order of all elements, and let the prefix of a set of m elements be its first m - ceil(0.8 m) + 1
    elements. If two sets have a Jaccard similarity of at least 0.8, their prefixes share an element. Let the sets be
    the shingles of documents, and let rare shingles come first in the order. Then it is enough to compare documents
    whose prefixes share a shingle. These comparisons find all documents that have such a near duplicate, just as
    comparisons of all pairs do.
    """

    title = "Comparing documents that share a rare shingle finds all near duplicates"
    source = Source("chaudhuri2006joins", note="the filter by prefixes in an order of rarity")
    stated = Kind.OWN
    population = EditedDocuments()
    relation = Equal()
    control = Control(
        "all documents with a copy are found, however it was edited",
        lambda count, problem: jnp.asarray(len(problem.documents)),
    )
    controls = "which documents do not count as unseen"
    unexplained = "how many comparisons are needed if many documents are alike"
    traced = False

    def predict(self, problem: Edited) -> Array:
        return jnp.asarray(float((_alike(problem.documents) >= ALIKE).any(1).sum()))

    def measure(self, problem: Edited, key: Key[Array, ""]) -> Array:
        """Search by sorting shingles and comparing documents that share a rare shingle."""
        return jnp.asarray(float(find_document_copies(problem.documents).within.sum()))
