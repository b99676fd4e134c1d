"""Audits: the lower limit on the privacy parameter eps that an attack on many trainings shows, and an accountant's eps.

This theory bounds eps from below: except by chance, no attack succeeds more often than the privacy allows. It does not
say how far a weak attack stays below eps, so a failed attack is not evidence that the training is private.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.subjects.privacy import gaussian_eps, threshold_attack
from lemmata.subjects.stability._gaussian_releases import SampledSteps

from .accountants import loss_budget

ABOUT = {"tool": "statistics", "architecture": "linear model", "object": "estimator"}

_NORM = 1 + 1e-9


class AuditedSum(eqx.Module):
    """A sum of rows of norm at most 1, released with normal noise, and one additional row of norm 1.

    Args:
        rows: the rows that are always in the sum.
        canary: the additional row, which is in the sum or not.
        sigma: the standard deviation of the noise.
        delta: the delta at which eps is computed.
        runs: the number of releases with the canary, and of those without it.
    """

    rows: Float[Array, "n d"]
    canary: Float[Array, " d"]
    sigma: Float[Array, ""]
    delta: float = eqx.field(static=True)
    runs: int = eqx.field(static=True)


class AuditedSums(Population[AuditedSum]):
    """Sums of rows in the unit ball, with noise of standard deviation 0.3 to 0.6."""

    def settings(self) -> Space:
        runs = Integer(
            1000, 20, 100_000, "number of releases with the canary, and of those without it", corners=(600, 1500)
        )
        delta = Real(0.02, 1e-12, 0.5, "delta of the privacy", corners=(0.01, 0.03))
        return Space(n=Integer(10, 1, 1000, "rows"), d=Integer(3, 1, 100, "dimension"), runs=runs, delta=delta)

    def sample(self, setting: dict, key: Key[Array, ""]) -> AuditedSum:
        row_key, noise_key = jax.random.split(key)
        rows = jax.random.normal(row_key, (setting["n"] + 1, setting["d"]))
        size = jnp.linalg.norm(rows, axis=1, keepdims=True)
        sigma = jax.random.uniform(noise_key, minval=0.3, maxval=0.6)
        bounded = rows[:-1] / jnp.maximum(1.0, size[:-1])
        return AuditedSum(bounded, (rows / size)[-1], sigma, setting["delta"], setting["runs"])

    def hypotheses(self, problem: AuditedSum) -> list[Hypothesis]:
        own = jnp.linalg.norm(problem.rows, axis=1).max()
        why = "the sensitivity of the sum is 1"
        return [
            Hypothesis("largest norm of a row", own, "<=", _NORM, why),
            Hypothesis("norm of the canary", jnp.linalg.norm(problem.canary), "<=", _NORM, why),
        ]


class AuditedTraining(eqx.Module):
    """Logistic regression by steps on sampled rows, with gradients clipped to norm 1 and normal noise on their sums.

    Args:
        rows: the inputs, each times the sign ±1 of its class.
        canary: one additional row, in the same form.
        noise: the standard deviation of the noise that each step adds.
        rate: the probability with which a row takes part in a step.
        delta: the delta at which eps is computed.
        steps: the number of steps.
        runs: the number of trainings with the canary, and of those without it.
    """

    rows: Float[Array, "n d"]
    canary: Float[Array, " d"]
    noise: Float[Array, ""]
    rate: Float[Array, ""]
    delta: Float[Array, ""]
    steps: int = eqx.field(static=True)
    runs: int = eqx.field(static=True)


class AuditedTrainings(Population[AuditedTraining]):
    """Normal rows and a long canary.

    All steps together act like one release with noise of 0.4 to 0.6 clipping norms.
    """

    # Sizes. A new size of a training is compiled again, so the extra settings change few sizes.
    settings = Space(
        n=Integer(8, 1, 500, "rows", corners=(8, 8)),
        d=Integer(6, 1, 50, "dimension", corners=(6, 6)),
        steps=Integer(4, 1, 1000, "steps", corners=(3, 5)),
        rate=Real(0.85, 0.1, 0.99, "rate at which rows are sampled", corners=(0.7, 0.95)),
        runs=Integer(
            800, 20, 100_000, "number of trainings with the canary, and of those without it", corners=(800, 800)
        ),
        delta=Real(0.05, 1e-12, 0.5, "delta of the privacy", corners=(0.02, 0.06)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AuditedTraining:
        row_key, noise_key = jax.random.split(key)
        rows = jax.random.normal(row_key, (setting["n"] + 1, setting["d"]))
        canary = 10 * rows[-1] / jnp.linalg.norm(rows[-1])
        rate, steps = jnp.asarray(setting["rate"]), setting["steps"]
        total = jax.random.uniform(noise_key, minval=0.4, maxval=0.6)
        noise = total * rate * jnp.sqrt(steps)
        return AuditedTraining(rows[:-1], canary, noise, rate, jnp.asarray(setting["delta"]), steps, setting["runs"])

    def hypotheses(self, problem: AuditedTraining) -> list[Hypothesis]:
        return [Hypothesis("noise", problem.noise, ">", 0.3, "with less noise, privacy losses lie outside the grid")]


_ALPHA, _LENGTH = 0.05, 0.02


def sum_scores(problem: AuditedSum, key: Key[Array, ""]) -> Float[np.ndarray, "2 runs"]:
    """Return the inner product of the canary with each released sum, for sums with and without the canary."""
    generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
    rows, canary = np.asarray(problem.rows), np.asarray(problem.canary)
    noise = float(problem.sigma) * generator.normal(size=(2, problem.runs, len(canary)))
    sums = rows.sum(axis=0) + np.array([1.0, 0.0])[:, None, None] * canary
    return (sums + noise) @ canary


@eqx.filter_jit
def training_scores(problem: AuditedTraining, key: Key[Array, ""]) -> Float[Array, "2 runs"]:
    """Return the margin of the canary after each training, for trainings with and without the canary.

    Every training starts from weights 0.
    """
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
    """Return the eps that the steps spend if their noise is multiplied by `share`."""
    one = SampledSteps(share * problem.noise, problem.rate, problem.delta, 1)
    return _compiled_budget(one, jnp.asarray(float(problem.steps)))


_compiled_budget = eqx.filter_jit(loss_budget)


class AuditBelowBudget(Claim[AuditedSum]):
    """Release the sum of rows of norm at most 1 with normal noise sigma. This release is (eps, delta)-differentially
    private, where eps follows from the privacy curve of normal noise. Make m releases with one additional row, the
    canary, and m releases without the canary. The score of a release is the inner product of the canary with the
    released sum.

    Use the first half of the releases for two choices. First, choose an event of the form "the score is beyond a
    threshold". Second, choose whether this event is more probable with or without the canary. Use the second half to
    bound the probabilities of the event with and without the canary. The bounds are exact (Clopper-Pearson) limits,
    each at level alpha/2, where alpha = 1/20. Let p be the lower limit of the probability that was chosen as the larger
    one, and q the upper limit of the other probability. With probability at least 1 - alpha,

        log((p - delta)/q) <= eps.
    """

    title = "A canary audit of a noisy sum stays below its differential privacy budget with high probability"
    source = Source("jagielski2020", note="main result, for normal noise on a sum")
    population = AuditedSums()
    relation = AtMost(delta=_ALPHA)
    control = Control(
        "the audit stays below the eps of twice the noise, which a program promises if it silently halves the noise",
        lambda eps, problem: _sum_budget(problem, 2.0),
    )
    controls = "the lower limit on eps that an attack shows"
    unexplained = "how far the audit stays below: one threshold and a few hundred releases cannot show rare events"
    traced = False  # the limits are SciPy's
    trivial = "eps has no upper bound that is known in advance, since a budget can be infinite"

    def predict(self, problem: AuditedSum) -> Array:
        return _sum_budget(problem, 1.0)

    def measure(self, problem: AuditedSum, key: Key[Array, ""]) -> Array:
        present, absent = sum_scores(problem, key)
        return jnp.asarray(threshold_attack(present, absent, problem.delta, _ALPHA).eps)


def _sum_budget(problem: AuditedSum, share: float) -> Array:
    return jnp.asarray(gaussian_eps(problem.delta, 1.0, share * float(problem.sigma)))


class AuditOfTraining(Claim[AuditedTraining]):
    """Train logistic regression by T gradient steps. In each step, every row takes part with a given probability. The
    gradients are clipped to norm 1, and normal noise of standard deviation s is added to their sum. The training is
    (eps, delta)-differentially private, where eps follows from the distribution of the privacy loss. Repeat the
    training many times with one additional row, the canary, and many times without the canary. Score each run by the
    margin of the canary.

    Use the first half of the runs for two choices. First, choose an event, which is a margin beyond a threshold.
    Second, choose whether this event is more probable with or without the canary. Use the second half to bound the
    probabilities of the event with and without the canary by exact limits, each at level alpha/2, where alpha = 1/20.
    Let p be the lower limit of the probability that was chosen as the larger one, and q the upper limit of the other
    probability. With probability at least 1 - alpha,

        log((p - delta)/q) <= eps.

    The test only checks that this probability is above 9/10.
    """

    title = "A canary audit of noisy gradient steps stays below their differential privacy budget with high probability"
    source = Source("jagielski2020", note="main result, for logistic regression on sampled rows")
    population = AuditedTrainings()
    relation = AtMost(delta=2 * _ALPHA)
    control = Control(
        "the audit stays below the eps of twice the noise, which a program promises if it silently halves the noise",
        lambda eps, problem: training_budget(problem, 2.0),
    )
    controls = "the lower limit on eps that an attack shows"
    unexplained = (
        "how far the audit stays below: the attack sees only the last weights, and few trainings cannot show rare "
        "events"
    )
    traced = False  # the limits are SciPy's
    trivial = "eps has no upper bound that is known in advance, since a budget can be infinite"

    def predict(self, problem: AuditedTraining) -> Array:
        return training_budget(problem)

    def measure(self, problem: AuditedTraining, key: Key[Array, ""]) -> Array:
        present, absent = np.asarray(training_scores(problem, key))
        return jnp.asarray(threshold_attack(present, absent, float(problem.delta), _ALPHA).eps)
