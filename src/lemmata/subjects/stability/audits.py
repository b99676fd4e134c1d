"""Audits: how much privacy an attack on many trainings refutes, beside what an accountant promises.

This theory controls the budget from below: no attack does better than the privacy allows, but for chance. It leaves
open how far a weak attack stays below, which says nothing in favour of a training.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems._audited_releases import AuditedSum, AuditedSums, AuditedTraining, AuditedTrainings
from lemmata.engine.problems._gaussian_releases import SampledSteps
from lemmata.subjects.privacy import gaussian_eps, threshold_attack

from .accountants import loss_budget

_ALPHA, _LENGTH = 0.05, 0.02


def sum_scores(problem: AuditedSum, key: Key[Array, ""]) -> Float[np.ndarray, "2 runs"]:
    """The inner product of the canary with each released sum, with the canary in it and without."""
    generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
    rows, canary = np.asarray(problem.rows), np.asarray(problem.canary)
    noise = float(problem.sigma) * generator.normal(size=(2, problem.runs, len(canary)))
    sums = rows.sum(axis=0) + np.array([1.0, 0.0])[:, None, None] * canary
    return (sums + noise) @ canary


@eqx.filter_jit
def training_scores(problem: AuditedTraining, key: Key[Array, ""]) -> Float[Array, "2 runs"]:
    """The margin of the canary after each training from 0, with the canary among the rows and without."""
    rows = jnp.concatenate([problem.rows, problem.canary[None]])

    def train(key, member):
        taken_keys, noise_keys = (jax.random.split(own, problem.steps) for own in jax.random.split(key))

        def step(weights, keys):
            drawn = jax.random.bernoulli(keys[0], problem.rate, (len(rows),))
            taken = drawn.at[-1].set(drawn[-1] & member)
            gradients = -jax.nn.sigmoid(-rows @ weights)[:, None] * rows
            size = jnp.linalg.norm(gradients, axis=1)
            total = (taken / jnp.maximum(1.0, size)) @ gradients
            noisy = total + problem.noise * jax.random.normal(keys[1], weights.shape)
            return weights - _LENGTH * noisy, None

        weights = jax.lax.scan(step, jnp.zeros(rows.shape[1]), (taken_keys, noise_keys))[0]
        return weights @ problem.canary

    keys = jax.random.split(key, (2, problem.runs))
    return jax.vmap(jax.vmap(train, in_axes=(0, None)))(keys, jnp.array([True, False]))


def training_budget(problem: AuditedTraining, share: float = 1.0) -> Float[Array, ""]:
    """The eps that the steps spend with that multiple of their noise."""
    one = SampledSteps(share * problem.noise, problem.rate, problem.delta, 1)
    return _compiled_budget(one, jnp.asarray(float(problem.steps)))


_compiled_budget = eqx.filter_jit(loss_budget)


class AuditBelowBudget(Claim[AuditedSum]):
    """The sum of rows of norm at most 1 is released with normal noise sigma, which is (eps, delta)-differentially
    private with eps from the Gaussian curve. From m releases with one row more (the canary) and m without, the first
    half chooses an event, a score beyond a threshold, and the second half bounds its two probabilities by exact
    (Clopper-Pearson) limits, each at alpha/2: p from below where the event is likelier, q from above elsewhere. Then

        log((p - delta)/q) <= eps

    with probability at least 1 - alpha, alpha = 1/20.
    """

    title = "An audit stays below the budget"
    source = Source("jagielski2020", note="main result, for normal noise on a sum")
    population = AuditedSums()
    relation = AtMost(delta=_ALPHA)
    control = Control(
        "it stays below the budget of twice the noise, as where a program halves it silently",
        lambda eps, problem: _sum_budget(problem, 2.0),
    )
    controls = "the lower limit of eps that an attack shows"
    unexplained = "how far below: one threshold and a few hundred releases cannot see rare events"
    traced = False  # the limits are SciPy's
    trivial = "a budget may be infinite"

    def predict(self, problem: AuditedSum) -> Array:
        return _sum_budget(problem, 1.0)

    def measure(self, problem: AuditedSum, key: Key[Array, ""]) -> Array:
        present, absent = sum_scores(problem, key)
        return jnp.asarray(threshold_attack(present, absent, problem.delta, _ALPHA).eps)


def _sum_budget(problem: AuditedSum, share: float) -> Array:
    return jnp.asarray(gaussian_eps(problem.delta, 1.0, share * float(problem.sigma)))


class AuditOfTraining(Claim[AuditedTraining]):
    """Logistic regression by T steps in which each row takes part with probability q, gradients are clipped to norm 1
    and their sum gets normal noise s, is (eps, delta)-differentially private with the eps of the distribution of its
    privacy loss. From trainings with one row more (the canary) and without, scored by the canary's margin, the exact
    limits p and q of the probabilities of an event that other trainings have chosen satisfy

        log((p - delta)/q) <= eps

    with probability at least 1 - alpha, alpha = 1/20; here that probability is shown to be above 9/10.
    """

    title = "An audit of noisy gradient steps stays below their budget"
    source = Source("jagielski2020", note="main result, for logistic regression on sampled rows")
    population = AuditedTrainings()
    relation = AtMost(delta=2 * _ALPHA)
    control = Control(
        "it stays below the budget of twice the noise, as where a program halves it silently",
        lambda eps, problem: training_budget(problem, 2.0),
    )
    controls = "the lower limit of eps that an attack shows"
    unexplained = "how far below: the attack sees the last weights alone, and few trainings show no rare events"
    traced = False  # the limits are SciPy's
    trivial = "a budget may be infinite"

    def predict(self, problem: AuditedTraining) -> Array:
        return training_budget(problem)

    def measure(self, problem: AuditedTraining, key: Key[Array, ""]) -> Array:
        present, absent = np.asarray(training_scores(problem, key))
        return jnp.asarray(threshold_attack(present, absent, float(problem.delta), _ALPHA).eps)
