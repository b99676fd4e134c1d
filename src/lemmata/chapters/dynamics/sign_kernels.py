"""The kernels of Adam: a first step is a sign, signs have kernels of their own, and one of them is asymmetric.

A step of gradient descent on the loss of one example x' moves an output at x by -eta chi <g(x), g(x')>, with g the
gradient of the output in the parameters and chi the derivative of the loss. Adam's first step, when both moments are
corrected, is -eta m/sqrt(v) = -eta sign(chi g(x')), so that it moves the output by -eta sign(chi) <g(x), sign g(x')>:
the kernel K_A(x, x') = <g(x), sign g(x')> is not symmetric. This theory controls single examples and the first step; it
leaves open how Adam goes on, where moments of several gradients mix.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Key

from lemmata.claims import Claim, Control, Equal, EqualInMean, Kind, Rate, Source, Status
from lemmata.dynamics import asymmetric_fit, fine_tuning_kernels
from lemmata.problems._gradient_rows import (
    AsymmetricKernels,
    GradientRows,
    NormalGradients,
    TunedNetwork,
    TunedNetworks,
    TwoFeatures,
    output,
)

_RUNGS = (2.0**-18, 2.0**-17, 2.0**-16)


def _adam(params: dict[str, Array], slopes: dict[str, Array], rate: float) -> dict[str, Array]:
    """A first step of Adam, from moments that are 0."""
    optimiser = optax.adam(rate, eps=0.0)
    return optax.apply_updates(params, optimiser.update(slopes, optimiser.init(params))[0])  # pyright: ignore


def _left(problem: TunedNetwork, moved: dict[str, Array], rate: float) -> Array:
    """By how much the outputs are elsewhere than -rate sum_i sign(chi_i) K_A(., x_i) says."""
    kernel = fine_tuning_kernels(output, problem.params, problem.x).asymmetric
    change = problem.outputs(moved) - problem.outputs(problem.params)
    return jnp.linalg.norm(change + rate * kernel @ jnp.sign(problem.slopes))


class AdamOnOneExampleEach(Claim[TunedNetwork]):
    """A network's outputs f(x_i) have losses with derivatives chi_i. For every example in turn, take one step of Adam
    on its loss alone, from moments that are 0, at the rate eta. Then the outputs at all examples have moved by

        -eta sum_i sign(chi_i) K_A(., x_i) + O(eta²),   K_A(x, x') = <grad f(x), sign grad f(x')>.
    """

    title = "Adam's first steps move outputs by an asymmetric kernel"
    source = Source("malladi2023kernel", "Abstract, Adam", note="for single examples")
    stated = Kind.STEP
    population = TunedNetworks()
    relation = Rate("eta", _RUNGS)
    control = Control("the rest is of order eta^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the outputs after first steps of Adam"
    unexplained = "later steps, which remember other gradients"
    reading = "early training as first steps from moments that are 0"
    trials = 64

    def predict(self, problem: TunedNetwork) -> Array:
        return jnp.asarray(2.0)

    def measure_at(self, problem: TunedNetwork, key: Key[Array, ""], rung: float) -> Array:
        def step(params: dict[str, Array], row: tuple[Array, Array]) -> tuple[dict[str, Array], None]:
            return _adam(params, jax.grad(lambda own: row[1] * output(own, row[0]))(params), rung), None

        return _left(problem, jax.lax.scan(step, problem.params, (problem.x, problem.slopes))[0], rung)


class AdamOnABatchAsPrinted(Claim[TunedNetwork]):
    """As the formula for one example reads for a batch: one step of Adam on the sum of the losses of all examples, from
    moments that are 0 and at the rate eta, moves the outputs by

        -eta sum_i sign(chi_i) K_A(., x_i) + O(eta²),   K_A(x, x') = <grad f(x), sign grad f(x')>.

    It does not: the sign of a sum of gradients is not the sum of their signs, and what is left is of order eta.
    """

    title = "Adam's first step on a batch, as a sum over examples"
    source = Source(
        "malladi2023kernel", "Abstract, Adam", note="read for a batch, as gradient descent's formula may be"
    )
    stated = Kind.STEP
    population = TunedNetworks()
    relation = Rate("eta", _RUNGS)
    control = Control("the rest is of order eta^(5/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the outputs after a first step of Adam"
    unexplained = "which kernel a batch has: one that depends on the derivatives of all losses"
    reading = "a sum over the batch, which the abstract does not exclude"
    expected = Status.REFUTED
    trials = 64

    def predict(self, problem: TunedNetwork) -> Array:
        return jnp.asarray(2.0)

    def measure_at(self, problem: TunedNetwork, key: Key[Array, ""], rung: float) -> Array:
        slopes = jax.grad(lambda own: jnp.vdot(problem.slopes, problem.outputs(own)))(problem.params)
        return _left(problem, _adam(problem.params, slopes, rung), rung)


class AdamOnABatch(Claim[TunedNetwork]):
    """One step of Adam on the sum of the losses of all examples, from moments that are 0 and at the rate eta, moves the
    outputs by

        -eta <grad f(.), sign(sum_i chi_i grad f(x_i))> + O(eta²),

    in which the derivatives chi_i of the losses do not factor out: it is no kernel times them.
    """

    title = "Adam's first step on a batch"
    source = Source("malladi2023kernel", "Abstract, Adam", note="for a batch")
    population = TunedNetworks()
    relation = Rate("eta", _RUNGS)
    control = Control("the rest is of order eta^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the outputs after a first step of Adam"
    unexplained = "later steps"
    corrects = AdamOnABatchAsPrinted
    trials = 64

    def predict(self, problem: TunedNetwork) -> Array:
        return jnp.asarray(2.0)

    def measure_at(self, problem: TunedNetwork, key: Key[Array, ""], rung: float) -> Array:
        """The gradients of the formula in closed form, those of the step by automatic differentiation."""
        first, second = problem.gradients()
        rows = jnp.concatenate([first.reshape(len(first), -1), second], axis=1)
        slopes = jax.grad(lambda own: jnp.vdot(problem.slopes, problem.outputs(own)))(problem.params)
        moved = _adam(problem.params, slopes, rung)
        change = problem.outputs(moved) - problem.outputs(problem.params)
        return jnp.linalg.norm(change + rung * rows @ jnp.sign(problem.slopes @ rows))


class SignKernelsOfNormalGradients(Claim[GradientRows]):
    """Two gradients g, g' have P coordinates that are independent pairs of normal numbers with standard deviation s and
    correlation rho. On average over them

        <sign g, sign g'>/P = (2/pi) arcsin(rho)   and   <g, sign g'>/P = sqrt(2/pi) s rho:

    the kernel of signs is that of descent, bent, and the asymmetric one is that of descent, scaled.
    """

    title = "Kernels of signs where gradients are normal"
    source = Source("malladi2023kernel", "Abstract, Adam", note="for normal gradients")
    stated = Kind.OWN
    population = NormalGradients()
    relation = EqualInMean(resolution=0.05, over="problems")
    control = Control("both are rho, with s", lambda value, problem: jnp.stack([problem.correlation, _scaled(problem)]))
    controls = "what Adam's kernels say beyond that of descent"
    unexplained = "gradients of networks, whose coordinates differ in size"
    trials = 64

    def predict(self, problem: GradientRows) -> Array:
        return jnp.stack([2 / jnp.pi * jnp.arcsin(problem.correlation), jnp.sqrt(2 / jnp.pi) * _scaled(problem)])

    def measure(self, problem: GradientRows, key: Key[Array, ""]) -> Array:
        """Kernels of the linear function with these gradients."""
        size = problem.gradients.shape[1]
        kernels = fine_tuning_kernels(jnp.vdot, jnp.zeros(size), problem.gradients)
        return jnp.stack([kernels.sign[0, 1], kernels.asymmetric[0, 1]]) / size


def _scaled(problem: GradientRows) -> Array:
    """s rho, with s as it is in the first row."""
    return problem.correlation * jnp.sqrt(jnp.mean(problem.gradients[0] ** 2))


class AsymmetricSolveIsASaddle(Claim[TwoFeatures]):
    """K(x, x') = <phi(x), psi(x')> need not be symmetric; classes y_i are -1 or 1, H_ij = y_i K(x_i, x_j) y_j. With

        [[I/gamma, H], [H', I/gamma]] [alpha; beta] = 1

    the functions f_1(x) = sum_j beta_j y_j K(x, x_j) and f_2(x) = sum_i alpha_i y_i K(x_i, x) are <w, phi(x)> and
    <v, psi(x)> at the point (w, v) where the gradient of

        <w, v> + gamma/2 sum_i (1 - y_i <w, phi(x_i)>)² + gamma/2 sum_i (1 - y_i <v, psi(x_i)>)²

    is 0.
    """

    title = "Least squares with an asymmetric kernel"
    source = Source("malladi2023kernel", "Abstract, Adam", note="the solver for its kernel")
    stated = Kind.STEP
    population = AsymmetricKernels()
    relation = Equal(block=-1)
    control = Control("the kernel may be made symmetric first", lambda value, problem: _dual(problem, symmetric=True))
    controls = "what is learned with the kernel of Adam"
    unexplained = "why this point: it is a saddle, and nothing is least there"
    reading = "the linear system of public code for the paper"

    def predict(self, problem: TwoFeatures) -> Array:
        return _dual(problem, symmetric=False)

    def measure(self, problem: TwoFeatures, key: Key[Array, ""]) -> Array:
        """The gradient is linear in (w, v); at the new point both functions are read off the features."""
        phi, psi = problem.phi[:-1], problem.psi[:-1]
        right = problem.gamma * jnp.concatenate([phi.T @ problem.y, psi.T @ problem.y])
        w, v = jnp.split(jnp.linalg.solve(problem.primal, right), 2)
        return jnp.stack([w @ problem.phi[-1], v @ problem.psi[-1]])

    def condition(self, problem: TwoFeatures) -> Array:
        """Of both systems, with the size of what is added up in the new point's outputs."""
        fit = asymmetric_fit(problem.kernel[:-1, :-1], problem.y, problem.gamma)
        terms = jnp.abs(fit.alpha).sum() + jnp.abs(fit.beta).sum()
        size = jnp.abs(_dual(problem, symmetric=False)).max()
        added = 1 + terms * jnp.abs(problem.kernel).max() / size
        return (jnp.linalg.cond(problem.dual) + jnp.linalg.cond(problem.primal)) * added


def _dual(problem: TwoFeatures, symmetric: bool) -> Array:
    """f_1 and f_2 at the new row."""
    kernel = (problem.kernel + problem.kernel.T) / 2 if symmetric else problem.kernel
    fit = asymmetric_fit(kernel[:-1, :-1], problem.y, problem.gamma)
    row, column = kernel[-1:, :-1], kernel[:-1, -1:]
    return jnp.concatenate([fit.predict(row, column, 0.0), fit.predict(row, column, 1.0)])
