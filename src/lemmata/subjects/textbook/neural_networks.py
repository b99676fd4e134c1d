"""Neural networks: the mistakes of a perceptron, and derivatives by one backward pass.

Other chapters treat wide networks, their training and their generalisation. The theory here bounds how often a
perceptron is corrected on separable rows, and says what a backward pass computes. It does not explain where gradient
descent ends.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.textbook._small_maps import SmallNetwork, SmallNetworks
from lemmata.subjects.textbook._textbook_rows import LabelledTable, NearlyOrthogonalRows

ABOUT = {"tool": "convex optimisation", "architecture": "dense network", "object": "training"}

_SOURCE = Source("younes2024introduction", "Abstract, neural networks")
_STEP = 1e-30


def perceptron_mistakes(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> int:
    """Count how often w <- w + y_i x_i is applied, from w = 0 and row by row, until y_i <w, x_i> > 0 for all rows."""
    w, mistakes, since, i = np.zeros(x.shape[1]), 0, 0, 0
    while since < len(y):
        right = y[i] * (x[i] @ w) > 0
        since = since + 1 if right else 0
        if not right:
            w, mistakes = w + y[i] * x[i], mistakes + 1
        i = (i + 1) % len(y)
    return mistakes


def swept_back(problem: SmallNetwork, *, slopes: bool = True) -> Float[np.ndarray, " p"]:
    """Return the gradient of the loss with respect to all weights, by one pass forwards and one pass backwards.

    Args:
        problem: the network and its rows.
        slopes: whether the derivative of the first hidden layer's units is applied.
    """
    inputs = [problem.x]
    for w in problem.layers[:-1]:
        inputs.append(np.tanh(inputs[-1] @ w))
    back = (inputs[-1] @ problem.layers[-1])[:, 0] - problem.y
    back, found = back[:, None], []
    for layer in reversed(range(len(problem.layers))):
        found.append(inputs[layer].T @ back)
        back = back @ problem.layers[layer].T
        if layer > 1 or slopes:
            back = back * (1 - inputs[layer] ** 2)
    return np.concatenate([part.ravel() for part in reversed(found)])


class PerceptronMistakes(Claim[LabelledTable]):
    """Let rows x_i of length at most R have classes y_i, -1 or 1. Suppose that a unit vector u separates the classes
    with margin g, that is, y_i <u, x_i> >= g for all i. The number of times that the perceptron corrects its weights is
    at most

        (R/g)²

    however often the perceptron passes over the rows (Novikoff).
    """

    title = "The perceptron makes at most (R/g)² corrections (mistakes) on rows of length up to R with margin g"
    source = _SOURCE
    population = NearlyOrthogonalRows()
    relation = AtMost()
    control = Control("the number of corrections is at most half of the bound", lambda bound, problem: bound / 2)
    controls = "the number of corrections until all rows are classified correctly"
    unexplained = "rows that no plane separates"
    trivial = "without the theorem, the number of corrections has no bound"
    traced = False

    def predict(self, problem: LabelledTable) -> Array:
        # The shortest w with y_i <w, x_i> = 1 separates with margin 1/|w|.
        shortest = np.linalg.lstsq(problem.x, problem.y)[0]
        return jnp.asarray(np.sum(problem.x**2, axis=1).max() * (shortest @ shortest))

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """Run the perceptron and count its corrections."""
        return jnp.asarray(float(perceptron_mistakes(problem.x, problem.y)))

    def condition(self, problem: LabelledTable) -> Array:
        """Return the squared condition number of the rows, times 10."""
        return jnp.asarray(10 * np.linalg.cond(problem.x) ** 2)


class BackwardSweepIsTheGradient(Claim[SmallNetwork]):
    """Let a network have inputs u_l and weights W_l in layer l, where u_(l+1) = tanh(u_l W_l) for hidden layers. Its
    loss is half the squared error. The derivative of the loss with respect to W_l is u_l' d_l, where the d_l are
    computed from the last layer backwards. For the last layer, d_l is the error at the output. For the layers before,

        d_(l-1) = (d_l W_l') * (1 - u_l²),   entry by entry.

    One backward pass computes the derivatives of all layers.
    """

    title = "One backward pass computes the gradient with respect to all weights of a network (backpropagation)"
    source = _SOURCE
    population = SmallNetworks()
    relation = Equal(block=-1)
    control = Control(
        "the slope of the first hidden layer is left out",
        lambda found, problem: jnp.asarray(swept_back(problem, slopes=False)),
    )
    controls = "derivatives in all weights at once"
    unexplained = "where gradient descent ends"
    traced = False

    def predict(self, problem: SmallNetwork) -> Array:
        return jnp.asarray(swept_back(problem))

    def measure(self, problem: SmallNetwork, key: Key[Array, ""]) -> Array:
        """The derivatives, weight by weight, as Im loss(w + ih)/h, which subtracts nothing and so rounds little."""
        found = []
        for layer, w in enumerate(problem.layers):
            for place in np.ndindex(w.shape):
                moved = [part.astype(complex) for part in problem.layers]
                moved[layer][place] += 1j * _STEP
                found.append(np.imag(problem.loss(tuple(moved))) / _STEP)
        return jnp.asarray(found)

    def condition(self, problem: SmallNetwork) -> Array:
        """Return the condition number of sums of products, layer by layer."""
        sizes = [np.linalg.norm(w, 2) + 1 for w in problem.layers]
        scale = np.abs(swept_back(problem)).max()
        error = np.linalg.norm(problem.y) + np.linalg.norm(problem.x)
        return jnp.asarray(np.prod(sizes) * error**2 * len(problem.x) / scale)
