"""The effect of inducing points, and of nu, the only free number of a machine of ReLU layers.

The objective is a log likelihood minus nu times divergences from a prior. This theory gives the optimum at large nu,
which is the kernel of an infinitely wide network. It also says how the likelihood and the divergences change as nu
falls, and what inducing points compute. It assumes ReLU layers. It does not explain whether a larger likelihood of the
training labels gives better predictions on other rows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.linalg import eigvalsh
from scipy.stats import multivariate_normal

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.subjects.machines import SparseMachine, deep_kernel_machine

from ._two_rows import rectified

ABOUT = {"tool": "Gaussian processes", "architecture": "kernel method", "object": "kernel"}


class MachineRows(eqx.Module):
    """Rows, labels, and a point in the space of Gram matrices.

    Args:
        x: the rows X, which have d columns and the Gram matrix G_0 = X X'/d + 1.
        y: the labels of the rows.
        raw: the free numbers of the triangular factors A of the layers' Gram matrices L A A' L'.
        nu: the weight of the divergences.
        level: the variance of the labels' noise.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n C"]
    raw: Float[Array, "layers n n"]
    nu: Float[Array, ""]
    level: float = eqx.field(static=True)

    @property
    def gram_0(self) -> Float[Array, "n n"]:
        """The Gram matrix G_0 = X X'/d + 1 of the rows."""
        return self.x @ self.x.T / self.x.shape[1] + 1

    @property
    def layers(self) -> int:
        """The number of learned layers."""
        return len(self.raw)

    @eqx.filter_jit
    def sparse(self, points: Float[Array, "p d"], raw: Float[Array, "layers p p"]) -> Float[Array, ""]:
        """Return the objective of the sparse machine with these inducing points and free numbers, with jitter 0."""
        machine = SparseMachine(points, raw, jnp.log(jnp.asarray(self.level)), "relu", 0.0)
        return machine.objective(self.x, self.y, self.nu)


