"""One layer of sigmoid attention can represent any function of a token and the set of tokens around it.

This theory describes sequences whose tokens have finitely many values. If logits are multiplied by a large number,
sigmoid weights are nearly 0 or 1, and their sum counts how many tokens are above a threshold. The counts at all
thresholds determine the multiset of tokens. A weighted sum of the counts encodes them in one number, and a ReLU network
of this number can map each multiset to any value. Functions on a cube are approximated by functions on a grid. A
function that depends on the order of tokens is a function of tokens that contain their positions. The theory does not
explain how large a network must be, or whether training finds the network.
"""

import itertools
import math

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import expit, softmax

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space

ABOUT = {"tool": "approximation theory", "architecture": "attention", "object": "construction"}


class TokenMap(eqx.Module):
    """A function of a token and of how often each value occurs in the sequence, and the sharpness of the logits.

    Args:
        sequences: all sequences, one in each row, with entries 1 to m.
        targets: the value of the function at each token of each sequence.
        m: the number of values that a token may have.
        sharpness: the factor beta by which logits are multiplied.
    """

    sequences: Int[np.ndarray, "s n"]
    targets: Float[np.ndarray, "s n"]
    m: int = eqx.field(static=True)
    sharpness: float = eqx.field(static=True)

    @property
    def places(self) -> Int[np.ndarray, " m"]:
        """The factors with which the counts of the heads are added up.

        They are so large that this sum plus the token's own value determines the value and all counts.
        """
        return (self.m + 1) * (self.sequences.shape[1] + 1) ** np.arange(self.m)

    @property
    def blur(self) -> float:
        """The largest error of the sum of counts that arises because attention weights are not exactly 0 or 1."""
        return float(self.places.sum() * self.sequences.shape[1] / (1 + math.exp(self.sharpness / 2)))


class TokenMaps(Population[TokenMap]):
    """Normal function values, one for each token and multiset of tokens."""

    settings = Space(
        n=Integer(4, 1, 8, "tokens", corners=(3, 5)),
        m=Integer(3, 2, 4, "number of values that a token can have", corners=(2, 3)),
        sharpness=Real(40.0, 1.0, 400.0, "beta", corners=(35.0, 60.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TokenMap:
        n, m = setting["n"], setting["m"]
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        sequences = np.array(list(itertools.product(range(1, m + 1), repeat=n)))
        _, kinds = np.unique(np.sort(sequences, axis=1), axis=0, return_inverse=True)
        table = rng.normal(size=(kinds.max() + 1, m))
        return TokenMap(sequences, table[kinds.reshape(-1, 1), sequences - 1], m, setting["sharpness"])

    def hypotheses(self, problem: TokenMap) -> list[Hypothesis]:
        why = "otherwise two sequences can be confused; a larger beta helps"
        return [Hypothesis("how far inexact weights move the sum of counts", problem.blur, "<", 0.25, why)]


class OneLayerRepresentsAnyMap(Claim[TokenMap]):
    """Let x_1, ..., x_n be tokens with values 1, ..., m, and let f be any function of a token and the multiset of all
    tokens. Take m heads of sigmoid attention in which every attention value is 1. The weight of head h = 1, ..., m for
    token j is sigmoid(beta (x_j - h + 1/2)), where beta is the sharpness. Let c_h be the output of head h. For each
    token i, let

        t_i = x_i + (m + 1) sum_h (n + 1)^(h - 1) c_h.

    For every token and multiset, t_i is within e = (m + 1) sum_h (n + 1)^(h - 1) n / (1 + exp(beta/2)) of a whole
    number. Different tokens or multisets have different whole numbers. If e < 1/4, a network with one hidden layer of
    ReLUs maps t_i to f exactly, at every token of every sequence.
    """

    title = "Sigmoid attention and a ReLU network represent any permutation-equivariant map of finite-valued tokens"
    source = Source("ramapuram2025sigmoid", "Abstract, universal approximation", note="on finitely many values")
    population = TokenMaps()
    relation = Equal(block=-1)
    control = Control(
        "the same heads with softmax weights represent the map, too",
        lambda targets, problem: _layer(problem, normalised=True),
    )
    controls = "what a layer of attention and a network with one input can represent"
    unexplained = "the size of the network that a continuous function needs, and training"
    traced = False

    def predict(self, problem: TokenMap) -> np.ndarray:
        return problem.targets

    def measure(self, problem: TokenMap, key: Key[Array, ""]) -> np.ndarray:
        """Return the output of the layer at every token of every sequence."""
        return _layer(problem)

    def condition(self, problem: TokenMap) -> float:
        """The condition number: the output has one term for each ReLU, each up to the size of the sum of counts."""
        return float(problem.places.sum() * problem.targets.size)


def _layer(problem: TokenMap, normalised: bool = False) -> np.ndarray:
    """Compute the layer: heads count tokens, and ReLUs map the sum of the counts to the values of the function."""
    x, targets = problem.sequences, problem.targets
    logits = problem.sharpness * (x[:, None, :] - np.arange(1, problem.m + 1)[:, None] + 0.5)
    weights = softmax(logits, axis=2) if normalised else expit(logits)
    codes = x + (weights.sum(axis=2) @ problem.places)[:, None]
    counted = np.sum(x[:, None, :] >= np.arange(1, problem.m + 1)[:, None], axis=2)
    exact, first = np.unique(x + (counted @ problem.places)[:, None], return_index=True)
    values = targets.ravel()[first]
    # Flat within 1/4 of each code, with a ramp between: the slope begins 1/4 after a code and ends 1/4 before the next.
    slopes = np.diff(values) / (np.diff(exact) - 0.5)
    bends = np.concatenate([exact[:-1] + 0.25, exact[1:] - 0.25])
    hidden = np.maximum(codes[..., None] - bends, 0)
    return values[0] + hidden @ np.concatenate([slopes, -slopes])
