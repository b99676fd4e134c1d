"""Bounds on how far the softmax tangent kernel moves with its units. They contain no exponentials of logits.

This theory bounds the change of the tangent kernel H (Definition 3.6 of gu2024softmax) if every unit moves by at most
R < 0.01. The layer has m units with shares S_ir = softmax(W' x_i)_r at n inputs, and signs a_lr for k outputs l. For an
entry, the bound is sharp to first order in R. With probability 1 - delta, the change of the whole kernel is at most
17 R n k exp(sigma²), where sigma is the standard deviation of the weights. Lemma 5.1 has exp(10 B) instead, where
B = max(10 sigma sqrt(log(n k / delta)), 1). The lemma's proof uses a bound on the largest of all logits, although only
a mean over units is needed. The theory assumes units in pairs with equal weights and opposite signs. It does not
explain why the moves in training change H less than the worst moves.

Proof. Let unit r move by v_r. Logits then change by delta_ir = <v_r, x_i>. So S_ir becomes S_ir exp(delta_ir)/Z_i with
exp(-R) <= Z_i <= exp(R), and eps_i = <a_l, S_i> grows from 0 to at most 2 tanh(R/2) <= R. Consider the entry between
output l at x_i and output c at x_j. Let p_r = S_ir S_jr, let P be their sum, and let p' be p after the move, so
|p' - p| <= (exp(4R) - 1) p. With s_r = a_lr a_cr, the entry changes by m <x_i, x_j> times

    sum (p' - p) s - eps_i sum (p' - p) a_c - eps_j sum (p' - p) a_l + eps_i eps_j sum p',

because sum_r p_r a_lr = 0. Here all sums run over units. The size of this expression is at most
P ((exp(4R) - 1)(1 + 2R) + R² exp(4R)) <= 4.18 R P. Its linear part is sum_r <v_r, beta_r x_i + gamma_r x_j>, where
beta_r = p_r s_r - (sum p s) S_ir and gamma_r = p_r s_r - (sum p s) S_jr. As log Z_i is within R²/2 of <S_i, delta_i>,
the sum of all remainders is at most 19 R² P.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Kind, Limit, Source
from lemmata.engine.problems.random_units import DELTA
from lemmata.engine.problems.sampled import draws, paired_signs
from lemmata.engine.problems.softmax_kernels import KernelPoints, SpherePoints
from lemmata.networks import SoftmaxNetwork
from lemmata.subjects.softmax_training._moved_units import kernel_change, kernel_moves, steepest
from lemmata.subjects.softmax_training._paired_units import PairedLayers, PairedUnits

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

_SOURCE = Source("gu2024softmax", "Lemma 5.1", "Lemma B.2, part 1", note="without exp(B); not in the source")
_ENTRY = "the change of an entry of the tangent kernel"
_ENTRIES = ((0, 0, -1, 0), (0, 0, 0, 0), (0, 0, -1, 1), (0, 0, 0, 1))  # l, i, l', j
_WIDTHS = (256.0, 2048.0, 16384.0)


def first_order(problem: PairedUnits) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
    """Return |<x_i, x_j>| m sum_r |beta_r x_i + gamma_r x_j| and |<x_i, x_j>| m <S_i, S_j> for the tested entries.

    The first number is the largest change of an entry to first order, per unit of R. The second bounds its size.

    Args:
        problem: the layer.
    """
    shares, x, linear, mass = problem.shares, problem.x, [], []
    for out, i, other, j in _ENTRIES:
        product = shares[i] * shares[j]
        signed = product * problem.sign[out] * problem.sign[other]
        beta, gamma = (signed - signed.sum() * shares[row] for row in (i, j))
        size = jnp.linalg.norm(beta * x[i][:, None] + gamma * x[j][:, None], axis=0).sum()
        factor = jnp.abs(x[i] @ x[j]) * len(product)
        linear.append(factor * size)
        mass.append(factor * product.sum())
    return jnp.stack(linear), jnp.stack(mass)


def largest_changes(problem: PairedUnits) -> Float[Array, " e"]:
    """Return the largest change found for each tested entry: move units along and against the gradient of the entry.

    Args:
        problem: the layer.
    """

    def found(out: Array, i: Array, other: Array, j: Array, direction: float) -> Array:
        x, sign = problem.x[jnp.stack([i, j])], problem.sign[jnp.stack([out, other])]
        change = lambda move: direction * kernel_change(x, sign, problem.weight, move)[0, 0, 1, 1]
        return jnp.abs(change(steepest(change, jnp.zeros_like(problem.weight), problem.radius, 3)))

    rows = jnp.asarray(_ENTRIES).T
    over = jax.vmap(found, (0, 0, 0, 0, None))
    return jnp.maximum(*(over(rows[0], rows[1], rows[2], rows[3], direction) for direction in (1.0, -1.0)))


def largest_sum(problem: PairedUnits, mass: Array) -> Array:
    """Return an upper bound on the change of an entry: |H(W~)| + |H(W)| <= (1 + (1 + R)² exp(4R)) times `mass`.

    Args:
        problem: the layer.
        mass: the number |<x_i, x_j>| m <S_i, S_j>, which bounds the size of the entry before the move.
    """
    return mass * (1 + (1 + problem.radius) ** 2 * jnp.exp(4 * problem.radius))


class WorstChangeOfEntry(Claim[PairedUnits]):
    """Let a softmax network have hidden units in pairs with equal weights and opposite signs a_lr = ±1, and let every
    unit move by at most R < 0.01. Let the inputs x_i lie in the unit ball, and let S_ir be the shares of the m units
    before the move. Let p_r = S_ir S_jr, s_r = a_lr a_l'r, beta_r = p_r s_r - (sum p s) S_ir and gamma_r = p_r s_r -
    (sum p s) S_jr, where sum p s runs over all units. The entry of the tangent kernel H between output l at x_i and
    output l' at x_j changes by at most

        |<x_i, x_j>| m (R sum_r |beta_r x_i + gamma_r x_j| + 19 R² <S_i, S_j>).
    """

    title = "Softmax tangent kernel entries change by at most a bound that is sharp to first order in the weights' move"
    source = _SOURCE
    stated = Kind.OWN
    population = PairedLayers()
    relation = AtMost()
    control = Control(
        "the change is at most 0.97 of the first-order term",
        lambda v, problem: 0.97 * problem.radius * _linear(problem),
    )
    controls = _ENTRY
    unexplained = "how the units move in training"

    def predict(self, problem: PairedUnits) -> Array:
        linear, mass = first_order(problem)
        return problem.radius * linear + 19 * problem.radius**2 * mass

    def measure(self, problem: PairedUnits, key: Key[Array, ""]) -> Array:
        return largest_changes(problem)

    def trivial(self, problem: PairedUnits) -> Array:
        """The largest change that the bounds on the entry before and after the move allow."""
        return largest_sum(problem, first_order(problem)[1])


class WorstChangeAttained(Claim[PairedUnits]):
    """Let a softmax network have hidden units in pairs with equal weights and opposite signs a_lr = ±1, and let every
    unit move by at most R < 0.01. Let the inputs x_i lie in the unit ball, and let S_ir be the shares of the m units
    before the move. Let p_r = S_ir S_jr, s_r = a_lr a_l'r, beta_r = p_r s_r - (sum p s) S_ir and gamma_r = p_r s_r -
    (sum p s) S_jr, where sum p s runs over all units. Some moves of length R change the entry of the tangent kernel H
    between output l at x_i and output l' at x_j by at least

        |<x_i, x_j>| m (R sum_r |beta_r x_i + gamma_r x_j| - 19 R² <S_i, S_j>).

    These are moves along beta_r x_i + gamma_r x_j.
    """

    title = "The worst change of an entry of the softmax tangent kernel is attained to first order in the weights' move"
    source = _SOURCE
    stated = Kind.OWN
    population = PairedLayers()
    relation = AtLeast()
    control = Control(
        "the change is at least 1.05 of the first-order term, with the remainder added",
        lambda v, problem: (
            v + 0.05 * problem.radius * _linear(problem) + 38 * problem.radius**2 * first_order(problem)[1]
        ),
    )
    controls = _ENTRY
    unexplained = "how the units move in training"

    def predict(self, problem: PairedUnits) -> Array:
        linear, mass = first_order(problem)
        return problem.radius * linear - 19 * problem.radius**2 * mass

    def measure(self, problem: PairedUnits, key: Key[Array, ""]) -> Array:
        return largest_changes(problem)

    def trivial(self, problem: PairedUnits) -> Array:
        """The lower bound 0, no change."""
        return jnp.zeros(len(_ENTRIES))


def _linear(problem: PairedUnits) -> Array:
    return first_order(problem)[0]


class ChangeOfEveryEntry(Claim[PairedUnits]):
    """Let a softmax network have hidden units in pairs with equal weights and opposite signs a_lr = ±1, and let every
    unit move by at most R < 0.01. Let the inputs x_i lie in the unit ball, and let S_i be the vector of the shares of
    the m units at x_i before the move. Every entry of the tangent kernel H between x_i and x_j changes by at most

        4.2 R |<x_i, x_j>| m <S_i, S_j>.

    The bound holds with certainty, and it needs no bound on the logits.
    """

    title = "If weights move by R per unit, a softmax tangent kernel entry changes by at most 4.2 R times its scale"
    source = _SOURCE
    stated = Kind.OWN
    population = PairedLayers()
    relation = AtMost()
    control = Control(
        "the change is at most a third of the bound",
        lambda bound, problem: bound / 3,
        loose=(
            "entries of different outputs at equal inputs change with a constant of 2 in place of 4.2; other entries "
            "with less than 1.4"
        ),
    )
    controls = _ENTRY
    unexplained = "the constant 4.2: the largest found is 2, for different outputs at equal inputs"

    def predict(self, problem: PairedUnits) -> Array:
        return 4.2 * problem.radius * first_order(problem)[1]

    def measure(self, problem: PairedUnits, key: Key[Array, ""]) -> Array:
        return largest_changes(problem)

    def trivial(self, problem: PairedUnits) -> Array:
        """The largest change that the bounds on the entry before and after the move allow."""
        return largest_sum(problem, first_order(problem)[1])


def largest_norm(problem: PairedUnits, key: Key[Array, ""]) -> Float[Array, ""]:
    """Return the largest |H(W) - H(W~)|_F over random moves and moves that change H strongly.

    Args:
        problem: the layer.
        key: the key that draws the moves.
    """
    drawn = jax.random.normal(key, problem.weight.shape)
    changes = kernel_moves(problem.x, problem.sign, problem.weight, problem.radius, drawn)
    norm = lambda change: jnp.sum(kernel_change(problem.x, problem.sign, problem.weight, change) ** 2)
    return jnp.sqrt(jax.lax.map(norm, changes).max())


class ChangeOfKernel(Claim[PairedUnits]):
    """Let a softmax network have hidden units in pairs with equal weights and opposite signs a_lr = ±1, and let every
    unit move by at most R < 0.01. Let the inputs x_i lie in the unit ball, and let S_i be the vector of the shares of
    the m units at x_i before the move. Let the network have k outputs and n inputs, and let W~ and W be the weights
    before and after the move. The change of the (nk, nk) tangent kernel H satisfies

        |H(W) - H(W~)|_F <= 4.2 R k ( sum_ij <x_i, x_j>² (m <S_i, S_j>)² )^(1/2).
    """

    title = "If weights move by at most R per unit, the softmax tangent kernel changes by at most 4.2 R times its scale"
    source = Source("gu2024softmax", "Lemma 5.1", "Lemma B.2, part 2", note="without exp(B); not in the source")
    stated = Kind.OWN
    population = PairedLayers(sigma=1.0)
    relation = AtMost()
    control = Control("the change is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "the change of the tangent kernel in Frobenius norm"
    unexplained = "why no move is worst for all entries at once"

    def predict(self, problem: PairedUnits) -> Array:
        return 4.2 * problem.radius * problem.sign.shape[0] * jnp.linalg.norm(problem.mass)

    def measure(self, problem: PairedUnits, key: Key[Array, ""]) -> Array:
        return largest_norm(problem, key)

    def trivial(self, problem: PairedUnits) -> Array:
        """The largest change that the bounds on the kernel before and after the move allow."""
        return problem.sign.shape[0] * largest_sum(problem, jnp.linalg.norm(problem.mass))


class KernelPerturbationWithoutExponentials(Claim[PairedUnits]):
    """Let a softmax network of k outputs have m hidden units with weights N(0, sigma² I) in pairs. Let every unit move
    by at most R < 0.01. The moves may depend on the weights. Let W~ and W be the weights before and after the move. Let
    the n inputs lie in the unit ball, let delta be the failure probability, and let the width be

        m >= max(4 n exp(4 sigma²)/delta, 47 exp(sigma²) log(2n/delta)).

    With probability at least 1 - delta, |H(W) - H(W~)|_F <= 17 R n k exp(sigma²), where H is the tangent kernel.

    For the proof, let S_i be the shares at x_i. Then m <S_i, S_i> is a mean of exp(2z) divided by the square of a mean
    of exp(z), where z are the normal logits of the units. By Chebyshev's inequality, the first mean is at most twice
    its expectation. By a bound on the lower tail of positive variables, the second mean is at least 1/sqrt(2) times its
    expectation. Claim `ChangeOfKernel`, which bounds the change of the kernel by the numbers m <S_i, S_j>, then gives
    the result.
    """

    title = "If weights move by at most R, the softmax tangent kernel on n rows changes by at most 17 R n k exp(sigma²)"
    source = Source("gu2024softmax", "Lemma 5.1", "Lemma B.2, part 2", note="without exp(B); not in the source")
    stated = Kind.OWN
    population = PairedLayers(width=1024, sigma=0.4, wide=True)
    relation = AtMost(delta=DELTA)
    control = Control(
        "the change is at most 1/40 of the bound",
        lambda bound, problem: bound / 40,
        loose="inputs differ, no move is worst for all entries, and Chebyshev's inequality costs a factor 4",
    )
    controls = "the change of the tangent kernel in Frobenius norm"
    unexplained = "the constant"

    def predict(self, problem: PairedUnits) -> Array:
        return 17 * problem.radius * len(problem.x) * problem.sign.shape[0] * jnp.exp(problem.sigma**2)

    def measure(self, problem: PairedUnits, key: Key[Array, ""]) -> Array:
        return largest_norm(problem, key)

    def trivial(self, problem: PairedUnits) -> Array:
        """The largest change that the bounds on the kernel before and after the move allow."""
        return problem.sign.shape[0] * largest_sum(problem, jnp.linalg.norm(problem.mass))


def slope_of_entry(problem: KernelPoints, outputs: int, width: int, key: Key[Array, ""]) -> Float[Array, ""]:
    """Return the limit of sup |change of an entry of H| / R as R -> 0: the sum over units of its gradients' lengths.

    The entry is the one between the first and the last output at the first point.

    Args:
        problem: the points, of which only the first is used.
        outputs: the number k of outputs.
        width: the number m of hidden units.
        key: the key that draws the weights and signs.
    """
    weight, sign = draws(key, (problem.x.shape[1], width // 2), (outputs, width // 2))
    sign, start = paired_signs(sign), problem.sigma * jnp.repeat(weight, 2, axis=1)
    entry = lambda w: SoftmaxNetwork(width, outputs).tangent({"weight": w, "sign": sign}, problem.x[:1])[0, 0, -1, 0]
    return jnp.linalg.norm(jax.grad(entry)(start), axis=0).sum()


def _two_outputs(problem: KernelPoints) -> Array:
    length = jnp.linalg.norm(problem.x[0])
    return 2 * length**3 * jnp.exp((problem.sigma * length) ** 2)


def _one_output(problem: KernelPoints) -> Array:
    length = jnp.linalg.norm(problem.x[0])
    return 2 * (2 * jax.scipy.stats.norm.cdf(problem.sigma * length / 2) - 1) * _two_outputs(problem)


class WorstChangeBetweenOutputs(Claim[KernelPoints]):
    """Let a softmax network of width m be initialised in pairs with weights N(0, sigma² I). Consider the diagonal entry
    of its tangent kernel H between two outputs at one input x. Over all moves of the units by R, the largest change of
    this entry satisfies

        sup |change of H| / R -> 2 |x|³ exp(sigma² |x|²)     as R -> 0, then m -> infinity.

    For the proof, let p_r be the square of the share of unit r at x, and let s_r be the product of its signs for the
    two outputs. As m grows, sum_r p_r s_r -> 0 and m sum_r p_r -> exp(sigma² |x|²). The limit follows from these two
    limits by the first-order bound of the claim `WorstChangeOfEntry`.

    So the factor exp(sigma²) in `KernelPerturbationWithoutExponentials` is needed. A factor exp(B), with a bound B on
    logits, is not needed.
    """

    title = "The worst change of the softmax tangent kernel between outputs tends to 2 R |x|³ exp(sigma² |x|²)"
    source = _SOURCE
    stated = Kind.OWN
    population = SpherePoints()
    relation = Limit(along="m", rungs=_WIDTHS, margin=0.01, resolution=0.03)
    control = Control("the limit is that of an entry within one output", lambda v, problem: _one_output(problem))
    controls = _ENTRY
    unexplained = "inputs that differ"
    trials = 64
    of_data = False

    def predict(self, problem: KernelPoints) -> Array:
        return _two_outputs(problem)

    def measure_at(self, problem: KernelPoints, key: Key[Array, ""], rung: float) -> Array:
        """Return the slope of the entry, by automatic differentiation."""
        return slope_of_entry(problem, 2, int(rung), key)


class WorstChangeWithinOutput(Claim[KernelPoints]):
    """Let a softmax network of one output and width m be initialised in pairs with weights N(0, sigma² I). Consider the
    diagonal entry of its tangent kernel H at one input x. Let Phi be the normal distribution function. Over all moves
    of the units by R, the largest change of this entry satisfies

        sup |change of H| / R -> 4 |x|³ exp(sigma² |x|²) (2 Phi(sigma |x| / 2) - 1)     as R -> 0, then m -> infinity.

    For the proof, let S_r be the share of unit r at x, let p_r = S_r², and let P be the sum of the p_r. The first-order
    bound of the claim `WorstChangeOfEntry` contains sum_r |p_r / P - S_r|. In the limit, this sum is twice the total
    variation distance of two normal distributions of variance 1 whose means lie sigma |x| apart.
    """

    title = "The worst change of a softmax tangent kernel entry within an output has a closed form at infinite width"
    source = _SOURCE
    stated = Kind.OWN
    population = SpherePoints()
    relation = Limit(along="m", rungs=_WIDTHS, margin=0.01, resolution=0.03)
    control = Control("the limit has no factor exp(sigma²)", lambda v, problem: v * jnp.exp(-(problem.sigma**2)))
    controls = _ENTRY
    unexplained = "inputs that differ"
    trials = 128
    of_data = False

    def predict(self, problem: KernelPoints) -> Array:
        return _one_output(problem)

    def measure_at(self, problem: KernelPoints, key: Key[Array, ""], rung: float) -> Array:
        """Return the slope of the entry, by automatic differentiation."""
        return slope_of_entry(problem, 1, int(rung), key)
