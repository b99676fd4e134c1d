"""Linear machines: the Gram matrices between inputs and labels, in closed form.

A machine of L linear layers maximises the labels' log likelihood, minus nu times a sum of divergences. Each divergence
is that of a layer's Gram matrix from the previous matrix. Let S = Y Y'/C for the C columns of labels Y. Without noise,
the log likelihood is -C times one more divergence, that of S from the last matrix, plus a constant. Relative to the
Gram matrix of the inputs, all layers are powers of one matrix. This theory gives every layer of such a machine for
every nu, and says when a maximum exists at all. It assumes linear maps. It does not explain other maps, which have no
closed form and may have several maxima.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Rate, Source, Space
from lemmata.subjects.machines import deep_kernel_machine, linear_deep_kernel_machine

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "kernel"}

_LEAST = 1e-3  # the smallest eigenvalue of G_0 relative to its mean


class FewRows(eqx.Module):
    """The Gram matrix of rows, their labels, and a machine's settings.

    Args:
        gram_0: the Gram matrix G_0 = X X'/d of the rows X, which have d columns.
        y: labels, one column per output.
        nu: the weight of each layer's divergence.
        noise: the variance of the labels' noise.
        layers: the number of learned layers.
    """

    gram_0: Float[Array, "n n"]
    y: Float[Array, "n C"]
    nu: Float[Array, ""]
    noise: Float[Array, ""]
    layers: int = eqx.field(static=True)

    @property
    def labels_gram(self) -> Float[Array, "n n"]:
        """The Gram matrix S = Y Y'/C of the C columns of labels Y."""
        return self.y @ self.y.T / self.y.shape[1]

    @property
    def spread(self) -> Float[Array, ""]:
        """The product of the condition numbers of G_0 and of S."""
        return jnp.asarray(np.linalg.cond(np.asarray(self.gram_0)) * np.linalg.cond(np.asarray(self.labels_gram)))


