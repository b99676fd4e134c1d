"""The inner search: gradient ascent over the free fields of one problem, while the hypotheses hold.

The free fields of a problem are the numbers that a search may change. A point z is a vector that represents them. The
search raises the pressure (see `_pressure`), a number that says how near a trial is to a contradiction. The margin of a
hypothesis is negative if the hypothesis fails.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import COMPILER, Claim, hypotheses_of, measured

from ._pressure import margins, pressure
from ._problem import free_fields, with_fields

Vector = Float[np.ndarray, " p"]
_ACTIVE = 1e-6
_CORRECTIONS = 8
_SHORTEST = 1e-12
_SQUARED = 200  # the largest number of variables for which a quadratic model is used
_MODELLED = 80  # steps with such a model
_FAR = 1e6  # the value that the quadratic model gets if the pressure is not a number


@dataclasses.dataclass(frozen=True)
class Point:
    """The trial at a point z: the pressure and its gradient, and the margins of the hypotheses and their gradients.

    If the pressure is not a number, `value` is -inf.
    """

    z: Vector
    value: float
    slope: Vector
    left: Float[np.ndarray, " k"]
    normals: Float[np.ndarray, "k p"]
    holds: bool
    predicted: np.ndarray
    measured: np.ndarray
    condition: np.ndarray

    @property
    def kept(self) -> float:
        """The pressure if every hypothesis holds, else -inf."""
        return self.value if self.holds else -np.inf


class Ascent:
    """The pressure of one claim as a function of the free fields, for problems of one shape. The function is compiled.

    Args:
        claim: the claim; its methods are JAX functions.
        like: a problem of the shape for which the ascent is compiled.
        without: a hypothesis that need not hold.
    """

    def __init__(self, claim: Claim, like: Any, without: str | None = None):
        self.names = free_fields(claim, like)
        _, self.unravel = ravel_pytree(self.fields_of(like))
        self.static = eqx.partition(like, eqx.is_array)[1]

        def value(z: Array, arrays: Any, key: Array) -> tuple[Array, Any]:
            problem = self._filled(z, arrays)
            condition = jnp.asarray(1.0 if claim.condition is None else claim.condition(problem), float)
            own = jnp.asarray(claim.predict(problem), float), measured(claim, problem, key), condition
            return pressure(claim, *own), own

        def left(z: Array, arrays: Any) -> tuple[Array, tuple[Array, Array]]:
            every = hypotheses_of(claim, self._filled(z, arrays))
            own = [one for one in every if one.checkable and one.name != without]
            holds = jnp.asarray([jnp.all(one.holds) & ~jnp.any(one.undefined) for one in own]).all()
            margin = margins(own)
            return margin, (margin, holds)

        def everything(z: Array, arrays: Any, key: Array) -> Any:
            (height, own), slope = jax.value_and_grad(value, has_aux=True)(z, arrays, key)
            normals, (margin, holds) = jax.jacrev(left, has_aux=True)(z, arrays)
            return height, slope, margin, normals, holds, *own

        self._everything = jax.jit(everything, compiler_options=COMPILER)

    def _filled(self, z: Array, arrays: Any) -> Any:
        return with_fields(eqx.combine(arrays, self.static), self.unravel(z))

    def fits(self, problem: Any) -> bool:
        """Whether a problem has the shape for which this ascent was compiled."""
        return eqx.tree_equal(self.static, eqx.partition(problem, eqx.is_array)[1]) is True

    def fields_of(self, problem: Any) -> dict[str, Any]:
        """The free fields of a problem."""
        return {name: jnp.asarray(getattr(problem, name), float) for name in self.names}

    def fields_at(self, z: Vector) -> dict[str, np.ndarray]:
        """The free fields that a point represents."""
        return {name: np.asarray(value) for name, value in self.unravel(jnp.asarray(z)).items()}

    def point_of(self, problem: Any) -> Vector:
        """The point that represents a problem."""
        return np.asarray(ravel_pytree(self.fields_of(problem))[0], float)

    def at(self, z: Vector, arrays: Any, key: Key[Array, ""]) -> Point:
        """Evaluate pressure, margins and gradients at a point."""
        height, slope, left, normals, holds, *own = map(np.asarray, self._everything(jnp.asarray(z), arrays, key))
        known = np.isfinite(height) and np.isfinite(slope).all()
        slope = slope if known else np.zeros_like(z)
        return Point(np.array(z), float(height) if known else -np.inf, slope, left, normals, bool(holds), *own)

    def climb(self, problem: Any, key: Key[Array, ""], steps: int) -> Point:
        """Start from a problem and raise the pressure, first by projected gradient steps, then by a quadratic model.

        Returns:
            The best point that the climb reached and at which all hypotheses hold.
        """
        arrays = eqx.filter(problem, eqx.is_array)
        best = self._projected(self.at(self.point_of(problem), arrays, key), arrays, key, steps)
        if len(best.z) <= _SQUARED:
            other = self._modelled(best, arrays, key)
            if other.kept > best.kept:
                best = self._projected(other, arrays, key, steps // 3)
        return best

    def _projected(self, best: Point, arrays: Any, key: Key[Array, ""], steps: int) -> Point:
        """Climb by gradient steps that become longer after success and shorter after failure.

        If a hypothesis holds with equality, a direction that would break it is projected onto the boundary of the
        hypothesis. A point that breaks a hypothesis is moved back along the gradient of its margin.
        """
        step = 0.1
        for _ in range(steps):
            direction = _inside(best)
            length = float(np.linalg.norm(direction))
            if not length > 0 or step < _SHORTEST:
                break
            size = max(float(np.sqrt(np.mean(best.z**2))), 1e-3) * np.sqrt(len(best.z))
            moved = self._back(best.z + step * size * direction / length, arrays, key)
            if moved is not None and moved.kept > best.kept:
                best, step = moved, min(1.7 * step, 1.0)
            else:
                step /= 3
        return best

    def _back(self, z: Vector, arrays: Any, key: Key[Array, ""]) -> Point | None:
        """Move a point until every hypothesis holds. None if a few corrections do not achieve this."""
        for _ in range(_CORRECTIONS):
            here = self.at(z, arrays, key)
            broken = here.left < 0
            if not broken.any():
                return here
            normals, left = here.normals[broken], here.left[broken]
            if not (np.isfinite(left).all() and np.isfinite(normals).all()):
                return None
            z = z + np.linalg.lstsq(normals, -left * 1.01 + 1e-13, rcond=None)[0]
        return None

    def _modelled(self, start: Point, arrays: Any, key: Key[Array, ""]) -> Point:
        """Climb by sequential quadratic programming, which does not oscillate where gradient steps would."""
        size = max(float(np.sqrt(np.mean(start.z**2))), 1e-3)
        best, last = start, start

        def here(u: np.ndarray) -> Point:
            nonlocal best, last
            z = size * np.asarray(u, float)
            if not np.array_equal(z, last.z):
                last = self.at(z, arrays, key) if np.isfinite(z).all() else dataclasses.replace(start, value=-np.inf)
                best = last if last.kept > best.kept else best
            return last

        def conditions(u: np.ndarray) -> np.ndarray:
            return np.nan_to_num(here(u).left, nan=-1.0)

        constraint = {"type": "ineq", "fun": conditions, "jac": lambda u: size * np.nan_to_num(here(u).normals)}
        with np.errstate(all="ignore"):
            scipy.optimize.minimize(
                lambda u: -here(u).value if np.isfinite(here(u).value) else _FAR,
                start.z / size,
                jac=lambda u: -size * here(u).slope,
                method="SLSQP",
                constraints=[constraint] if len(start.left) else [],
                options={"maxiter": _MODELLED, "ftol": 1e-13},
            )
        return best


def _inside(here: Point) -> Vector:
    """The gradient of the pressure, without the part that would break a hypothesis with a margin near zero."""
    slope = here.slope
    for normal in here.normals[(here.left < _ACTIVE) & np.isfinite(here.normals).all(axis=1)]:
        across = float(normal @ slope)
        if across < 0 and normal @ normal > 0:
            slope = slope - across / float(normal @ normal) * normal
    return slope
