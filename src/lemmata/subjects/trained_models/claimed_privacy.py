"""Claimed privacy: whether the losses of members and other rows contradict the privacy that is claimed for a training.

The theory gives a lower limit on eps, the privacy parameter of a training. It assumes that training rows and held-out
rows were separated at random. It does not say how far a weak attack stays below the true eps, so a small limit is not
evidence for privacy.
"""

import importlib.util
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Control, Hypothesis, Integer, Kind, Population, Real, Source, Space
from lemmata.facts import FACTS
from lemmata.subjects.privacy import ThresholdAttack, gaussian_eps, privacy_spent, threshold_attack
from lemmata.subjects.trained_models import Trained, read_model, read_task

from ._fresh_rows import copies_of, enough_held_out, fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_outputs, held_rows, training_outputs

ABOUT = {"tool": "statistics", "architecture": "any", "object": "memory"}


def margins(params: dict, x: Array) -> Array:
    """Return the logits -x'w/2 and x'w/2 of two classes, where x is a row and w are the weights."""
    return (x @ params["w"])[:, None] * jnp.array([-0.5, 0.5])


def noisy_sum(
    rng: np.random.Generator, x: Float[np.ndarray, "n d"], y: np.ndarray, eps: float
) -> dict[str, Float[np.ndarray, " d"]]:
    """The sum of the rows, each times the sign of its class, plus Laplace noise of scale 1/eps in each coordinate.

    Rows of 1-norm at most 1 move the sum by at most 1 in this norm. So the noisy sum is eps-differentially private for
    adding or removing one row.
    """
    return {"w": (2 * y - 1) @ x + rng.laplace(scale=1 / eps, size=x.shape[1])}


