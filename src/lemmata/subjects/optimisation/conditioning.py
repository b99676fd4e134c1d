"""Condition numbers of kernels on tokens. These numbers grow like a factorial for smooth kernels and quadratically for
kernels with a kink. They are infinite for attention.

This theory gives the condition number of the Gram matrix of n tokens. The condition number decides how many iterations
gradient descent needs for the worst target. The explicit formulas assume equally spaced tokens on a circle. The theory
does not explain targets along large eigenvalues, which are fitted in far fewer iterations than the worst target.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, TangentKernel, relu_network
from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.kernels import ExponentialDotProduct, gram
from lemmata.subjects.optimisation._attention_tokens import AttentionSequences, AttentionTokens

ABOUT = {"tool": "spectral theory", "architecture": "attention", "object": "spectrum"}


class CircleTokens(eqx.Module):
    """Tokens r (cos(t) e_1 + sin(t) e_2) at equal steps of the angle t.

    Args:
        frame: the orthonormal vectors e_1 and e_2 that span the plane of the circle, as columns.
        start: the angle t of the first token.
        beta: the squared norm r², so inner products are beta cos(t - t').
        count: the number of tokens on the circle.
    """

    frame: Float[Array, "p 2"]
    start: Float[Array, ""]
    beta: Float[Array, ""]
    count: int = eqx.field(static=True)

    def around(self, count: int) -> Float[Array, "n p"]:
        """Return tokens on the whole circle, at steps of 2 pi/count."""
        return self._at(2 * jnp.pi * jnp.arange(count) / count)

    def half(self, count: int) -> Float[Array, "n p"]:
        """Return tokens of norm 1 on half of the circle, at steps of pi/count."""
        return self._at(jnp.pi * jnp.arange(count) / count) / jnp.sqrt(self.beta)

    def _at(self, angles: Float[Array, " n"]) -> Float[Array, "n p"]:
        angles = self.start + angles
        return jnp.sqrt(self.beta) * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1) @ self.frame.T


class TokensOnCircle(Population[CircleTokens]):
    """Random planes and first angles; beta is uniform between a third of its largest value and its largest value."""

    # Tokens, beta and the dimension. The number of tokens is limited so that float64 resolves their
    # condition number.
    settings = Space(
        n=Integer(8, 4, 10, "tokens, an even number", step=2, corners=(4, 8)),
        beta=Real(1.5, 0.5, 4.0, "the largest beta", corners=(1.0, 1.5)),
        p=Integer(5, 2, 64, "dimension of the tokens", corners=(3, 6)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CircleTokens:
        plane_key, draw_key = jax.random.split(key)
        first, second = jax.random.normal(plane_key, (2, setting["p"]))
        first = first / jnp.linalg.norm(first)
        second = second - (first @ second) * first
        start, share = jax.random.uniform(draw_key, (2,))
        frame = jnp.stack([first, second / jnp.linalg.norm(second)], axis=1)
        beta = setting["beta"] * (1 + 2 * share) / 3
        return CircleTokens(frame, 2 * jnp.pi * start, beta, setting["n"])

    def hypotheses(self, problem: CircleTokens) -> list[Hypothesis]:
        off = jnp.abs(problem.frame.T @ problem.frame - jnp.eye(2)).max()
        return [Hypothesis("the frame is orthonormal", off, "<=", 1e-12, "inner products are beta cos(t - t')")]


_ALIASES = 6  # I_(jn)(4) for j = 6, n = 4 is below 1e-16 of I_0(4)


def _condition_number(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    values = jnp.linalg.eigvalsh(matrix)
    return values[-1] / values[0]


@jax.jit
def _kinked_gram(x: Float[Array, "n p"]) -> Float[Array, "n n"]:
    return gram(TangentKernel(relu_network(depth=1, width=1)), x)


def bessel(order: Float[Array, " k"], x: Float[Array, ""]) -> Float[Array, " k"]:
    """Return the modified Bessel function I_order(x) of integer order for x up to 8, by 24 terms of its series.

    >>> import jax.numpy as jnp
    >>> print(bessel(jnp.array([0.0, 1.0]), jnp.asarray(1.0)).round(6))
    [1.266066 0.565159]
    """
    m = jnp.arange(24.0)[:, None]
    terms = (2 * m + order) * jnp.log(x / 2) - jax.scipy.special.gammaln(m + 1)
    return jnp.exp(terms - jax.scipy.special.gammaln(m + order + 1)).sum(axis=0)


def _condition_on_circle(problem: CircleTokens, aliases: int) -> Array:
    n, j = problem.count, jnp.arange(-aliases, aliases + 1)
    smallest = bessel(jnp.abs(n // 2 + j * n).astype(float), problem.beta)
    return bessel(jnp.abs(j * n).astype(float), problem.beta).sum() / smallest.sum()


class ConditionNumberOnCircle(Claim[CircleTokens]):
    """Let n tokens of squared norm beta lie at equal angles on a circle, where n is even. The Gram matrix of the kernel
    exp(<x, y>) on these tokens is circulant. Its condition number is

        sum_j I_(jn)(beta) / sum_j I_(n/2 + jn)(beta),

    where j runs over all integers and I_k are the modified Bessel functions. The condition number grows like (1/2)
    I_0(beta) / I_(n/2)(beta), and this ratio grows like a factorial in n.
    """

    title = "The condition number of the exponential kernel on n points of a circle grows like a factorial in n"
    source = Source("foundation2025", "Section 5.1, condition number", note="for a smooth kernel")
    stated = Kind.OWN
    population = TokensOnCircle()
    relation = Equal()
    control = Control(
        "both sums have only the term j = 0, without aliases", lambda value, problem: _condition_on_circle(problem, 0)
    )
    controls = "the condition number of a Gram matrix"
    unexplained = "tokens that do not lie on a circle"

    def predict(self, problem: CircleTokens) -> Array:
        return _condition_on_circle(problem, _ALIASES)

    def measure(self, problem: CircleTokens, key: Key[Array, ""]) -> Array:
        return _condition_number(gram(ExponentialDotProduct(), problem.around(problem.count)))

    def condition(self, problem: CircleTokens) -> Array:
        """Return the condition number, because the least eigenvalue has the rounding error of the largest."""
        return problem.count * _condition_on_circle(problem, _ALIASES)


class KinkedConditionNumber(Claim[CircleTokens]):
    """Let n tokens lie at equal angles on half a circle. Consider the tangent kernel of a network with one hidden layer
    of ReLU units. This kernel has a kink at equal inputs. The condition number of its Gram matrix on the tokens grows
    like

        n².

    Polynomial growth is typical of kernels of finite smoothness.
    """

    title = "The condition number of the tangent kernel of ReLU on n points of half a circle grows like n²"
    source = Source("foundation2025", "Section 5.1, condition number", note="for a kernel with a kink")
    stated = Kind.OWN
    population = TokensOnCircle()
    relation = Rate("n", (16.0, 32.0, 64.0), margin=0.05, resolution=0.1)
    control = Control("n^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the condition number of a Gram matrix"
    unexplained = "tokens of high dimension, for which the growth is slower"
    traced = False  # decompositions of 64 rows
    trials = 4
    predict = 2.0

    def measure_at(self, problem: CircleTokens, key: Key[Array, ""], n: float) -> Array:
        return jnp.asarray(np.linalg.cond(np.asarray(_kinked_gram(problem.half(int(n))))))


class SingularAttention(Claim[AttentionTokens]):
    """Apply wide attention with tied queries and keys to tokens with c channels. Scale the logits by 1/d, where d is
    the width of a head. Read out the mean over positions linearly, and do not use a nonlinear layer. The kernel of two
    inputs is then the inner product of two vectors of c channels. The Gram matrix of this kernel on n inputs has rank

        min(n, c).

    With more than c inputs the condition number is infinite. So bounds on the number of iterations are infinite, too,
    if they are proportional to the condition number.
    """

    title = "The kernel of attention without a nonlinear layer has rank min(n, c) on n inputs with c channels"
    source = Source("foundation2025", "Section 5.1, condition number", note="infinite for one attention layer")
    stated = Kind.OWN
    population = AttentionSequences(sequences=16, channels=4)
    relation = Equal()
    control = Control(
        "the rank counts every position", lambda rank, problem: float(min(len(problem.x), problem.x[0].size)) + 0 * rank
    )
    controls = "the rank of the Gram matrix of a wide attention layer"
    unexplained = "nonlinear layers; logits scaled by 1/sqrt(d)"

    def hypotheses(self, problem: AttentionTokens) -> list[Hypothesis]:
        n, _, c = problem.x.shape
        return [Hypothesis("inputs outnumber channels", n, ">=", c, "otherwise the number of inputs bounds the rank")]

    def predict(self, problem: AttentionTokens) -> Array:
        return jnp.asarray(float(min(problem.x.shape[0], problem.x.shape[2])))

    def measure(self, problem: AttentionTokens, key: Key[Array, ""]) -> Array:
        """Count the eigenvalues above a billionth of the largest eigenvalue."""
        values = jnp.linalg.eigvalsh(gram(NNGPKernel(problem.channels_attended()), problem.x))
        return jnp.sum(values > 1e-9 * values[-1]).astype(float)
