"""What the network at infinite width makes of a cubic component: next to nothing, until there are about d³ data.

The Gaussian process of wide erf networks has one eigenvalue for all polynomials of degree 3, and it falls like d^-3: of
such a component kernel regression learns next to nothing from n rows of order d. What it shows along it is the linear
component, which the kernel divides by a length of the inputs. The theory controls how much that is for n rows with a
given noise; it leaves open whether a network of finite width can keep n of order d itself, and not n over the noise.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.linalg import cho_factor, cho_solve

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Rate, Source, Space

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "spectrum"}


class WideErfNetwork(eqx.Module):
    """A kernel, a teacher, and rows.

    Args:
        epsilon: of the teacher H_1 + epsilon H_3.
        weight_variance: g of weights w ~ N(0, g/d I).
        noise: kappa = sigma² d/n for readouts of variance 1/N.
        rows: n.
        dimension: d.
    """

    epsilon: float = eqx.field(static=True)
    weight_variance: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    rows: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def kernel(self, x: Float[np.ndarray, "n d"], z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """E[erf(w'x) erf(w'z)] = (2/pi) arcsin(2g x'z/sqrt((d + 2g|x|²)(d + 2g|z|²))) (Williams)."""
        g, d = self.weight_variance, self.dimension
        sizes = np.outer(d + 2 * g * np.sum(x**2, axis=1), d + 2 * g * np.sum(z**2, axis=1))
        return 2 / np.pi * np.arcsin(2 * g * x @ z.T / np.sqrt(sizes))


class WideErfNetworks(Population[WideErfNetwork]):
    """Teachers with a negative cubic component."""

    settings = Space(
        n=Integer(400, 50, 2000, "rows", corners=(300, 500)),
        d=Integer(20, 10, 60, "dimension", corners=(16, 26)),
    ).where("n is below d³/8", lambda s: 8 * s["n"] <= s["d"] ** 3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> WideErfNetwork:
        """Components -0.2 to -0.7, weight variances 0.3 to 0.8, noise 0.4 to 1."""
        drawn = np.asarray(jax.random.uniform(key, (3,)))
        epsilon, g, noise = -0.2 - 0.5 * drawn[0], 0.3 + 0.5 * drawn[1], 0.4 + 0.6 * drawn[2]
        return WideErfNetwork(float(epsilon), float(g), float(noise), setting["n"], setting["d"])

    def hypotheses(self, problem: WideErfNetwork) -> list[Hypothesis]:
        rows = problem.rows / problem.dimension**3
        return [
            Hypothesis("rows over d³", jnp.asarray(rows), "<", 0.2, "the cubic eigenvalue is of order d^-3"),
            Hypothesis("the noise", jnp.asarray(problem.noise), ">", 0.0, "sums over data are expectations"),
        ]


_KEY = "rubin2024grokking"
_NODES = np.cos((np.arange(400) + 0.5) * np.pi / 400)


class CubicEigenvalue(Claim[WideErfNetwork]):
    """On the sphere |x|² = d, the kernel of erf networks at infinite width with weights w ~ N(0, g/d I), (2/pi)
    arcsin(2g cos(x, z)/(1 + 2g)), has on polynomials of degree 3 an eigenvalue that falls like d^-3: regression needs
    rows of the order of its inverse to learn them.
    """

    title = "Cubic components at infinite width"
    source = Source(_KEY, "Abstract, beyond Gaussian processes")
    population = WideErfNetworks()
    relation = Rate("d", (64.0, 128.0, 256.0))
    control = Control("like d^-2.5", lambda found, problem: found + 0.5)
    controls = "how many rows the network at infinite width needs for a cubic component"
    unexplained = "directions of the inputs that are not alike"
    traced = False
    trials = 16
    predict = -3.0

    def measure_at(self, problem: WideErfNetwork, key: Key[Array, ""], d: float) -> Array:
        """By Funk and Hecke: the mean of k(t) P(t), P the cubic Gegenbauer polynomial with P(1) = 1."""
        t, g = _NODES, problem.weight_variance
        law = (1 - t**2) ** ((d - 2) / 2)  # with the nodes' own density, that of cos(x, z)
        cubic = ((d + 2) * t**3 - 3 * t) / (d - 1)
        kernel = 2 / np.pi * np.arcsin(2 * g * t / (1 + 2 * g))
        return jnp.asarray(np.sum(law * kernel * cubic) / np.sum(law))


class RegressionSeesTheCubicThroughLengths(Claim[WideErfNetwork]):
    """Kernel regression with the kernel of erf networks at infinite width, on n rows of H_1(v'x) + epsilon H_3(v'x), x
    ~ N(0, I_d), n well below d³, and noise sigma² = kappa n/d, has along epsilon H_3(v'x), for large d, the part

        -r g/((1 + 2g) d epsilon),    r = a/(a + t),    a = 4g/(pi (1 + 2g) d),

    t > 0 from n t = sigma² + (2/pi) arcsin(2g/(1 + 2g)) - a d + r t d. It is the linear component, of which r is
    learned: the kernel's function there is v'x (1 + 2g|x|²/d)^(-1/2), and |x|² holds (v'x)². Of the cubic component
    itself less than a tenth of that is learned, with the eigenvalue 16 g³/(pi (1 + 2g)³ d³) in place of a.
    """

    title = "Regression sees the cubic component through lengths"
    source = Source(_KEY, "Abstract, beyond Gaussian processes", note="by regression")
    population = WideErfNetworks()
    relation = EqualInMean(margin=0.12, resolution=0.1)
    control = Control("with g in place of g/(1 + 2g)", lambda found, problem: (1 + 2 * problem.weight_variance) * found)
    controls = "what infinite width shows of a cubic component: about a per cent at n = 400, d = 20"
    unexplained = "less noise, at which n of the order of d² already tells on the error"
    traced = False
    trials = 64

    def predict(self, problem: WideErfNetwork) -> Array:
        g, d, n = problem.weight_variance, problem.dimension, problem.rows
        linear = 4 * g / (np.pi * (1 + 2 * g) * d)
        rest = problem.noise * n / d + 2 / np.pi * np.arcsin(2 * g / (1 + 2 * g)) - linear * d
        # Times a + t the equation for t is n t² + (a (n - d) - rest) t - a rest = 0, with one positive root.
        half = (rest - linear * (n - d)) / (2 * n)
        effective = half + np.sqrt(half**2 + linear * rest / n)
        learned = linear / (linear + effective)
        return jnp.asarray(-learned * g / ((1 + 2 * g) * d * problem.epsilon))

    def measure(self, problem: WideErfNetwork, key: Key[Array, ""]) -> Array:
        """Regression on drawn rows, and the part of its values at other rows along H_3."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, d = problem.rows, problem.dimension
        x, z = rng.normal(size=(n, d)), rng.normal(size=(2000, d))
        first, third = x[:, 0], x[:, 0] ** 3 - 3 * x[:, 0]
        gram = problem.kernel(x, x) + problem.noise * n / d * np.eye(n)
        values = problem.kernel(z, x) @ cho_solve(cho_factor(gram), first + problem.epsilon * third)
        basis = np.stack([z[:, 0], problem.epsilon * (z[:, 0] ** 3 - 3 * z[:, 0])], axis=1)
        return jnp.asarray(np.linalg.lstsq(basis, values)[0][1])
