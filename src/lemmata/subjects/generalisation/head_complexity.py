"""The Rademacher complexity of a layer of attention heads, and its growth with the number of heads.

This theory is about linear readouts of fixed heads. Their complexity is the mean length of signed sums of the heads'
outputs. Its growth depends on which norm is bounded. The theory assumes heads that do not depend on the sample, and
readouts of bounded norm. It does not explain heads that are trained.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Kind, Rate, Source
from lemmata.subjects.generalisation._sequence_classes import HeadOutputs, RandomHeads

ABOUT = {"tool": "empirical processes", "architecture": "attention", "object": "generalisation"}

_SIGNS = 128
_HEADS = (1.0, 2.0, 4.0, 8.0, 16.0)


def _signed_lengths(problem: HeadOutputs, key: Key[Array, ""]) -> Float[Array, "m h"]:
    """Return (B/n) |sum_i s_i A_h(x_i)| for every head h, with one row for each draw of signs s."""
    n = problem.outputs.shape[1]
    signs = jax.random.rademacher(key, (_SIGNS, n), float)
    return problem.radius / n * jnp.linalg.norm(jnp.einsum("mi,hip->mhp", signs, problem.outputs), axis=2)


def _of_first_heads(lengths: Float[Array, "m h"], power: int = 1) -> Float[Array, " r"]:
    """Return, for each number of heads, the mean over draws of (sum over the first heads of
    length^power)^(1/power).
    """
    sums = jnp.cumsum(lengths**power, axis=1) ** (1 / power)
    return sums.mean(axis=0)[jnp.asarray(_HEADS, int) - 1]


class HeadComplexity(Claim[HeadOutputs]):
    """Let A_h(x) be the output of attention head h on a sequence x, where the heads are fixed. Consider the functions
    sum_h <w_h, A_h(x)> of several heads, where the readout w_h of each head satisfies |w_h| <= B. On n sequences x_i,
    the empirical Rademacher complexity of these functions is

        sum_h (B/n) E |sum_i s_i A_h(x_i)|,

    where the s_i are independent random signs. For similar heads this complexity grows in proportion to the number of
    heads.
    """

    title = "The Rademacher complexity of separately bounded attention heads is proportional to their number"
    source = Source("foundation2025", "(16)", note="with a bound for each head")
    stated = Kind.OWN
    population = RandomHeads()
    relation = Rate("h", _HEADS, margin=0.08)
    control = Control(
        "the complexity grows like the root of the number of heads", lambda exponent, problem: exponent - 0.5
    )
    controls = "the Rademacher complexity of a layer of attention heads"
    unexplained = "heads that learn the same thing, and the dependence on depth"
    trials = 96
    predict = 1.0

    def measure(self, problem: HeadOutputs, key: Key[Array, ""]) -> Array:
        """Return the mean over random signs s of the supremum of (1/n) sum_i s_i f(x_i) over the functions f."""
        return _of_first_heads(_signed_lengths(problem, key))


class JointHeadComplexity(Claim[HeadOutputs]):
    """Let A_h(x) be the output of attention head h on a sequence x, where the heads are fixed. Consider the functions
    sum_h <w_h, A_h(x)> of several heads, where the readouts w_h together satisfy sum_h |w_h|² <= B². On n sequences
    x_i, the empirical Rademacher complexity of these functions is

        (B/n) E ( sum_h |sum_i s_i A_h(x_i)|² )^(1/2),

    where the s_i are independent random signs. For similar heads this complexity grows like the square root of the
    number of heads.
    """

    title = "The Rademacher complexity of jointly bounded attention heads grows as the square root of their number"
    source = Source("foundation2025", "(16)", note="the order in the number of heads, with a joint norm")
    population = RandomHeads()
    # the mean length of one head is up to 0.8 of its root mean square, but that of many heads is not; this changes the
    # slope by 0.05 between 1 and 16
    relation = Rate("h", _HEADS, margin=0.08)
    control = Control(
        "the complexity grows in proportion to the number of heads", lambda exponent, problem: exponent + 0.5
    )
    controls = "the Rademacher complexity of a layer of attention heads"
    unexplained = "the dependence on depth"
    trials = 96
    predict = 0.5

    def measure(self, problem: HeadOutputs, key: Key[Array, ""]) -> Array:
        """Return the mean over random signs s of the supremum of (1/n) sum_i s_i f(x_i) over the functions f."""
        return _of_first_heads(_signed_lengths(problem, key), power=2)
