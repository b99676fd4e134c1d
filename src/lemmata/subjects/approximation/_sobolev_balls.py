"""Unit balls of the Sobolev space H^s on the torus, some with a number of parameters or with sections of a kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.functions import SobolevBall

_FREQUENCIES = 24


def _smooth(ball: SobolevBall) -> Hypothesis:
    return Hypothesis(
        "the smoothness is positive", ball.smoothness, ">", 0.0, "otherwise the ball is not compact in L2"
    )


class SobolevBalls(Population[SobolevBall]):
    """Balls of H^s on the torus of d dimensions, with s/d uniform between 1/2 and 5/4."""

    settings = Space(d=Integer(2, 1, 3, "dimension of the torus"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SobolevBall:
        return SobolevBall(setting["d"] * jax.random.uniform(key, minval=0.5, maxval=1.25), setting["d"])

    def hypotheses(self, problem: SobolevBall) -> list[Hypothesis]:
        return [_smooth(problem)]


class BudgetedBall(eqx.Module):
    """A Sobolev ball, which is the class of functions, and a number n of parameters."""

    ball: SobolevBall
    n: Float[Array, ""]


class BudgetedBalls(Population[BudgetedBall]):
    """Balls of H^s on the torus, with s/d uniform between 1/2 and 5/4, and n log-uniform."""

    free = ("n",)

    def settings(self) -> Space:
        n = Real(1e8, 1e3, 1e16, "the largest number of parameters", corners=(1e6, 1e16))
        return Space(d=Integer(1, 1, 3, "dimension of the torus"), largest=n)

    def sample(self, setting: dict, key: Key[Array, ""]) -> BudgetedBall:
        """Draw a random smoothness and a random n of at least 100."""
        smooth, count = jax.random.uniform(key, (2,))
        ball = SobolevBall(setting["d"] * (0.5 + 0.75 * smooth), setting["d"])
        return BudgetedBall(ball, 100 * (setting["largest"] / 100) ** count)

    def hypotheses(self, problem: BudgetedBall) -> list[Hypothesis]:
        enough = Hypothesis(
            "n is at least 100", problem.n, ">=", 100.0, "the claim uses floor(log n) as a number of dimensions"
        )
        return [_smooth(problem.ball), enough]


class KernelSections(eqx.Module):
    """Sections k(., c_i) of k(x, c) = sum_j a_j cos(2 pi j (x - c) + phi_j) on the circle, and a Sobolev ball.

    The kernel is symmetric if the phases are 0, and positive semidefinite if, in addition, all a_j are at least 0.

    Args:
        ball: the class of functions of one variable.
        amplitudes: the coefficients a_0, a_1, ...
        phases: the angles phi_0, phi_1, ...
        centres: the points c_1, ..., c_n.
    """

    ball: SobolevBall
    amplitudes: Float[Array, " k"]
    phases: Float[Array, " k"]
    centres: Float[Array, " n"]

    @property
    def sections(self) -> Float[Array, "two_k n"]:
        """The coefficients of each section, in a column, in the basis of 1, sqrt(2) cos(2 pi j x) and sqrt(2) sin(2 pi
        j x).

        The last row belongs to sin(0) and is zero.
        """
        angles = 2 * jnp.pi * jnp.arange(len(self.amplitudes))[:, None] * self.centres - self.phases[:, None]
        weights = (self.amplitudes * jnp.where(jnp.arange(len(self.amplitudes)) > 0, jnp.sqrt(0.5), 1.0))[:, None]
        sines = jnp.roll(weights * jnp.sin(angles), -1, axis=0).at[-1].set(0.0)
        return jnp.concatenate([weights * jnp.cos(angles), sines])


class SectionsOnCircle(Population[KernelSections]):
    """2m + 1 sections of the kernel exp(beta cos), with beta uniform in [1/2, 8]. Half of the problems have random
    phases.

    The centres are equispaced in half of the problems, and uniformly random in the others.
    """

    free = ("centres",)
    settings = Space(m=Integer(8, 1, 16, "m, for 2m + 1 sections", corners=(4, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelSections:
        """Draw a smoothness between 1/2 and 2, and expand exp(beta cos) by a discrete Fourier transform."""
        count = 2 * setting["m"] + 1
        first, phase_key, centre_key = jax.random.split(key, 3)
        draws = jax.random.uniform(first, (4,))
        grid = jnp.arange(4 * _FREQUENCIES) / (4 * _FREQUENCIES)
        values = jnp.exp((0.5 + 7.5 * draws[0]) * (jnp.cos(2 * jnp.pi * grid) - 1))
        amplitudes = jnp.maximum(jnp.fft.rfft(values).real[: _FREQUENCIES + 1], 0.0) / len(grid)
        phases = jax.random.uniform(phase_key, (_FREQUENCIES + 1,), maxval=2 * jnp.pi).at[0].set(0.0)
        centres = jnp.where(
            draws[1] < 0.5, jnp.arange(count) / count + draws[1], jax.random.uniform(centre_key, (count,))
        )
        ball = SobolevBall(0.5 + 1.5 * draws[2], 1)
        return KernelSections(ball, amplitudes, jnp.where(draws[3] < 0.5, phases, 0.0), centres)

    def hypotheses(self, problem: KernelSections) -> list[Hypothesis]:
        many = Hypothesis(
            "sections",
            len(problem.centres),
            "<",
            2 * len(problem.amplitudes) - 1,
            "otherwise the sections span the whole space",
        )
        return [_smooth(problem.ball), many]
