"""Finite classes and codes: how the number of classifiers, or the length of their description, enters error bounds.

This theory bounds the gap between empirical and true error for all members of a class at once. It uses Hoeffding's
inequality for one member and a union bound over all members. The union bound costs the logarithm of the number of
members, or the bits that describe a member. The theory assumes independent rows and a class, or a code, that was fixed
before the rows. It does not explain why the networks that training finds should have short descriptions.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.engine.problems.variables import rows

ABOUT = {"tool": "concentration", "architecture": "any", "object": "generalisation"}

DELTA = 0.05


class FiniteClass(eqx.Module):
    """Classifiers. The j-th classifier errs on a row with probability p_j, independently of the other classifiers.

    Such a class exists. For example, let inputs be strings of independent bits, where the j-th bit is 1 with
    probability p_j. The j-th classifier answers the j-th bit, and the label is always 0.

    Args:
        errors: the error probability p_j of each classifier.
        rows: the number N of rows.
    """

    errors: Float[Array, " classifiers"]
    rows: int = eqx.field(static=True)


_CLASSIFIERS = Integer(400, 2, 10_000, "classifiers")


def _fixed(problem: FiniteClass) -> Hypothesis:
    why = "errors do not show how the classifiers were found"
    return Hypothesis.unchecked("the class was fixed before the rows", why)


def _probabilities(problem: FiniteClass) -> Hypothesis:
    return Hypothesis("the largest error", problem.errors.max(), "<=", 1.0, "an error is a probability")


class RealisableClasses(Population[FiniteClass]):
    """Classes with one classifier without error. The others all have the same error, 0.65 to 1.05 times what the claim
    `consistent_classifiers` allows.
    """

    settings = Space(classifiers=_CLASSIFIERS, rows=rows(200, 100))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteClass:
        classifiers, rows = setting["classifiers"], setting["rows"]
        allowed = jnp.log(classifiers / DELTA) / rows
        errors = jnp.full(classifiers, allowed * jax.random.uniform(key, minval=0.65, maxval=1.05))
        return FiniteClass(errors.at[0].set(0.0), rows)

    def hypotheses(self, problem: FiniteClass) -> list[Hypothesis]:
        return [
            _probabilities(problem),
            Hypothesis(
                "the smallest error", problem.errors.min(), "==", 0.0, "some member of the class must never err"
            ),
            _fixed(problem),
        ]


class CodedNetworks(eqx.Module):
    """Networks x -> [v' relu(W x) > 0] with weights in {-1, 0, 1}, and labelled rows from which a network is chosen.

    An input is uniform on the cube {-1, 1}^d. Its label is the answer of the first network, which is flipped with
    probability `flips`. The code writes a weight as 0 if it is zero, and as 10 or 11 if it is 1 or -1. So pruned
    networks have short codes.

    Args:
        hidden: the hidden weights W of each network.
        readout: the readout weights v of each network.
        flips: the probability of a flipped label; 1/2 makes labels pure noise.
        rows: the corner of the cube that is the input of each row.
        labels: the label of each row.
    """

    hidden: Float[Array, "networks k d"]
    readout: Float[Array, "networks k"]
    flips: Float[Array, ""]
    rows: Int[Array, " rows"]
    labels: Bool[Array, " rows"]

    @property
    def answers(self) -> Bool[Array, "networks corners"]:
        """The output of each network at each corner of the cube."""
        return network_answers(self.hidden, self.readout)

    @property
    def bits(self) -> Float[Array, " networks"]:
        """The length of each network's code: one bit for each weight, and one more bit for each weight that is not
        zero.
        """
        zero = jnp.concatenate([self.hidden.reshape(len(self.hidden), -1), self.readout], axis=1) == 0
        return jnp.sum(jnp.where(zero, 1.0, 2.0), axis=1)

    @property
    def empirical_errors(self) -> Float[Array, " networks"]:
        """The share of rows that each network gets wrong."""
        return jnp.mean(self.answers[:, self.rows] != self.labels, axis=1)


def network_answers(
    hidden: Float[Array, "networks k d"], readout: Float[Array, "networks k"]
) -> Bool[Array, "networks corners"]:
    """Return [v' relu(W x) > 0] at all x in {-1, 1}^d."""
    d = hidden.shape[-1]
    corners = 2.0 * ((jnp.arange(2**d)[:, None] >> jnp.arange(d)) & 1) - 1.0
    units = jnp.maximum(jnp.einsum("nkd,cd->nkc", hidden, corners), 0.0)
    return jnp.einsum("nk,nkc->nc", readout, units) > 0


class PrunedNetworks(Population[CodedNetworks]):
    """Problems with 600 sparse networks. In half of the problems, labels are pure noise.

    In the other half, a label is flipped with probability 0.1 to 0.3.
    """

    settings = Space(
        inputs=Integer(5, 3, 8, "inputs", corners=(4, 6)),
        units=Integer(3, 1, 8, "hidden units", corners=(2, 3)),
        rows=Integer(200, 20, 5000, "rows", corners=(150, 300)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CodedNetworks:
        """Draw networks. Each has its own share of weights that are not zero, from 0.1 to 0.6."""
        d, k, rows = setting["inputs"], setting["units"], setting["rows"]
        share_key, weight_key, noise_key, row_key, flip_key = jax.random.split(key, 5)
        share = jax.random.uniform(share_key, (600, 1, 1), minval=0.1, maxval=0.6)
        place = jax.random.uniform(weight_key, (600, k, d + 1), minval=-1.0) / share
        weights = jnp.where(jnp.abs(place) < 1, jnp.sign(place), 0.0)
        noise, rate = jax.random.uniform(noise_key, (2,))
        flips = jnp.where(noise < 0.5, 0.5, 0.1 + 0.2 * rate)
        chosen = jax.random.randint(row_key, (rows,), 0, 2**d)
        hidden, readout = weights[..., :d], weights[..., d]
        truth = network_answers(hidden[:1], readout[:1])[0, chosen]
        return CodedNetworks(hidden, readout, flips, chosen, truth ^ jax.random.bernoulli(flip_key, flips, (rows,)))

    def hypotheses(self, problem: CodedNetworks) -> list[Hypothesis]:
        weights = jnp.abs(jnp.concatenate([problem.hidden, problem.readout[..., None]], axis=-1))
        other = jnp.max(jnp.minimum(weights, jnp.abs(weights - 1)))
        return [
            Hypothesis(
                "weights are -1, 0 or 1 (largest distance)",
                other,
                "==",
                0.0,
                "the code has no code word for other weights",
            ),
            Hypothesis.unchecked(
                "the code was fixed before the rows", "otherwise the code itself is part of the description"
            ),
        ]


def _wrong(problem: FiniteClass, key: Key[Array, ""]) -> Array:
    """Draw a table that says which classifier errs on which of the N rows."""
    return jax.random.bernoulli(key, problem.errors, (problem.rows, len(problem.errors)))


class FiniteClassDeviation(Claim[FiniteClass]):
    """Let H be a finite class of classifiers, fixed before N independent rows are drawn. Let err_S(h) be the share of
    the rows that h gets wrong, and let err_D(h) be the probability that h gets a new row wrong. With probability at
    least 1 - delta,

        sup_h |err_S(h) - err_D(h)| <= sqrt( log(2 |H| / delta) / (2 N) ).

    The labels need not come from a member of H. The test uses delta = 1/20.
    """

    title = "All members of a finite class of classifiers have empirical errors near their true errors"
    source = Source("emergence2026", "Figure 7.3", note="the theorem of the finite class, with its constants")
    stated = Kind.THEOREM
    # An empirical error near one half varies most.
    population = Drawn(
        FiniteClass,
        _probabilities,
        _fixed,
        classifiers=_CLASSIFIERS,
        errors=uniform(0.45, 0.55, "classifiers"),
        rows=rows(100),
    )
    relation = AtMost(DELTA)
    control = Control("the gap is at most three quarters of the radius", lambda radius, problem: 0.75 * radius)
    controls = "the largest gap between empirical and true error in a class"
    unexplained = "infinite classes, and classes whose members err on the same rows, so that the gap is smaller"

    def predict(self, problem: FiniteClass) -> Array:
        return jnp.sqrt(jnp.log(2 * len(problem.errors) / DELTA) / (2 * problem.rows))

    def measure(self, problem: FiniteClass, key: Key[Array, ""]) -> Array:
        return jnp.abs(_wrong(problem, key).mean(axis=0) - problem.errors).max()

    def trivial(self, problem: FiniteClass) -> Array:
        """Empirical and true errors are in [0, 1], so the gap is at most 1."""
        return jnp.maximum(problem.errors, 1 - problem.errors).max()


class ConsistentClassifiers(Claim[FiniteClass]):
    """Let H be a finite class of classifiers, fixed before N independent rows are drawn, and let one member of H never
    err. Let err_D(h) be the probability that h gets a new row wrong. With probability at least 1 - delta, every member
    h that fits all N rows satisfies

        err_D(h) <= (log |H| + log(1/delta)) / N,   delta = 1/20.

    The order is 1/N, whereas the bound for classes in which every member may err has the order 1/sqrt(N).
    """

    title = "Classifiers that fit all N rows of a realisable problem have an error of order 1/N"
    source = Source("emergence2026", "Figure 7.3", note="the faster dependence on N if a member never errs")
    stated = Kind.THEOREM
    population = RealisableClasses()
    relation = AtMost(DELTA)
    control = Control("the error is at most two thirds of the bound", lambda bound, problem: bound * 2 / 3)
    controls = "the error of a classifier that fits all rows"
    unexplained = "labels with noise, and infinite classes"
    trivial = 1.0  # a classifier may err everywhere else

    def predict(self, problem: FiniteClass) -> Array:
        return (jnp.log(len(problem.errors)) + jnp.log(1 / DELTA)) / problem.rows

    def measure(self, problem: FiniteClass, key: Key[Array, ""]) -> Array:
        """Return the largest true error of the classifiers that err on no row."""
        fits = ~_wrong(problem, key).any(axis=0)
        return jnp.where(fits, problem.errors, 0.0).max()


def _gap_allowed(bits: Array, rows: int) -> Array:
    return jnp.sqrt((bits * jnp.log(2.0) + jnp.log(1 / DELTA)) / (2 * rows))


def _chosen(problem: CodedNetworks) -> Int[Array, "2"]:
    """Return the network that errs on the fewest rows, and the network with the least bound on the true error."""
    errors = problem.empirical_errors
    return jnp.stack([jnp.argmin(errors), jnp.argmin(errors + _gap_allowed(problem.bits, len(problem.rows)))])


class DescriptionLength(Claim[CodedNetworks]):
    """Fix a prefix code for classifiers before N independent rows are drawn. Let b(h) be the length, in bits, of the
    code word for a classifier h. Let err_S(h) be the share of the rows that h gets wrong, and let err_D(h) be the
    probability that h gets a new row wrong. With probability at least 1 - delta, for all h at once,

        err_D(h) - err_S(h) <= sqrt( (b(h) ln 2 + ln(1/delta)) / (2 N) ),   delta = 1/20.

    The test uses 600 pruned ReLU networks with weights -1, 0, 1. Its code has one bit for a weight 0 and two bits for
    any other weight. It checks the bound for two networks: the one with the fewest errors on the rows and the one with
    the smallest bound.
    """

    title = "A classifier that has a short description and fits many rows generalises"
    source = Source("emergence2026", "Figure 7.4", note="Occam's principle, with a prefix code and constants")
    stated = Kind.THEOREM
    population = PrunedNetworks()
    relation = AtMost(DELTA)
    control = Control(
        "the length of the description can be left out: sqrt(ln(1/delta)/2N)",
        lambda gap, problem: jnp.full(2, _gap_allowed(jnp.zeros(()), len(problem.rows))),
    )
    controls = "the true error of networks that were chosen by their errors on the rows"
    unexplained = "codes that are much shorter than the number of weights, and why training finds such networks"

    def predict(self, problem: CodedNetworks) -> Float[Array, "2"]:
        return _gap_allowed(problem.bits[_chosen(problem)], len(problem.rows))

    def measure(self, problem: CodedNetworks, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Compute true errors on the whole cube. At inputs where a network differs from the first network, the network
        errs if the label is not flipped.
        """
        chosen = _chosen(problem)
        answers = problem.answers
        differs = jnp.mean(answers[chosen] != answers[0], axis=1)
        return problem.flips + (1 - 2 * problem.flips) * differs - problem.empirical_errors[chosen]

    def trivial(self, problem: CodedNetworks) -> Float[Array, "2"]:
        """Return 1 minus the error on the rows, because a true error is at most 1."""
        return 1 - problem.empirical_errors[_chosen(problem)]
