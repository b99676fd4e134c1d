"""Risks under shift: the discrepancy of conditional distributions bounds how far source and target errors differ.

Labels y take finitely many values, z is normal given each label, and w z predicts y. The error given a label is the
mean of an inner product of the features z², z, 1 with weights that depend on the label and w. So a change of the
conditional mean operator changes the error by at most the product of two norms. This theory bounds the risk if labels
have the same distribution in source and target. If labels shift, equal conditional distributions give a bound only
together with the ratio of the label probabilities.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.embeddings._conditional_samples import DomainPairs, LabelledDomains

ABOUT = {"tool": "statistics", "architecture": "linear model", "object": "generalisation"}

_KEY = "yang2024cod"


class RiskByDiscrepancy(Claim[LabelledDomains]):
    """Let labels y take finitely many values, with the same distribution p in source and target. Let w z be the
    prediction of y, where z is a representation and w a weight. Let d_y be the conditional mean of (z², z) given y in
    the target, minus the conditional mean in the source. Let f_y = (w², -2 w y), and let E be the mean over labels y
    with the distribution p. The mean squared errors in source and target differ by at most

        (E |f_y|²)^(1/2) (E |d_y|²)^(1/2).

    The factor E |d_y|² is the squared distance between the two conditional mean operators, weighted by the
    probabilities of the labels.
    """

    title = "The conditional discrepancy of source and target bounds the change of the risk under a shift"
    source = Source(_KEY, "Abstract, sufficiency", note="for labels of the same distribution in both domains")
    population = DomainPairs("conditionals")
    relation = AtMost()
    control = Control("the change is at most four fifths of the bound", lambda bound, problem: 0.8 * bound)
    controls = "the error on a target"
    unexplained = "which representation makes the discrepancy small without losing information about the labels"
    reading = "'sufficient' is read as a bound by the product of norms, with the features z² and z"
    traced = False

    def predict(self, problem: LabelledDomains) -> Array:
        weight, p = problem.weight, problem.source
        moved = problem.moments(1) - problem.moments(0)
        loss = p @ (weight**4 + 4 * weight**2 * problem.labels**2)
        return jnp.asarray(np.sqrt(loss * (p @ (moved**2).sum(axis=0))))

    def measure(self, problem: LabelledDomains, key: Key[Array, ""]) -> Array:
        """Return the difference between the risks on target and source."""
        return jnp.asarray(abs(problem.target @ problem.errors(1) - problem.source @ problem.errors(0)))

    def trivial(self, problem: LabelledDomains) -> Array:
        """Return the larger of the two risks, because they differ by at most this risk."""
        return jnp.asarray(max(problem.target @ problem.errors(1), problem.source @ problem.errors(0)))

    def condition(self, problem: LabelledDomains) -> Array:
        """Allow for the cancellation when two risks are subtracted."""
        return 1 + 2 * self.trivial(problem) / self.predict(problem)


class RiskByRatios(Claim[LabelledDomains]):
    """Let the representation z given the label y have the same distribution in source and target. Let p be the
    probabilities of the labels in the source, and q their probabilities in the target. Assume that every label of the
    target also occurs in the source. For any prediction, the risk on the target is then at most max(q/p) times the risk
    on the source.
    """

    title = (
        "Under label shift, the target risk is at most the largest ratio of label probabilities times the source risk"
    )
    source = Source(_KEY, "Abstract, sufficiency", note="with the ratio of the label probabilities")
    population = DomainPairs()
    relation = AtMost()
    control = Control("the risk is at most three quarters of the bound", lambda bound, problem: 0.75 * bound)
    controls = "the risk on the target"
    unexplained = "the ratio itself, which is unknown without labels of the target"
    trivial = "a risk has no upper bound in general"
    traced = False

    def predict(self, problem: LabelledDomains) -> Array:
        return jnp.asarray(np.max(problem.target / problem.source) * (problem.source @ problem.errors(0)))

    def measure(self, problem: LabelledDomains, key: Key[Array, ""]) -> Array:
        """Return the risk on the target: the mean of the errors given each label over the target's labels."""
        return jnp.asarray(problem.target @ problem.errors(1))
