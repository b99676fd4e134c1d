"""Networks on the circle: which frequencies a ReLU network with one hidden layer can learn, and how fast.

A frequency k stands for the functions cos(k t) and sin(k t) of the angle t. This theory gives the eigenvalues of the
tangent kernel on the circle, one for each frequency, and the functions that a network without biases cannot represent.
It assumes equispaced points, or a uniform distribution of points. It does not cover networks of several hidden layers,
which represent all frequencies.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, TangentKernel, relu_network
from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Integer, Kind, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import gram
from lemmata.subjects.tangent._two_layers import Units

ABOUT = {
    "tool": "Fourier analysis",
    "architecture": "dense network",
    "object": "kernel",
    "OddPartIsLinear": {"object": "function class"},
    "OddFrequenciesStay": {"object": "training"},
    "FrequencyTime": {"object": "training"},
}

_FREQUENCIES = (8.0, 16.0, 32.0)
_POINTS = 320
_DOUBLINGS = 18
_STEPS = 300


def circle(count: int, turn: float | Array = 0.0) -> Float[Array, "count 2"]:
    """Return equispaced points on the unit circle, of which the first has the angle `turn`."""
    angles = 2 * jnp.pi * jnp.arange(count) / count + turn
    return jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)


class Polygon(eqx.Module):
    """Equispaced points on a circle.

    Args:
        radius: the radius of the circle.
        turn: the angle of the first point.
        n: the number of points.
    """

    radius: Float[Array, ""]
    turn: Float[Array, ""]
    n: int = eqx.field(static=True)


class CircleSpectrum(Claim[Polygon]):
    """Consider the limiting tangent kernel of a ReLU network with one hidden layer and without biases. Let K_a be the
    part of this kernel that comes from the readout, and let K_b be the part that comes from the hidden weights. On N
    equispaced points of a circle of radius R, where N is even, the values of cos(k t), where t is the angle, are an
    eigenvector of both parts. For even k, the two eigenvalues divided by N R² are sums over all integers j congruent to
    k modulo N:

        K_a: sum_j 2/(pi² (j² - 1)²),    K_b: sum_j (j² + 1)/(pi² (j² - 1)²).

    For k = 1, both eigenvalues divided by N R² are 1/8. For odd k >= 3, both are 0. For a uniform distribution on the
    whole circle in place of N points, only the term with j = k remains.
    """

    title = "The tangent kernel of a ReLU network without biases ignores odd frequencies above 1 on the circle"
    source = Source("basri2019", note="eigenvalues without biases, here for finitely many points")
    stated = Kind.OWN
    population = Drawn(
        Polygon,
        positive("radius", "the kernel of the zero input is 0"),
        radius=log_uniform(0.3, 3.0),
        turn=uniform(0.0, 6.28),
        n=Integer(40, 8, 200, "points", step=2),
    )
    relation = Equal(block=2)
    control = Control(
        "the formulas for even frequencies hold for all frequencies from 2",
        lambda values, problem: jnp.where(
            (jnp.arange(problem.n // 2 + 1) % 2 == 1) & (jnp.arange(problem.n // 2 + 1) > 1),
            values[:, :1] / 1000,
            values,
        ),
        loose="the control equals the statement at even frequencies, and at odd ones any positive number is far from 0",
    )
    controls = "the eigenvalues of a tangent kernel on the circle"
    unexplained = "points that are not equispaced; biases and further layers, with which no frequency is ignored"

    def predict(self, problem: Polygon) -> Array:
        """The eigenvalues in closed form, from two sums over all integers j.

        With v = pi u/N, the sum of 1/(u + jN)² is (pi/(N sin v))², and the sum of 1/(u + jN) is pi cot(v)/N.
        """
        count = problem.n
        k = jnp.arange(count // 2 + 1)
        below, above = jnp.pi * (k - 1.0 + (k == 1)) / count, jnp.pi * (k + 1) / count
        squares = (jnp.sin(below) ** -2 + jnp.sin(above) ** -2) / (2 * count**2)
        waves = (1 / jnp.tan(below) - 1 / jnp.tan(above)) / (2 * jnp.pi * count)
        odd = jnp.where(k == 1, 1 / 8, 0.0)
        even = jnp.stack([squares - waves, squares])
        return jnp.where(k % 2 == 0, even, odd) * problem.radius**2 * count

    def measure(self, problem: Polygon, key: Key[Array, ""]) -> Array:
        """The Rayleigh quotients of cos(k t) for the limiting kernels K_a and K_b, at every frequency k."""
        x, network = problem.radius * circle(problem.n, problem.turn), relu_network(depth=1)
        readout = gram(NNGPKernel(network), x)
        both = jnp.stack([readout, gram(TangentKernel(network), x) - readout])
        waves = jnp.cos(2 * jnp.pi * jnp.outer(jnp.arange(problem.n // 2 + 1), jnp.arange(problem.n)) / problem.n)
        return jnp.einsum("ki,pij,kj->pk", waves, both, waves) / jnp.sum(waves**2, axis=1)

    def condition(self, problem: Polygon) -> Array:
        """The condition number N of sums over the N points."""
        return jnp.asarray(float(problem.n))


class DrawnUnits(eqx.Module):
    """A network sum_r a_r max(<w_r, x>, 0) with weights w_r and readout a_r, and a point x."""

    weights: Float[Array, "m d"]
    readout: Float[Array, " m"]
    x: Float[Array, " d"]


class OddPartIsLinear(Claim[DrawnUnits]):
    """Let f(x) = sum_r a_r max(<w_r, x>, 0) be a ReLU network with one hidden layer and without biases. For all
    weights, trained or not,

        f(x) - f(-x) = sum_r a_r <w_r, x>,

    because max(u, 0) - max(-u, 0) = u. So the odd part of every such network is linear.
    """

    title = "The odd part of a ReLU network with one hidden layer and without biases is linear"
    source = Source("basri2019", note="why odd frequencies cannot be learned without biases, for all weights")
    stated = Kind.OWN
    population = Drawn(
        DrawnUnits, m=rows(30, 1, 500), d=dimension(4), weights=normal("m", "d"), readout=normal("m"), x=normal("d")
    )
    relation = Equal()
    control = Control("the odd part is half of the stated one", lambda value, problem: value / 2)
    controls = "which functions a network can represent"
    unexplained = "biases and further layers, with which odd parts are not linear"

    def predict(self, problem: DrawnUnits) -> Array:
        return problem.readout @ problem.weights @ problem.x

    def measure(self, problem: DrawnUnits, key: Key[Array, ""]) -> Array:
        value = lambda x: problem.readout @ jnp.maximum(problem.weights @ x, 0.0)
        return value(problem.x) - value(-problem.x)

    def condition(self, problem: DrawnUnits) -> Array:
        terms = jnp.abs(problem.readout) @ (jnp.abs(problem.weights) @ jnp.abs(problem.x))
        return terms * len(problem.readout) / jnp.abs(problem.readout @ problem.weights @ problem.x)


class Waves(eqx.Module):
    """A target on the circle: the sum of b_k sin(k t) over odd k >= 3 and of c_k cos(k t) over even k."""

    odd: Float[Array, " k"]
    even: Float[Array, " k"]
    m: int = eqx.field(static=True)

    def target(self, angles: Float[Array, " n"]) -> tuple[Array, Array]:
        """Return the odd and the even part of the target."""
        place = jnp.arange(1, len(self.odd) + 1)
        return jnp.sin(jnp.outer(angles, 2 * place + 1)) @ self.odd, jnp.cos(jnp.outer(angles, 2 * place)) @ self.even


class OddFrequenciesStay(Claim[Waves]):
    """Train a ReLU network with one hidden layer and without biases on N equispaced points of the circle, where N is
    even. Let E be the mean square of the part of the target that consists of waves cos(k t) and sin(k t) of odd
    frequencies k >= 3 in the angle t. At every time of training, for all widths and all initial weights, the mean
    square error on these points is

        at least E.

    This holds even if all weights are trained, so neither learned features nor a larger width lower the error. The
    trials train for 300 steps.
    """

    title = (
        "On the circle, a ReLU network with one hidden layer and without biases never learns odd frequencies above 1"
    )
    source = Source("basri2019", note="without biases, for networks that are trained in all their weights")
    stated = Kind.OWN
    population = Drawn(
        Waves,
        count=Integer(2, 1, 5, "frequencies of each kind"),
        m=Integer(200, 20, 400, "units"),
        odd=normal("count"),
        even=normal("count", times=Real(0.1, 0.0, 1.0, "standard deviation of the coefficients of even frequencies")),
    )
    relation = AtLeast()
    control = Control("the error is at least 1.25 E", lambda error, problem: 1.25 * error)
    controls = "the training error of a network on the circle"
    unexplained = "how fast even frequencies are learned"
    trivial = 0.0
    traced = False

    def predict(self, problem: Waves) -> Array:
        angles = 2 * jnp.pi * jnp.arange(64) / 64
        return jnp.mean(problem.target(angles)[0] ** 2)

    def measure(self, problem: Waves, key: Key[Array, ""]) -> Array:
        x, generator = np.asarray(circle(64)), generator_of(key)
        y = np.asarray(sum(problem.target(2 * jnp.pi * jnp.arange(64) / 64)))
        units = Units("relu", generator.normal(size=(1, problem.m, 2)), generator.normal(size=(1, problem.m)))
        trained = units.descended(x, y, np.zeros((1, 64)), _STEPS)
        return jnp.asarray(np.mean((trained.outputs(x)[0] - y) ** 2))


class Bias(eqx.Module):
    """The standard deviation of biases, in units of the standard deviation of <w, x> over the weights w."""

    bias: Float[Array, ""]


class FrequencyTime(Claim[Bias]):
    """Let Theta be the limiting tangent kernel of a ReLU network with one hidden layer and with biases, on a uniform
    distribution of points on the circle. Under the flow of this kernel, consider a residual cos(k t), where t is the
    angle. The time until this residual has halved grows like

        k²

    for large k, odd or even. So descent learns low frequencies first. For comparison, with a kernel that is a multiple
    of the identity, all frequencies would take the same time. The trials use N = 320 equispaced points, and a bias is
    one more coordinate of the input.
    """

    title = (
        "On the circle, the time in which a wide ReLU network learns a frequency grows like the square of the frequency"
    )
    source = Source("basri2019", note="the order in the frequency, with biases")
    stated = Kind.STEP
    population = Drawn(
        Bias, positive("bias", "without biases, odd frequencies are not learned"), bias=log_uniform(0.3, 2.0)
    )
    # Aliases of k = 32 make it faster by 1 %, and k = 8 is up to 10 % faster than the order.
    relation = Rate(along="k", rungs=_FREQUENCIES, margin=0.1, resolution=0.05)
    control = Control("the time grows like k^1.5", lambda exponent, problem: 0.75 * exponent)
    controls = "how fast a wide network learns each frequency"
    unexplained = "the lowest frequencies, where times grow faster; networks of small width"
    traced = False
    trials = 16
    predict = 2.0

    def measure(self, problem: Bias, key: Key[Array, ""]) -> Array:
        """The number of descent steps until cos(k t) has halved. Powers of one step are computed by squaring."""
        x = jnp.pad(circle(_POINTS), ((0, 0), (0, 1)), constant_values=float(problem.bias))
        kernel = np.asarray(gram(TangentKernel(relu_network(depth=1)), x))
        powers, found = [np.eye(_POINTS) - kernel / np.trace(kernel)], []
        for _ in range(_DOUBLINGS):
            powers.append(powers[-1] @ powers[-1])
        for k in _FREQUENCIES:
            wave, steps = np.cos(2 * np.pi * k * np.arange(_POINTS) / _POINTS), 0
            now = wave
            for place in range(_DOUBLINGS, -1, -1):
                ahead = powers[place] @ now
                if ahead @ wave > wave @ wave / 2:
                    now, steps = ahead, steps + 2**place
            found.append(steps + 1)
        return jnp.asarray(found, float)
