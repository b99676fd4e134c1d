"""A machine of one learned Gram matrix under pooled images, and the optimum of its objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.machines import ConvolutionalGrams, induced_posterior, pool_grams, rectify_grams, replace_gram

from ._grams_of_images import arc_cosine


class StiffMachine(eqx.Module):
    """Grams of a layer, and targets of its images through a ReLU, pooling and a Gaussian process with noise.

    Args:
        grams: the prior's.
        targets: a column an output.
        noise: variance of the labels' noise.
    """

    grams: ConvolutionalGrams
    targets: Float[Array, "n k"]
    noise: Float[Array, ""]

    def bound(self, factor: Float[np.ndarray, "p p"]) -> float:
        """The bound at G = L V V' L'.

        Args:
            factor: V.
        """
        return float(_bound(self.grams, self.targets, self.noise, factor)[0])

    def best(self, stiffness: float, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """The V of the maximiser G = L V V' L' of bound - stiffness divergence, L L' = K_ii, and the bound there.

        Args:
            stiffness: nu.
            start: a V to start from; the identity by default.
        """
        p = len(self.grams.inducing)
        lower = np.tril_indices(p)

        def loss(entries: np.ndarray) -> tuple[float, np.ndarray]:
            factor = np.zeros((p, p))
            factor[lower] = entries
            bound, slope = _bound(self.grams, self.targets, self.noise, factor)
            own = np.diagonal(factor)
            divergence = 0.5 * (np.sum(factor**2) - p) - np.sum(np.log(np.abs(own)))
            slope = stiffness * (factor - np.diag(1 / own)) - np.asarray(slope)
            return stiffness * divergence - float(bound), slope[lower]

        first = (np.eye(p) if start is None else start)[lower]
        found = minimize(
            loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": 1e-15, "gtol": 1e-9}
        )
        factor = np.zeros((p, p))
        factor[lower] = found.x
        return factor, self.bound(factor)


@jax.jit
@jax.value_and_grad
def _through(factor: Array, grams: ConvolutionalGrams, targets: Array, noise: Array) -> Array:
    half = jnp.linalg.cholesky(grams.inducing) @ factor
    top = pool_grams(rectify_grams(replace_gram(grams, half @ half.T)))
    return induced_posterior(top, targets, noise).bound


def _bound(grams: ConvolutionalGrams, targets: Array, noise: Array, factor: np.ndarray) -> tuple[Array, Array]:
    return _through(jnp.asarray(factor), grams, targets, noise)


class StiffMachines(Population[StiffMachine]):
    """Images of random sites, and targets that their pooled ReLU features tell."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            n=Integer(10, 4, 40, "images", corners=(10, 10)),
            inducing=Integer(3, 2, 6, "inducing points", corners=(3, 3)),
            noise=Real(0.1, 0.01, 1.0, "variance of the labels' noise"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StiffMachine:
        """Normal features of four sites an image; labels by one direction of them, through a ReLU, plus noise."""
        draw = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, p, noise = setting["n"], setting["inducing"], setting["noise"]
        points = draw.normal(size=(p + 4 * n, 5))
        told = np.maximum(points[p:] @ draw.normal(size=5), 0.0).reshape(n, 4).mean(axis=1)
        targets = (told - told.mean()) / told.std() + np.sqrt(noise) * draw.normal(size=n)
        joint = arc_cosine(points @ points.T / 5)
        cross = joint[p:, :p].reshape(n, 2, 2, p)
        variance = np.diagonal(joint)[p:].reshape(n, 2, 2)
        grams = ConvolutionalGrams(*map(jnp.asarray, (joint[:p, :p], cross, variance)))
        return StiffMachine(grams, jnp.asarray(targets[:, None]), jnp.asarray(noise))

    def hypotheses(self, problem: StiffMachine) -> list[Hypothesis]:
        """A prior that has an inverse, and labels with noise."""
        values = np.linalg.eigvalsh(np.asarray(problem.grams.inducing))
        return [
            Hypothesis("the inducing Gram matrix's least eigenvalue", values[0], ">", 0.0, "it is inverted"),
            Hypothesis("the labels' noise", problem.noise, ">", 0.0, "the bound divides by it"),
        ]
