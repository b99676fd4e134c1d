"""Modular addition by a quadratic network: one transition for every pair of frequencies.

Units (w_n + v_m)² with readouts learn n + m mod P from all pairs (n, m), under a weight decay of sixth order
(`ModularAddition`). By symmetry, the only unknown is the part a of the teacher that is not learned, and the frequencies
of a unit are independent of each other. Each frequency has a power F in the first half of the weights and a power G in
the second. The theory gives the noise at which units with a frequency become as likely as units without a frequency,
and what is learned at lower noise. It leaves open finite widths, training on a part of the table, and more natural
weight decays. The decay of sixth order is chosen so that frequencies decouple.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import brentq, root

from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Limit,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.subjects.phases import ModularAddition, modular_action

ABOUT = {"tool": "Fourier analysis", "architecture": "dense network", "object": "generalisation"}

PRIMES = ("5", "7", "11", "13", "17")


class ModularUnit(eqx.Module):
    """One unit (w_n + v_m)² on the pairs (n, m) of residues. The field `first` is w, and `second` is v."""

    first: Float[Array, " P"]
    second: Float[Array, " P"]

    def powers(self) -> tuple[Float[Array, " modes"], Float[Array, " modes"]]:
        """Return |w_k|² and |v_k|² for k = 1, 2, ..., where w_n = sum over k of w_k e^(-2 pi i kn/P), same for v."""
        return tuple(jnp.abs(jnp.fft.fft(w)[1:] / len(w)) ** 2 for w in (self.first, self.second))  # pyright: ignore


class ModularUnits(Population[ModularUnit]):
    """Units with normal weights, in which one frequency is stronger."""

    free = ("first",)
    settings = Space(
        prime=Choice("7", PRIMES, "the modulus"),
        strength=Real(2.0, 0.0, 20.0, "amplitude of the first frequency"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ModularUnit:
        """Draw independent weights, and add cosines with independent phases."""
        prime, keys = int(setting["prime"]), jax.random.split(key, 3)
        phases = jax.random.uniform(keys[0], (2, 1)) + jnp.arange(prime) / prime
        waves = setting["strength"] * jnp.cos(2 * jnp.pi * phases)
        return ModularUnit(
            *(wave + jax.random.normal(own, (prime,)) for wave, own in zip(waves, keys[1:], strict=True))
        )

    def hypotheses(self, problem: ModularUnit) -> list[Hypothesis]:
        first, second = problem.powers()
        size = jnp.min(jnp.concatenate([first, second]))
        return [
            Hypothesis(
                "the least power of a frequency",
                size,
                ">",
                0.0,
                "otherwise the part of the kernel at this frequency is 0",
            )
        ]


class MixedAddition(eqx.Module):
    """A model of modular addition at a growing prime, with all other relevant numbers fixed.

    Args:
        decay: the decay gamma.
        noise: the noise sigma², divided by its critical value.
        load: the most that units could learn, 4 P² s F² divided by the critical sigma², where F is the power of aligned
            units.
    """

    decay: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    load: float = eqx.field(static=True)

    def model(self, prime: int = 101) -> ModularAddition:
        """Return the model with critical noise 1."""
        power, critical = np.sqrt(3 / self.decay), np.sqrt(4 * self.decay / 3)
        readout = self.load / (4 * prime**2 * power**2)
        width = 2 * readout * prime**2 / critical
        return ModularAddition(prime, float(width), float(readout), self.decay)


class MixedAdditions(Population[MixedAddition]):
    """Models of modular addition with noise below its critical value."""

    settings = Space(
        decay=Real(0.5, 0.1, 2.0, "decay gamma of sixth order", corners=(0.3, 1.0)),
        load=Real(10.0, 2.0, 1000.0, "most that units could learn, divided by the critical noise", corners=(5.0, 20.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixedAddition:
        """Draw noise of 0.5 to 0.9 times the critical noise, and a decay within a factor of 1.25 of the setting."""
        drawn = np.asarray(jax.random.uniform(key, (2,)))
        decay = float(setting["decay"] * 1.25 ** (2 * drawn[0] - 1))
        return MixedAddition(decay, float(0.5 + 0.4 * drawn[1]), setting["load"])

    def hypotheses(self, problem: MixedAddition) -> list[Hypothesis]:
        share = problem.model().droplets(problem.noise)
        return [
            Hypothesis(
                "sigma² divided by its critical value",
                jnp.asarray(problem.noise),
                "<",
                1.0,
                "otherwise no unit turns to the teacher",
            ),
            Hypothesis(
                "the fraction of units that turn to the teacher",
                jnp.asarray(share),
                "<",
                1.0,
                "otherwise all units have turned to the teacher",
            ),
        ]


_KEY = "rubin2024grokking"


def on_the_teacher(problem: ModularUnit) -> tuple[Float[Array, " modes"], Float[Array, ""]]:
    """Return |sum over (n, m) of e^(2 pi i k(n + m)/P)/P (w_n + v_m)²|² for k = 1, 2, ..., and the terms' size."""
    prime = len(problem.first)
    table = (problem.first[:, None] + problem.second[None, :]) ** 2
    sums = jnp.add.outer(jnp.arange(prime), jnp.arange(prime))
    waves = jnp.exp(2j * jnp.pi * (jnp.arange(1, prime)[:, None, None] * sums % prime) / prime) / prime
    return jnp.abs(jnp.sum(waves * table, axis=(1, 2))) ** 2, jnp.sum(table) / prime


