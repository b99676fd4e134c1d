"""The best linear approximation of Sobolev functions has the rate n^(-2s/d), without a logarithm and for any kernel.

This theory describes the largest squared L2 error over the unit ball of H^s on the torus of d dimensions. It covers
every method whose outputs form a linear space of n dimensions. Fourier sums attain the least error, and sections of a
kernel do not have a smaller one. The theory does not explain methods whose space depends on the function, such as deep
networks, whose error can be smaller.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Kind, Rate, Source
from lemmata.functions import SobolevBall
from lemmata.subjects.approximation._sobolev_balls import KernelSections, SectionsOnCircle, SobolevBalls

ABOUT = {"tool": "approximation theory", "architecture": "linear model", "object": "function class"}

_RUNGS = (1000.0, 4000.0, 16000.0, 64000.0)


class SobolevWidthRate(Claim[SobolevBall]):
    """Take the unit ball of the Sobolev space H^s on the torus of d dimensions. Approximate its functions by elements
    of the best linear space of n dimensions. Consider the numbers (1 + |k|²)^(-s) for all integer vectors k of d
    coordinates. The largest squared L2 error over the ball is the (n+1)-th largest of these numbers. The largest
    squared error falls like

        n^(-2s/d),

    without a logarithm. The span of the n lowest frequencies is a best space.
    """

    title = "The Kolmogorov widths of Sobolev balls fall like n^(-2s/d)"
    source = Source("foundation2025", "(10)", "Section 4.3, transformers", note="the rate that linear methods reach")
    stated = Kind.OWN
    population = SobolevBalls()
    # 1 + |k|² in place of |k|² and the lattice points on the last sphere change the slope by less than 0.018 for d = 3,
    # s = 3.75, and by far less elsewhere
    relation = Rate("n", _RUNGS, margin=0.02, resolution=0.04)
    control = Control(
        "((log n)/n)^(2s/d), by its slope at n = 8000",
        lambda exponent, problem: exponent * (1 - 1 / jnp.log(8000.0)),
    )
    controls = "the squared L2 error of the best linear method in the worst case over the ball"
    unexplained = "methods that are not linear, and single functions, which may be far easier"
    trials = 64

    def predict(self, problem: SobolevBall) -> Array:
        return -2 * problem.smoothness / problem.dimension

    def measure_at(self, problem: SobolevBall, key: Key[Array, ""], n: float) -> Array:
        """Return the least largest squared error of n dimensions (the Kolmogorov width), by counting lattice points."""
        return problem.width(int(n))


class KernelSectionsWorstError(Claim[KernelSections]):
    """Let K be any kernel on the circle, symmetric or not, and consider the span of n sections K(., c_i) at any centres
    c_i. Approximate the functions of the unit ball of the Sobolev space H^s in this span. The worst squared L2 error is
    at least the (n+1)-th largest of the numbers (1 + k²)^(-s), where k runs over the integers. Sections of exp(beta
    cos) with equispaced centres nearly attain this bound.
    """

    title = "On the circle, no span of kernel sections has a worst error below the Sobolev ball's Kolmogorov width"
    source = Source(
        "kolmogorov1936", "main result", note="every linear space has an error of at least the width of the ball"
    )
    population = SectionsOnCircle()
    relation = AtLeast()
    control = Control("1.2 times the width", lambda width, problem: 1.2 * width)
    controls = "the worst squared error over a Sobolev ball of kernel methods with fixed centres"
    unexplained = "centres that are chosen after the function is known, and noise"
    trivial = 0.0  # that an error is not negative

    def predict(self, problem: KernelSections) -> Array:
        return problem.ball.width(len(problem.centres))

    def measure(self, problem: KernelSections, key: Key[Array, ""]) -> Array:
        """The top eigenvalue of W^(1/2) (I - P) W^(1/2), W = diag(1 + j²)^(-s). P projects onto the sections' span.
        This is the worst squared error.
        """
        basis, _ = jnp.linalg.qr(problem.sections)
        count = len(problem.amplitudes)
        frequencies = jnp.concatenate([jnp.arange(count), jnp.arange(1, count + 1)])
        axes = ((1.0 + frequencies**2) ** (-problem.ball.smoothness / 2)).at[-1].set(0.0)
        left = axes[:, None] * (jnp.diag(axes) - basis @ (basis.T * axes))
        return jnp.linalg.eigvalsh((left + left.T) / 2)[-1]

    def condition(self, problem: KernelSections) -> Array:
        return jnp.asarray(float(len(problem.centres)))
