"""The kernel of Adam. Adam's first step is the sign of the gradient, so its kernel pairs gradients with signs and is
asymmetric.

Let g be the gradient of the output with respect to the parameters, and let chi be the derivative of the loss with
respect to the output. A step of gradient descent with learning rate eta on the loss of one example x' moves an output
at x by -eta chi <g(x), g(x')>. With the bias-corrected moments m and v, Adam's first step is -eta m/sqrt(v) = -eta
sign(chi g(x')). So this step moves the output by -eta sign(chi) <g(x), sign g(x')>, and the kernel K_A(x, x') = <g(x),
sign g(x')> is not symmetric. This theory is about single examples and the first step. It does not say how Adam
continues once its moments mix several gradients.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Kind, Rate, Source
from lemmata.subjects.dynamics import fine_tuning_kernels
from lemmata.subjects.dynamics._gradient_rows import TunedNetwork, TunedNetworks, output

ABOUT = {"tool": "reproducing kernels", "architecture": "any", "object": "kernel"}

# The rate is so low that no coordinate of a gradient changes its sign between two steps. Such a change has a chance of
# order eta.
_RUNGS = (2.0**-21, 2.0**-20, 2.0**-19)


def _adam(params: dict[str, Array], slopes: dict[str, Array], rate: float) -> dict[str, Array]:
    """Return the parameters after a first step of Adam, from moments of 0."""
    optimiser = optax.adam(rate, eps=0.0)
    return optax.apply_updates(params, optimiser.update(slopes, optimiser.init(params))[0])  # pyright: ignore


def _left(problem: TunedNetwork, moved: dict[str, Array], rate: float) -> Array:
    """Return the norm of the difference between the movement of the outputs and -rate sum_i sign(chi_i) K_A(., x_i).

    Here K_A is the asymmetric kernel of Adam, and chi_i is the derivative of the loss at example i.
    """
    kernel = fine_tuning_kernels(output, problem.params, problem.x).asymmetric
    change = problem.outputs(moved) - problem.outputs(problem.params)
    return jnp.linalg.norm(change + rate * kernel @ jnp.sign(problem.slopes))


class AdamOnOneExampleEach(Claim[TunedNetwork]):
    """Let chi_i be the derivative of the loss of example i with respect to the output f(x_i) of a network. For every
    example in turn, take one step of Adam on the loss of this example alone. Use the learning rate eta, and let the
    moments start at 0 in each step. Let K_A(x, x') = <grad f(x), sign grad f(x')>, which is not symmetric. After all
    steps, the outputs at all examples have moved by

        -eta sum_i sign(chi_i) K_A(., x_i) + O(eta²).
    """

    title = "Adam's first steps on single examples move outputs by an asymmetric kernel"
    source = Source("malladi2023kernel", "Abstract, Adam", note="for single examples")
    stated = Kind.STEP
    population = TunedNetworks()
    relation = Rate("eta", _RUNGS)
    control = Control("the remainder is of order eta^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the outputs after first steps of Adam"
    unexplained = "later steps, whose moments contain earlier gradients"
    reading = "Early training means first steps from moments that are 0"
    trials = 64
    predict = 2.0

    def measure_at(self, problem: TunedNetwork, key: Key[Array, ""], rung: float) -> Array:
        def step(params: dict[str, Array], row: tuple[Array, Array]) -> tuple[dict[str, Array], None]:
            return _adam(params, jax.grad(lambda own: row[1] * output(own, row[0]))(params), rung), None

        return _left(problem, jax.lax.scan(step, problem.params, (problem.x, problem.slopes))[0], rung)


class AdamOnABatch(Claim[TunedNetwork]):
    """Let chi_i be the derivative of the loss of example i with respect to the output f(x_i) of a network. Take one
    step of Adam on the sum of the losses of all examples, with the learning rate eta and moments that start at 0. This
    step moves the outputs by

        -eta <grad f(.), sign(sum_i chi_i grad f(x_i))> + O(eta²).

    The derivatives chi_i do not factor out, so the movement is not a kernel matrix times the vector of the chi_i.
    """

    title = "Adam's first step on a batch does not move the outputs by a kernel matrix times the loss derivatives"
    source = Source("malladi2023kernel", "Abstract, Adam", note="for a batch")
    population = TunedNetworks()
    relation = Rate("eta", _RUNGS)
    control = Control("the remainder is of order eta^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the outputs after a first step of Adam"
    unexplained = "later steps"
    trials = 64
    predict = 2.0

    def measure_at(self, problem: TunedNetwork, key: Key[Array, ""], rung: float) -> Array:
        """Return the distance between the formula and the movement of the outputs. The gradients of the formula are in
        closed form, and the gradients of the step come from automatic differentiation.
        """
        first, second = problem.gradients()
        rows = jnp.concatenate([first.reshape(len(first), -1), second], axis=1)
        slopes = jax.grad(lambda own: jnp.vdot(problem.slopes, problem.outputs(own)))(problem.params)
        moved = _adam(problem.params, slopes, rung)
        change = problem.outputs(moved) - problem.outputs(problem.params)
        return jnp.linalg.norm(change + rung * rows @ jnp.sign(problem.slopes @ rows))
