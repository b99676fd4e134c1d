"""Risks under shift: how far the discrepancy of conditional laws bounds the error on a target.

Labels y are finitely many, z given each is normal, and w z predicts y. The error given a label is an inner product of
the features z², z, 1 with weights that the label and w fix, so that a change of the conditional mean operator changes
it by no more than the product of two norms. This theory controls the risk where labels have the same law. It leaves
open labels that shift: then equal conditional laws bound nothing without the ratio of the labels' laws.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.embeddings._conditional_samples import DomainPairs, LabelledDomains

ABOUT = {"tool": "statistics", "architecture": "linear model", "object": "generalisation"}

_KEY = "yang2024cod"


class RiskByDiscrepancy(Claim[LabelledDomains]):
    """If labels have the same law p in source and target, and w z predicts y, then the mean squared errors of both
    differ by at most

        (E |f_y|²)^1/2 (E |d_y|²)^1/2,   f_y = (w², -2 w y),

    d_y the difference of the means of (z², z) given y, whose mean square over p is the squared distance of the
    conditional mean operators, weighted by the labels.
    """

    title = "The conditional discrepancy bounds the change of the risk"
    source = Source(_KEY, "Abstract, sufficiency", note="for labels of one law")
    population = DomainPairs("conditionals")
    relation = AtMost()
    control = Control("four fifths of it", lambda bound, problem: 0.8 * bound)
    controls = "the error on a target"
    unexplained = "which representation makes it small without losing the labels"
    reading = "sufficient as: by the product of norms, features z² and z"
    traced = False

    def predict(self, problem: LabelledDomains) -> Array:
        weight, p = problem.weight, problem.source
        moved = problem.moments(1) - problem.moments(0)
        loss = p @ (weight**4 + 4 * weight**2 * problem.labels**2)
        return jnp.asarray(np.sqrt(loss * (p @ (moved**2).sum(axis=0))))

    def measure(self, problem: LabelledDomains, key: Key[Array, ""]) -> Array:
        """Both risks."""
        return jnp.asarray(abs(problem.target @ problem.errors(1) - problem.source @ problem.errors(0)))

    def trivial(self, problem: LabelledDomains) -> Array:
        """The larger risk."""
        return jnp.asarray(max(problem.target @ problem.errors(1), problem.source @ problem.errors(0)))

    def condition(self, problem: LabelledDomains) -> Array:
        """Two risks are subtracted."""
        return 1 + 2 * self.trivial(problem) / self.predict(problem)


class RiskByRatios(Claim[LabelledDomains]):
    """If z given y has the same law in source and target, labels have the probabilities p and q, and no label of the
    target is missing in the source, then the target's risk is at most max(q/p) times the source's, for any prediction.
    """

    title = "Equal conditional laws, and the ratio of the labels"
    source = Source(_KEY, "Abstract, sufficiency", note="with the ratio of the labels' laws")
    population = DomainPairs()
    relation = AtMost()
    control = Control("three quarters of it", lambda bound, problem: 0.75 * bound)
    controls = "the risk on the target"
    unexplained = "the ratio itself, which no label of the target tells"
    trivial = "a risk may be anything"
    traced = False

    def predict(self, problem: LabelledDomains) -> Array:
        return jnp.asarray(np.max(problem.target / problem.source) * (problem.source @ problem.errors(0)))

    def measure(self, problem: LabelledDomains, key: Key[Array, ""]) -> Array:
        """The same errors, other labels."""
        return jnp.asarray(problem.target @ problem.errors(1))
