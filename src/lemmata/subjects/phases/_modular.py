"""Quadratic two-layer networks that learn addition modulo a prime: the action of a unit at each pair of frequencies."""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from lemmata.core import check_real, check_whole
from lemmata.errors import SettingError


def modular_action(
    first: Float[np.ndarray, "*s"] | float,
    second: Float[np.ndarray, "*s"] | float,
    interaction: float,
    decay: float,
):
    """Return the action S/P = F + G - 2 u F G + (gamma/3)(F³ + G³) of a unit at the frequencies ±k, for modulus P.

    The unit has the powers F = |w_k|² and G = |v_k|² at these frequencies, as in `ModularAddition`. If the part a of
    the teacher is not learned, and the rest is, replace u by u a².

    Args:
        first: the power F, at least 0.
        second: the power G, at least 0.
        interaction: the interaction u a², at least 0.
        decay: the decay gamma, at least 0.

    Raises:
        SettingError: for numbers that are negative or not finite.

    Example:
        >>> from lemmata.subjects.phases import modular_action
        >>> modular_action(1.0, 1.0, 2.0, 3.0)  # 2 - 4 + 2
        0.0
    """
    for name, given in (("first", first), ("second", second), ("interaction", interaction), ("decay", decay)):
        check_real(name, given, "finite, at least 0", lambda found: found >= 0, several=True)
    return first + second - 2 * interaction * first * second + decay / 3 * (first**3 + second**3)


class ModularAddition(eqx.Module):
    """A network f_p(x) = sum_i a_pi (w_i'x)² of N units learns y_p = [p = n + m mod P] - 1/P on all pairs (n, m).

    The bracket is 1 if the equation holds, and 0 otherwise. The network is in equilibrium: its parameters have the
    posterior distribution. The input x has ones at n and P + m, and is 0 elsewhere. The priors are a ~ N(0, s/N) and w
    ~ N(0, I) with a weight decay of sixth order. Labels have noise of variance sigma². Let u = 2 s P²/(N sigma⁴). The
    first P weights of a unit have the Fourier coefficients w_k in w_n = sum w_k e^(-2 pi i k n/P). The other P weights
    have coefficients v_k. A unit's frequencies are independent with density exp(-P `modular_action`), up to a factor.
    The kernel of the units has a single eigenvalue lambda = 4 P² s E[F G] on the teacher. Therefore the part that is
    not learned is a y, where a = sigma²/(sigma² + lambda).

    Args:
        prime: the modulus P. The formulas require an odd P of at least 3, so that no frequency k equals -k modulo P.
            The formulas do not require a prime P.
        width: the number N of units.
        readout_variance: the variance of the readout weights times N, called s above.
        decay: the coefficient gamma of the decay of sixth order.

    Raises:
        SettingError: for a P that is not an odd whole number, and for other numbers that are not finite and positive.
    """

    prime: int = eqx.field(static=True)
    width: int | float = eqx.field(static=True)
    readout_variance: float = eqx.field(static=True)
    decay: float = eqx.field(static=True)

    def __check_init__(self):
        check_whole("prime", self.prime, 3, "residues")
        if self.prime % 2 == 0:
            raise SettingError(
                "prime", found=self.prime, rule="an odd number, because for an even P the frequency P/2 has no partner"
            )
        for name in ("width", "readout_variance", "decay"):
            check_real(name, getattr(self, name), "finite, above 0", lambda found: found > 0)

    def interaction(self, noise: float) -> float:
        """Return the interaction u = 2 s P²/(N sigma⁴) at the noise variance sigma², which must be above 0."""
        check_real("noise", noise, "finite, above 0", lambda found: found > 0, several=True)
        return 2 * self.readout_variance * self.prime**2 / (self.width * noise**2)

    @property
    def critical_interaction(self) -> float:
        """The critical value sqrt(4 gamma/3) of u a². For F = G, S/P is 2F (1 - u a² F + gamma F²/3). At the critical
        value, this function of F has a double root.
        """
        return float(np.sqrt(4 * self.decay / 3))

    @property
    def power(self) -> float:
        """The power F = G = sqrt(3/gamma) of units that have a frequency in the mixed phase: the double root of S/P."""
        return float(np.sqrt(3 / self.decay))

    @property
    def critical_noise(self) -> float:
        """The noise variance sigma² at which the first units align with the teacher."""
        return float(np.sqrt(self.interaction(1.0) / self.critical_interaction))

    def amplitude(self, noise: float) -> float:
        """Return the part a of the teacher that is not learned, for large P.

        This part is sigma²/`critical_noise`, at most 1.

        After the transition, u a² stays at its critical value, as long as the necessary fraction of units is at most 1.
        Without noise, a is 0.

        Raises:
            SettingError: for a noise at which `droplets` is above 1.
        """
        _check_noise(noise)
        if self.droplets(noise) > 1:
            raise SettingError(
                "noise",
                found=f"{noise:g}, for which droplets is {self.droplets(noise):.3g}",
                rule="a noise for which droplets is at most 1, because the formula fails once all units have turned to "
                "the teacher",
                remedy="use more noise, or a larger readout_variance",
            )
        return min(1.0, noise / self.critical_noise)

    def droplets(self, noise: float) -> float:
        """Return the fraction of units that have a given frequency for large P, (sigma²_c - sigma²)/(4 P² s F²).

        In this formula, sigma²_c is `critical_noise` and F is `power`. Above the critical noise, the fraction is 0. A
        mixed phase exists only if this number is at most 1.
        """
        _check_noise(noise)
        return max(0.0, self.critical_noise - noise) / (4 * self.prime**2 * self.readout_variance * self.power**2)


def _check_noise(noise: float) -> None:
    check_real("noise", noise, "finite, at least 0", lambda found: found >= 0)
