"""Targets and kernels whose spectra are power laws."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space


class PowerSpectrum(eqx.Module):
    """Eigenvalues j^-decay of a kernel and squared coefficients j^-(1 + tail) of a target, j = 1, 2, ...

    Args:
        decay: a > 1.
        tail: r > 0: the energy beyond m modes falls as m^-r.
        signs: of the first coefficients.
    """

    decay: Float[Array, ""]
    tail: Float[Array, ""]
    signs: Float[Array, "modes"]

    @property
    def modes(self) -> Float[Array, "modes"]:
        """1, 2, ..."""
        return jnp.arange(1.0, len(self.signs) + 1.0)

    @property
    def coefficients(self) -> Float[Array, "modes"]:
        """The square roots of j^-(1 + tail), with their signs."""
        return self.signs * self.modes ** (-(1 + self.tail) / 2)


class PowerSpectra(Population[PowerSpectrum]):
    """Decays and tails near those of a setting, random signs.

    Args:
        decay: the setting of a.
        tail: the setting of r.
        modes: how many modes there are.
    """

    decay: Real = eqx.field(static=True)
    tail: Real = eqx.field(static=True)
    modes: int = eqx.field(static=True, default=2000)

    def settings(self) -> Space:
        """The two exponents."""
        return Space(decay=self.decay, tail=self.tail)

    def sample(self, setting: dict, key: Key[Array, ""]) -> PowerSpectrum:
        """Random signs."""
        decay, tail = jnp.asarray(setting["decay"]), jnp.asarray(setting["tail"])
        return PowerSpectrum(decay, tail, jax.random.rademacher(key, (self.modes,), float))

    def hypotheses(self, problem: PowerSpectrum) -> list[Hypothesis]:
        """A kernel of finite trace, a target of finite energy."""
        return [
            Hypothesis("the trace of the kernel is finite: a", problem.decay, ">", 1.0, "else it is no kernel"),
            Hypothesis("the energy of the target is finite: r", problem.tail, ">", 0.0, "else there is no target"),
        ]