class FewRowsPopulation(Population[FewRows]):
    """Normal rows of a dimension twice their number, and normal labels of a standard deviation between 1/2 and 2.

    Args:
        columns: the number of label columns minus the number of rows, which may be negative.
        noisy: whether labels have noise. Its variance is from 1/100 to 1 on a logarithmic scale.
        even: if true, nu is the number of columns; otherwise nu is the number of columns times a random factor from 1/3
            to 3.
    """

    columns: int = eqx.field(default=1, static=True)
    noisy: bool = eqx.field(default=False, static=True)
    even: bool = eqx.field(default=False, static=True)
    settings = Space(
        rows=Integer(3, 2, 20, "rows", corners=(2, 4)),
        layers=Integer(2, 1, 8, "learned layers", corners=(1, 2)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewRows:
        n = setting["rows"]
        keys = jax.random.split(key, 3)
        x = jax.random.normal(keys[0], (n, 2 * n))
        columns = max(n + self.columns, 1)
        uniform = jax.random.uniform(keys[2], (3,))
        y = 2 ** (2 * uniform[0] - 1) * jax.random.normal(keys[1], (n, columns))
        nu = columns * (jnp.ones(()) if self.even else 3 ** (2 * uniform[1] - 1))
        noise = 10 ** (-2 * uniform[2]) * (1.0 if self.noisy else 0.0)
        return FewRows(x @ x.T / (2 * n), y, nu, noise, setting["layers"])

    def hypotheses(self, problem: FewRows) -> list[Hypothesis]:
        n = len(problem.gram_0)
        least = jnp.linalg.eigvalsh(problem.gram_0)[0] * n / jnp.trace(problem.gram_0)
        rank = jnp.linalg.matrix_rank(problem.y) + jnp.where(problem.noise > 0, n, 0)
        return [
            Hypothesis(
                "the smallest eigenvalue of G_0 relative to the mean", least, ">", _LEAST, "rows are independent"
            ),
            Hypothesis(
                "the rank of the labels (plus n if there is noise)",
                rank,
                ">=",
                n,
                "otherwise there is no maximum at small nu",
            ),
        ]


_KEY = "yang2023theory"
_SEARCH = 1e-7  # the error of a search that ends at a gradient of 1e-10 of the weights, for matrices of condition 1


def geometric(problem: FewRows, steps: int) -> Float[np.ndarray, "layers n n"]:
    """Return G_0^1/2 (G_0^-1/2 S G_0^-1/2)^(l/steps) G_0^1/2 for l = 1, ..., L, by symmetric roots."""
    values, vectors = np.linalg.eigh(np.asarray(problem.gram_0))
    root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
    ratios, basis = np.linalg.eigh(inverse @ np.asarray(problem.labels_gram) @ inverse)
    shares = [layer / steps for layer in range(1, problem.layers + 1)]
    return np.stack([root @ (basis * ratios**share) @ basis.T @ root for share in shares])


def searched(problem: FewRows, key: Key[Array, ""]) -> Float[Array, "layers n n"]:
    """Return the maximum of the objective that a search from a random start finds."""
    found = deep_kernel_machine(
        problem.gram_0,
        problem.y,
        layers=problem.layers,
        nu=float(problem.nu),
        noise=float(problem.noise),
        kernel="linear",
        start=key,
    )
    return found.grams


def _condition(problem: FewRows) -> Array:
    return problem.spread * _SEARCH / (32 * jnp.finfo(float).eps)


class GeometricGrams(Claim[FewRows]):
    """Let a deep kernel machine have L linear layers and no noise, and let G_0 be the Gram matrix of its n inputs. The
    machine maximises the log likelihood of the labels, minus nu times the divergences of each layer's Gram matrix G_l
    from the previous matrix G_(l-1). Let the labels Y have C >= n columns and rank n, and let S = Y Y'/C be their Gram
    matrix. If nu = C, this objective has its only maximum at

        G_l = G_0^(1/2) (G_0^(-1/2) S G_0^(-1/2))^(l/(L+1)) G_0^(1/2).

    So the Gram matrices go from G_0 to the Gram matrix S of the labels in L + 1 equal geometric steps.
    """

    title = "In a linear deep kernel machine, Gram matrices go from inputs to labels in equal geometric steps"
    source = Source(_KEY, "Abstract, new limit", note="linear machines")
    stated = Kind.THEOREM
    population = FewRowsPopulation(even=True)
    relation = Equal(block=-1)
    control = Control(
        "there are only L steps, and the last layer has the labels' Gram matrix",
        lambda grams, problem: _too_soon(problem),
    )
    controls = "the representation in every layer"
    unexplained = "maps that are not linear, and labels with noise"
    reading = "every layer has as many features as the labels have columns, in the units of the limit"
    traced = False

    def predict(self, problem: FewRows) -> Array:
        return jnp.asarray(geometric(problem, problem.layers + 1))

    def measure(self, problem: FewRows, key: Key[Array, ""]) -> Array:
        """Search for the maximum from a random start."""
        return searched(problem, key)

    def condition(self, problem: FewRows) -> Array:
        """Return the declared error of the search."""
        return _condition(problem)


def _too_soon(problem: FewRows) -> Array:
    return jnp.asarray(geometric(problem, problem.layers))


class GramsForEveryNu(Claim[FewRows]):
    """Let a deep kernel machine have L linear layers and no noise, and let G_0 be the Gram matrix of its n inputs. The
    machine maximises the log likelihood of the labels, minus nu times the divergences of each layer's Gram matrix G_l
    from the previous matrix G_(l-1). Let the labels Y have C columns and rank n, and let S = Y Y'/C. For any nu > 0,
    this objective has its maximum at G_l = G_0^1/2 M^l G_0^1/2, where the matrix M is the same for all layers l. The
    matrix M has the same eigenvectors as G_0^-1/2 S G_0^-1/2. Let s be the eigenvalue of G_0^-1/2 S G_0^-1/2 on one of
    these eigenvectors. The eigenvalue of M on the same eigenvector is the only g > 0 that solves

        nu g^(L+1) = (nu - C) g^L + C s.

    At nu = C, the solution is g = s^(1/(L+1)). As nu tends to infinity, g tends to 1.
    """

    title = "For every prior weight, the Gram matrices of a linear deep kernel machine are powers of one matrix"
    source = Source(_KEY, "Abstract, optimised objective", note="linear machines, any nu")
    stated = Kind.OWN
    population = FewRowsPopulation()
    relation = Equal(block=-1)
    control = Control(
        "the steps are geometric at every nu",
        lambda grams, problem: jnp.asarray(geometric(problem, problem.layers + 1)),
    )
    controls = "how far each direction of a representation moves towards the labels"
    unexplained = "maps that are not linear"
    traced = False

    def predict(self, problem: FewRows) -> Array:
        y, nu = np.asarray(problem.y), float(problem.nu)
        return jnp.asarray(linear_deep_kernel_machine(problem.gram_0, y, layers=problem.layers, nu=nu))

    def measure(self, problem: FewRows, key: Key[Array, ""]) -> Array:
        """Search for the maximum from a random start."""
        return searched(problem, key)

    def condition(self, problem: FewRows) -> Array:
        """Return the declared error of the search."""
        return _condition(problem)


class NoMaximumWithoutNoise(Claim[FewRows]):
    """A linear deep kernel machine maximises the log likelihood of the labels, minus nu times the divergences of each
    layer's Gram matrix from the previous matrix. Let the labels have C columns, where C is smaller than the number of
    rows, and let nu < C. Let s be the variance of the labels' noise. The objective has a maximum only because s > 0.
    Let G_0 and G_1 be the Gram matrices of the inputs and of the first layer. The smallest eigenvalue of G_1 relative
    to G_0 belongs to a direction without labels, and it falls in proportion to s as s -> 0. The trials use one layer
    and nu = C/2.
    """

    title = "In a linear deep kernel machine, input directions without labels collapse as the label noise vanishes"
    source = Source(_KEY, "Abstract, optimised objective", note="fewer labels than rows")
    stated = Kind.OWN
    population = FewRowsPopulation(columns=-1, noisy=True, even=True)
    relation = Rate("s", (1e-5, 1e-4, 1e-3), margin=0.05, resolution=0.1)
    control = Control("the eigenvalue falls like the root of s", lambda exponent, problem: exponent - 0.5)
    controls = "whether the objective has a maximum"
    unexplained = "the effect of a collapsed direction on rows that are not in training"
    reading = "one learned layer, with nu equal to half the number of columns"
    trials = 12
    traced = False
    predict = 1.0

    def hypotheses(self, problem: FewRows) -> list[Hypothesis]:
        """Check that there are fewer columns of labels than rows."""
        n, columns = problem.y.shape
        return [
            Hypothesis(
                "columns of the labels", float(columns), "<", float(n), "then some direction of the rows has no labels"
            )
        ]

    def measure_at(self, problem: FewRows, key: Key[Array, ""], noise: float) -> Array:
        nu = problem.y.shape[1] / 2
        found = deep_kernel_machine(problem.gram_0, problem.y, layers=1, nu=nu, noise=noise, kernel="linear")
        root = np.linalg.cholesky(np.asarray(problem.gram_0))
        ratio = np.linalg.solve(root, np.linalg.solve(root, np.asarray(found.grams[0])).T)
        return jnp.asarray(np.linalg.eigvalsh((ratio + ratio.T) / 2)[0])
