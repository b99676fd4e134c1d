"""How far the tangent kernel H of a softmax network moves if every hidden unit moves by at most R.

This theory bounds the change of H (Definition 3.6 of gu2024softmax) entry by entry. The bound on the change is
proportional to R, with a constant that depends only on the bound B on the logits. The theory assumes inputs in the unit
ball, normal weights, signs a_lr = ±1 for output l and unit r, and R < 0.01. It does not explain the constant. The
source has the constant exp(10 B), and claim `sharper_entry_perturbation` proves 21 exp(2 B). But the worst moves found
here change an entry by only 2 R. The theory also does not explain why training would move units in the worst direction.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Kind, Limit, Rate, Source
from lemmata.engine.problems.random_units import DELTA, RandomLayers, RandomUnits
from lemmata.subjects.softmax_training._moved_units import (
    NoisyLayers,
    NoisyUnits,
    drawn_kernel,
    drawn_problem,
    kernel_change,
)

from ._units import READING

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

_RADII = tuple(0.008 / 2**k for k in reversed(range(5)))
_WIDTHS = (64.0, 512.0, 4096.0)
# There are at least two outputs. At equal shares and balanced signs, no move changes the kernel of one output to first
# order.
_LAYERS = RandomLayers(radius=1e-4, outputs=2)
_LOOSE = "the bound's power of exp(B) is at least 7.4, but a factor 1 is enough, so no control is close to the bound"


@jax.jit
def _changes(x: Array, sign: Array, weight: Array, changes: Array) -> Array:
    return jax.vmap(lambda change: kernel_change(x, sign, weight, change))(changes)


def changes_of_kernel(problem: RandomUnits, key: Key[Array, ""]) -> Float[Array, "c k n k n"]:
    """Return the change of H under each of several moves of the units, random ones and ones that change H much.

    Args:
        problem: the inputs, the sizes of the layer and how far its units move.
        key: the random key for the units and the random moves.
    """
    sign, weight, changes = drawn_problem(problem, key)
    return _changes(problem.x, sign, weight, changes)


def largest_change(problem: RandomUnits) -> Array:
    """Return a bound on the change of an entry of H: twice a bound on the size of the entry.

    The size is at most 4 m, and at most 4 exp(2B + 2R) if the logits are at most B + R.
    """
    return 8 * jnp.minimum(problem.width, jnp.exp(2 * problem.bound + 2 * problem.radius))


class EntryPerturbation(Claim[RandomUnits]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network of m hidden units. Its signs are
    a_lr = ±1, and its weights are w_r ~ N(0, sigma² I), r = 1, ..., m. Let every unit move by at most R < 0.01, and
    let W~ and W be the weights before and after the move. Let x_1, ..., x_n be inputs in the unit ball. Let delta be
    the failure probability. With probability at least 1 - delta, every entry of the tangent kernel H, an (n k, n k)
    matrix, changes by at most

        R exp(10 B),   where B = max(10 sigma sqrt(log(n k / delta)), 1).

    The bound is true for every B, as `SharperEntryPerturbation` shows. The source proves it by adding five bounds, but
    their sum is below R exp(10 B) only if B is at least 2.7745 (`SumOfTerms`). The trivial bound is the smaller of 8 m
    and 8 exp(2B + 2R). For R near 0.01 and every B >= 1, the bound R exp(10 B) is not below the trivial bound. The
    default R is therefore 0.0001.
    """

    title = "If each weight vector moves by at most R, a softmax tangent kernel entry changes by at most R exp(10B)"
    source = Source("gu2024softmax", "Lemma B.2, part 1")
    population = _LAYERS
    relation = AtMost(delta=DELTA)
    control = Control(
        "every entry changes by at most 1.8 R", lambda bound, problem: jnp.asarray(1.8 * problem.radius), loose=_LOOSE
    )
    controls = "the change of an entry of the tangent kernel"
    unexplained = "the factor exp(10 B): about 2 is measured, and 21 exp(2 B) is proved"
    reading = READING
    traced = False
    of_data = False

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius * jnp.exp(10 * problem.bound)

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        return jnp.abs(changes_of_kernel(problem, key)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The largest change that the bounds on both entries allow."""
        return largest_change(problem)


class KernelPerturbation(Claim[RandomUnits]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network of m hidden units. Its signs are a_lr =
    ±1, and its weights are w_r ~ N(0, sigma² I), r = 1, ..., m. Let every unit move by at most R < 0.01, and let W~ and
    W be the weights before and after the move. Let x_1, ..., x_n be inputs in the unit ball. Let delta be the failure
    probability. With probability at least 1 - delta, the change of the tangent kernel H, an (n k, n k) matrix,
    satisfies

        |H(W) - H(W~)|_F <= R n k exp(10 B),   where B = max(10 sigma sqrt(log(n k / delta)), 1).

    The source writes nd for n k.
    """

    title = "If each weight vector moves by R, the softmax tangent kernel on n rows changes by at most R n k exp(10B)"
    source = Source("gu2024softmax", "Lemma 5.1", "Lemma B.2, part 2")
    population = _LAYERS
    relation = AtMost(delta=DELTA)
    control = Control(
        "the kernel changes by at most R sqrt(n k), without exponentials and with a smaller power of n k",
        lambda bound, problem: problem.radius * jnp.sqrt(len(problem.x) * problem.outputs),
        loose=_LOOSE,
    )
    controls = "the change of the tangent kernel in Frobenius norm"
    unexplained = "the factor exp(10 B): about 1/3 is measured, because no move changes all entries at once"
    reading = READING
    traced = False

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius * len(problem.x) * problem.outputs * jnp.exp(10 * problem.bound)

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        return jnp.sqrt(jnp.sum(changes_of_kernel(problem, key) ** 2, axis=(1, 2, 3, 4)).max())

    def trivial(self, problem: RandomUnits) -> Array:
        """The norm of the change if every entry changes as much as its bound allows."""
        return len(problem.x) * problem.outputs * largest_change(problem)


class SharperEntryPerturbation(Claim[RandomUnits]):
    """Let F_l(x) = m <a_l, softmax(W' x)>, l = 1, ..., k, be a softmax network of m hidden units. Its signs are a_lr =
    ±1, and its weights are w_r ~ N(0, sigma² I), r = 1, ..., m. Let every unit move by at most R < 0.01, and let W~ and
    W be the weights before and after the move. Let x_1, ..., x_n be inputs in the unit ball. Let delta be the failure
    probability. Suppose that the logits before the move are at most B in size. With probability at least 1 - delta,
    this holds for B = max(10 sigma sqrt(log(n k / delta)), 1). Then every entry of the tangent kernel H, an (n k, n k)
    matrix, changes by at most

        21 R exp(2 B).

    For B >= 1 this bound is below R exp(10 B), so it proves Lemma 5.1 of the source.
    """

    # Put c_r = <v_lr, S_i> = a_lr - <a_l, S_i>, |c_r| <= 2, and q_r the same of the other output at x_j. Logits move by
    # at most R. So shares change by factors between exp(-2R) and exp(2R), and products S_ir S_jr between exp(-4R) and
    # exp(4R). Also |<a_l, S_i - S~_i>| <= 2 tanh(R/2) <= R, so |c_r q_r - c~_r q~_r| <= 4 R. Therefore |H - H~| <= m
    # sum_r (4 R S_ir S_jr + 4 |S_ir S_jr - S~_ir S~_jr|) <= (4 R exp(4R) + 4 (exp(4R) - 1)) m sum_r S~_ir S~_jr. Here m
    # sum_r S~_ir S~_jr <= m max_r S~_ir <= exp(2 B), and the bracket is at most 20.5 R for R <= 0.01.
    title = "If each weight vector moves by at most R, a softmax tangent kernel entry changes by at most 21 R exp(2B)"
    source = Source("gu2024softmax", "Lemma 5.1", note="with a better constant")
    stated = Kind.OWN
    population = _LAYERS
    relation = AtMost(delta=DELTA)
    control = Control(
        "every entry changes by at most 1.8 R", lambda bound, problem: jnp.asarray(1.8 * problem.radius), loose=_LOOSE
    )
    controls = "the change of an entry of the tangent kernel"
    unexplained = "the factor between 21 exp(2 B) R and the measured change of about 2 R"
    reading = READING
    traced = False
    of_data = False

    def predict(self, problem: RandomUnits) -> Array:
        return 21 * problem.radius * jnp.exp(2 * problem.bound)

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        return jnp.abs(changes_of_kernel(problem, key)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The largest change that the bounds on both entries allow."""
        return largest_change(problem)


class PerturbationLinearInRadius(Claim[RandomUnits]):
    """Let a softmax network have weights w_r ~ N(0, sigma² I), r = 1, ..., m. Let each unit move by R, in the direction
    that changes the tangent kernel H most. Let W~ and W be the weights before and after the move. Then |H(W) - H(W~)|_F
    ~ C R^1. So the bound in Lemma 5.1 of the source, which is linear in R, has the right order.
    """

    title = "The largest change of the softmax tangent kernel is linear in the distance R by which weight vectors move"
    source = Source("gu2024softmax", "Lemma 5.1", note="the order in R")
    stated = Kind.OWN
    population = _LAYERS
    # The second order is at most about 4 R of the first, since exp(4 R) is the factor of a product of two shares.
    # Between R = 0.0005 and 0.008, it bends the slope by less than 4 * 0.0075 / log(16) = 0.011.
    relation = Rate(along="R", rungs=_RADII, margin=0.02, resolution=0.05)
    control = Control("the change grows as R^1.1", lambda exponent, problem: 1.1 * exponent)
    controls = "the order in R of the change of the tangent kernel"
    unexplained = "the constant"
    trials = 64
    traced = False
    of_data = False
    predict = 1.0

    def hypotheses(self, problem: RandomUnits) -> list[Hypothesis]:
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        return [Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0")]

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """The Frobenius norm of the change of H if units move in the direction in which H changes most."""
        sign, weight, changes = drawn_kernel(problem.x, problem.outputs, problem.width, problem.sigma, _RADII[0], key)
        scaled = changes[-1] * jnp.asarray(_RADII)[:, None, None] / _RADII[0]
        return jnp.sqrt(jnp.sum(_changes(problem.x, sign, weight, scaled) ** 2, axis=(1, 2, 3, 4)))


@jax.jit
def _mean_changes(x: Array, sigma: Array, rho: Array, key: Key[Array, ""]) -> Array:
    d, drawn = x.shape[1], jax.random.normal(key, (2 * x.shape[1] + 1, int(sum(_WIDTHS))))

    def change(start: int, m: int):
        # The symmetric initialisation: units in pairs of equal weights and opposite signs.
        weight = jnp.repeat(sigma * drawn[:d, start : start + m // 2], 2, axis=1)
        half = jnp.sign(drawn[-1, start : start + m // 2])
        sign = jnp.stack([half, -half], axis=1).reshape(1, m)
        noise = rho * drawn[d:-1, start : start + m]
        # Both signs of the noise have the same distribution, so the first order cancels in their mean.
        changes = [kernel_change(x, sign, weight, move)[0, :, 0] for move in (noise, -noise)]
        return (jnp.trace(changes[0]) + jnp.trace(changes[1])) / (2 * len(x))

    return jnp.stack([change(int(sum(_WIDTHS[:k])), int(m)) for k, m in enumerate(_WIDTHS)])


class MeanPerturbationNotZero(Claim[NoisyUnits]):
    """Let the weights W of a softmax network of width m have standard deviation sigma, and add independent noise N(0,
    rho² I), with rho > 0, to every unit. Let H be the network's tangent kernel. Within one output and at inputs x and
    y, the mean change E[H(W + noise) - H(W)] tends, as m grows, to

        <x, y> ( exp((sigma² + rho²) <x, y>) - exp(sigma² <x, y>) ).

    Unless <x, y> = 0, this limit is not 0. The source only says that the expectation is not 0 in general.
    """

    title = "Noise with mean 0 in the weights changes the mean softmax tangent kernel"
    source = Source("gu2024softmax", "Remark 5.2")
    population = NoisyLayers()
    # For sigma = rho = 1/2 and |x| = 1, the denominators and <a, S> cause a bias of -5/m in an entry. This follows from
    # the delta method, because the units of a pair share the lognormal moments of w. This is 0.0012 at the last width.
    relation = Limit(along="m", rungs=_WIDTHS, margin=0.01, resolution=0.03, relative=False)
    control = Control(
        "the limit is three quarters of the stated one, as if a part of the noise cancelled",
        lambda change, problem: 0.75 * change,
    )
    controls = "the mean change of the kernel's diagonal under random moves of the units"
    unexplained = "moves that depend on the weights, such as those of training"
    trials = 64
    traced = False

    def predict(self, problem: NoisyUnits) -> Array:
        """The mean of the limit <x, x> (exp((sigma² + rho²) |x|²) - exp(sigma² |x|²)) over the inputs."""
        squares = jnp.sum(problem.x**2, axis=1)
        after = jnp.exp((problem.sigma**2 + problem.rho**2) * squares)
        return jnp.mean(squares * (after - jnp.exp(problem.sigma**2 * squares)))

    def measure(self, problem: NoisyUnits, key: Key[Array, ""]) -> Array:
        """The change of the diagonal entries of H, averaged over the inputs, in one network of each width."""
        return _mean_changes(problem.x, problem.sigma, problem.rho, key)
