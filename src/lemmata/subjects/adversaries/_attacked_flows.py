"""Adversarial training as a differential equation for the outputs: kernel flows in which training rows have weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space


class AttackedFlow(eqx.Module):
    """The flow df/dt = -K E(t) (f - y) of outputs f. The diagonal matrix E(t) holds the weights of training rows.

    Args:
        K: the kernel of all training rows, positive definite.
        cross: the kernel between other points and training rows.
        start, other_start: the outputs at time 0, at the training rows and at the other points.
        y: the targets of the training rows.
        first, last: the weights E at time 0 and at the end, at least 1. In between, the weights are linear in time.
        time: the end of the flow.
    """

    K: Float[Array, "n n"]
    cross: Float[Array, "m n"]
    start: Float[Array, " n"]
    other_start: Float[Array, " m"]
    y: Float[Array, " n"]
    first: Float[Array, " n"]
    last: Float[Array, " n"]
    time: Float[Array, ""]

    @property
    def speed(self) -> Float[Array, ""]:
        """An upper bound, for all times, on the largest eigenvalue of K E."""
        return jnp.linalg.norm(self.K, 2) * jnp.maximum(self.first, self.last).max()


class AttackedFlows(Population[AttackedFlow]):
    """Flows with random kernels, in which a third of the eigenvalues are equal. In half of the draws, y minus the start
    is the eigenvector of the smallest eigenvalue.

    Args:
        schedule: "constant" or "changing", for weights of rows that are constant or that change in time.
    """

    free = ("y", "start")
    schedule: str = eqx.field(default="constant", static=True)

    def settings(self) -> Space:
        return Space(
            n=Integer(9, 3, 40, "training rows"),
            m=Integer(4, 1, 40, "other points"),
            spread=Real(3.0, 0.5, 20.0, "largest weight of a row, minus 1"),
            schedule=Choice(self.schedule, ("constant", "changing"), "whether the weights of rows change in time"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttackedFlow:
        """Draw a flow, with eigenvalues of K from 0.1 to 1 and a time from 0.5 to 5."""
        keys = jax.random.split(key, 9)
        n, m = setting["n"], setting["m"]
        basis = jnp.linalg.qr(jax.random.normal(keys[0], (n, n)))[0]
        values = 0.1 * 10 ** jax.random.uniform(keys[1], (n,))
        values = jnp.where(jnp.arange(n) < n // 3, values[0], values)
        slow = jnp.where(jax.random.uniform(keys[2]) < 0.5, 1.0, 0.0)
        weights = 1 + setting["spread"] * jax.random.uniform(keys[3], (2, n)) * jax.random.uniform(keys[4]) ** 3
        start = jax.random.normal(keys[5], (n + m,))
        random = start[:n] + jax.random.normal(keys[6], (n,))
        y = slow * (start[:n] + basis[:, jnp.argmin(values)]) + (1 - slow) * random
        last = weights[1] if setting["schedule"] == "changing" else weights[0]
        cross = jax.random.normal(keys[7], (m, n)) / n**0.5
        time = 0.5 * 10 ** jax.random.uniform(keys[8])
        K = (basis * values) @ basis.T
        return AttackedFlow((K + K.T) / 2, cross, start[:n], start[n:], y, weights[0], last, time)

    def hypotheses(self, problem: AttackedFlow) -> list[Hypothesis]:
        least = jnp.minimum(problem.first, problem.last).min()
        return [
            Hypothesis(
                "the smallest eigenvalue of the kernel K is above 0",
                jnp.linalg.eigvalsh(problem.K)[0],
                ">",
                0.0,
                "otherwise some modes do not change",
            ),
            Hypothesis(
                "the attacks' weights E of the rows are at least 1",
                least,
                ">=",
                1.0,
                "each weight is the exponential of a non-negative number",
            ),
        ]
