"""Finite classes and codes: what the number of classifiers, or the length of their description, costs.

This theory controls the gap between empirical and true error of all members of a class at once, by Hoeffding's
inequality for one member and a union bound whose price is the logarithm of their number, or the bits that describe the
member. It assumes independent rows and a class, or a code, that was fixed before them; it leaves unexplained why the
networks that training finds should have short descriptions.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Source
from lemmata.engine.problems._finite_classes import (
    DELTA,
    CodedNetworks,
    FiniteClass,
    FiniteClasses,
    PrunedNetworks,
    RealisableClasses,
)


def _wrong(problem: FiniteClass, key: Key[Array, ""]) -> Array:
    """Which classifier errs on which of N rows."""
    return jax.random.bernoulli(key, problem.errors, (problem.rows, len(problem.errors)))


class FiniteClassDeviation(Claim[FiniteClass]):
    """For a finite class H of classifiers and N independent rows, with probability at least 1 - delta,

        sup_h |err_S(h) - err_D(h)| <= sqrt( log(2 |H| / delta) / (2 N) ),

    err_S the share of the rows and err_D the probability of a row that h gets wrong; delta = 1/20. Labels need not
    come from a member of H.
    """

    title = "All members of a finite class have empirical errors near their true ones"
    source = Source("emergence2026", "Figure 7.3", note="the theorem of the finite class, with its constants")
    stated = Kind.THEOREM
    population = FiniteClasses()
    relation = AtMost(DELTA)
    control = Control("three quarters of the radius suffice", lambda radius, problem: 0.75 * radius)
    controls = "the largest gap between empirical and true error in a class"
    unexplained = "classes of which many members err on the same rows, where the gap is smaller; infinite classes"

    def predict(self, problem: FiniteClass) -> Array:
        return jnp.sqrt(jnp.log(2 * len(problem.errors) / DELTA) / (2 * problem.rows))

    def measure(self, problem: FiniteClass, key: Key[Array, ""]) -> Array:
        return jnp.abs(_wrong(problem, key).mean(axis=0) - problem.errors).max()

    def trivial(self, problem: FiniteClass) -> Array:
        """Empirical errors are in [0, 1]."""
        return jnp.maximum(problem.errors, 1 - problem.errors).max()


class ConsistentClassifiers(Claim[FiniteClass]):
    """Where a finite class H has a member without error, with probability at least 1 - delta over N independent rows
    every member that fits all rows has the true error

        err_D(h) <= (log |H| + log(1/delta)) / N,   delta = 1/20:

    1/N where the general theorem has 1/sqrt(N).
    """

    title = "Members that fit all rows of a realisable problem err by 1/N"
    source = Source("emergence2026", "Figure 7.3", note="the faster dependence on N under realisability")
    stated = Kind.THEOREM
    population = RealisableClasses()
    relation = AtMost(DELTA)
    control = Control("two thirds of the bound suffice", lambda bound, problem: bound * 2 / 3)
    controls = "the error of a classifier that fits all rows"
    unexplained = "labels with noise; infinite classes"

    def predict(self, problem: FiniteClass) -> Array:
        return (jnp.log(len(problem.errors)) + jnp.log(1 / DELTA)) / problem.rows

    def measure(self, problem: FiniteClass, key: Key[Array, ""]) -> Array:
        """The largest error of those that err on no row."""
        fits = ~_wrong(problem, key).any(axis=0)
        return jnp.where(fits, problem.errors, 0.0).max()

    def trivial(self, problem: FiniteClass) -> Array:
        """A classifier may err everywhere else."""
        return jnp.ones(())


def _gap_allowed(bits: Array, rows: int) -> Array:
    return jnp.sqrt((bits * jnp.log(2.0) + jnp.log(1 / DELTA)) / (2 * rows))


def _chosen(problem: CodedNetworks) -> Int[Array, "2"]:
    """The network that errs on the fewest rows, and the one whose bound on the true error is the least."""
    errors = problem.empirical_errors
    return jnp.stack([jnp.argmin(errors), jnp.argmin(errors + _gap_allowed(problem.bits, len(problem.rows)))])


class DescriptionLength(Claim[CodedNetworks]):
    """Let b(h) be the length in bits of the word for h in a prefix code that was fixed before N independent rows were
    drawn. With probability at least 1 - delta, for all h at once,

        err_D(h) - err_S(h) <= sqrt( (b(h) ln 2 + ln(1/delta)) / (2 N) ),   delta = 1/20.

    Of 600 pruned ReLU networks with weights -1, 0, 1, written with one bit for a weight 0 and two for others, the one
    that errs least on the rows is judged, and the one whose bound is best.
    """

    title = "A short description that fits many rows generalises"
    source = Source("emergence2026", "Figure 7.4", note="Occam's principle, with a prefix code and constants")
    stated = Kind.THEOREM
    population = PrunedNetworks()
    relation = AtMost(DELTA)
    control = Control(
        "the description costs nothing: sqrt(ln(1/delta)/2N)",
        lambda gap, problem: jnp.full(2, _gap_allowed(jnp.zeros(()), len(problem.rows))),
    )
    controls = "the true error of networks that were chosen by their errors on the rows"
    unexplained = "codes that are much shorter than the number of weights; why training finds such networks"

    def predict(self, problem: CodedNetworks) -> Float[Array, "2"]:
        return _gap_allowed(problem.bits[_chosen(problem)], len(problem.rows))

    def measure(self, problem: CodedNetworks, key: Key[Array, ""]) -> Float[Array, "2"]:
        """From the whole cube: a network that differs from the first errs where the label is not flipped."""
        chosen = _chosen(problem)
        answers = problem.answers
        differs = jnp.mean(answers[chosen] != answers[0], axis=1)
        return problem.flips + (1 - 2 * problem.flips) * differs - problem.empirical_errors[chosen]

    def trivial(self, problem: CodedNetworks) -> Float[Array, "2"]:
        """A true error is at most 1."""
        return 1 - problem.empirical_errors[_chosen(problem)]
