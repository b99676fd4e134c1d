"""When the kernel of an attention head is positive semidefinite, and how far it is from semidefinite otherwise.

Let kappa(x, y) = exp(x' M y), M = W_q' W_k / sqrt(d), be the kernel of a head of width d with query weights W_q and key
weights W_k. This theory describes the signs of the eigenvalues of its symmetric version exp(x' M_s y), M_s = (M + M') /
2, on any finite set of tokens. If M is symmetric, these are the signs of the eigenvalues of kappa itself. The number of
negative squares of a kernel is the largest number of negative eigenvalues of its Gram matrices. A kernel with a
negative square has no reproducing kernel Hilbert space. A kernel with infinitely many negative squares does not have a
Pontryagin space either, the space that generalises it to finitely many. The theory does not explain what training does
to W_q and W_k. A head that learns a symmetric semidefinite M does have a reproducing kernel Hilbert space.
"""

import decimal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Passage,
    Reading,
    Real,
    Source,
    Status,
    Witness,
)
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.subjects.attention._attention_kernels import AttentionKernel, NarrowHeads, TokenHeads, inertia

ABOUT = {"tool": "reproducing kernels", "architecture": "attention", "object": "kernel"}


class Reals(eqx.Module):
    """Real numbers in a given order."""

    values: Float[Array, " n"]


def _least_gap(problem: Reals) -> Hypothesis:
    gap = jnp.diff(jnp.sort(problem.values)).min()
    return Hypothesis(
        "the numbers are distinct (least gap)", gap, ">", 1e-8, "the Gram matrix of equal numbers has rank one"
    )


_CONTROLS = "the signs of the eigenvalues of the kernel of an attention head"
_TRAINING = "trained weights, for which queries and keys depend on each other"


class PrintedAttentionKernel(Claim[AttentionKernel]):
    """Let kappa(x, y) = exp(<W_q x, W_k y> / sqrt(d)) be the kernel of softmax attention on tokens of R^p, with query
    weights W_q, key weights W_k and width d. As printed, the source says that attention is a linear combination of
    functions kappa(., y), and uses the norm of a reproducing kernel Hilbert space with the kernel kappa. Such a space
    exists only if kappa is positive semidefinite.

    The test uses a weak form of this statement. Let M_s = (M + M') / 2 with M = W_q' W_k / sqrt(d), and make the kernel
    symmetric: exp(x' M_s y). The symmetric kernel is positive semidefinite on all of R^p exactly if none of the p
    eigenvalues of M_s is negative. The weak form is that M_s has no negative eigenvalue in at least half of the heads
    with random weights.
    """

    title = "As printed, the kernel of an attention head is positive semidefinite"
    source = Source("foundation2025", "(7)", "Section 3.2, norm", note="as printed")
    population = NarrowHeads()
    relation = Witness(0.5)
    control = Control("p - 1 eigenvalues are nonnegative in half of the heads", lambda count, problem: count - 1)
    controls, unexplained = _CONTROLS, "which symmetric kernel is meant if W_q and W_k differ"
    reading = (
        "the claim is about the symmetric version of the kernel, for half of the heads with independent normal weights"
    )
    passage = Passage(
        "000_643c1008a95be5dc.txt",
        7133,
        7520,
        "1bf89022c2339a57",
        says="Attention is a convex combination with the kernel (7), and the norm of the reproducing kernel Hilbert "
        "space of this kernel constrains the attention patterns that can be learned.",
        right_if="W_q' W_k is symmetric and positive semidefinite, as for tied queries and keys",
        formula="kappa(x, y) = exp((W_q x)' (W_k y) / sqrt(d))",
    )
    readings = (
        Reading("of (7) as it stands: it is not symmetric, so that no such space is defined", "ill-typed"),
        Reading("of its symmetric version, for half of the heads", "refuted"),
    )
    expected = Status.REFUTED
    trials = 64

    def predict(self, problem: AttentionKernel) -> Array:
        return jnp.asarray(float(problem.tokens.shape[1]))

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        return problem.tokens.shape[1] - inertia(problem.symmetric)[1]


