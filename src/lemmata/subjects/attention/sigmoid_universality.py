"""What one layer of sigmoid attention can represent: any function of a token and of the tokens beside it.

This theory controls sequences whose tokens have finitely many values. Sharp sigmoid weights count how many tokens are
above a threshold, counts at all thresholds tell the multiset, and a ReLU network of one number reads off any value.
Functions on a cube are approached by those on a grid, and a function of the order of tokens is one of tokens that carry
their places. It leaves unexplained how large a network must be, and whether training finds it.
"""

import numpy as np
from jaxtyping import Array, Key
from scipy.special import expit, softmax

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.engine.problems._token_maps import TokenMap, TokenMaps


class OneLayerRepresentsAnyMap(Claim[TokenMap]):
    """Let x_1, ..., x_n be tokens with values 1, ..., m, and f any function of a token and the multiset of all tokens.
    With m heads of sigmoid attention, whose weights for token j are sigmoid(beta (x_j - h + 1/2)), h = 1, ..., m, and
    whose values are 1, the sum

        t_i = x_i + (m + 1) sum_h (n + 1)^(h - 1) c_h,   c_h the output of head h,

    is within e = (m + 1) sum_h (n + 1)^(h - 1) n / (1 + exp(beta/2)) of whole numbers that differ wherever the token or
    the multiset does. Where e < 1/4, a network with one hidden layer of ReLUs in t_i gives f at every token of every
    sequence, exactly.
    """

    title = "One layer of sigmoid attention represents any map of finite sequences"
    source = Source("ramapuram2025sigmoid", "Abstract, universal approximation", note="on finitely many values")
    population = TokenMaps()
    relation = Equal(block=-1)
    control = Control(
        "the same heads with softmax weights do, too", lambda targets, problem: _layer(problem, normalised=True)
    )
    controls = "what a layer of attention and a network of one number can represent"
    unexplained = "the size that a continuous function needs; training"
    traced = False

    def predict(self, problem: TokenMap) -> np.ndarray:
        return problem.targets

    def measure(self, problem: TokenMap, key: Key[Array, ""]) -> np.ndarray:
        """The layer at every token of every sequence."""
        return _layer(problem)

    def condition(self, problem: TokenMap) -> float:
        """As many terms as ReLUs, each as large as the sum of counts."""
        return float(problem.places.sum() * problem.targets.size)


def _layer(problem: TokenMap, normalised: bool = False) -> np.ndarray:
    """Heads that count, and ReLUs that read values off the sum of counts."""
    x, targets = problem.sequences, problem.targets
    logits = problem.sharpness * (x[:, None, :] - np.arange(1, problem.m + 1)[:, None] + 0.5)
    weights = softmax(logits, axis=2) if normalised else expit(logits)
    codes = x + (weights.sum(axis=2) @ problem.places)[:, None]
    counted = np.sum(x[:, None, :] >= np.arange(1, problem.m + 1)[:, None], axis=2)
    exact, first = np.unique(x + (counted @ problem.places)[:, None], return_index=True)
    values = targets.ravel()[first]
    # Flat within 1/4 of each code, a ramp between: a slope that sets in before a code ends there.
    slopes = np.diff(values) / (np.diff(exact) - 0.5)
    bends = np.concatenate([exact[:-1] + 0.25, exact[1:] - 0.25])
    hidden = np.maximum(codes[..., None] - bends, 0)
    return values[0] + hidden @ np.concatenate([slopes, -slopes])
