"""Heads of self-attention with sigmoid or softmax weights, as maps of their tokens."""

import math

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space


class SigmoidHead(eqx.Module):
    """The head y_i = sum_j P_ij W x_j with logits x_i' A x_j, P their sigmoid with a bias, or their softmax.

    Args:
        tokens: x_i, one a row.
        exponent: A.
        value: W.
        bias: what a sigmoid raises every logit by.
    """

    tokens: Float[np.ndarray, "n p"]
    exponent: Float[np.ndarray, "p p"]
    value: Float[np.ndarray, "p p"]
    bias: float = eqx.field(static=True)

    @property
    def radius(self) -> float:
        """The length of the longest token."""
        return float(np.linalg.norm(self.tokens, axis=1).max())

    @property
    def size(self) -> float:
        """|A| R², which no logit exceeds."""
        return float(np.linalg.norm(self.exponent, 2) * self.radius**2)

    def weights(self, kind: str) -> Float[np.ndarray, "n n"]:
        """P of the sigmoid or of the softmax.

        Args:
            kind: which.
        """
        logits = self.tokens @ self.exponent @ self.tokens.T
        if kind == "sigmoid":
            return 0.5 * (1 + np.tanh((logits + self.bias) / 2))
        mass = np.exp(logits - logits.max(axis=1, keepdims=True))
        return mass / mass.sum(axis=1, keepdims=True)

    def jacobian(self, kind: str) -> Float[np.ndarray, "m m"]:
        """dY/dX, of shape (n p, n p): what values, queries and keys each add.

        Args:
            kind: "sigmoid" or "softmax".
        """
        x, a, p = self.tokens, self.exponent, self.weights(kind)
        n, width = x.shape
        values = np.broadcast_to(x @ self.value.T, (n, n, width))
        if kind == "softmax":  # a logit moves its own weight and, through the sum, all others
            slopes, values = p, values - (p @ values[0])[:, None]
        else:
            slopes = p * (1 - p)
        found = np.einsum("ij,oq->iojq", p, self.value) + np.einsum("ij,ijo,iq->iojq", slopes, values, x @ a)
        each = np.arange(n)
        found[each, :, each] += np.einsum("ij,ijo,jq->ioq", slopes, values, x @ a.T)
        return found.reshape(n * width, n * width)

    def norm(self, kind: str) -> float:
        """The spectral norm of dY/dX.

        Args:
            kind: "sigmoid" or "softmax".
        """
        return float(np.linalg.norm(self.jacobian(kind), 2))


class SigmoidHeads(Population[SigmoidHead]):
    """Tokens of one length; in half of the problems all the same, with A along them.

    Args:
        law: "mixed" as above, "scattered" for the half with normal tokens alone, "aligned" for the other, "turning"
            for equal tokens with a skew A, which leaves all logits at 0.
    """

    law: str = eqx.field(default="mixed", static=True)

    def settings(self) -> Space:
        """Sizes, the length of tokens, and the bias."""
        return Space(
            n=Integer(6, 2, 32, "tokens", corners=(4, 8)),
            p=Integer(3, 2, 8, "width of the tokens", corners=(2, 4)),
            radius=Real(1.5, 0.1, 20.0, "length of the tokens, with |A| = 1", corners=(1.0, 2.0)),
            bias=Choice("-log n", ("-log n", "0"), "bias of the logits"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SigmoidHead:
        """A of norm 1, W orthogonal, lengths of a half to the whole of the setting."""
        n, p = setting["n"], setting["p"]
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        tokens, exponent = rng.normal(size=(n, p)), rng.normal(size=(p, p))
        value, u = np.linalg.qr(rng.normal(size=(p, p)))[0], tokens[:1] / np.linalg.norm(tokens[0])
        if self.law == "aligned" or (self.law == "mixed" and rng.uniform() < 0.5):
            tokens, exponent = np.repeat(u, n, axis=0), u.T @ u
        elif self.law == "turning":
            tokens, exponent = np.repeat(u, n, axis=0), exponent - exponent.T
        radius = setting["radius"] * rng.uniform(0.5, 1)
        tokens = radius * tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
        bias = -math.log(n) if setting["bias"] == "-log n" else 0.0
        return SigmoidHead(tokens, exponent / np.linalg.norm(exponent, 2), value, bias)

    def hypotheses(self, problem: SigmoidHead) -> list[Hypothesis]:
        """Finite tokens and weights."""
        return [Hypothesis("|A| R²", problem.size, "<", math.inf, "derivatives of infinite logits are not defined")]
