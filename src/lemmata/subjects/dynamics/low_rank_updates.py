"""Fine-tuning in a random subspace. The subspace preserves the kernel of descent if its dimension is large enough.

Parameters move as theta = theta_0 + A z. The entries of A are independent N(0, 1/k), and z has dimension k. Let g and
g' be the gradients of an output in theta at two rows. The gradients in z are A'g and A'g', and <A'g, A'g'> has the mean
<g, g'>, the kernel of descent in theta. So a subspace whose dimension is far smaller than the number of parameters has
nearly the same kernel of descent (Johnson and Lindenstrauss). Its dimension need not be much larger than the logarithm
of the number of rows. This theory is about the kernel at the start. It does not say how training continues if the
kernel moves. It is about gradient descent only: a rotation does not preserve signs, and so not the kernel of Adam.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.dynamics import rank_needed
from lemmata.subjects.dynamics._gradient_rows import GradientRows, UnevenGradients

ABOUT = {"tool": "random matrices", "architecture": "any", "object": "kernel"}

_ERROR, _DELTA = 0.5, 0.1


class SubspaceKeepsTheKernel(Claim[GradientRows]):
    """Let g_1, ..., g_N be gradients with norms of at most c. Their kernel of gradient descent is K_ij = <g_i, g_j>.
    Let A be a matrix with k columns and independent entries N(0, 1/k). After the projection by A, the kernel is K^A_ij
    = <A'g_i, A'g_j>. Let e = 1/2. All |K^A_ij - K_ij| are at most e c², except with probability 4 N² exp(-(e² - e³) k /
    4). The test uses the smallest k for which this probability is at most 1/10.
    """

    title = "Projecting the gradients onto a random subspace nearly preserves the kernel of gradient descent"
    source = Source("malladi2023kernel", "Abstract, subspaces", note="with explicit constants")
    population = UnevenGradients()
    relation = AtMost(delta=_DELTA)
    control = Control("the differences are at most e c²/3", lambda bound, problem: bound / 3)
    controls = "the kernel of fine-tuning in a random subspace"
    unexplained = "the dimension that is enough in practice, which is about a fifth of k"
    reading = "The statement on low-rank updates is taken in its known form, with the union bound over 4 N² events"

    def predict(self, problem: GradientRows) -> Array:
        return _ERROR * jnp.sum(problem.gradients**2, axis=1).max()

    def measure(self, problem: GradientRows, key: Key[Array, ""]) -> Array:
        k = rank_needed(len(problem.gradients), _ERROR, _DELTA)
        directions = jax.random.normal(key, (problem.gradients.shape[1], k)) / math.sqrt(k)
        seen = problem.gradients @ directions
        return jnp.abs(seen @ seen.T - problem.kernel()).max()

    def trivial(self, problem: GradientRows) -> Array:
        """Return c², which bounds the error if the kernel is replaced by 0."""
        return jnp.sum(problem.gradients**2, axis=1).max()
