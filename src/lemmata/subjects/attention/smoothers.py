"""Attention as a smoother of its tokens: its spectrum, the convex hull of its values, and the kernel of its keys.

This theory describes the row-stochastic matrix A = D^-1 K by which a head averages its values, where K holds the
exponentials of logits and D their row sums. It assumes one head and any logits. For tied queries and keys (W_q = W_k),
A is reversible: D A is symmetric. For untied queries and keys, the kernel kappa(x, y) of query and key whose values are
in K is not semidefinite. But kappa(z, x) kappa(z, y), averaged over normal queries z, is a semidefinite kernel of the
two keys x and y. The theory does not explain what the values are.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
    Witness,
)
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.attention._attention_kernels import AttentionKernel, TokenHeads

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "spectrum"}


class HeadWithValues(eqx.Module):
    """One head, with the logits of token i for all tokens in row i, and the value v_j of token j in row j."""

    logits: Float[Array, "T T"]
    values: Float[Array, "T c"]


class TokenValues(Population[HeadWithValues]):
    """Normal values, and logits of normal queries and keys, divided by a random temperature."""

    free = ("logits", "values")
    settings = Space(
        tokens=Integer(16, 2, 256, "tokens"),
        d=Integer(4, 1, 64, "width of queries, keys and values"),
        sharpness=Real(30.0, 0.1, 1e4, "largest inverse temperature"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeadWithValues:
        """Draw an inverse temperature whose logarithm is uniform between 0 and the logarithm of the largest one."""
        length, d = setting["tokens"], setting["d"]
        temperature, normal = jax.random.split(key)
        queries, keys, values = draws(normal, (length, d), (length, d), (length, d))
        return HeadWithValues(setting["sharpness"] ** jax.random.uniform(temperature) * queries @ keys.T, values)

    def hypotheses(self, problem: HeadWithValues) -> list[Hypothesis]:
        return [Hypothesis("the logits are finite", jnp.abs(problem.logits).max(), "<", jnp.inf)]


class KeyPair(eqx.Module):
    """Two keys x and y of a head with the kernel kappa(z, x) = exp(z' M x): `left` is M x and `right` is M y."""

    left: Float[Array, " p"]
    right: Float[Array, " p"]

    @property
    def difference(self) -> Float[Array, " p"]:
        """The difference M (x - y)."""
        return self.left - self.right

    def over_queries(self, key: Key[Array, ""], number: int) -> Float[Array, ""]:
        """Return the mean of kappa(z, x) kappa(z, y) over normal queries z and -z.

        Args:
            key: the random key.
            number: the number of pairs z, -z.
        """
        queries = jax.random.normal(key, (number, len(self.left)))
        both = jnp.concatenate([queries, -queries])
        return jnp.mean(jnp.exp(both @ self.left) * jnp.exp(both @ self.right))


class ShortKeyPairs(Population[KeyPair]):
    """Normal weights and tokens. The tokens are scaled so that |M x| + |M y| has the value of a setting."""

    settings = Space(
        p=Integer(3, 1, 32, "width of the tokens"),
        length=Real(1.2, 0.1, 1.5, "|M x| + |M y|", corners=(0.6, 1.2)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KeyPair:
        """Draw a pair and scale both keys together, so that the ratio of their lengths is random."""
        p = setting["p"]
        product, tokens = draws(key, (p, p), (2, p))
        pair = tokens @ product.T
        left, right = setting["length"] * pair / jnp.linalg.norm(pair, axis=1).sum()
        return KeyPair(left, right)

    def hypotheses(self, problem: KeyPair) -> list[Hypothesis]:
        """Require keys so short that a mean over sampled queries is reliable."""
        length = jnp.linalg.norm(problem.left) + jnp.linalg.norm(problem.right)
        return [
            Hypothesis(
                "|M x| + |M y| is at most 1.5",
                length,
                "<=",
                1.5,
                "with longer keys, lognormal tails make the mean unreliable",
            )
        ]


_CONTROLS = "the eigenvalues of the attention matrix"


def _leaves_unit_interval(attention: Float[Array, "T T"]) -> Float[Array, ""]:
    """Return 1 - min Re + max |Im| of the eigenvalues, which is at most 1 if they are real and not negative."""
    values = jnp.linalg.eigvals(attention)
    return 1 - values.real.min() + jnp.abs(values.imag).max()


class TiedHeadsAreReversible(Claim[AttentionKernel]):
    """Consider a head of width d whose key weights W_k equal its query weights W_q. Then M = W_q' W_k / sqrt(d) is
    positive semidefinite. Let K be the matrix with the entries exp(x_i' M x_j) for tokens x_i, and D the diagonal
    matrix of its row sums. The attention matrix A = D^-1 K is reversible: D A is symmetric. The spectrum of A equals
    the spectrum of D^(-1/2) K D^(-1/2), which is real and within [0, 1]. Therefore the smallest real part and the
    largest imaginary part of the eigenvalues of A satisfy

        1 - min Re + max |Im| <= 1.
    """

    title = "If queries and keys are tied, the attention matrix is reversible and has a spectrum in [0, 1]"
    source = Source("foundation2025", "(7)", note="corrected, for semidefinite M")
    population = TokenHeads(tied=True)
    relation = AtMost()
    control = Control("all eigenvalues are at least 0.01", lambda bound, problem: bound - 0.01)
    controls, unexplained = _CONTROLS, "how fast the eigenvalues fall, and untied heads"
    predict = 1.0
    trivial = 1 + 2**0.5  # eigenvalues of a stochastic matrix lie in the unit disc

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        return _leaves_unit_interval(problem.attention)

    def condition(self, problem: AttentionKernel) -> Array:
        """The condition number: eigenvalues of D^-1 K are sensitive if the entries of D^(1/2) differ much."""
        sums = jnp.exp(problem.tokens @ problem.exponent @ problem.tokens.T).sum(axis=1)
        return len(sums) * jnp.sqrt(sums.max() / sums.min())


class UntiedHeadsAreNotReversible(Claim[AttentionKernel]):
    """Let the query and key weights W_q and W_k of a head be independent normal d x p matrices with 3 <= d < p. On four
    or more normal tokens, its attention matrix has an eigenvalue that is not real or that is negative, beyond rounding.
    With probability at least 0.9, the smallest real part and the largest imaginary part of the eigenvalues of this
    matrix satisfy

        1 - min Re + max |Im| >= 1 + 10^-6.

    So the attention matrix is not a reversible smoother with eigenvalues in [0, 1]. It also does not have the form D^-1
    K for a semidefinite matrix K and a positive diagonal matrix D. The statement is false in one dimension or on two
    tokens: then only one eigenvalue other than 1 decides, and this eigenvalue is positive as often as negative.
    """

    title = "Attention matrices of untied heads have complex or negative eigenvalues"
    source = Source("foundation2025", "(7)", note="corrected, for the smoother of independent queries and keys")
    population = TokenHeads()
    relation = Witness(0.9)
    control = Control("1.8 times the bound, with the same probability", lambda value, problem: 1.8 * value)
    controls, unexplained = _CONTROLS, "the distribution of the spectrum for many tokens"
    trials = 256
    predict = 1 + 1e-06

    def hypotheses(self, problem: AttentionKernel) -> list[Hypothesis]:
        (d, p), n = problem.key.shape, len(problem.tokens)
        return [
            Hypothesis(
                "the width of the head", d, ">=", 3, "if there are few eigenvalues, all are real and positive too often"
            ),
            Hypothesis("the width of the tokens", p, ">", d, "the statement is about narrow heads"),
            Hypothesis("tokens", n, ">=", 4, "n tokens have n - 1 eigenvalues other than 1"),
        ]

    def measure(self, problem: AttentionKernel, key: Key[Array, ""]) -> Array:
        return _leaves_unit_interval(problem.attention)


class QueryAveragedKernel(Claim[KeyPair]):
    """Let M be any matrix, let queries z ~ N(0, I), and let kappa(z, x) = exp(z' M x). For keys x and y,

        E kappa(z, x) kappa(z, y) = exp(|M (x + y)|² / 2).

    The right side is a symmetric positive semidefinite kernel of the two keys x and y for all weights, whether queries
    and keys are tied or not. A head has this kernel even if kappa, its kernel of a query and a key, is indefinite.
    """

    title = "The product of a head's kernel values at two keys, averaged over normal queries, is a semidefinite kernel"
    source = Source("foundation2025", "(7)", note="corrected, as a kernel of keys")
    population = ShortKeyPairs()
    relation = EqualInMean(resolution=0.02)
    control = Control("exp(|M (x - y)|² / 2)", lambda value, problem: jnp.exp(jnp.sum(problem.difference**2) / 2))
    controls, unexplained = "the second moment of attention's kernel over queries", "queries that are not normal"

    def predict(self, problem: KeyPair) -> Array:
        return jnp.exp(jnp.sum((problem.left + problem.right) ** 2) / 2)

    def measure(self, problem: KeyPair, key: Key[Array, ""]) -> Array:
        """Return the mean of kappa(z, x) kappa(z, y) over 1000 queries z and their negatives."""
        return problem.over_queries(key, 1000)


class AttentionStaysInTheHull(Claim[HeadWithValues]):
    """Let sum_j alpha_ij v_j be the output of a head at token i, where alpha_ij are softmax weights and v_j the values.
    This output lies in the convex hull of the values, so that

        max_i |sum_j alpha_ij v_j|_inf <= max_j |v_j|_inf.

    As the temperature falls, the left side approaches the right side if, for some token i, the largest logit belongs to
    the value with the largest |v_j|_inf. So a head alone never extrapolates.
    """

    title = "The output of an attention head stays in the convex hull of its values"
    source = Source("foundation2025", "(6)", note="with the index of the token on the left")
    population = TokenValues()
    relation = AtMost()
    control = Control("0.9 times the bound", lambda bound, problem: 0.9 * bound)
    controls, unexplained = "the size of a head's output", "residual connections, and the map after the heads"

    def predict(self, problem: HeadWithValues) -> Array:
        return jnp.abs(problem.values).max()

    def measure(self, problem: HeadWithValues, key: Key[Array, ""]) -> Array:
        """Compute the output token by token, from exponentials of differences to the largest logit."""
        mass = jnp.exp(problem.logits - problem.logits.max(axis=1, keepdims=True))
        return jnp.abs(mass @ problem.values / mass.sum(axis=1, keepdims=True)).max()

    def trivial(self, problem: HeadWithValues) -> Array:
        """The bound max over coordinates of sum_j |v_j|, which uses only that attention weights are at most 1."""
        return jnp.abs(problem.values).sum(axis=0).max()
