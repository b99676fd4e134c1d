"""Erf networks at infinite width, with a cubic teacher."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


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

    def settings(self) -> Space:
        """Rows and dimension."""
        return Space(
            n=Integer(400, 50, 2000, "rows", corners=(300, 500)),
            d=Integer(20, 10, 60, "dimension", corners=(16, 26)),
        ).where("n is below d³/8", lambda s: 8 * s["n"] <= s["d"] ** 3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> WideErfNetwork:
        """Components -0.2 to -0.7, weight variances 0.3 to 0.8, noise 0.4 to 1."""
        drawn = np.asarray(jax.random.uniform(key, (3,)))
        epsilon, g, noise = -0.2 - 0.5 * drawn[0], 0.3 + 0.5 * drawn[1], 0.4 + 0.6 * drawn[2]
        return WideErfNetwork(float(epsilon), float(g), float(noise), setting["n"], setting["d"])

    def hypotheses(self, problem: WideErfNetwork) -> list[Hypothesis]:
        """Few rows, some noise."""
        rows = problem.rows / problem.dimension**3
        return [
            Hypothesis("rows over d³", jnp.asarray(rows), "<", 0.2, "the cubic eigenvalue is of order d^-3"),
            Hypothesis("the noise", jnp.asarray(problem.noise), ">", 0.0, "sums over data are expectations"),
        ]
