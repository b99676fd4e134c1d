"""Learning curves from spectra: power laws of eigenvalues and of coefficients make power laws of the error.

This theory describes the error of learners that learn modes (eigenfunctions) in order. The error depends on the energy
of the target beyond the learned modes, which is its sum of squared coefficients there. It assumes spectra that are
power laws and features that are independent normal variables. It does not explain the origin of the spectra of real
data.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Limit, Rate, Real, Source
from lemmata.engine.problems.drawn import Condition, Drawn, positive, signs

ABOUT = {"tool": "spectral theory", "architecture": "kernel method", "object": "generalisation"}


class PowerSpectrum(eqx.Module):
    """Eigenvalues j^-decay of a kernel and squared coefficients j^-(1 + tail) of a target, for j = 1, 2, ....

    Args:
        decay: the exponent a > 1 of the eigenvalues j^-a.
        share: the ratio r/(2a), where r > 0 is the tail exponent: the target's energy beyond m modes falls as m^-r.
        signs: the signs of the first coefficients of the target; the number of signs is the number of modes.
    """

    decay: Float[Array, ""]
    share: Float[Array, ""]
    signs: Float[Array, "modes"]

    @property
    def tail(self) -> Float[Array, ""]:
        """The power r."""
        return 2 * self.decay * self.share

    @property
    def modes(self) -> Float[Array, "modes"]:
        """The numbers 1, 2, ... of the modes."""
        return jnp.arange(1.0, len(self.signs) + 1.0)

    @property
    def coefficients(self) -> Float[Array, "modes"]:
        """The square roots of j^-(1 + tail), with their signs."""
        return self.signs * self.modes ** (-(1 + self.tail) / 2)


def _power_spectra(decay: Real, share: Real, *conditions: Condition, modes: int = 2000) -> Drawn:
    """Return a generator of problems with the set decays and shares, and random signs."""
    return Drawn(
        PowerSpectrum,
        lambda own: Hypothesis(
            "the trace of the kernel is finite: a", own.decay, ">", 1.0, "otherwise the kernel has an infinite trace"
        ),
        positive("tail", "otherwise the target has infinite energy"),
        *conditions,
        decay=decay,
        share=share,
        signs=signs(modes),
    )


_SIZES = (16.0, 32.0, 64.0, 128.0, 256.0)
_KERNEL = Source("cui2021", note="main result, the regime without noise and without a ridge")


def _kernel_error(problem: PowerSpectrum, key: Key[Array, ""], n: int) -> Float[Array, ""]:
    """Return the error of interpolating n values without noise, for independent normal features.

    The mean over new inputs is exact. Of many high modes, only sums matter. Omitted modes add the sum of their
    eigenvalues to the diagonal of the kernel matrix. They also add noise to the values; its variance is the energy of
    the omitted modes. For few rows, the error is averaged over several tables, because the errors on small tables vary
    most.
    """
    values, end = problem.modes**-problem.decay, problem.modes[-1] + 0.5
    diagonal = end ** (1 - problem.decay) / (problem.decay - 1) * jnp.eye(n)
    energy = end**-problem.tail / problem.tail
    errors = []
    for each in jax.random.split(key, max(1, int(_SIZES[-1]) // n)):
        drawn = jax.random.normal(each, (n, len(problem.signs) + 1))
        features, noise = drawn[:, 1:], jnp.sqrt(energy) * drawn[:, 0]
        weights = jnp.linalg.solve((features * values) @ features.T + diagonal, features @ problem.coefficients + noise)
        errors.append(energy + jnp.sum((problem.coefficients - values * (features.T @ weights)) ** 2))
    return jnp.mean(jnp.stack(errors))


class TailExponent(Claim[PowerSpectrum]):
    """Let a kernel have the eigenvalues j^-a, and let a target have the squared coefficients j^-(1+r), where r < 2a.
    Interpolate n values of the target without noise. The squared error on new inputs falls as n^-r. The energy of the
    target beyond its first n modes falls at the same rate.
    """

    title = "The error of kernel interpolation at n points falls like the target's energy beyond its first n modes"
    source = _KERNEL
    population = _power_spectra(
        Real(1.5, 1.2, 3.0, "a", corners=(1.3, 1.8)),
        Real(0.27, 0.1, 0.6, "r/(2a)", corners=(0.2, 0.35)),
        lambda own: Hypothesis("r is below 2a (share)", own.share, "<", 1.0, "a smoother target is learned as n^-2a"),
    )
    relation = Rate("n", _SIZES, margin=0.1, resolution=0.1)
    control = Control("the error falls as n^(-r/2)", lambda rate, problem: rate / 2)
    controls = "the learning curve of kernel regression"
    unexplained = "noise in the values, which changes the exponent"
    trials = 24
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def predict(self, problem: PowerSpectrum) -> Array:
        return -problem.tail

    def measure_at(self, problem: PowerSpectrum, key: Key[Array, ""], n: float) -> Array:
        return _kernel_error(problem, key, int(n))


class SaturatedTail(Claim[PowerSpectrum]):
    """Let a kernel have the eigenvalues j^-a, and let a target have the squared coefficients j^-(1+r), where r > 2a.
    Interpolate n values of the target without noise. The squared error falls as n^-2a, even if the coefficients of the
    target fall faster. The reason is that interpolation acts like ridge regression with an effective ridge of order
    n^(1-a), which makes the learned coefficients of the first modes too small.
    """

    title = "For smooth targets and kernel eigenvalues j^-a, the error of kernel interpolation falls only like n^-2a"
    source = _KERNEL
    population = _power_spectra(
        Real(2.0, 1.7, 3.0, "a", corners=(1.9, 2.3)),  # the closer to 1, the more rows it takes
        Real(1.6, 1.4, 3.0, "r/(2a)", corners=(1.5, 1.8)),
        lambda own: Hypothesis("r is above 2a (share)", own.share, ">", 1.0, "a rougher target is learned as n^-r"),
    )
    relation = Rate("n", _SIZES, margin=0.1, resolution=0.1)
    control = Control("the error falls as n^(-2a - 1/2)", lambda rate, problem: rate - 0.5)
    controls = "the learning curve of kernel regression on smooth targets"
    unexplained = "kernels that are chosen for the smoothness of the target"
    trials = 24
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def predict(self, problem: PowerSpectrum) -> Array:
        return -2 * problem.decay

    def measure_at(self, problem: PowerSpectrum, key: Key[Array, ""], n: float) -> Array:
        return _kernel_error(problem, key, int(n))


class SpectralCutoff(Claim[PowerSpectrum]):
    """The energy of a target beyond its first m modes is the sum of the other squared coefficients. Let this energy be
    at most C m^-r for every m, where C is a constant. Let a learner estimate the first m(n) ~ n^gamma coefficients from
    n values of the target. Suppose that the squared error of these estimates is at most of the order of the energy
    beyond the first m(n) modes. Then the excess error of this learner is at most of order n^(-r gamma).

    In the test, the learner is least squares on the first n^(1/2) modes, so gamma = 1/2. The other modes of the target
    act as noise.
    """

    title = "If a learner learns the first modes, the target's energy in the other modes bounds its error"
    source = Source("emergence2026", "Proposition 17.6", "Figure 17.9")
    population = _power_spectra(
        Real(1.5, 1.05, 5.0, "a", corners=(1.3, 1.8)), Real(0.3, 0.1, 1.5, "r/(2a)", corners=(0.25, 0.35)), modes=4
    )
    relation = Rate("n", (64.0, 256.0, 1024.0, 4096.0), upper=True, margin=0.03, resolution=0.05)
    control = Control(
        "the error falls as n^-r, as if as many modes as values were learned", lambda rate, problem: 2 * rate
    )
    controls = "the excess error of a learner of finitely many modes"
    unexplained = "how many modes a network learns from n values"
    trials = 32
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def predict(self, problem: PowerSpectrum) -> Array:
        return -problem.tail / 2

    def measure_at(self, problem: PowerSpectrum, key: Key[Array, ""], n: float) -> Array:
        """Return the exact energy of the tail, plus the error that the tail causes in the coefficients."""
        modes = round(n**0.5)
        # of a normal tail only the sum counts: independent of the first modes, normal, with the tail's energy
        ends = jnp.arange(1.0, 20_001.0)
        # what is left of the sum beyond is an integral, to 1e-9
        beyond = (ends[-1] + 0.5) ** -problem.tail / problem.tail
        energy = jnp.sum(jnp.where(ends > modes, ends ** -(1 + problem.tail), 0.0)) + beyond
        feature_key, tail_key = jax.random.split(key)
        features = jax.random.normal(feature_key, (int(n), modes))
        noise = jnp.sqrt(energy) * jax.random.normal(tail_key, (int(n),))
        wrong = jnp.linalg.solve(features.T @ features, features.T @ noise)
        return energy + jnp.sum(wrong**2)


class EffectiveModes(Claim[PowerSpectrum]):
    """Let a spectrum have the eigenvalues j^-a with a > 1. The effective dimension at the ridge mu counts the
    directions that this ridge does not suppress. As mu falls to 0, the effective dimension is

        sum over j of 1/(1 + mu j^a) = mu^(-1/a) (pi/a)/sin(pi/a) (1 + o(1)).

    The test measures the effective dimension divided by mu^(-1/a).
    """

    title = "The effective dimension of a power-law spectrum is a power of the ridge"
    source = Source("emergence2026", "Figure 17.10", note="with the constant, for a power law")
    # what is left out is close to mu^(1/a)/2, so that a large decay needs a smaller ridge
    population = _power_spectra(Real(2.0, 1.4, 3.0, "a", corners=(1.6, 2.6)), Real(0.5, 0.1, 3.0, "r/(2a)"), modes=4)
    relation = Limit("1/mu", (1e2, 1e3, 1e4, 1e5), margin=0.03, resolution=0.02)
    control = Control("the effective dimension is mu^(-1/a), without the constant", lambda value, problem: jnp.ones(()))
    controls = "how many directions of a kernel are visible at a ridge"
    unexplained = "spectra that are not power laws"
    trials = 16

    def predict(self, problem: PowerSpectrum) -> Array:
        angle = jnp.pi / problem.decay
        return angle / jnp.sin(angle)

    def measure(self, problem: PowerSpectrum, key: Key[Array, ""]) -> Array:
        """Sum over 2^17 modes; the others are j^-a/mu - j^-2a/mu² up to rounding, and are summed as integrals."""
        modes, a = jnp.arange(1.0, 2**17 + 1.0), problem.decay

        def scaled(inverse: Float[Array, ""]) -> Float[Array, ""]:
            end = modes[-1] + 0.5
            tail = inverse * end ** (1 - a) / (a - 1) - inverse**2 * end ** (1 - 2 * a) / (2 * a - 1)
            return (jnp.sum(1 / (1 + modes**a / inverse)) + tail) * inverse ** (-1 / a)

        return jax.lax.map(scaled, jnp.asarray(self.relation.rungs))