class AbstractEigenvalue(Claim[ModularUnit]):
    """Statements about a unit's kernel on the waves e^(-2 pi i k(n + m)/P)/P, 0 < k < P, which span the teacher."""

    population = ModularUnits()
    relation = Equal()
    controls = "how much of the teacher the units learn"
    unexplained = "waves of two different frequencies, which the teacher does not have"

    def measure(self, problem: ModularUnit, key: Key[Array, ""]) -> Array:
        """Sum over the table of pairs."""
        return on_the_teacher(problem)[0]

    def condition(self, problem: ModularUnit) -> Array:
        found, scale = on_the_teacher(problem)
        return 4.0 * (1 + scale / jnp.sqrt(found))


class TeacherEigenvalue(AbstractEigenvalue):
    """Let a unit have weights w and v, and let its output on the pair (n, m) of residues modulo P be (w_n + v_m)². The
    kernel of the unit on two pairs is s (w_n + v_m)² (w_n' + v_m')², where s = sigma_a² and the readouts of N units
    have the variance s/N. For a frequency k, let w_k be the Fourier coefficient in w_n = sum over k of w_k e^(-2 pi i
    kn/P), and v_k likewise. For k = 1, ..., P - 1, the wave e^(-2 pi i k(n + m)/P)/P has norm 1 over all pairs. The
    quadratic form of the kernel at this wave is

        4 P² s |w_k|² |v_k|².

    If w, v ~ N(0, I), the mean of the quadratic form is 4 s, which is its value for the kernel at infinite width.
    """

    title = "On the waves of modular addition, the quadratic form of a quadratic unit's kernel has a closed form"
    source = Source(_KEY, "Abstract, analytical predictions", note="from the table of pairs")
    control = Control(
        "the value is half as large, with only one order of the mixed product", lambda found, problem: 0.5 * found
    )

    def predict(self, problem: ModularUnit) -> Array:
        first, second = problem.powers()
        return 4 * len(problem.first) ** 2 * first * second


