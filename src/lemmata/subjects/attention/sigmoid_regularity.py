"""How far the output of sigmoid attention moves with its tokens, compared with softmax attention.

This theory describes a head of self-attention y_i = sum_j P_ij W x_j with attention weights P, which are the sigmoid or
the softmax of the logits x_i' A x_j. It bounds the spectral norm of the derivative of the outputs with respect to the
tokens x_i. For the sigmoid and for the softmax, this norm is at most a polynomial in the length R of the longest token.
The theory assumes nothing about the tokens. In the worst case, the weights of the sigmoid change half as much with
their logits as the weights of the softmax. But suppose that n tokens point the same way and are not short. Then the
norm for the sigmoid head is larger than the norm for the softmax head, which is |W|. The theory does not explain
trained weights, layers around the head, or why a smaller derivative would help.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.subjects.attention import jacobian_bound

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "inequality"}


class SigmoidHead(eqx.Module):
    """The head y_i = sum_j P_ij W x_j, where P is the sigmoid with a bias, or the softmax, of the logits x_i' A x_j.

    Args:
        tokens: the tokens x_i, one in each row.
        exponent: the matrix A of the logits.
        value: the matrix W, which maps tokens to values.
        bias: the number that a sigmoid adds to every logit.
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
        """The bound |A| R² on the absolute values of the logits, where R is `radius`."""
        return float(np.linalg.norm(self.exponent, 2) * self.radius**2)

    def weights(self, kind: str) -> Float[np.ndarray, "n n"]:
        """Return the weights P of the sigmoid or of the softmax.

        Args:
            kind: "sigmoid" or "softmax".
        """
        logits = self.tokens @ self.exponent @ self.tokens.T
        if kind == "sigmoid":
            return 0.5 * (1 + np.tanh((logits + self.bias) / 2))
        mass = np.exp(logits - logits.max(axis=1, keepdims=True))
        return mass / mass.sum(axis=1, keepdims=True)

    def jacobian(self, kind: str) -> Float[np.ndarray, "m m"]:
        """Return dY/dX, of shape (n p, n p): the sum of three terms, for changes of values, queries and keys.

        Args:
            kind: "sigmoid" or "softmax".
        """
        x, a, p = self.tokens, self.exponent, self.weights(kind)
        n, width = x.shape
        values = np.broadcast_to(x @ self.value.T, (n, n, width))
        if kind == "softmax":  # a logit changes its own weight and, through the sum, all others
            slopes, values = p, values - (p @ values[0])[:, None]
        else:
            slopes = p * (1 - p)
        found = np.einsum("ij,oq->iojq", p, self.value) + np.einsum("ij,ijo,iq->iojq", slopes, values, x @ a)
        each = np.arange(n)
        found[each, :, each] += np.einsum("ij,ijo,jq->ioq", slopes, values, x @ a.T)
        return found.reshape(n * width, n * width)

    def norm(self, kind: str) -> float:
        """Return the spectral norm of dY/dX.

        Args:
            kind: "sigmoid" or "softmax".
        """
        return float(np.linalg.norm(self.jacobian(kind), 2))


