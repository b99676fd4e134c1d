"""Functions on the circle with kinks, by degree, and balls of the softmax kernel's space."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._sphere_kernels import log_coefficients

_DEGREES = 1024  # beyond them lies a thousandth of the squared tail at degree 128


class KinkedFunction(eqx.Module):
    """A function on the unit circle by its parts, and a ball of the kernel <x, y> exp(sigma² <x, y>).

    Args:
        power: |f_q|², the squared L2 norms of the parts of degree q = 0, 1, ...; they sum to 1.
        log_kappa: the logarithms of the kernel's eigenvalues.
        log_radius: log R, the logarithm of the squared radius of the ball.
    """

    power: Float[Array, " q"]
    log_kappa: Float[Array, " q"]
    log_radius: Float[Array, ""]


class KinkedFunctions(Population[KinkedFunction]):
    """Random sums of |cos(theta - phi_j)|, and the ball of squared radius R = |f|²/kappa_k of a degree k.

    Args:
        kinks: how many terms.
        least: the smallest setting of sigma.
    """

    kinks: int = 3
    least: float = 0.3

    def settings(self) -> Space:
        """The degree and the largest standard deviation of the weights."""
        return Space(
            k=Integer(16, 8, 128, "degree at which the ball is taken", step=2),
            sigma=Real(0.6, self.least, 1.0, "largest standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KinkedFunction:
        """Uniform phases, normal weights and a standard deviation between a half of the setting and all of it."""
        drawn = jax.random.uniform(key, (2 * self.kinks + 1,))
        q = np.arange(_DEGREES + 1.0)
        kink = np.zeros(len(q))
        kink[::2] = 2 * (2 / np.pi) ** 2 / (q[::2] ** 2 - 1) ** 2
        kink[0] /= 2
        phases, weights = 2 * jnp.pi * drawn[: self.kinks], jax.scipy.stats.norm.ppf(drawn[self.kinks : -1])
        power = kink * jnp.abs(jnp.exp(1j * q[:, None] * phases) @ weights) ** 2
        log_kappa = log_coefficients(setting["sigma"] * (1 + drawn[-1]) / 2, 2, _DEGREES)
        return KinkedFunction(power / power.sum(), log_kappa, -log_kappa[setting["k"]])

    def hypotheses(self, problem: KinkedFunction) -> list[Hypothesis]:
        """A kernel whose eigenvalues fall."""
        rise = jnp.diff(problem.log_kappa)[2:].max()
        return [Hypothesis("eigenvalues fall with the degree", rise, "<", 0.0, "the next degree is what is missed")]
