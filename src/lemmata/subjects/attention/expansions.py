"""Norms of functions from their expansions in a kernel.

With the kernel of attention, expansions of one function give every positive norm. With a semidefinite kernel, they all
give the same norm.

Let f = sum_i a_i kappa(., x_i) be a function with a finite expansion in a kernel kappa. This theory describes the
expression sum_ij a_i a_j kappa(x_i, x_j) over all such expansions of one function. Its minimum is sometimes called the
squared norm of f. The theory does not explain functions without a finite expansion, which have a norm only in the
completion of a semidefinite kernel's space.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.engine.problems.conditions import rounding_floor
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.attention._attention_kernels import AttentionKernel

ABOUT = {"tool": "reproducing kernels", "architecture": "attention", "object": "function class"}


class KeyEquivalents(eqx.Module):
    """A head with tokens, and a direction that its key weights W_k map to 0.

    Args:
        head: the head. Its first token is x, and functions are compared at the other tokens.
        unseen: a vector v of length 1 with W_k v = 0.
    """

    head: AttentionKernel
    unseen: Float[Array, " p"]


class UnseenShifts(Population[KeyEquivalents]):
    """Narrow heads with normal weights, normal tokens, and a direction that W_k maps to 0."""

    settings = Space(
        d=Integer(3, 1, 32, "width of the head"),
        p=Integer(6, 2, 64, "width of the tokens"),
        tokens=Integer(8, 2, 64, "tokens"),
    ).where("d is below p", lambda s: s["d"] < s["p"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> KeyEquivalents:
        """Draw a head; the direction is the last right singular vector of W_k."""
        d, p = setting["d"], setting["p"]
        query, key_weight, tokens = draws(key, (d, p), (d, p), (setting["tokens"], p))
        unseen = jnp.linalg.svd(key_weight)[2][-1]
        head = AttentionKernel(query / p**0.5, key_weight / p**0.5, tokens)
        return KeyEquivalents(head, unseen)

    def hypotheses(self, problem: KeyEquivalents) -> list[Hypothesis]:
        head, v = problem.head, problem.unseen
        seen = jnp.linalg.norm(head.key @ v) / jnp.linalg.norm(head.key)
        rate = jnp.abs(v @ head.exponent @ head.tokens[0])
        return [
            Hypothesis("W_k v = 0 (relative)", seen, "<=", 1e-14, "otherwise the two functions differ"),
            Hypothesis("moving x along v changes the exponent", rate, ">", 1e-6, "otherwise the shift changes nothing"),
        ]


class Expansions(eqx.Module):
    """A function with two expansions sum_i a_i kappa(., x_i) in one semidefinite kernel and at the same points x_i.

    Args:
        x: the points, one in each row.
        first: the coefficients a of one expansion.
        second: the coefficients of the other expansion.
    """

    x: Float[Array, "n p"]
    first: Float[Array, " n"]
    second: Float[Array, " n"]

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix of (1 + <x, y>)²."""
        return (1 + self.x @ self.x.T) ** 2