class NarrowHeadsAreIndefinite(Claim[AttentionKernel]):
    """Let the query and key weights W_q and W_k of a head have shape (d, p) with p >= 2d and be in general position.
    Let M = W_q' W_k / sqrt(d). The quadratic form M_s = (M + M') / 2 of the head has exactly d positive and d negative
    eigenvalues. All other eigenvalues are 0.

    With u = W_q x and v = W_k x, the form x' M_s x is <u, v> / sqrt(d), where <u, v> = (|u + v|² - |u - v|²) / 4. The
    pairs (u, v) fill R^(2d). So on an open set, the kernel of such a head is never positive semidefinite.
    """

    title = "The quadratic form of an attention head of width d <= p/2 on R^p has d positive and d negative directions"
    source = Source("foundation2025", "(7)", note="corrected")
    population = NarrowHeads()
    relation = Equal()
    control = Control("d - 1 eigenvalues of each sign", lambda counts, problem: counts - 1)
    controls, unexplained = _CONTROLS, _TRAINING
    corrects = PrintedAttentionKernel

    def predict(self, problem: AttentionKernel) -> Array:
        return jnp.full(2, float(len(problem.query)))

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        return jnp.stack(inertia(problem.symmetric))


class HeadsBelowTwiceTheirWidth(Claim[AttentionKernel]):
    """Let the query and key weights W_q and W_k of a head have shape (d, p) with d < p < 2d and be in general position.
    Let M = W_q' W_k / sqrt(d). The quadratic form M_s = (M + M') / 2 of the head has at least p - d negative
    eigenvalues.

    The map x -> (W_q x, W_k x) embeds R^p in R^(2d). On R^(2d), the quadratic form is <u, v> / sqrt(d) for pairs (u,
    v). This form has d positive directions. So at most d of the eigenvalues of M_s are positive. General position
    excludes the eigenvalue 0.
    """

    title = "The quadratic form of an attention head of width d < p < 2d on R^p has at least p - d negative directions"
    source = Source("foundation2025", "(7)", note="corrected, for p below 2d")
    population = NarrowHeads(6, 9, below=True)
    relation = AtLeast()
    control = Control("at least d negative eigenvalues", lambda count, problem: 0 * count + len(problem.query))
    controls, unexplained = _CONTROLS, _TRAINING
    corrects = PrintedAttentionKernel
    trivial = 0.0

    def predict(self, problem: AttentionKernel) -> Array:
        d, p = problem.query.shape
        return jnp.asarray(float(p - d))

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        return inertia(problem.symmetric)[1]


def _pairs(problem: AttentionKernel) -> tuple[Float[Array, "n p"], Float[Array, "n p"]]:
    half = len(problem.tokens) // 2
    return problem.tokens[:half], problem.tokens[half : 2 * half]


def _forms(left: Float[Array, "n p"], form: Float[Array, "p p"], right: Float[Array, "n p"]) -> Float[Array, " n"]:
    return jnp.einsum("np,pq,nq->n", left, form, right)


def _sign_of_the_logit(signs: Array, problem: AttentionKernel) -> Array:
    x, y = _pairs(problem)
    return jnp.sign(_forms(x, problem.symmetric, y))


class TwoTokensDecideBySign(Claim[AttentionKernel]):
    """Let W_q and W_k be the query and key weights of a head of width d. Let M = W_q' W_k / sqrt(d), let M_s = (M + M')
    / 2, and let exp(x' M_s y) be the symmetric kernel of the head. This kernel is positive semidefinite on two tokens x
    and y exactly if

        (x - y)' M_s (x - y) >= 0,

    since the determinant of the kernel's Gram matrix on x and y is exp(x' M_s x + y' M_s y) - exp(2 x' M_s y). For
    every direction, an open set contains two tokens whose difference is a nonzero multiple of this direction. So on an
    open set, the kernel is semidefinite only if M_s is.
    """

    title = "The sign of a quadratic form decides if an attention head's kernel is semidefinite on two tokens"
    source = Source("foundation2025", "(7)", note="corrected, on two tokens")
    population = TokenHeads(tokens=32, size=0.5)
    relation = Equal(block=1)
    control = Control("the sign of x' M_s y decides", _sign_of_the_logit)
    controls, unexplained = (
        _CONTROLS,
        "more than two tokens, for which conditions on pairs are necessary but not sufficient",
    )
    corrects = PrintedAttentionKernel

    def hypotheses(self, problem: AttentionKernel) -> list[Hypothesis]:
        x, y = _pairs(problem)
        forms = _forms(x - y, problem.symmetric, x - y)
        why = "the least eigenvalue of the Gram matrix is then 0 to rounding"
        return [Hypothesis("no form is 0 to rounding", jnp.abs(forms).min(), ">", 1e-9, why)]

    def predict(self, problem: AttentionKernel) -> Array:
        x, y = _pairs(problem)
        return jnp.sign(_forms(x - y, problem.symmetric, x - y))

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        """Return the sign of the smallest eigenvalue of each Gram matrix of two tokens."""
        pair = jnp.stack(_pairs(problem), axis=1)
        grams = jnp.exp(jnp.einsum("nip,pq,njq->nij", pair, problem.symmetric, pair))
        return jnp.sign(jnp.linalg.eigvalsh(grams)[:, 0])


