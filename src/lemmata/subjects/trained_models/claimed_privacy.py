"""Claimed privacy: whether what losses tell about membership contradicts the privacy that a training is said to have.

This theory controls from below how private a training was. It asks for training rows and held-out rows that chance
alone has parted; it leaves unexplained how far a weak attack stays below, which says nothing in favour of a training.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Kind, Source
from lemmata.engine.problems._noised_trainings import NoisedTrainings
from lemmata.engine.problems._released_memberships import ReleasedMemberships
from lemmata.subjects.privacy import ThresholdAttack, gaussian_eps, privacy_spent, threshold_attack
from lemmata.subjects.trained_models import Trained

ALPHA = 0.05
_LEAST = 1e-12  # a delta of 0, to rounding


def loss_attack(problem: Trained) -> ThresholdAttack:
    """The threshold attack by minus the loss: training rows without a copy against held-out rows that are no copies.

    Both are put into a random order, half of which chooses the threshold, since files are often sorted.

    Args:
        problem: the model with its rows, held-out ones, and the claimed privacy.
    """
    assert problem.claimed is not None
    y = problem.held_rows[1]
    rng, task = np.random.default_rng([problem.seed, 21]), problem.task
    alone, new = ~problem.copies.within, problem.fresh
    members = -task.losses(problem.f[alone], problem.y[alone])
    others = -task.losses(problem.f_held[new], y[new])
    delta = max(problem.claimed[1], _LEAST)
    return threshold_attack(rng.permutation(members), rng.permutation(others), delta, ALPHA)


class ClaimedPrivacyBoundsTheAttack(Claim[Trained]):
    """A training is (eps, delta)-differentially private for a row more or less, and of independent rows each was a
    training row or a held-out one by a coin of its own. An attack calls rows members where the loss of the trained
    model is on one side of a threshold, which half of the rows has chosen. On the other half let p be the lower exact
    (Clopper-Pearson) limit of the share of one kind that is called so, and q the upper limit of the share of the other
    kind, each at alpha/2. Then

        log((p - delta)/q) <= eps

    with probability at least 1 - alpha, alpha = 1/20: where it is not so, one model refutes the privacy.
    """

    title = "Claimed privacy against an attack by the loss"
    source = Source("jagielski2020", note="the limits of many trainings, here of the many rows of one")
    stated = Kind.OWN
    population = ReleasedMemberships()
    relation = AtMost(delta=ALPHA)
    control = Control("it stays below half of the claimed eps", lambda eps, problem: eps / 2)
    controls = "the lower limit of eps that losses of one model show"
    unexplained = "attacks that know more than one loss, or plant rows of their own: they may show more"
    traced = False  # the limits are SciPy's
    trivial = "a privacy budget may be infinite"

    def passes(self, problem: Trained) -> float:
        return 2.0

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if problem.held is None or problem.fresh.sum() < 4:
            return []
        assert problem.claimed is not None
        most = loss_attack(problem).ceiling
        why = "so few rows cannot refute it, whatever their losses are"
        return [Hypothesis("claimed eps over the largest that these rows could show", problem.claimed[0] / most
                           if most > 0 else np.inf, "<", 1.0, why)]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        assert problem.claimed is not None
        return jnp.asarray(problem.claimed[0])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The attack by the loss on training rows and held-out ones, with exact limits."""
        return jnp.asarray(loss_attack(problem).eps)


class ClaimCoversItsSteps(Claim[Trained]):
    """T steps in which each of the rows takes part with probability q, and whose sum of gradients clipped to a norm
    gets normal noise of sigma times that norm, spend an eps at delta that an accountant bounds from above: the exact
    Gaussian curve at q = 1, the law of the privacy loss below. A claim of eps that comes from a looser accountant,

        rho + 2 (rho log 1/delta)^1/2,   rho = T/(2 sigma²),

    at q = 1 (zero-concentrated privacy), is at least that.
    """

    title = "Claimed privacy against the steps that should give it"
    source = Source("bun2016concentrated", "Proposition 1.3", note="with rho of T Gaussian releases")
    population = NoisedTrainings()
    relation = AtMost()
    control = Control("at least that of half the eps", lambda eps, problem: eps / 2)
    controls = "the eps that noisy steps spend, beside the one that is claimed of them"
    unexplained = "whether the program does what it states; an attack on its losses may tell"
    traced = False  # the accountants are SciPy's and dp-accounting's
    trivial = "a privacy budget may be infinite"

    def passes(self, problem: Trained) -> float:
        return 1.0

    def predict(self, problem: Trained) -> Array:
        assert problem.claimed is not None
        return jnp.asarray(problem.claimed[0])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """An accountant for the stated steps: the exact curve, or the law of the privacy loss."""
        assert problem.claimed is not None
        assert problem.noised is not None
        (rate, noise, steps), delta = problem.noised, problem.claimed[1]
        exact = rate == 1  # all steps are one release with sqrt(T) times the signal
        eps = gaussian_eps(delta, steps**0.5, noise) if exact else privacy_spent(noise, rate, steps, delta).eps
        return jnp.asarray(float(eps))
