"""Units of a quadratic network on pairs of residues, and models of modular addition past their transition."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Population, Real, Space
from lemmata.subjects.phases import ModularAddition

PRIMES = ("5", "7", "11", "13", "17")


class ModularUnit(eqx.Module):
    """One unit (w_n + v_m)² on the pairs (n, m) of residues.

    Args:
        first: w, of the first residue.
        second: v, of the second one.
    """

    first: Float[Array, " P"]
    second: Float[Array, " P"]

    def powers(self) -> tuple[Float[Array, " modes"], Float[Array, " modes"]]:
        """The squared sizes of w_k and v_k, w_n = sum over k of w_k e^(-2 pi i kn/P), at the frequencies 1, 2, ..."""
        return tuple(jnp.abs(jnp.fft.fft(w)[1:] / len(w)) ** 2 for w in (self.first, self.second))  # pyright: ignore


class ModularUnits(Population[ModularUnit]):
    """Normal weights, one frequency of which is stronger."""

    free = ("first",)

    def settings(self) -> Space:
        """The prime, and how strong."""
        return Space(
            prime=Choice("7", PRIMES, "the modulus"),
            strength=Real(2.0, 0.0, 20.0, "amplitude of the first frequency"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ModularUnit:
        """Independent weights, and cosines with independent phases."""
        prime, keys = int(setting["prime"]), jax.random.split(key, 3)
        phases = jax.random.uniform(keys[0], (2, 1)) + jnp.arange(prime) / prime
        waves = setting["strength"] * jnp.cos(2 * jnp.pi * phases)
        return ModularUnit(
            *(wave + jax.random.normal(own, (prime,)) for wave, own in zip(waves, keys[1:], strict=True))
        )

    def hypotheses(self, problem: ModularUnit) -> list[Hypothesis]:
        """Weights that are not 0."""
        first, second = problem.powers()
        size = jnp.min(jnp.concatenate([first, second]))
        return [Hypothesis("the least power of a frequency", size, ">", 0.0, "its part of the kernel is not 0")]


class MixedAddition(eqx.Module):
    """A model of modular addition, seen at a growing prime with all else that matters held fixed.

    Args:
        decay: gamma.
        noise: sigma² over its critical value.
        load: 4 P² s F² over the critical sigma², the most that units could learn.
    """

    decay: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    load: float = eqx.field(static=True)

    def model(self, prime: int = 101) -> ModularAddition:
        """The model whose critical noise is 1."""
        power, critical = np.sqrt(3 / self.decay), np.sqrt(4 * self.decay / 3)
        readout = self.load / (4 * prime**2 * power**2)
        width = 2 * readout * prime**2 / critical
        return ModularAddition(prime, float(width), float(readout), self.decay)


class MixedAdditions(Population[MixedAddition]):
    """Noise below the critical one."""

    def settings(self) -> Space:
        """The decay and the most that units could learn."""
        return Space(
            decay=Real(0.5, 0.1, 2.0, "decay gamma of sixth order", corners=(0.3, 1.0)),
            load=Real(10.0, 2.0, 1000.0, "most that units could learn, over the critical noise", corners=(5.0, 20.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixedAddition:
        """Noise of 0.5 to 0.9 of the critical one, decay within a fifth of the setting."""
        drawn = np.asarray(jax.random.uniform(key, (2,)))
        decay = float(setting["decay"] * 1.25 ** (2 * drawn[0] - 1))
        return MixedAddition(decay, float(0.5 + 0.4 * drawn[1]), setting["load"])

    def hypotheses(self, problem: MixedAddition) -> list[Hypothesis]:
        """A mixed phase."""
        share = problem.model().droplets(problem.noise)
        return [
            Hypothesis("sigma² over its critical value", jnp.asarray(problem.noise), "<", 1.0, "else nothing turns"),
            Hypothesis("the fraction of units that turn", jnp.asarray(share), "<", 1.0, "else all have turned"),
        ]
