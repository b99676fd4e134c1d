"""Check whether the theory of lazy training applies to a network on its rows, and train the network."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, positive, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError
from lemmata.pictures import lines, styled
from lemmata.printable import preformatted

from ._training_paths import Outputs, outputs_of

_CLAIMS = ("tangent.laziness.lazy_bootstrap", "tangent.laziness.scaling_is_laziness")
_SAMPLES = 24
_SHOWN = 40  # largest number of residuals that are kept along the descent
_FLOOR = 1e-10  # share of the largest singular value
_TRIVIAL = 0.9995  # a bound on a share that three digits do not distinguish from 1


@dataclasses.dataclass(frozen=True, eq=False)
class LazyCertificate:
    """A check whether a network provably stays close to its linearisation (is lazy), and the course of its training.

    Args:
        least: the least singular value s of the Jacobian at the start.
        lipschitz: the Lipschitz constant L of the Jacobian, either the given bound or the largest difference quotient
            found.
        residual: the norm |r_0| of the residual at the start.
        rho: the number L |r_0|/s². The theory applies if rho is at most 1/2.
        scale: the least factor alpha for which the theory applies to the model alpha (f - f_0) on these targets, where
            f_0 are the outputs at the start.
        movement: the bound on the distance by which training moves the parameters; infinite if the theory does not
            apply.
        moved: the distance by which training moved the parameters.
        left: the share |r_t|/|r_0| of the residual that is left after training.
        bound: the bound on `left`; 1 if the theory does not apply.
        least_after: the least singular value of the Jacobian after training.
        steps: the number of steps of descent.
        course: numbers of steps (first column) and |r_t|/|r_0| after them (second column).
        vacuous: the reason why the certificate is trivial although the theory applies; empty if it is not trivial.
        conditions: the conditions under which the results hold.
        claims: the names of the claims that state the results.
    """

    least: float
    lipschitz: float
    residual: float
    rho: float
    scale: float
    movement: float
    moved: float
    left: float
    bound: float
    least_after: float
    steps: int
    course: Float[np.ndarray, "k 2"]
    vacuous: str
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def applies(self) -> bool:
        """Whether the theory applies: 2 L |r_0| <= s²."""
        return self.rho <= 0.5

    @property
    def certified(self) -> bool:
        """Whether the theory applies with the caller's bound on L, and no point on the path shows a larger L."""
        return self.applies and all(condition.holds is True for condition in self.conditions)

    def __str__(self) -> str:
        bounds = self.conditions[-1].holds  # False if a point on the path refutes the given L, None if none was given
        unproved = "lazy if L is right" if self.applies and bounds is None else "not certified lazy"
        word = "certified lazy" if self.certified else unproved
        lines = [
            f"{word}: L |r_0|/s² = {self.rho:.3g}, at most 0.5 is needed; "
            f"s = {self.least:.3g}, L = {self.lipschitz:.3g}",
            f"after {self.steps} steps: parameters moved by {self.moved:.3g} (bound {self.movement:.3g}), "
            f"residual {self.left:.3g} of the first (bound {self.bound:.3g}), s = {self.least_after:.3g}",
            f"alpha (f - f_0) is {'certified lazy' if bounds else 'lazy'} from alpha = {self.scale:.3g}"
            + ("" if bounds else ", if L is right"),
        ]
        lines += [f"vacuous: {self.vacuous}"] if self.vacuous else []
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is not True)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the residual along the descent, with the bound if the theory applies."""
        step, left = self.course.T
        series = {"residual": (step, left)}
        if self.applies:
            bounded = "bound" if self.certified else "bound, if L is right"
            series[bounded] = (step, np.exp(step / self.steps * math.log(max(self.bound, 1e-300))))
        return styled(lines(series, ("steps of descent", "residual, relative to the first"), logarithmic="y"))


def lazy_certificate(
    network: Any, params: Any, x: Any, y: Any, *, lipschitz: float | None = None, steps: int = 200, seed: int = 0
) -> LazyCertificate:
    """Check whether the theory of lazy training applies to a network on its rows, and compare training with its bounds.

    Let the Jacobian of the outputs have the least singular value s at the start, and be L-Lipschitz. Let r_0 = f_0 - y
    be the residual at the start, and suppose that rho = L |r_0|/s² <= 1/2. Then gradient flow on |f - y|²/2 moves the
    parameters by at most (1 - sqrt(1 - 2 rho)) s/L. At time t, the residual is at most exp(-(1 - 2 rho) s² t) |r_0|.
    The network is trained by descent, whose step size is 1/10 of the inverse of the largest eigenvalue of the tangent
    kernel.

    Args:
        network: a function f(params, row) with one output, or an object whose method `apply` is such a function.
        params: the parameters at which training starts, an array or a tree of floating-point arrays.
        x: the rows of inputs.
        y: the targets, (n,).
        lipschitz: a bound on L that you have proved. Otherwise, L is the largest difference quotient at 24 random
            points and on the path (only on the path if s = 0). This quotient can be smaller than the true L. So the
            result is then not a certificate.
        steps: the number of steps of descent.
        seed: the seed of the random points.

    Raises:
        SettingError: if the network is not a function, the bound is not positive, or there is no step.
        DataError, ShapeError: for rows, targets, parameters or outputs that do not fit each other.
        MemoryPlanError: if the Jacobian has more than 2e8 entries.

    Example:
        >>> import jax, numpy as np
        >>> from lemmata.architectures import relu_network
        >>> x = np.random.default_rng(0).normal(size=(4, 3))
        >>> network = relu_network(depth=1, width=50)
        >>> params, _ = network.init(jax.random.key(0), 3)
        >>> lazy_certificate(network, params, x, x[:, 0]).applies
        False
    """
    model, steps, seed = outputs_of(network, params, x, y), whole("steps", steps, 1), whole("seed", seed)
    given = None if lipschitz is None else positive("lipschitz", lipschitz)
    first = model.jacobian(model.start)
    full = _room_for_rank(x, first.shape)
    possible = all(condition.holds for condition in full)
    largest, least = _singular_values(first, possible)
    if not largest * largest > 0:
        raise DataError("network", found="a Jacobian of 0", rule="outputs that depend on the parameters",
                        remedy="start at other parameters, or scale the rows")  # fmt: skip
    floor = max(_FLOOR, 4 * max(first.shape) * float(np.finfo(first.dtype).eps))
    least = least if least > floor * largest else 0.0
    residual = float(jnp.linalg.norm(model.of(model.start) - model.y))
    rate = 0.1 / (largest * largest)
    if not (np.isfinite(rate) and np.isfinite(residual)):
        raise DataError("network and y", found=f"a Jacobian of {largest:.3g} and a residual of {residual:.3g}",
                        rule="squares that double precision can hold", remedy="scale the rows and targets")  # fmt: skip
    half = (steps + 1) // 2
    kept = sorted({half, *np.linspace(1, steps, min(steps, _SHOWN)).astype(int).tolist()})
    path = dict(zip(kept, model.path(jnp.zeros_like(model.y), rate, steps, kept), strict=True))
    middle, end = path[half], path[steps]
    lengths = [residual, *(float(jnp.linalg.norm(model.of(at) - model.y)) for at in path.values())]
    course = np.array([[0, *kept], lengths]).T / [1.0, residual or 1.0]
    moved = float(jnp.linalg.norm(end - model.start))
    after = model.jacobian(end)
    seen = [_quotient(first, after, moved), _quotient(first, model.jacobian(middle), _apart(middle, model))]
    radius = max(residual / least if least else moved, moved)
    sampled = _sampled(model, first, radius, seed) if given is None and least else []  # for s = 0, no L certifies
    slope = given if given is not None else max([*seen, *sampled])
    rho = slope * residual / least**2 if least else math.inf
    room = math.sqrt(max(1 - 2 * rho, 0.0))
    ends = rho <= 0.5
    bound = math.exp(-(1 - 2 * rho) * least**2 * rate * steps) if ends else 1.0
    movement = (1 - room) * least / slope if ends and slope else (residual / least if ends else math.inf)
    return LazyCertificate(
        least=least, lipschitz=slope, residual=residual, rho=rho,
        scale=2 * slope * float(jnp.linalg.norm(model.y)) / least**2 if least else math.inf,
        movement=movement, moved=moved,
        left=float(course[-1, 1]),
        bound=bound, vacuous=_vacuous(model, bound) if ends else "",
        least_after=_singular_values(after, possible)[1], steps=steps, course=course,
        conditions=(
            *full,
            Condition("the Jacobian has full rank", least, least > 0,
                      "otherwise some targets cannot be fitted in the lazy regime"),
            Condition("2 rho is at most 1", 2 * rho, ends,
                      "otherwise the smallest eigenvalue of the kernel may vanish"),
            Condition("L bounds the change of the Jacobian", slope, None if given is None else max(seen) <= given,
                      "an estimate of L from points can be too small; pass `lipschitz` for a certificate"),
        ),
    )  # fmt: skip


def _vacuous(model: Outputs, bound: float) -> str:
    """Return why the bound on the residual is trivial (true for any training), or an empty text if it is not."""
    if not model.misfit():
        return "the outputs equal the targets at the start, so training has nothing to change"
    if bound > _TRIVIAL:
        return "after so few steps, the bound on the residual is the residual at the start"
    return ""


def _room_for_rank(x: Any, shape: tuple[int, ...]) -> tuple[Condition, ...]:
    """Return the conditions without which the least singular value s is 0: distinct rows, and enough parameters."""
    rows = numbers_of("x", x)
    repeated = len(rows) - len(np.unique(rows, axis=0))
    return (
        Condition("rows differ (number of repeated rows)", float(repeated), repeated == 0,
                  "equal rows have equal gradients, so s = 0; leave out repeated rows"),
        Condition("there are at least as many parameters as rows (parameters)", float(shape[1]), shape[1] >= shape[0],
                  "otherwise s = 0; pass fewer rows or a larger network"),
    )  # fmt: skip


def _apart(at: Any, model: Outputs) -> float:
    return float(jnp.linalg.norm(at - model.start))


def _quotient(first: np.ndarray, other: np.ndarray, apart: float) -> float:
    return _spectral_norm(other - first) / apart if apart else 0.0


def _spectral_norm(matrix: np.ndarray) -> float:
    """Return the largest singular value, from the smaller Gram matrix, which is cheaper than a full decomposition."""
    size = float(np.abs(matrix).max())
    if not size:
        return 0.0
    wide = (matrix if len(matrix) <= matrix.shape[1] else matrix.T) / size
    return size * math.sqrt(float(np.linalg.eigvalsh(wide @ wide.T)[-1]))


def _singular_values(jacobian: np.ndarray, possible: bool) -> tuple[float, float]:
    """Return the largest and the n-th singular value of the Jacobian, where n is the number of rows.

    If `possible` is false, the Jacobian cannot have full rank, and the n-th singular value is 0. The decomposition is
    then avoided, because for equal rows LAPACK meets numbers near 1e-308 and takes many times as long.
    """
    if not possible:
        return _spectral_norm(jacobian), 0.0
    values = np.linalg.svd(jacobian, compute_uv=False)
    return float(values[0]), float(values[-1])


def _sampled(model: Outputs, first: np.ndarray, radius: float, seed: int) -> list[float]:
    """Return difference quotients of the Jacobian between the start and random points of a ball around it.

    Half of the points are 100 times nearer to the start.
    """
    generator, found = np.random.default_rng(seed), []
    for number in range(_SAMPLES):
        direction = generator.normal(size=model.start.shape)
        length = radius * generator.uniform(0.1, 1.0) * (0.01 if number % 2 else 1.0)
        at = model.start + jnp.asarray(length * direction / np.linalg.norm(direction), model.start.dtype)
        found.append(_quotient(first, model.jacobian(at), length))
    return found
