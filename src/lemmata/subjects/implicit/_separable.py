"""Separable rows, their largest margins in the l_1, l_2 and l_inf norms, and long training runs on such rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import linprog, nnls

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

Table = Float[Array | np.ndarray, "n d"]
Vector = Float[Array | np.ndarray, " d"]


class SeparableRows(eqx.Module):
    """Rows z_i = y_i x_i that a linear rule without an intercept separates: some w has <w, z_i> > 0 for all i.

    Args:
        z: the rows, each multiplied by its class of -1 or 1.
        start: the weights at which training begins.
    """

    z: Float[Array, "n d"]
    start: Float[Array, " d"]


class SeparableProblems(Population[SeparableRows]):
    """Normal rows, classified by a random linear rule. Each row is moved by `gap` away from the boundary."""

    settings = Space(
        n=Integer(8, 3, 40, "rows", corners=(6, 12)),
        d=Integer(4, 2, 8, "coordinates", corners=(3, 5)),
        gap=Real(0.5, 0.3, 2.0, "the least distance from the separating plane", corners=(0.4, 0.8)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeparableRows:
        one, two, three = jax.random.split(key, 3)
        rule = jax.random.normal(one, (setting["d"],))
        rule = rule / jnp.linalg.norm(rule)
        x = jax.random.normal(two, (setting["n"], setting["d"]))
        z = x * jnp.sign(x @ rule)[:, None] + setting["gap"] * rule
        return SeparableRows(z, jax.random.normal(three, (setting["d"],)))

    def hypotheses(self, problem: SeparableRows) -> list[Hypothesis]:
        margin = largest_margin(problem.z, 2)
        why = "without a margin the weights converge"
        return [Hypothesis("the largest margin", margin, ">", 1e-3, why)]


def norm(w: Vector, order: float | int) -> float:
    """Return the l_p norm of w, where p is `order`."""
    return float(np.linalg.norm(np.asarray(w), order))


def margin(z: Table, w: Vector, order: float | int) -> float:
    """Return the normalised margin min_i <w, z_i> / |w|, in the l_p norm with p = `order`."""
    return float(np.min(np.asarray(z) @ np.asarray(w))) / norm(w, order)


def separator(z: Table, order: float | int) -> Float[np.ndarray, " d"]:
    """Return the w of least l_1, l_2 or l_inf norm that satisfies <w, z_i> >= 1 for all i."""
    rows = np.asarray(z)
    n, d = rows.shape
    if order == 2:
        system, target = np.concatenate([rows.T, np.ones((1, n))]), np.append(np.zeros(d), 1.0)
        residual = target - system @ nnls(system, target)[0]
        return -residual[:-1] / residual[-1]
    if order == 1:
        found = linprog(np.ones(2 * d), A_ub=np.concatenate([-rows, rows], axis=1), b_ub=-np.ones(n)).x
        return found[:d] - found[d:]
    above = np.concatenate([np.eye(d), -np.eye(d)])
    upper = np.block([[-rows, np.zeros((n, 1))], [above, -np.ones((2 * d, 1))]])
    free = [(None, None)] * d + [(0, None)]
    return linprog(np.append(np.zeros(d), 1.0), upper, np.append(-np.ones(n), np.zeros(2 * d)), bounds=free).x[:d]


def largest_margin(z: Table, order: float | int) -> float:
    """Return the largest value of min_i <w, z_i> over all w whose l_p norm is at most 1, where p is `order`."""
    return 1 / norm(separator(z, order), order)
