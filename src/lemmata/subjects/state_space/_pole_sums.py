"""Impulse responses that are sums of powers of poles, given by the poles or by a recurrence in another basis."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws


class PoleSum(eqx.Module):
    """The response h_k = sum_i c_i a_i^k with poles a and weights c, and two input sequences, the rows of u."""

    poles: Complex[Array, " n"]
    weights: Complex[Array, " n"]
    u: Float[Array, "2 t"]


class MixedModes(eqx.Module):
    """The recurrence with the state matrix V diag(a) V^-1.

    Args:
        poles: the poles a, which are the eigenvalues of the state matrix.
        basis: the matrix V, whose columns are the eigenvectors of the state matrix.
        input: the input vector B, (N, 1).
        output: the output vector C, (1, N).
        length: the number of steps of the response.
    """

    poles: Complex[Array, " n"]
    basis: Complex[Array, "n n"]
    input: Complex[Array, "n 1"]
    output: Complex[Array, "1 n"]
    length: int = eqx.field(static=True, default=6)


class PoleSums(Population[PoleSum]):
    """Responses whose poles have all angles, and moduli between 0.5 and 0.97."""

    settings = Space(
        poles=Integer(5, 1, 32, "poles", corners=(5, 9)), length=Integer(40, 2, 400, "steps", corners=(20, 40))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PoleSum:
        n = setting["poles"]
        place, weights, u = draws(key, (2, n), (2, n), (2, setting["length"]))
        modulus = 0.735 + 0.235 * jnp.tanh(place[0])
        return PoleSum(modulus * jnp.exp(3j * place[1]), jax.lax.complex(*weights), u)

    def hypotheses(self, problem: PoleSum) -> list[Hypothesis]:
        return [Hypothesis("the largest modulus of a pole", jnp.abs(problem.poles).max(), "<", 0.975, "sums converge")]


class SlowModes(Population[MixedModes]):
    """A few modes with nearly equal decay and slow rotation, in a nearly orthonormal basis."""

    settings = Space(
        modes=Integer(4, 1, 32, "modes", corners=(4, 8)),
        skew=Real(
            0.05, 0.0, 1.0, "size of the random matrix that is added to an orthonormal basis", corners=(0.05, 0.5)
        ),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixedModes:
        """Draw poles with moduli between 0.85 and 0.9 and angles of a few hundredths; C is close to B*."""
        n = setting["modes"]
        place, added, b, c = draws(key, (2, n), (2, n, n), (2, n, 1), (2, 1, n))
        poles = (0.875 + 0.025 * jnp.tanh(place[0])) * jnp.exp(0.05j * place[1])
        basis = jnp.eye(n) + setting["skew"] / n * jax.lax.complex(*added)
        b = jax.lax.complex(*b)
        return MixedModes(poles, basis, b, b.conj().T + 0.1 * jax.lax.complex(*c))

    def hypotheses(self, problem: MixedModes) -> list[Hypothesis]:
        size = jnp.abs(problem.basis)
        rest = jnp.sum(size, axis=1) - jnp.diagonal(size)
        return [
            Hypothesis(
                "smallest diagonal dominance of a row of the basis", (jnp.diagonal(size) - rest).min(), ">", 0.0, "V^-1"
            )
        ]
