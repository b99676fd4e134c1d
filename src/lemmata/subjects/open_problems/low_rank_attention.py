"""Problem 1: does descent bias attention towards low rank? It does if the matrix is a product of small factors.

This numerical test is about the matrix M = A B' that gradient descent finds for one head on fewer prompts than M has
entries. It measures the rank of M as |M|_* / |M|_F, and compares it with the rank that descent on M itself finds. The
answer depends on the parameterisation of M and on the start of descent. The test does not explain several heads and
layers, values that are trained too, or whether low rank helps on new prompts.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from lemmata.engine.claims import Claim, Control, Order, Source
from lemmata.subjects.open_problems._attention_teachers import RankOneTeachers, TaughtHead

ABOUT = {"tool": "dynamical systems", "architecture": "attention", "object": "training", "problem": 1}

_STEPS = 600
_CONTROLS = "the rank of the form that gradient descent finds for an attention head"
_UNEXPLAINED = "several heads and layers; values that are trained too; the error on new prompts"


def _descend(loss: Callable[[PyTree], Array], start: PyTree) -> PyTree:
    """Return the end of 600 gradient descent steps of size 1."""

    def step(weights: PyTree, _: None) -> tuple[PyTree, None]:
        return jax.tree.map(lambda weight, slope: weight - slope, weights, jax.grad(loss)(weights)), None

    return jax.lax.scan(step, start, None, length=_STEPS)[0]


def nuclear_rank(form: Float[Array, "p p"]) -> Float[Array, ""]:
    """Return |M|_* / |M|_F, which is 1 for rank one, and at most the square root of the rank.

    >>> round(float(nuclear_rank(jnp.diag(jnp.array([1.0, 1.0, 0.0])))), 12)
    1.414213562373

    Args:
        form: the matrix M whose rank is measured.
    """
    values = jnp.linalg.svd(form, compute_uv=False)
    return values.sum() / jnp.sqrt(jnp.sum(values**2))


def _from_factors(problem: TaughtHead, key: Key[Array, ""], scale: float | Float[Array, ""]) -> Float[Array, "p p"]:
    """Return A B' after descent on both factors, which start with normal entries of this standard deviation."""
    start = scale * jax.random.normal(key, (2, *problem.teacher.shape))
    left, right = _descend(lambda pair: problem.loss(pair[0] @ pair[1].T), start)
    return left @ right.T


class SmallFactorsFindLowerRank(Claim[TaughtHead]):
    """Let an attention head with a bilinear form of rank one answer some prompts. Let there be fewer prompts than
    entries of the form. Fit the form M of another head to these answers by 600 steps of gradient descent with step size
    1, in two ways. The first way (case 0) trains M itself, starting from 0. The second way (case 1) trains the factors
    of M = A B', starting from normal entries of standard deviation 1/1000. Training the factors finds a form of lower
    rank than training M: the mean of |M|_* / |M|_F is smaller in case 1 than in case 0. Here |M|_* is the nuclear norm
    and |M|_F the Frobenius norm.
    """

    title = "Gradient descent on small factors of an attention head finds a lower rank than descent on its full matrix"
    source = Source("foundation2025", "Section 7.1", note="for one head, against descent on M itself")
    population = RankOneTeachers()
    relation = Order("factors", (0.0, 1.0))
    control = Control("the rank is higher", lambda sign, problem: -sign)
    controls, unexplained = _CONTROLS, _UNEXPLAINED
    trials = 12
    predict = -1.0

    def measure(self, problem: TaughtHead, key: Key[Array, ""]) -> Array:
        whole = _descend(problem.loss, jnp.zeros_like(problem.teacher))
        return jnp.stack([nuclear_rank(whole), nuclear_rank(_from_factors(problem, key, 1e-3))])


class LargerFactorsFindHigherRank(Claim[TaughtHead]):
    """Let an attention head with a bilinear form of rank one answer some prompts. Let there be fewer prompts than
    entries of the form. Fit the form M = A B' of another head to these answers by 600 steps of gradient descent with
    step size 1 on the factors. The larger the initial factors are, the higher is the rank of the form that gradient
    descent finds. That is, the mean of |M|_* / |M|_F rises as the standard deviation of the initial factors rises from
    1/1000 to 3/100 and to 1/5. Here |M|_* is the nuclear norm and |M|_F the Frobenius norm.
    """

    title = "The larger the initial factors of an attention head, the higher the rank that gradient descent finds"
    source = Source("foundation2025", "Section 7.1", note="for one head, by the size of its factors")
    population = RankOneTeachers()
    relation = Order("standard deviation", (1e-3, 0.03, 0.2))
    control = Control("the rank is lower", lambda sign, problem: -sign)
    controls, unexplained = _CONTROLS, _UNEXPLAINED
    trials = 12
    predict = 1.0

    def measure(self, problem: TaughtHead, key: Key[Array, ""]) -> Array:
        scales = jnp.asarray(self.relation.rungs)
        return jax.vmap(lambda scale: nuclear_rank(_from_factors(problem, key, scale)))(scales)
