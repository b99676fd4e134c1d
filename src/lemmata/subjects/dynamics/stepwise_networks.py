"""Networks that learn in steps. Wide networks learn at the times that their kernel predicts, and small networks also
show steps.

With small weights in the last layer (the readout), a wide network hardly moves its features while its embedding is
learned. So the eigenvalues and eigenvectors (modes) of its contrastive kernel determine when each dimension is learned.
This theory is about that limit. It assumes gradient flow on |C - I|², where C is the cross-correlation of the
embeddings of two views. It does not explain deep networks with normalisation, other losses or batches, for which steps
are observed but not derived.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, Serial, erf_network
from lemmata.engine.claims import Claim, Control, Kind, Limit, Source, Witness
from lemmata.subjects.dynamics import StepwisePrediction, aligned_start, terminal_embedding
from lemmata.subjects.dynamics._view_pairs import NoisyViews, ViewPairs

from ._crossings import crossings
from ._trained_embeddings import correlations, small_network

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_PAPER = "simon2023stepwise"
_SCALE = 1e-4
_STEP = 0.2  # in units of 1/gamma_1: growth rates are 4 gamma, and Runge-Kutta steps are stable up to 2.8
_BEYOND = 1.4  # training ends at this multiple of the last step that is foreseen, if it has not ended before
_LEARNED = 0.6
_PART = 50  # steps between checks whether all is learned
_QUARTER = 0.25


def _foreseen(
    kernel: NNGPKernel, outputs: Float[Array, "N d"], x: Float[Array, "n m"], views: Float[Array, "n m"]
) -> StepwisePrediction:
    """Predict the learning steps of a kernel model from its outputs at all views at the start.

    Let K be the kernel matrix of the views, and let b_j and gamma_j be the eigenvectors and eigenvalues of the
    contrastive kernel. The embedding at the end of training has the coefficients a_j = K^(-1/2) b_j/sqrt(gamma_j) for
    mode j. An embedding W phi with outputs F on the views has W v_j = F' K^(-1/2) b_j, where v_j is mode j in the
    feature space.
    """
    final = terminal_embedding(kernel, x, views, outputs.shape[1])
    along = outputs.T @ final.coefficients * jnp.sqrt(final.eigenvalues)
    return StepwisePrediction(final.eigenvalues, aligned_start(along, jnp.eye(outputs.shape[1])))


def _course(
    network: Serial, key: Key[Array, ""], problem: ViewPairs
) -> tuple[StepwisePrediction, Float[np.ndarray, " t"], Float[np.ndarray, "t d"]]:
    """Return the steps that the kernel at infinite width predicts, the times of training, and the descending
    eigenvalues of C at these times.
    """
    x, views = problem.views(jax.random.fold_in(key, 1))
    params, _ = small_network(network, key, x.shape[1], _SCALE)
    outputs = jax.vmap(lambda point: network.apply(params, point))(jnp.concatenate([x, views]))
    steps = _foreseen(NNGPKernel(network), outputs, x, views)
    step, sizes = _STEP / steps.eigenvalues[0], []
    until = _BEYOND * float(steps.times[-1])
    while not sizes or (len(sizes) * _PART * float(step) < until and sizes[-1][-1, -1] < _LEARNED):
        params, found = correlations(network, params, x, views, step, _PART)
        sizes.append(np.linalg.eigvalsh(found)[:, ::-1])
    return steps, float(step) * np.arange(len(sizes) * _PART), np.concatenate(sizes)


class WideNetworkSteps(Claim[ViewPairs]):
    """Train all layers of a network with a small readout by gradient flow on |C - I|², where C is the cross-correlation
    of its embeddings between two views. Let gamma_j be the eigenvalues of the contrastive kernel at infinite width, and
    let s_j be the sizes of their modes at the start. The network learns a dimension when an eigenvalue of C reaches
    1/2. At infinite width, this happens at the times

        ln(1/(s_j² gamma_j) - 1) / (8 gamma_j).

    Measure the relative distance between the time of each step and this formula. The average of this distance over the
    steps vanishes as the width grows. The test uses one hidden layer of error functions and a readout of 0.0001 times
    its usual size.
    """

    title = "A wide self-supervised network learns its embedding's dimensions at times that follow from its kernel"
    source = Source(_PAPER, "Abstract, linearised model", note="step times, in the limit of the width")
    reading = "The readout is so small that the tangent kernel is that of the last hidden layer"
    stated = Kind.THEOREM
    population = NoisyViews(16, 3, 2, 0.3, 0.1, near=True)
    relation = Limit(along="width", rungs=(64.0, 256.0, 1024.0), margin=0.05, resolution=0.05, relative=False)
    control = Control("the distance is larger by 0.2", lambda distance, problem: distance + 0.2)
    controls = "when each dimension of a wide network's embedding is learned"
    unexplained = "networks whose features move"
    trials = 32
    traced = False
    predict = 0.0

    def measure_at(self, problem: ViewPairs, key: Key[Array, ""], width: float) -> Array:
        steps, times, sizes = _course(erf_network(1, int(width), outputs=problem.dimension), key, problem)
        return jnp.asarray(np.abs(crossings(times, sizes) / np.asarray(steps.times) - 1).mean())


class SmallNetworksStep(Claim[ViewPairs]):
    """Take a network with two hidden layers of 48 units and a small readout. Train all layers on |C - I|², where C is
    the cross-correlation of the network's embeddings between two views. The network learns one dimension at a time.
    With probability at least 0.9, whenever an eigenvalue of C is 1/2, all earlier eigenvalues are above 3/4 and all
    later eigenvalues are below 1/4.
    """

    title = "A small self-supervised network learns one dimension of its embedding at a time"
    source = Source(_PAPER, "Abstract, deep networks", note="two hidden layers, without normalisation")
    reading = "the paper trains ResNets with three losses; here, a small network has one of them, without normalisation"
    stated = Kind.REMARK
    population = NoisyViews(16, 3, 2, 0.3, 0.1, near=True)
    relation = Witness(probability=0.9, resolution=0.15)
    control = Control("later eigenvalues are at 0 and earlier ones at 1", lambda margin, problem: 2 * margin)
    controls = "whether steps occur outside of the theory of infinite width"
    unexplained = "deep networks, other losses, normalisation, batches"
    trials = 48
    traced = False
    predict = _QUARTER
    trivial = 0.0  # the others are unknown

    def measure(self, problem: ViewPairs, key: Key[Array, ""]) -> Array:
        """Return the smallest margin over all times at which an eigenvalue of C is 1/2. A margin is 1/2 minus an
        eigenvalue of a later mode, or the eigenvalue of an earlier mode minus 1/2.
        """
        _, times, sizes = _course(erf_network(2, 48, outputs=problem.dimension), key, problem)
        margins = []
        for j, at in enumerate(crossings(times, sizes)):
            if not np.isfinite(at):
                return jnp.asarray(0.0)
            there = np.array([np.interp(at, times, column) for column in sizes.T])
            margins += [*(there[:j] - 0.5), *(0.5 - there[j + 1 :])]
        return jnp.asarray(min(margins))
