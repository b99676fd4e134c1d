"""Margins and Lipschitz constants: certificates without a relaxation.

This theory describes how far an input may move, in the Euclidean norm, before its class changes. It needs one number
for the margin and one for the slope. It is exact for linear classifiers. For networks, it leaves unexplained how much
smaller the slope near an input is than the product of the layers' norms.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "inequality"}


class Logits(eqx.Module):
    """Linear logits, one row for each class, at one input."""

    weight: Float[Array, "classes d"]
    x: Float[Array, " d"]

    @property
    def margins(self) -> Float[Array, " classes"]:
        """The largest logit minus each logit, which is 0 for the largest logit itself."""
        logits = self.weight @ self.x
        return logits.max() - logits


class LinearLogits(Population[Logits]):
    """Logits, half of them with orthogonal rows of one length, and the others with independent normal rows."""

    free = ("weight", "x")

    def settings(self) -> Space:
        sizes = Space(d=Integer(20, 2, 500, "inputs"), classes=Integer(5, 2, 100, "classes"))
        return sizes.where("d is at least the number of classes", lambda s: s["d"] >= s["classes"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> Logits:
        kind_key, weight_key, x_key = jax.random.split(key, 3)
        d, classes = setting["d"], setting["classes"]
        drawn = jax.random.normal(weight_key, (classes, d))
        orthogonal = jnp.linalg.qr(drawn.T)[0].T * jnp.sqrt(1.0 * d)
        weight = jnp.where(jax.random.bernoulli(kind_key), orthogonal, drawn)
        return Logits(weight, jax.random.normal(x_key, (d,)))

    def hypotheses(self, problem: Logits) -> list[Hypothesis]:
        return [Hypothesis("classes", len(problem.weight), ">=", 2, "a single class does not have a rival")]


class SteepNetwork(eqx.Module):
    """A margin v'max(W x + b, 0) at the input x = 0, and the length `radius` of perturbations."""

    weight: Float[Array, "m d"]
    bias: Float[Array, " m"]
    readout: Float[Array, " m"]
    radius: Float[Array, ""]