class ModularLevelMinima(Claim[MixedAddition]):
    """A network of units (w_n + v_m)² with readouts learns n + m modulo P from all pairs (n, m). Take a unit and a pair
    of opposite frequencies. At these frequencies, let F be the power of the first half w of the unit's weights, and G
    the power of the second half v. Let a be the part of the teacher that is not learned, let u a² be the strength of
    the unit's interaction with the teacher, and let gamma be the weight decay of sixth order. The action of the unit is
    minus its log density. The action divided by P,

        S(F, G) = F + G - 2 u a² F G + (gamma/3)(F³ + G³),    F, G >= 0,

    has a second minimum of the same height as the minimum at 0 exactly at

        u a² = sqrt(4 gamma/3),    F = G = sqrt(3/gamma).
    """

    title = (
        "The interaction strength at which a unit's action in modular addition has two equal minima has a closed form"
    )
    source = Source(_KEY, "Abstract, phase transitions", note="modular addition, in closed form")
    population = MixedAdditions()
    relation = Equal()
    control = Control("all three numbers are larger by a twentieth", lambda found, problem: 1.05 * found)
    controls = "the noise at which the first units turn to the teacher"
    unexplained = "weight decays that couple frequencies"
    traced = False

    def predict(self, problem: MixedAddition) -> Array:
        model = problem.model()
        return jnp.asarray([model.critical_interaction, model.power, model.power])

    def measure(self, problem: MixedAddition, key: Key[Array, ""]) -> Array:
        """Solve for u a², F and G with S = 0 and both slopes 0, from an asymmetric start on a grid."""
        gamma = problem.decay
        first, second = np.meshgrid(np.linspace(0.1, 9, 90), np.linspace(0.15, 9.15, 90))
        price = (first + second + gamma / 3 * (first**3 + second**3)) / (2 * first * second)
        at = np.unravel_index(np.argmin(price), price.shape)

        def conditions(x: np.ndarray) -> np.ndarray:
            u, f, g = x
            slopes = 1 - 2 * u * g + gamma * f**2, 1 - 2 * u * f + gamma * g**2
            return np.array([modular_action(f, g, u, gamma), *slopes])

        return jnp.asarray(root(conditions, [price[at], first[at], second[at]], tol=1e-14).x)

    def condition(self, problem: MixedAddition) -> Array:
        """Bound the errors: Newton's last step is exact up to rounding, because roots are simple."""
        return jnp.asarray(3.0 * (1 + 1 / problem.decay))


def left_at(problem: MixedAddition, prime: float) -> float:
    """Solve a (1 + lambda/sigma²) = 1 for a, with lambda = 4 P² s E[F G] and the exact distribution of the powers."""
    u = np.sqrt(4 * problem.decay / 3) / problem.noise**2
    top = np.sqrt(3 / problem.decay)
    root_powers = (np.arange(160) + 0.5) / 160 * np.sqrt(2.5 * top)
    first, second = np.meshgrid(root_powers**2, root_powers**2)
    volume = np.log(root_powers[:, None] * root_powers[None, :])

    def lack(a: float) -> float:
        power = volume - prime * modular_action(first, second, u * a**2, problem.decay)
        weight = np.exp(power - power.max())
        mean = float(np.sum(weight * first * second) / weight.sum())
        return a * (1 + problem.load / problem.noise * mean / top**2) - 1

    return float(brentq(lack, 1e-3, 1.0, xtol=1e-8))  # pyright: ignore


class MixedAmplitude(Claim[MixedAddition]):
    """A network of N units (w_n + v_m)² learns n + m modulo P from all pairs (n, m). Let s/N be the variance of the
    readouts, sigma² the variance of the noise, and gamma the weight decay of sixth order. Let u = 2 s P²/(N sigma⁴),
    and let sigma_c² be the critical noise, at which u(sigma_c²) = sqrt(4 gamma/3). In the mixed phase, which has less
    noise, some units align with the teacher. Let a be the fraction of the teacher that is not learned. Let P grow, and
    hold u and 4 P² s/sigma² fixed. Then a tends to

        a = sigma²/sigma_c².

    The reason is that units align with the teacher until u a² has its critical value. The fraction of units that align,
    at a power F = sqrt(3/gamma), is (sigma_c² - sigma²)/(4 P² s F²). This fraction must be below 1.
    """

    title = (
        "In the mixed phase of modular addition, the unlearned fraction is (noise variance)/(critical noise variance)"
    )
    source = Source(_KEY, "Abstract, mixed phase", note="modular addition")
    population = MixedAdditions()
    relation = Limit("P", (41.0, 71.0, 131.0), margin=0.05, resolution=0.03)
    control = Control("the unlearned part is a fifth larger", lambda found, problem: 1.2 * found)
    controls = "the error of a network beyond its transition"
    unexplained = "the noise at which all units have turned to the teacher (none with the paper's numbers)"
    traced = False
    trials = 10

    def predict(self, problem: MixedAddition) -> Array:
        return jnp.asarray(problem.model().amplitude(problem.noise))

    def measure_at(self, problem: MixedAddition, key: Key[Array, ""], prime: float) -> Array:
        """Solve the equation for a with the exact distribution of powers."""
        return jnp.asarray(left_at(problem, prime))
