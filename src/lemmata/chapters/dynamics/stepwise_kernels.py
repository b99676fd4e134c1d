"""Self-supervised learning in the space of a kernel: its modes from Gram matrices, and what they have of kernel PCA.

In the feature space of a kernel the contrastive matrix is Gamma = Phi' P Phi/(2n), Phi the features of all 2n views and
P the swap of the two views of every point. Its modes are those of K^(1/2) P K^(1/2)/(2n), and the embedding that
training ends at is a combination of 2n kernel functions. This theory controls that embedding on new points. It assumes
that all of a mode is learned; it leaves unexplained which views serve a later task.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, EqualInMean, Kind, Limit, Source, Status
from lemmata.dynamics import contrastive_gram, contrastive_matrix, terminal_embedding, terminal_weights
from lemmata.kernels import Polynomial
from lemmata.problems._view_pairs import NoisyViews, ViewPairs

_PAPER = "simon2023stepwise"
_VIEWS = 7  # views of a problem are drawn with this key, where a claim is about one draw of them
_SHOWN = 3


def _seen(problem: ViewPairs) -> tuple[Array, Array]:
    return problem.views(jax.random.key(_VIEWS))


def features(x: Float[Array, "n m"]) -> Float[Array, "n D"]:
    """Monomials with <phi(x), phi(y)> = (<x, y> + 1)²: 1, sqrt(2) x_i, x_i², and sqrt(2) x_i x_j for i < j."""
    m = x.shape[1]
    above = [(i, j) for i in range(m) for j in range(i + 1, m)]
    mixed = [2**0.5 * x[:, i] * x[:, j] for i, j in above]
    return jnp.stack([jnp.ones(len(x)), *(2**0.5 * x.T), *(x.T**2), *mixed], axis=1)


def _condition(problem: ViewPairs) -> Array:
    """Roots of a Gram matrix know an eigenvalue a of it to eps of the largest; modes divide by gamma_d."""
    x, views = _seen(problem)
    spread = np.linalg.svd(features(jnp.concatenate([x, views])), compute_uv=False)
    modes = np.linalg.eigvalsh(contrastive_matrix(features(x), features(views)))[::-1]
    apart = np.min(-np.diff(modes[: problem.dimension + 1]))
    return jnp.asarray(len(x) * (spread[0] / spread[-1]) ** 2 * modes[0] / apart)


class KernelModes(Claim[ViewPairs]):
    """For a kernel K(x, y) = <phi(x), phi(y)> the nonzero eigenvalues of Gamma, the sum over i of
    (phi(x_i) phi(x_i')^T + phi(x_i') phi(x_i)^T)/(2n), are those of

        K^(1/2) P K^(1/2)/(2n),

    K on all 2n views and P the swap of the two views of every point. Stated for K = (<x, y> + 1)², the three largest
    and the smallest, where it is negative.
    """

    title = "The contrastive kernel has the modes of the feature space"
    source = Source(_PAPER, "Abstract, small start", note="the contrastive kernel")
    reading = "the contrastive kernel is K^(1/2) P K^(1/2)/(2n)"
    stated = Kind.LEMMA
    population = NoisyViews(20, 3)
    relation = Equal(block=1)
    control = Control("the modes of kernel PCA of all views", lambda modes, problem: _of_views(problem))
    controls = "the modes that are learned, from Gram matrices alone"
    unexplained = "kernels whose features are not finitely many, which this cannot compare with"
    traced = False
    condition = staticmethod(_condition)

    def predict(self, problem: ViewPairs) -> Array:
        x, views = _seen(problem)
        found = np.linalg.eigvalsh(contrastive_matrix(features(x), features(views)))
        return jnp.asarray([*found[-_SHOWN:], min(found[0], 0.0)])

    def measure(self, problem: ViewPairs, key: Key[Array, ""]) -> Array:
        found = np.linalg.eigvalsh(contrastive_gram(Polynomial(2, 1.0), *_seen(problem)))
        return jnp.asarray([*found[-_SHOWN:], min(found[0], 0.0)])


def _of_views(problem: ViewPairs) -> Array:
    both = features(jnp.concatenate(_seen(problem)))
    found = np.linalg.eigvalsh(both.T @ both / len(both))
    return jnp.asarray([*found[-_SHOWN:], min(found[0], 0.0)])


class KernelEmbedding(Claim[ViewPairs]):
    """With the d leading eigenpairs gamma, B of K^(1/2) P K^(1/2)/(2n), training ends at

        f(z) = diag(gamma^(-1/2)) B' K^(-1/2) [K(z, x_1), ..., K(z, x_n')],

    up to a rotation, at every point z. Stated for the inner products of the embeddings of six new points, with
    K = (<x, y> + 1)², against diag(gamma^(-1/2)) V' phi(z) in the feature space.
    """

    title = "The learned embedding of new points in closed form"
    source = Source(_PAPER, "Abstract, final representations", note="in the space of a kernel")
    stated = Kind.THEOREM
    population = NoisyViews(20, 3)
    relation = Equal(block=2)
    control = Control("gamma^(-1/4) in place of its square", lambda inner, problem: _half_whitened(problem))
    controls = "what a kernel model has learned, at points that it has not seen"
    unexplained = "training that stops before a mode is learned"
    traced = False
    condition = staticmethod(_condition)

    def predict(self, problem: ViewPairs) -> Array:
        x, views = _seen(problem)
        weights, _ = terminal_weights(features(x), features(views), problem.dimension)
        embedded = features(problem.new) @ weights.T
        return embedded @ embedded.T

    def measure(self, problem: ViewPairs, key: Key[Array, ""]) -> Array:
        embedded = terminal_embedding(Polynomial(2, 1.0), *_seen(problem), problem.dimension)(problem.new)
        return embedded @ embedded.T


def _half_whitened(problem: ViewPairs) -> Array:
    x, views = _seen(problem)
    weights, modes = terminal_weights(features(x), features(views), problem.dimension)
    embedded = features(problem.new) @ (weights.T * modes**0.25)
    return embedded @ embedded.T


class NoiseDropsOut(Claim[ViewPairs]):
    """Where views are z_i + e_i and z_i + e_i' with independent noises of mean 0 and any covariance, the contrastive
    matrix of a linear model is on average the second moment of the clean points,

        E Gamma = sum_i z_i z_i'^T / n:

    the noise is not in it. Stated for the trace.
    """

    title = "Noise of one view alone drops out of the contrastive matrix"
    source = Source(_PAPER, "Abstract, kernel PCA", note="linear kernel, views with independent noise")
    stated = Kind.OWN
    population = NoisyViews()
    relation = EqualInMean(resolution=0.1)
    control = Control(
        "with the covariance of the noise, as in PCA of the views", lambda own, problem: _with_noise(problem)
    )
    controls = "which directions a self-supervised model looks at"
    unexplained = "views whose differences depend on the point, as crops of images"
    trials = 200

    def predict(self, problem: ViewPairs) -> Array:
        return jnp.mean(jnp.sum(problem.clean**2, axis=1))

    def measure(self, problem: ViewPairs, key: Key[Array, ""]) -> Array:
        return jnp.trace(contrastive_matrix(*problem.views(key)))


def _with_noise(problem: ViewPairs) -> Array:
    return jnp.mean(jnp.sum(problem.clean**2, axis=1)) + jnp.sum(problem.deviation**2)


def _lost(vectors: np.ndarray, modes: np.ndarray) -> Array:
    """1 - |V'U|²/d for two orthonormal families of d vectors: the share that one misses of the other."""
    return jnp.asarray(1 - np.sum((vectors.T @ modes) ** 2) / vectors.shape[1])


