"""Test problems of complex modes dh/dt = l h + u: one mode with a sine input, many modes, and real systems of modes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.state_space import ContinuousSystem, DiagonalMatrix


class DrivenMode(eqx.Module):
    """The mode dh/dt = l h + sin(w t) with pole l and frequency w, from h(0) = 0 up to a horizon."""

    pole: Complex[Array, ""]
    frequency: Float[Array, ""]
    horizon: Float[Array, ""]

    @property
    def system(self) -> ContinuousSystem:
        """The mode dh/dt = l h + u as a system whose output is the real part of h."""
        one = jnp.ones((1, 1))
        return ContinuousSystem(DiagonalMatrix(self.pole[None]), one, one)


class SteppedModes(eqx.Module):
    """Many modes dh_n/dt = l_n h_n with poles l, and a time step D."""

    poles: Complex[Array, " n"]
    step: Float[Array, ""]

    @property
    def system(self) -> ContinuousSystem:
        """All modes in one system."""
        n = len(self.poles)
        return ContinuousSystem(DiagonalMatrix(self.poles), jnp.ones((n, 1)), jnp.ones((1, n)))


class ProbedSystem(eqx.Module):
    """A real system of conjugate pairs of modes, a time step, and the angle by which an input wave advances per step.

    Args:
        system: a system with one input and one output.
        step: the time step D.
        angle: the angle w D, between 0 and pi.
    """

    system: ContinuousSystem
    step: Float[Array, ""]
    angle: Float[Array, ""]


class DrivenModes(Population[DrivenMode]):
    """Modes with decays around 1/2 and frequencies around 3, under inputs with frequencies around 2."""

    settings = Space(
        decay=Real(0.5, 0.05, 2.0, "-Re l, about", corners=(0.2, 0.5)),
        frequency=Real(3.0, 0.5, 6.0, "Im l, about", corners=(3.0, 4.5)),
        horizon=Real(4.0, 1.0, 8.0, "last time", corners=(4.0, 5.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> DrivenMode:
        (normal,) = draws(key, (3,))
        scale = jnp.exp(0.1 * normal[:2])
        pole = jax.lax.complex(-setting["decay"] * scale[0], setting["frequency"] * scale[1])
        return DrivenMode(pole, 2 + 0.3 * normal[2], jnp.asarray(setting["horizon"], float))

    def hypotheses(self, problem: DrivenMode) -> list[Hypothesis]:
        size = jnp.abs(problem.pole) * problem.horizon / 64
        apart = jnp.abs(1j * jnp.abs(problem.frequency) - problem.pole)
        return [
            Hypothesis("|l D| at the largest step", size, "<", 1.0, "orders are measured at small steps"),
            Hypothesis("distance of i w from l", apart, ">", 0.05, "the closed form divides by this distance"),
        ]


class StableAndGrowingModes(Population[SteppedModes]):
    """Modes with poles l on both sides of the imaginary axis, and time steps D with |l| D of the order of 1."""

    settings = Space(
        modes=Integer(60, 10, 200, "modes", corners=(40, 60)),
        size=Real(1.0, 0.1, 10.0, "|l| D, about", corners=(1.0, 3.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteppedModes:
        """Draw poles with real parts of random sign and log-normal size, and frequencies of standard deviation 2."""
        normal, step = draws(key, (3, setting["modes"]), ())
        decay = jnp.sign(normal[0]) * jnp.exp(0.7 * normal[1])
        return SteppedModes(jax.lax.complex(decay, 2 * normal[2]), setting["size"] * jnp.exp(0.3 * step) / 2)

    def hypotheses(self, problem: SteppedModes) -> list[Hypothesis]:
        """Require that no mode is so near the border of stability that rounding would decide whether it grows."""
        z = problem.poles * problem.step
        away = jnp.minimum(jnp.abs(z.real) / (1 + jnp.abs(z) ** 2), jnp.abs(jnp.abs(1 + z) - 1))
        return [
            Hypothesis("distance from the borders of stability", away.min(), ">", 1e-9, "otherwise rounding decides")
        ]


class ProbedSystems(Population[ProbedSystem]):
    """Real systems of a few conjugate pairs of decaying modes."""

    settings = Space(
        pairs=Integer(3, 1, 16, "pairs of modes", corners=(3, 6)),
        step=Real(0.5, 0.2, 2.0, "time step", corners=(0.3, 0.5)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ProbedSystem:
        """Draw decays around 1, frequencies up to 3 and an angle between 0.3 and 2.8."""
        n = setting["pairs"]
        parts, b, c, rest = draws(key, (2, n), (2, n), (2, n), (2,))
        paired = lambda x: jnp.concatenate([x, x.conj()])
        poles = jax.lax.complex(-jnp.exp(0.3 * jnp.tanh(parts[0])), 3 * jnp.tanh(parts[1]))
        b, c = jax.lax.complex(*b), jax.lax.complex(*c)
        matrix = DiagonalMatrix(paired(poles))
        system = ContinuousSystem(matrix, paired(b)[:, None], paired(c)[None], rest[None, None, 0])
        return ProbedSystem(system, jnp.asarray(setting["step"], float), 1.55 + 1.25 * jnp.tanh(rest[1]))

    def hypotheses(self, problem: ProbedSystem) -> list[Hypothesis]:
        modulus = jnp.abs(problem.system.matrix.cayley(2 / problem.step).eigenvalues()).max()
        return [
            Hypothesis(
                "the largest modulus of a mode",
                modulus,
                "<",
                0.96,
                "the impulse response is summed until it has died out",
            )
        ]
