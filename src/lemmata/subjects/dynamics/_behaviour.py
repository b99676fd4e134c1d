"""Check whether training behaved like training with a fixed kernel. If not, report which condition failed."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped

from lemmata.errors import SettingError, ShapeError
from lemmata.printable import preformatted

from ._fine_tuning import Function, fine_tuning_kernels

TOLERANCE = 0.25


@dataclasses.dataclass(frozen=True)
class KernelBehaviour:
    """The deviation of training from training with a fixed kernel, measured at several steps t of training. At step t,
    theta_t are the parameters, f_t the outputs and K_t the kernel of gradient descent.

    Attributes:
        linearisation: |f_t - f_0 - <grad f_0, theta_t - theta_0>| / |f_t - f_0|, norms over points and outputs; 0 if no
            parameter or no output moved.
        change: ||K_t - K_0|| / ||K_0||, Frobenius norms of the kernel of gradient descent.
        direction: 1 - <K_t, K_0> / (||K_t|| ||K_0||), which does not depend on the scale of the kernel.
        tolerance: the largest value of `linearisation` and of `change` that still counts as kernel behaviour.
    """

    linearisation: tuple[float, ...]
    change: tuple[float, ...]
    direction: tuple[float, ...]
    tolerance: float

    @property
    def broke(self) -> tuple[str, ...]:
        """The conditions that failed at some step: "linearisation", "fixed features" or both."""
        rows = (("linearisation", self.linearisation), ("fixed features", self.change))
        return tuple(name for name, values in rows if not max(values) <= self.tolerance)

    @property
    def holds(self) -> bool:
        """Whether both conditions held throughout the training."""
        return not self.broke

    def __str__(self) -> str:
        verdict = "yes" if self.holds else f"no, {' and '.join(self.broke)} broke"
        return (
            f"kernel behaviour: {verdict} "
            f"(linearisation error {max(self.linearisation):.2f}, change of the kernel {max(self.change):.2f})"
        )

    def _repr_html_(self) -> str:
        return preformatted(self)


def kernel_behaviour(
    f: Function, path: Sequence[Any], x: Shaped[Array, "n *point"], *, tolerance: float = TOLERANCE
) -> KernelBehaviour:
    """Compare training with training by the fixed initial kernel, at each later step of the path.

    Training is equivalent to training with a fixed kernel under two conditions. The function moves as its linearisation
    in the parameters does, and the kernel of gradient descent does not change. Both conditions hold in the limit of
    infinite width. At a finite width, both conditions hold only up to errors, and the `tolerance` for these errors is a
    convention.

    Args:
        f: a function f(params, x) of one point, which returns a number or a vector of outputs.
        path: the parameters at the start and at some later steps, trees of the same structure.
        x: the points at which functions and kernels are compared.
        tolerance: the largest relative error that still counts as kernel behaviour.

    Raises:
        ShapeError: if the path has fewer than two sets of parameters, or if the trees differ.
        SettingError: for a tolerance that is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import kernel_behaviour
        >>> path = [jnp.array([1.0, 0.5]), jnp.array([1.5, 0.2])]
        >>> print(kernel_behaviour(lambda w, x: w @ x, path, jnp.eye(2)))
        kernel behaviour: yes (linearisation error 0.00, change of the kernel 0.00)
        >>> kernel_behaviour(lambda w, x: w[0] * w[1] * x, path, jnp.ones(1)).broke
        ('linearisation', 'fixed features')
    """
    if len(path) < 2:
        raise ShapeError(
            "path",
            found=f"{len(path)} sets of parameters",
            rule="at least two sets, the first from the start of training",
        )
    if not tolerance > 0:
        raise SettingError("tolerance", found=tolerance, rule="a number above 0")
    first = path[0]
    for later in path[1:]:
        if jax.tree.structure(later) != jax.tree.structure(first):
            raise ShapeError(
                "path", found=f"the tree {jax.tree.structure(later)}", rule="the same tree for all sets of parameters"
            )
    start = fine_tuning_kernels(f, first, x).sgd
    errors, changes, directions = [], [], []
    for later in path[1:]:
        error = _linearisation(f, first, later, x)
        now = fine_tuning_kernels(f, later, x).sgd
        errors.append(float(error))
        changes.append(float(jnp.linalg.norm(now - start) / jnp.linalg.norm(start)))
        cosine = jnp.vdot(now, start) / (jnp.linalg.norm(now) * jnp.linalg.norm(start))
        directions.append(float(jnp.maximum(1 - cosine, 0.0)))
    return KernelBehaviour(tuple(errors), tuple(changes), tuple(directions), tolerance)


@eqx.filter_jit
def _linearisation(f: Function, first: Any, later: Any, x: Array) -> Array:
    """Return the relative error of the outputs' first-order change, or 0 if parameters or outputs did not move."""
    (free, fixed), (there, _) = (eqx.partition(own, eqx.is_inexact_array) for own in (first, later))
    outputs = lambda own: jax.vmap(lambda point: f(eqx.combine(own, fixed), point))(x)
    step = jax.tree.map(jnp.subtract, there, free)
    before, slope = jax.jvp(outputs, (free,), (step,))
    moved = outputs(there) - before
    size = jnp.linalg.norm(moved)
    some = jnp.any(jnp.stack([jnp.any(leaf != 0) for leaf in jax.tree.leaves(step)])) & (size > 0)
    return jnp.where(some, jnp.linalg.norm(moved - slope) / jnp.where(some, size, 1.0), 0.0)
