"""Langevin dynamics of a whole network on drawn rows: its units have the law that one unit has in the field of all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf
from scipy.optimize import root

from lemmata.subjects.phases import CubicTeacher, hermite_overlaps, transition
from lemmata.subjects.phases.cubic_teacher import TaughtUnit, solved_at
from lemmata.subjects.samplers import langevin

TEACHER, D, N, ROWS, CHAINS = CubicTeacher(epsilon=-0.6, weight_variance=0.5, ratio=4.0), 12, 150, 600, 4


def held_share(u):
    """The mean share where the rest of |w|² is held at g, with the b and c that agree with it."""
    g, q = TEACHER.weight_variance, np.linspace(1e-3, 3, 2000)
    h = np.asarray(hermite_overlaps(q, q**2 + g)).T

    def law(found):
        power = -D * q**2 / (2 * g) + D * u / 2 * (found @ h) ** 2
        return np.exp(power - power.max()) / np.exp(power - power.max()).sum()

    def lack(found):
        feedback = D * np.sqrt(u / TEACHER.ratio) * h @ (law(found) * (found @ h))
        return found + feedback - np.array([1, 6**0.5 * TEACHER.epsilon])

    return float(np.sum(law(root(lack, [0.5, -1.4], method="lm").x) * q**2 / (1 + 2 * (q**2 + g))))


def network_shares(u, key):
    """Shares of all units along one chain for each of several draws of rows; parameters in units of their priors."""
    g, readout = TEACHER.weight_variance, D / (N * TEACHER.ratio)
    noise = np.sqrt(TEACHER.ratio / u) * ROWS * readout / D
    keys = jax.random.split(key, 3)
    x = jax.random.normal(keys[0], (ROWS, D))
    y = x[:, 0] + TEACHER.epsilon * (x[:, 0] ** 3 - 3 * x[:, 0])

    def log_density(parameters):
        w, a = parameters[: N * D].reshape(N, D) * (g / D) ** 0.5, parameters[N * D :] * (readout / N) ** 0.5
        return -jnp.sum((erf(x @ w.T) @ a - y) ** 2) / (2 * noise) - parameters @ parameters / 2

    start = jax.random.normal(keys[1], (1, N * (D + 1)))
    points = langevin(log_density, start, 0.02, 900, keys[2], every=20).points[15:, 0, : N * D]
    w = points.reshape(-1, N, D) * (g / D) ** 0.5
    return np.asarray(w[..., 0] ** 2 / (1 + 2 * jnp.sum(w**2, axis=-1)))


def test_units_of_a_network_follow_the_action_with_a_free_norm():
    u = 1.4 * transition(TEACHER).interaction
    b, c = solved_at(TaughtUnit(TEACHER, 0.3, 0.2), float(D), u)
    weight, q, r = TaughtUnit(TEACHER, 0.3, 0.2).law(D, u, b, c, 200)
    free = float(np.sum(weight * q**2 / (1 + 2 * (q**2 + r))))
    keys = jax.random.split(jax.random.key(0), CHAINS)
    own = np.array([network_shares(u, key).mean() for key in keys])
    assert own.mean() == pytest.approx(free, rel=0.05)
    assert own.mean() > 1.04 * held_share(u)
