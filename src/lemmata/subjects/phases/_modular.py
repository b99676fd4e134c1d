"""Quadratic two-layer networks that learn addition modulo a prime: one action for each pair of frequencies."""

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
    """Return the action S/P = F + G - 2 u F G + (gamma/3)(F³ + G³) of a unit at the frequencies ±k.

    The unit has the powers F = |w_k|² and G = |v_k|² at these frequencies. If only the part |a| of the teacher is left,
    replace u by u a².

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

    The network is in equilibrium. The input x has ones at n and P + m, and is 0 elsewhere. The priors are w ~ N(0, I),
    cut by a decay of sixth order, and a ~ N(0, s/N). Labels have noise of variance sigma². Let u = 2 s P²/(N sigma⁴)
    and w_n = sum w_k e^(-2 pi i k n/P), and define v_k of the other P weights in the same way. A unit's frequencies are
    independent with density exp(-P `modular_action`). On the whole teacher, the units' kernel has a single eigenvalue
    lambda = 4 P² s E[F G]. So the unlearned part is a y, where a = sigma²/(sigma² + lambda).

    Args:
        prime: P. The formulas need an odd P of at least 3, so that no frequency k equals its own -k. They do not need a
            prime P.
        width: the number of units N.
        readout_variance: the variance s of the readouts, times N.
        decay: the decay gamma.

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
        """Return the interaction u = 2 s P²/(N sigma⁴) at noise sigma², which must be above 0."""
        check_real("noise", noise, "finite, above 0", lambda found: found > 0, several=True)
        return 2 * self.readout_variance * self.prime**2 / (self.width * noise**2)

    @property
    def critical_interaction(self) -> float:
        """The value sqrt(4 gamma/3) of u a². At this value, S/P for F = G, which is 2F (1 - u a² F + gamma F²/3), has
        a double root.
        """
        return float(np.sqrt(4 * self.decay / 3))

    @property
    def power(self) -> float:
        """The power F = G = sqrt(3/gamma) of units that have the frequency, in the mixed phase; the double root."""
        return float(np.sqrt(3 / self.decay))

    @property
    def critical_noise(self) -> float:
        """The noise sigma² at which the first units turn to the teacher."""
        return float(np.sqrt(self.interaction(1.0) / self.critical_interaction))

    def amplitude(self, noise: float) -> float:
        """Return a, the unlearned part of the teacher for large P: 1 at first, then sigma² over its critical value.

        After the transition, u a² stays at its critical value as long as a fraction of units of at most 1 is enough for
        this value. Without noise, a is 0.

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

        A mixed phase exists only if this number is at most 1.
        """
        _check_noise(noise)
        return max(0.0, self.critical_noise - noise) / (4 * self.prime**2 * self.readout_variance * self.power**2)


def _check_noise(noise: float) -> None:
    check_real("noise", noise, "finite, at least 0", lambda found: found >= 0)
