"""Self-supervised learning in the space of a kernel. Its modes follow from Gram matrices and are related to kernel
PCA.

Let Phi be the features of all 2n views in the feature space of a kernel, and let P swap the two views of every point.
The contrastive matrix is Gamma = Phi' P Phi/(2n). Its eigenvalues other than 0 are those of K^(1/2) P K^(1/2)/(2n),
where K is the kernel matrix of the views. The embedding at the end of training is a combination of 2n kernel functions.
This theory gives that embedding on new points. It assumes that each mode is learned completely. It does not explain
which views are useful for a later task.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Limit, Source
from lemmata.kernels import Polynomial
from lemmata.subjects.dynamics import contrastive_matrix, terminal_embedding, terminal_weights
from lemmata.subjects.dynamics._view_pairs import NoisyViews, ViewPairs

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "estimator"}

_PAPER = "simon2023stepwise"
_VIEWS = 7  # views of a problem are drawn with this key, if a claim is about one draw of them


def _seen(problem: ViewPairs) -> tuple[Array, Array]:
    return problem.views(jax.random.key(_VIEWS))


@jax.jit
def features(x: Float[Array, "n m"]) -> Float[Array, "n D"]:
    """Return features phi with <phi(x), phi(y)> = (<x, y> + 1)²: 1, sqrt(2) x_i, x_i², and sqrt(2) x_i x_j for i <
    j.
    """
    m = x.shape[1]
    above = [(i, j) for i in range(m) for j in range(i + 1, m)]
    mixed = [2**0.5 * x[:, i] * x[:, j] for i, j in above]
    return jnp.stack([jnp.ones(len(x)), *(2**0.5 * x.T), *(x.T**2), *mixed], axis=1)


class KernelEmbedding(Claim[ViewPairs]):
    """Let K be the kernel matrix of two views x_i and x_i' of n points, and let P swap the two views of every point.
    Let gamma be the vector of the d leading eigenvalues of K^(1/2) P K^(1/2)/(2n), and let the columns of B be their
    eigenvectors. At every point z, the embedding f at the end of training is

        f(z) = diag(gamma^(-1/2)) B' K^(-1/2) [K(z, x_1), ..., K(z, x_n')],

    up to a rotation.

    The test uses the kernel (<x, y> + 1)² and six new points. Let phi be the features of the kernel, and let the
    columns of V be the d leading modes in the feature space. The test compares the inner products of the embeddings
    with the inner products of diag(gamma^(-1/2)) V' phi(z).
    """

    title = "The embedding of new points by self-supervised learning with a kernel has a closed form"
    source = Source(_PAPER, "Abstract, final representations", note="in the space of a kernel")
    stated = Kind.THEOREM
    population = NoisyViews(20, 3)
    relation = Equal(block=2)
    control = Control("gamma^(-1/4) replaces gamma^(-1/2)", lambda inner, problem: _half_whitened(problem))
    controls = "the embedding of new points by a kernel model"
    unexplained = "training that stops before a mode is learned"
    traced = False

    def predict(self, problem: ViewPairs) -> Array:
        x, views = _seen(problem)
        weights, _ = terminal_weights(features(x), features(views), problem.dimension)
        embedded = features(problem.new) @ weights.T
        return embedded @ embedded.T

    def measure(self, problem: ViewPairs, key: Key[Array, ""]) -> Array:
        embedded = terminal_embedding(Polynomial(2, 1.0), *_seen(problem), problem.dimension)(problem.new)
        return embedded @ embedded.T

    def condition(self, problem: ViewPairs) -> Array:
        """Return the error to first order in F = K^(-1/2) E K^(-1/2), where E is a rounding error of K of size |K|.

        An entry of F between modes j and k has |F_jk| <= |E| |u_j| |u_k|. Here |u_j|² = v_j' (Phi' Phi)^(-1) v_j, where
        Phi are the features of all views, and v_j and gamma_j are the eigenvectors and eigenvalues of the contrastive
        matrix of the features. In sum_j v_j v_j'/gamma_j, the entry has the weight (gamma_j + gamma_k)/(2 gamma_j
        (gamma_j - gamma_k)) for k > d, and at most 1/gamma_d for k <= d. New points are expressed in the basis, which
        adds the weight 1/gamma_j.
        """
        (x, views), d = _seen(problem), problem.dimension
        both = features(jnp.concatenate([x, views]))
        gamma, vectors = np.linalg.eigh(contrastive_matrix(features(x), features(views)))
        gamma, vectors = gamma[::-1], vectors[:, ::-1]
        second = np.asarray(both.T @ both)
        sizes = np.sqrt(np.linalg.eigvalsh(second)[-1] * np.sum(vectors * np.linalg.solve(second, vectors), axis=0))
        kept, others = gamma[:d, None], gamma[None, d:]
        across = (kept + np.abs(others)) / (2 * kept * (kept - others)) + 1 / kept
        counted = np.hstack([np.full((d, d), 2 / gamma[d - 1]), across])
        along = np.abs(np.asarray(features(problem.new)) @ vectors)
        once = (along[:, :d] * sizes[:d]) @ counted @ (along * sizes).T
        inner = np.asarray(self.predict(problem))
        return jnp.asarray(1 + 2 * once.max() / np.abs(inner).max())


def _half_whitened(problem: ViewPairs) -> Array:
    x, views = _seen(problem)
    weights, modes = terminal_weights(features(x), features(views), problem.dimension)
    embedded = features(problem.new) @ (weights.T * modes**0.25)
    return embedded @ embedded.T


def _lost(vectors: np.ndarray, modes: np.ndarray) -> Array:
    """Return 1 - |V'U|²/d for two sets V, U of d orthonormal vectors: the share of one set that lies outside the span
    of the other set.
    """
    return jnp.asarray(1 - np.sum((vectors.T @ modes) ** 2) / vectors.shape[1])


def _leading(matrix: Array, d: int) -> np.ndarray:
    return np.linalg.eigh(matrix)[1][:, ::-1][:, :d]


class ModesArePcaOfClean(Claim[ViewPairs]):
    """Each of n clean points has two views, which are the point plus independent noises. At the end of training,
    self-supervised learning of a linear embedding has learned d directions. Apply PCA without centring to the clean
    points. As n grows, the learned directions tend to its d leading directions. The learner never sees the clean
    points. The share of the PCA directions that lies outside the span of the learned directions vanishes.
    """

    title = "Self-supervised learning tends to PCA of the part that the views share"
    source = Source(_PAPER, "Abstract, kernel PCA", note="of what views share")
    population = NoisyViews(outputs=2, decay=0.3)
    relation = Limit(along="n", rungs=(64.0, 256.0, 1024.0), margin=0.05, resolution=0.05, relative=False)
    control = Control("a tenth of the modes is missed", lambda lost, problem: lost + 0.1)
    controls = "what a self-supervised model has in common with PCA"
    unexplained = "modes that are close to each other, which need more rows"
    trials = 32
    traced = False
    predict = 0.0

    def measure_at(self, problem: ViewPairs, key: Key[Array, ""], rows: float) -> Array:
        more = _more(problem, key, int(rows))
        d = problem.dimension
        return _lost(_leading(contrastive_matrix(*more.views(key)), d), _leading(more.clean.T @ more.clean, d))


def _more(problem: ViewPairs, key: Key[Array, ""], rows: int) -> ViewPairs:
    """Draw `rows` clean points, normal with the second moments of the problem's points."""
    root = np.linalg.cholesky(problem.clean.T @ problem.clean / len(problem.clean))
    drawn = jax.random.normal(jax.random.fold_in(key, 1), (rows, len(root)))
    return ViewPairs(drawn @ root.T, problem.deviation, problem.new, problem.dimension)
