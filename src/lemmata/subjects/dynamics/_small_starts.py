"""Linear self-supervised models before training. Each has a contrastive matrix with known eigenvectors and a start with
entries of size about 1.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space

_REFLECTIONS = 4
_NEVER = (-0.4, 0.0)  # eigenvalues of modes that are never learned, in units of the largest eigenvalue


class SmallStart(eqx.Module):
    """A contrastive matrix Gamma = V diag(gamma) V', and a start W with d rows and entries of size about 1.

    Args:
        eigenvalues: gamma, descending, of any sign.
        vectors: the eigenvectors V, one in each column.
        start: the weights W, which a claim multiplies by a small scale.
    """

    eigenvalues: Float[Array, " m"]
    vectors: Float[Array, "m m"]
    start: Float[Array, "d m"]

    @property
    def dimension(self) -> int:
        """The number of outputs of the model."""
        return len(self.start)

    @property
    def leading(self) -> Float[Array, " d"]:
        """The d largest eigenvalues, which belong to the modes that the model learns."""
        return self.eigenvalues[: self.dimension]

    @property
    def matrix(self) -> Float[Array, "m m"]:
        """The matrix Gamma."""
        return (self.vectors * self.eigenvalues) @ self.vectors.T


def rotation(key: Key[Array, ""], m: int) -> Float[Array, "m m"]:
    """Return a random orthogonal matrix as a product of reflections."""
    found = jnp.eye(m)
    for own in jax.random.split(key, _REFLECTIONS):
        normal = jax.random.normal(own, (m,))
        found = found - 2 * jnp.outer(found @ normal, normal) / (normal @ normal)
    return found


class SmallStarts(Population[SmallStart]):
    """Starts whose contrastive matrix Gamma has d + 1 positive eigenvalues, the eigenvalue 0 and a negative eigenvalue.
    Each positive eigenvalue is 0.35 to 0.6 times the eigenvalue before it.

    If the spectrum is "paired", the first two eigenvalues are equal. Such pairs occur for the cosine and the sine of a
    frequency if shifts do not change the distribution of data and views.
    """

    spectrum: str = "apart"
    spectra: tuple[str, ...] = ("apart",)

    def settings(self) -> Space:
        return Space(
            d=Integer(2, 2, 5, "outputs of the model", corners=(2, 3)),
            spectrum=Choice(self.spectrum, self.spectra, "modes of the contrastive matrix"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmallStart:
        keys = jax.random.split(key, 4)
        d = setting["d"]
        ratios = jax.random.uniform(keys[0], (d,), minval=0.35, maxval=0.6)
        if setting["spectrum"] == "paired":
            ratios = ratios.at[0].set(1.0)
        largest = 0.5 * 4 ** jax.random.uniform(keys[1])
        positive = largest * jnp.concatenate([jnp.ones(1), jnp.cumprod(ratios)])
        values = jnp.concatenate([positive, largest * jnp.asarray(_NEVER[::-1])])
        m = len(values)
        return SmallStart(values, rotation(keys[2], m), jax.random.normal(keys[3], (d, m)))

    def hypotheses(self, problem: SmallStart) -> list[Hypothesis]:
        ordered = jnp.min(-jnp.diff(problem.eigenvalues))
        return [
            Hypothesis(
                "there is a positive mode for each output",
                problem.leading.min(),
                ">",
                0.0,
                "a mode that is not positive is never learned",
            ),
            Hypothesis("eigenvalues descend", ordered, ">=", 0.0, "modes are numbered from the fastest"),
        ]
