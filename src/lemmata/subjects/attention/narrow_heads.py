"""The kernel of a narrow head can approximate only functions of its keys.

A head of width d with query weights W_q and key weights W_k has the kernel kappa(z, x) = exp(<W_q z, W_k x> / sqrt(d)).
For a fixed token z, the function kappa(z, .) of the key's token x is called a section of the kernel. This theory
describes the least error with which weighted sums of sections approximate a function. The sections depend only on
W_k x. So they cannot follow the variation of a function along directions that W_k maps to 0. If a head is as wide as
its tokens, sums of its sections are dense in the continuous functions. The theory does not explain how many sections
are needed, or what several heads with different keys can do.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Order,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.attention._attention_kernels import AttentionKernel

ABOUT = {"tool": "approximation theory", "architecture": "attention", "object": "function class"}


class UnseenDirection(eqx.Module):
    """A head, tokens in pairs x and x - 2 <v, x> v, and the function sin(2 <v, x> + phase) of these tokens.

    Args:
        head: the head; the second half of its tokens are the reflections of the first.
        probes: tokens whose queries make the sections kappa(probe, .).
        direction: the vector v, of length 1.
        phase: the phase, which makes the function neither odd nor even along v.
    """

    head: AttentionKernel
    probes: Float[Array, "m p"]
    direction: Float[Array, " p"]
    phase: Float[Array, ""]

    @property
    def target(self) -> Float[Array, " T"]:
        """The values of the function at the tokens."""
        return jnp.sin(2 * self.head.tokens @ self.direction + self.phase)

    @property
    def sections(self) -> Float[Array, "T m"]:
        """The values kappa(probe, token), one section in each column."""
        return jnp.exp(self.head.tokens @ (self.probes @ self.head.exponent).T)


class FunctionsOfUnseenDirections(Population[UnseenDirection]):
    """Heads with normal weights and probes, and tokens that are uniform on the sphere of radius sqrt(p).

    The direction v is one that W_k maps to 0 if the head is narrow, and uniform otherwise.

    Args:
        full: whether the head is as wide as its tokens.
    """

    free = ("probes", "phase")
    full: bool = False

    def settings(self) -> Space:
        p = Integer(3, 2, 8, "width of the tokens", corners=(2, 4) if not self.full else (2, 3))
        return Space(
            p=p,
            pairs=Integer(100, 20, 4000, "pairs of tokens"),
            probes=Integer(36, 36, 400, "probes", corners=(36, 48)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnseenDirection:
        """Draw a head as wide as its tokens, or narrower by one, and a phase between -1/2 and 1/2."""
        p, pairs = setting["p"], setting["pairs"]
        d = p if self.full else p - 1
        phase, normal = jax.random.split(key)
        shapes = ((d, p), (d, p), (pairs, p), (setting["probes"], p), (p,))
        query, key_weight, half, probes, drawn = draws(normal, *shapes)
        half = half * (p**0.5 / jnp.linalg.norm(half, axis=1, keepdims=True))
        v = drawn / jnp.linalg.norm(drawn) if self.full else jnp.linalg.svd(key_weight)[2][-1]
        tokens = jnp.concatenate([half, half - 2 * jnp.outer(half @ v, v)])
        head = AttentionKernel(query / p**0.5, key_weight / p**0.5, tokens)
        return UnseenDirection(head, probes, v, jax.random.uniform(phase) - 0.5)

    def hypotheses(self, problem: UnseenDirection) -> list[Hypothesis]:
        seen = jnp.linalg.norm(problem.head.key @ problem.direction) / jnp.linalg.norm(problem.head.key)
        if self.full:
            return [Hypothesis("W_k v is not 0 (relative)", seen, ">", 1e-8, "otherwise no section varies along v")]
        return [Hypothesis("W_k v = 0 (relative)", seen, "<=", 1e-14, "otherwise sections vary along v")]


_COUNTS = (4.0, 12.0, 36.0)
_RIDGE = 1e-11
_CONTROLS = "the error of sums of sections of attention's kernel"
_COUNT = "how many sections a function needs"


def _missed(problem: UnseenDirection, trained: slice, tested: slice) -> Float[Array, " c"]:
    """Return the mean squared errors of least squares fits, divided by the variance of f, by number of sections.

    The fits use the tokens `trained`, and the errors are those on the tokens `tested`. The ridge is the smallest that
    float64 can resolve. The claimed lower bound holds for any coefficients, and so for any ridge.
    """
    f, sections = problem.target, problem.sections
    counts = jnp.asarray(_COUNTS)[:, None]
    scaled = sections / jnp.linalg.norm(sections, axis=0) * (jnp.arange(sections.shape[1]) < counts)[:, None]
    x, y = scaled[:, trained], f[trained]
    moments = jnp.einsum("ctm,ctk->cmk", x, x) + _RIDGE * jnp.eye(sections.shape[1])
    solve = jax.vmap(lambda matrix, right: jax.scipy.linalg.solve(matrix, right, assume_a="pos"))
    coefficients = solve(moments, jnp.einsum("ctm,t->cm", x, y))
    return jnp.mean((f[tested] - jnp.einsum("ctm,cm->ct", scaled[:, tested], coefficients)) ** 2, axis=1) / jnp.var(f)


class NarrowHeadsMissUnseenDirections(Claim[UnseenDirection]):
    """Let tokens come in pairs x, x' with W_k x = W_k x', where W_k is the key matrix of a head. Let kappa(z, x) be the
    kernel of the head for a query token z and a key token x, and call the functions kappa(z, .) its sections. Each
    section takes equal values at the two tokens of a pair. So for any function f, the mean squared error with which a
    sum of sections approximates f is at least

        mean over pairs of ((f(x) - f(x')) / 2)²,

    which is E Var(f | W_k x) under the distribution of these tokens. The test fits f by least squares with 4, 12 and 36
    sections. The test divides the errors and the bound by the variance of f.
    """

    title = "Narrow attention heads miss a function's variation along directions that the key matrix maps to zero"
    source = Source("foundation2025", "Section 3.1, any continuous function", note="for narrow heads")
    stated = Kind.OWN
    population = FunctionsOfUnseenDirections()
    relation = AtLeast()
    control = Control("1.5 times the bound", lambda bound, problem: 1.5 * bound)
    controls, unexplained = _CONTROLS, _COUNT

    def predict(self, problem: UnseenDirection) -> Array:
        first, second = jnp.split(problem.target, 2)
        share = jnp.mean(((first - second) / 2) ** 2) / jnp.var(problem.target)
        return jnp.full(len(_COUNTS), share)

    def measure(self, problem: UnseenDirection, key: Key[Array, ""]) -> Array:
        return _missed(problem, slice(None), slice(None))

    def trivial(self, problem: UnseenDirection) -> Array:
        return jnp.zeros(len(_COUNTS))

    def condition(self, problem: UnseenDirection) -> Array:
        """The condition number: sections agree at the tokens of a pair up to the rounding of logits.

        Coefficients are at most |f| / (2 sqrt(ridge)).
        """
        logits = jnp.abs(jnp.log(problem.sections)).max()
        return (1 + logits) * (problem.sections.shape[1] / _RIDGE) ** 0.5 / 2


class HeadsOfFullWidthApproximate(Claim[UnseenDirection]):
    """Let a head be as wide as its tokens and have an invertible key matrix W_k. Let kappa(z, x) be its kernel for a
    query token z and a key token x, and call the functions kappa(z, .) its sections. Fit a sine along any direction by
    sums of sections. The error on held-out tokens is smaller with 12 sections than with 4, and smaller with 36 than
    with 12. The reason is that sums of exponentials exp(<w, x>) are dense in the continuous functions on every compact
    set.
    """

    title = "If an attention head is as wide as its tokens, sums of more of its kernel functions fit a sine better"
    source = Source("foundation2025", "Section 3.1, any continuous function", note="for heads of full width")
    stated = Kind.OWN
    population = FunctionsOfUnseenDirections(full=True)
    relation = Order("sections", _COUNTS)
    control = Control("more sections give a larger error", lambda sign, problem: -sign)
    controls, unexplained = _CONTROLS, _COUNT
    trials = 64
    predict = -1.0

    def measure(self, problem: UnseenDirection, key: Key[Array, ""]) -> Array:
        """Return the errors of fits to every other token, measured on the remaining tokens."""
        return _missed(problem, slice(0, None, 2), slice(1, None, 2))