def _leading(matrix: Array, d: int) -> np.ndarray:
    return np.linalg.eigh(matrix)[1][:, ::-1][:, :d]


class ModelIsPcaOfViews(Claim[ViewPairs]):
    """The d modes that self-supervised learning ends with are those of PCA of all views, with the same kernel: the
    share of them that PCA misses is 0.

    Judged for the linear kernel, and views with noise that is largest where the points vary least.
    """

    title = "Kernel PCA of the views as a model of self-supervised learning, as printed"
    source = Source(_PAPER, "Abstract, kernel PCA", note="as printed")
    reading = "kernel PCA of all views, with the kernel of the model"
    stated = Kind.REMARK
    population = NoisyViews()
    relation = Limit(along="n", rungs=(32.0, 128.0, 512.0), margin=0.05, resolution=0.05, relative=False)
    control = Control("a tenth is missed", lambda lost, problem: lost + 0.1)
    controls = "what a self-supervised model has in common with PCA"
    unexplained = "views whose noise is the same in all directions, where the two agree"
    expected = Status.REFUTED
    trials = 32
    traced = False

    def predict(self, problem: ViewPairs) -> Array:
        return jnp.zeros(())

    def measure_at(self, problem: ViewPairs, key: Key[Array, ""], rows: float) -> Array:
        x, views = _more(problem, key, int(rows)).views(key)
        both = jnp.concatenate([x, views])
        d = problem.dimension
        return _lost(_leading(contrastive_matrix(x, views), d), _leading(both.T @ both, d))


class ModesArePcaOfClean(Claim[ViewPairs]):
    """Where views are points with independent noises, the d modes that self-supervised learning ends with tend to those
    of PCA of the clean points, which nobody has seen: the share of them that is missed vanishes as n grows.
    """

    title = "Self-supervised learning does PCA of what the views share"
    source = Source(_PAPER, "Abstract, kernel PCA", note="of what views share")
    population = NoisyViews(outputs=2, decay=0.3)
    relation = Limit(along="n", rungs=(64.0, 256.0, 1024.0), margin=0.05, resolution=0.05, relative=False)
    control = Control("a tenth is missed", lambda lost, problem: lost + 0.1)
    controls = "what a self-supervised model has in common with PCA"
    unexplained = "modes that are close to each other, which need more rows"
    corrects = ModelIsPcaOfViews
    trials = 32
    traced = False

    def predict(self, problem: ViewPairs) -> Array:
        return jnp.zeros(())

    def measure_at(self, problem: ViewPairs, key: Key[Array, ""], rows: float) -> Array:
        more = _more(problem, key, int(rows))
        d = problem.dimension
        return _lost(_leading(contrastive_matrix(*more.views(key)), d), _leading(more.clean.T @ more.clean, d))


def _more(problem: ViewPairs, key: Key[Array, ""], rows: int) -> ViewPairs:
    """As many clean points, normal with the second moments of the problem's own."""
    root = np.linalg.cholesky(problem.clean.T @ problem.clean / len(problem.clean))
    drawn = jax.random.normal(jax.random.fold_in(key, 1), (rows, len(root)))
    return ViewPairs(drawn @ root.T, problem.deviation, problem.new, problem.dimension)
