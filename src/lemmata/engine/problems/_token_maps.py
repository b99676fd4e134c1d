"""Maps of short sequences of whole numbers: any value for a token and the tokens beside it, in no order."""

import itertools
import math

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TokenMap(eqx.Module):
    """A function of a token and of how often each value is there, and how sharp the logits are.

    Args:
        sequences: all of them, one a row, with entries 1 to m.
        targets: the function at each token of each sequence.
        m: values that a token may have.
        sharpness: beta.
    """

    sequences: Int[np.ndarray, "s n"]
    targets: Float[np.ndarray, "s n"]
    m: int = eqx.field(static=True)
    sharpness: float = eqx.field(static=True)

    @property
    def places(self) -> Int[np.ndarray, " m"]:
        """What a count of each head is multiplied by, so that the sum tells all of them and leaves room for a token."""
        return (self.m + 1) * (self.sequences.shape[1] + 1) ** np.arange(self.m)

    @property
    def blur(self) -> float:
        """The most by which weights that are not quite 0 and 1 can move that sum."""
        return float(self.places.sum() * self.sequences.shape[1] / (1 + math.exp(self.sharpness / 2)))


class TokenMaps(Population[TokenMap]):
    """Normal values, one for each token and multiset of tokens."""

    def settings(self) -> Space:
        """Sizes and sharpness."""
        return Space(
            n=Integer(4, 1, 8, "tokens", corners=(3, 5)),
            m=Integer(3, 2, 4, "values of a token", corners=(2, 3)),
            sharpness=Real(40.0, 1.0, 400.0, "beta", corners=(35.0, 60.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TokenMap:
        """All sequences and a table."""
        n, m = setting["n"], setting["m"]
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        sequences = np.array(list(itertools.product(range(1, m + 1), repeat=n)))
        _, kinds = np.unique(np.sort(sequences, axis=1), axis=0, return_inverse=True)
        table = rng.normal(size=(kinds.max() + 1, m))
        return TokenMap(sequences, table[kinds.reshape(-1, 1), sequences - 1], m, setting["sharpness"])

    def hypotheses(self, problem: TokenMap) -> list[Hypothesis]:
        """Logits that are sharp enough."""
        why = "else two sequences can be taken for each other; a larger beta helps"
        return [Hypothesis("what blurred weights add to the sum of counts", problem.blur, "<", 0.25, why)]
