"""A universal statement: every network of a size errs by at least so much."""

import itertools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Hypothesis, Integer, Population, Source, Space

GRID = np.linspace(-1.0, 1.0, 41)


class Rectifiers(eqx.Module):
    """sum_i outer_i max(inner_i x + bias_i, 0) + offset."""

    inner: Float[Array, " w"]
    bias: Float[Array, " w"]
    outer: Float[Array, " w"]
    offset: Float[Array, ""]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        return jax.nn.relu(x[:, None] * self.inner + self.bias) @ self.outer + self.offset


class Networks(Population[Rectifiers]):
    """Normal parameters, all of them free."""

    free: ClassVar[tuple[str, ...]] = ("inner", "bias", "outer", "offset")
    widest: int = 1

    def settings(self) -> Space:
        return Space(width=Integer(1, 1, self.widest))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Rectifiers:
        inner, bias, outer = jax.random.normal(key, (3, setting["width"]))
        return Rectifiers(inner, bias, outer, jnp.asarray(0.1))

    def hypotheses(self, problem: Rectifiers) -> list[Hypothesis]:
        return [Hypothesis("parameters are moderate", jnp.abs(problem.inner).max(), "<=", 1e3)]


def least_error() -> float:
    """The least mean square error of one rectifier and an offset from |x|: least squares for each place of the kink."""

    def error(kink: float, side: float) -> float:
        columns = np.stack([np.maximum(side * (GRID - kink), 0.0), np.ones_like(GRID)], axis=1)
        solution = np.linalg.lstsq(columns, np.abs(GRID), rcond=None)[0]
        return float(np.mean((columns @ solution - np.abs(GRID)) ** 2))

    found = [
        scipy.optimize.minimize_scalar(error, bounds=(a, b), args=(side,), method="bounded", options={"xatol": 1e-10})
        for side in (1.0, -1.0)
        for a, b in itertools.pairwise(GRID)
    ]
    return min(one.fun for one in found)


LEAST = least_error()


class AbstractEveryNetworkErrs(Claim[Rectifiers]):
    """The mean square error from |x| on 41 points."""

    title = "Every network of a size errs"
    source = Source("own", entry="@book{own, author={Telgarsky, Matus}, title={Deep learning theory}, year={2021}}")
    relation = AtLeast()
    control = Control("twice that", lambda error, problem: 2 * error)
    controls = "the mean square error from |x|"
    unexplained = "nothing"
    trivial = "an error is at least 0"

    def predict(self, problem: Rectifiers) -> Array:
        return jnp.asarray(LEAST)

    def measure(self, problem: Rectifiers, key: Key[Array, ""]) -> Array:
        x = jnp.asarray(GRID)
        return jnp.mean((problem(x) - jnp.abs(x)) ** 2)


class OneRectifierErrs(AbstractEveryNetworkErrs):
    """Every network of one rectifier has at least the mean square error from |x| that least squares with the best kink
    has: true, and attained.
    """

    population = Networks()


class ManyRectifiersErr(AbstractEveryNetworkErrs):
    """Every network of up to four rectifiers has at least that error: false, two make |x|."""

    population = Networks(widest=4)
