"""Projected gradient descent on a margin, which finds adversarial inputs and an upper bound on certified margins."""

import numpy as np
from jaxtyping import Float

from ._network import ReluNetwork
from ._open_units import OpenNetwork
from ._relaxation import Ball


def attack(
    network: ReluNetwork | OpenNetwork,
    ball: Ball,
    rows: Float[np.ndarray, "r k"],
    starts: Float[np.ndarray, "r d"] | None = None,
    *,
    steps: int = 30,
    restarts: int = 2,
    seed: int = 0,
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r d"]]:
    """Return, for each row, the smallest <row, outputs> that projected gradient descent finds on the ball, and the
    input that gives this value.

    Args:
        network: the network.
        ball: the inputs that are allowed.
        rows: the combinations of outputs to minimise, one in each row.
        starts: a start of the descent for each row; by default, the centre of the ball.
        steps: the number of steps. The size of the first step is half the radius, and later steps are smaller.
        restarts: the number of random starts in addition to the first start.
        seed: the random seed of the random starts.
    """
    generator, count = np.random.default_rng(seed), len(rows)
    first = np.tile(ball.center, (count, 1)) if starts is None else starts
    noise = ball.radius * generator.uniform(-1, 1, (restarts * count, network.inputs))
    points = ball.project(np.concatenate([first, ball.center + noise]))
    every = np.tile(rows, (restarts + 1, 1))
    best, where = np.full(len(points), np.inf), points
    for step in range(steps + 1):
        value = (network(points) * every).sum(axis=1)
        better = value < best
        best, where = np.where(better, value, best), np.where(better[:, None], points, where)
        if step < steps:
            direction = network.gradient(points, every)
            size = 0.5 * ball.radius * (1 - step / steps)
            if ball.norm == "linf":
                direction = np.sign(direction)
            else:
                length = np.linalg.norm(direction, axis=1, keepdims=True)
                direction = direction / np.where(length > 0, length, 1.0)
            points = ball.project(points - size * direction)
    found = best.reshape(restarts + 1, count)
    chosen = found.argmin(axis=0)
    return found.min(axis=0), where.reshape(restarts + 1, count, -1)[chosen, np.arange(count)]
