"""How little of a cubic component an infinitely wide network learns from fewer than about d³ rows.

The Gaussian process of wide erf networks has one eigenvalue for all polynomials of degree 3, and this eigenvalue falls
like d^-3. So if the number n of rows is of order d, kernel regression learns almost nothing of the cubic component of a
target H_1(v'x) + epsilon H_3(v'x). Most of the cubic component in its predictions comes from the target's linear
component, because the kernel divides by a function of the inputs' lengths. The theory says how large this part is for n
rows with a given noise. For networks of finite width, it leaves open whether n itself can be of order d, or only n
divided by the noise.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.linalg import cho_factor, cho_solve
from scipy.special import roots_genlaguerre

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Rate, Source, Space

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "spectrum"}


class WideErfNetwork(eqx.Module):
    """A kernel of infinitely wide erf networks, a teacher, and the number of rows.

    Args:
        epsilon: the cubic component of the teacher H_1 + epsilon H_3.
        weight_variance: g, for weights w ~ N(0, g/d I).
        noise: kappa = sigma² d/n, where sigma² is the variance of the labels' noise, for readouts of variance 1/N.
        rows: the number of rows n.
        dimension: the dimension d of the inputs.
    """

    epsilon: float = eqx.field(static=True)
    weight_variance: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    rows: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def kernel(self, x: Float[np.ndarray, "n d"], z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """Return the kernel E[erf(w'x) erf(w'z)] = (2/pi) arcsin(2g x'z/sqrt((d + 2g|x|²)(d + 2g|z|²)))."""
        g, d = self.weight_variance, self.dimension
        sizes = np.outer(d + 2 * g * np.sum(x**2, axis=1), d + 2 * g * np.sum(z**2, axis=1))
        return 2 / np.pi * np.arcsin(2 * g * x @ z.T / np.sqrt(sizes))


class WideErfNetworks(Population[WideErfNetwork]):
    """Wide erf networks with teachers that have a negative cubic component."""

    settings = Space(
        n=Integer(400, 50, 2000, "rows", corners=(300, 500)),
        d=Integer(20, 10, 60, "dimension", corners=(16, 26)),
    ).where("n is below d³/8", lambda s: 8 * s["n"] <= s["d"] ** 3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> WideErfNetwork:
        """Draw cubic components from -0.2 to -0.7, weight variances from 0.3 to 0.8, and noise from 0.4 to 1."""
        drawn = np.asarray(jax.random.uniform(key, (3,)))
        epsilon, g, noise = -0.2 - 0.5 * drawn[0], 0.3 + 0.5 * drawn[1], 0.4 + 0.6 * drawn[2]
        return WideErfNetwork(float(epsilon), float(g), float(noise), setting["n"], setting["d"])

    def hypotheses(self, problem: WideErfNetwork) -> list[Hypothesis]:
        rows = problem.rows / problem.dimension**3
        return [
            Hypothesis("rows divided by d³", jnp.asarray(rows), "<", 0.2, "the cubic eigenvalue is of order d^-3"),
            Hypothesis(
                "the noise", jnp.asarray(problem.noise), ">", 0.0, "sums over data are replaced by expectations"
            ),
        ]


_KEY = "rubin2024grokking"
_NODES = np.cos((np.arange(400) + 0.5) * np.pi / 400)


class CubicEigenvalue(Claim[WideErfNetwork]):
    """Consider erf networks at infinite width with weights w ~ N(0, g/d I), for inputs on the sphere |x|² = d. Their
    kernel of two inputs x and z is (2/pi) arcsin(2g cos(x, z)/(1 + 2g)), where cos(x, z) is the cosine of their angle.
    The eigenvalue of this kernel on polynomials of degree 3 falls like d^-3. To learn these polynomials, kernel
    regression therefore needs a number of rows of order d³.
    """

    title = "The eigenvalue of the infinitely wide erf network's kernel on cubic polynomials falls like d^-3"
    source = Source(_KEY, "Abstract, beyond Gaussian processes")
    population = WideErfNetworks()
    relation = Rate("d", (64.0, 128.0, 256.0))
    control = Control("the eigenvalue falls like d^-2.5", lambda found, problem: found + 0.5)
    controls = "how many rows the network at infinite width needs to learn a cubic component"
    unexplained = "inputs with directions that are not equivalent"
    traced = False
    trials = 16
    predict = -3.0

    def measure_at(self, problem: WideErfNetwork, key: Key[Array, ""], d: float) -> Array:
        """Return the mean of k(t) P(t) for the cubic Gegenbauer polynomial P with P(1) = 1 (Funk-Hecke formula)."""
        t, g = _NODES, problem.weight_variance
        law = (1 - t**2) ** ((d - 2) / 2)  # the nodes have the density of cos(x, z)
        cubic = ((d + 2) * t**3 - 3 * t) / (d - 1)
        kernel = 2 / np.pi * np.arcsin(2 * g * t / (1 + 2 * g))
        return jnp.asarray(np.sum(law * kernel * cubic) / np.sum(law))


class RegressionSeesTheCubicThroughLengths(Claim[WideErfNetwork]):
    """Consider kernel regression with the kernel of erf networks at infinite width, with weights w ~ N(0, g/d I). Fit n
    rows x ~ N(0, I_d) with the targets H_1(v'x) + epsilon H_3(v'x) plus noise of variance sigma² = kappa n/d, where n
    is well below d³. Here v is a direction of length 1, and H_1 and H_3 are Hermite polynomials. Let f = (1 +
    2g|x|²/d)^(-1/2). Let b = E (v'x)² f, c = E v'x H_3(v'x) f and e = E (v'x)² f². Let a = 4 g e/(pi d), and let a_3 =
    16 g³/(pi (1 + 2g)³ d³). Let t be the positive solution of n t = sigma² + (2/pi) E arcsin(2g f² |x|²/d) - a d + r t
    d with r = a/(a + t). This solution is about sigma²/n. The fit learns the following fraction of the component
    epsilon H_3(v'x):

        r (b + epsilon c) c/(6 epsilon e) + a_3/(a_3 + t).

    The first term comes from the linear component, of which the fit learns about the fraction r. The kernel represents
    this component by v'x f, which has a cubic part because |x|² contains (v'x)². The second term is the learned part of
    the cubic component itself.
    """

    title = "Kernel regression learns part of a cubic component through the lengths of Gaussian inputs"
    source = Source(_KEY, "Abstract, beyond Gaussian processes", note="by regression")
    population = WideErfNetworks()
    # The omitted part is of the order of 1/d, 0.05 at d = 20. It is the cubic term of the arcsine along linear
    # functions.
    relation = EqualInMean(margin=0.05, resolution=0.05)
    control = Control("the learned fraction is a quarter larger", lambda found, problem: 1.25 * found)
    controls = "how much of a cubic component appears at infinite width: about a per cent at n = 400, d = 20"
    unexplained = "less noise, with which n of the order of d² already affects the error"
    traced = False
    trials = 64

    def predict(self, problem: WideErfNetwork) -> Array:
        g, d, n, epsilon = problem.weight_variance, problem.dimension, problem.rows, problem.epsilon
        nodes, weights = roots_genlaguerre(40, d / 2 - 1)
        mean = lambda values: weights @ values / np.sum(weights)
        s = 2 * nodes / d  # |x|²/d, where |x|²/2 has a gamma distribution
        f = (1 + 2 * g * s) ** -0.5
        b, e = mean(s * f), mean(s * f**2)
        c = 3 * (d / (d + 2) * mean(s**2 * f) - b)
        linear, cubic = 4 * g * e / (np.pi * d), 16 * g**3 / (np.pi * (1 + 2 * g) ** 3 * d**3)
        rest = problem.noise * n / d + 2 / np.pi * mean(np.arcsin(2 * g * s * f**2)) - linear * d
        # Multiplied by a + t, the equation for t is n t² + (a (n - d) - rest) t - a rest = 0, which has one positive
        # root.
        half = (rest - linear * (n - d)) / (2 * n)
        t = half + np.sqrt(half**2 + linear * rest / n)
        through = linear / (linear + t) * (b + epsilon * c) * c / (6 * epsilon * e)
        return jnp.asarray(through + cubic / (cubic + t))

    def measure(self, problem: WideErfNetwork, key: Key[Array, ""]) -> Array:
        """Fit drawn rows. Return the fit's component along H_3 at other rows, averaged over the d axes v."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, d = problem.rows, problem.dimension
        x, z = rng.normal(size=(n, d)), rng.normal(size=(2000, d))
        cubic = lambda rows: problem.epsilon * (rows**3 - 3 * rows)
        gram = problem.kernel(x, x) + problem.noise * n / d * np.eye(n)
        values = problem.kernel(z, x) @ cho_solve(cho_factor(gram), x + cubic(x))
        found = [np.linalg.lstsq(np.stack([z[:, i], cubic(z[:, i])], axis=1), values[:, i])[0][1] for i in range(d)]
        return jnp.asarray(np.mean(found))