class SemidefiniteFormsGiveKernels(Claim[AttentionKernel]):
    """Let W_q and W_k be the query and key weights of a head of width d. Let M = W_q' W_k / sqrt(d) be symmetric and
    positive semidefinite, as for tied queries and keys. The kernel kappa(x, y) = exp(x' M y) is then positive
    semidefinite on any tokens. That is, the largest eigenvalue L and the smallest eigenvalue l of its Gram matrix
    satisfy

        1 + l / L >= 1.

    The reason is that the Taylor series of kappa is a sum, with positive coefficients, of powers of the semidefinite
    kernel x' M y.
    """

    title = "An attention head with a semidefinite quadratic form has a positive semidefinite kernel on any tokens"
    source = Source("foundation2025", "(7)", note="corrected, for semidefinite forms")
    population = TokenHeads(tied=True, tokens=24)
    relation = AtLeast()
    control = Control(
        "the least eigenvalue is at least a hundredth of the largest", lambda bound, problem: 1.01 * bound
    )
    controls, unexplained = _CONTROLS, "how fast the eigenvalues fall"
    corrects = PrintedAttentionKernel
    predict = 1.0
    trivial = 0.0  # by Perron and Frobenius no eigenvalue of a positive matrix is larger in size than the largest

    def hypotheses(self, problem: AttentionKernel) -> list[Hypothesis]:
        form = problem.exponent
        skew = jnp.abs(form - form.T).max() / jnp.abs(form).max()
        return [
            Hypothesis("M is symmetric (relative)", skew, "<=", 1e-14, "otherwise exp(x' M y) is not symmetric"),
            Hypothesis("M has no negative eigenvalue", inertia(problem.symmetric)[1], "==", 0.0, "two tokens decide"),
        ]

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        values = jnp.linalg.eigvalsh(jnp.exp(problem.tokens @ problem.exponent @ problem.tokens.T))
        return 1 + values[0] / values[-1]

    def condition(self, problem: AttentionKernel) -> Array:
        """The condition number: the entries of the Gram matrix have relative errors of eps times their logits."""
        return len(problem.tokens) * (1 + jnp.abs(problem.tokens @ problem.exponent @ problem.tokens.T).max())


class ExponentialNegativeSquares(Claim[Reals]):
    """Let K be the Gram matrix of exp(-s t) on any n distinct real numbers. This matrix has exactly floor(n/2) negative
    eigenvalues.

    Derivation: The kernel exp(s t) is strictly totally positive. So for increasing numbers s_i, the leading k x k minor
    of exp(-s_i s_j) has the sign of (-1)^(k(k-1)/2), and the pivots of elimination alternate in sign.

    Let the symmetric kernel of an attention head be exp(x' M_s y) with a symmetric matrix M_s, and let v be a direction
    with v' M_s v < 0. For tokens on a line along v, the symmetric kernel has the form exp(-s t). So the number of
    negative eigenvalues of its Gram matrices is unbounded. The symmetric kernel therefore does not have a Pontryagin
    space, for which this number would be bounded.
    """

    title = "On n tokens along a negative direction, an attention head's kernel has floor(n/2) negative eigenvalues"
    source = Source("foundation2025", "(7)", note="corrected, on a line")
    population = Drawn(
        Reals,
        _least_gap,
        n=Integer(7, 2, 12, "numbers", corners=(3, 9)),
        size=Real(2.0, 0.5, 4.0, "their standard deviation"),
        values=normal("n", times="size"),
    )
    relation = Equal(block=1)
    control = Control("one eigenvalue is negative, for every n", lambda counts, problem: jnp.ones_like(counts))
    controls, unexplained = "the number of negative squares of the kernel of a head", _TRAINING
    traced = False  # pivots with 80 digits: the least eigenvalue of seven tokens is below the rounding of float64

    def predict(self, problem: Reals) -> Array:
        return jnp.arange(2, len(problem.values) + 1) // 2 * 1.0

    def measure(self, problem: Reals, key: Key[Array, ""]) -> Array:
        """Count the negative pivots of elimination without row exchanges, for the first 2, ..., n numbers."""
        with decimal.localcontext(decimal.Context(prec=80)):
            points = [decimal.Decimal(float(value)) for value in problem.values]
            rows = [[(-s * t).exp() for t in points] for s in points]
            for k, pivot in enumerate(rows):
                for row in rows[k + 1 :]:
                    ratio = row[k] / pivot[k]
                    row[k:] = [entry - ratio * above for entry, above in zip(row[k:], pivot[k:], strict=True)]
        return jnp.asarray(np.cumsum([row[k] < 0 for k, row in enumerate(rows)])[1:], float)
