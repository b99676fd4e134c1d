"""The top of a convolutional machine: pooling by inducing points, and the effect of labels on Gram matrices below.

Global average pooling needs the covariances of all pairs of sites of an image. A machine does not store these
covariances, but inducing points explain a part of them. Labels pull on the learned Gram matrices, and the weight nu of
the divergence from the prior resists. This theory says how far approximate variances are from exact variances, and how
Gram matrices move with nu. It assumes one learned Gram matrix. It does not explain whether moving the Gram matrices
helps on new rows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Order,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.subjects.machines import ConvolutionalGrams, induced_posterior, pool_grams, rectify_grams, replace_gram
from lemmata.subjects.machines._grams_of_images import arc_cosine
from lemmata.subjects.machines._top_by_definition import fit_by_definition, slope_by_definition

ABOUT = {"tool": "Gaussian processes", "architecture": "convolution", "object": "training"}


class StiffMachine(eqx.Module):
    """A machine with one learned Gram matrix, then a ReLU, pooling and a noisy Gaussian process; and its targets.

    Args:
        grams: the covariances of the prior.
        targets: one column per output.
        noise: variance of the labels' noise.
    """

    grams: ConvolutionalGrams
    targets: Float[Array, "n k"]
    noise: Float[Array, ""]

    def bound(self, factor: Float[np.ndarray, "p p"]) -> float:
        """Return the bound on the log density of the targets at G = L V V' L', where L L' = K_ii.

        Args:
            factor: the matrix V.
        """
        return float(_bound(self.grams, self.targets, self.noise, factor)[0])

    def best(self, stiffness: float, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """Return the V for which G = L V V' L' maximises the objective, and the bound at this G.

        The objective is the bound minus `stiffness` times the divergence.

        Args:
            stiffness: the weight nu of the divergence.
            start: the V at which the search starts; by default the identity.
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
    """Images of random sites, and noisy targets that depend on pooled ReLU features of the sites."""

    settings = Space(
        n=Integer(10, 4, 40, "images", corners=(8, 14)),
        inducing=Integer(3, 2, 6, "inducing points", corners=(2, 4)),
        noise=Real(0.1, 0.01, 1.0, "variance of the labels' noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StiffMachine:
        """Draw normal points at four sites of each image. Labels are means over sites of one ReLU unit, plus noise."""
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
        values = np.linalg.eigvalsh(np.asarray(problem.grams.inducing))
        return [
            Hypothesis("the inducing Gram matrix's least eigenvalue", values[0], ">", 0.0, "it is inverted"),
            Hypothesis("the labels' noise", problem.noise, ">", 0.0, "the bound divides by the noise"),
        ]


class PooledSites(eqx.Module):
    """The joint covariances of p inducing points, which come first, and of S sites in each of n images."""

    joint: Float[np.ndarray, "all all"]
    inducing: int = eqx.field(static=True)
    images: int = eqx.field(static=True)

    @property
    def blocks(self) -> Float[np.ndarray, "n S S"]:
        """The block of each image: the covariances between the image's own sites."""
        own = self.joint[self.inducing :, self.inducing :]
        sites = len(own) // self.images
        return np.array([own[i : i + sites, i : i + sites] for i in range(0, len(own), sites)])

    @property
    def exact(self) -> Float[np.ndarray, " n"]:
        """The variance of each image's mean over sites, which is the mean covariance over all pairs of sites."""
        return self.blocks.mean(axis=(1, 2))

    @property
    def mean_variance(self) -> Float[np.ndarray, " n"]:
        """The mean variance of each image's sites, an upper bound of the variance of the mean over the sites."""
        return np.trace(self.blocks, axis1=1, axis2=2) / self.blocks.shape[1]

    @property
    def carried(self) -> ConvolutionalGrams:
        """The part of the covariances that a machine stores."""
        p, n = self.inducing, self.images
        cross = self.joint[p:, :p].reshape(n, 1, -1, p)
        variance = np.diagonal(self.joint)[p:].reshape(n, 1, -1)
        return ConvolutionalGrams(*map(jax.numpy.asarray, (self.joint[:p, :p], cross, variance)))

    @property
    def spread(self) -> float:
        """The condition number of the inducing Gram matrix."""
        return float(np.linalg.cond(self.joint[: self.inducing, : self.inducing]))


class Sites(Population[PooledSites]):
    """A third of the problems have spanned sites, a third images with equal sites, and a third overlapping patches.

    The features of spanned sites are linear combinations of the features of inducing points. In the other problems,
    the features of sites have passed through a ReLU.

    Args:
        spanned: if true, all problems have spanned sites.
    """

    spanned: bool = eqx.field(static=True, default=False)
    settings = Space(
        n=Integer(2, 1, 6, "images", corners=(2, 3)),
        sites=Integer(6, 2, 30, "sites of an image", corners=(4, 8)),
        inducing=Integer(5, 2, 12, "inducing points", corners=(4, 6)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PooledSites:
        """Draw normal features; overlapping patches are windows of three neighbouring signals."""
        draw = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, sites, p = setting["n"], setting["sites"], setting["inducing"]
        kind = 0 if self.spanned else draw.integers(3)
        if kind == 0:
            inducing = np.linalg.qr(draw.normal(size=(p, p)))[0] * draw.uniform(0.5, 2.0, p)
            points = np.concatenate([inducing, draw.normal(size=(n * sites, p)) @ inducing])
            return PooledSites(points @ points.T, p, n)
        signals = draw.normal(size=(n, 1 if kind == 1 else sites + 2, 2)) + np.zeros((n, sites + 2, 2))
        windows = np.concatenate([signals[:, i : i + sites] for i in range(3)], axis=2)
        points = np.concatenate([draw.normal(size=(p, 6)), windows.reshape(n * sites, 6)])
        return PooledSites(arc_cosine(points @ points.T / 6), p, n)

    def hypotheses(self, problem: PooledSites) -> list[Hypothesis]:
        values = np.linalg.eigvalsh(problem.joint[: problem.inducing, : problem.inducing])
        return [Hypothesis("the inducing Gram matrix's least eigenvalue", values[0], ">", 0.0, "it is inverted")]


_KEY = "milsom2024convolutional"
_pooled = jax.jit(pool_grams, static_argnames="residuals")


class PoolingByInducingPoints(Claim[PooledSites]):
    """Pool an image by averaging the features over its sites (positions). The variance of this average is the mean
    covariance over all pairs of sites. Let K_ii be the Gram matrix of inducing points, a few points that stand for all
    sites. Let K_ti be the covariances of site t with the inducing points, and let m be the mean of K_ti over the sites
    t. The variance that the inducing points explain,

        m K_ii^-1 m',

    is at most the variance of the average.
    """

    title = "Inducing points explain at most the variance of a pooled image's features"
    source = Source(_KEY, "Abstract, top layers", note="global average pooling")
    stated = Kind.OWN
    population = Sites()
    relation = AtMost()
    control = Control(
        "the explained variance is at most nine tenths of the variance", lambda exact, problem: 0.9 * exact
    )
    controls = "the variance of pooled images"
    unexplained = "the variance that inducing points leave out"
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.exact)

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        return _pooled(problem.carried, residuals="dropped").variance

    def trivial(self, problem: PooledSites) -> Array:
        """Return the mean variance of the sites, which is at least the variance of their mean."""
        return jnp.asarray(problem.mean_variance)

    def condition(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.spread * problem.inducing)


class PoolingOfSpannedSites(Claim[PooledSites]):
    """Let K_ii be the Gram matrix of inducing points, and let K_ti be the covariances of site t (a position in an
    image) with them. Let m be the mean of K_ti over the sites t of an image. Let the features of these sites be linear
    combinations of the features of the inducing points. The variance of the mean of the features over the sites is

        m K_ii^-1 m'.
    """

    title = "Inducing points that span the sites explain all variance of a pooled image's features"
    source = Source(_KEY, "Abstract, top layers", note="global average pooling, where nothing is lost")
    stated = Kind.OWN
    population = Sites(spanned=True)
    relation = Equal()
    control = Control("the variance is a hundredth larger", lambda exact, problem: 1.01 * exact)
    controls = "the variance of pooled images"
    unexplained = "the variance that is left out by inducing points that do not span the sites"
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.exact)

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        return _pooled(problem.carried, residuals="dropped").variance

    def condition(self, problem: PooledSites) -> Array:
        """Multiply the condition numbers of K_ii and of the sums over pairs of sites, whose terms cancel."""
        return jnp.asarray(problem.spread * problem.inducing * problem.mean_variance / problem.exact)


class DependentRest(Claim[PooledSites]):
    """Let K_ii be the Gram matrix of the inducing points. Let K_ti be the covariances of site t (a position in an
    image) with the inducing points, and let k_t be the variance of site t. Let m be the mean of K_ti over the sites t
    of an image, and let r be the mean of k_t - K_ti K_ii^-1 K_it over these sites. For any dependence between the
    sites, the variance of the mean feature over the sites is at most

        m K_ii^-1 m' + r.

    Equality holds if all sites of the image are equal.
    """

    title = "For any dependence of sites, a pooled image's variance is at most explained plus mean unexplained variance"
    source = Source(_KEY, "Abstract, top layers", note="for residuals that depend on each other")
    population = Sites()
    relation = AtMost()
    control = Control("half of the remainder r is enough", lambda bound, problem: (bound + _explained(problem)) / 2)
    controls = "the variance of pooled images"
    unexplained = "how similar the remainders of two sites are"
    traced = False

    def predict(self, problem: PooledSites) -> Array:
        return _pooled(problem.carried, residuals="dependent").variance

    def measure(self, problem: PooledSites, key: Key[Array, ""]) -> Array:
        """Compute the variance from all pairs of sites."""
        return jnp.asarray(problem.exact)

    def trivial(self, problem: PooledSites) -> Array:
        """Return the mean variance of the sites, which is at least the variance of their mean."""
        return jnp.asarray(problem.mean_variance)

    def condition(self, problem: PooledSites) -> Array:
        return jnp.asarray(problem.spread * problem.inducing)


def _explained(problem: PooledSites) -> Array:
    return _pooled(problem.carried, residuals="dropped").variance


class GramsLearnAtFiniteStiffness(Claim[StiffMachine]):
    """Let a deep kernel machine consist of one learned Gram matrix G, followed by ReLU, pooling and a Gaussian process
    with noisy labels. The machine maximises a bound on the log density of the labels, minus nu times the divergence of
    N(0, G) from N(0, K). Here K is the Gram matrix of the prior. As nu grows, the maximising G approaches K, at which
    no representation is learned. Let L be a matrix with L L' = K, and let R be the gradient of the bound with respect
    to G at G = K. Then

        nu |L^-1 G L^-T - I| -> 2 |L' R L|.
    """

    title = "For a large weight nu of the prior, a deep kernel machine's Gram matrix deviates from the prior like 1/nu"
    source = Source(_KEY, "Abstract, infinite width", "Abstract, retained")
    stated = Kind.OWN
    population = StiffMachines()
    relation = Limit("stiffness", (1e3, 1e4, 1e5), margin=0.001, resolution=0.002)
    control = Control("the distance is a tenth larger", lambda distance, problem: 1.1 * distance)
    controls = "how far Gram matrices are from their prior"
    unexplained = (
        "small nu, for which there may be several maximisers; any smooth objective with a weight nu has such a limit"
    )
    reading = (
        "representation learning means a Gram matrix of a layer that depends on labels; standard limits mean "
        "infinite nu"
    )
    traced = False
    trials = 16

    def predict(self, problem: StiffMachine) -> Array:
        """Differentiate the bound at G = L V V' L' numerically with respect to V.

        The gradient at the identity is 2 L' R L.
        """
        p, step = len(problem.grams.inducing), 1e-4
        moves = step * np.eye(p * p).reshape(p * p, p, p)
        slopes = [problem.bound(np.eye(p) + move) - problem.bound(np.eye(p) - move) for move in moves]
        return jnp.asarray(np.linalg.norm(slopes) / (2 * step))

    def measure_at(self, problem: StiffMachine, key: Key[Array, ""], stiffness: float) -> Array:
        factor = problem.best(stiffness)[0]
        return jnp.asarray(stiffness * np.linalg.norm(factor @ factor.T - np.eye(len(factor))))


class FitFallsWithStiffness(Claim[StiffMachine]):
    """Let a deep kernel machine consist of one learned Gram matrix, followed by ReLU, pooling and a Gaussian process
    with noisy labels. The machine maximises a bound on the log density of its training labels, minus nu times the
    divergence from the prior. At the maximiser, the bound falls as nu rises from 0.1 to 1, 10 and 100. A larger bound
    means a better fit. The trials compute the bound from its definition, with arc-cosine kernels for the ReLU. A
    problem counts only if the gradient of the objective, also computed from its definition, vanishes at the maximiser.
    """

    title = "The fit of a deep kernel machine to its training labels becomes worse as the weight of its prior rises"
    source = Source(_KEY, "Abstract, retained", note="the effect of its weight nu")
    stated = Kind.OWN
    population = StiffMachines()
    relation = Order("stiffness", (0.1, 1.0, 10.0, 100.0))
    control = Control("the bound rises with nu", lambda sign, problem: -sign, loose="a sign has no nearby false value")
    controls = "the fit of the training labels"
    unexplained = (
        "accuracy on other rows, which may fall if the fit rises; every penalty has this effect at exact maximisers"
    )
    traced = False
    trials = 16
    predict = -1.0

    def hypotheses(self, problem: StiffMachine) -> list[Hypothesis]:
        """Check that the V that was found maximises the objective of this machine."""
        given = (problem.grams, np.asarray(problem.targets), float(problem.noise))
        slope = slope_by_definition(*given, problem.best(1.0)[0], 1.0)
        return [
            Hypothesis("the gradient at the maximiser for nu = 1", slope, "<", 1e-3, "otherwise it is not a maximiser")
        ]

    def measure(self, problem: StiffMachine, key: Key[Array, ""]) -> Array:
        """Train machines from the largest nu to the smallest, each from the result of the previous one."""
        factor, bounds = None, []
        for stiffness in reversed(self.relation.rungs):
            factor, _ = problem.best(stiffness, factor)
            bounds.append(fit_by_definition(problem.grams, np.asarray(problem.targets), float(problem.noise), factor))
        return jnp.asarray(bounds[::-1])