class MachineRowsPopulation(Population[MachineRows]):
    """Normal rows, normal labels of standard deviation 2, and nu between 1/3 and 3.

    The free numbers are normal with standard deviation 0.3.
    """

    settings = Space(
        rows=Integer(4, 2, 20, "rows", corners=(3, 5)),
        layers=Integer(2, 1, 6, "learned layers", corners=(1, 2)),
        noise=Real(0.3, 0.05, 2.0, "variance of the labels' noise", corners=(0.2, 0.5)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MachineRows:
        """Draw n rows in 2 n dimensions, and labels with n/2 columns."""
        n = setting["rows"]
        keys = jax.random.split(key, 4)
        x = jax.random.normal(keys[0], (n, 2 * n))
        y = 2.0 * jax.random.normal(keys[1], (n, max(n // 2, 1)))
        raw = 0.3 * jax.random.normal(keys[2], (setting["layers"], n, n))
        return MachineRows(x, y, raw, 3 ** jax.random.uniform(keys[3], (), minval=-1, maxval=1), setting["noise"])

    def hypotheses(self, problem: MachineRows) -> list[Hypothesis]:
        own = jnp.diagonal(problem.gram_0)
        cosines = problem.gram_0 / jnp.sqrt(own[:, None] * own) - 2 * jnp.eye(len(own))
        return [
            Hypothesis("the largest cosine of two rows", jnp.max(cosines), "<", 0.999, "priors are definite"),
            Hypothesis("the noise", problem.level, ">", 0.0, "the likelihood is bounded"),
        ]


_KEY = "yang2023theory"


class StiffMachineIsKernelMethod(Claim[MachineRows]):
    """Let a deep kernel machine have ReLU layers, each with a learned Gram matrix. Its objective is the log likelihood
    of the labels, minus nu times the divergences of the layers from their priors. Let G_0 be the Gram matrix of the
    inputs, and let K(G) be the kernel of a ReLU layer as a function of the Gram matrix G of its inputs. As nu grows,
    the Gram matrix of the last layer approaches K(K(...K(G_0))) at the rate 1/nu. This limit is the Gram matrix of an
    infinitely wide ReLU network.
    """

    title = "For a large weight nu of the prior, a deep kernel machine approaches a wide network's kernel as 1/nu"
    source = Source(_KEY, "Abstract, deep kernel machines", note="nu to infinity")
    stated = Kind.OWN
    population = MachineRowsPopulation()
    relation = Rate("nu", (4e2, 1.6e3, 6.4e3), margin=0.1, resolution=0.1)
    control = Control("the rate is 1/sqrt(nu)", lambda exponent, problem: exponent + 0.5)
    controls = "the kernel at the last layer"
    unexplained = "which nu is best for a table; any smooth objective with a weight nu has this rate"
    trials = 12
    traced = False
    predict = -1.0

    def measure_at(self, problem: MachineRows, key: Key[Array, ""], nu: float) -> Array:
        gram = np.asarray(problem.gram_0)
        found = deep_kernel_machine(problem.gram_0, problem.y, layers=problem.layers, nu=nu, noise=problem.level)
        for _ in range(problem.layers):
            gram = rectified(gram)
        return jnp.asarray(np.linalg.norm(np.asarray(found.grams[-1]) - gram) / np.linalg.norm(gram))


class DivergenceFallsWithNu(Claim[MachineRows]):
    """Take a deep kernel machine with ReLU layers, each with a learned Gram matrix. Its objective is the log likelihood
    of the labels, minus nu times the Gaussian divergences of the layers from their priors. As nu grows, the sum of
    these divergences at the optimum falls like nu^-2. Each divergence is 0 only if the Gram matrix equals the prior. So
    a large nu keeps the Gram matrices close to their priors.
    """

    title = "The divergences of a deep kernel machine's layers from their priors fall like nu^-2 in their weight nu"
    source = Source(_KEY, "Abstract, interpretable", note="ReLU layers")
    population = MachineRowsPopulation()
    relation = Rate("nu", (4e2, 1.6e3, 6.4e3), margin=0.1, resolution=0.1)
    control = Control("the sum falls like nu^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "how far layers move from the prior"
    unexplained = "whether the movement is useful"
    reading = (
        "close means that the divergence vanishes with its weight, at the rate of Gram matrices within 1/nu of the "
        "prior. A first version only tested that the divergence falls from nu = 0.5 to 8, which holds for any penalty "
        "at exact maximisers"
    )
    trials = 12
    traced = False
    predict = -2.0

    def measure_at(self, problem: MachineRows, key: Key[Array, ""], nu: float) -> Array:
        """Compute the divergences from the eigenvalues of each Gram matrix relative to its prior."""
        found = deep_kernel_machine(problem.gram_0, problem.y, layers=problem.layers, nu=nu, noise=problem.level)
        below, total = np.asarray(problem.gram_0), 0.0
        for gram in np.asarray(found.grams):
            apart = eigvalsh(gram - (prior := rectified(below)), prior)
            total += 0.5 * np.sum(apart - np.log1p(apart))
            below = gram
        return jnp.asarray(total)


class AllRowsAsInducingPoints(Claim[MachineRows]):
    """A dense deep kernel machine learns L Gram matrices of all n training rows. A sparse machine learns Gram matrices
    of inducing points, which stand for the rows. Let G_0 be the Gram matrix of the n rows, and let K be the kernel of a
    layer. Let D be the divergence of a layer from its prior, and let nu be the weight of the divergences. Let y_c be
    the labels for output c, and let s be the variance of their noise. The dense machine has the objective

        sum_c log N(y_c; 0, K(G_L) + s I) - nu sum_l D(G_l | K(G_{l-1})).

    If the inducing points are all n rows, the objective of the sparse machine equals this objective for any Gram
    matrices G_1, ..., G_L. So both objectives also have the same maxima.
    """

    title = "With all rows as inducing points, sparse and dense deep kernel machines have equal objectives"
    source = Source(_KEY, "Abstract, sparse", note="all rows")
    stated = Kind.OWN
    population = MachineRowsPopulation()
    relation = Equal()
    control = Control("the objective has no divergences", lambda value, problem: _dense(problem, 0.0))
    controls = "the objective of the sparse machine"
    unexplained = "how many inducing points are enough"
    traced = False

    def predict(self, problem: MachineRows) -> Array:
        return _dense(problem, float(problem.nu))

    def measure(self, problem: MachineRows, key: Key[Array, ""]) -> Array:
        """Compute the objective from the bound of the last layer's sparse Gaussian process."""
        return problem.sparse(problem.x, problem.raw)

    def condition(self, problem: MachineRows) -> Array:
        """Allow for rounding: condition numbers of layers multiply, and sums of n terms over the noise cancel."""
        return jnp.asarray(1e3 / problem.level)


def _dense(problem: MachineRows, nu: float) -> Array:
    """Compute the objective from its definition, by SciPy's densities and determinants."""
    gram, cost = np.asarray(problem.gram_0), 0.0
    for raw in np.asarray(problem.raw):
        prior = rectified(gram)
        factor = np.linalg.cholesky(prior) @ (np.tril(raw, -1) + np.diag(np.exp(np.diag(raw))))
        gram = factor @ factor.T
        ratio = np.linalg.solve(prior, gram)
        cost += 0.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(gram))
    law = multivariate_normal(cov=rectified(gram) + problem.level * np.eye(len(gram)))  # pyright: ignore[reportArgumentType]
    return jnp.asarray(np.sum(law.logpdf(np.asarray(problem.y).T)) - nu * cost)