class SigmoidHeads(Population[SigmoidHead]):
    """Tokens of equal length. In half of the problems all tokens are equal, and A acts along them.

    Args:
        law: "mixed" is as described above. "scattered" is only the half with normal tokens, and "aligned" only the
            other half. "turning" has equal tokens with a skew-symmetric A, for which all logits are 0.
    """

    law: str = eqx.field(default="mixed", static=True)
    settings = Space(
        n=Integer(6, 2, 32, "tokens", corners=(4, 8)),
        p=Integer(3, 2, 8, "width of the tokens", corners=(2, 4)),
        radius=Real(1.5, 0.1, 20.0, "length of the tokens, with |A| = 1", corners=(1.0, 2.0)),
        bias=Choice("-log n", ("-log n", "0"), "bias of the logits"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SigmoidHead:
        """Draw A of norm 1, an orthogonal W, and a length of the tokens between 1/2 and 1 times the setting."""
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
        return [Hypothesis("|A| R²", problem.size, "<", math.inf, "derivatives of infinite logits are not defined")]


_KEY = "ramapuram2025sigmoid"
_CONTROLS = "the derivative of a head with respect to its tokens"


class WeightsMoveLess(Claim[SigmoidHead]):
    """Consider the map from a row of logits to a row of attention weights. For the sigmoid, the spectral norm of the
    derivative of this map is at most 1/4, which is attained at a weight of 1/2. For the softmax, this norm is at most
    1/2, which is attained if two keys have the weight 1/2 each. At given logits, the norm for the sigmoid may be
    smaller or larger than the norm for the softmax. If all n logits are 0, the norm is 1/4 for the sigmoid without a
    bias, and 1/n for the softmax.
    """

    title = "In the worst case, sigmoid attention weights change half as much with the logits as softmax weights"
    source = Source(_KEY, "Abstract, improved regularity", note="of the weights as functions of the logits")
    population = SigmoidHeads("scattered")
    relation = AtMost()
    control = Control("0.6 times both bounds", lambda bound, problem: 0.6 * bound)
    controls = "the derivative of attention's weights with respect to its logits"
    unexplained = "which derivative is larger at given logits, and how the logits depend on the tokens"
    traced = False
    predict = (0.25, 0.5)
    trivial = (1.0, 1.0)  # weights are between 0 and 1

    def measure(self, problem: SigmoidHead, key: Key[Array, ""]) -> np.ndarray:
        """Return the largest norms of diag(p (1 - p)) and of diag(p) - p p' over all rows p."""
        sigmoid, softmax = (problem.weights(kind) for kind in ("sigmoid", "softmax"))
        rows = [np.linalg.norm(np.diag(row) - np.outer(row, row), 2) for row in softmax]
        return np.array([np.max(sigmoid * (1 - sigmoid)), max(rows)])


class SigmoidJacobianBound(Claim[SigmoidHead]):
    """Let a head with the matrices A and W map tokens x_j to the outputs y_i = sum_j P_ij W x_j. Here P is the sigmoid
    of the logits x_i' A x_j + b with the bias b. Let its n tokens have length at most R, and let D = P (1 - P), entry
    by entry. Let |.| be the spectral norm. The derivative of all outputs Y with respect to all tokens X satisfies

        |dY/dX| <= |W| (|P| + |A| R² (max_i sum_j D_ij + |D|))  <=  |W| n (1 + |A| R² / 2),

    which is a polynomial in R for any bias b. The term |P| bounds the effect of the tokens as values. The term with the
    row sums of D bounds the effect of the tokens as queries, and the term with |D| bounds the effect of the tokens as
    keys. The bound is attained if all tokens are one vector u and A is a nonnegative multiple of u u'.
    """

    title = "The derivative of sigmoid attention is at most quadratic in the Euclidean norm of the tokens"
    source = Source(_KEY, "Abstract, improved regularity", note="with explicit constants")
    population = SigmoidHeads()
    relation = AtMost()
    control = Control("nine tenths of the bound", lambda bound, problem: 0.9 * bound)
    controls, unexplained = _CONTROLS, "how far the derivative is below the bound for normal tokens"
    traced = False

    def predict(self, problem: SigmoidHead) -> Array:
        head = map(jnp.asarray, (problem.tokens, problem.exponent, problem.value))
        return jacobian_bound(*head, bias=problem.bias)

    def measure(self, problem: SigmoidHead, key: Key[Array, ""]) -> float:
        return problem.norm("sigmoid")

    def trivial(self, problem: SigmoidHead) -> float:
        """The bound for attention weights of at most 1, whose derivatives are at most 1/4."""
        return len(problem.tokens) * (1 + problem.size / 2)

    def condition(self, problem: SigmoidHead) -> float:
        return float(problem.tokens.size)


class SoftmaxJacobianBound(Claim[SigmoidHead]):
    """Let a head with the matrices A and W map tokens x_j to the outputs y_i = sum_j P_ij W x_j. Here row i of P is the
    softmax of the logits x_i' A x_j. Let its n tokens have length at most R. Let C_i be the covariance of the tokens
    under the weights in row i of P, and let c be the largest column sum of P. Let |.| be the spectral norm. The
    derivative of all outputs Y with respect to all tokens X satisfies

        |dY/dX| <= |W| (|P| + |A| (max_i |C_i| + R (c max_i tr C_i)^(1/2)))  <=  |W| (√n + |A| R² (1 + √n)).

    Like the bound for sigmoid attention, this bound is a polynomial of degree 2 in R, but with √n in place of n.
    """

    title = "The derivative of softmax attention is at most quadratic in the Euclidean norm of the tokens"
    source = Source(_KEY, "Abstract, improved regularity", note="for the softmax, with explicit constants")
    population = SigmoidHeads()
    relation = AtMost()
    control = Control("nine tenths of the bound", lambda bound, problem: 0.9 * bound)
    controls, unexplained = _CONTROLS, "the best constant, and bounds that do not grow with n"
    traced = False

    def predict(self, problem: SigmoidHead) -> Array:
        head = map(jnp.asarray, (problem.tokens, problem.exponent, problem.value))
        return jacobian_bound(*head, kind="softmax")

    def measure(self, problem: SigmoidHead, key: Key[Array, ""]) -> float:
        return problem.norm("softmax")

    def trivial(self, problem: SigmoidHead) -> float:
        """The bound for weights with row sums of 1 and column sums of at most n, and for tokens in a ball."""
        n = len(problem.tokens)
        return n**0.5 + problem.size * (1 + n**0.5)

    def condition(self, problem: SigmoidHead) -> float:
        return float(problem.tokens.size) * (1 + problem.size)


class AlignedTokensAreAmplified(Claim[SigmoidHead]):
    """A head maps tokens x_j to the outputs sum_j P_ij W x_j. The weights P_ij are the sigmoid, with a bias b, or the
    softmax of the logits x_i' A x_j. Let all n tokens be one vector u of length R, let A = u u'/R², and let W be
    orthogonal. Then t = R² is the logit of every pair. Let s = e^t / (e^t + e^-b). The spectral norms of the
    derivatives of all outputs with respect to all tokens are

        n s (1 + 2 t (1 - s))  for the sigmoid,     1     for the softmax.

    For b = -log n, the number s is e^t / (n + e^t). So as long as e^t is far below n, the norm for the sigmoid is about
    e^t (1 + 2t). Therefore no polynomial in R that does not depend on n bounds this norm. At t = log n, the norm is n
    (1 + log n) / 2.
    """

    title = "Sigmoid attention amplifies changes of n aligned tokens exponentially in their logit t, until exp(t) is n"
    source = Source(_KEY, "Abstract, improved regularity", note="without a bound on the number of tokens")
    population = SigmoidHeads("aligned")
    relation = Equal()
    control = Control("the row sum alone, without the change of the weights", lambda norms, problem: _sums(problem))
    controls, unexplained = _CONTROLS, "how nearly aligned the tokens of trained models are"
    traced = False

    def predict(self, problem: SigmoidHead) -> np.ndarray:
        n, t = len(problem.tokens), problem.radius**2
        s = np.exp(t) / (np.exp(t) + np.exp(-problem.bias))
        return np.array([n * s * (1 + 2 * t * (1 - s)), 1.0])

    def measure(self, problem: SigmoidHead, key: Key[Array, ""]) -> np.ndarray:
        return np.array([problem.norm("sigmoid"), problem.norm("softmax")])

    def condition(self, problem: SigmoidHead) -> float:
        return float(problem.tokens.size)


def _sums(problem: SigmoidHead) -> np.ndarray:
    """Return the largest sum of a row of sigmoid weights, and 1 - 1/n.

    The second number is the sum of a row of equal softmax weights without the token's own weight.
    """
    n = len(problem.tokens)
    return np.array([problem.weights("sigmoid").sum(axis=1).max(), 1 - 1 / n])


class SquareOfTheLengthIsAttained(Claim[SigmoidHead]):
    """Let the logits of a head be x_i' A x_j for tokens x_i. Let all n tokens be one vector of length R, and let A be a
    skew-symmetric matrix, so that every logit is 0 for every R. The derivative of sigmoid attention with respect to the
    tokens grows like R². So the power R² in the upper bound for sigmoid attention is attained. For a given number of
    tokens, the growth is not exponential in R.
    """

    title = "The derivative of sigmoid attention can grow like the square of the tokens' Euclidean norm"
    source = Source(_KEY, "Abstract, improved regularity", note="the power")
    population = SigmoidHeads("turning")
    relation = Rate("R", (16.0, 64.0, 256.0))
    control = Control("like R^1.5", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = _CONTROLS, "tokens whose logits grow with R, for which the weights saturate"
    traced = False
    trials = 16
    predict = 2.0

    def measure_at(self, problem: SigmoidHead, key: Key[Array, ""], R: float) -> float:
        tokens = R * problem.tokens / problem.radius
        return SigmoidHead(tokens, problem.exponent, problem.value, problem.bias).norm("sigmoid")
