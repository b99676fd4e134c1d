"""Fine-tuning in a random subspace: which kernel it keeps, how large it must be, and which kernel it loses.

Parameters move as theta = theta_0 + A z, with A's entries independent N(0, 1/k) and z of dimension k. The gradient in z
is A'g, and <A'g, A'g'> has the mean <g, g'>: a subspace far smaller than the number of parameters, and not much larger
than the logarithm of the number of rows, has nearly the kernel of descent (Johnson and Lindenstrauss). This theory
controls the kernel at the start. It leaves open how training goes on where the kernel moves, and it speaks of descent:
signs do not pass through a rotation.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, EqualInMean, Kind, Source, Status
from lemmata.dynamics import fine_tuning_kernels, in_subspace, low_rank_adapters, rank_needed
from lemmata.problems._gradient_rows import GradientRows, TunedNetwork, TunedNetworks, UnevenGradients, output

_ERROR, _DELTA = 0.5, 0.1
_DIMENSION, _RANK = 256, 8


class SubspaceKeepsTheKernel(Claim[GradientRows]):
    """N gradients have norms of at most c, K_ij = <g_i, g_j>, and K^A_ij = <A'g_i, A'g_j> with A's entries independent
    N(0, 1/k). But for the probability 4 N² exp(-(e² - e³) k / 4), all |K^A_ij - K_ij| are at most e c². Here e = 1/2,
    and k is the least dimension for which that probability is at most 1/10.
    """

    title = "A random subspace keeps the kernel of descent"
    source = Source("malladi2023kernel", "Abstract, subspaces", note="with constants")
    population = UnevenGradients(rows=6)
    relation = AtMost(delta=_DELTA)
    control = Control("at most e c²/3", lambda bound, problem: bound / 3)
    controls = "the kernel of fine-tuning in a random subspace"
    unexplained = "the dimension that is enough, which is about a sixth of this"
    reading = "the statement on low-rank updates as it is known, with the union over 4 N² events"

    def predict(self, problem: GradientRows) -> Array:
        return _ERROR * jnp.sum(problem.gradients**2, axis=1).max()

    def measure(self, problem: GradientRows, key: Key[Array, ""]) -> Array:
        k = rank_needed(len(problem.gradients), _ERROR, _DELTA)
        directions = jax.random.normal(key, (problem.gradients.shape[1], k)) / math.sqrt(k)
        seen = problem.gradients @ directions
        return jnp.abs(seen @ seen.T - problem.kernel()).max()

    def trivial(self, problem: GradientRows) -> Array:
        """0 in place of the kernel is off by c² at most."""
        return jnp.sum(problem.gradients**2, axis=1).max()


class AdaptersKeepTheKernel(Claim[TunedNetwork]):
    """To every matrix of a network D U is added, D with independent entries N(0, 1/r) and r columns, U = 0; both are
    trained. At the start their kernel of descent has, over D, the mean of the kernel of all matrices: the same trace,
    and the same sum of all entries.
    """

    title = "Low-rank additions have the kernel of full matrices on average"
    source = Source("malladi2023kernel", "Abstract, subspaces", note="for products of two factors")
    stated = Kind.STEP
    population = TunedNetworks()
    relation = EqualInMean(resolution=0.1)
    control = Control("half of it", lambda value, problem: value / 2)
    controls = "the kernel of low-rank fine-tuning at its start"
    unexplained = "how it moves once U is not 0 and D moves, too"
    reading = "both factors are trained, one starts at 0 (LoRA)"
    trials = 384

    def predict(self, problem: TunedNetwork) -> Array:
        """The gradients in closed form."""
        first, second = problem.gradients()
        rows = jnp.concatenate([first.reshape(len(first), -1), second], axis=1)
        kernel = rows @ rows.T
        return jnp.stack([jnp.trace(kernel), kernel.sum()])

    def measure(self, problem: TunedNetwork, key: Key[Array, ""]) -> Array:
        added, start = low_rank_adapters(output, problem.params, key, _RANK)
        kernel = fine_tuning_kernels(added, start, problem.x).sgd
        return jnp.stack([jnp.trace(kernel), kernel.sum()])


def _adam_in_subspace(problem: GradientRows, key: Key[Array, ""]) -> Float[Array, ""]:
    """<A'g, sign A'g'>/sqrt(k) for the first two gradients."""
    size = problem.gradients.shape[1]
    moved, start = in_subspace(jnp.vdot, jnp.zeros(size), key, _DIMENSION)
    return fine_tuning_kernels(moved, start, problem.gradients).asymmetric[0, 1] / math.sqrt(_DIMENSION)


class SubspaceKeepsAdamsKernelAsPrinted(Claim[GradientRows]):
    """As read for Adam, too: a random subspace keeps the kernel K_A = <g, sign g'> of Adam's first steps up to a factor
    for each g', that is (by the value at g = g')

        E <A'g, sign A'g'> = sqrt(2 k/pi) |g'| <g, sign g'> / |g'|_1,

    with A's entries independent N(0, 1/k). It does not where coordinates of gradients differ in size.
    """

    title = "A random subspace keeps the kernel of Adam"
    source = Source("malladi2023kernel", "Abstract, subspaces", note="read for Adam")
    stated = Kind.STEP
    population = UnevenGradients()
    relation = EqualInMean(resolution=0.05)
    control = Control("half of it", lambda value, problem: value / 2)
    controls = "the kernel of Adam in a random subspace"
    unexplained = "which other subspaces keep it: those along the axes do"
    reading = "the kernel view of the abstract has a kernel for Adam, and what is said of subspaces names no optimiser"
    expected = Status.REFUTED
    trials = 192

    def predict(self, problem: GradientRows) -> Array:
        first, second = problem.gradients[:2]
        return math.sqrt(2 / math.pi) * _norm(second) * jnp.vdot(first, jnp.sign(second)) / jnp.abs(second).sum()

    def measure(self, problem: GradientRows, key: Key[Array, ""]) -> Array:
        return _adam_in_subspace(problem, key)


class AdamInSubspaceDescends(Claim[GradientRows]):
    """In a random subspace of dimension k the kernel of Adam's first steps is that of descent, up to a factor for each
    g': with A's entries independent N(0, 1/k),

        E <A'g, sign A'g'> = sqrt(2 k/pi) <g, g'> / |g'|.
    """

    title = "In a random subspace Adam has the kernel of descent"
    source = Source("malladi2023kernel", "Abstract, subspaces", note="corrected for Adam")
    population = UnevenGradients()
    relation = EqualInMean(resolution=0.05)
    control = Control("without 2/pi under the root", lambda value, problem: math.sqrt(math.pi / 2) * value)
    controls = "the kernel of Adam in a random subspace"
    unexplained = "whether what Adam loses there matters"
    corrects = SubspaceKeepsAdamsKernelAsPrinted
    trials = 192

    def predict(self, problem: GradientRows) -> Array:
        first, second = problem.gradients[:2]
        return math.sqrt(2 / math.pi) * jnp.vdot(first, second) / _norm(second)

    def measure(self, problem: GradientRows, key: Key[Array, ""]) -> Array:
        return _adam_in_subspace(problem, key)


def _norm(gradient: Float[Array, " P"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum(gradient**2))
