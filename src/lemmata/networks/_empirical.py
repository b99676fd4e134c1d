"""Kernels of a finite network, or of any function f(params, x), at given parameters."""

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact, Shaped

from lemmata.architectures import combined_gradient, output_structure, tangent_gram, tangent_product
from lemmata.core import ResultPlan, check_whole
from lemmata.errors import SettingError, ShapeError, SolverError

from ._modules import check_variables, function_of

Outputs = Literal["all", "each", "mean"] | int
# The default number of bytes in memory besides a result.
WORKING_SET = 2**28
# The number of points whose outputs are computed at once.
_BATCH = 256


class EmpiricalKernel(eqx.Module):
    r"""The tangent kernel Theta(x, x')_ab = <df_a(x)/dparams, df_b(x')/dparams> of a function f at given parameters.

    Every method takes points of any shape, one in each row. `outputs` selects pairs (a, b) of the k outputs, which are
    the entries of f(params, x). "all" returns all pairs, with shape (n, m, k, k). "each" returns the kernel of each
    output with itself, the pairs (a, a), with shape (n, m, k). "mean" returns the mean over the pairs (a, a), with
    shape (n, m). At infinite width, this mean is the kernel of each output. A number a returns the pair (a, a), with
    shape (n, m).

    Args:
        f: a function f(params, x) of one point, or an object with a method `apply(params, x)`, for example a layer.
            `equinox_function` and `flax_function` convert modules to such functions. For layers, the faster method of
            `tangent_gram` is used.
        params: a tree of arrays; leaves that are not floating-point numbers are fixed.
        working_set: bytes of gradients, activations and products that may be in memory at once, besides the result. At
            least the memory for two points is used.

    The methods raise these errors. ShapeError: points are empty, have different shapes or do not fit the function.
    PrecisionError: half precision. SettingError: parameters contain no floating-point number, or an output does not
    exist. MemoryPlanError: the result and the working set need more bytes than are free. SolverError: the kernel is not
    finite. The plan of a result above 1 GiB is printed to standard error.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.networks import EmpiricalKernel
        >>> f = lambda params, x: jnp.tanh(params["w"] @ x)
        >>> kernel = EmpiricalKernel(f, {"w": 0.1 * jnp.ones((2, 3))})
        >>> kernel.gram(jnp.eye(3)).shape, kernel.gram(jnp.eye(3), outputs="mean").shape
        ((3, 3, 2, 2), (3, 3))
        >>> kernel.product(jnp.eye(3), jnp.ones((3, 2))).shape
        (3, 2)
    """

    f: Any
    params: Any
    working_set: int = eqx.field(default=WORKING_SET, static=True)

    def __check_init__(self):
        if not (hasattr(self.f, "apply") or callable(self.f)):
            raise SettingError(
                "f", found=repr(self.f), rule="a function f(params, x), or an object with a method apply(params, x)"
            )
        check_whole("working_set", self.working_set, 1)
        check_variables(self.f, self.params)

    def gram(
        self, x: Shaped[Array, "n *point"], y: Shaped[Array, "m *point"] | None = None, *, outputs: Outputs = "all"
    ) -> Inexact[Array, "n m *outputs"]:
        """The matrix Theta(x_i, y_j), where y = x by default. `tangent_gram` describes the computation."""
        found = tangent_gram(self.f, self.params, x, y, **options(outputs), working_set=self.working_set)
        return self._finite("tangent kernel", found, x, x if y is None else y)

    def diagonal(self, x: Shaped[Array, "n *point"], *, outputs: Outputs = "all") -> Inexact[Array, "n *outputs"]:
        """The kernel Theta(x_i, x_i) of each point with itself: (n, k, k), (n, k) or (n,), depending on `outputs`."""
        one = lambda point: tangent_gram(
            self.f, self.params, point[None], **options(outputs), working_set=self.working_set
        )[0, 0]
        plan = self.plan("diagonal of the tangent kernel", (x,), outputs)
        plan.require(x, remedy="use outputs='mean', or pass fewer points at a time")
        return self._finite("tangent kernel", jax.lax.map(one, x), x)

    def product(
        self, x: Shaped[Array, "n *point"], v: Inexact[Array, "m *out"], y: Shaped[Array, "m *point"] | None = None
    ) -> Inexact[Array, "n *out"]:
        """Return (Theta v)_ia = sum_jb Theta(x_i, y_j)_ab v_jb without forming Theta, for any number of points.

        Args:
            x: the points at which the product is returned.
            v: the vector, in the shape of the outputs at y.
            y: the points to which the rows of v belong; x itself by default.
        """
        found = tangent_product(self.f, self.params, v, x, y, working_set=self.working_set)
        return self._finite("product with the tangent kernel", found, x, x if y is None else y)

    def values(self, x: Shaped[Array, "n *point"]) -> Inexact[Array, "n *out"]:
        """The outputs f(params, x_i), computed in batches."""
        output_structure(self.f, self.params, x)
        apply = function_of(self.f)
        return jax.lax.map(lambda point: apply(self.params, point), x, batch_size=_BATCH)

    def nngp(self, x: Shaped[Array, "n *point"], y: Shaped[Array, "m *point"] | None = None) -> Inexact[Array, "n m"]:
        """The mean over outputs a of the products f_a(x_i) f_a(y_j).

        At infinite width, this is the covariance of an output over random initialisations.
        """
        plan = self.plan("kernel of the outputs", (x, x if y is None else y), "mean", copies=2)
        plan.require(x, remedy="pass fewer points at a time, or use float32")
        left = self.values(x).reshape(len(x), -1)
        right = left if y is None else self.values(y).reshape(len(y), -1)
        return self._finite("kernel of the outputs", left @ right.T / left.shape[1], x, x if y is None else y)

    def velocity(
        self,
        train: Shaped[Array, "t *point"],
        targets: Inexact[Array, "t *out"],
        x: Shaped[Array, "n *point"] | None = None,
        y: Shaped[Array, "m *point"] | None = None,
        *,
        outputs: Outputs = "all",
    ) -> Inexact[Array, "n m *outputs"]:
        r"""The derivative dTheta(x_i, y_j)/dt along the gradient flow of squared loss, at the kernel's parameters.

        The flow is dparams/dt = -grad 1/2 sum_ia (f_a(train_i) - targets_ia)², with the same time t as in the function
        `train` of this subpackage. The kernel is differentiated along this direction. No third-order tensor is formed,
        and the cost is about three times the cost of the kernel. At infinite width, the velocity vanishes. At width m,
        the velocity is of order 1/m in the NTK parameterisation.

        Args:
            train: the points of the loss.
            targets: the targets at these points, in the shape of the outputs.
            x: points of the kernel; by default the points of the loss.
            y: other points; x itself by default.
            outputs: as for `gram`.
        """
        points = train if x is None else x
        plan = self.plan("velocity of the tangent kernel", (points, points if y is None else y), outputs, copies=2)
        plan.require(points, remedy="use outputs='mean' or float32, or pass fewer points at a time")
        values = self.values(train)
        if jnp.shape(targets) != values.shape:
            rule = f"shape {values.shape}, the shape of the outputs at train"
            raise ShapeError("targets", found=f"shape {jnp.shape(targets)}", rule=rule)
        descent = jnp.asarray(targets, values.dtype) - values
        motion = combined_gradient(self.f, self.params, descent, train, working_set=self.working_set)
        free, fixed = eqx.partition(self.params, eqx.is_inexact_array)
        kernel = lambda own: tangent_gram(
            self.f, eqx.combine(own, fixed), points, y, **options(outputs), working_set=self.working_set // 2
        )
        _, found = jax.jvp(kernel, (free,), (motion,))
        return self._finite("velocity of the tangent kernel", found, train, points)

    def relative_change(
        self,
        params: Any,
        x: Shaped[Array, "n *point"],
        y: Shaped[Array, "m *point"] | None = None,
        *,
        outputs: Outputs = "all",
    ) -> Inexact[Array, ""]:
        """Return the relative change of the kernel matrix if the kernel's parameters are replaced by other parameters.

        Let Theta be the matrix that `gram` returns at the kernel's own parameters, and let Theta' be the same matrix at
        the parameters `params`, for example after training. The relative change is ||Theta' - Theta||_F / ||Theta||_F,
        where ||.||_F is the Frobenius norm.

        `params` must form the same tree as the kernel's own parameters, and give outputs of the same shape.
        """
        if (found := jax.tree.structure(params)) != (own := jax.tree.structure(self.params)):
            raise ShapeError(
                "params", found=f"the tree {found}", rule=f"the same tree as the kernel's own parameters, {own}"
            )
        other = EmpiricalKernel(self.f, params, self.working_set)
        before, after = (output_structure(self.f, some, x, y).shape for some in (self.params, params))
        if before != after:
            raise ShapeError(
                "params",
                found=f"outputs of shape {after}",
                rule=f"shape {before}, the shape of the outputs at the kernel's own parameters",
            )
        return _change(self.gram(x, y, outputs=outputs), other.gram(x, y, outputs=outputs))

    def plan(self, what: str, points: tuple[Array, ...], outputs: Outputs, *, copies: int = 1) -> ResultPlan:
        """Plan the memory of a result that has entries for each point, or for each pair of points.

        The argument `outputs` selects pairs of outputs. A result for points has one entry for each point and each of
        these pairs. A result for pairs of points has one entry for each pair of points and each of these pairs.

        Args:
            what: the name of the result.
            points: the tuple (x,) for a result with entries for each point x_i. The tuple (x, y) for a result with
                entries for each pair (x_i, y_j).
            outputs: as for `gram`.
            copies: the number of arrays of the result's size that are in memory at once.
        """
        out = output_structure(self.f, self.params, *points)
        k = math.prod(out.shape)
        last = {"all": (k, k), "each": (k,)}.get(str(outputs), ())
        return ResultPlan(what, (*map(len, points), *last), out.dtype.itemsize, copies, self.working_set)

    def _finite(self, what: str, found: Array, *points: Array) -> Array:
        if is_true(~_all_finite(found)):
            bad = [jnp.flatnonzero(~jnp.isfinite(self.values(p)).reshape(len(p), -1).all(axis=1)) for p in points]
            rows = sorted({int(row) for some in bad for row in some})
            cause = (
                f"outputs at points {rows[:5]} are not finite"
                if rows
                else "outputs are finite, but derivatives are not"
            )
            raise SolverError(
                what, found=f"entries that are not finite; {cause}", rule="f and its gradient must be finite"
            )
        return found


@jax.jit
def _change(start: Array, end: Array) -> Array:
    return jnp.linalg.norm((end - start).ravel()) / jnp.linalg.norm(start.ravel())


@jax.jit
def _all_finite(found: Array) -> Array:
    return jnp.all(jnp.isfinite(found))


def options(outputs: Outputs) -> dict[str, Any]:
    """Translate the choice of outputs into the arguments of `tangent_gram`."""
    if outputs in ("all", "each", "mean"):
        return {"each": outputs == "each", "trace": outputs == "mean"}
    if isinstance(outputs, int) and not isinstance(outputs, bool):
        return {"output": outputs}
    raise SettingError(
        "outputs",
        found=repr(outputs),
        rule="'all', 'each', 'mean', or the number of one output",
        remedy="choose 'mean' for the trace over outputs divided by their number",
    )


def is_true(condition: Bool[Array, ""]) -> bool:
    """Whether a condition holds. False if JAX traces the condition, because it is then not known."""
    try:
        return bool(condition)
    except jax.errors.ConcretizationTypeError:
        return False