class SteepNetworks(Population[SteepNetwork]):
    """In half of the networks, W has orthonormal rows and b keeps all units active. In the rest, W and b are normal."""

    free = ("weight", "bias", "readout")

    def settings(self) -> Space:
        sizes = Space(
            d=Integer(20, 2, 200, "inputs"),
            width=Integer(10, 2, 200, "hidden units"),
            radius=Real(0.5, 0.01, 5.0, "length of the perturbation"),
        )
        return sizes.where("d is at least the width", lambda s: s["d"] >= s["width"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteepNetwork:
        kind_key, weight_key, bias_key, readout_key = jax.random.split(key, 4)
        d, width, radius = setting["d"], setting["width"], setting["radius"]
        drawn = jax.random.normal(weight_key, (width, d)) / jnp.sqrt(d)
        active = jax.random.bernoulli(kind_key)
        weight = jnp.where(active, jnp.linalg.qr(drawn.T)[0].T, drawn)
        bias = jnp.where(active, 2.0 * radius, jax.random.normal(bias_key, (width,)))
        return SteepNetwork(weight, bias, jax.random.normal(readout_key, (width,)), jnp.asarray(radius))

    def hypotheses(self, problem: SteepNetwork) -> list[Hypothesis]:
        return [
            Hypothesis("the radius", problem.radius, ">", 0.0, "without a perturbation, the margin does not change")
        ]


_STEPS = 40


class LipschitzMarginRadius(Claim[Logits]):
    """Let the vector of logits be Lipschitz with constant L in the Euclidean norm. At an input, suppose that the
    largest logit exceeds every other logit by at least M. No perturbation of Euclidean norm below

        M / (sqrt(2) L)

    changes the class. For linear logits whose weight vectors are orthogonal and equally long, some perturbation of
    exactly this norm changes the class.
    """

    title = "A margin M and a Lipschitz constant L certify the radius M / (sqrt(2) L)"
    source = Source("tsuzuku2018", "Proposition 1")
    population = LinearLogits()
    relation = AtLeast()
    control = Control(
        "no perturbation of length below M / L changes the class", lambda radius, problem: jnp.sqrt(2.0) * radius
    )
    controls = "the distance to the nearest input of another class"
    unexplained = "networks, whose local slope is far below L"
    trivial = 0.0

    def predict(self, problem: Logits) -> Array:
        margins = problem.margins
        others = jnp.where(jnp.arange(len(margins)) == margins.argmin(), jnp.inf, margins)
        return others.min() / (jnp.sqrt(2.0) * jnp.linalg.norm(problem.weight, ord=2))

    def measure(self, problem: Logits, key: Key[Array, ""]) -> Array:
        """Return the distance to the nearest hyperplane on which another class ties with the leading class."""
        logits = problem.weight @ problem.x
        first = logits.argmax()
        apart = jnp.linalg.norm(problem.weight[first] - problem.weight, axis=1)
        is_first = jnp.arange(len(logits)) == first
        return jnp.where(is_first, jnp.inf, (logits[first] - logits) / jnp.where(is_first, 1.0, apart)).min()

    def condition(self, problem: Logits) -> Array:
        """Allow for the cancellation in margins, which are differences of logits."""
        logits = jnp.sort(problem.weight @ problem.x)
        return 100 * (1 + jnp.abs(logits).max() / (logits[-1] - logits[-2]))


class MarginFallsWithItsSlope(Claim[SteepNetwork]):
    """Let a margin m have the Lipschitz constant L. A perturbation of Euclidean length eps lowers the margin by at most
    L eps: m(x') >= m(x) - L eps. For the network m(x) = v'max(W x + b, 0), the product L = |v| |W| of the norms is a
    Lipschitz constant. This network attains the bound if all its units are active and the rows of W are orthonormal.
    """

    title = "A perturbation of length eps lowers a margin with the Lipschitz constant L by at most L eps"
    source = Source("emergence2026", "Figure 13.8", note="the proof next to the result")
    population = SteepNetworks()
    relation = AtMost()
    control = Control("the margin falls by at most nine tenths of L eps", lambda fall, problem: 0.9 * fall)
    controls = "how far a margin falls on a ball"
    unexplained = "networks for which the product of the norms is far above the true slope"
    trivial = "a margin may fall without bound"

    def predict(self, problem: SteepNetwork) -> Array:
        return jnp.linalg.norm(problem.readout) * jnp.linalg.norm(problem.weight, ord=2) * problem.radius

    def measure(self, problem: SteepNetwork, key: Key[Array, ""]) -> Array:
        """Return the largest fall of the margin that projected gradient descent finds on the ball."""
        margin = lambda x: problem.readout @ jax.nn.relu(problem.weight @ x + problem.bias)
        start = jnp.zeros(problem.weight.shape[1])

        def step(x, _):
            slope = jax.grad(margin)(x)
            moved = x - problem.radius * slope / jnp.maximum(jnp.linalg.norm(slope), 1e-12)
            moved = moved * jnp.minimum(1.0, problem.radius / jnp.maximum(jnp.linalg.norm(moved), 1e-12))
            return moved, margin(moved)

        _, found = jax.lax.scan(step, start, None, length=_STEPS)
        return margin(start) - jnp.minimum(found.min(), margin(start))

    def condition(self, problem: SteepNetwork) -> Array:
        """Allow for rounding in the fall, a difference of two sums of a few hundred products."""
        size = jnp.abs(problem.readout) @ (jnp.abs(problem.bias) + problem.radius * jnp.linalg.norm(problem.weight))
        fall = jnp.linalg.norm(problem.readout) * jnp.linalg.norm(problem.weight, ord=2) * problem.radius
        return 10 * (1 + size / fall)
