"""Generated points against a critic of infinite width. With the IPM loss, the points descend on the kernel's maximum
mean discrepancy.

The IPM loss is the mean of the critic over generated points minus its mean over real points. At every step of the
generator, the critic is trained again for a time tau on the present points, and the points climb this critic. This
theory gives the direction in which the points move, the step sizes at which the discrepancy falls, and the kernels
under which the points reach the data. It assumes points that are free to move. It does not explain generators with
parameters, whose own tangent kernel mixes the steps of the points.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Kind, Source
from lemmata.kernels import RBF
from lemmata.subjects.dynamics import critic, generator_slopes, particle_flow, squared_discrepancy
from lemmata.subjects.dynamics._clouds import Clouds, ShiftedClouds

ABOUT = {"tool": "dynamical systems", "architecture": "kernel method", "object": "training"}

_PAPER = "franceschi2022neural"
_KERNEL = RBF(1.0)
_RATES = (0.1, 1 / 3, 0.5)  # rate times time, in squared lengthscales


class IpmIsDiscrepancyFlow(Claim[Clouds]):
    """Let mean_fake and mean_real be the means over m generated points x and over real points y. Let MMD² = |mean_fake
    K(., x) - mean_real K(., y)|² be the squared maximum mean discrepancy between these points for a kernel K. The IPM
    loss of a critic is its mean over generated points minus its mean over real points. Train a critic in the space of K
    by gradient flow on the IPM loss for a time tau, and hold it fixed. The gradient of the critic at the generated
    point x_i is

        -(m tau/2) d MMD²/dx_i.

    So points that climb the critic descend on MMD².
    """

    title = "Generated points that climb a trained IPM critic descend on their maximum mean discrepancy to the data"
    source = Source(_PAPER, "Abstract, convergence", note="IPM: the direction")
    stated = Kind.THEOREM
    population = ShiftedClouds(loss="ipm", losses=("ipm",))
    relation = Equal(block=-1)
    control = Control("the factor 1/2 is left out", lambda slopes, problem: 2 * slopes)
    controls = "the quantity that a generator minimises while its discriminator maximises"
    unexplained = "other losses, whose critics are not the witness of a discrepancy"

    def predict(self, problem: Clouds) -> Array:
        slopes = jax.grad(lambda fake: squared_discrepancy(_KERNEL, fake, problem.real))(problem.fake)
        return -len(problem.fake) * problem.time / 2 * slopes

    def measure(self, problem: Clouds, key: Key[Array, ""]) -> Array:
        found = critic(_KERNEL, problem.real, problem.fake, problem.time)
        return generator_slopes(found, problem.fake, "ipm")

    def condition(self, problem: Clouds) -> Array:
        """Allow for the rounding error of sums of 2n terms of size tau/n."""
        return 10 * (1 + problem.time / jnp.abs(self.predict(problem)).max())


class SmallStepsDescend(Claim[Clouds]):
    """The IPM loss of a critic is its mean over generated points minus its mean over real points. Let K be the RBF
    kernel of lengthscale l. Train a critic f in the space of K by gradient flow on the IPM loss for a time tau. Then
    move all m generated points by a step x <- x + eta grad f(x), and let s = eta tau. Let MMD² be the squared maximum
    mean discrepancy between generated and real points. The step lowers MMD² by at least

        (s m/2) (1 - 3 s/(2 l²)) |grad MMD²|².

    This decrease is positive for s < 2 l²/3, however large the number of points and the dimension. The proof uses that
    the gradient of MMD² with respect to all points is 6/(m l²)-Lipschitz. The test uses s = l²/10, l²/3 and l²/2.
    """

    title = "Small steps of generated points up an IPM critic lower their maximum mean discrepancy to the data"
    source = Source(_PAPER, "Abstract, convergence", note="RBF kernel, with an explicit step")
    stated = Kind.OWN
    population = ShiftedClouds(loss="ipm", losses=("ipm",))
    relation = AtLeast()
    control = Control(
        "MMD² falls by 1.3, 2 and 4 times as much", lambda fall, problem: fall * jnp.array([1.3, 2.0, 4.0])
    )
    controls = "whether alternating training converges"
    unexplained = "kernels with kinks at the points, for which even small steps may fail"

    def predict(self, problem: Clouds) -> Array:
        steps = jnp.asarray(_RATES)
        return _linear(problem) * (1 - 1.5 * steps)

    def measure(self, problem: Clouds, key: Key[Array, ""]) -> Array:
        path = lambda rate: particle_flow(_KERNEL, problem.real, problem.fake, steps=1, rate=rate).discrepancies
        return jnp.stack([found[0] - found[1] for found in map(path, _RATES)])

    def trivial(self, problem: Clouds) -> Array:
        """Return 0: without the theory, MMD² need not fall."""
        return jnp.zeros(len(_RATES))

    def condition(self, problem: Clouds) -> Array:
        return 1e2 * (1 + 1 / jnp.abs(_linear(problem)).min())


def _linear(problem: Clouds) -> Array:
    """Return the decrease of MMD² by a gradient step, to first order in the step, for each of the three step sizes."""
    slopes = jax.grad(lambda fake: squared_discrepancy(_KERNEL, fake, problem.real))(problem.fake)
    return jnp.asarray(_RATES) * len(problem.fake) / 2 * jnp.sum(slopes**2)
