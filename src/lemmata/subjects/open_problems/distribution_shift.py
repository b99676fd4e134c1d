"""Sixth problem: how does a norm relate to robustness under a shift? The norm multiplies a distance between two
samples.

This is a partial result. Consider functions in the unit ball of a kernel's space. Their largest difference of means
over two samples is exactly the mean discrepancy of the samples. The difference of mean squared errors is at most the
squared norm of the error times the discrepancy under the squared kernel. The result leaves open norms of networks. It
also leaves open the complexity of attention, for which there is no definition to test.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.sampled import sampled_kernel
from lemmata.kernels import AbstractKernel, gram

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "generalisation", "problem": 6}


class ShiftedSamples(eqx.Module):
    """Inputs for training and in use, and the error e = sum_i w_i k(u_i, .) of a kernel ridge fit.

    The fit uses the training inputs.

    Args:
        x: training inputs.
        z: inputs in use.
        kernel: a kernel with k(x, x) = 1.
        ridge: the ridge of the fit, divided by the number of rows.
        centre: the centre of the target function k(centre, .).
    """

    x: Float[Array, "n d"]
    z: Float[Array, "n d"]
    kernel: AbstractKernel
    ridge: Float[Array, ""]
    centre: Float[Array, "1 d"]

    def error(self) -> tuple[Float[Array, "m d"], Float[Array, " m"]]:
        """The points u_i and the weights w_i of the error."""
        matrix = gram(self.kernel, self.x) + len(self.x) * self.ridge * jnp.eye(len(self.x))
        fitted = jnp.linalg.solve(matrix, gram(self.kernel, self.x, self.centre)[:, 0])
        return jnp.concatenate([self.x, self.centre]), jnp.concatenate([fitted, -jnp.ones(1)])


class Shifts(Population[ShiftedSamples]):
    """Normal inputs, shifted by 1 to 2 along the first axis, and targets that are centred at the shifted inputs."""

    free = ("x", "z", "centre")
    settings = Space(
        n=Integer(24, 4, 200, "points in each sample", corners=(12, 24)),
        d=Integer(2, 1, 20, "dimension", corners=(1, 4)),
        kernel=Choice("rbf", ("rbf", "laplace"), "kernel"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ShiftedSamples:
        normal_key, draw_key = jax.random.split(key)
        n, d = setting["n"], setting["d"]
        normal = jax.random.normal(normal_key, (2 * n + 1, d))
        far, ridge = jax.random.uniform(draw_key, (2,))
        shift = jnp.zeros(d).at[0].set(1 + far)
        kernel = sampled_kernel(setting["kernel"], d)
        centre = shift + 0.3 * normal[-1:]
        return ShiftedSamples(normal[:n], normal[n : 2 * n] + shift, kernel, 10.0 ** (4 * ridge - 3), centre)

    def hypotheses(self, problem: ShiftedSamples) -> list[Hypothesis]:
        largest = jnp.abs(problem.kernel.diagonal(problem.x) - 1).max()
        return [Hypothesis("k(x, x) is 1", largest, "<=", 1e-12, "then the norm of a function bounds its values")]


def squared_discrepancy(problem: ShiftedSamples, power: int = 1) -> Float[Array, ""]:
    """Return the sum of the means of k^power within each sample, minus twice the mean between the samples."""
    within = [jnp.mean(gram(problem.kernel, points) ** power) for points in (problem.x, problem.z)]
    return within[0] + within[1] - 2 * jnp.mean(gram(problem.kernel, problem.x, problem.z) ** power)


class ShiftOfMeans(Claim[ShiftedSamples]):
    """Let P and Q be two samples, and let f be a function in the unit ball of the reproducing kernel Hilbert space of
    k. The largest difference between the means of f over P and over Q is the maximum mean discrepancy,

        sup |E_P f - E_Q f| = ( E k(x, x') + E k(z, z') - 2 E k(x, z) )^(1/2),   x, x' from P and z, z' from Q.
    """

    title = "The largest difference of means over the unit ball of an RKHS is the maximum mean discrepancy"
    source = Source("gretton2012", "main result", note="the maximum mean discrepancy")
    population = Shifts()
    relation = Equal()
    control = Control(
        "the term between the samples is subtracted once instead of twice",
        lambda value, problem: jnp.sqrt(value**2 + jnp.mean(gram(problem.kernel, problem.x, problem.z))),
    )
    controls = "the largest difference of means over a ball of functions"
    unexplained = "how large the norm of a trained function is"

    def predict(self, problem: ShiftedSamples) -> Array:
        return jnp.sqrt(squared_discrepancy(problem))

    def measure(self, problem: ShiftedSamples, key: Key[Array, ""]) -> Array:
        """Search by ascent on the unit sphere from a random function, in coordinates with a Euclidean norm."""
        values, vectors = jnp.linalg.eigh(gram(problem.kernel, jnp.concatenate([problem.x, problem.z])))
        coordinates = vectors * jnp.sqrt(jnp.maximum(values, 0.0))
        n = len(problem.x)
        gap = lambda f: jnp.mean(coordinates[:n] @ f) - jnp.mean(coordinates[n:] @ f)

        def ascend(_, f):
            slope = jax.grad(gap)(f)
            moved = f + 10 * slope / jnp.linalg.norm(slope)
            return moved / jnp.linalg.norm(moved)

        start = jax.random.normal(key, (2 * n,))
        return jnp.abs(gap(jax.lax.fori_loop(0, 30, ascend, start / jnp.linalg.norm(start))))

    def condition(self, problem: ShiftedSamples) -> Array:
        """Bound rounding errors: means cancel in the discrepancy, and eigenvectors of the Gram matrix are rounded."""
        return 200.0 / squared_discrepancy(problem)


class SquaredErrorUnderShift(Claim[ShiftedSamples]):
    """Let k be a kernel, let f be a kernel ridge fit on a sample P, and let g be the target. Let f and g lie in the
    reproducing kernel Hilbert space of k. Let e = f - g be the error, and let |e| be its norm in this space. Let Q be
    another sample, and let D be the maximum mean discrepancy of P and Q under the kernel k². The mean squared errors
    over P and Q satisfy

        |E_P e² - E_Q e²| <= |e|² D.

    The reason is that e² lies in the reproducing kernel Hilbert space of k², where its norm is at most |e|². If k(x, x)
    = 1, then |e|² also bounds each of the two mean squared errors.
    """

    title = "The kernel norm of an error function bounds the change of the mean squared error under a shift"
    source = Source("foundation2025", "Section 7.6", note="a probe: the squared error of kernel ridge regression")
    population = Shifts()
    relation = AtMost()
    control = Control("a quarter of the bound is enough", lambda bound, problem: bound / 4)
    controls = "the difference of the mean squared errors before and after a shift"
    unexplained = "why norms are small after training; targets outside the space"

    def trivial(self, problem: ShiftedSamples) -> Array:
        """Return |e|², because squared errors are between 0 and |e|²."""
        return self._squared_norm(problem)

    def predict(self, problem: ShiftedSamples) -> Array:
        return self._squared_norm(problem) * jnp.sqrt(squared_discrepancy(problem, 2))

    def measure(self, problem: ShiftedSamples, key: Key[Array, ""]) -> Array:
        points, weights = problem.error()
        errors = [jnp.mean((gram(problem.kernel, at, points) @ weights) ** 2) for at in (problem.x, problem.z)]
        return jnp.abs(errors[0] - errors[1])

    def _squared_norm(self, problem: ShiftedSamples) -> Array:
        points, weights = problem.error()
        return weights @ gram(problem.kernel, points) @ weights