class ReleasedMemberships(Population[Trained]):
    """n training rows and n held-out rows, each a different vector of the standard basis, in two random classes.

    The model is one step of descent from 0 on the mean of -(2y - 1) x'w, with Laplace noise. The claimed privacy is
    exactly the privacy of this noise. A row's margin is 1 for a training row and 0 for a held-out row, plus the noise.
    So no attack on this model is better than an attack by the loss.
    """

    settings = Space(
        n=Integer(300, 50, 2000, "training rows, and as many held-out rows", corners=(200, 400)),
        eps=Real(1.5, 0.01, 20.0, "eps of the release", corners=(1.0, 2.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        rng, n = np.random.default_rng(np.asarray(jax.random.key_data(key))), setting["n"]
        x, y = np.eye(2 * n), rng.integers(0, 2, 2 * n)
        y[:2] = 0, 1  # both classes are seen
        model = read_model((margins, noisy_sum(rng, x[:n], y[:n], setting["eps"])))
        task = read_task(model, x[:n], y[:n])
        held = x[n:], task.encode(y[n:])
        return Trained(model, task, x[:n], task.encode(y[:n]), held, claimed=(setting["eps"], 1e-6))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        held = 0 if problem.held is None else int(fresh_rows(problem).sum())
        own = float((~copies_of(problem).within).sum())
        return [
            Hypothesis(FACTS["claimed"].given, float(problem.claimed is not None), ">=", 1.0,
                       "pass --epsilon and --delta, or claimed="),
            enough_held_out(held),
            Hypothesis("training rows without a duplicate", own, ">=", 20.0,
                       "privacy protects a single row, and a duplicated row is in the training set twice"),
            Hypothesis.unchecked("training rows and held-out rows were separated by chance alone",
                                 "otherwise the attack also detects the difference between the two distributions"),
        ]  # fmt: skip


_ROWS, _FEATURES = 40, 4


def concentrated_budget(noise: float, steps: int, delta: float) -> float:
    """The eps of zero-concentrated privacy: rho + 2 (rho log(1/delta))^(1/2), where rho = steps/(2 noise²).

    The noise is in units of the clipping norm.
    """
    rho = steps / (2 * noise**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


class NoisedTrainings(Population[Trained]):
    """Descent on all rows with clipped gradients and normal noise.

    Its claimed eps is that of zero-concentrated privacy.
    """

    settings = Space(
        noise=Real(4.0, 0.1, 1000.0, "noise in units of the clipping norm", corners=(2.0, 8.0)),
        steps=Integer(20, 1, 10_000, "steps", corners=(10, 40)),
        delta=Real(1e-5, 1e-12, 0.1, "delta of the claimed privacy", corners=(5e-6, 2e-5)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw rows, and take noisy steps on them; the noise is varied by up to a factor of 2."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        noise, steps, delta = setting["noise"] * 2 ** rng.uniform(-1, 1), setting["steps"], setting["delta"]
        x, y = rng.normal(size=(_ROWS, _FEATURES)), rng.permutation(np.arange(_ROWS) % 2)
        x, w = x / np.linalg.norm(x, axis=1, keepdims=True), np.zeros(_FEATURES)
        for _ in range(steps):
            slope = (1 / (1 + np.exp(-x @ w)) - y) @ x  # each row's gradient is at most 1 long: clipped at 1
            w = w - (slope + noise * rng.normal(size=_FEATURES)) / _ROWS
        model = read_model((margins, {"w": jnp.asarray(w)}))
        task = read_task(model, x, y)
        claimed = concentrated_budget(noise, steps, delta), delta
        return Trained(model, task, x, task.encode(y), claimed=claimed, noised=(1.0, noise, steps))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        known = problem.noised is not None
        found = [
            Hypothesis(FACTS["noised"].given, float(known), ">=", 1.0,
                       'state privacy = {"sampling": q, "noise": sigma, "steps": T}, or pass noised='),
            Hypothesis(FACTS["claimed"].given, float(problem.claimed is not None), ">=", 1.0,
                       "pass --epsilon and --delta, or claimed="),
        ]  # fmt: skip
        if problem.claimed is not None:
            found.append(
                Hypothesis("claimed delta", problem.claimed[1], ">", 0.0, "normal noise cannot give a delta of 0")
            )
        if known and problem.noised is not None and problem.noised[0] < 1:
            there = float(importlib.util.find_spec("dp_accounting") is not None)
            remedy = "pip install 'lemmata[privacy]'"
            found.append(
                Hypothesis(
                    f"dp-accounting is installed ({remedy})",
                    there,
                    ">=",
                    1.0,
                    "the accountant for sampled rows needs this package",
                )
            )
        return [
            *found,
            Hypothesis.unchecked("each row took part independently at random, and its gradient was clipped",
                                 "fixed-size batches and shuffled batches spend another eps"),
        ]  # fmt: skip


ALPHA = 0.05
_LEAST = 1e-12  # a delta of 0, to rounding


def loss_attack(problem: Trained) -> ThresholdAttack:
    """Attack by a threshold on minus the loss: training rows against held-out rows, both without duplicates.

    Both sets are shuffled, because files are often sorted. Half of each set then chooses the threshold.

    Args:
        problem: the model with its training rows, its held-out rows and the claimed privacy.
    """
    assert problem.claimed is not None
    y = held_rows(problem)[1]
    rng, task = np.random.default_rng([problem.seed, 21]), problem.task
    alone, new = ~copies_of(problem).within, fresh_rows(problem)
    members = -task.losses(training_outputs(problem)[alone], problem.y[alone])
    others = -task.losses(held_outputs(problem)[new], y[new])
    delta = max(problem.claimed[1], _LEAST)
    return threshold_attack(rng.permutation(members), rng.permutation(others), delta, ALPHA)


class ClaimedPrivacyBoundsTheAttack(AbstractGauge):
    """Let a training procedure be (eps, delta)-differentially private for adding or removing a row. For each of a set
    of independent rows, a coin decides whether it is a training row or a held-out row. An attack calls a row a member
    if the loss of the trained model on this row is on one side of a threshold. The threshold is chosen on half of the
    rows, and the attack is tested on the other half. In this other half, the attack calls one share of the training
    rows and one share of the held-out rows members. Let p be the lower exact (Clopper-Pearson) limit for one of these
    two shares, and let q be the upper limit for the other. Each limit fails with probability at most alpha/2. Then

        log((p - delta)/q) <= eps

    with probability at least 1 - alpha, where alpha = 1/20. If this inequality fails for a single model, this model is
    enough to refute the claimed privacy.
    """

    title = "The eps that a loss attack shows is at most the claimed eps of differential privacy"
    source = Source(
        "jagielski2020", note="limits from many training runs; here from the many rows of a single training run"
    )
    stated = Kind.OWN
    population = ReleasedMemberships()
    relation = AtMost(delta=ALPHA)
    control = Control("the eps is at most half of the claimed eps", lambda eps, problem: eps / 2)
    controls = "a lower confidence limit on eps, computed from the losses of a single model"
    unexplained = "attacks that use more than one loss of a row or plant rows of their own, which may show a larger eps"
    traced = False  # the limits are SciPy's
    trivial = "a privacy budget may be infinite"

    def passes(self, problem: Trained) -> float:
        return 2.0

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if problem.held is None or fresh_rows(problem).sum() < 4:
            return []
        assert problem.claimed is not None
        most = loss_attack(problem).ceiling
        why = "even the most unfavourable losses of so few rows could not refute the claimed privacy"
        return [Hypothesis("claimed eps, relative to the largest eps that these rows could show",
                           problem.claimed[0] / most if most > 0 else np.inf, "<", 1.0, why)]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        assert problem.claimed is not None
        return jnp.asarray(problem.claimed[0])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Attack training rows and held-out rows by their losses, with exact limits."""
        return jnp.asarray(loss_attack(problem).eps)


class ClaimCoversItsSteps(AbstractGauge):
    """Let a training procedure claim to be (eps, delta)-differentially private. The procedure takes T steps, and each
    row takes part in each step with probability q. In each step the gradients are clipped to a norm, and normal noise
    with a standard deviation of sigma times that norm is added to their sum. The claimed eps is at least the eps that
    these steps spend at the claimed delta. A privacy accountant bounds the spent eps from above. This accountant uses
    the exact Gaussian curve if q = 1, and the distribution of the privacy loss if q is smaller. The claimed eps may
    come from a looser accountant. For example, zero-concentrated privacy gives, at q = 1, the eps

        rho + 2 (rho log(1/delta))^(1/2),   rho = T/(2 sigma²),

    which is at least the spent eps.
    """

    title = "A claimed eps of differential privacy is at least the eps that the noisy training steps spend"
    source = Source("bun2016concentrated", "Proposition 1.3", note="here with the rho of T Gaussian releases")
    population = NoisedTrainings()
    relation = AtMost()
    control = Control("half of the claimed eps is at least the eps that the steps spend", lambda eps, problem: eps / 2)
    controls = "the eps that noisy steps spend, compared with the claimed eps"
    unexplained = "whether the program does what it states, which an attack on its losses may show"
    traced = False  # the accountants are SciPy's and dp-accounting's
    trivial = "a privacy budget may be infinite"

    def passes(self, problem: Trained) -> float:
        return 1.0

    def predict(self, problem: Trained) -> Array:
        assert problem.claimed is not None
        return jnp.asarray(problem.claimed[0])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compute the eps of the stated steps, from the exact curve or from the distribution of the privacy loss."""
        assert problem.claimed is not None
        assert problem.noised is not None
        (rate, noise, steps), delta = problem.noised, problem.claimed[1]
        exact = rate == 1  # then T steps are as private as one step with 1/sqrt(T) times the noise
        eps = gaussian_eps(delta, steps**0.5, noise) if exact else privacy_spent(noise, rate, steps, delta).eps
        return jnp.asarray(float(eps))