class QuadraticExpansions(Population[Expansions]):
    """The kernel (1 + <x, y>)² on more normal points than its rank.

    The coefficient vectors of the two expansions differ by a null vector of the Gram matrix.
    """

    settings = Space(p=Integer(3, 1, 8, "dimension"), extra=Integer(6, 1, 32, "points beyond the rank"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Expansions:
        """Draw normal coefficients, and add a normal combination of the null vectors of K."""
        p = setting["p"]
        rank = (p + 1) * (p + 2) // 2
        n = rank + setting["extra"]
        x, first, more = draws(key, (n, p), (n,), (setting["extra"],))
        null = jnp.linalg.eigh((1 + x @ x.T) ** 2)[1][:, : setting["extra"]]
        return Expansions(x, first, first + 3 * null @ more)

    def hypotheses(self, problem: Expansions) -> list[Hypothesis]:
        gram = problem.gram
        apart = jnp.linalg.norm(gram @ (problem.first - problem.second))
        floor = rounding_floor(jnp.linalg.eigvalsh(gram)) * jnp.linalg.norm(problem.first - problem.second)
        return [
            Hypothesis("the expansions agree on the points", apart, "<=", floor, "the expansions are the same function")
        ]


_CONTROLS = "the squared norm that an expansion gives"


def _exponent_size(problem: KeyEquivalents, shift: Array) -> Array:
    head = problem.head
    reach = jnp.linalg.norm(head.tokens[0]) + jnp.abs(shift)
    widths = jnp.linalg.norm(head.query) * jnp.linalg.norm(head.key) / len(head.query) ** 0.5
    return len(problem.unseen) * (1 + widths * reach * (reach + jnp.linalg.norm(head.tokens, axis=1).max()))


_NORMS = (1e-3, 2.0, 1e3)


def _one_norm(values: Array, problem: KeyEquivalents) -> Array:
    x = problem.head.tokens[0]
    return values.at[: len(_NORMS)].set(x @ problem.head.exponent @ x)


class ExpansionsTakeEveryPositiveNorm(Claim[KeyEquivalents]):
    """Let kappa(x, y) = exp(<W_q x, W_k y> / sqrt(d)) be the kernel of a head with query weights W_q, key weights W_k
    and width d. Let v be a nonzero vector with W_k v = 0, and let c > 0. For almost every token x, the following number
    t exists. Let x' = x + t v with

        t = (sqrt(d) log c - <W_q x, W_k x>) / <W_q v, W_k x>.

    Then kappa(., x') = kappa(., x), and kappa(x', x') = c. So the tokens x and x' give the same function, but its
    expansion by x' gives it the squared norm c.

    The squared norm of a function f is sometimes defined as the minimum of sum_ij a_i a_j kappa(x_i, x_j) over all
    expansions f = sum_i a_i kappa(., x_i). If f is not 0, this sum takes every positive value. So the minimum does not
    exist: the infimum of the sum is 0, and its supremum is infinite. The test compares log kappa(x', x') with log c,
    and log kappa(z, x') with log kappa(z, x) at every token z.
    """

    title = "In a narrow attention head's kernel, expansions of one function give every positive value for its norm"
    source = Source("foundation2025", "Section 3.2, norm", note="the expression of (5) with the kernel of (7)")
    stated = Kind.OWN
    population = UnseenShifts()
    relation = Equal(block=1)
    control = Control("all expansions have the norm of the first", _one_norm)
    controls, unexplained = _CONTROLS, "tied heads, whose kernel is semidefinite"

    def predict(self, problem: KeyEquivalents) -> Array:
        same = jnp.zeros(len(_NORMS) * len(problem.head.tokens))
        return jnp.concatenate([jnp.log(jnp.asarray(_NORMS)), same])

    def measure(self, problem: KeyEquivalents, key: Key[Array, ""]) -> Array:
        """Return the logarithms of kappa(x', x'), and of kappa(z, x') / kappa(z, x) at every token z."""
        head, x = problem.head, problem.head.tokens[0]
        others = x + self._shifts(problem)[:, None] * problem.unseen
        queries, keys = others @ head.query.T, others @ head.key.T
        norms = jnp.sum(queries * keys, axis=1)
        ratios = (head.tokens @ head.query.T) @ (keys - head.key @ x).T
        return jnp.concatenate([norms, ratios.ravel()]) / len(head.query) ** 0.5

    def _shifts(self, problem: KeyEquivalents) -> Float[Array, " c"]:
        head, x = problem.head, problem.head.tokens[0]
        along = (head.query @ problem.unseen) @ (head.key @ x)
        return (len(head.query) ** 0.5 * jnp.log(jnp.asarray(_NORMS)) - (head.query @ x) @ (head.key @ x)) / along

    def condition(self, problem: KeyEquivalents) -> Array:
        """The condition number: the exponents of kappa are rounded; products of the vectors' lengths bound them."""
        return _exponent_size(problem, jnp.abs(self._shifts(problem)).max())


def _longer_is_larger(value: Array, problem: Expansions) -> Array:
    return value * jnp.sum(problem.second**2) / jnp.sum(problem.first**2)


class ExpansionsOfSemidefiniteKernelAgree(Claim[Expansions]):
    """Let kappa be a positive semidefinite kernel with Gram matrix K on points x_i. All finite expansions f = sum_i a_i
    kappa(., x_i) of one function f give the same value a' K a. The reason is that any two coefficient vectors of f
    differ by a null vector of K. So if the squared norm of f is defined as the minimum of a' K a over all expansions of
    f, this minimum is taken over a single number. The test uses kappa(x, y) = (1 + <x, y>)² on more points than the
    rank of this kernel.
    """

    title = "All expansions of a function in a semidefinite kernel give the same norm"
    source = Source("foundation2025", "(5)", note="of functions with finite expansions")
    population = QuadraticExpansions()
    relation = Equal()
    control = Control("the expression grows with |a|²", _longer_is_larger)
    controls, unexplained = _CONTROLS, "functions of the space without a finite expansion"

    def predict(self, problem: Expansions) -> Array:
        """Compute |sum_i a_i phi(x_i)|² with the features phi of the kernel."""
        ones = jnp.concatenate([jnp.ones((len(problem.x), 1)), problem.x], axis=1)
        features = (ones[:, :, None] * ones[:, None, :]).reshape(len(ones), -1)
        return jnp.sum((problem.first @ features) ** 2)

    def measure(self, problem: Expansions, key: Key[Array, ""]) -> Array:
        return problem.second @ problem.gram @ problem.second

    def condition(self, problem: Expansions) -> Array:
        """The condition number: terms |a_i| |a_j| K_ij cancel, and null vectors of K are known only up to rounding."""
        sizes = jnp.abs(problem.first) + jnp.abs(problem.second)
        return 4 * (sizes @ problem.gram @ sizes) / self.predict(problem)
